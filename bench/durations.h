/*
 * durations.h - how long many things took, to tell their percentiles.
 *
 * All of them are kept: percentiles are exact, whatever their distribution.
 */
#ifndef BENCH_DURATIONS_H
#define BENCH_DURATIONS_H

#include <stddef.h>
#include <stdint.h>

/* In microseconds.  Zero is an empty one. */
struct durations {
    uint32_t *us;
    size_t count;
    size_t capacity;
};

void durations_add(struct durations *durations, uint64_t ns);

/* Add all of `from` to `to`, and leave it empty. */
void durations_move(struct durations *to, struct durations *from);

/* Shortest first: the element at count * 99 / 100 is the 99th percentile. */
void durations_sort(struct durations *durations);

#endif
