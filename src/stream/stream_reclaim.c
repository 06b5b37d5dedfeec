/*
 * stream_reclaim.c - giving space back.  Called by the partition layer's reclaimer alone; readers
 * and writers go on meanwhile.
 *
 * What keeps a reader safe is the caller's order: the metadata that named a range is durably
 * gone, stream_barrier has returned, and so whoever could still want the range has it pinned.
 * From then on its pins can only become fewer, and a look at them needs no lock that lasts until
 * the hole is made.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "stream/stream_internal.h"

/* --- choosing extents --- */

struct extent_ids {
    uint64_t *ids;
    size_t count;
};

/* Ids of all extents that `wanted` picks, which is called under the lock. */
static struct extent_ids pick_extents(struct stream *stream, bool (*wanted)(struct extent *))
{
    struct extent_ids picked = { 0 };
    mutex_lock(&stream->lock);
    picked.ids = stream__alloc((stream->extent_count + 1) * sizeof(*picked.ids));
    for (size_t i = 0; i < stream->bucket_count; i++) {
        for (struct extent *extent = stream->buckets[i]; extent != NULL; extent = extent->next) {
            if (wanted(extent))
                picked.ids[picked.count++] = extent->id;
        }
    }
    mutex_unlock(&stream->lock);
    return picked;
}

static bool is_unsettled(struct extent *extent)
{
    return extent->state == EXTENT_FULL && extent->writer_count == 0;
}

/* Holes made from here on belong to the next sync. */
static bool take_punched(struct extent *extent)
{
    const bool punched = extent->punched;
    extent->punched = false;
    return punched;
}

/* --- ranges --- */

/* Whether the range is all there is, or will ever be, in its extent.  Under lock. */
static bool is_whole_extent(const struct extent *extent, const struct stream_range *range)
{
    return extent->state != EXTENT_FILLING && extent->writer_count == 0 && range->offset == 0 &&
           layout__range_end(range) == extent->size_bytes;
}

static enum err reclaim_used(struct stream *stream, struct extent *extent,
                             const struct stream_range *range)
{
    enum err err = extent__open(stream, extent);
    if (err != OK)
        return err;
    mutex_lock(&stream->lock);
    const bool whole = is_whole_extent(extent, range);
    mutex_unlock(&stream->lock);
    if (whole)
        return extent__unlink(stream, extent);

    err = io_file_punch(extent->file, range->offset, stream_allocated_bytes(range->length));
    mutex_lock(&stream->lock);
    extent->punched = true;
    mutex_unlock(&stream->lock);
    return err;
}

bool stream_reclaim(struct stream *stream, const struct stream_range *range)
{
    if (!layout__range_is_valid(range)) {
        (void)CORRUPT("extent %016" PRIx64 " cannot have a range of %" PRIu64 " bytes at %" PRIu64,
                      range->extent_id, range->length, range->offset);
        return true;
    }
    mutex_lock(&stream->lock);
    struct extent *extent = extent__use_locked(stream, range->extent_id);
    const bool pinned =
        extent != NULL && stream__is_pinned(extent, range->offset, layout__range_end(range));
    mutex_unlock(&stream->lock);
    if (extent == NULL)
        return true;

    bool done = false;
    if (!pinned) {
        const enum err err = reclaim_used(stream, extent, range);
        /* A file that is missing holds no space: no reason to come again. */
        done = err == OK || err == ERR_CORRUPT;
    }
    extent__release(stream, extent);
    return done;
}

enum err stream_reclaim_sync(struct stream *stream)
{
    enum err err = OK;
    struct extent_ids punched = pick_extents(stream, take_punched);
    for (size_t i = 0; i < punched.count; i++) {
        struct extent *extent = extent__use(stream, punched.ids[i]);
        if (extent == NULL)
            continue;
        const enum err opened = extent__open(stream, extent);
        if (opened == OK)
            extent__sync(extent);
        else if (opened != ERR_CORRUPT)
            err = opened;
        extent__release(stream, extent);
    }
    free(punched.ids);

    mutex_lock(&stream->lock);
    const bool unlinked = stream->unlinked;
    stream->unlinked = false;
    mutex_unlock(&stream->lock);
    if (unlinked)
        extent__sync_names(stream);
    return err;
}

/* --- whole extents --- */

void stream_each_unsettled(struct stream *stream,
                           void (*fn)(void *arg, uint64_t extent_id, uint64_t length), void *arg)
{
    struct extent_ids unsettled = pick_extents(stream, is_unsettled);
    for (size_t i = 0; i < unsettled.count; i++) {
        struct extent *extent = extent__use(stream, unsettled.ids[i]);
        if (extent == NULL)
            continue;
        uint64_t size_bytes = 0;
        const enum err err = extent__open(stream, extent);
        if (err == OK) {
            mutex_lock(&stream->lock);
            size_bytes = extent->size_bytes;
            mutex_unlock(&stream->lock);
        }
        extent__release(stream, extent);
        /* What cannot be opened now is offered again at the next call. */
        if (err == OK)
            fn(arg, unsettled.ids[i], size_bytes);
    }
    free(unsettled.ids);
}

void stream_mark_settled(struct stream *stream, uint64_t extent_id)
{
    struct extent *extent = extent__use(stream, extent_id);
    if (extent == NULL)
        return;
    mutex_lock(&stream->lock);
    if (is_unsettled(extent))
        extent->state = EXTENT_SETTLED;
    mutex_unlock(&stream->lock);
    extent__release(stream, extent);
}

bool stream_unlink(struct stream *stream, uint64_t extent_id)
{
    struct extent *extent = extent__use(stream, extent_id);
    if (extent == NULL)
        return true;
    mutex_lock(&stream->lock);
    const bool busy =
        extent->pins != NULL || extent->writer_count > 0 || extent->state == EXTENT_FILLING;
    mutex_unlock(&stream->lock);
    const bool done = !busy && extent__unlink(stream, extent) == OK;
    extent__release(stream, extent);
    return done;
}

/* Bytes of an extent that stay. */
struct span {
    uint64_t begin;
    uint64_t end;
};

static int span_compare(const void *a, const void *b)
{
    const struct span *left = a;
    const struct span *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

/* Whether ranges from metadata can be those of an extent of `size_bytes`. */
static enum err check_ranges(uint64_t extent_id, uint64_t size_bytes,
                             const struct stream_range *ranges, size_t range_count)
{
    uint64_t end = 0;
    for (size_t i = 0; i < range_count; i++) {
        const struct stream_range *range = &ranges[i];
        if (!layout__range_is_valid(range) || range->extent_id != extent_id ||
            range->offset < end || layout__range_end(range) > size_bytes)
            return CORRUPT("extent %016" PRIx64 " of %" PRIu64
                           " bytes cannot have the range at %" PRIu64,
                           extent_id, size_bytes, range->offset);
        end = layout__range_end(range);
    }
    return OK;
}

/* The live ranges and those that are pinned, in order of offset.  The caller frees them. */
static struct span *spans_to_keep(struct stream *stream, const struct extent *extent,
                                  const struct stream_range *ranges, size_t range_count,
                                  size_t *span_count)
{
    size_t pin_count = 0;
    mutex_lock(&stream->lock);
    for (const struct stream_pin *pin = extent->pins; pin != NULL; pin = pin->next)
        pin_count++;
    struct span *spans = stream__alloc((range_count + pin_count + 1) * sizeof(*spans));
    size_t count = 0;
    for (const struct stream_pin *pin = extent->pins; pin != NULL; pin = pin->next)
        spans[count++] =
            (struct span){ .begin = pin->range.offset, .end = layout__range_end(&pin->range) };
    mutex_unlock(&stream->lock);

    for (size_t i = 0; i < range_count; i++)
        spans[count++] =
            (struct span){ .begin = ranges[i].offset, .end = layout__range_end(&ranges[i]) };
    qsort(spans, count, sizeof(*spans), span_compare);
    *span_count = count;
    return spans;
}

/* Free what lies between and behind the spans; `*length` is the size that is left. */
static enum err free_gaps(struct io_file *file, uint64_t size_bytes, const struct span *spans,
                          size_t span_count, uint64_t *length)
{
    uint64_t end = 0;
    for (size_t i = 0; i < span_count; i++) {
        if (spans[i].begin > end) {
            const enum err err = io_file_punch(file, end, spans[i].begin - end);
            if (err != OK)
                return err;
        }
        if (end < spans[i].end)
            end = spans[i].end;
    }
    *length = end;
    return end < size_bytes ? io_file_truncate(file, end) : OK;
}

static enum err settle_used(struct stream *stream, struct extent *extent,
                            const struct stream_range *ranges, size_t range_count, uint64_t *length)
{
    enum err err = extent__open(stream, extent);
    if (err != OK)
        return err;
    mutex_lock(&stream->lock);
    assert(extent->state == EXTENT_FULL || extent->state == EXTENT_SETTLED);
    assert(extent->writer_count == 0);
    const uint64_t size_bytes = extent->size_bytes;
    mutex_unlock(&stream->lock);
    err = check_ranges(extent->id, size_bytes, ranges, range_count);
    if (err != OK)
        return err;

    size_t span_count;
    struct span *spans = spans_to_keep(stream, extent, ranges, range_count, &span_count);
    *length = 0;
    if (span_count == 0) {
        err = extent__unlink(stream, extent);
    } else {
        err = free_gaps(extent->file, size_bytes, spans, span_count, length);
        if (err == OK) {
            /* The caller records that this extent is settled: its holes are durable then. */
            extent__sync(extent);
            mutex_lock(&stream->lock);
            extent->size_bytes = *length;
            extent->state = EXTENT_SETTLED;
            mutex_unlock(&stream->lock);
        }
    }
    free(spans);
    return err;
}

enum err stream_settle(struct stream *stream, uint64_t extent_id, const struct stream_range *ranges,
                       size_t range_count, uint64_t *length)
{
    struct extent *extent = extent__use(stream, extent_id);
    if (extent == NULL) {
        *length = 0;
        if (range_count > 0)
            return CORRUPT("there is no extent %016" PRIx64, extent_id);
        return OK;
    }
    const enum err err = settle_used(stream, extent, ranges, range_count, length);
    extent__release(stream, extent);
    return err;
}
