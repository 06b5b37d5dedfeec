/*
 * reclaim.h - gives the space of payloads back when nobody owns them any more.
 *
 * Ownership is rows (partition/system_row.h) that decisions write with the change they belong to.
 * The reclaimer reads them behind the committers' backs, so it has to know that what it reads is
 * still so when it acts.  A range is reclaimed when all of this holds, checked in this order:
 *
 *   1. In a first snapshot it has F rows and no O row: every owner it ever had has let go.
 *   2. No long view that is open now blocks one of those F rows (see below).
 *   3. Every other view that was open at 1 has been closed (stream_barrier): whoever saw it live
 *      has pinned it or does not want it.
 *   4. In a second snapshot there is still no O row, and no further F row: nobody who had pinned
 *      it came to own it in the meantime, not even for a moment.
 *   5. It is not pinned (stream_reclaim).
 *
 * Between 4 and 5 somebody who has it pinned could commit a change that owns it and unpin it.
 * That is why reclaim_committed, which runs before the `done` that allows unpinning, waits while
 * a range just owned is between 4 and 5.  It hardly ever is.
 *
 * Long views stay open for as long as a client reads; they are not waited for.  To open one is to
 * read the visible tick of the partition's committer, then to register the partition and that tick
 * here, then to take the snapshot.  A view names a range while its partition owns it, so what
 * matters is whether the view's snapshot shows the change of that partition that let go.  The F
 * row has that change's partition and tick, and is blocked while a view of the partition is
 * registered whose visible tick is earlier:
 *
 *   - A row whose tick is not later than the view's visible tick was committed before the view's
 *     snapshot was taken.  The view sees the owner gone: the row need not wait for it.
 *   - A view that does not show the row has an earlier visible tick, and it is registered when 2
 *     looks, or closed already: it registered before its snapshot, its snapshot came before the
 *     row's commit, that came before the snapshot of 1, which shows the row, and 2 comes after 1.
 *   - A view that registers after 2 looked takes its snapshot after that of 1 and sees all that
 *     it shows.  It names the range only if somebody came to own it since, and then 4 finds the
 *     row, or 5 the pin that is kept until `done`.
 *
 * One blocked row keeps its range.  It stays even if the range has an owner, who may be of another
 * partition: when that one lets go as well, this row is all that tells of the view.  Ranges with
 * blocked rows are not looked at again before a long view has been closed.  Different partitions
 * with one hash block each other's rows, which only delays.
 *
 * Then one lazy commit removes the F rows and lowers the live bytes of the extent.  If a crash
 * undoes it, all is done again: giving a range back twice is harmless, because offsets of an
 * extent are never used again.
 *
 * Extents that take no more payloads are settled (stream.h): ranges with O or F rows are live,
 * what lies between them was never finished or has been reclaimed before.  From then on the E
 * row counts the live bytes; at 0 the extent is removed.  E rows are written here alone.
 *
 * Threads: any committer may call reclaim_committed, and any reader the functions of long views.
 * Passes are made by a thread of this module, and by partition_reclaim; one at a time.  Lock
 * order: pass, then lock.
 */
#ifndef PARTITION_RECLAIM_H
#define PARTITION_RECLAIM_H

#include <stdint.h>

#include "base/error.h"
#include "partition/engine.h"
#include "partition/range_list.h"
#include "stream/stream.h"

struct long_view;
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

/* No committer and no long view is left.  What is not given back yet is found again at the next
   open. */
void reclaim_close(struct reclaim *reclaim);

/* A group was committed in which these ranges were owned and disowned; both are borrowed. */
void reclaim_committed(struct reclaim *reclaim, const struct range_list *owned,
                       const struct range_list *freed);

/*
 * A long view of the partition with this hash is about to take its snapshot; `visible_tick` was
 * read before.  Returns what reclaim_view_close takes after the snapshot is gone.
 */
struct long_view *reclaim_view_open(struct reclaim *reclaim, uint64_t partition_hash,
                                    int64_t visible_tick);
void reclaim_view_close(struct reclaim *reclaim, struct long_view *view);

/*
 * From the return of reclaim_hold until reclaim_let_go nothing is given back, settled or removed:
 * whoever copies extents finds all that the rows of any moment in between name.  What is let go of
 * meanwhile is given back afterwards.  Holds are counted.
 */
void reclaim_hold(struct reclaim *reclaim);
void reclaim_let_go(struct reclaim *reclaim);

/* One pass, now.  Returns how many ranges were given back; 0 while there is a hold. */
uint64_t reclaim_pass(struct reclaim *reclaim);

#endif
