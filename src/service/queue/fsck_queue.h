/*
 * fsck_queue.h - the part of the check of a store (blob/fsck.h) that is about queues.
 *
 * The rows of the accounts come first, then the partitions of messages.  What the sweeper will
 * remove by itself is no fault: deleted queues, messages that were cleared or have expired.
 *
 * Memory: 24 bytes for each message of one queue at a time.
 */
#ifndef SERVICE_QUEUE_FSCK_QUEUE_H
#define SERVICE_QUEUE_FSCK_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/repair.h"

struct fsck_queue;

/* All zero bytes but for what the caller fills. */
struct fsck_queues {
    /* filled by the caller */
    struct partition_store *store;
    void (*report)(void *arg, const char *words); /* called for each finding */
    void *arg;
    struct repair_list *repairs; /* or NULL */

    /* results */
    uint64_t queue_count;
    uint64_t message_count;
    uint64_t deleted_count; /* queues that are to be swept */

    /* for the check */
    struct arena arena; /* of names */
    struct fsck_queue *queues;
    size_t count;
    size_t capacity;
};

/* A row of an account: of a queue, or of one that was deleted.  `account` and `name` are as they
   are to be printed; `key` and `row` as they are stored. */
void fsck_queue_record(struct fsck_queues *queues, struct slice account, struct slice name,
                       struct slice key, struct slice row);
void fsck_queue_deleted(struct fsck_queues *queues, struct slice account, uint64_t incarnation);

/* All rows of all accounts were seen. */
void fsck_queue_sort(struct fsck_queues *queues);

/* A partition of messages. */
void fsck_queue_partition(struct fsck_queues *queues, struct slice partition);

void fsck_queue_release(struct fsck_queues *queues);

#endif
