/*
 * reclaim.h - gives the space of payloads back when nobody owns them any more.
 *
 * Ownership is rows (partition/system_row.h) that decisions write with the change they belong to.
 * The reclaimer reads them behind the committers' backs, so it has to know that what it reads is
 * still so when it acts.  A range is reclaimed when all of this holds, checked in this order:
 *
 *   1. In a first snapshot it has F rows and no O row: every owner it ever had has let go.
 *   2. Every view that was open then has been closed (stream_barrier): whoever saw it live has
 *      pinned it or does not want it.
 *   3. In a second snapshot there is still no O row, and no further F row: nobody who had pinned
 *      it came to own it in the meantime, not even for a moment.
 *   4. It is not pinned (stream_reclaim).
 *
 * Between 3 and 4 somebody who has it pinned could commit a change that owns it and unpin it.
 * That is why reclaim_committed, which runs before the `done` that allows unpinning, waits while
 * a range just owned is between 3 and 4.  It hardly ever is.
 *
 * Then one lazy commit removes the F rows and lowers the live bytes of the extent.  If a crash
 * undoes it, all is done again: giving a range back twice is harmless, because offsets of an
 * extent are never used again.
 *
 * Extents that take no more payloads are settled (stream.h): ranges with O or F rows are live,
 * what lies between them was never finished or has been reclaimed before.  From then on the E
 * row counts the live bytes; at 0 the extent is removed.  E rows are written here alone.
 *
 * Threads: any committer may call reclaim_committed.  Passes are made by a thread of this module,
 * and by partition_reclaim; one at a time.  Lock order: pass, then lock.
 */
#ifndef PARTITION_RECLAIM_H
#define PARTITION_RECLAIM_H

#include <stdint.h>

#include "base/error.h"
#include "partition/engine.h"
#include "partition/range_list.h"
#include "stream/stream.h"

struct reclaim;

enum reclaim_mode {
    RECLAIM_OWN_THREAD,
    RECLAIM_IN_CALLER, /* only reclaim_pass gives anything back */
};

/*
 * Settle the extents that were being written when the store was last used, and begin.  `engine`
 * and `stream` are kept.  ERR_CORRUPT, ERR_IO, ERR_NO_SPACE.
 */
MUST_CHECK enum err reclaim_open(struct engine *engine, struct stream *stream,
                                 enum reclaim_mode mode, struct reclaim **reclaim);

/* No committer is left.  What is not given back yet is found again at the next open. */
void reclaim_close(struct reclaim *reclaim);

/* A group was committed in which these ranges were owned and disowned; both are borrowed. */
void reclaim_committed(struct reclaim *reclaim, const struct range_list *owned,
                       const struct range_list *freed);

/* One pass, now.  Returns how many ranges were given back. */
uint64_t reclaim_pass(struct reclaim *reclaim);

#endif
