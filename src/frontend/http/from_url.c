#include "frontend/http/from_url.h"

#include <inttypes.h>

#include "base/encoding.h"
#include "frontend/http/copy_job.h"
#include "service/limits.h"

/* x-ms-source-content-md5 and x-ms-source-content-crc64. */
static enum err read_hashes(struct http_request *request, struct api_hashes *hashes)
{
    const char *const header = "x-ms-source-content-crc64";
    *hashes = (struct api_hashes){ 0 };
    const enum err err = api_read_md5(request, "x-ms-source-content-md5", &hashes->md5);
    const struct slice crc64 = http_message_header(&request->message, header);
    if (err != OK || crc64.len == 0)
        return err;
    if (hashes->md5.len > 0)
        return ERR_BOTH_MD5_AND_CRC64;
    if (base64_decode(&request->arena, crc64, &hashes->crc64) != OK ||
        hashes->crc64.len != DIGEST_CRC64_BYTES)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

enum err from_url_prepare(struct http_request *request, uint64_t bytes_max,
                          struct api_hashes *hashes, enum err (*run)(struct http_request *request))
{
    struct from_url *from = arena_alloc(&request->arena, sizeof(*from));
    request->from_url = from;
    from->hashes = hashes;
    from->run = run;
    from->bytes_max = bytes_max;
    if (request->content_length != 0)
        return request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    const enum err err = read_hashes(request, hashes);
    return err == OK ? copy_source_read(request, &from->source) : err;
}

/* --- the fetch's callbacks --- */

static enum err check_length(struct http_request *request, const struct from_url *from,
                             uint64_t length_bytes)
{
    if (length_bytes > from->bytes_max) {
        request_add_detail(request, "MaxLimit",
                           arena_printf(&request->arena, "%" PRIu64, from->bytes_max));
        return ERR_COPY_SOURCE_TOO_LARGE;
    }
    if (from->has_length && length_bytes != from->length_bytes)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-source-range");
    if (length_bytes == 0 && !from->may_be_empty)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-copy-source");
    return OK;
}

static enum err begin(struct http_request *request, struct http_fetch *fetch)
{
    struct from_url *from = request->from_url;
    enum err err = http_fetch_status_error(fetch->status);
    const bool ignores_range =
        !from->source.is_here && from->source.has_range != (fetch->status == 206);
    if (err == OK && (!fetch->has_length || ignores_range))
        err = ERR_COPY_SOURCE_UNREACHABLE;
    if (err == OK)
        err = check_length(request, from, fetch->length_bytes);
    if (err != OK)
        return err;
    if (!from->source.is_here) {
        copy_read_answer(&request->arena, &fetch->answer, &from->properties, &from->metadata);
        from->type = copy_answer_type(&fetch->answer);
    }
    if (from->is_block_only && from->type != BLOB_BLOCK)
        return ERR_INVALID_SOURCE_TYPE;
    if (from->is_hashed_only)
        return OK;
    return payload_writer_new(request->context->service, &request->arena, fetch->length_bytes,
                              &request->body);
}

static enum http_fetch_next fetch_begun(void *arg, struct http_fetch *fetch)
{
    fetch->err = begin(arg, fetch);
    return fetch->err == OK ? HTTP_FETCH_GO : HTTP_FETCH_STOP;
}

static enum err fetch_receive(void *arg, struct slice bytes)
{
    struct http_request *request = arg;
    struct from_url *from = request->from_url;
    if (!from->is_hashed_only)
        return payload_writer_append(request->body, bytes);
    md5_update(&from->md5_ctx, bytes.len, (const uint8_t *)bytes.data);
    from->crc64 = digest_crc64(from->crc64, bytes);
    return OK;
}

static void fetch_done(void *arg, enum err err)
{
    struct http_request *request = arg;
    struct from_url *from = request->from_url;
    if (err == OK && from->is_hashed_only)
        md5_digest(&from->md5_ctx, sizeof(from->md5), from->md5);
    if (err == OK)
        err = from->run(request);
    /* A change that was started is answered by its own `done`. */
    if (err != OK)
        request_done(request, err);
}

/* --- starting --- */

/* What the part that is wanted of a source of this length is. */
static enum err choose_part(struct http_request *request, struct from_url *from,
                            struct payload_reader *reader, uint64_t size_bytes)
{
    struct http_fetch *fetch = &from->fetch;
    fetch->reader = reader;
    fetch->reader_length = size_bytes;
    if (from->source.has_range &&
        !http_range_resolve(&from->source.range, size_bytes, &fetch->reader_offset,
                            &fetch->reader_length)) {
        request->resource_bytes = size_bytes;
        return ERR_INVALID_RANGE;
    }
    return OK;
}

/* The part of a source here that is wanted. */
static enum err open_here(struct http_request *request, struct from_url *from)
{
    struct blob blob;
    const enum err err = copy_source_open(request, &from->source, &blob, &from->reader);
    if (err != OK)
        return err;
    from->properties = blob.properties;
    from->metadata = blob.metadata;
    if (from->source.may_read_tags)
        from->tags = blob.tags;
    from->type = blob.type;
    from->etag = blob.etag;
    return choose_part(request, from, &from->reader, blob.content.length_bytes);
}

/* A file of this server can be read, or not. */
static void file_opened(void *arg, enum err err)
{
    struct http_request *request = arg;
    struct from_url *from = request->from_url;
    const struct node *node = &from->file.node;
    if (err == OK)
        err = choose_part(request, from, &from->file.payload, node->content.length_bytes);
    if (err == OK) {
        from->properties = node->properties;
        from->metadata = node->metadata;
        from->etag = node->etag;
        http_fetch_start(request->context->fetcher, &from->fetch);
        return;
    }
    const bool is_absent = err == ERR_SHARE_NOT_FOUND || err == ERR_SHARE_SNAPSHOT_NOT_FOUND ||
                           err == ERR_PARENT_NOT_FOUND || err == ERR_RESOURCE_NOT_FOUND ||
                           err == ERR_RESOURCE_TYPE_MISMATCH;
    request_done(request, is_absent ? ERR_COPY_SOURCE_NOT_FOUND : err);
}

/* It may have to wait for SMB clients, as any reader of the file has to. */
static void open_file(struct http_request *request, struct from_url *from)
{
    struct node_get *file = &from->file;
    const struct http_range *range = &from->source.range;
    request_bind(request, &file->base);
    file->base.done = file_opened;
    file->name = from->source.file;
    file->kind = NODE_FILE;
    file->want_payload = true;
    file->end = LIMIT_FILE_BYTES;
    if (from->source.has_range && range->first < LIMIT_FILE_BYTES) {
        file->start = range->first;
        file->end = range->last < LIMIT_FILE_BYTES ? range->last + 1 : LIMIT_FILE_BYTES;
    }
    node_get(request->context->service, file);
}

enum err from_url_run(struct http_request *request)
{
    struct from_url *from = request->from_url;
    struct http_fetch *fetch = &from->fetch;
    if (request->context->fetcher == NULL)
        return ERR_NOT_IMPLEMENTED;
    *fetch = (struct http_fetch){
        .arena = &request->arena,
        .begun = fetch_begun,
        .receive = fetch_receive,
        .done = fetch_done,
        .arg = request,
    };
    md5_init(&from->md5_ctx);
    if (from->source.is_here && request->context->kind->id == HTTP_SERVICE_OF_FILES) {
        open_file(request, from);
        return OK;
    }
    if (from->source.is_here) {
        const enum err err = open_here(request, from);
        if (err != OK)
            return err;
    } else {
        fetch->url = arena_copy(&request->arena, from->source.text).data;
        copy_source_headers(request, &request->arena, &fetch->headers, &fetch->header_count);
    }
    http_fetch_start(request->context->fetcher, fetch);
    return OK;
}
