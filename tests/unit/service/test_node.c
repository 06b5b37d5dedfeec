#include "node_fixture.h"
#include "service/blob/overlay.h"
#include "service/file/permission.h"
#include "service/limits.h"

static const struct uuid A = { .bytes = { 0xaa } };
static const struct uuid B = { .bytes = { 0xbb } };

/* --- helpers --- */

static enum err lease(struct service_fixture *fixture, const char *path, enum lease_action action,
                      const struct uuid *id, const struct uuid *proposed)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct node_lease change = { .lease = { .action = action,
                                            .duration_sec = LEASE_DURATION_SEC_INFINITE } };
    if (id != NULL)
        change.lease.id = *id;
    if (proposed != NULL)
        change.lease.proposed_id = *proposed;
    waiter_bind(&waiter, &change.base, &arena);
    change.name = node_named(&arena, path, 0);
    node_lease(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err write_as(struct service_fixture *fixture, const char *path, const struct uuid *id)
{
    struct node_change change = { .has_lease_id = id != NULL };
    if (id != NULL)
        change.lease_id = *id;
    return file_write_with(fixture, path, 0, slice_of("x"), &change);
}

static enum err read_as(struct service_fixture *fixture, const char *path, const struct uuid *id)
{
    struct node_get get = { .kind = NODE_FILE, .has_lease_id = id != NULL };
    if (id != NULL)
        get.lease_id = *id;
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &get.base, &arena);
    get.name = node_named(&arena, path, 0);
    node_get(&fixture->service, &get);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static struct node record(struct service_fixture *fixture, const char *path, enum node_kind kind,
                          int64_t snapshot)
{
    struct node node;
    assert_int_equal(node_record(fixture, path, kind, snapshot, &node), OK);
    return node;
}

static struct node file(struct service_fixture *fixture, const char *path)
{
    return record(fixture, path, NODE_FILE, 0);
}

static void assert_bytes(struct service_fixture *fixture, const char *path, int64_t snapshot,
                         const char *expected)
{
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, path, snapshot, &bytes), OK);
    assert_int_equal(bytes.len, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.len);
}

static void assert_ranges(struct service_fixture *fixture, const char *path, int64_t snapshot,
                          int64_t previous, const char *expected)
{
    struct slice text;
    assert_int_equal(file_ranges(fixture, path, snapshot, previous, &text), OK);
    if (!slice_is(text, expected))
        fail_msg("%.*s instead of %s", (int)text.len, text.data, expected);
}

struct names {
    struct strbuf text; /* "a b c " */
};

static bool add_name(void *arg, const struct node *node)
{
    struct names *names = arg;
    strbuf_add(&names->text, node->name);
    strbuf_add_text(&names->text, node->kind == NODE_DIRECTORY ? "/ " : " ");
    return true;
}

static struct slice list(struct service_fixture *fixture, const char *path, const char *prefix,
                         int64_t snapshot)
{
    struct names names;
    strbuf_init(&names.text, &fixture->arena);
    const struct node_list_request request = {
        .directory = node_named(&fixture->arena, path, snapshot),
        .prefix = slice_of(prefix),
        .results_max = SIZE_MAX,
        .emit = add_name,
        .arg = &names,
    };
    struct node directory;
    struct slice next;
    assert_int_equal(node_list(&fixture->service, &fixture->arena, &request, &directory, &next),
                     OK);
    assert_int_equal(next.len, 0);
    return strbuf_slice(&names.text);
}

static struct service_fixture *begin(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 100);
    return fixture;
}

/* --- names --- */

static void names_are_compared_without_regard_to_case_and_kept_as_given(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "\xc3\x84pfel"), OK);
    assert_int_equal(file_create(fixture, "\xc3\xa4PFEL/Read.Me", 1), OK);
    assert_int_equal(directory_create(fixture, "\xc3\xa4pfel"), ERR_RESOURCE_EXISTS);
    assert_true(slice_is(file(fixture, "\xc3\xa4pfel/READ.ME").name, "Read.Me"));
    assert_true(slice_is(list(fixture, "", "", 0), "\xc3\x84pfel/ "));
    assert_true(slice_is(list(fixture, "\xc3\x84PFEL", "rEA", 0), "Read.Me "));
    assert_true(slice_is(list(fixture, "\xc3\x84PFEL", "x", 0), ""));
}

static void what_is_missing_on_the_way_is_the_parent(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct node node;
    assert_int_equal(file_create(fixture, "no/file", 1), ERR_PARENT_NOT_FOUND);
    assert_int_equal(node_record(fixture, "no/file", NODE_FILE, 0, &node), ERR_PARENT_NOT_FOUND);
    assert_int_equal(node_record(fixture, "file", NODE_FILE, 0, &node), ERR_RESOURCE_NOT_FOUND);
    assert_int_equal(file_create(fixture, "file", 1), OK);
    assert_int_equal(file_create(fixture, "file/file", 1), ERR_PARENT_NOT_FOUND);
    assert_int_equal(node_record(fixture, "file", NODE_DIRECTORY, 0, &node),
                     ERR_RESOURCE_TYPE_MISMATCH);
    assert_int_equal(node_remove(fixture, "file", NODE_DIRECTORY), ERR_RESOURCE_TYPE_MISMATCH);
}

static void paths_are_as_deep_as_they_may_be(void **state)
{
    struct service_fixture *fixture = begin(state);
    char path[2 * LIMIT_FILE_PATH_DEPTH];
    for (size_t depth = 0; depth + 1 < LIMIT_FILE_PATH_DEPTH; depth++) {
        path[2 * depth] = (char)('a' + depth % 26);
        path[2 * depth + 1] = '\0';
        assert_int_equal(directory_create(fixture, path), OK);
        path[2 * depth + 1] = '/';
    }
    path[2 * LIMIT_FILE_PATH_DEPTH - 2] = 'f';
    path[2 * LIMIT_FILE_PATH_DEPTH - 1] = '\0';
    assert_int_equal(file_create(fixture, path, 3), OK);
    assert_int_equal(file_write(fixture, path, 0, slice_of("end")), OK);
    assert_bytes(fixture, path, 0, "end");
    struct slice found;
    const struct node_name name = node_named(&fixture->arena, path, 0);
    assert_int_equal(node_find_path(&fixture->service, &fixture->arena, &name.share,
                                    file(fixture, path).id, &found),
                     OK);
    assert_true(slice_is(found, path));
}

/* --- create and properties --- */

static void the_root_directory_is_there_from_the_beginning(void **state)
{
    struct service_fixture *fixture = begin(state);
    const struct node root = record(fixture, "", NODE_DIRECTORY, 0);
    assert_int_equal(root.id, NODE_ROOT_ID);
    assert_int_equal(root.attributes, NODE_IS_DIRECTORY);
    assert_true(root.created_at > 0 && root.etag == root.created_at);
    assert_int_equal(directory_create(fixture, ""), ERR_RESOURCE_EXISTS);
    assert_int_equal(node_remove(fixture, "", NODE_DIRECTORY), ERR_INVALID_URI);
    struct node_change change = { .kind = NODE_DIRECTORY };
    assert_int_equal(node_move(fixture, "", "x", &change), ERR_INVALID_URI);
    assert_int_equal(directory_create(fixture, "x"), OK);
    struct node_change over = { .kind = NODE_DIRECTORY, .replaces = true };
    assert_int_equal(node_move(fixture, "x", "", &over), ERR_INVALID_URI);
}

static void the_root_directory_has_properties_now_and_at_snapshots(void **state)
{
    struct service_fixture *fixture = begin(state);
    const int64_t first = share_take(fixture);
    struct metadata_pair pair = { slice_of("a"), slice_of("b") };
    struct node_change change = { .kind = NODE_DIRECTORY, .metadata = { &pair, 1 } };
    assert_int_equal(node_await(fixture, "", node_set_metadata, &change), OK);
    assert_int_equal(file_create(fixture, "f", 0), OK);
    const int64_t second = share_take(fixture);
    assert_int_equal(node_remove(fixture, "f", NODE_FILE), OK);
    assert_int_equal(record(fixture, "", NODE_DIRECTORY, 0).metadata.count, 1);
    assert_int_equal(record(fixture, "", NODE_DIRECTORY, first).metadata.count, 0);
    assert_int_equal(record(fixture, "", NODE_DIRECTORY, second).metadata.count, 1);
    assert_true(slice_is(list(fixture, "", "", 0), ""));
    assert_true(slice_is(list(fixture, "", "", first), ""));
    assert_true(slice_is(list(fixture, "", "", second), "f "));
}

static void a_new_node_is_what_smb_says_of_it(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct node_change change = {
        .kind = NODE_FILE,
        .size_bytes = 10,
        .properties = { .content_type = slice_of("text/plain") },
        .smb = { .has_attributes = true,
                 .attributes = NODE_HIDDEN | NODE_IS_DIRECTORY,
                 .has_created_at = true,
                 .created_at = 111,
                 .has_written_at = true,
                 .written_at = 222,
                 .has_changed_at = true,
                 .changed_at = 333,
                 .has_permission_key = false },
    };
    assert_int_equal(node_await(fixture, "f", node_create, &change), OK);
    const struct node node = file(fixture, "f");
    assert_int_equal(node.attributes, NODE_HIDDEN | NODE_ARCHIVE);
    assert_int_equal(node.created_at, 111);
    assert_int_equal(node.written_at, 222);
    assert_int_equal(node.changed_at, 333);
    assert_int_equal(node.content.length_bytes, 10);
    assert_true(slice_is(node.properties.content_type, "text/plain"));
    assert_true(node.id != 0 && node.parent_id == NODE_ROOT_ID);
    assert_int_equal(node.etag, change.node.etag);

    struct node_change plain = { .kind = NODE_DIRECTORY };
    assert_int_equal(node_await(fixture, "d", node_create, &plain), OK);
    const struct node directory = record(fixture, "d", NODE_DIRECTORY, 0);
    assert_int_equal(directory.attributes, NODE_IS_DIRECTORY);
    assert_int_equal(directory.created_at, directory.etag);
    assert_int_equal(directory.written_at, directory.etag);
}

static void a_file_that_is_made_again_keeps_its_id_and_nothing_else(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(file_create(fixture, "File", 5), OK);
    assert_int_equal(file_write(fixture, "file", 0, slice_of("12345")), OK);
    const struct node before = file(fixture, "file");
    assert_int_equal(share_used_bytes(fixture), 5);
    assert_int_equal(file_create(fixture, "FILE", 3), OK);
    const struct node after = file(fixture, "file");
    assert_true(after.id == before.id);
    assert_true(slice_is(after.name, "File"));
    assert_true(after.created_at > before.created_at);
    assert_int_equal(after.used_bytes, 0);
    assert_int_equal(share_used_bytes(fixture), 0);
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "file", 0, &bytes), OK);
    assert_memory_equal(bytes.data, "\0\0\0", 3);
    assert_int_equal(directory_create(fixture, "file"), ERR_RESOURCE_TYPE_MISMATCH);
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "d", 3), ERR_RESOURCE_TYPE_MISMATCH);
}

static void a_permission_is_kept_once_and_named_by_its_key(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct slice permission;
    assert_int_equal(permission_from_text(&fixture->arena,
                                          slice_of("O:SYG:BAD:(A;;FA;;;SY)(A;;FR;;;WD)"),
                                          &permission),
                     OK);
    const struct slice key = permission_key(&fixture->arena, permission);
    struct node_change unknown = { .kind = NODE_FILE,
                                   .smb = { .has_permission_key = true, .permission_key = key } };
    assert_int_equal(node_await(fixture, "f", node_create, &unknown), ERR_FILE_PERMISSION_INVALID);
    struct node_change given = { .kind = NODE_FILE, .smb = { .permission = permission } };
    assert_int_equal(node_await(fixture, "f", node_create, &given), OK);
    assert_true(slice_equal(file(fixture, "f").permission_key, key));
    struct node_change known = { .kind = NODE_DIRECTORY,
                                 .smb = { .has_permission_key = true, .permission_key = key } };
    assert_int_equal(node_await(fixture, "d", node_create, &known), OK);
    assert_true(slice_equal(record(fixture, "d", NODE_DIRECTORY, 0).permission_key, key));
    /* It stays when nothing is said about it. */
    assert_int_equal(node_move(fixture, "f", "d/g", &(struct node_change){ .kind = NODE_FILE }),
                     OK);
    assert_true(slice_equal(file(fixture, "d/g").permission_key, key));
}

static void properties_that_are_not_given_stay(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct node_change make = { .kind = NODE_FILE,
                                .size_bytes = 10,
                                .properties = { .content_type = slice_of("one") } };
    assert_int_equal(node_await(fixture, "f", node_create, &make), OK);
    const struct node before = file(fixture, "f");

    struct node_change only_smb = {
        .kind = NODE_FILE,
        .keeps_properties = true,
        .smb = { .has_written_at = true, .written_at = 5 },
    };
    assert_int_equal(node_await(fixture, "f", node_set_properties, &only_smb), OK);
    struct node after = file(fixture, "f");
    assert_true(slice_is(after.properties.content_type, "one"));
    assert_int_equal(after.written_at, 5);
    assert_int_equal(after.created_at, before.created_at);
    assert_int_equal(after.attributes, before.attributes);
    assert_true(after.etag > before.etag && after.changed_at == after.etag);

    struct node_change now = {
        .kind = NODE_FILE,
        .properties = { .content_encoding = slice_of("two") },
        .smb = { .has_written_at = true, .has_created_at = true },
    };
    assert_int_equal(node_await(fixture, "f", node_set_properties, &now), OK);
    after = file(fixture, "f");
    assert_int_equal(after.properties.content_type.len, 0);
    assert_true(slice_is(after.properties.content_encoding, "two"));
    assert_int_equal(after.written_at, after.etag);
    assert_int_equal(after.created_at, after.etag);
}

static void a_file_that_is_cut_is_zeroes_when_it_grows_again(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(file_create(fixture, "f", 8), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("12345678")), OK);
    const struct node before = file(fixture, "f");
    assert_int_equal(file_resize(fixture, "f", 3), OK);
    assert_int_equal(share_used_bytes(fixture), 3);
    assert_true(file(fixture, "f").written_at > before.written_at);
    assert_bytes(fixture, "f", 0, "123");
    assert_int_equal(file_resize(fixture, "f", 5), OK);
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "f", 0, &bytes), OK);
    assert_int_equal(bytes.len, 5);
    assert_memory_equal(bytes.data, "123\0\0", 5);
    assert_int_equal(file_resize(fixture, "f", 0), OK);
    assert_int_equal(share_used_bytes(fixture), 0);
    assert_bytes(fixture, "f", 0, "");
    assert_int_equal(file_resize(fixture, "f", LIMIT_FILE_BYTES), OK);
    assert_int_equal(file_write(fixture, "f", LIMIT_FILE_BYTES - 3, slice_of("end")), OK);
    assert_int_equal(file_write(fixture, "f", LIMIT_FILE_BYTES - 2, slice_of("end")),
                     ERR_INVALID_RANGE);
}

static void a_read_only_file_takes_nothing_but_the_end_of_it(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct node_change make = { .kind = NODE_FILE,
                                .size_bytes = 4,
                                .smb = { .has_attributes = true, .attributes = NODE_READ_ONLY } };
    assert_int_equal(node_await(fixture, "f", node_create, &make), OK);
    assert_int_equal(file_create(fixture, "f", 4), ERR_READ_ONLY_ATTRIBUTE);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("x")), ERR_READ_ONLY_ATTRIBUTE);
    assert_int_equal(file_clear(fixture, "f", 0, 1), ERR_READ_ONLY_ATTRIBUTE);
    assert_int_equal(file_resize(fixture, "f", 1), ERR_READ_ONLY_ATTRIBUTE);
    assert_int_equal(node_remove(fixture, "f", NODE_FILE), ERR_READ_ONLY_ATTRIBUTE);
    struct node_change metadata = { .kind = NODE_FILE };
    assert_int_equal(node_await(fixture, "f", node_set_metadata, &metadata),
                     ERR_READ_ONLY_ATTRIBUTE);
    struct node_change still = { .kind = NODE_FILE,
                                 .smb = { .has_attributes = true,
                                          .attributes = NODE_READ_ONLY | NODE_HIDDEN } };
    assert_int_equal(node_await(fixture, "f", node_set_properties, &still),
                     ERR_READ_ONLY_ATTRIBUTE);
    assert_int_equal(file(fixture, "f").content.length_bytes, 4);
    assert_int_equal(share_used_bytes(fixture), 0);
}

static void a_read_only_file_is_one_no_more_when_properties_say_so(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct node_change make = { .kind = NODE_FILE,
                                .size_bytes = 4,
                                .smb = { .has_attributes = true, .attributes = NODE_READ_ONLY } };
    assert_int_equal(node_await(fixture, "f", node_create, &make), OK);
    struct node_change clear = { .kind = NODE_FILE, .smb = { .has_attributes = true } };
    assert_int_equal(node_await(fixture, "f", node_set_properties, &clear), OK);
    assert_int_equal(file(fixture, "f").attributes, 0);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("x")), OK);
    /* The attribute means nothing of the kind for a directory. */
    struct node_change directory = {
        .kind = NODE_DIRECTORY, .smb = { .has_attributes = true, .attributes = NODE_READ_ONLY }
    };
    assert_int_equal(node_await(fixture, "d", node_create, &directory), OK);
    assert_int_equal(file_create(fixture, "d/f", 1), OK);
}

static void a_directory_is_deleted_when_it_is_empty(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "d/f", 0), OK);
    assert_int_equal(node_remove(fixture, "d", NODE_DIRECTORY), ERR_DIRECTORY_NOT_EMPTY);
    assert_int_equal(node_remove(fixture, "d/f", NODE_FILE), OK);
    assert_int_equal(node_remove(fixture, "d", NODE_DIRECTORY), OK);
    assert_int_equal(node_remove(fixture, "d", NODE_DIRECTORY), ERR_RESOURCE_NOT_FOUND);
    const uint64_t old_id = record(fixture, "", NODE_DIRECTORY, 0).id;
    assert_int_equal(old_id, NODE_ROOT_ID);
}

static void what_is_deleted_leaves_no_row_behind(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    assert_int_equal(fixture_dump_partition(fixture, share_partition(fixture), &out), 0);
    char bytes[300];
    memset(bytes, 'x', sizeof(bytes));
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "d/f", 1000), OK);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(file_write(fixture, "d/f", 37 * i, slice_make(bytes, i % 2 ? 50 : 290)),
                         OK);
    /* A payload of which parts are left goes with the last, which is replaced as a whole. */
    assert_int_equal(file_create(fixture, "d/parts", 1000), OK);
    assert_int_equal(file_write(fixture, "d/parts", 100, slice_make(bytes, 12)), OK);
    assert_int_equal(file_write(fixture, "d/parts", 104, slice_make(bytes, 2)), OK);
    assert_int_equal(file_write(fixture, "d/parts", 100, slice_make(bytes, 4)), OK);
    assert_int_equal(file_write(fixture, "d/parts", 106, slice_make(bytes, 6)), OK);
    assert_int_equal(node_remove(fixture, "d/parts", NODE_FILE), OK);
    assert_int_equal(node_move(fixture, "d/f", "g", &(struct node_change){ .kind = NODE_FILE }),
                     OK);
    assert_int_equal(node_remove(fixture, "g", NODE_FILE), OK);
    assert_int_equal(node_remove(fixture, "d", NODE_DIRECTORY), OK);
    strbuf_init(&out, &fixture->arena);
    /* The state of the share. */
    assert_int_equal(fixture_dump_partition(fixture, share_partition(fixture), &out), 1);
    assert_int_equal(share_used_bytes(fixture), 0);
}

/* --- leases --- */

static void a_lease_is_as_the_table_says(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(file_create(fixture, "f", 4), OK);
    const struct node made = file(fixture, "f");

    /* available */
    assert_int_equal(write_as(fixture, "f", &A), ERR_LEASE_NOT_PRESENT_FILE);
    assert_int_equal(read_as(fixture, "f", &A), ERR_LEASE_NOT_PRESENT_FILE);
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_BREAK, NULL, NULL),
                     ERR_LEASE_ACTION_NOT_PRESENT);
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_CHANGE, &A, &B),
                     ERR_LEASE_ACTION_NOT_PRESENT);
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_RENEW, &A, NULL),
                     ERR_LEASE_ACTION_NOT_PRESENT);

    /* leased */
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_ACQUIRE, NULL, &A), OK);
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_ACQUIRE, NULL, &B),
                     ERR_LEASE_ALREADY_PRESENT);
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_ACQUIRE, NULL, &A), OK);
    assert_int_equal(write_as(fixture, "f", NULL), ERR_LEASE_ID_MISSING);
    assert_int_equal(write_as(fixture, "f", &B), ERR_LEASE_ID_MISMATCH_FILE);
    assert_int_equal(read_as(fixture, "f", NULL), OK);
    assert_int_equal(read_as(fixture, "f", &B), ERR_LEASE_ID_MISMATCH_FILE);
    assert_int_equal(read_as(fixture, "f", &A), OK);
    assert_int_equal(file(fixture, "f").etag, made.etag);
    assert_int_equal(write_as(fixture, "f", &A), OK);
    assert_int_equal(file(fixture, "f").lease.state, LEASE_LEASED);
    assert_int_equal(node_remove(fixture, "f", NODE_FILE), ERR_LEASE_ID_MISSING);
    assert_int_equal(file_create(fixture, "f", 1), ERR_LEASE_ID_MISSING);
    assert_int_equal(file_resize(fixture, "f", 1), ERR_LEASE_ID_MISSING);
    assert_int_equal(file_clear(fixture, "f", 0, 1), ERR_LEASE_ID_MISSING);

    /* broken */
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_BREAK, NULL, NULL), OK);
    assert_int_equal(write_as(fixture, "f", &A), ERR_LEASE_NOT_PRESENT_FILE);
    assert_int_equal(file(fixture, "f").lease.state, LEASE_BROKEN);
    assert_int_equal(write_as(fixture, "f", NULL), OK);
    assert_int_equal(file(fixture, "f").lease.state, LEASE_AVAILABLE);
}

static void a_lease_is_of_files_and_not_of_the_past(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(lease(fixture, "d", LEASE_ACTION_ACQUIRE, NULL, &A),
                     ERR_RESOURCE_TYPE_MISMATCH);
    assert_int_equal(file_create(fixture, "f", 4), OK);
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_ACQUIRE, NULL, &A), OK);
    const int64_t instant = share_take(fixture);
    assert_int_equal(record(fixture, "f", NODE_FILE, instant).lease.state, LEASE_AVAILABLE);
    /* The lease is given back, and the file as it was is still found. */
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_RELEASE, &A, NULL), OK);
    assert_int_equal(record(fixture, "f", NODE_FILE, instant).lease.state, LEASE_AVAILABLE);
    struct node_change with_id = { .kind = NODE_FILE, .has_lease_id = true, .lease_id = A };
    assert_int_equal(node_await(fixture, "new", node_create, &with_id), ERR_LEASE_NOT_PRESENT_FILE);
}

/* --- rename --- */

static void a_renamed_file_is_the_same_file(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "f", 3), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("abc")), OK);
    const struct node before = file(fixture, "f");
    struct node_change change = { .kind = NODE_FILE,
                                  .properties = { .content_type = slice_of("new") },
                                  .smb = { .has_created_at = true, .created_at = 9 } };
    assert_int_equal(node_move(fixture, "f", "d/G", &change), OK);
    const struct node after = file(fixture, "d/g");
    assert_true(after.id == before.id);
    assert_true(slice_is(after.name, "G"));
    assert_true(after.parent_id == record(fixture, "d", NODE_DIRECTORY, 0).id);
    assert_true(after.etag > before.etag);
    assert_int_equal(after.changed_at, after.etag);
    assert_int_equal(after.written_at, before.written_at);
    assert_int_equal(after.created_at, 9);
    assert_true(slice_is(after.properties.content_type, "new"));
    assert_bytes(fixture, "d/g", 0, "abc");
    struct node node;
    assert_int_equal(node_record(fixture, "f", NODE_FILE, 0, &node), ERR_RESOURCE_NOT_FOUND);
    assert_int_equal(share_used_bytes(fixture), 3);
}

static void the_case_of_a_name_can_be_changed(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "dir"), OK);
    assert_int_equal(file_create(fixture, "dir/f", 0), OK);
    struct node_change change = { .kind = NODE_DIRECTORY };
    assert_int_equal(node_move(fixture, "dir", "DIR", &change), OK);
    assert_true(slice_is(list(fixture, "", "", 0), "DIR/ "));
    assert_true(slice_is(list(fixture, "dir", "", 0), "f "));
}

static void a_directory_does_not_go_into_itself(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "a"), OK);
    assert_int_equal(directory_create(fixture, "a/b"), OK);
    struct node_change change = { .kind = NODE_DIRECTORY };
    assert_int_equal(node_move(fixture, "a", "A/x", &change), ERR_RENAME_INTO_ITSELF);
    change = (struct node_change){ .kind = NODE_DIRECTORY };
    assert_int_equal(node_move(fixture, "a", "a/b/x", &change), ERR_RENAME_INTO_ITSELF);
    change = (struct node_change){ .kind = NODE_DIRECTORY };
    assert_int_equal(node_move(fixture, "a/b", "b", &change), OK);
    change = (struct node_change){ .kind = NODE_DIRECTORY };
    assert_int_equal(node_move(fixture, "a", "b/a", &change), OK);
    assert_true(slice_is(list(fixture, "b", "", 0), "a/ "));
}

static void a_rename_replaces_only_what_it_may(void **state)
{
    struct service_fixture *fixture = begin(state);
    struct node_change read_only = {
        .kind = NODE_FILE, .smb = { .has_attributes = true, .attributes = NODE_READ_ONLY }
    };
    assert_int_equal(file_create(fixture, "f", 3), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("abc")), OK);
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(node_await(fixture, "locked", node_create, &read_only), OK);
    assert_int_equal(file_create(fixture, "plain", 2), OK);
    assert_int_equal(file_write(fixture, "plain", 0, slice_of("xy")), OK);

    struct node_change change = { .kind = NODE_FILE };
    assert_int_equal(node_move(fixture, "f", "plain", &change), ERR_RESOURCE_EXISTS);
    change = (struct node_change){ .kind = NODE_FILE, .replaces = true };
    assert_int_equal(node_move(fixture, "f", "d", &change), ERR_RESOURCE_EXISTS);
    change = (struct node_change){ .kind = NODE_FILE, .replaces = true };
    assert_int_equal(node_move(fixture, "f", "locked", &change), ERR_READ_ONLY_ATTRIBUTE);
    change = (struct node_change){ .kind = NODE_FILE, .replaces = true, .ignores_readonly = true };
    assert_int_equal(node_move(fixture, "f", "locked", &change), OK);
    assert_bytes(fixture, "locked", 0, "abc");
    assert_int_equal(share_used_bytes(fixture), 5);
    /* A directory takes the place of a file, too. */
    change = (struct node_change){ .kind = NODE_DIRECTORY, .replaces = true };
    assert_int_equal(node_move(fixture, "d", "plain", &change), OK);
    assert_int_equal(share_used_bytes(fixture), 3);
    assert_true(slice_is(list(fixture, "", "", 0), "locked plain/ "));
}

static void a_rename_names_the_leases_of_both(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(file_create(fixture, "f", 0), OK);
    assert_int_equal(file_create(fixture, "g", 0), OK);
    assert_int_equal(lease(fixture, "f", LEASE_ACTION_ACQUIRE, NULL, &A), OK);
    assert_int_equal(lease(fixture, "g", LEASE_ACTION_ACQUIRE, NULL, &B), OK);
    struct node_change change = { .kind = NODE_FILE, .replaces = true };
    assert_int_equal(node_move(fixture, "f", "g", &change), ERR_LEASE_ID_MISSING);
    change = (struct node_change){
        .kind = NODE_FILE, .replaces = true, .has_source_lease_id = true, .source_lease_id = A
    };
    assert_int_equal(node_move(fixture, "f", "g", &change), ERR_LEASE_ID_MISSING);
    change = (struct node_change){ .kind = NODE_FILE,
                                   .replaces = true,
                                   .has_source_lease_id = true,
                                   .source_lease_id = A,
                                   .has_lease_id = true,
                                   .lease_id = B };
    assert_int_equal(node_move(fixture, "f", "g", &change), OK);
    const struct node moved = file(fixture, "g");
    assert_true(uuid_equal(&moved.lease.id, &A));
    change = (struct node_change){ .kind = NODE_FILE,
                                   .has_source_lease_id = true,
                                   .source_lease_id = A,
                                   .has_lease_id = true,
                                   .lease_id = B };
    assert_int_equal(node_move(fixture, "g", "h", &change), ERR_LEASE_NOT_PRESENT_FILE);
}

/* --- by id --- */

static void a_node_is_found_by_its_id_wherever_it_is(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "a"), OK);
    assert_int_equal(directory_create(fixture, "a/b"), OK);
    assert_int_equal(file_create(fixture, "a/b/f", 3), OK);
    const uint64_t id = file(fixture, "a/b/f").id;
    assert_int_equal(
        node_move(fixture, "a/b", "Moved", &(struct node_change){ .kind = NODE_DIRECTORY }), OK);
    assert_int_equal(
        node_move(fixture, "moved/f", "moved/G", &(struct node_change){ .kind = NODE_FILE }), OK);
    struct slice path;
    const struct node_name name = node_named(&fixture->arena, "", 0);
    assert_int_equal(node_find_path(&fixture->service, &fixture->arena, &name.share, id, &path),
                     OK);
    assert_true(slice_is(path, "Moved/G"));
    assert_int_equal(
        node_find_path(&fixture->service, &fixture->arena, &name.share, NODE_ROOT_ID, &path), OK);
    assert_int_equal(path.len, 0);
    assert_int_equal(node_find_path(&fixture->service, &fixture->arena, &name.share, 12345, &path),
                     ERR_RESOURCE_NOT_FOUND);

    struct arena arena = { 0 };
    struct waiter waiter;
    struct node_change change = { .kind = NODE_FILE, .is_admitted = true };
    waiter_bind(&waiter, &change.base, &arena);
    change.name = name;
    change.name.id = id;
    node_delete(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    assert_true(slice_is(list(fixture, "moved", "", 0), ""));
}

/* --- ranges --- */

static void ranges_are_told_in_whole_blocks(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(file_create(fixture, "f", 2000), OK);
    assert_ranges(fixture, "f", 0, 0, "");
    assert_int_equal(file_write(fixture, "f", 700, slice_of("x")), OK);
    assert_ranges(fixture, "f", 0, 0, "512-1024 ");
    assert_int_equal(file_write(fixture, "f", 1999, slice_of("x")), OK);
    assert_ranges(fixture, "f", 0, 0, "512-1024 1536-2000 ");
    assert_int_equal(file_write(fixture, "f", 1030, slice_of("x")), OK);
    assert_ranges(fixture, "f", 0, 0, "512-2000 ");
}

static void clearing_frees_the_blocks_inside_and_zeroes_the_edges(void **state)
{
    struct service_fixture *fixture = begin(state);
    char ones[2048];
    memset(ones, '1', sizeof(ones));
    assert_int_equal(file_create(fixture, "f", sizeof(ones)), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_make(ones, sizeof(ones))), OK);
    const int64_t instant = share_take(fixture);
    assert_int_equal(file_clear(fixture, "f", 100, 1600), OK);
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "f", 0, &bytes), OK);
    for (size_t i = 0; i < sizeof(ones); i++)
        assert_int_equal(bytes.data[i], i >= 100 && i < 1600 ? 0 : '1');
    assert_ranges(fixture, "f", 0, 0, "0-512 1536-2048 ");
    assert_ranges(fixture, "f", 0, instant, "0-512 c512-1536 1536-2048 ");
    assert_int_equal(share_used_bytes(fixture), 100 + 448);
    assert_ranges(fixture, "f", instant, 0, "0-2048 ");
    struct slice text;
    assert_int_equal(file_ranges(fixture, "f", instant, instant + 1, &text),
                     ERR_PREVIOUS_SNAPSHOT_NEWER);
}

static void the_difference_is_what_was_written_or_cleared_since(void **state)
{
    struct service_fixture *fixture = begin(state);
    char bytes[512];
    memset(bytes, 'x', sizeof(bytes));
    assert_int_equal(file_create(fixture, "f", 4096), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_make(bytes, 512)), OK);
    assert_int_equal(file_write(fixture, "f", 1024, slice_make(bytes, 512)), OK);
    const int64_t first = share_take(fixture);
    assert_ranges(fixture, "f", 0, first, "");
    assert_int_equal(file_write(fixture, "f", 2048, slice_make(bytes, 512)), OK);
    assert_int_equal(file_clear(fixture, "f", 0, 512), OK);
    const int64_t second = share_take(fixture);
    assert_ranges(fixture, "f", 0, first, "c0-512 2048-2560 ");
    assert_ranges(fixture, "f", second, first, "c0-512 2048-2560 ");
    assert_int_equal(file_create(fixture, "g", 10), OK);
    struct slice text;
    assert_int_equal(file_ranges(fixture, "g", 0, first, &text), ERR_PREVIOUS_SNAPSHOT_NOT_FOUND);
}

static void a_long_list_is_shared_with_a_snapshot_and_not_copied(void **state)
{
    struct service_fixture *fixture = begin(state);
    char expected[4000];
    memset(expected, 0, sizeof(expected));
    assert_int_equal(file_create(fixture, "f", sizeof(expected)), OK);
    for (size_t i = 0; i < 200; i++) {
        const char byte = (char)('A' + i % 26);
        assert_int_equal(file_write(fixture, "f", 20 * i, slice_make(&byte, 1)), OK);
        expected[20 * i] = byte;
    }
    const int64_t instant = share_take(fixture);
    assert_int_equal(file_write(fixture, "f", 19, slice_of("xyz")), OK);
    assert_int_equal(share_used_bytes(fixture), 202);
    assert_int_equal(file_clear(fixture, "f", 35, 1000), OK);
    assert_int_equal(share_used_bytes(fixture), 202 - 48);
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "f", instant, &bytes), OK);
    assert_memory_equal(bytes.data, expected, sizeof(expected));
    memcpy(expected + 19, "xyz", 3);
    memset(expected + 35, 0, 965);
    assert_int_equal(file_bytes(fixture, &fixture->arena, "f", 0, &bytes), OK);
    assert_memory_equal(bytes.data, expected, sizeof(expected));
}

/* --- snapshots --- */

static void a_snapshot_is_not_changed(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(file_create(fixture, "f", 3), OK);
    const int64_t instant = share_take(fixture);
    struct arena arena = { 0 };
    struct waiter waiter;
    struct node_change change = { .kind = NODE_FILE };
    waiter_bind(&waiter, &change.base, &arena);
    change.name = node_named(&arena, "f", instant);
    node_delete(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), ERR_OPERATION_ON_SNAPSHOT);
    arena_release(&arena);
}

static void a_snapshot_follows_the_names_of_its_time(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(directory_create(fixture, "one"), OK);
    assert_int_equal(file_create(fixture, "one/f", 1), OK);
    assert_int_equal(file_write(fixture, "one/f", 0, slice_of("1")), OK);
    const int64_t first = share_take(fixture);
    assert_int_equal(
        node_move(fixture, "one", "two", &(struct node_change){ .kind = NODE_DIRECTORY }), OK);
    assert_int_equal(file_write(fixture, "two/f", 0, slice_of("2")), OK);
    const int64_t second = share_take(fixture);
    assert_int_equal(node_remove(fixture, "two/f", NODE_FILE), OK);
    assert_int_equal(node_remove(fixture, "two", NODE_DIRECTORY), OK);
    assert_int_equal(file_create(fixture, "one", 0), OK);

    assert_bytes(fixture, "one/f", first, "1");
    assert_bytes(fixture, "two/f", second, "2");
    struct node node;
    assert_int_equal(node_record(fixture, "two/f", NODE_FILE, first, &node), ERR_PARENT_NOT_FOUND);
    assert_int_equal(node_record(fixture, "one/f", NODE_FILE, second, &node), ERR_PARENT_NOT_FOUND);
    assert_true(slice_is(list(fixture, "", "", first), "one/ "));
    assert_true(slice_is(list(fixture, "", "", second), "two/ "));
    assert_true(slice_is(list(fixture, "", "", 0), "one "));
}

/* --- quota --- */

struct usage_setting {
    struct waiter waiter;
    struct partition_update update;
    uint64_t used_bytes;
};

static enum err usage_decide(struct change *change, void *arg)
{
    const struct usage_setting *setting = arg;
    struct share_state state;
    const enum err err = share_state_get(change, &state);
    state.used_bytes = setting->used_bytes;
    share_state_put(change, &state);
    return err;
}

static void usage_done(void *arg, enum err err)
{
    struct usage_setting *setting = arg;
    waiter_done(&setting->waiter, err);
}

/* As if other files took so much. */
static void use_bytes(struct service_fixture *fixture, uint64_t used_bytes)
{
    struct usage_setting setting = { .used_bytes = used_bytes };
    waiter_init(&setting.waiter);
    setting.update = (struct partition_update){
        .partition = share_partition(fixture),
        .decide = usage_decide,
        .arg = &setting,
        .done = usage_done,
    };
    partition_update(fixture->service.store, &setting.update);
    assert_int_equal(waiter_wait(&setting.waiter), OK);
}

static void no_more_is_written_than_the_quota_allows(void **state)
{
    struct service_fixture *fixture = *state;
    share_make(fixture, 1);
    assert_int_equal(file_create(fixture, "f", UINT64_C(1) << 40), OK);
    use_bytes(fixture, (UINT64_C(1) << 30) - 10);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("0123456789A")), ERR_SHARE_SIZE_LIMIT);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("0123456789")), OK);
    assert_int_equal(file_write(fixture, "f", 100, slice_of("x")), ERR_SHARE_SIZE_LIMIT);
    /* What takes no more than before is fine, and what is given up is free for others. */
    assert_int_equal(file_write(fixture, "f", 0, slice_of("ABCDEFGHIJ")), OK);
    assert_int_equal(file_clear(fixture, "f", 2, 4), OK);
    assert_int_equal(file_write(fixture, "f", 100, slice_of("xx")), OK);
    assert_int_equal(file_write(fixture, "f", 102, slice_of("x")), ERR_SHARE_SIZE_LIMIT);
    /* A quota that is more than used up keeps nobody from taking less. */
    use_bytes(fixture, UINT64_C(2) << 30);
    assert_int_equal(file_clear(fixture, "f", 0, 10), OK);
    assert_int_equal(file_write(fixture, "f", 100, slice_of("yy")), OK);
}

static void what_a_snapshot_keeps_is_not_counted(void **state)
{
    struct service_fixture *fixture = begin(state);
    assert_int_equal(file_create(fixture, "f", 5), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("12345")), OK);
    const int64_t instant = share_take(fixture);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("abcde")), OK);
    assert_int_equal(share_used_bytes(fixture), 5);
    assert_int_equal(node_remove(fixture, "f", NODE_FILE), OK);
    assert_int_equal(share_used_bytes(fixture), 0);
    assert_bytes(fixture, "f", instant, "12345");
}

/* After a snapshot a long list is seen through links, and a link may have nothing below it. */
static void a_gap_that_is_seen_through_a_link_is_not_counted(void **state)
{
    struct service_fixture *fixture = begin(state);
    const uint64_t ranges = 2 * OVERLAY_ROWS_COPIED;
    assert_int_equal(file_create(fixture, "f", 2 * ranges), OK);
    for (uint64_t i = 0; i < ranges; i++)
        assert_int_equal(file_write(fixture, "f", 2 * i, slice_of("x")), OK);
    (void)share_take(fixture);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("y")), OK);
    assert_int_equal(share_used_bytes(fixture), ranges);
    assert_int_equal(file_write(fixture, "f", 2 * ranges - 1, slice_of("y")), OK);
    assert_int_equal(share_used_bytes(fixture), ranges + 1);
    assert_int_equal(file_write(fixture, "f", 2 * ranges - 1, slice_of("z")), OK);
    assert_int_equal(share_used_bytes(fixture), ranges + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(names_are_compared_without_regard_to_case_and_kept_as_given),
        ON_ALL_ENGINES(what_is_missing_on_the_way_is_the_parent),
        ON_ALL_ENGINES(paths_are_as_deep_as_they_may_be),
        ON_ALL_ENGINES(the_root_directory_is_there_from_the_beginning),
        ON_ALL_ENGINES(the_root_directory_has_properties_now_and_at_snapshots),
        ON_ALL_ENGINES(a_new_node_is_what_smb_says_of_it),
        ON_ALL_ENGINES(a_file_that_is_made_again_keeps_its_id_and_nothing_else),
        ON_ALL_ENGINES(a_permission_is_kept_once_and_named_by_its_key),
        ON_ALL_ENGINES(properties_that_are_not_given_stay),
        ON_ALL_ENGINES(a_file_that_is_cut_is_zeroes_when_it_grows_again),
        ON_ALL_ENGINES(a_read_only_file_takes_nothing_but_the_end_of_it),
        ON_ALL_ENGINES(a_read_only_file_is_one_no_more_when_properties_say_so),
        ON_ALL_ENGINES(a_directory_is_deleted_when_it_is_empty),
        ON_ALL_ENGINES(what_is_deleted_leaves_no_row_behind),
        ON_ALL_ENGINES(a_lease_is_as_the_table_says),
        ON_ALL_ENGINES(a_lease_is_of_files_and_not_of_the_past),
        ON_ALL_ENGINES(a_renamed_file_is_the_same_file),
        ON_ALL_ENGINES(the_case_of_a_name_can_be_changed),
        ON_ALL_ENGINES(a_directory_does_not_go_into_itself),
        ON_ALL_ENGINES(a_rename_replaces_only_what_it_may),
        ON_ALL_ENGINES(a_rename_names_the_leases_of_both),
        ON_ALL_ENGINES(a_node_is_found_by_its_id_wherever_it_is),
        ON_ALL_ENGINES(ranges_are_told_in_whole_blocks),
        ON_ALL_ENGINES(clearing_frees_the_blocks_inside_and_zeroes_the_edges),
        ON_ALL_ENGINES(the_difference_is_what_was_written_or_cleared_since),
        ON_ALL_ENGINES(a_long_list_is_shared_with_a_snapshot_and_not_copied),
        ON_ALL_ENGINES(a_snapshot_is_not_changed),
        ON_ALL_ENGINES(a_snapshot_follows_the_names_of_its_time),
        ON_ALL_ENGINES(no_more_is_written_than_the_quota_allows),
        ON_ALL_ENGINES(what_a_snapshot_keeps_is_not_counted),
        ON_ALL_ENGINES(a_gap_that_is_seen_through_a_link_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
