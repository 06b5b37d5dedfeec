/*
 * data_directory.c - taking a data directory: is it ours, does anybody else use it.
 *
 *   <path>/FORMAT    one line, "zaffre-store 2": what wrote the directory and in which form;
 *                    in a backup "zaffre-backup 2", so that nobody serves and changes it
 *   <path>/LOCK      locked (flock) by the process that uses the directory
 *   <path>/meta/     the database                (partition/rocksdb/engine_rocksdb.c)
 *   <path>/extents/  payloads                    (stream/)
 *
 * The number is the highest form that anything in the directory may have. Whoever takes a directory
 * to change it raises a lower one before anything else, so that an earlier version, which would
 * misread what is written from then on, refuses it.
 *
 *   2   an inline payload with one owner has no row that counts its owners; a version that knows
 *       only 1 takes the missing row for a payload that nobody else needs
 *
 * FORMAT is written last-step-atomic: a temporary file, synced, renamed, and the directory
 * synced.  A directory without it that has `meta` or `extents` is somebody's data and is left
 * alone.  Other files do not matter: programs that start an emulator in their project's directory
 * expect it to keep its files beside theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/slice.h"
#include "partition/heap.h"
#include "partition/partition.h"
#include "partition/rocksdb/rocks_internal.h"

enum {
    FORMAT_VERSION = 2,
    FORMAT_LINE_BYTES_MAX = 64,
};

/* The first word of FORMAT. */
static const char *const FORMAT_WORDS[] = {
    [PARTITION_DIRECTORY_STORE] = "zaffre-store",
    [PARTITION_DIRECTORY_BACKUP] = "zaffre-backup",
};

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

static int open_parent(const char *path)
{
    char parent[PATH_MAX + sizeof("/..")];
    snprintf(parent, sizeof(parent), "%s/..", path);
    return open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

enum err rocks__sync_parent(const char *path)
{
    const int directory = open_parent(path);
    const bool synced = directory >= 0 && fsync(directory) == 0;
    const enum err err = synced ? OK : system_error("syncing the parent of", path);
    if (directory >= 0)
        close(directory);
    return err;
}

/*
 * Make one directory, and its name durable.  In a store that is new this is done even if the
 * directory was there, because the run that made it may have ended in between; but what others have
 * made may lie where we may not look.
 */
static enum err make_part(const char *path, bool is_new)
{
    const bool made = mkdir(path, 0700) == 0;
    if (!made && errno != EEXIST)
        return system_error("making directory", path);
    if (made)
        return rocks__sync_parent(path);
    const int directory = is_new ? open_parent(path) : -1;
    if (directory < 0)
        return OK;
    const bool failed = fsync(directory) != 0 && errno == EIO;
    const enum err err = failed ? system_error("syncing the parent of", path) : OK;
    close(directory);
    return err;
}

static bool has_format(const char *path)
{
    char format[PATH_MAX + sizeof("/FORMAT")];
    snprintf(format, sizeof(format), "%s/FORMAT", path);
    return access(format, F_OK) == 0;
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
    const bool is_new = !has_format(path);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        const enum err err = make_part(part, is_new);
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

/* The line of a kind, with its newline. */
static struct slice format_line(enum partition_directory kind, char line[FORMAT_LINE_BYTES_MAX])
{
    const int len =
        snprintf(line, FORMAT_LINE_BYTES_MAX, "%s %d\n", FORMAT_WORDS[kind], FORMAT_VERSION);
    return slice_make(line, (size_t)len);
}

/* What a FORMAT file says. */
struct format {
    enum partition_directory kind;
    uint64_t version;
};

/* False for what no version of this program writes. */
static bool format_parse(struct slice line, struct format *format)
{
    const struct slice word = slice_head(line, slice_find_byte(line, ' '));
    const size_t end = slice_find_byte(line, '\n');
    if (word.len == line.len || end != line.len - 1 ||
        decimal_parse_u64(slice_from(slice_head(line, end), word.len + 1), &format->version) != OK)
        return false;
    for (size_t kind = 0; kind < sizeof(FORMAT_WORDS) / sizeof(FORMAT_WORDS[0]); kind++)
        if (slice_is(word, FORMAT_WORDS[kind])) {
            format->kind = (enum partition_directory)kind;
            return format->version > 0;
        }
    return false;
}

/* ERR_NOT_FOUND if there is no FORMAT, ERR_IO. */
static enum err read_format(int directory, const char *path, char buf[FORMAT_LINE_BYTES_MAX],
                            struct slice *line)
{
    const int file = openat(directory, "FORMAT", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? ERR_NOT_FOUND : system_error("opening FORMAT in", path);
    const ssize_t got = read(file, buf, FORMAT_LINE_BYTES_MAX);
    const enum err failed = got < 0 ? system_error("reading FORMAT in", path) : OK;
    close(file);
    if (failed == OK)
        *line = slice_make(buf, (size_t)got);
    return failed;
}

/* ERR_NOT_FOUND if there is no FORMAT, ERR_FORMAT_UNKNOWN if it is none that this program reads. */
static enum err find_format(int directory, const char *path, struct format *format)
{
    char buf[FORMAT_LINE_BYTES_MAX];
    struct slice line = { 0 };
    const enum err err = read_format(directory, path, buf, &line);
    if (err != OK)
        return err;
    if (!format_parse(line, format)) {
        log_error("store", "%s was written in a format this program does not know", path);
        return ERR_FORMAT_UNKNOWN;
    }
    if (format->version > FORMAT_VERSION) {
        log_error("store",
                  "%s was written by a newer zaffre: its format is %" PRIu64
                  ", and this program knows %d",
                  path, format->version, FORMAT_VERSION);
        return ERR_FORMAT_UNKNOWN;
    }
    return OK;
}

/* The same of a directory that is to be served, which a backup is not. */
static enum err find_store_format(int directory, const char *path, struct format *format)
{
    const enum err err = find_format(directory, path, format);
    if (err == OK && format->kind != PARTITION_DIRECTORY_STORE) {
        log_error("store", "%s is a backup: zaffre restore makes a data directory of it", path);
        return ERR_FORMAT_UNKNOWN;
    }
    return err;
}

static enum err write_format(int directory, const char *path, enum partition_directory kind)
{
    const int file =
        openat(directory, "FORMAT.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return system_error("making FORMAT in", path);
    char buf[FORMAT_LINE_BYTES_MAX];
    const struct slice line = format_line(kind, buf);
    const bool written = write(file, line.data, line.len) == (ssize_t)line.len && fsync(file) == 0;
    const enum err err = written ? OK : system_error("writing FORMAT in", path);
    close(file);
    if (err != OK)
        return err;
    if (renameat(directory, "FORMAT.new", directory, "FORMAT") != 0 || fsync(directory) != 0)
        return system_error("writing FORMAT in", path);
    return OK;
}

enum err partition_mark_directory(const char *path, enum partition_directory kind)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return system_error("opening", path);
    const enum err err = write_format(directory, path, kind);
    close(directory);
    return err;
}

enum err partition_directory_kind(const char *path, enum partition_directory *kind)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return errno == ENOENT ? ERR_NOT_FOUND : system_error("opening", path);
    struct format format;
    const enum err err = find_format(directory, path, &format);
    close(directory);
    if (err == OK)
        *kind = format.kind;
    return err;
}

static enum err lock_file(struct partition_lock *lock, const char *path)
{
    lock->file = openat(lock->directory, "LOCK", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock->file < 0)
        return system_error("opening LOCK in", path);
    if (flock(lock->file, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? ERR_LOCKED : system_error("locking", path);
    return OK;
}

/* `lock->directory` is open.  Nothing is written to a directory that is not ours. */
static enum err take(struct partition_lock *lock, const char *path)
{
    struct format format = { 0 };
    enum err err = find_store_format(lock->directory, path, &format);
    if (err == ERR_NOT_FOUND)
        err = check_is_new(lock->directory, path);
    if (err != OK)
        return err;

    err = lock_file(lock, path);
    if (err != OK)
        return err;
    /* Another process may have written it before this one had the lock. */
    err = find_store_format(lock->directory, path, &format);
    if (err == OK && format.version < FORMAT_VERSION)
        log_info("store", "%s is of format %" PRIu64 ", and goes on as %d", path, format.version,
                 FORMAT_VERSION);
    else if (err != ERR_NOT_FOUND)
        return err;
    return write_format(lock->directory, path, PARTITION_DIRECTORY_STORE);
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

/* As take, of a directory that has data already: a store or a backup. */
static enum err take_existing(struct partition_lock *lock, const char *path)
{
    struct format format;
    const enum err err = find_format(lock->directory, path, &format);
    return err == OK ? lock_file(lock, path) : err;
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
