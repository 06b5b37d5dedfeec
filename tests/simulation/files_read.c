/*
 * files_read.c - what clients see of shares, directories, files and snapshots, against the model.
 */
#include <stdio.h>
#include <string.h>

#include "files.h"

enum {
    BLOCK_BYTES = 512,
};

static struct model_files *model_of(struct sim *sim)
{
    return sim->state;
}

/* Reads are answered at once here: they have been let in. */
struct answer {
    bool is_done;
    enum err err;
};

static void note_answer(void *arg, enum err err)
{
    struct answer *answer = arg;
    answer->is_done = true;
    answer->err = err;
}

static struct service_change base_of(struct arena *arena, struct answer *answer)
{
    return (struct service_change){ .arena = arena, .done = note_answer, .arg = answer };
}

/* The share, or one of its snapshots. */
struct place {
    unsigned name;
    int64_t snapshot;
    struct model_tree *tree; /* NULL: there is no such share */
};

static struct place choose_place(struct sim *sim, unsigned name)
{
    const struct model_share *share = model_share_find(model_of(sim), name);
    struct place place = { .name = name, .tree = share == NULL ? NULL : share->tree };
    if (share != NULL && share->snapshot_count > 0 && sim_chance(sim, 40)) {
        const struct model_share_snapshot *snapshot =
            &share->snapshots[sim_below(sim, (uint32_t)share->snapshot_count)];
        place.snapshot = snapshot->taken;
        place.tree = snapshot->tree;
    }
    return place;
}

static void check_node(struct sim *sim, const char *object, const struct node *got,
                       const struct model_node *node, bool is_snapshot)
{
    SIM_CHECK(sim, object, got->id == node->id);
    SIM_CHECK(sim, object, got->kind == node->kind);
    SIM_CHECK(sim, object, got->etag == node->etag);
    SIM_CHECK(sim, object, slice_is(got->name, node_text(node->name, node->is_upper)));
    SIM_CHECK(sim, object, model_metadata_is(&got->metadata, node->metadata));
    SIM_CHECK(sim, object,
              node->kind == NODE_DIRECTORY || got->content.length_bytes == node->size_bytes);
    if (!is_snapshot && node->kind == NODE_FILE)
        SIM_CHECK(sim, object,
                  (got->lease.state == LEASE_LEASED) == (node->lease == FILE_LEASED) &&
                      (got->lease.state == LEASE_AVAILABLE) == (node->lease == FILE_LEASE_NONE));
    sim_digest(sim, (uint64_t)got->etag);
}

static void read_node(struct sim *sim, struct arena *arena, const struct place *place,
                      const struct model_path *path, enum node_kind kind)
{
    const char *object = SHARE_TEXTS[place->name];
    struct answer answer = { 0 };
    struct model_node *node = NULL;
    struct node_get *get = arena_alloc(arena, sizeof(*get));
    get->base = base_of(arena, &answer);
    get->name = node_called(arena, place->name, place->snapshot, path);
    get->kind = kind;
    get->want_payload = kind == NODE_FILE;
    get->is_admitted = true;
    node_get(&sim->service, get);
    SIM_CHECK(sim, object, answer.is_done);
    const enum err expected =
        place->tree == NULL ? ERR_SHARE_NOT_FOUND : model_tree_find(place->tree, path, kind, &node);
    sim_expect_read(sim, object, place->snapshot == 0 ? "get" : "get in a snapshot", answer.err,
                    expected);
    if (expected != OK)
        return;
    check_node(sim, object, &get->node, node, place->snapshot != 0);
    if (kind == NODE_DIRECTORY || node->size_bytes == 0)
        return;
    char *bytes = arena_bytes(arena, node->size_bytes);
    SIM_CHECK(sim, object, payload_read(&get->payload, 0, bytes, node->size_bytes) == OK);
    SIM_CHECK(sim, object, memcmp(bytes, node->bytes, node->size_bytes) == 0);
}

/* --- ranges --- */

struct range_walk {
    struct sim *sim;
    const char *object;
    const struct model_node *node;
    uint64_t reached;
};

static bool is_written(const struct model_node *node, uint64_t block_start)
{
    for (uint64_t i = block_start; i < block_start + BLOCK_BYTES && i < node->size_bytes; i++)
        if (node->written[i])
            return true;
    return false;
}

/* The next range of blocks that is written; false if there is none. */
static bool next_range(const struct model_node *node, uint64_t from, uint64_t *start, uint64_t *end)
{
    while (from < node->size_bytes && !is_written(node, from))
        from += BLOCK_BYTES;
    *start = from;
    while (from < node->size_bytes && is_written(node, from))
        from += BLOCK_BYTES;
    *end = from < node->size_bytes ? from : node->size_bytes;
    return *start < *end;
}

static void check_range(void *arg, bool cleared, uint64_t start, uint64_t end)
{
    struct range_walk *walk = arg;
    uint64_t expected_start;
    uint64_t expected_end;
    SIM_CHECK(walk->sim, walk->object, !cleared);
    SIM_CHECK(walk->sim, walk->object,
              next_range(walk->node, walk->reached, &expected_start, &expected_end));
    SIM_CHECK(walk->sim, walk->object, start == expected_start);
    SIM_CHECK(walk->sim, walk->object, end == expected_end);
    walk->reached = (end + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

static void read_ranges(struct sim *sim, struct arena *arena, const struct place *place,
                        const struct model_path *path)
{
    const char *object = SHARE_TEXTS[place->name];
    struct model_node *node;
    uint64_t start;
    uint64_t end;
    if (place->tree == NULL || model_tree_find(place->tree, path, NODE_FILE, &node) != OK ||
        node->size_bytes == 0)
        return;
    struct answer answer = { 0 };
    struct range_walk walk = { .sim = sim, .object = object, .node = node };
    struct node_ranges *ranges = arena_alloc(arena, sizeof(*ranges));
    ranges->base = base_of(arena, &answer);
    ranges->name = node_called(arena, place->name, place->snapshot, path);
    ranges->end = UINT64_MAX;
    ranges->is_admitted = true;
    ranges->emit = check_range;
    ranges->arg = &walk;
    node_ranges(&sim->service, ranges);
    SIM_CHECK(sim, object, answer.is_done);
    sim_expect_read(sim, object, "list ranges", answer.err, OK);
    SIM_CHECK(sim, object, !next_range(node, walk.reached, &start, &end));
}

/* --- listing --- */

struct tree_walk {
    struct sim *sim;
    struct place place;
    uint64_t parent_id;
    size_t count;
};

static bool check_listed(void *arg, const struct node *got)
{
    struct tree_walk *walk = arg;
    const char *object = SHARE_TEXTS[walk->place.name];
    const struct model_node *node = model_tree_by_id(walk->place.tree, got->id);
    SIM_CHECK(walk->sim, object, node != NULL && node->parent_id == walk->parent_id);
    check_node(walk->sim, object, got, node, walk->place.snapshot != 0);
    walk->count++;
    return true;
}

/* List a directory, whose path is given, and all below it. */
static void list_tree(struct sim *sim, const struct place *place, const struct model_path *path,
                      uint64_t id)
{
    struct arena arena = { 0 };
    struct tree_walk walk = { .sim = sim, .place = *place, .parent_id = id };
    struct node_list_request request = {
        .directory = path->depth == 0
                         ? (struct node_name){ .share = share_called(place->name, place->snapshot) }
                         : node_called(&arena, place->name, place->snapshot, path),
        .results_max = 1 + sim_below(sim, 3),
        .emit = check_listed,
        .arg = &walk,
    };
    struct node directory;
    struct slice next;
    do {
        const enum err err = node_list(&sim->service, &arena, &request, &directory, &next);
        sim_expect_read(sim, SHARE_TEXTS[place->name], "list", err, OK);
        request.from = next;
    } while (next.len > 0);
    size_t expected = 0;
    for (size_t i = 0; i < NODES_MAX; i++) {
        const struct model_node *node = &place->tree->nodes[i];
        if (node->id == 0 || node->parent_id != id)
            continue;
        expected++;
        struct model_path below = *path;
        if (below.depth == DEPTH_MAX)
            continue; /* a rename has made it deeper than paths are here */
        below.names[below.depth] = node->name;
        below.is_upper[below.depth++] = node->is_upper;
        if (node->kind == NODE_DIRECTORY)
            list_tree(sim, place, &below, node->id);
        else
            read_node(sim, &arena, place, &below, NODE_FILE);
        read_ranges(sim, &arena, place, &below);
    }
    SIM_CHECK(sim, SHARE_TEXTS[place->name], walk.count == expected);
    arena_release(&arena);
}

/* --- shares --- */

static uint64_t used_bytes(const struct model_tree *tree)
{
    uint64_t used = 0;
    for (size_t i = 0; i < NODES_MAX; i++)
        for (size_t j = 0; tree->nodes[i].id != 0 && j < FILE_BYTES_MAX; j++)
            used += tree->nodes[i].written[j];
    return used;
}

static void read_share(struct sim *sim, struct arena *arena, unsigned name)
{
    const struct model_share *share = model_share_find(model_of(sim), name);
    const struct share_name called = share_called(name, 0);
    struct share got;
    uint64_t bytes;
    const enum err expected = share == NULL ? ERR_SHARE_NOT_FOUND : OK;
    sim_expect_read(sim, SHARE_TEXTS[name], "get share",
                    share_get(&sim->service, arena, &called, NULL, &got), expected);
    if (share == NULL)
        return;
    SIM_CHECK(sim, SHARE_TEXTS[name], got.etag == share->etag);
    SIM_CHECK(sim, SHARE_TEXTS[name], model_metadata_is(&got.metadata, share->metadata));
    SIM_CHECK(sim, SHARE_TEXTS[name],
              model_lease_is_same(&share->lease, &got.lease, sim_now_ms(sim)));
    SIM_CHECK(sim, SHARE_TEXTS[name],
              share_get_usage(&sim->service, arena, &called, NULL, &bytes) == OK);
    SIM_CHECK(sim, SHARE_TEXTS[name], bytes == used_bytes(share->tree));
    for (size_t i = 0; i < share->snapshot_count; i++) {
        const struct share_name snapshot = share_called(name, share->snapshots[i].taken);
        SIM_CHECK(sim, SHARE_TEXTS[name],
                  share_get(&sim->service, arena, &snapshot, NULL, &got) == OK);
        SIM_CHECK(sim, SHARE_TEXTS[name], got.etag == share->snapshots[i].etag);
        SIM_CHECK(sim, SHARE_TEXTS[name],
                  model_metadata_is(&got.metadata, share->snapshots[i].metadata));
    }
}

void files_read(struct sim *sim)
{
    struct arena arena = { 0 };
    const unsigned name = sim_below(sim, SHARE_NAMES);
    const struct place place = choose_place(sim, name);
    const struct model_path path = model_path(sim);
    const uint32_t choice = sim_below(sim, 20);
    if (choice < 12)
        read_node(sim, &arena, &place, &path, sim_chance(sim, 70) ? NODE_FILE : NODE_DIRECTORY);
    else if (choice < 19)
        read_ranges(sim, &arena, &place, &path);
    else
        read_share(sim, &arena, name);
    arena_release(&arena);
}

void files_audit(struct sim *sim)
{
    struct arena arena = { 0 };
    const struct model_path root = { 0 };
    for (unsigned name = 0; name < SHARE_NAMES; name++) {
        const struct model_share *share = model_share_find(model_of(sim), name);
        read_share(sim, &arena, name);
        if (share == NULL)
            continue;
        const struct place now = { .name = name, .tree = share->tree };
        list_tree(sim, &now, &root, NODE_ROOT_ID);
        for (size_t i = 0; i < share->snapshot_count; i++) {
            const struct place then = { .name = name,
                                        .snapshot = share->snapshots[i].taken,
                                        .tree = share->snapshots[i].tree };
            list_tree(sim, &then, &root, NODE_ROOT_ID);
        }
    }
    arena_release(&arena);
}

void files_settled(struct sim *sim, const struct fsck_summary *summary)
{
    uint64_t shares = 0;
    uint64_t snapshots = 0;
    uint64_t nodes = 0;
    for (unsigned name = 0; name < SHARE_NAMES; name++) {
        const struct model_share *share = model_share_find(model_of(sim), name);
        if (share == NULL)
            continue;
        shares++;
        snapshots += share->snapshot_count;
        nodes += model_tree_count(share->tree);
    }
    SIM_CHECK(sim, "", summary->share_count == shares);
    SIM_CHECK(sim, "", summary->share_snapshot_count == snapshots);
    SIM_CHECK(sim, "", summary->node_count == nodes);
}
