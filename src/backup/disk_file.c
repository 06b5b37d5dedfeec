#include "backup/disk_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/log.h"

enum {
    COPY_BYTES = 1024 * 1024,
    SMALL_BYTES_MAX = 256 * 1024 * 1024, /* a manifest of a million extents is a third of it */
    UNREAD_BYTES = 4096,                 /* what is left out where the disk cannot read */
};

enum err disk_file_error(const char *doing, const char *name)
{
    const int code = errno;
    char text[128];
    log_error("backup", "%s %s: %s", doing, name, strerror_r(code, text, sizeof(text)));
    switch (code) {
    case ENOENT:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case ENOSPC:
    case EDQUOT:
        return ERR_NO_SPACE;
    default:
        return ERR_IO;
    }
}

static enum err open_to_read(const struct disk_file *place, int *file)
{
    *file = openat(place->directory, place->name, O_RDONLY | O_CLOEXEC);
    return *file < 0 ? disk_file_error("opening", place->name) : OK;
}

static enum err open_new(const struct disk_file *place, int *file)
{
    *file = openat(place->directory, place->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return *file < 0 ? disk_file_error("making", place->name) : OK;
}

/* All of the bytes; false with errno. */
static bool write_all(int file, const char *bytes, size_t len, uint64_t offset)
{
    while (len > 0) {
        const ssize_t n = pwrite(file, bytes, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

static ssize_t read_some(int file, char *buf, size_t len, uint64_t offset)
{
    ssize_t n;
    do
        n = pread(file, buf, len, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n;
}

static char *buffer_new(void)
{
    char *buf = malloc(COPY_BYTES);
    if (buf == NULL)
        panic("out of memory");
    return buf;
}

static enum err copy_opened(int from, int to, const char *name, uint64_t *size_bytes, uint32_t *crc)
{
    char *buf = buffer_new();
    enum err err = OK;
    *size_bytes = 0;
    *crc = 0;
    for (;;) {
        const ssize_t n = read_some(from, buf, COPY_BYTES, *size_bytes);
        if (n < 0)
            err = disk_file_error("reading", name);
        else if (n > 0 && !write_all(to, buf, (size_t)n, *size_bytes))
            err = disk_file_error("writing", name);
        if (err != OK || n == 0)
            break;
        *crc = digest_crc32c(*crc, slice_make(buf, (size_t)n));
        *size_bytes += (uint64_t)n;
    }
    free(buf);
    if (err == OK && fsync(to) != 0)
        err = disk_file_error("syncing", name);
    return err;
}

enum err disk_file_copy(const struct disk_file *from, const struct disk_file *to,
                        uint64_t *size_bytes, uint32_t *crc)
{
    int source;
    enum err err = open_to_read(from, &source);
    if (err != OK)
        return err;
    int copy;
    err = open_new(to, &copy);
    if (err == OK) {
        err = copy_opened(source, copy, to->name, size_bytes, crc);
        close(copy);
    }
    close(source);
    return err;
}

/* Let the file system do it; returns how much it has done. */
static uint64_t copy_by_system(int from, int to, uint64_t offset, uint64_t length)
{
    uint64_t done = 0;
    while (done < length) {
        off_t in = (off_t)(offset + done);
        off_t out = in;
        const uint64_t left = length - done;
        const size_t len = left < SIZE_MAX / 4 ? (size_t)left : SIZE_MAX / 4;
        const ssize_t n = copy_file_range(from, &in, to, &out, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        /* Whatever the reason, reading and writing finds it out again and says which it was. */
        if (n <= 0)
            break;
        done += (uint64_t)n;
    }
    return done;
}

enum err disk_file_copy_part(int from, int to, uint64_t offset, uint64_t length, bool *unread)
{
    assert(length > 0);
    uint64_t done = copy_by_system(from, to, offset, length);
    if (done == length)
        return OK;
    char *buf = buffer_new();
    size_t piece = COPY_BYTES; /* after the first bad place, no more than is lost by one */
    enum err err = OK;
    while (err == OK && done < length) {
        const uint64_t left = length - done;
        const size_t want = left < piece ? (size_t)left : piece;
        const ssize_t n = read_some(from, buf, want, offset + done);
        if (n == 0)
            break;
        if (n > 0) {
            if (!write_all(to, buf, (size_t)n, offset + done))
                err = disk_file_error("writing", "an extent");
            done += (uint64_t)n;
        } else if (want > UNREAD_BYTES) {
            piece = UNREAD_BYTES;
        } else {
            log_error("backup", "reading an extent at %" PRIu64 ": %s", offset + done,
                      strerror(errno));
            *unread = true;
            done += want;
        }
    }
    free(buf);
    return err;
}

enum err disk_file_read_small(const struct disk_file *place, struct arena *arena,
                              struct slice *bytes)
{
    int file;
    enum err err = open_to_read(place, &file);
    if (err != OK)
        return err;
    struct stat stat;
    if (fstat(file, &stat) != 0)
        err = disk_file_error("reading", place->name);
    else if (stat.st_size > SMALL_BYTES_MAX)
        err = ERR_TOO_LARGE;
    if (err == OK) {
        char *buf = arena_bytes(arena, (size_t)stat.st_size);
        size_t len = 0;
        ssize_t n = 1;
        while (n > 0 && len < (size_t)stat.st_size) {
            n = read_some(file, buf + len, (size_t)stat.st_size - len, len);
            len += n > 0 ? (size_t)n : 0;
        }
        err = n < 0 ? disk_file_error("reading", place->name) : OK;
        *bytes = slice_make(buf, len);
    }
    close(file);
    return err;
}

enum err disk_file_write_new(const struct disk_file *place, struct slice bytes)
{
    int file;
    enum err err = open_new(place, &file);
    if (err != OK)
        return err;
    if (!write_all(file, bytes.data, bytes.len, 0) || fsync(file) != 0)
        err = disk_file_error("writing", place->name);
    close(file);
    return err;
}

enum err disk_file_sync_directory(const char *path)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return disk_file_error("opening", path);
    const enum err err = fsync(directory) == 0 ? OK : disk_file_error("syncing", path);
    close(directory);
    return err;
}
