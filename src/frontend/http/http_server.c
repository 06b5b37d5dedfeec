/*
 * http_server.c - see http_server.h.
 *
 * How libmicrohttpd calls us for one request, all on the connection's worker:
 *
 *   uri_received      the request line is there: an exchange is taken from the pool
 *   handle, first     headers are there: request_begin
 *   handle, with data a piece of the body: request_receive
 *   handle, at end    request_run; for a change that takes time the connection is suspended
 *   handle, resumed   the change is durable or refused: request_answer
 *   completed         the answer is sent or the connection lost: the exchange goes back
 *
 * A response queued in the first call makes the library close the connection, so answers are queued
 * at the end of the request, after its body has been read and dropped; only a body that is too
 * long to read for nothing is answered at once.
 */
#include "frontend/http/http_server.h"

#include <assert.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/mutex.h"
#include "frontend/http/http_hangup.h"
#include "frontend/http/http_listener.h"
#include "frontend/http/http_metrics.h"
#include "frontend/http/http_reason.h"
#include "frontend/http/tls_transport.h"
#include "service/limits.h"

enum {
    /* Exchanges kept for reuse; their arenas keep a block each. */
    POOL_MAX = 256,
    /* How much of a payload is read at a time when it passes through memory. */
    READ_BYTES = 64 * 1024,
};

/* What has happened to a request that waits: between its worker and whoever calls `done`. */
enum exchange_turn {
    TURN_STARTED,   /* by its worker, which has still to suspend the connection */
    TURN_SUSPENDED, /* `done` resumes the connection */
    TURN_DONE,      /* `done` was called */
};

/* A request and its connection. */
struct exchange {
    struct http_request request;
    struct http_server *server;
    struct MHD_Connection *connection;
    bool begun;    /* the first call of `handle` has been made */
    bool answered; /* a response has been queued */
    bool running;  /* a change is under way, for which the connection may be suspended */
    _Atomic enum exchange_turn turn;
    unsigned status;
    struct exchange *next; /* in the pool */
};

struct http_server {
    /* set at start, then constant */
    const struct http_context *context; /* NULL: the admin endpoint */
    struct http_listener *listener;
    struct http_hangup *hangup;
    struct MHD_Daemon *daemon;
    bool https;

    /* under lock */
    struct mutex lock;
    struct condvar idle; /* in_flight or running is 0 */
    struct exchange *pool;
    size_t pool_count;
    size_t in_flight;
    size_t running; /* changes that wait for their commit; part of in_flight */

    _Atomic bool stopping;
    int64_t cut_off_at_us; /* of whoever stops it: slow clients are waited for no longer */
    _Atomic int connections;
};

/* --- exchanges --- */

static struct exchange *exchange_take(struct http_server *server)
{
    mutex_lock(&server->lock);
    struct exchange *exchange = server->pool;
    if (exchange != NULL) {
        server->pool = exchange->next;
        server->pool_count--;
    }
    mutex_unlock(&server->lock);
    if (exchange == NULL)
        exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL)
        panic("no memory for a request");
    return exchange;
}

/* The request is complete enough to be waited for when the server stops. */
static void exchange_begin(struct http_server *server, struct exchange *exchange)
{
    exchange->begun = true;
    mutex_lock(&server->lock);
    server->in_flight++;
    mutex_unlock(&server->lock);
}

/* The change the exchange asked for is under way, or has been decided. */
static void exchange_set_running(struct exchange *exchange, bool running)
{
    struct http_server *server = exchange->server;
    if (exchange->running == running)
        return;
    exchange->running = running;
    mutex_lock(&server->lock);
    server->running = running ? server->running + 1 : server->running - 1;
    if (server->running == 0)
        condvar_broadcast(&server->idle);
    mutex_unlock(&server->lock);
}

static void exchange_give_back(struct http_server *server, struct exchange *exchange)
{
    const bool begun = exchange->begun;
    /* The client may have gone before it was told the outcome. */
    exchange_set_running(exchange, false);
    /* Clearing runs clean-ups (pins, unfinished payloads), so it comes before the lock. */
    struct arena arena = exchange->request.arena;
    arena_clear(&arena);
    *exchange = (struct exchange){ .request.arena = arena };

    mutex_lock(&server->lock);
    const bool keep = server->pool_count < POOL_MAX;
    if (keep) {
        exchange->next = server->pool;
        server->pool = exchange;
        server->pool_count++;
    }
    if (begun)
        server->in_flight--;
    if (server->in_flight == 0)
        condvar_broadcast(&server->idle);
    mutex_unlock(&server->lock);
    if (!keep) {
        arena_release(&exchange->request.arena);
        free(exchange);
    }
}

/*
 * The query is ours to read.  The library would read it too, into a list in the connection's
 * buffer, which a long query fills up until no answer can be written; so it is shown an empty one.
 * `uri` is the library's own buffer, const to us only in the signature.
 */
static void hide_query(const char *uri)
{
    const char *question = uri == NULL ? NULL : strchr(uri, '?');
    if (question != NULL)
        *(char *)(uintptr_t)(question + 1) = '\0';
}

static void *uri_received(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct http_server *server = cls;
    struct exchange *exchange = exchange_take(server);
    struct http_request *request = &exchange->request;
    exchange->server = server;
    exchange->connection = connection;
    /* The library takes the line apart in place after this call. */
    request->target = arena_copy(&request->arena, slice_of(uri));
    hide_query(uri);
    request->context = server->context;
    request->https = server->https;
    request->started_us = clock_monotonic_us();
    http_metrics_in_flight(1);
    return exchange;
}

/* The `wake` of a request.  Unless the connection is suspended, the exchange is its worker's again
   and may be gone. */
static void resume(void *arg)
{
    struct exchange *exchange = arg;
    if (atomic_exchange(&exchange->turn, TURN_DONE) == TURN_SUSPENDED)
        MHD_resume_connection(exchange->connection);
}

/* Start a request that waits.  False: it is done already; true: the connection is suspended. */
static bool start_waiting(struct exchange *exchange)
{
    exchange_set_running(exchange, true);
    atomic_store(&exchange->turn, TURN_STARTED);
    request_run(&exchange->request);
    /* What is refused or read at once needs no detour through the library's queue. */
    if (atomic_load(&exchange->turn) == TURN_DONE)
        return false;
    MHD_suspend_connection(exchange->connection);
    enum exchange_turn turn = TURN_STARTED;
    if (!atomic_compare_exchange_strong(&exchange->turn, &turn, TURN_SUSPENDED))
        MHD_resume_connection(exchange->connection);
    return true;
}

/* --- reading the request --- */

struct header_gathering {
    struct http_field *headers;
    size_t count;
};

static enum MHD_Result gather_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                     size_t key_len, const char *value, size_t value_len)
{
    struct header_gathering *gathering = cls;
    (void)kind;
    gathering->headers[gathering->count++] = (struct http_field){
        .name = slice_make(key, key_len),
        .value = slice_make(value, value_len),
    };
    return MHD_YES;
}

static void gather_headers(struct exchange *exchange)
{
    struct http_message *message = &exchange->request.message;
    const int count = MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, NULL, NULL);
    struct header_gathering gathering = {
        .headers = arena_alloc(&exchange->request.arena,
                               (size_t)(count < 0 ? 0 : count) * sizeof(struct http_field)),
    };
    MHD_get_connection_values_n(exchange->connection, MHD_HEADER_KIND, gather_header, &gathering);
    message->headers = gathering.headers;
    message->header_count = gathering.count;
}

static void begin(struct exchange *exchange, const char *method)
{
    struct http_request *request = &exchange->request;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    request->client_address = info == NULL ? NULL : info->client_addr;
    request->message.method = slice_of(method);
    request->id = uuid_quick();
    uuid_format(&request->id, request->id_text);
    request->received_at = clock_now(request->context->service->clock);
    request->wake = resume;
    request->wake_arg = exchange;
    gather_headers(exchange);
    exchange_begin(exchange->server, exchange);
    request_begin(request);
}

/* A refused request whose body is not worth reading, or whose client waits to be told to send
   it. */
static bool is_answered_at_once(const struct http_request *request)
{
    if (request->phase == PHASE_REFUSED && request->must_close)
        return true;
    if (request->phase != PHASE_REFUSED || request->content_length == 0)
        return false;
    return request->content_length > LIMIT_DRAIN_BYTES ||
           http_message_find_header(&request->message, "expect") != NULL;
}

/* --- writing the answer --- */

static ssize_t read_payload(void *cls, uint64_t position, char *buf, size_t max)
{
    struct exchange *exchange = cls;
    const struct http_response *response = &exchange->request.response;
    const uint64_t left = response->payload_length - position;
    const size_t len = left < max ? (size_t)left : max;
    const enum err err =
        payload_read(response->payload, response->payload_offset + position, buf, len);
    if (err != OK) {
        log_error("request", "%s: the answer is cut short: %s", exchange->request.id_text,
                  error_text(err));
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    return (ssize_t)len;
}

static struct MHD_Response *buffer_response(const char *bytes, uint64_t len)
{
    return MHD_create_response_from_buffer((size_t)len, (void *)(uintptr_t)bytes,
                                           MHD_RESPMEM_PERSISTENT);
}

/* A short payload is read, and checked, at once, so that it leaves in one piece with the
   headers. */
static struct MHD_Response *short_payload_response(struct exchange *exchange)
{
    const struct http_response *response = &exchange->request.response;
    char *bytes = arena_bytes(&exchange->request.arena, (size_t)response->payload_length);
    if (read_payload(exchange, 0, bytes, (size_t)response->payload_length) < 0)
        return NULL;
    return buffer_response(bytes, response->payload_length);
}

/* The payload's bytes by the cheapest way there is: from memory, by sendfile if they were checked
   a short while ago, or through a buffer, which checks them. */
static struct MHD_Response *payload_response(struct exchange *exchange)
{
    const struct http_response *response = &exchange->request.response;
    struct payload_reader *payload = response->payload;
    const bool head = slice_is(exchange->request.message.method, "HEAD");
    if (payload->bytes.len > 0 && !head)
        return buffer_response(payload->bytes.data + response->payload_offset,
                               response->payload_length);
    if (response->payload_length <= READ_BYTES && !head)
        return short_payload_response(exchange);
    uint64_t file_offset = 0;
    const int descriptor = head || exchange->server->https
                               ? -1
                               : payload_descriptor(payload, response->payload_offset,
                                                    response->payload_length, &file_offset);
    /* The library closes what it is given. */
    const int copy = descriptor < 0 ? -1 : dup(descriptor);
    if (copy >= 0) {
        struct MHD_Response *from_file =
            MHD_create_response_from_fd_at_offset64(response->payload_length, copy, file_offset);
        if (from_file == NULL)
            close(copy);
        return from_file;
    }
    return MHD_create_response_from_callback(response->payload_length, READ_BYTES, read_payload,
                                             exchange, NULL);
}

static uint64_t body_bytes(const struct http_response *response)
{
    return response->payload != NULL ? response->payload_length : response->body.len;
}

static struct MHD_Response *body_response(struct exchange *exchange)
{
    const struct http_response *response = &exchange->request.response;
    if (response->payload != NULL && response->payload_length > 0)
        return payload_response(exchange);
    return MHD_create_response_from_buffer(
        response->body.len, (void *)(uintptr_t)response->body.data, MHD_RESPMEM_PERSISTENT);
}

/* What every answer carries. */
static void add_common_headers(struct exchange *exchange)
{
    struct http_request *request = &exchange->request;
    struct http_response *response = &request->response;
    http_response_add_text(response, "Server", request->context->kind->server);
    http_response_add_text(response, "x-ms-request-id", request->id_text);
    http_response_add(response, "x-ms-version",
                      request->version == 0 ? (struct slice){ 0 } : request->version_text);
    http_response_add_date(response, "Date", request->received_at);
    const struct slice client_id = http_message_header(&request->message, "x-ms-client-request-id");
    if (client_id.len <= LIMIT_CLIENT_REQUEST_ID_MAX)
        http_response_add(response, "x-ms-client-request-id", client_id);
    if (atomic_load_explicit(&exchange->server->stopping, memory_order_relaxed))
        http_response_add_text(response, "Connection", "close");
}

/* The library sends a body after the head. */
static bool has_body(const struct exchange *exchange)
{
    const struct http_response *response = &exchange->request.response;
    const unsigned status = response->status;
    if (slice_is(exchange->request.message.method, "HEAD") || status < 200 || status == 204 ||
        status == 304)
        return false;
    return body_bytes(response) > 0;
}

static struct tls_transport *transport_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    assert(info != NULL && info->socket_context != NULL);
    return info->socket_context;
}

static enum MHD_Result queue_answer(struct exchange *exchange)
{
    struct http_response *response = &exchange->request.response;
    struct MHD_Response *answer = body_response(exchange);
    if (answer == NULL) {
        /* The payload cannot be read, and nothing has been sent yet. */
        request_fail_answer(&exchange->request, ERR_CORRUPT);
        answer = body_response(exchange);
    }
    if (answer == NULL)
        return MHD_NO;
    request_complete_answer(&exchange->request);
    add_common_headers(exchange);
    for (size_t i = 0; i < response->header_count; i++)
        if (MHD_add_response_header(answer, response->headers[i].name.data,
                                    response->headers[i].value.data) != MHD_YES)
            log_warn("request", "%s: header %s cannot be sent", exchange->request.id_text,
                     response->headers[i].name.data);
    exchange->status = response->status;
    exchange->answered = true;
    http_reason_set(response->reason);
    if (exchange->server->https && has_body(exchange))
        tls_transport_hold(transport_of(exchange->connection));
    const enum MHD_Result queued =
        MHD_queue_response(exchange->connection, response->status, answer);
    MHD_destroy_response(answer);
    return queued;
}

/* --- the library's calls --- */

/* The request is complete, or the change it asked for has been decided. */
static enum MHD_Result proceed(struct exchange *exchange)
{
    struct http_request *request = &exchange->request;
    if (request->phase == PHASE_RECEIVING) {
        if (!request_waits(request))
            request_run(request);
        else if (start_waiting(exchange))
            return MHD_YES;
    }
    if (request->phase == PHASE_RAN)
        exchange_set_running(exchange, false);
    if (request->phase == PHASE_RUNNING)
        return MHD_YES;
    if (request->phase != PHASE_ANSWERED)
        request_answer(request);
    return queue_answer(exchange);
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              size_t *upload_data_size, void **con_cls)
{
    struct exchange *exchange = *con_cls;
    (void)cls;
    (void)connection;
    (void)url;
    (void)version;
    assert(exchange != NULL);
    if (!exchange->begun) {
        begin(exchange, method);
        if (!is_answered_at_once(&exchange->request))
            return MHD_YES;
        request_answer(&exchange->request);
        return queue_answer(exchange);
    }
    if (*upload_data_size > 0) {
        request_receive(&exchange->request, slice_make(upload_data, *upload_data_size));
        *upload_data_size = 0;
        const bool dropped = exchange->request.body == NULL;
        return dropped && exchange->request.body_taken > LIMIT_DRAIN_BYTES ? MHD_NO : MHD_YES;
    }
    return proceed(exchange);
}

static void completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                      enum MHD_RequestTerminationCode code)
{
    struct http_server *server = cls;
    struct exchange *exchange = *con_cls;
    (void)connection;
    (void)code;
    *con_cls = NULL;
    if (exchange == NULL)
        return;
    const struct http_request *request = &exchange->request;
    const int64_t span_us = clock_monotonic_us() - request->started_us;
    http_metrics_in_flight(-1);
    if (exchange->answered && server->context != NULL) {
        http_metrics_answered(request->context->kind, request->operation, exchange->status, span_us,
                              request->body_taken, body_bytes(&request->response));
        if (log_enabled(LOG_DEBUG))
            log_debug("request", "%s %.*s %.*s %u %" PRId64 "us", request->id_text,
                      (int)request->message.method.len, request->message.method.data,
                      (int)request->message.path.len, request->message.path.data, exchange->status,
                      span_us);
    }
    exchange_give_back(server, exchange);
}

/* Percent-encoding is ours to decode: the signature covers the path as it was sent. */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
    (void)cls;
    (void)connection;
    return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void library_log(void *cls, const char *format,
                                                              va_list arguments)
{
    char line[512];
    (void)cls;
    if (!log_enabled(LOG_DEBUG))
        return;
    vsnprintf(line, sizeof(line), format, arguments);
    const size_t len = strcspn(line, "\n");
    log_debug("http", "%.*s", (int)len, line);
}

static void library_panic(void *cls, const char *file, unsigned int line, const char *reason)
{
    (void)cls;
    panic("libmicrohttpd, %s:%u: %s", file, line, reason == NULL ? "no reason given" : reason);
}

/* --- the admin endpoint --- */

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *type, struct slice body)
{
    struct MHD_Response *answer = MHD_create_response_from_buffer(
        body.len, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
    if (answer == NULL)
        return MHD_NO;
    MHD_add_response_header(answer, "Content-Type", type);
    const enum MHD_Result queued = MHD_queue_response(connection, status, answer);
    MHD_destroy_response(answer);
    return queued;
}

static enum MHD_Result handle_admin(void *cls, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version,
                                    const char *upload_data, size_t *upload_data_size,
                                    void **con_cls)
{
    struct exchange *exchange = *con_cls;
    (void)cls;
    (void)version;
    (void)upload_data;
    if (!exchange->begun) {
        exchange_begin(exchange->server, exchange);
        return MHD_YES;
    }
    if (*upload_data_size > 0) {
        *upload_data_size = 0;
        return MHD_YES;
    }
    const bool read = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (!read)
        return answer_text(connection, 405, "text/plain", slice_of("method not allowed\n"));
    if (strcmp(url, "/healthz") == 0)
        return answer_text(connection, 200, "text/plain", slice_of("ok\n"));
    if (strcmp(url, "/metrics") != 0)
        return answer_text(connection, 404, "text/plain",
                           slice_of("here are /healthz and /metrics\n"));
    struct strbuf text;
    strbuf_init(&text, &exchange->request.arena);
    metric_print_all(&text);
    return answer_text(connection, 200, "text/plain; version=0.0.4", strbuf_slice(&text));
}

/* --- starting and stopping --- */

/* A connection begins, or is about to be closed. */
static void notice_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                              enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = cls;
    const bool started = code == MHD_CONNECTION_NOTIFY_STARTED;
    atomic_fetch_add_explicit(&server->connections, started ? 1 : -1, memory_order_relaxed);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info != NULL);
    const int descriptor = info->connect_fd;
    if (!started) {
        http_hangup_forget(server->hangup, descriptor);
        tls_transport_free(*socket_context);
        return;
    }
    http_hangup_watch(server->hangup, descriptor);
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info != NULL) /* over TLS */
        *socket_context = tls_transport_new(info->tls_session, descriptor);
}

/* The library deals connections out to its workers by their descriptor's number. */
static void accepted(void *arg, int descriptor, const struct sockaddr *address, socklen_t len)
{
    struct http_server *server = arg;
    /* On failure it has closed the descriptor and said why. */
    (void)MHD_add_connection(server->daemon, descriptor, address, len);
}

static bool is_full(void *arg)
{
    struct http_server *server = arg;
    return atomic_load_explicit(&server->connections, memory_order_relaxed) >=
           LIMIT_CONNECTIONS_MAX;
}

/*
 * TLS 1.2 and 1.3, with ciphers that authenticate what they encrypt and keys that are forgotten
 * after the connection: a stolen private key opens nothing that was recorded before.
 */
#define TLS_PRIORITIES                                                                             \
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-CIPHER-ALL:+AES-256-GCM:"        \
    "+AES-128-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD"

static struct MHD_Daemon *start_daemon(struct http_server *server,
                                       const struct http_server_options *options)
{
    const bool https = options->certificate != NULL;
    const unsigned flags = (unsigned)MHD_USE_EPOLL_INTERNAL_THREAD |
                           (unsigned)MHD_USE_NO_LISTEN_SOCKET | (unsigned)MHD_USE_ITC |
                           (unsigned)MHD_ALLOW_SUSPEND_RESUME | (unsigned)MHD_USE_ERROR_LOG |
                           (https ? (unsigned)MHD_USE_TLS : 0);
    struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->certificate },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->key },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
        { options->key_password == NULL ? MHD_OPTION_END : MHD_OPTION_HTTPS_KEY_PASSWORD, 0,
          (void *)(uintptr_t)options->key_password },
        { MHD_OPTION_END, 0, NULL },
    };
    struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
    /* A pool of one is no pool to the library. */
    struct MHD_OptionItem pool[] = {
        { options->workers > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
          (intptr_t)options->workers, NULL },
        { MHD_OPTION_END, 0, NULL },
    };
    return MHD_start_daemon(
        flags, 0, NULL, NULL, server->context != NULL ? handle : handle_admin, server,
        /* The logger comes first, so that what the other options complain of is logged. */
        MHD_OPTION_EXTERNAL_LOGGER, library_log, NULL, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)LIMIT_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)LIMIT_CONNECTION_BUFFER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, options->idle_sec,
        MHD_OPTION_NOTIFY_CONNECTION, notice_connection, server, MHD_OPTION_URI_LOG_CALLBACK,
        uri_received, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, completed, server, MHD_OPTION_ARRAY, https ? tls : none,
        MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
}

static enum err server_new(const struct http_context *context,
                           const struct http_server_options *options, struct http_server **result)
{
    struct http_server *server = calloc(1, sizeof(*server));
    if (server == NULL)
        panic("no memory for a server");
    server->context = context;
    server->https = options->certificate != NULL;
    mutex_init(&server->lock, LOCK_HTTP_SERVER);
    condvar_init(&server->idle);
    MHD_set_panic_func(library_panic, NULL);
    server->listener = options->listener;
    enum err err = http_hangup_new(&server->hangup);
    if (err == OK) {
        server->daemon = start_daemon(server, options);
        err = server->daemon == NULL ? ERR_IO : OK;
        if (err != OK)
            log_error("listener", "the HTTP workers cannot be started%s",
                      server->https ? "; is the key the certificate's?" : "");
    }
    const struct http_listener_events events = { accepted, is_full, server };
    if (err == OK)
        err = http_listener_start(server->listener, &events);
    if (err == OK)
        *result = server;
    else
        http_server_free(server);
    return err;
}

enum err http_server_new(const struct http_context *context,
                         const struct http_server_options *options, struct http_server **server)
{
    assert(context != NULL);
    return server_new(context, options, server);
}

enum err http_admin_new(const struct http_server_options *options, struct http_server **server)
{
    return server_new(NULL, options, server);
}

uint16_t http_server_port(const struct http_server *server)
{
    return http_listener_port(server->listener);
}

void http_server_begin_stop(struct http_server *server)
{
    atomic_store(&server->stopping, true);
    http_listener_stop(server->listener);
    server->cut_off_at_us = clock_monotonic_us() + LIMIT_STOP_SEC * INT64_C(1000000);
}

void http_server_stop(struct http_server *server)
{
    assert(atomic_load(&server->stopping));
    mutex_lock(&server->lock);
    bool early = true;
    while (server->in_flight > 0 && early)
        early = condvar_wait_until(&server->idle, &server->lock, server->cut_off_at_us);
    if (server->in_flight > 0)
        log_warn("listener", "%zu requests of slow clients are cut off", server->in_flight);
    /* A suspended connection cannot be closed; its commit is under way and will end. */
    while (server->running > 0)
        condvar_wait(&server->idle, &server->lock);
    mutex_unlock(&server->lock);
}

void http_server_free(struct http_server *server)
{
    if (server == NULL)
        return;
    http_listener_free(server->listener);
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    http_hangup_free(server->hangup);
    while (server->pool != NULL) {
        struct exchange *exchange = server->pool;
        server->pool = exchange->next;
        arena_release(&exchange->request.arena);
        free(exchange);
    }
    condvar_release(&server->idle);
    mutex_release(&server->lock);
    free(server);
}
