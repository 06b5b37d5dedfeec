/*
 * snapshot.h - snapshots of blobs.
 *
 * A snapshot is a record of its own (key: name and the tick it was taken at) that names the same
 * content as the blob did then.  Content is shared by counting (segments.h), so taking a snapshot
 * costs the same whatever the blob holds.  A blob that has snapshots exists: it cannot be deleted
 * before them, only with them.
 *
 * Tags of snapshots are kept with them and not in the index of tags.
 */
#ifndef SERVICE_BLOB_SNAPSHOT_H
#define SERVICE_BLOB_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/service.h"

struct blob_snapshot {
    struct service_change base;
    struct blob_name name;
    struct condition condition;
    bool has_lease_id; /* optional, even if the blob is leased */
    struct uuid lease_id;
    struct metadata metadata; /* empty: that of the blob */

    /* results */
    int64_t snapshot; /* the tick it was taken at: its name */
    int64_t etag;     /* of the snapshot: that of the blob, unless it has metadata of its own */
};

/*
 * Take a snapshot; the blob does not change.
 *   ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND
 *   the errors of lease_check_read; ERR_CONDITION_NOT_MET
 *   ERR_BLOB_ARCHIVED, ERR_BLOB_REHYDRATING, ERR_PENDING_COPY
 */
void blob_snapshot(struct service *service, struct blob_snapshot *change);

/*
 * In a decision to delete a blob: delete its snapshots, or see that there are none.  All go in one
 * change, so that nobody sees some of them: its time and memory grow with their number, by a row
 * each.
 *   ERR_SNAPSHOTS_PRESENT   there are, and `what` is BLOB_SNAPSHOTS_NONE
 */
MUST_CHECK enum err snapshots_delete(struct change *change, struct slice name,
                                     enum blob_snapshots what);

#endif
