/*
 * io_ops.h - the table behind io.h, for those who implement it (base/os/).
 *
 * An implementation embeds `struct io` and `struct io_file` as the first members of its own
 * structs and fills in one table.  What each function promises is said in io.h; io.c checks
 * the arguments, so that implementations need not.
 */
#ifndef BASE_IO_OPS_H
#define BASE_IO_OPS_H

#include "base/io.h"

struct io_ops {
    void (*free)(struct io *io);
    enum err (*mkdir)(struct io *io, const char *path);
    enum err (*unlink)(struct io *io, const char *path);
    enum err (*rename)(struct io *io, const char *from, const char *to);
    enum err (*sync_dir)(struct io *io, const char *path);
    enum err (*list)(struct io *io, const char *path, void (*fn)(void *arg, const char *name),
                     void *arg);
    enum err (*space)(struct io *io, uint64_t *free_bytes, uint64_t *total_bytes);
    enum err (*file_open)(struct io *io, const char *path, enum io_open_mode mode,
                          struct io_file **file);
    void (*file_close)(struct io_file *file);
    enum err (*file_write)(struct io_file *file, uint64_t offset, struct slice bytes);
    enum err (*file_read)(struct io_file *file, uint64_t offset, void *buf, size_t len,
                          size_t *got);
    enum err (*file_sync)(struct io_file *file);
    void (*file_write_behind)(struct io_file *file, uint64_t offset, uint64_t len);
    enum err (*file_punch)(struct io_file *file, uint64_t offset, uint64_t len);
    enum err (*file_truncate)(struct io_file *file, uint64_t size_bytes);
    enum err (*file_size)(struct io_file *file, uint64_t *size_bytes);
    enum err (*file_stamp)(struct io_file *file, uint64_t *stamp);
    int (*file_descriptor)(const struct io_file *file);
};

struct io {
    const struct io_ops *ops;
};

struct io_file {
    const struct io_ops *ops;
};

#endif
