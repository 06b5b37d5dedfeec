/*
 * history.h - what blobs were: soft-deleted blobs and snapshots, and previous versions.
 *
 * A record that is replaced or deleted, and is to be kept, moves from its 'b' key to an 'h' key of
 * the same partition ('h' name 00 tick kind), and names its content there as before.  So whoever
 * looks a blob or snapshot up finds what is there and nothing else, in as many steps as if nothing
 * were ever kept; only listings that ask for it, requests that name a version, and Undelete Blob
 * look here.
 *
 *   kind 'd'  soft-deleted.  Tick: of a snapshot, its own; of a state that was overwritten, the
 *             instant it was; of a deleted base blob HISTORY_BASE, so that it is found at once.
 *   kind 'v'  a previous version.  Tick: its id.  It may be soft-deleted too.
 *
 * What is soft-deleted has an instant at which it expires, fixed when it was deleted; from then on
 * it is gone for everybody, whether the sweeper has removed it or not.  An 'e' row leads the
 * sweeper to it in the order of time, and the partition is marked.
 *
 *   base, nothing kept       --replace, delete-->  dropped
 *   base, soft delete        --replace-->  'd' at this tick      --delete-->  'd' at HISTORY_BASE
 *   base that is a version   --replace, delete, Set Metadata, Snapshot Blob-->  'v' at its id
 *   snapshot, soft delete    --delete-->  'd' at its tick
 *   'v', soft delete         --delete-->  'v' that is soft-deleted
 *   'd'                      --undelete-->  base or snapshot
 *   soft-deleted 'v'         --undelete-->  'v'
 *   soft-deleted             --permanent delete, time-->  dropped
 *
 * A deleted base blob whose name was used again is a snapshot of the new blob, taken at the
 * instant of its deletion; if the new blob is of another type, all that is soft-deleted of the name
 * is dropped.  A base blob that is a version is kept as one even if the server no longer makes
 * versions; only the new state is none then.
 *
 * Functions that take a `struct change` are for decisions.
 */
#ifndef SERVICE_BLOB_HISTORY_H
#define SERVICE_BLOB_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/service.h"

enum history_kind {
    HISTORY_DELETED = 'd',
    HISTORY_VERSION = 'v',
};

/* The tick of a deleted base blob: after all others. */
#define HISTORY_BASE UINT64_MAX

/* What the account and the server say about keeping.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err history_find_protection(struct service *service, struct arena *arena,
                                            struct slice account,
                                            struct blob_protection *protection);

/* Whether a record is soft-deleted, and for good: nobody sees it any more. */
bool history_is_expired(const struct blob *blob, int64_t now);

/* --- finding versions --- */

/* The record of a blob, snapshot or version; name->version becomes 0 if it is the current one.
   ERR_BLOB_NOT_FOUND. */
MUST_CHECK enum err history_find(struct change *change, struct blob_name *name, struct blob *blob);
MUST_CHECK enum err history_view_find(struct partition_view *view, struct arena *arena,
                                      struct blob_name *name, struct blob *blob);

/* --- replacing and deleting --- */

/* Whether the base blob `old` will be kept when it is replaced. */
bool history_keeps(const struct blob_protection *protection, const struct blob *old);

/* A new base blob of `type` is made where there was none.
   ERR_INVALID_BLOB_TYPE   versions of the name are of another type */
MUST_CHECK enum err history_begin(struct change *change, const struct blob_protection *protection,
                                  struct slice name, enum blob_type type);

/* The base blob `old` is replaced by one of `type`.  The same error. */
MUST_CHECK enum err history_replaced(struct change *change,
                                     const struct blob_protection *protection, struct slice name,
                                     const struct blob *old, enum blob_type type);

/* The base blob, or a snapshot, is deleted; its row is removed by the caller.  `*kept` says that it
   can come back. */
MUST_CHECK enum err history_deleted(struct change *change, const struct blob_protection *protection,
                                    const struct blob_name *name, const struct blob *old,
                                    bool *kept);

/*
 * The record `blob` of the base blob is about to be changed by something that makes a version of
 * it: it is kept as it is, if it is a version or versions are made, and has the id of the new
 * version then, which is the result of the request.
 */
MUST_CHECK enum err history_fork(struct change *change, const struct blob_protection *protection,
                                 struct slice name, struct blob *blob);

/* The id of the version that a change makes; 0: none. */
int64_t history_version_id(const struct change *change, const struct blob_protection *protection);

/*
 * Delete a version other than the current one, found by history_find.
 */
MUST_CHECK enum err history_delete_version(struct change *change,
                                           const struct blob_protection *protection,
                                           const struct blob_name *name, const struct blob *blob,
                                           bool *kept);

/*
 * Delete a soft-deleted snapshot or version for good.  The errors of its conditions, and
 *   ERR_PERMANENT_DELETE_REFUSED, ERR_NOT_SOFT_DELETED, ERR_CURRENT_VERSION, ERR_BLOB_NOT_FOUND
 */
MUST_CHECK enum err history_delete_for_good(struct change *change,
                                            const struct blob_change *request);

/* For the sweeper: remove the record of an 'e' row, and the row, unless it is too early and the
   partition is not closed.  A record that is not there is fine. */
MUST_CHECK enum err history_expire(struct change *change, struct slice expiry_key, bool is_closed);

/* --- Undelete Blob --- */

struct blob_undelete {
    struct service_change base;
    struct blob_name name;
};

/*
 * Bring back the blob, if it is soft-deleted, and all that is soft-deleted of its snapshots and
 * versions.  They are as they were, but for the lease.  Nothing to bring back is fine.  All come in
 * one change, whose time and memory grow with their number, by two rows each.
 *   ERR_CONTAINER_NOT_FOUND
 *   ERR_BLOB_NOT_FOUND   there is neither a blob of that name nor a version, deleted or not
 *   ERR_BUSY             snapshots of the name that were deleted are still to be removed
 */
void blob_undelete(struct service *service, struct blob_undelete *change);

#endif
