/*
 * api_list.c - List Blobs, flat and by hierarchy.
 *
 * A marker is opaque to clients: "2!", the length of the base64 that follows, "!", and the base64
 * of the name the page begins with.  Any other text is taken for a name itself.
 */
#include "frontend/http/api.h"

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api_common.h"
#include "frontend/http/xml_write.h"
#include "service/blob/blob.h"
#include "service/etag.h"
#include "service/limits.h"

struct list_blobs {
    struct blob_list_request request;
    bool with_metadata;
    struct strbuf body;
};

static enum err read_marker(struct http_request *request, struct slice *name)
{
    const char *const parameter = "marker";
    const struct slice marker = http_message_parameter(&request->message, parameter);
    *name = marker;
    if (!slice_starts_with(marker, slice_of("2!")))
        return OK;
    const struct slice rest = slice_from(marker, 2);
    const size_t bang = slice_find_byte(rest, '!');
    const struct slice encoded = slice_from(rest, bang + 1);
    uint64_t len;
    if (decimal_parse_u64(slice_head(rest, bang), &len) != OK || len != encoded.len ||
        base64_decode(&request->arena, encoded, name) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

static struct slice make_marker(struct arena *arena, struct slice name)
{
    if (name.len == 0)
        return name;
    char *encoded = arena_bytes(arena, BASE64_LEN(name.len) + 1);
    base64_encode(name, encoded);
    return arena_printf(arena, "2!%zu!%s", BASE64_LEN(name.len), encoded);
}

/* A parameter that is the beginning of names: longer ones than names can be are refused. */
static enum err read_name(struct http_request *request, const char *parameter, struct slice *name)
{
    *name = http_message_parameter(&request->message, parameter);
    if (name->len > LIMIT_BLOB_NAME_BYTES_MAX || !utf8_is_valid(*name))
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

enum err list_blobs_prepare(struct http_request *request)
{
    struct list_blobs *list = arena_alloc(&request->arena, sizeof(*list));
    request->arguments = list;
    list->request.container = api_container_name(request);
    /* Of what the words after the first name, there is nothing in a container yet. */
    static const char *const words[] = { "metadata",
                                         "snapshots",
                                         "uncommittedblobs",
                                         "copy",
                                         "deleted",
                                         "tags",
                                         "versions",
                                         "legalhold",
                                         "deletedwithversions",
                                         "immutabilitypolicy",
                                         NULL };
    unsigned included;
    enum err err = api_include(request, words, &included);
    list->with_metadata = (included & 1) != 0;
    if (err == OK)
        err = read_name(request, "prefix", &list->request.prefix);
    if (err == OK)
        err = read_name(request, "delimiter", &list->request.delimiter);
    if (err == OK)
        err = read_marker(request, &list->request.from);
    if (err == OK && list->request.from.len > LIMIT_BLOB_NAME_BYTES_MAX)
        err = request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "marker");
    if (err == OK)
        err = api_results_max(request, &list->request.results_max);
    return err;
}

static void emit_properties(struct strbuf *body, const struct blob *blob)
{
    char created[DATE_RFC1123_LEN + 1];
    char modified[DATE_RFC1123_LEN + 1];
    char etag[ETAG_TEXT_LEN_MAX + 1];
    char md5[BASE64_LEN(DIGEST_MD5_BYTES) + 1] = "";
    date_format_rfc1123(blob->created_at, created);
    date_format_rfc1123(blob->etag, modified);
    etag_format(blob->etag, etag);
    if (blob->properties.content_md5.len > 0)
        base64_encode(blob->properties.content_md5, md5);
    const struct slice quoted = slice_of(etag);

    strbuf_add_text(body, "<Properties>");
    xml_add_element(body, "Creation-Time", slice_of(created));
    xml_add_element(body, "Last-Modified", slice_of(modified));
    /* Without quotes here, unlike in a listing of containers: so does the service. */
    xml_add_element(body, "Etag", slice_make(quoted.data + 1, quoted.len - 2));
    strbuf_printf(body, "<Content-Length>%llu</Content-Length>",
                  (unsigned long long)blob->content.length_bytes);
    xml_add_element(body, "Content-Type", blob->properties.content_type);
    xml_add_element(body, "Content-Encoding", blob->properties.content_encoding);
    xml_add_element(body, "Content-Language", blob->properties.content_language);
    strbuf_add_text(body, "<Content-CRC64 />");
    xml_add_element(body, "Content-MD5", slice_of(md5));
    xml_add_element(body, "Cache-Control", blob->properties.cache_control);
    xml_add_element(body, "Content-Disposition", blob->properties.content_disposition);
    strbuf_add_text(body, "<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>"
                          "<AccessTierInferred>true</AccessTierInferred>");
    xml_add_element(body, "LeaseStatus", slice_of(api_lease_status(&blob->lease)));
    xml_add_element(body, "LeaseState", slice_of(api_lease_state(&blob->lease)));
    if (api_lease_duration(&blob->lease) != NULL)
        xml_add_element(body, "LeaseDuration", slice_of(api_lease_duration(&blob->lease)));
    strbuf_add_text(body, "<ServerEncrypted>true</ServerEncrypted></Properties>");
}

static bool emit_blob(void *arg, struct slice name, const struct blob *blob)
{
    struct list_blobs *list = arg;
    struct strbuf *body = &list->body;
    if (blob == NULL) {
        strbuf_add_text(body, "<BlobPrefix>");
        xml_add_name(body, "Name", name);
        strbuf_add_text(body, "</BlobPrefix>");
        return body->len < LIMIT_LIST_BODY_BYTES;
    }
    strbuf_add_text(body, "<Blob>");
    xml_add_name(body, "Name", name);
    emit_properties(body, blob);
    if (list->with_metadata)
        api_list_metadata(body, &blob->metadata);
    strbuf_add_text(body, "<OrMetadata /></Blob>");
    return body->len < LIMIT_LIST_BODY_BYTES;
}

enum err list_blobs_run(struct http_request *request)
{
    struct list_blobs *list = request->arguments;
    struct strbuf *body = &list->body;
    struct slice next;
    strbuf_init(body, &request->arena);
    api_begin_listing(request, body);
    strbuf_add_text(body, "<Blobs>");
    list->request.emit = emit_blob;
    list->request.arg = list;
    const enum err err =
        blob_list(request->context->service, &request->arena, &list->request, &next);
    if (err != OK)
        return err;
    strbuf_add_text(body, "</Blobs>");
    xml_add_element(body, "NextMarker", make_marker(&request->arena, next));
    strbuf_add_text(body, "</EnumerationResults>");
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
    return OK;
}
