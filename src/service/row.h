/*
 * row.h - the form of stored records: a list of tagged fields.
 *
 *   offset   what
 *   0        format version, ROW_FORMAT
 *   1        kind of record
 *   2...     fields: tag (varint), length of the value in bytes (varint), value
 *
 * A varint is little-endian groups of seven bits, the high bit set on all but the last.  A number
 * is a field whose value is a varint.  A field that is absent has its zero value; a reader skips
 * tags it does not know, so fields can be added without a new format.
 *
 * Decoding is total: any bytes give either a record or ERR_CORRUPT, never an assert.
 */
#ifndef SERVICE_ROW_H
#define SERVICE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
    ROW_FORMAT = 1,
};

enum row_kind {
    ROW_CONTAINER = 1,
    ROW_BLOB = 2,
    ROW_GARBAGE = 3, /* something deleted that is to be reclaimed */
    ROW_CLOSED = 4,  /* a partition that takes no more writes */
    ROW_SEGMENTS = 5,
    ROW_NUMBER = 6,      /* a single number, under tag 1 */
    ROW_BLOCK = 7,       /* an uncommitted block */
    ROW_UNCOMMITTED = 8, /* a blob that has uncommitted blocks */
    ROW_SERVICE = 9,     /* properties of a service of an account */
    ROW_TAG = 10,        /* an entry of the tag index; it has no fields */
    ROW_OVERLAY = 11,    /* a list of pages that is laid over another */
    ROW_QUEUE = 17,
    ROW_QUEUE_HEAD = 12, /* what is known of all messages of a queue */
    ROW_MESSAGE = 13,
    ROW_TABLE = 14,
    ROW_ENTITY = 15,
    ROW_MESSAGE_TEXT = 16,
    ROW_NODE = 20,       /* a directory or file */
    ROW_NODE_PLACE = 21, /* where the node of an id is */
    ROW_SHARE_STATE = 22,
    ROW_SHARE = 23, /* a share, or a snapshot of one */
    ROW_INSTANT = 24,
    ROW_PERMISSION = 25,
};

/* --- writing: begin, add fields, use strbuf_slice --- */

void row_begin(struct strbuf *row, enum row_kind kind);
void row_add_number(struct strbuf *row, uint64_t tag, uint64_t value);    /* 0 adds nothing */
void row_add_bytes(struct strbuf *row, uint64_t tag, struct slice value); /* empty adds nothing */

/* --- reading --- */

struct row_reader {
    struct slice rest;
};

/* ERR_CORRUPT unless `row` is of this kind and of a format known here. */
MUST_CHECK enum err row_reader_init(struct row_reader *reader, struct slice row,
                                    enum row_kind kind);

/*
 * The next field; the value points into the row.  ERR_NOT_FOUND after the last, ERR_CORRUPT when
 * the bytes are not a field.
 */
MUST_CHECK enum err row_next(struct row_reader *reader, uint64_t *tag, struct slice *value);

/* The number in a field's value.  ERR_CORRUPT. */
MUST_CHECK enum err row_number(struct slice value, uint64_t *number);

/* The same for an instant: 1 to CLOCK_TICKS_MAX, so that it can be written as a date. */
MUST_CHECK enum err row_instant(struct slice value, int64_t *ticks);

#endif
