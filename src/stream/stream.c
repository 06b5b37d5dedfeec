/*
 * stream.c - opening and closing the stream layer.
 */
#include "stream/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stream/stream_internal.h"

/* The id in a file name of 16 lower-case hexadecimal digits and ".ext". */
static bool parse_name(const char *name, uint64_t *id)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t value = 0;
    for (size_t i = 0; i < 16; i++) {
        const char *digit = name[i] == '\0' ? NULL : strchr(digits, name[i]);
        if (digit == NULL)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *id = value;
    return strcmp(name + 16, ".ext") == 0;
}

static void add_name(void *arg, const char *name)
{
    struct stream *stream = arg;
    uint64_t id;
    if (parse_name(name, &id))
        extent__add_found(stream, id);
    else
        log_warn("stream", "%s/%s is not an extent; it is left alone", EXTENT_DIRECTORY, name);
}

static enum err make_directory(struct stream *stream)
{
    const enum err err = io_mkdir(stream->io, EXTENT_DIRECTORY);
    if (err != OK && err != ERR_EXISTS)
        return err;
    /* Even when it was there: the run that made it may have ended before this sync. */
    return io_sync_dir(stream->io, ".");
}

static enum err open_directory(struct stream *stream)
{
    const enum err err = stream->options.read_only ? OK : make_directory(stream);
    if (err != OK)
        return err;
    return io_list(stream->io, EXTENT_DIRECTORY, add_name, stream);
}

static void stream_free(struct stream *stream)
{
    extent__free_all(stream);
    guard__release(&stream->guard);
    mutex_release(&stream->lock);
    mutex_release(&stream->growing);
    free(stream);
}

enum err stream_open_with(struct io *io, struct clock *clock, const struct stream_options *options,
                          struct stream **stream)
{
    assert(options->extent_bytes > 0);
    assert(options->dedicated_bytes > 0);
    struct stream *made = stream__alloc(sizeof(*made));
    made->io = io;
    made->clock = clock;
    made->options = *options;
    mutex_init(&made->growing, LOCK_STREAM_GROWING);
    mutex_init(&made->lock, LOCK_STREAM_TABLE);
    guard__init(&made->guard);
    const enum err err = open_directory(made);
    if (err != OK) {
        stream_free(made);
        return err;
    }
    syncer__start(&made->shared_syncer, made);
    syncer__start(&made->dedicated_syncer, made);
    *stream = made;
    return OK;
}

enum err stream_open(struct io *io, struct clock *clock, struct stream **stream)
{
    const struct stream_options options = {
        .extent_bytes = STREAM_EXTENT_BYTES,
        .dedicated_bytes = STREAM_DEDICATED_BYTES,
    };
    return stream_open_with(io, clock, &options, stream);
}

void stream_step(struct stream *stream)
{
    assert(stream->options.by_step);
    syncer__step(&stream->shared_syncer);
    syncer__step(&stream->dedicated_syncer);
}

void stream_close(struct stream *stream)
{
    syncer__stop(&stream->shared_syncer);
    syncer__stop(&stream->dedicated_syncer);
    if (stream->filling != NULL)
        extent__release(stream, stream->filling);
    stream_free(stream);
}
