/*
 * http_request_fixture.h - requests without a socket.
 *
 * A test describes a request (struct sent), sends it, and looks at its answer, which stays in
 * `request` until the next one.  Requests are signed as a client signs them.  Behind them is a
 * service on the memory engine without threads (service_fixture.h).
 */
#ifndef TESTS_UNIT_FRONTEND_HTTP_REQUEST_FIXTURE_H
#define TESTS_UNIT_FRONTEND_HTTP_REQUEST_FIXTURE_H

#include <arpa/inet.h>

#include "../service/service_fixture.h"
#include "base/date.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "frontend/http/auth_sharedkey.h"
#include "frontend/http/http_request.h"

#define ACCOUNT "/" FIXTURE_ACCOUNT_NAME
#define LEASE_A "0a000000-0000-0000-0000-00000000000a"
#define LEASE_B "0b000000-0000-0000-0000-00000000000b"

enum {
    HEADERS_MAX = 8,
    WANTED_MAX = 12,
};

static struct account_list *accounts;
static struct http_context context;
static struct http_request request;  /* the latest */
static struct waiter request_waiter; /* for its answer */
static bool request_waiting;         /* the answer is to be waited for */
static struct sockaddr_in client;

static inline int requests_setup(void **state)
{
    (void)state;
    const char *fault = NULL;
    client.sin_family = AF_INET;
    client.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (account_list_new(NULL, &accounts, &fault) != OK)
        return -1;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static inline int requests_teardown(void **state)
{
    (void)state;
    account_list_free(accounts);
    return 0;
}

static inline int request_setup(void **state)
{
    service_fixture_setup(state);
    struct service_fixture *fixture = *state;
    context = (struct http_context){ .kind = &http_blob_service,
                                     .service = &fixture->service,
                                     .accounts = accounts };
    return 0;
}

/* The latest request is over: whatever it held goes with its arena. */
static inline void forget_request(void)
{
    arena_release(&request.arena);
    request = (struct http_request){ 0 };
}

static inline int request_teardown(void **state)
{
    forget_request();
    return service_fixture_teardown(state);
}

/* --- sending --- */

enum credential {
    BY_KEY,
    BY_URL, /* a SAS in the target, or nothing at all */
    BY_WRONG_KEY,
};

struct sent {
    const char *line;  /* method and target, which is within the account */
    bool whole_target; /* the target is all there is */
    const char *headers[HEADERS_MAX];
    const char *body;
    enum credential credential;
    bool no_version;
    bool no_length;
    const char *length; /* what Content-Length says, if not the truth */
};

struct header_list {
    struct http_field fields[HEADERS_MAX + 6];
    size_t count;
};

static inline void header_add(struct header_list *list, const char *name, struct slice value)
{
    list->fields[list->count++] =
        (struct http_field){ slice_of(name), arena_copy(&request.arena, value) };
}

static inline struct slice hmac_base64(struct slice text)
{
    uint8_t mac[DIGEST_SHA256_BYTES];
    char *encoded = arena_bytes(&request.arena, BASE64_LEN(sizeof(mac)) + 1);
    digest_hmac(&account_list_get(accounts, 0)->keys[0], text, mac);
    base64_encode(slice_make(mac, sizeof(mac)), encoded);
    return slice_of(encoded);
}

/* Sign the message as a client would. */
static inline void header_add_signature(struct header_list *list, const struct sent *sent)
{
    struct http_message message = { .method = request.message.method,
                                    .headers = list->fields,
                                    .header_count = list->count };
    if (http_message_parse_target(&request.arena, request.target, &message) != OK)
        return;
    const struct auth_sharedkey_request signed_request = {
        .message = &message,
        .account = account_list_get(accounts, 0),
        .addressing = AUTH_PATH_STYLE,
        .dialect = context.kind->dialect,
        .now = request.received_at,
    };
    struct slice text;
    assert_int_equal(auth_sharedkey_text(&request.arena, &signed_request,
                                         slice_of(FIXTURE_ACCOUNT_NAME), AUTH_SHAREDKEY,
                                         AUTH_ORDER_BYTES, &text),
                     OK);
    if (sent->credential == BY_WRONG_KEY)
        text = slice_of("something else");
    const struct slice signature = hmac_base64(text);
    header_add(list, "Authorization",
               arena_printf(&request.arena, "SharedKey %s:%.*s", FIXTURE_ACCOUNT_NAME,
                            (int)signature.len, signature.data));
}

static inline bool header_is_given(const struct header_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (slice_equal_nocase(list->fields[i].name, slice_of(name)))
            return true;
    return false;
}

static inline void fill_headers(const struct sent *sent)
{
    struct header_list *list = arena_alloc(&request.arena, sizeof(*list));
    char date[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(request.received_at, date);
    header_add(list, "Host", slice_of("127.0.0.1:10000"));
    header_add(list, "x-ms-date", slice_of(date));
    for (size_t i = 0; i < HEADERS_MAX && sent->headers[i] != NULL; i++) {
        const struct slice header = slice_of(sent->headers[i]);
        const size_t colon = slice_find_byte(header, ':');
        header_add(list, arena_copy(&request.arena, slice_head(header, colon)).data,
                   slice_trim(slice_from(header, colon + 1)));
    }
    if (!sent->no_version && !header_is_given(list, "x-ms-version"))
        header_add(list, "x-ms-version", slice_of("2021-12-02"));
    const size_t body_len = sent->body == NULL ? 0 : strlen(sent->body);
    if (!sent->no_length)
        header_add(list, "Content-Length",
                   sent->length != NULL ? slice_of(sent->length)
                                        : arena_printf(&request.arena, "%zu", body_len));
    if (sent->credential != BY_URL)
        header_add_signature(list, sent);
    request.message.headers = list->fields;
    request.message.header_count = list->count;
}

static inline void woken(void *arg)
{
    waiter_done(arg, OK);
}

/* The body in two pieces, as a network gives it. */
static inline void receive_body(struct slice body)
{
    if (body.len > 1)
        request_receive(&request, slice_head(body, body.len / 2));
    if (body.len > 0)
        request_receive(&request, slice_from(body, body.len > 1 ? body.len / 2 : 0));
}

/* Send the line and the headers of a request. */
static inline void begin_request(struct service_fixture *fixture, const struct sent *sent)
{
    forget_request();
    const struct slice line = slice_of(sent->line);
    const size_t space = slice_find_byte(line, ' ');
    waiter_init(&request_waiter);
    request.context = &context;
    request.message.method = arena_copy(&request.arena, slice_head(line, space));
    request.target = arena_printf(&request.arena, "%s%s", sent->whole_target ? "" : ACCOUNT,
                                  slice_from(line, space + 1).data);
    request.client_address = (const struct sockaddr *)&client;
    request.id = uuid_quick();
    uuid_format(&request.id, request.id_text);
    request.received_at = clock_now(&fixture->clock);
    request.wake = woken;
    request.wake_arg = &request_waiter;
    fill_headers(sent);
    request_begin(&request);
}

/* Send a request, up to where it may have to wait: PHASE_RUNNING if it does. */
static inline void start_request(struct service_fixture *fixture, const struct sent *sent)
{
    begin_request(fixture, sent);
    receive_body(slice_of(sent->body));
    request_waiting = request.phase == PHASE_RECEIVING && request_waits(&request);
    if (request.phase == PHASE_RECEIVING)
        request_run(&request);
}

/* Wait for the answer, which is in `request` afterwards. */
static inline void finish_request(void)
{
    if (request_waiting)
        assert_int_equal(waiter_wait(&request_waiter), OK);
    if (request.phase != PHASE_ANSWERED)
        request_answer(&request);
    assert_int_equal(request.phase, PHASE_ANSWERED);
}

/* Send a request and wait for its answer. */
static inline void send_request(struct service_fixture *fixture, const struct sent *sent)
{
    start_request(fixture, sent);
    finish_request();
}

/* --- looking at the answer --- */

static inline const char *answer_header(const char *name)
{
    for (size_t i = 0; i < request.response.header_count; i++)
        if (strcmp(request.response.headers[i].name.data, name) == 0)
            return request.response.headers[i].value.data;
    return NULL;
}

static inline struct slice answer_body(void)
{
    const struct http_response *response = &request.response;
    if (response->payload == NULL)
        return response->body;
    if (slice_is(request.message.method, "HEAD"))
        return (struct slice){ 0 };
    char *bytes = arena_bytes(&request.arena, (size_t)response->payload_length);
    assert_int_equal(payload_read(response->payload, response->payload_offset, bytes,
                                  (size_t)response->payload_length),
                     OK);
    return slice_make(bytes, (size_t)response->payload_length);
}

static inline void assert_status(const struct sent *sent, unsigned status)
{
    if (request.response.status != status) {
        const struct slice body = answer_body();
        print_message("%s: %u %.*s\n", sent->line, request.response.status, (int)body.len,
                      body.data);
    }
    assert_int_equal(request.response.status, status);
}

/* "Name: value", "Name: *" for any value, "!Name" for none. */
static inline void assert_header(const char *wanted)
{
    char name[64];
    const struct slice text = slice_of(wanted);
    const size_t colon = slice_find_byte(text, ':');
    const size_t start = text.data[0] == '!' ? 1 : 0;
    assert_true(colon < sizeof(name));
    memcpy(name, text.data + start, colon - start);
    name[colon - start] = '\0';
    const char *found = answer_header(name);
    if (start == 1) {
        assert_null(found);
        return;
    }
    if (found == NULL)
        print_message("no %s\n", name);
    assert_non_null(found);
    const char *value = slice_from(text, colon + 2).data;
    if (strcmp(value, "*") != 0)
        assert_string_equal(found, value);
}

static inline void assert_headers(const char *const wanted[WANTED_MAX])
{
    for (size_t i = 0; i < WANTED_MAX && wanted[i] != NULL; i++)
        assert_header(wanted[i]);
}

static inline void assert_body_has(const char *text)
{
    const struct slice body = answer_body();
    const void *found = body.len == 0 ? NULL : memmem(body.data, body.len, text, strlen(text));
    if (found == NULL)
        print_message("%.*s has no %s\n", (int)body.len, body.data, text);
    assert_non_null(found);
}

/* What the text of an answer begins with. */
#define XML "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"

#define PUT_BLOB  "x-ms-blob-type: BlockBlob"
#define HELLO_MD5 "XUFAKrxLKna5cZ2REBfFkg=="

/* A store to ask about: a container, a blob of "hello", a leased one. */
static inline void make_store(struct service_fixture *fixture)
{
    static const struct sent requests[] = {
        { .line = "PUT /box?restype=container" },
        { .line = "PUT /box/blob", .headers = { "x-ms-blob-type: BlockBlob" }, .body = "hello" },
        { .line = "PUT /box/leased", .headers = { "x-ms-blob-type: BlockBlob" }, .body = "mine" },
        { .line = "PUT /box/leased?comp=lease",
          .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: 15",
                       "x-ms-proposed-lease-id: " LEASE_A } },
        { .line = "PUT /leased?restype=container" },
        { .line = "PUT /leased?restype=container&comp=lease",
          .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: 15",
                       "x-ms-proposed-lease-id: " LEASE_A } },
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        send_request(fixture, &requests[i]);
        assert_status(&requests[i], 201);
    }
}

/* The whole of an error's answer. */
static inline void assert_fault(const struct sent *sent, unsigned status, const char *code)
{
    assert_status(sent, status);
    const char *found = answer_header("x-ms-error-code");
    assert_non_null(found);
    assert_string_equal(found, code);
    assert_non_null(request.response.reason);
    assert_null(request.response.payload);
    const struct slice body = answer_body();
    if (status == 304 || strncmp(sent->line, "HEAD ", 5) == 0) {
        assert_int_equal(body.len, 0);
        return;
    }
    assert_header("Content-Type: application/xml");
    const struct slice beginning =
        arena_printf(&request.arena,
                     XML "<Error><Code>%s</Code><Message>%s\nRequestId:%s\n"
                         "Time:2026-11-15T00:00:00.",
                     code, request.response.reason, request.id_text);
    assert_true(slice_starts_with(body, beginning));
}

#define WITH_STORE(test)                                                                           \
    {                                                                                              \
#test, test, request_setup, request_teardown, &fixture_on_memory                           \
    }

#endif
