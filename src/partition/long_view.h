/*
 * long_view.h - which long views are open, and which F rows they block.
 *
 * Part of the reclaimer: partition/reclaim.h says why this is enough to know.
 */
#ifndef PARTITION_LONG_VIEW_H
#define PARTITION_LONG_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/system_row.h"

/* A value. */
struct long_view_key {
    uint64_t partition_hash;
    int64_t visible_tick; /* of the partition's committer, read before the snapshot was taken */
};

struct long_view {
    struct long_view_key key;
    struct long_view *previous;
    struct long_view *next;
};

/* Those that are open.  All zero bytes is a valid empty list; the views are the caller's. */
struct long_view_list {
    struct long_view *first;
    size_t count;
};

void long_view_list_add(struct long_view_list *list, struct long_view *view);
void long_view_list_remove(struct long_view_list *list, struct long_view *view);

/* The list as it was at one moment, for many questions.  All zero bytes: no view is open. */
struct long_view_table {
    struct long_view_key *items; /* sorted by partition, then by tick */
    size_t count;
    size_t capacity;
};

/* Copy the list, unsorted: quick, for it is done under the list's lock.  Then sort the copy. */
void long_view_table_copy(struct long_view_table *table, const struct long_view_list *list);
void long_view_table_sort(struct long_view_table *table);

/* Whether a view may name the range of the row.  The table is sorted. */
bool long_view_table_blocks(const struct long_view_table *table, const struct system_freed *row);

void long_view_table_release(struct long_view_table *table);

#endif
