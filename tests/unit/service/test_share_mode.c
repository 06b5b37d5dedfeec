/*
 * test_share_mode.c - opens against opens: the rule, the three examples of "Manage file locks", and
 * an active REST lease against SMB opens as that page has it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "file_rights.h"
#include "service/file/share_mode.h"

static void examples_of_the_reference_are_decided_as_there(void **state)
{
    (void)state;
    /* A reads and shares writing, B writes and shares reading: nobody is in the way. */
    assert_false(share_modes_conflict(mode("R", "W"), mode("W", "R")));
    /* B wants what A does not share. */
    assert_true(share_modes_conflict(mode("W", "R"), mode("W", "W")));
    /* B does not share what A does. */
    assert_true(share_modes_conflict(mode("W", "W"), mode("W", "R")));
}

/* Right by right, as a file system counts them. */
static bool conflict_by_counting(struct share_mode a, struct share_mode b)
{
    if (a.access == 0 || b.access == 0)
        return false;
    for (unsigned right = 1; right <= FILE_ACCESS_DELETE; right <<= 1) {
        if ((a.access & right) != 0 && (b.share & right) == 0)
            return true;
        if ((b.access & right) != 0 && (a.share & right) == 0)
            return true;
    }
    return false;
}

static void every_pair_of_opens_is_decided_by_the_rule_both_ways(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 1u << 12; bits++) {
        const struct share_mode a = { bits & 7, bits >> 3 & 7 };
        const struct share_mode b = { bits >> 6 & 7, bits >> 9 & 7 };
        assert_int_equal(share_modes_conflict(a, b), conflict_by_counting(a, b));
        assert_int_equal(share_modes_conflict(a, b), share_modes_conflict(b, a));
    }
}

static void attribute_access_is_in_nobodys_way(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 1u << 9; bits++) {
        const struct share_mode attributes = { FILE_ACCESS_NONE, bits & 7 };
        const struct share_mode other = { bits >> 3 & 7, bits >> 6 & 7 };
        assert_false(share_modes_conflict(attributes, other));
    }
}

/* "While leased": which SMB opens fail. */
static const struct {
    const char *access;
    const char *share;
    bool fails;
} WHILE_LEASED[] = {
    { "", "RWD", false },
    { "R", "RWD", false },
    { "W", "RWD", true },
    { "D", "RWD", true },
    { "RW", "RWD", true },
    { "RD", "RWD", true },
    { "WD", "RWD", true },
    { "RWD", "RWD", true },
    /* A reader that does not let the holder of the lease write or delete. */
    { "R", "", true },
    { "R", "R", true },
    { "R", "RW", true },
    { "R", "RD", true },
    { "R", "WD", false },
};

static void a_lease_is_an_open_that_shares_reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(WHILE_LEASED) / sizeof(WHILE_LEASED[0]); i++)
        assert_int_equal(share_modes_conflict(SHARE_MODE_OF_LEASE,
                                              mode(WHILE_LEASED[i].access, WHILE_LEASED[i].share)),
                         WHILE_LEASED[i].fails);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_reference_are_decided_as_there),
        cmocka_unit_test(every_pair_of_opens_is_decided_by_the_rule_both_ways),
        cmocka_unit_test(attribute_access_is_in_nobodys_way),
        cmocka_unit_test(a_lease_is_an_open_that_shares_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
