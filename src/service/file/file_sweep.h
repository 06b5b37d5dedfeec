/*
 * file_sweep.h - what the sweeper does for shares.
 *
 *   shares that were deleted       all entries, those that are there and earlier ones, with their
 *                                  contents
 *   soft-deleted shares            are deleted when their time is over
 *   snapshots that were deleted    their instants are let go of
 *   instants without a snapshot    the same, when it can not come to be any more (share.h)
 *   earlier states of entries      those that no instant needs, once one was let go of
 *   contents                       long lists that no entry names, or that lie over others
 *
 * A share's partition is marked while it has one of the last three to look for, and an account's
 * while it has soft-deleted shares, which is looked at in thorough passes.
 *
 * Asking an account whether a snapshot has a record is a change of its partition, though it changes
 * nothing: all earlier ones have then been decided, and every later one is past the time in which
 * the record may be added.
 */
#ifndef SERVICE_FILE_FILE_SWEEP_H
#define SERVICE_FILE_FILE_SWEEP_H

#include <stdint.h>

#include "base/error.h"
#include "service/account_partition.h"
#include "service/sweeper.h"

/* Empty the partition of a deleted share.  ERR_SHUTTING_DOWN when there is no time to finish. */
MUST_CHECK enum err file_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation);

/* A deleted snapshot: let go of its instant.  The rest is left to file_sweep_marked. */
MUST_CHECK enum err file_sweep_snapshot(const struct sweep *sweep, const struct garbage *garbage);

/* Look after a share that is there. */
MUST_CHECK enum err file_sweep_marked(const struct sweep *sweep, struct slice partition);

/* Look after the soft-deleted shares of an account. */
MUST_CHECK enum err file_sweep_account(const struct sweep *sweep, struct slice partition);

#endif
