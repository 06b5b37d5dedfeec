#include "service/blob/sweeper.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "service/blob/blob.h"
#include "service/blob/blob_name.h"
#include "service/row.h"

enum {
    /* Rows deleted by one update: enough to be quick, few enough that a client's update does not
       wait noticeably behind it. */
    SWEEP_BATCH_ROWS = 256,
};

struct sweeper {
    /* set at start, then constant */
    struct service *service;
    struct arena arena; /* of `accounts` */
    struct slice *accounts;
    size_t account_count;
    pthread_t thread;

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

/* --- an update that the calling thread waits for --- */

struct waited_update {
    struct partition_update update;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool finished;
    enum err err;
};

static void waited_done(void *arg, enum err err)
{
    struct waited_update *waited = arg;
    pthread_mutex_lock(&waited->lock);
    waited->err = err;
    waited->finished = true;
    pthread_cond_signal(&waited->changed);
    pthread_mutex_unlock(&waited->lock);
}

/* Every request struct below begins with its waited_update, which is the argument of both. */
static enum err update_and_wait(struct service *service, struct waited_update *waited,
                                struct slice partition, change_fn *decide)
{
    pthread_mutex_init(&waited->lock, NULL);
    pthread_cond_init(&waited->changed, NULL);
    waited->finished = false;
    waited->update = (struct partition_update){
        .partition = partition,
        .decide = decide,
        .arg = waited,
        .done = waited_done,
    };
    partition_update(service->store, &waited->update);
    pthread_mutex_lock(&waited->lock);
    while (!waited->finished)
        pthread_cond_wait(&waited->changed, &waited->lock);
    pthread_mutex_unlock(&waited->lock);
    pthread_cond_destroy(&waited->changed);
    pthread_mutex_destroy(&waited->lock);
    return waited->err;
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

static enum err sweep_decide(struct change *change, void *arg)
{
    struct sweep_request *request = arg;
    struct arena *arena = change_arena(change);
    request->removed_count = 0;
    struct cursor *cursor =
        change_scan(change, blob_key_prefix(arena, (struct slice){ 0 }), (struct slice){ 0 });
    struct slice keys[SWEEP_BATCH_ROWS];
    enum err err = OK;
    while (request->removed_count < SWEEP_BATCH_ROWS) {
        struct slice key;
        struct slice row;
        struct blob blob;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = blob_decode(arena, arena_copy(arena, row), &blob);
        if (err != OK)
            break;
        blob_drop_content(change, &blob.content);
        keys[request->removed_count++] = arena_copy(arena, key);
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
    enum err err = update_and_wait(service, &closing, partition, close_decide);
    struct sweep_request request = { .removed_count = SWEEP_BATCH_ROWS };
    while (err == OK && request.removed_count > 0)
        err = is_stopping(sweeper)
                  ? ERR_SHUTTING_DOWN
                  : update_and_wait(service, &request.waited, partition, sweep_decide);
    return err;
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

/* The first deleted container of an account; ERR_NOT_FOUND when there is none. */
static enum err find_garbage(struct service *service, struct arena *arena, struct slice partition,
                             struct slice *key)
{
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of("g"), (struct slice){ 0 });
    struct slice found;
    struct slice row;
    const enum err err = cursor_next(cursor, &found, &row);
    if (err == OK)
        *key = arena_copy(arena, found);
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
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
    return update_and_wait(service, &request.waited, partition, forget_decide);
}

static enum err sweep_account(struct service *service, struct sweeper *sweeper,
                              struct slice account)
{
    struct arena arena = { 0 };
    const struct slice partition = account_partition(&arena, account);
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        err = find_garbage(service, &arena, partition, &key);
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

static void *sweeper_run(void *arg)
{
    struct sweeper *sweeper = arg;
    pthread_mutex_lock(&sweeper->lock);
    while (!sweeper->stop) {
        if (!sweeper->work) {
            pthread_cond_wait(&sweeper->changed, &sweeper->lock);
            continue;
        }
        sweeper->work = false;
        pthread_mutex_unlock(&sweeper->lock);
        for (size_t i = 0; i < sweeper->account_count; i++) {
            const enum err err = sweep_account(sweeper->service, sweeper, sweeper->accounts[i]);
            if (err != OK && err != ERR_SHUTTING_DOWN)
                log_error("sweeper", "a deleted container stays unreclaimed: %s", error_text(err));
        }
        pthread_mutex_lock(&sweeper->lock);
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
    sweeper->work = true;
    sweeper->account_count = account_count;
    sweeper->accounts = arena_alloc(&sweeper->arena, account_count * sizeof(*accounts));
    for (size_t i = 0; i < account_count; i++)
        sweeper->accounts[i] = arena_copy(&sweeper->arena, accounts[i]);
    pthread_mutex_init(&sweeper->lock, NULL);
    pthread_cond_init(&sweeper->changed, NULL);
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
