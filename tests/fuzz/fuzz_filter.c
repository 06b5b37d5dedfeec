/*
 * fuzz_filter.c - $filter of table queries, evaluated two ways.
 *
 * Input: what the entities have (one byte), and the text of a filter.
 *
 *   - A recursive descent over the same tokens (naive_*), which does what the grammar in filter.h
 *     says and nothing else, accepts what the parser accepts, and no more.
 *   - Both agree on every entity, and whatever matches has its keys in the plan's ranges.
 *   - What is refused is refused with a sentence.
 */
#include "../unit/service/filter_model.h"
#include "base/encoding.h"
#include "fuzz.h"
#include "service/limits.h"
#include "service/table/filter_internal.h"
#include "service/table/plan.h"

enum {
    ENTITIES = 4,
};

struct naive {
    struct arena *arena;
    struct filter_lexer lexer;
    struct filter_fault fault;
    struct filter_token token;
    bool is_refused;
    size_t leaves;
    size_t nestings;
};

/* A condition, or a side of a comparison that may become one. */
struct naive_value {
    bool is_operand;
    bool is_null;
    bool is_property;
    struct slice property;
    struct edm_value literal;
    struct model_node *node;
};

static struct naive_value naive_or(struct naive *naive);

static void naive_advance(struct naive *naive)
{
    if (!naive->is_refused && !filter__next_token(&naive->lexer, &naive->token))
        naive->is_refused = true;
    if (naive->is_refused)
        naive->token = (struct filter_token){ .type = FILTER_TOKEN_END };
}

static struct slice naive_word(const struct naive *naive)
{
    if (naive->token.type != FILTER_TOKEN_WORD)
        return (struct slice){ 0 };
    return slice_make(naive->lexer.text.data + naive->token.start,
                      naive->token.end - naive->token.start);
}

static struct naive_value naive_refuse(struct naive *naive)
{
    struct naive_value value = { .node = arena_alloc(naive->arena, sizeof(*value.node)) };
    naive->is_refused = true;
    value.node->type = MODEL_CONSTANT;
    value.node->literal = edm_boolean(false);
    return value;
}

/* An operand that stands alone: a property or a constant that is true or false. */
static struct model_node *naive_condition(struct naive *naive, struct naive_value value)
{
    if (!value.is_operand)
        return value.node;
    struct model_node *node = arena_alloc(naive->arena, sizeof(*node));
    naive->leaves++;
    node->type = value.is_property ? MODEL_PROPERTY : MODEL_CONSTANT;
    node->property = value.property;
    node->literal = value.literal;
    if (value.is_null || (!value.is_property && value.literal.type != EDM_BOOLEAN))
        naive->is_refused = true;
    return node;
}

static struct naive_value naive_operand(struct naive *naive)
{
    struct naive_value value = { .is_operand = true };
    const struct filter_token token = naive->token;
    switch (token.type) {
    case FILTER_TOKEN_OPEN:
        if (++naive->nestings > LIMIT_FILTER_DEPTH)
            return naive_refuse(naive);
        naive_advance(naive);
        value = naive_or(naive);
        if (naive->token.type != FILTER_TOKEN_CLOSE)
            return naive_refuse(naive);
        break;
    case FILTER_TOKEN_WORD:
        value.is_property = true;
        value.property = naive_word(naive);
        if (filter__sees_open(&naive->lexer))
            return naive_refuse(naive); /* a function */
        break;
    case FILTER_TOKEN_LITERAL:
        value.literal = token.value;
        break;
    case FILTER_TOKEN_NULL:
        value.is_null = true;
        break;
    case FILTER_TOKEN_CLOSE:
    case FILTER_TOKEN_OTHER:
    case FILTER_TOKEN_END:
        return naive_refuse(naive);
    }
    naive_advance(naive);
    return value;
}

static const char *naive_relation(const struct naive *naive)
{
    static const char *const words[] = { "eq", "ne", "gt", "ge", "lt", "le" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (slice_is(naive_word(naive), words[i]))
            return words[i];
    return NULL;
}

static struct naive_value naive_not(struct naive *naive);

static struct naive_value naive_comparison(struct naive *naive)
{
    struct naive_value left = naive_operand(naive);
    const char *relation = naive_relation(naive);
    if (relation == NULL)
        return left;
    naive_advance(naive);
    const struct naive_value right =
        slice_is(naive_word(naive), "not") ? naive_not(naive) : naive_operand(naive);
    struct model_node *node = arena_alloc(naive->arena, sizeof(*node));
    naive->leaves++;
    node->op = relation;
    node->type = left.is_property    ? MODEL_COMPARE_LEFT
                 : right.is_property ? MODEL_COMPARE_RIGHT
                                     : MODEL_COMPARE_LITERALS;
    node->property = left.is_property ? left.property : right.property;
    node->literal = left.is_property ? right.literal : left.literal;
    node->other = right.literal;
    if (!left.is_operand || !right.is_operand || left.is_null || right.is_null ||
        (left.is_property && right.is_property) || naive_relation(naive) != NULL)
        return naive_refuse(naive);
    return (struct naive_value){ .node = node };
}

static struct naive_value naive_not(struct naive *naive)
{
    if (!slice_is(naive_word(naive), "not"))
        return naive_comparison(naive);
    if (++naive->nestings > LIMIT_FILTER_DEPTH)
        return naive_refuse(naive);
    naive_advance(naive);
    struct model_node *node = arena_alloc(naive->arena, sizeof(*node));
    node->type = MODEL_NOT;
    node->left = naive_condition(naive, naive_not(naive));
    return (struct naive_value){ .node = node };
}

static struct naive_value naive_pairs(struct naive *naive, const char *word, enum model_type type,
                                      struct naive_value (*part)(struct naive *))
{
    struct naive_value value = part(naive);
    while (!naive->is_refused && slice_is(naive_word(naive), word)) {
        struct model_node *node = arena_alloc(naive->arena, sizeof(*node));
        naive_advance(naive);
        node->type = type;
        node->left = naive_condition(naive, value);
        node->right = naive_condition(naive, part(naive));
        value = (struct naive_value){ .node = node };
    }
    return value;
}

static struct naive_value naive_and(struct naive *naive)
{
    return naive_pairs(naive, "and", MODEL_AND, naive_not);
}

static struct naive_value naive_or(struct naive *naive)
{
    return naive_pairs(naive, "or", MODEL_OR, naive_and);
}

/* The tree of a filter that is not empty; NULL if it is refused. */
static struct model_node *naive_parse(struct naive *naive, struct arena *arena, struct slice text)
{
    *naive = (struct naive){ .arena = arena };
    naive->lexer = (struct filter_lexer){ .arena = arena, .text = text, .fault = &naive->fault };
    naive_advance(naive);
    struct model_node *node = naive_condition(naive, naive_or(naive));
    if (naive->token.type != FILTER_TOKEN_END)
        naive->is_refused = true;
    return naive->is_refused ? NULL : node;
}

static bool is_blank(struct arena *arena, struct slice text)
{
    struct filter_fault fault = { 0 };
    struct filter_lexer lexer = { .arena = arena, .text = text, .fault = &fault };
    struct filter_token token = { 0 };
    return filter__next_token(&lexer, &token) && token.type == FILTER_TOKEN_END;
}

static void check_entity(struct arena *arena, const struct filter *filter, const struct plan *plan,
                         const struct model_node *model, struct model_entity *entity)
{
    const bool matches = filter_matches(filter, model_lookup, entity);
    assert(matches == (model == NULL || model_holds(arena, model, entity)));
    const struct slice pk = entity->items[0].value.string;
    const struct slice rk = entity->items[1].value.string;
    assert(!matches || plan_contains(plan, pk, rk));
}

static void check_plan(const struct plan *plan)
{
    assert(plan->count <= LIMIT_PLAN_RANGES);
    for (size_t i = 0; i < plan->count; i++) {
        assert(plan_bound_compare(&plan->ranges[i].from, &plan->ranges[i].to) < 0);
        assert(i == 0 || plan_bound_compare(&plan->ranges[i - 1].to, &plan->ranges[i].from) <= 0);
    }
}

static void check_filter(struct arena *arena, struct slice text, uint8_t seed)
{
    const struct filter *filter = NULL;
    struct slice message = { 0 };
    struct naive naive;
    const enum err err = filter_parse(arena, text, &filter, &message);
    const bool blank = is_blank(arena, text);
    struct model_node *model = blank ? NULL : naive_parse(&naive, arena, text);
    if (err != OK) {
        assert(err == ERR_INVALID_INPUT || err == ERR_NOT_IMPLEMENTED);
        assert(message.len > 0);
        /* Too much of a good thing, which the naive one does not mind. */
        assert(model == NULL || naive.leaves > LIMIT_FILTER_COMPARISONS);
        return;
    }
    /* The naive one counts every `not`, the parser those that are open. */
    assert(blank || model != NULL || naive.nestings > LIMIT_FILTER_DEPTH);
    if (!blank && model == NULL)
        return;
    struct plan plan;
    plan_build(arena, filter, &plan);
    check_plan(&plan);
    struct test_random random = { seed };
    for (size_t i = 0; i < ENTITIES; i++) {
        struct model_entity entity;
        model_entity_fill(&entity, &random, model_key(&random), model_key(&random));
        check_entity(arena, filter, &plan, model, &entity);
    }
}

/* A tree of the model's own, from its text back to its meaning. */
static void check_model(struct arena *arena, struct slice bytes)
{
    uint64_t seed = 0;
    for (size_t i = 0; i < bytes.len; i++)
        seed = seed * 257 + (uint8_t)bytes.data[i];
    struct test_random random = { seed };
    const struct model_node *model =
        model_expression(arena, &random, MODEL_ANY_PROPERTY, 1 + random_below(&random, 12));
    check_filter(arena, model_text(arena, &random, model), (uint8_t)random_next(&random));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    const uint8_t seed = fuzz_byte(&input);
    const struct slice text = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    /* The front end has seen to it that parameters are UTF-8. */
    if (utf8_is_valid(text))
        check_filter(&arena, text, seed);
    if (seed >= 0xf0)
        check_model(&arena, text);
    arena_release(&arena);
    fuzz_copy_free(text);
    return 0;
}
