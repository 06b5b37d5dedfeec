/*
 * block.h - blobs that are uploaded in blocks: Put Block, Put Block List, Get Block List.
 *
 * A block that was put is uncommitted: it belongs to the name of a blob, which need not exist, and
 * nobody can read it.  Committing a list makes the blocks it names, in its order, the content of
 * the blob, and discards all other uncommitted blocks of the name.  So do all other operations
 * that make, replace or delete a blob.  What nobody commits is discarded a week after the last
 * block was put (service/sweeper.h).
 *
 *   'u' blob name 00 generation block id  ->  ROW_BLOCK: the payload as a segment, when it was put
 *   'w' blob name                         ->  ROW_UNCOMMITTED: struct uncommitted
 *   'f' blob name 00 generation           ->  ROW_NUMBER: the blocks of it are forgotten
 *
 * The blocks of a name are those of the generation that its 'w' row names: the tick at which the
 * first of them was put.  So discarding them is the removal of that row, however many they are;
 * what is left of a generation has an 'f' row, and is removed by the sweeper a few at a time.  The
 * partition is marked for as long as there are 'w' or 'f' rows.
 *
 * Ownership: a payload keeps the owner it was put with when a list commits it.  A committed block
 * that a new list names again is owned by the new content besides, since the old one is dropped.
 */
#ifndef SERVICE_BLOB_BLOCK_H
#define SERVICE_BLOB_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/blob/blob.h"
#include "service/payload.h"
#include "service/service.h"

struct segment;

/* --- reads --- */

enum block_state {
    BLOCK_COMMITTED,
    BLOCK_UNCOMMITTED,
};

struct block_list_request {
    struct blob_get_request get; /* its payload is not wanted */
    bool want_committed;
    bool want_uncommitted; /* a snapshot has none */
    /* Called for the committed blocks in their order, then for the uncommitted ones in the order of
       the bytes of their ids.  The id is valid during the call. */
    void (*emit)(void *arg, enum block_state state, struct slice block_id, uint64_t length_bytes);
    void *arg;
};

/*
 * The blocks of a blob, as they were at one instant.  `*exists` says whether there is a committed
 * blob, whose record is in `blob` then.
 *   the errors of blob_get; ERR_BLOB_NOT_FOUND when there are no uncommitted blocks either
 *   ERR_INVALID_BLOB_TYPE
 */
MUST_CHECK enum err block_list_get(struct service *service, struct arena *arena,
                                   const struct block_list_request *request, struct blob *blob,
                                   bool *exists);

/* --- changes; see service/service.h for their life --- */

struct block_put {
    struct blob_change change; /* name, lease id, and payload, which is finished and not empty */
    struct slice block_id;     /* 1 to LIMIT_BLOCK_ID_BYTES_MAX bytes */
};

/*
 * Put an uncommitted block, in the place of one with the same id.  The blob does not change.
 *   ERR_CONTAINER_NOT_FOUND, the errors of lease_check_write, ERR_PENDING_COPY
 *   ERR_INVALID_BLOB_TYPE         the blob is not a block blob
 *   ERR_INVALID_BLOCK             other uncommitted blocks have ids of another length
 *   ERR_UNCOMMITTED_BLOCK_COUNT   there are as many as there may be
 */
void block_put(struct service *service, struct block_put *change);

/* Where a list looks for a block. */
enum block_kind {
    BLOCK_FROM_LATEST, /* among the uncommitted, then among the committed */
    BLOCK_FROM_COMMITTED,
    BLOCK_FROM_UNCOMMITTED,
};

struct block_ref {
    struct slice block_id;
    enum block_kind kind;
};

struct block_list_put {
    struct blob_change change; /* as for blob_put, but for the payload; its `etag` is a result */
    const struct block_ref *blocks;
    size_t block_count;

    /* for the service */
    uint32_t *wanted; /* the first of `blocks` with each id, in the order of the ids */
    size_t wanted_count;
    uint32_t *places; /* for each of `blocks`, which of `wanted` it is */
};

/*
 * Make the blocks of the list the content of the blob.  As blob_put, and
 *   ERR_BLOCK_LIST_TOO_LONG
 *   ERR_INVALID_BLOCK_LIST   a block is not there, or named by two kinds; nothing changes
 *   ERR_INVALID_BLOB_TYPE    the blob is not a block blob
 */
void block_list_put(struct service *service, struct block_list_put *change);

/* --- blobs that have uncommitted blocks --- */

/* What a 'w' row says. */
struct uncommitted {
    uint64_t id_chars; /* of each block id, in base64 */
    uint64_t block_count;
    uint64_t length_bytes; /* of the blocks together */
    int64_t created_at;    /* ticks: when the first was put; their generation */
    int64_t put_at;        /* ticks: when the last was put */
    struct lease lease;    /* of the name, if there is no blob; the blob's own otherwise counts */
};

/* The stored form, in the arena. */
struct slice uncommitted_encode(struct arena *arena, const struct uncommitted *uncommitted);

/* ERR_CORRUPT */
MUST_CHECK enum err uncommitted_decode(struct slice row, struct uncommitted *uncommitted);

/* The name in the key of a 'w' row; uncommitted_key of a beginning of names is the prefix of their
   keys.  ERR_CORRUPT */
MUST_CHECK enum err uncommitted_key_name(struct slice key, struct slice *name);

/* The payload in a 'u' row.  ERR_CORRUPT */
MUST_CHECK enum err uncommitted_block_decode(struct slice row, struct segment *segment);

/* Whether nobody has put a block for so long that they are discarded. */
bool uncommitted_is_expired(const struct uncommitted *uncommitted, int64_t now);

/* --- for decisions --- */

/* ERR_NOT_FOUND when there are no uncommitted blocks of that name. */
MUST_CHECK enum err uncommitted_get(struct change *change, struct slice name,
                                    struct uncommitted *uncommitted);

/* The lease of a name that has only uncommitted blocks; all zero bytes when it has none. */
MUST_CHECK enum err uncommitted_get_lease(struct change *change, struct slice name,
                                          struct lease *lease);

/* The decision of blob_lease about such a name.  ERR_BLOB_NOT_FOUND when there are no blocks. */
MUST_CHECK enum err uncommitted_lease(struct change *change, struct blob_lease *request);

/* Discard all uncommitted blocks of the name; costs one read when there are none, and not more if
   there are very many. */
MUST_CHECK enum err uncommitted_discard(struct change *change, struct slice name);

/*
 * Delete a blob that has only uncommitted blocks.
 *   ERR_BLOB_NOT_FOUND when it has none; the errors of a write
 */
MUST_CHECK enum err uncommitted_delete(struct change *change, const struct blob_change *request);

/*
 * For the sweeper: remove some of the blocks that the 'f' row `key` is about, from the key `from`
 * on (empty: from the first).  `*next` is where the rest begins, in the arena; it is empty when
 * there is none, and then the row is gone, too.
 */
MUST_CHECK enum err forgotten_sweep(struct change *change, struct slice key, struct slice from,
                                    struct arena *arena, struct slice *next);

#endif
