/*
 * test_http_request_fault.c - requests that are refused.
 *
 * Each class of fault is answered with its status, code and body, and leaves the store as it was,
 * byte for byte; a shared access signature allows what it says and nothing else.
 */
#include "http_request_fixture.h"

/* --- faults --- */

struct fault {
    unsigned status;
    const char *code;
    const char *body; /* a part of it, or NULL */
    struct sent sent;
};

static const struct fault FAULTS[] = {
    /* who is asking */
    { 401, "NoAuthenticationInformation", NULL, { .line = "GET /box/blob", .credential = BY_URL } },
    { 401,
      "NoAuthenticationInformation",
      NULL,
      { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .body = "x", .credential = BY_URL } },
    { 404,
      "ResourceNotFound",
      NULL,
      { .line = "GET /box/blob",
        .headers = { "x-ms-version: 2018-03-28" },
        .credential = BY_URL } },
    { 403,
      "AuthenticationFailed",
      NULL,
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB },
        .body = "x",
        .credential = BY_WRONG_KEY } },
    { 401,
      "InvalidAuthenticationInfo",
      NULL,
      { .line = "DELETE /box/blob",
        .headers = { "Authorization: Bearer abc" },
        .credential = BY_URL } },
    { 400,
      "InvalidAuthenticationInfo",
      NULL,
      { .line = "DELETE /box/blob",
        .headers = { "Authorization: nonsense" },
        .credential = BY_URL } },
    { 403,
      "AuthenticationFailed",
      NULL,
      { .line = "DELETE /box/blob?sv=2020-04-08&ss=b&srt=o&sp=d&se=2030-01-01&sig=AA",
        .credential = BY_URL } },

    /* what is asked */
    { 404,
      "ResourceNotFound",
      NULL,
      { .line = "GET /nobody/box/blob", .whole_target = true, .credential = BY_URL } },
    { 400, "InvalidUri", NULL, { .line = "GET /b%zz/blob", .credential = BY_URL } },
    { 400, "InvalidResourceName", NULL, { .line = "PUT /Box?restype=container" } },
    { 400, "OutOfRangeInput", NULL, { .line = "PUT /ab?restype=container" } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-version</HeaderName><HeaderValue>1999-01-01</HeaderValue>",
      { .line = "GET /box/blob", .headers = { "x-ms-version: 1999-01-01" } } },
    { 405, "UnsupportedHttpVerb", NULL, { .line = "POST /box/blob" } },
    { 400,
      "InvalidQueryParameterValue",
      "<QueryParameterName>comp</QueryParameterName><QueryParameterValue>what<",
      { .line = "GET /box/blob?comp=what" } },
    { 501, "NotImplemented", NULL, { .line = "PUT /box/blob?comp=expiry" } },
    { 400,
      "MissingRequiredHeader",
      "<HeaderName>x-ms-blob-type</HeaderName>",
      { .line = "PUT /box/new", .body = "x" } },
    { 501,
      "NotImplemented",
      "<HeaderName>x-ms-legal-hold</HeaderName>",
      { .line = "PUT /box/new", .headers = { PUT_BLOB, "x-ms-legal-hold: true" }, .body = "x" } },
    { 400,
      "InvalidBlobTier",
      NULL,
      { .line = "PUT /box/new", .headers = { PUT_BLOB, "x-ms-access-tier: Warm" }, .body = "x" } },
    { 400,
      "InvalidTag",
      NULL,
      { .line = "PUT /box/new", .headers = { PUT_BLOB, "x-ms-tags: a=%23" }, .body = "x" } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-if-tags</HeaderName>",
      { .line = "PUT /box/new", .headers = { PUT_BLOB, "x-ms-if-tags: a=1" }, .body = "x" } },
    { 400,
      "InvalidQueryParameterValue",
      "<Reason>This operation is only allowed on the root blob.",
      { .line = "PUT /box/blob?comp=metadata&snapshot=2026-11-15T00:00:00.0000000Z" } },
    { 400,
      "MutuallyExclusiveQueryParameters",
      NULL,
      { .line = "GET /box/blob?snapshot=2026-11-15T00:00:00.0000000Z"
                "&versionid=2026-11-15T00:00:00.0000000Z" } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-delete-snapshots<",
      { .line = "DELETE /box/blob?snapshot=2026-11-15T00:00:00.0000000Z",
        .headers = { "x-ms-delete-snapshots: only" } } },
    { 404,
      "BlobNotFound",
      NULL,
      { .line = "GET /box/blob?snapshot=2026-11-15T00:00:00.0000000Z" } },
    { 400,
      "InvalidQueryParameterValue",
      "<QueryParameterName>snapshot<",
      { .line = "DELETE /box/blob?snapshot=then" } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderValue>all<",
      { .line = "DELETE /box/blob", .headers = { "x-ms-delete-snapshots: all" } } },
    { 400,
      "OutOfRangeQueryParameterValue",
      "<QueryParameterName>maxresults</QueryParameterName><QueryParameterValue>0"
      "</QueryParameterValue><MinimumAllowed>1</MinimumAllowed><MaximumAllowed>5000<",
      { .line = "GET /box?restype=container&comp=list&maxresults=0" } },
    { 400,
      "InvalidQueryParameterValue",
      NULL,
      { .line = "GET /box?restype=container&comp=list&maxresults=many" } },
    { 400,
      "InvalidQueryParameterValue",
      "<QueryParameterName>marker<",
      { .line = "GET /box?restype=container&comp=list&marker=2!8!bogus" } },
    { 400,
      "InvalidQueryParameterValue",
      "<QueryParameterName>marker<",
      { .line = "GET /box?restype=container&comp=list&marker=2!8!ZSZm" } },
    { 400,
      "InvalidQueryParameterValue",
      "<QueryParameterName>prefix<",
      { .line = "GET /box?restype=container&comp=list&prefix=%FF" } },
    { 403,
      "WriteOperationNotSupportedOnSecondary",
      NULL,
      { .line = "PUT -secondary/box/blob", .headers = { PUT_BLOB }, .body = "x" } },

    /* metadata */
    { 400,
      "InvalidMetadata",
      NULL,
      { .line = "PUT /box/blob?comp=metadata", .headers = { "x-ms-meta-a-b: 1" } } },
    { 400,
      "InvalidMetadata",
      NULL,
      { .line = "PUT /box/blob?comp=metadata",
        .headers = { "x-ms-meta-a: 1", "x-ms-meta-A: 2" } } },
    { 400,
      "EmptyMetadataKey",
      NULL,
      { .line = "PUT /box?restype=container&comp=metadata", .headers = { "x-ms-meta-: 1" } } },

    /* bodies */
    { 411,
      "MissingContentLengthHeader",
      NULL,
      { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .no_length = true } },
    { 413,
      "RequestBodyTooLarge",
      "<MaxLimit>5242880000</MaxLimit>",
      { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .length = "5242880001" } },
    { 413,
      "RequestBodyTooLarge",
      "<MaxLimit>268435456</MaxLimit>",
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB, "x-ms-version: 2018-03-28" },
        .length = "268435457" } },
    { 413,
      "RequestBodyTooLarge",
      "<MaxLimit>67108864</MaxLimit>",
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB, "x-ms-version: 2015-12-11" },
        .length = "67108865" } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>Content-Length<",
      { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .body = "x", .length = "two" } },
    { 400,
      "InvalidInput",
      NULL,
      { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .body = "xy", .length = "3" } },
    { 400,
      "InvalidInput",
      NULL,
      { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .body = "xy", .length = "1" } },
    { 400,
      "InvalidInput",
      NULL,
      { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .body = "xy", .length = "200000" } },
    { 400,
      "Md5Mismatch",
      "<UserSpecifiedMd5>" HELLO_MD5 "</UserSpecifiedMd5><ServerCalculatedMd5>",
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB, "Content-MD5: " HELLO_MD5 },
        .body = "other" } },
    { 400,
      "Md5Mismatch",
      NULL,
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB, "x-ms-blob-content-md5: " HELLO_MD5 },
        .body = "other" } },
    { 400,
      "InvalidMd5",
      NULL,
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB, "Content-MD5: aGVsbG8=" },
        .body = "hello" } },
    { 400,
      "Crc64Mismatch",
      "<UserSpecifiedCrc>vo7q9sPVKY0=</UserSpecifiedCrc><ServerCalculatedCrc>",
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB, "x-ms-content-crc64: vo7q9sPVKY0=" },
        .body = "other" } },
    { 400,
      "BothCrc64AndMd5HeaderPresent",
      NULL,
      { .line = "PUT /box/blob",
        .headers = { PUT_BLOB, "x-ms-content-crc64: vo7q9sPVKY0=", "Content-MD5: " HELLO_MD5 },
        .body = "hello" } },
    { 400,
      "InvalidHeaderValue",
      NULL,
      { .line = "PUT /box/blob", .headers = { PUT_BLOB, "x-ms-blob-content-length: 512" } } },

    /* what is there and what is not */
    { 409, "ContainerAlreadyExists", NULL, { .line = "PUT /box?restype=container" } },
    { 404, "ContainerNotFound", NULL, { .line = "GET /none?restype=container" } },
    { 404, "ContainerNotFound", NULL, { .line = "GET /none?restype=container&comp=list" } },
    { 404, "ContainerNotFound", NULL, { .line = "DELETE /none?restype=container" } },
    { 404,
      "ContainerNotFound",
      NULL,
      { .line = "PUT /none/blob", .headers = { PUT_BLOB }, .body = "x" } },
    { 404, "BlobNotFound", NULL, { .line = "GET /box/none" } },
    { 404, "BlobNotFound", NULL, { .line = "HEAD /box/none" } },
    { 404, "BlobNotFound", NULL, { .line = "DELETE /box/none" } },
    { 404, "BlobNotFound", NULL, { .line = "PUT /box/none?comp=metadata" } },
    { 404,
      "BlobNotFound",
      NULL,
      { .line = "PUT /box/none?comp=lease", .headers = { "x-ms-lease-action: break" } } },

    /* conditions */
    { 400,
      "ConditionHeadersNotSupported",
      NULL,
      { .line = "PUT /new?restype=container", .headers = { "If-Match: *" } } },
    { 409,
      "BlobAlreadyExists",
      NULL,
      { .line = "PUT /box/blob", .headers = { PUT_BLOB, "If-None-Match: *" }, .body = "x" } },
    { 412,
      "ConditionNotMet",
      NULL,
      { .line = "PUT /box/none", .headers = { PUT_BLOB, "If-Match: *" }, .body = "x" } },
    { 412,
      "ConditionNotMet",
      NULL,
      { .line = "DELETE /box/blob", .headers = { "If-Match: \"0x8D7596FDE1330A0\"" } } },
    { 412,
      "ConditionNotMet",
      NULL,
      { .line = "DELETE /box/blob",
        .headers = { "If-Unmodified-Since: Sat, 14 Nov 2026 23:59:59 GMT" } } },
    { 400,
      "MultipleConditionHeadersNotSupported",
      NULL,
      { .line = "DELETE /box/blob",
        .headers = { "If-Match: \"0x1\"", "If-None-Match: \"0x2\"" } } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>If-Modified-Since</HeaderName><HeaderValue>yesterday<",
      { .line = "DELETE /box/blob", .headers = { "If-Modified-Since: yesterday" } } },
    { 304,
      "ConditionNotMet",
      NULL,
      { .line = "GET /box/blob",
        .headers = { "If-Modified-Since: Sun, 15 Nov 2026 00:00:00 GMT" } } },
    { 400,
      "UnsatisfiableCondition",
      NULL,
      { .line = "GET /box/blob", .headers = { "If-None-Match: *" } } },

    /* ranges */
    { 416, "InvalidRange", NULL, { .line = "GET /box/blob", .headers = { "Range: bytes=5-" } } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-range-get-content-md5<",
      { .line = "GET /box/blob", .headers = { "x-ms-range-get-content-md5: true" } } },
    { 400,
      "BothCrc64AndMd5RangeHeaderPresent",
      NULL,
      { .line = "GET /box/blob",
        .headers = { "Range: bytes=0-1", "x-ms-range-get-content-md5: true",
                     "x-ms-range-get-content-crc64: true" } } },

    /* leases */
    { 412,
      "LeaseIdMissing",
      NULL,
      { .line = "PUT /box/leased", .headers = { PUT_BLOB }, .body = "x" } },
    { 412,
      "LeaseIdMismatchWithBlobOperation",
      NULL,
      { .line = "DELETE /box/leased", .headers = { "x-ms-lease-id: " LEASE_B } } },
    { 412,
      "LeaseIdMismatchWithBlobOperation",
      NULL,
      { .line = "GET /box/leased", .headers = { "x-ms-lease-id: " LEASE_B } } },
    { 412,
      "LeaseNotPresentWithBlobOperation",
      NULL,
      { .line = "GET /box/blob", .headers = { "x-ms-lease-id: " LEASE_B } } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-lease-id</HeaderName><HeaderValue>mine<",
      { .line = "GET /box/blob", .headers = { "x-ms-lease-id: mine" } } },
    { 412,
      "LeaseIdMissing",
      "lease on the container",
      { .line = "DELETE /leased?restype=container" } },
    { 412,
      "LeaseIdMismatchWithContainerOperation",
      NULL,
      { .line = "DELETE /leased?restype=container", .headers = { "x-ms-lease-id: " LEASE_B } } },
    { 409,
      "LeaseAlreadyPresent",
      NULL,
      { .line = "PUT /box/leased?comp=lease",
        .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: 15" } } },
    { 409,
      "LeaseIdMismatchWithLeaseOperation",
      "for the blob.",
      { .line = "PUT /box/leased?comp=lease",
        .headers = { "x-ms-lease-action: release", "x-ms-lease-id: " LEASE_B } } },
    { 409,
      "LeaseNotPresentWithLeaseOperation",
      NULL,
      { .line = "PUT /box/blob?comp=lease", .headers = { "x-ms-lease-action: break" } } },
    { 400,
      "MissingRequiredHeader",
      "<HeaderName>x-ms-lease-duration<",
      { .line = "PUT /box/blob?comp=lease", .headers = { "x-ms-lease-action: acquire" } } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-lease-duration</HeaderName><HeaderValue>14<",
      { .line = "PUT /box/blob?comp=lease",
        .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: 14" } } },
    { 400,
      "InvalidHeaderValue",
      NULL,
      { .line = "PUT /box/blob?comp=lease",
        .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: 61" } } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-lease-break-period<",
      { .line = "PUT /box/leased?comp=lease",
        .headers = { "x-ms-lease-action: break", "x-ms-lease-break-period: 61" } } },
    { 400,
      "InvalidHeaderValue",
      NULL,
      { .line = "PUT /box/leased?comp=lease",
        .headers = { "x-ms-lease-action: break", "x-ms-lease-break-period: -1" } } },
    { 400,
      "MissingRequiredHeader",
      "<HeaderName>x-ms-lease-id<",
      { .line = "PUT /box/leased?comp=lease", .headers = { "x-ms-lease-action: renew" } } },
    { 400,
      "InvalidHeaderValue",
      "<HeaderName>x-ms-proposed-lease-id<",
      { .line = "PUT /box/leased?comp=lease",
        .headers = { "x-ms-lease-action: change", "x-ms-lease-id: " LEASE_A,
                     "x-ms-proposed-lease-id: 00000000-0000-0000-0000-000000000000" } } },
};

static void a_fault_is_answered_and_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    forget_request();
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    for (size_t i = 0; i < sizeof(FAULTS) / sizeof(FAULTS[0]); i++) {
        const struct fault *fault = &FAULTS[i];
        const struct slice before = fixture_dump(fixture);
        send_request(fixture, &fault->sent);
        assert_fault(&fault->sent, fault->status, fault->code);
        if (fault->body != NULL)
            assert_body_has(fault->body);
        forget_request();
        fixture_assert_unchanged(fixture, before);
        assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
        arena_clear(&fixture->arena);
    }
}

static void some_faults_have_headers_of_their_own(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    send_request(fixture, &(struct sent){ .line = "GET /box/blob", .credential = BY_URL });
    assert_header("WWW-Authenticate: Bearer authorization_uri=https://login.microsoftonline.com/"
                  "common/oauth2/authorize resource_id=https://storage.azure.com");
    send_request(fixture,
                 &(struct sent){ .line = "GET /box/blob", .headers = { "Range: bytes=9-" } });
    assert_header("Content-Range: bytes */5");
    send_request(fixture, &(struct sent){ .line = "GET /box/blob",
                                          .headers = { "If-None-Match: \"0x1\"" } });
    assert_int_equal(request.response.status, 200);
    const char *etag = answer_header("ETag");
    char header[64];
    snprintf(header, sizeof(header), "If-None-Match: %s", etag);
    send_request(fixture, &(struct sent){ .line = "GET /box/blob", .headers = { header } });
    assert_int_equal(request.response.status, 304);
    assert_header("!ETag");
    assert_header("!Content-Type");
}

static void metadata_has_a_limit(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    char *header = arena_alloc(&fixture->arena, 10000);
    const size_t prefix_len = (size_t)snprintf(header, 10000, "x-ms-meta-a: ");
    memset(header + prefix_len, 'v', 8191);
    const struct sent sent = { .line = "PUT /box/blob?comp=metadata", .headers = { header } };
    send_request(fixture, &sent);
    assert_status(&sent, 200);
    header[prefix_len + 8191] = 'v';
    send_request(fixture, &sent);
    assert_fault(&sent, 400, "MetadataTooLarge");
}

static void a_loose_server_ignores_what_it_cannot_honour(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    context.loose = true;
    const struct sent sent = { .line = "PUT /box/new",
                               .headers = { PUT_BLOB, "x-ms-legal-hold: true" },
                               .body = "x" };
    send_request(fixture, &sent);
    assert_status(&sent, 201);
}

/* --- shared access signatures --- */

static struct slice percent_encoded(struct slice text)
{
    struct strbuf out;
    strbuf_init(&out, &request.arena);
    for (size_t i = 0; i < text.len; i++) {
        if (strchr("+/=", text.data[i]) != NULL)
            strbuf_printf(&out, "%%%02X", (unsigned)text.data[i]);
        else
            strbuf_add_byte(&out, text.data[i]);
    }
    return strbuf_slice(&out);
}

struct account_sas {
    const char *permissions;
    const char *services;
    const char *types;
};

/* `line` with an account SAS added; in the fixture's arena. */
static const char *with_account_sas(struct service_fixture *fixture, const char *line,
                                    struct account_sas sas)
{
    const struct slice text =
        arena_printf(&fixture->arena, "%s\n%s\n%s\n%s\n\n2027-01-01T00:00:00Z\n\n\n2019-12-12\n",
                     FIXTURE_ACCOUNT_NAME, sas.permissions, sas.services, sas.types);
    const struct slice sig = percent_encoded(hmac_base64(text));
    return arena_printf(&fixture->arena,
                        "%s%csv=2019-12-12&ss=%s&srt=%s&sp=%s&se=2027-01-01T00:00:00Z&sig=%.*s",
                        line, strchr(line, '?') == NULL ? '?' : '&', sas.services, sas.types,
                        sas.permissions, (int)sig.len, sig.data)
        .data;
}

/* The same with a service SAS of container "box" that answers with another content type. */
static const char *with_container_sas(struct service_fixture *fixture, const char *line,
                                      const char *permissions)
{
    const struct slice text = arena_printf(&fixture->arena,
                                           "%s\n\n2027-01-01T00:00:00Z\n/blob/%s/box\n\n\n\n"
                                           "2019-12-12\nc\n\n\n\n\n\nimage/png",
                                           permissions, FIXTURE_ACCOUNT_NAME);
    const struct slice sig = percent_encoded(hmac_base64(text));
    return arena_printf(&fixture->arena,
                        "%s%csv=2019-12-12&sr=c&sp=%s&se=2027-01-01T00:00:00Z&rsct=image%%2Fpng"
                        "&sig=%.*s",
                        line, strchr(line, '?') == NULL ? '?' : '&', permissions, (int)sig.len,
                        sig.data)
        .data;
}

static void send_with_url(struct service_fixture *fixture, const char *line, unsigned status,
                          const char *code)
{
    const struct sent sent = { .line = line,
                               .headers = { PUT_BLOB },
                               .body = strncmp(line, "PUT", 3) == 0 ? "by sas" : NULL,
                               .credential = BY_URL };
    send_request(fixture, &sent);
    if (code == NULL)
        assert_status(&sent, status);
    else
        assert_fault(&sent, status, code);
}

static void an_account_sas_allows_what_it_says(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct {
        const char *line;
        struct account_sas sas;
        unsigned status;
        const char *code;
    } rows[] = {
        { "GET /box/blob", { "r", "b", "o" }, 200, NULL },
        { "GET /box/blob", { "wd", "b", "o" }, 403, "AuthorizationPermissionMismatch" },
        { "GET /box/blob", { "r", "b", "sc" }, 403, "AuthorizationResourceTypeMismatch" },
        { "GET /box/blob", { "r", "q", "o" }, 403, "AuthorizationServiceMismatch" },
        { "GET ?comp=list", { "l", "b", "s" }, 200, NULL },
        { "GET ?comp=list", { "l", "b", "c" }, 403, "AuthorizationResourceTypeMismatch" },
        { "PUT /made?restype=container", { "c", "b", "c" }, 201, NULL },
        { "DELETE /made?restype=container",
          { "w", "b", "c" },
          403,
          "AuthorizationPermissionMismatch" },
        { "PUT /box/new", { "c", "b", "o" }, 201, NULL },
        { "PUT /box/new", { "c", "b", "o" }, 403, "UnauthorizedBlobOverwrite" },
        { "PUT /box/new", { "w", "b", "o" }, 201, NULL },
        { "PUT /box/new?comp=metadata", { "c", "b", "o" }, 403, "AuthorizationPermissionMismatch" },
        { "DELETE /box/new", { "d", "b", "o" }, 202, NULL },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        send_with_url(fixture, with_account_sas(fixture, rows[i].line, rows[i].sas), rows[i].status,
                      rows[i].code);
}

static void a_container_sas_is_for_its_blobs(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct {
        const char *line;
        const char *permissions;
        unsigned status;
        const char *code;
    } rows[] = {
        { "GET /box/blob", "r", 200, NULL },
        { "GET /box?restype=container&comp=list", "l", 200, NULL },
        { "GET /box?restype=container&comp=list", "r", 403, "AuthorizationPermissionMismatch" },
        { "PUT /box/new", "w", 201, NULL },
        { "DELETE /box?restype=container", "d", 403, "AuthorizationFailure" },
        { "GET /leased/blob", "r", 403, "AuthenticationFailed" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        send_with_url(fixture, with_container_sas(fixture, rows[i].line, rows[i].permissions),
                      rows[i].status, rows[i].code);
    send_with_url(fixture, with_container_sas(fixture, "GET /box/blob", "r"), 200, NULL);
    assert_header("Content-Type: image/png");
    fixture_advance_ms(fixture, INT64_C(366) * 24 * 3600 * 1000);
    send_request(fixture, &(struct sent){ .line = with_container_sas(fixture, "GET /box/blob", "r"),
                                          .credential = BY_URL });
    assert_int_equal(request.response.status, 403);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_fault_is_answered_and_changes_nothing),
        WITH_STORE(some_faults_have_headers_of_their_own),
        WITH_STORE(metadata_has_a_limit),
        WITH_STORE(a_loose_server_ignores_what_it_cannot_honour),
        WITH_STORE(an_account_sas_allows_what_it_says),
        WITH_STORE(a_container_sas_is_for_its_blobs),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
