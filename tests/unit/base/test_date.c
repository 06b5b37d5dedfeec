/*
 * test_date.c - instants as text: the calendar against one that is counted day by day, and
 * the formats of RFC 9110 section 5.6.7 and of a SAS.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/date.h"

#define TICKS_PER_DAY (86400 * CLOCK_TICKS_PER_SEC)
#define TICKS_LAST    INT64_C(3155378975999999999) /* 9999-12-31T23:59:59.9999999Z */

/* 1994-11-06T08:49:37Z, the example of RFC 9110. */
#define RFC_EXAMPLE (CLOCK_UNIX_EPOCH_TICKS + INT64_C(784111777) * CLOCK_TICKS_PER_SEC)

typedef enum err parser(struct slice text, int64_t *ticks);

static void assert_parses(parser *parse, const char *text, int64_t expected)
{
    int64_t ticks = -1;
    if (parse(slice_of(text), &ticks) != OK)
        fail_msg("%s is refused", text);
    if (ticks != expected)
        fail_msg("%s gives %lld", text, (long long)ticks);
}

static void assert_refused(parser *parse, struct slice text)
{
    int64_t ticks = -1;
    if (parse(text, &ticks) != ERR_MALFORMED)
        fail_msg("%.*s is taken", (int)text.len, text.data);
    assert_int_equal(ticks, -1);
}

static void known_instants_have_their_text(void **state)
{
    (void)state;
    static const struct {
        int64_t ticks;
        const char *rfc1123;
        const char *iso;
    } cases[] = {
        { 0, "Mon, 01 Jan 0001 00:00:00 GMT", "0001-01-01T00:00:00.0000000Z" },
        { CLOCK_UNIX_EPOCH_TICKS, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.0000000Z" },
        { RFC_EXAMPLE, "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.0000000Z" },
        { CLOCK_UNIX_EPOCH_TICKS + INT64_C(951782400) * CLOCK_TICKS_PER_SEC + 1,
          "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00.0000001Z" },
        { INT64_C(504911232000000000), "Mon, 01 Jan 1601 00:00:00 GMT",
          "1601-01-01T00:00:00.0000000Z" },
        { TICKS_LAST, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.9999999Z" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[32];
        date_format_rfc1123(cases[i].ticks, text);
        assert_string_equal(text, cases[i].rfc1123);
        date_format_iso(cases[i].ticks, text);
        assert_string_equal(text, cases[i].iso);
        assert_parses(date_parse_iso, cases[i].iso, cases[i].ticks);
        assert_parses(date_parse_rfc1123, cases[i].rfc1123, date_cut_to_second(cases[i].ticks));
    }
}

/* Every day of all 9999 years, counted by the rules a person would use. */
static void every_day_of_the_calendar_is_right_both_ways(void **state)
{
    (void)state;
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    static const char *const names[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    int64_t ticks = 0;
    size_t weekday = 0;
    for (int year = 1; year <= 9999; year++) {
        const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 1; month <= 12; month++) {
            const int length = lengths[month - 1] + (month == 2 && leap);
            for (int day = 1; day <= length; day++, ticks += TICKS_PER_DAY) {
                char text[32];
                char expected[32];
                snprintf(expected, sizeof(expected), "%04d-%02d-%02d", year, month, day);
                date_format_iso(ticks, text);
                if (memcmp(text, expected, 10) != 0)
                    fail_msg("%s is printed as %s", expected, text);
                assert_parses(date_parse_iso, expected, ticks);
                date_format_rfc1123(ticks + TICKS_PER_DAY - 1, text);
                assert_memory_equal(text, names[weekday], 3);
                weekday = (weekday + 1) % 7;
            }
            char beyond[32];
            snprintf(beyond, sizeof(beyond), "%04d-%02d-%02d", year, month, length + 1);
            assert_refused(date_parse_iso, slice_of(beyond));
        }
    }
    assert_int_equal(ticks, TICKS_LAST + 1);
}

static void every_second_of_a_day_round_trips(void **state)
{
    (void)state;
    const int64_t day = RFC_EXAMPLE - RFC_EXAMPLE % TICKS_PER_DAY;
    for (int64_t second = 0; second < 86400; second++) {
        char text[32];
        const int64_t ticks = day + second * CLOCK_TICKS_PER_SEC;
        date_format_rfc1123(ticks, text);
        assert_int_equal(strlen(text), DATE_RFC1123_LEN);
        assert_parses(date_parse_rfc1123, text, ticks);
        assert_parses(date_parse_http, text, ticks);
        date_format_iso(ticks + second * 97, text);
        assert_int_equal(strlen(text), DATE_ISO_LEN);
        assert_parses(date_parse_iso, text, ticks + second * 97);
    }
}

static void http_dates_come_in_three_forms(void **state)
{
    (void)state;
    assert_parses(date_parse_http, "Sun, 06 Nov 1994 08:49:37 GMT", RFC_EXAMPLE);
    assert_parses(date_parse_http, "Sunday, 06-Nov-94 08:49:37 GMT", RFC_EXAMPLE);
    assert_parses(date_parse_http, "Sun Nov  6 08:49:37 1994", RFC_EXAMPLE);
    assert_parses(date_parse_http, "Wed Nov 16 08:49:37 1994", RFC_EXAMPLE + 10 * TICKS_PER_DAY);
}

static void two_digit_years_are_1970_to_2069(void **state)
{
    (void)state;
    assert_parses(date_parse_http, "Thursday, 01-Jan-70 00:00:00 GMT", CLOCK_UNIX_EPOCH_TICKS);
    assert_parses(date_parse_http, "Saturday, 01-Jan-00 00:00:00 GMT",
                  CLOCK_UNIX_EPOCH_TICKS + INT64_C(946684800) * CLOCK_TICKS_PER_SEC);
    assert_parses(date_parse_http, "Tuesday, 01-Jan-69 00:00:00 GMT",
                  CLOCK_UNIX_EPOCH_TICKS + INT64_C(3124224000) * CLOCK_TICKS_PER_SEC);
}

static void only_the_strict_form_is_rfc_1123(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "1994-11-06T08:49:37Z",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refused(date_parse_rfc1123, slice_of(texts[i]));
}

static void damaged_http_dates_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Sun, 06-Nov-94 08:49:37 GMT",    "Monday, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06 Nov 94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",        "Sun Nov 06  08:49:37 1994",
        "Mon Nov  6 08:49:37 1994",       "Sun Nov  6 08:49:37 1994 GMT",
        "Sunday Nov  6 08:49:37 1994",    "784111777",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refused(date_parse_http, slice_of(texts[i]));
}

static void every_prefix_of_a_date_is_refused_unless_it_is_a_form(void **state)
{
    (void)state;
    static const char *const texts[] = { "Sun, 06 Nov 1994 08:49:37 GMT",
                                         "Sunday, 06-Nov-94 08:49:37 GMT",
                                         "Sun Nov  6 08:49:37 1994" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (size_t len = 0; len < strlen(texts[i]); len++)
            assert_refused(date_parse_http, slice_make(texts[i], len));
    }
    const char *const iso = "1994-11-06T08:49:37.1234567+01:30";
    for (size_t len = 0; len < strlen(iso); len++) {
        if (len != strlen("1994-11-06"))
            assert_refused(date_parse_iso, slice_make(iso, len));
    }
}

static void any_character_but_a_digit_in_a_number_is_refused(void **state)
{
    (void)state;
    const char *const texts[] = { "1994-11-06T08:49:37.1234567Z", "Sun, 06 Nov 1994 08:49:37 GMT" };
    parser *const parsers[] = { date_parse_iso, date_parse_rfc1123 };
    for (size_t i = 0; i < 2; i++) {
        for (size_t at = 0; at < strlen(texts[i]); at++) {
            static const char bad[] = { '/', ':', ' ', '-', '+', 'x', '\0', '\xb2' };
            for (size_t j = 0; j < sizeof(bad); j++) {
                char text[32] = { 0 };
                memcpy(text, texts[i], strlen(texts[i]));
                if (text[at] == bad[j])
                    continue;
                text[at] = bad[j];
                assert_refused(parsers[i], slice_make(text, strlen(texts[i])));
            }
        }
    }
}

static void iso_dates_may_end_early(void **state)
{
    (void)state;
    const int64_t day = RFC_EXAMPLE - RFC_EXAMPLE % TICKS_PER_DAY;
    assert_parses(date_parse_iso, "1994-11-06", day);
    assert_parses(date_parse_iso, "1994-11-06T08:49Z", RFC_EXAMPLE - 37 * CLOCK_TICKS_PER_SEC);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37Z", RFC_EXAMPLE);
}

static void iso_fractions_have_one_to_seven_digits(void **state)
{
    (void)state;
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.1Z", RFC_EXAMPLE + 1000000);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.12Z", RFC_EXAMPLE + 1200000);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.123Z", RFC_EXAMPLE + 1230000);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.1234Z", RFC_EXAMPLE + 1234000);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.12345Z", RFC_EXAMPLE + 1234500);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.123456Z", RFC_EXAMPLE + 1234560);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.1234567Z", RFC_EXAMPLE + 1234567);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.0000001Z", RFC_EXAMPLE + 1);
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49:37.Z"));
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49:37.12345678Z"));
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49.5Z"));
}

static void iso_zones_move_the_instant(void **state)
{
    (void)state;
    const int64_t minute = 60 * CLOCK_TICKS_PER_SEC;
    assert_parses(date_parse_iso, "1994-11-06T08:49:37+00:00", RFC_EXAMPLE);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37-00:00", RFC_EXAMPLE);
    assert_parses(date_parse_iso, "1994-11-06T09:49:37+01:00", RFC_EXAMPLE);
    assert_parses(date_parse_iso, "1994-11-06T03:19:37-05:30", RFC_EXAMPLE);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37+14:00", RFC_EXAMPLE - 14 * 60 * minute);
    assert_parses(date_parse_iso, "1994-11-06T08:49:37.5-14:00",
                  RFC_EXAMPLE + 14 * 60 * minute + 5000000);
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49:37+14:01"));
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49:37-15:00"));
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49:37+01:60"));
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49:37+0100"));
    assert_refused(date_parse_iso, slice_of("1994-11-06T08:49:37+01"));
}

static void a_zone_does_not_leave_the_calendar(void **state)
{
    (void)state;
    assert_refused(date_parse_iso, slice_of("0001-01-01T00:00:00+00:01"));
    assert_parses(date_parse_iso, "0001-01-01T00:01:00+00:01", 0);
    assert_refused(date_parse_iso, slice_of("9999-12-31T23:59:59-00:01"));
    assert_parses(date_parse_iso, "9999-12-31T23:58:59.9999999-00:01", TICKS_LAST);
}

static void other_iso_forms_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "1994",
        "1994-11",
        "19941106",
        "1994-11-06Z",
        "1994-11-06T08Z",
        "1994-11-06T08:49:37",
        "1994-11-06T08:49",
        "1994-11-06 08:49:37Z",
        "1994-11-06t08:49:37Z",
        "1994-11-06T08:49:37z",
        "1994-11-06T08:49:37Z ",
        "1994-11-06T24:00:00Z",
        "1994-11-06T08:60:00Z",
        "1994-11-06T08:49:60Z",
        "1994-13-06",
        "1994-00-06",
        "1994-11-00",
        "0000-11-06",
        "1994-1-6",
        "10000-01-01",
        "1900-02-29",
        "2023-02-29T00:00:00Z",
        "1994-11-06T08:49:37,5Z",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refused(date_parse_iso, slice_of(texts[i]));
}

static void cutting_to_the_second_drops_the_fraction_only(void **state)
{
    (void)state;
    assert_int_equal(date_cut_to_second(RFC_EXAMPLE), RFC_EXAMPLE);
    assert_int_equal(date_cut_to_second(RFC_EXAMPLE + CLOCK_TICKS_PER_SEC - 1), RFC_EXAMPLE);
    assert_int_equal(date_cut_to_second(RFC_EXAMPLE - 1), RFC_EXAMPLE - CLOCK_TICKS_PER_SEC);
    assert_int_equal(date_cut_to_second(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_instants_have_their_text),
        cmocka_unit_test(every_day_of_the_calendar_is_right_both_ways),
        cmocka_unit_test(every_second_of_a_day_round_trips),
        cmocka_unit_test(http_dates_come_in_three_forms),
        cmocka_unit_test(two_digit_years_are_1970_to_2069),
        cmocka_unit_test(only_the_strict_form_is_rfc_1123),
        cmocka_unit_test(damaged_http_dates_are_refused),
        cmocka_unit_test(every_prefix_of_a_date_is_refused_unless_it_is_a_form),
        cmocka_unit_test(any_character_but_a_digit_in_a_number_is_refused),
        cmocka_unit_test(iso_dates_may_end_early),
        cmocka_unit_test(iso_fractions_have_one_to_seven_digits),
        cmocka_unit_test(iso_zones_move_the_instant),
        cmocka_unit_test(a_zone_does_not_leave_the_calendar),
        cmocka_unit_test(other_iso_forms_are_refused),
        cmocka_unit_test(cutting_to_the_second_drops_the_fraction_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
