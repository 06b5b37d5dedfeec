#include "service/repair.h"

#include <stdbool.h>
#include <string.h>

#include "base/strbuf.h"
#include "service/row.h"

enum {
    ITEMS_FIRST = 64,
};

void repair_add(struct repair_list *list, const struct partition_repair *repair)
{
    if (list == NULL)
        return;
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity == 0 ? ITEMS_FIRST : list->capacity * 2;
        struct partition_repair *items = arena_alloc(list->arena, capacity * sizeof(*items));
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->capacity = capacity;
    }
    struct partition_repair *added = &list->items[list->count++];
    *added = *repair;
    added->partition = arena_copy(list->arena, repair->partition);
    added->key = arena_copy(list->arena, repair->key);
    added->value = arena_copy(list->arena, repair->value);
}

struct slice repair_number_row(struct arena *arena, uint64_t number)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, number);
    return strbuf_slice(&row);
}

size_t repair_list_settle(struct repair_list *list, uint64_t finding_count)
{
    if (list->count == finding_count)
        return 0;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].needs_all)
            list->items[kept++] = list->items[i];
    }
    const size_t left_out = list->count - kept;
    list->count = kept;
    return left_out;
}
