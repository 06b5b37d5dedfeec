/*
 * test_digest.c - published vectors, and the fast forms against bit-by-bit ones.
 *
 * CRC-64 vectors are recorded answers of the storage services; HMAC vectors are RFC 4231's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/encoding.h"

static uint64_t crc64_slowly(struct slice bytes)
{
    uint64_t crc = UINT64_MAX;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (uint8_t)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1) * UINT64_C(0x9A6C9329AC4BC9B5);
    }
    return ~crc;
}

static uint32_t crc32c_slowly(struct slice bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (uint8_t)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1) * 0x82F63B78U;
    }
    return ~crc;
}

static void fill(char *bytes, size_t len)
{
    uint32_t number = 12345;
    for (size_t i = 0; i < len; i++) {
        number = number * 1664525 + 1013904223;
        bytes[i] = (char)(number >> 24);
    }
}

static void assert_crc64_header(struct slice bytes, const char *expected)
{
    uint8_t wire[DIGEST_CRC64_BYTES];
    char text[BASE64_LEN(DIGEST_CRC64_BYTES) + 1];
    digest_crc64_bytes(digest_crc64(0, bytes), wire);
    base64_encode(slice_make(wire, sizeof(wire)), text);
    assert_string_equal(text, expected);
}

static void crc64_gives_the_values_the_services_send(void **state)
{
    (void)state;
    char letters[1024];
    memset(letters, 'a', sizeof(letters));
    assert_crc64_header(slice_of(""), "AAAAAAAAAAA=");
    assert_crc64_header(slice_of("hello world"), "vo7q9sPVKY0=");
    assert_crc64_header(slice_of("hello 2"), "e6fRwiqBVMY=");
    assert_crc64_header(slice_make(letters, sizeof(letters)), "ov8U1LLnyKc=");
}

static void crc64_has_the_check_value_of_its_catalogue_entry(void **state)
{
    (void)state;
    assert_true(digest_crc64(0, slice_of("123456789")) == UINT64_C(0xAE8B14860A799888));
}

static void crc64_equals_the_slow_one_at_every_length_and_offset(void **state)
{
    (void)state;
    char bytes[2048];
    fill(bytes, sizeof(bytes));
    for (size_t offset = 0; offset < 17; offset++) {
        for (size_t len = 0; len <= 600; len++) {
            const struct slice piece = slice_make(bytes + offset, len);
            assert_true(digest_crc64(0, piece) == crc64_slowly(piece));
        }
    }
    for (size_t len = 600; len <= sizeof(bytes); len += 7) {
        const struct slice piece = slice_make(bytes, len);
        assert_true(digest_crc64(0, piece) == crc64_slowly(piece));
    }
}

static void checksums_can_be_continued_at_any_point(void **state)
{
    (void)state;
    char bytes[700];
    fill(bytes, sizeof(bytes));
    const struct slice whole = slice_make(bytes, sizeof(bytes));
    const uint64_t crc64 = digest_crc64(0, whole);
    const uint32_t crc32c = digest_crc32c(0, whole);
    for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
        const struct slice first = slice_head(whole, cut);
        const struct slice rest = slice_from(whole, cut);
        assert_true(digest_crc64(digest_crc64(0, first), rest) == crc64);
        assert_true(digest_crc32c(digest_crc32c(0, first), rest) == crc32c);
    }
}

static void one_flipped_bit_changes_every_checksum(void **state)
{
    (void)state;
    char bytes[257];
    fill(bytes, sizeof(bytes));
    const struct slice whole = slice_make(bytes, sizeof(bytes));
    const uint64_t crc64 = digest_crc64(0, whole);
    const uint32_t crc32c = digest_crc32c(0, whole);
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        assert_true(digest_crc64(0, whole) != crc64);
        assert_true(digest_crc32c(0, whole) != crc32c);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
}

static void crc32c_is_the_standard_one(void **state)
{
    (void)state;
    assert_int_equal(digest_crc32c(0, (struct slice){ 0 }), 0);
    assert_int_equal(digest_crc32c(0, slice_of("123456789")), 0xE3069283);
    char bytes[32] = { 0 };
    /* RFC 3720, appendix B.4. */
    assert_int_equal(digest_crc32c(0, slice_make(bytes, 32)), 0x8A9136AA);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(digest_crc32c(0, slice_make(bytes, 32)), 0x62A8AB43);
}

static void crc32c_equals_the_slow_one_at_every_length(void **state)
{
    (void)state;
    char bytes[1200];
    fill(bytes, sizeof(bytes));
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        const struct slice piece = slice_make(bytes, len);
        assert_int_equal(digest_crc32c(0, piece), crc32c_slowly(piece));
    }
}

static void *crc64_in_thread(void *arg)
{
    uint64_t *const crc = arg;
    *crc = digest_crc64(0, slice_of("hello world"));
    return NULL;
}

/* Runs first, so that the threads race for the tables. */
static void threads_may_begin_with_crc64_at_once(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    uint64_t crcs[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crc64_in_thread, &crcs[i]), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(crcs[i] == crc64_slowly(slice_of("hello world")));
    }
}

static void assert_hmac(struct slice secret, struct slice text, const char *expected)
{
    struct digest_hmac_key key;
    digest_hmac_key_init(&key, secret);
    /* Twice: signing leaves the key as it was. */
    for (int i = 0; i < 2; i++) {
        uint8_t mac[DIGEST_SHA256_BYTES];
        char hex[2 * DIGEST_SHA256_BYTES + 1];
        digest_hmac(&key, text, mac);
        hex_encode(slice_make(mac, sizeof(mac)), hex);
        assert_string_equal(hex, expected);
    }
}

static void hmac_gives_the_values_of_rfc_4231(void **state)
{
    (void)state;
    char secret[131];
    memset(secret, 0x0b, 20);
    assert_hmac(slice_make(secret, 20), slice_of("Hi There"),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_hmac(slice_of("Jefe"), slice_of("what do ya want for nothing?"),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(secret, 0xaa, sizeof(secret));
    assert_hmac(slice_make(secret, sizeof(secret)),
                slice_of("Test Using Larger Than Block-Size Key - Hash Key First"),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void hmac_of_empty_key_and_text_exists(void **state)
{
    (void)state;
    assert_hmac((struct slice){ 0 }, (struct slice){ 0 },
                "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void equality_sees_every_byte(void **state)
{
    (void)state;
    uint8_t a[64];
    uint8_t b[64];
    memset(a, 0x5a, sizeof(a));
    memset(b, 0x5a, sizeof(b));
    assert_true(digest_equal(a, b, sizeof(a)));
    assert_true(digest_equal(a, b, 0));
    for (size_t bit = 0; bit < 8 * sizeof(b); bit++) {
        b[bit / 8] = (uint8_t)(b[bit / 8] ^ 1U << bit % 8);
        assert_false(digest_equal(a, b, sizeof(a)));
        assert_true(digest_equal(a, b, bit / 8));
        b[bit / 8] = (uint8_t)(b[bit / 8] ^ 1U << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_may_begin_with_crc64_at_once),
        cmocka_unit_test(crc64_gives_the_values_the_services_send),
        cmocka_unit_test(crc64_has_the_check_value_of_its_catalogue_entry),
        cmocka_unit_test(crc64_equals_the_slow_one_at_every_length_and_offset),
        cmocka_unit_test(checksums_can_be_continued_at_any_point),
        cmocka_unit_test(one_flipped_bit_changes_every_checksum),
        cmocka_unit_test(crc32c_is_the_standard_one),
        cmocka_unit_test(crc32c_equals_the_slow_one_at_every_length),
        cmocka_unit_test(hmac_gives_the_values_of_rfc_4231),
        cmocka_unit_test(hmac_of_empty_key_and_text_exists),
        cmocka_unit_test(equality_sees_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
