/*
 * http_listener.h - a listening socket and the thread that accepts its connections.
 *
 * Connections are accepted here, and not by the workers of libmicrohttpd, so that they can be dealt
 * out evenly: workers that share a listening socket leave most of a burst of connections to
 * whichever wakes first, and one core then does the work of all.
 */
#ifndef FRONTEND_HTTP_HTTP_LISTENER_H
#define FRONTEND_HTTP_HTTP_LISTENER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

struct http_listener;

/*
 * Bind.  `port` 0 takes a free one.  ERR_IO, and a line in the log, when the host is not known or
 * the port is taken.  Nobody can connect yet.
 */
MUST_CHECK enum err http_listener_open(const char *host, uint16_t port,
                                       struct http_listener **listener);

uint16_t http_listener_port(const struct http_listener *listener);

/*
 * What is done with a connection, on the listener's thread.  `accept` takes the descriptor over;
 * `is_full` says that there are as many connections as there may be: more wait in the kernel.
 */
struct http_listener_events {
    void (*accept)(void *arg, int descriptor, const struct sockaddr *address, socklen_t len);
    bool (*is_full)(void *arg);
    void *arg;
};

/* Listen.  ERR_IO (logged). */
MUST_CHECK enum err http_listener_start(struct http_listener *listener,
                                        const struct http_listener_events *events);

/* Accept no more; the port is free afterwards.  Fine if it never started. */
void http_listener_stop(struct http_listener *listener);

/* Stops first.  NULL is fine. */
void http_listener_free(struct http_listener *listener);

#endif
