/*
 * strbuf.h - a growing run of bytes in an arena: response bodies, rows, keys.
 *
 * All zero bytes plus an arena is a valid empty buffer.  Growth copies into a new piece of
 * the arena; the buffer's memory is the arena's.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/slice.h"

struct strbuf {
    struct arena *arena;
    char *data;
    size_t len;
    size_t capacity;
};

static inline void strbuf_init(struct strbuf *buf, struct arena *arena)
{
    *buf = (struct strbuf){ .arena = arena };
}

/* For strbuf_reserve: the buffer is to grow. */
void strbuf_grow(struct strbuf *buf, size_t more);

/* Make room for `more` bytes beyond the present length. */
static inline void strbuf_reserve(struct strbuf *buf, size_t more)
{
    assert(buf->len <= buf->capacity);
    if (more > buf->capacity - buf->len)
        strbuf_grow(buf, more);
}

/* Answers are made of a great many short pieces, so these are inline. */
static inline void strbuf_add(struct strbuf *buf, struct slice bytes)
{
    if (bytes.len == 0)
        return;
    strbuf_reserve(buf, bytes.len);
    memcpy(buf->data + buf->len, bytes.data, bytes.len);
    buf->len += bytes.len;
}

static inline void strbuf_add_text(struct strbuf *buf, const char *text)
{
    strbuf_add(buf, slice_of(text));
}

static inline void strbuf_add_byte(struct strbuf *buf, char byte)
{
    strbuf_reserve(buf, 1);
    buf->data[buf->len++] = byte;
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The contents; valid until the buffer grows. */
static inline struct slice strbuf_slice(const struct strbuf *buf)
{
    return slice_make(buf->data, buf->len);
}

#endif
