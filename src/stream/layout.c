/*
 * layout.c - where payload, checksums and trailer are in a range.  The format is drawn in
 * stream.h; these are pure functions of it.
 *
 *   trailer, after the table
 *   offset  bytes  what
 *   0       4      magic "ZRNG"
 *   4       4      CRC-32C of the table
 *   8       8      payload length
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "stream/stream_internal.h"

static const char trailer_magic[4] = { 'Z', 'R', 'N', 'G' };

static_assert(STREAM_BLOCK_BYTES % STREAM_ALIGN_BYTES == 0, "blocks are whole pages");

uint64_t layout__block_count(uint64_t length)
{
    return (length + STREAM_BLOCK_BYTES - 1) / STREAM_BLOCK_BYTES;
}

size_t layout__table_bytes(uint64_t length)
{
    return (size_t)layout__block_count(length) * LAYOUT_CRC_BYTES + LAYOUT_TRAILER_BYTES;
}

uint64_t stream_allocated_bytes(uint64_t length)
{
    assert(length > 0);
    assert(length <= INT64_MAX / 2);
    const uint64_t used = length + layout__table_bytes(length);
    return (used + STREAM_ALIGN_BYTES - 1) / STREAM_ALIGN_BYTES * STREAM_ALIGN_BYTES;
}

bool layout__range_is_valid(const struct stream_range *range)
{
    return range->length > 0 && range->length <= INT64_MAX / 4 && range->offset <= INT64_MAX / 4 &&
           range->offset % STREAM_ALIGN_BYTES == 0;
}

uint64_t layout__range_end(const struct stream_range *range)
{
    assert(layout__range_is_valid(range));
    return range->offset + stream_allocated_bytes(range->length);
}

static size_t table_crc_bytes(uint64_t length)
{
    return layout__table_bytes(length) - LAYOUT_TRAILER_BYTES;
}

void layout__seal_table(uint8_t *table, uint64_t length)
{
    const size_t crc_bytes = table_crc_bytes(length);
    uint8_t *trailer = table + crc_bytes;
    memcpy(trailer, trailer_magic, sizeof(trailer_magic));
    put_le32(trailer + 4, digest_crc32c(0, slice_make(table, crc_bytes)));
    put_le64(trailer + 8, length);
}

bool layout__table_is_valid(const uint8_t *table, uint64_t length)
{
    const size_t crc_bytes = table_crc_bytes(length);
    const uint8_t *trailer = table + crc_bytes;
    return memcmp(trailer, trailer_magic, sizeof(trailer_magic)) == 0 &&
           get_le32(trailer + 4) == digest_crc32c(0, slice_make(table, crc_bytes)) &&
           get_le64(trailer + 8) == length;
}

void *stream__alloc(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes);
    if (memory == NULL)
        panic("out of memory for %zu bytes", size_bytes);
    return memory;
}
