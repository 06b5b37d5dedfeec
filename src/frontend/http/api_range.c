/*
 * api_range.c - ranges of a file: Put Range, Put Range From URL, List Ranges.
 */
#include <inttypes.h>

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_hash.h"
#include "frontend/http/api_node.h"
#include "frontend/http/from_url.h"
#include "frontend/http/http_range.h"
#include "frontend/http/xml_write.h"
#include "service/limits.h"

/* The range of x-ms-range, or else Range; `*header` is the one that was given, or NULL. */
static struct http_range find_range(const struct http_request *request, const char **header)
{
    *header = "x-ms-range";
    if (http_message_find_header(&request->message, *header) == NULL)
        *header = "Range";
    if (http_message_find_header(&request->message, *header) == NULL) {
        *header = NULL;
        return (struct http_range){ 0 };
    }
    return http_range_parse(http_message_header(&request->message, *header));
}

/* --- Put Range --- */

struct put_range {
    struct node_change change; /* first */
    struct api_hashes hashes;
    /* from a URL: what the bytes must have, or must not have; empty if that does not matter */
    struct slice wanted_crc64;
    struct slice unwanted_crc64;
};

static enum err read_range(struct http_request *request, struct node_change *change)
{
    const char *header;
    const struct http_range range = find_range(request, &header);
    if (header == NULL)
        return request_fault_header(request, ERR_MISSING_HEADER, "x-ms-range");
    if (!range.present || range.last == UINT64_MAX)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    if (range.last >= LIMIT_FILE_BYTES)
        return ERR_INVALID_RANGE;
    change->start = range.first;
    change->end = range.last + 1;
    return OK;
}

/* x-ms-file-last-write-time: whether writing counts as such. */
static enum err read_write_time(struct http_request *request, struct node_change *change)
{
    const char *const header = "x-ms-file-last-write-time";
    const struct slice value = http_message_header(&request->message, header);
    change->keeps_written_at = slice_equal_nocase(value, slice_of("preserve"));
    if (value.len > 0 && !change->keeps_written_at && !slice_equal_nocase(value, slice_of("now")))
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err prepare_range(struct http_request *request, struct put_range **result)
{
    struct put_range *put = arena_alloc(&request->arena, sizeof(*put));
    struct node_change *change = &put->change;
    request->arguments = *result = put;
    request_bind(request, &change->base);
    change->kind = NODE_FILE;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    enum err err = api_timeout(request, &change->timeout_ms);
    if (err == OK)
        err = api_node_name(request, &change->name);
    if (err == OK)
        err = read_range(request, change);
    return err == OK ? read_write_time(request, change) : err;
}

enum err put_range_prepare(struct http_request *request)
{
    struct put_range *put;
    enum err err = prepare_range(request, &put);
    if (err == OK)
        err = api_check_body_length(request, LIMIT_PUT_RANGE_BYTES);
    if (err == OK && request->content_length != put->change.end - put->change.start)
        err = request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    if (err == OK)
        err = api_read_hashes(request, &put->hashes);
    if (err != OK)
        return err;
    return payload_writer_new(request->context->service, &request->arena, request->content_length,
                              &request->body);
}

static enum err read_crc64(struct http_request *request, const char *header, struct slice *crc64)
{
    const struct slice text = http_message_header(&request->message, header);
    *crc64 = (struct slice){ 0 };
    if (text.len == 0)
        return OK;
    if (base64_decode(&request->arena, text, crc64) != OK || crc64->len != DIGEST_CRC64_BYTES)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

/* Conditions on what a source turned out to have. */
static enum err check_crc64(struct http_request *request, const struct put_range *put)
{
    uint8_t bytes[DIGEST_CRC64_BYTES];
    digest_crc64_bytes(payload_writer_crc64(request->body), bytes);
    const struct slice crc64 = slice_make(bytes, sizeof(bytes));
    const bool fails = (put->wanted_crc64.len > 0 && !slice_equal(crc64, put->wanted_crc64)) ||
                       (put->unwanted_crc64.len > 0 && slice_equal(crc64, put->unwanted_crc64));
    return fails ? ERR_COPY_SOURCE_CONDITION : OK;
}

enum err put_range_from_url_prepare(struct http_request *request)
{
    struct put_range *put;
    enum err err = prepare_range(request, &put);
    if (err == OK)
        err = from_url_prepare(request, LIMIT_PUT_RANGE_BYTES, &put->hashes, put_range_run);
    if (err == OK)
        err = read_crc64(request, "x-ms-source-if-match-crc64", &put->wanted_crc64);
    if (err == OK)
        err = read_crc64(request, "x-ms-source-if-none-match-crc64", &put->unwanted_crc64);
    if (err != OK)
        return err;
    request->from_url->has_length = true;
    request->from_url->length_bytes = put->change.end - put->change.start;
    return OK;
}

enum err put_range_run(struct http_request *request)
{
    struct put_range *put = request->arguments;
    enum err err = payload_writer_finish(request->body);
    /* What comes from a URL may turn out to be of another length. */
    if (err == OK && payload_writer_length(request->body) != put->change.end - put->change.start)
        err = ERR_INVALID_RANGE;
    if (err == OK)
        err = api_check_body(request, &put->hashes);
    if (err == OK)
        err = check_crc64(request, put);
    if (err != OK)
        return err;
    put->change.payload = request->body;
    node_write(request->context->service, &put->change);
    return OK;
}

static struct http_response *respond_range(struct http_request *request)
{
    const struct put_range *put = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, put->change.node.etag);
    if (request->version >= 20210608)
        api_add_instant(response, "x-ms-file-last-write-time", put->change.node.written_at);
    return response;
}

void put_range_respond(struct http_request *request)
{
    struct http_response *response = respond_range(request);
    http_response_add_base64(response, "Content-MD5",
                             slice_make(payload_writer_md5(request->body), DIGEST_MD5_BYTES));
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

void put_range_from_url_respond(struct http_request *request)
{
    uint8_t crc64[DIGEST_CRC64_BYTES];
    struct http_response *response = respond_range(request);
    digest_crc64_bytes(payload_writer_crc64(request->body), crc64);
    http_response_add_base64(response, "x-ms-content-crc64", slice_make(crc64, sizeof(crc64)));
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

enum err clear_range_prepare(struct http_request *request)
{
    struct put_range *put;
    const enum err err = prepare_range(request, &put);
    if (err != OK)
        return err;
    if (request->content_length != 0)
        return request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    if (http_message_header(&request->message, "Content-MD5").len > 0)
        return request_fault_header(request, ERR_UNSUPPORTED_HEADER, "Content-MD5");
    return OK;
}

enum err clear_range_run(struct http_request *request)
{
    struct put_range *put = request->arguments;
    node_clear(request->context->service, &put->change);
    return OK;
}

void clear_range_respond(struct http_request *request)
{
    (void)respond_range(request);
}

/* --- List Ranges --- */

struct list_ranges {
    struct node_ranges ranges; /* first */
    struct strbuf body;        /* the document, as far as it is written */
    bool has_ranges;
    bool is_too_long;
};

static void emit_range(void *arg, bool cleared, uint64_t start, uint64_t end)
{
    struct list_ranges *list = arg;
    const char *const element = cleared ? "ClearRange" : "Range";
    if (!list->has_ranges)
        strbuf_add_text(&list->body, "<Ranges>");
    list->has_ranges = true;
    list->is_too_long = list->body.len > LIMIT_RANGES_BODY_BYTES;
    if (!list->is_too_long)
        strbuf_printf(&list->body, "<%s><Start>%" PRIu64 "</Start><End>%" PRIu64 "</End></%s>",
                      element, start, end - 1, element);
}

static enum err read_previous(struct http_request *request, int64_t *previous)
{
    const char *const parameter = "prevsharesnapshot";
    const struct slice text = http_message_parameter(&request->message, parameter);
    *previous = 0;
    if (text.len > 0 && (date_parse_iso(text, previous) != OK || *previous <= 0))
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

enum err list_ranges_prepare(struct http_request *request)
{
    struct list_ranges *list = arena_alloc(&request->arena, sizeof(*list));
    struct node_ranges *ranges = &list->ranges;
    request->arguments = list;
    request_bind(request, &ranges->base);
    ranges->base.done = api_read_done;
    ranges->has_lease_id = request->has_lease_id;
    ranges->lease_id = request->lease_id;
    ranges->emit = emit_range;
    ranges->arg = list;
    ranges->end = UINT64_MAX;
    enum err err = api_timeout(request, &ranges->timeout_ms);
    if (err == OK)
        err = api_node_name(request, &ranges->name);
    if (err == OK)
        err = read_previous(request, &ranges->previous);
    const char *header;
    const struct http_range range = find_range(request, &header);
    if (range.present) {
        ranges->start = range.first;
        ranges->end = range.last < UINT64_MAX ? range.last + 1 : UINT64_MAX;
    }
    strbuf_init(&list->body, &request->arena);
    xml_begin_document(&list->body);
    return err;
}

enum err list_ranges_run(struct http_request *request)
{
    struct list_ranges *list = request->arguments;
    node_ranges(request->context->service, &list->ranges);
    return OK;
}

void list_ranges_respond(struct http_request *request)
{
    struct list_ranges *list = request->arguments;
    const struct node *node = &list->ranges.node;
    /* There are no pages of this listing: the client has to ask for a part of the file. */
    if (list->is_too_long) {
        request->err = ERR_OUT_OF_RANGE_INPUT;
        return;
    }
    strbuf_add_text(&list->body, list->has_ranges ? "</Ranges>" : "<Ranges />");
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, node->etag);
    http_response_add_number(response, "x-ms-content-length", node->content.length_bytes);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(&list->body);
}
