/*
 * byte_lock.h - byte-range locks: which ranges overlap, and what a lock keeps out.
 *
 * SMB clients lock ranges of a file, for themselves (exclusive) or against writers (shared).  The
 * locks are mandatory: they hold for reads and writes by anyone, REST requests included.  A lock
 * belongs to the handle it was taken with and goes with it.
 *
 *                              its owner                       everyone else
 *     exclusive lock   read    goes on                         refused
 *                      write   goes on                         refused
 *                      lock    shared granted, exclusive not   refused
 *     shared lock      read    goes on                         goes on
 *                      write   refused                         refused
 *                      lock    shared granted, exclusive not   shared granted, exclusive not
 *
 * That a shared lock keeps out its own owner's writes, and that nobody gets two exclusive locks on
 * a byte, is as [MS-FSA] 2.1.4.10 has it.
 *
 * A range of length zero at N lies between the bytes N-1 and N.  It overlaps a range that has both
 * bytes; two of them never overlap, and at 0 it overlaps nothing.  Ranges may lie beyond the end of
 * the file, up to the last offset there is.
 *
 * Decisions are functions of values.  The list belongs to whoever embeds it, with its lock.
 */
#ifndef SERVICE_FILE_BYTE_LOCK_H
#define SERVICE_FILE_BYTE_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A value. */
struct byte_range {
    uint64_t offset;
    uint64_t length;
};

/* What a read, a write or a lock does with a range. */
enum byte_use {
    BYTE_USE_NONE, /* the operation has no range, and is never in the way */
    BYTE_USE_READ,
    BYTE_USE_WRITE,
    BYTE_USE_LOCK_SHARED,
    BYTE_USE_LOCK_EXCLUSIVE,
};

/* Who has no handle, that is REST: the owner of no lock. */
#define BYTE_LOCK_OWNER_NONE UINT64_C(0)

/* A value. */
struct byte_lock {
    struct byte_range range;
    uint64_t owner; /* a handle id, not BYTE_LOCK_OWNER_NONE */
    bool exclusive;
};

/* The locks on a file, in the order they were granted.  All zero bytes is a valid empty list. */
struct byte_lock_list {
    struct byte_lock *items;
    size_t count;
    size_t capacity;
};

/* Whether the range ends within the offsets there are: length 0, or a last byte that exists. */
bool byte_range_is_valid(struct byte_range range);

/* Whether the two valid ranges share a byte, or one has length zero and lies inside the other. */
bool byte_ranges_overlap(struct byte_range a, struct byte_range b);

/* Does `lock` keep `owner` from using the range so?  Reads and writes of no bytes go on. */
bool byte_lock_blocks(const struct byte_lock *lock, uint64_t owner, struct byte_range range,
                      enum byte_use use);

/*
 * The reverse: would a lock of `owner`, if granted now, be broken by a use that has begun already?
 * Whoever grants locks while reads and writes are under way asks this first.
 */
bool byte_lock_awaits(uint64_t owner, struct byte_range range, enum byte_use lock_use,
                      uint64_t user, struct byte_range used, enum byte_use use);

/* Does any lock of the list keep `owner` from it? */
bool byte_lock_list_blocks(const struct byte_lock_list *list, uint64_t owner,
                           struct byte_range range, enum byte_use use);

void byte_lock_list_add(struct byte_lock_list *list, const struct byte_lock *lock);

/*
 * Remove the lock of `owner` on exactly this range; of several the exclusive one, then the oldest.
 * ERR_RANGE_NOT_LOCKED if there is none.
 */
MUST_CHECK enum err byte_lock_list_remove(struct byte_lock_list *list, uint64_t owner,
                                          struct byte_range range);

/* Remove every lock of `owner`; how many there were. */
size_t byte_lock_list_remove_owner(struct byte_lock_list *list, uint64_t owner);

void byte_lock_list_release(struct byte_lock_list *list);

#endif
