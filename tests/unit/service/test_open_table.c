/*
 * test_open_table.c - the table of opens, on one thread: SMB clients against each other and against
 * REST.  The tables of "Manage file locks" are here once more, this time acted out; then deletion,
 * locks, waiting in all its forms, handles as REST sees them, and limits.
 */
#include "open_table_fixture.h"

/* --- share modes --- */

static const char *const SETS[8] = { "", "R", "W", "RW", "D", "RD", "WD", "RWD" };

static void smb_opens_share_as_their_modes_say(void **state)
{
    struct stage *stage = *state;
    for (unsigned bits = 0; bits < 1u << 12; bits++) {
        const struct open_spec one = { .who = ANNA,
                                       .access = SETS[bits & 7],
                                       .share = SETS[bits >> 3 & 7] };
        const struct open_spec two = { .who = BERT,
                                       .access = SETS[bits >> 6 & 7],
                                       .share = SETS[bits >> 9 & 7] };
        const bool conflict =
            share_modes_conflict(mode(one.access, one.share), mode(two.access, two.share));
        const uint64_t handle = must_open(stage, one);
        const struct act *second = try_open(stage, two);
        assert_answer(second, conflict ? ERR_SHARING_VIOLATION : OK);
        if (!conflict)
            (void)must_close(stage, second->of.open.handle_id);
        (void)must_close(stage, handle);
        arena_clear(&stage->arena);
    }
}

/* By share mode of the open handle, the operations that fail, in the order of OPERATIONS. */
static const enum file_operation OPERATIONS[] = {
    FILE_OPERATION_LIST,          FILE_OPERATION_CREATE,         FILE_OPERATION_GET,
    FILE_OPERATION_LIST_RANGES,   FILE_OPERATION_GET_PROPERTIES, FILE_OPERATION_SET_PROPERTIES,
    FILE_OPERATION_SET_METADATA,  FILE_OPERATION_PUT_RANGE,      FILE_OPERATION_DELETE,
    FILE_OPERATION_ACQUIRE_LEASE,
};

static const struct {
    const char *share;
    const char *fails; /* x for each that does */
} SHARING[] = {
    /*        L C G R P S M W D A */
    { "", ".xxx.xxxxx" },   { "R", ".x...xxxxx" },  { "W", ".xxx....xx" },  { "D", ".xxx.xxxxx" },
    { "RW", ".x......xx" }, { "RD", ".x...xxxxx" }, { "WD", "..xx....xx" }, { "RWD", "........x." },
};

static void rest_operations_fail_by_the_share_mode_of_a_handle(void **state)
{
    struct stage *stage = *state;
    for (size_t i = 0; i < sizeof(SHARING) / sizeof(SHARING[0]); i++) {
        const uint64_t handle =
            must_open(stage, (struct open_spec){ .access = "R", .share = SHARING[i].share });
        for (size_t j = 0; j < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); j++)
            assert_rest(stage, OPERATIONS[j], 0,
                        SHARING[i].fails[j] == 'x' ? ERR_SHARING_VIOLATION : OK);
        (void)must_close(stage, handle);
        for (size_t j = 0; j < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); j++)
            assert_rest(stage, OPERATIONS[j], 0, OK);
    }
}

static void a_lease_is_acquired_beside_readers_only(void **state)
{
    struct stage *stage = *state;
    for (size_t i = 0; i < 8; i++) {
        const uint64_t handle =
            must_open(stage, (struct open_spec){ .access = SETS[i], .share = "RWD" });
        const bool writes = (rights(SETS[i]) & (FILE_ACCESS_WRITE | FILE_ACCESS_DELETE)) != 0;
        assert_rest(stage, FILE_OPERATION_ACQUIRE_LEASE, 0, writes ? ERR_SHARING_VIOLATION : OK);
        (void)must_close(stage, handle);
    }
}

static void one_of_many_handles_is_enough_to_refuse(void **state)
{
    struct stage *stage = *state;
    for (size_t i = 0; i < 20; i++)
        (void)must_open(stage, (struct open_spec){ .access = "R", .share = "RWD" });
    const uint64_t deaf = must_open(stage, (struct open_spec){ .access = "R", .share = "R" });
    assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, ERR_SHARING_VIOLATION);
    (void)must_close(stage, deaf);
    assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, OK);
}

static void attribute_access_stops_deletion_only(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = NULL });
    for (size_t j = 0; j < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); j++)
        assert_rest(stage, OPERATIONS[j], 0,
                    OPERATIONS[j] == FILE_OPERATION_DELETE ? ERR_SHARING_VIOLATION : OK);
    (void)must_open(stage, (struct open_spec){ .who = BERT, .access = "RWD" });
}

static void files_are_told_apart_by_share_snapshot_and_id(void **state)
{
    static const struct file_key others[] = {
        { .share = SHARE, .file_id = FILE_ID + 1 },
        { .share = SHARE + 1, .file_id = FILE_ID },
        { .share = SHARE, .file_id = FILE_ID, .snapshot = 7 },
    };
    struct stage *stage = *state;
    const struct file_key key = file_number(0);
    (void)must_open(stage, (struct open_spec){ .access = "RWD" });
    assert_int_equal(file_key_compare(&key, &key), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct act *act = act_new(stage);
        act->of.operation.operation = FILE_OPERATION_PUT_RANGE;
        act->of.operation.key = others[i];
        open_table_begin(stage->table, &act->of.operation);
        end(stage, act);
        assert_true(file_key_compare(&key, &others[i]) < 0);
        assert_true(file_key_compare(&others[i], &key) > 0);
    }
}

static void rest_operations_never_exclude_each_other(void **state)
{
    struct stage *stage = *state;
    struct act *acts[FILE_OPERATION_SMB_READ];
    for (enum file_operation i = 0; i < FILE_OPERATION_SMB_READ; i++)
        acts[i] = try_rest(stage, i, 0);
    for (enum file_operation i = 0; i < FILE_OPERATION_SMB_READ; i++)
        end(stage, acts[i]);
}

/* --- oplocks against REST --- */

/* What is left of each lease: "-" it is not broken; '!' the operation waits. */
static const struct {
    enum file_operation operation;
    const char *left[4]; /* of RWH, RH, RW, R */
} BREAKS[] = {
    { FILE_OPERATION_GET, { "!RH", "-", "!R", "-" } },
    { FILE_OPERATION_GET_PROPERTIES, { "!RH", "-", "!R", "-" } },
    { FILE_OPERATION_LIST_RANGES, { "!RH", "-", "!R", "-" } },
    { FILE_OPERATION_LIST, { "-", "-", "-", "-" } },
    { FILE_OPERATION_PUT_RANGE, { "!", "", "!", "" } },
    { FILE_OPERATION_SET_PROPERTIES, { "!", "", "!", "" } },
    { FILE_OPERATION_SET_METADATA, { "!", "", "!", "" } },
    { FILE_OPERATION_CREATE, { "!", "!", "!", "" } },
    { FILE_OPERATION_ACQUIRE_LEASE, { "!RH", "-", "!R", "-" } },
};

static void rest_breaks_leases_as_the_reference_says(void **state)
{
    static const char *const held[4] = { "RWH", "RH", "RW", "R" };
    struct stage *stage = *state;
    for (size_t i = 0; i < sizeof(BREAKS) / sizeof(BREAKS[0]); i++) {
        for (size_t j = 0; j < 4; j++) {
            const char *left = BREAKS[i].left[j];
            const uint64_t handle = must_open(
                stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = held[j] });
            struct act *act = try_rest(stage, BREAKS[i].operation, 0);
            if (strcmp(left, "-") == 0) {
                assert_told_nothing(stage, ANNA);
            } else if (left[0] == '!') {
                assert_told(stage, ANNA, held[j], left + 1);
                assert_waits(act);
                assert_int_equal(acknowledge(stage, ANNA, 0, left + 1), OK);
            } else {
                assert_told(stage, ANNA, held[j], left);
            }
            end(stage, act);
            (void)must_close(stage, handle);
        }
    }
}

/* Delete File: "blocking -> RW", "blocking -> R", "no break"; and then the handle is in the way. */
static void deletion_breaks_h_and_then_wants_the_handle_closed(void **state)
{
    static const struct {
        const char *held;
        const char *left;
    } rows[] = { { "RWH", "RW" }, { "RH", "R" }, { "RW", NULL }, { "R", NULL } };
    struct stage *stage = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct open_spec spec = { .access = "R", .share = "RWD", .lease = rows[i].held };
        uint64_t handle = must_open(stage, spec);
        struct act *act = try_rest(stage, FILE_OPERATION_DELETE, 0);
        if (rows[i].left == NULL) {
            assert_answer(act, ERR_SHARING_VIOLATION);
            assert_told_nothing(stage, ANNA);
            (void)must_close(stage, handle);
            continue;
        }
        /* The client needs the handle: it keeps it. */
        assert_told(stage, ANNA, rows[i].held, rows[i].left);
        assert_waits(act);
        assert_int_equal(acknowledge(stage, ANNA, 0, rows[i].left), OK);
        assert_answer(act, ERR_SHARING_VIOLATION);
        (void)must_close(stage, handle);

        /* It had only put off closing it: now it does. */
        handle = must_open(stage, spec);
        act = try_rest(stage, FILE_OPERATION_DELETE, 0);
        assert_told(stage, ANNA, rows[i].held, rows[i].left);
        (void)must_close(stage, handle);
        end(stage, act);
    }
}

static void a_sharing_violation_breaks_h_first_and_looks_again(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "R", .share = "R", .lease = "RWH" };
    uint64_t handle = must_open(stage, spec);
    struct act *put = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    /* Only H: if the handle stays, the write does not happen and R and W were lost for nothing. */
    assert_told(stage, ANNA, "RWH", "RW");
    assert_waits(put);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RW"), OK);
    assert_answer(put, ERR_SHARING_VIOLATION);
    assert_told_nothing(stage, ANNA);
    (void)must_close(stage, handle);

    handle = must_open(stage, spec);
    put = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    assert_told(stage, ANNA, "RWH", "RW");
    (void)must_close(stage, handle);
    end(stage, put);
}

static void nobody_is_disturbed_when_a_violation_is_certain(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "R", .lease = "RH" });
    (void)must_open(stage, (struct open_spec){ .who = BERT, .access = "R", .share = "R" });
    assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, ERR_SHARING_VIOLATION);
    assert_rest(stage, FILE_OPERATION_DELETE, 0, ERR_SHARING_VIOLATION);
    assert_answer(try_open(stage, (struct open_spec){ .who = CARL, .access = "W", .share = "RWD" }),
                  ERR_SHARING_VIOLATION);
    assert_told_nothing(stage, ANNA);
}

static void several_clients_are_waited_for(void **state)
{
    struct stage *stage = *state;
    const uint64_t a =
        must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RH" });
    const uint64_t b = must_open(
        stage, (struct open_spec){ .who = BERT, .access = "R", .share = "RWD", .lease = "RH" });
    struct act *act = try_rest(stage, FILE_OPERATION_DELETE, 0);
    assert_told(stage, ANNA, "RH", "R");
    assert_told(stage, BERT, "RH", "R");
    (void)must_close(stage, a);
    assert_waits(act);
    (void)must_close(stage, b);
    end(stage, act);
}

static void rest_gives_up_after_its_timeout_or_half_a_minute(void **state)
{
    static const struct {
        int32_t timeout_sec;
        int64_t waits_sec;
    } rows[] = { { 0, 30 }, { 5, 5 }, { 30, 30 }, { 600, 30 } };
    struct stage *stage = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t handle =
            must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RWH" });
        struct act *act = act_new(stage);
        act->of.operation.operation = FILE_OPERATION_GET;
        act->of.operation.key = file_number(0);
        act->of.operation.timeout_sec = rows[i].timeout_sec;
        open_table_begin(stage->table, &act->of.operation);
        stage_pass_sec(stage, rows[i].waits_sec - 1);
        assert_waits(act);
        stage_pass_sec(stage, 1);
        assert_answer(act, ERR_CACHE_FLUSH_DELAY);
        /* The break goes on: who asks next waits for the same. */
        struct act *next = try_rest(stage, FILE_OPERATION_GET, 0);
        assert_waits(next);
        assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
        end(stage, next);
        (void)must_close(stage, handle);
        struct open_event event;
        (void)open_client_next(stage->clients[ANNA], &event);
    }
}

static void a_silent_client_loses_its_cache(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RWH" });
    struct act *first = try_rest(stage, FILE_OPERATION_GET, 0);
    stage_pass_sec(stage, 30);
    assert_answer(first, ERR_CACHE_FLUSH_DELAY);
    struct act *second = try_rest(stage, FILE_OPERATION_GET, 0);
    stage_pass_sec(stage, LIMIT_OPLOCK_ACK_SEC - 30 - 1);
    assert_waits(second);
    stage_pass_sec(stage, 1);
    end(stage, second);
    /* Too late. */
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), ERR_OPLOCK_NOT_BREAKING);
    assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, OK);
}

static void time_that_has_passed_counts_without_being_told(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RWH" });
    struct act *first = try_rest(stage, FILE_OPERATION_GET, 0);
    /* Nobody calls open_table_expire; the next request sees it by itself. */
    clock_shift(&stage->clock, LIMIT_OPLOCK_ACK_SEC * CLOCK_TICKS_PER_SEC);
    assert_rest(stage, FILE_OPERATION_GET, 0, OK);
    (void)open_table_expire(stage->table);
    end(stage, first);
}

static void a_late_acknowledgement_counts_for_nothing(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "R", .share = "RWD", .lease = "RWH" };
    (void)must_open(stage, spec);
    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    clock_shift(&stage->clock, LIMIT_OPLOCK_ACK_SEC * CLOCK_TICKS_PER_SEC);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), ERR_OPLOCK_NOT_BREAKING);
    end(stage, get);
    /* The lease is there, with nothing in it, and may be had anew. */
    assert_int_equal(try_open(stage, spec)->of.open.granted, CACHING_RWH);
}

static void expire_says_when_to_call_again(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(open_table_expire(stage->table), INT64_MAX);
    const uint64_t handle =
        must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RWH" });
    assert_int_equal(open_table_expire(stage->table), INT64_MAX);
    struct act *act = try_rest(stage, FILE_OPERATION_GET, 0);
    assert_int_equal(open_table_expire(stage->table), STAGE_T0 + 30 * CLOCK_TICKS_PER_SEC);
    stage_pass_sec(stage, 30);
    assert_answer(act, ERR_CACHE_FLUSH_DELAY);
    assert_int_equal(open_table_expire(stage->table),
                     STAGE_T0 + LIMIT_OPLOCK_ACK_SEC * CLOCK_TICKS_PER_SEC);
    (void)must_close(stage, handle);
    assert_int_equal(open_table_expire(stage->table), INT64_MAX);
}

/* --- oplocks among SMB clients --- */

static void a_second_client_takes_write_caching_from_the_first(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "RW", .share = "RWD", .lease = "RWH" });
    struct act *second = try_open(
        stage, (struct open_spec){ .who = BERT, .access = "R", .share = "RWD", .lease = "RWH" });
    assert_told(stage, ANNA, "RWH", "RH");
    assert_waits(second);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    assert_answer(second, OK);
    assert_int_equal(second->of.open.granted, CACHING_RH);
}

static void attribute_access_disturbs_nobody(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "RW", .lease = "RWH" });
    (void)must_open(stage, (struct open_spec){ .who = BERT });
    assert_told_nothing(stage, ANNA);
}

static void an_overwriting_open_breaks_everything(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RH" });
    /* RH is told to go, and not waited for. */
    const uint64_t handle = must_open(
        stage, (struct open_spec){ .who = BERT, .access = "W", .share = "RWD", .overwrite = true });
    assert_told(stage, ANNA, "RH", "");
    assert_int_equal(acknowledge(stage, ANNA, 0, ""), OK);
    (void)must_close(stage, handle);
}

static void handles_with_one_key_share_a_lease(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD", .lease = "RWH" };
    const uint64_t one = must_open(stage, spec);
    const struct act *two = try_open(stage, spec);
    assert_answer(two, OK);
    assert_int_equal(two->of.open.granted, CACHING_RWH);
    assert_told_nothing(stage, ANNA);
    (void)must_close(stage, one);
    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    assert_told(stage, ANNA, "RWH", "RH");
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    end(stage, get);
}

static void ones_own_deferred_handle_is_not_asked_to_close(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "R", .lease = "RWH" });
    assert_answer(
        try_open(stage, (struct open_spec){ .access = "W", .share = "R", .lease = "RWH" }),
        ERR_SHARING_VIOLATION);
    assert_told_nothing(stage, ANNA);
}

static void a_lease_key_is_for_one_file(void **state)
{
    struct stage *stage = *state;
    const struct open_spec here = { .access = "R", .share = "RWD", .lease = "R", .key = 3 };
    struct open_spec there = here;
    there.file = 1;
    const uint64_t handle = must_open(stage, here);
    assert_answer(try_open(stage, there), ERR_OPLOCK_KEY_IN_USE);
    /* Another client's keys are its own. */
    there.who = BERT;
    (void)must_open(stage, there);
    there.who = ANNA;
    (void)must_close(stage, handle);
    (void)must_open(stage, there);
}

static void a_lease_that_is_being_broken_is_granted_as_it_is(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "R", .share = "RWD", .lease = "RWH" };
    (void)must_open(stage, spec);
    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    const struct act *again = try_open(stage, spec);
    assert_answer(again, OK);
    assert_true(again->of.open.breaking);
    assert_int_equal(again->of.open.granted, CACHING_RWH);
    assert_told(stage, ANNA, "RWH", "RH");
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    end(stage, get);
}

static void legacy_oplocks_come_down_to_level_ii(void **state)
{
    static const char *const wanted[] = { "RW", "RWH" };
    struct stage *stage = *state;
    for (size_t i = 0; i < 2; i++) {
        const uint64_t one = must_open(
            stage, (struct open_spec){ .access = "RW", .share = "RWD", .legacy = wanted[i] });
        struct act *second = try_open(
            stage,
            (struct open_spec){ .who = BERT, .access = "R", .share = "RWD", .legacy = "RWH" });
        assert_told(stage, ANNA, wanted[i], "R");
        assert_waits(second);
        assert_int_equal(
            open_table_acknowledge_legacy(stage->table, stage->clients[BERT], one, CACHING_R),
            ERR_HANDLE_CLOSED);
        assert_int_equal(
            open_table_acknowledge_legacy(stage->table, stage->clients[ANNA], one, CACHING_RW),
            ERR_OPLOCK_ACK_REFUSED);
        assert_int_equal(
            open_table_acknowledge_legacy(stage->table, stage->clients[ANNA], one, CACHING_R), OK);
        assert_int_equal(
            open_table_acknowledge_legacy(stage->table, stage->clients[ANNA], one, CACHING_R),
            ERR_OPLOCK_NOT_BREAKING);
        assert_answer(second, OK);
        assert_int_equal(second->of.open.granted, CACHING_R);

        /* A write of one breaks level II of both. */
        struct act *write = try_handle(stage, one, FILE_OPERATION_SMB_WRITE, 0, 1);
        assert_told(stage, ANNA, "R", "");
        assert_told(stage, BERT, "R", "");
        end(stage, write);
        (void)must_close(stage, one);
        (void)must_close(stage, second->of.open.handle_id);
    }
}

static void a_batch_oplock_lets_go_of_a_deferred_handle(void **state)
{
    struct stage *stage = *state;
    const uint64_t handle = must_open(stage, (struct open_spec){ .access = "RW", .legacy = "RWH" });
    struct act *second = try_open(stage, (struct open_spec){ .who = BERT, .access = "R" });
    assert_told(stage, ANNA, "RWH", "R");
    (void)must_close(stage, handle);
    assert_answer(second, OK);
}

static void an_smb_open_waits_for_a_silent_client_and_is_refused(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "R", .lease = "RH" });
    struct act *second =
        try_open(stage, (struct open_spec){ .who = BERT, .access = "W", .share = "RWD" });
    stage_pass_sec(stage, LIMIT_OPLOCK_ACK_SEC - 1);
    assert_waits(second);
    stage_pass_sec(stage, 1);
    assert_answer(second, ERR_SHARING_VIOLATION);
}

static void smb_writes_and_locks_break_read_caching_of_others(void **state)
{
    struct stage *stage = *state;
    const uint64_t anna =
        must_open(stage, (struct open_spec){ .access = "RW", .share = "RWD", .lease = "R" });
    const struct open_spec bert = { .who = BERT, .access = "R", .share = "RWD", .lease = "R" };
    uint64_t handle = must_open(stage, bert);
    end(stage, try_handle(stage, anna, FILE_OPERATION_SMB_READ, 0, 10));
    assert_told_nothing(stage, BERT);
    end(stage, try_handle(stage, anna, FILE_OPERATION_SMB_WRITE, 0, 10));
    assert_told(stage, BERT, "R", "");
    assert_told_nothing(stage, ANNA);
    (void)must_close(stage, handle);

    handle = must_open(stage, bert);
    end(stage, try_handle(stage, anna, FILE_OPERATION_SMB_SET_SIZE, 0, 0));
    assert_told(stage, BERT, "R", "");
    (void)must_close(stage, handle);

    handle = must_open(stage, bert);
    must_lock(stage, anna, 0, 1, false);
    assert_told(stage, BERT, "R", "");
    assert_told_nothing(stage, ANNA);
}

static void smb_rename_and_delete_break_deferred_handles_of_others(void **state)
{
    static const enum file_operation operations[] = { FILE_OPERATION_SMB_RENAME,
                                                      FILE_OPERATION_SMB_SET_DELETE };
    struct stage *stage = *state;
    const uint64_t anna = must_open(stage, (struct open_spec){ .access = "RD", .share = "RWD" });
    for (size_t i = 0; i < 2; i++) {
        const uint64_t bert = must_open(
            stage, (struct open_spec){ .who = BERT, .access = "R", .share = "RWD", .lease = "RH" });
        struct act *act = try_handle(stage, anna, operations[i], 0, 0);
        assert_told(stage, BERT, "RH", "R");
        assert_waits(act);
        assert_false(open_table_is_delete_pending(stage->table, file_number(0)));
        assert_int_equal(acknowledge(stage, BERT, 0, "R"), OK);
        end(stage, act);
        (void)must_close(stage, bert);
    }
    assert_true(open_table_is_delete_pending(stage->table, file_number(0)));
}

static void nothing_is_cached_beside_a_rest_write_that_is_under_way(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "R", .share = "RWD", .lease = "RWH" };
    struct act *put = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    const struct act *open = try_open(stage, spec);
    assert_answer(open, OK);
    assert_int_equal(open->of.open.granted, CACHING_NONE);
    end(stage, put);
    (void)must_close(stage, open->of.open.handle_id);

    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    open = try_open(stage, spec);
    assert_int_equal(open->of.open.granted, CACHING_RH);
    end(stage, get);
    /* Opened once more under the same key, it gets the rest. */
    open = try_open(stage, spec);
    assert_int_equal(open->of.open.granted, CACHING_RWH);
}

static void ones_own_write_that_is_under_way_does_not_matter(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD", .lease = "RWH" };
    const uint64_t handle = must_open(stage, spec);
    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    end(stage, get);
    struct act *write = try_handle(stage, handle, FILE_OPERATION_SMB_WRITE, 0, 1);
    assert_int_equal(try_open(stage, spec)->of.open.granted, CACHING_RWH);
    end(stage, write);
}

static void directories_are_not_cached(void **state)
{
    struct stage *stage = *state;
    const struct act *open = try_open(
        stage,
        (struct open_spec){ .access = "R", .share = "RWD", .lease = "RH", .directory = true });
    assert_answer(open, OK);
    assert_int_equal(open->of.open.granted, CACHING_NONE);
    /* Looking at a directory is enough to keep it. */
    assert_rest(stage, FILE_OPERATION_DELETE, 0, ERR_SHARING_VIOLATION);
}

/* --- deletion --- */

static void set_delete(struct stage *stage, uint64_t handle)
{
    end(stage, try_handle(stage, handle, FILE_OPERATION_SMB_SET_DELETE, 0, 0));
}

static void every_rest_operation_meets_a_pending_deletion(void **state)
{
    struct stage *stage = *state;
    const uint64_t handle = must_open(stage, (struct open_spec){ .access = "D", .share = "RWD" });
    assert_false(open_table_is_delete_pending(stage->table, file_number(0)));
    set_delete(stage, handle);
    assert_true(open_table_is_delete_pending(stage->table, file_number(0)));
    assert_false(open_table_is_delete_pending(stage->table, file_number(1)));
    for (enum file_operation i = 0; i < FILE_OPERATION_SMB_READ; i++)
        assert_rest(stage, i, 0, ERR_DELETE_PENDING);
    assert_answer(try_open(stage, (struct open_spec){ .who = BERT }), ERR_DELETE_PENDING);
    /* Those who have it open go on. */
    end(stage, try_handle(stage, handle, FILE_OPERATION_SMB_READ, 0, 1));
}

static void a_cleared_flag_gives_the_file_back(void **state)
{
    struct stage *stage = *state;
    const uint64_t handle = must_open(stage, (struct open_spec){ .access = "D", .share = "RWD" });
    set_delete(stage, handle);
    assert_int_equal(open_table_clear_delete(stage->table, handle), OK);
    assert_false(open_table_is_delete_pending(stage->table, file_number(0)));
    assert_rest(stage, FILE_OPERATION_GET, 0, OK);
    assert_false(must_close(stage, handle).delete_file);
    assert_int_equal(open_table_clear_delete(stage->table, handle), ERR_HANDLE_CLOSED);
}

static void the_last_handle_deletes_and_nobody_sees_it_in_between(void **state)
{
    struct stage *stage = *state;
    const uint64_t one = must_open(stage, (struct open_spec){ .access = "D", .share = "RWD" });
    const uint64_t two =
        must_open(stage, (struct open_spec){ .who = BERT, .access = "R", .share = "RWD" });
    set_delete(stage, one);
    assert_false(must_close(stage, one).delete_file);
    assert_rest(stage, FILE_OPERATION_GET, 0, ERR_DELETE_PENDING);
    const struct open_closed closed = must_close(stage, two);
    assert_true(closed.delete_file);
    assert_int_equal(closed.key.share, SHARE);
    assert_int_equal(closed.key.file_id, FILE_ID);

    /* The caller is deleting it now. */
    assert_rest(stage, FILE_OPERATION_GET, 0, ERR_DELETE_PENDING);
    assert_answer(try_open(stage, (struct open_spec){ .access = "R" }), ERR_DELETE_PENDING);
    assert_true(open_table_is_delete_pending(stage->table, file_number(0)));
    open_table_deleted(stage->table, closed.key);
    assert_false(open_table_is_delete_pending(stage->table, file_number(0)));
    /* From here it is the store that says whether there is such a file. */
    assert_rest(stage, FILE_OPERATION_GET, 0, OK);
}

static void delete_on_close_marks_the_file_when_its_handle_is_closed(void **state)
{
    struct stage *stage = *state;
    const uint64_t one = must_open(
        stage, (struct open_spec){ .access = "D", .share = "RWD", .delete_on_close = true });
    const uint64_t two = must_open(stage, (struct open_spec){ .access = "R", .share = "RWD" });
    assert_rest(stage, FILE_OPERATION_GET, 0, OK);
    assert_false(must_close(stage, one).delete_file);
    assert_rest(stage, FILE_OPERATION_GET, 0, ERR_DELETE_PENDING);
    const struct open_closed closed = must_close(stage, two);
    assert_true(closed.delete_file);
    open_table_deleted(stage->table, closed.key);
}

static void rest_deletion_leaves_nothing_pending(void **state)
{
    struct stage *stage = *state;
    struct act *delete = try_rest(stage, FILE_OPERATION_DELETE, 0);
    assert_false(open_table_is_delete_pending(stage->table, file_number(0)));
    end(stage, delete);
    assert_false(open_table_is_delete_pending(stage->table, file_number(0)));
}

static void waiting_requests_learn_that_the_file_is_to_be_deleted(void **state)
{
    struct stage *stage = *state;
    const uint64_t anna =
        must_open(stage, (struct open_spec){ .access = "RD", .share = "RWD", .lease = "RWH" });
    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    struct act *open = try_open(stage, (struct open_spec){ .who = BERT, .access = "R" });
    set_delete(stage, anna);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    assert_answer(get, ERR_DELETE_PENDING);
    assert_answer(open, ERR_DELETE_PENDING);
}

/* --- byte-range locks --- */

static void rest_meets_byte_range_locks(void **state)
{
    static const struct {
        enum file_operation operation;
        enum err shared;
        enum err exclusive;
    } rows[] = {
        { FILE_OPERATION_GET, OK, ERR_FILE_LOCK_CONFLICT },
        { FILE_OPERATION_COPY_FROM, OK, ERR_FILE_LOCK_CONFLICT },
        { FILE_OPERATION_PUT_RANGE, ERR_FILE_LOCK_CONFLICT, ERR_FILE_LOCK_CONFLICT },
        /* No range of theirs can be locked. */
        { FILE_OPERATION_CREATE, OK, OK },
        { FILE_OPERATION_SET_PROPERTIES, OK, OK },
        { FILE_OPERATION_SET_METADATA, OK, OK },
        { FILE_OPERATION_GET_PROPERTIES, OK, OK },
        { FILE_OPERATION_LIST_RANGES, OK, OK },
    };
    struct stage *stage = *state;
    const uint64_t handle = must_open(stage, (struct open_spec){ .access = "RW", .share = "RWD" });
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int exclusive = 0; exclusive < 2; exclusive++) {
            must_lock(stage, handle, 100, 10, exclusive != 0);
            struct act *inside = try_rest_range(stage, rows[i].operation, 0, 109, 5);
            assert_answer(inside, exclusive != 0 ? rows[i].exclusive : rows[i].shared);
            if (inside->err == OK)
                end(stage, inside);
            end(stage, try_rest_range(stage, rows[i].operation, 0, 110, 5));
            end(stage, try_rest_range(stage, rows[i].operation, 0, 0, 100));
            assert_int_equal(unlock(stage, handle, 100, 10), OK);
        }
    }
}

static void smb_reads_and_writes_meet_byte_range_locks(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD" };
    const uint64_t one = must_open(stage, spec);
    const uint64_t two = must_open(stage, spec); /* the same client, another owner */
    must_lock(stage, one, 0, 10, true);
    end(stage, try_handle(stage, one, FILE_OPERATION_SMB_READ, 0, 10));
    end(stage, try_handle(stage, one, FILE_OPERATION_SMB_WRITE, 0, 10));
    assert_answer(try_handle(stage, two, FILE_OPERATION_SMB_READ, 9, 1), ERR_FILE_LOCK_CONFLICT);
    assert_answer(try_handle(stage, two, FILE_OPERATION_SMB_WRITE, 9, 1), ERR_FILE_LOCK_CONFLICT);
    end(stage, try_handle(stage, two, FILE_OPERATION_SMB_SET_SIZE, 0, 0));
    assert_int_equal(unlock(stage, one, 0, 10), OK);
    must_lock(stage, one, 0, 10, false);
    end(stage, try_handle(stage, two, FILE_OPERATION_SMB_READ, 9, 1));
    assert_answer(try_handle(stage, two, FILE_OPERATION_SMB_WRITE, 9, 1), ERR_FILE_LOCK_CONFLICT);
    assert_answer(try_handle(stage, one, FILE_OPERATION_SMB_WRITE, 9, 1), ERR_FILE_LOCK_CONFLICT);
}

static void a_lock_waits_for_another_until_it_is_gone(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD" };
    const uint64_t one = must_open(stage, spec);
    const uint64_t two = must_open(stage, spec);
    must_lock(stage, one, 0, 10, true);
    assert_answer(try_lock(stage, two, 5, 10, false, false), ERR_LOCK_NOT_GRANTED);
    struct act *waiting = try_lock(stage, two, 5, 10, true, true);
    stage_pass_sec(stage, 1000000);
    assert_waits(waiting);
    assert_int_equal(unlock(stage, one, 0, 10), OK);
    assert_answer(waiting, OK);

    /* The other way round, and by closing. */
    struct act *other = try_lock(stage, one, 14, 1, true, true);
    assert_waits(other);
    (void)must_close(stage, two);
    assert_answer(other, OK);
}

static void locks_are_granted_in_the_order_they_were_asked_for(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD" };
    const uint64_t one = must_open(stage, spec);
    const uint64_t two = must_open(stage, spec);
    const uint64_t three = must_open(stage, spec);
    must_lock(stage, one, 0, 10, true);
    struct act *first = try_lock(stage, two, 0, 10, true, true);
    struct act *second = try_lock(stage, three, 0, 10, true, true);
    assert_int_equal(unlock(stage, one, 0, 10), OK);
    assert_answer(first, OK);
    assert_waits(second);
    assert_int_equal(unlock(stage, two, 0, 10), OK);
    assert_answer(second, OK);
}

static void a_waiting_lock_ends_with_its_handle_or_when_cancelled(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD" };
    const uint64_t one = must_open(stage, spec);
    const uint64_t two = must_open(stage, spec);
    must_lock(stage, one, 0, 10, true);
    struct act *waiting = try_lock(stage, two, 5, 10, true, true);
    assert_true(open_table_cancel(stage->table, &waiting->of.wait));
    assert_answer(waiting, ERR_CANCELLED);
    assert_false(open_table_cancel(stage->table, &waiting->of.wait));
    assert_answer(waiting, ERR_CANCELLED);

    waiting = try_lock(stage, two, 5, 10, true, true);
    (void)must_close(stage, two);
    assert_answer(waiting, ERR_HANDLE_CLOSED);
}

static struct act *try_locks(struct stage *stage, uint64_t handle,
                             const struct lock_element *elements, size_t count)
{
    struct act *act = act_new(stage);
    act->of.lock.handle_id = handle;
    act->of.lock.elements = elements;
    act->of.lock.count = count;
    open_table_lock(stage->table, &act->of.lock);
    return act;
}

static void several_locks_are_granted_together_or_not_at_all(void **state)
{
    static const struct lock_element apart[] = { { { 0, 5 }, true }, { { 10, 5 }, true } };
    static const struct lock_element overlapping[] = { { { 20, 5 }, true }, { { 24, 5 }, true } };
    static const struct byte_range three[] = { { 0, 5 }, { 7, 7 }, { 10, 5 } };
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD" };
    const uint64_t one = must_open(stage, spec);
    const uint64_t two = must_open(stage, spec);
    must_lock(stage, two, 14, 1, true);
    assert_answer(try_locks(stage, one, apart, 2), ERR_LOCK_NOT_GRANTED);
    must_lock(stage, two, 0, 1, true);
    assert_int_equal(unlock(stage, two, 0, 1), OK);
    assert_int_equal(unlock(stage, two, 14, 1), OK);
    assert_answer(try_locks(stage, one, apart, 2), OK);
    assert_answer(try_locks(stage, one, overlapping, 2), ERR_LOCK_NOT_GRANTED);
    must_lock(stage, two, 20, 1, true);

    /* Unlocking stops where there is nothing to unlock. */
    assert_int_equal(open_table_unlock(stage->table, one, three, 3), ERR_RANGE_NOT_LOCKED);
    must_lock(stage, two, 0, 5, true);
    assert_answer(try_lock(stage, two, 10, 5, true, false), ERR_LOCK_NOT_GRANTED);
}

static void locks_that_cannot_be_are_refused(void **state)
{
    struct stage *stage = *state;
    const uint64_t handle = must_open(stage, (struct open_spec){ .access = "RW", .share = "RWD" });
    assert_answer(try_lock(stage, handle, UINT64_MAX, 2, true, true), ERR_INVALID_LOCK_RANGE);
    assert_answer(try_lock(stage, handle + 64, 0, 1, true, true), ERR_HANDLE_CLOSED);
    assert_int_equal(unlock(stage, handle + 64, 0, 1), ERR_HANDLE_CLOSED);
    assert_int_equal(unlock(stage, handle, 0, 1), ERR_RANGE_NOT_LOCKED);
    /* Zero bytes at 0 are in nobody's way. */
    must_lock(stage, handle, 0, 0, true);
    must_lock(stage, handle, 0, 0, true);
    must_lock(stage, handle, 0, 10, true);
    assert_answer(try_lock(stage, handle, 5, 0, true, false), ERR_LOCK_NOT_GRANTED);
}

static void cached_locks_are_seen_because_writing_back_comes_first(void **state)
{
    struct stage *stage = *state;
    const uint64_t handle =
        must_open(stage, (struct open_spec){ .access = "RW", .share = "RWD", .lease = "RWH" });
    struct act *get = try_rest_range(stage, FILE_OPERATION_GET, 0, 0, 10);
    assert_told(stage, ANNA, "RWH", "RH");
    /* The client sends the lock it had kept to itself, then acknowledges. */
    must_lock(stage, handle, 0, 10, true);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    assert_answer(get, ERR_FILE_LOCK_CONFLICT);
}

/* --- waiting for operations --- */

static void an_smb_open_waits_for_rest_to_finish(void **state)
{
    struct stage *stage = *state;
    struct act *put = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    struct act *open = try_open(stage, (struct open_spec){ .access = "R", .share = "R" });
    assert_waits(open);
    /* An open that lets REST write need not wait. */
    (void)must_open(stage, (struct open_spec){ .who = BERT, .access = "R", .share = "RW" });
    end(stage, put);
    assert_answer(open, OK);
}

static void rest_operations_queue_up_behind_an_open_that_waits_for_them(void **state)
{
    struct stage *stage = *state;
    struct act *first = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    struct act *open = try_open(stage, (struct open_spec){ .access = "R", .share = "R" });
    struct act *second = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    assert_waits(second);
    /* The open does not mind readers. */
    assert_rest(stage, FILE_OPERATION_GET, 0, OK);
    end(stage, first);
    assert_answer(open, OK);
    assert_answer(second, ERR_SHARING_VIOLATION);
}

static void what_queued_up_goes_on_when_the_open_is_given_up(void **state)
{
    struct stage *stage = *state;
    struct act *first = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    struct act *open = try_open(stage, (struct open_spec){ .access = "R", .share = "R" });
    struct act *second = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    assert_true(open_table_cancel(stage->table, &open->of.wait));
    assert_answer(open, ERR_CANCELLED);
    end(stage, second);
    end(stage, first);
}

static void an_smb_open_does_not_wait_forever_for_rest(void **state)
{
    struct stage *stage = *state;
    struct act *put = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    struct act *open = try_open(stage, (struct open_spec){ .access = "R", .share = "R" });
    struct act *queued = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    stage_pass_sec(stage, LIMIT_OPERATION_WAIT_SEC - 1);
    assert_waits(open);
    stage_pass_sec(stage, 1);
    assert_answer(open, ERR_SHARING_VIOLATION);
    end(stage, queued);
    end(stage, put);
}

static void a_rest_deletion_that_is_under_way_keeps_everyone_out(void **state)
{
    struct stage *stage = *state;
    struct act *delete = try_rest(stage, FILE_OPERATION_DELETE, 0);
    struct act *attributes = try_open(stage, (struct open_spec){ .who = BERT });
    assert_waits(attributes);
    end(stage, delete);
    assert_answer(attributes, OK);
}

static void acquiring_a_lease_keeps_writers_out_until_it_is_stored(void **state)
{
    struct stage *stage = *state;
    struct act *acquire = try_rest(stage, FILE_OPERATION_ACQUIRE_LEASE, 0);
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "RWD" });
    struct act *writer = try_open(stage, (struct open_spec){ .access = "W", .share = "RWD" });
    assert_waits(writer);
    end(stage, acquire);
    assert_answer(writer, OK);
}

static void a_lock_waits_for_reads_and_writes_it_would_forbid(void **state)
{
    struct stage *stage = *state;
    const uint64_t handle = must_open(stage, (struct open_spec){ .access = "RW", .share = "RWD" });
    struct act *put = try_rest_range(stage, FILE_OPERATION_PUT_RANGE, 0, 0, 10);
    must_lock(stage, handle, 10, 10, true);
    struct act *lock = try_lock(stage, handle, 9, 1, true, false);
    assert_waits(lock);
    /* Who comes later queues up, if it is about the same bytes. */
    struct act *later = try_rest_range(stage, FILE_OPERATION_PUT_RANGE, 0, 9, 1);
    assert_waits(later);
    end(stage, try_rest_range(stage, FILE_OPERATION_PUT_RANGE, 0, 0, 9));
    end(stage, put);
    assert_answer(lock, OK);
    assert_answer(later, ERR_FILE_LOCK_CONFLICT);

    struct act *get = try_rest_range(stage, FILE_OPERATION_GET, 0, 100, 10);
    must_lock(stage, handle, 100, 1, false);
    lock = try_lock(stage, handle, 101, 1, true, false);
    stage_pass_sec(stage, LIMIT_OPERATION_WAIT_SEC);
    assert_answer(lock, ERR_LOCK_NOT_GRANTED);
    end(stage, get);
}

/* A `done` may begin, end and open as it likes. */
struct chain {
    struct stage *stage;
    struct act *next;
    bool called;
};

static void end_and_begin(void *arg, enum err err)
{
    struct chain *chain = arg;
    assert_int_equal(err, OK);
    chain->called = true;
    chain->next = try_rest(chain->stage, FILE_OPERATION_PUT_RANGE, 1);
    end(chain->stage, chain->next);
}

static void done_may_call_the_table(void **state)
{
    struct stage *stage = *state;
    struct chain chain = { .stage = stage };
    struct act *open = act_new(stage);
    struct act *put = try_rest(stage, FILE_OPERATION_PUT_RANGE, 0);
    open->of.open.client = stage->clients[ANNA];
    open->of.open.key = file_number(0);
    open->of.open.mode = mode("R", "R");
    open->of.wait.done = end_and_begin;
    open->of.wait.arg = &chain;
    open_table_open(stage->table, &open->of.open);
    assert_false(chain.called);
    end(stage, put);
    assert_true(chain.called);
}

static void a_waiting_rest_request_can_be_given_up(void **state)
{
    struct stage *stage = *state;
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RWH" });
    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    assert_true(open_table_cancel(stage->table, &get->of.wait));
    assert_answer(get, ERR_CANCELLED);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    assert_answer(get, ERR_CANCELLED);
}

static void an_operation_that_waits_is_told_when_its_handle_is_closed(void **state)
{
    struct stage *stage = *state;
    const uint64_t anna = must_open(stage, (struct open_spec){ .access = "D", .share = "RWD" });
    (void)must_open(
        stage, (struct open_spec){ .who = BERT, .access = "R", .share = "RWD", .lease = "RH" });
    struct act *rename = try_handle(stage, anna, FILE_OPERATION_SMB_RENAME, 0, 0);
    assert_waits(rename);
    (void)must_close(stage, anna);
    assert_answer(rename, ERR_HANDLE_CLOSED);
    assert_answer(try_handle(stage, anna, FILE_OPERATION_SMB_READ, 0, 1), ERR_HANDLE_CLOSED);
}

/* --- handles, as REST sees them --- */

static size_t list(struct stage *stage, const uint64_t *file_id, uint64_t after, size_t max,
                   struct handle_info **handles, uint64_t *next)
{
    const struct handle_query query = {
        .share = SHARE,
        .file_id = file_id,
        .after = after,
        .results_max = max,
    };
    return open_table_list(stage->table, &query, &stage->arena, handles, next);
}

static void a_listed_handle_says_what_it_is(void **state)
{
    struct stage *stage = *state;
    struct handle_info *handles = NULL;
    uint64_t next = 1;
    stage_pass_sec(stage, 77);
    const uint64_t handle = must_open(
        stage, (struct open_spec){ .who = BERT, .access = "RD", .share = "RW", .lease = "RH" });
    const uint64_t file_id = FILE_ID;
    assert_int_equal(list(stage, &file_id, 0, 10, &handles, &next), 1);
    assert_int_equal(next, 0);
    assert_int_equal(handles[0].handle_id, handle);
    assert_int_equal(handles[0].key.share, SHARE);
    assert_int_equal(handles[0].key.file_id, FILE_ID);
    assert_int_equal(handles[0].parent_id, 5);
    assert_int_equal(handles[0].session_id, 100 + BERT);
    assert_int_equal(handles[0].opened_at, STAGE_T0 + 77 * CLOCK_TICKS_PER_SEC);
    assert_int_equal(handles[0].mode.access, rights("RD"));
    assert_int_equal(handles[0].mode.share, rights("RW"));
    assert_int_equal(handles[0].caching, CACHING_RH);
    assert_true(slice_is(handles[0].address, "10.0.0.7:445"));
    assert_true(slice_is(handles[0].name, "bert"));
}

static void handles_are_listed_by_file_and_by_share_in_pages(void **state)
{
    struct stage *stage = *state;
    struct handle_info *handles = NULL;
    uint64_t next = 0;
    uint64_t opened[30];
    for (uint64_t i = 0; i < 30; i++)
        opened[i] = must_open(stage, (struct open_spec){ .file = i % 3 });
    const uint64_t file_id = FILE_ID + 1;
    assert_int_equal(list(stage, &file_id, 0, 100, &handles, &next), 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(handles[i].handle_id, opened[3 * i + 1]);

    size_t seen = 0;
    uint64_t after = 0;
    do {
        const size_t count = list(stage, NULL, after, 7, &handles, &next);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(handles[i].handle_id, opened[seen++]);
        after = next;
    } while (next != 0);
    assert_int_equal(seen, 30);

    const struct handle_query elsewhere[] = {
        { .share = SHARE + 1, .results_max = 5 },
        { .share = SHARE, .snapshot = 1, .results_max = 5 },
        { .share = SHARE, .snapshot = 1, .file_id = &file_id, .results_max = 5 },
    };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            open_table_list(stage->table, &elsewhere[i], &stage->arena, &handles, &next), 0);
        assert_int_equal(next, 0);
    }
    /* A page that is exactly full and the last says so. */
    assert_int_equal(list(stage, &file_id, 0, 10, &handles, &next), 10);
    assert_int_equal(next, 0);
}

static void a_handle_closed_by_force_is_gone_with_all_it_had(void **state)
{
    struct stage *stage = *state;
    struct open_closed closed;
    struct open_event event;
    const uint64_t handle =
        must_open(stage, (struct open_spec){ .access = "RW", .share = "", .lease = "RWH" });
    must_lock(stage, handle, 0, 10, true);
    struct act *waiting = try_rest(stage, FILE_OPERATION_DELETE, 0);
    assert_waits(waiting);
    assert_int_equal(open_table_force_close(stage->table, SHARE + 1, handle, &closed),
                     ERR_HANDLE_CLOSED);
    assert_int_equal(open_table_force_close(stage->table, SHARE, handle, &closed), OK);
    assert_false(closed.delete_file);
    end(stage, waiting);
    assert_int_equal(open_table_force_close(stage->table, SHARE, handle, &closed),
                     ERR_HANDLE_CLOSED);
    assert_true(open_client_next(stage->clients[ANNA], &event));
    assert_int_equal(event.kind, OPEN_EVENT_CLOSED);
    assert_answer(try_handle(stage, handle, FILE_OPERATION_SMB_READ, 0, 1), ERR_HANDLE_CLOSED);
    assert_int_equal(open_table_close(stage->table, handle, &closed), ERR_HANDLE_CLOSED);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RW"), ERR_OPLOCK_NOT_BREAKING);
}

static void force_does_not_delete_on_close_but_finishes_a_deletion(void **state)
{
    struct stage *stage = *state;
    struct open_closed closed;
    struct handle_info *handles = NULL;
    uint64_t next = 0;
    uint64_t handle = must_open(
        stage, (struct open_spec){ .access = "D", .share = "RWD", .delete_on_close = true });
    assert_int_equal(open_table_force_close(stage->table, SHARE, handle, &closed), OK);
    assert_false(closed.delete_file);
    assert_rest(stage, FILE_OPERATION_GET, 0, OK);

    handle = must_open(stage, (struct open_spec){ .access = "D", .share = "RWD" });
    set_delete(stage, handle);
    /* Handles of a file that is delete-pending are listed and closed like others. */
    assert_int_equal(list(stage, NULL, 0, 10, &handles, &next), 1);
    assert_int_equal(open_table_force_close(stage->table, SHARE, handle, &closed), OK);
    assert_true(closed.delete_file);
    open_table_deleted(stage->table, closed.key);
}

static void handle_ids_of_an_earlier_run_name_nothing(void **state)
{
    struct stage *stage = *state;
    const uint64_t before = must_open(stage, (struct open_spec){ .access = "R" });
    clock_shift(&stage->clock, CLOCK_TICKS_PER_SEC);
    struct open_table *later = open_table_new(&stage->clock);
    struct act *act = act_new(stage);
    act->of.open.client = stage->clients[BERT];
    act->of.open.key = file_number(0);
    open_table_open(later, &act->of.open);
    assert_answer(act, OK);
    assert_true(act->of.open.handle_id > before);
    struct open_closed closed;
    assert_int_equal(open_table_close(later, before, &closed), ERR_HANDLE_CLOSED);
    assert_int_equal(open_table_close(later, act->of.open.handle_id, &closed), OK);
    open_table_free(later);
    open_table_free(NULL);
}

/* --- limits --- */

static void a_file_and_a_share_root_have_so_many_handles(void **state)
{
    struct stage *stage = *state;
    for (int i = 0; i < LIMIT_FILE_HANDLES_MAX; i++)
        (void)must_open(stage, (struct open_spec){ .file = 0 });
    assert_answer(try_open(stage, (struct open_spec){ .file = 0 }), ERR_OPEN_TABLE_FULL);
    struct act *root = NULL;
    for (int i = 0; i <= LIMIT_SHARE_ROOT_HANDLES_MAX; i++) {
        root = act_new(stage);
        root->of.open.client = stage->clients[ANNA];
        root->of.open.key = file_number(1);
        root->of.open.directory = true;
        open_table_open(stage->table, &root->of.open);
        assert_answer(root, i < LIMIT_SHARE_ROOT_HANDLES_MAX ? OK : ERR_OPEN_TABLE_FULL);
    }
    assert_int_equal(open_table_handle_count(stage->table),
                     LIMIT_FILE_HANDLES_MAX + LIMIT_SHARE_ROOT_HANDLES_MAX);
}

static void a_file_has_so_many_locks_and_waiters(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "RW", .share = "RWD" };
    const uint64_t one = must_open(stage, spec);
    const uint64_t two = must_open(stage, spec);
    for (uint64_t i = 0; i < LIMIT_FILE_BYTE_LOCKS_MAX; i++)
        must_lock(stage, one, i * 2, 1, false);
    assert_answer(try_lock(stage, one, 1, 1, false, true), ERR_OPEN_TABLE_FULL);
    for (uint64_t i = 1; i < LIMIT_FILE_BYTE_LOCKS_MAX; i++)
        assert_int_equal(unlock(stage, one, i * 2, 1), OK);

    struct act *first = NULL;
    for (int i = 0; i < LIMIT_FILE_WAITERS_MAX; i++) {
        struct act *waiting = try_lock(stage, two, 0, 1, true, true);
        first = i == 0 ? waiting : first;
        assert_waits(waiting);
    }
    assert_answer(try_lock(stage, two, 0, 1, true, true), ERR_OPEN_TABLE_FULL);
    assert_int_equal(unlock(stage, one, 0, 1), OK);
    assert_answer(first, OK);
}

static void the_table_has_so_many_handles(void **state)
{
    struct stage *stage = *state;
    for (uint64_t i = 0; i < LIMIT_HANDLES_MAX; i++) {
        (void)must_open(stage, (struct open_spec){ .file = i % 20000 });
        if (i % 20000 == 0)
            arena_clear(&stage->arena);
    }
    assert_answer(try_open(stage, (struct open_spec){ .file = 20000 }), ERR_OPEN_TABLE_FULL);
    assert_int_equal(open_table_handle_count(stage->table), LIMIT_HANDLES_MAX);
    struct open_closed closed;
    assert_true(open_client_close_next(stage->table, stage->clients[ANNA], &closed));
    (void)must_open(stage, (struct open_spec){ .file = 20000 });
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, stage_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(smb_opens_share_as_their_modes_say),
        STAGED(rest_operations_fail_by_the_share_mode_of_a_handle),
        STAGED(a_lease_is_acquired_beside_readers_only),
        STAGED(one_of_many_handles_is_enough_to_refuse),
        STAGED(attribute_access_stops_deletion_only),
        STAGED(files_are_told_apart_by_share_snapshot_and_id),
        STAGED(rest_operations_never_exclude_each_other),
        STAGED(rest_breaks_leases_as_the_reference_says),
        STAGED(deletion_breaks_h_and_then_wants_the_handle_closed),
        STAGED(a_sharing_violation_breaks_h_first_and_looks_again),
        STAGED(nobody_is_disturbed_when_a_violation_is_certain),
        STAGED(several_clients_are_waited_for),
        STAGED(rest_gives_up_after_its_timeout_or_half_a_minute),
        STAGED(a_silent_client_loses_its_cache),
        STAGED(time_that_has_passed_counts_without_being_told),
        STAGED(a_late_acknowledgement_counts_for_nothing),
        STAGED(expire_says_when_to_call_again),
        STAGED(a_second_client_takes_write_caching_from_the_first),
        STAGED(attribute_access_disturbs_nobody),
        STAGED(an_overwriting_open_breaks_everything),
        STAGED(handles_with_one_key_share_a_lease),
        STAGED(ones_own_deferred_handle_is_not_asked_to_close),
        STAGED(a_lease_key_is_for_one_file),
        STAGED(a_lease_that_is_being_broken_is_granted_as_it_is),
        STAGED(legacy_oplocks_come_down_to_level_ii),
        STAGED(a_batch_oplock_lets_go_of_a_deferred_handle),
        STAGED(an_smb_open_waits_for_a_silent_client_and_is_refused),
        STAGED(smb_writes_and_locks_break_read_caching_of_others),
        STAGED(smb_rename_and_delete_break_deferred_handles_of_others),
        STAGED(nothing_is_cached_beside_a_rest_write_that_is_under_way),
        STAGED(ones_own_write_that_is_under_way_does_not_matter),
        STAGED(directories_are_not_cached),
        STAGED(every_rest_operation_meets_a_pending_deletion),
        STAGED(a_cleared_flag_gives_the_file_back),
        STAGED(the_last_handle_deletes_and_nobody_sees_it_in_between),
        STAGED(delete_on_close_marks_the_file_when_its_handle_is_closed),
        STAGED(rest_deletion_leaves_nothing_pending),
        STAGED(waiting_requests_learn_that_the_file_is_to_be_deleted),
        STAGED(rest_meets_byte_range_locks),
        STAGED(smb_reads_and_writes_meet_byte_range_locks),
        STAGED(a_lock_waits_for_another_until_it_is_gone),
        STAGED(locks_are_granted_in_the_order_they_were_asked_for),
        STAGED(a_waiting_lock_ends_with_its_handle_or_when_cancelled),
        STAGED(several_locks_are_granted_together_or_not_at_all),
        STAGED(locks_that_cannot_be_are_refused),
        STAGED(cached_locks_are_seen_because_writing_back_comes_first),
        STAGED(an_smb_open_waits_for_rest_to_finish),
        STAGED(rest_operations_queue_up_behind_an_open_that_waits_for_them),
        STAGED(what_queued_up_goes_on_when_the_open_is_given_up),
        STAGED(an_smb_open_does_not_wait_forever_for_rest),
        STAGED(a_rest_deletion_that_is_under_way_keeps_everyone_out),
        STAGED(acquiring_a_lease_keeps_writers_out_until_it_is_stored),
        STAGED(a_lock_waits_for_reads_and_writes_it_would_forbid),
        STAGED(done_may_call_the_table),
        STAGED(a_waiting_rest_request_can_be_given_up),
        STAGED(an_operation_that_waits_is_told_when_its_handle_is_closed),
        STAGED(a_listed_handle_says_what_it_is),
        STAGED(handles_are_listed_by_file_and_by_share_in_pages),
        STAGED(a_handle_closed_by_force_is_gone_with_all_it_had),
        STAGED(force_does_not_delete_on_close_but_finishes_a_deletion),
        STAGED(handle_ids_of_an_earlier_run_name_nothing),
        STAGED(a_file_and_a_share_root_have_so_many_handles),
        STAGED(a_file_has_so_many_locks_and_waiters),
        STAGED(the_table_has_so_many_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
