/*
 * test_http_route.c - which account, container and blob a request addresses, which operation it
 * names, and that every row of operations_*.def is complete and can be told from the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "frontend/http/http_route.h"

enum {
    HEADERS_MAX = 4,
};

static struct arena arena;
static struct account_list *accounts;

static int set_up(void **state)
{
    (void)state;
    const char *fault = NULL;
    return account_list_new(ACCOUNT_WELL_KNOWN_NAME ":a2V5Mg==;other:a2V5Mg==", &accounts,
                            &fault) == OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    account_list_free(accounts);
    arena_release(&arena);
    return 0;
}

/* --- addresses --- */

static enum err address_of(const char *host, const char *target, bool path_style_only,
                           struct http_address *address)
{
    struct http_field *headers = arena_alloc(&arena, sizeof(*headers));
    headers[0] = (struct http_field){ slice_of("Host"), slice_of(host) };
    struct http_message message = { .headers = headers, .header_count = 1 };
    const enum err err = http_message_parse_target(&arena, slice_of(target), &message);
    assert_int_equal(err, OK);
    return http_address_parse(&arena, &http_blob_service, &message, accounts, path_style_only,
                              address);
}

struct addressed {
    const char *host;
    const char *target;
    const char *account;
    enum http_level level;
    const char *container;
    const char *blob;
    bool path_style;
    bool secondary;
};

static const struct addressed ADDRESSES[] = {
    /* path style */
    { "127.0.0.1:10000", "/devstoreaccount1", "devstoreaccount1", HTTP_SERVICE, "", "", true,
      false },
    { "127.0.0.1:10000", "/devstoreaccount1/", "devstoreaccount1", HTTP_SERVICE, "", "", true,
      false },
    { "127.0.0.1:10000", "/devstoreaccount1/?comp=list", "devstoreaccount1", HTTP_SERVICE, "", "",
      true, false },
    { "127.0.0.1:10000", "/other/box?restype=container", "other", HTTP_CONTAINER, "box", "", true,
      false },
    { "127.0.0.1:10000", "/other/box/?restype=container", "other", HTTP_CONTAINER, "box", "", true,
      false },
    { "127.0.0.1:10000", "/other/box/a/b%20c", "other", HTTP_BLOB, "box", "a/b c", true, false },
    { "127.0.0.1:10000", "/other/box//a//", "other", HTTP_BLOB, "box", "/a//", true, false },
    { "127.0.0.1:10000", "/other/box/a%2Fb%5Cc\\d", "other", HTTP_BLOB, "box", "a/b/c/d", true,
      false },
    { "127.0.0.1:10000", "/other/box/%C3%A9+", "other", HTTP_BLOB, "box", "\xc3\xa9+", true,
      false },
    { "127.0.0.1:10000", "/OTHER/box/b", "other", HTTP_BLOB, "box", "b", true, false },
    { "localhost:10000", "/other/box/b", "other", HTTP_BLOB, "box", "b", true, false },
    { "localhost", "/other/box/b", "other", HTTP_BLOB, "box", "b", true, false },
    { "[::1]:10000", "/other/box/b", "other", HTTP_BLOB, "box", "b", true, false },
    { "", "/other/box/b", "other", HTTP_BLOB, "box", "b", true, false },
    { "host.docker.internal:10000", "/other/box/b", "other", HTTP_BLOB, "box", "b", true, false },
    /* host style */
    { "other.blob.localhost:10000", "/", "other", HTTP_SERVICE, "", "", false, false },
    { "other.blob.localhost", "/box?restype=container", "other", HTTP_CONTAINER, "box", "", false,
      false },
    { "Other.blob.core.windows.net", "/box/other/b", "other", HTTP_BLOB, "box", "other/b", false,
      false },
    /* the root container */
    { "127.0.0.1:10000", "/other/b", "other", HTTP_BLOB, "$root", "b", true, false },
    { "127.0.0.1:10000", "/other/B.txt", "other", HTTP_BLOB, "$root", "B.txt", true, false },
    { "other.blob.localhost", "/b", "other", HTTP_BLOB, "$root", "b", false, false },
    { "127.0.0.1:10000", "/other/$root/b", "other", HTTP_BLOB, "$root", "b", true, false },
    { "127.0.0.1:10000", "/other/$root?restype=container", "other", HTTP_CONTAINER, "$root", "",
      true, false },
    /* the secondary */
    { "127.0.0.1:10000", "/other-secondary/box/b", "other", HTTP_BLOB, "box", "b", true, true },
    { "other-secondary.blob.localhost", "/box/b", "other", HTTP_BLOB, "box", "b", false, true },
};

static void requests_address_what_their_host_and_path_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ADDRESSES) / sizeof(ADDRESSES[0]); i++) {
        const struct addressed *row = &ADDRESSES[i];
        struct http_address address;
        assert_int_equal(address_of(row->host, row->target, false, &address), OK);
        assert_string_equal(address.account->name, row->account);
        assert_int_equal(address.level, row->level);
        assert_true(slice_is(address.container, row->container));
        assert_true(slice_is(address.blob, row->blob));
        assert_int_equal(address.path_style, row->path_style);
        assert_int_equal(address.secondary, row->secondary);
    }
}

static void with_path_style_only_the_host_names_no_account(void **state)
{
    (void)state;
    struct http_address address;
    assert_int_equal(address_of("other.blob.localhost", "/devstoreaccount1/box/b", true, &address),
                     OK);
    assert_string_equal(address.account->name, "devstoreaccount1");
    assert_int_equal(address_of("other.blob.localhost", "/box/b", true, &address),
                     ERR_ACCOUNT_NOT_FOUND);
}

static void addresses_that_lead_nowhere_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *target;
        enum err err;
    } rows[] = {
        { "/", ERR_ACCOUNT_NOT_FOUND },
        { "/nobody/box/b", ERR_ACCOUNT_NOT_FOUND },
        { "/-secondary/box/b", ERR_ACCOUNT_NOT_FOUND },
        { "/nobody-secondary/box/b", ERR_ACCOUNT_NOT_FOUND },
        { "//other/box/b", ERR_ACCOUNT_NOT_FOUND },
        { "/other/b/", ERR_INVALID_URI },
        { "/other/ab?restype=container", ERR_RESOURCE_NAME_LENGTH },
        { "/other/Box?restype=container", ERR_INVALID_RESOURCE_NAME },
        { "/other/b%2Fx/b", ERR_INVALID_RESOURCE_NAME },
        { "/other//b", ERR_RESOURCE_NAME_LENGTH },
        { "/other/box/%00", ERR_INVALID_RESOURCE_NAME },
        { "/other/box/%FF", ERR_INVALID_RESOURCE_NAME },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_address address;
        assert_int_equal(address_of("127.0.0.1", rows[i].target, false, &address), rows[i].err);
    }
}

static void methods_are_told_apart_by_case(void **state)
{
    (void)state;
    assert_int_equal(http_method_of(slice_of("GET")), HTTP_GET);
    assert_int_equal(http_method_of(slice_of("HEAD")), HTTP_HEAD);
    assert_int_equal(http_method_of(slice_of("PUT")), HTTP_PUT);
    assert_int_equal(http_method_of(slice_of("DELETE")), HTTP_DELETE);
    assert_int_equal(http_method_of(slice_of("get")), HTTP_OTHER);
    assert_int_equal(http_method_of(slice_of("")), HTTP_OTHER);
    assert_int_equal(http_method_of(slice_of("GETS")), HTTP_OTHER);
}

/* --- the table --- */

static bool same_text(const char *a, const char *b)
{
    return (a == NULL || b == NULL) ? a == b : strcmp(a, b) == 0;
}

/* The resource type of an account SAS that is for what a path names. */
static char type_of_level(enum http_level level)
{
    switch (level) {
    case HTTP_SERVICE:
        return 's';
    case HTTP_CONTAINER:
    case HTTP_QUEUE:
    case HTTP_SHARE:
    case HTTP_TABLES:
    case HTTP_TABLE:
        return 'c';
    case HTTP_BLOB:
    case HTTP_NODE:
    case HTTP_MESSAGES:
    case HTTP_PEEKED:
    case HTTP_MESSAGE:
    case HTTP_ENTITIES:
    case HTTP_ENTITY:
    case HTTP_BATCH:
        return 'o';
    }
    return '?';
}

static void every_row_is_complete(void **state)
{
    (void)state;
    assert_true(http_operation_count() > 0);
    for (size_t i = 0; i < http_operation_count(); i++) {
        const struct http_operation *row = http_operation_get(i);
        assert_int_equal(http_operation_index(row), i);
        assert_true(strlen(row->name) > 0);
        /* What no SAS permits has no letters. */
        assert_int_equal(strlen(row->permissions) == 0,
                         (row->flags & (OP_KEY_ONLY | OP_ANYBODY)) != 0);
        assert_int_equal(strspn(row->permissions, "racwdxyltfmeiopu"), strlen(row->permissions));
        /* A listing is an operation on what is listed, though a directory is an object. */
        const bool lists = row->level == HTTP_NODE && same_text(row->comp, "list");
        /* What is found by its tags are objects, wherever one looks. */
        const bool finds = same_text(row->comp, "blobs");
        assert_int_equal(row->account_type, lists ? 'c' : finds ? 'o' : type_of_level(row->level));
        assert_non_null(row->run);
        assert_int_equal(row->header == NULL, row->header_value == NULL);

        const bool change = (row->flags & OP_CHANGE) != 0;
        const bool reads =
            row->method == HTTP_GET || row->method == HTTP_HEAD || row->method == HTTP_OPTIONS;
        /* To be given messages is to change who sees them. */
        assert_int_equal(change, !reads || row->level == HTTP_MESSAGES);
        const bool waits = (row->flags & OP_WAITS) != 0;
        assert_false(change && waits);
        assert_int_equal(row->respond != NULL, change || waits);
        /* A change has arguments, which its prepare makes. */
        assert_true(!change || row->prepare != NULL);
        assert_true((row->flags & OP_BODY) == 0 || change);
        assert_true((row->flags & OP_HEAD) == 0 || row->method == HTTP_GET);
        const unsigned both = OP_CONDITIONS | OP_NO_CONDITIONS;
        assert_true((row->flags & both) != both);
        /* Nobody deletes or writes with a permission to read or list; a batch of the table service
           may be a query, and asks for each of its parts. */
        assert_true(!change || row->level == HTTP_BATCH || strpbrk(row->permissions, "rl") == NULL);
        /* Containers are never changed with a SAS of their own; a batch is about blobs. */
        assert_true(row->account_type == 'o' || !change || (row->flags & OP_SERVICE_SAS) == 0 ||
                    same_text(row->comp, "batch"));
    }
}

static void no_two_rows_are_selected_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < http_operation_count(); i++) {
        for (size_t j = 0; j < i; j++) {
            const struct http_operation *a = http_operation_get(i);
            const struct http_operation *b = http_operation_get(j);
            assert_string_not_equal(a->name, b->name);
            const bool head = (a->method == HTTP_HEAD && (b->flags & OP_HEAD) != 0) ||
                              (b->method == HTTP_HEAD && (a->flags & OP_HEAD) != 0);
            if (a->service != b->service)
                continue;
            assert_false((a->method == b->method || head) && a->level == b->level &&
                         same_text(a->restype, b->restype) && same_text(a->comp, b->comp) &&
                         same_text(a->header, b->header) &&
                         same_text(a->header_value, b->header_value) &&
                         ((a->flags ^ b->flags) & OP_COPY_SOURCE) == 0);
        }
    }
}

/* --- finding an operation --- */

struct asked {
    const char *line; /* method and target */
    const char *headers[HEADERS_MAX];
    const char *operation; /* or NULL */
    enum err err;
    const char *fault; /* values of the details, each followed by a space */
};

static struct http_message message_of(const struct asked *asked)
{
    struct http_field *headers = arena_alloc(&arena, HEADERS_MAX * sizeof(*headers));
    const struct slice line = slice_of(asked->line);
    const size_t space = slice_find_byte(line, ' ');
    struct http_message message = { .method = slice_head(line, space), .headers = headers };
    for (size_t i = 0; i < HEADERS_MAX && asked->headers[i] != NULL; i++) {
        const struct slice header = slice_of(asked->headers[i]);
        const size_t colon = slice_find_byte(header, ':');
        headers[message.header_count++] =
            (struct http_field){ slice_head(header, colon), slice_from(header, colon + 1) };
    }
    assert_int_equal(http_message_parse_target(&arena, slice_from(line, space + 1), &message), OK);
    return message;
}

static void assert_routed(const struct asked *asked)
{
    const struct http_message message = message_of(asked);
    struct http_address address;
    const struct http_operation *operation = NULL;
    struct http_error_detail details[HTTP_ERROR_DETAILS_MAX];
    size_t detail_count = 99;
    assert_int_equal(
        http_address_parse(&arena, &http_blob_service, &message, accounts, false, &address), OK);
    const enum err err =
        http_route_find(&http_blob_service, &message, &address, &operation, details, &detail_count);
    if (err != asked->err)
        print_message("%s\n", asked->line);
    assert_int_equal(err, asked->err);
    if (err == OK) {
        assert_string_equal(operation->name, asked->operation);
        return;
    }
    assert_null(operation);
    struct slice fault = { .data = "", .len = 0 };
    for (size_t i = 0; i < detail_count; i++)
        fault = arena_printf(&arena, "%.*s%.*s ", (int)fault.len, fault.data,
                             (int)details[i].value.len, details[i].value.data);
    assert_string_equal(fault.data, asked->fault);
}

static const struct asked OPERATIONS[] = {
    { "GET /other?comp=list", { 0 }, "ListContainers", OK, NULL },
    { "PUT /other/box?restype=container", { 0 }, "CreateContainer", OK, NULL },
    { "GET /other/box?restype=container", { 0 }, "GetContainerProperties", OK, NULL },
    { "HEAD /other/box?restype=container", { 0 }, "GetContainerProperties", OK, NULL },
    { "GET /other/box?comp=metadata&restype=container", { 0 }, "GetContainerMetadata", OK, NULL },
    { "HEAD /other/box?restype=container&comp=metadata", { 0 }, "GetContainerMetadata", OK, NULL },
    { "PUT /other/box?restype=container&comp=metadata", { 0 }, "SetContainerMetadata", OK, NULL },
    { "DELETE /other/box?restype=container", { 0 }, "DeleteContainer", OK, NULL },
    { "GET /other/box?restype=container&comp=list", { 0 }, "ListBlobs", OK, NULL },
    { "GET /other/box?ResType=CONTAINER&COMP=List", { 0 }, "ListBlobs", OK, NULL },
    { "PUT /other/box?restype=container&comp=lease",
      { "x-ms-lease-action: acquire" },
      "AcquireContainerLease",
      OK,
      NULL },
    { "PUT /other/box?restype=container&comp=lease",
      { "X-Ms-Lease-Action: Break" },
      "BreakContainerLease",
      OK,
      NULL },
    { "PUT /other/box/b", { "x-ms-blob-type: BlockBlob" }, "PutBlob", OK, NULL },
    { "PUT /other/box/b?timeout=30&comp=", { "x-ms-blob-type: BlockBlob" }, "PutBlob", OK, NULL },
    { "PUT /other/box/b", { "x-ms-blob-type: AppendBlob" }, "CreateAppendBlob", OK, NULL },
    { "PUT /other/box/b?comp=appendblock", { 0 }, "AppendBlock", OK, NULL },
    { "PUT /other/box/b?comp=seal", { 0 }, "SealAppendBlob", OK, NULL },
    { "PUT /other/box/b", { "x-ms-blob-type: PageBlob" }, "CreatePageBlob", OK, NULL },
    { "PUT /other/box/b?comp=page", { "x-ms-page-write: update" }, "PutPage", OK, NULL },
    { "PUT /other/box/b?comp=page", { "x-ms-page-write: Clear" }, "ClearPage", OK, NULL },
    { "GET /other/box/b?comp=pagelist", { 0 }, "GetPageRanges", OK, NULL },
    { "PUT /other/box/b", { "x-ms-copy-source: u" }, "CopyBlob", OK, NULL },
    { "PUT /other/box/b",
      { "x-ms-copy-source: u", "x-ms-requires-sync: true" },
      "CopyBlobFromUrl",
      OK,
      NULL },
    { "PUT /other/box/b",
      { "x-ms-copy-source: u", "x-ms-blob-type: BlockBlob" },
      "PutBlobFromUrl",
      OK,
      NULL },
    { "PUT /other/box/b?comp=block", { "x-ms-copy-source: u" }, "PutBlockFromUrl", OK, NULL },
    { "PUT /other/box/b?comp=appendblock",
      { "x-ms-copy-source: u" },
      "AppendBlockFromUrl",
      OK,
      NULL },
    { "PUT /other/box/b?comp=page",
      { "x-ms-copy-source: u", "x-ms-page-write: update" },
      "PutPageFromUrl",
      OK,
      NULL },
    { "PUT /other/box/b?comp=incrementalcopy",
      { "x-ms-copy-source: u" },
      "IncrementalCopyBlob",
      OK,
      NULL },
    { "PUT /other/box/b?comp=copy", { "x-ms-copy-action: abort" }, "AbortCopyBlob", OK, NULL },
    { "PUT /other/box/b?comp=metadata", { "x-ms-copy-source: u" }, "SetBlobMetadata", OK, NULL },
    { "PUT /other/box/b?comp=block", { 0 }, "PutBlock", OK, NULL },
    { "GET /other/box/b", { 0 }, "GetBlob", OK, NULL },
    { "HEAD /other/box/b", { 0 }, "GetBlobProperties", OK, NULL },
    { "GET /other/b", { 0 }, "GetBlob", OK, NULL },
    { "GET /other/box/b?comp=metadata", { 0 }, "GetBlobMetadata", OK, NULL },
    { "HEAD /other/box/b?comp=metadata", { 0 }, "GetBlobMetadata", OK, NULL },
    { "PUT /other/box/b?comp=metadata", { 0 }, "SetBlobMetadata", OK, NULL },
    { "PUT /other/box/b?comp=properties", { 0 }, "SetBlobProperties", OK, NULL },
    { "DELETE /other/box/b", { 0 }, "DeleteBlob", OK, NULL },
    { "PUT /other/box/b?comp=undelete", { 0 }, "UndeleteBlob", OK, NULL },
    { "PUT /other/box/b?comp=lease", { "x-ms-lease-action: renew" }, "RenewBlobLease", OK, NULL },
    { "PUT /other/box/b?comp=lease", { "x-ms-lease-action: change" }, "ChangeBlobLease", OK, NULL },
    { "PUT /other/box/b?comp=lease",
      { "x-ms-lease-action: release" },
      "ReleaseBlobLease",
      OK,
      NULL },
};

static void requests_find_their_operation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(OPERATIONS) / sizeof(OPERATIONS[0]); i++)
        assert_routed(&OPERATIONS[i]);
}

static const struct asked REFUSALS[] = {
    { "POST /other/box/b", { 0 }, NULL, ERR_UNSUPPORTED_VERB, "" },
    { "PATCH /other/box?restype=container", { 0 }, NULL, ERR_UNSUPPORTED_VERB, "" },
    { "HEAD /other/box?restype=container&comp=list", { 0 }, NULL, ERR_UNSUPPORTED_VERB, "" },
    { "DELETE /other/box/b?comp=metadata", { 0 }, NULL, ERR_UNSUPPORTED_VERB, "" },
    { "GET /other/box/b?comp=nonsense",
      { 0 },
      NULL,
      ERR_INVALID_QUERY_PARAMETER,
      "comp nonsense " },
    { "GET /other/box/b?restype=container",
      { 0 },
      NULL,
      ERR_INVALID_QUERY_PARAMETER,
      "restype container " },
    { "GET /other/box?restype=box", { 0 }, NULL, ERR_INVALID_QUERY_PARAMETER, "restype box " },
    { "PUT /other/box/b", { 0 }, NULL, ERR_MISSING_HEADER, "x-ms-blob-type " },
    { "PUT /other/box/b",
      { "x-ms-blob-type: Block" },
      NULL,
      ERR_INVALID_HEADER,
      "x-ms-blob-type Block " },
    { "PUT /other/box/b?comp=lease", { 0 }, NULL, ERR_MISSING_HEADER, "x-ms-lease-action " },
    { "PUT /other/box?restype=container&comp=lease",
      { "x-ms-lease-action: seize" },
      NULL,
      ERR_INVALID_HEADER,
      "x-ms-lease-action seize " },
    { "PUT /other/box/b?comp=incrementalcopy",
      { 0 },
      NULL,
      ERR_MISSING_HEADER,
      "x-ms-copy-source " },
    { "PUT /other/box/b?comp=copy", { 0 }, NULL, ERR_MISSING_HEADER, "x-ms-copy-action " },
    /* Operations of the service that have no row. */
    { "PUT /other/box/b?comp=expiry", { 0 }, NULL, ERR_NOT_IMPLEMENTED, "" },
};

static void requests_without_an_operation_are_told_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(REFUSALS) / sizeof(REFUSALS[0]); i++)
        assert_routed(&REFUSALS[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_address_what_their_host_and_path_say),
        cmocka_unit_test(with_path_style_only_the_host_names_no_account),
        cmocka_unit_test(addresses_that_lead_nowhere_are_refused),
        cmocka_unit_test(methods_are_told_apart_by_case),
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(no_two_rows_are_selected_alike),
        cmocka_unit_test(requests_find_their_operation),
        cmocka_unit_test(requests_without_an_operation_are_told_why),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
