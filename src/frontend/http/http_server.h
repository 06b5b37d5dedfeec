/*
 * http_server.h - libmicrohttpd on one side, requests on the other.
 *
 * A server has one listening socket and one epoll worker per core.  A worker reads headers, hands
 * body pieces to the request as they arrive, and performs reads itself; a change suspends its
 * connection until the service says it is durable, so that no worker ever waits for a sync.
 *
 * Stopping: http_server_begin_stop accepts no more, http_server_stop lets requests under way finish
 * (each answer closes its connection), http_server_free closes what is left.
 */
#ifndef FRONTEND_HTTP_HTTP_SERVER_H
#define FRONTEND_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "frontend/http/http_listener.h"
#include "frontend/http/http_request.h"

struct http_server;

struct http_server_options {
    struct http_listener *listener; /* taken over, also on error */
    unsigned workers;
    unsigned idle_sec; /* a connection that neither sends nor takes a byte for so long is closed */
    /* PEM texts, or NULL for plain HTTP; `key_password` may be NULL. */
    const char *certificate;
    const char *key;
    const char *key_password;
};

/* A service.  `context` is kept.  ERR_IO when it cannot listen or has no workers (logged). */
MUST_CHECK enum err http_server_new(const struct http_context *context,
                                    const struct http_server_options *options,
                                    struct http_server **server);

/* The admin endpoint: /healthz and /metrics, without authentication. */
MUST_CHECK enum err http_admin_new(const struct http_server_options *options,
                                   struct http_server **server);

uint16_t http_server_port(const struct http_server *server);

/* Accept no more, and count the time that slow clients have from now. */
void http_server_begin_stop(struct http_server *server);

/* Wait for requests under way: for slow clients until LIMIT_STOP_SEC after
   http_server_begin_stop. */
void http_server_stop(struct http_server *server);

/* Close every connection and free the server; after http_server_stop.  NULL is fine. */
void http_server_free(struct http_server *server);

#endif
