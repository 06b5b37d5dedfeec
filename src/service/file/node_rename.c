/*
 * node_rename.c - moving a directory or a file to another name.
 *
 * One entry moves, whatever is in it: what a directory holds has its id in its keys.  Two nodes may
 * be opened for it, the one that moves and the one it replaces.
 */
#include <assert.h>

#include "service/file/node_internal.h"

static struct node_name source_name(const struct node_change *request)
{
    return (struct node_name){ .share = request->name.share,
                               .path = request->source,
                               .id = request->source_id };
}

/* The destination of a rename. */
struct destination {
    struct node_place place;
    struct node node; /* what is there, if it is another */
    bool is_taken;    /* there is another */
};

/* Find it, and check that it may be what the node becomes. */
static enum err find_destination(const struct node_source *source,
                                 const struct node_change *request, const struct node *node,
                                 struct destination *destination)
{
    enum err err = node_locate_outside(source, &request->name.path,
                                       node->kind == NODE_DIRECTORY ? node->id : NODE_ABSENT,
                                       &destination->place);
    if (err == OK)
        err = node_read(source, &destination->place, &destination->node);
    destination->is_taken = err == OK && destination->node.id != node->id;
    if (err == ERR_RESOURCE_NOT_FOUND)
        return OK;
    if (err == OK && destination->is_taken &&
        (!request->replaces || destination->node.kind == NODE_DIRECTORY))
        return ERR_RESOURCE_EXISTS;
    return err;
}

static uint64_t destination_id(const struct destination *destination)
{
    return destination->is_taken ? destination->node.id : NODE_ABSENT;
}

/* What the rename says of the node besides its name. */
static enum err apply_rename(struct change *change, const struct node_change *request,
                             const struct node_place *place, struct node *node)
{
    node->parent_id = place->parent;
    node->name = request->name.path.names[request->name.path.depth - 1];
    node->etag = node->changed_at = change_now(change);
    if (request->has_metadata)
        node->metadata = request->metadata;
    if (request->properties.content_type.len > 0 && node->kind == NODE_FILE)
        node->properties.content_type = request->properties.content_type;
    return node_apply_smb(change, &request->smb, node);
}

/* Make the place free. */
static enum err clear_destination(struct node_decision *decision, const struct node_change *request,
                                  struct destination *destination)
{
    const enum err err =
        node_check_file(&destination->node, request->has_lease_id ? &request->lease_id : NULL,
                        request->ignores_readonly);
    return err == OK
               ? node_decision_remove(decision, request, &destination->place, &destination->node)
               : err;
}

static enum err rename_decide(struct change *change, void *arg)
{
    struct node_change *request = arg;
    struct arena *arena = change_arena(change);
    const struct node_name from = source_name(request);
    struct node_decision decision;
    struct destination destination;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &request->access);
    if (err == OK)
        err = node_find(&decision.source, &from, request->kind, &place, &node);
    if (err == OK)
        err = node_access_check(&request->access, 0, node.id);
    if (err == OK)
        err = find_destination(&decision.source, request, &node, &destination);
    if (err == OK)
        err = node_access_check(&request->access, 1, destination_id(&destination));
    /* A read-only file can be renamed. */
    if (err == OK)
        err = node_check_file(
            &node, request->has_source_lease_id ? &request->source_lease_id : NULL, true);
    if (err == OK && destination.is_taken)
        err = clear_destination(&decision, request, &destination);
    else if (err == OK && request->has_lease_id)
        err = ERR_LEASE_NOT_PRESENT_FILE;
    if (err == OK)
        err = node_preserve(change, &decision.state, &place, &node, NODE_CONTENT_SHARED);
    if (err == OK)
        err = apply_rename(change, request, &destination.place, &node);
    if (err != OK)
        return err;
    change_delete(change, node_key(arena, place.parent, place.upper));
    change_put(change, node_place_key(arena, node.id),
               node_place_encode(arena, destination.place.parent, destination.place.upper));
    node_decision_put(&decision, request, &destination.place, &node);
    return OK;
}

/* Both are opened: what is moved, and the file that is replaced. */
static enum err plan_rename(struct node_access *access)
{
    const struct node_change *request = access->arg;
    const struct node_name from = source_name(request);
    struct arena arena = { 0 };
    const struct node_source source = node_access_source(access, &arena);
    struct destination destination;
    struct node_place place;
    struct node node;
    enum err err = node_find(&source, &from, request->kind, &place, &node);
    if (err == OK)
        err = find_destination(&source, request, &node, &destination);
    if (err == OK && !destination.is_taken &&
        node_access_is_delete_pending(access, destination.place.parent))
        err = ERR_DELETE_PENDING;
    if (err == OK) {
        struct open_operation operation =
            node_operation(FILE_OPERATION_RENAME, request->timeout_ms);
        node_access_add(access, 0, node.id, &operation);
        operation.operation = FILE_OPERATION_REPLACE;
        node_access_add(access, 1, destination_id(&destination), &operation);
    }
    arena_release(&arena);
    return err;
}

void node_rename(struct service *service, struct node_change *change)
{
    const struct node_name from = source_name(change);
    assert(change->name.id == NODE_ROOT_ID);
    if (node_name_is_root(&change->name) || node_name_is_root(&from))
        service_refuse(&change->base, ERR_INVALID_URI);
    else
        node_change_start_with(service, change, FILE_OPERATION_RENAME, rename_decide, plan_rename);
}
