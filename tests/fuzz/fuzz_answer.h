/*
 * fuzz_answer.h - whether an answer is well-formed, whatever the request was.
 */
#ifndef TESTS_FUZZ_FUZZ_ANSWER_H
#define TESTS_FUZZ_FUZZ_ANSWER_H

#include "base/encoding.h"
#include "frontend/http/http_response.h"
#include "frontend/http/multipart.h"
#include "frontend/http/xml_read.h"
#include "fuzz.h"

/* --- JSON, as RFC 8259 has it --- */

static inline bool answer_json_value(struct slice *text, int depth);

static inline char answer_json_peek(struct slice *text)
{
    while (text->len > 0 && memchr(" \t\r\n", text->data[0], 4) != NULL)
        *text = slice_from(*text, 1);
    return text->len == 0 ? '\0' : text->data[0];
}

static inline bool answer_json_string(struct slice *text)
{
    if (answer_json_peek(text) != '"')
        return false;
    size_t i = 1;
    for (; i < text->len && text->data[i] != '"'; i++) {
        if ((unsigned char)text->data[i] < 0x20)
            return false;
        if (text->data[i] != '\\')
            continue;
        if (++i == text->len || memchr("\"\\/bfnrtu", text->data[i], 9) == NULL)
            return false;
    }
    if (i >= text->len)
        return false;
    *text = slice_from(*text, i + 1);
    return true;
}

/* What stands between a bracket and its other half. */
static inline bool answer_json_list(struct slice *text, char close, bool has_names, int depth)
{
    *text = slice_from(*text, 1);
    if (answer_json_peek(text) == close) {
        *text = slice_from(*text, 1);
        return true;
    }
    for (;;) {
        if (has_names) {
            if (!answer_json_string(text) || answer_json_peek(text) != ':')
                return false;
            *text = slice_from(*text, 1);
        }
        if (!answer_json_value(text, depth + 1))
            return false;
        const char next = answer_json_peek(text);
        *text = slice_from(*text, 1);
        if (next == close)
            return true;
        if (next != ',')
            return false;
    }
}

static inline bool answer_json_value(struct slice *text, int depth)
{
    static const char *const words[] = { "true", "false", "null" };
    const char first = answer_json_peek(text);
    if (depth > 10)
        return false;
    if (first == '{')
        return answer_json_list(text, '}', true, depth);
    if (first == '[')
        return answer_json_list(text, ']', false, depth);
    if (first == '"')
        return answer_json_string(text);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_starts_with(*text, slice_of(words[i]))) {
            *text = slice_from(*text, strlen(words[i]));
            return true;
        }
    }
    size_t len = 0;
    while (len < text->len && memchr("+-.0123456789eE", text->data[len], 15) != NULL)
        len++;
    *text = slice_from(*text, len);
    return len > 0;
}

static inline bool answer_is_json(struct slice text)
{
    return utf8_is_valid(text) && answer_json_value(&text, 0) && answer_json_peek(&text) == '\0' &&
           text.len == 0;
}

/* --- the answer --- */

static inline bool answer_is_token(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.data[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            memchr("!#$%&'*+-.^_`|~", c, 15) == NULL)
            return false;
    }
    return name.len > 0;
}

static inline void answer_check_headers(const struct http_response *response)
{
    for (size_t i = 0; i < response->header_count; i++) {
        const struct slice name = response->headers[i].name;
        const struct slice value = response->headers[i].value;
        assert(answer_is_token(name));
        /* A NUL inside would end the header early, an end of a line would begin another. */
        assert(strlen(value.data) == value.len);
        assert(slice_find_byte(value, '\r') == value.len);
        assert(slice_find_byte(value, '\n') == value.len);
    }
}

static inline struct slice answer_header_of(const struct http_response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++)
        if (slice_equal_nocase(response->headers[i].name, slice_of(name)))
            return response->headers[i].value;
    return (struct slice){ 0 };
}

/* A body that the server wrote is of the type that it says. */
static inline void answer_check_body(struct arena *arena, const struct http_response *response)
{
    const struct slice type = answer_header_of(response, "Content-Type");
    struct slice boundary = { 0 };
    if (response->payload != NULL || response->body.len == 0)
        return;
    assert(type.len > 0);
    if (slice_starts_with(type, slice_of("application/xml"))) {
        struct xml_node *root = NULL;
        struct xml_fault fault = { 0 };
        assert(xml_parse(arena, response->body, &root, &fault) == OK);
    } else if (slice_starts_with(type, slice_of("application/json"))) {
        assert(answer_is_json(response->body));
    } else if (multipart_boundary(type, &boundary) == OK) {
        const struct multipart_piece *pieces = NULL;
        size_t count = 0;
        assert(multipart_split(arena, response->body, boundary, MULTIPART_PARTS_MAX + 1, &pieces,
                               &count) == OK);
    }
}

static inline void answer_check(struct arena *arena, const struct http_response *response)
{
    assert(response->status >= 200 && response->status <= 599);
    /* What is missing is 501, work in the background is 503; 500 would be our own fault. */
    assert(response->status != 500);
    answer_check_headers(response);
    answer_check_body(arena, response);
    if (response->status >= 400)
        assert(answer_header_of(response, "x-ms-error-code").len > 0 || response->body.len > 0);
}

#endif
