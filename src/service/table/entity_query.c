/*
 * entity_query.c - entity_query of entity.h: a page of the entities a filter lets through.
 *
 * The plan (plan.h) says which ranges of keys to look at; what is found there is decoded into an
 * arena that is emptied for each entity, so a page costs the memory of one.
 */
#include <assert.h>
#include <string.h>

#include "service/limits.h"
#include "service/table/entity.h"
#include "service/table/table_name.h"

enum {
    /* How often the time is looked at. */
    LOOKED_PER_CLOCK = 64,
    /* Bounds come from clients and may be longer than any stored key; behind this many bytes they
       make no difference to which of those is before them. */
    BOUND_BYTES_MAX = 1 + LIMIT_ENTITY_KEY_BYTES_MAX + 1 + LIMIT_ENTITY_KEY_BYTES_MAX + 1,
};

static_assert((int)BOUND_BYTES_MAX <= (int)PARTITION_KEY_BYTES_MAX, "a bound can be a key");

/* A query under way. */
struct query {
    const struct entity_query_request *request;
    struct partition_view view;
    struct plan plan;
    size_t range_index;       /* the next range to open */
    struct cursor *cursor;    /* of the present range, or NULL */
    struct arena range_arena; /* of its bounds, and of the row if it is a point */
    struct arena row_arena;   /* of the present entity */

    size_t result_count;
    size_t looked_count;
    int64_t ends_at_us; /* monotonic; 0: never */
    bool more;          /* `emit` has not said that it is enough */
};

/* --- ranges --- */

/* The stored key that a bound is at: the first one that is not before it. */
static struct slice bound_key(struct arena *arena, const struct plan_bound *bound)
{
    struct strbuf key;
    strbuf_init(&key, arena);
    if (bound->edge == PLAN_TABLE_END) {
        strbuf_add_byte(&key, (char)(entity_prefix().data[0] + 1));
        return strbuf_slice(&key);
    }
    strbuf_add(&key, entity_prefix());
    strbuf_add(&key, bound->pk);
    strbuf_add_byte(&key, bound->edge == PLAN_PARTITION_END ? '\1' : '\0');
    if (bound->edge != PLAN_PARTITION_END)
        strbuf_add(&key, bound->rk);
    if (bound->edge == PLAN_AFTER)
        strbuf_add_byte(&key, '\0');
    return slice_head(strbuf_slice(&key), BOUND_BYTES_MAX);
}

static void close_range(struct query *query)
{
    if (query->cursor != NULL)
        cursor_free(query->cursor);
    query->cursor = NULL;
}

/* Step to the next entity in any range, as it is stored.  ERR_NOT_FOUND behind the last. */
static enum err step(struct query *query, struct slice *key, struct slice *row)
{
    for (;;) {
        enum err err = ERR_NOT_FOUND;
        if (query->cursor != NULL)
            err = cursor_next(query->cursor, key, row);
        if (err != ERR_NOT_FOUND)
            return err;
        close_range(query);
        if (query->range_index == query->plan.count)
            return ERR_NOT_FOUND;
        const struct plan_range *range = &query->plan.ranges[query->range_index++];
        arena_clear(&query->range_arena);
        *key = bound_key(&query->range_arena, &range->from);
        if (plan_range_is_point(range))
            err = partition_view_get(&query->view, &query->range_arena, *key, row);
        else
            query->cursor = partition_view_scan_until(&query->view, entity_prefix(), *key,
                                                      bound_key(&query->range_arena, &range->to));
        if (err != ERR_NOT_FOUND)
            return err;
    }
}

/* --- entities --- */

static bool look_up(void *arg, struct slice name, struct edm_value *value)
{
    const struct entity *entity = arg;
    const struct edm_value *found = edm_properties_find(&entity->properties, name);
    if (found != NULL)
        *value = *found;
    else if (slice_is(name, "PartitionKey"))
        *value = edm_string(entity->partition_key);
    else if (slice_is(name, "RowKey"))
        *value = edm_string(entity->row_key);
    else if (slice_is(name, "Timestamp"))
        *value = edm_datetime(edm_datetime_of_clock(entity->timestamp));
    else
        return false;
    return true;
}

/* Emit the entity if the filter lets it through. */
static enum err look_at(struct query *query, struct slice key, struct slice row)
{
    const struct entity_query_request *request = query->request;
    struct entity entity;
    arena_clear(&query->row_arena);
    query->looked_count++;
    enum err err = entity_key_split(key, &entity.partition_key, &entity.row_key);
    if (err == OK)
        err = entity_decode(&query->row_arena, row, &entity);
    if (err != OK)
        return err;
    if (request->filter == NULL || filter_matches(request->filter, look_up, &entity)) {
        query->more = request->emit(request->arg, &entity);
        query->result_count++;
    }
    return OK;
}

static bool page_is_over(struct query *query)
{
    const struct entity_query_request *request = query->request;
    if (!query->more || query->result_count == request->results_max ||
        query->looked_count == request->looked_max)
        return true;
    return query->ends_at_us != 0 && query->looked_count > 0 &&
           query->looked_count % LOOKED_PER_CLOCK == 0 && clock_monotonic_us() >= query->ends_at_us;
}

static enum err query_in_view(struct query *query, struct arena *arena,
                              struct entity_position *next)
{
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = step(query, &key, &row)) == OK) {
        if (page_is_over(query)) {
            key = arena_copy(arena, key);
            next->present = true;
            return entity_key_split(key, &next->partition_key, &next->row_key);
        }
        err = look_at(query, key, row);
        if (err != OK)
            return err;
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

static void build_plan(struct query *query, struct arena *arena)
{
    const struct entity_query_request *request = query->request;
    plan_build(arena, request->filter, &query->plan);
    plan_restrict(&query->plan, &request->window);
    const struct plan_window rest = {
        .first_pk = &request->from.partition_key,
        .first_rk = &request->from.row_key,
    };
    if (request->from.present)
        plan_restrict(&query->plan, &rest);
}

enum err entity_query(struct service *service, struct arena *arena,
                      const struct entity_query_request *request, struct entity_position *next)
{
    assert(request->results_max > 0 && request->looked_max > 0);
    struct entity_position rest = { 0 };
    struct slice partition;
    enum err err = table_find_entities(service, arena, &request->table, &partition);
    if (err != OK)
        return err;
    struct query query = { .request = request, .more = true };
    if (request->time_us > 0)
        query.ends_at_us = clock_monotonic_us() + request->time_us;
    build_plan(&query, arena);
    partition_view_open(service->store, partition, &query.view);
    err = query_in_view(&query, arena, &rest);
    close_range(&query);
    partition_view_close(&query.view);
    arena_release(&query.range_arena);
    arena_release(&query.row_arena);
    *next = rest; /* which may be where `from` was */
    return err;
}
