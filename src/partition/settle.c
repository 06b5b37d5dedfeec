#include "partition/settle.h"

#include <assert.h>
#include <inttypes.h>

#include "base/log.h"
#include "partition/system_row.h"

/* --- at open --- */

static enum err mark_extent(struct slice key, struct slice value, struct stream *stream,
                            struct range_list *empty)
{
    uint64_t extent_id;
    enum err err = system_decode_extent_key(key, &extent_id);
    struct system_extent extent;
    if (err == OK)
        err = system_decode_extent(value, &extent);
    if (err != OK)
        return err;
    stream_mark_settled(stream, extent_id);
    if (extent.live_bytes == 0)
        range_list_add(empty, &(struct stream_range){ .extent_id = extent_id });
    return OK;
}

enum err settle_mark_known(struct engine *engine, struct stream *stream, struct range_list *empty)
{
    const struct system_key prefix = system_prefix(SYSTEM_EXTENT);
    const struct engine_scan scan = system_scan(&prefix);
    struct engine_snapshot *snapshot = engine_snapshot_new(engine);
    struct cursor *cursor = engine_scan(engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    enum err err = OK;
    while (err == OK && (err = cursor_next(cursor, &key, &value)) == OK)
        err = mark_extent(key, value, stream, empty);
    cursor_free(cursor);
    engine_snapshot_free(engine, snapshot);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- live ranges --- */

/* The ranges of an extent's rows of one kind, in order of offset, each once. */
static enum err list_ranges(struct engine *engine, struct engine_snapshot *snapshot,
                            const struct system_key *prefix, struct range_list *ranges)
{
    const struct engine_scan scan = system_scan(prefix);
    struct cursor *cursor = engine_scan(engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    enum err err = OK;
    while (err == OK && (err = cursor_next(cursor, &key, &value)) == OK) {
        struct stream_range range;
        uint64_t last;
        err = system_decode_range(key, value, &range, &last);
        const bool again =
            ranges->count > 0 && ranges->items[ranges->count - 1].offset == range.offset;
        if (err == OK && !again)
            range_list_add(ranges, &range);
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Both lists in one, in order of offset, each range once. */
static void merge_ranges(const struct range_list *a, const struct range_list *b,
                         struct range_list *merged)
{
    size_t at_a = 0;
    size_t at_b = 0;
    while (at_a < a->count || at_b < b->count) {
        int order = at_a == a->count ? 1 : -1;
        if (at_a < a->count && at_b < b->count)
            order = range_compare(&a->items[at_a], &b->items[at_b]);
        range_list_add(merged, order <= 0 ? &a->items[at_a] : &b->items[at_b]);
        at_a += order <= 0;
        at_b += order >= 0;
    }
}

/* Ranges that have an owner, and ranges that wait to be reclaimed. */
enum err settle_list_live(struct engine *engine, uint64_t extent_id, struct range_list *live)
{
    const struct system_key owner_prefix = system_prefix_extent(SYSTEM_OWNER, extent_id);
    const struct system_key freed_prefix = system_prefix_extent(SYSTEM_FREED, extent_id);
    struct range_list owned = { 0 };
    struct range_list freed = { 0 };
    struct engine_snapshot *snapshot = engine_snapshot_new(engine);
    enum err err = list_ranges(engine, snapshot, &owner_prefix, &owned);
    if (err == OK)
        err = list_ranges(engine, snapshot, &freed_prefix, &freed);
    engine_snapshot_free(engine, snapshot);
    if (err == OK)
        merge_ranges(&owned, &freed, live);
    range_list_release(&owned);
    range_list_release(&freed);
    return err;
}

/* --- settling --- */

static void collect_extent(void *arg, uint64_t extent_id, uint64_t length)
{
    range_list_add(arg, &(struct stream_range){ .extent_id = extent_id, .length = length });
}

static void put_row(struct engine_group *group, uint64_t extent_id, uint64_t length,
                    const struct range_list *live)
{
    struct system_extent extent = { .length = length };
    for (size_t i = 0; i < live->count; i++)
        extent.live_bytes += stream_allocated_bytes(live->items[i].length);
    if (length > 0) {
        system_put_extent(group, extent_id, &extent);
    } else {
        const struct system_key key = system_key_extent(extent_id);
        system_delete(group, &key);
    }
}

static enum err settle_extent(struct engine *engine, struct stream *stream,
                              struct engine_group *group, uint64_t extent_id)
{
    struct range_list live = { 0 };
    enum err err = settle_list_live(engine, extent_id, &live);
    uint64_t length = 0;
    if (err == OK) {
        stream_barrier(stream);
        const enum err settled = stream_settle(stream, extent_id, live.items, live.count, &length);
        if (settled == OK) {
            put_row(group, extent_id, length, &live);
        } else {
            log_error("reclaim", "extent %016" PRIx64 " is left unsettled: %s", extent_id,
                      error_text(settled));
            /* For this run only: it has no row, so it is tried again at the next open. */
            stream_mark_settled(stream, extent_id);
        }
    }
    range_list_release(&live);
    return err;
}

enum err settle_extents(struct engine *engine, struct stream *stream, struct engine_group *group)
{
    assert(engine_group_size_bytes(group) == 0);
    struct range_list extents = { 0 };
    stream_each_unsettled(stream, collect_extent, &extents);
    enum err err = OK;
    for (size_t i = 0; err == OK && i < extents.count; i++)
        err = settle_extent(engine, stream, group, extents.items[i].extent_id);
    range_list_release(&extents);
    if (engine_group_size_bytes(group) > 0) {
        const enum err committed = engine_group_commit(group, ENGINE_LAZY);
        err = err != OK ? err : committed;
    }
    return err;
}
