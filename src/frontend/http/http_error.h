/*
 * http_error.h - what each error is called over HTTP.
 *
 * http_error_describe holds the one switch over `enum err`: status, error code and message as the
 * real service gives them.  The message is also the reason phrase of the status line.
 */
#ifndef FRONTEND_HTTP_HTTP_ERROR_H
#define FRONTEND_HTTP_HTTP_ERROR_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

struct http_error {
    unsigned status;
    const char *code;
    const char *message;
};

/* What a fault concerns: some messages name it. */
enum http_error_subject {
    HTTP_ERROR_OF_BLOB,
    HTTP_ERROR_OF_CONTAINER,
    HTTP_ERROR_OF_FILE,
    HTTP_ERROR_OF_SHARE,
};

/* Never called with OK. */
struct http_error http_error_describe(enum err err, enum http_error_subject subject);

/* One further element of an error's body, such as <HeaderName>; see http_error_body. */
struct http_error_detail {
    const char *name;
    struct slice value;
};

enum {
    HTTP_ERROR_DETAILS_MAX = 4,
};

/*
 * The XML body, byte order mark included.  `request_id` and `time` (ISO 8601 with seven digits)
 * are part of the message as the service writes it.
 */
struct slice http_error_body(struct arena *arena, const struct http_error *error,
                             const char *request_id, const char *time,
                             const struct http_error_detail *details, size_t detail_count);

#endif
