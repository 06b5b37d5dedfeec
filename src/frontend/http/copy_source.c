#include "frontend/http/copy_source.h"

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/access.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_node.h"
#include "service/blob/tag.h"

static const char source_header[] = "x-ms-copy-source";

/* --- URLs --- */

enum {
    PORT_HTTP = 80,
    PORT_HTTPS = 443,
    URL_BYTES_MAX = 8 * 1024, /* 2 KiB in the reference; a SAS of a user can be longer */
};

/* Host and port of an authority. */
static enum err split_authority(struct slice authority, unsigned default_port, struct slice *host,
                                unsigned *port)
{
    size_t end = slice_find_byte(authority, ':');
    if (authority.len > 0 && authority.data[0] == '[') {
        end = slice_find_byte(authority, ']') + 1;
        if (end > authority.len)
            return ERR_MALFORMED;
    }
    *host = slice_head(authority, end);
    *port = default_port;
    const struct slice rest = slice_from(authority, end);
    if (host->len == 0)
        return ERR_MALFORMED;
    if (rest.len == 0)
        return OK;
    uint64_t number;
    if (rest.data[0] != ':' || decimal_parse_u64(slice_from(rest, 1), &number) != OK ||
        number == 0 || number > UINT16_MAX)
        return ERR_MALFORMED;
    *port = (unsigned)number;
    return OK;
}

/* Only what may stand in an encoded URL, so that it is the same URL to everybody. */
static bool has_url_characters(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        if (c <= ' ' || c >= 0x7f || c == '#' || c == '"' || c == '<' || c == '>' || c == '\\')
            return false;
    }
    return true;
}

enum err copy_url_parse(struct slice text, struct copy_url *url)
{
    const struct slice http = slice_of("http://");
    const struct slice https = slice_of("https://");
    *url = (struct copy_url){ 0 };
    if (text.len > URL_BYTES_MAX || !has_url_characters(text))
        return ERR_MALFORMED;
    url->is_https = slice_equal_nocase(slice_head(text, https.len), https);
    if (!url->is_https && !slice_equal_nocase(slice_head(text, http.len), http))
        return ERR_MALFORMED;
    const struct slice rest = slice_from(text, url->is_https ? https.len : http.len);
    const size_t slash = slice_find_byte(rest, '/');
    url->authority = slice_head(rest, slash);
    url->target = slice_from(rest, slash);
    if (url->target.len < 2 || slice_find_byte(url->authority, '@') < url->authority.len ||
        slice_find_byte(url->authority, '?') < url->authority.len)
        return ERR_MALFORMED;
    return split_authority(url->authority, url->is_https ? PORT_HTTPS : PORT_HTTP, &url->host,
                           &url->port);
}

/* What follows the first label of a name. */
static struct slice domain_of(struct slice host)
{
    return slice_from(host, slice_find_byte(host, '.') + 1);
}

static bool is_local_name(struct slice host)
{
    return slice_equal_nocase(host, slice_of("localhost")) || slice_is(host, "127.0.0.1");
}

static bool is_same_host(struct slice a, struct slice b)
{
    return slice_equal_nocase(a, b) || (is_local_name(a) && is_local_name(b));
}

/* Whether the first label is an account, of the primary or the secondary endpoint. */
static bool begins_with_account(struct slice host, const struct account_list *accounts)
{
    const struct slice suffix = slice_of("-secondary");
    struct slice label = slice_head(host, slice_find_byte(host, '.'));
    if (label.len > suffix.len &&
        slice_equal_nocase(slice_from(label, label.len - suffix.len), suffix))
        label.len -= suffix.len;
    return account_find(accounts, label) != NULL;
}

bool copy_url_is_here(const struct copy_url *url, struct slice own_host, bool own_https,
                      const struct account_list *accounts)
{
    struct slice host;
    unsigned port;
    if (split_authority(own_host, own_https ? PORT_HTTPS : PORT_HTTP, &host, &port) != OK ||
        port != url->port)
        return false;
    if (is_same_host(url->host, host))
        return true;
    const struct slice domain = domain_of(url->host);
    const bool is_account = domain.len > 0 && begins_with_account(url->host, accounts);
    const struct slice own_domain = domain_of(host);
    if (is_account && begins_with_account(host, accounts))
        return slice_equal_nocase(domain, own_domain);
    /* One of the two is path style: account.blob.localhost and localhost. */
    const bool is_blob = slice_equal_nocase(slice_head(domain, 5), slice_of("blob."));
    if (is_account && is_blob)
        return is_same_host(domain_of(domain), host) || slice_equal_nocase(domain, host);
    return is_account && slice_equal_nocase(domain, host);
}

/* --- the headers about a source --- */

static enum err read_etags(struct http_request *request, const char *header,
                           struct condition_etags *etags)
{
    const struct slice text = http_message_header(&request->message, header);
    if (text.len > 0 && condition_add_etags(etags, text) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err read_date(struct http_request *request, const char *header, bool *present,
                          int64_t *ticks)
{
    const struct slice text = http_message_header(&request->message, header);
    *present = text.len > 0;
    if (*present && date_parse_http(text, ticks) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err read_condition(struct http_request *request, struct condition *condition)
{
    const char *const tags = "x-ms-source-if-tags";
    enum err err = read_etags(request, "x-ms-source-if-match", &condition->if_match);
    if (err == OK)
        err = read_etags(request, "x-ms-source-if-none-match", &condition->if_none_match);
    if (err == OK)
        err = read_date(request, "x-ms-source-if-modified-since", &condition->has_modified_since,
                        &condition->modified_since);
    if (err == OK)
        err = read_date(request, "x-ms-source-if-unmodified-since",
                        &condition->has_unmodified_since, &condition->unmodified_since);
    if (err != OK)
        return err;
    const struct slice text = http_message_header(&request->message, tags);
    if (text.len > 0 &&
        tag_predicate_parse(&request->arena, text, TAG_CONDITION, &condition->if_tags) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, tags);
    return condition_check_write_shape(condition);
}

static enum err read_range(struct http_request *request, struct copy_source *source)
{
    const char *const header = "x-ms-source-range";
    const struct slice text = http_message_header(&request->message, header);
    source->has_range = text.len > 0;
    if (!source->has_range)
        return OK;
    source->range = http_range_parse(text);
    return source->range.present ? OK : request_fault_header(request, ERR_INVALID_HEADER, header);
}

/* --- may it be read --- */

/* How a source that may not be read is answered. */
static enum err refusal(enum err err)
{
    switch ((int)err) {
    case ERR_NO_AUTHENTICATION:
    case ERR_BEARER_REFUSED:
        return ERR_COPY_SOURCE_UNAUTHORIZED;
    case ERR_RESOURCE_NOT_FOUND:
    case ERR_ACCOUNT_NOT_FOUND:
    case ERR_CONTAINER_NOT_FOUND:
    case ERR_BLOB_NOT_FOUND:
    case ERR_SHARE_NOT_FOUND:
        return ERR_COPY_SOURCE_NOT_FOUND;
    case ERR_CORRUPT:
    case ERR_IO:
        return err;
    default:
        return ERR_COPY_SOURCE_FORBIDDEN;
    }
}

static void release_arena(void *arg)
{
    arena_release(arg);
}

struct http_request *copy_url_request(struct http_request *request, const struct copy_url *url,
                                      const char *method)
{
    struct http_request *get = arena_alloc(&request->arena, sizeof(*get));
    struct http_field *host = arena_alloc(&request->arena, sizeof(*host));
    *host = (struct http_field){ slice_of("Host"), url->authority };
    arena_on_clear(&request->arena, release_arena, &get->arena);
    get->context = request->context;
    get->target = url->target;
    get->message.method = slice_of(method);
    get->message.headers = host;
    get->message.header_count = 1;
    get->client_address = request->client_address;
    get->https = url->is_https;
    get->received_at = request->received_at;
    get->version = request->version;
    return get;
}

/* A snapshot or a version, named by its instant; 0 when the parameter is absent. */
static enum err find_instant(const struct http_request *get, const char *parameter, int64_t *ticks)
{
    const struct slice text = http_message_parameter(&get->message, parameter);
    *ticks = 0;
    if (text.len == 0)
        return OK;
    if (date_parse_iso(text, ticks) != OK)
        return ERR_MALFORMED;
    return *ticks == 0 ? ERR_COPY_SOURCE_NOT_FOUND : OK;
}

/* A file of this server, or of a snapshot. */
static enum err resolve_file(struct http_request *request, struct http_request *get,
                             struct copy_source *source)
{
    const enum err err = find_instant(get, "sharesnapshot", &get->snapshot);
    if (err != OK)
        return err;
    source->file.share = api_share_name(get);
    const enum err parsed = api_node_path(request, get->address.blob,
                                          "x-ms-source-allow-trailing-dot", &source->file.path);
    return parsed == OK || parsed == ERR_INVALID_HEADER ? parsed : ERR_MALFORMED;
}

/* What a URL of this server names; it must be a blob, a snapshot or a version, or a file. */
static enum err resolve(struct http_request *request, struct http_request *get,
                        struct copy_source *source)
{
    const struct http_context *context = get->context;
    enum err err = http_message_parse_target(&get->arena, get->target, &get->message);
    if (err == OK)
        err = http_address_parse(&get->arena, context->kind, &get->message, context->accounts,
                                 context->path_style_only, &get->address);
    if (err == ERR_ACCOUNT_NOT_FOUND)
        return ERR_COPY_SOURCE_NOT_FOUND;
    if (err == OK)
        err = http_route_find(context->kind, &get->message, &get->address, &get->operation,
                              get->details, &get->detail_count);
    const bool is_file = context->kind->id == HTTP_SERVICE_OF_FILES;
    if (err != OK || !slice_is(slice_of(get->operation->name), is_file ? "GetFile" : "GetBlob"))
        return ERR_MALFORMED;
    if (is_file)
        return resolve_file(request, get, source);
    source->name = (struct blob_name){
        .container = api_container_name(get),
        .blob = get->address.blob,
    };
    err = find_instant(get, "snapshot", &source->name.snapshot);
    if (err == OK)
        err = find_instant(get, "versionid", &source->name.version);
    return err == OK && source->name.snapshot != 0 && source->name.version != 0 ? ERR_MALFORMED
                                                                                : err;
}

static enum err authorize(struct http_request *request, struct http_request *get,
                          struct copy_source *source)
{
    source->may_read_tags = true;
    if (request->access.by_key && request->address.account == get->address.account)
        return OK;
    if (http_message_header(&request->message, "x-ms-copy-source-authorization").len > 0)
        return ERR_COPY_SOURCE_UNAUTHORIZED;
    struct access_caller caller;
    enum err err = access_authenticate(get, &caller);
    if (err == OK)
        err = access_authorize(get, &caller);
    if (err != OK)
        return refusal(err);
    source->may_read_tags = caller.kind == ACCESS_BY_SAS && !get->access.no_tags;
    return source->may_read_tags || source->condition.if_tags == NULL ? OK
                                                                      : ERR_COPY_SOURCE_FORBIDDEN;
}

/* Headers of the request that are passed on to a source elsewhere. */
static const struct {
    const char *given;
    const char *sent;
} passed_headers[] = {
    { "x-ms-source-if-match", "If-Match" },
    { "x-ms-source-if-none-match", "If-None-Match" },
    { "x-ms-source-if-modified-since", "If-Modified-Since" },
    { "x-ms-source-if-unmodified-since", "If-Unmodified-Since" },
    { "x-ms-source-if-tags", "x-ms-if-tags" },
    { "x-ms-source-range", "Range" },
    { "x-ms-copy-source-authorization", "Authorization" },
};

enum {
    PASSED_COUNT = sizeof(passed_headers) / sizeof(passed_headers[0]),
};

/* A header that was folded over lines must not become two. */
static enum err check_passed(struct http_request *request)
{
    for (size_t i = 0; i < PASSED_COUNT; i++) {
        const struct slice value = http_message_header(&request->message, passed_headers[i].given);
        for (size_t at = 0; at < value.len; at++)
            if ((unsigned char)value.data[at] < ' ')
                return request_fault_header(request, ERR_INVALID_HEADER, passed_headers[i].given);
    }
    return OK;
}

struct slice copy_url_without_signature(struct arena *arena, struct slice text)
{
    const struct slice name = slice_of("sig=");
    struct strbuf shown;
    strbuf_init(&shown, arena);
    size_t at = slice_find_byte(text, '?');
    strbuf_add(&shown, slice_head(text, at));
    for (char mark = '?'; at < text.len; at++) {
        const struct slice rest = slice_from(text, at + 1);
        const struct slice parameter = slice_head(rest, slice_find_byte(rest, '&'));
        if (!slice_equal_nocase(slice_head(parameter, name.len), name)) {
            strbuf_add_byte(&shown, mark);
            strbuf_add(&shown, parameter);
            mark = '&';
        }
        at += parameter.len;
    }
    return strbuf_slice(&shown);
}

enum err copy_source_read(struct http_request *request, struct copy_source *source)
{
    struct copy_url url;
    *source = (struct copy_source){ .text = http_message_header(&request->message, source_header) };
    if (source->text.len == 0)
        return request_fault_header(request, ERR_MISSING_HEADER, source_header);
    if (copy_url_parse(source->text, &url) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, source_header);
    source->shown = copy_url_without_signature(&request->arena, source->text);
    enum err err = read_condition(request, &source->condition);
    if (err == OK)
        err = read_range(request, source);
    if (err != OK)
        return err;
    source->is_here = copy_url_is_here(&url, http_message_header(&request->message, "host"),
                                       request->https, request->context->accounts);
    if (!source->is_here)
        return check_passed(request);
    struct http_request *get = copy_url_request(request, &url, "GET");
    err = resolve(request, get, source);
    if (err == ERR_MALFORMED)
        return request_fault_header(request, ERR_INVALID_HEADER, source_header);
    return err == OK ? authorize(request, get, source) : err;
}

enum err copy_source_open(struct http_request *request, const struct copy_source *source,
                          struct blob *blob, struct payload_reader *payload)
{
    const struct blob_get_request get = {
        .name = source->name,
        .condition = source->condition,
        .want_payload = true,
    };
    const enum err err = blob_get(request->context->service, &request->arena, &get, blob, payload);
    switch ((int)err) {
    case ERR_CONTAINER_NOT_FOUND:
    case ERR_BLOB_NOT_FOUND:
        return ERR_COPY_SOURCE_NOT_FOUND;
    case ERR_CONDITION_NOT_MET:
        return ERR_COPY_SOURCE_CONDITION;
    case ERR_NOT_MODIFIED:
    case ERR_UNSATISFIABLE_CONDITION:
        return ERR_COPY_SOURCE_NOT_MODIFIED;
    default:
        return err == OK && blob->copy.status == BLOB_COPY_PENDING ? ERR_PENDING_COPY : err;
    }
}

/* --- a source elsewhere --- */

void copy_source_headers(const struct http_request *request, struct arena *arena,
                         const char ***headers, size_t *count)
{
    const char **lines = arena_alloc(arena, (PASSED_COUNT + 1) * sizeof(*lines));
    *headers = lines;
    *count = 0;
    for (size_t i = 0; i < PASSED_COUNT; i++) {
        const struct slice value = http_message_header(&request->message, passed_headers[i].given);
        if (value.len > 0)
            lines[(*count)++] =
                arena_printf(arena, "%s: %.*s", passed_headers[i].sent, (int)value.len, value.data)
                    .data;
    }
    const struct slice version = request->version_text;
    lines[(*count)++] =
        arena_printf(arena, "x-ms-version: %.*s", (int)version.len, version.data).data;
}
