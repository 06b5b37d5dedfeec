/*
 * test_engine.c - both engines against a simple model: random changes, save points, rollbacks,
 * commits, snapshots and scans must agree with an array.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "partition/engine.h"
#include "partition/memory/engine_memory.h"
#include "partition/rocksdb/engine_rocksdb.h"

enum {
    KEYS = 40,
    STEPS = 20000,
    PARTITIONS = 2,
};

/* The value of each key of each partition; 0 for none. */
struct model {
    uint32_t values[PARTITIONS][KEYS];
};

struct run {
    struct engine *engine;
    struct engine_group *group;
    struct arena arena;
    uint64_t random;
    struct model committed;
    struct model gathered; /* what the group sees */
    struct model saved;
    struct engine_snapshot *snapshot;
    struct model at_snapshot;
};

static uint32_t next_random(struct run *run, uint32_t below)
{
    run->random = run->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(run->random >> 33) % below;
}

static struct slice partition_name(unsigned partition)
{
    static const char *const names[PARTITIONS] = { "p", "pp" };
    return slice_of(names[partition]);
}

/* Keys of one to three bytes, so that many begin with another; in order of their index. */
static struct slice key_name(struct arena *arena, unsigned index)
{
    return arena_printf(arena, "%c%.*s", 'a' + (int)(index / 8), (int)(index % 8), "zzzzzzzz");
}

static struct slice value_text(struct arena *arena, uint32_t value)
{
    return arena_printf(arena, "%u", value);
}

static void check_get(struct run *run, unsigned partition, unsigned index)
{
    const struct engine_key key = { partition_name(partition), key_name(&run->arena, index) };
    struct slice value;
    const uint32_t expected = run->gathered.values[partition][index];
    const enum err err = engine_group_get(run->group, &run->arena, &key, &value);
    assert_int_equal(err, expected == 0 ? ERR_NOT_FOUND : OK);
    if (expected != 0)
        assert_true(slice_equal(value, value_text(&run->arena, expected)));
}

/* The cursor gives exactly what the model has from `from` on and before `until`; every few steps it
   seeks. */
static void check_cursor(struct run *run, struct cursor *cursor, const uint32_t *values,
                         unsigned from, unsigned until)
{
    unsigned at = from;
    for (;;) {
        while (at < KEYS && values[at] == 0)
            at++;
        if (at >= until)
            at = KEYS;
        struct slice key;
        struct slice value;
        const enum err err = cursor_next(cursor, &key, &value);
        assert_int_equal(err, at == KEYS ? ERR_NOT_FOUND : OK);
        if (at == KEYS)
            break;
        assert_true(slice_equal(key, key_name(&run->arena, at)));
        assert_true(slice_equal(value, value_text(&run->arena, values[at])));
        at++;
        if (at < KEYS && next_random(run, 8) == 0) {
            at += next_random(run, KEYS - at);
            cursor_seek(cursor, key_name(&run->arena, at));
        }
    }
    cursor_free(cursor);
}

static void check_scan(struct run *run, unsigned partition)
{
    const unsigned from = next_random(run, KEYS);
    const unsigned until = next_random(run, 2) == 0 ? KEYS : next_random(run, KEYS);
    const struct engine_scan scan = {
        .partition = partition_name(partition),
        .from = key_name(&run->arena, from),
        .until = until == KEYS ? (struct slice){ 0 } : key_name(&run->arena, until),
    };
    check_cursor(run, engine_group_scan(run->group, &scan), run->gathered.values[partition], from,
                 until);
    check_cursor(run, engine_scan(run->engine, run->snapshot, &scan),
                 run->at_snapshot.values[partition], from, until);
}

static void change(struct run *run, unsigned partition, unsigned index)
{
    const struct engine_key key = { partition_name(partition), key_name(&run->arena, index) };
    const uint32_t value = next_random(run, 3) == 0 ? 0 : 1 + next_random(run, 1000000);
    run->gathered.values[partition][index] = value;
    if (value == 0)
        engine_group_delete(run->group, &key);
    else
        engine_group_put(run->group, &key, value_text(&run->arena, value));
}

/* A cursor of the group shows what is changed behind its place while it is open, and what it gave
   last stays readable. */
static void check_scan_that_changes(struct run *run, unsigned partition)
{
    const uint32_t *values = run->gathered.values[partition];
    const struct engine_scan scan = { .partition = partition_name(partition) };
    struct cursor *cursor = engine_group_scan(run->group, &scan);
    unsigned from = 0;
    for (unsigned i = 0; i < 2 * KEYS; i++) {
        unsigned at = from;
        while (at < KEYS && values[at] == 0)
            at++;
        struct slice key = { 0 };
        struct slice value = { 0 };
        const enum err err = cursor_next(cursor, &key, &value);
        assert_int_equal(err, at == KEYS ? ERR_NOT_FOUND : OK);
        const uint32_t expected = at == KEYS ? 0 : values[at];
        for (unsigned writes = next_random(run, 3); writes > 0; writes--)
            change(run, partition, next_random(run, KEYS));
        if (err != OK)
            continue;
        if (next_random(run, 2) == 0)
            change(run, partition, at);
        assert_true(slice_equal(key, key_name(&run->arena, at)));
        assert_true(slice_equal(value, value_text(&run->arena, expected)));
        from = at + 1;
        if (from < KEYS && next_random(run, 8) == 0) {
            from += next_random(run, KEYS - from);
            cursor_seek(cursor, key_name(&run->arena, from));
        }
    }
    cursor_free(cursor);
}

static void step(struct run *run)
{
    const unsigned partition = next_random(run, PARTITIONS);
    const unsigned index = next_random(run, KEYS);
    switch (next_random(run, 24)) {
    case 0:
        engine_group_save(run->group);
        run->saved = run->gathered;
        break;
    case 1:
        engine_group_rollback(run->group);
        run->gathered = run->saved;
        engine_group_save(run->group);
        break;
    case 2:
        assert_int_equal(engine_group_commit(run->group, ENGINE_LAZY), OK);
        assert_int_equal(engine_group_size_bytes(run->group), 0);
        run->committed = run->gathered;
        engine_group_save(run->group);
        run->saved = run->gathered;
        break;
    case 3:
        engine_snapshot_free(run->engine, run->snapshot);
        run->snapshot = engine_snapshot_new(run->engine);
        run->at_snapshot = run->committed;
        break;
    case 4:
        check_scan(run, partition);
        break;
    case 5:
        if (next_random(run, 8) == 0)
            check_scan_that_changes(run, partition);
        break;
    case 6:
    case 7:
    case 8:
        check_get(run, partition, index);
        break;
    default:
        change(run, partition, index);
        break;
    }
    arena_clear(&run->arena);
}

static void check_engine(struct engine *engine, uint64_t seed)
{
    struct run run = { .engine = engine, .random = seed };
    run.group = engine_group_new(engine);
    run.snapshot = engine_snapshot_new(engine);
    engine_group_save(run.group);
    for (unsigned i = 0; i < STEPS; i++)
        step(&run);
    engine_snapshot_free(engine, run.snapshot);
    engine_group_free(run.group);
    arena_release(&run.arena);
    engine_close(engine);
}

static void the_memory_engine_agrees_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        check_engine(engine_memory_new(), seed);
}

static int remove_file(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

static void the_rocksdb_engine_agrees_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        char path[] = "/tmp/zaffre-engine-XXXXXX";
        assert_non_null(mkdtemp(path));
        struct engine *engine;
        assert_int_equal(engine_rocksdb_open(path, 0, &engine), OK);
        check_engine(engine, seed);
        nftw(path, remove_file, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* The size of all files of the log. */
static size_t log_bytes(const char *path)
{
    char meta[64];
    snprintf(meta, sizeof(meta), "%s/meta", path);
    DIR *directory = opendir(meta);
    assert_non_null(directory);
    size_t size_bytes = 0;
    for (const struct dirent *file; (file = readdir(directory)) != NULL;) {
        struct stat found;
        const char *end = strrchr(file->d_name, '.');
        if (end == NULL || strcmp(end, ".log") != 0)
            continue;
        assert_int_equal(fstatat(dirfd(directory), file->d_name, &found, 0), 0);
        size_bytes += (size_t)found.st_size;
    }
    closedir(directory);
    return size_bytes;
}

/* Two groups at once, as two committers make them. */
static void check_two_groups(struct engine *engine)
{
    struct arena arena = { 0 };
    struct engine_group *first = engine_group_new(engine);
    struct engine_group *second = engine_group_new(engine);
    const struct engine_key a = { partition_name(0), slice_of("k") };
    const struct engine_key b = { partition_name(1), slice_of("k") };
    engine_group_put(first, &a, slice_of("1"));
    engine_group_put(second, &b, slice_of("2"));
    struct slice value;
    assert_int_equal(engine_get(engine, NULL, &arena, &a, &value), ERR_NOT_FOUND);
    assert_int_equal(engine_group_commit(second, ENGINE_DURABLE), OK);
    assert_int_equal(engine_group_commit(first, ENGINE_DURABLE), OK);
    assert_int_equal(engine_get(engine, NULL, &arena, &a, &value), OK);
    assert_true(slice_is(value, "1"));
    assert_int_equal(engine_get(engine, NULL, &arena, &b, &value), OK);
    assert_true(slice_is(value, "2"));
    engine_group_free(first);
    engine_group_free(second);
    arena_release(&arena);
    engine_close(engine);
}

static void groups_that_overlap_in_time_both_count(void **state)
{
    (void)state;
    check_two_groups(engine_memory_new());
    char path[] = "/tmp/zaffre-engine-XXXXXX";
    assert_non_null(mkdtemp(path));
    struct engine *engine;
    assert_int_equal(engine_rocksdb_open(path, 0, &engine), OK);
    check_two_groups(engine);
    nftw(path, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

/* One decision that removes many rows while it scans them, and puts others. */
static void check_large_group(struct engine *engine)
{
    enum { MANY = 100000 };
    struct arena arena = { 0 };
    struct engine_group *group = engine_group_new(engine);
    for (unsigned i = 0; i < MANY; i++) {
        const struct engine_key key = { partition_name(0), arena_printf(&arena, "a%06u", i) };
        engine_group_put(group, &key, slice_of("1"));
    }
    assert_int_equal(engine_group_commit(group, ENGINE_LAZY), OK);

    const struct engine_scan scan = { .partition = partition_name(0) };
    struct cursor *cursor = engine_group_scan(group, &scan);
    struct slice name;
    struct slice value;
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(cursor_next(cursor, &name, &value), OK);
        const struct engine_key old = { partition_name(0), arena_copy(&arena, name) };
        const struct engine_key new = { partition_name(1), old.key };
        engine_group_delete(group, &old);
        engine_group_put(group, &new, value);
    }
    assert_int_equal(cursor_next(cursor, &name, &value), ERR_NOT_FOUND);
    cursor_free(cursor);
    assert_int_equal(engine_group_commit(group, ENGINE_LAZY), OK);

    struct engine_snapshot *snapshot = engine_snapshot_new(engine);
    cursor = engine_scan(engine, snapshot, &scan);
    assert_int_equal(cursor_next(cursor, &name, &value), ERR_NOT_FOUND);
    cursor_free(cursor);
    const struct engine_scan moved = { .partition = partition_name(1) };
    cursor = engine_scan(engine, snapshot, &moved);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(cursor_next(cursor, &name, &value), OK);
    assert_int_equal(cursor_next(cursor, &name, &value), ERR_NOT_FOUND);
    cursor_free(cursor);
    engine_snapshot_free(engine, snapshot);
    engine_group_free(group);
    arena_release(&arena);
    engine_close(engine);
}

static void a_group_may_move_many_rows(void **state)
{
    (void)state;
    check_large_group(engine_memory_new());
    char path[] = "/tmp/zaffre-engine-XXXXXX";
    assert_non_null(mkdtemp(path));
    struct engine *engine;
    assert_int_equal(engine_rocksdb_open(path, 0, &engine), OK);
    check_large_group(engine);
    nftw(path, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

/* The log has what the group comes to, not what it went through. */
static void a_row_that_is_changed_often_in_a_group_is_written_once(void **state)
{
    (void)state;
    enum { TIMES = 1000 };
    char path[] = "/tmp/zaffre-engine-XXXXXX";
    assert_non_null(mkdtemp(path));
    struct engine *engine;
    assert_int_equal(engine_rocksdb_open(path, 0, &engine), OK);
    struct engine_group *group = engine_group_new(engine);
    const struct engine_key key = { partition_name(0), slice_of("k") };
    const struct slice value = slice_of("a value of a length that would be noticed");
    for (unsigned i = 0; i < TIMES; i++)
        engine_group_put(group, &key, value);
    assert_int_equal(engine_group_commit(group, ENGINE_DURABLE), OK);
    engine_group_free(group);
    assert_true(log_bytes(path) > value.len);
    assert_true(log_bytes(path) < 10 * value.len);
    engine_close(engine);
    nftw(path, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

static void a_database_that_is_open_is_locked(void **state)
{
    (void)state;
    char path[] = "/tmp/zaffre-engine-XXXXXX";
    assert_non_null(mkdtemp(path));
    struct engine *engine;
    struct engine *second;
    assert_int_equal(engine_rocksdb_open(path, 0, &engine), OK);
    assert_int_equal(engine_rocksdb_open(path, 0, &second), ERR_LOCKED);
    engine_close(engine);
    nftw(path, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_memory_engine_agrees_with_a_model),
        cmocka_unit_test(the_rocksdb_engine_agrees_with_a_model),
        cmocka_unit_test(groups_that_overlap_in_time_both_count),
        cmocka_unit_test(a_group_may_move_many_rows),
        cmocka_unit_test(a_row_that_is_changed_often_in_a_group_is_written_once),
        cmocka_unit_test(a_database_that_is_open_is_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
