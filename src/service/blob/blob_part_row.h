/*
 * blob_part_row.h - the stored form of what the records of blobs and files have in common: the HTTP
 * properties, and the last copy.
 *
 * Each takes consecutive tags of its row, from `tag` on, in the order of the fields in blob.h; a
 * field that is not set takes no space.
 */
#ifndef SERVICE_BLOB_BLOB_PART_ROW_H
#define SERVICE_BLOB_BLOB_PART_ROW_H

#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "service/blob/blob.h"

enum {
    PROPERTIES_ROW_TAGS = 6,
    COPY_ROW_TAGS = 8, /* up to `incremental` */
};

void properties_row_encode(const struct blob_properties *properties, struct strbuf *row,
                           uint64_t tag);

/* Take field `index` (0 to PROPERTIES_ROW_TAGS - 1).  ERR_CORRUPT. */
MUST_CHECK enum err properties_row_decode(struct blob_properties *properties, uint64_t index,
                                          struct slice value);

void copy_row_encode(const struct blob_copy *copy, struct strbuf *row, uint64_t tag);

/* Take field `index` (0 to COPY_ROW_TAGS - 1).  ERR_CORRUPT. */
MUST_CHECK enum err copy_row_decode(struct blob_copy *copy, uint64_t index, struct slice value);

#endif
