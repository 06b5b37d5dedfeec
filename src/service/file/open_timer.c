#include "service/file/open_timer.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"

enum {
    /* Nothing is cheaper to find out than that nothing waits. */
    TIMER_MS = 200,
};

struct open_timer {
    struct open_table *table;
    pthread_t thread;
    struct mutex lock;
    struct condvar changed;
    bool stops; /* under lock */
};

/* Wait a while; true when the thread is to end. */
static bool pause_until_next(struct open_timer *timer)
{
    const int64_t until_us = clock_monotonic_us() + TIMER_MS * INT64_C(1000);
    mutex_lock(&timer->lock);
    bool early = true;
    while (!timer->stops && early)
        early = condvar_wait_until(&timer->changed, &timer->lock, until_us);
    const bool stops = timer->stops;
    mutex_unlock(&timer->lock);
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
    condvar_release(&timer->changed);
    mutex_release(&timer->lock);
    free(timer);
}

enum err open_timer_new(struct open_table *table, struct open_timer **result)
{
    struct open_timer *timer = calloc(1, sizeof(*timer));
    if (timer == NULL)
        panic("no memory for the timer of the table of opens");
    timer->table = table;
    mutex_init(&timer->lock, LOCK_SERVICE_OPEN_TIMER);
    condvar_init(&timer->changed);
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
    mutex_lock(&timer->lock);
    timer->stops = true;
    condvar_signal(&timer->changed);
    mutex_unlock(&timer->lock);
    pthread_join(timer->thread, NULL);
    release(timer);
}
