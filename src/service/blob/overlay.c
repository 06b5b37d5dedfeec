#include "service/blob/overlay.h"

#include <assert.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/blob/blob_name.h"
#include "service/blob/segments.h"
#include "service/limits.h"
#include "service/row.h"

/* --- rows --- */

/* Tags of ROW_OVERLAY. */
enum {
    TAG_BASE = 1,
    TAG_DEEP = 2,
    TAG_FLAT_END = 3,
};

static struct slice overlay_encode(struct arena *arena, const struct overlay *overlay)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_OVERLAY);
    row_add_number(&row, TAG_BASE, overlay->base);
    row_add_number(&row, TAG_DEEP, overlay->is_deep);
    row_add_number(&row, TAG_FLAT_END, overlay->flat_end);
    return strbuf_slice(&row);
}

static enum err decode_fields(struct slice row, struct overlay *overlay)
{
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    *overlay = (struct overlay){ 0 };
    enum err err = row_reader_init(&reader, row, ROW_OVERLAY);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK) {
        if (tag == TAG_BASE)
            err = row_number(value, &overlay->base);
        else if (tag == TAG_DEEP)
            overlay->is_deep = true;
        else if (tag == TAG_FLAT_END)
            err = row_number(value, &overlay->flat_end);
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err overlay_decode(struct slice key, struct slice row, uint64_t *content_id,
                        struct overlay *overlay)
{
    if (!overlay_key_content(key, content_id))
        return CORRUPT("a key of %zu bytes is not of an overlay", key.len);
    const enum err err = decode_fields(row, overlay);
    if (err == OK && (overlay->base == 0 || overlay->base >= *content_id))
        return CORRUPT("content %llu is not laid over an earlier one",
                       (unsigned long long)*content_id);
    return err;
}

/* ERR_NOT_FOUND when the list lies over no other. */
static enum err get_overlay(struct change *change, uint64_t content_id, struct overlay *overlay)
{
    const struct slice key = overlay_key(change_arena(change), content_id);
    struct slice row;
    const enum err err = change_get(change, key, &row);
    return err == OK ? overlay_decode(key, row, &content_id, overlay) : err;
}

static void put_overlay(struct change *change, uint64_t content_id, const struct overlay *overlay)
{
    struct arena *arena = change_arena(change);
    change_put(change, overlay_key(arena, content_id), overlay_encode(arena, overlay));
}

enum err overlay_end(struct change *change, uint64_t content_id)
{
    struct overlay overlay;
    const enum err err = get_overlay(change, content_id, &overlay);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    change_delete(change, overlay_key(change_arena(change), content_id));
    return content_unlink(change, overlay.base);
}

/* --- a list of its own --- */

/* How many lists lie below, and how many of them before the first that is being made flat. */
static enum err measure(struct change *change, uint64_t content_id, unsigned *depth,
                        unsigned *steep)
{
    *depth = *steep = 0;
    bool is_steep = true;
    for (;;) {
        struct overlay overlay;
        const enum err err = get_overlay(change, content_id, &overlay);
        if (err != OK)
            return err == ERR_NOT_FOUND ? OK : err;
        is_steep = is_steep && !overlay.is_deep;
        *depth += 1;
        *steep += is_steep;
        content_id = overlay.base;
    }
}

enum err overlay_cover(struct change *change, struct content *content)
{
    assert(content->place == CONTENT_SEGMENTS);
    const uint64_t id = (uint64_t)change_now(change);
    unsigned depth;
    unsigned steep;
    const enum err err = measure(change, content->id, &depth, &steep);
    if (err != OK)
        return err;
    if (depth + 1 >= LIMIT_OVERLAY_DEPTH)
        return ERR_BUSY;
    /* The record's name of the old list is the link's from now on. */
    const struct overlay overlay = {
        .base = content->id,
        .is_deep = steep + 1 >= OVERLAY_DEPTH_FLATTENED,
    };
    const struct segment_entry link = {
        .segment = { .payload_id = content->id,
                     .range = { .length = content->length_bytes },
                     .length_bytes = content->length_bytes,
                     .is_link = true },
    };
    put_overlay(change, id, &overlay);
    segments_put_entry(change, id, &link);
    change_mark(change);
    content->id = id;
    content->shared = false;
    return OK;
}

/* Whether the list has no more rows than are copied. */
static enum err check_short(struct change *change, uint64_t content_id, bool *is_short)
{
    struct cursor *rows =
        change_scan(change, segments_prefix(change_arena(change), content_id), (struct slice){ 0 });
    size_t count = 0;
    enum err err = OK;
    while (count <= OVERLAY_ROWS_COPIED) {
        struct slice key;
        struct slice row;
        err = cursor_next(rows, &key, &row);
        if (err != OK)
            break;
        count++;
    }
    cursor_free(rows);
    *is_short = count <= OVERLAY_ROWS_COPIED;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Put the list's entries into another list, which owns their payloads too. */
static enum err copy_entries(struct change *change, uint64_t from_id, uint64_t to_id,
                             bool *has_links)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, change, from_id, 0);
    struct segment_entry entry;
    enum err err;
    *has_links = false;
    while ((err = segments_cursor_next(&cursor, &entry)) == OK) {
        if (entry.segment.is_link) {
            *has_links = true;
        } else {
            segment_own(change, &entry.segment, to_id);
            entry.segment.owner = to_id;
        }
        segments_put_entry(change, to_id, &entry);
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* The copy's links need a name of what is below, too. */
static enum err copy_overlay(struct change *change, uint64_t from_id, uint64_t to_id)
{
    struct overlay overlay;
    const enum err err = get_overlay(change, from_id, &overlay);
    if (err == ERR_NOT_FOUND)
        return CORRUPT("content %llu has links and no list below it", (unsigned long long)from_id);
    if (err != OK)
        return err;
    put_overlay(change, to_id, &overlay);
    change_mark(change);
    return content_link(change, overlay.base);
}

static enum err copy_list(struct change *change, struct content *content)
{
    const uint64_t id = (uint64_t)change_now(change);
    bool has_links;
    enum err err = copy_entries(change, content->id, id, &has_links);
    if (err == OK && has_links)
        err = copy_overlay(change, content->id, id);
    if (err == OK)
        err = content_drop(change, content);
    content->id = id;
    content->shared = false;
    return err;
}

enum err overlay_unshare(struct change *change, struct content *content)
{
    bool is_short;
    const enum err err = check_short(change, content->id, &is_short);
    if (err != OK)
        return err;
    return is_short ? copy_list(change, content) : overlay_cover(change, content);
}

/* --- making it flat --- */

/* A step under way. */
struct flattening {
    struct change *change;
    uint64_t content_id;
    struct overlay overlay;
    struct segment_entry entries[OVERLAY_STEP_ENTRIES]; /* of what is below the link */
    size_t entry_count;
    size_t budget; /* entries that may still be looked at */
};

static uint64_t entry_end(const struct segment_entry *entry)
{
    return entry->start + entry->segment.length_bytes;
}

/* The first link that is left.  ERR_NOT_FOUND: there is none; ERR_BUSY: not within the budget. */
static enum err find_link(struct flattening *step, struct segment_entry *link)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, step->change, step->content_id,
                                step->overlay.flat_end);
    enum err err = ERR_BUSY;
    while (step->budget > 0) {
        err = segments_cursor_next(&cursor, link);
        if (err != OK || link->segment.is_link)
            break;
        step->overlay.flat_end = entry_end(link);
        step->budget--;
        err = ERR_BUSY;
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err;
}

/* Gather what the link leads to.  `*end` is how far that goes. */
static enum err gather(struct flattening *step, const struct segment_entry *link, uint64_t *end)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, step->change, link->segment.payload_id,
                                link->start);
    segments_cursor_follow(&cursor);
    enum err err = OK;
    step->entry_count = 0;
    *end = link->start;
    while (step->budget > 0) {
        struct segment_entry *entry = &step->entries[step->entry_count];
        err = segments_cursor_next(&cursor, entry);
        if (err == OK && entry->start >= entry_end(link))
            err = ERR_NOT_FOUND;
        if (err != OK)
            break;
        segment_entry_clip(entry, link->start, entry_end(link));
        *end = entry_end(entry);
        step->entry_count++;
        step->budget--;
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    if (err == ERR_NOT_FOUND)
        *end = entry_end(link);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Put what was gathered into the place of the link, or of its beginning. */
static void replace_link(struct flattening *step, struct segment_entry *link, uint64_t end)
{
    struct change *change = step->change;
    if (end == entry_end(link))
        change_delete(change, segments_key(change_arena(change), step->content_id, end));
    else {
        segment_entry_clip(link, end, entry_end(link));
        segments_put_entry(change, step->content_id, link);
    }
    for (size_t i = 0; i < step->entry_count; i++) {
        struct segment_entry *entry = &step->entries[i];
        segment_own(change, &entry->segment, step->content_id);
        entry->segment.owner = step->content_id;
        segments_put_entry(change, step->content_id, entry);
    }
    step->overlay.flat_end = end;
}

/* Whether a list is to be made flat: it lies deep, or nobody else has a use for the one below. */
static enum err check_wanted(struct change *change, uint64_t content_id,
                             const struct overlay *overlay, bool *is_wanted)
{
    struct slice row;
    *is_wanted = false;
    const enum err err = change_get(change, dropped_key(change_arena(change), content_id), &row);
    if (err == OK)
        return OK; /* it is being removed */
    if (err != ERR_NOT_FOUND)
        return err;
    *is_wanted = overlay->is_deep;
    return *is_wanted ? OK : content_has_one_name(change, overlay->base, is_wanted);
}

enum err overlay_is_due(struct partition_view *view, struct arena *arena, struct slice key,
                        struct slice row, bool *is_due)
{
    uint64_t content_id;
    struct overlay overlay;
    struct slice count;
    enum err err = overlay_decode(key, row, &content_id, &overlay);
    *is_due = err == OK && overlay.is_deep;
    if (err != OK || *is_due)
        return err;
    err = partition_view_get(view, arena, share_count_key(arena, overlay.base), &count);
    *is_due = err == ERR_NOT_FOUND;
    return *is_due ? OK : err;
}

enum err overlay_flatten(struct change *change, uint64_t content_id, bool *done)
{
    struct flattening *step = arena_alloc(change_arena(change), sizeof(*step));
    step->change = change;
    step->content_id = content_id;
    step->budget = OVERLAY_STEP_ENTRIES;
    bool is_wanted = false;
    *done = true;
    enum err err = get_overlay(change, content_id, &step->overlay);
    if (err == OK)
        err = check_wanted(change, content_id, &step->overlay, &is_wanted);
    if (err != OK || !is_wanted)
        return err == ERR_NOT_FOUND ? OK : err;
    while (err == OK && step->budget > 0) {
        struct segment_entry link;
        uint64_t end;
        err = find_link(step, &link);
        if (err == OK)
            err = gather(step, &link, &end);
        if (err == OK)
            replace_link(step, &link, end);
        /* A link to nothing costs something, too. */
        if (err == OK && step->budget > 0)
            step->budget--;
    }
    if (err == ERR_NOT_FOUND)
        return overlay_end(change, content_id);
    if (err != OK && err != ERR_BUSY)
        return err;
    put_overlay(change, content_id, &step->overlay);
    *done = false;
    return OK;
}
