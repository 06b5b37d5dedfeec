/*
 * load_script_internal.h - a script as it is read: for load_script.c, which reads it, and
 * load_exchange.c, which plays it.
 *
 * Targets, headers and templates are cut into parts, so that making a request is a row of copies.
 */
#ifndef BENCH_LOAD_SCRIPT_INTERNAL_H
#define BENCH_LOAD_SCRIPT_INTERNAL_H

#include "load_script.h"

enum {
    LETS_MAX = 16,
    NAME_BYTES_MAX = 32,
};

/* Numbers every script has; those of its own come behind. */
enum { NUMBER_CYCLE, NUMBER_RUN, NUMBER_CONNECTION, NUMBER_TURN, NUMBER_RANDOM, NUMBERS_GIVEN };

enum part_kind { PART_LITERAL, PART_NUMBER, PART_KEPT, PART_KEPT_URL, PART_NOISE };

struct part {
    enum part_kind kind;
    const char *text; /* of a literal; borrowed from what was read */
    size_t len;       /* of a literal; the width of a number; the length of noise */
    unsigned index;   /* of a number or a kept text */
};

struct form {
    struct part *parts;
    size_t count;
};

/* A number, or the value of a number with a name. */
struct operand {
    bool is_name;
    unsigned index;
    uint64_t number;
};

struct let {
    unsigned index; /* of the number it sets */
    struct operand source;
    uint64_t divide;
    uint64_t modulo;
    uint64_t times;
    struct operand plus;
};

struct keep {
    unsigned index;
    const char *before;
    const char *after; /* NULL: the end of the line */
};

enum body_kind { BODY_NONE, BODY_PIECES, BODY_TEMPLATE };

struct step {
    char *method;
    struct form target;
    struct form headers;
    struct text header_text; /* what `headers` is cut from, once the step is complete */
    unsigned status;
    bool once;
    unsigned times;

    enum body_kind body_kind;
    struct form body;   /* of a template */
    const char *pieces; /* mapped */
    size_t piece_len;
    size_t piece_count;

    const char *contains; /* NULL: no demand */
    unsigned contains_count;
    struct keep keeps[KEPT_MAX];
    unsigned keep_count;
};

struct script {
    struct step steps[STEPS_MAX];
    unsigned step_count;
    struct let lets[LETS_MAX];
    unsigned let_count;
    char **lines; /* of the file that gives texts to the cycles; NULL without one */
    size_t line_count;
    unsigned line_kept[KEPT_MAX]; /* what the fields of a line are kept as */
    unsigned line_field_count;
    char number_names[NUMBERS_MAX][NAME_BYTES_MAX];
    unsigned number_count;
    char kept_names[KEPT_MAX][NAME_BYTES_MAX];
    unsigned kept_count;
};

#endif
