/*
 * mutex.c - pthread's locks, and the check of their order.
 *
 * A thread's locks are bits of one word, by rank.  The order holds exactly if no bit from the
 * rank on is set when a lock is taken, which is one shift and one compare.
 */
#include "base/mutex.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

#include "base/log.h"

static_assert(LOCK_RANK_COUNT <= 64, "the ranks are bits of one word");

static const char *const rank_names[] = {
#define LOCK_RANK(name) #name,
#include "base/lock_order.def"
#undef LOCK_RANK
};

/* The ranks that this thread holds. */
static _Thread_local uint64_t held;

static uint64_t bit_of(const struct mutex *mutex)
{
    return UINT64_C(1) << mutex->rank;
}

/* The innermost of some ranks, at least one. */
static const char *innermost(uint64_t ranks)
{
    assert(ranks != 0);
    return rank_names[63 - __builtin_clzll(ranks)];
}

void mutex_init(struct mutex *mutex, enum lock_rank rank)
{
    assert(rank < LOCK_RANK_COUNT);
    mutex->rank = rank;
    const int failed = pthread_mutex_init(&mutex->os, NULL);
    assert(failed == 0);
}

void mutex_release(struct mutex *mutex)
{
    const int failed = pthread_mutex_destroy(&mutex->os);
    assert(failed == 0);
}

void mutex_lock(struct mutex *mutex)
{
    if (held >> mutex->rank != 0)
        panic("lock order: %s is taken under %s", rank_names[mutex->rank], innermost(held));
    const int failed = pthread_mutex_lock(&mutex->os);
    assert(failed == 0);
    held |= bit_of(mutex);
}

void mutex_unlock(struct mutex *mutex)
{
    if ((held & bit_of(mutex)) == 0)
        panic("lock order: %s is unlocked by a thread without it", rank_names[mutex->rank]);
    held &= ~bit_of(mutex);
    const int failed = pthread_mutex_unlock(&mutex->os);
    assert(failed == 0);
}

/* Waiting takes the mutex again, so it has to be in order as taking it the first time. */
static void check_wait(const struct mutex *mutex)
{
    if (held >> mutex->rank != 1)
        panic("lock order: %s is waited under, and is not the innermost held",
              rank_names[mutex->rank]);
}

void condvar_init(struct condvar *condvar)
{
    pthread_condattr_t monotonic;
    int failed = pthread_condattr_init(&monotonic);
    assert(failed == 0);
    failed = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    assert(failed == 0);
    failed = pthread_cond_init(&condvar->os, &monotonic);
    assert(failed == 0);
    pthread_condattr_destroy(&monotonic);
}

void condvar_release(struct condvar *condvar)
{
    const int failed = pthread_cond_destroy(&condvar->os);
    assert(failed == 0);
}

void condvar_signal(struct condvar *condvar)
{
    pthread_cond_signal(&condvar->os);
}

void condvar_broadcast(struct condvar *condvar)
{
    pthread_cond_broadcast(&condvar->os);
}

void condvar_wait(struct condvar *condvar, struct mutex *mutex)
{
    check_wait(mutex);
    const int failed = pthread_cond_wait(&condvar->os, &mutex->os);
    assert(failed == 0);
}

bool condvar_wait_until(struct condvar *condvar, struct mutex *mutex, int64_t until_us)
{
    assert(until_us >= 0);
    check_wait(mutex);
    const struct timespec until = {
        .tv_sec = until_us / 1000000,
        .tv_nsec = until_us % 1000000 * 1000,
    };
    const int failed = pthread_cond_timedwait(&condvar->os, &mutex->os, &until);
    assert(failed == 0 || failed == ETIMEDOUT);
    return failed == 0;
}
