/*
 * service_fixture.h - a whole service for a test, on any engine.
 *
 * A test body is written once and listed with ON_ALL_ENGINES, which runs it
 *   - on the memory engine without threads, where decisions are re-run at random,
 *   - on the memory engine with two committers, the same,
 *   - on RocksDB with two committers, in a directory of its own.
 * Payloads are on the simulated disk.  The clock stands still until the test moves it.
 *
 * Every operation has an arena of its own, as a request has, so what it leaves behind when the
 * arena goes (pins, unfinished payloads) is part of the test.
 */
#ifndef TESTS_UNIT_SERVICE_SERVICE_FIXTURE_H
#define TESTS_UNIT_SERVICE_SERVICE_FIXTURE_H

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

#include "base/arena.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/blob/blob_name.h"
#include "service/blob/container.h"
#include "service/service.h"
#include "stream/stream.h"

enum service_fixture_kind {
    SERVICE_ON_MEMORY,
    SERVICE_ON_MEMORY_THREADS,
    SERVICE_ON_ROCKSDB,
};

enum {
    FIXTURE_INLINE_BYTES = 100, /* small, so that both sides of the limit are cheap */
};

/* 2026-11-15T00:00:00Z */
#define FIXTURE_T0           INT64_C(639302976000000000)
#define FIXTURE_ACCOUNT_NAME "devstoreaccount1"

struct service_fixture {
    enum service_fixture_kind kind;
    char path[64]; /* SERVICE_ON_ROCKSDB: a directory of its own */
    struct clock clock;
    struct io *io;
    struct stream *stream;
    struct service service;
    struct arena arena; /* of the test: results it looks at */
};

static inline int fixture_remove_file(const char *path, const struct stat *stat, int type,
                                      struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void fixture_open_store(struct service_fixture *fixture)
{
    const struct partition_options options = {
        .clock = &fixture->clock,
        .stream = fixture->stream,
        .committers = fixture->kind == SERVICE_ON_MEMORY ? 0 : 2,
        .contrary_seed = 42,
    };
    if (fixture->kind != SERVICE_ON_ROCKSDB) {
        fixture->service.store = partition_open_memory(&options);
        return;
    }
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/zaffre-service-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    assert_int_equal(partition_open_rocksdb(fixture->path, &options, &fixture->service.store), OK);
}

/* `*state` points to an enum service_fixture_kind at first. */
static inline int service_fixture_setup(void **state)
{
    struct service_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->kind = *(const enum service_fixture_kind *)*state;
    clock_init_manual(&fixture->clock, FIXTURE_T0);
    fixture->io = io_memory_new_untracked(0);
    assert_int_equal(stream_open(fixture->io, &fixture->clock, &fixture->stream), OK);
    fixture->service.clock = &fixture->clock;
    fixture->service.stream = fixture->stream;
    fixture->service.inline_payload_bytes = FIXTURE_INLINE_BYTES;
    fixture_open_store(fixture);
    *state = fixture;
    return 0;
}

static inline int service_fixture_teardown(void **state)
{
    struct service_fixture *fixture = *state;
    arena_release(&fixture->arena);
    partition_close(fixture->service.store);
    stream_close(fixture->stream);
    io_free(fixture->io);
    if (fixture->path[0] != '\0')
        nftw(fixture->path, fixture_remove_file, 16, FTW_DEPTH | FTW_PHYS);
    free(fixture);
    return 0;
}

static enum service_fixture_kind fixture_on_memory __attribute__((unused)) = SERVICE_ON_MEMORY;
static enum service_fixture_kind fixture_on_memory_threads __attribute__((unused)) =
    SERVICE_ON_MEMORY_THREADS;
static enum service_fixture_kind fixture_on_rocksdb __attribute__((unused)) = SERVICE_ON_ROCKSDB;

#define ON_ENGINE(test, kind, words)                                                               \
    {                                                                                              \
#test " (" words ")", test, service_fixture_setup, service_fixture_teardown, &(kind)       \
    }
#define ON_MEMORY(test)  ON_ENGINE(test, fixture_on_memory, "memory")
#define ON_THREADS(test) ON_ENGINE(test, fixture_on_memory_threads, "memory, threads")
#define ON_ROCKSDB(test) ON_ENGINE(test, fixture_on_rocksdb, "rocksdb")

#define ON_ALL_ENGINES(test) ON_MEMORY(test), ON_THREADS(test), ON_ROCKSDB(test)

static inline void fixture_advance_ms(struct service_fixture *fixture, int64_t span_ms)
{
    clock_shift(&fixture->clock, span_ms * CLOCK_TICKS_PER_MS);
}

/* --- waiting --- */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool finished;
    enum err err;
};

static inline void waiter_init(struct waiter *waiter)
{
    *waiter = (struct waiter){ 0 };
    pthread_mutex_init(&waiter->lock, NULL);
    pthread_cond_init(&waiter->changed, NULL);
}

static inline void waiter_done(void *arg, enum err err)
{
    struct waiter *waiter = arg;
    pthread_mutex_lock(&waiter->lock);
    /* Not an assertion of cmocka, which only the test's own thread may make. */
    if (waiter->finished)
        abort();
    waiter->err = err;
    waiter->finished = true;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

static inline enum err waiter_wait(struct waiter *waiter)
{
    pthread_mutex_lock(&waiter->lock);
    while (!waiter->finished)
        pthread_cond_wait(&waiter->changed, &waiter->lock);
    pthread_mutex_unlock(&waiter->lock);
    pthread_cond_destroy(&waiter->changed);
    pthread_mutex_destroy(&waiter->lock);
    return waiter->err;
}

/* Fill the common part of a change; its arena is one of its own. */
static inline void waiter_bind(struct waiter *waiter, struct service_change *base,
                               struct arena *arena)
{
    waiter_init(waiter);
    base->arena = arena;
    base->done = waiter_done;
    base->arg = waiter;
}

/* --- containers --- */

static inline struct container_name container_named(const char *name)
{
    return (struct container_name){ slice_of(FIXTURE_ACCOUNT_NAME), slice_of(name) };
}

typedef void container_change_fn(struct service *service, struct container_change *change);

/* Start a change of a container and wait for it; its name is filled in. */
static inline enum err container_await(struct service_fixture *fixture, const char *name,
                                       container_change_fn *start, struct container_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = container_named(name);
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline void container_make(struct service_fixture *fixture, const char *name)
{
    struct container_change change = { 0 };
    assert_int_equal(container_await(fixture, name, container_create, &change), OK);
}

static inline enum err container_remove(struct service_fixture *fixture, const char *name)
{
    struct container_change change = { 0 };
    return container_await(fixture, name, container_delete, &change);
}

static inline enum err container_lease_await(struct service_fixture *fixture, const char *name,
                                             struct container_lease *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = container_named(name);
    container_lease(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* --- blobs: all in container "box" unless said otherwise --- */

static inline struct blob_name blob_named(const char *container, const char *name)
{
    return (struct blob_name){ .container = container_named(container), .blob = slice_of(name) };
}

typedef void blob_change_fn(struct service *service, struct blob_change *change);

static inline enum err blob_await(struct service_fixture *fixture, const char *name,
                                  blob_change_fn *start, struct blob_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = blob_named("box", name);
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* blob_put of `bytes` into a container; what else `change` says holds too. */
static inline enum err blob_put_into(struct service_fixture *fixture, const char *container,
                                     const char *name, struct slice bytes,
                                     struct blob_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = blob_named(container, name);
    assert_int_equal(payload_writer_new(&fixture->service, &arena, bytes.len, &change->payload),
                     OK);
    assert_int_equal(payload_writer_append(change->payload, bytes), OK);
    assert_int_equal(payload_writer_finish(change->payload), OK);
    blob_put(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* Put a blob of the text; its ETag. */
static inline int64_t blob_put_text(struct service_fixture *fixture, const char *name,
                                    const char *text)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", name, slice_of(text), &change), OK);
    return change.etag;
}

static inline enum err blob_lease_await(struct service_fixture *fixture, const char *name,
                                        struct blob_lease *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = blob_named("box", name);
    blob_lease(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* The record of a blob of "box", in the fixture's arena. */
static inline enum err blob_read_record(struct service_fixture *fixture, const char *name,
                                        struct blob *blob)
{
    const struct blob_get_request get = { .name = blob_named("box", name) };
    return blob_get(&fixture->service, &fixture->arena, &get, blob, NULL);
}

/* All bytes of an open payload, in the fixture's arena. */
static inline struct slice fixture_payload_bytes(struct service_fixture *fixture,
                                                 struct payload_reader *payload)
{
    char *bytes = arena_bytes(&fixture->arena, (size_t)payload->length_bytes);
    assert_int_equal(payload_read(payload, 0, bytes, (size_t)payload->length_bytes), OK);
    return slice_make(bytes, (size_t)payload->length_bytes);
}

static inline struct slice blob_read_bytes(struct service_fixture *fixture, const char *name)
{
    const struct blob_get_request get = { .name = blob_named("box", name), .want_payload = true };
    struct blob blob;
    struct payload_reader payload;
    struct arena arena = { 0 };
    assert_int_equal(blob_get(&fixture->service, &arena, &get, &blob, &payload), OK);
    const struct slice bytes = fixture_payload_bytes(fixture, &payload);
    arena_release(&arena);
    return bytes;
}

/* --- the store, byte for byte --- */

/* Append all rows of a partition to `out`, in the form key, value, each with its length. */
static inline size_t fixture_dump_partition(struct service_fixture *fixture, struct slice partition,
                                            struct strbuf *out)
{
    struct partition_view view;
    partition_view_open(fixture->service.store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, (struct slice){ 0 }, (struct slice){ 0 });
    struct slice key;
    struct slice value;
    size_t count = 0;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK) {
        strbuf_printf(out, "\n%zu %zu ", key.len, value.len);
        strbuf_add(out, key);
        strbuf_add(out, value);
        count++;
    }
    assert_int_equal(err, ERR_NOT_FOUND);
    cursor_free(cursor);
    partition_view_close(&view);
    return count;
}

static inline bool fixture_dump_blobs(void *arg, struct slice name,
                                      const struct container *container)
{
    void *const *both = arg;
    struct service_fixture *fixture = both[0];
    (void)name;
    fixture_dump_partition(fixture, blob_partition(&fixture->arena, container->incarnation),
                           both[1]);
    return true;
}

/* Every row of the account and of its containers' blobs, in the fixture's arena. */
static inline struct slice fixture_dump(struct service_fixture *fixture)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    const struct slice account = slice_of(FIXTURE_ACCOUNT_NAME);
    fixture_dump_partition(fixture, account_partition(&fixture->arena, account), &out);
    void *both[] = { fixture, &out };
    const struct container_list_request list = {
        .account = account, .results_max = SIZE_MAX, .emit = fixture_dump_blobs, .arg = both
    };
    struct slice next;
    assert_int_equal(container_list(&fixture->service, &fixture->arena, &list, &next), OK);
    return strbuf_slice(&out);
}

static inline void fixture_assert_unchanged(struct service_fixture *fixture, struct slice before)
{
    const struct slice after = fixture_dump(fixture);
    assert_int_equal(after.len, before.len);
    assert_memory_equal(after.data, before.data, before.len);
}

#endif
