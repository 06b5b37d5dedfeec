#include "frontend/http/http_request.h"

#include <assert.h>
#include <inttypes.h>

#include "base/date.h"
#include "base/encoding.h"
#include "base/log.h"
#include "base/space.h"
#include "frontend/http/access.h"
#include "frontend/http/api_common.h"
#include "frontend/http/http_version.h"
#include "service/blob/tag.h"
#include "service/blob/tier.h"
#include "service/limits.h"
#include "service/service_properties.h"

/* --- faults --- */

void request_add_detail(struct http_request *request, const char *name, struct slice value)
{
    if (request->detail_count == HTTP_ERROR_DETAILS_MAX)
        return;
    request->details[request->detail_count++] =
        (struct http_error_detail){ .name = name, .value = value };
}

enum err request_fault_header(struct http_request *request, enum err err, const char *name)
{
    request_add_detail(request, "HeaderName", slice_of(name));
    if (err != ERR_MISSING_HEADER)
        request_add_detail(request, "HeaderValue", http_message_header(&request->message, name));
    return err;
}

enum err request_fault_parameter(struct http_request *request, enum err err, const char *name)
{
    request_add_detail(request, "QueryParameterName", slice_of(name));
    request_add_detail(request, "QueryParameterValue",
                       http_message_parameter(&request->message, name));
    return err;
}

static void refuse(struct http_request *request, enum err err)
{
    assert(err != OK);
    request->err = err;
    request->phase = PHASE_REFUSED;
}

/* --- understanding a request --- */

/* A part of a batch speaks the version of the whole. */
static enum err inherit_version(struct http_request *request)
{
    const int version = request->inherited_version;
    request->version = version;
    request->version_text = arena_printf(&request->arena, "%04d-%02d-%02d", version / 10000,
                                         version / 100 % 100, version % 100);
    return OK;
}

/* Nothing names a version.  A caller without a credential is served as in the beginning, as the
   service does; one with the account's key gets the newest. */
static void choose_version(struct http_request *request)
{
    const bool anonymous = http_message_find_header(&request->message, "authorization") == NULL;
    request->version = anonymous ? HTTP_VERSION_ANONYMOUS : HTTP_VERSION_NEWEST;
    request->version_text = slice_of(HTTP_VERSION_ANONYMOUS_TEXT);
}

static enum err find_version(struct http_request *request)
{
    const char *const header = "x-ms-version";
    const struct http_message *message = &request->message;
    if (http_message_find_header(message, header) != NULL) {
        request->version_text = http_message_header(message, header);
        if (http_version_parse(request->version_text, &request->version) != OK)
            return request_fault_header(request, ERR_INVALID_HEADER, header);
    } else {
        /* A SAS names the version when nothing else does. */
        const char *const parameter =
            http_message_find_parameter(message, "api-version") != NULL ? "api-version" : "sv";
        request->version_text = http_message_parameter(message, parameter);
        if (request->inherited_version != 0)
            return inherit_version(request);
        if (request->version_text.len == 0)
            choose_version(request);
        else if (http_version_parse(request->version_text, &request->version) != OK)
            return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    }
    if (request->version == HTTP_VERSION_NEWEST)
        request->version_text = slice_of(HTTP_VERSION_NEWEST_TEXT);
    return OK;
}

/* The account may have a version for requests that name none, of themselves or by a SAS. */
static enum err find_default_version(struct http_request *request)
{
    static const char *const parameters[] = { "api-version", "sv", "sig" };
    const struct http_message *message = &request->message;
    if (request->inherited_version != 0 ||
        (request->context->kind->properties_parts & PROPERTIES_DEFAULT_VERSION) == 0 ||
        http_message_find_header(message, "x-ms-version") != NULL)
        return OK;
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
        if (http_message_find_parameter(message, parameters[i]) != NULL)
            return OK;
    struct service_properties properties;
    const enum err err = service_properties_get(request->context->service, &request->arena,
                                                slice_of(request->address.account->name),
                                                request->context->kind->letter, &properties);
    if (err != OK || properties.default_version.len == 0)
        return err;
    request->version_text = properties.default_version;
    if (http_version_parse(properties.default_version, &request->version) != OK)
        return CORRUPT("the default version of an account is no version");
    if (request->version == HTTP_VERSION_NEWEST)
        request->version_text = slice_of(HTTP_VERSION_NEWEST_TEXT);
    return OK;
}

/* A body whose length is said in two ways: whoever stands between may see another request in it. */
static bool is_ambiguous(const struct http_message *message, const struct http_field *length)
{
    if (http_message_find_header(message, "transfer-encoding") != NULL)
        return true;
    for (size_t i = 0; i < message->header_count; i++)
        if (slice_equal_nocase(message->headers[i].name, length->name) &&
            !slice_equal(slice_trim(message->headers[i].value), slice_trim(length->value)))
            return true;
    return false;
}

static enum err find_content_length(struct http_request *request)
{
    const struct http_field *field = http_message_find_header(&request->message, "content-length");
    const struct slice encoding = http_message_header(&request->message, "transfer-encoding");
    if (encoding.len > 0 && !slice_equal_nocase(encoding, slice_of("chunked"))) {
        request->must_close = true;
        return request_fault_header(request, ERR_INVALID_HEADER, "Transfer-Encoding");
    }
    if (field == NULL)
        return OK;
    if (is_ambiguous(&request->message, field)) {
        request->must_close = true;
        return request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    }
    request->has_content_length = true;
    if (decimal_parse_u64(slice_trim(field->value), &request->content_length) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, "Content-Length");
    return OK;
}

/* If-Match and If-None-Match. */
static enum err find_etags(struct http_request *request, const char *header,
                           struct condition_etags *etags)
{
    const struct http_field *field = http_message_find_header(&request->message, header);
    if (field == NULL)
        return OK;
    if (condition_add_etags(etags, slice_trim(field->value)) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

/* If-Modified-Since and If-Unmodified-Since. */
static enum err find_date(struct http_request *request, const char *header, bool *present,
                          int64_t *ticks)
{
    const struct http_field *field = http_message_find_header(&request->message, header);
    if (field == NULL)
        return OK;
    *present = true;
    if (date_parse_http(slice_trim(field->value), ticks) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err find_tag_condition(struct http_request *request)
{
    const char *const header = "x-ms-if-tags";
    const struct slice text = http_message_header(&request->message, header);
    if (text.len == 0)
        return OK;
    if (request->access.no_tags)
        return ERR_AUTHORIZATION_PERMISSION;
    if (tag_predicate_parse(&request->arena, text, TAG_CONDITION, &request->condition.if_tags) !=
        OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err find_conditions(struct http_request *request)
{
    struct condition *condition = &request->condition;
    const unsigned flags = request->operation->flags;
    const bool of_blob = (flags & OP_TAG_CONDITION) != 0;
    enum err err =
        find_etags(request, of_blob ? "x-ms-blob-if-match" : "If-Match", &condition->if_match);
    if (err == OK)
        err = find_etags(request, of_blob ? "x-ms-blob-if-none-match" : "If-None-Match",
                         &condition->if_none_match);
    if (err == OK)
        err = find_date(request, of_blob ? "x-ms-blob-if-modified-since" : "If-Modified-Since",
                        &condition->has_modified_since, &condition->modified_since);
    if (err == OK)
        err = find_date(request, of_blob ? "x-ms-blob-if-unmodified-since" : "If-Unmodified-Since",
                        &condition->has_unmodified_since, &condition->unmodified_since);
    if (err == OK)
        err = find_tag_condition(request);
    if (err != OK)
        return err;

    if ((flags & OP_NO_CONDITIONS) != 0 && !condition_is_empty(condition))
        return ERR_CONDITIONS_NOT_SUPPORTED;
    /* Reads take any combination since 2013-08-15. */
    if ((flags & OP_CHANGE) != 0 || request->version < 20130815)
        return condition_check_write_shape(condition);
    return OK;
}

static enum err find_lease_id(struct http_request *request)
{
    const char *const header = "x-ms-lease-id";
    const struct http_field *field = http_message_find_header(&request->message, header);
    if (field == NULL)
        return OK;
    request->has_lease_id = true;
    if (uuid_parse(slice_trim(field->value), &request->lease_id) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    return OK;
}

static enum err find_metadata(struct http_request *request)
{
    const struct slice prefix = slice_of("x-ms-meta-");
    for (size_t i = 0; i < request->message.header_count; i++) {
        const struct http_field *field = &request->message.headers[i];
        if (!slice_equal_nocase(slice_head(field->name, prefix.len), prefix))
            continue;
        const struct metadata_pair pair = { slice_from(field->name, prefix.len),
                                            slice_trim(field->value) };
        metadata_append(&request->metadata, &request->arena, pair);
    }
    return metadata_check(&request->metadata);
}

/* Headers whose meaning this server cannot honour yet; ignoring one would do something else than
   was asked for. */
static enum err refuse_unserved_headers(struct http_request *request)
{
    static const char *const headers[] = {
        "x-ms-encryption-key", "x-ms-encryption-scope", "x-ms-immutability-policy-until-date",
        "x-ms-legal-hold",     "x-ms-structured-body",
    };
    if (request->context->loose)
        return OK;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (http_message_header(&request->message, headers[i]).len > 0) {
            request_add_detail(request, "HeaderName", slice_of(headers[i]));
            return ERR_NOT_IMPLEMENTED;
        }
    }
    return OK;
}

/* An instant that names a snapshot or version; 0 when the parameter is absent. */
static enum err find_instant(struct http_request *request, const char *parameter, int64_t *ticks)
{
    *ticks = 0;
    const struct slice value = http_message_parameter(&request->message, parameter);
    if (value.len == 0)
        return OK;
    if (date_parse_iso(value, ticks) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    /* Nothing was made at the beginning of time. */
    return *ticks == 0 ? ERR_BLOB_NOT_FOUND : OK;
}

static enum err fault_not_root(struct http_request *request, const char *parameter,
                               const char *reason)
{
    request_add_detail(request, "QueryParameterName", slice_of(parameter));
    request_add_detail(request, "QueryParameterValue",
                       http_message_parameter(&request->message, parameter));
    request_add_detail(request, "Reason", slice_of(reason));
    return ERR_INVALID_QUERY_PARAMETER;
}

static enum err find_snapshot(struct http_request *request)
{
    const unsigned flags = request->operation->flags;
    enum err err = find_instant(request, "snapshot", &request->snapshot);
    if (err == OK)
        err = find_instant(request, "versionid", &request->version_id);
    if (err != OK)
        return err;
    if (request->snapshot != 0 && request->version_id != 0)
        return ERR_EXCLUSIVE_QUERY_PARAMETERS;
    if (request->snapshot != 0 && (flags & OP_SNAPSHOT) == 0)
        return fault_not_root(request, "snapshot",
                              "This operation is only allowed on the root blob. Snapshot should "
                              "not be provided.");
    if (request->version_id != 0 && (flags & (OP_SNAPSHOT | OP_VERSION)) == 0)
        return fault_not_root(request, "versionid",
                              "This operation is only allowed on the root blob. Version id should "
                              "not be provided.");
    return OK;
}

/* A snapshot of the share that the address is in. */
static enum err find_share_snapshot(struct http_request *request)
{
    const char *const parameter = "sharesnapshot";
    const enum err err = find_instant(request, parameter, &request->snapshot);
    if (err != OK)
        return err == ERR_BLOB_NOT_FOUND ? ERR_SHARE_SNAPSHOT_NOT_FOUND : err;
    if (request->snapshot != 0 && (request->operation->flags & OP_SNAPSHOT) == 0)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, parameter);
    return OK;
}

/* Tags and tier of a blob that is made. */
static enum err find_tags(struct http_request *request)
{
    const struct slice tags = http_message_header(&request->message, "x-ms-tags");
    if (tags.len > 0 && request->access.no_tags)
        return ERR_AUTHORIZATION_PERMISSION;
    const enum err err = tags_parse(&request->arena, tags, &request->tags);
    if (err != OK)
        return err;
    const struct slice tier = http_message_header(&request->message, "x-ms-access-tier");
    if (tier.len == 0)
        return OK;
    /* Pages and appended blocks have no tiers outside premium accounts. */
    const struct slice type = http_message_header(&request->message, "x-ms-blob-type");
    if (slice_equal_nocase(type, slice_of("PageBlob")) ||
        slice_equal_nocase(type, slice_of("AppendBlob")))
        return ERR_TIER_NOT_FOR_TYPE;
    request->tier = tier_word(tier);
    return request->tier.len > 0 ? OK : ERR_INVALID_TIER;
}

static enum err begin_document(struct http_request *request)
{
    if (!request->has_content_length)
        return ERR_MISSING_CONTENT_LENGTH;
    if (request->content_length > LIMIT_DOCUMENT_BYTES)
        return ERR_BODY_TOO_LARGE;
    /* Memory that is reserved and not filled costs nothing; growing would leave garbage. */
    strbuf_init(&request->document, &request->arena);
    strbuf_reserve(&request->document, (size_t)request->content_length);
    return OK;
}

static enum err find_arguments(struct http_request *request)
{
    const struct http_operation *operation = request->operation;
    enum err err = refuse_unserved_headers(request);
    if (err == OK && operation->level == HTTP_BLOB)
        err = find_snapshot(request);
    if (err == OK && (operation->level == HTTP_SHARE || operation->level == HTTP_NODE))
        err = find_share_snapshot(request);
    if (err == OK && (operation->flags & OP_TAGS) != 0)
        err = find_tags(request);
    if (err == OK &&
        (operation->flags & (OP_CONDITIONS | OP_NO_CONDITIONS | OP_TAG_CONDITION)) != 0)
        err = find_conditions(request);
    if (err == OK && (operation->flags & OP_LEASE_ID) != 0)
        err = find_lease_id(request);
    if (err == OK && (operation->flags & OP_METADATA) != 0)
        err = find_metadata(request);
    if (err == OK && (operation->flags & OP_BODY) != 0 && !request->has_content_length)
        err = ERR_MISSING_CONTENT_LENGTH;
    if (err == OK && (operation->flags & OP_DOCUMENT) != 0)
        err = begin_document(request);
    if (err == OK && operation->prepare != NULL)
        err = operation->prepare(request);
    return err;
}

/* Whether it is refused while the reserve of the disk is all that is left. */
static bool needs_space(const struct http_operation *operation)
{
    return (operation->flags & OP_CHANGE) != 0 && (operation->flags & OP_FREES) == 0 &&
           operation->method != HTTP_DELETE;
}

static enum err understand(struct http_request *request)
{
    const struct http_context *context = request->context;
    enum err err = http_message_parse_target(&request->arena, request->target, &request->message);
    if (err == OK)
        err = find_version(request);
    if (err == OK)
        err = find_content_length(request);
    if (err == OK)
        err = http_address_parse(&request->arena, context->kind, &request->message,
                                 context->accounts, context->path_style_only, &request->address);
    if (err == OK)
        err = find_default_version(request);
    struct access_caller caller;
    if (err == OK)
        err = access_authenticate(request, &caller);
    if (err == OK)
        err = http_route_find(context->kind, &request->message, &request->address,
                              &request->operation, request->details, &request->detail_count);
    if (err == OK)
        err = access_authorize(request, &caller);
    if (err == OK && needs_space(request->operation) && space_is_low(context->service->space))
        err = ERR_NO_SPACE;
    if (err == OK && request->address.secondary && (request->operation->flags & OP_CHANGE) != 0)
        err = ERR_SECONDARY_IS_READ_ONLY;
    if (err == OK)
        err = find_arguments(request);
    return err;
}

void request_begin(struct http_request *request)
{
    assert(request->phase == PHASE_BEGUN);
    const enum err err = understand(request);
    if (err == OK)
        request->phase = PHASE_RECEIVING;
    else
        refuse(request, err);
}

void request_receive(struct http_request *request, struct slice bytes)
{
    request->body_taken += bytes.len;
    if (request->phase != PHASE_RECEIVING)
        return;
    if ((request->operation->flags & OP_DOCUMENT) != 0 &&
        request->body_taken <= request->content_length)
        strbuf_add(&request->document, bytes);
    if (request->body == NULL)
        return;
    if (request->body_taken > request->content_length) {
        refuse(request, ERR_INVALID_INPUT);
        return;
    }
    const enum err err = payload_writer_append(request->body, bytes);
    if (err != OK)
        refuse(request, err);
}

/* --- performing it --- */

bool request_waits(const struct http_request *request)
{
    return request->operation != NULL && (request->operation->flags & (OP_CHANGE | OP_WAITS)) != 0;
}

void request_bind(struct http_request *request, struct service_change *change)
{
    change->arena = &request->arena;
    change->done = request_done;
    change->arg = request;
}

void request_done(void *arg, enum err err)
{
    struct http_request *request = arg;
    assert(request->phase == PHASE_RUNNING);
    request->err = err;
    request->phase = PHASE_RAN;
    request->wake(request->wake_arg);
}

/* A chunked body may be shorter than a Content-Length that comes with it says. */
static bool is_body_complete(const struct http_request *request)
{
    return request->body == NULL || request->body_taken == request->content_length;
}

void request_run(struct http_request *request)
{
    assert(request->phase == PHASE_RECEIVING);
    const bool waits = request_waits(request);
    request->phase = waits ? PHASE_RUNNING : PHASE_ANSWERED;
    const enum err err =
        is_body_complete(request) ? request->operation->run(request) : ERR_INVALID_INPUT;
    /* What was started belongs to the service now; it is touched only if it was not. */
    if (err == OK)
        return;
    if (waits) {
        request_done(request, err);
        return;
    }
    refuse(request, err);
}

/* --- answering --- */

struct http_response *request_respond(struct http_request *request, unsigned status)
{
    http_response_init(&request->response, &request->arena, status);
    return &request->response;
}

static enum http_error_subject subject_of(const struct http_request *request)
{
    switch (request->context->kind->id) {
    case HTTP_SERVICE_OF_FILES:
        return request->address.level == HTTP_NODE ? HTTP_ERROR_OF_FILE : HTTP_ERROR_OF_SHARE;
    case HTTP_SERVICE_OF_BLOBS:
    case HTTP_SERVICE_OF_QUEUES:
    case HTTP_SERVICE_OF_TABLES:
    case HTTP_SERVICE_COUNT:
        break;
    }
    return request->address.level == HTTP_BLOB ? HTTP_ERROR_OF_BLOB : HTTP_ERROR_OF_CONTAINER;
}

void request_write_xml_error(struct http_request *request, const struct http_error *error,
                             struct http_response *response)
{
    char time[DATE_ISO_LEN + 1];
    date_format_iso(request->received_at, time);
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = http_error_body(&request->arena, error, request->id_text, time,
                                     request->details, request->detail_count);
}

static void respond_error(struct http_request *request)
{
    const struct http_error error = http_error_describe(request->err, subject_of(request));
    struct http_response *response = request_respond(request, error.status);
    response->reason = error.message;
    http_response_add_text(response, "x-ms-error-code", error.code);
    if (error.status == 401)
        http_response_add_text(response, "WWW-Authenticate",
                               "Bearer authorization_uri=https://login.microsoftonline.com/common/"
                               "oauth2/authorize resource_id=https://storage.azure.com");
    if (request->err == ERR_INVALID_RANGE && request->operation->method == HTTP_GET)
        http_response_add(
            response, "Content-Range",
            arena_printf(&request->arena, "bytes */%" PRIu64, request->resource_bytes));
    if (error.status == 304 || slice_is(request->message.method, "HEAD"))
        return;
    if (request->context->kind->write_error != NULL)
        request->context->kind->write_error(request, &error, response);
    else
        request_write_xml_error(request, &error, response);
}

void request_answer(struct http_request *request)
{
    assert(request->phase == PHASE_RAN || request->phase == PHASE_REFUSED);
    if (request->err == OK)
        request->operation->respond(request);
    if (request->err != OK)
        respond_error(request);
    request->phase = PHASE_ANSWERED;
}

void request_complete_answer(struct http_request *request)
{
    assert(request->phase == PHASE_ANSWERED);
    if (request->context->kind->is_uncached && request->response.status == 200 &&
        request->operation->method == HTTP_GET)
        http_response_add_text(&request->response, "Cache-Control", "no-cache");
    const enum err err = api_add_cors(request);
    /* The operation is done; a page of another origin that cannot read the answer is the lesser
       evil. */
    if (err != OK)
        log_error("request", "%s: no CORS headers: %s", request->id_text, error_text(err));
}

void request_fail_answer(struct http_request *request, enum err err)
{
    assert(request->phase == PHASE_ANSWERED);
    refuse(request, err);
    request_answer(request);
}
