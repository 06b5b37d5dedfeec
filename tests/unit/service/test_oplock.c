/*
 * test_oplock.c - what breaks which oplock to what, what is waited for, acknowledgements, time, and
 * what is granted.  The tables are those of "Manage file locks" for REST, and of "Breaking Oplocks"
 * and "Granting Oplocks" of the Windows driver documentation for SMB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "file_rights.h"
#include "service/file/file_operation.h"
#include "service/file/oplock.h"
#include "service/limits.h"

#define T0      INT64_C(637076209290000000)
#define ACK_FOR (LIMIT_OPLOCK_ACK_SEC * CLOCK_TICKS_PER_SEC)

static struct oplock held(enum oplock_kind kind, unsigned state)
{
    const struct oplock_surroundings alone = { 0 };
    struct oplock oplock = { .kind = kind };
    assert_int_equal(oplock_grant(&oplock, state, &alone), state != CACHING_NONE);
    assert_int_equal(oplock.held, state);
    return oplock;
}

/* --- the table of REST --- */

/* What is left: "" is nothing, "-" is not broken; a '!' in front says that the operation waits. */
struct outcome {
    bool broken;
    bool waits;
    unsigned to;
};

static struct outcome outcome_of(const char *text, unsigned before)
{
    if (strcmp(text, "-") == 0)
        return (struct outcome){ false, false, before };
    const bool waits = text[0] == '!';
    return (struct outcome){ true, waits, caching(waits ? text + 1 : text) };
}

static void assert_outcome(const char *name, enum oplock_kind kind, unsigned state,
                           enum oplock_cause cause, const char *text)
{
    const struct outcome expected = outcome_of(text, state);
    struct oplock oplock = held(kind, state);
    struct oplock_notice notice = { 0 };
    const bool told = oplock_break(&oplock, cause, OPLOCK_FOREIGN, T0, &notice);
    if (told != expected.broken || oplock.goal != expected.to ||
        oplock_blocks(&oplock, cause, OPLOCK_FOREIGN) != expected.waits)
        fail_msg("%s, kind %d, holding %u: told %d, to %u", name, (int)kind, state, told,
                 oplock.goal);
    if (!told)
        return;
    assert_int_equal(notice.from, state);
    assert_int_equal(notice.to, expected.to);
    /* Only R is given up without a word. */
    assert_int_equal(notice.must_acknowledge, state != CACHING_R);
    assert_int_equal(oplock_is_breaking(&oplock), state != CACHING_R);
}

static const struct {
    const char *name;
    enum file_operation operation;
    const char *rwh;
    const char *rh;
    const char *rw;
    const char *r;
} REST[] = {
    { "Get File", FILE_OPERATION_GET, "!RH", "-", "!R", "-" },
    { "Get File Properties", FILE_OPERATION_GET_PROPERTIES, "!RH", "-", "!R", "-" },
    { "List Ranges", FILE_OPERATION_LIST_RANGES, "!RH", "-", "!R", "-" },
    { "List Files", FILE_OPERATION_LIST, "-", "-", "-", "-" },
    { "Put Range", FILE_OPERATION_PUT_RANGE, "!", "", "!", "" },
    { "Set File Properties", FILE_OPERATION_SET_PROPERTIES, "!", "", "!", "" },
    { "Set File Metadata", FILE_OPERATION_SET_METADATA, "!", "", "!", "" },
    { "Delete File", FILE_OPERATION_DELETE, "!RW", "!R", "-", "-" },
    /* Not in the documented table. */
    { "Create File", FILE_OPERATION_CREATE, "!", "!", "!", "" },
    { "Copy File, destination", FILE_OPERATION_COPY_TO, "!", "!", "!", "" },
    { "Copy File, source", FILE_OPERATION_COPY_FROM, "!RH", "-", "!R", "-" },
    { "Abort Copy File", FILE_OPERATION_ABORT_COPY, "!", "", "!", "" },
    { "Rename File", FILE_OPERATION_RENAME, "!RW", "!R", "-", "-" },
    { "Rename File, replaced", FILE_OPERATION_REPLACE, "!RW", "!R", "-", "-" },
    { "Lease File, acquire", FILE_OPERATION_ACQUIRE_LEASE, "!RH", "-", "!R", "-" },
    { "Lease File, else", FILE_OPERATION_OTHER_LEASE_ACTION, "-", "-", "-", "-" },
};

static void rest_operations_break_what_the_reference_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(REST) / sizeof(REST[0]); i++) {
        const enum oplock_cause cause = file_operation_rule(REST[i].operation)->breaks;
        assert_outcome(REST[i].name, OPLOCK_LEASE, CACHING_RWH, cause, REST[i].rwh);
        assert_outcome(REST[i].name, OPLOCK_LEASE, CACHING_RH, cause, REST[i].rh);
        assert_outcome(REST[i].name, OPLOCK_LEASE, CACHING_RW, cause, REST[i].rw);
        assert_outcome(REST[i].name, OPLOCK_LEASE, CACHING_R, cause, REST[i].r);
    }
}

/* --- the table of SMB --- */

static const struct {
    const char *name;
    enum oplock_cause cause;
    const char *r;
    const char *rh;
    const char *rw;
    const char *rwh;
    const char *level_ii;
    const char *exclusive;
    const char *batch;
} SMB[] = {
    { "nothing", OPLOCK_BY_NOTHING, "-", "-", "-", "-", "-", "-", "-" },
    { "read", OPLOCK_BY_READ, "-", "-", "!R", "!RH", "-", "!R", "!R" },
    { "write, size, lock", OPLOCK_BY_WRITE, "", "", "!", "!", "", "!", "!" },
    { "open", OPLOCK_BY_OPEN, "-", "-", "!R", "!RH", "-", "!R", "!R" },
    { "overwriting open", OPLOCK_BY_OVERWRITE, "", "", "!", "!", "", "!", "!" },
    { "conflict", OPLOCK_BY_CONFLICT, "-", "!R", "-", "!RW", "-", "-", "!R" },
    { "delete", OPLOCK_BY_DELETE, "-", "!R", "-", "!RW", "-", "-", "!R" },
    { "rename", OPLOCK_BY_RENAME, "-", "!R", "-", "!RW", "-", "-", "!" },
    { "replace", OPLOCK_BY_REPLACE, "", "!", "!", "!", "", "!", "!" },
};

static void smb_operations_break_what_windows_breaks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(SMB) / sizeof(SMB[0]); i++) {
        const enum oplock_cause cause = SMB[i].cause;
        assert_outcome(SMB[i].name, OPLOCK_LEASE, CACHING_R, cause, SMB[i].r);
        assert_outcome(SMB[i].name, OPLOCK_LEASE, CACHING_RH, cause, SMB[i].rh);
        assert_outcome(SMB[i].name, OPLOCK_LEASE, CACHING_RW, cause, SMB[i].rw);
        assert_outcome(SMB[i].name, OPLOCK_LEASE, CACHING_RWH, cause, SMB[i].rwh);
        assert_outcome(SMB[i].name, OPLOCK_LEGACY, CACHING_R, cause, SMB[i].level_ii);
        assert_outcome(SMB[i].name, OPLOCK_LEGACY, CACHING_RW, cause, SMB[i].exclusive);
        assert_outcome(SMB[i].name, OPLOCK_LEGACY, CACHING_RWH, cause, SMB[i].batch);
    }
}

static void ones_own_operations_break_nothing_but_level_ii(void **state)
{
    (void)state;
    static const unsigned states[] = { CACHING_NONE, CACHING_R, CACHING_RH, CACHING_RW,
                                       CACHING_RWH };
    for (enum oplock_cause cause = OPLOCK_BY_NOTHING; cause <= OPLOCK_BY_REPLACE; cause++) {
        for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
            struct oplock_notice notice;
            struct oplock lease = held(OPLOCK_LEASE, states[i]);
            assert_false(oplock_break(&lease, cause, OPLOCK_OWN, T0, &notice));
            assert_false(oplock_blocks(&lease, cause, OPLOCK_OWN));
            if (states[i] == CACHING_RH)
                continue;
            struct oplock legacy = held(OPLOCK_LEGACY, states[i]);
            assert_int_equal(oplock_break(&legacy, cause, OPLOCK_OWN, T0, &notice),
                             cause == OPLOCK_BY_WRITE && states[i] == CACHING_R);
            assert_false(oplock_blocks(&legacy, cause, OPLOCK_OWN));
        }
    }
}

/* --- the state machine --- */

static struct oplock breaking(unsigned from, enum oplock_cause cause)
{
    struct oplock oplock = held(OPLOCK_LEASE, from);
    struct oplock_notice notice;
    assert_true(oplock_break(&oplock, cause, OPLOCK_FOREIGN, T0, &notice));
    assert_true(oplock_is_breaking(&oplock));
    return oplock;
}

static void a_break_ends_with_its_acknowledgement(void **state)
{
    (void)state;
    struct oplock oplock = breaking(CACHING_RWH, OPLOCK_BY_READ);
    struct oplock_notice notice;
    bool again = true;
    assert_int_equal(oplock.held, CACHING_RWH);
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_RH, T0, &again, &notice), OK);
    assert_false(again);
    assert_int_equal(oplock.held, CACHING_RH);
    assert_false(oplock_blocks(&oplock, OPLOCK_BY_READ, OPLOCK_FOREIGN));
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_RH, T0, &again, &notice),
                     ERR_OPLOCK_NOT_BREAKING);
}

static void a_client_may_keep_less_than_it_could_and_never_more(void **state)
{
    (void)state;
    struct oplock oplock = breaking(CACHING_RWH, OPLOCK_BY_READ);
    struct oplock_notice notice;
    bool again = false;
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_RWH, T0, &again, &notice),
                     ERR_OPLOCK_ACK_REFUSED);
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_RW, T0, &again, &notice),
                     ERR_OPLOCK_ACK_REFUSED);
    /* H without R is nothing that can be held. */
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_H, T0, &again, &notice),
                     ERR_OPLOCK_ACK_REFUSED);
    assert_true(oplock_is_breaking(&oplock));
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_R, T0, &again, &notice), OK);
    assert_int_equal(oplock.held, CACHING_R);
}

static void a_second_break_is_told_after_the_first_is_acknowledged(void **state)
{
    (void)state;
    struct oplock oplock = breaking(CACHING_RWH, OPLOCK_BY_READ);
    struct oplock_notice notice = { 0 };
    bool again = false;
    assert_false(oplock_break(&oplock, OPLOCK_BY_WRITE, OPLOCK_FOREIGN, T0 + 1, &notice));
    assert_int_equal(oplock.told, CACHING_RH);
    assert_int_equal(oplock.goal, CACHING_NONE);
    assert_true(oplock_blocks(&oplock, OPLOCK_BY_WRITE, OPLOCK_FOREIGN));

    assert_int_equal(oplock_acknowledge(&oplock, CACHING_RH, T0 + 2, &again, &notice), OK);
    assert_true(again);
    assert_int_equal(notice.from, CACHING_RH);
    assert_int_equal(notice.to, CACHING_NONE);
    assert_true(notice.must_acknowledge);
    assert_int_equal(oplock.ack_by, T0 + 2 + ACK_FOR);
    /* What the writer waited for is written back. */
    assert_false(oplock_blocks(&oplock, OPLOCK_BY_WRITE, OPLOCK_FOREIGN));

    assert_int_equal(oplock_acknowledge(&oplock, CACHING_NONE, T0 + 3, &again, &notice), OK);
    assert_false(again);
    assert_int_equal(oplock.held, CACHING_NONE);
}

static void a_second_break_of_r_alone_needs_no_acknowledgement(void **state)
{
    (void)state;
    struct oplock oplock = breaking(CACHING_RW, OPLOCK_BY_READ);
    struct oplock_notice notice = { 0 };
    bool again = false;
    assert_false(oplock_break(&oplock, OPLOCK_BY_WRITE, OPLOCK_FOREIGN, T0, &notice));
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_R, T0, &again, &notice), OK);
    assert_true(again);
    assert_false(notice.must_acknowledge);
    assert_false(oplock_is_breaking(&oplock));
    assert_int_equal(oplock.held, CACHING_NONE);
}

static void a_client_that_gives_up_everything_is_told_no_more(void **state)
{
    (void)state;
    struct oplock oplock = breaking(CACHING_RWH, OPLOCK_BY_READ);
    struct oplock_notice notice = { 0 };
    bool again = true;
    assert_false(oplock_break(&oplock, OPLOCK_BY_WRITE, OPLOCK_FOREIGN, T0, &notice));
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_NONE, T0, &again, &notice), OK);
    assert_false(again);
}

static void a_silent_client_holds_nothing_when_its_time_is_up(void **state)
{
    (void)state;
    struct oplock oplock = breaking(CACHING_RWH, OPLOCK_BY_READ);
    oplock_settle(&oplock, T0 + ACK_FOR - 1);
    assert_true(oplock_blocks(&oplock, OPLOCK_BY_READ, OPLOCK_FOREIGN));
    oplock_settle(&oplock, T0 + ACK_FOR);
    assert_false(oplock_is_breaking(&oplock));
    assert_int_equal(oplock.held, CACHING_NONE);
    assert_false(oplock_blocks(&oplock, OPLOCK_BY_READ, OPLOCK_FOREIGN));
}

static void what_is_not_broken_does_not_age(void **state)
{
    (void)state;
    struct oplock oplock = held(OPLOCK_LEASE, CACHING_RWH);
    oplock_settle(&oplock, INT64_MAX);
    assert_int_equal(oplock.held, CACHING_RWH);
}

static void every_change_of_state_has_an_epoch_of_its_own(void **state)
{
    (void)state;
    const struct oplock_surroundings alone = { 0 };
    struct oplock oplock = { 0 };
    struct oplock_notice notice = { 0 };
    bool again = false;
    assert_true(oplock_grant(&oplock, CACHING_R, &alone));
    assert_int_equal(oplock.epoch, 1);
    assert_true(oplock_grant(&oplock, CACHING_RWH, &alone));
    assert_int_equal(oplock.epoch, 2);
    assert_false(oplock_grant(&oplock, CACHING_RWH, &alone));
    assert_true(oplock_break(&oplock, OPLOCK_BY_READ, OPLOCK_FOREIGN, T0, &notice));
    assert_int_equal(notice.epoch, 3);
    assert_int_equal(oplock_acknowledge(&oplock, CACHING_RH, T0, &again, &notice), OK);
    assert_true(oplock_break(&oplock, OPLOCK_BY_WRITE, OPLOCK_FOREIGN, T0, &notice));
    assert_int_equal(notice.epoch, 4);
    oplock_settle(&oplock, INT64_MAX);
    assert_int_equal(oplock.epoch, 5);
}

/* --- grants --- */

static const struct oplock_surroundings ALONE = { 0 };
static const struct oplock_surroundings OTHERS = { .other_handles = true };
static const struct oplock_surroundings LEVEL_II = { .other_handles = true,
                                                     .other_level_ii = true };
static const struct oplock_surroundings OTHER_RH = { .other_handles = true,
                                                     .other_handle_lease = true };
static const struct oplock_surroundings LOCKS = { .byte_locks = true };
static const struct oplock_surroundings LOCKS_OTHERS = { .byte_locks = true,
                                                         .other_handles = true };
static const struct oplock_surroundings READ = { .read_under_way = true };
static const struct oplock_surroundings WRITE = { .write_under_way = true };
static const struct oplock_surroundings DIRECTORY = { .directory = true };

static const struct {
    const char *name;
    const struct oplock_surroundings *around;
    const char *lease[4];  /* granted when R, RH, RW, RWH is wanted */
    const char *legacy[3]; /* when level II, exclusive, batch is wanted */
} GRANTS[] = {
    { "alone", &ALONE, { "R", "RH", "RW", "RWH" }, { "R", "RW", "RWH" } },
    { "others", &OTHERS, { "R", "RH", "R", "RH" }, { "R", "R", "R" } },
    { "level II", &LEVEL_II, { "R", "R", "R", "R" }, { "R", "R", "R" } },
    { "other RH", &OTHER_RH, { "R", "RH", "R", "RH" }, { "", "", "" } },
    { "byte-range locks", &LOCKS, { "", "", "RW", "RWH" }, { "", "RW", "RWH" } },
    { "locks and others", &LOCKS_OTHERS, { "", "", "", "" }, { "", "", "" } },
    { "read under way", &READ, { "R", "RH", "R", "RH" }, { "R", "R", "R" } },
    { "write under way", &WRITE, { "", "", "", "" }, { "", "", "" } },
    { "directory", &DIRECTORY, { "", "", "", "" }, { "", "", "" } },
};

static void as_much_is_granted_as_the_surroundings_allow(void **state)
{
    (void)state;
    static const unsigned lease[] = { CACHING_R, CACHING_RH, CACHING_RW, CACHING_RWH };
    static const unsigned legacy[] = { CACHING_R, CACHING_RW, CACHING_RWH };
    for (size_t i = 0; i < sizeof(GRANTS) / sizeof(GRANTS[0]); i++) {
        for (size_t j = 0; j < 4; j++) {
            struct oplock oplock = { .kind = OPLOCK_LEASE };
            (void)oplock_grant(&oplock, lease[j], GRANTS[i].around);
            if (oplock.held != caching(GRANTS[i].lease[j]))
                fail_msg("%s: lease %u gets %u", GRANTS[i].name, lease[j], oplock.held);
        }
        for (size_t j = 0; j < 3; j++) {
            struct oplock oplock = { .kind = OPLOCK_LEGACY };
            (void)oplock_grant(&oplock, legacy[j], GRANTS[i].around);
            if (oplock.held != caching(GRANTS[i].legacy[j]))
                fail_msg("%s: legacy %u gets %u", GRANTS[i].name, legacy[j], oplock.held);
        }
    }
}

static void w_and_h_are_not_granted_without_r(void **state)
{
    (void)state;
    static const unsigned wanted[] = { CACHING_NONE, CACHING_W, CACHING_H, CACHING_W | CACHING_H };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct oplock oplock = { 0 };
        assert_false(oplock_grant(&oplock, wanted[i], &ALONE));
        assert_int_equal(oplock.held, CACHING_NONE);
    }
}

/* What a lease becomes when its key opens the file again: rows hold, columns want. */
static const struct {
    const char *held;
    const char *alone[4];
    const char *others[4];
} UPGRADES[] = {
    { "R", { "R", "RH", "RW", "RWH" }, { "R", "RH", "R", "RH" } },
    { "RH", { "RH", "RH", "RH", "RWH" }, { "RH", "RH", "RH", "RH" } },
    { "RW", { "RW", "RW", "RW", "RWH" }, { NULL } },
    { "RWH", { "RWH", "RWH", "RWH", "RWH" }, { NULL } },
};

static void a_lease_grows_with_its_handles_and_never_shrinks(void **state)
{
    (void)state;
    static const unsigned wanted[] = { CACHING_R, CACHING_RH, CACHING_RW, CACHING_RWH };
    for (size_t i = 0; i < sizeof(UPGRADES) / sizeof(UPGRADES[0]); i++) {
        for (size_t j = 0; j < 4; j++) {
            struct oplock oplock = held(OPLOCK_LEASE, caching(UPGRADES[i].held));
            (void)oplock_grant(&oplock, wanted[j], &ALONE);
            assert_int_equal(oplock.held, caching(UPGRADES[i].alone[j]));
            if (UPGRADES[i].others[j] == NULL)
                continue;
            oplock = held(OPLOCK_LEASE, caching(UPGRADES[i].held));
            (void)oplock_grant(&oplock, wanted[j], &OTHERS);
            assert_int_equal(oplock.held, caching(UPGRADES[i].others[j]));
        }
    }
}

static void a_lease_that_is_being_broken_does_not_grow(void **state)
{
    (void)state;
    struct oplock oplock = breaking(CACHING_RH, OPLOCK_BY_DELETE);
    assert_false(oplock_grant(&oplock, CACHING_RWH, &ALONE));
    assert_int_equal(oplock.held, CACHING_RH);
    assert_int_equal(oplock.told, CACHING_R);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rest_operations_break_what_the_reference_says),
        cmocka_unit_test(smb_operations_break_what_windows_breaks),
        cmocka_unit_test(ones_own_operations_break_nothing_but_level_ii),
        cmocka_unit_test(a_break_ends_with_its_acknowledgement),
        cmocka_unit_test(a_client_may_keep_less_than_it_could_and_never_more),
        cmocka_unit_test(a_second_break_is_told_after_the_first_is_acknowledged),
        cmocka_unit_test(a_second_break_of_r_alone_needs_no_acknowledgement),
        cmocka_unit_test(a_client_that_gives_up_everything_is_told_no_more),
        cmocka_unit_test(a_silent_client_holds_nothing_when_its_time_is_up),
        cmocka_unit_test(what_is_not_broken_does_not_age),
        cmocka_unit_test(every_change_of_state_has_an_epoch_of_its_own),
        cmocka_unit_test(as_much_is_granted_as_the_surroundings_allow),
        cmocka_unit_test(w_and_h_are_not_granted_without_r),
        cmocka_unit_test(a_lease_grows_with_its_handles_and_never_shrinks),
        cmocka_unit_test(a_lease_that_is_being_broken_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
