/*
 * files_tree.c - the tree of a share in the model.
 */
#include <assert.h>
#include <stdlib.h>

#include "files.h"

static struct model_node *child(struct model_tree *tree, uint64_t parent_id, unsigned name)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        struct model_node *node = &tree->nodes[i];
        if (node->id != 0 && node->parent_id == parent_id && node->name == name)
            return node;
    }
    return NULL;
}

enum err model_tree_locate(struct model_tree *tree, const struct model_path *path, uint64_t avoided,
                           uint64_t *parent_id, struct model_node **node)
{
    *parent_id = NODE_ROOT_ID;
    *node = NULL;
    for (size_t i = 0; i + 1 < path->depth; i++) {
        const struct model_node *directory = child(tree, *parent_id, path->names[i]);
        if (directory == NULL || directory->kind != NODE_DIRECTORY)
            return ERR_PARENT_NOT_FOUND;
        if (directory->id == avoided)
            return ERR_RENAME_INTO_ITSELF;
        *parent_id = directory->id;
    }
    *node = child(tree, *parent_id, path->names[path->depth - 1]);
    return OK;
}

enum err model_tree_find(struct model_tree *tree, const struct model_path *path,
                         enum node_kind kind, struct model_node **node)
{
    uint64_t parent_id;
    const enum err err = model_tree_locate(tree, path, 0, &parent_id, node);
    if (err != OK)
        return err;
    if (*node == NULL)
        return ERR_RESOURCE_NOT_FOUND;
    return (*node)->kind == kind ? OK : ERR_RESOURCE_TYPE_MISMATCH;
}

struct model_node *model_tree_by_id(struct model_tree *tree, uint64_t id)
{
    for (size_t i = 0; i < NODES_MAX; i++)
        if (tree->nodes[i].id == id && id != 0)
            return &tree->nodes[i];
    return NULL;
}

struct model_node *model_tree_add(struct model_tree *tree)
{
    struct model_node *node = tree->nodes;
    while (node < tree->nodes + NODES_MAX && node->id != 0)
        node++;
    assert(node < tree->nodes + NODES_MAX);
    *node = (struct model_node){ 0 };
    return node;
}

size_t model_tree_count(const struct model_tree *tree)
{
    size_t count = 0;
    for (size_t i = 0; i < NODES_MAX; i++)
        count += tree->nodes[i].id != 0;
    return count;
}

bool model_tree_has_children(const struct model_tree *tree, uint64_t id)
{
    for (size_t i = 0; i < NODES_MAX; i++)
        if (tree->nodes[i].id != 0 && tree->nodes[i].parent_id == id)
            return true;
    return false;
}

enum err model_file_check(struct model_node *node, unsigned lease_id)
{
    if (node->kind != NODE_FILE)
        return OK;
    if (node->lease != FILE_LEASED)
        return lease_id != 0 ? ERR_LEASE_NOT_PRESENT_FILE : OK;
    if (lease_id == 0)
        return ERR_LEASE_ID_MISSING;
    return lease_id == node->lease_id ? OK : ERR_LEASE_ID_MISMATCH_FILE;
}

enum err model_file_lease(struct model_node *node, const struct lease_request *request, unsigned id,
                          unsigned proposed)
{
    switch (request->action) {
    case LEASE_ACTION_ACQUIRE:
        if (node->lease == FILE_LEASED && node->lease_id != proposed)
            return ERR_LEASE_ALREADY_PRESENT;
        node->lease = FILE_LEASED;
        node->lease_id = proposed;
        return OK;
    case LEASE_ACTION_CHANGE:
        if (node->lease != FILE_LEASED)
            return ERR_LEASE_ACTION_NOT_PRESENT;
        if (node->lease_id != id && node->lease_id != proposed)
            return ERR_LEASE_ACTION_ID_MISMATCH;
        node->lease_id = proposed;
        return OK;
    case LEASE_ACTION_RELEASE:
        if (node->lease == FILE_LEASE_NONE || node->lease_id != id)
            return ERR_LEASE_ACTION_ID_MISMATCH;
        node->lease = FILE_LEASE_NONE;
        return OK;
    case LEASE_ACTION_BREAK:
        if (node->lease == FILE_LEASE_NONE)
            return ERR_LEASE_ACTION_NOT_PRESENT;
        node->lease = FILE_LEASE_BROKEN;
        return OK;
    case LEASE_ACTION_RENEW:
        break;
    }
    abort();
}
