/*
 * test_mark.c - marks: which partitions have work to do, found without looking at all of them.
 */
#include "store_fixture.h"

struct marking {
    bool unmark;
    enum err says;
};

static enum err decide_mark(struct change *change, void *arg)
{
    const struct marking *marking = arg;
    if (marking->unmark)
        change_unmark(change);
    else
        change_mark(change);
    return marking->says;
}

static void mark(struct store_fixture *fixture, const char *partition)
{
    struct marking marking = { 0 };
    assert_int_equal(store_update(fixture->store, partition, decide_mark, &marking), OK);
}

static void unmark(struct store_fixture *fixture, const char *partition)
{
    struct marking marking = { .unmark = true };
    assert_int_equal(store_update(fixture->store, partition, decide_mark, &marking), OK);
}

struct names {
    struct arena *arena;
    struct slice all;
};

static bool add_name(void *arg, struct slice partition)
{
    struct names *names = arg;
    names->all = arena_printf(names->arena, "%.*s%.*s ", (int)names->all.len, names->all.data,
                              (int)partition.len, partition.data);
    return true;
}

/* The marked partitions, each followed by a space. */
static const char *marked(struct store_fixture *fixture)
{
    struct names names = { .arena = &fixture->arena, .all = text("") };
    assert_int_equal(partition_each_marked(fixture->store, add_name, &names), OK);
    return names.all.data;
}

static void partitions_are_found_while_they_are_marked(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "not marked", "a", "1");
    assert_string_equal(marked(fixture), "");
    mark(fixture, "b");
    mark(fixture, "a");
    mark(fixture, "ab");
    mark(fixture, "b");
    assert_string_equal(marked(fixture), "a ab b ");
    unmark(fixture, "a");
    unmark(fixture, "a");
    unmark(fixture, "never marked");
    assert_string_equal(marked(fixture), "ab b ");
    /* A mark is no key of the partition. */
    assert_null(store_get(fixture, "b", "b"));
    assert_null(store_get(fixture, "b", "Mb"));
}

static void an_aborted_change_sets_and_removes_no_mark(void **state)
{
    struct store_fixture *fixture = *state;
    mark(fixture, "a");
    struct marking set = { .says = ERR_CONDITION_NOT_MET };
    struct marking removed = { .unmark = true, .says = ERR_CONDITION_NOT_MET };
    assert_int_equal(store_update(fixture->store, "b", decide_mark, &set), ERR_CONDITION_NOT_MET);
    assert_int_equal(store_update(fixture->store, "a", decide_mark, &removed),
                     ERR_CONDITION_NOT_MET);
    assert_string_equal(marked(fixture), "a ");
}

static void marks_are_there_after_a_restart(void **state)
{
    struct store_fixture *fixture = *state;
    mark(fixture, "a");
    mark(fixture, "b");
    mark(fixture, "c");
    unmark(fixture, "b");
    store_fixture_reopen(fixture, 2);
    assert_string_equal(marked(fixture), "a c ");
    unmark(fixture, "a");
    store_fixture_reopen(fixture, 0);
    assert_string_equal(marked(fixture), "c ");
}

static void the_longest_name_can_be_marked(void **state)
{
    struct store_fixture *fixture = *state;
    char name[PARTITION_ID_BYTES_MAX + 1] = { 0 };
    memset(name, 'x', PARTITION_ID_BYTES_MAX);
    mark(fixture, name);
    const char *all = marked(fixture);
    assert_int_equal(strlen(all), PARTITION_ID_BYTES_MAX + 1);
    assert_memory_equal(all, name, PARTITION_ID_BYTES_MAX);
    unmark(fixture, name);
    assert_string_equal(marked(fixture), "");
}

struct worker {
    struct store_fixture *fixture;
    unsigned call_count;
    unsigned call_count_max;
};

static bool work_and_unmark(void *arg, struct slice partition)
{
    struct worker *worker = arg;
    unmark(worker->fixture, arena_copy(&worker->fixture->arena, partition).data);
    mark(worker->fixture, "zzz");
    return ++worker->call_count < worker->call_count_max;
}

static void marks_may_change_while_they_are_gone_through(void **state)
{
    struct store_fixture *fixture = *state;
    mark(fixture, "a");
    mark(fixture, "b");
    mark(fixture, "c");
    struct worker some = { .fixture = fixture, .call_count_max = 2 };
    assert_int_equal(partition_each_marked(fixture->store, work_and_unmark, &some), OK);
    assert_int_equal(some.call_count, 2);
    assert_string_equal(marked(fixture), "c zzz ");
    mark(fixture, "d");
    struct worker all = { .fixture = fixture, .call_count_max = 100 };
    assert_int_equal(partition_each_marked(fixture->store, work_and_unmark, &all), OK);
    assert_int_equal(all.call_count, 3);
    assert_string_equal(marked(fixture), "zzz ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH_ENGINES(partitions_are_found_while_they_are_marked),
        ON_BOTH_ENGINES(an_aborted_change_sets_and_removes_no_mark),
        ON_ROCKSDB(marks_are_there_after_a_restart),
        ON_BOTH_ENGINES(the_longest_name_can_be_marked),
        ON_BOTH_ENGINES(marks_may_change_while_they_are_gone_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
