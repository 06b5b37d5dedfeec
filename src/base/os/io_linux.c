/*
 * io_linux.c - io.h on the operating system.
 *
 * Paths are resolved against a descriptor of the directory, so that the process may change its
 * working directory.  Every call interrupted by a signal is made again.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/io_ops.h"
#include "base/log.h"

struct linux_io {
    struct io io;
    int dir_fd;
    _Atomic bool punch_refused; /* the file system has no holes, and the log says so */
};

struct linux_file {
    struct io_file file;
    struct linux_io *io;
    int fd;
    char *path; /* for the log */
};

static const struct io_ops linux_ops;

static struct linux_io *linux_of(struct io *io)
{
    assert(io->ops == &linux_ops);
    return (struct linux_io *)io;
}

static struct linux_file *linux_file_of(struct io_file *file)
{
    assert(file->ops == &linux_ops);
    return (struct linux_file *)file;
}

/* What errno says, in our words.  The unexpected is logged, because errno goes no further. */
static enum err linux_error(const char *what, const char *path)
{
    const int error = errno;
    if (error == ENOENT)
        return ERR_NOT_FOUND;
    if (error == EEXIST)
        return ERR_EXISTS;
    log_error("io", "%s %s: %s", what, path, strerror(error));
    return error == ENOSPC || error == EDQUOT ? ERR_NO_SPACE : ERR_IO;
}

static enum err linux_mkdir(struct io *io, const char *path)
{
    if (mkdirat(linux_of(io)->dir_fd, path, 0700) != 0)
        return linux_error("mkdir", path);
    return OK;
}

static enum err linux_unlink(struct io *io, const char *path)
{
    if (unlinkat(linux_of(io)->dir_fd, path, 0) != 0)
        return linux_error("unlink", path);
    return OK;
}

static enum err linux_rename(struct io *io, const char *from, const char *to)
{
    const int dir_fd = linux_of(io)->dir_fd;
    if (renameat(dir_fd, from, dir_fd, to) != 0)
        return linux_error("rename", from);
    return OK;
}

static enum err sync_directory_at(int dir_fd, const char *path)
{
    const int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return linux_error("open", path);
    const enum err err = fsync(fd) == 0 ? OK : linux_error("sync", path);
    close(fd);
    return err;
}

static enum err linux_sync_dir(struct io *io, const char *path)
{
    return sync_directory_at(linux_of(io)->dir_fd, path);
}

static enum err linux_list(struct io *io, const char *path, void (*fn)(void *arg, const char *name),
                           void *arg)
{
    const int fd = openat(linux_of(io)->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return linux_error("open", path);
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        const enum err err = linux_error("open", path);
        close(fd);
        return err;
    }
    enum err err = OK;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            err = errno == 0 ? OK : linux_error("list", path);
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fn(arg, entry->d_name);
    }
    closedir(dir);
    return err;
}

static enum err linux_space(struct io *io, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct statvfs status;
    if (fstatvfs(linux_of(io)->dir_fd, &status) != 0)
        return linux_error("statvfs", ".");
    *free_bytes = (uint64_t)status.f_bavail * status.f_frsize;
    *total_bytes = (uint64_t)status.f_blocks * status.f_frsize;
    return OK;
}

static enum err linux_file_open(struct io *io, const char *path, enum io_open_mode mode,
                                struct io_file **file)
{
    const int create = mode == IO_OPEN_CREATE ? O_CREAT | O_EXCL : 0;
    int fd;
    do
        fd = openat(linux_of(io)->dir_fd, path, O_RDWR | O_CLOEXEC | create, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return linux_error("open", path);

    struct linux_file *opened = malloc(sizeof(*opened));
    char *copy = strdup(path);
    if (opened == NULL || copy == NULL)
        panic("out of memory");
    *opened = (struct linux_file){
        .file = { .ops = &linux_ops },
        .io = linux_of(io),
        .fd = fd,
        .path = copy,
    };
    *file = &opened->file;
    return OK;
}

static void linux_file_close(struct io_file *file)
{
    struct linux_file *opened = linux_file_of(file);
    if (close(opened->fd) != 0 && errno != EINTR)
        log_warn("io", "close %s: %s", opened->path, strerror(errno));
    free(opened->path);
    free(opened);
}

static enum err linux_file_write(struct io_file *file, uint64_t offset, struct slice bytes)
{
    const struct linux_file *opened = linux_file_of(file);
    while (bytes.len > 0) {
        const ssize_t n = pwrite(opened->fd, bytes.data, bytes.len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return linux_error("write", opened->path);
        offset += (uint64_t)n;
        bytes = slice_from(bytes, (size_t)n);
    }
    return OK;
}

static enum err linux_file_read(struct io_file *file, uint64_t offset, void *buf, size_t len,
                                size_t *got)
{
    const struct linux_file *opened = linux_file_of(file);
    size_t done = 0;
    while (done < len) {
        const ssize_t n = pread(opened->fd, (char *)buf + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return linux_error("read", opened->path);
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *got = done;
    return OK;
}

static enum err linux_file_sync(struct io_file *file)
{
    const struct linux_file *opened = linux_file_of(file);
    /* fdatasync includes what is needed to read the bytes back: the size, and the holes. */
    int result;
    do
        result = fdatasync(opened->fd);
    while (result != 0 && errno == EINTR);
    return result == 0 ? OK : linux_error("sync", opened->path);
}

static void linux_file_write_behind(struct io_file *file, uint64_t offset, uint64_t len)
{
    /* Without the waiting flags this reports, and so swallows, no write-back error: those are
       left for the sync.  That it may be refused (by a network file system) does no harm. */
    (void)sync_file_range(linux_file_of(file)->fd, (off_t)offset, (off_t)len,
                          SYNC_FILE_RANGE_WRITE);
}

static enum err linux_file_punch(struct io_file *file, uint64_t offset, uint64_t len)
{
    struct linux_file *opened = linux_file_of(file);
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    while (fallocate(opened->fd, mode, (off_t)offset, (off_t)len) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EOPNOTSUPP)
            return linux_error("punch", opened->path);
        if (!atomic_exchange(&opened->io->punch_refused, true))
            log_warn("io", "the file system cannot free parts of a file; space is given back "
                           "only when whole files are removed");
        return OK;
    }
    return OK;
}

static enum err linux_file_truncate(struct io_file *file, uint64_t size_bytes)
{
    const struct linux_file *opened = linux_file_of(file);
    int result;
    do
        result = ftruncate(opened->fd, (off_t)size_bytes);
    while (result != 0 && errno == EINTR);
    return result == 0 ? OK : linux_error("truncate", opened->path);
}

static enum err linux_file_size(struct io_file *file, uint64_t *size_bytes)
{
    const struct linux_file *opened = linux_file_of(file);
    struct stat status;
    if (fstat(opened->fd, &status) != 0)
        return linux_error("stat", opened->path);
    *size_bytes = (uint64_t)status.st_size;
    return OK;
}

static enum err linux_file_stamp(struct io_file *file, uint64_t *stamp)
{
    const struct linux_file *opened = linux_file_of(file);
    struct stat status;
    if (fstat(opened->fd, &status) != 0)
        return linux_error("stat", opened->path);
    *stamp =
        (uint64_t)status.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)status.st_mtim.tv_nsec;
    return OK;
}

static int linux_file_descriptor(const struct io_file *file)
{
    assert(file->ops == &linux_ops);
    return ((const struct linux_file *)file)->fd;
}

static void linux_free(struct io *io)
{
    struct linux_io *self = linux_of(io);
    close(self->dir_fd);
    free(self);
}

static const struct io_ops linux_ops = {
    .free = linux_free,
    .mkdir = linux_mkdir,
    .unlink = linux_unlink,
    .rename = linux_rename,
    .sync_dir = linux_sync_dir,
    .list = linux_list,
    .space = linux_space,
    .file_open = linux_file_open,
    .file_close = linux_file_close,
    .file_write = linux_file_write,
    .file_read = linux_file_read,
    .file_sync = linux_file_sync,
    .file_write_behind = linux_file_write_behind,
    .file_punch = linux_file_punch,
    .file_truncate = linux_file_truncate,
    .file_size = linux_file_size,
    .file_stamp = linux_file_stamp,
    .file_descriptor = linux_file_descriptor,
};

/* Make one directory and, if it is new, its name durable.  `path` is cut at `end` meanwhile. */
static enum err make_directory(char *path, char *end)
{
    const char kept = *end;
    *end = '\0';
    enum err err = mkdir(path, 0700) == 0 ? OK : linux_error("mkdir", path);
    if (err == OK) {
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            err = sync_directory_at(AT_FDCWD, ".");
        } else if (slash == path) {
            err = sync_directory_at(AT_FDCWD, "/");
        } else {
            *slash = '\0';
            err = sync_directory_at(AT_FDCWD, path);
            *slash = '/';
        }
    }
    *end = kept;
    return err == ERR_EXISTS ? OK : err;
}

static enum err make_directories(char *path)
{
    for (char *at = path; *at != '\0'; at++) {
        const bool name_ends = *at != '/' && (at[1] == '/' || at[1] == '\0');
        if (!name_ends)
            continue;
        const enum err err = make_directory(path, at + 1);
        if (err != OK)
            return err;
    }
    return OK;
}

enum err io_linux_new(const char *path, struct io **io)
{
    assert(path != NULL);
    char *copy = strdup(path);
    if (copy == NULL)
        panic("out of memory");
    const enum err err = make_directories(copy);
    free(copy);
    if (err != OK)
        return err;

    const int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return linux_error("open", path);
    struct linux_io *self = malloc(sizeof(*self));
    if (self == NULL)
        panic("out of memory");
    *self = (struct linux_io){ .io = { .ops = &linux_ops }, .dir_fd = dir_fd };
    *io = &self->io;
    return OK;
}
