/*
 * engine.h - what an engine does for the partition layer.
 *
 * An engine is an ordered map from (partition, key) to value with snapshots, and groups: a group
 * is a batch of changes that becomes durable and visible at once.  All else is done above it,
 * once for all engines: threads, time stamps, running decisions, payload ownership.
 *
 *   memory/   a persistent tree; a snapshot is a held root
 *   rocksdb/  the embedded durable store
 *
 * Groups.  A group belongs to one thread at a time and is used over and over: changes are
 * gathered, engine_group_commit makes them durable and leaves the group empty.  Reads in a group
 * see its own changes over the latest committed state.  Two groups at the same time never touch
 * the same key, so engines need not detect conflicts; a group may read keys only of partitions
 * no other group changes.
 *
 * Snapshots and single reads may be used by any thread while groups commit.
 *
 * To add an engine: fill in an engine_ops and a cursor_ops, and open it from partition.c.
 */
#ifndef PARTITION_ENGINE_H
#define PARTITION_ENGINE_H

#include <assert.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"

struct engine;
struct engine_group;
struct engine_snapshot;

/* A value.  The empty partition is the layer's own (partition/system_row.h). */
struct engine_key {
    struct slice partition;
    struct slice key;
};

/* What a cursor runs over: the keys of `partition` that begin with `prefix`, from `from` on and
   before `until`.  A value; `from` is not before `prefix`; an empty `until` is no bound.  Engines
   copy what they keep, and do not pass by removed keys behind the bound. */
struct engine_scan {
    struct slice partition;
    struct slice prefix;
    struct slice from;
    struct slice until;
};

enum engine_durability {
    ENGINE_DURABLE, /* synced when commit returns */
    ENGINE_LAZY,    /* ordered with all other commits, but a crash may undo it */
};

/* The head of every engine's cursor; the contract is in partition.h.
   A cursor of a group follows the changes made in the group while it is open. */
struct cursor_ops {
    enum err (*next)(struct cursor *cursor, struct slice *key, struct slice *value);
    void (*seek)(struct cursor *cursor, struct slice key);
    void (*free)(struct cursor *cursor);
};

struct cursor {
    const struct cursor_ops *ops;
};

struct engine_ops {
    void (*close)(struct engine *engine);

    struct engine_snapshot *(*snapshot_new)(struct engine *engine);
    void (*snapshot_free)(struct engine *engine, struct engine_snapshot *snapshot);
    enum err (*get)(struct engine *engine, struct engine_snapshot *snapshot, struct arena *arena,
                    const struct engine_key *key, struct slice *value);
    struct cursor *(*scan)(struct engine *engine, struct engine_snapshot *snapshot,
                           const struct engine_scan *scan);
    enum err (*next_partition)(struct engine *engine, struct engine_snapshot *snapshot,
                               struct arena *arena, struct slice after, struct slice *partition);
    enum err (*checkpoint)(struct engine *engine, const char *path); /* or NULL */
    enum err (*verify)(struct engine *engine, struct arena *arena, struct slice from,
                       uint64_t bytes_max, struct slice *next, uint64_t *bytes); /* or NULL */

    struct engine_group *(*group_new)(struct engine *engine);
    void (*group_free)(struct engine_group *group);
    enum err (*group_get)(struct engine_group *group, struct arena *arena,
                          const struct engine_key *key, struct slice *value);
    void (*group_put)(struct engine_group *group, const struct engine_key *key, struct slice value);
    void (*group_delete)(struct engine_group *group, const struct engine_key *key);
    struct cursor *(*group_scan)(struct engine_group *group, const struct engine_scan *scan);
    void (*group_save)(struct engine_group *group);
    void (*group_rollback)(struct engine_group *group);
    size_t (*group_size_bytes)(struct engine_group *group);
    enum err (*group_commit)(struct engine_group *group, enum engine_durability durability);
};

/* The heads of every engine's own structs. */
struct engine {
    const struct engine_ops *ops;
};

struct engine_group {
    struct engine *engine;
};

static inline void engine_key_assert(const struct engine_key *key)
{
    assert(key->partition.len <= PARTITION_ID_BYTES_MAX);
    assert(key->key.len <= PARTITION_KEY_BYTES_MAX);
}

/* Every snapshot, cursor and group is gone. */
static inline void engine_close(struct engine *engine)
{
    engine->ops->close(engine);
}

static inline struct engine_snapshot *engine_snapshot_new(struct engine *engine)
{
    return engine->ops->snapshot_new(engine);
}

static inline void engine_snapshot_free(struct engine *engine, struct engine_snapshot *snapshot)
{
    engine->ops->snapshot_free(engine, snapshot);
}

/* The value, copied into the arena, as of `snapshot` (NULL: the latest committed).
   ERR_NOT_FOUND, ERR_CORRUPT, ERR_IO. */
MUST_CHECK static inline enum err engine_get(struct engine *engine,
                                             struct engine_snapshot *snapshot, struct arena *arena,
                                             const struct engine_key *key, struct slice *value)
{
    engine_key_assert(key);
    return engine->ops->get(engine, snapshot, arena, key, value);
}

/* `snapshot` outlives the cursor. */
static inline struct cursor *engine_scan(struct engine *engine, struct engine_snapshot *snapshot,
                                         const struct engine_scan *scan)
{
    assert(snapshot != NULL);
    assert(slice_compare(scan->from, scan->prefix) >= 0);
    return engine->ops->scan(engine, snapshot, scan);
}

/* The name of the partition that follows `after` (empty: the first but the layer's own), copied
   into the arena.  The order is the engine's.  ERR_NOT_FOUND after the last; ERR_CORRUPT,
   ERR_IO. */
MUST_CHECK static inline enum err engine_next_partition(struct engine *engine,
                                                        struct engine_snapshot *snapshot,
                                                        struct arena *arena, struct slice after,
                                                        struct slice *partition)
{
    assert(snapshot != NULL);
    return engine->ops->next_partition(engine, snapshot, arena, after, partition);
}

/* All that is committed, and nothing else, as files of another database that begins at directory
   `path`/meta; `path` is there and `path`/meta is not.  Groups may commit meanwhile.
   ERR_NOT_IMPLEMENTED for an engine without files; ERR_IO, ERR_NO_SPACE. */
MUST_CHECK static inline enum err engine_checkpoint(struct engine *engine, const char *path)
{
    return engine->ops->checkpoint == NULL ? ERR_NOT_IMPLEMENTED
                                           : engine->ops->checkpoint(engine, path);
}

/* Read about `bytes_max` of rows from the place `from` on (empty: the first), as the disk has them.
   `*next` is where to go on, in the arena, or empty at the end.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK static inline enum err engine_verify(struct engine *engine, struct arena *arena,
                                                struct slice from, uint64_t bytes_max,
                                                struct slice *next, uint64_t *bytes)
{
    *next = (struct slice){ 0 };
    *bytes = 0;
    return engine->ops->verify == NULL
               ? OK
               : engine->ops->verify(engine, arena, from, bytes_max, next, bytes);
}

static inline struct engine_group *engine_group_new(struct engine *engine)
{
    return engine->ops->group_new(engine);
}

/* Changes that were not committed are dropped. */
static inline void engine_group_free(struct engine_group *group)
{
    group->engine->ops->group_free(group);
}

MUST_CHECK static inline enum err engine_group_get(struct engine_group *group, struct arena *arena,
                                                   const struct engine_key *key,
                                                   struct slice *value)
{
    engine_key_assert(key);
    return group->engine->ops->group_get(group, arena, key, value);
}

static inline void engine_group_put(struct engine_group *group, const struct engine_key *key,
                                    struct slice value)
{
    engine_key_assert(key);
    assert(value.len > 0);
    group->engine->ops->group_put(group, key, value);
}

/* The key need not be there. */
static inline void engine_group_delete(struct engine_group *group, const struct engine_key *key)
{
    engine_key_assert(key);
    group->engine->ops->group_delete(group, key);
}

/* The cursor is freed before the group is saved, rolled back, committed or freed. */
static inline struct cursor *engine_group_scan(struct engine_group *group,
                                               const struct engine_scan *scan)
{
    assert(slice_compare(scan->from, scan->prefix) >= 0);
    return group->engine->ops->group_scan(group, scan);
}

/* Remember this state of the group; one is remembered at a time. */
static inline void engine_group_save(struct engine_group *group)
{
    group->engine->ops->group_save(group);
}

/* Undo what was changed since engine_group_save, which is called again before the next one. */
static inline void engine_group_rollback(struct engine_group *group)
{
    group->engine->ops->group_rollback(group);
}

/* About how much was changed, with all that was changed again later; 0 if and only if the group is
   empty. */
static inline size_t engine_group_size_bytes(struct engine_group *group)
{
    return group->engine->ops->group_size_bytes(group);
}

/*
 * Write the group and empty it.
 *   ERR_NO_SPACE   nothing has changed; the engine recovers by itself when there is space
 * Any other failure leaves the state on disk unknown and is a panic.
 */
MUST_CHECK static inline enum err engine_group_commit(struct engine_group *group,
                                                      enum engine_durability durability)
{
    return group->engine->ops->group_commit(group, durability);
}

#endif
