/*
 * store_fixture.h - a store for a test, on either engine.
 *
 * A test body is written once and listed with ON_BOTH_ENGINES, which runs it on the memory engine
 * and on RocksDB in a directory of its own.
 */
#ifndef TESTS_UNIT_PARTITION_STORE_FIXTURE_H
#define TESTS_UNIT_PARTITION_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/slice.h"
#include "partition/partition.h"

enum store_kind {
    STORE_MEMORY,
    STORE_ROCKSDB,
};

struct store_fixture {
    enum store_kind kind;
    char path[64]; /* of a directory of its own */
    struct clock clock;
    struct partition_options options;
    struct partition_store *store;
    struct arena arena;
};

static inline struct slice text(const char *string)
{
    return slice_of(string);
}

static inline void store_fixture_open(struct store_fixture *fixture)
{
    fixture->options.clock = &fixture->clock;
    if (fixture->kind == STORE_MEMORY)
        fixture->store = partition_open_memory(&fixture->options);
    else
        assert_int_equal(partition_open_rocksdb(fixture->path, &fixture->options, &fixture->store),
                         OK);
}

static inline void store_fixture_close(struct store_fixture *fixture)
{
    partition_close(fixture->store);
    fixture->store = NULL;
}

/* Open the store again with other options; a memory store is empty then. */
static inline void store_fixture_reopen(struct store_fixture *fixture, unsigned committers)
{
    store_fixture_close(fixture);
    fixture->options.committers = committers;
    store_fixture_open(fixture);
}

static inline int remove_file(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void remove_directory(const char *path)
{
    nftw(path, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

/* `*state` points to an enum store_kind at first. */
static inline int store_fixture_setup(void **state)
{
    struct store_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->kind = *(const enum store_kind *)*state;
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/zaffre-partition-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    clock_init_manual(&fixture->clock, 1000);
    store_fixture_open(fixture);
    *state = fixture;
    return 0;
}

static inline int store_fixture_teardown(void **state)
{
    struct store_fixture *fixture = *state;
    if (fixture->store != NULL)
        store_fixture_close(fixture);
    arena_release(&fixture->arena);
    remove_directory(fixture->path);
    free(fixture);
    return 0;
}

static enum store_kind store_on_memory = STORE_MEMORY;
static enum store_kind store_on_rocksdb = STORE_ROCKSDB;

#define ON_MEMORY(test)                                                                            \
    {                                                                                              \
#test " (memory)", test, store_fixture_setup, store_fixture_teardown, &store_on_memory     \
    }
#define ON_ROCKSDB(test)                                                                           \
    {                                                                                              \
#test " (rocksdb)", test, store_fixture_setup, store_fixture_teardown, &store_on_rocksdb   \
    }
#define ON_BOTH_ENGINES(test) ON_MEMORY(test), ON_ROCKSDB(test)

/* --- updates, waited for --- */

struct awaited_update {
    struct partition_update update;
    change_fn *decide;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
    enum err err;
};

static inline enum err awaited_decide(struct change *change, void *arg)
{
    struct awaited_update *awaited = arg;
    return awaited->decide(change, awaited->arg);
}

static inline void awaited_done(void *arg, enum err err)
{
    struct awaited_update *awaited = arg;
    pthread_mutex_lock(&awaited->lock);
    awaited->err = err;
    awaited->is_done = true;
    pthread_cond_signal(&awaited->changed);
    pthread_mutex_unlock(&awaited->lock);
}

static inline void awaited_submit(struct partition_store *store, struct awaited_update *awaited,
                                  struct slice partition, change_fn *decide, void *arg)
{
    *awaited = (struct awaited_update){ .decide = decide, .arg = arg };
    pthread_mutex_init(&awaited->lock, NULL);
    pthread_cond_init(&awaited->changed, NULL);
    awaited->update = (struct partition_update){
        .partition = partition,
        .decide = awaited_decide,
        .arg = awaited,
        .done = awaited_done,
    };
    partition_update(store, &awaited->update);
}

static inline enum err awaited_wait(struct awaited_update *awaited)
{
    pthread_mutex_lock(&awaited->lock);
    while (!awaited->is_done)
        pthread_cond_wait(&awaited->changed, &awaited->lock);
    pthread_mutex_unlock(&awaited->lock);
    pthread_cond_destroy(&awaited->changed);
    pthread_mutex_destroy(&awaited->lock);
    return awaited->err;
}

static inline enum err store_update(struct partition_store *store, const char *partition,
                                    change_fn *decide, void *arg)
{
    struct awaited_update awaited;
    awaited_submit(store, &awaited, text(partition), decide, arg);
    return awaited_wait(&awaited);
}

/* --- common decisions --- */

struct put_arg {
    const char *key;
    const char *value;
};

static inline enum err decide_put(struct change *change, void *arg)
{
    const struct put_arg *put = arg;
    change_put(change, text(put->key), text(put->value));
    return OK;
}

static inline void store_put(struct partition_store *store, const char *partition, const char *key,
                             const char *value)
{
    struct put_arg put = { .key = key, .value = value };
    assert_int_equal(store_update(store, partition, decide_put, &put), OK);
}

/* The value as text, or NULL. */
static inline const char *store_get(struct store_fixture *fixture, const char *partition,
                                    const char *key)
{
    struct slice value;
    const enum err err =
        partition_get(fixture->store, &fixture->arena, text(partition), text(key), &value);
    if (err == ERR_NOT_FOUND)
        return NULL;
    assert_int_equal(err, OK);
    return value.data; /* arena_copy ends it with a NUL */
}

/* What is left of a cursor, as "key=value key=value"; frees the cursor. */
static inline const char *cursor_text(struct arena *arena, struct cursor *cursor)
{
    struct slice all = { .data = "", .len = 0 };
    struct slice key;
    struct slice value;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK)
        all = arena_printf(arena, "%.*s%s%.*s=%.*s", (int)all.len, all.data, all.len > 0 ? " " : "",
                           (int)key.len, key.data, (int)value.len, value.data);
    assert_int_equal(err, ERR_NOT_FOUND);
    cursor_free(cursor);
    return all.data;
}

#endif
