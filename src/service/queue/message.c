/*
 * message.c - see message.h.  Each change is a decision function (`..._decide`) that runs inside
 * one update of the partition of the queue's messages.
 *
 * The queue is looked up before the update, in another partition.  If it is deleted in between, the
 * change counts as having come first; once the sweeper has closed the partition it is refused.
 */
#include "service/queue/message.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "service/queue/queue_name.h"
#include "service/sweeper.h"

/* --- rows --- */

static int64_t after_sec(int64_t now, int64_t span_sec)
{
    return span_sec > (CLOCK_TICKS_MAX - now) / CLOCK_TICKS_PER_SEC
               ? CLOCK_TICKS_MAX
               : now + span_sec * CLOCK_TICKS_PER_SEC;
}

static void put_row(struct change *change, const struct queue_head *head,
                    const struct message *message)
{
    struct arena *arena = change_arena(change);
    assert(message->visible_at >= change_now(change));
    change_put(change, message_key(arena, head->generation, message->visible_at, &message->id),
               message_encode(arena, message));
}

static void delete_row(struct change *change, const struct queue_head *head,
                       const struct message *message)
{
    struct arena *arena = change_arena(change);
    change_delete(change, message_key(arena, head->generation, message->visible_at, &message->id));
}

static void put_text(struct change *change, const struct queue_head *head,
                     const struct message *message, struct slice text)
{
    struct arena *arena = change_arena(change);
    change_put(change, message_text_key(arena, head->generation, &message->id),
               message_text_encode(arena, text));
}

/* The text of a message, in the arena of whoever asked. */
static enum err get_text(struct change *change, const struct queue_head *head, struct arena *arena,
                         struct message *message)
{
    struct slice row;
    enum err err = change_get(
        change, message_text_key(change_arena(change), head->generation, &message->id), &row);
    if (err == ERR_NOT_FOUND)
        err = CORRUPT("a message has no text");
    if (err == OK)
        err = message_text_decode(row, &message->text);
    if (err == OK)
        message->text = arena_copy(arena, message->text);
    return err;
}

void message_remove(struct change *change, struct queue_head *head, const struct message *message)
{
    delete_row(change, head, message);
    change_delete(change, message_text_key(change_arena(change), head->generation, &message->id));
    if (head->count > 0) /* it is, unless the row is damaged */
        head->count--;
}

/* --- what can be seen --- */

/* The messages at the beginning of a queue. */
struct due {
    size_t live_max;
    size_t live_count;
    struct message *live; /* room for live_max */

    size_t expired_max; /* SIZE_MAX: they are passed by, and not noted */
    size_t expired_count;
    struct message *expired; /* room for expired_max, or NULL */

    int64_t reached; /* all before this instant, and all that were met, are in the lists */
    bool exhausted;  /* all that can be seen now */
};

/* Read messages that can be seen `now` until a list is full.  The cursor ends behind them. */
static enum err read_due(struct cursor *cursor, int64_t now, struct due *due)
{
    while (due->live_count < due->live_max && due->expired_count < due->expired_max) {
        struct slice key;
        struct slice row;
        struct message message;
        enum err err = cursor_next(cursor, &key, &row);
        if (err == ERR_NOT_FOUND) {
            due->reached = now;
            due->exhausted = true;
            return OK;
        }
        if (err == OK)
            err = message_decode(key, row, NULL, &message);
        if (err != OK)
            return err;
        due->reached = message.visible_at;
        if (!message_is_expired(&message, now))
            due->live[due->live_count++] = message;
        else if (due->expired != NULL)
            due->expired[due->expired_count++] = message;
        else
            due->expired_count++;
    }
    return OK;
}

/* The same in a change.  Rows that were removed lie before the head and behind the time, mostly:
   neither are passed by. */
static enum err change_read_due(struct change *change, const struct queue_head *head,
                                struct due *due)
{
    struct arena *arena = change_arena(change);
    const int64_t now = change_now(change);
    struct cursor *cursor = change_scan_until(change, message_prefix(arena, head->generation),
                                              message_key_from(arena, head->generation, head->head),
                                              message_key_from(arena, head->generation, now + 1));
    const enum err err = read_due(cursor, now, due);
    cursor_free(cursor);
    return err;
}

/* --- put --- */

static int64_t earlier(int64_t floor, int64_t expires)
{
    return floor == 0 || expires < floor ? expires : floor;
}

/* The partition of a queue whose messages expire is marked, so that the sweeper comes by. */
static void note_expiry(struct change *change, struct queue_head *head, int64_t expires)
{
    if (expires == 0)
        return;
    head->expiry_floor = earlier(head->expiry_floor, expires);
    head->recent_floor = earlier(head->recent_floor, expires);
    if (!head->is_marked)
        change_mark(change);
    head->is_marked = true;
}

static enum err put_decide(struct change *change, void *arg)
{
    struct message_put *request = arg;
    struct queue_head head;
    const enum err err = queue_head_get(change, &head);
    if (err != OK)
        return err;
    const int64_t now = change_now(change);
    const struct message message = {
        .id = message_id_make(now, &request->random),
        .visible_at = after_sec(now, request->visibility_sec),
        .expires = request->ttl_sec == MESSAGE_NEVER_EXPIRES ? 0 : after_sec(now, request->ttl_sec),
        .nonce = request->nonce,
    };
    put_row(change, &head, &message);
    put_text(change, &head, &message, request->text);
    head.count++;
    note_expiry(change, &head, message.expires);
    queue_head_put(change, &head);
    request->message = message;
    return OK;
}

/* Find the queue and start the change; ERR_QUEUE_NOT_FOUND is told to the caller. */
static void start(struct service *service, struct service_change *base,
                  const struct queue_name *name, change_fn *decide)
{
    struct slice partition;
    const enum err err = queue_find_messages(service, base->arena, name, &partition);
    if (err != OK)
        service_refuse(base, err);
    else
        service_update(service, base, partition, decide);
}

void message_put(struct service *service, struct message_put *change)
{
    assert(change->ttl_sec > 0 || change->ttl_sec == MESSAGE_NEVER_EXPIRES);
    assert(change->text.len <= LIMIT_MESSAGE_BYTES);
    start(service, &change->base, &change->name, put_decide);
}

/* --- get --- */

/* Hand out what was read: the rows move to the time at which they can be seen again. */
static enum err hand_out(struct change *change, struct message_get *request,
                         const struct queue_head *head, const struct due *due)
{
    for (size_t i = 0; i < due->live_count; i++) {
        struct message *message = &request->messages[i];
        *message = due->live[i];
        const enum err err = get_text(change, head, request->base.arena, message);
        if (err != OK)
            return err;
        delete_row(change, head, message);
        message->visible_at = after_sec(change_now(change), request->visibility_sec);
        message->nonce = request->nonces[i];
        message->dequeue_count++;
        put_row(change, head, message);
    }
    request->count = due->live_count;
    return OK;
}

/* Whether the head lies so far behind that it is worth a write of its own. */
static bool head_lags(const struct queue_head *head, const struct due *due)
{
    return due->reached - head->head >= MESSAGES_HEAD_LAG_SEC * CLOCK_TICKS_PER_SEC;
}

static enum err get_decide(struct change *change, void *arg)
{
    struct message_get *request = arg;
    request->count = 0;
    request->passed_count = 0;
    request->again = false;
    struct queue_head head;
    enum err err = queue_head_get(change, &head);
    if (err != OK || head.count == 0)
        return err;
    struct message live[LIMIT_MESSAGES_MAX];
    struct message expired[MESSAGES_EXPIRED_AT_ONCE];
    struct due due = {
        .live_max = request->max,
        .live = live,
        .expired_max = MESSAGES_EXPIRED_AT_ONCE,
        .expired = expired,
    };
    err = change_read_due(change, &head, &due);
    if (err == OK)
        err = hand_out(change, request, &head, &due);
    if (err != OK)
        return err;
    request->passed_count = due.live_count + due.expired_count;
    request->again = due.live_count == 0 && !due.exhausted;
    for (size_t i = 0; i < due.expired_count; i++)
        message_remove(change, &head, &expired[i]);
    if (request->passed_count > 0 || head_lags(&head, &due)) {
        head.head = due.reached;
        queue_head_put(change, &head);
    }
    return OK;
}

static void get_start(struct message_get *change)
{
    partition_update(change->base.service->store, &change->base.update);
}

/* Expired messages are removed a batch at a time until there is an answer. */
static void get_done(void *arg, enum err err)
{
    struct message_get *change = arg;
    if (err == OK && change->again)
        get_start(change);
    else
        change->base.done(change->base.arg, err);
}

void message_get(struct service *service, struct message_get *change)
{
    assert(change->max > 0 && change->max <= LIMIT_MESSAGES_MAX);
    struct slice partition;
    struct queue_head head;
    enum err err = queue_find_messages(service, change->base.arena, &change->name, &partition);
    if (err == OK)
        err = queue_head_read(service, change->base.arena, partition, &head);
    change->count = 0;
    change->passed_count = 0;
    /* Clients poll empty queues; that is answered from what is committed, without an update. */
    if (err != OK || head.count == 0) {
        change->base.done(change->base.arg, err);
        return;
    }
    change->base.service = service;
    change->base.update = (struct partition_update){
        .partition = partition,
        .decide = get_decide,
        .arg = change,
        .done = get_done,
    };
    get_start(change);
}

/* --- peek --- */

static enum err view_get_text(struct partition_view *view, struct arena *arena, uint64_t generation,
                              struct message *message)
{
    struct slice row;
    enum err err =
        partition_view_get(view, arena, message_text_key(arena, generation, &message->id), &row);
    if (err == ERR_NOT_FOUND)
        err = CORRUPT("a message has no text");
    return err == OK ? message_text_decode(row, &message->text) : err;
}

static enum err peek_in_view(struct partition_view *view, struct arena *arena, int64_t now,
                             struct due *due)
{
    struct slice row;
    struct queue_head head = { 0 };
    enum err err = partition_view_get(view, arena, queue_head_key(), &row);
    if (err == OK)
        err = queue_head_decode(row, &head);
    if (err != OK || head.count == 0)
        return err == ERR_NOT_FOUND ? OK : err;
    struct cursor *cursor =
        partition_view_scan_until(view, message_prefix(arena, head.generation),
                                  message_key_from(arena, head.generation, head.head),
                                  message_key_from(arena, head.generation, now + 1));
    err = read_due(cursor, now, due);
    cursor_free(cursor);
    for (size_t i = 0; err == OK && i < due->live_count; i++)
        err = view_get_text(view, arena, head.generation, &due->live[i]);
    return err;
}

enum err message_peek(struct service *service, struct arena *arena, const struct queue_name *name,
                      size_t max, struct message *messages, size_t *count)
{
    struct slice partition;
    enum err err = queue_find_messages(service, arena, name, &partition);
    if (err != OK)
        return err;
    struct due due = { .live_max = max, .live = messages, .expired_max = SIZE_MAX };
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    /* The time is read behind the view's opening: what the view shows was put before it. */
    err = peek_in_view(&view, arena, clock_now(service->clock), &due);
    partition_view_close(&view);
    *count = due.live_count;
    if (due.expired_count >= MESSAGES_EXPIRED_AT_ONCE)
        sweeper_wake(service->sweeper);
    return err;
}

/* --- update and delete --- */

/* The message a receipt is for, or which error it is. */
static enum err get_received(struct change *change, const struct message_change *request,
                             const struct queue_head *head, struct message *message)
{
    struct arena *arena = change_arena(change);
    const struct slice key =
        message_key(arena, head->generation, request->receipt.visible_at, &request->id);
    struct slice row;
    enum err err = change_get(change, key, &row);
    if (err == ERR_NOT_FOUND) {
        err = change_get(change, message_text_key(arena, head->generation, &request->id), &row);
        return err == ERR_NOT_FOUND ? ERR_MESSAGE_NOT_FOUND
               : err == OK          ? ERR_POP_RECEIPT_MISMATCH
                                    : err;
    }
    if (err == OK)
        err = message_decode(key, row, NULL, message);
    if (err != OK)
        return err;
    if (message_is_expired(message, change_now(change)))
        return ERR_MESSAGE_NOT_FOUND;
    return receipt_matches(&request->receipt, message) ? OK : ERR_POP_RECEIPT_MISMATCH;
}

static enum err update_decide(struct change *change, void *arg)
{
    struct message_change *request = arg;
    struct queue_head head;
    struct message message;
    enum err err = queue_head_get(change, &head);
    if (err == OK)
        err = get_received(change, request, &head, &message);
    if (err != OK)
        return err;
    const int64_t visible_at = after_sec(change_now(change), request->visibility_sec);
    if (message.expires != 0 && visible_at > message.expires)
        return ERR_VISIBILITY_PAST_EXPIRY;
    delete_row(change, &head, &message);
    message.visible_at = visible_at;
    message.nonce = request->nonce;
    put_row(change, &head, &message);
    if (request->has_text)
        put_text(change, &head, &message, request->text);
    request->message = message;
    return OK;
}

void message_update(struct service *service, struct message_change *change)
{
    assert(change->text.len <= LIMIT_MESSAGE_BYTES);
    start(service, &change->base, &change->name, update_decide);
}

static enum err delete_decide(struct change *change, void *arg)
{
    const struct message_change *request = arg;
    struct queue_head head;
    struct message message;
    enum err err = queue_head_get(change, &head);
    if (err == OK)
        err = get_received(change, request, &head, &message);
    if (err != OK)
        return err;
    message_remove(change, &head, &message);
    queue_head_put(change, &head);
    return OK;
}

void message_delete(struct service *service, struct message_change *change)
{
    start(service, &change->base, &change->name, delete_decide);
}

/* --- clear --- */

static enum err clear_decide(struct change *change, void *arg)
{
    (void)arg;
    struct queue_head head;
    const enum err err = queue_head_get(change, &head);
    if (err != OK || head.count == 0)
        return err;
    head = (struct queue_head){
        .generation = head.generation + 1,
        .swept = head.swept,
        .head = change_now(change),
        .is_marked = head.is_marked,
    };
    if (!head.is_marked)
        change_mark(change);
    head.is_marked = true;
    queue_head_put(change, &head);
    return OK;
}

static void clear_settle(struct service_change *base, enum err err)
{
    if (err == OK)
        sweeper_wake(base->service->sweeper);
}

void message_clear(struct service *service, struct message_clear *change)
{
    change->base.settle = clear_settle;
    start(service, &change->base, &change->name, clear_decide);
}

/* --- for the sweeper --- */

enum err message_expire_first(struct change *change, bool *done)
{
    struct queue_head head;
    *done = true;
    enum err err = queue_head_get(change, &head);
    if (err != OK || head.count == 0)
        return err;
    struct message live;
    struct message expired[MESSAGES_EXPIRED_AT_ONCE];
    struct due due = {
        .live_max = 1,
        .live = &live,
        .expired_max = MESSAGES_EXPIRED_AT_ONCE,
        .expired = expired,
    };
    err = change_read_due(change, &head, &due);
    if (err != OK || due.expired_count == 0)
        return err;
    for (size_t i = 0; i < due.expired_count; i++)
        message_remove(change, &head, &expired[i]);
    head.head = due.reached;
    queue_head_put(change, &head);
    *done = due.exhausted || due.live_count > 0;
    return OK;
}
