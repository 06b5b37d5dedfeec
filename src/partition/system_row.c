#include "partition/system_row.h"

#include <assert.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "partition/hash.h"

enum {
    EXTENT_KEY_BYTES = 1 + 8,
    RANGE_KEY_BYTES = 1 + 3 * 8,
    OWNER_VALUE_BYTES = 8,
    FREED_VALUE_BYTES = 2 * 8,
    MARK_KEY_BYTES_MAX = 1 + PARTITION_ID_BYTES_MAX,
};

uint64_t system_partition_hash(struct slice partition)
{
    return hash_add(HASH_OF_NOTHING, partition);
}

struct system_key system_prefix(enum system_kind kind)
{
    struct system_key key = { .len = 1 };
    key.bytes[0] = (uint8_t)kind;
    return key;
}

struct system_key system_prefix_extent(enum system_kind kind, uint64_t extent_id)
{
    struct system_key key = system_prefix(kind);
    put_be64(key.bytes + 1, extent_id);
    key.len = EXTENT_KEY_BYTES;
    return key;
}

struct system_key system_prefix_range(enum system_kind kind, const struct stream_range *range)
{
    struct system_key key = system_prefix_extent(kind, range->extent_id);
    put_be64(key.bytes + EXTENT_KEY_BYTES, range->offset);
    key.len = EXTENT_KEY_BYTES + 8;
    return key;
}

static struct system_key key_of_range(enum system_kind kind, const struct stream_range *range,
                                      uint64_t last)
{
    struct system_key key = system_prefix_range(kind, range);
    put_be64(key.bytes + key.len, last);
    key.len = RANGE_KEY_BYTES;
    return key;
}

struct system_key system_key_tick(uint32_t committer)
{
    struct system_key key = system_prefix(SYSTEM_TICK);
    put_be32(key.bytes + 1, committer);
    key.len = 1 + 4;
    return key;
}

struct system_key system_key_owner(const struct stream_range *range, uint64_t owner)
{
    return key_of_range(SYSTEM_OWNER, range, owner);
}

struct system_key system_key_freed(const struct stream_range *range, int64_t tick)
{
    assert(tick >= 0);
    return key_of_range(SYSTEM_FREED, range, (uint64_t)tick);
}

struct system_key system_key_extent(uint64_t extent_id)
{
    return system_prefix_extent(SYSTEM_EXTENT, extent_id);
}

struct engine_key system_row(const struct system_key *key)
{
    return (struct engine_key){ .key = slice_make(key->bytes, key->len) };
}

struct engine_scan system_scan(const struct system_key *prefix)
{
    const struct slice bytes = slice_make(prefix->bytes, prefix->len);
    return (struct engine_scan){ .prefix = bytes, .from = bytes };
}

static uint64_t number_at(struct slice bytes, size_t offset)
{
    assert(offset + 8 <= bytes.len);
    return get_be64((const uint8_t *)bytes.data + offset);
}

enum err system_decode_tick(struct slice value, int64_t *tick)
{
    if (value.len != 8 || number_at(value, 0) > INT64_MAX)
        return CORRUPT("a tick row has %zu bytes or a tick out of range", value.len);
    *tick = (int64_t)number_at(value, 0);
    return OK;
}

enum err system_decode_extent_key(struct slice key, uint64_t *extent_id)
{
    if (key.len != EXTENT_KEY_BYTES)
        return CORRUPT("the key of an extent row has %zu bytes", key.len);
    *extent_id = number_at(key, 1);
    return OK;
}

enum err system_decode_extent(struct slice value, struct system_extent *extent)
{
    if (value.len != 2 * 8)
        return CORRUPT("an extent row has %zu bytes", value.len);
    extent->length = number_at(value, 0);
    extent->live_bytes = number_at(value, 8);
    return OK;
}

enum err system_decode_range(struct slice key, struct slice value, struct stream_range *range,
                             uint64_t *last)
{
    const bool freed = key.len > 0 && key.data[0] == SYSTEM_FREED;
    const size_t value_bytes = freed ? FREED_VALUE_BYTES : OWNER_VALUE_BYTES;
    if (key.len != RANGE_KEY_BYTES || value.len != value_bytes || number_at(value, 0) == 0)
        return CORRUPT("a row of a range has a key of %zu and a value of %zu bytes, or no length",
                       key.len, value.len);
    range->extent_id = number_at(key, 1);
    range->offset = number_at(key, 1 + 8);
    range->length = number_at(value, 0);
    *last = number_at(key, 1 + 2 * 8);
    return OK;
}

enum err system_decode_freed(struct slice key, struct slice value, struct system_freed *freed)
{
    uint64_t tick;
    const enum err err = system_decode_range(key, value, &freed->range, &tick);
    if (err != OK)
        return err;
    if (value.len != FREED_VALUE_BYTES || tick > INT64_MAX)
        return CORRUPT("a freed row has a value of %zu bytes or a tick out of range", value.len);
    freed->tick = (int64_t)tick;
    freed->partition_hash = number_at(value, 8);
    return OK;
}

enum err system_decode_mark_key(struct slice key, struct slice *partition)
{
    if (key.len < 2 || key.len > MARK_KEY_BYTES_MAX)
        return CORRUPT("the key of a mark has %zu bytes", key.len);
    *partition = slice_from(key, 1);
    return OK;
}

void system_put_number(struct engine_group *group, const struct system_key *key, uint64_t number)
{
    const struct engine_key row = system_row(key);
    uint8_t value[8];
    put_be64(value, number);
    engine_group_put(group, &row, slice_make(value, sizeof(value)));
}

void system_put_freed(struct engine_group *group, const struct system_freed *freed)
{
    const struct system_key key = system_key_freed(&freed->range, freed->tick);
    const struct engine_key row = system_row(&key);
    uint8_t value[FREED_VALUE_BYTES];
    put_be64(value, freed->range.length);
    put_be64(value + 8, freed->partition_hash);
    engine_group_put(group, &row, slice_make(value, sizeof(value)));
}

void system_put_extent(struct engine_group *group, uint64_t extent_id,
                       const struct system_extent *extent)
{
    const struct system_key key = system_key_extent(extent_id);
    const struct engine_key row = system_row(&key);
    uint8_t value[2 * 8];
    put_be64(value, extent->length);
    put_be64(value + 8, extent->live_bytes);
    engine_group_put(group, &row, slice_make(value, sizeof(value)));
}

void system_delete(struct engine_group *group, const struct system_key *key)
{
    const struct engine_key row = system_row(key);
    engine_group_delete(group, &row);
}

/* The mark's place for the engine; `bytes` holds its key. */
static struct engine_key mark_row(struct slice partition, uint8_t bytes[MARK_KEY_BYTES_MAX])
{
    assert(partition.len > 0);
    assert(partition.len <= PARTITION_ID_BYTES_MAX);
    bytes[0] = SYSTEM_MARK;
    memcpy(bytes + 1, partition.data, partition.len);
    return (struct engine_key){ .key = slice_make(bytes, 1 + partition.len) };
}

void system_put_mark(struct engine_group *group, struct slice partition)
{
    uint8_t bytes[MARK_KEY_BYTES_MAX];
    const struct engine_key row = mark_row(partition, bytes);
    static const uint8_t one = 1; /* a value is never empty */
    engine_group_put(group, &row, slice_make(&one, sizeof(one)));
}

void system_delete_mark(struct engine_group *group, struct slice partition)
{
    uint8_t bytes[MARK_KEY_BYTES_MAX];
    const struct engine_key row = mark_row(partition, bytes);
    engine_group_delete(group, &row);
}
