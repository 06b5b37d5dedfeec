/*
 * share.h - shares: what the operations on them mean.
 *
 * A share's record, and those of its snapshots, are rows of its account's partition; what it holds
 * is in a partition of its own (file_name.h).
 *
 * Taking a snapshot is two changes.  The first keeps an instant of the share's partition: from then
 * on every change preserves what it replaces.  The second adds the snapshot's record, whose name is
 * that instant, within SHARE_SNAPSHOT_SEC or not at all.  A crash in between leaves an instant
 * without a record, which the sweeper lets go of when that time is over, and no snapshot, which
 * nobody was promised.
 *
 * Deleting a share, or a snapshot, removes its record; the sweeper removes what only it had.  While
 * the account's file service retains deleted shares (service_properties.h), the record of a share
 * becomes that of a soft-deleted one, and all else stays as it is: the snapshots are found by the
 * incarnation, whatever the share is called, and come back with it.  A snapshot that is deleted by
 * itself is gone at once.  A share that is soft-deleted is gone for everybody at its time, and
 * removed when the sweeper comes by.
 */
#ifndef SERVICE_FILE_SHARE_H
#define SERVICE_FILE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/access_policy.h"
#include "service/blob/container.h" /* lease_request */
#include "service/condition.h"
#include "service/lease.h"
#include "service/metadata.h"
#include "service/service.h"

enum {
    /* From the first change that makes a snapshot to the second, at most. */
    SHARE_SNAPSHOT_SEC = 60,
};

/* A share's record, and that of a snapshot of it. */
struct share {
    uint64_t incarnation; /* the tick it was made at; names its partition */
    int64_t etag;         /* also Last-Modified */
    int64_t created_at;   /* ticks */
    struct lease lease;
    struct metadata metadata;
    struct access_policies policies; /* not of a snapshot */
    uint64_t quota_gib;              /* 1 to LIMIT_SHARE_QUOTA_GIB_MAX */
    struct slice access_tier;        /* "TransactionOptimized", "Hot", "Cool", or empty */
    int64_t tier_changed_at;         /* ticks; 0 if never */
    struct slice root_squash;        /* of NFS shares: kept and given back, or empty */
    int64_t snapshot;                /* the instant, of a snapshot; 0: the share itself */

    /* of a share that is soft-deleted; 0 otherwise */
    int64_t deleted_at; /* ticks */
    int64_t expires_at; /* ticks: from then on it is gone */
};

/* The record's stored form.  Decoded slices point into the row.  ERR_CORRUPT. */
struct slice share_encode(struct arena *arena, const struct share *share);
MUST_CHECK enum err share_decode(struct arena *arena, struct slice row, struct share *share);

/* Row 'i' of a share's partition: an instant that is kept.  ERR_CORRUPT. */
struct instant {
    struct slice account; /* whose partition has the snapshot's record */
    bool is_confirmed;    /* the record was seen; else it may not be there */
};

struct slice instant_encode(struct arena *arena, const struct instant *instant);
MUST_CHECK enum err instant_decode(struct slice row, struct instant *instant);

/* Which share, or snapshot of it. */
struct share_name {
    struct slice account;
    struct slice share;
    int64_t snapshot; /* ticks; 0: the share itself */
};

/* --- reads --- */

/* ERR_SHARE_NOT_FOUND, ERR_SHARE_SNAPSHOT_NOT_FOUND; a lease id that was passed (or NULL) must be
   the active one.  The lease is settled. */
MUST_CHECK enum err share_get(struct service *service, struct arena *arena,
                              const struct share_name *name, const struct uuid *lease_id,
                              struct share *share);

/* How many bytes the share's files take at present, snapshots not counted.  The same errors. */
MUST_CHECK enum err share_get_usage(struct service *service, struct arena *arena,
                                    const struct share_name *name, const struct uuid *lease_id,
                                    uint64_t *bytes);

struct share_list_request {
    struct slice account;
    struct slice prefix;
    struct slice from;  /* the first name to list, or empty */
    int64_t from_place; /* among what has that name: as the last page said; 0: all of it */
    bool with_snapshots;
    bool with_deleted;
    size_t results_max;
    /* False ends the page after it.  The record is valid during the call, its lease settled. */
    bool (*emit)(void *arg, struct slice name, const struct share *share);
    void *arg;
};

/*
 * By name; of each name the snapshots of the share from the oldest on, the share, and those that
 * are soft-deleted, from the oldest on and without their snapshots.  `*next` and `*next_place` are
 * where the next page begins; an empty name when there is none.  All is as it was at one instant.
 */
MUST_CHECK enum err share_list(struct service *service, struct arena *arena,
                               const struct share_list_request *request, struct slice *next,
                               int64_t *next_place);

/* --- changes; see service/service.h for their life --- */

enum share_snapshots {
    SHARE_SNAPSHOTS_NONE,           /* there must be none */
    SHARE_SNAPSHOTS_INCLUDE,        /* they are deleted too, unless one is leased */
    SHARE_SNAPSHOTS_INCLUDE_LEASED, /* they are deleted in any case */
};

struct share_change {
    struct service_change base;
    struct share_name name;
    struct metadata metadata;        /* create, snapshot, set_metadata */
    bool has_metadata;               /* snapshot: replaces that of the share */
    uint64_t quota_gib;              /* create, set_properties; 0: as it is, or the default */
    struct slice access_tier;        /* the same; empty: as it is */
    struct slice root_squash;        /* the same */
    struct access_policies policies; /* set_acl */
    bool has_lease_id;
    struct uuid lease_id;
    enum share_snapshots snapshots; /* delete */
    uint64_t deleted_version;       /* restore: which of the deleted shares of that name, by its
                                       incarnation */
    struct slice deleted_name;      /* restore */
    struct share share; /* result: the record afterwards, without what it has in slices; of what was
                           deleted, the last */

    /* for the service */
    uint64_t incarnation; /* snapshot: whose instant was kept */
    int64_t taken;        /* snapshot: the instant */
};

/* ERR_SHARE_EXISTS */
void share_create(struct service *service, struct share_change *change);

/* ERR_SHARE_NOT_FOUND and the errors of lease_check_write: a leased share needs its id.  Of a
   snapshot, ERR_OPERATION_ON_SNAPSHOT. */
void share_set_properties(struct service *service, struct share_change *change);
void share_set_metadata(struct service *service, struct share_change *change);
void share_set_acl(struct service *service, struct share_change *change);

/* change->share.snapshot is its name.  A lease does not count.
 *   ERR_SHARE_NOT_FOUND, ERR_OPERATION_ON_SNAPSHOT
 *   ERR_SHARE_SNAPSHOT_COUNT   there are LIMIT_SHARE_SNAPSHOTS_MAX
 *   ERR_BUSY                   SHARE_SNAPSHOT_SEC were not enough */
void share_snapshot(struct service *service, struct share_change *change);

/* Of a share or of a snapshot: the errors of share_get and of lease_check_write, of the lease of
   what is deleted.  Of a share also ERR_SHARE_HAS_SNAPSHOTS, ERR_SHARE_SNAPSHOT_LEASED. */
void share_delete(struct service *service, struct share_change *change);

/* Bring a soft-deleted share back as `name`, with its snapshots.  ERR_SHARE_EXISTS,
   ERR_SHARE_NOT_FOUND. */
void share_restore(struct service *service, struct share_change *change);

struct share_lease {
    struct service_change base;
    struct share_name name;
    struct lease_request lease;
    struct share share; /* result: the record afterwards, without what it has in slices */
};

/* Of a share or of a snapshot: the errors of share_get and of the action (lease.h). */
void share_lease(struct service *service, struct share_lease *change);

#endif
