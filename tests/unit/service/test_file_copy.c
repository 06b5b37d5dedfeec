#include "service/file/file_copy.h"

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

static void a_payload_becomes_a_file(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    for (size_t len = 0; len <= PIECE; len += PIECE / 4) {
        struct arena arena = { 0 };
        struct waiter waiter;
        struct file_copy copy = { .url = slice_of("http://elsewhere") };
        char bytes[PIECE];
        memset(bytes, 'p', sizeof(bytes));
        waiter_bind(&waiter, &copy.base, &arena);
        copy.change.name = node_named(&arena, "file", 0);
        assert_int_equal(payload_writer_new(&fixture->service, &arena, len, &copy.change.payload),
                         OK);
        assert_int_equal(payload_writer_append(copy.change.payload, slice_make(bytes, len)), OK);
        assert_int_equal(payload_writer_finish(copy.change.payload), OK);
        file_copy_put(&fixture->service, &copy);
        assert_int_equal(waiter_wait(&waiter), OK);
        arena_release(&arena);
        struct slice read;
        assert_int_equal(file_bytes(fixture, &fixture->arena, "file", 0, &read), OK);
        assert_true(slice_equal(read, slice_make(bytes, len)));
        assert_int_equal(used(fixture), len);
    }
}

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
        ON_ALL_ENGINES(a_payload_becomes_a_file),
        ON_MEMORY(what_was_being_made_is_given_back_after_a_restart),
        ON_ROCKSDB(what_was_being_made_is_given_back_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
