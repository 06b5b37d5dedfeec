/*
 * test_snapshot.c - snapshots: taking, reading and deleting them, sharing of content with the blob,
 * and listing against a simple model.
 */
#include "base/log.h"
#include "service/blob/fsck.h"
#include "service/blob/snapshot.h"
#include "service/sweeper.h"
#include "service_fixture.h"
#include "test_random.h"

static const struct uuid A = { .bytes = { 0xA } };
static const struct uuid B = { .bytes = { 0xB } };

/* Contents at both sides of what is kept inline. */
static const size_t SIZES[] = { 0, 7, FIXTURE_INLINE_BYTES + 1, 300000 };

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static enum err snapshot_with(struct service_fixture *fixture, const char *name,
                              struct blob_snapshot *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = blob_named("box", name);
    blob_snapshot(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static int64_t take_snapshot(struct service_fixture *fixture, const char *name)
{
    struct blob_snapshot change = { 0 };
    assert_int_equal(snapshot_with(fixture, name, &change), OK);
    return change.snapshot;
}

static enum err read_snapshot(struct service_fixture *fixture, const char *name, int64_t snapshot,
                              struct blob *blob, struct slice *bytes)
{
    struct blob_get_request get = { .name = blob_named("box", name), .want_payload = true };
    struct payload_reader payload;
    struct arena arena = { 0 };
    get.name.snapshot = snapshot;
    struct blob record;
    const enum err err = blob_get(&fixture->service, &arena, &get, &record, &payload);
    if (err == OK)
        *bytes = fixture_payload_bytes(fixture, &payload);
    arena_release(&arena);
    if (err != OK)
        return err;
    get.want_payload = false;
    return blob_get(&fixture->service, &fixture->arena, &get, blob, NULL);
}

static enum err remove_with(struct service_fixture *fixture, const char *name, int64_t snapshot,
                            enum blob_snapshots what)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct blob_change change = { .snapshots = what };
    waiter_bind(&waiter, &change.base, &arena);
    change.name = blob_named("box", name);
    change.name.snapshot = snapshot;
    blob_delete(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static struct slice filled(struct service_fixture *fixture, size_t len, char byte)
{
    char *bytes = arena_bytes(&fixture->arena, len);
    memset(bytes, byte, len);
    return slice_make(bytes, len);
}

static void put_filled(struct service_fixture *fixture, const char *name, size_t len, char byte)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", name, filled(fixture, len, byte), &change), OK);
}

static void a_snapshot_keeps_what_the_blob_was(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        struct blob before;
        struct blob after;
        struct blob kept;
        struct slice bytes;
        put_filled(fixture, "blob", SIZES[i], 'o');
        assert_int_equal(blob_read_record(fixture, "blob", &before), OK);
        const int64_t snapshot = take_snapshot(fixture, "blob");
        assert_int_equal(blob_read_record(fixture, "blob", &after), OK);
        assert_int_equal(after.etag, before.etag);

        put_filled(fixture, "blob", SIZES[i] + 1, 'n');
        assert_int_equal(read_snapshot(fixture, "blob", snapshot, &kept, &bytes), OK);
        assert_int_equal(kept.etag, before.etag);
        assert_true(slice_equal(bytes, filled(fixture, SIZES[i], 'o')));
        assert_true(
            slice_equal(blob_read_bytes(fixture, "blob"), filled(fixture, SIZES[i] + 1, 'n')));
        assert_int_equal(read_snapshot(fixture, "blob", snapshot + 1, &kept, &bytes),
                         ERR_BLOB_NOT_FOUND);
    }
}

static void a_snapshot_has_metadata_of_its_own_if_it_is_given_any(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    struct metadata_pair old_pair = { slice_of("name"), slice_of("old") };
    struct metadata_pair new_pair = { slice_of("other"), slice_of("new") };
    struct blob_change put = { .metadata = { &old_pair, 1 } };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &put), OK);

    struct blob_snapshot same = { 0 };
    struct blob_snapshot other = { .metadata = { &new_pair, 1 } };
    assert_int_equal(snapshot_with(fixture, "blob", &same), OK);
    assert_int_equal(snapshot_with(fixture, "blob", &other), OK);
    assert_int_equal(same.etag, put.etag);
    assert_true(other.etag > put.etag);
    assert_true(other.snapshot > same.snapshot);
    struct blob kept;
    struct slice bytes;
    assert_int_equal(read_snapshot(fixture, "blob", same.snapshot, &kept, &bytes), OK);
    assert_true(slice_is(kept.metadata.pairs[0].value, "old"));
    assert_int_equal(read_snapshot(fixture, "blob", other.snapshot, &kept, &bytes), OK);
    assert_int_equal(kept.metadata.count, 1);
    assert_true(slice_is(kept.metadata.pairs[0].name, "other"));
    assert_int_equal(kept.etag, other.etag);
    assert_int_equal(blob_read_record(fixture, "blob", &kept), OK);
    assert_int_equal(kept.etag, put.etag);
}

static void snapshots_obey_conditions_and_need_no_lease(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const int64_t etag = blob_put_text(fixture, "blob", "x");
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = -1 }
    };
    assert_int_equal(blob_lease_await(fixture, "blob", &lease), OK);
    struct blob_snapshot wrong = { .condition.if_match = { .present = true,
                                                           .listed_count = 1,
                                                           .count = 1,
                                                           .etags = { etag + 1 } } };
    struct blob_snapshot right = wrong;
    right.condition.if_match.etags[0] = etag;
    assert_int_equal(snapshot_with(fixture, "blob", &wrong), ERR_CONDITION_NOT_MET);
    assert_int_equal(snapshot_with(fixture, "blob", &right), OK);
    struct blob_snapshot holder = { .has_lease_id = true, .lease_id = A };
    struct blob_snapshot stranger = { .has_lease_id = true, .lease_id = B };
    assert_int_equal(snapshot_with(fixture, "blob", &holder), OK);
    assert_int_equal(snapshot_with(fixture, "blob", &stranger), ERR_LEASE_ID_MISMATCH_BLOB);
    struct blob kept;
    struct slice bytes;
    assert_int_equal(read_snapshot(fixture, "blob", holder.snapshot, &kept, &bytes), OK);
    assert_int_equal(kept.lease.state, LEASE_AVAILABLE);
    struct blob_snapshot none = { 0 };
    assert_int_equal(snapshot_with(fixture, "none", &none), ERR_BLOB_NOT_FOUND);
}

static void a_blob_is_deleted_with_its_snapshots_or_not_at_all(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    struct blob blob;
    struct slice bytes;
    put_filled(fixture, "blob", 5000, 'a');
    put_filled(fixture, "blob2", 10, 'b');
    const int64_t first = take_snapshot(fixture, "blob");
    const int64_t second = take_snapshot(fixture, "blob");
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(remove_with(fixture, "blob", 0, BLOB_SNAPSHOTS_NONE), ERR_SNAPSHOTS_PRESENT);
    fixture_assert_unchanged(fixture, before);

    assert_int_equal(remove_with(fixture, "blob", first, BLOB_SNAPSHOTS_NONE), OK);
    assert_int_equal(remove_with(fixture, "blob", first, BLOB_SNAPSHOTS_NONE), ERR_BLOB_NOT_FOUND);
    assert_int_equal(read_snapshot(fixture, "blob", second, &blob, &bytes), OK);
    assert_int_equal(remove_with(fixture, "blob", 0, BLOB_SNAPSHOTS_ONLY), OK);
    assert_int_equal(read_snapshot(fixture, "blob", second, &blob, &bytes), ERR_BLOB_NOT_FOUND);
    assert_int_equal(blob_read_bytes(fixture, "blob").len, 5000);

    const int64_t third = take_snapshot(fixture, "blob");
    assert_int_equal(remove_with(fixture, "blob", 0, BLOB_SNAPSHOTS_INCLUDE), OK);
    assert_int_equal(read_snapshot(fixture, "blob", third, &blob, &bytes), ERR_BLOB_NOT_FOUND);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), ERR_BLOB_NOT_FOUND);
    assert_int_equal(remove_with(fixture, "blob2", 0, BLOB_SNAPSHOTS_NONE), OK);
}

static void nothing_is_left_of_deleted_snapshots(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const struct slice before = fixture_dump(fixture);
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        put_filled(fixture, "blob", SIZES[i], 'a');
        for (int j = 0; j < 20; j++)
            take_snapshot(fixture, "blob");
        put_filled(fixture, "blob", SIZES[i], 'b');
        take_snapshot(fixture, "blob");
        assert_int_equal(remove_with(fixture, "blob", 0, BLOB_SNAPSHOTS_INCLUDE), OK);
        fixture_assert_unchanged(fixture, before);
    }
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

static void snapshots_of_a_deleted_container_are_reclaimed(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    struct container container;
    container_make(fixture, "box");
    const struct container_name name = container_named("box");
    assert_int_equal(container_get(&fixture->service, &fixture->arena, &name, NULL, &container),
                     OK);
    for (int i = 0; i < 300; i++) {
        put_filled(fixture, "blob", i % 2 == 0 ? 10 : 5000, 'a');
        take_snapshot(fixture, "blob");
    }
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    assert_int_equal(fixture_dump_partition(
                         fixture, blob_partition(&fixture->arena, container.incarnation), &out),
                     1);
}

/* --- listing against a model --- */

enum {
    MODEL_NAMES = 5,
    MODEL_ENTRIES_MAX = 200,
};

static const char *const names[MODEL_NAMES] = { "a", "a b", "aa", "b", "b/c" };

/* What a listing shows: names in order, snapshots (not 0) before the base blob (0). */
struct model {
    size_t count;
    struct {
        size_t name;
        int64_t snapshot;
        char byte;
    } entries[MODEL_ENTRIES_MAX];
};

static bool model_has(const struct model *model, size_t name, int64_t snapshot, size_t *place)
{
    for (size_t i = 0; i < model->count; i++) {
        if (model->entries[i].name == name && model->entries[i].snapshot == snapshot) {
            *place = i;
            return true;
        }
    }
    return false;
}

static void model_insert(struct model *model, size_t name, int64_t snapshot, char byte)
{
    /* The newest snapshot goes right before its blob, a new blob after smaller names. */
    size_t at = 0;
    while (at < model->count &&
           (model->entries[at].name < name ||
            (model->entries[at].name == name && model->entries[at].snapshot != 0)))
        at++;
    memmove(&model->entries[at + 1], &model->entries[at],
            (model->count - at) * sizeof(model->entries[0]));
    model->entries[at].name = name;
    model->entries[at].snapshot = snapshot;
    model->entries[at].byte = byte;
    model->count++;
}

static void model_remove(struct model *model, size_t place)
{
    model->count--;
    memmove(&model->entries[place], &model->entries[place + 1],
            (model->count - place) * sizeof(model->entries[0]));
}

static void remove_snapshots(struct model *model, size_t name)
{
    for (size_t i = model->count; i-- > 0;)
        if (model->entries[i].name == name && model->entries[i].snapshot != 0)
            model_remove(model, i);
}

struct shown {
    struct service_fixture *fixture;
    const struct model *model;
    size_t next;
    bool with_snapshots;
};

static bool check_entry(void *arg, const struct blob_list_entry *entry)
{
    struct shown *shown = arg;
    const struct model *model = shown->model;
    while (!shown->with_snapshots && shown->next < model->count &&
           model->entries[shown->next].snapshot != 0)
        shown->next++;
    assert_true(shown->next < model->count);
    assert_true(slice_is(entry->name, names[model->entries[shown->next].name]));
    assert_int_equal(entry->snapshot, model->entries[shown->next].snapshot);
    shown->next++;
    return true;
}

static void check_listing(struct service_fixture *fixture, const struct model *model,
                          bool with_snapshots, size_t page_len)
{
    struct shown shown = { .model = model, .with_snapshots = with_snapshots };
    struct blob_list_request request = {
        .container = container_named("box"),
        .with_snapshots = with_snapshots,
        .results_max = page_len,
        .emit = check_entry,
        .arg = &shown,
    };
    do {
        const size_t before = shown.next;
        struct blob_position next;
        assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
        assert_true(shown.next > before || model->count == 0);
        request.from = next;
    } while (request.from.name.len > 0);
    assert_int_equal(shown.next, model->count);
}

static void step(struct service_fixture *fixture, struct test_random *random, struct model *model)
{
    const size_t name = random_below(random, MODEL_NAMES);
    size_t place = 0;
    const bool exists = model_has(model, name, 0, &place);
    const char byte = (char)('a' + random_below(random, 26));
    switch (random_below(random, 8)) {
    case 0:
    case 1:
        put_filled(fixture, names[name], SIZES[random_below(random, 3)] + 1, byte);
        if (exists)
            model->entries[place].byte = byte;
        else
            model_insert(model, name, 0, byte);
        break;
    case 2:
    case 3:
    case 4:
        if (exists && model->count < MODEL_ENTRIES_MAX - 1)
            model_insert(model, name, take_snapshot(fixture, names[name]),
                         model->entries[place].byte);
        break;
    case 5: {
        const size_t at = random_below(random, model->count + 1);
        if (at < model->count && model->entries[at].snapshot != 0) {
            assert_int_equal(remove_with(fixture, names[model->entries[at].name],
                                         model->entries[at].snapshot, BLOB_SNAPSHOTS_NONE),
                             OK);
            model_remove(model, at);
        }
        break;
    }
    case 6: {
        const bool only = random_below(random, 2) == 0;
        const enum err err = remove_with(fixture, names[name], 0,
                                         only ? BLOB_SNAPSHOTS_ONLY : BLOB_SNAPSHOTS_INCLUDE);
        assert_int_equal(err, exists ? OK : ERR_BLOB_NOT_FOUND);
        remove_snapshots(model, name);
        if (exists && !only && model_has(model, name, 0, &place))
            model_remove(model, place);
        break;
    }
    default: {
        const bool has_snapshots = exists && place > 0 && model->entries[place - 1].name == name;
        const enum err err = remove_with(fixture, names[name], 0, BLOB_SNAPSHOTS_NONE);
        assert_int_equal(err, !exists         ? ERR_BLOB_NOT_FOUND
                              : has_snapshots ? ERR_SNAPSHOTS_PRESENT
                                              : OK);
        if (err == OK)
            model_remove(model, place);
        break;
    }
    }
}

static void check_bytes(struct service_fixture *fixture, const struct model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        struct blob blob;
        struct slice bytes = { 0 };
        assert_int_equal(read_snapshot(fixture, names[model->entries[i].name],
                                       model->entries[i].snapshot, &blob, &bytes),
                         OK);
        assert_true(bytes.len > 0);
        assert_true(slice_equal(bytes, filled(fixture, bytes.len, model->entries[i].byte)));
    }
}

static void snapshots_and_their_listings_are_as_the_model_says(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    struct model model = { 0 };
    container_make(fixture, "box");
    const struct slice before = fixture_dump(fixture);
    char *kept = malloc(before.len);
    assert_non_null(kept);
    memcpy(kept, before.data, before.len);
    const struct slice empty = slice_make(kept, before.len);
    for (int i = 0; i < 400; i++) {
        step(fixture, &random, &model);
        if (i % 10 != 0)
            continue;
        check_listing(fixture, &model, true, 1 + random_below(&random, 9));
        check_bytes(fixture, &model);
        arena_clear(&fixture->arena);
    }
    check_listing(fixture, &model, true, 5000);
    for (size_t i = 0; i < MODEL_NAMES; i++) {
        const enum err err = remove_with(fixture, names[i], 0, BLOB_SNAPSHOTS_INCLUDE);
        assert_true(err == OK || err == ERR_BLOB_NOT_FOUND);
    }
    fixture_assert_unchanged(fixture, empty);
    free(kept);
}

/* A listing without snapshots passes over them, however many there are. */
static void a_listing_of_blobs_shows_no_snapshots(void **state)
{
    struct service_fixture *fixture = *state;
    struct model model = { 0 };
    container_make(fixture, "box");
    for (size_t i = 0; i < MODEL_NAMES; i++) {
        put_filled(fixture, names[i], 5, 'x');
        model_insert(&model, i, 0, 'x');
        for (size_t j = 0; j < i * 7; j++)
            take_snapshot(fixture, names[i]);
    }
    for (size_t page_len = 1; page_len < 7; page_len++)
        check_listing(fixture, &model, false, page_len);
}

/* --- very many --- */

enum {
    MANY = 300, /* more than one update of the sweeper removes */
};

static size_t count_rows(struct service_fixture *fixture, const char *prefix)
{
    struct arena arena = { 0 };
    struct slice partition;
    const struct container_name name = container_named("box");
    assert_int_equal(container_find_blobs(&fixture->service, &arena, &name, &partition), OK);
    struct partition_view view;
    partition_view_open(fixture->service.store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of(prefix), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    size_t count = 0;
    while (cursor_next(cursor, &key, &row) == OK)
        count++;
    cursor_free(cursor);
    partition_view_close(&view);
    arena_release(&arena);
    return count;
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

static void put_many(struct service_fixture *fixture, int64_t snapshots[MANY])
{
    put_filled(fixture, names[1], 5000, 'x');
    for (size_t i = 0; i < MANY; i++)
        snapshots[i] = take_snapshot(fixture, names[1]);
}

static void assert_gone(struct service_fixture *fixture, const int64_t snapshots[MANY])
{
    for (size_t i = 0; i < MANY; i++) {
        struct blob blob;
        struct slice bytes;
        assert_int_equal(read_snapshot(fixture, names[1], snapshots[i], &blob, &bytes),
                         ERR_BLOB_NOT_FOUND);
        assert_int_equal(remove_with(fixture, names[1], snapshots[i], BLOB_SNAPSHOTS_NONE),
                         ERR_BLOB_NOT_FOUND);
    }
}

static void very_many_snapshots_go_at_once_and_their_records_later(void **state)
{
    struct service_fixture *fixture = *state;
    int64_t snapshots[MANY];
    struct model model = { 0 };
    container_make(fixture, "box");
    put_filled(fixture, names[0], 5, 'x');
    put_filled(fixture, names[2], 5, 'x');
    put_many(fixture, snapshots);
    for (size_t i = 0; i < 3; i++)
        model_insert(&model, i, 0, 'x');
    const size_t before = count_rows(fixture, "");
    assert_int_equal(remove_with(fixture, names[1], 0, BLOB_SNAPSHOTS_ONLY), OK);
    assert_int_equal(count_rows(fixture, ""), before + 1);
    assert_gone(fixture, snapshots);
    check_listing(fixture, &model, true, 2);
    check_listing(fixture, &model, false, 2);
    assert_holds_together(fixture);

    /* One that is taken now is there. */
    model_insert(&model, 1, take_snapshot(fixture, names[1]), 'x');
    check_listing(fixture, &model, true, 1);
    assert_int_equal(remove_with(fixture, names[1], 0, BLOB_SNAPSHOTS_NONE), ERR_SNAPSHOTS_PRESENT);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(count_rows(fixture, "o"), 0);
    assert_int_equal(count_rows(fixture, "b"), 4);
    check_listing(fixture, &model, true, 1);
    assert_holds_together(fixture);
}

static void a_blob_made_anew_has_none_of_the_snapshots_that_went_with_the_old(void **state)
{
    struct service_fixture *fixture = *state;
    int64_t snapshots[MANY];
    struct model model = { 0 };
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    put_many(fixture, snapshots);
    assert_int_equal(remove_with(fixture, names[1], 0, BLOB_SNAPSHOTS_INCLUDE), OK);
    check_listing(fixture, &model, true, 10);
    check_listing(fixture, &model, false, 10);
    assert_gone(fixture, snapshots);
    assert_holds_together(fixture);
    put_filled(fixture, names[1], 5, 'y');
    model_insert(&model, 1, 0, 'y');
    check_listing(fixture, &model, true, 10);
    assert_int_equal(remove_with(fixture, names[1], 0, BLOB_SNAPSHOTS_NONE), OK);
    /* Twice the same, before the sweeper comes. */
    put_many(fixture, snapshots);
    assert_int_equal(remove_with(fixture, names[1], 0, BLOB_SNAPSHOTS_INCLUDE), OK);
    assert_gone(fixture, snapshots);
    assert_holds_together(fixture);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(count_rows(fixture, ""), 0);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

static void a_deleted_container_takes_snapshots_along_that_are_gone_already(void **state)
{
    struct service_fixture *fixture = *state;
    int64_t snapshots[MANY];
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    put_many(fixture, snapshots);
    assert_int_equal(remove_with(fixture, names[1], 0, BLOB_SNAPSHOTS_ONLY), OK);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
    assert_holds_together(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_snapshot_keeps_what_the_blob_was),
        ON_ALL_ENGINES(a_snapshot_has_metadata_of_its_own_if_it_is_given_any),
        ON_ALL_ENGINES(snapshots_obey_conditions_and_need_no_lease),
        ON_ALL_ENGINES(a_blob_is_deleted_with_its_snapshots_or_not_at_all),
        ON_MEMORY(nothing_is_left_of_deleted_snapshots),
        ON_MEMORY(snapshots_of_a_deleted_container_are_reclaimed),
        ON_ALL_ENGINES(snapshots_and_their_listings_are_as_the_model_says),
        ON_MEMORY(a_listing_of_blobs_shows_no_snapshots),
        ON_ALL_ENGINES(very_many_snapshots_go_at_once_and_their_records_later),
        ON_MEMORY(a_blob_made_anew_has_none_of_the_snapshots_that_went_with_the_old),
        ON_MEMORY(a_deleted_container_takes_snapshots_along_that_are_gone_already),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
