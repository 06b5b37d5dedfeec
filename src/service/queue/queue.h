/*
 * queue.h - queues: what the operations on them mean.
 *
 * A queue's record is a row of its account's partition; its messages are in a partition of their
 * own (queue_name.h).  Deleting a queue removes the row and leaves a note for the sweeper, so it
 * takes the same time whatever the queue holds, and the name is free at once.
 *
 * There are no ETags, conditions or leases here: the last writer wins.
 */
#ifndef SERVICE_QUEUE_QUEUE_H
#define SERVICE_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/access_policy.h"
#include "service/metadata.h"
#include "service/service.h"

/* A queue's record. */
struct queue {
    uint64_t incarnation; /* the tick it was made at; names its partition */
    struct metadata metadata;
    struct access_policies policies;
};

/* The record's stored form.  Decoded slices point into the row.  ERR_CORRUPT. */
struct slice queue_encode(struct arena *arena, const struct queue *queue);
MUST_CHECK enum err queue_decode(struct arena *arena, struct slice row, struct queue *queue);

/* Which queue, under which name. */
struct queue_name {
    struct slice account;
    struct slice queue;
};

/* The naming rules of queues: ERR_RESOURCE_NAME_LENGTH, ERR_INVALID_RESOURCE_NAME. */
MUST_CHECK enum err queue_name_check(struct slice name);

/* --- reads --- */

/* ERR_QUEUE_NOT_FOUND */
MUST_CHECK enum err queue_get(struct service *service, struct arena *arena,
                              const struct queue_name *name, struct queue *queue);

/* The same, and how many messages there are: visible or not, and those that have expired until
   they are removed. */
MUST_CHECK enum err queue_get_count(struct service *service, struct arena *arena,
                                    const struct queue_name *name, struct queue *queue,
                                    uint64_t *message_count);

/* The partition of a queue's messages.  ERR_QUEUE_NOT_FOUND. */
MUST_CHECK enum err queue_find_messages(struct service *service, struct arena *arena,
                                        const struct queue_name *name, struct slice *partition);

struct queue_list_request {
    struct slice account;
    struct slice prefix;
    struct slice from; /* the first name to list, or empty */
    size_t results_max;
    /* Called for each queue; false ends the page after it.  The record is valid during the call. */
    bool (*emit)(void *arg, struct slice name, const struct queue *queue);
    void *arg;
};

/* `*next` is the name the next page begins with, in the arena; empty when there is none. */
MUST_CHECK enum err queue_list(struct service *service, struct arena *arena,
                               const struct queue_list_request *request, struct slice *next);

/* --- changes; see service/service.h for their life --- */

struct queue_change {
    struct service_change base;
    struct queue_name name;
    struct metadata metadata;        /* queue_create, queue_set_metadata */
    struct access_policies policies; /* queue_set_acl */
    bool existed; /* result of queue_create: there was such a queue, with the same metadata */
};

/* ERR_QUEUE_EXISTS: with other metadata.  Names are the same whatever their case, values are
   not; order does not matter. */
void queue_create(struct service *service, struct queue_change *change);

/* ERR_QUEUE_NOT_FOUND */
void queue_set_metadata(struct service *service, struct queue_change *change);

/* Replace all policies.  ERR_QUEUE_NOT_FOUND. */
void queue_set_acl(struct service *service, struct queue_change *change);

/* ERR_QUEUE_NOT_FOUND */
void queue_delete(struct service *service, struct queue_change *change);

#endif
