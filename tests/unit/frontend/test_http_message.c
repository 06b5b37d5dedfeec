/*
 * test_http_message.c - splitting a request target, decoding its parameters, and look-ups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "frontend/http/http_message.h"
#include "service/limits.h"

static struct arena arena;

static int release_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct http_message parsed(const char *target)
{
    struct http_message message = { 0 };
    if (http_message_parse_target(&arena, slice_of(target), &message) != OK)
        fail_msg("%s was refused", target);
    return message;
}

static void assert_slice(struct slice got, const char *expected)
{
    if (!slice_is(got, expected))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)got.len, got.data, expected);
}

static void assert_parameter(const struct http_message *message, size_t index, const char *name,
                             const char *value)
{
    assert_true(index < message->parameter_count);
    assert_slice(message->parameters[index].name, name);
    assert_slice(message->parameters[index].value, value);
}

static void a_target_is_split_into_path_and_query(void **state)
{
    (void)state;
    struct http_message message = parsed("/account/c/a%20b?restype=container&comp=list");
    assert_slice(message.path, "/account/c/a%20b");
    assert_slice(message.query, "restype=container&comp=list");
    assert_int_equal(message.parameter_count, 2);
    assert_parameter(&message, 0, "restype", "container");
    assert_parameter(&message, 1, "comp", "list");

    message = parsed("/");
    assert_slice(message.path, "/");
    assert_slice(message.query, "");
    assert_int_equal(message.parameter_count, 0);
    message = parsed("/a?");
    assert_int_equal(message.parameter_count, 0);
}

static void scheme_and_host_before_the_path_are_cut_off(void **state)
{
    (void)state;
    struct http_message message = parsed("http://host:10000/account/c?comp=list");
    assert_slice(message.path, "/account/c");
    assert_slice(message.query, "comp=list");
    message = parsed("HTTPS://host/a//b");
    assert_slice(message.path, "/a//b");
    message = parsed("http://host");
    assert_slice(message.path, "/");

    message = parsed("http://host?comp=list");
    assert_true(slice_is(message.path, "/"));
    assert_true(slice_is(message.query, "comp=list"));

    message = parsed("https://host?prefix=/y");
    assert_true(slice_is(message.path, "/"));
    assert_true(slice_is(message.query, "prefix=/y"));
}

static void parameters_are_decoded_and_their_names_are_in_lower_case(void **state)
{
    (void)state;
    const struct http_message message =
        parsed("/?Prefix=A%2fB%3D&%43omp=X&sig=a+b%2B==&flag&empty=&p=1?2");
    assert_int_equal(message.parameter_count, 6);
    assert_parameter(&message, 0, "prefix", "A/B=");
    assert_parameter(&message, 1, "comp", "X");
    assert_parameter(&message, 2, "sig", "a b+==");
    assert_parameter(&message, 3, "flag", "");
    assert_parameter(&message, 4, "empty", "");
    assert_parameter(&message, 5, "p", "1?2");
}

static void empty_parts_of_the_query_are_skipped(void **state)
{
    (void)state;
    const struct http_message message = parsed("/?&&a=1&&b=2&");
    assert_int_equal(message.parameter_count, 2);
    assert_parameter(&message, 0, "a", "1");
    assert_parameter(&message, 1, "b", "2");
}

static void a_repeated_parameter_is_kept_twice_and_the_first_is_found(void **state)
{
    (void)state;
    const struct http_message message = parsed("/?a=1&A=2");
    assert_int_equal(message.parameter_count, 2);
    assert_slice(http_message_parameter(&message, "a"), "1");
}

static void targets_that_are_no_paths_or_have_bad_escapes_are_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",      "*",      "a/b",   "?a=1",   "ftp://host/path", "/%",
        "/%4",   "/%4g",   "/a%zz", "/?a=%4", "/?a=%g4",         "/?%=1",
        "/?a%4", "/?a=b%", "/%/a",  "/%%41",  "/?a=%%41"
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct http_message message = { 0 };
        if (http_message_parse_target(&arena, slice_of(refused[i]), &message) != ERR_INVALID_URI)
            fail_msg("%s was not refused", refused[i]);
    }
}

static void as_many_parameters_as_the_limit_are_taken_and_no_more(void **state)
{
    (void)state;
    struct strbuf target;
    strbuf_init(&target, &arena);
    strbuf_add_text(&target, "/?");
    for (int i = 0; i < LIMIT_QUERY_PARAMETERS_MAX; i++)
        strbuf_printf(&target, "p%d=%d&", i, i);
    struct http_message message = { 0 };
    assert_int_equal(http_message_parse_target(&arena, strbuf_slice(&target), &message), OK);
    assert_int_equal(message.parameter_count, LIMIT_QUERY_PARAMETERS_MAX);
    assert_slice(http_message_parameter(&message, "p63"), "63");

    strbuf_add_text(&target, "x");
    assert_int_equal(http_message_parse_target(&arena, strbuf_slice(&target), &message),
                     ERR_INVALID_QUERY_PARAMETER);
}

static void headers_are_found_in_any_case_and_trimmed(void **state)
{
    (void)state;
    const struct http_field headers[] = {
        { SLICE_LITERAL("Content-Type"), SLICE_LITERAL(" \ttext/plain ") },
        { SLICE_LITERAL("x-ms-date"), SLICE_LITERAL("first") },
        { SLICE_LITERAL("X-MS-Date"), SLICE_LITERAL("second") },
        { SLICE_LITERAL("x-ms-empty"), SLICE_LITERAL("  ") },
    };
    const struct http_message message = { .headers = headers, .header_count = 4 };
    assert_slice(http_message_header(&message, "content-type"), "text/plain");
    assert_slice(http_message_header(&message, "X-Ms-Date"), "first");
    assert_ptr_equal(http_message_find_header(&message, "X-MS-EMPTY"), &headers[3]);
    assert_slice(http_message_header(&message, "x-ms-empty"), "");
    assert_null(http_message_find_header(&message, "x-ms-dat"));
    assert_slice(http_message_header(&message, "x-ms-dates"), "");
}

static void parameters_keep_their_spaces(void **state)
{
    (void)state;
    const struct http_message message = parsed("/?prefix=%20a%20");
    assert_slice(http_message_parameter(&message, "Prefix"), " a ");
    assert_ptr_equal(http_message_find_parameter(&message, "PREFIX"), &message.parameters[0]);
    assert_null(http_message_find_parameter(&message, "pre"));
    assert_slice(http_message_parameter(&message, "marker"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_split_into_path_and_query),
        cmocka_unit_test(scheme_and_host_before_the_path_are_cut_off),
        cmocka_unit_test(parameters_are_decoded_and_their_names_are_in_lower_case),
        cmocka_unit_test(empty_parts_of_the_query_are_skipped),
        cmocka_unit_test(a_repeated_parameter_is_kept_twice_and_the_first_is_found),
        cmocka_unit_test(targets_that_are_no_paths_or_have_bad_escapes_are_refused),
        cmocka_unit_test(as_many_parameters_as_the_limit_are_taken_and_no_more),
        cmocka_unit_test(headers_are_found_in_any_case_and_trimmed),
        cmocka_unit_test(parameters_keep_their_spaces),
    };
    return cmocka_run_group_tests(tests, NULL, release_arena);
}
