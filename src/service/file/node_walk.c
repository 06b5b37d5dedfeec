/*
 * node_walk.c - from a path or an id to a record.  One row is read for each component of the path,
 * and of all but the last only the beginning.
 */
#include "base/log.h"
#include "service/file/node_internal.h"

enum err node_source_get(const struct node_source *source, struct slice key, struct slice *row)
{
    if (source->change != NULL)
        return change_get(source->change, key, row);
    if (source->view != NULL)
        return partition_view_get(source->view, source->arena, key, row);
    return partition_get(source->store, source->arena, source->partition, key, row);
}

static enum err get_row(const struct node_source *source, const struct node_place *place,
                        struct slice *row)
{
    if (source->instant != 0)
        return node_past_get(source, place, row);
    return node_source_get(source, node_key(source->arena, place->parent, place->upper), row);
}

/* Directories are on the way to all they hold, and seldom change. */
static enum err get_directory_row(const struct node_source *source, const struct node_place *place,
                                  struct slice *row)
{
    if (source->store == NULL)
        return get_row(source, place, row);
    return partition_get_often(source->store, source->arena, source->partition,
                               node_key(source->arena, place->parent, place->upper), row);
}

/* Step down into the directory at a place. */
static enum err enter(const struct node_source *source, struct node_place *place)
{
    struct slice row;
    struct node_brief brief;
    enum err err = get_directory_row(source, place, &row);
    if (err == OK)
        err = node_brief_decode(row, &brief);
    if (err == ERR_NOT_FOUND || (err == OK && brief.kind != NODE_DIRECTORY))
        return ERR_PARENT_NOT_FOUND;
    if (err == OK)
        *place = (struct node_place){ .parent = brief.id, .parent_row = row };
    return err;
}

enum err node_locate_outside(const struct node_source *source, const struct file_path *path,
                             uint64_t avoided, struct node_place *place)
{
    *place = (struct node_place){ .parent = NODE_ROOT_ID };
    for (size_t i = 0; i < path->depth; i++) {
        place->upper = path->upper[i];
        if (i + 1 == path->depth)
            break;
        const enum err err = enter(source, place);
        if (err != OK)
            return err;
        if (place->parent == avoided)
            return ERR_RENAME_INTO_ITSELF;
    }
    return OK;
}

static enum err locate_id(const struct node_source *source, uint64_t id, struct node_place *place)
{
    struct slice row;
    const enum err err = node_source_get(source, node_place_key(source->arena, id), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_RESOURCE_NOT_FOUND;
    return err == OK ? node_place_decode(row, &place->parent, &place->upper) : err;
}

enum err node_locate(const struct node_source *source, const struct node_name *name,
                     struct node_place *place)
{
    if (name->id != NODE_ROOT_ID)
        return locate_id(source, name->id, place);
    return node_locate_outside(source, &name->path, NODE_ABSENT, place);
}

/* The root directory of a share that nobody has changed it of. */
static struct node first_root(int64_t made_at)
{
    return (struct node){
        .kind = NODE_DIRECTORY,
        .id = NODE_ROOT_ID,
        .etag = made_at,
        .since = made_at,
        .attributes = NODE_IS_DIRECTORY,
        .created_at = made_at,
        .written_at = made_at,
        .changed_at = made_at,
        .accessed_at = made_at,
    };
}

enum err node_read(const struct node_source *source, const struct node_place *place,
                   struct node *node)
{
    struct slice row;
    const enum err err = get_row(source, place, &row);
    if (err == ERR_NOT_FOUND && place->upper.len == 0) {
        *node = first_root((int64_t)source->share);
        return OK;
    }
    if (err != OK)
        return err == ERR_NOT_FOUND ? ERR_RESOURCE_NOT_FOUND : err;
    const enum err decoded = node_decode(source->arena, row, node);
    if (source->instant != 0)
        node->lease = (struct lease){ 0 };
    return decoded;
}

enum err node_find(const struct node_source *source, const struct node_name *name,
                   enum node_kind kind, struct node_place *place, struct node *node)
{
    enum err err = node_locate(source, name, place);
    if (err == OK)
        err = node_read(source, place, node);
    return err == OK && node->kind != kind ? ERR_RESOURCE_TYPE_MISMATCH : err;
}

/* --- paths --- */

enum {
    /* Deeper than a request can name, since directories can be moved with what they hold. */
    NODE_DEPTH_MAX = 1 << 16,
};

enum err node_find_path(struct service *service, struct arena *arena,
                        const struct share_name *share, uint64_t id, struct slice *path)
{
    struct node_access access = { 0 };
    enum err err = node_access_find_share(service, arena, share, &access, NULL);
    if (err != OK)
        return err;
    struct partition_view view;
    partition_view_open(service->store, access.partition, &view);
    const struct node_source source = { .view = &view, .arena = arena, .share = access.share };
    *path = (struct slice){ 0 };
    for (size_t depth = 0; err == OK && id != NODE_ROOT_ID; depth++) {
        struct node_place place;
        struct node node;
        err = locate_id(&source, id, &place);
        if (err == OK)
            err = node_read(&source, &place, &node);
        if (err == OK && depth == NODE_DEPTH_MAX)
            err = CORRUPT("node %llu is in itself", (unsigned long long)id);
        if (err != OK)
            break;
        *path = path->len == 0 ? node.name
                               : arena_printf(arena, "%.*s/%.*s", (int)node.name.len,
                                              node.name.data, (int)path->len, path->data);
        id = place.parent;
    }
    partition_view_close(&view);
    return err;
}
