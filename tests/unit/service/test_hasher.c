/*
 * test_hasher.c - MD5 beside the caller is the MD5 of the same bytes, however they are cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/hasher.h"

static char bytes[3 * 1024 * 1024 + 17];

static void fill(void)
{
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 31 + i / 251);
}

static void assert_hash(size_t len, size_t piece)
{
    struct md5_ctx ctx;
    uint8_t expected[DIGEST_MD5_BYTES];
    uint8_t got[DIGEST_MD5_BYTES];
    md5_init(&ctx);
    md5_update(&ctx, len, (const uint8_t *)bytes);
    md5_digest(&ctx, sizeof(expected), expected);
    struct hasher *hasher = hasher_take();
    assert_non_null(hasher);
    for (size_t at = 0; at < len; at += piece)
        hasher_update(hasher, slice_make(bytes + at, len - at < piece ? len - at : piece));
    hasher_finish(hasher, got);
    hasher_give_back(hasher);
    assert_memory_equal(got, expected, sizeof(expected));
}

static void the_hash_is_that_of_the_bytes_however_they_are_cut(void **state)
{
    (void)state;
    static const size_t lengths[] = { 0, 1, 262143, 262144, 262145, 1048576, sizeof(bytes) };
    static const size_t pieces[] = { 977, 65536, 262144, sizeof(bytes) };
    fill();
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (size_t j = 0; j < sizeof(pieces) / sizeof(pieces[0]); j++)
            assert_hash(lengths[i], pieces[j]);
}

static void there_are_no_more_hashers_than_processors(void **state)
{
    (void)state;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct hasher **hashers = calloc((size_t)processors, sizeof(struct hasher *));
    for (long i = 0; i < processors; i++) {
        hashers[i] = hasher_take();
        assert_non_null(hashers[i]);
        hasher_update(hashers[i], slice_make("x", 1));
    }
    assert_null(hasher_take());
    /* One that is given up in the middle makes room for another. */
    hasher_give_back(hashers[0]);
    hashers[0] = hasher_take();
    assert_non_null(hashers[0]);
    for (long i = 0; i < processors; i++)
        hasher_give_back(hashers[i]);
    free(hashers);
}

static void a_hasher_that_was_given_up_in_the_middle_is_as_good_as_new(void **state)
{
    (void)state;
    fill();
    for (size_t len = 1; len < sizeof(bytes); len = len * 7 + 3) {
        struct hasher *hasher = hasher_take();
        assert_non_null(hasher);
        hasher_update(hasher, slice_make(bytes, len));
        hasher_give_back(hasher);
        assert_hash(sizeof(bytes) / 2, 65536);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_that_of_the_bytes_however_they_are_cut),
        cmocka_unit_test(there_are_no_more_hashers_than_processors),
        cmocka_unit_test(a_hasher_that_was_given_up_in_the_middle_is_as_good_as_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
