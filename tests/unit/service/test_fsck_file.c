/*
 * test_fsck_file.c - checking shares: those that hold together are clean, also when there is
 * something to reclaim; and each thing that is broken on purpose is found.
 */
#include "base/encoding.h"
#include "file_copy_fixture.h"
#include "fsck_fixture.h"
#include "node_fixture.h"
#include "service/file/permission.h"
#include "service/row.h"
#include "service/sweeper.h"
#include "share_fixture.h"

enum {
    SMALL = 50,   /* inline */
    LARGE = 5000, /* in an extent */
};

/* --- the check --- */

/* One of the findings says this. */
static void assert_found(struct service_fixture *fixture, const char *words)
{
    const struct findings findings = check(fixture);
    for (size_t i = 0; i < findings.count; i++) {
        if (strstr(findings.words[i], words) != NULL)
            return;
    }
    fail_msg("\"%s\" is not among %zu findings, the first of which is \"%s\"", words,
             findings.count, findings.count > 0 ? findings.words[0] : "none");
}

/* --- breaking things --- */

struct edit {
    struct waiter waiter;
    struct partition_update update;
    struct slice key;
    struct slice value; /* empty: the key is removed */
    bool unmarks;
};

static enum err edit_decide(struct change *change, void *arg)
{
    const struct edit *edit = arg;
    if (edit->unmarks)
        change_unmark(change);
    else if (edit->value.len == 0)
        change_delete(change, edit->key);
    else
        change_put(change, edit->key, edit->value);
    return OK;
}

static void edit_done(void *arg, enum err err)
{
    struct edit *edit = arg;
    waiter_done(&edit->waiter, err);
}

static void run_edit(struct service_fixture *fixture, struct slice partition, struct edit *edit)
{
    waiter_init(&edit->waiter);
    edit->update = (struct partition_update){
        .partition = partition,
        .decide = edit_decide,
        .arg = edit,
        .done = edit_done,
    };
    partition_update(fixture->service.store, &edit->update);
    assert_int_equal(waiter_wait(&edit->waiter), OK);
}

static void put_row(struct service_fixture *fixture, struct slice partition, struct slice key,
                    struct slice value)
{
    struct edit edit = { .key = key, .value = value };
    run_edit(fixture, partition, &edit);
}

static struct slice account_of(struct service_fixture *fixture)
{
    return account_partition(&fixture->arena, slice_of(FIXTURE_ACCOUNT_NAME));
}

/* --- a share with everything --- */

struct whole {
    struct service_fixture *fixture;
    struct slice partition;
    uint64_t incarnation;
    int64_t taken;
    uint64_t dir_id;
    uint64_t file_id;
};

static struct slice filled(struct service_fixture *fixture, size_t len, char byte)
{
    char *bytes = arena_bytes(&fixture->arena, len);
    memset(bytes, byte, len);
    return slice_make(bytes, len);
}

static uint64_t id_of(struct service_fixture *fixture, const char *path, enum node_kind kind)
{
    struct node node;
    assert_int_equal(node_record(fixture, path, kind, 0, &node), OK);
    return node.id;
}

static struct whole make_whole(struct service_fixture *fixture)
{
    struct whole whole = { .fixture = fixture, .incarnation = share_new(fixture, "one") };
    snprintf(share_now, sizeof(share_now), "one");
    whole.partition = file_partition(&fixture->arena, whole.incarnation);
    struct slice permission;
    assert_int_equal(
        permission_from_text(&fixture->arena, slice_of("O:SYG:SYD:(A;;FA;;;SY)"), &permission), OK);
    struct node_change directory = { .kind = NODE_DIRECTORY, .smb.permission = permission };
    assert_int_equal(node_await(fixture, "dir", node_create, &directory), OK);
    assert_int_equal(directory_create(fixture, "dir/sub"), OK);
    assert_int_equal(file_create(fixture, "dir/file", LARGE), OK);
    assert_int_equal(file_write(fixture, "dir/file", 0, filled(fixture, LARGE, 'a')), OK);
    assert_int_equal(file_create(fixture, "dir/small", SMALL), OK);
    assert_int_equal(file_write(fixture, "dir/small", 0, filled(fixture, SMALL, 'a')), OK);
    whole.taken = share_freeze(fixture, "one");
    assert_int_equal(file_write(fixture, "dir/file", 10, filled(fixture, 1000, 'b')), OK);
    assert_int_equal(file_resize(fixture, "dir/small", 20), OK);
    whole.dir_id = id_of(fixture, "dir", NODE_DIRECTORY);
    whole.file_id = id_of(fixture, "dir/file", NODE_FILE);
    return whole;
}

static void edit_share(const struct whole *whole, struct slice key, struct slice value)
{
    put_row(whole->fixture, whole->partition, key, value);
}

static struct slice row_of(const struct whole *whole, struct slice key)
{
    struct slice row;
    assert_int_equal(partition_get(whole->fixture->service.store, &whole->fixture->arena,
                                   whole->partition, key, &row),
                     OK);
    return row;
}

static struct node node_of(const struct whole *whole, struct slice key)
{
    struct node node;
    assert_int_equal(node_decode(&whole->fixture->arena, row_of(whole, key), &node), OK);
    return node;
}

static struct slice file_key_of(const struct whole *whole)
{
    return node_key(&whole->fixture->arena, whole->dir_id, slice_of("FILE"));
}

/* The first key with the prefix. */
static struct slice first_key(const struct whole *whole, const char *prefix)
{
    struct partition_view view;
    struct slice key;
    struct slice row;
    partition_view_open(whole->fixture->service.store, whole->partition, &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of(prefix), (struct slice){ 0 });
    assert_int_equal(cursor_next(cursor, &key, &row), OK);
    key = arena_copy(&whole->fixture->arena, key);
    cursor_free(cursor);
    partition_view_close(&view);
    return key;
}

static void a_whole_share_is_clean(void **state)
{
    struct service_fixture *fixture = *state;
    make_whole(fixture);
    const struct fsck_summary summary = assert_clean(fixture);
    assert_int_equal(summary.share_count, 1);
    assert_int_equal(summary.share_snapshot_count, 1);
    assert_int_equal(summary.node_count, 4);
    assert_true(summary.live_bytes >= LARGE + 1000);
}

static void a_share_nobody_has_written_to_is_clean(void **state)
{
    struct service_fixture *fixture = *state;
    share_new(fixture, "one");
    assert_int_equal(assert_clean(fixture).share_count, 1);
}

static void a_damaged_record_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    edit_share(&whole, file_key_of(&whole), slice_of("damaged"));
    assert_found(fixture, "the record of a directory or file");
    assert_left_alone(fixture);
}

static void a_record_under_another_name_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct node node = node_of(&whole, file_key_of(&whole));
    node.name = slice_of("other");
    edit_share(&whole, file_key_of(&whole), node_encode(&fixture->arena, &node));
    assert_found(fixture, "is kept under another name than its own");
}

static void a_record_in_another_directory_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct node node = node_of(&whole, file_key_of(&whole));
    node.parent_id = 99;
    edit_share(&whole, file_key_of(&whole), node_encode(&fixture->arena, &node));
    assert_found(fixture, "is in another directory than it says");
}

static void a_directory_that_is_missing_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    edit_share(&whole, node_key(&fixture->arena, 0, slice_of("DIR")), (struct slice){ 0 });
    assert_found(fixture, "is in a directory that nobody can come to");
    assert_left_alone(fixture);
}

static void directories_in_a_circle_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    const struct slice sub_key = node_key(&fixture->arena, whole.dir_id, slice_of("SUB"));
    struct node dir = node_of(&whole, node_key(&fixture->arena, 0, slice_of("DIR")));
    const struct node sub = node_of(&whole, sub_key);
    dir.parent_id = sub.id;
    const struct slice moved = node_key(&fixture->arena, sub.id, slice_of("DIR"));
    edit_share(&whole, moved, node_encode(&fixture->arena, &dir));
    edit_share(&whole, node_key(&fixture->arena, 0, slice_of("DIR")), (struct slice){ 0 });
    edit_share(&whole, node_place_key(&fixture->arena, dir.id),
               node_place_encode(&fixture->arena, sub.id, slice_of("DIR")));
    assert_found(fixture, "is in a directory that nobody can come to");
    assert_left_alone(fixture);
}

static void a_missing_or_wrong_place_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    const struct slice key = node_place_key(&fixture->arena, whole.file_id);
    edit_share(&whole, key, node_place_encode(&fixture->arena, 0, slice_of("ELSEWHERE")));
    assert_found(fixture, "is not where its place says");
    edit_share(&whole, key, (struct slice){ 0 });
    assert_found(fixture, "cannot be found by its id");
}

static void a_missing_permission_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    edit_share(&whole, first_key(&whole, "p"), slice_of("damaged"));
    assert_found(fixture, "a permission, with a key");
    edit_share(&whole, first_key(&whole, "p"), (struct slice){ 0 });
    assert_found(fixture, "has a permission that is not there");
    assert_left_alone(fixture);
}

static void a_wrong_usage_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct share_state known;
    assert_int_equal(share_state_decode(row_of(&whole, share_state_key()), &known), OK);
    known.used_bytes++;
    edit_share(&whole, share_state_key(), share_state_encode(&fixture->arena, &known));
    assert_found(fixture, "bytes, and its state says");
    assert_repaired(fixture);
}

static void a_wrong_last_instant_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct share_state known;
    assert_int_equal(share_state_decode(row_of(&whole, share_state_key()), &known), OK);
    known.last_instant--;
    edit_share(&whole, share_state_key(), share_state_encode(&fixture->arena, &known));
    assert_found(fixture, "the last instant that is kept");
    assert_repaired(fixture);
}

static void a_snapshot_without_instant_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    edit_share(&whole, instant_key(&fixture->arena, whole.taken), (struct slice){ 0 });
    assert_found(fixture, "is not kept");
    assert_found(fixture, "and no snapshot needs it");
}

static void an_instant_without_snapshot_is_found_when_nobody_looks_after_it(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    put_row(fixture, account_of(fixture),
            share_snapshot_key(&fixture->arena, whole.incarnation, whole.taken),
            (struct slice){ 0 });
    assert_clean(fixture); /* it was never confirmed: the sweeper will see */
    const struct instant instant = { .account = slice_of(FIXTURE_ACCOUNT_NAME),
                                     .is_confirmed = true };
    edit_share(&whole, instant_key(&fixture->arena, whole.taken),
               instant_encode(&fixture->arena, &instant));
    assert_found(fixture, "is kept for no snapshot");
}

static void a_deleted_share_is_clean_though_its_snapshots_are_gone(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    const struct instant instant = { .account = slice_of(FIXTURE_ACCOUNT_NAME),
                                     .is_confirmed = true };
    edit_share(&whole, instant_key(&fixture->arena, whole.taken),
               instant_encode(&fixture->arena, &instant));
    struct share_change change = { .snapshots = SHARE_SNAPSHOTS_INCLUDE };
    assert_int_equal(share_await(fixture, share_delete, &change), OK);
    assert_clean(fixture); /* and not swept yet */
}

static void earlier_states_that_overlap_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct node past = node_of(&whole, first_key(&whole, "E"));
    past.since++;
    past.content = (struct content){ 0 };
    past.used_bytes = 0;
    char upper[16];
    snprintf(upper, sizeof(upper), "%s", "FILE");
    edit_share(&whole, node_past_key(&fixture->arena, past.parent_id, slice_of(upper), past.since),
               node_encode(&fixture->arena, &past));
    assert_found(fixture, "overlap");
}

static void a_damaged_earlier_state_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    edit_share(&whole, first_key(&whole, "E"), slice_of("damaged"));
    assert_found(fixture, "the record of an earlier state");
}

static void content_that_nothing_names_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    edit_share(&whole, first_key(&whole, "E"), (struct slice){ 0 });
    const struct findings findings = check(fixture);
    assert_true(findings.count > 0);
    assert_found(fixture, "devstoreaccount1/one: content");
    assert_repaired(fixture);
}

static void a_missing_mark_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct edit edit = { .unmarks = true };
    run_edit(fixture, whole.partition, &edit);
    assert_found(fixture, "but no mark to find it by");
    share_retain(fixture, 1);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE), OK);
    struct edit again = { .unmarks = true };
    run_edit(fixture, account_of(fixture), &again);
    assert_found(fixture, "there are soft-deleted shares, but no mark");
    assert_repaired(fixture);
}

static void damaged_records_of_shares_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    put_row(fixture, account_of(fixture),
            share_snapshot_key(&fixture->arena, whole.incarnation, whole.taken),
            slice_of("damaged"));
    assert_found(fixture, "the record of a share's snapshot is damaged");
    put_row(fixture, account_of(fixture), share_key(&fixture->arena, slice_of("one")),
            slice_of("damaged"));
    assert_found(fixture, "devstoreaccount1/one: the share's record is damaged");
    assert_found(fixture, "its files are there, and nothing will remove them");
    put_row(fixture, account_of(fixture), share_key(&fixture->arena, slice_of("No Name")),
            slice_of("damaged"));
    assert_found(fixture, "the name of a share, 7 bytes, is damaged");
}

static void a_share_whose_record_is_gone_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    make_whole(fixture);
    put_row(fixture, account_of(fixture), share_key(&fixture->arena, slice_of("one")),
            (struct slice){ 0 });
    assert_found(fixture, "has a snapshot, and is not there");
    assert_found(fixture, "its files are there, and nothing will remove them");
    assert_left_alone(fixture);
}

static void two_shares_with_the_same_files_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    make_whole(fixture);
    struct share share;
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    put_row(fixture, account_of(fixture), share_key(&fixture->arena, slice_of("two")),
            share_encode(&fixture->arena, &share));
    assert_found(fixture, "have the same files");
    assert_left_alone(fixture);
}

static void a_closed_share_that_is_there_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct strbuf row;
    strbuf_init(&row, &fixture->arena);
    row_begin(&row, ROW_CLOSED);
    edit_share(&whole, closed_key(), strbuf_slice(&row));
    assert_found(fixture, "it is closed, as if it were deleted");
}

static void a_row_of_unknown_kind_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    edit_share(&whole, slice_of("r"), slice_of("x"));
    assert_found(fixture, "there is a row of unknown kind 0x72");
}

static void a_pending_copy_is_clean_and_one_that_nothing_ends_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct whole whole = make_whole(fixture);
    struct pending pending;
    assert_int_equal(pending_begin(fixture, "copy", 3, &pending), OK);
    assert_int_equal(assert_clean(fixture).unfinished_count, 1);
    const struct slice key = pending_file_key(&fixture->arena, pending.step.file_id);
    const struct slice row = row_of(&whole, key);
    edit_share(&whole, key, (struct slice){ 0 });
    assert_finding(fixture, "is pending, and nothing will end it");
    edit_share(&whole, key, row);
    edit_share(&whole, slice_of("q12"), row);
    assert_finding(fixture, "the row of a pending copy, with a key of 3 bytes");
    edit_share(&whole, slice_of("q12"), (struct slice){ 0 });
    assert_int_equal(copy_recover(&fixture->service), OK);
    assert_int_equal(assert_clean(fixture).unfinished_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(a_whole_share_is_clean),
        ON_ROCKSDB(a_whole_share_is_clean),
        ON_MEMORY(a_share_nobody_has_written_to_is_clean),
        ON_MEMORY(a_damaged_record_is_found),
        ON_MEMORY(a_record_under_another_name_is_found),
        ON_MEMORY(a_record_in_another_directory_is_found),
        ON_MEMORY(a_directory_that_is_missing_is_found),
        ON_MEMORY(directories_in_a_circle_are_found),
        ON_MEMORY(a_missing_or_wrong_place_is_found),
        ON_MEMORY(a_missing_permission_is_found),
        ON_MEMORY(a_wrong_usage_is_found),
        ON_MEMORY(a_wrong_last_instant_is_found),
        ON_MEMORY(a_snapshot_without_instant_is_found),
        ON_MEMORY(an_instant_without_snapshot_is_found_when_nobody_looks_after_it),
        ON_MEMORY(a_deleted_share_is_clean_though_its_snapshots_are_gone),
        ON_MEMORY(earlier_states_that_overlap_are_found),
        ON_MEMORY(a_damaged_earlier_state_is_found),
        ON_MEMORY(content_that_nothing_names_is_found),
        ON_MEMORY(a_missing_mark_is_found),
        ON_MEMORY(damaged_records_of_shares_are_found),
        ON_MEMORY(a_share_whose_record_is_gone_is_found),
        ON_MEMORY(two_shares_with_the_same_files_are_found),
        ON_MEMORY(a_closed_share_that_is_there_is_found),
        ON_MEMORY(a_row_of_unknown_kind_is_found),
        ON_MEMORY(a_pending_copy_is_clean_and_one_that_nothing_ends_is_found),
    };
    return cmocka_run_group_tests_name("fsck_file", tests, quiet, NULL);
}
