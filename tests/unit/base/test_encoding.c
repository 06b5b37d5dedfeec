/*
 * test_encoding.c - text forms of bytes and numbers: RFC 4648 vectors, round trips over all
 * short lengths, and each class of malformed input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/encoding.h"

static struct arena arena;
static const struct slice UNTOUCHED = SLICE_LITERAL("untouched");

static int clear_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* Bytes that take every value at every length. */
static void fill(char *bytes, size_t len, size_t seed)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)((i + 1) * (2 * seed + 1) * 37 >> 1);
}

static void assert_base64(const char *bytes, const char *text)
{
    char encoded[BASE64_LEN(32) + 1];
    base64_encode(slice_of(bytes), encoded);
    assert_string_equal(encoded, text);
    struct slice decoded;
    assert_int_equal(base64_decode(&arena, slice_of(text), &decoded), OK);
    assert_true(slice_is(decoded, bytes));
}

static void base64_agrees_with_rfc_4648(void **state)
{
    (void)state;
    assert_base64("", "");
    assert_base64("f", "Zg==");
    assert_base64("fo", "Zm8=");
    assert_base64("foo", "Zm9v");
    assert_base64("foob", "Zm9vYg==");
    assert_base64("fooba", "Zm9vYmE=");
    assert_base64("foobar", "Zm9vYmFy");
    assert_base64("\xfb\xff\xbf", "+/+/");
}

static void base64_round_trips_at_every_length(void **state)
{
    (void)state;
    char bytes[300];
    char text[BASE64_LEN(300) + 1];
    for (size_t len = 0; len <= 300; len++) {
        fill(bytes, len, len);
        memset(text, '!', sizeof(text));
        base64_encode(slice_make(bytes, len), text);
        assert_int_equal(strlen(text), BASE64_LEN(len));
        struct slice decoded;
        assert_int_equal(base64_decode(&arena, slice_of(text), &decoded), OK);
        assert_true(slice_equal(decoded, slice_make(bytes, len)));
        arena_clear(&arena);
    }
}

static void assert_not_base64(struct slice text)
{
    struct slice bytes = UNTOUCHED;
    assert_int_equal(base64_decode(&arena, text, &bytes), ERR_MALFORMED);
    assert_ptr_equal(bytes.data, UNTOUCHED.data);
    assert_int_equal(bytes.len, UNTOUCHED.len);
}

static void base64_of_a_wrong_length_is_refused(void **state)
{
    (void)state;
    for (size_t len = 0; len <= 40; len++) {
        char text[40];
        memset(text, 'A', sizeof(text));
        if (len % 4 != 0)
            assert_not_base64(slice_make(text, len));
    }
}

static void base64_with_any_other_character_is_refused(void **state)
{
    (void)state;
    const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int byte = 0; byte < 256; byte++) {
        const bool valid = memchr(alphabet, byte, sizeof(alphabet) - 1) != NULL;
        for (size_t at = 0; at < 8; at++) {
            char text[] = "AAAAAAAA";
            text[at] = (char)byte;
            struct slice bytes;
            if (valid)
                assert_int_equal(base64_decode(&arena, slice_make(text, 8), &bytes), OK);
            else if (byte != '=' || at < 7)
                assert_not_base64(slice_make(text, 8));
        }
    }
}

static void base64_with_misplaced_padding_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "=",    "==",       "====",     "A===",     "=AAA",     "A=AA",
        "AA=A", "Zg==Zg==", "Zm8=Zm8=", "Zg==AAAA", "AAAA====", "AAAAA==="
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_not_base64(slice_of(texts[i]));
}

static void base64_with_bits_no_byte_uses_is_refused(void **state)
{
    (void)state;
    assert_not_base64(slice_of("Zh=="));
    assert_not_base64(slice_of("Zv=="));
    assert_not_base64(slice_of("Zm9="));
    assert_not_base64(slice_of("Zm+="));
}

static void hex_is_two_lower_case_digits_a_byte(void **state)
{
    (void)state;
    char text[2 * 300 + 1];
    hex_encode((struct slice){ 0 }, text);
    assert_string_equal(text, "");
    hex_encode(slice_make("\x00\x7f\x80\xff\xa5", 5), text);
    assert_string_equal(text, "007f80ffa5");

    char bytes[300];
    for (size_t len = 0; len <= 300; len++) {
        fill(bytes, len, len);
        hex_encode(slice_make(bytes, len), text);
        assert_int_equal(strlen(text), 2 * len);
        for (size_t i = 0; i < len; i++) {
            char expected[3];
            snprintf(expected, sizeof(expected), "%02x", (unsigned)(unsigned char)bytes[i]);
            assert_memory_equal(text + 2 * i, expected, 2);
        }
    }
}

static void assert_percent_decodes(const char *text, struct slice expected)
{
    struct slice bytes;
    assert_int_equal(percent_decode(&arena, slice_of(text), &bytes), OK);
    assert_true(slice_equal(bytes, expected));
}

static void percent_decoding_replaces_escapes_only(void **state)
{
    (void)state;
    assert_percent_decodes("%41", slice_of("A"));
    assert_percent_decodes("a%2fb%2Fc", slice_of("a/b/c"));
    assert_percent_decodes("a+b%20c", slice_of("a+b c"));
    assert_percent_decodes("%25%32%35", slice_of("%25"));
    assert_percent_decodes("x%00y", slice_make("x\0y", 3));
    assert_percent_decodes("%c3%A9", slice_of("\xc3\xa9"));
}

static void text_without_percent_signs_is_not_copied(void **state)
{
    (void)state;
    const struct slice text = slice_of("a+b/c");
    struct slice bytes;
    assert_int_equal(percent_decode(&arena, text, &bytes), OK);
    assert_ptr_equal(bytes.data, text.data);
    assert_int_equal(bytes.len, text.len);
    assert_int_equal(percent_decode(&arena, (struct slice){ 0 }, &bytes), OK);
    assert_int_equal(bytes.len, 0);
    assert_int_equal(arena_size_bytes(&arena), 0);
}

static void a_percent_sign_without_two_digits_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "%",     "a%",  "%4",  "a%4",  "%%41", "%4%41",
                                         "%g0",   "%0g", "%-1", "% 41", "%0x",  "%41%",
                                         "%41%4", "%:0", "%/0", "%@0",  "%`0" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct slice bytes = UNTOUCHED;
        assert_int_equal(percent_decode(&arena, slice_of(texts[i]), &bytes), ERR_MALFORMED);
        assert_ptr_equal(bytes.data, UNTOUCHED.data);
    }
    /* The digits behind the end of the slice are not its own. */
    struct slice bytes = UNTOUCHED;
    assert_int_equal(percent_decode(&arena, slice_make("%41", 2), &bytes), ERR_MALFORMED);
}

static void percent_encoding_keeps_unreserved_characters_and_slashes(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        const char raw = (char)byte;
        const bool kept = byte != 0 && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789-._~/",
                                              byte) != NULL;
        char expected[4];
        snprintf(expected, sizeof(expected), kept ? "%c" : "%%%02X", byte);
        assert_true(slice_is(percent_encode_path(&arena, slice_make(&raw, 1)), expected));
    }
    assert_true(slice_is(percent_encode_path(&arena, slice_of("a b/c+d%")), "a%20b/c%2Bd%25"));
    assert_int_equal(percent_encode_path(&arena, (struct slice){ 0 }).len, 0);
}

static void percent_encoding_round_trips_at_every_length(void **state)
{
    (void)state;
    char bytes[300];
    for (size_t len = 0; len <= 300; len++) {
        fill(bytes, len, len);
        const struct slice text = percent_encode_path(&arena, slice_make(bytes, len));
        struct slice decoded;
        assert_int_equal(percent_decode(&arena, text, &decoded), OK);
        assert_true(slice_equal(decoded, slice_make(bytes, len)));
        arena_clear(&arena);
    }
}

static void decimal_numbers_are_read_up_to_their_limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = { { "0", 0 },
                  { "00", 0 },
                  { "007", 7 },
                  { "9", 9 },
                  { "10", 10 },
                  { "18446744073709551609", UINT64_MAX - 6 },
                  { "18446744073709551615", UINT64_MAX },
                  { "00000000000000000000018446744073709551615", UINT64_MAX } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t value = 42;
        assert_int_equal(decimal_parse_u64(slice_of(cases[i].text), &value), OK);
        assert_true(value == cases[i].value);
    }
}

static void what_is_not_an_unsigned_number_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "",
                                         "-",
                                         "+1",
                                         "-1",
                                         " 1",
                                         "1 ",
                                         "1a",
                                         "a1",
                                         "0x10",
                                         "1.0",
                                         "1,0",
                                         "18446744073709551616",
                                         "/",
                                         ":",
                                         "1e3",
                                         "--1",
                                         "99999999999999999999",
                                         "184467440737095516150" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t value = 42;
        assert_int_equal(decimal_parse_u64(slice_of(texts[i]), &value), ERR_MALFORMED);
        assert_int_equal(value, 42);
    }
    uint64_t value = 42;
    assert_int_equal(decimal_parse_u64(slice_make("1\0", 2), &value), ERR_MALFORMED);
    assert_int_equal(value, 42);
}

static void signed_numbers_reach_both_ends(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = { { "0", 0 },
                  { "-0", 0 },
                  { "-1", -1 },
                  { "15", 15 },
                  { "9223372036854775807", INT64_MAX },
                  { "-9223372036854775807", -INT64_MAX },
                  { "-9223372036854775808", INT64_MIN } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 42;
        assert_int_equal(decimal_parse_i64(slice_of(cases[i].text), &value), OK);
        assert_true(value == cases[i].value);
    }
}

static void what_is_not_a_signed_number_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "",
                                         "-",
                                         "--1",
                                         "+1",
                                         "- 1",
                                         " -1",
                                         "1-",
                                         "9223372036854775808",
                                         "-1.5",
                                         "-a",
                                         "-9223372036854775809",
                                         "18446744073709551615" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t value = 42;
        assert_int_equal(decimal_parse_i64(slice_of(texts[i]), &value), ERR_MALFORMED);
        assert_int_equal(value, 42);
    }
}

/* Write `point` in the form its size calls for, surrogates included. */
static size_t encode_point(uint32_t point, uint8_t *at)
{
    if (point < 0x80) {
        at[0] = (uint8_t)point;
        return 1;
    }
    const size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    const uint8_t marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = len - 1; i > 0; i--, point >>= 6)
        at[i] = (uint8_t)(0x80 | (point & 63));
    at[0] = (uint8_t)(marks[len] | point);
    return len;
}

static void every_code_point_but_surrogates_is_valid_utf8(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x120000; point++) {
        uint8_t bytes[4];
        const size_t len = encode_point(point, bytes);
        const bool valid = point < 0xd800 || (point > 0xdfff && point <= 0x10ffff);
        if (utf8_is_valid(slice_make(bytes, len)) != valid)
            fail_msg("U+%04X", (unsigned)point);
        /* Cut short, no sequence is valid. */
        if (len > 1)
            assert_false(utf8_is_valid(slice_make(bytes, len - 1)));
    }
}

static void overlong_forms_and_stray_bytes_are_not_utf8(void **state)
{
    (void)state;
    static const char *const texts[] = { "\x80",
                                         "\xbf",
                                         "\xc0\x80",
                                         "\xc1\xbf",
                                         "\xe0\x80\x80",
                                         "\xe0\x9f\xbf",
                                         "\xf0\x80\x80\x80",
                                         "\xf0\x8f\xbf\xbf",
                                         "\xf5\x80\x80\x80",
                                         "\xff",
                                         "\xfe",
                                         "\xc3\x28",
                                         "\xe2\x28\xa1",
                                         "\xe2\x82\x28",
                                         "\xf0\x90\x28\xbc",
                                         "\xc3\xa9\xa9",
                                         "\xf8\x88\x80\x80\x80" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(utf8_is_valid(slice_of(texts[i])));
}

static void a_bad_byte_is_seen_at_every_offset(void **state)
{
    (void)state;
    assert_true(utf8_is_valid((struct slice){ 0 }));
    char text[64];
    for (size_t len = 1; len <= sizeof(text); len++) {
        memset(text, 'a', sizeof(text));
        assert_true(utf8_is_valid(slice_make(text, len)));
        for (size_t at = 0; at < len; at++) {
            memset(text, 'a', sizeof(text));
            text[at] = '\x80';
            assert_false(utf8_is_valid(slice_make(text, len)));
            if (at + 1 < len) {
                memcpy(text + at, "\xc3\xa9", 2);
                assert_true(utf8_is_valid(slice_make(text, len)));
            }
        }
    }
}

static void integers_are_laid_out_as_named_and_read_back(void **state)
{
    (void)state;
    uint8_t at[8];
    put_be16(at, 0x0102);
    assert_memory_equal(at, "\x01\x02", 2);
    put_be32(at, 0x81020304);
    assert_memory_equal(at, "\x81\x02\x03\x04", 4);
    assert_int_equal(get_be32(at), 0x81020304);
    put_le32(at, 0x81020304);
    assert_memory_equal(at, "\x04\x03\x02\x81", 4);
    assert_int_equal(get_le32(at), 0x81020304);
    put_be64(at, UINT64_C(0x8102030405060708));
    assert_memory_equal(at, "\x81\x02\x03\x04\x05\x06\x07\x08", 8);
    assert_true(get_be64(at) == UINT64_C(0x8102030405060708));
    put_le64(at, UINT64_C(0x8102030405060708));
    assert_memory_equal(at, "\x08\x07\x06\x05\x04\x03\x02\x81", 8);
    assert_true(get_le64(at) == UINT64_C(0x8102030405060708));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(base64_agrees_with_rfc_4648, clear_arena),
        cmocka_unit_test_teardown(base64_round_trips_at_every_length, clear_arena),
        cmocka_unit_test_teardown(base64_of_a_wrong_length_is_refused, clear_arena),
        cmocka_unit_test_teardown(base64_with_any_other_character_is_refused, clear_arena),
        cmocka_unit_test_teardown(base64_with_misplaced_padding_is_refused, clear_arena),
        cmocka_unit_test_teardown(base64_with_bits_no_byte_uses_is_refused, clear_arena),
        cmocka_unit_test(hex_is_two_lower_case_digits_a_byte),
        cmocka_unit_test_teardown(percent_decoding_replaces_escapes_only, clear_arena),
        cmocka_unit_test_teardown(text_without_percent_signs_is_not_copied, clear_arena),
        cmocka_unit_test_teardown(a_percent_sign_without_two_digits_is_refused, clear_arena),
        cmocka_unit_test_teardown(percent_encoding_keeps_unreserved_characters_and_slashes,
                                  clear_arena),
        cmocka_unit_test_teardown(percent_encoding_round_trips_at_every_length, clear_arena),
        cmocka_unit_test(decimal_numbers_are_read_up_to_their_limits),
        cmocka_unit_test(what_is_not_an_unsigned_number_is_refused),
        cmocka_unit_test(signed_numbers_reach_both_ends),
        cmocka_unit_test(what_is_not_a_signed_number_is_refused),
        cmocka_unit_test(every_code_point_but_surrogates_is_valid_utf8),
        cmocka_unit_test(overlong_forms_and_stray_bytes_are_not_utf8),
        cmocka_unit_test(a_bad_byte_is_seen_at_every_offset),
        cmocka_unit_test(integers_are_laid_out_as_named_and_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
