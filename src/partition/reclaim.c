#include "partition/reclaim.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "partition/heap.h"
#include "partition/long_view.h"
#include "partition/settle.h"
#include "partition/system_row.h"

enum {
    SLICE_RANGES_MAX = 1024,     /* looked at between two barriers, and noted in one commit */
    TODO_RANGES_MAX = 64 * 1024, /* beyond it the rows are read again instead */
    PASS_MS = 1000,              /* a pass waits this long for more to do */
    PASS_FAILED_MS = 10 * 1000,  /* and this long after one that failed */
};

/* A range under examination, and the F rows it had in the first snapshot. */
struct candidate {
    struct stream_range range;
    const struct system_freed *rows; /* in the pass's arena */
    size_t row_count;
};

/* What the rows of a range say in one snapshot. */
struct census {
    bool owned;
    struct system_freed *rows; /* in the arena */
    size_t row_count;
};

/* Ranges that wait for a long view, each by a row that was blocked. */
struct blocked_list {
    struct system_freed *items;
    size_t count;
    size_t capacity;
};

struct reclaim {
    /* set at open, then constant */
    struct engine *engine;
    struct stream *stream;
    enum reclaim_mode mode;
    pthread_t thread;

    /* under lock */
    struct mutex lock;
    struct condvar wake; /* the thread has something to do */
    struct condvar idle; /* no range is between its last check and its end */
    bool stopping;
    bool has_owned;               /* payloads were added: an extent may be full */
    bool must_sweep;              /* `todo` does not tell all: read the F rows */
    bool failed;                  /* the last pass did */
    bool has_leftovers;           /* it left something in `again` or `empty` */
    bool has_blocked;             /* it left something in `blocked` */
    bool view_closed;             /* a long view was, since the last pass began */
    struct range_list todo;       /* disowned since the last pass */
    const struct candidate *busy; /* sorted; between their last check and their end */
    size_t busy_count;
    struct long_view_list views; /* long views that are open */
    unsigned hold_count;         /* no pass begins while there are holds */

    /* under pass, which is held during a pass */
    struct mutex pass;
    struct engine_group *group;
    struct arena arena;      /* cleared after each slice */
    struct range_list again; /* pinned, or changed while we looked: for the next pass */
    struct range_list empty; /* of each extent to be removed, only the id */
    struct blocked_list blocked;
    struct long_view_table view_table; /* after the first snapshot of the slice */
    uint64_t count;                    /* given back in this pass */
    struct stream_range slice[SLICE_RANGES_MAX];
    struct candidate candidates[SLICE_RANGES_MAX];
};

/* --- what the committers tell --- */

static int compare_candidate(const void *range, const void *candidate)
{
    return range_compare(range, &((const struct candidate *)candidate)->range);
}

/* Under lock. */
static bool any_is_busy(const struct reclaim *reclaim, const struct range_list *ranges)
{
    if (reclaim->busy_count == 0)
        return false;
    for (size_t i = 0; i < ranges->count; i++) {
        if (bsearch(&ranges->items[i], reclaim->busy, reclaim->busy_count, sizeof(*reclaim->busy),
                    compare_candidate) != NULL)
            return true;
    }
    return false;
}

void reclaim_committed(struct reclaim *reclaim, const struct range_list *owned,
                       const struct range_list *freed)
{
    if (owned->count == 0 && freed->count == 0)
        return;
    mutex_lock(&reclaim->lock);
    while (any_is_busy(reclaim, owned))
        condvar_wait(&reclaim->idle, &reclaim->lock);

    const bool had_work = reclaim->has_owned || reclaim->must_sweep || reclaim->todo.count > 0;
    if (owned->count > 0)
        reclaim->has_owned = true;
    if (reclaim->todo.count + freed->count > TODO_RANGES_MAX) {
        reclaim->must_sweep = true;
    } else {
        for (size_t i = 0; i < freed->count; i++)
            range_list_add(&reclaim->todo, &freed->items[i]);
    }
    mutex_unlock(&reclaim->lock);
    if (!had_work)
        condvar_signal(&reclaim->wake);
}

static void set_busy(struct reclaim *reclaim, const struct candidate *candidates, size_t count)
{
    mutex_lock(&reclaim->lock);
    reclaim->busy = candidates;
    reclaim->busy_count = count;
    mutex_unlock(&reclaim->lock);
    if (count == 0)
        condvar_broadcast(&reclaim->idle);
}

/* --- long views --- */

struct long_view *reclaim_view_open(struct reclaim *reclaim, uint64_t partition_hash,
                                    int64_t visible_tick)
{
    struct long_view *view = heap_new(sizeof(*view));
    view->key = (struct long_view_key){ partition_hash, visible_tick };
    mutex_lock(&reclaim->lock);
    long_view_list_add(&reclaim->views, view);
    mutex_unlock(&reclaim->lock);
    return view;
}

void reclaim_view_close(struct reclaim *reclaim, struct long_view *view)
{
    mutex_lock(&reclaim->lock);
    long_view_list_remove(&reclaim->views, view);
    reclaim->view_closed = true;
    /* A pass under way is followed by another look at view_closed. */
    const bool wake = reclaim->has_blocked;
    mutex_unlock(&reclaim->lock);
    if (wake)
        condvar_signal(&reclaim->wake);
    free(view);
}

static void look_at_views(struct reclaim *reclaim)
{
    mutex_lock(&reclaim->lock);
    long_view_table_copy(&reclaim->view_table, &reclaim->views);
    mutex_unlock(&reclaim->lock);
    long_view_table_sort(&reclaim->view_table);
}

static void blocked_list_add(struct blocked_list *list, const struct system_freed *row)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        list->items = heap_resize(list->items, list->capacity, sizeof(*list->items));
    }
    list->items[list->count++] = *row;
}

/* Add to `todo` the ranges that wait for no view any more.  The rows are not read for it. */
static void take_unblocked(struct reclaim *reclaim, struct range_list *todo)
{
    struct blocked_list *blocked = &reclaim->blocked;
    look_at_views(reclaim);
    size_t kept_count = 0;
    for (size_t i = 0; i < blocked->count; i++) {
        if (long_view_table_blocks(&reclaim->view_table, &blocked->items[i]))
            blocked->items[kept_count++] = blocked->items[i];
        else
            range_list_add(todo, &blocked->items[i].range);
    }
    blocked->count = kept_count;
    if (kept_count == 0) {
        free(blocked->items);
        *blocked = (struct blocked_list){ 0 };
    }
}

/* --- examining ranges --- */

static enum err find_owner(struct reclaim *reclaim, struct engine_snapshot *snapshot,
                           const struct stream_range *range, bool *owned)
{
    const struct system_key prefix = system_prefix_range(SYSTEM_OWNER, range);
    const struct engine_scan scan = system_scan(&prefix);
    struct cursor *cursor = engine_scan(reclaim->engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    const enum err err = cursor_next(cursor, &key, &value);
    cursor_free(cursor);
    *owned = err == OK;
    return err == ERR_NOT_FOUND ? OK : err;
}

static void add_row(struct arena *arena, struct census *census, const struct system_freed *row)
{
    /* A range is let go of by few owners; room grows as 1, 2, 4, ... */
    const size_t count = census->row_count;
    if ((count & (count - 1)) == 0) {
        struct system_freed *rows =
            arena_alloc(arena, (count == 0 ? 1 : 2 * count) * sizeof(*rows));
        if (count > 0)
            memcpy(rows, census->rows, count * sizeof(*rows));
        census->rows = rows;
    }
    census->rows[census->row_count++] = *row;
}

static enum err count_freed(struct reclaim *reclaim, struct engine_snapshot *snapshot,
                            const struct stream_range *range, struct census *census)
{
    const struct system_key prefix = system_prefix_range(SYSTEM_FREED, range);
    const struct engine_scan scan = system_scan(&prefix);
    struct cursor *cursor = engine_scan(reclaim->engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK) {
        struct system_freed freed;
        err = system_decode_freed(key, value, &freed);
        if (err == OK && freed.range.length != range->length)
            err = CORRUPT("extent %" PRIu64 " offset %" PRIu64 ": freed rows disagree",
                          range->extent_id, range->offset);
        if (err != OK)
            break;
        add_row(&reclaim->arena, census, &freed);
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err take_census(struct reclaim *reclaim, struct engine_snapshot *snapshot,
                            const struct stream_range *range, struct census *census)
{
    *census = (struct census){ 0 };
    const enum err err = find_owner(reclaim, snapshot, range, &census->owned);
    return err != OK ? err : count_freed(reclaim, snapshot, range, census);
}

static void delete_freed_row(struct reclaim *reclaim, const struct system_freed *row)
{
    assert(row != NULL);
    const struct system_key key = system_key_freed(&row->range, row->tick);
    system_delete(reclaim->group, &key);
}

/* The range is given back: its F rows go, and its bytes are no longer live. */
static enum err account(struct reclaim *reclaim, const struct candidate *candidate)
{
    const struct stream_range *range = &candidate->range;
    for (size_t i = 0; i < candidate->row_count; i++)
        delete_freed_row(reclaim, &candidate->rows[i]);

    const struct system_key key = system_key_extent(range->extent_id);
    const struct engine_key row = system_row(&key);
    struct slice value;
    enum err err = engine_group_get(reclaim->group, &reclaim->arena, &row, &value);
    if (err == ERR_NOT_FOUND)
        return OK; /* not settled yet; settling will not count the range */
    struct system_extent extent;
    if (err == OK)
        err = system_decode_extent(value, &extent);
    if (err != OK)
        return err;

    const uint64_t bytes = stream_allocated_bytes(range->length);
    if (extent.live_bytes < bytes)
        return CORRUPT("extent %" PRIu64 " has %" PRIu64 " live bytes, and a range of %" PRIu64,
                       range->extent_id, extent.live_bytes, bytes);
    extent.live_bytes -= bytes;
    system_put_extent(reclaim->group, range->extent_id, &extent);
    if (extent.live_bytes == 0)
        range_list_add(&reclaim->empty, range);
    return OK;
}

/* A row for which a long view is waited for, or NULL. */
static const struct system_freed *find_blocked(const struct reclaim *reclaim,
                                               const struct census *census)
{
    for (size_t i = 0; i < census->row_count; i++) {
        if (long_view_table_blocks(&reclaim->view_table, &census->rows[i]))
            return &census->rows[i];
    }
    return NULL;
}

/* The range has an owner, who will write a row of its own: these go, but for those blocked. */
static void drop_rows(struct reclaim *reclaim, const struct census *census)
{
    for (size_t i = 0; i < census->row_count; i++) {
        if (!long_view_table_blocks(&reclaim->view_table, &census->rows[i]))
            delete_freed_row(reclaim, &census->rows[i]);
    }
}

/* Steps 1 and 2.  Returns in `*count` how many candidates there are. */
static enum err choose(struct reclaim *reclaim, size_t slice_count, size_t *count)
{
    *count = 0;
    struct engine_snapshot *snapshot = engine_snapshot_new(reclaim->engine);
    look_at_views(reclaim); /* after the snapshot, and not before */
    enum err err = OK;
    for (size_t i = 0; err == OK && i < slice_count; i++) {
        const struct stream_range *range = &reclaim->slice[i];
        struct census census;
        err = take_census(reclaim, snapshot, range, &census);
        if (err != OK || census.row_count == 0)
            continue;
        const struct system_freed *blocked = find_blocked(reclaim, &census);
        if (blocked != NULL)
            blocked_list_add(&reclaim->blocked, blocked);
        if (census.owned)
            drop_rows(reclaim, &census);
        else if (blocked == NULL)
            reclaim->candidates[(*count)++] = (struct candidate){
                .range = *range,
                .rows = census.rows,
                .row_count = census.row_count,
            };
    }
    engine_snapshot_free(reclaim->engine, snapshot);
    return err;
}

/* Steps 4 and 5.  The candidates are busy. */
static enum err give_back(struct reclaim *reclaim, size_t count)
{
    struct engine_snapshot *snapshot = engine_snapshot_new(reclaim->engine);
    enum err err = OK;
    for (size_t i = 0; err == OK && i < count; i++) {
        const struct candidate *candidate = &reclaim->candidates[i];
        struct census census;
        err = take_census(reclaim, snapshot, &candidate->range, &census);
        if (err != OK)
            break;
        if (census.owned || census.row_count != candidate->row_count ||
            !stream_reclaim(reclaim->stream, &candidate->range)) {
            range_list_add(&reclaim->again, &candidate->range);
        } else {
            reclaim->count++;
            err = account(reclaim, candidate);
        }
    }
    engine_snapshot_free(reclaim->engine, snapshot);
    return err;
}

/* Forget what was given back, once the disk has it.  If that fails it is all done again. */
static enum err commit(struct reclaim *reclaim)
{
    if (engine_group_size_bytes(reclaim->group) == 0)
        return OK;
    const enum err err = stream_reclaim_sync(reclaim->stream);
    if (err != OK) {
        engine_group_rollback(reclaim->group);
        return err;
    }
    return engine_group_commit(reclaim->group, ENGINE_LAZY);
}

/* The first `slice_count` ranges of the slice, which are in order and all different. */
static enum err reclaim_slice(struct reclaim *reclaim, size_t slice_count)
{
    assert(slice_count <= SLICE_RANGES_MAX);
    engine_group_save(reclaim->group);
    size_t count;
    enum err err = choose(reclaim, slice_count, &count);
    if (err == OK && count > 0) {
        stream_barrier(reclaim->stream);
        set_busy(reclaim, reclaim->candidates, count);
        err = give_back(reclaim, count);
        set_busy(reclaim, NULL, 0);
    }
    /* What was given back is noted even if an error ended the slice early. */
    const enum err committed = commit(reclaim);
    arena_clear(&reclaim->arena);
    return err != OK ? err : committed;
}

/* --- passes --- */

static int compare_ranges(const void *a, const void *b)
{
    return range_compare(a, b);
}

/* The ranges in slices, each range once. */
static enum err reclaim_list(struct reclaim *reclaim, struct range_list *list)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items), compare_ranges);
    size_t slice_count = 0;
    enum err err = OK;
    for (size_t i = 0; err == OK && i < list->count; i++) {
        if (i > 0 && range_compare(&list->items[i - 1], &list->items[i]) == 0)
            continue;
        reclaim->slice[slice_count++] = list->items[i];
        if (slice_count == SLICE_RANGES_MAX) {
            err = reclaim_slice(reclaim, slice_count);
            slice_count = 0;
        }
    }
    if (err == OK && slice_count > 0)
        err = reclaim_slice(reclaim, slice_count);
    return err;
}

/* Every F row there is. */
static enum err reclaim_all(struct reclaim *reclaim)
{
    const struct system_key prefix = system_prefix(SYSTEM_FREED);
    const struct engine_scan scan = system_scan(&prefix);
    struct engine_snapshot *snapshot = engine_snapshot_new(reclaim->engine);
    struct cursor *cursor = engine_scan(reclaim->engine, snapshot, &scan);
    struct range_list part = { 0 };
    struct slice key;
    struct slice value;
    enum err err = OK;
    while (err == OK && (err = cursor_next(cursor, &key, &value)) == OK) {
        struct stream_range range;
        uint64_t tick;
        err = system_decode_range(key, value, &range, &tick);
        if (err == OK)
            range_list_add(&part, &range);
        /* A range on both sides of a cut is looked at twice, which does no harm. */
        if (err == OK && part.count == SLICE_RANGES_MAX) {
            err = reclaim_list(reclaim, &part);
            range_list_clear(&part);
        }
    }
    if (err == ERR_NOT_FOUND)
        err = reclaim_list(reclaim, &part);
    range_list_release(&part);
    cursor_free(cursor);
    engine_snapshot_free(reclaim->engine, snapshot);
    return err;
}

/* Remove extents in which nothing is live; those that are pinned wait for another pass. */
static enum err remove_empty(struct reclaim *reclaim)
{
    engine_group_save(reclaim->group);
    size_t kept_count = 0;
    for (size_t i = 0; i < reclaim->empty.count; i++) {
        const struct stream_range *item = &reclaim->empty.items[i];
        if (stream_unlink(reclaim->stream, item->extent_id)) {
            const struct system_key key = system_key_extent(item->extent_id);
            system_delete(reclaim->group, &key);
        } else {
            reclaim->empty.items[kept_count++] = *item;
        }
    }
    reclaim->empty.count = kept_count;
    return commit(reclaim);
}

/* Under pass.  The work is taken even if it fails: its rows are there for the next sweep. */
static enum err make_pass(struct reclaim *reclaim)
{
    struct range_list todo = reclaim->again;
    reclaim->again = (struct range_list){ 0 };
    mutex_lock(&reclaim->lock);
    for (size_t i = 0; i < reclaim->todo.count; i++)
        range_list_add(&todo, &reclaim->todo.items[i]);
    range_list_release(&reclaim->todo);
    const bool must_sweep = reclaim->must_sweep;
    reclaim->must_sweep = false;
    reclaim->has_owned = false;
    const bool view_closed = reclaim->view_closed;
    reclaim->view_closed = false;
    mutex_unlock(&reclaim->lock);

    if (must_sweep)
        reclaim->blocked.count = 0; /* all are met again */
    else if (view_closed)
        take_unblocked(reclaim, &todo);
    enum err err = must_sweep ? reclaim_all(reclaim) : reclaim_list(reclaim, &todo);
    range_list_release(&todo);
    if (err == OK)
        err = settle_extents(reclaim->engine, reclaim->stream, reclaim->group);
    if (err == OK)
        err = remove_empty(reclaim);
    return err;
}

/* Whether another pass would find something to do.  Under lock. */
static bool has_work(const struct reclaim *reclaim)
{
    if (reclaim->hold_count > 0)
        return false;
    return reclaim->must_sweep || reclaim->todo.count > 0 || reclaim->has_owned ||
           reclaim->has_leftovers || (reclaim->has_blocked && reclaim->view_closed);
}

void reclaim_hold(struct reclaim *reclaim)
{
    /* A pass under way ends first. */
    mutex_lock(&reclaim->pass);
    mutex_lock(&reclaim->lock);
    reclaim->hold_count++;
    mutex_unlock(&reclaim->lock);
    mutex_unlock(&reclaim->pass);
}

void reclaim_let_go(struct reclaim *reclaim)
{
    mutex_lock(&reclaim->lock);
    assert(reclaim->hold_count > 0);
    reclaim->hold_count--;
    mutex_unlock(&reclaim->lock);
    condvar_signal(&reclaim->wake);
}

static bool is_held(struct reclaim *reclaim)
{
    mutex_lock(&reclaim->lock);
    const bool held = reclaim->hold_count > 0;
    mutex_unlock(&reclaim->lock);
    return held;
}

uint64_t reclaim_pass(struct reclaim *reclaim)
{
    mutex_lock(&reclaim->pass);
    if (is_held(reclaim)) {
        mutex_unlock(&reclaim->pass);
        return 0;
    }
    reclaim->count = 0;
    const enum err err = make_pass(reclaim);
    const uint64_t count = reclaim->count;
    if (err != OK)
        log_error("reclaim", "a pass ended early: %s", error_text(err));
    mutex_lock(&reclaim->lock);
    reclaim->failed = err != OK;
    reclaim->must_sweep |= err != OK;
    reclaim->has_leftovers = reclaim->again.count > 0 || reclaim->empty.count > 0;
    reclaim->has_blocked = reclaim->blocked.count > 0;
    const bool wake = has_work(reclaim);
    mutex_unlock(&reclaim->lock);
    mutex_unlock(&reclaim->pass);
    /* The thread may be asleep if it was not the thread that made the pass. */
    if (wake)
        condvar_signal(&reclaim->wake);
    return count;
}

/* --- thread --- */

/* Wait for at most `ms`, or until the thread is to stop.  Under lock. */
static void wait_ms(struct reclaim *reclaim, int64_t ms)
{
    const int64_t until_us = clock_monotonic_us() + ms * 1000;
    bool early = true;
    while (!reclaim->stopping && early)
        early = condvar_wait_until(&reclaim->wake, &reclaim->lock, until_us);
}

static void *reclaim_main(void *arg)
{
    struct reclaim *reclaim = arg;
    mutex_lock(&reclaim->lock);
    while (!reclaim->stopping) {
        if (!has_work(reclaim)) {
            condvar_wait(&reclaim->wake, &reclaim->lock);
            continue;
        }
        wait_ms(reclaim, reclaim->failed ? PASS_FAILED_MS : PASS_MS);
        if (reclaim->stopping)
            break;
        mutex_unlock(&reclaim->lock);
        reclaim_pass(reclaim);
        mutex_lock(&reclaim->lock);
    }
    mutex_unlock(&reclaim->lock);
    return NULL;
}

static void start_thread(struct reclaim *reclaim)
{
    if (pthread_create(&reclaim->thread, NULL, reclaim_main, reclaim) != 0)
        panic("cannot start the reclaimer's thread");
    pthread_setname_np(reclaim->thread, "reclaim");
}

enum err reclaim_open(struct engine *engine, struct stream *stream, enum reclaim_mode mode,
                      struct reclaim **reclaim)
{
    struct reclaim *opened = heap_new(sizeof(*opened));
    opened->engine = engine;
    opened->stream = stream;
    opened->mode = RECLAIM_IN_CALLER; /* until the thread is there to be stopped */
    opened->must_sweep = true;
    opened->group = engine_group_new(engine);
    mutex_init(&opened->lock, LOCK_PARTITION_RECLAIM);
    mutex_init(&opened->pass, LOCK_PARTITION_PASS);
    condvar_init(&opened->idle);
    condvar_init(&opened->wake);

    enum err err = settle_mark_known(engine, stream, &opened->empty);
    if (err == OK)
        err = settle_extents(engine, stream, opened->group);
    if (err != OK) {
        reclaim_close(opened);
        return err;
    }
    opened->mode = mode;
    if (mode == RECLAIM_OWN_THREAD)
        start_thread(opened);
    *reclaim = opened;
    return OK;
}

void reclaim_close(struct reclaim *reclaim)
{
    if (reclaim == NULL)
        return;
    if (reclaim->mode == RECLAIM_OWN_THREAD) {
        mutex_lock(&reclaim->lock);
        reclaim->stopping = true;
        mutex_unlock(&reclaim->lock);
        condvar_signal(&reclaim->wake);
        pthread_join(reclaim->thread, NULL);
    }
    assert(reclaim->views.count == 0);
    assert(reclaim->hold_count == 0);
    free(reclaim->blocked.items);
    long_view_table_release(&reclaim->view_table);
    engine_group_free(reclaim->group);
    arena_release(&reclaim->arena);
    range_list_release(&reclaim->todo);
    range_list_release(&reclaim->again);
    range_list_release(&reclaim->empty);
    condvar_release(&reclaim->wake);
    condvar_release(&reclaim->idle);
    mutex_release(&reclaim->pass);
    mutex_release(&reclaim->lock);
    free(reclaim);
}
