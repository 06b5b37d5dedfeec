/*
 * files_start.c - what clients ask of shares, directories and files.
 */
#include <assert.h>
#include <stdio.h>

#include "files.h"

static const unsigned WEIGHTS[KIND_COUNT] = {
    [SHARE_CREATE] = 3,   [SHARE_DELETE] = 1, [SHARE_SET_METADATA] = 2, [SHARE_LEASE] = 2,
    [SHARE_SNAPSHOT] = 4, [NODE_CREATE] = 24, [NODE_SET_METADATA] = 6,  [NODE_RESIZE] = 5,
    [NODE_DELETE] = 9,    [NODE_RENAME] = 12, [NODE_WRITE] = 24,        [NODE_CLEAR] = 6,
    [NODE_LEASE] = 6,     [SMB_OPEN] = 5,     [SMB_CLOSE] = 6,
};

static const char *const WORDS[KIND_COUNT] = {
    "create share", "delete share",   "set share metadata",
    "lease share",  "snapshot share", "create",
    "set metadata", "resize",         "delete",
    "rename",       "write",          "clear",
    "lease",        "open",           "close",
};

/* --- names --- */

const char *node_text(unsigned name, bool is_upper)
{
    static const char *const texts[NODE_NAMES][2] = { { "alpha", "ALPHA" },
                                                      { "bravo", "BRAVO" },
                                                      { "charlie", "CHARLIE" } };
    return texts[name][is_upper];
}

struct model_path model_path(struct sim *sim)
{
    struct model_path path = { .depth = 1 + sim_below(sim, DEPTH_MAX) };
    for (size_t i = 0; i < path.depth; i++) {
        path.names[i] = sim_below(sim, NODE_NAMES);
        path.is_upper[i] = sim_chance(sim, 30);
    }
    return path;
}

static void path_text(const struct model_path *path, char *text, size_t size)
{
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < path->depth; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%s", i == 0 ? "" : "/",
                                node_text(path->names[i], path->is_upper[i]));
}

struct share_name share_called(unsigned name, int64_t snapshot)
{
    return (struct share_name){ .account = slice_of(SIM_ACCOUNT),
                                .share = slice_of(SHARE_TEXTS[name]),
                                .snapshot = snapshot };
}

static struct file_path parse_path(struct arena *arena, const struct model_path *path)
{
    char text[64];
    struct file_path parsed;
    path_text(path, text, sizeof(text));
    const enum err err =
        file_path_parse(arena, arena_copy(arena, slice_of(text)), FILE_DOTS_KEPT, &parsed);
    assert(err == OK);
    return parsed;
}

struct node_name node_called(struct arena *arena, unsigned share, int64_t snapshot,
                             const struct model_path *path)
{
    return (struct node_name){ .share = share_called(share, snapshot),
                               .path = parse_path(arena, path) };
}

static struct model_files *model_of(struct sim *sim)
{
    return sim->state;
}

/* --- starting --- */

static unsigned choose_lease(struct sim *sim, const struct model_node *node)
{
    if (sim_chance(sim, 90))
        return node != NULL && node->lease == FILE_LEASED ? node->lease_id : 0;
    return sim_below(sim, MODEL_LEASE_IDS + 1);
}

static void start_share(struct sim *sim, struct operation *operation, struct asked *asked,
                        const struct model_share *share)
{
    static void (*const starts[])(struct service *, struct share_change *) = {
        [SHARE_CREATE] = share_create,
        [SHARE_DELETE] = share_delete,
        [SHARE_SET_METADATA] = share_set_metadata,
        [SHARE_SNAPSHOT] = share_snapshot,
    };
    asked->lease_id = share != NULL && model_lease_is_locked(&share->lease, sim_now_ms(sim))
                          ? share->lease.id
                          : 0;
    if (sim_chance(sim, 10))
        asked->lease_id = sim_below(sim, MODEL_LEASE_IDS + 1);
    asked->metadata = sim_below(sim, 4);
    if (asked->kind == SHARE_LEASE) {
        struct share_lease *request = &asked->request.share_lease;
        sim_bind(operation, &request->base);
        request->name = share_called(asked->share, 0);
        request->lease = model_lease_request(sim, &asked->lease_id, &asked->proposed_id);
        share_lease(&sim->service, request);
        return;
    }
    struct share_change *request = &asked->request.share_change;
    if (asked->kind == SHARE_SNAPSHOT && share != NULL &&
        share->snapshot_count >= SHARE_SNAPSHOTS_MAX)
        asked->kind = SHARE_DELETE;
    if (asked->kind == SHARE_DELETE && share != NULL && share->snapshot_count > 0 &&
        sim_chance(sim, 85)) {
        asked->snapshot = share->snapshots[sim_below(sim, (uint32_t)share->snapshot_count)].taken;
        asked->lease_id = 0;
    }
    sim_bind(operation, &request->base);
    request->name = share_called(asked->share, asked->snapshot);
    request->metadata = model_metadata(&operation->arena, asked->metadata);
    request->has_metadata = asked->metadata != 0;
    request->has_lease_id = asked->lease_id != 0;
    request->lease_id = model_lease_id(asked->lease_id);
    request->snapshots = sim_chance(sim, 50) ? SHARE_SNAPSHOTS_NONE : SHARE_SNAPSHOTS_INCLUDE;
    starts[asked->kind](&sim->service, request);
}

static bool start_range(struct sim *sim, struct operation *operation, struct asked *asked,
                        struct node_change *request)
{
    request->start = sim_below(sim, FILE_BYTES_MAX - 1);
    if (sim_chance(sim, 50))
        request->start = request->start / 512 * 512;
    request->end = request->start + 1 + sim_below(sim, 900);
    if (request->end > FILE_BYTES_MAX)
        request->end = FILE_BYTES_MAX;
    asked->node_kind = NODE_FILE;
    if (asked->kind == NODE_CLEAR)
        return true;
    asked->piece.seed = model_of(sim)->seeds++;
    asked->piece.length_bytes = (uint32_t)(request->end - request->start);
    return sim_payload(operation, asked->piece.seed, asked->piece.length_bytes, &request->payload);
}

static void start_change(struct sim *sim, struct operation *operation, struct asked *asked,
                         struct model_node *node, struct model_node *source)
{
    static void (*const starts[])(struct service *, struct node_change *) = {
        [NODE_CREATE] = node_create,         [NODE_SET_METADATA] = node_set_metadata,
        [NODE_RESIZE] = node_set_properties, [NODE_DELETE] = node_delete,
        [NODE_RENAME] = node_rename,         [NODE_WRITE] = node_write,
        [NODE_CLEAR] = node_clear,
    };
    struct node_change *request = &asked->request.node_change;
    asked->lease_id = choose_lease(sim, node);
    asked->source_lease_id = choose_lease(sim, source);
    asked->metadata = sim_below(sim, 4);
    if ((asked->kind == NODE_WRITE || asked->kind == NODE_CLEAR) &&
        !start_range(sim, operation, asked, request))
        return;
    sim_bind(operation, &request->base);
    request->name = node_called(&operation->arena, asked->share, 0, &asked->path);
    request->kind = asked->node_kind;
    request->metadata = model_metadata(&operation->arena, asked->metadata);
    request->has_metadata = asked->metadata != 0;
    request->has_lease_id = asked->lease_id != 0;
    request->lease_id = model_lease_id(asked->lease_id);
    request->has_size = asked->node_kind == NODE_FILE;
    request->keeps_properties = true;
    request->size_bytes = request->has_size ? sim_below(sim, FILE_BYTES_MAX + 1) : 0;
    if (asked->kind == NODE_RENAME) {
        request->source = parse_path(&operation->arena, &asked->source);
        request->has_source_lease_id = asked->source_lease_id != 0;
        request->source_lease_id = model_lease_id(asked->source_lease_id);
        request->replaces = sim_chance(sim, 50);
    }
    starts[asked->kind](&sim->service, request);
}

static void start_lease(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct node_lease *request = &asked->request.node_lease;
    sim_bind(operation, &request->base);
    request->name = node_called(&operation->arena, asked->share, 0, &asked->path);
    request->lease = model_lease_request(sim, &asked->lease_id, &asked->proposed_id);
    if (request->lease.action == LEASE_ACTION_RENEW)
        request->lease.action = LEASE_ACTION_BREAK;
    node_lease(&sim->service, request);
}

static void open_done(void *arg, enum err err)
{
    struct operation *operation = arg;
    operation->base->done(operation, err);
}

static void start_open(struct sim *sim, struct operation *operation, struct asked *asked,
                       const struct model_share *share, const struct model_node *node)
{
    struct open_request *request = &asked->request.open;
    if (node == NULL || node->kind != NODE_FILE || model_of(sim)->handle_count >= HANDLES_MAX)
        return;
    sim_bind(operation, &asked->plain);
    request->wait.done = open_done;
    request->wait.arg = operation;
    request->client = model_of(sim)->client;
    request->key = (struct file_key){ .share = share->incarnation, .file_id = node->id };
    request->parent_id = node->parent_id;
    request->session_id = 1;
    request->mode.access = sim_below(sim, FILE_ACCESS_ALL + 1);
    request->mode.share = sim_below(sim, FILE_ACCESS_ALL + 1);
    open_table_open(sim->service.opens, request);
}

void files_close_handle(struct sim *sim, size_t index)
{
    struct model_files *model = model_of(sim);
    struct open_closed closed;
    const uint64_t id = model->handles[index].id;
    model->handles[index] = model->handles[--model->handle_count];
    SIM_CHECK(sim, "", open_table_close(sim->service.opens, id, &closed) == OK);
    SIM_CHECK(sim, "", !closed.delete_file);
    sim_note(sim, "handle %" PRIu64 " closed", id);
}

static enum kind choose_kind(struct sim *sim)
{
    unsigned sum = 0;
    for (size_t i = 0; i < KIND_COUNT; i++)
        sum += WEIGHTS[i];
    unsigned left = sim_below(sim, sum);
    enum kind kind = SHARE_CREATE;
    while (left >= WEIGHTS[kind])
        left -= WEIGHTS[kind++];
    return kind;
}

static struct model_node *node_at(struct model_share *share, const struct model_path *path)
{
    struct model_node *node = NULL;
    uint64_t parent_id;
    if (share != NULL)
        (void)(model_tree_locate(share->tree, path, 0, &parent_id, &node) == OK);
    return node;
}

/* A path, mostly of something that is there. */
static struct model_path choose_path(struct sim *sim, struct model_share *share)
{
    struct model_path path = model_path(sim);
    for (unsigned tries = 0; tries < 8 && node_at(share, &path) == NULL; tries++)
        path = model_path(sim);
    return path;
}

static void start_node(struct sim *sim, struct operation *operation, struct asked *asked,
                       struct model_share *share)
{
    asked->path = asked->kind == NODE_CREATE || asked->kind == NODE_RENAME
                      ? model_path(sim)
                      : choose_path(sim, share);
    asked->source = choose_path(sim, share);
    struct model_node *node = node_at(share, &asked->path);
    struct model_node *source = node_at(share, &asked->source);
    const struct model_node *about = asked->kind == NODE_RENAME ? source : node;
    asked->node_kind = about == NULL || sim_chance(sim, 5)
                           ? (sim_chance(sim, 40) ? NODE_DIRECTORY : NODE_FILE)
                           : about->kind;
    char text[64];
    char source_text[64] = "";
    path_text(&asked->path, text, sizeof(text));
    if (asked->kind == NODE_RENAME)
        path_text(&asked->source, source_text, sizeof(source_text));
    sim_describe(operation, "%s: %s %s %s kind %d", SHARE_TEXTS[asked->share], WORDS[asked->kind],
                 source_text, text, (int)asked->node_kind);
    if (asked->kind == NODE_LEASE)
        start_lease(sim, operation, asked);
    else if (asked->kind == SMB_OPEN)
        start_open(sim, operation, asked, share, node);
    else
        start_change(sim, operation, asked, node, source);
}

void files_start(struct sim *sim, struct operation *operation)
{
    struct asked *asked = arena_alloc(&operation->arena, sizeof(*asked));
    asked->kind = choose_kind(sim);
    asked->share = sim_below(sim, SHARE_NAMES);
    struct model_share *share = model_share_find(model_of(sim), asked->share);
    operation->request = asked;
    /* Renames put directories where no path here reaches them, so a full share has to go. */
    if (asked->kind == NODE_CREATE && share != NULL && model_tree_count(share->tree) >= NODES_MANY)
        asked->kind = sim_chance(sim, 10) ? SHARE_DELETE : NODE_DELETE;
    if (asked->kind == SMB_CLOSE) {
        if (model_of(sim)->handle_count > 0)
            files_close_handle(sim, sim_below(sim, (uint32_t)model_of(sim)->handle_count));
        return;
    }
    operation->target = share;
    if (share != NULL)
        share->use_count++;
    if (asked->kind <= SHARE_SNAPSHOT) {
        sim_describe(operation, "%s: %s", SHARE_TEXTS[asked->share], WORDS[asked->kind]);
        start_share(sim, operation, asked, share);
        operation->kind = asked->kind;
    } else {
        operation->kind = asked->kind;
        start_node(sim, operation, asked, share);
    }
    asked->has_waited = !operation->is_done;
    if (operation->base == NULL && share != NULL)
        model_share_let_go(share);
}
