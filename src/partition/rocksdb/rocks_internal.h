/*
 * rocks_internal.h - what the files of the RocksDB engine share.
 */
#ifndef PARTITION_ROCKSDB_ROCKS_INTERNAL_H
#define PARTITION_ROCKSDB_ROCKS_INTERNAL_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stdint.h>

#include "partition/engine.h"
#include "partition/group_map.h"
#include "partition/physical_key.h"

enum open_mode {
    OPEN_TO_USE,
    OPEN_READ_ONLY,
};

struct rocks_engine {
    struct engine engine;
    enum open_mode mode;

    /* set at open, then constant; all may be used by any thread */
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_readoptions_t *read_latest;
    rocksdb_writeoptions_t *write_durable;
    rocksdb_writeoptions_t *write_lazy;
};

struct rocks_group {
    struct engine_group group;
    struct rocks_engine *rocks;
    struct group_map *map;       /* what was changed, laid over the database */
    rocksdb_writebatch_t *batch; /* empty but while the group is committed */
};

struct engine_snapshot {
    const rocksdb_snapshot_t *snapshot;
    rocksdb_readoptions_t *read;
};

/* Before a call that reads, on any thread: RocksDB counts every step of a read for each thread
   unless it is told not to, which is a good part of a read that finds its key in memory. */
static inline void rocks__count_nothing(void)
{
    static _Thread_local bool told;
    if (!told)
        rocksdb_set_perf_level(rocksdb_disable);
    told = true;
}

/* rocks_group.c: the group half of the vtable */
struct engine_group *rocks__group_new(struct engine *engine);
void rocks__group_free(struct engine_group *group);
enum err rocks__group_get(struct engine_group *group, struct arena *arena,
                          const struct engine_key *key, struct slice *value);
void rocks__group_put(struct engine_group *group, const struct engine_key *key, struct slice value);
void rocks__group_delete(struct engine_group *group, const struct engine_key *key);
void rocks__group_save(struct engine_group *group);
void rocks__group_rollback(struct engine_group *group);
size_t rocks__group_size_bytes(struct engine_group *group);
enum err rocks__group_commit(struct engine_group *group, enum engine_durability durability);

/* rocks_checkpoint.c */
enum err rocks__checkpoint(struct engine *engine, const char *path);

/* rocks_verify.c */
enum err rocks__verify(struct engine *engine, struct arena *arena, struct slice from,
                       uint64_t bytes_max, struct slice *next, uint64_t *bytes);

/* rocks_log.c: whether a power cut tore the end of the log, which is cut off if that is allowed */
enum rocks_log_use {
    ROCKS_LOG_CUT,
    ROCKS_LOG_LOOK,
};
MUST_CHECK enum err rocks__system_error(const char *doing, const char *path); /* what errno says */
MUST_CHECK enum err rocks__check_log(const char *meta, enum rocks_log_use use, bool *torn);

/* rocks_manifest.c: the same for the list of files; RocksDB does not open one that is torn */
MUST_CHECK enum err rocks__check_manifest(const char *meta, enum rocks_log_use use);

/* data_directory.c: make the name of a directory durable. */
MUST_CHECK enum err rocks__sync_parent(const char *path);

/* rocks_cursor.c: cursors over a snapshot and inside a group */
struct cursor *rocks__scan(struct engine *engine, struct engine_snapshot *snapshot,
                           const struct engine_scan *scan);
enum err rocks__next_partition(struct engine *engine, struct engine_snapshot *snapshot,
                               struct arena *arena, struct slice after, struct slice *partition);
struct cursor *rocks__group_scan(struct engine_group *group, const struct engine_scan *scan);

/* engine_rocksdb.c: a failed read in our words; logs the message and frees it. */
enum err rocks__error(const char *doing, char *message);

/* One key of the latest committed state or of what `read` holds. */
enum err rocks__get(struct rocks_engine *rocks, const rocksdb_readoptions_t *read,
                    struct arena *arena, struct slice physical, struct slice *value);

/* Whether a message of RocksDB says that the disk is full. */
bool rocks__is_no_space(const char *message);

#endif
