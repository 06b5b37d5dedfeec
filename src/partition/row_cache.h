/*
 * row_cache.h - the rows that nearly every request reads and few ever change, kept at hand.
 *
 * The record of a container is looked up by every request on its blobs; finding it in the engine
 * is a tenth of the cost of a small one.  A row kept here is given only while it is certainly the
 * latest: nothing stale is ever seen.
 *
 * How that is known: a partition has two counters, of groups of changes that began to be committed
 * and that ended.  A row read while both are equal, and `begun` the same as when it was read, is
 * what the engine would answer now: every group that began has ended before the row was read, and
 * none has begun since.  Between the two steps, while some readers may see a group and others not
 * yet, nobody is answered from here.  Partitions share counters by their hash, which costs a look
 * into the engine at worst.
 *
 * Both that a row is there and that it is not are kept.  Memory is bounded by the number of slots
 * and the longest value kept; a row takes the slot its hash names from whoever had it.
 *
 * Locks: one for each slot, held while a value is copied.  Any thread.
 */
#ifndef PARTITION_ROW_CACHE_H
#define PARTITION_ROW_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/engine.h"

enum {
    ROW_CACHE_SLOTS = 1024,
    ROW_CACHE_VALUE_BYTES_MAX = 4096,
};

struct row_cache;

struct row_cache *row_cache_new(void);
void row_cache_free(struct row_cache *cache); /* NULL is fine */

/* A group with changes of the partition with this hash is about to be committed; it is committed,
   or refused.  Calls are paired. */
void row_cache_begin(struct row_cache *cache, uint64_t partition_hash);
void row_cache_end(struct row_cache *cache, uint64_t partition_hash);

/*
 * The stamp of what is read from now on, or 0 while a group is under way.  As long as
 * row_cache_is_latest says so, all that was read since is of one state, and that is the latest.
 */
uint64_t row_cache_stamp(struct row_cache *cache, uint64_t partition_hash);
bool row_cache_is_latest(struct row_cache *cache, uint64_t partition_hash, uint64_t stamp);

/*
 * What the cache can say about a row.  True: `*err` is OK and `*value` a copy in the arena, or
 * `*err` is ERR_NOT_FOUND.  False: ask the engine, then call row_cache_keep with the same `*stamp`.
 */
bool row_cache_find(struct row_cache *cache, struct arena *arena, const struct engine_key *key,
                    uint64_t partition_hash, struct slice *value, enum err *err, uint64_t *stamp);

/* Keep what the engine said after row_cache_find: OK and the value, or ERR_NOT_FOUND. */
void row_cache_keep(struct row_cache *cache, const struct engine_key *key, uint64_t stamp,
                    enum err err, struct slice value);

#endif
