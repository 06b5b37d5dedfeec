/*
 * test_file_lease.c - every action and use of a file's lease in every state, as the outcome table
 * of Lease File has it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/file/file_lease.h"

static const struct uuid A = { .bytes = { 0xA } };
static const struct uuid B = { .bytes = { 0xB } };
static const struct uuid C = { .bytes = { 0xC } };

enum act {
    WRITE,
    READ,
    ACQUIRE,
    BREAK,
    CHANGE,
    RELEASE,
};

enum {
    AVAILABLE,
    LEASED,
    BROKEN,
    STATE_COUNT,
};

static const enum lease_state STATES[STATE_COUNT] = {
    [AVAILABLE] = LEASE_AVAILABLE,
    [LEASED] = LEASE_LEASED,
    [BROKEN] = LEASE_BROKEN,
};

/* In each state: the outcome, and where it leaves the lease; its id, if it has one, unless A. */
struct cell {
    enum err err;
    int after;
    const struct uuid *id;
};

struct row {
    const char *name;
    enum act act;
    const struct uuid *id;
    const struct uuid *proposed;
    struct cell cells[STATE_COUNT];
};

/* Refusals leave everything as it was. */
#define NO_LEASE ERR_LEASE_NOT_PRESENT_FILE
#define WRONG    ERR_LEASE_ID_MISMATCH_FILE
#define MISSING  ERR_LEASE_ID_MISSING
#define PRESENT  ERR_LEASE_ALREADY_PRESENT
#define NOTHING  ERR_LEASE_ACTION_NOT_PRESENT
#define OTHER    ERR_LEASE_ACTION_ID_MISMATCH
#define STAYS(e)                                                                                   \
    {                                                                                              \
        (e), -1, NULL                                                                              \
    }

/* clang-format off */
static const struct row TABLE[] = {
    { "write with A", WRITE, &A, NULL,
      { STAYS(NO_LEASE), STAYS(OK), STAYS(NO_LEASE) } },
    { "write with B", WRITE, &B, NULL,
      { STAYS(NO_LEASE), STAYS(WRONG), STAYS(NO_LEASE) } },
    { "write without", WRITE, NULL, NULL,
      { STAYS(OK), STAYS(MISSING), { OK, AVAILABLE, NULL } } },
    { "read with A", READ, &A, NULL,
      { STAYS(NO_LEASE), STAYS(OK), STAYS(NO_LEASE) } },
    { "read with B", READ, &B, NULL,
      { STAYS(NO_LEASE), STAYS(WRONG), STAYS(NO_LEASE) } },
    { "read without", READ, NULL, NULL,
      { STAYS(OK), STAYS(OK), STAYS(OK) } },
    /* Without an id the caller makes one: it is an acquire of C. */
    { "acquire without", ACQUIRE, &C, NULL,
      { { OK, LEASED, &C }, STAYS(PRESENT), { OK, LEASED, &C } } },
    { "acquire A", ACQUIRE, &A, NULL,
      { { OK, LEASED, &A }, { OK, LEASED, &A }, { OK, LEASED, &A } } },
    { "acquire B", ACQUIRE, &B, NULL,
      { { OK, LEASED, &B }, STAYS(PRESENT), { OK, LEASED, &B } } },
    { "break", BREAK, NULL, NULL,
      { STAYS(NOTHING), { OK, BROKEN, &A }, { OK, BROKEN, &A } } },
    { "change A to B", CHANGE, &A, &B,
      { STAYS(NOTHING), { OK, LEASED, &B }, STAYS(NOTHING) } },
    { "change B to A", CHANGE, &B, &A,
      { STAYS(NOTHING), { OK, LEASED, &A }, STAYS(NOTHING) } },
    { "change B to C", CHANGE, &B, &C,
      { STAYS(NOTHING), STAYS(OTHER), STAYS(NOTHING) } },
    { "release A", RELEASE, &A, NULL,
      { STAYS(OTHER), { OK, AVAILABLE, NULL }, { OK, AVAILABLE, NULL } } },
    { "release B", RELEASE, &B, NULL,
      { STAYS(OTHER), STAYS(OTHER), STAYS(OTHER) } },
};
/* clang-format on */

static struct lease lease_in(int state)
{
    struct lease lease = { 0 };
    if (state != AVAILABLE)
        assert_int_equal(file_lease_acquire(&lease, &A), OK);
    if (state == BROKEN)
        assert_int_equal(file_lease_break(&lease), OK);
    assert_int_equal(lease.state, STATES[state]);
    return lease;
}

static enum err act(struct lease *lease, const struct row *row)
{
    switch (row->act) {
    case WRITE:
        return file_lease_write(lease, row->id);
    case READ:
        return file_lease_check_read(lease, row->id);
    case ACQUIRE:
        return file_lease_acquire(lease, row->id);
    case BREAK:
        return file_lease_break(lease);
    case CHANGE:
        return file_lease_change(lease, row->id, row->proposed);
    case RELEASE:
        return file_lease_release(lease, row->id);
    }
    return ERR_CORRUPT;
}

static void every_act_in_every_state_has_the_documented_outcome(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++) {
        for (int before = 0; before < STATE_COUNT; before++) {
            const struct cell *cell = &TABLE[i].cells[before];
            const int after = cell->after < 0 ? before : cell->after;
            struct lease lease = lease_in(before);
            const enum err err = act(&lease, &TABLE[i]);
            if (err != cell->err || lease.state != STATES[after])
                fail_msg("%s in state %d: %s, state %d", TABLE[i].name, before, error_name(err),
                         (int)lease.state);
            assert_true(file_lease_is_valid(&lease));
            if (lease.state != LEASE_AVAILABLE)
                assert_true(uuid_equal(&lease.id, cell->id != NULL ? cell->id : &A));
        }
    }
}

static void a_file_lease_is_infinite_and_never_breaking(void **state)
{
    (void)state;
    struct lease lease = { 0 };
    int32_t remaining_sec = 0;
    assert_true(file_lease_is_valid(&lease));
    assert_int_equal(lease_acquire(&lease, &A, 15, 0), OK);
    assert_false(file_lease_is_valid(&lease));
    assert_int_equal(lease_break(&lease, 5, 0, &remaining_sec), OK);
    assert_false(file_lease_is_valid(&lease));
    assert_false(file_lease_is_valid(&(struct lease){ .state = LEASE_LEASED }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_act_in_every_state_has_the_documented_outcome),
        cmocka_unit_test(a_file_lease_is_infinite_and_never_breaking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
