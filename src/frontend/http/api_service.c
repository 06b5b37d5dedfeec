/*
 * api_service.c - operations on the service itself: properties, statistics, CORS preflights.
 */
#include "base/date.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/cors.h"
#include "frontend/http/xml_service.h"
#include "frontend/http/xml_write.h"
#include "service/service_properties.h"

static enum err get_properties(struct http_request *request, struct service_properties *properties)
{
    return service_properties_get(request->context->service, &request->arena,
                                  slice_of(request->address.account->name),
                                  request->context->kind->letter, properties);
}

static void respond_xml(struct http_request *request, const struct strbuf *body)
{
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
}

/* --- properties --- */

enum err get_service_properties_run(struct http_request *request)
{
    struct service_properties properties;
    const enum err err = get_properties(request, &properties);
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_service_write(&body, &properties, request->context->kind->properties_parts);
    respond_xml(request, &body);
    return OK;
}

enum err set_service_properties_prepare(struct http_request *request)
{
    struct service_properties_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->account = slice_of(request->address.account->name);
    change->letter = request->context->kind->letter;
    return OK;
}

enum err set_service_properties_run(struct http_request *request)
{
    struct service_properties_change *change = request->arguments;
    struct xml_fault fault;
    const enum err err = xml_service_read(&request->arena, strbuf_slice(&request->document),
                                          request->context->kind->properties_parts,
                                          &change->properties, &change->parts, &fault);
    if (err != OK)
        return api_fault_xml(request, &fault);
    service_properties_set(request->context->service, change);
    return OK;
}

void set_service_properties_respond(struct http_request *request)
{
    (void)request_respond(request, 202);
}

/* --- statistics --- */

enum err get_service_stats_run(struct http_request *request)
{
    /* Only the secondary knows how far behind it is; here it is the primary by another name. */
    if (!request->address.secondary)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "comp");
    char now[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(request->received_at, now);
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_begin_document(&body);
    strbuf_add_text(&body, "<StorageServiceStats><GeoReplication><Status>live</Status>");
    xml_add_element(&body, "LastSyncTime", slice_of(now));
    strbuf_add_text(&body, "</GeoReplication></StorageServiceStats>");
    respond_xml(request, &body);
    return OK;
}

/* --- CORS --- */

enum err preflight_run(struct http_request *request)
{
    const struct http_message *message = &request->message;
    const struct slice origin = http_message_header(message, "origin");
    const struct slice method = http_message_header(message, "access-control-request-method");
    const struct slice headers = http_message_header(message, "access-control-request-headers");
    if (origin.len == 0)
        return request_fault_header(request, ERR_CORS_HEADER_MISSING, "Origin");
    if (method.len == 0)
        return request_fault_header(request, ERR_CORS_HEADER_MISSING,
                                    "Access-Control-Request-Method");
    struct service_properties properties;
    const enum err err = get_properties(request, &properties);
    if (err != OK)
        return err;
    const struct cors_rule *rule = cors_find(&properties.cors, origin, method);
    if (rule == NULL || !cors_allows_headers(rule, headers))
        return ERR_CORS_REFUSED;
    struct http_response *response = request_respond(request, 200);
    const bool every_origin = cors_allows_every_origin(rule);
    http_response_add(response, "Access-Control-Allow-Origin",
                      every_origin ? slice_of("*") : origin);
    http_response_add(response, "Access-Control-Allow-Methods", method);
    http_response_add(response, "Access-Control-Allow-Headers", headers);
    http_response_add_number(response, "Access-Control-Max-Age", rule->max_age_sec);
    if (!every_origin)
        http_response_add_text(response, "Access-Control-Allow-Credentials", "true");
    return OK;
}

enum err api_add_cors(struct http_request *request)
{
    const struct http_message *message = &request->message;
    const struct slice origin = http_message_header(message, "origin");
    const bool is_read = slice_is(message->method, "GET") || slice_is(message->method, "HEAD");
    /* What a cache may keep depends on the rules, whether this request has an origin or not. */
    if ((origin.len == 0 && !is_read) || request->address.account == NULL ||
        slice_is(message->method, "OPTIONS"))
        return OK;
    struct service_properties properties;
    const enum err err = get_properties(request, &properties);
    if (err != OK)
        return err;
    cors_add_headers(&request->response, &properties.cors,
                     cors_find(&properties.cors, origin, message->method), origin, is_read);
    return OK;
}
