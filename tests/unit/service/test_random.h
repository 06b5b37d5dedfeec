/*
 * test_random.h - numbers for randomized tests.
 *
 * A test takes its seed from test_seed, which prints it: ZAFFRE_TEST_SEED=<seed> repeats a run.
 */
#ifndef TESTS_UNIT_SERVICE_TEST_RANDOM_H
#define TESTS_UNIT_SERVICE_TEST_RANDOM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/slice.h"

struct test_random {
    uint64_t state;
};

static inline struct test_random test_seed(void)
{
    const char *given = getenv("ZAFFRE_TEST_SEED");
    const uint64_t seed =
        given != NULL ? strtoull(given, NULL, 10) : (uint64_t)clock_monotonic_us();
    print_message("ZAFFRE_TEST_SEED=%" PRIu64 "\n", seed);
    return (struct test_random){ seed };
}

/* splitmix64 */
static inline uint64_t random_next(struct test_random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to bound - 1 */
static inline size_t random_below(struct test_random *random, size_t bound)
{
    return (size_t)(random_next(random) % bound);
}

/* A number of a random magnitude: small ones are as likely as huge ones. */
static inline uint64_t random_number(struct test_random *random)
{
    return random_next(random) >> random_below(random, 64);
}

static inline struct slice random_bytes(struct test_random *random, struct arena *arena,
                                        size_t len_max)
{
    const size_t len = random_below(random, len_max + 1);
    char *bytes = arena_bytes(arena, len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)random_next(random);
    return slice_make(bytes, len);
}

/*
 * A damaged copy, in a heap block of exactly its size so that the sanitizer sees a read past its
 * end: some bits flipped, bytes removed or inserted, the end cut off.  The caller frees `data`.
 */
static inline char *random_damage(struct test_random *random, struct slice bytes, size_t *len)
{
    char *copy = malloc(bytes.len + 8);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.len);
    *len = bytes.len;
    for (size_t change = random_below(random, 4) + 1; change > 0 && *len > 0; change--) {
        const size_t at = random_below(random, *len);
        switch (random_below(random, 4)) {
        case 0:
            copy[at] = (char)(copy[at] ^ (1 << random_below(random, 8)));
            break;
        case 1:
            memmove(copy + at, copy + at + 1, *len - at - 1);
            --*len;
            break;
        case 2:
            memmove(copy + at + 1, copy + at, *len - at);
            copy[at] = (char)random_next(random);
            ++*len;
            break;
        default:
            *len = at;
            break;
        }
    }
    char *exact = malloc(*len == 0 ? 1 : *len);
    assert_non_null(exact);
    memcpy(exact, copy, *len);
    free(copy);
    return exact;
}

#endif
