/*
 * http_version.h - the version of the protocol a request speaks: x-ms-version.
 *
 * A version is a date, kept as a number (20260606) so that code can ask `version >= 20160531`.
 * Every version from the first on is accepted; one newer than the newest known is treated as that.
 */
#ifndef FRONTEND_HTTP_HTTP_VERSION_H
#define FRONTEND_HTTP_HTTP_VERSION_H

#include "base/error.h"
#include "base/slice.h"

#define HTTP_VERSION_NEWEST_TEXT    "2026-06-06"
#define HTTP_VERSION_ANONYMOUS_TEXT "2009-09-19"

enum {
    HTTP_VERSION_EARLIEST = 20090414,
    HTTP_VERSION_NEWEST = 20260606,
    HTTP_VERSION_ANONYMOUS = 20090919, /* of a request that names none and has no credential */
};

/* YYYY-MM-DD, not before the earliest; else ERR_MALFORMED. */
MUST_CHECK enum err http_version_parse(struct slice text, int *version);

#endif
