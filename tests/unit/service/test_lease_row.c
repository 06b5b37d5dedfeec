/*
 * test_lease_row.c - the stored form of a lease: every valid lease comes back, nothing else does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "service/lease_row.h"
#include "service/row.h"
#include "test_random.h"

#define T0_MS INT64_C(63930297600000)
#define TAG   15

static struct arena arena;

static const struct uuid A = { .bytes = { 0xA } };

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

static struct slice encoded(const struct lease *lease)
{
    struct strbuf row;
    strbuf_init(&row, &arena);
    row_begin(&row, ROW_BLOB);
    lease_row_encode(lease, &row, TAG);
    return strbuf_slice(&row);
}

static enum err decoded(struct slice row, struct lease *lease)
{
    *lease = (struct lease){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_BLOB);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK && tag >= TAG && tag < TAG + LEASE_ROW_TAGS)
            err = lease_row_decode(lease, tag - TAG, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    return lease_is_valid(lease) ? OK : ERR_CORRUPT;
}

static void assert_comes_back(const struct lease *lease)
{
    struct lease back;
    assert_int_equal(decoded(encoded(lease), &back), OK);
    assert_int_equal(back.state, lease->state);
    assert_true(uuid_equal(&back.id, &lease->id));
    assert_int_equal(back.duration_sec, lease->duration_sec);
    assert_true(back.ends_at_ms == lease->ends_at_ms);
}

static void an_available_lease_takes_no_space(void **state)
{
    (void)state;
    const struct lease lease = { 0 };
    assert_int_equal(encoded(&lease).len, 2);
    assert_comes_back(&lease);
}

static void a_lease_in_every_state_comes_back(void **state)
{
    (void)state;
    const int32_t durations[] = { 15, 16, 59, 60, LEASE_DURATION_SEC_INFINITE };
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        struct lease lease = { 0 };
        int32_t remaining_sec;
        assert_int_equal(lease_acquire(&lease, &A, durations[i], T0_MS), OK);
        assert_comes_back(&lease);

        struct lease expired = lease;
        lease_settle(&expired, T0_MS + 60000);
        assert_comes_back(&expired);

        struct lease breaking = lease;
        assert_int_equal(lease_break(&breaking, 10, T0_MS, &remaining_sec), OK);
        assert_int_equal(breaking.state, LEASE_BREAKING);
        assert_comes_back(&breaking);

        lease_settle(&breaking, T0_MS + 10000);
        assert_int_equal(breaking.state, LEASE_BROKEN);
        assert_comes_back(&breaking);
    }
}

static void values_out_of_range_are_corrupt(void **state)
{
    (void)state;
    struct lease lease = { 0 };
    const struct slice five = slice_of("\x05");
    const struct slice sixty_three = slice_of("\x3f");
    const struct slice sixty_two = slice_of("\x3e");
    const struct slice over_63_bits = slice_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    assert_int_equal(lease_row_decode(&lease, 0, five), ERR_CORRUPT);
    assert_int_equal(lease_row_decode(&lease, 1, slice_of("fifteen bytes..")), ERR_CORRUPT);
    assert_int_equal(lease_row_decode(&lease, 1, (struct slice){ 0 }), ERR_CORRUPT);
    assert_int_equal(lease_row_decode(&lease, 2, sixty_three), ERR_CORRUPT);
    assert_int_equal(lease_row_decode(&lease, 2, sixty_two), OK);
    assert_int_equal(lease.duration_sec, 60);
    assert_int_equal(lease_row_decode(&lease, 3, over_63_bits), ERR_CORRUPT);
    assert_int_equal(lease_row_decode(&lease, 3, (struct slice){ 0 }), ERR_CORRUPT);
}

static void damaged_fields_give_a_usable_lease_or_corrupt(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    struct lease lease = { 0 };
    assert_int_equal(lease_acquire(&lease, &A, 30, T0_MS), OK);
    const struct slice row = encoded(&lease);
    size_t survived = 0;
    for (int i = 0; i < 100000; i++) {
        size_t len;
        char *damaged = random_damage(&random, row, &len);
        struct lease back;
        const enum err err = decoded(slice_make(damaged, len), &back);
        assert_true(err == OK || err == ERR_CORRUPT);
        if (err == OK) {
            /* These assert what they are given. */
            int32_t remaining_sec;
            lease_settle(&back, T0_MS + 1000);
            (void)!lease_break(&back, LEASE_BREAK_SEC_DEFAULT, T0_MS + 2000, &remaining_sec);
            survived++;
        }
        free(damaged);
    }
    assert_in_range(survived, 1, 99999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_available_lease_takes_no_space),
        cmocka_unit_test(a_lease_in_every_state_comes_back),
        cmocka_unit_test(values_out_of_range_are_corrupt),
        cmocka_unit_test(damaged_fields_give_a_usable_lease_or_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, clear);
}
