/*
 * test_row_cache.c - a row is given from the cache exactly while it is the latest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "partition/partition.h"
#include "partition/row_cache.h"

static const uint64_t HASH = 77;

struct fixture {
    struct row_cache *cache;
    struct arena arena;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->cache = row_cache_new();
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    row_cache_free(fixture->cache);
    arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

static struct engine_key key_of(const char *key)
{
    return (struct engine_key){ .partition = slice_of("p"), .key = slice_of(key) };
}

/* What the cache says about the key: its value, "none" for a row that is not there, or "ask". */
static const char *ask(struct fixture *fixture, const char *key, uint64_t *stamp)
{
    const struct engine_key row = key_of(key);
    struct slice value;
    enum err err;
    if (!row_cache_find(fixture->cache, &fixture->arena, &row, HASH, &value, &err, stamp))
        return "ask";
    if (err == ERR_NOT_FOUND)
        return "none";
    assert_int_equal(err, OK);
    char *text = arena_bytes(&fixture->arena, value.len + 1);
    memcpy(text, value.data, value.len);
    text[value.len] = '\0';
    return text;
}

static void keep(struct fixture *fixture, const char *key, uint64_t stamp, const char *value)
{
    const struct engine_key row = key_of(key);
    const struct slice bytes = value == NULL ? (struct slice){ 0 } : slice_of(value);
    row_cache_keep(fixture->cache, &row, stamp, value == NULL ? ERR_NOT_FOUND : OK, bytes);
}

static void a_row_that_was_read_is_given_until_its_partition_is_changed(void **state)
{
    struct fixture *fixture = *state;
    uint64_t stamp;
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    keep(fixture, "a", stamp, "one");
    assert_string_equal(ask(fixture, "a", &stamp), "one");
    assert_string_equal(ask(fixture, "b", &stamp), "ask");

    row_cache_begin(fixture->cache, HASH);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    row_cache_end(fixture->cache, HASH);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
}

static void that_a_row_is_missing_is_remembered_too(void **state)
{
    struct fixture *fixture = *state;
    uint64_t stamp;
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    keep(fixture, "a", stamp, NULL);
    assert_string_equal(ask(fixture, "a", &stamp), "none");
}

static void what_was_read_while_a_group_is_committed_is_not_kept(void **state)
{
    struct fixture *fixture = *state;
    uint64_t stamp;
    row_cache_begin(fixture->cache, HASH);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    keep(fixture, "a", stamp, "maybe");
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    row_cache_end(fixture->cache, HASH);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
}

static void what_was_read_before_a_group_and_kept_after_it_is_not_given(void **state)
{
    struct fixture *fixture = *state;
    uint64_t stamp;
    uint64_t later;
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    row_cache_begin(fixture->cache, HASH);
    row_cache_end(fixture->cache, HASH);
    keep(fixture, "a", stamp, "old");
    assert_string_equal(ask(fixture, "a", &later), "ask");
}

static void two_groups_at_once_are_both_waited_for(void **state)
{
    struct fixture *fixture = *state;
    uint64_t stamp;
    row_cache_begin(fixture->cache, HASH);
    row_cache_begin(fixture->cache, HASH);
    row_cache_end(fixture->cache, HASH);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    keep(fixture, "a", stamp, "maybe");
    row_cache_end(fixture->cache, HASH);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    keep(fixture, "a", stamp, "sure");
    assert_string_equal(ask(fixture, "a", &stamp), "sure");
}

static void a_value_that_is_too_long_is_not_kept(void **state)
{
    struct fixture *fixture = *state;
    static char text[ROW_CACHE_VALUE_BYTES_MAX + 2];
    uint64_t stamp;
    memset(text, 'x', sizeof(text) - 1);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    keep(fixture, "a", stamp, text);
    assert_string_equal(ask(fixture, "a", &stamp), "ask");
    text[sizeof(text) - 2] = '\0';
    keep(fixture, "a", stamp, text);
    assert_string_equal(ask(fixture, "a", &stamp), text);
}

static void rows_that_share_a_slot_are_never_taken_for_each_other(void **state)
{
    struct fixture *fixture = *state;
    char key[16];
    uint64_t stamp;
    for (unsigned i = 0; i < 4 * ROW_CACHE_SLOTS; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        const char *said = ask(fixture, key, &stamp);
        assert_string_equal(said, "ask");
        keep(fixture, key, stamp, key);
        assert_string_equal(ask(fixture, key, &stamp), key);
    }
}

static void a_look_is_the_latest_until_its_partition_is_changed(void **state)
{
    struct fixture *fixture = *state;
    struct row_cache *cache = fixture->cache;
    const uint64_t before = row_cache_stamp(cache, HASH);
    assert_true(row_cache_is_latest(cache, HASH, before));
    row_cache_begin(cache, HASH);
    assert_false(row_cache_is_latest(cache, HASH, before));
    const uint64_t meanwhile = row_cache_stamp(cache, HASH);
    assert_false(row_cache_is_latest(cache, HASH, meanwhile));
    row_cache_end(cache, HASH);
    assert_false(row_cache_is_latest(cache, HASH, before));
    assert_false(row_cache_is_latest(cache, HASH, meanwhile));
    const uint64_t after = row_cache_stamp(cache, HASH);
    row_cache_begin(cache, HASH + 1);
    assert_true(row_cache_is_latest(cache, HASH, after));
    row_cache_end(cache, HASH + 1);
}

/* --- through a store --- */

struct counter_update {
    struct partition_update update;
    _Atomic bool done;
};

static enum err add_one(struct change *change, void *arg)
{
    (void)arg;
    struct slice value;
    const enum err err = change_get(change, slice_of("counter"), &value);
    uint64_t number = 0;
    if (err == OK)
        memcpy(&number, value.data, sizeof(number));
    else if (err != ERR_NOT_FOUND)
        return err;
    number++;
    const struct slice bytes = slice_make((const char *)&number, sizeof(number));
    change_put(change, slice_of("counter"), bytes);
    change_put(change, slice_of("copy"), bytes);
    return OK;
}

static void added(void *arg, enum err err)
{
    struct counter_update *update = arg;
    assert_int_equal(err, OK);
    atomic_store(&update->done, true);
}

enum {
    ADDITIONS = 20000,
    READERS = 3,
};

struct race {
    struct partition_store *store;
    _Atomic uint64_t acknowledged; /* the counter is at least this */
    _Atomic uint64_t seen;         /* the greatest that a reader was given */
    _Atomic bool over;
};

static uint64_t read_latest(struct race *race, const char *key)
{
    struct arena arena = { 0 };
    struct slice value;
    uint64_t number = 0;
    if (partition_get(race->store, &arena, slice_of("p"), slice_of(key), &value) == OK)
        memcpy(&number, value.data, sizeof(number));
    arena_release(&arena);
    return number;
}

static uint64_t read_counter(struct race *race)
{
    struct arena arena = { 0 };
    struct slice value;
    uint64_t number = 0;
    const enum err err =
        partition_get_often(race->store, &arena, slice_of("p"), slice_of("counter"), &value);
    if (err == OK)
        memcpy(&number, value.data, sizeof(number));
    arena_release(&arena);
    return number;
}

/* Nobody sees less than was acknowledged, or than anybody has seen, before he asked. */
static void *read_all_the_time(void *arg)
{
    struct race *race = arg;
    while (!atomic_load(&race->over)) {
        const uint64_t acknowledged = atomic_load(&race->acknowledged);
        uint64_t seen = atomic_load(&race->seen);
        const uint64_t number = read_counter(race);
        if (number < acknowledged || number < seen)
            return "stale";
        const uint64_t look = partition_look(race->store, slice_of("p"));
        const uint64_t first = read_latest(race, "counter");
        const uint64_t second = read_latest(race, "copy");
        const uint64_t acknowledged_since = atomic_load(&race->acknowledged);
        if (partition_look_is_latest(race->store, slice_of("p"), look) &&
            (first != second || first < acknowledged_since))
            return "a look at two states";
        while (seen < number && !atomic_compare_exchange_weak(&race->seen, &seen, number))
            ;
    }
    return NULL;
}

static void no_reader_is_given_less_than_another_has_seen_nor_two_states_as_one(void **state)
{
    (void)state;
    struct clock clock;
    clock_init_manual(&clock, 1000);
    struct race race = {
        .store =
            partition_open_memory(&(struct partition_options){ .clock = &clock, .committers = 2 }),
    };
    pthread_t readers[READERS];
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, &race), 0);
    for (uint64_t i = 1; i <= ADDITIONS; i++) {
        struct counter_update update = {
            .update = { .partition = slice_of("p"), .decide = add_one, .done = added },
        };
        update.update.arg = &update;
        partition_update(race.store, &update.update);
        while (!atomic_load(&update.done))
            ;
        atomic_store(&race.acknowledged, i);
    }
    atomic_store(&race.over, true);
    for (size_t i = 0; i < READERS; i++) {
        void *wrong;
        pthread_join(readers[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(read_counter(&race), ADDITIONS);
    partition_close(race.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_row_that_was_read_is_given_until_its_partition_is_changed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(that_a_row_is_missing_is_remembered_too, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_read_while_a_group_is_committed_is_not_kept, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_was_read_before_a_group_and_kept_after_it_is_not_given,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(two_groups_at_once_are_both_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_that_is_too_long_is_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_share_a_slot_are_never_taken_for_each_other,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_look_is_the_latest_until_its_partition_is_changed, setup,
                                        teardown),
        cmocka_unit_test(no_reader_is_given_less_than_another_has_seen_nor_two_states_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
