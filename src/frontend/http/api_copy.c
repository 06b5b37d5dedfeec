/*
 * api_copy.c - Copy Blob, Copy Blob From URL, Abort Copy Blob, Incremental Copy Blob, Put Blob From
 * URL.
 */
#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/copy_job.h"
#include "frontend/http/copy_source.h"
#include "frontend/http/from_url.h"
#include "service/blob/copy.h"
#include "service/blob/page_map.h"
#include "service/limits.h"

/* --- what copies have in common --- */

struct copy_arguments {
    struct copy_change change;
    struct copy_source source;
    struct api_hashes hashes;
    bool is_pending; /* the copy goes on in the background */
};

static bool header_is(const struct http_request *request, const char *header, const char *value)
{
    return slice_equal_nocase(http_message_header(&request->message, header), slice_of(value));
}

static struct copy_arguments *new_arguments(struct http_request *request)
{
    struct copy_arguments *arguments = arena_alloc(&request->arena, sizeof(*arguments));
    request->arguments = arguments;
    api_fill_blob_change(request, &arguments->change.blob);
    arguments->change.id = uuid_random();
    return arguments;
}

/* x-ms-copy-source-tag-option: whether the tags are those of the source. */
static enum err read_tag_option(struct http_request *request, const struct copy_source *source,
                                bool *copies_tags)
{
    const char *const header = "x-ms-copy-source-tag-option";
    const struct slice option = http_message_header(&request->message, header);
    *copies_tags = slice_equal_nocase(option, slice_of("COPY"));
    if (option.len > 0 && !*copies_tags && !slice_equal_nocase(option, slice_of("REPLACE")))
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    if (!*copies_tags)
        return OK;
    if (request->tags.count > 0)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-tags");
    /* Another server would have to be asked for them in a request of its own. */
    if (!source->is_here)
        return ERR_NOT_IMPLEMENTED;
    return source->may_read_tags ? OK : ERR_COPY_SOURCE_FORBIDDEN;
}

static void add_copy_id(struct http_response *response, const struct uuid *id)
{
    char text[UUID_TEXT_LEN + 1];
    uuid_format(id, text);
    http_response_add(response, "x-ms-copy-id", slice_of(text));
}

static struct http_response *respond_copy(struct http_request *request)
{
    const struct copy_arguments *arguments = request->arguments;
    struct http_response *response = request_respond(request, 202);
    http_response_add_etag(response, arguments->change.blob.etag);
    api_add_version(request, arguments->change.blob.version_id);
    add_copy_id(response, &arguments->change.id);
    http_response_add_text(response, "x-ms-copy-status",
                           arguments->is_pending ? "pending" : "success");
    return response;
}

/* --- Copy Blob --- */

/* What a copy within this server needs of its source. */
static void fill_source(struct copy_change *change, const struct copy_source *source)
{
    change->url = source->shown;
    change->source = source->name;
    change->source_condition = source->condition;
}

enum err copy_blob_prepare(struct http_request *request)
{
    const char *const seal = "x-ms-seal-blob";
    struct copy_arguments *arguments = new_arguments(request);
    struct copy_change *change = &arguments->change;
    const enum err err = copy_source_read(request, &arguments->source);
    if (err != OK)
        return err;
    if (arguments->source.has_range)
        return request_fault_header(request, ERR_UNSUPPORTED_HEADER, "x-ms-source-range");
    fill_source(change, &arguments->source);
    change->needs_infinite_lease = true;
    change->seals = header_is(request, seal, "true");
    arguments->is_pending = !arguments->source.is_here;
    return OK;
}

/* --- Copy Blob from elsewhere --- */

/* A page blob has whole pages, and a number. */
static enum err understand_pages(const struct http_fetch *fetch, struct copy_change *change)
{
    if (change->total_bytes % PAGE_BYTES != 0)
        return ERR_INVALID_SOURCE_TYPE;
    const struct slice number = http_message_header(&fetch->answer, "x-ms-blob-sequence-number");
    return number.len == 0 || decimal_parse_u64(number, &change->sequence_number) == OK
               ? OK
               : ERR_COPY_SOURCE_UNREACHABLE;
}

static enum err understand_blob(struct http_request *request, void *arg,
                                const struct http_fetch *fetch, struct arena *arena,
                                struct copy_step **result)
{
    struct copy_change *change = arg;
    struct copy_step *step = arena_alloc(arena, sizeof(*step));
    change->total_bytes = fetch->length_bytes;
    change->type = copy_answer_type(&fetch->answer);
    enum err err =
        copy_take_answer(arena, &fetch->answer, &change->blob.properties, &change->blob.metadata);
    if (err == OK && change->type == BLOB_PAGE)
        err = understand_pages(fetch, change);
    if (err == OK)
        err =
            copy_partition(request->context->service, arena, &change->blob.name, &step->partition);
    step->blob = arena_copy(arena, change->blob.name.blob);
    step->id = change->id;
    *result = step;
    return err;
}

static void begin_blob(struct service *service, void *arg, void (*done)(void *arg, enum err err),
                       void *done_arg)
{
    struct copy_change *change = arg;
    change->blob.base.done = done;
    change->blob.base.arg = done_arg;
    copy_begin(service, change);
}

static const struct copy_job_kind to_blob = {
    .understand = understand_blob,
    .begin = begin_blob,
    .step = copy_step,
};

enum err copy_blob_run(struct http_request *request)
{
    struct copy_arguments *arguments = request->arguments;
    if (!arguments->is_pending)
        copy_blob(request->context->service, &arguments->change);
    else if (request->context->fetcher == NULL)
        return ERR_NOT_IMPLEMENTED;
    else
        copy_job_start(request, &arguments->source, &to_blob, &arguments->change);
    return OK;
}

void copy_blob_respond(struct http_request *request)
{
    respond_copy(request);
}

/* --- Incremental Copy Blob --- */

enum err incremental_copy_prepare(struct http_request *request)
{
    struct copy_arguments *arguments = new_arguments(request);
    struct copy_change *change = &arguments->change;
    const enum err err = copy_source_read(request, &arguments->source);
    if (err != OK)
        return err;
    /* Only this server's snapshots can be compared with each other. */
    if (!arguments->source.is_here)
        return ERR_NOT_IMPLEMENTED;
    fill_source(change, &arguments->source);
    change->is_incremental = true;
    return OK;
}

/* --- Copy Blob From URL --- */

/* The source was read: share what is here, in the state that was read; store what is not. */
static enum err copy_fetched(struct http_request *request)
{
    struct copy_arguments *arguments = request->arguments;
    struct copy_change *change = &arguments->change;
    const struct from_url *from = request->from_url;
    enum err err;
    change->has_source_etag = true;
    change->source_etag = from->etag;
    if (from->source.is_here) {
        err = api_check_hashes(request, &arguments->hashes, from->md5, from->crc64);
        if (err == OK)
            copy_blob(request->context->service, change);
        return err;
    }
    err = payload_writer_finish(request->body);
    if (err == OK)
        err = api_check_body(request, &arguments->hashes);
    if (err != OK)
        return err;
    change->blob.payload = request->body;
    change->blob.properties = from->properties;
    if (change->blob.metadata.count == 0)
        change->blob.metadata = from->metadata;
    copy_put(request->context->service, change);
    return OK;
}

enum err copy_from_url_prepare(struct http_request *request)
{
    struct copy_arguments *arguments = new_arguments(request);
    struct copy_change *change = &arguments->change;
    enum err err =
        from_url_prepare(request, LIMIT_COPY_FROM_URL_BYTES, &arguments->hashes, copy_fetched);
    if (err != OK)
        return err;
    struct from_url *from = request->from_url;
    if (from->source.has_range)
        return request_fault_header(request, ERR_UNSUPPORTED_HEADER, "x-ms-source-range");
    err = read_tag_option(request, &from->source, &change->copies_tags);
    fill_source(change, &from->source);
    /* It was checked when the source was read, with the answers of a read. */
    change->source_condition = (struct condition){ 0 };
    change->is_block_only = true;
    from->is_block_only = true;
    from->is_hashed_only = from->source.is_here;
    from->may_be_empty = true;
    return err;
}

void copy_from_url_respond(struct http_request *request)
{
    const struct copy_arguments *arguments = request->arguments;
    const struct from_url *from = request->from_url;
    struct http_response *response = respond_copy(request);
    api_add_hashes(request, &arguments->hashes,
                   from->is_hashed_only ? from->crc64 : payload_writer_crc64(request->body));
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

/* --- Put Blob From URL --- */

struct put_from_url {
    struct blob_change change;
    struct blob_properties given; /* by the client */
    struct api_hashes hashes;
    bool ignores_source; /* its properties and metadata */
    bool copies_tags;
};

static struct slice either(struct slice given, struct slice source)
{
    return given.len > 0 ? given : source;
}

/* The properties of the new blob: those the client gives, else those of the source. */
static void choose_properties(struct put_from_url *put, const struct from_url *from)
{
    static const struct blob_properties none = { 0 };
    const struct blob_properties *given = &put->given;
    const struct blob_properties *source = put->ignores_source ? &none : &from->properties;
    put->change.properties = (struct blob_properties){
        .content_type = either(given->content_type, source->content_type),
        .content_encoding = either(given->content_encoding, source->content_encoding),
        .content_language = either(given->content_language, source->content_language),
        .cache_control = either(given->cache_control, source->cache_control),
        .content_disposition = either(given->content_disposition, source->content_disposition),
    };
    if (put->change.properties.content_type.len == 0)
        put->change.properties.content_type = slice_of("application/octet-stream");
    if (put->change.metadata.count == 0 && !put->ignores_source)
        put->change.metadata = from->metadata;
    if (put->copies_tags)
        put->change.tags = from->tags;
}

static enum err put_fetched(struct http_request *request)
{
    struct put_from_url *put = request->arguments;
    enum err err = payload_writer_finish(request->body);
    if (err == OK)
        err = api_check_body(request, &put->hashes);
    if (err != OK)
        return err;
    choose_properties(put, request->from_url);
    put->change.payload = request->body;
    put->change.properties.content_md5 =
        slice_make(payload_writer_md5(request->body), DIGEST_MD5_BYTES);
    blob_put(request->context->service, &put->change);
    return OK;
}

enum err put_blob_from_url_prepare(struct http_request *request)
{
    struct put_from_url *put = arena_alloc(&request->arena, sizeof(*put));
    request->arguments = put;
    api_fill_blob_change(request, &put->change);
    enum err err = from_url_prepare(request, LIMIT_PUT_BLOB_BYTES, &put->hashes, put_fetched);
    if (err == OK)
        err = api_read_properties(request, false, &put->given);
    if (err == OK)
        err = read_tag_option(request, &request->from_url->source, &put->copies_tags);
    if (err != OK)
        return err;
    request->from_url->may_be_empty = true;
    put->ignores_source = header_is(request, "x-ms-copy-source-blob-properties", "false");
    return OK;
}

void put_blob_from_url_respond(struct http_request *request)
{
    const struct put_from_url *put = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, put->change.etag);
    api_add_version(request, put->change.version_id);
    api_add_hashes(request, &put->hashes, payload_writer_crc64(request->body));
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

/* --- Abort Copy Blob --- */

enum err abort_copy_prepare(struct http_request *request)
{
    const char *const parameter = "copyid";
    struct copy_abort *abort = arena_alloc(&request->arena, sizeof(*abort));
    request->arguments = abort;
    request_bind(request, &abort->base);
    abort->name = api_blob_name(request);
    abort->has_lease_id = request->has_lease_id;
    abort->lease_id = request->lease_id;
    const struct slice id = http_message_parameter(&request->message, parameter);
    if (id.len == 0) {
        request_add_detail(request, "QueryParameterName", slice_of(parameter));
        return ERR_MISSING_QUERY_PARAMETER;
    }
    if (uuid_parse(id, &abort->id) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

enum err abort_copy_run(struct http_request *request)
{
    copy_abort(request->context->service, request->arguments);
    return OK;
}

void abort_copy_respond(struct http_request *request)
{
    request_respond(request, 204);
}

/* --- of Get Blob and Get Blob Properties --- */

void api_add_copy(struct http_response *response, const struct blob_copy *copy)
{
    static const char *const words[] = {
        [BLOB_COPY_PENDING] = "pending",
        [BLOB_COPY_SUCCESS] = "success",
        [BLOB_COPY_ABORTED] = "aborted",
        [BLOB_COPY_FAILED] = "failed",
    };
    if (copy->status == BLOB_COPY_NONE)
        return;
    add_copy_id(response, &copy->id);
    http_response_add_text(response, "x-ms-copy-status", words[copy->status]);
    http_response_add(response, "x-ms-copy-source", copy->source);
    http_response_add(response, "x-ms-copy-progress",
                      arena_printf(response->arena, "%llu/%llu",
                                   (unsigned long long)copy->copied_bytes,
                                   (unsigned long long)copy->total_bytes));
    if (copy->completed_at > 0)
        http_response_add_date(response, "x-ms-copy-completion-time", copy->completed_at);
    http_response_add(response, "x-ms-copy-status-description", copy->description);
    if (!copy->incremental)
        return;
    http_response_add_text(response, "x-ms-incremental-copy", "true");
    char snapshot[DATE_ISO_LEN + 1];
    date_format_iso(copy->completed_at, snapshot);
    http_response_add(response, "x-ms-copy-destination-snapshot", slice_of(snapshot));
}
