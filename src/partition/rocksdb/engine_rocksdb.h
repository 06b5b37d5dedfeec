/*
 * engine_rocksdb.h - the embedded durable engine, on RocksDB's C API.
 *
 * All partitions live in one column family, ordered by physical key (partition/physical_key.h).
 * A group is a map of changes (partition/group_map.h); committing it is one append to the log and
 * one sync.  RocksDB joins the syncs of groups that commit at the same time.
 */
#ifndef PARTITION_ROCKSDB_ENGINE_ROCKSDB_H
#define PARTITION_ROCKSDB_ENGINE_ROCKSDB_H

#include <stdint.h>

#include "partition/engine.h"

/*
 * Open or create the database in directory "meta" of `path`.  `cache_bytes` is for the block
 * cache; 0 for the default.
 *   ERR_LOCKED     it is open already
 *   ERR_CORRUPT, ERR_IO, ERR_NO_SPACE
 */
MUST_CHECK enum err engine_rocksdb_open(const char *path, uint64_t cache_bytes,
                                        struct engine **engine);

/*
 * Open a database that is there; no group is committed.  RocksDB replays its log in memory, takes
 * no lock, and writes nothing but a file of its own messages.  ERR_CORRUPT, ERR_IO.
 */
MUST_CHECK enum err engine_rocksdb_open_read_only(const char *path, uint64_t cache_bytes,
                                                  struct engine **engine);

#endif
