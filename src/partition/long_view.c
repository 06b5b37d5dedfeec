#include "partition/long_view.h"

#include <assert.h>
#include <stdlib.h>

#include "partition/heap.h"

void long_view_list_add(struct long_view_list *list, struct long_view *view)
{
    view->previous = NULL;
    view->next = list->first;
    if (view->next != NULL)
        view->next->previous = view;
    list->first = view;
    list->count++;
}

void long_view_list_remove(struct long_view_list *list, struct long_view *view)
{
    assert(list->count > 0);
    if (view->next != NULL)
        view->next->previous = view->previous;
    if (view->previous != NULL)
        view->previous->next = view->next;
    else
        list->first = view->next;
    list->count--;
}

void long_view_table_copy(struct long_view_table *table, const struct long_view_list *list)
{
    if (table->capacity < list->count) {
        table->capacity = 2 * list->count;
        table->items = heap_resize(table->items, table->capacity, sizeof(*table->items));
    }
    table->count = 0;
    for (const struct long_view *view = list->first; view != NULL; view = view->next)
        table->items[table->count++] = view->key;
    assert(table->count == list->count);
}

static int compare_keys(const void *a, const void *b)
{
    const struct long_view_key *one = a;
    const struct long_view_key *other = b;
    if (one->partition_hash != other->partition_hash)
        return one->partition_hash < other->partition_hash ? -1 : 1;
    return (one->visible_tick > other->visible_tick) - (one->visible_tick < other->visible_tick);
}

void long_view_table_sort(struct long_view_table *table)
{
    if (table->count > 1)
        qsort(table->items, table->count, sizeof(*table->items), compare_keys);
}

bool long_view_table_blocks(const struct long_view_table *table, const struct system_freed *row)
{
    /* The first view of the partition has seen least. */
    size_t begin = 0;
    size_t end = table->count;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (table->items[middle].partition_hash < row->partition_hash)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < table->count && table->items[begin].partition_hash == row->partition_hash &&
           table->items[begin].visible_tick < row->tick;
}

void long_view_table_release(struct long_view_table *table)
{
    free(table->items);
    *table = (struct long_view_table){ 0 };
}
