/*
 * filter_internal.h - the tree of a filter, for the parser, the evaluator and the planner.
 *
 * Nodes are in one array, each behind the nodes it is made of; the last one is the root.  That
 * order is what spares all three the recursion: a loop over the array goes from the leaves up, and
 * a loop backwards goes from the root down.
 */
#ifndef SERVICE_TABLE_FILTER_INTERNAL_H
#define SERVICE_TABLE_FILTER_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/table/edm.h"

enum filter_relation {
    FILTER_EQ,
    FILTER_NE,
    FILTER_GT,
    FILTER_GE,
    FILTER_LT,
    FILTER_LE,
};

enum filter_node_type {
    FILTER_COMPARISON, /* property relation value; leaf */
    FILTER_TRUTH,      /* the property is true; leaf */
    FILTER_CONSTANT,   /* value.boolean; leaf */
    FILTER_NOT,        /* left */
    FILTER_AND,        /* left, right */
    FILTER_OR,
};

/* Where the evaluation ends, in place of the index of a leaf. */
enum {
    FILTER_ACCEPT = -1,
    FILTER_REJECT = -2,
};

struct filter_node {
    enum filter_node_type type;
    enum filter_relation relation;
    struct slice property;
    struct edm_value value;
    /* Inner nodes: the indexes of their parts. */
    int32_t left;
    int32_t right;
    /* The leaf that is evaluated first. */
    int32_t first;
    /* Where the evaluation goes on when the node holds and when not: the index of a leaf,
       FILTER_ACCEPT or FILTER_REJECT. */
    int32_t on_true;
    int32_t on_false;
};

struct filter {
    const struct filter_node *nodes;
    int32_t count; /* 0: the empty filter */
};

/* --- the lexer --- */

enum filter_token_type {
    FILTER_TOKEN_END,
    FILTER_TOKEN_OPEN,
    FILTER_TOKEN_CLOSE,
    FILTER_TOKEN_WORD,
    FILTER_TOKEN_LITERAL,
    FILTER_TOKEN_NULL,
    FILTER_TOKEN_OTHER, /* a character of OData that has no place in this grammar */
};

struct filter_token {
    enum filter_token_type type;
    size_t start; /* offsets in the text */
    size_t end;
    struct edm_value value; /* of a literal */
};

enum filter_fault_type {
    FILTER_FAULT_SYNTAX,
    FILTER_FAULT_EXPRESSION_EXPECTED,
    FILTER_FAULT_CLOSE_EXPECTED,
    FILTER_FAULT_CHARACTER,
    FILTER_FAULT_DIGIT_EXPECTED,
    FILTER_FAULT_UNTERMINATED_STRING,
    FILTER_FAULT_UNTERMINATED_LITERAL,
    FILTER_FAULT_LITERAL, /* a literal of a type that has no such value */
    FILTER_FAULT_TOO_DEEP,
    FILTER_FAULT_TOO_MANY,
    FILTER_FAULT_NOT_BOOLEAN,
    FILTER_FAULT_OPERANDS, /* a comparison with null, or not of a property with a literal */
    FILTER_FAULT_FUNCTION,
};

/* What is wrong with a filter. */
struct filter_fault {
    enum filter_fault_type type;
    size_t at;                  /* offset in the text */
    enum edm_type literal_type; /* FILTER_FAULT_LITERAL: the type, and where it ends */
    size_t literal_end;
};

/* The sentence for the client, in the arena. */
struct slice filter__say_fault(struct arena *arena, struct slice text,
                               const struct filter_fault *fault);

struct filter_lexer {
    struct arena *arena; /* of the values of literals */
    struct slice text;
    size_t at;
    struct filter_fault *fault; /* set when filter__next_token says false */
};

/* The next token, or false. */
MUST_CHECK bool filter__next_token(struct filter_lexer *lexer, struct filter_token *token);

/* Whether the next token, which is not taken, is an open parenthesis. */
bool filter__sees_open(const struct filter_lexer *lexer);

#endif
