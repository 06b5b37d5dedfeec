#include "service/file/open_timer.h"

#include "service_fixture.h"

static void refused(void *arg, enum err err)
{
    waiter_done(arg, err);
}

static void granted(void *arg, enum err err)
{
    *(enum err *)arg = err;
}

/* A client holds a cache and never answers; the request gives up when its time is over. */
static void a_request_gives_up_without_anybody_asking(void **state)
{
    struct service_fixture *fixture = *state;
    struct open_table *table = open_table_new(&fixture->clock);
    const struct open_client_settings settings = { .address = slice_of("a:1") };
    struct open_client *client = open_client_new(&settings);
    struct open_timer *timer;
    enum err opened = ERR_BUSY;
    struct open_request open = {
        .wait = { .done = granted, .arg = &opened },
        .client = client,
        .key = { .share = 1, .file_id = 2 },
        .mode = { .access = FILE_ACCESS_WRITE, .share = FILE_ACCESS_ALL },
        .caching = OPEN_CACHING_LEASE,
        .wanted = CACHING_RWH,
        .lease_key = { .bytes = { 1 } },
    };
    open_table_open(table, &open);
    assert_int_equal(opened, OK);

    struct waiter waiter;
    waiter_init(&waiter);
    struct open_operation operation = {
        .wait = { .done = refused, .arg = &waiter },
        .operation = FILE_OPERATION_GET,
        .key = { .share = 1, .file_id = 2 },
        .timeout_sec = 5,
    };
    open_table_begin(table, &operation);
    assert_false(waiter.finished);
    assert_int_equal(open_timer_new(table, &timer), OK);
    fixture_advance_ms(fixture, 5100);
    assert_int_equal(waiter_wait(&waiter), ERR_CACHE_FLUSH_DELAY);
    open_timer_free(timer);

    struct open_closed closed;
    while (open_client_close_next(table, client, &closed))
        continue;
    open_client_free(client);
    open_table_free(table);
}

static void a_timer_that_has_nothing_to_do_ends_at_once(void **state)
{
    struct service_fixture *fixture = *state;
    struct open_table *table = open_table_new(&fixture->clock);
    struct open_timer *timer;
    assert_int_equal(open_timer_new(table, &timer), OK);
    open_timer_free(timer);
    open_timer_free(NULL);
    open_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(a_request_gives_up_without_anybody_asking),
        ON_MEMORY(a_timer_that_has_nothing_to_do_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
