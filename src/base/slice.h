/*
 * slice.h - a borrowed run of bytes.
 *
 * A value: copy it freely, it owns nothing.  All zero bytes is the empty slice.  The
 * bytes belong to whoever made the slice (a request's arena, a row, a literal) and live
 * as long as that owner says.  Text from the wire is a slice; NUL-terminated strings are
 * only for libc.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *data;
    size_t len;
};

/* A slice of a string literal, usable in static initializers. */
#define SLICE_LITERAL(literal)                                                                     \
    {                                                                                              \
        .data = (literal), .len = sizeof(literal) - 1                                              \
    }

static inline struct slice slice_make(const void *data, size_t len)
{
    return (struct slice){ .data = data, .len = len };
}

/* The bytes of a NUL-terminated string; NULL gives the empty slice. */
static inline struct slice slice_of(const char *text)
{
    return slice_make(text, text != NULL ? strlen(text) : 0);
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool slice_is(struct slice a, const char *text)
{
    return slice_equal(a, slice_of(text));
}

/* ASCII case-insensitive equality. */
static inline bool slice_equal_nocase(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.data, b.data, a.len) == 0);
}

/* Byte order: negative, zero or positive; a prefix sorts before what it begins. */
static inline int slice_compare(struct slice a, struct slice b)
{
    const size_t shorter = a.len < b.len ? a.len : b.len;
    const int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

static inline bool slice_starts_with(struct slice a, struct slice prefix)
{
    return a.len >= prefix.len && (prefix.len == 0 || memcmp(a.data, prefix.data, prefix.len) == 0);
}

/* The bytes from `offset` on; empty when `offset` is at or past the end. */
static inline struct slice slice_from(struct slice a, size_t offset)
{
    if (offset >= a.len)
        return (struct slice){ 0 };
    return slice_make(a.data + offset, a.len - offset);
}

/* At most the first `len` bytes. */
static inline struct slice slice_head(struct slice a, size_t len)
{
    return slice_make(a.data, len < a.len ? len : a.len);
}

/* Where `byte` first stands, or a.len. */
static inline size_t slice_find_byte(struct slice a, char byte)
{
    const char *at = a.len == 0 ? NULL : memchr(a.data, byte, a.len);
    return at == NULL ? a.len : (size_t)(at - a.data);
}

/* Without spaces and tabs at both ends. */
static inline struct slice slice_trim(struct slice a)
{
    while (a.len > 0 && (a.data[0] == ' ' || a.data[0] == '\t'))
        a = slice_make(a.data + 1, a.len - 1);
    while (a.len > 0 && (a.data[a.len - 1] == ' ' || a.data[a.len - 1] == '\t'))
        a.len--;
    return a;
}

#endif
