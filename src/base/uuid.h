/*
 * uuid.h - 128-bit identifiers: request ids, lease ids.
 *
 * A value.  All zero bytes is the nil id.
 */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/slice.h"

enum {
    UUID_TEXT_LEN = 36, /* without the NUL */
};

struct uuid {
    uint8_t bytes[16]; /* in the order they are written */
};

static inline bool uuid_is_nil(const struct uuid *id)
{
    static const struct uuid nil;
    return memcmp(id, &nil, sizeof(nil)) == 0;
}

static inline bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* A random (version 4) id from the system's generator; unguessable. */
struct uuid uuid_random(void);

/* A version 4 id from a fast per-thread generator: unique, but not a secret. */
struct uuid uuid_quick(void);

/* Lower-case 8-4-4-4-12 text with a NUL. */
void uuid_format(const struct uuid *id, char text[UUID_TEXT_LEN + 1]);

/*
 * Read any of the five forms .NET's Guid.Parse takes, in either case:
 * N (32 digits), D (with dashes), B ({D}), P ((D)), X ({0x...,0x...,0x...,{0x..,...}}).
 * ERR_MALFORMED otherwise, and `id` is untouched.
 */
MUST_CHECK enum err uuid_parse(struct slice text, struct uuid *id);

#endif
