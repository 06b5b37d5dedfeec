/*
 * blob.c - see blob.h.  Each change is a decision function (`..._decide`): it reads the record,
 * checks lease and conditions, and writes record and content, all inside one update of the
 * container's partition.
 *
 * The container is looked up before the update, in another partition.  If it is deleted in between,
 * the write counts as having come first: it was under way when the deletion took effect, and its
 * blob is gone like the others.  Once the sweeper has closed the partition such a write is refused.
 */
#include "service/blob/blob.h"

#include <assert.h>

#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/history.h"
#include "service/blob/page.h"
#include "service/blob/segments.h"
#include "service/blob/snapshot.h"
#include "service/blob/tag.h"
#include "service/blob/tag_index.h"
#include "service/blob/tier.h"

struct slice blob_record_key(struct arena *arena, const struct blob_name *name)
{
    if (name->version != 0)
        return history_key(arena, name->blob, (uint64_t)name->version, HISTORY_VERSION);
    return name->snapshot == 0 ? blob_key(arena, name->blob)
                               : snapshot_key(arena, name->blob, name->snapshot);
}

/* --- reads --- */

static struct condition_state state_of(const struct blob *blob, bool exists)
{
    return (struct condition_state){
        .exists = exists,
        .etag = exists ? blob->etag : 0,
        .last_modified = exists ? blob->etag : 0,
    };
}

enum err blob_get_in_view(struct service *service, struct partition_view *view, struct arena *arena,
                          const struct blob_get_request *request, struct blob *blob)
{
    struct blob_name where = request->name;
    enum err err = history_view_find(view, arena, &where, blob);
    if (err == OK) {
        blob->is_current = blob->version_id != 0 && where.snapshot == 0 && where.version == 0;
        err = lease_check_read(&blob->lease, LEASE_OF_BLOB,
                               request->has_lease_id ? &request->lease_id : NULL,
                               clock_now(service->clock) / CLOCK_TICKS_PER_MS);
    }
    if (err == OK) {
        const struct condition_state state = state_of(blob, true);
        err = condition_check_read(&request->condition, &state);
    }
    if (err == OK)
        err = tag_check(request->condition.if_tags, &blob->tags);
    if (err == OK)
        tier_settle(blob, clock_now(service->clock));
    if (err == OK && request->want_payload)
        err = tier_check_online(blob);
    if (err == OK && request->want_payload && where.snapshot == 0)
        err = blob_check_usable(blob);
    return err;
}

static void close_view(void *view)
{
    partition_view_close(view);
}

/* The same state for as long as the arena lives: for content that is read piece by piece. */
static enum err get_in_long_view(struct service *service, struct slice partition,
                                 struct arena *arena, const struct blob_get_request *request,
                                 struct blob *blob, struct payload_reader *payload)
{
    struct partition_view *view = arena_alloc(arena, sizeof(*view));
    partition_view_open_long(service->store, partition, view);
    arena_on_clear(arena, close_view, view);
    const enum err err = blob_get_in_view(service, view, arena, request, blob);
    return err == OK ? content_open(service, view, arena, &blob->content, payload) : err;
}

enum err blob_get(struct service *service, struct arena *arena,
                  const struct blob_get_request *request, struct blob *blob,
                  struct payload_reader *payload)
{
    struct slice partition;
    enum err err = container_find_blobs(service, arena, &request->name.container, &partition);
    if (err != OK)
        return err;
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    err = blob_get_in_view(service, &view, arena, request, blob);
    const bool in_pieces = err == OK && blob->content.place == CONTENT_SEGMENTS;
    if (err == OK && request->want_payload && !in_pieces)
        err = content_open(service, &view, arena, &blob->content, payload);
    partition_view_close(&view);
    if (in_pieces && request->want_payload)
        return get_in_long_view(service, partition, arena, request, blob, payload);
    return err;
}

/* --- changes --- */

int64_t change_now_ms(const struct change *change)
{
    return change_now(change) / CLOCK_TICKS_PER_MS;
}

enum err blob_decide_get_record(struct change *change, const struct blob_name *name,
                                struct blob *blob)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    enum err err = change_get(change, closed_key(), &row);
    if (err == OK)
        return ERR_CONTAINER_NOT_FOUND;
    if (err != ERR_NOT_FOUND)
        return err;
    int64_t floor = 0;
    err = name->snapshot != 0 ? snapshots_floor(change, name->blob, &floor) : OK;
    if (err == OK && name->snapshot < floor)
        return ERR_BLOB_NOT_FOUND;
    if (err == OK)
        err = change_get(change, blob_record_key(arena, name), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_BLOB_NOT_FOUND;
    if (err == OK)
        err = blob_decode(arena, row, blob);
    if (err == OK)
        tier_settle(blob, change_now(change));
    return err;
}

enum err blob_decide_get(struct change *change, struct slice name, struct blob *blob)
{
    return blob_decide_get_record(change, &(struct blob_name){ .blob = name }, blob);
}

void blob_decide_put_record(struct change *change, const struct blob_name *name,
                            const struct blob *blob)
{
    struct arena *arena = change_arena(change);
    change_put(change, blob_record_key(arena, name), blob_encode(arena, blob));
}

void blob_decide_put(struct change *change, struct slice name, const struct blob *blob)
{
    blob_decide_put_record(change, &(struct blob_name){ .blob = name }, blob);
}

static const struct uuid *lease_id_of(const struct blob_change *request)
{
    return request->has_lease_id ? &request->lease_id : NULL;
}

/* Until a copy is over, nobody but the copy changes its destination. */
static enum err check_no_pending_copy(const struct blob *blob)
{
    return blob->copy.status == BLOB_COPY_PENDING ? ERR_PENDING_COPY : OK;
}

/* The destination of incremental copies is for them alone: it can be looked at and deleted, and its
   snapshots are as others are (Incremental Copy Blob). */
enum err blob_check_usable(const struct blob *blob)
{
    return blob->copy.incremental ? ERR_INCREMENTAL_BLOB : OK;
}

/* Lease and conditions of a request that replaces the blob, which may not exist. */
static enum err check_replace(const struct change *change, const struct blob_change *request,
                              struct blob *old, bool exists)
{
    if (exists && request->create_only)
        return ERR_UNAUTHORIZED_OVERWRITE;
    struct lease *lease = &old->lease;
    enum err err =
        lease_check_write(lease, LEASE_OF_BLOB, lease_id_of(request), change_now_ms(change));
    if (err != OK)
        return err;
    const struct condition_state state = state_of(old, exists);
    err = condition_check_replace(&request->condition, &state,
                                  request->has_lease_id && lease_is_locked(lease));
    if (err == OK)
        err = tag_check(request->condition.if_tags, &old->tags);
    if (err == OK)
        err = check_no_pending_copy(old);
    if (err == OK && !request->is_incremental_copy)
        err = blob_check_usable(old);
    return err == OK && exists ? tier_check_online(old) : err;
}

/* A blob that is written anew stays in its tier unless the request names one. */
static void choose_tier(const struct change *change, const struct blob_change *request,
                        const struct blob *old, struct blob *blob)
{
    if (blob->type != BLOB_BLOCK)
        return;
    if (request->tier.len > 0) {
        blob->tier = request->tier;
        blob->tier_changed_at = change_now(change);
    } else if (old->type == BLOB_BLOCK) {
        blob->tier = old->tier;
        blob->tier_changed_at = old->tier_changed_at;
    }
}

enum err blob_decide_for_replace(struct change *change, const struct blob_change *request,
                                 struct blob *old, bool *exists)
{
    *old = (struct blob){ 0 };
    enum err err = blob_decide_get(change, request->name.blob, old);
    if (err != OK && err != ERR_BLOB_NOT_FOUND)
        return err;
    *exists = err == OK;
    if (!*exists) {
        err = uncommitted_get_lease(change, request->name.blob, &old->lease);
        if (err != OK)
            return err;
    }
    return check_replace(change, request, old, *exists);
}

enum err blob_decide_replace(struct change *change, struct blob_change *request,
                             const struct blob *old, bool exists, struct blob *blob)
{
    const struct blob_protection *protection = &request->protection;
    const struct slice name = request->name.blob;
    enum err err = exists ? history_replaced(change, protection, name, old, blob->type)
                          : history_begin(change, protection, name, blob->type);
    if (err == OK)
        err = uncommitted_discard(change, request->name.blob);
    if (err != OK)
        return err;
    blob->etag = change_now(change);
    blob->made_at = change_now(change);
    blob->created_at = exists ? old->created_at : change_now(change);
    blob->lease = old->lease;
    lease_forget(&blob->lease, change_now_ms(change));
    blob->tags = request->tags;
    tag_index_update(change, request->name.blob, &old->tags, &blob->tags);
    choose_tier(change, request, old, blob);
    blob->version_id = history_version_id(change, protection);
    blob_decide_put(change, request->name.blob, blob);
    request->etag = blob->etag;
    request->version_id = blob->version_id;
    return OK;
}

static enum err put_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob old;
    bool exists;
    const enum err err = blob_decide_for_replace(change, request, &old, &exists);
    if (err != OK)
        return err;
    struct blob blob = {
        .properties = request->properties,
        .metadata = request->metadata,
    };
    const uint64_t content_id = (uint64_t)change_now(change);
    blob.content = payload_writer_store(request->payload, change, content_id,
                                        content_key(change_arena(change), content_id));
    return blob_decide_replace(change, request, &old, exists, &blob);
}

enum err blob_decide_check(struct change *change, const struct blob_change *request,
                           struct blob *blob)
{
    enum err err =
        lease_check_write(&blob->lease, LEASE_OF_BLOB, lease_id_of(request), change_now_ms(change));
    if (err == OK) {
        const struct condition_state state = state_of(blob, true);
        err = condition_check_write(&request->condition, &state);
    }
    if (err == OK)
        err = tag_check(request->condition.if_tags, &blob->tags);
    return err == OK ? check_no_pending_copy(blob) : err;
}

enum err blob_decide_checked(struct change *change, const struct blob_change *request,
                             struct blob *blob)
{
    const enum err err = blob_decide_get_record(change, &request->name, blob);
    return err == OK ? blob_decide_check(change, request, blob) : err;
}

enum err blob_decide_for_write(struct change *change, const struct blob_change *request,
                               struct blob *blob)
{
    enum err err = blob_decide_checked(change, request, blob);
    if (err == OK)
        err = blob_check_usable(blob);
    return err == OK ? tier_check_online(blob) : err;
}

void blob_decide_put_changed(struct change *change, struct blob_change *request, struct blob *blob)
{
    blob->etag = change_now(change);
    lease_forget(&blob->lease, change_now_ms(change));
    if (!request->keeps_copy)
        blob->copy = (struct blob_copy){ 0 };
    blob_decide_put(change, request->name.blob, blob);
    request->etag = blob->etag;
}

static enum err set_properties_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob blob;
    enum err err = blob_decide_for_write(change, request, &blob);
    if (err != OK)
        return err;
    if (!request->keep_properties)
        blob.properties = request->properties;
    if (request->page != NULL)
        err = page_properties_apply(change, request->page, &blob);
    if (err != OK)
        return err;
    blob_decide_put_changed(change, request, &blob);
    request->type = blob.type;
    request->sequence_number = blob.sequence_number;
    return OK;
}

static enum err set_metadata_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob blob;
    enum err err = blob_decide_for_write(change, request, &blob);
    if (err == OK)
        err = history_fork(change, &request->protection, request->name.blob, &blob);
    if (err != OK)
        return err;
    blob.metadata = request->metadata;
    blob_decide_put_changed(change, request, &blob);
    request->version_id = blob.version_id;
    return OK;
}

/* Delete one snapshot and nothing else. */
static enum err delete_snapshot(struct change *change, struct blob_change *request)
{
    struct blob blob;
    const enum err err = blob_decide_checked(change, request, &blob);
    if (err != OK)
        return err;
    change_delete(change, blob_record_key(change_arena(change), &request->name));
    return history_deleted(change, &request->protection, &request->name, &blob, &request->was_kept);
}

/* The same for a version. */
static enum err delete_version(struct change *change, struct blob_change *request)
{
    struct blob_name where = request->name;
    struct blob blob;
    enum err err = history_find(change, &where, &blob);
    if (err == OK && where.version == 0)
        err = ERR_CURRENT_VERSION;
    if (err == OK)
        err = blob_decide_check(change, request, &blob);
    if (err != OK)
        return err;
    return history_delete_version(change, &request->protection, &where, &blob, &request->was_kept);
}

static enum err delete_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob blob;
    request->was_kept = false;
    if (request->is_permanent_delete)
        return history_delete_for_good(change, request);
    if (request->name.snapshot != 0)
        return delete_snapshot(change, request);
    if (request->name.version != 0)
        return delete_version(change, request);
    enum err err = blob_decide_checked(change, request, &blob);
    if (err == ERR_BLOB_NOT_FOUND)
        return uncommitted_delete(change, request);
    if (err == OK)
        err = snapshots_delete(change, request);
    if (err != OK || request->snapshots == BLOB_SNAPSHOTS_ONLY)
        return err;
    tag_index_update(change, request->name.blob, &blob.tags, &(struct metadata){ 0 });
    change_delete(change, blob_key(change_arena(change), request->name.blob));
    err = history_deleted(change, &request->protection, &request->name, &blob, &request->was_kept);
    return err == OK ? uncommitted_discard(change, request->name.blob) : err;
}

static void payload_settle(struct service_change *base, enum err err)
{
    struct blob_change *request = (struct blob_change *)base;
    if (err == OK)
        payload_writer_commit(request->payload);
}

static void payload_synced(void *arg)
{
    struct blob_change *request = arg;
    service_update(request->base.service, &request->base, request->partition, request->decide);
}

void blob_start_payload(struct service *service, struct blob_change *change, change_fn *decide)
{
    const enum err err = container_find_blobs(service, change->base.arena, &change->name.container,
                                              &change->partition);
    if (err != OK) {
        service_refuse(&change->base, err);
        return;
    }
    change->base.service = service;
    change->base.settle = payload_settle;
    change->decide = decide;
    payload_writer_sync(change->payload, payload_synced, change);
}

bool blob_find_protection(struct service *service, struct blob_change *change)
{
    const enum err err = history_find_protection(
        service, change->base.arena, change->name.container.account, &change->protection);
    if (err != OK)
        service_refuse(&change->base, err);
    return err == OK;
}

void blob_put(struct service *service, struct blob_change *change)
{
    if (blob_find_protection(service, change))
        blob_start_payload(service, change, put_decide);
}

void blob_start(struct service *service, struct service_change *base,
                const struct container_name *container, change_fn *decide)
{
    struct slice partition;
    const enum err err = container_find_blobs(service, base->arena, container, &partition);
    if (err == OK)
        service_update(service, base, partition, decide);
    else
        service_refuse(base, err);
}

void blob_set_properties(struct service *service, struct blob_change *change)
{
    blob_start(service, &change->base, &change->name.container, set_properties_decide);
}

void blob_set_metadata(struct service *service, struct blob_change *change)
{
    /* No soft delete keeps what this replaces. */
    change->protection = (struct blob_protection){ .keeps_versions = service->blob_versioning };
    blob_start(service, &change->base, &change->name.container, set_metadata_decide);
}

void blob_delete(struct service *service, struct blob_change *change)
{
    if (blob_find_protection(service, change))
        blob_start(service, &change->base, &change->name.container, delete_decide);
}

static enum err lease_decide(struct change *change, void *arg)
{
    struct blob_lease *request = arg;
    struct blob blob;
    enum err err = blob_decide_get(change, request->name.blob, &blob);
    if (err == ERR_BLOB_NOT_FOUND)
        return uncommitted_lease(change, request);
    if (err == OK) {
        const struct condition_state state = state_of(&blob, true);
        err = condition_check_write(&request->condition, &state);
    }
    if (err == OK)
        err = tag_check(request->condition.if_tags, &blob.tags);
    if (err == OK)
        err = check_no_pending_copy(&blob);
    if (err == OK)
        err = blob_check_usable(&blob);
    if (err == OK)
        err = lease_request_apply(&request->lease, &blob.lease, change_now_ms(change));
    if (err != OK)
        return err;
    /* A lease action changes neither the ETag nor Last-Modified. */
    blob_decide_put(change, request->name.blob, &blob);
    request->etag = blob.etag;
    request->lease_now = blob.lease;
    return OK;
}

void blob_lease(struct service *service, struct blob_lease *change)
{
    blob_start(service, &change->base, &change->name.container, lease_decide);
}
