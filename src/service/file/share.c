/*
 * share.c - see share.h.  Each change is a decision function (`..._decide`) that reads the record,
 * checks lease and snapshots, and writes the record, all inside one update of the account's
 * partition; taking a snapshot begins with one of the share's own partition.
 */
#include "service/file/share.h"

#include <assert.h>

#include "service/account_partition.h"
#include "service/file/file_name.h"
#include "service/file/share_state.h"
#include "service/limits.h"
#include "service/service_properties.h"
#include "service/sweeper.h"

/* --- reads --- */

/* Where a record is read from: a change, a view, or the latest rows. */
struct share_source {
    struct change *change;
    struct partition_view *view;
    struct service *service;
    struct slice partition; /* of the account */
    struct arena *arena;
};

static enum err source_get(const struct share_source *source, struct slice key, struct slice *row)
{
    if (source->change != NULL)
        return change_get(source->change, key, row);
    if (source->view != NULL)
        return partition_view_get(source->view, source->arena, key, row);
    assert(source->service != NULL);
    return partition_get_often(source->service->store, source->arena, source->partition, key, row);
}

/* The record of a share or snapshot, and its key. */
static enum err find_share(const struct share_source *source, const struct share_name *name,
                           struct share *share, struct slice *key)
{
    struct slice row;
    *key = share_key(source->arena, name->share);
    enum err err = source_get(source, *key, &row);
    if (err == OK)
        err = share_decode(source->arena, row, share);
    if (err != OK || name->snapshot == 0)
        return err == ERR_NOT_FOUND ? ERR_SHARE_NOT_FOUND : err;
    *key = share_snapshot_key(source->arena, share->incarnation, name->snapshot);
    err = source_get(source, *key, &row);
    if (err == ERR_NOT_FOUND)
        return ERR_SHARE_SNAPSHOT_NOT_FOUND;
    return err == OK ? share_decode(source->arena, row, share) : err;
}

/* A snapshot takes two rows, which have to be of one state. */
static enum err read_share(struct service *service, struct arena *arena,
                           const struct share_name *name, struct share *share)
{
    struct share_source source = {
        .service = service,
        .partition = account_partition(arena, name->account),
        .arena = arena,
    };
    struct slice key;
    if (name->snapshot == 0)
        return find_share(&source, name, share, &key);
    struct partition_view view;
    partition_view_open(service->store, source.partition, &view);
    source.view = &view;
    const enum err err = find_share(&source, name, share, &key);
    partition_view_close(&view);
    return err;
}

enum err share_get(struct service *service, struct arena *arena, const struct share_name *name,
                   const struct uuid *lease_id, struct share *share)
{
    const enum err err = read_share(service, arena, name, share);
    if (err != OK)
        return err;
    const int64_t now_ms = clock_now(service->clock) / CLOCK_TICKS_PER_MS;
    return lease_check_read(&share->lease, LEASE_OF_CONTAINER, lease_id, now_ms);
}

enum err share_get_usage(struct service *service, struct arena *arena,
                         const struct share_name *name, const struct uuid *lease_id,
                         uint64_t *bytes)
{
    struct share share;
    struct share_state state = { 0 };
    struct slice row;
    enum err err = share_get(service, arena, name, lease_id, &share);
    if (err != OK)
        return err;
    err = partition_get(service->store, arena, file_partition(arena, share.incarnation),
                        share_state_key(), &row);
    if (err == OK)
        err = share_state_decode(row, &state);
    *bytes = state.used_bytes;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- changes in general --- */

static struct share_source source_of(struct change *change)
{
    return (struct share_source){ .change = change, .arena = change_arena(change) };
}

/* The record as a result: without what lives only as long as the decision. */
static struct share share_result(const struct share *share)
{
    struct share result = *share;
    result.metadata = (struct metadata){ 0 };
    result.policies = (struct access_policies){ 0 };
    result.access_tier = (struct slice){ 0 };
    result.root_squash = (struct slice){ 0 };
    return result;
}

static int64_t change_now_ms(const struct change *change)
{
    return change_now(change) / CLOCK_TICKS_PER_MS;
}

/* The record a change is about, which needs its lease. */
static enum err get_for_change(struct change *change, const struct share_change *request,
                               struct share *share, struct slice *key)
{
    const struct share_source source = source_of(change);
    const enum err err = find_share(&source, &request->name, share, key);
    if (err != OK)
        return err;
    return lease_check_write(&share->lease, LEASE_OF_CONTAINER,
                             request->has_lease_id ? &request->lease_id : NULL,
                             change_now_ms(change));
}

static enum err put_changed(struct change *change, struct share_change *request, struct slice key,
                            struct share *share)
{
    share->etag = change_now(change);
    change_put(change, key, share_encode(change_arena(change), share));
    request->share = share_result(share);
    return OK;
}

static void start(struct service *service, struct service_change *base, struct slice account,
                  change_fn *decide)
{
    service_update(service, base, account_partition(base->arena, account), decide);
}

/* A change of a share, which is not one of a snapshot. */
static void start_on_share(struct service *service, struct share_change *change, change_fn *decide)
{
    if (change->name.snapshot != 0)
        service_refuse(&change->base, ERR_OPERATION_ON_SNAPSHOT);
    else
        start(service, &change->base, change->name.account, decide);
}

/* --- create, properties, metadata, policies --- */

static void apply_properties(struct change *change, const struct share_change *request,
                             struct share *share)
{
    if (request->quota_gib != 0)
        share->quota_gib = request->quota_gib;
    if (request->access_tier.len > 0) {
        share->access_tier = request->access_tier;
        share->tier_changed_at = change_now(change);
    }
    if (request->root_squash.len > 0)
        share->root_squash = request->root_squash;
}

static enum err create_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    const int64_t now = change_now(change);
    const struct slice key = share_key(change_arena(change), request->name.share);
    struct slice row;
    const enum err err = change_get(change, key, &row);
    if (err != ERR_NOT_FOUND)
        return err == OK ? ERR_SHARE_EXISTS : err;
    struct share share = {
        .incarnation = (uint64_t)now,
        .created_at = now,
        .metadata = request->metadata,
        .quota_gib = LIMIT_SHARE_QUOTA_GIB_DEFAULT,
        .access_tier = slice_of("TransactionOptimized"),
        .tier_changed_at = now,
    };
    apply_properties(change, request, &share);
    return put_changed(change, request, key, &share);
}

void share_create(struct service *service, struct share_change *change)
{
    assert(change->quota_gib <= LIMIT_SHARE_QUOTA_GIB_MAX);
    start_on_share(service, change, create_decide);
}

static enum err set_properties_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    struct share share;
    struct slice key;
    const enum err err = get_for_change(change, request, &share, &key);
    if (err != OK)
        return err;
    apply_properties(change, request, &share);
    return put_changed(change, request, key, &share);
}

void share_set_properties(struct service *service, struct share_change *change)
{
    assert(change->quota_gib <= LIMIT_SHARE_QUOTA_GIB_MAX);
    start_on_share(service, change, set_properties_decide);
}

static enum err set_metadata_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    struct share share;
    struct slice key;
    const enum err err = get_for_change(change, request, &share, &key);
    if (err != OK)
        return err;
    share.metadata = request->metadata;
    return put_changed(change, request, key, &share);
}

void share_set_metadata(struct service *service, struct share_change *change)
{
    start_on_share(service, change, set_metadata_decide);
}

static enum err set_acl_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    struct share share;
    struct slice key;
    const enum err err = get_for_change(change, request, &share, &key);
    if (err != OK)
        return err;
    share.policies = request->policies;
    return put_changed(change, request, key, &share);
}

void share_set_acl(struct service *service, struct share_change *change)
{
    start_on_share(service, change, set_acl_decide);
}

/* --- snapshots --- */

static enum err count_rows(struct cursor *cursor, size_t *count)
{
    struct slice key;
    struct slice row;
    enum err err;
    *count = 0;
    while ((err = cursor_next(cursor, &key, &row)) == OK)
        ++*count;
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* The first change: an instant of the share's partition is kept. */
static enum err keep_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    struct arena *arena = change_arena(change);
    const struct instant instant = { .account = request->name.account };
    struct share_state state;
    struct slice row;
    enum err err = change_get(change, closed_key(), &row);
    if (err != ERR_NOT_FOUND)
        return err == OK ? ERR_SHARE_NOT_FOUND : err;
    err = share_state_get(change, &state);
    if (err != OK)
        return err;
    request->taken = state.last_instant = change_now(change);
    share_state_put(change, &state);
    change_put(change, instant_key(arena, request->taken), instant_encode(arena, &instant));
    /* Until somebody has seen whether the snapshot has come to be. */
    change_mark(change);
    return OK;
}

/* The second: there is a record. */
static enum err snapshot_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    struct arena *arena = change_arena(change);
    const struct share_source source = source_of(change);
    struct share share;
    struct slice key;
    enum err err = find_share(&source, &request->name, &share, &key);
    if (err == OK && share.incarnation != request->incarnation)
        err = ERR_SHARE_NOT_FOUND;
    if (err != OK)
        return err;
    if (change_now(change) > request->taken + SHARE_SNAPSHOT_SEC * CLOCK_TICKS_PER_SEC)
        return ERR_BUSY;
    size_t count;
    err = count_rows(
        change_scan(change, share_snapshot_prefix(arena, share.incarnation), (struct slice){ 0 }),
        &count);
    if (err != OK)
        return err;
    if (count >= LIMIT_SHARE_SNAPSHOTS_MAX)
        return ERR_SHARE_SNAPSHOT_COUNT;
    share.snapshot = request->taken;
    share.lease = (struct lease){ 0 };
    share.policies = (struct access_policies){ 0 };
    if (request->has_metadata) {
        share.metadata = request->metadata;
        share.etag = change_now(change);
    }
    change_put(change, share_snapshot_key(arena, share.incarnation, share.snapshot),
               share_encode(arena, &share));
    request->share = share_result(&share);
    return OK;
}

static void keep_done(void *arg, enum err err)
{
    struct share_change *request = arg;
    if (err != OK)
        request->base.done(request->base.arg, err);
    else
        start(request->base.service, &request->base, request->name.account, snapshot_decide);
}

/* What can be known before an instant is kept for nothing. */
static enum err check_snapshot(struct service *service, struct share_change *change)
{
    struct arena *arena = change->base.arena;
    struct share share;
    enum err err = read_share(service, arena, &change->name, &share);
    if (err != OK)
        return err;
    change->incarnation = share.incarnation;
    struct partition_view view;
    size_t count;
    partition_view_open(service->store, account_partition(arena, change->name.account), &view);
    err = count_rows(partition_view_scan(&view, share_snapshot_prefix(arena, share.incarnation),
                                         (struct slice){ 0 }),
                     &count);
    partition_view_close(&view);
    return err == OK && count >= LIMIT_SHARE_SNAPSHOTS_MAX ? ERR_SHARE_SNAPSHOT_COUNT : err;
}

void share_snapshot(struct service *service, struct share_change *change)
{
    change->base.service = service;
    const enum err err =
        change->name.snapshot != 0 ? ERR_OPERATION_ON_SNAPSHOT : check_snapshot(service, change);
    if (err != OK) {
        service_refuse(&change->base, err);
        return;
    }
    change->base.update = (struct partition_update){
        .partition = file_partition(change->base.arena, change->incarnation),
        .decide = keep_decide,
        .arg = change,
        .done = keep_done,
    };
    partition_update(service->store, &change->base.update);
}

/* --- delete --- */

static bool is_leased(struct lease lease, int64_t now_ms)
{
    lease_settle(&lease, now_ms);
    return lease_is_locked(&lease);
}

/* What becomes of a share's snapshots when it is deleted. */
struct snapshots_fate {
    enum share_snapshots allowed;
    bool is_soft; /* they stay, without their leases */
};

static enum err delete_snapshot_row(struct change *change, const struct snapshots_fate *fate,
                                    struct slice key, struct slice row)
{
    struct arena *arena = change_arena(change);
    struct share snapshot;
    const enum err err = share_decode(arena, row, &snapshot);
    if (err != OK)
        return err;
    if (fate->allowed == SHARE_SNAPSHOTS_NONE)
        return ERR_SHARE_HAS_SNAPSHOTS;
    if (fate->allowed == SHARE_SNAPSHOTS_INCLUDE &&
        is_leased(snapshot.lease, change_now_ms(change)))
        return ERR_SHARE_SNAPSHOT_LEASED;
    if (!fate->is_soft) {
        change_delete(change, key);
    } else if (snapshot.lease.state != LEASE_AVAILABLE) {
        snapshot.lease = (struct lease){ 0 };
        change_put(change, key, share_encode(arena, &snapshot));
    }
    return OK;
}

static enum err delete_snapshots(struct change *change, uint64_t incarnation,
                                 const struct snapshots_fate *fate)
{
    struct arena *arena = change_arena(change);
    struct cursor *cursor =
        change_scan(change, share_snapshot_prefix(arena, incarnation), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        err = delete_snapshot_row(change, fate, arena_copy(arena, key), arena_copy(arena, row));
        if (err != OK)
            break;
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* How long deleted shares of the account are retained; days 0: not at all. */
static enum err get_retention(struct change *change, uint64_t *days)
{
    struct service_properties properties = { 0 };
    struct slice row;
    enum err err = change_get(change, service_properties_key(change_arena(change), 'f'), &row);
    if (err == OK)
        err = service_properties_decode(row, &properties);
    const struct retention_policy *policy = &properties.delete_retention;
    *days = policy->enabled ? policy->days : 0;
    return err == ERR_NOT_FOUND ? OK : err;
}

static void put_deleted(struct change *change, const struct share_change *request,
                        struct share *share, uint64_t days)
{
    struct arena *arena = change_arena(change);
    share->lease = (struct lease){ 0 };
    share->deleted_at = change_now(change);
    share->expires_at = share->deleted_at + (int64_t)days * 24 * 60 * 60 * CLOCK_TICKS_PER_SEC;
    change_put(change, share_deleted_key(arena, request->name.share, share->incarnation),
               share_encode(arena, share));
    change_mark(change);
}

static enum err delete_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    struct share share;
    struct slice key;
    uint64_t days;
    enum err err = get_for_change(change, request, &share, &key);
    if (err == OK)
        err = get_retention(change, &days);
    if (err == OK && share.snapshot == 0) {
        const struct snapshots_fate fate = { .allowed = request->snapshots, .is_soft = days > 0 };
        err = delete_snapshots(change, share.incarnation, &fate);
    }
    if (err != OK)
        return err;
    change_delete(change, key);
    if (share.snapshot != 0)
        garbage_put_snapshot(change, share.incarnation, share.snapshot);
    else if (days > 0)
        put_deleted(change, request, &share, days);
    else
        garbage_put(change, RESOURCE_SHARE, share.incarnation);
    request->share = share_result(&share);
    return OK;
}

static void delete_settle(struct service_change *base, enum err err)
{
    if (err == OK)
        sweeper_wake(base->service->sweeper);
}

void share_delete(struct service *service, struct share_change *change)
{
    change->base.settle = delete_settle;
    start(service, &change->base, change->name.account, delete_decide);
}

/* --- restore --- */

static enum err restore_decide(struct change *change, void *arg)
{
    struct share_change *request = arg;
    struct arena *arena = change_arena(change);
    const struct slice key = share_key(arena, request->name.share);
    const struct slice deleted_key =
        share_deleted_key(arena, request->deleted_name, request->deleted_version);
    struct share share;
    struct slice row;
    enum err err = change_get(change, key, &row);
    if (err != ERR_NOT_FOUND)
        return err == OK ? ERR_SHARE_EXISTS : err;
    err = change_get(change, deleted_key, &row);
    if (err == OK)
        err = share_decode(arena, row, &share);
    if (err == ERR_NOT_FOUND || (err == OK && share.expires_at <= change_now(change)))
        return ERR_SHARE_NOT_FOUND;
    if (err != OK)
        return err;
    share.deleted_at = share.expires_at = 0;
    change_delete(change, deleted_key);
    return put_changed(change, request, key, &share);
}

void share_restore(struct service *service, struct share_change *change)
{
    start_on_share(service, change, restore_decide);
}

/* --- leases --- */

static enum err lease_decide(struct change *change, void *arg)
{
    struct share_lease *request = arg;
    const struct share_source source = source_of(change);
    struct share share;
    struct slice key;
    enum err err = find_share(&source, &request->name, &share, &key);
    if (err == OK)
        err = lease_request_apply(&request->lease, &share.lease, change_now_ms(change));
    if (err != OK)
        return err;
    /* A lease action changes neither the ETag nor Last-Modified. */
    change_put(change, key, share_encode(source.arena, &share));
    request->share = share_result(&share);
    return OK;
}

void share_lease(struct service *service, struct share_lease *change)
{
    start(service, &change->base, change->name.account, lease_decide);
}
