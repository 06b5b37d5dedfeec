/*
 * reclaim_fixture.h - a store with payloads: the stream is real, over the simulated disk.
 */
#ifndef TESTS_UNIT_PARTITION_RECLAIM_FIXTURE_H
#define TESTS_UNIT_PARTITION_RECLAIM_FIXTURE_H

#include "store_fixture.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/io.h"
#include "stream/stream.h"

enum {
    PAYLOAD_LEN = 5000, /* two blocks of the file system with its checksums */
    PAYLOAD_ALLOCATED = 8192,
};

struct reclaim_fixture {
    struct store_fixture *fixture;
    struct io *io;
    struct stream *stream;
};

static inline void open_stream(struct reclaim_fixture *mine)
{
    /* Four payloads fill an extent. */
    const struct stream_options options = { .extent_bytes = 4 * PAYLOAD_ALLOCATED,
                                            .dedicated_bytes = 1024 * 1024 };
    assert_int_equal(stream_open_with(mine->io, &mine->fixture->clock, &options, &mine->stream),
                     OK);
    mine->fixture->options.stream = mine->stream;
}

/* Closes store and stream and opens both again, as a restart does. */
static inline void restart(struct reclaim_fixture *mine, unsigned committers)
{
    store_fixture_close(mine->fixture);
    stream_close(mine->stream);
    open_stream(mine);
    mine->fixture->options.committers = committers;
    store_fixture_open(mine->fixture);
}

static inline int reclaim_setup(void **state)
{
    store_fixture_setup(state);
    struct reclaim_fixture *mine = calloc(1, sizeof(*mine));
    assert_non_null(mine);
    mine->fixture = *state;
    mine->io = io_memory_new();
    store_fixture_close(mine->fixture);
    open_stream(mine);
    store_fixture_open(mine->fixture);
    *state = mine;
    return 0;
}

static inline int reclaim_teardown(void **state)
{
    struct reclaim_fixture *mine = *state;
    void *fixture = mine->fixture;
    store_fixture_close(mine->fixture);
    stream_close(mine->stream);
    io_free(mine->io);
    free(mine);
    return store_fixture_teardown(&fixture);
}

/* --- payloads --- */

static inline void count_sync(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

static inline struct stream_writer *payload_write(struct reclaim_fixture *mine, char fill)
{
    char bytes[PAYLOAD_LEN];
    memset(bytes, fill, sizeof(bytes));
    struct stream_writer *writer;
    assert_int_equal(stream_writer_new(mine->stream, sizeof(bytes), &writer), OK);
    assert_int_equal(stream_writer_append(writer, slice_make(bytes, sizeof(bytes))), OK);
    assert_int_equal(stream_writer_finish(writer), OK);
    atomic_bool synced = false;
    stream_writer_sync(writer, count_sync, &synced);
    while (!atomic_load(&synced))
        sched_yield();
    return writer;
}

struct ownership {
    const struct stream_range *own;
    uint64_t owner;
    const struct stream_range *disown;
    uint64_t old_owner;
    enum err says;
};

static inline enum err change_ownership(struct change *change, void *arg)
{
    const struct ownership *ownership = arg;
    if (ownership->own != NULL)
        change_own(change, ownership->own, ownership->owner);
    if (ownership->disown != NULL)
        change_disown(change, ownership->disown, ownership->old_owner);
    return ownership->says;
}

static inline void own_in(struct reclaim_fixture *mine, const char *partition,
                          const struct stream_range *range, uint64_t owner)
{
    struct ownership ownership = { .own = range, .owner = owner };
    assert_int_equal(store_update(mine->fixture->store, partition, change_ownership, &ownership),
                     OK);
}

static inline void disown_in(struct reclaim_fixture *mine, const char *partition,
                             const struct stream_range *range, uint64_t owner)
{
    struct ownership ownership = { .disown = range, .old_owner = owner };
    assert_int_equal(store_update(mine->fixture->store, partition, change_ownership, &ownership),
                     OK);
}

static inline void own(struct reclaim_fixture *mine, const struct stream_range *range,
                       uint64_t owner)
{
    own_in(mine, "p", range, owner);
}

static inline void disown(struct reclaim_fixture *mine, const struct stream_range *range,
                          uint64_t owner)
{
    disown_in(mine, "p", range, owner);
}

/* A payload with an owner in the partition "p". */
static inline struct stream_range payload(struct reclaim_fixture *mine, char fill, uint64_t owner)
{
    struct stream_writer *writer = payload_write(mine, fill);
    const struct stream_range range = stream_writer_range(writer);
    own(mine, &range, owner);
    stream_writer_commit(writer);
    return range;
}

/* The first byte of a range, or 0 when it cannot be read. */
static inline char first_byte(struct reclaim_fixture *mine, const struct stream_range *range)
{
    struct stream_pin *pin;
    if (stream_pin(mine->stream, range, &pin) != OK)
        return 0;
    char byte = 0;
    if (stream_read(pin, 0, &byte, 1) != OK)
        byte = 0;
    stream_unpin(pin);
    return byte;
}

static inline void count_name(void *arg, const char *name)
{
    (void)name;
    ++*(unsigned *)arg;
}

static inline unsigned extent_count(struct reclaim_fixture *mine)
{
    unsigned count = 0;
    assert_int_equal(io_list(mine->io, "extents", count_name, &count), OK);
    return count;
}

#define RECLAIM_ON_MEMORY(test)                                                                    \
    {                                                                                              \
#test " (memory)", test, reclaim_setup, reclaim_teardown, &store_on_memory                 \
    }
#define RECLAIM_ON_ROCKSDB(test)                                                                   \
    {                                                                                              \
#test " (rocksdb)", test, reclaim_setup, reclaim_teardown, &store_on_rocksdb               \
    }
#define RECLAIM_ON_BOTH(test) RECLAIM_ON_MEMORY(test), RECLAIM_ON_ROCKSDB(test)

#endif
