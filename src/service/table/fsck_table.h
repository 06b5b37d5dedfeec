/*
 * fsck_table.h - the part of the check of a store (blob/fsck.h) that is about tables.
 *
 * The rows of the accounts come first, then the partitions of entities.  Deleted tables, which the
 * sweeper will empty by itself, are no fault.
 *
 * Memory: about 100 bytes for each table.
 */
#ifndef SERVICE_TABLE_FSCK_TABLE_H
#define SERVICE_TABLE_FSCK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "partition/partition.h"

struct fsck_table;

/* All zero bytes but for what the caller fills. */
struct fsck_tables {
    /* filled by the caller */
    struct partition_store *store;
    void (*report)(void *arg, const char *words); /* called for each finding */
    void *arg;

    /* results */
    uint64_t table_count;
    uint64_t entity_count;
    uint64_t deleted_count; /* tables that are to be swept */

    /* for the check */
    struct arena arena; /* of names */
    struct fsck_table *tables;
    size_t count;
    size_t capacity;
};

/* A row of an account: of a table, or of one that was deleted.  `account` and `name` are as they
   are to be printed; `key` and `row` as they are stored. */
void fsck_table_record(struct fsck_tables *tables, struct slice account, struct slice name,
                       struct slice key, struct slice row);
void fsck_table_deleted(struct fsck_tables *tables, struct slice account, uint64_t incarnation);

/* All rows of all accounts were seen. */
void fsck_table_sort(struct fsck_tables *tables);

/* A partition of entities. */
void fsck_table_partition(struct fsck_tables *tables, struct slice partition);

void fsck_table_release(struct fsck_tables *tables);

#endif
