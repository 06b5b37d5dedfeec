/*
 * node.h - directories and files: what the operations on them mean.
 *
 * A node is a directory or a file.  Its record is an entry of its parent directory in the share's
 * partition (file_name.h) and has all there is to know of it but a file's bytes, which are a list
 * with gaps as that of a page blob (blob/page_map.h), in units of bytes.  An operation names a node
 * by its path; the decision walks the path from the root, so a rename of any directory above is
 * seen whole or not at all.
 *
 * Opens.  What SMB clients have open counts too (open_table.h).  An operation looks its node up,
 * becomes a transient open of the node's id for as long as it lasts, and its decision refuses to
 * go on (ERR_NODE_MOVED, which the service answers by trying again) when the path has come to name
 * another node meanwhile.  To be let in may take a while, so reads of one node (node_get,
 * node_ranges) are answered like changes: `done` is called once, before the function returns or
 * later on another thread.  Snapshots have no opens, and are answered at once.
 *
 * The order of checks: path, type of node, what the table of opens says (delete pending, share
 * modes, caches of SMB clients, byte-range locks), lease, read-only attribute, what the operation
 * itself demands.
 *
 * Snapshots.  Whoever replaces or removes a record that was so at the last kept instant leaves it
 * under 'E' (file_name.h); the content is shared by both records until one of them is changed.
 * Leases have no past: an action on one replaces the record in its place, and snapshots show none.
 */
#ifndef SERVICE_FILE_NODE_H
#define SERVICE_FILE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/uuid.h"
#include "service/blob/blob.h" /* blob_properties, blob_copy, content */
#include "service/file/file_name.h"
#include "service/file/open_table.h"
#include "service/file/share.h"
#include "service/lease.h"
#include "service/metadata.h"
#include "service/payload.h"
#include "service/service.h"

enum {
    NODE_ROOT_ID = 0,
};

enum node_kind {
    NODE_DIRECTORY,
    NODE_FILE,
};

/* The attributes of a node as NTFS numbers them ([MS-FSCC] 2.6). */
enum node_attribute {
    NODE_READ_ONLY = 0x1,
    NODE_HIDDEN = 0x2,
    NODE_SYSTEM = 0x4,
    NODE_IS_DIRECTORY = 0x10,
    NODE_ARCHIVE = 0x20,
    NODE_TEMPORARY = 0x100,
    NODE_OFFLINE = 0x1000,
    NODE_NOT_INDEXED = 0x2000,
    NODE_NO_SCRUB = 0x20000,
};

/* A node's record. */
struct node {
    enum node_kind kind;
    uint64_t id;
    uint64_t parent_id;
    struct slice name; /* as it was given */
    int64_t etag;      /* the tick of the last change that counts as one; Last-Modified */
    int64_t since;     /* the tick the record is so from (file_name.h) */
    int64_t until;     /* of an earlier state: the tick it was so until; else 0 */
    unsigned attributes;
    /* instants in ticks, as SMB clients see them */
    int64_t created_at;
    int64_t written_at;
    int64_t changed_at;
    int64_t accessed_at;
    struct slice permission_key; /* of a row 'p'; empty: the default one of its kind */
    struct metadata metadata;

    /* files */
    struct content content; /* length_bytes is the file's size */
    /* What counts against the quota: the bytes that were written and not cleared.  It may be more
       when very many ranges were cleared at once (page_map.h), never less. */
    uint64_t used_bytes;
    struct blob_properties properties;
    struct lease lease;
    struct blob_copy copy;
};

/* The record's stored form.  Decoded slices point into the row.  ERR_CORRUPT. */
struct slice node_encode(struct arena *arena, const struct node *node);
MUST_CHECK enum err node_decode(struct arena *arena, struct slice row, struct node *node);

/* The stored form of an 'o' row: where the node of an id is.  ERR_CORRUPT. */
struct slice node_place_encode(struct arena *arena, uint64_t parent, struct slice upper);
MUST_CHECK enum err node_place_decode(struct slice row, uint64_t *parent, struct slice *upper);

/* Which node. */
struct node_name {
    struct share_name share; /* or snapshot of it */
    struct file_path path;
    uint64_t id; /* not 0: the node that has it, wherever it is, and the path does not count */
};

struct node_access;
typedef enum err node_plan_fn(struct node_access *access);

/* How an operation goes through the table of opens: for the service (node_internal.h). */
struct node_access {
    struct service *service;
    struct slice partition;
    uint64_t share; /* the incarnation */
    node_plan_fn *plan;
    void (*go)(struct node_access *access);
    void (*refuse)(struct node_access *access, enum err err);
    void *arg;       /* the operation itself */
    bool is_checked; /* it goes through the table */
    uint64_t look;   /* a read: at which `plan` found what it is about (partition_look) */
    unsigned attempts;
    struct open_operation operations[2]; /* a rename may have two */
    size_t planned_count;
    size_t begun_count;
    uint64_t expected_id[2]; /* the nodes that were looked up; NODE_ABSENT: there was none */
};

/* --- reads --- */

/* A read of a node; base is filled as for a change. */
struct node_get {
    struct service_change base;
    struct node_name name;
    enum node_kind kind; /* what it has to be */
    bool has_lease_id;
    struct uuid lease_id;
    bool want_payload;
    uint64_t start;     /* of the bytes wanted, for byte-range locks */
    uint64_t end;       /* exclusive; 0: all from `start` on */
    int64_t timeout_ms; /* how long to wait for the caches of SMB clients; 0: the default */
    bool is_admitted;   /* the caller has asked the table of opens itself */

    /* results, in the arena */
    struct node node;
    struct payload_reader payload; /* if it is wanted */

    /* for the service */
    struct node_access access;
};

/*
 * The record, and the file's bytes if they are wanted.
 *   ERR_SHARE_NOT_FOUND, ERR_PARENT_NOT_FOUND, ERR_RESOURCE_NOT_FOUND, ERR_RESOURCE_TYPE_MISMATCH,
 *   those of open_table_begin, those of file_lease_check_read
 */
void node_get(struct service *service, struct node_get *get);

struct node_list_request {
    struct node_name directory;
    struct slice prefix; /* of names, without regard to case */
    struct slice from;   /* the first name (in upper case) to list, or empty */
    size_t results_max;
    /* False ends the page after it. */
    bool (*emit)(void *arg, const struct node *node);
    void *arg;
};

/*
 * By name in upper case; what is delete-pending is left out.  The entries are as they were at one
 * instant.  `*directory` is the one listed, `*next` the name in upper case that the next page
 * begins with; empty when there is none.  ERR_DELETE_PENDING of the directory, and those of its
 * path.
 */
MUST_CHECK enum err node_list(struct service *service, struct arena *arena,
                              const struct node_list_request *request, struct node *directory,
                              struct slice *next);

struct node_ranges {
    struct service_change base;
    struct node_name name;
    int64_t previous; /* a snapshot of the share to compare with; 0: none */
    bool has_lease_id;
    struct uuid lease_id;
    uint64_t start;
    uint64_t end; /* exclusive; beyond the file it is the file's end */
    int64_t timeout_ms;
    bool is_admitted;
    void (*emit)(void *arg, bool cleared, uint64_t start, uint64_t end);
    void *arg;

    /* result, in the arena */
    struct node node;

    /* for the service */
    struct node_access access;
};

/*
 * The ranges that were written, or that differ from the previous snapshot, in order; those of one
 * kind do not touch.  They are in whole blocks of 512 bytes: one with a written byte is written.
 * The errors of node_get, and
 *   ERR_INVALID_RANGE                 the range begins after the file's end
 *   ERR_PREVIOUS_SNAPSHOT_NOT_FOUND   the share, or in it the file, was not there
 *   ERR_PREVIOUS_SNAPSHOT_NEWER
 */
void node_ranges(struct service *service, struct node_ranges *ranges);

/*
 * The path of a node by its id: names with slashes between them, as they are at this moment, in the
 * arena; empty for the root.  ERR_RESOURCE_NOT_FOUND, ERR_SHARE_NOT_FOUND.
 */
MUST_CHECK enum err node_find_path(struct service *service, struct arena *arena,
                                   const struct share_name *share, uint64_t id, struct slice *path);

/* --- changes; see service/service.h for their life --- */

/* What SMB knows of a node besides its name.  A field that is not given stays, or is the default of
   a new node. */
struct node_smb {
    bool has_attributes;
    unsigned attributes;
    bool has_created_at;
    bool has_written_at;
    bool has_changed_at;
    int64_t created_at; /* ticks; 0: now */
    int64_t written_at;
    int64_t changed_at;
    bool has_permission_key;
    struct slice permission_key; /* of a row 'p' that is there */
    struct slice permission;     /* or the permission itself, to be stored: binary (permission.h) */
};

struct node_change {
    struct service_change base;
    struct node_name name;
    enum node_kind kind;               /* of the node, or that it has to have */
    struct metadata metadata;          /* create, set_metadata; rename if has_metadata */
    bool has_metadata;                 /* rename: it replaces that of the node */
    struct blob_properties properties; /* create, set_properties of a file; rename: a Content-Type
                                          that is not empty replaces that of the file */
    bool keeps_properties;             /* set_properties: only what `smb` and the size say */
    struct node_smb smb;
    bool create_only; /* create: there may be no file to replace */
    bool has_size;
    uint64_t size_bytes; /* create, set_properties of a file */
    bool has_lease_id;
    struct uuid lease_id;

    /* write, clear */
    struct payload_writer *payload; /* write: finished, as long as the range */
    uint64_t start;
    uint64_t end;          /* exclusive */
    bool keeps_written_at; /* x-ms-file-last-write-time: preserve */

    /* rename: `name` becomes the new name */
    struct file_path source;
    uint64_t source_id; /* not 0: as in struct node_name */
    bool has_source_lease_id;
    struct uuid source_lease_id;
    bool replaces;         /* a file that is there */
    bool ignores_readonly; /* of the file that is replaced, also by a copy */

    int64_t timeout_ms; /* how long to wait for the caches of SMB clients; 0: the default */
    bool is_admitted;   /* the caller has asked the table of opens itself, by a handle */

    /* result: the record afterwards, its slices in the arena; of what was deleted, the last */
    struct node node;

    /* for the service */
    struct node_access access;
    enum file_operation operation;
    change_fn *decide;
    /* create: what a file is to have instead of `size_bytes` zeroes (file_copy.h); or NULL */
    enum err (*fill)(struct change *change, struct node_change *request, struct node *node);
    uint64_t quota_bytes;
};

/*
 * All changes can end with
 *   ERR_OPERATION_ON_SNAPSHOT    the name is one of a snapshot
 *   ERR_SHARE_NOT_FOUND, ERR_PARENT_NOT_FOUND, ERR_RESOURCE_NOT_FOUND, ERR_RESOURCE_TYPE_MISMATCH
 *   the errors of open_table_begin and of file_lease_write
 *   ERR_READ_ONLY_ATTRIBUTE      of a file
 *   ERR_NODE_MOVED               others rename faster than this can be tried again
 */

/* Make a directory or a file, or replace a file by one that keeps its id.  ERR_RESOURCE_EXISTS (a
   directory), ERR_UNAUTHORIZED_OVERWRITE (a file, and create_only). */
void node_create(struct service *service, struct node_change *change);

/* A read-only file takes a change that clears the attribute, and no other. */
void node_set_properties(struct service *service, struct node_change *change);
void node_set_metadata(struct service *service, struct node_change *change);

/* ERR_DIRECTORY_NOT_EMPTY; ERR_INVALID_URI for the root directory. */
void node_delete(struct service *service, struct node_change *change);

/*
 * Move `source` to `name`, both of one share; what it holds goes with it.  Errors of the
 * destination's lease and attribute are those of the file that is replaced.  Paths below a
 * directory can so become longer than a request can name; nothing is lost by it.
 *   ERR_RESOURCE_EXISTS       and it is not to be replaced, or is a directory
 *   ERR_RENAME_INTO_ITSELF    a directory; ERR_INVALID_URI for the root directory
 */
void node_rename(struct service *service, struct node_change *change);

/* ERR_INVALID_RANGE beyond the end, ERR_SHARE_SIZE_LIMIT when the quota is used up. */
void node_write(struct service *service, struct node_change *change);
void node_clear(struct service *service, struct node_change *change);

struct node_lease {
    struct service_change base;
    struct node_name name;
    struct lease_request lease; /* infinite only; there is no renewing */
    int64_t timeout_ms;
    struct node node; /* result */

    /* for the service */
    struct node_access access;
};

/* The errors of file_lease.h's actions, and those of a change. */
void node_lease(struct service *service, struct node_lease *change);

#endif
