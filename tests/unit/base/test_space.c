/*
 * test_space.c - what is left of a disk is promised once, and its reserve to nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/log.h"
#include "base/space.h"

enum {
    PAGE = 4096,
    DISK_BYTES = 1600 * PAGE,
    RESERVE_BYTES = 50 * PAGE,
};

struct fixture {
    struct io *io;
    struct io_file *file;
    struct space space;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->io = io_memory_new_untracked(DISK_BYTES);
    if (io_file_open(fixture->io, "file", IO_OPEN_CREATE, &fixture->file) != OK)
        return -1;
    space_init(&fixture->space, fixture->io, RESERVE_BYTES);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    io_file_close(fixture->file);
    io_free(fixture->io);
    free(fixture);
    return 0;
}

/* Let the first `pages` of the disk be taken, by others or by us. */
static void take(struct fixture *fixture, unsigned pages)
{
    static const char zeroes[PAGE] = { 1 };
    assert_int_equal(io_file_truncate(fixture->file, 0), OK);
    for (unsigned i = 0; i < pages; i++)
        assert_int_equal(io_file_write(fixture->file, (uint64_t)i * PAGE, slice_make(zeroes, PAGE)),
                         OK);
}

/* The disk is looked at again only a moment later; a new space looks at once. */
static bool is_low(struct fixture *fixture)
{
    struct space space;
    space_init(&space, fixture->io, RESERVE_BYTES);
    return space_is_low(&space);
}

static void what_fits_beside_the_reserve_is_promised(void **state)
{
    struct fixture *fixture = *state;
    assert_false(space_promise(&fixture->space, DISK_BYTES - RESERVE_BYTES + 1));
    assert_true(space_promise(&fixture->space, DISK_BYTES - RESERVE_BYTES));
    assert_false(space_promise(&fixture->space, 1));
}

static void what_is_promised_is_not_promised_again(void **state)
{
    struct fixture *fixture = *state;
    assert_true(space_promise(&fixture->space, 1000 * PAGE));
    assert_false(space_promise(&fixture->space, 1000 * PAGE));
    assert_true(space_promise(&fixture->space, 500 * PAGE));
    space_fulfil(&fixture->space, 1000 * PAGE);
    assert_true(space_promise(&fixture->space, 1000 * PAGE));
}

static void what_is_written_is_counted_once(void **state)
{
    struct fixture *fixture = *state;
    assert_true(space_promise(&fixture->space, 1000 * PAGE));
    take(fixture, 1000);
    space_fulfil(&fixture->space, 1000 * PAGE);
    assert_false(space_promise(&fixture->space, 551 * PAGE));
    assert_true(space_promise(&fixture->space, 550 * PAGE));
}

static void space_is_low_when_only_the_reserve_is_free(void **state)
{
    struct fixture *fixture = *state;
    assert_false(is_low(fixture));
    take(fixture, 1549);
    assert_false(is_low(fixture));
    take(fixture, 1550);
    assert_true(is_low(fixture));
    assert_false(space_promise(&fixture->space, 1));
    take(fixture, 10);
    assert_false(is_low(fixture));
}

static void a_small_disk_has_a_small_reserve(void **state)
{
    struct fixture *fixture = *state;
    space_init(&fixture->space, fixture->io, UINT64_MAX / 2);
    assert_true(space_promise(&fixture->space, DISK_BYTES - DISK_BYTES / SPACE_RESERVE_SHARE));
    assert_false(space_promise(&fixture->space, 1));
}

static void without_a_reserve_the_disk_itself_refuses(void **state)
{
    struct fixture *fixture = *state;
    space_init(&fixture->space, fixture->io, 0);
    take(fixture, 1600);
    assert_false(space_is_low(&fixture->space));
    assert_false(space_promise(&fixture->space, 1));
}

static void no_space_has_no_end(void **state)
{
    (void)state;
    assert_true(space_promise(NULL, UINT64_MAX));
    space_fulfil(NULL, UINT64_MAX);
    assert_false(space_is_low(NULL));
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_fits_beside_the_reserve_is_promised, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_promised_is_not_promised_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_written_is_counted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(space_is_low_when_only_the_reserve_is_free, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_small_disk_has_a_small_reserve, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_reserve_the_disk_itself_refuses, setup, teardown),
        cmocka_unit_test(no_space_has_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
