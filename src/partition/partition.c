/*
 * partition.c - the store: opening it, sending updates to their committer, and reads.
 */
#include "partition/partition.h"

#include <assert.h>
#include <stdlib.h>

#include "partition/change.h"
#include "partition/committer.h"
#include "partition/engine.h"
#include "partition/hash.h"
#include "partition/heap.h"
#include "partition/inspect.h"
#include "partition/memory/engine_memory.h"
#include "partition/mend.h"
#include "partition/reclaim.h"
#include "partition/rocksdb/engine_rocksdb.h"
#include "partition/row_cache.h"
#include "partition/system_row.h"

/* Set at open, then constant. */
struct partition_store {
    struct engine *engine;
    struct stream *stream;   /* or NULL */
    struct reclaim *reclaim; /* NULL without stream */
    struct row_cache *cache;
    struct committer **committers; /* at least one, but for a store that is only read */
    unsigned committer_count;
    bool by_step;
    void (*yield)(void *arg); /* by step, or NULL */
    void *yield_arg;
};

/* --- opening --- */

/* Every committer that ever was has left its latest tick; later ones come after all of them. */
static enum err raise_clock(struct engine *engine, struct clock *clock)
{
    const struct system_key prefix = system_prefix(SYSTEM_TICK);
    const struct engine_scan scan = system_scan(&prefix);
    struct engine_snapshot *snapshot = engine_snapshot_new(engine);
    struct cursor *cursor = engine_scan(engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    enum err err = OK;
    while (err == OK && (err = cursor_next(cursor, &key, &value)) == OK) {
        int64_t tick;
        err = system_decode_tick(value, &tick);
        if (err == OK)
            clock_raise(clock, tick);
    }
    cursor_free(cursor);
    engine_snapshot_free(engine, snapshot);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum committer_mode mode_of(const struct partition_options *options)
{
    if (options->committers > 0)
        return COMMITTER_OWN_THREAD;
    return options->by_step ? COMMITTER_BY_STEP : COMMITTER_IN_CALLER;
}

static void start_committers(struct partition_store *store, const struct partition_options *options,
                             uint64_t contrary_seed)
{
    store->committer_count = options->committers == 0 ? 1 : options->committers;
    store->committers = heap_new(store->committer_count * sizeof(struct committer *));
    for (unsigned i = 0; i < store->committer_count; i++) {
        const struct committer_options committer = {
            .engine = store->engine,
            .clock = options->clock,
            .reclaim = store->reclaim,
            .cache = store->cache,
            .index = i,
            .contrary_seed = contrary_seed,
            .mode = mode_of(options),
        };
        store->committers[i] = committer_new(&committer);
    }
}

/* Takes the engine over, on failure too. */
static enum err store_open(struct engine *engine, const struct partition_options *options,
                           uint64_t contrary_seed, struct partition_store **store)
{
    assert(options->clock != NULL);
    struct reclaim *reclaim = NULL;
    enum err err = raise_clock(engine, options->clock);
    if (err == OK && options->stream != NULL && !options->read_only)
        err = reclaim_open(engine, options->stream,
                           options->committers == 0 ? RECLAIM_IN_CALLER : RECLAIM_OWN_THREAD,
                           &reclaim);
    if (err != OK) {
        engine_close(engine);
        return err;
    }
    struct partition_store *opened = heap_new(sizeof(*opened));
    opened->engine = engine;
    opened->stream = options->stream;
    opened->reclaim = reclaim;
    opened->by_step = mode_of(options) == COMMITTER_BY_STEP;
    opened->yield = options->yield;
    opened->yield_arg = options->yield_arg;
    opened->cache = row_cache_new();
    if (!options->read_only)
        start_committers(opened, options, contrary_seed);
    *store = opened;
    return OK;
}

enum err partition_open_rocksdb(const char *path, const struct partition_options *options,
                                struct partition_store **store)
{
    struct engine *engine;
    const enum err err = options->read_only
                             ? engine_rocksdb_open_read_only(path, options->cache_bytes, &engine)
                             : engine_rocksdb_open(path, options->cache_bytes, &engine);
    return err != OK ? err : store_open(engine, options, 0, store);
}

struct partition_store *partition_open_memory(const struct partition_options *options)
{
    assert(!options->read_only);
    struct partition_store *store;
    /* Without rows there is nothing to read or to settle that could fail. */
    const enum err err = store_open(engine_memory_new(), options, options->contrary_seed, &store);
    assert(err == OK);
    return store;
}

void partition_close(struct partition_store *store)
{
    for (unsigned i = 0; i < store->committer_count; i++)
        committer_free(store->committers[i]);
    free(store->committers);
    reclaim_close(store->reclaim);
    engine_close(store->engine);
    row_cache_free(store->cache);
    free(store);
}

/* --- update --- */

static void assert_name(struct slice partition)
{
    /* The empty name is the layer's own partition. */
    assert(partition.len > 0);
    assert(partition.len <= PARTITION_ID_BYTES_MAX);
}

/* The committer of the partition with this hash. */
static struct committer *committer_of(const struct partition_store *store, uint64_t hash)
{
    assert(store->committer_count > 0);
    return store->committers[hash_slot(hash, store->committer_count)];
}

void partition_update(struct partition_store *store, struct partition_update *update)
{
    change_assert_outside();
    assert_name(update->partition);
    committer_submit(committer_of(store, system_partition_hash(update->partition)), update);
}

size_t partition_step(struct partition_store *store, size_t updates_max)
{
    change_assert_outside();
    assert(store->committer_count == 1);
    return committer_step(store->committers[0], updates_max);
}

bool partition_yield(struct partition_store *store)
{
    if (!store->by_step)
        return false;
    if (store->yield != NULL)
        store->yield(store->yield_arg);
    else
        partition_step(store, 1);
    return true;
}

uint64_t partition_reclaim(struct partition_store *store)
{
    change_assert_outside();
    return store->reclaim == NULL ? 0 : reclaim_pass(store->reclaim);
}

/* --- read --- */

void partition_view_open(struct partition_store *store, struct slice partition,
                         struct partition_view *view)
{
    change_assert_outside();
    assert_name(partition);
    /* The guard comes first: what the snapshot shows live is not reclaimed before it is left. */
    *view = (struct partition_view){
        .store = store,
        .partition = partition,
        .guard = store->stream == NULL ? 0 : stream_guard_enter(store->stream),
    };
    view->snapshot = engine_snapshot_new(store->engine);
}

void partition_view_open_long(struct partition_store *store, struct slice partition,
                              struct partition_view *view)
{
    change_assert_outside();
    assert_name(partition);
    if (store->reclaim == NULL) {
        /* Nothing is reclaimed that a view could wait for or put off. */
        partition_view_open(store, partition, view);
        return;
    }
    *view = (struct partition_view){ .store = store, .partition = partition };
    /* The order of the three steps is what reclaim.h relies on: tick, registration, snapshot. */
    const uint64_t hash = system_partition_hash(partition);
    const int64_t visible_tick = committer_visible_tick(committer_of(store, hash));
    view->long_view = reclaim_view_open(store->reclaim, hash, visible_tick);
    view->snapshot = engine_snapshot_new(store->engine);
}

void partition_view_close(struct partition_view *view)
{
    struct partition_store *store = view->store;
    engine_snapshot_free(store->engine, view->snapshot);
    if (view->long_view != NULL)
        reclaim_view_close(store->reclaim, view->long_view);
    else if (store->stream != NULL)
        stream_guard_leave(store->stream, view->guard);
    *view = (struct partition_view){ 0 };
}

enum err partition_view_get(struct partition_view *view, struct arena *arena, struct slice key,
                            struct slice *value)
{
    assert(view->snapshot != NULL);
    const struct engine_key row = { .partition = view->partition, .key = key };
    return engine_get(view->store->engine, view->snapshot, arena, &row, value);
}

struct cursor *partition_view_scan_until(struct partition_view *view, struct slice prefix,
                                         struct slice from, struct slice until)
{
    assert(view->snapshot != NULL);
    const struct engine_scan scan = {
        .partition = view->partition,
        .prefix = prefix,
        .from = slice_compare(from, prefix) > 0 ? from : prefix,
        .until = until,
    };
    return engine_scan(view->store->engine, view->snapshot, &scan);
}

struct cursor *partition_view_scan(struct partition_view *view, struct slice prefix,
                                   struct slice from)
{
    return partition_view_scan_until(view, prefix, from, (struct slice){ 0 });
}

enum err partition_get(struct partition_store *store, struct arena *arena, struct slice partition,
                       struct slice key, struct slice *value)
{
    change_assert_outside();
    assert_name(partition);
    const struct engine_key row = { .partition = partition, .key = key };
    return engine_get(store->engine, NULL, arena, &row, value);
}

enum err partition_get_often(struct partition_store *store, struct arena *arena,
                             struct slice partition, struct slice key, struct slice *value)
{
    change_assert_outside();
    assert_name(partition);
    const struct engine_key row = { .partition = partition, .key = key };
    const uint64_t hash = system_partition_hash(partition);
    enum err err;
    uint64_t stamp;
    if (row_cache_find(store->cache, arena, &row, hash, value, &err, &stamp))
        return err;
    struct slice found = { 0 };
    err = engine_get(store->engine, NULL, arena, &row, &found);
    row_cache_keep(store->cache, &row, stamp, err, found);
    if (err == OK)
        *value = found;
    return err;
}

uint64_t partition_look(struct partition_store *store, struct slice partition)
{
    change_assert_outside();
    return row_cache_stamp(store->cache, system_partition_hash(partition));
}

bool partition_look_is_latest(struct partition_store *store, struct slice partition, uint64_t look)
{
    change_assert_outside();
    return row_cache_is_latest(store->cache, system_partition_hash(partition), look);
}

/* --- marks --- */

/* Names of partitions, in the order they were added; memory is an arena's. */
struct name_list {
    struct name_item *first;
    struct name_item **end;
};

struct name_item {
    struct name_item *next;
    struct slice name;
};

static enum err list_marked(struct partition_store *store, struct arena *arena,
                            struct name_list *list)
{
    const struct system_key prefix = system_prefix(SYSTEM_MARK);
    const struct engine_scan scan = system_scan(&prefix);
    struct engine_snapshot *snapshot = engine_snapshot_new(store->engine);
    struct cursor *cursor = engine_scan(store->engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    enum err err = OK;
    while (err == OK && (err = cursor_next(cursor, &key, &value)) == OK) {
        struct slice name;
        err = system_decode_mark_key(key, &name);
        if (err != OK)
            break;
        struct name_item *item = arena_alloc(arena, sizeof(*item));
        item->name = arena_copy(arena, name);
        *list->end = item;
        list->end = &item->next;
    }
    cursor_free(cursor);
    engine_snapshot_free(store->engine, snapshot);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err partition_each_marked(struct partition_store *store,
                               bool (*fn)(void *arg, struct slice partition), void *arg)
{
    change_assert_outside();
    struct arena arena = { 0 };
    struct name_list list = { .end = &list.first };
    const enum err err = list_marked(store, &arena, &list);
    if (err == OK) {
        const struct name_item *item = list.first;
        while (item != NULL && fn(arg, item->name))
            item = item->next;
    }
    arena_release(&arena);
    return err;
}

/* --- backing up --- */

void partition_hold_space(struct partition_store *store)
{
    change_assert_outside();
    if (store->reclaim != NULL)
        reclaim_hold(store->reclaim);
}

void partition_free_space(struct partition_store *store)
{
    if (store->reclaim != NULL)
        reclaim_let_go(store->reclaim);
}

enum err partition_checkpoint(struct partition_store *store, const char *path)
{
    change_assert_outside();
    return engine_checkpoint(store->engine, path);
}

enum err partition_each_extent(struct partition_store *store,
                               enum err (*fn)(void *arg, const struct partition_extent *extent),
                               void *arg)
{
    change_assert_outside();
    return inspect_each_extent(store->engine, fn, arg);
}

/* --- reading all --- */

enum err partition_first_payload(struct partition_store *store, struct stream_range *range)
{
    change_assert_outside();
    const struct stream_range from = { 0 };
    return inspect_next_range(store->engine, &from, range);
}

enum err partition_last_payload(struct partition_store *store, struct stream_range *range)
{
    change_assert_outside();
    return inspect_last_range(store->engine, range);
}

enum err partition_pin_next(struct partition_store *store, const struct stream_range *from,
                            struct stream_range *range, struct stream_pin **pin)
{
    change_assert_outside();
    assert(store->stream != NULL);
    /* As in a view: what has an owner now is not reclaimed before the guard is left. */
    const unsigned guard = stream_guard_enter(store->stream);
    enum err err = inspect_next_range(store->engine, from, range);
    if (err == OK)
        err = stream_pin(store->stream, range, pin);
    stream_guard_leave(store->stream, guard);
    return err;
}

enum err partition_verify_rows(struct partition_store *store, struct arena *arena,
                               struct slice from, uint64_t bytes_max, struct slice *next,
                               uint64_t *bytes)
{
    change_assert_outside();
    return engine_verify(store->engine, arena, from, bytes_max, next, bytes);
}

/* --- checking --- */

enum err partition_each(struct partition_store *store,
                        bool (*fn)(void *arg, struct slice partition), void *arg)
{
    change_assert_outside();
    return inspect_each(store->engine, fn, arg);
}

enum err partition_is_marked(struct partition_store *store, struct slice partition, bool *marked)
{
    change_assert_outside();
    assert_name(partition);
    return inspect_is_marked(store->engine, partition, marked);
}

enum err partition_each_owner(struct partition_store *store,
                              void (*fn)(void *arg, const struct stream_range *range,
                                         uint64_t owner),
                              void *arg)
{
    change_assert_outside();
    return inspect_each_owner(store->engine, fn, arg);
}

enum err partition_check(struct partition_store *store, struct partition_check *check)
{
    change_assert_outside();
    assert(store->stream != NULL);
    return inspect_check(store->engine, store->stream, check);
}

enum err partition_check_payload(struct partition_store *store, const struct stream_range *range)
{
    change_assert_outside();
    assert(store->stream != NULL);
    return stream_check(store->stream, range);
}

enum err partition_repair(struct partition_store *store, const struct partition_repair *repairs,
                          size_t count)
{
    change_assert_outside();
    return mend_apply(store->engine, repairs, count);
}

/* --- cursors --- */

enum err cursor_next(struct cursor *cursor, struct slice *key, struct slice *value)
{
    return cursor->ops->next(cursor, key, value);
}

void cursor_seek(struct cursor *cursor, struct slice key)
{
    assert(key.len <= PARTITION_KEY_BYTES_MAX);
    cursor->ops->seek(cursor, key);
}

void cursor_free(struct cursor *cursor)
{
    cursor->ops->free(cursor);
}
