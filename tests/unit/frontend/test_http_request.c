/*
 * test_http_request.c - requests that succeed, from their first header to their answer.
 *
 * Each operation of operations_blob.def is performed once; headers and bodies are those the service
 * has been recorded to answer with.
 */
#include "frontend/http/http_fetch.h"
#include "http_request_fixture.h"
#include "service/blob/copy.h"

/* --- one success of every operation --- */

struct step {
    const char *operation;
    unsigned status;
    struct sent sent;
    const char *headers[WANTED_MAX];
    const char *body; /* a part of it; NULL: there is none */
};

#define STATE_HEADERS "ETag: *", "Last-Modified: Sun, 15 Nov 2026 00:00:00 GMT"
#define ENDPOINT      "ServiceEndpoint=\"http://127.0.0.1:10000/devstoreaccount1/\""

#define TEXT_64      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PAGE_OF_TEXT TEXT_64 TEXT_64 TEXT_64 TEXT_64 TEXT_64 TEXT_64 TEXT_64 TEXT_64

/* A part without a credential; test_api_batch.c has others. */
#define BATCH_TYPE "Content-Type: multipart/mixed; boundary=b"
#define BATCH                                                                                      \
    "--b\r\nContent-Type: application/http\r\nContent-ID: 7\r\n\r\n"                               \
    "DELETE /devstoreaccount1/box/x HTTP/1.1\r\n\r\n--b--"

static const struct step STEPS[] = {
    { "CreateContainer",
      201,
      { .line = "PUT /box?restype=container", .headers = { "x-ms-meta-Colour: blue" } },
      { STATE_HEADERS },
      NULL },
    { "ListContainers",
      200,
      { .line = "GET ?comp=list&include=metadata" },
      { "Content-Type: application/xml" },
      "<Container><Name>box</Name><Properties><Last-Modified>Sun, 15 Nov 2026 00:00:00 GMT"
      "</Last-Modified><Etag>\"0x" },
    { "GetContainerProperties",
      200,
      { .line = "HEAD /box?restype=container" },
      { STATE_HEADERS, "x-ms-meta-Colour: blue", "x-ms-lease-status: unlocked",
        "x-ms-lease-state: available", "!x-ms-lease-duration",
        "x-ms-has-immutability-policy: false", "x-ms-has-legal-hold: false" },
      NULL },
    { "GetContainerMetadata",
      200,
      { .line = "GET /box?restype=container&comp=metadata" },
      { STATE_HEADERS, "x-ms-meta-Colour: blue", "!x-ms-lease-state" },
      NULL },
    { "SetContainerMetadata",
      200,
      { .line = "PUT /box?restype=container&comp=metadata", .headers = { "x-ms-meta-size: 7" } },
      { STATE_HEADERS },
      NULL },
    { "SetContainerAcl",
      200,
      { .line = "PUT /box?restype=container&comp=acl",
        .headers = { "x-ms-blob-public-access: blob" },
        .body = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>r"
                "</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>" },
      { STATE_HEADERS },
      NULL },
    { "GetContainerAcl",
      200,
      { .line = "GET /box?restype=container&comp=acl" },
      { STATE_HEADERS, "x-ms-blob-public-access: blob", "Content-Type: application/xml" },
      "<Id>a</Id><AccessPolicy><Permission>r</Permission></AccessPolicy>" },
    { "GetAccountInformation",
      200,
      { .line = "GET /?restype=account&comp=properties" },
      { "x-ms-sku-name: Standard_RAGRS", "x-ms-account-kind: StorageV2",
        "x-ms-is-hns-enabled: false" },
      NULL },
    { "GetAccountInformationByContainer",
      200,
      { .line = "HEAD /box?restype=account&comp=properties" },
      { "x-ms-sku-name: Standard_RAGRS" },
      NULL },
    { "GetAccountInformationByBlob",
      200,
      { .line = "GET /box/blob?restype=account&comp=properties" },
      { "x-ms-sku-name: Standard_RAGRS" },
      NULL },
    { "SetBlobServiceProperties",
      202,
      { .line = "PUT ?restype=service&comp=properties",
        .body = "<StorageServiceProperties><Cors><CorsRule><AllowedMethods>PUT</AllowedMethods>"
                "<AllowedOrigins>http://a</AllowedOrigins><AllowedHeaders>x-ms-*</AllowedHeaders>"
                "<ExposedHeaders /><MaxAgeInSeconds>9</MaxAgeInSeconds></CorsRule></Cors>"
                "</StorageServiceProperties>" },
      { "!ETag" },
      NULL },
    { "GetBlobServiceProperties",
      200,
      { .line = "GET ?restype=service&comp=properties" },
      { "Content-Type: application/xml", "!ETag" },
      "<AllowedOrigins>http://a</AllowedOrigins>" },
    { "GetBlobServiceStats",
      200,
      { .line = "GET /devstoreaccount1-secondary?restype=service&comp=stats",
        .whole_target = true },
      { "Content-Type: application/xml" },
      "<GeoReplication><Status>live</Status><LastSyncTime>Sun, 15 Nov 2026 00:00:00 GMT<" },
    { "PreflightBlobRequest",
      200,
      { .line = "OPTIONS /box/any?sig=x",
        .credential = BY_URL,
        .headers = { "Origin: http://a", "Access-Control-Request-Method: PUT",
                     "Access-Control-Request-Headers: x-ms-date" } },
      { "Access-Control-Allow-Origin: http://a", "Access-Control-Allow-Methods: PUT",
        "Access-Control-Allow-Headers: x-ms-date", "Access-Control-Max-Age: 9",
        "Access-Control-Allow-Credentials: true" },
      NULL },
    { "BlobBatch",
      202,
      { .line = "POST ?comp=batch", .headers = { BATCH_TYPE }, .body = BATCH },
      { "Content-Type: *" },
      "Content-ID: 7\r\n\r\nHTTP/1.1 401 " },
    { "BlobBatchByPath",
      202,
      { .line = "POST ?restype=container&comp=batch", .headers = { BATCH_TYPE }, .body = BATCH },
      { "Content-Type: *" },
      "Content-ID: 7\r\n\r\nHTTP/1.1 401 " },
    { "BlobBatchOfContainer",
      202,
      { .line = "POST /box?restype=container&comp=batch",
        .headers = { BATCH_TYPE },
        .body = BATCH },
      { "Content-Type: *" },
      "Content-ID: 7\r\n\r\nHTTP/1.1 401 " },
    { "AcquireContainerLease",
      201,
      { .line = "PUT /box?restype=container&comp=lease",
        .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: 15",
                     "x-ms-proposed-lease-id: " LEASE_A } },
      { STATE_HEADERS, "x-ms-lease-id: " LEASE_A },
      NULL },
    { "RenewContainerLease",
      200,
      { .line = "PUT /box?restype=container&comp=lease",
        .headers = { "x-ms-lease-action: renew", "x-ms-lease-id: " LEASE_A } },
      { STATE_HEADERS, "x-ms-lease-id: " LEASE_A },
      NULL },
    { "ChangeContainerLease",
      200,
      { .line = "PUT /box?restype=container&comp=lease",
        .headers = { "x-ms-lease-action: change", "x-ms-lease-id: {" LEASE_A "}",
                     "x-ms-proposed-lease-id: " LEASE_B } },
      { STATE_HEADERS, "x-ms-lease-id: " LEASE_B },
      NULL },
    { "BreakContainerLease",
      202,
      { .line = "PUT /box?restype=container&comp=lease",
        .headers = { "x-ms-lease-action: break", "x-ms-lease-break-period: 5" } },
      { STATE_HEADERS, "x-ms-lease-time: 5", "!x-ms-lease-id" },
      NULL },
    { "ReleaseContainerLease",
      200,
      { .line = "PUT /box?restype=container&comp=lease",
        .headers = { "x-ms-lease-action: release", "x-ms-lease-id: " LEASE_B } },
      { STATE_HEADERS, "!x-ms-lease-id" },
      NULL },
    { "PutBlob",
      201,
      { .line = "PUT /box/dir/blob",
        .headers = { "x-ms-blob-type: BlockBlob", "x-ms-meta-a: 1",
                     "x-ms-meta-B: ", "Content-Type: text/plain", "x-ms-blob-content-language: de",
                     "Cache-Control: no-cache" },
        .body = "hello" },
      { STATE_HEADERS, "Content-MD5: " HELLO_MD5, "x-ms-content-crc64: *",
        "x-ms-request-server-encrypted: true" },
      NULL },
    { "GetBlob",
      200,
      { .line = "GET /box/dir/blob" },
      { STATE_HEADERS, "x-ms-meta-a: 1", "x-ms-meta-B:  ", "Content-Type: text/plain",
        "Content-Language: de", "Cache-Control: no-cache", "Content-MD5: " HELLO_MD5,
        "Accept-Ranges: bytes", "x-ms-blob-type: BlockBlob", "!Content-Encoding" },
      "hello" },
    { "GetBlobProperties",
      200,
      { .line = "HEAD /box/dir/blob" },
      { STATE_HEADERS, "Content-MD5: " HELLO_MD5, "x-ms-lease-status: unlocked",
        "x-ms-lease-state: available", "x-ms-server-encrypted: true",
        "x-ms-creation-time: Sun, 15 Nov 2026 00:00:00 GMT", "x-ms-access-tier: Hot",
        "x-ms-access-tier-inferred: true", "Accept-Ranges: bytes" },
      NULL },
    { "ListBlobs",
      200,
      { .line = "GET /box?restype=container&comp=list&include=metadata" },
      { "Content-Type: application/xml" },
      "<Blobs><Blob><Name>dir/blob</Name><Properties>" },
    { "SetBlobProperties",
      200,
      { .line = "PUT /box/dir/blob?comp=properties",
        .headers = { "x-ms-blob-content-type: text/html", "Content-Type: ignored/here" } },
      { STATE_HEADERS },
      NULL },
    { "SetBlobMetadata",
      200,
      { .line = "PUT /box/dir/blob?comp=metadata", .headers = { "x-ms-meta-c: 3" } },
      { STATE_HEADERS, "x-ms-request-server-encrypted: true" },
      NULL },
    { "GetBlobMetadata",
      200,
      { .line = "GET /box/dir/blob?comp=metadata" },
      { STATE_HEADERS, "x-ms-meta-c: 3", "!x-ms-meta-a", "!Content-Type" },
      NULL },
    { "GetBlob",
      200,
      { .line = "GET /box/dir/blob" },
      { "Content-Type: text/html", "!Content-Language", "!Cache-Control", "!Content-MD5",
        "x-ms-meta-c: 3" },
      "hello" },
    { "AcquireBlobLease",
      201,
      { .line = "PUT /box/dir/blob?comp=lease",
        .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: -1",
                     "x-ms-proposed-lease-id: " LEASE_A } },
      { STATE_HEADERS, "x-ms-lease-id: " LEASE_A },
      NULL },
    { "GetBlobProperties",
      200,
      { .line = "HEAD /box/dir/blob", .headers = { "x-ms-lease-id: " LEASE_A } },
      { "x-ms-lease-status: locked", "x-ms-lease-state: leased", "x-ms-lease-duration: infinite" },
      NULL },
    { "RenewBlobLease",
      200,
      { .line = "PUT /box/dir/blob?comp=lease",
        .headers = { "x-ms-lease-action: renew", "x-ms-lease-id: " LEASE_A } },
      { STATE_HEADERS, "x-ms-lease-id: " LEASE_A },
      NULL },
    { "ChangeBlobLease",
      200,
      { .line = "PUT /box/dir/blob?comp=lease",
        .headers = { "x-ms-lease-action: change", "x-ms-lease-id: " LEASE_A,
                     "x-ms-proposed-lease-id: " LEASE_B } },
      { STATE_HEADERS, "x-ms-lease-id: " LEASE_B },
      NULL },
    { "BreakBlobLease",
      202,
      { .line = "PUT /box/dir/blob?comp=lease", .headers = { "x-ms-lease-action: break" } },
      { STATE_HEADERS, "x-ms-lease-time: 0", "!x-ms-lease-id" },
      NULL },
    { "ReleaseBlobLease",
      200,
      { .line = "PUT /box/dir/blob?comp=lease",
        .headers = { "x-ms-lease-action: release", "x-ms-lease-id: " LEASE_B } },
      { STATE_HEADERS },
      NULL },
    { "PutBlock",
      201,
      { .line = "PUT /box/blocks?comp=block&blockid=YWFh", .body = "hello " },
      { "x-ms-content-crc64: *", "x-ms-request-server-encrypted: true", "!ETag", "!Content-MD5" },
      NULL },
    { "PutBlock",
      201,
      { .line = "PUT /box/blocks?comp=block&blockid=YmJi", .body = "world" },
      { "!ETag" },
      NULL },
    { "PutBlockList",
      201,
      { .line = "PUT /box/blocks?comp=blocklist",
        .body = "<BlockList><Latest>YWFh</Latest><Uncommitted>YmJi</Uncommitted></BlockList>" },
      { STATE_HEADERS, "x-ms-content-crc64: *", "x-ms-request-server-encrypted: true" },
      NULL },
    { "GetBlob", 200, { .line = "GET /box/blocks" }, { STATE_HEADERS }, "hello world" },
    { "GetBlockList",
      200,
      { .line = "GET /box/blocks?comp=blocklist&blocklisttype=all" },
      { STATE_HEADERS, "x-ms-blob-content-length: 11", "Content-Type: application/xml" },
      "<CommittedBlocks><Block><Name>YWFh</Name><Size>6</Size></Block>" },
    { "CreateAppendBlob",
      201,
      { .line = "PUT /box/log", .headers = { "x-ms-blob-type: AppendBlob" } },
      { STATE_HEADERS, "x-ms-request-server-encrypted: true", "!Content-MD5" },
      NULL },
    { "AppendBlock",
      201,
      { .line = "PUT /box/log?comp=appendblock", .body = "hello world" },
      { STATE_HEADERS, "x-ms-blob-append-offset: 0", "x-ms-blob-committed-block-count: 1",
        "x-ms-content-crc64: vo7q9sPVKY0=", "x-ms-request-server-encrypted: true", "!Content-MD5" },
      NULL },
    { "AppendBlockFromUrl",
      201,
      { .line = "PUT /box/log?comp=appendblock",
        .headers = { "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/log",
                     "x-ms-source-range: bytes=6-10" } },
      { STATE_HEADERS, "x-ms-blob-append-offset: 11", "x-ms-blob-committed-block-count: 2",
        "x-ms-content-crc64: *", "x-ms-request-server-encrypted: true" },
      NULL },
    { "SealAppendBlob",
      200,
      { .line = "PUT /box/log?comp=seal" },
      { STATE_HEADERS, "x-ms-blob-sealed: true" },
      NULL },
    { "CreatePageBlob",
      201,
      { .line = "PUT /box/disk",
        .headers = { "x-ms-blob-type: PageBlob", "x-ms-blob-content-length: 2048",
                     "x-ms-blob-sequence-number: 3" } },
      { STATE_HEADERS, "x-ms-request-server-encrypted: true" },
      NULL },
    { "PutPage",
      201,
      { .line = "PUT /box/disk?comp=page",
        .headers = { "x-ms-page-write: update", "x-ms-range: bytes=512-1023" },
        .body = PAGE_OF_TEXT },
      { STATE_HEADERS, "x-ms-blob-sequence-number: 3", "x-ms-content-crc64: *",
        "x-ms-request-server-encrypted: true" },
      NULL },
    { "ClearPage",
      201,
      { .line = "PUT /box/disk?comp=page",
        .headers = { "x-ms-page-write: clear", "Range: bytes=1024-1535" } },
      { STATE_HEADERS, "x-ms-blob-sequence-number: 3", "!x-ms-content-crc64",
        "!x-ms-request-server-encrypted" },
      NULL },
    { "PutPageFromUrl",
      201,
      { .line = "PUT /box/disk?comp=page",
        .headers = { "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/disk",
                     "x-ms-page-write: update", "x-ms-range: bytes=512-1023",
                     "x-ms-source-range: bytes=512-1023" } },
      { STATE_HEADERS, "x-ms-blob-sequence-number: 3", "x-ms-content-crc64: *" },
      NULL },
    { "GetPageRanges",
      200,
      { .line = "GET /box/disk?comp=pagelist" },
      { STATE_HEADERS, "x-ms-blob-content-length: 2048", "Content-Type: application/xml" },
      "<PageList><PageRange><Start>512</Start><End>1023</End></PageRange></PageList>" },
    { "CopyBlob",
      202,
      { .line = "PUT /box/copy",
        .headers = { "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/dir/blob" } },
      { STATE_HEADERS, "x-ms-copy-id: *", "x-ms-copy-status: success" },
      NULL },
    { "GetBlob",
      200,
      { .line = "GET /box/copy" },
      { STATE_HEADERS, "x-ms-copy-id: *", "x-ms-copy-status: success", "x-ms-copy-progress: 5/5",
        "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/dir/blob",
        "x-ms-copy-completion-time: *", "!x-ms-copy-status-description" },
      "hello" },
    { "CopyBlobFromUrl",
      202,
      { .line = "PUT /box/copy",
        .headers = { "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/dir/blob",
                     "x-ms-requires-sync: true" } },
      { STATE_HEADERS, "x-ms-copy-id: *", "x-ms-copy-status: success", "x-ms-content-crc64: *" },
      NULL },
    { "PutBlobFromUrl",
      201,
      { .line = "PUT /box/copy",
        .headers = { "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/dir/blob",
                     "x-ms-blob-type: BlockBlob", "x-ms-source-content-md5: " HELLO_MD5 } },
      { STATE_HEADERS, "Content-MD5: " HELLO_MD5, "!x-ms-copy-id" },
      NULL },
    { "PutBlockFromUrl",
      201,
      { .line = "PUT /box/copy?comp=block&blockid=QQ==",
        .headers = { "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/dir/blob" } },
      { "x-ms-content-crc64: *", "!ETag" },
      NULL },
    { "SetBlobTags",
      204,
      { .line = "PUT /box/dir/blob?comp=tags",
        .body = "<Tags><TagSet><Tag><Key>b</Key><Value>2</Value></Tag><Tag><Key>a</Key><Value>1"
                "</Value></Tag></TagSet></Tags>" },
      { "!ETag" },
      NULL },
    { "GetBlobTags",
      200,
      { .line = "GET /box/dir/blob?comp=tags", .headers = { "x-ms-if-tags: a='1'" } },
      { "!ETag", "Content-Type: application/xml" },
      "<Tags><TagSet><Tag><Key>a</Key><Value>1</Value></Tag><Tag><Key>b</Key><Value>2</Value></Tag>"
      "</TagSet></Tags>" },
    { "FindBlobsByTags",
      200,
      { .line = "GET /?comp=blobs&where=a='1'" },
      { "Content-Type: application/xml" },
      "<Where>a='1'</Where><Blobs><Blob><Name>dir/blob</Name><ContainerName>box</ContainerName>"
      "<Tags><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tags></Blob></Blobs>"
      "<NextMarker /></EnumerationResults>" },
    { "FindBlobsByTagsInContainer",
      200,
      { .line = "GET /box?restype=container&comp=blobs&where=a='2'" },
      { "Content-Type: application/xml" },
      "<Blobs></Blobs><NextMarker />" },
    { "SetBlobTier",
      200,
      { .line = "PUT /box/dir/blob?comp=tier", .headers = { "x-ms-access-tier: Cool" } },
      { "!ETag" },
      NULL },
    { "SnapshotBlob",
      201,
      { .line = "PUT /box/dir/blob?comp=snapshot" },
      { STATE_HEADERS, "x-ms-snapshot: *", "x-ms-request-server-encrypted: false" },
      NULL },
    { "UndeleteBlob", 200, { .line = "PUT /box/dir/blob?comp=undelete" }, { "!ETag" }, NULL },
    { "DeleteBlob",
      202,
      { .line = "DELETE /box/dir/blob", .headers = { "x-ms-delete-snapshots: include" } },
      { "x-ms-delete-type-permanent: true", "!ETag" },
      NULL },
    { "DeleteContainer", 202, { .line = "DELETE /box?restype=container" }, { "!ETag" }, NULL },
};

/* Those whose requests depend on what came before. */
static void perform_copies(struct service_fixture *fixture, bool *performed)
{
    const struct sent sent[] = {
        { .line = "PUT /box?restype=container" },
        { .line = "PUT /box/disk",
          .headers = { "x-ms-blob-type: PageBlob", "x-ms-blob-content-length: 512" } },
        { .line = "PUT /box/disk?comp=snapshot" },
    };
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        send_request(fixture, &sent[i]);
        assert_status(&sent[i], 201);
    }
    char header[200];
    snprintf(header, sizeof(header),
             "x-ms-copy-source: http://localhost:10000%s/box/disk?snapshot=%s", ACCOUNT,
             answer_header("x-ms-snapshot"));
    const struct sent incremental = { .line = "PUT /box/backup?comp=incrementalcopy",
                                      .headers = { header } };
    send_request(fixture, &incremental);
    assert_status(&incremental, 202);
    assert_header("x-ms-copy-status: success");
    performed[http_operation_index(request.operation)] = true;

    struct copy_change pending = { .url = slice_of("u"), .total_bytes = 9 };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &pending.blob.base, &arena);
    pending.blob.name = blob_named("box", "copy");
    assert_int_equal(uuid_parse(slice_of(LEASE_A), &pending.id), OK);
    copy_begin(&fixture->service, &pending);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    const struct sent abort = { .line = "PUT /box/copy?comp=copy&copyid=" LEASE_A,
                                .headers = { "x-ms-copy-action: abort" } };
    send_request(fixture, &abort);
    assert_status(&abort, 204);
    performed[http_operation_index(request.operation)] = true;
}

static void every_operation_succeeds_once(void **state)
{
    struct service_fixture *fixture = *state;
    bool performed[256] = { 0 };
    assert_int_equal(http_fetcher_new(&context.fetcher), OK);
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
    perform_copies(fixture, performed);
    http_fetcher_free(context.fetcher);
    assert_true(http_operation_count() <= sizeof(performed) / sizeof(performed[0]));
    size_t missing = 0;
    for (size_t i = 0; i < http_operation_count(); i++) {
        if (http_operation_get(i)->service != HTTP_SERVICE_OF_BLOBS)
            continue;
        if (!performed[i])
            print_message("%s has no step\n", http_operation_get(i)->name);
        missing += !performed[i];
    }
    assert_int_equal(missing, 0);
}

/* --- the version --- */

static void assert_version(struct service_fixture *fixture, const struct sent *sent, int version,
                           const char *echoed)
{
    send_request(fixture, sent);
    assert_int_equal(request.version, version);
    assert_true(slice_is(request.version_text, echoed));
}

static void the_version_is_the_headers_or_the_urls_or_the_newest(void **state)
{
    struct service_fixture *fixture = *state;
    const struct sent by_header = { .line = "GET /box/b",
                                    .headers = { "x-ms-version: 2019-02-02" } };
    const struct sent too_new = { .line = "GET /box/b", .headers = { "x-ms-version: 2099-01-01" } };
    const struct sent none = { .line = "GET /box/b", .no_version = true };
    const struct sent by_sas = { .line = "GET /box/b?sv=2018-11-09&sig=AA",
                                 .credential = BY_URL,
                                 .no_version = true };
    const struct sent by_parameter = { .line = "GET "
                                               "/box/b?sv=2018-11-09&sig=AA&api-version=2017-07-29",
                                       .credential = BY_URL,
                                       .no_version = true };
    assert_version(fixture, &by_header, 20190202, "2019-02-02");
    assert_version(fixture, &too_new, 20260606, "2026-06-06");
    assert_version(fixture, &none, 20260606, "2026-06-06");
    assert_version(fixture, &by_sas, 20181109, "2018-11-09");
    assert_version(fixture, &by_parameter, 20170729, "2017-07-29");
}

static void older_versions_get_no_crc64(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct sent sent = { .line = "PUT /box/blob",
                               .headers = { PUT_BLOB, "x-ms-version: 2018-11-09" },
                               .body = "hello" };
    send_request(fixture, &sent);
    assert_status(&sent, 201);
    assert_header("!x-ms-content-crc64");
    assert_header("Content-MD5: " HELLO_MD5);
}

/* --- bytes --- */

static void ranges_are_answered_in_part(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct {
        const char *headers[3];
        unsigned status;
        const char *wanted[WANTED_MAX];
        const char *body;
    } rows[] = {
        { { "Range: bytes=1-3" },
          206,
          { "Content-Range: bytes 1-3/5", "x-ms-blob-content-md5: " HELLO_MD5, "!Content-MD5" },
          "ell" },
        { { "Range: bytes=1-3", "x-ms-range: bytes=4-" },
          206,
          { "Content-Range: bytes 4-4/5" },
          "o" },
        { { "Range: bytes=0-99" }, 206, { "Content-Range: bytes 0-4/5" }, "hello" },
        { { "Range: bytes=0-4", "x-ms-range-get-content-md5: true" },
          206,
          { "Content-MD5: " HELLO_MD5, "x-ms-blob-content-md5: " HELLO_MD5 },
          "hello" },
        { { "Range: bytes=0-4", "x-ms-range-get-content-crc64: true" },
          206,
          { "x-ms-content-crc64: *", "!Content-MD5" },
          "hello" },
        { { "Range: bytes=-2" }, 200, { "Content-MD5: " HELLO_MD5, "!Content-Range" }, "hello" },
        { { "Range: lines=1" }, 200, { "!Content-Range" }, "hello" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sent sent = { .line = "GET /box/blob" };
        memcpy(sent.headers, rows[i].headers, sizeof(rows[i].headers));
        send_request(fixture, &sent);
        assert_status(&sent, rows[i].status);
        assert_headers(rows[i].wanted);
        assert_true(slice_is(answer_body(), rows[i].body));
    }
}

static void a_range_of_nothing_cannot_be_answered(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct sent put = { .line = "PUT /box/empty", .headers = { PUT_BLOB } };
    const struct sent get = { .line = "GET /box/empty" };
    const struct sent part = { .line = "GET /box/empty", .headers = { "Range: bytes=0-" } };
    send_request(fixture, &put);
    assert_status(&put, 201);
    assert_header("Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg==");
    assert_header("x-ms-content-crc64: AAAAAAAAAAA=");
    send_request(fixture, &get);
    assert_status(&get, 200);
    assert_int_equal(answer_body().len, 0);
    send_request(fixture, &part);
    assert_fault(&part, 416, "InvalidRange");
    assert_header("Content-Range: bytes */0");
}

static void large_bodies_go_through_extents(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    char *body = arena_alloc(&fixture->arena, 300001);
    memset(body, 'z', 300000);
    const struct sent put = { .line = "PUT /box/large", .headers = { PUT_BLOB }, .body = body };
    const struct sent part = { .line = "GET /box/large", .headers = { "Range: bytes=299998-" } };
    send_request(fixture, &put);
    assert_status(&put, 201);
    assert_true(io_memory_bytes(fixture->io) >= 300000);
    send_request(fixture, &part);
    assert_status(&part, 206);
    assert_true(slice_is(answer_body(), "zz"));
}

static void a_blob_is_answered_as_it_was_when_the_answer_began(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    char *body = arena_alloc(&fixture->arena, 5001);
    memset(body, 'z', 5000);
    const struct sent put = { .line = "PUT /box/blob", .headers = { PUT_BLOB }, .body = body };
    const struct sent get = { .line = "GET /box/blob" };
    send_request(fixture, &put);
    send_request(fixture, &get);
    struct http_request reading = request;
    request = (struct http_request){ 0 };
    body[0] = 'y';
    send_request(fixture, &put);
    assert_status(&put, 201);
    partition_reclaim(fixture->service.store);
    char first;
    assert_int_equal(payload_read(reading.response.payload, 0, &first, 1), OK);
    assert_int_equal(first, 'z');
    arena_release(&reading.arena);
}

/* --- listings --- */

static void put_names(struct service_fixture *fixture, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sent put = { .line =
                                      arena_printf(&fixture->arena, "PUT /box/%s", names[i]).data,
                                  .headers = { PUT_BLOB } };
        send_request(fixture, &put);
        assert_status(&put, 201);
    }
}

/* The listing without the properties of its entries. */
static struct slice names_of_listing(void)
{
    struct strbuf out;
    strbuf_init(&out, &request.arena);
    struct slice rest = answer_body();
    const char *from;
    while ((from = memmem(rest.data, rest.len, "<Properties>", 12)) != NULL) {
        const char *to = memmem(rest.data, rest.len, "</Properties>", 13);
        assert_non_null(to);
        strbuf_add(&out, slice_head(rest, (size_t)(from - rest.data)));
        rest = slice_from(rest, (size_t)(to - rest.data) + 13);
    }
    strbuf_add(&out, rest);
    return strbuf_slice(&out);
}

static void list_box(struct service_fixture *fixture, const char *parameters, const char *wanted)
{
    const struct sent get = {
        .line = arena_printf(&fixture->arena, "GET /box?restype=container&comp=list%s", parameters)
                    .data,
    };
    send_request(fixture, &get);
    assert_status(&get, 200);
    const struct slice found = names_of_listing();
    if (!slice_is(found, wanted))
        print_message("%.*s\n", (int)found.len, found.data);
    assert_true(slice_is(found, wanted));
}

static void listings_of_blobs_come_in_pages(void **state)
{
    struct service_fixture *fixture = *state;
    static const char *const names[] = { "a", "d/1", "d/2", "e%26f", "%01" };
    const struct sent create = { .line = "PUT /box?restype=container" };
    send_request(fixture, &create);
    put_names(fixture, names, 5);
    const char *const open = XML "<EnumerationResults " ENDPOINT " ContainerName=\"box\">";
    struct arena *arena = &fixture->arena;
    list_box(fixture, "",
             arena_printf(arena,
                          "%s<Blobs><Blob><Name Encoded=\"true\">%%01</Name><OrMetadata /></Blob>"
                          "<Blob><Name>a</Name><OrMetadata /></Blob>"
                          "<Blob><Name>d/1</Name><OrMetadata /></Blob>"
                          "<Blob><Name>d/2</Name><OrMetadata /></Blob>"
                          "<Blob><Name>e&amp;f</Name><OrMetadata /></Blob></Blobs>"
                          "<NextMarker /></EnumerationResults>",
                          open)
                 .data);
    list_box(fixture, "&delimiter=/&maxresults=3",
             arena_printf(arena,
                          "%s<MaxResults>3</MaxResults><Delimiter>/</Delimiter><Blobs>"
                          "<Blob><Name Encoded=\"true\">%%01</Name><OrMetadata /></Blob>"
                          "<Blob><Name>a</Name><OrMetadata /></Blob>"
                          "<BlobPrefix><Name>d/</Name></BlobPrefix></Blobs>"
                          "<NextMarker>2!4!ZSZm</NextMarker></EnumerationResults>",
                          open)
                 .data);
    list_box(fixture, "&delimiter=/&maxresults=3&marker=2!4!ZSZm",
             arena_printf(arena,
                          "%s<Marker>2!4!ZSZm</Marker><MaxResults>3</MaxResults>"
                          "<Delimiter>/</Delimiter><Blobs><Blob><Name>e&amp;f</Name>"
                          "<OrMetadata /></Blob></Blobs><NextMarker /></EnumerationResults>",
                          open)
                 .data);
    list_box(fixture, "&prefix=d/&maxresults=1",
             arena_printf(arena,
                          "%s<Prefix>d/</Prefix><MaxResults>1</MaxResults><Blobs>"
                          "<Blob><Name>d/1</Name><OrMetadata /></Blob></Blobs>"
                          "<NextMarker>2!4!ZC8y</NextMarker></EnumerationResults>",
                          open)
                 .data);
    list_box(fixture, "&prefix=none&maxresults=9999",
             arena_printf(arena,
                          "%s<Prefix>none</Prefix><MaxResults>9999</MaxResults><Blobs></Blobs>"
                          "<NextMarker /></EnumerationResults>",
                          open)
                 .data);
}

static void an_entry_shows_the_blobs_properties(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct sent put = { .line = "PUT /box/blob",
                              .headers = { PUT_BLOB, "x-ms-meta-Name: <v>",
                                           "x-ms-blob-content-type: a\"b" },
                              .body = "hello" };
    const struct sent list = { .line = "GET "
                                       "/box?restype=container&comp=list&include=metadata" };
    send_request(fixture, &put);
    const char *etag = arena_copy(&fixture->arena, slice_of(answer_header("ETag"))).data;
    send_request(fixture, &list);
    assert_status(&list, 200);
    assert_body_has(
        arena_printf(&fixture->arena,
                     "<Blob><Name>blob</Name><Properties>"
                     "<Creation-Time>Sun, 15 Nov 2026 00:00:00 GMT</Creation-Time>"
                     "<Last-Modified>Sun, 15 Nov 2026 00:00:00 GMT</Last-Modified>"
                     "<Etag>%.*s</Etag><Content-Length>5</Content-Length>"
                     "<Content-Type>a\"b</Content-Type><Content-Encoding /><Content-Language />"
                     "<Content-CRC64 /><Content-MD5>" HELLO_MD5 "</Content-MD5>"
                     "<Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType>"
                     "<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>"
                     "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
                     "<ServerEncrypted>true</ServerEncrypted></Properties>"
                     "<Metadata><Name>&lt;v&gt;</Name></Metadata>",
                     (int)strlen(etag) - 2, etag + 1)
            .data);
    assert_body_has("<LeaseStatus>locked</LeaseStatus><LeaseState>leased</LeaseState>"
                    "<LeaseDuration>fixed</LeaseDuration>");
}

static void listings_of_containers_come_in_pages(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct sent first = { .line = "GET ?comp=list&maxresults=1" };
    const struct sent second = { .line =
                                     "GET "
                                     "?comp=list&maxresults=1&marker=/devstoreaccount1/leased" };
    send_request(fixture, &first);
    assert_status(&first, 200);
    assert_true(slice_is(names_of_listing(),
                         XML "<EnumerationResults " ENDPOINT "><MaxResults>1</MaxResults>"
                             "<Containers><Container><Name>box</Name></Container></Containers>"
                             "<NextMarker>/devstoreaccount1/leased</NextMarker>"
                             "</EnumerationResults>"));
    send_request(fixture, &second);
    assert_status(&second, 200);
    assert_body_has("<Container><Name>leased</Name>");
    assert_body_has("<NextMarker /></EnumerationResults>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(every_operation_succeeds_once),
        WITH_STORE(the_version_is_the_headers_or_the_urls_or_the_newest),
        WITH_STORE(older_versions_get_no_crc64),
        WITH_STORE(ranges_are_answered_in_part),
        WITH_STORE(a_range_of_nothing_cannot_be_answered),
        WITH_STORE(large_bodies_go_through_extents),
        WITH_STORE(a_blob_is_answered_as_it_was_when_the_answer_began),
        WITH_STORE(listings_of_blobs_come_in_pages),
        WITH_STORE(an_entry_shows_the_blobs_properties),
        WITH_STORE(listings_of_containers_come_in_pages),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
