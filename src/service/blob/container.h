/*
 * container.h - containers: what the operations on them mean.
 *
 * A container's record is a row of its account's partition; its blobs are in partitions of their
 * own (service/blob/blob_name.h).  Deleting a container removes the row and leaves a note for the
 * sweeper, so it takes the same time whatever the container holds, and the name is free at once.
 */
#ifndef SERVICE_BLOB_CONTAINER_H
#define SERVICE_BLOB_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/access_policy.h"
#include "service/condition.h"
#include "service/lease.h"
#include "service/metadata.h"
#include "service/service.h"

/* What anybody may read without a credential. */
enum public_access {
    PUBLIC_NOTHING,
    PUBLIC_BLOBS,     /* blobs, but not their list */
    PUBLIC_CONTAINER, /* blobs, their list, and the container's properties */
};

/* A container's record. */
struct container {
    uint64_t incarnation; /* the tick it was made at; names its partition */
    int64_t etag;         /* also Last-Modified */
    struct lease lease;
    struct metadata metadata;
    enum public_access public_access;
    struct access_policies policies;
};

/* The record's stored form.  Decoded slices point into the row.  ERR_CORRUPT. */
struct slice container_encode(struct arena *arena, const struct container *container);
MUST_CHECK enum err container_decode(struct arena *arena, struct slice row,
                                     struct container *container);

/* Which container, under which name. */
struct container_name {
    struct slice account;
    struct slice container;
};

/* --- reads --- */

/* ERR_CONTAINER_NOT_FOUND; a lease id that was passed (or NULL) must be the active one. */
MUST_CHECK enum err container_get(struct service *service, struct arena *arena,
                                  const struct container_name *name, const struct uuid *lease_id,
                                  struct container *container);

/* The partition of a container's blobs.  ERR_CONTAINER_NOT_FOUND. */
MUST_CHECK enum err container_find_blobs(struct service *service, struct arena *arena,
                                         const struct container_name *name,
                                         struct slice *partition);

struct container_list_request {
    struct slice account;
    struct slice prefix;
    struct slice from; /* the first name to list, or empty */
    size_t results_max;
    /* Called for each container; false ends the page after it.  The record is valid during the
       call, its lease settled. */
    bool (*emit)(void *arg, struct slice name, const struct container *container);
    void *arg;
};

/* `*next` is the name the next page begins with, in the arena; empty when there is none. */
MUST_CHECK enum err container_list(struct service *service, struct arena *arena,
                                   const struct container_list_request *request,
                                   struct slice *next);

/* --- changes; see service/service.h for their life --- */

struct container_change {
    struct service_change base;
    struct container_name name;
    struct metadata metadata;         /* container_create, container_set_metadata */
    enum public_access public_access; /* container_create, container_set_acl */
    struct access_policies policies;  /* container_set_acl */
    struct condition condition;       /* all but container_create */
    bool has_lease_id;
    struct uuid lease_id;
    struct container container; /* result: the record afterwards (not for delete), without what it
                                   has in slices */
};

/* ERR_CONTAINER_EXISTS */
void container_create(struct service *service, struct container_change *change);

/* ERR_CONTAINER_NOT_FOUND, ERR_CONDITION_NOT_MET, and the errors of lease_check_read. */
void container_set_metadata(struct service *service, struct container_change *change);

/* Replace public access and all policies.  The same errors. */
void container_set_acl(struct service *service, struct container_change *change);

/* The same, and the errors of lease_check_write: a leased container needs its id. */
void container_delete(struct service *service, struct container_change *change);

/* --- leases, of containers and blobs alike --- */

enum lease_action {
    LEASE_ACTION_ACQUIRE,
    LEASE_ACTION_RENEW,
    LEASE_ACTION_CHANGE,
    LEASE_ACTION_RELEASE,
    LEASE_ACTION_BREAK,
};

struct lease_request {
    enum lease_action action;
    struct uuid id;          /* renew, change, release */
    struct uuid proposed_id; /* acquire (generated if the client named none), change */
    int32_t duration_sec;    /* acquire */
    int32_t break_sec;       /* break; LEASE_BREAK_SEC_DEFAULT if the client named none */

    /* results */
    int32_t remaining_sec; /* break */
};

/* Perform the action on a lease; the errors of the lease module. */
MUST_CHECK enum err lease_request_apply(struct lease_request *request, struct lease *lease,
                                        int64_t now_ms);

struct container_lease {
    struct service_change base;
    struct container_name name;
    struct condition condition;
    struct lease_request lease;
    struct container container; /* result: the record afterwards, without metadata */
};

/* ERR_CONTAINER_NOT_FOUND, ERR_CONDITION_NOT_MET, and the errors of the action. */
void container_lease(struct service *service, struct container_lease *change);

#endif
