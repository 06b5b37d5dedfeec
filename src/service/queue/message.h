/*
 * message.h - messages: put, get, peek, update, delete, clear.
 *
 * A message that is handed out is not seen by anybody else until its time comes, by which it sorts
 * (queue_name.h); nothing happens at that time.  Whoever has the receipt of the last delivery may
 * update or delete the message, also after that time, until it is delivered again.
 *
 * A message that has expired is gone for everybody at once.  Its rows are removed by the first Get
 * Messages that meets it, or by the sweeper.
 *
 * Times are counted from the instant of the change.  What a client may ask for (limits.h) is
 * checked by the caller.
 *
 * Errors of all: ERR_QUEUE_NOT_FOUND.
 */
#ifndef SERVICE_QUEUE_MESSAGE_H
#define SERVICE_QUEUE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/limits.h"
#include "service/queue/message_row.h"
#include "service/queue/queue.h"
#include "service/service.h"

enum {
    /* Messages that have expired and are removed by one change: enough to be quick, few enough
       that another client's change does not wait noticeably behind it. */
    MESSAGES_EXPIRED_AT_ONCE = 256,

    /* How far the head may lie behind the time before a Get Messages that finds nothing moves it.
       Between the two a scan may pass by rows that were removed. */
    MESSAGES_HEAD_LAG_SEC = 1,

    MESSAGE_NEVER_EXPIRES = -1,
};

struct message_put {
    struct service_change base;
    struct queue_name name;
    struct slice text;
    int64_t visibility_sec; /* until it can be seen */
    int64_t ttl_sec;        /* more than 0, or MESSAGE_NEVER_EXPIRES */
    struct uuid random;     /* for the id */
    struct uuid nonce;      /* for the receipt; unguessable */
    struct message message; /* result, without the text */
};

void message_put(struct service *service, struct message_put *change);

/*
 * Hand out up to `max` messages that can be seen, in their order.  There may be fewer although more
 * are there, but none only if there is none.
 */
struct message_get {
    struct service_change base;
    struct queue_name name;
    size_t max; /* 1 to LIMIT_MESSAGES_MAX */
    int64_t visibility_sec;
    struct uuid
        nonces[LIMIT_MESSAGES_MAX]; /* the first `max` are used; unguessable, no two alike */

    /* results; texts are in the arena */
    size_t count;
    struct message messages[LIMIT_MESSAGES_MAX];
    size_t passed_count; /* rows that were looked at, for tests */

    /* for the service */
    bool again; /* only expired messages were met so far */
};

void message_get(struct service *service, struct message_get *change);

/* The messages that message_get would hand out, without handing them out; `messages` has room for
   `max`.  Texts are in the arena. */
MUST_CHECK enum err message_peek(struct service *service, struct arena *arena,
                                 const struct queue_name *name, size_t max,
                                 struct message *messages, size_t *count);

/* Update and delete. */
struct message_change {
    struct service_change base;
    struct queue_name name;
    struct uuid id;
    struct receipt receipt;

    /* message_update */
    int64_t visibility_sec;
    bool has_text; /* false: the text stays */
    struct slice text;
    struct uuid nonce;      /* for the new receipt; unguessable */
    struct message message; /* result, without the text */
};

/*
 *   ERR_MESSAGE_NOT_FOUND        there is no such message, or it has expired
 *   ERR_POP_RECEIPT_MISMATCH     there is, but the receipt is not that of its last delivery
 *   ERR_VISIBILITY_PAST_EXPIRY   it would expire before it can be seen again
 */
void message_update(struct service *service, struct message_change *change);

/* The first two of these errors. */
void message_delete(struct service *service, struct message_change *change);

/* Remove all messages, however many there are. */
struct message_clear {
    struct service_change base;
    struct queue_name name;
};

void message_clear(struct service *service, struct message_clear *change);

/* --- for the sweeper --- */

/* Within a change: remove a message that is there and update the head, which the caller writes. */
void message_remove(struct change *change, struct queue_head *head, const struct message *message);

/* Within a change: remove messages that have expired from the beginning of the queue, at most
   MESSAGES_EXPIRED_AT_ONCE.  `*done` is false if there may be more. */
MUST_CHECK enum err message_expire_first(struct change *change, bool *done);

#endif
