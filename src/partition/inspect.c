#include "partition/inspect.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/range_list.h"
#include "partition/settle.h"
#include "partition/system_row.h"

enum {
    EXTENT_KEY_BYTES_MIN = 1 + 8, /* of rows about extents: the kind and the extent's id */
    WORDS_BYTES_MAX = 256,
};

/* --- partitions and marks --- */

enum err inspect_each(struct engine *engine, bool (*fn)(void *arg, struct slice partition),
                      void *arg)
{
    struct engine_snapshot *snapshot = engine_snapshot_new(engine);
    struct arena arenas[2] = { 0 }; /* one of the present name, one of the next */
    struct slice name = { 0 };
    enum err err = OK;
    bool more = true;
    for (unsigned turn = 0; err == OK && more; turn ^= 1) {
        arena_clear(&arenas[turn]);
        err = engine_next_partition(engine, snapshot, &arenas[turn], name, &name);
        if (err == OK)
            more = fn(arg, name);
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    engine_snapshot_free(engine, snapshot);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err inspect_is_marked(struct engine *engine, struct slice partition, bool *marked)
{
    struct arena arena = { 0 };
    char *key = arena_bytes(&arena, 1 + partition.len);
    key[0] = SYSTEM_MARK;
    memcpy(key + 1, partition.data, partition.len);
    const struct engine_key row = { .key = slice_make(key, 1 + partition.len) };
    struct slice value;
    const enum err err = engine_get(engine, NULL, &arena, &row, &value);
    *marked = err == OK;
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err inspect_each_owner(struct engine *engine,
                            void (*fn)(void *arg, const struct stream_range *range, uint64_t owner),
                            void *arg)
{
    const struct system_key prefix = system_prefix(SYSTEM_OWNER);
    const struct engine_scan scan = system_scan(&prefix);
    struct engine_snapshot *snapshot = engine_snapshot_new(engine);
    struct cursor *cursor = engine_scan(engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK) {
        struct stream_range range;
        uint64_t owner;
        if (system_decode_range(key, value, &range, &owner) == OK)
            fn(arg, &range, owner);
    }
    cursor_free(cursor);
    engine_snapshot_free(engine, snapshot);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- checking --- */

struct inspection {
    struct engine *engine;
    struct engine_snapshot *snapshot;
    struct stream *stream;
    struct partition_check *check;
};

/* An extent, as its file and its rows have it. */
struct extent_facts {
    uint64_t id;
    bool has_file;
    uint64_t size_bytes; /* of the file */
    bool has_row;
    struct system_extent row;
    struct range_list owned; /* ranges with O rows, in order, each once */
    struct range_list freed; /* the same for F rows */
    struct range_list live;  /* both */
};

__attribute__((format(printf, 3, 4))) static void report(const struct inspection *inspection,
                                                         const struct stream_range *range,
                                                         const char *format, ...)
{
    char words[WORDS_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    inspection->check->report(inspection->check->arg, range, words);
}

/* The fault that was reported is in what is known of a settled extent. */
static void unsettle(const struct inspection *inspection, uint64_t extent_id)
{
    if (inspection->check->unsettle != NULL)
        inspection->check->unsettle(inspection->check->arg, extent_id);
}

static struct cursor *scan_rows(const struct inspection *inspection,
                                const struct system_key *prefix)
{
    const struct engine_scan scan = system_scan(prefix);
    return engine_scan(inspection->engine, inspection->snapshot, &scan);
}

/* --- rows that are about no extent --- */

static bool is_about_extent(char kind)
{
    return kind == SYSTEM_OWNER || kind == SYSTEM_FREED || kind == SYSTEM_EXTENT;
}

/* A row that is not about an extent. */
static void check_row(const struct inspection *inspection, struct slice key, struct slice value)
{
    const char kind = key.len == 0 ? '\0' : key.data[0];
    int64_t tick;
    struct slice partition;
    if (kind == SYSTEM_TICK && system_decode_tick(value, &tick) != OK)
        report(inspection, NULL, "the row of a committer's tick is damaged");
    else if (kind == SYSTEM_MARK && system_decode_mark_key(key, &partition) != OK)
        report(inspection, NULL, "the mark of a partition is damaged");
    else if (kind != SYSTEM_TICK && kind != SYSTEM_MARK)
        report(inspection, NULL, "there is a system row of unknown kind 0x%02x",
               (unsigned)(unsigned char)kind);
}

static enum err check_rows(const struct inspection *inspection)
{
    const struct engine_scan scan = { 0 };
    struct cursor *cursor = engine_scan(inspection->engine, inspection->snapshot, &scan);
    struct slice key;
    struct slice value;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK) {
        if (key.len > 0 && is_about_extent(key.data[0])) {
            const char next_kind = (char)(key.data[0] + 1);
            cursor_seek(cursor, slice_make(&next_kind, 1));
        } else {
            check_row(inspection, key, value);
        }
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- which extents there are --- */

static void add_extent(void *arg, uint64_t extent_id)
{
    range_list_add(arg, &(struct stream_range){ .extent_id = extent_id });
}

/* Those that have rows of this kind. */
static enum err add_extents_of_rows(const struct inspection *inspection, enum system_kind kind,
                                    struct range_list *extents)
{
    const struct system_key prefix = system_prefix(kind);
    struct cursor *cursor = scan_rows(inspection, &prefix);
    struct slice key;
    struct slice value;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK) {
        uint64_t extent_id;
        if (key.len < EXTENT_KEY_BYTES_MIN ||
            system_decode_extent_key(slice_head(key, EXTENT_KEY_BYTES_MIN), &extent_id) != OK) {
            report(inspection, NULL, "a system row '%c' has a key of %zu bytes", (char)kind,
                   key.len);
            continue;
        }
        add_extent(extents, extent_id);
        if (extent_id == UINT64_MAX)
            break;
        const struct system_key next = system_prefix_extent(kind, extent_id + 1);
        cursor_seek(cursor, slice_make(next.bytes, next.len));
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

static int compare_items(const void *a, const void *b)
{
    return range_compare(a, b);
}

static enum err list_extents(const struct inspection *inspection, struct range_list *extents)
{
    enum err err = add_extents_of_rows(inspection, SYSTEM_EXTENT, extents);
    if (err == OK)
        err = add_extents_of_rows(inspection, SYSTEM_OWNER, extents);
    if (err == OK)
        err = add_extents_of_rows(inspection, SYSTEM_FREED, extents);
    if (inspection->stream != NULL)
        stream_each_extent(inspection->stream, add_extent, extents);
    if (extents->count > 1)
        qsort(extents->items, extents->count, sizeof(*extents->items), compare_items);
    return err;
}

/* --- one extent --- */

static void gather_file(const struct inspection *inspection, struct extent_facts *extent)
{
    const enum err err = stream_extent_size(inspection->stream, extent->id, &extent->size_bytes);
    extent->has_file = err == OK;
    if (err != OK && err != ERR_NOT_FOUND)
        report(inspection, NULL, "extent %016" PRIx64 " cannot be read: %s", extent->id,
               error_text(err));
}

static enum err gather_row(const struct inspection *inspection, struct extent_facts *extent)
{
    struct arena arena = { 0 };
    const struct system_key key = system_key_extent(extent->id);
    const struct engine_key row = system_row(&key);
    struct slice value;
    const enum err err = engine_get(inspection->engine, inspection->snapshot, &arena, &row, &value);
    extent->has_row = err == OK && system_decode_extent(value, &extent->row) == OK;
    if (err == OK && !extent->has_row) {
        report(inspection, NULL, "the row of extent %016" PRIx64 " is damaged", extent->id);
        unsettle(inspection, extent->id);
    }
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Add a range that comes after those of the list, or is the last of them. */
static void add_range(const struct inspection *inspection, struct range_list *ranges,
                      const struct stream_range *range)
{
    if (!stream_range_is_valid(range)) {
        report(inspection, range,
               "extent %016" PRIx64 " cannot have a range of %" PRIu64 " bytes at %" PRIu64,
               range->extent_id, range->length, range->offset);
        return;
    }
    const size_t count = ranges->count;
    const bool again = count > 0 && ranges->items[count - 1].offset == range->offset;
    if (!again)
        range_list_add(ranges, range);
    else if (ranges->items[count - 1].length != range->length)
        report(inspection, range,
               "extent %016" PRIx64 ": the range at %" PRIu64 " is owned with %" PRIu64
               " and with %" PRIu64 " bytes",
               range->extent_id, range->offset, ranges->items[count - 1].length, range->length);
}

static enum err gather_ranges(const struct inspection *inspection, enum system_kind kind,
                              uint64_t extent_id, struct range_list *ranges)
{
    const struct system_key prefix = system_prefix_extent(kind, extent_id);
    struct cursor *cursor = scan_rows(inspection, &prefix);
    struct slice key;
    struct slice value;
    enum err err;
    while ((err = cursor_next(cursor, &key, &value)) == OK) {
        struct stream_range range;
        uint64_t last;
        if (system_decode_range(key, value, &range, &last) == OK)
            add_range(inspection, ranges, &range);
        else
            report(inspection, NULL, "extent %016" PRIx64 " has a damaged row '%c'", extent_id,
                   (char)kind);
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* `live` becomes the ranges of both lists. */
static void merge(const struct inspection *inspection, struct extent_facts *extent)
{
    const struct range_list *owned = &extent->owned;
    const struct range_list *freed = &extent->freed;
    size_t at_owned = 0;
    size_t at_freed = 0;
    while (at_owned < owned->count || at_freed < freed->count) {
        const bool takes_owned =
            at_freed == freed->count ||
            (at_owned < owned->count &&
             range_compare(&owned->items[at_owned], &freed->items[at_freed]) <= 0);
        add_range(inspection, &extent->live,
                  takes_owned ? &owned->items[at_owned++] : &freed->items[at_freed++]);
    }
}

static uint64_t end_of(const struct stream_range *range)
{
    return range->offset + stream_allocated_bytes(range->length);
}

static uint64_t allocated_bytes(const struct range_list *ranges)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < ranges->count; i++)
        bytes += stream_allocated_bytes(ranges->items[i].length);
    return bytes;
}

static void check_overlap(const struct inspection *inspection, const struct extent_facts *extent)
{
    uint64_t end = 0;
    for (size_t i = 0; i < extent->live.count; i++) {
        const struct stream_range *range = &extent->live.items[i];
        if (range->offset < end)
            report(inspection, range,
                   "extent %016" PRIx64 ": the range at %" PRIu64 " begins within the one before",
                   range->extent_id, range->offset);
        if (end < end_of(range))
            end = end_of(range);
    }
}

static void check_bytes(const struct inspection *inspection, const struct extent_facts *extent,
                        const struct stream_range *range)
{
    if (!extent->has_file) {
        report(inspection, range,
               "extent %016" PRIx64 " is missing, with the range of %" PRIu64 " bytes at %" PRIu64,
               range->extent_id, range->length, range->offset);
        return;
    }
    if (end_of(range) > extent->size_bytes) {
        report(inspection, range,
               "extent %016" PRIx64 " ends before the range of %" PRIu64 " bytes at %" PRIu64,
               range->extent_id, range->length, range->offset);
        return;
    }
    const enum err err = stream_check(inspection->stream, range);
    if (err != OK)
        report(inspection, range,
               "extent %016" PRIx64 ": the range of %" PRIu64 " bytes at %" PRIu64
               " is damaged: %s",
               range->extent_id, range->length, range->offset, error_text(err));
}

/* Whether bytes that belong to nothing read as zeroes. */
static void check_gap(const struct inspection *inspection, const struct extent_facts *extent,
                      uint64_t begin, uint64_t end)
{
    uint64_t at;
    const enum err err = stream_find_bytes(inspection->stream, extent->id, begin, end, &at);
    if (err != OK)
        report(inspection, NULL, "extent %016" PRIx64 " cannot be read at %" PRIu64 ": %s",
               extent->id, begin, error_text(err));
    else if (at < end) {
        report(inspection, NULL,
               "extent %016" PRIx64 " has bytes at %" PRIu64
               " that belong to nothing and were not given back",
               extent->id, at);
        unsettle(inspection, extent->id);
    }
}

static void check_gaps(const struct inspection *inspection, const struct extent_facts *extent)
{
    uint64_t end = 0;
    for (size_t i = 0; i < extent->live.count; i++) {
        const struct stream_range *range = &extent->live.items[i];
        if (range->offset > end && range->offset <= extent->size_bytes)
            check_gap(inspection, extent, end, range->offset);
        if (end < end_of(range))
            end = end_of(range);
    }
    if (end < extent->size_bytes)
        check_gap(inspection, extent, end, extent->size_bytes);
}

/* An extent that is settled. */
static void check_settled(const struct inspection *inspection, const struct extent_facts *extent)
{
    const uint64_t live_bytes = allocated_bytes(&extent->live);
    if (extent->row.live_bytes != live_bytes) {
        report(inspection, NULL,
               "extent %016" PRIx64 " has %" PRIu64 " live bytes, and its row says %" PRIu64,
               extent->id, live_bytes, extent->row.live_bytes);
        unsettle(inspection, extent->id);
    }
    if (!extent->has_file)
        return;
    if (extent->row.length != extent->size_bytes) {
        report(inspection, NULL,
               "extent %016" PRIx64 " has %" PRIu64 " bytes, and its row says %" PRIu64, extent->id,
               extent->size_bytes, extent->row.length);
        unsettle(inspection, extent->id);
    }
    /* Without live bytes it is removed as a whole. */
    if (extent->row.live_bytes > 0)
        check_gaps(inspection, extent);
}

static void add_to_census(struct partition_census *census, const struct extent_facts *extent)
{
    if (!extent->has_file)
        return;
    const uint64_t owned_bytes = allocated_bytes(&extent->owned);
    const bool is_kept = extent->has_row && extent->row.live_bytes > 0;
    const uint64_t present_bytes = is_kept ? allocated_bytes(&extent->live) : extent->size_bytes;
    census->extent_count++;
    if (present_bytes > owned_bytes)
        census->reclaimable_bytes += present_bytes - owned_bytes;
    for (size_t i = 0; i < extent->owned.count; i++)
        census->live_bytes += extent->owned.items[i].length;
}

static enum err check_extent(const struct inspection *inspection, uint64_t extent_id)
{
    struct extent_facts extent = { .id = extent_id };
    gather_file(inspection, &extent);
    enum err err = gather_row(inspection, &extent);
    if (err == OK)
        err = gather_ranges(inspection, SYSTEM_OWNER, extent_id, &extent.owned);
    if (err == OK)
        err = gather_ranges(inspection, SYSTEM_FREED, extent_id, &extent.freed);
    if (err == OK) {
        merge(inspection, &extent);
        check_overlap(inspection, &extent);
        for (size_t i = 0; i < extent.owned.count; i++)
            check_bytes(inspection, &extent, &extent.owned.items[i]);
        if (extent.has_row)
            check_settled(inspection, &extent);
        add_to_census(&inspection->check->census, &extent);
    }
    range_list_release(&extent.owned);
    range_list_release(&extent.freed);
    range_list_release(&extent.live);
    return err;
}

/* --- ranges, one by one --- */

enum err inspect_next_range(struct engine *engine, const struct stream_range *from,
                            struct stream_range *range)
{
    const struct system_key prefix = system_prefix(SYSTEM_OWNER);
    const struct system_key first = system_prefix_range(SYSTEM_OWNER, from);
    struct engine_scan scan = system_scan(&prefix);
    scan.from = slice_make(first.bytes, first.len);
    struct engine_snapshot *snapshot = engine_snapshot_new(engine);
    struct cursor *cursor = engine_scan(engine, snapshot, &scan);
    struct slice key;
    struct slice value;
    uint64_t owner;
    enum err err;
    /* A row that is none is for inspect_check to report. */
    while ((err = cursor_next(cursor, &key, &value)) == OK)
        if (system_decode_range(key, value, range, &owner) == OK)
            break;
    cursor_free(cursor);
    engine_snapshot_free(engine, snapshot);
    return err;
}

/* There is no way back in a cursor; halving what is left takes as many looks as an id has bits. */
enum err inspect_last_range(struct engine *engine, struct stream_range *range)
{
    struct stream_range from = { 0 };
    enum err err = inspect_next_range(engine, &from, range);
    uint64_t low = err == OK ? range->extent_id : 0; /* there is one here */
    uint64_t high = UINT64_MAX;                      /* there is none from here on */
    while (err == OK && high - low > 1) {
        struct stream_range found;
        from.extent_id = low + (high - low) / 2;
        err = inspect_next_range(engine, &from, &found);
        if (err == OK) {
            *range = found;
            low = found.extent_id;
        } else if (err == ERR_NOT_FOUND) {
            high = from.extent_id;
            err = OK;
        }
    }
    return err;
}

/* --- extents by their rows --- */

static enum err visit_extent(const struct inspection *inspection, uint64_t extent_id,
                             enum err (*fn)(void *arg, const struct partition_extent *extent),
                             void *arg)
{
    struct extent_facts facts = { .id = extent_id };
    struct range_list live = { 0 };
    enum err err = gather_row(inspection, &facts);
    if (err == OK)
        err = settle_list_live(inspection->engine, extent_id, &live);
    if (err == OK)
        err = fn(arg, &(struct partition_extent){
                          .id = extent_id,
                          .length = facts.has_row ? facts.row.length : 0,
                          .ranges = live.items,
                          .range_count = live.count,
                      });
    range_list_release(&live);
    return err;
}

static void ignore_fault(void *arg, const struct stream_range *range, const char *words)
{
    (void)arg;
    (void)range;
    (void)words;
}

enum err inspect_each_extent(struct engine *engine,
                             enum err (*fn)(void *arg, const struct partition_extent *extent),
                             void *arg)
{
    /* Rows that are no rows are for inspect_check to report. */
    struct partition_check check = { .report = ignore_fault };
    const struct inspection inspection = {
        .engine = engine,
        .snapshot = engine_snapshot_new(engine),
        .check = &check,
    };
    struct range_list extents = { 0 };
    enum err err = list_extents(&inspection, &extents);
    for (size_t i = 0; err == OK && i < extents.count; i++) {
        if (i == 0 || extents.items[i - 1].extent_id != extents.items[i].extent_id)
            err = visit_extent(&inspection, extents.items[i].extent_id, fn, arg);
    }
    range_list_release(&extents);
    engine_snapshot_free(engine, inspection.snapshot);
    return err;
}

/* --- all --- */

enum err inspect_check(struct engine *engine, struct stream *stream, struct partition_check *check)
{
    check->census = (struct partition_census){ 0 };
    const struct inspection inspection = {
        .engine = engine,
        .snapshot = engine_snapshot_new(engine),
        .stream = stream,
        .check = check,
    };
    struct range_list extents = { 0 };
    enum err err = check_rows(&inspection);
    if (err == OK)
        err = list_extents(&inspection, &extents);
    for (size_t i = 0; err == OK && i < extents.count; i++) {
        if (i == 0 || extents.items[i - 1].extent_id != extents.items[i].extent_id)
            err = check_extent(&inspection, extents.items[i].extent_id);
    }
    if (err != OK)
        report(&inspection, NULL, "the rows about ownership cannot be read: %s", error_text(err));
    range_list_release(&extents);
    engine_snapshot_free(engine, inspection.snapshot);
    return err;
}
