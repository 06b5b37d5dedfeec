/*
 * test_copy_source.c - URLs of copy sources, and which of them are this server's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/http/copy_source.h"

static struct account_list *accounts;

static int set_up(void **state)
{
    const char *fault = NULL;
    (void)state;
    return account_list_new("one:a2V5;two:a2V5", &accounts, &fault) == OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    account_list_free(accounts);
    return 0;
}

static void urls_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *host;
        unsigned port;
        const char *target;
    } rows[] = {
        { "http://h/a/b", "h", 80, "/a/b" },
        { "HTTPS://h/a?b=c&d=%20", "h", 443, "/a?b=c&d=%20" },
        { "http://h.x.y:10000/a", "h.x.y", 10000, "/a" },
        { "http://127.0.0.1:1/a", "127.0.0.1", 1, "/a" },
        { "http://[::1]:65535/a", "[::1]", 65535, "/a" },
        { "https://[::1]/a", "[::1]", 443, "/a" },
        { "http://h/a@b:c", "h", 80, "/a@b:c" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct copy_url url;
        assert_int_equal(copy_url_parse(slice_of(rows[i].text), &url), OK);
        assert_true(slice_is(url.host, rows[i].host));
        assert_int_equal(url.port, rows[i].port);
        assert_true(slice_is(url.target, rows[i].target));
        assert_int_equal(url.is_https, rows[i].text[4] == 'S' || rows[i].text[4] == 's');
    }
}

static void what_is_no_url_of_a_resource_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "h/a",
        "/a/b",
        "ftp://h/a",
        "file:///etc/passwd",
        "gopher://h/a",
        "http://",
        "http:///a",
        "http://h",
        "http://h/",
        "http://h?a=b",
        "http://h?a/b",
        "http://user@h/a",
        "http://user:word@h/a",
        "http://h:0/a",
        "http://h:65536/a",
        "http://h:/a",
        "http://h:80x/a",
        "http://[::1/a",
        "http://[::1]x/a",
        "http://h/a b",
        "http://h/a#b",
        "http://h/a\r\nX: y",
        "http://h/\xc3\xa4",
        "http://h\\@other/a",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct copy_url url;
        if (copy_url_parse(slice_of(texts[i]), &url) != ERR_MALFORMED)
            print_message("text %zu\n", i);
        assert_int_equal(copy_url_parse(slice_of(texts[i]), &url), ERR_MALFORMED);
    }
}

static void a_url_is_shown_without_its_signature(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *shown;
    } rows[] = {
        { "http://h/a", "http://h/a" },
        { "http://h/a?", "http://h/a?" },
        { "http://h/a?sv=1&sp=r", "http://h/a?sv=1&sp=r" },
        { "http://h/a?sig=x", "http://h/a" },
        { "http://h/a?SIG=x%2B&sv=1", "http://h/a?sv=1" },
        { "http://h/a?sv=1&sig=x", "http://h/a?sv=1" },
        { "http://h/a?sv=1&sig=x&sp=r&sig=y", "http://h/a?sv=1&sp=r" },
        { "http://h/sig=a?signed=1&sig", "http://h/sig=a?signed=1&sig" },
        { "http://h/a?snapshot=2020&sig=", "http://h/a?snapshot=2020" },
    };
    struct arena arena = { 0 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct slice shown = copy_url_without_signature(&arena, slice_of(rows[i].text));
        assert_true(slice_is(shown, rows[i].shown));
    }
    arena_release(&arena);
}

static void a_source_is_here_if_it_has_the_requests_own_host_and_port(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *own;
        bool is_here;
    } rows[] = {
        { "http://127.0.0.1:10000/one/c/b", "127.0.0.1:10000", true },
        { "http://localhost:10000/one/c/b", "127.0.0.1:10000", true },
        { "http://LOCALHOST:10000/one/c/b", "localhost:10000", true },
        { "https://127.0.0.1:10000/one/c/b", "127.0.0.1:10000", true },
        { "http://127.0.0.1:10001/one/c/b", "127.0.0.1:10000", false },
        { "http://127.0.0.1/one/c/b", "127.0.0.1:10000", false },
        { "http://h/one/c/b", "h", true },
        { "http://h:80/one/c/b", "h", true },
        { "http://127.0.0.2:10000/one/c/b", "127.0.0.1:10000", false },
        { "http://other:10000/one/c/b", "127.0.0.1:10000", false },
        /* host style */
        { "http://one.blob.localhost:10000/c/b", "one.blob.localhost:10000", true },
        { "http://two.blob.localhost:10000/c/b", "one.blob.localhost:10000", true },
        { "http://two-secondary.blob.localhost:10000/c/b", "one.blob.localhost:10000", true },
        { "http://three.blob.localhost:10000/c/b", "one.blob.localhost:10000", false },
        { "http://two.blob.other:10000/c/b", "one.blob.localhost:10000", false },
        /* one of each */
        { "http://one.blob.localhost:10000/c/b", "localhost:10000", true },
        { "http://one.blob.localhost:10000/c/b", "127.0.0.1:10000", true },
        { "http://one.blob.store.example:10000/c/b", "blob.store.example:10000", true },
        { "http://one.blob.core.windows.net:10000/c/b", "127.0.0.1:10000", false },
        { "https://one.blob.core.windows.net/c/b", "127.0.0.1:10000", false },
        { "http://one.evil.example:10000/c/b", "127.0.0.1:10000", false },
        { "http://h/one/c/b", "", false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct copy_url url;
        assert_int_equal(copy_url_parse(slice_of(rows[i].url), &url), OK);
        const bool is_here = copy_url_is_here(&url, slice_of(rows[i].own), false, accounts);
        if (is_here != rows[i].is_here)
            print_message("%s at %s\n", rows[i].url, rows[i].own);
        assert_int_equal(is_here, rows[i].is_here);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(what_is_no_url_of_a_resource_is_refused),
        cmocka_unit_test(a_url_is_shown_without_its_signature),
        cmocka_unit_test(a_source_is_here_if_it_has_the_requests_own_host_and_port),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
