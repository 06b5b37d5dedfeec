/*
 * oplock.h - what an SMB client may cache of a file, and how it is made to stop.
 *
 * A client may be allowed to cache what it reads (R), what it writes (W) and the fact that it has
 * the file open (H: it puts off closing).  The server grants this with an open and takes it back,
 * by a break, before somebody else would see or cause a difference.  There are two ways to hold it:
 *
 *   lease    R, RH, RW or RWH; all handles opened with the lease's key share it
 *   legacy   level II, exclusive or batch, which are R, RW and RWH of a single handle; they can
 *            only be broken to level II or to nothing
 *
 * ("Lease" is SMB's word.  The lease of the REST service is service/lease.h; in this directory a
 * thing that is broken and acknowledged is an oplock, of either kind.)
 *
 *   HELD      -> HELD      oplock_break of R alone: the client is told, nothing is awaited
 *   HELD      -> BREAKING  oplock_break of W or H: the client is told and must acknowledge
 *   BREAKING  -> BREAKING  oplock_break: it will be told when it has acknowledged the first
 *                          oplock_acknowledge, when more was broken meanwhile: told again
 *   BREAKING  -> HELD      oplock_acknowledge; time alone, after which the client caches nothing
 *
 * What breaks what ([MS-FSA] 2.1.4.12, "Breaking Oplocks" of the Windows driver documentation, and
 * for REST the table of "Manage file locks").  Operations of a client do not break its own oplock,
 * except that a level II oplock is broken by every write and lock.  `wait` says that the operation
 * may go on only after the acknowledgement:
 *
 *   cause       R       RH       RW       RWH      level II  exclusive  batch
 *   READ        -       -        R wait   RH wait  -         II wait    II wait
 *   WRITE       none    none     none w.  none w.  none      none w.    none w.
 *   OPEN        -       -        R wait   RH wait  -         II wait    II wait
 *   OVERWRITE   none    none     none w.  none w.  none      none w.    none w.
 *   CONFLICT    -       R wait   -        RW wait  -         -          II wait
 *   DELETE      -       R wait   -        RW wait  -         -          II wait
 *   RENAME      -       R wait   -        RW wait  -         -          none w.
 *   REPLACE     none    none w.  none w.  none w.  none      none w.    none w.
 *
 * Decisions and transitions of values: no lock, no clock, no message is sent from here.
 */
#ifndef SERVICE_FILE_OPLOCK_H
#define SERVICE_FILE_OPLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The bits are those of SMB2_LEASE_*_CACHING.  W and H are never held without R. */
enum caching {
    CACHING_NONE = 0,
    CACHING_R = 1 << 0,
    CACHING_H = 1 << 1,
    CACHING_W = 1 << 2,
    CACHING_RH = CACHING_R | CACHING_H,
    CACHING_RW = CACHING_R | CACHING_W,
    CACHING_RWH = CACHING_R | CACHING_W | CACHING_H,
};

enum oplock_kind {
    OPLOCK_LEASE,
    OPLOCK_LEGACY,
};

/* Why an oplock is broken. */
enum oplock_cause {
    OPLOCK_BY_NOTHING,
    OPLOCK_BY_READ,      /* of data or of properties that cached writes would change */
    OPLOCK_BY_WRITE,     /* of data or of the size; a byte-range lock */
    OPLOCK_BY_OPEN,      /* with more than attribute access */
    OPLOCK_BY_OVERWRITE, /* an SMB open that empties the file */
    OPLOCK_BY_CONFLICT,  /* a handle is in the way: does the client only put off closing it? */
    OPLOCK_BY_DELETE,
    OPLOCK_BY_RENAME,
    OPLOCK_BY_REPLACE, /* Create File, Copy File over a file: a write that wants handles closed */
};

/* Whose operation it is that might break an oplock. */
enum oplock_side {
    OPLOCK_OWN,     /* under the same lease key; with the same handle */
    OPLOCK_FOREIGN, /* another key, another handle, or REST */
};

/* A value.  All zero bytes is a lease under which nothing is cached. */
struct oplock {
    enum oplock_kind kind;
    unsigned held;  /* of enum caching: what the client may still be caching */
    unsigned told;  /* what it was told to come down to; `held` if not BREAKING */
    unsigned goal;  /* what it must come down to in the end, within `told` */
    int64_t ack_by; /* BREAKING: the tick from which it counts as caching nothing; else 0 */
    uint16_t epoch; /* changes with every change of state, for clients that see them out of order */
};

/* What the client is told about a break. */
struct oplock_notice {
    unsigned from;
    unsigned to;
    bool must_acknowledge;
    uint16_t epoch;
};

/* What is around an oplock that is asked for. */
struct oplock_surroundings {
    bool directory;          /* directories are not leased */
    bool other_handles;      /* for legacy oplocks: of anyone; for leases: not under the same key */
    bool other_level_ii;     /* somebody holds a level II oplock */
    bool other_handle_lease; /* somebody else holds H */
    bool byte_locks;         /* the file has byte-range locks */
    bool read_under_way;     /* somebody else's */
    bool write_under_way;    /* somebody else's */
};

bool oplock_is_breaking(const struct oplock *oplock);

/* What of `held` the cause would leave; `held` itself if it breaks nothing.  Pure. */
unsigned oplock_break_target(enum oplock_kind kind, unsigned held, enum oplock_cause cause,
                             enum oplock_side side);

/* Must an operation that is the cause wait for an acknowledgement, as things are? */
bool oplock_blocks(const struct oplock *oplock, enum oplock_cause cause, enum oplock_side side);

/*
 * Begin, or widen, the break that the cause demands.  True if the client is to be told `*notice`
 * now.  Calling it again changes nothing.
 */
bool oplock_break(struct oplock *oplock, enum oplock_cause cause, enum oplock_side side,
                  int64_t now, struct oplock_notice *notice);

/*
 * The client has come down to `kept`.  `*again` says that it is to be told `*notice`, because more
 * was broken since.
 *
 *   ERR_OPLOCK_NOT_BREAKING  nothing is awaited
 *   ERR_OPLOCK_ACK_REFUSED   it keeps more than it was told to; the break goes on
 */
MUST_CHECK enum err oplock_acknowledge(struct oplock *oplock, unsigned kept, int64_t now,
                                       bool *again, struct oplock_notice *notice);

/* Fold the passage of time into `oplock`: a break that is not acknowledged in time. */
void oplock_settle(struct oplock *oplock, int64_t now);

/*
 * Grant as much of `wanted` as the surroundings allow, to a new handle.  For a lease `oplock` is
 * what the key holds already: it may grow and never shrinks here, and does not change while
 * BREAKING. True if it has changed.
 */
bool oplock_grant(struct oplock *oplock, unsigned wanted, const struct oplock_surroundings *around);

#endif
