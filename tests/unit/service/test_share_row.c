/*
 * test_share_row.c - the stored forms of shares, instants and what is known of a share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/log.h"
#include "service/file/share.h"
#include "service/file/share_state.h"
#include "service/limits.h"
#include "service/row.h"
#include "test_random.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static struct metadata_pair PAIR = { SLICE_LITERAL("color"), SLICE_LITERAL("blue") };

static struct share full_share(void)
{
    return (struct share){
        .incarnation = 11,
        .etag = 12,
        .created_at = 13,
        .lease = { .state = LEASE_LEASED,
                   .id = { .bytes = { 1 } },
                   .duration_sec = 15,
                   .ends_at_ms = 99 },
        .metadata = { &PAIR, 1 },
        .policies = { .count = 1, .policies = { { .id = SLICE_LITERAL("p"), .expiry = 5 } } },
        .quota_gib = LIMIT_SHARE_QUOTA_GIB_MAX,
        .access_tier = SLICE_LITERAL("Cool"),
        .tier_changed_at = 14,
        .root_squash = SLICE_LITERAL("AllSquash"),
        .deleted_at = 15,
        .expires_at = 16,
    };
}

static void a_share_comes_back_as_it_was_stored(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct share given = full_share();
    struct share share;
    assert_int_equal(share_decode(&arena, share_encode(&arena, &given), &share), OK);
    assert_int_equal(share.incarnation, 11);
    assert_int_equal(share.etag, 12);
    assert_int_equal(share.created_at, 13);
    assert_int_equal(share.lease.state, LEASE_LEASED);
    assert_int_equal(share.lease.ends_at_ms, 99);
    assert_true(metadata_equal(&share.metadata, &given.metadata));
    assert_int_equal(share.policies.policies[0].expiry, 5);
    assert_int_equal(share.quota_gib, LIMIT_SHARE_QUOTA_GIB_MAX);
    assert_true(slice_is(share.access_tier, "Cool"));
    assert_int_equal(share.tier_changed_at, 14);
    assert_true(slice_is(share.root_squash, "AllSquash"));
    assert_int_equal(share.snapshot, 0);
    assert_int_equal(share.deleted_at, 15);
    assert_int_equal(share.expires_at, 16);
    arena_release(&arena);
}

static void a_share_that_does_not_hold_together_is_corrupt(void **state)
{
    (void)state;
    struct share bad[8];
    for (size_t i = 0; i < 8; i++)
        bad[i] = full_share();
    bad[0].incarnation = 0;
    bad[1].etag = 0;
    bad[2].created_at = 0;
    bad[3].quota_gib = 0;
    bad[4].quota_gib = LIMIT_SHARE_QUOTA_GIB_MAX + 1;
    bad[5].expires_at = 0;
    bad[6].snapshot = 7; /* and deleted */
    bad[7].incarnation = UINT64_MAX;
    struct arena arena = { 0 };
    for (size_t i = 0; i < 8; i++) {
        struct share share;
        assert_int_equal(share_decode(&arena, share_encode(&arena, &bad[i]), &share), ERR_CORRUPT);
    }
    arena_release(&arena);
}

static void an_instant_comes_back_as_it_was_stored(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct instant instant = { .account = SLICE_LITERAL("me") };
    struct instant stored;
    assert_int_equal(instant_decode(instant_encode(&arena, &instant), &stored), OK);
    assert_true(slice_is(stored.account, "me"));
    assert_false(stored.is_confirmed);
    instant.is_confirmed = true;
    assert_int_equal(instant_decode(instant_encode(&arena, &instant), &stored), OK);
    assert_true(stored.is_confirmed);
    instant.account = (struct slice){ 0 };
    assert_int_equal(instant_decode(instant_encode(&arena, &instant), &stored), ERR_CORRUPT);
    arena_release(&arena);
}

static void the_state_of_a_share_comes_back_as_it_was_stored(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct share_state given = { .last_instant = 3, .used_bytes = 4, .past_due = 5 };
    struct share_state stored;
    assert_int_equal(share_state_decode(share_state_encode(&arena, &given), &stored), OK);
    assert_memory_equal(&stored, &given, sizeof(given));
    arena_release(&arena);
}

static void any_bytes_give_a_record_or_are_corrupt(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    struct arena arena = { 0 };
    for (size_t round = 0; round < 20000; round++) {
        arena_clear(&arena);
        const struct share given = full_share();
        const struct instant kept = { .account = SLICE_LITERAL("me"), .is_confirmed = true };
        const struct slice row =
            round % 2 == 0 ? share_encode(&arena, &given) : instant_encode(&arena, &kept);
        char *copy = malloc(row.len);
        memcpy(copy, row.data, row.len);
        for (uint64_t flips = random_next(&random) % 3 + 1; flips > 0; flips--)
            copy[random_next(&random) % row.len] = (char)random_next(&random);
        const struct slice damaged = slice_make(copy, random_next(&random) % (row.len + 1));
        struct share share;
        struct instant instant;
        struct share_state whole;
        const enum err errs[] = {
            share_decode(&arena, damaged, &share),
            instant_decode(damaged, &instant),
            share_state_decode(damaged, &whole),
        };
        for (size_t i = 0; i < 3; i++)
            assert_true(errs[i] == OK || errs[i] == ERR_CORRUPT);
        free(copy);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_comes_back_as_it_was_stored),
        cmocka_unit_test(a_share_that_does_not_hold_together_is_corrupt),
        cmocka_unit_test(an_instant_comes_back_as_it_was_stored),
        cmocka_unit_test(the_state_of_a_share_comes_back_as_it_was_stored),
        cmocka_unit_test(any_bytes_give_a_record_or_are_corrupt),
    };
    return cmocka_run_group_tests_name("share_row", tests, quiet, NULL);
}
