/*
 * test_long_view.c - long views: what they name stays readable while they are open, and what they
 * cannot name does not wait for them.
 */
#include "reclaim_fixture.h"

#include <poll.h>

#include "partition/change.h"
#include "partition/long_view.h"

/* --- one payload, named by the row "r" of a partition --- */

struct rename_arg {
    const struct stream_range *own; /* and name; NULL removes the row */
    const struct stream_range *disown;
};

static enum err decide_rename(struct change *change, void *arg)
{
    const struct rename_arg *rename = arg;
    if (rename->disown != NULL)
        change_disown(change, rename->disown, 1);
    if (rename->own != NULL) {
        change_own(change, rename->own, 1);
        change_put(change, text("r"), slice_make(rename->own, sizeof(*rename->own)));
    } else {
        change_delete(change, text("r"));
    }
    return OK;
}

static struct stream_range named_payload(struct reclaim_fixture *mine, const char *partition,
                                         char fill)
{
    struct stream_writer *writer = payload_write(mine, fill);
    const struct stream_range range = stream_writer_range(writer);
    struct rename_arg rename = { .own = &range };
    assert_int_equal(store_update(mine->fixture->store, partition, decide_rename, &rename), OK);
    stream_writer_commit(writer);
    return range;
}

static void remove_payload(struct reclaim_fixture *mine, const char *partition,
                           const struct stream_range *range)
{
    struct rename_arg rename = { .disown = range };
    assert_int_equal(store_update(mine->fixture->store, partition, decide_rename, &rename), OK);
}

/* The first byte of the payload that the view names, or 0. */
static char byte_in_view(struct reclaim_fixture *mine, struct partition_view *view)
{
    struct slice value;
    if (partition_view_get(view, &mine->fixture->arena, text("r"), &value) != OK)
        return 0;
    struct stream_range range;
    memcpy(&range, value.data, sizeof(range));
    return first_byte(mine, &range);
}

/* --- which rows are blocked --- */

static void views_block_later_rows_of_their_partition(void **state)
{
    (void)state;
    struct long_view views[] = {
        { .key = { .partition_hash = 7, .visible_tick = 20 } },
        { .key = { .partition_hash = 7, .visible_tick = 10 } },
        { .key = { .partition_hash = 9, .visible_tick = 30 } },
    };
    struct long_view_list list = { 0 };
    struct long_view_table table = { 0 };
    for (size_t i = 0; i < 3; i++)
        long_view_list_add(&list, &views[i]);
    long_view_table_copy(&table, &list);
    long_view_table_sort(&table);
    static const struct {
        uint64_t hash;
        int64_t tick;
        bool blocked;
    } rows[] = {
        { 7, 10, false }, { 7, 11, true },   { 7, 21, true }, { 9, 30, false },
        { 9, 31, true },  { 8, 100, false }, { 6, 5, false }, { 10, 100, false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct system_freed row = { .partition_hash = rows[i].hash, .tick = rows[i].tick };
        assert_int_equal(long_view_table_blocks(&table, &row), rows[i].blocked);
    }

    /* Without the one that has seen least, from the middle of the list. */
    long_view_list_remove(&list, &views[1]);
    long_view_table_copy(&table, &list);
    long_view_table_sort(&table);
    const struct system_freed between = { .partition_hash = 7, .tick = 20 };
    const struct system_freed later = { .partition_hash = 7, .tick = 21 };
    assert_false(long_view_table_blocks(&table, &between));
    assert_true(long_view_table_blocks(&table, &later));
    long_view_list_remove(&list, &views[2]);
    long_view_list_remove(&list, &views[0]);
    long_view_table_copy(&table, &list);
    assert_false(long_view_table_blocks(&table, &later));
    long_view_table_release(&table);
}

/* --- what a long view keeps --- */

static void a_range_stays_while_a_long_view_names_it(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = named_payload(mine, "p", 'a');
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("p"), &view);
    remove_payload(mine, "p", &range);
    for (int i = 0; i < 5; i++) {
        stream_barrier(mine->stream);
        assert_int_equal(partition_reclaim(mine->fixture->store), 0);
        assert_int_equal(byte_in_view(mine, &view), 'a');
    }
    partition_view_close(&view);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    assert_int_equal(first_byte(mine, &range), 0);
}

static void a_range_stays_for_the_last_of_several_long_views(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = named_payload(mine, "p", 'a');
    struct partition_view views[3];
    for (int i = 0; i < 2; i++)
        partition_view_open_long(mine->fixture->store, text("p"), &views[i]);
    remove_payload(mine, "p", &range);
    partition_view_open_long(mine->fixture->store, text("p"), &views[2]);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    partition_view_close(&views[0]);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(byte_in_view(mine, &views[1]), 'a');
    partition_view_close(&views[1]);
    /* The third was opened after the range was let go. */
    assert_int_equal(byte_in_view(mine, &views[2]), 0);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    partition_view_close(&views[2]);
}

static void a_copy_that_is_let_go_elsewhere_does_not_end_a_range_in_view(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = named_payload(mine, "p", 'a');
    own_in(mine, "q", &range, 2);
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("p"), &view);
    remove_payload(mine, "p", &range);
    /* A pass while the copy owns the range, and another when nobody does. */
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    disown_in(mine, "q", &range, 2);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(byte_in_view(mine, &view), 'a');
    partition_view_close(&view);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
}

static void a_full_extent_is_kept_for_a_long_view(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range named = named_payload(mine, "p", 'a');
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("p"), &view);
    remove_payload(mine, "p", &named);
    for (uint64_t i = 0; i < 3; i++) {
        const struct stream_range other = payload(mine, 'b', i);
        assert_int_equal(other.extent_id, named.extent_id);
        disown_in(mine, "p", &other, i);
    }
    /* All that was let go after the view was opened waits, whether it names it or not. */
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(byte_in_view(mine, &view), 'a');
    partition_view_close(&view);
    assert_int_equal(partition_reclaim(mine->fixture->store), 4);
    assert_int_equal(extent_count(mine), 0);
}

static void a_range_pinned_through_a_long_view_outlives_it(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = named_payload(mine, "p", 'a');
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("p"), &view);
    remove_payload(mine, "p", &range);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    struct stream_pin *pin;
    assert_int_equal(stream_pin(mine->stream, &range, &pin), OK);
    partition_view_close(&view);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(first_byte(mine, &range), 'a');
    stream_unpin(pin);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
}

/* --- what does not wait for a long view --- */

static void a_long_view_of_another_partition_delays_nothing(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = named_payload(mine, "p", 'a');
    const struct stream_range other = named_payload(mine, "q", 'b');
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("q"), &view);
    remove_payload(mine, "p", &range);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    remove_payload(mine, "q", &other);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(byte_in_view(mine, &view), 'b');
    partition_view_close(&view);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
}

static void what_an_earlier_run_let_go_does_not_wait(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = named_payload(mine, "p", 'a');
    remove_payload(mine, "p", &range);
    restart(mine, 0);
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("p"), &view);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    partition_view_close(&view);
}

static void a_sweep_finds_blocked_ranges_again(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = named_payload(mine, "p", 'a');
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("p"), &view);
    remove_payload(mine, "p", &range);
    /* The first pass after opening is a sweep; the view is closed and nothing else happens. */
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    partition_view_close(&view);
    restart(mine, 0);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
}

static void without_payloads_a_long_view_is_a_snapshot(void **state)
{
    struct store_fixture *fixture = *state;
    store_put(fixture->store, "p", "a", "1");
    struct partition_view view;
    partition_view_open_long(fixture->store, text("p"), &view);
    store_put(fixture->store, "p", "a", "2");
    struct slice value;
    assert_int_equal(partition_view_get(&view, &fixture->arena, text("a"), &value), OK);
    assert_true(slice_is(value, "1"));
    partition_view_close(&view);
}

/* --- interleavings --- */

/*
 * The store's engine calls `run` before or after it takes a certain snapshot: what another thread
 * could do at that moment is done there, in this one.
 */
static struct {
    const struct engine_ops *ops; /* the engine's own */
    struct engine_ops hooked;
    void (*run)(void *arg); /* NULL when it was called, or is not to be */
    void *arg;
    unsigned snapshots_left; /* until the one */
    bool after;
} hook;

static struct engine_snapshot *hooked_snapshot_new(struct engine *engine)
{
    void (*run)(void *arg) = hook.snapshots_left == 0 ? hook.run : NULL;
    if (run != NULL)
        hook.run = NULL;
    else if (hook.run != NULL)
        hook.snapshots_left--;
    if (run != NULL && !hook.after)
        run(hook.arg);
    struct engine_snapshot *snapshot = hook.ops->snapshot_new(engine);
    if (run != NULL && hook.after)
        run(hook.arg);
    return snapshot;
}

/* A decision has the engine at hand. */
static enum err decide_hook(struct change *change, void *arg)
{
    (void)arg;
    struct engine *engine = change->group->engine;
    hook.ops = engine->ops;
    hook.hooked = *engine->ops;
    hook.hooked.snapshot_new = hooked_snapshot_new;
    engine->ops = &hook.hooked;
    return OK;
}

struct scene {
    struct reclaim_fixture *mine;
    struct stream_range range; /* named by "p" */
    struct partition_view view;
    bool open_first; /* before it is let go */
};

static void let_go_and_reclaim(void *arg)
{
    struct scene *scene = arg;
    remove_payload(scene->mine, "p", &scene->range);
    partition_reclaim(scene->mine->fixture->store);
    partition_reclaim(scene->mine->fixture->store);
}

static void open_and_let_go(void *arg)
{
    struct scene *scene = arg;
    struct partition_store *store = scene->mine->fixture->store;
    if (scene->open_first)
        partition_view_open_long(store, text("p"), &scene->view);
    remove_payload(scene->mine, "p", &scene->range);
    if (!scene->open_first)
        partition_view_open_long(store, text("p"), &scene->view);
}

/* Whether the view names the range, whose bytes are there then; closes the view. */
static bool end_scene(struct scene *scene)
{
    struct slice value;
    const enum err err =
        partition_view_get(&scene->view, &scene->mine->fixture->arena, text("r"), &value);
    const bool named = err == OK;
    const char byte = byte_in_view(scene->mine, &scene->view);
    partition_view_close(&scene->view);
    assert_true(named || err == ERR_NOT_FOUND);
    assert_int_equal(byte, named ? 'a' : 0);
    /* Nothing waits any longer. */
    partition_reclaim(scene->mine->fixture->store);
    assert_int_equal(first_byte(scene->mine, &scene->range), 0);
    return named;
}

static void what_is_let_go_while_a_long_view_opens_is_there_if_it_names_it(void **state)
{
    struct reclaim_fixture *mine = *state;
    assert_int_equal(store_update(mine->fixture->store, "p", decide_hook, NULL), OK);
    for (int after = 0; after < 2; after++) {
        struct scene scene = { .mine = mine, .range = named_payload(mine, "p", 'a') };
        hook.run = let_go_and_reclaim;
        hook.arg = &scene;
        hook.snapshots_left = 0;
        hook.after = after == 1;
        partition_view_open_long(mine->fixture->store, text("p"), &scene.view);
        assert_null(hook.run);
        assert_int_equal(end_scene(&scene), after == 1);
    }
}

/* One pass, with a view and a letting go at one of its snapshots.  Returns false past the last. */
static bool play_in_pass(struct reclaim_fixture *mine, unsigned snapshot, unsigned variant)
{
    struct scene scene = {
        .mine = mine,
        .range = named_payload(mine, "p", 'a'),
        .open_first = variant / 2 == 1,
    };
    /* A second owner lets go, so that the pass looks at the range. */
    own(mine, &scene.range, 2);
    disown(mine, &scene.range, 2);
    hook.run = open_and_let_go;
    hook.arg = &scene;
    hook.snapshots_left = snapshot;
    hook.after = variant % 2 == 1;
    partition_reclaim(mine->fixture->store);
    const bool played = hook.run == NULL;
    if (!played) {
        hook.run = NULL;
        open_and_let_go(&scene);
    }
    assert_int_equal(end_scene(&scene), scene.open_first);
    return played;
}

static void a_long_view_opened_at_any_moment_of_a_pass_keeps_what_it_names(void **state)
{
    struct reclaim_fixture *mine = *state;
    assert_int_equal(store_update(mine->fixture->store, "p", decide_hook, NULL), OK);
    for (unsigned variant = 0; variant < 4; variant++) {
        unsigned snapshot = 0;
        while (play_in_pass(mine, snapshot, variant))
            snapshot++;
        assert_true(snapshot > 0);
    }
}

/* --- threads --- */

/* Until the range is gone; gives up by failing when it takes a minute. */
static void await_reclaimed(struct reclaim_fixture *mine, const struct stream_range *range)
{
    const int64_t since_us = clock_monotonic_us();
    while (first_byte(mine, range) != 0) {
        assert_true(clock_monotonic_us() - since_us < 60 * 1000 * 1000);
        /* Looking pins it, which would delay what is waited for if it were done all the time. */
        poll(NULL, 0, 10);
    }
}

static void the_reclaimers_thread_goes_on_when_the_long_view_is_closed(void **state)
{
    struct reclaim_fixture *mine = *state;
    restart(mine, 2);
    const struct stream_range range = named_payload(mine, "p", 'a');
    const struct stream_range other = named_payload(mine, "q", 'b');
    struct partition_view view;
    partition_view_open_long(mine->fixture->store, text("p"), &view);
    remove_payload(mine, "p", &range);
    remove_payload(mine, "q", &other);
    /* When the other is gone the thread has met this one too, and has nothing more to do. */
    await_reclaimed(mine, &other);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(byte_in_view(mine, &view), 'a');
    partition_view_close(&view);
    await_reclaimed(mine, &range);
}

/*
 * Writers replace payloads; each key is named by a row with the range and the byte it is filled
 * with.  Readers hold long views while much is written and must find every byte of every payload,
 * before and after.  A writer now and then passes its old payload to another partition for a
 * moment, as a copy would.
 */
enum {
    KEYS = 3,
    WRITES = 150,
    WRITERS = 2,
    READERS = 3,
    WRITES_PER_VIEW = 12,
};

static const char *const PARTITIONS[WRITERS] = { "p", "q" };

struct named {
    struct stream_range range;
    char fill;
};

struct load {
    struct reclaim_fixture *mine;
    atomic_bool stop;
    atomic_uint write_count;
    atomic_uint writers_left;
    atomic_uint kept_count; /* payloads read in a view after they had been replaced */
};

struct load_thread {
    struct load *load;
    const char *partition;
    pthread_t thread;
};

struct overwrite {
    unsigned key;
    struct named old; /* its length is 0: none */
    struct named new;
};

static struct slice key_of(const unsigned *key)
{
    return slice_make(key, sizeof(*key));
}

static enum err decide_overwrite(struct change *change, void *arg)
{
    const struct overwrite *overwrite = arg;
    if (overwrite->old.range.length > 0)
        change_disown(change, &overwrite->old.range, 1);
    change_own(change, &overwrite->new.range, 1);
    change_put(change, key_of(&overwrite->key),
               slice_make(&overwrite->new, sizeof(overwrite->new)));
    return OK;
}

/* Replace the payload of a key; the old one is owned by the partition "copy" a little longer. */
static void overwrite_key(struct load_thread *thread, struct overwrite *overwrite, bool copy)
{
    struct reclaim_fixture *mine = thread->load->mine;
    struct stream_writer *writer = payload_write(mine, overwrite->new.fill);
    overwrite->new.range = stream_writer_range(writer);
    const struct stream_range old = overwrite->old.range;
    /* It is live: nobody but this thread replaces it. */
    if (copy)
        own_in(mine, "copy", &old, 2);
    if (store_update(mine->fixture->store, thread->partition, decide_overwrite, overwrite) != OK)
        abort();
    stream_writer_commit(writer);
    if (copy)
        disown_in(mine, "copy", &old, 2);
}

static void *write_all_the_time(void *arg)
{
    struct load_thread *thread = arg;
    struct named named[KEYS] = { 0 };
    for (unsigned i = 0; i < WRITES; i++) {
        struct overwrite overwrite = {
            .key = i % KEYS,
            .old = named[i % KEYS],
            .new = { .fill = (char)('a' + i % 26) },
        };
        overwrite_key(thread, &overwrite, i % 5 == 4);
        named[i % KEYS] = overwrite.new;
        atomic_fetch_add(&thread->load->write_count, 1);
    }
    atomic_fetch_sub(&thread->load->writers_left, 1);
    return NULL;
}

/* Ends the process when a byte is missing. */
static void check_named(struct reclaim_fixture *mine, const struct named *named)
{
    char bytes[PAYLOAD_LEN];
    struct stream_pin *pin;
    if (stream_pin(mine->stream, &named->range, &pin) != OK)
        abort();
    if (stream_read(pin, 0, bytes, sizeof(bytes)) != OK)
        abort();
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (bytes[i] != named->fill)
            abort();
    }
    stream_unpin(pin);
}

static unsigned check_view(struct reclaim_fixture *mine, struct partition_view *view,
                           struct arena *arena)
{
    unsigned count = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        struct slice value;
        if (partition_view_get(view, arena, key_of(&key), &value) != OK)
            continue;
        struct named named;
        memcpy(&named, value.data, sizeof(named));
        check_named(mine, &named);
        count++;
    }
    arena_clear(arena);
    return count;
}

static void *view_all_the_time(void *arg)
{
    struct load_thread *thread = arg;
    struct load *load = thread->load;
    struct arena arena = { 0 };
    while (!atomic_load(&load->stop)) {
        struct partition_view view;
        partition_view_open_long(load->mine->fixture->store, text(thread->partition), &view);
        const unsigned since = atomic_load(&load->write_count);
        unsigned count;
        do {
            count = check_view(load->mine, &view, &arena);
        } while (!atomic_load(&load->stop) &&
                 atomic_load(&load->write_count) - since < WRITES_PER_VIEW);
        /* Both writers together have replaced every payload of this partition, or nearly. */
        if (!atomic_load(&load->stop))
            atomic_fetch_add(&load->kept_count, count);
        partition_view_close(&view);
    }
    arena_release(&arena);
    return NULL;
}

static void *pass_all_the_time(void *arg)
{
    struct load *load = ((struct load_thread *)arg)->load;
    while (!atomic_load(&load->stop))
        partition_reclaim(load->mine->fixture->store);
    return NULL;
}

static void start(struct load_thread *thread, struct load *load, const char *partition,
                  void *(*run)(void *arg))
{
    *thread = (struct load_thread){ .load = load, .partition = partition };
    assert_int_equal(pthread_create(&thread->thread, NULL, run, thread), 0);
}

static void long_readers_find_every_byte_while_payloads_are_replaced(void **state)
{
    struct reclaim_fixture *mine = *state;
    restart(mine, 2);
    struct load load = { .mine = mine };
    atomic_store(&load.writers_left, WRITERS);
    struct load_thread writers[WRITERS];
    struct load_thread readers[READERS];
    struct load_thread reclaimer;
    start(&reclaimer, &load, NULL, pass_all_the_time);
    for (int i = 0; i < WRITERS; i++)
        start(&writers[i], &load, PARTITIONS[i], write_all_the_time);
    for (int i = 0; i < READERS; i++)
        start(&readers[i], &load, PARTITIONS[i % WRITERS], view_all_the_time);

    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    assert_int_equal(atomic_load(&load.writers_left), 0);
    atomic_store(&load.stop, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i].thread, NULL);
    pthread_join(reclaimer.thread, NULL);
    assert_true(atomic_load(&load.kept_count) > 0);

    /* What is live now: three payloads for each writer, in as many extents at most, and the
       extent that is being filled. */
    for (int i = 0; i < 3; i++)
        partition_reclaim(mine->fixture->store);
    assert_true(extent_count(mine) <= WRITERS * KEYS + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_block_later_rows_of_their_partition),
        RECLAIM_ON_BOTH(a_range_stays_while_a_long_view_names_it),
        RECLAIM_ON_BOTH(a_range_stays_for_the_last_of_several_long_views),
        RECLAIM_ON_BOTH(a_copy_that_is_let_go_elsewhere_does_not_end_a_range_in_view),
        RECLAIM_ON_BOTH(a_full_extent_is_kept_for_a_long_view),
        RECLAIM_ON_BOTH(a_range_pinned_through_a_long_view_outlives_it),
        RECLAIM_ON_BOTH(a_long_view_of_another_partition_delays_nothing),
        RECLAIM_ON_ROCKSDB(what_an_earlier_run_let_go_does_not_wait),
        RECLAIM_ON_ROCKSDB(a_sweep_finds_blocked_ranges_again),
        ON_BOTH_ENGINES(without_payloads_a_long_view_is_a_snapshot),
        RECLAIM_ON_BOTH(what_is_let_go_while_a_long_view_opens_is_there_if_it_names_it),
        RECLAIM_ON_BOTH(a_long_view_opened_at_any_moment_of_a_pass_keeps_what_it_names),
        RECLAIM_ON_BOTH(the_reclaimers_thread_goes_on_when_the_long_view_is_closed),
        RECLAIM_ON_BOTH(long_readers_find_every_byte_while_payloads_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
