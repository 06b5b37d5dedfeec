/*
 * node_lease.c - the lease of a file (file_lease.h), in its record.
 */
#include "service/file/file_lease.h"
#include "service/file/node_internal.h"

static enum err apply_lease(const struct lease_request *request, struct lease *lease)
{
    switch (request->action) {
    case LEASE_ACTION_ACQUIRE:
        return file_lease_acquire(lease, &request->proposed_id);
    case LEASE_ACTION_CHANGE:
        return file_lease_change(lease, &request->id, &request->proposed_id);
    case LEASE_ACTION_RELEASE:
        return file_lease_release(lease, &request->id);
    case LEASE_ACTION_BREAK:
        return file_lease_break(lease);
    case LEASE_ACTION_RENEW:
        break;
    }
    return ERR_LEASE_ACTION_NOT_PRESENT;
}

static enum err lease_decide(struct change *change, void *arg)
{
    struct node_lease *request = arg;
    struct arena *arena = change_arena(change);
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &request->access);
    if (err == OK)
        err = node_find(&decision.source, &request->name, NODE_FILE, &place, &node);
    if (err == OK)
        err = node_access_check(&request->access, 0, node.id);
    if (err == OK)
        err = apply_lease(&request->lease, &node.lease);
    if (err != OK)
        return err;
    /* Neither the ETag nor the past knows of leases, so the record is so from when it was. */
    change_put(change, node_key(arena, place.parent, place.upper), node_encode(arena, &node));
    request->lease.remaining_sec = 0;
    request->node = node_copy(request->base.arena, &node);
    return OK;
}

static enum err plan_lease(struct node_access *access)
{
    const struct node_lease *request = access->arg;
    struct arena arena = { 0 };
    const struct node_source source = node_access_source(access, &arena);
    const struct open_operation operation = node_operation(
        request->lease.action == LEASE_ACTION_ACQUIRE ? FILE_OPERATION_ACQUIRE_LEASE
                                                      : FILE_OPERATION_OTHER_LEASE_ACTION,
        request->timeout_ms);
    struct node_place place;
    struct node node;
    const enum err err = node_find(&source, &request->name, NODE_FILE, &place, &node);
    if (err == OK)
        node_access_add(access, 0, node.id, &operation);
    arena_release(&arena);
    return err;
}

static void lease_done(void *arg, enum err err)
{
    struct node_lease *request = arg;
    if (!node_access_end(&request->access, err))
        request->base.done(request->base.arg, err);
}

static void go_lease(struct node_access *access)
{
    struct node_lease *request = access->arg;
    request->base.update = (struct partition_update){
        .partition = access->partition,
        .decide = lease_decide,
        .arg = request,
        .done = lease_done,
    };
    partition_update(access->service->store, &request->base.update);
}

static void refuse_lease(struct node_access *access, enum err err)
{
    struct node_lease *request = access->arg;
    service_refuse(&request->base, err);
}

void node_lease(struct service *service, struct node_lease *change)
{
    change->access = (struct node_access){
        .plan = plan_lease,
        .go = go_lease,
        .refuse = refuse_lease,
        .arg = change,
    };
    enum err err = ERR_OPERATION_ON_SNAPSHOT;
    if (change->name.share.snapshot == 0)
        err = node_access_find_share(service, change->base.arena, &change->name.share,
                                     &change->access, NULL);
    if (err == OK)
        node_access_begin(service, &change->access, false);
    else
        service_refuse(&change->base, err);
}
