/*
 * clone.h - the content of a blob, made the content of another blob in another partition.
 *
 * Nothing is read or written but metadata: the new content has rows of its own in its partition,
 * which name the same ranges of extents under owners of their own.  Only inline bytes, which are
 * rows themselves, are copied.
 *
 * A decision may look at no other partition than its own, so a clone gathers what is to be written
 * before: the state of the source in one long view, which also keeps the ranges from being
 * reclaimed until the new owners are durable.  A long list is gathered and written in steps, each
 * bounded in entries and bytes:
 *
 *   clone_open                       the view is open and a first batch is gathered
 *   while !clone->is_complete        an update with clone_store_step, and then clone_gather
 *   in the last update               clone_store: the content is whole, and a record may name it
 *   clone_close                      always
 *
 * Until the last update no record names the content; a row ('y') does, so that a crash leaves
 * nothing that is not found: clone_abandon, or copy_recover after a restart, hands it to the
 * sweeper.
 *
 * One thread at a time.
 */
#ifndef SERVICE_BLOB_CLONE_H
#define SERVICE_BLOB_CLONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/service.h"

enum {
    /* Of one step: small enough that other changes of the partition do not wait noticeably. */
    CLONE_STEP_ENTRIES = 1024,
    CLONE_STEP_BYTES = 1024 * 1024,
};

struct clone {
    struct partition_view view; /* of the source; long */
    bool is_open;
    struct content from;
    enum blob_type type;
    size_t step_entries; /* CLONE_STEP_ENTRIES; tests make it small */

    bool is_complete;    /* the batch that is gathered is the last */
    bool has_steps;      /* an earlier batch was written */
    uint64_t content_id; /* of the new content, if it has steps */

    /* the batch */
    struct arena arena;
    struct segment_entry *entries; /* of CONTENT_SEGMENTS */
    struct slice *inline_bytes;    /* of each entry that is inline */
    size_t entry_count;
    struct slice bytes; /* of CONTENT_INLINE */
    uint64_t next;      /* offset in the content where the next batch begins */
};

/*
 * Open the long view of a partition, whose id the caller keeps.  The source is looked up in
 * clone->view by the caller.
 */
void clone_open(struct clone *clone, struct service *service, struct slice partition);

/* Gather the first batch of this content, found in the view; then the next.
   ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err clone_begin(struct clone *clone, const struct blob *source);
MUST_CHECK enum err clone_gather(struct clone *clone);

/* In a decision: write a batch that is not the last.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err clone_store_step(struct clone *clone, struct change *change);

/* In a decision: write the last batch; the whole content.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err clone_store(const struct clone *clone, struct change *change,
                                struct content *content);

/* In a decision: the steps that were written will not be used. */
void clone_abandon(const struct clone *clone, struct change *change);

void clone_close(struct clone *clone);

/* In a decision: a copy of content of the same partition, up to the length that is given. */
MUST_CHECK enum err clone_within(struct change *change, const struct content *from,
                                 struct content *content);

#endif
