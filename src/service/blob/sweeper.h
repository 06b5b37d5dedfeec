/*
 * sweeper.h - reclaims in the background what is not to be seen any more: the blobs of deleted
 * containers, long lists that no record names, blocks that nobody has committed in time.
 *
 * Deleting a container leaves a 'g' row in the account's partition (service/blob/blob_name.h).  The
 * sweeper first closes the incarnation's blob partition, so that a write that looked the container
 * up just before its deletion finds it gone, then deletes the blobs a batch at a time, letting go
 * of their payloads, and removes the 'g' row last.  A crash in between repeats harmlessly.
 *
 * Lists that were dropped ('z' rows) and uncommitted blocks ('w' rows) are found by the mark of
 * their partition, which is removed when there are no such rows any more.
 *
 * One thread.  It makes a pass when it is woken and every few seconds; looking for what has expired
 * means to read all 'w' rows, and is done every hour.
 */
#ifndef SERVICE_BLOB_SWEEPER_H
#define SERVICE_BLOB_SWEEPER_H

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

/* A container was deleted.  NULL is fine. */
void sweeper_wake(struct sweeper *sweeper);

/*
 * One whole pass over an account in the calling thread: every container deleted before it is
 * reclaimed.  For tests; the thread does the same.
 */
MUST_CHECK enum err sweeper_pass(struct service *service, struct slice account);

/* The same for the marked partitions. */
MUST_CHECK enum err sweeper_pass_marked(struct service *service);

#endif
