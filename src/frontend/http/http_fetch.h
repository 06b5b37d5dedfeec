/*
 * http_fetch.h - gets the bytes of copy sources: by HTTP from elsewhere, or from this server's
 * store.
 *
 * A fetch is started with its callbacks, all of which run on the fetcher's thread:
 *
 *   begun     once, when status and headers are known; says whether to go on, to wait or to stop
 *   receive   for each piece of the body; an error ends the fetch
 *   done      once, last of all; the fetch is the caller's again
 *
 * A fetch that waits goes on when http_fetch_resume is called, by any thread.
 *
 * Fetching what a client names is the operation, so the limits are these: http and https alone, no
 * redirections (a source that redirects is refused, so that a name that was allowed cannot become
 * another), HTTP/1.1, a time to connect, a lowest speed, and a number of transfers at a time;
 * others wait for their turn.  Certificates are checked.  Whoever must keep clients from reaching
 * addresses inside a network puts the server where it cannot reach them either (docs/copying.md).
 *
 * One thread for all fetches.  A piece of a local source is as small as one from a socket, so that
 * all of them go forward.
 */
#ifndef FRONTEND_HTTP_HTTP_FETCH_H
#define FRONTEND_HTTP_HTTP_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_message.h"
#include "service/payload.h"

struct http_fetcher;

enum http_fetch_next {
    HTTP_FETCH_GO,
    HTTP_FETCH_WAIT, /* until http_fetch_resume */
    HTTP_FETCH_STOP, /* `done` gets the fetch's `err` */
};

struct http_fetch {
    /* filled by the caller, and kept until `done` */
    struct arena *arena;  /* used by the fetcher's thread until `done` */
    const char *url;      /* NULL: a local source */
    const char **headers; /* "Name: value" */
    size_t header_count;
    struct payload_reader *reader; /* a local source */
    uint64_t reader_offset;
    uint64_t reader_length;
    enum http_fetch_next (*begun)(void *arg, struct http_fetch *fetch);
    enum err (*receive)(void *arg, struct slice bytes);
    void (*done)(void *arg, enum err err);
    void *arg;

    /* known when `begun` is called; of a local source only the length */
    unsigned status;
    struct http_message answer; /* its headers */
    bool has_length;
    uint64_t length_bytes; /* of the body */
    enum err err;          /* why the caller stops */

    /* for the fetcher */
    struct http_fetcher *fetcher;
    struct http_fetch *next;
    void *easy; /* CURL *, while it is under way */
    void *list; /* struct curl_slist * */
    struct http_field *fields;
    size_t field_count;
    uint64_t taken_bytes;
    enum fetch_state {
        FETCH_QUEUED,
        FETCH_ACTIVE,
        FETCH_WAITING,
        FETCH_RESUMED,
    } state;
    bool has_begun;
    bool is_over; /* all has arrived, while the fetch waits */
    enum err outcome;
};

MUST_CHECK enum err http_fetcher_new(struct http_fetcher **fetcher);

/* End all fetches, which get ERR_SHUTTING_DOWN, as do those started from now on. */
void http_fetcher_stop(struct http_fetcher *fetcher);

/* Stops if need be, and waits until nobody holds it.  NULL is fine. */
void http_fetcher_free(struct http_fetcher *fetcher);

/* Begin; `done` may be called before this returns only when the fetcher has stopped. */
void http_fetch_start(struct http_fetcher *fetcher, struct http_fetch *fetch);

/* Go on after HTTP_FETCH_WAIT; may come before the fetcher has seen that answer. */
void http_fetch_resume(struct http_fetch *fetch);

/* Work that goes on after a fetch: http_fetcher_free waits for it. */
void http_fetcher_hold(struct http_fetcher *fetcher);
void http_fetcher_let_go(struct http_fetcher *fetcher);

/* The error that a source's status means; OK for 200 and 206. */
enum err http_fetch_status_error(unsigned status);

#endif
