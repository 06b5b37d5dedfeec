/*
 * filter_lexer.c - the tokens of a filter.
 *
 * A token ends where the longest run that can be one ends, so that space is only needed between two
 * words or numbers.  Any byte beyond ASCII counts as a letter: names are Unicode.
 */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "service/table/filter_internal.h"

/* The byte at `at`, or NUL at and behind the end; a NUL in the text is no part of any token. */
static char peek(const struct filter_lexer *lexer, size_t at)
{
    return at < lexer->text.len ? lexer->text.data[at] : '\0';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_word_start(char byte)
{
    return isalpha((unsigned char)byte) || byte == '_' || (unsigned char)byte >= 0x80;
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool fail(struct filter_lexer *lexer, enum filter_fault_type type, size_t at)
{
    *lexer->fault = (struct filter_fault){ .type = type, .at = at };
    return false;
}

static bool fail_literal(struct filter_lexer *lexer, const struct filter_token *token,
                         enum edm_type type)
{
    *lexer->fault = (struct filter_fault){
        .type = FILTER_FAULT_LITERAL,
        .at = token->start,
        .literal_type = type,
        .literal_end = token->end,
    };
    return false;
}

static struct slice token_text(const struct filter_lexer *lexer, const struct filter_token *token)
{
    return slice_make(lexer->text.data + token->start, token->end - token->start);
}

static void skip_space(struct filter_lexer *lexer)
{
    while (is_space(peek(lexer, lexer->at)))
        lexer->at++;
}

static void skip_digits(struct filter_lexer *lexer)
{
    while (is_digit(peek(lexer, lexer->at)))
        lexer->at++;
}

/* --- strings --- */

/* The bytes between the quotes of 'it''s', with one quote for two. */
static struct slice undouble(struct arena *arena, struct slice quoted, size_t doubled_count)
{
    if (doubled_count == 0)
        return quoted;
    char *bytes = arena_bytes(arena, quoted.len - doubled_count);
    size_t len = 0;
    for (size_t i = 0; i < quoted.len; i++) {
        bytes[len++] = quoted.data[i];
        if (quoted.data[i] == '\'')
            i++;
    }
    assert(len == quoted.len - doubled_count);
    return slice_make(bytes, len);
}

/* From its first quote on. */
static bool read_string(struct filter_lexer *lexer, struct filter_token *token)
{
    size_t at = lexer->at + 1;
    size_t doubled_count = 0;
    for (;;) {
        at += slice_find_byte(slice_from(lexer->text, at), '\'');
        if (at >= lexer->text.len)
            return fail(lexer, FILTER_FAULT_UNTERMINATED_STRING, lexer->text.len);
        at++;
        if (peek(lexer, at) != '\'')
            break;
        at++;
        doubled_count++;
    }
    const struct slice quoted = slice_make(lexer->text.data + lexer->at + 1, at - lexer->at - 2);
    token->type = FILTER_TOKEN_LITERAL;
    token->value = edm_string(undouble(lexer->arena, quoted, doubled_count));
    token->end = lexer->at = at;
    return true;
}

/* --- numbers --- */

static bool finish_integer(struct filter_lexer *lexer, struct filter_token *token, bool is_long)
{
    struct slice digits = token_text(lexer, token);
    if (is_long)
        digits.len--;
    int64_t number;
    if (decimal_parse_i64(digits, &number) != OK)
        return fail_literal(lexer, token, is_long ? EDM_INT64 : EDM_INT32);
    if (is_long || number < INT32_MIN || number > INT32_MAX)
        token->value = edm_int64(number);
    else
        token->value = edm_int32((int32_t)number);
    return true;
}

static bool finish_double(struct filter_lexer *lexer, struct filter_token *token)
{
    /* strtod stops at a suffix by itself; it needs the NUL that a copy ends with. */
    const double number = strtod(arena_copy(lexer->arena, token_text(lexer, token)).data, NULL);
    if (isinf(number))
        return fail_literal(lexer, token, EDM_DOUBLE);
    token->value = edm_double(number);
    return true;
}

/* The digits after a point or an exponent; at least one. */
static bool read_more_digits(struct filter_lexer *lexer)
{
    if (!is_digit(peek(lexer, lexer->at)))
        return fail(lexer, FILTER_FAULT_DIGIT_EXPECTED, lexer->at);
    skip_digits(lexer);
    return true;
}

/* From its first digit on; a sign before it belongs to the token already. */
static bool read_number(struct filter_lexer *lexer, struct filter_token *token)
{
    bool is_double = false;
    skip_digits(lexer);
    if (peek(lexer, lexer->at) == '.') {
        lexer->at++;
        is_double = true;
        if (!read_more_digits(lexer))
            return false;
    }
    if (peek(lexer, lexer->at) == 'e' || peek(lexer, lexer->at) == 'E') {
        lexer->at++;
        is_double = true;
        if (peek(lexer, lexer->at) == '+' || peek(lexer, lexer->at) == '-')
            lexer->at++;
        if (!read_more_digits(lexer))
            return false;
    }

    const char suffix = peek(lexer, lexer->at);
    const bool is_long = suffix == 'L' || suffix == 'l';
    if (suffix != '\0' && strchr("DdFfMmLl", suffix) != NULL) {
        lexer->at++;
        is_double = is_double || !is_long;
    }
    token->type = FILTER_TOKEN_LITERAL;
    token->end = lexer->at;
    if (is_long && is_double)
        return fail_literal(lexer, token, EDM_INT64);
    return is_double ? finish_double(lexer, token) : finish_integer(lexer, token, is_long);
}

/* --- words and what begins like one --- */

static bool finish_datetime(struct filter_lexer *lexer, struct filter_token *token,
                            struct slice quoted)
{
    int64_t ticks;
    const enum err err = edm_datetime_parse(quoted, &ticks);
    /* No entity has an instant before 1601, but a query from the year 1 on is a sensible one: any
       instant before the first stands for it. */
    if (err == ERR_OUT_OF_RANGE)
        ticks = -1;
    else if (err != OK)
        return fail_literal(lexer, token, EDM_DATETIME);
    token->value = edm_datetime(ticks);
    return true;
}

static bool finish_guid(struct filter_lexer *lexer, struct filter_token *token, struct slice quoted)
{
    struct uuid guid;
    if (edm_guid_parse(quoted, &guid) != OK)
        return fail_literal(lexer, token, EDM_GUID);
    token->value = edm_guid(guid);
    return true;
}

static bool finish_binary(struct filter_lexer *lexer, struct filter_token *token,
                          struct slice quoted)
{
    if (quoted.len % 2 != 0)
        return fail_literal(lexer, token, EDM_BINARY);
    char *bytes = arena_bytes(lexer->arena, quoted.len / 2);
    for (size_t i = 0; i < quoted.len; i += 2) {
        const int high = hex_digit_value(quoted.data[i]);
        const int low = hex_digit_value(quoted.data[i + 1]);
        if (high < 0 || low < 0)
            return fail_literal(lexer, token, EDM_BINARY);
        bytes[i / 2] = (char)(high << 4 | low);
    }
    token->value = edm_binary(slice_make(bytes, quoted.len / 2));
    return true;
}

typedef bool finish_literal(struct filter_lexer *, struct filter_token *, struct slice quoted);

static finish_literal *find_prefix(struct slice word)
{
    static const struct {
        struct slice word;
        finish_literal *finish;
    } prefixes[] = {
        { SLICE_LITERAL("datetime"), finish_datetime },
        { SLICE_LITERAL("guid"), finish_guid },
        { SLICE_LITERAL("X"), finish_binary },
        { SLICE_LITERAL("binary"), finish_binary },
    };
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (slice_equal_nocase(word, prefixes[i].word))
            return prefixes[i].finish;
    }
    return NULL;
}

/* The quotes of a literal and what is between them; the prefix is read. */
static bool read_prefixed(struct filter_lexer *lexer, struct filter_token *token,
                          finish_literal *finish)
{
    const struct slice rest = slice_from(lexer->text, lexer->at + 1);
    const size_t len = slice_find_byte(rest, '\'');
    if (len == rest.len)
        return fail(lexer, FILTER_FAULT_UNTERMINATED_LITERAL, lexer->text.len);
    lexer->at += len + 2;
    token->type = FILTER_TOKEN_LITERAL;
    token->end = lexer->at;
    return finish(lexer, token, slice_head(rest, len));
}

static void skip_word(struct filter_lexer *lexer)
{
    while (is_word_start(peek(lexer, lexer->at)) || is_digit(peek(lexer, lexer->at)))
        lexer->at++;
}

/* The words that stand for a value. */
static bool find_value(struct slice word, struct edm_value *value)
{
    if (slice_is(word, "true"))
        *value = edm_boolean(true);
    else if (slice_is(word, "false"))
        *value = edm_boolean(false);
    else if (slice_is(word, "NaN"))
        *value = edm_double((double)NAN);
    else if (slice_is(word, "INF"))
        *value = edm_double((double)INFINITY);
    else
        return false;
    return true;
}

static bool read_word(struct filter_lexer *lexer, struct filter_token *token)
{
    skip_word(lexer);
    token->end = lexer->at;
    const struct slice word = token_text(lexer, token);
    if (peek(lexer, lexer->at) == '\'') {
        finish_literal *const finish = find_prefix(word);
        if (finish != NULL)
            return read_prefixed(lexer, token, finish);
    }
    if (find_value(word, &token->value))
        token->type = FILTER_TOKEN_LITERAL;
    else if (slice_is(word, "null"))
        token->type = FILTER_TOKEN_NULL;
    else
        token->type = FILTER_TOKEN_WORD;
    return true;
}

/* -5, -INF, or a mere minus. */
static bool read_minus(struct filter_lexer *lexer, struct filter_token *token)
{
    lexer->at++;
    if (is_digit(peek(lexer, lexer->at)))
        return read_number(lexer, token);
    const size_t after_minus = lexer->at;
    skip_word(lexer);
    if (slice_is(slice_make(lexer->text.data + after_minus, lexer->at - after_minus), "INF")) {
        token->type = FILTER_TOKEN_LITERAL;
        token->value = edm_double((double)-INFINITY);
    } else {
        lexer->at = after_minus;
        token->type = FILTER_TOKEN_OTHER;
    }
    token->end = lexer->at;
    return true;
}

static bool read_character(struct filter_lexer *lexer, struct filter_token *token)
{
    const char byte = peek(lexer, lexer->at);
    if (byte == '(')
        token->type = FILTER_TOKEN_OPEN;
    else if (byte == ')')
        token->type = FILTER_TOKEN_CLOSE;
    else if (byte != '\0' && strchr(",./=?*", byte) != NULL)
        token->type = FILTER_TOKEN_OTHER;
    else
        return fail(lexer, FILTER_FAULT_CHARACTER, lexer->at);
    token->end = ++lexer->at;
    return true;
}

bool filter__next_token(struct filter_lexer *lexer, struct filter_token *token)
{
    skip_space(lexer);
    *token = (struct filter_token){ .start = lexer->at, .end = lexer->at };
    if (lexer->at == lexer->text.len) {
        token->type = FILTER_TOKEN_END;
        return true;
    }
    const char byte = peek(lexer, lexer->at);
    if (byte == '\'')
        return read_string(lexer, token);
    if (is_digit(byte))
        return read_number(lexer, token);
    if (byte == '-')
        return read_minus(lexer, token);
    if (is_word_start(byte))
        return read_word(lexer, token);
    return read_character(lexer, token);
}

bool filter__sees_open(const struct filter_lexer *lexer)
{
    size_t at = lexer->at;
    while (is_space(peek(lexer, at)))
        at++;
    return peek(lexer, at) == '(';
}
