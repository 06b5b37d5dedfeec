/*
 * rocks_log.c - cutting off what a power cut left of RocksDB's log behind the last sync.
 *
 * RocksDB takes a log that ends in the middle of a record.  A disk that loses power leaves more
 * than that: later sectors may be there and earlier ones not, and a file may be longer than what
 * was written to it.  To RocksDB that is damage or, where a head is zeroes, nothing at all, and
 * it would go on behind the gap.  So it is given a log that ends before the first bad place, if a
 * power cut can have left it so (log_scan.h).  Otherwise the log is left as it is, for RocksDB to
 * refuse.
 *
 * RocksDB also takes a record for cut short whose length is damaged, in any log and in the
 * manifest, which has the same form.  It is not asked then.
 *
 * Log files behind the one that is cut hold at most one durable group.  It is kept: the older file
 * may be one that RocksDB needs no more, and then the group may have been acknowledged.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/slice.h"
#include "partition/heap.h"
#include "partition/rocksdb/log_scan.h"
#include "partition/rocksdb/rocks_internal.h"

/* The log files of a database, from the newest on. */
struct log_files {
    uint64_t *numbers;
    size_t count;
};

enum err rocks__system_error(const char *doing, const char *path)
{
    const int code = errno;
    char text[128];
    log_error("store", "%s %s: %s", doing, path, strerror_r(code, text, sizeof(text)));
    return ERR_IO;
}

/* The number in a name such as 000042.log. */
static bool parse_name(const char *name, uint64_t *number)
{
    const struct slice text = slice_of(name);
    const struct slice suffix = slice_of(".log");
    if (text.len <= suffix.len)
        return false;
    const size_t len = text.len - suffix.len;
    return slice_equal(slice_from(text, len), suffix) &&
           decimal_parse_u64(slice_head(text, len), number) == OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a;
    const uint64_t second = *(const uint64_t *)b;
    return (first < second) - (first > second);
}

/* A database that is not there has none. */
static enum err list_files(const char *meta, struct log_files *files)
{
    DIR *dir = opendir(meta);
    if (dir == NULL)
        return errno == ENOENT ? OK : rocks__system_error("opening", meta);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL)
            break;
        uint64_t number;
        if (!parse_name(entry->d_name, &number))
            continue;
        files->numbers = heap_resize(files->numbers, files->count + 1, sizeof(*files->numbers));
        files->numbers[files->count++] = number;
    }
    const enum err err = errno == 0 ? OK : rocks__system_error("listing", meta);
    closedir(dir);
    if (files->count > 0)
        qsort(files->numbers, files->count, sizeof(*files->numbers), compare_numbers);
    return err;
}

static enum err cut_file(const char *path, int fd, const struct log_scan *scan)
{
    log_warn("store",
             "%s: the last %" PRIu64 " bytes were being written when the power went off, "
             "and are cut off; nothing in them was acknowledged",
             path, scan->size_bytes - scan->whole_bytes);
    if (ftruncate(fd, (off_t)scan->whole_bytes) != 0 || fdatasync(fd) != 0)
        return rocks__system_error("cutting", path);
    return OK;
}

static enum err look_at_file(const char *path, enum rocks_log_use use, struct log_scan *scan)
{
    const int fd = open(path, (use == ROCKS_LOG_CUT ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        return rocks__system_error("opening", path);
    enum err err = log_scan_file(fd, path, scan);
    if (err == OK && scan->has_wrong_length)
        err = CORRUPT("%s: the record at %" PRIu64 " has a wrong length", path, scan->whole_bytes);
    if (err == OK && use == ROCKS_LOG_CUT && log_scan_is_torn(scan))
        err = cut_file(path, fd, scan);
    close(fd);
    return err;
}

/* The current one is not known here, and an old one is gone after the next start. */
static enum err look_at_manifests(const char *meta)
{
    static const char prefix[] = "MANIFEST-";
    DIR *dir = opendir(meta);
    if (dir == NULL)
        return errno == ENOENT ? OK : rocks__system_error("opening", meta);
    enum err err = OK;
    const struct dirent *entry;
    while (err == OK && (entry = readdir(dir)) != NULL) {
        char path[PATH_MAX];
        struct log_scan scan;
        const int len = snprintf(path, sizeof(path), "%s/%s", meta, entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && (size_t)len < sizeof(path))
            err = look_at_file(path, ROCKS_LOG_LOOK, &scan);
    }
    closedir(dir);
    return err;
}

enum err rocks__check_log(const char *meta, enum rocks_log_use use, bool *torn)
{
    struct log_files files = { 0 };
    enum err err = look_at_manifests(meta);
    if (err == OK)
        err = list_files(meta, &files);
    *torn = false;
    bool was_synced = false;
    for (size_t i = 0; err == OK && i < files.count; i++) {
        char path[PATH_MAX];
        struct log_scan scan;
        snprintf(path, sizeof(path), "%s/%06" PRIu64 ".log", meta, files.numbers[i]);
        err = look_at_file(path, was_synced ? ROCKS_LOG_LOOK : use, &scan);
        if (err != OK)
            break;
        /* A sync includes the older files, as long as RocksDB needs them: they cannot be torn. */
        *torn = *torn || (!was_synced && log_scan_is_torn(&scan));
        was_synced = was_synced || scan.was_synced;
    }
    free(files.numbers);
    return err;
}
