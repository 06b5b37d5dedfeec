#include "service/blob/page_map.h"

#include <assert.h>

#include "service/blob/blob_name.h"
#include "service/blob/overlay.h"

enum {
    /* Entries that one change cuts away; of more, a new list is made that leaves them out. */
    PAGE_MAP_CUT_AT_ONCE = 256,
    /* Entries that are remembered from looking at a range: an ordinary write meets one or two. */
    PAGE_MAP_GATHERED = 16,
    /* Entries that are looked at to count the bytes they have. */
    PAGE_MAP_COUNTED = 16384,
};

/* --- changing --- */

static uint64_t entry_end(const struct segment_entry *entry)
{
    return entry->start + entry->segment.length_bytes;
}

struct content page_map_new(struct change *change, uint64_t length_bytes)
{
    return (struct content){
        .place = length_bytes == 0 ? CONTENT_EMPTY : CONTENT_SEGMENTS,
        .id = (uint64_t)change_now(change),
        .length_bytes = length_bytes,
    };
}

/* Make the list one that no other record names. */
static enum err make_own(struct change *change, struct content *content)
{
    if (!content->shared)
        return OK;
    bool shared;
    const enum err err = content_is_shared(change, content, &shared);
    if (err == OK && shared)
        return overlay_unshare(change, content);
    content->shared = false;
    return err;
}

/* Whether so much of the list lies in a range that it is not cut away one by one. */
static enum err check_many(struct change *change, uint64_t content_id, uint64_t start, uint64_t end,
                           bool *are_many)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    struct segment_entry entry;
    size_t count = 0;
    enum err err = OK;
    segments_cursor_open_change(&cursor, &arena, change, content_id, start);
    while (count <= PAGE_MAP_CUT_AT_ONCE) {
        err = segments_cursor_next(&cursor, &entry);
        if (err != OK || entry.start >= end)
            break;
        count++;
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    *are_many = count > PAGE_MAP_CUT_AT_ONCE;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* What comes into the place of a range that is cut out. */
enum cut_for {
    CUT_FOR_GAP,
    CUT_FOR_ENTRY, /* one of the same range: its row replaces one that ends there */
};

/*
 * Take the range [start, end) out of an entry that overlaps it.  What is left on the left ends at
 * `start`, under a key that the caller's cursor has passed; what is left on the right keeps its
 * key.
 */
static enum err cut_entry(struct change *change, uint64_t content_id,
                          const struct segment_entry *entry, uint64_t start, uint64_t end,
                          enum cut_for purpose)
{
    struct segment_entry left = *entry;
    struct segment_entry right = *entry;
    const bool has_left = entry->start < start;
    const bool has_right = entry_end(entry) > end;
    if (has_left)
        left.segment.length_bytes = start - entry->start;
    if (has_right) {
        right.start = end;
        right.segment.skip_bytes += end - entry->start;
        right.segment.length_bytes -= end - entry->start;
    }
    left.segment.split = right.segment.split = entry->segment.split || (has_left && has_right);
    /* What is split is looked for in the rows when it is let go of, so its row goes first. */
    const bool is_replaced =
        purpose == CUT_FOR_ENTRY && entry_end(entry) == end && !entry->segment.split;
    if (has_right)
        segments_put_entry(change, content_id, &right);
    else if (!is_replaced)
        change_delete(change, segments_key(change_arena(change), content_id, entry_end(entry)));
    if (has_left)
        segments_put_entry(change, content_id, &left);
    return has_left || has_right ? OK : segments_let_go(change, content_id, entry);
}

static enum err cut_range(struct change *change, uint64_t content_id, uint64_t start, uint64_t end)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, change, content_id, start);
    struct segment_entry entry;
    enum err err;
    while ((err = segments_cursor_next(&cursor, &entry)) == OK && entry.start < end) {
        err = cut_entry(change, content_id, &entry, start, end, CUT_FOR_GAP);
        if (err != OK)
            break;
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* What lies in a range of a list, as its rows have it. */
struct overlap {
    struct segment_entry entries[PAGE_MAP_GATHERED];
    size_t count;
    bool is_complete; /* there are no more of them */
    bool has_links;
    uint64_t bytes; /* in the range */
};

static uint64_t overlap_bytes(const struct segment_entry *entry, uint64_t start, uint64_t end)
{
    const uint64_t from = entry->start > start ? entry->start : start;
    const uint64_t to = entry_end(entry) < end ? entry_end(entry) : end;
    return to - from;
}

static enum err find_overlap(struct change *change, uint64_t content_id, uint64_t start,
                             uint64_t end, struct overlap *overlap)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, change, content_id, start);
    enum err err = OK;
    overlap->count = 0;
    overlap->bytes = 0;
    overlap->has_links = overlap->is_complete = false;
    while (overlap->count < PAGE_MAP_GATHERED) {
        struct segment_entry *entry = &overlap->entries[overlap->count];
        err = segments_cursor_next(&cursor, entry);
        if (err == OK && entry->start >= end)
            err = ERR_NOT_FOUND;
        if (err != OK)
            break;
        entry->block_id = (struct slice){ 0 }; /* it lives only as long as the cursor's row */
        overlap->bytes += overlap_bytes(entry, start, end);
        overlap->has_links = overlap->has_links || entry->segment.is_link;
        overlap->count++;
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    overlap->is_complete = err == ERR_NOT_FOUND;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* What is written again is mostly written as before: the entry that ends with the range covers it,
   and nothing else can lie there.  Finding that one row costs a fraction of a seek. */
static enum err find_same(struct change *change, uint64_t content_id, uint64_t start, uint64_t end,
                          struct overlap *overlap)
{
    struct segment_entry *entry = &overlap->entries[0];
    const enum err err = segments_find_ending(change, content_id, end, entry);
    if (err != OK || entry->start > start)
        return err == OK ? ERR_NOT_FOUND : err;
    overlap->count = 1;
    overlap->is_complete = true;
    overlap->has_links = entry->segment.is_link;
    overlap->bytes = end - start;
    return OK;
}

/* Count the bytes of a range that are written, through links.  `*is_all` says that none were left
   out. */
static enum err count_bytes(struct change *change, uint64_t content_id, uint64_t start,
                            uint64_t end, uint64_t *bytes, bool *is_all)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, change, content_id, start);
    segments_cursor_follow(&cursor);
    enum err err = OK;
    *bytes = 0;
    for (size_t count = 0; count < PAGE_MAP_COUNTED; count++) {
        struct segment_entry entry;
        err = segments_cursor_next(&cursor, &entry);
        if (err == OK && entry.start >= end)
            err = ERR_NOT_FOUND;
        if (err != OK)
            break;
        *bytes += overlap_bytes(&entry, start, end);
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    *is_all = err == ERR_NOT_FOUND;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Take what is written of a range off the count. */
static enum err count_off(struct change *change, const struct content *content, uint64_t start,
                          uint64_t end, const struct overlap *overlap, uint64_t *used_bytes)
{
    uint64_t bytes = overlap->bytes;
    bool is_all = true;
    if (!overlap->is_complete || overlap->has_links) {
        const enum err err = count_bytes(change, content->id, start, end, &bytes, &is_all);
        if (err != OK)
            return err;
    }
    *used_bytes -= bytes < *used_bytes ? bytes : *used_bytes;
    const uint64_t rest = content->length_bytes - (end - start);
    if (!is_all && *used_bytes > rest)
        *used_bytes = rest;
    return OK;
}

static enum err cut_overlap(struct change *change, uint64_t content_id,
                            const struct overlap *overlap, uint64_t start, uint64_t end,
                            enum cut_for purpose)
{
    enum err err = OK;
    for (size_t i = 0; i < overlap->count && err == OK; i++)
        err = cut_entry(change, content_id, &overlap->entries[i], start, end, purpose);
    return err;
}

/* All of it: a new list, and the old one is removed in its own time. */
static enum err clear_all(struct change *change, struct content *content, uint64_t *used_bytes)
{
    const enum err err = content_drop(change, content);
    *content = page_map_new(change, content->length_bytes);
    if (used_bytes != NULL)
        *used_bytes = 0;
    return err;
}

static enum err clear_range(struct change *change, struct content *content, uint64_t start,
                            uint64_t end, enum cut_for purpose, uint64_t *used_bytes)
{
    assert(start < end && end <= content->length_bytes);
    if (start == 0 && end == content->length_bytes)
        return clear_all(change, content, used_bytes);
    struct overlap overlap;
    enum err err = find_same(change, content->id, start, end, &overlap);
    if (err == ERR_NOT_FOUND)
        err = find_overlap(change, content->id, start, end, &overlap);
    if (err == OK && used_bytes != NULL)
        err = count_off(change, content, start, end, &overlap, used_bytes);
    if (err != OK)
        return err;
    if (!content->shared && overlap.is_complete)
        return cut_overlap(change, content->id, &overlap, start, end, purpose);

    bool are_many = false;
    if (!overlap.is_complete)
        err = check_many(change, content->id, start, end, &are_many);
    if (err == OK)
        err = are_many ? overlay_cover(change, content) : make_own(change, content);
    return err == OK ? cut_range(change, content->id, start, end) : err;
}

enum err page_map_clear(struct change *change, struct content *content, uint64_t start,
                        uint64_t end, uint64_t *used_bytes)
{
    return clear_range(change, content, start, end, CUT_FOR_GAP, used_bytes);
}

enum err page_map_write(struct change *change, struct content *content, uint64_t start,
                        const struct segment *segment, uint64_t *used_bytes)
{
    const uint64_t end = start + segment->length_bytes;
    const enum err err = clear_range(change, content, start, end, CUT_FOR_ENTRY, used_bytes);
    if (err != OK)
        return err;
    const struct segment_entry entry = { .segment = *segment, .start = start };
    segments_put_entry(change, content->id, &entry);
    if (used_bytes != NULL)
        *used_bytes += segment->length_bytes;
    return OK;
}

enum err page_map_resize(struct change *change, struct content *content, uint64_t length_bytes,
                         uint64_t *used_bytes)
{
    if (length_bytes == 0 || content->place == CONTENT_EMPTY) {
        const enum err err = content_drop(change, content);
        *content = page_map_new(change, length_bytes);
        if (used_bytes != NULL)
            *used_bytes = 0;
        return err;
    }
    enum err err = OK;
    if (length_bytes < content->length_bytes)
        err = page_map_clear(change, content, length_bytes, content->length_bytes, used_bytes);
    content->length_bytes = length_bytes;
    return err;
}

/* --- walking --- */

/* One of the two lists that are compared. */
struct side {
    struct arena arena;
    struct segments_cursor cursor;
    bool is_open;
    bool has_entry;
    struct segment_entry entry; /* the first that does not end before the position */
};

static void side_open(struct side *side, struct partition_view *view, const struct content *content,
                      uint64_t start)
{
    *side = (struct side){ .is_open = content != NULL && content->place == CONTENT_SEGMENTS };
    if (side->is_open)
        segments_cursor_open_view(&side->cursor, &side->arena, view, content->id, start);
}

static void side_close(struct side *side)
{
    if (side->is_open)
        segments_cursor_close(&side->cursor);
    arena_release(&side->arena);
}

static enum err side_move(struct side *side, uint64_t position)
{
    while (side->is_open && (!side->has_entry || entry_end(&side->entry) <= position)) {
        const enum err err = segments_cursor_next(&side->cursor, &side->entry);
        if (err == ERR_NOT_FOUND) {
            segments_cursor_close(&side->cursor);
            side->is_open = side->has_entry = false;
            return OK;
        }
        if (err != OK)
            return err;
        side->has_entry = true;
    }
    return OK;
}

static bool side_covers(const struct side *side, uint64_t position)
{
    return side->has_entry && side->entry.start <= position;
}

/* The next offset, up to `limit`, at which the side begins or ends to cover. */
static uint64_t side_boundary(const struct side *side, uint64_t position, uint64_t limit)
{
    if (!side->has_entry)
        return limit;
    const uint64_t boundary =
        side_covers(side, position) ? entry_end(&side->entry) : side->entry.start;
    return boundary < limit ? boundary : limit;
}

/* Whether both have the same bytes of the same payload at the position, which both cover. */
static bool sides_agree(const struct side *a, const struct side *b, uint64_t position)
{
    const struct segment_entry *x = &a->entry;
    const struct segment_entry *y = &b->entry;
    return x->segment.payload_id == y->segment.payload_id &&
           x->segment.skip_bytes + (position - x->start) ==
               y->segment.skip_bytes + (position - y->start);
}

/* Neighbouring ranges of one kind become one. */
struct merger {
    const struct page_map_walk *walk;
    bool has_range;
    enum page_range_kind kind;
    uint64_t start;
    uint64_t end;
    size_t count; /* emitted */
};

static void merger_flush(struct merger *merger)
{
    if (!merger->has_range)
        return;
    merger->walk->emit(merger->walk->arg, merger->kind, merger->start, merger->end);
    merger->has_range = false;
    merger->count++;
}

/* False when the range begins one too many. */
static bool merger_add(struct merger *merger, enum page_range_kind kind, uint64_t start,
                       uint64_t end)
{
    if (merger->has_range && merger->kind == kind && merger->end == start) {
        merger->end = end;
        return true;
    }
    merger_flush(merger);
    if (merger->count == merger->walk->results_max)
        return false;
    merger->has_range = true;
    merger->kind = kind;
    merger->start = start;
    merger->end = end;
    return true;
}

static enum err walk_sides(const struct page_map_walk *walk, struct side *now, struct side *before,
                           uint64_t *next)
{
    struct merger merger = { .walk = walk };
    uint64_t position = walk->start;
    bool more = true;
    while (more && position < walk->end) {
        enum err err = side_move(now, position);
        if (err == OK)
            err = side_move(before, position);
        if (err != OK)
            return err;
        const uint64_t limit = side_boundary(before, position, walk->end);
        const uint64_t end = side_boundary(now, position, limit);
        const bool is_now = side_covers(now, position);
        const bool was_before = side_covers(before, position);
        if (is_now && !(was_before && sides_agree(now, before, position)))
            more = merger_add(&merger, PAGE_RANGE_WRITTEN, position, end);
        else if (!is_now && was_before)
            more = merger_add(&merger, PAGE_RANGE_CLEARED, position, end);
        if (more)
            position = end;
    }
    merger_flush(&merger);
    *next = position < walk->end ? position : walk->end;
    return OK;
}

enum err page_map_each(struct partition_view *view, const struct page_map_walk *walk,
                       uint64_t *next)
{
    assert(walk->results_max > 0);
    *next = walk->end;
    if (walk->previous != NULL && walk->previous->place == CONTENT_SEGMENTS &&
        walk->previous->id == walk->content->id)
        return OK; /* nothing was written since */
    struct side now;
    struct side before;
    side_open(&now, view, walk->content, walk->start);
    side_open(&before, view, walk->previous, walk->start);
    const enum err err = walk_sides(walk, &now, &before, next);
    side_close(&now);
    side_close(&before);
    return err;
}
