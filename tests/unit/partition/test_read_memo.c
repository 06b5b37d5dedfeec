/*
 * test_read_memo.c - a decision is told what the store would say, whether it is asked or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/read_memo.h"

struct fixture {
    struct read_memo *memo;
    struct arena arena;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->memo = read_memo_new();
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    read_memo_free(fixture->memo);
    arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

static struct engine_key key_of(const char *partition, const char *key)
{
    return (struct engine_key){ .partition = slice_of(partition), .key = slice_of(key) };
}

static void keep(struct fixture *fixture, const char *key, const char *value)
{
    const struct engine_key row = key_of("p", key);
    read_memo_keep(fixture->memo, &row, value == NULL ? ERR_NOT_FOUND : OK,
                   value == NULL ? (struct slice){ 0 } : slice_of(value));
}

/* What is remembered of a key: its value, "none" for a row that is not there, or "ask". */
static const char *ask_in(struct fixture *fixture, const char *partition, const char *key)
{
    const struct engine_key row = key_of(partition, key);
    struct slice value;
    enum err err;
    if (!read_memo_find(fixture->memo, &fixture->arena, &row, &value, &err))
        return "ask";
    if (err == ERR_NOT_FOUND)
        return "none";
    char *text = arena_bytes(&fixture->arena, value.len + 1);
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    return text;
}

static const char *ask(struct fixture *fixture, const char *key)
{
    return ask_in(fixture, "p", key);
}

static void forget(struct fixture *fixture, const char *key)
{
    const struct engine_key row = key_of("p", key);
    read_memo_forget(fixture->memo, &row);
}

static void what_was_read_is_remembered_across_groups(void **state)
{
    struct fixture *fixture = *state;
    assert_string_equal(ask(fixture, "a"), "ask");
    keep(fixture, "a", "one");
    keep(fixture, "b", NULL);
    read_memo_next_group(fixture->memo);
    assert_string_equal(ask(fixture, "a"), "one");
    assert_string_equal(ask(fixture, "b"), "none");
}

static void the_same_key_of_another_partition_is_another_row(void **state)
{
    struct fixture *fixture = *state;
    keep(fixture, "a", "one");
    assert_string_equal(ask_in(fixture, "q", "a"), "ask");
    /* The boundary between the two names counts. */
    keep(fixture, "bc", "two");
    assert_string_equal(ask_in(fixture, "pb", "c"), "ask");
}

static void a_key_that_the_group_writes_is_asked_for_until_the_next_group(void **state)
{
    struct fixture *fixture = *state;
    keep(fixture, "a", "one");
    forget(fixture, "a");
    assert_string_equal(ask(fixture, "a"), "ask");
    /* This is what the group has, and the group may be refused. */
    keep(fixture, "a", "two");
    assert_string_equal(ask(fixture, "a"), "ask");
    read_memo_next_group(fixture->memo);
    assert_string_equal(ask(fixture, "a"), "ask");
    keep(fixture, "a", "two");
    assert_string_equal(ask(fixture, "a"), "two");
}

static void a_long_row_is_not_remembered(void **state)
{
    struct fixture *fixture = *state;
    static char text[READ_MEMO_ROW_BYTES_MAX];
    memset(text, 'x', sizeof(text) - 1);
    keep(fixture, "a", text); /* with both names one byte too long */
    assert_string_equal(ask(fixture, "a"), "ask");
    text[sizeof(text) - 2] = '\0';
    keep(fixture, "a", text);
    assert_string_equal(ask(fixture, "a"), text);
}

static void rows_that_share_a_slot_are_never_taken_for_each_other(void **state)
{
    struct fixture *fixture = *state;
    char key[16];
    for (unsigned i = 0; i < 4 * READ_MEMO_SLOTS; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        assert_string_equal(ask(fixture, key), "ask");
        keep(fixture, key, key);
        assert_string_equal(ask(fixture, key), key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_read_is_remembered_across_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(the_same_key_of_another_partition_is_another_row, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_key_that_the_group_writes_is_asked_for_until_the_next_group, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_row_is_not_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_share_a_slot_are_never_taken_for_each_other,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
