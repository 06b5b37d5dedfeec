/*
 * fuzz_sas.c - shared access signatures, with a signer of our own that knows the text by the table
 * in auth_sas.h alone.
 *
 * Input: service and protocol (one byte), which parameter to change (one byte), and lines:
 * container, blob, snapshot, version id, query without `sig`.
 *
 *   - What we sign is accepted, or refused for something other than its signature.
 *   - With one more character in any parameter of the SAS it is refused, or means the same.
 *   - With the input's own `sig` it is refused.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/date.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "frontend/http/auth_sas.h"
#include "fuzz.h"

#define NOW INT64_C(639302976000000000) /* 2026-11-15T00:00:00Z */

static struct account_list *accounts;
static struct sockaddr_in client;

/* The lines from a version on; `resource`, `account`, `time` and `empty` are no parameters. */
struct form {
    char kind; /* 'a' for an account SAS, or the service */
    const char *since;
    const char *lines;
};

static const struct form forms[] = {
    { 'b', "2020-12-06", "sp st se resource si sip spr sv sr time ses rscc rscd rsce rscl rsct" },
    { 'b', "2018-11-09", "sp st se resource si sip spr sv sr time rscc rscd rsce rscl rsct" },
    { 'b', "2015-04-05", "sp st se resource si sip spr sv rscc rscd rsce rscl rsct" },
    { 'b', "2013-08-15", "sp st se resource si sv rscc rscd rsce rscl rsct" },
    { 'b', "2012-02-12", "sp st se resource si sv" },
    { 'b', "", "sp st se resource si" },
    { 'q', "2015-04-05", "sp st se resource si sip spr sv" },
    { 'q', "2012-02-12", "sp st se resource si sv" },
    { 'q', "", "sp st se resource si" },
    { 't', "2015-04-05", "sp st se resource si sip spr sv spk srk epk erk" },
    { 't', "", "sp st se resource si sv spk srk epk erk" },
    { 'f', "2015-04-05", "sp st se resource si sip spr sv rscc rscd rsce rscl rsct" },
    { 'f', "", "sp st se resource si sv rscc rscd rsce rscl rsct" },
    { 'a', "2020-12-06", "account sp ss srt st se sip spr sv ses empty" },
    { 'a', "", "account sp ss srt st se sip spr sv empty" },
};

struct attempt {
    struct arena *arena;
    struct sas_request request;
    struct slice query; /* without sig */
};

/* Parse and verify a query; what the SAS grants in `*sas` if it is OK. */
static enum err verify(const struct attempt *attempt, struct slice query, struct sas *sas)
{
    struct http_message message = { 0 };
    const struct slice target = arena_printf(attempt->arena, "/?%.*s", (int)query.len, query.data);
    enum err err = http_message_parse_target(attempt->arena, target, &message);
    if (err == OK)
        err = auth_sas_parse(&message, attempt->request.service, sas);
    if (err == OK)
        err = auth_sas_verify(attempt->arena, sas, &attempt->request, NULL);
    return err;
}

static const struct form *form_of(char kind, struct slice version)
{
    size_t i = 0;
    while (forms[i].kind != kind || slice_compare(version, slice_of(forms[i].since)) < 0)
        i++;
    return &forms[i];
}

/* The first `depth` segments of a path. */
static struct slice directory_of(struct slice path, struct slice depth_text)
{
    uint64_t depth = 0;
    if (decimal_parse_u64(depth_text, &depth) != OK)
        return (struct slice){ 0 };
    size_t end = 0;
    for (uint64_t i = 0; i < depth && end < path.len; i++) {
        end += i == 0 ? 0 : 1;
        end += slice_find_byte(slice_from(path, end), '/');
    }
    return slice_head(path, end);
}

static void add_resource(const struct attempt *attempt, const struct http_message *message,
                         struct strbuf *text)
{
    const struct sas_request *request = &attempt->request;
    const struct slice sr = http_message_parameter(message, "sr");
    if (slice_compare(http_message_parameter(message, "sv"), slice_of("2015-02-21")) >= 0)
        strbuf_printf(text, "/%s", request->service_name);
    strbuf_printf(text, "/%s/", request->account->name);
    if (request->service == 't') {
        const struct slice table = http_message_parameter(message, "tn");
        for (size_t i = 0; i < table.len; i++)
            strbuf_add_byte(text, table.data[i] >= 'A' && table.data[i] <= 'Z'
                                      ? (char)(table.data[i] + 'a' - 'A')
                                      : table.data[i]);
        return;
    }
    strbuf_add(text, request->container);
    struct slice path = request->blob;
    if (slice_is(sr, "d"))
        path = directory_of(path, http_message_parameter(message, "sdd"));
    if (request->service == 'q' || slice_is(sr, "c") || slice_is(sr, "s") || path.len == 0)
        return;
    strbuf_add_byte(text, '/');
    strbuf_add(text, path);
}

static void add_line(const struct attempt *attempt, const struct http_message *message,
                     struct slice line, struct strbuf *text)
{
    const struct sas_request *request = &attempt->request;
    const struct slice sr = http_message_parameter(message, "sr");
    if (slice_is(line, "resource"))
        add_resource(attempt, message, text);
    else if (slice_is(line, "account"))
        strbuf_add_text(text, request->account->name);
    else if (slice_is(line, "time"))
        strbuf_add(text, slice_is(sr, "bs")   ? request->snapshot
                         : slice_is(sr, "bv") ? request->version_id
                                              : (struct slice){ 0 });
    else if (!slice_is(line, "empty"))
        strbuf_add(text, http_message_parameter(message, arena_copy(attempt->arena, line).data));
}

/* The signature of a query, percent-encoded. */
static struct slice sign(const struct attempt *attempt, const struct http_message *message,
                         enum sas_kind kind)
{
    const struct form *form = form_of(kind == SAS_KIND_ACCOUNT ? 'a' : attempt->request.service,
                                      http_message_parameter(message, "sv"));
    struct strbuf text;
    strbuf_init(&text, attempt->arena);
    struct slice lines = slice_of(form->lines);
    for (bool is_first = true; lines.len > 0; is_first = false) {
        const size_t len = slice_find_byte(lines, ' ');
        if (!is_first)
            strbuf_add_byte(&text, '\n');
        add_line(attempt, message, slice_head(lines, len), &text);
        lines = slice_from(lines, len + 1);
    }
    uint8_t mac[DIGEST_SHA256_BYTES];
    char encoded[BASE64_LEN(sizeof(mac)) + 1];
    digest_hmac(&attempt->request.account->keys[0], strbuf_slice(&text), mac);
    base64_encode(slice_make(mac, sizeof(mac)), encoded);
    return percent_encode_path(attempt->arena, slice_of(encoded));
}

/* Why a signature that is right may yet be refused. */
static bool is_refused_for_a_reason(const struct attempt *attempt, const struct sas *sas)
{
    int64_t start = 0;
    int64_t expiry = 0;
    const struct slice st = sas->fields[SAS_ST];
    const struct slice se = sas->fields[SAS_SE];
    const struct slice sp = sas->fields[SAS_SP];
    for (size_t i = 0; i < sp.len; i++)
        if (sp.data[i] < 'a' || sp.data[i] > 'z')
            return true;
    /* Letters of services and types, an id without a policy, a table of another name, a resource
       that the address has not, a key of a user. */
    if (sas->kind == SAS_KIND_ACCOUNT || sas->fields[SAS_SI].len > 0 ||
        attempt->request.service == 't' || sas->resource != SAS_RESOURCE_CONTAINER)
        return true;
    return sp.len == 0 || attempt->request.container.len == 0 ||
           (st.len > 0 && (date_parse_iso(st, &start) != OK || start > NOW)) ||
           date_parse_iso(se, &expiry) != OK || expiry <= NOW;
}

/* One more character in the parameter that begins at or after `from`. */
static void check_tampered(const struct attempt *attempt, struct slice query,
                           const struct sas *granted, size_t from)
{
    const size_t end = from + slice_find_byte(slice_from(query, from), '&');
    struct sas sas = { 0 };
    const struct slice other = arena_printf(attempt->arena, "%.*sx%.*s", (int)end, query.data,
                                            (int)(query.len - end), query.data + end);
    if (verify(attempt, other, &sas) != OK)
        return;
    assert(sas.kind == granted->kind && sas.resource == granted->resource);
    assert(sas.permissions.bits == granted->permissions.bits);
    assert(sas.services.bits == granted->services.bits);
    assert(sas.resource_types.bits == granted->resource_types.bits);
    /* What a SAS is for was compared above; only tables look at the name of a table. */
    for (size_t i = 0; i < SAS_FIELD_COUNT; i++)
        if (i != SAS_SR && i != SAS_SDD && (i != SAS_TN || attempt->request.service == 't'))
            fuzz_assert_equal(sas.fields[i], granted->fields[i]);
}

static void check_signed(const struct attempt *attempt, size_t tampered)
{
    struct http_message message = { 0 };
    struct sas sas = { 0 };
    const struct slice unsigned_query =
        arena_printf(attempt->arena, "/?%.*s&sig=x", (int)attempt->query.len, attempt->query.data);
    if (http_message_parse_target(attempt->arena, unsigned_query, &message) != OK ||
        auth_sas_parse(&message, attempt->request.service, &sas) != OK)
        return;
    const struct sas before = sas;
    const struct slice signature = sign(attempt, &message, sas.kind);
    const struct slice query =
        arena_printf(attempt->arena, "%.*s&sig=%.*s", (int)attempt->query.len, attempt->query.data,
                     (int)signature.len, signature.data);
    const enum err err = verify(attempt, query, &sas);
    if (err == OK) {
        assert(sas.permissions.bits != 0);
        check_tampered(attempt, query, &sas, tampered % (query.len + 1));
    } else if (err == ERR_AUTHENTICATION_FAILED) {
        assert(is_refused_for_a_reason(attempt, &before));
    }
}

static void prepare_once(void)
{
    const char *fault = NULL;
    if (accounts != NULL)
        return;
    if (account_list_new(NULL, &accounts, &fault) != OK)
        abort();
    client.sin_family = AF_INET;
    client.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char letters[] = "bqtf";
    static const char *const names[] = { "blob", "queue", "table", "file" };
    struct fuzz_input input = fuzz_begin(data, size);
    prepare_once();
    struct arena arena = { 0 };
    const uint8_t choice = fuzz_byte(&input);
    const uint8_t tampered = fuzz_byte(&input);
    const struct slice container = fuzz_take_line(&input);
    const struct slice blob = fuzz_take_line(&input);
    const struct slice snapshot = fuzz_take_line(&input);
    const struct slice version_id = fuzz_take_line(&input);
    const struct slice query = fuzz_copy(input.rest);
    const struct attempt attempt = {
        .arena = &arena,
        .request = { .account = account_list_get(accounts, 0),
                     .service = letters[choice % 4],
                     .service_name = names[choice % 4],
                     .container = container,
                     .blob = blob,
                     .snapshot = snapshot,
                     .version_id = version_id,
                     .client = (const struct sockaddr *)&client,
                     .is_https = (choice & 4) != 0,
                     .now = NOW },
        .query = slice_head(query, slice_find_byte(query, '\0')),
    };
    struct sas sas = { 0 };
    assert(verify(&attempt, attempt.query, &sas) != OK);
    check_signed(&attempt, tampered);
    arena_release(&arena);
    fuzz_copy_free(container);
    fuzz_copy_free(blob);
    fuzz_copy_free(snapshot);
    fuzz_copy_free(version_id);
    fuzz_copy_free(query);
    return 0;
}
