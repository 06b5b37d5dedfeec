/*
 * test_sweep_cost.c - what a pass of the sweeper reads in the durable engine follows from what it
 * has to do, not from what is stored beside it nor from what earlier passes have removed.
 */
#include "engine_cost.h"
#include "history_fixture.h"
#include "node_fixture.h"
#include "queue_fixture.h"
#include "service/queue/queue_sweep.h"
#include "service/sweeper.h"
#include "table_fixture.h"

enum {
    MANY = 1000,
    FEW_MAX = 20, /* keys that a pass with little to do may pass by, whatever is there */
    EACH_MAX = 5, /* keys for each resource that a pass removes */
};

static const struct slice ACCOUNT = SLICE_LITERAL(FIXTURE_ACCOUNT_NAME);

/* A fixture on RocksDB whose updates run in the test's own thread. */
static struct service_fixture *in_caller(void **state)
{
    struct service_fixture *fixture = *state;
    open_in_caller(fixture);
    return fixture;
}

/* --- counting --- */

typedef enum err pass_fn(struct service *service);

static enum err account_pass(struct service *service)
{
    return sweeper_pass(service, ACCOUNT);
}

/* What the sweeper does every few seconds. */
static struct slice usual_partition;

static enum err usual_queue_pass(struct service *service)
{
    const struct sweep sweep = { .service = service, .extent = SWEEP_USUAL };
    return queue_sweep_marked(&sweep, usual_partition);
}

static uint64_t passed_by(struct service_fixture *fixture, pass_fn *pass)
{
    rocksdb_perfcontext_t *context = begin_count();
    const enum err err = pass(&fixture->service);
    const uint64_t count = end_count(context);
    assert_int_equal(err, OK);
    return count;
}

static void assert_at_most(uint64_t count, uint64_t max)
{
    if (count > max)
        fail_msg("%llu keys were passed by, at most %llu were expected", (unsigned long long)count,
                 (unsigned long long)max);
}

/* --- filling --- */

static const char *name_of(struct service_fixture *fixture, unsigned number)
{
    return arena_printf(&fixture->arena, "%06u", number).data;
}

static void put_blobs(struct service_fixture *fixture)
{
    for (unsigned i = 0; i < MANY; i++)
        blob_put_text(fixture, name_of(fixture, i), "text");
}

static void put_messages(struct service_fixture *fixture, unsigned count, int64_t ttl_sec)
{
    for (unsigned i = 0; i < count; i++)
        put_text_for(fixture, "text", 0, ttl_sec);
}

/* --- what is there and is to stay --- */

/* One of them is deleted for a while, so that the sweeper has something to wait for. */
static void live_blobs_are_not_looked_at(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    container_make(fixture, "box");
    put_blobs(fixture);
    set_policy(fixture, 1, false);
    assert_int_equal(delete_blob(fixture, "000000"), OK);
    assert_true(box_is_marked(fixture));
    assert_at_most(passed_by(fixture, sweeper_pass_marked), FEW_MAX);
    assert_at_most(passed_by(fixture, account_pass), FEW_MAX);
    fixture_advance_ms(fixture, INT64_C(1001) * DAY_SEC);
    assert_at_most(passed_by(fixture, sweeper_pass_marked), FEW_MAX);
    assert_false(box_is_marked(fixture));
}

static void live_messages_are_not_looked_at_before_one_can_have_expired(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    queue_make(fixture, "work");
    put_messages(fixture, MANY, DAY_SEC);
    assert_at_most(passed_by(fixture, sweeper_pass_marked), FEW_MAX);
}

static void a_usual_pass_looks_at_the_messages_it_removes_and_no_others(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    queue_make(fixture, "work");
    put_messages(fixture, 10, 10);
    put_messages(fixture, MANY, DAY_SEC);
    fixture_advance_ms(fixture, 11000);
    usual_partition = queue_messages(fixture, "work");
    assert_at_most(passed_by(fixture, usual_queue_pass), FEW_MAX);
    assert_int_equal(queue_count(fixture, "work"), MANY);
    for (unsigned i = 0; i < 3; i++)
        assert_at_most(passed_by(fixture, usual_queue_pass), FEW_MAX);
}

static void a_thorough_pass_looks_at_each_message_once(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    queue_make(fixture, "work");
    put_messages(fixture, MANY, DAY_SEC);
    put_messages(fixture, 10, 10);
    fixture_advance_ms(fixture, 11000);
    assert_at_most(passed_by(fixture, sweeper_pass_marked), MANY + 2 * FEW_MAX);
    assert_int_equal(queue_count(fixture, "work"), MANY);
    /* The first of what is left expires in a day. */
    assert_at_most(passed_by(fixture, sweeper_pass_marked), FEW_MAX);
}

static void live_files_are_not_looked_at(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    share_make(fixture, 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(file_create(fixture, name_of(fixture, i), 0), OK);
    assert_at_most(passed_by(fixture, sweeper_pass_marked), FEW_MAX);
}

/* --- what is removed --- */

/* A pass that removes `row_count` rows, and others after it that have nothing to do. */
static void assert_removed_once(struct service_fixture *fixture, pass_fn *pass, unsigned row_count)
{
    const uint64_t passed = passed_by(fixture, pass);
    assert_true(passed >= row_count);
    assert_at_most(passed, (uint64_t)row_count * EACH_MAX);
    for (unsigned i = 0; i < 3; i++)
        assert_at_most(passed_by(fixture, pass), FEW_MAX);
}

static void the_blobs_of_a_deleted_container_are_passed_by_once(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    container_make(fixture, "box");
    put_blobs(fixture);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_removed_once(fixture, account_pass, MANY);
}

static void blobs_that_were_deleted_for_a_while_are_passed_by_when_it_is_over(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    container_make(fixture, "box");
    put_blobs(fixture);
    set_policy(fixture, 1, false);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(delete_blob(fixture, name_of(fixture, i)), OK);
    assert_at_most(passed_by(fixture, sweeper_pass_marked), FEW_MAX);
    fixture_advance_ms(fixture, INT64_C(1001) * DAY_SEC);
    assert_removed_once(fixture, sweeper_pass_marked, MANY);
}

static void the_messages_of_a_deleted_queue_are_passed_by_once(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    queue_make(fixture, "work");
    put_messages(fixture, MANY, DAY_SEC);
    assert_int_equal(queue_remove(fixture, "work"), OK);
    assert_removed_once(fixture, account_pass, MANY);
}

static void messages_that_were_cleared_are_passed_by_once(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    queue_make(fixture, "work");
    put_messages(fixture, MANY, DAY_SEC);
    assert_int_equal(clear_all(fixture), OK);
    put_messages(fixture, 1, DAY_SEC);
    assert_removed_once(fixture, sweeper_pass_marked, MANY);
}

static void messages_that_have_expired_are_passed_by_once(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    queue_make(fixture, "work");
    put_messages(fixture, MANY, 10);
    put_messages(fixture, 1, DAY_SEC);
    fixture_advance_ms(fixture, 11000);
    usual_partition = queue_messages(fixture, "work");
    assert_removed_once(fixture, usual_queue_pass, MANY);
}

static void the_entities_of_a_deleted_table_are_passed_by_once(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    table_make(fixture, "things");
    for (unsigned i = 0; i < MANY; i++)
        entity_put(fixture, "p", name_of(fixture, i), 1);
    assert_int_equal(table_remove(fixture, "things"), OK);
    assert_removed_once(fixture, account_pass, MANY);
}

static void the_files_of_a_deleted_share_are_passed_by_once(void **state)
{
    struct service_fixture *fixture = in_caller(state);
    share_make(fixture, 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(file_create(fixture, name_of(fixture, i), 0), OK);
    struct share_change change = { 0 };
    assert_int_equal(share_await(fixture, share_delete, &change), OK);
    assert_removed_once(fixture, account_pass, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ROCKSDB(live_blobs_are_not_looked_at),
        ON_ROCKSDB(live_messages_are_not_looked_at_before_one_can_have_expired),
        ON_ROCKSDB(a_usual_pass_looks_at_the_messages_it_removes_and_no_others),
        ON_ROCKSDB(a_thorough_pass_looks_at_each_message_once),
        ON_ROCKSDB(live_files_are_not_looked_at),
        ON_ROCKSDB(the_blobs_of_a_deleted_container_are_passed_by_once),
        ON_ROCKSDB(blobs_that_were_deleted_for_a_while_are_passed_by_when_it_is_over),
        ON_ROCKSDB(the_messages_of_a_deleted_queue_are_passed_by_once),
        ON_ROCKSDB(messages_that_were_cleared_are_passed_by_once),
        ON_ROCKSDB(messages_that_have_expired_are_passed_by_once),
        ON_ROCKSDB(the_entities_of_a_deleted_table_are_passed_by_once),
        ON_ROCKSDB(the_files_of_a_deleted_share_are_passed_by_once),
    };
    return cmocka_run_group_tests_name("sweep_cost", tests, quiet, NULL);
}
