/*
 * api_snapshot.c - Snapshot Blob and Set Blob Tier.
 */
#include "frontend/http/api.h"

#include "base/date.h"
#include "frontend/http/api_common.h"
#include "service/blob/snapshot.h"
#include "service/blob/tier.h"

/* --- Snapshot Blob --- */

enum err snapshot_blob_prepare(struct http_request *request)
{
    struct blob_snapshot *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_blob_name(request);
    change->condition = request->condition;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    change->metadata = request->metadata;
    return OK;
}

enum err snapshot_blob_run(struct http_request *request)
{
    blob_snapshot(request->context->service, request->arguments);
    return OK;
}

void snapshot_blob_respond(struct http_request *request)
{
    const struct blob_snapshot *change = request->arguments;
    struct http_response *response = request_respond(request, 201);
    char snapshot[DATE_ISO_LEN + 1];
    date_format_iso(change->snapshot, snapshot);
    http_response_add(response, "x-ms-snapshot", slice_of(snapshot));
    http_response_add_etag(response, change->etag);
    api_add_version(request, change->version_id);
    /* The service writes no bytes for a snapshot and says false. */
    http_response_add_text(response, "x-ms-request-server-encrypted", "false");
}

/* --- Set Blob Tier --- */

enum err set_blob_tier_prepare(struct http_request *request)
{
    const char *const header = "x-ms-access-tier";
    const char *const priority = "x-ms-rehydrate-priority";
    struct blob_set_tier *change = arena_alloc(&request->arena, sizeof(*change));
    request->arguments = change;
    request_bind(request, &change->base);
    change->name = api_blob_name(request);
    change->condition = request->condition;
    change->has_lease_id = request->has_lease_id;
    change->lease_id = request->lease_id;
    const struct slice tier = http_message_header(&request->message, header);
    if (tier.len == 0)
        return request_fault_header(request, ERR_MISSING_HEADER, header);
    change->tier = tier_word(tier);
    if (change->tier.len == 0)
        return ERR_INVALID_TIER;
    const struct slice word = http_message_header(&request->message, priority);
    change->priority = tier_priority_word(word);
    if (word.len > 0 && change->priority.len == 0)
        return request_fault_header(request, ERR_INVALID_HEADER, priority);
    return OK;
}

enum err set_blob_tier_run(struct http_request *request)
{
    blob_set_tier(request->context->service, request->arguments);
    return OK;
}

void set_blob_tier_respond(struct http_request *request)
{
    const struct blob_set_tier *change = request->arguments;
    request_respond(request, change->is_pending ? 202 : 200);
}
