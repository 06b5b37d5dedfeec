/*
 * test_queue_sweep.c - what the sweeper does for queues: deleted ones, cleared ones, messages that
 * have expired; and that it leaves all else alone.
 */
#include "service/queue/queue_sweep.h"

#include "base/log.h"
#include "queue_fixture.h"
#include "service/sweeper.h"

static const struct slice ACCOUNT = SLICE_LITERAL(FIXTURE_ACCOUNT_NAME);

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static size_t rows_of(struct service_fixture *fixture, struct slice partition)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, partition, &out);
}

static bool is_marked(struct service_fixture *fixture, struct slice partition)
{
    bool marked;
    assert_int_equal(partition_is_marked(fixture->service.store, partition, &marked), OK);
    return marked;
}

static void pass(struct service_fixture *fixture)
{
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
}

/* A pass that does not look at everything. */
static void pass_usually(struct service_fixture *fixture, struct slice partition)
{
    const struct sweep sweep = { .service = &fixture->service, .extent = SWEEP_USUAL };
    assert_int_equal(queue_sweep_marked(&sweep, partition), OK);
}

static void put_many(struct service_fixture *fixture, unsigned count, int64_t ttl_sec)
{
    for (unsigned i = 0; i < count; i++)
        put_text_for(fixture, "text", 0, ttl_sec);
}

static void all_rows_of_a_deleted_queue_are_removed(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct slice partition = queue_messages(fixture, "work");
    put_many(fixture, 300, DAY_SEC);
    assert_int_equal(clear_all(fixture), OK);
    put_many(fixture, 10, DAY_SEC);
    assert_int_equal(rows_of(fixture, partition), 2 * 310 + 1);
    assert_int_equal(queue_remove(fixture, "work"), OK);
    queue_make(fixture, "work");
    put_one(fixture, "new");
    assert_int_equal(sweeper_pass(&fixture->service, ACCOUNT), OK);
    assert_int_equal(rows_of(fixture, partition), 1); /* closed */
    assert_false(is_marked(fixture, partition));
    get_text_is(fixture, 30, "new");
    pass(fixture);
    assert_int_equal(rows_of(fixture, account_partition(&fixture->arena, ACCOUNT)), 1);
}

/* A request that looked the queue up before it was deleted. */
static void a_put_that_comes_after_the_sweeper_finds_no_queue(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct queue_name name = queue_named("work");
    struct queue queue;
    assert_int_equal(queue_get(&fixture->service, &fixture->arena, &name, &queue), OK);
    const struct message put = put_one(fixture, "one");
    const struct sweep sweep = { .service = &fixture->service };
    assert_int_equal(queue_sweep_incarnation(&sweep, queue.incarnation), OK);
    struct message_put late = put_of("late");
    assert_int_equal(put_await(fixture, &late), ERR_QUEUE_NOT_FOUND);
    assert_int_equal(delete_one(fixture, &put), ERR_QUEUE_NOT_FOUND);
    assert_int_equal(clear_all(fixture), ERR_QUEUE_NOT_FOUND);
    assert_int_equal(rows_of(fixture, queue_messages(fixture, "work")), 1);
}

static void messages_that_were_cleared_are_removed(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct slice partition = queue_messages(fixture, "work");
    for (unsigned i = 0; i < 3; i++) {
        put_many(fixture, 100, MESSAGE_NEVER_EXPIRES);
        assert_int_equal(clear_all(fixture), OK);
    }
    put_many(fixture, 5, MESSAGE_NEVER_EXPIRES);
    assert_true(is_marked(fixture, partition));
    pass_usually(fixture, partition);
    assert_int_equal(rows_of(fixture, partition), 2 * 5 + 1);
    assert_false(is_marked(fixture, partition));
    assert_int_equal(queue_count(fixture, "work"), 5);
}

static void the_first_messages_are_removed_when_they_have_expired(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct slice partition = queue_messages(fixture, "work");
    put_many(fixture, 600, 10);
    put_text_for(fixture, "alive", 0, DAY_SEC);
    put_many(fixture, 3, 10);
    fixture_advance_ms(fixture, 11000);
    pass_usually(fixture, partition);
    assert_int_equal(queue_count(fixture, "work"), 4);
    assert_int_equal(rows_of(fixture, partition), 2 * 4 + 1);
    get_text_is(fixture, 30, "alive");
}

static void a_thorough_pass_removes_all_that_have_expired(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct slice partition = queue_messages(fixture, "work");
    put_text_for(fixture, "alive", 0, DAY_SEC);
    put_many(fixture, 600, 10);
    put_text_for(fixture, "for ever", 0, MESSAGE_NEVER_EXPIRES);
    const struct message_get get = get_some(fixture, 10, DAY_SEC); /* nine out of sight expire */
    assert_int_equal(get.count, 10);
    pass(fixture);
    assert_int_equal(queue_count(fixture, "work"), 602);
    fixture_advance_ms(fixture, 11000);
    pass_usually(fixture, partition);
    pass(fixture);
    assert_int_equal(queue_count(fixture, "work"), 2);
    assert_int_equal(rows_of(fixture, partition), 2 * 2 + 1);
    /* What is left expires in a day: until then nothing is looked at. */
    const struct queue_head head = queue_head_of(fixture, "work");
    assert_int_equal(head.expiry_floor, get.messages[0].expires);
    assert_true(is_marked(fixture, partition));
    assert_int_equal(delete_one(fixture, &get.messages[0]), OK);
    fixture_advance_ms(fixture, INT64_C(1000) * DAY_SEC);
    pass(fixture);
    assert_int_equal(queue_head_of(fixture, "work").expiry_floor, 0);
    assert_false(is_marked(fixture, partition));
    get_text_is(fixture, 30, "for ever");
}

/* --- a clock that is set back --- */

/* What happens while a pass waits for its updates: the third is the removal of messages, and all
   have expired by the clock that is looked at before it. */
struct set_back {
    struct service_fixture *fixture;
    unsigned wait_count;
};

static void set_back_while_waiting(void *arg)
{
    struct set_back *set_back = arg;
    const unsigned count = ++set_back->wait_count;
    if (count == 3)
        fixture_advance_ms(set_back->fixture, -60 * 1000);
    partition_step(set_back->fixture->service.store, SIZE_MAX);
    if (count == 2)
        fixture_advance_ms(set_back->fixture, 60 * 1000);
}

/* A message out of sight, in a store by step. */
static struct message put_by_step(struct service_fixture *fixture, int64_t ttl_sec)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct message_put put = put_of("text");
    put.visibility_sec = DAY_SEC;
    put.ttl_sec = ttl_sec;
    put.name = queue_named("work");
    waiter_bind(&waiter, &put.base, &arena);
    message_put(&fixture->service, &put);
    partition_step(fixture->service.store, SIZE_MAX);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    return put.message;
}

static void make_by_step(struct service_fixture *fixture)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct queue_change change = { .name = queue_named("work") };
    waiter_bind(&waiter, &change.base, &arena);
    queue_create(&fixture->service, &change);
    partition_step(fixture->service.store, SIZE_MAX);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void a_message_stays_when_the_clock_is_set_back_before_its_removal(void **state)
{
    struct service_fixture *fixture = *state;
    struct set_back set_back = { .fixture = fixture };
    const struct partition_options options = { .clock = &fixture->clock,
                                               .stream = fixture->stream,
                                               .by_step = true,
                                               .yield = set_back_while_waiting,
                                               .yield_arg = &set_back };
    partition_close(fixture->service.store);
    fixture->service.store = partition_open_memory(&options);
    make_by_step(fixture);
    put_by_step(fixture, 50);
    const struct message later = put_by_step(fixture, 100);
    fixture_advance_ms(fixture, 60 * 1000);
    pass(fixture);
    assert_true(set_back.wait_count >= 4);
    assert_int_equal(queue_count(fixture, "work"), 1);
    assert_int_equal(queue_head_of(fixture, "work").expiry_floor, later.expires);
}

static void an_empty_queue_loses_its_mark_and_gets_it_again(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    const struct slice partition = queue_messages(fixture, "work");
    for (unsigned i = 0; i < 3; i++) {
        const struct message put = put_one(fixture, "one");
        pass(fixture);
        assert_true(is_marked(fixture, partition));
        assert_int_equal(delete_one(fixture, &put), OK);
        pass_usually(fixture, partition);
        assert_false(is_marked(fixture, partition));
    }
}

/* Messages move and come while a pass looks at all of them. */
struct traffic {
    struct service_fixture *fixture;
    _Atomic bool stop;
};

static void *make_traffic(void *arg)
{
    struct traffic *traffic = arg;
    struct service_fixture *fixture = traffic->fixture;
    struct arena arena = { 0 };
    while (!traffic->stop) {
        struct message_get get = get_of(8, 0);
        get.visibility_sec = 1;
        struct waiter waiter;
        waiter_bind(&waiter, &get.base, &arena);
        message_get(&fixture->service, &get);
        if (waiter_wait(&waiter) != OK)
            abort();
        for (size_t i = 0; i < get.count; i++) {
            struct message message = get.messages[i];
            if (update_one(fixture, &message, 0, NULL) != OK)
                abort();
        }
        struct message_put put = put_of("more");
        if (put_await(fixture, &put) != OK || delete_one(fixture, &put.message) != OK)
            abort();
        arena_clear(&arena);
    }
    arena_release(&arena);
    return NULL;
}

static void a_pass_beside_clients_loses_nothing(void **state)
{
    struct service_fixture *fixture = *state;
    queue_make(fixture, "work");
    put_many(fixture, 300, DAY_SEC);
    for (unsigned i = 0; i < 200; i++)
        put_text_for(fixture, "dead", 3600, 3601);
    struct traffic traffic = { .fixture = fixture };
    pthread_t thread;
    fixture_advance_ms(fixture, 3602 * 1000);
    assert_int_equal(pthread_create(&thread, NULL, make_traffic, &traffic), 0);
    for (unsigned i = 0; i < 20; i++)
        pass(fixture);
    traffic.stop = true;
    pthread_join(thread, NULL);
    pass(fixture);
    assert_int_equal(queue_count(fixture, "work"), 300);
    size_t count = 0;
    struct message_get get;
    while ((get = get_some(fixture, 32, DAY_SEC)).count > 0)
        count += get.count;
    assert_int_equal(count, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(all_rows_of_a_deleted_queue_are_removed),
        ON_ALL_ENGINES(a_put_that_comes_after_the_sweeper_finds_no_queue),
        ON_ALL_ENGINES(messages_that_were_cleared_are_removed),
        ON_ALL_ENGINES(the_first_messages_are_removed_when_they_have_expired),
        ON_ALL_ENGINES(a_thorough_pass_removes_all_that_have_expired),
        ON_ALL_ENGINES(an_empty_queue_loses_its_mark_and_gets_it_again),
        ON_MEMORY(a_message_stays_when_the_clock_is_set_back_before_its_removal),
        ON_THREADS(a_pass_beside_clients_loses_nothing),
        ON_ROCKSDB(a_pass_beside_clients_loses_nothing),
    };
    return cmocka_run_group_tests_name("queue_sweep", tests, quiet, NULL);
}
