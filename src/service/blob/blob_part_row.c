#include "service/blob/blob_part_row.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "service/row.h"

void properties_row_encode(const struct blob_properties *properties, struct strbuf *row,
                           uint64_t tag)
{
    row_add_bytes(row, tag, properties->content_type);
    row_add_bytes(row, tag + 1, properties->content_encoding);
    row_add_bytes(row, tag + 2, properties->content_language);
    row_add_bytes(row, tag + 3, properties->cache_control);
    row_add_bytes(row, tag + 4, properties->content_disposition);
    row_add_bytes(row, tag + 5, properties->content_md5);
}

enum err properties_row_decode(struct blob_properties *properties, uint64_t index,
                               struct slice value)
{
    struct slice *const fields[PROPERTIES_ROW_TAGS] = {
        &properties->content_type,  &properties->content_encoding,    &properties->content_language,
        &properties->cache_control, &properties->content_disposition, &properties->content_md5,
    };
    assert(index < PROPERTIES_ROW_TAGS);
    if (fields[index] == &properties->content_md5 && value.len != DIGEST_MD5_BYTES)
        return CORRUPT("an MD5 has %zu bytes", value.len);
    *fields[index] = value;
    return OK;
}

/* In the order they are stored in. */
enum copy_field {
    COPY_STATUS,
    COPY_ID,
    COPY_SOURCE,
    COPY_DESCRIPTION,
    COPY_COPIED,
    COPY_TOTAL,
    COPY_COMPLETED_AT,
    COPY_INCREMENTAL,
};

void copy_row_encode(const struct blob_copy *copy, struct strbuf *row, uint64_t tag)
{
    if (copy->status == BLOB_COPY_NONE)
        return;
    row_add_number(row, tag + COPY_STATUS, (uint64_t)copy->status);
    row_add_bytes(row, tag + COPY_ID, slice_make(copy->id.bytes, sizeof(copy->id.bytes)));
    row_add_bytes(row, tag + COPY_SOURCE, copy->source);
    row_add_bytes(row, tag + COPY_DESCRIPTION, copy->description);
    row_add_number(row, tag + COPY_COPIED, copy->copied_bytes);
    row_add_number(row, tag + COPY_TOTAL, copy->total_bytes);
    row_add_number(row, tag + COPY_COMPLETED_AT, (uint64_t)copy->completed_at);
    row_add_number(row, tag + COPY_INCREMENTAL, copy->incremental);
}

static enum err decode_id(struct slice value, struct uuid *id)
{
    if (value.len != sizeof(id->bytes))
        return CORRUPT("a copy id has %zu bytes", value.len);
    memcpy(id->bytes, value.data, value.len);
    return OK;
}

static enum err decode_status(struct slice value, enum blob_copy_status *status)
{
    uint64_t number;
    const enum err err = row_number(value, &number);
    if (err != OK)
        return err;
    if (number > BLOB_COPY_FAILED)
        return CORRUPT("a copy has status %llu", (unsigned long long)number);
    *status = (enum blob_copy_status)number;
    return OK;
}

enum err copy_row_decode(struct blob_copy *copy, uint64_t index, struct slice value)
{
    uint64_t number;
    enum err err;
    assert(index < COPY_ROW_TAGS);
    switch ((enum copy_field)index) {
    case COPY_STATUS:
        return decode_status(value, &copy->status);
    case COPY_ID:
        return decode_id(value, &copy->id);
    case COPY_SOURCE:
        copy->source = value;
        return OK;
    case COPY_DESCRIPTION:
        copy->description = value;
        return OK;
    case COPY_COPIED:
        return row_number(value, &copy->copied_bytes);
    case COPY_TOTAL:
        return row_number(value, &copy->total_bytes);
    case COPY_COMPLETED_AT:
        return row_instant(value, &copy->completed_at);
    case COPY_INCREMENTAL:
        err = row_number(value, &number);
        copy->incremental = err == OK && number != 0;
        return err;
    }
    return OK;
}
