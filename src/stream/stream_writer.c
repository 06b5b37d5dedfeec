/*
 * stream_writer.c - one payload on its way to the disk.
 *
 *   RESERVED -> WRITTEN -> SYNCING -> SYNCED     append and finish; sync; the syncer
 *   RESERVED -> FAILED                           a write failed: only abort is left
 *
 * Bytes go to the file as they come, in pieces of at least STREAM_BLOCK_BYTES: smaller ones are
 * collected in a buffer of that size.  The checksums are collected in memory, four bytes for
 * each 64 KiB, and written behind the payload together with what is left in the buffer, so that
 * a small payload is one write.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "stream/stream_internal.h"

enum {
    /* Often enough that a sync finds little to do, seldom enough to be cheap.  A shorter payload is
       left to its sync, which takes several of them in one go. */
    WRITE_BEHIND_BYTES = 1024 * 1024,
};

/* --- reserving --- */

/* Under stream->lock. */
static void reserve_locked(struct stream_writer *writer, struct extent *extent)
{
    assert(extent->state == EXTENT_FILLING);
    writer->extent = extent;
    writer->range.extent_id = extent->id;
    writer->range.offset = extent->size_bytes;
    extent->size_bytes = layout__range_end(&writer->range);
    extent->writer_count++;
    extent->user_count++;
}

/* Reserve in the shared extent, if there is one. */
static bool reserve_shared(struct stream *stream, struct stream_writer *writer)
{
    struct extent *full = NULL;
    mutex_lock(&stream->lock);
    struct extent *extent = stream->filling;
    if (extent != NULL) {
        reserve_locked(writer, extent);
        if (extent->size_bytes >= stream->options.extent_bytes) {
            extent->state = EXTENT_FULL;
            stream->filling = NULL;
            full = extent;
        }
    }
    mutex_unlock(&stream->lock);
    if (full != NULL)
        extent__release(stream, full);
    return extent != NULL;
}

/* Make a shared extent, unless another thread has just done so. */
static enum err grow_shared(struct stream *stream)
{
    enum err err = OK;
    mutex_lock(&stream->growing);
    mutex_lock(&stream->lock);
    const bool missing = stream->filling == NULL;
    mutex_unlock(&stream->lock);
    if (missing) {
        struct extent *extent;
        err = extent__create(stream, false, &extent);
        if (err == OK) {
            mutex_lock(&stream->lock);
            stream->filling = extent; /* which stays its user */
            mutex_unlock(&stream->lock);
        }
    }
    mutex_unlock(&stream->growing);
    return err;
}

static enum err reserve_dedicated(struct stream *stream, struct stream_writer *writer)
{
    struct extent *extent;
    const enum err err = extent__create(stream, true, &extent);
    if (err != OK)
        return err;
    mutex_lock(&stream->lock);
    reserve_locked(writer, extent);
    extent->state = EXTENT_FULL;
    mutex_unlock(&stream->lock);
    extent__release(stream, extent);
    return OK;
}

static enum err reserve(struct stream *stream, struct stream_writer *writer)
{
    if (writer->range.length >= stream->options.dedicated_bytes)
        return reserve_dedicated(stream, writer);
    while (!reserve_shared(stream, writer)) {
        const enum err err = grow_shared(stream);
        if (err != OK)
            return err;
    }
    return OK;
}

enum err stream_writer_new(struct stream *stream, uint64_t length, struct stream_writer **writer)
{
    assert(length > 0);
    struct stream_writer *made = stream__alloc(sizeof(*made));
    made->stream = stream;
    made->range.length = length;
    made->promised_bytes = stream_allocated_bytes(length);
    enum err err = ERR_NO_SPACE;
    if (space_promise(stream->options.space, made->promised_bytes)) {
        err = reserve(stream, made);
        if (err != OK)
            space_fulfil(stream->options.space, made->promised_bytes);
    }
    if (err != OK) {
        free(made);
        return err;
    }
    made->table = stream__alloc(layout__table_bytes(length));
    *writer = made;
    return OK;
}

struct stream_range stream_writer_range(const struct stream_writer *writer)
{
    return writer->range;
}

/* --- writing --- */

static void writer_checksum(struct stream_writer *writer, struct slice bytes)
{
    while (bytes.len > 0) {
        const size_t in_block = (size_t)(writer->accepted_bytes % STREAM_BLOCK_BYTES);
        const struct slice part = slice_head(bytes, STREAM_BLOCK_BYTES - in_block);
        writer->block_crc = digest_crc32c(writer->block_crc, part);
        writer->accepted_bytes += part.len;
        bytes = slice_from(bytes, part.len);

        const bool block_ends = writer->accepted_bytes % STREAM_BLOCK_BYTES == 0 ||
                                writer->accepted_bytes == writer->range.length;
        if (block_ends) {
            const uint64_t index = (writer->accepted_bytes - 1) / STREAM_BLOCK_BYTES;
            put_le32(writer->table + index * LAYOUT_CRC_BYTES, writer->block_crc);
            writer->block_crc = 0;
        }
    }
}

/* Have the disk begin with what was written of the range, up to `end`. */
static void write_behind(struct stream_writer *writer, uint64_t end)
{
    io_file_write_behind(writer->extent->file, writer->range.offset + writer->behind_bytes,
                         end - writer->behind_bytes);
    writer->behind_bytes = end;
}

/* The next bytes of the payload, to the file. */
static enum err writer_write(struct stream_writer *writer, struct slice bytes)
{
    struct io_file *file = writer->extent->file;
    const enum err err = io_file_write(file, writer->range.offset + writer->written_bytes, bytes);
    if (err != OK)
        return err;
    writer->written_bytes += bytes.len;
    writer->promised_bytes -= bytes.len;
    space_fulfil(writer->stream->options.space, bytes.len);
    if (writer->written_bytes - writer->behind_bytes >= WRITE_BEHIND_BYTES)
        write_behind(writer, writer->written_bytes);
    return OK;
}

/* Move bytes to the buffer, and the buffer to the file when it is full. */
static enum err writer_collect(struct stream_writer *writer, struct slice bytes)
{
    if (writer->buffer == NULL) {
        const uint64_t length = writer->range.length;
        writer->buffer =
            stream__alloc(length < STREAM_BLOCK_BYTES ? (size_t)length : STREAM_BLOCK_BYTES);
    }
    memcpy(writer->buffer + writer->buffered_bytes, bytes.data, bytes.len);
    writer->buffered_bytes += bytes.len;
    if (writer->buffered_bytes < STREAM_BLOCK_BYTES)
        return OK;
    writer->buffered_bytes = 0;
    return writer_write(writer, slice_make(writer->buffer, STREAM_BLOCK_BYTES));
}

static enum err writer_store(struct stream_writer *writer, struct slice bytes)
{
    while (bytes.len > 0) {
        const bool direct = writer->buffered_bytes == 0 && bytes.len >= STREAM_BLOCK_BYTES;
        const struct slice part =
            direct ? slice_head(bytes, bytes.len - bytes.len % STREAM_BLOCK_BYTES)
                   : slice_head(bytes, STREAM_BLOCK_BYTES - writer->buffered_bytes);
        const enum err err = direct ? writer_write(writer, part) : writer_collect(writer, part);
        if (err != OK)
            return err;
        bytes = slice_from(bytes, part.len);
    }
    return OK;
}

enum err stream_writer_append(struct stream_writer *writer, struct slice bytes)
{
    assert(writer->state == WRITER_RESERVED);
    assert(bytes.len <= writer->range.length - writer->accepted_bytes);
    writer_checksum(writer, bytes);
    const enum err err = writer_store(writer, bytes);
    if (err != OK)
        writer->state = WRITER_FAILED;
    return err;
}

/* Write what follows the written part of the payload, up to the end of the range. */
static enum err writer_write_tail(struct stream_writer *writer)
{
    const uint64_t length = writer->range.length;
    const size_t size = (size_t)(stream_allocated_bytes(length) - writer->written_bytes);
    char *tail = stream__alloc(size);
    if (writer->buffered_bytes > 0)
        memcpy(tail, writer->buffer, writer->buffered_bytes);
    layout__seal_table(writer->table, length);
    memcpy(tail + writer->buffered_bytes, writer->table, layout__table_bytes(length));
    const enum err err = io_file_write(
        writer->extent->file, writer->range.offset + writer->written_bytes, slice_make(tail, size));
    free(tail);
    return err;
}

enum err stream_writer_finish(struct stream_writer *writer)
{
    assert(writer->state == WRITER_RESERVED);
    assert(writer->accepted_bytes == writer->range.length);
    assert(writer->written_bytes + writer->buffered_bytes == writer->range.length);
    const enum err err = writer_write_tail(writer);
    if (err != OK) {
        writer->state = WRITER_FAILED;
        return err;
    }
    if (writer->range.length >= WRITE_BEHIND_BYTES)
        write_behind(writer, stream_allocated_bytes(writer->range.length));
    free(writer->buffer);
    free(writer->table);
    writer->buffer = NULL;
    writer->table = NULL;
    writer->state = WRITER_WRITTEN;
    return OK;
}

void stream_writer_sync(struct stream_writer *writer, void (*done)(void *arg), void *arg)
{
    assert(writer->state == WRITER_WRITTEN);
    assert(done != NULL);
    struct stream *stream = writer->stream;
    writer->state = WRITER_SYNCING;
    writer->done = done;
    writer->arg = arg;
    syncer__add(writer->extent->dedicated ? &stream->dedicated_syncer : &stream->shared_syncer,
                writer);
}

/* --- the end --- */

static void writer_free(struct stream_writer *writer)
{
    struct stream *stream = writer->stream;
    mutex_lock(&stream->lock);
    assert(writer->extent->writer_count > 0);
    writer->extent->writer_count--;
    mutex_unlock(&stream->lock);
    space_fulfil(stream->options.space, writer->promised_bytes);
    extent__release(stream, writer->extent);
    free(writer->buffer);
    free(writer->table);
    free(writer);
}

void stream_writer_commit(struct stream_writer *writer)
{
    assert(writer->state == WRITER_SYNCED);
    writer_free(writer);
}

void stream_writer_abort(struct stream_writer *writer)
{
    if (writer == NULL)
        return;
    assert(writer->state != WRITER_SYNCING);
    const uint64_t allocated = stream_allocated_bytes(writer->range.length);
    const enum err err = writer->extent->dedicated
                             ? extent__unlink(writer->stream, writer->extent)
                             : io_file_punch(writer->extent->file, writer->range.offset, allocated);
    if (err != OK)
        log_warn("stream", "space of an abandoned payload is kept until its extent is settled");
    writer_free(writer);
}
