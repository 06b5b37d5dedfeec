/*
 * test_metadata.c - what names clients may use ("Naming metadata": C# identifiers, told apart
 * without case, 8 KiB in all), and the stored form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "service/limits.h"
#include "service/metadata.h"
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

static enum err check_names(const char *first, const char *second)
{
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &arena,
                    (struct metadata_pair){ slice_of(first), slice_of("value") });
    if (second != NULL)
        metadata_append(&metadata, &arena,
                        (struct metadata_pair){ slice_of(second), slice_of("") });
    return metadata_check(&metadata);
}

static void identifiers_are_names(void **state)
{
    (void)state;
    const char *const names[] = { "a", "Z", "_", "_1", "camelCase9", "x_y_z" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(check_names(names[i], NULL), OK);
    const struct metadata none = { 0 };
    assert_int_equal(metadata_check(&none), OK);
}

static void other_texts_are_not(void **state)
{
    (void)state;
    const char *const names[] = { "1a", "a-b", "a b", "a.b", "\xc3\xa9", "a/", "$" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(check_names(names[i], NULL), ERR_INVALID_METADATA);
    assert_int_equal(check_names("", NULL), ERR_EMPTY_METADATA_KEY);
}

static void names_that_differ_in_case_alone_are_one_name(void **state)
{
    (void)state;
    assert_int_equal(check_names("color", "colour"), OK);
    assert_int_equal(check_names("color", "color"), ERR_INVALID_METADATA);
    assert_int_equal(check_names("color", "COLOR"), ERR_INVALID_METADATA);
}

static void names_and_values_share_one_limit(void **state)
{
    (void)state;
    char *value = arena_alloc(&arena, LIMIT_METADATA_BYTES_MAX);
    memset(value, 'v', LIMIT_METADATA_BYTES_MAX);
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &arena,
                    (struct metadata_pair){ slice_of("ab"), slice_make(value, 100) });
    metadata_append(&metadata, &arena,
                    (struct metadata_pair){ slice_of("cd"),
                                            slice_make(value, LIMIT_METADATA_BYTES_MAX - 104) });
    assert_int_equal(metadata_check(&metadata), OK);
    metadata.pairs[0].value.len++;
    assert_int_equal(metadata_check(&metadata), ERR_METADATA_TOO_LARGE);
}

static struct metadata decoded(struct slice row)
{
    struct metadata metadata = { 0 };
    struct row_reader reader;
    assert_int_equal(row_reader_init(&reader, row, ROW_CONTAINER), OK);
    uint64_t tag;
    struct slice value;
    while (row_next(&reader, &tag, &value) == OK) {
        struct metadata_pair pair;
        assert_int_equal(tag, 3);
        assert_int_equal(metadata_decode_pair(value, &pair), OK);
        metadata_append(&metadata, &arena, pair);
    }
    return metadata;
}

static void assert_metadata_equal(const struct metadata *a, const struct metadata *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(slice_equal(a->pairs[i].name, b->pairs[i].name));
        assert_true(slice_equal(a->pairs[i].value, b->pairs[i].value));
    }
}

static void pairs_come_back_in_order_and_case(void **state)
{
    (void)state;
    /* Every count from none to past several doublings of the list. */
    struct metadata metadata = { 0 };
    for (size_t count = 0; count <= 40; count++) {
        struct strbuf row;
        strbuf_init(&row, &arena);
        row_begin(&row, ROW_CONTAINER);
        metadata_encode(&metadata, &row, 3);
        const struct metadata back = decoded(strbuf_slice(&row));
        assert_metadata_equal(&back, &metadata);
        metadata_append(
            &metadata, &arena,
            (struct metadata_pair){ arena_printf(&arena, "Name%zu", count),
                                    arena_printf(&arena, "%.*s", (int)count % 3, "va") });
    }
}

static void a_value_may_hold_any_byte(void **state)
{
    (void)state;
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &arena,
                    (struct metadata_pair){ slice_of("n"), slice_make("a\0b\xff", 4) });
    struct strbuf row;
    strbuf_init(&row, &arena);
    row_begin(&row, ROW_CONTAINER);
    metadata_encode(&metadata, &row, 3);
    const struct metadata back = decoded(strbuf_slice(&row));
    assert_metadata_equal(&back, &metadata);
}

static void a_pair_without_a_name_is_corrupt(void **state)
{
    (void)state;
    struct metadata_pair pair;
    assert_int_equal(metadata_decode_pair(slice_of("name"), &pair), ERR_CORRUPT);
    assert_int_equal(metadata_decode_pair(slice_make("\0value", 6), &pair), ERR_CORRUPT);
    assert_int_equal(metadata_decode_pair((struct slice){ 0 }, &pair), ERR_CORRUPT);
    assert_int_equal(metadata_decode_pair(slice_make("n\0", 2), &pair), OK);
    assert_true(slice_is(pair.name, "n"));
    assert_int_equal(pair.value.len, 0);
}

static void a_copy_shares_no_memory(void **state)
{
    (void)state;
    char name[] = "name";
    char value[] = "value";
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &arena, (struct metadata_pair){ slice_of(name), slice_of(value) });
    const struct metadata copy = metadata_copy(&arena, &metadata);
    name[0] = 'X';
    value[0] = 'X';
    metadata.pairs[0].name = (struct slice){ 0 };
    assert_int_equal(copy.count, 1);
    assert_true(slice_is(copy.pairs[0].name, "name"));
    assert_true(slice_is(copy.pairs[0].value, "value"));
}

static struct metadata pairs_of(const char *first, const char *value, const char *second)
{
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &arena, (struct metadata_pair){ slice_of(first), slice_of(value) });
    metadata_append(&metadata, &arena, (struct metadata_pair){ slice_of(second), slice_of("2") });
    return metadata;
}

static void metadata_is_equal_whatever_its_order_and_the_case_of_names(void **state)
{
    (void)state;
    const struct metadata none = { 0 };
    const struct metadata metadata = pairs_of("a", "2", "b");
    const struct metadata same = pairs_of("B", "2", "A");
    const struct metadata other_value = pairs_of("a", "3", "b");
    const struct metadata other_name = pairs_of("a", "2", "c");
    const struct metadata fewer = { metadata.pairs, 1 };
    assert_true(metadata_equal(&none, &none));
    assert_true(metadata_equal(&metadata, &same));
    assert_false(metadata_equal(&metadata, &other_value));
    assert_false(metadata_equal(&metadata, &other_name));
    assert_false(metadata_equal(&metadata, &fewer));
    assert_false(metadata_equal(&fewer, &metadata));
    assert_false(metadata_equal(&metadata, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_names),
        cmocka_unit_test(metadata_is_equal_whatever_its_order_and_the_case_of_names),
        cmocka_unit_test(other_texts_are_not),
        cmocka_unit_test(names_that_differ_in_case_alone_are_one_name),
        cmocka_unit_test(names_and_values_share_one_limit),
        cmocka_unit_test(pairs_come_back_in_order_and_case),
        cmocka_unit_test(a_value_may_hold_any_byte),
        cmocka_unit_test(a_pair_without_a_name_is_corrupt),
        cmocka_unit_test(a_copy_shares_no_memory),
    };
    return cmocka_run_group_tests(tests, quiet, clear);
}
