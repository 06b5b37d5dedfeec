/*
 * api_file_copy.c - Copy File, Abort Copy File.
 *
 * A source of this service is copied within the store; everything else, a blob too, is fetched from
 * its URL after the request was answered.
 */
#include "base/date.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_node.h"
#include "frontend/http/api_permission.h"
#include "frontend/http/copy_job.h"
#include "frontend/http/copy_source.h"
#include "service/file/file_copy.h"
#include "service/limits.h"

struct copy_arguments {
    struct file_copy copy; /* first */
    struct copy_source source;
};

/* --- arguments --- */

/* Whether a header says that something is to be as it is at the source. */
static bool is_of_source(const struct http_request *request, const char *header)
{
    return slice_equal_nocase(http_message_header(&request->message, header), slice_of("source"));
}

/* What SMB knows, of which each may be that of the source. */
static enum err read_smb(struct http_request *request, struct file_copy *copy)
{
    const char *const mode = "x-ms-file-permission-copy-mode";
    const struct slice given = http_message_header(&request->message, mode);
    struct node_smb *smb = &copy->change.smb;
    copy->keeps_attributes = is_of_source(request, "x-ms-file-attributes");
    copy->keeps_created_at = is_of_source(request, "x-ms-file-creation-time");
    copy->keeps_written_at = is_of_source(request, "x-ms-file-last-write-time");
    copy->keeps_changed_at = is_of_source(request, "x-ms-file-change-time");
    copy->keeps_permission = is_of_source(request, mode);
    if (given.len > 0 && !copy->keeps_permission &&
        !slice_equal_nocase(given, slice_of("override")))
        return request_fault_header(request, ERR_INVALID_HEADER, mode);
    enum err err = api_read_smb(request, API_SMB_COPY, smb);
    if (err != OK)
        return err;
    const bool has_permission = smb->has_permission_key || smb->permission.len > 0;
    if (has_permission && copy->keeps_permission)
        return request_fault_header(request, ERR_INVALID_HEADER, mode);
    if (given.len > 0 && !copy->keeps_permission && !has_permission)
        return request_fault_header(request, ERR_MISSING_HEADER, "x-ms-file-permission");
    err = api_bool_header(request, "x-ms-file-copy-set-archive", &copy->sets_archive);
    return err == OK ? api_bool_header(request, "x-ms-file-copy-ignore-readonly",
                                       &copy->change.ignores_readonly)
                     : err;
}

enum err copy_file_prepare(struct http_request *request)
{
    struct copy_arguments *arguments = arena_alloc(&request->arena, sizeof(*arguments));
    struct file_copy *copy = &arguments->copy;
    struct node_change *change = &copy->change;
    request->arguments = arguments;
    request_bind(request, &copy->base);
    change->kind = NODE_FILE;
    change->metadata = request->metadata;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    change->create_only = request->access.create_only;
    copy->id = uuid_random();
    enum err err = api_timeout(request, &change->timeout_ms);
    if (err == OK)
        err = api_node_name(request, &change->name);
    if (err == OK)
        err = read_smb(request, copy);
    if (err == OK && request->content_length != 0)
        err = request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    if (err == OK)
        err = copy_source_read(request, &arguments->source);
    if (err != OK)
        return err;
    if (arguments->source.has_range)
        return request_fault_header(request, ERR_UNSUPPORTED_HEADER, "x-ms-source-range");
    copy->url = arguments->source.shown;
    copy->source = arguments->source.file;
    return OK;
}

/* --- a source elsewhere --- */

/* An instant that is to be that of the source, if that says it. */
static void take_instant(const struct http_message *answer, const char *header, bool *is_kept,
                         bool *has_instant, int64_t *instant)
{
    int64_t ticks;
    if (*is_kept && date_parse_iso(http_message_header(answer, header), &ticks) == OK &&
        ticks > 0) {
        *has_instant = true;
        *instant = ticks;
    }
    *is_kept = false;
}

/* What is to be that of the source is what its answer says.  One that is no file says nothing; and
   a permission is known by its key to its own share alone. */
static void take_smb(const struct http_message *answer, struct file_copy *copy)
{
    struct node_smb *smb = &copy->change.smb;
    const struct slice attributes = http_message_header(answer, "x-ms-file-attributes");
    if (copy->keeps_attributes && attributes.len > 0)
        smb->has_attributes = api_attributes_parse(attributes, &smb->attributes);
    copy->keeps_attributes = copy->keeps_permission = false;
    take_instant(answer, "x-ms-file-creation-time", &copy->keeps_created_at, &smb->has_created_at,
                 &smb->created_at);
    take_instant(answer, "x-ms-file-last-write-time", &copy->keeps_written_at, &smb->has_written_at,
                 &smb->written_at);
    take_instant(answer, "x-ms-file-change-time", &copy->keeps_changed_at, &smb->has_changed_at,
                 &smb->changed_at);
}

static enum err understand_file(struct http_request *request, void *arg,
                                const struct http_fetch *fetch, struct arena *arena,
                                struct copy_step **step)
{
    struct file_copy *copy = arg;
    if (fetch->length_bytes > LIMIT_FILE_BYTES) {
        request_add_detail(
            request, "MaxLimit",
            arena_printf(&request->arena, "%llu", (unsigned long long)LIMIT_FILE_BYTES));
        return ERR_COPY_SOURCE_TOO_LARGE;
    }
    struct file_copy_step *result = arena_alloc(arena, sizeof(*result));
    *step = &result->step;
    copy->total_bytes = fetch->length_bytes;
    take_smb(&fetch->answer, copy);
    return copy_take_answer(arena, &fetch->answer, &copy->change.properties,
                            &copy->change.metadata);
}

static void begin_file(struct service *service, void *arg, void (*done)(void *arg, enum err err),
                       void *done_arg)
{
    struct file_copy *copy = arg;
    copy->base.done = done;
    copy->base.arg = done_arg;
    file_copy_begin(service, copy);
}

static void file_begun(const void *change, struct copy_step *step)
{
    file_copy_step_init((struct file_copy_step *)step, change);
}

static const struct copy_job_kind to_file = {
    .understand = understand_file,
    .begin = begin_file,
    .begun = file_begun,
    .step = file_copy_step,
};

/* --- performing it --- */

enum err copy_file_run(struct http_request *request)
{
    struct copy_arguments *arguments = request->arguments;
    if (arguments->source.is_here)
        file_copy(request->context->service, &arguments->copy);
    else if (request->context->fetcher == NULL)
        return ERR_NOT_IMPLEMENTED;
    else
        copy_job_start(request, &arguments->source, &to_file, &arguments->copy);
    return OK;
}

void copy_file_respond(struct http_request *request)
{
    const struct copy_arguments *arguments = request->arguments;
    struct http_response *response = request_respond(request, 202);
    char id[UUID_TEXT_LEN + 1];
    uuid_format(&arguments->copy.id, id);
    http_response_add_etag(response, arguments->copy.change.node.etag);
    http_response_add(response, "x-ms-copy-id", slice_of(id));
    http_response_add_text(response, "x-ms-copy-status",
                           arguments->source.is_here ? "success" : "pending");
}

/* --- Abort Copy File --- */

enum err abort_copy_file_prepare(struct http_request *request)
{
    const char *const parameter = "copyid";
    struct file_copy_abort *abort = arena_alloc(&request->arena, sizeof(*abort));
    struct node_change *change = &abort->change;
    const struct slice id = http_message_parameter(&request->message, parameter);
    request->arguments = abort;
    request_bind(request, &change->base);
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    enum err err = api_timeout(request, &change->timeout_ms);
    if (err == OK)
        err = api_node_name(request, &change->name);
    if (err != OK)
        return err;
    if (id.len == 0) {
        request_add_detail(request, "QueryParameterName", slice_of(parameter));
        return ERR_MISSING_QUERY_PARAMETER;
    }
    return uuid_parse(id, &abort->id) == OK
               ? OK
               : request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
}

enum err abort_copy_file_run(struct http_request *request)
{
    file_copy_abort(request->context->service, request->arguments);
    return OK;
}

void abort_copy_file_respond(struct http_request *request)
{
    (void)request_respond(request, 204);
}
