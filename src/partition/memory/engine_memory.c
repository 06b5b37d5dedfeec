#include "partition/memory/engine_memory.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mutex.h"
#include "partition/heap.h"
#include "partition/memory/tree.h"
#include "partition/physical_key.h"

struct memory_engine {
    struct engine engine;
    struct mutex lock;
    struct tree *root; /* under lock; a reference */
};

struct engine_snapshot {
    struct tree *root; /* a reference */
};

/*
 * A group keeps its own tree, begun from the engine's at the first use, and the list of what it
 * did.  When another group has committed in the meantime the list is applied to the new root:
 * groups never touch the same keys, so that is the same change.
 */
struct memory_group {
    struct engine_group group;
    bool begun;
    struct tree *base; /* a reference; the engine's root when the group began */
    struct tree *root; /* a reference; base with the changes */
    struct tree *saved_root;
    size_t saved_count;
    struct tree_entry **changes; /* references */
    size_t change_count;
    size_t change_capacity;
    size_t size_bytes;
    size_t saved_size_bytes;
};

struct memory_cursor {
    struct cursor cursor;
    struct memory_group *group; /* whose tree it follows, or NULL */
    struct tree *root;          /* a reference; used without group */
    struct tree_entry *current; /* a reference; NULL before the first step */
    size_t name_len;            /* of the partition's part of physical keys */
    struct physical_key past;   /* the upper bound */
    struct physical_key at;     /* the next step begins here */
};

static struct memory_engine *memory_of(struct engine *engine)
{
    return (struct memory_engine *)engine;
}

static struct tree *engine_root(struct memory_engine *memory)
{
    mutex_lock(&memory->lock);
    struct tree *root = tree_ref(memory->root);
    mutex_unlock(&memory->lock);
    return root;
}

static void memory_close(struct engine *engine)
{
    struct memory_engine *memory = memory_of(engine);
    tree_unref(memory->root);
    mutex_release(&memory->lock);
    free(memory);
}

/* --- reads --- */

static enum err find(const struct tree *root, struct arena *arena, const struct engine_key *key,
                     struct slice *value)
{
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    const struct tree_entry *entry = tree_find(root, physical_key_slice(&physical));
    if (entry == NULL)
        return ERR_NOT_FOUND;
    *value = arena_copy(arena, tree_entry_value(entry));
    return OK;
}

static struct engine_snapshot *memory_snapshot_new(struct engine *engine)
{
    struct engine_snapshot *snapshot = heap_new(sizeof(*snapshot));
    snapshot->root = engine_root(memory_of(engine));
    return snapshot;
}

static void memory_snapshot_free(struct engine *engine, struct engine_snapshot *snapshot)
{
    (void)engine;
    tree_unref(snapshot->root);
    free(snapshot);
}

static enum err memory_get(struct engine *engine, struct engine_snapshot *snapshot,
                           struct arena *arena, const struct engine_key *key, struct slice *value)
{
    if (snapshot != NULL)
        return find(snapshot->root, arena, key, value);
    struct tree *root = engine_root(memory_of(engine));
    const enum err err = find(root, arena, key, value);
    tree_unref(root);
    return err;
}

/* --- cursors --- */

static enum err memory_cursor_next(struct cursor *cursor, struct slice *key, struct slice *value)
{
    struct memory_cursor *mine = (struct memory_cursor *)cursor;
    const struct tree *root = mine->group != NULL ? mine->group->root : mine->root;
    struct tree_entry *entry = tree_find_from(root, physical_key_slice(&mine->at));
    if (entry == NULL || slice_compare(tree_entry_key(entry), physical_key_slice(&mine->past)) >= 0)
        return ERR_NOT_FOUND;

    tree_entry_ref(entry);
    if (mine->current != NULL)
        tree_entry_unref(mine->current);
    mine->current = entry;
    physical_key_set_after(&mine->at, tree_entry_key(entry));
    *key = slice_from(tree_entry_key(entry), mine->name_len);
    *value = tree_entry_value(entry);
    return OK;
}

static void memory_cursor_seek(struct cursor *cursor, struct slice key)
{
    struct memory_cursor *mine = (struct memory_cursor *)cursor;
    struct physical_key target;
    physical_key_set(&target, slice_make(mine->at.bytes + 1, mine->name_len - 1), key);
    assert(mine->current == NULL ||
           slice_compare(physical_key_slice(&target), tree_entry_key(mine->current)) > 0);
    if (slice_compare(physical_key_slice(&target), physical_key_slice(&mine->at)) > 0)
        mine->at = target;
}

static void memory_cursor_free(struct cursor *cursor)
{
    struct memory_cursor *mine = (struct memory_cursor *)cursor;
    if (mine->current != NULL)
        tree_entry_unref(mine->current);
    tree_unref(mine->root);
    free(mine);
}

static const struct cursor_ops cursor_ops = {
    .next = memory_cursor_next,
    .seek = memory_cursor_seek,
    .free = memory_cursor_free,
};

static struct memory_cursor *memory_cursor_new(const struct engine_scan *scan)
{
    struct memory_cursor *cursor = heap_new(sizeof(*cursor));
    cursor->cursor.ops = &cursor_ops;
    cursor->name_len = 1 + scan->partition.len;
    struct physical_key bound;
    physical_key_set(&bound, scan->partition, scan->prefix);
    physical_key_set_past(&cursor->past, physical_key_slice(&bound));
    physical_key_set(&bound, scan->partition, scan->until);
    if (scan->until.len > 0 &&
        slice_compare(physical_key_slice(&bound), physical_key_slice(&cursor->past)) < 0)
        cursor->past = bound;
    physical_key_set(&cursor->at, scan->partition, scan->from);
    return cursor;
}

static struct cursor *memory_scan(struct engine *engine, struct engine_snapshot *snapshot,
                                  const struct engine_scan *scan)
{
    (void)engine;
    struct memory_cursor *cursor = memory_cursor_new(scan);
    cursor->root = tree_ref(snapshot->root);
    return &cursor->cursor;
}

static enum err memory_next_partition(struct engine *engine, struct engine_snapshot *snapshot,
                                      struct arena *arena, struct slice after,
                                      struct slice *partition)
{
    (void)engine;
    struct physical_key prefix;
    struct physical_key past;
    physical_key_set(&prefix, after, (struct slice){ 0 });
    physical_key_set_past(&past, physical_key_slice(&prefix));
    const struct tree_entry *entry = tree_find_from(snapshot->root, physical_key_slice(&past));
    if (entry == NULL)
        return ERR_NOT_FOUND;
    const bool named = physical_key_partition(tree_entry_key(entry), partition);
    assert(named);
    *partition = arena_copy(arena, *partition);
    return OK;
}

/* --- groups --- */

static struct engine_group *memory_group_new(struct engine *engine)
{
    struct memory_group *group = heap_new(sizeof(*group));
    group->group.engine = engine;
    return &group->group;
}

/* The group as a struct of this file, with a tree to work on. */
static struct memory_group *group_begin(struct engine_group *group)
{
    struct memory_group *mine = (struct memory_group *)group;
    if (!mine->begun) {
        mine->base = engine_root(memory_of(group->engine));
        mine->root = tree_ref(mine->base);
        mine->begun = true;
    }
    return mine;
}

static void group_truncate(struct memory_group *group, size_t count)
{
    while (group->change_count > count)
        tree_entry_unref(group->changes[--group->change_count]);
}

static void group_clear(struct memory_group *group)
{
    group_truncate(group, 0);
    tree_unref(group->saved_root);
    tree_unref(group->root);
    tree_unref(group->base);
    group->saved_root = NULL;
    group->root = NULL;
    group->base = NULL;
    group->begun = false;
    group->saved_count = 0;
    group->size_bytes = 0;
}

static void memory_group_free(struct engine_group *group)
{
    struct memory_group *mine = (struct memory_group *)group;
    group_clear(mine);
    free(mine->changes);
    free(mine);
}

static enum err memory_group_get(struct engine_group *group, struct arena *arena,
                                 const struct engine_key *key, struct slice *value)
{
    return find(group_begin(group)->root, arena, key, value);
}

static struct cursor *memory_group_scan(struct engine_group *group, const struct engine_scan *scan)
{
    struct memory_cursor *cursor = memory_cursor_new(scan);
    cursor->group = group_begin(group);
    return &cursor->cursor;
}

/* An empty value removes the key. */
static void group_change(struct engine_group *group, const struct engine_key *key,
                         struct slice value)
{
    struct memory_group *mine = group_begin(group);
    struct physical_key physical;
    physical_key_set(&physical, key->partition, key->key);
    struct tree_entry *entry = tree_entry_new(physical_key_slice(&physical), value);

    struct tree *changed = tree_apply(mine->root, entry);
    tree_unref(mine->root);
    mine->root = changed;

    if (mine->change_count == mine->change_capacity) {
        mine->change_capacity = mine->change_capacity == 0 ? 16 : mine->change_capacity * 2;
        mine->changes = heap_resize(mine->changes, mine->change_capacity, sizeof(*mine->changes));
    }
    mine->changes[mine->change_count++] = entry;
    mine->size_bytes += physical.len + value.len;
}

static void memory_group_put(struct engine_group *group, const struct engine_key *key,
                             struct slice value)
{
    group_change(group, key, value);
}

static void memory_group_delete(struct engine_group *group, const struct engine_key *key)
{
    group_change(group, key, (struct slice){ 0 });
}

static void memory_group_save(struct engine_group *group)
{
    struct memory_group *mine = group_begin(group);
    tree_unref(mine->saved_root);
    mine->saved_root = tree_ref(mine->root);
    mine->saved_count = mine->change_count;
    mine->saved_size_bytes = mine->size_bytes;
}

static void memory_group_rollback(struct engine_group *group)
{
    struct memory_group *mine = group_begin(group);
    assert(mine->saved_count <= mine->change_count);
    group_truncate(mine, mine->saved_count);
    tree_unref(mine->root);
    mine->root = tree_ref(mine->saved_root);
    mine->size_bytes = mine->saved_size_bytes;
}

static size_t memory_group_size_bytes(struct engine_group *group)
{
    return ((struct memory_group *)group)->size_bytes;
}

static enum err memory_group_commit(struct engine_group *group, enum engine_durability durability)
{
    (void)durability;
    struct memory_engine *memory = memory_of(group->engine);
    struct memory_group *mine = group_begin(group);

    mutex_lock(&memory->lock);
    struct tree *old = memory->root;
    struct tree *root;
    if (old == mine->base) {
        root = tree_ref(mine->root);
    } else {
        root = tree_ref(old);
        for (size_t i = 0; i < mine->change_count; i++) {
            struct tree *changed = tree_apply(root, mine->changes[i]);
            tree_unref(root);
            root = changed;
        }
    }
    memory->root = root;
    mutex_unlock(&memory->lock);

    tree_unref(old);
    group_clear(mine);
    return OK;
}

static const struct engine_ops memory_ops = {
    .close = memory_close,
    .snapshot_new = memory_snapshot_new,
    .snapshot_free = memory_snapshot_free,
    .get = memory_get,
    .scan = memory_scan,
    .next_partition = memory_next_partition,
    .group_new = memory_group_new,
    .group_free = memory_group_free,
    .group_get = memory_group_get,
    .group_put = memory_group_put,
    .group_delete = memory_group_delete,
    .group_scan = memory_group_scan,
    .group_save = memory_group_save,
    .group_rollback = memory_group_rollback,
    .group_size_bytes = memory_group_size_bytes,
    .group_commit = memory_group_commit,
};

struct engine *engine_memory_new(void)
{
    struct memory_engine *memory = heap_new(sizeof(*memory));
    memory->engine.ops = &memory_ops;
    mutex_init(&memory->lock, LOCK_PARTITION_MEMORY);
    return &memory->engine;
}
