/*
 * test_message.c - messages: who gets what, when, and which receipts are good.
 */
#include "service/queue/message.h"

#include "base/log.h"
#include "queue_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static void advance_sec(struct service_fixture *fixture, int64_t span_sec)
{
    fixture_advance_ms(fixture, span_sec * 1000);
}

/* --- put and get --- */

static void messages_come_out_in_the_order_they_went_in(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    put_one(fixture, "two");
    put_one(fixture, "three");
    assert_int_equal(queue_count(fixture, "work"), 3);
    get_text_is(fixture, 30, "one");
    const struct message_get get = get_some(fixture, LIMIT_MESSAGES_MAX, 30);
    assert_int_equal(get.count, 2);
    assert_true(slice_is(get.messages[0].text, "two"));
    assert_true(slice_is(get.messages[1].text, "three"));
    get_nothing(fixture);
    assert_int_equal(queue_count(fixture, "work"), 3);
}

static void a_message_says_when_it_was_put_and_when_it_goes(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct message put = put_text_for(fixture, "one", 5, 60);
    assert_int_equal(put.visible_at, message_inserted(&put) + 5 * CLOCK_TICKS_PER_SEC);
    assert_int_equal(put.expires, message_inserted(&put) + 60 * CLOCK_TICKS_PER_SEC);
    assert_true(message_inserted(&put) >= FIXTURE_T0);
    assert_int_equal(put.dequeue_count, 0);
    advance_sec(fixture, 6);
    const struct message got = get_text_is(fixture, 30, "one");
    assert_true(uuid_equal(&got.id, &put.id));
    assert_int_equal(got.expires, put.expires);
    assert_int_equal(got.dequeue_count, 1);
    assert_true(got.visible_at >= FIXTURE_T0 + 36 * CLOCK_TICKS_PER_SEC);
    assert_true(got.visible_at < FIXTURE_T0 + 37 * CLOCK_TICKS_PER_SEC);
}

static void a_message_that_was_not_deleted_comes_back(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    for (uint64_t i = 1; i <= 3; i++) {
        const struct message got = get_text_is(fixture, 10, "one");
        assert_int_equal(got.dequeue_count, i);
        advance_sec(fixture, 9);
        get_nothing(fixture);
        advance_sec(fixture, 2);
    }
}

static void a_message_that_comes_back_is_behind_what_became_visible_before(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    get_text_is(fixture, 10, "one");
    put_text_for(fixture, "later", 20, DAY_SEC);
    advance_sec(fixture, 5);
    put_one(fixture, "two");
    advance_sec(fixture, 30);
    put_one(fixture, "three");
    const struct message_get get = get_some(fixture, 10, 30);
    assert_int_equal(get.count, 4);
    assert_true(slice_is(get.messages[0].text, "two"));
    assert_true(slice_is(get.messages[1].text, "one"));
    assert_true(slice_is(get.messages[2].text, "later"));
    assert_true(slice_is(get.messages[3].text, "three"));
}

static void messages_handed_out_together_come_back_in_their_order(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    for (unsigned i = 0; i < 40; i++)
        put_one(fixture, arena_printf(&fixture->arena, "%u", i).data);
    for (unsigned round = 0; round < 3; round++) {
        struct message_get get = get_some(fixture, 32, 10);
        assert_int_equal(get.count, 32);
        for (unsigned i = 0; i < 32; i++)
            assert_true(slice_equal(get.messages[i].text, arena_printf(&fixture->arena, "%u", i)));
        get = get_some(fixture, 32, 10);
        assert_int_equal(get.count, 8);
        assert_true(slice_is(get.messages[7].text, "39"));
        advance_sec(fixture, 11);
    }
}

static void texts_of_every_length_come_out_as_they_went_in(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    static const size_t lens[] = { 0, 1, 127, 128, 65535, LIMIT_MESSAGE_BYTES };
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        char *bytes = arena_bytes(&fixture->arena, lens[i]);
        memset(bytes, 'a' + (int)i, lens[i]);
        struct message_put put = put_of("");
        put.text = slice_make(bytes, lens[i]);
        assert_int_equal(put_await(fixture, &put), OK);
        const struct message_get get = get_some(fixture, 1, 30);
        assert_int_equal(get.count, 1);
        assert_true(slice_equal(get.messages[0].text, put.text));
    }
}

static void peeking_changes_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    struct message messages[LIMIT_MESSAGES_MAX];
    queue_make(fixture, "work");
    assert_int_equal(peek_some(fixture, 32, messages), 0);
    put_one(fixture, "one");
    put_text_for(fixture, "hidden", 100, DAY_SEC);
    put_one(fixture, "two");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(peek_some(fixture, 1, messages), 1);
        assert_int_equal(peek_some(fixture, 32, messages), 2);
        assert_true(slice_is(messages[0].text, "one"));
        assert_int_equal(messages[0].dequeue_count, 0);
        assert_true(slice_is(messages[1].text, "two"));
    }
    get_text_is(fixture, 30, "one");
    assert_int_equal(peek_some(fixture, 32, messages), 1);
    assert_true(slice_is(messages[0].text, "two"));
}

/* --- receipts --- */

static void the_receipt_of_a_delivery_deletes_the_message(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    const struct message got = get_text_is(fixture, 10, "one");
    assert_int_equal(delete_one(fixture, &got), OK);
    assert_int_equal(queue_count(fixture, "work"), 0);
    assert_int_equal(delete_one(fixture, &got), ERR_MESSAGE_NOT_FOUND);
    advance_sec(fixture, 11);
    get_nothing(fixture);
}

static void a_receipt_is_good_until_the_message_is_delivered_again(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    const struct message first = get_text_is(fixture, 10, "one");
    advance_sec(fixture, 100);
    struct message messages[1];
    assert_int_equal(peek_some(fixture, 1, messages), 1);
    struct message again = first;
    assert_int_equal(update_one(fixture, &again, 0, NULL), OK);
    const struct message second = get_text_is(fixture, 10, "one");
    assert_int_equal(delete_one(fixture, &first), ERR_POP_RECEIPT_MISMATCH);
    assert_int_equal(delete_one(fixture, &again), ERR_POP_RECEIPT_MISMATCH);
    assert_int_equal(update_one(fixture, &again, 0, NULL), ERR_POP_RECEIPT_MISMATCH);
    assert_int_equal(delete_one(fixture, &second), OK);
}

static void the_receipt_of_a_put_is_good_until_the_first_delivery(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct message one = put_one(fixture, "one");
    const struct message two = put_one(fixture, "two");
    assert_int_equal(delete_one(fixture, &one), OK);
    const struct message got = get_text_is(fixture, 10, "two");
    assert_int_equal(delete_one(fixture, &two), ERR_POP_RECEIPT_MISMATCH);
    assert_int_equal(delete_one(fixture, &got), OK);
}

static void a_receipt_is_for_one_message_only(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    put_one(fixture, "two");
    struct message_get get = get_some(fixture, 2, 10);
    assert_int_equal(get.messages[0].visible_at, get.messages[1].visible_at);
    struct message mixed = get.messages[0];
    mixed.nonce = get.messages[1].nonce;
    assert_int_equal(delete_one(fixture, &mixed), ERR_POP_RECEIPT_MISMATCH);
    mixed = get.messages[0];
    mixed.visible_at++;
    assert_int_equal(delete_one(fixture, &mixed), ERR_POP_RECEIPT_MISMATCH);
    for (size_t i = 0; i < sizeof(mixed.nonce.bytes); i++) {
        mixed = get.messages[0];
        mixed.nonce.bytes[i] ^= 1;
        assert_int_equal(delete_one(fixture, &mixed), ERR_POP_RECEIPT_MISMATCH);
    }
    mixed = get.messages[0];
    mixed.id.bytes[15] ^= 1;
    assert_int_equal(delete_one(fixture, &mixed), ERR_MESSAGE_NOT_FOUND);
    assert_int_equal(delete_one(fixture, &get.messages[0]), OK);
}

/* --- update --- */

static void an_update_gives_a_new_time_text_and_receipt(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_one(fixture, "one");
    struct message got = get_text_is(fixture, 10, "one");
    const struct message before = got;
    assert_int_equal(update_one(fixture, &got, 100, "uno"), OK);
    assert_false(uuid_equal(&got.nonce, &before.nonce));
    assert_int_equal(got.dequeue_count, 1);
    assert_int_equal(delete_one(fixture, &before), ERR_POP_RECEIPT_MISMATCH);
    advance_sec(fixture, 99);
    get_nothing(fixture);
    assert_int_equal(update_one(fixture, &got, 0, NULL), OK);
    got = get_text_is(fixture, 10, "uno");
    assert_int_equal(got.dequeue_count, 2);
    assert_int_equal(queue_count(fixture, "work"), 1);
}

static void a_message_may_not_be_hidden_past_its_expiry(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_text_for(fixture, "one", 0, 100);
    struct message got = get_text_is(fixture, 10, "one");
    assert_int_equal(update_one(fixture, &got, 100, "x"), ERR_VISIBILITY_PAST_EXPIRY);
    assert_int_equal(update_one(fixture, &got, 99, NULL), OK);
    fixture_advance_ms(fixture, 99500);
    get_text_is(fixture, 10, "one");
}

static void a_message_that_never_expires_may_be_hidden_for_a_week(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct message put = put_text_for(fixture, "one", 0, MESSAGE_NEVER_EXPIRES);
    assert_int_equal(put.expires, 0);
    struct message got = get_text_is(fixture, 10, "one");
    assert_int_equal(update_one(fixture, &got, LIMIT_VISIBILITY_SEC, NULL), OK);
    advance_sec(fixture, LIMIT_VISIBILITY_SEC - 1);
    get_nothing(fixture);
    advance_sec(fixture, 1000 * (int64_t)DAY_SEC);
    get_text_is(fixture, 10, "one");
}

static void a_time_to_live_that_ends_after_all_dates_is_cut(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct message put = put_text_for(fixture, "one", 0, INT64_C(1) << 50);
    assert_int_equal(put.expires, CLOCK_TICKS_MAX);
    get_text_is(fixture, 10, "one");
}

/* --- expiry --- */

static void an_expired_message_is_gone_for_everybody(void **state)
{
    struct service_fixture *fixture = *state;
    struct message messages[1];
    queue_make(fixture, "work");
    put_text_for(fixture, "one", 0, 100);
    struct message got = get_text_is(fixture, 200, "one");
    advance_sec(fixture, 101);
    assert_int_equal(update_one(fixture, &got, 0, NULL), ERR_MESSAGE_NOT_FOUND);
    assert_int_equal(delete_one(fixture, &got), ERR_MESSAGE_NOT_FOUND);
    advance_sec(fixture, 100);
    assert_int_equal(peek_some(fixture, 1, messages), 0);
    get_nothing(fixture);
    assert_int_equal(queue_count(fixture, "work"), 0);
}

static void expired_messages_are_removed_by_the_get_that_meets_them(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    for (unsigned i = 0; i < 2 * MESSAGES_EXPIRED_AT_ONCE + 10; i++)
        put_text_for(fixture, "dead", 0, 10);
    put_text_for(fixture, "alive", 0, 1000);
    assert_int_equal(queue_count(fixture, "work"), 2 * MESSAGES_EXPIRED_AT_ONCE + 11);
    advance_sec(fixture, 11);
    get_text_is(fixture, 30, "alive");
    assert_int_equal(queue_count(fixture, "work"), 1);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    /* The head, one message and its text. */
    assert_int_equal(fixture_dump_partition(fixture, queue_messages(fixture, "work"), &out), 3);
}

/* --- clear --- */

static void clearing_removes_all_and_voids_receipts(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    assert_int_equal(clear_all(fixture), OK);
    put_one(fixture, "one");
    put_one(fixture, "two");
    struct message got = get_text_is(fixture, 10, "one");
    assert_int_equal(clear_all(fixture), OK);
    assert_int_equal(queue_count(fixture, "work"), 0);
    assert_int_equal(delete_one(fixture, &got), ERR_MESSAGE_NOT_FOUND);
    advance_sec(fixture, 11);
    get_nothing(fixture);
    put_one(fixture, "three");
    get_text_is(fixture, 10, "three");
    assert_int_equal(queue_count(fixture, "work"), 1);
}

/* --- what it costs --- */

static void polling_in_vain_writes_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    get_nothing(fixture);
    struct strbuf before;
    strbuf_init(&before, &fixture->arena);
    assert_int_equal(fixture_dump_partition(fixture, queue_messages(fixture, "work"), &before), 0);
    put_text_for(fixture, "hidden", 100, DAY_SEC);
    get_nothing(fixture); /* moves the head, which was at zero */
    const struct queue_head head = queue_head_of(fixture, "work");
    for (unsigned i = 0; i < 5; i++)
        get_nothing(fixture);
    assert_int_equal(queue_head_of(fixture, "work").head, head.head);
    advance_sec(fixture, MESSAGES_HEAD_LAG_SEC + 1);
    get_nothing(fixture);
    assert_true(queue_head_of(fixture, "work").head > head.head);
}

static void a_get_looks_only_at_what_it_hands_out(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    for (unsigned i = 0; i < 100; i++)
        put_text_for(fixture, "hidden", 1000, DAY_SEC);
    for (unsigned i = 0; i < 200; i++)
        put_one(fixture, "seen");
    for (unsigned i = 0; i < 100; i++) {
        struct message_get get = get_some(fixture, 1, 3600);
        assert_int_equal(get.count, 1);
        assert_int_equal(get.passed_count, 1);
        if (i % 2 == 0)
            assert_int_equal(delete_one(fixture, &get.messages[0]), OK);
    }
    const struct message_get get = get_some(fixture, 32, 3600);
    assert_int_equal(get.passed_count, 32);
    /* What was handed out or removed lies before the head. */
    assert_true(queue_head_of(fixture, "work").head > message_inserted(&get.messages[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(messages_come_out_in_the_order_they_went_in),
        ON_ALL_ENGINES(a_message_says_when_it_was_put_and_when_it_goes),
        ON_ALL_ENGINES(a_message_that_was_not_deleted_comes_back),
        ON_ALL_ENGINES(a_message_that_comes_back_is_behind_what_became_visible_before),
        ON_ALL_ENGINES(messages_handed_out_together_come_back_in_their_order),
        ON_ALL_ENGINES(texts_of_every_length_come_out_as_they_went_in),
        ON_ALL_ENGINES(peeking_changes_nothing),
        ON_ALL_ENGINES(the_receipt_of_a_delivery_deletes_the_message),
        ON_ALL_ENGINES(a_receipt_is_good_until_the_message_is_delivered_again),
        ON_ALL_ENGINES(the_receipt_of_a_put_is_good_until_the_first_delivery),
        ON_ALL_ENGINES(a_receipt_is_for_one_message_only),
        ON_ALL_ENGINES(an_update_gives_a_new_time_text_and_receipt),
        ON_ALL_ENGINES(a_message_may_not_be_hidden_past_its_expiry),
        ON_ALL_ENGINES(a_message_that_never_expires_may_be_hidden_for_a_week),
        ON_ALL_ENGINES(a_time_to_live_that_ends_after_all_dates_is_cut),
        ON_ALL_ENGINES(an_expired_message_is_gone_for_everybody),
        ON_ALL_ENGINES(expired_messages_are_removed_by_the_get_that_meets_them),
        ON_ALL_ENGINES(clearing_removes_all_and_voids_receipts),
        ON_ALL_ENGINES(polling_in_vain_writes_nothing),
        ON_ALL_ENGINES(a_get_looks_only_at_what_it_hands_out),
    };
    return cmocka_run_group_tests_name("message", tests, quiet, NULL);
}
