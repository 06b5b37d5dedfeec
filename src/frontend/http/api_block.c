/*
 * api_block.c - Put Block, Put Block List, Get Block List.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "frontend/http/access.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_hash.h"
#include "frontend/http/from_url.h"
#include "frontend/http/xml_read.h"
#include "frontend/http/xml_write.h"
#include "service/blob/block.h"
#include "service/limits.h"

/* ERR_INVALID_BLOCK_ID */
static enum err read_block_id(struct http_request *request, struct slice text, struct slice *id)
{
    if (text.len == 0 || text.len > BASE64_LEN(LIMIT_BLOCK_ID_BYTES_MAX) ||
        base64_decode(&request->arena, text, id) != OK || id->len > LIMIT_BLOCK_ID_BYTES_MAX)
        return ERR_INVALID_BLOCK_ID;
    return OK;
}

/* --- Put Block --- */

struct put_block {
    struct block_put change;
    struct api_hashes hashes;
};

static uint64_t put_block_bytes_max(const struct http_request *request)
{
    if (request->version >= 20191212)
        return LIMIT_PUT_BLOCK_BYTES;
    return request->version >= 20160531 ? LIMIT_PUT_BLOCK_BYTES_2016
                                        : LIMIT_PUT_BLOCK_BYTES_EARLIER;
}

static enum err check_block_length(struct http_request *request)
{
    const uint64_t bytes_max = put_block_bytes_max(request);
    if (request->content_length == 0)
        return request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    if (request->content_length <= bytes_max)
        return OK;
    request_add_detail(request, "MaxLimit", arena_printf(&request->arena, "%" PRIu64, bytes_max));
    return ERR_BODY_TOO_LARGE;
}

/* What Put Block and Put Block From URL have in common. */
static enum err new_put_block(struct http_request *request, struct put_block **result)
{
    const char *const parameter = "blockid";
    struct put_block *put = arena_alloc(&request->arena, sizeof(*put));
    request->arguments = *result = put;
    api_fill_blob_change(request, &put->change.change);
    if (http_message_find_parameter(&request->message, parameter) == NULL) {
        request_add_detail(request, "QueryParameterName", slice_of(parameter));
        return ERR_MISSING_QUERY_PARAMETER;
    }
    return read_block_id(request, http_message_parameter(&request->message, parameter),
                         &put->change.block_id);
}

enum err put_block_prepare(struct http_request *request)
{
    struct put_block *put;
    enum err err = new_put_block(request, &put);
    if (err == OK)
        err = check_block_length(request);
    if (err == OK)
        err = api_read_hashes(request, &put->hashes);
    return err == OK ? api_begin_part(request, &put->hashes) : err;
}

enum err put_block_from_url_prepare(struct http_request *request)
{
    struct put_block *put;
    const enum err err = new_put_block(request, &put);
    return err == OK ? from_url_prepare(request, put_block_bytes_max(request), &put->hashes,
                                        put_block_run)
                     : err;
}

enum err put_block_run(struct http_request *request)
{
    struct put_block *put = request->arguments;
    enum err err = payload_writer_finish(request->body);
    if (err == OK)
        err = api_check_body(request, &put->hashes);
    if (err != OK)
        return err;
    put->change.change.payload = request->body;
    block_put(request->context->service, &put->change);
    return OK;
}

void put_block_respond(struct http_request *request)
{
    const struct put_block *put = request->arguments;
    struct http_response *response = request_respond(request, 201);
    api_add_hashes(request, &put->hashes, payload_writer_crc64(request->body));
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

/* --- Put Block List --- */

struct put_block_list {
    struct block_list_put change;
    struct api_hashes hashes; /* of the document, as the client says */
    uint64_t crc64;           /* of the document */
};

enum err put_block_list_prepare(struct http_request *request)
{
    struct put_block_list *put = arena_alloc(&request->arena, sizeof(*put));
    request->arguments = put;
    struct blob_change *change = &put->change.change;
    api_fill_blob_change(request, change);
    enum err err = api_read_properties(request, false, &change->properties);
    /* The blob's MD5 is what the client says: nobody has seen all the bytes together. */
    if (err == OK)
        err = api_read_md5(request, "x-ms-blob-content-md5", &change->properties.content_md5);
    if (err == OK)
        err = api_read_hashes(request, &put->hashes);
    if (change->properties.content_type.len == 0)
        change->properties.content_type = slice_of("application/octet-stream");
    return err;
}

static enum err check_document(struct http_request *request, struct put_block_list *put)
{
    const struct slice document = strbuf_slice(&request->document);
    put->crc64 = digest_crc64(0, document);
    struct md5_ctx ctx;
    uint8_t md5[DIGEST_MD5_BYTES];
    md5_init(&ctx);
    md5_update(&ctx, document.len, (const uint8_t *)document.data);
    md5_digest(&ctx, sizeof(md5), md5);
    return api_check_hashes(request, &put->hashes, md5, put->crc64);
}

/* Where to look for a block; false if the element has another name. */
static bool kind_of(struct slice name, enum block_kind *kind)
{
    static const struct {
        const char *name;
        enum block_kind kind;
    } kinds[] = {
        { "Latest", BLOCK_FROM_LATEST },
        { "Committed", BLOCK_FROM_COMMITTED },
        { "Uncommitted", BLOCK_FROM_UNCOMMITTED },
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (slice_is(name, kinds[i].name)) {
            *kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

static enum err fault_element(struct http_request *request, const struct xml_node *node)
{
    const struct xml_fault fault = {
        .line = node->line,
        .column = node->column,
        .reason = "The document is not a list of blocks.",
    };
    return api_fault_xml(request, &fault);
}

/* The list while its document is read.  It is good if all of the document is; then the first fault
   in a block counts. */
struct list_reading {
    struct http_request *request;
    struct block_ref *blocks;
    size_t capacity;
    size_t count;
    enum err err;          /* of the first block that is wrong */
    struct xml_node wrong; /* that block, if it is no block at all */
    bool has_wrong;
};

static void read_block(void *arg, const struct xml_node *node)
{
    struct list_reading *reading = arg;
    if (reading->err != OK || reading->has_wrong || reading->count == reading->capacity)
        return;
    struct block_ref *block = &reading->blocks[reading->count++];
    if (!kind_of(node->name, &block->kind) || node->first_child != NULL) {
        reading->has_wrong = true;
        reading->wrong = (struct xml_node){ .line = node->line, .column = node->column };
        return;
    }
    reading->err = read_block_id(reading->request, xml_text(node), &block->block_id);
}

/* How many elements a document has at most. */
static size_t count_elements(struct slice document)
{
    size_t count = 0;
    for (size_t at = slice_find_byte(document, '<'); at < document.len;
         at = slice_find_byte(document, '<')) {
        document = slice_from(document, at + 1);
        count += document.len > 0 && document.data[0] != '/';
    }
    return count;
}

static enum err read_list(struct http_request *request, struct block_list_put *change)
{
    const struct slice document = strbuf_slice(&request->document);
    const size_t elements = count_elements(document);
    struct list_reading reading = {
        .request = request,
        .capacity = elements < LIMIT_COMMITTED_BLOCKS ? elements : LIMIT_COMMITTED_BLOCKS,
    };
    reading.blocks = arena_alloc(&request->arena, reading.capacity * sizeof(*reading.blocks));
    struct xml_node *root;
    struct xml_fault fault;
    if (xml_each_child(&request->arena, document, read_block, &reading, &root, &fault) != OK)
        return fault.is_too_long ? ERR_BLOCK_LIST_TOO_LONG : api_fault_xml(request, &fault);
    if (!slice_is(root->name, "BlockList"))
        return fault_element(request, root);
    if (root->child_count > LIMIT_COMMITTED_BLOCKS)
        return ERR_BLOCK_LIST_TOO_LONG;
    if (reading.has_wrong)
        return fault_element(request, &reading.wrong);
    change->blocks = reading.blocks;
    change->block_count = reading.count;
    return reading.err;
}

enum err put_block_list_run(struct http_request *request)
{
    struct put_block_list *put = request->arguments;
    enum err err = check_document(request, put);
    if (err == OK)
        err = read_list(request, &put->change);
    if (err != OK)
        return err;
    block_list_put(request->context->service, &put->change);
    return OK;
}

void put_block_list_respond(struct http_request *request)
{
    const struct put_block_list *put = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, put->change.change.etag);
    api_add_version(request, put->change.change.version_id);
    api_add_hashes(request, &put->hashes, put->crc64);
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
}

/* --- Get Block List --- */

/* A block of the answer. */
struct listed_block {
    const char *name; /* the id in base64 */
    uint64_t length_bytes;
};

struct block_array {
    struct listed_block *items;
    size_t count;
    size_t capacity;
};

struct get_block_list {
    struct arena *arena;
    struct block_list_request request;
    struct block_array committed;
    struct block_array uncommitted;
};

static void add_block(struct arena *arena, struct block_array *array, struct listed_block block)
{
    if (array->count == array->capacity) {
        const size_t capacity = array->capacity == 0 ? 16 : 2 * array->capacity;
        struct listed_block *items = arena_alloc(arena, capacity * sizeof(*items));
        if (array->count > 0)
            memcpy(items, array->items, array->count * sizeof(*items));
        array->items = items;
        array->capacity = capacity;
    }
    array->items[array->count++] = block;
}

static void keep_block(void *arg, enum block_state state, struct slice block_id,
                       uint64_t length_bytes)
{
    struct get_block_list *get = arg;
    char *name = arena_bytes(get->arena, BASE64_LEN(block_id.len) + 1);
    base64_encode(block_id, name);
    add_block(get->arena, state == BLOCK_COMMITTED ? &get->committed : &get->uncommitted,
              (struct listed_block){ name, length_bytes });
}

enum err get_block_list_prepare(struct http_request *request)
{
    const char *const parameter = "blocklisttype";
    struct get_block_list *get = arena_alloc(&request->arena, sizeof(*get));
    request->arguments = get;
    get->arena = &request->arena;
    get->request = (struct block_list_request){
        .get = {
            .name = api_blob_name(request),
            .condition = request->condition,
            .has_lease_id = request->has_lease_id,
            .lease_id = request->lease_id,
        },
        .emit = keep_block,
        .arg = get,
    };
    const struct slice type = http_message_parameter(&request->message, parameter);
    const bool all = slice_equal_nocase(type, slice_of("all"));
    get->request.want_committed =
        all || type.len == 0 || slice_equal_nocase(type, slice_of("committed"));
    get->request.want_uncommitted = all || slice_equal_nocase(type, slice_of("uncommitted"));
    if (!get->request.want_committed && !get->request.want_uncommitted)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    /* A block that is not part of the blob is not public with it. */
    if (get->request.want_uncommitted && request->access.is_anonymous)
        return access_refuse_anonymous(request);
    return OK;
}

/* Uncommitted blocks are answered in the order of their ids as the client writes them. */
static int compare_blocks(const void *a, const void *b)
{
    return strcmp(((const struct listed_block *)a)->name, ((const struct listed_block *)b)->name);
}

static void add_blocks(struct strbuf *body, const char *element, const struct block_array *array)
{
    if (array->count == 0) {
        strbuf_printf(body, "<%s />", element);
        return;
    }
    strbuf_printf(body, "<%s>", element);
    for (size_t i = 0; i < array->count; i++)
        strbuf_printf(body, "<Block><Name>%s</Name><Size>%" PRIu64 "</Size></Block>",
                      array->items[i].name, array->items[i].length_bytes);
    strbuf_printf(body, "</%s>", element);
}

enum err get_block_list_run(struct http_request *request)
{
    struct get_block_list *get = request->arguments;
    struct blob blob;
    bool exists;
    const enum err err =
        block_list_get(request->context->service, &request->arena, &get->request, &blob, &exists);
    if (err != OK)
        return err;
    if (get->uncommitted.count > 1)
        qsort(get->uncommitted.items, get->uncommitted.count, sizeof(*get->uncommitted.items),
              compare_blocks);
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_begin_document(&body);
    strbuf_add_text(&body, "<BlockList>");
    if (get->request.want_committed)
        add_blocks(&body, "CommittedBlocks", &get->committed);
    if (get->request.want_uncommitted)
        add_blocks(&body, "UncommittedBlocks", &get->uncommitted);
    strbuf_add_text(&body, "</BlockList>");

    struct http_response *response = request_respond(request, 200);
    if (exists) {
        http_response_add_etag(response, blob.etag);
        http_response_add_number(response, "x-ms-blob-content-length", blob.content.length_bytes);
    }
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(&body);
    return OK;
}
