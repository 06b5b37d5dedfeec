/*
 * test_system_row.c - the layer's own rows: what is written can be read, and bytes that are not in
 * the format are ERR_CORRUPT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/encoding.h"
#include "base/log.h"
#include "partition/system_row.h"

static const struct stream_range RANGE = { .extent_id = 0x0102030405060708,
                                           .offset = 4096,
                                           .length = 77 };

static struct slice bytes_of(const struct system_key *key)
{
    return slice_make(key->bytes, key->len);
}

static void rows_of_ranges_are_decoded_as_they_were_made(void **state)
{
    (void)state;
    uint8_t length[8];
    put_be64(length, RANGE.length);
    const struct system_key owner = system_key_owner(&RANGE, 42);
    struct stream_range range;
    uint64_t last;
    assert_int_equal(system_decode_range(bytes_of(&owner), slice_make(length, 8), &range, &last),
                     OK);
    assert_memory_equal(&range, &RANGE, sizeof(range));
    assert_int_equal(last, 42);

    uint8_t length_and_hash[16];
    put_be64(length_and_hash, RANGE.length);
    put_be64(length_and_hash + 8, 99);
    const struct system_key freed_key = system_key_freed(&RANGE, 43);
    struct system_freed freed;
    assert_int_equal(
        system_decode_freed(bytes_of(&freed_key), slice_make(length_and_hash, 16), &freed), OK);
    assert_memory_equal(&freed.range, &RANGE, sizeof(freed.range));
    assert_int_equal(freed.tick, 43);
    assert_int_equal(freed.partition_hash, 99);

    const struct system_key extent = system_key_extent(7);
    uint64_t extent_id;
    assert_int_equal(system_decode_extent_key(bytes_of(&extent), &extent_id), OK);
    assert_int_equal(extent_id, 7);
}

static void rows_lie_in_the_order_of_their_ranges(void **state)
{
    (void)state;
    struct stream_range later = RANGE;
    later.offset = 8192;
    const struct system_key first = system_key_owner(&RANGE, UINT64_MAX);
    const struct system_key second = system_key_owner(&later, 0);
    assert_true(slice_compare(bytes_of(&first), bytes_of(&second)) < 0);
    const struct system_key prefix = system_prefix_range(SYSTEM_OWNER, &RANGE);
    assert_true(slice_starts_with(bytes_of(&first), bytes_of(&prefix)));
    assert_false(slice_starts_with(bytes_of(&second), bytes_of(&prefix)));
}

static void bytes_that_are_not_in_the_format_are_corrupt(void **state)
{
    (void)state;
    static const uint8_t bytes[32] = { 0 };
    static const uint8_t ones[8] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
    const struct system_key owner = system_key_owner(&RANGE, 42);
    struct stream_range range;
    struct system_extent extent;
    uint64_t number;
    int64_t tick;
    /* A length of 0, a short key, a long value. */
    assert_int_equal(system_decode_range(bytes_of(&owner), slice_make(bytes, 8), &range, &number),
                     ERR_CORRUPT);
    assert_int_equal(system_decode_range(slice_make(owner.bytes, owner.len - 1),
                                         slice_make(ones, 8), &range, &number),
                     ERR_CORRUPT);
    assert_int_equal(system_decode_range(bytes_of(&owner), slice_make(bytes, 9), &range, &number),
                     ERR_CORRUPT);
    /* A freed row without the hash of its partition, and one with a tick that is none. */
    static const uint8_t many_ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    struct system_key freed_key = system_key_freed(&RANGE, 43);
    struct system_freed freed;
    assert_int_equal(system_decode_freed(bytes_of(&freed_key), slice_make(ones, 8), &freed),
                     ERR_CORRUPT);
    freed_key.bytes[1 + 2 * 8] = 0xFF;
    assert_int_equal(system_decode_freed(bytes_of(&freed_key), slice_make(many_ones, 16), &freed),
                     ERR_CORRUPT);
    /* A mark of no partition, and of one with too long a name. */
    static const uint8_t long_key[1 + PARTITION_ID_BYTES_MAX + 1] = { 'M' };
    struct slice name;
    assert_int_equal(system_decode_mark_key(slice_make(long_key, 1), &name), ERR_CORRUPT);
    assert_int_equal(system_decode_mark_key(slice_make(long_key, sizeof(long_key)), &name),
                     ERR_CORRUPT);
    assert_int_equal(system_decode_extent(slice_make(bytes, 15), &extent), ERR_CORRUPT);
    assert_int_equal(system_decode_extent_key(slice_make(bytes, 8), &number), ERR_CORRUPT);
    assert_int_equal(system_decode_tick(slice_make(bytes, 7), &tick), ERR_CORRUPT);
    assert_int_equal(system_decode_tick(slice_make(ones, 8), &tick), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_ranges_are_decoded_as_they_were_made),
        cmocka_unit_test(rows_lie_in_the_order_of_their_ranges),
        cmocka_unit_test(bytes_that_are_not_in_the_format_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
