/*
 * record_names.c - the calls that change names, and syncs.
 */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    SYNC_PAUSE_NSEC = 300 * 1000,
};

static uint32_t syncs; /* under the lock */

/* --- names --- */

int record_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
    REPLACES("renameat2");
int record_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    char old[PATH_MAX];
    char new[PATH_MAX];
    pthread_mutex_lock(&record_lock);
    const bool leaves = record_resolve(from_dir, from, old);
    const bool arrives = record_resolve(to_dir, to, new);
    if (leaves != arrives || (leaves && flags != 0))
        record_refuse("a rename across the root, or with flags");
    const int result = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    if (result == 0 && leaves)
        record_emit((struct event){ .kind = EVENT_RENAME }, old, new, NULL);
    pthread_mutex_unlock(&record_lock);
    return result;
}

int record_rename(const char *from, const char *to) REPLACES("rename");
int record_rename(const char *from, const char *to)
{
    return record_renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int record_renameat(int from_dir, const char *from, int to_dir, const char *to)
    REPLACES("renameat");
int record_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return record_renameat2(from_dir, from, to_dir, to, 0);
}

int record_unlinkat(int directory, const char *name, int flags) REPLACES("unlinkat");
int record_unlinkat(int directory, const char *name, int flags)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&record_lock);
    const bool ours = record_resolve(directory, name, path);
    const int result = (int)syscall(SYS_unlinkat, directory, name, flags);
    const bool removes_directory = (flags & AT_REMOVEDIR) != 0;
    if (result == 0 && ours)
        record_emit((struct event){ .kind = removes_directory ? EVENT_RMDIR : EVENT_UNLINK }, path,
                    NULL, NULL);
    pthread_mutex_unlock(&record_lock);
    return result;
}

int record_unlink(const char *name) REPLACES("unlink");
int record_unlink(const char *name)
{
    return record_unlinkat(AT_FDCWD, name, 0);
}

int record_rmdir(const char *name) REPLACES("rmdir");
int record_rmdir(const char *name)
{
    return record_unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

int record_remove(const char *name) REPLACES("remove");
int record_remove(const char *name)
{
    const int result = record_unlinkat(AT_FDCWD, name, 0);
    return result != 0 && errno == EISDIR ? record_rmdir(name) : result;
}

int record_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
    REPLACES("linkat");
int record_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    char old[PATH_MAX];
    char new[PATH_MAX];
    pthread_mutex_lock(&record_lock);
    const bool leaves = record_resolve(from_dir, from, old);
    const bool arrives = record_resolve(to_dir, to, new);
    if (leaves != arrives)
        record_refuse("a link across the root");
    const int result = (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
    if (result == 0 && leaves)
        record_emit((struct event){ .kind = EVENT_LINK }, old, new, NULL);
    pthread_mutex_unlock(&record_lock);
    return result;
}

int record_link(const char *from, const char *to) REPLACES("link");
int record_link(const char *from, const char *to)
{
    return record_linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int record_symlinkat(const char *to, int directory, const char *name) REPLACES("symlinkat");
int record_symlinkat(const char *to, int directory, const char *name)
{
    char path[PATH_MAX];
    if (record_resolve(directory, name, path))
        record_refuse("a symbolic link");
    return (int)syscall(SYS_symlinkat, to, directory, name);
}

int record_symlink(const char *to, const char *name) REPLACES("symlink");
int record_symlink(const char *to, const char *name)
{
    return record_symlinkat(to, AT_FDCWD, name);
}

int record_mkdirat(int directory, const char *name, mode_t mode) REPLACES("mkdirat");
int record_mkdirat(int directory, const char *name, mode_t mode)
{
    char path[PATH_MAX];
    pthread_mutex_lock(&record_lock);
    const bool ours = record_resolve(directory, name, path);
    const int result = (int)syscall(SYS_mkdirat, directory, name, mode);
    if (result == 0 && ours)
        record_emit((struct event){ .kind = EVENT_MKDIR }, path, NULL, NULL);
    pthread_mutex_unlock(&record_lock);
    return result;
}

int record_mkdir(const char *name, mode_t mode) REPLACES("mkdir");
int record_mkdir(const char *name, mode_t mode)
{
    return record_mkdirat(AT_FDCWD, name, mode);
}

/* A socket with a name is a name as others are. */
int record_bind(int fd, const struct sockaddr *address, socklen_t len) REPLACES("bind");
int record_bind(int fd, const struct sockaddr *address, socklen_t len)
{
    const struct sockaddr_un *local = (const void *)address;
    char path[PATH_MAX];
    if (address->sa_family != AF_UNIX || local->sun_path[0] == '\0')
        return (int)syscall(SYS_bind, fd, address, len);
    pthread_mutex_lock(&record_lock);
    const bool ours = record_resolve(AT_FDCWD, local->sun_path, path);
    const int result = (int)syscall(SYS_bind, fd, address, len);
    if (result == 0 && ours)
        record_emit((struct event){ .kind = EVENT_SOCKET }, path, NULL, NULL);
    pthread_mutex_unlock(&record_lock);
    return result;
}

/* --- syncs --- */

static int sync_file(int fd, long number)
{
    const uint32_t handle = record_handle_of(fd);
    if (handle == 0)
        return (int)syscall(number, fd);
    pthread_mutex_lock(&record_lock);
    const uint32_t sync = ++syncs;
    record_emit((struct event){ .kind = EVENT_SYNC_BEGIN, .handle = handle, .size = sync }, NULL,
                NULL, NULL);
    pthread_mutex_unlock(&record_lock);

    const struct timespec pause = { .tv_nsec = SYNC_PAUSE_NSEC };
    nanosleep(&pause, NULL);

    pthread_mutex_lock(&record_lock);
    record_emit((struct event){ .kind = EVENT_SYNC_END, .handle = handle, .size = sync }, NULL,
                NULL, NULL);
    pthread_mutex_unlock(&record_lock);
    return 0;
}

int record_fsync(int fd) REPLACES("fsync");
int record_fsync(int fd)
{
    return sync_file(fd, SYS_fsync);
}

int record_fdatasync(int fd) REPLACES("fdatasync");
int record_fdatasync(int fd)
{
    return sync_file(fd, SYS_fdatasync);
}

/* It starts writing, and promises nothing. */
int record_sync_file_range(int fd, off_t offset, off_t size, unsigned flags)
    REPLACES("sync_file_range");
int record_sync_file_range(int fd, off_t offset, off_t size, unsigned flags)
{
    if (record_handle_of(fd) != 0)
        return 0;
    return (int)syscall(SYS_sync_file_range, fd, offset, size, flags);
}

int record_syncfs(int fd) REPLACES("syncfs");
int record_syncfs(int fd)
{
    if (record_is_on())
        record_refuse("syncfs");
    return (int)syscall(SYS_syncfs, fd);
}

void record_sync(void) REPLACES("sync");
void record_sync(void)
{
    if (record_is_on())
        record_refuse("sync");
    syscall(SYS_sync);
}
