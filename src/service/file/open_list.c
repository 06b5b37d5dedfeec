/*
 * open_list.c - List Handles.
 *
 * The ids are collected first, stripe by stripe, then sorted; the handles of the page are looked up
 * by them.  So a page costs a walk over the table, eight bytes for each handle that might be on it,
 * and never more than one lock at a time.  It is a question for administrators.
 */
#include <assert.h>
#include <stdlib.h>

#include "partition/heap.h"
#include "service/file/open_table_internal.h"

struct id_list {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

static void collect_file(const struct open_file *file, uint64_t after, struct id_list *ids)
{
    list_for_each (link, &file->handles) {
        const struct open_handle *handle = LIST_ITEM(link, struct open_handle, in_file);
        if (handle->id <= after)
            continue;
        if (ids->count == ids->capacity) {
            ids->capacity = ids->capacity == 0 ? 64 : ids->capacity * 2;
            ids->items = heap_resize(ids->items, ids->capacity, sizeof(*ids->items));
        }
        ids->items[ids->count++] = handle->id;
    }
}

static void collect_stripe(struct open_table *table, size_t stripe,
                           const struct handle_query *query, struct id_list *ids)
{
    struct open_work work;

    open_work__begin(&work, table, stripe);
    for (size_t i = 0; i < OPEN_BUCKET_COUNT; i++) {
        list_for_each (link, &work.stripe->files[i]) {
            const struct open_file *file = LIST_ITEM(link, struct open_file, in_stripe);
            if (file->key.share == query->share && file->key.snapshot == query->snapshot)
                collect_file(file, query->after, ids);
        }
    }
    open_work__finish(&work);
}

static void collect(struct open_table *table, const struct handle_query *query, struct id_list *ids)
{
    if (query->file_id == NULL) {
        for (size_t i = 0; i < OPEN_STRIPE_COUNT; i++)
            collect_stripe(table, i, query, ids);
        return;
    }
    const struct file_key key = {
        .share = query->share,
        .file_id = *query->file_id,
        .snapshot = query->snapshot,
    };
    struct open_work work;
    open_work__begin(&work, table, open_table__stripe_of(key));
    const struct open_file *file = open_work__find_file(&work, key);
    if (file != NULL)
        collect_file(file, query->after, ids);
    open_work__finish(&work);
}

static int compare_ids(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a;
    const uint64_t other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* False if the handle has been closed since. */
static bool describe(struct open_table *table, uint64_t handle_id, struct arena *arena,
                     struct handle_info *info)
{
    struct open_work work;

    open_work__begin(&work, table, handle_id % OPEN_STRIPE_COUNT);
    const struct open_handle *handle = open_work__find_handle(&work, handle_id);
    if (handle != NULL) {
        const struct open_client *client = handle->client;
        *info = (struct handle_info){
            .handle_id = handle->id,
            .key = handle->file->key,
            .parent_id = handle->parent_id,
            .session_id = handle->session_id,
            .opened_at = handle->opened_at,
            .mode = handle->mode,
            .caching = handle->oplock != NULL ? handle->oplock->state.held : CACHING_NONE,
            .address = arena_copy(arena, slice_make(client->address, client->address_len)),
            .name = arena_copy(arena, slice_make(client->name, client->name_len)),
        };
    }
    open_work__finish(&work);
    return handle != NULL;
}

size_t open_table_list(struct open_table *table, const struct handle_query *query,
                       struct arena *arena, struct handle_info **handles, uint64_t *next)
{
    struct id_list ids = { 0 };
    size_t count = 0;

    assert(query->results_max > 0);
    collect(table, query, &ids);
    if (ids.count > 1)
        qsort(ids.items, ids.count, sizeof(*ids.items), compare_ids);
    const size_t page = ids.count < query->results_max ? ids.count : query->results_max;
    *handles = arena_alloc(arena, page * sizeof(**handles));
    for (size_t i = 0; i < page; i++)
        if (describe(table, ids.items[i], arena, &(*handles)[count]))
            count++;
    *next = page < ids.count ? ids.items[page - 1] : 0;
    free(ids.items);
    return count;
}
