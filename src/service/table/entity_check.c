/*
 * entity_check.c - what an entity may be ("Understanding the Table Service Data Model").
 */
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/limits.h"
#include "service/table/entity.h"
#include "service/table/table_name.h"

enum {
    /* What the service counts beside the bytes themselves. */
    ENTITY_OVERHEAD_BYTES = 4,
    PROPERTY_OVERHEAD_BYTES = 8,
    LENGTH_BYTES = 4,
};

static size_t value_size_bytes(const struct edm_value *value)
{
    switch (value->type) {
    case EDM_STRING:
        return LENGTH_BYTES + 2 * utf16_units(value->string);
    case EDM_BINARY:
        return LENGTH_BYTES + value->binary.len;
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
    panic("property type %d is outside the enumeration", (int)value->type);
}

size_t entity_size_bytes(const struct entity *entity)
{
    size_t size = ENTITY_OVERHEAD_BYTES +
                  2 * (utf16_units(entity->partition_key) + utf16_units(entity->row_key));
    for (size_t i = 0; i < entity->properties.count; i++) {
        const struct edm_property *property = &entity->properties.items[i];
        size += PROPERTY_OVERHEAD_BYTES + 2 * utf16_units(property->name) +
                value_size_bytes(&property->value);
    }
    return size;
}

/* The identifiers of C#: letters, digits and '_', no digit first; every character beyond ASCII
   counts as a letter. */
static bool is_identifier(struct slice name)
{
    if (name.len == 0 || !utf8_is_valid(name))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const unsigned char byte = (unsigned char)name.data[i];
        const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                            byte == '_' || byte >= 0x80;
        if (!letter && (i == 0 || byte < '0' || byte > '9'))
            return false;
    }
    return true;
}

/* What every entity has is not among its properties. */
static bool is_system_property(struct slice name)
{
    return slice_is(name, "PartitionKey") || slice_is(name, "RowKey") ||
           slice_is(name, "Timestamp");
}

static enum err check_value(const struct edm_value *value)
{
    if (value->type == EDM_BINARY)
        return value->binary.len > LIMIT_PROPERTY_VALUE_BYTES_MAX ? ERR_PROPERTY_VALUE_TOO_LARGE
                                                                  : OK;
    if (value->type != EDM_STRING)
        return OK;
    /* A unit of UTF-16 is at least one byte of UTF-8, so short strings need not be counted. */
    if (2 * value->string.len > LIMIT_PROPERTY_VALUE_BYTES_MAX &&
        2 * utf16_units(value->string) > LIMIT_PROPERTY_VALUE_BYTES_MAX)
        return ERR_PROPERTY_VALUE_TOO_LARGE;
    return utf8_is_valid(value->string) ? OK : ERR_INVALID_INPUT;
}

static enum err check_property(const struct edm_property *property)
{
    if (utf16_units(property->name) > LIMIT_PROPERTY_NAME_UNITS_MAX)
        return ERR_PROPERTY_NAME_TOO_LONG;
    if (!is_identifier(property->name))
        return ERR_PROPERTY_NAME_INVALID;
    if (is_system_property(property->name))
        return ERR_DUPLICATE_PROPERTIES;
    return check_value(&property->value);
}

static bool has_duplicate(const struct edm_properties *properties, size_t index)
{
    const struct edm_properties before = { .count = index, .items = properties->items };
    return edm_properties_find(&before, properties->items[index].name) != NULL;
}

enum err entity_check(const struct entity *entity)
{
    enum err err = entity_key_check(entity->partition_key);
    if (err == OK)
        err = entity_key_check(entity->row_key);
    if (err == OK && entity->properties.count > LIMIT_ENTITY_PROPERTIES_MAX)
        err = ERR_TOO_MANY_PROPERTIES;
    for (size_t i = 0; err == OK && i < entity->properties.count; i++) {
        err = check_property(&entity->properties.items[i]);
        if (err == OK && has_duplicate(&entity->properties, i))
            err = ERR_DUPLICATE_PROPERTIES;
    }
    if (err == OK && entity_size_bytes(entity) > LIMIT_ENTITY_BYTES_MAX)
        err = ERR_ENTITY_TOO_LARGE;
    return err;
}
