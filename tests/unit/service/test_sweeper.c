/*
 * test_sweeper.c - deleted containers are reclaimed: their rows, and the space of their payloads.
 */
#include "service/sweeper.h"

#include <sched.h>

#include "base/log.h"
#include "service/row.h"
#include "service_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static const struct slice ACCOUNT = SLICE_LITERAL(FIXTURE_ACCOUNT_NAME);

static uint64_t incarnation_of(struct service_fixture *fixture, const char *name)
{
    const struct container_name full = container_named(name);
    struct container container;
    assert_int_equal(container_get(&fixture->service, &fixture->arena, &full, NULL, &container),
                     OK);
    return container.incarnation;
}

/* Rows of the blobs' partition, and whether all that is there is the mark that it is closed. */
static size_t rows_of(struct service_fixture *fixture, uint64_t incarnation)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, blob_partition(&fixture->arena, incarnation), &out);
}

static bool only_the_mark_remains(struct service_fixture *fixture, uint64_t incarnation)
{
    struct slice row;
    const enum err err =
        partition_get(fixture->service.store, &fixture->arena,
                      blob_partition(&fixture->arena, incarnation), closed_key(), &row);
    return err == OK && rows_of(fixture, incarnation) == 1;
}

static size_t rows_of_account(struct service_fixture *fixture)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, account_partition(&fixture->arena, ACCOUNT), &out);
}

static void put_blobs(struct service_fixture *fixture, const char *container, size_t count,
                      size_t len)
{
    char *bytes = arena_alloc(&fixture->arena, len);
    for (size_t i = 0; i < count; i++) {
        struct blob_change change = { 0 };
        const char *name = arena_printf(&fixture->arena, "blob %zu", i).data;
        assert_int_equal(blob_put_into(fixture, container, name, slice_make(bytes, len), &change),
                         OK);
    }
}

static void a_pass_removes_all_rows_of_a_deleted_container(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t incarnation = incarnation_of(fixture, "box");
    put_blobs(fixture, "box", 3, 0);
    put_blobs(fixture, "box", 2, 50);
    put_blobs(fixture, "box", 1, 5000);
    assert_int_equal(rows_of(fixture, incarnation), 3 + 1); /* one of the three has inline bytes */
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(rows_of_account(fixture), 1);

    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    assert_true(only_the_mark_remains(fixture, incarnation));
    assert_int_equal(rows_of_account(fixture), 0);
}

static void a_pass_goes_on_after_a_full_batch(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t incarnation = incarnation_of(fixture, "box");
    put_blobs(fixture, "box", 600, 1);
    assert_int_equal(rows_of(fixture, incarnation), 1200);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    assert_true(only_the_mark_remains(fixture, incarnation));
}

static void the_space_of_payloads_is_given_back(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t before = io_memory_bytes(fixture->io);
    container_make(fixture, "box");
    put_blobs(fixture, "box", 5, 100000);
    assert_true(io_memory_bytes(fixture->io) >= before + 500000);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(partition_reclaim(fixture->service.store), 0);
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    assert_int_equal(partition_reclaim(fixture->service.store), 5);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

static void a_container_of_the_same_name_is_not_touched(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_blobs(fixture, "box", 3, 5000);
    const uint64_t old = incarnation_of(fixture, "box");
    assert_int_equal(container_remove(fixture, "box"), OK);
    container_make(fixture, "box");
    put_blobs(fixture, "box", 2, 5000);
    container_make(fixture, "other");
    put_blobs(fixture, "other", 1, 5000);

    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    partition_reclaim(fixture->service.store);
    assert_true(only_the_mark_remains(fixture, old));
    assert_int_equal(rows_of(fixture, incarnation_of(fixture, "box")), 2);
    assert_int_equal(rows_of(fixture, incarnation_of(fixture, "other")), 1);
    assert_int_equal(blob_read_bytes(fixture, "blob 1").len, 5000);
}

static void several_deleted_containers_are_reclaimed_by_one_pass(void **state)
{
    struct service_fixture *fixture = *state;
    uint64_t incarnations[3];
    for (size_t i = 0; i < 3; i++) {
        container_make(fixture, "box");
        put_blobs(fixture, "box", i, 1);
        incarnations[i] = incarnation_of(fixture, "box");
        assert_int_equal(container_remove(fixture, "box"), OK);
    }
    assert_int_equal(rows_of_account(fixture), 3);
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    assert_int_equal(rows_of_account(fixture), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(only_the_mark_remains(fixture, incarnations[i]));
}

static void a_pass_without_work_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    container_make(fixture, "box");
    put_blobs(fixture, "box", 2, 10);
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    fixture_assert_unchanged(fixture, before);
}

static enum err spoil_decide(struct change *change, void *arg)
{
    (void)arg;
    change_put(change, blob_key(change_arena(change), slice_of("blob 0")), slice_of("not a row"));
    return OK;
}

static void a_container_that_cannot_be_read_is_kept_for_the_next_pass(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_blobs(fixture, "box", 2, 0);
    const uint64_t incarnation = incarnation_of(fixture, "box");
    struct waiter waiter;
    waiter_init(&waiter);
    struct partition_update update = {
        .partition = blob_partition(&fixture->arena, incarnation),
        .decide = spoil_decide,
        .arg = &waiter,
        .done = waiter_done,
    };
    partition_update(fixture->service.store, &update);
    assert_int_equal(waiter_wait(&waiter), OK);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), ERR_CORRUPT);
    assert_int_equal(rows_of_account(fixture), 1);
    assert_int_equal(rows_of(fixture, incarnation), 3);
}

/* --- the thread --- */

static void the_thread_reclaims_what_is_deleted_while_it_runs(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_blobs(fixture, "box", 300, 0);
    const uint64_t incarnation = incarnation_of(fixture, "box");
    struct sweeper *sweeper;
    assert_int_equal(sweeper_new(&fixture->service, &ACCOUNT, 1, &sweeper), OK);
    fixture->service.sweeper = sweeper;
    assert_int_equal(container_remove(fixture, "box"), OK);
    /* The 'g' row goes last. */
    while (rows_of_account(fixture) > 0) {
        sched_yield();
        arena_clear(&fixture->arena);
    }
    assert_true(only_the_mark_remains(fixture, incarnation));
    fixture->service.sweeper = NULL;
    sweeper_free(sweeper);
}

static void what_a_stopped_sweeper_left_is_finished_by_the_next(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_blobs(fixture, "box", 1500, 0);
    const uint64_t incarnation = incarnation_of(fixture, "box");
    assert_int_equal(container_remove(fixture, "box"), OK);
    struct sweeper *sweeper;
    assert_int_equal(sweeper_new(&fixture->service, &ACCOUNT, 1, &sweeper), OK);
    sweeper_free(sweeper);
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    assert_true(only_the_mark_remains(fixture, incarnation));
    assert_int_equal(rows_of_account(fixture), 0);
}

static void no_sweeper_is_fine(void **state)
{
    (void)state;
    sweeper_wake(NULL);
    sweeper_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_pass_removes_all_rows_of_a_deleted_container),
        ON_THREADS(a_pass_goes_on_after_a_full_batch),
        ON_MEMORY(a_pass_goes_on_after_a_full_batch),
        ON_MEMORY(the_space_of_payloads_is_given_back),
        ON_ALL_ENGINES(a_container_of_the_same_name_is_not_touched),
        ON_ALL_ENGINES(several_deleted_containers_are_reclaimed_by_one_pass),
        ON_ALL_ENGINES(a_pass_without_work_changes_nothing),
        ON_ALL_ENGINES(a_container_that_cannot_be_read_is_kept_for_the_next_pass),
        ON_THREADS(the_thread_reclaims_what_is_deleted_while_it_runs),
        ON_ROCKSDB(the_thread_reclaims_what_is_deleted_while_it_runs),
        ON_THREADS(what_a_stopped_sweeper_left_is_finished_by_the_next),
        cmocka_unit_test(no_sweeper_is_fine),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
