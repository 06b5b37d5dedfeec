/*
 * test_queue_request.c - requests of the queue service, from their first header to their answer.
 *
 * Each operation of operations_queue.def is performed once; headers and bodies are those the
 * service has been recorded to answer with.  What is refused is in tests/wire/queue_bad_input.
 */
#include "http_request_fixture.h"

static int queue_setup(void **state)
{
    const int result = request_setup(state);
    context.kind = &http_queue_service;
    return result;
}

#define WITH_QUEUES(test)                                                                          \
    {                                                                                              \
#test, test, queue_setup, request_teardown, &fixture_on_memory                             \
    }

#define T0       "Sun, 15 Nov 2026 00:00:00 GMT"
#define WEEK     "Sun, 22 Nov 2026 00:00:00 GMT"
#define TEXT(of) "<QueueMessage><MessageText>" of "</MessageText></QueueMessage>"

struct step {
    const char *operation;
    unsigned status;
    struct sent sent; /* %s in its line: the id and the receipt of the latest message */
    const char *headers[WANTED_MAX];
    const char *body; /* a part of it; NULL: there is none */
};

static const struct step STEPS[] = {
    { "CreateQueue",
      201,
      { .line = "PUT /tasks", .headers = { "x-ms-meta-Colour: blue" } },
      { "!ETag" },
      NULL },
    { "CreateQueue",
      204,
      { .line = "PUT /tasks", .headers = { "x-ms-meta-colour: blue" } },
      { "!ETag" },
      NULL },
    { "ListQueues",
      200,
      { .line = "GET ?comp=list&include=metadata" },
      { "Content-Type: application/xml" },
      "<Queues><Queue><Name>tasks</Name><Metadata><Colour>blue</Colour></Metadata></Queue>"
      "</Queues><NextMarker /></EnumerationResults>" },
    { "SetQueueMetadata",
      204,
      { .line = "PUT /tasks?comp=metadata", .headers = { "x-ms-meta-size: 7" } },
      { "!ETag" },
      NULL },
    { "SetQueueAcl",
      204,
      { .line = "PUT /tasks?comp=acl",
        .body = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>raup"
                "</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>" },
      { "!Content-Type" },
      NULL },
    { "GetQueueAcl",
      200,
      { .line = "GET /tasks?comp=acl" },
      { "Content-Type: application/xml" },
      "<Id>a</Id><AccessPolicy><Permission>raup</Permission></AccessPolicy>" },
    { "PutMessage",
      201,
      { .line = "POST /tasks/messages", .body = TEXT("a&lt;b") },
      { "Content-Type: application/xml" },
      "</MessageId><InsertionTime>" T0 "</InsertionTime><ExpirationTime>" WEEK
      "</ExpirationTime><PopReceipt>" },
    { "PutMessage",
      201,
      { .line = "POST /tasks/messages?visibilitytimeout=60&messagettl=-1", .body = TEXT("late") },
      { "Content-Type: application/xml" },
      "<ExpirationTime>Fri, 31 Dec 9999 23:59:59 GMT</ExpirationTime><PopReceipt>" },
    { "GetQueueMetadata",
      200,
      { .line = "GET /tasks?comp=metadata" },
      { "x-ms-approximate-messages-count: 2", "x-ms-meta-size: 7", "!Content-Type" },
      NULL },
    { "GetQueueMetadata",
      200,
      { .line = "HEAD /tasks?comp=metadata" },
      { "x-ms-approximate-messages-count: 2" },
      NULL },
    { "PeekMessages",
      200,
      { .line = "GET /tasks/messages?peekonly=true&numofmessages=32" },
      { "Content-Type: application/xml" },
      "<ExpirationTime>" WEEK "</ExpirationTime><DequeueCount>0</DequeueCount>"
      "<MessageText>a&lt;b</MessageText></QueueMessage></QueueMessagesList>" },
    { "GetMessages",
      200,
      { .line = "GET /tasks/messages?visibilitytimeout=10&numofmessages=2" },
      { "Content-Type: application/xml" },
      "</PopReceipt><TimeNextVisible>Sun, 15 Nov 2026 00:00:10 GMT</TimeNextVisible>"
      "<DequeueCount>1</DequeueCount><MessageText>a&lt;b</MessageText></QueueMessage>"
      "</QueueMessagesList>" },
    { "GetMessages",
      200,
      { .line = "GET /tasks/messages?peekonly=false" },
      { "Content-Type: application/xml" },
      XML "<QueueMessagesList />" },
    { "UpdateMessage",
      204,
      { .line = "PUT /tasks/messages/%s?popreceipt=%s&visibilitytimeout=0", .body = TEXT("new") },
      { "x-ms-popreceipt: *", "x-ms-time-next-visible: " T0, "!Content-Type" },
      NULL },
    { "GetMessages",
      200,
      { .line = "GET /tasks/messages" },
      { "Content-Type: application/xml" },
      "<DequeueCount>2</DequeueCount><MessageText>new</MessageText>" },
    { "DeleteMessage",
      204,
      { .line = "DELETE /tasks/messages/%s?popreceipt=%s" },
      { "!Content-Type" },
      NULL },
    { "ClearMessages", 204, { .line = "DELETE /tasks/messages" }, { "!Content-Type" }, NULL },
    { "DeleteQueue", 204, { .line = "DELETE /tasks" }, { "!Content-Type" }, NULL },
    { "SetQueueServiceProperties",
      202,
      { .line = "PUT ?restype=service&comp=properties",
        .body = "<StorageServiceProperties><Cors><CorsRule><AllowedMethods>PUT</AllowedMethods>"
                "<AllowedOrigins>http://a</AllowedOrigins><AllowedHeaders>x-ms-*</AllowedHeaders>"
                "<ExposedHeaders /><MaxAgeInSeconds>9</MaxAgeInSeconds></CorsRule></Cors>"
                "</StorageServiceProperties>" },
      { "!ETag" },
      NULL },
    { "GetQueueServiceProperties",
      200,
      { .line = "GET ?restype=service&comp=properties" },
      { "Content-Type: application/xml" },
      "<AllowedOrigins>http://a</AllowedOrigins>" },
    { "GetQueueServiceStats",
      200,
      { .line = "GET /devstoreaccount1-secondary?restype=service&comp=stats",
        .whole_target = true },
      { "Content-Type: application/xml" },
      "<Status>live</Status><LastSyncTime>" T0 "<" },
    { "PreflightQueueRequest",
      200,
      { .line = "OPTIONS /tasks/messages",
        .credential = BY_URL,
        .headers = { "Origin: http://a", "Access-Control-Request-Method: PUT",
                     "Access-Control-Request-Headers: x-ms-date" } },
      { "Access-Control-Allow-Origin: http://a", "Access-Control-Allow-Methods: PUT" },
      NULL },
};

/* The text of the first element of that name in the answer, if there is one. */
static void find_element(const char *name, char *text, size_t size)
{
    const struct slice body = answer_body();
    char opening[32];
    snprintf(opening, sizeof(opening), "<%s>", name);
    const char *found =
        body.len == 0 ? NULL : memmem(body.data, body.len, opening, strlen(opening));
    if (found == NULL)
        return;
    const struct slice rest = slice_from(body, (size_t)(found - body.data) + strlen(opening));
    snprintf(text, size, "%.*s", (int)slice_find_byte(rest, '<'), rest.data);
}

/* A line with marks has the id and the receipt of the latest message in their place. */
static void every_operation_succeeds_once(void **state)
{
    struct service_fixture *fixture = *state;
    bool performed[256] = { 0 };
    char id[64] = "";
    char receipt[64] = "";
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
        const struct step *step = &STEPS[i];
        struct sent sent = step->sent;
        char line[256];
        const char *const mark = strstr(sent.line, "%s");
        if (mark != NULL) {
            const char *const second = strstr(mark + 2, "%s");
            snprintf(line, sizeof(line), "%.*s%s%.*s%s%s", (int)(mark - sent.line), sent.line, id,
                     (int)(second - mark - 2), mark + 2, receipt, second + 2);
            sent.line = line;
        }
        send_request(fixture, &sent);
        assert_status(&sent, step->status);
        assert_string_equal(request.operation->name, step->operation);
        assert_headers(step->headers);
        assert_null(request.response.reason);
        assert_header("!x-ms-error-code");
        if (step->body != NULL)
            assert_body_has(step->body);
        else
            assert_int_equal(answer_body().len, 0);
        find_element("MessageId", id, sizeof(id));
        find_element("PopReceipt", receipt, sizeof(receipt));
        performed[http_operation_index(request.operation)] = true;
    }
    size_t missing = 0;
    for (size_t i = 0; i < http_operation_count(); i++) {
        if (http_operation_get(i)->service != HTTP_SERVICE_OF_QUEUES)
            continue;
        if (!performed[i])
            print_message("%s has no step\n", http_operation_get(i)->name);
        missing += !performed[i];
    }
    assert_int_equal(missing, 0);
}

static void answers_to_reads_are_not_cached(void **state)
{
    struct service_fixture *fixture = *state;
    const struct sent create = { .line = "PUT /tasks" };
    send_request(fixture, &create);
    request_complete_answer(&request);
    assert_header("!Cache-Control");
    static const char *const lines[] = { "GET ?comp=list", "GET /tasks?comp=metadata",
                                         "GET /tasks?comp=acl", "GET /tasks/messages",
                                         "GET /tasks/messages?peekonly=true" };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const struct sent sent = { .line = lines[i] };
        send_request(fixture, &sent);
        assert_status(&sent, 200);
        request_complete_answer(&request);
        assert_header("Cache-Control: no-cache");
    }
    const struct sent absent = { .line = "GET /nowhere?comp=metadata" };
    send_request(fixture, &absent);
    request_complete_answer(&request);
    assert_fault(&absent, 404, "QueueNotFound");
    assert_header("!Cache-Control");
}

static void a_put_is_answered_as_its_version_wants(void **state)
{
    struct service_fixture *fixture = *state;
    const struct sent create = { .line = "PUT /tasks" };
    send_request(fixture, &create);
    const struct sent old = { .line = "POST /tasks/messages",
                              .headers = { "x-ms-version: 2015-12-11" },
                              .body = TEXT("x") };
    send_request(fixture, &old);
    assert_status(&old, 201);
    assert_int_equal(answer_body().len, 0);
    const struct sent new = { .line = "POST /tasks/messages",
                              .headers = { "x-ms-version: 2016-05-31" },
                              .body = TEXT("x") };
    send_request(fixture, &new);
    assert_body_has("<PopReceipt>");
    const struct sent long_lived = { .line = "POST /tasks/messages?messagettl=-1",
                                     .headers = { "x-ms-version: 2016-05-31" },
                                     .body = TEXT("x") };
    send_request(fixture, &long_lived);
    assert_fault(&long_lived, 400, "OutOfRangeQueryParameterValue");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_QUEUES(every_operation_succeeds_once),
        WITH_QUEUES(answers_to_reads_are_not_cached),
        WITH_QUEUES(a_put_is_answered_as_its_version_wants),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
