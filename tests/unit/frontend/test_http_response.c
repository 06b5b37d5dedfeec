/*
 * test_http_response.c - headers in all their forms, and as many as there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/http/http_response.h"

static struct arena arena;
static struct http_response response;

static int begin(void **state)
{
    (void)state;
    http_response_init(&response, &arena, 200);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* The header added last, as libmicrohttpd gets it: both parts are strings. */
static void assert_added(const char *name, const char *value)
{
    assert_true(response.header_count > 0);
    const struct http_field *last = &response.headers[response.header_count - 1];
    assert_string_equal(last->name.data, name);
    assert_string_equal(last->value.data, value);
    assert_int_equal(last->value.len, strlen(value));
}

static void a_response_begins_empty(void **state)
{
    (void)state;
    assert_int_equal(response.status, 200);
    assert_null(response.reason);
    assert_int_equal(response.header_count, 0);
    assert_int_equal(response.body.len, 0);
    assert_null(response.payload);
}

static void a_value_is_copied(void **state)
{
    (void)state;
    char value[] = "value and more";
    http_response_add(&response, "Name", slice_make(value, 5));
    value[0] = 'X';
    assert_added("Name", "value");
}

static void a_text_is_kept(void **state)
{
    (void)state;
    static const char text[] = "bytes";
    http_response_add_text(&response, "Accept-Ranges", text);
    assert_added("Accept-Ranges", "bytes");
    assert_ptr_equal(response.headers[0].value.data, text);
}

static void nothing_adds_nothing(void **state)
{
    (void)state;
    http_response_add(&response, "A", (struct slice){ 0 });
    http_response_add_text(&response, "B", "");
    http_response_add_text(&response, "C", NULL);
    http_response_add_base64(&response, "D", (struct slice){ 0 });
    assert_int_equal(response.header_count, 0);
}

static void numbers_are_decimal(void **state)
{
    (void)state;
    const struct {
        uint64_t number;
        const char *text;
    } rows[] = { { 0, "0" },
                 { 9, "9" },
                 { 10, "10" },
                 { 1048576, "1048576" },
                 { UINT64_MAX, "18446744073709551615" } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        http_response_add_number(&response, "N", rows[i].number);
        assert_added("N", rows[i].text);
    }
}

static void a_state_has_etag_and_date_of_one_instant(void **state)
{
    (void)state;
    /* From a recorded answer of the service. */
    http_response_add_etag(&response, INT64_C(0x8D7596FDE1330A0));
    assert_int_equal(response.header_count, 2);
    assert_string_equal(response.headers[0].name.data, "ETag");
    assert_string_equal(response.headers[0].value.data, "\"0x8D7596FDE1330A0\"");
    assert_added("Last-Modified", "Fri, 25 Oct 2019 17:22:09 GMT");
}

static void hashes_are_base64(void **state)
{
    (void)state;
    http_response_add_base64(&response, "Content-MD5", slice_of("sixteen bytes..."));
    assert_added("Content-MD5", "c2l4dGVlbiBieXRlcy4uLg==");
}

static void there_is_room_for_any_number_of_headers(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 500; i++)
        http_response_add_number(&response, "N", i);
    assert_int_equal(response.header_count, 500);
    assert_string_equal(response.headers[0].value.data, "0");
    assert_string_equal(response.headers[23].value.data, "23");
    assert_string_equal(response.headers[24].value.data, "24");
    assert_added("N", "499");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_response_begins_empty, begin),
        cmocka_unit_test_setup(a_value_is_copied, begin),
        cmocka_unit_test_setup(a_text_is_kept, begin),
        cmocka_unit_test_setup(nothing_adds_nothing, begin),
        cmocka_unit_test_setup(numbers_are_decimal, begin),
        cmocka_unit_test_setup(a_state_has_etag_and_date_of_one_instant, begin),
        cmocka_unit_test_setup(hashes_are_base64, begin),
        cmocka_unit_test_setup(there_is_room_for_any_number_of_headers, begin),
    };
    return cmocka_run_group_tests(tests, NULL, clear);
}
