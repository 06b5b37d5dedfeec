/*
 * test_http_fetch.c - the life of a fetch, with sources that need no network.  Fetching by HTTP is
 * tested by tests/e2e/copy.test.mjs.
 */
#include "frontend/http/http_fetch.h"

#include "../service/service_fixture.h"

/* A fetch of a text, and what became of it. */
struct fetched {
    struct http_fetch fetch;
    struct payload_reader reader;
    struct arena arena;
    struct waiter begun;
    struct waiter done;
    enum http_fetch_next next; /* what `begun` answers */
    enum err receive_err;
    char bytes[64];
    size_t len;
};

static struct http_fetcher *fetcher;

static int set_up(void **state)
{
    (void)state;
    return http_fetcher_new(&fetcher) == OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    http_fetcher_free(fetcher);
    return 0;
}

static enum http_fetch_next on_begun(void *arg, struct http_fetch *fetch)
{
    struct fetched *fetched = arg;
    assert_true(fetch->has_length);
    fetch->err = fetched->next == HTTP_FETCH_STOP ? ERR_COPY_SOURCE_TOO_LARGE : OK;
    waiter_done(&fetched->begun, OK);
    return fetched->next;
}

static enum err on_receive(void *arg, struct slice bytes)
{
    struct fetched *fetched = arg;
    if (fetched->receive_err != OK)
        return fetched->receive_err;
    assert_true(fetched->len + bytes.len < sizeof(fetched->bytes));
    memcpy(fetched->bytes + fetched->len, bytes.data, bytes.len);
    fetched->len += bytes.len;
    return OK;
}

static void on_done(void *arg, enum err err)
{
    struct fetched *fetched = arg;
    waiter_done(&fetched->done, err);
}

static void start(struct fetched *fetched, const char *text)
{
    fetched->reader.bytes = slice_of(text);
    fetched->reader.length_bytes = strlen(text);
    waiter_init(&fetched->begun);
    waiter_init(&fetched->done);
    fetched->fetch = (struct http_fetch){
        .arena = &fetched->arena,
        .reader = &fetched->reader,
        .reader_length = strlen(text),
        .begun = on_begun,
        .receive = on_receive,
        .done = on_done,
        .arg = fetched,
    };
    http_fetch_start(fetcher, &fetched->fetch);
}

static enum err end(struct fetched *fetched)
{
    const enum err err = waiter_wait(&fetched->done);
    arena_release(&fetched->arena);
    return err;
}

static void a_source_arrives_whole(void **state)
{
    (void)state;
    struct fetched fetched = { .next = HTTP_FETCH_GO };
    start(&fetched, "the whole of it");
    assert_int_equal(end(&fetched), OK);
    assert_string_equal(fetched.bytes, "the whole of it");
    struct fetched empty = { .next = HTTP_FETCH_GO };
    start(&empty, "");
    assert_int_equal(end(&empty), OK);
    assert_int_equal(empty.len, 0);
}

static void nothing_arrives_while_a_fetch_waits(void **state)
{
    (void)state;
    const char *const texts[] = { "later", "" };
    for (size_t i = 0; i < 2; i++) {
        struct fetched fetched = { .next = HTTP_FETCH_WAIT };
        struct fetched other = { .next = HTTP_FETCH_GO };
        start(&fetched, texts[i]);
        assert_int_equal(waiter_wait(&fetched.begun), OK);
        /* The fetcher has gone on to others. */
        start(&other, "meanwhile");
        assert_int_equal(end(&other), OK);
        assert_int_equal(fetched.len, 0);
        http_fetch_resume(&fetched.fetch);
        assert_int_equal(end(&fetched), OK);
        assert_string_equal(fetched.bytes, texts[i]);
    }
}

static enum http_fetch_next resume_at_once(void *arg, struct http_fetch *fetch)
{
    (void)arg;
    http_fetch_resume(fetch);
    return HTTP_FETCH_WAIT;
}

static void a_fetch_may_be_resumed_before_it_waits(void **state)
{
    (void)state;
    struct fetched fetched = { 0 };
    fetched.reader.bytes = slice_of("text");
    fetched.reader.length_bytes = 4;
    waiter_init(&fetched.done);
    fetched.fetch = (struct http_fetch){
        .arena = &fetched.arena,
        .reader = &fetched.reader,
        .reader_offset = 1,
        .reader_length = 2,
        .begun = resume_at_once,
        .receive = on_receive,
        .done = on_done,
        .arg = &fetched,
    };
    http_fetch_start(fetcher, &fetched.fetch);
    assert_int_equal(end(&fetched), OK);
    assert_string_equal(fetched.bytes, "ex");
}

static void the_caller_can_end_a_fetch(void **state)
{
    (void)state;
    struct fetched stopped = { .next = HTTP_FETCH_STOP };
    start(&stopped, "too long");
    assert_int_equal(end(&stopped), ERR_COPY_SOURCE_TOO_LARGE);
    assert_int_equal(stopped.len, 0);
    struct fetched failed = { .next = HTTP_FETCH_GO, .receive_err = ERR_NO_SPACE };
    start(&failed, "text");
    assert_int_equal(end(&failed), ERR_NO_SPACE);
}

static void only_http_is_fetched(void **state)
{
    (void)state;
    const char *const urls[] = { "file:///etc/hostname", "ftp://127.0.0.1/x",
                                 "http://127.0.0.1:1/x" };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct fetched fetched = { .next = HTTP_FETCH_GO };
        waiter_init(&fetched.begun);
        waiter_init(&fetched.done);
        fetched.fetch = (struct http_fetch){
            .arena = &fetched.arena,
            .url = urls[i],
            .begun = on_begun,
            .receive = on_receive,
            .done = on_done,
            .arg = &fetched,
        };
        http_fetch_start(fetcher, &fetched.fetch);
        assert_int_equal(end(&fetched), ERR_COPY_SOURCE_UNREACHABLE);
        assert_int_equal(fetched.len, 0);
    }
}

static void a_fetcher_that_stops_ends_its_fetches(void **state)
{
    (void)state;
    struct fetched waiting = { .next = HTTP_FETCH_WAIT };
    struct fetched late = { .next = HTTP_FETCH_GO };
    start(&waiting, "never to come");
    assert_int_equal(waiter_wait(&waiting.begun), OK);
    http_fetch_resume(&waiting.fetch);
    http_fetcher_stop(fetcher);
    const enum err err = end(&waiting);
    assert_true(err == ERR_SHUTTING_DOWN || err == OK);
    start(&late, "text");
    assert_int_equal(end(&late), ERR_SHUTTING_DOWN);
    assert_int_equal(late.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_source_arrives_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_arrives_while_a_fetch_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fetch_may_be_resumed_before_it_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_caller_can_end_a_fetch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_http_is_fetched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fetcher_that_stops_ends_its_fetches, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("http_fetch", tests, NULL, NULL);
}
