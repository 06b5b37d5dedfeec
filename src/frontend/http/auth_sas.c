/*
 * auth_sas.c - parsing and verifying shared access signatures.
 *
 * This is on the path of every request with a SAS.  The parameters stay where they are; the text
 * that is signed is written once, into memory of the right size.
 */
#include "frontend/http/auth_sas.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <netinet/in.h>

#include "base/date.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/strbuf.h"
#include "service/limits.h"

/* Versions in which the rules changed; versions are dates and sort as text. */
static const struct slice VERSION_QUEUE_AND_TABLE = SLICE_LITERAL("2012-02-12");
static const struct slice VERSION_SERVICE_PREFIX = SLICE_LITERAL("2015-02-21");
static const struct slice VERSION_ACCOUNT_SAS = SLICE_LITERAL("2015-04-05");
static const struct slice VERSION_SIGNED_RESOURCE = SLICE_LITERAL("2018-11-09");
static const struct slice VERSION_DIRECTORY = SLICE_LITERAL("2020-02-10");

/* The name of a field, of a size that is compared as one word. */
struct sas_name {
    char text[7];
    uint8_t len;
};

/* The argument cannot be in parentheses: it initializes an array. */
#define SAS_NAME(literal)                                                                          \
    {                                                                                              \
        .text = literal, .len = sizeof(literal) - 1 /* NOLINT(bugprone-macro-parentheses) */       \
    }

static const struct sas_name FIELD_NAMES[SAS_FIELD_COUNT] = {
    [SAS_SV] = SAS_NAME("sv"),     [SAS_SS] = SAS_NAME("ss"),       [SAS_SRT] = SAS_NAME("srt"),
    [SAS_SR] = SAS_NAME("sr"),     [SAS_SDD] = SAS_NAME("sdd"),     [SAS_SP] = SAS_NAME("sp"),
    [SAS_ST] = SAS_NAME("st"),     [SAS_SE] = SAS_NAME("se"),       [SAS_SI] = SAS_NAME("si"),
    [SAS_SIP] = SAS_NAME("sip"),   [SAS_SPR] = SAS_NAME("spr"),     [SAS_SES] = SAS_NAME("ses"),
    [SAS_RSCC] = SAS_NAME("rscc"), [SAS_RSCD] = SAS_NAME("rscd"),   [SAS_RSCE] = SAS_NAME("rsce"),
    [SAS_RSCL] = SAS_NAME("rscl"), [SAS_RSCT] = SAS_NAME("rsct"),   [SAS_TN] = SAS_NAME("tn"),
    [SAS_SPK] = SAS_NAME("spk"),   [SAS_SRK] = SAS_NAME("srk"),     [SAS_EPK] = SAS_NAME("epk"),
    [SAS_ERK] = SAS_NAME("erk"),   [SAS_SKOID] = SAS_NAME("skoid"), [SAS_SIG] = SAS_NAME("sig"),
};

/* Lines of the signed text that are not parameters of the SAS. */
enum sas_line {
    SAS_LINE_ACCOUNT = SAS_FIELD_COUNT,
    SAS_LINE_RESOURCE,
    SAS_LINE_TIME,
    SAS_LINE_EMPTY,
};

enum {
    SAS_LINES_MAX = 16,
};

/* The lines of the text from a version on. */
struct sas_form {
    struct slice since;
    size_t count;
    uint8_t lines[SAS_LINES_MAX];
};

#define SAS_FIRST     SAS_SP, SAS_ST, SAS_SE, SAS_LINE_RESOURCE, SAS_SI
#define SAS_OVERRIDES SAS_RSCC, SAS_RSCD, SAS_RSCE, SAS_RSCL, SAS_RSCT
#define SAS_RANGE     SAS_SPK, SAS_SRK, SAS_EPK, SAS_ERK
#define SAS_ACCOUNT                                                                                \
    SAS_LINE_ACCOUNT, SAS_SP, SAS_SS, SAS_SRT, SAS_ST, SAS_SE, SAS_SIP, SAS_SPR, SAS_SV

/* Newest first; the last one of each is for everything older. */
static const struct sas_form BLOB_FORMS[] = {
    { SLICE_LITERAL("2020-12-06"),
      16,
      { SAS_FIRST, SAS_SIP, SAS_SPR, SAS_SV, SAS_SR, SAS_LINE_TIME, SAS_SES, SAS_OVERRIDES } },
    { SLICE_LITERAL("2018-11-09"),
      15,
      { SAS_FIRST, SAS_SIP, SAS_SPR, SAS_SV, SAS_SR, SAS_LINE_TIME, SAS_OVERRIDES } },
    { SLICE_LITERAL("2015-04-05"), 13, { SAS_FIRST, SAS_SIP, SAS_SPR, SAS_SV, SAS_OVERRIDES } },
    { SLICE_LITERAL("2013-08-15"), 11, { SAS_FIRST, SAS_SV, SAS_OVERRIDES } },
    { SLICE_LITERAL("2012-02-12"), 6, { SAS_FIRST, SAS_SV } },
    { SLICE_LITERAL(""), 5, { SAS_FIRST } },
};

static const struct sas_form QUEUE_FORMS[] = {
    { SLICE_LITERAL("2015-04-05"), 8, { SAS_FIRST, SAS_SIP, SAS_SPR, SAS_SV } },
    { SLICE_LITERAL(""), 6, { SAS_FIRST, SAS_SV } },
};

static const struct sas_form TABLE_FORMS[] = {
    { SLICE_LITERAL("2015-04-05"), 12, { SAS_FIRST, SAS_SIP, SAS_SPR, SAS_SV, SAS_RANGE } },
    { SLICE_LITERAL(""), 10, { SAS_FIRST, SAS_SV, SAS_RANGE } },
};

/* Shares came with 2015-02-21; `sr` is not part of the text. */
static const struct sas_form FILE_FORMS[] = {
    { SLICE_LITERAL("2015-04-05"), 13, { SAS_FIRST, SAS_SIP, SAS_SPR, SAS_SV, SAS_OVERRIDES } },
    { SLICE_LITERAL(""), 11, { SAS_FIRST, SAS_SV, SAS_OVERRIDES } },
};

static const struct sas_form ACCOUNT_FORMS[] = {
    { SLICE_LITERAL("2020-12-06"), 11, { SAS_ACCOUNT, SAS_SES, SAS_LINE_EMPTY } },
    { SLICE_LITERAL(""), 10, { SAS_ACCOUNT, SAS_LINE_EMPTY } },
};

/* --- letters --- */

static bool sas_letters_parse(struct slice text, struct sas_letters *letters)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        if (c < 'a' || c > 'z')
            return false;
        bits |= UINT32_C(1) << (c - 'a');
    }
    letters->bits = bits;
    return true;
}

static bool sas_letters_have(struct sas_letters letters, char letter)
{
    assert(letter >= 'a');
    assert(letter <= 'z');
    return (letters.bits >> (letter - 'a') & 1) != 0;
}

/* --- reading the parameters --- */

bool auth_sas_is_present(const struct http_message *message)
{
    return http_message_find_parameter(message, "sig") != NULL;
}

/* The field of that name, or SAS_FIELD_COUNT. */
static size_t sas_field_of(struct slice name)
{
    struct sas_name wanted = { .len = (uint8_t)name.len };
    if (name.len > sizeof(wanted.text))
        return SAS_FIELD_COUNT;
    for (size_t i = 0; i < name.len; i++)
        wanted.text[i] = name.data[i];
    size_t field = 0;
    while (field < SAS_FIELD_COUNT && memcmp(&FIELD_NAMES[field], &wanted, sizeof(wanted)) != 0)
        field++;
    return field;
}

/*
 * A field given twice would leave open which one counts, and one with a line break could be read
 * as two lines of the signed text.
 */
static bool sas_read_fields(const struct http_message *message, struct sas *sas)
{
    for (size_t i = 0; i < message->parameter_count; i++) {
        const struct http_field *parameter = &message->parameters[i];
        const size_t field = sas_field_of(parameter->name);
        if (field == SAS_FIELD_COUNT)
            continue;
        if (sas->fields[field].data != NULL)
            return false;
        if (slice_find_byte(parameter->value, '\n') < parameter->value.len)
            return false;
        /* The literal marks an empty value as given. */
        sas->fields[field] = parameter->value.len > 0 ? parameter->value : slice_of("");
    }
    return true;
}

static bool sas_has(const struct sas *sas, enum sas_field field)
{
    return sas->fields[field].len > 0;
}

static bool sas_is_before(const struct sas *sas, struct slice version)
{
    return slice_compare(sas->fields[SAS_SV], version) < 0;
}

/* YYYY-MM-DD; which versions there are is not decided here. */
static bool sas_version_is_valid(struct slice version)
{
    static const struct slice shape = SLICE_LITERAL("0000-00-00");
    if (version.len != shape.len)
        return false;
    for (size_t i = 0; i < shape.len; i++) {
        const char c = version.data[i];
        if (shape.data[i] == '-' ? c != '-' : c < '0' || c > '9')
            return false;
    }
    return true;
}

/*
 * Before `sr` was part of the signed text there were containers and blobs only.  Taking a newer
 * resource with an older version would let the holder of a SAS for blob `d` turn it into one for
 * everything in directory `d`.
 */
static bool sas_read_resource(struct sas *sas)
{
    if (sas->service == 'f') {
        const bool is_share = slice_is(sas->fields[SAS_SR], "s");
        sas->resource = is_share ? SAS_RESOURCE_CONTAINER : SAS_RESOURCE_BLOB;
        return (is_share || slice_is(sas->fields[SAS_SR], "f")) &&
               !sas_is_before(sas, VERSION_SERVICE_PREFIX);
    }
    if (sas->service != 'b') {
        /* Queues and tables are given whole, since they were given at all. */
        sas->resource = SAS_RESOURCE_CONTAINER;
        return !sas_is_before(sas, VERSION_QUEUE_AND_TABLE) &&
               (sas->service == 'q' || (sas->service == 't' && sas_has(sas, SAS_TN)));
    }
    static const struct {
        const char *name;
        enum sas_resource resource;
        const struct slice *since;
    } resources[] = {
        { "b", SAS_RESOURCE_BLOB, NULL },
        { "c", SAS_RESOURCE_CONTAINER, NULL },
        { "bs", SAS_RESOURCE_SNAPSHOT, &VERSION_SIGNED_RESOURCE },
        { "bv", SAS_RESOURCE_VERSION, &VERSION_SIGNED_RESOURCE },
        { "d", SAS_RESOURCE_DIRECTORY, &VERSION_DIRECTORY },
    };
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        if (!slice_is(sas->fields[SAS_SR], resources[i].name))
            continue;
        sas->resource = resources[i].resource;
        return resources[i].since == NULL || !sas_is_before(sas, *resources[i].since);
    }
    return false;
}

enum err auth_sas_parse(const struct http_message *message, char service, struct sas *sas)
{
    *sas = (struct sas){ .service = service };
    if (!sas_read_fields(message, sas))
        return ERR_AUTHENTICATION_FAILED;
    if (!sas_has(sas, SAS_SIG) || sas_has(sas, SAS_SKOID))
        return ERR_AUTHENTICATION_FAILED;
    /* The first service SAS had no version. */
    if (sas_has(sas, SAS_SV) && !sas_version_is_valid(sas->fields[SAS_SV]))
        return ERR_AUTHENTICATION_FAILED;

    if (!sas_has(sas, SAS_SS) && !sas_has(sas, SAS_SRT)) {
        sas->kind = SAS_KIND_SERVICE;
        return sas_read_resource(sas) ? OK : ERR_AUTHENTICATION_FAILED;
    }
    sas->kind = SAS_KIND_ACCOUNT;
    if (!sas_has(sas, SAS_SS) || !sas_has(sas, SAS_SRT) || sas_is_before(sas, VERSION_ACCOUNT_SAS))
        return ERR_AUTHENTICATION_FAILED;
    return OK;
}

/* --- the signature --- */

static const struct sas_form *sas_form_of(const struct sas *sas)
{
    const struct sas_form *form = &ACCOUNT_FORMS[0];
    if (sas->kind == SAS_KIND_SERVICE)
        form = sas->service == 'q'   ? &QUEUE_FORMS[0]
               : sas->service == 't' ? &TABLE_FORMS[0]
               : sas->service == 'f' ? &FILE_FORMS[0]
                                     : &BLOB_FORMS[0];
    while (sas_is_before(sas, form->since))
        form++;
    return form;
}

/* The path of the directory `depth` segments deep that `blob` is or lies in. */
static bool sas_directory_of(struct slice blob, uint64_t depth, struct slice *directory)
{
    size_t end = 0; /* of the segments so far */
    for (uint64_t i = 0; i < depth; i++) {
        const size_t begin = i == 0 ? 0 : end + 1;
        const size_t len = slice_find_byte(slice_from(blob, begin), '/');
        if (len == 0)
            return false;
        end = begin + len;
    }
    *directory = slice_head(blob, end);
    return true;
}

/* What follows the container in the signed resource; false if the SAS cannot be for the request. */
static bool sas_signed_path(const struct sas *sas, const struct sas_request *request,
                            struct slice *path)
{
    *path = request->blob;
    switch (sas->resource) {
    case SAS_RESOURCE_NONE:
        return true;
    case SAS_RESOURCE_CONTAINER:
        *path = (struct slice){ 0 };
        return true;
    case SAS_RESOURCE_BLOB:
        return request->blob.len > 0;
    case SAS_RESOURCE_SNAPSHOT:
        return request->blob.len > 0 && request->snapshot.len > 0;
    case SAS_RESOURCE_VERSION:
        return request->blob.len > 0 && request->version_id.len > 0;
    case SAS_RESOURCE_DIRECTORY:
        break;
    }
    uint64_t depth = 0;
    if (decimal_parse_u64(sas->fields[SAS_SDD], &depth) != OK)
        return false;
    return sas_directory_of(request->blob, depth, path);
}

static void sas_add_resource(struct strbuf *text, const struct sas *sas,
                             const struct sas_request *request, struct slice path)
{
    if (!sas_is_before(sas, VERSION_SERVICE_PREFIX)) {
        strbuf_add_byte(text, '/');
        strbuf_add_text(text, request->service_name);
    }
    strbuf_add_byte(text, '/');
    strbuf_add_text(text, request->account->name);
    strbuf_add_byte(text, '/');
    if (sas->service == 't')
        for (size_t i = 0; i < sas->fields[SAS_TN].len; i++)
            strbuf_add_byte(text, (char)tolower((unsigned char)sas->fields[SAS_TN].data[i]));
    else
        strbuf_add(text, request->container);
    if (path.len == 0)
        return;
    strbuf_add_byte(text, '/');
    strbuf_add(text, path);
}

static struct slice sas_time(const struct sas *sas, const struct sas_request *request)
{
    if (sas->resource == SAS_RESOURCE_SNAPSHOT)
        return request->snapshot;
    return sas->resource == SAS_RESOURCE_VERSION ? request->version_id : (struct slice){ 0 };
}

/* Enough for the whole text, so that the buffer grows once. */
static size_t sas_text_bytes_max(const struct sas *sas, const struct sas_request *request)
{
    size_t bytes = SAS_LINES_MAX + LIMIT_ACCOUNT_NAME_MAX + sizeof("/queue///") +
                   request->container.len + request->blob.len + request->snapshot.len +
                   request->version_id.len;
    for (size_t i = 0; i < SAS_FIELD_COUNT; i++)
        bytes += sas->fields[i].len;
    return bytes;
}

static struct slice sas_text(struct arena *arena, const struct sas *sas,
                             const struct sas_request *request, struct slice path)
{
    const struct sas_form *form = sas_form_of(sas);
    struct strbuf text;
    strbuf_init(&text, arena);
    strbuf_reserve(&text, sas_text_bytes_max(sas, request));
    for (size_t i = 0; i < form->count; i++) {
        if (i > 0)
            strbuf_add_byte(&text, '\n');
        if (form->lines[i] < SAS_FIELD_COUNT)
            strbuf_add(&text, sas->fields[form->lines[i]]);
        else if (form->lines[i] == SAS_LINE_ACCOUNT)
            strbuf_add_text(&text, request->account->name);
        else if (form->lines[i] == SAS_LINE_RESOURCE)
            sas_add_resource(&text, sas, request, path);
        else if (form->lines[i] == SAS_LINE_TIME)
            strbuf_add(&text, sas_time(sas, request));
    }
    return strbuf_slice(&text);
}

static bool sas_is_signed(struct arena *arena, const struct sas *sas,
                          const struct sas_request *request)
{
    const struct account *account = request->account;
    const struct slice signature = sas->fields[SAS_SIG];
    char expected[BASE64_LEN(DIGEST_SHA256_BYTES) + 1];
    struct slice path = { 0 };
    if (signature.len != sizeof(expected) - 1 || !sas_signed_path(sas, request, &path))
        return false;
    const struct slice text = sas_text(arena, sas, request, path);
    for (size_t i = 0; i < account->key_count; i++) {
        uint8_t mac[DIGEST_SHA256_BYTES];
        digest_hmac(&account->keys[i], text, mac);
        base64_encode(slice_make(mac, sizeof(mac)), expected);
        if (digest_equal(expected, signature.data, signature.len))
            return true;
    }
    return false;
}

/* Forget the parameters that the text does not have, except those that shaped it. */
static void sas_keep_signed_fields(struct sas *sas)
{
    const struct sas_form *form = sas_form_of(sas);
    uint32_t keep = UINT32_C(1) << SAS_SV | UINT32_C(1) << SAS_SR | UINT32_C(1) << SAS_SDD |
                    UINT32_C(1) << SAS_TN;
    for (size_t i = 0; i < form->count; i++) {
        if (form->lines[i] < SAS_FIELD_COUNT)
            keep |= UINT32_C(1) << form->lines[i];
    }
    for (size_t i = 0; i < SAS_FIELD_COUNT; i++) {
        if ((keep >> i & 1) == 0)
            sas->fields[i] = (struct slice){ 0 };
    }
}

/* --- what was granted --- */

/* Each of start, expiry and permission is in the policy or in the SAS, not in both. */
static enum err sas_check_policy(const struct sas *sas, const struct sas_policy *policy)
{
    if (!sas_has(sas, SAS_SI))
        return OK;
    if (policy == NULL)
        return ERR_AUTHENTICATION_FAILED;
    if ((policy->has_start && sas_has(sas, SAS_ST)) ||
        (policy->has_expiry && sas_has(sas, SAS_SE)) ||
        (policy->has_permission && sas_has(sas, SAS_SP)))
        return ERR_INVALID_QUERY_PARAMETER;
    return OK;
}

static bool sas_is_in_time(const struct sas *sas, const struct sas_policy *policy, int64_t now)
{
    int64_t start = 0;
    int64_t expiry = 0;
    if (sas_has(sas, SAS_ST)) {
        if (date_parse_iso(sas->fields[SAS_ST], &start) != OK)
            return false;
    } else if (policy != NULL && policy->has_start) {
        start = policy->start;
    }
    if (sas_has(sas, SAS_SE)) {
        if (date_parse_iso(sas->fields[SAS_SE], &expiry) != OK)
            return false;
    } else if (policy != NULL && policy->has_expiry) {
        expiry = policy->expiry;
    }
    /* Without an expiry it stays 0, which is past. */
    return start <= now && now < expiry;
}

static bool sas_read_letters(struct sas *sas, const struct sas_policy *policy)
{
    struct slice permissions = sas->fields[SAS_SP];
    if (permissions.len == 0 && policy != NULL && policy->has_permission)
        permissions = policy->permission;
    return permissions.len > 0 && sas_letters_parse(permissions, &sas->permissions) &&
           sas_letters_parse(sas->fields[SAS_SS], &sas->services) &&
           sas_letters_parse(sas->fields[SAS_SRT], &sas->resource_types);
}

/* `spr` is a list of protocols separated by commas; none is all. */
static bool sas_allows_protocol(const struct sas *sas, bool is_https)
{
    const char *protocol = is_https ? "https" : "http";
    struct slice list = sas->fields[SAS_SPR];
    if (list.len == 0)
        return true;
    while (list.len > 0) {
        const size_t len = slice_find_byte(list, ',');
        if (slice_is(slice_head(list, len), protocol))
            return true;
        list = slice_from(list, len + 1);
    }
    return false;
}

/* An address of either family; IPv4 is kept in its IPv6-mapped form, so that both compare. */
struct sas_address {
    uint8_t bytes[16];
};

static const uint8_t MAPPED_PREFIX[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF };

static bool sas_address_parse(struct slice text, struct sas_address *address)
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len == 0 || text.len >= sizeof(copy) || slice_find_byte(text, '\0') < text.len)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET6, copy, address->bytes) == 1)
        return true;
    memcpy(address->bytes, MAPPED_PREFIX, sizeof(MAPPED_PREFIX));
    return inet_pton(AF_INET, copy, address->bytes + sizeof(MAPPED_PREFIX)) == 1;
}

static bool sas_address_of_client(const struct sockaddr *client, struct sas_address *address)
{
    if (client == NULL)
        return false;
    if (client->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, client, sizeof(in6));
        memcpy(address->bytes, &in6.sin6_addr, sizeof(address->bytes));
        return true;
    }
    if (client->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, client, sizeof(in));
        memcpy(address->bytes, MAPPED_PREFIX, sizeof(MAPPED_PREFIX));
        memcpy(address->bytes + sizeof(MAPPED_PREFIX), &in.sin_addr, sizeof(in.sin_addr));
        return true;
    }
    return false;
}

static bool sas_address_is_mapped(const struct sas_address *address)
{
    return memcmp(address->bytes, MAPPED_PREFIX, sizeof(MAPPED_PREFIX)) == 0;
}

/* `sip` is one address, or the first and the last of a range with a dash between. */
static bool sas_allows_client(const struct sas *sas, const struct sockaddr *client)
{
    const struct slice text = sas->fields[SAS_SIP];
    if (text.len == 0)
        return true;
    const size_t dash = slice_find_byte(text, '-');
    struct sas_address address;
    struct sas_address first;
    struct sas_address last;
    if (!sas_address_of_client(client, &address) ||
        !sas_address_parse(slice_head(text, dash), &first))
        return false;
    last = first;
    if (dash < text.len && !sas_address_parse(slice_from(text, dash + 1), &last))
        return false;
    /* A range from one family to the other means nothing. */
    if (sas_address_is_mapped(&first) != sas_address_is_mapped(&last))
        return false;
    return memcmp(&first, &address, sizeof(address)) <= 0 &&
           memcmp(&address, &last, sizeof(address)) <= 0;
}

/* A table is named by the SAS itself: in the path of a batch there is none. */
static bool sas_names_resource(const struct sas *sas, const struct sas_request *request)
{
    if (sas->service != 't')
        return request->container.len > 0;
    return request->container.len == 0 ||
           slice_equal_nocase(request->container, sas->fields[SAS_TN]);
}

enum err auth_sas_verify(struct arena *arena, struct sas *sas, const struct sas_request *request,
                         const struct sas_policy *policy)
{
    assert(request->account != NULL);
    if (sas->kind == SAS_KIND_SERVICE && !sas_names_resource(sas, request))
        return ERR_AUTHENTICATION_FAILED;
    if (!sas_is_signed(arena, sas, request))
        return ERR_AUTHENTICATION_FAILED;
    sas_keep_signed_fields(sas);
    /* A policy counts only for the SAS that names it. */
    if (!sas_has(sas, SAS_SI))
        policy = NULL;
    const enum err err = sas_check_policy(sas, policy);
    if (err != OK)
        return err;
    if (!sas_read_letters(sas, policy) || !sas_is_in_time(sas, policy, request->now))
        return ERR_AUTHENTICATION_FAILED;
    if (!sas_allows_protocol(sas, request->is_https))
        return ERR_AUTHORIZATION_PROTOCOL;
    if (!sas_allows_client(sas, request->client))
        return ERR_AUTHORIZATION_SOURCE_IP;
    if (sas->kind == SAS_KIND_ACCOUNT && !sas_letters_have(sas->services, request->service))
        return ERR_AUTHORIZATION_SERVICE;
    return OK;
}

/* --- asking --- */

bool sas_allows(const struct sas *sas, char permission)
{
    return sas_letters_have(sas->permissions, permission);
}

bool sas_allows_type(const struct sas *sas, char resource_type)
{
    if (sas->kind == SAS_KIND_ACCOUNT)
        return sas_letters_have(sas->resource_types, resource_type);
    return resource_type == 'o' ||
           (resource_type == 'c' && sas->resource == SAS_RESOURCE_CONTAINER);
}
