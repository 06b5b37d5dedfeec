/*
 * fsck.h - does a store hold together?  Every record is read, every payload compared with its
 * checksums, and what records name is compared with what is there.
 *
 * A finding is one of
 *   damaged        a row or a payload that is not as it was written, or is missing
 *   unreachable    rows or bytes that nothing names and nothing will reclaim
 *   double-owned   two that use what only one of them owns
 * in words for people, one line each, with the name of the blob where one can be found.
 *
 * What the server will reclaim by itself when it runs is no fault and only counted: deleted
 * containers, dropped content, copies that did not end, blocks nobody committed, garbage in extents
 * after a crash.
 *
 * The store is not changed, and nobody else changes it meanwhile: it is opened with `read_only`.
 * Memory: about 60 bytes for each payload in an extent, and in turn for the blobs of one container.
 */
#ifndef SERVICE_BLOB_FSCK_H
#define SERVICE_BLOB_FSCK_H

#include <stdint.h>

#include "partition/partition.h"
#include "service/repair.h"

struct fsck_request {
    struct partition_store *store; /* with a stream */
    void (*finding)(void *arg, const char *words);
    void *arg;
    struct repair_list *repairs; /* what would set findings right is added; NULL: not wanted */
};

struct fsck_summary {
    uint64_t finding_count;
    uint64_t container_count;
    uint64_t blob_count; /* without snapshots */
    uint64_t snapshot_count;
    uint64_t kept_count; /* previous versions, and what is soft-deleted */
    uint64_t queue_count;
    uint64_t message_count;
    uint64_t table_count;
    uint64_t entity_count;
    uint64_t share_count;
    uint64_t share_snapshot_count;
    uint64_t kept_share_count; /* soft-deleted */
    uint64_t node_count;       /* directories and files */
    uint64_t extent_count;
    uint64_t live_bytes; /* of payloads in extents */

    /* to be reclaimed */
    uint64_t deleted_container_count;
    uint64_t deleted_queue_count;
    uint64_t deleted_table_count;
    uint64_t deleted_share_count;
    uint64_t dropped_count;     /* contents */
    uint64_t unfinished_count;  /* copies */
    uint64_t reclaimable_bytes; /* of extents */
};

/* Check the whole store.  What cannot be read is a finding too. */
void fsck_run(const struct fsck_request *request, struct fsck_summary *summary);

/* Who uses a payload, in words, in the arena; empty when nobody does.  Reads all metadata, and may
   be called while the store is used. */
struct slice fsck_users(struct partition_store *store, struct arena *arena,
                        const struct stream_range *range);

#endif
