#include "service/blob/fsck.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "partition/heap.h"
#include "service/blob/blob_name.h"
#include "service/blob/fsck_internal.h"
#include "service/file/file_name.h"
#include "service/queue/queue_name.h"
#include "service/service_properties.h"
#include "service/table/table_name.h"

enum {
    WORDS_BYTES_MAX = 4096, /* of a finding; a blob's name is at most 3 KiB when it is escaped */
};

/* --- helpers --- */

void fsck__report(struct fsck *fsck, const char *format, ...)
{
    char words[WORDS_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    fsck->summary->finding_count++;
    fsck->request->finding(fsck->request->arg, words);
}

void fsck__repair(struct fsck *fsck, const struct partition_repair *repair)
{
    repair_add(fsck->request->repairs, repair);
}

struct slice fsck__printable(struct arena *arena, struct slice bytes)
{
    struct strbuf text;
    strbuf_init(&text, arena);
    strbuf_reserve(&text, bytes.len + 1);
    for (size_t i = 0; i < bytes.len; i++) {
        if (iscntrl((unsigned char)bytes.data[i]) || bytes.data[i] == '%')
            strbuf_printf(&text, "%%%02X", (unsigned)(unsigned char)bytes.data[i]);
        else
            strbuf_add_byte(&text, bytes.data[i]);
    }
    return strbuf_slice(&text);
}

void fsck__list_grow(struct fsck_list *list, size_t item_bytes)
{
    list->capacity = list->capacity == 0 ? 64 : list->capacity * 2;
    list->items = heap_resize(list->items, list->capacity, item_bytes);
}

void *fsck__list_add(struct fsck_list *list, size_t item_bytes)
{
    if (list->count == list->capacity)
        fsck__list_grow(list, item_bytes);
    char *item = (char *)list->items + list->count * item_bytes;
    list->count++;
    memset(item, 0, item_bytes);
    return item;
}

void fsck__list_sort(struct fsck_list *list, size_t item_bytes,
                     int (*compare)(const void *a, const void *b))
{
    if (list->count > 1)
        qsort(list->items, list->count, item_bytes, compare);
}

void fsck__list_release(struct fsck_list *list)
{
    free(list->items);
    *list = (struct fsck_list){ 0 };
}

static int compare_containers(const void *a, const void *b)
{
    const struct fsck_container *left = a;
    const struct fsck_container *right = b;
    return (left->incarnation > right->incarnation) - (left->incarnation < right->incarnation);
}

const struct fsck_container *fsck__find_container(const struct fsck *fsck, uint64_t incarnation)
{
    const struct fsck_container key = { .incarnation = incarnation };
    if (fsck->containers.count == 0)
        return NULL;
    return bsearch(&key, fsck->containers.items, fsck->containers.count, sizeof(key),
                   compare_containers);
}

struct slice fsck__container_label(const struct fsck *fsck, struct arena *arena,
                                   uint64_t incarnation)
{
    const struct fsck_container *container = fsck__find_container(fsck, incarnation);
    if (container != NULL && !container->is_deleted)
        return container->name;
    const struct slice share = fsck_file_label(&fsck->files, incarnation);
    if (share.len > 0)
        return share;
    return arena_printf(arena, "deleted container %016" PRIx64, incarnation);
}

/* --- accounts --- */

/* The account partition that is being checked. */
struct account_walk {
    struct fsck *fsck;
    struct slice account; /* printable */
    struct arena arena;   /* of the present row */
    bool needs_mark;      /* there are soft-deleted shares, which expire */
};

static void add_container(struct account_walk *walk, struct slice name,
                          const struct container *container)
{
    struct fsck *fsck = walk->fsck;
    struct fsck_container *added = fsck__list_add(&fsck->containers, sizeof(*added));
    added->incarnation = container->incarnation;
    added->name = arena_printf(&fsck->arena, "%.*s/%.*s", (int)walk->account.len,
                               walk->account.data, (int)name.len, name.data);
    fsck->summary->container_count++;
}

static void check_container(struct account_walk *walk, struct slice key, struct slice row)
{
    struct container container;
    const struct slice name = slice_from(key, 1);
    const struct slice printable = fsck__printable(&walk->arena, name);
    if (container_name_check(name) != OK)
        fsck__report(walk->fsck, "%s: the name of container \"%.*s\" is damaged",
                     walk->account.data, (int)printable.len, printable.data);
    if (container_decode(&walk->arena, row, &container) != OK)
        fsck__report(walk->fsck, "%s/%.*s: the container's record is damaged", walk->account.data,
                     (int)printable.len, printable.data);
    else
        add_container(walk, printable, &container);
}

static void check_deleted(struct account_walk *walk, struct slice key, struct slice row)
{
    struct fsck *fsck = walk->fsck;
    struct garbage garbage;
    if (garbage_decode(key, row, &garbage) != OK) {
        fsck__report(fsck, "%s: the row of a deleted container is damaged", walk->account.data);
        return;
    }
    if (garbage.kind == RESOURCE_QUEUE)
        fsck_queue_deleted(&fsck->queues, walk->account, garbage.incarnation);
    if (garbage.kind == RESOURCE_TABLE)
        fsck_table_deleted(&fsck->tables, walk->account, garbage.incarnation);
    if (garbage.kind == RESOURCE_SHARE || garbage.kind == RESOURCE_SHARE_SNAPSHOT)
        fsck_file_deleted(&fsck->files, walk->account, &garbage);
    if (garbage.kind != RESOURCE_CONTAINER)
        return;
    struct fsck_container *added = fsck__list_add(&fsck->containers, sizeof(*added));
    added->incarnation = garbage.incarnation;
    added->is_deleted = true;
    added->name = walk->account;
    fsck->summary->deleted_container_count++;
}

static void check_account_row(struct account_walk *walk, struct slice key, struct slice row)
{
    struct service_properties properties;
    switch (key.len == 0 ? '\0' : key.data[0]) {
    case 'c':
        check_container(walk, key, row);
        break;
    case 'g':
        check_deleted(walk, key, row);
        break;
    case 'q':
        fsck_queue_record(&walk->fsck->queues, walk->account,
                          fsck__printable(&walk->arena, slice_from(key, 1)), key, row);
        break;
    case 't':
        fsck_table_record(&walk->fsck->tables, walk->account,
                          fsck__printable(&walk->arena, slice_from(key, 1)), key, row);
        break;
    case 's':
    case 'd':
    case 'S':
        fsck_file_record(&walk->fsck->files, walk->account, key, row);
        walk->needs_mark |= key.data[0] == 'd';
        break;
    case 'p':
        if (service_properties_decode(row, &properties) != OK)
            fsck__report(walk->fsck, "%s: the service properties are damaged", walk->account.data);
        break;
    default:
        fsck__report(walk->fsck, "%s: there is a row of unknown kind, with a key of %zu bytes",
                     walk->account.data, key.len);
        break;
    }
}

static void check_account(struct fsck *fsck, struct slice partition)
{
    struct account_walk walk = {
        .fsck = fsck,
        .account = fsck__printable(&fsck->arena, slice_from(partition, 1)),
    };
    walk.account = arena_copy(&fsck->arena, walk.account); /* ends with a NUL */
    struct partition_view view;
    partition_view_open(fsck->request->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, (struct slice){ 0 }, (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        arena_clear(&walk.arena);
        check_account_row(&walk, key, arena_copy(&walk.arena, row));
    }
    if (err != ERR_NOT_FOUND)
        fsck__report(fsck, "%s: the containers cannot be read: %s", walk.account.data,
                     error_text(err));
    bool marked = false;
    if (walk.needs_mark &&
        (partition_is_marked(fsck->request->store, partition, &marked) != OK || !marked)) {
        fsck__report(fsck, "%s: there are soft-deleted shares, but no mark to find them by",
                     walk.account.data);
        fsck__repair(fsck, &(struct partition_repair){ .kind = PARTITION_REPAIR_MARK,
                                                       .partition = partition });
    }
    cursor_free(cursor);
    partition_view_close(&view);
    arena_release(&walk.arena);
}

/* Two containers of one incarnation would have the same blobs. */
static void check_incarnations(struct fsck *fsck)
{
    fsck__list_sort(&fsck->containers, sizeof(struct fsck_container), compare_containers);
    const struct fsck_container *containers = fsck->containers.items;
    for (size_t i = 1; i < fsck->containers.count; i++) {
        const struct fsck_container *one = &containers[i - 1];
        const struct fsck_container *other = &containers[i];
        if (one->incarnation == other->incarnation)
            fsck__report(fsck, "%s%s and %s%s have the same blobs", one->name.data,
                         one->is_deleted ? " (deleted)" : "", other->name.data,
                         other->is_deleted ? " (deleted)" : "");
    }
}

/* --- the whole --- */

static bool visit_account(void *arg, struct slice partition)
{
    struct fsck *fsck = arg;
    if (is_account_partition(partition)) {
        check_account(fsck, partition);
    } else if (!is_blob_partition(partition) && !is_message_partition(partition) &&
               !is_table_partition(partition) && !is_file_partition(partition)) {
        struct arena arena = { 0 };
        const struct slice printable = fsck__printable(&arena, partition);
        fsck__report(fsck, "there is a partition of unknown kind: \"%.*s\"", (int)printable.len,
                     printable.data);
        arena_release(&arena);
    }
    return true;
}

static bool visit_contents(void *arg, struct slice partition)
{
    struct fsck *fsck = arg;
    if (is_blob_partition(partition))
        fsck__check_blobs(fsck, partition);
    else if (is_message_partition(partition))
        fsck_queue_partition(&fsck->queues, partition);
    else if (is_table_partition(partition))
        fsck_table_partition(&fsck->tables, partition);
    else if (is_file_partition(partition))
        fsck__check_files(fsck, partition);
    return true;
}

static void report_of_service(void *arg, const char *words)
{
    fsck__report(arg, "%s", words);
}

static void visit_all(struct fsck *fsck, bool (*visit)(void *arg, struct slice partition))
{
    const enum err err = partition_each(fsck->request->store, visit, fsck);
    if (err != OK)
        fsck__report(fsck, "the partitions cannot be listed: %s", error_text(err));
}

static void report_of_partition(void *arg, const struct stream_range *range, const char *words)
{
    struct fsck *fsck = arg;
    struct arena arena = { 0 };
    const struct slice users =
        range == NULL ? (struct slice){ 0 } : fsck__users(fsck, &arena, range);
    if (users.len > 0)
        fsck__report(fsck, "%s; it belongs to %.*s", words, (int)users.len, users.data);
    else
        fsck__report(fsck, "%s", words);
    arena_release(&arena);
}

/* What nothing owns is given back when the extent is settled anew. */
static void repair_extent(void *arg, uint64_t extent_id)
{
    fsck__repair(arg, &(struct partition_repair){ .kind = PARTITION_REPAIR_UNSETTLE,
                                                  .needs_all = true,
                                                  .range.extent_id = extent_id });
}

static void check_partition_layer(struct fsck *fsck)
{
    struct partition_check check = {
        .report = report_of_partition,
        .unsettle = repair_extent,
        .arg = fsck,
    };
    const enum err err = partition_check(fsck->request->store, &check);
    (void)err; /* it was reported */
    fsck->summary->extent_count = check.census.extent_count;
    fsck->summary->live_bytes = check.census.live_bytes;
    fsck->summary->reclaimable_bytes = check.census.reclaimable_bytes;
}

/* All rows of all partitions: findings, and who claims what. */
static void walk_all(struct fsck *fsck)
{
    fsck->queues = (struct fsck_queues){ .store = fsck->request->store,
                                         .report = report_of_service,
                                         .arg = fsck };
    fsck->queues.repairs = fsck->request->repairs;
    fsck->tables = (struct fsck_tables){ .store = fsck->request->store,
                                         .report = report_of_service,
                                         .arg = fsck };
    fsck->files = (struct fsck_files){ .store = fsck->request->store,
                                       .report = report_of_service,
                                       .arg = fsck };
    fsck->files.repairs = fsck->request->repairs;
    visit_all(fsck, visit_account);
    check_incarnations(fsck);
    fsck_queue_sort(&fsck->queues);
    fsck_table_sort(&fsck->tables);
    fsck_file_sort(&fsck->files);
    visit_all(fsck, visit_contents);
}

static void release(struct fsck *fsck)
{
    fsck_queue_release(&fsck->queues);
    fsck_file_release(&fsck->files);
    fsck_table_release(&fsck->tables);
    fsck__list_release(&fsck->containers);
    fsck__list_release(&fsck->claims);
    arena_release(&fsck->arena);
}

void fsck_run(const struct fsck_request *request, struct fsck_summary *summary)
{
    *summary = (struct fsck_summary){ 0 };
    struct fsck fsck = { .request = request, .summary = summary };
    walk_all(&fsck);
    fsck__compare_owners(&fsck);
    check_partition_layer(&fsck);
    summary->queue_count = fsck.queues.queue_count;
    summary->message_count = fsck.queues.message_count;
    summary->deleted_queue_count = fsck.queues.deleted_count;
    summary->table_count = fsck.tables.table_count;
    summary->entity_count = fsck.tables.entity_count;
    summary->deleted_table_count = fsck.tables.deleted_count;
    summary->share_count = fsck.files.share_count;
    summary->share_snapshot_count = fsck.files.snapshot_count;
    summary->kept_share_count = fsck.files.kept_count;
    summary->node_count = fsck.files.node_count;
    summary->deleted_share_count = fsck.files.deleted_count;
    release(&fsck);
}

static void ignore_finding(void *arg, const char *words)
{
    (void)arg;
    (void)words;
}

struct slice fsck_users(struct partition_store *store, struct arena *arena,
                        const struct stream_range *range)
{
    const struct fsck_request request = { .store = store, .finding = ignore_finding };
    struct fsck_summary summary = { 0 };
    struct fsck fsck = { .request = &request, .summary = &summary };
    walk_all(&fsck);
    fsck__sort_claims(&fsck);
    const struct slice users = fsck__users(&fsck, arena, range);
    release(&fsck);
    return users;
}
