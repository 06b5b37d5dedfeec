/*
 * odata_token.h - ETags of entities and continuation tokens, both ways.
 *
 * An entity's ETag is its Timestamp:  W/"datetime'2021-05-26T15%3A48%3A41.1312048Z'"
 *
 * A continuation token says where the next page begins.  It is opaque to clients, which send it
 * back as they got it:  1!<length of what follows>!<base64 of the place, with - for =>
 */
#ifndef FRONTEND_HTTP_ODATA_TOKEN_H
#define FRONTEND_HTTP_ODATA_TOKEN_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

enum {
    ODATA_ETAG_LEN_MAX = 48, /* without the NUL */
};

/* The ETag of a Timestamp in ticks of base/clock.h.  Gives the length; a NUL follows. */
size_t odata_etag_format(int64_t timestamp, char text[ODATA_ETAG_LEN_MAX + 1]);

/*
 * The inverse; the colons may be written as they are.  Any other weak ETag is one that no entity
 * has: 0, so that a condition on it is not met.
 *   ERR_INVALID_ETAG   it is no weak ETag, or several
 */
MUST_CHECK enum err odata_etag_parse(struct slice text, int64_t *timestamp);

/* The token of a place, in the arena. */
struct slice odata_token_make(struct arena *arena, struct slice place);

/* The place of a token.  ERR_MALFORMED */
MUST_CHECK enum err odata_token_read(struct arena *arena, struct slice token, struct slice *place);

#endif
