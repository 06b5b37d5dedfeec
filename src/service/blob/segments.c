#include "service/blob/segments.h"

#include <assert.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/blob/blob_name.h"
#include "service/blob/overlay.h"
#include "service/row.h"

/* Tags of a row of segments. */
enum {
    TAG_START = 1, /* plus one, so that 0 is stored */
    TAG_ENTRY = 2,
};

/* Tags inside an entry. */
enum {
    ENTRY_BLOCK_ID = 1,
    ENTRY_LENGTH = 2,
    ENTRY_SKIP = 3,
    ENTRY_PAYLOAD_ID = 4,
    ENTRY_OWNER = 5, /* absent: the payload id */
    ENTRY_EXTENT = 6,
    ENTRY_OFFSET = 7,
    ENTRY_RANGE_LENGTH = 8, /* absent: the entry's length */
    ENTRY_SPLIT = 9,
    ENTRY_REPEATED = 10,
    ENTRY_LINK = 11,
};

/* --- payloads --- */

static struct slice number_row(struct arena *arena, uint64_t number)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, number);
    return strbuf_slice(&row);
}

struct segment segment_store(struct change *change, struct payload_writer *payload, uint64_t id)
{
    struct arena *arena = change_arena(change);
    const struct content stored = payload_writer_store(payload, change, id, content_key(arena, id));
    assert(stored.place != CONTENT_EMPTY);
    struct segment segment = {
        .payload_id = id,
        .owner = id,
        .range = stored.range,
        .length_bytes = stored.length_bytes,
    };
    segment.range.length = stored.length_bytes;
    return segment;
}

static void put_owner(struct change *change, uint64_t payload_id, uint64_t owner)
{
    struct arena *arena = change_arena(change);
    change_put(change, owner_key(arena, payload_id, owner), number_row(arena, 1));
}

void segment_own(struct change *change, const struct segment *segment, uint64_t owner)
{
    if (segment->range.extent_id != 0) {
        change_own(change, &segment->range, owner);
        return;
    }
    /* It may have been alone until now. */
    if (segment->owner == segment->payload_id)
        put_owner(change, segment->payload_id, segment->owner);
    put_owner(change, segment->payload_id, owner);
}

/* Whether inline bytes have an owner left. */
static enum err find_owner(struct change *change, uint64_t payload_id)
{
    struct arena *arena = change_arena(change);
    struct cursor *cursor =
        change_scan(change, owner_prefix(arena, payload_id), (struct slice){ 0 });
    struct slice key;
    struct slice value;
    const enum err err = cursor_next(cursor, &key, &value);
    cursor_free(cursor);
    return err;
}

enum err segment_own_copy(struct change *change, const struct segment *segment, uint64_t owner,
                          struct slice inline_bytes)
{
    if (segment->range.extent_id != 0) {
        change_own(change, &segment->range, owner);
        return OK;
    }
    const uint64_t id = segment->payload_id;
    const struct slice key = content_key(change_arena(change), id);
    struct slice present;
    enum err err = change_get(change, key, &present);
    if (err == ERR_NOT_FOUND) {
        change_put(change, key, inline_bytes);
        put_owner(change, id, owner);
        return OK;
    }
    if (err == OK)
        err = find_owner(change, id);
    if (err == ERR_NOT_FOUND) {
        put_owner(change, id, id);
        err = OK;
    }
    put_owner(change, id, owner);
    return err;
}

void segment_discard(struct change *change, const struct segment *segment)
{
    struct arena *arena = change_arena(change);
    if (segment->range.extent_id != 0) {
        change_disown(change, &segment->range, segment->owner);
        return;
    }
    /* A payload that earlier versions have stored has a row, though it is alone. */
    change_delete(change, owner_key(arena, segment->payload_id, segment->owner));
    change_delete(change, content_key(arena, segment->payload_id));
}

enum err segment_disown(struct change *change, const struct segment *segment)
{
    struct arena *arena = change_arena(change);
    if (segment->range.extent_id != 0) {
        change_disown(change, &segment->range, segment->owner);
        return OK;
    }
    const struct slice key = owner_key(arena, segment->payload_id, segment->owner);
    struct slice row;
    enum err err = change_get(change, key, &row);
    if (err == OK)
        change_delete(change, key);
    const bool is_alone = err == ERR_NOT_FOUND && segment->owner == segment->payload_id;
    if (!is_alone && (err == OK || err == ERR_NOT_FOUND))
        err = find_owner(change, segment->payload_id);
    if (err == ERR_NOT_FOUND) {
        change_delete(change, content_key(arena, segment->payload_id));
        return OK;
    }
    return err;
}

void segment_encode(const struct segment *segment, struct slice block_id, struct strbuf *row,
                    uint64_t tag)
{
    assert(segment->length_bytes > 0);
    /* There are very many entries in a change, and none is to stay in its arena. */
    char room[256];
    struct strbuf entry = { .arena = row->arena, .data = room, .capacity = sizeof(room) };
    row_add_bytes(&entry, ENTRY_BLOCK_ID, block_id);
    row_add_number(&entry, ENTRY_LENGTH, segment->length_bytes);
    row_add_number(&entry, ENTRY_SKIP, segment->skip_bytes);
    row_add_number(&entry, ENTRY_PAYLOAD_ID, segment->payload_id);
    if (segment->owner != segment->payload_id)
        row_add_number(&entry, ENTRY_OWNER, segment->owner);
    if (segment->range.extent_id != 0) {
        row_add_number(&entry, ENTRY_EXTENT, segment->range.extent_id);
        row_add_number(&entry, ENTRY_OFFSET, segment->range.offset);
    }
    if (segment->range.length != segment->length_bytes)
        row_add_number(&entry, ENTRY_RANGE_LENGTH, segment->range.length);
    row_add_number(&entry, ENTRY_SPLIT, segment->split);
    row_add_number(&entry, ENTRY_REPEATED, segment->repeated);
    row_add_number(&entry, ENTRY_LINK, segment->is_link);
    row_add_bytes(row, tag, strbuf_slice(&entry));
}

static uint64_t *number_of(struct segment *segment, uint64_t tag)
{
    switch (tag) {
    case ENTRY_LENGTH:
        return &segment->length_bytes;
    case ENTRY_SKIP:
        return &segment->skip_bytes;
    case ENTRY_PAYLOAD_ID:
        return &segment->payload_id;
    case ENTRY_OWNER:
        return &segment->owner;
    case ENTRY_EXTENT:
        return &segment->range.extent_id;
    case ENTRY_OFFSET:
        return &segment->range.offset;
    case ENTRY_RANGE_LENGTH:
        return &segment->range.length;
    default:
        return NULL;
    }
}

static enum err decode_fields(struct slice value, struct segment *segment, struct slice *block_id)
{
    struct row_reader reader = { .rest = value };
    for (;;) {
        uint64_t tag;
        struct slice field;
        enum err err = row_next(&reader, &tag, &field);
        if (err == ERR_NOT_FOUND)
            return OK;
        uint64_t *number = number_of(segment, tag);
        if (err == OK && tag == ENTRY_BLOCK_ID)
            *block_id = field;
        else if (err == OK && tag == ENTRY_SPLIT)
            segment->split = true;
        else if (err == OK && tag == ENTRY_REPEATED)
            segment->repeated = true;
        else if (err == OK && tag == ENTRY_LINK)
            segment->is_link = true;
        else if (err == OK && number != NULL)
            err = row_number(field, number);
        if (err != OK)
            return err;
    }
}

enum err segment_decode(struct slice value, struct segment *segment, struct slice *block_id)
{
    *segment = (struct segment){ 0 };
    *block_id = (struct slice){ 0 };
    const enum err err = decode_fields(value, segment, block_id);
    if (err != OK)
        return err;
    if (segment->owner == 0)
        segment->owner = segment->payload_id;
    if (segment->range.length == 0)
        segment->range.length = segment->length_bytes;
    const bool within = segment->skip_bytes <= segment->range.length &&
                        segment->length_bytes <= segment->range.length - segment->skip_bytes;
    if (segment->length_bytes == 0 || segment->payload_id == 0 || !within)
        return CORRUPT("a segment does not hold together");
    return OK;
}

/* --- building --- */

void segments_builder_init(struct segments_builder *builder, struct change *change,
                           uint64_t content_id)
{
    *builder = (struct segments_builder){
        .change = change,
        .content_id = content_id,
        .per_row = SEGMENTS_PER_ROW,
    };
    strbuf_init(&builder->row, change_arena(change));
}

static void row_start(struct strbuf *row, uint64_t start)
{
    row->len = 0;
    row_begin(row, ROW_SEGMENTS);
    row_add_number(row, TAG_START, start + 1);
}

static void write_row(struct segments_builder *builder)
{
    struct arena *arena = change_arena(builder->change);
    change_put(builder->change, segments_key(arena, builder->content_id, builder->end),
               strbuf_slice(&builder->row));
    builder->row_count = 0;
}

void segments_builder_add(struct segments_builder *builder, const struct segment *segment,
                          struct slice block_id)
{
    if (builder->row_count == 0) {
        builder->row_start = builder->end;
        row_start(&builder->row, builder->row_start);
    }
    segment_encode(segment, block_id, &builder->row, TAG_ENTRY);
    builder->end += segment->length_bytes;
    builder->row_count++;
    if (builder->row_count == builder->per_row)
        write_row(builder);
}

void segments_builder_finish(struct segments_builder *builder, struct content *content)
{
    if (builder->row_count > 0)
        write_row(builder);
    *content = (struct content){
        .place = builder->end == 0 ? CONTENT_EMPTY : CONTENT_SEGMENTS,
        .id = builder->content_id,
        .length_bytes = builder->end,
    };
}

/* --- walking --- */

/* A decoded row. */
struct row_of_segments {
    size_t count;
    struct segment_entry entries[];
};

static enum err decode_row(struct arena *arena, struct slice row, struct row_of_segments **result)
{
    /* Count the entries first, so that they are decoded in place. */
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_SEGMENTS);
    size_t count = 0;
    uint64_t tag;
    struct slice value;
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK)
        count += tag == TAG_ENTRY;
    if (err != ERR_NOT_FOUND)
        return err;

    struct row_of_segments *decoded =
        arena_alloc(arena, sizeof(*decoded) + count * sizeof(decoded->entries[0]));
    err = row_reader_init(&reader, row, ROW_SEGMENTS);
    uint64_t offset = 0;
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK) {
        if (tag == TAG_START) {
            err = decoded->count == 0 ? row_number(value, &offset)
                                      : CORRUPT("a row of segments begins in its midst");
            offset--;
        }
        if (tag != TAG_ENTRY)
            continue;
        struct segment_entry *entry = &decoded->entries[decoded->count++];
        err = segment_decode(value, &entry->segment, &entry->block_id);
        entry->start = offset;
        if (err == OK && entry->segment.length_bytes > UINT64_MAX - offset)
            err = CORRUPT("segments reach beyond the last offset there is");
        offset += entry->segment.length_bytes;
    }
    *result = decoded;
    if (err == ERR_NOT_FOUND && decoded->count == 0)
        return CORRUPT("a row of segments has none");
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err segments_row_decode(struct arena *arena, struct slice key, struct slice row,
                             struct segments_row *decoded)
{
    if (key.len != 1 + 2 * sizeof(uint64_t) || key.data[0] != 'k')
        return CORRUPT("a key of %zu bytes is not of segments", key.len);
    struct row_of_segments *entries;
    const enum err err = decode_row(arena, arena_copy(arena, row), &entries);
    if (err != OK)
        return err;
    *decoded = (struct segments_row){
        .content_id = get_be64((const uint8_t *)key.data + 1),
        .end = get_be64((const uint8_t *)key.data + 1 + sizeof(uint64_t)),
        .entries = entries->entries,
        .count = entries->count,
    };
    return OK;
}

/* The list that a link leads to. */
struct segments_below {
    struct segments_cursor cursor;
    struct arena arena; /* of the cursor's rows */
};

static void open_rows(struct segments_cursor *cursor)
{
    struct arena keys = { 0 };
    const struct slice prefix = segments_prefix(&keys, cursor->content_id);
    const struct slice from = segments_key(&keys, cursor->content_id, cursor->from + 1);
    cursor->rows = cursor->view != NULL ? partition_view_scan(cursor->view, prefix, from)
                                        : change_scan(cursor->change, prefix, from);
    arena_release(&keys);
}

void segments_cursor_open_change(struct segments_cursor *cursor, struct arena *arena,
                                 struct change *change, uint64_t content_id, uint64_t offset)
{
    *cursor = (struct segments_cursor){
        .change = change,
        .content_id = content_id,
        .arena = arena,
        .from = offset,
    };
    open_rows(cursor);
}

void segments_cursor_open_view(struct segments_cursor *cursor, struct arena *arena,
                               struct partition_view *view, uint64_t content_id, uint64_t offset)
{
    *cursor = (struct segments_cursor){
        .view = view,
        .content_id = content_id,
        .arena = arena,
        .from = offset,
        .follows_links = true,
    };
    open_rows(cursor);
}

void segments_cursor_follow(struct segments_cursor *cursor)
{
    cursor->follows_links = true;
}

static enum err next_row(struct segments_cursor *cursor)
{
    struct slice key;
    struct slice row;
    const enum err err = cursor_next(cursor->rows, &key, &row);
    if (err != OK)
        return err;
    arena_clear(cursor->arena);
    cursor->next = 0;
    return decode_row(cursor->arena, arena_copy(cursor->arena, row), &cursor->row);
}

static uint64_t entry_end(const struct segment_entry *entry)
{
    return entry->start + entry->segment.length_bytes;
}

/* The next entry that the rows of the list itself have, as `last`. */
static enum err next_of_rows(struct segments_cursor *cursor)
{
    if (cursor->is_last_due) {
        cursor->is_last_due = false;
        return OK;
    }
    do {
        while (cursor->row == NULL || cursor->next == cursor->row->count) {
            const enum err err = next_row(cursor);
            if (err != OK)
                return err;
        }
        cursor->last = cursor->row->entries[cursor->next++];
    } while (entry_end(&cursor->last) <= cursor->from);
    return OK;
}

/* Go on at `offset`, which is not before where the cursor has come to but for its last entry. */
static void go_on_at(struct segments_cursor *cursor, uint64_t offset)
{
    cursor->from = offset;
    cursor->in_link = false;
    cursor->is_last_due = cursor->row != NULL && entry_end(&cursor->last) > offset;
    if (cursor->row == NULL || cursor->is_last_due)
        return;
    const struct row_of_segments *row = cursor->row;
    if (row->count > 0 && entry_end(&row->entries[row->count - 1]) <= offset) {
        cursor->next = row->count;
        struct arena keys = { 0 };
        cursor_seek(cursor->rows, segments_key(&keys, cursor->content_id, offset + 1));
        arena_release(&keys);
    }
}

/* Stand before the first entry below the link that is `last`. */
static enum err enter_link(struct segments_cursor *cursor)
{
    const uint64_t content_id = cursor->last.segment.payload_id;
    const uint64_t offset = cursor->last.start > cursor->from ? cursor->last.start : cursor->from;
    /* What is laid over a list is made after it, so this comes to an end. */
    if (content_id >= cursor->content_id)
        return CORRUPT("content %llu is laid over a later one",
                       (unsigned long long)cursor->content_id);
    if (cursor->below == NULL)
        cursor->below = arena_alloc(&cursor->below_arena, sizeof(*cursor->below));
    struct segments_cursor *below = &cursor->below->cursor;
    cursor->in_link = true;
    cursor->is_link_passed = false;
    if (below->rows != NULL && below->content_id == content_id && below->from <= offset) {
        go_on_at(below, offset);
        return OK;
    }
    if (below->rows != NULL)
        segments_cursor_close(below);
    *below = (struct segments_cursor){
        .view = cursor->view,
        .change = cursor->change,
        .content_id = content_id,
        .arena = &cursor->below->arena,
        .from = offset,
        .follows_links = true,
    };
    open_rows(below);
    return OK;
}

void segment_entry_clip(struct segment_entry *entry, uint64_t start, uint64_t end)
{
    struct segment *segment = &entry->segment;
    if (entry->start < start) {
        segment->skip_bytes += start - entry->start;
        segment->length_bytes -= start - entry->start;
        segment->split = true;
        entry->start = start;
    }
    if (entry_end(entry) > end) {
        segment->length_bytes = end - entry->start;
        segment->split = true;
    }
}

/* The next entry of the list below.  ERR_NOT_FOUND after the last within the link. */
static enum err next_below(struct segments_cursor *cursor, struct segment_entry *entry)
{
    const uint64_t start = cursor->last.start;
    const uint64_t end = entry_end(&cursor->last);
    if (cursor->is_link_passed)
        return ERR_NOT_FOUND;
    const enum err err = segments_cursor_next(&cursor->below->cursor, entry);
    if (err != OK)
        return err;
    /* The cursor below stays at an entry that goes on past the link: the next link may show more of
       it. */
    cursor->is_link_passed = entry_end(entry) >= end;
    if (entry->start >= end)
        return ERR_NOT_FOUND;
    segment_entry_clip(entry, start, end);
    return OK;
}

enum err segments_cursor_next(struct segments_cursor *cursor, struct segment_entry *entry)
{
    for (;;) {
        enum err err = ERR_NOT_FOUND;
        if (cursor->in_link)
            err = next_below(cursor, entry);
        if (err != ERR_NOT_FOUND)
            return err;
        cursor->in_link = false;
        err = next_of_rows(cursor);
        if (err == OK && cursor->follows_links && cursor->last.segment.is_link) {
            err = enter_link(cursor);
            if (err == OK)
                continue;
        }
        if (err != OK)
            return err;
        *entry = cursor->last;
        return OK;
    }
}

void segments_cursor_close(struct segments_cursor *cursor)
{
    cursor_free(cursor->rows);
    cursor->rows = NULL;
    if (cursor->below != NULL) {
        if (cursor->below->cursor.rows != NULL)
            segments_cursor_close(&cursor->below->cursor);
        arena_release(&cursor->below->arena);
    }
    cursor->below = NULL;
    arena_release(&cursor->below_arena);
}

/* --- appending --- */

/* The last row of the content, if it has room for one entry more: its key is the content's end. */
static enum err take_last_row(struct change *change, const struct content *content,
                              struct strbuf *row)
{
    struct arena *arena = change_arena(change);
    const struct slice key = segments_key(arena, content->id, content->length_bytes);
    struct slice last;
    enum err err = change_get(change, key, &last);
    if (err != OK)
        return err;
    struct row_of_segments *decoded;
    err = decode_row(arena, last, &decoded);
    if (err != OK)
        return err;
    if (decoded->count >= SEGMENTS_PER_ROW_APPENDED)
        return ERR_NOT_FOUND;
    strbuf_add(row, last);
    change_delete(change, key);
    return OK;
}

enum err segments_append(struct change *change, struct content *content,
                         const struct segment *segment)
{
    struct arena *arena = change_arena(change);
    struct strbuf row;
    strbuf_init(&row, arena);
    if (content->place == CONTENT_EMPTY)
        content->place = CONTENT_SEGMENTS;
    assert(content->place == CONTENT_SEGMENTS);
    assert(content->id != 0);
    const enum err err =
        content->length_bytes == 0 ? ERR_NOT_FOUND : take_last_row(change, content, &row);
    if (err == ERR_NOT_FOUND)
        row_start(&row, content->length_bytes);
    else if (err != OK)
        return err;
    segment_encode(segment, (struct slice){ 0 }, &row, TAG_ENTRY);
    content->length_bytes += segment->length_bytes;
    change_put(change, segments_key(arena, content->id, content->length_bytes), strbuf_slice(&row));
    return OK;
}

/* --- lists with gaps --- */

void segments_put_entry(struct change *change, uint64_t content_id,
                        const struct segment_entry *entry)
{
    struct arena *arena = change_arena(change);
    struct strbuf row;
    strbuf_init(&row, arena);
    row_start(&row, entry->start);
    segment_encode(&entry->segment, entry->block_id, &row, TAG_ENTRY);
    change_put(change, segments_key(arena, content_id, entry->start + entry->segment.length_bytes),
               strbuf_slice(&row));
}

enum err segments_find_ending(struct change *change, uint64_t content_id, uint64_t end,
                              struct segment_entry *entry)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    struct row_of_segments *decoded;
    enum err err = change_get(change, segments_key(arena, content_id, end), &row);
    if (err == OK)
        err = decode_row(arena, row, &decoded);
    if (err == OK)
        *entry = decoded->entries[decoded->count - 1];
    return err;
}

/* Whether an entry has a part of the payload of `entry`: within the window of the whole payload. */
static enum err find_other_part(struct change *change, uint64_t content_id,
                                const struct segment_entry *entry, bool *found)
{
    *found = false;
    if (entry->segment.skip_bytes > entry->start)
        return CORRUPT("a part of payload %llu lies before the whole",
                       (unsigned long long)entry->segment.payload_id);
    const uint64_t window_start = entry->start - entry->segment.skip_bytes;
    const uint64_t window_end = window_start + entry->segment.range.length;
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, change, content_id, window_start);
    struct segment_entry other;
    enum err err = OK;
    while (!*found && (err = segments_cursor_next(&cursor, &other)) == OK) {
        if (other.start >= window_end)
            break;
        *found = !other.segment.is_link && other.segment.payload_id == entry->segment.payload_id;
    }
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err segments_let_go(struct change *change, uint64_t content_id,
                         const struct segment_entry *entry)
{
    /* A link holds nothing itself: the list as a whole has a name of what is below (overlay.h). */
    bool is_used = entry->segment.repeated || entry->segment.is_link;
    if (entry->segment.split && !is_used) {
        const enum err err = find_other_part(change, content_id, entry, &is_used);
        if (err != OK)
            return err;
    }
    return is_used ? OK : segment_disown(change, &entry->segment);
}

/* --- sharing and dropping --- */

/* The number of further records that name shared content. */
static enum err get_share_count(struct change *change, uint64_t content_id, uint64_t *count)
{
    struct slice row;
    *count = 0;
    enum err err = change_get(change, share_count_key(change_arena(change), content_id), &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    if (err == OK)
        err = row_reader_init(&reader, row, ROW_NUMBER);
    if (err == OK)
        err = row_next(&reader, &tag, &value);
    if (err == OK)
        err = row_number(value, count);
    return err == ERR_NOT_FOUND ? CORRUPT("a count without a number") : err;
}

static void put_share_count(struct change *change, uint64_t content_id, uint64_t count)
{
    struct arena *arena = change_arena(change);
    const struct slice key = share_count_key(arena, content_id);
    if (count == 0)
        change_delete(change, key);
    else
        change_put(change, key, number_row(arena, count));
}

enum err content_share(struct change *change, struct content *content)
{
    if (content->place == CONTENT_EMPTY)
        return OK;
    uint64_t count;
    const enum err err = get_share_count(change, content->id, &count);
    if (err != OK)
        return err;
    put_share_count(change, content->id, count + 1);
    content->shared = true;
    return OK;
}

enum err content_is_shared(struct change *change, const struct content *content, bool *shared)
{
    uint64_t count = 0;
    const enum err err = content->shared ? get_share_count(change, content->id, &count) : OK;
    *shared = count > 0;
    return err;
}

/* Remove rows of a list until about `budget` segments are gone. */
static enum err remove_rows(struct change *change, uint64_t content_id, size_t budget, bool *done)
{
    struct arena row_arena = { 0 };
    struct cursor *rows =
        change_scan(change, segments_prefix(change_arena(change), content_id), (struct slice){ 0 });
    size_t removed = 0;
    enum err err = OK;
    *done = false;
    while (err == OK && removed < budget) {
        struct slice key;
        struct slice row;
        struct row_of_segments *decoded = NULL;
        err = cursor_next(rows, &key, &row);
        if (err == OK)
            err = decode_row(&row_arena, arena_copy(&row_arena, row), &decoded);
        if (err != OK)
            break;
        change_delete(change, arena_copy(&row_arena, key));
        for (size_t i = 0; i < decoded->count && err == OK; i++)
            err = segments_let_go(change, content_id, &decoded->entries[i]);
        removed += decoded->count;
        arena_clear(&row_arena);
    }
    cursor_free(rows);
    arena_release(&row_arena);
    *done = err == ERR_NOT_FOUND;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Leave the list to the sweeper. */
static void put_dropped(struct change *change, uint64_t content_id)
{
    struct arena *arena = change_arena(change);
    change_put(change, dropped_key(arena, content_id), number_row(arena, 1));
    change_mark(change);
}

static enum err drop_segments(struct change *change, const struct content *content)
{
    bool done;
    const enum err err = remove_rows(change, content->id, SEGMENTS_DROPPED_AT_ONCE, &done);
    if (err != OK)
        return err;
    if (done)
        return overlay_end(change, content->id);
    put_dropped(change, content->id);
    return OK;
}

enum err content_link(struct change *change, uint64_t content_id)
{
    uint64_t count;
    const enum err err = get_share_count(change, content_id, &count);
    if (err == OK)
        put_share_count(change, content_id, count + 1);
    return err;
}

enum err content_unlink(struct change *change, uint64_t content_id)
{
    uint64_t count;
    const enum err err = get_share_count(change, content_id, &count);
    if (err != OK)
        return err;
    /* Not removed here, where short lists are: below it there may be many more. */
    if (count > 0)
        put_share_count(change, content_id, count - 1);
    else
        put_dropped(change, content_id);
    return OK;
}

enum err content_has_one_name(struct change *change, uint64_t content_id, bool *has_one)
{
    uint64_t count;
    const enum err err = get_share_count(change, content_id, &count);
    *has_one = count == 0;
    return err;
}

enum err content_drop(struct change *change, const struct content *content)
{
    if (content->place == CONTENT_EMPTY)
        return OK;
    if (content->shared) {
        uint64_t count;
        const enum err err = get_share_count(change, content->id, &count);
        if (err != OK)
            return err;
        if (count > 0) {
            put_share_count(change, content->id, count - 1);
            return OK;
        }
    }
    switch (content->place) {
    case CONTENT_EMPTY:
        break;
    case CONTENT_INLINE:
        change_delete(change, content_key(change_arena(change), content->id));
        break;
    case CONTENT_EXTENT:
        change_disown(change, &content->range, content->id);
        break;
    case CONTENT_SEGMENTS:
        return drop_segments(change, content);
    }
    return OK;
}

enum err content_sweep(struct change *change, uint64_t content_id, bool *done)
{
    const enum err err = remove_rows(change, content_id, SEGMENTS_SWEPT_AT_ONCE, done);
    if (err != OK || !*done)
        return err;
    change_delete(change, dropped_key(change_arena(change), content_id));
    return overlay_end(change, content_id);
}

/* --- reading --- */

/* Reads a list front to back; a read elsewhere seeks. */
struct segments_reader {
    struct service *service;
    struct partition_view *view; /* long; outlives the reader */
    uint64_t content_id;
    struct arena row_arena;
    struct segments_cursor cursor;
    bool has_cursor;
    bool at_end;                /* there are no more entries */
    struct segment_entry entry; /* the next that is not read to its end */
    bool has_entry;
    struct stream_pin *pin;    /* of the entry's range, once it is read from */
    struct slice inline_bytes; /* of the entry, in row_arena's life */
    struct arena inline_arena;
    uint64_t position; /* where the next read is expected */
};

static void leave_entry(struct segments_reader *reader)
{
    if (reader->pin != NULL)
        stream_unpin(reader->pin);
    reader->pin = NULL;
    reader->inline_bytes = (struct slice){ 0 };
    reader->has_entry = false;
}

static void reader_close(void *arg)
{
    struct segments_reader *reader = arg;
    leave_entry(reader);
    if (reader->has_cursor)
        segments_cursor_close(&reader->cursor);
    arena_release(&reader->row_arena);
    arena_release(&reader->inline_arena);
}

static void seek(struct segments_reader *reader, uint64_t offset)
{
    leave_entry(reader);
    if (reader->has_cursor)
        segments_cursor_close(&reader->cursor);
    segments_cursor_open_view(&reader->cursor, &reader->row_arena, reader->view, reader->content_id,
                              offset);
    reader->has_cursor = true;
    reader->at_end = false;
    reader->position = offset;
}

/* Make the entry that covers the position, or the first after it, the present one. */
static enum err find_entry(struct segments_reader *reader)
{
    while (!reader->at_end) {
        if (reader->has_entry &&
            reader->position < reader->entry.start + reader->entry.segment.length_bytes)
            return OK;
        leave_entry(reader);
        const enum err err = segments_cursor_next(&reader->cursor, &reader->entry);
        if (err == ERR_NOT_FOUND)
            reader->at_end = true;
        else if (err != OK)
            return err;
        else
            reader->has_entry = true;
    }
    return OK;
}

static enum err read_inline(struct segments_reader *reader, uint64_t offset, void *buf, size_t len)
{
    const struct segment *segment = &reader->entry.segment;
    if (reader->inline_bytes.len == 0) {
        arena_clear(&reader->inline_arena);
        const enum err err = partition_view_get(
            reader->view, &reader->inline_arena,
            content_key(&reader->inline_arena, segment->payload_id), &reader->inline_bytes);
        if (err == ERR_NOT_FOUND)
            return CORRUPT("the bytes of payload %llu are not in the store",
                           (unsigned long long)segment->payload_id);
        if (err != OK)
            return err;
    }
    if (offset + len > reader->inline_bytes.len)
        return CORRUPT("payload %llu is too short", (unsigned long long)segment->payload_id);
    memcpy(buf, reader->inline_bytes.data + offset, len);
    return OK;
}

static enum err read_entry(struct segments_reader *reader, uint64_t offset, void *buf, size_t len)
{
    const struct segment *segment = &reader->entry.segment;
    const uint64_t in_payload = segment->skip_bytes + offset;
    if (segment->range.extent_id == 0)
        return read_inline(reader, in_payload, buf, len);
    if (reader->pin == NULL) {
        const enum err err = stream_pin(reader->service->stream, &segment->range, &reader->pin);
        if (err != OK)
            return err;
    }
    return stream_read(reader->pin, in_payload, buf, len);
}

static enum err segments_read(void *source, uint64_t offset, void *buf, size_t len)
{
    struct segments_reader *reader = source;
    char *to = buf;
    if (!reader->has_cursor || offset != reader->position)
        seek(reader, offset);
    while (len > 0) {
        enum err err = find_entry(reader);
        if (err != OK)
            return err;
        size_t part = len;
        if (!reader->has_entry || reader->entry.start > reader->position) {
            /* A gap reads as zeroes. */
            if (reader->has_entry && reader->entry.start - reader->position < part)
                part = (size_t)(reader->entry.start - reader->position);
            memset(to, 0, part);
        } else {
            const uint64_t within = reader->position - reader->entry.start;
            if (reader->entry.segment.length_bytes - within < part)
                part = (size_t)(reader->entry.segment.length_bytes - within);
            err = read_entry(reader, within, to, part);
            if (err != OK)
                return err;
        }
        to += part;
        len -= part;
        reader->position += part;
    }
    return OK;
}

/* Whether all of the content is one whole payload; it is the present entry then. */
static enum err find_single(struct segments_reader *reader, uint64_t length_bytes, bool *is_one)
{
    seek(reader, 0);
    const enum err err = find_entry(reader);
    const struct segment *segment = &reader->entry.segment;
    *is_one = err == OK && reader->has_entry && reader->entry.start == 0 &&
              segment->skip_bytes == 0 && segment->length_bytes == length_bytes &&
              segment->range.length == length_bytes;
    return err;
}

/* Such content can be sent from where it is, without passing through a buffer. */
static enum err open_single(const struct segments_reader *segments, struct arena *arena,
                            struct payload_reader *reader)
{
    const struct segment *segment = &segments->entry.segment;
    const struct content content = {
        .place = segment->range.extent_id == 0 ? CONTENT_INLINE : CONTENT_EXTENT,
        .id = segment->payload_id,
        .length_bytes = segment->length_bytes,
        .range = segment->range,
    };
    return payload_reader_open(segments->service, segments->view, arena, &content,
                               content_key(arena, content.id), reader);
}

enum err content_open(struct service *service, struct partition_view *view, struct arena *arena,
                      const struct content *content, struct payload_reader *reader)
{
    if (content->place != CONTENT_SEGMENTS)
        return payload_reader_open(service, view, arena, content, content_key(arena, content->id),
                                   reader);
    struct segments_reader *segments = arena_alloc(arena, sizeof(*segments));
    segments->service = service;
    segments->content_id = content->id;
    segments->view = view;
    arena_on_clear(arena, reader_close, segments);
    bool is_one;
    const enum err err = find_single(segments, content->length_bytes, &is_one);
    if (err != OK)
        return err;
    if (is_one)
        return open_single(segments, arena, reader);
    *reader = (struct payload_reader){
        .length_bytes = content->length_bytes,
        .read = segments_read,
        .source = segments,
    };
    return OK;
}
