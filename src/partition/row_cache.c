#include "partition/row_cache.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "partition/hash.h"
#include "partition/heap.h"
#include "partition/physical_key.h"

enum {
    COUNTERS = 4096,
    STAMP_NONE = 0, /* of a row that may be changing, and of an empty slot */
};

/* A row. */
struct slot {
    struct mutex lock;
    uint64_t stamp; /* of its partition when it was read */
    uint32_t key_len;
    uint32_t value_len; /* 0: there is no such row */
    size_t capacity;
    char *bytes; /* the physical key, then the value */
};

/* `begun` counts from 1, so that no stamp is STAMP_NONE. */
struct counter {
    _Atomic uint64_t begun;
    _Atomic uint64_t ended;
};

struct row_cache {
    struct slot slots[ROW_CACHE_SLOTS];
    struct counter counters[COUNTERS];
};

struct row_cache *row_cache_new(void)
{
    struct row_cache *cache = heap_new(sizeof(*cache));
    for (size_t i = 0; i < ROW_CACHE_SLOTS; i++)
        mutex_init(&cache->slots[i].lock, LOCK_PARTITION_ROW_CACHE);
    for (size_t i = 0; i < COUNTERS; i++) {
        atomic_init(&cache->counters[i].begun, STAMP_NONE + 1);
        atomic_init(&cache->counters[i].ended, STAMP_NONE + 1);
    }
    return cache;
}

void row_cache_free(struct row_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < ROW_CACHE_SLOTS; i++) {
        mutex_release(&cache->slots[i].lock);
        free(cache->slots[i].bytes);
    }
    free(cache);
}

static struct counter *counter_of(struct row_cache *cache, uint64_t partition_hash)
{
    return &cache->counters[hash_slot(partition_hash, COUNTERS)];
}

void row_cache_begin(struct row_cache *cache, uint64_t partition_hash)
{
    atomic_fetch_add(&counter_of(cache, partition_hash)->begun, 1);
}

void row_cache_end(struct row_cache *cache, uint64_t partition_hash)
{
    atomic_fetch_add(&counter_of(cache, partition_hash)->ended, 1);
}

uint64_t row_cache_stamp(struct row_cache *cache, uint64_t partition_hash)
{
    struct counter *counter = counter_of(cache, partition_hash);
    /* In this order: what ended has begun, so equal numbers mean that nothing was under way when
       the second was read. */
    const uint64_t ended = atomic_load(&counter->ended);
    const uint64_t begun = atomic_load(&counter->begun);
    return ended == begun ? begun : STAMP_NONE;
}

bool row_cache_is_latest(struct row_cache *cache, uint64_t partition_hash, uint64_t stamp)
{
    return stamp != STAMP_NONE && atomic_load(&counter_of(cache, partition_hash)->begun) == stamp;
}

static struct slot *slot_of(struct row_cache *cache, const struct physical_key *key)
{
    const uint64_t hash = hash_add(HASH_OF_NOTHING, physical_key_slice(key));
    return &cache->slots[hash_slot(hash, ROW_CACHE_SLOTS)];
}

static bool holds(const struct slot *slot, const struct physical_key *key, uint64_t stamp)
{
    return slot->stamp == stamp && slot->key_len == key->len &&
           memcmp(slot->bytes, key->bytes, key->len) == 0;
}

bool row_cache_find(struct row_cache *cache, struct arena *arena, const struct engine_key *key,
                    uint64_t partition_hash, struct slice *value, enum err *err, uint64_t *stamp)
{
    *stamp = row_cache_stamp(cache, partition_hash);
    if (*stamp == STAMP_NONE)
        return false;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    struct slot *slot = slot_of(cache, &physical);
    mutex_lock(&slot->lock);
    const bool found = holds(slot, &physical, *stamp);
    if (found) {
        *err = slot->value_len == 0 ? ERR_NOT_FOUND : OK;
        if (*err == OK)
            *value = arena_copy(arena, slice_make(slot->bytes + slot->key_len, slot->value_len));
    }
    mutex_unlock(&slot->lock);
    return found;
}

void row_cache_keep(struct row_cache *cache, const struct engine_key *key, uint64_t stamp,
                    enum err err, struct slice value)
{
    assert(err != OK || value.len > 0);
    if (stamp == STAMP_NONE || (err != OK && err != ERR_NOT_FOUND))
        return;
    const size_t value_len = err == OK ? value.len : 0;
    if (value_len > ROW_CACHE_VALUE_BYTES_MAX)
        return;
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    struct slot *slot = slot_of(cache, &physical);
    const size_t needed = physical.len + value_len;
    mutex_lock(&slot->lock);
    if (needed > slot->capacity) {
        slot->bytes = heap_resize(slot->bytes, needed, 1);
        slot->capacity = needed;
    }
    memcpy(slot->bytes, physical.bytes, physical.len);
    if (value_len > 0)
        memcpy(slot->bytes + physical.len, value.data, value_len);
    slot->key_len = (uint32_t)physical.len;
    slot->value_len = (uint32_t)value_len;
    slot->stamp = stamp;
    mutex_unlock(&slot->lock);
}
