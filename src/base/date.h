/*
 * date.h - instants as text.  Instants are clock ticks (base/clock.h), always UTC.
 *
 *   RFC 1123    Sun, 06 Nov 1994 08:49:37 GMT       HTTP dates
 *   ISO 8601    2026-11-15T03:24:00.1234567Z        error bodies, snapshots, listings
 *
 * Pure functions.
 */
#ifndef BASE_DATE_H
#define BASE_DATE_H

#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

enum {
    DATE_RFC1123_LEN = 29, /* without the NUL */
    DATE_ISO_LEN = 28,     /* with seven digits, without the NUL */
};

void date_format_rfc1123(int64_t ticks, char text[DATE_RFC1123_LEN + 1]);

/* Always seven fraction digits. */
void date_format_iso(int64_t ticks, char text[DATE_ISO_LEN + 1]);

/* Strict: two-digit day, "GMT", and the weekday that the date has.  ERR_MALFORMED else. */
MUST_CHECK enum err date_parse_rfc1123(struct slice text, int64_t *ticks);

/*
 * As HTTP requires of a server: RFC 1123, RFC 850 and asctime() forms, each as strict as above.
 * The two-digit years of RFC 850 are 1970 to 2069.
 */
MUST_CHECK enum err date_parse_http(struct slice text, int64_t *ticks);

/*
 * YYYY-MM-DD, YYYY-MM-DDThh:mmZ, YYYY-MM-DDThh:mm:ssZ or with one to seven fraction
 * digits; the zone is Z or +hh:mm or -hh:mm.  The forms a SAS may carry.
 */
MUST_CHECK enum err date_parse_iso(struct slice text, int64_t *ticks);

/* The instant cut to whole seconds. */
int64_t date_cut_to_second(int64_t ticks);

#endif
