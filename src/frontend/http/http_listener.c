#include "frontend/http/http_listener.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"

enum {
    BACKLOG = 1024,
    /* How long to wait when no connection can be taken: too many are open. */
    RETRY_MS = 50,
};

struct http_listener {
    /* set at open and start, then constant */
    int descriptor;
    int wake; /* eventfd: readable when the thread is to stop */
    uint16_t port;
    struct http_listener_events events;
    pthread_t thread;
    bool started;

    /* the thread's */
    bool complained; /* that descriptors ran out; once until it is better */
};

static int open_address(const struct addrinfo *address)
{
    const int on = 1;
    const int descriptor =
        socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
               address->ai_protocol);
    if (descriptor < 0)
        return -1;
    /* A restart must not wait for connections of the last run to fade; the port is still ours alone
       while we listen. */
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(descriptor, address->ai_addr, address->ai_addrlen) == 0)
        return descriptor;
    const int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}

static uint16_t bound_port(int descriptor)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = { .v6 = { 0 } };
    socklen_t len = sizeof(address);
    if (getsockname(descriptor, &address.any, &len) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

/* The first of the host's addresses that can be bound to; -1 and a line in the log if none. */
static int open_host(const char *host, uint16_t port)
{
    struct addrinfo *addresses = NULL;
    const struct addrinfo hints = {
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
        .ai_socktype = SOCK_STREAM,
    };
    char service[8];
    snprintf(service, sizeof(service), "%u", (unsigned)port);
    const int failure = getaddrinfo(host, service, &hints, &addresses);
    if (failure != 0) {
        log_error("listener", "%s: %s", host, gai_strerror(failure));
        return -1;
    }
    int descriptor = -1;
    for (const struct addrinfo *at = addresses; at != NULL && descriptor < 0; at = at->ai_next)
        descriptor = open_address(at);
    const int code = errno;
    freeaddrinfo(addresses);
    char text[128];
    if (descriptor < 0)
        log_error("listener", "cannot listen on %s port %u: %s", host, (unsigned)port,
                  strerror_r(code, text, sizeof(text)));
    return descriptor;
}

enum err http_listener_open(const char *host, uint16_t port, struct http_listener **result)
{
    const int descriptor = open_host(host, port);
    if (descriptor < 0)
        return ERR_IO;
    struct http_listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL)
        panic("no memory for a listener");
    listener->descriptor = descriptor;
    listener->port = bound_port(descriptor);
    listener->wake = eventfd(0, EFD_CLOEXEC);
    if (listener->wake < 0) {
        http_listener_free(listener);
        return ERR_IO;
    }
    *result = listener;
    return OK;
}

uint16_t http_listener_port(const struct http_listener *listener)
{
    return listener->port;
}

/* --- the thread --- */

/* Take one connection; false when there is none, or none can be taken now. */
static bool accept_one(struct http_listener *listener, bool *exhausted)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    const int descriptor = accept4(listener->descriptor, (struct sockaddr *)&address, &len,
                                   SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) {
        listener->complained = false;
        listener->events.accept(listener->events.arg, descriptor, (struct sockaddr *)&address, len);
        return true;
    }
    *exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (*exhausted && !listener->complained) {
        char text[128];
        log_warn("listener", "connections wait: %s", strerror_r(errno, text, sizeof(text)));
        listener->complained = true;
    }
    /* A connection that was reset before it was accepted is no reason to stop. */
    return errno == ECONNABORTED || errno == EINTR;
}

static void *run(void *arg)
{
    struct http_listener *listener = arg;
    for (;;) {
        bool exhausted = listener->events.is_full(listener->events.arg);
        while (!exhausted && accept_one(listener, &exhausted))
            exhausted = listener->events.is_full(listener->events.arg);
        struct pollfd wanted[] = {
            { .fd = listener->wake, .events = POLLIN },
            { .fd = listener->descriptor, .events = POLLIN },
        };
        if (poll(wanted, exhausted ? 1 : 2, exhausted ? RETRY_MS : -1) < 0 && errno != EINTR)
            panic("poll on a listening socket: error %d", errno);
        if (wanted[0].revents != 0)
            return NULL;
    }
}

enum err http_listener_start(struct http_listener *listener,
                             const struct http_listener_events *events)
{
    assert(!listener->started);
    listener->events = *events;
    if (listen(listener->descriptor, BACKLOG) != 0) {
        char text[128];
        log_error("listener", "cannot listen on port %u: %s", (unsigned)listener->port,
                  strerror_r(errno, text, sizeof(text)));
        return ERR_IO;
    }
    if (pthread_create(&listener->thread, NULL, run, listener) != 0)
        return ERR_IO;
    pthread_setname_np(listener->thread, "accept");
    listener->started = true;
    return OK;
}

void http_listener_stop(struct http_listener *listener)
{
    if (listener->started) {
        const uint64_t one = 1;
        if (write(listener->wake, &one, sizeof(one)) != (ssize_t)sizeof(one))
            panic("cannot wake a listener");
        pthread_join(listener->thread, NULL);
        listener->started = false;
    }
    if (listener->descriptor >= 0)
        close(listener->descriptor);
    listener->descriptor = -1;
}

void http_listener_free(struct http_listener *listener)
{
    if (listener == NULL)
        return;
    http_listener_stop(listener);
    if (listener->wake >= 0)
        close(listener->wake);
    free(listener);
}
