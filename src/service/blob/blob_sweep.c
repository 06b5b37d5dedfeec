#include "service/blob/blob_sweep.h"

#include "base/log.h"
#include "service/background.h"
#include "service/blob/blob.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/history.h"
#include "service/blob/overlay.h"
#include "service/blob/segments.h"
#include "service/blob/snapshot.h"
#include "service/blob/tag_index.h"

enum {
    /* A record whose content is a list counts for so many rows: about what dropping it removes. */
    SWEEP_LIST_ROWS = 64,
    /* Soft-deleted records removed by one update: each may have such a list. */
    SWEEP_BATCH_DELETED = 16,
};

/* --- all rows of a kind --- */

/* Does what the row `key` asks for, or some of it, and removes the row when that is done. */
typedef enum err row_fn(const struct sweep *sweep, struct slice partition, struct slice key,
                        void *arg);

/* Call `fn` for rows with the prefix until there are none.  Those that come to be behind the
   present one are found by beginning again. */
static enum err each_row(const struct sweep *sweep, struct slice partition, struct slice prefix,
                         row_fn *fn, void *arg)
{
    struct arena arenas[2] = { 0 }; /* one of the last key, one of the next */
    struct slice key = { 0 };
    enum err err = OK;
    for (unsigned turn = 0; err == OK; turn ^= 1) {
        const bool from_first = key.len == 0;
        arena_clear(&arenas[turn]);
        err = sweep_is_stopping(sweep) ? ERR_SHUTTING_DOWN
                                       : background_find_from(sweep->service, &arenas[turn],
                                                              partition, prefix, key, &key);
        if (err == OK) {
            err = fn(sweep, partition, key, arg);
        } else if (err == ERR_NOT_FOUND && !from_first) {
            key = (struct slice){ 0 };
            err = OK;
        }
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- lists that no record names --- */

struct drop_request {
    struct waited_update waited;
    uint64_t content_id;
};

static enum err drop_decide(struct change *change, void *arg)
{
    const struct drop_request *request = arg;
    bool done; /* what is left is found by its row */
    return content_sweep(change, request->content_id, &done);
}

static enum err drop_row(const struct sweep *sweep, struct slice partition, struct slice key,
                         void *arg)
{
    (void)arg;
    struct drop_request request = { 0 };
    if (!dropped_key_content(key, &request.content_id))
        return CORRUPT("a key of %zu bytes is not of dropped content", key.len);
    return background_update(sweep->service, &request.waited, partition, drop_decide);
}

static enum err sweep_dropped(const struct sweep *sweep, struct slice partition)
{
    return each_row(sweep, partition, dropped_prefix(), drop_row, NULL);
}

/* --- lists that are laid over others --- */

struct flatten_request {
    struct waited_update waited;
    uint64_t content_id;
    bool done; /* result */
};

static enum err flatten_decide(struct change *change, void *arg)
{
    struct flatten_request *request = arg;
    return overlay_flatten(change, request->content_id, &request->done);
}

/* The first key after `last` of a list that is to be made flat.  ERR_NOT_FOUND. */
static enum err find_due(struct service *service, struct arena *arena, struct slice partition,
                         struct slice last, struct slice *key)
{
    struct arena scratch = { 0 };
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, overlay_prefix(), last);
    enum err err = OK;
    bool is_due = false;
    while (err == OK && !is_due) {
        struct slice found;
        struct slice row;
        arena_clear(&scratch);
        err = cursor_next(cursor, &found, &row);
        if (err == OK && !slice_equal(found, last))
            err = overlay_is_due(&view, &scratch, found, row, &is_due);
        if (err == OK && is_due)
            *key = arena_copy(arena, found);
    }
    cursor_free(cursor);
    partition_view_close(&view);
    arena_release(&scratch);
    return err;
}

/* Make all lists flat that are to be.  Each is looked at once: one that comes to be due while
   others are made flat waits for the next pass. */
static enum err sweep_overlays(const struct sweep *sweep, struct slice partition)
{
    struct arena arenas[2] = { 0 }; /* one of the last key, one of the next */
    struct slice key = { 0 };
    enum err err = OK;
    for (unsigned turn = 0; err == OK; turn ^= 1) {
        struct flatten_request request = { 0 };
        arena_clear(&arenas[turn]);
        err = find_due(sweep->service, &arenas[turn], partition, key, &key);
        if (err == OK && !overlay_key_content(key, &request.content_id))
            err = CORRUPT("a key of %zu bytes is not of an overlay", key.len);
        while (err == OK && !request.done)
            err = sweep_is_stopping(sweep) ? ERR_SHUTTING_DOWN
                                           : background_update(sweep->service, &request.waited,
                                                               partition, flatten_decide);
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- blocks that nobody commits --- */

struct expire_request {
    struct waited_update waited;
    struct slice name;
};

/* ERR_NOT_FOUND unless the partition is closed. */
static enum err find_closed(struct change *change)
{
    struct slice row;
    return change_get(change, closed_key(), &row);
}

static enum err expire_decide(struct change *change, void *arg)
{
    const struct expire_request *request = arg;
    struct uncommitted uncommitted;
    enum err err = uncommitted_get(change, request->name, &uncommitted);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    if (!uncommitted_is_expired(&uncommitted, change_now(change))) {
        err = find_closed(change);
        if (err != OK)
            return err == ERR_NOT_FOUND ? OK : err;
    }
    return uncommitted_discard(change, request->name);
}

/* The first key from `from` on of blocks that are to go.  ERR_NOT_FOUND. */
static enum err find_expired(struct service *service, struct arena *arena, struct slice partition,
                             struct slice from, struct slice *key)
{
    const int64_t now = clock_now(service->clock);
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct slice row;
    enum err err = partition_view_get(&view, arena, closed_key(), &row);
    const bool closed = err == OK;
    if (err == ERR_NOT_FOUND)
        err = OK;
    struct cursor *cursor =
        partition_view_scan(&view, uncommitted_key(arena, (struct slice){ 0 }), from);
    bool found = false;
    while (err == OK && !found) {
        struct uncommitted uncommitted;
        err = cursor_next(cursor, key, &row);
        if (err == OK)
            err = uncommitted_decode(row, &uncommitted);
        found = err == OK && (closed || uncommitted_is_expired(&uncommitted, now));
    }
    if (found)
        *key = arena_copy(arena, *key);
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
}

static enum err sweep_uncommitted(const struct sweep *sweep, struct slice partition)
{
    struct arena arenas[2] = { 0 }; /* one of the last key, one of the next */
    struct slice key = { 0 };
    enum err err = OK;
    for (unsigned turn = 0; err == OK; turn ^= 1) {
        struct expire_request request = { 0 };
        arena_clear(&arenas[turn]);
        err = find_expired(sweep->service, &arenas[turn], partition, key, &key);
        if (err == OK)
            err = uncommitted_key_name(key, &request.name);
        if (err == OK)
            err = sweep_is_stopping(sweep) ? ERR_SHUTTING_DOWN
                                           : background_update(sweep->service, &request.waited,
                                                               partition, expire_decide);
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- what is soft-deleted and has expired --- */

struct forget_request {
    struct waited_update waited;
    bool is_closed;
    size_t count;
    struct slice keys[SWEEP_BATCH_DELETED];
};

static enum err forget_decide(struct change *change, void *arg)
{
    const struct forget_request *request = arg;
    enum err err = OK;
    for (size_t i = 0; i < request->count && err == OK; i++)
        err = history_expire(change, request->keys[i], request->is_closed);
    return err;
}

/* The next few 'e' rows whose time has come, from the key on.  They are in the order of time. */
static enum err find_forgotten(struct service *service, struct arena *arena, struct slice partition,
                               struct slice from, struct forget_request *request)
{
    const int64_t now = clock_now(service->clock);
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct slice row;
    enum err err = partition_view_get(&view, arena, closed_key(), &row);
    request->is_closed = err == OK;
    request->count = 0;
    if (err == ERR_NOT_FOUND)
        err = OK;
    struct cursor *cursor = partition_view_scan(&view, expiry_prefix(), from);
    while (err == OK && request->count < SWEEP_BATCH_DELETED) {
        struct slice key;
        struct slice record_key;
        int64_t expires_at;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = expiry_key_parse(arena, key, &expires_at, &record_key);
        if (err == OK && expires_at > now && !request->is_closed)
            err = ERR_NOT_FOUND;
        if (err == OK)
            request->keys[request->count++] = arena_copy(arena, key);
    }
    cursor_free(cursor);
    partition_view_close(&view);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err sweep_deleted(const struct sweep *sweep, struct slice partition)
{
    struct arena arenas[2] = { 0 }; /* one of the last keys, one of the next */
    struct slice from = { 0 };
    struct forget_request request = { .count = 1 };
    enum err err = OK;
    for (unsigned turn = 0; err == OK && request.count > 0; turn ^= 1) {
        arena_clear(&arenas[turn]);
        err = sweep_is_stopping(sweep)
                  ? ERR_SHUTTING_DOWN
                  : find_forgotten(sweep->service, &arenas[turn], partition, from, &request);
        if (err == OK && request.count > 0) {
            from = request.keys[request.count - 1];
            err = background_update(sweep->service, &request.waited, partition, forget_decide);
        }
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err;
}

/* --- what went by one row, and is removed a few at a time: blocks, snapshots --- */

/* Remove some of what the row `key` is about, from `from` on; see snapshots_sweep. */
typedef enum err remove_fn(struct change *change, struct slice key, struct slice from,
                           struct arena *arena, struct slice *next);

struct remove_request {
    struct waited_update waited;
    remove_fn *remove;
    struct slice key;
    struct slice from;
    struct arena arena; /* of `next` */
    struct slice next;  /* result */
};

static enum err remove_decide(struct change *change, void *arg)
{
    struct remove_request *request = arg;
    arena_clear(&request->arena);
    return request->remove(change, request->key, request->from, &request->arena, &request->next);
}

/* All of one row, each time from where the last update has come to: what is before is gone. */
static enum err remove_all(const struct sweep *sweep, struct slice partition,
                           struct remove_request *request)
{
    struct arena arena = { 0 }; /* of `from` */
    enum err err = OK;
    do {
        arena_clear(&arena);
        request->from = arena_copy(&arena, request->next);
        err = sweep_is_stopping(sweep)
                  ? ERR_SHUTTING_DOWN
                  : background_update(sweep->service, &request->waited, partition, remove_decide);
    } while (err == OK && request->next.len > 0);
    arena_release(&arena);
    arena_release(&request->arena);
    return err;
}

static enum err remove_row(const struct sweep *sweep, struct slice partition, struct slice key,
                           void *arg)
{
    struct remove_request *request = arg;
    *request = (struct remove_request){ .remove = request->remove, .key = key };
    return remove_all(sweep, partition, request);
}

static enum err sweep_gone(const struct sweep *sweep, struct slice partition, struct slice prefix,
                           remove_fn *remove)
{
    struct remove_request request = { .remove = remove };
    return each_row(sweep, partition, prefix, remove_row, &request);
}

/* --- one partition --- */

/* Whether the change sees no key with the prefix. */
static enum err check_none(struct change *change, struct slice prefix)
{
    struct slice key;
    struct slice row;
    struct cursor *cursor = change_scan(change, prefix, (struct slice){ 0 });
    const enum err err = cursor_next(cursor, &key, &row);
    cursor_free(cursor);
    return err == OK ? ERR_EXISTS : err == ERR_NOT_FOUND ? OK : err;
}

/* The mark goes when nothing is left that the sweeper looks for: ERR_EXISTS while there is. */
static enum err unmark_decide(struct change *change, void *arg)
{
    (void)arg;
    const struct slice none = { 0 };
    enum err err = check_none(change, dropped_prefix());
    if (err == OK)
        err = check_none(change, uncommitted_key(change_arena(change), none));
    if (err == OK)
        err = check_none(change, expiry_prefix());
    if (err == OK)
        err = check_none(change, forgotten_prefix());
    if (err == OK)
        err = check_none(change, outdated_prefix());
    if (err == OK)
        err = check_none(change, overlay_prefix());
    /* These two are found by copy_recover. */
    if (err == OK)
        err = check_none(change, unfinished_prefix());
    if (err == OK)
        err = check_none(change, pending_copy_prefix());
    if (err == OK)
        change_unmark(change);
    return err;
}

enum err blob_sweep_contents(const struct sweep *sweep, struct slice partition)
{
    enum err err = sweep_dropped(sweep, partition);
    if (err == OK)
        err = sweep_overlays(sweep, partition);
    /* What a list that is flat now was laid over may have gone with it. */
    return err == OK ? sweep_dropped(sweep, partition) : err;
}

enum err blob_sweep_marked(const struct sweep *sweep, struct slice partition)
{
    /* First what leaves lists to be dropped. */
    enum err err = sweep->extent == SWEEP_THOROUGHLY ? sweep_deleted(sweep, partition) : OK;
    if (err == OK)
        err = sweep_gone(sweep, partition, outdated_prefix(), snapshots_sweep);
    if (err == OK)
        err = blob_sweep_contents(sweep, partition);
    if (err == OK && sweep->extent == SWEEP_THOROUGHLY)
        err = sweep_uncommitted(sweep, partition);
    if (err == OK)
        err = sweep_gone(sweep, partition, forgotten_prefix(), forgotten_sweep);
    struct waited_update waited;
    if (err == OK)
        err = background_update(sweep->service, &waited, partition, unmark_decide);
    return err == ERR_EXISTS ? OK : err;
}

/* --- one incarnation --- */

/* Records that are to be removed.  They were found in a view. */
struct records_request {
    struct waited_update waited;
    size_t count;
    struct slice keys[SWEEP_BATCH_ROWS];
};

/* Of a base blob's tags there are rows in the index. */
static enum err sweep_tags(struct change *change, struct slice key, const struct blob *blob)
{
    struct slice name;
    int64_t snapshot;
    if (slice_starts_with(key, slice_of("h")))
        return OK;
    const enum err err = blob_key_name(key, &name, &snapshot);
    if (err == OK && snapshot == 0)
        tag_index_update(change, name, &blob->tags, &(struct metadata){ 0 });
    return err;
}

static enum err remove_record(struct change *change, struct slice key)
{
    struct slice row;
    struct blob blob;
    enum err err = change_get(change, key, &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    if (err == OK)
        err = blob_decode(change_arena(change), row, &blob);
    if (err == OK)
        err = content_drop(change, &blob.content);
    if (err == OK)
        err = sweep_tags(change, key, &blob);
    if (err == OK)
        change_delete(change, key);
    return err;
}

static enum err records_decide(struct change *change, void *arg)
{
    const struct records_request *request = arg;
    enum err err = OK;
    for (size_t i = 0; err == OK && i < request->count; i++)
        err = remove_record(change, request->keys[i]);
    return err;
}

/* The next records from `from` on, which is the last of those before, or empty. */
static enum err find_records(struct service *service, struct arena *arena, struct slice partition,
                             struct slice prefix, struct slice from,
                             struct records_request *request)
{
    struct arena scratch = { 0 };
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, prefix, from);
    enum err err = OK;
    size_t row_count = 0;
    request->count = 0;
    while (err == OK && row_count < SWEEP_BATCH_ROWS) {
        struct slice key;
        struct slice row;
        struct blob blob;
        arena_clear(&scratch);
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = blob_decode(&scratch, row, &blob);
        if (err == OK) {
            request->keys[request->count++] = arena_copy(arena, key);
            row_count += blob.content.place == CONTENT_SEGMENTS ? SWEEP_LIST_ROWS : 1;
        }
    }
    cursor_free(cursor);
    partition_view_close(&view);
    arena_release(&scratch);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Records of one letter.  Each batch begins where the last one ended: a scan from the beginning
   would pass by all that has been removed so far, while other updates wait for it. */
static enum err sweep_records(const struct sweep *sweep, struct slice partition, const char *letter)
{
    struct arena arenas[2] = { 0 }; /* one of the last keys, one of the next */
    struct slice from = { 0 };
    struct records_request request = { .count = 1 };
    enum err err = OK;
    for (unsigned turn = 0; err == OK && request.count > 0; turn ^= 1) {
        arena_clear(&arenas[turn]);
        err = sweep_is_stopping(sweep) ? ERR_SHUTTING_DOWN
                                       : find_records(sweep->service, &arenas[turn], partition,
                                                      slice_of(letter), from, &request);
        if (err == OK && request.count > 0) {
            from = request.keys[request.count - 1];
            err = background_update(sweep->service, &request.waited, partition, records_decide);
        }
    }
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err;
}

enum err blob_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation)
{
    struct arena arena = { 0 };
    const struct slice partition = blob_partition(&arena, incarnation);
    enum err err = sweep_close(sweep, partition);
    if (err == OK)
        err = sweep_records(sweep, partition, "b");
    if (err == OK)
        err = sweep_records(sweep, partition, "h");
    /* What is left of a closed partition goes, whether it has expired or not. */
    const struct sweep thorough = { sweep->service, sweep->sweeper, SWEEP_THOROUGHLY };
    if (err == OK)
        err = blob_sweep_marked(&thorough, partition);
    arena_release(&arena);
    return err;
}
