/*
 * test_log.c - the form of a line and what a client's text can do to it.  The log is a file
 * in memory that the test reads back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

enum {
    PREFIX_LEN = 25, /* 2026-11-15T03:24:00.123Z and a space */
    LOG_BYTES_MAX = 1 << 20,
};

static int memory_file;
static char text[LOG_BYTES_MAX];

static int open_log(void **state)
{
    (void)state;
    char path[64];
    memory_file = memfd_create("log", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_file);
    log_set_level(LOG_INFO);
    return memory_file < 0 || log_open(path) != OK;
}

static int close_log(void **state)
{
    (void)state;
    return close(memory_file);
}

/* Everything logged so far, and its length. */
static size_t read_log(void)
{
    const ssize_t got = pread(memory_file, text, sizeof(text) - 1, 0);
    assert_true(got >= 0);
    text[got] = '\0';
    return (size_t)got;
}

/* The log is one line that says `expected` after its time. */
static void assert_logged(const char *expected)
{
    const size_t len = read_log();
    assert_true(len > PREFIX_LEN);
    assert_ptr_equal(strchr(text, '\n'), text + len - 1);
    text[len - 1] = '\0';
    assert_string_equal(text + PREFIX_LEN, expected);
}

static void a_line_has_time_level_area_and_message(void **state)
{
    (void)state;
    log_info("listener", "%s service on port %d", "blob", 10000);
    assert_logged("info listener: blob service on port 10000");
    const char *const shape = "dddd-dd-ddTdd:dd:dd.dddZ ";
    for (size_t i = 0; i < PREFIX_LEN; i++) {
        if (shape[i] == 'd')
            assert_in_range(text[i], '0', '9');
        else
            assert_int_equal(text[i], shape[i]);
    }
}

static void less_important_lines_are_dropped(void **state)
{
    (void)state;
    assert_true(log_enabled(LOG_INFO));
    assert_false(log_enabled(LOG_DEBUG));
    log_debug("area", "not seen");
    assert_int_equal(read_log(), 0);

    log_set_level(LOG_ERROR);
    log_warn("area", "not seen");
    log_info("area", "not seen");
    log_error("area", "seen");
    assert_logged("error area: seen");
    assert_false(log_enabled(LOG_WARN));
}

static void debug_lines_are_written_when_asked_for(void **state)
{
    (void)state;
    log_set_level(LOG_DEBUG);
    log_debug("area", "seen");
    assert_logged("debug area: seen");
}

static void a_message_cannot_forge_a_line(void **state)
{
    (void)state;
    log_warn("auth", "%s", "name\n2026-11-15T03:24:00.123Z info forged: line\r\n");
    assert_logged("warn auth: name\\n2026-11-15T03:24:00.123Z info forged: line\\x0d\\n");
}

static void every_byte_that_is_not_printable_is_escaped(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        char expected[32];
        const char *const form = byte == '\n'                 ? "error area: \\n"
                                 : byte == '\\'               ? "error area: \\\\"
                                 : byte < 0x20 || byte > 0x7e ? NULL
                                                              : "";
        if (form == NULL)
            snprintf(expected, sizeof(expected), "error area: \\x%02x", byte);
        else if (form[0] == '\0')
            snprintf(expected, sizeof(expected), "error area: %c", byte);
        else
            snprintf(expected, sizeof(expected), "%s", form);
        assert_int_equal(ftruncate(memory_file, 0), 0);
        log_error("area", "%c", byte);
        assert_logged(expected);
    }
}

static void a_long_message_is_cut_and_says_so(void **state)
{
    (void)state;
    for (size_t len = 2000; len < 2100; len++) {
        char message[2200];
        memset(message, 'x', len);
        message[len] = '\0';
        assert_int_equal(ftruncate(memory_file, 0), 0);
        log_error("area", "%s", message);
        const size_t logged = read_log();
        const size_t plain = PREFIX_LEN + strlen("error area: ") + len + 1;
        if (len <= 2047)
            assert_int_equal(logged, plain);
        else
            assert_string_equal(text + logged - 4, "...\n");
    }
}

static void a_message_of_escapes_ends_in_one_newline(void **state)
{
    (void)state;
    char message[3000];
    memset(message, '\n', sizeof(message));
    message[sizeof(message) - 1] = '\0';
    log_error("area", "%s", message);
    const size_t len = read_log();
    assert_in_range(len, 2000, 4096);
    assert_ptr_equal(strchr(text, '\n'), text + len - 1);

    memset(message, '\x1b', sizeof(message) - 1);
    assert_int_equal(ftruncate(memory_file, 0), 0);
    log_error("area", "%s", message);
    const size_t escaped_len = read_log();
    assert_in_range(escaped_len, 4000, 4096);
    assert_ptr_equal(strchr(text, '\n'), text + escaped_len - 1);
}

static void logging_keeps_errno_even_when_it_fails(void **state)
{
    (void)state;
    /* Every write to it fails with ENOSPC. */
    assert_int_equal(log_open("/dev/full"), OK);
    errno = ENOENT;
    log_error("area", "%s", "anything");
    assert_int_equal(errno, ENOENT);
}

static void a_log_that_cannot_be_opened_leaves_the_old_one(void **state)
{
    (void)state;
    assert_int_equal(log_open("/proc/no/such/file"), ERR_IO);
    log_error("area", "still here");
    assert_logged("error area: still here");
}

static void corruption_is_logged_with_the_line_that_saw_it(void **state)
{
    (void)state;
    char expected[256];
    const int line = __LINE__ + 1;
    assert_int_equal(CORRUPT("extent %d at %d", 7, 4096), ERR_CORRUPT);
    snprintf(expected, sizeof(expected), "error corrupt: %s:%d: extent 7 at 4096", __FILE__, line);
    assert_logged(expected);
}

static void panic_logs_and_ends_the_process(void **state)
{
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* cmocka's handler would take the signal for a failed test. */
        signal(SIGABRT, SIG_DFL);
        panic("sync of %s failed", "extent 9");
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_logged("error panic: sync of extent 9 failed");
}

static void *log_many(void *arg)
{
    for (int i = 0; i < 500; i++)
        log_info("area", "%s", (const char *)arg);
    return NULL;
}

static void lines_of_several_threads_never_mix(void **state)
{
    (void)state;
    static char messages[4][101];
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        memset(messages[i], 'a' + (int)i, 100);
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, messages[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);

    const size_t start = PREFIX_LEN + strlen("info area: ");
    const size_t len = read_log();
    assert_int_equal(len, 2000 * (start + 101));
    for (size_t at = 0; at < len; at += start + 101) {
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(text[at + start + i], text[at + start]);
        assert_int_equal(text[at + start + 100], '\n');
    }
}

#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, open_log, close_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(a_line_has_time_level_area_and_message),
        LOG_TEST(less_important_lines_are_dropped),
        LOG_TEST(debug_lines_are_written_when_asked_for),
        LOG_TEST(a_message_cannot_forge_a_line),
        LOG_TEST(every_byte_that_is_not_printable_is_escaped),
        LOG_TEST(a_long_message_is_cut_and_says_so),
        LOG_TEST(a_message_of_escapes_ends_in_one_newline),
        LOG_TEST(logging_keeps_errno_even_when_it_fails),
        LOG_TEST(a_log_that_cannot_be_opened_leaves_the_old_one),
        LOG_TEST(corruption_is_logged_with_the_line_that_saw_it),
        LOG_TEST(panic_logs_and_ends_the_process),
        LOG_TEST(lines_of_several_threads_never_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
