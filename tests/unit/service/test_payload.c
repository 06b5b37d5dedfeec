/*
 * test_payload.c - bytes on their way in and out: inline and in extents, what is left when a
 * writer or reader is given up, and what a full disk does.
 */
#include "base/log.h"
#include "service_fixture.h"
#include "test_random.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

#define PARTITION slice_of("payloads")
#define KEY       slice_of("bytes")

static struct slice bytes_of_len(struct service_fixture *fixture, size_t len)
{
    char *bytes = arena_bytes(&fixture->arena, len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    return slice_make(bytes, len);
}

/* A writer that has taken `bytes` in pieces of `piece_len`. */
static struct payload_writer *written(struct service_fixture *fixture, struct arena *arena,
                                      struct slice bytes, size_t piece_len)
{
    struct payload_writer *writer;
    assert_int_equal(payload_writer_new(&fixture->service, arena, bytes.len, &writer), OK);
    assert_int_equal(payload_writer_append(writer, (struct slice){ 0 }), OK);
    for (size_t at = 0; at < bytes.len; at += piece_len)
        assert_int_equal(
            payload_writer_append(writer, slice_head(slice_from(bytes, at), piece_len)), OK);
    assert_int_equal(payload_writer_finish(writer), OK);
    return writer;
}

/* An update that makes the payload content 1 of PARTITION. */
struct storing {
    struct partition_update update;
    struct payload_writer *writer;
    struct content content;
    struct waiter waiter;
};

static enum err storing_decide(struct change *change, void *arg)
{
    struct storing *storing = arg;
    storing->content = payload_writer_store(storing->writer, change, 1, KEY);
    return OK;
}

static void storing_done(void *arg, enum err err)
{
    struct storing *storing = arg;
    if (err == OK)
        payload_writer_commit(storing->writer);
    waiter_done(&storing->waiter, err);
}

static void waiter_synced(void *arg)
{
    waiter_done(arg, OK);
}

static struct content stored(struct service_fixture *fixture, struct payload_writer *writer)
{
    struct waiter synced;
    waiter_init(&synced);
    payload_writer_sync(writer, waiter_synced, &synced);
    assert_int_equal(waiter_wait(&synced), OK);

    struct storing storing = { .writer = writer };
    waiter_init(&storing.waiter);
    storing.update = (struct partition_update){
        .partition = PARTITION,
        .decide = storing_decide,
        .arg = &storing,
        .done = storing_done,
    };
    partition_update(fixture->service.store, &storing.update);
    assert_int_equal(waiter_wait(&storing.waiter), OK);
    return storing.content;
}

static enum err opened(struct service_fixture *fixture, struct arena *arena,
                       const struct content *content, struct payload_reader *reader)
{
    struct partition_view view;
    partition_view_open(fixture->service.store, PARTITION, &view);
    const enum err err = payload_reader_open(&fixture->service, &view, arena, content, KEY, reader);
    partition_view_close(&view);
    return err;
}

static void payloads_of_every_size_come_back(void **state)
{
    struct service_fixture *fixture = *state;
    const size_t sizes[] = { 0,     1,     FIXTURE_INLINE_BYTES, FIXTURE_INLINE_BYTES + 1, 65535,
                             65536, 65537, 1024 * 1024 };
    const size_t pieces[] = { 1024 * 1024, 4093 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t j = 0; j < 2; j++) {
            struct arena arena = { 0 };
            const struct slice bytes = bytes_of_len(fixture, sizes[i]);
            struct payload_writer *writer = written(fixture, &arena, bytes, pieces[j]);
            const struct content content = stored(fixture, writer);
            struct payload_reader reader;
            arena_clear(&arena);
            assert_int_equal(opened(fixture, &arena, &content, &reader), OK);
            assert_int_equal(reader.length_bytes, sizes[i]);
            assert_true(slice_equal(fixture_payload_bytes(fixture, &reader), bytes));
            arena_release(&arena);
            arena_clear(&fixture->arena);
        }
    }
}

static void the_size_decides_the_place(void **state)
{
    struct service_fixture *fixture = *state;
    const struct {
        size_t len;
        enum content_place place;
    } rows[] = {
        { 0, CONTENT_EMPTY },
        { 1, CONTENT_INLINE },
        { FIXTURE_INLINE_BYTES, CONTENT_INLINE },
        { FIXTURE_INLINE_BYTES + 1, CONTENT_EXTENT },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct slice bytes = bytes_of_len(fixture, rows[i].len);
        struct payload_writer *writer = written(fixture, &fixture->arena, bytes, 7);
        const struct content content = stored(fixture, writer);
        assert_int_equal(content.place, rows[i].place);
        assert_int_equal(content.id, 1);
        assert_int_equal(content.length_bytes, rows[i].len);
        assert_int_equal(content.range.length, rows[i].place == CONTENT_EXTENT ? rows[i].len : 0);
    }
}

static void the_hashes_are_those_of_all_bytes(void **state)
{
    struct service_fixture *fixture = *state;
    const size_t sizes[] = { 0, 11, 5000 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct slice bytes =
            sizes[i] == 11 ? slice_of("hello world") : bytes_of_len(fixture, sizes[i]);
        const struct payload_writer *writer = written(fixture, &fixture->arena, bytes, 13);
        struct md5_ctx ctx;
        uint8_t md5[DIGEST_MD5_BYTES];
        md5_init(&ctx);
        md5_update(&ctx, bytes.len, (const uint8_t *)bytes.data);
        md5_digest(&ctx, sizeof(md5), md5);
        assert_memory_equal(payload_writer_md5(writer), md5, sizeof(md5));
        assert_true(payload_writer_crc64(writer) == digest_crc64(0, bytes));
        /* The service's own value, from a recorded answer: vo7q9sPVKY0= */
        if (sizes[i] == 11)
            assert_true(payload_writer_crc64(writer) == UINT64_C(0x8d29d5c3f6ea8ebe));
    }
}

static void any_part_can_be_read(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    const size_t sizes[] = { FIXTURE_INLINE_BYTES, 200000 };
    for (size_t i = 0; i < 2; i++) {
        const struct slice bytes = bytes_of_len(fixture, sizes[i]);
        const struct content content =
            stored(fixture, written(fixture, &fixture->arena, bytes, sizes[i]));
        struct payload_reader reader;
        assert_int_equal(opened(fixture, &fixture->arena, &content, &reader), OK);
        char *part = arena_bytes(&fixture->arena, sizes[i]);
        for (int j = 0; j < 300; j++) {
            const size_t offset = random_below(&random, sizes[i] + 1);
            const size_t len = random_below(&random, sizes[i] - offset + 1);
            assert_int_equal(payload_read(&reader, offset, part, len), OK);
            assert_memory_equal(part, bytes.data + offset, len);
        }
    }
}

static void a_writer_that_is_given_up_leaves_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    const struct slice bytes = bytes_of_len(fixture, 100000);
    const uint64_t before = io_memory_bytes(fixture->io);
    struct arena arena = { 0 };

    struct payload_writer *unfinished;
    assert_int_equal(payload_writer_new(&fixture->service, &arena, 100000, &unfinished), OK);
    assert_int_equal(payload_writer_append(unfinished, slice_head(bytes, 50000)), OK);
    (void)written(fixture, &arena, bytes, 1000);
    assert_true(io_memory_bytes(fixture->io) > before);
    arena_release(&arena);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

static void a_committed_payload_outlives_its_arena(void **state)
{
    struct service_fixture *fixture = *state;
    const struct slice bytes = bytes_of_len(fixture, 100000);
    struct arena arena = { 0 };
    const struct content content = stored(fixture, written(fixture, &arena, bytes, 1000));
    arena_release(&arena);
    assert_true(io_memory_bytes(fixture->io) >= 100000);
    struct payload_reader reader;
    assert_int_equal(opened(fixture, &fixture->arena, &content, &reader), OK);
    assert_true(slice_equal(fixture_payload_bytes(fixture, &reader), bytes));
}

static void bytes_that_are_not_there_are_corrupt(void **state)
{
    struct service_fixture *fixture = *state;
    struct payload_reader reader;
    struct content content = { .place = CONTENT_INLINE, .id = 1, .length_bytes = 5 };
    assert_int_equal(opened(fixture, &fixture->arena, &content, &reader), ERR_CORRUPT);

    content = stored(fixture, written(fixture, &fixture->arena, slice_of("bytes"), 5));
    assert_int_equal(opened(fixture, &fixture->arena, &content, &reader), OK);
    content.length_bytes = 4;
    assert_int_equal(opened(fixture, &fixture->arena, &content, &reader), ERR_CORRUPT);

    const struct content nowhere = {
        .place = CONTENT_EXTENT, .id = 1, .length_bytes = 5, .range = { 77, 0, 5 }
    };
    assert_int_equal(opened(fixture, &fixture->arena, &nowhere, &reader), ERR_CORRUPT);
}

static void memory_has_no_descriptor_for_sendfile(void **state)
{
    struct service_fixture *fixture = *state;
    const struct content content =
        stored(fixture, written(fixture, &fixture->arena, slice_of("inline"), 6));
    struct payload_reader reader;
    uint64_t file_offset;
    assert_int_equal(opened(fixture, &fixture->arena, &content, &reader), OK);
    assert_int_equal(payload_descriptor(&reader, 0, 6, &file_offset), -1);
}

/* Write a payload to a disk whose nth call fails; whether it did. */
static bool write_to_failing_disk(struct service_fixture *fixture, struct slice bytes, uint64_t nth)
{
    struct arena arena = { 0 };
    struct payload_writer *writer;
    io_memory_fail_at(fixture->io, nth, ERR_NO_SPACE);
    enum err err = payload_writer_new(&fixture->service, &arena, bytes.len, &writer);
    if (err == OK)
        err = payload_writer_append(writer, slice_head(bytes, 70000));
    if (err == OK)
        err = payload_writer_append(writer, slice_from(bytes, 70000));
    if (err == OK)
        err = payload_writer_finish(writer);
    io_memory_fail_at(fixture->io, 0, ERR_IO);
    arena_release(&arena);
    assert_true(err == OK || err == ERR_NO_SPACE);
    return err != OK;
}

static void a_full_disk_is_reported_and_leaves_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    const struct slice bytes = bytes_of_len(fixture, 100000);
    const uint64_t before = io_memory_bytes(fixture->io);
    uint64_t nth = 1;
    while (write_to_failing_disk(fixture, bytes, nth)) {
        assert_int_equal(io_memory_bytes(fixture->io), before);
        nth++;
    }
    /* At the least an extent is made and the payload is written. */
    assert_true(nth > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(payloads_of_every_size_come_back),
        ON_MEMORY(the_size_decides_the_place),
        ON_MEMORY(the_hashes_are_those_of_all_bytes),
        ON_MEMORY(any_part_can_be_read),
        ON_MEMORY(a_writer_that_is_given_up_leaves_nothing),
        ON_MEMORY(a_committed_payload_outlives_its_arena),
        ON_MEMORY(bytes_that_are_not_there_are_corrupt),
        ON_MEMORY(memory_has_no_descriptor_for_sendfile),
        ON_MEMORY(a_full_disk_is_reported_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
