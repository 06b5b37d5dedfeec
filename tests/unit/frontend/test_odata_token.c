/*
 * test_odata_token.c - ETags of entities and continuation tokens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../service/test_random.h"
#include "base/date.h"
#include "frontend/http/odata_token.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* --- ETags --- */

static void an_etag_is_a_timestamp(void **state)
{
    (void)state;
    int64_t ticks;
    int64_t read;
    char text[ODATA_ETAG_LEN_MAX + 1];
    assert_int_equal(date_parse_iso(slice_of("2021-05-26T15:48:41.1312048Z"), &ticks), OK);
    const size_t len = odata_etag_format(ticks, text);
    assert_int_equal(len, strlen(text));
    assert_string_equal(text, "W/\"datetime'2021-05-26T15%3A48%3A41.1312048Z'\"");
    assert_int_equal(odata_etag_parse(slice_of(text), &read), OK);
    assert_true(read == ticks);
    assert_int_equal(
        odata_etag_parse(slice_of("W/\"datetime'2021-05-26T15:48%3a41.1312048Z'\""), &read), OK);
    assert_true(read == ticks);
    (void)odata_etag_format(ticks - ticks % 10000000, text);
    assert_string_equal(text, "W/\"datetime'2021-05-26T15%3A48%3A41Z'\"");
}

static void another_weak_etag_is_that_of_no_entity(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "W/\"\"",
        "W/\"wrong\"",
        "W/\"datetime''\"",
        "W/\"datetime'\"",
        "W/\"datetime'yesterday'\"",
        "W/\"datetime'2021-05-26T15%3A48%3A41.13120480000000000000000000000000000000Z'\"",
        "W/\"datetime'1500-01-01T00%3A00%3A00Z'\"",
        "W/\"0x8D7596FDE1330A0\"",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t ticks = 1;
        assert_int_equal(odata_etag_parse(slice_of(texts[i]), &ticks), OK);
        assert_true(ticks == 0);
    }
}

static void what_is_no_weak_etag_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "*",
        "W/",
        "W/\"",
        "W/\"a",
        "wrong",
        "\"0x8D7596FDE1330A0\"",
        "W/\"datetime'2021-05-26T15%3A48%3A41.1312048Z'",
        "\"datetime'2021-05-26T15%3A48%3A41.1312048Z'\"",
        "W/\"datetime'2021-05-26T15%3A48%3A41Z'\", W/\"datetime'2021-05-26T15%3A48%3A41Z'\"",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t ticks;
        assert_int_equal(odata_etag_parse(slice_of(texts[i]), &ticks), ERR_INVALID_ETAG);
    }
}

/* --- continuation tokens --- */

static void a_token_is_as_recorded(void **state)
{
    (void)state;
    assert_true(slice_is(odata_token_make(&arena, slice_of("pk")), "1!4!cGs-"));
    assert_true(slice_is(odata_token_make(&arena, slice_of("")), "1!0!"));
    struct slice place;
    assert_int_equal(odata_token_read(&arena, slice_of("1!4!cGs-"), &place), OK);
    assert_true(slice_is(place, "pk"));
    assert_int_equal(odata_token_read(&arena, slice_of("1!0!"), &place), OK);
    assert_int_equal(place.len, 0);
}

static void any_place_comes_back(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int round = 0; round < 2000; round++) {
        char place[20];
        const size_t len = random_next(&random) % sizeof(place);
        for (size_t i = 0; i < len; i++)
            place[i] = (char)random_next(&random);
        const struct slice token = odata_token_make(&arena, slice_make(place, len));
        struct slice read;
        assert_int_equal(odata_token_read(&arena, token, &read), OK);
        assert_true(slice_equal(read, slice_make(place, len)));
        arena_clear(&arena);
    }
}

static void what_is_no_token_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "",         "1!",       "1!4",      "1!4!cGs", "2!4!cGs-",
                                         "1!5!cGs-", "1!x!cGs-", "1!!cGs-",  "pk",      "1!4!c*s-",
                                         "1!4!----", "1!0",      "1!-4!cGs-" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct slice place;
        assert_int_equal(odata_token_read(&arena, slice_of(texts[i]), &place), ERR_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_etag_is_a_timestamp, clear),
        cmocka_unit_test_teardown(another_weak_etag_is_that_of_no_entity, clear),
        cmocka_unit_test_teardown(what_is_no_weak_etag_is_refused, clear),
        cmocka_unit_test_teardown(a_token_is_as_recorded, clear),
        cmocka_unit_test_teardown(any_place_comes_back, clear),
        cmocka_unit_test_teardown(what_is_no_token_is_refused, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
