/*
 * log_scan.h - how far a log file of RocksDB is whole, and what is wrong with the rest.
 *
 * A log is written by one thread after the other, and what follows the record of a durable group is
 * written after that group was synced.  So a power cut can only have torn what comes after the last
 * durable record that something follows.  It leaves zeroes or nothing in place of sectors that did
 * not get to the disk.  Anything else that is no record is damage.  So is a record that is good
 * when one bit of its length is flipped: it would reach past the end of the file like one that was
 * cut short, but all of it is there.
 *
 * The format, as RocksDB writes it when log files are not recycled: blocks of 32 KiB; in them
 * records of checksum (4, CRC-32C of type and bytes, masked), length (2), type (1: whole, 2:
 * first, 3: middle, 4: last part) and bytes; a block ends with zeroes where no head fits.
 * Integers are little-endian.  The bytes of a record are a write batch.
 */
#ifndef PARTITION_ROCKSDB_LOG_SCAN_H
#define PARTITION_ROCKSDB_LOG_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

/* A value. */
struct log_scan {
    uint64_t size_bytes;
    uint64_t whole_bytes;      /* up to the end of the last record before anything that is none */
    bool is_bad;               /* there is something that is no record */
    bool looks_torn;           /* and it has bytes that never got to the disk */
    bool has_wrong_length;     /* what is no record would be one but for a bit of its length */
    bool has_part_after_bad;   /* there is a whole part behind what is no record */
    bool was_synced;           /* something follows the record of a durable group */
    bool was_synced_after_bad; /* and both are behind the bad place */
};

/* Read a whole log file; `path` is for messages.  ERR_IO. */
MUST_CHECK enum err log_scan_file(int fd, const char *path, struct log_scan *scan);

/* The same, with each record before anything bad; its bytes are borrowed for the call. */
typedef void log_scan_fn(void *arg, struct slice record);
MUST_CHECK enum err log_scan_records(int fd, const char *path, log_scan_fn *fn, void *arg,
                                     struct log_scan *scan);

/* Whether a power cut can have left the file so: everything behind `whole_bytes` was never synced,
   and so nobody was told of it. */
static inline bool log_scan_is_torn(const struct log_scan *scan)
{
    return scan->is_bad && scan->looks_torn && !scan->has_wrong_length &&
           !scan->was_synced_after_bad;
}

#endif
