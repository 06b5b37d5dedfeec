/*
 * multipart.h - multipart/mixed bodies whose parts are HTTP requests: batches.
 *
 *   --boundary CRLF
 *   Content-Type: application/http CRLF
 *   Content-ID: 0 CRLF CRLF
 *   DELETE /container/blob HTTP/1.1 CRLF
 *   header: value CRLF ... CRLF
 *   --boundary-- CRLF
 *
 * Lines may end in LF alone; what stands before the first and behind the last delimiter is ignored.
 * Everything points into the body it was read from.
 */
#ifndef FRONTEND_HTTP_MULTIPART_H
#define FRONTEND_HTTP_MULTIPART_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_message.h"

enum {
    MULTIPART_PARTS_MAX = 256,
    MULTIPART_HEADERS_MAX = 64, /* of one part */
};

/* A request inside a part. */
struct multipart_part {
    struct slice content_id; /* empty if it has none */
    struct slice method;
    struct slice target;
    const struct http_field *headers;
    size_t header_count;
    struct slice body;
};

/* A part as it stands: its headers, and what follows them up to the next delimiter. */
struct multipart_piece {
    const struct http_field *headers;
    size_t header_count;
    struct slice content;
};

/* The boundary in the value of a Content-Type header; ERR_MALFORMED if there is none. */
MUST_CHECK enum err multipart_boundary(struct slice content_type, struct slice *boundary);

/*
 * Take a body apart into at most `pieces_max` pieces.  The array is in the arena.
 *   ERR_MALFORMED      it is not in the form above, is cut off, or has no part
 *   ERR_OUT_OF_RANGE   it has more parts
 */
MUST_CHECK enum err multipart_split(struct arena *arena, struct slice body, struct slice boundary,
                                    size_t pieces_max, const struct multipart_piece **pieces,
                                    size_t *piece_count);

/* The value of a header of a piece, of any case; empty if it has none. */
struct slice multipart_header(const struct multipart_piece *piece, const char *name);

/* The request inside a piece.  ERR_MALFORMED if it is none. */
MUST_CHECK enum err multipart_read_request(struct arena *arena, const struct multipart_piece *piece,
                                           struct multipart_part *part);

/*
 * Take a body of requests apart.  The array is in the arena.
 *   ERR_MALFORMED      it is not in the form above, is cut off, or has no part
 *   ERR_OUT_OF_RANGE   it has more than MULTIPART_PARTS_MAX parts
 */
MUST_CHECK enum err multipart_read(struct arena *arena, struct slice body, struct slice boundary,
                                   const struct multipart_part **parts, size_t *part_count);

#endif
