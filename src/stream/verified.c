/*
 * verified.c - which blocks of an extent were compared with their checksums lately.
 *
 * sendfile takes bytes from the system's cache to the socket without passing by here, so it is
 * used for blocks only that were read and compared a short while ago, and whose file has not been
 * touched since.  A block counts as such until
 *
 *   the file's stamp changes     somebody wrote to it: this process, which appends and punches, or
 *                                another, which it should not
 *   VERIFIED_SEC have passed     the cache may have let go of it and may read it again, from a disk
 *                                that has changed it
 *   the file is closed           which bounds the memory
 *
 * A block is a bit: that of the page it begins at.  Ranges begin at whole pages, so blocks of two
 * ranges never share one.  The bits take 32 KiB for each GiB of the extents that are open.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stream/stream_internal.h"

enum {
    VERIFIED_SEC = 30,
    WORD_BITS = 64,
};

/* The bit of a block of a range. */
static uint64_t bit_of(const struct stream_range *range, uint64_t block)
{
    return (range->offset + block * STREAM_BLOCK_BYTES) / STREAM_ALIGN_BYTES;
}

static bool is_fresh(const struct verified *verified, uint64_t stamp, int64_t now)
{
    return verified->words != NULL && verified->stamp == stamp &&
           now - verified->since < VERIFIED_SEC * CLOCK_TICKS_PER_SEC;
}

void verified__forget(struct verified *verified)
{
    free(verified->words);
    *verified = (struct verified){ 0 };
}

/* Room for the bit `last`. */
static void grow(struct verified *verified, uint64_t last)
{
    const size_t needed = (size_t)(last / WORD_BITS) + 1;
    if (needed <= verified->word_count)
        return;
    uint64_t *words = stream__alloc(needed * sizeof(*words));
    if (verified->word_count > 0)
        memcpy(words, verified->words, verified->word_count * sizeof(*words));
    free(verified->words);
    verified->words = words;
    verified->word_count = needed;
}

void verified__add(struct stream *stream, struct extent *extent, const struct stream_range *range,
                   const struct block_span *span, uint64_t stamp)
{
    assert(span->count > 0);
    struct verified *verified = &extent->verified;
    const int64_t now = clock_now(stream->clock);
    mutex_lock(&stream->lock);
    if (!is_fresh(verified, stamp, now)) {
        verified__forget(verified);
        verified->stamp = stamp;
        verified->since = now;
    }
    grow(verified, bit_of(range, span->first + span->count - 1));
    assert(verified->words != NULL);
    for (uint64_t block = span->first; block < span->first + span->count; block++) {
        const uint64_t bit = bit_of(range, block);
        verified->words[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
    }
    mutex_unlock(&stream->lock);
}

static bool has(const struct verified *verified, uint64_t bit)
{
    return bit / WORD_BITS < verified->word_count &&
           (verified->words[bit / WORD_BITS] >> bit % WORD_BITS & 1) != 0;
}

bool verified__has(struct stream *stream, struct extent *extent, const struct stream_range *range,
                   const struct block_span *span, uint64_t stamp)
{
    assert(span->count > 0);
    const int64_t now = clock_now(stream->clock);
    mutex_lock(&stream->lock);
    bool all = is_fresh(&extent->verified, stamp, now);
    for (uint64_t i = 0; all && i < span->count; i++)
        all = has(&extent->verified, bit_of(range, span->first + i));
    mutex_unlock(&stream->lock);
    return all;
}
