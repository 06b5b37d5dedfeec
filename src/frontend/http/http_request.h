/*
 * http_request.h - one request, from its first header to the last byte of its answer.
 *
 * Life, and the function that moves it (http_request.c; http_server.c calls them as bytes arrive):
 *
 *   BEGUN     -> RECEIVING  request_begin: understood, authorized, arguments read
 *   BEGUN     -> REFUSED    request_begin found a fault; the body is read and dropped
 *   RECEIVING -> REFUSED    a fault while the body arrived
 *   RECEIVING -> RUNNING    request_run of a change, or of a read that may have to wait
 *                           (OP_WAITS); the connection is suspended
 *   RECEIVING -> ANSWERED   request_run of any other read
 *   RUNNING   -> RAN        request_done, mostly on a committer's thread
 *   RAN, REFUSED -> ANSWERED  request_answer writes the response
 *
 * Authorization comes before the body is read.  All memory is the request's arena.
 *
 * Threads: a request belongs to the worker of its connection, but for the time between
 * request_run of a change and request_done, when it belongs to the service.
 */
#ifndef FRONTEND_HTTP_HTTP_REQUEST_H
#define FRONTEND_HTTP_HTTP_REQUEST_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "frontend/http/http_error.h"
#include "frontend/http/http_message.h"
#include "frontend/http/http_response.h"
#include "frontend/http/http_route.h"
#include "service/account.h"
#include "service/condition.h"
#include "service/metadata.h"
#include "service/payload.h"
#include "service/service.h"

struct http_fetcher;

/* What all requests of a server share; constant while it runs. */
struct http_context {
    const struct http_service *kind; /* which of the services */
    struct service *service;
    struct http_fetcher *fetcher; /* of copy sources; NULL: there is none */
    const struct account_list *accounts;
    bool path_style_only;
    bool loose; /* unknown headers and parameters the server cannot honour are ignored */
};

/* What the caller was found to be allowed. */
struct http_access {
    bool by_key;       /* has the account's key, and may do everything */
    bool is_anonymous; /* showed no credential: what it sees is public */
    bool create_only;  /* may create blobs but not overwrite them */
    bool no_tags;      /* may neither set tags nor make conditions on them */
    /* response headers a SAS sets: rscc, rscd, rsce, rscl, rsct */
    struct slice cache_control;
    struct slice content_disposition;
    struct slice content_encoding;
    struct slice content_language;
    struct slice content_type;
    /* what the SAS of a table is for: tn, spk, srk, epk, erk; without data where it says nothing */
    struct slice table;
    struct slice first_partition_key;
    struct slice first_row_key;
    struct slice last_partition_key;
    struct slice last_row_key;
    /* what may be done to entities, and to blobs that are deleted, if not by key */
    bool may_delete_version;
    bool may_delete_for_good;
    bool may_read;
    bool may_add;
    bool may_update;
    bool may_delete;
};

enum http_phase {
    PHASE_BEGUN,
    PHASE_RECEIVING,
    PHASE_REFUSED,
    PHASE_RUNNING,
    PHASE_RAN,
    PHASE_ANSWERED,
};

struct http_request {
    /* set when the request arrives, then constant */
    const struct http_context *context;
    struct arena arena;
    struct slice target; /* as on the request line */
    struct http_message message;
    const struct sockaddr *client_address;
    bool https;
    struct uuid id;
    char id_text[UUID_TEXT_LEN + 1];
    int64_t received_at; /* ticks */
    int64_t started_us;  /* clock_monotonic_us */

    /* found by request_begin */
    struct http_address address;
    const struct http_operation *operation; /* NULL until routed */
    int version;                            /* of the protocol, as 20260606; 0 until known */
    int inherited_version;                  /* a part of a batch: that of the whole; else 0 */
    struct slice version_text;
    struct http_access access;
    struct condition condition;
    bool has_lease_id;
    struct uuid lease_id;
    struct metadata metadata;
    int64_t snapshot;     /* rows with OP_SNAPSHOT: ticks; 0: no snapshot */
    int64_t version_id;   /* the same, and with OP_VERSION: of a version of the blob */
    struct metadata tags; /* rows with OP_TAGS */
    struct slice tier;    /* the same; empty if none is named */
    bool must_close;      /* where the request ends is in doubt: nothing more is read */
    bool has_content_length;
    uint64_t content_length;

    /* the body */
    struct payload_writer *body; /* rows with OP_BODY */
    struct strbuf document;      /* rows with OP_DOCUMENT */
    uint64_t body_taken;

    /* the outcome */
    enum http_phase phase;
    enum err err;
    struct http_error_detail details[HTTP_ERROR_DETAILS_MAX];
    size_t detail_count;
    struct slice error_message; /* table service: in place of the usual one; empty if none */
    uint64_t resource_bytes;    /* how long the resource is, when the range was not within it */
    struct from_url *from_url;  /* rows whose body is fetched, or NULL */
    void *arguments; /* of the operation: what its prepare made for its run and respond */
    struct http_response response;

    /* told when a change is durable or refused; set by the server */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* --- for http_server.c --- */

/* The headers are complete: understand and authorize the request. */
void request_begin(struct http_request *request);

/* A piece of the body. */
void request_receive(struct http_request *request, struct slice bytes);

/*
 * The request is complete: perform it.  Afterwards it is ANSWERED, REFUSED, or (a change) RUNNING
 * or already RAN; `wake` is called when a change becomes RAN, maybe before this returns.
 */
void request_run(struct http_request *request);

/*
 * Write the response of a request that RAN or was REFUSED; it is ANSWERED afterwards.  A row's
 * `respond` that finds that it cannot be written sets request->err.
 */
void request_answer(struct http_request *request);

/* Add what every answer may carry beside its own headers. */
void request_complete_answer(struct http_request *request);

/* Answer with an error in place of the response that was written. */
void request_fail_answer(struct http_request *request, enum err err);

/* Whether the operation ends with request_done, so that the connection is to be suspended. */
bool request_waits(const struct http_request *request);

/* --- for the operations (api.h) --- */

/* Note what is at fault, for the error's body, and pass the error on. */
enum err request_fault_header(struct http_request *request, enum err err, const char *name);
enum err request_fault_parameter(struct http_request *request, enum err err, const char *name);
void request_add_detail(struct http_request *request, const char *name, struct slice value);

/* A change is durable (OK) or refused: the `done` of its service_change; `arg` is the request. */
void request_done(void *arg, enum err err);

/* Fill the service's part of a change. */
void request_bind(struct http_request *request, struct service_change *change);

/* The XML body and Content-Type of an error. */
void request_write_xml_error(struct http_request *request, const struct http_error *error,
                             struct http_response *response);

/* Begin an answer: the headers every response has are added when it is sent. */
struct http_response *request_respond(struct http_request *request, unsigned status);

#endif
