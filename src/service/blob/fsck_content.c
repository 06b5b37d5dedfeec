/*
 * fsck_content.c - lists of content ('k' rows), and how many records name it ('n' rows).
 *
 * What a list must be depends on who names it.  That of a block blob is as long as the blob.  That
 * of an append blob may go on past a record that names it: a snapshot, whose blob was appended to
 * since.  That of a page blob has gaps, and ends within every record that names it; it may be laid
 * over another list ('l'), and its links lead there.  A list nobody names is being removed ('z') or
 * was being made ('y'): a part of it is there.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "service/blob/blob_name.h"
#include "service/blob/fsck_internal.h"
#include "service/row.h"

/* The list that is being walked. */
struct list_walk {
    struct fsck_blobs *blobs;
    uint64_t content_id; /* 0: none yet */
    const struct fsck_named *named;
    size_t named_count;
    size_t named_next; /* the first record that ends at or after `end` */
    uint64_t end;      /* of the entries so far */
    uint64_t entry_count;
    bool is_reported; /* one finding for each list is enough */
};

static bool is_listed(const struct fsck_list *ids, uint64_t id)
{
    const uint64_t *items = ids->items;
    size_t low = 0;
    size_t high = ids->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ids->count && items[low] == id;
}

/* Whether the list is on its way in or out, and no record may name it. */
static bool is_in_passage(const struct fsck_blobs *blobs, uint64_t content_id)
{
    return is_listed(&blobs->dropped, content_id) || is_listed(&blobs->unfinished, content_id);
}

/* What the list is laid over; 0: nothing. */
static uint64_t find_base(const struct fsck_blobs *blobs, uint64_t content_id)
{
    const struct fsck_overlay *items = blobs->overlays.items;
    size_t low = 0;
    size_t high = blobs->overlays.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].content_id < content_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < blobs->overlays.count && items[low].content_id == content_id ? items[low].base : 0;
}

static void report_list(struct list_walk *walk, const char *words)
{
    if (!walk->is_reported)
        fsck__report(walk->blobs->fsck, "%s: content %" PRIu64 " %s", walk->blobs->label.data,
                     walk->content_id, words);
    walk->is_reported = true;
}

/* The sweeper removes what is dropped, and lets go of what it names. */
static void repair_list(struct list_walk *walk)
{
    struct fsck_blobs *blobs = walk->blobs;
    fsck__repair(blobs->fsck, &(struct partition_repair){
                                  .kind = PARTITION_REPAIR_PUT,
                                  .needs_all = true,
                                  .partition = blobs->view.partition,
                                  .key = dropped_key(&blobs->arena, walk->content_id),
                                  .value = repair_number_row(&blobs->arena, 1),
                              });
}

static void begin_list(struct list_walk *walk, uint64_t content_id)
{
    *walk = (struct list_walk){ .blobs = walk->blobs, .content_id = content_id };
    walk->named_count = fsck__find_named(walk->blobs, content_id, &walk->named);
    const bool in_passage = is_in_passage(walk->blobs, content_id);
    if (walk->named_count == 0 && !in_passage) {
        report_list(walk, "is a list that nothing names");
        repair_list(walk);
    }
    if (walk->named_count > 0 && in_passage)
        report_list(walk, "is to be removed, but a blob has it");
    if (walk->named_count > 0 && walk->named->place != CONTENT_SEGMENTS)
        report_list(walk, "has a list, but its blob is stored as a whole");
}

static void end_list(struct list_walk *walk)
{
    if (walk->named_count == 0 || walk->named->type == BLOB_PAGE)
        return;
    if (walk->named_next < walk->named_count)
        report_list(walk, "is shorter than its blob");
    const struct fsck_named *longest = &walk->named[walk->named_count - 1];
    if (walk->named->type == BLOB_BLOCK && walk->end > longest->length_bytes)
        report_list(walk, "is longer than its blob");
}

/* An entry of a list without gaps has been passed: the records that end here have it all. */
static void pass_records(struct list_walk *walk)
{
    while (walk->named_next < walk->named_count &&
           walk->named[walk->named_next].length_bytes <= walk->end) {
        const struct fsck_named *named = &walk->named[walk->named_next++];
        if (named->length_bytes < walk->end)
            report_list(walk, "has a blob that ends within one of its blocks");
        else if (named->block_count != walk->entry_count)
            report_list(walk, "has another number of blocks than its blob");
    }
}

static void check_entry(struct list_walk *walk, const struct segment_entry *entry)
{
    const bool is_named = walk->named_count > 0;
    const bool has_gaps = !is_named || walk->named->type == BLOB_PAGE;
    if (entry->start < walk->end)
        report_list(walk, "has entries that overlap");
    else if (entry->start > walk->end && !has_gaps)
        report_list(walk, "has a gap");
    walk->end = entry->start + entry->segment.length_bytes;
    walk->entry_count++;
    if (!has_gaps)
        pass_records(walk);
    else if (is_named && walk->end > walk->named->length_bytes)
        report_list(walk, "is longer than its blob");
    if (entry->segment.is_link) {
        if (entry->segment.payload_id != find_base(walk->blobs, walk->content_id))
            report_list(walk, "has a link to a list it is not laid over");
        return;
    }
    /* Of a list that is being removed the entry may be gone that has the payload of this one. */
    if (is_named || !entry->segment.repeated)
        fsck__claim_segment(walk->blobs, &entry->segment, walk->content_id);
}

static void check_row(struct list_walk *walk, struct slice key, struct slice value)
{
    struct fsck_blobs *blobs = walk->blobs;
    struct segments_row row;
    if (segments_row_decode(&blobs->arena, key, value, &row) != OK) {
        fsck__report(blobs->fsck, "%s: a row of a list of content is damaged", blobs->label.data);
        return;
    }
    if (row.content_id != walk->content_id) {
        end_list(walk);
        begin_list(walk, row.content_id);
    }
    for (size_t i = 0; i < row.count; i++)
        check_entry(walk, &row.entries[i]);
    if (row.count == 0 || walk->end != row.end)
        report_list(walk, "has a row that does not end where its key says");
}

static void check_lists(struct fsck_blobs *blobs)
{
    struct cursor *cursor = partition_view_scan(&blobs->view, slice_of("k"), (struct slice){ 0 });
    struct list_walk walk = { .blobs = blobs };
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        arena_clear(&blobs->arena);
        check_row(&walk, key, row);
    }
    end_list(&walk);
    fsck__check_end(blobs, 'k', err);
    cursor_free(cursor);
}

/* --- who names it --- */

/* Records that name the same content agree about it, and know that they are not alone. */
static void check_sharers(struct fsck_blobs *blobs, const struct fsck_named *named, size_t count)
{
    struct list_walk walk = { .blobs = blobs, .content_id = named->content_id };
    for (size_t i = 0; i < count; i++) {
        if (named[i].place != named->place || named[i].type != named->type ||
            (named->place != CONTENT_SEGMENTS && named[i].length_bytes != named->length_bytes))
            report_list(&walk, "is named by records that disagree about it");
        if (count > 1 && !named[i].shared)
            report_list(&walk, "is named by several records, and one of them does not know it");
    }
}

/* Lists of page blobs may be empty; others have a row for their last byte. */
static void check_has_list(struct fsck_blobs *blobs, const struct fsck_named *named)
{
    if (named->place != CONTENT_SEGMENTS || named->type == BLOB_PAGE)
        return;
    struct list_walk walk = { .blobs = blobs, .content_id = named->content_id };
    struct cursor *cursor = partition_view_scan(
        &blobs->view, segments_prefix(&blobs->arena, named->content_id), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    if (cursor_next(cursor, &key, &row) != OK)
        report_list(&walk, "is a list that is not there");
    cursor_free(cursor);
}

/* The number in a row, or 0 if it has none. */
static uint64_t decode_count(struct slice row)
{
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    uint64_t number = 0;
    enum err err = row_reader_init(&reader, row, ROW_NUMBER);
    if (err == OK)
        err = row_next(&reader, &tag, &value);
    if (err == OK)
        err = row_number(value, &number);
    return err == OK ? number : 0;
}

/* How many records beyond the first a row says there are. */
static uint64_t get_count(struct fsck_blobs *blobs, uint64_t content_id)
{
    struct slice row;
    const struct slice key = share_count_key(&blobs->arena, content_id);
    const enum err err = partition_view_get(&blobs->view, &blobs->arena, key, &row);
    return err == OK ? decode_count(row) : 0;
}

/* With a count that is too low, content goes before the last of its records does. */
static void repair_count(struct fsck_blobs *blobs, uint64_t content_id, size_t count)
{
    const struct slice key = share_count_key(&blobs->arena, content_id);
    struct partition_repair repair = {
        .kind = count == 1 ? PARTITION_REPAIR_DELETE : PARTITION_REPAIR_PUT,
        .needs_all = true,
        .partition = blobs->view.partition,
        .key = key,
    };
    if (count > 1)
        repair.value = repair_number_row(&blobs->arena, count - 1);
    fsck__repair(blobs->fsck, &repair);
}

static void check_named(struct fsck_blobs *blobs)
{
    const struct fsck_named *items = blobs->named.items;
    for (size_t i = 0; i < blobs->named.count;) {
        size_t count = 1;
        while (i + count < blobs->named.count && items[i + count].content_id == items[i].content_id)
            count++;
        arena_clear(&blobs->arena);
        check_sharers(blobs, &items[i], count);
        check_has_list(blobs, &items[i]);
        const uint64_t counted = get_count(blobs, items[i].content_id) + 1;
        if (counted != count) {
            fsck__report(blobs->fsck,
                         "%s: content %" PRIu64
                         " is named by %zu records, and its count says %" PRIu64,
                         blobs->label.data, items[i].content_id, count, counted);
            repair_count(blobs, items[i].content_id, count);
        }
        i += count;
    }
}

/* Overlays of lists that nothing names. */
static void check_overlays(struct fsck_blobs *blobs)
{
    const struct fsck_overlay *items = blobs->overlays.items;
    for (size_t i = 0; i < blobs->overlays.count; i++) {
        const struct fsck_named *named;
        if (fsck__find_named(blobs, items[i].content_id, &named) == 0 &&
            !is_in_passage(blobs, items[i].content_id))
            fsck__report(blobs->fsck,
                         "%s: content %" PRIu64 " is laid over another, and nothing names it",
                         blobs->label.data, items[i].content_id);
    }
}

/* Counts of content that nothing names. */
static void check_counts(struct fsck_blobs *blobs)
{
    struct cursor *cursor = partition_view_scan(&blobs->view, slice_of("n"), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        const struct fsck_named *named;
        const uint64_t id = key.len == 9 ? get_be64((const uint8_t *)key.data + 1) : 0;
        if (decode_count(row) == 0 || id == 0)
            fsck__report(blobs->fsck, "%s: the count of content %" PRIu64 " is damaged",
                         blobs->label.data, id);
        else if (fsck__find_named(blobs, id, &named) == 0) {
            fsck__report(blobs->fsck,
                         "%s: there is a count of content %" PRIu64 ", which nothing names",
                         blobs->label.data, id);
            fsck__repair_delete(blobs, key);
        }
    }
    fsck__check_end(blobs, 'n', err);
    cursor_free(cursor);
}

void fsck__check_contents(struct fsck_blobs *blobs)
{
    check_lists(blobs);
    check_named(blobs);
    check_overlays(blobs);
    check_counts(blobs);
}
