/*
 * io.c - checks the arguments and calls through the table of io_ops.h.
 */
#include "base/io.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/io_ops.h"

/* Offsets are off_t underneath, which is signed. */
static void assert_span(uint64_t offset, uint64_t len)
{
    assert(offset <= INT64_MAX);
    assert(len <= INT64_MAX - offset);
}

static void assert_path(const char *path)
{
    assert(path != NULL);
    assert(path[0] != '\0');
    assert(path[0] != '/');
    assert(strstr(path, "..") == NULL);
}

void io_free(struct io *io)
{
    if (io != NULL)
        io->ops->free(io);
}

enum err io_mkdir(struct io *io, const char *path)
{
    assert_path(path);
    return io->ops->mkdir(io, path);
}

enum err io_unlink(struct io *io, const char *path)
{
    assert_path(path);
    return io->ops->unlink(io, path);
}

enum err io_rename(struct io *io, const char *from, const char *to)
{
    assert_path(from);
    assert_path(to);
    return io->ops->rename(io, from, to);
}

enum err io_sync_dir(struct io *io, const char *path)
{
    assert_path(path);
    return io->ops->sync_dir(io, path);
}

enum err io_list(struct io *io, const char *path, void (*fn)(void *arg, const char *name),
                 void *arg)
{
    assert_path(path);
    assert(fn != NULL);
    return io->ops->list(io, path, fn, arg);
}

enum err io_space(struct io *io, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return io->ops->space(io, free_bytes, total_bytes);
}

enum err io_file_open(struct io *io, const char *path, enum io_open_mode mode,
                      struct io_file **file)
{
    assert_path(path);
    assert(mode == IO_OPEN_EXISTING || mode == IO_OPEN_CREATE);
    return io->ops->file_open(io, path, mode, file);
}

void io_file_close(struct io_file *file)
{
    if (file != NULL)
        file->ops->file_close(file);
}

enum err io_file_write(struct io_file *file, uint64_t offset, struct slice bytes)
{
    assert_span(offset, bytes.len);
    return file->ops->file_write(file, offset, bytes);
}

enum err io_file_read(struct io_file *file, uint64_t offset, void *buf, size_t len, size_t *got)
{
    assert_span(offset, len);
    return file->ops->file_read(file, offset, buf, len, got);
}

enum err io_file_sync(struct io_file *file)
{
    return file->ops->file_sync(file);
}

void io_file_write_behind(struct io_file *file, uint64_t offset, uint64_t len)
{
    assert_span(offset, len);
    file->ops->file_write_behind(file, offset, len);
}

enum err io_file_punch(struct io_file *file, uint64_t offset, uint64_t len)
{
    assert_span(offset, len);
    if (len == 0)
        return OK;
    return file->ops->file_punch(file, offset, len);
}

enum err io_file_truncate(struct io_file *file, uint64_t size_bytes)
{
    assert_span(0, size_bytes);
    return file->ops->file_truncate(file, size_bytes);
}

enum err io_file_size(struct io_file *file, uint64_t *size_bytes)
{
    return file->ops->file_size(file, size_bytes);
}

enum err io_file_stamp(struct io_file *file, uint64_t *stamp)
{
    return file->ops->file_stamp(file, stamp);
}

int io_file_descriptor(const struct io_file *file)
{
    return file->ops->file_descriptor(file);
}
