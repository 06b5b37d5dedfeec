#include "frontend/http/http_hangup.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"

enum {
    EVENTS_MAX = 64,
    /* The library must have dealt with the first edge before the second is made; if it has not, the
       next attempt is later. */
    FIRST_NUDGE_US = 20 * 1000,
    LAST_NUDGE_US = 1000 * 1000,
};

/* What is known of a descriptor; `serial` tells apart the connections it was given to. */
struct watched {
    uint32_t serial;
    bool open;
};

/* A connection whose client has hung up, until the library has closed it. */
struct hung {
    int descriptor;
    uint32_t serial;
    int64_t nudge_at_us;
    int64_t interval_us;
};

struct http_hangup {
    /* set at start, then constant */
    int epoll;
    int wake; /* eventfd: readable when the thread is to stop */
    pthread_t thread;

    /* under lock */
    struct mutex lock;
    struct watched *watched; /* by descriptor */
    size_t watched_room;

    /* the thread's */
    struct hung *hung;
    size_t hung_count;
    size_t hung_room;
};

static void *grow(void *items, size_t *room, size_t needed, size_t item_bytes)
{
    size_t larger = *room == 0 ? 64 : *room;
    while (larger < needed)
        larger *= 2;
    if (larger == *room)
        return items;
    char *grown = realloc(items, larger * item_bytes);
    if (grown == NULL)
        panic("no memory for %zu connections", larger);
    memset(grown + *room * item_bytes, 0, (larger - *room) * item_bytes);
    *room = larger;
    return grown;
}

/* --- the thread --- */

static void note_hung(struct http_hangup *hangup, uint64_t tag, int64_t now_us)
{
    hangup->hung =
        grow(hangup->hung, &hangup->hung_room, hangup->hung_count + 1, sizeof(*hangup->hung));
    hangup->hung[hangup->hung_count++] = (struct hung){
        .descriptor = (int)(uint32_t)tag,
        .serial = (uint32_t)(tag >> 32),
        .nudge_at_us = now_us + FIRST_NUDGE_US,
        .interval_us = FIRST_NUDGE_US,
    };
}

/* Make the library look again; false when it has closed the connection. */
static bool nudge(struct http_hangup *hangup, const struct hung *hung)
{
    mutex_lock(&hangup->lock);
    const struct watched *watched = &hangup->watched[hung->descriptor];
    const bool open = watched->open && watched->serial == hung->serial;
    if (open)
        (void)shutdown(hung->descriptor,
                       SHUT_RD); /* ENOTCONN: it was reset, which is an edge too */
    mutex_unlock(&hangup->lock);
    return open;
}

static void nudge_due(struct http_hangup *hangup, int64_t now_us)
{
    size_t kept = 0;
    for (size_t i = 0; i < hangup->hung_count; i++) {
        struct hung hung = hangup->hung[i];
        if (hung.nudge_at_us <= now_us) {
            if (!nudge(hangup, &hung))
                continue;
            hung.interval_us =
                2 * hung.interval_us < LAST_NUDGE_US ? 2 * hung.interval_us : LAST_NUDGE_US;
            hung.nudge_at_us = now_us + hung.interval_us;
        }
        hangup->hung[kept++] = hung;
    }
    hangup->hung_count = kept;
}

static void *run(void *arg)
{
    struct http_hangup *hangup = arg;
    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        const int timeout_ms = hangup->hung_count > 0 ? FIRST_NUDGE_US / 1000 : -1;
        const int count = epoll_wait(hangup->epoll, events, EVENTS_MAX, timeout_ms);
        if (count < 0 && errno != EINTR)
            panic("epoll_wait for hang-ups: error %d", errno);
        const int64_t now_us = clock_monotonic_us();
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 == UINT64_MAX)
                return NULL;
            note_hung(hangup, events[i].data.u64, now_us);
        }
        nudge_due(hangup, now_us);
    }
}

/* --- what others call --- */

static enum err start(struct http_hangup *hangup)
{
    hangup->epoll = epoll_create1(EPOLL_CLOEXEC);
    hangup->wake = eventfd(0, EFD_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = UINT64_MAX };
    if (hangup->epoll < 0 || hangup->wake < 0 ||
        epoll_ctl(hangup->epoll, EPOLL_CTL_ADD, hangup->wake, &event) != 0 ||
        pthread_create(&hangup->thread, NULL, run, hangup) != 0)
        return ERR_IO;
    pthread_setname_np(hangup->thread, "hangup");
    return OK;
}

static void release(struct http_hangup *hangup)
{
    if (hangup->epoll >= 0)
        close(hangup->epoll);
    if (hangup->wake >= 0)
        close(hangup->wake);
    mutex_release(&hangup->lock);
    free(hangup->watched);
    free(hangup->hung);
    free(hangup);
}

enum err http_hangup_new(struct http_hangup **result)
{
    struct http_hangup *hangup = calloc(1, sizeof(*hangup));
    if (hangup == NULL)
        panic("no memory for a watcher of connections");
    mutex_init(&hangup->lock, LOCK_HTTP_HANGUP);
    const enum err err = start(hangup);
    if (err == OK)
        *result = hangup;
    else
        release(hangup);
    return err;
}

void http_hangup_free(struct http_hangup *hangup)
{
    if (hangup == NULL)
        return;
    const uint64_t one = 1;
    if (write(hangup->wake, &one, sizeof(one)) != (ssize_t)sizeof(one))
        panic("cannot wake the watcher of connections");
    pthread_join(hangup->thread, NULL);
    release(hangup);
}

void http_hangup_watch(struct http_hangup *hangup, int descriptor)
{
    assert(descriptor >= 0);
    mutex_lock(&hangup->lock);
    hangup->watched = grow(hangup->watched, &hangup->watched_room, (size_t)descriptor + 1,
                           sizeof(*hangup->watched));
    struct watched *watched = &hangup->watched[descriptor];
    watched->serial++;
    watched->open = true;
    const uint64_t tag = (uint64_t)watched->serial << 32 | (uint32_t)descriptor;
    mutex_unlock(&hangup->lock);
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.u64 = tag };
    if (epoll_ctl(hangup->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        log_warn("listener", "a connection is not watched for its end: error %d", errno);
}

void http_hangup_forget(struct http_hangup *hangup, int descriptor)
{
    /* Closing the descriptor takes it out of the epoll set. */
    mutex_lock(&hangup->lock);
    assert((size_t)descriptor < hangup->watched_room);
    hangup->watched[descriptor].open = false;
    mutex_unlock(&hangup->lock);
}
