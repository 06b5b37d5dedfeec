/*
 * filter.c - parsing by operator precedence, and evaluating.
 *
 * The parser keeps two stacks: operators that wait for their right side, and operands that wait for
 * their operator.  An operator that comes makes those before it that bind as strongly or more
 * strongly take their operands.  Parentheses need no nodes, and nothing recurses.
 *
 * An operand is a property or a literal until an operator says what it is there for: a side of a
 * comparison, or a condition.
 *
 * For the evaluator, each leaf is told where to go on when it holds and when not, as a compiler
 * does with the condition of an `if`: following these from the first leaf on finds the answer.
 */
#include "service/table/filter.h"

#include <assert.h>
#include <string.h>

#include "service/limits.h"
#include "service/table/filter_internal.h"

enum op {
    OP_OPEN, /* a parenthesis: nothing below it is applied before it is closed */
    OP_OR,
    OP_AND,
    OP_NOT,
    OP_EQ,
    OP_NE,
    OP_GT,
    OP_GE,
    OP_LT,
    OP_LE,
};

enum operand_type {
    OPERAND_PROPERTY,
    OPERAND_LITERAL,
    OPERAND_NULL,
    OPERAND_NODE,
};

struct operand {
    enum operand_type type;
    struct slice property;
    struct edm_value value;
    int32_t node;
};

struct parser {
    struct arena *arena;
    struct filter_lexer lexer;
    struct filter_fault fault; /* set when parsing stops */
    bool is_meaningless;       /* `meaning` is set */
    enum filter_fault_type meaning;

    enum op *operators;
    size_t operator_count;
    size_t operator_capacity;
    size_t depth; /* parentheses and `not`s among the operators */
    struct operand *operands;
    size_t operand_count;
    size_t operand_capacity;

    struct filter_node *nodes;
    size_t node_count;
    size_t node_capacity;
    size_t leaf_count;
};

/* An array with room for one more; the depth and the number of leaves bound all three. */
static void *make_room(struct parser *parser, void *items, size_t item_size, size_t count,
                       size_t *capacity)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity == 0 ? 8 : 2 * *capacity;
    void *larger = arena_alloc(parser->arena, *capacity * item_size);
    if (count > 0)
        memcpy(larger, items, count * item_size);
    return larger;
}

static bool fail(struct parser *parser, enum filter_fault_type type, size_t at)
{
    parser->fault = (struct filter_fault){ .type = type, .at = at };
    return false;
}

/*
 * What is said makes no sense.  Parsing goes on, because a fault of syntax anywhere is the one to
 * tell of: the service looks at the meaning of a filter only after it has read it.
 */
static struct filter_node meaningless(struct parser *parser, enum filter_fault_type type)
{
    if (!parser->is_meaningless) {
        parser->is_meaningless = true;
        parser->meaning = type;
    }
    return (struct filter_node){ .type = FILTER_CONSTANT, .value = edm_boolean(false) };
}

/* --- nodes --- */

static int32_t add_node(struct parser *parser, const struct filter_node *node)
{
    parser->nodes = make_room(parser, parser->nodes, sizeof(parser->nodes[0]), parser->node_count,
                              &parser->node_capacity);
    parser->nodes[parser->node_count] = *node;
    return (int32_t)parser->node_count++;
}

static bool add_leaf(struct parser *parser, struct filter_node leaf, int32_t *node)
{
    if (parser->leaf_count == LIMIT_FILTER_COMPARISONS)
        return fail(parser, FILTER_FAULT_TOO_MANY, 0);
    parser->leaf_count++;
    leaf.first = (int32_t)parser->node_count;
    *node = add_node(parser, &leaf);
    return true;
}

static int32_t add_not(struct parser *parser, int32_t part)
{
    /* The operand on top is what was made last. */
    assert((size_t)part == parser->node_count - 1);
    /* Two of them are none, which bounds the nodes by the leaves. */
    if (parser->nodes[part].type == FILTER_NOT) {
        parser->node_count--;
        return parser->nodes[part].left;
    }
    return add_node(parser, &(struct filter_node){
                                .type = FILTER_NOT,
                                .left = part,
                                .first = parser->nodes[part].first,
                            });
}

static int32_t add_pair(struct parser *parser, enum filter_node_type type, int32_t left,
                        int32_t right)
{
    return add_node(parser, &(struct filter_node){
                                .type = type,
                                .left = left,
                                .right = right,
                                .first = parser->nodes[left].first,
                            });
}

/* --- applying an operator to its operands --- */

static bool is_comparison(enum op op)
{
    return op >= OP_EQ;
}

static enum filter_relation relation_of(enum op op)
{
    assert(is_comparison(op));
    return (enum filter_relation)(op - OP_EQ);
}

static_assert(OP_NE - OP_EQ == (int)FILTER_NE, "relations are in the same order");
static_assert(OP_LE - OP_EQ == (int)FILTER_LE, "relations are in the same order");

/* The relation of b to a, given that of a to b. */
static enum filter_relation turned(enum filter_relation relation)
{
    switch (relation) {
    case FILTER_GT:
        return FILTER_LT;
    case FILTER_GE:
        return FILTER_LE;
    case FILTER_LT:
        return FILTER_GT;
    case FILTER_LE:
        return FILTER_GE;
    case FILTER_EQ:
    case FILTER_NE:
        break;
    }
    return relation;
}

static bool relation_holds(const struct edm_value *a, enum filter_relation relation,
                           const struct edm_value *b)
{
    const enum edm_order order = edm_compare(a, b);
    if (order == EDM_UNRELATED)
        return false;
    switch (relation) {
    case FILTER_EQ:
        return order == EDM_EQUAL;
    case FILTER_NE:
        return order != EDM_EQUAL;
    case FILTER_GT:
        return order == EDM_GREATER;
    case FILTER_GE:
        return order != EDM_LESS;
    case FILTER_LT:
        return order == EDM_LESS;
    case FILTER_LE:
        return order != EDM_GREATER;
    }
    assert(false);
    return false;
}

static void push_operand(struct parser *parser, const struct operand *operand)
{
    parser->operands = make_room(parser, parser->operands, sizeof(parser->operands[0]),
                                 parser->operand_count, &parser->operand_capacity);
    parser->operands[parser->operand_count++] = *operand;
}

static void push_node(struct parser *parser, int32_t node)
{
    push_operand(parser, &(struct operand){ .type = OPERAND_NODE, .node = node });
}

static struct operand pop_operand(struct parser *parser)
{
    assert(parser->operand_count > 0);
    return parser->operands[--parser->operand_count];
}

/* The leaf that says an operand is true. */
static struct filter_node truth_of(struct parser *parser, const struct operand *operand)
{
    if (operand->type == OPERAND_PROPERTY)
        return (struct filter_node){ .type = FILTER_TRUTH, .property = operand->property };
    if (operand->type == OPERAND_LITERAL && operand->value.type == EDM_BOOLEAN)
        return (struct filter_node){ .type = FILTER_CONSTANT, .value = operand->value };
    return meaningless(parser, FILTER_FAULT_NOT_BOOLEAN);
}

/* The topmost operand as something that is true or false. */
static bool pop_condition(struct parser *parser, int32_t *node)
{
    const struct operand operand = pop_operand(parser);
    if (operand.type != OPERAND_NODE)
        return add_leaf(parser, truth_of(parser, &operand), node);
    *node = operand.node;
    return true;
}

/* The leaf that says two operands are in a relation. */
static struct filter_node comparison_of(struct parser *parser, const struct operand *left,
                                        enum filter_relation relation, const struct operand *right)
{
    if (left->type == OPERAND_LITERAL && right->type == OPERAND_LITERAL) {
        return (struct filter_node){
            .type = FILTER_CONSTANT,
            .value = edm_boolean(relation_holds(&left->value, relation, &right->value)),
        };
    }
    if (left->type == OPERAND_LITERAL)
        return comparison_of(parser, right, turned(relation), left);
    if (left->type == OPERAND_PROPERTY && right->type == OPERAND_LITERAL) {
        return (struct filter_node){
            .type = FILTER_COMPARISON,
            .property = left->property,
            .relation = relation,
            .value = right->value,
        };
    }
    return meaningless(parser, FILTER_FAULT_OPERANDS);
}

static bool apply_comparison(struct parser *parser, enum filter_relation relation)
{
    const struct operand right = pop_operand(parser);
    const struct operand left = pop_operand(parser);
    int32_t node;
    if (!add_leaf(parser, comparison_of(parser, &left, relation, &right), &node))
        return false;
    push_node(parser, node);
    return true;
}

/* Take the topmost operator off and apply it. */
static bool apply_operator(struct parser *parser)
{
    assert(parser->operator_count > 0);
    const enum op op = parser->operators[--parser->operator_count];
    assert(op != OP_OPEN);
    if (is_comparison(op))
        return apply_comparison(parser, relation_of(op));

    int32_t right;
    if (!pop_condition(parser, &right))
        return false;
    if (op == OP_NOT) {
        parser->depth--;
        push_node(parser, add_not(parser, right));
        return true;
    }
    int32_t left;
    if (!pop_condition(parser, &left))
        return false;
    push_node(parser, add_pair(parser, op == OP_AND ? FILTER_AND : FILTER_OR, left, right));
    return true;
}

/* --- the stack of operators --- */

static int strength(enum op op)
{
    /* All comparisons bind alike. */
    return is_comparison(op) ? (int)OP_EQ : (int)op;
}

/* Apply what binds at least as strongly as `op`, back to a parenthesis. */
static bool apply_stronger(struct parser *parser, enum op op)
{
    while (parser->operator_count > 0) {
        const enum op top = parser->operators[parser->operator_count - 1];
        if (top == OP_OPEN || strength(top) < strength(op))
            break;
        if (!apply_operator(parser))
            return false;
    }
    return true;
}

static void push_operator(struct parser *parser, enum op op)
{
    parser->operators = make_room(parser, parser->operators, sizeof(parser->operators[0]),
                                  parser->operator_count, &parser->operator_capacity);
    parser->operators[parser->operator_count++] = op;
}

static bool push_nesting(struct parser *parser, enum op op)
{
    assert(op == OP_OPEN || op == OP_NOT);
    if (parser->depth == LIMIT_FILTER_DEPTH)
        return fail(parser, FILTER_FAULT_TOO_DEEP, 0);
    parser->depth++;
    push_operator(parser, op);
    return true;
}

/* Whether a parenthesis is open; what was inside it has been applied. */
static bool is_open(const struct parser *parser)
{
    return parser->operator_count > 0 && parser->operators[parser->operator_count - 1] == OP_OPEN;
}

/* --- the two states of the parser --- */

enum state {
    STATE_OPERAND,  /* an operand, `not` or a parenthesis comes next */
    STATE_OPERATOR, /* an operator, a closing parenthesis or the end */
    STATE_DONE,
};

static bool word_is(const struct parser *parser, const struct filter_token *token, const char *word)
{
    return slice_is(slice_make(parser->lexer.text.data + token->start, token->end - token->start),
                    word);
}

static bool take_word(struct parser *parser, const struct filter_token *token, enum state *state)
{
    if (word_is(parser, token, "not"))
        return push_nesting(parser, OP_NOT);
    if (filter__sees_open(&parser->lexer))
        return fail(parser, FILTER_FAULT_FUNCTION, token->start);
    push_operand(parser, &(struct operand){
                             .type = OPERAND_PROPERTY,
                             .property = slice_make(parser->lexer.text.data + token->start,
                                                    token->end - token->start),
                         });
    *state = STATE_OPERATOR;
    return true;
}

static bool take_operand(struct parser *parser, const struct filter_token *token, enum state *state)
{
    switch (token->type) {
    case FILTER_TOKEN_WORD:
        return take_word(parser, token, state);
    case FILTER_TOKEN_OPEN:
        return push_nesting(parser, OP_OPEN);
    case FILTER_TOKEN_LITERAL:
        push_operand(parser, &(struct operand){ .type = OPERAND_LITERAL, .value = token->value });
        *state = STATE_OPERATOR;
        return true;
    case FILTER_TOKEN_NULL:
        push_operand(parser, &(struct operand){ .type = OPERAND_NULL });
        *state = STATE_OPERATOR;
        return true;
    case FILTER_TOKEN_CLOSE:
    case FILTER_TOKEN_OTHER:
    case FILTER_TOKEN_END:
        break;
    }
    return fail(parser, FILTER_FAULT_EXPRESSION_EXPECTED, token->start);
}

static bool find_operator(const struct parser *parser, const struct filter_token *token,
                          enum op *op)
{
    static const struct {
        const char *word;
        enum op op;
    } words[] = {
        { "or", OP_OR }, { "and", OP_AND }, { "eq", OP_EQ }, { "ne", OP_NE },
        { "gt", OP_GT }, { "ge", OP_GE },   { "lt", OP_LT }, { "le", OP_LE },
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (token->type == FILTER_TOKEN_WORD && word_is(parser, token, words[i].word)) {
            *op = words[i].op;
            return true;
        }
    }
    return false;
}

static bool take_operator(struct parser *parser, const struct filter_token *token,
                          enum state *state)
{
    enum op op;
    if (find_operator(parser, token, &op)) {
        if (!apply_stronger(parser, op))
            return false;
        push_operator(parser, op);
        *state = STATE_OPERAND;
        return true;
    }

    /* Whatever else comes here ends an expression, rightly or not. */
    if (!apply_stronger(parser, OP_OR))
        return false;
    if (is_open(parser)) {
        if (token->type != FILTER_TOKEN_CLOSE)
            return fail(parser, FILTER_FAULT_CLOSE_EXPECTED, token->start);
        parser->operator_count--;
        parser->depth--;
        return true;
    }
    if (token->type != FILTER_TOKEN_END)
        return fail(parser, FILTER_FAULT_SYNTAX, token->end);
    *state = STATE_DONE;
    return true;
}

static bool parse(struct parser *parser)
{
    struct filter_token token;
    if (!filter__next_token(&parser->lexer, &token))
        return false;
    if (token.type == FILTER_TOKEN_END)
        return true;

    enum state state = STATE_OPERAND;
    for (;;) {
        const bool ok = state == STATE_OPERAND ? take_operand(parser, &token, &state)
                                               : take_operator(parser, &token, &state);
        if (!ok)
            return false;
        if (state == STATE_DONE)
            break;
        if (!filter__next_token(&parser->lexer, &token))
            return false;
    }

    int32_t root;
    if (!pop_condition(parser, &root))
        return false;
    assert(parser->operand_count == 0);
    assert(parser->operator_count == 0);
    assert((size_t)root == parser->node_count - 1);
    return !parser->is_meaningless || fail(parser, parser->meaning, 0);
}

/* --- the way of the evaluator --- */

static void set_way(struct filter_node *node, int32_t on_true, int32_t on_false)
{
    node->on_true = on_true;
    node->on_false = on_false;
}

/* From the root down: every node stands before those it is part of. */
static void set_ways(struct filter_node *nodes, int32_t count)
{
    set_way(&nodes[count - 1], FILTER_ACCEPT, FILTER_REJECT);
    for (int32_t i = count - 1; i >= 0; i--) {
        const struct filter_node *node = &nodes[i];
        switch (node->type) {
        case FILTER_NOT:
            set_way(&nodes[node->left], node->on_false, node->on_true);
            break;
        case FILTER_AND:
            set_way(&nodes[node->left], nodes[node->right].first, node->on_false);
            set_way(&nodes[node->right], node->on_true, node->on_false);
            break;
        case FILTER_OR:
            set_way(&nodes[node->left], node->on_true, nodes[node->right].first);
            set_way(&nodes[node->right], node->on_true, node->on_false);
            break;
        case FILTER_COMPARISON:
        case FILTER_TRUTH:
        case FILTER_CONSTANT:
            break;
        }
    }
}

static bool leaf_holds(const struct filter_node *leaf, filter_lookup *lookup, void *arg)
{
    if (leaf->type == FILTER_CONSTANT)
        return leaf->value.boolean;
    struct edm_value value;
    if (!lookup(arg, leaf->property, &value))
        return false;
    if (leaf->type == FILTER_TRUTH)
        return value.type == EDM_BOOLEAN && value.boolean;
    assert(leaf->type == FILTER_COMPARISON);
    return relation_holds(&value, leaf->relation, &leaf->value);
}

bool filter_matches(const struct filter *filter, filter_lookup *lookup, void *arg)
{
    if (filter->count == 0)
        return true;
    int32_t at = filter->nodes[filter->count - 1].first;
    while (at >= 0) {
        const struct filter_node *leaf = &filter->nodes[at];
        at = leaf_holds(leaf, lookup, arg) ? leaf->on_true : leaf->on_false;
    }
    return at == FILTER_ACCEPT;
}

enum err filter_parse(struct arena *arena, struct slice text, const struct filter **filter,
                      struct slice *message)
{
    struct parser parser = { .arena = arena };
    parser.lexer = (struct filter_lexer){ .arena = arena, .text = text, .fault = &parser.fault };
    if (!parse(&parser)) {
        *message = filter__say_fault(arena, text, &parser.fault);
        return parser.fault.type == FILTER_FAULT_FUNCTION ? ERR_NOT_IMPLEMENTED : ERR_INVALID_INPUT;
    }
    if (parser.node_count > 0)
        set_ways(parser.nodes, (int32_t)parser.node_count);
    struct filter *made = arena_alloc(arena, sizeof(*made));
    *made = (struct filter){ .nodes = parser.nodes, .count = (int32_t)parser.node_count };
    *filter = made;
    return OK;
}
