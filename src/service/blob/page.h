/*
 * page.h - page blobs: pages of 512 bytes, written and cleared in any order.
 *
 * What is written where is kept by page_map.h; this is what the operations mean.  Besides its
 * pages a page blob has a size, which can be changed, and a sequence number, which clients use to
 * order their writes.
 */
#ifndef SERVICE_BLOB_PAGE_H
#define SERVICE_BLOB_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "service/blob/blob.h"
#include "service/blob/page_map.h"
#include "service/service.h"

/* A page blob has up to 8 TiB, and sequence numbers go up to 2^63 - 1 (Put Blob). */
#define PAGE_BLOB_BYTES_MAX      (UINT64_C(8) << 40)
#define PAGE_SEQUENCE_NUMBER_MAX ((uint64_t)INT64_MAX)

/* --- changes; see service/service.h for their life --- */

/* The conditions on the sequence number.  All zero bytes is none. */
struct page_condition {
    bool has_at_most;
    bool has_below;
    bool has_equal;
    uint64_t at_most;
    uint64_t below;
    uint64_t equal;
};

struct page_change {
    struct blob_change blob; /* first */

    /* page_create */
    uint64_t size_bytes;
    uint64_t sequence_number; /* result of the others: of the blob */

    /* page_write, page_clear */
    struct page_condition condition;
    uint64_t start;
    uint64_t end; /* exclusive */
};

/* Make a blob of zeroes.  The errors of blob_put. */
void page_create(struct service *service, struct page_change *change);

/*
 * Write the payload, which is as long as the range.  The errors of a write and, in this order,
 *   ERR_INVALID_BLOB_TYPE
 *   ERR_INVALID_PAGE_RANGE            the range is not within the blob
 *   ERR_SEQUENCE_CONDITION_NOT_MET
 *   ERR_BUSY                          see overlay_unshare
 */
void page_write(struct service *service, struct page_change *change);

/* Make the range zeroes.  The same errors. */
void page_clear(struct service *service, struct page_change *change);

enum page_sequence_action {
    PAGE_SEQUENCE_KEEP,
    PAGE_SEQUENCE_MAX,
    PAGE_SEQUENCE_UPDATE,
    PAGE_SEQUENCE_INCREMENT,
};

/* What blob_set_properties changes of a page blob. */
struct page_properties {
    bool has_size;
    uint64_t size_bytes;
    enum page_sequence_action action;
    uint64_t sequence_number; /* of the action, but for incrementing */
};

/* In a decision: change the record.  ERR_INVALID_BLOB_TYPE, ERR_SEQUENCE_INCREMENT_TOO_LARGE,
   ERR_BUSY. */
MUST_CHECK enum err page_properties_apply(struct change *change,
                                          const struct page_properties *properties,
                                          struct blob *blob);

/* --- reads --- */

struct page_ranges_request {
    struct blob_get_request get;
    uint64_t start;
    uint64_t end; /* exclusive; beyond the blob it is the blob's end */
    bool has_previous;
    int64_t previous; /* a snapshot to compare with */
    size_t results_max;
    void (*emit)(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end);
    void *arg;
};

/*
 * The ranges that were written, or that differ from the previous snapshot, in order.  `*next` is
 * where those begin that were left out for `results_max`; 0 when there are none.  The errors of
 * blob_get and
 *   ERR_INVALID_BLOB_TYPE
 *   ERR_INVALID_PAGE_RANGE            the range begins after the blob's end
 *   ERR_PREVIOUS_SNAPSHOT_NOT_FOUND, ERR_PREVIOUS_SNAPSHOT_NEWER
 *   ERR_BLOB_OVERWRITTEN              the blob was made anew since
 */
MUST_CHECK enum err page_ranges(struct service *service, struct arena *arena,
                                const struct page_ranges_request *request, struct blob *blob,
                                uint64_t *next);

#endif
