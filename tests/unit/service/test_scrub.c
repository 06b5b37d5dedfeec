/*
 * test_scrub.c - the scrubber: a pass comes by every payload once, wherever it begins and however
 * small its steps are; what is damaged is found and named; what goes meanwhile is no fault.
 *
 * Payloads are on the simulated disk, and damaged there.
 */
#include "fsck_fixture.h"

#include "base/metric.h"
#include "service/scrub.h"

enum {
    PAYLOAD = 300 * 1000, /* more than is read at once, and no whole pieces of it */
    STEP = 1000,
};

/* A scrubber over a fixture's store, and what it found. */
struct scrubbing {
    struct findings findings;
    struct scrub *scrub;
};

static struct scrubbing *begin(struct service_fixture *fixture, uint64_t seed)
{
    struct scrubbing *scrubbing = arena_alloc(&fixture->arena, sizeof(*scrubbing));
    scrubbing->findings.arena = &fixture->arena;
    const struct scrub_options options = {
        .store = fixture->service.store,
        .seed = seed,
        .finding = note,
        .arg = &scrubbing->findings,
    };
    scrubbing->scrub = scrub_new(&options);
    return scrubbing;
}

static void end(struct scrubbing *scrubbing)
{
    scrub_free(scrubbing->scrub);
    metric_free_all();
}

/* Returns how many steps it took. */
static unsigned pass(struct scrubbing *scrubbing, uint64_t step_bytes)
{
    unsigned steps = 1;
    while (scrub_step(scrubbing->scrub, step_bytes) == SCRUB_UNDER_WAY)
        assert_true(++steps < 1000000);
    return steps;
}

static void put(struct service_fixture *fixture, const char *name, size_t len)
{
    struct blob_change change = { 0 };
    char *bytes = arena_bytes(&fixture->arena, len);
    memset(bytes, 'x', len);
    assert_int_equal(blob_put_into(fixture, "box", name, slice_make(bytes, len), &change), OK);
}

static void remove_blob(struct service_fixture *fixture, const char *name)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_await(fixture, name, blob_delete, &change), OK);
}

static struct stream_range range_of(struct service_fixture *fixture, const char *name)
{
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, name, &blob), OK);
    return blob.content.range;
}

/* Change a byte of the payload at `offset`. */
static void damage(struct service_fixture *fixture, const char *name, uint64_t offset)
{
    const struct stream_range range = range_of(fixture, name);
    char path[STREAM_PATH_BYTES];
    stream_extent_path(range.extent_id, path);
    struct io_file *file;
    assert_int_equal(io_file_open(fixture->io, path, IO_OPEN_EXISTING, &file), OK);
    assert_int_equal(io_file_write(file, range.offset + offset, slice_of("!")), OK);
    io_file_close(file);
}

static void make_blobs(struct service_fixture *fixture, unsigned count)
{
    container_make(fixture, "box");
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "blob%u", i);
        put(fixture, name, PAYLOAD + i);
    }
    put(fixture, "inline", 50);
}

static uint64_t total_bytes(unsigned count)
{
    return (uint64_t)count * PAYLOAD + count * (count - 1) / 2;
}

/* --- tests --- */

static void a_pass_over_an_empty_store_is_one_step(void **state)
{
    struct service_fixture *fixture = *state;
    struct scrubbing *scrubbing = begin(fixture, 7);
    assert_int_equal(pass(scrubbing, STEP), 1);
    assert_int_equal(pass(scrubbing, STEP), 1);
    assert_int_equal(scrub_damaged(scrubbing->scrub), 0);
    end(scrubbing);
}

static void a_pass_comes_by_every_payload_once(void **state)
{
    struct service_fixture *fixture = *state;
    make_blobs(fixture, 5);
    static const uint64_t steps[] = { 1, STEP, 64 * 1024, PAYLOAD, UINT64_MAX };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct scrubbing *scrubbing = begin(fixture, 0);
        (void)pass(scrubbing, steps[i]);
        /* On RocksDB the rows come to it. */
        if (fixture->kind == SERVICE_ON_ROCKSDB)
            assert_true(scrub_bytes(scrubbing->scrub) > total_bytes(5));
        else
            assert_int_equal(scrub_bytes(scrubbing->scrub), total_bytes(5));
        assert_int_equal(scrubbing->findings.count, 0);
        end(scrubbing);
    }
}

/* Each in an extent of its own, so that passes begin at different ones. */
static void wherever_a_pass_begins_it_comes_by_all(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    for (unsigned i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof(name), "blob%u", i);
        put(fixture, name, PAYLOAD);
        damage(fixture, name, 1000);
        partition_close(fixture->service.store);
        stream_close(fixture->stream);
        assert_int_equal(stream_open(fixture->io, &fixture->clock, &fixture->stream), OK);
        fixture->service.stream = fixture->stream;
        const struct partition_options options = { .clock = &fixture->clock,
                                                   .stream = fixture->stream,
                                                   .committers = 2 };
        assert_int_equal(partition_open_rocksdb(fixture->path, &options, &fixture->service.store),
                         OK);
    }
    bool first_seen[4] = { 0 };
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct scrubbing *scrubbing = begin(fixture, seed * 977);
        (void)pass(scrubbing, STEP);
        assert_int_equal(scrubbing->findings.count, 4);
        for (unsigned i = 0; i < 4; i++) {
            char name[32];
            snprintf(name, sizeof(name), "box/blob%u", i);
            unsigned times = 0;
            for (size_t at = 0; at < 4; at++)
                times += strstr(scrubbing->findings.words[at], name) != NULL;
            assert_int_equal(times, 1);
            first_seen[i] |= strstr(scrubbing->findings.words[0], name) != NULL;
        }
        end(scrubbing);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_true(first_seen[i]);
}

static void what_is_damaged_is_found_and_named_in_every_pass(void **state)
{
    struct service_fixture *fixture = *state;
    make_blobs(fixture, 3);
    damage(fixture, "blob1", PAYLOAD - 1);
    struct scrubbing *scrubbing = begin(fixture, 5);
    for (unsigned i = 1; i <= 2; i++) {
        (void)pass(scrubbing, STEP);
        assert_int_equal(scrub_damaged(scrubbing->scrub), i);
        assert_int_equal(scrubbing->findings.count, i);
        assert_non_null(strstr(scrubbing->findings.words[i - 1],
                               "is damaged: stored bytes fail their checksum or their format; it "
                               "belongs to devstoreaccount1/box/blob1"));
    }
    end(scrubbing);
}

static void an_extent_that_is_too_short_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    make_blobs(fixture, 1);
    char path[STREAM_PATH_BYTES];
    stream_extent_path(range_of(fixture, "blob0").extent_id, path);
    struct io_file *file;
    assert_int_equal(io_file_open(fixture->io, path, IO_OPEN_EXISTING, &file), OK);
    assert_int_equal(io_file_truncate(file, 4096), OK);
    io_file_close(file);
    struct scrubbing *scrubbing = begin(fixture, 0);
    (void)pass(scrubbing, STEP);
    assert_int_equal(scrubbing->findings.count, 1);
    assert_non_null(
        strstr(scrubbing->findings.words[0], "it belongs to devstoreaccount1/box/blob0"));
    end(scrubbing);
}

static void what_goes_in_the_middle_is_no_fault(void **state)
{
    struct service_fixture *fixture = *state;
    make_blobs(fixture, 3);
    struct scrubbing *scrubbing = begin(fixture, 0);
    /* In the middle of the first. */
    assert_int_equal(scrub_step(scrubbing->scrub, 256 * 1024), SCRUB_UNDER_WAY);
    assert_in_range(scrub_bytes(scrubbing->scrub), 1, PAYLOAD - 1);
    remove_blob(fixture, "blob0");
    remove_blob(fixture, "blob2");
    while (partition_reclaim(fixture->service.store) > 0)
        continue;
    (void)pass(scrubbing, STEP);
    assert_int_equal(scrubbing->findings.count, 0);
    /* The piece of the first, and the second whole. */
    if (fixture->kind == SERVICE_ON_MEMORY)
        assert_int_equal(scrub_bytes(scrubbing->scrub), 256 * 1024 + PAYLOAD + 1);
    end(scrubbing);
}

static void the_thread_makes_passes_and_stops_when_it_is_told(void **state)
{
    struct service_fixture *fixture = *state;
    make_blobs(fixture, 2);
    struct scrubbing *scrubbing = begin(fixture, 3);
    assert_int_equal(scrub_start(scrubbing->scrub, 1024 * 1024), OK);
    end(scrubbing); /* it has hardly begun */
    scrub_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(a_pass_over_an_empty_store_is_one_step),
        ON_MEMORY(a_pass_comes_by_every_payload_once),
        ON_ROCKSDB(a_pass_comes_by_every_payload_once),
        ON_ROCKSDB(wherever_a_pass_begins_it_comes_by_all),
        ON_ALL_ENGINES(what_is_damaged_is_found_and_named_in_every_pass),
        ON_MEMORY(an_extent_that_is_too_short_is_found),
        ON_MEMORY(what_goes_in_the_middle_is_no_fault),
        ON_THREADS(what_goes_in_the_middle_is_no_fault),
        ON_ROCKSDB(the_thread_makes_passes_and_stops_when_it_is_told),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
