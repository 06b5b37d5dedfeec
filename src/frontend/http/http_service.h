/*
 * http_service.h - what one of the services has that the others have not.
 *
 * Requests of all services go the same way (http_request.h); where the ways part, this struct says
 * how.  Each service has a listener of its own, whose http_context names the service.
 *
 * To add a service: a file http_<name>.c with its struct, a table operations_<name>.def, and a
 * line for each in http_route.c and main.c.
 */
#ifndef FRONTEND_HTTP_HTTP_SERVICE_H
#define FRONTEND_HTTP_HTTP_SERVICE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/auth_sharedkey.h"
#include "frontend/http/http_error.h"
#include "frontend/http/http_message.h"
#include "service/access_policy.h"

struct http_address;
struct http_request;
struct http_response;

enum http_service_id {
    HTTP_SERVICE_OF_BLOBS,
    HTTP_SERVICE_OF_QUEUES,
    HTTP_SERVICE_OF_TABLES,
    HTTP_SERVICE_OF_FILES,
    HTTP_SERVICE_COUNT,
};

struct http_service {
    enum http_service_id id;
    const char *name;   /* in metrics, and before the resource that a SAS signs */
    char letter;        /* in an account SAS, and of its properties (service_properties.h) */
    const char *server; /* the Server header */
    enum auth_dialect dialect;
    unsigned properties_parts; /* of enum service_properties_part: those it has */
    bool is_uncached;          /* answers to reads say that they are not to be cached */
    bool overrides_method;     /* a POST may name another method in X-HTTP-Method */

    /* Values of `comp` or `restype` that select operations which have no row; ended by NULL. */
    const char *const *unserved_comps;

    /*
     * What the path behind the account names: level, container and what is in it.
     *   ERR_INVALID_URI, ERR_RESOURCE_NAME_LENGTH, ERR_INVALID_RESOURCE_NAME
     */
    enum err (*parse_resource)(struct arena *arena, const struct http_message *message,
                               struct slice path, struct http_address *address);

    /* The stored access policies of what the request's address names, in the request's arena.
       ERR_NOT_FOUND when it does not exist. */
    enum err (*find_policies)(struct http_request *request, struct access_policies *policies);

    /* The body and Content-Type of an error; NULL for the usual XML. */
    void (*write_error)(struct http_request *request, const struct http_error *error,
                        struct http_response *response);
};

extern const struct http_service http_blob_service;
extern const struct http_service http_queue_service;
extern const struct http_service http_table_service;
extern const struct http_service http_file_service;

/* The struct of an id. */
const struct http_service *http_service_get(enum http_service_id id);

#endif
