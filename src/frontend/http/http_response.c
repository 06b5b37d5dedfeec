#include "frontend/http/http_response.h"

#include <assert.h>
#include <string.h>

#include "base/date.h"
#include "base/encoding.h"
#include "service/etag.h"

enum {
    HEADERS_AT_FIRST = 24,
};

void http_response_init(struct http_response *response, struct arena *arena, unsigned status)
{
    *response = (struct http_response){
        .arena = arena,
        .status = status,
        .headers = arena_alloc(arena, HEADERS_AT_FIRST * sizeof(struct http_field)),
        .header_room = HEADERS_AT_FIRST,
    };
}

static void add_kept(struct http_response *response, const char *name, struct slice value)
{
    if (value.len == 0)
        return;
    assert(value.data[value.len] == '\0');
    if (response->header_count == response->header_room) {
        struct http_field *headers =
            arena_alloc(response->arena, 2 * response->header_room * sizeof(*headers));
        memcpy(headers, response->headers, response->header_count * sizeof(*headers));
        response->headers = headers;
        response->header_room *= 2;
    }
    response->headers[response->header_count++] =
        (struct http_field){ .name = slice_of(name), .value = value };
}

void http_response_add(struct http_response *response, const char *name, struct slice value)
{
    add_kept(response, name, arena_copy(response->arena, value));
}

void http_response_add_text(struct http_response *response, const char *name, const char *value)
{
    add_kept(response, name, slice_of(value));
}

void http_response_add_number(struct http_response *response, const char *name, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    http_response_add(response, name, slice_make(&digits[at], sizeof(digits) - at));
}

void http_response_add_date(struct http_response *response, const char *name, int64_t ticks)
{
    char *text = arena_bytes(response->arena, DATE_RFC1123_LEN + 1);
    date_format_rfc1123(ticks, text);
    add_kept(response, name, slice_make(text, DATE_RFC1123_LEN));
}

void http_response_add_base64(struct http_response *response, const char *name, struct slice bytes)
{
    char *text = arena_bytes(response->arena, BASE64_LEN(bytes.len) + 1);
    base64_encode(bytes, text);
    add_kept(response, name, slice_make(text, BASE64_LEN(bytes.len)));
}

void http_response_add_etag(struct http_response *response, int64_t etag)
{
    char *text = arena_bytes(response->arena, ETAG_TEXT_LEN_MAX + 1);
    etag_format(etag, text);
    add_kept(response, "ETag", slice_of(text));
    http_response_add_date(response, "Last-Modified", etag);
}
