/*
 * api_page.c - page blobs: Put Blob (PageBlob), Put Page, Get Page Ranges, and what Set Blob
 * Properties changes of page blobs alone.
 *
 * The marker of Get Page Ranges is the offset the page begins with, in decimal.
 */
#include <inttypes.h>

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_hash.h"
#include "frontend/http/from_url.h"
#include "frontend/http/http_range.h"
#include "frontend/http/xml_write.h"
#include "service/blob/page.h"
#include "service/limits.h"

/* --- sizes and sequence numbers --- */

static enum err read_size(struct http_request *request, bool *present, uint64_t *size_bytes)
{
    const char *const header = "x-ms-blob-content-length";
    const enum err err =
        api_number_header(request, header, PAGE_BLOB_BYTES_MAX, present, size_bytes);
    if (err == OK && *present && *size_bytes % PAGE_BYTES != 0)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return err;
}

static enum err read_sequence_number(struct http_request *request, bool *present, uint64_t *number)
{
    return api_number_header(request, "x-ms-blob-sequence-number", PAGE_SEQUENCE_NUMBER_MAX,
                             present, number);
}

static enum err read_conditions(struct http_request *request, struct page_condition *condition)
{
    enum err err = api_number_header(request, "x-ms-if-sequence-number-le", INT64_MAX,
                                     &condition->has_at_most, &condition->at_most);
    if (err == OK)
        err = api_number_header(request, "x-ms-if-sequence-number-lt", INT64_MAX,
                                &condition->has_below, &condition->below);
    if (err == OK)
        err = api_number_header(request, "x-ms-if-sequence-number-eq", INT64_MAX,
                                &condition->has_equal, &condition->equal);
    return err;
}

/* --- Put Blob (PageBlob) --- */

enum err create_page_blob_prepare(struct http_request *request)
{
    struct page_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    bool has_size;
    bool has_number;
    enum err err = api_create_blob(request, &change->blob);
    if (err == OK)
        err = read_size(request, &has_size, &change->size_bytes);
    if (err == OK && !has_size)
        err = request_fault_header(request, ERR_MISSING_HEADER, "x-ms-blob-content-length");
    if (err == OK)
        err = read_sequence_number(request, &has_number, &change->sequence_number);
    return err;
}

enum err create_page_blob_run(struct http_request *request)
{
    page_create(request->context->service, request->arguments);
    return OK;
}

void create_page_blob_respond(struct http_request *request)
{
    const struct page_change *change = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, change->blob.etag);
    api_add_version(request, change->blob.version_id);
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

/* --- Put Page --- */

struct page_arguments {
    struct page_change change;
    struct api_hashes hashes;
};

/* The range of x-ms-range, or else Range; `*header` is the one that was given, or NULL. */
static struct http_range read_range(const struct http_request *request, const char **header)
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

static enum err read_pages(struct http_request *request, struct page_change *change)
{
    const char *header;
    const struct http_range range = read_range(request, &header);
    if (header == NULL)
        return request_fault_header(request, ERR_MISSING_HEADER, "Range");
    if (!range.present || range.last == UINT64_MAX)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    change->start = range.first;
    change->end = range.last + 1;
    if (change->start % PAGE_BYTES != 0 || change->end % PAGE_BYTES != 0)
        return ERR_INVALID_PAGE_RANGE;
    return OK;
}

static enum err prepare_pages(struct http_request *request, struct page_arguments **result)
{
    struct page_arguments *arguments = arena_alloc(&request->arena, sizeof(*arguments));
    request->arguments = *result = arguments;
    api_fill_blob_change(request, &arguments->change.blob);
    enum err err = read_pages(request, &arguments->change);
    if (err == OK)
        err = read_conditions(request, &arguments->change.condition);
    return err;
}

enum err put_page_prepare(struct http_request *request)
{
    struct page_arguments *arguments;
    enum err err = prepare_pages(request, &arguments);
    if (err == OK)
        err = api_check_body_length(request, LIMIT_PUT_PAGE_BYTES);
    if (err == OK && request->content_length != arguments->change.end - arguments->change.start)
        err = ERR_INVALID_PAGE_RANGE;
    if (err == OK)
        err = api_read_hashes(request, &arguments->hashes);
    return err == OK ? api_begin_part(request, &arguments->hashes) : err;
}

enum err put_page_from_url_prepare(struct http_request *request)
{
    struct page_arguments *arguments;
    enum err err = prepare_pages(request, &arguments);
    if (err == OK)
        err = from_url_prepare(request, LIMIT_PUT_PAGE_BYTES, &arguments->hashes, put_page_run);
    if (err != OK)
        return err;
    request->from_url->has_length = true;
    request->from_url->length_bytes = arguments->change.end - arguments->change.start;
    return OK;
}

enum err put_page_run(struct http_request *request)
{
    struct page_arguments *arguments = request->arguments;
    const struct page_change *change = &arguments->change;
    enum err err = payload_writer_finish(request->body);
    /* What comes from a URL may turn out to be of another length. */
    if (err == OK && payload_writer_length(request->body) != change->end - change->start)
        err = ERR_INVALID_PAGE_RANGE;
    if (err == OK)
        err = api_check_body(request, &arguments->hashes);
    if (err != OK)
        return err;
    arguments->change.blob.payload = request->body;
    page_write(request->context->service, &arguments->change);
    return OK;
}

static struct http_response *respond_pages(struct http_request *request)
{
    const struct page_arguments *arguments = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, arguments->change.blob.etag);
    http_response_add_number(response, "x-ms-blob-sequence-number",
                             arguments->change.sequence_number);
    return response;
}

void put_page_respond(struct http_request *request)
{
    const struct page_arguments *arguments = request->arguments;
    struct http_response *response = respond_pages(request);
    api_add_hashes(request, &arguments->hashes, payload_writer_crc64(request->body));
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

enum err clear_page_prepare(struct http_request *request)
{
    struct page_arguments *arguments;
    enum err err = prepare_pages(request, &arguments);
    if (err == OK)
        err = api_refuse_copy_source(request);
    if (err == OK && request->content_length != 0)
        return request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    return err;
}

enum err clear_page_run(struct http_request *request)
{
    struct page_arguments *arguments = request->arguments;
    page_clear(request->context->service, &arguments->change);
    return OK;
}

void clear_page_respond(struct http_request *request)
{
    respond_pages(request);
}

/* --- Set Blob Properties --- */

static enum err read_action(struct http_request *request, enum page_sequence_action *action)
{
    static const struct {
        const char *name;
        enum page_sequence_action action;
    } actions[] = {
        { "max", PAGE_SEQUENCE_MAX },
        { "update", PAGE_SEQUENCE_UPDATE },
        { "increment", PAGE_SEQUENCE_INCREMENT },
    };
    const char *const header = "x-ms-sequence-number-action";
    if (http_message_find_header(&request->message, header) == NULL) {
        *action = PAGE_SEQUENCE_KEEP;
        return OK;
    }
    const struct slice value = http_message_header(&request->message, header);
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (slice_equal_nocase(value, slice_of(actions[i].name))) {
            *action = actions[i].action;
            return OK;
        }
    }
    return request_fault_header(request, ERR_INVALID_HEADER, header);
}

enum err api_page_properties(struct http_request *request, const struct page_properties **result)
{
    const char *const number_header = "x-ms-blob-sequence-number";
    struct page_properties *page = arena_alloc(&request->arena, sizeof(*page));
    bool has_number = false;
    *result = NULL;
    enum err err = read_size(request, &page->has_size, &page->size_bytes);
    if (err == OK)
        err = read_action(request, &page->action);
    if (err == OK)
        err = read_sequence_number(request, &has_number, &page->sequence_number);
    if (err != OK)
        return err;

    const bool wants_number =
        page->action == PAGE_SEQUENCE_MAX || page->action == PAGE_SEQUENCE_UPDATE;
    if (wants_number && !has_number)
        return request_fault_header(request, ERR_MISSING_HEADER, number_header);
    if (has_number && page->action == PAGE_SEQUENCE_KEEP)
        return request_fault_header(request, ERR_MISSING_HEADER, "x-ms-sequence-number-action");
    if (has_number && !wants_number)
        return request_fault_header(request, ERR_INVALID_HEADER, number_header);
    if (page->has_size || page->action != PAGE_SEQUENCE_KEEP)
        *result = page;
    return OK;
}

/* --- Get Page Ranges --- */

enum {
    PAGE_RANGE_TEXT_BYTES = 64, /* of one in a list, about */
};

struct get_page_ranges {
    struct page_ranges_request request;
    struct strbuf body;
};

static enum err read_list_range(struct http_request *request, struct page_ranges_request *list)
{
    const char *header;
    const struct http_range range = read_range(request, &header);
    list->start = 0;
    list->end = UINT64_MAX;
    if (!range.present)
        return OK;
    list->start = range.first;
    if (range.last != UINT64_MAX)
        list->end = range.last + 1;
    if (list->start % PAGE_BYTES != 0 || (list->end != UINT64_MAX && list->end % PAGE_BYTES != 0))
        return ERR_INVALID_PAGE_RANGE;
    return OK;
}

/* Since 2020-10-02 the answer comes in pages. */
static enum err read_list_page(struct http_request *request, struct page_ranges_request *list)
{
    list->results_max = LIMIT_RANGES_BODY_BYTES / PAGE_RANGE_TEXT_BYTES;
    if (request->version < 20201002)
        return OK;
    list->results_max = LIMIT_PAGE_RANGES_MAX;
    const struct slice text = http_message_parameter(&request->message, "maxresults");
    int64_t number = LIMIT_PAGE_RANGES_MAX;
    if (text.len > 0 && decimal_parse_i64(text, &number) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "maxresults");
    if (number < 1) {
        const enum err err =
            request_fault_parameter(request, ERR_OUT_OF_RANGE_QUERY_PARAMETER, "maxresults");
        request_add_detail(request, "MinimumAllowed", slice_of("1"));
        request_add_detail(request, "MaximumAllowed", slice_of("10000"));
        return err;
    }
    if (number < LIMIT_PAGE_RANGES_MAX)
        list->results_max = (size_t)number;
    const struct slice marker = http_message_parameter(&request->message, "marker");
    uint64_t start;
    if (marker.len == 0)
        return OK;
    if (decimal_parse_u64(marker, &start) != OK || start % PAGE_BYTES != 0 || start < list->start ||
        start >= list->end)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "marker");
    list->start = start;
    return OK;
}

/* The URL of a snapshot of the blob the request is about. */
static enum err read_previous_url(struct http_request *request, const char *header,
                                  int64_t *snapshot)
{
    struct http_message url = request->message;
    struct http_address address;
    const struct slice text = http_message_header(&request->message, header);
    if (http_message_parse_target(&request->arena, text, &url) != OK ||
        http_address_parse(&request->arena, request->context->kind, &url,
                           request->context->accounts, request->context->path_style_only,
                           &address) != OK ||
        address.account != request->address.account ||
        !slice_equal(address.container, request->address.container) ||
        !slice_equal(address.blob, request->address.blob) ||
        date_parse_iso(http_message_parameter(&url, "snapshot"), snapshot) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err read_previous(struct http_request *request, struct page_ranges_request *list)
{
    const char *const parameter = "prevsnapshot";
    const char *const header = "x-ms-previous-snapshot-url";
    const struct slice text = http_message_parameter(&request->message, parameter);
    const bool has_url = http_message_header(&request->message, header).len > 0;
    list->has_previous = text.len > 0 || has_url;
    if (!list->has_previous)
        return OK;
    if (has_url && text.len > 0)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    if (has_url)
        return read_previous_url(request, header, &list->previous);
    if (date_parse_iso(text, &list->previous) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

enum err get_page_ranges_prepare(struct http_request *request)
{
    struct get_page_ranges *get = arena_alloc(&request->arena, sizeof(*get));
    request->arguments = get;
    get->request.get = (struct blob_get_request){
        .name = api_blob_name(request),
        .condition = request->condition,
        .has_lease_id = request->has_lease_id,
        .lease_id = request->lease_id,
    };
    enum err err = read_list_range(request, &get->request);
    if (err == OK)
        err = read_list_page(request, &get->request);
    if (err == OK)
        err = read_previous(request, &get->request);
    return err;
}

static void emit_range(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end)
{
    struct get_page_ranges *get = arg;
    const char *const element = kind == PAGE_RANGE_WRITTEN ? "PageRange" : "ClearRange";
    strbuf_printf(&get->body, "<%s><Start>%" PRIu64 "</Start><End>%" PRIu64 "</End></%s>", element,
                  start, end - 1, element);
}

enum err get_page_ranges_run(struct http_request *request)
{
    struct get_page_ranges *get = request->arguments;
    struct strbuf *body = &get->body;
    strbuf_init(body, &request->arena);
    xml_begin_document(body);
    strbuf_add_text(body, "<PageList>");
    get->request.emit = emit_range;
    get->request.arg = get;
    struct blob blob;
    uint64_t next;
    const enum err err =
        page_ranges(request->context->service, &request->arena, &get->request, &blob, &next);
    if (err != OK)
        return err;
    /* Without pages, the client has to ask for a part of the blob. */
    if (next != 0 && request->version < 20201002)
        return ERR_OUT_OF_RANGE_INPUT;
    if (next != 0)
        strbuf_printf(body, "<NextMarker>%" PRIu64 "</NextMarker>", next);
    strbuf_add_text(body, "</PageList>");
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, blob.etag);
    http_response_add_number(response, "x-ms-blob-content-length", blob.content.length_bytes);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
    return OK;
}
