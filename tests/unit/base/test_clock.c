/*
 * test_clock.c - the two readings of the clock, standing still, shifted and shared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define T0 (CLOCK_UNIX_EPOCH_TICKS + 1700000000 * CLOCK_TICKS_PER_SEC)

static void a_manual_clock_stands_until_it_is_moved(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, T0);
    assert_int_equal(clock_now(&clock), T0);
    assert_int_equal(clock_now(&clock), T0);
    clock_shift(&clock, 15 * CLOCK_TICKS_PER_SEC);
    assert_int_equal(clock_now(&clock), T0 + 15 * CLOCK_TICKS_PER_SEC);
    clock_shift(&clock, -15 * CLOCK_TICKS_PER_SEC);
    assert_int_equal(clock_now(&clock), T0);
}

static void ticks_differ_while_the_time_stands_still(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, T0);
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(clock_tick(&clock), T0 + i);
}

static void now_is_never_earlier_than_the_latest_tick(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, T0);
    int64_t tick = 0;
    for (int i = 0; i < 10; i++)
        tick = clock_tick(&clock);
    assert_int_equal(clock_now(&clock), tick);
    clock_shift(&clock, CLOCK_TICKS_PER_MS);
    assert_int_equal(clock_now(&clock), T0 + CLOCK_TICKS_PER_MS);
}

static void ticks_go_forward_when_the_time_is_set_back(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, T0);
    const int64_t before = clock_tick(&clock);
    clock_shift(&clock, -3600 * CLOCK_TICKS_PER_SEC);
    assert_int_equal(clock_tick(&clock), before + 1);
    assert_int_equal(clock_now(&clock), before + 1);
}

static void ticks_after_a_raise_are_later_than_it(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, T0);
    clock_raise(&clock, T0 + 500);
    assert_int_equal(clock_tick(&clock), T0 + 501);
}

static void a_raise_to_the_past_changes_nothing(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, T0);
    const int64_t before = clock_tick(&clock);
    clock_raise(&clock, before - 1000);
    assert_int_equal(clock_tick(&clock), before + 1);
}

static void the_system_clock_is_followed(void **state)
{
    (void)state;
    struct clock clock;
    clock_init(&clock);
    const time_t earliest = time(NULL);
    const int64_t now = clock_now(&clock);
    const time_t latest = time(NULL);
    const int64_t now_sec = (now - CLOCK_UNIX_EPOCH_TICKS) / CLOCK_TICKS_PER_SEC;
    /* time() may lag clock_gettime() by a scheduler tick. */
    assert_in_range(now_sec, earliest, latest + 1);

    const int64_t tick = clock_tick(&clock);
    assert_true(tick >= now);
    assert_true(clock_tick(&clock) > tick);
    clock_shift(&clock, 86400 * CLOCK_TICKS_PER_SEC);
    assert_true(clock_now(&clock) >= now + 86400 * CLOCK_TICKS_PER_SEC);
}

static void the_monotonic_clock_does_not_go_back(void **state)
{
    (void)state;
    int64_t before = clock_monotonic_us();
    for (int i = 0; i < 1000; i++) {
        const int64_t now = clock_monotonic_us();
        assert_true(now >= before);
        before = now;
    }
}

enum {
    THREADS = 4,
    TICKS_EACH = 20000,
};

struct ticker {
    struct clock *clock;
    int64_t ticks[TICKS_EACH];
    bool now_was_behind;
};

static void *take_ticks(void *arg)
{
    struct ticker *const ticker = arg;
    for (size_t i = 0; i < TICKS_EACH; i++) {
        ticker->ticks[i] = clock_tick(ticker->clock);
        if (clock_now(ticker->clock) < ticker->ticks[i])
            ticker->now_was_behind = true;
        /* Raises and a moving wall clock race with the ticks. */
        if (i % 100 == 0)
            clock_raise(ticker->clock, ticker->ticks[i] + 3);
        if (i % 64 == 0)
            clock_shift(ticker->clock, i % 128 == 0 ? 50 : -50);
    }
    return NULL;
}

static int compare_ticks(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void check_shared_clock(struct clock *clock)
{
    static struct ticker tickers[THREADS];
    static int64_t all[THREADS * TICKS_EACH];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        tickers[i].clock = clock;
        assert_int_equal(pthread_create(&threads[i], NULL, take_ticks, &tickers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    for (size_t i = 0; i < THREADS; i++) {
        assert_false(tickers[i].now_was_behind);
        for (size_t j = 0; j < TICKS_EACH; j++) {
            if (j > 0)
                assert_true(tickers[i].ticks[j] > tickers[i].ticks[j - 1]);
            all[i * TICKS_EACH + j] = tickers[i].ticks[j];
        }
    }
    qsort(all, THREADS * TICKS_EACH, sizeof(all[0]), compare_ticks);
    for (size_t i = 1; i < THREADS * TICKS_EACH; i++)
        assert_int_not_equal(all[i], all[i - 1]);
}

static void threads_never_share_a_tick(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, T0);
    check_shared_clock(&clock);
    clock_init(&clock);
    check_shared_clock(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manual_clock_stands_until_it_is_moved),
        cmocka_unit_test(ticks_differ_while_the_time_stands_still),
        cmocka_unit_test(now_is_never_earlier_than_the_latest_tick),
        cmocka_unit_test(ticks_go_forward_when_the_time_is_set_back),
        cmocka_unit_test(ticks_after_a_raise_are_later_than_it),
        cmocka_unit_test(a_raise_to_the_past_changes_nothing),
        cmocka_unit_test(the_system_clock_is_followed),
        cmocka_unit_test(the_monotonic_clock_does_not_go_back),
        cmocka_unit_test(threads_never_share_a_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
