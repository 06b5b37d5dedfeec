#include "frontend/http/api_odata.h"

#include <string.h>

#include "base/encoding.h"
#include "frontend/http/odata_token.h"
#include "service/limits.h"

struct table_name api_table_name(const struct http_request *request)
{
    return (struct table_name){
        .account = slice_of(request->address.account->name),
        .table = request->address.container,
    };
}

enum err api_odata_fault(struct http_request *request, enum err err, struct slice message)
{
    /* What it quotes of the request need not be text. */
    request->error_message = utf8_is_valid(message) ? message : (struct slice){ 0 };
    return err;
}

/* --- the form of the answer --- */

/* What a media type asks for; false if it is none that there is. */
static bool read_media_type(struct slice type, enum odata_metadata *metadata)
{
    struct slice rest = type;
    const size_t semicolon = slice_find_byte(rest, ';');
    const struct slice name = slice_trim(slice_head(rest, semicolon));
    if (!slice_equal_nocase(name, slice_of("application/json")) &&
        !slice_equal_nocase(name, slice_of("json")) &&
        !slice_equal_nocase(name, slice_of("application/*")) && !slice_is(name, "*/*"))
        return false;
    *metadata = ODATA_MINIMAL;
    rest = slice_from(rest, semicolon + 1);
    while (rest.len > 0) {
        const size_t end = slice_find_byte(rest, ';');
        const struct slice parameter = slice_trim(slice_head(rest, end));
        rest = slice_from(rest, end + 1);
        if (slice_equal_nocase(parameter, slice_of("odata=nometadata")))
            *metadata = ODATA_NONE;
        else if (slice_equal_nocase(parameter, slice_of("odata=fullmetadata")))
            *metadata = ODATA_FULL;
        else if (slice_equal_nocase(parameter, slice_of("odata=verbose")))
            return false;
    }
    return true;
}

static bool is_atom(struct slice type)
{
    const struct slice name = slice_trim(slice_head(type, slice_find_byte(type, ';')));
    return slice_equal_nocase(name, slice_of("application/atom+xml")) ||
           slice_equal_nocase(name, slice_of("atom"));
}

/* The first type of the list that there is. */
static enum err read_media_types(struct slice list, enum odata_metadata *metadata)
{
    bool wants_atom = false;
    *metadata = ODATA_MINIMAL;
    if (list.len == 0)
        return OK;
    while (list.len > 0) {
        const size_t comma = slice_find_byte(list, ',');
        const struct slice type = slice_trim(slice_head(list, comma));
        list = slice_from(list, comma + 1);
        if (read_media_type(type, metadata))
            return OK;
        wants_atom = wants_atom || is_atom(type);
    }
    return wants_atom ? ERR_ATOM : ERR_MEDIA_TYPE;
}

/* Where the client found the service: http://host:port/account */
static struct slice endpoint_of(struct http_request *request)
{
    const struct slice host = http_message_header(&request->message, "host");
    const struct http_address *address = &request->address;
    struct strbuf endpoint;
    strbuf_init(&endpoint, &request->arena);
    strbuf_add_text(&endpoint, request->https ? "https://" : "http://");
    strbuf_add(&endpoint, host);
    if (address->path_style) {
        strbuf_add_byte(&endpoint, '/');
        strbuf_add_text(&endpoint, address->account->name);
        if (address->secondary)
            strbuf_add_text(&endpoint, "-secondary");
    }
    return strbuf_slice(&endpoint);
}

enum err api_odata_format(struct http_request *request, const struct http_message *message,
                          struct odata_format *format)
{
    struct slice types = http_message_parameter(message, "$format");
    if (types.len == 0)
        types = http_message_header(message, "accept");
    *format = (struct odata_format){
        .endpoint = endpoint_of(request),
        .account = slice_of(request->address.account->name),
    };
    return read_media_types(types, &format->metadata);
}

/* --- other arguments --- */

enum err api_check_json(const struct http_message *message)
{
    const struct slice type = http_message_header(message, "content-type");
    enum odata_metadata ignored;
    if (type.len == 0 || read_media_type(type, &ignored))
        return OK;
    return is_atom(type) ? ERR_ATOM : ERR_MEDIA_TYPE;
}

enum api_preference api_preference(const struct http_message *message)
{
    const struct slice prefer = http_message_header(message, "prefer");
    if (slice_equal_nocase(prefer, slice_of("return-no-content")))
        return PREFER_NO_CONTENT;
    return slice_equal_nocase(prefer, slice_of("return-content")) ? PREFER_CONTENT : PREFER_NOTHING;
}

enum err api_top(struct http_request *request, size_t *results_max)
{
    const struct http_field *top = http_message_find_parameter(&request->message, "$top");
    *results_max = LIMIT_QUERY_RESULTS_MAX;
    if (top == NULL)
        return OK;
    uint64_t number;
    if (decimal_parse_u64(top->value, &number) != OK)
        return ERR_INVALID_INPUT;
    if (number == 0 || number > LIMIT_QUERY_RESULTS_MAX)
        return api_odata_fault(request, ERR_OUT_OF_RANGE_INPUT,
                               arena_printf(&request->arena,
                                            "The 'top' parameter of value '%.*s' is out of range.",
                                            (int)top->value.len, top->value.data));
    *results_max = (size_t)number;
    return OK;
}

enum err api_filter(struct http_request *request, const struct filter **filter)
{
    const struct slice text = http_message_parameter(&request->message, "$filter");
    struct slice message = { 0 };
    *filter = NULL;
    if (text.len == 0)
        return OK;
    if (!utf8_is_valid(text))
        return ERR_INVALID_INPUT;
    const enum err err = filter_parse(&request->arena, text, filter, &message);
    return err == OK ? OK : api_odata_fault(request, err, message);
}

enum err api_continuation(struct http_request *request, const char *parameter, bool *present,
                          struct slice *place)
{
    const struct slice token = http_message_parameter(&request->message, parameter);
    *present = token.len > 0;
    *place = (struct slice){ 0 };
    if (!*present)
        return OK;
    return odata_token_read(&request->arena, token, place) == OK ? OK : ERR_INVALID_INPUT;
}

struct plan_window api_key_window(const struct http_request *request)
{
    const struct http_access *access = &request->access;
    return (struct plan_window){
        .first_pk = access->first_partition_key.data != NULL ? &access->first_partition_key : NULL,
        .first_rk = access->first_row_key.data != NULL ? &access->first_row_key : NULL,
        .last_pk = access->last_partition_key.data != NULL ? &access->last_partition_key : NULL,
        .last_rk = access->last_row_key.data != NULL ? &access->last_row_key : NULL,
    };
}

bool api_may_use_table(const struct http_request *request, struct slice table)
{
    const struct slice allowed = request->access.table;
    return allowed.data == NULL || slice_equal_nocase(allowed, table);
}

/* --- answers --- */

void api_begin_odata(struct http_response *response, struct arena *arena, unsigned status)
{
    http_response_init(response, arena, status);
    http_response_add_text(response, "X-Content-Type-Options", "nosniff");
    http_response_add_text(response, "Cache-Control", "no-cache");
}

void api_add_preference(struct http_response *response, enum api_preference preference)
{
    if (preference == PREFER_CONTENT)
        http_response_add_text(response, "Preference-Applied", "return-content");
    if (preference == PREFER_NO_CONTENT)
        http_response_add_text(response, "Preference-Applied", "return-no-content");
}

void api_add_json(struct http_response *response, const struct odata_format *format,
                  const struct strbuf *body)
{
    http_response_add_text(response, "Content-Type", odata_content_type(format->metadata));
    response->body = strbuf_slice(body);
}

void api_add_location(struct http_response *response, const struct odata_format *format,
                      const struct strbuf *path, bool no_content)
{
    const struct slice location =
        arena_printf(response->arena, "%.*s/%.*s", (int)format->endpoint.len, format->endpoint.data,
                     (int)path->len, path->data);
    http_response_add(response, "Location", location);
    if (no_content)
        http_response_add(response, "DataServiceId", location);
}

void api_add_entity_etag(struct http_response *response, int64_t timestamp)
{
    char *text = arena_bytes(response->arena, ODATA_ETAG_LEN_MAX + 1);
    (void)odata_etag_format(timestamp, text);
    http_response_add_text(response, "ETag", text);
}
