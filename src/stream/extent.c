/*
 * extent.c - extents: the table of them, their files, who uses them.
 *
 * Every extent is in the table, by id, from its creation (or from stream_open) until it is
 * unlinked.  Its file is open while it has users; EXTENT_IDLE_MAX files stay open a while
 * longer, so that a reader of a busy extent seldom waits for open().
 *
 * Disk calls are made without stream->lock.  Two users may so open one file at once; the second
 * to come back closes its own.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "stream/stream_internal.h"

enum {
    BUCKET_COUNT_MIN = 64,
};

void extent__path(uint64_t id, char path[EXTENT_PATH_BYTES])
{
    const int len = snprintf(path, EXTENT_PATH_BYTES, EXTENT_DIRECTORY "/%016" PRIx64 ".ext", id);
    assert(len > 0);
    assert(len < EXTENT_PATH_BYTES);
}

/* --- the table; all under stream->lock --- */

static struct extent **table_bucket(struct stream *stream, uint64_t id)
{
    assert(stream->bucket_count > 0);
    /* Ids are instants, so neighbours differ little: spread them (Fibonacci hashing). */
    const uint64_t hash = id * UINT64_C(0x9E3779B97F4A7C15);
    return &stream->buckets[(hash >> 32) & (stream->bucket_count - 1)];
}

static void table_grow(struct stream *stream)
{
    struct extent **old = stream->buckets;
    const size_t old_count = stream->bucket_count;
    stream->bucket_count = old_count == 0 ? BUCKET_COUNT_MIN : old_count * 2;
    stream->buckets = stream__alloc(stream->bucket_count * sizeof(struct extent *));
    for (size_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            struct extent *extent = old[i];
            old[i] = extent->next;
            struct extent **bucket = table_bucket(stream, extent->id);
            extent->next = *bucket;
            *bucket = extent;
        }
    }
    free(old);
}

static struct extent *table_find(struct stream *stream, uint64_t id)
{
    if (stream->bucket_count == 0)
        return NULL;
    struct extent *extent = *table_bucket(stream, id);
    while (extent != NULL && extent->id != id)
        extent = extent->next;
    return extent;
}

static void table_insert(struct stream *stream, struct extent *extent)
{
    assert(table_find(stream, extent->id) == NULL);
    if (stream->extent_count >= stream->bucket_count)
        table_grow(stream);
    struct extent **bucket = table_bucket(stream, extent->id);
    extent->next = *bucket;
    *bucket = extent;
    stream->extent_count++;
}

static void table_remove(struct stream *stream, struct extent *extent)
{
    struct extent **at = table_bucket(stream, extent->id);
    while (*at != extent) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = extent->next;
    extent->next = NULL;
    stream->extent_count--;
}

/* --- the idle list; all under stream->lock --- */

static void idle_add(struct stream *stream, struct extent *extent)
{
    assert(extent->user_count == 0);
    assert(extent->file != NULL);
    extent->idle_older = stream->idle_newest;
    extent->idle_newer = NULL;
    if (stream->idle_newest != NULL)
        stream->idle_newest->idle_newer = extent;
    else
        stream->idle_oldest = extent;
    stream->idle_newest = extent;
    stream->idle_count++;
}

static void idle_remove(struct stream *stream, struct extent *extent)
{
    assert(stream->idle_count > 0);
    if (extent->idle_newer != NULL)
        extent->idle_newer->idle_older = extent->idle_older;
    else
        stream->idle_newest = extent->idle_older;
    if (extent->idle_older != NULL)
        extent->idle_older->idle_newer = extent->idle_newer;
    else
        stream->idle_oldest = extent->idle_newer;
    extent->idle_newer = NULL;
    extent->idle_older = NULL;
    stream->idle_count--;
}

/* --- making and using --- */

void extent__add_found(struct stream *stream, uint64_t id)
{
    struct extent *extent = stream__alloc(sizeof(*extent));
    extent->id = id;
    extent->state = EXTENT_FULL;
    extent->size_bytes = EXTENT_SIZE_UNKNOWN;
    mutex_lock(&stream->lock);
    table_insert(stream, extent);
    mutex_unlock(&stream->lock);
}

enum err extent__create(struct stream *stream, bool dedicated, struct extent **extent)
{
    char path[EXTENT_PATH_BYTES];
    struct io_file *file = NULL;
    uint64_t id;
    enum err err;
    do {
        id = (uint64_t)clock_tick(stream->clock);
        extent__path(id, path);
        err = io_file_open(stream->io, path, IO_OPEN_CREATE, &file);
    } while (err == ERR_EXISTS);
    if (err != OK)
        return err == ERR_NO_SPACE ? ERR_NO_SPACE : ERR_IO;

    struct extent *made = stream__alloc(sizeof(*made));
    made->id = id;
    made->dedicated = dedicated;
    made->state = EXTENT_FILLING;
    made->file = file;
    made->user_count = 1;
    mutex_lock(&stream->lock);
    table_insert(stream, made);
    mutex_unlock(&stream->lock);
    *extent = made;
    return OK;
}

struct extent *extent__use_locked(struct stream *stream, uint64_t id)
{
    struct extent *extent = table_find(stream, id);
    if (extent == NULL)
        return NULL;
    if (extent->user_count == 0 && extent->file != NULL)
        idle_remove(stream, extent);
    extent->user_count++;
    return extent;
}

struct extent *extent__use(struct stream *stream, uint64_t id)
{
    mutex_lock(&stream->lock);
    struct extent *extent = extent__use_locked(stream, id);
    mutex_unlock(&stream->lock);
    return extent;
}

static enum err open_file(struct stream *stream, uint64_t id, struct io_file **file,
                          uint64_t *size_bytes)
{
    char path[EXTENT_PATH_BYTES];
    extent__path(id, path);
    enum err err = io_file_open(stream->io, path, IO_OPEN_EXISTING, file);
    if (err == ERR_NOT_FOUND)
        return CORRUPT("%s is missing", path);
    if (err != OK)
        return ERR_IO;
    err = io_file_size(*file, size_bytes);
    if (err != OK) {
        io_file_close(*file);
        return ERR_IO;
    }
    return OK;
}

enum err extent__open(struct stream *stream, struct extent *extent)
{
    mutex_lock(&stream->lock);
    assert(extent->user_count > 0);
    const bool open = extent->file != NULL;
    mutex_unlock(&stream->lock);
    if (open)
        return OK;

    struct io_file *file = NULL;
    uint64_t size_bytes = 0;
    const enum err err = open_file(stream, extent->id, &file, &size_bytes);
    if (err != OK)
        return err;
    mutex_lock(&stream->lock);
    if (extent->file == NULL) {
        extent->file = file;
        file = NULL;
        if (extent->size_bytes == EXTENT_SIZE_UNKNOWN)
            extent->size_bytes = size_bytes;
    }
    mutex_unlock(&stream->lock);
    io_file_close(file);
    return OK;
}

void extent__release(struct stream *stream, struct extent *extent)
{
    struct io_file *to_close = NULL;
    struct extent *to_free = NULL;

    mutex_lock(&stream->lock);
    assert(extent->user_count > 0);
    extent->user_count--;
    if (extent->user_count == 0 && extent->state == EXTENT_GONE) {
        to_close = extent->file;
        to_free = extent;
    } else if (extent->user_count == 0 && extent->file != NULL) {
        idle_add(stream, extent);
        if (stream->idle_count > EXTENT_IDLE_MAX) {
            struct extent *oldest = stream->idle_oldest;
            idle_remove(stream, oldest);
            to_close = oldest->file;
            oldest->file = NULL;
            verified__forget(&oldest->verified);
        }
    }
    mutex_unlock(&stream->lock);

    io_file_close(to_close);
    if (to_free != NULL)
        verified__forget(&to_free->verified);
    free(to_free);
}

enum err extent__unlink(struct stream *stream, struct extent *extent)
{
    mutex_lock(&stream->lock);
    assert(extent->user_count > 0);
    assert(extent->state != EXTENT_GONE);
    assert(stream->filling != extent);
    table_remove(stream, extent);
    extent->state = EXTENT_GONE;
    mutex_unlock(&stream->lock);

    char path[EXTENT_PATH_BYTES];
    extent__path(extent->id, path);
    enum err err = io_unlink(stream->io, path);
    if (err == ERR_NOT_FOUND)
        err = OK;

    mutex_lock(&stream->lock);
    if (err == OK) {
        stream->unlinked = true;
    } else {
        extent->state = EXTENT_FULL;
        table_insert(stream, extent);
    }
    mutex_unlock(&stream->lock);
    return err;
}

void extent__sync(struct extent *extent)
{
    /* The system reports lost bytes to one sync of a descriptor, and the next one succeeds.
       Whoever asks, a failure can so concern bytes that another writer is about to call
       durable: it is always the end. */
    const enum err err = io_file_sync(extent->file);
    if (err != OK)
        panic("extent %016" PRIx64 " cannot be made durable: %s", extent->id, error_text(err));
}

void extent__sync_names(struct stream *stream)
{
    const enum err err = io_sync_dir(stream->io, EXTENT_DIRECTORY);
    if (err != OK)
        panic("directory " EXTENT_DIRECTORY " cannot be made durable: %s", error_text(err));
}

void extent__free_all(struct stream *stream)
{
    for (size_t i = 0; i < stream->bucket_count; i++) {
        while (stream->buckets[i] != NULL) {
            struct extent *extent = stream->buckets[i];
            stream->buckets[i] = extent->next;
            assert(extent->user_count == 0);
            io_file_close(extent->file);
            verified__forget(&extent->verified);
            free(extent);
        }
    }
    free(stream->buckets);
}
