/*
 * clock.h - one clock for the whole server.
 *
 * Time is counted in ticks of 100 ns since 0001-01-01T00:00:00Z, the unit the services'
 * ETags and 7-digit timestamps are made of.  There are two readings:
 *
 *   clock_now    what time it is, for leases, visibility, SAS and the Date header
 *   clock_tick   a new instant: at or after the wall clock, and later than every tick
 *                this clock, or any earlier run over the same store, ever gave
 *
 * A change to stored data is stamped with clock_tick, which makes ETags unique and
 * Last-Modified monotonic even when the wall clock is set back.  The partition layer
 * records the latest tick with every commit and restores it with clock_raise at open.
 *
 * Tests (and a lab server) can move the clock: clock_shift adds to the wall reading, and
 * a clock made with clock_init_manual stands still until it is moved.
 *
 * Any thread may call any function; the state is two atomics.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CLOCK_TICKS_PER_MS  INT64_C(10000)
#define CLOCK_TICKS_PER_SEC INT64_C(10000000)
/* 1970-01-01T00:00:00Z in ticks. */
#define CLOCK_UNIX_EPOCH_TICKS INT64_C(621355968000000000)
/* The last tick of the year 9999: later instants have no text (base/date.h). */
#define CLOCK_TICKS_MAX INT64_C(3155378975999999999)

struct clock {
    bool manual;               /* set at init: the wall clock is not consulted */
    _Atomic int64_t shift;     /* ticks added to the wall clock; the whole time if manual */
    _Atomic int64_t last_tick; /* the latest tick given or raised to */
};

/* A clock that follows the system's wall clock. */
void clock_init(struct clock *clock);

/* A clock that stands at `ticks` until clock_shift moves it. */
void clock_init_manual(struct clock *clock, int64_t ticks);

/* The time, in ticks.  Never earlier than the latest tick given. */
int64_t clock_now(struct clock *clock);

/* A new instant, strictly later than any tick given before. */
int64_t clock_tick(struct clock *clock);

/* Make every later tick later than `ticks`: what a store recorded before a restart. */
void clock_raise(struct clock *clock, int64_t ticks);

/* Move the time by `ticks`, forward or back.  Ticks still only go forward. */
void clock_shift(struct clock *clock, int64_t ticks);

/* Microseconds of a clock that only measures spans; unrelated to the time of day. */
int64_t clock_monotonic_us(void);

#endif
