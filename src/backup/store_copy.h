/*
 * store_copy.h - a copy of a store: its metadata file by file, and of its extents exactly the bytes
 * that the copied metadata names.
 *
 * The source may be in use, if its space is held (partition_hold_space) from before the metadata
 * was checkpointed until the copy is done: extents are append-only, and whatever the checkpoint
 * names was written, synced and will not be given back.  What was appended since is not named and
 * not copied.  A source that nobody uses needs nothing of the kind.
 *
 * An extent is copied range by range into a file with holes, and cut to the length its row says.
 * So a copy is a store as inspect.h wants it: all that nothing names reads as zeroes.  A file that
 * is missing or cannot be read is left out; checking the copy names what was in it.
 *
 * Two copies of an extent are the same if its ranges are: nothing is written twice in the
 * same place.  That is why a file of an earlier backup can stand for the copy.
 *
 * Nothing is durable before store_copy returns, and then all of it is.
 */
#ifndef BACKUP_STORE_COPY_H
#define BACKUP_STORE_COPY_H

#include <stdint.h>

#include "backup/manifest.h"
#include "base/arena.h"
#include "base/error.h"

struct store_copy {
    const char *meta_path;    /* the files of the metadata are in it */
    const char *from_path;    /* its "extents" has the extents */
    const char *to_path;      /* is there; "meta" and "extents" are made in it */
    const char *earlier_path; /* a backup whose extents may be linked, or NULL */
    const struct manifest *earlier;

    /* results */
    struct manifest manifest; /* the files; its arena is set by the caller */
    uint64_t meta_bytes;
    uint64_t extent_count;
    uint64_t copied_bytes; /* of extents, without holes */
    uint64_t linked_bytes;
    uint64_t missing_count; /* extents without a file */
    uint64_t unread_count;  /* extents that could be read in part */
};

/* ERR_CORRUPT: the metadata cannot be read.  ERR_IO, ERR_NO_SPACE. */
MUST_CHECK enum err store_copy_run(struct store_copy *copy);

/* Remove the files that RocksDB writes for people each time it opens a copy. */
void store_copy_remove_messages(const char *path);

#endif
