/*
 * api_directory.c - directories: Create, Get and Set Properties and Metadata, Delete, List
 * Directories and Files.
 */
#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_node.h"
#include "frontend/http/xml_write.h"
#include "service/etag.h"
#include "service/limits.h"

/* --- changes --- */

enum err directory_change_prepare(struct http_request *request)
{
    struct node_change *change;
    return api_node_change(request, NODE_DIRECTORY, &change);
}

enum err create_directory_prepare(struct http_request *request)
{
    struct node_change *change;
    const enum err err = api_node_change(request, NODE_DIRECTORY, &change);
    return err == OK ? api_read_smb(request, API_SMB_NEW, &change->smb) : err;
}

enum err create_node_run(struct http_request *request)
{
    node_create(request->context->service, request->arguments);
    return OK;
}

void create_node_respond(struct http_request *request)
{
    const struct node_change *change = request->arguments;
    (void)api_respond_node(request, 201, &change->node, true);
}

enum err set_directory_properties_prepare(struct http_request *request)
{
    struct node_change *change;
    const enum err err = api_node_change(request, NODE_DIRECTORY, &change);
    return err == OK ? api_read_smb(request, API_SMB_CHANGE, &change->smb) : err;
}

enum err set_node_properties_run(struct http_request *request)
{
    node_set_properties(request->context->service, request->arguments);
    return OK;
}

void set_node_properties_respond(struct http_request *request)
{
    const struct node_change *change = request->arguments;
    (void)api_respond_node(request, 200, &change->node, true);
}

enum err set_node_metadata_run(struct http_request *request)
{
    node_set_metadata(request->context->service, request->arguments);
    return OK;
}

void set_node_metadata_respond(struct http_request *request)
{
    const struct node_change *change = request->arguments;
    (void)api_respond_node(request, 200, &change->node, false);
}

enum err delete_node_run(struct http_request *request)
{
    node_delete(request->context->service, request->arguments);
    return OK;
}

void delete_node_respond(struct http_request *request)
{
    (void)request_respond(request, 202);
}

/* --- reads --- */

enum err get_directory_prepare(struct http_request *request)
{
    struct node_get *get = arena_alloc(&request->arena, sizeof(*get));
    request->arguments = get;
    return api_node_get(request, NODE_DIRECTORY, get);
}

enum err get_node_run(struct http_request *request)
{
    node_get(request->context->service, request->arguments);
    return OK;
}

void get_directory_properties_respond(struct http_request *request)
{
    const struct node_get *get = request->arguments;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, get->node.etag);
    api_add_metadata(response, &get->node.metadata);
    api_add_smb(request, response, &get->node);
    http_response_add_text(response, "x-ms-server-encrypted", "true");
}

void get_node_metadata_respond(struct http_request *request)
{
    const struct node_get *get = request->arguments;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, get->node.etag);
    api_add_metadata(response, &get->node.metadata);
}

/* --- List Directories and Files --- */

enum list_include {
    INCLUDE_TIMESTAMPS = 1 << 0,
    INCLUDE_ETAG = 1 << 1,
    INCLUDE_ATTRIBUTES = 1 << 2,
    INCLUDE_PERMISSION_KEY = 1 << 3,
};

struct list_nodes {
    struct node_list_request request;
    unsigned included; /* of enum list_include */
    bool with_ids;
    struct strbuf body;
};

/* Where to look for names, as part of a key: longer texts than names can be are refused.  Prefixes
   are looked for in upper case, which only text has. */
static enum err read_place(struct http_request *request, struct node_list_request *list)
{
    const enum err err = api_read_marker(request, &list->from);
    if (err != OK)
        return err;
    if (list->from.len > LIMIT_FILE_NAME_BYTES_MAX)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "marker");
    list->prefix = http_message_parameter(&request->message, "prefix");
    if (list->prefix.len > LIMIT_FILE_NAME_BYTES_MAX || !utf8_is_valid(list->prefix))
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "prefix");
    return OK;
}

enum err list_nodes_prepare(struct http_request *request)
{
    static const char *const words[] = { "Timestamps", "Etag", "Attributes", "PermissionKey",
                                         NULL };
    struct list_nodes *list = arena_alloc(&request->arena, sizeof(*list));
    request->arguments = list;
    enum err err = api_node_name(request, &list->request.directory);
    if (err == OK)
        err = api_include(request, words, &list->included);
    if (err == OK)
        err = read_place(request, &list->request);
    if (err == OK)
        err = api_results_max(request, &list->request.results_max);
    list->with_ids = request->version >= 20201002;
    return err;
}

static void add_time(struct strbuf *body, const char *element, int64_t ticks)
{
    char text[DATE_ISO_LEN + 1];
    date_format_iso(ticks, text);
    xml_add_element(body, element, slice_of(text));
}

static void add_timestamps(struct strbuf *body, const struct node *node)
{
    char date[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(node->etag, date);
    add_time(body, "CreationTime", node->created_at);
    add_time(body, "LastAccessTime", node->accessed_at);
    add_time(body, "LastWriteTime", node->written_at);
    add_time(body, "ChangeTime", node->changed_at);
    xml_add_element(body, "Last-Modified", slice_of(date));
}

static void add_properties(struct strbuf *body, const struct node *node, unsigned included)
{
    const bool is_file = node->kind == NODE_FILE;
    if (!is_file && (included & (INCLUDE_TIMESTAMPS | INCLUDE_ETAG)) == 0) {
        strbuf_add_text(body, "<Properties />");
        return;
    }
    strbuf_add_text(body, "<Properties>");
    if (is_file)
        strbuf_printf(body, "<Content-Length>%llu</Content-Length>",
                      (unsigned long long)node->content.length_bytes);
    if ((included & INCLUDE_TIMESTAMPS) != 0)
        add_timestamps(body, node);
    if ((included & INCLUDE_ETAG) != 0) {
        char etag[ETAG_TEXT_LEN_MAX + 1];
        etag_format(node->etag, etag);
        xml_add_element(body, "Etag", slice_of(etag));
    }
    strbuf_add_text(body, "</Properties>");
}

static bool emit_node(void *arg, const struct node *node)
{
    struct list_nodes *list = arg;
    struct strbuf *body = &list->body;
    const char *const element = node->kind == NODE_FILE ? "File" : "Directory";
    strbuf_printf(body, "<%s>", element);
    xml_add_name(body, "Name", node->name);
    if (list->with_ids)
        strbuf_printf(body, "<FileId>%llu</FileId>", (unsigned long long)node->id);
    add_properties(body, node, list->included);
    if ((list->included & INCLUDE_ATTRIBUTES) != 0)
        xml_add_element(body, "Attributes", api_attributes(body->arena, node->attributes));
    if ((list->included & INCLUDE_PERMISSION_KEY) != 0)
        xml_add_element(body, "PermissionKey", api_permission_key(node));
    strbuf_printf(body, "</%s>", element);
    return body->len < LIMIT_LIST_BODY_BYTES;
}

/* The entries are written before it is known which directory they are of. */
static void write_listing(struct http_request *request, const struct list_nodes *list,
                          const struct node *directory, struct slice next, struct strbuf *out)
{
    api_begin_listing(request, out);
    if (list->with_ids)
        strbuf_printf(out, "<DirectoryId>%llu</DirectoryId>", (unsigned long long)directory->id);
    if (list->body.len == 0) {
        strbuf_add_text(out, "<Entries />");
    } else {
        strbuf_add_text(out, "<Entries>");
        strbuf_add(out, strbuf_slice(&list->body));
        strbuf_add_text(out, "</Entries>");
    }
    xml_add_element(out, "NextMarker", api_make_marker(&request->arena, next));
    strbuf_add_text(out, "</EnumerationResults>");
}

enum err list_nodes_run(struct http_request *request)
{
    struct list_nodes *list = request->arguments;
    struct node directory;
    struct slice next = { 0 };
    strbuf_init(&list->body, &request->arena);
    list->request.emit = emit_node;
    list->request.arg = list;
    const enum err err =
        node_list(request->context->service, &request->arena, &list->request, &directory, &next);
    if (err != OK)
        return api_read_error(err);
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    strbuf_reserve(&body, list->body.len + 4096);
    write_listing(request, list, &directory, next, &body);
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(&body);
    return OK;
}
