/*
 * test_http_version.c - which x-ms-version texts are versions, and which version they mean.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/http/http_version.h"

static void a_version_is_its_date_as_a_number(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int version;
    } rows[] = {
        { "2009-04-14", 20090414 },
        { "2019-12-12", 20191212 },
        { "2021-08-06", 20210806 },
        { HTTP_VERSION_NEWEST_TEXT, HTTP_VERSION_NEWEST },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int version = 0;
        assert_int_equal(http_version_parse(slice_of(rows[i].text), &version), OK);
        assert_int_equal(version, rows[i].version);
    }
}

static void a_newer_version_is_taken_for_the_newest(void **state)
{
    (void)state;
    int version = 0;
    assert_int_equal(http_version_parse(slice_of("2026-06-07"), &version), OK);
    assert_int_equal(version, HTTP_VERSION_NEWEST);
    assert_int_equal(http_version_parse(slice_of("9999-12-31"), &version), OK);
    assert_int_equal(version, HTTP_VERSION_NEWEST);
}

static void other_texts_are_no_versions(void **state)
{
    (void)state;
    const char *const texts[] = {
        "",           "2009-04-13",  "0001-01-01", "2021-13-01", "2021-00-01",  "2021-01-00",
        "2021-01-32", "2021-1-1",    "20210101",   "2021/01/01", "2021-01-01 ", " 2021-01-01",
        "abcd-ef-gh", "2021-01-01Z", "-021-01-01",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int version = 7;
        assert_int_equal(http_version_parse(slice_of(texts[i]), &version), ERR_MALFORMED);
        assert_int_equal(version, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_is_its_date_as_a_number),
        cmocka_unit_test(a_newer_version_is_taken_for_the_newest),
        cmocka_unit_test(other_texts_are_no_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
