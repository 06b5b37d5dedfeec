/*
 * test_http_error.c - every error has an answer, and the answer's body is as the service writes it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <string.h>

#include "frontend/http/http_error.h"

static const enum err ERRORS[] = {
#define X(name, text) name,
    ERR_LIST(X)
#undef X
};

static const enum http_error_subject SUBJECTS[] = { HTTP_ERROR_OF_BLOB, HTTP_ERROR_OF_CONTAINER };

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* One word of letters and digits, as clients compare it. */
static bool is_code(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at))
            return false;
    return isupper((unsigned char)text[0]);
}

/* A sentence that fits on a status line. */
static bool is_reason(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return false;
    const size_t len = strlen(text);
    /* One message of the service has no full stop. */
    return len > 10 && (text[len - 1] == '.' || strstr(text, "media types") != NULL);
}

static void every_error_has_status_code_and_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++) {
        if (ERRORS[i] == OK)
            continue;
        for (size_t j = 0; j < 2; j++) {
            const struct http_error error = http_error_describe(ERRORS[i], SUBJECTS[j]);
            assert_in_range(error.status, 300, 599);
            assert_true(is_code(error.code));
            assert_true(is_reason(error.message));
        }
    }
}

static void the_subject_changes_words_and_nothing_else(void **state)
{
    (void)state;
    size_t different = 0;
    for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++) {
        if (ERRORS[i] == OK)
            continue;
        const struct http_error blob = http_error_describe(ERRORS[i], HTTP_ERROR_OF_BLOB);
        const struct http_error container = http_error_describe(ERRORS[i], HTTP_ERROR_OF_CONTAINER);
        assert_int_equal(blob.status, container.status);
        assert_string_equal(blob.code, container.code);
        if (strcmp(blob.message, container.message) == 0)
            continue;
        different++;
        assert_non_null(strstr(blob.message, "blob"));
        assert_non_null(strstr(container.message, "container"));
    }
    assert_true(different > 0);
}

static void well_known_errors_are_answered_as_the_service_does(void **state)
{
    (void)state;
    const struct {
        enum err err;
        unsigned status;
        const char *code;
        const char *message;
    } rows[] = {
        { ERR_BLOB_NOT_FOUND, 404, "BlobNotFound", "The specified blob does not exist." },
        { ERR_CONTAINER_NOT_FOUND, 404, "ContainerNotFound",
          "The specified container does not exist." },
        { ERR_CONTAINER_EXISTS, 409, "ContainerAlreadyExists",
          "The specified container already exists." },
        { ERR_BLOB_EXISTS, 409, "BlobAlreadyExists", "The specified blob already exists." },
        { ERR_CONDITION_NOT_MET, 412, "ConditionNotMet",
          "The condition specified using HTTP conditional header(s) is not met." },
        { ERR_NOT_MODIFIED, 304, "ConditionNotMet",
          "The condition specified using HTTP conditional header(s) is not met." },
        { ERR_LEASE_ID_MISSING, 412, "LeaseIdMissing",
          "There is currently a lease on the blob and no lease ID was specified in the request." },
        { ERR_LEASE_LOST, 412, "LeaseLost",
          "A lease ID was specified, but the lease for the blob has expired." },
        { ERR_LEASE_ALREADY_PRESENT, 409, "LeaseAlreadyPresent",
          "There is already a lease present." },
        { ERR_INVALID_RANGE, 416, "InvalidRange",
          "The range specified is invalid for the current size of the resource." },
        { ERR_INVALID_RESOURCE_NAME, 400, "InvalidResourceName",
          "The specifed resource name contains invalid characters." },
        { ERR_MISSING_CONTENT_LENGTH, 411, "MissingContentLengthHeader",
          "The Content-Length header was not specified." },
        { ERR_BODY_TOO_LARGE, 413, "RequestBodyTooLarge",
          "The request body is too large and exceeds the maximum permissible limit." },
        { ERR_CORRUPT, 500, "InternalError",
          "Server encountered an internal error. Please try again after some time." },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct http_error error = http_error_describe(rows[i].err, HTTP_ERROR_OF_BLOB);
        assert_int_equal(error.status, rows[i].status);
        assert_string_equal(error.code, rows[i].code);
        assert_string_equal(error.message, rows[i].message);
    }
}

static void the_body_names_code_message_and_details(void **state)
{
    (void)state;
    const struct http_error error = http_error_describe(ERR_INVALID_HEADER, HTTP_ERROR_OF_BLOB);
    const struct http_error_detail details[] = {
        { "HeaderName", SLICE_LITERAL("x-ms-lease-id") },
        { "HeaderValue", SLICE_LITERAL("<a & b>") },
    };
    const struct slice body =
        http_error_body(&arena, &error, "8a9b1c00-601e-0041-1234-567890000000",
                        "2026-11-15T03:24:00.1234567Z", details, 2);
    const char *const wanted =
        "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error>"
        "<Code>InvalidHeaderValue</Code><Message>The value for one of the HTTP headers is not in "
        "the correct format.\nRequestId:8a9b1c00-601e-0041-1234-567890000000\n"
        "Time:2026-11-15T03:24:00.1234567Z</Message><HeaderName>x-ms-lease-id</HeaderName>"
        "<HeaderValue>&lt;a &amp; b&gt;</HeaderValue></Error>";
    assert_int_equal(body.len, strlen(wanted));
    assert_memory_equal(body.data, wanted, body.len);
}

static void a_body_without_details_ends_after_the_message(void **state)
{
    (void)state;
    const struct http_error error = { 404, "BlobNotFound", "Gone." };
    const struct slice body = http_error_body(&arena, &error, "id", "time", NULL, 0);
    assert_true(slice_is(body, "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error>"
                               "<Code>BlobNotFound</Code><Message>Gone.\nRequestId:id\nTime:time"
                               "</Message></Error>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_status_code_and_message),
        cmocka_unit_test(the_subject_changes_words_and_nothing_else),
        cmocka_unit_test(well_known_errors_are_answered_as_the_service_does),
        cmocka_unit_test(the_body_names_code_message_and_details),
        cmocka_unit_test(a_body_without_details_ends_after_the_message),
    };
    return cmocka_run_group_tests(tests, NULL, clear);
}
