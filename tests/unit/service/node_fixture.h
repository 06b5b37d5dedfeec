/*
 * node_fixture.h - a share for a test, and the operations on what it holds in one line each.
 */
#ifndef TESTS_UNIT_SERVICE_NODE_FIXTURE_H
#define TESTS_UNIT_SERVICE_NODE_FIXTURE_H

#include "service/account_partition.h"
#include "service/file/node.h"
#include "service/file/share_state.h"
#include "service_fixture.h"

/* The share that paths are of; share_make makes a new one. */
static char share_now[16];
static unsigned share_number;

typedef void share_change_fn(struct service *service, struct share_change *change);

static inline enum err share_await(struct service_fixture *fixture, share_change_fn *start,
                                   struct share_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name.account = slice_of(FIXTURE_ACCOUNT_NAME);
    change->name.share = slice_of(share_now);
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline void share_make(struct service_fixture *fixture, uint64_t quota_gib)
{
    struct share_change change = { .quota_gib = quota_gib };
    snprintf(share_now, sizeof(share_now), "share%u", ++share_number);
    assert_int_equal(share_await(fixture, share_create, &change), OK);
}

/* Take a snapshot; its name. */
static inline int64_t share_take(struct service_fixture *fixture)
{
    struct share_change change = { 0 };
    if (share_await(fixture, share_snapshot, &change) != OK)
        abort();
    return change.share.snapshot;
}

static inline uint64_t share_incarnation(struct service_fixture *fixture)
{
    const struct share_name name = { .account = slice_of(FIXTURE_ACCOUNT_NAME),
                                     .share = slice_of(share_now) };
    struct share share;
    if (share_get(&fixture->service, &fixture->arena, &name, NULL, &share) != OK)
        abort();
    return share.incarnation;
}

static inline struct slice share_partition(struct service_fixture *fixture)
{
    return file_partition(&fixture->arena, share_incarnation(fixture));
}

static inline struct node_name node_named(struct arena *arena, const char *path, int64_t snapshot)
{
    struct node_name name = {
        .share = { .account = slice_of(FIXTURE_ACCOUNT_NAME),
                   .share = slice_of(share_now),
                   .snapshot = snapshot },
    };
    if (file_path_parse(arena, slice_of(path), FILE_DOTS_KEPT, &name.path) != OK)
        abort();
    return name;
}

typedef void node_change_fn(struct service *service, struct node_change *change);

/* Start a change and wait for it.  Its result has no slices that can be used. */
static inline enum err node_await(struct service_fixture *fixture, const char *path,
                                  node_change_fn *start, struct node_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = node_named(&arena, path, 0);
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline enum err directory_create(struct service_fixture *fixture, const char *path)
{
    struct node_change change = { .kind = NODE_DIRECTORY };
    return node_await(fixture, path, node_create, &change);
}

static inline enum err file_create(struct service_fixture *fixture, const char *path, uint64_t size)
{
    struct node_change change = { .kind = NODE_FILE, .size_bytes = size };
    return node_await(fixture, path, node_create, &change);
}

static inline enum err file_resize(struct service_fixture *fixture, const char *path, uint64_t size)
{
    struct node_change change = {
        .kind = NODE_FILE, .has_size = true, .size_bytes = size, .keeps_properties = true
    };
    return node_await(fixture, path, node_set_properties, &change);
}

static inline enum err node_remove(struct service_fixture *fixture, const char *path,
                                   enum node_kind kind)
{
    struct node_change change = { .kind = kind };
    return node_await(fixture, path, node_delete, &change);
}

static inline enum err node_move(struct service_fixture *fixture, const char *from, const char *to,
                                 struct node_change *change)
{
    struct arena arena = { 0 };
    if (file_path_parse(&arena, slice_of(from), FILE_DOTS_KEPT, &change->source) != OK)
        abort();
    const enum err err = node_await(fixture, to, node_rename, change);
    arena_release(&arena);
    return err;
}

static inline enum err file_write_with(struct service_fixture *fixture, const char *path,
                                       uint64_t start, struct slice bytes,
                                       struct node_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = node_named(&arena, path, 0);
    change->kind = NODE_FILE;
    change->start = start;
    change->end = start + bytes.len;
    if (payload_writer_new(&fixture->service, &arena, bytes.len, &change->payload) != OK ||
        payload_writer_append(change->payload, bytes) != OK ||
        payload_writer_finish(change->payload) != OK)
        abort();
    node_write(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline enum err file_write(struct service_fixture *fixture, const char *path, uint64_t start,
                                  struct slice bytes)
{
    struct node_change change = { 0 };
    return file_write_with(fixture, path, start, bytes, &change);
}

static inline enum err file_clear(struct service_fixture *fixture, const char *path, uint64_t start,
                                  uint64_t end)
{
    struct node_change change = { .kind = NODE_FILE, .start = start, .end = end };
    return node_await(fixture, path, node_clear, &change);
}

/* The record, in the fixture's arena. */
static inline enum err node_record(struct service_fixture *fixture, const char *path,
                                   enum node_kind kind, int64_t snapshot, struct node *node)
{
    struct node_get get = { .kind = kind };
    struct waiter waiter;
    waiter_bind(&waiter, &get.base, &fixture->arena);
    get.name = node_named(&fixture->arena, path, snapshot);
    node_get(&fixture->service, &get);
    *node = get.node;
    const enum err err = waiter_wait(&waiter);
    *node = get.node;
    return err;
}

/* The bytes, in `arena`. */
static inline enum err file_bytes(struct service_fixture *fixture, struct arena *arena,
                                  const char *path, int64_t snapshot, struct slice *bytes)
{
    struct arena own = { 0 };
    struct node_get get = { .kind = NODE_FILE, .want_payload = true };
    struct waiter waiter;
    waiter_bind(&waiter, &get.base, &own);
    get.name = node_named(&own, path, snapshot);
    node_get(&fixture->service, &get);
    enum err err = waiter_wait(&waiter);
    if (err == OK) {
        const size_t len = (size_t)get.payload.length_bytes;
        char *copy = arena_bytes(arena, len);
        if (len > 0)
            err = payload_read(&get.payload, 0, copy, len);
        *bytes = slice_make(copy, len);
    }
    arena_release(&own);
    return err;
}

/* The ranges as text: "0-512 c512-1024 ". */
static inline void ranges_add(void *arg, bool cleared, uint64_t start, uint64_t end)
{
    strbuf_printf(arg, "%s%llu-%llu ", cleared ? "c" : "", (unsigned long long)start,
                  (unsigned long long)end);
}

static inline enum err file_ranges(struct service_fixture *fixture, const char *path,
                                   int64_t snapshot, int64_t previous, struct slice *text)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    struct node_ranges ranges = {
        .previous = previous, .end = UINT64_MAX, .emit = ranges_add, .arg = &out
    };
    struct waiter waiter;
    waiter_bind(&waiter, &ranges.base, &fixture->arena);
    ranges.name = node_named(&fixture->arena, path, snapshot);
    node_ranges(&fixture->service, &ranges);
    const enum err err = waiter_wait(&waiter);
    *text = strbuf_slice(&out);
    return err;
}

/* What the share's files take. */
static inline uint64_t share_used_bytes(struct service_fixture *fixture)
{
    struct slice row;
    struct share_state state = { 0 };
    const enum err err = partition_get(fixture->service.store, &fixture->arena,
                                       share_partition(fixture), share_state_key(), &row);
    assert_true(err == OK || err == ERR_NOT_FOUND);
    if (err == OK)
        assert_int_equal(share_state_decode(row, &state), OK);
    return state.used_bytes;
}

#endif
