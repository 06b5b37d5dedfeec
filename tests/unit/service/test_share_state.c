#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/arena.h"
#include "service/file/share_state.h"

static void the_state_of_a_share_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct share_state written = { .last_instant = 77, .past_due = 66, .used_bytes = 88 };
    struct share_state read;
    assert_int_equal(share_state_decode(share_state_encode(&arena, &written), &read), OK);
    assert_int_equal(read.last_instant, 77);
    assert_int_equal(read.past_due, 66);
    assert_int_equal(read.used_bytes, 88);
    const struct share_state none = { 0 };
    assert_int_equal(share_state_decode(share_state_encode(&arena, &none), &read), OK);
    assert_int_equal(read.last_instant, 0);
    assert_int_equal(share_state_decode(slice_of("x"), &read), ERR_CORRUPT);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_of_a_share_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
