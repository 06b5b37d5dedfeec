/*
 * test_file_sweep.c - what deleted shares and snapshots had is given back, all of it, and nothing
 * that is still needed.
 */
#include "base/encoding.h"
#include "base/log.h"
#include "file_copy_fixture.h"
#include "node_fixture.h"
#include "service/blob/fsck.h"
#include "service/file/permission.h"
#include "service/sweeper.h"
#include "share_fixture.h"

enum {
    SMALL = 50,   /* inline */
    LARGE = 5000, /* in an extent */
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static const struct slice ACCOUNT = SLICE_LITERAL(FIXTURE_ACCOUNT_NAME);

/* Paths are those of this share from now on. */
static void use(const char *name)
{
    snprintf(share_now, sizeof(share_now), "%s", name);
}

static void fail_finding(void *arg, const char *words)
{
    (void)arg;
    fail_msg("%s", words);
}

static struct fsck_summary assert_clean(struct service_fixture *fixture)
{
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = fail_finding };
    struct fsck_summary summary;
    fsck_run(&request, &summary);
    return summary;
}

static void sweep_all(struct service_fixture *fixture)
{
    /* What is soft-deleted becomes what is deleted, and is swept the next time. */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
        assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    }
    partition_reclaim(fixture->service.store);
}

static size_t rows_of(struct service_fixture *fixture, uint64_t incarnation, const char *letter)
{
    struct partition_view view;
    size_t count = 0;
    struct slice key;
    struct slice row;
    partition_view_open(fixture->service.store, file_partition(&fixture->arena, incarnation),
                        &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of(letter), (struct slice){ 0 });
    while (cursor_next(cursor, &key, &row) == OK)
        count++;
    cursor_free(cursor);
    partition_view_close(&view);
    return count;
}

static size_t rows_of_account(struct service_fixture *fixture)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, account_partition(&fixture->arena, ACCOUNT), &out);
}

static bool is_marked(struct service_fixture *fixture, struct slice partition)
{
    bool marked;
    assert_int_equal(partition_is_marked(fixture->service.store, partition, &marked), OK);
    return marked;
}

static bool share_is_marked(struct service_fixture *fixture, uint64_t incarnation)
{
    return is_marked(fixture, file_partition(&fixture->arena, incarnation));
}

static struct slice filled(struct service_fixture *fixture, size_t len, char byte)
{
    char *bytes = arena_bytes(&fixture->arena, len);
    memset(bytes, byte, len);
    return slice_make(bytes, len);
}

static void put_file(struct service_fixture *fixture, const char *path, size_t len, char byte)
{
    assert_int_equal(file_create(fixture, path, len), OK);
    if (len > 0)
        assert_int_equal(file_write(fixture, path, 0, filled(fixture, len, byte)), OK);
}

static void assert_file(struct service_fixture *fixture, const char *path, int64_t snapshot,
                        size_t len, char byte)
{
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, path, snapshot, &bytes), OK);
    assert_true(slice_equal(bytes, filled(fixture, len, byte)));
}

/* Directories and files of all kinds. */
static void fill(struct service_fixture *fixture, size_t count)
{
    assert_int_equal(directory_create(fixture, "dir"), OK);
    assert_int_equal(directory_create(fixture, "dir/deeper"), OK);
    for (size_t i = 0; i < count; i++) {
        const char *path = arena_printf(&fixture->arena, "dir/file %zu", i).data;
        put_file(fixture, path, i % 3 == 0 ? 0 : i % 3 == 1 ? SMALL : LARGE, 'a');
    }
}

/* --- deleted shares --- */

static void a_deleted_share_leaves_nothing_behind(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t before = io_memory_bytes(fixture->io);
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    fill(fixture, 20);
    share_freeze(fixture, "one");
    /* Earlier states too, some with contents of their own. */
    assert_int_equal(file_write(fixture, "dir/file 2", 100, filled(fixture, LARGE - 100, 'b')), OK);
    assert_int_equal(node_remove(fixture, "dir/file 5", NODE_FILE), OK);
    assert_int_equal(file_write(fixture, "dir/file 1", 0, filled(fixture, SMALL, 'b')), OK);
    assert_clean(fixture);
    assert_true(io_memory_bytes(fixture->io) > before);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE), OK);
    assert_int_equal(assert_clean(fixture).deleted_share_count, 1);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, ""), 1); /* that it is closed */
    assert_int_equal(rows_of_account(fixture), 0);
    assert_int_equal(io_memory_bytes(fixture->io), before);
    assert_false(share_is_marked(fixture, incarnation));
    assert_clean(fixture);
}

static void more_entries_than_one_batch_are_removed(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    for (size_t i = 0; i < 700; i++)
        assert_int_equal(
            file_create(fixture, arena_printf(&fixture->arena, "%zu", i).data, i % 2 * 10), OK);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, ""), 1);
}

static void a_share_of_the_same_name_is_not_touched(void **state)
{
    struct service_fixture *fixture = *state;
    share_new(fixture, "one");
    use("one");
    fill(fixture, 6);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    share_new(fixture, "one");
    put_file(fixture, "new", LARGE, 'n');
    sweep_all(fixture);
    assert_file(fixture, "new", 0, LARGE, 'n');
    const struct fsck_summary summary = assert_clean(fixture);
    assert_int_equal(summary.share_count, 1);
    assert_int_equal(summary.node_count, 1);
}

/* --- soft-deleted shares --- */

static void a_soft_deleted_share_is_swept_when_its_time_is_over(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t before = io_memory_bytes(fixture->io);
    share_retain(fixture, 2);
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    fill(fixture, 6);
    share_freeze(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE), OK);
    const struct slice account = account_partition(&fixture->arena, ACCOUNT);
    assert_true(is_marked(fixture, account));
    sweep_all(fixture);
    assert_true(rows_of(fixture, incarnation, "e") > 0);
    const struct fsck_summary kept = assert_clean(fixture);
    assert_int_equal(kept.kept_share_count, 1);
    assert_int_equal(kept.share_snapshot_count, 1);
    assert_true(is_marked(fixture, account));

    fixture_advance_ms(fixture, INT64_C(49) * 60 * 60 * 1000);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, ""), 1);
    assert_int_equal(rows_of_account(fixture), 1); /* the properties */
    assert_int_equal(io_memory_bytes(fixture->io), before);
    assert_false(is_marked(fixture, account));
    assert_clean(fixture);
}

static void a_restored_share_has_all_it_had(void **state)
{
    struct service_fixture *fixture = *state;
    share_retain(fixture, 2);
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    put_file(fixture, "file", LARGE, 'a');
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, 'b')), OK);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE), OK);
    fixture_advance_ms(fixture, INT64_C(47) * 60 * 60 * 1000);
    sweep_all(fixture);
    assert_int_equal(share_bring_back(fixture, "one", incarnation, "two"), OK);
    use("two");
    assert_file(fixture, "file", 0, LARGE, 'b');
    assert_file(fixture, "file", taken, LARGE, 'a');
    /* It is not swept at the time that was its end. */
    fixture_advance_ms(fixture, INT64_C(47) * 60 * 60 * 1000);
    sweep_all(fixture);
    assert_file(fixture, "file", taken, LARGE, 'a');
    assert_false(is_marked(fixture, account_partition(&fixture->arena, ACCOUNT)));
    assert_clean(fixture);
}

/* --- snapshots --- */

static void taking_a_snapshot_adds_one_row_whatever_the_share_holds(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    fill(fixture, 50);
    const size_t before = rows_of(fixture, incarnation, "");
    const uint64_t bytes = io_memory_bytes(fixture->io);
    share_freeze(fixture, "one");
    assert_int_equal(rows_of(fixture, incarnation, ""), before + 1);
    assert_int_equal(io_memory_bytes(fixture->io), bytes);
}

static void what_only_a_deleted_snapshot_had_is_given_back(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    put_file(fixture, "file", LARGE, 'a');
    put_file(fixture, "small", SMALL, 'a');
    const uint64_t with_one = io_memory_bytes(fixture->io);
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, 'b')), OK);
    assert_int_equal(file_write(fixture, "small", 0, filled(fixture, SMALL, 'b')), OK);
    assert_true(io_memory_bytes(fixture->io) > with_one);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 2);
    sweep_all(fixture);
    assert_file(fixture, "file", taken, LARGE, 'a');
    assert_int_equal(share_remove(fixture, "one", taken, SHARE_SNAPSHOTS_NONE), OK);
    assert_clean(fixture);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 0);
    assert_int_equal(rows_of(fixture, incarnation, "i"), 0);
    assert_int_equal(io_memory_bytes(fixture->io), with_one);
    assert_file(fixture, "file", 0, LARGE, 'b');
    assert_file(fixture, "small", 0, SMALL, 'b');
    assert_false(share_is_marked(fixture, incarnation));
    assert_int_equal(rows_of_account(fixture), 1);
    assert_clean(fixture);
    /* What is replaced from now on is not kept. */
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, 'c')), OK);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 0);
}

static void other_snapshots_keep_what_they_need(void **state)
{
    struct service_fixture *fixture = *state;
    enum { COUNT = 5 };
    int64_t taken[COUNT];
    share_new(fixture, "one");
    use("one");
    put_file(fixture, "file", LARGE, 'z');
    put_file(fixture, "steady", LARGE, 's');
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, (char)('a' + i))),
                         OK);
        taken[i] = share_freeze(fixture, "one");
    }
    assert_int_equal(node_remove(fixture, "file", NODE_FILE), OK);
    assert_int_equal(node_remove(fixture, "steady", NODE_FILE), OK);
    /* One after the other, in no particular order. */
    static const size_t order[COUNT] = { 2, 0, 4, 1, 3 };
    bool is_gone[COUNT] = { false };
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(share_remove(fixture, "one", taken[order[i]], SHARE_SNAPSHOTS_NONE), OK);
        is_gone[order[i]] = true;
        sweep_all(fixture);
        assert_clean(fixture);
        for (size_t j = 0; j < COUNT; j++) {
            if (is_gone[j])
                continue;
            assert_file(fixture, "file", taken[j], LARGE, (char)('a' + j));
            assert_file(fixture, "steady", taken[j], LARGE, 's');
        }
    }
    assert_int_equal(assert_clean(fixture).live_bytes, 0);
}

static void the_last_instant_is_one_that_is_kept(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    const int64_t first = share_freeze(fixture, "one");
    put_file(fixture, "file", SMALL, 'a');
    const int64_t second = share_freeze(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", second, SHARE_SNAPSHOTS_NONE), OK);
    sweep_all(fixture);
    /* Nobody needs the file as it is: it was not there at the first. */
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, SMALL, 'b')), OK);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 0);
    struct node node;
    assert_int_equal(node_record(fixture, "file", NODE_FILE, first, &node), ERR_RESOURCE_NOT_FOUND);
    assert_clean(fixture);
}

static void long_lists_of_deleted_snapshots_are_given_back(void **state)
{
    struct service_fixture *fixture = *state;
    enum { PIECES = 150 };
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    assert_int_equal(file_create(fixture, "file", PIECES * 1000), OK);
    for (size_t i = 0; i < PIECES; i++)
        assert_int_equal(
            file_write(fixture, "file", i * 1000, filled(fixture, i % 2 == 0 ? 90 : 900, 'a')), OK);
    const uint64_t before = io_memory_bytes(fixture->io);
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(file_write(fixture, "file", 500, filled(fixture, 10000, 'b')), OK);
    assert_clean(fixture);
    assert_int_equal(share_remove(fixture, "one", taken, SHARE_SNAPSHOTS_NONE), OK);
    sweep_all(fixture);
    sweep_all(fixture);
    assert_clean(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 0);
    assert_int_equal(rows_of(fixture, incarnation, "z"), 0);
    assert_true(io_memory_bytes(fixture->io) <= before + 10000);
    assert_int_equal(node_remove(fixture, "file", NODE_FILE), OK);
    sweep_all(fixture);
    assert_int_equal(assert_clean(fixture).live_bytes, 0);
    assert_false(share_is_marked(fixture, incarnation));
}

static void many_earlier_states_are_looked_through_in_batches(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    for (size_t i = 0; i < 600; i++)
        assert_int_equal(file_create(fixture, arena_printf(&fixture->arena, "%zu", i).data, 0), OK);
    const int64_t first = share_freeze(fixture, "one");
    for (size_t i = 0; i < 600; i++)
        assert_int_equal(
            node_remove(fixture, arena_printf(&fixture->arena, "%zu", i).data, NODE_FILE), OK);
    const int64_t second = share_freeze(fixture, "one");
    assert_int_equal(rows_of(fixture, incarnation, "E"), 600);
    assert_int_equal(share_remove(fixture, "one", second, SHARE_SNAPSHOTS_NONE), OK);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 600);
    assert_int_equal(share_remove(fixture, "one", first, SHARE_SNAPSHOTS_NONE), OK);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 0);
    assert_clean(fixture);
}

/* --- instants without a snapshot --- */

/* The first half of taking a snapshot of a share, as a crash would leave it. */
struct half {
    struct waiter waiter;
    struct partition_update update;
    int64_t taken;
};

static enum err half_decide(struct change *change, void *arg)
{
    struct half *half = arg;
    struct share_state state;
    const struct instant instant = { .account = ACCOUNT };
    const enum err err = share_state_get(change, &state);
    if (err != OK)
        return err;
    half->taken = state.last_instant = change_now(change);
    share_state_put(change, &state);
    change_put(change, instant_key(change_arena(change), half->taken),
               instant_encode(change_arena(change), &instant));
    change_mark(change);
    return OK;
}

static void half_done(void *arg, enum err err)
{
    struct half *half = arg;
    waiter_done(&half->waiter, err);
}

static int64_t take_half(struct service_fixture *fixture, uint64_t incarnation)
{
    struct half half = { 0 };
    waiter_init(&half.waiter);
    half.update = (struct partition_update){
        .partition = file_partition(&fixture->arena, incarnation),
        .decide = half_decide,
        .arg = &half,
        .done = half_done,
    };
    partition_update(fixture->service.store, &half.update);
    assert_int_equal(waiter_wait(&half.waiter), OK);
    return half.taken;
}

static void an_instant_without_a_snapshot_is_let_go_of_in_time(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    put_file(fixture, "file", LARGE, 'a');
    const uint64_t before = io_memory_bytes(fixture->io);
    take_half(fixture, incarnation);
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, 'b')), OK);
    assert_clean(fixture);
    /* Not before: the second half may be on its way. */
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "i"), 1);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 1);
    assert_true(share_is_marked(fixture, incarnation));

    fixture_advance_ms(fixture, (SHARE_SNAPSHOT_SEC + 1) * 1000);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "i"), 0);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 0);
    assert_int_equal(io_memory_bytes(fixture->io), before);
    assert_false(share_is_marked(fixture, incarnation));
    assert_clean(fixture);
}

static void an_instant_of_a_snapshot_is_looked_at_once(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    const int64_t taken = share_freeze(fixture, "one");
    struct share share;
    assert_true(share_is_marked(fixture, incarnation));
    fixture_advance_ms(fixture, (SHARE_SNAPSHOT_SEC + 1) * 1000);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "i"), 1);
    assert_false(share_is_marked(fixture, incarnation));
    assert_int_equal(share_record(fixture, "one", taken, &share), OK);
    assert_clean(fixture);
}

static void snapshots_of_both_kinds_are_told_apart(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    use("one");
    put_file(fixture, "file", LARGE, 'a');
    const int64_t first = share_freeze(fixture, "one");
    take_half(fixture, incarnation);
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, 'b')), OK);
    take_half(fixture, incarnation);
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, 'c')), OK);
    const int64_t last = share_freeze(fixture, "one");
    assert_int_equal(file_write(fixture, "file", 0, filled(fixture, LARGE, 'd')), OK);
    fixture_advance_ms(fixture, (SHARE_SNAPSHOT_SEC + 1) * 1000);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, "i"), 2);
    assert_int_equal(rows_of(fixture, incarnation, "E"), 2);
    assert_file(fixture, "file", first, LARGE, 'a');
    assert_file(fixture, "file", last, LARGE, 'c');
    assert_file(fixture, "file", 0, LARGE, 'd');
    assert_clean(fixture);
}

static void a_share_deleted_between_the_halves_is_swept_as_a_whole(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    take_half(fixture, incarnation);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, ""), 1);
    assert_false(share_is_marked(fixture, incarnation));
    assert_clean(fixture);
}

static void a_deleted_snapshot_of_a_deleted_share_leaves_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", taken, SHARE_SNAPSHOTS_NONE), OK);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    assert_clean(fixture);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, ""), 1);
    assert_int_equal(rows_of_account(fixture), 0);
    assert_clean(fixture);
}

static void a_share_keeps_its_mark_while_a_copy_is_pending_and_takes_it_along(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    struct pending pending;
    use("one");
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    sweep_all(fixture);
    assert_true(share_is_marked(fixture, incarnation));
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    sweep_all(fixture);
    assert_false(share_is_marked(fixture, incarnation));
    assert_clean(fixture);

    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    assert_clean(fixture);
    sweep_all(fixture);
    assert_int_equal(rows_of(fixture, incarnation, ""), 1);
    assert_false(share_is_marked(fixture, incarnation));
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_true(pending.step.step.is_gone);
    assert_int_equal(rows_of(fixture, incarnation, ""), 1);
    assert_int_equal(copy_recover(&fixture->service), OK);
    assert_clean(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_deleted_share_leaves_nothing_behind),
        ON_ALL_ENGINES(more_entries_than_one_batch_are_removed),
        ON_MEMORY(a_share_of_the_same_name_is_not_touched),
        ON_ALL_ENGINES(a_soft_deleted_share_is_swept_when_its_time_is_over),
        ON_MEMORY(a_restored_share_has_all_it_had),
        ON_MEMORY(taking_a_snapshot_adds_one_row_whatever_the_share_holds),
        ON_ALL_ENGINES(what_only_a_deleted_snapshot_had_is_given_back),
        ON_ALL_ENGINES(other_snapshots_keep_what_they_need),
        ON_MEMORY(the_last_instant_is_one_that_is_kept),
        ON_ALL_ENGINES(long_lists_of_deleted_snapshots_are_given_back),
        ON_MEMORY(many_earlier_states_are_looked_through_in_batches),
        ON_ALL_ENGINES(an_instant_without_a_snapshot_is_let_go_of_in_time),
        ON_MEMORY(an_instant_of_a_snapshot_is_looked_at_once),
        ON_MEMORY(snapshots_of_both_kinds_are_told_apart),
        ON_MEMORY(a_share_deleted_between_the_halves_is_swept_as_a_whole),
        ON_MEMORY(a_deleted_snapshot_of_a_deleted_share_leaves_nothing),
        ON_ALL_ENGINES(a_share_keeps_its_mark_while_a_copy_is_pending_and_takes_it_along),
    };
    return cmocka_run_group_tests_name("file_sweep", tests, quiet, NULL);
}
