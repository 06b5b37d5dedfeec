/*
 * test_message_row.c - rows of messages and the head of a queue, and receipts: read as they were
 * written, and corrupt wherever they are cut.
 */
#include "service/queue/message_row.h"

#include "base/log.h"
#include "queue_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static void receipts_are_read_as_they_were_written(void **state)
{
    (void)state;
    const struct message message = { .visible_at = FIXTURE_T0 + 1,
                                     .nonce = { { 0xfb, 0xef, 0xbe } } };
    char text[RECEIPT_TEXT_LEN + 1];
    receipt_format(&message, text);
    assert_int_equal(strlen(text), 32);
    struct receipt receipt;
    assert_int_equal(receipt_parse(slice_of(text), &receipt), OK);
    assert_true(receipt_matches(&receipt, &message));
    for (size_t i = 0; i < RECEIPT_TEXT_LEN; i++)
        if (text[i] == '+')
            text[i] = ' ';
    assert_int_equal(receipt_parse(slice_of(text), &receipt), OK);
    assert_true(receipt_matches(&receipt, &message));
    assert_int_equal(receipt_parse(slice_head(slice_of(text), 31), &receipt), ERR_MALFORMED);
    assert_int_equal(receipt_parse(slice_of(""), &receipt), ERR_MALFORMED);
    text[3] = '*';
    assert_int_equal(receipt_parse(slice_of(text), &receipt), ERR_MALFORMED);
    /* Too short inside, and instants that no clock gives. */
    static const char *const bad[] = { "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
                                       "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                       "////////////////////////////////" };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(receipt_parse(slice_of(bad[i]), &receipt), ERR_MALFORMED);
}

static void damaged_rows_are_corrupt_wherever_they_are_cut(void **state)
{
    struct service_fixture *fixture = *state;
    struct arena *arena = &fixture->arena;
    const struct queue_head head = { .generation = 3,
                                     .swept = 2,
                                     .head = FIXTURE_T0,
                                     .count = 300,
                                     .expiry_floor = FIXTURE_T0,
                                     .recent_floor = FIXTURE_T0,
                                     .is_marked = true };
    const struct slice head_row = queue_head_encode(arena, &head);
    struct queue_head head_read;
    assert_int_equal(queue_head_decode(head_row, &head_read), OK);
    assert_true(slice_equal(queue_head_encode(arena, &head_read), head_row));
    assert_int_equal(head_read.count, 300);
    for (size_t len = 0; len < head_row.len; len++) {
        const enum err err = queue_head_decode(slice_head(head_row, len), &head_read);
        assert_true(err == OK || err == ERR_CORRUPT);
    }

    const struct uuid random = uuid_random();
    const struct message message = { .id = message_id_make(FIXTURE_T0, &random),
                                     .visible_at = FIXTURE_T0 + 7,
                                     .expires = FIXTURE_T0 + 9,
                                     .dequeue_count = 2,
                                     .nonce = random };
    const struct slice key = message_key(arena, 3, message.visible_at, &message.id);
    const struct slice row = message_encode(arena, &message);
    struct message read;
    uint64_t generation;
    assert_int_equal(message_decode(key, row, &generation, &read), OK);
    assert_int_equal(generation, 3);
    assert_true(slice_equal(message_encode(arena, &read), row));
    assert_true(uuid_equal(&read.id, &message.id));
    assert_int_equal(read.visible_at, message.visible_at);
    assert_int_equal(read.dequeue_count, 2);
    for (size_t len = 0; len < row.len; len++)
        assert_int_equal(message_decode(key, slice_head(row, len), NULL, &read), ERR_CORRUPT);
    for (size_t len = 0; len < key.len; len++)
        assert_int_equal(message_decode(slice_head(key, len), row, NULL, &read), ERR_CORRUPT);

    const struct slice text_row = message_text_encode(arena, slice_of("text"));
    struct slice text;
    assert_int_equal(message_text_decode(text_row, &text), OK);
    assert_true(slice_is(text, "text"));
    assert_int_equal(message_text_decode(slice_head(text_row, text_row.len - 1), &text),
                     ERR_CORRUPT);
    assert_int_equal(message_text_decode(row, &text), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receipts_are_read_as_they_were_written),
        ON_MEMORY(damaged_rows_are_corrupt_wherever_they_are_cut),
    };
    return cmocka_run_group_tests_name("message_row", tests, quiet, NULL);
}
