/*
 * queue_sweep.h - what the sweeper does for queues (sweeper.h).
 *
 * Of a deleted queue it removes all rows.  In a queue that is there:
 *   - messages of earlier generations, which were cleared
 *   - messages at the beginning of the queue that have expired
 *   - in thorough passes all that have expired, but only if the queue's expiry floor
 *     (message_row.h) says that there may be some; the floor is raised on the way
 *
 * The partition of a queue is marked while there are messages that expire or were cleared.
 */
#ifndef SERVICE_QUEUE_QUEUE_SWEEP_H
#define SERVICE_QUEUE_QUEUE_SWEEP_H

#include <stdint.h>

#include "base/error.h"
#include "service/sweeper.h"

/* Empty the partition of a deleted queue.  ERR_SHUTTING_DOWN when there is no time to finish. */
MUST_CHECK enum err queue_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation);

/* Look after a queue that is there. */
MUST_CHECK enum err queue_sweep_marked(const struct sweep *sweep, struct slice partition);

#endif
