/*
 * test_open_client.c - what SMB clients are told: breaks and forced closings, once each, in time,
 * and no more of them than there are oplocks and handles.
 */
#include "open_table_fixture.h"

static void a_client_is_woken_for_every_event_and_fetches_it_once(void **state)
{
    struct stage *stage = *state;
    struct open_event event;
    const uint64_t handle =
        must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "R" });
    assert_false(open_client_next(stage->clients[ANNA], &event));
    assert_int_equal(stage->wakes[ANNA], 0);

    assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, OK);
    assert_int_equal(stage->wakes[ANNA], 1);
    assert_true(open_client_next(stage->clients[ANNA], &event));
    const struct uuid key = lease_key(0);
    assert_int_equal(event.kind, OPEN_EVENT_BREAK);
    assert_true(uuid_equal(&event.lease_key, &key));
    assert_int_equal(event.handle_id, 0);
    assert_int_equal(event.notice.epoch, 2);
    assert_false(open_client_next(stage->clients[ANNA], &event));

    struct open_closed closed;
    assert_int_equal(open_table_force_close(stage->table, SHARE, handle, &closed), OK);
    assert_int_equal(stage->wakes[ANNA], 2);
    assert_true(open_client_next(stage->clients[ANNA], &event));
    assert_int_equal(event.kind, OPEN_EVENT_CLOSED);
    assert_int_equal(event.handle_id, handle);
    assert_false(open_client_next(stage->clients[ANNA], &event));
    assert_int_equal(stage->wakes[BERT], 0);
}

static void a_legacy_break_names_the_handle(void **state)
{
    struct stage *stage = *state;
    struct open_event event;
    const uint64_t handle =
        must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .legacy = "R" });
    assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, OK);
    assert_true(open_client_next(stage->clients[ANNA], &event));
    assert_int_equal(event.handle_id, handle);
    assert_true(uuid_is_nil(&event.lease_key));
}

static void breaks_are_fetched_before_closings(void **state)
{
    struct stage *stage = *state;
    struct open_closed closed;
    const uint64_t other =
        must_open(stage, (struct open_spec){ .file = 1, .access = "R", .share = "RWD" });
    (void)must_open(stage, (struct open_spec){ .access = "R", .share = "RWD", .lease = "RWH" });
    assert_int_equal(open_table_force_close(stage->table, SHARE, other, &closed), OK);
    struct act *get = try_rest(stage, FILE_OPERATION_GET, 0);
    struct open_event event;
    assert_true(open_client_next(stage->clients[ANNA], &event));
    assert_int_equal(event.kind, OPEN_EVENT_BREAK);
    assert_true(open_client_next(stage->clients[ANNA], &event));
    assert_int_equal(event.kind, OPEN_EVENT_CLOSED);
    assert_int_equal(acknowledge(stage, ANNA, 0, "RH"), OK);
    end(stage, get);
}

static void of_unfetched_breaks_of_a_lease_the_last_one_counts(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "R", .share = "RWD", .lease = "R" };
    (void)must_open(stage, spec);
    for (int i = 0; i < 5; i++) {
        assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, OK);
        (void)must_open(stage, spec); /* and has R again */
    }
    struct open_event event;
    assert_true(open_client_next(stage->clients[ANNA], &event));
    /* Granted 1, 3, 5, ..., broken 2, 4, ..., 10: older than the last grant. */
    assert_int_equal(event.notice.epoch, 10);
    assert_false(open_client_next(stage->clients[ANNA], &event));
}

static void a_break_is_forgotten_with_the_last_handle(void **state)
{
    struct stage *stage = *state;
    const struct open_spec spec = { .access = "R", .share = "RWD", .lease = "R" };
    const uint64_t one = must_open(stage, spec);
    const uint64_t other = must_open(stage, spec);
    assert_rest(stage, FILE_OPERATION_PUT_RANGE, 0, OK);
    (void)must_close(stage, one);
    (void)must_close(stage, other);
    assert_told_nothing(stage, ANNA);
}

static void closings_need_not_be_fetched(void **state)
{
    struct stage *stage = *state;
    struct open_closed closed;
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t handle = must_open(stage, (struct open_spec){ .file = i, .access = "R" });
        assert_int_equal(open_table_force_close(stage->table, SHARE, handle, &closed), OK);
    }
    /* The teardown frees the client, and the sanitizer would see what it leaves. */
}

static void a_clients_text_is_cut_to_its_limit(void **state)
{
    struct stage *stage = *state;
    char text[LIMIT_SMB_CLIENT_TEXT_MAX + 1];
    memset(text, 'x', sizeof(text));
    struct open_client *client = open_client_new(&(struct open_client_settings){
        .name = slice_make(text, sizeof(text)),
    });
    struct act *act = act_new(stage);
    act->of.open.client = client;
    act->of.open.key = file_number(0);
    open_table_open(stage->table, &act->of.open);
    assert_answer(act, OK);

    struct handle_info *handles = NULL;
    uint64_t next = 0;
    const struct handle_query query = { .share = SHARE, .results_max = 5 };
    assert_int_equal(open_table_list(stage->table, &query, &stage->arena, &handles, &next), 1);
    assert_int_equal(handles[0].name.len, LIMIT_SMB_CLIENT_TEXT_MAX);
    assert_int_equal(handles[0].address.len, 0);
    (void)must_close(stage, act->of.open.handle_id);
    open_client_free(client);
    open_client_free(NULL);
}

static void a_lost_client_is_closed_handle_by_handle(void **state)
{
    struct stage *stage = *state;
    struct open_closed closed;
    unsigned count = 0;
    unsigned deleted = 0;
    for (uint64_t i = 0; i < 10; i++)
        (void)must_open(stage,
                        (struct open_spec){
                            .file = i, .access = "RD", .share = "RWD", .delete_on_close = i == 4 });
    (void)must_open(stage, (struct open_spec){ .who = BERT, .access = "R", .share = "RWD" });
    while (open_client_close_next(stage->table, stage->clients[ANNA], &closed)) {
        count++;
        if (!closed.delete_file)
            continue;
        deleted++;
        assert_int_equal(closed.key.file_id, FILE_ID + 4);
        open_table_deleted(stage->table, closed.key);
    }
    assert_int_equal(count, 10);
    assert_int_equal(deleted, 1);
    assert_int_equal(open_table_handle_count(stage->table), 1);
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, stage_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(a_client_is_woken_for_every_event_and_fetches_it_once),
        STAGED(a_legacy_break_names_the_handle),
        STAGED(breaks_are_fetched_before_closings),
        STAGED(of_unfetched_breaks_of_a_lease_the_last_one_counts),
        STAGED(a_break_is_forgotten_with_the_last_handle),
        STAGED(closings_need_not_be_fetched),
        STAGED(a_clients_text_is_cut_to_its_limit),
        STAGED(a_lost_client_is_closed_handle_by_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
