/*
 * http_table.c - the table service: /Tables, /Tables('name'), /name(keys), /$batch.
 */
#include "base/date.h"
#include "frontend/http/api_odata.h"
#include "frontend/http/http_request.h"
#include "frontend/http/http_route.h"
#include "frontend/http/http_service.h"
#include "frontend/http/odata_path.h"
#include "frontend/http/odata_write.h"
#include "service/service_properties.h"
#include "service/table/table.h"
#include "service/table/table_name.h"

static const char *const unserved_comps[] = { "userdelegationkey", NULL };

static enum http_level level_of(enum odata_resource resource)
{
    switch (resource) {
    case ODATA_SERVICE:
        return HTTP_SERVICE;
    case ODATA_TABLES:
        return HTTP_TABLES;
    case ODATA_TABLE:
        return HTTP_TABLE;
    case ODATA_ENTITIES:
        return HTTP_ENTITIES;
    case ODATA_ENTITY:
        return HTTP_ENTITY;
    case ODATA_BATCH:
        break;
    }
    return HTTP_BATCH;
}

static enum err parse_resource(struct arena *arena, const struct http_message *message,
                               struct slice path, struct http_address *address)
{
    (void)message;
    struct odata_path resource;
    const enum err err = odata_path_parse(arena, path, &resource);
    if (err != OK)
        return err;
    address->level = level_of(resource.resource);
    address->container = (struct slice){ 0 };
    address->partition_key = resource.partition_key;
    address->row_key = resource.row_key;
    if (address->level != HTTP_TABLE && address->level != HTTP_ENTITIES &&
        address->level != HTTP_ENTITY)
        return OK;
    address->container = resource.table;
    return table_name_check(resource.table);
}

/* The table of a batch is the one its SAS is for. */
static enum err find_policies(struct http_request *request, struct access_policies *policies)
{
    struct table_name name = api_table_name(request);
    struct table table;
    if (name.table.len == 0)
        name.table = http_message_parameter(&request->message, "tn");
    if (table_name_check(name.table) != OK)
        return ERR_NOT_FOUND;
    const enum err err = table_get(request->context->service, &request->arena, &name, &table);
    if (err == OK)
        *policies = table.policies;
    return err == ERR_TABLE_NOT_FOUND ? ERR_NOT_FOUND : err;
}

static bool contains(struct slice text, const char *word)
{
    return text.data != NULL && memmem(text.data, text.len, word, strlen(word)) != NULL;
}

/* Properties and access policies are XML, and so are their errors. */
static bool is_answered_in_xml(const struct http_message *message)
{
    const struct slice accept = http_message_header(message, "accept");
    return http_message_find_parameter(message, "comp") != NULL ||
           (contains(accept, "xml") && !contains(accept, "json"));
}

/* Errors have the standard reason phrase and, but for those of the front door, say how they are
   written. */
static void write_error(struct http_request *request, const struct http_error *error,
                        struct http_response *response)
{
    const struct slice message =
        request->error_message.len > 0 ? request->error_message : slice_of(error->message);
    struct odata_format format = { .metadata = ODATA_MINIMAL };
    char time[DATE_ISO_LEN + 1];
    struct strbuf body;
    response->reason = NULL;
    date_format_iso(request->received_at, time);
    strbuf_init(&body, &request->arena);
    if (is_answered_in_xml(&request->message)) {
        odata_write_xml_error(&body, error->code, message, request->id_text, time);
        http_response_add_text(response, "Content-Type", "application/xml");
        response->body = strbuf_slice(&body);
        return;
    }
    odata_write_error(&body, error->code, message, request->id_text, time);
    if (request->operation == NULL) {
        http_response_add_text(response, "Content-Type", "application/json");
        response->body = strbuf_slice(&body);
        return;
    }
    if (api_odata_format(request, &request->message, &format) != OK)
        format.metadata = ODATA_MINIMAL;
    http_response_add_text(response, "X-Content-Type-Options", "nosniff");
    http_response_add_text(response, "Cache-Control", "no-cache");
    api_add_json(response, &format, &body);
}

const struct http_service http_table_service = {
    .id = HTTP_SERVICE_OF_TABLES,
    .name = "table",
    .letter = 't',
    .server = "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0",
    .dialect = AUTH_DIALECT_TABLE,
    .properties_parts =
        PROPERTIES_LOGGING | PROPERTIES_HOUR_METRICS | PROPERTIES_MINUTE_METRICS | PROPERTIES_CORS,
    .overrides_method = true,
    .unserved_comps = unserved_comps,
    .parse_resource = parse_resource,
    .find_policies = find_policies,
    .write_error = write_error,
};
