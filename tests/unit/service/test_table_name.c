/*
 * test_table_name.c - names of tables and keys of entities ("Understanding the Table Service Data
 * Model"), and the order of stored keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/log.h"
#include "service/limits.h"
#include "service/table/table_name.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static struct slice repeated(struct arena *arena, const char *text, size_t count)
{
    const size_t len = strlen(text);
    char *bytes = arena_bytes(arena, len * count);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * len, text, len);
    return slice_make(bytes, len * count);
}

static void table_names_are_letters_and_digits(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    static const char *const good[] = { "abc", "ABC", "a1b", "tables1", "Zz9" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(table_name_check(slice_of(good[i])), OK);
    static const char *const bad[] = { "1ab",    "a-b",    "a_b", "a.b", "ab\xC3\xA9",
                                       "tables", "Tables", "a b", "$ab" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(table_name_check(slice_of(bad[i])), ERR_INVALID_RESOURCE_NAME);
    assert_int_equal(table_name_check(slice_of("ab")), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(table_name_check((struct slice){ 0 }), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(table_name_check(repeated(&arena, "a", 63)), OK);
    assert_int_equal(table_name_check(repeated(&arena, "a", 64)), ERR_RESOURCE_NAME_LENGTH);
    arena_release(&arena);
}

static void keys_take_all_but_a_few_characters(void **state)
{
    (void)state;
    static const char *const good[] = { "",         " ",        "a'b",     "50%",
                                        "\xC3\xA9", "\xC2\xA0", "a+b&c=d", "\xF0\x9F\x98\x80" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(entity_key_check(slice_of(good[i])), OK);
    static const char *const bad[] = { "a/b",  "a\\b", "a#b",      "a?b",      "\t",
                                       "\x1F", "\x7F", "\xC2\x80", "\xC2\x9F", "\xFF" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(entity_key_check(slice_of(bad[i])), ERR_OUT_OF_RANGE_INPUT);
    assert_int_equal(entity_key_check(slice_make("a\0b", 3)), ERR_OUT_OF_RANGE_INPUT);
}

static void keys_are_as_long_as_a_kibibyte_of_utf16(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    /* One, one and two units; one, three and four bytes. */
    assert_int_equal(entity_key_check(repeated(&arena, "a", 512)), OK);
    assert_int_equal(entity_key_check(repeated(&arena, "a", 513)), ERR_KEY_TOO_LARGE);
    assert_int_equal(entity_key_check(repeated(&arena, "\xE2\x82\xAC", 512)), OK);
    assert_int_equal(entity_key_check(repeated(&arena, "\xE2\x82\xAC", 513)), ERR_KEY_TOO_LARGE);
    assert_int_equal(entity_key_check(repeated(&arena, "\xF0\x9F\x98\x80", 256)), OK);
    assert_int_equal(entity_key_check(repeated(&arena, "\xF0\x9F\x98\x80", 257)),
                     ERR_KEY_TOO_LARGE);
    arena_release(&arena);
}

static void a_tables_key_is_the_same_in_any_case(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    assert_true(slice_is(table_key(&arena, slice_of("MyTable9Z")), "tmytable9z"));
    arena_release(&arena);
}

static void stored_keys_are_in_the_order_of_partition_key_then_row_key(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    static const char *const ordered[][2] = {
        { "", "" },
        { "", "b" },
        { "", "z" },
        { " ", "" },
        { "a", "" },
        { "a", "z" },
        { "a ", "" },
        { "ab", "a" },
        { "ab", "b" },
        { "b", "" },
        { "b", "a" },
        { "\xC3\xA9", "" },
        { "\xEF\xBF\xBD", "" },
        { "\xF0\x9F\x98\x80", "" },
    };
    struct slice last = { 0 };
    for (size_t i = 0; i < sizeof(ordered) / sizeof(ordered[0]); i++) {
        const struct slice key =
            entity_key(&arena, slice_of(ordered[i][0]), slice_of(ordered[i][1]));
        assert_true(slice_compare(last, key) < 0);
        assert_true(slice_starts_with(key, entity_prefix()));
        struct slice partition_key;
        struct slice row_key;
        assert_int_equal(entity_key_split(key, &partition_key, &row_key), OK);
        assert_true(slice_is(partition_key, ordered[i][0]));
        assert_true(slice_is(row_key, ordered[i][1]));
        last = key;
    }
    arena_release(&arena);
}

static void what_is_no_entitys_key_is_corrupt(void **state)
{
    (void)state;
    struct slice partition_key;
    struct slice row_key;
    assert_int_equal(entity_key_split((struct slice){ 0 }, &partition_key, &row_key), ERR_CORRUPT);
    assert_int_equal(entity_key_split(slice_of("e"), &partition_key, &row_key), ERR_CORRUPT);
    assert_int_equal(entity_key_split(slice_of("eab"), &partition_key, &row_key), ERR_CORRUPT);
    assert_int_equal(entity_key_split(slice_make("f\0", 2), &partition_key, &row_key), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_names_are_letters_and_digits),
        cmocka_unit_test(keys_take_all_but_a_few_characters),
        cmocka_unit_test(keys_are_as_long_as_a_kibibyte_of_utf16),
        cmocka_unit_test(a_tables_key_is_the_same_in_any_case),
        cmocka_unit_test(stored_keys_are_in_the_order_of_partition_key_then_row_key),
        cmocka_unit_test(what_is_no_entitys_key_is_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
