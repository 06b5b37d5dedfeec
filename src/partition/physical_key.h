/*
 * physical_key.h - a partition and a key as one byte string, for engines that keep all partitions
 * in one ordered map.
 *
 *   offset      what
 *   0           length of the partition's name, one byte
 *   1           the partition's name
 *   1 + length  the key
 *
 * The length comes first, so no partition's keys lie between another's, and within a partition
 * the order is that of the keys.
 */
#ifndef PARTITION_PHYSICAL_KEY_H
#define PARTITION_PHYSICAL_KEY_H

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "partition/engine.h"

static_assert(PARTITION_ID_BYTES_MAX < 255, "the length fits a byte and leaves a successor");

/* A value.  One byte more than the longest key, for its successor. */
struct physical_key {
    size_t len;
    char bytes[1 + PARTITION_ID_BYTES_MAX + PARTITION_KEY_BYTES_MAX + 1];
};

static inline void physical_key_set(struct physical_key *to, struct slice partition,
                                    struct slice key)
{
    assert(partition.len <= PARTITION_ID_BYTES_MAX);
    assert(key.len <= PARTITION_KEY_BYTES_MAX);
    to->bytes[0] = (char)(unsigned char)partition.len;
    if (partition.len > 0)
        memcpy(to->bytes + 1, partition.data, partition.len);
    if (key.len > 0)
        memcpy(to->bytes + 1 + partition.len, key.data, key.len);
    to->len = 1 + partition.len + key.len;
}

static inline struct slice physical_key_slice(const struct physical_key *key)
{
    return slice_make(key->bytes, key->len);
}

/* The smallest key after `key`, which is a whole physical key. */
static inline void physical_key_set_after(struct physical_key *to, struct slice key)
{
    assert(key.len < sizeof(to->bytes));
    memcpy(to->bytes, key.data, key.len);
    to->bytes[key.len] = '\0';
    to->len = key.len + 1;
}

/* The smallest key after all that begin with `prefix`, which is not empty. */
static inline void physical_key_set_past(struct physical_key *to, struct slice prefix)
{
    assert(prefix.len > 0);
    assert(prefix.len < sizeof(to->bytes));
    memcpy(to->bytes, prefix.data, prefix.len);
    to->len = prefix.len;
    while ((unsigned char)to->bytes[to->len - 1] == 0xFF) {
        to->len--;
        assert(to->len > 0);
    }
    to->bytes[to->len - 1]++;
}

/* The partition's name in a physical key; false if it has none. */
static inline bool physical_key_partition(struct slice key, struct slice *partition)
{
    const size_t len = key.len == 0 ? 0 : (unsigned char)key.data[0];
    if (key.len == 0 || len > PARTITION_ID_BYTES_MAX || key.len < 1 + len)
        return false;
    *partition = slice_make(key.data + 1, len);
    return true;
}

#endif
