/*
 * test_guard.c - the one interleaving of guards that no stress finds: a reader that is delayed
 * between loading the epoch and counting itself (see the head of stream/guard.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stream/stream_internal.h"

static void a_reader_delayed_across_a_barrier_is_not_counted_into_the_old_bucket(void **state)
{
    (void)state;
    struct guard guard;
    guard__init(&guard);
    for (unsigned barriers = 1; barriers <= 3; barriers++) {
        const unsigned epoch = atomic_load(&guard.epoch);
        for (unsigned i = 0; i < barriers; i++)
            guard__barrier(&guard);
        assert_false(guard__try_enter(&guard, epoch));
        assert_int_equal(atomic_load(&guard.reader_count[0]), 0);
        assert_int_equal(atomic_load(&guard.reader_count[1]), 0);
    }
    guard__release(&guard);
}

static void a_reader_that_is_not_delayed_is_counted_until_it_leaves(void **state)
{
    (void)state;
    struct guard guard;
    guard__init(&guard);
    for (unsigned round = 0; round < 3; round++) {
        const unsigned epoch = atomic_load(&guard.epoch);
        assert_true(guard__try_enter(&guard, epoch));
        assert_int_equal(atomic_load(&guard.reader_count[epoch & 1]), 1);
        guard__leave(&guard, epoch & 1);
        assert_int_equal(atomic_load(&guard.reader_count[epoch & 1]), 0);
        guard__barrier(&guard);
    }
    guard__release(&guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_delayed_across_a_barrier_is_not_counted_into_the_old_bucket),
        cmocka_unit_test(a_reader_that_is_not_delayed_is_counted_until_it_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
