#include "frontend/http/json_read.h"

#include <stdint.h>

#include "base/encoding.h"

/* --- bytes --- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static void skip_space(struct json_reader *reader)
{
    size_t len = 0;
    while (len < reader->rest.len && is_space(reader->rest.data[len]))
        len++;
    reader->rest = slice_from(reader->rest, len);
}

/* Step over `byte` if it is next. */
static bool take_byte(struct json_reader *reader, char byte)
{
    if (reader->rest.len == 0 || reader->rest.data[0] != byte)
        return false;
    reader->rest = slice_from(reader->rest, 1);
    return true;
}

static bool take_word(struct json_reader *reader, const char *word)
{
    if (!slice_starts_with(reader->rest, slice_of(word)))
        return false;
    reader->rest = slice_from(reader->rest, strlen(word));
    return true;
}

/* --- strings --- */

/* The four digits of a \u escape at `text`. */
static enum err read_unit(struct slice text, uint32_t *unit)
{
    if (text.len < 4)
        return ERR_MALFORMED;
    *unit = 0;
    for (size_t i = 0; i < 4; i++) {
        const int digit = hex_digit_value(text.data[i]);
        if (digit < 0)
            return ERR_MALFORMED;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return OK;
}

/* The character of a \u escape; `text` begins behind the u, and `*used` of it was read. */
static enum err read_character(struct slice text, uint32_t *character, size_t *used)
{
    enum err err = read_unit(text, character);
    if (err != OK)
        return err;
    *used = 4;
    if (*character < 0xd800 || *character > 0xdfff)
        return OK;
    uint32_t low;
    if (*character > 0xdbff || !slice_starts_with(slice_from(text, 4), slice_of("\\u")))
        return ERR_MALFORMED;
    err = read_unit(slice_from(text, 6), &low);
    if (err != OK || low < 0xdc00 || low > 0xdfff)
        return ERR_MALFORMED;
    *character = 0x10000 + ((*character - 0xd800) << 10) + (low - 0xdc00);
    *used = 10;
    return OK;
}

/* UTF-8 of a character, at most as long as the escape that named it; gives the length. */
static size_t put_character(uint32_t character, char *at)
{
    if (character < 0x80) {
        at[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        at[0] = (char)(0xc0 | character >> 6);
        at[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        at[0] = (char)(0xe0 | character >> 12);
        at[1] = (char)(0x80 | (character >> 6 & 0x3f));
        at[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    at[0] = (char)(0xf0 | character >> 18);
    at[1] = (char)(0x80 | (character >> 12 & 0x3f));
    at[2] = (char)(0x80 | (character >> 6 & 0x3f));
    at[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

/* The byte that a backslash and `letter` stand for, or 0. */
static char simple_escape(char letter)
{
    static const char pairs[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    for (size_t i = 0; i + 1 < sizeof(pairs); i += 2)
        if (pairs[i] == letter)
            return pairs[i + 1];
    return 0;
}

static enum err unescape(struct arena *arena, struct slice raw, struct slice *text)
{
    char *const bytes = arena_bytes(arena, raw.len);
    size_t len = 0;
    size_t at = 0;
    while (at < raw.len) {
        if (raw.data[at] != '\\') {
            bytes[len++] = raw.data[at++];
            continue;
        }
        /* A string never ends in a lone backslash: it would have escaped the quote. */
        const char letter = raw.data[at + 1];
        at += 2;
        if (letter == 'u') {
            uint32_t character;
            size_t used;
            const enum err err = read_character(slice_from(raw, at), &character, &used);
            if (err != OK)
                return err;
            len += put_character(character, &bytes[len]);
            at += used;
            continue;
        }
        bytes[len] = simple_escape(letter);
        if (bytes[len++] == 0)
            return ERR_MALFORMED;
    }
    *text = slice_make(bytes, len);
    return OK;
}

static enum err take_string(struct json_reader *reader, struct slice *text)
{
    if (!take_byte(reader, '"'))
        return ERR_MALFORMED;
    const struct slice rest = reader->rest;
    bool has_escapes = false;
    size_t len = 0;
    while (len < rest.len && rest.data[len] != '"') {
        if ((unsigned char)rest.data[len] < 0x20)
            return ERR_MALFORMED;
        if (rest.data[len] == '\\') {
            has_escapes = true;
            len++;
        }
        len++;
    }
    if (len >= rest.len)
        return ERR_MALFORMED;
    reader->rest = slice_from(rest, len + 1);
    *text = slice_head(rest, len);
    return has_escapes ? unescape(reader->arena, *text, text) : OK;
}

/* --- numbers --- */

static size_t count_digits(struct slice text, size_t from)
{
    size_t count = 0;
    while (from + count < text.len && is_digit(text.data[from + count]))
        count++;
    return count;
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static enum err take_number(struct json_reader *reader, struct slice *text)
{
    const struct slice rest = reader->rest;
    if (rest.len == 0)
        return ERR_MALFORMED;
    size_t at = rest.data[0] == '-' ? 1 : 0;
    size_t digits = count_digits(rest, at);
    if (digits == 0 || (digits > 1 && rest.data[at] == '0'))
        return ERR_MALFORMED;
    at += digits;
    if (at < rest.len && rest.data[at] == '.') {
        digits = count_digits(rest, at + 1);
        if (digits == 0)
            return ERR_MALFORMED;
        at += 1 + digits;
    }
    if (at < rest.len && (rest.data[at] == 'e' || rest.data[at] == 'E')) {
        at++;
        if (at < rest.len && (rest.data[at] == '+' || rest.data[at] == '-'))
            at++;
        digits = count_digits(rest, at);
        if (digits == 0)
            return ERR_MALFORMED;
        at += digits;
    }
    *text = slice_head(rest, at);
    reader->rest = slice_from(rest, at);
    return OK;
}

/* --- objects --- */

static enum err take_value(struct json_reader *reader, struct json_value *value)
{
    *value = (struct json_value){ .kind = JSON_NULL };
    if (take_word(reader, "null"))
        return OK;
    if (take_word(reader, "true")) {
        value->kind = JSON_TRUE;
        return OK;
    }
    if (take_word(reader, "false")) {
        value->kind = JSON_FALSE;
        return OK;
    }
    if (reader->rest.len > 0 && reader->rest.data[0] == '"') {
        value->kind = JSON_STRING;
        return take_string(reader, &value->text);
    }
    value->kind = JSON_NUMBER;
    return take_number(reader, &value->text);
}

enum err json_begin(struct json_reader *reader, struct arena *arena, struct slice text)
{
    const struct slice mark = slice_of("\xef\xbb\xbf");
    if (!utf8_is_valid(text))
        return ERR_MALFORMED;
    if (slice_starts_with(text, mark))
        text = slice_from(text, mark.len);
    *reader = (struct json_reader){ .arena = arena, .rest = text, .is_first = true };
    skip_space(reader);
    if (!take_byte(reader, '{'))
        return ERR_MALFORMED;
    skip_space(reader);
    return OK;
}

enum err json_next(struct json_reader *reader, bool *more, struct slice *name,
                   struct json_value *value)
{
    *more = false;
    if (take_byte(reader, '}')) {
        skip_space(reader);
        return reader->rest.len == 0 ? OK : ERR_MALFORMED;
    }
    if (!reader->is_first && !take_byte(reader, ','))
        return ERR_MALFORMED;
    reader->is_first = false;
    skip_space(reader);
    enum err err = take_string(reader, name);
    if (err != OK)
        return err;
    skip_space(reader);
    if (!take_byte(reader, ':'))
        return ERR_MALFORMED;
    skip_space(reader);
    err = take_value(reader, value);
    if (err != OK)
        return err;
    skip_space(reader);
    *more = true;
    return OK;
}
