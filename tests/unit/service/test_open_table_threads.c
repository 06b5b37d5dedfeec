/*
 * test_open_table_threads.c - the table of opens under threads: SMB clients that open, lock, write,
 * delete and answer breaks, REST requests, and an administrator, all at once on a few files.
 *
 * Beside the table there is a shadow: whoever has been let in counts itself in, and out again
 * before it leaves the table.  So what the shadow shows together was together in the table, and the
 * test looks for what must never be.  To be run with ThreadSanitizer too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "file_rights.h"
#include "service/file/open_table.h"
#include "test_random.h"

enum {
    FILES = 4,
    FORCED_FILE = 3, /* where the administrator closes handles, and the shadow is not looked at */
    SMB_THREADS = 3,
    REST_THREADS = 2,
    SMB_ROUNDS = 10000,
    REST_ROUNDS = 20000,
};

#define SHARE UINT64_C(5)

struct shadow {
    atomic_int handles;
    atomic_int deniers;  /* handles that share nothing */
    atomic_int lockers;  /* exclusive locks of the bytes 0 to 9 */
    atomic_int rest;     /* REST operations with access */
    atomic_int deleters; /* REST deletions */
    atomic_int writers;  /* REST writes of the bytes 0 to 9 */
};

static struct open_table *table;
static struct shadow shadows[FILES];
static atomic_int faults;
static atomic_bool stopping;
static atomic_int answers_ok;
static atomic_int waits;

static struct file_key key_of(size_t file)
{
    return (struct file_key){ .share = SHARE, .file_id = file + 1 };
}

static void expect_none(size_t file, atomic_int *others)
{
    if (file != FORCED_FILE && atomic_load(others) != 0)
        atomic_fetch_add(&faults, 1);
}

/* --- what may wait --- */

struct answer {
    atomic_bool given;
    enum err err;
};

static void give(void *arg, enum err err)
{
    struct answer *answer = arg;
    answer->err = err;
    if (err == OK)
        atomic_fetch_add(&answers_ok, 1);
    atomic_store(&answer->given, true);
}

/* --- SMB clients --- */

struct player {
    struct test_random random;
    struct open_client *client;
    atomic_bool woken;
    uint64_t handles[FILES]; /* 0: not open */
    bool denies[FILES];
    bool locked[FILES];
};

static void wake(void *arg)
{
    struct player *player = arg;
    atomic_store(&player->woken, true);
}

static struct uuid key_for(size_t file)
{
    return (struct uuid){ .bytes = { 1, (uint8_t)file } };
}

static void close_file(struct player *player, size_t file)
{
    struct open_closed closed;
    if (player->handles[file] == 0)
        return;
    if (player->locked[file])
        atomic_fetch_sub(&shadows[file].lockers, 1);
    if (player->denies[file])
        atomic_fetch_sub(&shadows[file].deniers, 1);
    atomic_fetch_sub(&shadows[file].handles, 1);
    if (open_table_close(table, player->handles[file], &closed) == OK && closed.delete_file)
        open_table_deleted(table, closed.key);
    player->handles[file] = 0;
    player->locked[file] = false;
    player->denies[file] = false;
}

/* Answer breaks: by closing, or by keeping what is left. */
static void serve(struct player *player)
{
    struct open_event event;
    if (!atomic_exchange(&player->woken, false))
        return;
    while (open_client_next(player->client, &event)) {
        if (event.kind != OPEN_EVENT_BREAK)
            continue;
        const size_t file = event.lease_key.bytes[1];
        if (random_below(&player->random, 2) == 0)
            close_file(player, file);
        else if (event.notice.must_acknowledge)
            /* The handle may have been closed by force, and the lease with it. */
            (void)!open_table_acknowledge_lease(table, player->client, &event.lease_key,
                                                event.notice.to);
    }
}

static enum err await(struct player *player, struct answer *answer)
{
    if (!atomic_load(&answer->given))
        atomic_fetch_add(&waits, 1);
    while (!atomic_load(&answer->given)) {
        if (player != NULL)
            serve(player);
        sched_yield();
    }
    return answer->err;
}

static void open_file(struct player *player, size_t file)
{
    static const unsigned wanted[] = { 0, CACHING_R, CACHING_RH, CACHING_RWH };
    struct answer answer = { 0 };
    struct open_request request = {
        .wait = { .done = give, .arg = &answer },
        .client = player->client,
        .key = key_of(file),
        .caching = OPEN_CACHING_LEASE,
        .wanted = wanted[random_below(&player->random, 4)],
        .lease_key = key_for(file),
    };
    const bool denies = random_below(&player->random, 2) == 0;
    request.mode = denies ? mode("RW", "") : mode("RW", "RWD");
    open_table_open(table, &request);
    if (await(player, &answer) != OK)
        return;
    player->handles[file] = request.handle_id;
    player->denies[file] = denies;
    atomic_fetch_add(&shadows[file].handles, 1);
    expect_none(file, &shadows[file].deleters);
    if (!denies)
        return;
    if (atomic_fetch_add(&shadows[file].deniers, 1) != 0 && file != FORCED_FILE)
        atomic_fetch_add(&faults, 1);
    expect_none(file, &shadows[file].rest);
}

/* Whoever holds a lock does not wait for another, or two could wait for each other. */
static bool holds_lock(const struct player *player)
{
    for (size_t file = 0; file < FILES; file++)
        if (player->locked[file])
            return true;
    return false;
}

static void lock_file(struct player *player, size_t file)
{
    const struct lock_element element = { { 0, 10 }, true };
    struct answer answer = { 0 };
    struct lock_request request = {
        .wait = { .done = give, .arg = &answer },
        .handle_id = player->handles[file],
        .elements = &element,
        .count = 1,
        .wait_for_locks = !holds_lock(player),
    };
    open_table_lock(table, &request);
    /* Meanwhile serve may have closed the handle. */
    if (await(player, &answer) != OK || player->handles[file] != request.handle_id)
        return;
    player->locked[file] = true;
    if (atomic_fetch_add(&shadows[file].lockers, 1) != 0 && file != FORCED_FILE)
        atomic_fetch_add(&faults, 1);
    expect_none(file, &shadows[file].writers);
}

static void unlock_file(struct player *player, size_t file)
{
    const struct byte_range range = { 0, 10 };
    player->locked[file] = false;
    atomic_fetch_sub(&shadows[file].lockers, 1);
    const enum err err = open_table_unlock(table, player->handles[file], &range, 1);
    if (err != OK && file != FORCED_FILE)
        atomic_fetch_add(&faults, 1);
}

static void operate(struct player *player, size_t file, enum file_operation operation)
{
    struct answer answer = { 0 };
    struct open_operation request = {
        .wait = { .done = give, .arg = &answer },
        .operation = operation,
        .handle_id = player->handles[file],
        .range = { random_below(&player->random, 20), 5 },
    };
    open_table_begin(table, &request);
    if (await(player, &answer) == OK)
        open_table_end(table, &request);
}

static void *play(void *arg)
{
    struct player *player = arg;
    for (int round = 0; round < SMB_ROUNDS; round++) {
        const size_t file = random_below(&player->random, FILES);
        if (random_below(&player->random, 4) == 0)
            sched_yield();
        serve(player);
        if (player->handles[file] == 0) {
            open_file(player, file);
            continue;
        }
        switch (random_below(&player->random, 8)) {
        case 0:
        case 1:
            if (player->locked[file])
                unlock_file(player, file);
            else
                lock_file(player, file);
            break;
        case 2:
            operate(player, file, FILE_OPERATION_SMB_WRITE);
            break;
        case 3:
            operate(player, file, FILE_OPERATION_SMB_READ);
            break;
        case 4:
            operate(player, file, FILE_OPERATION_SMB_SET_DELETE);
            break;
        default:
            close_file(player, file);
            break;
        }
    }
    for (size_t file = 0; file < FILES; file++)
        close_file(player, file);
    return NULL;
}

/* --- REST --- */

static void *request_rest(void *arg)
{
    static const enum file_operation operations[] = {
        FILE_OPERATION_GET,    FILE_OPERATION_PUT_RANGE, FILE_OPERATION_GET_PROPERTIES,
        FILE_OPERATION_CREATE, FILE_OPERATION_DELETE,    FILE_OPERATION_SET_METADATA,
    };
    struct test_random random = *(struct test_random *)arg;
    for (int round = 0; round < REST_ROUNDS; round++) {
        const size_t file = random_below(&random, FILES);
        struct shadow *shadow = &shadows[file];
        struct answer answer = { 0 };
        struct open_operation request = {
            .wait = { .done = give, .arg = &answer },
            .operation = operations[random_below(&random, 6)],
            .key = key_of(file),
            .range = { 5, 10 },
        };
        const struct file_operation_rule *rule = file_operation_rule(request.operation);
        open_table_begin(table, &request);
        if (random_below(&random, 10) == 0)
            (void)open_table_cancel(table, &request.wait);
        if (await(NULL, &answer) != OK)
            continue;
        const int access = rule->mode.access != FILE_ACCESS_NONE;
        const int deletes = rule->handles == FILE_OPERATION_NO_HANDLES;
        const int writes = rule->use == BYTE_USE_WRITE;
        atomic_fetch_add(&shadow->rest, access);
        atomic_fetch_add(&shadow->deleters, deletes);
        atomic_fetch_add(&shadow->writers, writes);
        if (access)
            expect_none(file, &shadow->deniers);
        if (deletes)
            expect_none(file, &shadow->handles);
        if (writes)
            expect_none(file, &shadow->lockers);
        if (random_below(&random, 4) == 0)
            sched_yield();
        atomic_fetch_sub(&shadow->rest, access);
        atomic_fetch_sub(&shadow->deleters, deletes);
        atomic_fetch_sub(&shadow->writers, writes);
        open_table_end(table, &request);
    }
    return NULL;
}

/* --- the administrator --- */

static void *administrate(void *arg)
{
    const uint64_t forced = key_of(FORCED_FILE).file_id;
    struct arena arena = { 0 };
    (void)arg;
    while (!atomic_load(&stopping)) {
        struct handle_info *handles = NULL;
        struct open_closed closed;
        uint64_t next = 0;
        (void)open_table_expire(table);
        const struct handle_query everything = { .share = SHARE, .results_max = 3 };
        (void)open_table_list(table, &everything, &arena, &handles, &next);
        const struct handle_query one = { .share = SHARE, .file_id = &forced, .results_max = 1 };
        if (open_table_list(table, &one, &arena, &handles, &next) == 1 &&
            open_table_force_close(table, SHARE, handles[0].handle_id, &closed) == OK &&
            closed.delete_file)
            open_table_deleted(table, closed.key);
        (void)open_table_is_delete_pending(table, key_of(0));
        arena_clear(&arena);
        sched_yield();
    }
    arena_release(&arena);
    return NULL;
}

static void what_excludes_each_other_is_never_let_in_together(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    struct clock clock;
    struct player players[SMB_THREADS] = { 0 };
    struct test_random seeds[REST_THREADS];
    pthread_t smb[SMB_THREADS];
    pthread_t rest[REST_THREADS];
    pthread_t administrator;

    clock_init(&clock);
    table = open_table_new(&clock);
    for (size_t i = 0; i < SMB_THREADS; i++) {
        players[i].random.state = random_next(&random);
        players[i].client = open_client_new(&(struct open_client_settings){
            .address = slice_of("10.0.0.1:445"), .wake = wake, .arg = &players[i] });
        assert_int_equal(pthread_create(&smb[i], NULL, play, &players[i]), 0);
    }
    for (size_t i = 0; i < REST_THREADS; i++) {
        seeds[i].state = random_next(&random);
        assert_int_equal(pthread_create(&rest[i], NULL, request_rest, &seeds[i]), 0);
    }
    assert_int_equal(pthread_create(&administrator, NULL, administrate, NULL), 0);
    for (size_t i = 0; i < SMB_THREADS; i++)
        pthread_join(smb[i], NULL);
    for (size_t i = 0; i < REST_THREADS; i++)
        pthread_join(rest[i], NULL);
    atomic_store(&stopping, true);
    pthread_join(administrator, NULL);

    assert_int_equal(atomic_load(&faults), 0);
    /* It was about something: many were let in, and many had to wait for each other. */
    assert_true(atomic_load(&answers_ok) > REST_ROUNDS / 10);
    assert_true(atomic_load(&waits) > 0);
    assert_int_equal(open_table_handle_count(table), 0);
    for (size_t i = 0; i < SMB_THREADS; i++)
        open_client_free(players[i].client);
    open_table_free(table); /* which sees that it is empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_excludes_each_other_is_never_let_in_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
