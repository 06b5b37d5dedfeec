/*
 * test_uuid.c - making, printing and reading ids; forms as .NET's Guid.Parse documents them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "base/uuid.h"

static const struct uuid SAMPLE = { { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc,
                                      0xba, 0x98, 0x76, 0x54, 0x32, 0x10 } };

static void assert_parses(const char *text, const struct uuid *expected)
{
    struct uuid id = { { 0 } };
    assert_int_equal(uuid_parse(slice_of(text), &id), OK);
    assert_true(uuid_equal(&id, expected));
}

static void assert_refused(struct slice text)
{
    struct uuid id = SAMPLE;
    assert_int_equal(uuid_parse(text, &id), ERR_MALFORMED);
    assert_true(uuid_equal(&id, &SAMPLE));
}

static void the_text_is_lower_case_with_dashes(void **state)
{
    (void)state;
    char text[UUID_TEXT_LEN + 1];
    uuid_format(&SAMPLE, text);
    assert_string_equal(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

static void all_five_forms_are_read_in_either_case(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "0123456789abcdeffedcba9876543210",
        "0123456789ABCDEFFEDCBA9876543210",
        "01234567-89ab-cdef-fedc-ba9876543210",
        "01234567-89AB-CDEF-FEDC-BA9876543210",
        "{01234567-89ab-cdef-fedc-ba9876543210}",
        "(01234567-89aB-CdeF-fEdc-ba9876543210)",
        "{0x01234567,0x89ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}}",
        "{0X1234567,0X89AB,0XCDEF,{0XFE,0XDC,0XBA,0X98,0X76,0X54,0X32,0X10}}",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        assert_parses(forms[i], &SAMPLE);
}

static void the_x_form_may_leave_out_leading_zeros(void **state)
{
    (void)state;
    const struct uuid expected = { { 0, 0, 0, 1, 0, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 0 } };
    assert_parses("{0x1,0x2,0x3,{0x4,0x5,0x6,0x7,0x8,0x9,0xa,0x0}}", &expected);
    assert_parses("{0x0000000001,0x00002,0x003,{0x4,0x5,0x6,0x7,0x8,0x9,0xa,0x0}}", &expected);
}

static void malformed_text_is_refused_and_the_id_untouched(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "x",
        "0123456789abcdeffedcba987654321",
        "0123456789abcdeffedcba98765432100",
        "0123456789abcdeffedcba987654321g",
        "g123456789abcdeffedcba9876543210",
        "01234567-89ab-cdef-fedc-ba987654321",
        "01234567-89ab-cdef-fedc-ba98765432100",
        "01234567-89ab-cdef-fedcb-a9876543210",
        "0123456-789ab-cdef-fedc-ba9876543210",
        "01234567_89ab_cdef_fedc_ba9876543210",
        "01234567-89ab-cdef-fedcba98765432100",
        "{01234567-89ab-cdef-fedc-ba9876543210",
        "01234567-89ab-cdef-fedc-ba9876543210}",
        "{01234567-89ab-cdef-fedc-ba9876543210)",
        "(01234567-89ab-cdef-fedc-ba9876543210}",
        "[01234567-89ab-cdef-fedc-ba9876543210]",
        "{0123456789abcdeffedcba9876543210}",
        " 01234567-89ab-cdef-fedc-ba9876543210",
        "{0x01234567,0x89ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}",
        "{0x01234567,0x89ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}}}",
        "{0x01234567,0x89ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32}}",
        "{0x01234567,0x89ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10,0x11}}",
        "{0x101234567,0x89ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}}",
        "{0x01234567,0x189ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}}",
        "{0x01234567,0x89ab,0xcdef,{0x1fe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}}",
        "{0x01234567,0x,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}}",
        "{01234567,89ab,cdef,{fe,dc,ba,98,76,54,32,10}}",
        "{0x01234567,0x89ab,0xcdef,0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_refused(slice_of(texts[i]));
}

static void every_prefix_of_every_form_but_the_whole_is_refused(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "0123456789abcdeffedcba9876543210",
        "{01234567-89ab-cdef-fedc-ba9876543210}",
        "{0x01234567,0x89ab,0xcdef,{0xfe,0xdc,0xba,0x98,0x76,0x54,0x32,0x10}}",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        for (size_t len = 0; len < strlen(forms[i]); len++)
            assert_refused(slice_make(forms[i], len));
    }
}

static void any_changed_character_is_refused(void **state)
{
    (void)state;
    char text[UUID_TEXT_LEN + 1];
    for (size_t i = 0; i < UUID_TEXT_LEN; i++) {
        uuid_format(&SAMPLE, text);
        text[i] = '/';
        assert_refused(slice_make(text, UUID_TEXT_LEN));
        text[i] = '\0';
        assert_refused(slice_make(text, UUID_TEXT_LEN));
    }
}

static void assert_version_4(const struct uuid *id)
{
    assert_int_equal(id->bytes[6] >> 4, 4);
    assert_int_equal(id->bytes[8] >> 6, 2);
    assert_false(uuid_is_nil(id));
}

static void made_ids_are_version_4_and_survive_their_text(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++) {
        const struct uuid id = i % 2 == 0 ? uuid_random() : uuid_quick();
        assert_version_4(&id);
        char text[UUID_TEXT_LEN + 1];
        uuid_format(&id, text);
        assert_int_equal(strlen(text), UUID_TEXT_LEN);
        assert_parses(text, &id);
    }
}

static void every_free_bit_of_made_ids_varies(void **state)
{
    (void)state;
    struct uuid (*const makers[])(void) = { uuid_random, uuid_quick };
    for (size_t maker = 0; maker < 2; maker++) {
        struct uuid ones = { { 0 } };
        struct uuid zeros = { { 0 } };
        for (int i = 0; i < 200; i++) {
            const struct uuid id = makers[maker]();
            for (size_t at = 0; at < sizeof(id.bytes); at++) {
                ones.bytes[at] |= id.bytes[at];
                zeros.bytes[at] |= (uint8_t)~id.bytes[at];
            }
        }
        for (size_t at = 0; at < sizeof(ones.bytes); at++) {
            const int fixed = at == 6 ? 0xf0 : at == 8 ? 0xc0 : 0;
            assert_int_equal((ones.bytes[at] & zeros.bytes[at]) | fixed, 0xff);
        }
    }
}

enum {
    THREADS = 4,
    IDS_EACH = 64,
};

static struct uuid made[THREADS][IDS_EACH];

static void *make_ids(void *arg)
{
    struct uuid *const ids = arg;
    for (size_t i = 0; i < IDS_EACH; i++)
        ids[i] = uuid_quick();
    return NULL;
}

static void quick_ids_differ_within_and_between_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_ids, made[i]), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    const struct uuid *const all = &made[0][0];
    for (size_t i = 0; i < (size_t)THREADS * IDS_EACH; i++) {
        assert_version_4(&all[i]);
        for (size_t j = 0; j < i; j++)
            assert_false(uuid_equal(&all[i], &all[j]));
    }
}

static void only_zero_bytes_are_nil(void **state)
{
    (void)state;
    struct uuid id = { { 0 } };
    assert_true(uuid_is_nil(&id));
    assert_parses("00000000-0000-0000-0000-000000000000", &id);
    id.bytes[15] = 1;
    assert_false(uuid_is_nil(&id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_lower_case_with_dashes),
        cmocka_unit_test(all_five_forms_are_read_in_either_case),
        cmocka_unit_test(the_x_form_may_leave_out_leading_zeros),
        cmocka_unit_test(malformed_text_is_refused_and_the_id_untouched),
        cmocka_unit_test(every_prefix_of_every_form_but_the_whole_is_refused),
        cmocka_unit_test(any_changed_character_is_refused),
        cmocka_unit_test(made_ids_are_version_4_and_survive_their_text),
        cmocka_unit_test(every_free_bit_of_made_ids_varies),
        cmocka_unit_test(quick_ids_differ_within_and_between_threads),
        cmocka_unit_test(only_zero_bytes_are_nil),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
