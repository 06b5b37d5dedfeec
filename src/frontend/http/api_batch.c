/*
 * api_batch.c - Blob Batch: up to 256 Delete Blob or Set Blob Tier requests in one.
 *
 * Each part is a request of its own, with its own authorization, conditions and answer; they are
 * neither ordered nor atomic.  All are started at once, so that their changes share a commit, and
 * the batch is answered when the last of them is done.
 */
#include <stdatomic.h>
#include <string.h>

#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/multipart.h"
#include "service/limits.h"

/* What the parts may be; all of one batch are the same. */
enum batch_kind {
    BATCH_NONE,
    BATCH_DELETE,
    BATCH_SET_TIER,
};

struct batch {
    struct http_request *request;
    const struct multipart_part *parts;
    size_t count;
    struct http_request *subs; /* one for each part */
    atomic_size_t left;        /* parts under way, and one for the starting itself */
};

/* --- starting --- */

static void release_subs(void *arg)
{
    struct batch *batch = arg;
    for (size_t i = 0; i < batch->count; i++)
        arena_release(&batch->subs[i].arena);
}

static void count_down(struct batch *batch)
{
    if (atomic_fetch_sub(&batch->left, 1) == 1)
        request_done(batch->request, OK);
}

static void sub_done(void *arg)
{
    count_down(arg);
}

/* The part's headers behind the host of the whole: of two the first counts, so that a part cannot
   go to another account. */
static void copy_headers(struct http_request *sub, const struct multipart_part *part,
                         const struct http_message *whole)
{
    struct http_field *headers =
        arena_alloc(&sub->arena, (part->header_count + 1) * sizeof(*headers));
    headers[0] = (struct http_field){ slice_of("Host"), http_message_header(whole, "host") };
    if (part->header_count > 0)
        memcpy(headers + 1, part->headers, part->header_count * sizeof(*headers));
    sub->message.headers = headers;
    sub->message.header_count = part->header_count + 1;
}

static void init_sub(struct batch *batch, size_t index)
{
    const struct http_request *whole = batch->request;
    const struct multipart_part *part = &batch->parts[index];
    struct http_request *sub = &batch->subs[index];
    sub->context = whole->context;
    sub->target = part->target;
    sub->message.method = part->method;
    copy_headers(sub, part, &whole->message);
    sub->client_address = whole->client_address;
    sub->https = whole->https;
    sub->inherited_version = whole->version;
    sub->id = uuid_quick();
    uuid_format(&sub->id, sub->id_text);
    sub->received_at = whole->received_at;
    sub->wake = sub_done;
    sub->wake_arg = batch;
}

/* --- what a batch may hold --- */

static enum batch_kind kind_of(const struct http_message *message)
{
    const struct slice comp = http_message_parameter(message, "comp");
    if (http_message_parameter(message, "restype").len > 0)
        return BATCH_NONE;
    if (slice_is(message->method, "DELETE") && comp.len == 0)
        return BATCH_DELETE;
    if (slice_is(message->method, "PUT") && slice_equal_nocase(comp, slice_of("tier")))
        return BATCH_SET_TIER;
    return BATCH_NONE;
}

/* Whether a part is for the account of the batch, and for its container if it has one.  A part of a
   batch of the account whose path cannot be understood is answered for itself. */
static bool is_in_scope(struct http_request *request, const struct http_message *message)
{
    const struct http_address *scope = &request->address;
    struct http_address address;
    const enum err err =
        http_address_parse(&request->arena, request->context->kind, message,
                           request->context->accounts, request->context->path_style_only, &address);
    if (scope->level != HTTP_CONTAINER)
        return err != OK || address.account == scope->account;
    return err == OK && address.account == scope->account &&
           slice_equal(address.container, scope->container);
}

static enum err check_parts(struct http_request *request, const struct batch *batch)
{
    const struct http_field host = { slice_of("Host"),
                                     http_message_header(&request->message, "host") };
    enum batch_kind first = BATCH_NONE;
    for (size_t i = 0; i < batch->count; i++) {
        struct http_message message = { .method = batch->parts[i].method,
                                        .headers = &host,
                                        .header_count = 1 };
        if (http_message_parse_target(&request->arena, batch->parts[i].target, &message) != OK)
            return ERR_INVALID_INPUT;
        const enum batch_kind kind = kind_of(&message);
        if (i == 0)
            first = kind;
        if (kind == BATCH_NONE || kind != first || !is_in_scope(request, &message))
            return ERR_INVALID_INPUT;
    }
    return OK;
}

enum err batch_prepare(struct http_request *request)
{
    return api_check_body_length(request, LIMIT_BATCH_BYTES);
}

/* Whether the part was routed to one of the two operations. */
static bool may_run(const struct http_request *sub)
{
    return sub->phase == PHASE_RECEIVING &&
           (sub->operation->run == delete_blob_run || sub->operation->run == set_blob_tier_run);
}

enum err batch_run(struct http_request *request)
{
    struct batch *batch = arena_alloc(&request->arena, sizeof(*batch));
    const char *const header = "Content-Type";
    struct slice boundary;
    request->arguments = batch;
    batch->request = request;
    if (multipart_boundary(http_message_header(&request->message, header), &boundary) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    if (multipart_read(&request->arena, strbuf_slice(&request->document), boundary, &batch->parts,
                       &batch->count) != OK)
        return ERR_INVALID_INPUT;
    const enum err err = check_parts(request, batch);
    if (err != OK)
        return err;

    batch->subs = arena_alloc(&request->arena, batch->count * sizeof(*batch->subs));
    arena_on_clear(&request->arena, release_subs, batch);
    atomic_init(&batch->left, batch->count + 1);
    for (size_t i = 0; i < batch->count; i++) {
        struct http_request *sub = &batch->subs[i];
        init_sub(batch, i);
        request_begin(sub);
        if (may_run(sub))
            request_run(sub);
        else
            count_down(batch);
    }
    count_down(batch);
    return OK;
}

/* --- answering --- */

static const char *standard_phrase(unsigned status)
{
    return status == 202 ? "Accepted" : "OK";
}

static void add_header(struct strbuf *out, const char *name, struct slice value)
{
    strbuf_add_text(out, name);
    strbuf_add_text(out, ": ");
    strbuf_add(out, value);
    strbuf_add_text(out, "\r\n");
}

static void add_answer(struct strbuf *out, struct http_request *sub)
{
    /* A part that is neither of the two operations was routed to another; nothing was done. */
    if (sub->phase == PHASE_RECEIVING) {
        sub->err = ERR_INVALID_INPUT;
        sub->phase = PHASE_REFUSED;
    }
    request_answer(sub);
    const struct http_response *response = &sub->response;
    strbuf_printf(out, "HTTP/1.1 %u %s\r\n", response->status,
                  response->reason != NULL ? response->reason : standard_phrase(response->status));
    for (size_t i = 0; i < response->header_count; i++)
        add_header(out, response->headers[i].name.data, response->headers[i].value);
    add_header(out, "x-ms-request-id", slice_of(sub->id_text));
    add_header(out, "x-ms-version", sub->version_text);
    const struct slice client_id = http_message_header(&sub->message, "x-ms-client-request-id");
    if (client_id.len > 0 && client_id.len <= LIMIT_CLIENT_REQUEST_ID_MAX)
        add_header(out, "x-ms-client-request-id", client_id);
    if (response->body.len > 0)
        strbuf_printf(out, "Content-Length: %zu\r\n", response->body.len);
    strbuf_add_text(out, "Server: Windows-Azure-Blob/1.0\r\n\r\n");
    strbuf_add(out, response->body);
    strbuf_add_text(out, "\r\n");
}

void batch_respond(struct http_request *request)
{
    const struct batch *batch = request->arguments;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    for (size_t i = 0; i < batch->count; i++) {
        strbuf_printf(&body, "--batchresponse_%s\r\nContent-Type: application/http\r\n",
                      request->id_text);
        if (batch->parts[i].content_id.len > 0)
            add_header(&body, "Content-ID", batch->parts[i].content_id);
        strbuf_add_text(&body, "\r\n");
        add_answer(&body, &batch->subs[i]);
    }
    strbuf_printf(&body, "--batchresponse_%s--", request->id_text);
    struct http_response *response = request_respond(request, 202);
    http_response_add(response, "Content-Type",
                      arena_printf(&request->arena, "multipart/mixed; boundary=batchresponse_%s",
                                   request->id_text));
    response->body = strbuf_slice(&body);
}
