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

/* A blob's record. */
struct blob {
    int64_t etag;       /* also Last-Modified */
    int64_t created_at; /* ticks; kept when the blob is overwritten */
    struct content content;
    struct blob_properties properties;
    struct metadata metadata;
    struct lease lease;
};

/* The record's stored form.  Decoded slices point into the row.  ERR_CORRUPT. */
struct slice blob_encode(struct arena *arena, const struct blob *blob);
MUST_CHECK enum err blob_decode(struct arena *arena, struct slice row, struct blob *blob);

/* In a decision: content that no record names any more is removed or disowned. */
void blob_drop_content(struct change *change, const struct content *content);

/* Which blob, under which name. */
struct blob_name {
    struct container_name container;
    struct slice blob;
};

/* --- reads --- */

struct blob_get_request {
    struct blob_name name;
    struct condition condition;
    bool has_lease_id;
    struct uuid lease_id;
    bool want_payload;
};

/*
 * The record, and its bytes if they are wanted; both in the arena.  The lease is settled.
 *   ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND
 *   the errors of lease_check_read and condition_check_read, in this order
 */
MUST_CHECK enum err blob_get(struct service *service, struct arena *arena,
                             const struct blob_get_request *request, struct blob *blob,
                             struct payload_reader *payload);

struct blob_list_request {
    struct container_name container;
    struct slice prefix;
    struct slice delimiter; /* UTF-8; empty: every blob is listed */
    struct slice from;      /* the name (or beginning of names) to start at, or empty */
    size_t results_max;
    /* Called for each entry in order of name; false ends the page after it.  `blob` is NULL for a
       common beginning of names up to the delimiter.  Both are valid during the call. */
    bool (*emit)(void *arg, struct slice name, const struct blob *blob);
    void *arg;
};

/*
 * One page of a container's blobs, as they were at one instant.  `*next` is the name the next page
 * begins with, in the arena; empty when there is none.  ERR_CONTAINER_NOT_FOUND.
 */
MUST_CHECK enum err blob_list(struct service *service, struct arena *arena,
                              const struct blob_list_request *request, struct slice *next);

/* --- changes; see service/service.h for their life --- */

struct blob_change {
    struct service_change base;
    struct blob_name name;
    struct condition condition;
    bool has_lease_id;
    struct uuid lease_id;
    struct blob_properties properties; /* blob_put, blob_set_properties */
    struct metadata metadata;          /* blob_put, blob_set_metadata */
    struct payload_writer *payload;    /* blob_put: finished */
    bool create_only;                  /* blob_put: the caller may not overwrite */

    /* results */
    int64_t etag; /* of the blob afterwards */

    /* for the service */
    struct slice partition;
};

/*
 * Create or replace a block blob.  The whole set of properties and metadata is replaced, the lease
 * of a replaced blob is kept.
 *   ERR_CONTAINER_NOT_FOUND, ERR_UNAUTHORIZED_OVERWRITE, the errors of lease_check_write (a lease
 *   id on a blob that does not exist is ERR_LEASE_NOT_PRESENT_BLOB) and condition_check_replace
 */
void blob_put(struct service *service, struct blob_change *change);

/* Replace all properties.  ERR_BLOB_NOT_FOUND and the errors of a write. */
void blob_set_properties(struct service *service, struct blob_change *change);

/* Replace all metadata.  The same errors. */
void blob_set_metadata(struct service *service, struct blob_change *change);

/* The same errors. */
void blob_delete(struct service *service, struct blob_change *change);

struct blob_lease {
    struct service_change base;
    struct blob_name name;
    struct condition condition;
    struct lease_request lease;
    int64_t etag;           /* result: unchanged by the action */
    struct lease lease_now; /* result */
};

/* ERR_CONTAINER_NOT_FOUND, ERR_BLOB_NOT_FOUND, ERR_CONDITION_NOT_MET, the action's errors. */
void blob_lease(struct service *service, struct blob_lease *change);

#endif
