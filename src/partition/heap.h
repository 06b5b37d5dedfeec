/*
 * heap.h - memory that belongs to the store rather than to a request.  Allocation does not fail:
 * the process ends with a message instead, as it does for arenas.
 */
#ifndef PARTITION_HEAP_H
#define PARTITION_HEAP_H

#include <stddef.h>
#include <stdlib.h>

#include "base/log.h"

/* Zeroed memory for one object; free() frees it. */
static inline void *heap_new(size_t size_bytes)
{
    void *memory = calloc(1, size_bytes);
    if (memory == NULL)
        panic("no memory left for %zu bytes", size_bytes);
    return memory;
}

/* The same array with room for `count` items; `items` may be NULL. */
static inline void *heap_resize(void *items, size_t count, size_t item_bytes)
{
    void *memory = reallocarray(items, count, item_bytes);
    if (memory == NULL)
        panic("no memory left for %zu times %zu bytes", count, item_bytes);
    return memory;
}

#endif
