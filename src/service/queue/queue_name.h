/*
 * queue_name.h - names of queues, and where queues and their messages are kept.
 *
 * Partitions of the queue service:
 *
 *   'A' account                                    the account: see account_partition.h
 *       'q' queue name                             queue record (queue.h)
 *   'Q' incarnation (8) shard (2)                  messages of one queue
 *       'h'                                        the head: what is known of all messages
 *       't' generation (8) id (16)                 the text of a message
 *       'v' generation (8) visible at (8) id (16)  a message, by the tick from which it is visible
 *       'x'                                        closed: the queue is deleted
 *
 * The order of 'v' keys is the order of delivery.  A message's text stays where it is while the
 * message is handed out and comes back; only its 'v' row moves.
 *
 * A message's id is a GUID whose first eight bytes are the tick of the put, so ids are unique
 * without a counter, messages of one instant (a batch that was handed out together) stay in the
 * order they were put in, and neighbours in time are neighbours in the store.
 *
 * Clearing a queue begins a new generation.  Rows of earlier ones are garbage; the sweeper removes
 * them (queue_sweep.h).
 *
 * Numbers are big-endian.
 */
#ifndef SERVICE_QUEUE_QUEUE_NAME_H
#define SERVICE_QUEUE_QUEUE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/account_partition.h"

/* Partition ids and keys, made in the arena. */
static inline struct slice queue_key(struct arena *arena, struct slice queue)
{
    return resource_key(arena, RESOURCE_QUEUE, queue);
}
static inline struct slice message_partition(struct arena *arena, uint64_t incarnation)
{
    return resource_partition(arena, 'Q', incarnation);
}
struct slice queue_head_key(void);
struct slice message_key(struct arena *arena, uint64_t generation, int64_t visible_at,
                         const struct uuid *id);
struct slice message_text_key(struct arena *arena, uint64_t generation, const struct uuid *id);

/* The beginning of all 'v' keys of a generation, and the least key of one that is visible at or
   after an instant. */
struct slice message_prefix(struct arena *arena, uint64_t generation);
struct slice message_key_from(struct arena *arena, uint64_t generation, int64_t visible_at);

/* The beginning of all 't' keys of a generation. */
struct slice message_text_prefix(struct arena *arena, uint64_t generation);

/* What a key says; ERR_CORRUPT if it is no such key. */
MUST_CHECK enum err message_key_decode(struct slice key, uint64_t *generation, int64_t *visible_at,
                                       struct uuid *id);
MUST_CHECK enum err message_text_key_decode(struct slice key, uint64_t *generation,
                                            struct uuid *id);

/* Whether a partition is one of messages. */
bool is_message_partition(struct slice partition);

/* The id of a message put at `tick`; eight bytes of `random` are used. */
struct uuid message_id_make(int64_t tick, const struct uuid *random);

/* The tick of the put that an id names. */
int64_t message_id_tick(const struct uuid *id);

#endif
