/*
 * blobs_read.c - what clients see of containers and blobs, against the model.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blobs.h"

static struct model_blobs *model_of(struct sim *sim)
{
    return sim->state;
}

static uint64_t length_of(const struct model_bytes *bytes)
{
    uint64_t length = 0;
    for (size_t i = 0; i < bytes->count; i++)
        length += bytes->pieces[i].length_bytes;
    return length;
}

/* The whole content, or a part of it, byte for byte. */
static void check_bytes(struct sim *sim, const char *object, struct arena *arena,
                        const struct model_bytes *bytes, struct payload_reader *payload)
{
    const uint64_t length = length_of(bytes);
    SIM_CHECK(sim, object, payload->length_bytes == length);
    if (length == 0)
        return;
    char *expected = arena_bytes(arena, (size_t)length);
    size_t filled = 0;
    for (size_t i = 0; i < bytes->count; i++) {
        sim_bytes(bytes->pieces[i].seed, expected + filled, bytes->pieces[i].length_bytes);
        filled += bytes->pieces[i].length_bytes;
    }
    const size_t from = sim_chance(sim, 50) ? 0 : (size_t)(sim_next(sim) % length);
    const size_t len = (size_t)length - from;
    char *got = arena_bytes(arena, len);
    SIM_CHECK(sim, object, payload_read(payload, from, got, len) == OK);
    SIM_CHECK(sim, object, memcmp(got, expected + from, len) == 0);
}

static void check_record(struct sim *sim, const char *object, const struct blob *blob,
                         const struct model_state *state)
{
    SIM_CHECK(sim, object, blob->etag == state->etag);
    SIM_CHECK(sim, object, blob->type == state->type);
    SIM_CHECK(sim, object, blob->sealed == state->is_sealed);
    SIM_CHECK(sim, object, blob->content.length_bytes == length_of(&state->bytes));
    SIM_CHECK(sim, object, model_metadata_is(&blob->metadata, state->metadata));
    sim_digest(sim, (uint64_t)blob->etag);
}

static void read_blob(struct sim *sim, struct arena *arena, unsigned name, unsigned index)
{
    const struct model_container *container = model_container_find(model_of(sim), name);
    const struct model_blob *blob = container == NULL ? NULL : &container->blobs[index];
    const struct model_state *state = blob != NULL && blob->exists ? &blob->now : NULL;
    struct blob_get_request get = { .name = blob_called(name, index),
                                    .want_payload = sim_chance(sim, 80) };
    char object[64];
    snprintf(object, sizeof(object), "%s/%s", CONTAINER_TEXTS[name], BLOB_TEXTS[index]);
    unsigned lease_id = sim_chance(sim, 70) ? 0 : 1 + sim_below(sim, MODEL_LEASE_IDS);
    if (blob != NULL && blob->snapshot_count > 0 && sim_chance(sim, 30)) {
        const struct model_snapshot *snapshot =
            &blob->snapshots[sim_below(sim, (uint32_t)blob->snapshot_count)];
        state = &snapshot->state;
        get.name.snapshot = snapshot->taken;
        lease_id = 0;
    }
    const struct model_condition condition = model_condition(sim, state == NULL ? 0 : state->etag);
    get.condition = model_condition_request(&condition);
    get.has_lease_id = lease_id != 0;
    get.lease_id = model_lease_id(lease_id);
    enum err expected = container == NULL ? ERR_CONTAINER_NOT_FOUND
                        : state == NULL   ? ERR_BLOB_NOT_FOUND
                                          : OK;
    if (expected == OK)
        expected = model_lease_read(&blob->lease, LEASE_OF_BLOB, lease_id, sim_now_ms(sim));
    if (expected == OK)
        expected = model_condition_read(&condition, state->etag);
    struct blob got;
    struct payload_reader payload;
    sim_expect_read(sim, object, "get", blob_get(&sim->service, arena, &get, &got, &payload),
                    expected);
    if (expected != OK)
        return;
    check_record(sim, object, &got, state);
    if (get.name.snapshot == 0)
        SIM_CHECK(sim, object, model_lease_is_same(&blob->lease, &got.lease, sim_now_ms(sim)));
    else
        SIM_CHECK(sim, object, got.lease.state == LEASE_AVAILABLE);
    if (get.want_payload)
        check_bytes(sim, object, arena, &state->bytes, &payload);
}

/* --- block lists --- */

struct block_walk {
    struct sim *sim;
    const char *object;
    const struct model_blob *blob;
    struct arena *arena;
    size_t committed_count;
    unsigned next; /* the least number of an uncommitted block that may come */
    size_t uncommitted_count;
};

static void check_block(void *arg, enum block_state state, struct slice block_id,
                        uint64_t length_bytes)
{
    struct block_walk *walk = arg;
    const struct model_blob *blob = walk->blob;
    const unsigned number = (unsigned)(unsigned char)block_id.data[0] - 1;
    if (state == BLOCK_COMMITTED) {
        const size_t at = walk->committed_count++;
        SIM_CHECK(walk->sim, walk->object, at < blob->now.bytes.count);
        SIM_CHECK(walk->sim, walk->object, blob->now.bytes.block_ids[at] == number);
        SIM_CHECK(walk->sim, walk->object, blob->now.bytes.pieces[at].length_bytes == length_bytes);
        return;
    }
    SIM_CHECK(walk->sim, walk->object, number < BLOCK_IDS && number >= walk->next);
    SIM_CHECK(walk->sim, walk->object, block_id.len == blob->block_id_bytes);
    SIM_CHECK(walk->sim, walk->object, blob->blocks[number].length_bytes == length_bytes);
    walk->next = number + 1;
    walk->uncommitted_count++;
}

static void read_blocks(struct sim *sim, struct arena *arena, unsigned name, unsigned index)
{
    const struct model_container *container = model_container_find(model_of(sim), name);
    const struct model_blob *blob = container == NULL ? NULL : &container->blobs[index];
    char object[64];
    snprintf(object, sizeof(object), "%s/%s", CONTAINER_TEXTS[name], BLOB_TEXTS[index]);
    struct block_walk walk = { .sim = sim, .object = object, .blob = blob, .arena = arena };
    const struct block_list_request request = { .get = { .name = blob_called(name, index) },
                                                .want_committed = true,
                                                .want_uncommitted = true,
                                                .emit = check_block,
                                                .arg = &walk };
    enum err expected = OK;
    if (container == NULL)
        expected = ERR_CONTAINER_NOT_FOUND;
    else if (!blob->exists && blob->block_count == 0)
        expected = ERR_BLOB_NOT_FOUND;
    else if (blob->exists && blob->now.type != BLOB_BLOCK)
        expected = ERR_INVALID_BLOB_TYPE;
    struct blob got;
    bool exists;
    sim_expect_read(sim, object, "get block list",
                    block_list_get(&sim->service, arena, &request, &got, &exists), expected);
    if (expected != OK)
        return;
    SIM_CHECK(sim, object, exists == blob->exists);
    SIM_CHECK(sim, object, walk.uncommitted_count == blob->block_count);
    if (blob->exists)
        SIM_CHECK(sim, object,
                  walk.committed_count == (blob->now.bytes.has_blocks ? blob->now.bytes.count : 0));
}

static void read_container(struct sim *sim, struct arena *arena, unsigned name)
{
    const struct model_container *container = model_container_find(model_of(sim), name);
    const struct container_name called = container_called(name);
    const unsigned lease_id = sim_chance(sim, 70) ? 0 : 1 + sim_below(sim, MODEL_LEASE_IDS);
    const struct uuid id = model_lease_id(lease_id);
    struct container got;
    enum err expected = container == NULL ? ERR_CONTAINER_NOT_FOUND : OK;
    if (expected == OK)
        expected =
            model_lease_read(&container->lease, LEASE_OF_CONTAINER, lease_id, sim_now_ms(sim));
    sim_expect_read(sim, CONTAINER_TEXTS[name], "get container",
                    container_get(&sim->service, arena, &called, lease_id == 0 ? NULL : &id, &got),
                    expected);
    if (expected != OK)
        return;
    SIM_CHECK(sim, CONTAINER_TEXTS[name], got.etag == container->etag);
    SIM_CHECK(sim, CONTAINER_TEXTS[name], model_metadata_is(&got.metadata, container->metadata));
    SIM_CHECK(sim, CONTAINER_TEXTS[name],
              model_lease_is_same(&container->lease, &got.lease, sim_now_ms(sim)));
}

void blobs_read(struct sim *sim)
{
    struct arena arena = { 0 };
    const unsigned container = sim_below(sim, CONTAINER_NAMES);
    const unsigned blob = sim_below(sim, BLOB_NAMES);
    const uint32_t choice = sim_below(sim, 10);
    if (choice < 7)
        read_blob(sim, &arena, container, blob);
    else if (choice < 9)
        read_blocks(sim, &arena, container, blob);
    else
        read_container(sim, &arena, container);
    arena_release(&arena);
}

/* --- listing --- */

struct blob_walk {
    struct sim *sim;
    const struct model_container *container;
    const char *object;
    size_t listed_count;
};

static bool check_entry(void *arg, const struct blob_list_entry *entry)
{
    struct blob_walk *walk = arg;
    unsigned index = 0;
    while (index < BLOB_NAMES && !slice_is(entry->name, BLOB_TEXTS[index]))
        index++;
    SIM_CHECK(walk->sim, walk->object, index < BLOB_NAMES);
    const struct model_blob *blob = &walk->container->blobs[index];
    walk->listed_count++;
    if (entry->is_uncommitted) {
        SIM_CHECK(walk->sim, BLOB_TEXTS[index], !blob->exists && blob->block_count > 0);
        return true;
    }
    const struct model_state *state = blob->exists ? &blob->now : NULL;
    for (size_t i = 0; entry->snapshot != 0 && i < blob->snapshot_count; i++)
        if (blob->snapshots[i].taken == entry->snapshot)
            state = &blob->snapshots[i].state;
    SIM_CHECK(walk->sim, BLOB_TEXTS[index], state != NULL);
    SIM_CHECK(walk->sim, BLOB_TEXTS[index], entry->blob->etag == state->etag);
    SIM_CHECK(walk->sim, BLOB_TEXTS[index],
              entry->blob->content.length_bytes == length_of(&state->bytes));
    return true;
}

static size_t entry_count(const struct model_container *container)
{
    size_t count = 0;
    for (size_t i = 0; i < BLOB_NAMES; i++) {
        const struct model_blob *blob = &container->blobs[i];
        count += blob->snapshot_count + (blob->exists || blob->block_count > 0);
    }
    return count;
}

static void list_blobs(struct sim *sim, const struct model_container *container)
{
    struct arena arena = { 0 };
    struct blob_walk walk = { .sim = sim,
                              .container = container,
                              .object = CONTAINER_TEXTS[container->name] };
    struct blob_list_request request = { .container = container_called(container->name),
                                         .with_snapshots = true,
                                         .with_uncommitted = true,
                                         .results_max = 1 + sim_below(sim, 20),
                                         .emit = check_entry,
                                         .arg = &walk };
    struct blob_position next;
    do {
        const enum err err = blob_list(&sim->service, &arena, &request, &next);
        sim_expect_read(sim, walk.object, "list blobs", err, OK);
        request.from = next;
    } while (next.name.len > 0);
    SIM_CHECK(sim, walk.object, walk.listed_count == entry_count(container));
    arena_release(&arena);
}

static bool count_container(void *arg, struct slice name, const struct container *container)
{
    size_t *count = arg;
    (void)name;
    (void)container;
    ++*count;
    return true;
}

static size_t list_containers(struct sim *sim)
{
    struct arena arena = { 0 };
    size_t count = 0;
    struct slice next;
    const struct container_list_request request = { .account = slice_of(SIM_ACCOUNT),
                                                    .results_max = SIZE_MAX,
                                                    .emit = count_container,
                                                    .arg = &count };
    const enum err err = container_list(&sim->service, &arena, &request, &next);
    sim_expect_read(sim, "", "list containers", err, OK);
    arena_release(&arena);
    return count;
}

void blobs_audit(struct sim *sim)
{
    struct arena arena = { 0 };
    size_t count = 0;
    for (unsigned name = 0; name < CONTAINER_NAMES; name++) {
        const struct model_container *container = model_container_find(model_of(sim), name);
        read_container(sim, &arena, name);
        count += container != NULL;
        if (container != NULL)
            list_blobs(sim, container);
        for (unsigned blob = 0; blob < BLOB_NAMES; blob++) {
            read_blob(sim, &arena, name, blob);
            read_blocks(sim, &arena, name, blob);
        }
        arena_clear(&arena);
    }
    SIM_CHECK(sim, "", list_containers(sim) == count);
    arena_release(&arena);
}

void blobs_settled(struct sim *sim, const struct fsck_summary *summary)
{
    uint64_t containers = 0;
    uint64_t blobs = 0;
    uint64_t snapshots = 0;
    for (unsigned name = 0; name < CONTAINER_NAMES; name++) {
        const struct model_container *container = model_container_find(model_of(sim), name);
        containers += container != NULL;
        for (size_t i = 0; container != NULL && i < BLOB_NAMES; i++) {
            blobs += container->blobs[i].exists;
            snapshots += container->blobs[i].snapshot_count;
        }
    }
    SIM_CHECK(sim, "", summary->container_count == containers);
    SIM_CHECK(sim, "", summary->blob_count == blobs);
    SIM_CHECK(sim, "", summary->snapshot_count == snapshots);
}
