#include "service/blob/sweeper.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "service/blob/background.h"
#include "service/blob/blob.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/segments.h"
#include "service/blob/tag_index.h"
#include "service/row.h"

enum {
    /* Rows deleted by one update: enough to be quick, few enough that a client's update does not
       wait noticeably behind it. */
    SWEEP_BATCH_ROWS = 256,
    /* A record whose content is a list counts for so many rows: about what dropping it removes. */
    SWEEP_LIST_ROWS = 64,
    /* How often marked partitions are looked at, and how often for blocks that have expired. */
    SWEEP_PERIOD_SEC = 10,
    SWEEP_EXPIRY_SEC = 60 * 60,
};

struct sweeper {
    /* set at start, then constant */
    struct service *service;
    struct arena arena; /* of `accounts` */
    struct slice *accounts;
    size_t account_count;
    pthread_t thread;

    /* of the thread */
    int64_t expiry_at_us; /* monotonic: when to look for blocks that have expired */

    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool work;
    bool stop;
};

/* Whether the thread is to end; never for a pass without a sweeper. */
static bool is_stopping(struct sweeper *sweeper)
{
    if (sweeper == NULL)
        return false;
    pthread_mutex_lock(&sweeper->lock);
    const bool stop = sweeper->stop;
    pthread_mutex_unlock(&sweeper->lock);
    return stop;
}

/* --- one partition: lists that no record names, blocks that nobody commits --- */

struct drop_request {
    struct waited_update waited;
    uint64_t content_id;
};

static enum err drop_decide(struct change *change, void *arg)
{
    const struct drop_request *request = arg;
    bool done; /* what is left is found by its row */
    return content_sweep(change, request->content_id, &done);
}

static enum err sweep_dropped(struct service *service, struct sweeper *sweeper,
                              struct slice partition)
{
    struct arena arena = { 0 };
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        struct drop_request request = { 0 };
        arena_clear(&arena);
        err = is_stopping(sweeper)
                  ? ERR_SHUTTING_DOWN
                  : background_find_first(service, &arena, partition, dropped_prefix(), &key);
        if (err == OK && !dropped_key_content(key, &request.content_id))
            err = CORRUPT("a key of %zu bytes is not of dropped content", key.len);
        if (err == OK)
            err = background_update(service, &request.waited, partition, drop_decide);
    }
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

struct expire_request {
    struct waited_update waited;
    struct slice name;
    bool done; /* result */
};

/* ERR_NOT_FOUND unless the partition is closed. */
static enum err find_closed(struct change *change)
{
    struct slice row;
    return change_get(change, closed_key(), &row);
}

static enum err expire_decide(struct change *change, void *arg)
{
    struct expire_request *request = arg;
    struct uncommitted uncommitted;
    request->done = true;
    enum err err = uncommitted_get(change, request->name, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    if (!uncommitted_is_expired(&uncommitted, change_now(change))) {
        err = find_closed(change);
        if (err != OK)
            return err == ERR_NOT_FOUND ? OK : err;
    }
    return uncommitted_discard_some(change, request->name, &request->done);
}

/* The first key from `from` on of blocks that are to go.  ERR_NOT_FOUND. */
static enum err find_expired(struct service *service, struct arena *arena, struct slice partition,
                             struct slice from, struct slice *key)
{
    const int64_t now = clock_now(service->clock);
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct slice row;
    enum err err = partition_view_get(&view, arena, closed_key(), &row);
    const bool closed = err == OK;
    if (err == ERR_NOT_FOUND)
        err = OK;
    struct cursor *cursor =
        partition_view_scan(&view, uncommitted_key(arena, (struct slice){ 0 }), from);
    bool found = false;
    while (err == OK && !found) {
        struct uncommitted uncommitted;
        err = cursor_next(cursor, key, &row);
        if (err == OK)
            err = uncommitted_decode(row, &uncommitted);
        found = err == OK && (closed || uncommitted_is_expired(&uncommitted, now));
    }
    if (found)
        *key = arena_copy(arena, *key);
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
}

static enum err sweep_uncommitted(struct service *service, struct sweeper *sweeper,
                                  struct slice partition)
{
    struct arena arenas[2] = { 0 }; /* one of the last key, one of the next */
    struct slice key = { 0 };
    enum err err = OK;
    for (unsigned turn = 0; err == OK; turn ^= 1) {
        struct expire_request request = { 0 };
        arena_clear(&arenas[turn]);
        err = find_expired(service, &arenas[turn], partition, key, &key);
        if (err == OK)
            err = uncommitted_key_name(key, &request.name);
        while (err == OK && !request.done)
            err = is_stopping(sweeper)
                      ? ERR_SHUTTING_DOWN
                      : background_update(service, &request.waited, partition, expire_decide);
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Whether the change sees no key with the prefix. */
static enum err check_none(struct change *change, struct slice prefix)
{
    struct slice key;
    struct slice row;
    struct cursor *cursor = change_scan(change, prefix, (struct slice){ 0 });
    const enum err err = cursor_next(cursor, &key, &row);
    cursor_free(cursor);
    return err == OK ? ERR_EXISTS : err == ERR_NOT_FOUND ? OK : err;
}

/* The mark goes when nothing is left that the sweeper looks for: ERR_EXISTS while there is. */
static enum err unmark_decide(struct change *change, void *arg)
{
    (void)arg;
    const struct slice none = { 0 };
    enum err err = check_none(change, dropped_prefix());
    if (err == OK)
        err = check_none(change, uncommitted_key(change_arena(change), none));
    /* These two are found by copy_recover. */
    if (err == OK)
        err = check_none(change, unfinished_prefix());
    if (err == OK)
        err = check_none(change, pending_copy_prefix());
    if (err == OK)
        change_unmark(change);
    return err;
}

enum sweep_extent {
    SWEEP_DROPPED,        /* only lists that no record names */
    SWEEP_AND_EXPIRATION, /* and blocks that nobody has committed */
};

static enum err sweep_partition(struct service *service, struct sweeper *sweeper,
                                struct slice partition, enum sweep_extent extent)
{
    enum err err = sweep_dropped(service, sweeper, partition);
    if (err == OK && extent == SWEEP_AND_EXPIRATION)
        err = sweep_uncommitted(service, sweeper, partition);
    struct waited_update waited;
    if (err == OK)
        err = background_update(service, &waited, partition, unmark_decide);
    return err == ERR_EXISTS ? OK : err;
}

struct marked_pass {
    struct service *service;
    struct sweeper *sweeper;
    enum sweep_extent extent;
    enum err err; /* the first, of any partition */
};

static bool sweep_marked_partition(void *arg, struct slice partition)
{
    struct marked_pass *pass = arg;
    if (!is_blob_partition(partition))
        return true;
    const enum err err = sweep_partition(pass->service, pass->sweeper, partition, pass->extent);
    if (pass->err == OK)
        pass->err = err;
    return err != ERR_SHUTTING_DOWN;
}

static enum err sweep_marked(struct service *service, struct sweeper *sweeper,
                             enum sweep_extent extent)
{
    struct marked_pass pass = { .service = service, .sweeper = sweeper, .extent = extent };
    const enum err err = partition_each_marked(service->store, sweep_marked_partition, &pass);
    return err == OK ? pass.err : err;
}

enum err sweeper_pass_marked(struct service *service)
{
    return sweep_marked(service, NULL, SWEEP_AND_EXPIRATION);
}

/* --- one incarnation --- */

static enum err close_decide(struct change *change, void *arg)
{
    (void)arg;
    struct strbuf row;
    strbuf_init(&row, change_arena(change));
    row_begin(&row, ROW_CLOSED);
    change_put(change, closed_key(), strbuf_slice(&row));
    return OK;
}

struct sweep_request {
    struct waited_update waited;
    size_t removed_count; /* result */
};

/* Of a base blob's tags there are rows in the index. */
static enum err sweep_tags(struct change *change, struct slice key, const struct blob *blob)
{
    struct slice name;
    int64_t snapshot;
    const enum err err = blob_key_name(key, &name, &snapshot);
    if (err == OK && snapshot == 0)
        tag_index_update(change, name, &blob->tags, &(struct metadata){ 0 });
    return err;
}

static enum err sweep_decide(struct change *change, void *arg)
{
    struct sweep_request *request = arg;
    struct arena *arena = change_arena(change);
    request->removed_count = 0;
    struct cursor *cursor =
        change_scan(change, blob_key_prefix(arena, (struct slice){ 0 }), (struct slice){ 0 });
    struct slice keys[SWEEP_BATCH_ROWS];
    size_t row_count = 0;
    enum err err = OK;
    while (row_count < SWEEP_BATCH_ROWS) {
        struct slice key;
        struct slice row;
        struct blob blob;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = blob_decode(arena, arena_copy(arena, row), &blob);
        if (err != OK)
            break;
        const struct slice own_key = arena_copy(arena, key);
        err = content_drop(change, &blob.content);
        if (err == OK)
            err = sweep_tags(change, own_key, &blob);
        if (err != OK)
            break;
        keys[request->removed_count++] = own_key;
        row_count += blob.content.place == CONTENT_SEGMENTS ? SWEEP_LIST_ROWS : 1;
    }
    cursor_free(cursor);
    if (err != OK && err != ERR_NOT_FOUND)
        return err;
    for (size_t i = 0; i < request->removed_count; i++)
        change_delete(change, keys[i]);
    return OK;
}

/* ERR_SHUTTING_DOWN when there is no time to finish. */
static enum err sweep_incarnation(struct service *service, struct sweeper *sweeper,
                                  struct arena *arena, uint64_t incarnation)
{
    const struct slice partition = blob_partition(arena, incarnation);
    struct waited_update closing;
    enum err err = background_update(service, &closing, partition, close_decide);
    struct sweep_request request = { .removed_count = SWEEP_BATCH_ROWS };
    while (err == OK && request.removed_count > 0)
        err = is_stopping(sweeper)
                  ? ERR_SHUTTING_DOWN
                  : background_update(service, &request.waited, partition, sweep_decide);
    return err == OK ? sweep_partition(service, sweeper, partition, SWEEP_AND_EXPIRATION) : err;
}

/* --- one account --- */

struct forget_request {
    struct waited_update waited;
    struct slice key;
};

static enum err forget_decide(struct change *change, void *arg)
{
    const struct forget_request *request = arg;
    change_delete(change, request->key);
    return OK;
}

static enum err sweep_garbage(struct service *service, struct sweeper *sweeper, struct arena *arena,
                              struct slice partition, struct slice key)
{
    uint64_t incarnation = 0;
    if (!garbage_key_incarnation(key, &incarnation))
        return CORRUPT("a garbage key has %zu bytes", key.len);
    const enum err err = sweep_incarnation(service, sweeper, arena, incarnation);
    if (err != OK)
        return err;
    struct forget_request request = { .key = key };
    return background_update(service, &request.waited, partition, forget_decide);
}

static enum err sweep_account(struct service *service, struct sweeper *sweeper,
                              struct slice account)
{
    struct arena arena = { 0 };
    const struct slice partition = account_partition(&arena, account);
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        err = background_find_first(service, &arena, partition, slice_of("g"), &key);
        if (err == OK)
            err = sweep_garbage(service, sweeper, &arena, partition, key);
    }
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err sweeper_pass(struct service *service, struct slice account)
{
    return sweep_account(service, NULL, account);
}

/* --- the thread --- */

/* One pass over everything. */
static void sweep(struct sweeper *sweeper)
{
    for (size_t i = 0; i < sweeper->account_count; i++) {
        const enum err err = sweep_account(sweeper->service, sweeper, sweeper->accounts[i]);
        if (err != OK && err != ERR_SHUTTING_DOWN)
            log_error("sweeper", "a deleted container stays unreclaimed: %s", error_text(err));
    }
    enum sweep_extent extent = SWEEP_DROPPED;
    const int64_t now_us = clock_monotonic_us();
    if (now_us >= sweeper->expiry_at_us) {
        extent = SWEEP_AND_EXPIRATION;
        sweeper->expiry_at_us = now_us + SWEEP_EXPIRY_SEC * INT64_C(1000000);
    }
    const enum err err = sweep_marked(sweeper->service, sweeper, extent);
    if (err != OK && err != ERR_SHUTTING_DOWN)
        log_error("sweeper", "dropped content stays unreclaimed: %s", error_text(err));
}

/* Under lock: sleep until there is work, or the period is over. */
static void wait_for_work(struct sweeper *sweeper)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SWEEP_PERIOD_SEC;
    int failed = 0;
    while (!sweeper->work && !sweeper->stop && failed == 0)
        failed = pthread_cond_timedwait(&sweeper->changed, &sweeper->lock, &until);
}

static void *sweeper_run(void *arg)
{
    struct sweeper *sweeper = arg;
    pthread_mutex_lock(&sweeper->lock);
    while (!sweeper->stop) {
        sweeper->work = false;
        pthread_mutex_unlock(&sweeper->lock);
        sweep(sweeper);
        pthread_mutex_lock(&sweeper->lock);
        wait_for_work(sweeper);
    }
    pthread_mutex_unlock(&sweeper->lock);
    return NULL;
}

enum err sweeper_new(struct service *service, const struct slice *accounts, size_t account_count,
                     struct sweeper **result)
{
    struct sweeper *sweeper = calloc(1, sizeof(*sweeper));
    if (sweeper == NULL)
        panic("no memory for the sweeper");
    sweeper->service = service;
    sweeper->account_count = account_count;
    sweeper->accounts = arena_alloc(&sweeper->arena, account_count * sizeof(*accounts));
    for (size_t i = 0; i < account_count; i++)
        sweeper->accounts[i] = arena_copy(&sweeper->arena, accounts[i]);
    pthread_mutex_init(&sweeper->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sweeper->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&sweeper->thread, NULL, sweeper_run, sweeper) != 0) {
        arena_release(&sweeper->arena);
        free(sweeper);
        return ERR_IO;
    }
    *result = sweeper;
    return OK;
}

void sweeper_free(struct sweeper *sweeper)
{
    if (sweeper == NULL)
        return;
    pthread_mutex_lock(&sweeper->lock);
    sweeper->stop = true;
    pthread_cond_signal(&sweeper->changed);
    pthread_mutex_unlock(&sweeper->lock);
    pthread_join(sweeper->thread, NULL);
    pthread_cond_destroy(&sweeper->changed);
    pthread_mutex_destroy(&sweeper->lock);
    arena_release(&sweeper->arena);
    free(sweeper);
}

void sweeper_wake(struct sweeper *sweeper)
{
    if (sweeper == NULL)
        return;
    pthread_mutex_lock(&sweeper->lock);
    sweeper->work = true;
    pthread_cond_signal(&sweeper->changed);
    pthread_mutex_unlock(&sweeper->lock);
}
