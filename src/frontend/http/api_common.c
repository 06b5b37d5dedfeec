#include "frontend/http/api_common.h"

#include <inttypes.h>
#include <string.h>

#include "base/encoding.h"
#include "frontend/http/xml_write.h"
#include "service/limits.h"

struct container_name api_container_name(const struct http_request *request)
{
    return (struct container_name){
        .account = slice_of(request->address.account->name),
        .container = request->address.container,
    };
}

/* --- arguments --- */

enum err api_uuid(struct http_request *request, const char *header, struct uuid *id)
{
    const struct http_field *field = http_message_find_header(&request->message, header);
    if (field == NULL)
        return request_fault_header(request, ERR_MISSING_HEADER, header);
    if (uuid_parse(slice_trim(field->value), id) != OK || uuid_is_nil(id))
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

/* A number of seconds, which the lease module checks the range of; far ones are refused here. */
static enum err read_seconds(struct http_request *request, const char *header, int32_t *seconds)
{
    int64_t number;
    if (decimal_parse_i64(http_message_header(&request->message, header), &number) != OK ||
        number < LEASE_DURATION_SEC_INFINITE || number > LEASE_DURATION_SEC_MAX)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    *seconds = (int32_t)number;
    return OK;
}

static enum err acquire_arguments(struct http_request *request, struct lease_request *lease)
{
    const char *const duration = "x-ms-lease-duration";
    lease->action = LEASE_ACTION_ACQUIRE;
    if (http_message_find_header(&request->message, duration) == NULL)
        return request_fault_header(request, ERR_MISSING_HEADER, duration);
    const enum err err = read_seconds(request, duration, &lease->duration_sec);
    if (err != OK)
        return err;
    if (lease->duration_sec != LEASE_DURATION_SEC_INFINITE &&
        lease->duration_sec < LEASE_DURATION_SEC_MIN)
        return request_fault_header(request, ERR_INVALID_HEADER, duration);
    if (http_message_header(&request->message, "x-ms-proposed-lease-id").len == 0) {
        lease->proposed_id = uuid_random();
        return OK;
    }
    return api_uuid(request, "x-ms-proposed-lease-id", &lease->proposed_id);
}

static enum err break_arguments(struct http_request *request, struct lease_request *lease)
{
    const char *const period = "x-ms-lease-break-period";
    lease->action = LEASE_ACTION_BREAK;
    lease->break_sec = LEASE_BREAK_SEC_DEFAULT;
    if (http_message_find_header(&request->message, period) == NULL)
        return OK;
    const enum err err = read_seconds(request, period, &lease->break_sec);
    if (err == OK && lease->break_sec < 0)
        return request_fault_header(request, ERR_INVALID_HEADER, period);
    return err;
}

enum err api_lease_request(struct http_request *request, struct lease_request *lease)
{
    const struct slice action = slice_of(request->operation->header_value);
    if (slice_is(action, "acquire"))
        return acquire_arguments(request, lease);
    if (slice_is(action, "break"))
        return break_arguments(request, lease);

    const enum err err = api_uuid(request, "x-ms-lease-id", &lease->id);
    if (err != OK)
        return err;
    if (slice_is(action, "renew")) {
        lease->action = LEASE_ACTION_RENEW;
        return OK;
    }
    if (slice_is(action, "release")) {
        lease->action = LEASE_ACTION_RELEASE;
        return OK;
    }
    lease->action = LEASE_ACTION_CHANGE;
    return api_uuid(request, "x-ms-proposed-lease-id", &lease->proposed_id);
}

enum err api_number_header(struct http_request *request, const char *header, uint64_t number_max,
                           bool *present, uint64_t *number)
{
    *present = http_message_find_header(&request->message, header) != NULL;
    if (!*present)
        return OK;
    if (decimal_parse_u64(http_message_header(&request->message, header), number) != OK ||
        *number > number_max)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

enum err api_check_body_length(struct http_request *request, uint64_t bytes_max)
{
    if (request->content_length <= bytes_max)
        return OK;
    request_add_detail(request, "MaxLimit", arena_printf(&request->arena, "%" PRIu64, bytes_max));
    return ERR_BODY_TOO_LARGE;
}

enum err api_refuse_copy_source(struct http_request *request)
{
    return http_message_find_header(&request->message, "x-ms-copy-source") != NULL
               ? ERR_NOT_IMPLEMENTED
               : OK;
}

enum err api_results_max(struct http_request *request, size_t *results_max)
{
    const char *const name = "maxresults";
    *results_max = LIMIT_LIST_RESULTS_DEFAULT;
    const struct http_field *field = http_message_find_parameter(&request->message, name);
    if (field == NULL || field->value.len == 0)
        return OK;
    int64_t number;
    if (decimal_parse_i64(field->value, &number) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, name);
    if (number < 1) {
        const enum err err =
            request_fault_parameter(request, ERR_OUT_OF_RANGE_QUERY_PARAMETER, name);
        request_add_detail(request, "MinimumAllowed", slice_of("1"));
        request_add_detail(request, "MaximumAllowed", slice_of("5000"));
        return err;
    }
    if (number < LIMIT_LIST_RESULTS_MAX)
        *results_max = (size_t)number;
    return OK;
}

/* The place of a word in a list that ends with NULL; -1 if it is not there. */
static int find_word(const char *const words[], struct slice word)
{
    for (int i = 0; words[i] != NULL; i++)
        if (slice_equal_nocase(word, slice_of(words[i])))
            return i;
    return -1;
}

enum err api_include(struct http_request *request, const char *const words[], unsigned *included)
{
    const struct http_message *message = &request->message;
    *included = 0;
    for (size_t i = 0; i < message->parameter_count; i++) {
        if (!slice_is(message->parameters[i].name, "include"))
            continue;
        struct slice rest = message->parameters[i].value;
        while (rest.len > 0) {
            const size_t comma = slice_find_byte(rest, ',');
            const int word = find_word(words, slice_trim(slice_head(rest, comma)));
            if (word < 0)
                return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "include");
            *included |= 1u << word;
            rest = slice_from(rest, comma + 1);
        }
    }
    return OK;
}

enum err api_fault_xml(struct http_request *request, const struct xml_fault *fault)
{
    request_add_detail(request, "LineNumber", arena_printf(&request->arena, "%d", fault->line));
    request_add_detail(request, "LinePosition", arena_printf(&request->arena, "%d", fault->column));
    request_add_detail(request, "Reason", slice_of(fault->reason));
    return ERR_INVALID_XML;
}

enum err api_read_marker(struct http_request *request, struct slice *place)
{
    const char *const parameter = "marker";
    const struct slice marker = http_message_parameter(&request->message, parameter);
    *place = marker;
    if (!slice_starts_with(marker, slice_of("2!")))
        return OK;
    const struct slice rest = slice_from(marker, 2);
    const size_t bang = slice_find_byte(rest, '!');
    const struct slice encoded = slice_from(rest, bang + 1);
    uint64_t len;
    if (decimal_parse_u64(slice_head(rest, bang), &len) != OK || len != encoded.len ||
        base64_decode(&request->arena, encoded, place) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

/* --- responses --- */

struct slice api_make_marker(struct arena *arena, struct slice place)
{
    if (place.len == 0)
        return place;
    char *encoded = arena_bytes(arena, BASE64_LEN(place.len) + 1);
    base64_encode(place, encoded);
    return arena_printf(arena, "2!%zu!%s", BASE64_LEN(place.len), encoded);
}

const char *api_blob_type(enum blob_type type)
{
    static const char *const words[] = {
        [BLOB_BLOCK] = "BlockBlob", [BLOB_APPEND] = "AppendBlob", [BLOB_PAGE] = "PageBlob"
    };
    return words[type];
}

void api_add_tier(struct http_response *response, const struct blob *blob)
{
    if (blob->type != BLOB_BLOCK)
        return;
    http_response_add(response, "x-ms-access-tier",
                      blob->tier.len > 0 ? blob->tier : slice_of("Hot"));
    if (blob->tier.len == 0)
        http_response_add_text(response, "x-ms-access-tier-inferred", "true");
    if (blob->tier_changed_at > 0)
        http_response_add_date(response, "x-ms-access-tier-change-time", blob->tier_changed_at);
    http_response_add(response, "x-ms-archive-status", blob->archive_status);
    http_response_add(response, "x-ms-rehydrate-priority", blob->rehydrate_priority);
}

void api_add_metadata(struct http_response *response, const struct metadata *metadata)
{
    for (size_t i = 0; i < metadata->count; i++) {
        const struct metadata_pair *pair = &metadata->pairs[i];
        const struct slice name =
            arena_printf(response->arena, "x-ms-meta-%.*s", (int)pair->name.len, pair->name.data);
        /* A header needs a value to be sent at all; one space is an empty value. */
        http_response_add(response, name.data, pair->value.len > 0 ? pair->value : slice_of(" "));
    }
}

const char *api_lease_status(const struct lease *lease)
{
    return lease_is_locked(lease) ? "locked" : "unlocked";
}

const char *api_lease_state(const struct lease *lease)
{
    static const char *const words[] = {
        [LEASE_AVAILABLE] = "available", [LEASE_LEASED] = "leased", [LEASE_EXPIRED] = "expired",
        [LEASE_BREAKING] = "breaking",   [LEASE_BROKEN] = "broken",
    };
    return words[lease->state];
}

const char *api_lease_duration(const struct lease *lease)
{
    if (lease->state != LEASE_LEASED)
        return NULL;
    return lease->duration_sec == LEASE_DURATION_SEC_INFINITE ? "infinite" : "fixed";
}

void api_add_lease(struct http_response *response, const struct lease *lease)
{
    http_response_add_text(response, "x-ms-lease-status", api_lease_status(lease));
    http_response_add_text(response, "x-ms-lease-state", api_lease_state(lease));
    http_response_add_text(response, "x-ms-lease-duration", api_lease_duration(lease));
}

void api_respond_lease(struct http_request *request, const struct lease_request *lease,
                       int64_t etag)
{
    static const unsigned statuses[] = {
        [LEASE_ACTION_ACQUIRE] = 201, [LEASE_ACTION_RENEW] = 200, [LEASE_ACTION_CHANGE] = 200,
        [LEASE_ACTION_RELEASE] = 200, [LEASE_ACTION_BREAK] = 202,
    };
    struct http_response *response = request_respond(request, statuses[lease->action]);
    http_response_add_etag(response, etag);
    const struct uuid *id = NULL;
    if (lease->action == LEASE_ACTION_ACQUIRE || lease->action == LEASE_ACTION_CHANGE)
        id = &lease->proposed_id;
    if (lease->action == LEASE_ACTION_RENEW)
        id = &lease->id;
    if (id != NULL) {
        char text[UUID_TEXT_LEN + 1];
        uuid_format(id, text);
        http_response_add(response, "x-ms-lease-id", slice_of(text));
    }
    if (lease->action == LEASE_ACTION_BREAK)
        http_response_add_number(response, "x-ms-lease-time", (uint64_t)lease->remaining_sec);
}

/* The URL of the service as the client addressed it, ending in a slash. */
static struct slice service_endpoint(struct http_request *request)
{
    const struct slice host = http_message_header(&request->message, "host");
    const char *scheme = request->https ? "https" : "http";
    if (!request->address.path_style)
        return arena_printf(&request->arena, "%s://%.*s/", scheme, (int)host.len, host.data);
    return arena_printf(&request->arena, "%s://%.*s/%s%s/", scheme, (int)host.len, host.data,
                        request->address.account->name,
                        request->address.secondary ? "-secondary" : "");
}

/* <Prefix>, <Marker> and the like are echoed if they were sent. */
static void echo_parameter(struct http_request *request, struct strbuf *body, const char *name,
                           const char *element)
{
    const struct slice value = http_message_parameter(&request->message, name);
    if (value.len > 0)
        xml_add_name(body, element, value);
}

static void begin_results(struct http_request *request, struct strbuf *body)
{
    strbuf_reserve(body, 4096);
    xml_begin_document(body);
    strbuf_add_text(body, "<EnumerationResults");
    xml_add_attribute(body, "ServiceEndpoint", service_endpoint(request));
}

void api_end_account_listing(struct http_request *request, struct strbuf *body, struct slice next)
{
    if (next.len > 0)
        next = arena_printf(&request->arena, "/%s/%.*s", request->address.account->name,
                            (int)next.len, next.data);
    xml_add_element(body, "NextMarker", next);
    strbuf_add_text(body, "</EnumerationResults>");
}

void api_begin_search(struct http_request *request, struct strbuf *body)
{
    begin_results(request, body);
    strbuf_add_byte(body, '>');
    echo_parameter(request, body, "where", "Where");
    echo_parameter(request, body, "marker", "Marker");
    echo_parameter(request, body, "maxresults", "MaxResults");
}

void api_begin_listing(struct http_request *request, struct strbuf *body)
{
    begin_results(request, body);
    if (request->address.level == HTTP_CONTAINER)
        xml_add_attribute(body, "ContainerName", request->address.container);
    if (request->address.level == HTTP_NODE) {
        xml_add_attribute(body, "ShareName", request->address.container);
        if (request->snapshot != 0)
            xml_add_attribute(body, "ShareSnapshot",
                              http_message_parameter(&request->message, "sharesnapshot"));
        xml_add_attribute(body, "DirectoryPath", request->address.blob);
    }
    strbuf_add_byte(body, '>');
    echo_parameter(request, body, "prefix", "Prefix");
    echo_parameter(request, body, "marker", "Marker");
    echo_parameter(request, body, "maxresults", "MaxResults");
    echo_parameter(request, body, "delimiter", "Delimiter");
}

void api_list_metadata(struct strbuf *body, const struct metadata *metadata)
{
    if (metadata->count == 0) {
        strbuf_add_text(body, "<Metadata />");
        return;
    }
    strbuf_add_text(body, "<Metadata>");
    for (size_t i = 0; i < metadata->count; i++) {
        const struct slice name = arena_copy(body->arena, metadata->pairs[i].name);
        xml_add_element(body, name.data, metadata->pairs[i].value);
    }
    strbuf_add_text(body, "</Metadata>");
}
