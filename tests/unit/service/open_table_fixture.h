/*
 * open_table_fixture.h - a table of opens on a clock that stands still, SMB clients that do as they
 * are told, and REST requests.
 *
 * What may wait is an `act`: it keeps the answer, if there is one yet.
 */
#ifndef TESTS_UNIT_SERVICE_OPEN_TABLE_FIXTURE_H
#define TESTS_UNIT_SERVICE_OPEN_TABLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "file_rights.h"
#include "service/file/open_table.h"
#include "service/limits.h"

#define STAGE_T0 INT64_C(637076209290000000)
#define SHARE    UINT64_C(11)
#define FILE_ID  UINT64_C(1000)

enum {
    STAGE_CLIENTS = 3,
    ANNA = 0,
    BERT = 1,
    CARL = 2,
};

struct stage {
    struct arena arena;
    struct clock clock;
    struct open_table *table;
    struct open_client *clients[STAGE_CLIENTS];
    unsigned wakes[STAGE_CLIENTS];
};

struct act {
    union {
        struct open_wait wait;
        struct open_request open;
        struct open_operation operation;
        struct lock_request lock;
    } of;
    unsigned answers;
    enum err err;
};

static inline void act_done(void *arg, enum err err)
{
    struct act *act = arg;
    act->answers++;
    act->err = err;
}

static inline struct act *act_new(struct stage *stage)
{
    struct act *act = arena_alloc(&stage->arena, sizeof(*act));
    act->of.wait.done = act_done;
    act->of.wait.arg = act;
    return act;
}

static inline void assert_waits(const struct act *act)
{
    assert_int_equal(act->answers, 0);
}

static inline void act_assert_answer(const struct act *act, enum err expected, const char *file,
                                     int line)
{
    _assert_int_equal(act->answers, 1, file, line);
    if (act->err != expected)
        print_error("%s instead of %s\n", error_name(act->err), error_name(expected));
    _assert_int_equal(act->err, expected, file, line);
}

#define assert_answer(act_, expected) act_assert_answer((act_), (expected), __FILE__, __LINE__)

/* --- the stage --- */

static inline void stage_wake(void *arg)
{
    ++*(unsigned *)arg;
}

static inline int stage_setup(void **state)
{
    static const char *const names[] = { "anna", "bert", "carl" };
    struct stage *stage = calloc(1, sizeof(*stage));
    assert_non_null(stage);
    clock_init_manual(&stage->clock, STAGE_T0);
    stage->table = open_table_new(&stage->clock);
    for (size_t i = 0; i < STAGE_CLIENTS; i++)
        stage->clients[i] = open_client_new(&(struct open_client_settings){
            .address = slice_of("10.0.0.7:445"),
            .name = slice_of(names[i]),
            .wake = stage_wake,
            .arg = &stage->wakes[i],
        });
    *state = stage;
    return 0;
}

/* Every test leaves the table empty, or this fails: clients close what they have first. */
static inline int stage_teardown(void **state)
{
    struct stage *stage = *state;
    struct open_closed closed;
    for (size_t i = 0; i < STAGE_CLIENTS; i++) {
        while (open_client_close_next(stage->table, stage->clients[i], &closed))
            if (closed.delete_file)
                open_table_deleted(stage->table, closed.key);
        open_client_free(stage->clients[i]);
    }
    assert_int_equal(open_table_handle_count(stage->table), 0);
    assert_int_equal(open_table_expire(stage->table), INT64_MAX);
    open_table_free(stage->table);
    arena_release(&stage->arena);
    free(stage);
    return 0;
}

static inline struct file_key file_number(uint64_t number)
{
    return (struct file_key){ .share = SHARE, .file_id = FILE_ID + number };
}

/* Move the clock and let the table see it. */
static inline void stage_pass_sec(struct stage *stage, int64_t span_sec)
{
    clock_shift(&stage->clock, span_sec * CLOCK_TICKS_PER_SEC);
    (void)open_table_expire(stage->table);
}

/* --- SMB --- */

struct open_spec {
    size_t who;
    uint64_t file;
    const char *access; /* NULL is attribute access */
    const char *share;  /* NULL is nothing */
    const char *lease;  /* wanted */
    uint8_t key;        /* of the lease; 0 is one per client */
    const char *legacy; /* wanted */
    bool overwrite;
    bool delete_on_close;
    bool directory;
};

static inline struct uuid lease_key(uint8_t number)
{
    return (struct uuid){ .bytes = { 0xEE, number } };
}

static inline struct act *try_open(struct stage *stage, struct open_spec spec)
{
    struct act *act = act_new(stage);
    struct open_request *open = &act->of.open;
    open->client = stage->clients[spec.who];
    open->key = file_number(spec.file);
    open->parent_id = 5;
    open->session_id = 100 + spec.who;
    open->mode = mode(spec.access != NULL ? spec.access : "", spec.share != NULL ? spec.share : "");
    open->directory = spec.directory;
    open->overwrite = spec.overwrite;
    open->delete_on_close = spec.delete_on_close;
    if (spec.lease != NULL) {
        open->caching = OPEN_CACHING_LEASE;
        open->wanted = caching(spec.lease);
        open->lease_key = lease_key(spec.key);
    } else if (spec.legacy != NULL) {
        open->caching = OPEN_CACHING_LEGACY;
        open->wanted = caching(spec.legacy);
    }
    open_table_open(stage->table, open);
    return act;
}

/* The handle of an open that succeeds at once. */
static inline uint64_t must_open(struct stage *stage, struct open_spec spec)
{
    const struct act *act = try_open(stage, spec);
    assert_answer(act, OK);
    return act->of.open.handle_id;
}

static inline struct open_closed must_close(struct stage *stage, uint64_t handle)
{
    struct open_closed closed;
    assert_int_equal(open_table_close(stage->table, handle, &closed), OK);
    return closed;
}

static inline struct act *try_handle(struct stage *stage, uint64_t handle,
                                     enum file_operation operation, uint64_t offset,
                                     uint64_t length)
{
    struct act *act = act_new(stage);
    act->of.operation.operation = operation;
    act->of.operation.handle_id = handle;
    act->of.operation.range = (struct byte_range){ offset, length };
    open_table_begin(stage->table, &act->of.operation);
    return act;
}

static inline struct act *try_lock(struct stage *stage, uint64_t handle, uint64_t offset,
                                   uint64_t length, bool exclusive, bool wait)
{
    struct act *act = act_new(stage);
    struct lock_element *element = arena_alloc(&stage->arena, sizeof(*element));
    *element = (struct lock_element){ { offset, length }, exclusive };
    act->of.lock.handle_id = handle;
    act->of.lock.elements = element;
    act->of.lock.count = 1;
    act->of.lock.wait_for_locks = wait;
    open_table_lock(stage->table, &act->of.lock);
    return act;
}

static inline void must_lock(struct stage *stage, uint64_t handle, uint64_t offset, uint64_t length,
                             bool exclusive)
{
    assert_answer(try_lock(stage, handle, offset, length, exclusive, false), OK);
}

static inline enum err unlock(struct stage *stage, uint64_t handle, uint64_t offset,
                              uint64_t length)
{
    return open_table_unlock(stage->table, handle, &(struct byte_range){ offset, length }, 1);
}

/* The client is told to come down from one state to another, and no more than that. */
static inline void assert_told(struct stage *stage, size_t who, const char *from, const char *to)
{
    struct open_event event;
    assert_true(open_client_next(stage->clients[who], &event));
    assert_int_equal(event.kind, OPEN_EVENT_BREAK);
    assert_int_equal(event.notice.from, caching(from));
    assert_int_equal(event.notice.to, caching(to));
    assert_false(open_client_next(stage->clients[who], &event));
}

static inline void assert_told_nothing(struct stage *stage, size_t who)
{
    struct open_event event;
    assert_false(open_client_next(stage->clients[who], &event));
}

static inline enum err acknowledge(struct stage *stage, size_t who, uint8_t key, const char *kept)
{
    const struct uuid id = lease_key(key);
    return open_table_acknowledge_lease(stage->table, stage->clients[who], &id, caching(kept));
}

/* --- REST --- */

static inline struct act *try_rest_range(struct stage *stage, enum file_operation operation,
                                         uint64_t file, uint64_t offset, uint64_t length)
{
    struct act *act = act_new(stage);
    act->of.operation.operation = operation;
    act->of.operation.key = file_number(file);
    act->of.operation.range = (struct byte_range){ offset, length };
    open_table_begin(stage->table, &act->of.operation);
    return act;
}

static inline struct act *try_rest(struct stage *stage, enum file_operation operation,
                                   uint64_t file)
{
    return try_rest_range(stage, operation, file, 0, 1);
}

static inline void end(struct stage *stage, struct act *act)
{
    assert_answer(act, OK);
    open_table_end(stage->table, &act->of.operation);
}

/* A REST operation from beginning to end, answered at once. */
static inline void rest_whole(struct stage *stage, enum file_operation operation, uint64_t file,
                              enum err expected, const char *source, int line)
{
    struct act *act = try_rest(stage, operation, file);
    act_assert_answer(act, expected, source, line);
    if (expected == OK)
        end(stage, act);
}

#define assert_rest(stage_, operation_, file_, expected)                                           \
    rest_whole((stage_), (operation_), (file_), (expected), __FILE__, __LINE__)

#endif
