/*
 * test_blob_name.c - the naming rules ("Naming and Referencing Containers, Blobs, and Metadata")
 * and the order that keys give to names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "partition/partition.h"
#include "service/blob/blob_name.h"
#include "service/limits.h"
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

/* `count` copies of a text. */
static struct slice repeated(const char *text, size_t count)
{
    const size_t len = strlen(text);
    char *bytes = arena_bytes(&arena, len * count);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * len, text, len);
    return slice_make(bytes, len * count);
}

static void container_names_are_lower_case_letters_digits_and_single_dashes(void **state)
{
    (void)state;
    const char *const good[] = { "abc",   "123",  "a-b",   "a-1-c",
                                 "$root", "$web", "$logs", "$blobchangefeed" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(container_name_check(slice_of(good[i])), OK);
    const char *const bad[] = { "Abc", "a_b",  "-ab",        "ab-",   "a--b", "a b", "a.b",
                                "a/b", "$abc", "\xc3\xa9xx", "$Root", "a\nb", "---", "$rooot" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(container_name_check(slice_of(bad[i])), ERR_INVALID_RESOURCE_NAME);
}

static void container_names_have_3_to_63_characters(void **state)
{
    (void)state;
    assert_int_equal(container_name_check(repeated("a", 0)), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(container_name_check(repeated("a", 2)), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(container_name_check(repeated("a", 3)), OK);
    assert_int_equal(container_name_check(repeated("a", 63)), OK);
    assert_int_equal(container_name_check(repeated("a", 64)), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(container_name_check(repeated("A", 64)), ERR_RESOURCE_NAME_LENGTH);
}

static void blob_names_are_counted_in_characters(void **state)
{
    (void)state;
    const char *const four_bytes = "\xf0\x9f\x98\x80";
    assert_int_equal(blob_name_check(repeated("a", 0)), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(blob_name_check(repeated("a", 1)), OK);
    assert_int_equal(blob_name_check(repeated("a", 1024)), OK);
    assert_int_equal(blob_name_check(repeated("a", 1025)), ERR_RESOURCE_NAME_LENGTH);
    assert_int_equal(blob_name_check(repeated(four_bytes, 1024)), OK);
    assert_int_equal(blob_name_check(repeated(four_bytes, 1025)), ERR_RESOURCE_NAME_LENGTH);
}

static void blob_names_have_at_most_254_segments(void **state)
{
    (void)state;
    assert_int_equal(blob_name_check(repeated("a/", 253)), OK);
    assert_int_equal(blob_name_check(repeated("a/", 254)), ERR_INVALID_RESOURCE_NAME);
}

static void blob_names_are_utf8_without_nul(void **state)
{
    (void)state;
    assert_int_equal(blob_name_check(slice_of("dir/\xc3\xa9\x01\x7f .txt")), OK);
    assert_int_equal(blob_name_check(slice_make("a\0b", 3)), ERR_INVALID_RESOURCE_NAME);
    const char *const bad[] = { "\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(blob_name_check(slice_of(bad[i])), ERR_INVALID_RESOURCE_NAME);
}

static void keys_are_as_the_header_draws_them(void **state)
{
    (void)state;
    const struct {
        struct slice made;
        struct slice drawn;
    } rows[] = {
        { account_partition(&arena, slice_of("acc")), SLICE_LITERAL("Aacc") },
        { container_key(&arena, slice_of("box")), SLICE_LITERAL("cbox") },
        { garbage_key(&arena, 0x0102030405060708), SLICE_LITERAL("g\1\2\3\4\5\6\7\x8") },
        { blob_partition(&arena, 0x0102030405060708), SLICE_LITERAL("B\1\2\3\4\5\6\7\x8\0\0") },
        { blob_key(&arena, slice_of("n")), SLICE_LITERAL("bn\0\xff\xff\xff\xff\xff\xff\xff\xff") },
        { content_key(&arena, 258), SLICE_LITERAL("d\0\0\0\0\0\0\1\2") },
        { closed_key(), SLICE_LITERAL("x") },
        { blob_key_prefix(&arena, slice_of("n")), SLICE_LITERAL("bn") },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(slice_equal(rows[i].made, rows[i].drawn));
}

static void keys_of_the_longest_names_fit_the_partition_layer(void **state)
{
    (void)state;
    const struct slice longest = repeated("\xf0\x9f\x98\x80", LIMIT_BLOB_NAME_CHARS_MAX);
    assert_true(blob_key(&arena, longest).len <= PARTITION_KEY_BYTES_MAX);
    const struct slice account = repeated("a", LIMIT_ACCOUNT_NAME_MAX);
    assert_true(account_partition(&arena, account).len <= PARTITION_ID_BYTES_MAX);
}

static struct slice random_name(struct test_random *random)
{
    static const char *const parts[] = { "\x01", " ", "/", "a", "b", "\x7f", "\xc3\xa9" };
    struct strbuf name;
    strbuf_init(&name, &arena);
    for (size_t left = 1 + random_below(random, 5); left > 0; left--)
        strbuf_add_text(&name, parts[random_below(random, sizeof(parts) / sizeof(parts[0]))]);
    return strbuf_slice(&name);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void keys_sort_as_names_do_and_give_the_name_back(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int i = 0; i < 20000; i++) {
        const struct slice a = random_name(&random);
        const struct slice b = random_name(&random);
        const struct slice key = blob_key(&arena, a);
        const int64_t tick = 1 + (int64_t)random_below(&random, UINT32_MAX);
        const struct slice snapshot_of_a = snapshot_key(&arena, a, tick);
        struct slice name;
        int64_t snapshot;
        assert_int_equal(sign(slice_compare(key, blob_key(&arena, b))), sign(slice_compare(a, b)));
        assert_int_equal(blob_key_name(key, &name, &snapshot), OK);
        assert_true(slice_equal(name, a));
        assert_int_equal(snapshot, 0);
        assert_int_equal(blob_key_name(snapshot_of_a, &name, &snapshot), OK);
        assert_true(slice_equal(name, a));
        assert_int_equal(snapshot, tick);
        /* Snapshots come before their blob, and the older before the newer. */
        assert_true(slice_compare(snapshot_of_a, key) < 0);
        assert_true(slice_compare(snapshot_of_a, snapshot_key(&arena, a, tick + 1)) < 0);
        assert_true(slice_starts_with(key, blob_key_prefix(&arena, a)));
        arena_clear(&arena);
    }
}

static void a_key_that_is_no_blobs_is_corrupt(void **state)
{
    (void)state;
    struct slice name;
    int64_t snapshot;
    static const struct slice wrong[] = {
        SLICE_LITERAL(""),
        SLICE_LITERAL("b"),
        SLICE_LITERAL("b\0\xff\xff\xff\xff\xff\xff\xff\xff"), /* no name */
        SLICE_LITERAL("bnX\xff\xff\xff\xff\xff\xff\xff\xff"),
        SLICE_LITERAL("dn\0\xff\xff\xff\xff\xff\xff\xff\xff"),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(blob_key_name(wrong[i], &name, &snapshot), ERR_CORRUPT);
}

static void a_garbage_key_names_its_incarnation(void **state)
{
    (void)state;
    uint64_t incarnation = 0;
    assert_true(garbage_key_incarnation(garbage_key(&arena, UINT64_MAX - 1), &incarnation));
    assert_true(incarnation == UINT64_MAX - 1);
    assert_false(garbage_key_incarnation(slice_of("g1234567"), &incarnation));
    assert_false(garbage_key_incarnation(slice_of("g123456789"), &incarnation));
    assert_false(garbage_key_incarnation(slice_of("c12345678"), &incarnation));
    assert_false(garbage_key_incarnation((struct slice){ 0 }, &incarnation));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(container_names_are_lower_case_letters_digits_and_single_dashes),
        cmocka_unit_test(container_names_have_3_to_63_characters),
        cmocka_unit_test(blob_names_are_counted_in_characters),
        cmocka_unit_test(blob_names_have_at_most_254_segments),
        cmocka_unit_test(blob_names_are_utf8_without_nul),
        cmocka_unit_test(keys_are_as_the_header_draws_them),
        cmocka_unit_test(keys_of_the_longest_names_fit_the_partition_layer),
        cmocka_unit_test(keys_sort_as_names_do_and_give_the_name_back),
        cmocka_unit_test(a_key_that_is_no_blobs_is_corrupt),
        cmocka_unit_test(a_garbage_key_names_its_incarnation),
    };
    return cmocka_run_group_tests(tests, quiet, clear);
}
