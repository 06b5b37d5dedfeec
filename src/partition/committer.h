/*
 * committer.h - runs updates in groups and makes each group durable with one commit.
 *
 * Every partition belongs to one committer, so its updates run one after the other without a
 * lock.  While one group is being written the next one gathers in the queue: the busier the
 * store, the larger the groups and the fewer the syncs per update.
 *
 * A group:   for each update  run its decision; keep what it wrote, or roll it back
 *            then             the group's latest tick is put into it, it is committed, the
 *                             visible tick is set to it, the reclaimer is told, and every
 *                             `done` is called, in order
 *
 * A committer has a thread of its own, or runs each update in the thread that submits it.
 */
#ifndef PARTITION_COMMITTER_H
#define PARTITION_COMMITTER_H

#include <stdint.h>

#include "base/clock.h"
#include "partition/engine.h"
#include "partition/reclaim.h"

struct committer;

enum committer_mode {
    COMMITTER_OWN_THREAD,
    COMMITTER_IN_CALLER,
};

struct committer_options {
    struct engine *engine;   /* kept */
    struct clock *clock;     /* kept */
    struct reclaim *reclaim; /* kept; NULL when no payload is ever owned */
    uint32_t index;          /* names the committer's tick row */
    uint64_t contrary_seed;  /* not 0: run decisions again at random */
    enum committer_mode mode;
};

struct committer *committer_new(const struct committer_options *options);

/* Finishes what was submitted, and what `done` functions submit meanwhile. */
void committer_free(struct committer *committer);

/* See partition_update. */
void committer_submit(struct committer *committer, struct partition_update *update);

/* The visible tick: a snapshot taken after this call shows every change that this committer's
   partitions ever committed at this tick or before, in earlier runs too.  Any thread. */
int64_t committer_visible_tick(const struct committer *committer);

#endif
