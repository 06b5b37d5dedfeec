#include "frontend/http/odata_read.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "frontend/http/json_read.h"
#include "service/limits.h"

enum {
    /* Every property may have an annotation, and there are the keys, the Timestamp and a few
       odata.* members.  What is beyond is refused before it is kept. */
    MEMBERS_MAX = 2 * (LIMIT_ENTITY_PROPERTIES_MAX + 3) + 16,
    MEMBERS_AT_FIRST = 32,
    NUMBER_LEN_MAX = 400, /* of a Double: 309 digits before the point, 17 that count behind it */
};

struct member {
    struct slice name;
    struct json_value value;
};

struct members {
    struct member *items;
    size_t count;
    size_t room;
};

/* --- values --- */

static enum err read_double(struct slice text, double *number)
{
    static const struct {
        const char *text;
        double number;
    } words[] = { { "NaN", (double)NAN },
                  { "Infinity", (double)INFINITY },
                  { "-Infinity", -(double)INFINITY } };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_is(text, words[i].text)) {
            *number = words[i].number;
            return OK;
        }
    }
    char digits[NUMBER_LEN_MAX + 1];
    if (text.len == 0 || text.len > NUMBER_LEN_MAX)
        return ERR_ENTITY_MALFORMED;
    for (size_t i = 0; i < text.len; i++) {
        /* Not the hexadecimal forms and words that strtod knows beside these. */
        if (text.data[i] == '\0' || strchr("0123456789+-.eE", text.data[i]) == NULL)
            return ERR_ENTITY_MALFORMED;
    }
    memcpy(digits, text.data, text.len);
    digits[text.len] = '\0';
    char *end;
    *number = strtod(digits, &end);
    return end == digits + text.len && isfinite(*number) ? OK : ERR_ENTITY_MALFORMED;
}

static enum err read_integer(struct slice text, int64_t min, int64_t max, int64_t *number)
{
    if (decimal_parse_i64(text, number) != OK || *number < min || *number > max)
        return ERR_ENTITY_MALFORMED;
    return OK;
}

static enum err read_boolean(struct slice text, bool *truth)
{
    *truth = slice_equal_nocase(text, slice_of("true"));
    return *truth || slice_equal_nocase(text, slice_of("false")) ? OK : ERR_ENTITY_MALFORMED;
}

/* The value of a text under an annotation. */
static enum err value_of_text(struct arena *arena, struct slice text, enum edm_type type,
                              struct edm_value *value)
{
    enum err err = OK;
    int64_t integer = 0;
    value->type = type;
    switch (type) {
    case EDM_STRING:
        value->string = text;
        break;
    case EDM_INT32:
        err = read_integer(text, INT32_MIN, INT32_MAX, &integer);
        value->int32 = (int32_t)integer;
        break;
    case EDM_INT64:
        err = read_integer(text, INT64_MIN, INT64_MAX, &integer);
        value->int64 = integer;
        break;
    case EDM_DOUBLE:
        err = read_double(text, &value->real);
        break;
    case EDM_BOOLEAN:
        err = read_boolean(text, &value->boolean);
        break;
    case EDM_DATETIME:
        err = edm_datetime_parse(text, &value->datetime_ticks);
        break;
    case EDM_GUID:
        err = edm_guid_parse(text, &value->guid);
        break;
    case EDM_BINARY:
        err = base64_decode(arena, text, &value->binary);
        break;
    }
    return err == OK ? OK : ERR_ENTITY_MALFORMED;
}

static bool is_integer(struct slice literal)
{
    return slice_find_byte(literal, '.') == literal.len &&
           slice_find_byte(literal, 'e') == literal.len &&
           slice_find_byte(literal, 'E') == literal.len;
}

/* A number without annotation. */
static enum err value_of_number(struct slice literal, struct edm_value *value)
{
    int64_t integer;
    if (is_integer(literal) && read_integer(literal, INT32_MIN, INT32_MAX, &integer) == OK) {
        *value = edm_int32((int32_t)integer);
        return OK;
    }
    value->type = EDM_DOUBLE;
    return read_double(literal, &value->real);
}

/* A value under the annotation `type`. */
static enum err value_under_type(struct arena *arena, const struct json_value *json,
                                 enum edm_type type, struct edm_value *value)
{
    switch (json->kind) {
    case JSON_STRING:
        return value_of_text(arena, json->text, type, value);
    case JSON_NUMBER:
        if (type != EDM_DOUBLE && (type != EDM_INT32 || !is_integer(json->text)) &&
            (type != EDM_INT64 || !is_integer(json->text)))
            return ERR_ENTITY_MALFORMED;
        return value_of_text(arena, json->text, type, value);
    case JSON_TRUE:
    case JSON_FALSE:
        *value = edm_boolean(json->kind == JSON_TRUE);
        return type == EDM_BOOLEAN ? OK : ERR_ENTITY_MALFORMED;
    case JSON_NULL:
        break;
    }
    return ERR_ENTITY_MALFORMED;
}

static enum err value_without_type(const struct json_value *json, struct edm_value *value)
{
    switch (json->kind) {
    case JSON_STRING:
        *value = edm_string(json->text);
        return OK;
    case JSON_NUMBER:
        return value_of_number(json->text, value);
    case JSON_TRUE:
    case JSON_FALSE:
        *value = edm_boolean(json->kind == JSON_TRUE);
        return OK;
    case JSON_NULL:
        break;
    }
    return ERR_ENTITY_MALFORMED;
}

/* --- members --- */

static const struct member *find_member(const struct members *members, struct slice name)
{
    for (size_t i = 0; i < members->count; i++) {
        if (slice_equal(members->items[i].name, name))
            return &members->items[i];
    }
    return NULL;
}

static void add_member(struct arena *arena, struct members *members, const struct member *member)
{
    if (members->count == members->room) {
        const size_t room = members->room == 0 ? MEMBERS_AT_FIRST : 2 * members->room;
        struct member *items = arena_alloc(arena, room * sizeof(*items));
        if (members->count > 0)
            memcpy(items, members->items, members->count * sizeof(*items));
        members->items = items;
        members->room = room;
    }
    members->items[members->count++] = *member;
}

static enum err read_members(struct arena *arena, struct slice body, struct members *members)
{
    struct json_reader reader;
    *members = (struct members){ 0 };
    if (json_begin(&reader, arena, body) != OK)
        return ERR_ENTITY_MALFORMED;
    for (;;) {
        struct member member;
        bool more;
        if (json_next(&reader, &more, &member.name, &member.value) != OK)
            return ERR_ENTITY_MALFORMED;
        if (!more)
            return OK;
        if (find_member(members, member.name) != NULL)
            return ERR_DUPLICATE_PROPERTIES;
        if (members->count == MEMBERS_MAX)
            return ERR_TOO_MANY_PROPERTIES;
        add_member(arena, members, &member);
    }
}

/* --- entities --- */

static const struct slice annotation_suffix = SLICE_LITERAL("@odata.type");

/* Whether a member is about the others, and no property itself. */
static bool is_annotation(struct slice name)
{
    return slice_starts_with(name, slice_of("odata.")) || slice_find_byte(name, '@') < name.len;
}

/* The annotation of a property, or NULL. */
static const struct json_value *find_annotation(const struct members *members, struct slice name)
{
    for (size_t i = 0; i < members->count; i++) {
        const struct slice candidate = members->items[i].name;
        if (candidate.len == name.len + annotation_suffix.len &&
            slice_starts_with(candidate, name) &&
            slice_equal(slice_from(candidate, name.len), annotation_suffix))
            return &members->items[i].value;
    }
    return NULL;
}

static enum err read_value(struct arena *arena, const struct members *members, bool has_annotations,
                           const struct member *member, struct edm_value *value)
{
    const struct json_value *annotation =
        has_annotations ? find_annotation(members, member->name) : NULL;
    if (annotation == NULL || annotation->kind == JSON_NULL)
        return value_without_type(&member->value, value);
    enum edm_type type;
    if (annotation->kind != JSON_STRING || edm_type_parse(annotation->text, &type) != OK)
        return ERR_ENTITY_MALFORMED;
    return value_under_type(arena, &member->value, type, value);
}

/* A key is kept apart; everything else is a property. */
static enum err keep_value(struct odata_entity *entity, struct slice name,
                           const struct edm_value *value)
{
    const bool is_partition_key = slice_is(name, "PartitionKey");
    if (is_partition_key || slice_is(name, "RowKey")) {
        if (value->type != EDM_STRING)
            return ERR_ENTITY_MALFORMED;
        if (is_partition_key) {
            entity->has_partition_key = true;
            entity->partition_key = value->string;
        } else {
            entity->has_row_key = true;
            entity->row_key = value->string;
        }
        return OK;
    }
    if (entity->properties.count == LIMIT_ENTITY_PROPERTIES_MAX)
        return ERR_TOO_MANY_PROPERTIES;
    entity->properties.items[entity->properties.count++] =
        (struct edm_property){ .name = name, .value = *value };
    return OK;
}

enum err odata_read_entity(struct arena *arena, struct slice body, struct odata_entity *entity)
{
    struct members members;
    enum err err = read_members(arena, body, &members);
    if (err != OK)
        return err;
    bool has_annotations = false;
    for (size_t i = 0; i < members.count; i++)
        has_annotations = has_annotations || is_annotation(members.items[i].name);

    *entity = (struct odata_entity){ 0 };
    entity->properties.items =
        arena_alloc(arena, members.count * sizeof(*entity->properties.items));
    for (size_t i = 0; i < members.count && err == OK; i++) {
        const struct member *member = &members.items[i];
        if (member->value.kind == JSON_NULL || is_annotation(member->name) ||
            slice_is(member->name, "Timestamp"))
            continue;
        struct edm_value value = { .type = EDM_STRING };
        err = read_value(arena, &members, has_annotations, member, &value);
        if (err == OK)
            err = keep_value(entity, member->name, &value);
    }
    return err;
}

enum err odata_read_table(struct arena *arena, struct slice body, struct slice *table_name)
{
    struct members members;
    const enum err err = read_members(arena, body, &members);
    if (err != OK)
        return err;
    const struct member *member = find_member(&members, slice_of("TableName"));
    if (member == NULL || member->value.kind == JSON_NULL)
        return ERR_PROPERTIES_NEED_VALUE;
    if (member->value.kind != JSON_STRING)
        return ERR_ENTITY_MALFORMED;
    *table_name = member->value.text;
    return OK;
}
