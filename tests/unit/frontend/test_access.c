/*
 * test_access.c - callers without the account's key, and the version spoken to those who name none.
 */
#include "http_request_fixture.h"

static void make_public(struct service_fixture *fixture, const char *level)
{
    make_store(fixture);
    const struct sent set = {
        .line = "PUT /box?restype=container&comp=acl",
        .headers = { arena_printf(&fixture->arena, "x-ms-blob-public-access: %s", level).data },
    };
    send_request(fixture, &set);
    assert_status(&set, 200);
}

static void set_default_version(struct service_fixture *fixture, const char *version)
{
    const struct sent set = {
        .line = "PUT ?restype=service&comp=properties",
        .body = arena_printf(&fixture->arena,
                             "<StorageServiceProperties><DefaultServiceVersion>%s"
                             "</DefaultServiceVersion></StorageServiceProperties>",
                             version)
                    .data,
    };
    send_request(fixture, &set);
    assert_status(&set, 202);
}

static void send_anonymous(struct service_fixture *fixture, const char *line, const char *header,
                           unsigned status)
{
    const struct sent sent = {
        .line = line, .headers = { header }, .credential = BY_URL, .no_version = true
    };
    send_request(fixture, &sent);
    assert_status(&sent, status);
}

/* --- anybody --- */

static void anybody_reads_public_blobs_with_conditions(void **state)
{
    struct service_fixture *fixture = *state;
    make_public(fixture, "blob");
    send_anonymous(fixture, "GET /box/blob", NULL, 200);
    assert_true(slice_is(answer_body(), "hello"));
    const char *const etag = arena_copy(&fixture->arena, slice_of(answer_header("ETag"))).data;
    const char *const match = arena_printf(&fixture->arena, "If-Match: %s", etag).data;
    const char *const none = arena_printf(&fixture->arena, "If-None-Match: %s", etag).data;
    send_anonymous(fixture, "GET /box/blob", match, 200);
    send_anonymous(fixture, "GET /box/blob", none, 304);
    send_anonymous(fixture, "HEAD /box/blob", "If-Match: \"0x1\"", 412);
    send_anonymous(fixture, "GET /box/blob", "Range: bytes=1-", 206);
    send_anonymous(fixture, "GET /box/none", NULL, 404);
}

static void a_browser_revalidates_by_tag_and_date_at_once(void **state)
{
    struct service_fixture *fixture = *state;
    make_public(fixture, "blob");
    send_anonymous(fixture, "GET /box/blob", NULL, 200);
    const struct sent again = {
        .line = "GET /box/blob",
        .headers = { arena_printf(&fixture->arena, "If-None-Match: %s", answer_header("ETag")).data,
                     arena_printf(&fixture->arena, "If-Modified-Since: %s",
                                  answer_header("Last-Modified"))
                         .data },
        .credential = BY_URL,
        .no_version = true,
    };
    send_request(fixture, &again);
    assert_status(&again, 304);
}

static void the_level_of_a_container_says_what_is_public(void **state)
{
    struct service_fixture *fixture = *state;
    make_public(fixture, "blob");
    send_anonymous(fixture, "GET /box?restype=container&comp=list", NULL, 404);
    send_anonymous(fixture, "GET /box?restype=container", NULL, 404);
    send_anonymous(fixture, "GET /box/blob?comp=metadata", NULL, 200);
    const struct sent open = { .line = "PUT /box?restype=container&comp=acl",
                               .headers = { "x-ms-blob-public-access: container" } };
    send_request(fixture, &open);
    send_anonymous(fixture, "GET /box?restype=container&comp=list", NULL, 200);
    send_anonymous(fixture, "GET /box?restype=container", NULL, 200);
    send_anonymous(fixture, "GET /box?restype=container&comp=acl", NULL, 404);
    send_anonymous(fixture, "GET /box/blob?comp=tags", NULL, 404);
    send_anonymous(fixture, "DELETE /box/blob", NULL, 404);
    send_anonymous(fixture, "GET ?comp=list", NULL, 404);
    send_anonymous(fixture, "GET /leased/blob", NULL, 404);
}

static void tags_are_not_public_even_as_a_condition(void **state)
{
    struct service_fixture *fixture = *state;
    make_public(fixture, "container");
    send_anonymous(fixture, "GET /box/blob", "x-ms-if-tags: a = 'b'", 403);
}

static void blocks_that_are_not_committed_are_not_public(void **state)
{
    struct service_fixture *fixture = *state;
    make_public(fixture, "container");
    send_anonymous(fixture, "GET /box/blob?comp=blocklist", NULL, 200);
    send_anonymous(fixture, "GET /box/blob?comp=blocklist&blocklisttype=committed", NULL, 200);
    send_anonymous(fixture, "GET /box/blob?comp=blocklist&blocklisttype=uncommitted", NULL, 404);
    send_anonymous(fixture, "GET /box/blob?comp=blocklist&blocklisttype=all", NULL, 404);
}

/* --- the version of requests that name none --- */

static void assert_version(struct service_fixture *fixture, const struct sent *sent, int version)
{
    send_request(fixture, sent);
    assert_int_equal(request.version, version);
}

static void requests_without_a_version_speak_the_accounts(void **state)
{
    struct service_fixture *fixture = *state;
    const struct sent by_key = { .line = "GET /box/b", .no_version = true };
    const struct sent anonymous = { .line = "GET /box/b",
                                    .credential = BY_URL,
                                    .no_version = true };
    const struct sent by_header = { .line = "GET /box/b",
                                    .headers = { "x-ms-version: 2020-02-10" } };
    const struct sent by_sas = { .line = "GET /box/b?sv=2018-11-09&sig=AA",
                                 .credential = BY_URL,
                                 .no_version = true };
    const struct sent by_first_sas = { .line = "GET /box/b?sr=b&sig=AA",
                                       .credential = BY_URL,
                                       .no_version = true };
    set_default_version(fixture, "2019-02-02");
    assert_version(fixture, &by_key, 20190202);
    assert_true(slice_is(request.version_text, "2019-02-02"));
    assert_version(fixture, &anonymous, 20190202);
    assert_version(fixture, &by_header, 20200210);
    assert_version(fixture, &by_sas, 20181109);
    send_request(fixture, &by_first_sas);
    assert_int_not_equal(request.version, 20190202);
    set_default_version(fixture, "2099-01-01");
    assert_version(fixture, &by_key, 20260606);
    assert_true(slice_is(request.version_text, "2026-06-06"));
    set_default_version(fixture, "");
    assert_version(fixture, &anonymous, 20090919);
}

/* --- policies --- */

static void set_policies(struct service_fixture *fixture, const char *identifiers, unsigned status)
{
    const struct sent set = { .line = "PUT /box?restype=container&comp=acl",
                              .body = arena_printf(&fixture->arena,
                                                   "<SignedIdentifiers>%s</SignedIdentifiers>",
                                                   identifiers)
                                          .data };
    send_request(fixture, &set);
    assert_status(&set, status);
}

static void policies_that_cannot_be_leave_the_old_ones(void **state)
{
    struct service_fixture *fixture = *state;
    const struct sent get = { .line = "GET /box?restype=container&comp=acl" };
    make_store(fixture);
    set_policies(fixture, "<SignedIdentifier><Id>kept</Id></SignedIdentifier>", 200);
    set_policies(fixture, "<SignedIdentifier><Id></Id></SignedIdentifier>", 400);
    assert_header("x-ms-error-code: InvalidXmlNodeValue");
    set_policies(fixture, "<SignedIdentifier>", 400);
    assert_header("x-ms-error-code: InvalidXmlDocument");
    send_request(fixture, &get);
    assert_body_has("<Id>kept</Id>");
    set_policies(fixture, "", 200);
    send_request(fixture, &get);
    assert_body_has("<SignedIdentifiers />");
}

/* The query of a SAS for the container by a stored policy, with nothing else in it. */
static const char *sas_by_policy(struct service_fixture *fixture, const char *line, const char *id)
{
    const struct slice text = arena_printf(
        &fixture->arena, "\n\n\n/blob" ACCOUNT "/box\n%s\n\n\n2018-11-09\nc\n\n\n\n\n\n", id);
    const struct slice signature = hmac_base64(text);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    strbuf_printf(&out, "%s%csv=2018-11-09&sr=c&si=%s&sig=", line,
                  strchr(line, '?') != NULL ? '&' : '?', id);
    for (size_t i = 0; i < signature.len; i++)
        strbuf_printf(&out, "%%%02X", (unsigned)signature.data[i]);
    strbuf_add_byte(&out, '\0');
    return out.data;
}

static void send_by_policy(struct service_fixture *fixture, const char *line, unsigned status)
{
    const struct sent sent = { .line = sas_by_policy(fixture, line, "p"), .credential = BY_URL };
    send_request(fixture, &sent);
    assert_status(&sent, status);
}

static void a_sas_does_what_its_policy_says_now(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    send_by_policy(fixture, "GET /box/blob", 403);
    set_policies(fixture,
                 "<SignedIdentifier><Id>p</Id><AccessPolicy><Expiry>2027-01-01</Expiry>"
                 "<Permission>r</Permission></AccessPolicy></SignedIdentifier>",
                 200);
    send_by_policy(fixture, "GET /box/blob", 200);
    send_by_policy(fixture, "GET /box?restype=container&comp=list", 403);
    send_by_policy(fixture, "GET /box?restype=container&comp=acl", 403);
    send_by_policy(fixture, "GET /leased/blob", 403);
    set_policies(fixture,
                 "<SignedIdentifier><Id>p</Id><AccessPolicy><Expiry>2027-01-01</Expiry>"
                 "<Permission>l</Permission></AccessPolicy></SignedIdentifier>",
                 200);
    send_by_policy(fixture, "GET /box/blob", 403);
    send_by_policy(fixture, "GET /box?restype=container&comp=list", 200);
    set_policies(fixture,
                 "<SignedIdentifier><Id>p</Id><AccessPolicy><Start>2026-12-01</Start>"
                 "<Expiry>2027-01-01</Expiry><Permission>rl</Permission></AccessPolicy>"
                 "</SignedIdentifier>",
                 200);
    send_by_policy(fixture, "GET /box/blob", 403);
    set_policies(fixture, "", 200);
    send_by_policy(fixture, "GET /box/blob", 403);
}

static void a_policy_named_where_there_is_no_container_is_none(void **state)
{
    struct service_fixture *fixture = *state;
    const struct sent account = { .line = "GET ?comp=list&sv=2018-11-09&sr=c&si=p&sig=AA",
                                  .credential = BY_URL };
    const struct sent none = { .line = "GET /none/b?sv=2018-11-09&sr=c&si=p&sig=AA",
                               .credential = BY_URL };
    send_request(fixture, &account);
    assert_fault(&account, 403, "AuthenticationFailed");
    send_request(fixture, &none);
    assert_fault(&none, 403, "AuthenticationFailed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(anybody_reads_public_blobs_with_conditions),
        WITH_STORE(a_browser_revalidates_by_tag_and_date_at_once),
        WITH_STORE(the_level_of_a_container_says_what_is_public),
        WITH_STORE(tags_are_not_public_even_as_a_condition),
        WITH_STORE(blocks_that_are_not_committed_are_not_public),
        WITH_STORE(requests_without_a_version_speak_the_accounts),
        WITH_STORE(policies_that_cannot_be_leave_the_old_ones),
        WITH_STORE(a_sas_does_what_its_policy_says_now),
        WITH_STORE(a_policy_named_where_there_is_no_container_is_none),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
