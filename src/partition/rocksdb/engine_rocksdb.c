/*
 * engine_rocksdb.c - opening the database, its settings, and single reads.
 *
 * Settings, and why:
 *   WAL recovery    tolerates a record that is cut short at the end and nothing else.  Every
 *                   acknowledged group was synced, so that is a group nobody was told about; damage
 *                   before it is ERR_CORRUPT.  What else a power cut leaves behind the last sync is
 *                   cut off before (rocks_log.c, rocks_manifest.c).  Log files are not recycled:
 *                   an old record could not be told from a torn one.
 *   paranoid checks a background error stops writing rather than spreading.
 *   memory          index and filter blocks are in the block cache, so the cache bounds what reads
 *                   hold; at most three write buffers; a bounded number of open files.
 *   index, filters  one of each for a file.  In pieces they cost a read two more searches and two
 *                   more looks into the cache, a third of the time of a Get Blob among a million.
 *                   Whole, those of a file of very small rows are a few MiB; a part of the cache
 *                   has room for several, else they would be read from the disk for every key.
 *                   A write buffer has a filter, too: most reads before a write are of new names.
 *   data blocks     have an index by hash besides: a key is found without a binary search.
 *   large values    from 2 KiB on, inline payloads above all, are in files of their own that
 *                   merging does not write again: half the bytes for payloads of 4 KiB, and the
 *                   cache keeps metadata.  When half of the oldest tenth of them is garbage, what
 *                   lives in it is written anew.  From 1 KiB on it would gain writes little and
 *                   cost reads a tenth.
 *   compression     LZ4 from the first sorted level down; fresh files are not worth it.
 *   its own log     has the settings at open and nothing later: writing it to a full disk ends the
 *                   process where RocksDB is built with assertions, as Debian's is.  What goes
 *                   wrong reaches us as errors.
 *
 * A full disk: RocksDB refuses writes, looks every few seconds, and takes writes again by itself
 * when there is room for a write buffer.  It begins a new log then only if there is something in
 * its write buffer, and a log that was refused space takes nothing more; so opening puts something
 * there (begin_log).  What is left is a log that is refused its first record after a buffer was
 * full: then the first commit when there is space again ends the process.
 */
#include "partition/rocksdb/engine_rocksdb.h"

#include <assert.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "partition/heap.h"
#include "partition/rocksdb/rocks_internal.h"

enum {
    MIB = 1024 * 1024,
    CACHE_BYTES_DEFAULT = 64 * MIB,
    CACHE_PART_BYTES_MIN = 16 * MIB,
    CACHE_PART_BITS_MAX = 6,
    WRITE_BUFFER_BYTES = 32 * MIB,
    WRITE_BUFFER_COUNT = 3,
    WAL_BYTES_MAX = 128 * MIB, /* bounds the time of recovery */
    BLOCK_BYTES = 8 * 1024,
    BLOOM_BITS_PER_KEY = 10,
    TABLE_FORMAT_VERSION = 5,
    OPEN_FILES_MAX = 512,
    BACKGROUND_JOBS = 2,
    INFO_LOG_FILES = 2,
    INFO_LOG_LEVEL_FATAL = 4,
    LEVEL_TO_COMPRESS_FROM = 1,
    VALUE_APART_BYTES_MIN = 2048,
};

static const double KEYS_PER_HASH_BUCKET = 0.75;
static const double VALUES_GATHERED_SHARE = 0.1; /* of the files of values, the oldest */
static const double VALUES_GARBAGE_SHARE_MAX = 0.5;
static const double WRITE_BUFFER_FILTER_SHARE = 0.02; /* 5 million bits */

bool rocks__is_no_space(const char *message)
{
    return strstr(message, "No space left on device") != NULL;
}

enum err rocks__error(const char *doing, char *message)
{
    enum err err = ERR_IO;
    if (strncmp(message, "Corruption", strlen("Corruption")) == 0)
        err = CORRUPT("%s: %s", doing, message);
    else if (rocks__is_no_space(message))
        err = ERR_NO_SPACE;
    if (err != ERR_CORRUPT)
        log_error("rocksdb", "%s: %s", doing, message);
    rocksdb_free(message);
    return err;
}

/* --- opening --- */

/* A cache in as many parts, each with a lock of its own, as are not too small. */
static rocksdb_cache_t *cache_new(uint64_t capacity_bytes)
{
    int part_bits = 0;
    while (part_bits < CACHE_PART_BITS_MAX &&
           capacity_bytes >> (part_bits + 1) >= CACHE_PART_BYTES_MIN)
        part_bits++;
    rocksdb_lru_cache_options_t *options = rocksdb_lru_cache_options_create();
    rocksdb_lru_cache_options_set_capacity(options, capacity_bytes);
    rocksdb_lru_cache_options_set_num_shard_bits(options, part_bits);
    rocksdb_cache_t *cache = rocksdb_cache_create_lru_opts(options);
    rocksdb_lru_cache_options_destroy(options);
    return cache;
}

static void set_table_options(rocksdb_options_t *options, rocksdb_cache_t *cache)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_block_size(table, BLOCK_BYTES);
    rocksdb_block_based_options_set_format_version(table, TABLE_FORMAT_VERSION);
    /* The table options take the filter over. */
    rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS_PER_KEY));
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_data_block_index_type(
        table, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_block_based_options_set_data_block_hash_ratio(table, KEYS_PER_HASH_BUCKET);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 1);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
}

static rocksdb_options_t *options_new(rocksdb_cache_t *cache)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_paranoid_checks(options, 1);
    rocksdb_options_set_wal_recovery_mode(options,
                                          rocksdb_tolerate_corrupted_tail_records_recovery);
    rocksdb_options_set_recycle_log_file_num(options, 0);
    rocksdb_options_set_max_total_wal_size(options, WAL_BYTES_MAX);
    rocksdb_options_set_write_buffer_size(options, WRITE_BUFFER_BYTES);
    rocksdb_options_set_max_write_buffer_number(options, WRITE_BUFFER_COUNT);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, WRITE_BUFFER_FILTER_SHARE);
    rocksdb_options_set_memtable_whole_key_filtering(options, 1);
    rocksdb_options_set_max_background_jobs(options, BACKGROUND_JOBS);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    rocksdb_options_set_min_level_to_compress(options, LEVEL_TO_COMPRESS_FROM);
    rocksdb_options_set_enable_blob_files(options, 1);
    rocksdb_options_set_min_blob_size(options, VALUE_APART_BYTES_MIN);
    rocksdb_options_set_blob_compression_type(options, rocksdb_lz4_compression);
    rocksdb_options_set_enable_blob_gc(options, 1);
    rocksdb_options_set_blob_gc_age_cutoff(options, VALUES_GATHERED_SHARE);
    rocksdb_options_set_blob_gc_force_threshold(options, VALUES_GARBAGE_SHARE_MAX);
    rocksdb_options_set_bytes_per_sync(options, MIB);
    rocksdb_options_set_max_open_files(options, OPEN_FILES_MAX);
    rocksdb_options_set_skip_stats_update_on_db_open(options, 1);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_stats_persist_period_sec(options, 0);
    rocksdb_options_set_info_log_level(options, INFO_LOG_LEVEL_FATAL);
    rocksdb_options_set_keep_log_file_num(options, INFO_LOG_FILES);
    set_table_options(options, cache);
    return options;
}

static void rocks_release(struct rocks_engine *rocks)
{
    rocksdb_writeoptions_destroy(rocks->write_lazy);
    rocksdb_writeoptions_destroy(rocks->write_durable);
    rocksdb_readoptions_destroy(rocks->read_latest);
    rocksdb_options_destroy(rocks->options);
    rocksdb_cache_destroy(rocks->cache);
    free(rocks);
}

/* Write out what is only in memory and in the log, so that the next start has no log to replay.
   All of it is durable in the log already: a failure costs time at the next start, nothing else. */
static void write_out(struct rocks_engine *rocks)
{
    char *message = NULL;
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(options, 1);
    rocksdb_flush(rocks->db, options, &message);
    rocksdb_flushoptions_destroy(options);
    if (message != NULL)
        log_warn("rocksdb", "the next start replays the log: %s", message);
    rocksdb_free(message);
}

static void rocks_close(struct engine *engine)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    if (rocks->mode == OPEN_TO_USE)
        write_out(rocks);
    rocksdb_close(rocks->db);
    rocks_release(rocks);
}

/* --- single reads and snapshots --- */

enum err rocks__get(struct rocks_engine *rocks, const rocksdb_readoptions_t *read,
                    struct arena *arena, struct slice physical, struct slice *value)
{
    rocks__count_nothing();
    char *message = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned(rocks->db, read, physical.data, physical.len, &message);
    if (message != NULL)
        return rocks__error("reading a key", message);
    if (pinned == NULL)
        return ERR_NOT_FOUND;

    size_t len;
    const char *data = rocksdb_pinnableslice_value(pinned, &len);
    enum err err = OK;
    if (len == 0)
        err = CORRUPT("a stored value is empty");
    else
        *value = arena_copy(arena, slice_make(data, len));
    rocksdb_pinnableslice_destroy(pinned);
    return err;
}

static enum err rocks_get(struct engine *engine, struct engine_snapshot *snapshot,
                          struct arena *arena, const struct engine_key *key, struct slice *value)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    return rocks__get(rocks, snapshot != NULL ? snapshot->read : rocks->read_latest, arena,
                      physical_key_slice(&physical), value);
}

static struct engine_snapshot *rocks_snapshot_new(struct engine *engine)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    struct engine_snapshot *snapshot = heap_new(sizeof(*snapshot));
    snapshot->snapshot = rocksdb_create_snapshot(rocks->db);
    snapshot->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(snapshot->read, snapshot->snapshot);
    return snapshot;
}

static void rocks_snapshot_free(struct engine *engine, struct engine_snapshot *snapshot)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    rocksdb_readoptions_destroy(snapshot->read);
    rocksdb_release_snapshot(rocks->db, snapshot->snapshot);
    free(snapshot);
}

static const struct engine_ops rocks_ops = {
    .close = rocks_close,
    .snapshot_new = rocks_snapshot_new,
    .snapshot_free = rocks_snapshot_free,
    .get = rocks_get,
    .scan = rocks__scan,
    .next_partition = rocks__next_partition,
    .checkpoint = rocks__checkpoint,
    .verify = rocks__verify,
    .group_new = rocks__group_new,
    .group_free = rocks__group_free,
    .group_get = rocks__group_get,
    .group_put = rocks__group_put,
    .group_delete = rocks__group_delete,
    .group_scan = rocks__group_scan,
    .group_save = rocks__group_save,
    .group_rollback = rocks__group_rollback,
    .group_size_bytes = rocks__group_size_bytes,
    .group_commit = rocks__group_commit,
};

/* Put something into the write buffer: the removal of a key that never is.  See the head. */
static char *begin_log(const struct rocks_engine *rocks)
{
    char *message = NULL;
    struct physical_key never;
    physical_key_set(&never, (struct slice){ 0 }, (struct slice){ 0 });
    rocksdb_delete(rocks->db, rocks->write_lazy, never.bytes, never.len, &message);
    return message;
}

/* What a power cut tore is cut off the log, or where nothing may be changed, passed over. */
static enum err check_log(const struct rocks_engine *rocks, const char *meta, enum open_mode mode)
{
    const enum rocks_log_use use = mode == OPEN_TO_USE ? ROCKS_LOG_CUT : ROCKS_LOG_LOOK;
    bool torn = false;
    enum err err = rocks__check_manifest(meta, use);
    if (err == OK)
        err = rocks__check_log(meta, use, &torn);
    if (err == OK && torn && mode == OPEN_READ_ONLY)
        rocksdb_options_set_wal_recovery_mode(rocks->options, rocksdb_point_in_time_recovery);
    return err;
}

static rocksdb_t *open_database(const struct rocks_engine *rocks, const char *meta,
                                enum open_mode mode, char **message)
{
    if (mode == OPEN_READ_ONLY)
        return rocksdb_open_for_read_only(rocks->options, meta, 0, message);
    return rocksdb_open(rocks->options, meta, message);
}

static enum err open_engine(const char *path, uint64_t cache_bytes, enum open_mode mode,
                            struct engine **engine)
{
    char meta[PATH_MAX];
    const int len = snprintf(meta, sizeof(meta), "%s/meta", path);
    if (len < 0 || (size_t)len >= sizeof(meta)) {
        log_error("rocksdb", "the path of the data directory is too long");
        return ERR_IO;
    }

    struct rocks_engine *rocks = heap_new(sizeof(*rocks));
    rocks->engine.ops = &rocks_ops;
    rocks->mode = mode;
    rocks->cache = cache_new(cache_bytes != 0 ? cache_bytes : CACHE_BYTES_DEFAULT);
    rocks->options = options_new(rocks->cache);
    rocks->read_latest = rocksdb_readoptions_create();
    rocks->write_durable = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(rocks->write_durable, 1);
    rocks->write_lazy = rocksdb_writeoptions_create();

    const enum err checked = check_log(rocks, meta, mode);
    if (checked != OK) {
        rocks_release(rocks);
        return checked;
    }
    char *message = NULL;
    rocks->db = open_database(rocks, meta, mode, &message);
    if (message == NULL && mode == OPEN_TO_USE) {
        message = begin_log(rocks);
        if (message != NULL)
            rocksdb_close(rocks->db);
    }
    if (message != NULL) {
        rocks_release(rocks);
        const bool locked = strstr(message, "lock ") != NULL && strstr(message, "/LOCK") != NULL;
        const enum err err = rocks__error("opening the database", message);
        return locked ? ERR_LOCKED : err;
    }
    /* Even when it was there: the run that made it may have ended before this sync. */
    const enum err synced = mode == OPEN_TO_USE ? rocks__sync_parent(meta) : OK;
    if (synced != OK) {
        rocks_close(&rocks->engine);
        return synced;
    }
    /* Replaying the log takes memory that the allocator would otherwise keep. */
    malloc_trim(0);
    *engine = &rocks->engine;
    return OK;
}

enum err engine_rocksdb_open(const char *path, uint64_t cache_bytes, struct engine **engine)
{
    return open_engine(path, cache_bytes, OPEN_TO_USE, engine);
}

enum err engine_rocksdb_open_read_only(const char *path, uint64_t cache_bytes,
                                       struct engine **engine)
{
    return open_engine(path, cache_bytes, OPEN_READ_ONLY, engine);
}
