/*
 * api_append.c - append blobs: Put Blob (AppendBlob), Append Block, Append Blob Seal.
 */
#include <inttypes.h>

#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_hash.h"
#include "frontend/http/from_url.h"
#include "service/blob/append.h"
#include "service/limits.h"

/* --- Put Blob (AppendBlob) --- */

enum err create_append_blob_prepare(struct http_request *request)
{
    struct blob_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    if (http_message_find_header(&request->message, "x-ms-blob-content-length") != NULL)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-blob-content-length");
    return api_create_blob(request, change);
}

enum err create_append_blob_run(struct http_request *request)
{
    append_create(request->context->service, request->arguments);
    return OK;
}

void create_append_blob_respond(struct http_request *request)
{
    const struct blob_change *change = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, change->etag);
    api_add_version(request, change->version_id);
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

/* --- Append Block --- */

struct append_arguments {
    struct append_change change;
    struct api_hashes hashes;
};

static uint64_t block_bytes_max(const struct http_request *request)
{
    return request->version >= 20221102 ? LIMIT_APPEND_BLOCK_BYTES
                                        : LIMIT_APPEND_BLOCK_BYTES_EARLIER;
}

static enum err check_block_length(struct http_request *request)
{
    if (request->content_length == 0)
        return ERR_OUT_OF_RANGE_INPUT;
    return api_check_body_length(request, block_bytes_max(request));
}

static enum err read_position(struct http_request *request, struct append_change *change)
{
    return api_number_header(request, "x-ms-blob-condition-appendpos", INT64_MAX,
                             &change->has_position, &change->position);
}

/* What Append Block and Append Block From URL have in common. */
static enum err new_arguments(struct http_request *request, struct append_arguments **result)
{
    struct append_arguments *arguments = arena_alloc(&request->arena, sizeof(*arguments));
    request->arguments = *result = arguments;
    struct append_change *change = &arguments->change;
    api_fill_blob_change(request, &change->blob);
    const enum err err = read_position(request, change);
    return err == OK ? api_number_header(request, "x-ms-blob-condition-maxsize", INT64_MAX,
                                         &change->has_size_max, &change->size_max)
                     : err;
}

enum err append_block_prepare(struct http_request *request)
{
    struct append_arguments *arguments;
    enum err err = new_arguments(request, &arguments);
    if (err == OK)
        err = check_block_length(request);
    if (err == OK)
        err = api_read_hashes(request, &arguments->hashes);
    return err == OK ? api_begin_part(request, &arguments->hashes) : err;
}

enum err append_block_from_url_prepare(struct http_request *request)
{
    struct append_arguments *arguments;
    const enum err err = new_arguments(request, &arguments);
    return err == OK ? from_url_prepare(request, block_bytes_max(request), &arguments->hashes,
                                        append_block_run)
                     : err;
}

enum err append_block_run(struct http_request *request)
{
    struct append_arguments *arguments = request->arguments;
    enum err err = payload_writer_finish(request->body);
    /* What comes from a URL may turn out to be nothing. */
    if (err == OK && payload_writer_length(request->body) == 0)
        err = ERR_OUT_OF_RANGE_INPUT;
    if (err == OK)
        err = api_check_body(request, &arguments->hashes);
    if (err != OK)
        return err;
    arguments->change.blob.payload = request->body;
    append_block(request->context->service, &arguments->change);
    return OK;
}

void append_block_respond(struct http_request *request)
{
    const struct append_arguments *arguments = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, arguments->change.blob.etag);
    api_add_hashes(request, &arguments->hashes, payload_writer_crc64(request->body));
    http_response_add_number(response, "x-ms-blob-append-offset", arguments->change.offset);
    http_response_add_number(response, "x-ms-blob-committed-block-count",
                             arguments->change.block_count);
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

/* --- Append Blob Seal --- */

enum err seal_append_blob_prepare(struct http_request *request)
{
    struct append_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    api_fill_blob_change(request, &change->blob);
    return read_position(request, change);
}

enum err seal_append_blob_run(struct http_request *request)
{
    append_seal(request->context->service, request->arguments);
    return OK;
}

void seal_append_blob_respond(struct http_request *request)
{
    const struct append_change *change = request->arguments;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, change->blob.etag);
    http_response_add_text(response, "x-ms-blob-sealed", "true");
}
