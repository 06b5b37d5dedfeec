/*
 * node.c - see node.h.  Each change is a decision function (`..._decide`): it walks the path,
 * checks what there is to check, keeps what a snapshot needs, and writes the record, all inside one
 * update of the share's partition.
 *
 * The share is looked up before the update, in another partition.  If it is deleted in between, the
 * change counts as having come first, until the sweeper has closed the partition.
 */
#include "service/file/node.h"

#include <assert.h>

#include "service/account_partition.h"
#include "service/blob/page_map.h"
#include "service/blob/segments.h"
#include "service/file/file_lease.h"
#include "service/file/node_internal.h"
#include "service/file/permission.h"
#include "service/limits.h"

struct node node_copy(struct arena *arena, const struct node *node)
{
    struct node copy = *node;
    copy.name = arena_copy(arena, node->name);
    copy.permission_key = arena_copy(arena, node->permission_key);
    copy.metadata = metadata_copy(arena, &node->metadata);
    struct slice *const texts[] = {
        &copy.properties.content_type,
        &copy.properties.content_encoding,
        &copy.properties.content_language,
        &copy.properties.cache_control,
        &copy.properties.content_disposition,
        &copy.properties.content_md5,
        &copy.copy.source,
        &copy.copy.description,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i]->len > 0)
            *texts[i] = arena_copy(arena, *texts[i]);
    }
    return copy;
}

/* --- decisions in general --- */

enum err node_decision_begin(struct node_decision *decision, struct change *change,
                             const struct node_access *access)
{
    *decision = (struct node_decision){
        .change = change,
        .source = { .change = change, .arena = change_arena(change), .share = access->share },
    };
    struct slice row;
    const enum err err = change_get(change, closed_key(), &row);
    if (err != ERR_NOT_FOUND)
        return err == OK ? ERR_SHARE_NOT_FOUND : err;
    return share_state_get(change, &decision->state);
}

static const struct uuid *lease_id_of(const struct node_change *request)
{
    return request->has_lease_id ? &request->lease_id : NULL;
}

/* Whether a file that is there may be changed by the request. */
enum err node_check_file(struct node *node, const struct uuid *lease_id, bool ignores_read_only)
{
    if (node->kind != NODE_FILE)
        return OK;
    const enum err err = file_lease_write(&node->lease, lease_id);
    if (err != OK)
        return err;
    if ((node->attributes & NODE_READ_ONLY) != 0 && !ignores_read_only)
        return ERR_READ_ONLY_ATTRIBUTE;
    return node->copy.status == BLOB_COPY_PENDING ? ERR_PENDING_COPY : OK;
}

/* Setting properties is how the read-only attribute is cleared. */
static bool clears_read_only(const struct node_change *request)
{
    return request->operation == FILE_OPERATION_SET_PROPERTIES && request->smb.has_attributes &&
           (request->smb.attributes & NODE_READ_ONLY) == 0;
}

enum err node_decision_get(struct node_decision *decision, const struct node_change *request,
                           struct node_place *place, struct node *node)
{
    enum err err = node_find(&decision->source, &request->name, request->kind, place, node);
    if (err == OK)
        err = node_access_check(&request->access, 0, node->id);
    if (err == OK)
        err = node_check_file(node, lease_id_of(request), clears_read_only(request));
    /* A client whose handle deletes the file was told so before, and its copy ends with it. */
    const bool is_deleted_by_handle =
        request->is_admitted && request->operation == FILE_OPERATION_DELETE;
    return err == ERR_PENDING_COPY && is_deleted_by_handle ? OK : err;
}

enum err node_decision_open(struct node_decision *decision, struct change *change,
                            const struct node_change *request, struct node_place *place,
                            struct node *node)
{
    enum err err = node_decision_begin(decision, change, &request->access);
    if (err == OK)
        err = node_decision_get(decision, request, place, node);
    return err == OK ? node_preserve(change, &decision->state, place, node, NODE_CONTENT_SHARED)
                     : err;
}

enum err node_decision_use(struct node_decision *decision, const struct node_change *request,
                           uint64_t before, uint64_t after)
{
    struct share_state *state = &decision->state;
    if (before == after)
        return OK;
    state->used_bytes -= before < state->used_bytes ? before : state->used_bytes;
    state->used_bytes += after;
    decision->is_state_changed = true;
    return after > before && state->used_bytes > request->quota_bytes ? ERR_SHARE_SIZE_LIMIT : OK;
}

static void put_state(struct node_decision *decision)
{
    if (decision->is_state_changed)
        share_state_put(decision->change, &decision->state);
}

void node_decision_store(struct node_decision *decision, const struct node_place *place,
                         struct node *node)
{
    struct arena *arena = decision->source.arena;
    node->since = change_now(decision->change);
    change_put(decision->change, node_key(arena, place->parent, place->upper),
               node_encode(arena, node));
    put_state(decision);
}

void node_decision_put(struct node_decision *decision, struct node_change *request,
                       const struct node_place *place, struct node *node)
{
    node_decision_store(decision, place, node);
    request->node = node_copy(request->base.arena, node);
}

/* --- starting --- */

/* What a change of one node opens. */
static enum err plan_change(struct node_access *access)
{
    const struct node_change *request = access->arg;
    struct arena arena = { 0 };
    const struct node_source source = node_access_source(access, &arena);
    struct node_place place;
    struct node node;
    const enum err err = node_find(&source, &request->name, request->kind, &place, &node);
    if (err == OK) {
        struct open_operation operation = node_operation(request->operation, request->timeout_ms);
        operation.range = (struct byte_range){ .offset = request->start,
                                               .length = request->end - request->start };
        node_access_add(access, 0, node.id, &operation);
    }
    arena_release(&arena);
    return err;
}

static void update_done(void *arg, enum err err)
{
    struct node_change *request = arg;
    if (node_access_end(&request->access, err))
        return;
    if (err == OK && request->payload != NULL)
        payload_writer_commit(request->payload);
    request->base.done(request->base.arg, err);
}

static void go_change(struct node_access *access)
{
    struct node_change *request = access->arg;
    request->base.update = (struct partition_update){
        .partition = access->partition,
        .decide = request->decide,
        .arg = request,
        .done = update_done,
    };
    partition_update(access->service->store, &request->base.update);
}

static void refuse_change(struct node_access *access, enum err err)
{
    struct node_change *request = access->arg;
    service_refuse(&request->base, err);
}

static void begin_change(void *arg)
{
    struct node_change *request = arg;
    node_access_begin(request->base.service, &request->access, request->is_admitted);
}

void node_change_start_with(struct service *service, struct node_change *change,
                            enum file_operation operation, change_fn *decide, node_plan_fn *plan)
{
    change->base.service = service;
    change->operation = operation;
    change->decide = decide;
    change->access = (struct node_access){
        .plan = plan,
        .go = go_change,
        .refuse = refuse_change,
        .arg = change,
    };
    enum err err = ERR_OPERATION_ON_SNAPSHOT;
    if (change->name.share.snapshot == 0)
        err = node_access_find_share(service, change->base.arena, &change->name.share,
                                     &change->access, &change->quota_bytes);
    if (err != OK)
        service_refuse(&change->base, err);
    else if (change->payload != NULL)
        payload_writer_sync(change->payload, begin_change, change);
    else
        begin_change(change);
}

void node_change_start(struct service *service, struct node_change *change,
                       enum file_operation operation, change_fn *decide)
{
    node_change_start_with(service, change, operation, decide, plan_change);
}

/* --- what SMB knows --- */

static unsigned attributes_for(enum node_kind kind, unsigned attributes)
{
    return kind == NODE_DIRECTORY ? attributes | NODE_IS_DIRECTORY
                                  : attributes & ~(unsigned)NODE_IS_DIRECTORY;
}

static void apply_instant(bool is_given, int64_t given, int64_t now, int64_t *instant)
{
    if (is_given)
        *instant = given != 0 ? given : now;
}

enum err node_apply_smb(struct change *change, const struct node_smb *smb, struct node *node)
{
    const int64_t now = change_now(change);
    if (smb->has_attributes)
        node->attributes = attributes_for(node->kind, smb->attributes);
    apply_instant(smb->has_created_at, smb->created_at, now, &node->created_at);
    apply_instant(smb->has_written_at, smb->written_at, now, &node->written_at);
    apply_instant(smb->has_changed_at, smb->changed_at, now, &node->changed_at);
    if (smb->permission.len > 0)
        return permission_put(change, smb->permission, &node->permission_key);
    if (!smb->has_permission_key)
        return OK;
    node->permission_key = smb->permission_key;
    return permission_check_key(change, smb->permission_key);
}

/* --- create --- */

/* Whether what is there may be replaced by what is to be made. */
static enum err check_replace(const struct node_change *request, struct node *old)
{
    if (old->kind != request->kind)
        return ERR_RESOURCE_TYPE_MISMATCH;
    if (old->kind == NODE_DIRECTORY)
        return ERR_RESOURCE_EXISTS;
    if (request->create_only)
        return ERR_UNAUTHORIZED_OVERWRITE;
    return node_check_file(old, lease_id_of(request), request->ignores_readonly);
}

static struct node new_node(const struct change *change, const struct node_change *request)
{
    const int64_t now = change_now(change);
    return (struct node){
        .kind = request->kind,
        .etag = now,
        /* NTFS marks every new file as to be archived. */
        .attributes = request->kind == NODE_FILE ? NODE_ARCHIVE : NODE_IS_DIRECTORY,
        .created_at = now,
        .written_at = now,
        .changed_at = now,
        .accessed_at = now,
        .metadata = request->metadata,
        .properties = request->properties,
    };
}

/* What is made without a permission inherits that of its directory. */
static enum err inherit_permission(struct node_decision *decision,
                                   const struct node_change *request,
                                   const struct node_place *place, struct node *node)
{
    struct slice row = place->parent_row;
    struct slice key = { 0 };
    enum err err = OK;
    if (request->smb.has_permission_key || request->smb.permission.len > 0)
        return OK;
    if (place->parent == NODE_ROOT_ID)
        err = node_source_get(&decision->source,
                              node_key(decision->source.arena, NODE_ROOT_ID, (struct slice){ 0 }),
                              &row);
    if (err == OK)
        err = node_permission_decode(row, &key);
    if (err != OK && err != ERR_NOT_FOUND)
        return err;
    return permission_inherit(decision->change, key,
                              node->kind == NODE_FILE ? PERMISSION_OF_FILE
                                                      : PERMISSION_OF_DIRECTORY,
                              &node->permission_key);
}

/* The node takes the place of `old`, or a place that is free. */
static enum err take_place(struct node_decision *decision, const struct node_change *request,
                           const struct node_place *place, struct node *old, bool exists,
                           struct node *node)
{
    struct change *change = decision->change;
    struct arena *arena = change_arena(change);
    node->parent_id = place->parent;
    if (!exists) {
        node->id = (uint64_t)change_now(change);
        node->name = request->name.path.names[request->name.path.depth - 1];
        change_put(change, node_place_key(arena, node->id),
                   node_place_encode(arena, place->parent, place->upper));
        return OK;
    }
    node->id = old->id;
    node->name = old->name;
    node->lease = old->lease;
    const enum err err = node_preserve(change, &decision->state, place, old, NODE_CONTENT_LEFT);
    return err == OK ? node_decision_use(decision, request, old->used_bytes, 0) : err;
}

static enum err create_decide(struct change *change, void *arg)
{
    struct node_change *request = arg;
    struct node_decision decision;
    struct node_place place;
    struct node old = { 0 };
    enum err err = node_decision_begin(&decision, change, &request->access);
    if (err == OK)
        err = node_locate(&decision.source, &request->name, &place);
    if (err != OK)
        return err;
    err = node_read(&decision.source, &place, &old);
    const bool exists = err == OK;
    if (err != OK && err != ERR_RESOURCE_NOT_FOUND)
        return err;
    err = node_access_check(&request->access, 0, exists ? old.id : NODE_ABSENT);
    if (err == OK && exists)
        err = check_replace(request, &old);
    else if (err == OK && request->has_lease_id)
        err = ERR_LEASE_NOT_PRESENT_FILE;
    if (err != OK)
        return err;

    struct node node = new_node(change, request);
    err = node_apply_smb(change, &request->smb, &node);
    if (err == OK)
        err = inherit_permission(&decision, request, &place, &node);
    if (err == OK)
        err = take_place(&decision, request, &place, &old, exists, &node);
    if (err != OK)
        return err;
    node.attributes |= node.kind == NODE_FILE ? NODE_ARCHIVE : 0;
    if (request->fill != NULL)
        err = request->fill(change, request, &node);
    else if (node.kind == NODE_FILE)
        node.content = page_map_new(change, request->size_bytes);
    if (err == OK)
        err = node_decision_use(&decision, request, 0, node.used_bytes);
    if (err == OK)
        node_decision_put(&decision, request, &place, &node);
    return err;
}

/* What is there is opened; if nothing is, the directory must be one to stay. */
static enum err plan_create(struct node_access *access)
{
    const struct node_change *request = access->arg;
    struct arena arena = { 0 };
    const struct node_source source = node_access_source(access, &arena);
    const struct open_operation operation =
        node_operation(FILE_OPERATION_CREATE, request->timeout_ms);
    struct node_place place;
    struct node node;
    enum err err = node_locate(&source, &request->name, &place);
    const bool is_located = err == OK;
    if (is_located)
        err = node_read(&source, &place, &node);
    if (err == OK && node.kind != request->kind)
        err = ERR_RESOURCE_TYPE_MISMATCH;
    else if (err == OK && node.kind == NODE_DIRECTORY)
        err = node_access_is_delete_pending(access, node.id) ? ERR_DELETE_PENDING
                                                             : ERR_RESOURCE_EXISTS;
    if (err == OK)
        node_access_add(access, 0, node.id, &operation);
    else if (is_located && err == ERR_RESOURCE_NOT_FOUND) {
        node_access_add(access, 0, NODE_ABSENT, &operation);
        err = node_access_is_delete_pending(access, place.parent) ? ERR_DELETE_PENDING : OK;
    }
    arena_release(&arena);
    return err;
}

void node_create(struct service *service, struct node_change *change)
{
    assert(change->size_bytes <= LIMIT_FILE_BYTES && change->name.id == NODE_ROOT_ID);
    node_change_start_with(service, change, FILE_OPERATION_CREATE, create_decide, plan_create);
}

/* --- properties and metadata --- */

/* The size of a file, and when it was written to if that changes it. */
static enum err resize(struct node_decision *decision, const struct node_change *request,
                       struct node *node)
{
    if (request->size_bytes == node->content.length_bytes)
        return OK;
    const uint64_t before = node->used_bytes;
    node->written_at = change_now(decision->change);
    const enum err err =
        page_map_resize(decision->change, &node->content, request->size_bytes, &node->used_bytes);
    return err == OK ? node_decision_use(decision, request, before, node->used_bytes) : err;
}

static enum err set_properties_decide(struct change *change, void *arg)
{
    struct node_change *request = arg;
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_open(&decision, change, request, &place, &node);
    if (err == OK && request->has_size && node.kind == NODE_FILE)
        err = resize(&decision, request, &node);
    if (err != OK)
        return err;
    if (!request->keeps_properties && node.kind == NODE_FILE)
        node.properties = request->properties;
    node.copy = (struct blob_copy){ 0 };
    node.etag = node.changed_at = change_now(change);
    err = node_apply_smb(change, &request->smb, &node);
    if (err == OK)
        node_decision_put(&decision, request, &place, &node);
    return err;
}

void node_set_properties(struct service *service, struct node_change *change)
{
    assert(!change->has_size || change->size_bytes <= LIMIT_FILE_BYTES);
    node_change_start(service, change, FILE_OPERATION_SET_PROPERTIES, set_properties_decide);
}

static enum err set_metadata_decide(struct change *change, void *arg)
{
    struct node_change *request = arg;
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_open(&decision, change, request, &place, &node);
    if (err != OK)
        return err;
    node.metadata = request->metadata;
    node.copy = (struct blob_copy){ 0 };
    node.etag = node.changed_at = change_now(change);
    node_decision_put(&decision, request, &place, &node);
    return OK;
}

void node_set_metadata(struct service *service, struct node_change *change)
{
    node_change_start(service, change, FILE_OPERATION_SET_METADATA, set_metadata_decide);
}

/* --- delete --- */

static enum err check_empty(struct change *change, const struct node *directory)
{
    struct cursor *cursor =
        change_scan(change, node_prefix(change_arena(change), directory->id), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    const enum err err = cursor_next(cursor, &key, &row);
    cursor_free(cursor);
    if (err == OK)
        return ERR_DIRECTORY_NOT_EMPTY;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Remove a node that may be removed from its place. */
enum err node_decision_remove(struct node_decision *decision, const struct node_change *request,
                              const struct node_place *place, struct node *node)
{
    struct change *change = decision->change;
    struct arena *arena = change_arena(change);
    const enum err err = node_preserve(change, &decision->state, place, node, NODE_CONTENT_LEFT);
    if (err != OK)
        return err;
    change_delete(change, node_key(arena, place->parent, place->upper));
    change_delete(change, node_place_key(arena, node->id));
    return node_decision_use(decision, request, node->used_bytes, 0);
}

static enum err delete_decide(struct change *change, void *arg)
{
    struct node_change *request = arg;
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &request->access);
    if (err == OK)
        err = node_decision_get(&decision, request, &place, &node);
    if (err == OK && node.kind == NODE_DIRECTORY)
        err = check_empty(change, &node);
    if (err != OK)
        return err;
    request->node = node_copy(request->base.arena, &node);
    err = node_decision_remove(&decision, request, &place, &node);
    if (err == OK)
        put_state(&decision);
    return err;
}

bool node_name_is_root(const struct node_name *name)
{
    return name->id == NODE_ROOT_ID && name->path.depth == 0;
}

void node_delete(struct service *service, struct node_change *change)
{
    if (node_name_is_root(&change->name))
        service_refuse(&change->base, ERR_INVALID_URI);
    else
        node_change_start(service, change, FILE_OPERATION_DELETE, delete_decide);
}
