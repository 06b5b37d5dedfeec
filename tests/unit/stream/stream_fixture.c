#include "stream_fixture.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

const struct stream_options fixture_options = {
    .extent_bytes = FIXTURE_EXTENT_BYTES,
    .dedicated_bytes = FIXTURE_DEDICATED_BYTES,
};

char *fixture_payload(uint64_t seed, uint64_t length)
{
    char *bytes = malloc((size_t)length);
    uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (uint64_t i = 0; i < length; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (char)(state >> 56);
    }
    return bytes;
}

static void post(void *arg)
{
    sem_post(arg);
}

void fixture_sync(struct stream_writer *writer)
{
    sem_t durable;
    sem_init(&durable, 0, 0);
    stream_writer_sync(writer, post, &durable);
    while (sem_wait(&durable) != 0)
        ;
    sem_destroy(&durable);
}

enum err fixture_write(struct stream *stream, uint64_t seed, uint64_t length, size_t piece,
                       struct stream_writer **writer)
{
    enum err err = stream_writer_new(stream, length, writer);
    if (err != OK)
        return err;
    char *bytes = fixture_payload(seed, length);
    struct slice rest = slice_make(bytes, (size_t)length);
    while (err == OK && rest.len > 0) {
        err = stream_writer_append(*writer, slice_head(rest, piece));
        rest = slice_from(rest, piece);
    }
    free(bytes);
    if (err == OK)
        err = stream_writer_finish(*writer);
    if (err != OK) {
        stream_writer_abort(*writer);
        *writer = NULL;
    }
    return err;
}

enum err fixture_store(struct stream *stream, uint64_t seed, uint64_t length,
                       struct stream_range *range)
{
    struct stream_writer *writer;
    const enum err err = fixture_write(stream, seed, length, 50000, &writer);
    if (err != OK)
        return err;
    *range = stream_writer_range(writer);
    fixture_sync(writer);
    stream_writer_commit(writer);
    return OK;
}

int fixture_check(struct stream *stream, const struct stream_range *range, uint64_t seed)
{
    struct stream_pin *pin;
    const enum err pinned = stream_pin(stream, range, &pin);
    if (pinned != OK)
        return (int)pinned;
    char *bytes = fixture_payload(seed, range->length);
    char *read = malloc((size_t)range->length);
    int result = (int)stream_read(pin, 0, read, (size_t)range->length);
    if (result == OK && memcmp(bytes, read, (size_t)range->length) != 0)
        result = -1;
    free(read);
    free(bytes);
    stream_unpin(pin);
    return result;
}
