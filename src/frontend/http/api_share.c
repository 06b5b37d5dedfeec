/*
 * api_share.c - shares: List Shares, Create, Properties, Metadata, ACL, Stats, Snapshot, Lease,
 * Delete, Restore.
 */
#include <inttypes.h>

#include "base/date.h"
#include "base/encoding.h"
#include "frontend/http/api.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_node.h"
#include "frontend/http/xml_policy.h"
#include "frontend/http/xml_write.h"
#include "service/etag.h"
#include "service/limits.h"

static const char default_tier[] = "TransactionOptimized";

static void respond_xml(struct http_request *request, struct http_response *response,
                        const struct strbuf *body)
{
    (void)request;
    http_response_add_text(response, "Content-Type", "application/xml");
    response->body = strbuf_slice(body);
}

/* --- List Shares --- */

struct list_shares {
    struct share_list_request request;
    int64_t now;
    bool with_metadata;
    bool with_leases; /* and other properties that came with them */
    struct strbuf body;
};

/* A marker is a share's name, and after a slash the place among what has that name. */
static enum err read_place(struct http_request *request, struct share_list_request *list)
{
    struct slice marker;
    const enum err err = api_read_marker(request, &marker);
    if (err != OK)
        return err;
    const size_t slash = slice_find_byte(marker, '/');
    list->from = slice_head(slice_head(marker, slash), LIMIT_CONTAINER_NAME_MAX + 1);
    if (slash < marker.len &&
        decimal_parse_i64(slice_from(marker, slash + 1), &list->from_place) != OK)
        return request_fault_parameter(request, ERR_INVALID_QUERY_PARAMETER, "marker");
    return OK;
}

enum err list_shares_prepare(struct http_request *request)
{
    static const char *const words[] = { "metadata", "snapshots", "deleted", NULL };
    struct list_shares *list = arena_alloc(&request->arena, sizeof(*list));
    request->arguments = list;
    list->request.account = slice_of(request->address.account->name);
    list->request.prefix = slice_head(http_message_parameter(&request->message, "prefix"),
                                      LIMIT_CONTAINER_NAME_MAX + 1);
    unsigned included;
    enum err err = api_include(request, words, &included);
    if (err == OK)
        err = read_place(request, &list->request);
    if (err != OK)
        return err;
    list->with_metadata = (included & 1) != 0;
    list->request.with_snapshots = (included & 2) != 0;
    list->request.with_deleted = (included & 4) != 0;
    list->with_leases = request->version >= 20200210;
    list->now = request->received_at;
    return api_results_max(request, &list->request.results_max);
}

static void add_date(struct strbuf *body, const char *element, int64_t ticks)
{
    char date[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(ticks, date);
    xml_add_element(body, element, slice_of(date));
}

/* What tells a snapshot, or a deleted share, from the share of that name. */
static void add_identity(struct strbuf *body, const struct share *share)
{
    if (share->snapshot != 0) {
        char snapshot[DATE_ISO_LEN + 1];
        date_format_iso(share->snapshot, snapshot);
        xml_add_element(body, "Snapshot", slice_of(snapshot));
    }
    if (share->deleted_at != 0)
        strbuf_printf(body, "<Deleted>true</Deleted><Version>%016" PRIX64 "</Version>",
                      share->incarnation);
}

static struct slice tier_of(const struct share *share)
{
    return share->access_tier.len > 0 ? share->access_tier : slice_of(default_tier);
}

static int64_t tier_changed_at(const struct share *share)
{
    return share->tier_changed_at != 0 ? share->tier_changed_at : share->created_at;
}

static void add_retention(struct strbuf *body, const struct share *share, int64_t now)
{
    const int64_t day = INT64_C(24) * 3600 * CLOCK_TICKS_PER_MS * 1000;
    const int64_t left = share->expires_at > now ? share->expires_at - now : 0;
    add_date(body, "DeletedTime", share->deleted_at);
    strbuf_printf(body, "<RemainingRetentionDays>%" PRId64 "</RemainingRetentionDays>",
                  (left + day - 1) / day);
}

static void add_share_properties(const struct list_shares *list, struct strbuf *body,
                                 const struct share *share)
{
    char etag[ETAG_TEXT_LEN_MAX + 1];
    etag_format(share->etag, etag);
    strbuf_add_text(body, "<Properties>");
    add_date(body, "Last-Modified", share->etag);
    xml_add_element(body, "Etag", slice_of(etag));
    strbuf_printf(body, "<Quota>%" PRIu64 "</Quota>", share->quota_gib);
    if (list->with_leases) {
        xml_add_element(body, "AccessTier", tier_of(share));
        add_date(body, "AccessTierChangeTime", tier_changed_at(share));
        if (share->deleted_at == 0) {
            xml_add_element(body, "LeaseStatus", slice_of(api_lease_status(&share->lease)));
            xml_add_element(body, "LeaseState", slice_of(api_lease_state(&share->lease)));
            if (api_lease_duration(&share->lease) != NULL)
                xml_add_element(body, "LeaseDuration", slice_of(api_lease_duration(&share->lease)));
        }
        strbuf_add_text(body, "<EnabledProtocols>SMB</EnabledProtocols>");
    }
    if (share->deleted_at != 0)
        add_retention(body, share, list->now);
    strbuf_add_text(body, "</Properties>");
}

static bool emit_share(void *arg, struct slice name, const struct share *share)
{
    struct list_shares *list = arg;
    struct strbuf *body = &list->body;
    strbuf_add_text(body, "<Share>");
    xml_add_name(body, "Name", name);
    add_identity(body, share);
    add_share_properties(list, body, share);
    if (list->with_metadata)
        api_list_metadata(body, &share->metadata);
    strbuf_add_text(body, "</Share>");
    return body->len < LIMIT_LIST_BODY_BYTES;
}

enum err list_shares_run(struct http_request *request)
{
    struct list_shares *list = request->arguments;
    struct strbuf *body = &list->body;
    struct slice next = { 0 };
    int64_t next_place = 0;
    strbuf_init(body, &request->arena);
    api_begin_listing(request, body);
    strbuf_add_text(body, "<Shares>");
    list->request.emit = emit_share;
    list->request.arg = list;
    const enum err err =
        share_list(request->context->service, &request->arena, &list->request, &next, &next_place);
    if (err != OK)
        return err;
    strbuf_add_text(body, "</Shares>");
    if (next.len > 0)
        next = arena_printf(&request->arena, "%.*s/%" PRId64, (int)next.len, next.data, next_place);
    xml_add_element(body, "NextMarker", api_make_marker(&request->arena, next));
    strbuf_add_text(body, "</EnumerationResults>");
    respond_xml(request, request_respond(request, 200), body);
    return OK;
}

/* --- reads --- */

static enum err get_share(struct http_request *request, struct share *share)
{
    const struct share_name name = api_share_name(request);
    return share_get(request->context->service, &request->arena, &name,
                     request->has_lease_id ? &request->lease_id : NULL, share);
}

enum err get_share_properties_run(struct http_request *request)
{
    struct share share;
    const enum err err = get_share(request, &share);
    if (err != OK)
        return err;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, share.etag);
    api_add_metadata(response, &share.metadata);
    http_response_add_number(response, "x-ms-share-quota", share.quota_gib);
    http_response_add_text(response, "x-ms-has-immutability-policy", "false");
    http_response_add_text(response, "x-ms-has-legal-hold", "false");
    if (request->version < 20200210)
        return OK;
    http_response_add(response, "x-ms-access-tier", tier_of(&share));
    http_response_add_date(response, "x-ms-access-tier-change-time", tier_changed_at(&share));
    http_response_add_text(response, "x-ms-enabled-protocols", "SMB");
    http_response_add(response, "x-ms-root-squash", share.root_squash);
    api_add_lease(response, &share.lease);
    return OK;
}

enum err get_share_metadata_run(struct http_request *request)
{
    struct share share;
    const enum err err = get_share(request, &share);
    if (err != OK)
        return err;
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, share.etag);
    api_add_metadata(response, &share.metadata);
    return OK;
}

enum err get_share_acl_run(struct http_request *request)
{
    struct share share;
    const enum err err = get_share(request, &share);
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_policy_write(&body, &share.policies);
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, share.etag);
    respond_xml(request, response, &body);
    return OK;
}

enum err get_share_stats_run(struct http_request *request)
{
    const struct share_name name = api_share_name(request);
    struct share share;
    uint64_t bytes = 0;
    enum err err = get_share(request, &share);
    if (err == OK)
        err = share_get_usage(request->context->service, &request->arena, &name, NULL, &bytes);
    if (err != OK)
        return err;
    struct strbuf body;
    strbuf_init(&body, &request->arena);
    xml_begin_document(&body);
    strbuf_printf(&body, "<ShareStats><ShareUsageBytes>%" PRIu64 "</ShareUsageBytes></ShareStats>",
                  bytes);
    struct http_response *response = request_respond(request, 200);
    http_response_add_etag(response, share.etag);
    respond_xml(request, response, &body);
    return OK;
}

/* --- changes --- */

static struct share_change *new_change(struct http_request *request)
{
    struct share_change *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_share_name(request);
    change->metadata = request->metadata;
    change->has_metadata = request->metadata.count > 0;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    return change;
}

enum err share_change_prepare(struct http_request *request)
{
    (void)new_change(request);
    return OK;
}

/* A header that is one of a few words; the value is the word as it is written here. */
static enum err read_word(struct http_request *request, const char *header,
                          const char *const words[], struct slice *word)
{
    const struct slice value = http_message_header(&request->message, header);
    *word = (struct slice){ 0 };
    if (value.len == 0)
        return OK;
    for (size_t i = 0; words[i] != NULL; i++) {
        if (slice_equal_nocase(value, slice_of(words[i]))) {
            *word = slice_of(words[i]);
            return OK;
        }
    }
    return request_fault_header(request, ERR_INVALID_HEADER, header);
}

/* Create Share and Set Share Properties. */
enum err share_properties_prepare(struct http_request *request)
{
    static const char *const tiers[] = { default_tier, "Hot", "Cool", NULL };
    static const char *const squashes[] = { "NoRootSquash", "RootSquash", "AllSquash", NULL };
    static const char *const protocols[] = { "SMB", "NFS", NULL };
    struct share_change *change = new_change(request);
    struct slice protocol;
    bool has_quota;
    enum err err = api_number_header(request, "x-ms-share-quota", LIMIT_SHARE_QUOTA_GIB_MAX,
                                     &has_quota, &change->quota_gib);
    if (err == OK && has_quota && change->quota_gib == 0)
        err = request_fault_header(request, ERR_INVALID_HEADER, "x-ms-share-quota");
    if (err == OK)
        err = read_word(request, "x-ms-access-tier", tiers, &change->access_tier);
    if (err == OK)
        err = read_word(request, "x-ms-root-squash", squashes, &change->root_squash);
    if (err == OK)
        err = read_word(request, "x-ms-enabled-protocols", protocols, &protocol);
    if (err == OK && slice_is(protocol, "NFS"))
        err = ERR_NOT_IMPLEMENTED;
    return err;
}

enum err create_share_run(struct http_request *request)
{
    share_create(request->context->service, request->arguments);
    return OK;
}

void create_share_respond(struct http_request *request)
{
    const struct share_change *change = request->arguments;
    http_response_add_etag(request_respond(request, 201), change->share.etag);
}

enum err set_share_properties_run(struct http_request *request)
{
    share_set_properties(request->context->service, request->arguments);
    return OK;
}

enum err set_share_metadata_run(struct http_request *request)
{
    share_set_metadata(request->context->service, request->arguments);
    return OK;
}

enum err set_share_acl_run(struct http_request *request)
{
    struct share_change *change = request->arguments;
    struct xml_fault fault;
    const enum err err = xml_policy_read(&request->arena, strbuf_slice(&request->document),
                                         &change->policies, &fault);
    if (err == ERR_INVALID_XML)
        return api_fault_xml(request, &fault);
    if (err == OK)
        share_set_acl(request->context->service, change);
    return err;
}

void share_changed_respond(struct http_request *request)
{
    const struct share_change *change = request->arguments;
    http_response_add_etag(request_respond(request, 200), change->share.etag);
}

enum err snapshot_share_run(struct http_request *request)
{
    share_snapshot(request->context->service, request->arguments);
    return OK;
}

void snapshot_share_respond(struct http_request *request)
{
    const struct share_change *change = request->arguments;
    struct http_response *response = request_respond(request, 201);
    http_response_add_etag(response, change->share.etag);
    api_add_instant(response, "x-ms-snapshot", change->share.snapshot);
}

/* --- Delete Share, Restore Share --- */

enum err delete_share_prepare(struct http_request *request)
{
    static const char *const words[] = { "include", "include-leased", NULL };
    const char *const header = "x-ms-delete-snapshots";
    struct share_change *change = new_change(request);
    struct slice word;
    const enum err err = read_word(request, header, words, &word);
    if (err != OK)
        return err;
    if (word.len > 0 && request->snapshot != 0)
        return request_fault_header(request, ERR_INVALID_HEADER, header);
    change->snapshots = word.len == 0               ? SHARE_SNAPSHOTS_NONE
                        : slice_is(word, "include") ? SHARE_SNAPSHOTS_INCLUDE
                                                    : SHARE_SNAPSHOTS_INCLUDE_LEASED;
    return OK;
}

enum err delete_share_run(struct http_request *request)
{
    share_delete(request->context->service, request->arguments);
    return OK;
}

void delete_share_respond(struct http_request *request)
{
    (void)request_respond(request, 202);
}

/* Sixteen digits, as List Shares gives them. */
static bool parse_version(struct slice text, uint64_t *version)
{
    *version = 0;
    if (text.len != 16)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const int digit = hex_digit_value(text.data[i]);
        if (digit < 0)
            return false;
        *version = *version << 4 | (uint64_t)digit;
    }
    return true;
}

enum err restore_share_prepare(struct http_request *request)
{
    const char *const name_header = "x-ms-deleted-share-name";
    const char *const version_header = "x-ms-deleted-share-version";
    struct share_change *change = new_change(request);
    const struct slice version = http_message_header(&request->message, version_header);
    change->deleted_name = http_message_header(&request->message, name_header);
    if (change->deleted_name.len == 0)
        return request_fault_header(request, ERR_MISSING_HEADER, name_header);
    if (version.len == 0)
        return request_fault_header(request, ERR_MISSING_HEADER, version_header);
    if (share_name_check(change->deleted_name) != OK)
        return request_fault_header(request, ERR_INVALID_HEADER, name_header);
    if (!parse_version(version, &change->deleted_version))
        return request_fault_header(request, ERR_INVALID_HEADER, version_header);
    return OK;
}

enum err restore_share_run(struct http_request *request)
{
    share_restore(request->context->service, request->arguments);
    return OK;
}

/* --- Lease Share --- */

enum err share_lease_prepare(struct http_request *request)
{
    struct share_lease *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_share_name(request);
    return api_lease_request(request, &change->lease);
}

enum err share_lease_run(struct http_request *request)
{
    share_lease(request->context->service, request->arguments);
    return OK;
}

void share_lease_respond(struct http_request *request)
{
    const struct share_lease *change = request->arguments;
    api_respond_lease(request, &change->lease, change->share.etag);
    if (change->lease.action == LEASE_ACTION_RELEASE)
        http_response_add_number(&request->response, "x-ms-lease-time", 0);
}
