/*
 * test_blob.c - blobs: putting, reading, changing and deleting them, with leases and conditions
 * ("Put Blob" and its neighbours), and listing against a simple model.
 */
#include "base/date.h"
#include "base/log.h"
#include "service/row.h"
#include "service_fixture.h"
#include "test_random.h"

static const struct uuid A = { .bytes = { 0xA } };
static const struct uuid B = { .bytes = { 0xB } };

/* The sizes at which something changes: none, inline, the limit, an extent, many blocks. */
static const size_t SIZES[] = { 0, 1, FIXTURE_INLINE_BYTES, FIXTURE_INLINE_BYTES + 1, 1024 * 1024 };

enum {
    SIZE_COUNT = sizeof(SIZES) / sizeof(SIZES[0]),
};

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

static void put_bytes(struct service_fixture *fixture, const char *name, struct slice bytes)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", name, bytes, &change), OK);
}

static enum err remove_blob(struct service_fixture *fixture, const char *name)
{
    struct blob_change change = { 0 };
    return blob_await(fixture, name, blob_delete, &change);
}

static size_t row_count(struct service_fixture *fixture)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    struct slice partition;
    const struct container_name name = container_named("box");
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    return fixture_dump_partition(fixture, partition, &out);
}

/* --- bytes --- */

static void what_is_put_is_got(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        const struct slice bytes = bytes_of_len(fixture, SIZES[i], 'a');
        put_bytes(fixture, "blob", bytes);
        struct blob blob;
        assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
        assert_int_equal(blob.content.length_bytes, SIZES[i]);
        assert_true(slice_equal(blob_read_bytes(fixture, "blob"), bytes));
    }
}

static void overwriting_leaves_the_new_bytes_alone(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    for (size_t old = 0; old < SIZE_COUNT; old++) {
        for (size_t new = 0; new < SIZE_COUNT; new ++) {
            const struct slice bytes = bytes_of_len(fixture, SIZES[new], 'n');
            put_bytes(fixture, "blob", bytes_of_len(fixture, SIZES[old], 'o'));
            put_bytes(fixture, "blob", bytes);
            partition_reclaim(fixture->service.store);
            assert_true(slice_equal(blob_read_bytes(fixture, "blob"), bytes));
            /* The record, and one row of inline bytes if there are any. */
            const bool is_inline = SIZES[new] > 0 && SIZES[new] <= FIXTURE_INLINE_BYTES;
            assert_int_equal(row_count(fixture), is_inline ? 2 : 1);
            arena_clear(&fixture->arena);
        }
    }
}

static void deleting_leaves_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const struct slice before = fixture_dump(fixture);
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    struct blob blob;
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        put_bytes(fixture, "blob", bytes_of_len(fixture, SIZES[i], 'a'));
        assert_int_equal(remove_blob(fixture, "blob"), OK);
        assert_int_equal(blob_read_record(fixture, "blob", &blob), ERR_BLOB_NOT_FOUND);
        assert_int_equal(remove_blob(fixture, "blob"), ERR_BLOB_NOT_FOUND);
        fixture_assert_unchanged(fixture, before);
    }
    assert_int_equal(partition_reclaim(fixture->service.store), 2);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

static void a_reader_keeps_the_bytes_it_opened(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        const struct slice old = bytes_of_len(fixture, SIZES[i], 'o');
        put_bytes(fixture, "blob", old);
        const struct blob_get_request get = { .name = blob_named("box", "blob"),
                                              .want_payload = true };
        struct arena arena = { 0 };
        struct blob blob;
        struct payload_reader reader;
        assert_int_equal(blob_get(&fixture->service, &arena, &get, &blob, &reader), OK);

        put_bytes(fixture, "blob", bytes_of_len(fixture, 5000, 'n'));
        partition_reclaim(fixture->service.store);
        assert_true(slice_equal(fixture_payload_bytes(fixture, &reader), old));
        assert_int_equal(remove_blob(fixture, "blob"), OK);
        partition_reclaim(fixture->service.store);
        assert_true(slice_equal(fixture_payload_bytes(fixture, &reader), old));
        arena_release(&arena);
    }
}

static void space_is_given_back_when_the_last_reader_is_gone(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t before = io_memory_bytes(fixture->io);
    put_bytes(fixture, "blob", bytes_of_len(fixture, 1000000, 'o'));
    const struct blob_get_request get = { .name = blob_named("box", "blob"), .want_payload = true };
    struct arena arena = { 0 };
    struct blob blob;
    struct payload_reader reader;
    assert_int_equal(blob_get(&fixture->service, &arena, &get, &blob, &reader), OK);
    assert_int_equal(remove_blob(fixture, "blob"), OK);
    assert_int_equal(partition_reclaim(fixture->service.store), 0);
    assert_true(io_memory_bytes(fixture->io) >= before + 1000000);
    arena_release(&arena);
    assert_int_equal(partition_reclaim(fixture->service.store), 1);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

static void a_refused_put_gives_its_space_back(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t before = io_memory_bytes(fixture->io);
    struct blob_change change = { .condition = { .if_match = { .present = true, .any = true } } };
    assert_int_equal(
        blob_put_into(fixture, "box", "blob", bytes_of_len(fixture, 1000000, 'o'), &change),
        ERR_CONDITION_NOT_MET);
    change = (struct blob_change){ 0 };
    assert_int_equal(
        blob_put_into(fixture, "none", "blob", bytes_of_len(fixture, 1000000, 'o'), &change),
        ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

/* --- records --- */

static struct blob_properties properties_of(const char *text)
{
    return (struct blob_properties){
        .content_type = slice_of(text),
        .content_encoding = slice_of(text),
        .content_language = slice_of(text),
        .cache_control = slice_of(text),
        .content_disposition = slice_of(text),
        .content_md5 = slice_of("sixteen bytes..."),
    };
}

static void assert_properties(const struct blob *blob, const struct blob_properties *wanted)
{
    const struct blob_properties *found = &blob->properties;
    assert_true(slice_equal(found->content_type, wanted->content_type));
    assert_true(slice_equal(found->content_encoding, wanted->content_encoding));
    assert_true(slice_equal(found->content_language, wanted->content_language));
    assert_true(slice_equal(found->cache_control, wanted->cache_control));
    assert_true(slice_equal(found->content_disposition, wanted->content_disposition));
    assert_true(slice_equal(found->content_md5, wanted->content_md5));
}

static struct metadata one_pair(struct service_fixture *fixture, const char *name)
{
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &fixture->arena,
                    (struct metadata_pair){ slice_of(name), slice_of("value") });
    return metadata;
}

static void assert_one_pair(const struct blob *blob, const char *name)
{
    assert_int_equal(blob->metadata.count, 1);
    assert_true(slice_is(blob->metadata.pairs[0].name, name));
    assert_true(slice_is(blob->metadata.pairs[0].value, "value"));
}

static void properties_and_metadata_are_replaced_as_wholes(void **state)
{
    struct service_fixture *fixture = *state;
    const struct blob_properties none = { 0 };
    const struct blob_properties one = properties_of("one");
    const struct blob_properties type_alone = { .content_type = slice_of("two") };
    struct blob blob;
    container_make(fixture, "box");
    struct blob_change change = { .properties = one, .metadata = one_pair(fixture, "First") };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("bytes"), &change), OK);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_properties(&blob, &one);
    assert_one_pair(&blob, "First");

    change = (struct blob_change){ .properties = type_alone };
    assert_int_equal(blob_await(fixture, "blob", blob_set_properties, &change), OK);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_properties(&blob, &type_alone);
    assert_one_pair(&blob, "First");

    change = (struct blob_change){ .metadata = one_pair(fixture, "second") };
    assert_int_equal(blob_await(fixture, "blob", blob_set_metadata, &change), OK);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_properties(&blob, &type_alone);
    assert_one_pair(&blob, "second");
    assert_true(slice_is(blob_read_bytes(fixture, "blob"), "bytes"));

    blob_put_text(fixture, "blob", "other");
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_properties(&blob, &none);
    assert_int_equal(blob.metadata.count, 0);
}

static void a_blob_keeps_the_instant_of_its_creation(void **state)
{
    struct service_fixture *fixture = *state;
    struct blob blob;
    struct blob_change change = { 0 };
    container_make(fixture, "box");
    const int64_t created = blob_put_text(fixture, "blob", "one");
    fixture_advance_ms(fixture, 1000);
    const int64_t overwritten = blob_put_text(fixture, "blob", "two");
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.created_at, created);
    assert_int_equal(blob.etag, overwritten);
    assert_int_equal(blob_await(fixture, "blob", blob_set_metadata, &change), OK);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.created_at, created);

    assert_int_equal(remove_blob(fixture, "blob"), OK);
    const int64_t again = blob_put_text(fixture, "blob", "three");
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.created_at, again);
}

static void every_change_has_a_later_etag_even_when_the_clock_goes_back(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    int64_t latest = 0;
    for (int i = 0; i < 30; i++) {
        struct blob_change change = { 0 };
        fixture_advance_ms(fixture, i % 3 == 0 ? -50000 : i % 3 == 1 ? 0 : 1);
        if (i % 3 == 0 || i == 1)
            change.etag = blob_put_text(fixture, i % 2 == 0 ? "a" : "b", "text");
        else
            assert_int_equal(blob_await(fixture, i % 2 == 0 ? "a" : "b",
                                        i % 3 == 1 ? blob_set_properties : blob_set_metadata,
                                        &change),
                             OK);
        assert_true(change.etag > latest);
        latest = change.etag;
        struct blob blob;
        assert_int_equal(blob_read_record(fixture, i % 2 == 0 ? "a" : "b", &blob), OK);
        assert_int_equal(blob.etag, latest);
    }
}

static void names_are_told_apart_by_every_byte(void **state)
{
    struct service_fixture *fixture = *state;
    const char *const names[] = { "a", "A", "a ", "a/", "a/b", "a//b", "\xc3\xa9", "e\xcc\x81" };
    container_make(fixture, "box");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        blob_put_text(fixture, names[i], names[i]);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(slice_is(blob_read_bytes(fixture, names[i]), names[i]));
}

/* --- what is not there --- */

static void what_is_not_there_is_not_found(void **state)
{
    struct service_fixture *fixture = *state;
    blob_change_fn *const changes[] = { blob_set_properties, blob_set_metadata, blob_delete };
    struct blob blob;
    struct blob_lease lease = { .lease = { .action = LEASE_ACTION_BREAK, .break_sec = 0 } };
    const enum err wanted[] = { ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND };
    for (size_t exists = 0; exists < 2; exists++) {
        if (exists == 1)
            container_make(fixture, "box");
        const struct slice before = fixture_dump(fixture);
        assert_int_equal(blob_read_record(fixture, "blob", &blob), wanted[exists]);
        for (size_t i = 0; i < 3; i++) {
            struct blob_change change = { 0 };
            assert_int_equal(blob_await(fixture, "blob", changes[i], &change), wanted[exists]);
            /* There is no lease on a missing blob to be wrong about. */
            change = (struct blob_change){ .has_lease_id = true, .lease_id = A };
            assert_int_equal(blob_await(fixture, "blob", changes[i], &change), wanted[exists]);
        }
        assert_int_equal(blob_lease_await(fixture, "blob", &lease), wanted[exists]);
        fixture_assert_unchanged(fixture, before);
    }
}

static enum err close_decide(struct change *change, void *arg)
{
    (void)arg;
    struct strbuf row;
    strbuf_init(&row, change_arena(change));
    row_begin(&row, ROW_CLOSED);
    change_put(change, closed_key(), strbuf_slice(&row));
    return OK;
}

/* Close the partition of "box" as the sweeper does, under the nose of those who looked it up. */
static void close_box(struct service_fixture *fixture)
{
    struct waiter waiter;
    struct slice partition;
    const struct container_name name = container_named("box");
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    waiter_init(&waiter);
    struct partition_update update = {
        .partition = partition,
        .decide = close_decide,
        .arg = &waiter,
        .done = waiter_done,
    };
    partition_update(fixture->service.store, &update);
    assert_int_equal(waiter_wait(&waiter), OK);
}

static void a_closed_partition_takes_no_change(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    blob_put_text(fixture, "there", "bytes");
    close_box(fixture);
    const struct slice before = fixture_dump(fixture);
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        struct blob_change change = { 0 };
        assert_int_equal(
            blob_put_into(fixture, "box", "new", bytes_of_len(fixture, SIZES[i], 'a'), &change),
            ERR_CONTAINER_NOT_FOUND);
    }
    blob_change_fn *const changes[] = { blob_set_properties, blob_set_metadata, blob_delete };
    for (size_t i = 0; i < 3; i++) {
        struct blob_change change = { 0 };
        assert_int_equal(blob_await(fixture, "there", changes[i], &change),
                         ERR_CONTAINER_NOT_FOUND);
    }
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = 15 }
    };
    assert_int_equal(blob_lease_await(fixture, "there", &lease), ERR_CONTAINER_NOT_FOUND);
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

/* --- conditions --- */

static struct condition match(int64_t etag)
{
    return (struct condition){
        .if_match = { .present = true, .listed_count = 1, .count = 1, .etags = { etag } }
    };
}

static struct condition none_match(int64_t etag)
{
    return (struct condition){
        .if_none_match = { .present = true, .listed_count = 1, .count = 1, .etags = { etag } }
    };
}

static struct condition match_any(void)
{
    return (struct condition){ .if_match = { .present = true, .any = true } };
}

static struct condition none_match_any(void)
{
    return (struct condition){ .if_none_match = { .present = true, .any = true } };
}

static struct condition modified_since(int64_t ticks)
{
    return (struct condition){ .has_modified_since = true, .modified_since = ticks };
}

static struct condition unmodified_since(int64_t ticks)
{
    return (struct condition){ .has_unmodified_since = true, .unmodified_since = ticks };
}

static enum err read_if(struct service_fixture *fixture, struct condition condition)
{
    const struct blob_get_request get = { .name = blob_named("box", "blob"),
                                          .condition = condition };
    struct blob blob;
    return blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL);
}

static void reads_obey_conditions(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const int64_t etag = blob_put_text(fixture, "blob", "bytes");
    const int64_t second = date_cut_to_second(etag);
    const struct {
        struct condition condition;
        enum err outcome;
    } rows[] = {
        { match(etag), OK },
        { match(etag + 1), ERR_CONDITION_NOT_MET },
        { match_any(), OK },
        { none_match(etag), ERR_NOT_MODIFIED },
        { none_match(etag + 1), OK },
        { none_match_any(), ERR_UNSATISFIABLE_CONDITION },
        { modified_since(second), ERR_NOT_MODIFIED },
        { modified_since(second - CLOCK_TICKS_PER_SEC), OK },
        { unmodified_since(second), OK },
        { unmodified_since(second - CLOCK_TICKS_PER_SEC), ERR_CONDITION_NOT_MET },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(read_if(fixture, rows[i].condition), rows[i].outcome);
    assert_int_equal(remove_blob(fixture, "blob"), OK);
    assert_int_equal(read_if(fixture, match_any()), ERR_BLOB_NOT_FOUND);
}

static enum err put_if(struct service_fixture *fixture, const char *name,
                       struct condition condition)
{
    struct blob_change change = { .condition = condition };
    return blob_put_into(fixture, "box", name, slice_of("changed"), &change);
}

static void puts_obey_conditions(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const int64_t etag = blob_put_text(fixture, "blob", "bytes");
    const int64_t second = date_cut_to_second(etag);
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(put_if(fixture, "blob", match(etag + 1)), ERR_CONDITION_NOT_MET);
    assert_int_equal(put_if(fixture, "blob", none_match(etag)), ERR_CONDITION_NOT_MET);
    assert_int_equal(put_if(fixture, "blob", none_match_any()), ERR_BLOB_EXISTS);
    assert_int_equal(put_if(fixture, "blob", modified_since(second)), ERR_CONDITION_NOT_MET);
    assert_int_equal(put_if(fixture, "blob", unmodified_since(second - CLOCK_TICKS_PER_SEC)),
                     ERR_CONDITION_NOT_MET);
    assert_int_equal(put_if(fixture, "missing", match_any()), ERR_CONDITION_NOT_MET);
    assert_int_equal(put_if(fixture, "missing", match(etag)), ERR_CONDITION_NOT_MET);
    fixture_assert_unchanged(fixture, before);

    assert_int_equal(put_if(fixture, "blob", match(etag)), OK);
    assert_int_equal(put_if(fixture, "blob", match(etag)), ERR_CONDITION_NOT_MET);
    assert_int_equal(put_if(fixture, "blob", match_any()), OK);
    assert_int_equal(put_if(fixture, "missing", none_match_any()), OK);
    assert_int_equal(put_if(fixture, "missing", none_match_any()), ERR_BLOB_EXISTS);
}

static void other_changes_obey_conditions(void **state)
{
    struct service_fixture *fixture = *state;
    blob_change_fn *const changes[] = { blob_set_properties, blob_set_metadata, blob_delete };
    container_make(fixture, "box");
    int64_t etag = blob_put_text(fixture, "blob", "bytes");
    for (size_t i = 0; i < 3; i++) {
        const struct slice before = fixture_dump(fixture);
        struct blob_change change = { .condition = match(etag + 1) };
        assert_int_equal(blob_await(fixture, "blob", changes[i], &change), ERR_CONDITION_NOT_MET);
        change = (struct blob_change){ .condition = none_match(etag) };
        assert_int_equal(blob_await(fixture, "blob", changes[i], &change), ERR_CONDITION_NOT_MET);
        struct blob_lease lease = {
            .condition = match(etag + 1),
            .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = 15 },
        };
        assert_int_equal(blob_lease_await(fixture, "blob", &lease), ERR_CONDITION_NOT_MET);
        fixture_assert_unchanged(fixture, before);
        change = (struct blob_change){ .condition = match(etag) };
        assert_int_equal(blob_await(fixture, "blob", changes[i], &change), OK);
        etag = change.etag;
    }
}

static void a_caller_who_may_only_create_does_not_overwrite(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    struct blob_change change = { .create_only = true };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("one"), &change), OK);
    const struct slice before = fixture_dump(fixture);
    change = (struct blob_change){ .create_only = true };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("two"), &change),
                     ERR_UNAUTHORIZED_OVERWRITE);
    fixture_assert_unchanged(fixture, before);
}

/* --- races --- */

struct racing_put {
    struct blob_change change;
    struct waiter waiter;
    struct arena arena;
};

/* Start a put and do not wait. */
static void race(struct service_fixture *fixture, struct racing_put *put, struct slice bytes,
                 struct condition condition)
{
    *put = (struct racing_put){ 0 };
    waiter_bind(&put->waiter, &put->change.base, &put->arena);
    put->change.name = blob_named("box", "blob");
    put->change.condition = condition;
    assert_int_equal(
        payload_writer_new(&fixture->service, &put->arena, bytes.len, &put->change.payload), OK);
    assert_int_equal(payload_writer_append(put->change.payload, bytes), OK);
    assert_int_equal(payload_writer_finish(put->change.payload), OK);
    blob_put(&fixture->service, &put->change);
}

static void of_many_who_change_one_state_one_succeeds(void **state)
{
    struct service_fixture *fixture = *state;
    enum {
        RACERS = 12,
    };
    container_make(fixture, "box");
    int64_t etag = 0;
    for (int round = 0; round < 6; round++) {
        struct racing_put racers[RACERS];
        for (size_t i = 0; i < RACERS; i++)
            race(fixture, &racers[i],
                 bytes_of_len(fixture, i % 2 == 0 ? 10 : 5000, (char)('A' + i)),
                 round == 0 ? none_match_any() : match(etag));
        size_t winner = RACERS;
        for (size_t i = 0; i < RACERS; i++) {
            const enum err err = waiter_wait(&racers[i].waiter);
            if (err == OK) {
                assert_int_equal(winner, RACERS);
                winner = i;
                etag = racers[i].change.etag;
            } else {
                assert_int_equal(err, round == 0 ? ERR_BLOB_EXISTS : ERR_CONDITION_NOT_MET);
            }
            arena_release(&racers[i].arena);
        }
        assert_true(winner < RACERS);
        const struct slice bytes = blob_read_bytes(fixture, "blob");
        assert_int_equal(bytes.len, winner % 2 == 0 ? 10 : 5000);
        assert_int_equal(bytes.data[0], 'A' + winner);
    }
}

static void overwrites_without_conditions_all_take_effect(void **state)
{
    struct service_fixture *fixture = *state;
    enum {
        RACERS = 12,
    };
    container_make(fixture, "box");
    struct racing_put racers[RACERS];
    for (size_t i = 0; i < RACERS; i++)
        race(fixture, &racers[i], bytes_of_len(fixture, 5000, (char)('A' + i)),
             (struct condition){ 0 });
    size_t last = 0;
    for (size_t i = 0; i < RACERS; i++) {
        assert_int_equal(waiter_wait(&racers[i].waiter), OK);
        if (racers[i].change.etag > racers[last].change.etag)
            last = i;
        arena_release(&racers[i].arena);
    }
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(blob.etag, racers[last].change.etag);
    assert_int_equal(blob_read_bytes(fixture, "blob").data[0], 'A' + last);
    assert_int_equal(row_count(fixture), 1);
}

/* --- leases --- */

static struct blob_lease acquire(struct uuid id, int32_t duration_sec)
{
    return (struct blob_lease){
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = id, .duration_sec = duration_sec }
    };
}

static struct blob_change with_lease(struct uuid id)
{
    return (struct blob_change){ .has_lease_id = true, .lease_id = id };
}

static enum lease_state lease_state_of(struct service_fixture *fixture)
{
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    return blob.lease.state;
}

static void a_leased_blob_is_changed_with_its_id_alone(void **state)
{
    struct service_fixture *fixture = *state;
    blob_change_fn *const changes[] = { blob_set_properties, blob_set_metadata, blob_delete };
    container_make(fixture, "box");
    blob_put_text(fixture, "blob", "bytes");
    struct blob_lease lease = acquire(A, 15);
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    const struct slice before = fixture_dump(fixture);

    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &change),
                     ERR_LEASE_ID_MISSING);
    /* The lease is looked at before the conditions. */
    change = (struct blob_change){ .condition = none_match_any() };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &change),
                     ERR_LEASE_ID_MISSING);
    change = with_lease(B);
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &change),
                     ERR_LEASE_ID_MISMATCH_BLOB);
    for (size_t i = 0; i < 3; i++) {
        change = (struct blob_change){ 0 };
        assert_int_equal(blob_await(fixture, "blob", changes[i], &change), ERR_LEASE_ID_MISSING);
        change = with_lease(B);
        assert_int_equal(blob_await(fixture, "blob", changes[i], &change),
                         ERR_LEASE_ID_MISMATCH_BLOB);
    }
    fixture_assert_unchanged(fixture, before);
    for (size_t i = 0; i < 3; i++) {
        change = with_lease(A);
        assert_int_equal(blob_await(fixture, "blob", changes[i], &change), OK);
    }
}

static void overwriting_a_leased_blob_keeps_the_lease(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    blob_put_text(fixture, "blob", "bytes");
    struct blob_lease lease = acquire(A, LEASE_DURATION_SEC_INFINITE);
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    struct blob_change change = with_lease(A);
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("new"), &change), OK);
    assert_int_equal(lease_state_of(fixture), LEASE_LEASED);

    /* With the lease id, If-None-Match: * overwrites too. */
    change = with_lease(A);
    change.condition = none_match_any();
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("newer"), &change), OK);
    assert_true(slice_is(blob_read_bytes(fixture, "blob"), "newer"));
    assert_int_equal(lease_state_of(fixture), LEASE_LEASED);

    struct blob_lease breaking = { .lease = { .action = LEASE_ACTION_BREAK, .break_sec = 10 } };
    assert_int_equal(blob_lease_await(fixture, "blob", &breaking), OK);
    change = with_lease(A);
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("newest"), &change), OK);
    assert_int_equal(lease_state_of(fixture), LEASE_BREAKING);
}

static void a_lease_id_for_an_unleased_or_missing_blob_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    blob_put_text(fixture, "blob", "bytes");
    const struct slice before = fixture_dump(fixture);
    struct blob_change change = with_lease(A);
    assert_int_equal(blob_put_into(fixture, "box", "missing", slice_of("x"), &change),
                     ERR_LEASE_NOT_PRESENT_BLOB);
    change = with_lease(A);
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &change),
                     ERR_LEASE_NOT_PRESENT_BLOB);
    fixture_assert_unchanged(fixture, before);
}

static void a_write_forgets_an_expired_lease(void **state)
{
    struct service_fixture *fixture = *state;
    blob_change_fn *const changes[] = { NULL, blob_set_properties, blob_set_metadata };
    const struct lease_request renew = { .action = LEASE_ACTION_RENEW, .id = A };
    container_make(fixture, "box");
    blob_put_text(fixture, "blob", "bytes");
    for (size_t i = 0; i < 3; i++) {
        struct blob_lease lease = acquire(A, 15);
        assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
        fixture_advance_ms(fixture, 15000);
        assert_int_equal(lease_state_of(fixture), LEASE_EXPIRED);
        /* Nobody wrote since: it can be renewed. */
        lease = (struct blob_lease){ .lease = renew };
        assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
        fixture_advance_ms(fixture, 15000);

        struct blob_change change = with_lease(A);
        assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &change),
                         ERR_LEASE_LOST);
        if (changes[i] == NULL) {
            blob_put_text(fixture, "blob", "again");
        } else {
            change = (struct blob_change){ 0 };
            assert_int_equal(blob_await(fixture, "blob", changes[i], &change), OK);
        }
        assert_int_equal(lease_state_of(fixture), LEASE_AVAILABLE);
        lease = (struct blob_lease){ .lease = renew };
        assert_int_equal(blob_lease_await(fixture, "blob", &lease), ERR_LEASE_ACTION_ID_MISMATCH);
    }
}

static void readers_need_no_lease_but_have_the_right_one_if_any(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    blob_put_text(fixture, "blob", "bytes");
    struct blob_lease lease = acquire(A, 15);
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    struct blob_get_request get = { .name = blob_named("box", "blob") };
    struct blob blob;
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL), OK);
    get.has_lease_id = true;
    get.lease_id = A;
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL), OK);
    get.lease_id = B;
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL),
                     ERR_LEASE_ID_MISMATCH_BLOB);
    /* The lease is looked at before the conditions. */
    get.condition = match(1);
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL),
                     ERR_LEASE_ID_MISMATCH_BLOB);
    fixture_advance_ms(fixture, 15000);
    get.lease_id = A;
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL),
                     ERR_LEASE_LOST);
}

static void a_lease_goes_through_its_life(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const int64_t etag = blob_put_text(fixture, "blob", "bytes");
    struct blob_lease lease = acquire(A, 60);
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    assert_int_equal(lease.lease_now.state, LEASE_LEASED);
    assert_int_equal(lease.etag, etag);
    lease = acquire(B, 15);
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), ERR_LEASE_ALREADY_PRESENT);

    fixture_advance_ms(fixture, 30000);
    lease = (struct blob_lease){ .lease = {
                                     .action = LEASE_ACTION_CHANGE, .id = A, .proposed_id = B } };
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    assert_true(uuid_equal(&lease.lease_now.id, &B));
    lease = (struct blob_lease){ .lease = { .action = LEASE_ACTION_BREAK,
                                            .break_sec = LEASE_BREAK_SEC_DEFAULT } };
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    assert_int_equal(lease.lease.remaining_sec, 30);
    assert_int_equal(lease.lease_now.state, LEASE_BREAKING);
    fixture_advance_ms(fixture, 29999);
    assert_int_equal(lease_state_of(fixture), LEASE_BREAKING);
    fixture_advance_ms(fixture, 1);
    assert_int_equal(lease_state_of(fixture), LEASE_BROKEN);

    lease = acquire(A, 15);
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    lease = (struct blob_lease){ .lease = { .action = LEASE_ACTION_RELEASE, .id = A } };
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    assert_int_equal(lease_state_of(fixture), LEASE_AVAILABLE);
    /* No action changes the blob's state. */
    assert_int_equal(lease.etag, etag);
}

/* --- listing --- */

enum {
    NAMES_MAX = 60,
    NAME_LEN_MAX = 24,
};

struct name_list {
    size_t count;
    char names[NAMES_MAX][NAME_LEN_MAX]; /* in order, each once */
};

/* Entries of a page, one per line; common beginnings are marked with '>'. */
struct page {
    struct strbuf entries;
    size_t count;
    size_t stop_after; /* the reader ends the page there; 0: never */
};

static bool page_add(struct page *page, struct slice name, bool common)
{
    strbuf_add_text(&page->entries, common ? ">" : " ");
    strbuf_add(&page->entries, name);
    strbuf_add_byte(&page->entries, '\n');
    return ++page->count != page->stop_after;
}

static bool page_emit(void *arg, const struct blob_list_entry *entry)
{
    return page_add(arg, entry->name, entry->blob == NULL);
}

/* The model: what a page of `names` is, and where the next one begins. */
static struct slice model_list(const struct name_list *names,
                               const struct blob_list_request *request, struct page *page)
{
    bool more = request->results_max > 0;
    struct slice skipped = { 0 };
    for (size_t i = 0; i < names->count; i++) {
        const struct slice name = slice_of(names->names[i]);
        if (!slice_starts_with(name, request->prefix) ||
            slice_compare(name, request->from.name) < 0)
            continue;
        if (skipped.len > 0 && slice_starts_with(name, skipped))
            continue;
        if (!more || page->count == request->results_max)
            return name;
        const char *found = request->delimiter.len == 0
                                ? NULL
                                : strstr(name.data + request->prefix.len, request->delimiter.data);
        if (found != NULL)
            skipped = slice_head(name, (size_t)(found - name.data) + request->delimiter.len);
        more = page_add(page, found != NULL ? skipped : name, found != NULL);
    }
    return (struct slice){ 0 };
}

static struct slice store_list(struct service_fixture *fixture, struct blob_list_request request,
                               struct page *page)
{
    struct blob_position next;
    request.emit = page_emit;
    request.arg = page;
    assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
    assert_int_equal(next.snapshot, 0);
    return next.name;
}

static void random_text(struct test_random *random, size_t parts_max, char text[NAME_LEN_MAX])
{
    static const char *const parts[] = { "a", "b", "/", "/", "-", "\xc3\xa9", " " };
    size_t len = 0;
    for (size_t left = random_below(random, parts_max + 1); left > 0; left--) {
        const char *part = parts[random_below(random, sizeof(parts) / sizeof(parts[0]))];
        memcpy(text + len, part, strlen(part));
        len += strlen(part);
    }
    text[len] = '\0';
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void put_random_names(struct service_fixture *fixture, struct test_random *random,
                             struct name_list *list)
{
    *list = (struct name_list){ 0 };
    while (list->count < NAMES_MAX) {
        char *name = list->names[list->count];
        bool is_new = true;
        random_text(random, 7, name);
        for (size_t i = 0; i < list->count; i++)
            is_new = is_new && strcmp(list->names[i], name) != 0;
        if (name[0] == '\0' || !is_new)
            continue;
        blob_put_text(fixture, name, "");
        list->count++;
    }
    qsort(list->names, list->count, sizeof(list->names[0]), compare_names);
}

static void pages_are_as_the_model_says(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    static const char *const delimiters[] = { "", "/", "/", "//", "-", "a", "\xc3\xa9", "b/" };
    struct name_list names;
    container_make(fixture, "box");
    put_random_names(fixture, &random, &names);
    for (int i = 0; i < 3000; i++) {
        char prefix[NAME_LEN_MAX];
        char from[NAME_LEN_MAX];
        random_text(&random, 2, prefix);
        random_text(&random, random_below(&random, 2) == 0 ? 0 : 5, from);
        const struct blob_list_request request = {
            .container = container_named("box"),
            .prefix = slice_of(prefix),
            .delimiter = slice_of(delimiters[random_below(&random, 8)]),
            .from = { .name = slice_of(from) },
            .results_max = random_below(&random, 2) == 0 ? 5000 : random_below(&random, 8),
        };
        struct page wanted = { .stop_after = random_below(&random, 12) };
        struct page found = { .stop_after = wanted.stop_after };
        strbuf_init(&wanted.entries, &fixture->arena);
        strbuf_init(&found.entries, &fixture->arena);
        const struct slice wanted_next = model_list(&names, &request, &wanted);
        const struct slice found_next = store_list(fixture, request, &found);
        assert_int_equal(found.count, wanted.count);
        assert_true(slice_equal(strbuf_slice(&found.entries), strbuf_slice(&wanted.entries)));
        assert_true(slice_equal(found_next, wanted_next));
        arena_clear(&fixture->arena);
    }
}

static void pages_together_are_the_whole(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    struct name_list names;
    container_make(fixture, "box");
    put_random_names(fixture, &random, &names);
    for (size_t with_delimiter = 0; with_delimiter < 2; with_delimiter++) {
        struct blob_list_request request = {
            .container = container_named("box"),
            .delimiter = slice_of(with_delimiter == 1 ? "/" : ""),
            .results_max = 5000,
        };
        struct page whole = { 0 };
        strbuf_init(&whole.entries, &fixture->arena);
        assert_int_equal(store_list(fixture, request, &whole).len, 0);
        for (request.results_max = 1; request.results_max < 8; request.results_max++) {
            struct page all = { 0 };
            strbuf_init(&all.entries, &fixture->arena);
            request.from = (struct blob_position){ 0 };
            do {
                struct page page = { 0 };
                strbuf_init(&page.entries, &fixture->arena);
                request.from.name = store_list(fixture, request, &page);
                assert_true(page.count <= request.results_max);
                strbuf_add(&all.entries, strbuf_slice(&page.entries));
            } while (request.from.name.len > 0);
            assert_true(slice_equal(strbuf_slice(&all.entries), strbuf_slice(&whole.entries)));
        }
    }
}

static void nothing_begins_with_a_nul(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    blob_put_text(fixture, "a", "bytes");
    const struct blob_list_request request = {
        .container = container_named("box"),
        .prefix = slice_make("a\0", 2),
        .results_max = 10,
    };
    struct page page = { 0 };
    strbuf_init(&page.entries, &fixture->arena);
    assert_int_equal(store_list(fixture, request, &page).len, 0);
    assert_int_equal(page.count, 0);
}

static bool note_blob(void *arg, const struct blob_list_entry *entry)
{
    struct blob *noted = arg;
    *noted = *entry->blob;
    return true;
}

static void listing_shows_records_with_leases_as_they_are_now(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    struct blob noted;
    struct blob_position next;
    const struct blob_list_request request = {
        .container = container_named("box"), .results_max = 10, .emit = note_blob, .arg = &noted
    };
    assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
    const int64_t etag = blob_put_text(fixture, "blob", "bytes");
    struct blob_lease lease = acquire(A, 15);
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
    assert_int_equal(noted.etag, etag);
    assert_int_equal(noted.content.length_bytes, 5);
    assert_int_equal(noted.lease.state, LEASE_LEASED);
    fixture_advance_ms(fixture, 15000);
    assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
    assert_int_equal(noted.lease.state, LEASE_EXPIRED);
}

static void listing_a_missing_container_is_not_found(void **state)
{
    struct service_fixture *fixture = *state;
    struct blob noted;
    struct blob_position next;
    const struct blob_list_request request = {
        .container = container_named("box"), .results_max = 10, .emit = note_blob, .arg = &noted
    };
    assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next),
                     ERR_CONTAINER_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(what_is_put_is_got),
        ON_ALL_ENGINES(overwriting_leaves_the_new_bytes_alone),
        ON_MEMORY(deleting_leaves_nothing),
        ON_ALL_ENGINES(a_reader_keeps_the_bytes_it_opened),
        ON_MEMORY(space_is_given_back_when_the_last_reader_is_gone),
        ON_MEMORY(a_refused_put_gives_its_space_back),
        ON_ALL_ENGINES(properties_and_metadata_are_replaced_as_wholes),
        ON_ALL_ENGINES(a_blob_keeps_the_instant_of_its_creation),
        ON_ALL_ENGINES(every_change_has_a_later_etag_even_when_the_clock_goes_back),
        ON_ALL_ENGINES(names_are_told_apart_by_every_byte),
        ON_ALL_ENGINES(what_is_not_there_is_not_found),
        ON_ALL_ENGINES(a_closed_partition_takes_no_change),
        ON_MEMORY(reads_obey_conditions),
        ON_ALL_ENGINES(puts_obey_conditions),
        ON_ALL_ENGINES(other_changes_obey_conditions),
        ON_ALL_ENGINES(a_caller_who_may_only_create_does_not_overwrite),
        ON_ALL_ENGINES(of_many_who_change_one_state_one_succeeds),
        ON_ALL_ENGINES(overwrites_without_conditions_all_take_effect),
        ON_ALL_ENGINES(a_leased_blob_is_changed_with_its_id_alone),
        ON_ALL_ENGINES(overwriting_a_leased_blob_keeps_the_lease),
        ON_MEMORY(a_lease_id_for_an_unleased_or_missing_blob_is_refused),
        ON_ALL_ENGINES(a_write_forgets_an_expired_lease),
        ON_MEMORY(readers_need_no_lease_but_have_the_right_one_if_any),
        ON_ALL_ENGINES(a_lease_goes_through_its_life),
        ON_ALL_ENGINES(pages_are_as_the_model_says),
        ON_MEMORY(pages_together_are_the_whole),
        ON_MEMORY(nothing_begins_with_a_nul),
        ON_MEMORY(listing_shows_records_with_leases_as_they_are_now),
        ON_MEMORY(listing_a_missing_container_is_not_found),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
