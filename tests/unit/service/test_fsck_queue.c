/*
 * test_fsck_queue.c - checking queues: they hold together, also when there is something to sweep;
 * and each thing that is broken on purpose is found, and nothing else.
 */
#include "base/encoding.h"
#include "fsck_fixture.h"
#include "queue_fixture.h"
#include "service/row.h"
#include "service/sweeper.h"

/* --- breaking things: decisions of the test's own --- */

struct tampering {
    struct partition_update update;
    struct waiter waiter;
    struct slice key;
    struct slice value; /* empty: the row is deleted */
    bool unmarks;
};

static enum err tamper_decide(struct change *change, void *arg)
{
    const struct tampering *tampering = arg;
    if (tampering->value.len > 0)
        change_put(change, tampering->key, tampering->value);
    else if (tampering->key.len > 0)
        change_delete(change, tampering->key);
    if (tampering->unmarks)
        change_unmark(change);
    return OK;
}

static void tamper_done(void *arg, enum err err)
{
    struct tampering *tampering = arg;
    waiter_done(&tampering->waiter, err);
}

static void tamper_in(struct service_fixture *fixture, struct slice partition,
                      struct tampering *tampering)
{
    waiter_init(&tampering->waiter);
    tampering->update = (struct partition_update){
        .partition = partition, .decide = tamper_decide, .arg = tampering, .done = tamper_done
    };
    partition_update(fixture->service.store, &tampering->update);
    assert_int_equal(waiter_wait(&tampering->waiter), OK);
}

static void put_row(struct service_fixture *fixture, struct slice key, struct slice value)
{
    struct tampering tampering = { .key = key, .value = value };
    tamper_in(fixture, queue_messages(fixture, "work"), &tampering);
}

static void delete_row(struct service_fixture *fixture, struct slice key)
{
    put_row(fixture, key, (struct slice){ 0 });
}

static void put_head(struct service_fixture *fixture, const struct queue_head *head)
{
    put_row(fixture, queue_head_key(), queue_head_encode(&fixture->arena, head));
}

static struct slice key_of(struct service_fixture *fixture, const struct message *message)
{
    return message_key(&fixture->arena, queue_head_of(fixture, "work").generation,
                       message->visible_at, &message->id);
}

static struct slice text_key_of(struct service_fixture *fixture, const struct message *message)
{
    return message_text_key(&fixture->arena, queue_head_of(fixture, "work").generation,
                            &message->id);
}

/* A queue that has seen everything; one of its messages. */
static struct message fill(struct service_fixture *fixture)
{
    queue_make(fixture, "work");
    queue_make(fixture, "empty");
    put_one(fixture, "cleared");
    assert_int_equal(clear_all(fixture), OK);
    put_one(fixture, "got");
    get_text_is(fixture, 30, "got");
    const struct message deleted = put_one(fixture, "deleted");
    assert_int_equal(delete_one(fixture, &deleted), OK);
    put_text_for(fixture, "hidden", 3600, MESSAGE_NEVER_EXPIRES);
    put_text_for(fixture, "short-lived", 0, 1);
    return put_one(fixture, "one");
}

/* --- tests --- */

static void queues_hold_together(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct fsck_summary summary = assert_clean(fixture);
    assert_int_equal(summary.queue_count, 2);
    assert_int_equal(summary.message_count, 4);
    fixture_advance_ms(fixture, 2000);
    assert_clean(fixture);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(assert_clean(fixture).message_count, 3);
    get_text_is(fixture, 30, "one");
    assert_clean(fixture);

    assert_int_equal(queue_remove(fixture, "work"), OK);
    summary = assert_clean(fixture);
    assert_int_equal(summary.deleted_queue_count, 1);
    assert_int_equal(summary.queue_count, 1);
    queue_make(fixture, "work");
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    assert_int_equal(assert_clean(fixture).deleted_queue_count, 0);
}

static void a_message_without_text_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct message message = fill(fixture);
    delete_row(fixture, text_key_of(fixture, &message));
    assert_finding(fixture, "devstoreaccount1/work: message ");
    assert_finding(fixture, " has no text");
    assert_left_alone(fixture);
}

static void a_text_without_message_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct message message = fill(fixture);
    delete_row(fixture, key_of(fixture, &message));
    struct queue_head head = queue_head_of(fixture, "work");
    assert_int_equal(check(fixture).count, 2);
    head.count--;
    put_head(fixture, &head);
    assert_finding(fixture, "is not there, but its text is");
    assert_repaired(fixture);
}

static void a_damaged_text_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct message message = fill(fixture);
    put_row(fixture, text_key_of(fixture, &message), slice_of("nonsense"));
    assert_finding(fixture, "has a damaged text");
    assert_left_alone(fixture);
}

static void a_damaged_message_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct message message = fill(fixture);
    put_row(fixture, key_of(fixture, &message), slice_of("nonsense"));
    const struct findings findings = check(fixture);
    assert_int_equal(findings.count, 3);
    assert_non_null(strstr(findings.words[0], "a message is damaged"));
}

static void a_message_that_is_there_twice_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    struct message message = fill(fixture);
    const struct slice row = message_encode(&fixture->arena, &message);
    message.visible_at++;
    put_row(fixture, key_of(fixture, &message), row);
    struct queue_head head = queue_head_of(fixture, "work");
    head.count++;
    put_head(fixture, &head);
    const struct findings findings = check(fixture);
    assert_true(findings.count > 0);
    assert_non_null(strstr(findings.words[0], "is there twice"));
    assert_left_alone(fixture);
}

static void a_wrong_count_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct queue_head head = queue_head_of(fixture, "work");
    head.count = 17;
    put_head(fixture, &head);
    assert_finding(fixture, "there are 4 messages, and its head says 17");
    assert_repaired(fixture);
}

static void a_message_before_the_head_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct queue_head head = queue_head_of(fixture, "work");
    head.head += CLOCK_TICKS_PER_SEC;
    put_head(fixture, &head);
    const struct findings findings = check(fixture);
    assert_int_equal(findings.count, 2);
    assert_non_null(strstr(findings.words[0], "lies before the head"));
    assert_repaired(fixture);
}

static void a_message_that_expires_before_the_floor_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct queue_head head = queue_head_of(fixture, "work");
    head.expiry_floor++;
    put_head(fixture, &head);
    assert_finding(fixture, "expires before the queue's expiry floor");
    assert_repaired(fixture);
}

static void rows_of_wrong_generations_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    const struct message message = fill(fixture);
    struct queue_head head = queue_head_of(fixture, "work");
    const struct slice row = message_encode(&fixture->arena, &message);
    put_row(fixture, message_key(&fixture->arena, 7, message.visible_at, &message.id), row);
    put_row(fixture, message_text_key(&fixture->arena, 7, &message.id),
            message_text_encode(&fixture->arena, slice_of("x")));
    assert_finding(fixture, "of generation 7, which is to come");
    delete_row(fixture, message_key(&fixture->arena, 7, message.visible_at, &message.id));
    delete_row(fixture, message_text_key(&fixture->arena, 7, &message.id));
    assert_clean(fixture);
    head.swept = head.generation;
    put_head(fixture, &head);
    assert_finding(fixture, "of generation 0, which nothing will remove");
}

static void a_missing_mark_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct tampering tampering = { .unmarks = true };
    tamper_in(fixture, queue_messages(fixture, "work"), &tampering);
    assert_finding(fixture, "devstoreaccount1/work: the sweeper has work here, but no mark");
    assert_repaired(fixture);
}

static void rows_of_unknown_kind_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, slice_of("?"), slice_of("x"));
    assert_finding(fixture, "there is a row of unknown kind");
    delete_row(fixture, slice_of("?"));
    put_row(fixture, slice_of("hh"), slice_of("x"));
    assert_finding(fixture, "there is a row of unknown kind");
    assert_left_alone(fixture);
}

static void a_damaged_head_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, queue_head_key(), slice_of("nonsense"));
    const struct findings findings = check(fixture);
    assert_true(findings.count > 0);
    assert_non_null(strstr(findings.words[0], "the queue's head is damaged"));
    assert_left_alone(fixture);
}

static void a_damaged_record_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct slice account = account_partition(&fixture->arena, slice_of(FIXTURE_ACCOUNT_NAME));
    struct tampering tampering = { .key = queue_key(&fixture->arena, slice_of("work")),
                                   .value = slice_of("nonsense") };
    tamper_in(fixture, account, &tampering);
    assert_finding(fixture, "devstoreaccount1/work: the queue's record is damaged");
    const struct queue queue = { .incarnation = 4711 };
    tampering = (struct tampering){ .key = queue_key(&fixture->arena, slice_of("work")),
                                    .value = queue_encode(&fixture->arena, &queue) };
    tamper_in(fixture, account, &tampering);
    tampering = (struct tampering){ .key = queue_key(&fixture->arena, slice_of("twin")),
                                    .value = queue_encode(&fixture->arena, &queue) };
    tamper_in(fixture, account, &tampering);
    assert_finding(fixture, "have the same messages");
    tampering = (struct tampering){ .key = queue_key(&fixture->arena, slice_of("twin")) };
    tamper_in(fixture, account, &tampering);
    tampering = (struct tampering){ .key = queue_key(&fixture->arena, slice_of("NO")),
                                    .value = queue_encode(&fixture->arena,
                                                          &(struct queue){ .incarnation = 9 }) };
    tamper_in(fixture, account, &tampering);
    assert_finding(fixture, "the name of queue \"NO\" is damaged");
}

static void messages_of_a_queue_that_is_gone_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct tampering tampering = { .key = queue_key(&fixture->arena, slice_of("work")) };
    tamper_in(fixture, account_partition(&fixture->arena, slice_of(FIXTURE_ACCOUNT_NAME)),
              &tampering);
    assert_finding(fixture, "its messages are there, and nothing will remove them");
    assert_left_alone(fixture);
}

static void a_queue_that_is_closed_but_not_deleted_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct strbuf row;
    strbuf_init(&row, &fixture->arena);
    row_begin(&row, ROW_CLOSED);
    put_row(fixture, closed_key(), strbuf_slice(&row));
    assert_finding(fixture, "it is closed, as if it were deleted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(queues_hold_together),
        ON_ROCKSDB(queues_hold_together),
        ON_MEMORY(a_message_without_text_is_found),
        ON_MEMORY(a_text_without_message_is_found),
        ON_MEMORY(a_damaged_text_is_found),
        ON_MEMORY(a_damaged_message_is_found),
        ON_MEMORY(a_message_that_is_there_twice_is_found),
        ON_MEMORY(a_wrong_count_is_found),
        ON_MEMORY(a_message_before_the_head_is_found),
        ON_MEMORY(a_message_that_expires_before_the_floor_is_found),
        ON_MEMORY(rows_of_wrong_generations_are_found),
        ON_MEMORY(a_missing_mark_is_found),
        ON_MEMORY(rows_of_unknown_kind_are_found),
        ON_MEMORY(a_damaged_head_is_found),
        ON_MEMORY(a_damaged_record_is_found),
        ON_MEMORY(messages_of_a_queue_that_is_gone_are_found),
        ON_MEMORY(a_queue_that_is_closed_but_not_deleted_is_found),
    };
    return cmocka_run_group_tests_name("fsck_queue", tests, quiet, NULL);
}
