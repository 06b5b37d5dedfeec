/*
 * entity_row.c - the stored form of an entity: a row (service/row.h) with these fields.
 *
 *   tag   value
 *   1     Timestamp, a number
 *   2     a property, once for each, in the client's order:
 *           offset       what
 *           0            type, a number of enum edm_type
 *           1            length of the name in bytes; 255 says that two bytes follow with it
 *           2 or 4       name
 *           behind it    value, to the end of the field
 *
 *   type                            value
 *   String, Binary                  its bytes
 *   Int32                           4 bytes
 *   Int64, Double, DateTime         8 bytes
 *   Boolean                         1 byte, 0 or 1
 *   Guid                            16 bytes
 *
 * Numbers are little-endian.  A property of unknown type is damage, not something to pass over: a
 * merge would write the entity without it.
 */
#include <assert.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/limits.h"
#include "service/row.h"
#include "service/table/entity.h"

/* Tags of an entity's row; never reused for anything else. */
enum entity_tag {
    TAG_TIMESTAMP = 1,
    TAG_PROPERTY = 2,
};

enum {
    NAME_LENGTH_FOLLOWS = 255,
    HEAD_BYTES_MAX = 4,
    SCALAR_BYTES_MAX = 16,
};

static_assert(sizeof(double) == 8, "a double is stored as eight bytes");

/* How many bytes a value of the type has; 0: any number. */
static size_t scalar_bytes(enum edm_type type)
{
    switch (type) {
    case EDM_STRING:
    case EDM_BINARY:
        return 0;
    case EDM_BOOLEAN:
        return 1;
    case EDM_INT32:
        return 4;
    case EDM_INT64:
    case EDM_DOUBLE:
    case EDM_DATETIME:
        return 8;
    case EDM_GUID:
        return 16;
    }
    panic("property type %d is outside the enumeration", (int)type);
}

/* The bytes of a value; `scalar` is room for them. */
static struct slice value_bytes(const struct edm_value *value, uint8_t scalar[SCALAR_BYTES_MAX])
{
    uint64_t bits;
    switch (value->type) {
    case EDM_STRING:
        return value->string;
    case EDM_BINARY:
        return value->binary;
    case EDM_BOOLEAN:
        scalar[0] = value->boolean;
        break;
    case EDM_INT32:
        put_le32(scalar, (uint32_t)value->int32);
        break;
    case EDM_INT64:
        put_le64(scalar, (uint64_t)value->int64);
        break;
    case EDM_DOUBLE:
        memcpy(&bits, &value->real, sizeof(bits));
        put_le64(scalar, bits);
        break;
    case EDM_DATETIME:
        put_le64(scalar, (uint64_t)value->datetime_ticks);
        break;
    case EDM_GUID:
        memcpy(scalar, value->guid.bytes, sizeof(value->guid.bytes));
        break;
    }
    return slice_make(scalar, scalar_bytes(value->type));
}

static void encode_property(struct strbuf *row, struct strbuf *field,
                            const struct edm_property *property)
{
    assert(property->name.len > 0 && property->name.len <= UINT16_MAX);
    const size_t len = property->name.len;
    uint8_t scalar[SCALAR_BYTES_MAX];
    field->len = 0;
    strbuf_add_byte(field, (char)property->value.type);
    if (len < NAME_LENGTH_FOLLOWS) {
        strbuf_add_byte(field, (char)(unsigned char)len);
    } else {
        const unsigned char head[] = { NAME_LENGTH_FOLLOWS, (unsigned char)(len & 0xff),
                                       (unsigned char)(len >> 8) };
        strbuf_add(field, slice_make(head, sizeof(head)));
    }
    strbuf_add(field, property->name);
    strbuf_add(field, value_bytes(&property->value, scalar));
    row_add_bytes(row, TAG_PROPERTY, strbuf_slice(field));
}

struct slice entity_encode(struct arena *arena, const struct entity *entity)
{
    struct strbuf row;
    struct strbuf field;
    strbuf_init(&row, arena);
    strbuf_init(&field, arena);
    row_begin(&row, ROW_ENTITY);
    row_add_number(&row, TAG_TIMESTAMP, (uint64_t)entity->timestamp);
    for (size_t i = 0; i < entity->properties.count; i++)
        encode_property(&row, &field, &entity->properties.items[i]);
    return strbuf_slice(&row);
}

/* --- decoding --- */

static bool decode_value(struct slice bytes, struct edm_value *value)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    const size_t expected = scalar_bytes(value->type);
    uint64_t bits;
    if (expected != 0 && bytes.len != expected)
        return false;
    switch (value->type) {
    case EDM_STRING:
        value->string = bytes;
        return true;
    case EDM_BINARY:
        value->binary = bytes;
        return true;
    case EDM_BOOLEAN:
        value->boolean = at[0] == 1;
        return at[0] <= 1;
    case EDM_INT32:
        value->int32 = (int32_t)get_le32(at);
        return true;
    case EDM_INT64:
        value->int64 = (int64_t)get_le64(at);
        return true;
    case EDM_DOUBLE:
        bits = get_le64(at);
        memcpy(&value->real, &bits, sizeof(bits));
        return true;
    case EDM_DATETIME:
        value->datetime_ticks = (int64_t)get_le64(at);
        return value->datetime_ticks >= 0 && value->datetime_ticks <= EDM_DATETIME_TICKS_MAX;
    case EDM_GUID:
        memcpy(value->guid.bytes, at, sizeof(value->guid.bytes));
        return true;
    }
    return false;
}

static bool decode_property(struct slice field, struct edm_property *property)
{
    const uint8_t *at = (const uint8_t *)field.data;
    if (field.len < 2 || at[0] < EDM_TYPE_MIN || at[0] > EDM_TYPE_MAX)
        return false;
    property->value.type = (enum edm_type)at[0];
    size_t name_len = at[1];
    size_t head_len = 2;
    if (name_len == NAME_LENGTH_FOLLOWS) {
        if (field.len < HEAD_BYTES_MAX)
            return false;
        name_len = (size_t)at[2] | (size_t)at[3] << 8;
        head_len = HEAD_BYTES_MAX;
    }
    if (name_len == 0 || name_len > field.len - head_len)
        return false;
    property->name = slice_make(field.data + head_len, name_len);
    const struct slice value =
        slice_make(field.data + head_len + name_len, field.len - head_len - name_len);
    return decode_value(value, &property->value);
}

/* How many properties a row has, if it can be read to the end. */
static size_t count_properties(struct row_reader reader)
{
    uint64_t tag;
    struct slice value;
    size_t count = 0;
    while (row_next(&reader, &tag, &value) == OK)
        count += tag == TAG_PROPERTY;
    return count;
}

static enum err decode_fields(struct row_reader *reader, struct entity *entity)
{
    struct edm_properties *properties = &entity->properties;
    enum err err = OK;
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(reader, &tag, &value);
        if (err != OK)
            break;
        if (tag == TAG_TIMESTAMP)
            err = row_instant(value, &entity->timestamp);
        else if (tag == TAG_PROPERTY &&
                 !decode_property(value, &properties->items[properties->count++]))
            err = CORRUPT("a property of %zu bytes does not hold together", value.len);
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err entity_decode(struct arena *arena, struct slice row, struct entity *entity)
{
    entity->timestamp = 0;
    entity->properties = (struct edm_properties){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_ENTITY);
    if (err != OK)
        return err;
    const size_t count = count_properties(reader);
    if (count > LIMIT_ENTITY_PROPERTIES_MAX)
        return CORRUPT("an entity has %zu properties", count);
    entity->properties.items = arena_alloc(arena, count * sizeof(*entity->properties.items));
    err = decode_fields(&reader, entity);
    if (err == OK && entity->timestamp < EDM_DATETIME_EPOCH_CLOCK_TICKS)
        return CORRUPT("an entity has no Timestamp");
    return err;
}
