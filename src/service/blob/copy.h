/*
 * copy.h - a blob made from another one.
 *
 * A source in this server is copied at once.  In the same container the copy shares the content
 * (segments.h), or, of append blobs, gets a list of its own, a long one in steps; in another
 * container it gets rows of its own for the same ranges of extents (clone.h).  No byte of an extent
 * is read, so it takes the same time whatever the blob holds, but for its list.  The copy is the
 * state the source had at one instant: conditions on the source are checked against that state.
 *
 * A source elsewhere arrives as a payload, which the front end fetches.  Either it waits for all of
 * it (copy_put), or it makes the destination an empty blob with a pending copy and goes on in the
 * background:
 *
 *   copy_begin            -> pending   the destination is empty; nobody else may change it
 *   pending -> pending    copy_step with bytes copied so far
 *   pending -> success    copy_step with the payload
 *   pending -> failed     copy_step with a description; copy_recover after a restart
 *   pending -> aborted    copy_abort, by a client; the destination stays empty
 *
 * A pending copy has a row of its own ('q' blob name) in a marked partition.  A copy does not go on
 * after a restart: what was fetched is gone with the process, and the credentials of the request
 * are not stored.  copy_recover marks such copies failed, and the client starts again.
 */
#ifndef SERVICE_BLOB_COPY_H
#define SERVICE_BLOB_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/blob/blob.h"
#include "service/blob/clone.h"
#include "service/condition.h"
#include "service/service.h"

/* --- changes; see service/service.h for their life --- */

struct copy_change {
    struct blob_change blob; /* first: the destination.  Empty metadata: that of the source */
    struct uuid id;
    struct slice url;          /* of the source, as it is to be shown */
    bool needs_infinite_lease; /* a leased destination's lease must be infinite: Copy Blob */
    bool seals;                /* an append blob is sealed, even if its source is not */
    bool copies_tags;          /* copy_blob: instead of those of `blob` */
    bool is_block_only;        /* copy_blob: the source must be a block blob */

    bool is_incremental; /* copy_blob: see below */

    /* copy_blob: where from */
    struct blob_name source;
    struct condition source_condition;
    bool has_source_etag; /* the source must be in this state: it was looked at before */
    int64_t source_etag;

    /* copy_put, copy_begin: what the source is.  Properties are in `blob`. */
    enum blob_type type;
    uint64_t sequence_number;
    uint64_t total_bytes;

    /* for the service */
    struct clone clone;
    struct slice source_partition;
    bool is_long;              /* a copy within the partition is made in steps, too */
    struct blob source_record; /* in the arena, for a source in another partition */
    enum err outcome;
};

/*
 * Copy a blob or snapshot of this server.  The errors of blob_put (but that a condition which does
 * not hold is ERR_TARGET_CONDITION_NOT_MET), and
 *   ERR_INFINITE_LEASE_REQUIRED
 *   ERR_COPY_SOURCE_NOT_FOUND      the blob or its container
 *   ERR_SOURCE_CONDITION_NOT_MET
 *   ERR_COPY_SOURCE_CONDITION      it is not in the state of `source_etag`
 *   ERR_BLOB_ARCHIVED, ERR_BLOB_REHYDRATING   the source, unless the copy names a tier
 *   ERR_PENDING_COPY               to the source or the destination
 *   ERR_INCREMENTAL_BLOB           one of them is for incremental copies only
 *   ERR_INVALID_SOURCE_TYPE        the source is no block blob, and must be
 *   ERR_CANNOT_OVERWRITE_TYPE      the destination is of another type
 */
void copy_blob(struct service *service, struct copy_change *change);

/*
 * With `is_incremental`, copy_blob copies a snapshot of a page blob and takes a snapshot of the
 * copy, whose name is the copy's ETag.  Repeated with later snapshots, the snapshots of the copy
 * differ from each other as those of the source do (page_ranges).  Further errors:
 *   ERR_INCREMENTAL_NEEDS_SNAPSHOT     the source is no snapshot
 *   ERR_INVALID_SOURCE_TYPE            it is not of a page blob
 *   ERR_INCREMENTAL_OTHER_BLOB         the destination is something else, or of another source
 *   ERR_INCREMENTAL_EARLIER_SNAPSHOT   than the last one copied, or the same
 */

/* Make the destination, a block blob, from a payload that is finished.  The errors above that are
   about the destination. */
void copy_put(struct service *service, struct copy_change *change);

/* Make the destination an empty blob with a pending copy.  The same errors. */
void copy_begin(struct service *service, struct copy_change *change);

/* --- a pending copy --- */

/* A copy to a blob, or the beginning of one to a file (service/file/file_copy.h). */
struct copy_step {
    struct service_change base;
    struct slice partition; /* of the destination: copy_partition */
    struct slice blob;      /* copy_step */
    struct uuid id;
    uint64_t copied_bytes;
    struct payload_writer *payload; /* all bytes, finished: the copy succeeds; or NULL */
    struct slice description;       /* why the copy fails, or empty */

    /* result */
    bool is_gone; /* the destination: its container was deleted */
};

/* The partition of a destination, in the arena.  ERR_CONTAINER_NOT_FOUND. */
MUST_CHECK enum err copy_partition(struct service *service, struct arena *arena,
                                   const struct blob_name *name, struct slice *partition);

/*
 * The copy has come so far.  There is nothing to go on with if the destination `is_gone`, or with
 *   ERR_NO_PENDING_COPY, ERR_COPY_ID_MISMATCH   the copy was aborted
 */
void copy_step(struct service *service, struct copy_step *step);

struct copy_abort {
    struct service_change base;
    struct blob_name name;
    bool has_lease_id;
    struct uuid lease_id;
    struct uuid id; /* of the copy */
};

/*
 * End a pending copy; the destination stays as an empty blob.
 *   ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND, the errors of lease_check_write
 *   ERR_NO_PENDING_COPY, ERR_COPY_ID_MISMATCH
 */
void copy_abort(struct service *service, struct copy_abort *change);

/* What the two kinds of destination share: whether this copy to it is pending (ERR_NO_PENDING_COPY,
   ERR_COPY_ID_MISMATCH), the row that says so, and why it is over after a restart. */
MUST_CHECK enum err copy_check_pending(const struct blob_copy *copy, const struct uuid *id);
struct slice copy_pending_row(struct arena *arena);
struct slice copy_restart_description(void);

/*
 * After a start: copies that were pending, to blobs and to files, have failed, and content that was
 * being made is given back.  Called before the first request.
 */
MUST_CHECK enum err copy_recover(struct service *service);

#endif
