#include "partition/committer.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mutex.h"
#include "partition/change.h"
#include "partition/heap.h"
#include "partition/system_row.h"

enum {
    GROUP_UPDATES_MAX = 1024,
    GROUP_BYTES_MAX = 8 * 1024 * 1024,
    CONTRARY_RUNS_MAX = 3,
};

struct committer {
    /* set at start, then constant */
    struct clock *clock;
    struct reclaim *reclaim; /* or NULL */
    struct row_cache *cache; /* or NULL */
    struct system_key tick_key;
    enum committer_mode mode;
    pthread_t thread;

    /* under lock; without a thread of its own, the lock is held while a group runs */
    struct mutex lock;
    struct condvar wake;
    struct partition_update *first;
    struct partition_update *last;
    bool sleeping; /* the thread waits for `wake` */
    bool stopping;

    /* whoever runs the group */
    struct change change;
    int64_t tick;      /* the latest of the group */
    uint64_t contrary; /* state of the generator; 0: decisions run once */
    bool no_space;     /* the last commit found the disk full */

    /* set by whoever runs the group, once its changes can be seen; read by anybody.  Released and
       acquired, so that what comes after reading it comes after the commit. */
    _Atomic int64_t visible_tick;
};

/* --- running decisions --- */

/* The next number of a splitmix64 sequence. */
static uint64_t contrary_next(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

static bool runs_again(struct committer *committer, unsigned run_count)
{
    return committer->contrary != 0 && run_count < CONTRARY_RUNS_MAX &&
           contrary_next(&committer->contrary) % 2 == 0;
}

/* Run the update's decision; afterwards the group has its changes if it said OK. */
static void decide(struct committer *committer, struct partition_update *update)
{
    struct change *change = &committer->change;
    unsigned run_count = 0;
    for (;;) {
        committer->tick = clock_tick(committer->clock);
        update->err =
            change_run(change, update->partition, committer->tick, update->decide, update->arg);
        if (!runs_again(committer, ++run_count))
            break;
        change_undo(change);
    }
    update->tick = committer->tick;
    if (update->err == OK)
        change_keep(change);
    else
        change_undo(change);
}

/* --- groups --- */

/* Run updates from `first` on until the group is full.  Returns the first not run, or NULL.
   `*first_kept` is the first that left something in the group, or NULL. */
static struct partition_update *gather(struct committer *committer, struct partition_update *first,
                                       struct partition_update **first_kept)
{
    struct engine_group *group = committer->change.group;
    assert(engine_group_size_bytes(group) == 0);
    *first_kept = NULL;
    struct partition_update *update = first;
    for (unsigned count = 0; update != NULL && count < GROUP_UPDATES_MAX; count++) {
        decide(committer, update);
        const size_t size_bytes = engine_group_size_bytes(group);
        if (*first_kept == NULL && size_bytes > 0)
            *first_kept = update;
        update = update->next;
        if (size_bytes >= GROUP_BYTES_MAX)
            break;
    }
    return update;
}

static void note_space(struct committer *committer, enum err err)
{
    const bool no_space = err == ERR_NO_SPACE;
    if (no_space && !committer->no_space)
        log_error("commit", "the disk is full: changes are refused until there is space");
    if (!no_space && committer->no_space)
        log_info("commit", "there is space again");
    committer->no_space = no_space;
}

/* Tell the cache of rows about every partition that a group changes. */
static void tell_cache(struct committer *committer, const struct partition_update *first,
                       const struct partition_update *end,
                       void (*tell)(struct row_cache *cache, uint64_t partition_hash))
{
    if (committer->cache == NULL)
        return;
    for (const struct partition_update *update = first; update != end; update = update->next)
        if (update->err == OK)
            tell(committer->cache, system_partition_hash(update->partition));
}

/*
 * Make the group durable.  When that fails, every update from the first that wrote something on
 * fails with it: those that said OK are not stored, and the others may have decided from what is
 * not stored.
 */
static void commit(struct committer *committer, struct partition_update *first_kept,
                   const struct partition_update *end)
{
    struct change *change = &committer->change;
    if (first_kept != NULL) {
        system_put_number(change->group, &committer->tick_key, (uint64_t)committer->tick);
        tell_cache(committer, first_kept, end, row_cache_begin);
        const enum err err = engine_group_commit(change->group, ENGINE_DURABLE);
        tell_cache(committer, first_kept, end, row_cache_end);
        note_space(committer, err);
        if (err == OK)
            atomic_store_explicit(&committer->visible_tick, committer->tick, memory_order_release);
        if (err == OK && committer->reclaim != NULL)
            reclaim_committed(committer->reclaim, &change->owned, &change->freed);
        for (struct partition_update *update = first_kept; err != OK && update != end;
             update = update->next)
            update->err = err;
    }
    read_memo_next_group(change->memo);
    range_list_clear(&change->owned);
    range_list_clear(&change->freed);
}

static void call_done(struct partition_update *first, const struct partition_update *end)
{
    while (first != end) {
        /* The update is the caller's again, and may be gone, once it is done. */
        struct partition_update *next = first->next;
        first->done(first->arg, first->err);
        first = next;
    }
}

static void run_group(struct committer *committer, struct partition_update *first,
                      struct partition_update **rest)
{
    struct partition_update *first_kept;
    *rest = gather(committer, first, &first_kept);
    commit(committer, first_kept, *rest);
}

/* --- queue and thread --- */

/* All that waits, oldest first; NULL when the committer is to stop and nothing is left. */
static struct partition_update *take(struct committer *committer)
{
    mutex_lock(&committer->lock);
    while (committer->first == NULL && !committer->stopping) {
        committer->sleeping = true;
        condvar_wait(&committer->wake, &committer->lock);
    }
    committer->sleeping = false;
    struct partition_update *first = committer->first;
    committer->first = NULL;
    committer->last = NULL;
    mutex_unlock(&committer->lock);
    return first;
}

static void *committer_main(void *arg)
{
    struct committer *committer = arg;
    struct partition_update *first;
    while ((first = take(committer)) != NULL) {
        while (first != NULL) {
            struct partition_update *rest;
            run_group(committer, first, &rest);
            call_done(first, rest);
            first = rest;
        }
    }
    return NULL;
}

static void enqueue(struct committer *committer, struct partition_update *update)
{
    mutex_lock(&committer->lock);
    if (committer->last == NULL)
        committer->first = update;
    else
        committer->last->next = update;
    committer->last = update;
    /* A committer that is writing a group looks at the queue again before it sleeps. */
    const bool wake = committer->sleeping;
    committer->sleeping = false;
    /* Under the lock: once the update is done its caller may close the store, and this with it. */
    if (wake)
        condvar_signal(&committer->wake);
    mutex_unlock(&committer->lock);
}

void committer_submit(struct committer *committer, struct partition_update *update)
{
    assert(update->decide != NULL);
    assert(update->done != NULL);
    update->next = NULL;
    if (committer->mode != COMMITTER_IN_CALLER) {
        enqueue(committer, update);
        return;
    }
    struct partition_update *rest;
    mutex_lock(&committer->lock);
    run_group(committer, update, &rest);
    mutex_unlock(&committer->lock);
    assert(rest == NULL);
    /* Without the lock: `done` may submit the next update. */
    call_done(update, NULL);
}

/* The first `updates_max` of the queue, cut off from the rest. */
static struct partition_update *take_some(struct committer *committer, size_t updates_max,
                                          size_t *count)
{
    *count = 0;
    mutex_lock(&committer->lock);
    struct partition_update *first = committer->first;
    struct partition_update *last = NULL;
    for (struct partition_update *update = first; update != NULL && *count < updates_max;
         update = update->next, ++*count)
        last = update;
    if (last != NULL) {
        committer->first = last->next;
        committer->last = committer->first == NULL ? NULL : committer->last;
        last->next = NULL;
    }
    mutex_unlock(&committer->lock);
    return *count == 0 ? NULL : first;
}

size_t committer_step(struct committer *committer, size_t updates_max)
{
    assert(committer->mode == COMMITTER_BY_STEP);
    size_t count;
    struct partition_update *first = take_some(committer, updates_max, &count);
    while (first != NULL) {
        struct partition_update *rest;
        run_group(committer, first, &rest);
        call_done(first, rest);
        first = rest;
    }
    return count;
}

int64_t committer_visible_tick(const struct committer *committer)
{
    return atomic_load_explicit(&committer->visible_tick, memory_order_acquire);
}

struct committer *committer_new(const struct committer_options *options)
{
    struct committer *committer = heap_new(sizeof(*committer));
    committer->clock = options->clock;
    committer->reclaim = options->reclaim;
    committer->cache = options->cache;
    committer->tick_key = system_key_tick(options->index);
    committer->mode = options->mode;
    /* Different committers disagree about different decisions. */
    committer->contrary =
        options->contrary_seed == 0 ? 0 : options->contrary_seed + ((uint64_t)options->index << 32);
    /* A new tick, which no change will bear: later than all of earlier runs, and before all of
       this one. */
    atomic_init(&committer->visible_tick, clock_tick(committer->clock));
    committer->change.group = engine_group_new(options->engine);
    committer->change.memo = read_memo_new();
    committer->change.may_own = options->reclaim != NULL;
    mutex_init(&committer->lock, LOCK_PARTITION_COMMITTER);
    condvar_init(&committer->wake);
    if (committer->mode == COMMITTER_OWN_THREAD) {
        if (pthread_create(&committer->thread, NULL, committer_main, committer) != 0)
            panic("cannot start a committer's thread");
        char name[16];
        snprintf(name, sizeof(name), "commit-%u", options->index % 1000);
        pthread_setname_np(committer->thread, name);
    }
    return committer;
}

void committer_free(struct committer *committer)
{
    if (committer == NULL)
        return;
    if (committer->mode == COMMITTER_OWN_THREAD) {
        mutex_lock(&committer->lock);
        committer->stopping = true;
        mutex_unlock(&committer->lock);
        condvar_signal(&committer->wake);
        pthread_join(committer->thread, NULL);
    }
    assert(committer->first == NULL);
    engine_group_free(committer->change.group);
    read_memo_free(committer->change.memo);
    arena_release(&committer->change.arena);
    range_list_release(&committer->change.owned);
    range_list_release(&committer->change.freed);
    condvar_release(&committer->wake);
    mutex_release(&committer->lock);
    free(committer);
}
