/*
 * committer.h - runs updates in groups and makes each group durable with one commit.
 *
 * Every partition belongs to one committer, so its updates run one after the other without a
 * lock.  While one group is being written the next one gathers in the queue: the busier the
 * store, the larger the groups and the fewer the syncs per update.
 *
 * A group:   for each update  run its decision; keep what it wrote, or roll it back
 *            then             the group's latest tick is put into it, it is committed, between the
 *                             two calls that the cache of rows needs, the visible tick is set
 *                             to it, the reclaimer is told, and every `done` is called, in order
 *
 * A committer has a thread of its own, or runs each update in the thread that submits it, or leaves
 * them in its queue until it is told to take a step: so a test decides what meets in a group and
 * what happens in between.
 */
#ifndef PARTITION_COMMITTER_H
#define PARTITION_COMMITTER_H

#include <stdint.h>

#include "base/clock.h"
#include "partition/engine.h"
#include "partition/reclaim.h"
#include "partition/row_cache.h"

struct committer;

enum committer_mode {
    COMMITTER_OWN_THREAD,
    COMMITTER_IN_CALLER,
    COMMITTER_BY_STEP,
};

struct committer_options {
    struct engine *engine;   /* kept */
    struct clock *clock;     /* kept */
    struct reclaim *reclaim; /* kept; NULL when no payload is ever owned */
    struct row_cache *cache; /* kept; told of every group; NULL when nobody asks it */
    uint32_t index;          /* names the committer's tick row */
    uint64_t contrary_seed;  /* not 0: run decisions again at random */
    enum committer_mode mode;
};

struct committer *committer_new(const struct committer_options *options);

/* Finishes what was submitted, and what `done` functions submit meanwhile. */
void committer_free(struct committer *committer);

/* See partition_update. */
void committer_submit(struct committer *committer, struct partition_update *update);

/* With COMMITTER_BY_STEP: run up to `updates_max` of those that wait as one group.  Returns how
   many it ran.  One thread at a time. */
size_t committer_step(struct committer *committer, size_t updates_max);

/* The visible tick: a snapshot taken after this call shows every change that this committer's
   partitions ever committed at this tick or before, in earlier runs too.  Any thread. */
int64_t committer_visible_tick(const struct committer *committer);

#endif
