/*
 * change.h - how a decision is run: what partition.h calls a change, seen from the committer.
 *
 * The committer has one change for all its updates.  Around each run of a decision it saves the
 * group and begins the change, and ends it by keeping or undoing what was written.
 */
#ifndef PARTITION_CHANGE_H
#define PARTITION_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "partition/engine.h"
#include "partition/range_list.h"
#include "partition/read_memo.h"

struct change {
    struct engine_group *group;
    struct read_memo *memo;
    bool may_own; /* the store has a stream */

    /* the decision under way */
    struct slice partition;
    int64_t now;
    struct arena arena; /* cleared after each run */

    /* the group's ownership so far, and how much of it earlier updates made */
    struct range_list owned;
    struct range_list freed;
    size_t owned_count_kept;
    size_t freed_count_kept;
};

/* Run `decide` once at the instant `now`; what it did is neither kept nor undone yet. */
enum err change_run(struct change *change, struct slice partition, int64_t now, change_fn *decide,
                    void *arg);

/* Keep what the last run did, or leave no trace of it. */
void change_keep(struct change *change);
void change_undo(struct change *change);

/* Panics if a decision runs on this thread: what is called decides from the change alone. */
void change_assert_outside(void);

#endif
