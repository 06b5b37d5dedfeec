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
    int64_t snapshot;   /* the tick it was taken at: its name */
    int64_t etag;       /* of the snapshot: that of the blob, unless it has metadata of its own */
    int64_t version_id; /* of the blob, which is a new version; 0: none */

    /* for the service */
    struct blob_protection protection;
};

/*
 * Take a snapshot; the blob does not change, but that it is a new version where versions are made.
 *   ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND
 *   the errors of lease_check_read; ERR_CONDITION_NOT_MET
 *   ERR_BLOB_ARCHIVED, ERR_BLOB_REHYDRATING, ERR_PENDING_COPY
 */
void blob_snapshot(struct service *service, struct blob_snapshot *change);

/*
 * In a decision to delete a blob: delete its snapshots, or see that there are none.  All go in one
 * change, so that nobody sees some of them.  Very many that are not kept go by one row ('o' name),
 * which says that all taken before this instant are gone; the sweeper removes their records.  If
 * they are kept, time and memory grow with their number, by two rows each.
 * They are kept as history.h says; that they were is a result of the request.
 *   ERR_SNAPSHOTS_PRESENT   there are, and request->snapshots is BLOB_SNAPSHOTS_NONE
 */
MUST_CHECK enum err snapshots_delete(struct change *change, struct blob_change *request);

/* Snapshots of the name that were taken before `*floor` are gone, though their records may be
   there; 0 if there are no such.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err snapshots_floor(struct change *change, struct slice name, int64_t *floor);
MUST_CHECK enum err snapshots_view_floor(struct partition_view *view, struct arena *arena,
                                         struct slice name, int64_t *floor);

/* What an 'o' row says.  ERR_CORRUPT. */
MUST_CHECK enum err outdated_decode(struct slice row, int64_t *floor);

/*
 * For the sweeper: remove some of the snapshots that the 'o' row `key` is about, from the key
 * `from` on (empty: from the first).  `*next` is where the rest begins, in the arena; it is empty
 * when there is none, and then the row is gone, too.
 */
MUST_CHECK enum err snapshots_sweep(struct change *change, struct slice key, struct slice from,
                                    struct arena *arena, struct slice *next);

#endif
