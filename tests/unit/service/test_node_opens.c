/*
 * What SMB clients have open, and operations on the same files over REST.
 */
#include "file_copy_fixture.h"
#include "file_rights.h"
#include "node_fixture.h"
#include "service/limits.h"

struct scene {
    struct service_fixture *fixture;
    struct open_table *table;
    struct open_client *client;
};

static struct scene *scene_begin(void **state)
{
    struct service_fixture *fixture = *state;
    struct scene *scene = arena_alloc(&fixture->arena, sizeof(*scene));
    scene->fixture = fixture;
    scene->table = fixture->service.opens = open_table_new(&fixture->clock);
    scene->client = open_client_new(&(struct open_client_settings){ .address = slice_of("1:1") });
    share_make(fixture, 100);
    return scene;
}

/* Nothing is left open, or under way. */
static void scene_end(struct scene *scene)
{
    struct open_closed closed;
    while (open_client_close_next(scene->table, scene->client, &closed)) {
        if (closed.delete_file)
            open_table_deleted(scene->table, closed.key);
    }
    open_client_free(scene->client);
    scene->fixture->service.opens = NULL;
    open_table_free(scene->table);
}

static struct file_key key_of(struct scene *scene, const char *path, enum node_kind kind)
{
    struct open_table *opens = scene->fixture->service.opens;
    struct node node;
    scene->fixture->service.opens = NULL;
    assert_int_equal(node_record(scene->fixture, path, kind, 0, &node), OK);
    scene->fixture->service.opens = opens;
    return (struct file_key){ .share = share_incarnation(scene->fixture), .file_id = node.id };
}

static void opened(void *arg, enum err err)
{
    *(enum err *)arg = err;
}

static const struct uuid LEASE_KEY = { .bytes = { 1 } };

/* An SMB client opens a file that nobody else has; the handle. */
static uint64_t smb_open(struct scene *scene, const char *path, enum node_kind kind,
                         const char *access, const char *share, const char *caches)
{
    enum err err = ERR_BUSY;
    struct open_request request = {
        .wait = { .done = opened, .arg = &err },
        .client = scene->client,
        .key = key_of(scene, path, kind),
        .mode = mode(access, share),
        .directory = kind == NODE_DIRECTORY,
    };
    if (caches != NULL) {
        request.caching = OPEN_CACHING_LEASE;
        request.wanted = caching(caches);
        request.lease_key = LEASE_KEY;
    }
    open_table_open(scene->table, &request);
    assert_int_equal(err, OK);
    return request.handle_id;
}

static void smb_close(struct scene *scene, uint64_t handle)
{
    struct open_closed closed;
    assert_int_equal(open_table_close(scene->table, handle, &closed), OK);
}

static void smb_set_delete(struct scene *scene, uint64_t handle)
{
    enum err err = ERR_BUSY;
    struct open_operation operation = {
        .wait = { .done = opened, .arg = &err },
        .operation = FILE_OPERATION_SMB_SET_DELETE,
        .handle_id = handle,
    };
    open_table_begin(scene->table, &operation);
    assert_int_equal(err, OK);
    open_table_end(scene->table, &operation);
}

static enum err get(struct scene *scene, const char *path)
{
    struct arena arena = { 0 };
    struct slice bytes;
    const enum err err = file_bytes(scene->fixture, &arena, path, 0, &bytes);
    arena_release(&arena);
    return err;
}

static void operations_that_a_handle_does_not_share_are_refused(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    assert_int_equal(file_create(fixture, "f", 10), OK);
    const uint64_t handle = smb_open(scene, "f", NODE_FILE, "R", "R", NULL);
    assert_int_equal(get(scene, "f"), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("x")), ERR_SHARING_VIOLATION);
    assert_int_equal(file_clear(fixture, "f", 0, 1), ERR_SHARING_VIOLATION);
    assert_int_equal(file_resize(fixture, "f", 1), ERR_SHARING_VIOLATION);
    assert_int_equal(file_create(fixture, "f", 1), ERR_SHARING_VIOLATION);
    assert_int_equal(node_remove(fixture, "f", NODE_FILE), ERR_SHARING_VIOLATION);
    assert_int_equal(node_move(fixture, "f", "g", &(struct node_change){ .kind = NODE_FILE }),
                     ERR_SHARING_VIOLATION);
    smb_close(scene, handle);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("x")), OK);
    const uint64_t exclusive = smb_open(scene, "f", NODE_FILE, "RW", "", NULL);
    assert_int_equal(get(scene, "f"), ERR_SHARING_VIOLATION);
    struct slice text;
    assert_int_equal(file_ranges(fixture, "f", 0, 0, &text), ERR_SHARING_VIOLATION);
    struct node node;
    assert_int_equal(node_record(fixture, "f", NODE_FILE, 0, &node), OK);
    smb_close(scene, exclusive);
    assert_int_equal(node_remove(fixture, "f", NODE_FILE), OK);
    scene_end(scene);
}

static void a_file_that_is_open_at_all_is_not_deleted(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    assert_int_equal(file_create(fixture, "f", 10), OK);
    assert_int_equal(file_create(fixture, "g", 10), OK);
    assert_int_equal(directory_create(fixture, "d"), OK);
    const uint64_t handle = smb_open(scene, "f", NODE_FILE, "RW", "RWD", NULL);
    const uint64_t directory = smb_open(scene, "d", NODE_DIRECTORY, "", "RWD", NULL);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("x")), OK);
    assert_int_equal(node_remove(fixture, "f", NODE_FILE), ERR_SHARING_VIOLATION);
    assert_int_equal(node_remove(fixture, "d", NODE_DIRECTORY), ERR_SHARING_VIOLATION);
    assert_int_equal(directory_create(fixture, "d"), ERR_RESOURCE_EXISTS);
    /* Nor replaced by another; but it can be moved, and made anew in its place. */
    struct node_change over = { .kind = NODE_FILE, .replaces = true };
    assert_int_equal(node_move(fixture, "g", "f", &over), ERR_SHARING_VIOLATION);
    assert_int_equal(node_move(fixture, "f", "h", &(struct node_change){ .kind = NODE_FILE }), OK);
    assert_int_equal(file_create(fixture, "h", 1), OK);
    smb_close(scene, handle);
    smb_close(scene, directory);
    assert_int_equal(node_remove(fixture, "h", NODE_FILE), OK);
    scene_end(scene);
}

static bool count_entry(void *arg, const struct node *node)
{
    (void)node;
    ++*(int *)arg;
    return true;
}

static enum err count_entries(struct scene *scene, const char *path, int *count)
{
    struct arena arena = { 0 };
    *count = 0;
    const struct node_list_request request = {
        .directory = node_named(&arena, path, 0),
        .results_max = SIZE_MAX,
        .emit = count_entry,
        .arg = count,
    };
    struct node directory;
    struct slice next;
    const enum err err = node_list(&scene->fixture->service, &arena, &request, &directory, &next);
    arena_release(&arena);
    return err;
}

static void what_is_delete_pending_is_neither_there_nor_gone(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    int count;
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "d/f", 10), OK);
    assert_int_equal(file_create(fixture, "d/g", 10), OK);
    const uint64_t handle = smb_open(scene, "d/f", NODE_FILE, "D", "RWD", NULL);
    smb_set_delete(scene, handle);
    assert_int_equal(get(scene, "d/f"), ERR_DELETE_PENDING);
    assert_int_equal(file_write(fixture, "d/f", 0, slice_of("x")), ERR_DELETE_PENDING);
    assert_int_equal(file_create(fixture, "d/f", 1), ERR_DELETE_PENDING);
    assert_int_equal(node_remove(fixture, "d/f", NODE_FILE), ERR_DELETE_PENDING);
    assert_int_equal(count_entries(scene, "d", &count), OK);
    assert_int_equal(count, 1);
    assert_int_equal(node_remove(fixture, "d/g", NODE_FILE), OK);
    assert_int_equal(node_remove(fixture, "d", NODE_DIRECTORY), ERR_DIRECTORY_NOT_EMPTY);
    /* The client has thought better of it. */
    assert_int_equal(open_table_clear_delete(scene->table, handle), OK);
    assert_int_equal(get(scene, "d/f"), OK);
    assert_int_equal(count_entries(scene, "d", &count), OK);
    assert_int_equal(count, 1);
    scene_end(scene);
}

static void nothing_is_made_in_a_directory_that_is_to_go(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    int count;
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "f", 10), OK);
    const uint64_t handle = smb_open(scene, "d", NODE_DIRECTORY, "D", "RWD", NULL);
    smb_set_delete(scene, handle);
    assert_int_equal(file_create(fixture, "d/f", 1), ERR_DELETE_PENDING);
    assert_int_equal(node_move(fixture, "f", "d/f", &(struct node_change){ .kind = NODE_FILE }),
                     ERR_DELETE_PENDING);
    assert_int_equal(count_entries(scene, "d", &count), ERR_DELETE_PENDING);
    scene_end(scene);
}

static void a_locked_range_is_not_written_and_the_rest_is(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    assert_int_equal(file_create(fixture, "f", 100), OK);
    const uint64_t handle = smb_open(scene, "f", NODE_FILE, "RW", "RWD", NULL);
    /* The second lies behind the end of the file, where programs put locks that mean something. */
    const struct lock_element elements[] = { { { 10, 10 }, false }, { { 100, 10 }, true } };
    enum err err = ERR_BUSY;
    struct lock_request lock = {
        .wait = { .done = opened, .arg = &err },
        .handle_id = handle,
        .elements = elements,
        .count = 2,
    };
    open_table_lock(scene->table, &lock);
    assert_int_equal(err, OK);
    assert_int_equal(file_write(fixture, "f", 19, slice_of("x")), ERR_FILE_LOCK_CONFLICT);
    assert_int_equal(file_clear(fixture, "f", 0, 11), ERR_FILE_LOCK_CONFLICT);
    assert_int_equal(file_write(fixture, "f", 20, slice_of("x")), OK);
    assert_int_equal(file_write(fixture, "f", 9, slice_of("x")), OK);
    assert_int_equal(get(scene, "f"), OK);
    const struct lock_element exclusive = { { 50, 1 }, true };
    struct lock_request another = {
        .wait = { .done = opened, .arg = &err },
        .handle_id = handle,
        .elements = &exclusive,
        .count = 1,
    };
    open_table_lock(scene->table, &another);
    assert_int_equal(err, OK);
    assert_int_equal(get(scene, "f"), ERR_FILE_LOCK_CONFLICT);
    scene_end(scene);
}

static void a_lease_over_rest_needs_that_nobody_writes(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    assert_int_equal(file_create(fixture, "f", 100), OK);
    const uint64_t handle = smb_open(scene, "f", NODE_FILE, "RW", "RWD", NULL);
    for (int i = 0; i < 2; i++) {
        struct arena arena = { 0 };
        struct waiter waiter;
        struct node_lease lease = { .lease = { .action = LEASE_ACTION_ACQUIRE,
                                               .proposed_id = LEASE_KEY } };
        waiter_bind(&waiter, &lease.base, &arena);
        lease.name = node_named(&arena, "f", 0);
        node_lease(&fixture->service, &lease);
        assert_int_equal(waiter_wait(&waiter), i == 0 ? ERR_SHARING_VIOLATION : OK);
        arena_release(&arena);
        if (i == 0)
            smb_close(scene, handle);
    }
    scene_end(scene);
}

/* --- waiting --- */

struct slow_get {
    struct node_get get;
    struct arena arena;
    unsigned answers;
    enum err err;
};

static void slow_done(void *arg, enum err err)
{
    struct slow_get *slow = arg;
    slow->answers++;
    slow->err = err;
}

static void slow_start(struct scene *scene, struct slow_get *slow, const char *path)
{
    slow->get.base.arena = &slow->arena;
    slow->get.base.done = slow_done;
    slow->get.base.arg = slow;
    slow->get.name = node_named(&slow->arena, path, 0);
    node_get(&scene->fixture->service, &slow->get);
}

static void slow_begin(struct scene *scene, struct slow_get *slow, const char *path)
{
    *slow = (struct slow_get){ .get = { .kind = NODE_FILE, .want_payload = true } };
    slow_start(scene, slow, path);
}

static void a_read_waits_for_what_a_client_has_cached(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct slow_get slow;
    assert_int_equal(file_create(fixture, "f", 3), OK);
    (void)smb_open(scene, "f", NODE_FILE, "RW", "RWD", "RWH");
    slow_begin(scene, &slow, "f");
    assert_int_equal(slow.answers, 0);
    /* The client writes back what it has, and then says so. */
    struct node_change change = { .is_admitted = true };
    assert_int_equal(file_write_with(fixture, "f", 0, slice_of("new"), &change), OK);
    assert_int_equal(
        open_table_acknowledge_lease(scene->table, scene->client, &LEASE_KEY, caching("RH")), OK);
    assert_int_equal(slow.answers, 1);
    assert_int_equal(slow.err, OK);
    char bytes[3];
    assert_int_equal(payload_read(&slow.get.payload, 0, bytes, 3), OK);
    assert_memory_equal(bytes, "new", 3);
    arena_release(&slow.arena);
    scene_end(scene);
}

/* Nobody reads its bytes; but how many there are, the client may know better than the server. */
static void properties_are_those_after_the_wait(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct slow_get slow = { .get = { .kind = NODE_FILE } };
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "d/f", 3), OK);
    (void)smb_open(scene, "d/f", NODE_FILE, "RW", "RWD", "RWH");
    slow_start(scene, &slow, "d/f");
    assert_int_equal(slow.answers, 0);
    struct node_change change = {
        .kind = NODE_FILE,
        .has_size = true,
        .size_bytes = 7,
        .keeps_properties = true,
        .is_admitted = true,
    };
    assert_int_equal(node_await(fixture, "d/f", node_set_properties, &change), OK);
    assert_int_equal(
        open_table_acknowledge_lease(scene->table, scene->client, &LEASE_KEY, caching("RH")), OK);
    assert_int_equal(slow.answers, 1);
    assert_int_equal(slow.err, OK);
    assert_int_equal(slow.get.node.content.length_bytes, 7);
    arena_release(&slow.arena);
    scene_end(scene);
}

/* While a read waits, the directory that its path leads through is moved. */
static void a_path_that_leads_nowhere_after_the_wait_means_nothing(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct slow_get slow = { .get = { .kind = NODE_FILE } };
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(file_create(fixture, "d/f", 3), OK);
    (void)smb_open(scene, "d/f", NODE_FILE, "RW", "RWD", "RWH");
    slow_start(scene, &slow, "d/f");
    assert_int_equal(slow.answers, 0);
    struct node_change move = { .kind = NODE_DIRECTORY, .is_admitted = true };
    assert_int_equal(node_move(fixture, "d", "e", &move), OK);
    assert_int_equal(
        open_table_acknowledge_lease(scene->table, scene->client, &LEASE_KEY, caching("RH")), OK);
    assert_int_equal(slow.answers, 1);
    assert_int_equal(slow.err, ERR_PARENT_NOT_FOUND);
    arena_release(&slow.arena);
    scene_end(scene);
}

static void a_read_does_not_wait_for_ever(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct slow_get slow;
    assert_int_equal(file_create(fixture, "f", 3), OK);
    (void)smb_open(scene, "f", NODE_FILE, "RW", "RWD", "RWH");
    slow_begin(scene, &slow, "f");
    assert_int_equal(slow.answers, 0);
    fixture_advance_ms(fixture, (LIMIT_CACHE_FLUSH_WAIT_SEC + 1) * 1000);
    (void)open_table_expire(scene->table);
    assert_int_equal(slow.answers, 1);
    assert_int_equal(slow.err, ERR_CACHE_FLUSH_DELAY);
    arena_release(&slow.arena);
    scene_end(scene);
}

/* While a read waits, its file is moved away and another comes in its place. */
static void an_operation_that_waited_works_on_what_the_path_means_then(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct slow_get slow;
    assert_int_equal(file_create(fixture, "f", 3), OK);
    (void)smb_open(scene, "f", NODE_FILE, "RW", "RWD", "RWH");
    slow_begin(scene, &slow, "f");
    assert_int_equal(slow.answers, 0);
    struct node_change move = { .kind = NODE_FILE, .is_admitted = true };
    assert_int_equal(node_move(fixture, "f", "old", &move), OK);
    assert_int_equal(file_create(fixture, "f", 5), OK);
    assert_int_equal(file_write(fixture, "f", 0, slice_of("other")), OK);
    assert_int_equal(
        open_table_acknowledge_lease(scene->table, scene->client, &LEASE_KEY, caching("RH")), OK);
    assert_int_equal(slow.answers, 1);
    assert_int_equal(slow.err, OK);
    assert_int_equal(slow.get.payload.length_bytes, 5);
    arena_release(&slow.arena);

    /* And if nothing comes in its place there is nothing. */
    assert_int_equal(file_create(fixture, "f", 3), OK);
    struct open_closed closed;
    while (open_client_close_next(scene->table, scene->client, &closed))
        ;
    (void)smb_open(scene, "f", NODE_FILE, "RW", "RWD", "RWH");
    slow_begin(scene, &slow, "f");
    assert_int_equal(slow.answers, 0);
    move = (struct node_change){ .kind = NODE_FILE, .is_admitted = true };
    assert_int_equal(node_move(fixture, "f", "older", &move), OK);
    assert_int_equal(
        open_table_acknowledge_lease(scene->table, scene->client, &LEASE_KEY, caching("RH")), OK);
    assert_int_equal(slow.answers, 1);
    assert_int_equal(slow.err, ERR_RESOURCE_NOT_FOUND);
    arena_release(&slow.arena);
    scene_end(scene);
}

static void a_directory_is_renamed_with_files_in_it_that_are_open(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    assert_int_equal(directory_create(fixture, "d"), OK);
    assert_int_equal(directory_create(fixture, "d/e"), OK);
    assert_int_equal(file_create(fixture, "d/e/f", 3), OK);
    const uint64_t handle = smb_open(scene, "d/e/f", NODE_FILE, "RW", "R", NULL);
    const struct file_key key = key_of(scene, "d/e/f", NODE_FILE);
    assert_int_equal(node_move(fixture, "d", "D2", &(struct node_change){ .kind = NODE_DIRECTORY }),
                     OK);
    /* The handle is one of the same file still, and in the way of others. */
    assert_int_equal(file_write(fixture, "d2/e/f", 0, slice_of("x")), ERR_SHARING_VIOLATION);
    struct slice path;
    const struct node_name name = node_named(&fixture->arena, "", 0);
    assert_int_equal(
        node_find_path(&fixture->service, &fixture->arena, &name.share, key.file_id, &path), OK);
    assert_true(slice_is(path, "D2/e/f"));
    smb_close(scene, handle);
    assert_int_equal(file_write(fixture, "d2/e/f", 0, slice_of("x")), OK);
    scene_end(scene);
}

static void a_snapshot_is_read_whatever_is_open(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    assert_int_equal(file_create(fixture, "f", 3), OK);
    const int64_t snapshot = share_take(fixture);
    (void)smb_open(scene, "f", NODE_FILE, "RW", "", NULL);
    struct slice bytes;
    assert_int_equal(file_bytes(fixture, &fixture->arena, "f", snapshot, &bytes), OK);
    scene_end(scene);
}

static void a_copy_from_elsewhere_asks_at_its_end_who_has_the_file_open(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct pending pending;
    assert_int_equal(file_create(fixture, "f", 3), OK);
    const uint64_t reader = smb_open(scene, "f", NODE_FILE, "R", "R", NULL);
    assert_int_equal(pending_begin(fixture, "f", 3, &pending), ERR_SHARING_VIOLATION);
    smb_close(scene, reader);
    assert_int_equal(pending_begin(fixture, "f", 3, &pending), OK);
    /* Nothing is open while the copy is pending, so a client may open the file as it likes, but not
       change it. */
    const uint64_t later = smb_open(scene, "f", NODE_FILE, "RW", "R", NULL);
    struct node_change write = { .is_admitted = true };
    assert_int_equal(file_write_with(fixture, "f", 0, slice_of("x"), &write), ERR_PENDING_COPY);
    assert_int_equal(pending_report(&pending, 1), OK);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), ERR_SHARING_VIOLATION);
    smb_close(scene, later);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_int_equal(get(scene, "f"), OK);

    /* A failure is noted whoever is there; one that shares everything is in nobody's way. */
    assert_int_equal(pending_begin(fixture, "f", 3, &pending), OK);
    (void)smb_open(scene, "f", NODE_FILE, "R", "", NULL);
    assert_int_equal(pending_fail(&pending, "409 SharingViolation"), OK);
    scene_end(scene);
}

static void the_end_of_a_copy_breaks_what_a_client_has_cached(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct pending pending;
    assert_int_equal(pending_begin(fixture, "f", 3, &pending), OK);
    (void)smb_open(scene, "f", NODE_FILE, "R", "RWD", "R");
    struct open_event event;
    assert_false(open_client_next(scene->client, &event));
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), OK);
    assert_true(open_client_next(scene->client, &event));
    scene_end(scene);
}

static void an_abort_is_refused_by_a_handle_that_does_not_share_writing(void **state)
{
    struct scene *scene = scene_begin(state);
    struct service_fixture *fixture = scene->fixture;
    struct pending pending;
    assert_int_equal(pending_begin(fixture, "f", 3, &pending), OK);
    const uint64_t handle = smb_open(scene, "f", NODE_FILE, "R", "R", NULL);
    assert_int_equal(pending_abort(&pending, "f"), ERR_SHARING_VIOLATION);
    smb_close(scene, handle);
    const uint64_t deleter = smb_open(scene, "f", NODE_FILE, "D", "RWD", NULL);
    smb_set_delete(scene, deleter);
    assert_int_equal(pending_abort(&pending, "f"), ERR_DELETE_PENDING);
    assert_int_equal(pending_arrive(&pending, slice_of("abc")), ERR_DELETE_PENDING);
    assert_int_equal(open_table_clear_delete(scene->table, deleter), OK);
    assert_int_equal(pending_abort(&pending, "f"), OK);
    scene_end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(operations_that_a_handle_does_not_share_are_refused),
        ON_ALL_ENGINES(a_file_that_is_open_at_all_is_not_deleted),
        ON_ALL_ENGINES(what_is_delete_pending_is_neither_there_nor_gone),
        ON_ALL_ENGINES(nothing_is_made_in_a_directory_that_is_to_go),
        ON_ALL_ENGINES(a_locked_range_is_not_written_and_the_rest_is),
        ON_ALL_ENGINES(a_lease_over_rest_needs_that_nobody_writes),
        ON_ALL_ENGINES(a_read_waits_for_what_a_client_has_cached),
        ON_ALL_ENGINES(properties_are_those_after_the_wait),
        ON_ALL_ENGINES(a_path_that_leads_nowhere_after_the_wait_means_nothing),
        ON_ALL_ENGINES(a_read_does_not_wait_for_ever),
        ON_ALL_ENGINES(an_operation_that_waited_works_on_what_the_path_means_then),
        ON_ALL_ENGINES(a_directory_is_renamed_with_files_in_it_that_are_open),
        ON_ALL_ENGINES(a_snapshot_is_read_whatever_is_open),
        ON_ALL_ENGINES(a_copy_from_elsewhere_asks_at_its_end_who_has_the_file_open),
        ON_ALL_ENGINES(the_end_of_a_copy_breaks_what_a_client_has_cached),
        ON_ALL_ENGINES(an_abort_is_refused_by_a_handle_that_does_not_share_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
