/*
 * test_block.c - blobs made of blocks: putting blocks, committing and reading lists, what becomes
 * of blocks nobody commits, and all of it against a simple model.
 */
#include "base/log.h"
#include "service/blob/block.h"

#include "service/blob/fsck.h"
#include "service/blob/segments.h"
#include "service/limits.h"
#include "service/row.h"
#include "service/sweeper.h"
#include "service_fixture.h"
#include "test_random.h"

static const struct uuid A = { .bytes = { 0xA } };
static const struct uuid B = { .bytes = { 0xB } };

#define WEEK_MS (INT64_C(7) * 24 * 60 * 60 * 1000)

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static struct slice bytes_of_len(struct service_fixture *fixture, size_t len, char first)
{
    char *bytes = arena_bytes(&fixture->arena, len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(first + (char)(i % 97));
    return slice_make(bytes, len);
}

static struct slice box_partition(struct service_fixture *fixture)
{
    struct slice partition;
    const struct container_name name = container_named("box");
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    return partition;
}

static size_t row_count(struct service_fixture *fixture)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, box_partition(fixture), &out);
}

/* --- operations --- */

/* What else `put` says holds too. */
static enum err put_block_with(struct service_fixture *fixture, const char *name,
                               struct slice block_id, struct slice bytes, struct block_put *put)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &put->change.base, &arena);
    put->change.name = blob_named("box", name);
    put->block_id = block_id;
    struct payload_writer **payload = &put->change.payload;
    assert_int_equal(payload_writer_new(&fixture->service, &arena, bytes.len, payload), OK);
    assert_int_equal(payload_writer_append(*payload, bytes), OK);
    assert_int_equal(payload_writer_finish(*payload), OK);
    block_put(&fixture->service, put);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err put_block(struct service_fixture *fixture, const char *name, const char *block_id,
                          struct slice bytes)
{
    struct block_put put = { 0 };
    return put_block_with(fixture, name, slice_of(block_id), bytes, &put);
}

static void put_text(struct service_fixture *fixture, const char *block_id, const char *text)
{
    assert_int_equal(put_block(fixture, "blob", block_id, slice_of(text)), OK);
}

static enum err commit_refs(struct service_fixture *fixture, const char *name,
                            const struct block_ref *blocks, size_t count,
                            struct block_list_put *put)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &put->change.base, &arena);
    put->change.name = blob_named("box", name);
    put->blocks = blocks;
    put->block_count = count;
    block_list_put(&fixture->service, put);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* A list as words, each a letter for the kind (l, c, u) and the id. */
static enum err commit_with(struct service_fixture *fixture, const char *name, const char *words,
                            struct block_list_put *put)
{
    struct block_ref *blocks = arena_alloc(&fixture->arena, 64 * sizeof(*blocks));
    size_t count = 0;
    for (struct slice rest = slice_of(words); rest.len > 0;) {
        const size_t space = slice_find_byte(rest, ' ');
        const struct slice word = slice_head(rest, space);
        blocks[count++] = (struct block_ref){
            .block_id = slice_from(word, 1),
            .kind = word.data[0] == 'l'   ? BLOCK_FROM_LATEST
                    : word.data[0] == 'c' ? BLOCK_FROM_COMMITTED
                                          : BLOCK_FROM_UNCOMMITTED,
        };
        rest = slice_from(rest, space + 1);
    }
    return commit_refs(fixture, name, blocks, count, put);
}

static enum err commit(struct service_fixture *fixture, const char *words)
{
    struct block_list_put put = { 0 };
    return commit_with(fixture, "blob", words, &put);
}

static enum err remove_blob(struct service_fixture *fixture, const char *name)
{
    struct blob_change change = { 0 };
    return blob_await(fixture, name, blob_delete, &change);
}

static void keep_listed(void *arg, enum block_state state, struct slice block_id, uint64_t length)
{
    strbuf_printf(arg, "%c%.*s:%llu ", state == BLOCK_COMMITTED ? 'c' : 'u', (int)block_id.len,
                  block_id.data, (unsigned long long)length);
}

/* The lists in words, each a letter for the state, the id and the length; NULL if there is none. */
static const char *listed(struct service_fixture *fixture, const char *name)
{
    struct strbuf text;
    strbuf_init(&text, &fixture->arena);
    const struct block_list_request request = {
        .get = { .name = blob_named("box", name) },
        .want_committed = true,
        .want_uncommitted = true,
        .emit = keep_listed,
        .arg = &text,
    };
    struct blob blob;
    bool exists;
    const enum err err =
        block_list_get(&fixture->service, &fixture->arena, &request, &blob, &exists);
    if (err == ERR_BLOB_NOT_FOUND)
        return NULL;
    assert_int_equal(err, OK);
    strbuf_add_byte(&text, '\0');
    return text.data;
}

static void assert_text(struct service_fixture *fixture, const char *wanted)
{
    const struct slice bytes = blob_read_bytes(fixture, "blob");
    assert_int_equal(bytes.len, strlen(wanted));
    assert_memory_equal(bytes.data, wanted, bytes.len);
}

/* --- committing --- */

static void a_list_makes_the_blob_of_its_blocks_in_its_order(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "one ");
    put_text(fixture, "2", "two ");
    put_text(fixture, "3", "three ");
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "blob", &blob), ERR_BLOB_NOT_FOUND);
    assert_int_equal(commit(fixture, "l3 u1 l2"), OK);
    assert_text(fixture, "three one two ");
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.type, BLOB_BLOCK);
    assert_int_equal(blob.block_count, 3);
    assert_string_equal(listed(fixture, "blob"), "c3:6 c1:4 c2:4 ");
}

static void blocks_of_all_sizes_are_read_whole_and_in_parts(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    static const size_t sizes[] = { 1, 50000, FIXTURE_INLINE_BYTES, FIXTURE_INLINE_BYTES + 1, 7 };
    struct strbuf wanted;
    strbuf_init(&wanted, &fixture->arena);
    for (size_t i = 0; i < 5; i++) {
        const char id[] = { (char)('1' + (char)i), '\0' };
        const struct slice bytes = bytes_of_len(fixture, sizes[i], (char)('a' + (char)i));
        assert_int_equal(put_block(fixture, "blob", id, bytes), OK);
        strbuf_add(&wanted, bytes);
    }
    assert_int_equal(commit(fixture, "l1 l2 l3 l4 l5"), OK);
    const struct blob_get_request get = { .name = blob_named("box", "blob"), .want_payload = true };
    struct blob blob;
    struct payload_reader payload;
    struct arena arena = { 0 };
    assert_int_equal(blob_get(&fixture->service, &arena, &get, &blob, &payload), OK);
    assert_int_equal(payload.length_bytes, wanted.len);
    struct test_random random = test_seed();
    for (size_t i = 0; i < 200; i++) {
        const size_t from = random_below(&random, wanted.len);
        const size_t len = random_below(&random, wanted.len - from) % 400 + 1;
        char bytes[400];
        assert_int_equal(payload_read(&payload, from, bytes, len), OK);
        assert_memory_equal(bytes, wanted.data + from, len);
    }
    arena_release(&arena);
    assert_true(slice_equal(blob_read_bytes(fixture, "blob"), strbuf_slice(&wanted)));
}

static void a_block_put_again_replaces_the_one_before(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "first");
    put_text(fixture, "2", "other");
    put_text(fixture, "1", "second");
    assert_string_equal(listed(fixture, "blob"), "u1:6 u2:5 ");
    assert_int_equal(commit(fixture, "u1"), OK);
    assert_text(fixture, "second");
}

static void latest_is_the_uncommitted_block_and_else_the_committed_one(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "old1 ");
    put_text(fixture, "2", "old2 ");
    put_text(fixture, "3", "old3 ");
    assert_int_equal(commit(fixture, "l1 l2 l3"), OK);
    put_text(fixture, "2", "new2 ");
    put_text(fixture, "3", "new3 ");
    assert_string_equal(listed(fixture, "blob"), "c1:5 c2:5 c3:5 u2:5 u3:5 ");
    assert_int_equal(commit(fixture, "l1 l2 c3"), OK);
    assert_text(fixture, "old1 new2 old3 ");
    assert_string_equal(listed(fixture, "blob"), "c1:5 c2:5 c3:5 ");
}

static void a_list_that_names_a_missing_block_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "old1 ");
    put_text(fixture, "2", "old2 ");
    assert_int_equal(commit(fixture, "l1 l2"), OK);
    put_text(fixture, "3", "new3 ");
    const struct slice before = fixture_dump(fixture);
    static const char *const lists[] = { "l4", "l1 l4", "c3", "u1", "l3 u2", "l1 l2 l3 l0" };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        assert_int_equal(commit(fixture, lists[i]), ERR_INVALID_BLOCK_LIST);
        fixture_assert_unchanged(fixture, before);
    }
    struct block_list_put put = { 0 };
    assert_int_equal(commit_with(fixture, "no such blob", "l1", &put), ERR_INVALID_BLOCK_LIST);
    fixture_assert_unchanged(fixture, before);
}

static void a_block_may_be_named_many_times_by_one_kind(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "ab");
    put_text(fixture, "2", "-");
    assert_int_equal(commit(fixture, "l1 u1"), ERR_INVALID_BLOCK_LIST);
    assert_int_equal(commit(fixture, "l1 l2 l1 l1"), OK);
    assert_text(fixture, "ab-abab");
    assert_int_equal(commit(fixture, "c1 c2 l1"), ERR_INVALID_BLOCK_LIST);
    assert_int_equal(commit(fixture, "c1 l2 c1"), OK);
    assert_text(fixture, "ab-ab");
    assert_int_equal(commit(fixture, "c2"), OK);
    assert_text(fixture, "-");
    assert_int_equal(remove_blob(fixture, "blob"), OK);
    assert_int_equal(row_count(fixture), 0);
}

static void an_empty_list_makes_an_empty_blob(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(commit(fixture, ""), OK);
    assert_text(fixture, "");
    put_text(fixture, "1", "text");
    assert_int_equal(commit(fixture, ""), OK);
    assert_text(fixture, "");
    assert_int_equal(row_count(fixture), 1);
}

static void a_list_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "x");
    struct block_ref *blocks =
        arena_alloc(&fixture->arena, (LIMIT_COMMITTED_BLOCKS + 1) * sizeof(*blocks));
    for (size_t i = 0; i < LIMIT_COMMITTED_BLOCKS + 1; i++)
        blocks[i].block_id = slice_of("1");
    struct block_list_put put = { 0 };
    assert_int_equal(commit_refs(fixture, "blob", blocks, LIMIT_COMMITTED_BLOCKS + 1, &put),
                     ERR_BLOCK_LIST_TOO_LONG);
    assert_int_equal(commit_refs(fixture, "blob", blocks, LIMIT_COMMITTED_BLOCKS, &put), OK);
    assert_int_equal(blob_read_bytes(fixture, "blob").len, LIMIT_COMMITTED_BLOCKS);
}

/* --- what a list sets --- */

static void a_list_sets_properties_and_metadata_and_keeps_lease_and_creation(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const int64_t first = blob_put_text(fixture, "blob", "text");
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = -1 }
    };
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    fixture_advance_ms(fixture, 5000);
    struct block_put block = { .change = { .has_lease_id = true, .lease_id = A } };
    assert_int_equal(put_block_with(fixture, "blob", slice_of("1"), slice_of("one"), &block), OK);
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &fixture->arena,
                    (struct metadata_pair){ slice_of("name"), slice_of("value") });
    struct block_list_put put = { .change = {
                                      .has_lease_id = true,
                                      .lease_id = A,
                                      .properties = { .content_type = slice_of("text/plain") },
                                      .metadata = metadata,
                                  } };
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.etag, first); /* a block changes nothing */
    assert_int_equal(commit_with(fixture, "blob", "l1", &put), OK);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.etag, put.change.etag);
    assert_true(blob.etag > first);
    assert_int_equal(blob.created_at, first);
    assert_true(slice_is(blob.properties.content_type, "text/plain"));
    assert_int_equal(blob.metadata.count, 1);
    assert_int_equal(blob.lease.state, LEASE_LEASED);
}

static void leases_guard_blocks_and_lists(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const struct {
        bool has_id;
        struct uuid id;
        enum err unleased;
        enum err leased;
    } rows[] = {
        { false, { { 0 } }, OK, ERR_LEASE_ID_MISSING },
        { true, B, ERR_LEASE_NOT_PRESENT_BLOB, ERR_LEASE_ID_MISMATCH_BLOB },
        { true, A, ERR_LEASE_NOT_PRESENT_BLOB, OK },
    };
    blob_put_text(fixture, "blob", "text");
    for (int leased = 0; leased < 2; leased++) {
        for (size_t i = 0; i < 3; i++) {
            struct block_put block = { .change = { .has_lease_id = rows[i].has_id,
                                                   .lease_id = rows[i].id } };
            struct block_list_put put = { .change = { .has_lease_id = rows[i].has_id,
                                                      .lease_id = rows[i].id } };
            const enum err wanted = leased ? rows[i].leased : rows[i].unleased;
            assert_int_equal(
                put_block_with(fixture, "blob", slice_of("1"), slice_of("one"), &block), wanted);
            assert_int_equal(commit_with(fixture, "blob", "", &put), wanted);
            if (leased || i == 0)
                continue;
            /* The same for a name without a blob. */
            assert_int_equal(
                put_block_with(fixture, "none", slice_of("1"), slice_of("one"), &block), wanted);
            assert_int_equal(commit_with(fixture, "none", "", &put), wanted);
        }
        struct blob_lease lease = {
            .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = 15 }
        };
        if (!leased)
            assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    }
}

static enum err lease_as(struct service_fixture *fixture, enum lease_action action,
                         struct blob_lease *lease)
{
    lease->lease =
        (struct lease_request){ .action = action, .proposed_id = A, .id = A, .duration_sec = 15 };
    return blob_lease_await(fixture, "blob", lease);
}

static void a_blob_of_uncommitted_blocks_alone_can_be_leased(void **state)
{
    struct service_fixture *fixture = *state;
    struct blob_lease lease = { 0 };
    struct blob blob;
    container_make(fixture, "box");
    assert_int_equal(lease_as(fixture, LEASE_ACTION_ACQUIRE, &lease), ERR_BLOB_NOT_FOUND);
    put_text(fixture, "1", "one");
    assert_int_equal(lease_as(fixture, LEASE_ACTION_ACQUIRE, &lease), OK);
    assert_true(lease.etag > 0);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), ERR_BLOB_NOT_FOUND);

    struct block_put with_id = { .change = { .has_lease_id = true, .lease_id = A } };
    struct block_put with_other = { .change = { .has_lease_id = true, .lease_id = B } };
    struct block_put without = { 0 };
    const struct slice id = slice_of("2");
    const struct slice text = slice_of("two");
    assert_int_equal(put_block_with(fixture, "blob", id, text, &without), ERR_LEASE_ID_MISSING);
    assert_int_equal(put_block_with(fixture, "blob", id, text, &with_other),
                     ERR_LEASE_ID_MISMATCH_BLOB);
    assert_int_equal(put_block_with(fixture, "blob", id, text, &with_id), OK);
    assert_int_equal(remove_blob(fixture, "blob"), ERR_LEASE_ID_MISSING);
    assert_int_equal(commit(fixture, "l1 l2"), ERR_LEASE_ID_MISSING);
    struct blob_change whole = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", "blob", text, &whole), ERR_LEASE_ID_MISSING);
    assert_string_equal(listed(fixture, "blob"), "u1:3 u2:3 ");

    /* The blob that is made has the lease. */
    struct block_list_put put = { .change = { .has_lease_id = true, .lease_id = A } };
    assert_int_equal(commit_with(fixture, "blob", "l1 l2", &put), OK);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_true(lease_is_locked(&blob.lease));
    assert_int_equal(lease_as(fixture, LEASE_ACTION_RELEASE, &lease), OK);
    assert_text(fixture, "onetwo");
}

static void the_lease_of_uncommitted_blocks_goes_with_them(void **state)
{
    struct service_fixture *fixture = *state;
    struct blob_lease lease = { 0 };
    container_make(fixture, "box");
    put_text(fixture, "1", "one");
    assert_int_equal(lease_as(fixture, LEASE_ACTION_ACQUIRE, &lease), OK);
    struct blob_change change = { .has_lease_id = true, .lease_id = A };
    assert_int_equal(blob_await(fixture, "blob", blob_delete, &change), OK);
    put_text(fixture, "1", "one");
    assert_int_equal(lease_as(fixture, LEASE_ACTION_RENEW, &lease), ERR_LEASE_ACTION_ID_MISMATCH);
    assert_int_equal(lease_as(fixture, LEASE_ACTION_ACQUIRE, &lease), OK);
    fixture_advance_ms(fixture, 15001);
    assert_int_equal(commit(fixture, "l1"), OK);
}

static void conditions_decide_about_a_list(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    struct block_list_put put = { .change.condition.if_none_match = { .present = true,
                                                                      .any = true } };
    assert_int_equal(commit_with(fixture, "blob", "", &put), OK);
    const int64_t etag = put.change.etag;
    put_text(fixture, "1", "one");
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(commit_with(fixture, "blob", "l1", &put), ERR_BLOB_EXISTS);
    put.change.condition = (struct condition){
        .if_match = { .present = true, .listed_count = 1, .count = 1, .etags = { etag - 1 } }
    };
    assert_int_equal(commit_with(fixture, "blob", "l1", &put), ERR_CONDITION_NOT_MET);
    fixture_assert_unchanged(fixture, before);
    put.change.condition.if_match.etags[0] = etag;
    assert_int_equal(commit_with(fixture, "blob", "l1", &put), OK);
    struct block_list_put create_only = { .change.create_only = true };
    assert_int_equal(commit_with(fixture, "blob", "c1", &create_only), ERR_UNAUTHORIZED_OVERWRITE);
}

struct plant {
    struct waiter waiter; /* first: the argument of both functions */
    struct slice key;
    struct slice row;
};

static enum err plant_decide(struct change *change, void *arg)
{
    const struct plant *plant = arg;
    change_put(change, plant->key, plant->row);
    return OK;
}

/* Write a row of "box". */
static void plant(struct service_fixture *fixture, struct slice key, struct slice row)
{
    struct plant plant = { .key = key, .row = row };
    waiter_init(&plant.waiter);
    struct partition_update update = {
        .partition = box_partition(fixture),
        .decide = plant_decide,
        .arg = &plant,
        .done = waiter_done,
    };
    partition_update(fixture->service.store, &update);
    assert_int_equal(waiter_wait(&plant.waiter), OK);
}

static void other_types_of_blobs_have_no_blocks(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    static const enum blob_type types[] = { BLOB_APPEND, BLOB_PAGE };
    for (size_t i = 0; i < 2; i++) {
        const struct blob blob = {
            .type = types[i], .etag = FIXTURE_T0, .created_at = FIXTURE_T0, .made_at = FIXTURE_T0
        };
        plant(fixture, blob_key(&fixture->arena, slice_of("blob")),
              blob_encode(&fixture->arena, &blob));
        assert_int_equal(put_block(fixture, "blob", "1", slice_of("one")), ERR_INVALID_BLOB_TYPE);
        assert_int_equal(commit(fixture, ""), ERR_INVALID_BLOB_TYPE);
        const struct block_list_request request = { .get = { .name = blob_named("box", "blob") } };
        struct blob found;
        bool exists;
        assert_int_equal(
            block_list_get(&fixture->service, &fixture->arena, &request, &found, &exists),
            ERR_INVALID_BLOB_TYPE);
    }
}

/* --- putting blocks --- */

static void all_uncommitted_ids_of_a_blob_have_one_length(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(put_block(fixture, "blob", "1", slice_of("one")), OK);
    /* "MQ==" and "MTI=" are of one length, "MTIzNA==" is not. */
    assert_int_equal(put_block(fixture, "blob", "12", slice_of("one")), OK);
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(put_block(fixture, "blob", "1234", slice_of("one")), ERR_INVALID_BLOCK);
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(put_block(fixture, "other", "1234", slice_of("one")), OK);
    /* Committed blocks do not count. */
    assert_int_equal(commit(fixture, "l1"), OK);
    assert_int_equal(put_block(fixture, "blob", "1234", slice_of("one")), OK);
    assert_int_equal(commit(fixture, "c1 u1234"), OK);
}

static void there_is_a_limit_to_uncommitted_blocks(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(put_block(fixture, "blob", "1", slice_of("one")), OK);
    /* Say that there are as many as there may be, but one. */
    struct strbuf row;
    strbuf_init(&row, &fixture->arena);
    row_begin(&row, ROW_UNCOMMITTED);
    row_add_number(&row, 1, 4);
    row_add_number(&row, 2, LIMIT_UNCOMMITTED_BLOCKS - 1);
    row_add_number(&row, 3, 1000);
    row_add_number(&row, 4, (uint64_t)FIXTURE_T0);
    row_add_number(&row, 5, (uint64_t)FIXTURE_T0);
    plant(fixture, uncommitted_key(&fixture->arena, slice_of("blob")), strbuf_slice(&row));
    assert_int_equal(put_block(fixture, "blob", "2", slice_of("two")), OK);
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(put_block(fixture, "blob", "3", slice_of("three")),
                     ERR_UNCOMMITTED_BLOCK_COUNT);
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(put_block(fixture, "blob", "2", slice_of("again")), OK);
}

static void ids_are_any_bytes_and_names_do_not_mix(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    static const char bytes[] = { 'a', 0, (char)0xff };
    const struct slice id = slice_make(bytes, sizeof(bytes));
    struct block_put put = { 0 };
    assert_int_equal(put_block_with(fixture, "b", id, slice_of("b's"), &put), OK);
    assert_int_equal(put_block_with(fixture, "ba", id, slice_of("ba's"), &put), OK);
    const struct block_ref ref = { .block_id = id };
    struct block_list_put list = { 0 };
    assert_int_equal(commit_refs(fixture, "b", &ref, 1, &list), OK);
    assert_true(slice_is(blob_read_bytes(fixture, "b"), "b's"));
    assert_int_equal(commit_refs(fixture, "ba", &ref, 1, &list), OK);
    assert_true(slice_is(blob_read_bytes(fixture, "ba"), "ba's"));
}

static void a_container_that_is_gone_takes_no_blocks(void **state)
{
    struct service_fixture *fixture = *state;
    assert_int_equal(put_block(fixture, "blob", "1", slice_of("one")), ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(commit(fixture, ""), ERR_CONTAINER_NOT_FOUND);
    const uint64_t before = io_memory_bytes(fixture->io);
    assert_int_equal(put_block(fixture, "blob", "1", bytes_of_len(fixture, 5000, 'a')),
                     ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

/* --- what becomes of uncommitted blocks --- */

static void what_a_list_does_not_name_is_discarded(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t before = io_memory_bytes(fixture->io);
    const struct slice large = bytes_of_len(fixture, 50000, 'a');
    assert_int_equal(put_block(fixture, "blob", "1", large), OK);
    assert_int_equal(put_block(fixture, "blob", "2", large), OK);
    assert_int_equal(put_block(fixture, "blob", "3", slice_of("small")), OK);
    assert_int_equal(put_block(fixture, "blob", "4", slice_of("small")), OK);
    assert_int_equal(commit(fixture, "l2 l3"), OK);
    /* the record, the list, inline bytes */
    assert_int_equal(row_count(fixture), 3);
    assert_int_equal(partition_reclaim(fixture->service.store), 1);
    assert_int_equal(commit(fixture, "c3"), OK);
    /* and their owner, which is not the first */
    assert_int_equal(row_count(fixture), 4);
    assert_int_equal(partition_reclaim(fixture->service.store), 1);
    assert_int_equal(io_memory_bytes(fixture->io), before);
    assert_text(fixture, "small");
}

static void putting_or_deleting_the_blob_discards_them(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "one");
    blob_put_text(fixture, "blob", "whole");
    assert_string_equal(listed(fixture, "blob"), "");
    assert_int_equal(row_count(fixture), 2);
    put_text(fixture, "1", "one");
    assert_string_equal(listed(fixture, "blob"), "u1:3 ");
    assert_int_equal(remove_blob(fixture, "blob"), OK);
    assert_int_equal(row_count(fixture), 0);
    assert_null(listed(fixture, "blob"));
}

static void a_blob_of_uncommitted_blocks_alone_can_be_deleted(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "one");
    assert_int_equal(put_block(fixture, "blob", "2", bytes_of_len(fixture, 5000, 'a')), OK);
    const struct slice before = fixture_dump(fixture);
    struct blob_change with_lease = { .has_lease_id = true, .lease_id = A };
    assert_int_equal(blob_await(fixture, "blob", blob_delete, &with_lease),
                     ERR_LEASE_NOT_PRESENT_BLOB);
    struct blob_change match = { .condition.if_match = { .present = true, .any = true } };
    assert_int_equal(blob_await(fixture, "blob", blob_delete, &match), ERR_CONDITION_NOT_MET);
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(remove_blob(fixture, "blob"), OK);
    assert_int_equal(row_count(fixture), 0);
    assert_int_equal(partition_reclaim(fixture->service.store), 1);
    assert_int_equal(remove_blob(fixture, "blob"), ERR_BLOB_NOT_FOUND);
}

static bool count_marked(void *arg, struct slice partition)
{
    (void)partition;
    ++*(size_t *)arg;
    return true;
}

static size_t marked_count(struct service_fixture *fixture)
{
    size_t count = 0;
    assert_int_equal(partition_each_marked(fixture->service.store, count_marked, &count), OK);
    return count;
}

static void they_expire_a_week_after_the_last_was_put(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "one");
    assert_int_equal(marked_count(fixture), 1);
    fixture_advance_ms(fixture, WEEK_MS / 2);
    put_text(fixture, "2", "two");
    assert_int_equal(put_block(fixture, "late", "1", slice_of("late")), OK);
    fixture_advance_ms(fixture, WEEK_MS - 1000);
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(marked_count(fixture), 1);

    assert_int_equal(put_block(fixture, "late", "2", slice_of("later")), OK);
    fixture_advance_ms(fixture, 2000);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_null(listed(fixture, "blob"));
    assert_string_equal(listed(fixture, "late"), "u1:4 u2:5 ");
    assert_int_equal(marked_count(fixture), 1);

    fixture_advance_ms(fixture, WEEK_MS);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(row_count(fixture), 0);
    assert_int_equal(marked_count(fixture), 0);
}

static void expired_blocks_go_in_several_updates_if_they_are_many(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    for (unsigned i = 0; i < 1100; i++) {
        const char *id = arena_printf(&fixture->arena, "%06u", i).data;
        assert_int_equal(put_block(fixture, "blob", id, slice_of("x")), OK);
    }
    fixture_advance_ms(fixture, WEEK_MS + 1000);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(row_count(fixture), 0);
}

enum {
    MANY = 300, /* more than are removed at once, or by one update of the sweeper */
};

static void put_many(struct service_fixture *fixture, size_t from, size_t count, char byte)
{
    for (size_t i = from; i < from + count; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%04zu", i);
        /* Some in rows and some in extents. */
        const size_t len = i % 2 == 0 ? 5 : FIXTURE_INLINE_BYTES + 1;
        assert_int_equal(put_block(fixture, "blob", id, bytes_of_len(fixture, len, byte)), OK);
    }
}

static void fail_finding(void *arg, const char *words)
{
    (void)arg;
    fail_msg("%s", words);
}

static void assert_holds_together(struct service_fixture *fixture)
{
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = fail_finding };
    struct fsck_summary summary;
    fsck_run(&request, &summary);
}

static void very_many_are_discarded_at_once_and_removed_later(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    put_many(fixture, 0, MANY, 'x');
    const size_t before = row_count(fixture);
    blob_put_text(fixture, "blob", "x");
    /* The record and its bytes; the row about the blocks went and another came. */
    assert_int_equal(row_count(fixture), before + 2);
    assert_string_equal(listed(fixture, "blob"), "");
    assert_int_equal(commit(fixture, "l0000"), ERR_INVALID_BLOCK_LIST);
    assert_holds_together(fixture);

    /* Blocks of the same ids, while the old ones are there: they do not mix. */
    put_text(fixture, "0000", "new");
    assert_string_equal(listed(fixture, "blob"), "u0000:3 ");
    assert_holds_together(fixture);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_string_equal(listed(fixture, "blob"), "u0000:3 ");
    assert_int_equal(commit(fixture, "u0000"), OK);
    assert_text(fixture, "new");
    assert_holds_together(fixture);
    assert_int_equal(remove_blob(fixture, "blob"), OK);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(row_count(fixture), 0);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

static void a_short_list_among_very_many_keeps_what_it_names(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    put_many(fixture, 0, MANY, 'x');
    put_text(fixture, "0007", "seven ");
    put_text(fixture, "0299", "last");
    assert_int_equal(commit(fixture, "u0007 l0299 u0007"), OK);
    assert_text(fixture, "seven lastseven ");
    assert_string_equal(listed(fixture, "blob"), "c0007:6 c0299:4 c0007:6 ");
    assert_holds_together(fixture);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    partition_reclaim(fixture->service.store);
    assert_text(fixture, "seven lastseven ");
    assert_holds_together(fixture);
    /* A kind that only looks among the committed does not see uncommitted ones. */
    put_many(fixture, 0, MANY, 'y');
    assert_int_equal(commit(fixture, "c0007 c0299"), OK);
    assert_text(fixture, "seven last");
    assert_int_equal(remove_blob(fixture, "blob"), OK);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(row_count(fixture), 0);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

static void a_deleted_container_takes_them_along(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t before = io_memory_bytes(fixture->io);
    container_make(fixture, "box");
    const struct slice partition = box_partition(fixture);
    for (unsigned i = 0; i < 600; i++) {
        const char *id = arena_printf(&fixture->arena, "%06u", i).data;
        assert_int_equal(put_block(fixture, "blob", id, slice_of("x")), OK);
    }
    assert_int_equal(put_block(fixture, "large", "1", bytes_of_len(fixture, 50000, 'a')), OK);
    struct block_ref *blocks = arena_alloc(&fixture->arena, 600 * sizeof(*blocks));
    for (unsigned i = 0; i < 600; i++)
        blocks[i].block_id = arena_printf(&fixture->arena, "%06u", i);
    struct block_list_put put = { 0 };
    assert_int_equal(commit_refs(fixture, "blob", blocks, 600, &put), OK);
    assert_int_equal(put_block(fixture, "blob", "1", slice_of("x")), OK);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    assert_int_equal(fixture_dump_partition(fixture, partition, &out), 1); /* closed */
    assert_int_equal(marked_count(fixture), 0);
    assert_int_equal(partition_reclaim(fixture->service.store), 1);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

/* --- reading lists --- */

static void a_list_is_read_with_its_lease(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_text(fixture, "1", "one");
    struct block_list_request request = {
        .get = { .name = blob_named("box", "blob"), .has_lease_id = true, .lease_id = A }
    };
    struct blob blob;
    bool exists;
    for (int committed = 0; committed < 2; committed++) {
        assert_int_equal(
            block_list_get(&fixture->service, &fixture->arena, &request, &blob, &exists),
            ERR_LEASE_NOT_PRESENT_BLOB);
        assert_int_equal(commit(fixture, "l1"), OK);
    }
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = 15 }
    };
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    assert_int_equal(block_list_get(&fixture->service, &fixture->arena, &request, &blob, &exists),
                     OK);
    assert_true(exists);
    assert_int_equal(blob.content.length_bytes, 3);
    request.get.lease_id = B;
    assert_int_equal(block_list_get(&fixture->service, &fixture->arena, &request, &blob, &exists),
                     ERR_LEASE_ID_MISMATCH_BLOB);
}

static void a_blob_put_as_a_whole_has_no_blocks(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_null(listed(fixture, "blob"));
    for (size_t len = 0; len < 1000; len += 300) {
        struct blob_change change = { 0 };
        assert_int_equal(
            blob_put_into(fixture, "box", "blob", bytes_of_len(fixture, len, 'a'), &change), OK);
        assert_string_equal(listed(fixture, "blob"), "");
        assert_int_equal(commit(fixture, "c1"), ERR_INVALID_BLOCK_LIST);
    }
}

static void a_reader_gets_the_old_bytes_whatever_happens_to_the_blob(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t before = io_memory_bytes(fixture->io);
    const struct slice large = bytes_of_len(fixture, 50000, 'l');
    const struct slice small = bytes_of_len(fixture, 90, 's');
    assert_int_equal(put_block(fixture, "blob", "1", large), OK);
    assert_int_equal(put_block(fixture, "blob", "2", small), OK);
    assert_int_equal(commit(fixture, "l1 l2 l1 l2"), OK);
    const struct blob_get_request get = { .name = blob_named("box", "blob"), .want_payload = true };
    struct blob blob;
    struct payload_reader payload;
    struct arena arena = { 0 };
    assert_int_equal(blob_get(&fixture->service, &arena, &get, &blob, &payload), OK);
    assert_int_equal(payload.length_bytes, 2 * (50000 + 90));

    struct strbuf got;
    strbuf_init(&got, &fixture->arena);
    for (size_t step = 0; got.len < payload.length_bytes; step++) {
        if (step == 1)
            blob_put_text(fixture, "blob", "new");
        if (step == 2)
            assert_int_equal(remove_blob(fixture, "blob"), OK);
        if (step == 3)
            assert_int_equal(put_block(fixture, "blob", "1", large), OK);
        if (step == 4)
            assert_int_equal(remove_blob(fixture, "blob"), OK);
        partition_reclaim(fixture->service.store);
        char bytes[9973];
        const size_t left = (size_t)payload.length_bytes - got.len;
        const size_t len = left < sizeof(bytes) ? left : sizeof(bytes);
        assert_int_equal(payload_read(&payload, got.len, bytes, len), OK);
        strbuf_add(&got, slice_make(bytes, len));
    }
    for (size_t i = 0; i < 2; i++) {
        const size_t at = i * (50000 + 90);
        assert_memory_equal(got.data + at, large.data, large.len);
        assert_memory_equal(got.data + at + 50000, small.data, small.len);
    }
    arena_release(&arena);
    partition_reclaim(fixture->service.store);
    assert_int_equal(row_count(fixture), 0);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

/* --- against a model --- */

enum {
    MODEL_NAMES = 3,
    MODEL_IDS = 6,
    MODEL_LIST_MAX = 8,
    MODEL_STEPS = 1500,
};

struct model_block {
    bool exists;
    char fill;
    size_t len;
};

struct model_blob {
    bool exists;
    bool in_blocks;
    struct slice bytes;
    struct model_block uncommitted[MODEL_IDS];
    struct model_block committed[MODEL_IDS];
};

static const char *const NAMES[MODEL_NAMES] = { "a", "ab", "b" };
static const char *const IDS[MODEL_IDS] = { "0", "1", "2", "3", "4", "5" };

static size_t random_len(struct test_random *random)
{
    static const size_t lens[] = { 1, 30, FIXTURE_INLINE_BYTES, FIXTURE_INLINE_BYTES + 1, 5000 };
    return lens[random_below(random, 5)];
}

static void model_put_block(struct service_fixture *fixture, struct test_random *random,
                            struct model_blob *blob, const char *name)
{
    const size_t id = random_below(random, MODEL_IDS);
    const struct model_block block = { true, (char)('A' + (char)random_below(random, 26)),
                                       random_len(random) };
    assert_int_equal(
        put_block(fixture, name, IDS[id], bytes_of_len(fixture, block.len, block.fill)), OK);
    blob->uncommitted[id] = block;
}

static void model_commit(struct service_fixture *fixture, struct test_random *random,
                         struct model_blob *blob, const char *name)
{
    enum block_kind kinds[MODEL_IDS];
    struct block_ref refs[MODEL_LIST_MAX];
    for (size_t i = 0; i < MODEL_IDS; i++)
        kinds[i] = (enum block_kind)random_below(random, 3);
    const size_t count = random_below(random, MODEL_LIST_MAX + 1);
    struct model_block committed[MODEL_IDS] = { 0 };
    struct strbuf bytes;
    strbuf_init(&bytes, &fixture->arena);
    bool possible = true;
    for (size_t i = 0; i < count; i++) {
        const size_t id = random_below(random, MODEL_IDS);
        /* Mostly something that is there. */
        if (random_below(random, 8) != 0 && !blob->uncommitted[id].exists)
            kinds[id] = blob->committed[id].exists ? BLOCK_FROM_LATEST : kinds[id];
        refs[i] = (struct block_ref){ slice_of(IDS[id]), kinds[id] };
        const struct model_block *block = &blob->uncommitted[id];
        if (kinds[id] == BLOCK_FROM_COMMITTED || (kinds[id] == BLOCK_FROM_LATEST && !block->exists))
            block = &blob->committed[id];
        possible = possible && block->exists;
        committed[id] = *block;
        if (block->exists)
            strbuf_add(&bytes, bytes_of_len(fixture, block->len, block->fill));
    }
    /* A kind that was changed after its first use makes the list invalid. */
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (slice_equal(refs[i].block_id, refs[j].block_id) && refs[i].kind != refs[j].kind)
                possible = false;
    struct block_list_put put = { 0 };
    assert_int_equal(commit_refs(fixture, name, refs, count, &put),
                     possible ? OK : ERR_INVALID_BLOCK_LIST);
    if (!possible)
        return;
    *blob = (struct model_blob){ .exists = true, .in_blocks = true, .bytes = strbuf_slice(&bytes) };
    memcpy(blob->committed, committed, sizeof(committed));
}

static void model_put(struct service_fixture *fixture, struct test_random *random,
                      struct model_blob *blob, const char *name)
{
    struct blob_change change = { 0 };
    const struct slice bytes = bytes_of_len(fixture, random_len(random), 'w');
    assert_int_equal(blob_put_into(fixture, "box", name, bytes, &change), OK);
    *blob = (struct model_blob){ .exists = true, .bytes = bytes };
}

static void model_remove(struct service_fixture *fixture, struct model_blob *blob, const char *name)
{
    bool exists = blob->exists;
    for (size_t i = 0; i < MODEL_IDS; i++)
        exists = exists || blob->uncommitted[i].exists;
    assert_int_equal(remove_blob(fixture, name), exists ? OK : ERR_BLOB_NOT_FOUND);
    *blob = (struct model_blob){ 0 };
}

static void model_check(struct service_fixture *fixture, const struct model_blob *blob,
                        const char *name)
{
    struct blob record;
    assert_int_equal(blob_read_record(fixture, name, &record),
                     blob->exists ? OK : ERR_BLOB_NOT_FOUND);
    if (blob->exists)
        assert_true(slice_equal(blob_read_bytes(fixture, name), blob->bytes));
    struct strbuf wanted;
    strbuf_init(&wanted, &fixture->arena);
    for (size_t i = 0; i < MODEL_IDS; i++)
        if (blob->uncommitted[i].exists)
            keep_listed(&wanted, BLOCK_UNCOMMITTED, slice_of(IDS[i]), blob->uncommitted[i].len);
    const char *found = listed(fixture, name);
    if (found == NULL) {
        assert_false(blob->exists);
        assert_int_equal(wanted.len, 0);
        return;
    }
    const char *uncommitted = strchr(found, 'u');
    assert_int_equal(strlen(uncommitted == NULL ? "" : uncommitted), wanted.len);
    if (wanted.len > 0)
        assert_memory_equal(uncommitted, wanted.data, wanted.len);
}

static void any_sequence_of_operations_agrees_with_a_model_and_leaks_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    struct model_blob blobs[MODEL_NAMES] = { 0 };
    container_make(fixture, "box");
    const uint64_t before = io_memory_bytes(fixture->io);
    struct arena kept = { 0 }; /* of the bytes in the model */
    for (size_t step = 0; step < MODEL_STEPS; step++) {
        const size_t i = random_below(&random, MODEL_NAMES);
        const size_t dice = random_below(&random, 100);
        if (dice < 55)
            model_put_block(fixture, &random, &blobs[i], NAMES[i]);
        else if (dice < 85)
            model_commit(fixture, &random, &blobs[i], NAMES[i]);
        else if (dice < 90)
            model_put(fixture, &random, &blobs[i], NAMES[i]);
        else if (dice < 94)
            model_remove(fixture, &blobs[i], NAMES[i]);
        else if (dice < 97)
            partition_reclaim(fixture->service.store);
        else
            assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
        if (blobs[i].exists)
            blobs[i].bytes = arena_copy(&kept, blobs[i].bytes);
        model_check(fixture, &blobs[i], NAMES[i]);
        arena_clear(&fixture->arena);
    }
    for (size_t i = 0; i < MODEL_NAMES; i++) {
        model_check(fixture, &blobs[i], NAMES[i]);
        model_remove(fixture, &blobs[i], NAMES[i]);
    }
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    while (partition_reclaim(fixture->service.store) > 0)
        continue;
    assert_int_equal(row_count(fixture), 0);
    assert_int_equal(marked_count(fixture), 0);
    assert_int_equal(io_memory_bytes(fixture->io), before);
    arena_release(&kept);
}

/* --- rows --- */

static void a_row_that_makes_no_sense_is_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct test_random random = test_seed();
    struct uncommitted uncommitted;
    for (size_t i = 0; i < 5000; i++) {
        struct strbuf row;
        strbuf_init(&row, &arena);
        row_begin(&row, ROW_UNCOMMITTED);
        strbuf_add(&row, random_bytes(&random, &arena, 30));
        const enum err err = uncommitted_decode(strbuf_slice(&row), &uncommitted);
        assert_true(err == OK || err == ERR_CORRUPT);
        arena_clear(&arena);
    }
    arena_release(&arena);
    struct slice name;
    assert_int_equal(uncommitted_key_name(slice_of("w"), &name), ERR_CORRUPT);
    assert_int_equal(uncommitted_key_name(slice_of("bname"), &name), ERR_CORRUPT);
    assert_int_equal(uncommitted_key_name(slice_of("wname"), &name), OK);
    assert_true(slice_is(name, "name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_list_makes_the_blob_of_its_blocks_in_its_order),
        ON_ALL_ENGINES(blocks_of_all_sizes_are_read_whole_and_in_parts),
        ON_ALL_ENGINES(a_block_put_again_replaces_the_one_before),
        ON_ALL_ENGINES(latest_is_the_uncommitted_block_and_else_the_committed_one),
        ON_ALL_ENGINES(a_list_that_names_a_missing_block_changes_nothing),
        ON_ALL_ENGINES(a_block_may_be_named_many_times_by_one_kind),
        ON_ALL_ENGINES(an_empty_list_makes_an_empty_blob),
        ON_ROCKSDB(a_list_may_be_as_long_as_the_limit_and_no_longer),
        ON_ALL_ENGINES(a_list_sets_properties_and_metadata_and_keeps_lease_and_creation),
        ON_ALL_ENGINES(leases_guard_blocks_and_lists),
        ON_ALL_ENGINES(a_blob_of_uncommitted_blocks_alone_can_be_leased),
        ON_MEMORY(the_lease_of_uncommitted_blocks_goes_with_them),
        ON_ALL_ENGINES(conditions_decide_about_a_list),
        ON_MEMORY(other_types_of_blobs_have_no_blocks),
        ON_ALL_ENGINES(all_uncommitted_ids_of_a_blob_have_one_length),
        ON_MEMORY(there_is_a_limit_to_uncommitted_blocks),
        ON_ALL_ENGINES(ids_are_any_bytes_and_names_do_not_mix),
        ON_MEMORY(a_container_that_is_gone_takes_no_blocks),
        ON_MEMORY(what_a_list_does_not_name_is_discarded),
        ON_ALL_ENGINES(putting_or_deleting_the_blob_discards_them),
        ON_MEMORY(a_blob_of_uncommitted_blocks_alone_can_be_deleted),
        ON_ALL_ENGINES(they_expire_a_week_after_the_last_was_put),
        ON_MEMORY(expired_blocks_go_in_several_updates_if_they_are_many),
        ON_ALL_ENGINES(very_many_are_discarded_at_once_and_removed_later),
        ON_ALL_ENGINES(a_short_list_among_very_many_keeps_what_it_names),
        ON_MEMORY(a_deleted_container_takes_them_along),
        ON_ALL_ENGINES(a_list_is_read_with_its_lease),
        ON_ALL_ENGINES(a_blob_put_as_a_whole_has_no_blocks),
        ON_MEMORY(a_reader_gets_the_old_bytes_whatever_happens_to_the_blob),
        ON_MEMORY(any_sequence_of_operations_agrees_with_a_model_and_leaks_nothing),
        ON_ROCKSDB(any_sequence_of_operations_agrees_with_a_model_and_leaks_nothing),
        cmocka_unit_test(a_row_that_makes_no_sense_is_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
