/*
 * block.c - see block.h.
 *
 * A list is committed in two steps.  Before the update its ids are sorted and repetitions found.
 * In the decision the uncommitted blocks, whose rows are in the same order, are matched with them
 * in one walk, and the committed list in another if it is needed; so the cost is that of two
 * scans, and nothing is written until every block of the list was found.  What is kept for each
 * block of the list is a few numbers, and where its payload is.
 */
#include "service/blob/block.h"

#include <assert.h>
#include <stdlib.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/segments.h"
#include "service/lease_row.h"
#include "service/limits.h"
#include "service/row.h"

enum {
    /* Of up to so many uncommitted blocks, those that are discarded are removed at once. */
    DISCARDED_AT_ONCE = 128,
    /* Blocks removed by one update of the sweeper. */
    SWEPT_ROWS = 128,
    /* A list that names fewer than one in so many of the uncommitted blocks looks each one up. */
    LOOKED_UP_SHARE = 8,
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
    UNCOMMITTED_LEASE = 6, /* and more of them */
    UNCOMMITTED_LEASE_LAST = UNCOMMITTED_LEASE + LEASE_ROW_TAGS - 1,
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

struct slice uncommitted_encode(struct arena *arena, const struct uncommitted *uncommitted)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_UNCOMMITTED);
    row_add_number(&row, UNCOMMITTED_ID_CHARS, uncommitted->id_chars);
    row_add_number(&row, UNCOMMITTED_COUNT, uncommitted->block_count);
    row_add_number(&row, UNCOMMITTED_LENGTH, uncommitted->length_bytes);
    row_add_number(&row, UNCOMMITTED_CREATED_AT, (uint64_t)uncommitted->created_at);
    row_add_number(&row, UNCOMMITTED_PUT_AT, (uint64_t)uncommitted->put_at);
    lease_row_encode(&uncommitted->lease, &row, UNCOMMITTED_LEASE);
    return strbuf_slice(&row);
}

static enum err decode_field(struct uncommitted *uncommitted, uint64_t tag, struct slice value)
{
    if (tag >= UNCOMMITTED_LEASE && tag <= UNCOMMITTED_LEASE_LAST)
        return lease_row_decode(&uncommitted->lease, tag - UNCOMMITTED_LEASE, value);
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

/* Remove the row of a block and let go of its payload: nothing but the row has ever named it. */
static void discard_block(struct change *change, struct slice key, const struct segment *segment)
{
    change_delete(change, key);
    segment_discard(change, segment);
}

/*
 * Remove up to `rows_max` blocks that a cursor has before it.  They are read before the first is
 * removed: a scan is cheap as long as nothing is written.  ERR_NOT_FOUND after the last; `*last` is
 * the key of the last that was removed, in the arena.
 */
static enum err discard_next(struct change *change, struct cursor *cursor, size_t rows_max,
                             struct arena *arena, struct slice *last)
{
    struct slice *keys = arena_alloc(arena, rows_max * sizeof(*keys));
    struct segment *segments = arena_alloc(arena, rows_max * sizeof(*segments));
    size_t count = 0;
    enum err end = OK;
    while (count < rows_max && end == OK) {
        struct slice key;
        struct slice row;
        end = cursor_next(cursor, &key, &row);
        if (end == OK)
            end = block_decode(row, &segments[count]);
        if (end == OK)
            keys[count++] = arena_copy(arena, key);
    }
    if (end != OK && end != ERR_NOT_FOUND)
        return end;
    for (size_t i = 0; i < count; i++)
        discard_block(change, keys[i], &segments[i]);
    if (count > 0)
        *last = keys[count - 1];
    return end;
}

/* Remove blocks of a generation from the key `from` on. */
static enum err discard_from(struct change *change, struct slice name, int64_t generation,
                             struct slice from, size_t rows_max, struct slice *last)
{
    struct arena *arena = change_arena(change);
    struct cursor *cursor = change_scan(change, block_prefix(arena, name, generation), from);
    const enum err err = discard_next(change, cursor, rows_max, arena, last);
    cursor_free(cursor);
    return err;
}

/* Leave what there is of a generation to the sweeper. */
static void forget(struct change *change, struct slice name, int64_t generation)
{
    struct arena *arena = change_arena(change);
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, 1);
    change_put(change, forgotten_key(arena, name, generation), strbuf_slice(&row));
    change_mark(change);
}

/* Discard what is left of a generation, whose 'w' row is gone: at once if there were only a few
   blocks to begin with, since those that the change itself has removed are passed by. */
static enum err discard_rest(struct change *change, struct slice name,
                             const struct uncommitted *uncommitted)
{
    if (uncommitted->block_count > DISCARDED_AT_ONCE) {
        forget(change, name, uncommitted->created_at);
        return OK;
    }
    struct slice last;
    const enum err err = discard_from(change, name, uncommitted->created_at, (struct slice){ 0 },
                                      DISCARDED_AT_ONCE + 1, &last);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err uncommitted_discard(struct change *change, struct slice name)
{
    struct uncommitted uncommitted;
    const enum err err = uncommitted_get(change, name, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    change_delete(change, uncommitted_key(change_arena(change), name));
    return discard_rest(change, name, &uncommitted);
}

enum err uncommitted_delete(struct change *change, const struct blob_change *request)
{
    struct uncommitted uncommitted;
    enum err err = uncommitted_get(change, request->name.blob, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? ERR_BLOB_NOT_FOUND : err;
    /* It has no ETag. */
    const struct condition_state state = { 0 };
    err =
        lease_check_write(&uncommitted.lease, LEASE_OF_BLOB,
                          request->has_lease_id ? &request->lease_id : NULL, change_now_ms(change));
    if (err == OK)
        err = condition_check_write(&request->condition, &state);
    return err == OK ? uncommitted_discard(change, request->name.blob) : err;
}

enum err forgotten_sweep(struct change *change, struct slice key, struct slice from,
                         struct arena *arena, struct slice *next)
{
    struct slice name;
    int64_t generation;
    struct slice last = { 0 };
    *next = (struct slice){ 0 };
    if (!forgotten_key_parse(key, &name, &generation))
        return CORRUPT("a key of %zu bytes is not of forgotten blocks", key.len);
    const enum err err = discard_from(change, name, generation, from, SWEPT_ROWS, &last);
    if (err == OK)
        *next = arena_copy(arena, last);
    if (err != ERR_NOT_FOUND)
        return err;
    change_delete(change, key);
    return OK;
}

/* --- leases --- */

enum err uncommitted_get_lease(struct change *change, struct slice name, struct lease *lease)
{
    struct uncommitted uncommitted;
    *lease = (struct lease){ 0 };
    const enum err err = uncommitted_get(change, name, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    if (!uncommitted_is_expired(&uncommitted, change_now(change)))
        *lease = uncommitted.lease;
    return OK;
}

enum err uncommitted_lease(struct change *change, struct blob_lease *request)
{
    struct uncommitted uncommitted;
    const struct condition_state state = { 0 };
    enum err err = uncommitted_get(change, request->name.blob, &uncommitted);
    if (err == ERR_NOT_FOUND ||
        (err == OK && uncommitted_is_expired(&uncommitted, change_now(change))))
        return ERR_BLOB_NOT_FOUND;
    if (err == OK)
        err = condition_check_write(&request->condition, &state);
    if (err == OK)
        err = lease_request_apply(&request->lease, &uncommitted.lease, change_now_ms(change));
    if (err != OK)
        return err;
    put_uncommitted(change, request->name.blob, &uncommitted);
    /* Nobody can see an ETag of it, but the answer has one. */
    request->etag = uncommitted.created_at;
    request->lease_now = uncommitted.lease;
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
    err = exists ? OK : uncommitted_get_lease(change, request->name.blob, &blob.lease);
    if (err != OK)
        return err;
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
    struct uncommitted uncommitted;
    bool is_first;
    enum err err = check_block_put(change, &request->change);
    if (err == OK)
        err = get_others(change, request, &is_first, &uncommitted);
    if (err != OK)
        return err;
    const struct slice key =
        block_key(arena, request->change.name.blob, uncommitted.created_at, request->block_id);
    if (!is_first)
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

/* For qsort_r: the order of ids, and of places in the list among the same. */
static int compare_refs(const void *a, const void *b, void *arg)
{
    const struct block_ref *blocks = arg;
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    const int order = slice_compare(blocks[left].block_id, blocks[right].block_id);
    return order != 0 ? order : (left > right) - (left < right);
}

/* Fill `wanted` and `places`. */
static enum err sort_list(struct block_list_put *request)
{
    if (request->block_count > LIMIT_COMMITTED_BLOCKS)
        return ERR_BLOCK_LIST_TOO_LONG;
    struct arena *arena = request->change.base.arena;
    const struct block_ref *blocks = request->blocks;
    const size_t count = request->block_count;
    uint32_t *wanted = arena_alloc(arena, count * sizeof(*wanted));
    request->places = arena_alloc(arena, count * sizeof(*request->places));
    for (size_t i = 0; i < count; i++)
        wanted[i] = (uint32_t)i;
    if (count > 1)
        qsort_r(wanted, count, sizeof(*wanted), compare_refs, (void *)(uintptr_t)blocks);

    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = wanted[i];
        const struct block_ref *before = kept > 0 ? &blocks[wanted[kept - 1]] : NULL;
        if (before != NULL && slice_equal(before->block_id, blocks[index].block_id)) {
            if (before->kind != blocks[index].kind)
                return ERR_INVALID_BLOCK_LIST;
        } else {
            wanted[kept++] = index;
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
    struct uncommitted uncommitted; /* its count is 0 when there are none */
    struct found_block *found;      /* for each wanted block */
    size_t next;          /* the wanted block that a walk through sorted ids has come to */
    uint64_t moved_count; /* of blocks that are committed by the list */
};

static bool is_found(const struct found_block *found)
{
    return found->segment.length_bytes > 0;
}

static const struct block_ref *wanted_ref(const struct resolution *resolution, size_t index)
{
    const struct block_list_put *request = resolution->request;
    return &request->blocks[request->wanted[index]];
}

/* An uncommitted block is what the wanted one is, unless that must be a committed one. */
static enum err note_uncommitted(struct resolution *resolution, size_t index, struct slice row)
{
    if (wanted_ref(resolution, index)->kind == BLOCK_FROM_COMMITTED)
        return OK;
    resolution->moved_count++;
    return block_decode(row, &resolution->found[index].segment);
}

/* Look for each wanted block: for a short list among very many blocks. */
static enum err look_up_uncommitted(struct resolution *resolution)
{
    const struct slice name = resolution->request->change.name.blob;
    struct arena *arena = change_arena(resolution->change);
    enum err err = OK;
    for (size_t i = 0; i < resolution->request->wanted_count && err == OK; i++) {
        struct slice row;
        const struct slice key = block_key(arena, name, resolution->uncommitted.created_at,
                                           wanted_ref(resolution, i)->block_id);
        err = change_get(resolution->change, key, &row);
        if (err == OK)
            err = note_uncommitted(resolution, i, row);
        else if (err == ERR_NOT_FOUND)
            err = OK;
    }
    return err;
}

/* Step to the wanted block of this id; ids come in order.  False if there is none. */
static bool step_to(struct resolution *resolution, struct slice block_id)
{
    while (resolution->next < resolution->request->wanted_count) {
        const int order =
            slice_compare(wanted_ref(resolution, resolution->next)->block_id, block_id);
        if (order >= 0)
            return order == 0;
        resolution->next++;
    }
    return false;
}

/* Walk over all uncommitted blocks. */
static enum err match_uncommitted(struct resolution *resolution)
{
    const struct block_list_put *request = resolution->request;
    const struct slice prefix =
        block_prefix(change_arena(resolution->change), request->change.name.blob,
                     resolution->uncommitted.created_at);
    struct cursor *cursor = change_scan(resolution->change, prefix, (struct slice){ 0 });
    enum err err = OK;
    while (err == OK && resolution->next < request->wanted_count) {
        struct slice key;
        struct slice row;
        err = cursor_next(cursor, &key, &row);
        if (err == OK && step_to(resolution, slice_from(key, prefix.len)))
            err = note_uncommitted(resolution, resolution->next, row);
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err find_uncommitted(struct resolution *resolution)
{
    const enum err err = uncommitted_get(resolution->change, resolution->request->change.name.blob,
                                         &resolution->uncommitted);
    if (err == ERR_NOT_FOUND) {
        resolution->uncommitted = (struct uncommitted){ 0 };
        return OK;
    }
    if (err != OK)
        return err;
    const bool are_few =
        resolution->request->wanted_count < resolution->uncommitted.block_count / LOOKED_UP_SHARE;
    return are_few ? look_up_uncommitted(resolution) : match_uncommitted(resolution);
}

/* Whether a wanted block may be a committed one.  ERR_INVALID_BLOCK_LIST if one can be nowhere. */
static enum err needs_committed(const struct resolution *resolution, bool *needed)
{
    *needed = false;
    for (size_t i = 0; i < resolution->request->wanted_count; i++) {
        if (is_found(&resolution->found[i]))
            continue;
        if (wanted_ref(resolution, i)->kind == BLOCK_FROM_UNCOMMITTED)
            return ERR_INVALID_BLOCK_LIST;
        *needed = true;
    }
    return OK;
}

static void note_committed(struct resolution *resolution, const struct segment_entry *entry)
{
    size_t low = 0;
    size_t high = resolution->request->wanted_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = slice_compare(wanted_ref(resolution, middle)->block_id, entry->block_id);
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

/* Blocks that the list commits are not uncommitted any more; their payloads stay as they are. */
static void remove_moved(struct resolution *resolution)
{
    const struct slice name = resolution->request->change.name.blob;
    struct arena keys = { 0 };
    for (size_t i = 0; i < resolution->request->wanted_count; i++) {
        if (resolution->found[i].was_committed)
            continue;
        change_delete(resolution->change, block_key(&keys, name, resolution->uncommitted.created_at,
                                                    wanted_ref(resolution, i)->block_id));
        arena_clear(&keys);
    }
    arena_release(&keys);
}

/* All others are discarded. */
static enum err end_uncommitted(struct resolution *resolution)
{
    struct change *change = resolution->change;
    const struct slice name = resolution->request->change.name.blob;
    const struct uncommitted *uncommitted = &resolution->uncommitted;
    if (uncommitted->block_count == 0)
        return OK;
    if (uncommitted->block_count < resolution->moved_count)
        return CORRUPT("there are more uncommitted blocks than their row says");
    change_delete(change, uncommitted_key(change_arena(change), name));
    return uncommitted->block_count == resolution->moved_count
               ? OK
               : discard_rest(change, name, uncommitted);
}

static void build_list(struct resolution *resolution, uint64_t content_id, struct content *content)
{
    const struct block_list_put *request = resolution->request;
    struct segments_builder builder;
    segments_builder_init(&builder, resolution->change, content_id);
    for (size_t i = 0; i < request->block_count; i++) {
        struct found_block *found = &resolution->found[request->places[i]];
        if (found->was_committed && !found->is_placed) {
            segment_own(resolution->change, &found->segment, content_id);
            found->segment.owner = content_id;
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
    remove_moved(&resolution);
    err = end_uncommitted(&resolution);
    return err == OK ? blob_decide_replace(change, &request->change, &old, exists, &blob) : err;
}

void block_list_put(struct service *service, struct block_list_put *change)
{
    struct blob_change *base = &change->change;
    const enum err err = sort_list(change);
    if (err != OK)
        service_refuse(&base->base, err);
    else if (blob_find_protection(service, base))
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
    struct slice found;
    struct uncommitted uncommitted;
    enum err err =
        partition_view_get(view, arena, uncommitted_key(arena, request->get.name.blob), &found);
    if (err == OK)
        err = uncommitted_decode(found, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    const struct slice prefix = block_prefix(arena, request->get.name.blob, uncommitted.created_at);
    struct cursor *cursor = partition_view_scan(view, prefix, (struct slice){ 0 });
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

/* A blob that has only uncommitted blocks has no ETag, and conditions are not looked at. */
static enum err check_uncommitted(struct service *service, struct partition_view *view,
                                  struct arena *arena, const struct block_list_request *request)
{
    struct slice row;
    struct uncommitted uncommitted;
    const struct slice key = uncommitted_key(arena, request->get.name.blob);
    enum err err = partition_view_get(view, arena, key, &row);
    if (err == ERR_NOT_FOUND)
        return ERR_BLOB_NOT_FOUND;
    if (err == OK)
        err = uncommitted_decode(row, &uncommitted);
    if (err != OK)
        return err;
    return lease_check_read(&uncommitted.lease, LEASE_OF_BLOB,
                            request->get.has_lease_id ? &request->get.lease_id : NULL,
                            clock_now(service->clock) / CLOCK_TICKS_PER_MS);
}

static enum err list_in_view(struct service *service, struct partition_view *view,
                             struct arena *arena, const struct block_list_request *request,
                             struct blob *blob, bool *exists)
{
    const bool of_base = request->get.name.snapshot == 0 && request->get.name.version == 0;
    enum err err = blob_get_in_view(service, view, arena, &request->get, blob);
    *exists = err == OK;
    if (err == ERR_BLOB_NOT_FOUND && of_base)
        err = check_uncommitted(service, view, arena, request);
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
