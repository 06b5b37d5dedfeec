/*
 * rocks_manifest.c - cutting off what a power cut left of a change to RocksDB's list of its files.
 *
 * The manifest has the form of a log (log_scan.h); a record of it is a change of which files the
 * database is made of, and is synced before anything is done that relies on it.  RocksDB passes
 * over a last record that is cut short or wholly missing, but one of which only some sectors got
 * to the disk is damage to it.  Such a record is cut off here, if it is the last and was never
 * synced.
 *
 * What tells that is the log of the last whole record that names one: when a record that names the
 * next has been synced, RocksDB removes the old log.  Where the old log is gone, the record was
 * synced, and what it says must not be given up.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/slice.h"
#include "partition/rocksdb/log_scan.h"
#include "partition/rocksdb/rocks_internal.h"

/* The fields that come first in a record, in this order. */
enum edit_tag {
    EDIT_DB_ID = 8193,
    EDIT_COMPARATOR = 1,
    EDIT_LOG_NUMBER = 2,
};

static bool take_number(struct slice *from, uint64_t *number)
{
    *number = 0;
    for (size_t at = 0; at < from->len && at < 10; at++) {
        const uint8_t byte = (uint8_t)from->data[at];
        *number |= (uint64_t)(byte & 0x7F) << (7 * at);
        if ((byte & 0x80) == 0) {
            *from = slice_from(*from, at + 1);
            return true;
        }
    }
    return false;
}

/* Keep the number of the log that a record names, if it names one: `arg` is a uint64_t. */
static void note_log_number(void *arg, struct slice record)
{
    uint64_t tag;
    uint64_t value;
    while (take_number(&record, &tag) && take_number(&record, &value)) {
        if (tag == EDIT_LOG_NUMBER)
            *(uint64_t *)arg = value;
        const bool is_text = tag == EDIT_DB_ID || tag == EDIT_COMPARATOR;
        if (!is_text || value > record.len)
            return;
        record = slice_from(record, (size_t)value);
    }
}

static bool has_log(const char *meta, uint64_t number)
{
    char path[PATH_MAX];
    const int len = snprintf(path, sizeof(path), "%s/%06" PRIu64 ".log", meta, number);
    return (size_t)len < sizeof(path) && access(path, F_OK) == 0;
}

static enum err cut_manifest(int fd, const char *path, enum rocks_log_use use,
                             const struct log_scan *scan)
{
    if (use == ROCKS_LOG_LOOK) {
        log_warn("store",
                 "%s: the last %" PRIu64 " bytes were being written when the power went off; a "
                 "start of the server cuts them off",
                 path, scan->size_bytes - scan->whole_bytes);
        return OK;
    }
    log_warn("store",
             "%s: the last %" PRIu64 " bytes were being written when the power went off, and are "
             "cut off; nothing relies on them",
             path, scan->size_bytes - scan->whole_bytes);
    if (ftruncate(fd, (off_t)scan->whole_bytes) != 0 || fdatasync(fd) != 0)
        return rocks__system_error("cutting", path);
    return OK;
}

/* The path of the manifest that is in use; false if there is none. */
static bool find_manifest(const char *meta, char path[PATH_MAX])
{
    const int len = snprintf(path, PATH_MAX, "%s/CURRENT", meta);
    const int fd = (size_t)len < PATH_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    char name[64];
    const ssize_t got = read(fd, name, sizeof(name));
    close(fd);
    const struct slice line = slice_make(name, got < 0 ? 0 : (size_t)got);
    const struct slice text = slice_head(line, slice_find_byte(line, '\n'));
    const struct slice prefix = slice_of("MANIFEST-");
    if (text.len <= prefix.len || !slice_equal(slice_head(text, prefix.len), prefix))
        return false;
    const int whole = snprintf(path, PATH_MAX, "%s/%.*s", meta, (int)text.len, text.data);
    return (size_t)whole < PATH_MAX;
}

enum err rocks__check_manifest(const char *meta, enum rocks_log_use use)
{
    char path[PATH_MAX];
    if (!find_manifest(meta, path))
        return OK; /* RocksDB says what is wrong, if anything is */
    const int fd = open(path, (use == ROCKS_LOG_CUT ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? OK : rocks__system_error("opening", path);
    struct log_scan scan;
    uint64_t log_number = 0;
    enum err err = log_scan_records(fd, path, note_log_number, &log_number, &scan);
    if (err == OK && log_scan_is_torn(&scan) && !scan.has_part_after_bad &&
        has_log(meta, log_number))
        err = cut_manifest(fd, path, use, &scan);
    close(fd);
    return err;
}
