/*
 * test_row.c - the framing of stored records: what is written is read, and every other byte
 * string is a record or ERR_CORRUPT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "service/row.h"
#include "test_random.h"

static struct arena arena;

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct strbuf begun(void)
{
    struct strbuf row;
    strbuf_init(&row, &arena);
    row_begin(&row, ROW_BLOB);
    return row;
}

static struct row_reader reading(struct slice row)
{
    struct row_reader reader;
    assert_int_equal(row_reader_init(&reader, row, ROW_BLOB), OK);
    return reader;
}

static void a_row_begins_with_format_and_kind(void **state)
{
    (void)state;
    const struct strbuf row = begun();
    assert_int_equal(row.len, 2);
    assert_memory_equal(row.data, "\x01\x02", 2);
}

static void a_row_of_another_kind_or_format_is_corrupt(void **state)
{
    (void)state;
    struct row_reader reader;
    const char *const wrong[] = { "", "\x01", "\x01\x03", "\x02\x02", "\x02" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(row_reader_init(&reader, slice_of(wrong[i]), ROW_BLOB), ERR_CORRUPT);
}

static void fields_come_back_in_order(void **state)
{
    (void)state;
    struct strbuf row = begun();
    row_add_number(&row, 1, 300);
    row_add_bytes(&row, 7, slice_of("seven"));
    row_add_bytes(&row, 1000, slice_of("k"));
    assert_int_equal(row.len, 2 + 4 + 7 + 4);
    assert_memory_equal(row.data + 2, "\x01\x02\xac\x02\x07\x05seven\xe8\x07\x01k", 15);

    struct row_reader reader = reading(strbuf_slice(&row));
    uint64_t tag;
    uint64_t number;
    struct slice value;
    assert_int_equal(row_next(&reader, &tag, &value), OK);
    assert_int_equal(tag, 1);
    assert_int_equal(row_number(value, &number), OK);
    assert_int_equal(number, 300);
    assert_int_equal(row_next(&reader, &tag, &value), OK);
    assert_int_equal(tag, 7);
    assert_true(slice_is(value, "seven"));
    assert_int_equal(row_next(&reader, &tag, &value), OK);
    assert_int_equal(tag, 1000);
    assert_int_equal(row_next(&reader, &tag, &value), ERR_NOT_FOUND);
    assert_int_equal(row_next(&reader, &tag, &value), ERR_NOT_FOUND);
}

static void zero_and_nothing_take_no_space(void **state)
{
    (void)state;
    struct strbuf row = begun();
    row_add_number(&row, 1, 0);
    row_add_bytes(&row, 2, (struct slice){ 0 });
    assert_int_equal(row.len, 2);
}

static void numbers_of_every_size_come_back(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 64; bits++) {
        const uint64_t all_ones = UINT64_MAX >> (64 - bits);
        const uint64_t values[] = { all_ones, all_ones - all_ones / 2 };
        for (size_t i = 0; i < 2; i++) {
            struct strbuf row = begun();
            row_add_number(&row, 5, values[i]);
            struct row_reader reader = reading(strbuf_slice(&row));
            uint64_t tag;
            uint64_t number = 0;
            struct slice value;
            assert_int_equal(row_next(&reader, &tag, &value), OK);
            assert_int_equal(row_number(value, &number), OK);
            assert_true(number == values[i]);
        }
    }
}

static void a_number_that_is_none_is_corrupt(void **state)
{
    (void)state;
    static const struct slice wrong[] = {
        SLICE_LITERAL(""),
        SLICE_LITERAL("\x80"),
        SLICE_LITERAL("\xff\xff"),
        SLICE_LITERAL("\x01\x01"),
        /* 65 bits, and eleven groups */
        SLICE_LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        SLICE_LITERAL("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
        SLICE_LITERAL("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x81"),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint64_t number;
        assert_int_equal(row_number(wrong[i], &number), ERR_CORRUPT);
    }
}

static struct slice instant_value(uint64_t ticks)
{
    struct strbuf row = begun();
    row_add_number(&row, 1, ticks);
    return slice_from(strbuf_slice(&row), 4);
}

static void an_instant_is_within_the_calendar(void **state)
{
    (void)state;
    int64_t ticks = 0;
    assert_int_equal(row_instant(instant_value(1), &ticks), OK);
    assert_int_equal(ticks, 1);
    assert_int_equal(row_instant(instant_value((uint64_t)CLOCK_TICKS_MAX), &ticks), OK);
    assert_true(ticks == CLOCK_TICKS_MAX);

    assert_int_equal(row_instant(slice_make("", 1), &ticks), ERR_CORRUPT);
    assert_int_equal(row_instant(slice_of("\x80"), &ticks), ERR_CORRUPT);
    assert_int_equal(row_instant(instant_value((uint64_t)CLOCK_TICKS_MAX + 1), &ticks),
                     ERR_CORRUPT);
    assert_int_equal(row_instant(instant_value(UINT64_MAX), &ticks), ERR_CORRUPT);
}

static void a_field_that_reaches_past_the_row_is_corrupt(void **state)
{
    (void)state;
    static const struct slice wrong[] = {
        SLICE_LITERAL("\x01\x02\x05"),      /* a tag alone */
        SLICE_LITERAL("\x01\x02\x85"),      /* half a tag */
        SLICE_LITERAL("\x01\x02\x05\x81"),  /* half a length */
        SLICE_LITERAL("\x01\x02\x05\x02x"), /* a value that is too short */
        SLICE_LITERAL("\x01\x02\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct row_reader reader = reading(wrong[i]);
        uint64_t tag;
        struct slice value;
        assert_int_equal(row_next(&reader, &tag, &value), ERR_CORRUPT);
    }
}

static void any_bytes_are_a_row_or_corrupt(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int i = 0; i < 100000; i++) {
        struct slice bytes = random_bytes(&random, &arena, 24);
        char *exact = malloc(bytes.len + 2);
        assert_non_null(exact);
        memcpy(exact, "\x01\x02", 2);
        if (bytes.len > 0)
            memcpy(exact + 2, bytes.data, bytes.len);
        struct row_reader reader = reading(slice_make(exact, bytes.len + 2));
        uint64_t tag;
        struct slice value;
        enum err err;
        size_t fields = 0;
        while ((err = row_next(&reader, &tag, &value)) == OK) {
            uint64_t number;
            assert_true(value.len == 0 || (value.data >= exact + 2 &&
                                           value.data + value.len <= exact + 2 + bytes.len));
            const enum err number_err = row_number(value, &number);
            assert_true(number_err == OK || number_err == ERR_CORRUPT);
            fields++;
        }
        assert_true(err == ERR_NOT_FOUND || err == ERR_CORRUPT);
        assert_true(fields <= bytes.len / 2);
        free(exact);
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_begins_with_format_and_kind),
        cmocka_unit_test(a_row_of_another_kind_or_format_is_corrupt),
        cmocka_unit_test(fields_come_back_in_order),
        cmocka_unit_test(zero_and_nothing_take_no_space),
        cmocka_unit_test(numbers_of_every_size_come_back),
        cmocka_unit_test(a_number_that_is_none_is_corrupt),
        cmocka_unit_test(an_instant_is_within_the_calendar),
        cmocka_unit_test(a_field_that_reaches_past_the_row_is_corrupt),
        cmocka_unit_test(any_bytes_are_a_row_or_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, clear);
}
