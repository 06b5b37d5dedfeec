/*
 * test_json_read.c - flat JSON objects: what is read from them, what is refused, and that nothing a
 * client sends reads past its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../service/test_random.h"
#include "base/strbuf.h"
#include "frontend/http/json_read.h"

static struct arena arena;
static char *block; /* of the text that was read last */

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    free(block);
    block = NULL;
    return 0;
}

enum {
    MEMBERS_MAX = 16,
};

static struct slice names[MEMBERS_MAX];
static struct json_value values[MEMBERS_MAX];
static size_t count;

static enum err read_slice(struct slice text)
{
    /* At the end of a block of its own, so that reading past it is noticed. */
    free(block);
    block = malloc(text.len > 0 ? text.len : 1);
    assert_non_null(block);
    if (text.len > 0)
        memcpy(block, text.data, text.len);
    const struct slice copy = slice_make(block, text.len);
    struct json_reader reader;
    bool more = true;
    count = 0;
    enum err err = json_begin(&reader, &arena, copy);
    while (err == OK && more) {
        assert_true(count < MEMBERS_MAX);
        err = json_next(&reader, &more, &names[count], &values[count]);
        if (err == OK && more)
            count++;
    }
    return err;
}

static enum err read_text(const char *text)
{
    return read_slice(slice_of(text));
}

static void assert_string(const char *literal, const char *wanted, size_t len)
{
    const struct slice text = arena_printf(&arena, "{\"a\":%s}", literal);
    assert_int_equal(read_slice(text), OK);
    assert_int_equal(count, 1);
    assert_int_equal(values[0].kind, JSON_STRING);
    assert_true(slice_equal(values[0].text, slice_make(wanted, len)));
}

static void assert_number(const char *literal)
{
    assert_int_equal(read_slice(arena_printf(&arena, "{\"a\":%s}", literal)), OK);
    assert_int_equal(values[0].kind, JSON_NUMBER);
    assert_true(slice_is(values[0].text, literal));
}

static void assert_refused_value(const char *literal)
{
    assert_int_equal(read_slice(arena_printf(&arena, "{\"a\":%s}", literal)), ERR_MALFORMED);
}

static void members_come_in_their_order(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(" { \"a\" : 1 , \"b\":true,\"c\":false,\t\"d\":null,\r\n\"e\":\"x\" } "), OK);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(names[i].data[0], 'a' + (int)i);
    assert_int_equal(values[0].kind, JSON_NUMBER);
    assert_int_equal(values[1].kind, JSON_TRUE);
    assert_int_equal(values[2].kind, JSON_FALSE);
    assert_int_equal(values[3].kind, JSON_NULL);
    assert_int_equal(values[4].kind, JSON_STRING);
}

static void an_empty_object_has_no_members(void **state)
{
    (void)state;
    assert_int_equal(read_text("{}"), OK);
    assert_int_equal(count, 0);
    assert_int_equal(read_text("\xef\xbb\xbf { } \n"), OK);
    assert_int_equal(count, 0);
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    assert_string("\"\"", "", 0);
    assert_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    assert_string("\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6);
    assert_string("\"\\ud83d\\uDE00!\"", "\xf0\x9f\x98\x80!", 5);
    assert_string("\"x\\u0000y\"", "x\0y", 3);
    assert_string("\"\xc3\xa9\"", "\xc3\xa9", 2);
}

static void escapes_that_name_no_character_are_refused(void **state)
{
    (void)state;
    assert_refused_value("\"\\x\"");
    assert_refused_value("\"\\u12\"");
    assert_refused_value("\"\\u12g4\"");
    assert_refused_value("\"\\ud83d\"");
    assert_refused_value("\"\\ud83dx\"");
    assert_refused_value("\"\\ud83d\\u0041\"");
    assert_refused_value("\"\\ude00\"");
    assert_refused_value("\"\\ude00\\ude00\"");
    assert_refused_value("\"\\\"");
}

static void strings_have_no_control_characters_and_are_utf8(void **state)
{
    (void)state;
    assert_refused_value("\"a\nb\"");
    assert_refused_value("\"a\tb\"");
    assert_refused_value("\"\xff\"");
    assert_refused_value("\"\xc3\"");
    assert_refused_value("\"\xed\xa0\x80\""); /* a surrogate in UTF-8 */
    assert_int_equal(read_slice(slice_make("{\"a\":\"\0\"}", 9)), ERR_MALFORMED);
}

static void numbers_are_kept_as_written(void **state)
{
    (void)state;
    assert_number("0");
    assert_number("-0");
    assert_number("12345678901234567890");
    assert_number("-1.50");
    assert_number("1e5");
    assert_number("1.25E-300");
    assert_number("1e+9");
}

static void what_is_no_number_of_json_is_refused(void **state)
{
    (void)state;
    static const char *const literals[] = {
        "01", "+1", ".5", "1.", "1e", "1e+", "-", "0x10", "NaN", "Infinity", "1 2", "--1", "1_0",
    };
    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++)
        assert_refused_value(literals[i]);
}

static void nested_values_are_refused(void **state)
{
    (void)state;
    assert_refused_value("{}");
    assert_refused_value("[]");
    assert_refused_value("[1]");
    assert_refused_value("{\"b\":1}");
    /* However deep. */
    const size_t depth = 100000;
    char *brackets = arena_bytes(&arena, depth);
    memset(brackets, '[', depth);
    struct strbuf text;
    strbuf_init(&text, &arena);
    strbuf_add_text(&text, "{\"a\":");
    strbuf_add(&text, slice_make(brackets, depth));
    assert_int_equal(read_slice(strbuf_slice(&text)), ERR_MALFORMED);
}

static void what_is_no_object_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "[]",
        "1",
        "\"a\"",
        "null",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1}}",
        "{\"a\":1} x",
        "{\"a\":1",
        "{\"a\":tru}",
        "{\"a\":1;",
        "{1:2}",
        "{\"a\"=1}",
        "// c\n{}",
        "{\"a\":\"b}",
        "{\"a\":1}{}",
        "{\"a\":nul}",
        "{\"a\":TRUE}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(read_text(texts[i]), ERR_MALFORMED);
}

static void changed_bytes_are_read_or_refused_but_never_read_past(void **state)
{
    (void)state;
    static const char original[] =
        "{\"a\":1,\"b\":\"x\\u00e9\\ud83d\\ude00\",\"c@odata.type\":\"Edm.Int64\",\"c\":-1.5e3}";
    struct test_random random = test_seed();
    for (int round = 0; round < 20000; round++) {
        char text[sizeof(original)];
        memcpy(text, original, sizeof(original));
        const size_t len = 1 + random_next(&random) % (sizeof(original) - 1);
        for (int change = 0; change < 3; change++)
            text[random_next(&random) % len] =
                "{}[]\":,\\u09ade.-+ \x01\xff"[random_next(&random) % 21];
        const enum err err = read_slice(slice_make(text, len));
        assert_true(err == OK || err == ERR_MALFORMED);
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(members_come_in_their_order, clear),
        cmocka_unit_test_teardown(an_empty_object_has_no_members, clear),
        cmocka_unit_test_teardown(escapes_are_decoded, clear),
        cmocka_unit_test_teardown(escapes_that_name_no_character_are_refused, clear),
        cmocka_unit_test_teardown(strings_have_no_control_characters_and_are_utf8, clear),
        cmocka_unit_test_teardown(numbers_are_kept_as_written, clear),
        cmocka_unit_test_teardown(what_is_no_number_of_json_is_refused, clear),
        cmocka_unit_test_teardown(nested_values_are_refused, clear),
        cmocka_unit_test_teardown(what_is_no_object_is_refused, clear),
        cmocka_unit_test_teardown(changed_bytes_are_read_or_refused_but_never_read_past, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
