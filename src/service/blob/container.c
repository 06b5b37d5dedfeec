/*
 * container.c - see container.h.  Each change is a decision function (`..._decide`) that reads the
 * record, checks lease and conditions, and writes the record, all inside one update of the
 * account's partition.
 */
#include "service/blob/container.h"

#include <assert.h>

#include "base/log.h"
#include "service/blob/blob_name.h"
#include "service/lease_row.h"
#include "service/row.h"
#include "service/sweeper.h"

/* Tags of a container's row; never reused for anything else. */
enum container_tag {
    TAG_INCARNATION = 1,
    TAG_ETAG = 2,
    TAG_METADATA = 3,
    TAG_LEASE = 4, /* and the three after it */
    TAG_LEASE_LAST = TAG_LEASE + LEASE_ROW_TAGS - 1,
    TAG_PUBLIC_ACCESS = 8,
    TAG_POLICY = 9,
};

struct slice container_encode(struct arena *arena, const struct container *container)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_CONTAINER);
    row_add_number(&row, TAG_INCARNATION, container->incarnation);
    row_add_number(&row, TAG_ETAG, (uint64_t)container->etag);
    metadata_encode(&container->metadata, &row, TAG_METADATA);
    lease_row_encode(&container->lease, &row, TAG_LEASE);
    row_add_number(&row, TAG_PUBLIC_ACCESS, (uint64_t)container->public_access);
    access_policies_encode(&container->policies, &row, TAG_POLICY);
    return strbuf_slice(&row);
}

static enum err decode_public_access(struct container *container, struct slice value)
{
    uint64_t number;
    const enum err err = row_number(value, &number);
    if (err != OK)
        return err;
    if (number > PUBLIC_CONTAINER)
        return CORRUPT("a container's public access is %llu", (unsigned long long)number);
    container->public_access = (enum public_access)number;
    return OK;
}

static enum err decode_field(struct arena *arena, struct container *container, uint64_t tag,
                             struct slice value)
{
    enum err err = OK;
    struct metadata_pair pair;
    if (tag >= TAG_LEASE && tag <= TAG_LEASE_LAST)
        return lease_row_decode(&container->lease, tag - TAG_LEASE, value);
    switch (tag) {
    case TAG_INCARNATION:
        return row_number(value, &container->incarnation);
    case TAG_ETAG:
        return row_instant(value, &container->etag);
    case TAG_POLICY:
        return access_policies_decode(&container->policies, value);
    case TAG_PUBLIC_ACCESS:
        return decode_public_access(container, value);
    case TAG_METADATA:
        err = metadata_decode_pair(value, &pair);
        if (err == OK)
            metadata_append(&container->metadata, arena, pair);
        return err;
    default:
        return OK;
    }
}

enum err container_decode(struct arena *arena, struct slice row, struct container *container)
{
    *container = (struct container){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_CONTAINER);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK)
            err = decode_field(arena, container, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (container->incarnation == 0 || container->etag == 0 || !lease_is_valid(&container->lease))
        return CORRUPT("a container's row does not hold together");
    return OK;
}

/* --- reads --- */

static enum err read_container(struct service *service, struct arena *arena,
                               const struct container_name *name, struct container *container)
{
    struct slice row;
    const enum err err =
        partition_get_often(service->store, arena, account_partition(arena, name->account),
                            container_key(arena, name->container), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_CONTAINER_NOT_FOUND;
    return err == OK ? container_decode(arena, row, container) : err;
}

enum err container_get(struct service *service, struct arena *arena,
                       const struct container_name *name, const struct uuid *lease_id,
                       struct container *container)
{
    const enum err err = read_container(service, arena, name, container);
    if (err != OK)
        return err;
    const int64_t now_ms = clock_now(service->clock) / CLOCK_TICKS_PER_MS;
    return lease_check_read(&container->lease, LEASE_OF_CONTAINER, lease_id, now_ms);
}

enum err container_find_blobs(struct service *service, struct arena *arena,
                              const struct container_name *name, struct slice *partition)
{
    struct container container;
    const enum err err = read_container(service, arena, name, &container);
    if (err == OK)
        *partition = blob_partition(arena, container.incarnation);
    return err;
}

struct container_listing {
    const struct container_list_request *request;
    int64_t now_ms;
};

static enum err list_container(void *arg, struct arena *arena, struct slice name, struct slice row,
                               bool *more)
{
    const struct container_listing *listing = arg;
    struct container container;
    const enum err err = container_decode(arena, row, &container);
    if (err != OK)
        return err;
    lease_settle(&container.lease, listing->now_ms);
    *more = listing->request->emit(listing->request->arg, name, &container);
    return OK;
}

enum err container_list(struct service *service, struct arena *arena,
                        const struct container_list_request *request, struct slice *next)
{
    struct container_listing listing = {
        .request = request,
        .now_ms = clock_now(service->clock) / CLOCK_TICKS_PER_MS,
    };
    const struct resource_list_request resources = {
        .account = request->account,
        .kind = RESOURCE_CONTAINER,
        .prefix = request->prefix,
        .from = request->from,
        .results_max = request->results_max,
        .emit = list_container,
        .arg = &listing,
    };
    return resource_list(service, arena, &resources, next);
}

/* --- changes --- */

static struct condition_state state_of(const struct container *container)
{
    return (struct condition_state){
        .exists = true,
        .etag = container->etag,
        .last_modified = container->etag,
    };
}

/* Read the record a change is about, in that change. */
static enum err change_get_container(struct change *change, const struct container_name *name,
                                     struct container *container)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    const enum err err = change_get(change, container_key(arena, name->container), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_CONTAINER_NOT_FOUND;
    return err == OK ? container_decode(arena, row, container) : err;
}

static void change_put_container(struct change *change, const struct container_name *name,
                                 const struct container *container)
{
    struct arena *arena = change_arena(change);
    change_put(change, container_key(arena, name->container), container_encode(arena, container));
}

/* The record as a result: without what lives only as long as the decision. */
static struct container container_result(const struct container *container)
{
    struct container result = *container;
    result.metadata = (struct metadata){ 0 };
    result.policies = (struct access_policies){ 0 };
    return result;
}

static int64_t change_now_ms(const struct change *change)
{
    return change_now(change) / CLOCK_TICKS_PER_MS;
}

static const struct uuid *lease_id_of(const struct container_change *request)
{
    return request->has_lease_id ? &request->lease_id : NULL;
}

static enum err create_decide(struct change *change, void *arg)
{
    struct container_change *request = arg;
    struct container container;
    const enum err err = change_get_container(change, &request->name, &container);
    if (err == OK)
        return ERR_CONTAINER_EXISTS;
    if (err != ERR_CONTAINER_NOT_FOUND)
        return err;
    container = (struct container){
        .incarnation = (uint64_t)change_now(change),
        .etag = change_now(change),
        .metadata = request->metadata,
        .public_access = request->public_access,
    };
    change_put_container(change, &request->name, &container);
    request->container = container_result(&container);
    return OK;
}

/* Read the container for a change that needs no lease but respects one that is named. */
static enum err get_for_change(struct change *change, const struct container_change *request,
                               struct container *container)
{
    enum err err = change_get_container(change, &request->name, container);
    if (err == OK)
        err = lease_check_read(&container->lease, LEASE_OF_CONTAINER, lease_id_of(request),
                               change_now_ms(change));
    if (err == OK) {
        const struct condition_state state = state_of(container);
        err = condition_check_write(&request->condition, &state);
    }
    return err;
}

static enum err put_changed(struct change *change, struct container_change *request,
                            struct container *container)
{
    container->etag = change_now(change);
    change_put_container(change, &request->name, container);
    request->container = container_result(container);
    return OK;
}

static enum err set_metadata_decide(struct change *change, void *arg)
{
    struct container_change *request = arg;
    struct container container;
    const enum err err = get_for_change(change, request, &container);
    if (err != OK)
        return err;
    container.metadata = request->metadata;
    return put_changed(change, request, &container);
}

static enum err set_acl_decide(struct change *change, void *arg)
{
    struct container_change *request = arg;
    struct container container;
    const enum err err = get_for_change(change, request, &container);
    if (err != OK)
        return err;
    container.public_access = request->public_access;
    container.policies = request->policies;
    return put_changed(change, request, &container);
}

static enum err delete_decide(struct change *change, void *arg)
{
    struct container_change *request = arg;
    struct arena *arena = change_arena(change);
    struct container container;
    enum err err = change_get_container(change, &request->name, &container);
    if (err == OK)
        err = lease_check_write(&container.lease, LEASE_OF_CONTAINER, lease_id_of(request),
                                change_now_ms(change));
    if (err == OK) {
        const struct condition_state state = state_of(&container);
        err = condition_check_write(&request->condition, &state);
    }
    if (err != OK)
        return err;
    change_delete(change, container_key(arena, request->name.container));
    garbage_put(change, RESOURCE_CONTAINER, container.incarnation);
    return OK;
}

static void start(struct service *service, struct service_change *base,
                  const struct container_name *name, change_fn *decide)
{
    service_update(service, base, account_partition(base->arena, name->account), decide);
}

void container_create(struct service *service, struct container_change *change)
{
    start(service, &change->base, &change->name, create_decide);
}

void container_set_metadata(struct service *service, struct container_change *change)
{
    start(service, &change->base, &change->name, set_metadata_decide);
}

void container_set_acl(struct service *service, struct container_change *change)
{
    start(service, &change->base, &change->name, set_acl_decide);
}

static void delete_settle(struct service_change *base, enum err err)
{
    if (err == OK)
        sweeper_wake(base->service->sweeper);
}

void container_delete(struct service *service, struct container_change *change)
{
    change->base.settle = delete_settle;
    start(service, &change->base, &change->name, delete_decide);
}

enum err lease_request_apply(struct lease_request *request, struct lease *lease, int64_t now_ms)
{
    switch (request->action) {
    case LEASE_ACTION_ACQUIRE:
        return lease_acquire(lease, &request->proposed_id, request->duration_sec, now_ms);
    case LEASE_ACTION_RENEW:
        return lease_renew(lease, &request->id, now_ms);
    case LEASE_ACTION_CHANGE:
        return lease_change(lease, &request->id, &request->proposed_id, now_ms);
    case LEASE_ACTION_RELEASE:
        return lease_release(lease, &request->id, now_ms);
    case LEASE_ACTION_BREAK:
        return lease_break(lease, request->break_sec, now_ms, &request->remaining_sec);
    }
    panic("lease action %d is outside the enumeration", (int)request->action);
}

static enum err lease_decide(struct change *change, void *arg)
{
    struct container_lease *request = arg;
    struct container container;
    enum err err = change_get_container(change, &request->name, &container);
    if (err == OK) {
        const struct condition_state state = state_of(&container);
        err = condition_check_write(&request->condition, &state);
    }
    if (err == OK)
        err = lease_request_apply(&request->lease, &container.lease, change_now_ms(change));
    if (err != OK)
        return err;
    /* A lease action changes neither the ETag nor Last-Modified. */
    change_put_container(change, &request->name, &container);
    request->container = container_result(&container);
    return OK;
}

void container_lease(struct service *service, struct container_lease *change)
{
    start(service, &change->base, &change->name, lease_decide);
}
