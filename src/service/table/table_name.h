/*
 * table_name.h - names of tables, keys of entities, and where their records are kept.
 *
 * Partitions of the table service:
 *
 *   'A' account                               the account: see account_partition.h
 *       't' table name                        table record; the name in lower case
 *   'T' incarnation (8) shard (2)             entities of one table
 *       'e' PartitionKey 00 RowKey            entity
 *       'x'                                   closed: the table is deleted
 *
 * Neither key has control characters, so the NUL ends the PartitionKey and keys are ordered by
 * PartitionKey, then RowKey, each by its bytes, which is the order of code points.  Both may be
 * empty.
 *
 * Names of tables are the same in any case, and are shown as they were when the table was made.
 */
#ifndef SERVICE_TABLE_TABLE_NAME_H
#define SERVICE_TABLE_TABLE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/account_partition.h"

/*
 * The naming rules of tables: a letter, then letters and digits; "tables" is reserved.
 *   ERR_RESOURCE_NAME_LENGTH    too short or too long
 *   ERR_INVALID_RESOURCE_NAME   another character, or the reserved name
 */
MUST_CHECK enum err table_name_check(struct slice name);

/*
 * Whether an entity may have this as PartitionKey or RowKey: UTF-8 without / \ # ? and control
 * characters.
 *   ERR_KEY_TOO_LARGE        longer than LIMIT_ENTITY_KEY_UNITS_MAX
 *   ERR_OUT_OF_RANGE_INPUT   it has a character it may not have
 */
MUST_CHECK enum err entity_key_check(struct slice key);

/* The units of UTF-16 that well-formed UTF-8 takes: what the limits of the service count. */
size_t utf16_units(struct slice utf8);

/* Partition ids and keys, made in the arena. */
struct slice table_key(struct arena *arena, struct slice table);
static inline struct slice table_partition(struct arena *arena, uint64_t incarnation)
{
    return resource_partition(arena, 'T', incarnation);
}

/* `partition_key` has no NUL. */
struct slice entity_key(struct arena *arena, struct slice partition_key, struct slice row_key);

/* The beginning of the keys of all entities. */
struct slice entity_prefix(void);

/* The two keys in an entity's key, pointing into it.  ERR_CORRUPT if it is none. */
MUST_CHECK enum err entity_key_split(struct slice key, struct slice *partition_key,
                                     struct slice *row_key);

/* Whether a partition is one of entities. */
bool is_table_partition(struct slice partition);

#endif
