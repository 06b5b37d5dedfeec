/*
 * test_odata_batch.c - entity group transactions: bodies as the SDKs send them are taken apart,
 * others are refused, and answers are as the real service gave them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../service/test_random.h"
#include "frontend/http/odata_batch.h"
#include "frontend/http/odata_read.h"
#include "service/limits.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct odata_batch batch;

static enum err read_text(const char *text)
{
    return odata_batch_read(&arena, slice_of("multipart/mixed; boundary=batch_1"), slice_of(text),
                            &batch);
}

#define PART_HEADERS "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
#define OPEN         "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n"
#define INSERT                                                                                     \
    "--changeset_1\r\n" PART_HEADERS "POST http://127.0.0.1:10002/a/T HTTP/1.1\r\n"                \
    "accept: application/json;odata=minimalmetadata\r\ncontent-type: application/json\r\n\r\n"     \
    "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\r\n"
#define DELETE                                                                                     \
    "--changeset_1\r\n" PART_HEADERS                                                               \
    "DELETE http://127.0.0.1:10002/a/T(PartitionKey='p',RowKey='r') HTTP/1.1\r\n"                  \
    "If-Match: *\r\n\r\n\r\n"
#define CLOSE "--changeset_1--\r\n--batch_1--\r\n"

static void a_change_set_is_a_list_of_requests(void **state)
{
    (void)state;
    assert_int_equal(read_text(OPEN INSERT DELETE CLOSE), OK);
    assert_true(batch.is_changeset);
    assert_int_equal(batch.part_count, 2);
    assert_true(slice_is(batch.parts[0].method, "POST"));
    assert_true(slice_is(batch.parts[0].target, "http://127.0.0.1:10002/a/T"));
    assert_int_equal(batch.parts[0].header_count, 2);
    struct odata_entity entity;
    assert_int_equal(odata_read_entity(&arena, batch.parts[0].body, &entity), OK);
    assert_true(slice_is(entity.row_key, "r"));
    assert_true(slice_is(batch.parts[1].method, "DELETE"));
    assert_true(slice_is(batch.parts[1].headers[0].value, "*"));
}

static void lines_may_end_in_lf_alone(void **state)
{
    (void)state;
    const char *const text = OPEN INSERT DELETE CLOSE;
    char *copy = arena_bytes(&arena, strlen(text) + 1);
    size_t len = 0;
    for (const char *at = text; *at != '\0'; at++)
        if (*at != '\r')
            copy[len++] = *at;
    copy[len] = '\0';
    assert_int_equal(read_text(copy), OK);
    assert_int_equal(batch.part_count, 2);
}

static void a_query_stands_alone_in_the_batch(void **state)
{
    (void)state;
    assert_int_equal(read_text("--batch_1\r\n" PART_HEADERS
                               "GET http://h/T(PartitionKey='p',RowKey='r') HTTP/1.1\r\n"
                               "Accept: application/json\r\n\r\n--batch_1--\r\n"),
                     OK);
    assert_false(batch.is_changeset);
    assert_int_equal(batch.part_count, 1);
    assert_true(slice_is(batch.parts[0].method, "GET"));
}

static void a_change_outside_a_change_set_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_text("--batch_1\r\n" PART_HEADERS "POST http://h/T HTTP/1.1\r\n\r\n{}\r\n"
                               "--batch_1--\r\n"),
                     ERR_INVALID_INPUT);
}

static void there_is_one_change_set(void **state)
{
    (void)state;
    assert_int_equal(read_text(OPEN INSERT "--changeset_1--\r\n" OPEN DELETE CLOSE),
                     ERR_INVALID_INPUT);
    assert_int_equal(read_text(OPEN CLOSE), ERR_INVALID_INPUT);
}

static void bodies_in_another_form_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "--batch_1--\r\n",
        "--batch_1\r\n--batch_1--\r\n",
        "{}",
        OPEN INSERT,
        OPEN INSERT "--changeset_1--\r\n",
        OPEN INSERT "--batch_1--\r\n",
        "--batch_1\r\nContent-Type: multipart/mixed\r\n\r\n" INSERT CLOSE,
        "--batch_1\r\nContent-Type: text/plain\r\n\r\n" INSERT CLOSE,
        "--batch_1\r\n\r\n" INSERT CLOSE,
        OPEN "--changeset_1\r\n\r\nPOST http://h/T HTTP/1.1\r\n\r\n{}\r\n" CLOSE,
        OPEN "--changeset_1\r\n" PART_HEADERS "POST http://h/T\r\n\r\n{}\r\n" CLOSE,
        OPEN "--changeset_1\r\n" PART_HEADERS "\r\n" CLOSE,
        OPEN "--changeset_1\r\n" PART_HEADERS "POST http://h/T HTTP/1.1\r\nbad\r\n\r\n{}\r\n" CLOSE,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(read_text(texts[i]), ERR_INVALID_INPUT);
    assert_int_equal(
        odata_batch_read(&arena, slice_of("application/json"), slice_of(OPEN INSERT CLOSE), &batch),
        ERR_INVALID_INPUT);
    assert_int_equal(odata_batch_read(&arena, slice_of("multipart/mixed; boundary=other"),
                                      slice_of(OPEN INSERT CLOSE), &batch),
                     ERR_INVALID_INPUT);
}

static struct slice changes(size_t count)
{
    struct strbuf text;
    strbuf_init(&text, &arena);
    strbuf_add_text(&text, OPEN);
    for (size_t i = 0; i < count; i++)
        strbuf_add_text(&text, INSERT);
    strbuf_add_text(&text, CLOSE);
    return strbuf_slice(&text);
}

static void a_change_set_has_up_to_100_changes(void **state)
{
    (void)state;
    const struct slice type = slice_of("multipart/mixed; boundary=\"batch_1\"");
    assert_int_equal(odata_batch_read(&arena, type, changes(LIMIT_GROUP_OPERATIONS), &batch), OK);
    assert_int_equal(batch.part_count, LIMIT_GROUP_OPERATIONS);
    assert_int_equal(odata_batch_read(&arena, type, changes(LIMIT_GROUP_OPERATIONS + 1), &batch),
                     ERR_GROUP_TOO_LONG);
    assert_int_equal(odata_batch_read(&arena, type, changes(10000), &batch), ERR_GROUP_TOO_LONG);
}

static void changed_bytes_are_read_or_refused_but_never_read_past(void **state)
{
    (void)state;
    static const char original[] = OPEN INSERT DELETE CLOSE;
    struct test_random random = test_seed();
    for (int round = 0; round < 5000; round++) {
        const size_t len = 1 + random_next(&random) % (sizeof(original) - 1);
        char *text = malloc(len);
        assert_non_null(text);
        memcpy(text, original, len);
        for (int change = 0; change < 3; change++)
            text[random_next(&random) % len] = "-\r\n: _1;=/"[random_next(&random) % 10];
        const enum err err = odata_batch_read(&arena, slice_of("multipart/mixed; boundary=batch_1"),
                                              slice_make(text, len), &batch);
        assert_true(err == OK || err == ERR_INVALID_INPUT);
        free(text);
        arena_clear(&arena);
    }
}

static void an_answer_is_as_recorded(void **state)
{
    (void)state;
    struct http_response response;
    struct odata_batch_answer answer;
    struct strbuf out;
    strbuf_init(&out, &arena);
    http_response_init(&response, &arena, 400);
    http_response_add_text(&response, "X-Content-Type-Options", "nosniff");
    http_response_add_text(&response, "DataServiceVersion", "3.0;");
    response.body = slice_of("{}");
    odata_batch_begin(&answer, &out, "c52f", true);
    odata_batch_add(&answer, &response);
    http_response_init(&response, &arena, 204);
    odata_batch_add(&answer, &response);
    odata_batch_end(&answer);
    assert_true(slice_is(strbuf_slice(&out),
                         "--batchresponse_c52f\r\nContent-Type: multipart/mixed; "
                         "boundary=changesetresponse_c52f\r\n\r\n"
                         "--changesetresponse_c52f\r\n" PART_HEADERS
                         "HTTP/1.1 400 Bad Request\r\nX-Content-Type-Options: nosniff\r\n"
                         "DataServiceVersion: 3.0;\r\n\r\n{}\r\n"
                         "--changesetresponse_c52f\r\n" PART_HEADERS
                         "HTTP/1.1 204 No Content\r\n\r\n\r\n"
                         "--changesetresponse_c52f--\r\n--batchresponse_c52f--\r\n"));
    assert_true(slice_is(odata_batch_content_type(&arena, "c52f"),
                         "multipart/mixed; boundary=batchresponse_c52f"));
}

static void the_answer_to_a_query_stands_in_the_batch(void **state)
{
    (void)state;
    struct http_response response;
    struct odata_batch_answer answer;
    struct strbuf out;
    strbuf_init(&out, &arena);
    http_response_init(&response, &arena, 200);
    response.body = slice_of("{}");
    odata_batch_begin(&answer, &out, "x", false);
    odata_batch_add(&answer, &response);
    odata_batch_end(&answer);
    assert_true(slice_is(strbuf_slice(&out),
                         "--batchresponse_x\r\n" PART_HEADERS
                         "HTTP/1.1 200 OK\r\n\r\n{}\r\n--batchresponse_x--\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_change_set_is_a_list_of_requests, clear),
        cmocka_unit_test_teardown(lines_may_end_in_lf_alone, clear),
        cmocka_unit_test_teardown(a_query_stands_alone_in_the_batch, clear),
        cmocka_unit_test_teardown(a_change_outside_a_change_set_is_refused, clear),
        cmocka_unit_test_teardown(there_is_one_change_set, clear),
        cmocka_unit_test_teardown(bodies_in_another_form_are_refused, clear),
        cmocka_unit_test_teardown(a_change_set_has_up_to_100_changes, clear),
        cmocka_unit_test_teardown(changed_bytes_are_read_or_refused_but_never_read_past, clear),
        cmocka_unit_test_teardown(an_answer_is_as_recorded, clear),
        cmocka_unit_test_teardown(the_answer_to_a_query_stands_in_the_batch, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
