#include "frontend/http/api.h"

#include "base/date.h"
#include "frontend/http/api_common.h"
#include "frontend/http/xml_write.h"
#include "service/blob/container.h"
#include "service/etag.h"
#include "service/limits.h"

/* --- List Containers --- */

struct list_containers {
    struct container_list_request request;
    bool with_metadata;
    struct strbuf body;
};

enum err list_containers_prepare(struct http_request *request)
{
    struct list_containers *list = arena_alloc(&request->arena, sizeof(*list));
    request->arguments = list;
    list->request.account = slice_of(request->address.account->name);
    list->request.prefix = http_message_parameter(&request->message, "prefix");
    /* There are no deleted containers and no system containers to be included yet. */
    static const char *const words[] = { "metadata", "deleted", "system", NULL };
    unsigned included;
    const enum err err = api_include(request, words, &included);
    if (err != OK)
        return err;
    list->with_metadata = (included & 1) != 0;

    /* A marker is /account/container, as the service gives them, or a container's name. */
    struct slice marker = http_message_parameter(&request->message, "marker");
    if (marker.len > 0 && marker.data[0] == '/') {
        marker = slice_from(marker, 1);
        marker = slice_from(marker, slice_find_byte(marker, '/') + 1);
    }
    list->request.from = slice_head(marker, LIMIT_CONTAINER_NAME_MAX + 1);
    if (list->request.prefix.len > LIMIT_CONTAINER_NAME_MAX)
        list->request.prefix = slice_head(list->request.prefix, LIMIT_CONTAINER_NAME_MAX + 1);
    return api_results_max(request, &list->request.results_max);
}

static bool emit_container(void *arg, struct slice name, const struct container *container)
{
    struct list_containers *list = arg;
    struct strbuf *body = &list->body;
    char date[DATE_RFC1123_LEN + 1];
    char etag[ETAG_TEXT_LEN_MAX + 1];
    date_format_rfc1123(container->etag, date);
    etag_format(container->etag, etag);
    strbuf_add_text(body, "<Container>");
    xml_add_name(body, "Name", name);
    strbuf_add_text(body, "<Properties>");
    xml_add_element(body, "Last-Modified", slice_of(date));
    /* In quotes here, unlike in a listing of blobs: so does the service. */
    xml_add_element(body, "Etag", slice_of(etag));
    xml_add_element(body, "LeaseStatus", slice_of(api_lease_status(&container->lease)));
    xml_add_element(body, "LeaseState", slice_of(api_lease_state(&container->lease)));
    if (api_lease_duration(&container->lease) != NULL)
        xml_add_element(body, "LeaseDuration", slice_of(api_lease_duration(&container->lease)));
    if (api_public_access(container->public_access) != NULL)
        xml_add_element(body, "PublicAccess",
                        slice_of(api_public_access(container->public_access)));
    strbuf_add_text(body, "<DefaultEncryptionScope>$account-encryption-key</DefaultEncryptionScope>"
                          "<DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride>"
                          "<HasImmutabilityPolicy>false</HasImmutabilityPolicy>"
                          "<HasLegalHold>false</HasLegalHold>"
                          "<ImmutableStorageWithVersioningEnabled>false"
                          "</ImmutableStorageWithVersioningEnabled></Properties>");
    if (list->with_metadata)
        api_list_metadata(body, &container->metadata);
    strbuf_add_text(body, "</Container>");
    return body->len < LIMIT_LIST_BODY_BYTES;
}

enum err list_containers_run(struct http_request *request)
{
    struct list_containers *list = request->arguments;
    struct strbuf *body = &list->body;
    struct slice next;
    strbuf_init(body, &request->arena);
    api_begin_listing(request, body);
    strbuf_add_text(body, "<Containers>");
    list->request.emit = emit_container;
    list->request.arg = list;
    const enum err err =
        container_list(request->context->service, &request->arena, &list->request, &next);
    if (err != OK)
        return err;
    strbuf_add_text(body, "</Containers>");
    api_end_account_listing(request, body, next);
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
    return OK;
}

/* --- reads --- */

static enum err get_container(struct http_request *request, struct container *container)
{
    const struct container_name name = api_container_name(request);
    return container_get(request->context->service, &request->arena, &name,
                         request->has_lease_id ? &request->lease_id : NULL, container);
}

enum err get_container_properties_run(struct http_request *request)
{
    struct container container;
    const enum err err = get_container(request, &container);
    if (err != OK)
        return err;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, container.etag);
    api_add_metadata(response, &container.metadata);
    api_add_lease(response, &container.lease);
    http_response_add_text(response, "x-ms-blob-public-access",
                           api_public_access(container.public_access));
    http_response_add_text(response, "x-ms-has-immutability-policy", "false");
    http_response_add_text(response, "x-ms-has-legal-hold", "false");
    http_response_add_text(response, "x-ms-immutable-storage-with-versioning-enabled", "false");
    http_response_add_text(response, "x-ms-default-encryption-scope", "$account-encryption-key");
    http_response_add_text(response, "x-ms-deny-encryption-scope-override", "false");
    return OK;
}

enum err get_container_metadata_run(struct http_request *request)
{
    struct container container;
    const enum err err = get_container(request, &container);
    if (err != OK)
        return err;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, container.etag);
    api_add_metadata(response, &container.metadata);
    return OK;
}

/* --- changes --- */

enum err container_change_prepare(struct http_request *request)
{
    struct container_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_container_name(request);
    change->metadata = request->metadata;
    change->condition = request->condition;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    return api_read_public_access(request, &change->public_access);
}

enum err create_container_run(struct http_request *request)
{
    container_create(request->context->service, request->arguments);
    return OK;
}

void create_container_respond(struct http_request *request)
{
    const struct container_change *change = request->arguments;
    http_response_add_etag(request_respond(request, 201), change->container.etag);
}

enum err set_container_metadata_run(struct http_request *request)
{
    container_set_metadata(request->context->service, request->arguments);
    return OK;
}

void set_container_metadata_respond(struct http_request *request)
{
    const struct container_change *change = request->arguments;
    http_response_add_etag(request_respond(request, 200), change->container.etag);
}

enum err delete_container_run(struct http_request *request)
{
    container_delete(request->context->service, request->arguments);
    return OK;
}

void delete_container_respond(struct http_request *request)
{
    (void)request_respond(request, 202);
}

enum err container_lease_prepare(struct http_request *request)
{
    struct container_lease *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_container_name(request);
    change->condition = request->condition;
    return api_lease_request(request, &change->lease);
}

enum err container_lease_run(struct http_request *request)
{
    container_lease(request->context->service, request->arguments);
    return OK;
}

void container_lease_respond(struct http_request *request)
{
    const struct container_lease *change = request->arguments;
    api_respond_lease(request, &change->lease, change->container.etag);
}
