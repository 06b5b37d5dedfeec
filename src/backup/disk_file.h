/*
 * disk_file.h - files by name: copies of them and of their parts, durable when they are done.
 *
 * Directories are descriptors, names are relative to them.  What the system says goes to the log.
 * Nothing is written outside the directories that are given.
 */
#ifndef BACKUP_DISK_FILE_H
#define BACKUP_DISK_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* A file and the directory it is in.  A value. */
struct disk_file {
    int directory; /* descriptor */
    const char *name;
};

/* `errno` in our words, after it was logged: ERR_NOT_FOUND, ERR_EXISTS, ERR_NO_SPACE or ERR_IO. */
MUST_CHECK enum err disk_file_error(const char *doing, const char *name);

/* Copy a whole file to a new one; its length and the CRC-32C of its bytes are returned. */
MUST_CHECK enum err disk_file_copy(const struct disk_file *from, const struct disk_file *to,
                                   uint64_t *size_bytes, uint32_t *crc);

/*
 * Copy the bytes from `offset` on to the same place of another file, by reference where the file
 * system can.  What lies behind the end of the source is left out.  Bytes that cannot be read are
 * left out too and `*unread` is set, so that a bad sector costs what is in it and nothing else.
 *   ERR_NO_SPACE, ERR_IO   they could not be written
 */
MUST_CHECK enum err disk_file_copy_part(int from, int to, uint64_t offset, uint64_t length,
                                        bool *unread);

/* Read a small file whole.  ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_IO. */
MUST_CHECK enum err disk_file_read_small(const struct disk_file *place, struct arena *arena,
                                         struct slice *bytes);

/* Write a new file, durably. */
MUST_CHECK enum err disk_file_write_new(const struct disk_file *place, struct slice bytes);

/* Make the names in a directory durable. */
MUST_CHECK enum err disk_file_sync_directory(const char *path);

#endif
