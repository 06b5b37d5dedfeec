#include "service/file/file_copy.h"

#include <assert.h>

#include "base/log.h"
#include "service/file/node_internal.h"
#include "service/file/permission.h"

/* The destination's change is the middle of the copy. */
static struct file_copy *copy_of(struct node_change *change)
{
    return (struct file_copy *)(void *)((char *)change - offsetof(struct file_copy, change));
}

/* --- the destination --- */

static struct blob_copy copy_record(const struct file_copy *copy, uint64_t length_bytes,
                                    int64_t now)
{
    return (struct blob_copy){
        .status = BLOB_COPY_SUCCESS,
        .id = copy->id,
        .source = copy->url,
        .copied_bytes = length_bytes,
        .total_bytes = length_bytes,
        .completed_at = now,
    };
}

static enum err keep_permission(struct change *change, const struct file_copy *copy,
                                struct node *node)
{
    if (!copy->keeps_permission)
        return OK;
    if (copy->source_permission.len > 0)
        return permission_put(change, copy->source_permission, &node->permission_key);
    node->permission_key = copy->source_node.permission_key;
    return OK;
}

/* What a copy takes over from its source. */
static enum err take_over(struct change *change, const struct file_copy *copy, struct node *node)
{
    const struct node *source = &copy->source_node;
    if (copy->keeps_attributes)
        node->attributes = source->attributes;
    else if (copy->change.smb.has_attributes)
        node->attributes = copy->change.smb.attributes & ~(unsigned)NODE_IS_DIRECTORY;
    if (copy->sets_archive)
        node->attributes |= NODE_ARCHIVE;
    if (copy->keeps_created_at)
        node->created_at = source->created_at;
    if (copy->keeps_written_at)
        node->written_at = source->written_at;
    if (copy->keeps_changed_at)
        node->changed_at = source->changed_at;
    return keep_permission(change, copy, node);
}

static enum err fill_from_clone(struct change *change, struct node_change *request,
                                struct node *node)
{
    const struct file_copy *copy = copy_of(request);
    const struct node *source = &copy->source_node;
    const enum err err = clone_store(&copy->clone, change, &node->content);
    if (err != OK)
        return err;
    node->used_bytes = source->used_bytes;
    node->properties = source->properties;
    if (request->metadata.count == 0)
        node->metadata = source->metadata;
    node->copy = copy_record(copy, source->content.length_bytes, change_now(change));
    return take_over(change, copy, node);
}

/* The file that is there while its bytes are fetched. */
static enum err fill_pending(struct change *change, struct node_change *request, struct node *node)
{
    const struct file_copy *copy = copy_of(request);
    struct arena *arena = change_arena(change);
    node->copy = (struct blob_copy){
        .status = BLOB_COPY_PENDING,
        .id = copy->id,
        .source = copy->url,
        .total_bytes = copy->total_bytes,
    };
    change_put(change, pending_file_key(arena, node->id), copy_pending_row(arena));
    change_mark(change);
    return take_over(change, copy, node);
}

/* --- the end --- */

static void end(struct file_copy *copy, enum err err)
{
    clone_close(&copy->clone);
    copy->base.done(copy->base.arg, err);
}

static enum err abandon_decide(struct change *change, void *arg)
{
    const struct file_copy *copy = arg;
    clone_abandon(&copy->clone, change);
    return OK;
}

static void abandoned(void *arg, enum err err)
{
    struct file_copy *copy = arg;
    if (err != OK)
        log_error("copy", "content stays until the sweeper finds it: %s", error_text(err));
    end(copy, copy->outcome);
}

static void update(struct file_copy *copy, change_fn *decide, void (*done)(void *arg, enum err err))
{
    copy->update = (struct partition_update){
        .partition = copy->partition,
        .decide = decide,
        .arg = copy,
        .done = done,
    };
    partition_update(copy->base.service->store, &copy->update);
}

static void created(void *arg, enum err err)
{
    struct file_copy *copy = arg;
    copy->outcome = err;
    if (err != OK && copy->clone.has_steps)
        update(copy, abandon_decide, abandoned);
    else
        end(copy, err);
}

static void create(struct file_copy *copy)
{
    copy->change.base.arena = copy->base.arena;
    copy->change.base.done = created;
    copy->change.base.arg = copy;
    copy->change.kind = NODE_FILE;
    node_create(copy->base.service, &copy->change);
}

/* --- steps --- */

static void next(struct file_copy *copy);

static enum err step_decide(struct change *change, void *arg)
{
    struct file_copy *copy = arg;
    struct node_decision decision;
    const struct node_access access = { 0 };
    const enum err err = node_decision_begin(&decision, change, &access);
    return err == OK ? clone_store_step(&copy->clone, change) : err;
}

static void stepped(void *arg, enum err err)
{
    struct file_copy *copy = arg;
    if (err == OK) {
        copy->clone.has_steps = true;
        err = clone_gather(&copy->clone);
    }
    if (err == OK)
        next(copy);
    else
        created(copy, err);
}

static void next(struct file_copy *copy)
{
    if (copy->clone.is_complete)
        create(copy);
    else
        update(copy, step_decide, stepped);
}

/* --- the source --- */

static enum err source_error(enum err err)
{
    return err == ERR_SHARE_NOT_FOUND || err == ERR_SHARE_SNAPSHOT_NOT_FOUND ||
                   err == ERR_PARENT_NOT_FOUND || err == ERR_RESOURCE_NOT_FOUND ||
                   err == ERR_RESOURCE_TYPE_MISMATCH
               ? ERR_COPY_SOURCE_NOT_FOUND
               : err;
}

static enum err plan_source(struct node_access *access)
{
    const struct file_copy *copy = access->arg;
    struct arena arena = { 0 };
    const struct node_source source = node_access_source(access, &arena);
    const struct open_operation operation =
        node_operation(FILE_OPERATION_COPY_FROM, copy->change.timeout_ms);
    struct node_place place;
    struct node node;
    const enum err err = node_find(&source, &copy->source, NODE_FILE, &place, &node);
    if (err == OK)
        node_access_add(access, 0, node.id, &operation);
    arena_release(&arena);
    return err;
}

/* The record in the clone's view, and the first of its list. */
static enum err find_source(struct file_copy *copy)
{
    struct node_access *access = &copy->source_access;
    struct node_place place;
    clone_open(&copy->clone, copy->base.service, access->partition);
    const struct node_source source = {
        .view = &copy->clone.view,
        .arena = copy->base.arena,
        .instant = copy->source.share.snapshot,
        .share = access->share,
    };
    enum err err = node_find(&source, &copy->source, NODE_FILE, &place, &copy->source_node);
    if (access->is_checked && source_error(err) == ERR_COPY_SOURCE_NOT_FOUND)
        return ERR_NODE_MOVED;
    if (err == OK)
        err = node_access_check(access, 0, copy->source_node.id);
    if (err == OK && copy->source_node.copy.status == BLOB_COPY_PENDING)
        err = ERR_PENDING_COPY;
    if (err != OK)
        return err;
    const struct blob list = { .type = BLOB_PAGE, .content = copy->source_node.content };
    return clone_begin(&copy->clone, &list);
}

/* A permission goes with its file into another share. */
static enum err find_permission(struct file_copy *copy)
{
    const struct slice key = copy->source_node.permission_key;
    if (!copy->keeps_permission || key.len == 0 ||
        slice_equal(copy->partition, copy->source_access.partition))
        return OK;
    return permission_get(copy->base.service, copy->base.arena, &copy->source.share, key,
                          &copy->source_permission);
}

static void go_source(struct node_access *access)
{
    struct file_copy *copy = access->arg;
    enum err err = find_source(copy);
    if (err != OK)
        clone_close(&copy->clone);
    if (node_access_end(access, err))
        return;
    if (err == OK)
        err = find_permission(copy);
    if (err == OK)
        next(copy);
    else
        end(copy, source_error(err));
}

static void refuse_source(struct node_access *access, enum err err)
{
    struct file_copy *copy = access->arg;
    end(copy, source_error(err));
}

/* --- starting --- */

void file_copy(struct service *service, struct file_copy *copy)
{
    struct node_access destination = { 0 };
    copy->base.service = service;
    copy->change.fill = fill_from_clone;
    copy->source_access = (struct node_access){
        .plan = plan_source,
        .go = go_source,
        .refuse = refuse_source,
        .arg = copy,
    };
    enum err err = node_access_find_share(service, copy->base.arena, &copy->change.name.share,
                                          &destination, NULL);
    if (err == OK)
        err = source_error(node_access_find_share(service, copy->base.arena, &copy->source.share,
                                                  &copy->source_access, NULL));
    copy->partition = destination.partition;
    if (err == OK)
        node_access_begin(service, &copy->source_access, copy->source.share.snapshot != 0);
    else
        end(copy, err);
}

void file_copy_begin(struct service *service, struct file_copy *copy)
{
    /* What a source elsewhere knows for SMB is in change.smb, if it is wanted. */
    assert(!copy->keeps_attributes && !copy->keeps_permission && !copy->keeps_created_at &&
           !copy->keeps_written_at && !copy->keeps_changed_at);
    copy->base.service = service;
    copy->change.fill = fill_pending;
    create(copy);
}
