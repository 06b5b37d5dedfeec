/*
 * files.c - the world of the file service: trees, ranges, renames, snapshots of shares, leases, and
 * the handles of SMB clients, which deny others what they do not share.
 *
 * An operation is let in by the table of opens before it is decided, so there are two ways to be
 * refused: with a decision, which the model makes too, and without, for the path means nothing or a
 * handle is in the way.  What was let in must still find no handle in its way when it is decided.
 *
 * A snapshot is what the share was at the first of its two changes; the model copies the tree
 * before the first later change is made to it.
 */
#include "files.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const SHARE_TEXTS[SHARE_NAMES] = { "share-a", "share-b" };

static struct model_files *model_of(struct sim *sim)
{
    return sim->state;
}

struct model_share *model_share_find(struct model_files *model, unsigned name)
{
    for (size_t i = 0; i < SHARES_MAX; i++) {
        struct model_share *share = &model->shares[i];
        if (share->in_use && !share->is_deleted && share->name == name)
            return share;
    }
    return NULL;
}

static void free_share(struct model_share *share)
{
    for (size_t i = 0; i < share->snapshot_count; i++)
        free(share->snapshots[i].tree);
    free(share->tree);
    *share = (struct model_share){ 0 };
}

void model_share_let_go(struct model_share *share)
{
    share->use_count--;
    if (share->is_deleted && share->use_count == 0)
        free_share(share);
}

static struct model_tree *new_tree(const struct model_tree *from)
{
    struct model_tree *tree = calloc(1, sizeof(*tree));
    assert(tree != NULL);
    if (from != NULL)
        memcpy(tree, from, sizeof(*tree));
    return tree;
}

/* --- snapshots that are being taken --- */

/* Whoever has kept an instant of the share before `tick` sees the tree as it is now. */
static void copy_for_snapshots(struct sim *sim, const struct model_share *share, int64_t tick)
{
    for (size_t i = 0; i < SIM_OPERATIONS; i++) {
        struct operation *operation = &sim->operations[i];
        if (!operation->in_use || operation->kind != SHARE_SNAPSHOT || operation->target != share)
            continue;
        struct asked *asked = operation->request;
        const int64_t taken = asked->request.share_change.taken;
        if (taken != 0 && taken < tick && asked->taken_tree == NULL)
            asked->taken_tree = new_tree(share->tree);
    }
}

static enum err finish_snapshot(struct sim *sim, struct operation *operation, struct asked *asked,
                                struct model_share *share)
{
    const struct share_change *request = &asked->request.share_change;
    if (share == NULL || share->is_deleted)
        return ERR_SHARE_NOT_FOUND;
    if (operation->tick > request->taken + SHARE_SNAPSHOT_SEC * CLOCK_TICKS_PER_SEC)
        return ERR_BUSY;
    if (operation->err != OK)
        return OK;
    copy_for_snapshots(sim, share, operation->tick);
    struct model_share_snapshot *snapshot = &share->snapshots[share->snapshot_count++];
    *snapshot = (struct model_share_snapshot){
        .taken = request->taken,
        .etag = asked->metadata != 0 ? operation->tick : share->etag,
        .metadata = asked->metadata != 0 ? asked->metadata : share->metadata,
        .tree = asked->taken_tree,
    };
    asked->taken_tree = NULL;
    SIM_CHECK(sim, SHARE_TEXTS[asked->share], snapshot->tree != NULL);
    SIM_CHECK(sim, SHARE_TEXTS[asked->share], request->share.snapshot == snapshot->taken);
    return OK;
}

/* --- what happens to a share --- */

static enum err delete_snapshot(struct model_share *share, int64_t taken)
{
    for (size_t i = 0; i < share->snapshot_count; i++) {
        if (share->snapshots[i].taken != taken)
            continue;
        free(share->snapshots[i].tree);
        share->snapshots[i] = share->snapshots[--share->snapshot_count];
        return OK;
    }
    return ERR_SHARE_SNAPSHOT_NOT_FOUND;
}

/* The operation is about the share that has the name now, whatever it was when it began. */
static enum err change_share(struct sim *sim, struct operation *operation, struct asked *asked)
{
    const int64_t now_ms = operation->tick / CLOCK_TICKS_PER_MS;
    struct model_files *model = model_of(sim);
    struct model_share *share = model_share_find(model, asked->share);
    int32_t remaining_sec;
    if (asked->kind == SHARE_CREATE && share != NULL)
        return ERR_SHARE_EXISTS;
    if (asked->kind == SHARE_CREATE) {
        share = model->shares;
        while (share->in_use)
            share++;
        assert(share < model->shares + SHARES_MAX);
        *share = (struct model_share){ .in_use = true,
                                       .name = asked->share,
                                       .incarnation = (uint64_t)operation->tick,
                                       .etag = operation->tick,
                                       .metadata = asked->metadata,
                                       .tree = new_tree(NULL) };
        return OK;
    }
    if (share == NULL)
        return ERR_SHARE_NOT_FOUND;
    if (asked->kind == SHARE_LEASE)
        return model_lease_act(&share->lease, &asked->request.share_lease.lease, asked->lease_id,
                               asked->proposed_id, now_ms, &remaining_sec);
    if (asked->snapshot != 0)
        return delete_snapshot(share, asked->snapshot);
    const enum err err =
        model_lease_write(&share->lease, LEASE_OF_CONTAINER, asked->lease_id, now_ms);
    if (err != OK)
        return err;
    if (asked->kind == SHARE_SET_METADATA) {
        share->metadata = asked->metadata;
        share->etag = operation->tick;
        return OK;
    }
    if (share->snapshot_count > 0 && asked->request.share_change.snapshots == SHARE_SNAPSHOTS_NONE)
        return ERR_SHARE_HAS_SNAPSHOTS;
    share->is_deleted = true;
    share->use_count++;
    model_share_let_go(share);
    return OK;
}

/* --- what happens to a node --- */

static void forget_broken(struct model_node *node)
{
    if (node->lease == FILE_LEASE_BROKEN)
        node->lease = FILE_LEASE_NONE;
}

static enum err create_node(struct asked *asked, struct model_tree *tree, int64_t tick)
{
    const struct node_change *request = &asked->request.node_change;
    const size_t last = asked->path.depth - 1;
    struct model_node *node;
    uint64_t parent_id;
    enum err err = model_tree_locate(tree, &asked->path, 0, &parent_id, &node);
    if (err != OK)
        return err;
    if (node == NULL && asked->lease_id != 0)
        return ERR_LEASE_NOT_PRESENT_FILE;
    if (node != NULL && node->kind != asked->node_kind)
        return ERR_RESOURCE_TYPE_MISMATCH;
    if (node != NULL && node->kind == NODE_DIRECTORY)
        return ERR_RESOURCE_EXISTS;
    err = node == NULL ? OK : model_file_check(node, asked->lease_id);
    if (err != OK)
        return err;
    if (node == NULL) {
        node = model_tree_add(tree);
        node->id = (uint64_t)tick;
        node->parent_id = parent_id;
        node->name = asked->path.names[last];
        node->is_upper = asked->path.is_upper[last];
        node->kind = asked->node_kind;
    }
    forget_broken(node);
    node->etag = tick;
    node->metadata = asked->metadata;
    node->size_bytes = (uint32_t)request->size_bytes;
    memset(node->bytes, 0, sizeof(node->bytes));
    memset(node->written, 0, sizeof(node->written));
    return OK;
}

static enum err delete_node(struct asked *asked, struct model_tree *tree)
{
    struct model_node *node;
    enum err err = model_tree_find(tree, &asked->path, asked->node_kind, &node);
    if (err == OK)
        err = model_file_check(node, asked->lease_id);
    if (err == OK && node->kind == NODE_DIRECTORY && model_tree_has_children(tree, node->id))
        err = ERR_DIRECTORY_NOT_EMPTY;
    if (err == OK)
        *node = (struct model_node){ 0 };
    return err;
}

/* The path, or whether it is known already that it cannot be: both ends of a rename. */
static enum err find_both(struct asked *asked, struct model_tree *tree, struct model_node **node,
                          uint64_t *parent_id, struct model_node **other)
{
    enum err err = model_tree_find(tree, &asked->source, asked->node_kind, node);
    if (err != OK)
        return err;
    const uint64_t avoided = (*node)->kind == NODE_DIRECTORY ? (*node)->id : 0;
    err = model_tree_locate(tree, &asked->path, avoided, parent_id, other);
    if (err != OK)
        return err;
    if (*other == *node)
        *other = NULL;
    if (*other != NULL &&
        (!asked->request.node_change.replaces || (*other)->kind == NODE_DIRECTORY))
        return ERR_RESOURCE_EXISTS;
    return OK;
}

static enum err rename_node(struct asked *asked, struct model_tree *tree, int64_t tick)
{
    const size_t last = asked->path.depth - 1;
    struct model_node *node;
    struct model_node *other;
    uint64_t parent_id;
    enum err err = find_both(asked, tree, &node, &parent_id, &other);
    if (err == OK)
        err = model_file_check(node, asked->source_lease_id);
    if (err == OK && other != NULL)
        err = model_file_check(other, asked->lease_id);
    else if (err == OK && asked->lease_id != 0)
        err = ERR_LEASE_NOT_PRESENT_FILE;
    if (err != OK)
        return err;
    if (other != NULL)
        *other = (struct model_node){ 0 };
    forget_broken(node);
    node->parent_id = parent_id;
    node->name = asked->path.names[last];
    node->is_upper = asked->path.is_upper[last];
    node->etag = tick;
    if (asked->metadata != 0)
        node->metadata = asked->metadata;
    return OK;
}

static void resize(struct model_node *node, uint32_t size_bytes)
{
    if (size_bytes < node->size_bytes) {
        memset(node->bytes + size_bytes, 0, FILE_BYTES_MAX - size_bytes);
        memset(node->written + size_bytes, 0, FILE_BYTES_MAX - size_bytes);
    }
    node->size_bytes = size_bytes;
}

static enum err change_node(struct asked *asked, struct model_tree *tree, int64_t tick)
{
    const struct node_change *request = &asked->request.node_change;
    struct model_node *node;
    enum err err = model_tree_find(tree, &asked->path, asked->node_kind, &node);
    if (err == OK)
        err = model_file_check(node, asked->lease_id);
    const bool is_range = asked->kind == NODE_WRITE || asked->kind == NODE_CLEAR;
    if (err == OK && is_range && request->end > node->size_bytes)
        err = ERR_INVALID_RANGE;
    if (err != OK)
        return err;
    const size_t length = (size_t)(request->end - request->start);
    if (asked->kind == NODE_SET_METADATA)
        node->metadata = asked->metadata;
    else if (asked->kind == NODE_RESIZE && node->kind == NODE_FILE)
        resize(node, (uint32_t)request->size_bytes);
    if (asked->kind == NODE_WRITE)
        sim_bytes(asked->piece.seed, node->bytes + request->start, length);
    if (asked->kind == NODE_CLEAR)
        memset(node->bytes + request->start, 0, length);
    if (is_range)
        memset(node->written + request->start, asked->kind == NODE_WRITE, length);
    forget_broken(node);
    node->etag = tick;
    return OK;
}

static enum err lease_node(struct asked *asked, struct model_tree *tree)
{
    struct model_node *node;
    const enum err err = model_tree_find(tree, &asked->path, NODE_FILE, &node);
    return err != OK ? err
                     : model_file_lease(node, &asked->request.node_lease.lease, asked->lease_id,
                                        asked->proposed_id);
}

static enum err change_tree(struct asked *asked, struct model_tree *tree, int64_t tick)
{
    if (asked->kind == NODE_CREATE)
        return create_node(asked, tree, tick);
    if (asked->kind == NODE_DELETE)
        return delete_node(asked, tree);
    if (asked->kind == NODE_RENAME)
        return rename_node(asked, tree, tick);
    if (asked->kind == NODE_LEASE)
        return lease_node(asked, tree);
    return change_node(asked, tree, tick);
}

/* --- handles --- */

static bool conflicts(struct share_mode a, struct share_mode b)
{
    if (a.access == 0 || b.access == 0)
        return false;
    return (a.access & ~b.share) != 0 || (b.access & ~a.share) != 0;
}

/* Whether a handle of the file is in the way of who wants this. */
static bool is_denied(struct sim *sim, const struct model_share *share, uint64_t id,
                      struct share_mode mode, bool no_handles)
{
    const struct model_files *model = model_of(sim);
    for (size_t i = 0; i < model->handle_count; i++) {
        const struct model_handle *handle = &model->handles[i];
        if (handle->key.share == share->incarnation && handle->key.file_id == id &&
            (no_handles || conflicts(handle->mode, mode)))
            return true;
    }
    return false;
}

/* What the operation needs of a file that is there: "Manage file locks". */
static struct share_mode mode_of(const struct asked *asked)
{
    struct share_mode mode = { .access = FILE_ACCESS_WRITE, .share = FILE_ACCESS_ALL };
    if (asked->kind == NODE_CREATE)
        mode.access = FILE_ACCESS_WRITE | FILE_ACCESS_DELETE;
    if (asked->kind == NODE_RENAME || asked->kind == NODE_DELETE)
        mode.access = FILE_ACCESS_DELETE;
    if (asked->kind != NODE_LEASE)
        return mode;
    if (asked->request.node_lease.lease.action == LEASE_ACTION_ACQUIRE)
        return (struct share_mode){ .access = FILE_ACCESS_ALL, .share = FILE_ACCESS_READ };
    mode.access = 0;
    return mode;
}

/* Whether a handle is in the way of the operation, as the tree is now. */
static bool operation_is_denied(struct sim *sim, struct asked *asked,
                                const struct model_share *share)
{
    struct model_node *node = NULL;
    struct model_node *other = NULL;
    uint64_t parent_id;
    if (asked->kind == NODE_RENAME) {
        if (find_both(asked, share->tree, &node, &parent_id, &other) != OK)
            return false;
        if (other != NULL && is_denied(sim, share, other->id, (struct share_mode){ 0 }, true))
            return true;
    } else if (model_tree_locate(share->tree, &asked->path, 0, &parent_id, &node) != OK) {
        return false;
    }
    return node != NULL &&
           is_denied(sim, share, node->id, mode_of(asked), asked->kind == NODE_DELETE);
}

/* Why an operation is not even let in, but for handles. */
static enum err check_path(struct asked *asked, struct model_tree *tree)
{
    struct model_node *node;
    struct model_node *other;
    uint64_t parent_id;
    if (asked->kind == NODE_RENAME)
        return find_both(asked, tree, &node, &parent_id, &other);
    if (asked->kind != NODE_CREATE)
        return model_tree_find(tree, &asked->path,
                               asked->kind == NODE_LEASE ? NODE_FILE : asked->node_kind, &node);
    const enum err err = model_tree_locate(tree, &asked->path, 0, &parent_id, &node);
    if (err != OK || node == NULL)
        return err;
    if (node->kind != asked->node_kind)
        return ERR_RESOURCE_TYPE_MISMATCH;
    return node->kind == NODE_DIRECTORY ? ERR_RESOURCE_EXISTS : OK;
}

static void finish_open(struct sim *sim, struct operation *operation, struct asked *asked,
                        struct model_share *share)
{
    const struct open_request *request = &asked->request.open;
    struct model_files *model = model_of(sim);
    const char *object = SHARE_TEXTS[asked->share];
    const bool denied = is_denied(sim, share, request->key.file_id, request->mode, false);
    /* It waited for too long, or a handle was in its way that finish_open has closed since. */
    if (operation->err == ERR_SHARING_VIOLATION && asked->has_waited)
        return;
    sim_expect(operation, object, denied ? ERR_SHARING_VIOLATION : OK);
    if (denied)
        return;
    model->handles[model->handle_count++] =
        (struct model_handle){ request->handle_id, request->key, request->mode };
    /* The second look: it may be gone, or leased. */
    const struct model_node *node = model_tree_by_id(share->tree, request->key.file_id);
    if (node == NULL ||
        (node->lease == FILE_LEASED && conflicts(SHARE_MODE_OF_LEASE, request->mode)))
        files_close_handle(sim, model->handle_count - 1);
}

/* --- finishing --- */

/* An operation that was not let in.  One that has waited behind an open finds the new handle in its
   way, although that is closed again at once if the file is gone or leased. */
static void finish_refused(struct sim *sim, struct operation *operation, struct asked *asked,
                           struct model_share *share)
{
    const char *object = SHARE_TEXTS[asked->share];
    const enum err err = check_path(asked, share->tree);
    if (asked->has_waited && operation->err == ERR_SHARING_VIOLATION)
        return;
    /* The sweeper may have been there already. */
    if (share->is_deleted &&
        (operation->err == ERR_PARENT_NOT_FOUND || operation->err == ERR_RESOURCE_NOT_FOUND))
        return;
    sim_expect(operation, object, err != OK ? err : ERR_SHARING_VIOLATION);
    if (err == OK)
        SIM_CHECK(sim, object, operation_is_denied(sim, asked, share));
}

static void finish_node(struct sim *sim, struct operation *operation, struct asked *asked,
                        struct model_share *share)
{
    const char *object = SHARE_TEXTS[asked->share];
    if (asked->kind == SMB_OPEN) {
        finish_open(sim, operation, asked, share);
        return;
    }
    if (operation->tick == 0) {
        finish_refused(sim, operation, asked, share);
        return;
    }
    copy_for_snapshots(sim, share, operation->tick);
    if (operation->err == OK)
        SIM_CHECK(sim, object, !operation_is_denied(sim, asked, share));
    sim_expect(operation, object, change_tree(asked, share->tree, operation->tick));
    if (operation->err == OK && asked->kind != NODE_LEASE && asked->kind != NODE_DELETE)
        SIM_CHECK(sim, object, asked->request.node_change.node.etag == operation->tick);
}

static void files_finish(struct sim *sim, struct operation *operation)
{
    struct asked *asked = operation->request;
    struct model_share *share = operation->target;
    const char *object = SHARE_TEXTS[asked->share];
    if (asked->kind < SHARE_SNAPSHOT) {
        sim_expect(operation, object, change_share(sim, operation, asked));
    } else if (share == NULL || share->is_closed ||
               (share->is_deleted && operation->err == ERR_SHARE_NOT_FOUND)) {
        if (asked->kind != SMB_OPEN)
            sim_expect(operation, object, ERR_SHARE_NOT_FOUND);
        else
            finish_node(sim, operation, asked, share);
        if (share != NULL)
            share->is_closed = share->is_closed || asked->kind != SHARE_SNAPSHOT;
    } else if (asked->kind == SHARE_SNAPSHOT) {
        sim_expect(operation, object, finish_snapshot(sim, operation, asked, share));
    } else {
        finish_node(sim, operation, asked, share);
    }
    if (asked->kind == SHARE_SNAPSHOT)
        free(asked->taken_tree);
    operation->kind = KIND_COUNT;
    if (share != NULL)
        model_share_let_go(share);
}

/* --- the world --- */

static void files_clock_moved(struct sim *sim)
{
    open_table_expire(sim->service.opens);
}

static void files_open(struct sim *sim)
{
    const struct open_client_settings settings = { .address = slice_of("192.0.2.1:445"),
                                                   .name = slice_of("client") };
    struct model_files *model = calloc(1, sizeof(*model));
    assert(model != NULL);
    sim->state = model;
    model->seeds = 1;
    model->client = open_client_new(&settings);
    sim->service.opens = open_table_new(&sim->clock);
}

static void files_close(struct sim *sim)
{
    struct model_files *model = model_of(sim);
    while (model->handle_count > 0)
        files_close_handle(sim, 0);
    open_client_free(model->client);
    open_table_free(sim->service.opens);
    for (size_t i = 0; i < SHARES_MAX; i++)
        free_share(&model->shares[i]);
    free(model);
}

const struct world WORLD_FILES = {
    .name = "files",
    .open = files_open,
    .close = files_close,
    .start = files_start,
    .finish = files_finish,
    .read = files_read,
    .audit = files_audit,
    .settled = files_settled,
    .clock_moved = files_clock_moved,
};
