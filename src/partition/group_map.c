/*
 * group_map.c - a skip list whose entries have a stack of values each.
 *
 *   head [1] ---------------> b -------------------> NULL
 *        [0] ------> a -----> b -------> c --------> NULL
 *                    |        |          |
 *   latest          "3"    removed      "1"
 *                    |
 *   before          "2"            changes: the latest of all, each with the one that was made
 *                    |             before it, back to the save point
 *   before          "1"
 *
 * Every change is a value on top of its entry's stack, and the values since the save point are
 * linked in the order they were made.  To undo them they are taken off again, the latest first; an
 * entry whose stack is empty then came after the save point, and is unlinked.  So all memory that
 * was handed out since the save point is unused, and goes back as it came.
 */
#include "partition/group_map.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "partition/heap.h"

enum {
    HEIGHT_MAX = 12, /* one entry of 4 is in the list above, too: good for 4^12 entries */
    CHUNK_BYTES = 256 * 1024,
};

struct value {
    struct value *before;      /* of the same entry; or NULL */
    struct value *made_before; /* of all since the save point; or NULL */
    struct group_entry *entry;
    size_t len; /* 0: the key was removed */
    char bytes[];
};

struct group_entry {
    struct value *latest;
    size_t key_len;
    unsigned height;
    struct group_entry *next[]; /* `height` of them; then the bytes of the key */
};

/* Memory is handed out of the last chunk. */
struct chunk {
    struct chunk *before; /* or NULL */
    size_t capacity;
    size_t used;
    alignas(max_align_t) char bytes[];
};

struct group_map {
    struct group_entry *head; /* of all heights, without a key */
    size_t size_bytes;
    uint64_t change_count;
    uint64_t random; /* state of the generator of heights */

    struct chunk *first; /* kept when the map is cleared */
    struct chunk *last;

    /* the save point */
    struct value *made; /* the latest change since; or NULL */
    size_t saved_size_bytes;
    struct chunk *saved_last;
    size_t saved_used;
};

/* --- memory --- */

static struct chunk *chunk_new(size_t capacity)
{
    /* Not cleared: pages of a chunk that are never used are never touched. */
    struct chunk *chunk = malloc(sizeof(*chunk) + capacity);
    if (chunk == NULL)
        panic("no memory left for %zu bytes of a group", capacity);
    chunk->before = NULL;
    chunk->capacity = capacity;
    chunk->used = 0;
    return chunk;
}

static void *take(struct group_map *map, size_t size_bytes)
{
    size_bytes += -size_bytes % alignof(struct value);
    if (size_bytes > map->last->capacity - map->last->used) {
        struct chunk *chunk = chunk_new(size_bytes > CHUNK_BYTES ? size_bytes : CHUNK_BYTES);
        chunk->before = map->last;
        map->last = chunk;
    }
    char *bytes = map->last->bytes + map->last->used;
    map->last->used += size_bytes;
    return bytes;
}

/* Give back all that was taken since `last` was the last chunk and had so much `used`. */
static void give_back(struct group_map *map, struct chunk *last, size_t used)
{
    while (map->last != last) {
        struct chunk *before = map->last->before;
        free(map->last);
        map->last = before;
    }
    last->used = used;
}

size_t group_map_memory_bytes(const struct group_map *map)
{
    size_t size_bytes = sizeof(*map);
    for (const struct chunk *chunk = map->last; chunk != NULL; chunk = chunk->before)
        size_bytes += sizeof(*chunk) + chunk->capacity;
    return size_bytes;
}

/* --- the list --- */

static size_t entry_bytes(unsigned height)
{
    return sizeof(struct group_entry) + height * sizeof(struct group_entry *);
}

struct slice group_entry_key(const struct group_entry *entry)
{
    return slice_make(entry->next + entry->height, entry->key_len);
}

struct slice group_entry_value(const struct group_entry *entry)
{
    return slice_make(entry->latest->bytes, entry->latest->len);
}

const struct group_entry *group_entry_next(const struct group_entry *entry)
{
    return entry->next[0];
}

/* 1, and each more a quarter as often. */
static unsigned random_height(struct group_map *map)
{
    map->random ^= map->random << 13; /* xorshift64 */
    map->random ^= map->random >> 7;
    map->random ^= map->random << 17;
    unsigned height = 1;
    for (uint64_t bits = map->random; height < HEIGHT_MAX && (bits & 3) == 0; bits >>= 2)
        height++;
    return height;
}

/* The first entry not before `key`, or NULL.  If `previous` is not NULL it gets, for every height,
   the last entry before `key`, which may be the head. */
static struct group_entry *search(const struct group_map *map, struct slice key,
                                  struct group_entry *previous[HEIGHT_MAX])
{
    struct group_entry *before = map->head;
    struct group_entry *found = NULL; /* of the list above, and so not before `key` */
    for (unsigned level = HEIGHT_MAX; level-- > 0;) {
        struct group_entry *next;
        while ((next = before->next[level]) != found &&
               slice_compare(group_entry_key(next), key) < 0)
            before = next;
        found = next;
        if (previous != NULL)
            previous[level] = before;
    }
    return found;
}

static bool has_key(const struct group_entry *entry, struct slice key)
{
    return entry != NULL && slice_equal(group_entry_key(entry), key);
}

static struct group_entry *entry_add(struct group_map *map, struct slice key,
                                     struct group_entry *previous[HEIGHT_MAX])
{
    const unsigned height = random_height(map);
    struct group_entry *entry = take(map, entry_bytes(height) + key.len);
    entry->latest = NULL;
    entry->key_len = key.len;
    entry->height = height;
    memcpy(entry->next + height, key.data, key.len);
    for (unsigned level = 0; level < height; level++) {
        entry->next[level] = previous[level]->next[level];
        previous[level]->next[level] = entry;
    }
    return entry;
}

static void entry_unlink(struct group_map *map, struct group_entry *entry)
{
    struct group_entry *previous[HEIGHT_MAX];
    search(map, group_entry_key(entry), previous);
    for (unsigned level = 0; level < entry->height; level++)
        previous[level]->next[level] = entry->next[level];
}

/* --- what callers see --- */

struct group_map *group_map_new(void)
{
    struct group_map *map = heap_new(sizeof(*map));
    map->head = heap_new(entry_bytes(HEIGHT_MAX));
    map->head->height = HEIGHT_MAX;
    map->random = 1;
    map->first = chunk_new(CHUNK_BYTES);
    map->last = map->first;
    group_map_save(map);
    return map;
}

void group_map_free(struct group_map *map)
{
    give_back(map, map->first, 0);
    free(map->first);
    free(map->head);
    free(map);
}

void group_map_set(struct group_map *map, struct slice key, struct slice value)
{
    assert(key.len > 0);
    struct group_entry *previous[HEIGHT_MAX];
    struct group_entry *entry = search(map, key, previous);
    if (!has_key(entry, key))
        entry = entry_add(map, key, previous);

    struct value *latest = take(map, sizeof(*latest) + value.len);
    latest->before = entry->latest;
    latest->made_before = map->made;
    latest->entry = entry;
    latest->len = value.len;
    if (value.len > 0)
        memcpy(latest->bytes, value.data, value.len);
    entry->latest = latest;
    map->made = latest;
    map->size_bytes += key.len + value.len;
    map->change_count++;
}

void group_map_save(struct group_map *map)
{
    map->made = NULL;
    map->saved_size_bytes = map->size_bytes;
    map->saved_last = map->last;
    map->saved_used = map->last->used;
}

void group_map_undo(struct group_map *map)
{
    for (const struct value *value = map->made; value != NULL; value = value->made_before) {
        struct group_entry *entry = value->entry;
        entry->latest = value->before;
        if (entry->latest == NULL)
            entry_unlink(map, entry);
    }
    give_back(map, map->saved_last, map->saved_used);
    map->made = NULL;
    map->size_bytes = map->saved_size_bytes;
    map->change_count++;
}

void group_map_clear(struct group_map *map)
{
    memset(map->head->next, 0, HEIGHT_MAX * sizeof(map->head->next[0]));
    give_back(map, map->first, 0);
    map->size_bytes = 0;
    map->change_count++;
    group_map_save(map);
}

const struct group_entry *group_map_find(const struct group_map *map, struct slice key)
{
    const struct group_entry *entry = search(map, key, NULL);
    return has_key(entry, key) ? entry : NULL;
}

const struct group_entry *group_map_from(const struct group_map *map, struct slice key)
{
    return search(map, key, NULL);
}

const struct group_entry *group_map_first(const struct group_map *map)
{
    return map->head->next[0];
}

size_t group_map_size_bytes(const struct group_map *map)
{
    return map->size_bytes;
}

uint64_t group_map_change_count(const struct group_map *map)
{
    return map->change_count;
}
