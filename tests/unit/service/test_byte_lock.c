/*
 * test_byte_lock.c - byte-range locks against reads, writes and each other, as [MS-FSA] 2.1.4.10
 * has them: the matrix, ranges of length zero, the ends of the offsets, and a model that paints
 * bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "service/file/byte_lock.h"
#include "test_random.h"

#define A    UINT64_C(7)
#define B    UINT64_C(8)
#define REST BYTE_LOCK_OWNER_NONE

static struct byte_range range(uint64_t offset, uint64_t length)
{
    return (struct byte_range){ offset, length };
}

/* --- the matrix: a lock of A on 10..19, and somebody who uses bytes of it --- */

static const struct {
    bool exclusive;
    uint64_t who;
    enum byte_use use;
    bool blocked;
} MATRIX[] = {
    { true, A, BYTE_USE_READ, false },
    { true, A, BYTE_USE_WRITE, false },
    { true, A, BYTE_USE_LOCK_SHARED, false },
    { true, A, BYTE_USE_LOCK_EXCLUSIVE, true },
    { true, B, BYTE_USE_READ, true },
    { true, B, BYTE_USE_WRITE, true },
    { true, B, BYTE_USE_LOCK_SHARED, true },
    { true, B, BYTE_USE_LOCK_EXCLUSIVE, true },
    { true, REST, BYTE_USE_READ, true },
    { true, REST, BYTE_USE_WRITE, true },
    { true, REST, BYTE_USE_NONE, false },
    { false, A, BYTE_USE_READ, false },
    { false, A, BYTE_USE_WRITE, true },
    { false, A, BYTE_USE_LOCK_SHARED, false },
    { false, A, BYTE_USE_LOCK_EXCLUSIVE, true },
    { false, B, BYTE_USE_READ, false },
    { false, B, BYTE_USE_WRITE, true },
    { false, B, BYTE_USE_LOCK_SHARED, false },
    { false, B, BYTE_USE_LOCK_EXCLUSIVE, true },
    { false, REST, BYTE_USE_READ, false },
    { false, REST, BYTE_USE_WRITE, true },
    { false, REST, BYTE_USE_NONE, false },
};

static void a_lock_keeps_out_what_the_matrix_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(MATRIX) / sizeof(MATRIX[0]); i++) {
        const struct byte_lock lock = { range(10, 10), A, MATRIX[i].exclusive };
        assert_int_equal(byte_lock_blocks(&lock, MATRIX[i].who, range(19, 5), MATRIX[i].use),
                         MATRIX[i].blocked);
        assert_false(byte_lock_blocks(&lock, MATRIX[i].who, range(20, 5), MATRIX[i].use));
        assert_false(byte_lock_blocks(&lock, MATRIX[i].who, range(0, 10), MATRIX[i].use));
    }
}

static void a_lock_waits_for_what_it_would_have_kept_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(MATRIX) / sizeof(MATRIX[0]); i++) {
        const enum byte_use lock_use =
            MATRIX[i].exclusive ? BYTE_USE_LOCK_EXCLUSIVE : BYTE_USE_LOCK_SHARED;
        assert_int_equal(byte_lock_awaits(A, range(10, 10), lock_use, MATRIX[i].who, range(0, 11),
                                          MATRIX[i].use),
                         MATRIX[i].blocked);
    }
}

/* --- ranges --- */

static const struct {
    struct byte_range a;
    struct byte_range b;
    bool overlap;
} RANGES[] = {
    { { 0, 10 }, { 9, 1 }, true },
    { { 0, 10 }, { 10, 1 }, false },
    { { 5, 1 }, { 5, 1 }, true },
    { { 5, 10 }, { 0, 100 }, true },
    /* Length zero at 10 lies between the bytes 9 and 10. */
    { { 10, 0 }, { 9, 2 }, true },
    { { 10, 0 }, { 0, 100 }, true },
    { { 10, 0 }, { 10, 1 }, false },
    { { 10, 0 }, { 10, 100 }, false },
    { { 10, 0 }, { 0, 10 }, false },
    { { 10, 0 }, { 9, 1 }, false },
    { { 10, 0 }, { 10, 0 }, false },
    { { 10, 0 }, { 9, 0 }, false },
    /* At 0 it lies before everything. */
    { { 0, 0 }, { 0, 1 }, false },
    { { 0, 0 }, { 0, UINT64_MAX }, false },
    { { 0, 0 }, { 0, 0 }, false },
    /* The last byte there is. */
    { { UINT64_MAX, 1 }, { UINT64_MAX, 1 }, true },
    { { UINT64_MAX, 1 }, { UINT64_MAX - 1, 1 }, false },
    { { UINT64_MAX, 1 }, { UINT64_MAX - 1, 2 }, true },
    { { UINT64_MAX, 1 }, { 1, UINT64_MAX }, true },
    { { UINT64_MAX, 1 }, { 0, UINT64_MAX }, false },
    { { UINT64_MAX, 0 }, { UINT64_MAX - 1, 2 }, true },
    { { UINT64_MAX, 0 }, { UINT64_MAX, 1 }, false },
};

static void ranges_overlap_if_they_share_a_byte_or_a_gap(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(RANGES) / sizeof(RANGES[0]); i++) {
        assert_int_equal(byte_ranges_overlap(RANGES[i].a, RANGES[i].b), RANGES[i].overlap);
        assert_int_equal(byte_ranges_overlap(RANGES[i].b, RANGES[i].a), RANGES[i].overlap);
    }
}

static void a_range_ends_within_the_offsets_there_are(void **state)
{
    (void)state;
    assert_true(byte_range_is_valid(range(0, 0)));
    assert_true(byte_range_is_valid(range(0, UINT64_MAX)));
    assert_true(byte_range_is_valid(range(1, UINT64_MAX)));
    assert_true(byte_range_is_valid(range(UINT64_MAX, 0)));
    assert_true(byte_range_is_valid(range(UINT64_MAX, 1)));
    assert_false(byte_range_is_valid(range(UINT64_MAX, 2)));
    assert_false(byte_range_is_valid(range(2, UINT64_MAX)));
    assert_false(byte_range_is_valid(range(UINT64_MAX, UINT64_MAX)));
}

static void reading_and_writing_nothing_meets_no_lock(void **state)
{
    (void)state;
    const struct byte_lock lock = { range(0, 100), A, true };
    assert_false(byte_lock_blocks(&lock, B, range(50, 0), BYTE_USE_READ));
    assert_false(byte_lock_blocks(&lock, REST, range(50, 0), BYTE_USE_WRITE));
    assert_true(byte_lock_blocks(&lock, B, range(50, 0), BYTE_USE_LOCK_SHARED));
}

/* --- the list --- */

static void add(struct byte_lock_list *list, uint64_t owner, struct byte_range at, bool exclusive)
{
    byte_lock_list_add(list, &(struct byte_lock){ at, owner, exclusive });
}

static void a_lock_is_removed_by_its_owner_and_its_very_range(void **state)
{
    (void)state;
    struct byte_lock_list list = { 0 };
    add(&list, A, range(10, 10), true);
    assert_int_equal(byte_lock_list_remove(&list, B, range(10, 10)), ERR_RANGE_NOT_LOCKED);
    assert_int_equal(byte_lock_list_remove(&list, A, range(10, 9)), ERR_RANGE_NOT_LOCKED);
    assert_int_equal(byte_lock_list_remove(&list, A, range(11, 9)), ERR_RANGE_NOT_LOCKED);
    assert_int_equal(byte_lock_list_remove(&list, A, range(10, 10)), OK);
    assert_int_equal(byte_lock_list_remove(&list, A, range(10, 10)), ERR_RANGE_NOT_LOCKED);
    byte_lock_list_release(&list);
}

static void of_two_locks_on_a_range_the_exclusive_one_goes_first(void **state)
{
    (void)state;
    struct byte_lock_list list = { 0 };
    add(&list, A, range(10, 10), false);
    add(&list, A, range(10, 10), true);
    assert_true(byte_lock_list_blocks(&list, REST, range(10, 1), BYTE_USE_READ));
    assert_int_equal(byte_lock_list_remove(&list, A, range(10, 10)), OK);
    assert_false(byte_lock_list_blocks(&list, REST, range(10, 1), BYTE_USE_READ));
    assert_true(byte_lock_list_blocks(&list, REST, range(10, 1), BYTE_USE_WRITE));
    byte_lock_list_release(&list);
}

static void locks_go_with_their_owner(void **state)
{
    (void)state;
    struct byte_lock_list list = { 0 };
    for (uint64_t i = 0; i < 20; i++)
        add(&list, i % 2 == 0 ? A : B, range(i, 1), true);
    assert_int_equal(byte_lock_list_remove_owner(&list, A), 10);
    assert_int_equal(list.count, 10);
    assert_false(byte_lock_list_blocks(&list, REST, range(0, 1), BYTE_USE_READ));
    assert_true(byte_lock_list_blocks(&list, REST, range(1, 1), BYTE_USE_READ));
    assert_int_equal(byte_lock_list_remove_owner(&list, A), 0);
    byte_lock_list_release(&list);
}

/* --- against a model that knows every byte --- */

enum {
    BYTES = 32,
    OWNERS = 3,
};

/* Per byte and owner: does it have it exclusively, or shared? */
struct model {
    bool exclusive[BYTES][OWNERS + 1];
    bool shared[BYTES][OWNERS + 1];
};

static void model_paint(struct model *model, const struct byte_lock_list *list)
{
    memset(model, 0, sizeof(*model));
    for (size_t i = 0; i < list->count; i++) {
        const struct byte_lock *lock = &list->items[i];
        bool(*painted)[OWNERS + 1] = lock->exclusive ? model->exclusive : model->shared;
        for (uint64_t at = lock->range.offset; at < lock->range.offset + lock->range.length; at++)
            painted[at][lock->owner] = true;
    }
}

static bool model_blocks(const struct model *model, uint64_t who, struct byte_range at,
                         enum byte_use use)
{
    for (uint64_t byte = at.offset; byte < at.offset + at.length; byte++) {
        for (uint64_t owner = 1; owner <= OWNERS; owner++) {
            if (model->exclusive[byte][owner] && (owner != who || use == BYTE_USE_LOCK_EXCLUSIVE))
                return true;
            if (model->shared[byte][owner] &&
                (use == BYTE_USE_WRITE || use == BYTE_USE_LOCK_EXCLUSIVE))
                return true;
        }
    }
    return false;
}

static struct byte_range random_range(struct test_random *random)
{
    const uint64_t offset = random_below(random, BYTES);
    return range(offset, 1 + random_below(random, BYTES - offset));
}

static void random_locks_agree_with_a_model_of_bytes(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    struct byte_lock_list list = { 0 };
    struct model model = { 0 };
    for (int step = 0; step < 20000; step++) {
        const struct byte_range at = random_range(&random);
        const uint64_t who = random_below(&random, OWNERS + 1);
        const enum byte_use use = (enum byte_use)(
            BYTE_USE_READ + (who == REST ? random_below(&random, 2) : random_below(&random, 4)));
        const bool blocked = byte_lock_list_blocks(&list, who, at, use);
        assert_int_equal(blocked, model_blocks(&model, who, at, use));
        if (!blocked && use >= BYTE_USE_LOCK_SHARED)
            add(&list, who, at, use == BYTE_USE_LOCK_EXCLUSIVE);
        else if (list.count > 0 && random_below(&random, 3) == 0) {
            const struct byte_lock gone = list.items[random_below(&random, list.count)];
            assert_int_equal(byte_lock_list_remove(&list, gone.owner, gone.range), OK);
        }
        model_paint(&model, &list);
    }
    byte_lock_list_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_keeps_out_what_the_matrix_says),
        cmocka_unit_test(a_lock_waits_for_what_it_would_have_kept_out),
        cmocka_unit_test(ranges_overlap_if_they_share_a_byte_or_a_gap),
        cmocka_unit_test(a_range_ends_within_the_offsets_there_are),
        cmocka_unit_test(reading_and_writing_nothing_meets_no_lock),
        cmocka_unit_test(a_lock_is_removed_by_its_owner_and_its_very_range),
        cmocka_unit_test(of_two_locks_on_a_range_the_exclusive_one_goes_first),
        cmocka_unit_test(locks_go_with_their_owner),
        cmocka_unit_test(random_locks_agree_with_a_model_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
