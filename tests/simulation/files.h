/*
 * files.h - the model of the file service: shares, each a tree of nodes as plain structs, copies of
 * that tree for its snapshots, and the handles of SMB clients.
 */
#ifndef TESTS_SIMULATION_FILES_H
#define TESTS_SIMULATION_FILES_H

#include "model.h"
#include "service/file/node.h"
#include "service/file/open_client.h"
#include "service/file/open_table.h"
#include "service/file/share.h"

enum {
    SHARE_NAMES = 2,
    SHARES_MAX = 64,
    NODE_NAMES = 3, /* the same in either case */
    DEPTH_MAX = 3,
    NODES_MAX = 48,
    NODES_MANY = NODES_MAX - SIM_OPERATIONS - 4, /* no more are made then */
    FILE_BYTES_MAX = 2000,
    SHARE_SNAPSHOTS_MAX = 5,
    HANDLES_MAX = 6,
};

/* A path: numbers of names, and whether each is given in upper case. */
struct model_path {
    size_t depth;
    unsigned names[DEPTH_MAX];
    bool is_upper[DEPTH_MAX];
};

enum model_file_lease {
    FILE_LEASE_NONE,
    FILE_LEASED,
    FILE_LEASE_BROKEN,
};

struct model_node {
    uint64_t id; /* 0: there is none */
    uint64_t parent_id;
    unsigned name;
    bool is_upper;
    enum node_kind kind;
    int64_t etag;
    unsigned metadata;
    enum model_file_lease lease;
    unsigned lease_id;
    uint32_t size_bytes;
    unsigned char bytes[FILE_BYTES_MAX];
    bool written[FILE_BYTES_MAX];
};

struct model_tree {
    struct model_node nodes[NODES_MAX];
};

struct model_share_snapshot {
    int64_t taken;
    int64_t etag;
    unsigned metadata;
    struct model_tree *tree;
};

struct model_share {
    bool in_use;
    unsigned name;
    bool is_deleted;
    bool is_closed;
    unsigned use_count;
    uint64_t incarnation;
    int64_t etag;
    unsigned metadata;
    struct model_lease lease;
    struct model_tree *tree;
    size_t snapshot_count;
    struct model_share_snapshot snapshots[SHARE_SNAPSHOTS_MAX + SIM_OPERATIONS];
};

struct model_handle {
    uint64_t id;
    struct file_key key;
    struct share_mode mode;
};

struct model_files {
    struct model_share shares[SHARES_MAX];
    size_t handle_count;
    struct model_handle handles[HANDLES_MAX + SIM_OPERATIONS];
    struct open_client *client;
    uint64_t seeds;
};

enum kind {
    SHARE_CREATE,
    SHARE_DELETE,
    SHARE_SET_METADATA,
    SHARE_LEASE,
    SHARE_SNAPSHOT,
    NODE_CREATE,
    NODE_SET_METADATA,
    NODE_RESIZE,
    NODE_DELETE,
    NODE_RENAME,
    NODE_WRITE,
    NODE_CLEAR,
    NODE_LEASE,
    SMB_OPEN,
    SMB_CLOSE,
    KIND_COUNT,
};

struct asked {
    enum kind kind;
    unsigned share;
    unsigned lease_id;
    unsigned proposed_id;
    unsigned source_lease_id;
    unsigned metadata;
    struct model_path path;
    struct model_path source; /* rename */
    enum node_kind node_kind;
    struct model_piece piece;
    int64_t snapshot;              /* SHARE_DELETE of one */
    struct model_tree *taken_tree; /* SHARE_SNAPSHOT: a copy, once it is known */
    bool has_waited;               /* it was not answered at once */
    struct service_change plain;   /* SMB_OPEN has none of its own */
    union {
        struct share_change share_change;
        struct share_lease share_lease;
        struct node_change node_change;
        struct node_lease node_lease;
        struct open_request open;
    } request;
};

extern const char *const SHARE_TEXTS[SHARE_NAMES];

struct model_share *model_share_find(struct model_files *model, unsigned name);
struct share_name share_called(unsigned name, int64_t snapshot);
struct node_name node_called(struct arena *arena, unsigned share, int64_t snapshot,
                             const struct model_path *path);
const char *node_text(unsigned name, bool is_upper);
struct model_path model_path(struct sim *sim);

/* An operation has no more use for the share. */
void model_share_let_go(struct model_share *share);

/* --- files_start.c: what clients ask for --- */

void files_start(struct sim *sim, struct operation *operation);

/* Not an operation that could wait. */
void files_close_handle(struct sim *sim, size_t index);

/* --- the tree: files_tree.c --- */

/* Where a path leads: the directory's id, or an error; the node there or NULL.  `avoided` is a
   directory that it may not lead through, or 0. */
enum err model_tree_locate(struct model_tree *tree, const struct model_path *path, uint64_t avoided,
                           uint64_t *parent_id, struct model_node **node);
enum err model_tree_find(struct model_tree *tree, const struct model_path *path,
                         enum node_kind kind, struct model_node **node);
struct model_node *model_tree_by_id(struct model_tree *tree, uint64_t id);
struct model_node *model_tree_add(struct model_tree *tree);
size_t model_tree_count(const struct model_tree *tree);
bool model_tree_has_children(const struct model_tree *tree, uint64_t id);

/* May a request with this lease change the file?  A broken lease is forgotten then. */
enum err model_file_check(struct model_node *node, unsigned lease_id);
enum err model_file_lease(struct model_node *node, const struct lease_request *request, unsigned id,
                          unsigned proposed);

/* --- files_read.c --- */
void files_read(struct sim *sim);
void files_audit(struct sim *sim);
void files_settled(struct sim *sim, const struct fsck_summary *summary);

#endif
