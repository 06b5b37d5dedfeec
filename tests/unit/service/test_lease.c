/*
 * test_lease.c - every action in every state of a lease, as the outcome tables of Lease Blob and
 * Lease Container have it, and the arithmetic of breaking, to the millisecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/lease.h"

#define T0_MS INT64_C(63707620929000)

/* A holds the lease, if anybody does. */
static const struct uuid A = { .bytes = { 0xA } };
static const struct uuid B = { .bytes = { 0xB } };
static const struct uuid C = { .bytes = { 0xC } };

enum {
    STATE_COUNT = LEASE_BROKEN + 1,
};

static struct lease leased_by_a(int32_t duration_sec)
{
    struct lease lease = { 0 };
    assert_int_equal(lease_acquire(&lease, &A, duration_sec, T0_MS), OK);
    return lease;
}

/*
 * A lease of A that is in `state` at T0_MS + 20000.  What time alone does is left undone in it,
 * as in a stored row.
 */
#define NOW_MS (T0_MS + 20000)

static struct lease lease_in(enum lease_state state)
{
    struct lease lease = leased_by_a(state == LEASE_EXPIRED ? 15 : 60);
    int32_t remaining_sec = 0;
    switch (state) {
    case LEASE_AVAILABLE:
        assert_int_equal(lease_release(&lease, &A, T0_MS), OK);
        break;
    case LEASE_LEASED:
    case LEASE_EXPIRED:
        break;
    case LEASE_BREAKING:
        assert_int_equal(lease_break(&lease, 30, T0_MS, &remaining_sec), OK);
        break;
    case LEASE_BROKEN:
        assert_int_equal(lease_break(&lease, 5, T0_MS, &remaining_sec), OK);
        break;
    }
    return lease;
}

/* --- the table of actions --- */

enum action {
    ACQUIRE,
    RENEW,
    CHANGE,
    RELEASE,
    BREAK,
};

struct row {
    const char *name;
    enum action action;
    const struct uuid *id;       /* proposed id for ACQUIRE, NULL for BREAK */
    const struct uuid *proposed; /* for CHANGE */
    enum err outcome[STATE_COUNT];
    const struct uuid *id_after; /* where the outcome is OK; NULL when available */
    enum lease_state state_after;
};

/* Short names, so that the table can be read as one. */
#define PRESENT    ERR_LEASE_ALREADY_PRESENT
#define NO_ACQUIRE ERR_LEASE_BREAKING_NO_ACQUIRE
#define NO_CHANGE  ERR_LEASE_BREAKING_NO_CHANGE
#define NO_RENEW   ERR_LEASE_BROKEN_NO_RENEW
#define MISMATCH   ERR_LEASE_ACTION_ID_MISMATCH
#define NONE       ERR_LEASE_ACTION_NOT_PRESENT

/* An acquire without an id comes here with a new one, so it is the row "acquire B". */
static const struct row ACTIONS[] = {
    /*                            available  leased    expired   breaking    broken          */
    { "acquire A", ACQUIRE, &A, NULL, { OK, OK, OK, NO_ACQUIRE, OK }, &A, LEASE_LEASED },
    { "acquire B", ACQUIRE, &B, NULL, { OK, PRESENT, OK, PRESENT, OK }, &B, LEASE_LEASED },
    { "renew A", RENEW, &A, NULL, { MISMATCH, OK, OK, NO_RENEW, NO_RENEW }, &A, LEASE_LEASED },
    { "renew B",
      RENEW,
      &B,
      NULL,
      { MISMATCH, MISMATCH, MISMATCH, MISMATCH, MISMATCH },
      NULL,
      LEASE_AVAILABLE },
    { "change A to B", CHANGE, &A, &B, { NONE, OK, NONE, NO_CHANGE, NONE }, &B, LEASE_LEASED },
    { "change A to A", CHANGE, &A, &A, { NONE, OK, NONE, NO_CHANGE, NONE }, &A, LEASE_LEASED },
    { "change B to A", CHANGE, &B, &A, { NONE, OK, NONE, MISMATCH, NONE }, &A, LEASE_LEASED },
    { "change B to C",
      CHANGE,
      &B,
      &C,
      { NONE, MISMATCH, NONE, MISMATCH, NONE },
      NULL,
      LEASE_AVAILABLE },
    { "release A", RELEASE, &A, NULL, { MISMATCH, OK, OK, OK, OK }, NULL, LEASE_AVAILABLE },
    { "release B",
      RELEASE,
      &B,
      NULL,
      { MISMATCH, MISMATCH, MISMATCH, MISMATCH, MISMATCH },
      NULL,
      LEASE_AVAILABLE },
    { "break at once", BREAK, NULL, NULL, { NONE, OK, OK, OK, OK }, &A, LEASE_BROKEN },
};

static enum err act(const struct row *row, struct lease *lease)
{
    int32_t remaining_sec = -1;
    switch (row->action) {
    case ACQUIRE:
        return lease_acquire(lease, row->id, 15, NOW_MS);
    case RENEW:
        return lease_renew(lease, row->id, NOW_MS);
    case CHANGE:
        return lease_change(lease, row->id, row->proposed, NOW_MS);
    case RELEASE:
        return lease_release(lease, row->id, NOW_MS);
    case BREAK:
        return lease_break(lease, 0, NOW_MS, &remaining_sec);
    }
    return ERR_MALFORMED;
}

static void assert_same_lease(const struct lease *got, const struct lease *expected)
{
    assert_int_equal(got->state, expected->state);
    assert_true(uuid_equal(&got->id, &expected->id));
    assert_int_equal(got->duration_sec, expected->duration_sec);
    assert_true(got->ends_at_ms == expected->ends_at_ms);
}

static void check_cell(const struct row *row, enum lease_state state)
{
    struct lease settled = lease_in(state);
    lease_settle(&settled, NOW_MS);
    assert_int_equal(settled.state, state);

    struct lease lease = lease_in(state);
    const enum err err = act(row, &lease);
    if (err != row->outcome[state])
        fail_msg("%s in state %d: %s instead of %s", row->name, (int)state, error_name(err),
                 error_name(row->outcome[state]));
    assert_true(lease_is_valid(&lease));
    if (err != OK) {
        assert_same_lease(&lease, &settled);
        return;
    }
    assert_int_equal(lease.state, row->state_after);
    if (row->id_after != NULL)
        assert_true(uuid_equal(&lease.id, row->id_after));
}

static void every_action_in_every_state_has_the_documented_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ACTIONS) / sizeof(ACTIONS[0]); i++) {
        for (enum lease_state in = LEASE_AVAILABLE; in <= LEASE_BROKEN; in++)
            check_cell(&ACTIONS[i], in);
    }
}

/* --- the table of uses --- */

struct use {
    const struct uuid *id; /* NULL: the request names no lease */
    bool write;
    enum err outcome[STATE_COUNT]; /* for a blob */
};

#define MISSING  ERR_LEASE_ID_MISSING
#define WRONG    ERR_LEASE_ID_MISMATCH_BLOB
#define NOT_HERE ERR_LEASE_NOT_PRESENT_BLOB
#define LOST     ERR_LEASE_LOST

static const struct use USES[] = {
    /*            available  leased   expired   breaking  broken */
    { &A, true, { NOT_HERE, OK, LOST, OK, LOST } },
    { &A, false, { NOT_HERE, OK, LOST, OK, LOST } },
    { &B, true, { NOT_HERE, WRONG, NOT_HERE, WRONG, NOT_HERE } },
    { &B, false, { NOT_HERE, WRONG, NOT_HERE, WRONG, NOT_HERE } },
    { NULL, true, { OK, MISSING, OK, MISSING, OK } },
    { NULL, false, { OK, OK, OK, OK, OK } },
};

static enum err for_container(enum err err)
{
    if (err == WRONG)
        return ERR_LEASE_ID_MISMATCH_CONTAINER;
    return err == NOT_HERE ? ERR_LEASE_NOT_PRESENT_CONTAINER : err;
}

static void every_use_in_every_state_has_the_documented_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(USES) / sizeof(USES[0]); i++) {
        const struct use *use = &USES[i];
        for (enum lease_state in = LEASE_AVAILABLE; in <= LEASE_BROKEN; in++) {
            for (int of = LEASE_OF_BLOB; of <= LEASE_OF_CONTAINER; of++) {
                const enum lease_resource resource = of == 0 ? LEASE_OF_BLOB : LEASE_OF_CONTAINER;
                const enum err blob = use->outcome[in];
                struct lease lease = lease_in(in);
                const enum err err = use->write
                                         ? lease_check_write(&lease, resource, use->id, NOW_MS)
                                         : lease_check_read(&lease, resource, use->id, NOW_MS);
                assert_int_equal(err, of == LEASE_OF_BLOB ? blob : for_container(blob));
                assert_int_equal(lease.state, in);
            }
        }
    }
}

static void a_write_forgets_an_expired_or_broken_lease_only(void **state)
{
    (void)state;
    for (enum lease_state in = LEASE_AVAILABLE; in <= LEASE_BROKEN; in++) {
        struct lease settled = lease_in(in);
        lease_settle(&settled, NOW_MS);
        struct lease lease = lease_in(in);
        lease_forget(&lease, NOW_MS);
        const struct lease nothing = { 0 };
        const bool gone = in == LEASE_EXPIRED || in == LEASE_BROKEN;
        assert_same_lease(&lease, gone ? &nothing : &settled);
    }
    struct lease lease = lease_in(LEASE_EXPIRED);
    lease_forget(&lease, NOW_MS);
    assert_int_equal(lease_renew(&lease, &A, NOW_MS), ERR_LEASE_ACTION_ID_MISMATCH);
}

/* --- time --- */

static void a_lease_ends_at_the_millisecond(void **state)
{
    (void)state;
    struct lease lease = leased_by_a(15);
    assert_int_equal(lease_acquire(&lease, &B, 15, T0_MS + 14999), ERR_LEASE_ALREADY_PRESENT);
    assert_int_equal(lease.state, LEASE_LEASED);
    assert_true(uuid_equal(&lease.id, &A));
    assert_int_equal(lease_acquire(&lease, &B, 15, T0_MS + 15000), OK);
    assert_true(uuid_equal(&lease.id, &B));
}

static void a_break_ends_at_the_millisecond(void **state)
{
    (void)state;
    struct lease lease = leased_by_a(60);
    int32_t remaining_sec = 0;
    assert_int_equal(lease_break(&lease, 10, T0_MS, &remaining_sec), OK);
    lease_settle(&lease, T0_MS + 9999);
    assert_int_equal(lease.state, LEASE_BREAKING);
    lease_settle(&lease, T0_MS + 10000);
    assert_int_equal(lease.state, LEASE_BROKEN);
    assert_true(uuid_equal(&lease.id, &A));
}

static void settling_twice_is_settling_once(void **state)
{
    (void)state;
    for (enum lease_state in = LEASE_AVAILABLE; in <= LEASE_BROKEN; in++) {
        struct lease once = lease_in(in);
        lease_settle(&once, NOW_MS);
        struct lease twice = once;
        lease_settle(&twice, NOW_MS);
        assert_same_lease(&twice, &once);
    }
}

static void an_infinite_lease_never_ends_by_itself(void **state)
{
    (void)state;
    struct lease lease = leased_by_a(LEASE_DURATION_SEC_INFINITE);
    lease_settle(&lease, INT64_MAX - 1);
    assert_int_equal(lease.state, LEASE_LEASED);
}

static void acquiring_again_takes_the_new_duration_and_restarts_the_clock(void **state)
{
    (void)state;
    struct lease lease = leased_by_a(15);
    assert_int_equal(lease_acquire(&lease, &A, 60, T0_MS + 10000), OK);
    assert_int_equal(lease.duration_sec, 60);
    assert_true(lease.ends_at_ms == T0_MS + 70000);
    assert_int_equal(lease_acquire(&lease, &A, LEASE_DURATION_SEC_INFINITE, T0_MS + 10000), OK);
    assert_true(lease.ends_at_ms == INT64_MAX);
}

static void renewing_restarts_the_clock_with_the_duration_acquired(void **state)
{
    (void)state;
    struct lease lease = leased_by_a(20);
    assert_int_equal(lease_renew(&lease, &A, T0_MS + 10000), OK);
    assert_true(lease.ends_at_ms == T0_MS + 30000);
    /* Also when it has expired in the meantime. */
    assert_int_equal(lease_renew(&lease, &A, T0_MS + 50000), OK);
    assert_true(lease.ends_at_ms == T0_MS + 70000);
    assert_int_equal(lease.duration_sec, 20);
}

static void changing_the_id_lets_the_time_run_on(void **state)
{
    (void)state;
    struct lease lease = leased_by_a(20);
    assert_int_equal(lease_change(&lease, &A, &B, T0_MS + 10000), OK);
    assert_true(lease.ends_at_ms == T0_MS + 20000);
    assert_int_equal(lease.duration_sec, 20);
    /* The old id is an ordinary stranger now. */
    assert_int_equal(lease_renew(&lease, &A, T0_MS + 10000), ERR_LEASE_ACTION_ID_MISMATCH);
    /* The same change again, as a client repeats it when the answer got lost. */
    assert_int_equal(lease_change(&lease, &A, &B, T0_MS + 10000), OK);
}

static void durations_are_fifteen_to_sixty_seconds_or_infinite(void **state)
{
    (void)state;
    static const struct {
        int32_t duration_sec;
        enum err outcome;
    } cases[] = {
        { INT32_MIN, ERR_OUT_OF_RANGE },
        { -2, ERR_OUT_OF_RANGE },
        { -1, OK },
        { 0, ERR_OUT_OF_RANGE },
        { 14, ERR_OUT_OF_RANGE },
        { 15, OK },
        { 60, OK },
        { 61, ERR_OUT_OF_RANGE },
        { INT32_MAX, ERR_OUT_OF_RANGE },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lease lease = { 0 };
        assert_int_equal(lease_acquire(&lease, &A, cases[i].duration_sec, T0_MS), cases[i].outcome);
        assert_int_equal(lease.state, cases[i].outcome == OK ? LEASE_LEASED : LEASE_AVAILABLE);
    }
}

/* --- breaking --- */

static void the_break_of_a_lease_follows_the_arithmetic(void **state)
{
    (void)state;
    static const struct {
        int32_t duration_sec;
        int32_t period_sec;
        int64_t after_ms; /* the break comes so long after the acquire */
        int32_t remaining_sec;
        int64_t ends_after_ms; /* 0: broken at once */
    } cases[] = {
        /* No period: a finite lease runs out, an infinite one ends at once. */
        { 60, LEASE_BREAK_SEC_DEFAULT, 0, 60, 60000 },
        { 60, LEASE_BREAK_SEC_DEFAULT, 59999, 1, 60000 },
        { -1, LEASE_BREAK_SEC_DEFAULT, 0, 0, 0 },
        /* A period: never beyond the end of the lease. */
        { 60, 0, 0, 0, 0 },
        { 60, 1, 0, 1, 1000 },
        { 60, 60, 0, 60, 60000 },
        { 60, 60, 1, 60, 60000 },
        { 60, 60, 30000, 30, 60000 },
        { 15, 30, 0, 15, 15000 },
        { -1, 0, 0, 0, 0 },
        { -1, 60, 7, 60, 60007 },
        /* The remaining seconds are rounded up. */
        { 15, LEASE_BREAK_SEC_DEFAULT, 1, 15, 15000 },
        { 15, LEASE_BREAK_SEC_DEFAULT, 999, 15, 15000 },
        { 15, LEASE_BREAK_SEC_DEFAULT, 1000, 14, 15000 },
        { 15, LEASE_BREAK_SEC_DEFAULT, 1001, 14, 15000 },
        { 15, 10, 5001, 10, 15000 },
        { 15, 10, 4999, 10, 14999 },
        /* An expired lease is broken with nothing left. */
        { 15, LEASE_BREAK_SEC_DEFAULT, 15000, 0, 0 },
        { 15, 60, 15000, 0, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lease lease = leased_by_a(cases[i].duration_sec);
        int32_t remaining_sec = -1;
        assert_int_equal(
            lease_break(&lease, cases[i].period_sec, T0_MS + cases[i].after_ms, &remaining_sec),
            OK);
        assert_int_equal(remaining_sec, cases[i].remaining_sec);
        const bool at_once = cases[i].ends_after_ms == 0;
        assert_int_equal(lease.state, at_once ? LEASE_BROKEN : LEASE_BREAKING);
        assert_true(lease.ends_at_ms == (at_once ? 0 : T0_MS + cases[i].ends_after_ms));
        assert_true(uuid_equal(&lease.id, &A));
    }
}

static void breaking_again_only_shortens(void **state)
{
    (void)state;
    static const struct {
        int32_t period_sec;
        int32_t remaining_sec;
    } cases[] = {
        { LEASE_BREAK_SEC_DEFAULT, 20 },
        { 60, 20 },
        { 21, 20 },
        { 20, 20 },
        { 19, 19 },
        { 1, 1 },
        { 0, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lease lease = leased_by_a(LEASE_DURATION_SEC_INFINITE);
        int32_t remaining_sec = -1;
        assert_int_equal(lease_break(&lease, 30, T0_MS, &remaining_sec), OK);
        assert_int_equal(remaining_sec, 30);
        assert_int_equal(lease_break(&lease, cases[i].period_sec, T0_MS + 10000, &remaining_sec),
                         OK);
        assert_int_equal(remaining_sec, cases[i].remaining_sec);
        assert_int_equal(lease.state, remaining_sec == 0 ? LEASE_BROKEN : LEASE_BREAKING);
    }
}

static void breaking_a_broken_lease_leaves_it_broken(void **state)
{
    (void)state;
    struct lease lease = lease_in(LEASE_BROKEN);
    int32_t remaining_sec = -1;
    assert_int_equal(lease_break(&lease, 60, NOW_MS, &remaining_sec), OK);
    assert_int_equal(remaining_sec, 0);
    assert_int_equal(lease.state, LEASE_BROKEN);
    assert_true(uuid_equal(&lease.id, &A));
}

static void break_periods_are_zero_to_sixty_seconds(void **state)
{
    (void)state;
    static const int32_t refused[] = { INT32_MIN, -2, 61, INT32_MAX };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct lease lease = leased_by_a(60);
        int32_t remaining_sec = -7;
        assert_int_equal(lease_break(&lease, refused[i], T0_MS, &remaining_sec), ERR_OUT_OF_RANGE);
        assert_int_equal(lease.state, LEASE_LEASED);
        assert_int_equal(remaining_sec, -7);
    }
}

/* --- stored leases --- */

static void facts_that_do_not_fit_together_are_not_valid(void **state)
{
    (void)state;
    const struct lease good = leased_by_a(15);
    for (enum lease_state in = LEASE_AVAILABLE; in <= LEASE_BROKEN; in++) {
        struct lease lease = lease_in(in);
        lease_settle(&lease, NOW_MS);
        assert_true(lease_is_valid(&lease));
        /* No state's facts fit another state. */
        for (enum lease_state other = LEASE_AVAILABLE; other <= LEASE_BROKEN; other++) {
            lease.state = other;
            assert_int_equal(lease_is_valid(&lease), other == in);
        }
    }
    struct lease lease = good;
    lease.id = (struct uuid){ 0 };
    assert_false(lease_is_valid(&lease));
    lease = good;
    lease.duration_sec = 14;
    assert_false(lease_is_valid(&lease));
    lease = good;
    lease.duration_sec = LEASE_DURATION_SEC_INFINITE;
    assert_false(lease_is_valid(&lease));
    lease = good;
    lease.ends_at_ms = INT64_MAX;
    assert_false(lease_is_valid(&lease));
    lease = good;
    lease.ends_at_ms = -1;
    assert_false(lease_is_valid(&lease));
    lease = good;
    const int unknown = LEASE_BROKEN + 1;
    memcpy(&lease.state, &unknown, sizeof(lease.state));
    assert_false(lease_is_valid(&lease));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_action_in_every_state_has_the_documented_outcome),
        cmocka_unit_test(every_use_in_every_state_has_the_documented_outcome),
        cmocka_unit_test(a_write_forgets_an_expired_or_broken_lease_only),
        cmocka_unit_test(a_lease_ends_at_the_millisecond),
        cmocka_unit_test(a_break_ends_at_the_millisecond),
        cmocka_unit_test(settling_twice_is_settling_once),
        cmocka_unit_test(an_infinite_lease_never_ends_by_itself),
        cmocka_unit_test(acquiring_again_takes_the_new_duration_and_restarts_the_clock),
        cmocka_unit_test(renewing_restarts_the_clock_with_the_duration_acquired),
        cmocka_unit_test(changing_the_id_lets_the_time_run_on),
        cmocka_unit_test(durations_are_fifteen_to_sixty_seconds_or_infinite),
        cmocka_unit_test(the_break_of_a_lease_follows_the_arithmetic),
        cmocka_unit_test(breaking_again_only_shortens),
        cmocka_unit_test(breaking_a_broken_lease_leaves_it_broken),
        cmocka_unit_test(break_periods_are_zero_to_sixty_seconds),
        cmocka_unit_test(facts_that_do_not_fit_together_are_not_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
