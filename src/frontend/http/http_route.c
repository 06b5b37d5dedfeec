#include "frontend/http/http_route.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/encoding.h"
#include "frontend/http/api.h"
#include "service/blob/blob_name.h"

static const struct http_operation operations[] = {
#define OPERATION(name_, method_, level_, restype_, comp_, header_, value_, permissions_, type_,   \
                  flags_, prepare_, run_, respond_)                                                \
    { #name_,       HTTP_##method_, HTTP_##level_, restype_, comp_, header_, value_,               \
      permissions_, type_,          flags_,        prepare_, run_,  respond_ },
#include "frontend/http/http_operations.def"
#undef OPERATION
};

enum {
    OPERATION_COUNT = sizeof(operations) / sizeof(operations[0]),
};

size_t http_operation_count(void)
{
    return OPERATION_COUNT;
}

const struct http_operation *http_operation_get(size_t index)
{
    assert(index < OPERATION_COUNT);
    return &operations[index];
}

size_t http_operation_index(const struct http_operation *operation)
{
    assert(operation >= operations);
    assert(operation < operations + OPERATION_COUNT);
    return (size_t)(operation - operations);
}

enum http_method http_method_of(struct slice method)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",     [HTTP_HEAD] = "HEAD",     [HTTP_PUT] = "PUT",
        [HTTP_POST] = "POST",   [HTTP_DELETE] = "DELETE", [HTTP_OPTIONS] = "OPTIONS",
        [HTTP_PATCH] = "PATCH",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (slice_is(method, names[i]))
            return (enum http_method)i;
    return HTTP_OTHER;
}

/* --- addressing --- */

static const char secondary_suffix[] = "-secondary";

/* The account a name addresses, with or without the suffix of the secondary; or NULL. */
static const struct account *find_account(const struct account_list *accounts, struct slice name,
                                          bool *secondary)
{
    const struct slice suffix = slice_of(secondary_suffix);
    const struct account *account = account_find(accounts, name);
    *secondary = false;
    if (account != NULL || name.len <= suffix.len)
        return account;
    const struct slice ending = slice_from(name, name.len - suffix.len);
    if (!slice_equal_nocase(ending, suffix))
        return NULL;
    *secondary = true;
    return account_find(accounts, slice_head(name, name.len - suffix.len));
}

static bool is_ip_address(struct slice host)
{
    if (host.len > 0 && host.data[0] == '[')
        return true;
    for (size_t i = 0; i < host.len; i++)
        if (!isdigit((unsigned char)host.data[i]) && host.data[i] != '.')
            return false;
    return true;
}

/* The host without its port. */
static struct slice host_name(const struct http_message *message)
{
    const struct slice host = http_message_header(message, "host");
    if (host.len > 0 && host.data[0] == '[')
        return host;
    return slice_head(host, slice_find_byte(host, ':'));
}

static bool address_by_host(const struct http_message *message, const struct account_list *accounts,
                            struct http_address *address)
{
    const struct slice host = host_name(message);
    const size_t dot = slice_find_byte(host, '.');
    if (dot == host.len || is_ip_address(host))
        return false;
    address->account = find_account(accounts, slice_head(host, dot), &address->secondary);
    return address->account != NULL;
}

/* The container of a path's first segment and the blob of the rest; both still encoded. */
static void split_resource(struct slice path, struct slice *container, struct slice *blob)
{
    const size_t slash = slice_find_byte(path, '/');
    *container = slice_head(path, slash);
    *blob = slice_from(path, slash + 1);
}

static enum err decode_blob_name(struct arena *arena, struct slice encoded, struct slice *name)
{
    struct slice decoded;
    if (percent_decode(arena, encoded, &decoded) != OK)
        return ERR_INVALID_URI;
    /* The service takes a backslash for a slash. */
    if (slice_find_byte(decoded, '\\') < decoded.len) {
        char *bytes = arena_bytes(arena, decoded.len);
        for (size_t i = 0; i < decoded.len; i++)
            bytes[i] = decoded.data[i] == '\\' ? '/' : decoded.data[i];
        decoded = slice_make(bytes, decoded.len);
    }
    *name = decoded;
    return blob_name_check(decoded);
}

static enum err parse_resource(struct arena *arena, const struct http_message *message,
                               struct slice path, struct http_address *address)
{
    struct slice container;
    struct slice blob;
    split_resource(path, &container, &blob);
    if (container.len == 0 && blob.len == 0) {
        address->level = HTTP_SERVICE;
        return OK;
    }
    const bool names_container = http_message_find_parameter(message, "restype") != NULL;
    if (blob.len == 0 && !names_container) {
        /* A single segment that is not said to be a container is a blob of the root container. */
        if (slice_find_byte(path, '/') < path.len)
            return ERR_INVALID_URI;
        blob = container;
        container = slice_of("$root");
    }
    if (percent_decode(arena, container, &address->container) != OK)
        return ERR_INVALID_URI;
    const enum err err = container_name_check(address->container);
    if (err != OK)
        return err;
    address->level = blob.len == 0 ? HTTP_CONTAINER : HTTP_BLOB;
    return blob.len == 0 ? OK : decode_blob_name(arena, blob, &address->blob);
}

enum err http_address_parse(struct arena *arena, const struct http_message *message,
                            const struct account_list *accounts, bool path_style_only,
                            struct http_address *address)
{
    *address = (struct http_address){ 0 };
    struct slice path = slice_from(message->path, 1);
    if (path_style_only || !address_by_host(message, accounts, address)) {
        struct slice name;
        address->path_style = true;
        split_resource(path, &name, &path);
        address->account = find_account(accounts, name, &address->secondary);
    }
    if (address->account == NULL)
        return ERR_ACCOUNT_NOT_FOUND;
    return parse_resource(arena, message, path, address);
}

/* --- operations --- */

/* Values of `comp` that select operations of the blob service which have no row yet. */
static const char *const unserved_comps[] = {
    "expiry",   "immutabilitypolicies", "legalhold", "query", "rename",
    "undelete", "userdelegationkey",
};

static bool is_unserved(struct slice comp)
{
    for (size_t i = 0; i < sizeof(unserved_comps) / sizeof(unserved_comps[0]); i++)
        if (slice_equal_nocase(comp, slice_of(unserved_comps[i])))
            return true;
    return false;
}

static bool parameter_matches(const struct http_field *field, const char *wanted)
{
    const bool given = field != NULL && field->value.len > 0;
    if (!given || wanted == NULL)
        return given == (wanted != NULL);
    return slice_equal_nocase(field->value, slice_of(wanted));
}

static bool method_matches(const struct http_operation *row, enum http_method method)
{
    return row->method == method ||
           (method == HTTP_HEAD && row->method == HTTP_GET && (row->flags & OP_HEAD) != 0);
}

/* No row has these parameters: is it an operation we do not have, or nonsense? */
static enum err refuse_parameters(const struct http_field *restype, const struct http_field *comp,
                                  struct http_error_detail *details, size_t *detail_count)
{
    if (comp != NULL && is_unserved(comp->value))
        return ERR_NOT_IMPLEMENTED;
    const struct http_field *fault = comp != NULL ? comp : restype;
    if (fault == NULL)
        return ERR_UNSUPPORTED_VERB;
    details[0] = (struct http_error_detail){ "QueryParameterName", fault->name };
    details[1] = (struct http_error_detail){ "QueryParameterValue", fault->value };
    *detail_count = 2;
    return ERR_INVALID_QUERY_PARAMETER;
}

/* Every row with these parameters wants a header the request does not have, or has otherwise. */
static enum err refuse_header(const struct http_message *message, const struct http_operation *row,
                              struct http_error_detail *details, size_t *detail_count)
{
    const struct http_field *field = http_message_find_header(message, row->header);
    details[0] = (struct http_error_detail){ "HeaderName", slice_of(row->header) };
    *detail_count = 1;
    if (field == NULL)
        return ERR_MISSING_HEADER;
    const struct slice value = slice_trim(field->value);
    details[1] = (struct http_error_detail){ "HeaderValue", value };
    *detail_count = 2;
    return ERR_INVALID_HEADER;
}

enum err http_route_find(const struct http_message *message, const struct http_address *address,
                         const struct http_operation **operation, struct http_error_detail *details,
                         size_t *detail_count)
{
    const enum http_method method = http_method_of(message->method);
    const struct http_field *restype = http_message_find_parameter(message, "restype");
    const struct http_field *comp = http_message_find_parameter(message, "comp");
    const struct http_operation *wants_header = NULL;
    bool parameters_known = false;
    *detail_count = 0;
    const bool has_source = http_message_header(message, "x-ms-copy-source").len > 0;
    bool wants_source = false;
    for (const struct http_operation *row = operations; row < operations + OPERATION_COUNT; row++) {
        if ((row->flags & OP_ANYBODY) != 0 && row->method == method) {
            *operation = row;
            return OK;
        }
        if (row->level != address->level || !parameter_matches(restype, row->restype) ||
            !parameter_matches(comp, row->comp))
            continue;
        parameters_known = true;
        if (!method_matches(row, method))
            continue;
        if ((row->flags & OP_COPY_SOURCE) != 0 && !has_source) {
            wants_source = true;
            continue;
        }
        if (row->header == NULL || slice_equal_nocase(http_message_header(message, row->header),
                                                      slice_of(row->header_value))) {
            *operation = row;
            return OK;
        }
        wants_header = row;
    }
    if (wants_header != NULL)
        return refuse_header(message, wants_header, details, detail_count);
    if (wants_source) {
        details[0] = (struct http_error_detail){ "HeaderName", slice_of("x-ms-copy-source") };
        *detail_count = 1;
        return ERR_MISSING_HEADER;
    }
    if (parameters_known)
        return ERR_UNSUPPORTED_VERB;
    return refuse_parameters(restype, comp, details, detail_count);
}
