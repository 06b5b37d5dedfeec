/*
 * api_group.c - entity group transactions: changes to entities of one partition, all or none, and
 * the single query that may stand in their place.
 *
 * What is wrong with one of the changes is answered as the service does it: the batch is accepted
 * (202) and holds one part, whose message begins with the index of the change that was refused.
 */
#include <assert.h>
#include <string.h>

#include "base/date.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_entity.h"
#include "frontend/http/odata_batch.h"
#include "service/limits.h"

struct group {
    struct entity_change change;
    struct http_request *request;
    struct odata_batch batch;
    struct entity_ask *asks; /* one for each part of a change set */

    /* the outcome of a change set */
    enum err err;
    size_t failed_index;
    /* of a query */
    struct http_response query;
};

/* --- parts --- */

/* The part's headers behind the host of the whole, which its answer names. */
static void fill_message(struct http_request *request, const struct multipart_part *part,
                         struct http_message *message)
{
    struct http_field *headers =
        arena_alloc(&request->arena, (part->header_count + 1) * sizeof(*headers));
    headers[0] =
        (struct http_field){ slice_of("Host"), http_message_header(&request->message, "host") };
    if (part->header_count > 0)
        memcpy(headers + 1, part->headers, part->header_count * sizeof(*headers));
    *message = (struct http_message){
        .method = part->method,
        .headers = headers,
        .header_count = part->header_count + 1,
    };
}

/* The account in a path-style URL; a part may also be named from the root of the service. */
static struct slice skip_account(const struct http_request *request, struct slice path)
{
    struct slice first;
    struct slice rest;
    http_path_split(path, &first, &rest);
    return request->address.path_style && slice_is(first, request->address.account->name) ? rest
                                                                                          : path;
}

/* What a part is about, always within the account of the whole. */
static enum err find_part(struct http_request *request, const struct multipart_part *part,
                          struct http_message *message, struct http_address *address)
{
    struct slice target = part->target;
    fill_message(request, part, message);
    if (target.data[0] != '/' && memmem(target.data, target.len, "://", 3) == NULL)
        target = arena_printf(&request->arena, "/%.*s", (int)target.len, target.data);
    enum err err = http_message_parse_target(&request->arena, target, message);
    if (err != OK)
        return err;
    *address = request->address;
    const struct slice path = skip_account(request, slice_from(message->path, 1));
    return request->context->kind->parse_resource(&request->arena, message, path, address);
}

static enum err read_change(struct http_request *request, const struct multipart_part *part,
                            struct entity_ask *ask, struct slice *table)
{
    struct http_message message;
    struct http_address address = { 0 };
    enum http_method method;
    enum err err = find_part(request, part, &message, &address);
    if (err == OK)
        err = http_method_find(request->context->kind, &message, &method);
    if (err == OK)
        err = entity_ask_begin(request, &message, method, &address, ask);
    if (err == OK)
        err = entity_ask_read(request, part->body, ask);
    ask->in_group = true;
    *table = address.container;
    return err;
}

/* --- a change set --- */

/* Faults of the caller are told in the answer; for ours the whole batch failed. */
static void group_done(void *arg, enum err err)
{
    struct group *group = arg;
    group->err = err;
    group->failed_index = group->change.failed_index;
    const bool is_ours =
        err != OK && http_error_describe(err, HTTP_ERROR_OF_CONTAINER).status >= 500;
    request_done(group->request, is_ours ? err : OK);
}

static void refuse_change(struct group *group, enum err err, size_t index)
{
    group->change.failed_index = index;
    group_done(group, err);
}

static enum err read_changes(struct group *group, struct entity_operation *operations,
                             size_t *index)
{
    struct slice *table = &group->change.table.table;
    for (*index = 0; *index < group->batch.part_count; (*index)++) {
        struct slice named;
        const enum err err =
            read_change(group->request, &group->batch.parts[*index], &group->asks[*index], &named);
        if (err != OK)
            return err;
        if (*index == 0)
            *table = named;
        if (!slice_equal_nocase(*table, named))
            return ERR_GROUP_PARTITIONS;
        operations[*index] = group->asks[*index].operation;
    }
    return OK;
}

static void run_changes(struct group *group)
{
    struct http_request *request = group->request;
    const size_t count = group->batch.part_count;
    struct entity_operation *operations = arena_alloc(&request->arena, count * sizeof(*operations));
    size_t index;
    group->asks = arena_alloc(&request->arena, count * sizeof(*group->asks));
    const enum err err = read_changes(group, operations, &index);
    if (err != OK) {
        refuse_change(group, err, index);
        return;
    }
    group->change.operations = operations;
    group->change.operation_count = count;
    entity_apply(request->context->service, &group->change);
}

/* --- a query --- */

static enum err run_part(struct http_request *request)
{
    if (!request->access.by_key && !request->access.may_read)
        return ERR_AUTHORIZATION_PERMISSION;
    if (!api_may_use_table(request, request->address.container))
        return ERR_AUTHORIZATION_FAILED;
    if (request->address.level == HTTP_ENTITY)
        return get_entity_run(request);
    return request->address.level == HTTP_ENTITIES ? query_entities_run(request)
                                                   : ERR_INVALID_INPUT;
}

/* The operation sees the part in place of the whole. */
static enum err run_query(struct group *group)
{
    struct http_request *request = group->request;
    const struct http_message message = request->message;
    const struct http_address address = request->address;
    enum err err = find_part(request, group->batch.parts, &request->message, &request->address);
    if (err == OK)
        err = run_part(request);
    if (err == OK)
        http_response_add_text(&request->response, "DataServiceVersion", "3.0;");
    group->query = request->response;
    request->message = message;
    request->address = address;
    return err;
}

/* --- the operation --- */

enum err group_prepare(struct http_request *request)
{
    return api_check_body_length(request, LIMIT_GROUP_BYTES);
}

enum err group_run(struct http_request *request)
{
    struct group *group = arena_alloc(&request->arena, sizeof(*group));
    request->arguments = group;
    group->request = request;
    request_bind(request, &group->change.base);
    group->change.base.done = group_done;
    group->change.base.arg = group;
    group->change.table.account = slice_of(request->address.account->name);
    const enum err err =
        odata_batch_read(&request->arena, http_message_header(&request->message, "content-type"),
                         strbuf_slice(&request->document), &group->batch);
    if (err == ERR_GROUP_TOO_LONG)
        refuse_change(group, err, LIMIT_GROUP_OPERATIONS - 1); /* the index the service gives */
    else if (err != OK)
        return err;
    else if (group->batch.is_changeset)
        run_changes(group);
    else
        refuse_change(group, run_query(group), 0);
    return OK;
}

/* --- the answer --- */

/* In what form the client wants to hear of a part; what does not say it has the defaults. */
static void find_part_form(struct group *group, struct odata_format *format,
                           enum api_preference *preference)
{
    struct http_request *request = group->request;
    struct http_message message;
    *format = (struct odata_format){ .metadata = ODATA_MINIMAL };
    *preference = PREFER_NOTHING;
    if (group->batch.parts == NULL || group->failed_index >= group->batch.part_count)
        return;
    fill_message(request, &group->batch.parts[group->failed_index], &message);
    *preference = api_preference(&message);
    if (api_odata_format(request, &message, format) != OK)
        format->metadata = ODATA_MINIMAL;
}

/* The service leaves the index out where it could only be the first and nothing was made. */
static bool has_index(const struct group *group)
{
    return group->batch.is_changeset &&
           (group->batch.part_count != 1 ||
            (group->err != ERR_UPDATE_CONDITION_NOT_MET && group->err != ERR_RESOURCE_NOT_FOUND));
}

static void answer_refusal(struct group *group, struct http_response *response)
{
    struct http_request *request = group->request;
    const struct http_error error = http_error_describe(group->err, HTTP_ERROR_OF_CONTAINER);
    struct slice message = request->error_message;
    if (message.len == 0)
        message = slice_of(error.message);
    if (has_index(group))
        message = arena_printf(&request->arena, "%zu:%.*s", group->failed_index, (int)message.len,
                               message.data);
    struct odata_format format;
    enum api_preference preference;
    find_part_form(group, &format, &preference);
    api_begin_odata(response, &request->arena, error.status);
    api_add_preference(response, preference);
    http_response_add_text(response, "DataServiceVersion", "3.0;");
    char time[DATE_ISO_LEN + 1];
    struct strbuf body;
    date_format_iso(request->received_at, time);
    strbuf_init(&body, &request->arena);
    odata_write_error(&body, error.code, message, request->id_text, time);
    api_add_json(response, &format, &body);
}

void group_respond(struct http_request *request)
{
    struct group *group = request->arguments;
    struct odata_batch_answer answer;
    struct http_response part;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    odata_batch_begin(&answer, &body, request->id_text, group->batch.is_changeset);
    if (group->err != OK) {
        answer_refusal(group, &part);
        odata_batch_add(&answer, &part);
    } else if (!group->batch.is_changeset) {
        odata_batch_add(&answer, &group->query);
    } else {
        for (size_t i = 0; i < group->batch.part_count; i++) {
            entity_ask_answer(&group->asks[i], group->change.etag, &request->arena, &part);
            odata_batch_add(&answer, &part);
        }
    }
    odata_batch_end(&answer);
    api_begin_odata(&request->response, &request->arena, 202);
    http_response_add(&request->response, "Content-Type",
                      odata_batch_content_type(&request->arena, request->id_text));
    request->response.body = strbuf_slice(&body);
}
