/*
 * blobs.c - the world of the blob service: what each operation does to the model.
 *
 * An operation on a blob looks its container up when it is started.  If the container is deleted
 * before the decision, the operation counts as the earlier of the two and must come to what the
 * model says of that container, which nobody can see any more; or the sweeper has closed it, and
 * from then on there is no such container.
 */
#include "blobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const CONTAINER_TEXTS[CONTAINER_NAMES] = { "box-a", "box-b", "box-c" };
const char *const BLOB_TEXTS[BLOB_NAMES] = { "alpha", "beta", "gamma", "delta" };

/* --- names --- */

struct container_name container_called(unsigned name)
{
    return (struct container_name){ slice_of(SIM_ACCOUNT), slice_of(CONTAINER_TEXTS[name]) };
}

struct blob_name blob_called(unsigned container, unsigned blob)
{
    return (struct blob_name){ .container = container_called(container),
                               .blob = slice_of(BLOB_TEXTS[blob]) };
}

struct slice block_called(struct arena *arena, unsigned number, size_t id_bytes)
{
    const char bytes[] = { (char)(number + 1), '!', '!', '!' };
    return arena_copy(arena, slice_make(bytes, id_bytes));
}

struct model_container *model_container_find(struct model_blobs *model, unsigned name)
{
    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        struct model_container *container = &model->containers[i];
        if (container->in_use && !container->is_deleted && container->name == name)
            return container;
    }
    return NULL;
}

/* --- the life of a container in the model --- */

static void free_container(struct model_container *container)
{
    for (size_t i = 0; i < BLOB_NAMES; i++)
        free(container->blobs[i].snapshots);
    *container = (struct model_container){ 0 };
}

void model_container_let_go(struct model_container *container)
{
    container->use_count--;
    if (container->is_deleted && container->use_count == 0)
        free_container(container);
}

static struct model_container *new_container(struct model_blobs *model, unsigned name)
{
    struct model_container *container = model->containers;
    while (container->in_use)
        container++;
    assert(container < model->containers + CONTAINERS_MAX);
    container->in_use = true;
    container->name = name;
    return container;
}

static struct model_blobs *model_of(struct sim *sim)
{
    return sim->state;
}

/* --- what happens to a container --- */

static enum err check_container(const struct asked *asked, const struct model_container *container,
                                int64_t now_ms)
{
    if (asked->kind == CONTAINER_CREATE)
        return container != NULL ? ERR_CONTAINER_EXISTS : OK;
    if (container == NULL)
        return ERR_CONTAINER_NOT_FOUND;
    enum err err = OK;
    if (asked->kind == CONTAINER_DELETE)
        err = model_lease_write(&container->lease, LEASE_OF_CONTAINER, asked->lease_id, now_ms);
    else if (asked->kind == CONTAINER_SET_METADATA)
        err = model_lease_read(&container->lease, LEASE_OF_CONTAINER, asked->lease_id, now_ms);
    return err == OK ? model_condition_write(&asked->condition, container->etag) : err;
}

static void finish_container(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct model_blobs *model = model_of(sim);
    const char *object = CONTAINER_TEXTS[asked->container];
    struct model_container *container = model_container_find(model, asked->container);
    const int64_t now_ms = operation->tick / CLOCK_TICKS_PER_MS;
    int32_t remaining_sec = 0;
    enum err err = check_container(asked, container, now_ms);
    if (err == OK && asked->kind == CONTAINER_LEASE)
        err = model_lease_act(&container->lease, &asked->request.container_lease.lease,
                              asked->lease_id, asked->proposed_id, now_ms, &remaining_sec);
    sim_expect(operation, object, err);
    if (err != OK)
        return;
    if (asked->kind == CONTAINER_LEASE) {
        const struct container_lease *request = &asked->request.container_lease;
        SIM_CHECK(sim, object, request->container.etag == container->etag);
        SIM_CHECK(sim, object, request->lease.remaining_sec == remaining_sec);
        return;
    }
    if (asked->kind == CONTAINER_DELETE) {
        container->is_deleted = true;
        container->use_count++;
        model_container_let_go(container);
        return;
    }
    if (asked->kind == CONTAINER_CREATE)
        container = new_container(model, asked->container);
    container->metadata = asked->metadata;
    container->etag = operation->tick;
    SIM_CHECK(sim, object, asked->request.container_change.container.etag == operation->tick);
}

/* --- what happens to a blob --- */

static int64_t etag_of(const struct model_blob *blob)
{
    return blob->exists ? blob->now.etag : 0;
}

/* The checks of a request that makes or replaces the blob. */
static enum err check_replace(const struct asked *asked, const struct model_blob *blob,
                              bool create_only, int64_t now_ms)
{
    if (blob->exists && create_only)
        return ERR_UNAUTHORIZED_OVERWRITE;
    const enum err err = model_lease_write(&blob->lease, LEASE_OF_BLOB, asked->lease_id, now_ms);
    return err == OK
               ? model_condition_replace(&asked->condition, etag_of(blob), asked->lease_id != 0)
               : err;
}

/* Those of a request that changes a blob that is there. */
static enum err check_write(const struct asked *asked, const struct model_blob *blob,
                            int64_t now_ms)
{
    if (!blob->exists)
        return ERR_BLOB_NOT_FOUND;
    const enum err err = model_lease_write(&blob->lease, LEASE_OF_BLOB, asked->lease_id, now_ms);
    return err == OK ? model_condition_write(&asked->condition, etag_of(blob)) : err;
}

static void drop_blocks(struct model_blob *blob)
{
    blob->block_count = 0;
    memset(blob->blocks, 0, sizeof(blob->blocks));
}

static void replace(struct model_blob *blob, const struct asked *asked, int64_t tick,
                    enum blob_type type)
{
    blob->exists = true;
    blob->now = (struct model_state){ .type = type, .etag = tick, .metadata = asked->metadata };
    drop_blocks(blob);
    model_lease_written(&blob->lease, tick / CLOCK_TICKS_PER_MS);
}

static void add_piece(struct model_bytes *bytes, struct model_piece piece, unsigned block_id)
{
    assert(bytes->count < PIECES_MAX);
    bytes->block_ids[bytes->count] = (unsigned char)block_id;
    bytes->pieces[bytes->count++] = piece;
}

static void changed(struct model_blob *blob, int64_t tick)
{
    blob->now.etag = tick;
    model_lease_written(&blob->lease, tick / CLOCK_TICKS_PER_MS);
}

static enum err finish_put(const struct asked *asked, struct model_blob *blob, int64_t tick)
{
    const bool create_only = asked->request.blob_change.create_only;
    const enum err err = check_replace(asked, blob, create_only && asked->kind == BLOB_PUT,
                                       tick / CLOCK_TICKS_PER_MS);
    if (err != OK)
        return err;
    replace(blob, asked, tick, asked->kind == BLOB_PUT ? BLOB_BLOCK : BLOB_APPEND);
    if (asked->kind == BLOB_PUT && asked->piece.length_bytes > 0)
        add_piece(&blob->now.bytes, asked->piece, 0);
    return OK;
}

static enum err finish_set(const struct asked *asked, struct model_blob *blob, int64_t tick)
{
    const enum err err = check_write(asked, blob, tick / CLOCK_TICKS_PER_MS);
    if (err != OK)
        return err;
    if (asked->kind == BLOB_SET_METADATA)
        blob->now.metadata = asked->metadata;
    changed(blob, tick);
    return OK;
}

static void remove_snapshot(struct model_blob *blob, size_t index)
{
    blob->snapshot_count--;
    memmove(&blob->snapshots[index], &blob->snapshots[index + 1],
            (blob->snapshot_count - index) * sizeof(*blob->snapshots));
}

static enum err finish_delete_snapshot(const struct asked *asked, struct model_blob *blob)
{
    for (size_t i = 0; i < blob->snapshot_count; i++) {
        if (blob->snapshots[i].taken != asked->snapshot)
            continue;
        const enum err err =
            model_condition_write(&asked->condition, blob->snapshots[i].state.etag);
        if (err == OK)
            remove_snapshot(blob, i);
        return err;
    }
    return ERR_BLOB_NOT_FOUND;
}

static enum err finish_delete(const struct asked *asked, struct model_blob *blob, int64_t now_ms)
{
    if (asked->snapshot != 0)
        return finish_delete_snapshot(asked, blob);
    const bool only_blocks = !blob->exists && blob->block_count > 0;
    if (!blob->exists && !only_blocks)
        return ERR_BLOB_NOT_FOUND;
    enum err err = model_lease_write(&blob->lease, LEASE_OF_BLOB, asked->lease_id, now_ms);
    if (err == OK)
        err = model_condition_write(&asked->condition, etag_of(blob));
    if (err == OK && blob->snapshot_count > 0 && asked->snapshots == BLOB_SNAPSHOTS_NONE)
        err = ERR_SNAPSHOTS_PRESENT;
    if (err != OK)
        return err;
    blob->snapshot_count = 0;
    if (!only_blocks && asked->snapshots == BLOB_SNAPSHOTS_ONLY)
        return OK;
    blob->exists = false;
    blob->now = (struct model_state){ 0 };
    blob->lease = (struct model_lease){ 0 };
    drop_blocks(blob);
    return OK;
}

static enum err finish_lease(struct sim *sim, const struct asked *asked, struct model_blob *blob,
                             enum err got, int64_t now_ms)
{
    const struct blob_lease *request = &asked->request.blob_lease;
    int32_t remaining_sec = 0;
    if (!blob->exists && blob->block_count == 0)
        return ERR_BLOB_NOT_FOUND;
    enum err err = model_condition_write(&asked->condition, etag_of(blob));
    if (err == OK)
        err = model_lease_act(&blob->lease, &request->lease, asked->lease_id, asked->proposed_id,
                              now_ms, &remaining_sec);
    if (err != OK || got != OK)
        return err;
    SIM_CHECK(sim, BLOB_TEXTS[asked->blob], request->lease.remaining_sec == remaining_sec);
    SIM_CHECK(sim, BLOB_TEXTS[asked->blob],
              model_lease_is_same(&blob->lease, &request->lease_now, now_ms));
    SIM_CHECK(sim, BLOB_TEXTS[asked->blob], !blob->exists || request->etag == blob->now.etag);
    return OK;
}

static enum err finish_snapshot(struct sim *sim, const struct asked *asked, struct model_blob *blob,
                                enum err got, int64_t tick)
{
    const struct blob_snapshot *request = &asked->request.blob_snapshot;
    if (!blob->exists)
        return ERR_BLOB_NOT_FOUND;
    enum err err =
        model_lease_read(&blob->lease, LEASE_OF_BLOB, asked->lease_id, tick / CLOCK_TICKS_PER_MS);
    if (err == OK)
        err = model_condition_write(&asked->condition, blob->now.etag);
    if (err != OK || got != OK)
        return err;
    if (blob->snapshot_count == blob->snapshot_room) {
        blob->snapshot_room += 16;
        blob->snapshots = realloc(blob->snapshots, blob->snapshot_room * sizeof(*blob->snapshots));
        assert(blob->snapshots != NULL);
    }
    struct model_snapshot *snapshot = &blob->snapshots[blob->snapshot_count++];
    *snapshot = (struct model_snapshot){ .taken = tick, .state = blob->now };
    if (asked->metadata != 0) {
        snapshot->state.metadata = asked->metadata;
        snapshot->state.etag = tick;
    }
    SIM_CHECK(sim, BLOB_TEXTS[asked->blob], request->snapshot == tick);
    SIM_CHECK(sim, BLOB_TEXTS[asked->blob], request->etag == snapshot->state.etag);
    return OK;
}

static enum err finish_block(const struct asked *asked, struct model_blob *blob, int64_t now_ms)
{
    const enum err err = model_lease_write(&blob->lease, LEASE_OF_BLOB, asked->lease_id, now_ms);
    if (err != OK)
        return err;
    if (blob->exists && blob->now.type != BLOB_BLOCK)
        return ERR_INVALID_BLOB_TYPE;
    if (blob->block_count > 0 && blob->block_id_bytes != asked->block_id_bytes)
        return ERR_INVALID_BLOCK;
    blob->block_id_bytes = asked->block_id_bytes;
    blob->block_count += blob->blocks[asked->block_id].length_bytes == 0;
    blob->blocks[asked->block_id] = asked->piece;
    return OK;
}

/* A block that is committed, by the id it has had then. */
static const struct model_piece *find_committed(const struct model_blob *blob, unsigned id,
                                                size_t id_bytes)
{
    const struct model_bytes *bytes = &blob->now.bytes;
    for (size_t i = 0; blob->exists && bytes->has_blocks && i < bytes->count; i++)
        if (bytes->block_ids[i] == id && bytes->block_id_bytes == id_bytes)
            return &bytes->pieces[i];
    return NULL;
}

static const struct model_piece *find_block(const struct asked *asked,
                                            const struct model_blob *blob, size_t index)
{
    const unsigned id = asked->list[index];
    const enum block_kind kind = asked->list_kinds[index];
    const bool same_length = blob->block_id_bytes == asked->block_id_bytes;
    if (kind != BLOCK_FROM_COMMITTED && same_length && blob->blocks[id].length_bytes > 0)
        return &blob->blocks[id];
    return kind == BLOCK_FROM_UNCOMMITTED ? NULL : find_committed(blob, id, asked->block_id_bytes);
}

/* One block may not be named by two kinds. */
static bool kinds_agree(const struct asked *asked)
{
    for (size_t i = 0; i < asked->list_count; i++)
        for (size_t j = 0; j < i; j++)
            if (asked->list[i] == asked->list[j] && asked->list_kinds[i] != asked->list_kinds[j])
                return false;
    return true;
}

static enum err finish_list(const struct asked *asked, struct model_blob *blob, int64_t tick)
{
    enum err err = check_replace(asked, blob, false, tick / CLOCK_TICKS_PER_MS);
    if (err == OK && blob->exists && blob->now.type != BLOB_BLOCK)
        err = ERR_INVALID_BLOB_TYPE;
    if (err != OK)
        return err;
    struct model_bytes bytes = { .has_blocks = true, .block_id_bytes = asked->block_id_bytes };
    for (size_t i = 0; i < asked->list_count; i++) {
        const struct model_piece *piece = find_block(asked, blob, i);
        if (piece == NULL)
            return ERR_INVALID_BLOCK_LIST;
        add_piece(&bytes, *piece, asked->list[i]);
    }
    replace(blob, asked, tick, BLOB_BLOCK);
    blob->now.bytes = bytes;
    return OK;
}

static enum err finish_append(struct sim *sim, const struct asked *asked, struct model_blob *blob,
                              enum err got, int64_t tick)
{
    const struct append_change *request = &asked->request.append;
    enum err err = check_write(asked, blob, tick / CLOCK_TICKS_PER_MS);
    if (err != OK)
        return err;
    uint64_t length = 0;
    for (size_t i = 0; i < blob->now.bytes.count; i++)
        length += blob->now.bytes.pieces[i].length_bytes;
    if (blob->now.type != BLOB_APPEND)
        return ERR_INVALID_BLOB_TYPE;
    if (asked->kind == APPEND_BLOCK && blob->now.is_sealed)
        return ERR_BLOB_SEALED;
    if (request->has_position && request->position != length)
        return ERR_APPEND_POSITION_NOT_MET;
    if (asked->kind == APPEND_SEAL) {
        if (!blob->now.is_sealed)
            changed(blob, tick);
        blob->now.is_sealed = true;
        return OK;
    }
    if (request->has_size_max && length + asked->piece.length_bytes > request->size_max)
        return ERR_MAX_SIZE_NOT_MET;
    if (got == OK)
        SIM_CHECK(sim, BLOB_TEXTS[asked->blob], request->offset == length);
    add_piece(&blob->now.bytes, asked->piece, 0);
    if (got == OK)
        SIM_CHECK(sim, BLOB_TEXTS[asked->blob], request->block_count == blob->now.bytes.count);
    changed(blob, tick);
    return OK;
}

static enum err change_model(struct sim *sim, struct operation *operation, struct asked *asked,
                             struct model_blob *blob)
{
    const int64_t tick = operation->tick;
    const int64_t now_ms = tick / CLOCK_TICKS_PER_MS;
    switch (asked->kind) {
    case BLOB_PUT:
    case APPEND_CREATE:
        return finish_put(asked, blob, tick);
    case BLOB_SET_METADATA:
    case BLOB_SET_PROPERTIES:
        return finish_set(asked, blob, tick);
    case BLOB_DELETE:
        return finish_delete(asked, blob, now_ms);
    case BLOB_LEASE:
        return finish_lease(sim, asked, blob, operation->err, now_ms);
    case BLOB_SNAPSHOT:
        return finish_snapshot(sim, asked, blob, operation->err, tick);
    case BLOCK_PUT:
        return finish_block(asked, blob, now_ms);
    case BLOCK_LIST_PUT:
        return finish_list(asked, blob, tick);
    case APPEND_BLOCK:
    case APPEND_SEAL:
        return finish_append(sim, asked, blob, operation->err, tick);
    case CONTAINER_CREATE:
    case CONTAINER_DELETE:
    case CONTAINER_SET_METADATA:
    case CONTAINER_LEASE:
        break;
    }
    abort();
}

static void check_etag(struct sim *sim, const struct asked *asked, const struct model_blob *blob)
{
    const bool has_etag = asked->kind == BLOB_PUT || asked->kind == APPEND_CREATE ||
                          asked->kind == BLOB_SET_METADATA || asked->kind == BLOB_SET_PROPERTIES;
    const char *object = BLOB_TEXTS[asked->blob];
    if (has_etag)
        SIM_CHECK(sim, object, asked->request.blob_change.etag == blob->now.etag);
    if (asked->kind == BLOCK_LIST_PUT)
        SIM_CHECK(sim, object, asked->request.block_list_put.change.etag == blob->now.etag);
    if (asked->kind == APPEND_BLOCK || asked->kind == APPEND_SEAL)
        SIM_CHECK(sim, object, asked->request.append.blob.etag == blob->now.etag);
}

static void finish_blob(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct model_container *container = operation->target;
    char object[64];
    snprintf(object, sizeof(object), "%s/%s", CONTAINER_TEXTS[asked->container],
             BLOB_TEXTS[asked->blob]);
    if (asked->kind == BLOCK_LIST_PUT && !kinds_agree(asked)) {
        sim_expect(operation, object, ERR_INVALID_BLOCK_LIST);
    } else if (container == NULL) {
        sim_expect(operation, object, ERR_CONTAINER_NOT_FOUND);
    } else if (container->is_closed ||
               (container->is_deleted && operation->err == ERR_CONTAINER_NOT_FOUND)) {
        sim_expect(operation, object, ERR_CONTAINER_NOT_FOUND);
        container->is_closed = true;
    } else {
        struct model_blob *blob = &container->blobs[asked->blob];
        sim_expect(operation, object, change_model(sim, operation, asked, blob));
        if (operation->err == OK)
            check_etag(sim, asked, blob);
    }
    if (container != NULL)
        model_container_let_go(container);
}

static void blobs_finish(struct sim *sim, struct operation *operation)
{
    struct asked *asked = operation->request;
    if (asked->kind <= CONTAINER_LEASE)
        finish_container(sim, operation, asked);
    else
        finish_blob(sim, operation, asked);
}

/* --- the world --- */

/* Blocks that nobody committed for a week are gone, and the lease of a name that had no more. */
static void blobs_week_passed(struct sim *sim)
{
    struct model_blobs *model = model_of(sim);
    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        for (size_t j = 0; j < BLOB_NAMES; j++) {
            struct model_blob *blob = &model->containers[i].blobs[j];
            drop_blocks(blob);
            if (!blob->exists)
                blob->lease = (struct model_lease){ 0 };
        }
    }
}

static void blobs_open(struct sim *sim)
{
    sim->state = calloc(1, sizeof(struct model_blobs));
    assert(sim->state != NULL);
    model_of(sim)->seeds = 1;
}

static void blobs_close(struct sim *sim)
{
    struct model_blobs *model = model_of(sim);
    for (size_t i = 0; i < CONTAINERS_MAX; i++)
        free_container(&model->containers[i]);
    free(model);
}

const struct world WORLD_BLOBS = {
    .name = "blobs",
    .open = blobs_open,
    .close = blobs_close,
    .start = blobs_start,
    .finish = blobs_finish,
    .read = blobs_read,
    .audit = blobs_audit,
    .settled = blobs_settled,
    .week_passed = blobs_week_passed,
};
