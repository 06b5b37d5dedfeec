#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "service/file/file_name.h"
#include "service/limits.h"

static struct arena arena;

static int clear_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static void assert_upper(const char *name, const char *expected)
{
    const struct slice upper = file_name_upper(&arena, slice_of(name));
    assert_int_equal(upper.len, strlen(expected));
    assert_memory_equal(upper.data, expected, upper.len);
}

static void upper_case_is_one_character_for_another(void **state)
{
    (void)state;
    assert_upper("", "");
    assert_upper("readme.Txt 09_[]{}", "README.TXT 09_[]{}");
    assert_upper("\xc3\xa4\xc3\xb7\xc3\xbf", "\xc3\x84\xc3\xb7\xc5\xb8"); /* ae, division, y */
    assert_upper("\xce\xb1\xcf\x82\xcf\x83", "\xce\x91\xce\xa3\xce\xa3"); /* both sigmas */
    assert_upper("\xd0\xb6\xd1\x9f", "\xd0\x96\xd0\x8f");                 /* Cyrillic */
    assert_upper("\xef\xbd\x81\xe2\x93\x90", "\xef\xbc\xa1\xe2\x92\xb6"); /* wide, circled */
    assert_upper("\xc9\x90", "\xe2\xb1\xaf");                             /* two bytes to three */
}

static void what_has_no_single_way_back_stays(void **state)
{
    (void)state;
    /* sharp s, dotless i, long s, micro, titlecase dz, Deseret of another plane, Georgian */
    const char *const names[] = { "\xc3\x9f", "\xc4\xb1",         "\xc5\xbf",    "\xc2\xb5",
                                  "\xc7\x85", "\xf0\x90\x90\xa8", "\xe1\x83\x90" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_upper(names[i], names[i]);
}

static void upper_case_of_upper_case_is_itself(void **state)
{
    (void)state;
    for (unsigned point = 1; point < 0x10000; point++) {
        if (point >= 0xd800 && point < 0xe000)
            continue;
        char text[4];
        size_t len = 1;
        if (point < 0x80) {
            text[0] = (char)point;
        } else if (point < 0x800) {
            text[0] = (char)(0xc0 | point >> 6);
            text[1] = (char)(0x80 | (point & 0x3f));
            len = 2;
        } else {
            text[0] = (char)(0xe0 | point >> 12);
            text[1] = (char)(0x80 | (point >> 6 & 0x3f));
            text[2] = (char)(0x80 | (point & 0x3f));
            len = 3;
        }
        const struct slice once = file_name_upper(&arena, slice_make(text, len));
        const struct slice twice = file_name_upper(&arena, once);
        assert_true(slice_equal(once, twice));
        arena_clear(&arena);
    }
}

static void names_of_all_kinds_are_names(void **state)
{
    (void)state;
    const char *const names[] = { "a",           "a.b.c", " x ", "~`!@#$%^&()-_=+[]{};',.",
                                  "...",         ".a",    "co",  "con1",
                                  "com0",        "com10", "lpt", "a con",
                                  "\xe6\x96\x87" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(file_name_check(slice_of(names[i])), OK);
}

static void names_that_may_not_be_are_refused(void **state)
{
    (void)state;
    const char *const names[] = {
        "a\"b",         "a\\b",         "a/b",  "a:b",  "a|b",  "a<b",  "a>b",       "a*b",
        "a?b",          "a\tb",         "\x7f", ".",    "..",   "con",  "NUL",       "Aux",
        "prn",          "clock$",       "com1", "LPT9", "\xff", "\xc3", "a\xc2\x85", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xef\xb7\x90",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(file_name_check(slice_of(names[i])), ERR_FILE_NAME_INVALID);
    assert_int_equal(file_name_check(slice_make("a\0b", 3)), ERR_FILE_NAME_INVALID);
    assert_int_equal(file_name_check((struct slice){ 0 }), ERR_RESOURCE_NAME_LENGTH);
}

static void length_is_counted_in_units_of_utf16(void **state)
{
    (void)state;
    char name[4 * 256];
    memset(name, 'x', sizeof(name));
    assert_int_equal(file_name_check(slice_make(name, 255)), OK);
    assert_int_equal(file_name_check(slice_make(name, 256)), ERR_RESOURCE_NAME_LENGTH);
    for (size_t i = 0; i < 128; i++)
        memcpy(name + 4 * i, "\xf0\x9f\x98\x80", 4);
    assert_int_equal(file_name_check(slice_make(name, 4 * 127)), OK);
    assert_int_equal(file_name_check(slice_make(name, 4 * 128)), ERR_RESOURCE_NAME_LENGTH);
}

static enum err parse(const char *path, enum file_trailing_dots dots, struct file_path *parsed)
{
    return file_path_parse(&arena, slice_of(path), dots, parsed);
}

static void a_path_is_split_at_both_slashes(void **state)
{
    (void)state;
    struct file_path path;
    assert_int_equal(parse("", FILE_DOTS_KEPT, &path), OK);
    assert_int_equal(path.depth, 0);
    assert_int_equal(parse("Dir\\sub/File.txt//", FILE_DOTS_KEPT, &path), OK);
    assert_int_equal(path.depth, 3);
    assert_true(slice_is(path.names[0], "Dir"));
    assert_true(slice_is(path.upper[0], "DIR"));
    assert_true(slice_is(path.names[1], "sub"));
    assert_true(slice_is(path.upper[2], "FILE.TXT"));
    assert_int_equal(parse("a//b", FILE_DOTS_KEPT, &path), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(parse("/a", FILE_DOTS_KEPT, &path), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(parse("a/../b", FILE_DOTS_REMOVED, &path), ERR_FILE_NAME_INVALID);
}

static void dots_at_the_end_of_names_are_removed_if_that_is_wanted(void **state)
{
    (void)state;
    struct file_path path;
    assert_int_equal(parse("a./b...", FILE_DOTS_REMOVED, &path), OK);
    assert_true(slice_is(path.names[0], "a"));
    assert_true(slice_is(path.names[1], "b"));
    assert_int_equal(parse("a./b...", FILE_DOTS_KEPT, &path), OK);
    assert_true(slice_is(path.names[1], "b..."));
    assert_int_equal(parse("a/...", FILE_DOTS_REMOVED, &path), ERR_RESOURCE_NAME_LENGTH);
}

static void paths_have_a_length_and_a_depth(void **state)
{
    (void)state;
    struct file_path path;
    char text[LIMIT_FILE_PATH_UNITS_MAX + 2];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 200 == 199 ? '/' : 'x';
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(parse(text, FILE_DOTS_KEPT, &path), ERR_FILE_PATH_TOO_LONG);
    text[sizeof(text) - 2] = '\0';
    assert_int_equal(parse(text, FILE_DOTS_KEPT, &path), OK);

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 2 == 1 ? '/' : 'x';
    text[2 * LIMIT_FILE_PATH_DEPTH + 1] = '\0';
    assert_int_equal(parse(text, FILE_DOTS_KEPT, &path), ERR_FILE_PATH_TOO_DEEP);
    text[2 * LIMIT_FILE_PATH_DEPTH - 1] = '\0';
    assert_int_equal(parse(text, FILE_DOTS_KEPT, &path), OK);
    assert_int_equal(path.depth, LIMIT_FILE_PATH_DEPTH);
}

static void keys_tell_what_they_were_made_of(void **state)
{
    (void)state;
    uint64_t parent;
    struct slice upper;
    int64_t from;
    assert_int_equal(node_key_parse(node_key(&arena, 77, slice_of("NAME")), &parent, &upper), OK);
    assert_int_equal(parent, 77);
    assert_true(slice_is(upper, "NAME"));
    const struct slice past = node_past_key(&arena, 78, slice_of("OLD"), 1234);
    assert_true(slice_starts_with(past, node_past_prefix(&arena, 78)));
    assert_true(slice_starts_with(past, node_past_name_prefix(&arena, 78, slice_of("OLD"))));
    assert_false(slice_starts_with(past, node_past_name_prefix(&arena, 78, slice_of("OL"))));
    assert_int_equal(node_past_key_parse(past, &parent, &upper, &from), OK);
    assert_int_equal(parent, 78);
    assert_true(slice_is(upper, "OLD"));
    assert_int_equal(from, 1234);
    for (size_t len = 0; len < 18; len++)
        assert_int_equal(node_past_key_parse(slice_head(past, len), &parent, &upper, &from),
                         ERR_CORRUPT);
    assert_int_equal(node_key_parse(past, &parent, &upper), ERR_CORRUPT);
    assert_true(is_file_partition(file_partition(&arena, 5)));
    assert_false(is_file_partition(slice_of("Fx")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(upper_case_is_one_character_for_another, clear_arena),
        cmocka_unit_test_teardown(what_has_no_single_way_back_stays, clear_arena),
        cmocka_unit_test_teardown(upper_case_of_upper_case_is_itself, clear_arena),
        cmocka_unit_test_teardown(names_of_all_kinds_are_names, clear_arena),
        cmocka_unit_test_teardown(names_that_may_not_be_are_refused, clear_arena),
        cmocka_unit_test_teardown(length_is_counted_in_units_of_utf16, clear_arena),
        cmocka_unit_test_teardown(a_path_is_split_at_both_slashes, clear_arena),
        cmocka_unit_test_teardown(dots_at_the_end_of_names_are_removed_if_that_is_wanted,
                                  clear_arena),
        cmocka_unit_test_teardown(paths_have_a_length_and_a_depth, clear_arena),
        cmocka_unit_test_teardown(keys_tell_what_they_were_made_of, clear_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
