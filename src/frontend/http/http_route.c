#include "frontend/http/http_route.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "frontend/http/api.h"

/* Where the table of a service begins, by counting the rows of those before it. */
enum {
#define OPERATION(...) +1 /* NOLINT(bugprone-macro-parentheses): a term of a sum */
    BLOB_OPERATIONS = 0,
    QUEUE_OPERATIONS = BLOB_OPERATIONS
#include "frontend/http/operations_blob.def"
    ,
    TABLE_OPERATIONS = QUEUE_OPERATIONS
#include "frontend/http/operations_queue.def"
    ,
    FILE_OPERATIONS = TABLE_OPERATIONS
#include "frontend/http/operations_table.def"
    ,
    OPERATION_COUNT = FILE_OPERATIONS
#include "frontend/http/operations_file.def"
    ,
#undef OPERATION
};

static const struct http_operation operations[OPERATION_COUNT] = {
#define OPERATION(name_, method_, level_, restype_, comp_, header_, value_, permissions_, type_,   \
                  flags_, prepare_, run_, respond_)                                                \
    { SERVICE_OF_ROWS, #name_,       HTTP_##method_, HTTP_##level_, restype_, comp_, header_,      \
      value_,          permissions_, type_,          flags_,        prepare_, run_,  respond_ },
#define SERVICE_OF_ROWS HTTP_SERVICE_OF_BLOBS
#include "frontend/http/operations_blob.def"
#undef SERVICE_OF_ROWS
#define SERVICE_OF_ROWS HTTP_SERVICE_OF_QUEUES
#include "frontend/http/operations_queue.def"
#undef SERVICE_OF_ROWS
#define SERVICE_OF_ROWS HTTP_SERVICE_OF_TABLES
#include "frontend/http/operations_table.def"
#undef SERVICE_OF_ROWS
#define SERVICE_OF_ROWS HTTP_SERVICE_OF_FILES
#include "frontend/http/operations_file.def"
#undef SERVICE_OF_ROWS
#undef OPERATION
};

/* The rows of a service: from its entry up to the next. */
static const size_t first_rows[HTTP_SERVICE_COUNT + 1] = {
    [HTTP_SERVICE_OF_BLOBS] = BLOB_OPERATIONS,   [HTTP_SERVICE_OF_QUEUES] = QUEUE_OPERATIONS,
    [HTTP_SERVICE_OF_TABLES] = TABLE_OPERATIONS, [HTTP_SERVICE_OF_FILES] = FILE_OPERATIONS,
    [HTTP_SERVICE_COUNT] = OPERATION_COUNT,
};

const struct http_service *http_service_get(enum http_service_id id)
{
    static const struct http_service *const services[HTTP_SERVICE_COUNT] = {
        [HTTP_SERVICE_OF_BLOBS] = &http_blob_service,
        [HTTP_SERVICE_OF_QUEUES] = &http_queue_service,
        [HTTP_SERVICE_OF_TABLES] = &http_table_service,
        [HTTP_SERVICE_OF_FILES] = &http_file_service,
    };
    assert(id < HTTP_SERVICE_COUNT);
    return services[id];
}

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
        [HTTP_PATCH] = "PATCH", [HTTP_MERGE] = "MERGE",
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

void http_path_split(struct slice path, struct slice *first, struct slice *rest)
{
    const size_t slash = slice_find_byte(path, '/');
    *first = slice_head(path, slash);
    *rest = slice_from(path, slash + 1);
}

enum err http_address_parse(struct arena *arena, const struct http_service *service,
                            const struct http_message *message, const struct account_list *accounts,
                            bool path_style_only, struct http_address *address)
{
    *address = (struct http_address){ 0 };
    struct slice path = slice_from(message->path, 1);
    if (path_style_only || !address_by_host(message, accounts, address)) {
        struct slice name;
        address->path_style = true;
        http_path_split(path, &name, &path);
        address->account = find_account(accounts, name, &address->secondary);
    }
    if (address->account == NULL)
        return ERR_ACCOUNT_NOT_FOUND;
    return service->parse_resource(arena, message, path, address);
}

/* --- operations --- */

static bool is_unserved(const struct http_service *service, const struct http_field *field)
{
    if (field == NULL)
        return false;
    for (const char *const *name = service->unserved_comps; *name != NULL; name++)
        if (slice_equal_nocase(field->value, slice_of(*name)))
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
static enum err refuse_parameters(const struct http_service *service,
                                  const struct http_field *restype, const struct http_field *comp,
                                  struct http_error_detail *details, size_t *detail_count)
{
    if (is_unserved(service, comp) || is_unserved(service, restype))
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

enum err http_method_find(const struct http_service *service, const struct http_message *message,
                          enum http_method *method)
{
    *method = http_method_of(message->method);
    const struct slice named = http_message_header(message, "x-http-method");
    if (!service->overrides_method || named.len == 0)
        return OK;
    if (*method != HTTP_POST)
        return ERR_TUNNEL_NOT_POST;
    *method = http_method_of(named);
    const bool may_be_named = *method == HTTP_PUT || *method == HTTP_PATCH ||
                              *method == HTTP_MERGE || *method == HTTP_DELETE;
    return may_be_named ? OK : ERR_TUNNELLED_METHOD;
}

enum err http_route_find(const struct http_service *service, const struct http_message *message,
                         const struct http_address *address,
                         const struct http_operation **operation, struct http_error_detail *details,
                         size_t *detail_count)
{
    enum http_method method;
    const enum err err = http_method_find(service, message, &method);
    if (err != OK)
        return err;
    const struct http_field *restype = http_message_find_parameter(message, "restype");
    const struct http_field *comp = http_message_find_parameter(message, "comp");
    const struct http_operation *wants_header = NULL;
    bool parameters_known = false;
    *detail_count = 0;
    const bool has_source = http_message_header(message, "x-ms-copy-source").len > 0;
    bool wants_source = false;
    const struct http_operation *const end = operations + first_rows[service->id + 1];
    for (const struct http_operation *row = operations + first_rows[service->id]; row < end;
         row++) {
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
    return refuse_parameters(service, restype, comp, details, detail_count);
}
