#include "service/blob/tag.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"

/* --- sets of tags --- */

static bool is_tag_text(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (!isalnum(byte) && (byte == '\0' || strchr(" +-./:=_", byte) == NULL))
            return false;
    }
    return true;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct metadata_pair *left = a;
    const struct metadata_pair *right = b;
    return slice_compare(left->name, right->name);
}

enum err tags_check(struct metadata *tags)
{
    if (tags->count > TAG_COUNT_MAX)
        return ERR_TAGS_TOO_LARGE;
    for (size_t i = 0; i < tags->count; i++) {
        const struct metadata_pair *pair = &tags->pairs[i];
        if (pair->name.len == 0)
            return ERR_EMPTY_TAG_NAME;
        if (pair->name.len > TAG_NAME_BYTES_MAX || pair->value.len > TAG_VALUE_BYTES_MAX)
            return ERR_TAGS_TOO_LARGE;
        if (!is_tag_text(pair->name) || !is_tag_text(pair->value))
            return ERR_INVALID_TAG;
    }
    if (tags->count > 0)
        qsort(tags->pairs, tags->count, sizeof(tags->pairs[0]), compare_pairs);
    for (size_t i = 1; i < tags->count; i++)
        if (slice_equal(tags->pairs[i - 1].name, tags->pairs[i].name))
            return ERR_DUPLICATE_TAG_NAMES;
    return OK;
}

/* One side of name=value: '+' is a space before percent-encoding is undone. */
static enum err decode_form(struct arena *arena, struct slice text, struct slice *bytes)
{
    char *spaced = arena_bytes(arena, text.len);
    for (size_t i = 0; i < text.len; i++)
        spaced[i] = text.data[i] == '+' ? ' ' : text.data[i];
    return percent_decode(arena, slice_make(spaced, text.len), bytes);
}

enum err tags_parse(struct arena *arena, struct slice text, struct metadata *tags)
{
    *tags = (struct metadata){ 0 };
    while (text.len > 0) {
        const size_t len = slice_find_byte(text, '&');
        const struct slice item = slice_head(text, len);
        text = slice_from(text, len + 1);
        const size_t equals = slice_find_byte(item, '=');
        struct metadata_pair pair;
        if (equals == item.len || decode_form(arena, slice_head(item, equals), &pair.name) != OK ||
            decode_form(arena, slice_from(item, equals + 1), &pair.value) != OK)
            return ERR_INVALID_TAG;
        /* The list is bounded while it grows: a header may be long. */
        if (tags->count == TAG_COUNT_MAX)
            return ERR_TAGS_TOO_LARGE;
        metadata_append(tags, arena, pair);
    }
    return tags_check(tags);
}

const struct slice *tags_find(const struct metadata *tags, struct slice name)
{
    for (size_t i = 0; i < tags->count; i++)
        if (slice_equal(tags->pairs[i].name, name))
            return &tags->pairs[i].value;
    return NULL;
}

/* --- predicates --- */

enum node_kind {
    NODE_COMPARISON,
    NODE_AND,
    NODE_OR,
};

/* The predicate as a tree; comparisons are its leaves. */
struct node {
    enum node_kind kind;
    const struct tag_comparison *comparison;
    const struct node *left;
    const struct node *right;
};

struct tag_predicate {
    size_t count;
    struct tag_comparison comparisons[TAG_COMPARISONS_MAX];
    const struct node *root;
};

struct parser {
    struct arena *arena;
    struct slice rest;
    enum tag_grammar grammar;
    struct tag_predicate *predicate;
    size_t depth;
};

static void skip_space(struct parser *parser)
{
    while (parser->rest.len > 0 && isspace((unsigned char)parser->rest.data[0]))
        parser->rest = slice_from(parser->rest, 1);
}

static bool take(struct parser *parser, const char *text)
{
    skip_space(parser);
    if (!slice_starts_with(parser->rest, slice_of(text)))
        return false;
    parser->rest = slice_from(parser->rest, strlen(text));
    return true;
}

static bool is_word_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static size_t word_len(struct slice text)
{
    size_t len = 0;
    while (len < text.len && is_word_byte(text.data[len]))
        len++;
    return len;
}

/* AND or OR, as a whole word. */
static bool take_keyword(struct parser *parser, const char *keyword)
{
    skip_space(parser);
    const size_t len = word_len(parser->rest);
    if (!slice_equal_nocase(slice_head(parser->rest, len), slice_of(keyword)))
        return false;
    parser->rest = slice_from(parser->rest, len);
    return true;
}

static bool take_quoted(struct parser *parser, char quote, struct slice *text)
{
    skip_space(parser);
    if (parser->rest.len == 0 || parser->rest.data[0] != quote)
        return false;
    const struct slice inside = slice_from(parser->rest, 1);
    const size_t len = slice_find_byte(inside, quote);
    if (len == inside.len)
        return false;
    *text = slice_head(inside, len);
    parser->rest = slice_from(inside, len + 1);
    return true;
}

static bool take_name(struct parser *parser, struct slice *name)
{
    skip_space(parser);
    if (parser->grammar == TAG_SEARCH && take(parser, "@container")) {
        *name = slice_of("@container");
        return true;
    }
    if (take_quoted(parser, '"', name))
        return name->len > 0 && name->len <= TAG_NAME_BYTES_MAX && is_tag_text(*name);
    const size_t len = word_len(parser->rest);
    if (len == 0 || len > TAG_NAME_BYTES_MAX || isdigit((unsigned char)parser->rest.data[0]))
        return false;
    *name = slice_head(parser->rest, len);
    parser->rest = slice_from(parser->rest, len);
    return true;
}

static bool take_relation(struct parser *parser, enum tag_relation *relation)
{
    /* The longer signs come first, as the others begin them. */
    static const struct {
        const char *sign;
        enum tag_relation relation;
    } signs[] = {
        { "<>", TAG_DIFFERENT }, { ">=", TAG_GREATER_OR_EQUAL }, { "<=", TAG_LESS_OR_EQUAL },
        { "=", TAG_EQUAL },      { ">", TAG_GREATER },           { "<", TAG_LESS },
    };
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (!take(parser, signs[i].sign))
            continue;
        *relation = signs[i].relation;
        return parser->grammar == TAG_CONDITION || *relation != TAG_DIFFERENT;
    }
    return false;
}

static const struct node *new_node(struct parser *parser, enum node_kind kind,
                                   const struct node *left, const struct node *right)
{
    struct node *node = arena_alloc(parser->arena, sizeof(*node));
    *node = (struct node){ .kind = kind, .left = left, .right = right };
    return node;
}

/* Each function below takes one part of the grammar; NULL when there is none. */

static const struct node *parse_comparison(struct parser *parser)
{
    struct tag_predicate *predicate = parser->predicate;
    struct tag_comparison comparison;
    if (predicate->count == TAG_COMPARISONS_MAX || !take_name(parser, &comparison.name) ||
        !take_relation(parser, &comparison.relation) ||
        !take_quoted(parser, '\'', &comparison.value) || !is_tag_text(comparison.value) ||
        comparison.value.len > TAG_VALUE_BYTES_MAX)
        return NULL;
    struct node *node = arena_alloc(parser->arena, sizeof(*node));
    predicate->comparisons[predicate->count] = comparison;
    node->comparison = &predicate->comparisons[predicate->count++];
    return node;
}

static const struct node *parse_expression(struct parser *parser);

static const struct node *parse_factor(struct parser *parser)
{
    if (parser->grammar == TAG_SEARCH || !take(parser, "("))
        return parse_comparison(parser);
    if (parser->depth == TAG_DEPTH_MAX)
        return NULL;
    parser->depth++;
    const struct node *inside = parse_expression(parser);
    parser->depth--;
    return inside != NULL && take(parser, ")") ? inside : NULL;
}

static const struct node *parse_term(struct parser *parser)
{
    const struct node *node = parse_factor(parser);
    while (node != NULL && take_keyword(parser, "AND")) {
        const struct node *right = parse_factor(parser);
        node = right != NULL ? new_node(parser, NODE_AND, node, right) : NULL;
    }
    return node;
}

static const struct node *parse_expression(struct parser *parser)
{
    const struct node *node = parse_term(parser);
    while (node != NULL && parser->grammar == TAG_CONDITION && take_keyword(parser, "OR")) {
        const struct node *right = parse_term(parser);
        node = right != NULL ? new_node(parser, NODE_OR, node, right) : NULL;
    }
    return node;
}

enum err tag_predicate_parse(struct arena *arena, struct slice text, enum tag_grammar grammar,
                             const struct tag_predicate **result)
{
    struct tag_predicate *predicate = arena_alloc(arena, sizeof(*predicate));
    struct parser parser = {
        .arena = arena, .rest = text, .grammar = grammar, .predicate = predicate
    };
    predicate->root = parse_expression(&parser);
    skip_space(&parser);
    if (predicate->root == NULL || parser.rest.len > 0)
        return ERR_MALFORMED;
    *result = predicate;
    return OK;
}

static bool comparison_holds(const struct tag_comparison *comparison, struct slice container,
                             const struct metadata *tags)
{
    const struct slice *value =
        slice_is(comparison->name, "@container") ? &container : tags_find(tags, comparison->name);
    if (value == NULL)
        return comparison->relation == TAG_DIFFERENT;
    const int order = slice_compare(*value, comparison->value);
    switch (comparison->relation) {
    case TAG_EQUAL:
        return order == 0;
    case TAG_DIFFERENT:
        return order != 0;
    case TAG_GREATER:
        return order > 0;
    case TAG_GREATER_OR_EQUAL:
        return order >= 0;
    case TAG_LESS:
        return order < 0;
    case TAG_LESS_OR_EQUAL:
        return order <= 0;
    }
    return false;
}

/* The depth of the tree is bounded by the number of comparisons. */
static bool node_holds(const struct node *node, struct slice container, const struct metadata *tags)
{
    switch (node->kind) {
    case NODE_COMPARISON:
        return comparison_holds(node->comparison, container, tags);
    case NODE_AND:
        return node_holds(node->left, container, tags) && node_holds(node->right, container, tags);
    case NODE_OR:
        return node_holds(node->left, container, tags) || node_holds(node->right, container, tags);
    }
    return false;
}

bool tag_predicate_holds(const struct tag_predicate *predicate, struct slice container,
                         const struct metadata *tags)
{
    return node_holds(predicate->root, container, tags);
}

size_t tag_predicate_count(const struct tag_predicate *predicate)
{
    return predicate->count;
}

const struct tag_comparison *tag_predicate_get(const struct tag_predicate *predicate, size_t index)
{
    assert(index < predicate->count);
    return &predicate->comparisons[index];
}

enum err tag_check(const struct tag_predicate *condition, const struct metadata *tags)
{
    if (condition == NULL || tag_predicate_holds(condition, (struct slice){ 0 }, tags))
        return OK;
    return ERR_CONDITION_NOT_MET;
}
