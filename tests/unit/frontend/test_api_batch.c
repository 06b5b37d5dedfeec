/*
 * test_api_batch.c - batches: every part is a request of its own, and none goes beyond the batch.
 */
#include "http_request_fixture.h"

#define TYPE "Content-Type: multipart/mixed; boundary=b"
#define BOX  ACCOUNT "/box"

/* A part signed as a client signs it, with one more header, "" for none. */
static struct slice part(struct service_fixture *fixture, const char *line, const char *header)
{
    struct arena *arena = &fixture->arena;
    const struct slice text = slice_of(line);
    const size_t space = slice_find_byte(text, ' ');
    char date[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(clock_now(&fixture->clock), date);
    struct http_field fields[2] = { { slice_of("x-ms-date"), slice_of(date) } };
    const struct slice more = slice_of(header);
    const size_t colon = slice_find_byte(more, ':');
    fields[1] =
        (struct http_field){ slice_head(more, colon), slice_trim(slice_from(more, colon + 1)) };
    struct http_message message = { .method = slice_head(text, space),
                                    .headers = fields,
                                    .header_count = more.len > 0 ? 2 : 1 };
    assert_int_equal(http_message_parse_target(arena, slice_from(text, space + 1), &message), OK);
    const struct auth_sharedkey_request signed_request = {
        .message = &message,
        .account = account_list_get(accounts, 0),
        .addressing = AUTH_PATH_STYLE,
        .dialect = AUTH_DIALECT_BLOB_QUEUE_FILE,
        .now = clock_now(&fixture->clock),
    };
    struct slice to_sign;
    assert_int_equal(auth_sharedkey_text(arena, &signed_request, slice_of(FIXTURE_ACCOUNT_NAME),
                                         AUTH_SHAREDKEY, AUTH_ORDER_BYTES, &to_sign),
                     OK);
    const struct slice signature = hmac_base64(to_sign);
    return arena_printf(arena,
                        "--b\r\nContent-Type: application/http\r\n\r\n%s HTTP/1.1\r\n"
                        "x-ms-date: %s\r\n%s%sAuthorization: SharedKey %s:%.*s\r\n\r\n",
                        line, date, header, more.len > 0 ? "\r\n" : "", FIXTURE_ACCOUNT_NAME,
                        (int)signature.len, signature.data);
}

/* A batch of these signed parts, which end in NULL; sent to `target`. */
static struct sent batch_of(struct service_fixture *fixture, const char *target,
                            const char *const lines[])
{
    struct strbuf body;
    strbuf_init(&body, &fixture->arena);
    for (size_t i = 0; lines[i] != NULL; i++)
        strbuf_add(&body, part(fixture, lines[i], ""));
    strbuf_add_text(&body, "--b--");
    strbuf_add_byte(&body, '\0');
    return (struct sent){ .line = target, .headers = { TYPE }, .body = body.data };
}

static void put(struct service_fixture *fixture, const char *target)
{
    const struct sent sent = { .line = arena_printf(&fixture->arena, "PUT %s", target).data,
                               .headers = { PUT_BLOB } };
    send_request(fixture, &sent);
    assert_status(&sent, 201);
}

static bool exists(struct service_fixture *fixture, const char *target)
{
    const struct sent sent = { .line = arena_printf(&fixture->arena, "HEAD %s", target).data };
    send_request(fixture, &sent);
    return request.response.status == 200;
}

/* How often `text` stands in the answer. */
static size_t count_in_answer(const char *text)
{
    size_t count = 0;
    struct slice rest = answer_body();
    const char *found;
    while (rest.len > 0 && (found = memmem(rest.data, rest.len, text, strlen(text))) != NULL) {
        rest = slice_from(rest, (size_t)(found - rest.data) + 1);
        count++;
    }
    return count;
}

static void assert_refused(struct service_fixture *fixture, const char *target,
                           const char *const lines[])
{
    const struct sent sent = batch_of(fixture, target, lines);
    send_request(fixture, &sent);
    assert_fault(&sent, 400, "InvalidInput");
    assert_true(exists(fixture, "/box/blob"));
}

/* --- parts --- */

static void every_part_is_answered_in_its_place(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const char *const lines[] = { "DELETE " BOX "/blob", "DELETE " BOX "/none",
                                  "DELETE " BOX "/leased", NULL };
    const struct sent sent = batch_of(fixture, "POST ?comp=batch", lines);
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    const struct slice body = answer_body();
    const char *deleted = memmem(body.data, body.len, "HTTP/1.1 202 Accepted\r\n", 23);
    const char *missing = memmem(body.data, body.len, "HTTP/1.1 404 The specified blob", 31);
    const char *leased = memmem(body.data, body.len, "HTTP/1.1 412 There is", 21);
    assert_true(deleted != NULL && deleted < missing && missing < leased);
    assert_body_has("x-ms-error-code: LeaseIdMissing\r\n");
    assert_int_equal(count_in_answer("x-ms-version: 2021-12-02\r\n"), 3);
    assert_false(exists(fixture, "/box/blob"));
    assert_true(exists(fixture, "/box/leased"));
}

static void a_part_takes_conditions_and_leases(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct slice body =
        arena_printf(&fixture->arena, "%s%s--b--",
                     part(fixture, "DELETE " BOX "/leased", "x-ms-lease-id: " LEASE_A).data,
                     part(fixture, "DELETE " BOX "/blob", "If-Match: \"0x1\"").data);
    const struct sent sent = { .line = "POST ?comp=batch", .headers = { TYPE }, .body = body.data };
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    assert_body_has("HTTP/1.1 202 Accepted");
    assert_body_has("x-ms-error-code: ConditionNotMet");
    assert_true(exists(fixture, "/box/blob"));
    assert_false(exists(fixture, "/box/leased"));
}

static void tiers_are_set_in_batches(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct slice body =
        arena_printf(&fixture->arena, "%s%s--b--",
                     part(fixture, "PUT " BOX "/blob?comp=tier", "x-ms-access-tier: Cool").data,
                     part(fixture, "PUT " BOX "/leased?comp=tier", "x-ms-access-tier: Warm").data);
    const struct sent sent = { .line = "POST ?comp=batch", .headers = { TYPE }, .body = body.data };
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    assert_body_has("HTTP/1.1 200 OK");
    assert_body_has("HTTP/1.1 400 ");
    assert_true(exists(fixture, "/box/blob"));
    assert_header("x-ms-access-tier: Cool");
}

static void a_part_without_its_own_credential_is_refused_alone(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    put(fixture, "/box/second");
    const struct slice body = arena_printf(
        &fixture->arena,
        "--b\r\nContent-Type: application/http\r\n\r\nDELETE " BOX "/blob HTTP/1.1\r\n\r\n"
        "%s--b--",
        part(fixture, "DELETE " BOX "/second", "").data);
    const struct sent sent = { .line = "POST ?comp=batch", .headers = { TYPE }, .body = body.data };
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    assert_body_has("HTTP/1.1 401 ");
    assert_body_has("HTTP/1.1 202 Accepted");
    assert_true(exists(fixture, "/box/blob"));
    assert_false(exists(fixture, "/box/second"));
}

static void a_full_url_is_a_target_too(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const char *const lines[] = { "DELETE http://127.0.0.1:10000" BOX "/blob", NULL };
    const struct sent sent = batch_of(fixture, "POST ?comp=batch", lines);
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    assert_body_has("HTTP/1.1 202 Accepted");
    assert_false(exists(fixture, "/box/blob"));
}

static void a_whole_batch_of_256_parts_is_performed(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const char *lines[258] = { NULL };
    for (size_t i = 0; i < 257; i++)
        lines[i] = "DELETE " BOX "/none";
    const struct sent too_many = batch_of(fixture, "POST ?comp=batch", lines);
    send_request(fixture, &too_many);
    assert_fault(&too_many, 400, "InvalidInput");
    lines[0] = "DELETE " BOX "/blob";
    lines[256] = NULL;
    const struct sent sent = batch_of(fixture, "POST ?comp=batch", lines);
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    assert_int_equal(count_in_answer("HTTP/1.1 404 "), 255);
    assert_int_equal(count_in_answer("HTTP/1.1 202 "), 1);
}

/* --- what a batch may not be --- */

static void parts_are_all_of_one_kind(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const char *const mixed[] = { "DELETE " BOX "/blob", "PUT " BOX "/blob?comp=tier", NULL };
    const char *const put_blob[] = { "PUT " BOX "/blob", NULL };
    const char *const get[] = { "GET " BOX "/blob", NULL };
    const char *const nested[] = { "POST " ACCOUNT "?comp=batch", NULL };
    const char *const metadata[] = { "PUT " BOX "/blob?comp=metadata", NULL };
    assert_refused(fixture, "POST ?comp=batch", mixed);
    assert_refused(fixture, "POST ?comp=batch", put_blob);
    assert_refused(fixture, "POST ?comp=batch", get);
    assert_refused(fixture, "POST ?comp=batch", nested);
    assert_refused(fixture, "POST ?comp=batch", metadata);
}

static void a_batch_deletes_no_container(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const char *const container[] = { "DELETE " BOX "?restype=container", NULL };
    assert_refused(fixture, "POST ?comp=batch", container);
    assert_refused(fixture, "POST /box?restype=container&comp=batch", container);
}

static void an_empty_or_foreign_body_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const char *const none[] = { NULL };
    assert_refused(fixture, "POST ?comp=batch", none);
    const struct sent empty = { .line = "POST ?comp=batch", .headers = { TYPE } };
    const struct sent text = { .line = "POST ?comp=batch",
                               .headers = { "Content-Type: text/plain" },
                               .body = "--b--" };
    const struct sent untyped = { .line = "POST ?comp=batch", .body = "--b--" };
    const struct sent long_one = { .line = "POST ?comp=batch",
                                   .headers = { TYPE },
                                   .length = "4194305" };
    send_request(fixture, &empty);
    assert_fault(&empty, 400, "InvalidInput");
    send_request(fixture, &text);
    assert_fault(&text, 400, "InvalidHeaderValue");
    send_request(fixture, &untyped);
    assert_fault(&untyped, 400, "InvalidHeaderValue");
    send_request(fixture, &long_one);
    assert_fault(&long_one, 413, "RequestBodyTooLarge");
    assert_body_has("<MaxLimit>4194304</MaxLimit>");
}

/* --- the scope of a container --- */

static void a_batch_of_a_container_stays_within_it(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const struct sent create = { .line = "PUT /boxes?restype=container" };
    send_request(fixture, &create);
    put(fixture, "/boxes/blob");
    const char *const target = "POST /box?restype=container&comp=batch";
    const char *const other[] = { "DELETE " BOX "/blob", "DELETE " ACCOUNT "/boxes/blob", NULL };
    const char *const longer[] = { "DELETE " BOX "es/blob", NULL };
    const char *const root[] = { "DELETE " BOX, NULL };
    const char *const nowhere[] = { "DELETE /nobody/box/blob", NULL };
    assert_refused(fixture, target, other);
    assert_refused(fixture, target, longer);
    assert_refused(fixture, target, root);
    assert_refused(fixture, target, nowhere);
    assert_true(exists(fixture, "/boxes/blob"));
}

static void the_container_may_be_spelled_with_escapes(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    const char *const lines[] = { "DELETE " ACCOUNT "/%62ox/blo%62", NULL };
    const struct sent sent = batch_of(fixture, "POST /bo%78?restype=container&comp=batch", lines);
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    assert_body_has("HTTP/1.1 202 Accepted");
    assert_false(exists(fixture, "/box/blob"));
}

static void a_part_cannot_name_a_host_of_its_own(void **state)
{
    struct service_fixture *fixture = *state;
    make_store(fixture);
    /* By this host the path would be container devstoreaccount1 and blob box/blob. */
    const struct slice body = arena_printf(
        &fixture->arena, "%s--b--",
        part(fixture, "DELETE " BOX "/blob", "Host: devstoreaccount1.blob.localhost").data);
    const struct sent sent = { .line = "POST /box?restype=container&comp=batch",
                               .headers = { TYPE },
                               .body = body.data };
    send_request(fixture, &sent);
    assert_status(&sent, 202);
    assert_body_has("HTTP/1.1 202 Accepted");
    assert_false(exists(fixture, "/box/blob"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(every_part_is_answered_in_its_place),
        WITH_STORE(a_part_takes_conditions_and_leases),
        WITH_STORE(tiers_are_set_in_batches),
        WITH_STORE(a_part_without_its_own_credential_is_refused_alone),
        WITH_STORE(a_full_url_is_a_target_too),
        WITH_STORE(a_whole_batch_of_256_parts_is_performed),
        WITH_STORE(parts_are_all_of_one_kind),
        WITH_STORE(a_batch_deletes_no_container),
        WITH_STORE(an_empty_or_foreign_body_is_refused),
        WITH_STORE(a_batch_of_a_container_stays_within_it),
        WITH_STORE(the_container_may_be_spelled_with_escapes),
        WITH_STORE(a_part_cannot_name_a_host_of_its_own),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
