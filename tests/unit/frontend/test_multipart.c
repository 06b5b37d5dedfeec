/*
 * test_multipart.c - bodies of batches: what is taken apart, what is refused, and that nothing a
 * client sends reads past its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../service/test_random.h"
#include "base/strbuf.h"
#include "frontend/http/multipart.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

#define PART(id, line)                                                                             \
    "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"               \
    "Content-ID: " id "\r\n\r\n" line "\r\nx-ms-date: today\r\nx-empty:\r\n\r\n\r\n"
#define END "--b--\r\n"

static const struct multipart_part *parts;
static size_t part_count;

static enum err read_text(const char *text)
{
    return multipart_read(&arena, slice_of(text), slice_of("b"), &parts, &part_count);
}

/* --- boundaries --- */

static void assert_boundary(const char *type, const char *wanted)
{
    struct slice boundary = { 0 };
    const enum err err = multipart_boundary(slice_of(type), &boundary);
    assert_int_equal(err, wanted == NULL ? ERR_MALFORMED : OK);
    if (wanted != NULL)
        assert_true(slice_is(boundary, wanted));
}

static void a_boundary_is_a_parameter_of_the_type(void **state)
{
    (void)state;
    assert_boundary("multipart/mixed; boundary=batch_1-2", "batch_1-2");
    assert_boundary("Multipart/Mixed;charset=utf-8; BOUNDARY=\"a b\" ; x=y", "a b");
    assert_boundary("multipart/mixed ;boundary=a=b", "a=b");
    assert_boundary("multipart/mixed; boundary=\"", "\"");
    assert_boundary("multipart/mixed", NULL);
    assert_boundary("multipart/mixed; boundary=", NULL);
    assert_boundary("multipart/mixed; boundary=\"\"", NULL);
    assert_boundary("multipart/mixed; xboundary=a", NULL);
    assert_boundary("multipart/mixedly; boundary=a", NULL);
    assert_boundary("multipart/form-data; boundary=a", NULL);
    assert_boundary("application/http", NULL);
    assert_boundary("", NULL);
}

static void a_boundary_has_at_most_seventy_characters(void **state)
{
    (void)state;
    char type[200];
    char longest[72];
    memset(longest, 'x', 71);
    longest[71] = '\0';
    snprintf(type, sizeof(type), "multipart/mixed; boundary=%s", longest);
    assert_boundary(type, NULL);
    longest[70] = '\0';
    snprintf(type, sizeof(type), "multipart/mixed; boundary=%s", longest);
    assert_boundary(type, longest);
}

/* --- parts --- */

static void parts_come_back_in_their_order(void **state)
{
    (void)state;
    assert_int_equal(read_text("a preamble\r\n" PART("0", "DELETE /c/a?x=y HTTP/1.1")
                                   PART("one", "PUT /c/b?comp=tier HTTP/1.0") END "an epilogue"),
                     OK);
    assert_int_equal(part_count, 2);
    assert_true(slice_is(parts[0].content_id, "0"));
    assert_true(slice_is(parts[0].method, "DELETE"));
    assert_true(slice_is(parts[0].target, "/c/a?x=y"));
    assert_int_equal(parts[0].header_count, 2);
    assert_true(slice_is(parts[0].headers[0].name, "x-ms-date"));
    assert_true(slice_is(parts[0].headers[0].value, "today"));
    assert_true(slice_is(parts[0].headers[1].name, "x-empty"));
    assert_int_equal(parts[0].headers[1].value.len, 0);
    assert_true(slice_is(parts[1].content_id, "one"));
    assert_true(slice_is(parts[1].method, "PUT"));
}

static void lines_may_end_in_a_line_feed_alone(void **state)
{
    (void)state;
    assert_int_equal(read_text("--b\nContent-Type: application/http\n\nDELETE /c/a HTTP/1.1\n"
                               "x: y\n\n--b--"),
                     OK);
    assert_int_equal(part_count, 1);
    assert_true(slice_is(parts[0].target, "/c/a"));
    assert_true(slice_is(parts[0].headers[0].value, "y"));
    assert_int_equal(parts[0].content_id.len, 0);
}

static void a_part_may_have_no_headers_and_a_body(void **state)
{
    (void)state;
    assert_int_equal(read_text("--b\r\ncontent-type: application/http\r\n\r\n"
                               "DELETE /c/a HTTP/1.1\r\n\r\nbytes\r\n--b--"),
                     OK);
    assert_int_equal(parts[0].header_count, 0);
    assert_true(slice_is(parts[0].body, "bytes\r\n"));
}

static void a_delimiter_may_be_followed_by_space_but_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(read_text("--b \t\r\nContent-Type: application/http\r\n\r\n"
                               "DELETE /c/a HTTP/1.1\r\n\r\n--bc\r\n--b-\r\n--b-- \r\n"),
                     OK);
    assert_int_equal(part_count, 1);
    assert_true(slice_is(parts[0].body, "--bc\r\n--b-\r\n"));
}

static void what_is_no_batch_is_malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\r\n",
        "--b",
        "--b\r\n",
        "--b--",
        "--b\r\n--b--\r\n",
        "--other\r\nContent-Type: application/http\r\n\r\nDELETE /c/a HTTP/1.1\r\n\r\n--other--",
        /* the part is not said to be a request */
        "--b\r\n\r\nDELETE /c/a HTTP/1.1\r\n\r\n--b--",
        "--b\r\nContent-Type: text/plain\r\n\r\nDELETE /c/a HTTP/1.1\r\n\r\n--b--",
        /* its request is none */
        "--b\r\nContent-Type: application/http\r\n\r\n--b--",
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE\r\n\r\n--b--",
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/a\r\n\r\n--b--",
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE  HTTP/1.1\r\n\r\n--b--",
        "--b\r\nContent-Type: application/http\r\n\r\n /c/a HTTP/1.1\r\n\r\n--b--",
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/a FTP/1.1\r\n\r\n--b--",
        /* a header that is none */
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/a HTTP/1.1\r\nx\r\n\r\n--b--",
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/a HTTP/1.1\r\n:y\r\n\r\n--b--",
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/a HTTP/1.1\r\n :y\r\n\r\n--b--",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const enum err err = read_text(texts[i]);
        if (err != ERR_MALFORMED)
            print_message("%s\n", texts[i]);
        assert_int_equal(err, ERR_MALFORMED);
    }
}

static void a_batch_that_is_cut_off_is_not_taken_for_a_shorter_one(void **state)
{
    (void)state;
    const char *const whole =
        PART("0", "DELETE /c/a HTTP/1.1") PART("1", "DELETE /c/b HTTP/1.1") END;
    const size_t end = strlen(whole) - strlen("\r\n");
    for (size_t len = 0; len < end; len++)
        assert_int_equal(
            multipart_read(&arena, slice_make(whole, len), slice_of("b"), &parts, &part_count),
            ERR_MALFORMED);
    assert_int_equal(
        multipart_read(&arena, slice_make(whole, end), slice_of("b"), &parts, &part_count), OK);
}

static enum err read_count(size_t count)
{
    struct strbuf body;
    strbuf_init(&body, &arena);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&body,
                      "--b\r\nContent-Type: application/http\r\nContent-ID: %zu\r\n\r\n"
                      "DELETE /c/%zu HTTP/1.1\r\n\r\n",
                      i, i);
    strbuf_add_text(&body, END);
    return multipart_read(&arena, strbuf_slice(&body), slice_of("b"), &parts, &part_count);
}

static void a_batch_has_at_most_256_parts(void **state)
{
    (void)state;
    assert_int_equal(read_count(256), OK);
    assert_int_equal(part_count, 256);
    assert_true(slice_is(parts[255].target, "/c/255"));
    assert_true(slice_is(parts[255].content_id, "255"));
    assert_int_equal(read_count(257), ERR_OUT_OF_RANGE);
}

static enum err read_headers(size_t count)
{
    struct strbuf body;
    strbuf_init(&body, &arena);
    strbuf_add_text(&body, "--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/a HTTP/1.1\r\n");
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&body, "h%zu: v\r\n", i);
    strbuf_add_text(&body, "\r\n" END);
    return multipart_read(&arena, strbuf_slice(&body), slice_of("b"), &parts, &part_count);
}

static void a_part_has_at_most_64_headers(void **state)
{
    (void)state;
    assert_int_equal(read_headers(MULTIPART_HEADERS_MAX), OK);
    assert_int_equal(parts[0].header_count, MULTIPART_HEADERS_MAX);
    assert_int_equal(read_headers(MULTIPART_HEADERS_MAX + 1), ERR_MALFORMED);
}

/* --- damage --- */

static void assert_within(struct slice part, struct slice body)
{
    if (part.len == 0)
        return;
    assert_true(part.data >= body.data);
    assert_true(part.data + part.len <= body.data + body.len);
}

static void damaged_bodies_are_read_within_their_bounds(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    const struct slice whole =
        slice_of(PART("0", "DELETE /c/a HTTP/1.1") PART("1", "PUT /c/b?comp=tier HTTP/1.1") END);
    size_t outcomes[2] = { 0 };
    for (int round = 0; round < 5000; round++) {
        size_t len;
        char *bytes = random_damage(&random, whole, &len);
        const struct slice body = slice_make(bytes, len);
        const enum err err = multipart_read(&arena, body, slice_of("b"), &parts, &part_count);
        assert_true(err == OK || err == ERR_MALFORMED);
        outcomes[err == OK]++;
        for (size_t i = 0; err == OK && i < part_count; i++) {
            assert_within(parts[i].content_id, body);
            assert_within(parts[i].method, body);
            assert_within(parts[i].target, body);
            assert_within(parts[i].body, body);
            for (size_t j = 0; j < parts[i].header_count; j++) {
                assert_within(parts[i].headers[j].name, body);
                assert_within(parts[i].headers[j].value, body);
            }
        }
        free(bytes);
        arena_clear(&arena);
    }
    assert_true(outcomes[0] > 0);
    assert_true(outcomes[1] > 0);
}

static void random_bytes_are_never_a_batch(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int round = 0; round < 5000; round++) {
        const struct slice body = random_bytes(&random, &arena, 300);
        assert_int_equal(multipart_read(&arena, body, slice_of("b"), &parts, &part_count),
                         ERR_MALFORMED);
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_boundary_is_a_parameter_of_the_type),
        cmocka_unit_test(a_boundary_has_at_most_seventy_characters),
        cmocka_unit_test_teardown(parts_come_back_in_their_order, clear),
        cmocka_unit_test_teardown(lines_may_end_in_a_line_feed_alone, clear),
        cmocka_unit_test_teardown(a_part_may_have_no_headers_and_a_body, clear),
        cmocka_unit_test_teardown(a_delimiter_may_be_followed_by_space_but_nothing_else, clear),
        cmocka_unit_test_teardown(what_is_no_batch_is_malformed, clear),
        cmocka_unit_test_teardown(a_batch_that_is_cut_off_is_not_taken_for_a_shorter_one, clear),
        cmocka_unit_test_teardown(a_batch_has_at_most_256_parts, clear),
        cmocka_unit_test_teardown(a_part_has_at_most_64_headers, clear),
        cmocka_unit_test_teardown(damaged_bodies_are_read_within_their_bounds, clear),
        cmocka_unit_test_teardown(random_bytes_are_never_a_batch, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
