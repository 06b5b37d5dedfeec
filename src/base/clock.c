/*
 * clock.c - a hybrid clock: wall time that never runs behind its own ticks.
 *
 * Relaxed atomics suffice.  Both promises are about the one object last_tick: all threads
 * agree on the order of its changes, a compare-and-swap gives each value once, and a reading
 * that comes after a tick sees that tick or a later one.  No other memory is published
 * through it.
 */
#include "base/clock.h"

#include <assert.h>
#include <time.h>

void clock_init(struct clock *clock)
{
    clock->manual = false;
    atomic_init(&clock->shift, 0);
    atomic_init(&clock->last_tick, 0);
}

void clock_init_manual(struct clock *clock, int64_t ticks)
{
    assert(ticks >= 0);
    clock->manual = true;
    atomic_init(&clock->shift, ticks);
    atomic_init(&clock->last_tick, 0);
}

static int64_t clock_wall(struct clock *clock)
{
    const int64_t shift = atomic_load_explicit(&clock->shift, memory_order_relaxed);
    if (clock->manual)
        return shift;
    struct timespec now;
    const int failed = clock_gettime(CLOCK_REALTIME, &now);
    assert(failed == 0);
    return CLOCK_UNIX_EPOCH_TICKS + now.tv_sec * CLOCK_TICKS_PER_SEC + now.tv_nsec / 100 + shift;
}

int64_t clock_now(struct clock *clock)
{
    const int64_t wall = clock_wall(clock);
    const int64_t last = atomic_load_explicit(&clock->last_tick, memory_order_relaxed);
    return wall > last ? wall : last;
}

int64_t clock_tick(struct clock *clock)
{
    const int64_t wall = clock_wall(clock);
    int64_t last = atomic_load_explicit(&clock->last_tick, memory_order_relaxed);
    int64_t tick;
    do {
        tick = wall > last ? wall : last + 1;
    } while (!atomic_compare_exchange_weak_explicit(&clock->last_tick, &last, tick,
                                                    memory_order_relaxed, memory_order_relaxed));
    return tick;
}

void clock_raise(struct clock *clock, int64_t ticks)
{
    int64_t last = atomic_load_explicit(&clock->last_tick, memory_order_relaxed);
    while (last < ticks) {
        if (atomic_compare_exchange_weak_explicit(&clock->last_tick, &last, ticks,
                                                  memory_order_relaxed, memory_order_relaxed))
            return;
    }
}

void clock_shift(struct clock *clock, int64_t ticks)
{
    atomic_fetch_add_explicit(&clock->shift, ticks, memory_order_relaxed);
}

int64_t clock_monotonic_us(void)
{
    struct timespec now;
    const int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    assert(failed == 0);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}
