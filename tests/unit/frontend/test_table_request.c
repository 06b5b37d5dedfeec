/*
 * test_table_request.c - requests of the table service, from their first header to their answer.
 *
 * Each operation of operations_table.def is performed once; headers and bodies are those the
 * service has been recorded to answer with.  Then what is refused, and that nothing changed.
 */
#include "base/strbuf.h"
#include "http_request_fixture.h"
#include "service/limits.h"

static int table_setup(void **state)
{
    const int result = request_setup(state);
    context.kind = &http_table_service;
    return result;
}

#define WITH_TABLES(test)                                                                          \
    {                                                                                              \
#test, test, table_setup, request_teardown, &fixture_on_memory                             \
    }

#define MINIMAL  "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
#define ENDPOINT "http://127.0.0.1:10000/devstoreaccount1"
#define DATA     "X-Content-Type-Options: nosniff", "Cache-Control: no-cache"

/* --- one success of every operation --- */

struct step {
    const char *operation;
    unsigned status;
    struct sent sent;
    const char *headers[WANTED_MAX];
    const char *body; /* a part of it; NULL: there is none */
};

#define BATCH_TYPE "Content-Type: multipart/mixed; boundary=batch_1"
#define PART_TYPE  "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
#define OPEN       "--batch_1\r\nContent-Type: multipart/mixed; boundary=cs\r\n\r\n"
#define CLOSE      "--cs--\r\n--batch_1--\r\n"
#define PART(line, headers, body)                                                                  \
    "--cs\r\n" PART_TYPE line " HTTP/1.1\r\n" headers "\r\n" body "\r\n"

static const struct step STEPS[] = {
    { "CreateTable",
      201,
      { .line = "POST /Tables", .body = "{\"TableName\":\"Box\"}" },
      { DATA, "Content-Type: " MINIMAL, "Location: " ENDPOINT "/Tables('Box')",
        "!Preference-Applied", "!DataServiceId" },
      "{\"odata.metadata\":\"" ENDPOINT "/$metadata#Tables/@Element\",\"TableName\":\"Box\"}" },
    { "CreateTable",
      204,
      { .line = "POST /Tables()",
        .headers = { "Prefer: return-no-content",
                     "Content-Type: application/json;odata=nometadata" },
        .body = "{\"TableName\":\"Gone\"}" },
      { DATA, "!Content-Type", "Location: " ENDPOINT "/Tables('Gone')",
        "DataServiceId: " ENDPOINT "/Tables('Gone')", "Preference-Applied: return-no-content" },
      NULL },
    { "DeleteTable", 204, { .line = "DELETE /Tables('gone')" }, { DATA, "!Content-Type" }, NULL },
    { "QueryTables",
      200,
      { .line = "GET /Tables?$filter=TableName%20eq%20'Box'" },
      { DATA, "Content-Type: " MINIMAL, "!x-ms-continuation-NextTableName" },
      "{\"odata.metadata\":\"" ENDPOINT
      "/$metadata#Tables\",\"value\":[{\"TableName\":\"Box\"}]}" },
    { "QueryTable",
      200,
      { .line = "GET /Tables('BOX')", .headers = { "Accept: application/json;odata=nometadata" } },
      { DATA, "Content-Type: application/json;odata=nometadata;streaming=true;charset=utf-8" },
      "{\"TableName\":\"Box\"}" },
    { "SetTableAcl",
      204,
      { .line = "PUT /Box?comp=acl",
        .body = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>r"
                "</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>" },
      { "!Content-Type" },
      NULL },
    { "GetTableAcl",
      200,
      { .line = "GET /Box?comp=acl" },
      { "Content-Type: application/xml" },
      "<Id>a</Id><AccessPolicy><Permission>r</Permission></AccessPolicy>" },
    { "InsertEntity",
      201,
      { .line = "POST /Box",
        .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"n@odata.type\":\"Edm.Int64\","
                "\"n\":\"5\",\"d\":5.0,\"Timestamp\":\"x\"}" },
      { DATA, "Content-Type: " MINIMAL, "ETag: *",
        "Location: " ENDPOINT "/Box(PartitionKey='p',RowKey='1')", "!Preference-Applied" },
      "Z\",\"n@odata.type\":\"Edm.Int64\",\"n\":\"5\",\"d\":5.0}" },
    { "InsertEntity",
      204,
      { .line = "POST /Box()",
        .headers = { "Prefer: return-no-content" },
        .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"it's\"}" },
      { DATA, "!Content-Type", "ETag: *",
        "Location: " ENDPOINT "/Box(PartitionKey='p',RowKey='it''s')",
        "DataServiceId: " ENDPOINT "/Box(PartitionKey='p',RowKey='it''s')",
        "Preference-Applied: return-no-content" },
      NULL },
    { "UpdateEntity",
      204,
      { .line = "PUT /Box(PartitionKey='p',RowKey='2')", .body = "{\"a\":1}" },
      { DATA, "ETag: *", "!Content-Type", "!Location" },
      NULL },
    { "MergeEntity",
      204,
      { .line = "PATCH /Box(PartitionKey='p',RowKey='2')",
        .headers = { "If-Match: *" },
        .body = "{\"b\":2}" },
      { DATA, "ETag: *" },
      NULL },
    { "MergeEntityWithMerge",
      204,
      { .line = "MERGE /Box(PartitionKey='p',RowKey='2')", .body = "{\"c\":3}" },
      { DATA, "ETag: *" },
      NULL },
    { "MergeEntityWithMerge",
      204,
      { .line = "POST /Box(PartitionKey='p',RowKey='2')",
        .headers = { "X-HTTP-Method: MERGE" },
        .body = "{\"d\":4}" },
      { DATA, "ETag: *" },
      NULL },
    { "GetEntity",
      200,
      { .line = "GET /Box(RowKey='2',PartitionKey='p')?$format=application/json;odata=nometadata" },
      { DATA, "ETag: *" },
      "Z\",\"a\":1,\"b\":2,\"c\":3,\"d\":4}" },
    { "QueryEntities",
      200,
      { .line = "GET /Box()?$top=1&$select=RowKey&$filter=PartitionKey%20eq%20'p'" },
      { DATA, "x-ms-continuation-NextPartitionKey: 1!4!cA--",
        "x-ms-continuation-NextRowKey: 1!4!Mg--", "!ETag" },
      "{\"odata.metadata\":\"" ENDPOINT
      "/$metadata#Box&$select=RowKey\",\"value\":[{\"odata.etag\":"
      "\"W/" },
    { "QueryEntities",
      200,
      { .line = "GET /Box?$top=2&NextPartitionKey=1!4!cA--&NextRowKey=1!4!Mg--",
        .headers = { "Accept: application/json;odata=nometadata" } },
      { DATA, "!x-ms-continuation-NextPartitionKey" },
      "{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"2\"," },
    { "DeleteEntity",
      204,
      { .line = "DELETE /Box(PartitionKey='p',RowKey='it''s')", .headers = { "If-Match: *" } },
      { DATA, "!ETag" },
      NULL },
    { "EntityGroupTransaction",
      202,
      { .line = "POST /$batch",
        .headers = { BATCH_TYPE },
        .body = OPEN PART("POST " ENDPOINT "/Box", "Prefer: return-no-content\r\n",
                          "{\"PartitionKey\":\"g\",\"RowKey\":\"1\"}")
            PART("PUT /devstoreaccount1/Box(PartitionKey='g',RowKey='2')", "", "{\"a\":1}")
                PART("POST Box(PartitionKey='g',RowKey='3')", "X-HTTP-Method: MERGE\r\n",
                     "{\"a\":1}") CLOSE },
      { DATA, "Content-Type: *" },
      "\r\nHTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: "
      "no-cache\r\n"
      "Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\nETag: W/" },
    { "SetTableServiceProperties",
      202,
      { .line = "PUT ?restype=service&comp=properties",
        .body = "<StorageServiceProperties><Cors><CorsRule><AllowedMethods>PUT</AllowedMethods>"
                "<AllowedOrigins>http://a</AllowedOrigins><AllowedHeaders>x-ms-*</AllowedHeaders>"
                "<ExposedHeaders /><MaxAgeInSeconds>9</MaxAgeInSeconds></CorsRule></Cors>"
                "</StorageServiceProperties>" },
      { "!ETag" },
      NULL },
    { "GetTableServiceProperties",
      200,
      { .line = "GET /?restype=service&comp=properties" },
      { "Content-Type: application/xml" },
      "<AllowedOrigins>http://a</AllowedOrigins>" },
    { "GetTableServiceStats",
      200,
      { .line = "GET /devstoreaccount1-secondary?restype=service&comp=stats",
        .whole_target = true },
      { "Content-Type: application/xml" },
      "<GeoReplication><Status>live</Status>" },
    { "PreflightTableRequest",
      200,
      { .line = "OPTIONS /Box()",
        .credential = BY_URL,
        .headers = { "Origin: http://a", "Access-Control-Request-Method: PUT" } },
      { "Access-Control-Allow-Origin: http://a" },
      NULL },
};

static void every_operation_succeeds_once(void **state)
{
    struct service_fixture *fixture = *state;
    bool performed[256] = { 0 };
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
        const struct step *step = &STEPS[i];
        send_request(fixture, &step->sent);
        assert_status(&step->sent, step->status);
        assert_string_equal(request.operation->name, step->operation);
        assert_headers(step->headers);
        assert_null(request.response.reason);
        assert_header("!x-ms-error-code");
        if (step->body != NULL)
            assert_body_has(step->body);
        else
            assert_int_equal(answer_body().len, 0);
        performed[http_operation_index(request.operation)] = true;
    }
    size_t missing = 0;
    for (size_t i = 0; i < http_operation_count(); i++) {
        if (http_operation_get(i)->service != HTTP_SERVICE_OF_TABLES)
            continue;
        if (!performed[i])
            print_message("%s has no step\n", http_operation_get(i)->name);
        missing += !performed[i];
    }
    assert_int_equal(missing, 0);
}

/* --- what is refused --- */

static void make_table(struct service_fixture *fixture)
{
    static const struct sent sent[] = {
        { .line = "POST /Tables", .body = "{\"TableName\":\"Box\"}" },
        { .line = "POST /Box",
          .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"a\":1,\"b\":\"x\"}" },
    };
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        send_request(fixture, &sent[i]);
        assert_status(&sent[i], 201);
    }
}

/* All there is, without times. */
static struct slice read_all(struct service_fixture *fixture)
{
    static const struct sent sent = { .line = "GET /Box" };
    send_request(fixture, &sent);
    assert_status(&sent, 200);
    return arena_copy(&fixture->arena, answer_body());
}

static void assert_json_error(const struct sent *sent, unsigned status, const char *code,
                              const char *message)
{
    assert_status(sent, status);
    assert_null(request.response.reason);
    assert_body_has("{\"odata.error\":{\"code\":\"");
    assert_body_has(arena_printf(&request.arena, "\"code\":\"%s\"", code).data);
    if (message != NULL)
        assert_body_has(arena_printf(&request.arena, "\"value\":\"%s\\nRequestId:", message).data);
    const char *header = answer_header("x-ms-error-code");
    assert_non_null(header);
    assert_string_equal(header, code);
}

struct fault {
    unsigned status;
    const char *code;
    struct sent sent;
    const char *message; /* NULL: whatever it is */
};

#define ENTITY_LINE(method) method " /Box(PartitionKey='p',RowKey='r')"
#define MALFORMED           "An error occurred while processing this request."

static const struct fault FAULTS[] = {
    /* paths and methods */
    { 400, "InvalidUri", { .line = "GET /Box(PartitionKey='p')" }, NULL },
    { 400, "InvalidUri", { .line = "GET /Box(" }, NULL },
    { 400, "InvalidResourceName", { .line = "GET /Box/x()" }, NULL },
    { 400, "InvalidResourceName", { .line = "GET /b-x" }, NULL },
    { 400, "InvalidResourceName", { .line = "GET /Tables('1ab')" }, NULL },
    { 400, "OutOfRangeInput", { .line = "GET /ab" }, NULL },
    { 405, "UnsupportedHttpVerb", { .line = "PUT /Box" }, NULL },
    { 405, "UnsupportedHttpVerb", { .line = "DELETE /Tables" }, NULL },
    { 400,
      "XMethodIncorrectValue",
      { .line = "POST /Box", .headers = { "X-HTTP-Method: GET" } },
      "The specified X-HTTP-Method is invalid." },
    { 400,
      "XMethodNotUsingPost",
      { .line = ENTITY_LINE("PUT"), .headers = { "X-HTTP-Method: MERGE" }, .body = "{}" },
      NULL },
    /* media types */
    { 415, "AtomFormatNotSupported", { .line = "GET /Box?$format=atom" }, NULL },
    { 415,
      "MediaTypeNotSupported",
      { .line = "GET /Box", .headers = { "Accept: text/plain" } },
      NULL },
    { 415,
      "MediaTypeNotSupported",
      { .line = "GET /Box", .headers = { "Accept: application/json;odata=verbose" } },
      NULL },
    { 415,
      "AtomFormatNotSupported",
      { .line = "POST /Box",
        .headers = { "Content-Type: application/atom+xml" },
        .body = "<entry/>" },
      NULL },
    { 415,
      "MediaTypeNotSupported",
      { .line = "POST /Box", .headers = { "Content-Type: text/plain" }, .body = "x" },
      NULL },
    /* tables */
    { 409,
      "TableAlreadyExists",
      { .line = "POST /Tables", .body = "{\"TableName\":\"BOX\"}" },
      "The table specified already exists." },
    { 400,
      "InvalidResourceName",
      { .line = "POST /Tables", .body = "{\"TableName\":\"a_b\"}" },
      NULL },
    { 400, "OutOfRangeInput", { .line = "POST /Tables", .body = "{\"TableName\":\"ab\"}" }, NULL },
    { 400, "PropertiesNeedValue", { .line = "POST /Tables", .body = "{}" }, NULL },
    { 400, "InvalidInput", { .line = "POST /Tables", .body = "{\"TableName\":[]}" }, MALFORMED },
    { 404,
      "ResourceNotFound",
      { .line = "DELETE /Tables('none')" },
      "The specified resource does not exist." },
    { 404, "ResourceNotFound", { .line = "GET /Tables('none')" }, NULL },
    /* bodies of entities */
    { 400, "InvalidInput", { .line = "POST /Box", .body = "" }, MALFORMED },
    { 400, "InvalidInput", { .line = "POST /Box", .body = "{\"PartitionKey\":" }, MALFORMED },
    { 400, "InvalidInput", { .line = "POST /Box", .body = "[1]" }, MALFORMED },
    { 400,
      "InvalidInput",
      { .line = "POST /Box",
        .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"x\",\"a\":{\"b\":[[[[[1]]]]]}}" },
      MALFORMED },
    { 400,
      "InvalidInput",
      { .line = "POST /Box",
        .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"x\",\"a@odata.type\":\"Edm.Int64\","
                "\"a\":\"x\"}" },
      MALFORMED },
    { 400,
      "InvalidInput",
      { .line = "POST /Box", .body = "{\"PartitionKey\":1,\"RowKey\":\"x\"}" },
      NULL },
    { 400,
      "PropertiesNeedValue",
      { .line = "POST /Box", .body = "{\"RowKey\":\"x\"}" },
      "The values are not specified for all properties in the entity." },
    { 400,
      "PropertiesNeedValue",
      { .line = "POST /Box", .body = "{\"PartitionKey\":\"x\"}" },
      NULL },
    { 400,
      "DuplicatePropertiesSpecified",
      { .line = "POST /Box", .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"x\",\"a\":1,\"a\":2}" },
      NULL },
    { 400,
      "PropertyNameInvalid",
      { .line = "POST /Box", .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"x\",\"a-b\":1}" },
      NULL },
    { 400,
      "OutOfRangeInput",
      { .line = "POST /Box", .body = "{\"PartitionKey\":\"p/q\",\"RowKey\":\"x\"}" },
      NULL },
    { 400,
      "InvalidInput",
      { .line = ENTITY_LINE("PUT"), .body = "{\"PartitionKey\":\"other\"}" },
      MALFORMED },
    { 400,
      "InvalidInput",
      { .line = ENTITY_LINE("PATCH"), .body = "{\"RowKey\":\"other\"}" },
      NULL },
    /* states */
    { 409,
      "EntityAlreadyExists",
      { .line = "POST /Box", .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}" },
      "The specified entity already exists." },
    { 404,
      "TableNotFound",
      { .line = "POST /None", .body = "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}" },
      "The table specified does not exist." },
    { 404, "TableNotFound", { .line = "GET /None" }, NULL },
    { 404, "ResourceNotFound", { .line = "GET /Box(PartitionKey='p',RowKey='x')" }, NULL },
    { 404, "ResourceNotFound", { .line = "GET /Box(PartitionKey='p',RowKey='%00%2f')" }, NULL },
    { 404,
      "ResourceNotFound",
      { .line = "PUT /Box(PartitionKey='p',RowKey='x')",
        .headers = { "If-Match: *" },
        .body = "{}" },
      NULL },
    { 404,
      "ResourceNotFound",
      { .line = "DELETE /Box(PartitionKey='p',RowKey='x')", .headers = { "If-Match: *" } },
      NULL },
    /* conditions */
    { 412,
      "UpdateConditionNotSatisfied",
      { .line = ENTITY_LINE("PUT"),
        .headers = { "If-Match: W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"" },
        .body = "{}" },
      "The update condition specified in the request was not satisfied." },
    { 412,
      "UpdateConditionNotSatisfied",
      { .line = ENTITY_LINE("DELETE"), .headers = { "If-Match: W/\"wrong\"" } },
      NULL },
    { 412,
      "UpdateConditionNotSatisfied",
      { .line = ENTITY_LINE("DELETE"),
        .headers = { "If-Match: W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"" } },
      NULL },
    { 400,
      "InvalidInput",
      { .line = ENTITY_LINE("PUT"), .headers = { "If-Match: \"0x1\"" }, .body = "{}" },
      "The etag value '\\\"0x1\\\"' specified in one of the request headers is not valid. Please "
      "make "
      "sure only one etag value is specified and is valid." },
    { 400,
      "InvalidInput",
      { .line = ENTITY_LINE("MERGE"), .headers = { "If-None-Match: *" }, .body = "{}" },
      NULL },
    { 400,
      "InvalidInput",
      { .line = ENTITY_LINE("DELETE"), .headers = { "If-Match: *", "If-None-Match: *" } },
      "Both If-Match and If-None-Match HTTP headers cannot be specified at the same time. Please "
      "specify either one of the headers or none of them." },
    { 400, "MissingRequiredHeader", { .line = ENTITY_LINE("DELETE") }, NULL },
    /* queries */
    { 400,
      "InvalidInput",
      { .line = "GET /Box()?$filter=aaa%20bbb%20ccc" },
      "Syntax error at position 7 in 'aaa bbb ccc'." },
    { 400,
      "OutOfRangeInput",
      { .line = "GET /Box?$top=0" },
      "The 'top' parameter of value '0' is out of range." },
    { 400, "OutOfRangeInput", { .line = "GET /Box?$top=1001" }, NULL },
    { 400, "InvalidInput", { .line = "GET /Box?$top=x" }, NULL },
    { 400, "InvalidInput", { .line = "GET /Tables?$top=-1" }, NULL },
    { 400, "InvalidQueryParameterValue", { .line = "GET /Box?$select=a,,b" }, NULL },
    { 400, "InvalidInput", { .line = "GET /Box?NextPartitionKey=p" }, NULL },
    { 400, "InvalidInput", { .line = "GET /Box?NextRowKey=1!4!cA--" }, NULL },
    { 400, "InvalidInput", { .line = "GET /Box?NextPartitionKey=1!4!AAA-" }, NULL },
    { 400, "InvalidInput", { .line = "GET /Tables?NextTableName=1!4!AAA-" }, NULL },
    /* batches */
    { 400, "InvalidInput", { .line = "POST /$batch", .body = "x" }, NULL },
    { 400,
      "InvalidInput",
      { .line = "POST /$batch", .headers = { BATCH_TYPE }, .body = "x" },
      NULL },
    { 400,
      "InvalidInput",
      { .line = "POST /$batch", .headers = { BATCH_TYPE }, .body = OPEN CLOSE },
      NULL },
    { 413,
      "RequestBodyTooLarge",
      { .line = "POST /$batch", .headers = { BATCH_TYPE }, .length = "4194305" },
      NULL },
};

static void faults_are_answered_as_documented_and_change_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    make_table(fixture);
    const struct slice before = read_all(fixture);
    for (size_t i = 0; i < sizeof(FAULTS) / sizeof(FAULTS[0]); i++) {
        const struct fault *fault = &FAULTS[i];
        send_request(fixture, &fault->sent);
        assert_json_error(&fault->sent, fault->status, fault->code, fault->message);
    }
    assert_true(slice_equal(before, read_all(fixture)));
}

static void errors_about_policies_and_properties_are_xml(void **state)
{
    struct service_fixture *fixture = *state;
    static const struct fault faults[] = {
        { 404, "ResourceNotFound", { .line = "GET /None?comp=acl" }, NULL },
        { 415,
          "AtomFormatNotSupported",
          { .line = "GET /Box", .headers = { "Accept: application/atom+xml" } },
          NULL },
        { 404,
          "ResourceNotFound",
          { .line = "PUT /None?comp=acl", .body = "<SignedIdentifiers/>" },
          NULL },
        { 400, "InvalidXmlDocument", { .line = "PUT /Box?comp=acl", .body = "<x" }, NULL },
        { 400, "InvalidResourceName", { .line = "GET /b_x?comp=acl" }, NULL },
        { 400,
          "InvalidXmlDocument",
          { .line = "PUT ?restype=service&comp=properties", .body = "<x/>" },
          NULL },
    };
    make_table(fixture);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        send_request(fixture, &faults[i].sent);
        assert_status(&faults[i].sent, faults[i].status);
        assert_header("Content-Type: application/xml");
        assert_body_has(arena_printf(&request.arena,
                                     "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error "
                                     "xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/"
                                     "dataservices/metadata\"><m:code>%s</m:code><m:message "
                                     "xml:lang=\"en-US\">",
                                     faults[i].code)
                            .data);
    }
}

static void a_wrong_key_is_answered_at_the_door(void **state)
{
    struct service_fixture *fixture = *state;
    static const struct sent sent = { .line = "POST /$batch", .credential = BY_WRONG_KEY };
    send_request(fixture, &sent);
    assert_json_error(&sent, 403, "AuthenticationFailed", NULL);
    assert_header("Content-Type: application/json");
}

static void an_insert_is_echoed_and_its_etag_is_its_timestamp(void **state)
{
    struct service_fixture *fixture = *state;
    make_table(fixture);
    const char *etag = answer_header("ETag");
    assert_non_null(etag);
    assert_int_equal(strncmp(etag, "W/\"datetime'2026-11-15T00%3A00%3A00.", 36), 0);
    const struct sent update = {
        .line = ENTITY_LINE("PUT"),
        .headers = { arena_printf(&fixture->arena, "If-Match: %s", etag).data },
        .body = "{}",
    };
    send_request(fixture, &update);
    assert_status(&update, 204);
    send_request(fixture, &update);
    assert_status(&update, 412);
}

/* --- entity group transactions --- */

struct group_fault {
    const char *body;
    const char *status; /* the line of the part */
    const char *error;  /* a part of the body */
};

#define GOOD_PART                                                                                  \
    PART("POST " ENDPOINT "/Box", "Prefer: return-no-content\r\n",                                 \
         "{\"PartitionKey\":\"p\",\"RowKey\":\"new\"}")

static const struct group_fault GROUP_FAULTS[] = {
    { OPEN GOOD_PART PART("POST " ENDPOINT "/Box", "", "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}")
          CLOSE,
      "409 Conflict",
      "\"EntityAlreadyExists\",\"message\":{\"lang\":\"en-US\",\"value\":\"1:The "
      "specified entity already exists.\\nRequestId:" },
    { OPEN GOOD_PART PART("POST " ENDPOINT "/Box", "", "{\"PartitionKey\":\"q\",\"RowKey\":\"x\"}")
          CLOSE,
      "400 Bad Request",
      "\"CommandsInBatchActOnDifferentPartitions\",\"message\":{\"lang\":"
      "\"en-US\",\"value\":\"1:All commands in a batch must operate on same "
      "entity group." },
    { OPEN GOOD_PART GOOD_PART CLOSE, "400 Bad Request",
      "\"InvalidDuplicateRow\",\"message\":{\"lang\":\"en-US\",\"value\":\"1:The batch request "
      "contains multiple changes with same row key. An entity can appear only once in a batch "
      "request." },
    { OPEN PART("POST " ENDPOINT "/None", "", "{\"PartitionKey\":\"p\",\"RowKey\":\"x\"}") CLOSE,
      "404 Not Found", "\"value\":\"0:The table specified does not exist." },
    { OPEN PART("DELETE " ENDPOINT "/Box(PartitionKey='p',RowKey='x')", "If-Match: *\r\n", "")
          CLOSE,
      "404 Not Found", "\"value\":\"The specified resource does not exist." },
    { OPEN PART("DELETE " ENDPOINT "/Box(PartitionKey='p',RowKey='r')",
                "If-Match: W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"\r\n", "") CLOSE,
      "412 Precondition Failed", "\"value\":\"The update condition specified in the request was" },
    { OPEN GOOD_PART PART("DELETE " ENDPOINT "/Box(PartitionKey='p',RowKey='r')",
                          "If-Match: W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"\r\n", "")
          CLOSE,
      "412 Precondition Failed",
      "\"value\":\"1:The update condition specified in the request was" },
    { OPEN GOOD_PART PART("POST " ENDPOINT "/Box", "", "{\"PartitionKey\":") CLOSE,
      "400 Bad Request",
      "\"InvalidInput\",\"message\":{\"lang\":\"en-US\",\"value\":\"1:An error "
      "occurred while processing this request." },
    { OPEN GOOD_PART PART("POST " ENDPOINT "/Tables", "", "{\"TableName\":\"Other\"}") CLOSE,
      "405 Method Not Allowed", "\"value\":\"1:" },
    { OPEN GOOD_PART PART("GET " ENDPOINT "/Box(PartitionKey='p',RowKey='r')", "", "") CLOSE,
      "405 Method Not Allowed", "\"value\":\"1:" },
    { OPEN GOOD_PART PART("POST " ENDPOINT "/Other", "",
                          "{\"PartitionKey\":\"p\",\"RowKey\":\"x\"}") CLOSE,
      "400 Bad Request", "\"value\":\"1:All commands in a batch must operate on same" },
    { OPEN GOOD_PART PART("DELETE " ENDPOINT "/Box(PartitionKey='p',RowKey='r')", "", "") CLOSE,
      "400 Bad Request", "\"MissingRequiredHeader\"" },
    { OPEN GOOD_PART PART("DELETE " ENDPOINT "/Box(", "If-Match: *\r\n", "") CLOSE,
      "400 Bad Request", "\"InvalidUri\"" },
};

static void a_group_that_fails_is_one_part_and_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    make_table(fixture);
    const struct slice before = read_all(fixture);
    for (size_t i = 0; i < sizeof(GROUP_FAULTS) / sizeof(GROUP_FAULTS[0]); i++) {
        const struct group_fault *fault = &GROUP_FAULTS[i];
        const struct sent sent = { .line = "POST /$batch",
                                   .headers = { BATCH_TYPE },
                                   .body = fault->body };
        send_request(fixture, &sent);
        assert_status(&sent, 202);
        const struct slice beginning = arena_printf(
            &request.arena,
            "--batchresponse_%s\r\nContent-Type: multipart/mixed; boundary=changesetresponse_%s"
            "\r\n\r\n--changesetresponse_%s\r\n" PART_TYPE "HTTP/1.1 %s\r\n"
            "X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n",
            request.id_text, request.id_text, request.id_text, fault->status);
        if (!slice_starts_with(answer_body(), beginning))
            print_message("%.*s\n", (int)answer_body().len, answer_body().data);
        assert_true(slice_starts_with(answer_body(), beginning));
        assert_body_has(fault->error);
        assert_body_has(arena_printf(&request.arena,
                                     "}}}\r\n--changesetresponse_%s--\r\n--batchresponse_%s--\r\n",
                                     request.id_text, request.id_text)
                            .data);
    }
    assert_true(slice_equal(before, read_all(fixture)));
}

static void a_group_of_more_than_100_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    make_table(fixture);
    for (int count = 100; count <= 101; count++) {
        struct strbuf body;
        strbuf_init(&body, &fixture->arena);
        strbuf_add_text(&body, OPEN);
        for (int i = 0; i < count; i++)
            strbuf_printf(&body,
                          PART("POST " ENDPOINT "/Box", "Prefer: return-no-content\r\n",
                               "{\"PartitionKey\":\"g%d\",\"RowKey\":\"%d\"}"),
                          count, i);
        strbuf_add(&body, slice_make(CLOSE, sizeof(CLOSE)));
        const struct sent sent = { .line = "POST /$batch",
                                   .headers = { BATCH_TYPE },
                                   .body = body.data };
        send_request(fixture, &sent);
        assert_status(&sent, 202);
        if (count == 101)
            assert_body_has("HTTP/1.1 400 Bad Request\r\nX-Content-Type-Options: nosniff\r\n"
                            "Cache-Control: no-cache\r\nPreference-Applied: return-no-content\r\n"
                            "DataServiceVersion: 3.0;\r\nContent-Type: " MINIMAL "\r\n\r\n"
                            "{\"odata.error\":{\"code\":\"InvalidInput\",\"message\":{\"lang\":"
                            "\"en-US\",\"value\":\"99:The batch request operation exceeds the "
                            "maximum 100 changes per change set.\\nRequestId:");
        else
            assert_body_has("HTTP/1.1 204 No Content\r\n");
    }
    const struct sent query = { .line = "GET /Box?$filter=PartitionKey%20eq%20'g101'" };
    send_request(fixture, &query);
    assert_body_has("\"value\":[]}");
}

static void a_batch_may_be_one_query(void **state)
{
    struct service_fixture *fixture = *state;
    make_table(fixture);
    const struct sent point = {
        .line = "POST /$batch",
        .headers = { BATCH_TYPE },
        .body =
            "--batch_1\r\n" PART_TYPE "GET " ENDPOINT "/Box(PartitionKey='p',RowKey='r') HTTP/1.1"
            "\r\nAccept: application/json;odata=nometadata\r\n\r\n--batch_1--\r\n",
    };
    send_request(fixture, &point);
    assert_status(&point, 202);
    assert_body_has("\r\n" PART_TYPE "HTTP/1.1 200 OK\r\n");
    assert_body_has("\"a\":1,\"b\":\"x\"}\r\n--batchresponse_");
    const struct sent query = {
        .line = "POST /$batch",
        .headers = { BATCH_TYPE },
        .body =
            "--batch_1\r\n" PART_TYPE "GET " ENDPOINT "/Box()?$filter=a%20eq%201 HTTP/1.1\r\n\r\n"
            "\r\n--batch_1--\r\n",
    };
    send_request(fixture, &query);
    assert_status(&query, 202);
    assert_body_has("{\"odata.metadata\":\"" ENDPOINT "/$metadata#Box\",\"value\":[{");
    const struct sent absent = {
        .line = "POST /$batch",
        .headers = { BATCH_TYPE },
        .body =
            "--batch_1\r\n" PART_TYPE "GET " ENDPOINT "/Box(PartitionKey='p',RowKey='x') HTTP/1.1"
            "\r\n\r\n--batch_1--\r\n",
    };
    send_request(fixture, &absent);
    assert_status(&absent, 202);
    assert_body_has("HTTP/1.1 404 Not Found\r\n");
    assert_body_has("\"value\":\"The specified resource does not exist.\\n");
}

/* --- SAS --- */

/* A SAS of table Box with these permissions and key range, for version 2019-02-02. */
static const char *table_sas(const char *permissions, const char *range_lines, const char *range)
{
    static char sas[512];
    forget_request();
    const struct slice signature = hmac_base64(
        arena_printf(&request.arena,
                     "%s\n\n2027-01-01T00:00:00Z\n/table/" FIXTURE_ACCOUNT_NAME "/box\n\n\n\n"
                     "2019-02-02\n%s",
                     permissions, range_lines));
    struct strbuf encoded;
    strbuf_init(&encoded, &request.arena);
    for (size_t i = 0; i < signature.len; i++)
        strbuf_printf(&encoded, "%%%02x", (unsigned char)signature.data[i]);
    snprintf(sas, sizeof(sas), "sv=2019-02-02&tn=Box&sp=%s&se=2027-01-01T00:00:00Z%s&sig=%.*s",
             permissions, range, (int)encoded.len, encoded.data);
    return sas;
}

static unsigned send_with_sas(struct service_fixture *fixture, const char *line, const char *sas,
                              const char *header, const char *body)
{
    char target[800];
    snprintf(target, sizeof(target), "%s%s%s", line, strchr(line, '?') == NULL ? "?" : "&", sas);
    const struct sent sent = {
        .line = target, .credential = BY_URL, .headers = { header }, .body = body
    };
    send_request(fixture, &sent);
    return request.response.status;
}

static void the_letters_of_a_sas_say_what_may_be_done(void **state)
{
    struct service_fixture *fixture = *state;
    make_table(fixture);
    static const struct {
        const char *line;
        const char *header;
        const char *body;
        const char *needs;
        unsigned status;
    } rows[] = {
        { ENTITY_LINE("GET"), NULL, NULL, "r", 200 },
        { "GET /Box", NULL, NULL, "r", 200 },
        { "POST /Box", NULL, "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}", "a", 409 },
        { ENTITY_LINE("PUT"), "If-Match: *", "{}", "u", 204 },
        { ENTITY_LINE("MERGE"), "If-Match: *", "{}", "u", 204 },
        { ENTITY_LINE("PUT"), NULL, "{}", "au", 204 },
        { ENTITY_LINE("PATCH"), NULL, "{}", "au", 204 },
        { "DELETE /Box(PartitionKey='p',RowKey='x')", "If-Match: *", NULL, "d", 404 },
    };
    static const char letters[] = "raud";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (unsigned set = 1; set < 16; set++) {
            char permissions[5] = "";
            size_t count = 0;
            for (size_t letter = 0; letter < 4; letter++)
                if ((set >> letter & 1) != 0)
                    permissions[count++] = letters[letter];
            bool enough = true;
            for (const char *needed = rows[i].needs; *needed != '\0'; needed++)
                enough = enough && strchr(permissions, *needed) != NULL;
            const char *sas = table_sas(permissions, "\n\n\n", "");
            assert_int_equal(
                send_with_sas(fixture, rows[i].line, sas, rows[i].header, rows[i].body),
                enough ? rows[i].status : 403);
            if (!enough)
                assert_header("x-ms-error-code: AuthorizationPermissionMismatch");
        }
    }
}

static void a_sas_of_a_table_is_for_its_entities_alone(void **state)
{
    struct service_fixture *fixture = *state;
    make_table(fixture);
    const struct sent other = { .line = "POST /Tables", .body = "{\"TableName\":\"Other\"}" };
    send_request(fixture, &other);
    const char *sas = table_sas("raud", "\n\n\n", "");
    assert_int_equal(send_with_sas(fixture, "GET /box", sas, NULL, NULL), 200);
    assert_int_equal(send_with_sas(fixture, "GET /Other", sas, NULL, NULL), 403);
    assert_int_equal(send_with_sas(fixture, "GET /Tables", sas, NULL, NULL), 403);
    assert_int_equal(send_with_sas(fixture, "GET /Tables('Box')", sas, NULL, NULL), 403);
    assert_int_equal(send_with_sas(fixture, "DELETE /Tables('Box')", sas, NULL, NULL), 403);
    assert_int_equal(send_with_sas(fixture, "GET /Box?comp=acl", sas, NULL, NULL), 403);
    assert_int_equal(send_with_sas(fixture, "POST /Tables", sas, NULL, "{\"TableName\":\"Third\"}"),
                     403);
    assert_int_equal(send_with_sas(fixture, "POST /$batch", sas, BATCH_TYPE,
                                   OPEN PART("POST " ENDPOINT "/Other", "",
                                             "{\"PartitionKey\":\"p\",\"RowKey\":\"x\"}") CLOSE),
                     202);
    assert_body_has("HTTP/1.1 403 Forbidden\r\n");
    assert_int_equal(send_with_sas(fixture, "POST /$batch", sas, BATCH_TYPE,
                                   "--batch_1\r\n" PART_TYPE "GET " ENDPOINT "/Other HTTP/1.1\r\n"
                                   "\r\n\r\n--batch_1--\r\n"),
                     202);
    assert_body_has("HTTP/1.1 403 Forbidden\r\n");
}

static void a_key_range_hides_what_is_outside_and_refuses_to_change_it(void **state)
{
    struct service_fixture *fixture = *state;
    static const char *const keys[][2] = { { "o", "z" }, { "p", "b" }, { "p", "s" }, { "q", "a" } };
    make_table(fixture); /* and (p, r) */
    for (size_t i = 0; i < 4; i++) {
        const struct sent sent = {
            .line = "POST /Box",
            .body = arena_printf(&fixture->arena, "{\"PartitionKey\":\"%s\",\"RowKey\":\"%s\"}",
                                 keys[i][0], keys[i][1])
                        .data,
        };
        send_request(fixture, &sent);
        assert_status(&sent, 201);
    }
    const char *sas = table_sas("raud", "p\nc\np\nr", "&spk=p&srk=c&epk=p&erk=r");
    assert_int_equal(send_with_sas(fixture, "GET /Box?$select=RowKey&$format=json;odata=nometadata",
                                   sas, NULL, NULL),
                     200);
    assert_true(slice_is(answer_body(), "{\"value\":[{\"RowKey\":\"r\"}]}"));
    assert_int_equal(send_with_sas(fixture, ENTITY_LINE("GET"), sas, NULL, NULL), 200);
    assert_int_equal(
        send_with_sas(fixture, "GET /Box(PartitionKey='p',RowKey='b')", sas, NULL, NULL), 404);
    assert_int_equal(
        send_with_sas(fixture, "POST /Box", sas, NULL, "{\"PartitionKey\":\"p\",\"RowKey\":\"d\"}"),
        201);
    static const struct {
        const char *line;
        const char *header;
        const char *body;
    } outside[] = {
        { "POST /Box", NULL, "{\"PartitionKey\":\"p\",\"RowKey\":\"a\"}" },
        { "POST /Box", NULL, "{\"PartitionKey\":\"r\",\"RowKey\":\"d\"}" },
        { "PUT /Box(PartitionKey='q',RowKey='a')", NULL, "{}" },
        { "MERGE /Box(PartitionKey='p',RowKey='s')", "If-Match: *", "{}" },
        { "DELETE /Box(PartitionKey='o',RowKey='z')", "If-Match: *", NULL },
    };
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        assert_int_equal(
            send_with_sas(fixture, outside[i].line, sas, outside[i].header, outside[i].body), 403);
        assert_header("x-ms-error-code: AuthorizationFailure");
    }
    assert_int_equal(send_with_sas(fixture, "POST /$batch", sas, BATCH_TYPE,
                                   OPEN PART("POST " ENDPOINT "/Box", "",
                                             "{\"PartitionKey\":\"p\",\"RowKey\":\"e\"}")
                                       PART("POST " ENDPOINT "/Box", "",
                                            "{\"PartitionKey\":\"p\",\"RowKey\":\"z\"}") CLOSE),
                     202);
    assert_body_has("HTTP/1.1 403 Forbidden\r\n");
    assert_body_has("\"value\":\"1:This request is not authorized to perform this operation.");
    assert_int_equal(
        send_with_sas(fixture, "GET /Box(PartitionKey='p',RowKey='e')", sas, NULL, NULL), 404);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TABLES(every_operation_succeeds_once),
        WITH_TABLES(faults_are_answered_as_documented_and_change_nothing),
        WITH_TABLES(errors_about_policies_and_properties_are_xml),
        WITH_TABLES(a_wrong_key_is_answered_at_the_door),
        WITH_TABLES(an_insert_is_echoed_and_its_etag_is_its_timestamp),
        WITH_TABLES(a_group_that_fails_is_one_part_and_changes_nothing),
        WITH_TABLES(a_group_of_more_than_100_is_refused),
        WITH_TABLES(a_batch_may_be_one_query),
        WITH_TABLES(the_letters_of_a_sas_say_what_may_be_done),
        WITH_TABLES(a_sas_of_a_table_is_for_its_entities_alone),
        WITH_TABLES(a_key_range_hides_what_is_outside_and_refuses_to_change_it),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
