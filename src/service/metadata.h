/*
 * metadata.h - the name-value pairs clients attach to containers and blobs.
 *
 * Names are C# identifiers; their case is kept, and two names that differ in case alone are the
 * same name.  A value that owns nothing: the pairs and their bytes live where they were made.
 */
#ifndef SERVICE_METADATA_H
#define SERVICE_METADATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct metadata_pair {
    struct slice name;
    struct slice value;
};

/* All zero bytes is "no metadata". */
struct metadata {
    struct metadata_pair *pairs;
    size_t count;
};

/*
 * What a client sent.
 *   ERR_EMPTY_METADATA_KEY   a name is empty
 *   ERR_INVALID_METADATA     a name is no identifier, or is given twice
 *   ERR_METADATA_TOO_LARGE   names and values are more than LIMIT_METADATA_BYTES_MAX in all
 */
MUST_CHECK enum err metadata_check(const struct metadata *metadata);

/* The stored form: one field of a row (service/row.h) per pair, under the given tag. */
void metadata_encode(const struct metadata *metadata, struct strbuf *row, unsigned tag);

/* One such field's value; the slices point into it.  ERR_CORRUPT. */
MUST_CHECK enum err metadata_decode_pair(struct slice value, struct metadata_pair *pair);

/* Append a pair while decoding: grows the list in the arena. */
void metadata_append(struct metadata *metadata, struct arena *arena, struct metadata_pair pair);

/* Whether both have the same names, whatever their case and order, with the same values. */
bool metadata_equal(const struct metadata *a, const struct metadata *b);

/* A copy of names and values in another arena. */
struct metadata metadata_copy(struct arena *arena, const struct metadata *metadata);

#endif
