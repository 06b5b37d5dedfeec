/*
 * test_edm.c - typed values: instants and guids as text, and the order of values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/clock.h"
#include "service/table/edm.h"

static void types_have_their_names_and_names_their_types(void **state)
{
    (void)state;
    for (int type = EDM_TYPE_MIN; type <= EDM_TYPE_MAX; type++) {
        enum edm_type parsed;
        assert_int_equal(edm_type_parse(slice_of(edm_type_name((enum edm_type)type)), &parsed), OK);
        assert_int_equal(parsed, type);
    }
    enum edm_type parsed;
    assert_int_equal(edm_type_parse(slice_of("Edm.Single"), &parsed), ERR_MALFORMED);
    assert_int_equal(edm_type_parse(slice_of("edm.string"), &parsed), ERR_MALFORMED);
    assert_string_equal(edm_type_name(EDM_DATETIME), "Edm.DateTime");
}

static void a_property_is_found_by_its_exact_name(void **state)
{
    (void)state;
    struct edm_property items[] = {
        { slice_of("Name"), edm_int32(1) },
        { slice_of("name"), edm_int32(2) },
    };
    const struct edm_properties properties = { .count = 2, .items = items };
    assert_int_equal(edm_properties_find(&properties, slice_of("name"))->int32, 2);
    assert_null(edm_properties_find(&properties, slice_of("NAME")));
}

static void instants_are_written_without_the_zeros_at_their_end(void **state)
{
    (void)state;
    static const struct {
        const char *given;
        const char *written;
    } cases[] = {
        { "2013-08-22T01:12:06.2608595Z", "2013-08-22T01:12:06.2608595Z" },
        { "2021-05-26T15:48:25.7795700Z", "2021-05-26T15:48:25.77957Z" },
        { "2021-05-26T15:48:25.0000001Z", "2021-05-26T15:48:25.0000001Z" },
        { "2021-05-26T15:48:20.0000000Z", "2021-05-26T15:48:20Z" },
        { "2021-05-26T15:48:20Z", "2021-05-26T15:48:20Z" },
        { "2021-05-26T15:48Z", "2021-05-26T15:48:00Z" },
        { "2021-05-26", "2021-05-26T00:00:00Z" },
        { "2021-05-26T15:48:20", "2021-05-26T15:48:20Z" },
        { "2021-05-26T15:48:20.1234567", "2021-05-26T15:48:20.1234567Z" },
        { "2021-05-26T15:48:20.5+02:00", "2021-05-26T13:48:20.5Z" },
        { "2021-05-26T15:48:20-02:00", "2021-05-26T17:48:20Z" },
        { "1601-01-01T00:00:00Z", "1601-01-01T00:00:00Z" },
        { "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ticks;
        assert_int_equal(edm_datetime_parse(slice_of(cases[i].given), &ticks), OK);
        char text[EDM_DATETIME_LEN + 1];
        assert_int_equal(edm_datetime_format(ticks, text), strlen(cases[i].written));
        assert_string_equal(text, cases[i].written);
    }
}

static void what_is_no_instant_is_refused(void **state)
{
    (void)state;
    int64_t ticks = 42;
    static const char *const malformed[] = {
        "",
        "x",
        "T",
        "Z",
        "2021-05-26T",
        "2021-13-01T00:00:00Z",
        "2021-02-29T00:00:00Z",
        "2021-05-26T24:00:00Z",
        "2021-05-26 15:48:20Z",
        "2021-05-26T15:48:20.12345678Z",
        "2021-05-26T15:48:20.12345678",
        "2021-05-26T15:48:20.1234567 and more that has no zone",
        "10000-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        assert_int_equal(edm_datetime_parse(slice_of(malformed[i]), &ticks), ERR_MALFORMED);
    assert_int_equal(edm_datetime_parse(slice_of("1600-12-31T23:59:59.9999999Z"), &ticks),
                     ERR_OUT_OF_RANGE);
    assert_int_equal(edm_datetime_parse(slice_of("0001-01-01T00:00:00Z"), &ticks),
                     ERR_OUT_OF_RANGE);
    assert_int_equal(ticks, 42);
}

static void the_ticks_begin_in_1601_and_the_clock_agrees(void **state)
{
    (void)state;
    int64_t ticks;
    assert_int_equal(edm_datetime_parse(slice_of("1601-01-01T00:00:00.0000001Z"), &ticks), OK);
    assert_int_equal(ticks, 1);
    assert_int_equal(edm_datetime_parse(slice_of("9999-12-31T23:59:59.9999999Z"), &ticks), OK);
    assert_int_equal(ticks, EDM_DATETIME_TICKS_MAX);
    /* The Unix epoch, as Windows file times have it. */
    assert_int_equal(edm_datetime_parse(slice_of("1970-01-01T00:00:00Z"), &ticks), OK);
    assert_int_equal(ticks, INT64_C(116444736000000000));
    assert_int_equal(edm_datetime_to_clock(ticks), CLOCK_UNIX_EPOCH_TICKS);
    assert_int_equal(edm_datetime_of_clock(CLOCK_UNIX_EPOCH_TICKS), ticks);
}

static void guids_are_read_in_one_form_only(void **state)
{
    (void)state;
    static const char plain[] = "c9da6455-213d-42c9-9a79-3e9149a57833";
    struct uuid guid;
    assert_int_equal(edm_guid_parse(slice_of("C9DA6455-213D-42c9-9a79-3e9149a57833"), &guid), OK);
    char text[UUID_TEXT_LEN + 1];
    edm_guid_format(&guid, text);
    assert_string_equal(text, plain);
    static const char *const malformed[] = {
        "",
        "c9da6455213d42c99a793e9149a57833",
        "{c9da6455-213d-42c9-9a79-3e9149a57833}",
        "c9da6455-213d-42c9-9a79-3e9149a5783",
        "c9da6455-213d-42c9-9a79-3e9149a5783g",
        "c9da6455-213d-42c99-a79-3e9149a57833",
    };
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        assert_int_equal(edm_guid_parse(slice_of(malformed[i]), &guid), ERR_MALFORMED);
}

/* `a` and `b` are in that order, and the other way round in the other. */
static void check_order(struct edm_value a, struct edm_value b, enum edm_order order)
{
    assert_int_equal(edm_compare(&a, &b), order);
    const enum edm_order back = order == EDM_LESS      ? EDM_GREATER
                                : order == EDM_GREATER ? EDM_LESS
                                                       : order;
    assert_int_equal(edm_compare(&b, &a), back);
}

static struct edm_value guid_of(const char *text)
{
    struct uuid guid;
    assert_int_equal(edm_guid_parse(slice_of(text), &guid), OK);
    return edm_guid(guid);
}

static void values_of_a_type_are_in_order(void **state)
{
    (void)state;
    check_order(edm_string(slice_of("")), edm_string(slice_of("a")), EDM_LESS);
    check_order(edm_string(slice_of("a")), edm_string(slice_of("ab")), EDM_LESS);
    check_order(edm_string(slice_of("Z")), edm_string(slice_of("a")), EDM_LESS);
    check_order(edm_string(slice_of("z")), edm_string(slice_of("\xc3\xbc")), EDM_LESS);
    check_order(edm_string(slice_of("ab")), edm_string(slice_of("ab")), EDM_EQUAL);
    check_order(edm_int32(INT32_MIN), edm_int32(INT32_MAX), EDM_LESS);
    check_order(edm_int64(INT64_MIN), edm_int64(INT64_MAX), EDM_LESS);
    check_order(edm_double(-INFINITY), edm_double(-1e308), EDM_LESS);
    check_order(edm_double(0.0), edm_double(-0.0), EDM_EQUAL);
    check_order(edm_boolean(false), edm_boolean(true), EDM_LESS);
    check_order(edm_datetime(5), edm_datetime(6), EDM_LESS);
    check_order(guid_of("00000000-0000-0000-0000-0000000000ff"),
                guid_of("00000000-0000-0000-0100-000000000000"), EDM_LESS);
    check_order(guid_of("7fffffff-0000-0000-0000-000000000000"),
                guid_of("80000000-0000-0000-0000-000000000000"), EDM_LESS);
    check_order(edm_binary(slice_make("a\0", 2)), edm_binary(slice_make("a\xff", 2)), EDM_LESS);
    check_order(edm_binary(slice_of("a")), edm_binary(slice_make("a\0", 2)), EDM_LESS);
}

static void numbers_of_different_types_are_compared_exactly(void **state)
{
    (void)state;
    check_order(edm_int32(5), edm_int64(5), EDM_EQUAL);
    check_order(edm_int32(5), edm_double(5), EDM_EQUAL);
    check_order(edm_int32(5), edm_double(5.5), EDM_LESS);
    check_order(edm_int32(-5), edm_double(-5.5), EDM_GREATER);
    check_order(edm_int32(INT32_MAX), edm_int64(INT64_C(1) << 40), EDM_LESS);
    /* As doubles these two would be equal. */
    check_order(edm_int64(INT64_C(9007199254740993)), edm_double(9007199254740992.0), EDM_GREATER);
    check_order(edm_int64(INT64_MAX), edm_double(0x1p63), EDM_LESS);
    check_order(edm_int64(INT64_MIN), edm_double(-0x1p63), EDM_EQUAL);
    check_order(edm_int64(INT64_MIN), edm_double(-0x1.0000000000001p63), EDM_GREATER);
    check_order(edm_int64(INT64_MAX), edm_double(INFINITY), EDM_LESS);
    check_order(edm_int64(INT64_MIN), edm_double(-INFINITY), EDM_GREATER);
}

static void nan_and_values_of_unlike_types_are_unrelated(void **state)
{
    (void)state;
    check_order(edm_double((double)NAN), edm_double((double)NAN), EDM_UNRELATED);
    check_order(edm_double((double)NAN), edm_double(1), EDM_UNRELATED);
    check_order(edm_double((double)NAN), edm_int32(1), EDM_UNRELATED);
    check_order(edm_string(slice_of("5")), edm_int32(5), EDM_UNRELATED);
    check_order(edm_boolean(true), edm_int32(1), EDM_UNRELATED);
    check_order(edm_datetime(5), edm_int64(5), EDM_UNRELATED);
    check_order(edm_string(slice_of("a")), edm_binary(slice_of("a")), EDM_UNRELATED);
    check_order(edm_boolean(true), edm_string(slice_of("true")), EDM_UNRELATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_their_names_and_names_their_types),
        cmocka_unit_test(a_property_is_found_by_its_exact_name),
        cmocka_unit_test(instants_are_written_without_the_zeros_at_their_end),
        cmocka_unit_test(what_is_no_instant_is_refused),
        cmocka_unit_test(the_ticks_begin_in_1601_and_the_clock_agrees),
        cmocka_unit_test(guids_are_read_in_one_form_only),
        cmocka_unit_test(values_of_a_type_are_in_order),
        cmocka_unit_test(numbers_of_different_types_are_compared_exactly),
        cmocka_unit_test(nan_and_values_of_unlike_types_are_unrelated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
