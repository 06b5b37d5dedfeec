#include "service/blob/append.h"

#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/segments.h"

static enum err create_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob old;
    bool exists;
    const enum err err = blob_decide_for_replace(change, request, &old, &exists);
    if (err != OK)
        return err;
    struct blob blob = {
        .type = BLOB_APPEND,
        .content = { .place = CONTENT_EMPTY },
        .properties = request->properties,
        .metadata = request->metadata,
        .tags = request->tags,
        .tier = request->tier,
    };
    return blob_decide_replace(change, request, &old, exists, &blob);
}

void append_create(struct service *service, struct blob_change *change)
{
    if (blob_find_protection(service, change))
        blob_start(service, &change->base, &change->name.container, create_decide);
}

static enum err check_position(const struct append_change *request, const struct blob *blob)
{
    if (request->has_position && request->position != blob->content.length_bytes)
        return ERR_APPEND_POSITION_NOT_MET;
    return OK;
}

static enum err check_block(const struct append_change *request, const struct blob *blob,
                            uint64_t length_bytes)
{
    if (blob->type != BLOB_APPEND)
        return ERR_INVALID_BLOB_TYPE;
    if (blob->sealed)
        return ERR_BLOB_SEALED;
    if (blob->block_count >= APPEND_BLOCKS_MAX)
        return ERR_BLOCK_COUNT;
    const enum err err = check_position(request, blob);
    if (err != OK)
        return err;
    const uint64_t size = blob->content.length_bytes;
    if (request->has_size_max &&
        (size > request->size_max || length_bytes > request->size_max - size))
        return ERR_MAX_SIZE_NOT_MET;
    return OK;
}

static enum err block_decide(struct change *change, void *arg)
{
    struct append_change *request = arg;
    struct blob blob;
    const uint64_t length_bytes = payload_writer_length(request->blob.payload);
    enum err err = blob_decide_for_write(change, &request->blob, &blob);
    if (err == OK)
        err = check_block(request, &blob, length_bytes);
    if (err != OK)
        return err;

    const uint64_t id = (uint64_t)change_now(change);
    /* The list begins with the first block, not with the blob: copies of an empty blob, and
       snapshots of it, must not come to have its list. */
    if (blob.content.place == CONTENT_EMPTY)
        blob.content.id = id;
    else if (blob.content.place != CONTENT_SEGMENTS)
        return CORRUPT("the content of an append blob is in place %d", (int)blob.content.place);
    request->offset = blob.content.length_bytes;
    const struct segment segment = segment_store(change, request->blob.payload, id);
    err = segments_append(change, &blob.content, &segment);
    if (err != OK)
        return err;
    blob.block_count++;
    request->block_count = blob.block_count;
    blob_decide_put_changed(change, &request->blob, &blob);
    return OK;
}

void append_block(struct service *service, struct append_change *change)
{
    blob_start_payload(service, &change->blob, block_decide);
}

static enum err seal_decide(struct change *change, void *arg)
{
    struct append_change *request = arg;
    struct blob blob;
    enum err err = blob_decide_for_write(change, &request->blob, &blob);
    if (err == OK && blob.type != BLOB_APPEND)
        err = ERR_INVALID_BLOB_TYPE;
    if (err == OK)
        err = check_position(request, &blob);
    if (err != OK)
        return err;
    request->blob.etag = blob.etag;
    if (blob.sealed)
        return OK;
    blob.sealed = true;
    blob_decide_put_changed(change, &request->blob, &blob);
    return OK;
}

void append_seal(struct service *service, struct append_change *change)
{
    blob_start(service, &change->blob.base, &change->blob.name.container, seal_decide);
}
