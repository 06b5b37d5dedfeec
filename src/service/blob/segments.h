/*
 * segments.h - content that is made of pieces: block lists, appended blocks, pages.
 *
 * A segment is a run of bytes of a stored payload.  Content in segments is a list of rows of the
 * blob's partition, each holding the segments from an offset on, under a key that ends with the
 * offset where they end; so the row with a given byte is the first whose key is past it, and a
 * reader seeks once and goes on.  Between rows there may be gaps, which read as zeroes (pages).
 *
 *   'k' content id, end  ->  row: start, entries in order of offset; no gaps inside a row
 *
 * Ownership: every entry names the owner under which its payload is kept.  Entries of one content
 * that use one payload have the same owner and let go of it together.  A payload in an extent is
 * owned by change_own; an inline payload (row 'd') by rows 'v', and is removed with the last of
 * them.  One without such rows has the owner that it was stored with, whose number is its own, and
 * has never had another.
 *
 * An entry that is marked as split has, or had, other entries of its content with other parts of
 * its payload.  They all lie where the payload was written as a whole, so a scan of that window
 * tells whether one is left, and the payload is let go of with the last and not before.
 *
 * A block list may name a block several times.  All its entries but the first are marked as
 * repeated: a long list is dropped in several changes, and a payload is let go of only once.
 *
 * Content is shared as a whole: the records of a partition that name it are counted (row 'n'), and
 * it is dropped with the last.  Dropping a long list is left to the sweeper (row 'z').
 *
 * An entry of a list of pages may be a link: what is in its place is in the same place of another
 * list (overlay.h).  Cursors of a view follow links and never show one; those of a change show what
 * the rows have.
 *
 * Functions that take a `struct change` are for decisions.
 */
#ifndef SERVICE_BLOB_SEGMENTS_H
#define SERVICE_BLOB_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "partition/partition.h"
#include "service/payload.h"
#include "service/service.h"

enum {
    /* Entries of a row: long enough that a list of 50,000 blocks is a hundred rows, short enough
       that a row is read and written in microseconds.  Appending rewrites the last row, so it is
       shorter there. */
    SEGMENTS_PER_ROW = 512,
    SEGMENTS_PER_ROW_APPENDED = 64,
    /* Lists of up to this many segments are dropped within the change that drops them. */
    SEGMENTS_DROPPED_AT_ONCE = 64,
    /* Segments that one step of the sweeper removes; a row is removed as a whole. */
    SEGMENTS_SWEPT_AT_ONCE = 128,
};

/* A run of bytes of a payload.  A value. */
struct segment {
    uint64_t payload_id; /* unique to the payload; names its inline row.  Of a link: the content */
    uint64_t owner;
    struct stream_range range; /* extent_id 0: the payload is inline, only the length counts */
    uint64_t skip_bytes;       /* of the payload, before the run */
    uint64_t length_bytes;     /* of the run; never 0 */
    bool split;                /* other entries may have other runs of the payload */
    bool repeated;             /* an earlier entry has the same run, and lets go of the payload */
    bool is_link;              /* there is no payload, but the list of another content */
};

/* A segment in its place. */
struct segment_entry {
    struct segment segment;
    uint64_t start;        /* offset in the content */
    struct slice block_id; /* decoded bytes; empty for pages and appended blocks */
};

/* --- payloads --- */

/* Store a finished payload (not empty) as a segment with `id` as payload id and owner. */
struct segment segment_store(struct change *change, struct payload_writer *payload, uint64_t id);

/* Another owner for the segment's payload, beside the segment's own; and the end of that. */
void segment_own(struct change *change, const struct segment *segment, uint64_t owner);
MUST_CHECK enum err segment_disown(struct change *change, const struct segment *segment);

/* An owner for the payload of a segment that was seen elsewhere, or earlier: nobody knows whether
   it is here (still), or who else has it.  What is inline is stored if it is not. */
MUST_CHECK enum err segment_own_copy(struct change *change, const struct segment *segment,
                                     uint64_t owner, struct slice inline_bytes);

/* The end of the owner of a payload that never had another, which is not looked for. */
void segment_discard(struct change *change, const struct segment *segment);

/* The stored form, for rows that hold one segment under a tag. */
void segment_encode(const struct segment *segment, struct slice block_id, struct strbuf *row,
                    uint64_t tag);
MUST_CHECK enum err segment_decode(struct slice value, struct segment *segment,
                                   struct slice *block_id);

/* --- building a list --- */

/* Adds entries one after the other; rows are written as they fill. */
struct segments_builder {
    struct change *change;
    uint64_t content_id;
    size_t per_row;
    uint64_t row_start;
    uint64_t end;
    size_t row_count; /* entries in the row being made */
    struct strbuf row;
};

void segments_builder_init(struct segments_builder *builder, struct change *change,
                           uint64_t content_id);
void segments_builder_add(struct segments_builder *builder, const struct segment *segment,
                          struct slice block_id);
/* Writes the last row.  `*content` is CONTENT_EMPTY when nothing was added. */
void segments_builder_finish(struct segments_builder *builder, struct content *content);

/* Append one segment to content that is not shared beyond its present end. */
MUST_CHECK enum err segments_append(struct change *change, struct content *content,
                                    const struct segment *segment);

/* --- lists with gaps (pages) --- */

/* A row with this one entry.  What was in its place has been removed. */
void segments_put_entry(struct change *change, uint64_t content_id,
                        const struct segment_entry *entry);

/* The entry that ends at an offset.  ERR_NOT_FOUND: none does. */
MUST_CHECK enum err segments_find_ending(struct change *change, uint64_t content_id, uint64_t end,
                                         struct segment_entry *entry);

/* Let go of the payload of an entry whose row was removed, unless another entry of the list has a
   part of it. */
MUST_CHECK enum err segments_let_go(struct change *change, uint64_t content_id,
                                    const struct segment_entry *entry);

/* --- walking a list --- */

struct segments_cursor {
    struct partition_view *view; /* or else `change` */
    struct change *change;
    uint64_t content_id;
    struct cursor *rows;
    struct arena *arena;
    uint64_t from; /* entries that end before it are skipped */
    struct row_of_segments *row;
    size_t next;
    struct segment_entry last; /* read from the rows */
    bool is_last_due;          /* it comes once more */
    bool follows_links;
    bool in_link;                 /* `last`, in the list below */
    bool is_link_passed;          /* there is no more of it */
    struct segments_below *below; /* once a link was followed: kept for the next */
    struct arena below_arena;     /* of `below` itself */
};

/* From the entry that covers `offset`, or the first after it.  The cursor is closed before the
   change or view ends; entries live in the arena, which the cursor clears between rows. */
void segments_cursor_open_change(struct segments_cursor *cursor, struct arena *arena,
                                 struct change *change, uint64_t content_id, uint64_t offset);
void segments_cursor_open_view(struct segments_cursor *cursor, struct arena *arena,
                               struct partition_view *view, uint64_t content_id, uint64_t offset);
/* From now on the cursor follows links: for one of a change, before the first entry. */
void segments_cursor_follow(struct segments_cursor *cursor);
/* ERR_NOT_FOUND after the last; ERR_CORRUPT. */
MUST_CHECK enum err segments_cursor_next(struct segments_cursor *cursor,
                                         struct segment_entry *entry);
void segments_cursor_close(struct segments_cursor *cursor);

/* Keep of an entry, which overlaps the range, what lies in it. */
void segment_entry_clip(struct segment_entry *entry, uint64_t start, uint64_t end);

/* A row of a list, whole: for whoever checks it. */
struct segments_row {
    uint64_t content_id; /* these two are in the key */
    uint64_t end;
    const struct segment_entry *entries; /* in the arena */
    size_t count;
};

/* ERR_CORRUPT */
MUST_CHECK enum err segments_row_decode(struct arena *arena, struct slice key, struct slice row,
                                        struct segments_row *decoded);

/* --- whole contents --- */

/* One more record names the content; it is `shared` afterwards. */
MUST_CHECK enum err content_share(struct change *change, struct content *content);

/* Whether another record of the partition names the content at present. */
MUST_CHECK enum err content_is_shared(struct change *change, const struct content *content,
                                      bool *shared);

/* The same for links to a list, which name it as records do: one more, one less, and whether there
   is just one of both. */
MUST_CHECK enum err content_link(struct change *change, uint64_t content_id);
MUST_CHECK enum err content_unlink(struct change *change, uint64_t content_id);
MUST_CHECK enum err content_has_one_name(struct change *change, uint64_t content_id, bool *has_one);

/* A record no longer names the content. */
MUST_CHECK enum err content_drop(struct change *change, const struct content *content);

/*
 * Remove some of a dropped list: for the sweeper.  `*done` says that nothing is left.
 */
MUST_CHECK enum err content_sweep(struct change *change, uint64_t content_id, bool *done);

/*
 * Open content for reading, found through `view`.  For CONTENT_SEGMENTS the view is a long one
 * that is closed after the arena's clean-ups registered here have run.
 */
MUST_CHECK enum err content_open(struct service *service, struct partition_view *view,
                                 struct arena *arena, const struct content *content,
                                 struct payload_reader *reader);

#endif
