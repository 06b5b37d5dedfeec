/*
 * Many threads on one share: a snapshot is one instant of all of it, and a rename is seen whole.
 */
#include <stdatomic.h>

#include "node_fixture.h"

enum {
    WRITERS = 3,
    READERS = 3,
    SNAPSHOTS = 12,
    ROUNDS = 400,
    NUMBER_ROOM = 12,
};

struct crowd {
    struct service_fixture *fixture;
    _Atomic int failures; /* cmocka's assertions are for the test's own thread */
    _Atomic bool is_over;
    _Atomic int next_writer;
};

static void expect(struct crowd *crowd, bool holds)
{
    if (!holds)
        atomic_fetch_add(&crowd->failures, 1);
}

static struct slice number_text(char *text, int number)
{
    snprintf(text, 9, "%08u", (unsigned)number % 100000000U);
    return slice_make(text, 8);
}

/* --- pairs of files that are written one after the other --- */

/* Writes each number to "aN" and then to "bN", and moves "mN" to and fro. */
static void *write_pairs(void *arg)
{
    struct crowd *crowd = arg;
    const int who = atomic_fetch_add(&crowd->next_writer, 1);
    char a[16];
    char b[16];
    char left[24];
    char right[24];
    snprintf(a, sizeof(a), "a%d", who);
    snprintf(b, sizeof(b), "b%d", who);
    snprintf(left, sizeof(left), "left/m%d", who);
    snprintf(right, sizeof(right), "right/m%d", who);
    for (int round = 1; round <= ROUNDS && !atomic_load(&crowd->is_over); round++) {
        char text[NUMBER_ROOM];
        const struct slice number = number_text(text, round);
        expect(crowd, file_write(crowd->fixture, a, 0, number) == OK);
        expect(crowd, file_write(crowd->fixture, b, 0, number) == OK);
        struct node_change move = { .kind = NODE_FILE };
        expect(crowd, node_move(crowd->fixture, round % 2 == 1 ? left : right,
                                round % 2 == 1 ? right : left, &move) == OK);
    }
    return NULL;
}

static int read_number(struct crowd *crowd, const char *path, int64_t snapshot)
{
    struct arena arena = { 0 };
    struct slice bytes = { 0 };
    expect(crowd, file_bytes(crowd->fixture, &arena, path, snapshot, &bytes) == OK);
    char text[9] = { 0 };
    memcpy(text, bytes.data, bytes.len < 8 ? bytes.len : 8);
    const int number = (int)strtol(text, NULL, 10);
    arena_release(&arena);
    return number;
}

static void check_snapshot(struct crowd *crowd, int64_t snapshot, int *last)
{
    for (int who = 0; who < WRITERS; who++) {
        char path[24];
        struct node node;
        snprintf(path, sizeof(path), "a%d", who);
        const int a = read_number(crowd, path, snapshot);
        snprintf(path, sizeof(path), "b%d", who);
        const int b = read_number(crowd, path, snapshot);
        expect(crowd, a == b || a == b + 1);
        expect(crowd, b >= last[who]);
        last[who] = b;
        snprintf(path, sizeof(path), "left/m%d", who);
        const bool is_left = node_record(crowd->fixture, path, NODE_FILE, snapshot, &node) == OK;
        snprintf(path, sizeof(path), "right/m%d", who);
        const bool is_right = node_record(crowd->fixture, path, NODE_FILE, snapshot, &node) == OK;
        expect(crowd, is_left != is_right);
    }
}

static void a_snapshot_is_one_instant_while_others_write(void **state)
{
    struct service_fixture *fixture = *state;
    struct crowd crowd = { .fixture = fixture };
    pthread_t writers[WRITERS];
    int64_t snapshots[SNAPSHOTS];
    char text[NUMBER_ROOM];
    share_make(fixture, 1);
    assert_int_equal(directory_create(fixture, "left"), OK);
    assert_int_equal(directory_create(fixture, "right"), OK);
    for (int who = 0; who < WRITERS; who++) {
        static const char *const names[] = { "a", "b", "left/m" };
        for (size_t i = 0; i < 3; i++) {
            char path[24];
            snprintf(path, sizeof(path), "%s%d", names[i], who);
            assert_int_equal(file_create(fixture, path, 8), OK);
            assert_int_equal(file_write(fixture, path, 0, number_text(text, 0)), OK);
        }
    }
    for (int who = 0; who < WRITERS; who++)
        assert_int_equal(pthread_create(&writers[who], NULL, write_pairs, &crowd), 0);
    for (int i = 0; i < SNAPSHOTS; i++)
        snapshots[i] = share_take(fixture);
    atomic_store(&crowd.is_over, true);
    for (int who = 0; who < WRITERS; who++)
        pthread_join(writers[who], NULL);
    int last[WRITERS] = { 0 };
    for (int i = 0; i < SNAPSHOTS; i++)
        check_snapshot(&crowd, snapshots[i], last);
    assert_int_equal(atomic_load(&crowd.failures), 0);
}

/* --- renames of a directory above --- */

static void *move_directory(void *arg)
{
    struct crowd *crowd = arg;
    for (int round = 0; round < ROUNDS; round++) {
        struct node_change change = { .kind = NODE_DIRECTORY };
        expect(crowd, node_move(crowd->fixture, round % 2 == 0 ? "one" : "two",
                                round % 2 == 0 ? "two" : "one", &change) == OK);
    }
    atomic_store(&crowd->is_over, true);
    return NULL;
}

/* A write to either path is done or meets nothing, and each that is done is seen. */
static void a_rename_above_is_seen_whole_or_not_at_all(void **state)
{
    struct service_fixture *fixture = *state;
    struct crowd crowd = { .fixture = fixture };
    share_make(fixture, 1);
    fixture->service.opens = open_table_new(&fixture->clock);
    assert_int_equal(directory_create(fixture, "one"), OK);
    assert_int_equal(file_create(fixture, "one/f", 8), OK);
    pthread_t mover;
    assert_int_equal(pthread_create(&mover, NULL, move_directory, &crowd), 0);
    int done = 0;
    int last = 0;
    for (int number = 1; !atomic_load(&crowd.is_over); number++) {
        char text[NUMBER_ROOM];
        const char *path = number % 2 == 0 ? "one/f" : "two/f";
        const enum err err = file_write(fixture, path, 0, number_text(text, number));
        assert_true(err == OK || err == ERR_PARENT_NOT_FOUND || err == ERR_NODE_MOVED);
        if (err != OK)
            continue;
        done++;
        last = number;
    }
    pthread_join(mover, NULL);
    assert_int_equal(atomic_load(&crowd.failures), 0);
    assert_true(done == 0 || read_number(&crowd, "one/f", 0) == last);
    open_table_free(fixture->service.opens);
    fixture->service.opens = NULL;
}

/* The size of the file is odd only while it is below "two". */
static void *move_and_resize(void *arg)
{
    struct crowd *crowd = arg;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct node_change there = { .kind = NODE_DIRECTORY };
        struct node_change back = { .kind = NODE_DIRECTORY };
        expect(crowd, node_move(crowd->fixture, "one", "two", &there) == OK);
        expect(crowd, file_resize(crowd->fixture, "two/f", 2 * round + 1) == OK);
        expect(crowd, file_resize(crowd->fixture, "two/f", 2 * round + 2) == OK);
        expect(crowd, node_move(crowd->fixture, "two", "one", &back) == OK);
    }
    atomic_store(&crowd->is_over, true);
    return NULL;
}

static void *read_records(void *arg)
{
    struct crowd *crowd = arg;
    while (!atomic_load(&crowd->is_over)) {
        struct arena arena = { 0 };
        struct waiter waiter;
        struct node_get get = { .kind = NODE_FILE };
        waiter_bind(&waiter, &get.base, &arena);
        get.name = node_named(&arena, "one/f", 0);
        node_get(&crowd->fixture->service, &get);
        const enum err err = waiter_wait(&waiter);
        expect(crowd, err == OK ? get.node.content.length_bytes % 2 == 0
                                : err == ERR_PARENT_NOT_FOUND || err == ERR_NODE_MOVED);
        arena_release(&arena);
    }
    return NULL;
}

static void a_record_is_read_with_the_path_to_it(void **state)
{
    struct service_fixture *fixture = *state;
    struct crowd crowd = { .fixture = fixture };
    share_make(fixture, 1);
    fixture->service.opens = open_table_new(&fixture->clock);
    assert_int_equal(directory_create(fixture, "one"), OK);
    assert_int_equal(file_create(fixture, "one/f", 0), OK);
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_records, &crowd), 0);
    (void)move_and_resize(&crowd);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(atomic_load(&crowd.failures), 0);
    open_table_free(fixture->service.opens);
    fixture->service.opens = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREADS(a_snapshot_is_one_instant_while_others_write),
        ON_ROCKSDB(a_snapshot_is_one_instant_while_others_write),
        ON_THREADS(a_rename_above_is_seen_whole_or_not_at_all),
        ON_ROCKSDB(a_rename_above_is_seen_whole_or_not_at_all),
        ON_THREADS(a_record_is_read_with_the_path_to_it),
        ON_ROCKSDB(a_record_is_read_with_the_path_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
