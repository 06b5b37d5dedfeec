/*
 * record.c - a log of everything a process does to the files of a directory.
 *
 * Put in front of the C library by LD_PRELOAD.  It takes the place of the calls that change files,
 * and writes down each effect on what lies under a directory, with its bytes, in the order in which
 * the effects took place: a call and its event are one step under one lock.  tests/fault/replay.mjs
 * reads the log, and says what the format is.
 *
 *   ZAFFRE_RECORD_ROOT        the directory, as an absolute path without symbolic links
 *   ZAFFRE_RECORD_LOG         the log, which lies outside; later processes append to it
 *   ZAFFRE_RECORD_DIE_AFTER   ends the process, as SIGKILL does, after that many events
 *
 * SIGUSR2 ends the process as SIGKILL does, but between two events, so that the log is complete.
 *
 * A sync is two events, for only what was written before it began is durable once it has ended; in
 * between there is a pause instead of a sync, because the log says what it would have done.
 *
 * What would escape the log ends the process with a message: writable shared mappings, copies
 * between descriptors inside the kernel, streams on files other than RocksDB's messages.
 */
#include "record.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* --- opening and closing --- */

static int open_file(int directory, const char *path, int flags, mode_t mode)
{
    if (!record_is_on() || (flags & O_PATH) != 0)
        return (int)syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&record_lock);
    struct stat status;
    const int saved = errno;
    const bool existed = syscall(SYS_newfstatat, directory, path, &status, 0) == 0;
    errno = saved;
    const int fd = (int)syscall(SYS_openat, directory, path, flags, mode);
    if (fd >= 0)
        record_remember(fd, flags, !existed);
    pthread_mutex_unlock(&record_lock);
    return fd;
}

static mode_t mode_from(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(args, int) : 0;
}

int record_open(const char *path, int flags, ...) REPLACES("open");
int record_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_from(flags, args);
    va_end(args);
    return open_file(AT_FDCWD, path, flags, mode);
}
ALSO("open", "open64");

int record_openat(int directory, const char *path, int flags, ...) REPLACES("openat");
int record_openat(int directory, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_from(flags, args);
    va_end(args);
    return open_file(directory, path, flags, mode);
}
ALSO("openat", "openat64");

int record_open_2(const char *path, int flags) REPLACES("__open_2");
int record_open_2(const char *path, int flags)
{
    return open_file(AT_FDCWD, path, flags, 0);
}
ALSO("__open_2", "__open64_2");

int record_openat_2(int directory, const char *path, int flags) REPLACES("__openat_2");
int record_openat_2(int directory, const char *path, int flags)
{
    return open_file(directory, path, flags, 0);
}
ALSO("__openat_2", "__openat64_2");

int record_creat(const char *path, mode_t mode) REPLACES("creat");
int record_creat(const char *path, mode_t mode)
{
    return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
ALSO("creat", "creat64");

int record_close(int fd) REPLACES("close");
int record_close(int fd)
{
    if (record_handle_of(fd) == 0)
        return (int)syscall(SYS_close, fd);
    pthread_mutex_lock(&record_lock);
    record_forget(fd);
    const int result = (int)syscall(SYS_close, fd);
    pthread_mutex_unlock(&record_lock);
    return result;
}

/* Streams write behind our back.  RocksDB's messages are nobody's data; they are taken as empty. */
static void check_stream(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strncmp(slash == NULL ? path : slash + 1, "LOG", 3) != 0)
        record_refuse("a stream on a file");
}

/* The C library's own function, as a pointer of whatever type. */
static void next_of(const char *symbol, void *function)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    memcpy(function, &found, sizeof(found));
}

FILE *record_fopen(const char *path, const char *mode) REPLACES("fopen");
FILE *record_fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *);
    next_of("fopen", &next);
    char full[PATH_MAX];
    if (strpbrk(mode, "wa+") != NULL && record_resolve(AT_FDCWD, path, full))
        record_refuse("fopen of a file");
    return next(path, mode);
}
ALSO("fopen", "fopen64");

FILE *record_fdopen(int fd, const char *mode) REPLACES("fdopen");
FILE *record_fdopen(int fd, const char *mode)
{
    FILE *(*next)(int, const char *);
    next_of("fdopen", &next);
    char path[PATH_MAX];
    if (record_handle_of(fd) != 0) {
        if (record_path_of(fd, path) && strpbrk(mode, "wa+") != NULL)
            check_stream(path);
        record_forget(fd);
    }
    return next(fd, mode);
}

/* closedir will close it. */
DIR *record_fdopendir(int fd) REPLACES("fdopendir");
DIR *record_fdopendir(int fd)
{
    DIR *(*next)(int);
    next_of("fdopendir", &next);
    if (record_handle_of(fd) != 0)
        record_forget(fd);
    return next(fd);
}

/* One open file, by another descriptor. */
int record_dup(int fd) REPLACES("dup");
int record_dup(int fd)
{
    pthread_mutex_lock(&record_lock);
    const bool ours = record_handle_of(fd) != 0;
    const int copy = (int)syscall(SYS_dup, fd);
    if (ours && copy >= 0)
        record_copy(fd, copy);
    pthread_mutex_unlock(&record_lock);
    return copy;
}

int record_dup2(int fd, int other) REPLACES("dup2");
int record_dup2(int fd, int other)
{
    if (record_handle_of(fd) != 0 || record_handle_of(other) != 0)
        record_refuse("dup2");
    return (int)syscall(SYS_dup2, fd, other);
}

int record_dup3(int fd, int other, int flags) REPLACES("dup3");
int record_dup3(int fd, int other, int flags)
{
    if (record_handle_of(fd) != 0 || record_handle_of(other) != 0)
        record_refuse("dup3");
    return (int)syscall(SYS_dup3, fd, other, flags);
}

int record_fcntl(int fd, int command, ...) REPLACES("fcntl");
int record_fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    const bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    if (record_handle_of(fd) != 0 && (copies || command == F_SETFL))
        record_refuse("fcntl with F_DUPFD or F_SETFL");
    return (int)syscall(SYS_fcntl, fd, command, argument);
}
ALSO("fcntl", "fcntl64");

/* --- contents --- */

static struct event write_event(uint32_t handle, off_t offset, long len)
{
    return (struct event){
        .kind = EVENT_WRITE,
        .handle = handle,
        .offset = (uint64_t)offset,
        .data_len = (uint32_t)len,
    };
}

ssize_t record_write(int fd, const void *data, size_t len) REPLACES("write");
ssize_t record_write(int fd, const void *data, size_t len)
{
    const uint32_t handle = record_handle_of(fd);
    if (handle == 0)
        return syscall(SYS_write, fd, data, len);
    pthread_mutex_lock(&record_lock);
    const ssize_t n = syscall(SYS_write, fd, data, len);
    if (n > 0)
        record_emit(write_event(handle, syscall(SYS_lseek, fd, 0, SEEK_CUR) - n, n), NULL, NULL,
                    data);
    pthread_mutex_unlock(&record_lock);
    return n;
}

ssize_t record_pwrite(int fd, const void *data, size_t len, off_t offset) REPLACES("pwrite");
ssize_t record_pwrite(int fd, const void *data, size_t len, off_t offset)
{
    const uint32_t handle = record_handle_of(fd);
    if (handle == 0)
        return syscall(SYS_pwrite64, fd, data, len, offset);
    pthread_mutex_lock(&record_lock);
    const ssize_t n = syscall(SYS_pwrite64, fd, data, len, offset);
    if (n > 0)
        record_emit(write_event(handle, offset, n), NULL, NULL, data);
    pthread_mutex_unlock(&record_lock);
    return n;
}
ALSO("pwrite", "pwrite64");

/* The first that is not empty; a caller sees a short write and comes again with the others. */
static const struct iovec *first_of(const struct iovec *pieces, int count)
{
    while (count > 1 && pieces->iov_len == 0) {
        pieces++;
        count--;
    }
    return pieces;
}

ssize_t record_writev(int fd, const struct iovec *pieces, int count) REPLACES("writev");
ssize_t record_writev(int fd, const struct iovec *pieces, int count)
{
    if (record_handle_of(fd) == 0 || count <= 0)
        return syscall(SYS_writev, fd, pieces, count);
    const struct iovec *first = first_of(pieces, count);
    return record_write(fd, first->iov_base, first->iov_len);
}

ssize_t record_pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
    REPLACES("pwritev");
ssize_t record_pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
    if (record_handle_of(fd) == 0 || count <= 0)
        return syscall(SYS_pwritev, fd, pieces, count, offset, 0L);
    const struct iovec *first = first_of(pieces, count);
    return record_pwrite(fd, first->iov_base, first->iov_len, offset);
}
ALSO("pwritev", "pwritev64");

ssize_t record_pwritev2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
    REPLACES("pwritev2");
ssize_t record_pwritev2(int fd, const struct iovec *pieces, int count, off_t offset, int flags)
{
    if (record_handle_of(fd) != 0)
        record_refuse("pwritev2");
    return syscall(SYS_pwritev2, fd, pieces, count, offset, 0L, flags);
}
ALSO("pwritev2", "pwritev64v2");

int record_ftruncate(int fd, off_t size) REPLACES("ftruncate");
int record_ftruncate(int fd, off_t size)
{
    const uint32_t handle = record_handle_of(fd);
    if (handle == 0)
        return (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&record_lock);
    const int result = (int)syscall(SYS_ftruncate, fd, size);
    if (result == 0)
        record_emit(
            (struct event){ .kind = EVENT_TRUNCATE, .handle = handle, .size = (uint64_t)size },
            NULL, NULL, NULL);
    pthread_mutex_unlock(&record_lock);
    return result;
}
ALSO("ftruncate", "ftruncate64");

int record_truncate(const char *path, off_t size) REPLACES("truncate");
int record_truncate(const char *path, off_t size)
{
    char full[PATH_MAX];
    if (record_resolve(AT_FDCWD, path, full))
        record_refuse("truncate by a path");
    return (int)syscall(SYS_truncate, path, size);
}
ALSO("truncate", "truncate64");

int record_fallocate(int fd, int mode, off_t offset, off_t size) REPLACES("fallocate");
int record_fallocate(int fd, int mode, off_t offset, off_t size)
{
    const uint32_t handle = record_handle_of(fd);
    if (handle == 0)
        return (int)syscall(SYS_fallocate, fd, mode, offset, size);
    pthread_mutex_lock(&record_lock);
    const int result = (int)syscall(SYS_fallocate, fd, mode, offset, size);
    if (result == 0)
        record_emit((struct event){ .kind = EVENT_ALLOCATE,
                                    .handle = handle,
                                    .flags = (uint32_t)mode,
                                    .offset = (uint64_t)offset,
                                    .size = (uint64_t)size },
                    NULL, NULL, NULL);
    pthread_mutex_unlock(&record_lock);
    return result;
}
ALSO("fallocate", "fallocate64");

int record_posix_fallocate(int fd, off_t offset, off_t size) REPLACES("posix_fallocate");
int record_posix_fallocate(int fd, off_t offset, off_t size)
{
    return record_fallocate(fd, 0, offset, size) == 0 ? 0 : errno;
}
ALSO("posix_fallocate", "posix_fallocate64");

/* --- what cannot be seen --- */

void *record_mmap(void *at, size_t len, int access, int flags, int fd, off_t offset)
    REPLACES("mmap");
void *record_mmap(void *at, size_t len, int access, int flags, int fd, off_t offset)
{
    const bool shared = (flags & MAP_ANONYMOUS) == 0 && (flags & MAP_TYPE) != MAP_PRIVATE;
    if (shared && (access & PROT_WRITE) != 0 && record_handle_of(fd) != 0)
        record_refuse("a writable shared mapping");
    return (void *)syscall(SYS_mmap, at, len, access, flags, fd, offset);
}
ALSO("mmap", "mmap64");

ssize_t record_copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t len,
                               unsigned flags) REPLACES("copy_file_range");
ssize_t record_copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t len,
                               unsigned flags)
{
    if (record_handle_of(to) != 0)
        record_refuse("copy_file_range");
    return syscall(SYS_copy_file_range, from, from_offset, to, to_offset, len, flags);
}

ssize_t record_sendfile(int to, int from, off_t *offset, size_t len) REPLACES("sendfile");
ssize_t record_sendfile(int to, int from, off_t *offset, size_t len)
{
    if (record_handle_of(to) != 0)
        record_refuse("sendfile");
    return syscall(SYS_sendfile, to, from, offset, len);
}
ALSO("sendfile", "sendfile64");

ssize_t record_splice(int from, off_t *from_offset, int to, off_t *to_offset, size_t len,
                      unsigned flags) REPLACES("splice");
ssize_t record_splice(int from, off_t *from_offset, int to, off_t *to_offset, size_t len,
                      unsigned flags)
{
    if (record_handle_of(to) != 0)
        record_refuse("splice");
    return syscall(SYS_splice, from, from_offset, to, to_offset, len, flags);
}
