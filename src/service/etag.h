/*
 * etag.h - the identity of a state of a stored object.
 *
 * An ETag is the tick (base/clock.h) of the change that made the state, written as the real
 * service writes it: "0x" and upper-case hexadecimal digits, in quotes on the wire.  Ticks are
 * unique per change, so ETags are too, and the Last-Modified of the state is the same instant cut
 * to seconds.  Clients treat the text as opaque.
 *
 * A value is an int64_t named `etag` or `..._etag`.
 */
#ifndef SERVICE_ETAG_H
#define SERVICE_ETAG_H

#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

enum {
    ETAG_TEXT_LEN_MAX = 20, /* "0x" and sixteen digits and two quotes */
};

/* With quotes, and a NUL. */
void etag_format(int64_t etag, char text[ETAG_TEXT_LEN_MAX + 1]);

/*
 * Quotes are optional.  Text in any other form is an ETag nobody ever gave: ERR_MALFORMED, and
 * the caller treats it as one that matches nothing.
 */
MUST_CHECK enum err etag_parse(struct slice text, int64_t *etag);

#endif
