/*
 * rocks_checkpoint.c - the database of one moment, as files of its own, while it is used.
 *
 * RocksDB links its sorted files, which never change, and copies what it still writes to: the log
 * up to the length it has at that moment.  The log is in the order of all commits, so the
 * checkpoint is a prefix of them: of two changes, one acknowledged before the other was asked for,
 * it never has only the later.  All that was acknowledged before the call is in it.
 *
 * The write buffer is flushed first, so that there is little log to copy and to replay.
 */
#include <limits.h>
#include <stdio.h>

#include "base/log.h"
#include "partition/rocksdb/rocks_internal.h"

enum {
    LOG_BYTES_NOT_FLUSHED = 0,
};

enum err rocks__checkpoint(struct engine *engine, const char *path)
{
    struct rocks_engine *rocks = (struct rocks_engine *)engine;
    char meta[PATH_MAX];
    const int len = snprintf(meta, sizeof(meta), "%s/meta", path);
    if (len < 0 || (size_t)len >= sizeof(meta)) {
        log_error("rocksdb", "the path of the checkpoint is too long");
        return ERR_IO;
    }
    char *message = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(rocks->db, &message);
    if (message != NULL)
        return rocks__error("preparing a checkpoint", message);
    rocksdb_checkpoint_create(checkpoint, meta, LOG_BYTES_NOT_FLUSHED, &message);
    rocksdb_checkpoint_object_destroy(checkpoint);
    return message == NULL ? OK : rocks__error("making a checkpoint", message);
}
