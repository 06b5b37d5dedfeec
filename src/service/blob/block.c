/*
 * block.c - see block.h.
 *
 * A list is committed in two steps.  Before the update its ids are sorted and repetitions found.
 * In the decision the uncommitted blocks, whose rows are in the same order, are matched with them
 * in one walk, and the committed list in another if it is needed; so the cost is that of two
 * scans, and nothing is written until every block of the list was found.
 */
#include "service/blob/block.h"

#include <assert.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/segments.h"
#include "service/limits.h"
#include "service/row.h"

enum {
    /* Rows read before they are removed: a scan is cheap as long as nothing is written. */
    BATCH_ROWS = 256,
    /* Blocks removed by one update of the sweeper. */
    DISCARD_ROWS = 512,
};

/* --- rows --- */

/* Tags of ROW_BLOCK. */
enum {
    BLOCK_SEGMENT = 1,
    BLOCK_PUT_AT = 2,
};

/* Tags of ROW_UNCOMMITTED. */
enum {
    UNCOMMITTED_ID_CHARS = 1,
    UNCOMMITTED_COUNT = 2,
    UNCOMMITTED_LENGTH = 3,
    UNCOMMITTED_CREATED_AT = 4,
    UNCOMMITTED_PUT_AT = 5,
};

static struct slice block_encode(struct arena *arena, const struct segment *segment, int64_t put_at)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_BLOCK);
    segment_encode(segment, (struct slice){ 0 }, &row, BLOCK_SEGMENT);
    row_add_number(&row, BLOCK_PUT_AT, (uint64_t)put_at);
    return strbuf_slice(&row);
}

static enum err block_decode(struct slice row, struct segment *segment)
{
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    enum err err = row_reader_init(&reader, row, ROW_BLOCK);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK) {
        struct slice block_id; /* the row's key has it */
        if (tag == BLOCK_SEGMENT)
            return segment_decode(value, segment, &block_id);
    }
    return err == ERR_NOT_FOUND ? CORRUPT("a block has no payload") : err;
}

static struct slice uncommitted_encode(struct arena *arena, const struct uncommitted *uncommitted)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_UNCOMMITTED);
    row_add_number(&row, UNCOMMITTED_ID_CHARS, uncommitted->id_chars);
    row_add_number(&row, UNCOMMITTED_COUNT, uncommitted->block_count);
    row_add_number(&row, UNCOMMITTED_LENGTH, uncommitted->length_bytes);
    row_add_number(&row, UNCOMMITTED_CREATED_AT, (uint64_t)uncommitted->created_at);
    row_add_number(&row, UNCOMMITTED_PUT_AT, (uint64_t)uncommitted->put_at);
    return strbuf_slice(&row);
}

static enum err decode_field(struct uncommitted *uncommitted, uint64_t tag, struct slice value)
{
    switch (tag) {
    case UNCOMMITTED_ID_CHARS:
        return row_number(value, &uncommitted->id_chars);
    case UNCOMMITTED_COUNT:
        return row_number(value, &uncommitted->block_count);
    case UNCOMMITTED_LENGTH:
        return row_number(value, &uncommitted->length_bytes);
    case UNCOMMITTED_CREATED_AT:
        return row_instant(value, &uncommitted->created_at);
    case UNCOMMITTED_PUT_AT:
        return row_instant(value, &uncommitted->put_at);
    default:
        return OK;
    }
}

enum err uncommitted_decode(struct slice row, struct uncommitted *uncommitted)
{
    struct row_reader reader;
    uint64_t tag;
    struct slice value;
    *uncommitted = (struct uncommitted){ 0 };
    enum err err = row_reader_init(&reader, row, ROW_UNCOMMITTED);
    while (err == OK && (err = row_next(&reader, &tag, &value)) == OK)
        err = decode_field(uncommitted, tag, value);
    if (err != ERR_NOT_FOUND)
        return err;
    if (uncommitted->id_chars == 0 || uncommitted->block_count == 0 ||
        uncommitted->created_at == 0 || uncommitted->put_at < uncommitted->created_at)
        return CORRUPT("a row about uncommitted blocks does not hold together");
    return OK;
}

enum err uncommitted_key_name(struct slice key, struct slice *name)
{
    if (key.len < 2 || key.data[0] != 'w')
        return CORRUPT("a key of %zu bytes is not of uncommitted blocks", key.len);
    *name = slice_from(key, 1);
    return OK;
}

bool uncommitted_is_expired(const struct uncommitted *uncommitted, int64_t now)
{
    return now - uncommitted->put_at >= LIMIT_UNCOMMITTED_LIFE_SEC * CLOCK_TICKS_PER_SEC;
}

enum err uncommitted_get(struct change *change, struct slice name, struct uncommitted *uncommitted)
{
    struct slice row;
    const enum err err = change_get(change, uncommitted_key(change_arena(change), name), &row);
    return err == OK ? uncommitted_decode(row, uncommitted) : err;
}

static void put_uncommitted(struct change *change, struct slice name,
                            const struct uncommitted *uncommitted)
{
    struct arena *arena = change_arena(change);
    change_put(change, uncommitted_key(arena, name), uncommitted_encode(arena, uncommitted));
}

enum err uncommitted_block_decode(struct slice row, struct segment *segment)
{
    return block_decode(row, segment);
}

/* --- discarding --- */

/* Uncommitted blocks on their way out. */
struct discard {
    struct change *change;
    struct cursor *cursor;
    size_t prefix_len; /* of the rows' keys, before the id */
    /* Whether the block's payload is kept, since the list being committed names it.  NULL: none
       is. */
    bool (*keeps)(void *arg, struct slice block_id);
    void *arg;
    uint64_t count;        /* removed so far */
    uint64_t length_bytes; /* the same */
};

static void discard_row(struct discard *discard, struct slice key, const struct segment *segment)
{
    const struct slice block_id = slice_from(key, discard->prefix_len);
    change_delete(discard->change, key);
    discard->count++;
    discard->length_bytes += segment->length_bytes;
    /* Nothing but its own row has ever named the payload of an uncommitted block. */
    if (discard->keeps == NULL || !discard->keeps(discard->arg, block_id))
        segment_discard(discard->change, segment);
}

/* Remove the next few rows.  ERR_NOT_FOUND after the last. */
static enum err discard_batch(struct discard *discard, size_t rows_max, struct arena *arena)
{
    struct slice *keys = arena_alloc(arena, rows_max * sizeof(*keys));
    struct segment *segments = arena_alloc(arena, rows_max * sizeof(*segments));
    size_t count = 0;
    enum err end = OK;
    while (count < rows_max && end == OK) {
        struct slice key;
        struct slice row;
        end = cursor_next(discard->cursor, &key, &row);
        if (end == OK)
            end = block_decode(row, &segments[count]);
        if (end == OK)
            keys[count++] = arena_copy(arena, key);
    }
    if (end != OK && end != ERR_NOT_FOUND)
        return end;
    for (size_t i = 0; i < count; i++)
        discard_row(discard, keys[i], &segments[i]);
    return end;
}

/* Remove up to about `rows_max` rows of blocks.  ERR_NOT_FOUND when none are left. */
static enum err discard_blocks(struct discard *discard, struct slice name, size_t rows_max)
{
    struct arena arena = { 0 };
    const struct slice prefix = block_prefix(change_arena(discard->change), name);
    discard->prefix_len = prefix.len;
    discard->cursor = change_scan(discard->change, prefix, (struct slice){ 0 });
    enum err err = OK;
    while (err == OK && discard->count < rows_max) {
        err = discard_batch(discard, BATCH_ROWS, &arena);
        arena_clear(&arena);
    }
    cursor_free(discard->cursor);
    arena_release(&arena);
    return err;
}

enum err uncommitted_discard(struct change *change, struct slice name)
{
    struct uncommitted uncommitted;
    enum err err = uncommitted_get(change, name, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    struct discard discard = { .change = change };
    change_delete(change, uncommitted_key(change_arena(change), name));
    err = discard_blocks(&discard, name, SIZE_MAX);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err uncommitted_delete(struct change *change, const struct blob_change *request)
{
    struct uncommitted uncommitted;
    enum err err = uncommitted_get(change, request->name.blob, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : err;
    /* It has neither a lease nor an ETag. */
    struct lease none = { 0 };
    const struct condition_state state = { 0 };
    err = lease_check_write(&none, LEASE_OF_BLOB, request->has_lease_id ? &request->lease_id : NULL,
                            change_now_ms(change));
    if (err == OK)
        err = condition_check_write(&request->condition, &state);
    return err == OK ? uncommitted_discard(change, request->name.blob) : err;
}

enum err uncommitted_discard_some(struct change *change, struct slice name, bool *done)
{
    struct uncommitted uncommitted;
    *done = true;
    enum err err = uncommitted_get(change, name, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    struct discard discard = { .change = change };
    err = discard_blocks(&discard, name, DISCARD_ROWS);
    if (err == ERR_NOT_FOUND || (err == OK && discard.count >= uncommitted.block_count)) {
        change_delete(change, uncommitted_key(change_arena(change), name));
        return OK;
    }
    if (err != OK)
        return err;
    uncommitted.block_count -= discard.count;
    uncommitted.length_bytes -= discard.length_bytes;
    put_uncommitted(change, name, &uncommitted);
    *done = false;
    return OK;
}

/* --- Put Block --- */

static enum err check_block_put(struct change *change, const struct blob_change *request)
{
    struct blob blob = { 0 };
    enum err err = blob_decide_get(change, request->name.blob, &blob);
    if (err != OK && err != ERR_BLOB_NOT_FOUND)
        return err;
    const bool exists = err == OK;
    err =
        lease_check_write(&blob.lease, LEASE_OF_BLOB,
                          request->has_lease_id ? &request->lease_id : NULL, change_now_ms(change));
    if (err != OK)
        return err;
    if (exists && blob.copy.status == BLOB_COPY_PENDING)
        return ERR_PENDING_COPY;
    return exists && blob.type != BLOB_BLOCK ? ERR_INVALID_BLOB_TYPE : OK;
}

/* What will be known about the blob's uncommitted blocks, without the new one. */
static enum err get_others(struct change *change, const struct block_put *request, bool *is_first,
                           struct uncommitted *others)
{
    const uint64_t id_chars = BASE64_LEN(request->block_id.len);
    const enum err err = uncommitted_get(change, request->change.name.blob, others);
    *is_first = err == ERR_NOT_FOUND;
    if (*is_first)
        *others = (struct uncommitted){ .id_chars = id_chars, .created_at = change_now(change) };
    else if (err != OK)
        return err;
    return others->id_chars == id_chars ? OK : ERR_INVALID_BLOCK;
}

/* The block of the same id, if there is one, makes room. */
static enum err drop_same(struct change *change, struct slice key, struct uncommitted *others)
{
    struct slice row;
    struct segment same;
    enum err err = change_get(change, key, &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    if (err == OK)
        err = block_decode(row, &same);
    if (err != OK)
        return err;
    others->block_count--;
    others->length_bytes -= same.length_bytes;
    segment_discard(change, &same);
    return OK;
}

static enum err block_put_decide(struct change *change, void *arg)
{
    const struct block_put *request = arg;
    struct arena *arena = change_arena(change);
    const struct slice key = block_key(arena, request->change.name.blob, request->block_id);
    struct uncommitted uncommitted;
    bool is_first;
    enum err err = check_block_put(change, &request->change);
    if (err == OK)
        err = get_others(change, request, &is_first, &uncommitted);
    if (err == OK && !is_first)
        err = drop_same(change, key, &uncommitted);
    if (err != OK)
        return err;
    if (uncommitted.block_count == LIMIT_UNCOMMITTED_BLOCKS)
        return ERR_UNCOMMITTED_BLOCK_COUNT;

    const int64_t now = change_now(change);
    const struct segment segment = segment_store(change, request->change.payload, (uint64_t)now);
    change_put(change, key, block_encode(arena, &segment, now));
    uncommitted.block_count++;
    uncommitted.length_bytes += segment.length_bytes;
    uncommitted.put_at = now;
    put_uncommitted(change, request->change.name.blob, &uncommitted);
    /* A later block finds the partition marked. */
    if (is_first)
        change_mark(change);
    return OK;
}

void block_put(struct service *service, struct block_put *change)
{
    assert(change->block_id.len > 0);
    assert(change->block_id.len <= LIMIT_BLOCK_ID_BYTES_MAX);
    blob_start_payload(service, &change->change, block_put_decide);
}

/* --- Put Block List: before the update --- */

/* A block that the list names, maybe several times. */
struct wanted_block {
    struct slice block_id;
    enum block_kind kind;
    uint32_t index; /* where in the list; while they are sorted */
};

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted_block *left = a;
    const struct wanted_block *right = b;
    const int order = slice_compare(left->block_id, right->block_id);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Fill `wanted` and `places`. */
static enum err sort_list(struct block_list_put *request)
{
    if (request->block_count > LIMIT_COMMITTED_BLOCKS)
        return ERR_BLOCK_LIST_TOO_LONG;
    struct arena *arena = request->change.base.arena;
    const size_t count = request->block_count;
    struct wanted_block *wanted = arena_alloc(arena, count * sizeof(*wanted));
    request->places = arena_alloc(arena, count * sizeof(*request->places));
    for (size_t i = 0; i < count; i++)
        wanted[i] = (struct wanted_block){
            .block_id = request->blocks[i].block_id,
            .kind = request->blocks[i].kind,
            .index = (uint32_t)i,
        };
    if (count > 1)
        qsort(wanted, count, sizeof(*wanted), compare_wanted);

    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = wanted[i].index;
        if (kept > 0 && slice_equal(wanted[kept - 1].block_id, wanted[i].block_id)) {
            if (wanted[kept - 1].kind != wanted[i].kind)
                return ERR_INVALID_BLOCK_LIST;
        } else {
            wanted[kept++] = wanted[i];
        }
        request->places[index] = (uint32_t)(kept - 1);
    }
    request->wanted = wanted;
    request->wanted_count = kept;
    return OK;
}

/* --- Put Block List: the decision --- */

/* Where a wanted block was found.  All zero bytes: nowhere yet. */
struct found_block {
    struct segment segment; /* its length is 0 if it was not found */
    bool was_committed;
    bool is_placed; /* it is in the new list already */
};

struct resolution {
    struct change *change;
    const struct block_list_put *request;
    struct found_block *found; /* for each wanted block */
    size_t next;               /* the wanted block that a walk through sorted ids has come to */
};

static bool is_found(const struct found_block *found)
{
    return found->segment.length_bytes > 0;
}

/* Step to the wanted block of this id; ids come in order.  Returns NULL if there is none. */
static struct found_block *step_to(struct resolution *resolution, struct slice block_id)
{
    const struct block_list_put *request = resolution->request;
    while (resolution->next < request->wanted_count) {
        const int order = slice_compare(request->wanted[resolution->next].block_id, block_id);
        if (order == 0)
            return &resolution->found[resolution->next];
        if (order > 0)
            break;
        resolution->next++;
    }
    return NULL;
}

static enum err find_uncommitted(struct resolution *resolution)
{
    const struct block_list_put *request = resolution->request;
    const struct slice prefix =
        block_prefix(change_arena(resolution->change), request->change.name.blob);
    struct cursor *cursor = change_scan(resolution->change, prefix, (struct slice){ 0 });
    resolution->next = 0;
    enum err err = OK;
    while (err == OK && resolution->next < request->wanted_count) {
        struct slice key;
        struct slice row;
        err = cursor_next(cursor, &key, &row);
        if (err != OK)
            break;
        struct found_block *found = step_to(resolution, slice_from(key, prefix.len));
        if (found != NULL && request->wanted[resolution->next].kind != BLOCK_FROM_COMMITTED)
            err = block_decode(row, &found->segment);
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Whether a wanted block may be a committed one.  ERR_INVALID_BLOCK_LIST if one can be nowhere. */
static enum err needs_committed(const struct resolution *resolution, bool *needed)
{
    *needed = false;
    for (size_t i = 0; i < resolution->request->wanted_count; i++) {
        if (is_found(&resolution->found[i]))
            continue;
        if (resolution->request->wanted[i].kind == BLOCK_FROM_UNCOMMITTED)
            return ERR_INVALID_BLOCK_LIST;
        *needed = true;
    }
    return OK;
}

static void note_committed(struct resolution *resolution, const struct segment_entry *entry)
{
    const struct block_list_put *request = resolution->request;
    const struct wanted_block key = { .block_id = entry->block_id };
    size_t low = 0;
    size_t high = request->wanted_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = slice_compare(request->wanted[middle].block_id, key.block_id);
        if (order == 0) {
            struct found_block *found = &resolution->found[middle];
            if (!is_found(found))
                *found = (struct found_block){ .segment = entry->segment, .was_committed = true };
            return;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
}

/* Content that was put as a whole has no blocks. */
static enum err find_committed(struct resolution *resolution, const struct content *content)
{
    if (content->place != CONTENT_SEGMENTS)
        return OK;
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_change(&cursor, &arena, resolution->change, content->id, 0);
    struct segment_entry entry;
    enum err err;
    while ((err = segments_cursor_next(&cursor, &entry)) == OK)
        note_committed(resolution, &entry);
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Find every block of the list.  Nothing is written. */
static enum err resolve(struct resolution *resolution, const struct blob *old)
{
    bool needed = false;
    enum err err = find_uncommitted(resolution);
    if (err == OK)
        err = needs_committed(resolution, &needed);
    if (err == OK && needed)
        err = find_committed(resolution, &old->content);
    if (err != OK)
        return err;
    for (size_t i = 0; i < resolution->request->wanted_count; i++)
        if (!is_found(&resolution->found[i]))
            return ERR_INVALID_BLOCK_LIST;
    return OK;
}

static bool is_moved(void *arg, struct slice block_id)
{
    const struct found_block *found = step_to(arg, block_id);
    return found != NULL && !found->was_committed;
}

/* The payloads of uncommitted blocks that the list names stay as they are; all others go. */
static enum err discard_unlisted(struct resolution *resolution)
{
    resolution->next = 0;
    struct discard discard = {
        .change = resolution->change,
        .keeps = is_moved,
        .arg = resolution,
    };
    const enum err err = discard_blocks(&discard, resolution->request->change.name.blob, SIZE_MAX);
    return err == ERR_NOT_FOUND ? OK : err;
}

static void build_list(struct resolution *resolution, uint64_t content_id, struct content *content)
{
    const struct block_list_put *request = resolution->request;
    struct segments_builder builder;
    segments_builder_init(&builder, resolution->change, content_id);
    for (size_t i = 0; i < request->block_count; i++) {
        struct found_block *found = &resolution->found[request->places[i]];
        if (found->was_committed && !found->is_placed) {
            found->segment.owner = content_id;
            segment_own(resolution->change, &found->segment, content_id);
        }
        found->segment.repeated = found->is_placed;
        found->is_placed = true;
        segments_builder_add(&builder, &found->segment, request->blocks[i].block_id);
    }
    segments_builder_finish(&builder, content);
}

static enum err block_list_put_decide(struct change *change, void *arg)
{
    struct block_list_put *request = arg;
    struct blob old;
    bool exists;
    enum err err = blob_decide_for_replace(change, &request->change, &old, &exists);
    if (err != OK)
        return err;
    if (exists && old.type != BLOB_BLOCK)
        return ERR_INVALID_BLOB_TYPE;
    struct resolution resolution = {
        .change = change,
        .request = request,
        .found =
            arena_alloc(change_arena(change), request->wanted_count * sizeof(*resolution.found)),
    };
    err = resolve(&resolution, &old);
    if (err != OK)
        return err;
    struct blob blob = {
        .type = BLOB_BLOCK,
        .properties = request->change.properties,
        .metadata = request->change.metadata,
        .tags = request->change.tags,
        .tier = request->change.tier,
        .block_count = request->block_count,
    };
    build_list(&resolution, (uint64_t)change_now(change), &blob.content);
    /* What blob_decide_replace would discard is discarded here, but for the blocks of the list. */
    change_delete(change, uncommitted_key(change_arena(change), request->change.name.blob));
    err = blob_decide_replace(change, &request->change, &old, exists, &blob);
    return err == OK ? discard_unlisted(&resolution) : err;
}

void block_list_put(struct service *service, struct block_list_put *change)
{
    struct blob_change *base = &change->change;
    const enum err err = sort_list(change);
    if (err != OK)
        service_refuse(&base->base, err);
    else
        blob_start(service, &base->base, &base->name.container, block_list_put_decide);
}

/* --- Get Block List --- */

static enum err emit_committed(struct partition_view *view,
                               const struct block_list_request *request,
                               const struct content *content)
{
    /* Content that was put as a whole has no blocks. */
    if (content->place != CONTENT_SEGMENTS)
        return OK;
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    segments_cursor_open_view(&cursor, &arena, view, content->id, 0);
    struct segment_entry entry;
    enum err err;
    while ((err = segments_cursor_next(&cursor, &entry)) == OK)
        request->emit(request->arg, BLOCK_COMMITTED, entry.block_id, entry.segment.length_bytes);
    segments_cursor_close(&cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err emit_uncommitted(struct partition_view *view, struct arena *arena,
                                 const struct block_list_request *request)
{
    const struct slice prefix = block_prefix(arena, request->get.name.blob);
    struct cursor *cursor = partition_view_scan(view, prefix, (struct slice){ 0 });
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        struct slice row;
        struct segment segment;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = block_decode(row, &segment);
        if (err == OK)
            request->emit(request->arg, BLOCK_UNCOMMITTED, slice_from(key, prefix.len),
                          segment.length_bytes);
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* A blob that has only uncommitted blocks has no lease and meets no condition on its ETag. */
static enum err check_uncommitted(struct partition_view *view, struct arena *arena,
                                  const struct block_list_request *request)
{
    struct slice row;
    const struct slice key = uncommitted_key(arena, request->get.name.blob);
    const enum err err = partition_view_get(view, arena, key, &row);
    if (err == ERR_NOT_FOUND)
        return ERR_BLOB_NOT_FOUND;
    if (err != OK)
        return err;
    return request->get.has_lease_id ? ERR_LEASE_NOT_PRESENT_BLOB : OK;
}

static enum err list_in_view(struct service *service, struct partition_view *view,
                             struct arena *arena, const struct block_list_request *request,
                             struct blob *blob, bool *exists)
{
    const bool of_base = request->get.name.snapshot == 0;
    enum err err = blob_get_in_view(service, view, arena, &request->get, blob);
    *exists = err == OK;
    if (err == ERR_BLOB_NOT_FOUND && of_base)
        err = check_uncommitted(view, arena, request);
    if (err != OK)
        return err;
    if (*exists && blob->type != BLOB_BLOCK)
        return ERR_INVALID_BLOB_TYPE;
    if (*exists && request->want_committed)
        err = emit_committed(view, request, &blob->content);
    if (err == OK && request->want_uncommitted && of_base)
        err = emit_uncommitted(view, arena, request);
    return err;
}

enum err block_list_get(struct service *service, struct arena *arena,
                        const struct block_list_request *request, struct blob *blob, bool *exists)
{
    struct slice partition;
    enum err err = container_find_blobs(service, arena, &request->get.name.container, &partition);
    if (err != OK)
        return err;
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    err = list_in_view(service, &view, arena, request, blob, exists);
    partition_view_close(&view);
    return err;
}
