/*
 * rocks_cursor.c - cursors over a snapshot, and inside a group.
 *
 * A group's cursor runs over the batch laid on the latest committed state.  A write to the batch
 * moves the memory its entries point to and disturbs an iterator that stands on the key written,
 * so such a cursor hands out copies, and seeks anew, behind the last key it gave, whenever the
 * group was written to since.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "partition/heap.h"
#include "partition/rocksdb/rocks_internal.h"

enum position {
    TO_SEEK, /* the next step begins at `at` */
    ON_KEY,  /* the iterator stands on the key last given */
    AT_END,  /* there was no more */
};

struct rocks_cursor {
    struct cursor cursor;
    rocksdb_readoptions_t *read; /* lives as long as the iterator */
    rocksdb_iterator_t *iterator;
    enum position position;
    size_t name_len; /* of the partition's part of physical keys */
    struct physical_key prefix;
    struct physical_key past; /* the upper bound; `read` points to it */
    struct physical_key at;

    /* in a group */
    struct rocks_group *group; /* or NULL */
    uint64_t write_count;      /* of the group when the iterator was last placed */
    char *copy;                /* of the key and value last given */
    size_t copy_capacity;
};

static bool is_disturbed(const struct rocks_cursor *cursor)
{
    return cursor->group != NULL && cursor->group->write_count != cursor->write_count;
}

static void place(struct rocks_cursor *cursor)
{
    if (cursor->position == TO_SEEK || is_disturbed(cursor)) {
        rocksdb_iter_seek(cursor->iterator, cursor->at.bytes, cursor->at.len);
        if (cursor->group != NULL)
            cursor->write_count = cursor->group->write_count;
    } else if (cursor->position == ON_KEY) {
        rocksdb_iter_next(cursor->iterator);
    }
}

/* Replace both slices by copies that the group's writes do not move. */
static void keep_copies(struct rocks_cursor *cursor, struct slice *key, struct slice *value)
{
    const size_t needed = key->len + value->len;
    if (needed > cursor->copy_capacity) {
        cursor->copy = heap_resize(cursor->copy, needed, 1);
        cursor->copy_capacity = needed;
    }
    memcpy(cursor->copy, key->data, key->len);
    memcpy(cursor->copy + key->len, value->data, value->len);
    *key = slice_make(cursor->copy, key->len);
    *value = slice_make(cursor->copy + key->len, value->len);
}

static enum err end(struct rocks_cursor *cursor)
{
    char *message = NULL;
    rocksdb_iter_get_error(cursor->iterator, &message);
    if (message != NULL)
        return rocks__error("reading keys", message);
    cursor->position = AT_END;
    return ERR_NOT_FOUND;
}

static enum err rocks_cursor_next(struct cursor *cursor, struct slice *key, struct slice *value)
{
    struct rocks_cursor *mine = (struct rocks_cursor *)cursor;
    if (mine->position == AT_END && !is_disturbed(mine))
        return ERR_NOT_FOUND;
    place(mine);
    if (!rocksdb_iter_valid(mine->iterator))
        return end(mine);

    struct slice physical;
    physical.data = rocksdb_iter_key(mine->iterator, &physical.len);
    /* The upper bound is for the database; what the batch has may lie past it. */
    if (slice_compare(physical, physical_key_slice(&mine->past)) >= 0)
        return end(mine);
    struct slice found;
    found.data = rocksdb_iter_value(mine->iterator, &found.len);
    if (found.len == 0)
        return CORRUPT("a stored value is empty");
    if (mine->group != NULL) {
        keep_copies(mine, &physical, &found);
        physical_key_set_after(&mine->at, physical);
    }
    mine->position = ON_KEY;
    *key = slice_from(physical, mine->name_len);
    *value = found;
    return OK;
}

static void rocks_cursor_seek(struct cursor *cursor, struct slice key)
{
    struct rocks_cursor *mine = (struct rocks_cursor *)cursor;
    struct physical_key target;
    physical_key_set(&target, slice_make(mine->prefix.bytes + 1, mine->name_len - 1), key);
    if (mine->position == ON_KEY) {
        struct slice present = slice_make(mine->copy, mine->at.len - 1);
        if (mine->group == NULL)
            present.data = rocksdb_iter_key(mine->iterator, &present.len);
        assert(slice_compare(physical_key_slice(&target), present) > 0);
    }
    if (slice_compare(physical_key_slice(&target), physical_key_slice(&mine->at)) > 0)
        mine->at = target;
    mine->position = TO_SEEK;
}

static void rocks_cursor_free(struct cursor *cursor)
{
    struct rocks_cursor *mine = (struct rocks_cursor *)cursor;
    rocksdb_iter_destroy(mine->iterator);
    rocksdb_readoptions_destroy(mine->read);
    free(mine->copy);
    free(mine);
}

static const struct cursor_ops cursor_ops = {
    .next = rocks_cursor_next,
    .seek = rocks_cursor_seek,
    .free = rocks_cursor_free,
};

static struct rocks_cursor *rocks_cursor_new(const struct engine_scan *scan)
{
    rocks__count_nothing();
    struct rocks_cursor *cursor = heap_new(sizeof(*cursor));
    cursor->cursor.ops = &cursor_ops;
    cursor->position = TO_SEEK;
    cursor->name_len = 1 + scan->partition.len;
    physical_key_set(&cursor->prefix, scan->partition, scan->prefix);
    physical_key_set(&cursor->at, scan->partition, scan->from);
    physical_key_set_past(&cursor->past, physical_key_slice(&cursor->prefix));
    if (scan->until.len > 0) {
        struct physical_key until;
        physical_key_set(&until, scan->partition, scan->until);
        if (slice_compare(physical_key_slice(&until), physical_key_slice(&cursor->past)) < 0)
            cursor->past = until;
    }
    cursor->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_iterate_upper_bound(cursor->read, cursor->past.bytes, cursor->past.len);
    return cursor;
}

struct cursor *rocks__scan(struct engine *engine, struct engine_snapshot *snapshot,
                           const struct engine_scan *scan)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    struct rocks_cursor *cursor = rocks_cursor_new(scan);
    rocksdb_readoptions_set_snapshot(cursor->read, snapshot->snapshot);
    cursor->iterator = rocksdb_create_iterator(rocks->db, cursor->read);
    return &cursor->cursor;
}

enum err rocks__next_partition(struct engine *engine, struct engine_snapshot *snapshot,
                               struct arena *arena, struct slice after, struct slice *partition)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    struct physical_key prefix;
    struct physical_key past;
    physical_key_set(&prefix, after, (struct slice){ 0 });
    physical_key_set_past(&past, physical_key_slice(&prefix));
    rocksdb_iterator_t *iterator = rocksdb_create_iterator(rocks->db, snapshot->read);
    rocksdb_iter_seek(iterator, past.bytes, past.len);
    char *message = NULL;
    enum err err = OK;
    if (rocksdb_iter_valid(iterator)) {
        struct slice physical;
        physical.data = rocksdb_iter_key(iterator, &physical.len);
        if (physical_key_partition(physical, partition))
            *partition = arena_copy(arena, *partition);
        else
            err = CORRUPT("a stored key of %zu bytes names no partition", physical.len);
    } else {
        rocksdb_iter_get_error(iterator, &message);
        err = message == NULL ? ERR_NOT_FOUND : rocks__error("reading keys", message);
    }
    rocksdb_iter_destroy(iterator);
    return err;
}

struct cursor *rocks__group_scan(struct engine_group *group, const struct engine_scan *scan)
{
    struct rocks_group *mine = (struct rocks_group *)group;
    struct rocks_cursor *cursor = rocks_cursor_new(scan);
    cursor->group = mine;
    cursor->write_count = mine->write_count;
    /* The iterator over both takes the other one over. */
    cursor->iterator = rocksdb_writebatch_wi_create_iterator_with_base(
        mine->batch, rocksdb_create_iterator(mine->rocks->db, cursor->read));
    return &cursor->cursor;
}
