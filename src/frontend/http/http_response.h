/*
 * http_response.h - an answer being put together: status, headers and a body, as plain data in
 * the request's arena.  http_server.c hands it to libmicrohttpd.
 */
#ifndef FRONTEND_HTTP_HTTP_RESPONSE_H
#define FRONTEND_HTTP_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "frontend/http/http_message.h"
#include "service/payload.h"

struct http_response {
    struct arena *arena;
    unsigned status;
    const char *reason;         /* NULL: the standard phrase of the status */
    struct http_field *headers; /* values are followed by a NUL */
    size_t header_count;
    size_t header_room;

    /* The body: bytes, or a part of a payload.  A HEAD request gets its length alone. */
    struct slice body;
    struct payload_reader *payload; /* NULL: `body` */
    uint64_t payload_offset;
    uint64_t payload_length;
};

void http_response_init(struct http_response *response, struct arena *arena, unsigned status);

/* The name is kept, the value copied.  An empty value adds nothing. */
void http_response_add(struct http_response *response, const char *name, struct slice value);

/* The same for a string that lives as long as the response: kept, not copied. */
void http_response_add_text(struct http_response *response, const char *name, const char *value);

/* Other forms values come in. */
void http_response_add_number(struct http_response *response, const char *name, uint64_t value);
void http_response_add_date(struct http_response *response, const char *name, int64_t ticks);
void http_response_add_base64(struct http_response *response, const char *name, struct slice bytes);

/* ETag and Last-Modified of a stored state. */
void http_response_add_etag(struct http_response *response, int64_t etag);

#endif
