/*
 * file_copy_pending.c - copies from elsewhere after they have begun: steps, the end, abort, and
 * what a restart makes of them (file_copy.h).
 */
#include <assert.h>
#include <string.h>

#include "service/blob/page_map.h"
#include "service/file/file_copy.h"
#include "service/file/file_lease.h"
#include "service/file/node_internal.h"

/* --- what all have in common --- */

/* The copy is over: the record under a new ETag, and no row that says that it is pending. */
static void put_ended(struct node_decision *decision, const struct node_place *place,
                      enum blob_copy_status status, struct node *node)
{
    struct change *change = decision->change;
    node->copy.status = status;
    node->copy.completed_at = node->etag = change_now(change);
    change_delete(change, pending_file_key(change_arena(change), node->id));
    node_decision_store(decision, place, node);
}

static enum err find_by_id(const struct node_decision *decision, uint64_t id,
                           struct node_place *place, struct node *node)
{
    const struct node_name name = { .id = id };
    return node_find(&decision->source, &name, NODE_FILE, place, node);
}

static bool is_gone(enum err err)
{
    return err == ERR_SHARE_NOT_FOUND || err == ERR_RESOURCE_NOT_FOUND ||
           err == ERR_RESOURCE_TYPE_MISMATCH;
}

/* --- steps --- */

/* The bytes that arrived become the file's. */
static enum err store_arrived(struct node_decision *decision, const struct file_copy_step *step,
                              struct node *node)
{
    struct change *change = decision->change;
    struct payload_writer *payload = step->step.payload;
    const struct node_change quota = { .quota_bytes = step->quota_bytes };
    const uint64_t length_bytes = payload_writer_length(payload);
    const int64_t now = change_now(change);
    if (!step->keeps_written_at)
        node->written_at = now;
    if (!step->keeps_changed_at)
        node->changed_at = now;
    node->content = page_map_new(change, length_bytes);
    if (length_bytes == 0)
        return OK;
    const struct segment segment = segment_store(change, payload, (uint64_t)now);
    const enum err err = page_map_write(change, &node->content, 0, &segment, &node->used_bytes);
    return err == OK ? node_decision_use(decision, &quota, 0, node->used_bytes) : err;
}

static enum err apply_step(struct node_decision *decision, const struct file_copy_step *step,
                           const struct node_place *place, struct node *node)
{
    const struct copy_step *base = &step->step;
    enum err err = copy_check_pending(&node->copy, &base->id);
    if (err == OK)
        err = node_preserve(decision->change, &decision->state, place, node, NODE_CONTENT_LEFT);
    if (err != OK)
        return err;
    node->copy.copied_bytes = base->copied_bytes;
    if (base->description.len > 0) {
        node->copy.description = base->description;
        put_ended(decision, place, BLOB_COPY_FAILED, node);
    } else if (base->payload != NULL) {
        err = store_arrived(decision, step, node);
        if (err == OK)
            put_ended(decision, place, BLOB_COPY_SUCCESS, node);
    } else {
        node_decision_store(decision, place, node);
    }
    return err;
}

static enum err step_decide(struct change *change, void *arg)
{
    struct file_copy_step *step = arg;
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &step->access);
    if (err == OK)
        err = find_by_id(&decision, step->file_id, &place, &node);
    step->step.is_gone = is_gone(err);
    if (step->step.is_gone) {
        change_delete(change, pending_file_key(change_arena(change), step->file_id));
        return OK;
    }
    return err == OK ? apply_step(&decision, step, &place, &node) : err;
}

static void step_done(void *arg, enum err err)
{
    struct file_copy_step *step = arg;
    struct service_change *base = &step->step.base;
    if (node_access_end(&step->access, err))
        return;
    if (err == OK && step->step.payload != NULL && !step->step.is_gone)
        payload_writer_commit(step->step.payload);
    base->done(base->arg, err);
}

static void go_step(struct node_access *access)
{
    struct file_copy_step *step = access->arg;
    struct service_change *base = &step->step.base;
    base->update = (struct partition_update){
        .partition = access->partition,
        .decide = step_decide,
        .arg = step,
        .done = step_done,
    };
    partition_update(access->service->store, &base->update);
}

static void refuse_step(struct node_access *access, enum err err)
{
    struct file_copy_step *step = access->arg;
    service_refuse(&step->step.base, err);
}

/* That the file is not there is for the decision to find. */
static enum err plan_step(struct node_access *access)
{
    const struct file_copy_step *step = access->arg;
    const struct open_operation operation = node_operation(FILE_OPERATION_COPY_TO, 0);
    node_access_add(access, 0, step->file_id, &operation);
    return OK;
}

/* Only bytes that arrive are of interest to those who have the file open. */
static void begin_step(void *arg)
{
    struct file_copy_step *step = arg;
    step->access = (struct node_access){
        .partition = step->step.partition,
        .share = step->share,
        .plan = plan_step,
        .go = go_step,
        .refuse = refuse_step,
        .arg = step,
    };
    node_access_begin(step->step.base.service, &step->access, step->step.payload == NULL);
}

void file_copy_step(struct service *service, struct copy_step *step)
{
    struct file_copy_step *copy = (struct file_copy_step *)step;
    assert(step->payload == NULL || step->description.len == 0);
    assert(copy->file_id != NODE_ROOT_ID && step->partition.len > 0);
    step->base.service = service;
    if (step->payload != NULL)
        payload_writer_sync(step->payload, begin_step, copy);
    else
        begin_step(copy);
}

void file_copy_step_init(struct file_copy_step *step, const struct file_copy *copy)
{
    const struct node_change *change = &copy->change;
    const struct slice partition = change->access.partition;
    assert(partition.len <= sizeof(step->partition));
    memcpy(step->partition, partition.data, partition.len);
    step->step.partition = slice_make(step->partition, partition.len);
    step->step.id = copy->id;
    step->share = change->access.share;
    step->file_id = change->node.id;
    step->quota_bytes = change->quota_bytes;
    step->keeps_written_at = change->smb.has_written_at;
    step->keeps_changed_at = change->smb.has_changed_at;
}

/* --- abort --- */

static enum err abort_decide(struct change *change, void *arg)
{
    struct file_copy_abort *request = arg;
    struct node_change *base = &request->change;
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &base->access);
    if (err == OK)
        err = node_find(&decision.source, &base->name, NODE_FILE, &place, &node);
    if (err == OK)
        err = node_access_check(&base->access, 0, node.id);
    if (err == OK)
        err = file_lease_write(&node.lease, base->has_lease_id ? &base->lease_id : NULL);
    if (err == OK)
        err = copy_check_pending(&node.copy, &request->id);
    if (err == OK)
        err = node_preserve(change, &decision.state, &place, &node, NODE_CONTENT_LEFT);
    if (err == OK)
        put_ended(&decision, &place, BLOB_COPY_ABORTED, &node);
    return err;
}

void file_copy_abort(struct service *service, struct file_copy_abort *abort)
{
    abort->change.kind = NODE_FILE;
    node_change_start(service, &abort->change, FILE_OPERATION_ABORT_COPY, abort_decide);
}

/* --- after a restart --- */

enum err file_copy_recover(struct change *change, uint64_t file_id)
{
    const struct node_access none = { 0 };
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &none);
    if (err == OK)
        err = find_by_id(&decision, file_id, &place, &node);
    if (err == OK && node.copy.status == BLOB_COPY_PENDING) {
        err = node_preserve(change, &decision.state, &place, &node, NODE_CONTENT_LEFT);
        node.copy.description = copy_restart_description();
        if (err == OK)
            put_ended(&decision, &place, BLOB_COPY_FAILED, &node);
        return err;
    }
    change_delete(change, pending_file_key(change_arena(change), file_id));
    return is_gone(err) ? OK : err;
}
