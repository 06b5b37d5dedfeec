#include "service/blob/clone.h"

#include <assert.h>

#include "base/log.h"
#include "service/blob/blob_name.h"
#include "service/blob/segments.h"
#include "service/row.h"

void clone_open(struct clone *clone, struct service *service, struct slice partition)
{
    *clone = (struct clone){ .is_open = true, .step_entries = CLONE_STEP_ENTRIES };
    partition_view_open_long(service->store, partition, &clone->view);
}

void clone_close(struct clone *clone)
{
    if (clone->is_open)
        partition_view_close(&clone->view);
    clone->is_open = false;
    arena_release(&clone->arena);
}

/* --- gathering --- */

/* The bytes of an inline payload. */
static enum err get_bytes(struct clone *clone, uint64_t id, uint64_t length_bytes,
                          struct slice *bytes)
{
    const enum err err =
        partition_view_get(&clone->view, &clone->arena, content_key(&clone->arena, id), bytes);
    if (err == ERR_NOT_FOUND || (err == OK && bytes->len != length_bytes))
        return CORRUPT("the bytes of payload %llu are not in the store", (unsigned long long)id);
    return err;
}

static enum err keep_entry(struct clone *clone, const struct segment_entry *entry,
                           size_t *inline_bytes)
{
    struct segment_entry *kept = &clone->entries[clone->entry_count];
    struct slice *bytes = &clone->inline_bytes[clone->entry_count];
    *kept = *entry;
    *bytes = (struct slice){ 0 };
    kept->block_id = arena_copy(&clone->arena, entry->block_id);
    clone->entry_count++;
    if (entry->segment.range.extent_id != 0)
        return OK;
    const enum err err =
        get_bytes(clone, entry->segment.payload_id, entry->segment.range.length, bytes);
    *inline_bytes += bytes->len;
    return err;
}

static enum err gather_entries(struct clone *clone)
{
    struct arena row_arena = { 0 };
    struct segments_cursor cursor;
    size_t inline_bytes = 0;
    enum err err = OK;
    clone->entries = arena_alloc(&clone->arena, clone->step_entries * sizeof(*clone->entries));
    clone->inline_bytes =
        arena_alloc(&clone->arena, clone->step_entries * sizeof(*clone->inline_bytes));
    segments_cursor_open_view(&cursor, &row_arena, &clone->view, clone->from.id, clone->next);
    while (clone->entry_count < clone->step_entries && inline_bytes < CLONE_STEP_BYTES) {
        struct segment_entry entry;
        err = segments_cursor_next(&cursor, &entry);
        /* The list of a snapshot goes on where its blob was appended to since. */
        if (err == OK && entry.start >= clone->from.length_bytes)
            err = ERR_NOT_FOUND;
        if (err != OK)
            break;
        err = keep_entry(clone, &entry, &inline_bytes);
        if (err != OK)
            break;
        clone->next = entry.start + entry.segment.length_bytes;
    }
    segments_cursor_close(&cursor);
    arena_release(&row_arena);
    clone->is_complete = err == ERR_NOT_FOUND;
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err clone_gather(struct clone *clone)
{
    assert(!clone->is_complete);
    arena_clear(&clone->arena);
    clone->entry_count = 0;
    switch (clone->from.place) {
    case CONTENT_EMPTY:
    case CONTENT_EXTENT:
        clone->is_complete = true;
        return OK;
    case CONTENT_INLINE:
        clone->is_complete = true;
        return get_bytes(clone, clone->from.id, clone->from.length_bytes, &clone->bytes);
    case CONTENT_SEGMENTS:
        break;
    }
    return gather_entries(clone);
}

enum err clone_begin(struct clone *clone, const struct blob *source)
{
    clone->from = source->content;
    clone->type = source->type;
    return clone_gather(clone);
}

/* --- storing --- */

/* One more owner for what an entry names. */
static enum err own_entry(struct change *change, struct segment_entry *entry,
                          struct slice inline_bytes, uint64_t content_id)
{
    struct segment *segment = &entry->segment;
    const enum err err =
        segment->repeated ? OK : segment_own_copy(change, segment, content_id, inline_bytes);
    segment->owner = content_id;
    return err;
}

static enum err store_pages(const struct clone *clone, struct change *change, uint64_t content_id)
{
    enum err err = OK;
    for (size_t i = 0; i < clone->entry_count && err == OK; i++) {
        struct segment_entry entry = clone->entries[i];
        err = own_entry(change, &entry, clone->inline_bytes[i], content_id);
        segments_put_entry(change, content_id, &entry);
    }
    return err;
}

static enum err store_blocks(const struct clone *clone, struct change *change, uint64_t content_id)
{
    struct segments_builder builder;
    struct content written;
    segments_builder_init(&builder, change, content_id);
    if (clone->entry_count > 0)
        builder.end = clone->entries[0].start;
    enum err err = OK;
    for (size_t i = 0; i < clone->entry_count && err == OK; i++) {
        struct segment_entry entry = clone->entries[i];
        err = own_entry(change, &entry, clone->inline_bytes[i], content_id);
        segments_builder_add(&builder, &entry.segment, entry.block_id);
    }
    segments_builder_finish(&builder, &written);
    return err;
}

static enum err store_batch(const struct clone *clone, struct change *change, uint64_t content_id)
{
    return clone->type == BLOB_PAGE ? store_pages(clone, change, content_id)
                                    : store_blocks(clone, change, content_id);
}

static struct slice number_row(struct arena *arena)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, 1);
    return strbuf_slice(&row);
}

enum err clone_store_step(struct clone *clone, struct change *change)
{
    assert(!clone->is_complete);
    struct arena *arena = change_arena(change);
    if (!clone->has_steps) {
        /* A decision that runs again begins again, under another id. */
        clone->content_id = (uint64_t)change_now(change);
        change_put(change, unfinished_key(arena, clone->content_id), number_row(arena));
        change_mark(change);
    }
    return store_batch(clone, change, clone->content_id);
}

enum err clone_store(const struct clone *clone, struct change *change, struct content *content)
{
    assert(clone->is_complete);
    struct arena *arena = change_arena(change);
    *content = clone->from;
    content->id = clone->has_steps ? clone->content_id : (uint64_t)change_now(change);
    content->shared = false;
    switch (clone->from.place) {
    case CONTENT_EMPTY:
        break;
    case CONTENT_EXTENT:
        change_own(change, &content->range, content->id);
        break;
    case CONTENT_INLINE:
        change_put(change, content_key(arena, content->id), clone->bytes);
        break;
    case CONTENT_SEGMENTS:
        if (clone->has_steps)
            change_delete(change, unfinished_key(arena, content->id));
        return store_batch(clone, change, content->id);
    }
    return OK;
}

void clone_abandon(const struct clone *clone, struct change *change)
{
    struct arena *arena = change_arena(change);
    assert(clone->has_steps);
    change_delete(change, unfinished_key(arena, clone->content_id));
    change_put(change, dropped_key(arena, clone->content_id), number_row(arena));
    change_mark(change);
}

/* --- within a partition --- */

enum err clone_within(struct change *change, const struct content *from, struct content *content)
{
    assert(from->place == CONTENT_SEGMENTS);
    struct arena row_arena = { 0 };
    struct segments_cursor cursor;
    struct segments_builder builder;
    const uint64_t content_id = (uint64_t)change_now(change);
    segments_builder_init(&builder, change, content_id);
    segments_cursor_open_change(&cursor, &row_arena, change, from->id, 0);
    struct segment_entry entry;
    enum err err;
    while ((err = segments_cursor_next(&cursor, &entry)) == OK &&
           entry.start < from->length_bytes) {
        if (!entry.segment.repeated)
            segment_own(change, &entry.segment, content_id);
        entry.segment.owner = content_id;
        segments_builder_add(&builder, &entry.segment, entry.block_id);
    }
    segments_cursor_close(&cursor);
    arena_release(&row_arena);
    segments_builder_finish(&builder, content);
    return err == ERR_NOT_FOUND ? OK : err;
}
