/*
 * append.h - append blobs: blocks are added at the end, each all or nothing.
 *
 * The content is a list of segments (segments.h), one for each block.  A snapshot shares the list
 * with its blob and reads it up to its own length, so appending does not touch what it sees.
 */
#ifndef SERVICE_BLOB_APPEND_H
#define SERVICE_BLOB_APPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "service/blob/blob.h"
#include "service/service.h"

enum {
    APPEND_BLOCKS_MAX = 50000, /* of one blob (Append Block) */
};

/* The errors of blob_put.  The payload is not used. */
void append_create(struct service *service, struct blob_change *change);

struct append_change {
    struct blob_change blob; /* first */
    bool has_position;
    uint64_t position; /* where the blob must end before */
    bool has_size_max;
    uint64_t size_max; /* what the blob may have bytes afterwards */

    /* results */
    uint64_t offset; /* of the block */
    uint64_t block_count;
};

/*
 * Add the payload, which is not empty, as a block.  The errors of a write and, in this order,
 *   ERR_INVALID_BLOB_TYPE, ERR_BLOB_SEALED, ERR_BLOCK_COUNT
 *   ERR_APPEND_POSITION_NOT_MET, ERR_MAX_SIZE_NOT_MET
 */
void append_block(struct service *service, struct append_change *change);

/* Allow no more blocks; fine if that is so already.  Only the position is looked at.  The errors
   of a write, ERR_INVALID_BLOB_TYPE and ERR_APPEND_POSITION_NOT_MET. */
void append_seal(struct service *service, struct append_change *change);

#endif
