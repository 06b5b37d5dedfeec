/*
 * api_list.c - List Blobs, flat and by hierarchy.
 *
 * The marker is the name the page begins with; when that is not the first of what has the name, a
 * NUL and the eight bytes of the snapshot's tick (all ones for the base blob) follow it, and the
 * kind of a version or of something soft-deleted (service/blob/history.h).
 */
#include "frontend/http/api.h"

#include <string.h>

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api_common.h"
#include "frontend/http/xml_write.h"
#include "service/blob/blob.h"
#include "service/etag.h"
#include "service/limits.h"

/* The words of `include`, in the order of the list below. */
enum {
    INCLUDE_METADATA = 1 << 0,
    INCLUDE_SNAPSHOTS = 1 << 1,
    INCLUDE_UNCOMMITTED = 1 << 2,
    INCLUDE_COPY = 1 << 3,
    INCLUDE_TAGS = 1 << 4,
    INCLUDE_DELETED = 1 << 5,
    INCLUDE_VERSIONS = 1 << 6,
};

struct list_blobs {
    struct blob_list_request request;
    unsigned include;
    bool shows_versions; /* the client speaks a version of the protocol that knows them */
    int64_t now;
    struct strbuf body;
};

static enum err read_position(struct http_request *request, struct blob_position *from)
{
    struct slice place;
    const enum err err = api_read_marker(request, &place);
    if (err != OK)
        return err;
    const size_t nul = slice_find_byte(place, '\0');
    from->name = slice_head(place, nul);
    const bool has_snapshot = nul < place.len;
    const struct slice rest = slice_from(place, nul + 1);
    const bool has_kind = rest.len == sizeof(uint64_t) + 1;
    if (from->name.len > LIMIT_BLOB_NAME_BYTES_MAX ||
        (has_snapshot && (nul == 0 || (rest.len != sizeof(uint64_t) && !has_kind))))
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "marker");
    if (has_snapshot)
        from->snapshot = (int64_t)get_be64((const uint8_t *)rest.data);
    if (has_kind)
        from->kind = rest.data[sizeof(uint64_t)];
    return OK;
}

static struct slice make_marker(struct arena *arena, const struct blob_position *next)
{
    if (next->snapshot == 0)
        return api_make_marker(arena, next->name);
    size_t len = next->name.len + 1 + sizeof(uint64_t);
    char *place = arena_bytes(arena, len + 1);
    memcpy(place, next->name.data, next->name.len);
    place[next->name.len] = '\0';
    put_be64((uint8_t *)place + next->name.len + 1, (uint64_t)next->snapshot);
    if (next->kind != '\0')
        place[len++] = next->kind;
    return api_make_marker(arena, slice_make(place, len));
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
    /* Of what the words after the first seven name, there is nothing in a container. */
    static const char *const words[] = { "metadata",
                                         "snapshots",
                                         "uncommittedblobs",
                                         "copy",
                                         "tags",
                                         "deleted",
                                         "versions",
                                         "legalhold",
                                         "deletedwithversions",
                                         "immutabilitypolicy",
                                         NULL };
    enum err err = api_include(request, words, &list->include);
    list->request.with_snapshots = (list->include & INCLUDE_SNAPSHOTS) != 0;
    list->request.with_uncommitted = (list->include & INCLUDE_UNCOMMITTED) != 0;
    list->request.with_deleted = (list->include & INCLUDE_DELETED) != 0;
    list->request.with_versions = (list->include & INCLUDE_VERSIONS) != 0;
    list->shows_versions = request->version >= 20191212;
    list->now = request->received_at;
    if (err == OK)
        err = read_name(request, "prefix", &list->request.prefix);
    if (err == OK)
        err = read_name(request, "delimiter", &list->request.delimiter);
    if (err == OK)
        err = read_position(request, &list->request.from);
    /* Names that are cut at the delimiter have no snapshots. */
    if (err == OK && list->request.delimiter.len > 0 && list->request.with_snapshots)
        err = request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "include");
    if (err == OK)
        err = api_results_max(request, &list->request.results_max);
    return err;
}

static void emit_date(struct strbuf *body, const char *element, int64_t ticks)
{
    char text[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(ticks, text);
    xml_add_element(body, element, slice_of(text));
}

/* An element that is left out when it has no text. */
static void emit_optional(struct strbuf *body, const char *element, struct slice text)
{
    if (text.len > 0)
        xml_add_element(body, element, text);
}

static void emit_tier(struct strbuf *body, const struct blob *blob)
{
    if (blob->type != BLOB_BLOCK)
        return;
    xml_add_element(body, "AccessTier", blob->tier.len > 0 ? blob->tier : slice_of("Hot"));
    if (blob->tier.len == 0)
        strbuf_add_text(body, "<AccessTierInferred>true</AccessTierInferred>");
    if (blob->tier_changed_at > 0)
        emit_date(body, "AccessTierChangeTime", blob->tier_changed_at);
    emit_optional(body, "ArchiveStatus", blob->archive_status);
    emit_optional(body, "RehydratePriority", blob->rehydrate_priority);
}

static void emit_copy(struct strbuf *body, const struct blob_copy *copy)
{
    static const char *const words[] = {
        [BLOB_COPY_NONE] = "",           [BLOB_COPY_PENDING] = "pending",
        [BLOB_COPY_SUCCESS] = "success", [BLOB_COPY_ABORTED] = "aborted",
        [BLOB_COPY_FAILED] = "failed",
    };
    if (copy->status == BLOB_COPY_NONE)
        return;
    char id[UUID_TEXT_LEN + 1];
    uuid_format(&copy->id, id);
    xml_add_element(body, "CopyId", slice_of(id));
    xml_add_element(body, "CopySource", copy->source);
    xml_add_element(body, "CopyStatus", slice_of(words[copy->status]));
    strbuf_printf(body, "<CopyProgress>%llu/%llu</CopyProgress>",
                  (unsigned long long)copy->copied_bytes, (unsigned long long)copy->total_bytes);
    if (copy->completed_at > 0)
        emit_date(body, "CopyCompletionTime", copy->completed_at);
    emit_optional(body, "CopyStatusDescription", copy->description);
    if (copy->incremental)
        strbuf_add_text(body, "<IncrementalCopy>true</IncrementalCopy>");
}

/* What the types of blobs differ in. */
static void emit_type(struct strbuf *body, const struct blob *blob)
{
    if (blob->type == BLOB_PAGE)
        strbuf_printf(body, "<x-ms-blob-sequence-number>%llu</x-ms-blob-sequence-number>",
                      (unsigned long long)blob->sequence_number);
    xml_add_element(body, "BlobType", slice_of(api_blob_type(blob->type)));
    if (blob->sealed)
        strbuf_add_text(body, "<Sealed>true</Sealed>");
}

static void emit_lease(struct strbuf *body, const struct lease *lease)
{
    xml_add_element(body, "LeaseStatus", slice_of(api_lease_status(lease)));
    xml_add_element(body, "LeaseState", slice_of(api_lease_state(lease)));
    if (api_lease_duration(lease) != NULL)
        xml_add_element(body, "LeaseDuration", slice_of(api_lease_duration(lease)));
}

/* When it was deleted, and for how many whole days it can still come back. */
static void emit_deletion(struct strbuf *body, const struct blob *blob, int64_t now)
{
    const int64_t day = INT64_C(24) * 60 * 60 * CLOCK_TICKS_PER_SEC;
    const int64_t left = blob->expires_at > now ? (blob->expires_at - now) / day : 0;
    emit_date(body, "DeletedTime", blob->deleted_at);
    strbuf_printf(body, "<RemainingRetentionDays>%lld</RemainingRetentionDays>", (long long)left);
}

static void emit_properties(const struct list_blobs *list, struct strbuf *body,
                            const struct blob_list_entry *entry)
{
    const struct blob *blob = entry->blob;
    char etag[ETAG_TEXT_LEN_MAX + 1];
    char md5[BASE64_LEN(DIGEST_MD5_BYTES) + 1] = "";
    etag_format(blob->etag, etag);
    if (blob->properties.content_md5.len > 0)
        base64_encode(blob->properties.content_md5, md5);
    const struct slice quoted = slice_of(etag);

    strbuf_add_text(body, "<Properties>");
    emit_date(body, "Creation-Time", blob->created_at);
    emit_date(body, "Last-Modified", blob->etag);
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
    emit_type(body, blob);
    emit_tier(body, blob);
    /* Snapshots and previous versions have no leases, and of a deleted blob none is shown. */
    if (blob->deleted_at != 0 && entry->snapshot == 0 && !entry->is_previous)
        strbuf_add_text(body, "<LeaseStatus />");
    else if (entry->snapshot == 0 && !entry->is_previous)
        emit_lease(body, &blob->lease);
    if ((list->include & INCLUDE_COPY) != 0)
        emit_copy(body, &blob->copy);
    strbuf_add_text(body, "<ServerEncrypted>true</ServerEncrypted>");
    if (blob->deleted_at != 0)
        emit_deletion(body, blob, list->now);
    if (blob->tags.count > 0)
        strbuf_printf(body, "<TagCount>%zu</TagCount>", blob->tags.count);
    strbuf_add_text(body, "</Properties>");
}

static void emit_blob(const struct list_blobs *list, struct strbuf *body,
                      const struct blob_list_entry *entry)
{
    strbuf_add_text(body, "<Blob>");
    xml_add_name(body, "Name", entry->name);
    if (entry->snapshot != 0) {
        char snapshot[DATE_ISO_LEN + 1];
        date_format_iso(entry->snapshot, snapshot);
        xml_add_element(body, "Snapshot", slice_of(snapshot));
    }
    if (entry->snapshot == 0 && entry->blob->version_id != 0 && list->shows_versions) {
        char version[DATE_ISO_LEN + 1];
        date_format_iso(entry->blob->version_id, version);
        xml_add_element(body, "VersionId", slice_of(version));
        if (!entry->is_previous)
            strbuf_add_text(body, "<IsCurrentVersion>true</IsCurrentVersion>");
    }
    if (entry->blob->deleted_at != 0)
        strbuf_add_text(body, "<Deleted>true</Deleted>");
    emit_properties(list, body, entry);
    if ((list->include & INCLUDE_METADATA) != 0)
        api_list_metadata(body, &entry->blob->metadata);
    if ((list->include & INCLUDE_TAGS) != 0 && entry->blob->tags.count > 0)
        api_list_tags(body, &entry->blob->tags);
    strbuf_add_text(body, "<OrMetadata /></Blob>");
}

/* Of a blob that is not committed yet there are no properties to show. */
static void emit_uncommitted(struct strbuf *body, struct slice name)
{
    strbuf_add_text(body, "<Blob>");
    xml_add_name(body, "Name", name);
    strbuf_add_text(body, "<Properties><Content-Length>0</Content-Length>"
                          "<BlobType>BlockBlob</BlobType><LeaseStatus>unlocked</LeaseStatus>"
                          "<LeaseState>available</LeaseState></Properties></Blob>");
}

static bool emit_entry(void *arg, const struct blob_list_entry *entry)
{
    struct list_blobs *list = arg;
    struct strbuf *body = &list->body;
    if (entry->is_uncommitted) {
        emit_uncommitted(body, entry->name);
    } else if (entry->blob == NULL) {
        strbuf_add_text(body, "<BlobPrefix>");
        xml_add_name(body, "Name", entry->name);
        strbuf_add_text(body, "</BlobPrefix>");
    } else {
        emit_blob(list, body, entry);
    }
    return body->len < LIMIT_LIST_BODY_BYTES;
}

enum err list_blobs_run(struct http_request *request)
{
    struct list_blobs *list = request->arguments;
    struct strbuf *body = &list->body;
    struct blob_position next;
    strbuf_init(body, &request->arena);
    api_begin_listing(request, body);
    strbuf_add_text(body, "<Blobs>");
    list->request.emit = emit_entry;
    list->request.arg = list;
    const enum err err =
        blob_list(request->context->service, &request->arena, &list->request, &next);
    if (err != OK)
        return err;
    strbuf_add_text(body, "</Blobs>");
    xml_add_element(body, "NextMarker", make_marker(&request->arena, &next));
    strbuf_add_text(body, "</EnumerationResults>");
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
    return OK;
}
