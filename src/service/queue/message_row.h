/*
 * message_row.h - the rows of a queue's partition (queue_name.h), and pop receipts.
 *
 * The head says what is known of all messages of the queue:
 *
 *   generation   of the messages that are there; goes up when the queue is cleared
 *   swept        rows of generations before this one are gone; behind `generation` while the
 *                sweeper has work
 *   head         an instant: no message that is there has an earlier `visible_at`
 *   count        of the messages that are there, whether they can be seen or not
 *   expiry floor no message that is there expires before it; 0 if none expires
 *   recent floor the same for messages put since the sweeper last began to look at all of them
 *   marked       whether the partition is marked (partition.h)
 *
 * What keeps `head` true: a change raises it to `change_now` at most, and every message is written
 * with a `visible_at` of at least the `change_now` of its own change, which is later.  So Get
 * Messages begins its scan there, and does not pass by what was removed before.
 */
#ifndef SERVICE_QUEUE_MESSAGE_ROW_H
#define SERVICE_QUEUE_MESSAGE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/encoding.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/service.h"

struct queue_head {
    uint64_t generation;
    uint64_t swept;
    int64_t head;
    uint64_t count;
    int64_t expiry_floor;
    int64_t recent_floor;
    bool is_marked;
};

/* The stored form.  ERR_CORRUPT. */
struct slice queue_head_encode(struct arena *arena, const struct queue_head *head);
MUST_CHECK enum err queue_head_decode(struct slice row, struct queue_head *head);

/* The latest head of a partition; a queue that never had a message has one of zeroes. */
MUST_CHECK enum err queue_head_read(struct service *service, struct arena *arena,
                                    struct slice partition, struct queue_head *head);

/* The same in a change.  ERR_QUEUE_NOT_FOUND if the partition is closed. */
MUST_CHECK enum err queue_head_get(struct change *change, struct queue_head *head);
void queue_head_put(struct change *change, const struct queue_head *head);

/* A message.  `id` and `visible_at` are in its key. */
struct message {
    struct uuid id;
    int64_t visible_at;
    int64_t expires; /* 0: never */
    uint64_t dequeue_count;
    struct uuid nonce; /* what makes the receipt of its last delivery, or of its put, a secret */
    struct slice text; /* where an operation gives one */
};

/* When it was put. */
int64_t message_inserted(const struct message *message);

static inline bool message_is_expired(const struct message *message, int64_t now)
{
    return message->expires != 0 && message->expires <= now;
}

/* The stored form.  `generation` may be NULL.  ERR_CORRUPT. */
struct slice message_encode(struct arena *arena, const struct message *message);
MUST_CHECK enum err message_decode(struct slice key, struct slice row, uint64_t *generation,
                                   struct message *message);

/* The stored form of a text, which may be empty; the decoded slice points into the row. */
struct slice message_text_encode(struct arena *arena, struct slice text);
MUST_CHECK enum err message_text_decode(struct slice row, struct slice *text);

/* --- pop receipts --- */

/*
 * A receipt says where the message's row is and proves that its holder was given the message:
 *
 *   0   visible at (8)
 *   8   nonce (16), of the delivery
 *
 * in base64.
 */
struct receipt {
    int64_t visible_at;
    struct uuid nonce;
};

enum {
    RECEIPT_BYTES = 8 + 16,
    RECEIPT_TEXT_LEN = BASE64_LEN(RECEIPT_BYTES), /* without the NUL */
};

/* The receipt of the message's last delivery. */
void receipt_format(const struct message *message, char text[RECEIPT_TEXT_LEN + 1]);

/* ERR_MALFORMED: no receipt is written so.  A space is taken for a plus sign. */
MUST_CHECK enum err receipt_parse(struct slice text, struct receipt *receipt);

/* Whether it is the receipt of the message's last delivery.  How long it takes says nothing about
   the nonce. */
bool receipt_matches(const struct receipt *receipt, const struct message *message);

#endif
