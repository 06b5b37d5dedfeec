/*
 * node_internal.h - what the files that implement node.h share.
 *
 *   node_row.c      the stored form of a record
 *   node_walk.c     from a path, or an id, to a record, now or at an instant
 *   node_past.c     keeping what was so at a snapshot, and finding it
 *   node_access.c   the way of an operation through the table of opens
 *   node.c          the changes of directories and files
 *   node_rename.c   moving them
 *   node_lease.c    the lease of a file
 *   node_range.c    writing, clearing and listing ranges
 *   node_read.c     reading a node
 *   node_list.c     listing a directory
 */
#ifndef SERVICE_FILE_NODE_INTERNAL_H
#define SERVICE_FILE_NODE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "service/file/node.h"
#include "service/file/share_state.h"

/* In place of an id: there is no node. */
#define NODE_ABSENT UINT64_MAX

/* --- records --- */

/* The beginning of a record.  A value. */
struct node_brief {
    enum node_kind kind;
    uint64_t id;
    int64_t since;
    int64_t until;
};

/* ERR_CORRUPT */
MUST_CHECK enum err node_brief_decode(struct slice row, struct node_brief *brief);

/* The permission key in a record, which points into the row; empty if it has none.  ERR_CORRUPT */
MUST_CHECK enum err node_permission_decode(struct slice row, struct slice *key);

/* A copy of all slices in another arena. */
struct node node_copy(struct arena *arena, const struct node *node);

/* --- finding --- */

/* Where records are read from: one of the first three.  What is read lives in `arena`, or as long
   as the change. */
struct node_source {
    struct change *change;
    struct partition_view *view;
    struct partition_store *store; /* the latest of each row, which may not be of one instant */
    struct slice partition;        /* of `store` */
    struct arena *arena;
    int64_t instant; /* of a snapshot, with a view; 0: now */
    uint64_t share;  /* the incarnation: when the root directory was made */
};

/* The place of an entry, whether it is there or not. */
struct node_place {
    uint64_t parent;
    struct slice upper;
    struct slice parent_row; /* the directory's, if the walk has come through it; else empty */
};

/* The row of a key.  ERR_NOT_FOUND. */
MUST_CHECK enum err node_source_get(const struct node_source *source, struct slice key,
                                    struct slice *row);

/* Find the place a name means.  ERR_PARENT_NOT_FOUND; by id, ERR_RESOURCE_NOT_FOUND. */
MUST_CHECK enum err node_locate(const struct node_source *source, const struct node_name *name,
                                struct node_place *place);

/* The same for a path that must not lead through the directory `avoided`.
   ERR_RENAME_INTO_ITSELF */
MUST_CHECK enum err node_locate_outside(const struct node_source *source,
                                        const struct file_path *path, uint64_t avoided,
                                        struct node_place *place);

/* The record at a place.  ERR_RESOURCE_NOT_FOUND. */
MUST_CHECK enum err node_read(const struct node_source *source, const struct node_place *place,
                              struct node *node);

/* Both, for a node of this kind.  ERR_RESOURCE_TYPE_MISMATCH. */
MUST_CHECK enum err node_find(const struct node_source *source, const struct node_name *name,
                              enum node_kind kind, struct node_place *place, struct node *node);

/* --- the past --- */

/* The row that was at a place at an instant.  ERR_NOT_FOUND. */
MUST_CHECK enum err node_past_get(const struct node_source *source, const struct node_place *place,
                                  struct slice *row);

/* Whether a record was so at an instant. */
bool node_was_so_at(const struct node_brief *brief, int64_t instant);

enum node_content_use {
    NODE_CONTENT_LEFT,   /* the new record, if there is one, does not name the old one's content */
    NODE_CONTENT_SHARED, /* it does */
};

/*
 * The record `old` is about to be replaced or removed: keep it, if it was so at the last instant
 * that is kept.  Content that is left is dropped unless it is kept.
 */
MUST_CHECK enum err node_preserve(struct change *change, const struct share_state *state,
                                  const struct node_place *place, struct node *old,
                                  enum node_content_use use);

/* --- the way through the table of opens --- */

/* Fill access->partition and ->share; the quota too, if it is wanted.  ERR_SHARE_NOT_FOUND. */
MUST_CHECK enum err node_access_find_share(struct service *service, struct arena *arena,
                                           const struct share_name *name,
                                           struct node_access *access, uint64_t *quota_bytes);

/*
 * Begin: look up what is to be opened (`plan`, which calls node_access_add), go through the table,
 * and then `go` or `refuse`.  Without a table, and for those who have asked it, it goes at once.
 */
void node_access_begin(struct service *service, struct node_access *access, bool is_admitted);

/* In a plan: open the node `id`, or note that there is none (NODE_ABSENT), as number `index`. */
void node_access_add(struct node_access *access, size_t index, uint64_t id,
                     const struct open_operation *operation);

/* `go` is through with `err`.  True: it is to be tried again, and access has begun anew.  False:
   the caller is told. */
bool node_access_end(struct node_access *access, enum err err);

/* Whether number `index` is what was opened.  ERR_NODE_MOVED. */
MUST_CHECK enum err node_access_check(const struct node_access *access, size_t index, uint64_t id);

/* An operation of REST on the whole file. */
struct open_operation node_operation(enum file_operation operation, int64_t timeout_ms);

/* In a plan: whether a client has marked the node for deletion. */
bool node_access_is_delete_pending(const struct node_access *access, uint64_t id);

/* Where a plan looks: the latest rows. */
struct node_source node_access_source(const struct node_access *access, struct arena *arena);

/* --- ranges --- */

/* Emit the ranges of a file found in source->view. */
MUST_CHECK enum err node_ranges_in_view(const struct node_ranges *request,
                                        const struct node_source *source, const struct node *node);

/* --- changes --- */

/* What every decision begins with. */
struct node_decision {
    struct change *change;
    struct share_state state;
    struct node_source source;
    bool is_state_changed;
};

/* ERR_SHARE_NOT_FOUND: the share's partition is closed. */
MUST_CHECK enum err node_decision_begin(struct node_decision *decision, struct change *change,
                                        const struct node_access *access);

/* The file or directory a request is about, with all checks made that come before its own. */
MUST_CHECK enum err node_decision_get(struct node_decision *decision,
                                      const struct node_change *request, struct node_place *place,
                                      struct node *node);

/* Begin, get it, and keep it as it was if a snapshot needs that: a change of a node that stays. */
MUST_CHECK enum err node_decision_open(struct node_decision *decision, struct change *change,
                                       const struct node_change *request, struct node_place *place,
                                       struct node *node);

/* Note that a file takes so many bytes instead of so many.  ERR_SHARE_SIZE_LIMIT if that is more
   and too much. */
MUST_CHECK enum err node_decision_use(struct node_decision *decision,
                                      const struct node_change *request, uint64_t before,
                                      uint64_t after);

/* Write a record that has changed, and what is known of the share. */
void node_decision_store(struct node_decision *decision, const struct node_place *place,
                         struct node *node);

/* The same, and it is the request's result. */
void node_decision_put(struct node_decision *decision, struct node_change *request,
                       const struct node_place *place, struct node *node);

/* Remove a node that may be removed from its place. */
MUST_CHECK enum err node_decision_remove(struct node_decision *decision,
                                         const struct node_change *request,
                                         const struct node_place *place, struct node *node);

/* Whether a file that is there may be changed: its lease, the read-only attribute, a copy that is
   under way.  Directories may. */
MUST_CHECK enum err node_check_file(struct node *node, const struct uuid *lease_id,
                                    bool ignores_read_only);

/* Change what SMB knows of a node. */
MUST_CHECK enum err node_apply_smb(struct change *change, const struct node_smb *smb,
                                   struct node *node);

bool node_name_is_root(const struct node_name *name);

/* Start a change of one node that is there; or one with a plan of its own. */
void node_change_start(struct service *service, struct node_change *change,
                       enum file_operation operation, change_fn *decide);
void node_change_start_with(struct service *service, struct node_change *change,
                            enum file_operation operation, change_fn *decide, node_plan_fn *plan);

#endif
