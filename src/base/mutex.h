/*
 * mutex.h - locks with one order, and waiting under them.
 *
 * Every lock has a rank from lock_order.def, and a thread takes locks in that order only: taking
 * one while it holds another of the same rank or of one further down is a panic that names both.
 * That is checked each time in every build, so a cycle is found by the first thread that goes the
 * wrong way round, not by the two that one day meet in it.  It costs a few instructions on a word
 * of the thread's own.
 *
 * Times are those of clock_monotonic_us.
 */
#ifndef BASE_MUTEX_H
#define BASE_MUTEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Outermost first. */
enum lock_rank {
#define LOCK_RANK(name) LOCK_##name,
#include "base/lock_order.def"
#undef LOCK_RANK
    LOCK_RANK_COUNT,
};

struct mutex {
    pthread_mutex_t os;
    enum lock_rank rank;
};

/* For a mutex that lives as long as the process. */
#define MUTEX_INITIALIZER(its_rank)                                                                \
    {                                                                                              \
        .os = PTHREAD_MUTEX_INITIALIZER, .rank = (its_rank)                                        \
    }

void mutex_init(struct mutex *mutex, enum lock_rank rank);

/* Nobody holds it. */
void mutex_release(struct mutex *mutex);

void mutex_lock(struct mutex *mutex);

/* By the thread that locked it; the order of unlocking is free. */
void mutex_unlock(struct mutex *mutex);

/* Something that threads wait for under one mutex, the same each time. */
struct condvar {
    pthread_cond_t os;
};

void condvar_init(struct condvar *condvar);

/* Nobody waits. */
void condvar_release(struct condvar *condvar);

/* Wake one of those who wait, or all.  With or without the mutex. */
void condvar_signal(struct condvar *condvar);
void condvar_broadcast(struct condvar *condvar);

/*
 * Let go of the mutex, wait, and take it again.  May return without a reason, so it is called in a
 * loop.  The mutex is the innermost that the thread holds.
 */
void condvar_wait(struct condvar *condvar, struct mutex *mutex);

/* The same; false when that time has come. */
MUST_CHECK bool condvar_wait_until(struct condvar *condvar, struct mutex *mutex, int64_t until_us);

#endif
