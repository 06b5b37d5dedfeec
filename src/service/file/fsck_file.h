/*
 * fsck_file.h - the part of the check of a store (blob/fsck.h) that is about shares.
 *
 * The rows of the accounts come first, then the partitions of shares.  Contents of files are kept
 * as those of blobs are, and checked with them: the walk over a share tells which contents its
 * entries name.  What the sweeper will remove by itself is no fault: deleted shares and snapshots,
 * instants of snapshots that did not come to be, earlier states that no snapshot needs any more.
 *
 * Memory: 24 bytes for each directory and file of one share at a time.
 */
#ifndef SERVICE_FILE_FSCK_FILE_H
#define SERVICE_FILE_FSCK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/account_partition.h"
#include "service/payload.h"
#include "service/repair.h"

struct fsck_share;
struct fsck_snapshot;

/* All zero bytes but for what the caller fills. */
struct fsck_files {
    /* filled by the caller */
    struct partition_store *store;
    void (*report)(void *arg, const char *words); /* called for each finding */
    void *arg;
    struct repair_list *repairs; /* or NULL */

    /* results */
    uint64_t share_count;
    uint64_t snapshot_count;
    uint64_t kept_count;    /* soft-deleted shares */
    uint64_t node_count;    /* directories and files, as they are now */
    uint64_t deleted_count; /* shares that are to be swept */

    /* for the check */
    struct arena arena; /* of names */
    struct fsck_share *shares;
    size_t count;
    size_t capacity;
    struct fsck_snapshot *snapshots;
    size_t snapshots_count;
    size_t snapshots_capacity;
};

/* A row of an account: 's', 'd' or 'S'.  `account` is as it is to be printed. */
void fsck_file_record(struct fsck_files *files, struct slice account, struct slice key,
                      struct slice row);

/* A row 'g' of a share or a snapshot. */
void fsck_file_deleted(struct fsck_files *files, struct slice account,
                       const struct garbage *garbage);

/* All rows of all accounts were seen. */
void fsck_file_sort(struct fsck_files *files);

/* How messages call the share of an incarnation; empty when there is none. */
struct slice fsck_file_label(const struct fsck_files *files, uint64_t incarnation);

/* A walk over the partition of a share. */
struct fsck_file_walk {
    struct partition_view *view; /* of the partition */
    uint64_t incarnation;
    struct slice label;                                        /* ends with a NUL */
    void (*content)(void *arg, const struct content *content); /* an entry names it */
    void *arg;

    /* results */
    bool needs_mark;           /* there is something that is found by the mark */
    uint64_t unfinished_count; /* copies under way */
};

void fsck_file_partition(struct fsck_files *files, struct fsck_file_walk *request);

/* The name of an entry that has the content, in the arena; empty when none has. */
struct slice fsck_file_find(const struct fsck_files *files, struct arena *arena,
                            uint64_t incarnation, uint64_t content_id);

void fsck_file_release(struct fsck_files *files);

#endif
