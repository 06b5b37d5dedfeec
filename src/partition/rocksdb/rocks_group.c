/*
 * rocks_group.c - a group as a write batch with an index.
 *
 * Undoing an update rolls the batch back to its save point, which rebuilds the whole index.  A
 * decision that aborts has rarely written before, so the save point is set only at an update's
 * first write and most aborts cost nothing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "partition/heap.h"
#include "partition/rocksdb/rocks_internal.h"

/* A batch that has grown past this is not kept for the next group. */
static const size_t BATCH_BYTES_KEPT = 1024 * 1024;

static rocksdb_writebatch_wi_t *batch_new(void)
{
    const size_t reserved_bytes = 4096;
    const unsigned char overwrite_key = 1; /* one index entry for each key */
    return rocksdb_writebatch_wi_create(reserved_bytes, overwrite_key);
}

struct engine_group *rocks__group_new(struct engine *engine)
{
    struct rocks_group *group = heap_new(sizeof(*group));
    group->group.engine = engine;
    group->rocks = (struct rocks_engine *)engine;
    group->batch = batch_new();
    return &group->group;
}

void rocks__group_free(struct engine_group *group)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    rocksdb_writebatch_wi_destroy(mine->batch);
    free(mine);
}

enum err rocks__group_get(struct engine_group *group, struct arena *arena,
                          const struct engine_key *key, struct slice *value)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    if (rocksdb_writebatch_wi_count(mine->batch) == 0)
        return rocks__get(mine->rocks, mine->rocks->read_latest, arena,
                          physical_key_slice(&physical), value);

    rocks__count_nothing();
    char *message = NULL;
    size_t len;
    char *data = rocksdb_writebatch_wi_get_from_batch_and_db(
        mine->batch, mine->rocks->db, mine->rocks->read_latest, physical.bytes, physical.len, &len,
        &message);
    if (message != NULL)
        return rocks__error("reading a key", message);
    if (data == NULL)
        return ERR_NOT_FOUND;
    enum err err = OK;
    if (len == 0)
        err = CORRUPT("a stored value is empty");
    else
        *value = arena_copy(arena, slice_make(data, len));
    rocksdb_free(data);
    return err;
}

static void before_write(struct rocks_group *group)
{
    if (!group->saved) {
        rocksdb_writebatch_wi_set_save_point(group->batch);
        group->saved = true;
    }
    group->write_count++;
}

void rocks__group_put(struct engine_group *group, const struct engine_key *key, struct slice value)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    before_write(mine);
    rocksdb_writebatch_wi_put(mine->batch, physical.bytes, physical.len, value.data, value.len);
}

void rocks__group_delete(struct engine_group *group, const struct engine_key *key)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    before_write(mine);
    rocksdb_writebatch_wi_delete(mine->batch, physical.bytes, physical.len);
}

void rocks__group_save(struct engine_group *group)
{
    ((struct rocks_group *)group)->saved = false;
}

void rocks__group_rollback(struct engine_group *group)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    if (!mine->saved)
        return;
    char *message = NULL;
    rocksdb_writebatch_wi_rollback_to_save_point(mine->batch, &message);
    /* There is a save point, so only a batch damaged in memory fails here. */
    if (message != NULL)
        panic("rolling back an update: %s", message);
    mine->saved = false;
}

size_t rocks__group_size_bytes(struct engine_group *group)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    if (rocksdb_writebatch_wi_count(mine->batch) == 0)
        return 0;
    size_t size_bytes;
    (void)rocksdb_writebatch_wi_data(mine->batch, &size_bytes);
    return size_bytes;
}

static void group_clear(struct rocks_group *group)
{
    size_t size_bytes;
    (void)rocksdb_writebatch_wi_data(group->batch, &size_bytes);
    if (size_bytes > BATCH_BYTES_KEPT) {
        rocksdb_writebatch_wi_destroy(group->batch);
        group->batch = batch_new();
    } else {
        rocksdb_writebatch_wi_clear(group->batch);
    }
    group->saved = false;
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
    rocksdb_write_writebatch_wi(mine->rocks->db, options, mine->batch, &message);
    if (message != NULL && !failed_cleanly(message))
        panic("committing: %s", message);
    const enum err err = message == NULL ? OK : ERR_NO_SPACE;
    rocksdb_free(message);
    group_clear(mine);
    return err;
}
