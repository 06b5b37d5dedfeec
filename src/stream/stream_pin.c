/*
 * stream_pin.c - reading ranges, and keeping them while they are read.
 *
 * A pin is in its extent's list from before its file is opened until stream_unpin, so
 * stream_reclaim sees it from the first moment.
 *
 * Checksums are per block of STREAM_BLOCK_BYTES.  Whole blocks are read into the caller's buffer
 * and checked there; a part of a block is copied out of a scratch block, which is kept, so that
 * many small reads of one block cost one.  What was found good is remembered for a while
 * (verified.c): only such blocks may be sent without being read.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "stream/stream_internal.h"

#define NO_BLOCK UINT64_MAX

bool stream__is_pinned(const struct extent *extent, uint64_t begin, uint64_t end)
{
    for (const struct stream_pin *pin = extent->pins; pin != NULL; pin = pin->next) {
        if (pin->range.offset < end && begin < layout__range_end(&pin->range))
            return true;
    }
    return false;
}

/* Link the pin into the list of its extent, if there is such an extent. */
static bool pin_link(struct stream *stream, struct stream_pin *pin)
{
    mutex_lock(&stream->lock);
    struct extent *extent = extent__use_locked(stream, pin->range.extent_id);
    if (extent != NULL) {
        pin->extent = extent;
        pin->next = extent->pins;
        pin->link = &extent->pins;
        if (pin->next != NULL)
            pin->next->link = &pin->next;
        extent->pins = pin;
    }
    mutex_unlock(&stream->lock);
    return extent != NULL;
}

void stream_unpin(struct stream_pin *pin)
{
    struct stream *stream = pin->stream;
    mutex_lock(&stream->lock);
    assert(*pin->link == pin);
    *pin->link = pin->next;
    if (pin->next != NULL)
        pin->next->link = pin->link;
    mutex_unlock(&stream->lock);
    extent__release(stream, pin->extent);
    free(pin->table);
    free(pin->scratch);
    free(pin);
}

static enum err pin_open(struct stream *stream, struct stream_pin *pin)
{
    const enum err err = extent__open(stream, pin->extent);
    if (err != OK)
        return err;
    mutex_lock(&stream->lock);
    const uint64_t size_bytes = pin->extent->size_bytes;
    mutex_unlock(&stream->lock);
    if (layout__range_end(&pin->range) > size_bytes)
        return CORRUPT("extent %016" PRIx64 " of %" PRIu64
                       " bytes ends before the range at %" PRIu64,
                       pin->range.extent_id, size_bytes, pin->range.offset);
    return OK;
}

enum err stream_pin(struct stream *stream, const struct stream_range *range,
                    struct stream_pin **pin)
{
    if (!layout__range_is_valid(range))
        return CORRUPT("extent %016" PRIx64 " cannot have a range of %" PRIu64 " bytes at %" PRIu64,
                       range->extent_id, range->length, range->offset);
    struct stream_pin *made = stream__alloc(sizeof(*made));
    made->stream = stream;
    made->range = *range;
    made->scratch_block = NO_BLOCK;
    if (!pin_link(stream, made)) {
        free(made);
        return CORRUPT("there is no extent %016" PRIx64, range->extent_id);
    }
    const enum err err = pin_open(stream, made);
    if (err != OK) {
        stream_unpin(made);
        return err;
    }
    *pin = made;
    return OK;
}

int stream_pin_descriptor(struct stream_pin *pin, uint64_t offset, uint64_t len,
                          uint64_t *file_offset)
{
    assert(len > 0);
    assert(offset < pin->range.length);
    assert(len <= pin->range.length - offset);
    const int descriptor = io_file_descriptor(pin->extent->file);
    const uint64_t first = offset / STREAM_BLOCK_BYTES;
    const struct block_span span = {
        .first = first,
        .count = (offset + len - 1) / STREAM_BLOCK_BYTES - first + 1,
    };
    uint64_t stamp;
    if (descriptor < 0 || io_file_stamp(pin->extent->file, &stamp) != OK ||
        !verified__has(pin->stream, pin->extent, &pin->range, &span, stamp))
        return -1;
    *file_offset = pin->range.offset + offset;
    return descriptor;
}

/* --- reading --- */

/* Exactly `len` bytes at `offset` of the range, checksums included. */
static enum err pin_read_exactly(const struct stream_pin *pin, uint64_t offset, void *buf,
                                 size_t len)
{
    const uint64_t at = pin->range.offset + offset;
    size_t got;
    if (io_file_read(pin->extent->file, at, buf, len, &got) != OK)
        return ERR_IO;
    if (got < len)
        return CORRUPT("extent %016" PRIx64 " ends within the range at %" PRIu64,
                       pin->range.extent_id, pin->range.offset);
    return OK;
}

/* Read and verify the table, the first time. */
static enum err pin_load_table(struct stream_pin *pin)
{
    if (pin->table != NULL)
        return OK;
    const uint64_t length = pin->range.length;
    const size_t size = layout__table_bytes(length);
    uint8_t *table = stream__alloc(size);
    enum err err = pin_read_exactly(pin, length, table, size);
    if (err == OK && !layout__table_is_valid(table, length))
        err = CORRUPT("extent %016" PRIx64 ": the checksum table of the range at %" PRIu64
                      " is damaged",
                      pin->range.extent_id, pin->range.offset);
    if (err != OK) {
        free(table);
        return err;
    }
    pin->table = table;
    return OK;
}

static size_t pin_block_bytes(const struct stream_pin *pin, uint64_t block)
{
    const uint64_t left = pin->range.length - block * STREAM_BLOCK_BYTES;
    return left < STREAM_BLOCK_BYTES ? (size_t)left : STREAM_BLOCK_BYTES;
}

/* Compare `len` bytes, which are the whole blocks from `block` on, with their checksums. */
static enum err pin_check_blocks(const struct stream_pin *pin, uint64_t block, const char *buf,
                                 size_t len)
{
    for (size_t at = 0; at < len; block++) {
        const size_t block_bytes = pin_block_bytes(pin, block);
        assert(block_bytes <= len - at);
        const uint32_t expected = get_le32(pin->table + block * LAYOUT_CRC_BYTES);
        if (digest_crc32c(0, slice_make(buf + at, block_bytes)) != expected)
            return CORRUPT("extent %016" PRIx64 ": block %" PRIu64 " of the range at %" PRIu64
                           " fails its checksum",
                           pin->range.extent_id, block, pin->range.offset);
        at += block_bytes;
    }
    return OK;
}

/* Read `len` bytes, which are whole blocks, from block `block` on, and check them. */
static enum err pin_read_blocks(const struct stream_pin *pin, uint64_t block, char *buf, size_t len)
{
    /* Where there is no descriptor nothing is sent without being read, and a range of one block is
       not worth sending another way than it was read. */
    uint64_t stamp = 0;
    const bool noted = pin->range.length > STREAM_BLOCK_BYTES &&
                       io_file_descriptor(pin->extent->file) >= 0 &&
                       io_file_stamp(pin->extent->file, &stamp) == OK;
    enum err err = pin_read_exactly(pin, block * STREAM_BLOCK_BYTES, buf, len);
    if (err == OK)
        err = pin_check_blocks(pin, block, buf, len);
    if (err == OK && noted) {
        const struct block_span span = { .first = block, .count = layout__block_count(len) };
        verified__add(pin->stream, pin->extent, &pin->range, &span, stamp);
    }
    return err;
}

static enum err pin_load_scratch(struct stream_pin *pin, uint64_t block)
{
    if (pin->scratch_block == block)
        return OK;
    if (pin->scratch == NULL)
        pin->scratch = stream__alloc(pin_block_bytes(pin, 0));
    pin->scratch_block = NO_BLOCK;
    const enum err err = pin_read_blocks(pin, block, pin->scratch, pin_block_bytes(pin, block));
    if (err == OK)
        pin->scratch_block = block;
    return err;
}

/* How many of `len` bytes from `offset` on are whole blocks. */
static size_t pin_whole_bytes(const struct stream_pin *pin, uint64_t offset, size_t len)
{
    if (offset % STREAM_BLOCK_BYTES != 0)
        return 0;
    return offset + len == pin->range.length ? len : len - len % STREAM_BLOCK_BYTES;
}

enum err stream_read(struct stream_pin *pin, uint64_t offset, void *buf, size_t len)
{
    assert(offset <= pin->range.length);
    assert(len <= pin->range.length - offset);
    if (len == 0)
        return OK;
    enum err err = pin_load_table(pin);
    char *to = buf;
    while (err == OK && len > 0) {
        const uint64_t block = offset / STREAM_BLOCK_BYTES;
        size_t part = pin_whole_bytes(pin, offset, len);
        if (part > 0) {
            err = pin_read_blocks(pin, block, to, part);
        } else {
            const size_t in_block = (size_t)(offset % STREAM_BLOCK_BYTES);
            const size_t block_left = pin_block_bytes(pin, block) - in_block;
            part = len < block_left ? len : block_left;
            err = pin_load_scratch(pin, block);
            if (err == OK)
                memcpy(to, pin->scratch + in_block, part);
        }
        to += part;
        offset += part;
        len -= part;
    }
    return err;
}
