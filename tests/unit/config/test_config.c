/*
 * Each test parses one command line, given as words, and looks at the result or at the message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "service/limits.h"

enum {
    WORDS_MAX = 16,
};

/* The outcome of one parse; strings live until the next. */
struct outcome {
    enum config_status status;
    struct config config;
    char *out;
    char *err;
};

static struct arena arena;
static struct outcome outcome;

static void forget_outcome(void)
{
    free(outcome.out);
    free(outcome.err);
    arena_clear(&arena);
    outcome = (struct outcome){ 0 };
}

/* Parse words separated by single spaces, as a shell would split them. */
static const struct outcome *parse(const char *command_line)
{
    forget_outcome();
    char *words = strdup(command_line);
    char *argv[WORDS_MAX + 2] = { NULL };
    int argc = 0;
    char *rest = words;
    static char program[] = "zaffre";
    argv[argc++] = program;
    for (char *word; argc <= WORDS_MAX && (word = strsep(&rest, " ")) != NULL;) {
        if (*word != '\0')
            argv[argc++] = (char *)(uintptr_t)arena_copy(&arena, slice_of(word)).data;
    }
    free(words);

    size_t len;
    FILE *out = open_memstream(&outcome.out, &len);
    FILE *err = open_memstream(&outcome.err, &len);
    outcome.status = config_parse(&outcome.config, &arena, argc, argv, out, err);
    fclose(out);
    fclose(err);
    return &outcome;
}

/* Parse `command_line` with a config file of the given text; "%s" in it becomes its path. */
static const struct outcome *parse_with_file(const char *text, const char *command_line)
{
    char path[] = "/tmp/test_config.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);

    char line[512];
    snprintf(line, sizeof(line), "--config %s %s", path, command_line);
    const struct outcome *result = parse(line);
    unlink(path);
    return result;
}

static const struct config *accepted(const struct outcome *result)
{
    assert_string_equal(result->err, "");
    assert_int_equal(result->status, CONFIG_RUN);
    return &result->config;
}

static void assert_refused(const struct outcome *result, const char *message)
{
    assert_int_equal(result->status, CONFIG_INVALID);
    assert_string_equal(result->out, "");
    if (strstr(result->err, message) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", message, result->err);
}

static void no_arguments_give_the_initial_values(void **state)
{
    (void)state;
    const struct config *config = accepted(parse(""));
    assert_string_equal(config->location, ".");
    assert_false(config->in_memory);
    assert_false(config->silent);
    assert_null(config->debug_path);
    assert_null(config->cert_path);
    assert_null(config->oauth);
    assert_string_equal(config->blob_host, "127.0.0.1");
    assert_string_equal(config->admin_host, "127.0.0.1");
    assert_int_equal(config->blob_port, 10000);
    assert_int_equal(config->queue_port, 10001);
    assert_int_equal(config->table_port, 10002);
    assert_int_equal(config->file_port, 10003);
    assert_int_equal(config->admin_port, 10009);
    assert_int_equal(config->workers, 0);
    assert_int_equal(config->committers, 1);
    assert_int_equal(config->cache_bytes, 0);
}

static void initial_values_that_are_limits_agree_with_limits_h(void **state)
{
    (void)state;
    assert_int_equal(accepted(parse(""))->inline_payload_bytes, LIMIT_INLINE_PAYLOAD_BYTES);
    assert_int_equal(accepted(parse(""))->blob_keep_alive_sec, LIMIT_CONNECTION_IDLE_SEC);
}

static void the_command_lines_azurite_documents_are_accepted(void **state)
{
    (void)state;
    const struct config *config = accepted(
        parse("-l /workspace -d /workspace/debug.log --blobPort 7777 --blobHost 0.0.0.0 "
              "--loose --skipApiVersionCheck --disableProductStyleUrl --disableTelemetry"));
    assert_string_equal(config->location, "/workspace");
    assert_string_equal(config->debug_path, "/workspace/debug.log");
    assert_string_equal(config->blob_host, "0.0.0.0");
    assert_int_equal(config->blob_port, 7777);
    assert_true(config->loose);
    assert_true(config->skip_api_version_check);
    assert_true(config->disable_product_style_url);
    assert_true(config->disable_telemetry);

    config = accepted(parse("--blobKeepAliveTimeout 4 --queueKeepAliveTimeout 5 "
                            "--tableKeepAliveTimeout 6 --queueHost ::1 --tableHost localhost "
                            "--tablePort 0 --queuePort 65535 -s -L"));
    assert_int_equal(config->blob_keep_alive_sec, 4);
    assert_int_equal(config->queue_keep_alive_sec, 5);
    assert_int_equal(config->table_keep_alive_sec, 6);
    assert_string_equal(config->queue_host, "::1");
    assert_string_equal(config->table_host, "localhost");
    assert_int_equal(config->table_port, 0);
    assert_int_equal(config->queue_port, 65535);
    assert_true(config->silent);
    assert_true(config->loose);
}

static void a_value_may_follow_an_equals_sign(void **state)
{
    (void)state;
    const struct config *config =
        accepted(parse("--location=/a=b --blobPort=0 -d=log --silent=false --loose=true"));
    assert_string_equal(config->location, "/a=b");
    assert_string_equal(config->debug_path, "log");
    assert_int_equal(config->blob_port, 0);
    assert_false(config->silent);
    assert_true(config->loose);
}

static void of_a_flag_given_twice_the_last_counts(void **state)
{
    (void)state;
    assert_string_equal(accepted(parse("-l a --location b"))->location, "b");
}

static void what_is_not_a_flag_is_refused_by_name(void **state)
{
    (void)state;
    assert_refused(parse("--blobport 1"), "unknown flag --blobport;");
    assert_refused(parse("--no=thing"), "unknown flag --no;");
    assert_refused(parse("-x"), "unknown flag -x;");
    assert_refused(parse("-sL"), "unknown flag -sL;");
    assert_refused(parse("--"), "unknown flag --;");
    assert_refused(parse("start"), "unexpected argument \"start\"");
    assert_refused(parse("--silent true"), "unexpected argument \"true\"");
}

static void a_missing_value_is_refused_by_name(void **state)
{
    (void)state;
    assert_refused(parse("--location"), "--location needs a value");
    assert_refused(parse("-l --silent"), "-l needs a value");
    assert_refused(parse("--blobPort="), "--blobPort needs a value");
    assert_refused(parse("--debug -s"), "--debug needs a value");
}

static void a_port_is_a_number_up_to_65535(void **state)
{
    (void)state;
    assert_refused(parse("--blobPort 65536"), "--blobPort: \"65536\" is not a port number");
    assert_refused(parse("--blobPort=-1"), "--blobPort: \"-1\" is not a port number");
    assert_refused(parse("--adminPort 80x"), "--adminPort: \"80x\" is not a port number");
    assert_refused(parse("--tablePort +1"), "--tablePort: \"+1\" is not a port number");
}

static void counts_flags_and_sizes_are_checked_too(void **state)
{
    (void)state;
    assert_refused(parse("--workers many"), "--workers: \"many\" is not a whole number");
    assert_refused(parse("--workers 1000001"), "--workers: \"1000001\" is not a whole number");
    assert_refused(parse("--silent=yes"), "--silent: \"yes\" is not true or false");
    assert_refused(parse("--cacheSize 0x10"), "--cacheSize: \"0x10\" is not a number of MiB");
    assert_refused(parse("--cacheSize 1.2.3"), "--cacheSize: \"1.2.3\" is not a number of MiB");
    assert_refused(parse("--cacheSize ."), "--cacheSize: \".\" is not a number of MiB");
    assert_refused(parse("--cacheSize 9999999999"), "is not a number of MiB");
    assert_refused(parse("--committers 0"), "--committers: there has to be at least one");
}

static void sizes_are_given_in_mebibytes(void **state)
{
    (void)state;
    assert_int_equal(accepted(parse("--cacheSize 1.5"))->cache_bytes, 1536 * 1024);
    const struct config *config =
        accepted(parse("--inMemoryPersistence --extentMemoryLimit 10000"));
    assert_int_equal(config->extent_memory_limit_bytes, UINT64_C(10000) * 1024 * 1024);
}

static void data_is_in_memory_or_at_a_location_but_not_both(void **state)
{
    (void)state;
    assert_true(accepted(parse("--inMemoryPersistence"))->in_memory);
    assert_refused(parse("--inMemoryPersistence --location ."), "exclude each other");
    assert_refused(parse_with_file("location = /data\n", "--inMemoryPersistence"),
                   "exclude each other");
    assert_refused(parse("--extentMemoryLimit 5"), "needs --inMemoryPersistence");
}

static void a_certificate_comes_with_its_key_or_password(void **state)
{
    (void)state;
    const struct config *config = accepted(parse("--cert c.pem --key k.pem"));
    assert_string_equal(config->cert_path, "c.pem");
    assert_string_equal(config->key_path, "k.pem");
    assert_string_equal(accepted(parse("--cert c.pfx --pwd x"))->cert_password, "x");
    assert_refused(parse("--cert c.pem"), "--cert needs --key");
    assert_refused(parse("--key k.pem"), "--key needs --cert");
    assert_refused(parse("--pwd x"), "--pwd needs --cert");
}

static void the_only_oauth_level_is_basic(void **state)
{
    (void)state;
    assert_string_equal(accepted(parse("--oauth basic"))->oauth, "basic");
    assert_refused(parse("--oauth strict"), "--oauth: \"strict\" is not a level");
}

static void a_config_file_sets_what_the_command_line_leaves_open(void **state)
{
    (void)state;
    const struct config *config = accepted(parse_with_file("# a comment\n"
                                                           "\n"
                                                           "  blobPort = 7777\r\n"
                                                           "location=/some where # else\n"
                                                           "silent = true\n"
                                                           "loose = false\n"
                                                           "tablePort = 5",
                                                           "--blobPort 8888"));
    assert_int_equal(config->blob_port, 8888);
    assert_string_equal(config->location, "/some where # else");
    assert_true(config->silent);
    assert_false(config->loose);
    assert_int_equal(config->table_port, 5);
}

static void a_fault_in_the_config_file_is_reported_with_its_line(void **state)
{
    (void)state;
    assert_refused(parse_with_file("silent = true\nblobPort = x\n", ""),
                   ":2: blobPort: \"x\" is not a port number");
    assert_refused(parse_with_file("blobPort\n", ""), ":1: expected name = value");
    assert_refused(parse_with_file("--blobPort = 1\n", ""), ":1: unknown setting --blobPort");
    assert_refused(parse_with_file("debug =\n", ""), ":1: debug needs a value");
    assert_refused(parse_with_file("config = other\n", ""), ":1: config is for the command line");
    assert_refused(parse_with_file("help = true\n", ""), ":1: help is for the command line");
}

static void a_config_file_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    assert_refused(parse("--config /nonexistent/file"), "cannot open /nonexistent/file: No such");
    assert_refused(parse("--config /"), "cannot read /: Is a directory");
}

static void version_is_printed_and_ends_the_program(void **state)
{
    (void)state;
    assert_int_equal(parse("--version")->status, CONFIG_DONE);
    assert_string_equal(outcome.out, "zaffre " ZAFFRE_VERSION "\n");
    assert_int_equal(parse("-v")->status, CONFIG_DONE);
}

static void help_names_every_setting_in_lines_that_fit_a_terminal(void **state)
{
    (void)state;
    assert_int_equal(parse("--help")->status, CONFIG_DONE);
    assert_string_equal(outcome.err, "");
#define GROUP(title) assert_non_null(strstr(outcome.out, title));
#define SETTING(field, name, letter, kind, initial, placeholder, help)                             \
    assert_non_null(strstr(outcome.out, "--" name));
#include "settings.def"
#undef SETTING
#undef GROUP
    char *rest = outcome.out;
    for (const char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (strlen(line) > 80)
            fail_msg("longer than 80 columns: %s", line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_arguments_give_the_initial_values),
        cmocka_unit_test(initial_values_that_are_limits_agree_with_limits_h),
        cmocka_unit_test(the_command_lines_azurite_documents_are_accepted),
        cmocka_unit_test(a_value_may_follow_an_equals_sign),
        cmocka_unit_test(of_a_flag_given_twice_the_last_counts),
        cmocka_unit_test(what_is_not_a_flag_is_refused_by_name),
        cmocka_unit_test(a_missing_value_is_refused_by_name),
        cmocka_unit_test(a_port_is_a_number_up_to_65535),
        cmocka_unit_test(counts_flags_and_sizes_are_checked_too),
        cmocka_unit_test(sizes_are_given_in_mebibytes),
        cmocka_unit_test(data_is_in_memory_or_at_a_location_but_not_both),
        cmocka_unit_test(a_certificate_comes_with_its_key_or_password),
        cmocka_unit_test(the_only_oauth_level_is_basic),
        cmocka_unit_test(a_config_file_sets_what_the_command_line_leaves_open),
        cmocka_unit_test(a_fault_in_the_config_file_is_reported_with_its_line),
        cmocka_unit_test(a_config_file_that_cannot_be_read_is_refused),
        cmocka_unit_test(version_is_printed_and_ends_the_program),
        cmocka_unit_test(help_names_every_setting_in_lines_that_fit_a_terminal),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    forget_outcome();
    arena_release(&arena);
    return failed;
}
