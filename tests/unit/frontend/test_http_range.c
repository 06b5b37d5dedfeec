/*
 * test_http_range.c - Range and x-ms-range ("Specifying the Range Header"): which texts are
 * ranges, and which part of a resource they name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/http/http_range.h"

static void ranges_with_and_without_an_end_are_understood(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint64_t first;
        uint64_t last;
    } rows[] = {
        { "bytes=0-0", 0, 0 },
        { "bytes=3-12", 3, 12 },
        { "bytes=5-", 5, UINT64_MAX },
        { "BYTES=5-6", 5, 6 },
        { "bytes= 5-6 ", 5, 6 },
        { "bytes=18446744073709551614-18446744073709551615", UINT64_MAX - 1, UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct http_range range = http_range_parse(slice_of(rows[i].text));
        assert_true(range.present);
        assert_true(range.first == rows[i].first);
        assert_true(range.last == rows[i].last);
    }
}

static void everything_else_is_ignored(void **state)
{
    (void)state;
    const char *const texts[] = {
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=-5",
        "bytes=a-b",
        "bytes=5",
        "bytes=6-5",
        "bytes=1-2,4-5",
        "bytes=1-2x",
        "bytes=+1-2",
        "bytes=1 - 2",
        "lines=1-2",
        "bytes 1-2",
        "bytes=0x1-2",
        "bytes=18446744073709551616-",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct http_range range = http_range_parse(slice_of(texts[i]));
        assert_false(range.present);
        assert_true(range.first == 0);
        assert_true(range.last == 0);
    }
}

static void a_range_is_cut_to_the_resource(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint64_t size_bytes;
        uint64_t offset;
        uint64_t length;
    } rows[] = {
        { "bytes=0-", 10, 0, 10 },
        { "bytes=0-9", 10, 0, 10 },
        { "bytes=0-8", 10, 0, 9 },
        { "bytes=0-10", 10, 0, 10 },
        { "bytes=9-", 10, 9, 1 },
        { "bytes=3-5", 10, 3, 3 },
        { "bytes=9-9999999", 10, 9, 1 },
        { "bytes=0-0", 1, 0, 1 },
        { "bytes=0-", UINT64_MAX, 0, UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct http_range range = http_range_parse(slice_of(rows[i].text));
        uint64_t offset;
        uint64_t length;
        assert_true(http_range_resolve(&range, rows[i].size_bytes, &offset, &length));
        assert_true(offset == rows[i].offset);
        assert_true(length == rows[i].length);
    }
}

static void a_range_past_the_end_names_nothing(void **state)
{
    (void)state;
    uint64_t offset;
    uint64_t length;
    struct http_range range = http_range_parse(slice_of("bytes=10-"));
    assert_false(http_range_resolve(&range, 10, &offset, &length));
    assert_true(http_range_resolve(&range, 11, &offset, &length));
    /* Of nothing there is no part. */
    range = http_range_parse(slice_of("bytes=0-0"));
    assert_false(http_range_resolve(&range, 0, &offset, &length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_with_and_without_an_end_are_understood),
        cmocka_unit_test(everything_else_is_ignored),
        cmocka_unit_test(a_range_is_cut_to_the_resource),
        cmocka_unit_test(a_range_past_the_end_names_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
