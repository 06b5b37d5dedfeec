/*
 * test_stream.c - the life of ranges in stream/stream.h, on the simulated disk and on the real
 * one: what is written reads back, damage is found, and space that is not needed is given back,
 * never while a reader needs it.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

struct fixture {
    struct io *io;
    struct clock clock;
    struct stream *stream;
    char path[64]; /* of the real disk */
};

static void open_stream(struct fixture *fixture)
{
    assert_int_equal(
        stream_open_with(fixture->io, &fixture->clock, &fixture_options, &fixture->stream), OK);
}

static int open_memory(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->io = io_memory_new();
    clock_init_manual(&fixture->clock, 1000);
    open_stream(fixture);
    *state = fixture;
    return 0;
}

static int open_linux(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/zaffre_test_stream_XXXXXX");
    if (mkdtemp(fixture->path) == NULL || io_linux_new(fixture->path, &fixture->io) != OK)
        return -1;
    clock_init(&fixture->clock);
    open_stream(fixture);
    *state = fixture;
    return 0;
}

static int close_all(void **state)
{
    struct fixture *fixture = *state;
    stream_close(fixture->stream);
    io_free(fixture->io);
    if (fixture->path[0] != '\0') {
        char command[96];
        snprintf(command, sizeof(command), "rm -r '%s'", fixture->path);
        if (system(command) != 0) /* NOLINT(cert-env33-c): the path is our own */
            return -1;
    }
    free(fixture);
    return 0;
}

static void reopen(struct fixture *fixture)
{
    stream_close(fixture->stream);
    open_stream(fixture);
}

static struct stream_range must_store(struct fixture *fixture, uint64_t seed, uint64_t length)
{
    struct stream_range range;
    assert_int_equal(fixture_store(fixture->stream, seed, length, &range), OK);
    return range;
}

static void must_hold(struct fixture *fixture, const struct stream_range *range, uint64_t seed)
{
    assert_int_equal(fixture_check(fixture->stream, range, seed), OK);
}

static struct io_file *open_extent(struct fixture *fixture, uint64_t extent_id)
{
    char path[64];
    snprintf(path, sizeof(path), "extents/%016" PRIx64 ".ext", extent_id);
    struct io_file *file = NULL;
    assert_int_equal(io_file_open(fixture->io, path, IO_OPEN_EXISTING, &file), OK);
    return file;
}

static bool extent_exists(struct fixture *fixture, uint64_t extent_id)
{
    char path[64];
    snprintf(path, sizeof(path), "extents/%016" PRIx64 ".ext", extent_id);
    struct io_file *file = NULL;
    if (io_file_open(fixture->io, path, IO_OPEN_EXISTING, &file) != OK)
        return false;
    io_file_close(file);
    return true;
}

static bool reads_as_zeroes(struct fixture *fixture, const struct stream_range *range)
{
    const size_t len = (size_t)stream_allocated_bytes(range->length);
    char *bytes = malloc(len);
    size_t got = 0;
    struct io_file *file = open_extent(fixture, range->extent_id);
    assert_int_equal(io_file_read(file, range->offset, bytes, len, &got), OK);
    io_file_close(file);
    bool zeroes = true;
    for (size_t i = 0; i < got; i++)
        zeroes &= bytes[i] == 0;
    free(bytes);
    return zeroes;
}

/* The extents stream_each_unsettled names, and what it says of one of them. */
struct unsettled {
    unsigned count;
    uint64_t wanted_id;
    unsigned wanted_count;
    uint64_t wanted_length;
};

static void see_unsettled(void *arg, uint64_t extent_id, uint64_t length)
{
    struct unsettled *seen = arg;
    seen->count++;
    if (extent_id == seen->wanted_id) {
        seen->wanted_count++;
        seen->wanted_length = length;
    }
}

static struct unsettled unsettled(struct fixture *fixture, uint64_t wanted_id)
{
    struct unsettled seen = { .wanted_id = wanted_id };
    stream_each_unsettled(fixture->stream, see_unsettled, &seen);
    return seen;
}

/* --- writing and reading --- */

static const uint64_t border_lengths[] = {
    1,
    4075,
    4076, /* with one checksum and the trailer exactly a page */
    4077,
    4096,
    STREAM_BLOCK_BYTES - 20,
    STREAM_BLOCK_BYTES - 1,
    STREAM_BLOCK_BYTES,
    STREAM_BLOCK_BYTES + 1,
    2 * STREAM_BLOCK_BYTES,
    3 * STREAM_BLOCK_BYTES + 17,
    FIXTURE_DEDICATED_BYTES - 1,
    FIXTURE_DEDICATED_BYTES,
    FIXTURE_DEDICATED_BYTES + 1,
    FIXTURE_EXTENT_BYTES + 12345,
};
enum {
    BORDER_COUNT = sizeof(border_lengths) / sizeof(border_lengths[0]),
};

static void a_payload_of_any_size_reads_back_however_it_came(void **state)
{
    struct fixture *fixture = *state;
    static const size_t pieces[] = { 999, 4096, STREAM_BLOCK_BYTES, 100001, SIZE_MAX };
    for (size_t i = 0; i < BORDER_COUNT; i++) {
        for (size_t j = 0; j < sizeof(pieces) / sizeof(pieces[0]); j++) {
            struct stream_writer *writer;
            assert_int_equal(
                fixture_write(fixture->stream, i + j, border_lengths[i], pieces[j], &writer), OK);
            const struct stream_range range = stream_writer_range(writer);
            fixture_sync(writer);
            stream_writer_commit(writer);
            assert_int_equal(range.length, border_lengths[i]);
            assert_int_equal(range.offset % STREAM_ALIGN_BYTES, 0);
            must_hold(fixture, &range, i + j);
        }
    }
}

static void payloads_are_still_there_after_reopening(void **state)
{
    struct fixture *fixture = *state;
    struct stream_range ranges[BORDER_COUNT];
    for (size_t i = 0; i < BORDER_COUNT; i++)
        ranges[i] = must_store(fixture, i, border_lengths[i]);
    reopen(fixture);
    for (size_t i = 0; i < BORDER_COUNT; i++)
        must_hold(fixture, &ranges[i], i);
}

static void any_part_of_a_payload_can_be_read(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t length = 3 * STREAM_BLOCK_BYTES + 1000;
    const struct stream_range range = must_store(fixture, 7, length);
    char *bytes = fixture_payload(7, length);
    char *read = malloc((size_t)length);
    struct stream_pin *pin;
    assert_int_equal(stream_pin(fixture->stream, &range, &pin), OK);
    static const uint64_t edges[] = {
        0,
        1,
        STREAM_BLOCK_BYTES - 1,
        STREAM_BLOCK_BYTES,
        STREAM_BLOCK_BYTES + 1,
        2 * STREAM_BLOCK_BYTES,
        3 * STREAM_BLOCK_BYTES,
        3 * STREAM_BLOCK_BYTES + 999,
        3 * STREAM_BLOCK_BYTES + 1000,
    };
    const size_t edge_count = sizeof(edges) / sizeof(edges[0]);
    for (size_t from = 0; from < edge_count; from++) {
        for (size_t to = from; to < edge_count; to++) {
            const size_t len = (size_t)(edges[to] - edges[from]);
            memset(read, 0, (size_t)length);
            assert_int_equal(stream_read(pin, edges[from], read, len), OK);
            assert_memory_equal(read, bytes + edges[from], len);
        }
    }
    stream_unpin(pin);
    free(read);
    free(bytes);
}

static void small_payloads_share_an_extent_and_large_ones_have_their_own(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range small = must_store(fixture, 1, 1000);
    const struct stream_range large = must_store(fixture, 2, FIXTURE_DEDICATED_BYTES);
    const struct stream_range other = must_store(fixture, 3, FIXTURE_DEDICATED_BYTES - 1);
    assert_int_equal(small.extent_id, other.extent_id);
    assert_int_not_equal(small.extent_id, large.extent_id);
    assert_int_equal(large.offset, 0);
    assert_int_equal(small.offset, 0);
    assert_int_equal(other.offset, stream_allocated_bytes(1000));
}

static void a_full_extent_takes_no_more(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range first = must_store(fixture, 1, 1000);
    uint64_t end = 0;
    for (uint64_t seed = 2; end < FIXTURE_EXTENT_BYTES; seed++) {
        const struct stream_range range = must_store(fixture, seed, 250000);
        assert_int_equal(range.extent_id, first.extent_id);
        end = range.offset + stream_allocated_bytes(250000);
    }
    const struct stream_range next = must_store(fixture, 99, 1000);
    assert_int_not_equal(next.extent_id, first.extent_id);
    assert_int_equal(next.offset, 0);
}

static void an_old_extent_is_not_appended_to(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range before = must_store(fixture, 1, 1000);
    reopen(fixture);
    const struct stream_range after = must_store(fixture, 2, 1000);
    assert_int_not_equal(before.extent_id, after.extent_id);
    must_hold(fixture, &before, 1);
}

static void allocated_bytes_are_whole_pages_with_room_for_checksums(void **state)
{
    (void)state;
    assert_int_equal(stream_allocated_bytes(1), 4096);
    assert_int_equal(stream_allocated_bytes(4076), 4096);
    assert_int_equal(stream_allocated_bytes(4077), 8192);
    assert_int_equal(stream_allocated_bytes(65536), 65536 + 4096);
    assert_int_equal(stream_allocated_bytes(UINT64_C(5000) * 1024 * 1024),
                     UINT64_C(5000) * 1024 * 1024 + 80000 * 4 + 4096 - 80000 * 4 % 4096);
}

static void note_synced(void *arg)
{
    ++*(unsigned *)arg;
}

static void a_stream_by_step_syncs_when_it_is_told_to(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_options by_step = { .extent_bytes = 1 << 20,
                                            .dedicated_bytes = 4096,
                                            .by_step = true };
    const char bytes[5000] = "payload";
    struct stream_writer *writers[2];
    const size_t lengths[] = { 100, sizeof(bytes) }; /* one for each syncer */
    unsigned synced_count = 0;
    stream_close(fixture->stream);
    assert_int_equal(stream_open_with(fixture->io, &fixture->clock, &by_step, &fixture->stream),
                     OK);
    stream_step(fixture->stream);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(stream_writer_new(fixture->stream, lengths[i], &writers[i]), OK);
        assert_int_equal(stream_writer_append(writers[i], slice_make(bytes, lengths[i])), OK);
        assert_int_equal(stream_writer_finish(writers[i]), OK);
        stream_writer_sync(writers[i], note_synced, &synced_count);
    }
    assert_int_equal(synced_count, 0);
    stream_step(fixture->stream);
    assert_int_equal(synced_count, 2);
    stream_writer_commit(writers[0]);
    stream_writer_abort(writers[1]);
}

static void more_extents_can_be_read_than_are_kept_open(void **state)
{
    struct fixture *fixture = *state;
    enum { COUNT = 300 };
    static struct stream_range ranges[COUNT];
    static struct stream_pin *pins[COUNT];
    struct stream_options tiny = { .extent_bytes = 4096, .dedicated_bytes = 4096 };
    stream_close(fixture->stream);
    assert_int_equal(stream_open_with(fixture->io, &fixture->clock, &tiny, &fixture->stream), OK);
    for (size_t i = 0; i < COUNT; i++)
        ranges[i] = must_store(fixture, i, 100);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++)
            must_hold(fixture, &ranges[i], i);
    }
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(stream_pin(fixture->stream, &ranges[i], &pins[i]), OK);
    for (size_t i = 0; i < COUNT; i++) {
        must_hold(fixture, &ranges[i], i);
        stream_unpin(pins[i]);
    }
}

static void a_real_pin_has_a_descriptor_for_sendfile(void **state)
{
    struct fixture *fixture = *state;
    must_store(fixture, 1, 5000);
    const uint64_t length = STREAM_BLOCK_BYTES + 5000;
    const struct stream_range range = must_store(fixture, 2, length);
    must_hold(fixture, &range, 2); /* what was not read is not sent: see test_verified.c */
    struct stream_pin *pin;
    assert_int_equal(stream_pin(fixture->stream, &range, &pin), OK);
    uint64_t offset = 0;
    const int fd = stream_pin_descriptor(pin, 100, length - 100, &offset);
    assert_int_equal(offset, range.offset + 100);
    char *bytes = fixture_payload(2, length);
    char read[5000];
    assert_int_equal(pread(fd, read, sizeof(read), (off_t)offset), 5000);
    assert_memory_equal(read, bytes + 100, sizeof(read));
    free(bytes);
    stream_unpin(pin);
}

/* --- damage --- */

static void flip_bit(struct fixture *fixture, const struct stream_range *range, uint64_t offset)
{
    struct io_file *file = open_extent(fixture, range->extent_id);
    char byte = 0;
    size_t got = 0;
    assert_int_equal(io_file_read(file, range->offset + offset, &byte, 1, &got), OK);
    byte = (char)(byte ^ 4);
    assert_int_equal(io_file_write(file, range->offset + offset, slice_make(&byte, 1)), OK);
    io_file_close(file);
}

static void a_flipped_bit_anywhere_in_a_range_is_found(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t length = STREAM_BLOCK_BYTES + 5000;
    const uint64_t spots[] = {
        0,           STREAM_BLOCK_BYTES - 1, STREAM_BLOCK_BYTES, length - 1,
        length,      /* first checksum */
        length + 4,  /* second */
        length + 8,  /* magic */
        length + 12, /* checksum of the checksums */
        length + 16, /* length */
        length + 23,
    };
    must_store(fixture, 1, 100);
    const struct stream_range range = must_store(fixture, 2, length);
    for (size_t i = 0; i < sizeof(spots) / sizeof(spots[0]); i++) {
        flip_bit(fixture, &range, spots[i]);
        assert_int_equal(fixture_check(fixture->stream, &range, 2), ERR_CORRUPT);
        flip_bit(fixture, &range, spots[i]);
        must_hold(fixture, &range, 2);
    }
    /* What lies behind the trailer is read by nobody but the check. */
    flip_bit(fixture, &range, length + 24);
    assert_int_equal(stream_check(fixture->stream, &range), ERR_CORRUPT);
    flip_bit(fixture, &range, length + 24);
    assert_int_equal(stream_check(fixture->stream, &range), OK);
}

static void damage_in_one_block_leaves_the_others_readable(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range range = must_store(fixture, 1, 3 * STREAM_BLOCK_BYTES);
    flip_bit(fixture, &range, STREAM_BLOCK_BYTES + 5);
    struct stream_pin *pin;
    static char read[2 * STREAM_BLOCK_BYTES];
    assert_int_equal(stream_pin(fixture->stream, &range, &pin), OK);
    assert_int_equal(stream_read(pin, 0, read, STREAM_BLOCK_BYTES), OK);
    assert_int_equal(stream_read(pin, STREAM_BLOCK_BYTES + 100, read, 1), ERR_CORRUPT);
    assert_int_equal(stream_read(pin, STREAM_BLOCK_BYTES + 100, read, 1), ERR_CORRUPT);
    assert_int_equal(stream_read(pin, 100, read, 2 * STREAM_BLOCK_BYTES), ERR_CORRUPT);
    assert_int_equal(stream_read(pin, 2 * STREAM_BLOCK_BYTES + 1, read, 10), OK);
    stream_unpin(pin);
}

static void a_range_that_cannot_be_is_corrupt(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range good = must_store(fixture, 1, 1000);
    struct stream_pin *pin;
    struct stream_range bad = good;
    bad.extent_id++;
    assert_int_equal(stream_pin(fixture->stream, &bad, &pin), ERR_CORRUPT);
    bad = good;
    bad.offset = 4096;
    assert_int_equal(stream_pin(fixture->stream, &bad, &pin), ERR_CORRUPT);
    bad.offset = 1;
    assert_int_equal(stream_pin(fixture->stream, &bad, &pin), ERR_CORRUPT);
    bad.offset = UINT64_MAX / 4096 * 4096;
    assert_int_equal(stream_pin(fixture->stream, &bad, &pin), ERR_CORRUPT);
    bad = good;
    bad.length = 0;
    assert_int_equal(stream_pin(fixture->stream, &bad, &pin), ERR_CORRUPT);
    bad.length = UINT64_MAX;
    assert_int_equal(stream_pin(fixture->stream, &bad, &pin), ERR_CORRUPT);
    bad.length = 4000; /* fits the page, but is not what was written */
    assert_int_equal(fixture_check(fixture->stream, &bad, 1), ERR_CORRUPT);
}

static void a_missing_or_short_extent_is_corrupt(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range missing = must_store(fixture, 1, FIXTURE_DEDICATED_BYTES);
    const struct stream_range cut = must_store(fixture, 2, FIXTURE_DEDICATED_BYTES);
    stream_close(fixture->stream);
    struct io_file *file = open_extent(fixture, cut.extent_id);
    assert_int_equal(io_file_truncate(file, 100000), OK);
    io_file_close(file);
    open_stream(fixture);
    char path[64];
    snprintf(path, sizeof(path), "extents/%016" PRIx64 ".ext", missing.extent_id);
    assert_int_equal(io_unlink(fixture->io, path), OK);
    struct stream_pin *pin;
    assert_int_equal(stream_pin(fixture->stream, &missing, &pin), ERR_CORRUPT);
    assert_int_equal(stream_pin(fixture->stream, &cut, &pin), ERR_CORRUPT);
    assert_true(stream_reclaim(fixture->stream, &missing)); /* nothing to give back */
}

static void a_file_that_is_no_extent_is_left_alone(void **state)
{
    struct fixture *fixture = *state;
    static const char *const names[] = { "extents/notes.txt", "extents/12.ext",
                                         "extents/00000000000000AB.ext",
                                         "extents/00000000000000ab.ext.bak" };
    for (size_t i = 0; i < 4; i++) {
        struct io_file *file = NULL;
        assert_int_equal(io_file_open(fixture->io, names[i], IO_OPEN_CREATE, &file), OK);
        io_file_close(file);
    }
    reopen(fixture);
    assert_int_equal(unsettled(fixture, 0).count, 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(io_unlink(fixture->io, names[i]), OK);
}

/* --- aborting --- */

static void an_aborted_writer_gives_its_space_back_in_any_state(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range kept = must_store(fixture, 1, 100000);
    const uint64_t before = io_memory_bytes(fixture->io);
    static const uint64_t lengths[] = { 200000, FIXTURE_DEDICATED_BYTES };
    char *bytes = fixture_payload(2, FIXTURE_DEDICATED_BYTES);
    for (size_t i = 0; i < 2; i++) {
        for (int steps = 0; steps < 5; steps++) {
            const struct slice all = slice_make(bytes, (size_t)lengths[i]);
            struct stream_writer *writer;
            assert_int_equal(stream_writer_new(fixture->stream, lengths[i], &writer), OK);
            if (steps > 0)
                assert_int_equal(stream_writer_append(writer, slice_head(all, 150000)), OK);
            if (steps > 1)
                assert_int_equal(stream_writer_append(writer, slice_from(all, 150000)), OK);
            if (steps > 2)
                assert_int_equal(stream_writer_finish(writer), OK);
            if (steps > 3)
                fixture_sync(writer);
            const uint64_t extent_id = stream_writer_range(writer).extent_id;
            stream_writer_abort(writer);
            assert_int_equal(extent_exists(fixture, extent_id), i == 0);
            struct io_file *file = open_extent(fixture, kept.extent_id);
            assert_int_equal(io_file_sync(file), OK); /* drops the simulated disk's memory of it */
            io_file_close(file);
            assert_int_equal(io_sync_dir(fixture->io, "extents"), OK);
            assert_int_equal(io_memory_bytes(fixture->io), before);
        }
    }
    free(bytes);
    stream_writer_abort(NULL);
    must_hold(fixture, &kept, 1);
}

static void a_failed_append_can_be_aborted_and_others_go_on(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range kept = must_store(fixture, 1, 100);
    struct stream_writer *writer;
    assert_int_equal(stream_writer_new(fixture->stream, STREAM_BLOCK_BYTES, &writer), OK);
    static const char bytes[STREAM_BLOCK_BYTES];
    io_memory_fail_at(fixture->io, 1, ERR_NO_SPACE);
    assert_int_equal(stream_writer_append(writer, slice_make(bytes, sizeof(bytes))), ERR_NO_SPACE);
    stream_writer_abort(writer);
    const struct stream_range next = must_store(fixture, 2, 70000);
    must_hold(fixture, &kept, 1);
    must_hold(fixture, &next, 2);
}

/* --- reclaiming --- */

static void a_pinned_range_is_not_reclaimed_and_its_neighbours_are(void **state)
{
    struct fixture *fixture = *state;
    struct stream_range ranges[3];
    for (uint64_t i = 0; i < 3; i++)
        ranges[i] = must_store(fixture, i, 10000);
    struct stream_pin *pin;
    assert_int_equal(stream_pin(fixture->stream, &ranges[1], &pin), OK);
    stream_barrier(fixture->stream);
    assert_true(stream_reclaim(fixture->stream, &ranges[0]));
    assert_false(stream_reclaim(fixture->stream, &ranges[1]));
    assert_true(stream_reclaim(fixture->stream, &ranges[2]));
    assert_true(reads_as_zeroes(fixture, &ranges[0]));
    assert_true(reads_as_zeroes(fixture, &ranges[2]));
    must_hold(fixture, &ranges[1], 1);
    stream_unpin(pin);
    assert_true(stream_reclaim(fixture->stream, &ranges[1]));
    assert_true(reads_as_zeroes(fixture, &ranges[1]));
    assert_int_equal(stream_reclaim_sync(fixture->stream), OK);
}

static void of_two_pins_the_last_one_counts(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range range = must_store(fixture, 1, 10000);
    struct stream_pin *pins[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(stream_pin(fixture->stream, &range, &pins[i]), OK);
    static const size_t order[] = { 1, 2, 0 };
    for (size_t i = 0; i < 3; i++) {
        assert_false(stream_reclaim(fixture->stream, &range));
        stream_unpin(pins[order[i]]);
    }
    assert_true(stream_reclaim(fixture->stream, &range));
}

static void reclaiming_a_dedicated_range_unlinks_its_extent(void **state)
{
    struct fixture *fixture = *state;
    for (int reopened = 0; reopened < 2; reopened++) {
        const struct stream_range range = must_store(fixture, 1, FIXTURE_DEDICATED_BYTES);
        if (reopened)
            reopen(fixture);
        struct stream_pin *pin;
        assert_int_equal(stream_pin(fixture->stream, &range, &pin), OK);
        assert_false(stream_reclaim(fixture->stream, &range));
        assert_false(stream_unlink(fixture->stream, range.extent_id));
        stream_unpin(pin);
        assert_true(extent_exists(fixture, range.extent_id));
        assert_true(stream_reclaim(fixture->stream, &range));
        assert_false(extent_exists(fixture, range.extent_id));
        assert_true(stream_reclaim(fixture->stream, &range));
        assert_true(stream_unlink(fixture->stream, range.extent_id));
        assert_int_equal(stream_reclaim_sync(fixture->stream), OK);
    }
}

static void reclaiming_punches_blocks_of_a_real_file(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range kept = must_store(fixture, 1, 200000);
    const struct stream_range range = must_store(fixture, 2, 200000);
    struct io_file *file = open_extent(fixture, range.extent_id);
    struct stat before;
    struct stat after;
    assert_int_equal(fstat(io_file_descriptor(file), &before), 0);
    assert_true(stream_reclaim(fixture->stream, &range));
    assert_int_equal(fstat(io_file_descriptor(file), &after), 0);
    io_file_close(file);
    assert_true((before.st_blocks - after.st_blocks) * 512 >= 200000);
    must_hold(fixture, &kept, 1);
}

static void the_disk_refusing_to_reclaim_is_a_reason_to_try_again(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range shared = must_store(fixture, 1, 100);
    const struct stream_range dedicated = must_store(fixture, 2, FIXTURE_DEDICATED_BYTES);
    io_memory_fail_at(fixture->io, 1, ERR_IO);
    assert_false(stream_reclaim(fixture->stream, &shared));
    assert_true(stream_reclaim(fixture->stream, &shared));
    io_memory_fail_at(fixture->io, 1, ERR_IO);
    assert_false(stream_reclaim(fixture->stream, &dedicated));
    must_hold(fixture, &dedicated, 2);
    assert_true(stream_reclaim(fixture->stream, &dedicated));
    assert_false(extent_exists(fixture, dedicated.extent_id));
}

/* --- settling --- */

static void an_extent_is_unsettled_once_it_is_full_and_has_no_writer(void **state)
{
    struct fixture *fixture = *state;
    struct stream_writer *first;
    assert_int_equal(fixture_write(fixture->stream, 1, 1000, 1000, &first), OK);
    const uint64_t id = stream_writer_range(first).extent_id;
    struct stream_range range;
    do
        range = must_store(fixture, 2, 250000);
    while (range.extent_id == id &&
           range.offset + stream_allocated_bytes(250000) < FIXTURE_EXTENT_BYTES);
    assert_int_equal(unsettled(fixture, id).wanted_count, 0);
    fixture_sync(first);
    assert_int_equal(unsettled(fixture, id).wanted_count, 0);
    stream_writer_commit(first);
    const struct unsettled seen = unsettled(fixture, id);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.wanted_count, 1);
    assert_int_equal(seen.wanted_length, range.offset + stream_allocated_bytes(250000));
}

static void settling_frees_gaps_and_tail_and_keeps_the_live(void **state)
{
    struct fixture *fixture = *state;
    struct stream_range ranges[6];
    for (uint64_t i = 0; i < 6; i++)
        ranges[i] = must_store(fixture, i, 10000 + i * 5000);
    reopen(fixture);
    const uint64_t id = ranges[0].extent_id;
    assert_int_equal(unsettled(fixture, id).wanted_length,
                     ranges[5].offset + stream_allocated_bytes(35000));
    const struct stream_range live[] = { ranges[1], ranges[3] };
    uint64_t length = 0;
    assert_int_equal(stream_settle(fixture->stream, id, live, 2, &length), OK);
    assert_int_equal(length, ranges[4].offset);
    assert_int_equal(unsettled(fixture, id).count, 0);
    must_hold(fixture, &ranges[1], 1);
    must_hold(fixture, &ranges[3], 3);
    assert_true(reads_as_zeroes(fixture, &ranges[0]));
    assert_true(reads_as_zeroes(fixture, &ranges[2]));
    struct io_file *file = open_extent(fixture, id);
    uint64_t size_bytes = 0;
    assert_int_equal(io_file_size(file, &size_bytes), OK);
    assert_int_equal(size_bytes, length);
    io_file_close(file);
    struct stream_pin *pin;
    assert_int_equal(stream_pin(fixture->stream, &ranges[5], &pin), ERR_CORRUPT);
    if (fixture->path[0] == '\0')
        assert_int_equal(io_memory_bytes(fixture->io),
                         stream_allocated_bytes(15000) + stream_allocated_bytes(25000));
}

static void an_extent_with_nothing_live_is_unlinked_by_settling(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range range = must_store(fixture, 1, 1000);
    reopen(fixture);
    uint64_t length = 1;
    assert_int_equal(stream_settle(fixture->stream, range.extent_id, NULL, 0, &length), OK);
    assert_int_equal(length, 0);
    assert_false(extent_exists(fixture, range.extent_id));
    assert_int_equal(unsettled(fixture, 0).count, 0);
    assert_int_equal(stream_settle(fixture->stream, range.extent_id, NULL, 0, &length), OK);
}

static void settling_keeps_what_is_pinned(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range dead = must_store(fixture, 1, 10000);
    const struct stream_range pinned = must_store(fixture, 2, 10000);
    must_store(fixture, 3, 10000);
    reopen(fixture);
    struct stream_pin *pin;
    assert_int_equal(stream_pin(fixture->stream, &pinned, &pin), OK);
    uint64_t length = 0;
    assert_int_equal(stream_settle(fixture->stream, dead.extent_id, NULL, 0, &length), OK);
    assert_int_equal(length, pinned.offset + stream_allocated_bytes(10000));
    must_hold(fixture, &pinned, 2);
    assert_true(reads_as_zeroes(fixture, &dead));
    assert_false(stream_unlink(fixture->stream, dead.extent_id));
    stream_unpin(pin);
    assert_true(stream_unlink(fixture->stream, dead.extent_id));
    assert_false(extent_exists(fixture, dead.extent_id));
}

static void settling_refuses_ranges_the_extent_cannot_have(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range first = must_store(fixture, 1, 10000);
    const struct stream_range second = must_store(fixture, 2, 10000);
    reopen(fixture);
    const uint64_t id = first.extent_id;
    uint64_t length = 0;
    const struct stream_range disordered[] = { second, first };
    assert_int_equal(stream_settle(fixture->stream, id, disordered, 2, &length), ERR_CORRUPT);
    struct stream_range overlapping[] = { first, second };
    overlapping[1].offset = 4096;
    assert_int_equal(stream_settle(fixture->stream, id, overlapping, 2, &length), ERR_CORRUPT);
    struct stream_range past = second;
    past.length += 10000;
    assert_int_equal(stream_settle(fixture->stream, id, &past, 1, &length), ERR_CORRUPT);
    struct stream_range elsewhere = first;
    elsewhere.extent_id++;
    assert_int_equal(stream_settle(fixture->stream, id, &elsewhere, 1, &length), ERR_CORRUPT);
    assert_int_equal(stream_settle(fixture->stream, elsewhere.extent_id, &elsewhere, 1, &length),
                     ERR_CORRUPT);
    must_hold(fixture, &first, 1);
    must_hold(fixture, &second, 2);
    assert_int_equal(unsettled(fixture, id).wanted_count, 1);
}

static void an_extent_marked_settled_is_not_unsettled(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range range = must_store(fixture, 1, 1000);
    reopen(fixture);
    assert_int_equal(unsettled(fixture, range.extent_id).wanted_count, 1);
    stream_mark_settled(fixture->stream, range.extent_id);
    stream_mark_settled(fixture->stream, 12345);
    assert_int_equal(unsettled(fixture, range.extent_id).wanted_count, 0);
    must_hold(fixture, &range, 1);
}

static void an_extent_that_takes_payloads_cannot_be_unlinked(void **state)
{
    struct fixture *fixture = *state;
    const struct stream_range range = must_store(fixture, 1, 1000);
    assert_true(stream_reclaim(fixture->stream, &range));
    assert_false(stream_unlink(fixture->stream, range.extent_id));
    const struct stream_range next = must_store(fixture, 2, 1000);
    assert_int_equal(next.extent_id, range.extent_id);
    must_hold(fixture, &next, 2);
}

#define ON_MEMORY(test) cmocka_unit_test_setup_teardown(test, open_memory, close_all)
#define ON_LINUX(test)  cmocka_unit_test_setup_teardown(test, open_linux, close_all)
#define ON_BOTH(test)   ON_MEMORY(test), ON_LINUX(test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(a_payload_of_any_size_reads_back_however_it_came),
        ON_BOTH(payloads_are_still_there_after_reopening),
        ON_BOTH(any_part_of_a_payload_can_be_read),
        ON_MEMORY(small_payloads_share_an_extent_and_large_ones_have_their_own),
        ON_MEMORY(a_full_extent_takes_no_more),
        ON_MEMORY(an_old_extent_is_not_appended_to),
        cmocka_unit_test(allocated_bytes_are_whole_pages_with_room_for_checksums),
        ON_MEMORY(a_stream_by_step_syncs_when_it_is_told_to),
        ON_MEMORY(more_extents_can_be_read_than_are_kept_open),
        ON_LINUX(a_real_pin_has_a_descriptor_for_sendfile),
        ON_MEMORY(a_flipped_bit_anywhere_in_a_range_is_found),
        ON_MEMORY(damage_in_one_block_leaves_the_others_readable),
        ON_BOTH(a_range_that_cannot_be_is_corrupt),
        ON_BOTH(a_missing_or_short_extent_is_corrupt),
        ON_MEMORY(a_file_that_is_no_extent_is_left_alone),
        ON_MEMORY(an_aborted_writer_gives_its_space_back_in_any_state),
        ON_MEMORY(a_failed_append_can_be_aborted_and_others_go_on),
        ON_BOTH(a_pinned_range_is_not_reclaimed_and_its_neighbours_are),
        ON_MEMORY(of_two_pins_the_last_one_counts),
        ON_BOTH(reclaiming_a_dedicated_range_unlinks_its_extent),
        ON_LINUX(reclaiming_punches_blocks_of_a_real_file),
        ON_MEMORY(the_disk_refusing_to_reclaim_is_a_reason_to_try_again),
        ON_MEMORY(an_extent_is_unsettled_once_it_is_full_and_has_no_writer),
        ON_BOTH(settling_frees_gaps_and_tail_and_keeps_the_live),
        ON_BOTH(an_extent_with_nothing_live_is_unlinked_by_settling),
        ON_MEMORY(settling_keeps_what_is_pinned),
        ON_MEMORY(settling_refuses_ranges_the_extent_cannot_have),
        ON_MEMORY(an_extent_marked_settled_is_not_unsettled),
        ON_MEMORY(an_extent_that_takes_payloads_cannot_be_unlinked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
