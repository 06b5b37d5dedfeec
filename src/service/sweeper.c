#include "service/sweeper.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "service/account_partition.h"
#include "service/background.h"
#include "service/blob/blob_sweep.h"
#include "service/file/file_sweep.h"
#include "service/queue/queue_sweep.h"
#include "service/table/table_sweep.h"

enum {
    /* How often marked partitions are looked at, and how often for what has expired. */
    SWEEP_PERIOD_SEC = 10,
    SWEEP_EXPIRY_SEC = 60 * 60,
    /* The longest rest between two batches: a batch that took longer was itself kept waiting. */
    SWEEP_REST_US_MAX = 20 * 1000,
};

/* What each kind of resource wants done. */
static const struct {
    char letter; /* of its partitions */
    enum err (*garbage)(const struct sweep *sweep, uint64_t incarnation);
    enum err (*marked)(const struct sweep *sweep, struct slice partition);
} KINDS[] = {
    [RESOURCE_CONTAINER] = { 'B', blob_sweep_incarnation, blob_sweep_marked },
    [RESOURCE_QUEUE] = { 'Q', queue_sweep_incarnation, queue_sweep_marked },
    [RESOURCE_TABLE] = { 'T', table_sweep_incarnation, table_sweep_marked },
    [RESOURCE_SHARE] = { 'F', file_sweep_incarnation, file_sweep_marked },
};

enum {
    KIND_COUNT = sizeof(KINDS) / sizeof(KINDS[0]),
};

struct sweeper {
    /* set at start, then constant */
    struct service *service;
    struct arena arena; /* of `accounts` */
    struct slice *accounts;
    size_t account_count;
    pthread_t thread;

    /* of the thread */
    int64_t expiry_at_us; /* monotonic: when to look for what has expired */
    int64_t batch_at_us;  /* monotonic: when the present batch began */

    /* under lock */
    struct mutex lock;
    struct condvar changed;
    bool work;
    bool stop;
};

/* --- for the services --- */

/* Under lock: let others have as much time as the last batch took. */
static void rest(struct sweeper *sweeper)
{
    int64_t rest_us = clock_monotonic_us() - sweeper->batch_at_us;
    if (rest_us > SWEEP_REST_US_MAX)
        rest_us = SWEEP_REST_US_MAX;
    const int64_t until_us = clock_monotonic_us() + rest_us;
    bool early = true;
    while (!sweeper->stop && early)
        early = condvar_wait_until(&sweeper->changed, &sweeper->lock, until_us);
}

bool sweep_is_stopping(const struct sweep *sweep)
{
    struct sweeper *sweeper = sweep->sweeper;
    if (sweeper == NULL)
        return false;
    mutex_lock(&sweeper->lock);
    rest(sweeper);
    sweeper->batch_at_us = clock_monotonic_us();
    const bool stop = sweeper->stop;
    mutex_unlock(&sweeper->lock);
    return stop;
}

static enum err close_decide(struct change *change, void *arg)
{
    (void)arg;
    partition_set_closed(change);
    return OK;
}

enum err sweep_close(const struct sweep *sweep, struct slice partition)
{
    struct waited_update waited;
    return background_update(sweep->service, &waited, partition, close_decide);
}

/* The keys are looked up outside the update, in a view: in the partition's own order, without
   passing by what the same pass has removed. */
struct rows_request {
    struct waited_update waited;
    size_t count;
    struct slice keys[SWEEP_BATCH_ROWS];
};

static enum err rows_decide(struct change *change, void *arg)
{
    const struct rows_request *request = arg;
    for (size_t i = 0; i < request->count; i++)
        change_delete(change, request->keys[i]);
    return OK;
}

/* The next batch of keys behind `*from`, which is moved past them.  */
static enum err find_rows(const struct sweep *sweep, struct arena *arena, struct slice partition,
                          struct slice prefix, struct slice from, struct slice until,
                          struct rows_request *request)
{
    struct partition_view view;
    partition_view_open(sweep->service->store, partition, &view);
    struct cursor *cursor = partition_view_scan_until(&view, prefix, from, until);
    enum err err = OK;
    request->count = 0;
    while (err == OK && request->count < SWEEP_BATCH_ROWS) {
        struct slice key;
        struct slice row;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            request->keys[request->count++] = arena_copy(arena, key);
    }
    cursor_free(cursor);
    partition_view_close(&view);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err sweep_range(const struct sweep *sweep, struct slice partition, struct slice prefix,
                     struct slice until)
{
    struct arena arenas[2] = { 0 }; /* one of the last batch, one of the next */
    struct slice from = { 0 };
    struct rows_request request = { .count = 1 };
    enum err err = OK;
    for (unsigned turn = 0; err == OK && request.count > 0; turn ^= 1) {
        arena_clear(&arenas[turn]);
        err = sweep_is_stopping(sweep)
                  ? ERR_SHUTTING_DOWN
                  : find_rows(sweep, &arenas[turn], partition, prefix, from, until, &request);
        if (err == OK && request.count > 0) {
            from = request.keys[request.count - 1];
            err = background_update(sweep->service, &request.waited, partition, rows_decide);
        }
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err;
}

enum err sweep_rows(const struct sweep *sweep, struct slice partition, const char *letters)
{
    enum err err = OK;
    for (; err == OK && *letters != '\0'; letters++)
        err = sweep_range(sweep, partition, slice_make(letters, 1), (struct slice){ 0 });
    return err;
}

/* --- marked partitions --- */

struct marked_pass {
    struct sweep sweep;
    enum err err; /* the first, of any partition */
};

static bool sweep_marked_partition(void *arg, struct slice partition)
{
    struct marked_pass *pass = arg;
    enum err err = OK;
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (partition.len > 0 && partition.data[0] == KINDS[i].letter)
            err = KINDS[i].marked(&pass->sweep, partition);
    if (is_account_partition(partition))
        err = file_sweep_account(&pass->sweep, partition);
    if (pass->err == OK)
        pass->err = err;
    return err != ERR_SHUTTING_DOWN;
}

static enum err sweep_marked(const struct sweep *sweep)
{
    struct marked_pass pass = { .sweep = *sweep };
    const enum err err =
        partition_each_marked(sweep->service->store, sweep_marked_partition, &pass);
    return err == OK ? pass.err : err;
}

enum err sweeper_pass_marked(struct service *service)
{
    const struct sweep sweep = { .service = service, .extent = SWEEP_THOROUGHLY };
    return sweep_marked(&sweep);
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

static enum err sweep_garbage(const struct sweep *sweep, struct slice partition, struct slice key,
                              struct slice row)
{
    struct garbage garbage;
    enum err err = garbage_decode(key, row, &garbage);
    if (err == OK)
        err = garbage.kind == RESOURCE_SHARE_SNAPSHOT
                  ? file_sweep_snapshot(sweep, &garbage)
                  : KINDS[garbage.kind].garbage(sweep, garbage.incarnation);
    if (err != OK)
        return err;
    struct forget_request request = { .key = key };
    return background_update(sweep->service, &request.waited, partition, forget_decide);
}

/* The first 'g' row after `last` (empty: the first of all), in the arena.  ERR_NOT_FOUND. */
static enum err find_garbage(const struct sweep *sweep, struct arena *arena, struct slice partition,
                             struct slice last, struct slice *key, struct slice *row)
{
    struct partition_view view;
    partition_view_open(sweep->service->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, garbage_prefix(), last);
    enum err err = cursor_next(cursor, key, row);
    if (err == OK && slice_equal(*key, last))
        err = cursor_next(cursor, key, row);
    if (err == OK) {
        *key = arena_copy(arena, *key);
        *row = arena_copy(arena, *row);
    }
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
}

/* What cannot be reclaimed does not keep the rest from it. */
static enum err sweep_account(const struct sweep *sweep, struct slice account)
{
    struct arena arena = { 0 };
    const struct slice partition = account_partition(&arena, account);
    struct slice key = { 0 };
    enum err first = OK;
    for (;;) {
        struct slice row;
        const enum err found = find_garbage(sweep, &arena, partition, key, &key, &row);
        const enum err err = found == OK ? sweep_garbage(sweep, partition, key, row) : found;
        if (first == OK && err != ERR_NOT_FOUND)
            first = err;
        if (found != OK || err == ERR_SHUTTING_DOWN)
            break;
    }
    arena_release(&arena);
    return first;
}

enum err sweeper_pass(struct service *service, struct slice account)
{
    const struct sweep sweep = { .service = service, .extent = SWEEP_THOROUGHLY };
    return sweep_account(&sweep, account);
}

/* --- the thread --- */

/* One pass over everything. */
static void make_pass(struct sweeper *sweeper)
{
    struct sweep sweep = { .service = sweeper->service, .sweeper = sweeper };
    const int64_t now_us = clock_monotonic_us();
    sweeper->batch_at_us = now_us;
    if (now_us >= sweeper->expiry_at_us) {
        sweep.extent = SWEEP_THOROUGHLY;
        sweeper->expiry_at_us = now_us + SWEEP_EXPIRY_SEC * INT64_C(1000000);
    }
    for (size_t i = 0; i < sweeper->account_count; i++) {
        const enum err err = sweep_account(&sweep, sweeper->accounts[i]);
        if (err != OK && err != ERR_SHUTTING_DOWN)
            log_error("sweeper", "something deleted stays unreclaimed: %s", error_text(err));
    }
    const enum err err = sweep_marked(&sweep);
    if (err != OK && err != ERR_SHUTTING_DOWN)
        log_error("sweeper", "dropped content stays unreclaimed: %s", error_text(err));
}

/* Under lock: sleep until there is work, or the period is over. */
static void wait_for_work(struct sweeper *sweeper)
{
    const int64_t until_us = clock_monotonic_us() + SWEEP_PERIOD_SEC * INT64_C(1000000);
    bool early = true;
    while (!sweeper->work && !sweeper->stop && early)
        early = condvar_wait_until(&sweeper->changed, &sweeper->lock, until_us);
}

static void *sweeper_run(void *arg)
{
    struct sweeper *sweeper = arg;
    mutex_lock(&sweeper->lock);
    while (!sweeper->stop) {
        sweeper->work = false;
        mutex_unlock(&sweeper->lock);
        make_pass(sweeper);
        mutex_lock(&sweeper->lock);
        wait_for_work(sweeper);
    }
    mutex_unlock(&sweeper->lock);
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
    mutex_init(&sweeper->lock, LOCK_SERVICE_SWEEPER);
    condvar_init(&sweeper->changed);
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
    mutex_lock(&sweeper->lock);
    sweeper->stop = true;
    condvar_signal(&sweeper->changed);
    mutex_unlock(&sweeper->lock);
    pthread_join(sweeper->thread, NULL);
    condvar_release(&sweeper->changed);
    mutex_release(&sweeper->lock);
    arena_release(&sweeper->arena);
    free(sweeper);
}

void sweeper_wake(struct sweeper *sweeper)
{
    if (sweeper == NULL)
        return;
    mutex_lock(&sweeper->lock);
    sweeper->work = true;
    condvar_signal(&sweeper->changed);
    mutex_unlock(&sweeper->lock);
}
