/*
 * blob_row.c - the stored form of a blob's record (blob.h); see service/row.h for the framing.
 */
#include "base/log.h"
#include "service/blob/blob.h"
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
    TAG_CONTENT_TYPE = 8,
    TAG_CONTENT_ENCODING = 9,
    TAG_CONTENT_LANGUAGE = 10,
    TAG_CACHE_CONTROL = 11,
    TAG_CONTENT_DISPOSITION = 12,
    TAG_CONTENT_MD5 = 13,
    TAG_METADATA = 14,
    TAG_LEASE = 15, /* and the three after it */
    TAG_LEASE_LAST = TAG_LEASE + LEASE_ROW_TAGS - 1,
};

struct slice blob_encode(struct arena *arena, const struct blob *blob)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_BLOB);
    row_add_number(&row, TAG_ETAG, (uint64_t)blob->etag);
    row_add_number(&row, TAG_CREATED_AT, (uint64_t)blob->created_at);
    row_add_number(&row, TAG_CONTENT_PLACE, (uint64_t)blob->content.place);
    row_add_number(&row, TAG_CONTENT_ID, blob->content.id);
    row_add_number(&row, TAG_CONTENT_LENGTH, blob->content.length_bytes);
    if (blob->content.place == CONTENT_EXTENT) {
        row_add_number(&row, TAG_CONTENT_EXTENT, blob->content.range.extent_id);
        row_add_number(&row, TAG_CONTENT_OFFSET, blob->content.range.offset);
    }
    row_add_bytes(&row, TAG_CONTENT_TYPE, blob->properties.content_type);
    row_add_bytes(&row, TAG_CONTENT_ENCODING, blob->properties.content_encoding);
    row_add_bytes(&row, TAG_CONTENT_LANGUAGE, blob->properties.content_language);
    row_add_bytes(&row, TAG_CACHE_CONTROL, blob->properties.cache_control);
    row_add_bytes(&row, TAG_CONTENT_DISPOSITION, blob->properties.content_disposition);
    row_add_bytes(&row, TAG_CONTENT_MD5, blob->properties.content_md5);
    metadata_encode(&blob->metadata, &row, TAG_METADATA);
    lease_row_encode(&blob->lease, &row, TAG_LEASE);
    return strbuf_slice(&row);
}

/* The slice a property's tag names, or NULL when the tag is no property's. */
static struct slice *property_of(struct blob_properties *properties, uint64_t tag)
{
    switch (tag) {
    case TAG_CONTENT_TYPE:
        return &properties->content_type;
    case TAG_CONTENT_ENCODING:
        return &properties->content_encoding;
    case TAG_CONTENT_LANGUAGE:
        return &properties->content_language;
    case TAG_CACHE_CONTROL:
        return &properties->cache_control;
    case TAG_CONTENT_DISPOSITION:
        return &properties->content_disposition;
    case TAG_CONTENT_MD5:
        return &properties->content_md5;
    default:
        return NULL;
    }
}

static enum err decode_number(struct blob *blob, uint64_t tag, struct slice value)
{
    uint64_t number;
    const enum err err = row_number(value, &number);
    if (err != OK)
        return err;
    switch (tag) {
    case TAG_ETAG:
        return row_instant(value, &blob->etag);
    case TAG_CREATED_AT:
        return row_instant(value, &blob->created_at);
    case TAG_CONTENT_PLACE:
        if (number > CONTENT_EXTENT)
            return CORRUPT("content is in place %llu", (unsigned long long)number);
        blob->content.place = (enum content_place)number;
        return OK;
    case TAG_CONTENT_ID:
        blob->content.id = number;
        return OK;
    case TAG_CONTENT_LENGTH:
        blob->content.length_bytes = number;
        return OK;
    case TAG_CONTENT_EXTENT:
        blob->content.range.extent_id = number;
        return OK;
    case TAG_CONTENT_OFFSET:
        blob->content.range.offset = number;
        return OK;
    default:
        return OK;
    }
}

static enum err decode_field(struct arena *arena, struct blob *blob, uint64_t tag,
                             struct slice value)
{
    if (tag <= TAG_CONTENT_OFFSET)
        return decode_number(blob, tag, value);
    struct slice *property = property_of(&blob->properties, tag);
    if (property != NULL) {
        *property = value;
        return OK;
    }
    if (tag == TAG_METADATA) {
        struct metadata_pair pair;
        const enum err err = metadata_decode_pair(value, &pair);
        if (err == OK)
            metadata_append(&blob->metadata, arena, pair);
        return err;
    }
    if (tag >= TAG_LEASE && tag <= TAG_LEASE_LAST)
        return lease_row_decode(&blob->lease, tag - TAG_LEASE, value);
    return OK;
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
    const size_t md5_len = blob->properties.content_md5.len;
    if (md5_len != 0 && md5_len != DIGEST_MD5_BYTES)
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
