#include "service/blob/snapshot.h"

#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/history.h"
#include "service/blob/segments.h"
#include "service/blob/tag.h"
#include "service/blob/tier.h"
#include "service/row.h"

/* --- Snapshot Blob --- */

static enum err check_snapshot(struct change *change, const struct blob_snapshot *request,
                               struct blob *blob)
{
    enum err err = blob_decide_get(change, request->name.blob, blob);
    if (err == OK)
        err = lease_check_read(&blob->lease, LEASE_OF_BLOB,
                               request->has_lease_id ? &request->lease_id : NULL,
                               change_now_ms(change));
    if (err == OK) {
        const struct condition_state state = { .exists = true,
                                               .etag = blob->etag,
                                               .last_modified = blob->etag };
        err = condition_check_write(&request->condition, &state);
    }
    if (err == OK)
        err = tag_check(request->condition.if_tags, &blob->tags);
    if (err == OK)
        err = tier_check_online(blob);
    if (err == OK && blob->copy.status == BLOB_COPY_PENDING)
        err = ERR_PENDING_COPY;
    return err == OK ? blob_check_usable(blob) : err;
}

static enum err snapshot_decide(struct change *change, void *arg)
{
    struct blob_snapshot *request = arg;
    struct blob blob;
    enum err err = check_snapshot(change, request, &blob);
    const bool was_shared = err == OK && blob.content.shared;
    const int64_t was_version = err == OK ? blob.version_id : 0;
    /* A version whose blob is not changed stays the current one if no more are made. */
    if (err == OK && request->protection.keeps_versions)
        err = history_fork(change, &request->protection, request->name.blob, &blob);
    if (err == OK)
        err = content_share(change, &blob.content);
    if (err != OK)
        return err;
    /* The blob's record says from now on that its content may be another's too. */
    if (blob.content.shared != was_shared || blob.version_id != was_version)
        blob_decide_put(change, request->name.blob, &blob);
    request->version_id = request->protection.keeps_versions ? blob.version_id : 0;

    request->snapshot = change_now(change);
    blob.lease = (struct lease){ 0 };
    if (request->metadata.count > 0) {
        blob.metadata = request->metadata;
        blob.etag = change_now(change);
    }
    request->etag = blob.etag;
    const struct blob_name name = { .blob = request->name.blob, .snapshot = request->snapshot };
    blob_decide_put_record(change, &name, &blob);
    return OK;
}

void blob_snapshot(struct service *service, struct blob_snapshot *change)
{
    change->protection = (struct blob_protection){ .keeps_versions = service->blob_versioning };
    blob_start(service, &change->base, &change->name.container, snapshot_decide);
}

/* --- snapshots that are gone --- */

enum {
    /* Snapshots of which no more are there are deleted one by one. */
    DELETED_AT_ONCE = 64,
    /* Snapshots removed by one update of the sweeper. */
    SWEPT_ROWS = 128,
};

enum err outdated_decode(struct slice row, int64_t *floor)
{
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    enum err err = row_reader_init(&reader, row, ROW_NUMBER);
    if (err == OK)
        err = row_next(&reader, &tag, &value);
    if (err == OK)
        err = row_instant(value, floor);
    return err == ERR_NOT_FOUND ? CORRUPT("a row about snapshots has no instant") : err;
}

enum err snapshots_floor(struct change *change, struct slice name, int64_t *floor)
{
    struct slice row;
    *floor = 0;
    const enum err err = change_get(change, outdated_key(change_arena(change), name), &row);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    return outdated_decode(row, floor);
}

enum err snapshots_view_floor(struct partition_view *view, struct arena *arena, struct slice name,
                              int64_t *floor)
{
    struct slice row;
    *floor = 0;
    const enum err err = partition_view_get(view, arena, outdated_key(arena, name), &row);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    return outdated_decode(row, floor);
}

/* All snapshots up to now are gone. */
static void put_floor(struct change *change, struct slice name)
{
    struct arena *arena = change_arena(change);
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, (uint64_t)change_now(change));
    change_put(change, outdated_key(arena, name), strbuf_slice(&row));
    change_mark(change);
}

/* --- deleting --- */

/* The keys of a name, from the snapshot of that tick on; its base blob is the last. */
static struct cursor *scan_snapshots(struct change *change, struct slice name, int64_t from)
{
    const struct slice first = snapshot_key(change_arena(change), name, from);
    return change_scan(change, slice_head(first, first.len - sizeof(uint64_t)), first);
}

/* The next snapshot's record.  ERR_NOT_FOUND when there is none. */
static enum err next_snapshot(struct cursor *cursor, struct slice *key, struct slice *row,
                              int64_t *snapshot)
{
    struct slice name;
    enum err err = cursor_next(cursor, key, row);
    if (err == OK)
        err = blob_key_name(*key, &name, snapshot);
    return err == OK && *snapshot == 0 ? ERR_NOT_FOUND : err;
}

/* How many snapshots there are, up to one more than are deleted at once. */
static enum err count_some(struct change *change, struct slice name, int64_t floor, size_t *count)
{
    struct cursor *cursor = scan_snapshots(change, name, floor);
    enum err err = OK;
    *count = 0;
    while (err == OK && *count <= DELETED_AT_ONCE) {
        struct slice key;
        struct slice row;
        int64_t snapshot;
        err = next_snapshot(cursor, &key, &row, &snapshot);
        *count += err == OK;
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err delete_each(struct change *change, struct blob_change *request, int64_t floor)
{
    const struct slice name = request->name.blob;
    struct cursor *cursor = scan_snapshots(change, name, floor);
    struct arena arena = { 0 };
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        struct slice row;
        struct blob blob;
        struct blob_name full = { .blob = name };
        arena_clear(&arena);
        err = next_snapshot(cursor, &key, &row, &full.snapshot);
        if (err == OK)
            err = blob_decode(&arena, arena_copy(&arena, row), &blob);
        if (err != OK)
            break;
        change_delete(change, snapshot_key(&arena, name, full.snapshot));
        err = history_deleted(change, &request->protection, &full, &blob, &request->was_kept);
    }
    arena_release(&arena);
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err snapshots_delete(struct change *change, struct blob_change *request)
{
    const struct slice name = request->name.blob;
    int64_t floor;
    size_t count;
    enum err err = snapshots_floor(change, name, &floor);
    if (err == OK)
        err = count_some(change, name, floor, &count);
    if (err != OK || count == 0)
        return err;
    if (request->snapshots == BLOB_SNAPSHOTS_NONE)
        return ERR_SNAPSHOTS_PRESENT;
    if (count <= DELETED_AT_ONCE || request->protection.retention_ticks > 0)
        return delete_each(change, request, floor);
    put_floor(change, name);
    return OK;
}

/* --- for the sweeper --- */

static enum err sweep_some(struct change *change, struct cursor *cursor, int64_t floor,
                           struct arena *arena, struct slice *last)
{
    struct arena row_arena = { 0 };
    enum err err = OK;
    for (size_t i = 0; i < SWEPT_ROWS && err == OK; i++) {
        struct slice key;
        struct slice row;
        struct blob blob;
        int64_t snapshot;
        arena_clear(&row_arena);
        err = next_snapshot(cursor, &key, &row, &snapshot);
        if (err == OK && snapshot >= floor)
            err = ERR_NOT_FOUND;
        if (err == OK)
            err = blob_decode(&row_arena, arena_copy(&row_arena, row), &blob);
        if (err != OK)
            break;
        *last = arena_copy(arena, key);
        change_delete(change, *last);
        err = content_drop(change, &blob.content);
    }
    arena_release(&row_arena);
    return err;
}

enum err snapshots_sweep(struct change *change, struct slice key, struct slice from,
                         struct arena *arena, struct slice *next)
{
    struct slice name;
    struct slice row;
    int64_t floor;
    *next = (struct slice){ 0 };
    if (!outdated_key_name(key, &name))
        return CORRUPT("a key of %zu bytes is not of snapshots that are gone", key.len);
    enum err err = change_get(change, key, &row);
    if (err == OK)
        err = outdated_decode(row, &floor);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    const struct slice first = snapshot_key(change_arena(change), name, 0);
    struct cursor *cursor =
        change_scan(change, slice_head(first, first.len - sizeof(uint64_t)), from);
    err = sweep_some(change, cursor, floor, arena, next);
    cursor_free(cursor);
    if (err != ERR_NOT_FOUND)
        return err;
    *next = (struct slice){ 0 };
    change_delete(change, key);
    return OK;
}
