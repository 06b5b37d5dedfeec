/*
 * test_file_opens.c - REST requests against what SMB clients have open.
 *
 * The test plays the clients (service/file/open_client.h) and sends whole requests: what stands in
 * each other's way, what is answered, and when.
 */
#include "file_request_fixture.h"
#include "service/file/node.h"

#define R   FILE_ACCESS_READ
#define W   FILE_ACCESS_WRITE
#define D   FILE_ACCESS_DELETE
#define ALL FILE_ACCESS_ALL

/* The store of every test: a share with a file of 100 bytes in a directory, and an SMB client. */
struct scene {
    struct service_fixture *fixture;
    struct open_table *opens;
    struct open_client *client;
    uint64_t share;
    uint64_t directory_id;
    uint64_t file_id;
};

static struct scene scene;

static uint64_t answer_number(const char *header)
{
    const char *const text = answer_header(header);
    assert_non_null(text);
    return strtoull(text, NULL, 10);
}

static void send_line(const struct sent *sent, unsigned status)
{
    send_request(scene.fixture, sent);
    assert_status(sent, status);
}

static int scene_setup(void **state)
{
    files_setup(state);
    struct service_fixture *fixture = *state;
    const struct open_client_settings settings = { .address = slice_of("192.0.2.1:3263"),
                                                   .name = slice_of("laptop") };
    scene = (struct scene){ .fixture = fixture,
                            .opens = fixture->service.opens,
                            .client = open_client_new(&settings) };
    send_line(&(struct sent){ .line = "PUT /share?restype=share" }, 201);
    send_line(&(struct sent){ .line = "PUT /share/dir?restype=directory" }, 201);
    scene.directory_id = answer_number("x-ms-file-id");
    send_line(&(struct sent){ .line = "PUT /share/dir/file",
                              .headers = { "x-ms-type: file", "x-ms-content-length: 100" } },
              201);
    scene.file_id = answer_number("x-ms-file-id");
    const struct share_name name = { slice_of(FIXTURE_ACCOUNT_NAME), slice_of("share"), 0 };
    struct share share;
    assert_int_equal(share_get(&fixture->service, &fixture->arena, &name, NULL, &share), OK);
    scene.share = share.incarnation;
    return 0;
}

static int scene_teardown(void **state)
{
    struct open_closed closed;
    while (open_client_close_next(scene.opens, scene.client, &closed))
        if (closed.delete_file)
            open_table_deleted(scene.opens, closed.key);
    open_client_free(scene.client);
    return files_teardown(state);
}

#define WITH_SCENE(test)                                                                           \
    {                                                                                              \
#test, test, scene_setup, scene_teardown, &fixture_on_memory                               \
    }

/* --- what the client does --- */

static struct file_key key_of(uint64_t id)
{
    return (struct file_key){ .share = scene.share, .file_id = id };
}

static void note(void *arg, enum err err)
{
    *(enum err *)arg = err;
}

/* Open something; its handle. */
static uint64_t open_as(uint64_t id, unsigned access, unsigned share, unsigned caching)
{
    enum err err = ERR_BUSY;
    struct open_request open = {
        .wait = { .done = note, .arg = &err },
        .client = scene.client,
        .key = key_of(id),
        .parent_id = id == scene.file_id ? scene.directory_id : 0,
        .session_id = 77,
        .mode = { .access = access, .share = share },
        .directory = id != scene.file_id,
        .caching = caching == CACHING_NONE ? OPEN_CACHING_NONE : OPEN_CACHING_LEASE,
        .wanted = caching,
        .lease_key = { .bytes = { 1 } },
    };
    open_table_open(scene.opens, &open);
    assert_int_equal(err, OK);
    assert_int_equal(open.granted, caching);
    return open.handle_id;
}

static void close_handle(uint64_t handle, struct open_closed *closed)
{
    assert_int_equal(open_table_close(scene.opens, handle, closed), OK);
}

static void set_delete(uint64_t handle)
{
    enum err err = ERR_BUSY;
    struct open_operation operation = {
        .wait = { .done = note, .arg = &err },
        .operation = FILE_OPERATION_SMB_SET_DELETE,
        .handle_id = handle,
    };
    open_table_begin(scene.opens, &operation);
    assert_int_equal(err, OK);
    open_table_end(scene.opens, &operation);
}

static void lock_bytes(uint64_t handle, uint64_t offset, uint64_t length, bool exclusive)
{
    enum err err = ERR_BUSY;
    const struct lock_element element = { .range = { .offset = offset, .length = length },
                                          .exclusive = exclusive };
    struct lock_request lock = {
        .wait = { .done = note, .arg = &err },
        .handle_id = handle,
        .elements = &element,
        .count = 1,
    };
    open_table_lock(scene.opens, &lock);
    assert_int_equal(err, OK);
}

/* --- the requests --- */

enum operation {
    CREATE,
    GET,
    SET_PROPERTIES,
    SET_METADATA,
    DELETE,
    PUT_RANGE,
    LIST_RANGES,
    LEASE,
    GET_PROPERTIES,
    GET_METADATA,
    LIST,
    OPERATIONS,
};

static const struct sent SENT[OPERATIONS] = {
    [CREATE] = { .line = "PUT /share/dir/file",
                 .headers = { "x-ms-type: file", "x-ms-content-length: 100" } },
    [GET] = { .line = "GET /share/dir/file" },
    [SET_PROPERTIES] = { .line = "PUT /share/dir/file?comp=properties" },
    [SET_METADATA] = { .line = "PUT /share/dir/file?comp=metadata" },
    [DELETE] = { .line = "DELETE /share/dir/file" },
    [PUT_RANGE] = { .line = "PUT /share/dir/file?comp=range",
                    .headers = { "x-ms-write: update", "x-ms-range: bytes=0-4" },
                    .body = "hello" },
    [LIST_RANGES] = { .line = "GET /share/dir/file?comp=rangelist" },
    [LEASE] = { .line = "PUT /share/dir/file?comp=lease",
                .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: -1",
                             "x-ms-proposed-lease-id: " LEASE_A } },
    [GET_PROPERTIES] = { .line = "HEAD /share/dir/file" },
    [GET_METADATA] = { .line = "GET /share/dir/file?comp=metadata" },
    [LIST] = { .line = "GET /share/dir?restype=directory&comp=list" },
};

static const struct sent RELEASE = {
    .line = "PUT /share/dir/file?comp=lease",
    .headers = { "x-ms-lease-action: release", "x-ms-lease-id: " LEASE_A },
};

#define BIT(operation) (1u << (operation))

/* "Manage file locks": what fails while an SMB client has the file open with this share mode. */
static const struct {
    unsigned share;
    unsigned failing;
} SHARE_MODES[] = {
    { 0, BIT(CREATE) | BIT(GET) | BIT(SET_PROPERTIES) | BIT(SET_METADATA) | BIT(DELETE) |
             BIT(PUT_RANGE) | BIT(LIST_RANGES) | BIT(LEASE) },
    { R, BIT(CREATE) | BIT(SET_PROPERTIES) | BIT(SET_METADATA) | BIT(DELETE) | BIT(PUT_RANGE) |
             BIT(LEASE) },
    { W, BIT(CREATE) | BIT(GET) | BIT(DELETE) | BIT(LIST_RANGES) | BIT(LEASE) },
    { D, BIT(CREATE) | BIT(GET) | BIT(SET_PROPERTIES) | BIT(SET_METADATA) | BIT(PUT_RANGE) |
             BIT(LIST_RANGES) | BIT(DELETE) | BIT(LEASE) },
    { R | W, BIT(CREATE) | BIT(DELETE) | BIT(LEASE) },
    { R | D, BIT(CREATE) | BIT(SET_PROPERTIES) | BIT(SET_METADATA) | BIT(PUT_RANGE) | BIT(DELETE) |
                 BIT(LEASE) },
    { W | D, BIT(GET) | BIT(LIST_RANGES) | BIT(DELETE) | BIT(LEASE) },
    { R | W | D, BIT(DELETE) },
};

static void a_share_mode_fails_the_requests_that_the_reference_names(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof(SHARE_MODES) / sizeof(SHARE_MODES[0]); m++) {
        for (unsigned i = 0; i < OPERATIONS; i++) {
            const uint64_t handle = open_as(scene.file_id, R, SHARE_MODES[m].share, CACHING_NONE);
            struct open_closed closed;
            send_request(scene.fixture, &SENT[i]);
            if ((SHARE_MODES[m].failing & BIT(i)) != 0) {
                assert_fault(&SENT[i], 409, "SharingViolation");
            } else {
                assert_true(request.response.status < 300);
            }
            close_handle(handle, &closed);
            if (i == LEASE && (SHARE_MODES[m].failing & BIT(i)) == 0)
                send_line(&RELEASE, 200);
        }
    }
}

static void a_handle_that_writes_or_deletes_keeps_a_lease_from_being_acquired(void **state)
{
    (void)state;
    for (unsigned access = 0; access <= ALL; access++) {
        const uint64_t handle = open_as(scene.file_id, access, ALL, CACHING_NONE);
        struct open_closed closed;
        send_request(scene.fixture, &SENT[LEASE]);
        if ((access & (W | D)) != 0)
            assert_fault(&SENT[LEASE], 409, "SharingViolation");
        else
            assert_status(&SENT[LEASE], 201);
        close_handle(handle, &closed);
        if ((access & (W | D)) == 0)
            send_line(&RELEASE, 200);
    }
}

/* An SMB client opens the file in the steps that open_table.h says: the handle first, then the
   record, whose lease counts as an open too.  Whether it has a handle now. */
static bool open_as_client_does(unsigned access, uint64_t *handle)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct node_get get = {
        .name = { .share = { slice_of(FIXTURE_ACCOUNT_NAME), slice_of("share"), 0 },
                  .id = scene.file_id },
        .kind = NODE_FILE,
        .is_admitted = true,
    };
    const struct share_mode mode = { .access = access, .share = ALL };
    struct open_closed closed;
    *handle = open_as(scene.file_id, access, ALL, CACHING_NONE);
    waiter_bind(&waiter, &get.base, &arena);
    node_get(&scene.fixture->service, &get);
    assert_int_equal(waiter_wait(&waiter), OK);
    const bool is_refused =
        get.node.lease.state == LEASE_LEASED && share_modes_conflict(mode, SHARE_MODE_OF_LEASE);
    if (is_refused)
        close_handle(*handle, &closed);
    arena_release(&arena);
    return !is_refused;
}

static void a_lease_keeps_clients_out_that_write_or_delete_until_it_is_broken(void **state)
{
    (void)state;
    const struct sent broken = { .line = "PUT /share/dir/file?comp=lease",
                                 .headers = { "x-ms-lease-action: break" } };
    for (unsigned access = 0; access <= ALL; access++) {
        struct open_closed closed;
        uint64_t handle;
        send_line(&SENT[LEASE], 201);
        const bool may_open = (access & (W | D)) == 0;
        assert_int_equal(open_as_client_does(access, &handle), may_open);
        if (may_open)
            close_handle(handle, &closed);
        /* Breaking asks nobody; then the client may come in, and keeps a new lease out. */
        send_line(&broken, 202);
        assert_true(open_as_client_does(access, &handle));
        send_request(scene.fixture, &SENT[LEASE]);
        assert_status(&SENT[LEASE], may_open ? 201 : 409);
        close_handle(handle, &closed);
        if (may_open)
            send_line(&RELEASE, 200);
    }
}

static void what_is_marked_for_deletion_is_refused_and_not_listed_until_it_is_gone(void **state)
{
    (void)state;
    const uint64_t handle = open_as(scene.file_id, D, ALL, CACHING_NONE);
    set_delete(handle);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        if (i == LIST)
            continue;
        send_request(scene.fixture, &SENT[i]);
        assert_fault(&SENT[i], 409, "DeletePending");
        assert_non_null(strstr(request.response.reason, "SMBDeletePending"));
    }
    send_line(&SENT[LIST], 200);
    assert_body_has("<Entries />");

    /* Handles are listed all the same; and the flag can be taken back. */
    send_line(&(struct sent){ .line = "GET /share/dir/file?comp=listhandles" }, 200);
    assert_body_has("<Path>dir/file</Path>");
    assert_int_equal(open_table_clear_delete(scene.opens, handle), OK);
    send_line(&SENT[GET], 200);
    send_line(&SENT[LIST], 200);
    assert_body_has("<Name>file</Name>");

    /* The last handle is closed, and the file goes. */
    set_delete(handle);
    struct open_closed closed;
    close_handle(handle, &closed);
    assert_true(closed.delete_file);
    send_request(scene.fixture, &SENT[GET]);
    assert_fault(&SENT[GET], 409, "DeletePending");
    struct arena arena = { 0 };
    struct waiter waiter;
    struct node_change deletion = {
        .name = { .share = { slice_of(FIXTURE_ACCOUNT_NAME), slice_of("share"), 0 },
                  .id = scene.file_id },
        .kind = NODE_FILE,
        .is_admitted = true,
    };
    waiter_bind(&waiter, &deletion.base, &arena);
    node_delete(&scene.fixture->service, &deletion);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    open_table_deleted(scene.opens, closed.key);
    send_request(scene.fixture, &SENT[GET]);
    assert_fault(&SENT[GET], 404, "ResourceNotFound");
}

static void locked_bytes_can_be_neither_written_nor_read(void **state)
{
    (void)state;
    const struct sent get_locked = { .line = "GET /share/dir/file",
                                     .headers = { "x-ms-range: bytes=15-40" } };
    const struct sent get_free = { .line = "GET /share/dir/file",
                                   .headers = { "x-ms-range: bytes=20-40" } };
    const struct sent put_locked = { .line = "PUT /share/dir/file?comp=range",
                                     .headers = { "x-ms-write: update", "x-ms-range: bytes=6-10" },
                                     .body = "hello" };
    const struct sent clear_locked = { .line = "PUT /share/dir/file?comp=range",
                                       .headers = { "x-ms-write: clear",
                                                    "x-ms-range: bytes=0-99" } };
    const uint64_t handle = open_as(scene.file_id, R | W, ALL, CACHING_NONE);
    lock_bytes(handle, 10, 10, true);
    send_request(scene.fixture, &get_locked);
    assert_fault(&get_locked, 409, "FileLockConflict");
    send_request(scene.fixture, &SENT[GET]);
    assert_fault(&SENT[GET], 409, "FileLockConflict");
    send_line(&get_free, 206);
    send_request(scene.fixture, &put_locked);
    assert_fault(&put_locked, 409, "FileLockConflict");
    send_request(scene.fixture, &clear_locked);
    assert_fault(&clear_locked, 409, "FileLockConflict");
    send_line(&SENT[PUT_RANGE], 201);
    send_line(&SENT[SET_PROPERTIES], 200);

    /* A lock that is shared lets others read. */
    const struct byte_range range = { .offset = 10, .length = 10 };
    assert_int_equal(open_table_unlock(scene.opens, handle, &range, 1), OK);
    lock_bytes(handle, 10, 10, false);
    send_line(&get_locked, 206);
    send_request(scene.fixture, &put_locked);
    assert_fault(&put_locked, 409, "FileLockConflict");
}

static void a_read_waits_until_the_client_has_written_back_its_cache(void **state)
{
    (void)state;
    const unsigned reads[] = { GET, GET_PROPERTIES, GET_METADATA, LIST_RANGES };
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        const uint64_t handle = open_as(scene.file_id, R | W, ALL, CACHING_RWH);
        struct open_event event;
        struct open_closed closed;
        start_request(scene.fixture, &SENT[reads[i]]);
        assert_int_equal(request.phase, PHASE_RUNNING);
        assert_true(open_client_next(scene.client, &event));
        assert_int_equal(event.kind, OPEN_EVENT_BREAK);
        assert_int_equal(event.notice.to, CACHING_RH);
        assert_int_equal(
            open_table_acknowledge_lease(scene.opens, scene.client, &event.lease_key, CACHING_RH),
            OK);
        finish_request();
        assert_status(&SENT[reads[i]], 200);
        close_handle(handle, &closed);
    }
}

static void a_client_that_does_not_answer_is_waited_for_as_long_as_the_request_says(void **state)
{
    (void)state;
    const struct sent impatient = { .line = "GET /share/dir/file?timeout=5" };
    open_as(scene.file_id, R | W, ALL, CACHING_RWH);
    start_request(scene.fixture, &impatient);
    fixture_advance_ms(scene.fixture, 4900);
    open_table_expire(scene.opens);
    assert_int_equal(request.phase, PHASE_RUNNING);
    fixture_advance_ms(scene.fixture, 200);
    open_table_expire(scene.opens);
    finish_request();
    assert_status(&impatient, 500);
    assert_header("x-ms-error-code: ClientCacheFlushDelay");
}

static void a_client_that_does_not_answer_is_waited_for_half_a_minute(void **state)
{
    (void)state;
    open_as(scene.file_id, R | W, ALL, CACHING_RWH);
    start_request(scene.fixture, &SENT[GET_PROPERTIES]);
    fixture_advance_ms(scene.fixture, 29900);
    open_table_expire(scene.opens);
    assert_int_equal(request.phase, PHASE_RUNNING);
    fixture_advance_ms(scene.fixture, 200);
    open_table_expire(scene.opens);
    finish_request();
    assert_status(&SENT[GET_PROPERTIES], 500);
    assert_header("x-ms-error-code: ClientCacheFlushDelay");
}

static void a_write_takes_the_cache_of_readers_without_waiting(void **state)
{
    (void)state;
    struct open_event event;
    open_as(scene.file_id, R, ALL, CACHING_RH);
    send_line(&SENT[GET], 200);
    assert_false(open_client_next(scene.client, &event));
    send_line(&SENT[PUT_RANGE], 201);
    assert_true(open_client_next(scene.client, &event));
    assert_int_equal(event.notice.to, CACHING_NONE);
}

static void a_deletion_waits_for_handles_that_are_only_cached(void **state)
{
    (void)state;
    struct open_event event;
    struct open_closed closed;
    const uint64_t handle = open_as(scene.file_id, R, ALL, CACHING_RH);
    start_request(scene.fixture, &SENT[DELETE]);
    assert_int_equal(request.phase, PHASE_RUNNING);
    assert_true(open_client_next(scene.client, &event));
    assert_int_equal(event.notice.to, CACHING_R);
    close_handle(handle, &closed);
    finish_request();
    assert_status(&SENT[DELETE], 202);
}

static void a_directory_with_a_handle_is_not_deleted(void **state)
{
    (void)state;
    const struct sent delete_directory = { .line = "DELETE /share/dir?restype=directory" };
    struct open_closed closed;
    send_line(&SENT[DELETE], 202);
    const uint64_t handle = open_as(scene.directory_id, R, ALL, CACHING_NONE);
    send_request(scene.fixture, &delete_directory);
    assert_fault(&delete_directory, 409, "SharingViolation");
    close_handle(handle, &closed);
    send_line(&delete_directory, 202);
}

#define URL "http://127.0.0.1:10000/devstoreaccount1/share/"

static void a_rename_lets_handles_stay_but_not_over_a_file_that_is_open(void **state)
{
    (void)state;
    const struct sent make = { .line = "PUT /share/other",
                               .headers = { "x-ms-type: file", "x-ms-content-length: 1" } };
    const struct sent over = { .line = "PUT /share/dir/file?comp=rename",
                               .headers = { "x-ms-file-rename-source: " URL "other",
                                            "x-ms-file-rename-replace-if-exists: true" } };
    const struct sent away = { .line = "PUT /share/moved?comp=rename",
                               .headers = { "x-ms-file-rename-source: " URL "dir/file" } };
    send_line(&make, 201);
    const uint64_t handle = open_as(scene.file_id, R, ALL, CACHING_NONE);
    send_request(scene.fixture, &over);
    assert_fault(&over, 409, "SharingViolation");
    send_line(&away, 200);
    send_line(&(struct sent){ .line = "GET /share/moved?comp=listhandles" }, 200);
    assert_body_has("<Path>moved</Path>");
    struct open_closed closed;
    close_handle(handle, &closed);
    const uint64_t selfish = open_as(scene.file_id, R, R | W, CACHING_NONE);
    const struct sent back = { .line = "PUT /share/dir/file?comp=rename",
                               .headers = { "x-ms-file-rename-source: " URL "moved" } };
    send_request(scene.fixture, &back);
    assert_fault(&back, 409, "SharingViolation");
    close_handle(selfish, &closed);
}

static void a_copy_reads_its_source_and_writes_its_target_as_others_do(void **state)
{
    (void)state;
    const struct sent copy = { .line = "PUT /share/copy",
                               .headers = { "x-ms-copy-source: " URL "dir/file" } };
    struct open_closed closed;
    const uint64_t handle = open_as(scene.file_id, R, W | D, CACHING_NONE);
    send_request(scene.fixture, &copy);
    assert_fault(&copy, 409, "SharingViolation");
    close_handle(handle, &closed);
    send_line(&copy, 202);
    assert_header("x-ms-copy-status: success");
    const struct sent onto = { .line = "PUT /share/dir/file",
                               .headers = { "x-ms-copy-source: " URL "copy" } };
    const uint64_t reader = open_as(scene.file_id, R, R, CACHING_NONE);
    send_request(scene.fixture, &onto);
    assert_fault(&onto, 409, "SharingViolation");
    close_handle(reader, &closed);
    send_line(&onto, 202);
    const struct sent abort = { .line = "PUT /share/copy?comp=copy&copyid=" LEASE_A,
                                .headers = { "x-ms-copy-action: abort" } };
    send_request(scene.fixture, &abort);
    assert_fault(&abort, 409, "NoPendingCopyOperation");
}

/* --- handles --- */

static void handles_are_listed_as_the_service_lists_them(void **state)
{
    (void)state;
    const uint64_t on_root = open_as(0, R, ALL, CACHING_NONE);
    const uint64_t on_directory = open_as(scene.directory_id, R, ALL, CACHING_NONE);
    const uint64_t on_file = open_as(scene.file_id, R | W, ALL, CACHING_NONE);
    char text[512];
    send_line(&(struct sent){ .line = "GET /share/dir/file?comp=listhandles" }, 200);
    snprintf(text, sizeof(text),
             XML "<EnumerationResults><Entries><Handle><HandleId>%llu</HandleId><Path>dir/file"
                 "</Path><FileId>%llu</FileId><ParentId>%llu</ParentId><SessionId>77</SessionId>"
                 "<ClientIp>192.0.2.1:3263</ClientIp><OpenTime>Sun, 15 Nov 2026 00:00:00 GMT"
                 "</OpenTime></Handle></Entries><NextMarker /></EnumerationResults>",
             (unsigned long long)on_file, (unsigned long long)scene.file_id,
             (unsigned long long)scene.directory_id);
    assert_body_has(text);
    send_line(&(struct sent){ .line = "GET /share/dir/file?comp=listhandles",
                              .headers = { "x-ms-version: 2024-08-04" } },
              200);
    assert_body_has("<ClientName>laptop</ClientName>");
    assert_body_has("<AccessRight>Read</AccessRight><AccessRight>Write</AccessRight>");

    /* Of the root, of all below it, and in pages. */
    send_line(&(struct sent){ .line = "GET /share?comp=listhandles" }, 200);
    snprintf(text, sizeof(text), "<Entries><Handle><HandleId>%llu</HandleId><Path /><FileId>0<",
             (unsigned long long)on_root);
    assert_body_has(text);
    const struct sent pages[] = {
        { .line = "GET /share?comp=listhandles&maxresults=2",
          .headers = { "x-ms-recursive: true" } },
        { .line = "GET /share/dir?comp=listhandles", .headers = { "x-ms-recursive: true" } },
    };
    send_line(&pages[0], 200);
    const struct slice body = answer_body();
    assert_null(memmem(body.data, body.len, "<NextMarker />", 14));
    send_line(&pages[1], 200);
    snprintf(text, sizeof(text), "<HandleId>%llu</HandleId>", (unsigned long long)on_directory);
    assert_body_has(text);
    assert_body_has("<Path>dir/file</Path>");
}

static void handles_are_closed_by_force(void **state)
{
    (void)state;
    const uint64_t first = open_as(scene.file_id, R, 0, CACHING_NONE);
    char header[64];
    snprintf(header, sizeof(header), "x-ms-handle-id: %llu", (unsigned long long)first);
    const struct sent other = { .line = "PUT /share/dir?comp=forceclosehandles",
                                .headers = { header } };
    send_line(&other, 200);
    assert_header("x-ms-number-of-handles-closed: 0");
    const struct sent one = { .line = "PUT /share/dir/file?comp=forceclosehandles",
                              .headers = { header } };
    send_request(scene.fixture, &SENT[GET]);
    assert_fault(&SENT[GET], 409, "SharingViolation");
    send_line(&one, 200);
    assert_header("x-ms-number-of-handles-closed: 1");
    assert_header("x-ms-number-of-handles-failed: 0");
    send_line(&SENT[GET], 200);
    struct open_event event;
    assert_true(open_client_next(scene.client, &event));
    assert_int_equal(event.kind, OPEN_EVENT_CLOSED);
    assert_int_equal(event.handle_id, first);

    /* One of several, and none of them. */
    open_as(scene.file_id, R, ALL, CACHING_NONE);
    const uint64_t second = open_as(scene.file_id, R, ALL, CACHING_NONE);
    open_as(scene.file_id, R, ALL, CACHING_NONE);
    snprintf(header, sizeof(header), "x-ms-handle-id: %llu", (unsigned long long)second);
    send_line(&one, 200);
    assert_header("x-ms-number-of-handles-closed: 1");
    assert_header("!x-ms-marker");
    send_line(&one, 200);
    assert_header("x-ms-number-of-handles-closed: 0");
    assert_int_equal(open_table_handle_count(scene.opens), 2);

    open_as(scene.directory_id, R, ALL, CACHING_NONE);
    const struct sent all = { .line = "PUT /share?comp=forceclosehandles",
                              .headers = { "x-ms-handle-id: *", "x-ms-recursive: true" } };
    send_line(&all, 200);
    assert_header("x-ms-number-of-handles-closed: 3");
    assert_int_equal(open_table_handle_count(scene.opens), 0);
    const struct sent wrong = { .line = "PUT /share/dir/file?comp=forceclosehandles",
                                .headers = { "x-ms-handle-id: *", "x-ms-recursive: true" } };
    send_request(scene.fixture, &wrong);
    assert_fault(&wrong, 400, "InvalidHeaderValue");
}

static void closing_the_last_handle_by_force_deletes_what_was_marked(void **state)
{
    (void)state;
    const uint64_t handle = open_as(scene.file_id, D, ALL, CACHING_NONE);
    open_as(scene.file_id, R, ALL, CACHING_NONE);
    set_delete(handle);
    const struct sent all = { .line = "PUT /share/dir/file?comp=forceclosehandles",
                              .headers = { "x-ms-handle-id: *" } };
    send_line(&all, 200);
    assert_header("x-ms-number-of-handles-closed: 2");
    send_request(scene.fixture, &SENT[GET]);
    assert_fault(&SENT[GET], 404, "ResourceNotFound");
    send_line(&SENT[LIST], 200);
    assert_body_has("<Entries />");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCENE(a_share_mode_fails_the_requests_that_the_reference_names),
        WITH_SCENE(a_handle_that_writes_or_deletes_keeps_a_lease_from_being_acquired),
        WITH_SCENE(a_lease_keeps_clients_out_that_write_or_delete_until_it_is_broken),
        WITH_SCENE(what_is_marked_for_deletion_is_refused_and_not_listed_until_it_is_gone),
        WITH_SCENE(locked_bytes_can_be_neither_written_nor_read),
        WITH_SCENE(a_read_waits_until_the_client_has_written_back_its_cache),
        WITH_SCENE(a_client_that_does_not_answer_is_waited_for_as_long_as_the_request_says),
        WITH_SCENE(a_client_that_does_not_answer_is_waited_for_half_a_minute),
        WITH_SCENE(a_write_takes_the_cache_of_readers_without_waiting),
        WITH_SCENE(a_deletion_waits_for_handles_that_are_only_cached),
        WITH_SCENE(a_directory_with_a_handle_is_not_deleted),
        WITH_SCENE(a_rename_lets_handles_stay_but_not_over_a_file_that_is_open),
        WITH_SCENE(a_copy_reads_its_source_and_writes_its_target_as_others_do),
        WITH_SCENE(handles_are_listed_as_the_service_lists_them),
        WITH_SCENE(handles_are_closed_by_force),
        WITH_SCENE(closing_the_last_handle_by_force_deletes_what_was_marked),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
