/*
 * filter_model.h - a naive second opinion on filters, for randomized tests.
 *
 * Random entities, and random expressions as trees with their text and with an evaluator that does
 * what the words say and shares nothing with the server's: numbers are compared as long doubles
 * (whose 64 bits of mantissa hold every integer and every double), everything else by its text.
 */
#ifndef TESTS_UNIT_SERVICE_FILTER_MODEL_H
#define TESTS_UNIT_SERVICE_FILTER_MODEL_H

#include <math.h>

#include "base/strbuf.h"
#include "service/table/edm.h"
#include "service/table/filter.h"
#include "test_random.h"

/* --- entities --- */

static const char *const model_keys[] = { "", "a", "a'", "aa", "ab", "b", "b b", "\xc3\xbc", "z" };

enum {
    MODEL_KEY_COUNT = sizeof(model_keys) / sizeof(model_keys[0]),
    MODEL_PROPERTIES_MAX = 8,
};

struct model_entity {
    struct edm_property items[MODEL_PROPERTIES_MAX];
    struct edm_properties properties;
};

static inline struct slice model_key(struct test_random *random)
{
    return slice_of(model_keys[random_below(random, MODEL_KEY_COUNT)]);
}

/* Few different ones of each type, so that comparisons hold often, and the extremes. */
static inline struct edm_value model_value(struct test_random *random)
{
    static const int32_t int32s[] = { 0, 1, -1, 5, INT32_MIN, INT32_MAX };
    static const int64_t int64s[] = { 0,         1,         -1,        5,
                                      INT32_MAX, INT64_MIN, INT64_MAX, INT64_C(9007199254740993) };
    static const double doubles[] = {
        0,      -0.0,    1,      -1,      5,   5.5, 9007199254740992.0, 1e300,    -1e-300,
        0x1p63, -0x1p63, 0x1p62, 1 / 3.0, 1e9, NAN, INFINITY,           -INFINITY
    };
    static const int64_t instants[] = { 0, 1, INT64_C(132665933211312048), EDM_DATETIME_TICKS_MAX };
    static const char *const binaries[] = { "", "a", "ab", "b", "\xff" };
    struct uuid guid = { { 0 } };
    switch (random_below(random, 8)) {
    case 0:
        return edm_string(model_key(random));
    case 1:
        return edm_int32(int32s[random_below(random, 6)]);
    case 2:
        return edm_int64(int64s[random_below(random, 8)]);
    case 3:
        return edm_double(doubles[random_below(random, 17)]);
    case 4:
        return edm_boolean(random_below(random, 2) == 0);
    case 5:
        return edm_datetime(instants[random_below(random, 4)]);
    case 6:
        guid.bytes[random_below(random, 16)] = (uint8_t)(random_below(random, 2) * 0x90);
        return edm_guid(guid);
    default:
        return edm_binary(slice_of(binaries[random_below(random, 5)]));
    }
}

static const char *const model_names[] = { "A", "B", "_c1", "IsActive", "\xc3\xa9t\xc3\xa9", "eq" };

static inline void model_entity_fill(struct model_entity *entity, struct test_random *random,
                                     struct slice pk, struct slice rk)
{
    entity->properties = (struct edm_properties){ .items = entity->items };
    entity->items[entity->properties.count++] =
        (struct edm_property){ slice_of("PartitionKey"), edm_string(pk) };
    entity->items[entity->properties.count++] =
        (struct edm_property){ slice_of("RowKey"), edm_string(rk) };
    for (size_t i = 0; i < sizeof(model_names) / sizeof(model_names[0]); i++) {
        if (random_below(random, 3) == 0)
            continue; /* absent */
        entity->items[entity->properties.count++] =
            (struct edm_property){ slice_of(model_names[i]), model_value(random) };
    }
}

/* A filter_lookup; `arg` is a struct model_entity. */
static inline bool model_lookup(void *arg, struct slice name, struct edm_value *value)
{
    const struct model_entity *entity = arg;
    const struct edm_value *found = edm_properties_find(&entity->properties, name);
    if (found != NULL)
        *value = *found;
    return found != NULL;
}

/* --- expressions --- */

enum model_type {
    MODEL_COMPARE_LEFT,  /* property op literal */
    MODEL_COMPARE_RIGHT, /* literal op property */
    MODEL_COMPARE_LITERALS,
    MODEL_PROPERTY,
    MODEL_CONSTANT,
    MODEL_NOT,
    MODEL_AND,
    MODEL_OR,
};

struct model_node {
    enum model_type type;
    const char *op;
    struct slice property;
    struct edm_value literal;
    struct edm_value other;
    struct model_node *left;
    struct model_node *right;
};

/* How often the leaves speak of keys. */
enum model_bias {
    MODEL_ANY_PROPERTY,
    MODEL_MOSTLY_KEYS,
    MODEL_ROW_KEYS, /* all of them compare the RowKey with a string, or are constants */
};

static inline struct model_node *model_leaf(struct arena *arena, struct test_random *random,
                                            enum model_bias bias)
{
    static const char *const ops[] = { "eq", "ne", "gt", "ge", "lt", "le" };
    struct model_node *node = arena_alloc(arena, sizeof(*node));
    node->op = ops[random_below(random, 6)];
    node->property = slice_of(model_names[random_below(random, 6)]);
    node->literal = model_value(random);
    node->other = model_value(random);
    if (random_below(random, 10) < (bias == MODEL_MOSTLY_KEYS ? 9U : 3U)) {
        node->property = slice_of(random_below(random, 2) == 0 ? "PartitionKey" : "RowKey");
        if (random_below(random, 20) != 0)
            node->literal = edm_string(model_key(random));
        if (random_below(random, 3) == 0)
            node->op = "eq";
    }
    const size_t die = random_below(random, 40);
    node->type = die < 24   ? MODEL_COMPARE_LEFT
                 : die < 36 ? MODEL_COMPARE_RIGHT
                 : die < 38 ? MODEL_PROPERTY
                 : die < 39 ? MODEL_CONSTANT
                            : MODEL_COMPARE_LITERALS;
    if (bias == MODEL_ROW_KEYS) {
        node->property = slice_of("RowKey");
        node->literal = edm_string(model_key(random));
    }
    if (node->type == MODEL_CONSTANT)
        node->literal = edm_boolean(random_below(random, 2) == 0);
    return node;
}

static inline struct model_node *model_expression(struct arena *arena, struct test_random *random,
                                                  enum model_bias bias, size_t leaf_count)
{
    if (leaf_count > 1 || random_below(random, 8) == 0) {
        struct model_node *node = arena_alloc(arena, sizeof(*node));
        if (leaf_count == 1 || random_below(random, 8) == 0) {
            node->type = MODEL_NOT;
            node->left = model_expression(arena, random, bias, leaf_count);
            return node;
        }
        node->type = random_below(random, 2) == 0 ? MODEL_AND : MODEL_OR;
        const size_t left_count = 1 + random_below(random, leaf_count - 1);
        node->left = model_expression(arena, random, bias, left_count);
        node->right = model_expression(arena, random, bias, leaf_count - left_count);
        return node;
    }
    return model_leaf(arena, random, bias);
}

/* --- their text --- */

static inline void model_print_quoted(struct strbuf *text, struct slice string)
{
    strbuf_add_byte(text, '\'');
    for (size_t i = 0; i < string.len; i++) {
        strbuf_add_byte(text, string.data[i]);
        if (string.data[i] == '\'')
            strbuf_add_byte(text, '\'');
    }
    strbuf_add_byte(text, '\'');
}

static inline void model_print_double(struct strbuf *text, double number)
{
    if (isnan(number)) {
        strbuf_add_text(text, "NaN");
    } else if (isinf(number)) {
        strbuf_add_text(text, number < 0 ? "-INF" : "INF");
    } else {
        /* Without the suffix, 5.0 would be the integer 5, which is the same number. */
        strbuf_printf(text, "%.17gd", number);
    }
}

static inline void model_print_binary(struct strbuf *text, struct slice bytes)
{
    strbuf_add_text(text, bytes.len % 2 == 0 ? "X'" : "binary'");
    for (size_t i = 0; i < bytes.len; i++)
        strbuf_printf(text, "%02x", (unsigned char)bytes.data[i]);
    strbuf_add_byte(text, '\'');
}

static inline void model_print_literal(struct strbuf *text, const struct edm_value *value)
{
    char formatted[64];
    switch (value->type) {
    case EDM_STRING:
        model_print_quoted(text, value->string);
        break;
    case EDM_INT32:
        strbuf_printf(text, "%" PRId32, value->int32);
        break;
    case EDM_INT64:
        strbuf_printf(text, "%" PRId64 "L", value->int64);
        break;
    case EDM_DOUBLE:
        model_print_double(text, value->real);
        break;
    case EDM_BOOLEAN:
        strbuf_add_text(text, value->boolean ? "true" : "false");
        break;
    case EDM_DATETIME:
        edm_datetime_format(value->datetime_ticks, formatted);
        strbuf_printf(text, "datetime'%s'", formatted);
        break;
    case EDM_GUID:
        edm_guid_format(&value->guid, formatted);
        strbuf_printf(text, "guid'%s'", formatted);
        break;
    case EDM_BINARY:
        model_print_binary(text, value->binary);
        break;
    }
}

static inline void model_print_leaf(struct strbuf *text, const struct model_node *node)
{
    switch (node->type) {
    case MODEL_PROPERTY:
        strbuf_add(text, node->property);
        return;
    case MODEL_CONSTANT:
        model_print_literal(text, &node->literal);
        return;
    case MODEL_COMPARE_LEFT:
        strbuf_add(text, node->property);
        break;
    case MODEL_COMPARE_RIGHT:
    case MODEL_COMPARE_LITERALS:
        model_print_literal(text, &node->literal);
        break;
    case MODEL_NOT:
    case MODEL_AND:
    case MODEL_OR:
        fail();
    }
    strbuf_printf(text, " %s ", node->op);
    if (node->type == MODEL_COMPARE_RIGHT)
        strbuf_add(text, node->property);
    else
        model_print_literal(text, node->type == MODEL_COMPARE_LEFT ? &node->literal : &node->other);
}

/* With the parentheses that precedence demands, and some more. */
static inline void model_print(struct strbuf *text, struct test_random *random,
                               const struct model_node *node, enum model_type outer)
{
    const bool inner = node->type == MODEL_AND || node->type == MODEL_OR;
    const bool needed =
        inner && (outer == MODEL_NOT || (outer == MODEL_AND && node->type == MODEL_OR));
    const bool parentheses = needed || random_below(random, 5) == 0;
    if (parentheses)
        strbuf_add_text(text, random_below(random, 4) == 0 ? " ( " : "(");
    if (node->type == MODEL_NOT) {
        strbuf_add_text(text, "not ");
        model_print(text, random, node->left, MODEL_NOT);
    } else if (inner) {
        model_print(text, random, node->left, node->type);
        strbuf_add_text(text, node->type == MODEL_AND ? " and " : " or ");
        model_print(text, random, node->right, node->type);
    } else {
        model_print_leaf(text, node);
    }
    if (parentheses)
        strbuf_add_byte(text, ')');
}

static inline struct slice model_text(struct arena *arena, struct test_random *random,
                                      const struct model_node *node)
{
    struct strbuf text;
    strbuf_init(&text, arena);
    model_print(&text, random, node, MODEL_OR);
    return strbuf_slice(&text);
}

/* --- their meaning --- */

static inline bool model_number(const struct edm_value *value, long double *number)
{
    if (value->type == EDM_INT32)
        *number = value->int32;
    else if (value->type == EDM_INT64)
        *number = (long double)value->int64;
    else if (value->type == EDM_DOUBLE)
        *number = value->real;
    else
        return false;
    return true;
}

static inline bool model_relation(const char *op, bool less, bool equal)
{
    if (strcmp(op, "eq") == 0)
        return equal;
    if (strcmp(op, "ne") == 0)
        return !equal;
    if (strcmp(op, "gt") == 0)
        return !less && !equal;
    if (strcmp(op, "ge") == 0)
        return !less;
    if (strcmp(op, "lt") == 0)
        return less;
    return less || equal;
}

/* Values that are no numbers compare as these do. */
static inline struct slice model_comparable(struct arena *arena, const struct edm_value *value)
{
    char formatted[64];
    if (value->type == EDM_STRING)
        return value->string;
    if (value->type == EDM_BINARY)
        return value->binary;
    if (value->type == EDM_BOOLEAN)
        return slice_of(value->boolean ? "1" : "0");
    if (value->type == EDM_DATETIME)
        return arena_printf(arena, "%020" PRId64, value->datetime_ticks);
    edm_guid_format(&value->guid, formatted);
    return arena_printf(arena, "%s", formatted);
}

static inline bool model_compare(struct arena *arena, const struct edm_value *a, const char *op,
                                 const struct edm_value *b)
{
    long double left;
    long double right;
    if (model_number(a, &left) && model_number(b, &right)) {
        if (isnan(left) || isnan(right))
            return false;
        return model_relation(op, left < right, left == right);
    }
    if (a->type != b->type)
        return false;
    const int order = slice_compare(model_comparable(arena, a), model_comparable(arena, b));
    return model_relation(op, order < 0, order == 0);
}

static inline bool model_holds(struct arena *arena, const struct model_node *node,
                               const struct model_entity *entity)
{
    const struct edm_value *value = edm_properties_find(&entity->properties, node->property);
    switch (node->type) {
    case MODEL_COMPARE_LEFT:
        return value != NULL && model_compare(arena, value, node->op, &node->literal);
    case MODEL_COMPARE_RIGHT:
        return value != NULL && model_compare(arena, &node->literal, node->op, value);
    case MODEL_COMPARE_LITERALS:
        return model_compare(arena, &node->literal, node->op, &node->other);
    case MODEL_PROPERTY:
        return value != NULL && value->type == EDM_BOOLEAN && value->boolean;
    case MODEL_CONSTANT:
        return node->literal.boolean;
    case MODEL_NOT:
        return !model_holds(arena, node->left, entity);
    case MODEL_AND:
        return model_holds(arena, node->left, entity) && model_holds(arena, node->right, entity);
    case MODEL_OR:
        return model_holds(arena, node->left, entity) || model_holds(arena, node->right, entity);
    }
    return false;
}

#endif
