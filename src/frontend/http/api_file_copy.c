/*
 * api_file_copy.c - Copy File, Abort Copy File.
 *
 * A source of this service is copied within the store; everything else, a blob too, is fetched from
 * its URL while the request waits.
 */
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_node.h"
#include "frontend/http/api_permission.h"
#include "frontend/http/from_url.h"
#include "service/file/file_copy.h"
#include "service/file/file_lease.h"
#include "service/limits.h"

struct copy_arguments {
    struct file_copy copy;    /* first */
    struct api_hashes hashes; /* none: Copy File takes no hash of its source */
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

static enum err copy_fetched(struct http_request *request);

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
    if (err == OK)
        err = from_url_prepare(request, LIMIT_FILE_BYTES, &arguments->hashes, copy_fetched);
    if (err != OK)
        return err;
    struct from_url *from = request->from_url;
    if (from->source.has_range)
        return request_fault_header(request, ERR_UNSUPPORTED_HEADER, "x-ms-source-range");
    from->may_be_empty = true;
    copy->url = from->source.text;
    copy->source = from->source.file;
    return OK;
}

/* --- performing it --- */

/* The source was fetched from elsewhere. */
static enum err copy_fetched(struct http_request *request)
{
    struct copy_arguments *arguments = request->arguments;
    struct node_change *change = &arguments->copy.change;
    const struct from_url *from = request->from_url;
    const enum err err = payload_writer_finish(request->body);
    if (err != OK)
        return err;
    change->payload = request->body;
    change->properties = from->properties;
    if (change->metadata.count == 0)
        change->metadata = from->metadata;
    file_copy_put(request->context->service, &arguments->copy);
    return OK;
}

enum err copy_file_run(struct http_request *request)
{
    struct copy_arguments *arguments = request->arguments;
    if (!request->from_url->source.is_here)
        return from_url_run(request);
    file_copy(request->context->service, &arguments->copy);
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
    http_response_add_text(response, "x-ms-copy-status", "success");
}

/* --- Abort Copy File --- */

/* A copy is finished when it is answered, so there is never one to end. */
static void abort_looked(void *arg, enum err err)
{
    struct http_request *request = arg;
    struct node_get *get = request->arguments;
    if (err == OK)
        err = file_lease_write(&get->node.lease, request->has_lease_id ? &request->lease_id : NULL);
    request_done(request, err == OK ? ERR_NO_PENDING_COPY : api_read_error(err));
}

enum err abort_copy_file_prepare(struct http_request *request)
{
    const char *const parameter = "copyid";
    struct node_get *get = arena_alloc(&request->arena, sizeof(*get));
    const struct slice id = http_message_parameter(&request->message, parameter);
    struct uuid uuid;
    request->arguments = get;
    const enum err err = api_node_get(request, NODE_FILE, get);
    if (err != OK)
        return err;
    get->base.done = abort_looked;
    get->has_lease_id = false;
    if (id.len == 0) {
        request_add_detail(request, "QueryParameterName", slice_of(parameter));
        return ERR_MISSING_QUERY_PARAMETER;
    }
    return uuid_parse(id, &uuid) == OK
               ? OK
               : request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
}

void abort_copy_file_respond(struct http_request *request)
{
    (void)request_respond(request, 204);
}
