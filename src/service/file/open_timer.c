#include "service/file/open_timer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"

enum {
    /* Nothing is cheaper to find out than that nothing waits. */
    TIMER_MS = 200,
};

struct open_timer {
    struct open_table *table;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stops; /* under lock */
};

/* Wait a while; true when the thread is to end. */
static bool pause_until_next(struct open_timer *timer)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TIMER_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&timer->lock);
    int failed = 0;
    while (!timer->stops && failed != ETIMEDOUT)
        failed = pthread_cond_timedwait(&timer->changed, &timer->lock, &until);
    const bool stops = timer->stops;
    pthread_mutex_unlock(&timer->lock);
    return stops;
}

static void *timer_run(void *arg)
{
    struct open_timer *timer = arg;
    while (!pause_until_next(timer))
        (void)open_table_expire(timer->table);
    return NULL;
}

static void release(struct open_timer *timer)
{
    pthread_cond_destroy(&timer->changed);
    pthread_mutex_destroy(&timer->lock);
    free(timer);
}

enum err open_timer_new(struct open_table *table, struct open_timer **result)
{
    struct open_timer *timer = calloc(1, sizeof(*timer));
    if (timer == NULL)
        panic("no memory for the timer of the table of opens");
    timer->table = table;
    pthread_mutex_init(&timer->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&timer->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&timer->thread, NULL, timer_run, timer) != 0) {
        log_error("opens", "the thread of the table of opens cannot be started");
        release(timer);
        return ERR_IO;
    }
    *result = timer;
    return OK;
}

void open_timer_free(struct open_timer *timer)
{
    if (timer == NULL)
        return;
    pthread_mutex_lock(&timer->lock);
    timer->stops = true;
    pthread_cond_signal(&timer->changed);
    pthread_mutex_unlock(&timer->lock);
    pthread_join(timer->thread, NULL);
    release(timer);
}
