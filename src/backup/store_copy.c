#include "backup/store_copy.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/disk_file.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/log.h"
#include "partition/partition.h"
#include "stream/stream.h"

/* A copy under way; descriptors of directories. */
struct copying {
    struct store_copy *copy;
    int from;
    int to;
    int earlier; /* or -1 */
};

static enum err open_directory(const char *path, int *directory)
{
    *directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *directory < 0 ? disk_file_error("opening", path) : OK;
}

static enum err make_directory(int parent, const char *name)
{
    return mkdirat(parent, name, 0700) == 0 ? OK : disk_file_error("making", name);
}

/* --- metadata --- */

/* What RocksDB writes for people. */
static bool is_message_file(const char *name)
{
    return strcmp(name, "LOG") == 0 || strncmp(name, "LOG.old.", strlen("LOG.old.")) == 0;
}

static bool is_meta_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "LOCK") != 0 &&
           !is_message_file(entry->d_name);
}

static enum err copy_meta_file(struct store_copy *copy, int from, int to, const char *name)
{
    struct manifest_file file = { .kind = MANIFEST_META, .name = name };
    const enum err err =
        disk_file_copy(&(struct disk_file){ from, name }, &(struct disk_file){ to, name },
                       &file.size_bytes, &file.crc);
    if (err != OK)
        return err;
    copy->meta_bytes += file.size_bytes;
    manifest_add(&copy->manifest, &file);
    return OK;
}

static enum err copy_meta_files(struct store_copy *copy, DIR *from, int to)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(from);
        if (entry == NULL)
            return errno == 0 ? OK : disk_file_error("listing", copy->meta_path);
        if (!is_meta_file(entry))
            continue;
        const enum err err = copy_meta_file(copy, dirfd(from), to, entry->d_name);
        if (err != OK)
            return err;
    }
}

static enum err copy_meta(const struct copying *copying)
{
    enum err err = make_directory(copying->to, "meta");
    if (err != OK)
        return err;
    const int to = openat(copying->to, "meta", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return disk_file_error("opening", "meta");
    DIR *from = opendir(copying->copy->meta_path);
    if (from == NULL) {
        err = disk_file_error("opening", copying->copy->meta_path);
    } else {
        err = copy_meta_files(copying->copy, from, to);
        closedir(from);
    }
    if (err == OK && fsync(to) != 0)
        err = disk_file_error("syncing", "meta");
    close(to);
    return err;
}

void store_copy_remove_messages(const char *path)
{
    char meta[PATH_MAX];
    const int len = snprintf(meta, sizeof(meta), "%s/meta", path);
    DIR *directory = len > 0 && (size_t)len < sizeof(meta) ? opendir(meta) : NULL;
    if (directory == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (is_message_file(entry->d_name))
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
}

/* --- extents --- */

/* Which ranges an extent has, in one number: equal ranges, equal bytes in the file. */
static uint32_t rows_crc(const struct partition_extent *extent)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < extent->range_count; i++) {
        uint8_t range[16];
        put_be64(range, extent->ranges[i].offset);
        put_be64(range + 8, extent->ranges[i].length);
        crc = digest_crc32c(crc, slice_make(range, sizeof(range)));
    }
    return crc;
}

static uint64_t end_of(const struct stream_range *range)
{
    return range->offset + stream_allocated_bytes(range->length);
}

/* The ranges, those that touch in one piece. */
static enum err copy_ranges(struct store_copy *copy, const struct partition_extent *extent,
                            int from, int to)
{
    bool unread = false;
    enum err err = OK;
    size_t i = 0;
    while (err == OK && i < extent->range_count) {
        /* A row that cannot be is for the check of the copy to report. */
        if (!stream_range_is_valid(&extent->ranges[i])) {
            i++;
            continue;
        }
        const uint64_t begin = extent->ranges[i].offset;
        uint64_t end = end_of(&extent->ranges[i++]);
        while (i < extent->range_count && extent->ranges[i].offset == end &&
               stream_range_is_valid(&extent->ranges[i]))
            end = end_of(&extent->ranges[i++]);
        err = disk_file_copy_part(from, to, begin, end - begin, &unread);
        copy->copied_bytes += end - begin;
    }
    copy->unread_count += unread;
    return err;
}

static enum err finish_extent(const struct partition_extent *extent, int file, const char *path,
                              uint64_t *size_bytes)
{
    if (extent->length > 0 && ftruncate(file, (off_t)extent->length) != 0)
        return disk_file_error("sizing", path);
    struct stat stat;
    if (fstat(file, &stat) != 0 || fsync(file) != 0)
        return disk_file_error("syncing", path);
    *size_bytes = (uint64_t)stat.st_size;
    return OK;
}

static enum err copy_extent_file(const struct copying *copying,
                                 const struct partition_extent *extent, const char *path, int from,
                                 uint64_t *size_bytes)
{
    const int to = openat(copying->to, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return disk_file_error("making", path);
    enum err err = copy_ranges(copying->copy, extent, from, to);
    if (err == OK)
        err = finish_extent(extent, to, path, size_bytes);
    close(to);
    return err;
}

/* Whether the earlier backup's file stands for the copy, and was linked. */
static bool link_extent(const struct copying *copying, const struct partition_extent *extent,
                        const char *path, const struct manifest_file *file, uint64_t *size_bytes)
{
    if (copying->earlier < 0)
        return false;
    const struct manifest_file *earlier =
        manifest_find(copying->copy->earlier, MANIFEST_EXTENT, file->name);
    struct stat stat;
    if (earlier == NULL || earlier->crc != file->crc ||
        fstatat(copying->earlier, path, &stat, 0) != 0 ||
        (uint64_t)stat.st_size != earlier->size_bytes ||
        /* It may have been copied before it was settled. */
        (extent->length > 0 && extent->length != earlier->size_bytes) ||
        linkat(copying->earlier, path, copying->to, path, 0) != 0)
        return false;
    *size_bytes = earlier->size_bytes;
    copying->copy->linked_bytes += (uint64_t)stat.st_blocks * 512;
    return true;
}

static enum err copy_extent(void *arg, const struct partition_extent *extent)
{
    const struct copying *copying = arg;
    struct store_copy *copy = copying->copy;
    if (extent->range_count == 0)
        return OK;
    char path[STREAM_PATH_BYTES];
    stream_extent_path(extent->id, path);
    struct manifest_file file = {
        .kind = MANIFEST_EXTENT,
        .name = strchr(path, '/') + 1,
        .crc = rows_crc(extent),
    };
    if (!link_extent(copying, extent, path, &file, &file.size_bytes)) {
        const int from = openat(copying->from, path, O_RDONLY | O_CLOEXEC);
        if (from < 0) {
            const bool missing = errno == ENOENT;
            const enum err failed = disk_file_error("opening", path);
            copy->missing_count += missing;
            return missing ? OK : failed;
        }
        const enum err err = copy_extent_file(copying, extent, path, from, &file.size_bytes);
        close(from);
        if (err != OK)
            return err;
    }
    copy->extent_count++;
    manifest_add(&copy->manifest, &file);
    return OK;
}

/* The copied metadata says what to copy. */
static enum err copy_extents(struct copying *copying)
{
    enum err err = make_directory(copying->to, "extents");
    if (err != OK)
        return err;
    struct clock clock;
    clock_init(&clock);
    const struct partition_options options = { .clock = &clock, .read_only = true };
    struct partition_store *store;
    err = partition_open_rocksdb(copying->copy->to_path, &options, &store);
    if (err != OK)
        return err;
    err = partition_each_extent(store, copy_extent, copying);
    partition_close(store);
    return err;
}

static enum err sync_copy(const char *to_path)
{
    static const char *const names[] = { "/meta", "/extents", "" };
    enum err err = OK;
    for (size_t i = 0; err == OK && i < sizeof(names) / sizeof(names[0]); i++) {
        char path[PATH_MAX];
        const int len = snprintf(path, sizeof(path), "%s%s", to_path, names[i]);
        err = len > 0 && (size_t)len < sizeof(path) ? disk_file_sync_directory(path) : ERR_IO;
    }
    return err;
}

enum err store_copy_run(struct store_copy *copy)
{
    assert(copy->manifest.arena != NULL);
    assert((copy->earlier_path == NULL) == (copy->earlier == NULL));
    struct copying copying = { .copy = copy, .from = -1, .to = -1, .earlier = -1 };
    enum err err = open_directory(copy->from_path, &copying.from);
    if (err == OK)
        err = open_directory(copy->to_path, &copying.to);
    if (err == OK && copy->earlier_path != NULL)
        err = open_directory(copy->earlier_path, &copying.earlier);
    if (err == OK)
        err = copy_meta(&copying);
    if (err == OK)
        err = copy_extents(&copying);
    store_copy_remove_messages(copy->to_path);
    if (err == OK)
        err = sync_copy(copy->to_path);
    manifest_sort(&copy->manifest);
    const int opened[] = { copying.from, copying.to, copying.earlier };
    for (size_t i = 0; i < sizeof(opened) / sizeof(opened[0]); i++) {
        if (opened[i] >= 0)
            close(opened[i]);
    }
    return err;
}
