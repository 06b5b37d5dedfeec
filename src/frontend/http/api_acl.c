/*
 * api_acl.c - Get and Set Container ACL; Get Account Information.
 */
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/xml_policy.h"
#include "service/blob/container.h"

/* --- public access --- */

static const char public_access_header[] = "x-ms-blob-public-access";

enum err api_read_public_access(struct http_request *request, enum public_access *access)
{
    const struct slice value = http_message_header(&request->message, public_access_header);
    *access = PUBLIC_NOTHING;
    if (value.len == 0)
        return OK;
    if (slice_equal_nocase(value, slice_of("container")))
        *access = PUBLIC_CONTAINER;
    else if (slice_equal_nocase(value, slice_of("blob")))
        *access = PUBLIC_BLOBS;
    else
        return request_fault_header(request, ERR_INVALID_HEADER, public_access_header);
    return OK;
}

const char *api_public_access(enum public_access access)
{
    switch (access) {
    case PUBLIC_NOTHING:
        return NULL;
    case PUBLIC_BLOBS:
        return "blob";
    case PUBLIC_CONTAINER:
        return "container";
    }
    return NULL;
}

/* --- ACL --- */

enum err get_container_acl_run(struct http_request *request)
{
    const struct container_name name = api_container_name(request);
    struct container container;
    const enum err err =
        container_get(request->context->service, &request->arena, &name,
                      request->has_lease_id ? &request->lease_id : NULL, &container);
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_policy_write(&body, &container.policies);
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, container.etag);
    http_response_add_text(response, public_access_header,
                           api_public_access(container.public_access));
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(&body);
    return OK;
}

enum err set_container_acl_prepare(struct http_request *request)
{
    const enum err err = container_change_prepare(request);
    if (err != OK)
        return err;
    struct container_change *change = request->arguments;
    return api_read_public_access(request, &change->public_access);
}

enum err set_container_acl_run(struct http_request *request)
{
    struct container_change *change = request->arguments;
    struct xml_fault fault;
    const enum err err = xml_policy_read(&request->arena, strbuf_slice(&request->document),
                                         &change->policies, &fault);
    if (err == ERR_INVALID_XML)
        return api_fault_xml(request, &fault);
    if (err != OK)
        return err;
    container_set_acl(request->context->service, change);
    return OK;
}

/* --- Get Account Information --- */

enum err get_account_information_run(struct http_request *request)
{
    struct http_response *response = request_respond(request, 200);
    /* There is a secondary endpoint that can be read. */
    http_response_add_text(response, "x-ms-sku-name", "Standard_RAGRS");
    http_response_add_text(response, "x-ms-account-kind", "StorageV2");
    http_response_add_text(response, "x-ms-is-hns-enabled", "false");
    return OK;
}
