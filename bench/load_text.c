#include "load_text.h"

#include <stdlib.h>
#include <string.h>

#include "load_fail.h"

void text_reserve(struct text *text, size_t extra)
{
    if (text->len + extra <= text->capacity)
        return;
    size_t capacity = text->capacity == 0 ? 1024 : text->capacity;
    while (capacity < text->len + extra)
        capacity *= 2;
    text->data = realloc(text->data, capacity);
    if (text->data == NULL)
        load_fail("no memory");
    text->capacity = capacity;
}

void text_add(struct text *text, const char *data, size_t len)
{
    if (len == 0)
        return; /* an empty text has no memory to point into */
    text_reserve(text, len);
    memcpy(text->data + text->len, data, len);
    text->len += len;
}

void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_add_number(struct text *text, uint64_t number, size_t width)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (sizeof digits - at < width && at > 0)
        digits[--at] = '0';
    text_add(text, digits + at, sizeof digits - at);
}

void text_add_url(struct text *text, const char *string)
{
    static const char PLAIN[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char HEX[] = "0123456789ABCDEF";
    for (; *string != '\0'; string++) {
        if (strchr(PLAIN, *string) != NULL) {
            text_add(text, string, 1);
        } else {
            const unsigned byte = (unsigned char)*string;
            text_add(text, (const char[]){ '%', HEX[byte >> 4], HEX[byte & 15] }, 3);
        }
    }
}

/* SplitMix64; bench/steps.py has it too. */
uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t bits = *state;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
    return bits ^ (bits >> 31);
}

void text_add_noise(struct text *text, uint64_t *random_state, size_t len)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    text_reserve(text, len);
    uint64_t bits = 0;
    for (size_t i = 0; i < len; i++) {
        bits = i % 10 == 0 ? random_next(random_state) : bits >> 6;
        text->data[text->len++] = LETTERS[bits & 63];
    }
}
