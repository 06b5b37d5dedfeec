#include "frontend/http/api.h"

#include <inttypes.h>
#include <string.h>

#include "base/date.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_hash.h"
#include "frontend/http/http_range.h"
#include "service/blob/blob.h"
#include "service/blob/history.h"
#include "service/limits.h"

struct blob_name api_blob_name(const struct http_request *request)
{
    return (struct blob_name){
        .container = api_container_name(request),
        .blob = request->address.blob,
        .snapshot = request->snapshot,
        .version = request->version_id,
    };
}

void api_add_version(struct http_request *request, int64_t version_id)
{
    char text[DATE_ISO_LEN + 1];
    if (version_id == 0 || request->version < 20191212)
        return;
    date_format_iso(version_id, text);
    http_response_add(&request->response, "x-ms-version-id", slice_of(text));
}

void api_fill_blob_change(struct http_request *request, struct blob_change *change)
{
    request_bind(request, &change->base);
    change->name = api_blob_name(request);
    change->condition = request->condition;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    change->metadata = request->metadata;
    change->tags = request->tags;
    change->tier = request->tier;
    change->create_only = request->access.create_only;
}

static struct blob_change *new_change(struct http_request *request)
{
    struct blob_change *change = arena_alloc(&request->arena, sizeof(*change));
    api_fill_blob_change(request, change);
    return change;
}

/* --- properties --- */

/* A stored property from its x-ms-blob-* header, or else from the plain one if it may be. */
static enum err read_property(struct http_request *request, const char *header, const char *plain,
                              struct slice *value)
{
    *value = http_message_header(&request->message, header);
    if (value->len == 0 && plain != NULL) {
        *value = http_message_header(&request->message, plain);
        header = plain;
    }
    if (value->len > LIMIT_PROPERTY_BYTES_MAX)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

/* Put Blob takes the plain headers where the x-ms-blob-* ones are absent. */
enum err api_read_properties(struct http_request *request, bool plain_too,
                             struct blob_properties *properties)
{
    enum err err = read_property(request, "x-ms-blob-content-type",
                                 plain_too ? "Content-Type" : NULL, &properties->content_type);
    if (err == OK)
        err = read_property(request, "x-ms-blob-content-encoding",
                            plain_too ? "Content-Encoding" : NULL, &properties->content_encoding);
    if (err == OK)
        err = read_property(request, "x-ms-blob-content-language",
                            plain_too ? "Content-Language" : NULL, &properties->content_language);
    if (err == OK)
        err = read_property(request, "x-ms-blob-cache-control", plain_too ? "Cache-Control" : NULL,
                            &properties->cache_control);
    if (err == OK)
        err = read_property(request, "x-ms-blob-content-disposition", NULL,
                            &properties->content_disposition);
    return err;
}

/* --- Put Blob --- */

struct put_blob {
    struct blob_change change;
    struct api_hashes hashes; /* of the body, as the client says */
};

static uint64_t put_blob_bytes_max(const struct http_request *request)
{
    if (request->version >= 20191212)
        return LIMIT_PUT_BLOB_BYTES;
    return request->version >= 20160531 ? LIMIT_PUT_BLOB_BYTES_2016 : LIMIT_PUT_BLOB_BYTES_EARLIER;
}

/* The hashes the client sent for the body.  The one that is to be stored is the one that counts. */
static enum err read_body_hashes(struct http_request *request, struct put_blob *put)
{
    struct slice stored;
    enum err err = api_read_md5(request, "x-ms-blob-content-md5", &stored);
    if (err == OK)
        err = api_read_hashes(request, &put->hashes);
    if (stored.len > 0)
        put->hashes.md5 = stored;
    return err;
}

enum err put_blob_prepare(struct http_request *request)
{
    struct put_blob *put = arena_alloc(&request->arena, sizeof(*put));
    api_fill_blob_change(request, &put->change);
    request->arguments = put;
    if (request->content_length > put_blob_bytes_max(request)) {
        request_add_detail(request, "MaxLimit",
                           arena_printf(&request->arena, "%" PRIu64, put_blob_bytes_max(request)));
        return ERR_BODY_TOO_LARGE;
    }
    if (http_message_find_header(&request->message, "x-ms-blob-content-length") != NULL)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-blob-content-length");
    enum err err = api_read_properties(request, true, &put->change.properties);
    if (err == OK)
        err = read_body_hashes(request, put);
    if (err != OK)
        return err;
    if (put->change.properties.content_type.len == 0)
        put->change.properties.content_type = slice_of("application/octet-stream");
    return payload_writer_new(request->context->service, &request->arena, request->content_length,
                              &request->body);
}

enum err put_blob_run(struct http_request *request)
{
    struct put_blob *put = request->arguments;
    enum err err = payload_writer_finish(request->body);
    if (err == OK)
        err = api_check_body(request, &put->hashes);
    if (err != OK)
        return err;
    put->change.payload = request->body;
    put->change.properties.content_md5 =
        slice_make(payload_writer_md5(request->body), DIGEST_MD5_BYTES);
    blob_put(request->context->service, &put->change);
    return OK;
}

void put_blob_respond(struct http_request *request)
{
    const struct put_blob *put = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, put->change.etag);
    api_add_version(request, put->change.version_id);
    http_response_add_base64(response, "Content-MD5",
                             slice_make(payload_writer_md5(request->body), DIGEST_MD5_BYTES));
    if (request->version >= 20190202) {
        uint8_t bytes[DIGEST_CRC64_BYTES];
        digest_crc64_bytes(payload_writer_crc64(request->body), bytes);
        http_response_add_base64(response, "x-ms-content-crc64", slice_make(bytes, sizeof(bytes)));
    }
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

enum err api_create_blob(struct http_request *request, struct blob_change *change)
{
    struct blob_properties *properties = &change->properties;
    api_fill_blob_change(request, change);
    if (request->content_length != 0)
        return request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    enum err err = api_read_properties(request, true, properties);
    if (err == OK)
        err = api_read_md5(request, "x-ms-blob-content-md5", &properties->content_md5);
    if (properties->content_type.len == 0)
        properties->content_type = slice_of("application/octet-stream");
    return err;
}

/* --- Get Blob, Get Blob Properties, Get Blob Metadata --- */

static enum err get_blob(struct http_request *request, struct blob *blob,
                         struct payload_reader *payload)
{
    const struct blob_get_request get = {
        .name = api_blob_name(request),
        .condition = request->condition,
        .has_lease_id = request->has_lease_id,
        .lease_id = request->lease_id,
        .want_payload = payload != NULL,
    };
    return blob_get(request->context->service, &request->arena, &get, blob, payload);
}

/* A property, or what the SAS puts in its place. */
static void add_property(struct http_response *response, const char *header, struct slice stored,
                         struct slice override)
{
    http_response_add(response, header, override.len > 0 ? override : stored);
}

/* The type, and what blobs of the type have of their own. */
static void add_type(struct http_response *response, const struct blob *blob)
{
    http_response_add_text(response, "x-ms-blob-type", api_blob_type(blob->type));
    if (blob->type == BLOB_PAGE)
        http_response_add_number(response, "x-ms-blob-sequence-number", blob->sequence_number);
    if (blob->type == BLOB_APPEND)
        http_response_add_number(response, "x-ms-blob-committed-block-count", blob->block_count);
    if (blob->sealed)
        http_response_add_text(response, "x-ms-blob-sealed", "true");
}

/* What Get Blob and Get Blob Properties have in common. */
static void add_blob(struct http_request *request, struct http_response *response,
                     const struct blob *blob)
{
    const struct blob_properties *properties = &blob->properties;
    const struct http_access *access = &request->access;
    http_response_add_etag(response, blob->etag);
    api_add_metadata(response, &blob->metadata);
    add_property(response, "Content-Type", properties->content_type, access->content_type);
    add_property(response, "Content-Encoding", properties->content_encoding,
                 access->content_encoding);
    add_property(response, "Content-Language", properties->content_language,
                 access->content_language);
    add_property(response, "Cache-Control", properties->cache_control, access->cache_control);
    add_property(response, "Content-Disposition", properties->content_disposition,
                 access->content_disposition);
    http_response_add_text(response, "Accept-Ranges", "bytes");
    add_type(response, blob);
    http_response_add_date(response, "x-ms-creation-time", blob->created_at);
    if (request->snapshot == 0)
        api_add_version(request, blob->version_id);
    if (blob->is_current && request->version >= 20191212)
        http_response_add_text(response, "x-ms-is-current-version", "true");
    /* Snapshots and previous versions have no leases. */
    if (request->snapshot == 0 && (request->version_id == 0 || blob->is_current))
        api_add_lease(response, &blob->lease);
    api_add_copy(response, &blob->copy);
    if (blob->tags.count > 0)
        http_response_add_number(response, "x-ms-tag-count", blob->tags.count);
    http_response_add_text(response, "x-ms-server-encrypted", "true");
}

struct get_blob {
    struct http_range range;
    bool want_md5;
    bool want_crc64;
    struct payload_reader payload;
};

static bool header_is_true(const struct http_request *request, const char *header)
{
    return slice_equal_nocase(http_message_header(&request->message, header), slice_of("true"));
}

enum err get_blob_prepare(struct http_request *request)
{
    struct get_blob *get = arena_alloc(&request->arena, sizeof(*get));
    request->arguments = get;
    struct slice range = http_message_header(&request->message, "x-ms-range");
    if (range.len == 0)
        range = http_message_header(&request->message, "Range");
    get->range = http_range_parse(range);
    get->want_md5 = header_is_true(request, "x-ms-range-get-content-md5");
    get->want_crc64 = header_is_true(request, "x-ms-range-get-content-crc64");
    if (get->want_md5 && get->want_crc64)
        return ERR_BOTH_RANGE_MD5_AND_CRC64;
    if ((get->want_md5 || get->want_crc64) && !get->range.present)
        return request_fault_header(request, ERR_INVALID_HEADER,
                                    get->want_md5 ? "x-ms-range-get-content-md5"
                                                  : "x-ms-range-get-content-crc64");
    return OK;
}

/* The hash of the part that is sent, which is at most LIMIT_RANGE_HASH_BYTES_MAX long. */
static enum err add_range_hash(struct http_request *request, struct http_response *response,
                               struct get_blob *get)
{
    const size_t len = (size_t)response->payload_length;
    char *bytes = arena_bytes(&request->arena, len);
    const enum err err = payload_read(&get->payload, response->payload_offset, bytes, len);
    if (err != OK)
        return err;
    if (get->want_md5) {
        struct md5_ctx ctx;
        uint8_t md5[DIGEST_MD5_BYTES];
        md5_init(&ctx);
        md5_update(&ctx, len, (const uint8_t *)bytes);
        md5_digest(&ctx, sizeof(md5), md5);
        http_response_add_base64(response, "Content-MD5", slice_make(md5, sizeof(md5)));
    } else {
        uint8_t crc64[DIGEST_CRC64_BYTES];
        digest_crc64_bytes(digest_crc64(0, slice_make(bytes, len)), crc64);
        http_response_add_base64(response, "x-ms-content-crc64", slice_make(crc64, sizeof(crc64)));
    }
    return OK;
}

static enum err respond_range(struct http_request *request, struct get_blob *get,
                              const struct blob *blob)
{
    const uint64_t size_bytes = blob->content.length_bytes;
    uint64_t offset;
    uint64_t length;
    if (!http_range_resolve(&get->range, size_bytes, &offset, &length)) {
        request->resource_bytes = size_bytes;
        return ERR_INVALID_RANGE;
    }
    if ((get->want_md5 || get->want_crc64) && length > LIMIT_RANGE_HASH_BYTES_MAX)
        return request_fault_header(request, ERR_INVALID_HEADER,
                                    get->want_md5 ? "x-ms-range-get-content-md5"
                                                  : "x-ms-range-get-content-crc64");
    struct http_response *response = request_respond(request, 206);
    response->payload = &get->payload;
    response->payload_offset = offset;
    response->payload_length = length;
    add_blob(request, response, blob);
    http_response_add(response, "Content-Range",
                      arena_printf(&request->arena, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
                                   offset, offset + length - 1, size_bytes));
    if (blob->properties.content_md5.len > 0)
        http_response_add_base64(response, "x-ms-blob-content-md5", blob->properties.content_md5);
    return get->want_md5 || get->want_crc64 ? add_range_hash(request, response, get) : OK;
}

enum err get_blob_run(struct http_request *request)
{
    struct get_blob *get = request->arguments;
    struct blob blob;
    const enum err err = get_blob(request, &blob, &get->payload);
    if (err != OK)
        return err;
    if (get->range.present)
        return respond_range(request, get, &blob);
    struct http_response *response = request_respond(request, 200);
    response->payload = &get->payload;
    response->payload_length = blob.content.length_bytes;
    add_blob(request, response, &blob);
    if (blob.properties.content_md5.len > 0)
        http_response_add_base64(response, "Content-MD5", blob.properties.content_md5);
    return OK;
}

enum err get_blob_properties_run(struct http_request *request)
{
    struct blob blob;
    const enum err err = get_blob(request, &blob, NULL);
    if (err != OK)
        return err;
    struct http_response *response = request_respond(request, 200);
    /* A HEAD request gets the length alone, so the reader is never asked for bytes. */
    struct payload_reader *reader = arena_alloc(&request->arena, sizeof(*reader));
    reader->length_bytes = blob.content.length_bytes;
    response->payload = reader;
    response->payload_length = reader->length_bytes;
    add_blob(request, response, &blob);
    if (blob.properties.content_md5.len > 0)
        http_response_add_base64(response, "Content-MD5", blob.properties.content_md5);
    api_add_tier(response, &blob);
    return OK;
}

enum err get_blob_metadata_run(struct http_request *request)
{
    struct blob blob;
    const enum err err = get_blob(request, &blob, NULL);
    if (err != OK)
        return err;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, blob.etag);
    api_add_metadata(response, &blob.metadata);
    return OK;
}

/* --- Set Blob Properties, Set Blob Metadata, Delete Blob --- */

enum err set_blob_properties_prepare(struct http_request *request)
{
    struct blob_change *change = new_change(request);
    request->arguments = change;
    struct blob_properties *properties = &change->properties;
    enum err err = api_page_properties(request, &change->page);
    if (err == OK)
        err = api_read_properties(request, false, properties);
    if (err == OK)
        err = api_read_md5(request, "x-ms-blob-content-md5", &properties->content_md5);
    /* A request that is about the pages alone leaves the properties as they are. */
    change->keep_properties =
        change->page != NULL && properties->content_type.len == 0 &&
        properties->content_encoding.len == 0 && properties->content_language.len == 0 &&
        properties->cache_control.len == 0 && properties->content_disposition.len == 0 &&
        properties->content_md5.len == 0;
    return err;
}

enum err set_blob_properties_run(struct http_request *request)
{
    blob_set_properties(request->context->service, request->arguments);
    return OK;
}

void blob_changed_respond(struct http_request *request)
{
    const struct blob_change *change = request->arguments;
    http_response_add_etag(request_respond(request, 200), change->etag);
}

void set_blob_properties_respond(struct http_request *request)
{
    const struct blob_change *change = request->arguments;
    blob_changed_respond(request);
    if (change->type == BLOB_PAGE)
        http_response_add_number(&request->response, "x-ms-blob-sequence-number",
                                 change->sequence_number);
}

enum err set_blob_metadata_prepare(struct http_request *request)
{
    request->arguments = new_change(request);
    return OK;
}

enum err set_blob_metadata_run(struct http_request *request)
{
    blob_set_metadata(request->context->service, request->arguments);
    return OK;
}

void set_blob_metadata_respond(struct http_request *request)
{
    const struct blob_change *change = request->arguments;
    blob_changed_respond(request);
    api_add_version(request, change->version_id);
    http_response_add_text(&request->response, "x-ms-request-server-encrypted", "true");
}

/* deletetype, and whether the caller may delete what the request names in this way: a SAS has
   permissions of their own for versions and for what is deleted for good. */
static enum err read_delete_type(struct http_request *request, struct blob_change *change)
{
    const char *const parameter = "deletetype";
    const struct http_access *access = &request->access;
    const struct slice type = http_message_parameter(&request->message, parameter);
    change->is_permanent_delete = slice_equal_nocase(type, slice_of("permanent"));
    if (type.len > 0 && !change->is_permanent_delete)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    const bool may_delete = change->is_permanent_delete ? access->may_delete_for_good
                            : request->version_id != 0  ? access->may_delete_version
                                                        : access->may_delete;
    return access->by_key || may_delete ? OK : ERR_AUTHORIZATION_PERMISSION;
}

enum err delete_blob_prepare(struct http_request *request)
{
    const char *const header = "x-ms-delete-snapshots";
    struct blob_change *change = new_change(request);
    request->arguments = change;
    const struct slice snapshots = http_message_header(&request->message, header);
    const enum err err = read_delete_type(request, change);
    if (err != OK || snapshots.len == 0)
        return err;
    if (slice_equal_nocase(snapshots, slice_of("only")))
        change->snapshots = BLOB_SNAPSHOTS_ONLY;
    else if (slice_equal_nocase(snapshots, slice_of("include")))
        change->snapshots = BLOB_SNAPSHOTS_INCLUDE;
    else
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    /* One snapshot or version, or what is about all of them. */
    return request->snapshot == 0 && request->version_id == 0
               ? OK
               : request_fault_header(request, ERR_INVALID_HEADER, header);
}

enum err delete_blob_run(struct http_request *request)
{
    blob_delete(request->context->service, request->arguments);
    return OK;
}

void delete_blob_respond(struct http_request *request)
{
    const struct blob_change *change = request->arguments;
    struct http_response *response = request_respond(request, 202);
    http_response_add_text(response, "x-ms-delete-type-permanent",
                           change->was_kept ? "false" : "true");
}

/* --- Undelete Blob --- */

enum err undelete_blob_prepare(struct http_request *request)
{
    struct blob_undelete *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_blob_name(request);
    return OK;
}

enum err undelete_blob_run(struct http_request *request)
{
    blob_undelete(request->context->service, request->arguments);
    return OK;
}

void undelete_blob_respond(struct http_request *request)
{
    request_respond(request, 200);
}

/* --- Lease Blob --- */

enum err blob_lease_prepare(struct http_request *request)
{
    struct blob_lease *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_blob_name(request);
    change->condition = request->condition;
    return api_lease_request(request, &change->lease);
}

enum err blob_lease_run(struct http_request *request)
{
    blob_lease(request->context->service, request->arguments);
    return OK;
}

void blob_lease_respond(struct http_request *request)
{
    const struct blob_lease *change = request->arguments;
    api_respond_lease(request, &change->lease, change->etag);
}
