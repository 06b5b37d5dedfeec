#include "service/blob/snapshot.h"

#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/segments.h"
#include "service/blob/tag.h"
#include "service/blob/tier.h"

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
    return err;
}

static enum err snapshot_decide(struct change *change, void *arg)
{
    struct blob_snapshot *request = arg;
    struct blob blob;
    enum err err = check_snapshot(change, request, &blob);
    const bool was_shared = err == OK && blob.content.shared;
    if (err == OK)
        err = content_share(change, &blob.content);
    if (err != OK)
        return err;
    /* The blob's record says from now on that its content may be another's too. */
    if (blob.content.shared != was_shared)
        blob_decide_put(change, request->name.blob, &blob);

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
    blob_start(service, &change->base, &change->name.container, snapshot_decide);
}

/* --- deleting --- */

enum err snapshots_delete(struct change *change, struct slice name, enum blob_snapshots what)
{
    struct arena *arena = change_arena(change);
    const struct slice first = snapshot_key(arena, name, 0);
    /* All keys of the name: what precedes the number. */
    struct cursor *cursor =
        change_scan(change, slice_head(first, first.len - sizeof(uint64_t)), (struct slice){ 0 });
    struct arena row_arena = { 0 };
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        struct slice row;
        struct slice found;
        int64_t snapshot = 0;
        struct blob blob;
        arena_clear(&row_arena);
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = blob_key_name(key, &found, &snapshot);
        if (err != OK || snapshot == 0)
            break;
        if (what == BLOB_SNAPSHOTS_NONE) {
            err = ERR_SNAPSHOTS_PRESENT;
            break;
        }
        err = blob_decode(&row_arena, arena_copy(&row_arena, row), &blob);
        if (err == OK) {
            change_delete(change, snapshot_key(&row_arena, name, snapshot));
            err = content_drop(change, &blob.content);
        }
    }
    arena_release(&row_arena);
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}
