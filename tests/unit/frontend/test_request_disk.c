/*
 * test_request_disk.c - requests on a disk that fails, or is nearly full.
 *
 *   failures       for n = 1, 2, 3...: the nth call to the disk fails while blobs and files are
 *                  written; what is acknowledged can be read, what is refused has changed nothing
 *   little space   what stores more is refused with 507, and everything else goes on
 *
 * A failed sync ends the process, so the failures are tried in child processes.
 */
#include "http_request_fixture.h"
#include <sys/wait.h>
#include <unistd.h>

#include "base/space.h"
#include "service/file/open_table.h"

enum {
    TEXT_LEN = 512,   /* a page, and more than is kept with the record */
    CALLS_MAX = 1000, /* far more than there are */
    CHILD_REACHED = 0,
    CHILD_NOT_REACHED = 2,
    CHILD_WRONG = 3,
};

static char text_a[TEXT_LEN + 1];
static char text_b[TEXT_LEN + 1];

static int texts_setup(void **state)
{
    memset(text_a, 'a', TEXT_LEN);
    memset(text_b, 'b', TEXT_LEN);
    return requests_setup(state);
}

#define NODE                                                                                       \
    "x-ms-file-permission: Inherit", "x-ms-file-creation-time: Now",                               \
        "x-ms-file-last-write-time: Now"

/* A request, and what can be read when it was acknowledged; NULL: nothing is looked at. */
struct step {
    const struct http_service *kind;
    struct sent sent;
    const char *path;
    const char *content;
};

static const struct step STEPS[] = {
    { &http_blob_service, { .line = "PUT /box?restype=container" }, NULL, NULL },
    { &http_blob_service,
      { .line = "PUT /box/put", .headers = { PUT_BLOB }, .body = text_a },
      "GET /box/put",
      text_a },
    { &http_blob_service,
      { .line = "PUT /box/blocks?comp=block&blockid=QQ%3D%3D", .body = text_b },
      NULL,
      NULL },
    { &http_blob_service,
      { .line = "PUT /box/blocks?comp=blocklist",
        .body = "<BlockList><Latest>QQ==</Latest></BlockList>" },
      "GET /box/blocks",
      text_b },
    { &http_blob_service,
      { .line = "PUT /box/append", .headers = { "x-ms-blob-type: AppendBlob" } },
      NULL,
      NULL },
    { &http_blob_service,
      { .line = "PUT /box/append?comp=appendblock", .body = text_a },
      "GET /box/append",
      text_a },
    { &http_blob_service,
      { .line = "PUT /box/pages",
        .headers = { "x-ms-blob-type: PageBlob", "x-ms-blob-content-length: 512" } },
      NULL,
      NULL },
    { &http_blob_service,
      { .line = "PUT /box/pages?comp=page",
        .headers = { "x-ms-page-write: update", "x-ms-range: bytes=0-511" },
        .body = text_b },
      "GET /box/pages",
      text_b },
    { &http_blob_service,
      { .line = "PUT /box/put", .headers = { PUT_BLOB }, .body = text_b },
      "GET /box/put",
      text_b },
    { &http_file_service, { .line = "PUT /share?restype=share" }, NULL, NULL },
    { &http_file_service,
      { .line = "PUT /share/file",
        .headers = { "x-ms-type: file", "x-ms-content-length: 512", "x-ms-file-attributes: None",
                     NODE } },
      NULL,
      NULL },
    { &http_file_service,
      { .line = "PUT /share/file?comp=range",
        .headers = { "x-ms-write: update", "x-ms-range: bytes=0-511" },
        .body = text_a },
      "GET /share/file",
      text_a },
};

enum {
    STEP_COUNT = sizeof(STEPS) / sizeof(STEPS[0]),
};

static bool is_acknowledged(void)
{
    return request.response.status < 300;
}

/* A refusal for the disk's sake, or because the step before was refused. */
static bool is_refused(void)
{
    const unsigned status = request.response.status;
    return status == 500 || status == 507 || status == 404 || status == 400;
}

static bool reads(struct service_fixture *fixture, const struct step *step)
{
    context.kind = step->kind;
    send_request(fixture, &(struct sent){ .line = step->path });
    return is_acknowledged() && slice_is(answer_body(), step->content);
}

/* The latest step that is about the same thing and was acknowledged is what can be read. */
static bool is_replaced(const bool *acknowledged, size_t at)
{
    for (size_t i = at + 1; i < STEP_COUNT; i++)
        if (acknowledged[i] && STEPS[i].path != NULL && strcmp(STEPS[i].path, STEPS[at].path) == 0)
            return true;
    return false;
}

static const char *play(struct service_fixture *fixture, bool *acknowledged)
{
    for (size_t i = 0; i < STEP_COUNT; i++) {
        forget_request();
        const struct slice before = fixture_dump(fixture);
        context.kind = STEPS[i].kind;
        send_request(fixture, &STEPS[i].sent);
        acknowledged[i] = is_acknowledged();
        const bool refused = is_refused();
        forget_request();
        if (!acknowledged[i] && !refused)
            return "a failure of the disk is answered wrongly";
        if (!acknowledged[i] && !slice_equal(before, fixture_dump(fixture)))
            return "a refused request has changed something";
    }
    return NULL;
}

static int try_failure(uint64_t nth, enum err err)
{
    static const enum service_fixture_kind kind = SERVICE_ON_MEMORY;
    void *state = (void *)(uintptr_t)&kind;
    request_setup(&state);
    struct service_fixture *fixture = state;
    fixture->service.opens = open_table_new(&fixture->clock);
    const uint64_t calls = io_memory_calls(fixture->io);
    bool acknowledged[STEP_COUNT];
    io_memory_fail_at(fixture->io, nth, err);
    const char *fault = play(fixture, acknowledged);
    const bool reached = io_memory_calls(fixture->io) - calls >= nth;
    io_memory_fail_at(fixture->io, 0, err);
    for (size_t i = 0; fault == NULL && i < STEP_COUNT; i++)
        if (acknowledged[i] && STEPS[i].path != NULL && !is_replaced(acknowledged, i) &&
            !reads(fixture, &STEPS[i]))
            fault = STEPS[i].path;
    if (fault != NULL) {
        fprintf(stderr, "call %u: %s\n", (unsigned)nth, fault);
        return CHILD_WRONG;
    }
    return reached ? CHILD_REACHED : CHILD_NOT_REACHED;
}

static void fail_every_call(enum err err)
{
    unsigned survived = 0;
    for (uint64_t nth = 1;; nth++) {
        assert_true(nth < CALLS_MAX);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(try_failure(nth, err));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NOT_REACHED)
            break;
        const bool panicked = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
        const bool was_right = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_REACHED;
        if (!panicked && !was_right)
            print_message("call %u\n", (unsigned)nth);
        assert_true(panicked || was_right);
        survived += was_right ? 1 : 0;
    }
    /* Writes fail alone; only a failed sync is the end. */
    assert_true(survived >= 7);
}

static void a_call_that_fails_is_an_error_or_the_end(void **state)
{
    (void)state;
    fail_every_call(ERR_IO);
}

static void a_call_that_finds_the_disk_full_is_an_error_or_the_end(void **state)
{
    (void)state;
    fail_every_call(ERR_NO_SPACE);
}

/* --- little space --- */

/* A disk of which only the reserve is left. */
struct small_disk {
    struct io *io;
    struct io_file *file;
    struct space space;
};

static void fill(struct small_disk *disk, struct service_fixture *fixture)
{
    static const char bytes[4096] = { 1 };
    disk->io = io_memory_new_untracked(16 * sizeof(bytes));
    assert_int_equal(io_file_open(disk->io, "file", IO_OPEN_CREATE, &disk->file), OK);
    for (uint64_t i = 0; i < 15; i++)
        assert_int_equal(
            io_file_write(disk->file, i * sizeof(bytes), slice_make(bytes, sizeof(bytes))), OK);
    space_init(&disk->space, disk->io, sizeof(bytes));
    fixture->service.space = &disk->space;
}

static void release(struct small_disk *disk, struct service_fixture *fixture)
{
    fixture->service.space = NULL;
    io_file_close(disk->file);
    io_free(disk->io);
}

static void when_space_is_low_only_what_stores_more_is_refused(void **state)
{
    static const struct {
        struct sent sent;
        unsigned status;
    } rows[] = {
        { { .line = "PUT /box/new", .headers = { PUT_BLOB }, .body = "x" }, 507 },
        { { .line = "PUT /box/blob?comp=metadata", .headers = { "x-ms-meta-a: 1" } }, 507 },
        { { .line = "PUT /new?restype=container" }, 507 },
        { { .line = "PUT /box/blob?comp=snapshot" }, 507 },
        { { .line = "GET /box/blob" }, 200 },
        { { .line = "HEAD /box/blob" }, 200 },
        { { .line = "GET /box?restype=container&comp=list" }, 200 },
        { { .line = "PUT /box/leased?comp=lease",
            .headers = { "x-ms-lease-action: break", "x-ms-lease-break-period: 0" } },
          202 },
        { { .line = "DELETE /box/leased" }, 202 },
        { { .line = "DELETE /box/blob" }, 202 },
        { { .line = "DELETE /box?restype=container" }, 202 },
    };
    struct service_fixture *fixture = *state;
    struct small_disk disk;
    make_store(fixture);
    fill(&disk, fixture);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        send_request(fixture, &rows[i].sent);
        assert_status(&rows[i].sent, rows[i].status);
        if (rows[i].status == 507)
            assert_header("x-ms-error-code: InsufficientStorage");
    }
    forget_request();
    release(&disk, fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_fails_is_an_error_or_the_end),
        cmocka_unit_test(a_call_that_finds_the_disk_full_is_an_error_or_the_end),
        WITH_STORE(when_space_is_low_only_what_stores_more_is_refused),
    };
    return cmocka_run_group_tests(tests, texts_setup, requests_teardown);
}
