/*
 * blob_decide.h - what the decision functions of blob operations have in common.
 *
 * A decision about an existing blob reads it with blob_decide_for_write, which makes all checks in
 * their order (existence, lease, HTTP conditions, tag condition, archive), changes the record and
 * stores it with blob_decide_put_changed.  One that makes or replaces a blob begins with
 * blob_decide_for_replace, fills a new record, and ends with blob_decide_replace.
 *
 * For the files of this directory.
 */
#ifndef SERVICE_BLOB_BLOB_DECIDE_H
#define SERVICE_BLOB_BLOB_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/service.h"

/* The instant of the change in milliseconds: the unit of leases. */
int64_t change_now_ms(const struct change *change);

/* Look up the container and run `decide` in the partition of its blobs, or refuse the change. */
void blob_start(struct service *service, struct service_change *base,
                const struct container_name *container, change_fn *decide);

/* Look up what is kept of what the change replaces or deletes.  False: it was refused. */
MUST_CHECK bool blob_find_protection(struct service *service, struct blob_change *change);

/* The same for a change with a payload: once its bytes can be named by metadata. */
void blob_start_payload(struct service *service, struct blob_change *change, change_fn *decide);

/* The record, for a read that goes on in the same view: all that blob_get says but the bytes. */
MUST_CHECK enum err blob_get_in_view(struct service *service, struct partition_view *view,
                                     struct arena *arena, const struct blob_get_request *request,
                                     struct blob *blob);

/*
 * The record of a blob or snapshot, and of the base blob of that name; the tier is settled.
 * ERR_BLOB_NOT_FOUND; ERR_CONTAINER_NOT_FOUND when the container is deleted.
 */
MUST_CHECK enum err blob_decide_get_record(struct change *change, const struct blob_name *name,
                                           struct blob *blob);
MUST_CHECK enum err blob_decide_get(struct change *change, struct slice name, struct blob *blob);

/* The same with lease, HTTP conditions and tag condition checked as for a write: for what may be
   done to archived blobs too. */
MUST_CHECK enum err blob_decide_checked(struct change *change, const struct blob_change *request,
                                        struct blob *blob);

/* These checks alone, of a record that was found. */
MUST_CHECK enum err blob_decide_check(struct change *change, const struct blob_change *request,
                                      struct blob *blob);

/* ERR_INCREMENTAL_BLOB for the destination of incremental copies: of a base blob only. */
MUST_CHECK enum err blob_check_usable(const struct blob *blob);

/* An existing blob for a request that changes it, with all checks made: the errors of a write. */
MUST_CHECK enum err blob_decide_for_write(struct change *change, const struct blob_change *request,
                                          struct blob *blob);

/*
 * For a request that makes or replaces a blob: the record it replaces, with all checks made.
 * `*exists` says whether there is one; `old` is all zero bytes otherwise.
 *   ERR_UNAUTHORIZED_OVERWRITE and the errors of lease_check_write and condition_check_replace
 */
MUST_CHECK enum err blob_decide_for_replace(struct change *change,
                                            const struct blob_change *request, struct blob *old,
                                            bool *exists);

/*
 * Store `blob` in the place of `old` (of blob_decide_for_replace), which is kept as history.h says,
 * or its content dropped.  Keeps the lease and the time of creation, sets the ETag
 * and version, the results of the request, its tags and its tier (or the old one), and everything
 * that is derived from records, such as the index of tags.  The caller has set type, content,
 * properties and metadata.
 *   ERR_INVALID_BLOB_TYPE   there are versions of another type
 */
MUST_CHECK enum err blob_decide_replace(struct change *change, struct blob_change *request,
                                        const struct blob *old, bool exists, struct blob *blob);

/* Store the changed record under a new ETag, the result of the request. */
void blob_decide_put_changed(struct change *change, struct blob_change *request, struct blob *blob);

/* Store the record as it is: of a blob or snapshot, and of the base blob of that name. */
void blob_decide_put_record(struct change *change, const struct blob_name *name,
                            const struct blob *blob);
void blob_decide_put(struct change *change, struct slice name, const struct blob *blob);

#endif
