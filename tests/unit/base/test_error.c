/*
 * test_error.c - the list of errors against its names and sentences.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/error.h"

#define X(name, text) name,
static const enum err all[] = { ERR_LIST(X) };
#undef X

#define X(name, text) #name,
static const char *const names[] = { ERR_LIST(X) };
#undef X

static void success_is_zero(void **state)
{
    (void)state;
    assert_int_equal(OK, 0);
    assert_string_equal(error_name(OK), "OK");
    assert_string_equal(error_text(OK), "success");
}

static void every_error_has_its_own_name_and_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_string_equal(error_name(all[i]), names[i]);
        assert_true(strlen(error_text(all[i])) > 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(error_text(all[i]), error_text(all[j]));
    }
}

static void names_belong_to_their_numbers(void **state)
{
    (void)state;
    assert_string_equal(error_name(ERR_CORRUPT), "ERR_CORRUPT");
    assert_string_equal(error_text(ERR_NO_SPACE), "the disk is full");
    assert_string_equal(error_name(ERR_LEASE_LOST), "ERR_LEASE_LOST");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_is_zero),
        cmocka_unit_test(every_error_has_its_own_name_and_a_sentence),
        cmocka_unit_test(names_belong_to_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
