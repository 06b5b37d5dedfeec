/*
 * group_map.h - what a group has changed so far: an ordered map from keys to their latest values.
 *
 * A key that was removed is in the map too, without a value, so that it hides what the database
 * has.  Only the last value of a key counts when the group is written, however often its updates
 * have changed it; the earlier ones are kept only so that the update under way can be undone, and
 * because cursors may still point to them.
 *
 * Finding, changing and undoing a change take O(log n).  Memory is handed out in one direction and
 * taken back from its end, when changes are undone, or all at once, when the map is cleared; what
 * an unusually large group took is returned then.  One thread at a time.
 */
#ifndef PARTITION_GROUP_MAP_H
#define PARTITION_GROUP_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct group_map;

/* A key of the map; lives until the change that brought it is undone or the map is cleared. */
struct group_entry;

struct group_map *group_map_new(void);
void group_map_free(struct group_map *map);

/* Copies both.  An empty value says that the key was removed. */
void group_map_set(struct group_map *map, struct slice key, struct slice value);

/* What is changed from now on can be undone. */
void group_map_save(struct group_map *map);

/* Undo what was changed since group_map_save, which stays where it was. */
void group_map_undo(struct group_map *map);

/* Empty the map, and save. */
void group_map_clear(struct group_map *map);

/* NULL if the key was not changed. */
const struct group_entry *group_map_find(const struct group_map *map, struct slice key);

/* The first entry whose key is not before `key`, or NULL. */
const struct group_entry *group_map_from(const struct group_map *map, struct slice key);

/* The first entry of all, or the one that follows: NULL behind the last. */
const struct group_entry *group_map_first(const struct group_map *map);
const struct group_entry *group_entry_next(const struct group_entry *entry);

struct slice group_entry_key(const struct group_entry *entry);

/* Empty if the key was removed.  The bytes live as long as the entry, even if it is set again. */
struct slice group_entry_value(const struct group_entry *entry);

/* The bytes of all keys and values set and not undone, earlier values of a key among them; 0 if
   and only if the map is empty. */
size_t group_map_size_bytes(const struct group_map *map);

/* How often the map was changed, ever; cursors watch it. */
uint64_t group_map_change_count(const struct group_map *map);

/* How much memory the map holds, for tests. */
size_t group_map_memory_bytes(const struct group_map *map);

#endif
