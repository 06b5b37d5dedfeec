/*
 * auth_sharedkey.h - requests signed with an account's key.
 *
 *     Authorization: SharedKey <account>:<signature>
 *     Authorization: SharedKeyLite <account>:<signature>
 *
 * The signature is the base64 of HMAC-SHA256 over a text that the client and we derive from the
 * request, the string-to-sign ("Authorize with Shared Key" in the reference).  Its lines:
 *
 *     dialect             SharedKey                               SharedKeyLite
 *     blob, queue, file   method, 11 standard headers,            method, Content-MD5,
 *                         x-ms-* headers, resource                Content-Type, Date,
 *                                                                 x-ms-* headers, old resource
 *     table               method, Content-MD5, Content-Type,      Date, old resource
 *                         Date, old resource
 *
 * The resource is "/", the account, the path as it is on the wire, and every query parameter; the
 * old resource has only the parameter `comp`.  In path style the path itself begins with the
 * account, which therefore stands there twice.
 *
 * Clients disagree on two points, and we accept what any of them signs:
 *   - The x-ms-* headers are sorted by the bytes of their names, or as the service sorts them,
 *     by weights in which dashes hardly count.  The orders seldom differ.
 *   - On the secondary endpoint in path style the path is signed with or without "-secondary".
 *
 * No state; any thread.
 */
#ifndef FRONTEND_HTTP_AUTH_SHAREDKEY_H
#define FRONTEND_HTTP_AUTH_SHAREDKEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_message.h"
#include "service/account.h"

enum auth_dialect {
    AUTH_DIALECT_BLOB_QUEUE_FILE,
    AUTH_DIALECT_TABLE,
};

/* Where the request names the account. */
enum auth_addressing {
    AUTH_HOST_STYLE, /* in the Host header; the path begins with the container */
    AUTH_PATH_STYLE, /* in the path's first segment */
};

enum auth_scheme {
    AUTH_SHAREDKEY,
    AUTH_SHAREDKEY_LITE,
};

enum auth_header_order {
    AUTH_ORDER_BYTES,
    AUTH_ORDER_WEIGHTS,
};

/* A signed request.  Borrows all it points to. */
struct auth_sharedkey_request {
    const struct http_message *message;
    const struct account *account; /* the one the request addresses */
    enum auth_addressing addressing;
    enum auth_dialect dialect;
    bool is_secondary; /* addressed as <account>-secondary */
    int64_t now;       /* ticks */
};

/* Whether there is an Authorization header of one of the two schemes. */
bool auth_sharedkey_is_present(const struct http_message *message);

/*
 * Check scheme, account, time and signature, in this order.  Scratch memory is the arena's.
 *
 *   ERR_INVALID_AUTHENTICATION   the Authorization header is missing or not in the form above
 *   ERR_INVALID_HEADER           a standard header stands there twice
 *   ERR_AUTHENTICATION_FAILED    another account; no or malformed x-ms-date and Date; more than
 *                                15 minutes from now; or no key of the account gives the signature
 */
MUST_CHECK enum err auth_sharedkey_check(struct arena *arena,
                                         const struct auth_sharedkey_request *request);

/*
 * The string-to-sign, for tests and for the diagnosis of a client.  `account_name` is spelt as
 * in the Authorization header; the path is taken as it is on the wire.
 */
MUST_CHECK enum err auth_sharedkey_text(struct arena *arena,
                                        const struct auth_sharedkey_request *request,
                                        struct slice account_name, enum auth_scheme scheme,
                                        enum auth_header_order order, struct slice *text);

/*
 * How the service sorts header names in lower case: negative, zero or positive.  First by the
 * characters other than dash and apostrophe, in the order punctuation, digits, letters; names
 * equal in these by where they have dashes and apostrophes.
 */
int auth_sharedkey_compare_weights(struct slice a, struct slice b);

#endif
