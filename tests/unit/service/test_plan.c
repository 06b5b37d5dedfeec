/*
 * test_plan.c - key ranges from filters: the ranges of the usual queries, what random filters match
 * is in the ranges, the ranges are in order in stored keys, the bounds on their number and on the
 * work, and windows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "filter_model.h"
#include "service/limits.h"
#include "service/table/plan.h"

static struct arena arena;

static int clear_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct plan plan_of(struct slice text)
{
    const struct filter *filter;
    struct slice message = { 0 };
    const enum err err = filter_parse(&arena, text, &filter, &message);
    if (err != OK)
        print_error("%.*s\n", (int)message.len, message.data);
    assert_int_equal(err, OK);
    struct plan plan;
    plan_build(&arena, filter, &plan);
    return plan;
}

static struct plan plan_of_text(const char *text)
{
    return plan_of(slice_of(text));
}

/* --- what the usual queries cost --- */

/* <pk/rk and >pk/rk for before and behind a key, >pk for behind a partition, $ for the end. */
static void print_bound(struct strbuf *text, const struct plan_bound *bound)
{
    const struct slice pk = bound->pk;
    const struct slice rk = bound->rk;
    switch (bound->edge) {
    case PLAN_BEFORE:
        strbuf_printf(text, "<%.*s/%.*s", (int)pk.len, pk.data, (int)rk.len, rk.data);
        break;
    case PLAN_AFTER:
        strbuf_printf(text, ">%.*s/%.*s", (int)pk.len, pk.data, (int)rk.len, rk.data);
        break;
    case PLAN_PARTITION_END:
        strbuf_printf(text, ">%.*s", (int)pk.len, pk.data);
        break;
    case PLAN_TABLE_END:
        strbuf_add_text(text, "$");
        break;
    }
}

static const char *printed(const struct plan *plan)
{
    struct strbuf text;
    strbuf_init(&text, &arena);
    for (size_t i = 0; i < plan->count; i++) {
        strbuf_add_text(&text, i > 0 ? ", " : "");
        print_bound(&text, &plan->ranges[i].from);
        strbuf_add_text(&text, " ");
        print_bound(&text, &plan->ranges[i].to);
    }
    return arena_copy(&arena, strbuf_slice(&text)).data;
}

#define P "PartitionKey"
#define R "RowKey"

static void the_usual_queries_look_at_what_they_ask_for(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *ranges;
    } cases[] = {
        { "", "</ $" },
        { "A eq 1", "</ $" },
        { P " eq 'p'", "<p/ >p" },
        { P " eq ''", "</ >" },
        { P " eq 'p' and " R " eq 'r'", "<p/r >p/r" },
        { "'r' eq " R " and 'p' eq " P, "<p/r >p/r" },
        { "((" P " eq 'p') and (" R " eq 'r')) and A eq 1", "<p/r >p/r" },
        { P " eq 'p' and " R " ge 'a' and " R " lt 'b'", "<p/a <p/b" },
        { P " eq 'p' and " R " gt 'a' and " R " le 'b'", ">p/a >p/b" },
        { P " eq 'p' and " R " gt 'a'", ">p/a >p" },
        { P " eq 'p' and " R " lt 'b'", "<p/ <p/b" },
        { P " eq 'p' and " R " ne 'b'", "<p/ <p/b, >p/b >p" },
        { P " eq 'p' and " R " ne ''", ">p/ >p" },
        { P " ge 'a' and " P " lt 'b'", "<a/ <b/" },
        { P " gt 'a' and " P " le 'b'", ">a >b" },
        { P " gt 'a'", ">a $" },
        { P " ne 'a'", "</ <a/, >a $" },
        { P " lt ''", "" },
        { P " ge 'a' and " P " le 'b' and " R " ge 'x'", "<a/x >b" },
        { P " ge 'a' and " P " le 'b' and " R " le 'x'", "<a/ >b/x" },
        { P " gt 'a' and " P " lt 'b' and " R " eq 'x'", ">a <b/" },
        { R " eq 'r'", "</r $" },
        { P " eq 'a' or " P " eq 'c' or " P " eq 'b'", "<a/ >a, <b/ >b, <c/ >c" },
        { P " eq 'a' or " P " gt 'a'", "<a/ $" },
        { P " eq 'a' or " P " ge 'aa'", "<a/ >a, <aa/ $" },
        { P " eq 'p' and (" R " eq '2' or " R " eq '1' or " R " eq '2')", "<p/1 >p/1, <p/2 >p/2" },
        { P " eq 'p' and (" R " lt '2' or " R " ge '2')", "<p/ >p" },
        { "(" P " eq 'a' and " R " eq '1') or (" P " eq 'b' and " R " eq '2')",
          "<a/1 >a/1, <b/2 >b/2" },
        { "(" P " eq 'a' or " P " eq 'b') and (" R " eq '1' or " R " eq '2')",
          "<a/1 >a/1, <a/2 >a/2, <b/1 >b/1, <b/2 >b/2" },
        { P " eq 'a' or A eq 1", "</ $" },
        { P " eq 'a' and (A eq 1 or B eq 2)", "<a/ >a" },
        { P " eq 'a' and not (A eq 1 and B eq 2)", "<a/ >a" },
        { "not " P " eq 'a'", "</ <a/, >a $" },
        { "not (" P " lt 'b')", "<b/ $" },
        { "not (" P " ne 'a' or " R " ne '1')", "<a/1 >a/1" },
        { "not (not (" P " eq 'a'))", "<a/ >a" },
        { "not (" P " eq 'a' and A eq 1)", "</ $" },
        { "not (" P " ne 'a' or A eq 1)", "<a/ >a" },
        { P " eq 'a' and " P " eq 'b'", "" },
        { P " eq 'a' and " R " gt 'b' and " R " lt 'b'", "" },
        { P " eq 5", "" },
        { P " ne 5", "" },
        { "not (" P " eq 5)", "</ $" },
        { P, "" },
        { "not " P, "</ $" },
        { "false", "" },
        { "not true or " P " eq 'a'", "<a/ >a" },
        { P " eq 'a' and true", "<a/ >a" },
        { "1 eq 2", "" },
        { "partitionkey eq 'a'", "</ $" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct plan plan = plan_of_text(cases[i].text);
        if (strcmp(printed(&plan), cases[i].ranges) != 0)
            fail_msg("%s\nis planned: %s\ninstead of: %s", cases[i].text, printed(&plan),
                     cases[i].ranges);
    }
    struct plan plan;
    plan_build(&arena, NULL, &plan);
    assert_string_equal(printed(&plan), "</ $");
}

static void points_and_partitions_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool point;
        bool within;
    } cases[] = {
        { P " eq 'a' and " R " eq ''", true, true },
        { P " eq 'a' and " R " eq 'r'", true, true },
        { P " eq 'a' and " R " ge 'r' and " R " le 's'", false, true },
        { P " eq 'a'", false, true },
        { P " ge 'a' and " P " le 'b' and " R " eq 'r'", false, false },
        { P " gt 'a' and " P " lt 'b'", false, false },
        { "", false, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct plan plan = plan_of_text(cases[i].text);
        assert_int_equal(plan.count, 1);
        assert_int_equal(plan_range_is_point(&plan.ranges[0]), cases[i].point);
        assert_int_equal(plan_range_is_within_partition(&plan.ranges[0]), cases[i].within);
    }
}

/* --- stored keys --- */

/* As plan.h writes them. */
static struct slice stored_bound(const struct plan_bound *bound)
{
    struct strbuf key;
    strbuf_init(&key, &arena);
    if (bound->edge == PLAN_TABLE_END) {
        strbuf_add_byte(&key, '\xff'); /* no UTF-8 has it */
        return strbuf_slice(&key);
    }
    strbuf_add(&key, bound->pk);
    if (bound->edge == PLAN_PARTITION_END) {
        strbuf_add_byte(&key, '\1');
        return strbuf_slice(&key);
    }
    strbuf_add_byte(&key, '\0');
    strbuf_add(&key, bound->rk);
    if (bound->edge == PLAN_AFTER)
        strbuf_add_byte(&key, '\0');
    return strbuf_slice(&key);
}

static bool is_covered(const struct plan *plan, struct slice pk, struct slice rk)
{
    const struct slice key =
        stored_bound(&(struct plan_bound){ .edge = PLAN_BEFORE, .pk = pk, .rk = rk });
    for (size_t i = 0; i < plan->count; i++) {
        if (slice_compare(stored_bound(&plan->ranges[i].from), key) <= 0 &&
            slice_compare(key, stored_bound(&plan->ranges[i].to)) < 0)
            return true;
    }
    return false;
}

static void check_ordered_and_disjoint(const struct plan *plan)
{
    assert_true(plan->count <= LIMIT_PLAN_RANGES);
    struct slice last = { 0 };
    for (size_t i = 0; i < plan->count; i++) {
        const struct slice from = stored_bound(&plan->ranges[i].from);
        const struct slice to = stored_bound(&plan->ranges[i].to);
        assert_true(i == 0 || slice_compare(last, from) < 0);
        assert_true(slice_compare(from, to) < 0);
        last = to;
    }
}

/* --- random ones --- */

static void what_a_filter_matches_is_in_its_ranges(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    size_t matches = 0;
    size_t looked = 0;
    size_t all = 0;
    for (size_t round = 0; round < 1500; round++) {
        struct model_node *model = model_expression(&arena, &random, MODEL_MOSTLY_KEYS,
                                                    1 + random_below(&random, round % 15 + 1));
        const struct slice text = model_text(&arena, &random, model);
        const struct plan plan = plan_of(text);
        check_ordered_and_disjoint(&plan);
        for (size_t i = 0; i < MODEL_KEY_COUNT * MODEL_KEY_COUNT; i++) {
            const struct slice pk = slice_of(model_keys[i / MODEL_KEY_COUNT]);
            const struct slice rk = slice_of(model_keys[i % MODEL_KEY_COUNT]);
            struct model_entity entity;
            model_entity_fill(&entity, &random, pk, rk);
            const bool covered = is_covered(&plan, pk, rk);
            assert_int_equal(plan_contains(&plan, pk, rk), covered);
            const bool holds = model_holds(&arena, model, &entity);
            if (holds && !covered)
                fail_msg("%.*s misses %.*s/%.*s: %s", (int)text.len, text.data, (int)pk.len,
                         pk.data, (int)rk.len, rk.data, printed(&plan));
            all++;
            looked += covered;
            matches += holds;
        }
        arena_clear(&arena);
    }
    print_message("of %zu keys %zu were looked at for %zu matches\n", all, looked, matches);
    assert_true(matches > all / 10);
    /* A plan that looks at everything would pass all of the above. */
    assert_true(looked < all * 3 / 4);
}

/* One partition, and whatever can be said of row keys in it. */
static void plans_of_one_partition_are_exact(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int round = 0; round < 2000; round++) {
        struct model_node pk = {
            .type = MODEL_COMPARE_LEFT,
            .op = "eq",
            .property = slice_of(P),
            .literal = edm_string(model_key(&random)),
        };
        struct model_node root = {
            .type = MODEL_AND,
            .left = &pk,
            .right =
                model_expression(&arena, &random, MODEL_ROW_KEYS, 1 + random_below(&random, 6)),
        };
        const struct slice text = model_text(&arena, &random, &root);
        const struct plan plan = plan_of(text);
        for (size_t i = 0; i < MODEL_KEY_COUNT * MODEL_KEY_COUNT; i++) {
            struct model_entity entity;
            model_entity_fill(&entity, &random, slice_of(model_keys[i / MODEL_KEY_COUNT]),
                              slice_of(model_keys[i % MODEL_KEY_COUNT]));
            if (plan_contains(&plan, entity.items[0].value.string, entity.items[1].value.string) !=
                model_holds(&arena, &root, &entity))
                fail_msg("%.*s is not planned exactly: %s", (int)text.len, text.data,
                         printed(&plan));
        }
        arena_clear(&arena);
    }
}

static void keys_with_a_nul_are_planned_in_the_order_of_stored_keys(void **state)
{
    (void)state;
    static const char *const ops[] = { "eq", "ne", "gt", "ge", "lt", "le" };
    static const char literal[] = "a\0b";
    for (size_t op = 0; op < 6; op++) {
        struct strbuf text;
        strbuf_init(&text, &arena);
        strbuf_printf(&text, "%s %s '", P, ops[op]);
        strbuf_add(&text, slice_make(literal, 3));
        strbuf_add_text(&text, "'");
        const struct plan plan = plan_of(strbuf_slice(&text));
        check_ordered_and_disjoint(&plan);
        for (size_t i = 0; i < MODEL_KEY_COUNT * MODEL_KEY_COUNT; i++) {
            const struct slice pk = slice_of(model_keys[i / MODEL_KEY_COUNT]);
            const struct slice rk = slice_of(model_keys[i % MODEL_KEY_COUNT]);
            const int order = slice_compare(pk, slice_make(literal, 3));
            assert_int_equal(is_covered(&plan, pk, rk),
                             model_relation(ops[op], order < 0, order == 0));
        }
    }
}

/* --- bounds --- */

/* With a comparison in each, joined by `word`. */
static struct slice joined(const char *format, size_t count, const char *word)
{
    struct strbuf text;
    strbuf_init(&text, &arena);
    for (size_t i = 0; i < count; i++) {
        strbuf_add_text(&text, i > 0 ? word : "");
        for (const char *at = format; *at != '\0'; at++) {
            if (*at == '#')
                strbuf_printf(&text, "%04zu", i);
            else
                strbuf_add_byte(&text, *at);
        }
    }
    return arena_copy(&arena, strbuf_slice(&text));
}

static void a_hundred_points_are_a_hundred_ranges(void **state)
{
    (void)state;
    const struct slice points = joined("(" R " eq '#' and A eq 'x')", 100, " or ");
    const struct plan plan = plan_of(arena_printf(&arena, "(" P " eq 'p') and (%s)", points.data));
    assert_int_equal(plan.count, 100);
    for (size_t i = 0; i < plan.count; i++)
        assert_true(plan_range_is_point(&plan.ranges[i]));
}

static void too_many_points_are_merged_with_their_neighbours(void **state)
{
    (void)state;
    _Static_assert(LIMIT_FILTER_COMPARISONS > LIMIT_PLAN_RANGES, "or this cannot be tested so");
    const size_t count = LIMIT_FILTER_COMPARISONS - 1;
    const struct plan partitions = plan_of(joined(P " eq '#'", count, " or "));
    const struct plan rows = plan_of(
        arena_printf(&arena, P " eq 'p' and (%s)", joined(R " eq '#'", count, " or ").data));
    check_ordered_and_disjoint(&partitions);
    check_ordered_and_disjoint(&rows);
    assert_true(partitions.count > LIMIT_PLAN_RANGES / 4);
    assert_true(rows.count > LIMIT_PLAN_RANGES / 4);
    for (size_t i = 0; i < count; i++) {
        char key[8];
        snprintf(key, sizeof(key), "%04zu", i);
        assert_true(plan_contains(&partitions, slice_of(key), slice_of("r")));
        assert_true(plan_contains(&rows, slice_of("p"), slice_of(key)));
    }
    assert_false(plan_contains(&partitions, slice_of("/"), slice_of("")));
    assert_false(plan_contains(&partitions, slice_of("9"), slice_of("")));
    assert_false(plan_contains(&rows, slice_of("p"), slice_of("9")));
    assert_false(plan_contains(&rows, slice_of("q"), slice_of("0001")));
}

/* Filters made to have many boxes: products of sums, and sums of products of sums. */
static void a_plan_has_bounded_cost(void **state)
{
    (void)state;
    const size_t half = LIMIT_FILTER_COMPARISONS / 2;
    const size_t eighth = LIMIT_FILTER_COMPARISONS / 8;
    const struct slice sums[] = {
        joined("(" P " ne '#' or " R " ne '#')", half, " and "),
        joined("(" P " lt '#' or " R " gt '#')", half, " and "),
        joined("not (" P " eq '#' or " R " eq '#')", half, " and "),
        arena_printf(&arena, "(%s) and (%s)", joined(P " eq '#'", half, " or ").data,
                     joined(R " eq '#'", half, " or ").data),
        joined("((" P " ne '#' or " R " ne '#') and (" P " ne 'x' or " R " ne 'y'))",
               LIMIT_FILTER_COMPARISONS / 4, " or "),
        joined("(" P " ne '#' and " R " ne '#')", half, " or "),
        joined(R " ne '#'", LIMIT_FILTER_COMPARISONS, " and "),
        joined("((" P " ge '#' or " R " ge '#') and not (" P " eq '#' and " R " eq '#') and (" R
               " lt '9' or " P " lt '9'))",
               eighth, " and "),
    };
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        const struct filter *filter;
        struct slice message;
        assert_int_equal(filter_parse(&arena, sums[i], &filter, &message), OK);
        struct arena own = { 0 };
        struct timespec before;
        struct timespec after;
        struct plan plan;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        plan_build(&own, filter, &plan);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        print_message("%zu ranges, %zu KiB, %ld us\n", plan.count, arena_size_bytes(&own) / 1024,
                      (after.tv_sec - before.tv_sec) * 1000000 +
                          (after.tv_nsec - before.tv_nsec) / 1000);
        check_ordered_and_disjoint(&plan);
        assert_true(arena_size_bytes(&own) < 2 * 1024 * 1024);
        struct test_random random = { i };
        for (int key = 0; key < 2000; key++) {
            char pk[8];
            char rk[8];
            snprintf(pk, sizeof(pk), "%04zu", random_below(&random, half + 2));
            snprintf(rk, sizeof(rk), "%04zu", random_below(&random, half + 2));
            struct edm_property items[] = {
                { slice_of(P), edm_string(slice_of(pk)) },
                { slice_of(R), edm_string(slice_of(rk)) },
            };
            struct model_entity entity = { .properties = { .count = 2, .items = items } };
            if (filter_matches(filter, model_lookup, &entity))
                assert_true(plan_contains(&plan, slice_of(pk), slice_of(rk)));
        }
        arena_release(&own);
    }
}

static void what_cannot_be_intersected_keeps_the_partition(void **state)
{
    (void)state;
    /* More boxes than there may be, and one partition: that is the side to keep. */
    const struct slice partitions = joined(P " eq '#'", 200, " or ");
    const struct slice rows = joined(R " eq '#'", 200, " or ");
    const struct plan plan =
        plan_of(arena_printf(&arena, "(%s) and (%s)", rows.data, partitions.data));
    assert_int_equal(plan.count, 200);
    for (size_t i = 0; i < plan.count; i++)
        assert_true(plan_range_is_within_partition(&plan.ranges[i]));
}

/* --- windows --- */

static int compare_keys(struct slice a_pk, struct slice a_rk, struct slice b_pk, struct slice b_rk)
{
    const int order = slice_compare(a_pk, b_pk);
    return order != 0 ? order : slice_compare(a_rk, b_rk);
}

/* As the reference of a SAS has it. */
static bool model_window(const struct plan_window *window, struct slice pk, struct slice rk)
{
    if (window->first_pk != NULL) {
        const struct slice first_rk = window->first_rk != NULL ? *window->first_rk : slice_of("");
        if (compare_keys(pk, rk, *window->first_pk, first_rk) < 0)
            return false;
    }
    if (window->last_pk != NULL) {
        const struct slice last_rk = window->last_rk != NULL ? *window->last_rk : rk;
        if (compare_keys(pk, rk, *window->last_pk, last_rk) > 0)
            return false;
    }
    return true;
}

static void a_window_restricts_a_plan_to_its_keys(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int round = 0; round < 1500; round++) {
        struct plan plan = plan_of(model_text(
            &arena, &random,
            model_expression(&arena, &random, MODEL_MOSTLY_KEYS, 1 + random_below(&random, 6))));
        const struct slice keys[4] = { model_key(&random), model_key(&random), model_key(&random),
                                       model_key(&random) };
        struct plan_window window = { 0 };
        if (random_below(&random, 3) != 0) {
            window.first_pk = &keys[0];
            window.first_rk = random_below(&random, 2) == 0 ? &keys[1] : NULL;
        }
        if (random_below(&random, 3) != 0) {
            window.last_pk = &keys[2];
            window.last_rk = random_below(&random, 2) == 0 ? &keys[3] : NULL;
        }
        bool before[MODEL_KEY_COUNT * MODEL_KEY_COUNT];
        for (size_t i = 0; i < sizeof(before); i++)
            before[i] = plan_contains(&plan, slice_of(model_keys[i / MODEL_KEY_COUNT]),
                                      slice_of(model_keys[i % MODEL_KEY_COUNT]));
        plan_restrict(&plan, &window);
        check_ordered_and_disjoint(&plan);
        for (size_t i = 0; i < sizeof(before); i++) {
            const struct slice pk = slice_of(model_keys[i / MODEL_KEY_COUNT]);
            const struct slice rk = slice_of(model_keys[i % MODEL_KEY_COUNT]);
            const bool inside = model_window(&window, pk, rk);
            assert_int_equal(plan_window_contains(&window, pk, rk), inside);
            assert_int_equal(plan_contains(&plan, pk, rk), before[i] && inside);
        }
        arena_clear(&arena);
    }
}

static void a_window_has_the_documented_edges(void **state)
{
    (void)state;
    const struct slice b = slice_of("b");
    const struct slice c = slice_of("c");
    const struct slice m = slice_of("m");
    static const struct slice with_nul = { "b\0x", 3 };
    const struct {
        struct plan_window window;
        const char *ranges;
    } cases[] = {
        { { 0 }, "</ $" },
        { { .first_pk = &b }, "<b/ $" },
        { { .first_pk = &b, .first_rk = &m }, "<b/m $" },
        { { .last_pk = &c }, "</ >c" },
        { { .last_pk = &c, .last_rk = &m }, "</ >c/m" },
        { { .first_pk = &b, .first_rk = &m, .last_pk = &b, .last_rk = &m }, "<b/m >b/m" },
        { { .first_pk = &c, .last_pk = &b }, "" },
        { { .first_rk = &m, .last_rk = &m }, "</ $" },
        { { .first_pk = &with_nul, .first_rk = &m }, ">b $" },
        { { .last_pk = &with_nul, .last_rk = &m }, "</ >b" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan plan;
        plan_build(&arena, NULL, &plan);
        plan_restrict(&plan, &cases[i].window);
        assert_string_equal(printed(&plan), cases[i].ranges);
    }
}

static void a_query_resumes_at_its_token(void **state)
{
    (void)state;
    struct plan plan = plan_of_text(P " eq 'a' and (" R " eq '1' or " R " eq '3' or " R " ge '5')");
    const struct slice pk = slice_of("a");
    const struct slice rk = slice_of("3");
    plan_restrict(&plan, &(struct plan_window){ .first_pk = &pk, .first_rk = &rk });
    assert_string_equal(printed(&plan), "<a/3 >a/3, <a/5 >a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_usual_queries_look_at_what_they_ask_for, clear_arena),
        cmocka_unit_test_teardown(points_and_partitions_are_told_apart, clear_arena),
        cmocka_unit_test_teardown(what_a_filter_matches_is_in_its_ranges, clear_arena),
        cmocka_unit_test_teardown(plans_of_one_partition_are_exact, clear_arena),
        cmocka_unit_test_teardown(keys_with_a_nul_are_planned_in_the_order_of_stored_keys,
                                  clear_arena),
        cmocka_unit_test_teardown(a_hundred_points_are_a_hundred_ranges, clear_arena),
        cmocka_unit_test_teardown(too_many_points_are_merged_with_their_neighbours, clear_arena),
        cmocka_unit_test_teardown(a_plan_has_bounded_cost, clear_arena),
        cmocka_unit_test_teardown(what_cannot_be_intersected_keeps_the_partition, clear_arena),
        cmocka_unit_test_teardown(a_window_restricts_a_plan_to_its_keys, clear_arena),
        cmocka_unit_test_teardown(a_window_has_the_documented_edges, clear_arena),
        cmocka_unit_test_teardown(a_query_resumes_at_its_token, clear_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
