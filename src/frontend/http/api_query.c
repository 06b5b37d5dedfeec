/*
 * api_query.c - reading entities: Query Entities, and the point read of one.
 */
#include "frontend/http/api.h"
#include "frontend/http/api_odata.h"
#include "frontend/http/odata_token.h"
#include "service/limits.h"
#include "service/table/entity.h"
#include "service/table/table_name.h"

/* --- one entity --- */

enum err get_entity_run(struct http_request *request)
{
    const struct http_address *address = &request->address;
    const struct table_name table = api_table_name(request);
    const struct plan_window window = api_key_window(request);
    struct odata_format format;
    struct entity entity;
    enum err err = api_odata_format(request, &request->message, &format);
    if (err == OK)
        err = odata_select_parse(&request->arena,
                                 http_message_parameter(&request->message, "$select"), &format);
    if (err == OK)
        err = entity_get(request->context->service, &request->arena, &table, address->partition_key,
                         address->row_key, &entity);
    /* What a SAS does not show is not there. */
    if (err == OK && !plan_window_contains(&window, address->partition_key, address->row_key))
        err = ERR_RESOURCE_NOT_FOUND;
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    format.table = address->container;
    odata_write_entity(&body, &format, &entity);
    api_begin_odata(&request->response, &request->arena, 200);
    api_add_entity_etag(&request->response, entity.timestamp);
    api_add_json(&request->response, &format, &body);
    return OK;
}

/* --- a page of them --- */

struct entity_page {
    const struct odata_format *format;
    struct strbuf body;
    bool is_first;
};

static bool emit_entity(void *arg, const struct entity *entity)
{
    struct entity_page *page = arg;
    odata_add_entity(&page->body, page->format, page->is_first, entity);
    page->is_first = false;
    return page->body.len < LIMIT_LIST_BODY_BYTES;
}

/* Where the page begins: NextPartitionKey and NextRowKey of the one before. */
static enum err read_position(struct http_request *request, struct entity_position *position)
{
    bool has_row_key;
    enum err err =
        api_continuation(request, "nextpartitionkey", &position->present, &position->partition_key);
    if (err == OK)
        err = api_continuation(request, "nextrowkey", &has_row_key, &position->row_key);
    if (err != OK)
        return err;
    /* A token that was made up may hold anything. */
    if ((has_row_key && !position->present) || entity_key_check(position->partition_key) != OK ||
        entity_key_check(position->row_key) != OK)
        return ERR_INVALID_INPUT;
    return OK;
}

static enum err read_query(struct http_request *request, struct odata_format *format,
                           struct entity_query_request *query)
{
    *query = (struct entity_query_request){
        .table = api_table_name(request),
        .window = api_key_window(request),
        .looked_max = LIMIT_QUERY_LOOKED_MAX,
        .time_us = LIMIT_QUERY_US,
    };
    enum err err = api_odata_format(request, &request->message, format);
    format->table = request->address.container;
    if (err == OK)
        err = odata_select_parse(&request->arena,
                                 http_message_parameter(&request->message, "$select"), format);
    if (err == OK)
        err = api_top(request, &query->results_max);
    if (err == OK)
        err = api_filter(request, &query->filter);
    if (err == OK)
        err = read_position(request, &query->from);
    return err;
}

static void respond_page(struct http_request *request, const struct entity_page *page,
                         const struct entity_position *next)
{
    struct http_response *response = &request->response;
    api_begin_odata(response, &request->arena, 200);
    if (next->present) {
        http_response_add(response, "x-ms-continuation-NextPartitionKey",
                          odata_token_make(&request->arena, next->partition_key));
        http_response_add(response, "x-ms-continuation-NextRowKey",
                          odata_token_make(&request->arena, next->row_key));
    }
    api_add_json(response, page->format, &page->body);
}

enum err query_entities_run(struct http_request *request)
{
    struct odata_format format;
    struct entity_query_request query;
    struct entity_position next;
    enum err err = read_query(request, &format, &query);
    if (err != OK)
        return err;
    struct entity_page page = { .format = &format, .is_first = true };
    strbuf_init(&page.body, &request->arena);
    odata_begin_entities(&page.body, &format);
    query.emit = emit_entity;
    query.arg = &page;
    err = entity_query(request->context->service, &request->arena, &query, &next);
    if (err != OK)
        return err;
    odata_end_page(&page.body);
    respond_page(request, &page, &next);
    return OK;
}
