/*
 * test_append.c - append blobs: blocks are added at the end, one after the other ("Append Block",
 * "Append Blob Seal").
 */
#include "service/blob/append.h"

#include "base/log.h"
#include "service/blob/segments.h"
#include "service_fixture.h"
#include "test_random.h"

static const struct uuid A = { .bytes = { 0xA } };

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static enum err create(struct service_fixture *fixture, const char *name)
{
    struct blob_change change = { 0 };
    return blob_await(fixture, name, append_create, &change);
}

/* A block under way. */
struct block {
    struct append_change change;
    struct arena arena;
    struct waiter waiter;
};

static void block_start(struct service_fixture *fixture, const char *name, struct slice bytes,
                        struct block *block)
{
    struct append_change *change = &block->change;
    waiter_bind(&block->waiter, &change->blob.base, &block->arena);
    change->blob.name = blob_named("box", name);
    assert_int_equal(
        payload_writer_new(&fixture->service, &block->arena, bytes.len, &change->blob.payload), OK);
    assert_int_equal(payload_writer_append(change->blob.payload, bytes), OK);
    assert_int_equal(payload_writer_finish(change->blob.payload), OK);
    append_block(&fixture->service, change);
}

static enum err block_wait(struct block *block)
{
    const enum err err = waiter_wait(&block->waiter);
    arena_release(&block->arena);
    return err;
}

static enum err add_with(struct service_fixture *fixture, const char *name, struct slice bytes,
                         struct append_change *change)
{
    struct block block = { .change = *change };
    block_start(fixture, name, bytes, &block);
    const enum err err = block_wait(&block);
    *change = block.change;
    return err;
}

static enum err add(struct service_fixture *fixture, const char *name, const char *text)
{
    struct append_change change = { 0 };
    return add_with(fixture, name, slice_of(text), &change);
}

static enum err seal_with(struct service_fixture *fixture, const char *name,
                          struct append_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->blob.base, &arena);
    change->blob.name = blob_named("box", name);
    append_seal(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* --- decisions of the test's own --- */

struct own_update {
    struct partition_update update;
    struct waiter waiter;
    struct slice name;
    uint64_t block_count; /* to set */
    int64_t snapshot;     /* result */
};

static void own_done(void *arg, enum err err)
{
    struct own_update *own = arg;
    waiter_done(&own->waiter, err);
}

static struct slice box_partition(struct service_fixture *fixture)
{
    struct slice partition;
    const struct container_name name = container_named("box");
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    return partition;
}

static void own_await(struct service_fixture *fixture, struct own_update *own, change_fn *decide)
{
    waiter_init(&own->waiter);
    own->update = (struct partition_update){
        .partition = box_partition(fixture),
        .decide = decide,
        .arg = own,
        .done = own_done,
    };
    partition_update(fixture->service.store, &own->update);
    assert_int_equal(waiter_wait(&own->waiter), OK);
}

static enum err read_own(struct change *change, const struct own_update *own, struct blob *blob)
{
    struct slice row;
    const enum err err = change_get(change, blob_key(change_arena(change), own->name), &row);
    return err == OK ? blob_decode(change_arena(change), row, blob) : err;
}

static enum err snapshot_decide(struct change *change, void *arg)
{
    struct own_update *own = arg;
    struct arena *arena = change_arena(change);
    struct blob blob;
    enum err err = read_own(change, own, &blob);
    if (err == OK)
        err = content_share(change, &blob.content);
    if (err != OK)
        return err;
    own->snapshot = change_now(change);
    change_put(change, blob_key(arena, own->name), blob_encode(arena, &blob));
    change_put(change, snapshot_key(arena, own->name, own->snapshot), blob_encode(arena, &blob));
    return OK;
}

static enum err count_decide(struct change *change, void *arg)
{
    const struct own_update *own = arg;
    struct arena *arena = change_arena(change);
    struct blob blob;
    const enum err err = read_own(change, own, &blob);
    if (err != OK)
        return err;
    blob.block_count = own->block_count;
    change_put(change, blob_key(arena, own->name), blob_encode(arena, &blob));
    return OK;
}

/* --- tests --- */

static void blocks_come_one_after_the_other(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    assert_int_equal(blob_read_bytes(fixture, "log").len, 0);
    struct strbuf all;
    strbuf_init(&all, &fixture->arena);
    /* More than fill a row or two of the list, on both sides of the inline limit. */
    for (uint64_t count = 1; count <= 200; count++) {
        struct arena arena = { 0 };
        const size_t most = count % 10 == 0 ? 3000 : 2 * FIXTURE_INLINE_BYTES;
        const struct slice bytes = random_bytes(&random, &arena, most);
        const struct slice block = bytes.len > 0 ? bytes : slice_of("x");
        struct append_change change = { 0 };
        assert_int_equal(add_with(fixture, "log", block, &change), OK);
        assert_int_equal(change.offset, all.len);
        assert_int_equal(change.block_count, count);
        strbuf_add(&all, block);
        arena_release(&arena);
    }
    assert_true(slice_equal(blob_read_bytes(fixture, "log"), strbuf_slice(&all)));
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "log", &blob), OK);
    assert_int_equal(blob.type, BLOB_APPEND);
    assert_int_equal(blob.block_count, 200);
}

static void snapshots_and_readers_see_what_was_there(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    struct strbuf all;
    strbuf_init(&all, &fixture->arena);
    enum { TAKEN = 12 };
    struct {
        struct arena arena;
        struct payload_reader reader; /* opened at that moment */
        int64_t snapshot;
        size_t len;
    } taken[TAKEN] = { 0 };
    for (size_t i = 0; i < TAKEN; i++) {
        struct blob blob;
        const struct blob_get_request get = { .name = blob_named("box", "log"),
                                              .want_payload = true };
        assert_int_equal(
            blob_get(&fixture->service, &taken[i].arena, &get, &blob, &taken[i].reader), OK);
        struct own_update own = { .name = slice_of("log") };
        own_await(fixture, &own, snapshot_decide);
        taken[i].snapshot = own.snapshot;
        taken[i].len = all.len;
        for (size_t blocks = random_below(&random, 40); blocks > 0; blocks--) {
            struct append_change change = { 0 };
            const size_t len = 1 + random_below(&random, 2 * FIXTURE_INLINE_BYTES);
            char *bytes = arena_bytes(&fixture->arena, len);
            memset(bytes, 'a' + (int)(i % 26), len);
            assert_int_equal(add_with(fixture, "log", slice_make(bytes, len), &change), OK);
            strbuf_add(&all, slice_make(bytes, len));
        }
        partition_reclaim(fixture->service.store);
    }
    assert_int_equal(blob_await(fixture, "log", append_create, &(struct blob_change){ 0 }), OK);
    partition_reclaim(fixture->service.store);
    for (size_t i = 0; i < TAKEN; i++) {
        const struct slice expected = slice_head(strbuf_slice(&all), taken[i].len);
        assert_true(slice_equal(fixture_payload_bytes(fixture, &taken[i].reader), expected));
        struct blob_get_request get = { .name = blob_named("box", "log"), .want_payload = true };
        get.name.snapshot = taken[i].snapshot;
        struct blob blob;
        struct payload_reader reader;
        assert_int_equal(blob_get(&fixture->service, &taken[i].arena, &get, &blob, &reader), OK);
        assert_true(slice_equal(fixture_payload_bytes(fixture, &reader), expected));
        arena_release(&taken[i].arena);
    }
}

static void each_position_is_won_by_one(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    enum { WRITERS = 8 };
    for (uint64_t round = 0; round < 10; round++) {
        struct block blocks[WRITERS] = { 0 };
        for (size_t i = 0; i < WRITERS; i++) {
            blocks[i].change.has_position = true;
            blocks[i].change.position = round * 3;
            block_start(fixture, "log", slice_of("abc"), &blocks[i]);
        }
        size_t won = 0;
        for (size_t i = 0; i < WRITERS; i++) {
            const enum err err = block_wait(&blocks[i]);
            assert_true(err == OK || err == ERR_APPEND_POSITION_NOT_MET);
            won += err == OK;
        }
        assert_int_equal(won, 1);
    }
    assert_int_equal(blob_read_bytes(fixture, "log").len, 30);
}

static void a_size_that_would_be_exceeded_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    struct append_change change = { .has_size_max = true, .size_max = 5 };
    assert_int_equal(add_with(fixture, "log", slice_of("123456"), &change), ERR_MAX_SIZE_NOT_MET);
    assert_int_equal(add_with(fixture, "log", slice_of("123"), &change), OK);
    assert_int_equal(add_with(fixture, "log", slice_of("456"), &change), ERR_MAX_SIZE_NOT_MET);
    assert_int_equal(add_with(fixture, "log", slice_of("45"), &change), OK);
    change.size_max = 4;
    assert_int_equal(add_with(fixture, "log", slice_of("6"), &change), ERR_MAX_SIZE_NOT_MET);
    assert_true(slice_is(blob_read_bytes(fixture, "log"), "12345"));
}

static void only_append_blobs_are_appended_to(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(add(fixture, "log", "abc"), ERR_BLOB_NOT_FOUND);
    blob_put_text(fixture, "text", "abc");
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(add(fixture, "text", "abc"), ERR_INVALID_BLOB_TYPE);
    assert_int_equal(seal_with(fixture, "text", &(struct append_change){ 0 }),
                     ERR_INVALID_BLOB_TYPE);
    fixture_assert_unchanged(fixture, before);
}

static void there_are_at_most_50000_blocks(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    struct own_update own = { .name = slice_of("log"), .block_count = APPEND_BLOCKS_MAX - 1 };
    own_await(fixture, &own, count_decide);
    assert_int_equal(add(fixture, "log", "last"), OK);
    assert_int_equal(add(fixture, "log", "more"), ERR_BLOCK_COUNT);
    assert_true(slice_is(blob_read_bytes(fixture, "log"), "last"));
}

static void a_sealed_blob_takes_no_more_blocks(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    assert_int_equal(add(fixture, "log", "abc"), OK);
    struct append_change seal = { .has_position = true, .position = 2 };
    assert_int_equal(seal_with(fixture, "log", &seal), ERR_APPEND_POSITION_NOT_MET);
    seal.position = 3;
    assert_int_equal(seal_with(fixture, "log", &seal), OK);
    const int64_t etag = seal.blob.etag;
    assert_int_equal(add(fixture, "log", "def"), ERR_BLOB_SEALED);
    /* Again is fine and changes nothing. */
    assert_int_equal(seal_with(fixture, "log", &seal), OK);
    assert_int_equal(seal.blob.etag, etag);
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "log", &blob), OK);
    assert_true(blob.sealed);
    assert_true(slice_is(blob_read_bytes(fixture, "log"), "abc"));
    /* A new blob of the name is not sealed. */
    assert_int_equal(create(fixture, "log"), OK);
    assert_int_equal(add(fixture, "log", "new"), OK);
}

static void a_leased_blob_is_appended_to_with_its_lease(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    struct blob_lease lease = { .lease = { .action = LEASE_ACTION_ACQUIRE,
                                           .proposed_id = A,
                                           .duration_sec = LEASE_DURATION_SEC_INFINITE } };
    assert_int_equal(blob_lease_await(fixture, "log", &lease), OK);
    assert_int_equal(add(fixture, "log", "abc"), ERR_LEASE_ID_MISSING);
    assert_int_equal(seal_with(fixture, "log", &(struct append_change){ 0 }), ERR_LEASE_ID_MISSING);
    struct append_change change = { .blob = { .has_lease_id = true, .lease_id = A } };
    assert_int_equal(add_with(fixture, "log", slice_of("abc"), &change), OK);
    assert_int_equal(create(fixture, "log"), ERR_LEASE_ID_MISSING);
}

static void an_etag_that_is_not_the_blobs_stops_a_block(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "log"), OK);
    struct append_change first = { 0 };
    assert_int_equal(add_with(fixture, "log", slice_of("abc"), &first), OK);
    struct append_change next = { 0 };
    next.blob.condition.if_match = (struct condition_etags){
        .present = true, .listed_count = 1, .count = 1, .etags = { first.blob.etag }
    };
    struct append_change late = next;
    assert_int_equal(add_with(fixture, "log", slice_of("def"), &next), OK);
    assert_int_equal(add_with(fixture, "log", slice_of("ghi"), &late), ERR_CONDITION_NOT_MET);
    assert_true(slice_is(blob_read_bytes(fixture, "log"), "abcdef"));
}

static void deleting_leaves_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const struct slice before = fixture_dump(fixture);
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    assert_int_equal(create(fixture, "log"), OK);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(add(fixture, "log", "short"), OK);
        char bytes[2 * FIXTURE_INLINE_BYTES];
        memset(bytes, 'x', sizeof(bytes));
        struct append_change change = { 0 };
        assert_int_equal(add_with(fixture, "log", slice_make(bytes, sizeof(bytes)), &change), OK);
    }
    assert_true(io_memory_bytes(fixture->io) > disk_bytes);
    assert_int_equal(blob_await(fixture, "log", blob_delete, &(struct blob_change){ 0 }), OK);
    fixture_assert_unchanged(fixture, before);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(blocks_come_one_after_the_other),
        ON_ALL_ENGINES(snapshots_and_readers_see_what_was_there),
        ON_ALL_ENGINES(each_position_is_won_by_one),
        ON_ALL_ENGINES(a_size_that_would_be_exceeded_is_refused),
        ON_ALL_ENGINES(only_append_blobs_are_appended_to),
        ON_ALL_ENGINES(there_are_at_most_50000_blocks),
        ON_ALL_ENGINES(a_sealed_blob_takes_no_more_blocks),
        ON_ALL_ENGINES(a_leased_blob_is_appended_to_with_its_lease),
        ON_ALL_ENGINES(an_etag_that_is_not_the_blobs_stops_a_block),
        ON_ALL_ENGINES(deleting_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
