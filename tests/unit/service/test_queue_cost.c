/*
 * test_queue_cost.c - what Get Messages passes by in the durable engine does not grow with what the
 * queue holds, nor with what has passed through it.
 */
#include "engine_cost.h"
#include "queue_fixture.h"

static uint64_t passed_by_get(struct service_fixture *fixture, size_t max, size_t expected_count)
{
    rocksdb_perfcontext_t *context = begin_count();
    struct message_get get = get_some(fixture, max, 30);
    const uint64_t passed = end_count(context);
    assert_int_equal(get.count, expected_count);
    for (size_t i = 0; i < get.count; i++)
        assert_int_equal(delete_one(fixture, &get.messages[i]), OK);
    return passed;
}

static uint64_t passed_by_peek(struct service_fixture *fixture)
{
    struct message messages[1];
    rocksdb_perfcontext_t *context = begin_count();
    peek_some(fixture, 1, messages);
    return end_count(context);
}

enum {
    HISTORY = 250,
    PASSED_MAX = 40, /* however long the history */
};

static void a_get_passes_by_as_little_after_many_messages_as_at_first(void **state)
{
    struct service_fixture *fixture = *state;
    open_in_caller(fixture);
    queue_make(fixture, "work");
    put_text_for(fixture, "hidden", DAY_SEC, 2 * DAY_SEC);
    for (unsigned i = 0; i < HISTORY; i++) {
        put_one(fixture, "one");
        fixture_advance_ms(fixture, 20); /* so that times of invisibility go by as well */
        assert_true(passed_by_get(fixture, 1, 1) < PASSED_MAX);
    }
    assert_true(passed_by_peek(fixture) < PASSED_MAX);
}

static void a_get_passes_by_nothing_that_is_deep_in_the_queue(void **state)
{
    struct service_fixture *fixture = *state;
    open_in_caller(fixture);
    queue_make(fixture, "work");
    for (unsigned i = 0; i < HISTORY; i++)
        put_one(fixture, "one");
    for (unsigned i = 0; i < HISTORY / 32; i++)
        assert_true(passed_by_get(fixture, 32, 32) < PASSED_MAX);
}

static void polling_in_vain_passes_by_what_was_removed_once(void **state)
{
    struct service_fixture *fixture = *state;
    open_in_caller(fixture);
    queue_make(fixture, "work");
    put_text_for(fixture, "hidden", DAY_SEC, 2 * DAY_SEC);
    for (unsigned i = 0; i < HISTORY; i++) {
        put_one(fixture, "one");
        passed_by_get(fixture, 1, 1);
    }
    /* The rows that were removed last lie at the time at which they would have come back. */
    assert_true(passed_by_get(fixture, 1, 0) < PASSED_MAX);
    fixture_advance_ms(fixture, 60000);
    assert_true(passed_by_get(fixture, 1, 0) >= HISTORY);
    for (unsigned i = 0; i < 5; i++)
        assert_true(passed_by_get(fixture, 1, 0) < PASSED_MAX);
    assert_true(passed_by_peek(fixture) < PASSED_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ROCKSDB(a_get_passes_by_as_little_after_many_messages_as_at_first),
        ON_ROCKSDB(a_get_passes_by_nothing_that_is_deep_in_the_queue),
        ON_ROCKSDB(polling_in_vain_passes_by_what_was_removed_once),
    };
    return cmocka_run_group_tests_name("queue_cost", tests, quiet, NULL);
}
