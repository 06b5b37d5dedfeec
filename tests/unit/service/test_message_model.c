/*
 * test_message_model.c - random sequences of put, get, peek, update, delete, clear and sweep with a
 * moving clock must agree with a list.
 *
 * After each step the rows are looked at: as many as the head counts, none before the head, and no
 * text without a message.
 */
#include "base/log.h"
#include "queue_fixture.h"
#include "service/sweeper.h"

enum {
    MODEL_MAX = 4096,
    STEPS_IN_MEMORY = 4000,
    STEPS_ON_DISK = 1000,
};

struct model_message {
    struct message message; /* with its text, and the receipt that is good */
    bool has_stale;
    struct message stale; /* one with a receipt that is not good any more */
};

struct model {
    struct service_fixture *fixture;
    uint64_t random;
    size_t count;
    struct model_message *messages[MODEL_MAX];
    struct message gone; /* one that was removed */
    size_t receipt_count;
    struct receipt receipts[MODEL_MAX * 4];
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static uint32_t next_random(struct model *model, uint32_t below)
{
    model->random = model->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(model->random >> 33) % below;
}

static int64_t model_now(struct model *model)
{
    return clock_now(&model->fixture->clock);
}

/* Every receipt ever given is another one. */
static void note_receipt(struct model *model, const struct message *message)
{
    const struct receipt receipt = { message->visible_at, message->nonce };
    for (size_t i = 0; i < model->receipt_count; i++)
        assert_memory_not_equal(&model->receipts[i], &receipt, sizeof(receipt));
    assert_true(model->receipt_count < sizeof(model->receipts) / sizeof(receipt));
    model->receipts[model->receipt_count++] = receipt;
}

/* --- the list --- */

static int compare_messages(const void *a, const void *b)
{
    const struct message *left = &(*(struct model_message *const *)a)->message;
    const struct message *right = &(*(struct model_message *const *)b)->message;
    if (left->visible_at != right->visible_at)
        return left->visible_at < right->visible_at ? -1 : 1;
    return memcmp(&left->id, &right->id, sizeof(left->id));
}

static void model_sort(struct model *model)
{
    qsort(model->messages, model->count, sizeof(model->messages[0]), compare_messages);
}

static void model_drop(struct model *model, size_t index)
{
    model->gone = model->messages[index]->message;
    model->messages[index] = model->messages[--model->count];
    model_sort(model);
}

static void model_expire(struct model *model, int64_t now)
{
    for (size_t i = model->count; i-- > 0;)
        if (message_is_expired(&model->messages[i]->message, now))
            model_drop(model, i);
}

/* The message has a new receipt. */
static void model_move(struct model *model, struct model_message *mine, struct message now_is)
{
    note_receipt(model, &now_is);
    const struct slice text = now_is.text.data == NULL ? mine->message.text : now_is.text;
    mine->stale = mine->message;
    mine->has_stale = true;
    mine->message = now_is;
    mine->message.text = text;
    model_sort(model);
}

static void assert_same(const struct message *got, const struct message *expected)
{
    assert_true(uuid_equal(&got->id, &expected->id));
    assert_true(slice_equal(got->text, expected->text));
    assert_int_equal(got->expires, expected->expires);
}

/* --- steps --- */

static void step_put(struct model *model)
{
    static const int64_t visibilities[] = { 0, 0, 0, 5, 60 };
    static const int64_t ttls[] = { 61, 100, 3600, MESSAGE_NEVER_EXPIRES };
    if (model->count == MODEL_MAX)
        return;
    struct message_put put =
        put_of(arena_printf(&model->fixture->arena, "text %u", next_random(model, 1000)).data);
    put.visibility_sec = visibilities[next_random(model, 5)];
    put.ttl_sec = ttls[next_random(model, 4)];
    const int64_t before = model_now(model);
    assert_int_equal(put_await(model->fixture, &put), OK);
    const int64_t inserted = message_inserted(&put.message);
    assert_true(inserted >= before && inserted <= model_now(model));
    assert_int_equal(put.message.visible_at, inserted + put.visibility_sec * CLOCK_TICKS_PER_SEC);
    struct model_message *mine = arena_alloc(&model->fixture->arena, sizeof(*mine));
    mine->message = put.message;
    mine->message.text = put.text;
    model->messages[model->count++] = mine;
    note_receipt(model, &put.message);
    model_sort(model);
}

static void step_get(struct model *model)
{
    const size_t max = 1 + next_random(model, 2) * next_random(model, LIMIT_MESSAGES_MAX);
    const int64_t visibility_sec = 1 + next_random(model, 90);
    const int64_t before = model_now(model);
    struct message_get get = get_some(model->fixture, max, visibility_sec);
    const int64_t now =
        get.count == 0 ? before : get.messages[0].visible_at - visibility_sec * CLOCK_TICKS_PER_SEC;
    assert_true(now >= before && now <= model_now(model));
    model_expire(model, now);
    size_t due = 0;
    while (due < max && due < model->count && model->messages[due]->message.visible_at <= now)
        due++;
    assert_int_equal(get.count, due);
    struct model_message *taken[LIMIT_MESSAGES_MAX];
    memcpy(taken, model->messages, due * sizeof(taken[0]));
    for (size_t i = 0; i < due; i++) {
        assert_same(&get.messages[i], &taken[i]->message);
        assert_int_equal(get.messages[i].dequeue_count, taken[i]->message.dequeue_count + 1);
        assert_true(uuid_equal(&get.messages[i].nonce, &get.nonces[i]));
        model_move(model, taken[i], get.messages[i]);
    }
}

static void step_peek(struct model *model)
{
    struct message messages[LIMIT_MESSAGES_MAX];
    const size_t max = 1 + next_random(model, LIMIT_MESSAGES_MAX);
    const size_t count = peek_some(model->fixture, max, messages);
    const int64_t now = model_now(model);
    model_expire(model, now);
    size_t due = 0;
    while (due < max && due < model->count && model->messages[due]->message.visible_at <= now)
        due++;
    assert_int_equal(count, due);
    for (size_t i = 0; i < due; i++) {
        assert_same(&messages[i], &model->messages[i]->message);
        assert_int_equal(messages[i].dequeue_count, model->messages[i]->message.dequeue_count);
    }
}

/* A message by chance, as a client may know it: good, stale, or gone. */
enum known { KNOWN_GOOD, KNOWN_STALE, KNOWN_GONE };

static enum known choose(struct model *model, size_t *index, struct message *message)
{
    model_expire(model, model_now(model));
    *message = model->gone;
    if (model->count == 0 || next_random(model, 10) == 0)
        return KNOWN_GONE;
    *index = next_random(model, (uint32_t)model->count);
    const struct model_message *mine = model->messages[*index];
    const bool stale = mine->has_stale && next_random(model, 4) == 0;
    *message = stale ? mine->stale : mine->message;
    return stale ? KNOWN_STALE : KNOWN_GOOD;
}

static enum err expected_error(enum known known)
{
    return known == KNOWN_GOOD    ? OK
           : known == KNOWN_STALE ? ERR_POP_RECEIPT_MISMATCH
                                  : ERR_MESSAGE_NOT_FOUND;
}

static void step_delete(struct model *model)
{
    size_t index = 0;
    struct message message;
    const enum known known = choose(model, &index, &message);
    if (uuid_is_nil(&message.id))
        return;
    assert_int_equal(delete_one(model->fixture, &message), expected_error(known));
    if (known == KNOWN_GOOD)
        model_drop(model, index);
}

static void step_update(struct model *model)
{
    size_t index = 0;
    struct message message;
    const enum known known = choose(model, &index, &message);
    if (uuid_is_nil(&message.id))
        return;
    const int64_t visibility_sec = next_random(model, 2) * next_random(model, 120);
    const char *text =
        next_random(model, 2) == 0
            ? NULL
            : arena_printf(&model->fixture->arena, "new %u", next_random(model, 1000)).data;
    const int64_t expires = message.expires;
    const enum err err = update_one(model->fixture, &message, visibility_sec, text);
    const int64_t visible_at = model_now(model) + visibility_sec * CLOCK_TICKS_PER_SEC;
    if (known == KNOWN_GOOD && expires != 0 && visible_at > expires) {
        assert_int_equal(err, ERR_VISIBILITY_PAST_EXPIRY);
        return;
    }
    assert_int_equal(err, expected_error(known));
    if (known != KNOWN_GOOD)
        return;
    message.text = slice_of(text);
    model_move(model, model->messages[index], message);
}

static void step_clear(struct model *model)
{
    assert_int_equal(clear_all(model->fixture), OK);
    while (model->count > 0)
        model_drop(model, model->count - 1);
}

static void step_sweep(struct model *model)
{
    assert_int_equal(sweeper_pass_marked(&model->fixture->service), OK);
    model_expire(model, model_now(model));
    assert_int_equal(queue_count(model->fixture, "work"), model->count);
}

/* --- what the rows say --- */

static void check_rows(struct model *model)
{
    struct service_fixture *fixture = model->fixture;
    const struct queue_head head = queue_head_of(fixture, "work");
    const struct slice partition = queue_messages(fixture, "work");
    struct partition_view view;
    partition_view_open(fixture->service.store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of("v"), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    size_t count = 0;
    while (cursor_next(cursor, &key, &row) == OK) {
        uint64_t generation;
        struct message message;
        struct slice text;
        assert_int_equal(message_decode(key, row, &generation, &message), OK);
        assert_int_equal(
            partition_view_get(&view, &fixture->arena,
                               message_text_key(&fixture->arena, generation, &message.id), &text),
            OK);
        if (generation != head.generation) {
            assert_true(generation >= head.swept && generation < head.generation);
            continue;
        }
        assert_true(message.visible_at >= head.head);
        assert_true(message.expires == 0 || message.expires >= head.expiry_floor);
        count++;
    }
    cursor_free(cursor);
    cursor = partition_view_scan(&view, message_text_prefix(&fixture->arena, head.generation),
                                 (struct slice){ 0 });
    size_t text_count = 0;
    while (cursor_next(cursor, &key, &row) == OK)
        text_count++;
    cursor_free(cursor);
    partition_view_close(&view);
    bool marked;
    assert_int_equal(partition_is_marked(fixture->service.store, partition, &marked), OK);
    assert_int_equal(marked, head.is_marked);
    assert_int_equal(count, head.count);
    assert_int_equal(text_count, head.count);
    assert_true(count >= model->count);
}

static void step(struct model *model)
{
    switch (next_random(model, 40)) {
    case 0:
        step_clear(model);
        break;
    case 1:
    case 2:
        step_sweep(model);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        fixture_advance_ms(model->fixture, next_random(model, 40000));
        break;
    case 7:
    case 8:
    case 9:
        step_peek(model);
        break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
        step_update(model);
        break;
    case 15:
    case 16:
    case 17:
    case 18:
        step_delete(model);
        break;
    case 19:
    case 20:
    case 21:
    case 22:
    case 23:
    case 24:
        step_get(model);
        break;
    default:
        step_put(model);
        break;
    }
}

static void every_sequence_agrees_with_a_list(void **state)
{
    struct service_fixture *fixture = *state;
    const unsigned steps = fixture->kind == SERVICE_ON_ROCKSDB ? STEPS_ON_DISK : STEPS_IN_MEMORY;
    queue_make(fixture, "work");
    struct model *model = calloc(1, sizeof(*model));
    assert_non_null(model);
    model->fixture = fixture;
    model->random = 4711 + (uint64_t)fixture->kind;
    for (unsigned i = 0; i < steps; i++) {
        step(model);
        if (i % 8 == 0)
            check_rows(model);
    }
    check_rows(model);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(every_sequence_agrees_with_a_list),
    };
    return cmocka_run_group_tests_name("message_model", tests, quiet, NULL);
}
