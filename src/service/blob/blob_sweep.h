/*
 * blob_sweep.h - what the sweeper does for containers: the blobs of deleted ones, long lists that
 * no record names, blocks that nobody has committed in time, soft-deleted blobs whose time is over.
 *
 * The blobs of a deleted container are deleted a batch at a time, letting go of their payloads.
 * Lists that were dropped ('z' rows), blocks and snapshots that are gone ('f', 'o' rows), lists
 * that are to be made flat ('l' rows), uncommitted blocks ('w' rows) and what is soft-deleted ('e'
 * rows) are found by the mark of their partition.  Looking for blocks that have expired means to
 * read all 'w' rows, and is left to thorough passes; so are soft-deleted blobs, which are gone for
 * everybody at their time, whether they were swept or not.
 */
#ifndef SERVICE_BLOB_BLOB_SWEEP_H
#define SERVICE_BLOB_BLOB_SWEEP_H

#include <stdint.h>

#include "base/error.h"
#include "service/sweeper.h"

/* Empty the partition of a deleted container.  ERR_SHUTTING_DOWN when there is no time to
   finish. */
MUST_CHECK enum err blob_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation);

/* Look after a container that is there. */
MUST_CHECK enum err blob_sweep_marked(const struct sweep *sweep, struct slice partition);

/* The part of it that files have too: contents that no record names, and lists that lie over
   others. */
MUST_CHECK enum err blob_sweep_contents(const struct sweep *sweep, struct slice partition);

#endif
