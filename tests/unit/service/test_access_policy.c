/*
 * test_access_policy.c - stored access policies: what is stored comes back, and damage is noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "service/access_policy.h"
#include "service/row.h"
#include "test_random.h"

#define TAG 9

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

static struct slice encoded(const struct access_policies *policies)
{
    struct strbuf row;
    strbuf_init(&row, &arena);
    row_begin(&row, ROW_CONTAINER);
    access_policies_encode(policies, &row, TAG);
    return strbuf_slice(&row);
}

static enum err decoded(struct slice row, struct access_policies *policies)
{
    *policies = (struct access_policies){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_CONTAINER);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK && tag == TAG)
            err = access_policies_decode(policies, value);
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

static void assert_same(const struct access_policies *a, const struct access_policies *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(slice_equal(a->policies[i].id, b->policies[i].id));
        assert_true(a->policies[i].start == b->policies[i].start);
        assert_true(a->policies[i].expiry == b->policies[i].expiry);
        assert_true(slice_equal(a->policies[i].permission, b->policies[i].permission));
    }
}

static void no_policies_take_no_space(void **state)
{
    (void)state;
    const struct access_policies none = { 0 };
    struct access_policies back;
    assert_int_equal(encoded(&none).len, 2);
    assert_int_equal(decoded(encoded(&none), &back), OK);
    assert_int_equal(back.count, 0);
}

static void policies_come_back_in_their_order(void **state)
{
    (void)state;
    const struct access_policies policies = {
        .count = 3,
        .policies = {
            { .id = slice_of("z"), .start = 1, .expiry = CLOCK_TICKS_MAX,
              .permission = slice_of("racwdl") },
            { .id = slice_of("only an id") },
            { .id = slice_of("a"), .expiry = 7 },
        },
    };
    struct access_policies back;
    assert_int_equal(decoded(encoded(&policies), &back), OK);
    assert_same(&back, &policies);
}

static void policies_are_found_by_their_exact_id(void **state)
{
    (void)state;
    const struct access_policies policies = {
        .count = 2,
        .policies = { { .id = slice_of("one") }, { .id = slice_of("One") } },
    };
    assert_ptr_equal(access_policies_find(&policies, slice_of("one")), &policies.policies[0]);
    assert_ptr_equal(access_policies_find(&policies, slice_of("One")), &policies.policies[1]);
    assert_null(access_policies_find(&policies, slice_of("ONE")));
    assert_null(access_policies_find(&policies, slice_of("on")));
    assert_null(access_policies_find(&policies, slice_of("")));
}

static void random_policies_come_back(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int round = 0; round < 500; round++) {
        struct access_policies policies = { .count =
                                                random_below(&random, ACCESS_POLICIES_MAX + 1) };
        for (size_t i = 0; i < policies.count; i++) {
            struct access_policy *policy = &policies.policies[i];
            policy->id = arena_printf(&arena, "%zu%.*s", i, (int)random_below(&random, 20),
                                      "aaaaaaaaaaaaaaaaaaaa");
            policy->start = (int64_t)(random_number(&random) % CLOCK_TICKS_MAX);
            policy->expiry = (int64_t)(random_number(&random) % CLOCK_TICKS_MAX);
            policy->permission = random_bytes(&random, &arena, 10);
        }
        struct access_policies back;
        assert_int_equal(decoded(encoded(&policies), &back), OK);
        assert_same(&back, &policies);
        arena_clear(&arena);
    }
}

static void a_sixth_policy_is_corrupt(void **state)
{
    (void)state;
    struct access_policies policies = { .count = ACCESS_POLICIES_MAX };
    for (size_t i = 0; i < ACCESS_POLICIES_MAX; i++)
        policies.policies[i].id = slice_of("id");
    const struct access_policies one = { .count = 1, .policies = { { .id = slice_of("id") } } };
    struct strbuf row;
    struct access_policies back;
    strbuf_init(&row, &arena);
    row_begin(&row, ROW_CONTAINER);
    access_policies_encode(&policies, &row, TAG);
    assert_int_equal(decoded(strbuf_slice(&row), &back), OK);
    access_policies_encode(&one, &row, TAG);
    assert_int_equal(decoded(strbuf_slice(&row), &back), ERR_CORRUPT);
}

static void an_instant_past_the_last_is_corrupt(void **state)
{
    (void)state;
    const struct access_policies policies = {
        .count = 1,
        .policies = { { .id = slice_of("id"), .start = CLOCK_TICKS_MAX + 1 } },
    };
    struct access_policies back;
    assert_int_equal(decoded(encoded(&policies), &back), ERR_CORRUPT);
}

static void an_unknown_field_is_skipped(void **state)
{
    (void)state;
    struct strbuf field;
    strbuf_init(&field, &arena);
    row_add_bytes(&field, 1, slice_of("id"));
    row_add_bytes(&field, 99, slice_of("of a later version"));
    row_add_bytes(&field, 4, slice_of("r"));
    struct access_policies back = { 0 };
    assert_int_equal(access_policies_decode(&back, strbuf_slice(&field)), OK);
    assert_int_equal(back.count, 1);
    assert_true(slice_is(back.policies[0].id, "id"));
    assert_true(slice_is(back.policies[0].permission, "r"));
}

static void damaged_rows_give_policies_or_corruption(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    const struct access_policies policies = {
        .count = 2,
        .policies = {
            { .id = slice_of("first"), .start = 5000, .expiry = 7, .permission = slice_of("rl") },
            { .id = slice_of("second"), .expiry = CLOCK_TICKS_MAX },
        },
    };
    const struct slice whole = encoded(&policies);
    size_t corrupt_count = 0;
    for (int round = 0; round < 20000; round++) {
        size_t len;
        char *bytes = random_damage(&random, whole, &len);
        struct access_policies back;
        const enum err err = decoded(slice_make(bytes, len), &back);
        assert_true(err == OK || err == ERR_CORRUPT);
        assert_true(back.count <= ACCESS_POLICIES_MAX);
        corrupt_count += err == ERR_CORRUPT;
        free(bytes);
    }
    assert_true(corrupt_count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(no_policies_take_no_space, clear),
        cmocka_unit_test_teardown(policies_come_back_in_their_order, clear),
        cmocka_unit_test_teardown(policies_are_found_by_their_exact_id, clear),
        cmocka_unit_test_teardown(random_policies_come_back, clear),
        cmocka_unit_test_teardown(a_sixth_policy_is_corrupt, clear),
        cmocka_unit_test_teardown(an_instant_past_the_last_is_corrupt, clear),
        cmocka_unit_test_teardown(an_unknown_field_is_skipped, clear),
        cmocka_unit_test_teardown(damaged_rows_give_policies_or_corruption, clear),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
