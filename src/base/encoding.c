/*
 * encoding.c - base64, hexadecimal, percent-encoding, decimal, UTF-8.
 */
#include "base/encoding.h"

#include <assert.h>
#include <string.h>

#include "base/strbuf.h"

/* RFC 4648, table 1. */
static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of each base64 digit plus one; 0 for every other character. */
static const uint8_t base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

void base64_encode(struct slice bytes, char *text)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    size_t left = bytes.len;
    for (; left >= 3; left -= 3, at += 3, text += 4) {
        const uint32_t group = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
        text[0] = base64_digits[group >> 18];
        text[1] = base64_digits[group >> 12 & 63];
        text[2] = base64_digits[group >> 6 & 63];
        text[3] = base64_digits[group & 63];
    }
    if (left > 0) {
        const uint32_t group = (uint32_t)at[0] << 16 | (left == 2 ? (uint32_t)at[1] << 8 : 0);
        text[0] = base64_digits[group >> 18];
        text[1] = base64_digits[group >> 12 & 63];
        text[2] = left == 2 ? base64_digits[group >> 6 & 63] : '=';
        text[3] = '=';
        text += 4;
    }
    *text = '\0';
}

/* The 24 bits of four digits, of which the last `padding` are '='; -1 if they are not valid. */
static int32_t base64_group(const char *text, size_t padding)
{
    uint32_t group = 0;
    for (size_t i = 0; i < 4 - padding; i++) {
        const uint8_t value = base64_values[(uint8_t)text[i]];
        if (value == 0)
            return -1;
        group |= (uint32_t)(value - 1) << (18 - 6 * i);
    }
    /* Bits that no byte uses must be zero: each byte string has one text only. */
    if ((group & ((1U << (8 * padding)) - 1)) != 0)
        return -1;
    return (int32_t)group;
}

enum err base64_decode(struct arena *arena, struct slice text, struct slice *bytes)
{
    if (text.len % 4 != 0)
        return ERR_MALFORMED;
    size_t padding = 0;
    while (padding < 2 && padding < text.len && text.data[text.len - 1 - padding] == '=')
        padding++;
    const size_t len = text.len / 4 * 3 - padding;
    /* Whole groups are written, and the padding's bytes after `len` are not the result's. */
    char *const decoded = arena_bytes(arena, len + padding + 1);
    char *at = decoded;
    for (size_t i = 0; i < text.len; i += 4) {
        const int32_t group = base64_group(text.data + i, i + 4 == text.len ? padding : 0);
        if (group < 0)
            return ERR_MALFORMED;
        *at++ = (char)(group >> 16);
        *at++ = (char)(group >> 8 & 255);
        *at++ = (char)(group & 255);
    }
    decoded[len] = '\0';
    *bytes = slice_make(decoded, len);
    return OK;
}

void hex_encode(struct slice bytes, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.len; i++) {
        const uint8_t byte = (uint8_t)bytes.data[i];
        *text++ = digits[byte >> 4];
        *text++ = digits[byte & 15];
    }
    *text = '\0';
}

enum err percent_decode(struct arena *arena, struct slice text, struct slice *bytes)
{
    const size_t plain = slice_find_byte(text, '%');
    if (plain == text.len) {
        *bytes = text;
        return OK;
    }
    char *const decoded = arena_bytes(arena, text.len);
    memcpy(decoded, text.data, plain);
    size_t len = plain;
    for (size_t i = plain; i < text.len; i++) {
        if (text.data[i] != '%') {
            decoded[len++] = text.data[i];
            continue;
        }
        if (text.len - i < 3)
            return ERR_MALFORMED;
        const int high = hex_digit_value(text.data[i + 1]);
        const int low = hex_digit_value(text.data[i + 2]);
        if (high < 0 || low < 0)
            return ERR_MALFORMED;
        decoded[len++] = (char)(high << 4 | low);
        i += 2;
    }
    *bytes = slice_make(decoded, len);
    return OK;
}

/* RFC 3986, section 2.3. */
static bool is_unreserved(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

struct slice percent_encode_path(struct arena *arena, struct slice bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    struct strbuf buf;
    strbuf_init(&buf, arena);
    strbuf_reserve(&buf, bytes.len);
    for (size_t i = 0; i < bytes.len; i++) {
        const char byte = bytes.data[i];
        if (is_unreserved(byte) || byte == '/') {
            strbuf_add_byte(&buf, byte);
        } else {
            strbuf_add_byte(&buf, '%');
            strbuf_add_byte(&buf, digits[(uint8_t)byte >> 4]);
            strbuf_add_byte(&buf, digits[(uint8_t)byte & 15]);
        }
    }
    return strbuf_slice(&buf);
}

enum err decimal_parse_u64(struct slice text, uint64_t *value)
{
    if (text.len == 0)
        return ERR_MALFORMED;
    uint64_t parsed = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return ERR_MALFORMED;
        const uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (parsed > (UINT64_MAX - digit) / 10)
            return ERR_MALFORMED;
        parsed = parsed * 10 + digit;
    }
    *value = parsed;
    return OK;
}

enum err decimal_parse_i64(struct slice text, int64_t *value)
{
    const bool negative = text.len > 0 && text.data[0] == '-';
    uint64_t magnitude;
    const enum err err = decimal_parse_u64(slice_from(text, negative ? 1 : 0), &magnitude);
    if (err != OK)
        return err;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return ERR_MALFORMED;
    /* Negated as an unsigned number, because the magnitude of INT64_MIN fits no int64_t. */
    *value = (int64_t)(negative ? 0 - magnitude : magnitude);
    return OK;
}

/*
 * The length of the sequence at the front of `bytes`, or 0 if it is not well-formed
 * (Unicode, table 3-7).  The second byte's range is what excludes overlong forms,
 * surrogates and what lies beyond U+10FFFF.
 */
static size_t utf8_sequence_len(const uint8_t *bytes, size_t left)
{
    const uint8_t lead = bytes[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    const size_t len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (left < len)
        return 0;
    const uint8_t second_min = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t second_max = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < second_min || bytes[1] > second_max)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    }
    return len;
}

bool utf8_is_valid(struct slice bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    size_t left = bytes.len;
    while (left > 0) {
        /* Eight ASCII characters at a time; nearly all text is nothing else. */
        uint64_t eight;
        while (left >= sizeof(eight)) {
            memcpy(&eight, at, sizeof(eight));
            if ((eight & UINT64_C(0x8080808080808080)) != 0)
                break;
            at += sizeof(eight);
            left -= sizeof(eight);
        }
        if (left == 0)
            break;
        const size_t len = utf8_sequence_len(at, left);
        if (len == 0)
            return false;
        at += len;
        left -= len;
    }
    return true;
}
