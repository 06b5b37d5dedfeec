/*
 * digest.c - checksums and message authentication.
 *
 * CRC-64 has two ways, chosen once by what the processor has:
 *
 *   tables   Eight bytes at a time.  Table k holds the remainder of each byte value followed
 *            by k zero bytes, so the remainders of a word's bytes are independent lookups.
 *   folding  With a carry-less multiplication, 64 bytes at a time in four lanes.  A lane is
 *            multiplied by x^512 modulo the polynomial, which moves it to where the lane 512
 *            bits further on stands, and added to it; the remainder of the whole does not
 *            change.  What is left of the lanes at the end goes through the tables.
 *
 * Bits are reflected: the lowest bit of a byte is the coefficient of the highest power.  The
 * carry-less product of two reflected 64-bit polynomials, read as 128 reflected bits, is their
 * product times x, which is why the powers below are one less than the distance they move by.
 */
#include "base/digest.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <limits.h>
#include <nettle/memops.h>
#include <pthread.h>
#include <string.h>

#include "base/encoding.h"

#define CRC64_POLYNOMIAL UINT64_C(0x9A6C9329AC4BC9B5)

enum {
    CRC64_STEP = 8,
    LANE_BYTES = 16,
    FOLD_BYTES = 4 * LANE_BYTES,
};

/* Multipliers that move the two halves of a lane on by a distance. */
struct fold_by {
    uint64_t first_half;
    uint64_t second_half;
};

/* Set once by crc64_init, then constant. */
static pthread_once_t crc64_once = PTHREAD_ONCE_INIT;
static uint64_t crc64_tables[CRC64_STEP][256];
static bool crc64_can_fold;
static struct fold_by fold_by_lane;
static struct fold_by fold_by_all_lanes;

/* A reflected polynomial times x. */
static uint64_t crc64_times_x(uint64_t polynomial)
{
    return (polynomial >> 1) ^ ((polynomial & 1) != 0 ? CRC64_POLYNOMIAL : 0);
}

/* x to the power `exponent`, reflected. */
static uint64_t crc64_power(int exponent)
{
    uint64_t power = UINT64_C(1) << 63;
    for (int i = 0; i < exponent; i++)
        power = crc64_times_x(power);
    return power;
}

/* The half that comes first in memory holds the higher powers: it is 64 bits further away. */
static struct fold_by fold_by_bits(int bits)
{
    return (struct fold_by){ .first_half = crc64_power(bits + 64 - 1),
                             .second_half = crc64_power(bits - 1) };
}

static void crc64_tables_init(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint64_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc64_times_x(crc);
        crc64_tables[0][byte] = crc;
    }
    for (size_t k = 1; k < CRC64_STEP; k++) {
        for (size_t byte = 0; byte < 256; byte++) {
            const uint64_t crc = crc64_tables[k - 1][byte];
            crc64_tables[k][byte] = (crc >> 8) ^ crc64_tables[0][crc & 255];
        }
    }
}

/* Both ways work on the remainder as it is, without the inversions at both ends. */
static uint64_t crc64_by_tables(uint64_t crc, const uint8_t *at, size_t left)
{
    for (; left >= CRC64_STEP; left -= CRC64_STEP, at += CRC64_STEP) {
        const uint64_t word = crc ^ get_le64(at);
        crc = crc64_tables[7][word & 255] ^ crc64_tables[6][word >> 8 & 255] ^
              crc64_tables[5][word >> 16 & 255] ^ crc64_tables[4][word >> 24 & 255] ^
              crc64_tables[3][word >> 32 & 255] ^ crc64_tables[2][word >> 40 & 255] ^
              crc64_tables[1][word >> 48 & 255] ^ crc64_tables[0][word >> 56];
    }
    for (; left > 0; left--, at++)
        crc = (crc >> 8) ^ crc64_tables[0][(crc ^ *at) & 255];
    return crc;
}

#if defined(__x86_64__)

#include <immintrin.h>

#define FOLDING __attribute__((target("pclmul")))

static bool cpu_can_fold(void)
{
    return __builtin_cpu_supports("pclmul") != 0;
}

static inline __m128i lane_load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline __m128i fold_load(const struct fold_by *by)
{
    return _mm_set_epi64x((int64_t)by->second_half, (int64_t)by->first_half);
}

/* Move `lane` on by the distance of `by` and add it to what stands there. */
FOLDING static inline __m128i lane_fold(__m128i lane, __m128i by, __m128i onto)
{
    const __m128i first = _mm_clmulepi64_si128(lane, by, 0x00);
    const __m128i second = _mm_clmulepi64_si128(lane, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, second), onto);
}

/* The lanes are four variables, not an array, so that they stay in registers. */
FOLDING static uint64_t crc64_by_folding(uint64_t crc, const uint8_t *at, size_t left)
{
    assert(left >= FOLD_BYTES);
    __m128i a = _mm_xor_si128(lane_load(at), _mm_set_epi64x(0, (int64_t)crc));
    __m128i b = lane_load(at + LANE_BYTES);
    __m128i c = lane_load(at + 2 * LANE_BYTES);
    __m128i d = lane_load(at + 3 * LANE_BYTES);
    at += FOLD_BYTES;
    left -= FOLD_BYTES;

    const __m128i by_all = fold_load(&fold_by_all_lanes);
    for (; left >= FOLD_BYTES; left -= FOLD_BYTES, at += FOLD_BYTES) {
        a = lane_fold(a, by_all, lane_load(at));
        b = lane_fold(b, by_all, lane_load(at + LANE_BYTES));
        c = lane_fold(c, by_all, lane_load(at + 2 * LANE_BYTES));
        d = lane_fold(d, by_all, lane_load(at + 3 * LANE_BYTES));
    }

    const __m128i by_one = fold_load(&fold_by_lane);
    __m128i lane = lane_fold(lane_fold(lane_fold(a, by_one, b), by_one, c), by_one, d);
    for (; left >= LANE_BYTES; left -= LANE_BYTES, at += LANE_BYTES)
        lane = lane_fold(lane, by_one, lane_load(at));

    uint8_t bytes[LANE_BYTES];
    _mm_storeu_si128((__m128i *)(void *)bytes, lane);
    return crc64_by_tables(crc64_by_tables(0, bytes, sizeof(bytes)), at, left);
}

__attribute__((target("avx"))) static void zero_upper_halves(void)
{
    _mm256_zeroupper();
}

/*
 * ISA-L 2.30 returns with the upper halves of the vector registers in use, which makes every
 * SSE instruction of the thread slower from then on (CRC-64 to less than half its speed).
 */
static void cpu_leave_wide_mode(void)
{
    if (__builtin_cpu_supports("avx"))
        zero_upper_halves();
}

#else

static bool cpu_can_fold(void)
{
    return false;
}

static uint64_t crc64_by_folding(uint64_t crc, const uint8_t *at, size_t left)
{
    return crc64_by_tables(crc, at, left);
}

static void cpu_leave_wide_mode(void)
{
}

#endif

static void crc64_init(void)
{
    crc64_tables_init();
    fold_by_lane = fold_by_bits(8 * LANE_BYTES);
    fold_by_all_lanes = fold_by_bits(8 * FOLD_BYTES);
    crc64_can_fold = cpu_can_fold();
}

uint64_t digest_crc64(uint64_t crc, struct slice bytes)
{
    pthread_once(&crc64_once, crc64_init);
    const uint8_t *const data = (const uint8_t *)bytes.data;
    if (crc64_can_fold && bytes.len >= FOLD_BYTES)
        return ~crc64_by_folding(~crc, data, bytes.len);
    return ~crc64_by_tables(~crc, data, bytes.len);
}

void digest_crc64_bytes(uint64_t crc, uint8_t bytes[DIGEST_CRC64_BYTES])
{
    put_le64(bytes, crc);
}

uint32_t digest_crc32c(uint32_t crc, struct slice bytes)
{
    /* ISA-L takes an int for a length and leaves the inversions to its caller. */
    const size_t piece_max = (size_t)INT_MAX & ~(size_t)4095;
    crc = ~crc;
    while (bytes.len > 0) {
        const struct slice piece = slice_head(bytes, piece_max);
        /* It does not write to the buffer, although its type would let it. */
        crc = crc32_iscsi((unsigned char *)(uintptr_t)piece.data, (int)piece.len, crc);
        bytes = slice_from(bytes, piece.len);
    }
    cpu_leave_wide_mode();
    return ~crc;
}

void digest_hmac_key_init(struct digest_hmac_key *key, struct slice secret)
{
    hmac_sha256_set_key(&key->ctx, secret.len, (const uint8_t *)secret.data);
}

void digest_hmac(const struct digest_hmac_key *key, struct slice text,
                 uint8_t mac[DIGEST_SHA256_BYTES])
{
    struct hmac_sha256_ctx ctx = key->ctx;
    hmac_sha256_update(&ctx, text.len, (const uint8_t *)text.data);
    hmac_sha256_digest(&ctx, DIGEST_SHA256_BYTES, mac);
}

bool digest_equal(const void *a, const void *b, size_t len)
{
    return memeql_sec(a, b, len) != 0;
}
