/*
 * payload.h - the bytes of a blob, on their way in and out.
 *
 * On the way in, a writer takes the body as it arrives and hashes it.  A payload of up to
 * service->inline_payload_bytes is gathered in memory and travels inside the metadata commit; a
 * larger one goes to an extent piece by piece, so memory does not grow with its size.
 *
 * On the way out, a reader gives any part of it, or the descriptor and offset for sendfile.
 *
 * A writer and a reader are used by one thread at a time.  Both let go of what they hold when the
 * arena they were made in is cleared, so no path has to remember it.
 */
#ifndef SERVICE_PAYLOAD_H
#define SERVICE_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/service.h"
#include "stream/stream.h"

/* Where content is stored.  A value, part of a blob's record. */
enum content_place {
    CONTENT_EMPTY,    /* no bytes at all */
    CONTENT_INLINE,   /* a row of the blob's partition */
    CONTENT_EXTENT,   /* a range of an extent */
    CONTENT_SEGMENTS, /* pieces listed in rows of the blob's partition (service/blob/segments.h) */
};

struct content {
    enum content_place place;
    uint64_t id; /* unique; names the rows and owns the range */
    uint64_t length_bytes;
    struct stream_range range; /* CONTENT_EXTENT only */
    bool shared;               /* other records of the partition may name it too */
};

/* --- in --- */

struct payload_writer;

/* A writer for exactly `length_bytes`.  ERR_NO_SPACE or ERR_IO from the stream. */
MUST_CHECK enum err payload_writer_new(struct service *service, struct arena *arena,
                                       uint64_t length_bytes, struct payload_writer **writer);

/* Nobody will ask for the MD5, which costs more than all the rest: before the first bytes. */
void payload_writer_skip_md5(struct payload_writer *writer);

/* The next bytes; never more in all than announced.  ERR_NO_SPACE, ERR_IO. */
MUST_CHECK enum err payload_writer_append(struct payload_writer *writer, struct slice bytes);

/* All bytes are there: the hashes are known from here on.  ERR_NO_SPACE, ERR_IO. */
MUST_CHECK enum err payload_writer_finish(struct payload_writer *writer);

uint64_t payload_writer_length(const struct payload_writer *writer); /* in bytes */
const uint8_t *payload_writer_md5(const struct payload_writer *writer);
uint64_t payload_writer_crc64(const struct payload_writer *writer);

/* Call `done(arg)` when the bytes can be named by metadata: at once, or when synced. */
void payload_writer_sync(struct payload_writer *writer, void (*done)(void *arg), void *arg);

/*
 * In a decision: make the payload the content `id` of the blob being written.  The bytes of an
 * inline payload are put under `inline_key`.  May be repeated when the decision is.
 */
struct content payload_writer_store(struct payload_writer *writer, struct change *change,
                                    uint64_t id, struct slice inline_key);

/* The update that stored it is durable.  Without this call the bytes are given back. */
void payload_writer_commit(struct payload_writer *writer);

/* --- out --- */

struct payload_reader {
    uint64_t length_bytes;
    struct slice bytes;     /* inline content */
    struct stream_pin *pin; /* content in an extent, or NULL */

    /* Content in pieces: how to read it, or NULL. */
    enum err (*read)(void *source, uint64_t offset, void *buf, size_t len);
    void *source;
};

/*
 * Open content found through `view`, but for CONTENT_SEGMENTS (segments_open).  `inline_key` is
 * where inline bytes are.
 *   ERR_CORRUPT   the bytes the record names are not there; ERR_IO
 */
MUST_CHECK enum err payload_reader_open(struct service *service, struct partition_view *view,
                                        struct arena *arena, const struct content *content,
                                        struct slice inline_key, struct payload_reader *reader);

/* Copy a part, checked against its checksums.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err payload_read(struct payload_reader *reader, uint64_t offset, void *buf,
                                 size_t len);

/* For sendfile of `len` (not 0) bytes from `offset` on: a descriptor that stays the reader's, and
   where in it they are.  -1 when they are to be read: see stream_pin_descriptor. */
int payload_descriptor(const struct payload_reader *reader, uint64_t offset, uint64_t len,
                       uint64_t *file_offset);

#endif
