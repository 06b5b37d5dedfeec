#include "service/file/file_sweep.h"

#include <string.h>

#include "base/encoding.h"
#include "service/background.h"
#include "service/blob/blob_name.h"
#include "service/blob/blob_sweep.h"
#include "service/blob/segments.h"
#include "service/file/file_name.h"
#include "service/file/instants.h"
#include "service/file/node_internal.h"
#include "service/file/share.h"
#include "service/file/share_state.h"

enum {
    /* Records looked at in one view, which keeps others from reclaiming. */
    LOOK_ROWS = 4096,
    /* An entry whose content is a list counts for so many rows: about what dropping it removes. */
    LIST_ROWS = 64,
    /* Soft-deleted shares that are deleted by one update: each may have as many snapshots as may
       be. */
    DELETED_AT_ONCE = 4,
};

/* --- entries --- */

/* Entries that are to be removed.  They were found in a view. */
struct entries_request {
    struct waited_update waited;
    bool is_closed; /* all are; else only earlier states that no instant needs */
    size_t count;
    struct slice keys[SWEEP_BATCH_ROWS];
};

static enum err remove_entry(struct change *change, const struct instants *kept, bool is_closed,
                             struct slice key)
{
    struct slice row;
    struct node node;
    enum err err = change_get(change, key, &row);
    if (err == ERR_NOT_FOUND)
        return OK;
    if (err == OK)
        err = node_decode(change_arena(change), row, &node);
    if (err != OK || (!is_closed && instants_need(kept, node.since, node.until)))
        return err;
    change_delete(change, key);
    return content_drop(change, &node.content);
}

static enum err entries_decide(struct change *change, void *arg)
{
    const struct entries_request *request = arg;
    struct instants kept = { 0 };
    enum err err = request->is_closed ? OK : instants_read_change(change, &kept);
    for (size_t i = 0; err == OK && i < request->count; i++)
        err = remove_entry(change, &kept, request->is_closed, request->keys[i]);
    return err;
}

/* A look through the entries of one letter. */
struct look {
    const struct sweep *sweep;
    struct slice partition;
    struct slice prefix;
    bool is_closed;
    struct arena arenas[2]; /* of the last keys, and of the next */
    unsigned turn;
    struct slice from; /* the first key to look at; empty: the first of all */
    bool is_done;
};

/* Look at one: whether it is to go, and how many rows that is. */
static enum err look_at(const struct look *look, const struct instants *kept, struct arena *arena,
                        struct slice row, bool *is_due, size_t *rows)
{
    struct node node;
    const enum err err = node_decode(arena, row, &node);
    if (err != OK)
        return err;
    *is_due = look->is_closed || !instants_need(kept, node.since, node.until);
    *rows = node.content.place == CONTENT_SEGMENTS ? LIST_ROWS : 1;
    return OK;
}

/* The key that comes next after `key`. */
static struct slice key_after(struct arena *arena, struct slice key)
{
    char *after = arena_bytes(arena, key.len + 1);
    memcpy(after, key.data, key.len);
    after[key.len] = '\0';
    return slice_make(after, key.len + 1);
}

/* Find the next entries to be removed, and where to go on. */
static enum err find_entries(struct look *look, struct entries_request *request)
{
    struct arena *arena = &look->arenas[look->turn];
    struct arena row_arena = { 0 };
    struct instants kept = { 0 };
    struct partition_view view;
    partition_view_open(look->sweep->service->store, look->partition, &view);
    enum err err = look->is_closed ? OK : instants_read_view(&view, arena, &kept);
    struct cursor *cursor = partition_view_scan(&view, look->prefix, look->from);
    struct slice key = { 0 };
    size_t batch_rows = 0;
    request->count = 0;
    for (size_t looked = 0; err == OK && looked < LOOK_ROWS && batch_rows < SWEEP_BATCH_ROWS;
         looked++) {
        struct slice row;
        bool is_due;
        size_t rows;
        arena_clear(&row_arena);
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = look_at(look, &kept, &row_arena, row, &is_due, &rows);
        if (err != OK)
            break;
        if (is_due) {
            request->keys[request->count++] = arena_copy(arena, key);
            batch_rows += rows;
        }
    }
    if (err == OK)
        look->from = key_after(arena, key);
    cursor_free(cursor);
    partition_view_close(&view);
    arena_release(&row_arena);
    look->is_done = err == ERR_NOT_FOUND;
    return look->is_done ? OK : err;
}

static enum err sweep_entries(const struct sweep *sweep, struct slice partition, const char *letter,
                              bool is_closed)
{
    struct look look = {
        .sweep = sweep,
        .partition = partition,
        .prefix = slice_of(letter),
        .is_closed = is_closed,
    };
    struct entries_request request = { .is_closed = is_closed };
    enum err err = OK;
    while (err == OK && !look.is_done) {
        look.turn ^= 1;
        /* What `from` points to is in the other. */
        arena_clear(&look.arenas[look.turn]);
        err = sweep_is_stopping(sweep) ? ERR_SHUTTING_DOWN : find_entries(&look, &request);
        if (err == OK && request.count > 0)
            err = background_update(sweep->service, &request.waited, partition, entries_decide);
    }
    arena_release(&look.arenas[0]);
    arena_release(&look.arenas[1]);
    return err;
}

/* --- instants --- */

struct instant_request {
    struct waited_update waited;
    uint64_t incarnation;
    int64_t taken;
    bool has_record; /* result */
    bool is_known;   /* result: the time is over, and it will not change */
};

/* In the account's partition. */
static enum err ask_decide(struct change *change, void *arg)
{
    struct instant_request *request = arg;
    struct slice row;
    const struct slice key =
        share_snapshot_key(change_arena(change), request->incarnation, request->taken);
    const enum err err = change_get(change, key, &row);
    request->has_record = err == OK;
    request->is_known =
        err == OK || change_now(change) > request->taken + SHARE_SNAPSHOT_SEC * CLOCK_TICKS_PER_SEC;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* The share's partition takes no more changes of clients: it is emptied, or is to be.  OK. */
static enum err find_closed(struct change *change)
{
    struct slice row;
    return change_get(change, closed_key(), &row);
}

static enum err confirm_decide(struct change *change, void *arg)
{
    const struct instant_request *request = arg;
    struct arena *arena = change_arena(change);
    const struct slice key = instant_key(arena, request->taken);
    struct slice row;
    struct instant instant;
    enum err err = change_get(change, key, &row);
    if (err == OK)
        err = instant_decode(row, &instant);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    instant.is_confirmed = true;
    change_put(change, key, instant_encode(arena, &instant));
    return OK;
}

static enum err let_go_decide(struct change *change, void *arg)
{
    const struct instant_request *request = arg;
    const struct slice key = instant_key(change_arena(change), request->taken);
    struct slice row;
    struct share_state state;
    struct instants kept = { 0 };
    enum err err = find_closed(change);
    if (err != ERR_NOT_FOUND)
        return err;
    err = change_get(change, key, &row);
    if (err != OK)
        return err == ERR_NOT_FOUND ? OK : err;
    change_delete(change, key);
    err = share_state_get(change, &state);
    if (err == OK)
        err = instants_read_change(change, &kept);
    if (err != OK)
        return err;
    state.last_instant = kept.count == 0 ? 0 : kept.items[kept.count - 1];
    state.past_due = change_now(change);
    share_state_put(change, &state);
    change_mark(change);
    return OK;
}

enum err file_sweep_snapshot(const struct sweep *sweep, const struct garbage *garbage)
{
    struct arena arena = { 0 };
    struct instant_request request = { .taken = garbage->taken };
    const enum err err =
        background_update(sweep->service, &request.waited,
                          file_partition(&arena, garbage->incarnation), let_go_decide);
    arena_release(&arena);
    return err;
}

/* The first instant after `last` of which it is not known whether it has a snapshot, or will have.
   ERR_NOT_FOUND. */
static enum err find_unconfirmed(const struct sweep *sweep, struct arena *arena,
                                 struct slice partition, int64_t last, int64_t *taken,
                                 struct slice *account)
{
    const int64_t latest =
        clock_now(sweep->service->clock) - SHARE_SNAPSHOT_SEC * CLOCK_TICKS_PER_SEC;
    struct partition_view view;
    partition_view_open(sweep->service->store, partition, &view);
    struct cursor *cursor =
        partition_view_scan(&view, instant_prefix(), instant_key(arena, last + 1));
    struct instant instant = { .is_confirmed = true };
    enum err err = OK;
    while (err == OK && instant.is_confirmed) {
        struct slice key;
        struct slice row;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = instant_key_parse(key, taken);
        if (err == OK)
            err = instant_decode(row, &instant);
        if (err == OK && *taken > latest)
            err = ERR_NOT_FOUND;
        if (err == OK && !instant.is_confirmed)
            *account = arena_copy(arena, instant.account);
    }
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
}

static enum err settle_instant(const struct sweep *sweep, struct slice partition,
                               struct slice account, struct instant_request *request)
{
    const enum err err = background_update(sweep->service, &request->waited, account, ask_decide);
    if (err != OK || !request->is_known)
        return err;
    return background_update(sweep->service, &request->waited, partition,
                             request->has_record ? confirm_decide : let_go_decide);
}

static enum err sweep_instants(const struct sweep *sweep, struct slice partition)
{
    struct arena arena = { 0 };
    struct instant_request request = {
        .incarnation = get_be64((const uint8_t *)partition.data + 1),
    };
    enum err err = OK;
    while (err == OK) {
        struct slice account;
        arena_clear(&arena);
        err = find_unconfirmed(sweep, &arena, partition, request.taken, &request.taken, &account);
        if (err == OK)
            err = sweep_is_stopping(sweep)
                      ? ERR_SHUTTING_DOWN
                      : settle_instant(sweep, partition, account_partition(&arena, account),
                                       &request);
    }
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- earlier states --- */

struct past_request {
    struct waited_update waited;
    int64_t past_due;
};

/* All were looked through, unless another instant was let go of meanwhile. */
static enum err past_decide(struct change *change, void *arg)
{
    const struct past_request *request = arg;
    struct share_state state;
    const enum err err = share_state_get(change, &state);
    if (err != OK || state.past_due != request->past_due)
        return err;
    state.past_due = 0;
    share_state_put(change, &state);
    return OK;
}

static enum err sweep_past(const struct sweep *sweep, struct slice partition)
{
    struct arena arena = { 0 };
    struct slice row;
    struct share_state state = { 0 };
    enum err err = partition_get(sweep->service->store, &arena, partition, share_state_key(), &row);
    if (err == OK)
        err = share_state_decode(row, &state);
    if (err == OK && state.past_due != 0)
        err = sweep_entries(sweep, partition, "E", false);
    struct past_request request = { .past_due = state.past_due };
    if (err == OK && state.past_due != 0)
        err = background_update(sweep->service, &request.waited, partition, past_decide);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* --- one partition --- */

/* OK when the change sees no key with the prefix, and ERR_EXISTS when it does. */
static enum err check_none(struct change *change, struct slice prefix)
{
    struct cursor *cursor = change_scan(change, prefix, (struct slice){ 0 });
    struct slice key;
    struct slice row;
    const enum err err = cursor_next(cursor, &key, &row);
    cursor_free(cursor);
    if (err == ERR_NOT_FOUND)
        return OK;
    return err == OK ? ERR_EXISTS : err;
}

/* Removes the mark unless there is work left: ERR_EXISTS. */
static enum err unmark_decide(struct change *change, void *arg)
{
    (void)arg;
    struct share_state state;
    struct instants kept = { 0 };
    enum err err = share_state_get(change, &state);
    if (err == OK)
        err = instants_read_change(change, &kept);
    if (err == OK && (state.past_due != 0 || kept.unconfirmed_count > 0))
        err = ERR_EXISTS;
    if (err == OK)
        err = check_none(change, dropped_prefix());
    if (err == OK)
        err = check_none(change, overlay_prefix());
    if (err == OK)
        err = check_none(change, unfinished_prefix());
    if (err == OK)
        err = check_none(change, pending_copy_prefix());
    if (err == OK)
        change_unmark(change);
    return err;
}

static enum err unmark(const struct sweep *sweep, struct slice partition)
{
    struct waited_update waited;
    const enum err err = background_update(sweep->service, &waited, partition, unmark_decide);
    return err == ERR_EXISTS ? OK : err;
}

enum err file_sweep_marked(const struct sweep *sweep, struct slice partition)
{
    struct arena arena = { 0 };
    struct slice row;
    if (!is_file_partition(partition))
        return OK;
    enum err err = partition_get(sweep->service->store, &arena, partition, closed_key(), &row);
    const bool is_closed = err == OK;
    arena_release(&arena);
    if (err == ERR_NOT_FOUND)
        err = OK;
    /* A closed partition is emptied by the row that says so. */
    if (err == OK && !is_closed)
        err = sweep_instants(sweep, partition);
    if (err == OK && !is_closed)
        err = sweep_past(sweep, partition);
    if (err == OK)
        err = blob_sweep_contents(sweep, partition);
    return err == OK ? unmark(sweep, partition) : err;
}

enum err file_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation)
{
    struct arena arena = { 0 };
    const struct slice partition = file_partition(&arena, incarnation);
    enum err err = sweep_close(sweep, partition);
    if (err == OK)
        err = sweep_entries(sweep, partition, "e", true);
    if (err == OK)
        err = sweep_entries(sweep, partition, "E", true);
    if (err == OK)
        err = sweep_rows(sweep, partition, "hiopq");
    if (err == OK)
        err = blob_sweep_contents(sweep, partition);
    if (err == OK)
        err = unmark(sweep, partition);
    arena_release(&arena);
    return err;
}

/* --- soft-deleted shares --- */

struct expired_request {
    struct waited_update waited;
    size_t count;
    struct slice keys[DELETED_AT_ONCE];
};

/* The share is deleted as if there were no retention. */
static enum err delete_expired(struct change *change, struct slice key)
{
    struct arena *arena = change_arena(change);
    struct slice row;
    struct share share;
    enum err err = change_get(change, key, &row);
    if (err == ERR_NOT_FOUND)
        return OK; /* it was brought back */
    if (err == OK)
        err = share_decode(arena, row, &share);
    if (err != OK || share.expires_at > change_now(change))
        return err;
    struct cursor *cursor =
        change_scan(change, share_snapshot_prefix(arena, share.incarnation), (struct slice){ 0 });
    struct slice snapshot_key;
    while ((err = cursor_next(cursor, &snapshot_key, &row)) == OK)
        change_delete(change, arena_copy(arena, snapshot_key));
    cursor_free(cursor);
    if (err != ERR_NOT_FOUND)
        return err;
    change_delete(change, key);
    garbage_put(change, RESOURCE_SHARE, share.incarnation);
    return OK;
}

static enum err expired_decide(struct change *change, void *arg)
{
    const struct expired_request *request = arg;
    enum err err = OK;
    for (size_t i = 0; err == OK && i < request->count; i++)
        err = delete_expired(change, request->keys[i]);
    return err;
}

/* The next few whose time is over, behind `from`. */
static enum err find_expired(const struct sweep *sweep, struct arena *arena, struct slice partition,
                             struct slice from, struct expired_request *request)
{
    const int64_t now = clock_now(sweep->service->clock);
    struct arena row_arena = { 0 };
    struct partition_view view;
    partition_view_open(sweep->service->store, partition, &view);
    struct cursor *cursor =
        partition_view_scan(&view, share_deleted_prefix(arena, (struct slice){ 0 }), from);
    enum err err = OK;
    request->count = 0;
    while (err == OK && request->count < DELETED_AT_ONCE) {
        struct slice key;
        struct slice row;
        struct share share;
        arena_clear(&row_arena);
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = share_decode(&row_arena, row, &share);
        if (err == OK && share.expires_at <= now)
            request->keys[request->count++] = arena_copy(arena, key);
    }
    cursor_free(cursor);
    partition_view_close(&view);
    arena_release(&row_arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err unmark_account_decide(struct change *change, void *arg)
{
    (void)arg;
    const enum err err =
        check_none(change, share_deleted_prefix(change_arena(change), (struct slice){ 0 }));
    if (err == OK)
        change_unmark(change);
    return err == ERR_EXISTS ? OK : err;
}

enum err file_sweep_account(const struct sweep *sweep, struct slice partition)
{
    struct arena arenas[2] = { 0 }; /* of the last keys, and of the next */
    struct expired_request request = { .count = 1 };
    struct slice from = { 0 };
    enum err err = OK;
    if (sweep->extent != SWEEP_THOROUGHLY)
        return OK;
    for (unsigned turn = 0; err == OK && request.count > 0; turn ^= 1) {
        arena_clear(&arenas[turn]);
        err = sweep_is_stopping(sweep)
                  ? ERR_SHUTTING_DOWN
                  : find_expired(sweep, &arenas[turn], partition, from, &request);
        if (err == OK && request.count > 0) {
            from = key_after(&arenas[turn], request.keys[request.count - 1]);
            err = background_update(sweep->service, &request.waited, partition, expired_decide);
        }
    }
    if (err == OK)
        err = background_update(sweep->service, &request.waited, partition, unmark_account_decide);
    arena_release(&arenas[0]);
    arena_release(&arenas[1]);
    return err;
}
