/*
 * fsck_file_internal.h - what fsck_file.c, for accounts, and fsck_node.c, for what shares hold,
 * have in common.
 */
#ifndef SERVICE_FILE_FSCK_FILE_INTERNAL_H
#define SERVICE_FILE_FSCK_FILE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "service/file/fsck_file.h"

enum fsck_share_state {
    FSCK_SHARE_THERE,
    FSCK_SHARE_KEPT,    /* soft-deleted */
    FSCK_SHARE_DELETED, /* and to be swept */
};

struct fsck_share {
    uint64_t incarnation;
    enum fsck_share_state state;
    struct slice name; /* account/share */
};

struct fsck_snapshot {
    uint64_t incarnation;
    int64_t taken;
    bool is_deleted; /* its instant is to be let go of */
};

void fsck_file__report(struct fsck_files *files, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for one more item of an array that grows. */
void *fsck_file__grow(void *items, size_t count, size_t *capacity, size_t item_bytes);

/* NULL if there is none. */
const struct fsck_share *fsck_file__find_share(const struct fsck_files *files,
                                               uint64_t incarnation);

/* Where those of a share begin among all snapshots, which are in order. */
size_t fsck_file__find_snapshots(const struct fsck_files *files, uint64_t incarnation);

#endif
