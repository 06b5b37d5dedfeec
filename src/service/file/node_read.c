/*
 * node_read.c - reading one node: its record, its bytes, its ranges.
 *
 * The view is taken after the table of opens has let the operation in, and the operation ends as
 * soon as there is a view: what is read afterwards is the state of that instant.
 *
 * The record has been read before, to know whom to ask for.  If nothing of the share has changed
 * since, that look is what a view would show, and the record is not read again.
 */
#include "service/blob/segments.h"
#include "service/file/file_lease.h"
#include "service/file/node_internal.h"

/* The part of a read that both kinds have. */
struct read_request {
    const struct node_name *name;
    enum node_kind kind;
    const struct uuid *lease_id; /* or NULL */
    struct open_operation operation;
    uint64_t start; /* of the bytes that are used, as far as the file has them */
    uint64_t end;
    struct arena *arena;
    struct node *node; /* what is found, its slices in the arena */
};

static void close_view(void *view)
{
    partition_view_close(view);
}

static enum err plan_read(struct node_access *access, const struct read_request *request)
{
    const struct node_source source = node_access_source(access, request->arena);
    struct node_place place;
    access->look = partition_look(access->service->store, access->partition);
    const enum err err = node_find(&source, request->name, request->kind, &place, request->node);
    if (err == OK) {
        struct open_operation operation = request->operation;
        const uint64_t size = request->node->content.length_bytes;
        const uint64_t end = request->end < size ? request->end : size;
        if (request->start < end)
            operation.range =
                (struct byte_range){ .offset = request->start, .length = end - request->start };
        node_access_add(access, 0, request->node->id, &operation);
    }
    return err;
}

/* Whether what the plan has found is what a view taken now would show. */
static bool is_look_latest(const struct node_access *access)
{
    return access->is_checked &&
           partition_look_is_latest(access->service->store, access->partition, access->look);
}

static enum err find_in_view(const struct node_access *access, const struct node_source *source,
                             const struct read_request *request)
{
    struct node_place place;
    const enum err err = node_find(source, request->name, request->kind, &place, request->node);
    /* What was there when it was opened and is not there any more has moved, or is gone: the next
       look says which. */
    if (access->is_checked && (err == ERR_RESOURCE_NOT_FOUND || err == ERR_PARENT_NOT_FOUND ||
                               err == ERR_RESOURCE_TYPE_MISMATCH))
        return ERR_NODE_MOVED;
    return err == OK ? node_access_check(access, 0, request->node->id) : err;
}

static enum err check_lease(const struct read_request *request)
{
    struct node *node = request->node;
    return node->kind == NODE_FILE ? file_lease_check_read(&node->lease, request->lease_id) : OK;
}

/* The record in a view, with the checks of a read. */
static enum err read_in_view(const struct node_access *access, const struct node_source *source,
                             const struct read_request *request)
{
    const enum err err = is_look_latest(access) ? OK : find_in_view(access, source, request);
    return err == OK ? check_lease(request) : err;
}

static struct node_source source_of(const struct node_access *access, struct arena *arena,
                                    struct partition_view *view, int64_t instant)
{
    return (struct node_source){
        .view = view,
        .arena = arena,
        .instant = instant,
        .share = access->share,
    };
}

/* --- node_get --- */

static struct read_request get_request(struct node_get *get)
{
    return (struct read_request){
        .name = &get->name,
        .kind = get->kind,
        .lease_id = get->has_lease_id ? &get->lease_id : NULL,
        .operation =
            node_operation(get->want_payload ? FILE_OPERATION_GET : FILE_OPERATION_GET_PROPERTIES,
                           get->timeout_ms),
        .start = get->start,
        .end = get->end != 0 ? get->end : UINT64_MAX,
        .arena = get->base.arena,
        .node = &get->node,
    };
}

static enum err plan_get(struct node_access *access)
{
    const struct read_request request = get_request(access->arg);
    return plan_read(access, &request);
}

static void refuse_get(struct node_access *access, enum err err)
{
    struct node_get *get = access->arg;
    get->base.done(get->base.arg, err);
}

/* Bytes are read piece by piece for as long as the client takes, and the view stays. */
static enum err get_in_long_view(struct node_access *access, struct node_get *get,
                                 const struct read_request *request)
{
    struct arena *arena = get->base.arena;
    struct partition_view *view = arena_alloc(arena, sizeof(*view));
    partition_view_open_long(access->service->store, access->partition, view);
    arena_on_clear(arena, close_view, view);
    const struct node_source source = source_of(access, arena, view, get->name.share.snapshot);
    const enum err err = read_in_view(access, &source, request);
    if (err != OK)
        return err;
    return content_open(access->service, view, arena, &get->node.content, &get->payload);
}

static enum err get_record(struct node_access *access, struct node_get *get,
                           const struct read_request *request)
{
    if (is_look_latest(access))
        return check_lease(request);
    struct partition_view view;
    partition_view_open(access->service->store, access->partition, &view);
    const struct node_source source =
        source_of(access, get->base.arena, &view, get->name.share.snapshot);
    const enum err err = read_in_view(access, &source, request);
    partition_view_close(&view);
    return err;
}

static void go_get(struct node_access *access)
{
    struct node_get *get = access->arg;
    const struct read_request request = get_request(get);
    const enum err err = get->want_payload ? get_in_long_view(access, get, &request)
                                           : get_record(access, get, &request);
    if (!node_access_end(access, err))
        get->base.done(get->base.arg, err);
}

void node_get(struct service *service, struct node_get *get)
{
    get->access = (struct node_access){
        .plan = plan_get,
        .go = go_get,
        .refuse = refuse_get,
        .arg = get,
    };
    const enum err err =
        node_access_find_share(service, get->base.arena, &get->name.share, &get->access, NULL);
    if (err == OK)
        node_access_begin(service, &get->access, get->is_admitted || get->name.share.snapshot != 0);
    else
        get->base.done(get->base.arg, err);
}

/* --- node_ranges --- */

static struct read_request ranges_request(struct node_ranges *ranges)
{
    return (struct read_request){
        .name = &ranges->name,
        .kind = NODE_FILE,
        .lease_id = ranges->has_lease_id ? &ranges->lease_id : NULL,
        .operation = node_operation(FILE_OPERATION_LIST_RANGES, ranges->timeout_ms),
        .arena = ranges->base.arena,
        .node = &ranges->node,
    };
}

static enum err plan_ranges(struct node_access *access)
{
    const struct read_request request = ranges_request(access->arg);
    return plan_read(access, &request);
}

static void refuse_ranges(struct node_access *access, enum err err)
{
    struct node_ranges *ranges = access->arg;
    ranges->base.done(ranges->base.arg, err);
}

static void go_ranges(struct node_access *access)
{
    struct node_ranges *ranges = access->arg;
    const struct read_request request = ranges_request(ranges);
    /* A long view: there can be very many rows, and nobody is to wait for them. */
    struct partition_view view;
    partition_view_open_long(access->service->store, access->partition, &view);
    const struct node_source source =
        source_of(access, ranges->base.arena, &view, ranges->name.share.snapshot);
    enum err err = read_in_view(access, &source, &request);
    if (err == OK)
        err = node_ranges_in_view(ranges, &source, &ranges->node);
    partition_view_close(&view);
    if (!node_access_end(access, err))
        ranges->base.done(ranges->base.arg, err);
}

/* The snapshot to compare with is one of the same share, and not of the future. */
static enum err check_previous(struct service *service, const struct node_ranges *ranges)
{
    struct share_name name = ranges->name.share;
    if (ranges->previous == 0)
        return OK;
    if (name.snapshot != 0 && ranges->previous > name.snapshot)
        return ERR_PREVIOUS_SNAPSHOT_NEWER;
    struct node_access previous = { 0 };
    name.snapshot = ranges->previous;
    const enum err err =
        node_access_find_share(service, ranges->base.arena, &name, &previous, NULL);
    if (err == ERR_SHARE_SNAPSHOT_NOT_FOUND ||
        (err == OK && previous.share != ranges->access.share))
        return ERR_PREVIOUS_SNAPSHOT_NOT_FOUND;
    return err;
}

void node_ranges(struct service *service, struct node_ranges *ranges)
{
    ranges->access = (struct node_access){
        .plan = plan_ranges,
        .go = go_ranges,
        .refuse = refuse_ranges,
        .arg = ranges,
    };
    enum err err = node_access_find_share(service, ranges->base.arena, &ranges->name.share,
                                          &ranges->access, NULL);
    if (err == OK)
        err = check_previous(service, ranges);
    if (err == OK)
        node_access_begin(service, &ranges->access,
                          ranges->is_admitted || ranges->name.share.snapshot != 0);
    else
        ranges->base.done(ranges->base.arg, err);
}
