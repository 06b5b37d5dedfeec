/*
 * fuzz_message.h - a request as text, taken apart as simply as can be.
 *
 *   PUT /devstoreaccount1/box/blob?comp=metadata
 *   x-ms-version: 2021-12-02
 *
 *   the body, up to the end or a line of two percent signs, behind which is the next request
 */
#ifndef TESTS_FUZZ_FUZZ_MESSAGE_H
#define TESTS_FUZZ_FUZZ_MESSAGE_H

#include "frontend/http/http_message.h"
#include "fuzz.h"

enum {
    FUZZ_HEADERS_MAX = 40,
    FUZZ_HEADERS_ADDED = 8, /* room for those a target adds */
};

struct fuzz_message {
    struct slice method;
    struct slice target;
    struct http_field headers[FUZZ_HEADERS_MAX + FUZZ_HEADERS_ADDED];
    size_t header_count;
    struct slice body;
};

/* The text up to the next separator; `*rest` is what follows it. */
static inline struct slice fuzz_message_cut(struct slice *rest)
{
    const struct slice mark = slice_of("\n%%\n");
    const char *found = rest->len == 0 ? NULL : memmem(rest->data, rest->len, mark.data, mark.len);
    const struct slice text =
        found == NULL ? *rest : slice_head(*rest, (size_t)(found - rest->data));
    *rest = found == NULL ? (struct slice){ 0 } : slice_from(*rest, text.len + mark.len);
    return text;
}

static inline struct slice fuzz_message_line(struct slice *text)
{
    const size_t len = slice_find_byte(*text, '\n');
    struct slice line = slice_head(*text, len);
    *text = slice_from(*text, len + 1);
    if (line.len > 0 && line.data[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* A slice with a NUL behind it, as the library gives us headers; without one inside. */
static inline struct slice fuzz_message_text(struct arena *arena, struct slice bytes)
{
    return arena_copy(arena, slice_head(bytes, slice_find_byte(bytes, '\0')));
}

static inline void fuzz_message_add(struct fuzz_message *message, struct slice name,
                                    struct slice value)
{
    assert(message->header_count < sizeof(message->headers) / sizeof(message->headers[0]));
    message->headers[message->header_count++] = (struct http_field){ name, value };
}

/* Everything but the body is copied to the arena. */
static inline void fuzz_message_read(struct arena *arena, struct slice text,
                                     struct fuzz_message *message)
{
    *message = (struct fuzz_message){ 0 };
    const struct slice line = fuzz_message_line(&text);
    const size_t space = slice_find_byte(line, ' ');
    const struct slice target = slice_from(line, space + 1);
    message->method = fuzz_message_text(arena, slice_head(line, space));
    message->target = fuzz_message_text(arena, slice_head(target, slice_find_byte(target, ' ')));
    while (text.len > 0) {
        const struct slice header = fuzz_message_line(&text);
        if (header.len == 0)
            break;
        const size_t colon = slice_find_byte(header, ':');
        if (message->header_count < FUZZ_HEADERS_MAX)
            fuzz_message_add(message, fuzz_message_text(arena, slice_head(header, colon)),
                             fuzz_message_text(arena, slice_trim(slice_from(header, colon + 1))));
    }
    message->body = text;
}

#endif
