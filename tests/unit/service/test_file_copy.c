#include "service/file/file_copy.h"

#include "file_copy_fixture.h"
#include "node_fixture.h"
#include "service/blob/blob_name.h"
#include "service/blob/copy.h"
#include "service/file/open_table.h"

enum {
    PIECE = 200, /* more than travels inside a commit */
    /* So many that the copy takes three steps. */
    MANY = 2 * CLONE_STEP_ENTRIES + 100,
};

/* Copy within the shares of the fixture; `from_share` NULL: the one that paths are of. */
static enum err copy_with(struct service_fixture *fixture, const char *from_share, const char *from,
                          int64_t snapshot, const char *to, struct file_copy *copy)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &copy->base, &arena);
    copy->change.name = node_named(&arena, to, 0);
    copy->source = node_named(&arena, from, snapshot);
    if (from_share != NULL)
        copy->source.share.share = slice_of(from_share);
    copy->id = uuid_random();
    copy->url = slice_of("http://source");
    file_copy(&fixture->service, copy);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err copy_file(struct service_fixture *fixture, const char *from, const char *to)
{
    struct file_copy copy = { 0 };
    return copy_with(fixture, NULL, from, 0, to, &copy);
}

static void write_piece(struct service_fixture *fixture, const char *path, uint64_t start,
                        char letter, size_t len)
{
    char bytes[PIECE];
    memset(bytes, letter, len);
    assert_int_equal(file_write(fixture, path, start, slice_make(bytes, len)), OK);
}

static void assert_same_bytes(struct service_fixture *fixture, const char *a, const char *b)
{
    struct arena arena = { 0 };
    struct slice first;
    struct slice second;
    assert_int_equal(file_bytes(fixture, &arena, a, 0, &first), OK);
    assert_int_equal(file_bytes(fixture, &arena, b, 0, &second), OK);
    assert_true(slice_equal(first, second));
    arena_release(&arena);
}

static uint64_t used(struct service_fixture *fixture)
{
    const struct share_name name = { .account = slice_of(FIXTURE_ACCOUNT_NAME),
                                     .share = slice_of(share_now) };
    uint64_t bytes = 0;
    assert_int_equal(share_get_usage(&fixture->service, &fixture->arena, &name, NULL, &bytes), OK);
    return bytes;
}

static void a_copy_has_the_bytes_and_goes_its_own_way(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(file_create(fixture, "a", UINT64_C(1) << 20), OK);
    write_piece(fixture, "a", 7, 'x', PIECE);
    write_piece(fixture, "a", 5000, 'y', 10); /* inline */
    assert_int_equal(copy_file(fixture, "a", "b"), OK);
    assert_same_bytes(fixture, "a", "b");
    assert_int_equal(used(fixture), 2 * (PIECE + 10));

    struct node copy;
    struct node source;
    assert_int_equal(node_record(fixture, "b", NODE_FILE, 0, &copy), OK);
    assert_int_equal(node_record(fixture, "a", NODE_FILE, 0, &source), OK);
    assert_int_equal(copy.copy.status, BLOB_COPY_SUCCESS);
    assert_true(slice_is(copy.copy.source, "http://source"));
    assert_int_equal(copy.copy.copied_bytes, UINT64_C(1) << 20);
    assert_int_not_equal(copy.id, source.id);
    assert_int_not_equal(copy.content.id, source.content.id);

    write_piece(fixture, "a", 7, 'z', PIECE);
    assert_int_equal(node_remove(fixture, "a", NODE_FILE), OK);
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "b", 0, &bytes), OK);
    assert_int_equal(bytes.data[7], 'x');
    assert_int_equal(bytes.data[5000], 'y');
    assert_int_equal(bytes.data[5010], 0);
}

static void a_long_copy_to_another_share_is_made_in_steps(void **state)
{
    struct service_fixture *fixture = *state;
    char from[sizeof(share_now)];
    share_make(fixture, 1);
    assert_int_equal(file_create(fixture, "long", MANY * 600), OK);
    for (uint64_t i = 0; i < MANY; i++)
        write_piece(fixture, "long", i * 600, (char)('a' + i % 26), i % 100 == 0 ? PIECE : 20);
    struct slice bytes;
    struct slice copied;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "long", 0, &bytes), OK);
    const uint64_t taken = used(fixture);
    memcpy(from, share_now, sizeof(from));
    share_make(fixture, 1);
    struct file_copy copy = { 0 };
    assert_int_equal(copy_with(fixture, from, "LONG", 0, "copy", &copy), OK);
    assert_int_equal(file_bytes(fixture, &fixture->arena, "copy", 0, &copied), OK);
    assert_true(slice_equal(bytes, copied));
    assert_int_equal(used(fixture), taken);

    /* What was made of a copy that is refused at its end is handed to the sweeper. */
    assert_int_equal(directory_create(fixture, "dir"), OK);
    copy = (struct file_copy){ 0 };
    assert_int_equal(copy_with(fixture, from, "long", 0, "dir", &copy), ERR_RESOURCE_TYPE_MISMATCH);
    struct arena arena = { 0 };
    struct partition_view view;
    struct slice key;
    struct slice row;
    partition_view_open(fixture->service.store, share_partition(fixture), &view);
    struct cursor *rows = partition_view_scan(&view, unfinished_prefix(), (struct slice){ 0 });
    assert_int_equal(cursor_next(rows, &key, &row), ERR_NOT_FOUND);
    cursor_free(rows);
    partition_view_close(&view);
    arena_release(&arena);
}

static void a_copy_is_what_its_source_was_at_a_snapshot(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(file_create(fixture, "a", 100), OK);
    write_piece(fixture, "a", 0, 'x', 10);
    const int64_t snapshot = share_take(fixture);
    write_piece(fixture, "a", 0, 'y', 10);
    struct file_copy copy = { 0 };
    struct slice bytes;
    assert_int_equal(copy_with(fixture, NULL, "a", snapshot, "a", &copy), OK);
    assert_int_equal(file_bytes(fixture, &fixture->arena, "a", 0, &bytes), OK);
    assert_int_equal(bytes.data[0], 'x');
    assert_int_equal(bytes.len, 100);
}

static void what_smb_knows_is_taken_over_only_if_it_is_to_be(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    struct node_change create = {
        .kind = NODE_FILE,
        .size_bytes = 1,
        .smb = { .has_attributes = true,
                 .attributes = NODE_HIDDEN | NODE_READ_ONLY,
                 .has_created_at = true,
                 .created_at = 1000 },
    };
    assert_int_equal(node_await(fixture, "a", node_create, &create), OK);
    struct node copied;
    assert_int_equal(copy_file(fixture, "a", "plain"), OK);
    assert_int_equal(node_record(fixture, "plain", NODE_FILE, 0, &copied), OK);
    assert_int_equal(copied.attributes, NODE_ARCHIVE);
    assert_int_not_equal(copied.created_at, 1000);

    struct file_copy copy = { .keeps_attributes = true, .keeps_created_at = true };
    assert_int_equal(copy_with(fixture, NULL, "a", 0, "whole", &copy), OK);
    assert_int_equal(node_record(fixture, "whole", NODE_FILE, 0, &copied), OK);
    assert_int_equal(copied.attributes, NODE_HIDDEN | NODE_READ_ONLY | NODE_ARCHIVE);
    assert_int_equal(copied.created_at, 1000);

    /* A read-only file is replaced only if that is to be ignored. */
    assert_int_equal(copy_file(fixture, "a", "whole"), ERR_READ_ONLY_ATTRIBUTE);
    struct file_copy over = { .change = { .ignores_readonly = true } };
    assert_int_equal(copy_with(fixture, NULL, "a", 0, "whole", &over), OK);
}

static void sources_that_are_not_there_and_destinations_that_cannot_be(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(file_create(fixture, "a", 1), OK);
    assert_int_equal(directory_create(fixture, "dir"), OK);
    assert_int_equal(copy_file(fixture, "absent", "b"), ERR_COPY_SOURCE_NOT_FOUND);
    assert_int_equal(copy_file(fixture, "absent/a", "b"), ERR_COPY_SOURCE_NOT_FOUND);
    assert_int_equal(copy_file(fixture, "dir", "b"), ERR_COPY_SOURCE_NOT_FOUND);
    assert_int_equal(copy_file(fixture, "a", "absent/b"), ERR_PARENT_NOT_FOUND);
    assert_int_equal(copy_file(fixture, "a", "dir"), ERR_RESOURCE_TYPE_MISMATCH);
    struct file_copy copy = { 0 };
    assert_int_equal(copy_with(fixture, "nowhere", "a", 0, "b", &copy), ERR_COPY_SOURCE_NOT_FOUND);
    struct file_copy leased = { .change = { .has_lease_id = true,
                                            .lease_id = { .bytes = { 1 } } } };
    assert_int_equal(copy_with(fixture, NULL, "a", 0, "b", &leased), ERR_LEASE_NOT_PRESENT_FILE);
}

/* --- from elsewhere --- */

static struct node file_record(struct service_fixture *fixture, const char *path)
{
    struct node node;
    assert_int_equal(node_record(fixture, path, NODE_FILE, 0, &node), OK);
    return node;
}

static bool has_pending_row(struct service_fixture *fixture, uint64_t id)
{
    struct slice row;
    const enum err err =
        partition_get(fixture->service.store, &fixture->arena, share_partition(fixture),
                      pending_file_key(&fixture->arena, id), &row);
    assert_true(err == OK || err == ERR_NOT_FOUND);
    return err == OK;
}

static void a_copy_from_elsewhere_is_pending_until_its_bytes_arrive(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    char bytes[PIECE];
    memset(bytes, 'p', sizeof(bytes));
    for (size_t len = 0; len <= PIECE; len += PIECE / 4) {
        struct pending pending;
        assert_int_equal(pending_begin(fixture, "file", len, &pending), OK);
        const struct node begun = file_record(fixture, "file");
        assert_int_equal(begun.copy.status, BLOB_COPY_PENDING);
        assert_true(slice_is(begun.copy.source, "http://elsewhere"));
        assert_int_equal(begun.copy.total_bytes, len);
        assert_int_equal(begun.copy.completed_at, 0);
        assert_int_equal(begun.content.length_bytes, 0);
        assert_int_equal(used(fixture), 0);
        assert_true(has_pending_row(fixture, begun.id));

        assert_int_equal(pending_report(&pending, len / 2), OK);
        const struct node half = file_record(fixture, "file");
        assert_int_equal(half.copy.copied_bytes, len / 2);
        assert_int_equal(half.etag, begun.etag);

        assert_int_equal(pending_arrive(&pending, slice_make(bytes, len)), OK);
        const struct node done = file_record(fixture, "file");
        assert_int_equal(done.copy.status, BLOB_COPY_SUCCESS);
        assert_int_equal(done.copy.copied_bytes, len);
        assert_true(done.etag > begun.etag && done.copy.completed_at == done.etag);
        assert_true(done.written_at == done.etag && done.changed_at == done.etag);
        assert_int_equal(done.created_at, begun.created_at);
        assert_int_equal(done.id, begun.id);
        assert_false(has_pending_row(fixture, done.id));
        struct slice read;
        assert_int_equal(file_bytes(fixture, &fixture->arena, "file", 0, &read), OK);
        assert_true(slice_equal(read, slice_make(bytes, len)));
        assert_int_equal(used(fixture), len);
        assert_int_equal(pending_report(&pending, 0), ERR_NO_PENDING_COPY);
    }
}

static void what_the_request_says_of_the_file_outlasts_the_copy(void **state)
{
    struct service_fixture *fixture = *state;
    struct pending pending;
    struct file_copy copy = {
        .change = { .smb = { .has_attributes = true,
                             .attributes = NODE_READ_ONLY,
                             .has_written_at = true,
                             .written_at = 1000,
                             .has_changed_at = true,
                             .changed_at = 2000 } },
    };
    share_make(fixture, 1);
    assert_int_equal(pending_begin_with(fixture, "file", 3, &copy, &pending), OK);
    /* Its own attribute does not keep the copy from its file. */
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    const struct node node = file_record(fixture, "file");
    assert_int_equal(node.written_at, 1000);
    assert_int_equal(node.changed_at, 2000);
    assert_int_equal(node.attributes, NODE_READ_ONLY);
    assert_int_equal(node.content.length_bytes, 3);
}

static void nobody_else_changes_a_file_while_a_copy_to_it_is_pending(void **state)
{
    struct service_fixture *fixture = *state;
    struct pending pending;
    struct pending second;
    share_make(fixture, 1);
    assert_int_equal(file_create(fixture, "other", 10), OK);
    assert_int_equal(file_create(fixture, "file", 10), OK);
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    assert_int_equal(file_create(fixture, "file", 1), ERR_PENDING_COPY);
    assert_int_equal(file_resize(fixture, "file", 1), ERR_PENDING_COPY);
    struct node_change metadata = { .kind = NODE_FILE };
    assert_int_equal(node_await(fixture, "file", node_set_metadata, &metadata), ERR_PENDING_COPY);
    assert_int_equal(file_write(fixture, "file", 0, slice_of("x")), ERR_PENDING_COPY);
    assert_int_equal(file_clear(fixture, "file", 0, 1), ERR_PENDING_COPY);
    assert_int_equal(node_remove(fixture, "file", NODE_FILE), ERR_PENDING_COPY);
    struct node_change away = { .kind = NODE_FILE };
    assert_int_equal(node_move(fixture, "file", "moved", &away), ERR_PENDING_COPY);
    struct node_change over = { .kind = NODE_FILE, .replaces = true };
    assert_int_equal(node_move(fixture, "other", "file", &over), ERR_PENDING_COPY);
    assert_int_equal(pending_begin(fixture, "file", 3, &second), ERR_PENDING_COPY);
    assert_int_equal(copy_file(fixture, "other", "file"), ERR_PENDING_COPY);
    assert_int_equal(copy_file(fixture, "file", "copy"), ERR_PENDING_COPY);
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "file", 0, &bytes), OK);
    assert_int_equal(bytes.len, 0);

    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_int_equal(file_write(fixture, "file", 0, slice_of("x")), OK);
    assert_int_equal(file_record(fixture, "file").copy.status, BLOB_COPY_SUCCESS);
    /* What was set by hand since is no copy any more. */
    assert_int_equal(file_resize(fixture, "file", 2), OK);
    assert_int_equal(file_record(fixture, "file").copy.status, BLOB_COPY_NONE);
    assert_int_equal(used(fixture), 2);
}

static void an_aborted_copy_leaves_an_empty_file_with_its_metadata(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pair = { slice_of("a"), slice_of("b") };
    struct file_copy copy = { .change.metadata = { .pairs = &pair, .count = 1 } };
    struct pending pending;
    share_make(fixture, 1);
    assert_int_equal(pending_begin_with(fixture, "file", 3, &copy, &pending), OK);
    const struct node begun = file_record(fixture, "file");
    struct node_change none = { 0 };
    assert_int_equal(pending_abort_by(fixture, "file", uuid_random(), &none), ERR_COPY_ID_MISMATCH);
    assert_int_equal(pending_abort(&pending, "absent"), ERR_RESOURCE_NOT_FOUND);
    assert_int_equal(pending_abort(&pending, "file"), OK);
    const struct node aborted = file_record(fixture, "file");
    assert_int_equal(aborted.copy.status, BLOB_COPY_ABORTED);
    assert_true(aborted.etag > begun.etag && aborted.copy.completed_at == aborted.etag);
    assert_int_equal(aborted.content.length_bytes, 0);
    assert_int_equal(aborted.metadata.count, 1);
    assert_false(has_pending_row(fixture, aborted.id));
    assert_int_equal(pending_abort(&pending, "file"), ERR_NO_PENDING_COPY);

    /* Whoever was fetching finds out. */
    assert_int_equal(pending_report(&pending, 1), ERR_NO_PENDING_COPY);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), ERR_NO_PENDING_COPY);
    assert_int_equal(pending_fail(&pending, "500 Late"), ERR_NO_PENDING_COPY);
    struct pending next;
    assert_int_equal(pending_begin(fixture, "file", 3, &next), OK);
    assert_int_equal(pending_report(&pending, 1), ERR_COPY_ID_MISMATCH);
    assert_int_equal(pending_arrive(&next, slice_of("abc")), OK);
    assert_int_equal(used(fixture), 3);
}

static void a_lease_guards_a_pending_copy_and_its_end_needs_none(void **state)
{
    struct service_fixture *fixture = *state;
    const struct uuid id = { .bytes = { 7 } };
    struct pending pending;
    struct waiter waiter;
    share_make(fixture, 1);
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    struct node_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE,
                   .proposed_id = id,
                   .duration_sec = LEASE_DURATION_SEC_INFINITE },
    };
    waiter_bind(&waiter, &lease.base, &fixture->arena);
    lease.name = node_named(&fixture->arena, "file", 0);
    node_lease(&fixture->service, &lease);
    assert_int_equal(waiter_wait(&waiter), OK);
    assert_int_equal(pending_abort(&pending, "file"), ERR_LEASE_ID_MISSING);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), ERR_LEASE_ID_MISSING);
    struct file_copy copy = { .change = { .has_lease_id = true, .lease_id = id } };
    assert_int_equal(pending_begin_with(fixture, "file", 3, &copy, &pending), OK);
    struct node_change holder = { .has_lease_id = true, .lease_id = id };
    assert_int_equal(pending_abort_by(fixture, "file", pending.step.step.id, &holder), OK);
    assert_int_equal(file_record(fixture, "file").lease.state, LEASE_LEASED);
}

static void a_copy_that_fails_says_why(void **state)
{
    struct service_fixture *fixture = *state;
    struct pending pending;
    share_make(fixture, 1);
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    assert_int_equal(pending_report(&pending, 2), OK);
    assert_int_equal(pending_fail(&pending, "404 NotFound"), OK);
    const struct node failed = file_record(fixture, "file");
    assert_int_equal(failed.copy.status, BLOB_COPY_FAILED);
    assert_true(slice_is(failed.copy.description, "404 NotFound"));
    assert_int_equal(failed.copy.copied_bytes, 2);
    assert_int_equal(failed.content.length_bytes, 0);
    assert_int_equal(file_resize(fixture, "file", 5), OK);
}

static void bytes_that_are_over_the_quota_are_not_taken(void **state)
{
    struct service_fixture *fixture = *state;
    struct pending pending;
    share_make(fixture, 1);
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    assert_int_equal(pending.step.quota_bytes, UINT64_C(1) << 30);
    pending.step.quota_bytes = 2;
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), ERR_SHARE_SIZE_LIMIT);
    assert_int_equal(file_record(fixture, "file").copy.status, BLOB_COPY_PENDING);
    assert_int_equal(used(fixture), 0);
    assert_int_equal(pending_fail(&pending, "413 Full"), OK);
}

static void a_pending_copy_follows_its_file_and_ends_with_it(void **state)
{
    struct service_fixture *fixture = *state;
    struct pending pending;
    share_make(fixture, 1);
    assert_int_equal(directory_create(fixture, "a"), OK);
    assert_int_equal(pending_begin(fixture, "a/file", 3, &pending), OK);
    assert_int_equal(node_move(fixture, "a", "b", &(struct node_change){ .kind = NODE_DIRECTORY }),
                     OK);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_int_equal(file_record(fixture, "b/file").content.length_bytes, 3);

    /* An SMB client deletes a file by its handle. */
    assert_int_equal(pending_begin(fixture, "b/file", 3, &pending), OK);
    const uint64_t id = file_record(fixture, "b/file").id;
    struct node_change removal = { .kind = NODE_FILE, .is_admitted = true };
    assert_int_equal(node_await(fixture, "b/file", node_delete, &removal), OK);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_true(pending.step.step.is_gone);
    assert_false(has_pending_row(fixture, id));
    assert_int_equal(used(fixture), 0);
}

static void a_snapshot_keeps_a_pending_copy_as_it_was(void **state)
{
    struct service_fixture *fixture = *state;
    struct pending pending;
    struct node past;
    share_make(fixture, 1);
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    assert_int_equal(pending_report(&pending, 1), OK);
    const int64_t snapshot = share_take(fixture);
    assert_int_equal(pending_report(&pending, 2), OK);
    const int64_t second = share_take(fixture);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_int_equal(node_record(fixture, "file", NODE_FILE, snapshot, &past), OK);
    assert_int_equal(past.copy.status, BLOB_COPY_PENDING);
    assert_int_equal(past.copy.copied_bytes, 1);
    assert_int_equal(past.content.length_bytes, 0);
    assert_int_equal(node_record(fixture, "file", NODE_FILE, second, &past), OK);
    assert_int_equal(past.copy.copied_bytes, 2);
    assert_int_equal(file_record(fixture, "file").content.length_bytes, 3);
    struct file_copy copy = { 0 };
    assert_int_equal(copy_with(fixture, NULL, "file", snapshot, "copy", &copy), ERR_PENDING_COPY);
}

static void a_copy_that_was_pending_has_failed_after_a_restart(void **state)
{
    struct service_fixture *fixture = *state;
    struct pending pending;
    struct pending deleted;
    share_make(fixture, 1);
    assert_int_equal(pending_begin(fixture, "file", 3, &pending), OK);
    assert_int_equal(pending_report(&pending, 2), OK);
    assert_int_equal(pending_begin(fixture, "deleted", 3, &deleted), OK);
    const uint64_t deleted_id = file_record(fixture, "deleted").id;
    struct node_change removal = { .kind = NODE_FILE, .is_admitted = true };
    assert_int_equal(node_await(fixture, "deleted", node_delete, &removal), OK);
    assert_true(has_pending_row(fixture, deleted_id));
    assert_int_equal(copy_recover(&fixture->service), OK);
    const struct node failed = file_record(fixture, "file");
    assert_int_equal(failed.copy.status, BLOB_COPY_FAILED);
    assert_int_equal(failed.copy.copied_bytes, 2);
    assert_non_null(
        memmem(failed.copy.description.data, failed.copy.description.len, "restarted", 9));
    assert_int_equal(failed.copy.completed_at, failed.etag);
    assert_false(has_pending_row(fixture, failed.id));
    assert_false(has_pending_row(fixture, deleted_id));
    assert_int_equal(file_resize(fixture, "file", 5), OK);
}

/* --- after a restart --- */

/* Content of a share that was being made when the server ended is found by the next. */
static enum err leave_unfinished(struct change *change, void *arg)
{
    (void)arg;
    struct arena *arena = change_arena(change);
    change_put(change, unfinished_key(arena, 12345), slice_of("\1\1"));
    change_mark(change);
    return OK;
}

static void what_was_being_made_is_given_back_after_a_restart(void **state)
{
    struct service_fixture *fixture = *state;
    struct waiter waiter;
    share_make(fixture, 1);
    struct partition_update update = {
        .partition = share_partition(fixture),
        .decide = leave_unfinished,
        .done = waiter_done,
        .arg = &waiter,
    };
    waiter_init(&waiter);
    partition_update(fixture->service.store, &update);
    assert_int_equal(waiter_wait(&waiter), OK);
    assert_int_equal(copy_recover(&fixture->service), OK);
    struct slice row;
    assert_int_equal(partition_get(fixture->service.store, &fixture->arena,
                                   share_partition(fixture), unfinished_key(&fixture->arena, 12345),
                                   &row),
                     ERR_NOT_FOUND);
    assert_int_equal(partition_get(fixture->service.store, &fixture->arena,
                                   share_partition(fixture), dropped_key(&fixture->arena, 12345),
                                   &row),
                     OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_copy_has_the_bytes_and_goes_its_own_way),
        ON_MEMORY(a_long_copy_to_another_share_is_made_in_steps),
        ON_ROCKSDB(a_long_copy_to_another_share_is_made_in_steps),
        ON_ALL_ENGINES(a_copy_is_what_its_source_was_at_a_snapshot),
        ON_ALL_ENGINES(what_smb_knows_is_taken_over_only_if_it_is_to_be),
        ON_ALL_ENGINES(sources_that_are_not_there_and_destinations_that_cannot_be),
        ON_ALL_ENGINES(a_copy_from_elsewhere_is_pending_until_its_bytes_arrive),
        ON_ALL_ENGINES(what_the_request_says_of_the_file_outlasts_the_copy),
        ON_ALL_ENGINES(nobody_else_changes_a_file_while_a_copy_to_it_is_pending),
        ON_ALL_ENGINES(an_aborted_copy_leaves_an_empty_file_with_its_metadata),
        ON_ALL_ENGINES(a_lease_guards_a_pending_copy_and_its_end_needs_none),
        ON_ALL_ENGINES(a_copy_that_fails_says_why),
        ON_ALL_ENGINES(bytes_that_are_over_the_quota_are_not_taken),
        ON_ALL_ENGINES(a_pending_copy_follows_its_file_and_ends_with_it),
        ON_ALL_ENGINES(a_snapshot_keeps_a_pending_copy_as_it_was),
        ON_ALL_ENGINES(a_copy_that_was_pending_has_failed_after_a_restart),
        ON_MEMORY(what_was_being_made_is_given_back_after_a_restart),
        ON_ROCKSDB(what_was_being_made_is_given_back_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
