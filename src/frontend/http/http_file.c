/*
 * http_file.c - the file service: /share, /share/directory/file.
 *
 * Whether a path names a directory or a file is said by restype.  A share's root directory has the
 * path of the share: restype=directory, or an operation that only directories and files have, tells
 * it from the share itself.
 */
#include "base/encoding.h"
#include "frontend/http/api_node.h"
#include "frontend/http/http_request.h"
#include "frontend/http/http_route.h"
#include "frontend/http/http_service.h"
#include "service/file/share.h"
#include "service/service_properties.h"

/* Links are for shares over NFS, which this server has not. */
static const char *const unserved[] = { "userdelegationkey", "symboliclink", "hardlink", NULL };

static bool parameter_is(const struct http_message *message, const char *name, const char *value)
{
    return slice_equal_nocase(http_message_parameter(message, name), slice_of(value));
}

static bool is_of_root_directory(const struct http_message *message)
{
    return parameter_is(message, "restype", "directory") ||
           parameter_is(message, "comp", "listhandles") ||
           parameter_is(message, "comp", "forceclosehandles");
}

/* Slashes at the end do not count, in the address or in what a SAS signs. */
static struct slice without_slashes(struct slice path)
{
    while (path.len > 0 && path.data[path.len - 1] == '/')
        path.len--;
    return path;
}

static enum err parse_resource(struct arena *arena, const struct http_message *message,
                               struct slice path, struct http_address *address)
{
    struct slice share;
    struct slice rest;
    http_path_split(path, &share, &rest);
    if (share.len == 0 && rest.len == 0) {
        address->level = HTTP_SERVICE;
        return OK;
    }
    if (percent_decode(arena, share, &address->container) != OK ||
        percent_decode(arena, without_slashes(rest), &address->blob) != OK)
        return ERR_INVALID_URI;
    const bool is_share = address->blob.len == 0 && !is_of_root_directory(message);
    address->level = is_share ? HTTP_SHARE : HTTP_NODE;
    return share_name_check(address->container);
}

static enum err find_policies(struct http_request *request, struct access_policies *policies)
{
    struct share_name name = api_share_name(request);
    struct share share;
    name.snapshot = 0; /* the policies are the share's */
    const enum err err = share_get(request->context->service, &request->arena, &name, NULL, &share);
    if (err == OK)
        *policies = share.policies;
    return err == ERR_SHARE_NOT_FOUND ? ERR_NOT_FOUND : err;
}

const struct http_service http_file_service = {
    .id = HTTP_SERVICE_OF_FILES,
    .name = "file",
    .letter = 'f',
    .server = "Windows-Azure-File/1.0 Microsoft-HTTPAPI/2.0",
    .dialect = AUTH_DIALECT_BLOB_QUEUE_FILE,
    .properties_parts = PROPERTIES_HOUR_METRICS | PROPERTIES_MINUTE_METRICS | PROPERTIES_CORS |
                        PROPERTIES_SMB | PROPERTIES_SHARE_RETENTION,
    .unserved_comps = unserved,
    .parse_resource = parse_resource,
    .find_policies = find_policies,
};
