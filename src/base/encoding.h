/*
 * encoding.h - text forms of bytes and numbers: base64, hexadecimal, percent-encoding,
 * decimal.  Pure functions; every decoder answers ERR_MALFORMED for what is not in its
 * format and then leaves its result untouched.
 */
#ifndef BASE_ENCODING_H
#define BASE_ENCODING_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* Characters needed for `len` bytes in base64, without a NUL. */
#define BASE64_LEN(len) (((len) + 2) / 3 * 4)

/* Write BASE64_LEN(bytes.len) characters and a NUL to `text`. */
void base64_encode(struct slice bytes, char *text);

/*
 * Padded, canonical alphabet only, no white space, and zeros in the bits that no byte uses, so
 * that each byte string has one text.  The result is in the arena.
 */
MUST_CHECK enum err base64_decode(struct arena *arena, struct slice text, struct slice *bytes);

/* Write 2 * bytes.len lower-case digits and a NUL to `text`. */
void hex_encode(struct slice bytes, char *text);

/* The value of a hexadecimal digit of either case, or -1. */
static inline int hex_digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/*
 * Replace %XX by the byte it names.  '+' stays '+'.  A percent sign without two
 * hexadecimal digits behind it is ERR_MALFORMED.  Without percent signs the result is
 * `text` itself, uncopied.
 */
MUST_CHECK enum err percent_decode(struct arena *arena, struct slice text, struct slice *bytes);

/* Percent-encode all but RFC 3986's unreserved characters and '/'. */
struct slice percent_encode_path(struct arena *arena, struct slice bytes);

/* Unsigned decimal digits only, no sign, no space, within 64 bits; not empty. */
MUST_CHECK enum err decimal_parse_u64(struct slice text, uint64_t *value);

/* The same with an optional leading '-'. */
MUST_CHECK enum err decimal_parse_i64(struct slice text, int64_t *value);

/* Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
bool utf8_is_valid(struct slice bytes);

/* Big-endian and little-endian integers in byte strings. */
static inline void put_be16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void put_be32(uint8_t *at, uint32_t value)
{
    put_be16(at, (uint16_t)(value >> 16));
    put_be16(at + 2, (uint16_t)value);
}

static inline void put_be64(uint8_t *at, uint64_t value)
{
    put_be32(at, (uint32_t)(value >> 32));
    put_be32(at + 4, (uint32_t)value);
}

static inline uint32_t get_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t get_be64(const uint8_t *at)
{
    return (uint64_t)get_be32(at) << 32 | get_be32(at + 4);
}

static inline void put_le32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline void put_le64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t get_le32(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static inline uint64_t get_le64(const uint8_t *at)
{
    return (uint64_t)get_le32(at + 4) << 32 | get_le32(at);
}

#endif
