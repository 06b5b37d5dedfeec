/*
 * fsck_internal.h - what the files of the check share.
 *
 * Reading order: the whole (fsck.c), a partition of blobs (fsck_blobs.c), and in it the lists of
 * content (fsck_content.c), inline bytes (fsck_inline.c), and payloads in extents (fsck_claim.c).
 *
 * The principle: a walk over records and lists gathers what they name, as claims; the claims are
 * sorted and compared with the rows of the other side, which come in the same order.  Claims
 * without row are damage, rows without claim are unreachable.
 */
#ifndef SERVICE_BLOB_FSCK_INTERNAL_H
#define SERVICE_BLOB_FSCK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/blob/fsck.h"
#include "service/blob/segments.h"
#include "service/file/fsck_file.h"
#include "service/queue/fsck_queue.h"
#include "service/table/fsck_table.h"

/* A container, or one that was deleted and is still to be swept. */
struct fsck_container {
    uint64_t incarnation;
    struct slice name; /* account/container; of a deleted one, only the account */
    bool is_deleted;
};

/* Something names a range of an extent under this owner. */
struct fsck_claim {
    struct stream_range range;
    uint64_t owner;
    uint64_t incarnation; /* whose partition it is in */
    uint64_t content_id;  /* 0: an uncommitted block */
};

/* A growing array.  All zero bytes is a valid empty one. */
struct fsck_list {
    void *items;
    size_t count;
    size_t capacity;
};

struct fsck {
    const struct fsck_request *request;
    struct fsck_summary *summary;
    struct arena arena;          /* of names */
    struct fsck_list containers; /* struct fsck_container, by incarnation once all are there */
    struct fsck_list claims;     /* struct fsck_claim, in order once all are there */
    struct fsck_queues queues;
    struct fsck_tables tables;
    struct fsck_files files;
    unsigned lookup_count; /* names of blobs that were looked for */
};

/* --- fsck.c --- */

void fsck__report(struct fsck *fsck, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What would set the finding right that was just reported. */
void fsck__repair(struct fsck *fsck, const struct partition_repair *repair);

/* A copy of bytes for a message: one line, whatever they are. */
struct slice fsck__printable(struct arena *arena, struct slice bytes);

/* NULL if there is none. */
const struct fsck_container *fsck__find_container(const struct fsck *fsck, uint64_t incarnation);

/* How messages call the container of an incarnation, in the arena. */
struct slice fsck__container_label(const struct fsck *fsck, struct arena *arena,
                                   uint64_t incarnation);

/* Twice the room. */
void fsck__list_grow(struct fsck_list *list, size_t item_bytes);

/* One more item, zeroed. */
void *fsck__list_add(struct fsck_list *list, size_t item_bytes);
void fsck__list_sort(struct fsck_list *list, size_t item_bytes,
                     int (*compare)(const void *a, const void *b));
void fsck__list_release(struct fsck_list *list);

/* --- fsck_claim.c --- */

void fsck__claim(struct fsck *fsck, const struct fsck_claim *claim);

/* All claims are there: sort them. */
void fsck__sort_claims(struct fsck *fsck);

/* All claims are there: sort them, and compare them with the owners of ranges. */
void fsck__compare_owners(struct fsck *fsck);

/* Who uses a range, in words, in the arena; empty when nobody does.  The claims are sorted. */
struct slice fsck__users(struct fsck *fsck, struct arena *arena, const struct stream_range *range);

/* --- fsck_blobs.c --- */

/* A record names this content. */
struct fsck_named {
    uint64_t content_id;
    uint64_t length_bytes;
    uint64_t block_count;
    enum content_place place;
    enum blob_type type;
    bool shared;
};

/* A list is laid over another (overlay.h). */
struct fsck_overlay {
    uint64_t content_id;
    uint64_t base;
};

/* Inline bytes are named.  Owner 0: as the whole content of a blob, without an owner's row. */
struct fsck_inline {
    uint64_t payload_id;
    uint64_t owner;
    uint64_t length_bytes;
};

/* A partition of blobs while it is checked. */
struct fsck_blobs {
    struct fsck *fsck;
    struct partition_view view;
    uint64_t incarnation;
    struct slice label; /* what messages call it */
    bool is_closed;
    bool needs_mark; /* it has rows that the sweeper looks for */
    uint64_t blob_count;
    uint64_t kept_count;         /* records of history */
    struct fsck_list named;      /* struct fsck_named, by id and length once all are there */
    struct fsck_list inlines;    /* struct fsck_inline, in order once all are there */
    struct fsck_list dropped;    /* uint64_t, of 'z' rows, in order */
    struct fsck_list unfinished; /* uint64_t, of 'y' rows, in order */
    struct fsck_list overlays;   /* struct fsck_overlay, in order */
    struct arena arena;          /* of the present row */
    struct arena name_arena;     /* of what outlives it */
};

/* Check one partition and add its claims; that of a share has contents too, and other records. */
void fsck__check_blobs(struct fsck *fsck, struct slice partition);
void fsck__check_files(struct fsck *fsck, struct slice partition);

/* Repairs of the finding that was just reported: a row is to be this, or is not to be there. */
void fsck__repair_put(struct fsck_blobs *blobs, struct slice key, struct slice value);
void fsck__repair_delete(struct fsck_blobs *blobs, struct slice key);

/* The cursor came to an end that is not one: say so. */
void fsck__check_end(struct fsck_blobs *blobs, char letter, enum err err);

/* What a segment names is claimed by the content (0: an uncommitted block). */
void fsck__claim_segment(struct fsck_blobs *blobs, const struct segment *segment,
                         uint64_t content_id);

/* The records that name a content: the first, and how many; 0 if none does. */
size_t fsck__find_named(const struct fsck_blobs *blobs, uint64_t content_id,
                        const struct fsck_named **first);

/* --- fsck_content.c --- */

/* The lists of content ('k'), and how often content is named ('n').  `named` is sorted. */
void fsck__check_contents(struct fsck_blobs *blobs);

/* --- fsck_inline.c --- */

/* Inline bytes ('d') and their owners ('v').  Sorts `inlines`, which is complete. */
void fsck__check_inlines(struct fsck_blobs *blobs);

#endif
