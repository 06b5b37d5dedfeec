/*
 * http_queue.c - the queue service: /queue, /queue/messages, /queue/messages/id.
 */
#include "base/encoding.h"
#include "frontend/http/api_queue.h"
#include "frontend/http/http_request.h"
#include "frontend/http/http_route.h"
#include "frontend/http/http_service.h"
#include "service/service_properties.h"

static const char *const unserved_comps[] = { "userdelegationkey", NULL };

/* One path for two operations that need different permissions. */
static bool is_peek(const struct http_message *message)
{
    return slice_is(message->method, "GET") &&
           slice_equal_nocase(http_message_parameter(message, "peekonly"), slice_of("true"));
}

static enum err parse_resource(struct arena *arena, const struct http_message *message,
                               struct slice path, struct http_address *address)
{
    struct slice queue;
    struct slice rest;
    struct slice word;
    struct slice id;
    http_path_split(path, &queue, &rest);
    if (queue.len == 0 && rest.len == 0) {
        address->level = HTTP_SERVICE;
        return OK;
    }
    if (percent_decode(arena, queue, &address->container) != OK)
        return ERR_INVALID_URI;
    const enum err err = queue_name_check(address->container);
    if (err != OK)
        return err;
    address->level = HTTP_QUEUE;
    http_path_split(rest, &word, &id);
    if (rest.len == 0)
        return OK;
    if (!slice_equal_nocase(word, slice_of("messages")) || slice_find_byte(id, '/') < id.len)
        return ERR_INVALID_URI;
    address->level = id.len > 0 ? HTTP_MESSAGE : is_peek(message) ? HTTP_PEEKED : HTTP_MESSAGES;
    return percent_decode(arena, id, &address->blob) == OK ? OK : ERR_INVALID_URI;
}

static enum err find_policies(struct http_request *request, struct access_policies *policies)
{
    const struct queue_name name = api_queue_name(request);
    struct queue queue;
    const enum err err = queue_get(request->context->service, &request->arena, &name, &queue);
    if (err == OK)
        *policies = queue.policies;
    return err == ERR_QUEUE_NOT_FOUND ? ERR_NOT_FOUND : err;
}

const struct http_service http_queue_service = {
    .id = HTTP_SERVICE_OF_QUEUES,
    .name = "queue",
    .letter = 'q',
    .server = "Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0",
    .dialect = AUTH_DIALECT_BLOB_QUEUE_FILE,
    .properties_parts =
        PROPERTIES_LOGGING | PROPERTIES_HOUR_METRICS | PROPERTIES_MINUTE_METRICS | PROPERTIES_CORS,
    .is_uncached = true,
    .unserved_comps = unserved_comps,
    .parse_resource = parse_resource,
    .find_policies = find_policies,
};
