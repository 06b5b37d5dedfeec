/*
 * test_filter.c - the $filter of table queries: literals, precedence, the answer to each mistake
 * with its position, the limits, and random expressions against a naive model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "filter_model.h"
#include "service/limits.h"

static struct arena arena;

static int clear_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static const struct filter *parsed(struct slice text)
{
    const struct filter *filter;
    struct slice message = { 0 };
    const enum err err = filter_parse(&arena, text, &filter, &message);
    if (err != OK)
        print_error("%.*s\n", (int)message.len, message.data);
    assert_int_equal(err, OK);
    return filter;
}

/* An entity with one property of every type. */
static struct model_entity sample(void)
{
    struct uuid guid;
    assert_int_equal(edm_guid_parse(slice_of("c9da6455-213d-42c9-9a79-3e9149a57833"), &guid), OK);
    int64_t instant;
    assert_int_equal(edm_datetime_parse(slice_of("2013-08-22T01:12:06.26Z"), &instant), OK);
    struct model_entity entity = {
        .items = {
            { slice_of("PartitionKey"), edm_string(slice_of("it's")) },
            { slice_of("Int"), edm_int32(5) },
            { slice_of("Long"), edm_int64(INT64_C(5000000000)) },
            { slice_of("Double"), edm_double(0.5) },
            { slice_of("Yes"), edm_boolean(true) },
            { slice_of("No"), edm_boolean(false) },
            { slice_of("When"), edm_datetime(instant) },
            { slice_of("Guid"), edm_guid(guid) },
        },
    };
    entity.properties = (struct edm_properties){ .count = 8 };
    return entity;
}

static bool holds(const char *text)
{
    struct model_entity entity = sample();
    entity.properties.items = entity.items;
    return filter_matches(parsed(slice_of(text)), model_lookup, &entity);
}

static void every_type_has_its_literals(void **state)
{
    (void)state;
    static const char *const true_ones[] = {
        "PartitionKey eq 'it''s'",
        "PartitionKey gt 'it'",
        "Int eq 5",
        "Int eq 5L",
        "Int eq 5l",
        "Int eq 5.0",
        "Int eq 5d",
        "Int eq 0.05e2",
        "Int eq 50E-1",
        "Int eq 5e+0",
        "Int eq 5f",
        "Int eq 5M",
        "Int gt -5",
        "Int lt 2147483648",
        "Long eq 5000000000",
        "Long eq 5000000000L",
        "Long eq 5e9",
        "Long gt -9223372036854775808L",
        "Double eq 0.5",
        "Double lt 1",
        "Double lt INF",
        "Double gt -INF",
        "Yes eq true",
        "No eq false",
        "No lt true",
        "When eq datetime'2013-08-22T01:12:06.26Z'",
        "When eq datetime'2013-08-22T01:12:06.2600000Z'",
        "When eq DateTime'2013-08-22T01:12:06.26'",
        "When gt datetime'2013-08-22'",
        "When gt datetime'0001-01-01T00:00:00Z'",
        "When ne datetime'0001-01-01T00:00:00Z'",
        "Guid eq guid'C9DA6455-213d-42c9-9a79-3e9149a57833'",
        "Guid lt Guid'c9da6455-213d-42c9-9a79-3e9149a57834'",
        "5 eq Int",
        "6 gt Int",
        "4 lt Int",
        "5 ge Int",
        "5 le Int",
        "6 ne Int",
        "Yes",
        "true",
        "1 eq 1",
        "'a' lt 'b'",
    };
    static const char *const false_ones[] = {
        "PartitionKey eq 'it''s '",
        "PartitionKey eq 'It''s'",
        "Int ne 5",
        "Int eq 5.000001",
        "Long eq 705032704", /* its low 32 bits */
        "Double eq NaN",
        "Double ne NaN",
        "Double lt NaN",
        "Double ge NaN",
        "When lt datetime'0001-01-01T00:00:00Z'",
        "When eq datetime'2013-08-22T01:12:06.2600001Z'",
        "No",
        "Int",
        "PartitionKey",
        "false",
        "NaN eq NaN",
        "1 eq '1'",
    };
    for (size_t i = 0; i < sizeof(true_ones) / sizeof(true_ones[0]); i++)
        if (!holds(true_ones[i]))
            fail_msg("%s does not hold", true_ones[i]);
    for (size_t i = 0; i < sizeof(false_ones) / sizeof(false_ones[0]); i++)
        if (holds(false_ones[i]))
            fail_msg("%s holds", false_ones[i]);
}

static void binaries_are_written_in_hexadecimal(void **state)
{
    (void)state;
    struct edm_property item = { slice_of("B"), edm_binary(slice_make("\x0a\xff\x00", 3)) };
    struct model_entity entity = { .properties = { .count = 1, .items = &item } };
    static const char *const true_ones[] = {
        "B eq X'0aff00'", "B eq x'0AFF00'",    "B eq binary'0aff00'",
        "B gt X''",       "B gt BINARY'0aff'", "B ne X'0aff01'",
    };
    for (size_t i = 0; i < sizeof(true_ones) / sizeof(true_ones[0]); i++)
        assert_true(filter_matches(parsed(slice_of(true_ones[i])), model_lookup, &entity));
}

static void an_instant_before_the_first_is_before_all(void **state)
{
    (void)state;
    struct edm_property item = { slice_of("When"), edm_datetime(0) };
    struct model_entity entity = { .properties = { .count = 1, .items = &item } };
    static const char *const true_ones[] = {
        "When gt datetime'0001-01-01T00:00:00Z'",
        "When gt datetime'1600-12-31T23:59:59.9999999Z'",
        "When eq datetime'1601-01-01T00:00:00Z'",
        "not (When le datetime'0001-01-01T00:00:00Z')",
    };
    for (size_t i = 0; i < sizeof(true_ones) / sizeof(true_ones[0]); i++)
        assert_true(filter_matches(parsed(slice_of(true_ones[i])), model_lookup, &entity));
}

static void an_absent_property_is_in_no_relation(void **state)
{
    (void)state;
    static const char *const ops[] = { "eq", "ne", "gt", "ge", "lt", "le" };
    for (size_t i = 0; i < 6; i++) {
        char text[64];
        snprintf(text, sizeof(text), "Absent %s ''", ops[i]);
        assert_false(holds(text));
        snprintf(text, sizeof(text), "not (Absent %s '')", ops[i]);
        assert_true(holds(text));
    }
    assert_false(holds("Absent"));
    assert_true(holds("not Absent"));
}

static void a_value_of_another_type_is_in_no_relation(void **state)
{
    (void)state;
    assert_false(holds("Int eq '5'"));
    assert_false(holds("Int ne '5'"));
    assert_false(holds("PartitionKey ne 5"));
    assert_false(holds("Yes ne 'false'"));
    assert_false(holds("When ne '2013-08-22T01:12:06.26Z'"));
    assert_false(holds("Guid ne 'c9da6455-213d-42c9-9a79-3e9149a57833'"));
}

static void not_binds_before_and_and_and_before_or(void **state)
{
    (void)state;
    assert_true(holds("Yes or Yes and No"));
    assert_false(holds("(Yes or Yes) and No"));
    assert_true(holds("No and No or Yes"));
    assert_false(holds("No and (No or Yes)"));
    assert_true(holds("not No or Yes"));
    assert_false(holds("not (No or Yes)"));
    assert_true(holds("not No and Yes"));
    assert_false(holds("not (Yes and Yes)"));
    assert_true(holds("not Int eq 6 and Yes"));
    assert_true(holds("not not Yes"));
    assert_false(holds("not not not Yes"));
    assert_true(holds("not not Yes and not (not (not No))"));
    assert_true(holds("not not Int eq 5 and not No"));
    assert_true(holds("(not (not (Yes)) and not (not (Int eq 5)))"));
}

static void parentheses_and_space_are_free(void **state)
{
    (void)state;
    assert_true(holds("(Int)eq(5)"));
    assert_true(holds("((5))eq((Int))and(((Yes)))"));
    assert_true(holds("not(Int eq 6)and(Yes)"));
    assert_true(holds("  \t Int\n eq \r 5  "));
    assert_true(holds("PartitionKey eq'it''s'and Yes"));
    assert_true(holds("Int eq 5and Yes"));
}

static void the_words_of_operators_may_be_names(void **state)
{
    (void)state;
    struct edm_property items[] = {
        { slice_of("eq"), edm_int32(5) },
        { slice_of("datetime"), edm_int32(6) },
        { slice_of("\xc3\xa9t\xc3\xa9_1"), edm_boolean(true) },
    };
    struct model_entity entity = { .properties = { .count = 3, .items = items } };
    static const char *const true_ones[] = {
        "eq eq 5",
        "5 eq eq and datetime eq 6",
        "\xc3\xa9t\xc3\xa9_1",
    };
    for (size_t i = 0; i < sizeof(true_ones) / sizeof(true_ones[0]); i++)
        assert_true(filter_matches(parsed(slice_of(true_ones[i])), model_lookup, &entity));
}

static void an_empty_filter_holds_for_everything(void **state)
{
    (void)state;
    assert_true(holds(""));
    assert_true(holds("  "));
    assert_true(filter_matches(parsed((struct slice){ 0 }), model_lookup, NULL));
}

/* --- mistakes --- */

static void check_refused(const char *text, const char *sentence)
{
    const struct filter *filter;
    struct slice message = { 0 };
    assert_int_equal(filter_parse(&arena, slice_of(text), &filter, &message), ERR_INVALID_INPUT);
    char wanted[512];
    /* The sentences end with the text in quotes where they end with " in". */
    const size_t len = strlen(sentence);
    if (len > 3 && strcmp(sentence + len - 3, " in") == 0)
        snprintf(wanted, sizeof(wanted), "%s '%s'.", sentence, text);
    else
        snprintf(wanted, sizeof(wanted), "%s", sentence);
    if (!slice_is(message, wanted))
        fail_msg("%s\nis answered: %.*s\ninstead of:  %s", text, (int)message.len, message.data,
                 wanted);
}

static void a_mistake_is_answered_with_its_position(void **state)
{
    (void)state;
    static const char *const operands = "One of the request inputs is not valid.";
    static const char *const boolean =
        "The $filter expression must evaluate to a single boolean value.";
    static const struct {
        const char *text;
        const char *sentence;
    } cases[] = {
        { "aaa bbb ccc", "Syntax error at position 7 in" }, /* recorded */
        { "A eq 1 B", "Syntax error at position 8 in" },
        { "A eq 1 1", "Syntax error at position 8 in" },
        { "A EQ 1", "Syntax error at position 4 in" },
        { "A eq 1 AND B eq 2", "Syntax error at position 10 in" },
        { "A add 1 eq 2", "Syntax error at position 5 in" },
        { "A)", "Syntax error at position 2 in" },
        { "A eq 1)", "Syntax error at position 7 in" },
        { "A eq 1 , B", "Syntax error at position 8 in" },
        { "A/B eq 1", "Syntax error at position 2 in" },
        { "A.B eq 1", "Syntax error at position 2 in" },
        { "A eq 1 not", "Syntax error at position 10 in" },
        { "12abc eq 1", "Syntax error at position 5 in" },
        { "A eq 12L5", "Syntax error at position 9 in" },
        { "'a''b' 'c'", "Syntax error at position 10 in" },
        { "A eq datetimeoffset'2013-08-22'", "Syntax error at position 31 in" },
        { "\xc3\xa9 eq '\xf0\x9f\x99\x82' x", "Syntax error at position 11 in" },
        { "A eq", "Expression expected at position 4 in" },
        { "A eq  ", "Expression expected at position 6 in" },
        { "A eq eq 1", "Syntax error at position 9 in" },
        { "and A", "Syntax error at position 5 in" },
        { "not", "Expression expected at position 3 in" },
        { "A and", "Expression expected at position 5 in" },
        { "()", "Expression expected at position 1 in" },
        { "(", "Expression expected at position 1 in" },
        { ")", "Expression expected at position 0 in" },
        { "A eq )", "Expression expected at position 5 in" },
        { "A eq .5", "Expression expected at position 5 in" },
        { "A eq -B", "Expression expected at position 5 in" },
        { "A eq -INFx", "Expression expected at position 5 in" },
        { "A eq +5", "Syntax error: character '+' is not valid at position 5 in" },
        { "A eq \"x\"", "Syntax error: character '\"' is not valid at position 5 in" },
        { "A & B", "Syntax error: character '&' is not valid at position 2 in" },
        { "(A eq 1", "')' or operator expected at position 7 in" },
        { "((A eq 1) ", "')' or operator expected at position 10 in" },
        { "(A B)", "')' or operator expected at position 3 in" },
        { "(A eq 1 or (B)", "')' or operator expected at position 14 in" },
        { "A eq 'x", "There is an unterminated string literal at position 7 in" },
        { "A eq 'x''", "There is an unterminated string literal at position 9 in" },
        { "A eq '", "There is an unterminated string literal at position 6 in" },
        { "A eq guid'x", "There is an unterminated literal at position 11 in" },
        { "A eq X'", "There is an unterminated literal at position 7 in" },
        { "A eq 1.", "A digit was expected at position 7 in" },
        { "A eq 1.x", "A digit was expected at position 7 in" },
        { "A eq 1e", "A digit was expected at position 7 in" },
        { "A eq 1e+", "A digit was expected at position 8 in" },
        { "A eq 9223372036854775808",
          "Unrecognized 'Edm.Int32' literal '9223372036854775808' at '5' in" },
        { "A eq -9223372036854775809L",
          "Unrecognized 'Edm.Int64' literal '-9223372036854775809L' at '5' in" },
        { "A eq 1.5L", "Unrecognized 'Edm.Int64' literal '1.5L' at '5' in" },
        { "A eq 1e999", "Unrecognized 'Edm.Double' literal '1e999' at '5' in" },
        { "A eq datetime'now'", "Unrecognized 'Edm.DateTime' literal 'datetime'now'' at '5' in" },
        { "A eq datetime''", "Unrecognized 'Edm.DateTime' literal 'datetime''' at '5' in" },
        { "A eq guid'1234'", "Unrecognized 'Edm.Guid' literal 'guid'1234'' at '5' in" },
        { "A eq X'abc'", "Unrecognized 'Edm.Binary' literal 'X'abc'' at '5' in" },
        { "A eq X'ag'", "Unrecognized 'Edm.Binary' literal 'X'ag'' at '5' in" },
        { "A eq B and (C D", "')' or operator expected at position 14 in" },
        { "'x' and A eq", "Expression expected at position 12 in" },
        { "A eq null", operands }, /* seen of the service */
        { "null ne A", operands },
        { "A eq B", operands },
        { "(A eq 1) eq true", operands },
        { "A eq 1 eq 1", operands },
        { "A eq not B", operands },
        { "5", boolean },
        { "'x' and A", boolean },
        { "A or null", boolean },
        { "not 5", boolean },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused(cases[i].text, cases[i].sentence);
}

static void a_nul_byte_is_no_end_of_the_text(void **state)
{
    (void)state;
    const struct filter *filter;
    struct slice message;
    static const char text[] = "Yes\0or No";
    assert_int_equal(filter_parse(&arena, slice_make(text, sizeof(text) - 1), &filter, &message),
                     ERR_INVALID_INPUT);
    static const char quoted[] = "A eq 'x\0y'";
    struct edm_property item = { slice_of("A"), edm_string(slice_make("x\0y", 3)) };
    struct model_entity entity = { .properties = { .count = 1, .items = &item } };
    assert_true(
        filter_matches(parsed(slice_make(quoted, sizeof(quoted) - 1)), model_lookup, &entity));
}

static void functions_are_not_implemented(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "startswith(A,'x')",
        "substringof('x', A) eq true",
        "A eq tolower (B)",
        "Yes and length(A) gt 5",
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const struct filter *filter;
        struct slice message;
        assert_int_equal(filter_parse(&arena, slice_of(calls[i]), &filter, &message),
                         ERR_NOT_IMPLEMENTED);
        assert_true(message.len > 0);
    }
}

/* --- limits --- */

static struct slice repeated(const char *piece, size_t count, const char *end)
{
    struct strbuf text;
    strbuf_init(&text, &arena);
    for (size_t i = 0; i < count; i++)
        strbuf_add_text(&text, piece);
    strbuf_add_text(&text, end);
    return arena_copy(&arena, strbuf_slice(&text));
}

static struct slice nested(size_t depth)
{
    return arena_printf(&arena, "%s%s", repeated("(", depth, "Yes").data,
                        repeated(")", depth, "").data);
}

static void check_too_deep(struct slice text)
{
    const struct filter *filter;
    struct slice message;
    assert_int_equal(filter_parse(&arena, text, &filter, &message), ERR_INVALID_INPUT);
    assert_true(slice_is(message, "Recursion depth exceeded allowed limit."));
}

static void nesting_is_limited(void **state)
{
    (void)state;
    assert_true(holds(nested(LIMIT_FILTER_DEPTH).data));
    check_too_deep(nested(LIMIT_FILTER_DEPTH + 1));
    assert_true(holds(repeated("not ", LIMIT_FILTER_DEPTH, "Yes").data));
    check_too_deep(repeated("not ", LIMIT_FILTER_DEPTH + 1, "Yes"));
    /* What is closed does not count any more. */
    assert_true(holds(repeated("((((Yes)))) and not not (not No) and ", 250, "Yes").data));
}

static void a_hundred_thousand_parentheses_are_refused(void **state)
{
    (void)state;
    check_too_deep(nested(100000));
    check_too_deep(repeated("(", 100000, ""));
    check_too_deep(repeated("not ", 100000, "Yes"));
    check_too_deep(repeated("not(", 100000, "Yes"));
    check_too_deep(repeated("A or (", 100000, "Yes"));
    check_refused(repeated(")", 200, "").data, "Expression expected at position 0 in");
}

static void comparisons_are_limited(void **state)
{
    (void)state;
    assert_true(holds(repeated("Int eq 6 or ", LIMIT_FILTER_COMPARISONS - 1, "Int eq 5").data));
    assert_true(holds(repeated("Yes and ", LIMIT_FILTER_COMPARISONS - 1, "Yes").data));
    const char *sentence =
        arena_printf(&arena, "The filter has more than %d comparisons.", LIMIT_FILTER_COMPARISONS)
            .data;
    check_refused(repeated("Int eq 6 or ", LIMIT_FILTER_COMPARISONS, "Int eq 5").data, sentence);
    check_refused(repeated("Yes and ", LIMIT_FILTER_COMPARISONS, "Yes").data, sentence);
}

/* As the .NET library combines conditions: (((a) or (b)) or (c)) and so on. */
static void a_hundred_conditions_combined_pairwise_are_taken(void **state)
{
    (void)state;
    struct slice text = slice_of("(Int eq 0) and (Double eq 0.5)");
    for (int i = 1; i <= 100; i++) {
        text = arena_printf(&arena, "(%s) or ((Int eq %d) and (Double eq 0.5))", text.data, i);
    }
    assert_true(holds(arena_printf(&arena, "(Yes) and (%s)", text.data).data));
}

static int64_t parse_cost_ns(struct slice text)
{
    int64_t least = INT64_MAX;
    for (int run = 0; run < 5; run++) {
        struct timespec before;
        struct timespec after;
        struct arena own = { 0 };
        const struct filter *filter;
        struct slice message;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        (void)!filter_parse(&own, text, &filter, &message);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        arena_release(&own);
        const int64_t cost =
            (after.tv_sec - before.tv_sec) * INT64_C(1000000000) + after.tv_nsec - before.tv_nsec;
        least = cost < least ? cost : least;
    }
    return least;
}

static void the_cost_grows_with_the_text_and_no_faster(void **state)
{
    (void)state;
    static const struct {
        const char *piece;
        const char *end;
    } shapes[] = {
        { "x", " eq 1" }, { " ", "A eq 1" }, { "1", "" },        { "''", "'" },
        { "(", "" },      { "not ", "A" },   { "A or ", "A" },   { "A eq 'abcdefgh' and ", "A" },
        { "- ", "" },     { "X'00' ", "" },  { "\xc3\xa9", "" }, { "A (", "" },
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const size_t piece_len = strlen(shapes[i].piece);
        const struct slice small = repeated(shapes[i].piece, 32 * 1024 / piece_len, shapes[i].end);
        const struct slice large =
            repeated(shapes[i].piece, 16 * 32 * 1024 / piece_len, shapes[i].end);
        /* Sixteen times the text; in quadratic time it would be 256 times the cost. */
        const int64_t small_ns = parse_cost_ns(small) + 20000;
        const int64_t large_ns = parse_cost_ns(large);
        if (large_ns > 80 * small_ns)
            fail_msg("'%s': %" PRId64 " ns, and 16 times of it %" PRId64 " ns", shapes[i].piece,
                     small_ns, large_ns);
    }
}

/* --- random ones --- */

static void random_expressions_say_what_the_model_says(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    size_t matches = 0;
    size_t evaluations = 0;
    for (size_t round = 0; round < 3000; round++) {
        struct model_node *model = model_expression(&arena, &random, MODEL_ANY_PROPERTY,
                                                    1 + random_below(&random, round % 20 + 1));
        const struct slice text = model_text(&arena, &random, model);
        const struct filter *filter = parsed(text);
        for (int i = 0; i < 20; i++) {
            struct model_entity entity;
            model_entity_fill(&entity, &random, model_key(&random), model_key(&random));
            const bool expected = model_holds(&arena, model, &entity);
            if (filter_matches(filter, model_lookup, &entity) != expected)
                fail_msg("%.*s: the model says %s", (int)text.len, text.data,
                         expected ? "true" : "false");
            matches += expected;
            evaluations++;
        }
        arena_clear(&arena);
    }
    /* A test of filters that never hold, or always do, would be none. */
    assert_in_range(matches, evaluations / 5, evaluations * 4 / 5);
}

static void damaged_filters_are_parsed_or_refused(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    size_t refusals = 0;
    for (int round = 0; round < 20000; round++) {
        const struct slice text = model_text(
            &arena, &random,
            model_expression(&arena, &random, MODEL_ANY_PROPERTY, 1 + random_below(&random, 4)));
        size_t len;
        char *damaged = random_damage(&random, text, &len);
        const struct filter *filter;
        struct slice message = { 0 };
        const enum err err = filter_parse(&arena, slice_make(damaged, len), &filter, &message);
        if (err == OK) {
            struct model_entity entity;
            model_entity_fill(&entity, &random, model_key(&random), model_key(&random));
            (void)filter_matches(filter, model_lookup, &entity);
        } else {
            assert_true(err == ERR_INVALID_INPUT || err == ERR_NOT_IMPLEMENTED);
            assert_true(message.len > 0);
            refusals++;
        }
        free(damaged);
        arena_clear(&arena);
    }
    assert_true(refusals > 5000);
}

struct counting_entity {
    size_t lookups;
};

static bool count_lookup(void *arg, struct slice name, struct edm_value *value)
{
    struct counting_entity *entity = arg;
    entity->lookups++;
    *value = edm_boolean(name.data[0] == 'Y');
    return true;
}

static void the_evaluator_stops_when_the_answer_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t lookups;
    } cases[] = {
        { "Y or Y or Y", 1 },
        { "N and N and N", 1 },
        { "(Y or Y) and (N and Y)", 2 },
        { "not (Y or Y) or Y", 2 },
        { "not (N and N) and Y", 2 },
        { "N or N or Y", 3 },
        { "N and Y or N and Y", 2 },
        { "not (Y and not N) or N", 3 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct counting_entity entity = { 0 };
        (void)filter_matches(parsed(slice_of(cases[i].text)), count_lookup, &entity);
        assert_int_equal(entity.lookups, cases[i].lookups);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_type_has_its_literals, clear_arena),
        cmocka_unit_test_teardown(binaries_are_written_in_hexadecimal, clear_arena),
        cmocka_unit_test_teardown(an_instant_before_the_first_is_before_all, clear_arena),
        cmocka_unit_test_teardown(an_absent_property_is_in_no_relation, clear_arena),
        cmocka_unit_test_teardown(a_value_of_another_type_is_in_no_relation, clear_arena),
        cmocka_unit_test_teardown(not_binds_before_and_and_and_before_or, clear_arena),
        cmocka_unit_test_teardown(parentheses_and_space_are_free, clear_arena),
        cmocka_unit_test_teardown(the_words_of_operators_may_be_names, clear_arena),
        cmocka_unit_test_teardown(an_empty_filter_holds_for_everything, clear_arena),
        cmocka_unit_test_teardown(a_mistake_is_answered_with_its_position, clear_arena),
        cmocka_unit_test_teardown(a_nul_byte_is_no_end_of_the_text, clear_arena),
        cmocka_unit_test_teardown(functions_are_not_implemented, clear_arena),
        cmocka_unit_test_teardown(nesting_is_limited, clear_arena),
        cmocka_unit_test_teardown(a_hundred_thousand_parentheses_are_refused, clear_arena),
        cmocka_unit_test_teardown(comparisons_are_limited, clear_arena),
        cmocka_unit_test_teardown(a_hundred_conditions_combined_pairwise_are_taken, clear_arena),
        cmocka_unit_test_teardown(the_cost_grows_with_the_text_and_no_faster, clear_arena),
        cmocka_unit_test_teardown(random_expressions_say_what_the_model_says, clear_arena),
        cmocka_unit_test_teardown(damaged_filters_are_parsed_or_refused, clear_arena),
        cmocka_unit_test_teardown(the_evaluator_stops_when_the_answer_is_known, clear_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
