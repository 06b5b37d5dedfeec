/*
 * sweeper.h - reclaims in the background what is not to be seen any more: what deleted containers,
 * queues, tables and shares held, and in those that are there what nobody can reach (each service
 * says what that is: blob/blob_sweep.h, queue/queue_sweep.h, table/table_sweep.h,
 * file/file_sweep.h).
 *
 * Deleting a resource leaves a 'g' row in the account's partition (account_partition.h).  The
 * sweeper first closes the incarnation's partition, so that a write that looked the resource up
 * just before its deletion finds it gone, then empties it a batch at a time, and removes the 'g'
 * row last.  A crash in between repeats harmlessly.
 *
 * In a resource that is there, work for the sweeper is found by the mark of its partition
 * (partition.h), which is removed when there is none any more.
 *
 * One thread.  It makes a pass when it is woken and every few seconds; what can only be found by
 * looking at much is done every hour.
 */
#ifndef SERVICE_SWEEPER_H
#define SERVICE_SWEEPER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/slice.h"
#include "service/service.h"

struct sweeper;

/* Start the thread and a first pass.  `accounts` are copied. */
MUST_CHECK enum err sweeper_new(struct service *service, const struct slice *accounts,
                                size_t account_count, struct sweeper **sweeper);

/* Stops after the batch under way. */
void sweeper_free(struct sweeper *sweeper);

/* There is work.  NULL is fine. */
void sweeper_wake(struct sweeper *sweeper);

/*
 * One whole pass over an account in the calling thread: everything deleted before it is
 * reclaimed.  For tests; the thread does the same.
 */
MUST_CHECK enum err sweeper_pass(struct service *service, struct slice account);

/* The same for the marked partitions. */
MUST_CHECK enum err sweeper_pass_marked(struct service *service);

/* --- for the services --- */

enum sweep_extent {
    SWEEP_USUAL,      /* what is found without looking at much */
    SWEEP_THOROUGHLY, /* and what has expired */
};

enum {
    /* Rows deleted by one update: enough to be quick, few enough that a client's update does not
       wait noticeably behind it. */
    SWEEP_BATCH_ROWS = 64,
};

/* A pass under way. */
struct sweep {
    struct service *service;
    struct sweeper *sweeper; /* NULL: it is never told to stop */
    enum sweep_extent extent;
};

/* Asked before each batch: whether to leave off, with ERR_SHUTTING_DOWN.  The sweeper's thread
   first rests for as long as the last batch took, so that at most half of a committer is busy with
   what nobody waits for. */
bool sweep_is_stopping(const struct sweep *sweep);

/* Close a partition (account_partition.h), and wait. */
MUST_CHECK enum err sweep_close(const struct sweep *sweep, struct slice partition);

/* Remove all rows with the prefix and before `until` (empty: all), in batches; none of them owns a
   payload, and nobody writes any meanwhile. */
MUST_CHECK enum err sweep_range(const struct sweep *sweep, struct slice partition,
                                struct slice prefix, struct slice until);

/* Remove all rows of a closed partition that have one of the first bytes in `letters`, in batches;
   none of them owns a payload. */
MUST_CHECK enum err sweep_rows(const struct sweep *sweep, struct slice partition,
                               const char *letters);

#endif
