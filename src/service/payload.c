#include "service/payload.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "service/hasher.h"

enum {
    /* From this size on it is worth a thread to compute the MD5 beside receiving and writing. */
    HASHED_ASIDE_BYTES = 1024 * 1024,
};

struct payload_writer {
    uint64_t length_bytes; /* announced */
    uint64_t taken_bytes;  /* so far */
    struct md5_ctx md5_ctx;
    struct hasher *hasher; /* instead of md5_ctx, for a long payload; else NULL */
    uint8_t md5[DIGEST_MD5_BYTES];
    uint64_t crc64;
    bool skips_md5;
    bool finished;

    char *inline_bytes;           /* CONTENT_INLINE: room for all of it */
    struct stream_writer *stream; /* CONTENT_EXTENT, until committed */
};

static void writer_cleanup(void *arg)
{
    struct payload_writer *writer = arg;
    if (writer->hasher != NULL)
        hasher_abort(writer->hasher);
    stream_writer_abort(writer->stream);
    writer->stream = NULL;
}

enum err payload_writer_new(struct service *service, struct arena *arena, uint64_t length_bytes,
                            struct payload_writer **result)
{
    struct payload_writer *writer = arena_alloc(arena, sizeof(*writer));
    writer->length_bytes = length_bytes;
    md5_init(&writer->md5_ctx);
    if (length_bytes <= service->inline_payload_bytes) {
        writer->inline_bytes = arena_bytes(arena, (size_t)length_bytes);
    } else {
        const enum err err = stream_writer_new(service->stream, length_bytes, &writer->stream);
        if (err != OK)
            return err;
        if (length_bytes >= HASHED_ASIDE_BYTES) {
            writer->hasher = arena_alloc(arena, sizeof(*writer->hasher));
            hasher_init(writer->hasher);
        }
        arena_on_clear(arena, writer_cleanup, writer);
    }
    *result = writer;
    return OK;
}

void payload_writer_skip_md5(struct payload_writer *writer)
{
    assert(writer->taken_bytes == 0);
    writer->skips_md5 = true;
}

static void add_to_md5(struct payload_writer *writer, struct slice bytes)
{
    if (writer->skips_md5)
        return;
    if (writer->hasher != NULL)
        hasher_update(writer->hasher, bytes);
    else
        md5_update(&writer->md5_ctx, bytes.len, (const uint8_t *)bytes.data);
}

enum err payload_writer_append(struct payload_writer *writer, struct slice bytes)
{
    assert(!writer->finished);
    assert(bytes.len <= writer->length_bytes - writer->taken_bytes);
    if (bytes.len == 0)
        return OK;
    add_to_md5(writer, bytes);
    writer->crc64 = digest_crc64(writer->crc64, bytes);
    const uint64_t offset = writer->taken_bytes;
    writer->taken_bytes += bytes.len;
    if (writer->stream != NULL)
        return stream_writer_append(writer->stream, bytes);
    memcpy(writer->inline_bytes + offset, bytes.data, bytes.len);
    return OK;
}

enum err payload_writer_finish(struct payload_writer *writer)
{
    assert(!writer->finished);
    assert(writer->taken_bytes == writer->length_bytes);
    writer->finished = true;
    /* The disk has begun with the rest when the wait for the hash begins. */
    const enum err err = writer->stream == NULL ? OK : stream_writer_finish(writer->stream);
    if (writer->hasher != NULL)
        hasher_finish(writer->hasher, writer->md5);
    else
        md5_digest(&writer->md5_ctx, sizeof(writer->md5), writer->md5);
    return err;
}

uint64_t payload_writer_length(const struct payload_writer *writer)
{
    return writer->length_bytes;
}

const uint8_t *payload_writer_md5(const struct payload_writer *writer)
{
    assert(writer->finished && !writer->skips_md5);
    return writer->md5;
}

uint64_t payload_writer_crc64(const struct payload_writer *writer)
{
    assert(writer->finished);
    return writer->crc64;
}

void payload_writer_sync(struct payload_writer *writer, void (*done)(void *arg), void *arg)
{
    assert(writer->finished);
    if (writer->stream == NULL)
        done(arg);
    else
        stream_writer_sync(writer->stream, done, arg);
}

struct content payload_writer_store(struct payload_writer *writer, struct change *change,
                                    uint64_t id, struct slice inline_key)
{
    assert(writer->finished);
    struct content content = { .id = id, .length_bytes = writer->length_bytes };
    if (writer->length_bytes == 0)
        return content;
    if (writer->stream == NULL) {
        content.place = CONTENT_INLINE;
        change_put(change, inline_key,
                   slice_make(writer->inline_bytes, (size_t)writer->length_bytes));
    } else {
        content.place = CONTENT_EXTENT;
        content.range = stream_writer_range(writer->stream);
        change_own(change, &content.range, id);
    }
    return content;
}

void payload_writer_commit(struct payload_writer *writer)
{
    if (writer->stream != NULL)
        stream_writer_commit(writer->stream);
    writer->stream = NULL;
}

static void reader_cleanup(void *arg)
{
    stream_unpin(arg);
}

enum err payload_reader_open(struct service *service, struct partition_view *view,
                             struct arena *arena, const struct content *content,
                             struct slice inline_key, struct payload_reader *reader)
{
    *reader = (struct payload_reader){ .length_bytes = content->length_bytes };
    enum err err;
    switch (content->place) {
    case CONTENT_EMPTY:
        return OK;
    case CONTENT_INLINE:
        err = partition_view_get(view, arena, inline_key, &reader->bytes);
        if (err == ERR_NOT_FOUND || (err == OK && reader->bytes.len != content->length_bytes))
            return CORRUPT("the bytes of content %llu are not in the store",
                           (unsigned long long)content->id);
        return err;
    case CONTENT_EXTENT:
        err = stream_pin(service->stream, &content->range, &reader->pin);
        if (err == OK)
            arena_on_clear(arena, reader_cleanup, reader->pin);
        return err;
    case CONTENT_SEGMENTS:
        break;
    }
    return CORRUPT("content %llu is in no place to be opened here",
                   (unsigned long long)content->id);
}

enum err payload_read(struct payload_reader *reader, uint64_t offset, void *buf, size_t len)
{
    assert(offset <= reader->length_bytes);
    assert(len <= reader->length_bytes - offset);
    if (len == 0)
        return OK;
    if (reader->read != NULL)
        return reader->read(reader->source, offset, buf, len);
    if (reader->pin != NULL)
        return stream_read(reader->pin, offset, buf, len);
    memcpy(buf, reader->bytes.data + offset, len);
    return OK;
}

int payload_descriptor(const struct payload_reader *reader, uint64_t offset, uint64_t len,
                       uint64_t *file_offset)
{
    return reader->pin == NULL ? -1 : stream_pin_descriptor(reader->pin, offset, len, file_offset);
}
