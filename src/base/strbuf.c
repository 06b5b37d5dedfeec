/*
 * strbuf.c - capacity doubles, so that adding a byte at a time copies each byte once on
 * average.  The old piece stays in the arena: a slice of the buffer may be added to it.
 */
#include "base/strbuf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    CAPACITY_MIN = 128,
};

void strbuf_grow(struct strbuf *buf, size_t more)
{
    assert(more <= SIZE_MAX / 4);
    size_t capacity = buf->capacity < CAPACITY_MIN ? CAPACITY_MIN : buf->capacity * 2;
    if (capacity < buf->len + more)
        capacity = buf->len + more;
    char *const data = arena_bytes(buf->arena, capacity);
    if (buf->len > 0)
        memcpy(data, buf->data, buf->len);
    buf->data = data;
    buf->capacity = capacity;
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
    /* At least one byte of room, because vsnprintf writes a NUL even after nothing. */
    strbuf_reserve(buf, 1);
    const size_t room = buf->capacity - buf->len;
    va_list args;
    va_start(args, format);
    const int printed = vsnprintf(buf->data + buf->len, room, format, args);
    va_end(args);
    assert(printed >= 0);

    const size_t len = (size_t)printed;
    if (len >= room) {
        strbuf_reserve(buf, len + 1);
        va_start(args, format);
        vsnprintf(buf->data + buf->len, len + 1, format, args);
        va_end(args);
    }
    buf->len += len;
}
