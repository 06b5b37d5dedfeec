/*
 * stream_fixture.h - what the tests of the stream layer share: payloads that can be told apart,
 * and ways to write and check them in one call.
 */
#ifndef TEST_STREAM_FIXTURE_H
#define TEST_STREAM_FIXTURE_H

#include <stdint.h>

#include "base/io.h"
#include "stream/stream.h"

enum {
    /* Small sizes, so that extents fill up and payloads are dedicated soon. */
    FIXTURE_EXTENT_BYTES = 1024 * 1024,
    FIXTURE_DEDICATED_BYTES = 300 * 1000,
};

extern const struct stream_options fixture_options;

/* `length` bytes that depend on `seed`; the caller frees them. */
char *fixture_payload(uint64_t seed, uint64_t length);

/* Sync a finished writer and wait for it. */
void fixture_sync(struct stream_writer *writer);

/*
 * Write payload `seed`, appending `piece` bytes at a time, as far as WRITTEN.  On error the writer
 * has been aborted.
 */
MUST_CHECK enum err fixture_write(struct stream *stream, uint64_t seed, uint64_t length,
                                  size_t piece, struct stream_writer **writer);

/* Write, sync and commit a payload; the range comes back. */
MUST_CHECK enum err fixture_store(struct stream *stream, uint64_t seed, uint64_t length,
                                  struct stream_range *range);

/* Read the whole range and compare it with payload `seed`: OK, an error, or -1 if it differs. */
int fixture_check(struct stream *stream, const struct stream_range *range, uint64_t seed);

#endif
