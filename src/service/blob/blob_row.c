/*
 * blob_row.c - the stored form of a blob's record (blob.h); see service/row.h for the framing.
 */
#include <string.h>

#include "base/log.h"
#include "service/blob/blob.h"
#include "service/blob/blob_part_row.h"
#include "service/lease_row.h"
#include "service/row.h"

/* Tags of a blob's row; never reused for anything else. */
enum blob_tag {
    TAG_ETAG = 1,
    TAG_CREATED_AT = 2,
    TAG_CONTENT_PLACE = 3,
    TAG_CONTENT_ID = 4,
    TAG_CONTENT_LENGTH = 5,
    TAG_CONTENT_EXTENT = 6,
    TAG_CONTENT_OFFSET = 7,
    TAG_PROPERTIES = 8, /* and the five after it */
    TAG_PROPERTIES_LAST = TAG_PROPERTIES + PROPERTIES_ROW_TAGS - 1,
    TAG_METADATA = 14,
    TAG_LEASE = 15, /* and the three after it */
    TAG_LEASE_LAST = TAG_LEASE + LEASE_ROW_TAGS - 1,
    TAG_CONTENT_SHARED = 19,
    TAG_TYPE = 20,
    TAG_BLOCK_COUNT = 22,
    TAG_SEALED = 23,
    TAG_SEQUENCE_NUMBER = 24,
    TAG_TIER_CHANGED_AT = 25,
    TAG_TIER = 26,
    TAG_ARCHIVE_STATUS = 27,
    TAG_TAGS = 28,
    TAG_COPY = 29, /* and the seven after it */
    TAG_COPY_LAST = TAG_COPY + COPY_ROW_TAGS - 1,
    TAG_REHYDRATE_PRIORITY = 37,
    TAG_MADE_AT = 38,
    TAG_COPY_SOURCE_SNAPSHOT = 39,
    TAG_VERSION_ID = 40,
    TAG_DELETED_AT = 41,
    TAG_EXPIRES_AT = 42,
    TAG_LAST = TAG_EXPIRES_AT,
};

struct slice blob_encode(struct arena *arena, const struct blob *blob)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_BLOB);
    row_add_number(&row, TAG_ETAG, (uint64_t)blob->etag);
    row_add_number(&row, TAG_CREATED_AT, (uint64_t)blob->created_at);
    row_add_number(&row, TAG_MADE_AT, (uint64_t)blob->made_at);
    row_add_number(&row, TAG_CONTENT_PLACE, (uint64_t)blob->content.place);
    row_add_number(&row, TAG_CONTENT_ID, blob->content.id);
    row_add_number(&row, TAG_CONTENT_LENGTH, blob->content.length_bytes);
    if (blob->content.place == CONTENT_EXTENT) {
        row_add_number(&row, TAG_CONTENT_EXTENT, blob->content.range.extent_id);
        row_add_number(&row, TAG_CONTENT_OFFSET, blob->content.range.offset);
    }
    properties_row_encode(&blob->properties, &row, TAG_PROPERTIES);
    metadata_encode(&blob->metadata, &row, TAG_METADATA);
    lease_row_encode(&blob->lease, &row, TAG_LEASE);
    row_add_number(&row, TAG_CONTENT_SHARED, blob->content.shared);
    row_add_number(&row, TAG_TYPE, (uint64_t)blob->type);
    row_add_number(&row, TAG_BLOCK_COUNT, blob->block_count);
    row_add_number(&row, TAG_SEALED, blob->sealed);
    row_add_number(&row, TAG_SEQUENCE_NUMBER, blob->sequence_number);
    row_add_number(&row, TAG_TIER_CHANGED_AT, (uint64_t)blob->tier_changed_at);
    row_add_bytes(&row, TAG_TIER, blob->tier);
    row_add_bytes(&row, TAG_ARCHIVE_STATUS, blob->archive_status);
    row_add_bytes(&row, TAG_REHYDRATE_PRIORITY, blob->rehydrate_priority);
    metadata_encode(&blob->tags, &row, TAG_TAGS);
    row_add_number(&row, TAG_VERSION_ID, (uint64_t)blob->version_id);
    row_add_number(&row, TAG_DELETED_AT, (uint64_t)blob->deleted_at);
    row_add_number(&row, TAG_EXPIRES_AT, (uint64_t)blob->expires_at);
    copy_row_encode(&blob->copy, &row, TAG_COPY);
    row_add_number(&row, TAG_COPY_SOURCE_SNAPSHOT, (uint64_t)blob->copy.source_snapshot);
    return strbuf_slice(&row);
}

/* The slice a tag names, or NULL when the tag is no slice's. */
static struct slice *slice_of_tag(struct blob *blob, uint64_t tag)
{
    switch (tag) {
    case TAG_TIER:
        return &blob->tier;
    case TAG_ARCHIVE_STATUS:
        return &blob->archive_status;
    case TAG_REHYDRATE_PRIORITY:
        return &blob->rehydrate_priority;
    default:
        return NULL;
    }
}

/* The 64-bit number a tag names, or NULL when the tag is no such number's. */
static uint64_t *number_of_tag(struct blob *blob, uint64_t tag)
{
    switch (tag) {
    case TAG_CONTENT_ID:
        return &blob->content.id;
    case TAG_CONTENT_LENGTH:
        return &blob->content.length_bytes;
    case TAG_CONTENT_EXTENT:
        return &blob->content.range.extent_id;
    case TAG_CONTENT_OFFSET:
        return &blob->content.range.offset;
    case TAG_BLOCK_COUNT:
        return &blob->block_count;
    case TAG_SEQUENCE_NUMBER:
        return &blob->sequence_number;
    default:
        return NULL;
    }
}

/* The instant a tag names, or NULL when the tag is no instant's. */
static int64_t *instant_of_tag(struct blob *blob, uint64_t tag)
{
    switch (tag) {
    case TAG_ETAG:
        return &blob->etag;
    case TAG_CREATED_AT:
        return &blob->created_at;
    case TAG_MADE_AT:
        return &blob->made_at;
    case TAG_TIER_CHANGED_AT:
        return &blob->tier_changed_at;
    case TAG_COPY_SOURCE_SNAPSHOT:
        return &blob->copy.source_snapshot;
    case TAG_VERSION_ID:
        return &blob->version_id;
    case TAG_DELETED_AT:
        return &blob->deleted_at;
    case TAG_EXPIRES_AT:
        return &blob->expires_at;
    default:
        return NULL;
    }
}

/* Numbers with a meaning of their own: enumerations and flags. */
static enum err decode_choice(struct blob *blob, uint64_t tag, uint64_t number)
{
    switch (tag) {
    case TAG_CONTENT_PLACE:
        if (number > CONTENT_SEGMENTS)
            return CORRUPT("content is in place %llu", (unsigned long long)number);
        blob->content.place = (enum content_place)number;
        return OK;
    case TAG_TYPE:
        if (number > BLOB_PAGE)
            return CORRUPT("a blob is of type %llu", (unsigned long long)number);
        blob->type = (enum blob_type)number;
        return OK;
    case TAG_CONTENT_SHARED:
        blob->content.shared = number != 0;
        return OK;
    case TAG_SEALED:
        blob->sealed = number != 0;
        return OK;
    default:
        return OK;
    }
}

static enum err decode_number(struct blob *blob, uint64_t tag, struct slice value)
{
    uint64_t *plain = number_of_tag(blob, tag);
    if (plain != NULL)
        return row_number(value, plain);
    int64_t *instant = instant_of_tag(blob, tag);
    if (instant != NULL)
        return row_instant(value, instant);
    uint64_t number;
    const enum err err = row_number(value, &number);
    return err == OK ? decode_choice(blob, tag, number) : err;
}

static enum err decode_pair(struct arena *arena, struct metadata *pairs, struct slice value)
{
    struct metadata_pair pair;
    const enum err err = metadata_decode_pair(value, &pair);
    if (err == OK)
        metadata_append(pairs, arena, pair);
    return err;
}

static enum err decode_field(struct arena *arena, struct blob *blob, uint64_t tag,
                             struct slice value)
{
    struct slice *text = slice_of_tag(blob, tag);
    if (text != NULL) {
        *text = value;
        return OK;
    }
    if (tag == TAG_METADATA)
        return decode_pair(arena, &blob->metadata, value);
    if (tag == TAG_TAGS)
        return decode_pair(arena, &blob->tags, value);
    if (tag >= TAG_LEASE && tag <= TAG_LEASE_LAST)
        return lease_row_decode(&blob->lease, tag - TAG_LEASE, value);
    if (tag >= TAG_PROPERTIES && tag <= TAG_PROPERTIES_LAST)
        return properties_row_decode(&blob->properties, tag - TAG_PROPERTIES, value);
    if (tag >= TAG_COPY && tag <= TAG_COPY_LAST)
        return copy_row_decode(&blob->copy, tag - TAG_COPY, value);
    if (tag > TAG_LAST)
        return OK; /* of a later version */
    return decode_number(blob, tag, value);
}

static bool holds_together(const struct blob *blob)
{
    const struct content *content = &blob->content;
    if ((content->place == CONTENT_EMPTY) != (content->length_bytes == 0))
        return false;
    if ((content->place == CONTENT_EXTENT) != (content->range.extent_id != 0))
        return false;
    if (content->place != CONTENT_EXTENT && content->range.offset != 0)
        return false;
    if ((blob->deleted_at != 0) != (blob->expires_at != 0) || blob->deleted_at > blob->expires_at)
        return false;
    return blob->etag > 0 && blob->created_at > 0 && lease_is_valid(&blob->lease);
}

enum err blob_decode(struct arena *arena, struct slice row, struct blob *blob)
{
    *blob = (struct blob){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_BLOB);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK)
            err = decode_field(arena, blob, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (blob->content.place == CONTENT_EXTENT)
        blob->content.range.length = blob->content.length_bytes;
    return holds_together(blob) ? OK : CORRUPT("a blob's row does not hold together");
}
