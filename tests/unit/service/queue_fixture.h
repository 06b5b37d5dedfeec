/*
 * queue_fixture.h - operations of queues and messages that a test waits for, on top of
 * service_fixture.h.  All are about queue "work" unless said otherwise.
 */
#ifndef TESTS_UNIT_SERVICE_QUEUE_FIXTURE_H
#define TESTS_UNIT_SERVICE_QUEUE_FIXTURE_H

#include "service/queue/message.h"
#include "service/queue/queue.h"
#include "service/queue/queue_name.h"
#include "service_fixture.h"

enum {
    DAY_SEC = 24 * 60 * 60,
};

static inline struct queue_name queue_named(const char *name)
{
    return (struct queue_name){ slice_of(FIXTURE_ACCOUNT_NAME), slice_of(name) };
}

typedef void queue_change_fn(struct service *service, struct queue_change *change);

static inline enum err queue_await(struct service_fixture *fixture, const char *name,
                                   queue_change_fn *start, struct queue_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = queue_named(name);
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline void queue_make(struct service_fixture *fixture, const char *name)
{
    struct queue_change change = { 0 };
    assert_int_equal(queue_await(fixture, name, queue_create, &change), OK);
}

static inline enum err queue_remove(struct service_fixture *fixture, const char *name)
{
    struct queue_change change = { 0 };
    return queue_await(fixture, name, queue_delete, &change);
}

static inline uint64_t queue_count(struct service_fixture *fixture, const char *name)
{
    const struct queue_name full = queue_named(name);
    struct queue queue;
    uint64_t count;
    assert_int_equal(queue_get_count(&fixture->service, &fixture->arena, &full, &queue, &count),
                     OK);
    return count;
}

static inline struct slice queue_messages(struct service_fixture *fixture, const char *name)
{
    const struct queue_name full = queue_named(name);
    struct slice partition;
    assert_int_equal(queue_find_messages(&fixture->service, &fixture->arena, &full, &partition),
                     OK);
    return partition;
}

static inline struct queue_head queue_head_of(struct service_fixture *fixture, const char *name)
{
    struct queue_head head;
    assert_int_equal(
        queue_head_read(&fixture->service, &fixture->arena, queue_messages(fixture, name), &head),
        OK);
    return head;
}

/* What a client asks for when it says nothing. */
static inline struct message_put put_of(const char *text)
{
    return (struct message_put){
        .name = queue_named("work"),
        .text = slice_of(text),
        .ttl_sec = LIMIT_MESSAGE_TTL_SEC_DEFAULT,
        .random = uuid_random(),
        .nonce = uuid_random(),
    };
}

static inline enum err put_await(struct service_fixture *fixture, struct message_put *put)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &put->base, &arena);
    message_put(&fixture->service, put);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline struct message put_text_for(struct service_fixture *fixture, const char *text,
                                          int64_t visibility_sec, int64_t ttl_sec)
{
    struct message_put put = put_of(text);
    put.visibility_sec = visibility_sec;
    put.ttl_sec = ttl_sec;
    assert_int_equal(put_await(fixture, &put), OK);
    return put.message;
}

static inline struct message put_one(struct service_fixture *fixture, const char *text)
{
    return put_text_for(fixture, text, 0, LIMIT_MESSAGE_TTL_SEC_DEFAULT);
}

static inline struct message_get get_of(size_t max, int64_t visibility_sec)
{
    struct message_get get = {
        .name = queue_named("work"),
        .max = max,
        .visibility_sec = visibility_sec,
    };
    for (size_t i = 0; i < max; i++)
        get.nonces[i] = uuid_random();
    return get;
}

/* Texts are in the fixture's arena. */
static inline enum err get_await(struct service_fixture *fixture, struct message_get *get)
{
    struct waiter waiter;
    waiter_bind(&waiter, &get->base, &fixture->arena);
    message_get(&fixture->service, get);
    return waiter_wait(&waiter);
}

static inline struct message_get get_some(struct service_fixture *fixture, size_t max,
                                          int64_t visibility_sec)
{
    struct message_get get = get_of(max, visibility_sec);
    assert_int_equal(get_await(fixture, &get), OK);
    return get;
}

/* There is one, and it is this. */
static inline struct message get_text_is(struct service_fixture *fixture, int64_t visibility_sec,
                                         const char *text)
{
    const struct message_get get = get_some(fixture, 1, visibility_sec);
    assert_int_equal(get.count, 1);
    assert_true(slice_is(get.messages[0].text, text));
    return get.messages[0];
}

static inline void get_nothing(struct service_fixture *fixture)
{
    const struct message_get get = get_some(fixture, LIMIT_MESSAGES_MAX, 30);
    assert_int_equal(get.count, 0);
}

typedef void message_change_fn(struct service *service, struct message_change *change);

static inline enum err change_await(struct service_fixture *fixture, message_change_fn *start,
                                    const struct message *message, struct message_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = queue_named("work");
    change->id = message->id;
    change->receipt = (struct receipt){ message->visible_at, message->nonce };
    change->nonce = uuid_random();
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline enum err delete_one(struct service_fixture *fixture, const struct message *message)
{
    struct message_change change = { 0 };
    return change_await(fixture, message_delete, message, &change);
}

/* On success `*message` is the message as its new receipt has it.  No text: it stays. */
static inline enum err update_one(struct service_fixture *fixture, struct message *message,
                                  int64_t visibility_sec, const char *text)
{
    struct message_change change = {
        .visibility_sec = visibility_sec,
        .has_text = text != NULL,
        .text = slice_of(text),
    };
    const enum err err = change_await(fixture, message_update, message, &change);
    if (err == OK)
        *message = change.message;
    return err;
}

static inline enum err clear_all(struct service_fixture *fixture)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct message_clear clear = { .name = queue_named("work") };
    waiter_bind(&waiter, &clear.base, &arena);
    message_clear(&fixture->service, &clear);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline size_t peek_some(struct service_fixture *fixture, size_t max,
                               struct message *messages)
{
    const struct queue_name name = queue_named("work");
    size_t count;
    assert_int_equal(message_peek(&fixture->service, &fixture->arena, &name, max, messages, &count),
                     OK);
    return count;
}

#endif
