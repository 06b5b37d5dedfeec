/*
 * api_table.c - tables: Create, Query and Delete Table, Get and Set Table ACL.
 */
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_odata.h"
#include "frontend/http/odata_path.h"
#include "frontend/http/odata_read.h"
#include "frontend/http/odata_token.h"
#include "frontend/http/xml_policy.h"
#include "service/limits.h"
#include "service/table/table.h"
#include "service/table/table_name.h"

/* A change to a table, and how its maker wants to be answered. */
struct table_arguments {
    struct table_change change; /* first: it is what `done` is told of */
    struct odata_format format;
    enum api_preference preference;
};

/* Where the path itself names the table, its absence is that of the resource. */
static enum err absent_resource(enum err err)
{
    return err == ERR_TABLE_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
}

static void table_done(void *arg, enum err err)
{
    request_done(arg, absent_resource(err));
}

enum err table_change_prepare(struct http_request *request)
{
    struct table_arguments *arguments = arena_alloc(&request->arena, sizeof(*arguments));
    request->arguments = arguments;
    request_bind(request, &arguments->change.base);
    arguments->change.base.done = table_done;
    arguments->change.name = api_table_name(request);
    return OK;
}

/* --- Create Table --- */

enum err create_table_prepare(struct http_request *request)
{
    enum err err = table_change_prepare(request);
    struct table_arguments *arguments = request->arguments;
    arguments->preference = api_preference(&request->message);
    if (err == OK)
        err = api_check_json(&request->message);
    if (err == OK)
        err = api_odata_format(request, &request->message, &arguments->format);
    return err;
}

enum err create_table_run(struct http_request *request)
{
    struct table_arguments *arguments = request->arguments;
    struct slice *name = &arguments->change.name.table;
    enum err err = odata_read_table(&request->arena, strbuf_slice(&request->document), name);
    if (err == OK)
        err = table_name_check(*name);
    if (err == OK)
        table_create(request->context->service, &arguments->change);
    return err;
}

void create_table_respond(struct http_request *request)
{
    const struct table_arguments *arguments = request->arguments;
    const struct odata_format *format = &arguments->format;
    const struct slice name = arguments->change.name.table;
    const bool no_content = arguments->preference == PREFER_NO_CONTENT;
    struct http_response *response = &request->response;
    struct strbuf path;
    strbuf_init(&path, &request->arena);
    odata_path_add_table(&path, name);
    api_begin_odata(response, &request->arena, no_content ? 204 : 201);
    api_add_preference(response, arguments->preference);
    api_add_location(response, format, &path, no_content);
    if (no_content)
        return;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    odata_write_table(&body, format, name);
    api_add_json(response, format, &body);
}

/* --- Delete Table --- */

enum err delete_table_run(struct http_request *request)
{
    struct table_arguments *arguments = request->arguments;
    table_delete(request->context->service, &arguments->change);
    return OK;
}

void delete_table_respond(struct http_request *request)
{
    api_begin_odata(&request->response, &request->arena, 204);
}

/* --- Query Tables --- */

/* A page being written. */
struct table_page {
    const struct odata_format *format;
    struct strbuf body;
    bool is_first;
};

static bool emit_table(void *arg, const struct table *table)
{
    struct table_page *page = arg;
    odata_add_table(&page->body, page->format, page->is_first, table->name);
    page->is_first = false;
    return true;
}

static enum err read_list_request(struct http_request *request, struct odata_format *format,
                                  struct table_list_request *list)
{
    bool present;
    *list = (struct table_list_request){ .account = slice_of(request->address.account->name) };
    enum err err = api_odata_format(request, &request->message, format);
    if (err == OK)
        err = api_top(request, &list->results_max);
    if (err == OK)
        err = api_filter(request, &list->filter);
    if (err == OK)
        err = api_continuation(request, "nexttablename", &present, &list->from);
    /* A token that was made up may hold anything. */
    if (err == OK && present && table_name_check(list->from) != OK)
        err = ERR_INVALID_INPUT;
    return err;
}

enum err query_tables_run(struct http_request *request)
{
    struct odata_format format;
    struct table_list_request list;
    enum err err = read_list_request(request, &format, &list);
    if (err != OK)
        return err;
    struct table_page page = { .format = &format, .is_first = true };
    struct slice next;
    strbuf_init(&page.body, &request->arena);
    odata_begin_tables(&page.body, &format);
    list.emit = emit_table;
    list.arg = &page;
    err = table_list(request->context->service, &request->arena, &list, &next);
    if (err != OK)
        return err;
    odata_end_page(&page.body);
    struct http_response *response = &request->response;
    api_begin_odata(response, &request->arena, 200);
    if (next.len > 0)
        http_response_add(response, "x-ms-continuation-NextTableName",
                          odata_token_make(&request->arena, next));
    api_add_json(response, &format, &page.body);
    return OK;
}

enum err query_table_run(struct http_request *request)
{
    const struct table_name name = api_table_name(request);
    struct odata_format format;
    struct table table;
    enum err err = api_odata_format(request, &request->message, &format);
    if (err == OK)
        err = table_get(request->context->service, &request->arena, &name, &table);
    if (err != OK)
        return absent_resource(err);
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    odata_write_table(&body, &format, table.name);
    api_begin_odata(&request->response, &request->arena, 200);
    api_add_json(&request->response, &format, &body);
    return OK;
}

/* --- ACL --- */

enum err get_table_acl_run(struct http_request *request)
{
    const struct table_name name = api_table_name(request);
    struct table table;
    const enum err err = table_get(request->context->service, &request->arena, &name, &table);
    if (err != OK)
        return absent_resource(err);
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_policy_write(&body, &table.policies);
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(&body);
    return OK;
}

enum err set_table_acl_run(struct http_request *request)
{
    struct table_arguments *arguments = request->arguments;
    struct xml_fault fault;
    const enum err err = xml_policy_read(&request->arena, strbuf_slice(&request->document),
                                         &arguments->change.policies, &fault);
    if (err == OK)
        table_set_acl(request->context->service, &arguments->change);
    return err;
}

void set_table_acl_respond(struct http_request *request)
{
    (void)request_respond(request, 204);
}
