/*
 * stream_check.c - looking at extents as a whole: which there are, whether the bytes of a range are
 * as they were written, whether bytes were given back.  Nothing is changed.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "stream/stream_internal.h"

enum {
    CHECK_BYTES = 1024 * 1024, /* read at once; whole blocks */
};

void stream_extent_path(uint64_t extent_id, char path[STREAM_PATH_BYTES])
{
    extent__path(extent_id, path);
}

bool stream_range_is_valid(const struct stream_range *range)
{
    return layout__range_is_valid(range);
}

void stream_each_extent(struct stream *stream, void (*fn)(void *arg, uint64_t extent_id), void *arg)
{
    mutex_lock(&stream->lock);
    size_t count = 0;
    uint64_t *ids = stream__alloc((stream->extent_count + 1) * sizeof(*ids));
    for (size_t i = 0; i < stream->bucket_count; i++)
        for (struct extent *extent = stream->buckets[i]; extent != NULL; extent = extent->next)
            ids[count++] = extent->id;
    mutex_unlock(&stream->lock);
    for (size_t i = 0; i < count; i++)
        fn(arg, ids[i]);
    free(ids);
}

/* Use an extent and open its file.  ERR_NOT_FOUND if there is none; the caller releases it. */
static enum err use_open(struct stream *stream, uint64_t extent_id, struct extent **extent)
{
    *extent = extent__use(stream, extent_id);
    if (*extent == NULL)
        return ERR_NOT_FOUND;
    const enum err err = extent__open(stream, *extent);
    if (err != OK)
        extent__release(stream, *extent);
    return err;
}

enum err stream_extent_size(struct stream *stream, uint64_t extent_id, uint64_t *size_bytes)
{
    struct extent *extent;
    const enum err err = use_open(stream, extent_id, &extent);
    if (err != OK)
        return err;
    mutex_lock(&stream->lock);
    *size_bytes = extent->size_bytes;
    mutex_unlock(&stream->lock);
    extent__release(stream, extent);
    return OK;
}

/* The bytes between the trailer of a range and its end are zeroes. */
static enum err check_padding(struct stream_pin *pin)
{
    const struct stream_range *range = &pin->range;
    const uint64_t begin = range->offset + range->length + layout__table_bytes(range->length);
    char padding[STREAM_ALIGN_BYTES];
    const size_t len = (size_t)(layout__range_end(range) - begin);
    assert(len <= sizeof(padding));
    size_t got;
    if (io_file_read(pin->extent->file, begin, padding, len, &got) != OK)
        return ERR_IO;
    for (size_t i = 0; i < got; i++)
        if (padding[i] != 0)
            return CORRUPT("extent %016" PRIx64 ": the bytes behind the range at %" PRIu64
                           " are not as they were written",
                           range->extent_id, range->offset);
    return OK;
}

enum err stream_check(struct stream *stream, const struct stream_range *range)
{
    struct stream_pin *pin;
    enum err err = stream_pin(stream, range, &pin);
    if (err != OK)
        return err;
    char *buf = stream__alloc(CHECK_BYTES);
    for (uint64_t at = 0; err == OK && at < range->length; at += CHECK_BYTES) {
        const uint64_t left = range->length - at;
        err = stream_read(pin, at, buf, left < CHECK_BYTES ? (size_t)left : CHECK_BYTES);
    }
    if (err == OK)
        err = check_padding(pin);
    free(buf);
    stream_unpin(pin);
    return err;
}

enum err stream_find_bytes(struct stream *stream, uint64_t extent_id, uint64_t begin, uint64_t end,
                           uint64_t *at)
{
    assert(begin <= end);
    struct extent *extent;
    enum err err = use_open(stream, extent_id, &extent);
    if (err != OK)
        return err;
    char *buf = stream__alloc(CHECK_BYTES);
    bool found = false;
    while (err == OK && !found && begin < end) {
        size_t got = 0;
        const uint64_t left = end - begin;
        err = io_file_read(extent->file, begin, buf,
                           left < CHECK_BYTES ? (size_t)left : CHECK_BYTES, &got);
        size_t zeroes = 0;
        while (zeroes < got && buf[zeroes] == 0)
            zeroes++;
        found = zeroes < got;
        begin += zeroes;
        if (got == 0)
            begin = end; /* the file has no more */
    }
    free(buf);
    extent__release(stream, extent);
    *at = begin;
    return err;
}
