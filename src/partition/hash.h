/*
 * hash.h - FNV-1a, for what is spread over slots and committers in memory.  One of its values is
 * stored, too: that of a partition's name, in rows about freed ranges (system_row.h).
 */
#ifndef PARTITION_HASH_H
#define PARTITION_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define HASH_OF_NOTHING UINT64_C(14695981039346656037)

/* The hash of some bytes, given that of those before them. */
static inline uint64_t hash_add(uint64_t hash, struct slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        hash = (hash ^ (uint8_t)bytes.data[i]) * UINT64_C(1099511628211);
    return hash;
}

/* One of `count` slots. */
static inline size_t hash_slot(uint64_t hash, size_t count)
{
    return (size_t)((hash ^ (hash >> 32)) % count);
}

#endif
