/*
 * test_file_request.c - requests of the file service, from their first header to their answer.
 *
 * Each operation of operations_file.def is performed once; headers and bodies are those the service
 * has been recorded to answer with.  What SMB clients have to do with it is in test_file_opens.c,
 * what is refused in tests/wire/file_bad_input.
 */
#include "file_request_fixture.h"

#define T0   "Sun, 15 Nov 2026 00:00:00 GMT"
#define ISO0 "2026-11-15T00:00:00."
#define SDDL                                                                                       \
    "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-"        \
    "1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-"       \
    "188441444-3053964)"
#define ENCRYPTED "x-ms-request-server-encrypted: true"

/* What every answer about a node has of it. */
#define SMB(attributes)                                                                            \
    "x-ms-file-attributes: " attributes, "x-ms-file-creation-time: *",                             \
        "x-ms-file-last-write-time: *", "x-ms-file-change-time: *", "x-ms-file-permission-key: *", \
        "x-ms-file-id: *", "x-ms-file-parent-id: *"

struct step {
    const char *operation;
    unsigned status;
    struct sent sent; /* %s in its line or a header: what was kept last */
    const char *headers[WANTED_MAX];
    const char *body; /* a part of it; NULL: there is none */
    const char *kept; /* a header whose value the next steps use; or a mark of the body, as "<A>" */
};

static const struct step STEPS[] = {
    /* shares */
    { "CreateShare",
      201,
      { .line = "PUT /share?restype=share",
        .headers = { "x-ms-meta-Colour: blue", "x-ms-share-quota: 7" } },
      { "ETag: *", "Last-Modified: " T0 },
      NULL,
      NULL },
    { "GetShareProperties",
      200,
      { .line = "GET /share?restype=share" },
      { "ETag: *", "x-ms-meta-Colour: blue", "x-ms-share-quota: 7",
        "x-ms-access-tier: TransactionOptimized", "x-ms-access-tier-change-time: " T0,
        "x-ms-has-immutability-policy: false", "x-ms-has-legal-hold: false",
        "x-ms-lease-status: unlocked", "x-ms-lease-state: available", "x-ms-enabled-protocols: SMB",
        "!x-ms-root-squash" },
      NULL,
      NULL },
    { "SetShareProperties",
      200,
      { .line = "PUT /share?restype=share&comp=properties",
        .headers = { "x-ms-share-quota: 100", "x-ms-access-tier: hot" } },
      { "ETag: *", "Last-Modified: *" },
      NULL,
      NULL },
    { "GetShareProperties",
      200,
      { .line = "HEAD /share?restype=share" },
      { "x-ms-share-quota: 100", "x-ms-access-tier: Hot" },
      NULL,
      NULL },
    { "SetShareMetadata",
      200,
      { .line = "PUT /share?restype=share&comp=metadata", .headers = { "x-ms-meta-size: 3" } },
      { "ETag: *", "Last-Modified: *" },
      NULL,
      NULL },
    { "GetShareMetadata",
      200,
      { .line = "GET /share?restype=share&comp=metadata" },
      { "ETag: *", "x-ms-meta-size: 3", "!x-ms-meta-Colour", "!x-ms-share-quota" },
      NULL,
      NULL },
    { "SetShareAcl",
      200,
      { .line = "PUT /share?restype=share&comp=acl",
        .body = "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rwdl"
                "</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>" },
      { "ETag: *" },
      NULL,
      NULL },
    { "GetShareAcl",
      200,
      { .line = "GET /share?restype=share&comp=acl" },
      { "ETag: *", "Content-Type: application/xml" },
      "<Id>a</Id><AccessPolicy><Permission>rwdl</Permission></AccessPolicy>",
      NULL },
    { "GetShareStats",
      200,
      { .line = "GET /share?restype=share&comp=stats" },
      { "Content-Type: application/xml" },
      XML "<ShareStats><ShareUsageBytes>0</ShareUsageBytes></ShareStats>",
      NULL },
    { "AcquireShareLease",
      201,
      { .line = "PUT /share?restype=share&comp=lease",
        .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: 15",
                     "x-ms-proposed-lease-id: " LEASE_A } },
      { "ETag: *", "x-ms-lease-id: " LEASE_A, "!x-ms-lease-time" },
      NULL,
      NULL },
    { "RenewShareLease",
      200,
      { .line = "PUT /share?restype=share&comp=lease",
        .headers = { "x-ms-lease-action: renew", "x-ms-lease-id: " LEASE_A } },
      { "ETag: *", "x-ms-lease-id: " LEASE_A },
      NULL,
      NULL },
    { "ChangeShareLease",
      200,
      { .line = "PUT /share?restype=share&comp=lease",
        .headers = { "x-ms-lease-action: change", "x-ms-lease-id: " LEASE_A,
                     "x-ms-proposed-lease-id: " LEASE_B } },
      { "x-ms-lease-id: " LEASE_B },
      NULL,
      NULL },
    { "BreakShareLease",
      202,
      { .line = "PUT /share?restype=share&comp=lease",
        .headers = { "x-ms-lease-action: break", "x-ms-lease-break-period: 5" } },
      { "ETag: *", "x-ms-lease-time: 5" },
      NULL,
      NULL },
    { "ReleaseShareLease",
      200,
      { .line = "PUT /share?restype=share&comp=lease",
        .headers = { "x-ms-lease-action: release", "x-ms-lease-id: " LEASE_B } },
      { "ETag: *", "x-ms-lease-time: 0", "!x-ms-lease-id" },
      NULL,
      NULL },
    { "CreatePermission",
      201,
      { .line = "PUT /share?restype=share&comp=filepermission",
        .body = "{\"permission\":\"" SDDL "\"}" },
      { "x-ms-file-permission-key: *", "!ETag" },
      NULL,
      "x-ms-file-permission-key" },
    { "GetPermission",
      200,
      { .line = "GET /share?restype=share&comp=filepermission",
        .headers = { "x-ms-file-permission-key: %s" } },
      { "Content-Type: application/json", "!ETag" },
      "{\"permission\":\"" SDDL "S:NO_ACCESS_CONTROL\"}",
      NULL },

    /* directories */
    { "CreateDirectory",
      201,
      { .line = "PUT /share/Dir?restype=directory",
        .headers = { "x-ms-meta-a: b", "x-ms-file-permission-key: %s" } },
      { "ETag: *", "Last-Modified: " T0, ENCRYPTED, SMB("Directory") },
      NULL,
      NULL },
    { "GetDirectoryProperties",
      200,
      { .line = "GET /share/dir?restype=directory" },
      { "ETag: *", "x-ms-meta-a: b", "x-ms-server-encrypted: true", SMB("Directory") },
      NULL,
      NULL },
    { "GetDirectoryProperties",
      200,
      { .line = "HEAD /share?restype=directory" },
      { "ETag: *", "x-ms-file-id: 0", "x-ms-file-parent-id: 0", "x-ms-server-encrypted: true" },
      NULL,
      NULL },
    { "SetDirectoryProperties",
      200,
      { .line = "PUT /share/dir?restype=directory&comp=properties",
        .headers = { "x-ms-file-attributes: ReadOnly|Hidden",
                     "x-ms-file-creation-time: 2020-01-02T03:04:05.6789012Z",
                     "x-ms-file-last-write-time: preserve", "x-ms-file-change-time: now" } },
      { "ETag: *", ENCRYPTED, SMB("ReadOnly | Hidden | Directory") },
      NULL,
      NULL },
    { "SetDirectoryMetadata",
      200,
      { .line = "PUT /share/dir?restype=directory&comp=metadata", .headers = { "x-ms-meta-c: d" } },
      { "ETag: *", ENCRYPTED, "!x-ms-file-id" },
      NULL,
      NULL },
    { "GetDirectoryMetadata",
      200,
      { .line = "GET /share/DIR?restype=directory&comp=metadata" },
      { "ETag: *", "x-ms-meta-c: d", "!x-ms-meta-a", "!x-ms-file-id" },
      NULL,
      NULL },

    /* files */
    { "CreateFile",
      201,
      { .line = "PUT /share/dir/File.txt",
        .headers = { "x-ms-type: file", "x-ms-content-length: 1024", "x-ms-meta-a: b",
                     "x-ms-content-type: text/plain" } },
      { "ETag: *", "Last-Modified: " T0, ENCRYPTED, SMB("Archive") },
      NULL,
      NULL },
    { "PutRange",
      201,
      { .line = "PUT /share/dir/file.txt?comp=range",
        .headers = { "x-ms-write: update", "x-ms-range: bytes=0-4" },
        .body = "hello" },
      { "ETag: *", "Last-Modified: " T0, "Content-MD5: " HELLO_MD5, ENCRYPTED,
        "x-ms-file-last-write-time: *", "!x-ms-content-crc64" },
      NULL,
      NULL },
    { "GetFile",
      206,
      { .line = "GET /share/dir/file.txt",
        .headers = { "x-ms-range: bytes=1-3", "x-ms-range-get-content-md5: true" } },
      { "Content-Range: bytes 1-3/1024", "Content-Type: text/plain", "Accept-Ranges: bytes",
        "x-ms-type: File", "x-ms-server-encrypted: true", "x-ms-lease-state: available",
        "x-ms-lease-status: unlocked", "x-ms-file-attributes: Archive", "x-ms-meta-a: b",
        "Content-MD5: *" },
      "ell",
      NULL },
    { "GetFileProperties",
      200,
      { .line = "HEAD /share/dir/file.txt" },
      { "ETag: *", "Content-Type: text/plain", "x-ms-type: File", "x-ms-server-encrypted: true",
        SMB("Archive") },
      NULL,
      NULL },
    { "SetFileProperties",
      200,
      { .line = "PUT /share/dir/file.txt?comp=properties",
        .headers = { "x-ms-content-length: 2000", "x-ms-content-language: de",
                     "x-ms-file-attributes: Archive|Temporary" } },
      { "ETag: *", ENCRYPTED, SMB("Archive | Temporary") },
      NULL,
      NULL },
    { "GetFile",
      200,
      { .line = "GET /share/dir/file.txt" },
      { "Content-Language: de", "!Content-Type", "!Content-Range", "Accept-Ranges: bytes" },
      "hello",
      NULL },
    { "SetFileMetadata",
      200,
      { .line = "PUT /share/dir/file.txt?comp=metadata", .headers = { "x-ms-meta-e: f" } },
      { "ETag: *", ENCRYPTED, "!x-ms-file-id" },
      NULL,
      NULL },
    { "GetFileMetadata",
      200,
      { .line = "GET /share/dir/file.txt?comp=metadata" },
      { "ETag: *", "x-ms-meta-e: f", "!x-ms-meta-a" },
      NULL,
      NULL },
    { "ListRanges",
      200,
      { .line = "GET /share/dir/file.txt?comp=rangelist" },
      { "ETag: *", "x-ms-content-length: 2000", "Content-Type: application/xml" },
      XML "<Ranges><Range><Start>0</Start><End>511</End></Range></Ranges>",
      NULL },
    { "ListDirectoriesAndFiles",
      200,
      { .line = "GET /share/dir?restype=directory&comp=list&include=Timestamps,Etag,Attributes,"
                "PermissionKey" },
      { "Content-Type: application/xml", "!ETag" },
      "<Attributes>Archive | Temporary</Attributes><PermissionKey>",
      NULL },
    { "ListDirectoriesAndFiles",
      200,
      { .line = "GET /share?restype=directory&comp=list&prefix=D&maxresults=5",
        .headers = { "x-ms-version: 2019-02-02" } },
      { "Content-Type: application/xml" },
      XML "<EnumerationResults ServiceEndpoint=\"http://127.0.0.1:10000/devstoreaccount1/\" "
          "ShareName=\"share\" DirectoryPath=\"\"><Prefix>D</Prefix><MaxResults>5</MaxResults>"
          "<Entries><Directory><Name>Dir</Name><Properties /></Directory></Entries><NextMarker />"
          "</EnumerationResults>",
      NULL },
    { "GetShareStats",
      200,
      { .line = "GET /share?restype=share&comp=stats" },
      { "ETag: *" },
      "<ShareUsageBytes>5</ShareUsageBytes>",
      NULL },
    { "ClearRange",
      201,
      { .line = "PUT /share/dir/file.txt?comp=range",
        .headers = { "x-ms-write: clear", "Range: bytes=0-1023" } },
      { "ETag: *", "Last-Modified: " T0, "!Content-MD5", "!x-ms-request-server-encrypted" },
      NULL,
      NULL },
    { "ListRanges",
      200,
      { .line = "GET /share/dir/file.txt?comp=rangelist" },
      { "x-ms-content-length: 2000" },
      XML "<Ranges />",
      NULL },
    { "AcquireFileLease",
      201,
      { .line = "PUT /share/dir/file.txt?comp=lease",
        .headers = { "x-ms-lease-action: acquire", "x-ms-lease-duration: -1",
                     "x-ms-proposed-lease-id: " LEASE_A } },
      { "ETag: *", "x-ms-lease-id: " LEASE_A },
      NULL,
      NULL },
    { "ChangeFileLease",
      200,
      { .line = "PUT /share/dir/file.txt?comp=lease",
        .headers = { "x-ms-lease-action: change", "x-ms-lease-id: " LEASE_A,
                     "x-ms-proposed-lease-id: " LEASE_B } },
      { "ETag: *", "x-ms-lease-id: " LEASE_B },
      NULL,
      NULL },
    { "BreakFileLease",
      202,
      { .line = "PUT /share/dir/file.txt?comp=lease", .headers = { "x-ms-lease-action: break" } },
      { "ETag: *", "x-ms-lease-time: 0" },
      NULL,
      NULL },
    { "ReleaseFileLease",
      200,
      { .line = "PUT /share/dir/file.txt?comp=lease",
        .headers = { "x-ms-lease-action: release", "x-ms-lease-id: " LEASE_B } },
      { "ETag: *", "!x-ms-lease-id" },
      NULL,
      NULL },
    { "RenameFile",
      200,
      { .line = "PUT /share/new.txt?comp=rename",
        .headers = { "x-ms-file-rename-source: http://127.0.0.1:10000/devstoreaccount1/share/dir/"
                     "file.txt",
                     "x-ms-content-type: text/html" } },
      { "ETag: *", "Last-Modified: " T0, ENCRYPTED, SMB("Archive | Temporary") },
      NULL,
      NULL },
    { "RenameDirectory",
      200,
      { .line = "PUT /share/other?restype=directory&comp=rename",
        .headers = { "x-ms-file-rename-source: "
                     "http://127.0.0.1:10000/devstoreaccount1/share/dir" } },
      { "ETag: *", ENCRYPTED, SMB("ReadOnly | Hidden | Directory") },
      NULL,
      NULL },
    { "ListHandles",
      200,
      { .line = "GET /share/new.txt?comp=listhandles" },
      { "Content-Type: application/xml" },
      XML "<EnumerationResults><Entries /><NextMarker /></EnumerationResults>",
      NULL },
    { "ForceCloseHandles",
      200,
      { .line = "PUT /share?comp=forceclosehandles",
        .headers = { "x-ms-handle-id: *", "x-ms-recursive: true" } },
      { "x-ms-number-of-handles-closed: 0", "x-ms-number-of-handles-failed: 0", "!x-ms-marker" },
      NULL,
      NULL },

    /* a snapshot, and the end */
    { "SnapshotShare",
      201,
      { .line = "PUT /share?restype=share&comp=snapshot", .headers = { "x-ms-meta-s: t" } },
      { "ETag: *", "Last-Modified: *", "x-ms-snapshot: *" },
      NULL,
      "x-ms-snapshot" },
    { "DeleteFile", 202, { .line = "DELETE /share/new.txt" }, { "!ETag" }, NULL, NULL },
    { "DeleteDirectory",
      202,
      { .line = "DELETE /share/other?restype=directory" },
      { "!ETag" },
      NULL,
      NULL },
    { "GetFileProperties",
      200,
      { .line = "HEAD /share/NEW.txt?sharesnapshot=%s" },
      { "Content-Type: text/html", "!x-ms-lease-state" },
      NULL,
      NULL },
    { "ListDirectoriesAndFiles",
      200,
      { .line = "GET /share?restype=directory&comp=list&sharesnapshot=%s" },
      { "Content-Type: application/xml" },
      "</Properties></File><Directory><Name>other</Name>",
      NULL },
    { "ListShares",
      200,
      { .line = "GET ?comp=list&include=snapshots,metadata" },
      { "Content-Type: application/xml" },
      "<Metadata><s>t</s></Metadata></Share><Share><Name>share</Name><Properties>",
      NULL },
    { "SetFileServiceProperties",
      202,
      { .line = "PUT ?restype=service&comp=properties",
        .body = "<StorageServiceProperties><Cors><CorsRule><AllowedMethods>PUT</AllowedMethods>"
                "<AllowedOrigins>http://a</AllowedOrigins><AllowedHeaders>x-ms-*</AllowedHeaders>"
                "<ExposedHeaders /><MaxAgeInSeconds>9</MaxAgeInSeconds></CorsRule></Cors>"
                "<ProtocolSettings><SMB><Multichannel><Enabled>true</Enabled></Multichannel></SMB>"
                "</ProtocolSettings><ShareDeleteRetentionPolicy><Enabled>true</Enabled>"
                "<Days>3</Days></ShareDeleteRetentionPolicy></StorageServiceProperties>" },
      { "!ETag" },
      NULL,
      NULL },
    { "GetFileServiceProperties",
      200,
      { .line = "GET ?restype=service&comp=properties" },
      { "Content-Type: application/xml" },
      XML "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>false</Enabled>"
          "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics><MinuteMetrics>"
          "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled>"
          "</RetentionPolicy></MinuteMetrics><Cors><CorsRule><AllowedMethods>PUT</AllowedMethods>"
          "<AllowedOrigins>http://a</AllowedOrigins><AllowedHeaders>x-ms-*</AllowedHeaders>"
          "<ExposedHeaders /><MaxAgeInSeconds>9</MaxAgeInSeconds></CorsRule></Cors>"
          "<ProtocolSettings><SMB><Multichannel><Enabled>true</Enabled></Multichannel></SMB>"
          "</ProtocolSettings><ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days>"
          "</ShareDeleteRetentionPolicy></StorageServiceProperties>",
      NULL },
    { "DeleteShare",
      202,
      { .line = "DELETE /share?restype=share", .headers = { "x-ms-delete-snapshots: include" } },
      { "!ETag" },
      NULL,
      NULL },
    { "ListShares",
      200,
      { .line = "GET ?comp=list&include=deleted" },
      { "Content-Type: application/xml" },
      "<RemainingRetentionDays>3</RemainingRetentionDays></Properties></Share></Shares>",
      "<Version>" },
    { "RestoreShare",
      201,
      { .line = "PUT /share?restype=share&comp=undelete",
        .headers = { "x-ms-deleted-share-name: share", "x-ms-deleted-share-version: %s" } },
      { "ETag: *", "Last-Modified: *" },
      NULL,
      NULL },
    { "PreflightFileRequest",
      200,
      { .line = "OPTIONS /share/any",
        .credential = BY_URL,
        .headers = { "Origin: http://a", "Access-Control-Request-Method: PUT",
                     "Access-Control-Request-Headers: x-ms-date" } },
      { "Access-Control-Allow-Origin: http://a", "Access-Control-Allow-Methods: PUT" },
      NULL,
      NULL },
};

/* Rows that need a source to be fetched; they are in test_file_copy.c and the end-to-end tests. */
static const char *const ELSEWHERE[] = { "PutRangeFromUrl", "CopyFile", "AbortCopyFile" };

static bool is_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof(ELSEWHERE) / sizeof(ELSEWHERE[0]); i++)
        if (strcmp(name, ELSEWHERE[i]) == 0)
            return true;
    return false;
}

/* A text with its mark replaced by what was kept. */
static const char *filled(struct service_fixture *fixture, const char *text, const char *kept)
{
    const char *const mark = text == NULL ? NULL : strstr(text, "%s");
    if (mark == NULL)
        return text;
    return arena_printf(&fixture->arena, "%.*s%s%s", (int)(mark - text), text, kept, mark + 2).data;
}

static void keep(const char *what, char *kept, size_t size)
{
    if (what == NULL)
        return;
    if (what[0] != '<') {
        snprintf(kept, size, "%s", answer_header(what));
        return;
    }
    const struct slice body = answer_body();
    const char *const found = memmem(body.data, body.len, what, strlen(what));
    assert_non_null(found);
    snprintf(kept, size, "%.*s", (int)strcspn(found + strlen(what), "<"), found + strlen(what));
}

static void every_operation_succeeds_once(void **state)
{
    struct service_fixture *fixture = *state;
    bool performed[512] = { 0 };
    char kept[128] = "";
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
        const struct step *step = &STEPS[i];
        struct sent sent = step->sent;
        sent.line = filled(fixture, sent.line, kept);
        for (size_t h = 0; h < HEADERS_MAX; h++)
            sent.headers[h] = filled(fixture, sent.headers[h], kept);
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
        keep(step->kept, kept, sizeof(kept));
        performed[http_operation_index(request.operation)] = true;
    }
    size_t missing = 0;
    assert_true(http_operation_count() <= sizeof(performed) / sizeof(performed[0]));
    for (size_t i = 0; i < http_operation_count(); i++) {
        const struct http_operation *row = http_operation_get(i);
        if (row->service != HTTP_SERVICE_OF_FILES || performed[i] || is_elsewhere(row->name))
            continue;
        print_message("%s has no step\n", row->name);
        missing++;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(every_operation_succeeds_once),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
