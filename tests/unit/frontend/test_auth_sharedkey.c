/*
 * test_auth_sharedkey.c - Shared Key and Shared Key Lite.
 *
 * Requests captured from the official JavaScript client (@azure/storage-blob 12.27.0) must pass
 * as they are.  Other string-to-sign forms are written out here by hand from "Authorize with
 * Shared Key", and their signatures computed with another program's HMAC.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/date.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "frontend/http/auth_sharedkey.h"

/* When the requests were signed. */
#define SIGNED_AT "Sun, 15 Nov 2026 04:02:46 GMT"
#define MINUTE    (60 * CLOCK_TICKS_PER_SEC)

enum {
    HEADERS_MAX = 16,
};

static struct arena arena;
static struct account_list *accounts;

static int set_up(void **state)
{
    (void)state;
    /* The second key is "key2". */
    const char *fault = NULL;
    const enum err err = account_list_new(
        ACCOUNT_WELL_KNOWN_NAME ":" ACCOUNT_WELL_KNOWN_KEY ":a2V5Mg==;other:a2V5Mg==", &accounts,
        &fault);
    return err == OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    account_list_free(accounts);
    arena_release(&arena);
    return 0;
}

static int64_t signed_at(void)
{
    int64_t ticks = 0;
    assert_int_equal(date_parse_rfc1123(slice_of(SIGNED_AT), &ticks), OK);
    return ticks;
}

/* A request as it was sent: "METHOD target" and header lines. */
struct sent {
    const char *line;
    const char *headers[HEADERS_MAX];
    enum auth_addressing addressing;
    enum auth_dialect dialect;
    bool is_secondary;
};

static struct http_field header_of(const char *line)
{
    const struct slice text = slice_of(line);
    const size_t colon = slice_find_byte(text, ':');
    return (struct http_field){ slice_head(text, colon), slice_from(text, colon + 1) };
}

/* The request as the server sees it; its memory is the arena's. */
static struct auth_sharedkey_request received(const struct sent *sent)
{
    struct http_message *message = arena_alloc(&arena, sizeof(*message));
    struct http_field *headers = arena_alloc(&arena, sizeof(*headers) * HEADERS_MAX);
    const struct slice line = slice_of(sent->line);
    const size_t space = slice_find_byte(line, ' ');
    assert_int_equal(http_message_parse_target(&arena, slice_from(line, space + 1), message), OK);
    message->method = slice_head(line, space);
    message->headers = headers;
    for (size_t i = 0; i < HEADERS_MAX && sent->headers[i] != NULL; i++)
        headers[message->header_count++] = header_of(sent->headers[i]);
    return (struct auth_sharedkey_request){
        .message = message,
        .account = account_list_get(accounts, 0),
        .addressing = sent->addressing,
        .dialect = sent->dialect,
        .is_secondary = sent->is_secondary,
        .now = signed_at(),
    };
}

static enum err check(const struct sent *sent)
{
    const struct auth_sharedkey_request request = received(sent);
    return auth_sharedkey_check(&arena, &request);
}

/* --- the official client --- */

static const struct sent CAPTURED[] = {
    { .line = "GET /devstoreaccount1/box?comp=list&prefix=a%20b%2F%C3%BC&maxresults=7"
              "&restype=container&include=metadata,tags",
      .headers = { "x-ms-version: 2025-05-05", "Accept: application/xml", "User-Agent: t",
                   "x-ms-client-request-id: 19fd4896-a36c-4428-8aed-7d14fd8c7dbc",
                   "x-ms-date: " SIGNED_AT,
                   "Authorization: SharedKey "
                   "devstoreaccount1:dUVyAA9C3+2Dx6PMsp0Yg6bM0RHUC6r3yXEZnIsx1jM=" },
      .addressing = AUTH_PATH_STYLE },
    /* Its metadata sorts differently by bytes and by weights. */
    { .line = "PUT /devstoreaccount1/box/dir/a%20b%2B%C3%BC.txt",
      .headers = { "Content-Type: application/octet-stream", "x-ms-version: 2025-05-05",
                   "Content-Length: 5", "x-ms-meta-aa: 1", "x-ms-meta-a-b: 2",
                   "x-ms-meta-a_b: three  spaces", "x-ms-meta-Z9: x", "If-None-Match: *",
                   "x-ms-blob-content-type: text/plain", "Accept: application/xml",
                   "x-ms-blob-type: BlockBlob",
                   "x-ms-client-request-id: be191309-eda0-400e-8e8a-6c2f7e350ae7",
                   "x-ms-date: " SIGNED_AT,
                   "Authorization: SharedKey "
                   "devstoreaccount1:Fxkf1nZO6x7jA+qlQ3H0r1OH0ScVvVvNx0oQIqNgGjc=" },
      .addressing = AUTH_PATH_STYLE },
    { .line = "PUT /devstoreaccount1/box/dir/a%20b%2B%C3%BC.txt?comp=block&blockid=QUFB",
      .headers = { "Content-Type: application/octet-stream", "x-ms-version: 2025-05-05",
                   "Content-Length: 0", "Accept: application/xml",
                   "x-ms-client-request-id: d8e51a67-c5a8-41c1-8fa0-a173f599eb76",
                   "x-ms-date: " SIGNED_AT,
                   "Authorization: SharedKey "
                   "devstoreaccount1:PJtTFDlizz/3scMAophUUnqwW027y0C2zx64Q9+7RzQ=" },
      .addressing = AUTH_PATH_STYLE },
    { .line = "GET /devstoreaccount1/box/dir/a%20b%2B%C3%BC.txt",
      .headers = { "x-ms-version: 2025-05-05", "Accept: application/xml",
                   "If-Unmodified-Since: Tue, 14 Nov 2023 22:13:20 GMT", "x-ms-range: bytes=3-12",
                   "If-Match: \"0x8D7596FDE1330A0\"",
                   "x-ms-client-request-id: 15a6fcdd-0269-49c1-ad8d-fe9b0d7b29af",
                   "x-ms-date: " SIGNED_AT,
                   "Authorization: SharedKey "
                   "devstoreaccount1:wTpKrgUsd2U0DJsazREgR3ifjn5FNcvHeb/jMcdeOuA=" },
      .addressing = AUTH_PATH_STYLE },
    { .line = "GET /devstoreaccount1-secondary/?restype=service&comp=stats",
      .headers = { "x-ms-version: 2025-05-05", "Accept: application/xml",
                   "x-ms-client-request-id: ddeb3b00-6e76-4056-848e-028d86165316",
                   "x-ms-date: " SIGNED_AT,
                   "Authorization: SharedKey "
                   "devstoreaccount1:2JZm8713MfxIVDKg5xusn6kWVVcCEogipE/UbRlwTxI=" },
      .addressing = AUTH_PATH_STYLE,
      .is_secondary = true },
    { .line = "PUT /box?restype=container",
      .headers = { "x-ms-version: 2025-05-05", "Accept: application/xml",
                   "x-ms-client-request-id: cfce9f39-4350-4d80-80d8-87b3e1fb82b6",
                   "x-ms-date: " SIGNED_AT,
                   "Authorization: SharedKey "
                   "devstoreaccount1:6S98/zmFyP28wng2j8TfDH6nf42g5xujtnBSnBPvzPQ=" },
      .addressing = AUTH_HOST_STYLE },
};

enum {
    CAPTURED_COUNT = sizeof(CAPTURED) / sizeof(CAPTURED[0]),
};

static void requests_of_the_official_client_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < CAPTURED_COUNT; i++) {
        const enum err err = check(&CAPTURED[i]);
        if (err != OK)
            fail_msg("%s: %s", CAPTURED[i].line, error_name(err));
    }
}

/* Change the last character of `text` other than white space, in memory of the arena. */
static const char *spoilt(const char *text)
{
    const struct slice copy = arena_copy(&arena, slice_of(text));
    char *bytes = arena_bytes(&arena, copy.len + 1);
    memcpy(bytes, copy.data, copy.len + 1);
    bytes[copy.len - 1] = bytes[copy.len - 1] == 'q' ? 'r' : 'q';
    return bytes;
}

static bool is_signed(const char *header)
{
    return strncmp(header, "Accept:", 7) != 0 && strncmp(header, "User-Agent:", 11) != 0;
}

static void changing_any_signed_part_of_a_request_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < CAPTURED_COUNT; i++) {
        struct sent sent = CAPTURED[i];
        sent.line = spoilt(sent.line);
        assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);

        sent = CAPTURED[i];
        sent.line = sent.line[0] == 'G' ? arena_printf(&arena, "HEAD%s", sent.line + 3).data
                                        : arena_printf(&arena, "POST%s", sent.line + 3).data;
        assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);

        for (size_t j = 0; CAPTURED[i].headers[j] != NULL; j++) {
            sent = CAPTURED[i];
            sent.headers[j] = spoilt(sent.headers[j]);
            const enum err err = check(&sent);
            if (err != (is_signed(sent.headers[j]) ? ERR_AUTHENTICATION_FAILED : OK))
                fail_msg("%s with %s: %s", sent.line, sent.headers[j], error_name(err));
        }

        sent = CAPTURED[i];
        size_t count = 0;
        while (sent.headers[count] != NULL)
            count++;
        assert_true(count < HEADERS_MAX - 1);
        sent.headers[count] = "x-ms-added: 1";
        assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
    }
}

static void another_account_does_not_do(void **state)
{
    (void)state;
    struct auth_sharedkey_request request = received(&CAPTURED[0]);
    request.account = account_list_get(accounts, 1);
    assert_int_equal(auth_sharedkey_check(&arena, &request), ERR_AUTHENTICATION_FAILED);
}

/* --- the forms of the string-to-sign --- */

struct form {
    struct sent sent; /* without Authorization, which each check adds */
    enum auth_scheme scheme;
    enum auth_header_order order;
    const char *text;
    const char *signature;
};

#define EMPTY_5 "\n\n\n\n\n"

static const struct form FORMS[] = {
    /* Every standard header; repeated headers and parameters; a parameter name not in ASCII. */
    { .sent = { .line = "PUT /box/b%20c?name=c&Comp=page&NAME=a&%C3%BC=x%2By&name=b",
                .headers = { "range: bytes=0-4", "If-Unmodified-Since: ius", "if-none-match:inm",
                             "IF-MATCH: im ", "If-Modified-Since:\tims", "Date: not looked at",
                             "Content-Type: text/plain", "Content-MD5: md5==", "Content-Length: 5",
                             "Content-Language: en", "Content-Encoding: gzip", "X-MS-Meta-M: v1",
                             "x-ms-version: 2025-05-05", "x-ms-date: " SIGNED_AT,
                             "x-ms-meta-m: v2" } },
      .text = "PUT\ngzip\nen\n5\nmd5==\ntext/plain\n\nims\nim\ninm\nius\nbytes=0-4\n"
              "x-ms-date:" SIGNED_AT "\nx-ms-meta-m:v1,v2\nx-ms-version:2025-05-05\n"
              "/devstoreaccount1/box/b%20c\ncomp:page\nname:a,b,c\n\xC3\xBC:x+y",
      .signature = "nQe/Z0ORX4flOFCkrm0Edp4lVO+pY+Lk2h9IISu60KU=" },
    /* The same account's second key. */
    { .sent = { .line = "GET /", .headers = { "Date: " SIGNED_AT, "x-ms-version: 2025-05-05" } },
      .text = "GET\n" EMPTY_5 SIGNED_AT "\n" EMPTY_5 "x-ms-version:2025-05-05\n/devstoreaccount1/",
      .signature = "MO7W3+tK8DQ5IumTg/Y0zgfXYTowTPikC+qiT+Xj884=" },
    /* Before 2015-02-21 a Content-Length of 0 is written, before 2016-05-31 an empty header not. */
    { .sent = { .line = "PUT /box",
                .headers = { "Content-Length: 0", "x-ms-version: 2014-02-14", "x-ms-empty:",
                             "x-ms-meta-m:", "x-ms-meta-m: v2", "x-ms-date: " SIGNED_AT } },
      .text = "PUT\n\n\n0\n" EMPTY_5 "\n\n\nx-ms-date:" SIGNED_AT
              "\nx-ms-meta-m:v2\nx-ms-version:2014-02-14\n/devstoreaccount1/box",
      .signature = "e1GCv5yU7u6qypcxtUsY1GTjAPHXfxVQkrkC6JKN0EE=" },
    { .sent = { .line = "PUT /box",
                .headers = { "Content-Length: 0", "x-ms-version: 2015-02-21", "x-ms-empty:",
                             "x-ms-meta-m:", "x-ms-meta-m: v2", "x-ms-date: " SIGNED_AT } },
      .text = "PUT\n" EMPTY_5 EMPTY_5 "\nx-ms-date:" SIGNED_AT
              "\nx-ms-meta-m:v2\nx-ms-version:2015-02-21\n/devstoreaccount1/box",
      .signature = "n3ATfTl25jvfOM+fTSgUiza/Dpk1AN6hpBL6TychjwA=" },
    { .sent = { .line = "PUT /box",
                .headers = { "Content-Length: 0", "x-ms-version: 2016-05-31", "x-ms-empty:",
                             "x-ms-meta-m:", "x-ms-meta-m: v2", "x-ms-date: " SIGNED_AT } },
      .text = "PUT\n" EMPTY_5 EMPTY_5 "\nx-ms-date:" SIGNED_AT
              "\nx-ms-empty:\nx-ms-meta-m:,v2\nx-ms-version:2016-05-31\n/devstoreaccount1/box",
      .signature = "XEHjF/bPHXQSoBfzv9YzFsKfD03L7/c5hl/L6tE47wc=" },
    /* Shared Key Lite. */
    { .sent = { .line = "PUT /devstoreaccount1/box?restype=container&comp=acl",
                .headers = { "Content-Type: text/plain", "Content-MD5: md5==", "Content-Length: 9",
                             "Date: not looked at", "x-ms-date: " SIGNED_AT,
                             "x-ms-version: 2025-05-05" },
                .addressing = AUTH_PATH_STYLE },
      .scheme = AUTH_SHAREDKEY_LITE,
      .text = "PUT\nmd5==\ntext/plain\n\nx-ms-date:" SIGNED_AT
              "\nx-ms-version:2025-05-05\n/devstoreaccount1/devstoreaccount1/box?comp=acl",
      .signature = "1kJc/dS/gz0upCNba80Nrw6hA42Z9Yfsh5dEBP+BddE=" },
    { .sent = { .line = "PUT /devstoreaccount1/box?restype=container&comp=acl",
                .headers = { "Content-Type: text/plain", "Content-MD5: md5==", "Date: " SIGNED_AT,
                             "x-ms-version: 2025-05-05" },
                .addressing = AUTH_PATH_STYLE },
      .scheme = AUTH_SHAREDKEY_LITE,
      .text = "PUT\nmd5==\ntext/plain\n" SIGNED_AT
              "\nx-ms-version:2025-05-05\n/devstoreaccount1/devstoreaccount1/box?comp=acl",
      .signature = "1SjaJdQ+9ubbtBYorPYjqKPJGQpRG0WrdzvmglbxM3M=" },
    /* Tables. */
    { .sent = { .line = "POST /devstoreaccount1/Tables?comp=acl&timeout=5",
                .headers = { "Content-Type: text/plain",
                             "Content-MD5: md5==", "Date: not looked at", "x-ms-date: " SIGNED_AT,
                             "x-ms-version: 2019-02-02" },
                .addressing = AUTH_PATH_STYLE,
                .dialect = AUTH_DIALECT_TABLE },
      .text = "POST\nmd5==\ntext/plain\n" SIGNED_AT
              "\n/devstoreaccount1/devstoreaccount1/Tables?comp=acl",
      .signature = "DVrLrwdocss4i1lwFKGvZkJwTvGz7hDgPbpwXkHi0cM=" },
    { .sent = { .line = "POST /devstoreaccount1/Tables?comp=acl&timeout=5",
                .headers = { "Content-Type: text/plain", "Date: " SIGNED_AT,
                             "x-ms-version: 2019-02-02" },
                .addressing = AUTH_PATH_STYLE,
                .dialect = AUTH_DIALECT_TABLE },
      .scheme = AUTH_SHAREDKEY_LITE,
      .text = SIGNED_AT "\n/devstoreaccount1/devstoreaccount1/Tables?comp=acl",
      .signature = "9llCh5GWjUKZhccFvE32g6XdM0WIN/CA8QoqAKBxWxI=" },
    /* The two orders of headers. */
    { .sent = { .line = "GET /box",
                .headers = { "x-ms-meta-aa: 2", "x-ms-meta-a-b: 1", "x-ms-date: " SIGNED_AT } },
      .order = AUTH_ORDER_BYTES,
      .text = "GET\n" EMPTY_5 EMPTY_5 "\nx-ms-date:" SIGNED_AT
              "\nx-ms-meta-a-b:1\nx-ms-meta-aa:2\n/devstoreaccount1/box",
      .signature = "7PMe74JOqa+rHV2rYc3oQKzFMGEx/4P8cTb5B0fwCb4=" },
    { .sent = { .line = "GET /box",
                .headers = { "x-ms-meta-aa: 2", "x-ms-meta-a-b: 1", "x-ms-date: " SIGNED_AT } },
      .order = AUTH_ORDER_WEIGHTS,
      .text = "GET\n" EMPTY_5 EMPTY_5 "\nx-ms-date:" SIGNED_AT
              "\nx-ms-meta-aa:2\nx-ms-meta-a-b:1\n/devstoreaccount1/box",
      .signature = "3kkB4ieaixnKGAMXSo68He5W557bZL8CNPczGjCw+nM=" },
};

static struct sent with_authorization(struct sent sent, const char *value)
{
    size_t count = 0;
    while (count < HEADERS_MAX && sent.headers[count] != NULL)
        count++;
    assert_true(count < HEADERS_MAX);
    sent.headers[count] = arena_printf(&arena, "Authorization: %s", value).data;
    return sent;
}

static struct sent with_signature(const struct form *form)
{
    const char *scheme = form->scheme == AUTH_SHAREDKEY ? "SharedKey" : "SharedKeyLite";
    return with_authorization(
        form->sent, arena_printf(&arena, "%s devstoreaccount1:%s", scheme, form->signature).data);
}

static void the_text_of_every_form_is_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        const struct auth_sharedkey_request request = received(&FORMS[i].sent);
        struct slice text = { 0 };
        assert_int_equal(auth_sharedkey_text(&arena, &request, slice_of("devstoreaccount1"),
                                             FORMS[i].scheme, FORMS[i].order, &text),
                         OK);
        assert_string_equal(arena_copy(&arena, text).data, FORMS[i].text);
    }
}

static void the_signature_of_every_form_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        const struct sent sent = with_signature(&FORMS[i]);
        assert_int_equal(check(&sent), OK);
    }
}

static void a_signature_of_another_form_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        struct form form = FORMS[i];
        form.scheme = form.scheme == AUTH_SHAREDKEY ? AUTH_SHAREDKEY_LITE : AUTH_SHAREDKEY;
        struct sent sent = with_signature(&form);
        assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);

        sent = with_signature(&FORMS[i]);
        sent.dialect =
            sent.dialect == AUTH_DIALECT_TABLE ? AUTH_DIALECT_BLOB_QUEUE_FILE : AUTH_DIALECT_TABLE;
        assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
    }
}

static void header_names_sort_by_weights_as_in_the_official_client(void **state)
{
    (void)state;
    /* Sorted by the client's own comparison. */
    static const char *const sorted[] = {
        "x-ms-meta",     "x-ms-m-eta",     "x-ms-meta-a",   "x-ms-meta-a-",   "x-ms-meta-a!",
        "x-ms-meta-a.b", "x-ms-meta-a_b",  "x-ms-meta-a~b", "x-ms-meta-a+b",  "x-ms-meta-a1",
        "x-ms-meta-a10", "x-ms-meta-a9",   "x-ms-meta-aa",  "x-ms-meta-ab",   "x-ms-meta-a'b",
        "x-ms-meta-a-b", "x-ms-meta-a--b", "x-ms-meta-abc", "x-ms-meta-ab-c", "x-ms-meta-a-bc",
        "x-ms-metab",
    };
    const int count = sizeof(sorted) / sizeof(sorted[0]);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            const int order =
                auth_sharedkey_compare_weights(slice_of(sorted[i]), slice_of(sorted[j]));
            if ((order > 0) - (order < 0) != (i > j) - (i < j))
                fail_msg("%s and %s compare as %d", sorted[i], sorted[j], order);
        }
    }
}

/* --- the secondary endpoint --- */

static void the_secondary_path_is_signed_with_or_without_its_suffix(void **state)
{
    (void)state;
    struct form form = {
        .sent = { .line = "GET /devstoreaccount1-secondary/box?restype=container",
                  .headers = { "x-ms-date: " SIGNED_AT },
                  .addressing = AUTH_PATH_STYLE,
                  .is_secondary = true },
        .signature = "IZb+JT2ydU7o28Ade7qsLCV03knIpy9Mr6knrORTE/I=", /* with */
    };
    struct sent sent = with_signature(&form);
    assert_int_equal(check(&sent), OK);
    form.signature = "N5rrOcKvHpbZJi0t1UaKO8ZJKTnDvfkopNyjz31IdI0="; /* without */
    sent = with_signature(&form);
    assert_int_equal(check(&sent), OK);
    /* In host style a container may have such a name. */
    sent.addressing = AUTH_HOST_STYLE;
    assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
    sent.addressing = AUTH_PATH_STYLE;
    sent.is_secondary = false;
    assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
}

/* --- the Authorization header --- */

static void an_authorization_header_in_another_form_is_refused_as_such(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "",
        "SharedKey",
        "SharedKey ",
        "SharedKey devstoreaccount1",
        "SharedKey devstoreaccount1:",
        "SharedKey :dUVyAA9C3+2Dx6PMsp0Yg6bM0RHUC6r3yXEZnIsx1jM=",
        "SharedKeys devstoreaccount1:dUVyAA9C3+2Dx6PMsp0Yg6bM0RHUC6r3yXEZnIsx1jM=",
        "Bearer token",
    };
    const struct sent sent = { .line = "GET /", .headers = { "x-ms-date: " SIGNED_AT } };
    assert_int_equal(check(&sent), ERR_INVALID_AUTHENTICATION);
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        const struct sent bad = with_authorization(sent, malformed[i]);
        assert_int_equal(check(&bad), ERR_INVALID_AUTHENTICATION);
    }
}

static void only_the_two_schemes_are_recognized(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool present;
    } cases[] = {
        { "SharedKey a:b", true },       { "SharedKeyLite a:b", true }, { "sharedkey a:b", true },
        { "SharedKeyLight a:b", false }, { "Bearer x", false },         { "", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sent sent =
            with_authorization((struct sent){ .line = "GET /" }, cases[i].value);
        const struct auth_sharedkey_request request = received(&sent);
        assert_int_equal(auth_sharedkey_is_present(request.message), cases[i].present);
    }
    const struct sent none = { .line = "GET /" };
    assert_false(auth_sharedkey_is_present(received(&none).message));
}

static void a_signature_of_another_length_fails(void **state)
{
    (void)state;
    static const char *const signatures[] = {
        "=",
        "7PMe74JOqa+rHV2rYc3oQKzFMGEx/4P8cTb5B0fwCb4",
        "7PMe74JOqa+rHV2rYc3oQKzFMGEx/4P8cTb5B0fwCb4==",
    };
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        struct form form = FORMS[9];
        assert_int_equal(form.order, AUTH_ORDER_BYTES);
        form.signature = signatures[i];
        const struct sent sent = with_signature(&form);
        assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
    }
}

static void a_standard_header_given_twice_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "Content-Encoding",
        "Content-Language",
        "Content-Length",
        "Content-MD5",
        "Content-Type",
        "Date",
        "If-Match",
        "If-None-Match",
        "If-Modified-Since",
        "Range",
        "If-Unmodified-Since",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *header = arena_printf(&arena, "%s: 1", names[i]).data;
        const struct sent sent = with_authorization(
            (struct sent){ .line = "GET /",
                           .headers = { "x-ms-date: " SIGNED_AT, header, header } },
            "SharedKey devstoreaccount1:7PMe74JOqa+rHV2rYc3oQKzFMGEx/4P8cTb5B0fwCb4=");
        assert_int_equal(check(&sent), ERR_INVALID_HEADER);
    }
}

/* The request with a signature by the right key over the text with that account name. */
static struct sent signed_as(const struct sent *unsigned_one, const char *account_name)
{
    const struct auth_sharedkey_request request = received(unsigned_one);
    struct slice text = { 0 };
    assert_int_equal(auth_sharedkey_text(&arena, &request, slice_of(account_name), AUTH_SHAREDKEY,
                                         AUTH_ORDER_BYTES, &text),
                     OK);
    uint8_t mac[DIGEST_SHA256_BYTES];
    char signature[BASE64_LEN(DIGEST_SHA256_BYTES) + 1];
    digest_hmac(&request.account->keys[0], text, mac);
    base64_encode(slice_make(mac, sizeof(mac)), signature);
    return with_authorization(
        *unsigned_one, arena_printf(&arena, "SharedKey %s:%s", account_name, signature).data);
}

static void the_account_named_must_be_the_one_addressed_in_any_case(void **state)
{
    (void)state;
    const struct sent unsigned_one = { .line = "GET /box", .headers = { "x-ms-date: " SIGNED_AT } };
    struct sent sent = signed_as(&unsigned_one, "devstoreaccount1");
    assert_int_equal(check(&sent), OK);
    sent = signed_as(&unsigned_one, "DevStoreAccount1");
    assert_int_equal(check(&sent), OK);
    sent = signed_as(&unsigned_one, "other");
    assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
    sent = signed_as(&unsigned_one, "devstoreaccount1-secondary");
    assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
}

/* --- time --- */

static void a_request_is_good_for_fifteen_minutes_before_and_after(void **state)
{
    (void)state;
    static const struct {
        int64_t offset;
        enum err outcome;
    } cases[] = {
        { -15 * MINUTE - 1, ERR_AUTHENTICATION_FAILED },
        { -15 * MINUTE, OK },
        { 0, OK },
        { 15 * MINUTE, OK },
        { 15 * MINUTE + 1, ERR_AUTHENTICATION_FAILED },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct auth_sharedkey_request request = received(&CAPTURED[0]);
        request.now += cases[i].offset;
        assert_int_equal(auth_sharedkey_check(&arena, &request), cases[i].outcome);
    }
}

static void a_request_without_a_readable_date_fails(void **state)
{
    (void)state;
    /* Each with the signature of its own text, so that only the date is at fault. */
    static const char *const dates[] = { NULL, "x-ms-date: tomorrow",
                                         "Date: ", "x-ms-date: Sun, 15 Nov 26 04:02:46 GMT" };
    for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
        const struct sent unsigned_one = { .line = "GET /box", .headers = { dates[i] } };
        const struct sent sent = signed_as(&unsigned_one, "devstoreaccount1");
        assert_int_equal(check(&sent), ERR_AUTHENTICATION_FAILED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_the_official_client_pass),
        cmocka_unit_test(changing_any_signed_part_of_a_request_fails),
        cmocka_unit_test(another_account_does_not_do),
        cmocka_unit_test(the_text_of_every_form_is_as_documented),
        cmocka_unit_test(the_signature_of_every_form_passes),
        cmocka_unit_test(a_signature_of_another_form_fails),
        cmocka_unit_test(header_names_sort_by_weights_as_in_the_official_client),
        cmocka_unit_test(the_secondary_path_is_signed_with_or_without_its_suffix),
        cmocka_unit_test(an_authorization_header_in_another_form_is_refused_as_such),
        cmocka_unit_test(only_the_two_schemes_are_recognized),
        cmocka_unit_test(a_signature_of_another_length_fails),
        cmocka_unit_test(a_standard_header_given_twice_is_refused),
        cmocka_unit_test(the_account_named_must_be_the_one_addressed_in_any_case),
        cmocka_unit_test(a_request_is_good_for_fifteen_minutes_before_and_after),
        cmocka_unit_test(a_request_without_a_readable_date_fails),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
