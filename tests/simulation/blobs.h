/*
 * blobs.h - the model of the blob service: containers that hold blobs, as plain structs.
 */
#ifndef TESTS_SIMULATION_BLOBS_H
#define TESTS_SIMULATION_BLOBS_H

#include "model.h"
#include "service/blob/append.h"
#include "service/blob/blob.h"
#include "service/blob/block.h"
#include "service/blob/snapshot.h"

enum {
    CONTAINER_NAMES = 3,
    CONTAINERS_MAX = 64, /* with those that are deleted and still in an operation's hands */
    BLOB_NAMES = 4,
    PIECES_MAX = 64,
    BLOCK_IDS = 200,
    SNAPSHOTS_MAX = 120,
};

/* Bytes, and what the blocks are called that they came from. */
struct model_bytes {
    size_t count;
    bool has_blocks;
    size_t block_id_bytes;
    struct model_piece pieces[PIECES_MAX];
    unsigned char block_ids[PIECES_MAX];
};

/* What a blob is at an instant: itself, or a snapshot. */
struct model_state {
    enum blob_type type;
    int64_t etag;
    unsigned metadata;
    bool is_sealed;
    struct model_bytes bytes;
};

struct model_snapshot {
    int64_t taken;
    struct model_state state;
};

struct model_blob {
    bool exists;
    struct model_state now;
    struct model_lease lease; /* also of a name that has only uncommitted blocks */

    size_t snapshot_count;
    size_t snapshot_room;
    struct model_snapshot *snapshots; /* oldest first */

    /* uncommitted blocks */
    size_t block_count;
    size_t block_id_bytes;
    struct model_piece blocks[BLOCK_IDS]; /* by id; no length: there is none */
};

struct model_container {
    bool in_use;
    unsigned name;
    bool is_deleted;
    bool is_closed;     /* the sweeper has been there: nothing is written any more */
    unsigned use_count; /* operations that looked it up */
    int64_t etag;
    unsigned metadata;
    struct model_lease lease;
    struct model_blob blobs[BLOB_NAMES];
};

struct model_blobs {
    struct model_container containers[CONTAINERS_MAX];
    uint64_t seeds; /* given to pieces */
};

enum {
    LIST_MAX = 12, /* blocks of a list */
};

enum kind {
    CONTAINER_CREATE,
    CONTAINER_DELETE,
    CONTAINER_SET_METADATA,
    CONTAINER_LEASE,
    BLOB_PUT,
    BLOB_SET_METADATA,
    BLOB_SET_PROPERTIES,
    BLOB_DELETE,
    BLOB_LEASE,
    BLOB_SNAPSHOT,
    BLOCK_PUT,
    BLOCK_LIST_PUT,
    APPEND_CREATE,
    APPEND_BLOCK,
    APPEND_SEAL,
};

/* What the simulation remembers of a request besides the request itself. */
struct asked {
    enum kind kind;
    unsigned container;
    unsigned blob;
    unsigned lease_id; /* 0: none */
    unsigned proposed_id;
    unsigned metadata;
    struct model_condition condition;
    struct model_piece piece; /* no length: empty */
    enum blob_snapshots snapshots;
    int64_t snapshot;
    unsigned block_id;
    size_t block_id_bytes;
    size_t list_count;
    unsigned list[LIST_MAX];
    enum block_kind list_kinds[LIST_MAX];
    union {
        struct container_change container_change;
        struct container_lease container_lease;
        struct blob_change blob_change;
        struct blob_lease blob_lease;
        struct blob_snapshot blob_snapshot;
        struct block_put block_put;
        struct block_list_put block_list_put;
        struct append_change append;
    } request;
};

extern const char *const CONTAINER_TEXTS[CONTAINER_NAMES];
extern const char *const BLOB_TEXTS[BLOB_NAMES];

/* The container that has the name now, or NULL. */
struct model_container *model_container_find(struct model_blobs *model, unsigned name);

struct container_name container_called(unsigned name);
struct blob_name blob_called(unsigned container, unsigned blob);

/* A block id of a number: one byte or two. */
struct slice block_called(struct arena *arena, unsigned number, size_t id_bytes);

/* An operation has no more use for the container. */
void model_container_let_go(struct model_container *container);

/* blobs_start.c: what clients ask for. */
void blobs_start(struct sim *sim, struct operation *operation);

/* blobs_read.c: reading and listing. */
void blobs_read(struct sim *sim);
void blobs_audit(struct sim *sim);
void blobs_settled(struct sim *sim, const struct fsck_summary *summary);

#endif
