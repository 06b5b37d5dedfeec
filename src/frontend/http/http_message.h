/*
 * http_message.h - the parts of a request that routing and authentication look at.
 *
 * Plain data over borrowed bytes, so that both can be tested without a socket.  http_server.c
 * fills it; everything it points to lives as long as the request.
 */
#ifndef FRONTEND_HTTP_HTTP_MESSAGE_H
#define FRONTEND_HTTP_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

struct http_field {
    struct slice name;
    struct slice value;
};

struct http_message {
    struct slice method;
    struct slice path;  /* as on the wire, still percent-encoded, beginning with '/' */
    struct slice query; /* as on the wire, without the '?' */
    const struct http_field *headers; /* in the order received, names in the client's case */
    size_t header_count;
    const struct http_field *parameters; /* of the query: names in lower case, both decoded */
    size_t parameter_count;
};

/*
 * Split a request target (/path?query, or with scheme and host before it) into path and query, and
 * decode the query's parameters ('+' is a space there, as the service has it; not in the path).
 *   ERR_INVALID_URI               the target does not begin with '/', or an escape is malformed
 *   ERR_INVALID_QUERY_PARAMETER   there are more than LIMIT_QUERY_PARAMETERS_MAX
 */
MUST_CHECK enum err http_message_parse_target(struct arena *arena, struct slice target,
                                              struct http_message *message);

/* The first header or parameter of that name (any case), or NULL. */
const struct http_field *http_message_find_header(const struct http_message *message,
                                                  const char *name);
const struct http_field *http_message_find_parameter(const struct http_message *message,
                                                     const char *name);

/* A header's value without surrounding space, a parameter's as it is (a prefix to list may begin
   with a space); the empty slice when there is none. */
struct slice http_message_header(const struct http_message *message, const char *name);
struct slice http_message_parameter(const struct http_message *message, const char *name);

#endif
