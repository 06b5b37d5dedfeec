/*
 * fuzz_sharedkey.c - requests signed with an account's key.
 *
 * Input: dialect, scheme and order of headers (one byte), and a request (fuzz_message.h).
 *
 *   - Whatever Authorization header the input brings along, it is refused.
 *   - The text that we sign is accepted if the request has a date of the present.
 *   - After a change of any part of the request it is refused, or its text is the same.
 */
#include "base/digest.h"
#include "base/encoding.h"
#include "frontend/http/auth_sharedkey.h"
#include "fuzz_message.h"
#include "service/account.h"

/* 2026-11-15T00:00:00Z, and the same in a header. */
#define NOW      INT64_C(639302976000000000)
#define NOW_TEXT "Sun, 15 Nov 2026 00:00:00 GMT"

static struct account_list *accounts;

struct signing {
    struct arena *arena;
    enum auth_scheme scheme;
    enum auth_header_order order;
    struct auth_sharedkey_request request;
};

static enum err text_of(const struct signing *signing, const struct http_message *message,
                        struct slice *text)
{
    struct auth_sharedkey_request request = signing->request;
    request.message = message;
    return auth_sharedkey_text(signing->arena, &request, slice_of(request.account->name),
                               signing->scheme, signing->order, text);
}

static enum err check(const struct signing *signing, const struct http_message *message)
{
    struct auth_sharedkey_request request = signing->request;
    request.message = message;
    return auth_sharedkey_check(signing->arena, &request);
}

static struct slice signature_of(const struct signing *signing, struct slice text)
{
    const struct account *account = signing->request.account;
    uint8_t mac[DIGEST_SHA256_BYTES];
    char encoded[BASE64_LEN(sizeof(mac)) + 1];
    digest_hmac(&account->keys[0], text, mac);
    base64_encode(slice_make(mac, sizeof(mac)), encoded);
    return arena_printf(signing->arena, "%s %s:%s",
                        signing->scheme == AUTH_SHAREDKEY ? "SharedKey" : "SharedKeyLite",
                        account->name, encoded);
}

static void drop_header(struct fuzz_message *message, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < message->header_count; i++)
        if (!slice_equal_nocase(message->headers[i].name, slice_of(name)))
            message->headers[kept++] = message->headers[i];
    message->header_count = kept;
}

/* A message with one more byte somewhere is refused, unless that place is not signed. */
static void check_tampered(const struct signing *signing, const struct http_message *message,
                           struct slice signed_text, size_t where)
{
    struct http_message other = *message;
    struct http_field headers[FUZZ_HEADERS_MAX + FUZZ_HEADERS_ADDED];
    const struct slice more = slice_of("x");
    struct slice *part = &other.path;
    memcpy(headers, message->headers, message->header_count * sizeof(headers[0]));
    other.headers = headers;
    if (where == 0)
        part = &other.method;
    else if (where <= message->header_count)
        part = &headers[where - 1].value;
    *part = arena_printf(signing->arena, "%.*s%s", (int)part->len, part->data, more.data);
    struct slice text = { 0 };
    const bool is_same = text_of(signing, &other, &text) == OK && slice_equal(text, signed_text);
    assert(is_same || check(signing, &other) != OK);
}

static void check_signed(const struct signing *signing, struct fuzz_message *parts,
                         struct http_message *message, size_t where)
{
    struct slice text = { 0 };
    drop_header(parts, "authorization");
    drop_header(parts, "x-ms-date");
    fuzz_message_add(parts, slice_of("x-ms-date"), slice_of(NOW_TEXT));
    message->header_count = parts->header_count;
    if (text_of(signing, message, &text) != OK)
        return;
    fuzz_message_add(parts, slice_of("Authorization"), signature_of(signing, text));
    message->header_count = parts->header_count;
    struct slice again = { 0 };
    assert(text_of(signing, message, &again) == OK);
    fuzz_assert_equal(again, text);
    const enum err err = check(signing, message);
    if (err == OK)
        check_tampered(signing, message, text, where % (message->header_count + 2));
    else
        assert(err == ERR_INVALID_HEADER); /* a standard header stands there twice */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    const char *fault = NULL;
    if (accounts == NULL && account_list_new(NULL, &accounts, &fault) != OK)
        abort();
    const uint8_t choice = fuzz_byte(&input);
    const uint8_t where = fuzz_byte(&input);
    const struct slice text = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    const struct signing signing = {
        .arena = &arena,
        .scheme = (choice & 1) != 0 ? AUTH_SHAREDKEY_LITE : AUTH_SHAREDKEY,
        .order = (choice & 2) != 0 ? AUTH_ORDER_WEIGHTS : AUTH_ORDER_BYTES,
        .request = {
            .account = account_list_get(accounts, 0),
            .addressing = (choice & 4) != 0 ? AUTH_HOST_STYLE : AUTH_PATH_STYLE,
            .dialect = (choice & 8) != 0 ? AUTH_DIALECT_TABLE : AUTH_DIALECT_BLOB_QUEUE_FILE,
            .is_secondary = (choice & 16) != 0,
            .now = NOW,
        },
    };
    struct fuzz_message parts;
    fuzz_message_read(&arena, text, &parts);
    struct http_message message = { .method = parts.method,
                                    .headers = parts.headers,
                                    .header_count = parts.header_count };
    if (http_message_parse_target(&arena, parts.target, &message) == OK) {
        (void)auth_sharedkey_is_present(&message);
        assert(check(&signing, &message) != OK);
        check_signed(&signing, &parts, &message, where);
    }
    arena_release(&arena);
    fuzz_copy_free(text);
    return 0;
}
