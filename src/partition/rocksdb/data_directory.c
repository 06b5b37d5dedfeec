/*
 * data_directory.c - taking a data directory: is it ours, does anybody else use it.
 *
 *   <path>/FORMAT    one line, "zaffre-store 1": what wrote the directory and in which form
 *   <path>/LOCK      locked (flock) by the process that uses the directory
 *   <path>/meta/     the database                (partition/rocksdb/engine_rocksdb.c)
 *   <path>/extents/  payloads                    (stream/)
 *
 * FORMAT is written last-step-atomic: a temporary file, synced, renamed, and the directory
 * synced.  A directory without it that has `meta` or `extents` is somebody's data and is left
 * alone.  Other files do not matter: programs that start an emulator in their project's directory
 * expect it to keep its files beside theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "partition/heap.h"
#include "partition/partition.h"

static const char FORMAT_LINE[] = "zaffre-store 1\n";

struct partition_lock {
    int directory; /* descriptors */
    int file;
};

static enum err system_error(const char *doing, const char *path)
{
    const int code = errno;
    char text[128];
    log_error("store", "%s %s: %s", doing, path, strerror_r(code, text, sizeof(text)));
    return code == ENOSPC || code == EDQUOT ? ERR_NO_SPACE : ERR_IO;
}

/* Make the name of directory `path` durable. */
static enum err sync_parent(const char *path)
{
    char parent[PATH_MAX + sizeof("/..")];
    snprintf(parent, sizeof(parent), "%s/..", path);
    const int directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = directory >= 0 && fsync(directory) == 0;
    const enum err err = synced ? OK : system_error("syncing the parent of", path);
    if (directory >= 0)
        close(directory);
    return err;
}

/* Make `path` and its parents. */
static enum err make_directory(const char *path)
{
    char part[PATH_MAX];
    const size_t len = strlen(path);
    if (len == 0 || len >= sizeof(part)) {
        log_error("store", "the path of the data directory is empty or too long");
        return ERR_IO;
    }
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        const bool made = mkdir(part, 0700) == 0;
        if (!made && errno != EEXIST)
            return system_error("making directory", part);
        const enum err err = made ? sync_parent(part) : OK;
        if (err != OK)
            return err;
        part[i] = path[i];
    }
    return OK;
}

/* ERR_FORMAT_UNKNOWN if the directory, which has no FORMAT, has something where our data would
   be. */
static enum err check_is_new(int directory, const char *path)
{
    static const char *const names[] = { "meta", "extents" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (faccessat(directory, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            log_error("store", "%s has no FORMAT file but has %s: not a data directory", path,
                      names[i]);
            return ERR_FORMAT_UNKNOWN;
        }
        if (errno != ENOENT)
            return system_error("looking into", path);
    }
    return OK;
}

/* ERR_NOT_FOUND if there is no FORMAT, ERR_FORMAT_UNKNOWN if it is not ours. */
static enum err check_format(int directory, const char *path)
{
    const int file = openat(directory, "FORMAT", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? ERR_NOT_FOUND : system_error("opening FORMAT in", path);
    char line[sizeof(FORMAT_LINE)] = { 0 };
    const ssize_t got = read(file, line, sizeof(line));
    const enum err failed = got < 0 ? system_error("reading FORMAT in", path) : OK;
    close(file);
    if (failed != OK)
        return failed;
    if (!slice_is(slice_make(line, (size_t)got), FORMAT_LINE)) {
        log_error("store", "%s was written in a format this program does not know", path);
        return ERR_FORMAT_UNKNOWN;
    }
    return OK;
}

static enum err write_format(int directory, const char *path)
{
    const int file =
        openat(directory, "FORMAT.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return system_error("making FORMAT in", path);
    const size_t len = sizeof(FORMAT_LINE) - 1;
    const bool written = write(file, FORMAT_LINE, len) == (ssize_t)len && fsync(file) == 0;
    const enum err err = written ? OK : system_error("writing FORMAT in", path);
    close(file);
    if (err != OK)
        return err;
    if (renameat(directory, "FORMAT.new", directory, "FORMAT") != 0 || fsync(directory) != 0)
        return system_error("writing FORMAT in", path);
    return OK;
}

/* `lock->directory` is open.  Nothing is written to a directory that is not ours. */
static enum err take(struct partition_lock *lock, const char *path)
{
    enum err err = check_format(lock->directory, path);
    if (err == ERR_NOT_FOUND)
        err = check_is_new(lock->directory, path);
    if (err != OK)
        return err;

    lock->file = openat(lock->directory, "LOCK", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock->file < 0)
        return system_error("opening LOCK in", path);
    if (flock(lock->file, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? ERR_LOCKED : system_error("locking", path);

    /* Another process may have written it before this one had the lock. */
    err = check_format(lock->directory, path);
    return err == ERR_NOT_FOUND ? write_format(lock->directory, path) : err;
}

/* Open the directory and `take` it. */
static enum err open_and_take(const char *path,
                              enum err (*take_opened)(struct partition_lock *lock,
                                                      const char *path),
                              struct partition_lock **lock)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return system_error("opening", path);

    struct partition_lock *taken = heap_new(sizeof(*taken));
    taken->directory = directory;
    taken->file = -1;
    const enum err err = take_opened(taken, path);
    if (err != OK) {
        partition_lock_free(taken);
        return err;
    }
    *lock = taken;
    return OK;
}

enum err partition_prepare_directory(const char *path, struct partition_lock **lock)
{
    const enum err made = make_directory(path);
    return made == OK ? open_and_take(path, take, lock) : made;
}

/* As take, of a directory that has data already. */
static enum err take_existing(struct partition_lock *lock, const char *path)
{
    const enum err err = check_format(lock->directory, path);
    return err == OK ? take(lock, path) : err;
}

enum err partition_lock_directory(const char *path, struct partition_lock **lock)
{
    return access(path, F_OK) == 0 ? open_and_take(path, take_existing, lock) : ERR_NOT_FOUND;
}

void partition_lock_free(struct partition_lock *lock)
{
    if (lock == NULL)
        return;
    if (lock->file >= 0)
        close(lock->file);
    close(lock->directory);
    free(lock);
}
