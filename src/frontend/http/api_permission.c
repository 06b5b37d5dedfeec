/*
 * api_permission.c - security descriptors: Create Permission, Get Permission, and the headers of
 * directories and files.
 */
#include "frontend/http/api_permission.h"

#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/json_read.h"
#include "service/file/permission.h"
#include "service/limits.h"

struct slice api_permission_key(const struct node *node)
{
    if (node->permission_key.len > 0)
        return node->permission_key;
    if (node->id == NODE_ROOT_ID)
        return permission_default_key(PERMISSION_OF_ROOT);
    return permission_default_key(node->kind == NODE_FILE ? PERMISSION_OF_FILE
                                                          : PERMISSION_OF_DIRECTORY);
}

/* --- reading --- */

/* Whether a permission is in bytes, by the word for its format. */
static bool read_format(struct slice word, bool *is_binary)
{
    *is_binary = slice_equal_nocase(word, slice_of("binary"));
    return *is_binary || word.len == 0 || slice_equal_nocase(word, slice_of("sddl"));
}

static enum err read_permission(struct http_request *request, struct slice text, bool is_binary,
                                struct slice *permission)
{
    struct slice bytes;
    if (!is_binary)
        return permission_from_text(&request->arena, text, permission);
    if (base64_decode(&request->arena, text, &bytes) != OK)
        return ERR_FILE_PERMISSION_INVALID;
    return permission_from_bytes(&request->arena, bytes, permission);
}

enum err api_read_permission(struct http_request *request, enum api_smb_use use,
                             struct node_smb *smb)
{
    const char *const header = "x-ms-file-permission";
    const char *const format_header = "x-ms-file-permission-format";
    const struct slice text = http_message_header(&request->message, header);
    const struct slice key = http_message_header(&request->message, "x-ms-file-permission-key");
    bool is_binary;
    if (text.len > LIMIT_PERMISSION_HEADER_BYTES || (text.len > 0 && key.len > 0))
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    if (!read_format(http_message_header(&request->message, format_header), &is_binary))
        return request_fault_header(request, ERR_INVALID_HEADER, format_header);
    if (key.len > 0) {
        smb->has_permission_key = true;
        smb->permission_key = key;
        return OK;
    }
    const char *const stays = use == API_SMB_CHANGE ? "preserve" : "inherit";
    if (text.len == 0 || slice_equal_nocase(text, slice_of(stays)))
        return OK;
    return read_permission(request, text, is_binary, &smb->permission);
}

/* --- Create Permission --- */

enum err create_permission_prepare(struct http_request *request)
{
    struct permission_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_share_name(request);
    return OK;
}

/* {"permission":"...","format":"sddl"} */
static enum err read_document(struct http_request *request, struct slice *text, bool *is_binary)
{
    struct json_reader reader;
    bool more = true;
    *text = (struct slice){ 0 };
    *is_binary = false;
    enum err err = json_begin(&reader, &request->arena, strbuf_slice(&request->document));
    while (err == OK && more) {
        struct slice name;
        struct json_value value;
        err = json_next(&reader, &more, &name, &value);
        if (err != OK || !more)
            break;
        const bool is_text = value.kind == JSON_STRING;
        if (slice_equal_nocase(name, slice_of("permission")) && is_text)
            *text = value.text;
        else if (slice_equal_nocase(name, slice_of("format")) && is_text &&
                 !read_format(value.text, is_binary))
            err = ERR_MALFORMED;
    }
    return err == OK ? OK : ERR_INVALID_INPUT;
}

enum err create_permission_run(struct http_request *request)
{
    struct permission_change *change = request->arguments;
    struct slice text;
    bool is_binary;
    enum err err = read_document(request, &text, &is_binary);
    if (err == OK)
        err = read_permission(request, text, is_binary, &change->permission);
    if (err == OK)
        permission_create(request->context->service, change);
    return err;
}

void create_permission_respond(struct http_request *request)
{
    const struct permission_change *change = request->arguments;
    http_response_add(request_respond(request, 201), "x-ms-file-permission-key", change->key);
}

/* --- Get Permission --- */

static void add_json_text(struct strbuf *out, struct slice text)
{
    strbuf_add_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte == '"' || byte == '\\')
            strbuf_add_byte(out, '\\');
        if (byte < ' ')
            strbuf_printf(out, "\\u%04x", byte);
        else
            strbuf_add_byte(out, (char)byte);
    }
    strbuf_add_byte(out, '"');
}

enum err get_permission_run(struct http_request *request)
{
    const char *const key_header = "x-ms-file-permission-key";
    const char *const format_header = "x-ms-file-permission-format";
    const struct share_name name = api_share_name(request);
    const struct slice key = http_message_header(&request->message, key_header);
    struct slice permission;
    struct slice text;
    bool is_binary;
    if (key.len == 0)
        return request_fault_header(request, ERR_MISSING_HEADER, key_header);
    if (!read_format(http_message_header(&request->message, format_header), &is_binary))
        return request_fault_header(request, ERR_INVALID_HEADER, format_header);
    enum err err =
        permission_get(request->context->service, &request->arena, &name, key, &permission);
    if (err == OK && is_binary) {
        char *encoded = arena_bytes(&request->arena, BASE64_LEN(permission.len) + 1);
        base64_encode(permission, encoded);
        text = slice_of(encoded);
    } else if (err == OK) {
        err = permission_to_text(&request->arena, permission, &text);
    }
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    strbuf_add_text(&body, "{\"permission\":");
    add_json_text(&body, text);
    if (is_binary)
        strbuf_add_text(&body, ",\"format\":\"binary\"");
    strbuf_add_byte(&body, '}');
    struct http_response *response = request_respond(request, 200);
    http_response_add_text(response, "Content-Type", "application/json");
    response->body = strbuf_slice(&body);
    return OK;
}
