/*
 * space.h - what is left of a disk, and a reserve of it.
 *
 * Removing things needs a little room, too: a record that it was done, and whatever the database
 * does behind that.  On a disk that is full to the last byte nothing can be removed any more.  So
 * the last bytes of it are a reserve: what would store more is refused while no more than the
 * reserve is free, and what removes, or helps to, goes on.
 *
 *   space_promise   bytes that are going to be written: refused when they would eat the reserve
 *   space_fulfil    they have been written, or never will be
 *   space_is_low    whether the reserve is all there is; for what is small and is not counted
 *
 * Bytes that were promised and are not written yet are not on the disk, so they are counted here:
 * many large writes that begin at once are not all let in because each of them would fit.
 *
 * Others may write to the same disk; then the reserve is what they leave of it.  Any thread may
 * call any function.  A space that is NULL has no end.
 */
#ifndef BASE_SPACE_H
#define BASE_SPACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/io.h"

enum {
    SPACE_RESERVE_SHARE = 16, /* the reserve is never more than this part of the disk */
};

/* The fields are for space.c. */
struct space {
    /* set at init, then constant */
    struct io *io;
    uint64_t reserve_bytes;

    _Atomic uint64_t promised_bytes;
    _Atomic int64_t looked_at_us; /* when `low` was found out */
    _Atomic bool low;
};

/* Watch the disk of `io`, which is kept.  A small disk has a smaller reserve than
   `reserve_bytes`. */
void space_init(struct space *space, struct io *io, uint64_t reserve_bytes);

/* False, and nothing is promised, if there is not so much room beside the reserve. */
MUST_CHECK bool space_promise(struct space *space, uint64_t bytes);

/* So many of the bytes that were promised are on the disk now, or are not wanted any more. */
void space_fulfil(struct space *space, uint64_t bytes);

/* Whether no more than the reserve is free.  Looks at the disk every few milliseconds only, and
   logs when it changes. */
bool space_is_low(struct space *space);

#endif
