/*
 * share_state.h - what is known of all a share holds: row 'h' of its partition (file_name.h).
 *
 * Every change of a directory or file reads it, to know whether what it replaces has to be kept for
 * a snapshot; it is written only when something in it changes.  A share that nobody has written to
 * has no such row, which is the same as all zeroes.
 */
#ifndef SERVICE_FILE_SHARE_STATE_H
#define SERVICE_FILE_SHARE_STATE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"

struct share_state {
    /* The latest instant that is kept; 0: none.  Records that were so at it are kept when they are
       replaced. */
    int64_t last_instant;
    /* The tick at which an instant was let go of, since all earlier states were looked through for
       those that no other needs; 0: none was.  The partition is marked for as long as it is not. */
    int64_t past_due;
    uint64_t used_bytes; /* of all files: what counts against the quota */
};

struct slice share_state_encode(struct arena *arena, const struct share_state *state);
MUST_CHECK enum err share_state_decode(struct slice row, struct share_state *state);

/* In a decision. */
MUST_CHECK enum err share_state_get(struct change *change, struct share_state *state);
void share_state_put(struct change *change, const struct share_state *state);

#endif
