/*
 * queues.c - the world of the queue service: queues, messages, receipts and time.
 *
 * The model of a queue is a list of messages.  One that has expired stays in it for a while,
 * marked: the service may have removed it or not, which can be told by a count of messages and by
 * the answer to a receipt that was wrong anyway.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "service/queue/message.h"
#include "service/queue/queue.h"

enum {
    QUEUE_NAMES = 2,
    QUEUES_MAX = 64,
    MESSAGES_MAX = 700,
    MESSAGES_MANY = 120, /* from here on more are taken than put */
    TEXTS = 1000,
};

static const char *const QUEUE_TEXTS[QUEUE_NAMES] = { "queue-a", "queue-b" };

enum kind {
    QUEUE_CREATE,
    QUEUE_SET_METADATA,
    QUEUE_DELETE,
    MESSAGE_PUT,
    MESSAGE_GET,
    MESSAGE_UPDATE,
    MESSAGE_DELETE,
    MESSAGE_CLEAR,
};

struct model_message {
    struct uuid id;
    int64_t visible_at;
    int64_t expires;
    uint64_t dequeue_count;
    struct uuid nonce;
    unsigned text;
    bool has_expired;
    struct receipt stale; /* that of an earlier delivery, or nil */
};

struct model_queue {
    bool in_use;
    unsigned name;
    bool is_deleted;
    bool is_closed;
    unsigned use_count;
    unsigned metadata;
    size_t count;
    struct model_message messages[MESSAGES_MAX];
};

struct model_queues {
    struct model_queue queues[QUEUES_MAX];
    struct uuid gone_id; /* of a message that was removed */
    struct receipt gone;
};

struct asked {
    enum kind kind;
    unsigned queue;
    unsigned metadata;
    unsigned text;
    bool is_stale; /* the receipt was not the last one when it was chosen */
    union {
        struct queue_change queue_change;
        struct message_put put;
        struct message_get get;
        struct message_change change;
        struct message_clear clear;
    } request;
};

static struct model_queues *model_of(struct sim *sim)
{
    return sim->state;
}

static struct model_queue *find_queue(struct model_queues *model, unsigned name)
{
    for (size_t i = 0; i < QUEUES_MAX; i++) {
        struct model_queue *queue = &model->queues[i];
        if (queue->in_use && !queue->is_deleted && queue->name == name)
            return queue;
    }
    return NULL;
}

static struct queue_name queue_called(unsigned name)
{
    return (struct queue_name){ slice_of(SIM_ACCOUNT), slice_of(QUEUE_TEXTS[name]) };
}

static void let_go(struct model_queue *queue)
{
    queue->use_count--;
    if (queue->is_deleted && queue->use_count == 0)
        memset(queue, 0, sizeof(*queue));
}

/* --- starting --- */

static enum kind choose_kind(struct sim *sim, const struct model_queue *queue)
{
    const uint32_t choice = sim_below(sim, 100);
    if (queue == NULL && choice < 50)
        return QUEUE_CREATE;
    if (choice < 2)
        return QUEUE_CREATE;
    if (choice < 4)
        return QUEUE_SET_METADATA;
    if (choice < 5)
        return sim_chance(sim, 50) ? QUEUE_DELETE : MESSAGE_CLEAR;
    const bool is_full = queue != NULL && queue->count > MESSAGES_MANY;
    if (choice < 40 && !is_full)
        return MESSAGE_PUT;
    if (choice < 65)
        return MESSAGE_GET;
    return choice < 80 ? MESSAGE_UPDATE : MESSAGE_DELETE;
}

static void start_queue(struct sim *sim, struct operation *operation, struct asked *asked)
{
    static const char *const words[] = { "create", "set metadata", "delete" };
    struct queue_change *request = &asked->request.queue_change;
    asked->metadata = sim_below(sim, 3);
    sim_describe(operation, "%s: %s %u", QUEUE_TEXTS[asked->queue], words[asked->kind],
                 asked->metadata);
    sim_bind(operation, &request->base);
    request->name = queue_called(asked->queue);
    request->metadata = model_metadata(&operation->arena, asked->metadata);
    if (asked->kind == QUEUE_CREATE)
        queue_create(&sim->service, request);
    else if (asked->kind == QUEUE_SET_METADATA)
        queue_set_metadata(&sim->service, request);
    else
        queue_delete(&sim->service, request);
}

static void start_put(struct sim *sim, struct operation *operation, struct asked *asked)
{
    static const int64_t spans[] = { 0, 0, 0, 1, 5, 30 };
    static const int64_t lives[] = { 31, 45, 60, 600, MESSAGE_NEVER_EXPIRES };
    struct message_put *request = &asked->request.put;
    asked->text = sim_below(sim, TEXTS);
    sim_bind(operation, &request->base);
    request->name = queue_called(asked->queue);
    request->text = arena_printf(&operation->arena, "text %u", asked->text);
    request->visibility_sec = spans[sim_below(sim, 6)];
    request->ttl_sec = lives[sim_below(sim, 5)];
    request->random = sim_uuid(sim);
    request->nonce = sim_uuid(sim);
    sim_describe(operation, "%s: put, visible in %d, for %d", QUEUE_TEXTS[asked->queue],
                 (int)request->visibility_sec, (int)request->ttl_sec);
    message_put(&sim->service, request);
}

static void start_get(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct message_get *request = &asked->request.get;
    sim_bind(operation, &request->base);
    request->name = queue_called(asked->queue);
    request->max = sim_chance(sim, 50) ? 1 : 1 + sim_below(sim, LIMIT_MESSAGES_MAX);
    request->visibility_sec = 1 + sim_below(sim, 40);
    for (size_t i = 0; i < request->max; i++)
        request->nonces[i] = sim_uuid(sim);
    sim_describe(operation, "%s: get %zu for %d", QUEUE_TEXTS[asked->queue], request->max,
                 (int)request->visibility_sec);
    message_get(&sim->service, request);
}

/* Which message, and by which receipt. */
static void choose_message(struct sim *sim, struct asked *asked, const struct model_queue *queue)
{
    struct message_change *request = &asked->request.change;
    request->id = model_of(sim)->gone_id;
    request->receipt = model_of(sim)->gone;
    if (queue == NULL || queue->count == 0 || sim_chance(sim, 3))
        return;
    const struct model_message *message = &queue->messages[sim_below(sim, (uint32_t)queue->count)];
    request->id = message->id;
    request->receipt = (struct receipt){ message->visible_at, message->nonce };
    if (sim_chance(sim, 15) && message->stale.visible_at != 0) {
        request->receipt = message->stale;
        asked->is_stale = true;
    } else if (sim_chance(sim, 3)) {
        request->receipt.nonce = sim_uuid(sim);
    }
}

static void start_change(struct sim *sim, struct operation *operation, struct asked *asked,
                         const struct model_queue *queue)
{
    struct message_change *request = &asked->request.change;
    choose_message(sim, asked, queue);
    sim_bind(operation, &request->base);
    request->name = queue_called(asked->queue);
    request->visibility_sec = sim_below(sim, 4) * 10;
    request->has_text = sim_chance(sim, 50);
    asked->text = sim_below(sim, TEXTS);
    request->text = arena_printf(&operation->arena, "text %u", asked->text);
    request->nonce = sim_uuid(sim);
    sim_describe(operation, "%s: %s%s", QUEUE_TEXTS[asked->queue],
                 asked->kind == MESSAGE_UPDATE ? "update" : "delete message",
                 asked->is_stale ? " by an old receipt" : "");
    if (asked->kind == MESSAGE_UPDATE)
        message_update(&sim->service, request);
    else
        message_delete(&sim->service, request);
}

static void start_clear(struct sim *sim, struct operation *operation, struct asked *asked)
{
    sim_describe(operation, "%s: clear", QUEUE_TEXTS[asked->queue]);
    sim_bind(operation, &asked->request.clear.base);
    asked->request.clear.name = queue_called(asked->queue);
    message_clear(&sim->service, &asked->request.clear);
}

static void queues_start(struct sim *sim, struct operation *operation)
{
    struct asked *asked = arena_alloc(&operation->arena, sizeof(*asked));
    asked->queue = sim_below(sim, QUEUE_NAMES);
    struct model_queue *queue = find_queue(model_of(sim), asked->queue);
    asked->kind = choose_kind(sim, queue);
    operation->request = asked;
    if (asked->kind <= QUEUE_DELETE) {
        start_queue(sim, operation, asked);
        return;
    }
    operation->target = queue;
    if (queue != NULL)
        queue->use_count++;
    if (asked->kind == MESSAGE_PUT)
        start_put(sim, operation, asked);
    else if (asked->kind == MESSAGE_GET)
        start_get(sim, operation, asked);
    else if (asked->kind == MESSAGE_CLEAR)
        start_clear(sim, operation, asked);
    else
        start_change(sim, operation, asked, queue);
}

/* --- the model --- */

static int compare_messages(const void *a, const void *b)
{
    const struct model_message *left = *(const struct model_message *const *)a;
    const struct model_message *right = *(const struct model_message *const *)b;
    if (left->visible_at != right->visible_at)
        return left->visible_at < right->visible_at ? -1 : 1;
    return memcmp(&left->id, &right->id, sizeof(left->id));
}

static bool is_live(const struct model_message *message, int64_t now)
{
    return !message->has_expired && (message->expires == 0 || message->expires > now);
}

/* The messages that can be seen, in the order of delivery. */
static size_t list_due(struct model_queue *queue, int64_t now, struct model_message **due)
{
    size_t count = 0;
    for (size_t i = 0; i < queue->count; i++)
        if (is_live(&queue->messages[i], now) && queue->messages[i].visible_at <= now)
            due[count++] = &queue->messages[i];
    qsort(due, count, sizeof(struct model_message *), compare_messages);
    return count;
}

static size_t live_count(const struct model_queue *queue, int64_t now)
{
    size_t count = 0;
    for (size_t i = 0; i < queue->count; i++)
        count += is_live(&queue->messages[i], now);
    return count;
}

static struct model_message *find_message(struct model_queue *queue, const struct uuid *id)
{
    for (size_t i = 0; i < queue->count; i++)
        if (uuid_equal(&queue->messages[i].id, id))
            return &queue->messages[i];
    return NULL;
}

static void remove_message(struct model_queue *queue, struct model_message *message)
{
    *message = queue->messages[--queue->count];
}

/* Forget messages that expired, when they are many. */
static void forget_expired(struct model_queue *queue)
{
    for (size_t i = queue->count; queue->count > MESSAGES_MAX / 2 && i-- > 0;)
        if (queue->messages[i].has_expired)
            remove_message(queue, &queue->messages[i]);
}

/* A change has happened at `now`: later ones are later, so what has expired never comes back. */
static void expire(struct model_queue *queue, int64_t now)
{
    for (size_t i = 0; i < queue->count; i++)
        if (!is_live(&queue->messages[i], now))
            queue->messages[i].has_expired = true;
    forget_expired(queue);
}

static void check_message(struct sim *sim, const char *object, const struct message *got,
                          const struct model_message *expected)
{
    char text[32];
    snprintf(text, sizeof(text), "text %u", expected->text);
    SIM_CHECK(sim, object, uuid_equal(&got->id, &expected->id));
    SIM_CHECK(sim, object, got->expires == expected->expires);
    SIM_CHECK(sim, object, got->dequeue_count == expected->dequeue_count);
    SIM_CHECK(sim, object, slice_is(got->text, text));
}

/* --- what happens --- */

static void finish_queue(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct model_queues *model = model_of(sim);
    const char *object = QUEUE_TEXTS[asked->queue];
    struct model_queue *queue = find_queue(model, asked->queue);
    if (asked->kind == QUEUE_CREATE) {
        const bool differs = queue != NULL && queue->metadata != asked->metadata;
        sim_expect(operation, object, differs ? ERR_QUEUE_EXISTS : OK);
        SIM_CHECK(sim, object, asked->request.queue_change.existed == (queue != NULL));
        if (queue != NULL)
            return;
        queue = model->queues;
        while (queue->in_use)
            queue++;
        assert(queue < model->queues + QUEUES_MAX);
        queue->in_use = true;
        queue->name = asked->queue;
        queue->metadata = asked->metadata;
        return;
    }
    sim_expect(operation, object, queue == NULL ? ERR_QUEUE_NOT_FOUND : OK);
    if (queue == NULL)
        return;
    if (asked->kind == QUEUE_SET_METADATA) {
        queue->metadata = asked->metadata;
        return;
    }
    queue->is_deleted = true;
    queue->use_count++;
    let_go(queue);
}

static void finish_put(struct sim *sim, struct operation *operation, struct asked *asked,
                       struct model_queue *queue)
{
    const struct message_put *request = &asked->request.put;
    const struct message *message = &request->message;
    const char *object = QUEUE_TEXTS[asked->queue];
    const int64_t now = operation->tick;
    sim_expect(operation, object, OK);
    SIM_CHECK(sim, object,
              message->visible_at == now + request->visibility_sec * CLOCK_TICKS_PER_SEC);
    SIM_CHECK(sim, object,
              message->expires == (request->ttl_sec == MESSAGE_NEVER_EXPIRES
                                       ? 0
                                       : now + request->ttl_sec * CLOCK_TICKS_PER_SEC));
    SIM_CHECK(sim, object, message_inserted(message) == now);
    assert(queue->count < MESSAGES_MAX);
    queue->messages[queue->count++] = (struct model_message){ .id = message->id,
                                                              .visible_at = message->visible_at,
                                                              .expires = message->expires,
                                                              .nonce = request->nonce,
                                                              .text = asked->text };
}

static void finish_get(struct sim *sim, struct operation *operation, struct asked *asked,
                       struct model_queue *queue)
{
    const struct message_get *request = &asked->request.get;
    const char *object = QUEUE_TEXTS[asked->queue];
    struct model_message *due[MESSAGES_MAX];
    sim_expect(operation, object, OK);
    if (operation->tick == 0) {
        /* Answered at once: there was nothing at all. */
        SIM_CHECK(sim, object, request->count == 0);
        SIM_CHECK(sim, object, live_count(queue, sim_now(sim)) == 0);
        return;
    }
    const size_t due_count = list_due(queue, operation->tick, due);
    SIM_CHECK(sim, object, request->count == (due_count < request->max ? due_count : request->max));
    for (size_t i = 0; i < request->count; i++) {
        const struct message *got = &request->messages[i];
        due[i]->stale = (struct receipt){ due[i]->visible_at, due[i]->nonce };
        due[i]->dequeue_count++;
        due[i]->visible_at = operation->tick + request->visibility_sec * CLOCK_TICKS_PER_SEC;
        due[i]->nonce = request->nonces[i];
        check_message(sim, object, got, due[i]);
        SIM_CHECK(sim, object, got->visible_at == due[i]->visible_at);
        SIM_CHECK(sim, object, uuid_equal(&got->nonce, &due[i]->nonce));
        sim_digest(sim, (uint64_t)message_inserted(got));
    }
}

static void finish_change(struct sim *sim, struct operation *operation, struct asked *asked,
                          struct model_queue *queue)
{
    const struct message_change *request = &asked->request.change;
    const char *object = QUEUE_TEXTS[asked->queue];
    const int64_t now = operation->tick;
    struct model_message *message = find_message(queue, &request->id);
    const bool is_last = message != NULL && request->receipt.visible_at == message->visible_at &&
                         uuid_equal(&request->receipt.nonce, &message->nonce);
    const int64_t visible_at = now + request->visibility_sec * CLOCK_TICKS_PER_SEC;
    enum err err = OK;
    if (message == NULL || !is_live(message, now))
        err = ERR_MESSAGE_NOT_FOUND;
    else if (!is_last)
        err = ERR_POP_RECEIPT_MISMATCH;
    else if (asked->kind == MESSAGE_UPDATE && message->expires != 0 &&
             visible_at > message->expires)
        err = ERR_VISIBILITY_PAST_EXPIRY;
    /* One that has expired and was not removed yet still tells a wrong receipt from none. */
    if (message != NULL && err == ERR_MESSAGE_NOT_FOUND && !is_last &&
        operation->err == ERR_POP_RECEIPT_MISMATCH)
        return;
    sim_expect(operation, object, err);
    if (err != OK)
        return;
    if (asked->kind == MESSAGE_DELETE) {
        model_of(sim)->gone_id = message->id;
        model_of(sim)->gone = (struct receipt){ message->visible_at, message->nonce };
        remove_message(queue, message);
        return;
    }
    message->stale = (struct receipt){ message->visible_at, message->nonce };
    message->visible_at = visible_at;
    message->nonce = request->nonce;
    if (request->has_text)
        message->text = asked->text;
    SIM_CHECK(sim, object, request->message.visible_at == visible_at);
}

static void finish_message(struct sim *sim, struct operation *operation, struct asked *asked,
                           struct model_queue *queue)
{
    if (asked->kind == MESSAGE_PUT)
        finish_put(sim, operation, asked, queue);
    else if (asked->kind == MESSAGE_GET)
        finish_get(sim, operation, asked, queue);
    else if (asked->kind == MESSAGE_CLEAR)
        sim_expect(operation, QUEUE_TEXTS[asked->queue], OK);
    else
        finish_change(sim, operation, asked, queue);
    if (asked->kind == MESSAGE_CLEAR)
        queue->count = 0;
    if (operation->tick != 0)
        expire(queue, operation->tick);
}

static void queues_finish(struct sim *sim, struct operation *operation)
{
    struct asked *asked = operation->request;
    struct model_queue *queue = operation->target;
    const char *object = QUEUE_TEXTS[asked->queue];
    if (asked->kind <= QUEUE_DELETE) {
        finish_queue(sim, operation, asked);
        return;
    }
    if (queue == NULL) {
        sim_expect(operation, object, ERR_QUEUE_NOT_FOUND);
    } else if (queue->is_closed || (queue->is_deleted && operation->err == ERR_QUEUE_NOT_FOUND)) {
        sim_expect(operation, object, ERR_QUEUE_NOT_FOUND);
        queue->is_closed = true;
    } else {
        finish_message(sim, operation, asked, queue);
    }
    if (queue != NULL)
        let_go(queue);
}

/* --- reading --- */

static void read_peek(struct sim *sim, struct arena *arena, unsigned name, size_t max)
{
    struct model_queue *queue = find_queue(model_of(sim), name);
    const struct queue_name called = queue_called(name);
    struct message *got = arena_alloc(arena, max * sizeof(*got));
    struct model_message *due[MESSAGES_MAX];
    size_t count = 0;
    sim_expect_read(sim, QUEUE_TEXTS[name], "peek",
                    message_peek(&sim->service, arena, &called, max, got, &count),
                    queue == NULL ? ERR_QUEUE_NOT_FOUND : OK);
    if (queue == NULL)
        return;
    const size_t due_count = list_due(queue, sim_now(sim), due);
    SIM_CHECK(sim, QUEUE_TEXTS[name], count == (due_count < max ? due_count : max));
    for (size_t i = 0; i < count; i++)
        check_message(sim, QUEUE_TEXTS[name], &got[i], due[i]);
}

static void read_count(struct sim *sim, struct arena *arena, unsigned name)
{
    struct model_queue *queue = find_queue(model_of(sim), name);
    const struct queue_name called = queue_called(name);
    struct queue got;
    uint64_t count;
    sim_expect_read(sim, QUEUE_TEXTS[name], "get count",
                    queue_get_count(&sim->service, arena, &called, &got, &count),
                    queue == NULL ? ERR_QUEUE_NOT_FOUND : OK);
    if (queue == NULL)
        return;
    SIM_CHECK(sim, QUEUE_TEXTS[name], model_metadata_is(&got.metadata, queue->metadata));
    SIM_CHECK(sim, QUEUE_TEXTS[name], count >= live_count(queue, sim_now(sim)));
    SIM_CHECK(sim, QUEUE_TEXTS[name], queue->count > MESSAGES_MAX / 2 || count <= queue->count);
}

static void queues_read(struct sim *sim)
{
    struct arena arena = { 0 };
    const unsigned name = sim_below(sim, QUEUE_NAMES);
    if (sim_chance(sim, 70))
        read_peek(sim, &arena, name, 1 + sim_below(sim, LIMIT_MESSAGES_MAX));
    else
        read_count(sim, &arena, name);
    arena_release(&arena);
}

static void queues_audit(struct sim *sim)
{
    struct arena arena = { 0 };
    for (unsigned name = 0; name < QUEUE_NAMES; name++) {
        read_peek(sim, &arena, name, MESSAGES_MAX);
        read_count(sim, &arena, name);
    }
    arena_release(&arena);
}

static void queues_settled(struct sim *sim, const struct fsck_summary *summary)
{
    uint64_t queue_count = 0;
    uint64_t message_count = 0;
    for (unsigned name = 0; name < QUEUE_NAMES; name++) {
        const struct model_queue *queue = find_queue(model_of(sim), name);
        queue_count += queue != NULL;
        message_count += queue == NULL ? 0 : live_count(queue, sim_now(sim));
    }
    SIM_CHECK(sim, "", summary->queue_count == queue_count);
    SIM_CHECK(sim, "", summary->message_count == message_count);
}

/* --- the world --- */

static void queues_open(struct sim *sim)
{
    sim->state = calloc(1, sizeof(struct model_queues));
    assert(sim->state != NULL);
}

static void queues_close(struct sim *sim)
{
    free(sim->state);
}

const struct world WORLD_QUEUES = {
    .name = "queues",
    .open = queues_open,
    .close = queues_close,
    .start = queues_start,
    .finish = queues_finish,
    .read = queues_read,
    .audit = queues_audit,
    .settled = queues_settled,
};
