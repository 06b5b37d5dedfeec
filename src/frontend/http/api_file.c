/*
 * api_file.c - files: Create, Get, Properties, Metadata, Lease, Rename.  Deleting is the same as of
 * directories (api_directory.c), ranges are in api_range.c, copies in api_file_copy.c.
 */
#include <inttypes.h>

#include "frontend/http/access.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_hash.h"
#include "frontend/http/api_node.h"
#include "frontend/http/copy_source.h"
#include "frontend/http/http_range.h"
#include "service/limits.h"

/* --- properties --- */

static enum err read_property(struct http_request *request, const char *header, struct slice *value)
{
    *value = http_message_header(&request->message, header);
    if (value->len > LIMIT_PROPERTY_BYTES_MAX)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err read_properties(struct http_request *request, struct blob_properties *properties)
{
    enum err err = read_property(request, "x-ms-content-type", &properties->content_type);
    if (err == OK)
        err = read_property(request, "x-ms-content-encoding", &properties->content_encoding);
    if (err == OK)
        err = read_property(request, "x-ms-content-language", &properties->content_language);
    if (err == OK)
        err = read_property(request, "x-ms-cache-control", &properties->cache_control);
    if (err == OK)
        err = read_property(request, "x-ms-content-disposition", &properties->content_disposition);
    if (err == OK)
        err = api_read_md5(request, "x-ms-content-md5", &properties->content_md5);
    return err;
}

static enum err read_size(struct http_request *request, struct node_change *change)
{
    return api_number_header(request, "x-ms-content-length", LIMIT_FILE_BYTES, &change->has_size,
                             &change->size_bytes);
}

/* --- Create File --- */

enum err create_file_prepare(struct http_request *request)
{
    struct node_change *change;
    enum err err = api_node_change(request, NODE_FILE, &change);
    if (err == OK)
        err = read_size(request, change);
    if (err == OK && !change->has_size)
        err = request_fault_header(request, ERR_MISSING_HEADER, "x-ms-content-length");
    if (err == OK && request->content_length != 0)
        err = request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    if (err == OK)
        err = read_properties(request, &change->properties);
    if (change->properties.content_type.len == 0)
        change->properties.content_type = slice_of("application/octet-stream");
    return err == OK ? api_read_smb(request, API_SMB_NEW, &change->smb) : err;
}

/* --- Set File Properties, Set File Metadata, Delete File --- */

enum err file_change_prepare(struct http_request *request)
{
    struct node_change *change;
    return api_node_change(request, NODE_FILE, &change);
}

/* A property that is not given is removed, also when the request is about the size alone. */
enum err set_file_properties_prepare(struct http_request *request)
{
    struct node_change *change;
    enum err err = api_node_change(request, NODE_FILE, &change);
    if (err == OK)
        err = read_size(request, change);
    if (err == OK)
        err = read_properties(request, &change->properties);
    return err == OK ? api_read_smb(request, API_SMB_CHANGE, &change->smb) : err;
}

/* --- Get File, Get File Properties, Get File Metadata --- */

struct get_file {
    struct node_get get; /* first */
    struct http_range range;
    bool want_md5;
};

/* The bytes that are asked for, as locks see them. */
static void fill_range(struct get_file *file)
{
    struct node_get *get = &file->get;
    get->start = file->range.present ? file->range.first : 0;
    get->end = LIMIT_FILE_BYTES;
    if (file->range.present && file->range.last < LIMIT_FILE_BYTES)
        get->end = file->range.last + 1;
    if (get->start >= get->end)
        get->start = get->end = 0;
}

enum err get_file_prepare(struct http_request *request)
{
    struct get_file *file = arena_alloc(&request->arena, sizeof(*file));
    request->arguments = file;
    enum err err = api_node_get(request, NODE_FILE, &file->get);
    if (err == OK)
        err = api_bool_header(request, "x-ms-range-get-content-md5", &file->want_md5);
    if (err != OK)
        return err;
    struct slice range = http_message_header(&request->message, "x-ms-range");
    if (range.len == 0)
        range = http_message_header(&request->message, "Range");
    file->range = http_range_parse(range);
    file->get.want_payload = true;
    fill_range(file);
    if (file->want_md5 && !file->range.present)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-range-get-content-md5");
    return OK;
}

/* A property, or what the SAS puts in its place. */
static void add_property(struct http_response *response, const char *header, struct slice stored,
                         struct slice override)
{
    http_response_add(response, header, override.len > 0 ? override : stored);
}

/* What Get File and Get File Properties have in common. */
static void add_file(struct http_request *request, struct http_response *response,
                     const struct node *node)
{
    const struct blob_properties *properties = &node->properties;
    const struct http_access *access = &request->access;
    http_response_add_etag(response, node->etag);
    api_add_metadata(response, &node->metadata);
    add_property(response, "Content-Type", properties->content_type, access->content_type);
    add_property(response, "Content-Encoding", properties->content_encoding,
                 access->content_encoding);
    add_property(response, "Content-Language", properties->content_language,
                 access->content_language);
    add_property(response, "Cache-Control", properties->cache_control, access->cache_control);
    add_property(response, "Content-Disposition", properties->content_disposition,
                 access->content_disposition);
    http_response_add_text(response, "x-ms-type", "File");
    api_add_smb(request, response, node);
    if (request->snapshot == 0 && request->version >= 20190202)
        api_add_lease(response, &node->lease);
    api_add_copy(response, &node->copy);
    http_response_add_text(response, "x-ms-server-encrypted", "true");
}

/* The MD5 of the part that is sent, which is at most LIMIT_RANGE_HASH_BYTES_MAX long. */
static enum err add_range_md5(struct http_request *request, struct http_response *response,
                              struct get_file *file)
{
    const size_t len = (size_t)response->payload_length;
    char *bytes = arena_bytes(&request->arena, len);
    const enum err err = payload_read(&file->get.payload, response->payload_offset, bytes, len);
    if (err != OK)
        return err;
    struct md5_ctx ctx;
    uint8_t md5[DIGEST_MD5_BYTES];
    md5_init(&ctx);
    md5_update(&ctx, len, (const uint8_t *)bytes);
    md5_digest(&ctx, sizeof(md5), md5);
    http_response_add_base64(response, "Content-MD5", slice_make(md5, sizeof(md5)));
    return OK;
}

static enum err respond_range(struct http_request *request, struct get_file *file)
{
    const struct node *node = &file->get.node;
    const uint64_t size_bytes = node->content.length_bytes;
    uint64_t offset;
    uint64_t length;
    if (!http_range_resolve(&file->range, size_bytes, &offset, &length)) {
        request->resource_bytes = size_bytes;
        return ERR_INVALID_RANGE;
    }
    if (file->want_md5 && length > LIMIT_RANGE_HASH_BYTES_MAX)
        return request_fault_header(request, ERR_INVALID_HEADER, "x-ms-range-get-content-md5");
    struct http_response *response = request_respond(request, 206);
    response->payload = &file->get.payload;
    response->payload_offset = offset;
    response->payload_length = length;
    add_file(request, response, node);
    http_response_add_text(response, "Accept-Ranges", "bytes");
    http_response_add(response, "Content-Range",
                      arena_printf(&request->arena, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
                                   offset, offset + length - 1, size_bytes));
    if (node->properties.content_md5.len > 0)
        http_response_add_base64(response, "x-ms-content-md5", node->properties.content_md5);
    return file->want_md5 ? add_range_md5(request, response, file) : OK;
}

void get_file_respond(struct http_request *request)
{
    struct get_file *file = request->arguments;
    const struct node *node = &file->get.node;
    if (file->range.present) {
        request->err = respond_range(request, file);
        return;
    }
    struct http_response *response = request_respond(request, 200);
    response->payload = &file->get.payload;
    response->payload_length = node->content.length_bytes;
    add_file(request, response, node);
    http_response_add_text(response, "Accept-Ranges", "bytes");
    if (node->properties.content_md5.len > 0)
        http_response_add_base64(response, "Content-MD5", node->properties.content_md5);
}

enum err get_file_properties_prepare(struct http_request *request)
{
    struct node_get *get = arena_alloc(&request->arena, sizeof(*get));
    request->arguments = get;
    return api_node_get(request, NODE_FILE, get);
}

void get_file_properties_respond(struct http_request *request)
{
    const struct node_get *get = request->arguments;
    const struct node *node = &get->node;
    struct http_response *response = request_respond(request, 200);
    /* A HEAD request gets the length alone, so the reader is never asked for bytes. */
    struct payload_reader *reader = arena_alloc(&request->arena, sizeof(*reader));
    reader->length_bytes = node->content.length_bytes;
    response->payload = reader;
    response->payload_length = reader->length_bytes;
    add_file(request, response, node);
    if (node->properties.content_md5.len > 0)
        http_response_add_base64(response, "Content-MD5", node->properties.content_md5);
}

/* --- Lease File --- */

enum err file_lease_prepare(struct http_request *request)
{
    struct node_lease *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    enum err err = api_timeout(request, &change->timeout_ms);
    if (err == OK)
        err = api_node_name(request, &change->name);
    if (err == OK)
        err = api_lease_request(request, &change->lease);
    /* A file's lease ends when it is released or broken, and not before. */
    if (err == OK && change->lease.action == LEASE_ACTION_ACQUIRE &&
        change->lease.duration_sec != LEASE_DURATION_SEC_INFINITE)
        err = request_fault_header(request, ERR_INVALID_HEADER, "x-ms-lease-duration");
    return err;
}

enum err file_lease_run(struct http_request *request)
{
    node_lease(request->context->service, request->arguments);
    return OK;
}

void file_lease_respond(struct http_request *request)
{
    const struct node_lease *change = request->arguments;
    api_respond_lease(request, &change->lease, change->node.etag);
}

/* --- Rename File, Rename Directory --- */

static const char rename_source[] = "x-ms-file-rename-source";

/*
 * Whether the caller may move what is at the source away.  A URL with a SAS of its own is looked at
 * by itself; without one the request's own has to be for more than its one file.
 */
static enum err authorize_source(struct http_request *request, struct http_request *source)
{
    if (request->access.by_key)
        return OK;
    if (!auth_sas_is_present(&source->message)) {
        source->message.parameters = request->message.parameters;
        source->message.parameter_count = request->message.parameter_count;
    }
    struct access_caller caller;
    const enum err err = access_authenticate(source, &caller);
    if (err != OK)
        return ERR_COPY_SOURCE_FORBIDDEN;
    const bool may = caller.kind == ACCESS_BY_SAS && sas_allows_type(&caller.sas, 'o') &&
                     (sas_allows(&caller.sas, 'd') || sas_allows(&caller.sas, 'w'));
    return may ? OK : ERR_COPY_SOURCE_FORBIDDEN;
}

/* The source: a directory or file of the same share. */
static enum err read_source(struct http_request *request, struct node_change *change)
{
    const struct http_context *context = request->context;
    const struct slice text = http_message_header(&request->message, rename_source);
    struct copy_url url;
    if (text.len == 0)
        return request_fault_header(request, ERR_MISSING_HEADER, rename_source);
    if (copy_url_parse(text, &url) != OK ||
        !copy_url_is_here(&url, http_message_header(&request->message, "host"), request->https,
                          context->accounts))
        return request_fault_header(request, ERR_INVALID_HEADER, rename_source);
    struct http_request *source = copy_url_request(request, &url, "DELETE");
    if (http_message_parse_target(&source->arena, source->target, &source->message) != OK ||
        http_address_parse(&source->arena, context->kind, &source->message, context->accounts,
                           context->path_style_only, &source->address) != OK ||
        source->address.account != request->address.account ||
        !slice_equal(source->address.container, request->address.container) ||
        source->address.blob.len == 0)
        return request_fault_header(request, ERR_INVALID_HEADER, rename_source);
    const enum err err = authorize_source(request, source);
    return err == OK ? api_node_path(request, source->address.blob,
                                     "x-ms-source-allow-trailing-dot", &change->source)
                     : err;
}

static enum err prepare_rename(struct http_request *request, enum node_kind kind)
{
    struct node_change *change;
    enum err err = api_node_change(request, kind, &change);
    if (err == OK)
        err = read_source(request, change);
    if (err == OK)
        err = api_bool_header(request, "x-ms-file-rename-replace-if-exists", &change->replaces);
    if (err == OK)
        err =
            api_bool_header(request, "x-ms-file-rename-ignore-readonly", &change->ignores_readonly);
    if (err == OK)
        err = api_optional_uuid(request, "x-ms-destination-lease-id", &change->has_lease_id,
                                &change->lease_id);
    if (err == OK)
        err = api_optional_uuid(request, "x-ms-source-lease-id", &change->has_source_lease_id,
                                &change->source_lease_id);
    if (err == OK && kind == NODE_FILE)
        err = read_property(request, "x-ms-content-type", &change->properties.content_type);
    change->has_metadata = request->metadata.count > 0;
    return err == OK ? api_read_smb(request, API_SMB_CHANGE, &change->smb) : err;
}

enum err rename_file_prepare(struct http_request *request)
{
    return prepare_rename(request, NODE_FILE);
}

enum err rename_directory_prepare(struct http_request *request)
{
    return prepare_rename(request, NODE_DIRECTORY);
}

enum err rename_node_run(struct http_request *request)
{
    node_rename(request->context->service, request->arguments);
    return OK;
}
