/*
 * blob.h - blobs: what the operations on them mean.
 *
 * A blob's record is a row of its container's partition and names its content: bytes in a row of
 * the same partition, or a range of an extent (service/payload.h).  Record and content change in
 * one update, so a reader sees either all of the old state or all of the new.
 */
#ifndef SERVICE_BLOB_BLOB_H
#define SERVICE_BLOB_BLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/blob/container.h"
#include "service/condition.h"
#include "service/lease.h"
#include "service/metadata.h"
#include "service/payload.h"
#include "service/service.h"

/* The stored HTTP properties of a blob, all optional. */
struct blob_properties {
    struct slice content_type;
    struct slice content_encoding;
    struct slice content_language;
    struct slice cache_control;
    struct slice content_disposition;
    struct slice content_md5; /* 16 bytes, or empty */
};

enum blob_type {
    BLOB_BLOCK,
    BLOB_APPEND,
    BLOB_PAGE,
};

enum blob_copy_status {
    BLOB_COPY_NONE, /* the blob was not made by a copy, or was changed since */
    BLOB_COPY_PENDING,
    BLOB_COPY_SUCCESS,
    BLOB_COPY_ABORTED,
    BLOB_COPY_FAILED,
};

/* The last copy into a blob.  All zero bytes is none. */
struct blob_copy {
    enum blob_copy_status status;
    struct uuid id;
    struct slice source;      /* URL, as the client gave it */
    struct slice description; /* why it failed, or empty */
    uint64_t copied_bytes;
    uint64_t total_bytes;
    int64_t completed_at; /* ticks; 0 while pending */
    bool incremental;
    int64_t source_snapshot; /* ticks; of incremental copies: the last one copied */
};

/* A blob's record. */
struct blob {
    enum blob_type type;
    int64_t etag;       /* also Last-Modified */
    int64_t created_at; /* ticks; kept when the blob is overwritten */
    int64_t made_at;    /* ticks; the Put Blob or copy that made the content it began with */
    struct content content;
    struct blob_properties properties;
    struct metadata metadata;
    struct lease lease;
    struct metadata tags;
    struct slice tier;               /* "Hot", "Cool", ...; empty: inferred */
    int64_t tier_changed_at;         /* ticks; 0 if never */
    struct slice archive_status;     /* "rehydrate-pending-to-hot", ... or empty */
    struct slice rehydrate_priority; /* "High", "Standard" while that is so, or empty */
    struct blob_copy copy;

    /* append blobs; block_count of block blobs too */
    uint64_t block_count; /* committed */
    bool sealed;

    /* page blobs */
    uint64_t sequence_number;

    /* ticks: the version's name; 0: the blob is not a version.  Of a snapshot: not 0 if its blob
       was one, and so may have gone without it. */
    int64_t version_id;

    /* of what is soft-deleted; 0 otherwise */
    int64_t deleted_at; /* ticks */
    int64_t expires_at; /* ticks: from then on it is gone */

    bool is_current; /* not stored, a result of blob_get: it is the current version */
};

/* The record's stored form.  Decoded slices point into the row.  ERR_CORRUPT. */
struct slice blob_encode(struct arena *arena, const struct blob *blob);
MUST_CHECK enum err blob_decode(struct arena *arena, struct slice row, struct blob *blob);

/* Which blob, under which name. */
struct blob_name {
    struct container_name container;
    struct slice blob;
    int64_t snapshot; /* the tick it was taken at; 0: not a snapshot */
    int64_t version;  /* its id; 0: the base blob, if it is not a snapshot either */
};

/* The key of the record; of a version, if it is not the current one. */
struct slice blob_record_key(struct arena *arena, const struct blob_name *name);

/* --- reads --- */

struct blob_get_request {
    struct blob_name name;
    struct condition condition;
    bool has_lease_id;
    struct uuid lease_id;
    bool want_payload;
};

/*
 * The record, and its bytes if they are wanted; both in the arena.  Lease and tier are settled.
 *   ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND
 *   the errors of lease_check_read, condition_check_read and tag_check, in this order
 *   ERR_BLOB_ARCHIVED, ERR_BLOB_REHYDRATING, ERR_INCREMENTAL_BLOB   the bytes are wanted
 */
MUST_CHECK enum err blob_get(struct service *service, struct arena *arena,
                             const struct blob_get_request *request, struct blob *blob,
                             struct payload_reader *payload);

/* A place in a listing: a name (or beginning of names) and, among what has that name, a
   snapshot. */
struct blob_position {
    struct slice name; /* empty: the beginning, or the end */
    int64_t snapshot;  /* 0: before the first snapshot; BLOB_POSITION_BASE: at the base blob */
    char kind;         /* 0, or of a record of the blob's history (history.h) */
};

enum {
    BLOB_POSITION_BASE = -1,
};

struct blob_list_entry {
    struct slice name;
    int64_t snapshot;        /* 0: not a snapshot */
    bool is_previous;        /* a version that is not the current one */
    const struct blob *blob; /* NULL: a common beginning of names, or a blob not committed yet */
    bool is_uncommitted;     /* there are only uncommitted blocks of it */
};

struct blob_list_request {
    struct container_name container;
    struct slice prefix;
    struct slice delimiter; /* UTF-8; empty: every blob is listed */
    struct blob_position from;
    bool with_snapshots;
    bool with_versions;
    bool with_deleted; /* soft-deleted blobs, and of snapshots and versions if they are wanted */
    bool with_uncommitted;
    size_t results_max;
    /* Called for each entry in order: by name, the snapshots and versions of a name from the oldest
       on and then its base blob.  False ends the page after it.  The entry is valid during the
       call; lease and tier are settled. */
    bool (*emit)(void *arg, const struct blob_list_entry *entry);
    void *arg;
};

/*
 * One page of a container's blobs, as they were at one instant.  `*next` is where the next page
 * begins, in the arena; its name is empty when there is none.  It is another
 * than request->from.  ERR_CONTAINER_NOT_FOUND.
 */
MUST_CHECK enum err blob_list(struct service *service, struct arena *arena,
                              const struct blob_list_request *request, struct blob_position *next);

/* --- changes; see service/service.h for their life --- */

/*
 * What is kept of blobs that are replaced or deleted: settings of the account and of the server,
 * looked up just before the update.  A setting that changes at the same instant counts as changed
 * before the operation or after it.  All zero bytes: nothing is kept.
 */
struct blob_protection {
    int64_t retention_ticks; /* how long soft-deleted blobs are kept; 0: there is no soft delete */
    bool keeps_versions;
    bool allows_permanent_delete;
};

/* What Delete Blob does about snapshots. */
enum blob_snapshots {
    BLOB_SNAPSHOTS_NONE,    /* there must be none */
    BLOB_SNAPSHOTS_INCLUDE, /* they are deleted with the blob */
    BLOB_SNAPSHOTS_ONLY,    /* they are deleted and the blob is kept */
};

struct page_properties;

struct blob_change {
    struct service_change base;
    struct blob_name name;
    struct condition condition;
    bool has_lease_id;
    struct uuid lease_id;
    struct blob_properties properties; /* blob_put, blob_set_properties */
    struct metadata metadata;          /* blob_put, blob_set_metadata */
    struct metadata tags;              /* blob_put, blob_set_tags: checked and in order (tag.h) */
    struct slice tier;                 /* blob_put: a tier of tier.h; empty: inherited */
    enum blob_snapshots snapshots;     /* blob_delete */
    struct payload_writer *payload;    /* blob_put: finished */
    bool create_only;                  /* blob_put: the caller may not overwrite */
    bool keeps_copy; /* the blob still counts as the copy it was made by: Put Page */

    bool is_incremental_copy; /* which is all that may change the destination of one */

    bool is_permanent_delete; /* blob_delete: of something soft-deleted already */

    const struct page_properties *page; /* blob_set_properties: more of a page blob, or NULL */
    bool keep_properties;               /* blob_set_properties: only what `page` says */

    /* results */
    int64_t etag;             /* of the blob afterwards */
    enum blob_type type;      /* blob_set_properties */
    uint64_t sequence_number; /* the same */
    int64_t version_id;       /* of the version the change made; 0: none */
    bool was_kept;            /* blob_delete: what was deleted can come back */

    /* for the service */
    struct blob_protection protection;
    struct slice partition;
    change_fn *decide;
};

/*
 * Create or replace a block blob.  The whole set of properties and metadata is replaced, the lease
 * of a replaced blob is kept.
 *   ERR_CONTAINER_NOT_FOUND, ERR_UNAUTHORIZED_OVERWRITE, the errors of lease_check_write (a lease
 *   id on a blob that does not exist is ERR_LEASE_NOT_PRESENT_BLOB) and condition_check_replace
 */
void blob_put(struct service *service, struct blob_change *change);

/* Replace all properties.  ERR_BLOB_NOT_FOUND, the errors of a write and of
   page_properties_apply. */
void blob_set_properties(struct service *service, struct blob_change *change);

/* Replace all metadata.  The same errors. */
void blob_set_metadata(struct service *service, struct blob_change *change);

/*
 * Delete the blob, its snapshots, or the one snapshot or version that the name says.  What is kept
 * is said in history.h.  The same errors, and
 *   ERR_SNAPSHOTS_PRESENT           the blob has snapshots, which are to be kept
 *   ERR_CURRENT_VERSION             the version is the current one
 *   ERR_PERMANENT_DELETE_REFUSED    the account does not allow it, or it is the base blob
 *   ERR_NOT_SOFT_DELETED            what is to be deleted for good is not
 */
void blob_delete(struct service *service, struct blob_change *change);

struct blob_lease {
    struct service_change base;
    struct blob_name name;
    struct condition condition;
    struct lease_request lease;
    int64_t etag;           /* result: unchanged by the action */
    struct lease lease_now; /* result */
};

/* A blob that has only uncommitted blocks can be leased, too; the blob that is made of them has the
   lease then.  ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND, ERR_CONDITION_NOT_MET, the action's
   errors. */
void blob_lease(struct service *service, struct blob_lease *change);

#endif
