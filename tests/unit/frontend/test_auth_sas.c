/*
 * test_auth_sas.c - shared access signatures.
 *
 * Signatures are from the official JavaScript client (@azure/storage-blob 12.27.0), or computed
 * with another program's HMAC over a text written by hand from the tables of "Create a service
 * SAS" and "Create an account SAS".
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/date.h"
#include "base/strbuf.h"
#include "frontend/http/auth_sas.h"

static struct arena arena;
static struct account_list *accounts;

static int set_up(void **state)
{
    (void)state;
    /* The second key is "key2". */
    const char *fault = NULL;
    const enum err err = account_list_new(
        ACCOUNT_WELL_KNOWN_NAME ":" ACCOUNT_WELL_KNOWN_KEY ":a2V5Mg==;other:a2V5Mg==", &accounts,
        &fault);
    return err == OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    account_list_free(accounts);
    arena_release(&arena);
    return 0;
}

static int64_t ticks_of(const char *iso)
{
    int64_t ticks = 0;
    assert_int_equal(date_parse_iso(slice_of(iso), &ticks), OK);
    return ticks;
}

/* Most SAS here begin on the first of January and end on the first of February. */
#define TIMES  "&st=2026-01-01T00%3A00%3A00Z&se=2026-02-01T00%3A00%3A00Z"
#define INSIDE "2026-01-15T12:00:00Z"

/* A SAS and a request it is good for. */
struct vector {
    const char *query;
    const char *container;
    const char *blob;
    const char *snapshot;
    const char *version_id;
};

static struct sas_request request_of(const struct vector *vector)
{
    static struct sockaddr_in client = { .sin_family = AF_INET };
    assert_int_equal(inet_pton(AF_INET, "10.0.0.1", &client.sin_addr), 1);
    return (struct sas_request){
        .account = account_list_get(accounts, 0),
        .service = 'b',
        .service_name = "blob",
        .container = slice_of(vector->container),
        .blob = slice_of(vector->blob),
        .snapshot = slice_of(vector->snapshot),
        .version_id = slice_of(vector->version_id),
        .client = (const struct sockaddr *)&client,
        .is_https = true,
        .now = ticks_of(INSIDE),
    };
}

static struct http_message message_of(const char *query)
{
    struct http_message message = { 0 };
    assert_int_equal(
        http_message_parse_target(&arena, arena_printf(&arena, "/?%s", query), &message), OK);
    return message;
}

static enum err verify(const char *query, const struct sas_request *request,
                       const struct sas_policy *policy, struct sas *sas)
{
    const struct http_message message = message_of(query);
    const enum err err = auth_sas_parse(&message, request->service, sas);
    return err != OK ? err : auth_sas_verify(&arena, sas, request, policy);
}

static enum err verify_vector(const struct vector *vector)
{
    const struct sas_request request = request_of(vector);
    struct sas sas;
    return verify(vector->query, &request, NULL, &sas);
}

static void assert_slice(struct slice got, const char *expected)
{
    if (!slice_is(got, expected))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)got.len, got.data, expected);
}

/* --- signatures --- */

#define OVERRIDES   "&rscc=cc&rscd=cd&rsce=ce&rscl=cl&rsct=ct"
#define FROM_CLIENT "&sip=10.0.0.1&spr=https,http"
#define SNAPSHOT    "2025-12-31T23:59:59.1234567Z"

static const struct vector OFFICIAL[] = {
    { .query = "sv=2025-05-05&spr=https%2Chttp&st=2026-01-01T00%3A00%3A00Z&se=2026-02-01T00%3A00"
               "%3A00Z&sip=10.0.0.1-10.0.0.9&ses=scope1&sr=b&sp=racwd&sig=E4uQWAUNgHMYBui69QVmz"
               "%2F0%2FCpT6Qv6gZXYbXCQLmeU%3D&rscc=no-cache&rscd=attachment%3B%20filename%3D%22x"
               "%20y%22&rsce=gzip&rscl=en-US&rsct=text%2Fhtml%3B%20charset%3Dutf-8",
      .container = "box",
      .blob = "dir/a b+\xC3\xBC.txt" },
    { .query = "sv=2018-11-09&se=2026-02-01T00%3A00%3A00Z&sr=c&sp=rl&sig=7ZUcAcW1KQK4HVhQ19Sb%2FF"
               "8ps8Iiqdmk7BsbR24vKEc%3D",
      .container = "box",
      .blob = "any/blob" },
    { .query = "sv=2016-05-31&se=2026-02-01T00%3A00%3A00Z&sr=c&sp=rl&sig=UI9p0vl1jqaO4u7OjcGSsMbd"
               "k0YEzVZr5yBEqzt3Qls%3D",
      .container = "box" },
    { .query = "sv=2019-12-12&se=2026-02-01T00%3A00%3A00Z&sr=bs&sp=r&sig=UmAq7Dmqi88jCKXiNyv0gsZc"
               "87YBAqhwIQlhJyuAMA8%3D",
      .container = "box",
      .blob = "b",
      .snapshot = SNAPSHOT },
    { .query = "sv=2025-05-05&se=2026-02-01T00%3A00%3A00Z&sr=bv&sp=r&sig=Cn4hhXwOreT%2B4Is5ynzes0"
               "W8%2Be8u9p6px6z96MzX2qg%3D",
      .container = "box",
      .blob = "b",
      .version_id = SNAPSHOT },
    { .query = "sv=2025-05-05&ss=bq&srt=sco&spr=https&st=2026-01-01T00%3A00%3A00Z&se=2026-02-01T0"
               "0%3A00%3A00Z&sip=10.0.0.1&ses=scope1&sp=rwdlac&sig=tR%2BAZ4tZ2NQJtt%2FwwnbXAwRoyR"
               "I%2Fz5uFOGD7sVS%2Be1Y%3D" },
    { .query = "sv=2019-12-12&ss=bq&srt=sco&spr=https&st=2026-01-01T00%3A00%3A00Z&se=2026-02-01T0"
               "0%3A00%3A00Z&sip=10.0.0.1&sp=rwdlac&sig=2jxbuibjAGu2me%2F7j7OGxexW2WAlifP8Od05dz3"
               "QaCE%3D",
      .container = "box",
      .blob = "b" },
};

/* One for each form of the signed text and for the versions at its ends. */
static const struct vector FORMS[] = {
    { .query = "sr=b&sp=r" TIMES "&sig=zasaQVOWdj5x6fKixRrOicnYN%2BivAASIzgaO0k3RlCQ%3D" },
    { .query =
          "sv=2011-08-18&sr=b&sp=r" TIMES "&sig=zasaQVOWdj5x6fKixRrOicnYN%2BivAASIzgaO0k3RlCQ%3D" },
    { .query =
          "sv=2012-02-12&sr=b&sp=r" TIMES "&sig=tA1BJq5ujopnHfwc/FAFodqssEOiLbinkkgNl5IaBlg=" },
    { .query = "sv=2013-08-15&sr=b&sp=r" TIMES OVERRIDES
               "&sig=uj6M37ZE5NSUCyHPE%2BOUtptRVqKV4IbRsprLwcF3O5c=" },
    { .query = "sv=2014-02-14&sr=b&sp=r" TIMES OVERRIDES
               "&sig=G8vOLVBkA7lpXYirlhysRQLG2CBhx/tQwFn1v3wKut0=" },
    { .query = "sv=2015-02-21&sr=b&sp=r" TIMES OVERRIDES
               "&sig=kN0YtUR2wCROaL9yLfqzek%2BnVYiDOvPKatwK9FfimGk=" },
    { .query = "sv=2015-04-05&sr=b&sp=r" TIMES FROM_CLIENT OVERRIDES
               "&sig=e8J1A4F%2BtIsq4GffZ/2PLvU462aPIPv9y8j630hAL4A=" },
    { .query = "sv=2018-03-28&sr=b&sp=r" TIMES FROM_CLIENT OVERRIDES
               "&sig=iSsZw6u8Ds3PvgbLTFgdJvMLjW0HDf4eyJcKzW%2BAoxw=" },
    { .query = "sv=2018-11-09&sr=b&sp=r" TIMES FROM_CLIENT OVERRIDES
               "&sig=CFWoLcBMDj3Vyu7YUz4PrecII5lXV9qr%2B18/Jno2NRA=" },
    { .query = "sv=2020-10-02&sr=b&sp=r" TIMES FROM_CLIENT OVERRIDES
               "&sig=aIauBgfPTZlayNOiErmZPgYX6Ucdwci7VpXDqTS%2BP4k=" },
    { .query = "sv=2020-12-06&sr=b&sp=r" TIMES FROM_CLIENT OVERRIDES
               "&ses=scope&sig=qujoQzXm1J0eSeDuqsEXsCU46aiuT2%2BYxYdVoZw/i2U=" },
    { .query = "sv=2026-06-06&sr=b&sp=r" TIMES FROM_CLIENT OVERRIDES
               "&ses=scope&sig=0YEdMY3z8rixZmrUlimwRAiRSnEZ2dgT7K9zY92cJ%2BE=" },
    { .query = "sv=2015-04-05&ss=bf&srt=co&sp=rl" TIMES FROM_CLIENT
               "&sig=josA7D4w%2BFGYBq0x12Uh8kS9i67JVPSdt1YLbdCbPNE=" },
    { .query = "sv=2020-10-02&ss=bf&srt=co&sp=rl" TIMES FROM_CLIENT
               "&sig=KdaTflik9iohZ27Ei1BX%2BjL7RN1AbR3JvtYZ2D64GCg=" },
    { .query = "sv=2020-12-06&ss=bf&srt=co&sp=rl" TIMES FROM_CLIENT
               "&ses=scope&sig=4JgEIVokZAg7q/3imEF45/Rj%2BulNg6s2/m/5831C4Nk=" },
};

/* The forms are all for this blob. */
static struct vector form(size_t index)
{
    struct vector vector = FORMS[index];
    vector.container = "box";
    vector.blob = "dir/b c";
    return vector;
}

enum {
    OFFICIAL_COUNT = sizeof(OFFICIAL) / sizeof(OFFICIAL[0]),
    FORMS_COUNT = sizeof(FORMS) / sizeof(FORMS[0]),
};

static struct vector any_vector(size_t index)
{
    return index < OFFICIAL_COUNT ? OFFICIAL[index] : form(index - OFFICIAL_COUNT);
}

static void signatures_of_the_official_client_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < OFFICIAL_COUNT; i++) {
        const enum err err = verify_vector(&OFFICIAL[i]);
        if (err != OK)
            fail_msg("%s: %s", OFFICIAL[i].query, error_name(err));
    }
}

static void every_form_of_the_signed_text_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMS_COUNT; i++) {
        const struct vector vector = form(i);
        const enum err err = verify_vector(&vector);
        if (err != OK)
            fail_msg("%s: %s", vector.query, error_name(err));
    }
}

static void the_second_key_signs_as_well(void **state)
{
    (void)state;
    const struct vector vector = {
        .query = "sv=2020-12-06&sr=b&sp=r" TIMES FROM_CLIENT OVERRIDES
                 "&ses=scope&sig=YiKk0Bzi0TFzCBMbs8BO0pwxGYGEm9kEhy4Wbdz8PvA=",
        .container = "box",
        .blob = "dir/b c",
    };
    assert_int_equal(verify_vector(&vector), OK);
}

/* What to do to one parameter of a query. */
enum tampering {
    SPOIL,  /* another value */
    REMOVE, /* no such parameter */
    REPEAT, /* the same parameter twice */
};

/* The query with its parameter number `target` tampered with; NULL if there are fewer. */
static const char *tampered(const char *query, size_t target, enum tampering how)
{
    struct strbuf result;
    strbuf_init(&result, &arena);
    struct slice rest = slice_of(query);
    size_t index = 0;
    for (; rest.len > 0; index++) {
        const size_t len = slice_find_byte(rest, '&');
        const struct slice parameter = slice_head(rest, len);
        rest = slice_from(rest, len + 1);
        if (index == target && how == REMOVE)
            continue;
        strbuf_add(&result, parameter);
        if (index == target && how == SPOIL) {
            /* 'D' and '2' also end an escape, which stays one. */
            char *last = &result.data[result.len - 1];
            *last = *last == 'D' ? '2' : 'D';
        }
        strbuf_add_byte(&result, '&');
        if (index == target && how == REPEAT) {
            strbuf_add(&result, parameter);
            strbuf_add_byte(&result, '&');
        }
    }
    strbuf_add_byte(&result, '\0');
    return target < index ? result.data : NULL;
}

static void tampering_with_any_parameter_fails(void **state)
{
    (void)state;
    int tried = 0;
    for (size_t i = 0; i < OFFICIAL_COUNT + FORMS_COUNT; i++) {
        for (enum tampering how = SPOIL; how <= REPEAT; how++) {
            struct vector vector = any_vector(i);
            const char *query = vector.query;
            for (size_t target = 0; (vector.query = tampered(query, target, how)) != NULL;
                 target++) {
                /* The oldest form is that of no version: its version is not signed. */
                const bool unsigned_version =
                    target == 0 && how == REMOVE && strncmp(query, "sv=2011-08-18", 13) == 0;
                if (verify_vector(&vector) == OK && !unsigned_version)
                    fail_msg("%s passed as %s", query, vector.query);
                tried++;
            }
        }
    }
    assert_true(tried > 500);
}

static void tampering_with_the_resource_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < OFFICIAL_COUNT + FORMS_COUNT; i++) {
        const struct vector vector = any_vector(i);
        struct sas_request request = request_of(&vector);
        struct sas sas;
        request.account = account_list_get(accounts, 1);
        assert_int_equal(verify(vector.query, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);
        if (strstr(vector.query, "srt=") != NULL)
            continue;

        request = request_of(&vector);
        request.container = slice_of("boxes");
        assert_int_equal(verify(vector.query, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);
        request.container = slice_of("");
        assert_int_equal(verify(vector.query, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);

        request = request_of(&vector);
        request.service = 'f';
        assert_int_equal(verify(vector.query, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);

        const bool of_container = strstr(vector.query, "sr=c") != NULL;
        request = request_of(&vector);
        request.blob = slice_of("other");
        assert_int_equal(verify(vector.query, &request, NULL, &sas),
                         of_container ? OK : ERR_AUTHENTICATION_FAILED);
        request.blob = slice_of("");
        assert_int_equal(verify(vector.query, &request, NULL, &sas),
                         of_container ? OK : ERR_AUTHENTICATION_FAILED);
    }
}

/* --- resources --- */

static void a_snapshot_sas_is_for_that_snapshot_only(void **state)
{
    (void)state;
    static const struct vector snapshot = {
        .query =
            "sv=2020-12-06&sr=bs&sp=r" TIMES "&sig=GkPJH6xMhNioGQXtfbQADuHHmhaxyKdCuXM%2BPrv0HBk=",
        .container = "box",
        .blob = "dir/b c",
        .snapshot = SNAPSHOT,
    };
    assert_int_equal(verify_vector(&snapshot), OK);
    struct vector other = snapshot;
    other.snapshot = "2025-12-31T23:59:59.1234568Z";
    assert_int_equal(verify_vector(&other), ERR_AUTHENTICATION_FAILED);
    other.snapshot = NULL;
    assert_int_equal(verify_vector(&other), ERR_AUTHENTICATION_FAILED);
    other.version_id = SNAPSHOT;
    assert_int_equal(verify_vector(&other), ERR_AUTHENTICATION_FAILED);

    /* Even if somebody signed one for no snapshot at all. */
    const struct vector none = {
        .query =
            "sv=2020-12-06&sr=bs&sp=r" TIMES "&sig=9lYOg/dcB6nhjuIuugGW3T4siYK8Mf7ncFnu235qH1Y=",
        .container = "box",
        .blob = "dir/b c",
    };
    assert_int_equal(verify_vector(&none), ERR_AUTHENTICATION_FAILED);
}

static void a_version_sas_is_for_that_version_only(void **state)
{
    (void)state;
    static const struct vector version = {
        .query =
            "sv=2020-12-06&sr=bv&sp=r" TIMES "&sig=v4P4qabbsGqtQQpX0O3oWi6f1%2B64CZELWc8W5C1AOpA=",
        .container = "box",
        .blob = "dir/b c",
        .version_id = SNAPSHOT,
    };
    assert_int_equal(verify_vector(&version), OK);
    struct vector other = version;
    other.version_id = NULL;
    other.snapshot = SNAPSHOT;
    assert_int_equal(verify_vector(&other), ERR_AUTHENTICATION_FAILED);
}

static void a_directory_sas_is_for_what_lies_in_the_directory(void **state)
{
    (void)state;
#define DIRECTORY_1                                                                                \
    "sv=2020-02-10&sr=d&sp=r" TIMES "&sig=WTdx/TtMfB9UPibXWwc8X5w887zIiZCfnEe5Zi5qUas="
#define DIRECTORY_2                                                                                \
    "sv=2020-12-06&sr=d&sp=r" TIMES "&sig=jkYBRbT76vythjCX018edapn5zaEo23kZMcKK8Yqqt0="
#define DIRECTORY_0                                                                                \
    "sv=2020-12-06&sr=d&sp=r" TIMES "&sig=so3kEYVi0CtVenNMe9QO0csHB8o%2BAfVSMXALaVrTeAY="
    static const struct {
        const char *query;
        const char *blob;
        enum err outcome;
    } cases[] = {
        { DIRECTORY_1 "&sdd=1", "dir", OK },
        { DIRECTORY_1 "&sdd=1", "dir/a", OK },
        { DIRECTORY_1 "&sdd=1", "dir/a/b/c", OK },
        { DIRECTORY_1 "&sdd=1", "dir2/a", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1 "&sdd=1", "a/dir", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1 "&sdd=1", "/dir/a", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1 "&sdd=1", "", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1 "&sdd=0", "dir/a", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1 "&sdd=2", "dir/a", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1 "&sdd=18446744073709551615", "dir/a", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1 "&sdd=x", "dir/a", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_1, "dir/a", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_2 "&sdd=2", "dir/sub/a", OK },
        { DIRECTORY_2 "&sdd=2", "dir/sub", OK },
        { DIRECTORY_2 "&sdd=2", "dir", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_2 "&sdd=2", "dir/", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_2 "&sdd=2", "dir//sub", ERR_AUTHENTICATION_FAILED },
        { DIRECTORY_0 "&sdd=0", "anything", OK },
        { DIRECTORY_0 "&sdd=0", "", OK },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct vector vector = { .query = cases[i].query,
                                       .container = "box",
                                       .blob = cases[i].blob };
        if (verify_vector(&vector) != cases[i].outcome)
            fail_msg("%s with %s", cases[i].query, cases[i].blob);
    }
}

/* `sr` is not part of the text of 2018-03-28. */
static void an_older_sas_for_a_blob_cannot_be_turned_into_one_for_a_directory(void **state)
{
    (void)state;
#define OLD_BLOB "sv=2018-03-28&sp=r" TIMES "&sig=79igK88DthQO8r/B2E8DuEV7qCzIJQsHzxwBPgVtzeE="
    struct vector vector = { .query = OLD_BLOB "&sr=b", .container = "box", .blob = "dir" };
    assert_int_equal(verify_vector(&vector), OK);
    vector.query = OLD_BLOB "&sr=d&sdd=1";
    assert_int_equal(verify_vector(&vector), ERR_AUTHENTICATION_FAILED);
    vector.blob = "dir/secret";
    assert_int_equal(verify_vector(&vector), ERR_AUTHENTICATION_FAILED);
    vector.blob = "dir";
    vector.snapshot = SNAPSHOT;
    vector.query = OLD_BLOB "&sr=bs";
    assert_int_equal(verify_vector(&vector), ERR_AUTHENTICATION_FAILED);
}

/* --- what is parsed --- */

static void fields_and_letters_are_given_to_the_caller(void **state)
{
    (void)state;
    struct sas_request request = request_of(&OFFICIAL[0]);
    struct sas sas;
    assert_int_equal(verify(OFFICIAL[0].query, &request, NULL, &sas), OK);
    assert_int_equal(sas.kind, SAS_KIND_SERVICE);
    assert_int_equal(sas.resource, SAS_RESOURCE_BLOB);
    assert_slice(sas.fields[SAS_SV], "2025-05-05");
    assert_slice(sas.fields[SAS_RSCC], "no-cache");
    assert_slice(sas.fields[SAS_RSCD], "attachment; filename=\"x y\"");
    assert_slice(sas.fields[SAS_RSCE], "gzip");
    assert_slice(sas.fields[SAS_RSCL], "en-US");
    assert_slice(sas.fields[SAS_RSCT], "text/html; charset=utf-8");
    assert_slice(sas.fields[SAS_SES], "scope1");
    for (char letter = 'a'; letter <= 'z'; letter++)
        assert_int_equal(sas_allows(&sas, letter), strchr("racwd", letter) != NULL);
    assert_true(sas_allows_type(&sas, 'o'));
    assert_false(sas_allows_type(&sas, 'c'));
    assert_false(sas_allows_type(&sas, 's'));

    request = request_of(&OFFICIAL[1]);
    assert_int_equal(verify(OFFICIAL[1].query, &request, NULL, &sas), OK);
    assert_int_equal(sas.resource, SAS_RESOURCE_CONTAINER);
    assert_true(sas_allows_type(&sas, 'o'));
    assert_true(sas_allows_type(&sas, 'c'));
    assert_false(sas_allows_type(&sas, 's'));

    const struct vector account = form(14);
    request = request_of(&account);
    assert_int_equal(verify(account.query, &request, NULL, &sas), OK);
    assert_int_equal(sas.kind, SAS_KIND_ACCOUNT);
    assert_int_equal(sas.resource, SAS_RESOURCE_NONE);
    assert_true(sas_allows(&sas, 'r'));
    assert_true(sas_allows(&sas, 'l'));
    assert_false(sas_allows(&sas, 'w'));
    assert_true(sas_allows_type(&sas, 'o'));
    assert_true(sas_allows_type(&sas, 'c'));
    assert_false(sas_allows_type(&sas, 's'));
}

/* Otherwise anybody could choose the content type of what others are led to open. */
static void parameters_the_version_does_not_sign_have_no_effect(void **state)
{
    (void)state;
    static const char unsigned_fields[] =
        "&rscc=x&rscd=x&rsce=x&rscl=x&rsct=text/html&ses=x&sip=1.2.3.4&spr=http&sdd=1";
    struct vector vector = form(2); /* 2012-02-12 */
    vector.query = arena_printf(&arena, "%s%s", vector.query, unsigned_fields).data;
    struct sas_request request = request_of(&vector);
    struct sas sas;
    assert_int_equal(verify(vector.query, &request, NULL, &sas), OK);
    static const enum sas_field dropped[] = { SAS_RSCC, SAS_RSCD, SAS_RSCE, SAS_RSCL,
                                              SAS_RSCT, SAS_SES,  SAS_SIP,  SAS_SPR };
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
        assert_int_equal(sas.fields[dropped[i]].len, 0);

    vector = form(14); /* an account SAS */
    vector.query = arena_printf(&arena, "%s&rsct=text/html&si=p&sr=c", vector.query).data;
    request = request_of(&vector);
    assert_int_equal(verify(vector.query, &request, NULL, &sas), OK);
    assert_int_equal(sas.fields[SAS_RSCT].len, 0);
    assert_int_equal(sas.fields[SAS_SI].len, 0);
    assert_int_equal(sas.resource, SAS_RESOURCE_NONE);
}

static void a_sas_is_present_when_there_is_a_signature(void **state)
{
    (void)state;
    struct http_message message = message_of("sv=2020-12-06&SIG=x");
    assert_true(auth_sas_is_present(&message));
    message = message_of("sv=2020-12-06&sr=b");
    assert_false(auth_sas_is_present(&message));
}

static void what_is_no_sas_fails_to_parse(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "sig=x",
        "sv=2020-12-06&sr=b",
        "sv=2020-12-06&sr=b&sig=",
        "sv=2020-12-06&sr=x&sig=x",
        "sv=2020-12-06&sr=&sig=x",
        "sv=today&sr=b&sig=x",
        "sv=2020-12-6&sr=b&sig=x",
        "sv=2020-12-06&sr=b&sig=x&sp=r%0Aw",
        "sv=2020-12-06&sr=b&sig=x&sig=x",
        "sv=2020-12-06&sr=b&sig=x&sp=&sp=",
        "sv=2020-12-06&sr=b&sig=x&skoid=1",
        "sv=2020-12-06&ss=b&sig=x",
        "sv=2020-12-06&srt=o&sig=x",
        "ss=b&srt=o&sig=x",
        "sv=2014-02-14&ss=b&srt=o&sig=x",
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const struct http_message message = message_of(refused[i]);
        struct sas sas;
        if (auth_sas_parse(&message, 'b', &sas) != ERR_AUTHENTICATION_FAILED)
            fail_msg("%s was parsed", refused[i]);
    }
}

static void queues_and_tables_have_no_sas_before_2012(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        char service;
        enum err outcome;
    } rows[] = {
        { "sp=r&sig=x", 'q', ERR_AUTHENTICATION_FAILED },
        { "sv=2011-08-18&sp=r&sig=x", 'q', ERR_AUTHENTICATION_FAILED },
        { "sv=2012-02-12&sp=r&sig=x", 'q', OK },
        { "tn=t&sp=r&sig=x", 't', ERR_AUTHENTICATION_FAILED },
        { "sv=2011-08-18&tn=t&sp=r&sig=x", 't', ERR_AUTHENTICATION_FAILED },
        { "sv=2012-02-12&tn=t&sp=r&sig=x", 't', OK },
        { "sr=c&sp=r&sig=x", 'b', OK },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct http_message message = message_of(rows[i].query);
        struct sas sas;
        assert_int_equal(auth_sas_parse(&message, rows[i].service, &sas), rows[i].outcome);
    }
}

/* --- time, protocol, address, service --- */

static void a_sas_is_good_from_its_start_to_just_before_its_expiry(void **state)
{
    (void)state;
    const struct vector vector = form(10);
    struct sas_request request = request_of(&vector);
    struct sas sas;
    const int64_t start = ticks_of("2026-01-01T00:00:00Z");
    const int64_t expiry = ticks_of("2026-02-01T00:00:00Z");
    const struct {
        int64_t now;
        enum err outcome;
    } cases[] = {
        { start - 1, ERR_AUTHENTICATION_FAILED },
        { start, OK },
        { expiry - 1, OK },
        { expiry, ERR_AUTHENTICATION_FAILED },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        request.now = cases[i].now;
        assert_int_equal(verify(vector.query, &request, NULL, &sas), cases[i].outcome);
    }
}

#define OF_CONTAINER "sv=2020-12-06&sr=c&sig="

static void times_may_be_dates_and_have_fractions(void **state)
{
    (void)state;
    struct vector vector = {
        .query = OF_CONTAINER "QyzWy3eAuRaZAwufqdnE2lUYfO%2BTmigo45hvi/mankE="
                              "&sp=r&st=2026-01-01&se=2026-02-01",
        .container = "box",
    };
    struct sas_request request = request_of(&vector);
    struct sas sas;
    assert_int_equal(verify(vector.query, &request, NULL, &sas), OK);
    request.now = ticks_of("2026-02-01T00:00:00Z");
    assert_int_equal(verify(vector.query, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);

    vector.query = OF_CONTAINER "1svo65F%2BfIn9Ve1dcvVaIcGwmVHRaKzKdlmFmH3jfcI="
                                "&sp=r&st=2026-01-01T00:00Z&se=2026-02-01T00:00:00.0000001Z";
    assert_int_equal(verify(vector.query, &request, NULL, &sas), OK);
    request.now++;
    assert_int_equal(verify(vector.query, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);
}

static void a_signed_sas_with_a_field_missing_or_malformed_fails(void **state)
{
    (void)state;
    static const char *const queries[] = {
        OF_CONTAINER "VKtbLezn3m022%2BZsDo%2B/EvOEhKltowzAuwAjlb2nkXs=&sp=r",
        OF_CONTAINER "xxujAjkkTxE4fbRuMJh6M0YOJ6rP7Lnub2yQjngD9yI=&se=2026-02-01T00:00:00Z",
        OF_CONTAINER "67VpjAQ8DedbZUv4CitpnLoxZvJEyRE%2B8I2rF/5CZog=&sp=r&se=soon",
        OF_CONTAINER "z/NdRziuwSown0AyLJ4n40dKgnb8u11t2RtJWfETPqE=&sp=r&st=later"
                     "&se=2026-02-01T00:00:00Z",
        OF_CONTAINER "YlM3x7ZXJB0zP8aT1b/h7FJQ68RIoB9FS63vYDUnC/Y=&sp=r!"
                     "&se=2026-02-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        const struct vector vector = { .query = queries[i], .container = "box" };
        assert_int_equal(verify_vector(&vector), ERR_AUTHENTICATION_FAILED);
    }
}

static enum err verify_from(const char *signature, const char *fields,
                            const struct sockaddr *client, bool is_https)
{
    const struct vector vector = {
        .query =
            arena_printf(&arena, "sv=2020-12-06&sr=c&sp=r%s&sig=%s%s", TIMES, signature, fields)
                .data,
        .container = "box",
    };
    struct sas_request request = request_of(&vector);
    struct sas sas;
    request.client = client;
    request.is_https = is_https;
    return verify(vector.query, &request, NULL, &sas);
}

static void the_protocol_must_be_one_of_those_named(void **state)
{
    (void)state;
    static const struct {
        const char *signature;
        const char *fields;
        enum err with_https;
        enum err with_http;
    } cases[] = {
        { "nytQoPu1a8qRRM99v1jWXtQSafUYDfFCJvWkzHEMYo8=", "", OK, OK },
        { "4StEEUE4iBqeXEcJryhZPeDpaOsWur0v4ksQ14AnnmA=", "&spr=https", OK,
          ERR_AUTHORIZATION_PROTOCOL },
        { "zPKPI1QnYjKduTLNuefu2y/EX06yurFQ7fROnVEujQk=", "&spr=http", ERR_AUTHORIZATION_PROTOCOL,
          OK },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(verify_from(cases[i].signature, cases[i].fields, NULL, true),
                         cases[i].with_https);
        assert_int_equal(verify_from(cases[i].signature, cases[i].fields, NULL, false),
                         cases[i].with_http);
    }
    /* Both, as in https,http. */
    struct vector vector = form(10);
    struct sas_request request = request_of(&vector);
    struct sas sas;
    request.is_https = false;
    assert_int_equal(verify(vector.query, &request, NULL, &sas), OK);
}

/* The socket address of a text, in the family it is written in. */
static const struct sockaddr *client_of(const char *text)
{
    if (text == NULL)
        return NULL;
    if (strchr(text, ':') == NULL) {
        struct sockaddr_in *in = arena_alloc(&arena, sizeof(*in));
        in->sin_family = AF_INET;
        assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
        return (const struct sockaddr *)in;
    }
    struct sockaddr_in6 *in6 = arena_alloc(&arena, sizeof(*in6));
    in6->sin6_family = AF_INET6;
    assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
    return (const struct sockaddr *)in6;
}

static void the_client_must_be_at_one_of_the_addresses_named(void **state)
{
    (void)state;
#define ONE    "W8huvV5as5itBmjG8QdmspgBaCRZLl36cF%2Bt9VXsp4Q=", "&sip=10.0.0.5"
#define RANGE  "v9y3j6x8flRM2vAdvIJ%2BVI38joj7zFS1xNSFcO6/G0c=", "&sip=10.0.0.5-10.0.1.7"
#define ONE6   "jONhSJN2hPf4Whfz7Nv7WOZqwYEgnj404bsOm1UD9Y8=", "&sip=2001:db8::5"
#define RANGE6 "5nntF%2BdcRrqKUAw6kJOR95i8HybkFfVdhDgfohyKSk4=", "&sip=2001:db8::5-2001:db8::1:0"
#define MIXED  "1jaLsr/k%2BiQinrDWczlTam7udhDOepePqPBB7VvNKMo=", "&sip=10.0.0.5-2001:db8::5"
#define JUNK   "sEHtHWJ/dqPm/x4ajFsmpJV9l/F9qJycA%2BcC1TfTRJs=", "&sip=10.0.0"
#define OPEN   "R01Q7Z13CCWAz/84YC%2Be326JX3jy%2BKTMzt6iSC6oxcs=", "&sip=10.0.0.5-"
    static const struct {
        const char *signature;
        const char *fields;
        const char *client;
        bool allowed;
    } cases[] = {
        { ONE, "10.0.0.5", true },          { ONE, "::ffff:10.0.0.5", true },
        { ONE, "10.0.0.4", false },         { ONE, "10.0.0.6", false },
        { ONE, "2001:db8::5", false },      { ONE, NULL, false },
        { RANGE, "10.0.0.4", false },       { RANGE, "10.0.0.5", true },
        { RANGE, "10.0.0.255", true },      { RANGE, "10.0.1.0", true },
        { RANGE, "10.0.1.7", true },        { RANGE, "10.0.1.8", false },
        { RANGE, "9.255.255.255", false },  { RANGE, "::a00:5", false },
        { ONE6, "2001:db8::5", true },      { ONE6, "2001:db8::6", false },
        { ONE6, "10.0.0.5", false },        { RANGE6, "2001:db8::4", false },
        { RANGE6, "2001:db8::ffff", true }, { RANGE6, "2001:db8::1:0", true },
        { RANGE6, "2001:db8::1:1", false }, { MIXED, "10.0.0.5", false },
        { MIXED, "2001:db8::5", false },    { JUNK, "10.0.0.0", false },
        { OPEN, "10.0.0.5", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const enum err err =
            verify_from(cases[i].signature, cases[i].fields, client_of(cases[i].client), true);
        if (err != (cases[i].allowed ? OK : ERR_AUTHORIZATION_SOURCE_IP))
            fail_msg("%s from %s: %s", cases[i].fields, cases[i].client, error_name(err));
    }
}

static void an_account_sas_is_for_the_services_it_names(void **state)
{
    (void)state;
    const struct vector vector = form(14); /* ss=bf */
    struct sas_request request = request_of(&vector);
    struct sas sas;
    static const struct {
        char service;
        enum err outcome;
    } cases[] = {
        { 'b', OK },
        { 'f', OK },
        { 'q', ERR_AUTHORIZATION_SERVICE },
        { 't', ERR_AUTHORIZATION_SERVICE },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        request.service = cases[i].service;
        assert_int_equal(verify(vector.query, &request, NULL, &sas), cases[i].outcome);
    }
}

/* Made by the official client for JavaScript. */
static void a_sas_of_a_share_or_file_is_for_that_alone(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        const char *of_share; /* its signature, and that of one of a file */
        const char *of_file;
    } cases[] = {
        { "2015-04-05", "lQvOxCdOWuOIZltH8Y%2BbVZTft5LECcaYR%2F2jnAETXu8%3D",
          "I4hcpKtPDHCTlvDh7dz%2BxZo6lLXYlzl1J7pJk3s4pjU%3D" },
        { "2018-11-09", "N3BbAu6ZjNnNJR0xEbAJpIv%2BrAnuRrVXuamS8OENhhw%3D",
          "IGJIr5oQs3lh68%2FCIXNpMB98dzA4%2BELSc1JDVn2xdkw%3D" },
        { "2026-04-06", "uPQQU60gutmk0uZ%2FZFSX87pUft8I1geV89PkxzB1SUU%3D",
          "zVzm%2BJFVLpp8DybS84oh8U1tOx5VicpaE7WWGawq5B8%3D" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct vector file = { .container = "share", .blob = "dir/a file" };
        struct sas_request request = request_of(&file);
        struct sas sas;
        request.service = 'f';
        request.service_name = "file";
        const char *share = arena_printf(&arena, "sv=%s%s&sr=s&sp=rcwdl&rsct=a%%2Fb&sig=%s",
                                         cases[i].version, TIMES, cases[i].of_share)
                                .data;
        const char *one = arena_printf(&arena, "sv=%s%s&sip=10.0.0.1&sr=f&sp=r&sig=%s",
                                       cases[i].version, TIMES, cases[i].of_file)
                              .data;
        assert_int_equal(verify(share, &request, NULL, &sas), OK);
        assert_true(sas_allows_type(&sas, 'c'));
        assert_slice(sas.fields[SAS_RSCT], "a/b");
        assert_int_equal(verify(one, &request, NULL, &sas), OK);
        assert_true(sas_allows_type(&sas, 'o'));
        assert_false(sas_allows_type(&sas, 'c'));
        request.blob = slice_of("dir/another");
        assert_int_equal(verify(share, &request, NULL, &sas), OK);
        assert_int_equal(verify(one, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);
        request.container = slice_of("other");
        assert_int_equal(verify(share, &request, NULL, &sas), ERR_AUTHENTICATION_FAILED);
    }
}

/* --- stored access policies --- */

static void a_policy_gives_what_the_sas_leaves_out_and_nothing_else(void **state)
{
    (void)state;
    static const char only_id[] =
        OF_CONTAINER "shdNj03H1X8voozg4S4Ybo32Vlz%2BioeqQHtP7el78Dw=&si=pol";
    static const char with_permission[] =
        OF_CONTAINER "8jC%2BpkfRKZfq/Y73oivWYQcgZr98qxU5hTuGH855%2BQw=&si=pol&sp=r";
    static const char with_expiry[] =
        OF_CONTAINER "BbJAUMizhvMXi0kGCDIFsHS0p4mGD9IF2Yv1B5N2y5Q=&si=pol&se=2026-02-01T00:00:00Z";
    static const char with_start[] =
        OF_CONTAINER "RWYcMs7XhFh9ChSIYeG6ggZFuDP8omYUf84WHW3GKqU=&si=pol&st=2026-01-01T00:00:00Z";
    const int64_t inside = ticks_of(INSIDE);
    const struct sas_policy full = { .has_start = true,
                                     .has_expiry = true,
                                     .has_permission = true,
                                     .start = inside - 1,
                                     .expiry = inside + 1,
                                     .permission = SLICE_LITERAL("rl") };
    const struct sas_policy expiry = { .has_expiry = true, .expiry = inside + 1 };
    const struct sas_policy permission = { .has_permission = true,
                                           .permission = SLICE_LITERAL("l") };
    const struct sas_policy both = { .has_expiry = true,
                                     .has_permission = true,
                                     .expiry = inside + 1,
                                     .permission = SLICE_LITERAL("l") };
    const struct sas_policy empty = { 0 };
    const struct sas_policy ended = { .has_expiry = true,
                                      .has_permission = true,
                                      .expiry = inside,
                                      .permission = SLICE_LITERAL("l") };
    const struct sas_policy future = { .has_start = true,
                                       .has_expiry = true,
                                       .has_permission = true,
                                       .start = inside + 1,
                                       .expiry = inside + 2,
                                       .permission = SLICE_LITERAL("l") };
    const struct {
        const char *query;
        const struct sas_policy *policy;
        enum err outcome;
        const char *allowed;
    } cases[] = {
        { only_id, &full, OK, "rl" },
        { only_id, &both, OK, "l" },
        { only_id, NULL, ERR_AUTHENTICATION_FAILED, "" },
        { only_id, &empty, ERR_AUTHENTICATION_FAILED, "" },
        { only_id, &expiry, ERR_AUTHENTICATION_FAILED, "" },
        { only_id, &permission, ERR_AUTHENTICATION_FAILED, "" },
        { only_id, &ended, ERR_AUTHENTICATION_FAILED, "" },
        { only_id, &future, ERR_AUTHENTICATION_FAILED, "" },
        { with_permission, &expiry, OK, "r" },
        { with_permission, &full, ERR_INVALID_QUERY_PARAMETER, "" },
        { with_permission, &empty, ERR_AUTHENTICATION_FAILED, "" },
        { with_expiry, &permission, OK, "l" },
        { with_expiry, &full, ERR_INVALID_QUERY_PARAMETER, "" },
        { with_start, &both, OK, "l" },
        { with_start, &full, ERR_INVALID_QUERY_PARAMETER, "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct vector vector = { .query = cases[i].query, .container = "box" };
        const struct sas_request request = request_of(&vector);
        struct sas sas;
        const enum err err = verify(cases[i].query, &request, cases[i].policy, &sas);
        if (err != cases[i].outcome)
            fail_msg("case %zu: %s", i, error_name(err));
        if (err == OK)
            assert_int_equal(sas_allows(&sas, 'r'), strchr(cases[i].allowed, 'r') != NULL);
    }
}

static void a_policy_does_not_count_for_a_sas_that_does_not_name_it(void **state)
{
    (void)state;
    const struct sas_policy generous = { .has_permission = true,
                                         .permission = SLICE_LITERAL("racwdl"),
                                         .has_expiry = true,
                                         .expiry = INT64_MAX };
    /* Signed without an expiry, and without permissions. */
    static const char *const lacking[] = {
        OF_CONTAINER "VKtbLezn3m022%2BZsDo%2B/EvOEhKltowzAuwAjlb2nkXs=&sp=r",
        OF_CONTAINER "xxujAjkkTxE4fbRuMJh6M0YOJ6rP7Lnub2yQjngD9yI=&se=2026-02-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
        const struct vector vector = { .query = lacking[i], .container = "box" };
        const struct sas_request request = request_of(&vector);
        struct sas sas;
        assert_int_equal(verify(vector.query, &request, &generous, &sas),
                         ERR_AUTHENTICATION_FAILED);
    }
}

/* The client's own, with all of its fields from the policy. */
static void a_policy_sas_of_the_official_client_passes(void **state)
{
    (void)state;
    const struct vector vector = {
        .query = "sv=2025-05-05&si=policy-1&sr=c&sig=i9RMN6ckl%2FuprQolkbs1kNpn9w30tIjvxaLnj%2BQyl"
                 "4I%3D",
        .container = "box",
    };
    const struct sas_request request = request_of(&vector);
    const struct sas_policy policy = { .has_permission = true,
                                       .permission = SLICE_LITERAL("r"),
                                       .has_expiry = true,
                                       .expiry = request.now + 1 };
    struct sas sas;
    assert_int_equal(verify(vector.query, &request, &policy, &sas), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_of_the_official_client_pass),
        cmocka_unit_test(every_form_of_the_signed_text_passes),
        cmocka_unit_test(the_second_key_signs_as_well),
        cmocka_unit_test(tampering_with_any_parameter_fails),
        cmocka_unit_test(tampering_with_the_resource_fails),
        cmocka_unit_test(a_snapshot_sas_is_for_that_snapshot_only),
        cmocka_unit_test(a_version_sas_is_for_that_version_only),
        cmocka_unit_test(a_directory_sas_is_for_what_lies_in_the_directory),
        cmocka_unit_test(an_older_sas_for_a_blob_cannot_be_turned_into_one_for_a_directory),
        cmocka_unit_test(fields_and_letters_are_given_to_the_caller),
        cmocka_unit_test(parameters_the_version_does_not_sign_have_no_effect),
        cmocka_unit_test(a_sas_is_present_when_there_is_a_signature),
        cmocka_unit_test(what_is_no_sas_fails_to_parse),
        cmocka_unit_test(queues_and_tables_have_no_sas_before_2012),
        cmocka_unit_test(a_sas_is_good_from_its_start_to_just_before_its_expiry),
        cmocka_unit_test(times_may_be_dates_and_have_fractions),
        cmocka_unit_test(a_signed_sas_with_a_field_missing_or_malformed_fails),
        cmocka_unit_test(the_protocol_must_be_one_of_those_named),
        cmocka_unit_test(the_client_must_be_at_one_of_the_addresses_named),
        cmocka_unit_test(an_account_sas_is_for_the_services_it_names),
        cmocka_unit_test(a_sas_of_a_share_or_file_is_for_that_alone),
        cmocka_unit_test(a_policy_gives_what_the_sas_leaves_out_and_nothing_else),
        cmocka_unit_test(a_policy_does_not_count_for_a_sas_that_does_not_name_it),
        cmocka_unit_test(a_policy_sas_of_the_official_client_passes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
