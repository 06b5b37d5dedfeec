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

static void keys_of_history_are_in_the_order_of_time_and_give_back_what_they_say(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int i = 0; i < 20000; i++) {
        const struct slice a = random_name(&random);
        const struct slice b = random_name(&random);
        const uint64_t tick = random_number(&random);
        const struct slice key = history_key(&arena, a, tick, 'd');
        struct slice name;
        struct slice found;
        uint64_t found_tick;
        char kind;
        int64_t expires_at;
        assert_int_equal(history_key_parse(key, &name, &found_tick, &kind), OK);
        assert_true(slice_equal(name, a));
        assert_true(found_tick == tick && kind == 'd');
        assert_true(slice_compare(key, history_key(&arena, a, tick, 'v')) < 0);
        assert_true(tick == UINT64_MAX ||
                    slice_compare(key, history_key(&arena, a, tick + 1, 'd')) < 0);
        if (!slice_equal(a, b))
            assert_int_equal(sign(slice_compare(key, history_key(&arena, b, 1, 'v'))),
                             sign(slice_compare(a, b)));
        assert_true(slice_starts_with(key, history_prefix(&arena, a)));
        assert_true(slice_starts_with(key, history_key_prefix(&arena, a)));

        const int64_t at = 1 + (int64_t)random_below(&random, UINT32_MAX);
        const struct slice expiry = expiry_key(&arena, at, key);
        assert_int_equal(expiry_key_parse(&arena, expiry, &expires_at, &found), OK);
        assert_int_equal(expires_at, at);
        assert_true(slice_equal(found, key));
        assert_true(
            slice_compare(expiry, expiry_key(&arena, at + 1, history_key(&arena, b, 1, 'd'))) < 0);
        arena_clear(&arena);
    }
}

static void a_key_that_is_of_no_history_is_corrupt(void **state)
{
    (void)state;
    struct slice name;
    uint64_t tick;
    char kind;
    int64_t expires_at;
    static const struct slice wrong[] = {
        SLICE_LITERAL(""),
        SLICE_LITERAL("h"),
        SLICE_LITERAL("h\0\xff\xff\xff\xff\xff\xff\xff\xff"
                      "d"), /* no name */
        SLICE_LITERAL("hnX\xff\xff\xff\xff\xff\xff\xff\xff"
                      "d"),
        SLICE_LITERAL("bn\0\xff\xff\xff\xff\xff\xff\xff\xff"
                      "d"),
        SLICE_LITERAL("e"),
        SLICE_LITERAL("e\0\0\0\0\0\0\0\1nX\xff\xff\xff\xff\xff\xff\xff\xff"
                      "d"),
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(history_key_parse(wrong[i], &name, &tick, &kind), ERR_CORRUPT);
        assert_int_equal(expiry_key_parse(&arena, wrong[i], &expires_at, &name), ERR_CORRUPT);
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
        cmocka_unit_test(keys_of_history_are_in_the_order_of_time_and_give_back_what_they_say),
        cmocka_unit_test(a_key_that_is_of_no_history_is_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, clear);
}
