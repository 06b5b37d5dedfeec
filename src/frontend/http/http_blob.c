/*
 * http_blob.c - the blob service: /container/blob, with $root for a container that is not named.
 */
#include "base/encoding.h"
#include "frontend/http/api_common.h"
#include "frontend/http/http_request.h"
#include "frontend/http/http_route.h"
#include "frontend/http/http_service.h"
#include "service/blob/blob_name.h"
#include "service/blob/container.h"
#include "service/service_properties.h"

static const char *const unserved_comps[] = {
    "expiry",   "immutabilitypolicies", "legalhold", "query", "rename",
    "undelete", "userdelegationkey",    NULL,
};

static enum err decode_blob_name(struct arena *arena, struct slice encoded, struct slice *name)
{
    struct slice decoded;
    if (percent_decode(arena, encoded, &decoded) != OK)
        return ERR_INVALID_URI;
    /* The service takes a backslash for a slash. */
    if (slice_find_byte(decoded, '\\') < decoded.len) {
        char *bytes = arena_bytes(arena, decoded.len);
        for (size_t i = 0; i < decoded.len; i++)
            bytes[i] = decoded.data[i] == '\\' ? '/' : decoded.data[i];
        decoded = slice_make(bytes, decoded.len);
    }
    *name = decoded;
    return blob_name_check(decoded);
}

static enum err parse_resource(struct arena *arena, const struct http_message *message,
                               struct slice path, struct http_address *address)
{
    struct slice container;
    struct slice blob;
    http_path_split(path, &container, &blob);
    if (container.len == 0 && blob.len == 0) {
        address->level = HTTP_SERVICE;
        return OK;
    }
    const bool names_container = http_message_find_parameter(message, "restype") != NULL;
    if (blob.len == 0 && !names_container) {
        /* A single segment that is not said to be a container is a blob of the root container. */
        if (slice_find_byte(path, '/') < path.len)
            return ERR_INVALID_URI;
        blob = container;
        container = slice_of("$root");
    }
    if (percent_decode(arena, container, &address->container) != OK)
        return ERR_INVALID_URI;
    const enum err err = container_name_check(address->container);
    if (err != OK)
        return err;
    address->level = blob.len == 0 ? HTTP_CONTAINER : HTTP_BLOB;
    return blob.len == 0 ? OK : decode_blob_name(arena, blob, &address->blob);
}

static enum err find_policies(struct http_request *request, struct access_policies *policies)
{
    const struct container_name name = api_container_name(request);
    struct container container;
    const enum err err =
        container_get(request->context->service, &request->arena, &name, NULL, &container);
    if (err == OK)
        *policies = container.policies;
    return err == ERR_CONTAINER_NOT_FOUND ? ERR_NOT_FOUND : err;
}

const struct http_service http_blob_service = {
    .id = HTTP_SERVICE_OF_BLOBS,
    .name = "blob",
    .letter = 'b',
    .server = "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0",
    .dialect = AUTH_DIALECT_BLOB_QUEUE_FILE,
    .properties_parts = PROPERTIES_LOGGING | PROPERTIES_HOUR_METRICS | PROPERTIES_MINUTE_METRICS |
                        PROPERTIES_CORS | PROPERTIES_DEFAULT_VERSION | PROPERTIES_DELETE_RETENTION |
                        PROPERTIES_WEBSITE,
    .unserved_comps = unserved_comps,
    .parse_resource = parse_resource,
    .find_policies = find_policies,
};
