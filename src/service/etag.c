/*
 * etag.c - the text form of an ETag.
 *
 * Only one text stands for each value (upper-case digits, no leading zero), so that comparing
 * values is the same as comparing texts.
 */
#include "service/etag.h"

#include <stddef.h>

enum {
    ETAG_DIGITS_MAX = 16,
};

void etag_format(int64_t etag, char text[ETAG_TEXT_LEN_MAX + 1])
{
    char digits[ETAG_DIGITS_MAX];
    size_t count = 0;
    uint64_t rest = (uint64_t)etag;
    do {
        digits[count++] = "0123456789ABCDEF"[rest & 0xF];
        rest >>= 4;
    } while (rest != 0);

    char *at = text;
    *at++ = '"';
    *at++ = '0';
    *at++ = 'x';
    while (count > 0)
        *at++ = digits[--count];
    *at++ = '"';
    *at = '\0';
}

/* The value of an upper-case hexadecimal digit, or -1. */
static int etag_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

enum err etag_parse(struct slice text, int64_t *etag)
{
    if (text.len >= 2 && text.data[0] == '"' && text.data[text.len - 1] == '"')
        text = slice_make(text.data + 1, text.len - 2);

    static const struct slice prefix = SLICE_LITERAL("0x");
    if (!slice_starts_with(text, prefix))
        return ERR_MALFORMED;
    const struct slice digits = slice_from(text, prefix.len);
    if (digits.len == 0 || digits.len > ETAG_DIGITS_MAX)
        return ERR_MALFORMED;
    if (digits.data[0] == '0' && digits.len > 1)
        return ERR_MALFORMED;

    uint64_t value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        const int digit = etag_digit(digits.data[i]);
        if (digit < 0)
            return ERR_MALFORMED;
        value = value << 4 | (uint64_t)digit;
    }
    if (value > INT64_MAX)
        return ERR_MALFORMED;
    *etag = (int64_t)value;
    return OK;
}
