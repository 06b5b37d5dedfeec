/*
 * auth_sharedkey.c - checking a request against its Shared Key signature.
 *
 * One pass over the headers collects what is signed (struct signed_headers).  The texts that
 * clients may have signed are then tried one after the other; nearly always there is one.
 */
#include "frontend/http/auth_sharedkey.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/date.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/strbuf.h"
#include "service/limits.h"

#define CLOCK_SKEW_MAX (15 * 60 * CLOCK_TICKS_PER_SEC)

/* Versions in which the text changed; versions are dates and sort as text. */
static const struct slice VERSION_EMPTY_CONTENT_LENGTH = SLICE_LITERAL("2015-02-21");
static const struct slice VERSION_EMPTY_HEADERS = SLICE_LITERAL("2016-05-31");

static const struct slice SECONDARY = SLICE_LITERAL("-secondary");

/* The standard headers in the order of the string-to-sign. */
enum standard_header {
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LENGTH,
    CONTENT_MD5,
    CONTENT_TYPE,
    DATE,
    IF_MODIFIED_SINCE,
    IF_MATCH,
    IF_NONE_MATCH,
    IF_UNMODIFIED_SINCE,
    RANGE,
    STANDARD_HEADER_COUNT,
};

static const struct slice STANDARD_HEADER_NAMES[STANDARD_HEADER_COUNT] = {
    [CONTENT_ENCODING] = SLICE_LITERAL("content-encoding"),
    [CONTENT_LANGUAGE] = SLICE_LITERAL("content-language"),
    [CONTENT_LENGTH] = SLICE_LITERAL("content-length"),
    [CONTENT_MD5] = SLICE_LITERAL("content-md5"),
    [CONTENT_TYPE] = SLICE_LITERAL("content-type"),
    [DATE] = SLICE_LITERAL("date"),
    [IF_MODIFIED_SINCE] = SLICE_LITERAL("if-modified-since"),
    [IF_MATCH] = SLICE_LITERAL("if-match"),
    [IF_NONE_MATCH] = SLICE_LITERAL("if-none-match"),
    [IF_UNMODIFIED_SINCE] = SLICE_LITERAL("if-unmodified-since"),
    [RANGE] = SLICE_LITERAL("range"),
};

struct signed_headers {
    bool present[STANDARD_HEADER_COUNT];
    struct slice standard[STANDARD_HEADER_COUNT]; /* trimmed; empty when absent */
    struct http_field *ms;                        /* x-ms-*: names in lower case, trimmed values */
    size_t ms_count;
    struct slice ms_date;
    struct slice ms_version;
};

/* --- the Authorization header --- */

struct authorization {
    enum auth_scheme scheme;
    struct slice account_name;
    struct slice signature;
};

/* Cut the scheme and the spaces behind it off `*value`. */
static bool auth_cut_scheme(struct slice *value, enum auth_scheme *scheme)
{
    static const struct slice sharedkey = SLICE_LITERAL("SharedKey");
    static const struct slice sharedkey_lite = SLICE_LITERAL("SharedKeyLite");
    const struct slice word = slice_head(*value, slice_find_byte(*value, ' '));
    if (slice_equal_nocase(word, sharedkey))
        *scheme = AUTH_SHAREDKEY;
    else if (slice_equal_nocase(word, sharedkey_lite))
        *scheme = AUTH_SHAREDKEY_LITE;
    else
        return false;
    *value = slice_trim(slice_from(*value, word.len));
    return true;
}

static enum err auth_parse(const struct http_message *message, struct authorization *authorization)
{
    struct slice value = http_message_header(message, "authorization");
    if (!auth_cut_scheme(&value, &authorization->scheme))
        return ERR_INVALID_AUTHENTICATION;
    const size_t name_len = slice_find_byte(value, ':');
    authorization->account_name = slice_head(value, name_len);
    authorization->signature = slice_from(value, name_len + 1);
    if (name_len == 0 || authorization->signature.len == 0)
        return ERR_INVALID_AUTHENTICATION;
    return OK;
}

bool auth_sharedkey_is_present(const struct http_message *message)
{
    struct slice value = http_message_header(message, "authorization");
    enum auth_scheme scheme = AUTH_SHAREDKEY;
    return auth_cut_scheme(&value, &scheme);
}

/* --- collecting what is signed --- */

static char auth_lower_byte(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static struct slice auth_lower(struct arena *arena, struct slice text)
{
    char *lower = arena_bytes(arena, text.len);
    for (size_t i = 0; i < text.len; i++)
        lower[i] = auth_lower_byte(text.data[i]);
    return slice_make(lower, text.len);
}

static enum err auth_add_standard(struct signed_headers *headers, const struct http_field *header)
{
    for (size_t i = 0; i < STANDARD_HEADER_COUNT; i++) {
        if (!slice_equal_nocase(header->name, STANDARD_HEADER_NAMES[i]))
            continue;
        if (headers->present[i])
            return ERR_INVALID_HEADER;
        headers->present[i] = true;
        headers->standard[i] = slice_trim(header->value);
        return OK;
    }
    return OK;
}

static void auth_add_ms(struct arena *arena, struct signed_headers *headers,
                        const struct http_field *header)
{
    const struct slice name = auth_lower(arena, header->name);
    const struct slice value = slice_trim(header->value);
    headers->ms[headers->ms_count++] = (struct http_field){ .name = name, .value = value };
    if (slice_is(name, "x-ms-date") && headers->ms_date.len == 0)
        headers->ms_date = value;
    else if (slice_is(name, "x-ms-version") && headers->ms_version.len == 0)
        headers->ms_version = value;
}

static bool auth_is_ms(struct slice name)
{
    static const struct slice prefix = SLICE_LITERAL("x-ms-");
    return slice_equal_nocase(slice_head(name, prefix.len), prefix);
}

static enum err auth_collect(struct arena *arena, const struct http_message *message,
                             struct signed_headers *headers)
{
    *headers = (struct signed_headers){ 0 };
    headers->ms = arena_alloc(arena, message->header_count * sizeof(headers->ms[0]));
    for (size_t i = 0; i < message->header_count; i++) {
        const struct http_field *header = &message->headers[i];
        if (auth_is_ms(header->name)) {
            auth_add_ms(arena, headers, header);
            continue;
        }
        const enum err err = auth_add_standard(headers, header);
        if (err != OK)
            return err;
    }
    return OK;
}

/* A request without a version is of the newest. */
static bool auth_is_before(const struct signed_headers *headers, struct slice version)
{
    return headers->ms_version.len > 0 && slice_compare(headers->ms_version, version) < 0;
}

static enum err auth_check_time(const struct signed_headers *headers, int64_t now)
{
    const struct slice text = headers->ms_date.len > 0 ? headers->ms_date : headers->standard[DATE];
    int64_t signed_at = 0;
    if (date_parse_rfc1123(text, &signed_at) != OK)
        return ERR_AUTHENTICATION_FAILED;
    const int64_t skew = signed_at > now ? signed_at - now : now - signed_at;
    return skew <= CLOCK_SKEW_MAX ? OK : ERR_AUTHENTICATION_FAILED;
}

/* --- sorting --- */

/* Where a character of a header name stands at the first level; 0 does not count there. */
static size_t auth_weight(char c)
{
    static const char order[] = "!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz";
    const char *at = c == '\0' ? NULL : memchr(order, c, sizeof(order) - 1);
    return at == NULL ? 0 : (size_t)(at - order) + 1;
}

/* The weight of the next character that counts, stepping over it; 0 at the end. */
static size_t auth_next_weight(struct slice name, size_t *index)
{
    while (*index < name.len) {
        const size_t weight = auth_weight(name.data[(*index)++]);
        if (weight != 0)
            return weight;
    }
    return 0;
}

/* What a position of a name is at the last level: end, ordinary, apostrophe or dash. */
static int auth_mark(struct slice name, size_t index)
{
    if (index >= name.len)
        return 0;
    if (name.data[index] == '-')
        return 3;
    return name.data[index] == '\'' ? 2 : 1;
}

int auth_sharedkey_compare_weights(struct slice a, struct slice b)
{
    size_t weight_a = 0;
    size_t weight_b = 0;
    size_t index_a = 0;
    size_t index_b = 0;
    do {
        weight_a = auth_next_weight(a, &index_a);
        weight_b = auth_next_weight(b, &index_b);
        if (weight_a != weight_b)
            return weight_a < weight_b ? -1 : 1;
    } while (weight_a != 0);

    for (size_t i = 0; i < a.len || i < b.len; i++) {
        const int order = auth_mark(a, i) - auth_mark(b, i);
        if (order != 0)
            return order;
    }
    return 0;
}

/*
 * The comparisons for qsort, which sorts pointers into one array.  Fields of equal names stay in
 * the order of that array.
 */
static int auth_compare_position(const struct http_field *a, const struct http_field *b)
{
    return (a > b) - (a < b);
}

static int auth_compare_by_bytes(const void *a, const void *b)
{
    const struct http_field *const *left = a;
    const struct http_field *const *right = b;
    const int order = slice_compare((*left)->name, (*right)->name);
    return order != 0 ? order : auth_compare_position(*left, *right);
}

static int auth_compare_by_weights(const void *a, const void *b)
{
    const struct http_field *const *left = a;
    const struct http_field *const *right = b;
    const int order = auth_sharedkey_compare_weights((*left)->name, (*right)->name);
    return order != 0 ? order : auth_compare_by_bytes(a, b);
}

static int auth_compare_by_name_and_value(const void *a, const void *b)
{
    const struct http_field *const *left = a;
    const struct http_field *const *right = b;
    const int order = slice_compare((*left)->name, (*right)->name);
    return order != 0 ? order : slice_compare((*left)->value, (*right)->value);
}

static const struct http_field **auth_sort(struct arena *arena, const struct http_field *fields,
                                           size_t count,
                                           int (*compare)(const void *a, const void *b))
{
    const struct http_field **sorted = arena_alloc(arena, count * sizeof(sorted[0]));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &fields[i];
    if (count > 1)
        qsort(sorted, count, sizeof(sorted[0]), compare);
    return sorted;
}

/* Whether headers sorted by bytes are not sorted by weights. */
static bool auth_orders_differ(const struct http_field *const *by_bytes, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (auth_compare_by_weights(&by_bytes[i - 1], &by_bytes[i]) > 0)
            return true;
    }
    return false;
}

/* --- the string-to-sign --- */

static void auth_add_line(struct strbuf *text, struct slice line)
{
    strbuf_add(text, line);
    strbuf_add_byte(text, '\n');
}

static void auth_add_standard_lines(struct strbuf *text, const struct signed_headers *headers)
{
    for (size_t i = 0; i < STANDARD_HEADER_COUNT; i++) {
        struct slice value = headers->standard[i];
        if (i == CONTENT_LENGTH && slice_is(value, "0") &&
            !auth_is_before(headers, VERSION_EMPTY_CONTENT_LENGTH))
            value = (struct slice){ 0 };
        if (i == DATE && headers->ms_date.len > 0)
            value = (struct slice){ 0 };
        auth_add_line(text, value);
    }
}

/* `name:value` lines; repeated names are one line with the values joined by commas. */
static void auth_add_ms_lines(struct strbuf *text, const struct signed_headers *headers,
                              const struct http_field *const *sorted)
{
    const bool skip_empty = auth_is_before(headers, VERSION_EMPTY_HEADERS);
    struct slice last_name = { 0 };
    for (size_t i = 0; i < headers->ms_count; i++) {
        const struct http_field *header = sorted[i];
        if (skip_empty && header->value.len == 0)
            continue;
        if (slice_equal(header->name, last_name)) {
            text->data[text->len - 1] = ','; /* instead of the line's end */
        } else {
            strbuf_add(text, header->name);
            strbuf_add_byte(text, ':');
        }
        auth_add_line(text, header->value);
        last_name = header->name;
    }
}

/* Every query parameter; the values of a repeated one are sorted and joined by commas. */
static void auth_add_parameters(struct strbuf *text, const struct http_message *message)
{
    const struct http_field **sorted = auth_sort(
        text->arena, message->parameters, message->parameter_count, auth_compare_by_name_and_value);
    for (size_t i = 0; i < message->parameter_count; i++) {
        const bool repeats = i > 0 && slice_equal(sorted[i]->name, sorted[i - 1]->name);
        if (repeats) {
            strbuf_add_byte(text, ',');
        } else {
            strbuf_add_byte(text, '\n');
            strbuf_add(text, sorted[i]->name);
            strbuf_add_byte(text, ':');
        }
        strbuf_add(text, sorted[i]->value);
    }
}

/* The old form of the resource ends with `comp` alone. */
static void auth_add_comp(struct strbuf *text, const struct http_message *message)
{
    const struct http_field *comp = http_message_find_parameter(message, "comp");
    if (comp == NULL)
        return;
    strbuf_add_text(text, "?comp=");
    strbuf_add(text, comp->value);
}

/* What one text is made from. */
struct auth_text {
    const struct auth_sharedkey_request *request;
    const struct signed_headers *headers;
    const struct http_field *const *ms_sorted;
    struct slice account_name;
    enum auth_scheme scheme;
    bool without_secondary; /* the path's account loses its "-secondary" */
};

/* The path, or the part of it before and the part after "-secondary". */
static void auth_add_path(struct strbuf *text, const struct auth_text *what)
{
    const struct slice path = what->request->message->path;
    const size_t account_end = 1 + strlen(what->request->account->name);
    if (!what->without_secondary) {
        strbuf_add(text, path);
        return;
    }
    strbuf_add(text, slice_head(path, account_end));
    strbuf_add(text, slice_from(path, account_end + SECONDARY.len));
}

static void auth_add_resource(struct strbuf *text, const struct auth_text *what)
{
    strbuf_add_byte(text, '/');
    strbuf_add(text, what->account_name);
    auth_add_path(text, what);
    const bool whole_query =
        what->scheme == AUTH_SHAREDKEY && what->request->dialect == AUTH_DIALECT_BLOB_QUEUE_FILE;
    if (whole_query)
        auth_add_parameters(text, what->request->message);
    else
        auth_add_comp(text, what->request->message);
}

/* The lines of every text but SharedKey's for blobs, queues and files. */
static void auth_add_short_lines(struct strbuf *text, const struct auth_text *what)
{
    const struct signed_headers *headers = what->headers;
    const bool table = what->request->dialect == AUTH_DIALECT_TABLE;
    if (!table || what->scheme == AUTH_SHAREDKEY) {
        auth_add_line(text, what->request->message->method);
        auth_add_line(text, headers->standard[CONTENT_MD5]);
        auth_add_line(text, headers->standard[CONTENT_TYPE]);
    }
    struct slice date = headers->standard[DATE];
    if (headers->ms_date.len > 0)
        date = table ? headers->ms_date : (struct slice){ 0 };
    auth_add_line(text, date);
    if (!table)
        auth_add_ms_lines(text, headers, what->ms_sorted);
}

/* Enough for the whole text, so that the buffer grows once. */
static size_t auth_text_bytes_max(const struct auth_text *what)
{
    const struct http_message *message = what->request->message;
    size_t bytes = message->method.len + message->path.len + message->query.len +
                   what->account_name.len + 2 * message->parameter_count + 64;
    for (size_t i = 0; i < STANDARD_HEADER_COUNT; i++)
        bytes += what->headers->standard[i].len + 1;
    for (size_t i = 0; i < what->headers->ms_count; i++)
        bytes += what->headers->ms[i].name.len + what->headers->ms[i].value.len + 2;
    return bytes;
}

static struct slice auth_make_text(struct arena *arena, const struct auth_text *what)
{
    struct strbuf text;
    strbuf_init(&text, arena);
    strbuf_reserve(&text, auth_text_bytes_max(what));
    if (what->scheme == AUTH_SHAREDKEY && what->request->dialect == AUTH_DIALECT_BLOB_QUEUE_FILE) {
        auth_add_line(&text, what->request->message->method);
        auth_add_standard_lines(&text, what->headers);
        auth_add_ms_lines(&text, what->headers, what->ms_sorted);
    } else {
        auth_add_short_lines(&text, what);
    }
    auth_add_resource(&text, what);
    return strbuf_slice(&text);
}

/* --- checking --- */

static bool auth_is_signed(const struct account *account, struct slice text, struct slice signature)
{
    char expected[BASE64_LEN(DIGEST_SHA256_BYTES) + 1];
    if (signature.len != sizeof(expected) - 1)
        return false;
    for (size_t i = 0; i < account->key_count; i++) {
        uint8_t mac[DIGEST_SHA256_BYTES];
        digest_hmac(&account->keys[i], text, mac);
        base64_encode(slice_make(mac, sizeof(mac)), expected);
        if (digest_equal(expected, signature.data, signature.len))
            return true;
    }
    return false;
}

/* Whether the path is that of an account's secondary endpoint in path style. */
static bool auth_path_has_secondary(const struct auth_sharedkey_request *request)
{
    if (!request->is_secondary || request->addressing != AUTH_PATH_STYLE)
        return false;
    const size_t account_end = 1 + strlen(request->account->name);
    const struct slice after = slice_from(request->message->path, account_end);
    return slice_equal_nocase(slice_head(after, SECONDARY.len), SECONDARY);
}

/* Try the path as it is and, where that makes a difference, without "-secondary". */
static bool auth_try_paths(struct arena *arena, struct auth_text what, struct slice signature)
{
    const struct account *account = what.request->account;
    if (auth_is_signed(account, auth_make_text(arena, &what), signature))
        return true;
    if (!auth_path_has_secondary(what.request))
        return false;
    what.without_secondary = true;
    return auth_is_signed(account, auth_make_text(arena, &what), signature);
}

static bool auth_try_orders(struct arena *arena, struct auth_text what, struct slice signature)
{
    const struct signed_headers *headers = what.headers;
    what.ms_sorted = auth_sort(arena, headers->ms, headers->ms_count, auth_compare_by_bytes);
    if (auth_try_paths(arena, what, signature))
        return true;
    if (!auth_orders_differ(what.ms_sorted, headers->ms_count))
        return false;
    what.ms_sorted = auth_sort(arena, headers->ms, headers->ms_count, auth_compare_by_weights);
    return auth_try_paths(arena, what, signature);
}

enum err auth_sharedkey_check(struct arena *arena, const struct auth_sharedkey_request *request)
{
    assert(request->account != NULL);
    struct authorization authorization = { 0 };
    enum err err = auth_parse(request->message, &authorization);
    if (err != OK)
        return err;
    if (!slice_equal_nocase(authorization.account_name, slice_of(request->account->name)))
        return ERR_AUTHENTICATION_FAILED;

    struct signed_headers headers;
    err = auth_collect(arena, request->message, &headers);
    if (err != OK)
        return err;
    err = auth_check_time(&headers, request->now);
    if (err != OK)
        return err;
    const struct auth_text what = {
        .request = request,
        .headers = &headers,
        .account_name = authorization.account_name,
        .scheme = authorization.scheme,
    };
    return auth_try_orders(arena, what, authorization.signature) ? OK : ERR_AUTHENTICATION_FAILED;
}

enum err auth_sharedkey_text(struct arena *arena, const struct auth_sharedkey_request *request,
                             struct slice account_name, enum auth_scheme scheme,
                             enum auth_header_order order, struct slice *text)
{
    struct signed_headers headers;
    const enum err err = auth_collect(arena, request->message, &headers);
    if (err != OK)
        return err;
    const struct auth_text what = {
        .request = request,
        .headers = &headers,
        .ms_sorted =
            auth_sort(arena, headers.ms, headers.ms_count,
                      order == AUTH_ORDER_BYTES ? auth_compare_by_bytes : auth_compare_by_weights),
        .account_name = account_name,
        .scheme = scheme,
    };
    *text = auth_make_text(arena, &what);
    return OK;
}
