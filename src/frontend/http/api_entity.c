/*
 * api_entity.c - entities: Insert, Update, Merge, Delete, Insert Or Replace, Insert Or Merge.
 */
#include "frontend/http/api_entity.h"

#include "frontend/http/api.h"
#include "frontend/http/odata_path.h"
#include "frontend/http/odata_read.h"
#include "frontend/http/odata_token.h"

/* --- what is asked for --- */

static enum err find_action(enum http_method method, enum http_level level,
                            enum entity_action *action)
{
    const bool of_entity = level == HTTP_ENTITY;
    if (method == HTTP_POST && level == HTTP_ENTITIES)
        *action = ENTITY_INSERT;
    else if (method == HTTP_PUT && of_entity)
        *action = ENTITY_REPLACE;
    else if ((method == HTTP_PATCH || method == HTTP_MERGE) && of_entity)
        *action = ENTITY_MERGE;
    else if (method == HTTP_DELETE && of_entity)
        *action = ENTITY_DELETE;
    else
        return ERR_UNSUPPORTED_VERB;
    return OK;
}

/* If-None-Match means nothing here. */
static enum err refuse_if_none_match(struct http_request *request, bool has_if_match,
                                     enum entity_action action)
{
    const char *message = "If-None-Match HTTP header cannot be specified for PUT operations.";
    if (has_if_match)
        message = "Both If-Match and If-None-Match HTTP headers cannot be specified at the same "
                  "time. Please specify either one of the headers or none of them.";
    else if (action == ENTITY_DELETE)
        message = "If-None-Match HTTP header cannot be specified for DELETE operations.";
    return api_odata_fault(request, ERR_INVALID_INPUT, slice_of(message));
}

static enum err find_condition(struct http_request *request, const struct http_message *message,
                               struct entity_operation *operation)
{
    const struct http_field *if_match = http_message_find_header(message, "if-match");
    operation->condition = ENTITY_IF_ANY;
    if (operation->action == ENTITY_INSERT)
        return OK;
    if (http_message_find_header(message, "if-none-match") != NULL)
        return refuse_if_none_match(request, if_match != NULL, operation->action);
    if (if_match == NULL && operation->action == ENTITY_DELETE)
        return ERR_MISSING_HEADER;
    if (if_match == NULL)
        return OK;
    const struct slice etag = slice_trim(if_match->value);
    operation->condition = slice_is(etag, "*") ? ENTITY_IF_EXISTS : ENTITY_IF_ETAG;
    if (operation->condition == ENTITY_IF_EXISTS ||
        odata_etag_parse(etag, &operation->if_etag) == OK)
        return OK;
    return api_odata_fault(
        request, ERR_INVALID_ETAG,
        arena_printf(&request->arena,
                     "The etag value '%.*s' specified in one of the request headers is not valid. "
                     "Please make sure only one etag value is specified and is valid.",
                     (int)etag.len, etag.data));
}

/* What the letters of a SAS allow; an upsert may add and may update. */
static bool is_permitted(const struct http_access *access, const struct entity_operation *operation)
{
    if (access->by_key)
        return true;
    switch (operation->action) {
    case ENTITY_INSERT:
        return access->may_add;
    case ENTITY_REPLACE:
    case ENTITY_MERGE:
        return access->may_update && (operation->condition != ENTITY_IF_ANY || access->may_add);
    case ENTITY_DELETE:
        break;
    }
    return access->may_delete;
}

static bool is_key_permitted(const struct http_request *request,
                             const struct entity_operation *operation)
{
    const struct plan_window window = api_key_window(request);
    return plan_window_contains(&window, operation->partition_key, operation->row_key);
}

enum err entity_ask_begin(struct http_request *request, const struct http_message *message,
                          enum http_method method, const struct http_address *address,
                          struct entity_ask *ask)
{
    struct entity_operation *operation = &ask->operation;
    *ask = (struct entity_ask){ .preference = api_preference(message),
                                .format = { .metadata = ODATA_MINIMAL } };
    operation->partition_key = address->partition_key;
    operation->row_key = address->row_key;
    enum err err = find_action(method, address->level, &operation->action);
    if (err == OK)
        err = api_odata_format(request, message, &ask->format);
    ask->format.table = address->container;
    if (err == OK && operation->action != ENTITY_DELETE)
        err = api_check_json(message);
    if (err == OK)
        err = find_condition(request, message, operation);
    if (err != OK)
        return err;
    if (!is_permitted(&request->access, operation))
        return ERR_AUTHORIZATION_PERMISSION;
    if (!api_may_use_table(request, address->container))
        return ERR_AUTHORIZATION_FAILED;
    if (operation->action != ENTITY_INSERT && !is_key_permitted(request, operation))
        return ERR_AUTHORIZATION_FAILED;
    return OK;
}

/* --- bodies --- */

/* The keys of an insert are in its body; those of others may be, and then are the path's. */
static enum err take_keys(const struct odata_entity *entity, struct entity_operation *operation)
{
    if (operation->action == ENTITY_INSERT) {
        operation->partition_key = entity->partition_key;
        operation->row_key = entity->row_key;
        return entity->has_partition_key && entity->has_row_key ? OK : ERR_PROPERTIES_NEED_VALUE;
    }
    if ((entity->has_partition_key &&
         !slice_equal(entity->partition_key, operation->partition_key)) ||
        (entity->has_row_key && !slice_equal(entity->row_key, operation->row_key)))
        return ERR_ENTITY_MALFORMED;
    return OK;
}

enum err entity_ask_read(struct http_request *request, struct slice body, struct entity_ask *ask)
{
    struct entity_operation *operation = &ask->operation;
    struct odata_entity entity;
    if (operation->action == ENTITY_DELETE)
        return OK;
    enum err err = odata_read_entity(&request->arena, body, &entity);
    if (err == OK)
        err = take_keys(&entity, operation);
    if (err != OK)
        return err;
    operation->properties = entity.properties;
    return is_key_permitted(request, operation) ? OK : ERR_AUTHORIZATION_FAILED;
}

/* --- answers --- */

static void answer_insert(const struct entity_ask *ask, int64_t etag, struct arena *arena,
                          struct http_response *response)
{
    const struct entity_operation *operation = &ask->operation;
    const bool no_content = ask->preference == PREFER_NO_CONTENT;
    struct strbuf path;
    strbuf_init(&path, arena);
    odata_path_add_entity(&path, ask->format.table, operation->partition_key, operation->row_key);
    api_add_location(response, &ask->format, &path, no_content);
    if (no_content)
        return;
    const struct entity entity = {
        .partition_key = operation->partition_key,
        .row_key = operation->row_key,
        .timestamp = etag,
        .properties = operation->properties,
    };
    struct strbuf body;
    strbuf_init(&body, arena);
    odata_write_entity(&body, &ask->format, &entity);
    api_add_json(response, &ask->format, &body);
}

void entity_ask_answer(const struct entity_ask *ask, int64_t etag, struct arena *arena,
                       struct http_response *response)
{
    const bool is_insert = ask->operation.action == ENTITY_INSERT;
    const bool has_content = is_insert && ask->preference != PREFER_NO_CONTENT;
    api_begin_odata(response, arena, has_content ? 201 : 204);
    if (is_insert)
        api_add_preference(response, ask->preference);
    if (ask->in_group)
        http_response_add_text(response, "DataServiceVersion", is_insert ? "3.0;" : "1.0;");
    if (ask->operation.action != ENTITY_DELETE)
        api_add_entity_etag(response, etag);
    if (is_insert)
        answer_insert(ask, etag, arena, response);
}

/* --- operations that come alone --- */

struct entity_arguments {
    struct entity_change change;
    struct entity_ask ask;
};

enum err change_entity_prepare(struct http_request *request)
{
    struct entity_arguments *arguments = arena_alloc(&request->arena, sizeof(*arguments));
    request->arguments = arguments;
    request_bind(request, &arguments->change.base);
    arguments->change.table = api_table_name(request);
    arguments->change.operations = &arguments->ask.operation;
    arguments->change.operation_count = 1;
    return entity_ask_begin(request, &request->message, request->operation->method,
                            &request->address, &arguments->ask);
}

enum err change_entity_run(struct http_request *request)
{
    struct entity_arguments *arguments = request->arguments;
    const enum err err =
        entity_ask_read(request, strbuf_slice(&request->document), &arguments->ask);
    if (err == OK)
        entity_apply(request->context->service, &arguments->change);
    return err;
}

void change_entity_respond(struct http_request *request)
{
    const struct entity_arguments *arguments = request->arguments;
    entity_ask_answer(&arguments->ask, arguments->change.etag, &request->arena, &request->response);
}
