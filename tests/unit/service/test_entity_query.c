/*
 * test_entity_query.c - queries: order, filters, pages that go on exactly where the last one ended,
 * and what a SAS lets be seen ("Query Entities", "Query timeout and pagination").
 */
#include "base/log.h"
#include "service/limits.h"
#include "table_fixture.h"

enum {
    RESULTS_MAX = 2048,
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* What a query gave, as "PK/RK " one after the other. */
struct answer {
    struct strbuf text;
    size_t count;
    size_t stop_after; /* 0: never */
    size_t pages;
    size_t most_in_a_page;
};

static bool note(void *arg, const struct entity *entity)
{
    struct answer *answer = arg;
    strbuf_add(&answer->text, entity->partition_key);
    strbuf_add_byte(&answer->text, '/');
    strbuf_add(&answer->text, entity->row_key);
    strbuf_add_byte(&answer->text, ' ');
    answer->count++;
    return answer->count != answer->stop_after;
}

static struct entity_query_request query_of(struct service_fixture *fixture, const char *filter,
                                            struct answer *answer)
{
    *answer = (struct answer){ 0 };
    strbuf_init(&answer->text, &fixture->arena);
    struct entity_query_request request = {
        .table = table_named("things"),
        .results_max = LIMIT_QUERY_RESULTS_MAX,
        .looked_max = LIMIT_QUERY_LOOKED_MAX,
        .emit = note,
        .arg = answer,
    };
    struct slice message;
    if (filter != NULL)
        assert_int_equal(filter_parse(&fixture->arena, slice_of(filter), &request.filter, &message),
                         OK);
    return request;
}

/* All pages of a query. */
static void run(struct service_fixture *fixture, struct entity_query_request *request,
                struct answer *answer)
{
    do {
        const size_t before = answer->count;
        struct entity_position next;
        assert_int_equal(entity_query(&fixture->service, &fixture->arena, request, &next), OK);
        assert_true(answer->pages++ < RESULTS_MAX);
        if (answer->count - before > answer->most_in_a_page)
            answer->most_in_a_page = answer->count - before;
        request->from = next;
    } while (request->from.present);
}

static void assert_gives(struct service_fixture *fixture, const char *filter, const char *expected)
{
    /* Pages of every length, by results and by what is looked at, give the same. */
    for (size_t page = 1; page <= 4; page++) {
        for (int limit = 0; limit < 2; limit++) {
            struct answer answer;
            struct entity_query_request request = query_of(fixture, filter, &answer);
            if (limit == 0)
                request.results_max = page;
            else
                request.looked_max = page;
            run(fixture, &request, &answer);
            if (!slice_is(strbuf_slice(&answer.text), expected))
                fail_msg("%s gives %.*s", filter, (int)answer.text.len, answer.text.data);
            assert_true(answer.most_in_a_page <= page);
        }
    }
}

static void entities_come_by_partition_key_then_row_key(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    assert_gives(fixture, NULL, "");
    entity_put(fixture, "b", "1", 1);
    entity_put(fixture, "a", "2", 1);
    entity_put(fixture, "ab", "", 1);
    entity_put(fixture, "a", "10", 1);
    entity_put(fixture, "", "", 1);
    entity_put(fixture, "a", "", 1);
    entity_put(fixture, "\xC3\xA9", "x", 1);
    entity_put(fixture, "B", "1", 1);
    assert_gives(fixture, NULL, "/ B/1 a/ a/10 a/2 ab/ b/1 \xC3\xA9/x ");
}

static void fill(struct service_fixture *fixture)
{
    table_make(fixture, "things");
    static const char *const keys[] = { "a", "b", "c" };
    for (size_t p = 0; p < 3; p++)
        for (int32_t r = 0; r < 4; r++)
            entity_put(fixture, keys[p], arena_printf(&fixture->arena, "%d", r).data, r);
}

static void filters_on_keys_choose_what_they_say(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    static const char *const cases[][2] = {
        { "PartitionKey eq 'b' and RowKey eq '2'", "b/2 " },
        { "PartitionKey eq 'b' and RowKey eq '9'", "" },
        { "PartitionKey eq 'b'", "b/0 b/1 b/2 b/3 " },
        { "PartitionKey eq 'b' and RowKey ge '2'", "b/2 b/3 " },
        { "PartitionKey eq 'b' and RowKey gt '0' and RowKey lt '3'", "b/1 b/2 " },
        { "PartitionKey gt 'b'", "c/0 c/1 c/2 c/3 " },
        { "PartitionKey le 'a' and RowKey le '1'", "a/0 a/1 " },
        { "RowKey eq '3'", "a/3 b/3 c/3 " },
        { "(PartitionKey eq 'c' and RowKey eq '0') or (PartitionKey eq 'a' and RowKey eq '3')",
          "a/3 c/0 " },
        { "PartitionKey eq 'c' or RowKey eq '0'", "a/0 b/0 c/0 c/1 c/2 c/3 " },
        { "not (PartitionKey eq 'b')", "a/0 a/1 a/2 a/3 c/0 c/1 c/2 c/3 " },
        { "PartitionKey eq 'b' and PartitionKey eq 'c'", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_gives(fixture, cases[i][0], cases[i][1]);
}

static void filters_on_properties_choose_what_they_say(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    static const char *const cases[][2] = {
        { "Number eq 2", "a/2 b/2 c/2 " },
        { "Number gt 2 and PartitionKey lt 'c'", "a/3 b/3 " },
        { "Missing eq 2", "" },
        { "Number eq '2'", "" },
        { "Timestamp gt datetime'2026-01-01T00:00:00Z' and RowKey eq '1'", "a/1 b/1 c/1 " },
        { "Timestamp lt datetime'2026-01-01T00:00:00Z'", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_gives(fixture, cases[i][0], cases[i][1]);
}

/* A NUL in a literal cannot be in a key, but it makes stored bounds that overlap. */
static void a_nul_in_a_literal_shows_nothing_twice(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    static const char text[] = "(PartitionKey eq 'a' and RowKey eq '3') or PartitionKey ge 'a\0"
                               "1'";
    struct answer answer;
    struct entity_query_request request = query_of(fixture, NULL, &answer);
    struct slice message;
    assert_int_equal(filter_parse(&fixture->arena, slice_make(text, sizeof(text) - 1),
                                  &request.filter, &message),
                     OK);
    run(fixture, &request, &answer);
    assert_true(slice_is(strbuf_slice(&answer.text), "a/3 b/0 b/1 b/2 b/3 c/0 c/1 c/2 c/3 "));
}

static void literals_longer_than_any_key_are_compared_all_the_same(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct strbuf literal;
    strbuf_init(&literal, &fixture->arena);
    strbuf_add_text(&literal, "b");
    for (int i = 0; i < 20000; i++)
        strbuf_add_byte(&literal, 'x');
    const char *after =
        arena_printf(&fixture->arena, "PartitionKey gt '%.*s'", (int)literal.len, literal.data)
            .data;
    assert_gives(fixture, after, "c/0 c/1 c/2 c/3 ");
    const char *before = arena_printf(&fixture->arena, "PartitionKey lt '%.*s' and RowKey eq '0'",
                                      (int)literal.len, literal.data)
                             .data;
    assert_gives(fixture, before, "a/0 b/0 ");
}

static void a_page_ends_where_the_caller_says_and_goes_on_there(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct answer answer;
    struct entity_query_request request = query_of(fixture, NULL, &answer);
    answer.stop_after = 5;
    struct entity_position next;
    assert_int_equal(entity_query(&fixture->service, &fixture->arena, &request, &next), OK);
    assert_true(slice_is(strbuf_slice(&answer.text), "a/0 a/1 a/2 a/3 b/0 "));
    assert_true(next.present);
    assert_true(slice_is(next.partition_key, "b"));
    assert_true(slice_is(next.row_key, "1"));
}

static void the_last_page_says_so(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct answer answer;
    struct entity_query_request request = query_of(fixture, NULL, &answer);
    request.results_max = 12; /* exactly as many as there are */
    struct entity_position next;
    assert_int_equal(entity_query(&fixture->service, &fixture->arena, &request, &next), OK);
    assert_int_equal(answer.count, 12);
    assert_false(next.present);
}

static void a_page_whose_time_is_over_goes_on_later(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    enum {
        ENTITIES = 300,
    };
    for (int32_t i = 0; i < ENTITIES; i++)
        entity_put(fixture, "p", arena_printf(&fixture->arena, "%03d", i).data, i);
    struct answer answer;
    struct entity_query_request request = query_of(fixture, "Number ge 0", &answer);
    request.time_us = 1; /* in a request it is LIMIT_QUERY_US */
    run(fixture, &request, &answer);
    assert_int_equal(answer.count, ENTITIES);
    assert_true(answer.pages > 1);
}

/* The next page begins at a key, not at a count. */
static void what_changes_between_pages_neither_repeats_nor_hides_the_rest(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct answer answer;
    struct entity_query_request request = query_of(fixture, NULL, &answer);
    request.results_max = 6;
    assert_int_equal(entity_query(&fixture->service, &fixture->arena, &request, &request.from), OK);
    entity_put(fixture, "a", "00", 1); /* behind the reader */
    entity_put(fixture, "c", "00", 1); /* ahead of it */
    static const char *const gone[] = { "1", "2" };
    for (size_t i = 0; i < 2; i++) {
        /* The entity the page begins with is among them. */
        const struct entity_operation delete = {
            .action = ENTITY_DELETE,
            .condition = ENTITY_IF_EXISTS,
            .partition_key = slice_of("b"),
            .row_key = slice_of(gone[i]),
        };
        assert_int_equal(entity_await_one(fixture, &delete, NULL), OK);
    }
    request.results_max = 100;
    run(fixture, &request, &answer);
    assert_true(
        slice_is(strbuf_slice(&answer.text), "a/0 a/1 a/2 a/3 b/0 b/1 b/3 c/0 c/00 c/1 c/2 c/3 "));
}

static void a_window_shows_what_is_in_it(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct slice a = slice_of("a");
    const struct slice b = slice_of("b");
    const struct slice two = slice_of("2");
    const struct {
        struct plan_window window;
        const char *filter;
        const char *expected;
    } cases[] = {
        { { .first_pk = &b }, NULL, "b/0 b/1 b/2 b/3 c/0 c/1 c/2 c/3 " },
        { { .first_pk = &b, .first_rk = &two }, NULL, "b/2 b/3 c/0 c/1 c/2 c/3 " },
        { { .last_pk = &a }, NULL, "a/0 a/1 a/2 a/3 " },
        { { .first_pk = &a, .first_rk = &two, .last_pk = &b, .last_rk = &two },
          NULL,
          "a/2 a/3 b/0 b/1 b/2 " },
        { { .first_pk = &b, .last_pk = &b }, "RowKey eq '1'", "b/1 " },
        { { .first_pk = &b, .last_pk = &b }, "PartitionKey eq 'a' and RowKey eq '1'", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t page = 1; page < 4; page++) {
            struct answer answer;
            struct entity_query_request request = query_of(fixture, cases[i].filter, &answer);
            request.window = cases[i].window;
            request.results_max = page;
            run(fixture, &request, &answer);
            assert_true(slice_is(strbuf_slice(&answer.text), cases[i].expected));
        }
    }
}

static void a_position_before_the_window_does_not_widen_it(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct slice b = slice_of("b");
    struct answer answer;
    struct entity_query_request request = query_of(fixture, NULL, &answer);
    request.window = (struct plan_window){ .first_pk = &b, .last_pk = &b };
    request.from = (struct entity_position){ .present = true, .partition_key = slice_of("a") };
    run(fixture, &request, &answer);
    assert_true(slice_is(strbuf_slice(&answer.text), "b/0 b/1 b/2 b/3 "));
}

static void without_a_table_nothing_is_queried(void **state)
{
    struct service_fixture *fixture = *state;
    struct answer answer;
    const struct entity_query_request request = query_of(fixture, NULL, &answer);
    struct entity_position next;
    assert_int_equal(entity_query(&fixture->service, &fixture->arena, &request, &next),
                     ERR_TABLE_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(entities_come_by_partition_key_then_row_key),
        ON_ALL_ENGINES(filters_on_keys_choose_what_they_say),
        ON_ALL_ENGINES(filters_on_properties_choose_what_they_say),
        ON_ALL_ENGINES(a_nul_in_a_literal_shows_nothing_twice),
        ON_ALL_ENGINES(literals_longer_than_any_key_are_compared_all_the_same),
        ON_ALL_ENGINES(a_page_ends_where_the_caller_says_and_goes_on_there),
        ON_ALL_ENGINES(the_last_page_says_so),
        ON_ALL_ENGINES(a_page_whose_time_is_over_goes_on_later),
        ON_ALL_ENGINES(what_changes_between_pages_neither_repeats_nor_hides_the_rest),
        ON_ALL_ENGINES(a_window_shows_what_is_in_it),
        ON_ALL_ENGINES(a_position_before_the_window_does_not_widen_it),
        ON_MEMORY(without_a_table_nothing_is_queried),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
