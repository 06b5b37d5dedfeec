/*
 * lease.h - the exclusive-write lease on a blob or a container.
 *
 * This module decides transitions and does nothing else: no I/O, no lock, no allocation, and
 * no clock: the caller passes `now_ms`, so a test can stand at any instant.  The caller reads the
 * row that embeds a `struct lease`, calls one function below, and commits the row in the same
 * update.
 *
 *   AVAILABLE           -> LEASED     lease_acquire
 *   LEASED              -> LEASED     lease_acquire by the same id, lease_renew, lease_change
 *   LEASED              -> EXPIRED    time alone
 *   EXPIRED, BROKEN     -> LEASED     lease_acquire by any id; EXPIRED also lease_renew
 *   LEASED              -> BREAKING   lease_break that leaves time on the clock
 *   BREAKING            -> BREAKING   lease_break, which only ever shortens
 *   BREAKING            -> BROKEN     time alone, or lease_break with period 0
 *   LEASED, EXPIRED     -> BROKEN     lease_break that leaves none
 *   BROKEN              -> BROKEN     lease_break
 *   all but AVAILABLE   -> AVAILABLE  lease_release by the same id
 *   EXPIRED, BROKEN     -> AVAILABLE  lease_forget: a write went through without the lease
 *
 * The edges taken by time alone are never written: a stored LEASED row may really be EXPIRED,
 * which is why every function begins with lease_settle().
 *
 * The outcome of every action in every state follows the table of the Lease Blob reference, and
 * recorded answers of the service where the two differ.
 */
#ifndef SERVICE_LEASE_H
#define SERVICE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/uuid.h"

enum {
    LEASE_DURATION_SEC_MIN = 15,
    LEASE_DURATION_SEC_MAX = 60,
    LEASE_DURATION_SEC_INFINITE = -1,
    LEASE_BREAK_SEC_MAX = 60,
    LEASE_BREAK_SEC_DEFAULT = -1, /* the client named no period */
};

enum lease_state {
    LEASE_AVAILABLE,
    LEASE_LEASED,
    LEASE_EXPIRED,
    LEASE_BREAKING,
    LEASE_BROKEN,
};

/* A value: copy it freely, it owns nothing.  All zero bytes is AVAILABLE. */
struct lease {
    enum lease_state state;
    struct uuid id;       /* nil if and only if AVAILABLE */
    int32_t duration_sec; /* as acquired, for renew; 0 unless LEASED or EXPIRED */
    int64_t ends_at_ms;   /* LEASED (INT64_MAX: infinite) and BREAKING; else 0 */
};

/* Which resource a lease guards: it decides the error a wrong id gets. */
enum lease_resource {
    LEASE_OF_BLOB,
    LEASE_OF_CONTAINER,
};

/* Whether the stored facts fit together: for the row codec, which answers ERR_CORRUPT if not. */
bool lease_is_valid(const struct lease *lease);

/* Fold the passage of time into `lease`.  Idempotent; cannot fail. */
void lease_settle(struct lease *lease, int64_t now_ms);

/* LEASED or BREAKING, after settling: what x-ms-lease-status calls locked. */
bool lease_is_locked(const struct lease *lease);

/* --- actions.  On error `lease` is settled and otherwise unchanged. --- */

/*
 * Take the lease, or restart it for its present holder.  `id` is the proposed lease id,
 * already generated if the client named none, so never nil.
 *
 *   ERR_OUT_OF_RANGE               the duration is neither 15..60 nor infinite
 *   ERR_LEASE_ALREADY_PRESENT      LEASED or BREAKING under another id
 *   ERR_LEASE_BREAKING_NO_ACQUIRE  BREAKING under this id
 */
MUST_CHECK enum err lease_acquire(struct lease *lease, const struct uuid *id, int32_t duration_sec,
                                  int64_t now_ms);

/*
 * Restart the clock of a LEASED or EXPIRED lease with the duration it was acquired for.
 *
 *   ERR_LEASE_ACTION_ID_MISMATCH   AVAILABLE, or another id
 *   ERR_LEASE_BROKEN_NO_RENEW      BREAKING or BROKEN under this id
 */
MUST_CHECK enum err lease_renew(struct lease *lease, const struct uuid *id, int64_t now_ms);

/*
 * Give a LEASED lease the id `proposed`; its time runs on.  If it has that id already the
 * action is a repetition and succeeds whatever `id` is.
 *
 *   ERR_LEASE_ACTION_NOT_PRESENT   AVAILABLE, EXPIRED or BROKEN
 *   ERR_LEASE_BREAKING_NO_CHANGE   BREAKING under `id`
 *   ERR_LEASE_ACTION_ID_MISMATCH   another id
 */
MUST_CHECK enum err lease_change(struct lease *lease, const struct uuid *id,
                                 const struct uuid *proposed, int64_t now_ms);

/* ERR_LEASE_ACTION_ID_MISMATCH when AVAILABLE or under another id. */
MUST_CHECK enum err lease_release(struct lease *lease, const struct uuid *id, int64_t now_ms);

/*
 * End the lease after `period_sec` (0..60, or LEASE_BREAK_SEC_DEFAULT: when a finite lease would
 * have ended, at once for an infinite one), never later than it would have ended anyway.
 * `*remaining_sec` is the whole seconds until it can be acquired, rounded up.
 *
 *   ERR_OUT_OF_RANGE               the period is out of range
 *   ERR_LEASE_ACTION_NOT_PRESENT   AVAILABLE
 */
MUST_CHECK enum err lease_break(struct lease *lease, int32_t period_sec, int64_t now_ms,
                                int32_t *remaining_sec);

/* --- using a leased resource --- */

/*
 * May a request that changes the resource go on?  `id` is the lease id it carries, or NULL.
 *
 *   locked, the same id            OK
 *   locked, no id                  ERR_LEASE_ID_MISSING
 *   locked, another id             ERR_LEASE_ID_MISMATCH_{BLOB,CONTAINER}
 *   EXPIRED or BROKEN, that id     ERR_LEASE_LOST
 *   not locked, any other id       ERR_LEASE_NOT_PRESENT_{BLOB,CONTAINER}
 *   not locked, no id              OK
 */
MUST_CHECK enum err lease_check_write(struct lease *lease, enum lease_resource resource,
                                      const struct uuid *id, int64_t now_ms);

/* The same for a request that only reads, or that needs no lease: no id is OK. */
MUST_CHECK enum err lease_check_read(struct lease *lease, enum lease_resource resource,
                                     const struct uuid *id, int64_t now_ms);

/* A write succeeded: an EXPIRED or BROKEN lease is forgotten, so it cannot be renewed. */
void lease_forget(struct lease *lease, int64_t now_ms);

#endif
