/*
 * test_share_threads.c - snapshots are taken, read, deleted and swept while others write: each is
 * as it was from its first reading to its last, and in the end everything is given back.
 */
#include <stdatomic.h>

#include "base/encoding.h"
#include "base/log.h"
#include "node_fixture.h"
#include "service/blob/fsck.h"
#include "service/sweeper.h"
#include "share_fixture.h"
#include "test_random.h"

enum {
    WRITERS = 2,
    FILES = 4, /* of each writer */
    FILE_BYTES = 4000,
    SNAPSHOTS = 40, /* taken in all */
    KEPT_MAX = 6,
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

struct crowd {
    struct service_fixture *fixture;
    _Atomic bool is_over;
    _Atomic int failures; /* cmocka's assertions are for the test's own thread */
    _Atomic int next_writer;
};

static void expect(struct crowd *crowd, bool holds)
{
    if (!holds)
        atomic_fetch_add(&crowd->failures, 1);
}

static const char *path_of(char *path, int writer, int file)
{
    snprintf(path, 32, "dir%d/file%d", writer, file);
    return path;
}

/* Writes the same number to the beginning of all files, one after the other, over and over; the
   rest of each file is filled with its low byte. */
static void *write_rounds(void *arg)
{
    struct crowd *crowd = arg;
    const int writer = atomic_fetch_add(&crowd->next_writer, 1);
    char bytes[FILE_BYTES];
    char path[32];
    for (uint64_t round = 1; !atomic_load(&crowd->is_over); round++) {
        memset(bytes, (int)(round & 0xff), sizeof(bytes));
        put_be64((uint8_t *)bytes, round);
        for (int file = 0; file < FILES; file++) {
            const struct slice all = slice_make(bytes, round % 3 == 0 ? 80 : FILE_BYTES);
            expect(crowd, file_write(crowd->fixture, path_of(path, writer, file), 0, all) == OK);
        }
    }
    return NULL;
}

static void *sweep_rounds(void *arg)
{
    struct crowd *crowd = arg;
    while (!atomic_load(&crowd->is_over)) {
        expect(crowd, sweeper_pass(&crowd->fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)) == OK);
        expect(crowd, sweeper_pass_marked(&crowd->fixture->service) == OK);
    }
    return NULL;
}

/* What a snapshot says of all files: a digest of their bytes.  The numbers are those of one
   instant: each file has that of the first, or the one before. */
static uint64_t read_snapshot(struct service_fixture *fixture, int64_t taken)
{
    struct arena arena = { 0 };
    uint64_t digest = 0;
    for (int writer = 0; writer < WRITERS; writer++) {
        uint64_t first = 0;
        uint64_t last = 0;
        for (int file = 0; file < FILES; file++) {
            struct slice bytes;
            char path[32];
            assert_int_equal(
                file_bytes(fixture, &arena, path_of(path, writer, file), taken, &bytes), OK);
            const uint64_t number = get_be64((const uint8_t *)bytes.data);
            first = file == 0 ? number : first;
            assert_true(number == first || number + 1 == first);
            assert_true(file == 0 || number <= last);
            last = number;
            for (size_t i = 0; i < bytes.len; i++)
                digest = digest * 31 + (uint8_t)bytes.data[i];
        }
    }
    arena_release(&arena);
    return digest;
}

struct kept {
    int64_t taken;
    uint64_t digest;
};

static void make_files(struct service_fixture *fixture)
{
    char path[32];
    for (int writer = 0; writer < WRITERS; writer++) {
        snprintf(path, sizeof(path), "dir%d", writer);
        assert_int_equal(directory_create(fixture, path), OK);
        for (int file = 0; file < FILES; file++)
            assert_int_equal(file_create(fixture, path_of(path, writer, file), FILE_BYTES), OK);
    }
}

static void forget(struct service_fixture *fixture, struct kept *kept, size_t *count, size_t which)
{
    assert_int_equal(read_snapshot(fixture, kept[which].taken), kept[which].digest);
    assert_int_equal(share_remove(fixture, "one", kept[which].taken, SHARE_SNAPSHOTS_NONE), OK);
    kept[which] = kept[--*count];
}

static void fail_finding(void *arg, const char *words)
{
    (void)arg;
    fail_msg("%s", words);
}

static struct fsck_summary assert_clean(struct service_fixture *fixture)
{
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = fail_finding };
    struct fsck_summary summary;
    fsck_run(&request, &summary);
    return summary;
}

static void snapshots_stay_as_they_are_while_others_write_and_the_sweeper_sweeps(void **state)
{
    struct service_fixture *fixture = *state;
    struct crowd crowd = { .fixture = fixture };
    struct test_random random = test_seed();
    struct kept kept[KEPT_MAX];
    size_t count = 0;
    pthread_t threads[WRITERS + 1];
    share_new(fixture, "one");
    snprintf(share_now, sizeof(share_now), "one");
    make_files(fixture);
    for (size_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_rounds, &crowd), 0);
    assert_int_equal(pthread_create(&threads[WRITERS], NULL, sweep_rounds, &crowd), 0);
    for (size_t i = 0; i < SNAPSHOTS; i++) {
        if (count == KEPT_MAX)
            forget(fixture, kept, &count, random_next(&random) % count);
        kept[count].taken = share_freeze(fixture, "one");
        kept[count].digest = read_snapshot(fixture, kept[count].taken);
        count++;
    }
    atomic_store(&crowd.is_over, true);
    for (size_t i = 0; i < WRITERS + 1; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&crowd.failures), 0);
    while (count > 0) {
        assert_clean(fixture);
        forget(fixture, kept, &count, random_next(&random) % count);
        assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
        assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    }
    partition_reclaim(fixture->service.store);
    /* What is left is the files as they are. */
    assert_true(assert_clean(fixture).live_bytes <= WRITERS * FILES * (uint64_t)(FILE_BYTES + 80));
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    partition_reclaim(fixture->service.store);
    assert_int_equal(assert_clean(fixture).live_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREADS(snapshots_stay_as_they_are_while_others_write_and_the_sweeper_sweeps),
        ON_ROCKSDB(snapshots_stay_as_they_are_while_others_write_and_the_sweeper_sweeps),
    };
    return cmocka_run_group_tests_name("share_threads", tests, quiet, NULL);
}
