/*
 * test_etag.c - the text of an ETag: "0x" and the upper-case hexadecimal of a tick, in quotes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/etag.h"

static void assert_malformed(const char *text)
{
    int64_t etag = 7;
    if (etag_parse(slice_of(text), &etag) != ERR_MALFORMED)
        fail_msg("%s was taken for an ETag", text);
    assert_int_equal(etag, 7);
}

static void the_text_is_the_one_the_service_gives_for_that_instant(void **state)
{
    (void)state;
    char text[ETAG_TEXT_LEN_MAX + 1];

    /* Recorded with a Last-Modified of 2019-10-25T17:22:09Z. */
    etag_format(INT64_C(637076209298256032), text);
    assert_string_equal(text, "\"0x8D7596FDE1330A0\"");
    etag_format(1, text);
    assert_string_equal(text, "\"0x1\"");
    etag_format(INT64_MAX, text);
    assert_string_equal(text, "\"0x7FFFFFFFFFFFFFFF\"");
}

static void the_longest_text_fits(void **state)
{
    (void)state;
    char text[ETAG_TEXT_LEN_MAX + 1];
    etag_format(-1, text);
    assert_int_equal(strlen(text), ETAG_TEXT_LEN_MAX);
}

static void parse_undoes_format(void **state)
{
    (void)state;
    for (int shift = 0; shift < 63; shift++) {
        for (int64_t near = -1; near <= 1; near++) {
            const int64_t etag = (INT64_C(1) << shift) + near;
            char text[ETAG_TEXT_LEN_MAX + 1];
            etag_format(etag, text);
            int64_t parsed = -1;
            assert_int_equal(etag_parse(slice_of(text), &parsed), OK);
            assert_true(parsed == etag);
        }
    }
}

static void quotes_are_optional(void **state)
{
    (void)state;
    int64_t etag = 0;
    assert_int_equal(etag_parse(slice_of("0x8D7596FDE1330A0"), &etag), OK);
    assert_true(etag == INT64_C(637076209298256032));
    assert_int_equal(etag_parse(slice_of("\"0x1F\""), &etag), OK);
    assert_int_equal(etag, 0x1F);
}

static void other_text_is_an_etag_nobody_gave(void **state)
{
    (void)state;
    assert_malformed("");
    assert_malformed("\"");
    assert_malformed("\"\"");
    assert_malformed("*");
    assert_malformed("0x");
    assert_malformed("\"0x\"");
    assert_malformed("8D7596FDE1330A0");
    assert_malformed("\"0x8D7596FDE1330A0");
    assert_malformed("0x8D7596FDE1330A0\"");
    assert_malformed("W/\"0x8D7596FDE1330A0\"");
    assert_malformed("0x8D7596FDE1330AG");
    assert_malformed(" 0x1");
    assert_malformed("0x1 ");
    assert_malformed("0x10000000000000000");
    assert_malformed("0x8000000000000000");
}

/* Otherwise two texts would be the same ETag. */
static void only_one_text_stands_for_a_value(void **state)
{
    (void)state;
    assert_malformed("0x8d7596fde1330a0");
    assert_malformed("0X8D7596FDE1330A0");
    assert_malformed("0x08D7596FDE1330A0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_the_one_the_service_gives_for_that_instant),
        cmocka_unit_test(the_longest_text_fits),
        cmocka_unit_test(parse_undoes_format),
        cmocka_unit_test(quotes_are_optional),
        cmocka_unit_test(other_text_is_an_etag_nobody_gave),
        cmocka_unit_test(only_one_text_stands_for_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
