/*
 * test_partition.c - the promises of partition.h, on every engine: atomic updates, snapshot
 * reads, cursors, ticks, groups, threads.
 */
#include "store_fixture.h"

#include <signal.h>
#include <sys/wait.h>

static const struct slice NOTHING = { 0 };

/* --- one update --- */

static enum err put_two_and_delete_one(struct change *change, void *arg)
{
    (void)arg;
    change_put(change, text("one"), text("1"));
    change_put(change, text("two"), text("2"));
    change_delete(change, text("old"));
    return OK;
}

static void a_committed_change_is_seen_whole(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "p", "old", "0");
    assert_int_equal(store_update(fixture->store, "p", put_two_and_delete_one, NULL), OK);
    assert_string_equal(store_get(fixture, "p", "one"), "1");
    assert_string_equal(store_get(fixture, "p", "two"), "2");
    assert_null(store_get(fixture, "p", "old"));
}

static enum err change_much_and_abort(struct change *change, void *arg)
{
    (void)arg;
    change_put(change, text("new"), text("1"));
    change_put(change, text("kept"), text("changed"));
    change_delete(change, text("kept too"));
    return ERR_CONDITION_NOT_MET;
}

static void an_aborted_change_leaves_nothing(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "p", "kept", "a");
    store_put(fixture->store, "p", "kept too", "b");
    assert_int_equal(store_update(fixture->store, "p", change_much_and_abort, NULL),
                     ERR_CONDITION_NOT_MET);
    assert_null(store_get(fixture, "p", "new"));
    assert_string_equal(store_get(fixture, "p", "kept"), "a");
    assert_string_equal(store_get(fixture, "p", "kept too"), "b");
}

static enum err check_own_writes(struct change *change, void *arg)
{
    (void)arg;
    struct slice value;
    assert_int_equal(change_get(change, text("a"), &value), OK);
    assert_true(slice_is(value, "stored"));
    change_put(change, text("a"), text("mine"));
    assert_int_equal(change_get(change, text("a"), &value), OK);
    assert_true(slice_is(value, "mine"));
    change_delete(change, text("a"));
    assert_int_equal(change_get(change, text("a"), &value), ERR_NOT_FOUND);
    change_put(change, text("a"), text("again"));
    assert_int_equal(change_get(change, text("a"), &value), OK);
    assert_true(slice_is(value, "again"));
    return OK;
}

static void a_decision_reads_its_own_writes(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "p", "a", "stored");
    assert_int_equal(store_update(fixture->store, "p", check_own_writes, NULL), OK);
    assert_string_equal(store_get(fixture, "p", "a"), "again");
}

static void partitions_do_not_mix(void **state)
{
    struct store_fixture *fixture = *state;
    /* Names and keys that are the same when they are written one behind the other. */
    store_put(fixture->store, "a", "bc", "1");
    store_put(fixture->store, "ab", "c", "2");
    store_put(fixture->store, "abc", "", "3");
    assert_string_equal(store_get(fixture, "a", "bc"), "1");
    assert_string_equal(store_get(fixture, "ab", "c"), "2");
    assert_string_equal(store_get(fixture, "abc", ""), "3");
    assert_null(store_get(fixture, "a", "c"));

    struct partition_view view;
    partition_view_open(fixture->store, text("ab"), &view);
    struct cursor *cursor = partition_view_scan(&view, NOTHING, NOTHING);
    assert_string_equal(cursor_text(&fixture->arena, cursor), "c=2");
    partition_view_close(&view);
}

static enum err put_bytes(struct change *change, void *arg)
{
    struct slice *key_and_value = arg;
    change_put(change, key_and_value[0], key_and_value[1]);
    return OK;
}

static void the_longest_names_keys_and_large_values_are_kept(void **state)
{
    struct store_fixture *fixture = *state;
    const size_t value_len = 9 * 1024 * 1024;
    char *bytes = malloc(value_len);
    assert_non_null(bytes);
    memset(bytes, 0xFF, value_len);
    const struct slice partition = slice_make(bytes, PARTITION_ID_BYTES_MAX);
    struct slice key_and_value[2] = { slice_make(bytes, PARTITION_KEY_BYTES_MAX),
                                      slice_make(bytes, value_len) };
    struct awaited_update awaited;
    awaited_submit(fixture->store, &awaited, partition, put_bytes, key_and_value);
    assert_int_equal(awaited_wait(&awaited), OK);

    struct partition_view view;
    partition_view_open(fixture->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, key_and_value[0], NOTHING);
    struct slice key;
    struct slice value;
    assert_int_equal(cursor_next(cursor, &key, &value), OK);
    assert_true(slice_equal(key, key_and_value[0]));
    assert_true(slice_equal(value, key_and_value[1]));
    assert_int_equal(cursor_next(cursor, &key, &value), ERR_NOT_FOUND);
    cursor_free(cursor);
    partition_view_close(&view);
    free(bytes);
}

/* --- views and cursors --- */

static void a_view_stays_as_it_was_while_updates_go_on(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "p", "a", "1");
    store_put(fixture->store, "p", "b", "1");
    struct partition_view view;
    partition_view_open(fixture->store, text("p"), &view);
    struct cursor *cursor = partition_view_scan(&view, NOTHING, NOTHING);
    struct slice key;
    struct slice value;
    assert_int_equal(cursor_next(cursor, &key, &value), OK);

    store_put(fixture->store, "p", "a", "2");
    store_put(fixture->store, "p", "aa", "2");
    store_put(fixture->store, "p", "b", "2");
    assert_int_equal(partition_view_get(&view, &fixture->arena, text("a"), &value), OK);
    assert_true(slice_is(value, "1"));
    assert_int_equal(partition_view_get(&view, &fixture->arena, text("aa"), &value), ERR_NOT_FOUND);
    assert_string_equal(cursor_text(&fixture->arena, cursor), "b=1");
    cursor = partition_view_scan(&view, NOTHING, NOTHING);
    assert_string_equal(cursor_text(&fixture->arena, cursor), "a=1 b=1");
    partition_view_close(&view);

    partition_view_open(fixture->store, text("p"), &view);
    cursor = partition_view_scan(&view, NOTHING, NOTHING);
    assert_string_equal(cursor_text(&fixture->arena, cursor), "a=2 aa=2 b=2");
    partition_view_close(&view);
}

static const char *scan_text(struct store_fixture *fixture, const char *prefix, const char *from)
{
    struct partition_view view;
    partition_view_open(fixture->store, text("p"), &view);
    const char *all =
        cursor_text(&fixture->arena, partition_view_scan(&view, text(prefix), text(from)));
    partition_view_close(&view);
    return all;
}

static void a_cursor_gives_the_keys_of_its_prefix_in_order(void **state)
{
    struct store_fixture *fixture = *state;
    static const char *const keys[] = { "b2", "a", "c", "b", "b1", "b\xFF", "b\xFF\xFF", "B" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        store_put(fixture->store, "p", keys[i], "x");
    /* Neighbours that must not be seen. */
    store_put(fixture->store, "o", "b1", "x");
    store_put(fixture->store, "q", "b1", "x");

    assert_string_equal(scan_text(fixture, "", ""),
                        "B=x a=x b=x b1=x b2=x b\xFF=x b\xFF\xFF=x c=x");
    assert_string_equal(scan_text(fixture, "b", ""), "b=x b1=x b2=x b\xFF=x b\xFF\xFF=x");
    assert_string_equal(scan_text(fixture, "b\xFF", ""), "b\xFF=x b\xFF\xFF=x");
    assert_string_equal(scan_text(fixture, "b", "b2"), "b2=x b\xFF=x b\xFF\xFF=x");
    assert_string_equal(scan_text(fixture, "b", "b11"), "b2=x b\xFF=x b\xFF\xFF=x");
    assert_string_equal(scan_text(fixture, "b", "a"), "b=x b1=x b2=x b\xFF=x b\xFF\xFF=x");
    assert_string_equal(scan_text(fixture, "b", "c"), "");
    assert_string_equal(scan_text(fixture, "z", ""), "");
}

static void a_cursor_seeks_forward_and_keeps_to_its_prefix(void **state)
{
    struct store_fixture *fixture = *state;
    static const char *const keys[] = { "a1", "a2", "a3", "a4", "b1" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        store_put(fixture->store, "p", keys[i], "x");
    struct partition_view view;
    partition_view_open(fixture->store, text("p"), &view);
    struct cursor *cursor = partition_view_scan(&view, text("a"), NOTHING);
    struct slice key;
    struct slice value;
    assert_int_equal(cursor_next(cursor, &key, &value), OK);
    assert_true(slice_is(key, "a1"));
    cursor_seek(cursor, text("a3"));
    assert_int_equal(cursor_next(cursor, &key, &value), OK);
    assert_true(slice_is(key, "a3"));
    cursor_seek(cursor, text("a30"));
    assert_int_equal(cursor_next(cursor, &key, &value), OK);
    assert_true(slice_is(key, "a4"));
    cursor_seek(cursor, text("b"));
    assert_int_equal(cursor_next(cursor, &key, &value), ERR_NOT_FOUND);
    assert_int_equal(cursor_next(cursor, &key, &value), ERR_NOT_FOUND);
    cursor_free(cursor);

    cursor = partition_view_scan(&view, text("a"), NOTHING);
    cursor_seek(cursor, text("A"));
    assert_string_equal(cursor_text(&fixture->arena, cursor), "a1=x a2=x a3=x a4=x");
    partition_view_close(&view);
}

static enum err scan_own_writes(struct change *change, void *arg)
{
    (void)arg;
    change_put(change, text("a2"), text("mine"));
    change_put(change, text("a25"), text("mine"));
    change_delete(change, text("a3"));
    change_put(change, text("b0"), text("mine"));
    const char *all = cursor_text(change_arena(change), change_scan(change, text("a"), NOTHING));
    assert_string_equal(all, "a1=x a2=mine a25=mine a4=x");
    all = cursor_text(change_arena(change), change_scan(change, text("a"), text("a22")));
    assert_string_equal(all, "a25=mine a4=x");
    all = cursor_text(change_arena(change), change_scan(change, NOTHING, text("a4")));
    assert_string_equal(all, "a4=x b0=mine b1=x");
    return OK;
}

static void a_scan_in_a_decision_sees_its_own_writes(void **state)
{
    struct store_fixture *fixture = *state;
    static const char *const keys[] = { "a1", "a2", "a3", "a4", "b1" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        store_put(fixture->store, "p", keys[i], "x");
    assert_int_equal(store_update(fixture->store, "p", scan_own_writes, NULL), OK);
}

/* Deletes every key while the cursor stands on it, and puts one ahead and one behind. */
static enum err write_under_the_cursor(struct change *change, void *arg)
{
    (void)arg;
    struct cursor *cursor = change_scan(change, text("a"), NOTHING);
    struct slice key;
    struct slice value;
    unsigned count = 0;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK) {
        change_delete(change, key);
        /* Enough to move the memory of the batch under the slices just given. */
        static const char filler[4096] = { 1 };
        change_put(change, text("z"), slice_make(filler, sizeof(filler)));
        if (count == 0) {
            change_put(change, text("a00"), text("behind"));
            change_put(change, text("a35"), text("ahead"));
        }
        count++;
        assert_int_equal(value.data[0], slice_is(key, "a35") ? 'a' : 'x');
    }
    assert_int_equal(err, ERR_NOT_FOUND);
    assert_int_equal(count, 5);
    cursor_free(cursor);
    return OK;
}

static void keys_may_be_written_while_a_cursor_stands_on_them(void **state)
{
    struct store_fixture *fixture = *state;
    static const char *const keys[] = { "a1", "a2", "a3", "a4", "b1" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        store_put(fixture->store, "p", keys[i], "x");
    assert_int_equal(store_update(fixture->store, "p", write_under_the_cursor, NULL), OK);
    assert_string_equal(scan_text(fixture, "a", ""), "a00=behind");
    assert_string_equal(scan_text(fixture, "b", ""), "b1=x");
}

/* --- time --- */

static enum err take_now(struct change *change, void *arg)
{
    int64_t *now = arg;
    *now = change_now(change);
    change_put(change, text("now"), text("x"));
    return OK;
}

static void each_change_has_a_later_instant_even_when_the_clock_is_set_back(void **state)
{
    struct store_fixture *fixture = *state;
    int64_t last = 0;
    for (int i = 0; i < 20; i++) {
        int64_t now;
        assert_int_equal(store_update(fixture->store, i % 2 == 0 ? "p" : "q", take_now, &now), OK);
        assert_true(now > last);
        last = now;
        if (i == 10)
            clock_shift(&fixture->clock, -500);
    }
}

static void instants_go_on_after_a_restart_with_the_clock_set_back(void **state)
{
    struct store_fixture *fixture = *state;
    store_fixture_reopen(fixture, 3);
    int64_t last = 0;
    clock_shift(&fixture->clock, 5000);
    /* The latest instant is not that of the last committer's row. */
    for (int i = 0; i < 10; i++)
        assert_int_equal(store_update(fixture->store, i % 2 == 0 ? "p" : "q", take_now, &last), OK);
    store_fixture_close(fixture);
    clock_init_manual(&fixture->clock, 1);
    fixture->options.committers = 0;
    store_fixture_open(fixture);
    int64_t now;
    assert_int_equal(store_update(fixture->store, "r", take_now, &now), OK);
    assert_true(now > last);
}

static void what_was_committed_is_there_after_a_restart(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "p", "a", "1");
    store_fixture_reopen(fixture, 2);
    assert_string_equal(store_get(fixture, "p", "a"), "1");
    store_put(fixture->store, "p", "b", "2");
    store_fixture_reopen(fixture, 0);
    assert_string_equal(store_get(fixture, "p", "b"), "2");
}

/* --- groups --- */

/* Keeps the committer busy in a `done` until the rest of the group is queued. */
struct gate {
    struct partition_update update;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool reached;
    bool opened;
};

static enum err decide_nothing(struct change *change, void *arg)
{
    (void)change;
    (void)arg;
    return OK;
}

static void gate_done(void *arg, enum err err)
{
    struct gate *gate = arg;
    assert_int_equal(err, OK);
    pthread_mutex_lock(&gate->lock);
    gate->reached = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->opened)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_close(struct gate *gate, struct partition_store *store)
{
    *gate = (struct gate){ .update = { .partition = text("p"),
                                       .decide = decide_nothing,
                                       .arg = gate,
                                       .done = gate_done } };
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
    partition_update(store, &gate->update);
    pthread_mutex_lock(&gate->lock);
    while (!gate->reached)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->opened = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* One step of a group: what it expects to see, what it writes, whether it keeps it. */
struct step {
    const char *sees; /* the whole partition */
    const char *put;  /* key of one letter, value of the rest; NULL for none */
    const char *delete;
    enum err says;
};

static enum err decide_step(struct change *change, void *arg)
{
    const struct step *step = arg;
    struct arena *arena = change_arena(change);
    const char *seen = cursor_text(arena, change_scan(change, NOTHING, NOTHING));
    if (strcmp(seen, step->sees) != 0) {
        fprintf(stderr, "sees \"%s\" instead of \"%s\"\n", seen, step->sees);
        return ERR_CORRUPT;
    }
    if (step->put != NULL)
        change_put(change, slice_make(step->put, 1), text(step->put + 1));
    if (step->delete != NULL)
        change_delete(change, text(step->delete));
    /* What is written and undone lies between what is kept. */
    if (step->says != OK)
        change_put(change, text("y"), text("undone"));
    return step->says;
}

static void an_update_sees_earlier_ones_of_its_group_but_nothing_undone(void **state)
{
    struct store_fixture *fixture = *state;
    store_fixture_reopen(fixture, 1);
    store_put(fixture->store, "p", "d", "0");

    static const struct step steps[] = {
        { .sees = "d=0", .put = "a1" },
        { .sees = "a=1 d=0", .put = "a2", .says = ERR_CONDITION_NOT_MET },
        { .sees = "a=1 d=0", .delete = "a", .says = ERR_CONDITION_NOT_MET },
        { .sees = "a=1 d=0", .put = "a3", .delete = "d" },
        { .sees = "a=3", .put = "d5", .says = ERR_CONDITION_NOT_MET },
        { .sees = "a=3", .put = "z6" },
        { .sees = "a=3 z=6", .delete = "a" },
        { .sees = "z=6", .put = "a7", .says = ERR_CONDITION_NOT_MET },
        { .sees = "z=6", .put = "b8" },
    };
    enum { COUNT = sizeof(steps) / sizeof(steps[0]) };
    struct awaited_update awaited[COUNT];
    struct gate gate;
    gate_close(&gate, fixture->store);
    for (size_t i = 0; i < COUNT; i++) {
        struct step *step = arena_alloc(&fixture->arena, sizeof(*step));
        *step = steps[i];
        awaited_submit(fixture->store, &awaited[i], text("p"), decide_step, step);
    }
    gate_open(&gate);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(awaited_wait(&awaited[i]), steps[i].says);
    assert_string_equal(scan_text(fixture, "", ""), "b=8 z=6");
}

struct ordered {
    struct partition_update update;
    unsigned *done_count;
    unsigned index;
    struct slice value;
};

static enum err put_ordered(struct change *change, void *arg)
{
    struct ordered *ordered = arg;
    char key[16];
    const int len = snprintf(key, sizeof(key), "%08u", ordered->index);
    change_put(change, slice_make(key, (size_t)len), ordered->value);
    return ordered->index % 3 == 2 ? ERR_CONDITION_NOT_MET : OK;
}

static void count_ordered(void *arg, enum err err)
{
    struct ordered *ordered = arg;
    assert_int_equal(err, ordered->index % 3 == 2 ? ERR_CONDITION_NOT_MET : OK);
    assert_int_equal(*ordered->done_count, ordered->index);
    ++*ordered->done_count;
}

/* More updates, and more bytes, than a group takes. */
static void updates_are_done_in_the_order_they_came(void **state)
{
    struct store_fixture *fixture = *state;
    store_fixture_reopen(fixture, 1);
    enum { COUNT = 2500, VALUE_LEN = 8000 };
    char *bytes = calloc(1, VALUE_LEN);
    struct ordered *updates = calloc(COUNT, sizeof(*updates));
    assert_non_null(bytes);
    assert_non_null(updates);
    unsigned done_count = 0;
    struct gate gate;
    gate_close(&gate, fixture->store);
    for (unsigned i = 0; i < COUNT; i++) {
        updates[i] = (struct ordered){
            .update = { .partition = text("p"),
                        .decide = put_ordered,
                        .arg = &updates[i],
                        .done = count_ordered },
            .done_count = &done_count,
            .index = i,
            .value = slice_make(bytes, VALUE_LEN),
        };
        partition_update(fixture->store, &updates[i].update);
    }
    gate_open(&gate);
    /* The last one waits behind all of them. */
    assert_int_equal(store_update(fixture->store, "p", decide_nothing, NULL), OK);
    assert_int_equal(done_count, COUNT);

    struct partition_view view;
    partition_view_open(fixture->store, text("p"), &view);
    struct cursor *cursor = partition_view_scan(&view, NOTHING, NOTHING);
    struct slice key;
    struct slice value;
    unsigned count = 0;
    while (cursor_next(cursor, &key, &value) == OK)
        count++;
    assert_int_equal(count, COUNT - COUNT / 3);
    cursor_free(cursor);
    partition_view_close(&view);
    free(updates);
    free(bytes);
}

struct chain {
    struct partition_update update;
    struct partition_store *store;
    unsigned left;
};

static void chain_done(void *arg, enum err err)
{
    struct chain *chain = arg;
    assert_int_equal(err, OK);
    if (--chain->left > 0)
        partition_update(chain->store, &chain->update);
}

static void done_may_submit_the_next_update(void **state)
{
    struct store_fixture *fixture = *state;
    struct chain chain = {
        .update = { .partition = text("p"), .decide = decide_nothing, .done = chain_done },
        .store = fixture->store,
        .left = 3,
    };
    chain.update.arg = &chain;
    partition_update(fixture->store, &chain.update);
    assert_int_equal(chain.left, 0);
}

/* --- contrary mode --- */

struct runs {
    unsigned count;
    int64_t last_now;
    char result[16];
};

/* Adds one to a stored number; counts its own runs outside the store, as a decision must not. */
static enum err add_one(struct change *change, void *arg)
{
    struct runs *runs = arg;
    runs->count++;
    assert_true(change_now(change) > runs->last_now);
    runs->last_now = change_now(change);
    struct slice value;
    const enum err err = change_get(change, text("n"), &value);
    const unsigned long number = err == OK ? strtoul(value.data, NULL, 10) : 0;
    const int len = snprintf(runs->result, sizeof(runs->result), "%lu", number + 1);
    change_put(change, text("n"), slice_make(runs->result, (size_t)len));
    return OK;
}

static unsigned contrary_run_count(struct store_fixture *fixture, uint64_t seed)
{
    store_fixture_close(fixture);
    fixture->options.contrary_seed = seed;
    store_fixture_open(fixture);
    struct runs runs = { 0 };
    for (int i = 0; i < 64; i++)
        assert_int_equal(store_update(fixture->store, "p", add_one, &runs), OK);
    assert_string_equal(store_get(fixture, "p", "n"), "64");
    return runs.count;
}

static void a_contrary_store_runs_decisions_again_and_counts_one_run(void **state)
{
    struct store_fixture *fixture = *state;
    assert_int_equal(contrary_run_count(fixture, 0), 64);
    const unsigned count = contrary_run_count(fixture, 7);
    assert_true(count > 64 + 16);
    assert_true(count <= 3 * 64);
    assert_int_equal(contrary_run_count(fixture, 7), count);
}

static enum err read_outside(struct change *change, void *arg)
{
    (void)change;
    struct store_fixture *fixture = arg;
    struct slice value;
    return partition_get(fixture->store, &fixture->arena, text("q"), text("a"), &value);
}

static enum err view_outside(struct change *change, void *arg)
{
    (void)change;
    struct store_fixture *fixture = arg;
    struct partition_view view;
    partition_view_open(fixture->store, text("q"), &view);
    partition_view_close(&view);
    return OK;
}

static enum err update_outside(struct change *change, void *arg)
{
    (void)change;
    struct store_fixture *fixture = arg;
    store_put(fixture->store, "q", "a", "1");
    return OK;
}

static void a_decision_that_reaches_outside_its_partition_ends_the_process(void **state)
{
    struct store_fixture *fixture = *state;
    static change_fn *const decisions[] = { read_outside, view_outside, update_outside };
    for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)freopen("/dev/null", "w", stderr);
            signal(SIGABRT, SIG_DFL);
            store_update(fixture->store, "p", decisions[i], fixture);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* --- threads --- */

enum {
    THREADS = 8,
    ADDS = 60,
    COUNTERS = 3,
};

struct adder {
    struct partition_store *store;
    unsigned added[COUNTERS];
};

struct expected {
    char before[16];
    char after[16];
};

/* Compare and set: aborts if the stored number is not what the thread read. */
static enum err set_if_unchanged(struct change *change, void *arg)
{
    const struct expected *expected = arg;
    struct slice value;
    const enum err err = change_get(change, text("n"), &value);
    if (err != OK)
        return err;
    if (!slice_is(value, expected->before))
        return ERR_CONDITION_NOT_MET;
    change_put(change, text("n"), text(expected->after));
    return OK;
}

static void *add_many(void *arg)
{
    struct adder *adder = arg;
    struct arena arena = { 0 };
    static const char *const names[COUNTERS] = { "p", "q", "r" };
    for (unsigned i = 0; i < ADDS; i++) {
        const char *name = names[i % COUNTERS];
        struct slice value;
        if (partition_get(adder->store, &arena, text(name), text("n"), &value) != OK)
            abort();
        struct expected expected;
        snprintf(expected.before, sizeof(expected.before), "%s", value.data);
        snprintf(expected.after, sizeof(expected.after), "%lu", strtoul(value.data, NULL, 10) + 1);
        if (store_update(adder->store, name, set_if_unchanged, &expected) == OK)
            adder->added[i % COUNTERS]++;
        struct partition_view view;
        partition_view_open(adder->store, text(name), &view);
        (void)cursor_text(&arena, partition_view_scan(&view, NOTHING, NOTHING));
        partition_view_close(&view);
        arena_clear(&arena);
    }
    arena_release(&arena);
    return NULL;
}

static void no_update_is_lost_between_threads(void **state)
{
    struct store_fixture *fixture = *state;
    store_fixture_reopen(fixture, 3);
    store_put(fixture->store, "p", "n", "0");
    store_put(fixture->store, "q", "n", "0");
    store_put(fixture->store, "r", "n", "0");
    pthread_t threads[THREADS];
    struct adder adders[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){ .store = fixture->store };
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &adders[i]), 0);
    }
    unsigned long totals[COUNTERS] = { 0 };
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        for (unsigned counter = 0; counter < COUNTERS; counter++)
            totals[counter] += adders[i].added[counter];
    }
    static const char *const names[COUNTERS] = { "p", "q", "r" };
    for (unsigned counter = 0; counter < COUNTERS; counter++) {
        assert_int_equal(strtoul(store_get(fixture, names[counter], "n"), NULL, 10),
                         totals[counter]);
        assert_true(totals[counter] >= ADDS / COUNTERS);
    }
}

/* --- by step --- */

struct stepped {
    struct partition_update update;
    enum err says;
    unsigned done_count;
};

static enum err say(struct change *change, void *arg)
{
    const struct stepped *stepped = arg;
    change_put(change, text("key"), text("value"));
    return stepped->says;
}

static void count_done(void *arg, enum err err)
{
    struct stepped *stepped = arg;
    assert_int_equal(err, stepped->says);
    stepped->done_count++;
}

static void whoever_waits_in_a_store_by_step_runs_the_oldest_update(void **state)
{
    struct store_fixture *fixture = *state;
    struct clock clock;
    clock_init_manual(&clock, 1000);
    const struct partition_options options = { .clock = &clock, .by_step = true };
    struct partition_store *store = partition_open_memory(&options);
    struct stepped stepped[] = { { .says = ERR_EXISTS }, { .says = OK } };
    for (size_t i = 0; i < 2; i++) {
        stepped[i].update = (struct partition_update){
            .partition = text("p"), .decide = say, .arg = &stepped[i], .done = count_done
        };
        partition_update(store, &stepped[i].update);
    }
    assert_true(partition_yield(store));
    assert_int_equal(stepped[0].done_count, 1);
    assert_int_equal(stepped[1].done_count, 0);
    assert_true(partition_yield(store));
    assert_int_equal(stepped[1].done_count, 1);
    /* Refused or not, an update knows its instant. */
    assert_true(stepped[0].update.tick > 1000);
    assert_true(stepped[1].update.tick > stepped[0].update.tick);
    partition_close(store);
    assert_false(partition_yield(fixture->store)); /* which works by itself */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH_ENGINES(a_committed_change_is_seen_whole),
        ON_BOTH_ENGINES(an_aborted_change_leaves_nothing),
        ON_BOTH_ENGINES(a_decision_reads_its_own_writes),
        ON_BOTH_ENGINES(partitions_do_not_mix),
        ON_BOTH_ENGINES(the_longest_names_keys_and_large_values_are_kept),
        ON_BOTH_ENGINES(a_view_stays_as_it_was_while_updates_go_on),
        ON_BOTH_ENGINES(a_cursor_gives_the_keys_of_its_prefix_in_order),
        ON_BOTH_ENGINES(a_cursor_seeks_forward_and_keeps_to_its_prefix),
        ON_BOTH_ENGINES(a_scan_in_a_decision_sees_its_own_writes),
        ON_BOTH_ENGINES(keys_may_be_written_while_a_cursor_stands_on_them),
        ON_BOTH_ENGINES(each_change_has_a_later_instant_even_when_the_clock_is_set_back),
        ON_ROCKSDB(instants_go_on_after_a_restart_with_the_clock_set_back),
        ON_ROCKSDB(what_was_committed_is_there_after_a_restart),
        ON_BOTH_ENGINES(an_update_sees_earlier_ones_of_its_group_but_nothing_undone),
        ON_BOTH_ENGINES(updates_are_done_in_the_order_they_came),
        ON_BOTH_ENGINES(done_may_submit_the_next_update),
        ON_MEMORY(a_contrary_store_runs_decisions_again_and_counts_one_run),
        ON_BOTH_ENGINES(a_decision_that_reaches_outside_its_partition_ends_the_process),
        ON_BOTH_ENGINES(no_update_is_lost_between_threads),
        ON_MEMORY(whoever_waits_in_a_store_by_step_runs_the_oldest_update),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
