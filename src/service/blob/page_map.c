#include "service/blob/page_map.h"

#include <assert.h>

#include "service/blob/blob_name.h"

/* --- changing --- */

static uint64_t entry_end(const struct segment_entry *entry)
{
    return entry->start + entry->segment.length_bytes;
}

struct content page_map_new(struct change *change, uint64_t length_bytes)
{
    assert(length_bytes % PAGE_BYTES == 0);
    return (struct content){
        .place = length_bytes == 0 ? CONTENT_EMPTY : CONTENT_SEGMENTS,
        .id = (uint64_t)change_now(change),
        .length_bytes = length_bytes,
    };
}

/* Put the list's entries into another list, which owns their payloads too. */
static enum err copy_entries(struct change *change, uint64_t from_id, uint64_t to_id)
{
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, change, from_id, 0);
    struct segment_entry entry;
    enum err err;
    while ((err = segments_cursor_next(&cursor, &entry)) == OK) {
        entry.segment.owner = to_id;
        segment_own(change, &entry.segment, to_id);
        segments_put_entry(change, to_id, &entry);
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Make the list one that no other record names. */
static enum err make_own(struct change *change, struct content *content)
{
    if (!content->shared)
        return OK;
    bool shared;
    enum err err = content_is_shared(change, content, &shared);
    if (err == OK && shared) {
        const uint64_t id = (uint64_t)change_now(change);
        err = copy_entries(change, content->id, id);
        if (err == OK)
            err = content_drop(change, content);
        content->id = id;
    }
    content->shared = false;
    return err;
}

/*
 * Take the range [start, end) out of an entry that overlaps it.  What is left on the left ends at
 * `start`, under a key that the caller's cursor has passed; what is left on the right keeps its
 * key.
 */
static enum err cut_entry(struct change *change, uint64_t content_id,
                          const struct segment_entry *entry, uint64_t start, uint64_t end)
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
    if (!has_right)
        change_delete(change, segments_key(change_arena(change), content_id, entry_end(entry)));
    else
        segments_put_entry(change, content_id, &right);
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
        err = cut_entry(change, content_id, &entry, start, end);
        if (err != OK)
            break;
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err page_map_clear(struct change *change, struct content *content, uint64_t start,
                        uint64_t end)
{
    assert(start < end && end <= content->length_bytes);
    assert(start % PAGE_BYTES == 0 && end % PAGE_BYTES == 0);
    enum err err;
    if (start == 0 && end == content->length_bytes) {
        /* All of it: a new list, and the old one is removed in its own time. */
        err = content_drop(change, content);
        *content = page_map_new(change, content->length_bytes);
        return err;
    }
    err = make_own(change, content);
    return err == OK ? cut_range(change, content->id, start, end) : err;
}

enum err page_map_write(struct change *change, struct content *content, uint64_t start,
                        const struct segment *segment)
{
    const enum err err = page_map_clear(change, content, start, start + segment->length_bytes);
    if (err != OK)
        return err;
    const struct segment_entry entry = { .segment = *segment, .start = start };
    segments_put_entry(change, content->id, &entry);
    return OK;
}

enum err page_map_resize(struct change *change, struct content *content, uint64_t length_bytes)
{
    assert(length_bytes % PAGE_BYTES == 0);
    if (length_bytes == 0 || content->place == CONTENT_EMPTY) {
        const enum err err = content_drop(change, content);
        *content = page_map_new(change, length_bytes);
        return err;
    }
    enum err err = OK;
    if (length_bytes < content->length_bytes)
        err = page_map_clear(change, content, length_bytes, content->length_bytes);
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
