/*
 * page_map.h - which pages of a page blob were written, and where their bytes are; and the same for
 * files, which are written in any range of bytes.
 *
 * The content of a page blob is a list with gaps (segments.h): one row for each run of pages that
 * was written at once, less what was overwritten since; gaps are pages that were never written or
 * were cleared, and read as zeroes.  So a blob of 8 TiB costs what is written.  length_bytes is the
 * size of the blob; a blob of size 0 is CONTENT_EMPTY.  Nothing here depends on the size of a page.
 *
 * Snapshots share the list.  The first change after a snapshot gives the blob a list of its own: a
 * copy of a short one, whose entries name the same payloads under owners of their own, or one that
 * is laid over a long one (overlay.h).  A change that would cut away very many entries makes such a
 * list as well.  The payload a page belongs to says when it was written: two lists differ in a page
 * if its payloads differ.
 *
 * Functions that take a `struct change` are for decisions.  Those that change the list keep a count
 * up to date, `*used_bytes`, if it is not NULL: how many bytes are written and not cleared.  When
 * very many entries are cleared at once they are not all looked at, and the count stays too high by
 * at most what they have; it is never too low, and right again when all is cleared.
 */
#ifndef SERVICE_BLOB_PAGE_MAP_H
#define SERVICE_BLOB_PAGE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "partition/partition.h"
#include "service/blob/segments.h"
#include "service/payload.h"

enum {
    PAGE_BYTES = 512,
};

/* The content of a new page blob of this size. */
struct content page_map_new(struct change *change, uint64_t length_bytes);

/* The pages from `start` on are those of the segment.  They lie within the blob. */
MUST_CHECK enum err page_map_write(struct change *change, struct content *content, uint64_t start,
                                   const struct segment *segment, uint64_t *used_bytes);

/* The pages from `start` to `end` (exclusive) are zeroes.  They lie within the blob. */
MUST_CHECK enum err page_map_clear(struct change *change, struct content *content, uint64_t start,
                                   uint64_t end, uint64_t *used_bytes);

/* Pages that are cut off are gone: they are zeroes when the blob grows again. */
MUST_CHECK enum err page_map_resize(struct change *change, struct content *content,
                                    uint64_t length_bytes, uint64_t *used_bytes);

enum page_range_kind {
    PAGE_RANGE_WRITTEN,
    PAGE_RANGE_CLEARED, /* of a comparison: written before, and not any more */
};

struct page_map_walk {
    const struct content *content;
    const struct content *previous; /* what to compare with, or NULL: all written pages differ */
    uint64_t start;
    uint64_t end; /* exclusive, within the blob */
    size_t results_max;
    void (*emit)(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end);
    void *arg;
};

/*
 * Call `emit` for each range of pages that differ, in order; neighbours of one kind are one range.
 * `*next` is where the first range lies that was left out for `results_max`, or `end`.
 *   ERR_CORRUPT, ERR_IO
 */
MUST_CHECK enum err page_map_each(struct partition_view *view, const struct page_map_walk *walk,
                                  uint64_t *next);

#endif
