/*
 * http_range.h - the Range and x-ms-range headers.
 *
 * Forms: bytes=a-b and bytes=a-.  Suffixes (bytes=-n), several ranges and anything that cannot be
 * read are not supported by the service and are ignored, as it does: the whole resource is sent.
 */
#ifndef FRONTEND_HTTP_HTTP_RANGE_H
#define FRONTEND_HTTP_HTTP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* A value.  All zero bytes is "no range". */
struct http_range {
    bool present;
    uint64_t first;
    uint64_t last; /* inclusive; UINT64_MAX when open */
};

struct http_range http_range_parse(struct slice header);

/* The part of a resource of that size it names; false when it names none. */
bool http_range_resolve(const struct http_range *range, uint64_t size_bytes, uint64_t *offset,
                        uint64_t *length);

#endif
