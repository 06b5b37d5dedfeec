/*
 * range_list.h - a growing array of payload ranges.  All zero bytes is a valid empty list.
 */
#ifndef PARTITION_RANGE_LIST_H
#define PARTITION_RANGE_LIST_H

#include <stddef.h>
#include <stdlib.h>

#include "partition/heap.h"
#include "stream/stream.h"

struct range_list {
    struct stream_range *items;
    size_t count;
    size_t capacity;
};

static inline void range_list_add(struct range_list *list, const struct stream_range *range)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        list->items = heap_resize(list->items, list->capacity, sizeof(*list->items));
    }
    list->items[list->count++] = *range;
}

/* Forget the items and keep the memory. */
static inline void range_list_clear(struct range_list *list)
{
    list->count = 0;
}

static inline void range_list_release(struct range_list *list)
{
    free(list->items);
    *list = (struct range_list){ 0 };
}

/* By extent, then by offset: negative, zero or positive. */
static inline int range_compare(const struct stream_range *a, const struct stream_range *b)
{
    if (a->extent_id != b->extent_id)
        return a->extent_id < b->extent_id ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

#endif
