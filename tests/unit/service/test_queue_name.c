/*
 * test_queue_name.c - keys of messages: their order is that of delivery, and what they say can be
 * read back.
 */
#include "service/queue/queue_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static const struct uuid RANDOM = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };

static void keys_sort_by_generation_time_and_id(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct uuid early = message_id_make(5, &RANDOM);
    const struct uuid late = message_id_make(INT64_C(1) << 40, &RANDOM);
    const struct slice keys[] = {
        message_key(&arena, 0, 7, &early),
        message_key(&arena, 1, 7, &early),
        message_key(&arena, 1, 7, &late),
        message_key(&arena, 1, 8, &early),
        message_key(&arena, 1, INT64_C(1) << 40, &early),
        message_key(&arena, 256, 1, &early),
    };
    for (size_t i = 1; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_true(slice_compare(keys[i - 1], keys[i]) < 0);
    assert_true(slice_starts_with(keys[1], message_prefix(&arena, 1)));
    assert_true(slice_compare(keys[2], message_key_from(&arena, 1, 8)) < 0);
    assert_true(slice_compare(keys[3], message_key_from(&arena, 1, 8)) > 0);
    assert_true(slice_compare(keys[0], message_prefix(&arena, 1)) < 0);
    arena_release(&arena);
}

static void a_key_says_what_it_was_made_of(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct uuid id = message_id_make(4711, &RANDOM);
    uint64_t generation;
    int64_t visible_at;
    struct uuid found;
    const struct slice key = message_key(&arena, 3, 9000, &id);
    assert_int_equal(message_key_decode(key, &generation, &visible_at, &found), OK);
    assert_int_equal(generation, 3);
    assert_int_equal(visible_at, 9000);
    assert_true(uuid_equal(&found, &id));
    const struct slice text = message_text_key(&arena, 3, &id);
    assert_true(slice_starts_with(text, message_text_prefix(&arena, 3)));
    assert_int_equal(message_text_key_decode(text, &generation, &found), OK);
    assert_true(uuid_equal(&found, &id));
    assert_int_equal(message_text_key_decode(key, &generation, &found), ERR_CORRUPT);
    assert_int_equal(message_key_decode(text, &generation, &visible_at, &found), ERR_CORRUPT);
    arena_release(&arena);
}

static void keys_with_impossible_instants_are_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    static const int64_t bad[] = { 0, -1, CLOCK_TICKS_MAX + 1 };
    const struct uuid good = message_id_make(1, &RANDOM);
    uint64_t generation;
    int64_t visible_at;
    struct uuid found;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct uuid id = message_id_make(bad[i], &RANDOM);
        assert_int_equal(
            message_key_decode(message_key(&arena, 0, 1, &id), &generation, &visible_at, &found),
            ERR_CORRUPT);
        assert_int_equal(message_key_decode(message_key(&arena, 0, bad[i], &good), &generation,
                                            &visible_at, &found),
                         ERR_CORRUPT);
    }
    arena_release(&arena);
}

static void an_id_has_the_tick_of_its_put(void **state)
{
    (void)state;
    const struct uuid id = message_id_make(4711, &RANDOM);
    assert_int_equal(message_id_tick(&id), 4711);
    assert_memory_equal(id.bytes + 8, RANDOM.bytes + 8, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_sort_by_generation_time_and_id),
        cmocka_unit_test(a_key_says_what_it_was_made_of),
        cmocka_unit_test(keys_with_impossible_instants_are_corrupt),
        cmocka_unit_test(an_id_has_the_tick_of_its_put),
    };
    return cmocka_run_group_tests_name("queue_name", tests, quiet, NULL);
}
