/*
 * test_checkpoint.c - what a backup asks of a store: its space is held, its rows of one moment are
 * there as a store of their own, and that says which bytes of which extents belong to it.
 */
#include "reclaim_fixture.h"

#include "base/log.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static void what_is_let_go_is_there_while_space_is_held(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct partition_store *store = mine->fixture->store;
    const struct stream_range range = payload(mine, 'a', 1);
    partition_hold_space(store);
    disown(mine, &range, 1);
    assert_int_equal(partition_reclaim(store), 0);
    assert_int_equal(first_byte(mine, &range), 'a');

    partition_hold_space(store);
    partition_free_space(store);
    assert_int_equal(partition_reclaim(store), 0);
    assert_int_equal(first_byte(mine, &range), 'a');

    partition_free_space(store);
    assert_int_equal(partition_reclaim(store), 1);
    assert_int_equal(first_byte(mine, &range), 0);
}

static void a_full_extent_is_not_settled_while_space_is_held(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct partition_store *store = mine->fixture->store;
    partition_hold_space(store);
    struct stream_range ranges[5];
    for (size_t i = 0; i < 5; i++)
        ranges[i] = payload(mine, (char)('a' + i), 1);
    disown(mine, &ranges[3], 1);
    (void)partition_reclaim(store);
    assert_int_equal(first_byte(mine, &ranges[3]), 'd');
    partition_free_space(store);
    assert_int_equal(partition_reclaim(store), 1);
    assert_int_equal(first_byte(mine, &ranges[3]), 0);
    assert_int_equal(first_byte(mine, &ranges[2]), 'c');
}

static void the_reclaimers_thread_goes_on_after_a_hold(void **state)
{
    struct reclaim_fixture *mine = *state;
    restart(mine, 1);
    struct partition_store *store = mine->fixture->store;
    const struct stream_range range = payload(mine, 'a', 1);
    partition_hold_space(store);
    disown(mine, &range, 1);
    partition_free_space(store);
    while (first_byte(mine, &range) != 0)
        sched_yield();
}

static void a_store_in_memory_has_no_checkpoint(void **state)
{
    struct reclaim_fixture *mine = *state;
    assert_int_equal(partition_checkpoint(mine->fixture->store, mine->fixture->path),
                     ERR_NOT_IMPLEMENTED);
}

/* The checkpoint, opened to be looked at only. */
static struct partition_store *open_checkpoint(struct reclaim_fixture *mine, const char *path)
{
    const struct partition_options options = { .clock = &mine->fixture->clock, .read_only = true };
    struct partition_store *store;
    assert_int_equal(partition_open_rocksdb(path, &options, &store), OK);
    return store;
}

static void a_checkpoint_has_what_was_done_before_it_and_nothing_later(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct store_fixture *fixture = mine->fixture;
    char path[80];
    snprintf(path, sizeof(path), "%s/copy", fixture->path);
    assert_int_equal(mkdir(path, 0700), 0);
    store_put(fixture->store, "p", "k", "before");
    store_put(fixture->store, "q", "k", "before");
    assert_int_equal(partition_checkpoint(fixture->store, path), OK);
    store_put(fixture->store, "p", "k", "after");
    store_put(fixture->store, "p", "new", "after");

    struct partition_store *copy = open_checkpoint(mine, path);
    struct slice value;
    assert_int_equal(partition_get(copy, &fixture->arena, text("p"), text("k"), &value), OK);
    assert_string_equal(value.data, "before");
    assert_int_equal(partition_get(copy, &fixture->arena, text("q"), text("k"), &value), OK);
    assert_int_equal(partition_get(copy, &fixture->arena, text("p"), text("new"), &value),
                     ERR_NOT_FOUND);
    partition_close(copy);
    assert_string_equal(store_get(fixture, "p", "k"), "after");
    /* A place that is taken is refused. */
    assert_int_not_equal(partition_checkpoint(fixture->store, path), OK);
}

struct seen {
    unsigned extent_count;
    unsigned range_count;
    uint64_t settled_length;
    struct stream_range ranges[8];
    enum err says;
};

static enum err see(void *arg, const struct partition_extent *extent)
{
    struct seen *seen = arg;
    seen->extent_count++;
    if (extent->length > 0)
        seen->settled_length = extent->length;
    for (size_t i = 0; i < extent->range_count; i++)
        seen->ranges[seen->range_count++] = extent->ranges[i];
    return seen->says;
}

static void the_rows_say_which_bytes_of_which_extents_belong_to_it(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct partition_store *store = mine->fixture->store;
    struct stream_range ranges[6];
    for (size_t i = 0; i < 6; i++)
        ranges[i] = payload(mine, (char)('a' + i), 1);
    own(mine, &ranges[0], 2); /* a second owner is no second range */
    disown(mine, &ranges[1], 1);
    (void)partition_reclaim(store);
    disown(mine, &ranges[2], 1); /* not reclaimed yet */

    struct seen seen = { 0 };
    assert_int_equal(partition_each_extent(store, see, &seen), OK);
    assert_int_equal(seen.extent_count, 2);
    assert_int_equal(seen.settled_length, 4 * PAYLOAD_ALLOCATED);
    const size_t expected[] = { 0, 2, 3, 4, 5 };
    assert_int_equal(seen.range_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_memory_equal(&seen.ranges[i], &ranges[expected[i]], sizeof(ranges[0]));

    seen = (struct seen){ .says = ERR_NO_SPACE };
    assert_int_equal(partition_each_extent(store, see, &seen), ERR_NO_SPACE);
    assert_int_equal(seen.extent_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECLAIM_ON_BOTH(what_is_let_go_is_there_while_space_is_held),
        RECLAIM_ON_BOTH(a_full_extent_is_not_settled_while_space_is_held),
        RECLAIM_ON_BOTH(the_reclaimers_thread_goes_on_after_a_hold),
        RECLAIM_ON_MEMORY(a_store_in_memory_has_no_checkpoint),
        RECLAIM_ON_ROCKSDB(a_checkpoint_has_what_was_done_before_it_and_nothing_later),
        RECLAIM_ON_BOTH(the_rows_say_which_bytes_of_which_extents_belong_to_it),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
