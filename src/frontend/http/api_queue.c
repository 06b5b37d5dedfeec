/*
 * api_queue.c - queues: List Queues, Create and Delete Queue, their metadata and ACL.
 */
#include "frontend/http/api_queue.h"

#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/xml_policy.h"
#include "frontend/http/xml_write.h"
#include "service/limits.h"

struct queue_name api_queue_name(const struct http_request *request)
{
    return (struct queue_name){
        .account = slice_of(request->address.account->name),
        .queue = request->address.container,
    };
}

void api_respond_queue_xml(struct http_request *request, unsigned status, const struct strbuf *body)
{
    struct http_response *response = request_respond(request, status);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
}

/* --- List Queues --- */

struct list_queues {
    struct queue_list_request request;
    bool with_metadata;
    struct strbuf body;
};

enum err list_queues_prepare(struct http_request *request)
{
    struct list_queues *list = arena_alloc(&request->arena, sizeof(*list));
    request->arguments = list;
    list->request.account = slice_of(request->address.account->name);
    static const char *const words[] = { "metadata", NULL };
    unsigned included;
    const enum err err = api_include(request, words, &included);
    if (err != OK)
        return err;
    list->with_metadata = (included & 1) != 0;

    /* A marker is /account/queue, as the service gives them, or a queue's name. */
    struct slice marker = http_message_parameter(&request->message, "marker");
    if (marker.len > 0 && marker.data[0] == '/') {
        marker = slice_from(marker, 1);
        marker = slice_from(marker, slice_find_byte(marker, '/') + 1);
    }
    list->request.from = slice_head(marker, LIMIT_CONTAINER_NAME_MAX + 1);
    list->request.prefix = slice_head(http_message_parameter(&request->message, "prefix"),
                                      LIMIT_CONTAINER_NAME_MAX + 1);
    return api_results_max(request, &list->request.results_max);
}

static bool emit_queue(void *arg, struct slice name, const struct queue *queue)
{
    struct list_queues *list = arg;
    struct strbuf *body = &list->body;
    strbuf_add_text(body, "<Queue>");
    xml_add_element(body, "Name", name);
    if (list->with_metadata)
        api_list_metadata(body, &queue->metadata);
    strbuf_add_text(body, "</Queue>");
    return body->len < LIMIT_LIST_BODY_BYTES;
}

enum err list_queues_run(struct http_request *request)
{
    struct list_queues *list = request->arguments;
    struct strbuf *body = &list->body;
    struct slice next;
    strbuf_init(body, &request->arena);
    api_begin_listing(request, body);
    strbuf_add_text(body, "<Queues>");
    list->request.emit = emit_queue;
    list->request.arg = list;
    const enum err err =
        queue_list(request->context->service, &request->arena, &list->request, &next);
    if (err != OK)
        return err;
    strbuf_add_text(body, "</Queues>");
    api_end_account_listing(request, body, next);
    api_respond_queue_xml(request, 200, body);
    return OK;
}

/* --- reads --- */

enum err get_queue_metadata_run(struct http_request *request)
{
    const struct queue_name name = api_queue_name(request);
    struct queue queue;
    uint64_t count;
    const enum err err =
        queue_get_count(request->context->service, &request->arena, &name, &queue, &count);
    if (err != OK)
        return err;
    struct http_response *response = request_respond(request, 200);
    http_response_add_number(response, "x-ms-approximate-messages-count", count);
    api_add_metadata(response, &queue.metadata);
    return OK;
}

enum err get_queue_acl_run(struct http_request *request)
{
    const struct queue_name name = api_queue_name(request);
    struct queue queue;
    const enum err err = queue_get(request->context->service, &request->arena, &name, &queue);
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_policy_write(&body, &queue.policies);
    api_respond_queue_xml(request, 200, &body);
    return OK;
}

/* --- changes --- */

enum err queue_change_prepare(struct http_request *request)
{
    struct queue_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_queue_name(request);
    change->metadata = request->metadata;
    return OK;
}

enum err create_queue_run(struct http_request *request)
{
    queue_create(request->context->service, request->arguments);
    return OK;
}

void create_queue_respond(struct http_request *request)
{
    const struct queue_change *change = request->arguments;
    (void)request_respond(request, change->existed ? 204 : 201);
}

enum err set_queue_metadata_run(struct http_request *request)
{
    queue_set_metadata(request->context->service, request->arguments);
    return OK;
}

enum err set_queue_acl_run(struct http_request *request)
{
    struct queue_change *change = request->arguments;
    struct xml_fault fault;
    const enum err err = xml_policy_read(&request->arena, strbuf_slice(&request->document),
                                         &change->policies, &fault);
    if (err == ERR_INVALID_XML)
        return api_fault_xml(request, &fault);
    if (err == OK)
        queue_set_acl(request->context->service, change);
    return err;
}

enum err delete_queue_run(struct http_request *request)
{
    queue_delete(request->context->service, request->arguments);
    return OK;
}

void queue_changed_respond(struct http_request *request)
{
    (void)request_respond(request, 204);
}
