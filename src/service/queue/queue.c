/*
 * queue.c - see queue.h.  Each change is a decision function (`..._decide`) that reads the record
 * and writes it, inside one update of the account's partition.
 */
#include "service/queue/queue.h"

#include "base/log.h"
#include "service/queue/message_row.h"
#include "service/queue/queue_name.h"
#include "service/row.h"
#include "service/sweeper.h"

/* Tags of a queue's row; never reused for anything else. */
enum queue_tag {
    TAG_INCARNATION = 1,
    TAG_METADATA = 2,
    TAG_POLICY = 3,
};

struct slice queue_encode(struct arena *arena, const struct queue *queue)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_QUEUE);
    row_add_number(&row, TAG_INCARNATION, queue->incarnation);
    metadata_encode(&queue->metadata, &row, TAG_METADATA);
    access_policies_encode(&queue->policies, &row, TAG_POLICY);
    return strbuf_slice(&row);
}

static enum err decode_field(struct arena *arena, struct queue *queue, uint64_t tag,
                             struct slice value)
{
    struct metadata_pair pair;
    enum err err = OK;
    switch (tag) {
    case TAG_INCARNATION:
        return row_number(value, &queue->incarnation);
    case TAG_METADATA:
        err = metadata_decode_pair(value, &pair);
        if (err == OK)
            metadata_append(&queue->metadata, arena, pair);
        return err;
    case TAG_POLICY:
        return access_policies_decode(&queue->policies, value);
    default:
        return OK;
    }
}

enum err queue_decode(struct arena *arena, struct slice row, struct queue *queue)
{
    *queue = (struct queue){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_QUEUE);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK)
            err = decode_field(arena, queue, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (queue->incarnation == 0)
        return CORRUPT("a queue's row does not hold together");
    return OK;
}

enum err queue_name_check(struct slice name)
{
    return resource_name_check(name);
}

/* --- reads --- */

enum err queue_get(struct service *service, struct arena *arena, const struct queue_name *name,
                   struct queue *queue)
{
    struct slice row;
    const enum err err =
        partition_get_often(service->store, arena, account_partition(arena, name->account),
                            queue_key(arena, name->queue), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_QUEUE_NOT_FOUND;
    return err == OK ? queue_decode(arena, row, queue) : err;
}

enum err queue_find_messages(struct service *service, struct arena *arena,
                             const struct queue_name *name, struct slice *partition)
{
    struct queue queue;
    const enum err err = queue_get(service, arena, name, &queue);
    if (err == OK)
        *partition = message_partition(arena, queue.incarnation);
    return err;
}

enum err queue_get_count(struct service *service, struct arena *arena,
                         const struct queue_name *name, struct queue *queue,
                         uint64_t *message_count)
{
    enum err err = queue_get(service, arena, name, queue);
    struct queue_head head;
    if (err == OK)
        err = queue_head_read(service, arena, message_partition(arena, queue->incarnation), &head);
    if (err == OK)
        *message_count = head.count;
    return err;
}

static enum err list_queue(void *arg, struct arena *arena, struct slice name, struct slice row,
                           bool *more)
{
    const struct queue_list_request *request = arg;
    struct queue queue;
    const enum err err = queue_decode(arena, row, &queue);
    if (err == OK)
        *more = request->emit(request->arg, name, &queue);
    return err;
}

enum err queue_list(struct service *service, struct arena *arena,
                    const struct queue_list_request *request, struct slice *next)
{
    struct queue_list_request listing = *request;
    const struct resource_list_request resources = {
        .account = request->account,
        .kind = RESOURCE_QUEUE,
        .prefix = request->prefix,
        .from = request->from,
        .results_max = request->results_max,
        .emit = list_queue,
        .arg = &listing,
    };
    return resource_list(service, arena, &resources, next);
}

/* --- changes --- */

/* Read the record a change is about, in that change. */
static enum err change_get_queue(struct change *change, const struct queue_name *name,
                                 struct queue *queue)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    const enum err err = change_get(change, queue_key(arena, name->queue), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_QUEUE_NOT_FOUND;
    return err == OK ? queue_decode(arena, row, queue) : err;
}

static void change_put_queue(struct change *change, const struct queue_name *name,
                             const struct queue *queue)
{
    struct arena *arena = change_arena(change);
    change_put(change, queue_key(arena, name->queue), queue_encode(arena, queue));
}

static enum err create_decide(struct change *change, void *arg)
{
    struct queue_change *request = arg;
    struct queue queue;
    const enum err err = change_get_queue(change, &request->name, &queue);
    request->existed = err == OK;
    if (err == OK)
        return metadata_equal(&queue.metadata, &request->metadata) ? OK : ERR_QUEUE_EXISTS;
    if (err != ERR_QUEUE_NOT_FOUND)
        return err;
    queue = (struct queue){
        .incarnation = (uint64_t)change_now(change),
        .metadata = request->metadata,
    };
    change_put_queue(change, &request->name, &queue);
    return OK;
}

static enum err set_metadata_decide(struct change *change, void *arg)
{
    const struct queue_change *request = arg;
    struct queue queue;
    const enum err err = change_get_queue(change, &request->name, &queue);
    if (err != OK)
        return err;
    queue.metadata = request->metadata;
    change_put_queue(change, &request->name, &queue);
    return OK;
}

static enum err set_acl_decide(struct change *change, void *arg)
{
    const struct queue_change *request = arg;
    struct queue queue;
    const enum err err = change_get_queue(change, &request->name, &queue);
    if (err != OK)
        return err;
    queue.policies = request->policies;
    change_put_queue(change, &request->name, &queue);
    return OK;
}

static enum err delete_decide(struct change *change, void *arg)
{
    const struct queue_change *request = arg;
    struct queue queue;
    const enum err err = change_get_queue(change, &request->name, &queue);
    if (err != OK)
        return err;
    change_delete(change, queue_key(change_arena(change), request->name.queue));
    garbage_put(change, RESOURCE_QUEUE, queue.incarnation);
    return OK;
}

static void start(struct service *service, struct queue_change *change, change_fn *decide)
{
    service_update(service, &change->base,
                   account_partition(change->base.arena, change->name.account), decide);
}

void queue_create(struct service *service, struct queue_change *change)
{
    start(service, change, create_decide);
}

void queue_set_metadata(struct service *service, struct queue_change *change)
{
    start(service, change, set_metadata_decide);
}

void queue_set_acl(struct service *service, struct queue_change *change)
{
    start(service, change, set_acl_decide);
}

static void delete_settle(struct service_change *base, enum err err)
{
    if (err == OK)
        sweeper_wake(base->service->sweeper);
}

void queue_delete(struct service *service, struct queue_change *change)
{
    change->base.settle = delete_settle;
    start(service, change, delete_decide);
}
