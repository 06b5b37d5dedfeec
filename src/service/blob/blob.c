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
#include "service/blob/blob_name.h"

/* --- reads --- */

static struct condition_state state_of(const struct blob *blob, bool exists)
{
    return (struct condition_state){
        .exists = exists,
        .etag = exists ? blob->etag : 0,
        .last_modified = exists ? blob->etag : 0,
    };
}

static enum err get_in_view(struct service *service, struct partition_view *view,
                            struct arena *arena, const struct blob_get_request *request,
                            struct blob *blob, struct payload_reader *payload)
{
    struct slice row;
    enum err err = partition_view_get(view, arena, blob_key(arena, request->name.blob), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_BLOB_NOT_FOUND;
    if (err == OK)
        err = blob_decode(arena, row, blob);
    if (err == OK)
        err = lease_check_read(&blob->lease, LEASE_OF_BLOB,
                               request->has_lease_id ? &request->lease_id : NULL,
                               clock_now(service->clock) / CLOCK_TICKS_PER_MS);
    if (err == OK) {
        const struct condition_state state = state_of(blob, true);
        err = condition_check_read(&request->condition, &state);
    }
    if (err == OK && request->want_payload)
        err = payload_reader_open(service, view, arena, &blob->content,
                                  content_key(arena, blob->content.id), payload);
    return err;
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
    err = get_in_view(service, &view, arena, request, blob, payload);
    partition_view_close(&view);
    return err;
}

/* How much of `name` is a common beginning: up to and including the first delimiter after the
   prefix; 0 when there is none. */
static size_t common_len(struct slice name, struct slice prefix, struct slice delimiter)
{
    if (delimiter.len == 0)
        return 0;
    for (size_t at = prefix.len; at + delimiter.len <= name.len; at++)
        if (memcmp(name.data + at, delimiter.data, delimiter.len) == 0)
            return at + delimiter.len;
    return 0;
}

/* The first key after all keys of names that begin with `common`. */
static struct slice key_after(struct arena *arena, struct slice common)
{
    const struct slice prefix = blob_key_prefix(arena, common);
    char *bytes = arena_bytes(arena, prefix.len);
    memcpy(bytes, prefix.data, prefix.len);
    /* Names are UTF-8, whose bytes are never ff. */
    assert((unsigned char)bytes[prefix.len - 1] != 0xff);
    bytes[prefix.len - 1]++;
    return slice_make(bytes, prefix.len);
}

/* One step of a listing: emit the entry at the cursor.  `row_arena` is cleared for each. */
static enum err list_step(const struct blob_list_request *request, struct arena *row_arena,
                          struct cursor *cursor, struct slice name, struct slice row,
                          int64_t now_ms, bool *more)
{
    const size_t common = common_len(name, request->prefix, request->delimiter);
    if (common > 0) {
        const struct slice beginning = arena_copy(row_arena, slice_head(name, common));
        *more = request->emit(request->arg, beginning, NULL);
        cursor_seek(cursor, key_after(row_arena, beginning));
        return OK;
    }
    struct blob blob;
    const enum err err = blob_decode(row_arena, row, &blob);
    if (err != OK)
        return err;
    lease_settle(&blob.lease, now_ms);
    *more = request->emit(request->arg, name, &blob);
    return OK;
}

/* No name has a NUL, which ends the name in a key: nothing begins with such a prefix. */
static bool can_begin_names(struct slice prefix)
{
    return slice_find_byte(prefix, '\0') == prefix.len;
}

static enum err list_in_view(struct service *service, struct partition_view *view,
                             struct arena *arena, const struct blob_list_request *request,
                             struct slice *next)
{
    const int64_t now_ms = clock_now(service->clock) / CLOCK_TICKS_PER_MS;
    struct cursor *cursor = partition_view_scan(
        view, blob_key_prefix(arena, request->prefix),
        request->from.len == 0 ? (struct slice){ 0 } : blob_key_prefix(arena, request->from));
    struct arena row_arena = { 0 };
    bool more = request->results_max > 0;
    enum err err = OK;
    for (size_t count = 0; err == OK; count++) {
        struct slice key;
        struct slice row;
        struct slice name;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = blob_key_name(key, &name);
        if (err != OK)
            break;
        if (!more || count == request->results_max) {
            *next = arena_copy(arena, name);
            break;
        }
        arena_clear(&row_arena);
        err = list_step(request, &row_arena, cursor, name, row, now_ms, &more);
    }
    arena_release(&row_arena);
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err blob_list(struct service *service, struct arena *arena,
                   const struct blob_list_request *request, struct slice *next)
{
    *next = (struct slice){ 0 };
    struct slice partition;
    enum err err = container_find_blobs(service, arena, &request->container, &partition);
    if (err != OK || !can_begin_names(request->prefix))
        return err;
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    err = list_in_view(service, &view, arena, request, next);
    partition_view_close(&view);
    return err;
}

/* --- changes --- */

static int64_t change_now_ms(const struct change *change)
{
    return change_now(change) / CLOCK_TICKS_PER_MS;
}

void blob_drop_content(struct change *change, const struct content *content)
{
    switch (content->place) {
    case CONTENT_EMPTY:
        break;
    case CONTENT_INLINE:
        change_delete(change, content_key(change_arena(change), content->id));
        break;
    case CONTENT_EXTENT:
        change_disown(change, &content->range, content->id);
        break;
    }
}

/* Read the record a change is about.  ERR_BLOB_NOT_FOUND; ERR_CONTAINER_NOT_FOUND when closed. */
static enum err change_get_blob(struct change *change, struct slice name, struct blob *blob)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    enum err err = change_get(change, closed_key(), &row);
    if (err == OK)
        return ERR_CONTAINER_NOT_FOUND;
    if (err != ERR_NOT_FOUND)
        return err;
    err = change_get(change, blob_key(arena, name), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_BLOB_NOT_FOUND;
    return err == OK ? blob_decode(arena, row, blob) : err;
}

static void change_put_blob(struct change *change, struct slice name, const struct blob *blob)
{
    struct arena *arena = change_arena(change);
    change_put(change, blob_key(arena, name), blob_encode(arena, blob));
}

static const struct uuid *lease_id_of(const struct blob_change *request)
{
    return request->has_lease_id ? &request->lease_id : NULL;
}

/* Lease and conditions of a request that replaces the blob, which may not exist. */
static enum err check_replace(const struct change *change, const struct blob_change *request,
                              struct blob *old, bool exists)
{
    if (exists && request->create_only)
        return ERR_UNAUTHORIZED_OVERWRITE;
    struct lease none = { 0 };
    struct lease *lease = exists ? &old->lease : &none;
    const enum err err =
        lease_check_write(lease, LEASE_OF_BLOB, lease_id_of(request), change_now_ms(change));
    if (err != OK)
        return err;
    const struct condition_state state = state_of(old, exists);
    return condition_check_replace(&request->condition, &state,
                                   request->has_lease_id && lease_is_locked(lease));
}

static enum err put_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob old = { 0 };
    enum err err = change_get_blob(change, request->name.blob, &old);
    if (err != OK && err != ERR_BLOB_NOT_FOUND)
        return err;
    const bool exists = err == OK;
    err = check_replace(change, request, &old, exists);
    if (err != OK)
        return err;
    if (exists)
        blob_drop_content(change, &old.content);

    struct blob blob = {
        .etag = change_now(change),
        .created_at = exists ? old.created_at : change_now(change),
        .properties = request->properties,
        .metadata = request->metadata,
        .lease = old.lease,
    };
    lease_forget(&blob.lease, change_now_ms(change));
    const uint64_t content_id = (uint64_t)change_now(change);
    blob.content = payload_writer_store(request->payload, change, content_id,
                                        content_key(change_arena(change), content_id));
    change_put_blob(change, request->name.blob, &blob);
    request->etag = blob.etag;
    return OK;
}

/* Read an existing blob for a request that changes it; lease and conditions hold afterwards. */
static enum err get_for_write(struct change *change, const struct blob_change *request,
                              struct blob *blob)
{
    enum err err = change_get_blob(change, request->name.blob, blob);
    if (err == OK)
        err = lease_check_write(&blob->lease, LEASE_OF_BLOB, lease_id_of(request),
                                change_now_ms(change));
    if (err == OK) {
        const struct condition_state state = state_of(blob, true);
        err = condition_check_write(&request->condition, &state);
    }
    return err;
}

/* Store an existing blob that a request has changed: it gets a new ETag. */
static enum err put_changed(struct change *change, struct blob_change *request, struct blob *blob)
{
    blob->etag = change_now(change);
    lease_forget(&blob->lease, change_now_ms(change));
    change_put_blob(change, request->name.blob, blob);
    request->etag = blob->etag;
    return OK;
}

static enum err set_properties_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob blob;
    const enum err err = get_for_write(change, request, &blob);
    if (err != OK)
        return err;
    blob.properties = request->properties;
    return put_changed(change, request, &blob);
}

static enum err set_metadata_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob blob;
    const enum err err = get_for_write(change, request, &blob);
    if (err != OK)
        return err;
    blob.metadata = request->metadata;
    return put_changed(change, request, &blob);
}

static enum err delete_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob blob;
    const enum err err = get_for_write(change, request, &blob);
    if (err != OK)
        return err;
    blob_drop_content(change, &blob.content);
    change_delete(change, blob_key(change_arena(change), request->name.blob));
    return OK;
}

static void put_settle(struct service_change *base, enum err err)
{
    struct blob_change *request = (struct blob_change *)base;
    if (err == OK)
        payload_writer_commit(request->payload);
}

static void put_synced(void *arg)
{
    struct blob_change *request = arg;
    service_update(request->base.service, &request->base, request->partition, put_decide);
}

void blob_put(struct service *service, struct blob_change *change)
{
    const enum err err = container_find_blobs(service, change->base.arena, &change->name.container,
                                              &change->partition);
    if (err != OK) {
        service_refuse(&change->base, err);
        return;
    }
    change->base.service = service;
    change->base.settle = put_settle;
    payload_writer_sync(change->payload, put_synced, change);
}

static void start(struct service *service, struct service_change *base,
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
    start(service, &change->base, &change->name.container, set_properties_decide);
}

void blob_set_metadata(struct service *service, struct blob_change *change)
{
    start(service, &change->base, &change->name.container, set_metadata_decide);
}

void blob_delete(struct service *service, struct blob_change *change)
{
    start(service, &change->base, &change->name.container, delete_decide);
}

static enum err lease_decide(struct change *change, void *arg)
{
    struct blob_lease *request = arg;
    struct blob blob;
    enum err err = change_get_blob(change, request->name.blob, &blob);
    if (err == OK) {
        const struct condition_state state = state_of(&blob, true);
        err = condition_check_write(&request->condition, &state);
    }
    if (err == OK)
        err = lease_request_apply(&request->lease, &blob.lease, change_now_ms(change));
    if (err != OK)
        return err;
    /* A lease action changes neither the ETag nor Last-Modified. */
    change_put_blob(change, request->name.blob, &blob);
    request->etag = blob.etag;
    request->lease_now = blob.lease;
    return OK;
}

void blob_lease(struct service *service, struct blob_lease *change)
{
    start(service, &change->base, &change->name.container, lease_decide);
}
