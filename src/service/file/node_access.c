/*
 * node_access.c - the way of an operation through the table of opens.
 *
 *   begin -> plan: look up, ids known -> open_table_begin, one after the other -> go
 *   go    -> the decision checks that the path still means those ids
 *         -> end: open_table_end; ERR_NODE_MOVED begins again, everything else is the answer
 *
 * An operation on a name that means nothing yet opens nothing: that it still means nothing is
 * checked like an id.
 */
#include <assert.h>

#include "service/file/node_internal.h"

enum {
    /* Each needs somebody else to have renamed or made what the path means, just then. */
    NODE_ATTEMPTS_MAX = 16,
};

enum err node_access_find_share(struct service *service, struct arena *arena,
                                const struct share_name *name, struct node_access *access,
                                uint64_t *quota_bytes)
{
    struct share share;
    const enum err err = share_get(service, arena, name, NULL, &share);
    if (err != OK)
        return err;
    access->partition = file_partition(arena, share.incarnation);
    access->share = share.incarnation;
    if (quota_bytes != NULL)
        *quota_bytes = share.quota_gib << 30;
    return OK;
}

struct node_source node_access_source(const struct node_access *access, struct arena *arena)
{
    return (struct node_source){
        .store = access->service->store,
        .partition = access->partition,
        .arena = arena,
        .share = access->share,
    };
}

struct open_operation node_operation(enum file_operation operation, int64_t timeout_ms)
{
    return (struct open_operation){
        .operation = operation,
        .timeout_sec = (int32_t)((timeout_ms + 999) / 1000),
    };
}

bool node_access_is_delete_pending(const struct node_access *access, uint64_t id)
{
    const struct file_key key = { .share = access->share, .file_id = id };
    return open_table_is_delete_pending(access->service->opens, key);
}

void node_access_add(struct node_access *access, size_t index, uint64_t id,
                     const struct open_operation *operation)
{
    assert(index < sizeof(access->expected_id) / sizeof(access->expected_id[0]));
    access->expected_id[index] = id;
    if (id == NODE_ABSENT)
        return;
    struct open_operation *planned = &access->operations[access->planned_count++];
    *planned = *operation;
    planned->key = (struct file_key){ .share = access->share, .file_id = id };
}

/* --- begin --- */

static void admitted(void *arg, enum err err);

/* Open the next, or go when all are. */
static void open_next(struct node_access *access)
{
    if (access->begun_count == access->planned_count) {
        access->go(access);
        return;
    }
    struct open_operation *operation = &access->operations[access->begun_count];
    operation->wait.done = admitted;
    operation->wait.arg = access;
    open_table_begin(access->service->opens, operation);
}

static void close_all(struct node_access *access)
{
    while (access->begun_count > 0)
        open_table_end(access->service->opens, &access->operations[--access->begun_count]);
}

static void admitted(void *arg, enum err err)
{
    struct node_access *access = arg;
    if (err == OK) {
        access->begun_count++;
        open_next(access);
        return;
    }
    close_all(access);
    access->refuse(access, err);
}

/* Two operations that want the same files begin them in the same order. */
static void sort_operations(struct node_access *access)
{
    struct open_operation *operations = access->operations;
    if (access->planned_count == 2 &&
        file_key_compare(&operations[0].key, &operations[1].key) > 0) {
        const struct open_operation first = operations[0];
        operations[0] = operations[1];
        operations[1] = first;
    }
}

static void try_once(struct node_access *access)
{
    access->planned_count = access->begun_count = 0;
    if (!access->is_checked) {
        access->go(access);
        return;
    }
    const enum err err = access->plan(access);
    if (err != OK) {
        access->refuse(access, err);
        return;
    }
    sort_operations(access);
    open_next(access);
}

void node_access_begin(struct service *service, struct node_access *access, bool is_admitted)
{
    access->service = service;
    access->is_checked = service->opens != NULL && !is_admitted;
    access->attempts = 1;
    try_once(access);
}

/* --- end --- */

bool node_access_end(struct node_access *access, enum err err)
{
    close_all(access);
    if (err != ERR_NODE_MOVED || access->attempts == NODE_ATTEMPTS_MAX)
        return false;
    access->attempts++;
    try_once(access);
    return true;
}

enum err node_access_check(const struct node_access *access, size_t index, uint64_t id)
{
    return !access->is_checked || access->expected_id[index] == id ? OK : ERR_NODE_MOVED;
}
