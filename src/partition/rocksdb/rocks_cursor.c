/*
 * rocks_cursor.c - cursors over a snapshot, and inside a group.
 *
 * A group's cursor merges what the group has changed with what the database has; where both have a
 * key the group is right.  What the group writes meanwhile does not move what the cursor stands on,
 * nor the bytes it has given; the group's side is only looked up again, behind the last key given.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "partition/heap.h"
#include "partition/rocksdb/rocks_internal.h"

/* Where the iterator of the database is. */
enum position {
    TO_SEEK, /* nowhere: it begins at `at` */
    BEHIND,  /* on a key that was given, or that the group has changed */
    AHEAD,   /* on a key that is still to be given */
    AT_END,  /* there is no more */
};

struct rocks_cursor {
    struct cursor cursor;
    rocksdb_readoptions_t *read; /* lives as long as the iterator */
    rocksdb_iterator_t *iterator;
    enum position position;
    size_t name_len; /* of the partition's part of physical keys */
    struct physical_key prefix;
    struct physical_key past; /* the upper bound; `read` points to it */
    struct physical_key at;   /* no key before it is given any more */
    bool has_given;           /* a key, the one before `at` */

    /* in a group */
    const struct group_map *map;     /* or NULL */
    const struct group_entry *entry; /* the first that is still to be given; or NULL */
    uint64_t change_count;           /* of the map when the entry was looked up */
};

/* --- the two sides --- */

/* Make the iterator stand on the next key that the database has, if any. */
static enum err place_iterator(struct rocks_cursor *cursor)
{
    if (cursor->position == TO_SEEK)
        rocksdb_iter_seek(cursor->iterator, cursor->at.bytes, cursor->at.len);
    else if (cursor->position == BEHIND)
        rocksdb_iter_next(cursor->iterator);
    else
        return OK;
    cursor->position = AHEAD;
    if (rocksdb_iter_valid(cursor->iterator))
        return OK;
    char *message = NULL;
    rocksdb_iter_get_error(cursor->iterator, &message);
    cursor->position = message == NULL ? AT_END : TO_SEEK;
    return message == NULL ? OK : rocks__error("reading keys", message);
}

/* Find the group's next entry again if the group was changed since. */
static void place_entry(struct rocks_cursor *cursor)
{
    if (cursor->map == NULL || group_map_change_count(cursor->map) == cursor->change_count)
        return;
    cursor->entry = group_map_from(cursor->map, physical_key_slice(&cursor->at));
    cursor->change_count = group_map_change_count(cursor->map);
}

static bool entry_is_within(const struct rocks_cursor *cursor)
{
    return cursor->entry != NULL &&
           slice_compare(group_entry_key(cursor->entry), physical_key_slice(&cursor->past)) < 0;
}

/* The next of both sides.  An empty value: the group has removed the key.  ERR_NOT_FOUND at the
   end. */
static enum err merged_next(struct rocks_cursor *cursor, struct slice *key, struct slice *value)
{
    const enum err err = place_iterator(cursor);
    if (err != OK)
        return err;
    const bool has_entry = entry_is_within(cursor);
    if (cursor->position == AHEAD) {
        key->data = rocksdb_iter_key(cursor->iterator, &key->len);
        const int order = has_entry ? slice_compare(*key, group_entry_key(cursor->entry)) : -1;
        if (order <= 0)
            cursor->position = BEHIND;
        if (order < 0) {
            value->data = rocksdb_iter_value(cursor->iterator, &value->len);
            return value->len == 0 ? CORRUPT("a stored value is empty") : OK;
        }
    }
    if (!has_entry)
        return ERR_NOT_FOUND;
    *key = group_entry_key(cursor->entry);
    *value = group_entry_value(cursor->entry);
    cursor->entry = group_entry_next(cursor->entry);
    return OK;
}

/* --- what callers see --- */

static enum err rocks_cursor_next(struct cursor *cursor, struct slice *key, struct slice *value)
{
    struct rocks_cursor *mine = (struct rocks_cursor *)cursor;
    struct slice physical;
    place_entry(mine);
    do {
        const enum err err = merged_next(mine, &physical, value);
        if (err != OK)
            return err;
    } while (value->len == 0);
    physical_key_set_after(&mine->at, physical);
    mine->has_given = true;
    *key = slice_from(physical, mine->name_len);
    return OK;
}

static void rocks_cursor_seek(struct cursor *cursor, struct slice key)
{
    struct rocks_cursor *mine = (struct rocks_cursor *)cursor;
    struct physical_key target;
    physical_key_set(&target, slice_make(mine->prefix.bytes + 1, mine->name_len - 1), key);
    const int order = slice_compare(physical_key_slice(&target), physical_key_slice(&mine->at));
    assert(order >= 0 || !mine->has_given);
    if (order > 0)
        mine->at = target;
    mine->position = TO_SEEK;
    if (mine->map != NULL)
        mine->entry = group_map_from(mine->map, physical_key_slice(&mine->at));
}

static void rocks_cursor_free(struct cursor *cursor)
{
    struct rocks_cursor *mine = (struct rocks_cursor *)cursor;
    rocksdb_iter_destroy(mine->iterator);
    rocksdb_readoptions_destroy(mine->read);
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
    const struct rocks_group *mine = (struct rocks_group *)group;
    struct rocks_cursor *cursor = rocks_cursor_new(scan);
    cursor->map = mine->map;
    cursor->entry = group_map_from(mine->map, physical_key_slice(&cursor->at));
    cursor->change_count = group_map_change_count(mine->map);
    cursor->iterator = rocksdb_create_iterator(mine->rocks->db, cursor->read);
    return &cursor->cursor;
}
