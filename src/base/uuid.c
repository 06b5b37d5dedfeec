/*
 * uuid.c - making, printing and reading 128-bit identifiers.
 */
#include "base/uuid.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "base/encoding.h"
#include "base/log.h"

enum {
    HEX_DIGITS = 32,
    DASHES = 4,
};

static void fill_random(void *buf, size_t len)
{
    /* Up to 256 bytes come at once or not at all; a signal can only interrupt the wait for
     * the kernel's generator to be ready. */
    assert(len <= 256);
    ssize_t got;
    do {
        got = getrandom(buf, len, 0);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)len)
        panic("the system's random generator gives nothing");
}

/* RFC 4122, section 4.4: the version is 4 and the variant is 10 in binary. */
static void mark_version_4(struct uuid *id)
{
    id->bytes[6] = (uint8_t)((id->bytes[6] & 0x0f) | 0x40);
    id->bytes[8] = (uint8_t)((id->bytes[8] & 0x3f) | 0x80);
}

struct uuid uuid_random(void)
{
    struct uuid id;
    fill_random(&id, sizeof(id));
    mark_version_4(&id);
    return id;
}

static uint64_t rotate_left(uint64_t value, int count)
{
    return value << count | value >> (64 - count);
}

/* The next number of the xoshiro256** generator of Blackman and Vigna. */
static uint64_t xoshiro_next(uint64_t state[4])
{
    const uint64_t number = rotate_left(state[1] * 5, 7) * 9;
    const uint64_t mixed = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= mixed;
    state[3] = rotate_left(state[3], 45);
    return number;
}

struct uuid uuid_quick(void)
{
    /* All zero is the one state the generator cannot be in, so it means "not seeded". */
    static _Thread_local uint64_t state[4];
    if ((state[0] | state[1] | state[2] | state[3]) == 0)
        fill_random(state, sizeof(state));
    struct uuid id;
    put_be64(id.bytes, xoshiro_next(state));
    put_be64(id.bytes + 8, xoshiro_next(state));
    mark_version_4(&id);
    return id;
}

/* Whether a dash comes before byte `index` of the text form. */
static bool dash_before(size_t index)
{
    return index == 4 || index == 6 || index == 8 || index == 10;
}

void uuid_format(const struct uuid *id, char text[UUID_TEXT_LEN + 1])
{
    static const char digits[] = "0123456789abcdef";
    char *at = text;
    for (size_t i = 0; i < sizeof(id->bytes); i++) {
        if (dash_before(i))
            *at++ = '-';
        *at++ = digits[id->bytes[i] >> 4];
        *at++ = digits[id->bytes[i] & 15];
    }
    *at = '\0';
}

/* The N form (32 digits) and the D form (with dashes), told apart by their length. */
static enum err parse_plain(struct slice text, struct uuid *id)
{
    const bool dashed = text.len == HEX_DIGITS + DASHES;
    if (!dashed && text.len != HEX_DIGITS)
        return ERR_MALFORMED;
    struct uuid parsed;
    const char *at = text.data;
    for (size_t i = 0; i < sizeof(parsed.bytes); i++) {
        if (dashed && dash_before(i) && *at++ != '-')
            return ERR_MALFORMED;
        const int high = hex_digit_value(at[0]);
        const int low = hex_digit_value(at[1]);
        if (high < 0 || low < 0)
            return ERR_MALFORMED;
        parsed.bytes[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    *id = parsed;
    return OK;
}

static bool take_byte(struct slice *text, char byte)
{
    if (text->len == 0 || text->data[0] != byte)
        return false;
    *text = slice_from(*text, 1);
    return true;
}

/* Take "0x" and a number of `size` bytes, which is written big-endian to `bytes`.  As in
 * .NET leading zeros may be left out or added. */
static bool take_number(struct slice *text, uint8_t *bytes, size_t size)
{
    if (!take_byte(text, '0') || (!take_byte(text, 'x') && !take_byte(text, 'X')))
        return false;
    uint64_t value = 0;
    size_t count = 0;
    while (count < text->len && hex_digit_value(text->data[count]) >= 0) {
        value = value << 4 | (uint64_t)hex_digit_value(text->data[count]);
        if (value >> (8 * size) != 0)
            return false;
        count++;
    }
    *text = slice_from(*text, count);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    return count > 0;
}

/* The X form: {0x01234567,0x89ab,0xcdef,{0x01,0x23,0x45,0x67,0x89,0xab,0xcd,0xef}}. */
static enum err parse_x_form(struct slice text, struct uuid *id)
{
    struct uuid parsed;
    bool ok = take_byte(&text, '{') && take_number(&text, parsed.bytes, 4) &&
              take_byte(&text, ',') && take_number(&text, parsed.bytes + 4, 2) &&
              take_byte(&text, ',') && take_number(&text, parsed.bytes + 6, 2) &&
              take_byte(&text, ',') && take_byte(&text, '{');
    for (size_t i = 8; ok && i < sizeof(parsed.bytes); i++)
        ok = (i == 8 || take_byte(&text, ',')) && take_number(&text, parsed.bytes + i, 1);
    ok = ok && take_byte(&text, '}') && take_byte(&text, '}') && text.len == 0;
    if (!ok)
        return ERR_MALFORMED;
    *id = parsed;
    return OK;
}

enum err uuid_parse(struct slice text, struct uuid *id)
{
    if (text.len < HEX_DIGITS)
        return ERR_MALFORMED;
    const char first = text.data[0];
    const char last = text.data[text.len - 1];
    const bool wrapped = text.len == UUID_TEXT_LEN + 2;
    if (wrapped && ((first == '{' && last == '}') || (first == '(' && last == ')')))
        return parse_plain(slice_make(text.data + 1, UUID_TEXT_LEN), id);
    if (first == '{')
        return parse_x_form(text, id);
    return parse_plain(text, id);
}
