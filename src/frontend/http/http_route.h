/*
 * http_route.h - which resource and which operation a request names.
 *
 * Addressing: with a path-style URL (http://127.0.0.1:10000/account/container/blob) the account is
 * the first segment of the path; with a host-style URL (http://account.blob.localhost:10000/...) it
 * is the first label of the host.  Host style is taken when the host has a dot, is no IP address
 * and its first label is an account of this server; everything else is path style.  An account
 * name ending in "-secondary" addresses the read-only secondary endpoint.
 *
 * The operation is the row of operations_*.def whose method, level, parameters and header match.
 */
#ifndef FRONTEND_HTTP_HTTP_ROUTE_H
#define FRONTEND_HTTP_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_error.h"
#include "frontend/http/http_message.h"
#include "frontend/http/http_service.h"
#include "service/account.h"

struct http_request;

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_PUT,
    HTTP_POST,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_PATCH,
    HTTP_MERGE,
    HTTP_OTHER,
};

/* What a path names. */
enum http_level {
    HTTP_SERVICE,
    HTTP_CONTAINER,
    HTTP_BLOB,
    HTTP_QUEUE,
    HTTP_MESSAGES, /* of a queue */
    HTTP_PEEKED,   /* the same, to be looked at only */
    HTTP_MESSAGE,  /* by its id */
    HTTP_TABLES,
    HTTP_TABLE,    /* in the list of tables: Tables('name') */
    HTTP_ENTITIES, /* of a table */
    HTTP_ENTITY,   /* by its keys */
    HTTP_BATCH,    /* of changes to entities */
    HTTP_SHARE,
    HTTP_NODE, /* a directory or file of a share; restype says which */
};

/* Properties of a row; see operations_blob.def. */
enum http_operation_flags {
    OP_CHANGE = 1 << 0,         /* changes something: `done` comes later, never on the secondary */
    OP_HEAD = 1 << 1,           /* a GET row that answers HEAD as well */
    OP_CONDITIONS = 1 << 2,     /* takes the conditional headers */
    OP_NO_CONDITIONS = 1 << 3,  /* refuses them */
    OP_LEASE_ID = 1 << 4,       /* takes x-ms-lease-id */
    OP_METADATA = 1 << 5,       /* takes x-ms-meta-* */
    OP_BODY = 1 << 6,           /* has a body that is kept */
    OP_SERVICE_SAS = 1 << 7,    /* possible with a SAS of the container or blob */
    OP_KEY_ONLY = 1 << 9,       /* only with the account's key, never with a SAS */
    OP_ANYBODY = 1 << 12,       /* without a credential, whatever the path and parameters */
    OP_PUBLIC_BLOB = 1 << 10,   /* anybody, when the container's blobs are public */
    OP_PUBLIC_LIST = 1 << 11,   /* anybody, when the container is public */
    OP_SNAPSHOT = 1 << 13,      /* takes ?snapshot and ?versionid, or ?sharesnapshot */
    OP_TAGS = 1 << 14,          /* makes a blob: takes x-ms-tags and x-ms-access-tier */
    OP_TAG_CONDITION = 1 << 15, /* takes x-ms-if-tags, and the other conditions as x-ms-blob-if-* */
    OP_COPY_SOURCE = 1 << 16,   /* only with x-ms-copy-source; such rows precede those without */
    OP_VERSION = 1 << 17,       /* takes ?versionid, but no ?snapshot */
    OP_WAITS = 1 << 18,         /* changes nothing, but `done` comes later as that of a change */
    OP_SHARE_SAS = 1 << 19,     /* possible with a SAS of the share, but not of a file */
    OP_EVERY_LETTER = 1 << 20,  /* needs each of the letters, not any one of them */
    OP_FREES = 1 << 21,         /* helps to free space, as a DELETE does: goes on without any */
    OP_DOCUMENT = 1 << 8,       /* has a body that is read whole: at most LIMIT_DOCUMENT_BYTES */
};

struct http_operation {
    enum http_service_id service;
    const char *name;
    enum http_method method;
    enum http_level level;
    const char *restype;
    const char *comp;
    const char *header;
    const char *header_value;
    const char *permissions;
    char account_type;
    unsigned flags;
    enum err (*prepare)(struct http_request *request);
    enum err (*run)(struct http_request *request);
    void (*respond)(struct http_request *request);
};

/* Where a request goes. */
struct http_address {
    const struct account *account;
    bool path_style;
    bool secondary;
    enum http_level level;
    struct slice container;     /* or queue, table, share: decoded; empty at the service level */
    struct slice blob;          /* or message id, path: decoded; empty above that level */
    struct slice partition_key; /* HTTP_ENTITY: decoded */
    struct slice row_key;
};

enum http_method http_method_of(struct slice method);

/*
 * Resolve host and path.
 *   ERR_ACCOUNT_NOT_FOUND, ERR_INVALID_URI, ERR_RESOURCE_NAME_LENGTH, ERR_INVALID_RESOURCE_NAME
 */
MUST_CHECK enum err http_address_parse(struct arena *arena, const struct http_service *service,
                                       const struct http_message *message,
                                       const struct account_list *accounts, bool path_style_only,
                                       struct http_address *address);

/* The first segment of a path without its leading slash, and what follows it; both as on the wire.
   For parse_resource of the services. */
void http_path_split(struct slice path, struct slice *first, struct slice *rest);

/*
 * What the request is to do: its method, or the one that a client whose network knows few methods
 * sends in X-HTTP-Method of a POST.
 *   ERR_TUNNELLED_METHOD, ERR_TUNNEL_NOT_POST
 */
MUST_CHECK enum err http_method_find(const struct http_service *service,
                                     const struct http_message *message, enum http_method *method);

/*
 * Find the operation.  On error `*details` (HTTP_ERROR_DETAILS_MAX of room) and `*detail_count`
 * say which parameter or header is at fault.
 *   ERR_UNSUPPORTED_VERB, ERR_INVALID_QUERY_PARAMETER, ERR_MISSING_HEADER, ERR_INVALID_HEADER
 *   the errors of http_method_find
 *   ERR_NOT_IMPLEMENTED   an operation of the service that this server does not perform
 */
MUST_CHECK enum err http_route_find(const struct http_service *service,
                                    const struct http_message *message,
                                    const struct http_address *address,
                                    const struct http_operation **operation,
                                    struct http_error_detail *details, size_t *detail_count);

/* The tables of all services in one, for metrics and tests. */
size_t http_operation_count(void);
const struct http_operation *http_operation_get(size_t index);

/* A row's place in the table. */
size_t http_operation_index(const struct http_operation *operation);

#endif
