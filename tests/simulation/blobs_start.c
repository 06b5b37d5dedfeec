/*
 * blobs_start.c - what clients ask of containers and blobs.
 */
#include "blobs.h"

enum {
    MANY_SNAPSHOTS =
        90, /* of the first blob, so that they are deleted by one row; of others, few */
    FEW_SNAPSHOTS = 5,
    MANY_BLOCKS_BLOB = 1, /* this one has many uncommitted blocks at times */
};

static const unsigned WEIGHTS[] = {
    [CONTAINER_CREATE] = 8, [CONTAINER_DELETE] = 1,    [CONTAINER_SET_METADATA] = 2,
    [CONTAINER_LEASE] = 3,  [BLOB_PUT] = 14,           [BLOB_SET_METADATA] = 5,
    [BLOB_DELETE] = 7,      [BLOB_SET_PROPERTIES] = 3, [BLOB_LEASE] = 12,
    [BLOB_SNAPSHOT] = 9,    [BLOCK_PUT] = 18,          [BLOCK_LIST_PUT] = 7,
    [APPEND_CREATE] = 4,    [APPEND_BLOCK] = 14,       [APPEND_SEAL] = 1,
};

static struct model_blobs *model_of(struct sim *sim)
{
    return sim->state;
}

static enum kind choose_kind(struct sim *sim)
{
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof(WEIGHTS) / sizeof(WEIGHTS[0]); i++)
        sum += WEIGHTS[i];
    unsigned left = sim_below(sim, sum);
    enum kind kind = CONTAINER_CREATE;
    while (left >= WEIGHTS[kind])
        left -= WEIGHTS[kind++];
    return kind;
}

static int64_t etag_now(struct sim *sim, const struct asked *asked, bool of_blob)
{
    const struct model_container *container = model_container_find(model_of(sim), asked->container);
    if (container == NULL)
        return 0;
    if (!of_blob)
        return container->etag;
    return container->blobs[asked->blob].exists ? container->blobs[asked->blob].now.etag : 0;
}

/* Mostly the right lease, if there is one. */
static unsigned choose_lease(struct sim *sim, const struct model_lease *lease)
{
    if (sim_chance(sim, 90))
        return lease != NULL && model_lease_is_locked(lease, sim_now_ms(sim)) ? lease->id : 0;
    return sim_below(sim, MODEL_LEASE_IDS + 1);
}

static void start_container(struct sim *sim, struct operation *operation, struct asked *asked)
{
    static void (*const starts[])(struct service *, struct container_change *) = {
        [CONTAINER_CREATE] = container_create,
        [CONTAINER_DELETE] = container_delete,
        [CONTAINER_SET_METADATA] = container_set_metadata,
    };
    static const char *const words[] = { "create", "delete", "set metadata", "lease" };
    const struct model_container *found = model_container_find(model_of(sim), asked->container);
    asked->lease_id = choose_lease(sim, found == NULL ? NULL : &found->lease);
    asked->condition = model_condition(sim, etag_now(sim, asked, false));
    asked->metadata = sim_below(sim, 5);
    sim_describe(operation, "%s: %s lease %u condition %d", CONTAINER_TEXTS[asked->container],
                 words[asked->kind], asked->lease_id, (int)asked->condition.kind);
    if (asked->kind == CONTAINER_LEASE) {
        struct container_lease *request = &asked->request.container_lease;
        sim_bind(operation, &request->base);
        request->name = container_called(asked->container);
        request->lease = model_lease_request(sim, &asked->lease_id, &asked->proposed_id);
        request->condition = model_condition_request(&asked->condition);
        container_lease(&sim->service, request);
        return;
    }
    struct container_change *request = &asked->request.container_change;
    sim_bind(operation, &request->base);
    request->name = container_called(asked->container);
    request->metadata = model_metadata(&operation->arena, asked->metadata);
    request->condition = model_condition_request(&asked->condition);
    request->has_lease_id = asked->lease_id != 0;
    request->lease_id = model_lease_id(asked->lease_id);
    starts[asked->kind](&sim->service, request);
}

/* What all changes of blobs have in common. */
static void fill(struct operation *operation, struct asked *asked, struct blob_change *change)
{
    sim_bind(operation, &change->base);
    change->name = blob_called(asked->container, asked->blob);
    change->name.snapshot = asked->snapshot;
    change->condition = model_condition_request(&asked->condition);
    change->has_lease_id = asked->lease_id != 0;
    change->lease_id = model_lease_id(asked->lease_id);
    change->metadata = model_metadata(&operation->arena, asked->metadata);
    change->snapshots = asked->snapshots;
}

static bool fill_payload(struct sim *sim, struct operation *operation, struct asked *asked,
                         struct blob_change *change)
{
    asked->piece.seed = model_of(sim)->seeds++;
    asked->piece.length_bytes = asked->kind == BLOB_PUT && sim_chance(sim, 5) ? 0 : model_size(sim);
    return sim_payload(operation, asked->piece.seed, asked->piece.length_bytes, &change->payload);
}

static void start_delete(struct sim *sim, struct operation *operation, struct asked *asked,
                         const struct model_blob *blob)
{
    asked->snapshots = (enum blob_snapshots)sim_below(sim, 3);
    if (blob != NULL && blob->snapshot_count > 0 && sim_chance(sim, 30)) {
        asked->snapshot = blob->snapshots[sim_below(sim, (uint32_t)blob->snapshot_count)].taken;
        asked->lease_id = 0;
    }
    struct blob_change *change = &asked->request.blob_change;
    fill(operation, asked, change);
    blob_delete(&sim->service, change);
}

static void start_lease(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct blob_lease *request = &asked->request.blob_lease;
    sim_bind(operation, &request->base);
    request->name = blob_called(asked->container, asked->blob);
    request->lease = model_lease_request(sim, &asked->lease_id, &asked->proposed_id);
    request->condition = model_condition_request(&asked->condition);
    blob_lease(&sim->service, request);
}

static void start_snapshot(struct sim *sim, struct operation *operation, struct asked *asked,
                           const struct model_blob *blob)
{
    const size_t most = asked->blob == 0 ? MANY_SNAPSHOTS : FEW_SNAPSHOTS;
    if (blob != NULL && blob->snapshot_count >= most)
        return;
    struct blob_snapshot *request = &asked->request.blob_snapshot;
    sim_bind(operation, &request->base);
    request->name = blob_called(asked->container, asked->blob);
    request->condition = model_condition_request(&asked->condition);
    request->has_lease_id = asked->lease_id != 0;
    request->lease_id = model_lease_id(asked->lease_id);
    request->metadata = model_metadata(&operation->arena, asked->metadata);
    blob_snapshot(&sim->service, request);
}

static void start_block(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct block_put *request = &asked->request.block_put;
    asked->block_id = sim_below(sim, asked->blob == MANY_BLOCKS_BLOB ? BLOCK_IDS : 6);
    asked->block_id_bytes = sim_chance(sim, 97) ? 1 : 4;
    asked->condition.kind = MODEL_ALWAYS;
    if (!fill_payload(sim, operation, asked, &request->change))
        return;
    fill(operation, asked, &request->change);
    request->block_id = block_called(&operation->arena, asked->block_id, asked->block_id_bytes);
    block_put(&sim->service, request);
}

/* The number of a block that is there, mostly. */
static unsigned choose_block(struct sim *sim, const struct model_blob *blob)
{
    const unsigned chosen = sim_below(sim, 6);
    if (blob == NULL || sim_chance(sim, 5))
        return chosen;
    const struct model_bytes *bytes = &blob->now.bytes;
    if (bytes->has_blocks && bytes->count > 0 && sim_chance(sim, 30))
        return bytes->block_ids[sim_below(sim, (uint32_t)bytes->count)];
    for (unsigned i = 0; i < BLOCK_IDS; i++) {
        const unsigned id = (chosen * 37 + i) % BLOCK_IDS;
        if (blob->blocks[id].length_bytes > 0)
            return id;
    }
    return chosen;
}

static void start_list(struct sim *sim, struct operation *operation, struct asked *asked,
                       const struct model_blob *blob)
{
    struct block_list_put *request = &asked->request.block_list_put;
    asked->list_count = sim_below(sim, LIST_MAX);
    asked->block_id_bytes = blob != NULL && blob->block_count > 0 ? blob->block_id_bytes : 1;
    struct block_ref *blocks =
        arena_alloc(&operation->arena, (asked->list_count + 1) * sizeof(*blocks));
    const enum block_kind kind =
        sim_chance(sim, 70) ? BLOCK_FROM_LATEST : (enum block_kind)sim_below(sim, 3);
    for (size_t i = 0; i < asked->list_count; i++) {
        asked->list[i] = choose_block(sim, blob);
        asked->list_kinds[i] = sim_chance(sim, 95) ? kind : (enum block_kind)sim_below(sim, 3);
        blocks[i].block_id = block_called(&operation->arena, asked->list[i], asked->block_id_bytes);
        blocks[i].kind = asked->list_kinds[i];
    }
    fill(operation, asked, &request->change);
    request->blocks = blocks;
    request->block_count = asked->list_count;
    block_list_put(&sim->service, request);
}

static void start_append(struct sim *sim, struct operation *operation, struct asked *asked,
                         const struct model_blob *blob)
{
    struct append_change *request = &asked->request.append;
    uint64_t length = 0;
    for (size_t i = 0; blob != NULL && i < blob->now.bytes.count; i++)
        length += blob->now.bytes.pieces[i].length_bytes;
    if (blob != NULL && blob->now.bytes.count >= PIECES_MAX - SIM_OPERATIONS)
        return;
    if (asked->kind == APPEND_BLOCK && !fill_payload(sim, operation, asked, &request->blob))
        return;
    request->has_position = sim_chance(sim, 40);
    request->position = sim_chance(sim, 90) ? length : length + 1;
    request->has_size_max = sim_chance(sim, 20);
    request->size_max = length + sim_below(sim, 2000);
    fill(operation, asked, &request->blob);
    if (asked->kind == APPEND_BLOCK)
        append_block(&sim->service, request);
    else
        append_seal(&sim->service, request);
}

static void start_put(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct blob_change *change = &asked->request.blob_change;
    if (asked->kind == BLOB_PUT && !fill_payload(sim, operation, asked, change))
        return;
    fill(operation, asked, change);
    change->create_only = asked->kind == BLOB_PUT && sim_chance(sim, 3);
    if (asked->kind == BLOB_PUT)
        blob_put(&sim->service, change);
    else if (asked->kind == APPEND_CREATE)
        append_create(&sim->service, change);
    else if (asked->kind == BLOB_SET_METADATA)
        blob_set_metadata(&sim->service, change);
    else
        blob_set_properties(&sim->service, change);
}

static void start_blob(struct sim *sim, struct operation *operation, struct asked *asked)
{
    static const char *const words[] = {
        [BLOB_PUT] = "put",
        [BLOB_SET_METADATA] = "set metadata",
        [BLOB_DELETE] = "delete",
        [BLOB_SET_PROPERTIES] = "set properties",
        [BLOB_LEASE] = "lease",
        [BLOB_SNAPSHOT] = "snapshot",
        [BLOCK_PUT] = "put block",
        [BLOCK_LIST_PUT] = "put block list",
        [APPEND_CREATE] = "create append",
        [APPEND_BLOCK] = "append block",
        [APPEND_SEAL] = "seal",
    };
    struct model_container *container = model_container_find(model_of(sim), asked->container);
    const struct model_blob *blob = container == NULL ? NULL : &container->blobs[asked->blob];
    asked->lease_id = choose_lease(sim, blob == NULL ? NULL : &blob->lease);
    asked->condition = model_condition(sim, etag_now(sim, asked, true));
    asked->metadata = sim_below(sim, 5);
    operation->target = container;
    sim_describe(operation, "%s/%s: %s lease %u condition %d", CONTAINER_TEXTS[asked->container],
                 BLOB_TEXTS[asked->blob], words[asked->kind], asked->lease_id,
                 (int)asked->condition.kind);
    /* Held before the service is asked: it may be done before it returns. */
    if (container != NULL)
        container->use_count++;
    if (asked->kind == BLOB_DELETE)
        start_delete(sim, operation, asked, blob);
    else if (asked->kind == BLOB_LEASE)
        start_lease(sim, operation, asked);
    else if (asked->kind == BLOB_SNAPSHOT)
        start_snapshot(sim, operation, asked, blob);
    else if (asked->kind == BLOCK_PUT)
        start_block(sim, operation, asked);
    else if (asked->kind == BLOCK_LIST_PUT)
        start_list(sim, operation, asked, blob);
    else if (asked->kind == APPEND_BLOCK || asked->kind == APPEND_SEAL)
        start_append(sim, operation, asked, blob);
    else
        start_put(sim, operation, asked);
    if (operation->base == NULL && container != NULL)
        model_container_let_go(container);
}

void blobs_start(struct sim *sim, struct operation *operation)
{
    struct asked *asked = arena_alloc(&operation->arena, sizeof(*asked));
    asked->kind = choose_kind(sim);
    asked->container = sim_below(sim, CONTAINER_NAMES);
    asked->blob = sim_below(sim, BLOB_NAMES);
    operation->request = asked;
    if (asked->kind <= CONTAINER_LEASE)
        start_container(sim, operation, asked);
    else
        start_blob(sim, operation, asked);
}
