/*
 * fsck_file.c - see fsck_file.h.  The rows of accounts, and what is known of shares by them; a
 * share's partition is walked in fsck_node.c.
 */
#include "service/file/fsck_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "service/file/file_name.h"
#include "service/file/fsck_file_internal.h"
#include "service/file/node.h"
#include "service/file/share.h"

enum {
    WORDS_BYTES_MAX = 2048, /* a name has up to 765 bytes */
    ROWS_MIN = 64,          /* of a growing array */
};

void fsck_file__report(struct fsck_files *files, const char *format, ...)
{
    char words[WORDS_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    files->report(files->arg, words);
}

void *fsck_file__grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return items;
    *capacity = *capacity == 0 ? ROWS_MIN : *capacity * 2;
    void *grown = reallocarray(items, *capacity, item_bytes);
    if (grown == NULL)
        panic("no memory left for %zu rows", *capacity);
    return grown;
}

/* --- shares --- */

static void add_share(struct fsck_files *files, struct slice account, struct slice name,
                      uint64_t incarnation, enum fsck_share_state state)
{
    files->shares =
        fsck_file__grow(files->shares, files->count, &files->capacity, sizeof(*files->shares));
    files->shares[files->count++] = (struct fsck_share){
        .incarnation = incarnation,
        .state = state,
        .name = arena_printf(&files->arena, "%.*s/%.*s", (int)account.len, account.data,
                             (int)name.len, name.data),
    };
}

static void add_snapshot(struct fsck_files *files, uint64_t incarnation, int64_t taken,
                         bool is_deleted)
{
    files->snapshots = fsck_file__grow(files->snapshots, files->snapshots_count,
                                       &files->snapshots_capacity, sizeof(*files->snapshots));
    files->snapshots[files->snapshots_count++] = (struct fsck_snapshot){
        .incarnation = incarnation,
        .taken = taken,
        .is_deleted = is_deleted,
    };
}

/* Rows 's' and 'd'. */
static void check_share(struct fsck_files *files, struct slice account, struct slice key,
                        struct slice row)
{
    struct arena arena = { 0 };
    struct share share;
    struct slice name = slice_from(key, 1);
    const bool is_deleted = key.data[0] == 'd';
    uint64_t incarnation = 0;
    const bool is_named =
        (!is_deleted || share_deleted_key_parse(key, &name, &incarnation) == OK) &&
        share_name_check(name) == OK;
    if (!is_named)
        fsck_file__report(files, "%.*s: the name of a share, %zu bytes, is damaged",
                          (int)account.len, account.data, name.len);
    else if (share_decode(&arena, row, &share) != OK || share.snapshot != 0 ||
             is_deleted != (share.deleted_at != 0) ||
             (is_deleted && share.incarnation != incarnation))
        fsck_file__report(files, "%.*s/%.*s: the share's record is damaged", (int)account.len,
                          account.data, (int)name.len, name.data);
    else
        add_share(files, account, name, share.incarnation,
                  is_deleted ? FSCK_SHARE_KEPT : FSCK_SHARE_THERE);
    files->share_count += !is_deleted;
    files->kept_count += is_deleted;
    arena_release(&arena);
}

static void check_snapshot(struct fsck_files *files, struct slice account, struct slice key,
                           struct slice row)
{
    struct arena arena = { 0 };
    struct share share;
    uint64_t incarnation;
    int64_t taken;
    files->snapshot_count++;
    if (share_snapshot_key_parse(key, &incarnation, &taken) != OK ||
        share_decode(&arena, row, &share) != OK || share.snapshot != taken ||
        share.incarnation != incarnation)
        fsck_file__report(files, "%.*s: the record of a share's snapshot is damaged",
                          (int)account.len, account.data);
    else
        add_snapshot(files, incarnation, taken, false);
    arena_release(&arena);
}

void fsck_file_record(struct fsck_files *files, struct slice account, struct slice key,
                      struct slice row)
{
    if (key.data[0] == 'S')
        check_snapshot(files, account, key, row);
    else
        check_share(files, account, key, row);
}

void fsck_file_deleted(struct fsck_files *files, struct slice account,
                       const struct garbage *garbage)
{
    if (garbage->kind == RESOURCE_SHARE_SNAPSHOT) {
        add_snapshot(files, garbage->incarnation, garbage->taken, true);
        return;
    }
    add_share(files, account, slice_of("(deleted share)"), garbage->incarnation,
              FSCK_SHARE_DELETED);
    files->deleted_count++;
}

static int compare_shares(const void *a, const void *b)
{
    const struct fsck_share *left = a;
    const struct fsck_share *right = b;
    return (left->incarnation > right->incarnation) - (left->incarnation < right->incarnation);
}

static int compare_snapshots(const void *a, const void *b)
{
    const struct fsck_snapshot *left = a;
    const struct fsck_snapshot *right = b;
    if (left->incarnation != right->incarnation)
        return left->incarnation < right->incarnation ? -1 : 1;
    return (left->taken > right->taken) - (left->taken < right->taken);
}

const struct fsck_share *fsck_file__find_share(const struct fsck_files *files, uint64_t incarnation)
{
    const struct fsck_share key = { .incarnation = incarnation };
    return files->count == 0
               ? NULL
               : bsearch(&key, files->shares, files->count, sizeof(key), compare_shares);
}

size_t fsck_file__find_snapshots(const struct fsck_files *files, uint64_t incarnation)
{
    const struct fsck_snapshot key = { .incarnation = incarnation };
    size_t low = 0;
    size_t high = files->snapshots_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_snapshots(&files->snapshots[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A share that nobody has written to and taken no snapshot of has no partition. */
static void check_snapshots(struct fsck_files *files)
{
    for (size_t i = 0; i < files->snapshots_count; i++) {
        const struct fsck_snapshot *snapshot = &files->snapshots[i];
        const struct fsck_share *share = fsck_file__find_share(files, snapshot->incarnation);
        if (snapshot->is_deleted)
            continue;
        if (share == NULL || share->state == FSCK_SHARE_DELETED)
            fsck_file__report(files, "share %016" PRIx64 " has a snapshot, and is not there",
                              snapshot->incarnation);
    }
}

void fsck_file_sort(struct fsck_files *files)
{
    if (files->count > 1)
        qsort(files->shares, files->count, sizeof(*files->shares), compare_shares);
    if (files->snapshots_count > 1)
        qsort(files->snapshots, files->snapshots_count, sizeof(*files->snapshots),
              compare_snapshots);
    for (size_t i = 1; i < files->count; i++) {
        const struct fsck_share *one = &files->shares[i - 1];
        const struct fsck_share *other = &files->shares[i];
        if (one->incarnation == other->incarnation)
            fsck_file__report(files, "%s and %s have the same files", one->name.data,
                              other->name.data);
    }
    check_snapshots(files);
}

struct slice fsck_file_label(const struct fsck_files *files, uint64_t incarnation)
{
    const struct fsck_share *share = fsck_file__find_share(files, incarnation);
    return share == NULL ? (struct slice){ 0 } : share->name;
}

struct slice fsck_file_find(const struct fsck_files *files, struct arena *arena,
                            uint64_t incarnation, uint64_t content_id)
{
    struct slice name = { 0 };
    struct arena row_arena = { 0 };
    struct partition_view view;
    partition_view_open(files->store, file_partition(arena, incarnation), &view);
    const char *letters[] = { "e", "E" };
    for (size_t i = 0; i < 2 && name.len == 0; i++) {
        struct cursor *cursor =
            partition_view_scan(&view, slice_of(letters[i]), (struct slice){ 0 });
        struct slice key;
        struct slice row;
        while (name.len == 0 && cursor_next(cursor, &key, &row) == OK) {
            struct node node;
            arena_clear(&row_arena);
            if (node_decode(&row_arena, row, &node) == OK && node.content.id == content_id &&
                file_name_check(node.name) == OK)
                name = arena_copy(arena, node.name);
        }
        cursor_free(cursor);
    }
    partition_view_close(&view);
    arena_release(&row_arena);
    return name;
}

void fsck_file_release(struct fsck_files *files)
{
    free(files->shares);
    free(files->snapshots);
    arena_release(&files->arena);
}
