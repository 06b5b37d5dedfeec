/*
 * test_cors.c - which origins, methods and headers a service's rules allow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "frontend/http/cors.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct cors_rule rule_of(const char *origins, const char *methods)
{
    return (struct cors_rule){ .origins = slice_of(origins), .methods = slice_of(methods) };
}

static void assert_origin(const char *origins, const char *origin, bool allowed)
{
    const struct cors_rules rules = { .count = 1, .rules = { rule_of(origins, "GET") } };
    const struct cors_rule *found = cors_find(&rules, slice_of(origin), slice_of("GET"));
    if ((found != NULL) != allowed)
        print_message("%s, %s\n", origins, origin);
    assert_int_equal(found != NULL, allowed);
}

static void an_origin_is_the_very_one_or_fits_a_star(void **state)
{
    (void)state;
    assert_origin("*", "http://a.example", true);
    assert_origin("*", "null", true);
    assert_origin("http://a.example", "http://a.example", true);
    assert_origin("http://a.example", "HTTP://a.example", false);
    assert_origin("http://a.example", "http://a.example:80", false);
    assert_origin("http://a.example", "http://a.exampl", false);
    assert_origin("http://a.example", "https://a.example", false);
    assert_origin("http://a.example , http://b.example", "http://b.example", true);
    assert_origin("http://a.example,,http://b.example,", "http://b.example", true);
    assert_origin("http://*.a.example", "http://x.a.example", true);
    assert_origin("http://*.a.example", "http://x.y.a.example", true);
    assert_origin("http://*.a.example", "http://.a.example", false);
    assert_origin("http://*.a.example", "http://a.example", false);
    assert_origin("http://*.a.example", "https://x.a.example", false);
    assert_origin("http://*.a.example", "http://x.a.example.evil", false);
    assert_origin("http://*.a.example", "http://xa.example", false);
    assert_origin("http://*", "http://a.example", false);
    assert_origin("", "http://a.example", false);
}

static void methods_are_a_list(void **state)
{
    (void)state;
    const struct cors_rules rules = { .count = 1, .rules = { rule_of("*", "GET, put") } };
    assert_non_null(cors_find(&rules, slice_of("o"), slice_of("GET")));
    assert_non_null(cors_find(&rules, slice_of("o"), slice_of("PUT")));
    assert_null(cors_find(&rules, slice_of("o"), slice_of("PU")));
    assert_null(cors_find(&rules, slice_of("o"), slice_of("DELETE")));
    assert_null(cors_find(&rules, slice_of("o"), slice_of("")));
}

static void the_first_rule_that_fits_decides(void **state)
{
    (void)state;
    const struct cors_rules rules = {
        .count = 3,
        .rules = { rule_of("http://a", "PUT"), rule_of("http://a", "GET"), rule_of("*", "GET") },
    };
    assert_ptr_equal(cors_find(&rules, slice_of("http://a"), slice_of("GET")), &rules.rules[1]);
    assert_ptr_equal(cors_find(&rules, slice_of("http://b"), slice_of("GET")), &rules.rules[2]);
    assert_null(cors_find(&rules, slice_of("http://b"), slice_of("PUT")));
}

static void every_wanted_header_must_be_allowed(void **state)
{
    (void)state;
    const struct cors_rule rule = { .allowed_headers = slice_of("x-ms-meta-data*, Accept") };
    const struct cors_rule any = { .allowed_headers = slice_of("*") };
    const struct cors_rule none = { 0 };
    assert_true(cors_allows_headers(&rule, slice_of("")));
    assert_true(cors_allows_headers(&rule, slice_of("accept")));
    assert_true(cors_allows_headers(&rule, slice_of("X-MS-Meta-Data, X-ms-meta-data-b ,accept")));
    assert_false(cors_allows_headers(&rule, slice_of("x-ms-meta-dat")));
    assert_false(cors_allows_headers(&rule, slice_of("accept, x-other")));
    assert_false(cors_allows_headers(&rule, slice_of("accept-language")));
    assert_true(cors_allows_headers(&any, slice_of("anything, at-all")));
    assert_true(cors_allows_headers(&none, slice_of("")));
    assert_true(cors_allows_headers(&none, slice_of(", ,")));
    assert_false(cors_allows_headers(&none, slice_of("accept")));
}

/* --- the headers of an answer --- */

static const char *header_of(const struct http_response *response, const char *name)
{
    for (size_t i = 0; i < response->header_count; i++)
        if (strcmp(response->headers[i].name.data, name) == 0)
            return response->headers[i].value.data;
    return "none";
}

static void assert_answer(const struct cors_rules *rules, bool is_read, const char *origin,
                          const char *credentials, const char *exposed, const char *vary)
{
    struct http_response response;
    const struct slice from = slice_of("http://a");
    http_response_init(&response, &arena, 200);
    cors_add_headers(&response, rules, cors_find(rules, from, slice_of("GET")), from, is_read);
    assert_string_equal(header_of(&response, "Access-Control-Allow-Origin"), origin);
    assert_string_equal(header_of(&response, "Access-Control-Allow-Credentials"), credentials);
    assert_string_equal(header_of(&response, "Access-Control-Expose-Headers"), exposed);
    assert_string_equal(header_of(&response, "Vary"), vary);
}

static void without_rules_an_answer_says_nothing(void **state)
{
    (void)state;
    const struct cors_rules rules = { 0 };
    assert_answer(&rules, true, "none", "none", "none", "none");
}

static void without_a_rule_that_fits_a_read_varies_all_the_same(void **state)
{
    (void)state;
    const struct cors_rules rules = { .count = 1, .rules = { rule_of("http://b", "GET") } };
    assert_answer(&rules, true, "none", "none", "none", "Origin");
    assert_answer(&rules, false, "none", "none", "none", "none");
}

static void an_exact_origin_is_named_and_trusted_with_credentials(void **state)
{
    (void)state;
    struct cors_rules rules = { .count = 1, .rules = { rule_of("http://b,http://a", "GET") } };
    rules.rules[0].exposed_headers = slice_of("x-ms-*");
    assert_answer(&rules, true, "http://a", "true", "x-ms-*", "Origin");
    assert_answer(&rules, false, "http://a", "true", "x-ms-*", "none");
}

static void every_origin_is_a_star_without_credentials(void **state)
{
    (void)state;
    const struct cors_rules rules = { .count = 1, .rules = { rule_of("http://a, *", "GET") } };
    assert_true(cors_allows_every_origin(&rules.rules[0]));
    assert_answer(&rules, true, "*", "none", "none", "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_origin_is_the_very_one_or_fits_a_star),
        cmocka_unit_test(methods_are_a_list),
        cmocka_unit_test(the_first_rule_that_fits_decides),
        cmocka_unit_test(every_wanted_header_must_be_allowed),
        cmocka_unit_test_teardown(without_rules_an_answer_says_nothing, clear),
        cmocka_unit_test_teardown(without_a_rule_that_fits_a_read_varies_all_the_same, clear),
        cmocka_unit_test_teardown(an_exact_origin_is_named_and_trusted_with_credentials, clear),
        cmocka_unit_test_teardown(every_origin_is_a_star_without_credentials, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
