/*
 * rocks_group.c - a group as a map of what it has changed, laid over the database.
 *
 * The batch that is written has only the last change of each key, in the order of keys.  A key that
 * the database never had is removed like any other: finding out would cost more than a tombstone.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "partition/heap.h"
#include "partition/rocksdb/rocks_internal.h"

/* A batch that has grown past this is not kept for the next group. */
static const size_t BATCH_BYTES_KEPT = 1024 * 1024;

struct engine_group *rocks__group_new(struct engine *engine)
{
    struct rocks_group *group = heap_new(sizeof(*group));
    group->group.engine = engine;
    group->rocks = (struct rocks_engine *)engine;
    group->map = group_map_new();
    group->batch = rocksdb_writebatch_create();
    return &group->group;
}

void rocks__group_free(struct engine_group *group)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    rocksdb_writebatch_destroy(mine->batch);
    group_map_free(mine->map);
    free(mine);
}

enum err rocks__group_get(struct engine_group *group, struct arena *arena,
                          const struct engine_key *key, struct slice *value)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    const struct group_entry *entry = group_map_find(mine->map, physical_key_slice(&physical));
    if (entry == NULL)
        return rocks__get(mine->rocks, mine->rocks->read_latest, arena,
                          physical_key_slice(&physical), value);
    const struct slice changed = group_entry_value(entry);
    if (changed.len == 0)
        return ERR_NOT_FOUND;
    *value = arena_copy(arena, changed);
    return OK;
}

void rocks__group_put(struct engine_group *group, const struct engine_key *key, struct slice value)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    group_map_set(mine->map, physical_key_slice(&physical), value);
}

void rocks__group_delete(struct engine_group *group, const struct engine_key *key)
{
    rocks__group_put(group, key, (struct slice){ 0 });
}

void rocks__group_save(struct engine_group *group)
{
    group_map_save(((struct rocks_group *)group)->map);
}

void rocks__group_rollback(struct engine_group *group)
{
    group_map_undo(((struct rocks_group *)group)->map);
}

size_t rocks__group_size_bytes(struct engine_group *group)
{
    return group_map_size_bytes(((struct rocks_group *)group)->map);
}

static void fill_batch(struct rocks_group *group)
{
    for (const struct group_entry *entry = group_map_first(group->map); entry != NULL;
         entry = group_entry_next(entry)) {
        const struct slice key = group_entry_key(entry);
        const struct slice value = group_entry_value(entry);
        if (value.len == 0)
            rocksdb_writebatch_delete(group->batch, key.data, key.len);
        else
            rocksdb_writebatch_put(group->batch, key.data, key.len, value.data, value.len);
    }
}

static void group_clear(struct rocks_group *group)
{
    size_t size_bytes;
    (void)rocksdb_writebatch_data(group->batch, &size_bytes);
    if (size_bytes > BATCH_BYTES_KEPT) {
        rocksdb_writebatch_destroy(group->batch);
        group->batch = rocksdb_writebatch_create();
    } else {
        rocksdb_writebatch_clear(group->batch);
    }
    group_map_clear(group->map);
}

/*
 * Whether a failed write certainly changed nothing.  That is so when the disk was full while the
 * record was appended: RocksDB takes no more writes then, and starts a new log by itself once
 * there is space.  When the sync of the log fails, for whatever reason, the record may be there
 * after a restart.
 */
static bool failed_cleanly(const char *message)
{
    const bool log_sync =
        strstr(message, ".log") != NULL &&
        (strstr(message, "fdatasync") != NULL || strstr(message, "fsync") != NULL ||
         strstr(message, "sync_file_range") != NULL);
    return rocks__is_no_space(message) && !log_sync;
}

enum err rocks__group_commit(struct engine_group *group, enum engine_durability durability)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    const rocksdb_writeoptions_t *options =
        durability == ENGINE_DURABLE ? mine->rocks->write_durable : mine->rocks->write_lazy;
    char *message = NULL;
    fill_batch(mine);
    rocksdb_write(mine->rocks->db, options, mine->batch, &message);
    if (message != NULL && !failed_cleanly(message))
        panic("committing: %s", message);
    const enum err err = message == NULL ? OK : ERR_NO_SPACE;
    rocksdb_free(message);
    group_clear(mine);
    return err;
}
