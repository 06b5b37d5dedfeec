#include "frontend/http/api_node.h"

#include <inttypes.h>

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_permission.h"
#include "service/limits.h"

/* --- names --- */

struct share_name api_share_name(const struct http_request *request)
{
    return (struct share_name){
        .account = slice_of(request->address.account->name),
        .share = request->address.container,
        .snapshot = request->snapshot,
    };
}

enum err api_node_path(struct http_request *request, struct slice path, const char *dots_header,
                       struct file_path *parsed)
{
    bool keeps_dots;
    const enum err err = api_bool_header(request, dots_header, &keeps_dots);
    if (err != OK)
        return err;
    return file_path_parse(&request->arena, path, keeps_dots ? FILE_DOTS_KEPT : FILE_DOTS_REMOVED,
                           parsed);
}

enum err api_node_name(struct http_request *request, struct node_name *name)
{
    name->share = api_share_name(request);
    return api_node_path(request, request->address.blob, "x-ms-allow-trailing-dot", &name->path);
}

/* --- arguments --- */

enum err api_timeout(struct http_request *request, int64_t *timeout_ms)
{
    const char *const parameter = "timeout";
    const struct slice text = http_message_parameter(&request->message, parameter);
    uint64_t seconds;
    *timeout_ms = 0;
    if (text.len == 0)
        return OK;
    if (decimal_parse_u64(text, &seconds) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    /* Longer is as long as there is. */
    *timeout_ms = (int64_t)(seconds < 3600 ? seconds : 3600) * 1000;
    return OK;
}

enum err api_bool_header(struct http_request *request, const char *header, bool *value)
{
    const struct slice text = http_message_header(&request->message, header);
    *value = slice_equal_nocase(text, slice_of("true"));
    if (text.len > 0 && !*value && !slice_equal_nocase(text, slice_of("false")))
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

enum err api_optional_uuid(struct http_request *request, const char *header, bool *present,
                           struct uuid *id)
{
    *present = http_message_header(&request->message, header).len > 0;
    return *present ? api_uuid(request, header, id) : OK;
}

enum err api_node_change(struct http_request *request, enum node_kind kind,
                         struct node_change **result)
{
    struct node_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = *result = change;
    request_bind(request, &change->base);
    change->kind = kind;
    change->metadata = request->metadata;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    change->create_only = request->access.create_only;
    const enum err err = api_timeout(request, &change->timeout_ms);
    return err == OK ? api_node_name(request, &change->name) : err;
}

enum err api_read_error(enum err err)
{
    return err == ERR_RESOURCE_TYPE_MISMATCH ? ERR_RESOURCE_NOT_FOUND : err;
}

void api_read_done(void *arg, enum err err)
{
    request_done(arg, api_read_error(err));
}

enum err api_node_get(struct http_request *request, enum node_kind kind, struct node_get *get)
{
    request_bind(request, &get->base);
    get->base.done = api_read_done;
    get->kind = kind;
    get->has_lease_id = request->has_lease_id;
    get->lease_id = request->lease_id;
    const enum err err = api_timeout(request, &get->timeout_ms);
    return err == OK ? api_node_name(request, &get->name) : err;
}

/* --- what SMB knows --- */

static const struct {
    const char *word;
    unsigned bit;
} attribute_words[] = {
    { "ReadOnly", NODE_READ_ONLY },   { "Hidden", NODE_HIDDEN },
    { "System", NODE_SYSTEM },        { "Directory", NODE_IS_DIRECTORY },
    { "Archive", NODE_ARCHIVE },      { "Temporary", NODE_TEMPORARY },
    { "Offline", NODE_OFFLINE },      { "NotContentIndexed", NODE_NOT_INDEXED },
    { "NoScrubData", NODE_NO_SCRUB }, { "None", 0 },
};

enum {
    ATTRIBUTE_WORDS = sizeof(attribute_words) / sizeof(attribute_words[0]),
};

static bool parse_attribute(struct slice word, unsigned *attributes)
{
    for (size_t i = 0; i < ATTRIBUTE_WORDS; i++) {
        if (slice_equal_nocase(word, slice_of(attribute_words[i].word))) {
            *attributes |= attribute_words[i].bit;
            return true;
        }
    }
    return false;
}

bool api_attributes_parse(struct slice text, unsigned *attributes)
{
    bool is_good = true;
    *attributes = 0;
    while (is_good && text.len > 0) {
        const size_t bar = slice_find_byte(text, '|');
        is_good = parse_attribute(slice_trim(slice_head(text, bar)), attributes);
        text = slice_from(text, bar + 1);
    }
    return is_good;
}

static bool is_word(struct slice value, const char *word)
{
    return slice_equal_nocase(value, slice_of(word));
}

/* Whether something is not given, or only by the word for leaving it as it is. */
static bool is_left(struct slice value, enum api_smb_use use)
{
    return value.len == 0 || (use == API_SMB_CHANGE && is_word(value, "preserve")) ||
           (use == API_SMB_COPY && is_word(value, "source"));
}

static enum err read_attributes(struct http_request *request, enum api_smb_use use,
                                struct node_smb *smb)
{
    const char *const header = "x-ms-file-attributes";
    const struct slice text = http_message_header(&request->message, header);
    if (is_left(text, use))
        return OK;
    smb->has_attributes = true;
    return api_attributes_parse(text, &smb->attributes)
               ? OK
               : request_fault_header(request, ERR_INVALID_HEADER, header);
}

/* An instant is 0 for "now". */
static enum err read_instant(struct http_request *request, const char *header, enum api_smb_use use,
                             bool *present, int64_t *ticks)
{
    const struct slice value = http_message_header(&request->message, header);
    *ticks = 0;
    if (is_left(value, use))
        return OK;
    *present = true;
    if (is_word(value, "now"))
        return OK;
    if (date_parse_iso(value, ticks) != OK || *ticks <= 0)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

/* What only shares over NFS have. */
static enum err refuse_nfs(struct http_request *request)
{
    static const char *const headers[] = { "x-ms-mode", "x-ms-owner", "x-ms-group" };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (!request->context->loose && http_message_header(&request->message, headers[i]).len > 0)
            return request_fault_header(request, ERR_NOT_IMPLEMENTED, headers[i]);
    }
    return OK;
}

enum err api_read_smb(struct http_request *request, enum api_smb_use use, struct node_smb *smb)
{
    enum err err = refuse_nfs(request);
    if (err == OK)
        err = read_attributes(request, use, smb);
    if (err == OK)
        err = read_instant(request, "x-ms-file-creation-time", use, &smb->has_created_at,
                           &smb->created_at);
    if (err == OK)
        err = read_instant(request, "x-ms-file-last-write-time", use, &smb->has_written_at,
                           &smb->written_at);
    if (err == OK)
        err = read_instant(request, "x-ms-file-change-time", use, &smb->has_changed_at,
                           &smb->changed_at);
    return err == OK ? api_read_permission(request, use, smb) : err;
}

/* --- responses --- */

struct slice api_attributes(struct arena *arena, unsigned attributes)
{
    struct strbuf text;
    strbuf_init(&text, arena);
    for (size_t i = 0; i < ATTRIBUTE_WORDS; i++) {
        if ((attributes & attribute_words[i].bit) == 0)
            continue;
        if (text.len > 0)
            strbuf_add_text(&text, " | ");
        strbuf_add_text(&text, attribute_words[i].word);
    }
    return text.len > 0 ? strbuf_slice(&text) : slice_of("None");
}

void api_add_instant(struct http_response *response, const char *header, int64_t ticks)
{
    char text[DATE_ISO_LEN + 1];
    date_format_iso(ticks, text);
    http_response_add(response, header, slice_of(text));
}

void api_add_smb(struct http_request *request, struct http_response *response,
                 const struct node *node)
{
    if (request->version < 20190202)
        return;
    http_response_add(response, "x-ms-file-attributes",
                      api_attributes(&request->arena, node->attributes));
    api_add_instant(response, "x-ms-file-creation-time", node->created_at);
    api_add_instant(response, "x-ms-file-last-write-time", node->written_at);
    api_add_instant(response, "x-ms-file-change-time", node->changed_at);
    http_response_add(response, "x-ms-file-permission-key", api_permission_key(node));
    http_response_add_number(response, "x-ms-file-id", node->id);
    http_response_add_number(response, "x-ms-file-parent-id", node->parent_id);
}

struct http_response *api_respond_node(struct http_request *request, unsigned status,
                                       const struct node *node, bool with_smb)
{
    struct http_response *response = request_respond(request, status);
    http_response_add_etag(response, node->etag);
    http_response_add_text(response, "x-ms-request-server-encrypted", "true");
    if (with_smb)
        api_add_smb(request, response, node);
    return response;
}
