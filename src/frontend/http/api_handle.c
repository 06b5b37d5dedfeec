/*
 * api_handle.c - what SMB clients have open: List Handles, Force Close Handles.
 *
 * The table of opens knows ids; names are found by them.  "Recursive" is a question of names too:
 * the handles of the share are gone through, and those count whose path begins with that of the
 * directory.  Neither operation asks the table for anything as others do, so both work on a file
 * that is delete-pending.
 */
#include <inttypes.h>

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_node.h"
#include "frontend/http/xml_write.h"
#include "service/file/open_table.h"
#include "service/limits.h"

enum {
    /* Handles that are looked at together. */
    HANDLES_AT_ONCE = 256,
    /* Handles that one request closes; the client goes on with the marker. */
    CLOSED_AT_ONCE = 1000,
};

/* --- which handles --- */

struct handle_scope {
    struct share_name share;
    uint64_t incarnation;
    struct node node;
    struct slice path; /* of the node */
    bool is_recursive;
};

struct handle_arguments {
    struct node_name name;
    bool is_recursive;
    uint64_t after; /* the marker */
    size_t results_max;
    bool every;         /* force close: x-ms-handle-id is an asterisk */
    uint64_t handle_id; /* else */
};

static void note_err(void *arg, enum err err)
{
    *(enum err *)arg = err;
}

/* The directory or file; nobody has to let this in, so it is answered at once. */
static enum err find_node(struct http_request *request, const struct node_name *name,
                          struct node *node)
{
    static const enum node_kind kinds[] = { NODE_DIRECTORY, NODE_FILE };
    enum err err = ERR_RESOURCE_TYPE_MISMATCH;
    for (size_t i = 0; i < 2 && err == ERR_RESOURCE_TYPE_MISMATCH; i++) {
        struct node_get *get = arena_alloc(&request->arena, sizeof(*get));
        get->base.arena = &request->arena;
        get->base.done = note_err;
        get->base.arg = &err;
        get->name = *name;
        get->kind = kinds[i];
        get->is_admitted = true;
        node_get(request->context->service, get);
        *node = get->node;
    }
    return err;
}

static enum err find_scope(struct http_request *request, const struct handle_arguments *arguments,
                           struct handle_scope *scope)
{
    struct service *service = request->context->service;
    struct share share;
    *scope = (struct handle_scope){
        .share = arguments->name.share,
        .is_recursive = arguments->is_recursive,
    };
    enum err err = share_get(service, &request->arena, &scope->share, NULL, &share);
    if (err == OK)
        err = find_node(request, &arguments->name, &scope->node);
    if (err != OK)
        return err;
    scope->incarnation = share.incarnation;
    if (scope->node.kind == NODE_FILE && scope->is_recursive)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-recursive");
    if (!scope->is_recursive)
        return OK;
    return node_find_path(service, &request->arena, &scope->share, scope->node.id, &scope->path);
}

static bool is_below(struct slice path, struct slice directory)
{
    return directory.len == 0 || slice_equal(path, directory) ||
           (slice_starts_with(path, directory) && path.data[directory.len] == '/');
}

/* A handle and the path of what it is of. */
struct found_handle {
    struct handle_info info;
    struct slice path;
};

/* A handle with the path of its file, in the request's arena; false if it is not of the scope.
   Most are not, perhaps, so what is looked up is in an arena of its own. */
static bool take_handle(struct http_request *request, const struct handle_scope *scope,
                        struct arena *page, const struct handle_info *info,
                        struct found_handle *found)
{
    struct slice path;
    const enum err err =
        node_find_path(request->context->service, page, &scope->share, info->key.file_id, &path);
    if (err != OK || (scope->is_recursive && !is_below(path, scope->path)))
        return false;
    *found = (struct found_handle){ .info = *info, .path = arena_copy(&request->arena, path) };
    found->info.address = arena_copy(&request->arena, info->address);
    found->info.name = arena_copy(&request->arena, info->name);
    return true;
}

/*
 * The handles of the scope after the marker, up to `results_max` of them; `*next` is the marker of
 * those that follow, or 0.
 */
static size_t find_handles(struct http_request *request, const struct handle_scope *scope,
                           const struct handle_arguments *arguments, struct found_handle *found,
                           uint64_t *next)
{
    struct open_table *table = request->context->service->opens;
    struct handle_query query = {
        .share = scope->incarnation,
        .snapshot = scope->share.snapshot,
        .file_id = scope->is_recursive ? NULL : &scope->node.id,
        .after = arguments->after,
    };
    struct arena page = { 0 };
    size_t count = 0;
    *next = 0;
    if (table == NULL)
        return 0;
    do {
        struct handle_info *handles;
        const size_t left = arguments->results_max - count;
        query.results_max = left < HANDLES_AT_ONCE ? left : HANDLES_AT_ONCE;
        arena_clear(&page);
        const size_t got = open_table_list(table, &query, &page, &handles, next);
        for (size_t i = 0; i < got; i++)
            if (take_handle(request, scope, &page, &handles[i], &found[count]))
                count++;
        query.after = *next;
    } while (*next != 0 && count < arguments->results_max);
    arena_release(&page);
    return count;
}

/* --- arguments --- */

static enum err read_arguments(struct http_request *request, struct handle_arguments **result)
{
    struct handle_arguments *arguments = arena_alloc(&request->arena, sizeof(*arguments));
    *result = arguments;
    const struct slice marker = http_message_parameter(&request->message, "marker");
    enum err err = api_node_name(request, &arguments->name);
    if (err == OK)
        err = api_bool_header(request, "x-ms-recursive", &arguments->is_recursive);
    if (err == OK && marker.len > 0 && decimal_parse_u64(marker, &arguments->after) != OK)
        err = request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "marker");
    return err;
}

/* --- List Handles --- */

enum err list_handles_prepare(struct http_request *request)
{
    struct handle_arguments *arguments;
    const enum err err = read_arguments(request, &arguments);
    request->arguments = arguments;
    return err == OK ? api_results_max(request, &arguments->results_max) : err;
}

static void add_number(struct strbuf *body, const char *element, uint64_t number)
{
    strbuf_printf(body, "<%s>%" PRIu64 "</%s>", element, number, element);
}

static void add_rights(struct strbuf *body, unsigned access)
{
    static const struct {
        unsigned bit;
        const char *word;
    } rights[] = { { FILE_ACCESS_READ, "Read" },
                   { FILE_ACCESS_WRITE, "Write" },
                   { FILE_ACCESS_DELETE, "Delete" } };
    strbuf_add_text(body, "<AccessRightList>");
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
        if ((access & rights[i].bit) != 0)
            xml_add_element(body, "AccessRight", slice_of(rights[i].word));
    strbuf_add_text(body, "</AccessRightList>");
}

static void add_handle(const struct http_request *request, struct strbuf *body,
                       const struct found_handle *handle)
{
    const struct handle_info *info = &handle->info;
    char opened[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(info->opened_at, opened);
    strbuf_add_text(body, "<Handle>");
    add_number(body, "HandleId", info->handle_id);
    xml_add_name(body, "Path", handle->path);
    add_number(body, "FileId", info->key.file_id);
    add_number(body, "ParentId", info->parent_id);
    add_number(body, "SessionId", info->session_id);
    xml_add_element(body, "ClientIp", info->address);
    if (request->version >= 20240204)
        xml_add_element(body, "ClientName", info->name);
    xml_add_element(body, "OpenTime", slice_of(opened));
    if (request->version >= 20230103)
        add_rights(body, info->mode.access);
    strbuf_add_text(body, "</Handle>");
}

enum err list_handles_run(struct http_request *request)
{
    const struct handle_arguments *arguments = request->arguments;
    struct handle_scope scope;
    uint64_t next;
    const enum err err = find_scope(request, arguments, &scope);
    if (err != OK)
        return err;
    struct found_handle *found =
        arena_alloc(&request->arena, arguments->results_max * sizeof(*found));
    const size_t count = find_handles(request, &scope, arguments, found, &next);
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_begin_document(&body);
    strbuf_add_text(&body, "<EnumerationResults>");
    strbuf_add_text(&body, count == 0 ? "<Entries />" : "<Entries>");
    for (size_t i = 0; i < count; i++)
        add_handle(request, &body, &found[i]);
    strbuf_add_text(&body, count == 0 ? "" : "</Entries>");
    xml_add_element(&body, "NextMarker",
                    next == 0 ? (struct slice){ 0 }
                              : arena_printf(&request->arena, "%" PRIu64, next));
    strbuf_add_text(&body, "</EnumerationResults>");
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(&body);
    return OK;
}

/* --- Force Close Handles --- */

struct force_close {
    struct handle_arguments *arguments;
    struct handle_scope scope;
    struct http_request *request;
    struct found_handle *found;
    size_t count;
    size_t at; /* the next to be closed */
    uint64_t next;
    uint64_t closed_count;
    struct open_closed closed; /* whose file is being deleted */
};

enum err force_close_prepare(struct http_request *request)
{
    const char *const header = "x-ms-handle-id";
    struct force_close *close = arena_alloc(&request->arena, sizeof(*close));
    const struct slice id = http_message_header(&request->message, header);
    request->arguments = close;
    close->request = request;
    const enum err err = read_arguments(request, &close->arguments);
    if (err != OK)
        return err;
    if (id.len == 0)
        return request_fault_header(request, ERR_MISSING_HEADER, header);
    struct handle_arguments *arguments = close->arguments;
    arguments->results_max = CLOSED_AT_ONCE;
    arguments->every = slice_is(id, "*");
    if (arguments->every)
        return OK;
    if (decimal_parse_u64(id, &arguments->handle_id) != OK || arguments->handle_id == 0)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    /* The one handle is the first after those with smaller ids, or not there. */
    arguments->results_max = 1;
    arguments->after = arguments->handle_id - 1;
    return OK;
}

static void close_rest(struct force_close *close);

/* The file of the last handle was deleted, or could not be. */
static void deleted(void *arg, enum err err)
{
    struct force_close *close = arg;
    (void)err;
    open_table_deleted(close->request->context->service->opens, close->closed.key);
    close_rest(close);
}

/* It was the last handle of a file that was marked for deletion: it goes now. */
static void delete_file(struct force_close *close)
{
    struct http_request *request = close->request;
    struct node_change *deletion = arena_alloc(&request->arena, sizeof(*deletion));
    struct node node = { 0 };
    deletion->base.arena = &request->arena;
    deletion->base.done = deleted;
    deletion->base.arg = close;
    deletion->name.share = close->scope.share;
    deletion->name.id = close->closed.key.file_id;
    deletion->is_admitted = true;
    const enum err err = find_node(request, &deletion->name, &node);
    deletion->kind = node.kind;
    if (err == OK)
        node_delete(request->context->service, deletion);
    else
        deleted(close, err);
}

static bool is_wanted(const struct force_close *close, const struct handle_info *info)
{
    return close->arguments->every || close->arguments->handle_id == info->handle_id;
}

/* After a deletion has begun nothing of this may be touched: `deleted` goes on with it. */
static void close_rest(struct force_close *close)
{
    struct open_table *table = close->request->context->service->opens;
    while (close->at < close->count) {
        const struct handle_info *info = &close->found[close->at++].info;
        if (!is_wanted(close, info) ||
            open_table_force_close(table, close->scope.incarnation, info->handle_id,
                                   &close->closed) != OK)
            continue;
        close->closed_count++;
        if (close->closed.delete_file) {
            delete_file(close);
            return;
        }
    }
    request_done(close->request, OK);
}

enum err force_close_run(struct http_request *request)
{
    struct force_close *close = request->arguments;
    const enum err err = find_scope(request, close->arguments, &close->scope);
    if (err != OK)
        return err;
    close->found =
        arena_alloc(&request->arena, close->arguments->results_max * sizeof(*close->found));
    close->count =
        find_handles(request, &close->scope, close->arguments, close->found, &close->next);
    close_rest(close);
    return OK;
}

void force_close_respond(struct http_request *request)
{
    const struct force_close *close = request->arguments;
    struct http_response *response = request_respond(request, 200);
    http_response_add_number(response, "x-ms-number-of-handles-closed", close->closed_count);
    http_response_add_number(response, "x-ms-number-of-handles-failed", 0);
    if (close->next != 0 && close->arguments->every)
        http_response_add_number(response, "x-ms-marker", close->next);
}
