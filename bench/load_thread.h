/*
 * load_thread.h - the threads of the load generator: connections that go through the cycles of a
 * script.
 *
 * Each thread has its own epoll, its own connections and its own numbers, which are added up after
 * all have ended.  They share the script, which is constant, and the number of the next cycle,
 * which is atomic.  A connection costs two system calls per request, so that the generator takes
 * little from the server beside which it runs.
 */
#ifndef BENCH_LOAD_THREAD_H
#define BENCH_LOAD_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "durations.h"
#include "load_script.h"

struct settings {
    uint16_t port;
    unsigned connections;
    unsigned threads;
    uint64_t time_ns; /* 0: until the cycles are done */
    uint64_t cycles;  /* 0: until the time is over */
    uint64_t first;
    uint64_t interval_ns; /* between two cycles of a connection; 0: none waits */
    const char *script;
    const char *save; /* NULL: nothing is written */
};

struct connection;

struct thread {
    /* set before the thread starts, then constant */
    const struct settings *settings;
    const struct script *script;
    pthread_barrier_t *prepared;
    atomic_uint_least64_t *next_cycle;
    struct connection *connections;
    unsigned connection_count;

    /* owner thread only, until it has ended */
    int epoll_fd;
    bool measures; /* whether the requests made once are done */
    unsigned busy; /* connections with a request under way, or with cycles to come */
    uint64_t began_at_ns;
    uint64_t ended_at_ns;
    uint64_t received_bytes;
    struct durations cycles;
    struct text saved;
};

/* Connections to 127.0.0.1, all that the settings ask for. */
struct connection *connections_open(const struct settings *settings);

/* Give each thread its part of the connections. */
void threads_share(struct thread *threads, const struct settings *settings,
                   struct connection *connections);

/* What a thread runs; its argument is its struct thread. */
void *thread_run(void *thread);

#endif
