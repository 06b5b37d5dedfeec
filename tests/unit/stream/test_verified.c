/*
 * test_verified.c - only blocks that were found good a short while ago, in a file that was not
 * touched since, may be sent without being read.  On a real disk: a simulated one has nothing to
 * send from.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "stream/stream.h"
#include "stream_fixture.h"

enum {
    BLOCK = STREAM_BLOCK_BYTES,
    LENGTH = 3 * BLOCK + 1000,
    SEED = 7,
};

struct fixture {
    char path[64];
    struct io *io;
    struct clock clock;
    struct stream *stream;
    struct stream_range range;
    struct stream_pin *pin;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/zaffre_test_verified_XXXXXX");
    if (mkdtemp(fixture->path) == NULL || io_linux_new(fixture->path, &fixture->io) != OK)
        return -1;
    clock_init_manual(&fixture->clock, CLOCK_UNIX_EPOCH_TICKS);
    if (stream_open_with(fixture->io, &fixture->clock, &fixture_options, &fixture->stream) != OK)
        return -1;
    /* Not the first range of its extent, so that offsets in the file and in the range differ. */
    struct stream_range before;
    if (fixture_store(fixture->stream, 1, 5000, &before) != OK ||
        fixture_store(fixture->stream, SEED, LENGTH, &fixture->range) != OK ||
        stream_pin(fixture->stream, &fixture->range, &fixture->pin) != OK)
        return -1;
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    stream_unpin(fixture->pin);
    stream_close(fixture->stream);
    io_free(fixture->io);
    char command[96];
    snprintf(command, sizeof(command), "rm -r %s", fixture->path);
    const int removed = system(command);
    free(fixture);
    return removed;
}

static enum err read_part(struct fixture *fixture, uint64_t offset, size_t len)
{
    char *buf = malloc(len);
    const enum err err = stream_read(fixture->pin, offset, buf, len);
    free(buf);
    return err;
}

static bool may_send(struct fixture *fixture, uint64_t offset, uint64_t len)
{
    uint64_t at = 0;
    const int descriptor = stream_pin_descriptor(fixture->pin, offset, len, &at);
    if (descriptor >= 0)
        assert_int_equal(at, fixture->range.offset + offset);
    return descriptor >= 0;
}

/* Change a byte of the extent, as somebody who should not. */
static void damage(struct fixture *fixture, uint64_t offset)
{
    uint64_t at;
    const int descriptor = stream_pin_descriptor(fixture->pin, 0, 1, &at);
    assert_true(descriptor >= 0);
    char byte;
    const off_t where = (off_t)(fixture->range.offset + offset);
    assert_int_equal(pread(descriptor, &byte, 1, where), 1);
    byte = (char)(byte ^ 1);
    assert_int_equal(pwrite(descriptor, &byte, 1, where), 1);
    /* Not within one step of the system's clock for files. */
    const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    assert_int_equal(futimens(descriptor, times), 0);
}

static void bytes_that_were_not_read_are_not_sent(void **state)
{
    struct fixture *fixture = *state;
    assert_false(may_send(fixture, 0, LENGTH));
    assert_false(may_send(fixture, 0, 1));
}

static void bytes_that_were_found_good_are_sent(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(read_part(fixture, 0, LENGTH), OK);
    assert_true(may_send(fixture, 0, LENGTH));
    assert_true(may_send(fixture, BLOCK - 1, 2));
    assert_true(may_send(fixture, LENGTH - 1, 1));
}

static void only_blocks_that_were_read_are_sent(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(read_part(fixture, BLOCK + 10, 20), OK);
    assert_true(may_send(fixture, BLOCK, BLOCK));
    assert_false(may_send(fixture, BLOCK - 1, 2));
    assert_false(may_send(fixture, 2 * BLOCK - 1, 2));
    assert_int_equal(read_part(fixture, 2 * BLOCK, LENGTH - 2 * BLOCK), OK);
    assert_true(may_send(fixture, BLOCK, LENGTH - BLOCK));
    assert_false(may_send(fixture, 0, LENGTH));
}

static void other_pins_of_the_range_may_send_them_too(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(fixture_check(fixture->stream, &fixture->range, SEED), OK);
    assert_true(may_send(fixture, 0, LENGTH));
}

static void a_block_says_nothing_of_the_next_range(void **state)
{
    struct fixture *fixture = *state;
    struct stream_range next;
    assert_int_equal(fixture_store(fixture->stream, 2, LENGTH, &next), OK);
    assert_int_equal(read_part(fixture, 0, LENGTH), OK);
    struct stream_pin *pin;
    uint64_t at;
    assert_int_equal(stream_pin(fixture->stream, &next, &pin), OK);
    assert_int_equal(stream_pin_descriptor(pin, 0, 1, &at), -1);
    stream_unpin(pin);
}

static void a_file_that_was_written_to_is_read_again(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(read_part(fixture, 0, LENGTH), OK);
    damage(fixture, 2 * BLOCK + 5);
    assert_false(may_send(fixture, 0, 1));
    assert_int_equal(read_part(fixture, 0, 2 * BLOCK), OK);
    assert_int_equal(read_part(fixture, 2 * BLOCK, BLOCK), ERR_CORRUPT);
    assert_true(may_send(fixture, 0, 2 * BLOCK));
    assert_false(may_send(fixture, 0, LENGTH));
}

static void what_was_read_long_ago_is_read_again(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(read_part(fixture, 0, BLOCK), OK);
    clock_shift(&fixture->clock, 29 * CLOCK_TICKS_PER_SEC);
    assert_true(may_send(fixture, 0, BLOCK));
    assert_int_equal(read_part(fixture, BLOCK, BLOCK), OK);
    clock_shift(&fixture->clock, CLOCK_TICKS_PER_SEC);
    assert_false(may_send(fixture, 0, BLOCK));
}

int main(void)
{
    log_set_level(LOG_ERROR);
#define WITH_FILE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_FILE(bytes_that_were_not_read_are_not_sent),
        WITH_FILE(bytes_that_were_found_good_are_sent),
        WITH_FILE(only_blocks_that_were_read_are_sent),
        WITH_FILE(other_pins_of_the_range_may_send_them_too),
        WITH_FILE(a_block_says_nothing_of_the_next_range),
        WITH_FILE(a_file_that_was_written_to_is_read_again),
        WITH_FILE(what_was_read_long_ago_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
