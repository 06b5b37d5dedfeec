/*
 * stream.h - payload bytes, kept in extents.
 *
 * An extent is an append-only file that many payloads share.  A payload is written once, in
 * one contiguous range, and never changed; objects are lists of ranges, so copies share bytes.
 * This layer knows ranges, checksums and disks; which range belongs to what is the partition
 * layer's knowledge (partition/partition.h: change_own, change_disown).
 *
 * Life of a range, and the function that moves it:
 *
 *   RESERVED -> WRITTEN   stream_writer_append until its length is reached, stream_writer_finish
 *   WRITTEN  -> SYNCED    stream_writer_sync
 *   SYNCED   -> LIVE      stream_writer_commit, after the metadata that names it is durable
 *   RESERVED, WRITTEN, SYNCED -> FREE   stream_writer_abort, or a crash
 *   LIVE     -> FREE      stream_reclaim, when no reader has it pinned
 *
 * Order of a durable write: append, sync the extent (once for all payloads waiting), commit
 * the metadata, acknowledge.  A crash in between leaves garbage that no metadata names; it is
 * found by stream_settle after the next start.
 *
 * Layout of a range in its extent.  Everything is little-endian.
 *
 *   offset                what
 *   0                     payload, `length` bytes
 *   length                CRC-32C of each STREAM_BLOCK_BYTES block of payload, 4 bytes each
 *   length + 4 * blocks   trailer: magic "ZRNG", CRC-32C of the table, payload length (8 bytes)
 *   ...                   zeroes up to a multiple of STREAM_ALIGN_BYTES
 *
 * A range begins at a multiple of STREAM_ALIGN_BYTES, so freeing it frees whole file system
 * blocks.  Payloads of STREAM_DEDICATED_BYTES or more get an extent of their own, so that they
 * are contiguous (sendfile) and their removal is one unlink.
 *
 * Threads: any thread may call; a writer and a pin are used by one thread at a time.  Two threads
 * of this layer, the syncers (one for shared extents, one for dedicated ones, so that a small
 * payload never waits for a huge one), sync what was written and run the callbacks of
 * stream_writer_sync.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/slice.h"
#include "base/space.h"

enum {
    STREAM_ALIGN_BYTES = 4096,
    STREAM_BLOCK_BYTES = 64 * 1024,
    STREAM_EXTENT_BYTES = 256 * 1024 * 1024,   /* a shared extent takes no more after this */
    STREAM_DEDICATED_BYTES = 64 * 1024 * 1024, /* from here on a payload has its own extent */
    STREAM_PATH_BYTES = 32,
};

/* Where a payload is.  A value.  `length` is never 0. */
struct stream_range {
    uint64_t extent_id;
    uint64_t offset; /* of the payload in the extent */
    uint64_t length; /* of the payload, without its checksums */
};

/* Sizes that tests make small; see STREAM_EXTENT_BYTES and STREAM_DEDICATED_BYTES. */
struct stream_options {
    uint64_t extent_bytes;
    uint64_t dedicated_bytes;
    /* Kept; payloads are counted in it.  NULL: the disk itself says when it is full. */
    struct space *space;
    bool read_only; /* nothing is written, not even the directory: for looking at what is there */
    bool by_step;   /* no threads: what is to be synced waits for stream_step (simulation) */
};

struct stream;
struct stream_writer;
struct stream_pin;

/* Bytes a payload of `length` occupies in its extent, checksums and alignment included. */
uint64_t stream_allocated_bytes(uint64_t length);

/*
 * Use the extents in `io`'s directory "extents".  `io` and `clock` are kept and outlive the
 * stream; extent ids are ticks of `clock`, so they are never used twice.  Extents that are there
 * already can be read at once; none of them is appended to.
 */
MUST_CHECK enum err stream_open(struct io *io, struct clock *clock, struct stream **stream);
MUST_CHECK enum err stream_open_with(struct io *io, struct clock *clock,
                                     const struct stream_options *options, struct stream **stream);

/* Every writer and pin is gone and no sync is under way. */
void stream_close(struct stream *stream);

/* --- writing --- */

/*
 * Reserve a range for `length` bytes (not 0).
 *   ERR_NO_SPACE   so much does not fit, or would leave less than the reserve (base/space.h)
 *   ERR_IO         the extent could not be made
 */
MUST_CHECK enum err stream_writer_new(struct stream *stream, uint64_t length,
                                      struct stream_writer **writer);

/*
 * The next bytes of the payload; never more in all than were reserved.  Writing out is started
 * in the background every few megabytes, so that the sync has little left to do.
 * On error the writer can only be aborted.
 */
MUST_CHECK enum err stream_writer_append(struct stream_writer *writer, struct slice bytes);

/* All bytes are there: write the checksums. */
MUST_CHECK enum err stream_writer_finish(struct stream_writer *writer);

struct stream_range stream_writer_range(const struct stream_writer *writer);

/*
 * Make the finished range durable and then call `done(arg)` on a syncer's thread; `done` may
 * commit or abort the writer.  Payloads that wait at the same time share one sync of each extent.
 * A failed sync is a panic: the kernel may have dropped the bytes.
 */
void stream_writer_sync(struct stream_writer *writer, void (*done)(void *arg), void *arg);

/* In a stream by step: do what the syncers would do for all writers that wait at this moment. */
void stream_step(struct stream *stream);

/* The range is owned by durable metadata now.  Frees the writer. */
void stream_writer_commit(struct stream_writer *writer);

/*
 * The range is not needed: give its space back.  Frees the writer.  Not while its sync is under
 * way.  NULL is fine.
 */
void stream_writer_abort(struct stream_writer *writer);

/* --- reading --- */

/*
 * Between enter and leave no range that was live at enter is reclaimed: a reader enters, reads
 * the metadata, pins the ranges it found, and leaves.  Short: reclaiming waits for it.
 * `ticket` is what enter returned.
 */
unsigned stream_guard_enter(struct stream *stream);
void stream_guard_leave(struct stream *stream, unsigned ticket);

/*
 * Keep a range readable until stream_unpin.
 *   ERR_CORRUPT   there is no such extent, or it is too short for the range
 */
MUST_CHECK enum err stream_pin(struct stream *stream, const struct stream_range *range,
                               struct stream_pin **pin);
void stream_unpin(struct stream_pin *pin);

/*
 * Copy `len` bytes from `offset` on (offset + len is within the range) after checking the
 * checksum of every block they touch.
 *   ERR_CORRUPT   a checksum does not match; ERR_IO
 */
MUST_CHECK enum err stream_read(struct stream_pin *pin, uint64_t offset, void *buf, size_t len);

/*
 * For sendfile, which checks nothing: the extent's descriptor, owned by the pin, and where in it
 * the `len` (not 0) bytes from `offset` on are.  -1 unless stream_read has found every block of
 * them good a short while ago and the file has not been written to since (verified.c): they are to
 * be read then.
 */
int stream_pin_descriptor(struct stream_pin *pin, uint64_t offset, uint64_t len,
                          uint64_t *file_offset);

/* --- reclaiming: for the partition layer's reclaimer thread alone --- */

/* Wait until every guard entered before this call has been left. */
void stream_barrier(struct stream *stream);

/*
 * Give the space of a range back.  Returns false, and does nothing, while a reader has it
 * pinned; false too when the disk refuses: try again later.  A range of an extent that is gone
 * is fine.  Called after stream_barrier, for ranges whose removal from the metadata is durable.
 * A range that is all there is in a full extent takes the extent with it.
 */
bool stream_reclaim(struct stream *stream, const struct stream_range *range);

/*
 * Make what stream_reclaim and stream_unlink gave back durable: before the caller durably forgets
 * those ranges.  Otherwise a power cut can bring their space back with nobody left to know.
 *   ERR_IO   the extents could not be opened; nothing may be forgotten
 */
MUST_CHECK enum err stream_reclaim_sync(struct stream *stream);

/*
 * Call `fn` for each extent that takes no more payloads and has no writer left, once each:
 * those found at open and not yet settled, and those filled since.  `length` is the extent's
 * size in bytes.  The caller settles each with stream_settle, in `fn` or later.
 */
void stream_each_unsettled(struct stream *stream,
                           void (*fn)(void *arg, uint64_t extent_id, uint64_t length), void *arg);

/*
 * The extent's live ranges are exactly `ranges`, in order of offset: drop what lies past the
 * last (truncate) and give back the gaps, durably.  An extent with no live range is unlinked.
 * `*length` is the extent's size afterwards (0: unlinked).  Called after stream_barrier, as
 * stream_reclaim is.  Ranges that are pinned stay as if they were live, and are reclaimed later.
 *   ERR_CORRUPT   the extent cannot have these ranges; it is left as it was.  ERR_IO
 */
MUST_CHECK enum err stream_settle(struct stream *stream, uint64_t extent_id,
                                  const struct stream_range *ranges, size_t range_count,
                                  uint64_t *length);

/* The extent was settled before this process began: it is not unsettled. */
void stream_mark_settled(struct stream *stream, uint64_t extent_id);

/*
 * Remove an extent in which nothing is live; one that is gone is fine.  Returns false while a
 * reader has it pinned, or it takes payloads, or the disk refuses.
 */
bool stream_unlink(struct stream *stream, uint64_t extent_id);

/* --- checking --- */

/* The path of an extent's file, from the io's directory, with its NUL. */
void stream_extent_path(uint64_t extent_id, char path[STREAM_PATH_BYTES]);

/* Whether a range, as metadata names it, can be one. */
bool stream_range_is_valid(const struct stream_range *range);

/* Call `fn` for each extent there is, in no particular order. */
void stream_each_extent(struct stream *stream, void (*fn)(void *arg, uint64_t extent_id),
                        void *arg);

/* ERR_NOT_FOUND if there is no such extent; ERR_CORRUPT if its file has gone since; ERR_IO. */
MUST_CHECK enum err stream_extent_size(struct stream *stream, uint64_t extent_id,
                                       uint64_t *size_bytes);

/* Read all of a range and compare it with its checksums.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err stream_check(struct stream *stream, const struct stream_range *range);

/* Where the first byte that is not zero lies, from `begin` on; `end` if there is none before it.
   ERR_NOT_FOUND if there is no such extent; ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err stream_find_bytes(struct stream *stream, uint64_t extent_id, uint64_t begin,
                                      uint64_t end, uint64_t *at);

#endif
