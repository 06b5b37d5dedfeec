/*
 * api_message.c - messages: Put, Get, Peek, Update, Delete and Clear.
 */
#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_queue.h"
#include "service/limits.h"

/* --- arguments --- */

/* A parameter that is a number, as sent; `*number` stays if it is absent. */
static enum err read_number(struct http_request *request, const char *parameter, int64_t *number)
{
    const struct http_field *field = http_message_find_parameter(&request->message, parameter);
    if (field == NULL || field->value.len == 0)
        return OK;
    if (decimal_parse_i64(field->value, number) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

static enum err refuse_range(struct http_request *request, const char *parameter, int64_t min,
                             int64_t max)
{
    const enum err err =
        request_fault_parameter(request, ERR_OUT_OF_RANGE_QUERY_PARAMETER, parameter);
    request_add_detail(request, "MinimumAllowed",
                       arena_printf(&request->arena, "%lld", (long long)min));
    request_add_detail(request, "MaximumAllowed",
                       arena_printf(&request->arena, "%lld", (long long)max));
    return err;
}

/* The same for one that has a least and a largest value. */
static enum err read_range(struct http_request *request, const char *parameter, int64_t min,
                           int64_t max, int64_t *number)
{
    const enum err err = read_number(request, parameter, number);
    if (err == OK && (*number < min || *number > max))
        return refuse_range(request, parameter, min, max);
    return err;
}

static enum err refuse_for(struct http_request *request, const char *parameter, const char *reason)
{
    const enum err err = request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    request_add_detail(request, "Reason", slice_of(reason));
    return err;
}

static enum err require_parameter(struct http_request *request, const char *parameter)
{
    if (http_message_parameter(&request->message, parameter).len > 0)
        return OK;
    request_add_detail(request, "QueryParameterName", slice_of(parameter));
    return ERR_MISSING_QUERY_PARAMETER;
}

/* The document may be several times as long as the text in it. */
static enum err check_document_length(struct http_request *request)
{
    if (request->content_length <= LIMIT_MESSAGE_DOCUMENT_BYTES)
        return OK;
    request_add_detail(request, "MaxLimit",
                       arena_printf(&request->arena, "%d", LIMIT_MESSAGE_BYTES));
    return ERR_BODY_TOO_LARGE;
}

/* --- Put Message --- */

/* Since 2017-07-29 messages may live longer than a week, and for ever. */
static enum err read_ttl(struct http_request *request, int64_t *ttl_sec)
{
    const char *const parameter = "messagettl";
    *ttl_sec = LIMIT_MESSAGE_TTL_SEC_DEFAULT;
    if (request->version < 20170729)
        return read_range(request, parameter, 1, LIMIT_MESSAGE_TTL_SEC_DEFAULT, ttl_sec);
    const enum err err = read_number(request, parameter, ttl_sec);
    if (err == OK && *ttl_sec < 1 && *ttl_sec != MESSAGE_NEVER_EXPIRES)
        return refuse_for(request, parameter,
                          "Value must be greater than or equal to 1, or -1 to indicate an "
                          "infinite TTL.");
    return err;
}

enum err put_message_prepare(struct http_request *request)
{
    struct message_put *put = arena_alloc(&request->arena, sizeof(*put));
    request->arguments = put;
    request_bind(request, &put->base);
    put->name = api_queue_name(request);
    put->random = uuid_quick();
    put->nonce = uuid_random();
    enum err err =
        read_range(request, "visibilitytimeout", 0, LIMIT_VISIBILITY_SEC, &put->visibility_sec);
    if (err == OK)
        err = read_ttl(request, &put->ttl_sec);
    if (err == OK && put->ttl_sec != MESSAGE_NEVER_EXPIRES && put->ttl_sec <= put->visibility_sec)
        err = refuse_for(request, "visibilitytimeout",
                         "messagettl must be greater than visibilitytimeout");
    return err == OK ? check_document_length(request) : err;
}

enum err put_message_run(struct http_request *request)
{
    struct message_put *put = request->arguments;
    const enum err err = xml_message_read(request, strbuf_slice(&request->document), &put->text);
    if (err == OK)
        message_put(request->context->service, put);
    return err;
}

void put_message_respond(struct http_request *request)
{
    const struct message_put *put = request->arguments;
    if (request->version < 20160531) {
        (void)request_respond(request, 201);
        return;
    }
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_message_write(&body, &put->message, 1, XML_MESSAGE_PUT);
    api_respond_queue_xml(request, 201, &body);
}

/* --- Get and Peek Messages --- */

/* How many messages there may be in the answer. */
static enum err read_max(struct http_request *request, size_t *max)
{
    int64_t number = 1;
    const enum err err = read_range(request, "numofmessages", 1, LIMIT_MESSAGES_MAX, &number);
    *max = (size_t)number;
    return err;
}

enum err get_messages_prepare(struct http_request *request)
{
    const char *const peek = "peekonly";
    const struct slice peek_only = http_message_parameter(&request->message, peek);
    if (peek_only.len > 0 && !slice_equal_nocase(peek_only, slice_of("false")))
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, peek);
    struct message_get *get = arena_alloc(&request->arena, sizeof(*get));
    request->arguments = get;
    request_bind(request, &get->base);
    get->name = api_queue_name(request);
    get->visibility_sec = 30;
    enum err err = read_max(request, &get->max);
    if (err == OK)
        err =
            read_range(request, "visibilitytimeout", 1, LIMIT_VISIBILITY_SEC, &get->visibility_sec);
    for (size_t i = 0; err == OK && i < get->max; i++)
        get->nonces[i] = uuid_random();
    return err;
}

enum err get_messages_run(struct http_request *request)
{
    message_get(request->context->service, request->arguments);
    return OK;
}

void get_messages_respond(struct http_request *request)
{
    const struct message_get *get = request->arguments;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_message_write(&body, get->messages, get->count, XML_MESSAGE_GOT);
    api_respond_queue_xml(request, 200, &body);
}

enum err peek_messages_run(struct http_request *request)
{
    const struct queue_name name = api_queue_name(request);
    struct message messages[LIMIT_MESSAGES_MAX];
    size_t max;
    size_t count;
    enum err err = read_max(request, &max);
    if (err == OK)
        err =
            message_peek(request->context->service, &request->arena, &name, max, messages, &count);
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_message_write(&body, messages, count, XML_MESSAGE_PEEKED);
    api_respond_queue_xml(request, 200, &body);
    return OK;
}

/* --- Update and Delete Message --- */

static void change_done(void *arg, enum err err)
{
    struct http_request *request = arg;
    if (err == ERR_VISIBILITY_PAST_EXPIRY)
        err = refuse_for(request, "visibilitytimeout",
                         "The message would expire before it is visible again");
    request_done(request, err);
}

/* Which message, by id and receipt. */
enum err delete_message_prepare(struct http_request *request)
{
    const char *const parameter = "popreceipt";
    struct message_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->base.done = change_done;
    change->name = api_queue_name(request);
    const enum err err = require_parameter(request, parameter);
    if (err != OK)
        return err;
    if (receipt_parse(http_message_parameter(&request->message, parameter), &change->receipt) != OK)
        return refuse_for(request, parameter, "Invalid pop receipt format");
    /* No message has an id that is none. */
    return uuid_parse(request->address.blob, &change->id) == OK ? OK : ERR_MESSAGE_NOT_FOUND;
}

enum err delete_message_run(struct http_request *request)
{
    message_delete(request->context->service, request->arguments);
    return OK;
}

enum err update_message_prepare(struct http_request *request)
{
    const char *const parameter = "visibilitytimeout";
    enum err err = require_parameter(request, parameter);
    if (err == OK)
        err = delete_message_prepare(request);
    if (err != OK)
        return err;
    struct message_change *change = request->arguments;
    change->nonce = uuid_random();
    err = read_range(request, parameter, 0, LIMIT_VISIBILITY_SEC, &change->visibility_sec);
    return err == OK ? check_document_length(request) : err;
}

enum err update_message_run(struct http_request *request)
{
    struct message_change *change = request->arguments;
    const struct slice document = strbuf_slice(&request->document);
    change->has_text = document.len > 0;
    const enum err err = change->has_text ? xml_message_read(request, document, &change->text) : OK;
    if (err == OK)
        message_update(request->context->service, change);
    return err;
}

void update_message_respond(struct http_request *request)
{
    const struct message_change *change = request->arguments;
    char receipt[RECEIPT_TEXT_LEN + 1];
    receipt_format(&change->message, receipt);
    struct http_response *response = request_respond(request, 204);
    http_response_add(response, "x-ms-popreceipt", slice_of(receipt));
    http_response_add_date(response, "x-ms-time-next-visible", change->message.visible_at);
}

/* --- Clear Messages --- */

enum err clear_messages_prepare(struct http_request *request)
{
    struct message_clear *clear = arena_alloc(&request->arena, sizeof(*clear));
    request->arguments = clear;
    request_bind(request, &clear->base);
    clear->name = api_queue_name(request);
    return OK;
}

enum err clear_messages_run(struct http_request *request)
{
    message_clear(request->context->service, request->arguments);
    return OK;
}
