#include "frontend/http/odata_token.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "service/table/edm.h"

/* --- ETags --- */

static const struct slice etag_head = SLICE_LITERAL("W/\"datetime'");
static const struct slice etag_tail = SLICE_LITERAL("'\"");

static_assert(sizeof("W/\"datetime''\"") - 1 + EDM_DATETIME_LEN + 2 * 2 <= ODATA_ETAG_LEN_MAX,
              "an instant with its two colons encoded fits");

size_t odata_etag_format(int64_t timestamp, char text[ODATA_ETAG_LEN_MAX + 1])
{
    char instant[EDM_DATETIME_LEN + 1];
    const size_t instant_len = edm_datetime_format(edm_datetime_of_clock(timestamp), instant);
    memcpy(text, etag_head.data, etag_head.len);
    size_t len = etag_head.len;
    for (size_t i = 0; i < instant_len; i++) {
        if (instant[i] == ':') {
            memcpy(&text[len], "%3A", 3);
            len += 3;
        } else {
            text[len++] = instant[i];
        }
    }
    memcpy(&text[len], etag_tail.data, etag_tail.len + 1);
    return len + etag_tail.len;
}

/* W/"..." and one alone. */
static bool is_weak_etag(struct slice text)
{
    const struct slice head = slice_of("W/\"");
    return text.len > head.len && slice_starts_with(text, head) &&
           slice_find_byte(slice_from(text, head.len), '"') == text.len - head.len - 1;
}

/* The instant in an ETag of the form above, with its colons decoded; gives the length, or 0. */
static size_t instant_of_etag(struct slice text, char instant[EDM_DATETIME_LEN])
{
    size_t len = 0;
    if (text.len < etag_head.len + etag_tail.len || !slice_starts_with(text, etag_head) ||
        !slice_equal(slice_from(text, text.len - etag_tail.len), etag_tail))
        return 0;
    text = slice_make(text.data + etag_head.len, text.len - etag_head.len - etag_tail.len);
    for (size_t i = 0; i < text.len; i++) {
        const bool is_escape =
            slice_equal_nocase(slice_head(slice_from(text, i), 3), slice_of("%3A"));
        if (len == EDM_DATETIME_LEN)
            return 0;
        instant[len++] = is_escape ? ':' : text.data[i];
        if (is_escape)
            i += 2;
    }
    return len;
}

enum err odata_etag_parse(struct slice text, int64_t *timestamp)
{
    char instant[EDM_DATETIME_LEN];
    if (!is_weak_etag(text))
        return ERR_INVALID_ETAG;
    const size_t len = instant_of_etag(text, instant);
    int64_t ticks;
    *timestamp = 0;
    if (len > 0 && edm_datetime_parse(slice_make(instant, len), &ticks) == OK)
        *timestamp = edm_datetime_to_clock(ticks);
    return OK;
}

/* --- continuation tokens --- */

struct slice odata_token_make(struct arena *arena, struct slice place)
{
    char *base64 = arena_bytes(arena, BASE64_LEN(place.len) + 1);
    base64_encode(place, base64);
    for (char *sign = strchr(base64, '='); sign != NULL; sign = strchr(sign, '='))
        *sign = '-';
    return arena_printf(arena, "1!%zu!%s", BASE64_LEN(place.len), base64);
}

enum err odata_token_read(struct arena *arena, struct slice token, struct slice *place)
{
    const struct slice version = slice_of("1!");
    if (!slice_starts_with(token, version))
        return ERR_MALFORMED;
    token = slice_from(token, version.len);
    const size_t digits = slice_find_byte(token, '!');
    const struct slice base64 = slice_from(token, digits + 1);
    uint64_t len;
    if (decimal_parse_u64(slice_head(token, digits), &len) != OK || len != base64.len)
        return ERR_MALFORMED;
    if (len == 0) {
        *place = slice_of("");
        return digits < token.len ? OK : ERR_MALFORMED;
    }
    char *bytes = arena_bytes(arena, base64.len);
    for (size_t i = 0; i < base64.len; i++) {
        /* A plus that went through a query without being encoded has become a space. */
        const char byte = base64.data[i];
        bytes[i] = byte == '-' ? '=' : byte == ' ' ? '+' : byte;
    }
    return base64_decode(arena, slice_make(bytes, base64.len), place);
}
