/*
 * file_lease.h - the lease of a file over REST.
 *
 * It is the lease of service/lease.h, kept in the file's record, with less to it: it is always
 * infinite, there is nothing to renew, and breaking ends it at once.  So it is AVAILABLE, LEASED or
 * BROKEN, and no time passes for it.
 *
 *                          AVAILABLE        LEASED by A      BROKEN, was A
 *   write with A           no lease         goes on          no lease
 *   write with B           no lease         mismatch         no lease
 *   write without          goes on          missing          goes on, then AVAILABLE
 *   read with A            no lease         goes on          no lease
 *   read with B            no lease         mismatch         no lease
 *   read without           goes on          goes on          goes on, stays BROKEN
 *   acquire as A / as B    A / B            A / present      A / B
 *   break                  no lease         BROKEN           BROKEN
 *   change A to B          no lease         B                no lease
 *   change B to A / to C   no lease         A / mismatch     no lease
 *   release A / B          mismatch         AVAIL./mismatch  AVAILABLE/mismatch
 *
 * Against SMB clients an active lease is an open that shares reading (share_mode.h).  To acquire
 * one is FILE_OPERATION_ACQUIRE_LEASE in the table of opens, for as long as its commit takes.
 *
 * Pure: like lease.h, without the clock.
 */
#ifndef SERVICE_FILE_FILE_LEASE_H
#define SERVICE_FILE_FILE_LEASE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/uuid.h"
#include "service/lease.h"

bool file_lease_is_valid(const struct lease *lease);

/* `id` is never nil.  ERR_LEASE_ALREADY_PRESENT under another id. */
MUST_CHECK enum err file_lease_acquire(struct lease *lease, const struct uuid *id);

/* ERR_LEASE_ACTION_NOT_PRESENT unless LEASED; ERR_LEASE_ACTION_ID_MISMATCH. */
MUST_CHECK enum err file_lease_change(struct lease *lease, const struct uuid *id,
                                      const struct uuid *proposed);

/* ERR_LEASE_ACTION_ID_MISMATCH when AVAILABLE or under another id. */
MUST_CHECK enum err file_lease_release(struct lease *lease, const struct uuid *id);

/* ERR_LEASE_ACTION_NOT_PRESENT when AVAILABLE. */
MUST_CHECK enum err file_lease_break(struct lease *lease);

/*
 * May a request with this lease id, or NULL, change the file?  If so a BROKEN lease is forgotten.
 *
 *   ERR_LEASE_ID_MISSING        LEASED, and no id
 *   ERR_LEASE_ID_MISMATCH_FILE  LEASED under another id
 *   ERR_LEASE_NOT_PRESENT_FILE  an id, and not LEASED
 */
MUST_CHECK enum err file_lease_write(struct lease *lease, const struct uuid *id);

/* May it read the file?  No id is never missing. */
MUST_CHECK enum err file_lease_check_read(const struct lease *lease, const struct uuid *id);

#endif
