/*
 * blob_list.c - blob_list of blob.h: a page of a container's blobs.
 *
 * Records of blobs and snapshots, records of what they were (history.h), and the names of blobs
 * that are not committed yet, are three ordered scans of one view; the page is their merge.  What
 * is not asked for is passed over by seeking, so the cost of a page is that of what it lists.
 */
#include <assert.h>
#include <string.h>

#include "service/blob/blob.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/history.h"
#include "service/blob/snapshot.h"
#include "service/blob/tier.h"

/* A scan and the row it stands at. */
struct scan {
    struct cursor *cursor; /* NULL: nothing to scan */
    bool has_row;
    struct slice row;
    struct slice name;
    uint64_t tick; /* of a blob: all ones, of a snapshot or a record of history: its own */
    char kind;     /* of a record of history */
};

struct listing {
    const struct blob_list_request *request;
    struct arena row_arena; /* cleared for each entry */
    struct scan blobs;
    struct scan history;
    struct scan uncommitted;
    int64_t now;
    struct partition_view *view;
    bool has_outdated; /* of some names, snapshots are gone whose records are there (snapshot.h) */
};

static bool is_base(const struct scan *blobs)
{
    return blobs->tick == UINT64_MAX;
}

static enum err step_blobs(struct scan *scan)
{
    struct slice key;
    enum err err = cursor_next(scan->cursor, &key, &scan->row);
    int64_t snapshot = 0;
    if (err == OK)
        err = blob_key_name(key, &scan->name, &snapshot);
    scan->tick = snapshot != 0 ? (uint64_t)snapshot : UINT64_MAX;
    scan->has_row = err == OK;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Whether the listing shows a record of history.  Snapshots and versions are shown if they are
   asked for, and what is soft-deleted if that is besides. */
static bool is_wanted(const struct listing *listing, const struct scan *scan,
                      const struct blob *blob)
{
    const struct blob_list_request *request = listing->request;
    if (history_is_expired(blob, listing->now) || (blob->deleted_at != 0 && !request->with_deleted))
        return false;
    if (scan->kind == HISTORY_VERSION)
        return request->with_versions;
    return scan->tick == HISTORY_BASE || request->with_snapshots;
}

static enum err step_history(struct listing *listing)
{
    struct scan *scan = &listing->history;
    enum err err = OK;
    bool wanted = false;
    struct arena arena = { 0 };
    if (scan->cursor == NULL)
        return OK;
    while (err == OK && !wanted) {
        struct slice key;
        struct blob blob;
        arena_clear(&arena);
        err = cursor_next(scan->cursor, &key, &scan->row);
        if (err == OK)
            err = history_key_parse(key, &scan->name, &scan->tick, &scan->kind);
        if (err == OK)
            err = blob_decode(&arena, scan->row, &blob);
        wanted = err == OK && is_wanted(listing, scan, &blob);
    }
    arena_release(&arena);
    scan->has_row = err == OK;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* What nobody has put a block for in a week is gone, whether it was swept yet or not. */
static enum err step_uncommitted(struct scan *scan, int64_t now)
{
    enum err err = OK;
    struct uncommitted uncommitted = { 0 };
    if (scan->cursor == NULL)
        return OK;
    do {
        struct slice key;
        err = cursor_next(scan->cursor, &key, &scan->row);
        if (err == OK)
            err = uncommitted_key_name(key, &scan->name);
        if (err == OK)
            err = uncommitted_decode(scan->row, &uncommitted);
    } while (err == OK && uncommitted_is_expired(&uncommitted, now));
    scan->has_row = err == OK;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* How much of `name` is a common beginning: up to and including the first delimiter after the
   prefix; 0 when there is none. */
static size_t common_len(struct slice name, struct slice prefix, struct slice delimiter)
{
    if (delimiter.len == 0)
        return 0;
    for (size_t at = prefix.len; at + delimiter.len <= name.len; at++)
        if (memcmp(name.data + at, delimiter.data, delimiter.len) == 0)
            return at + delimiter.len;
    return 0;
}

/* The first key after all those that begin with `prefix`, which ends in a name's UTF-8. */
static struct slice key_after(struct arena *arena, struct slice prefix)
{
    char *bytes = arena_bytes(arena, prefix.len);
    memcpy(bytes, prefix.data, prefix.len);
    assert((unsigned char)bytes[prefix.len - 1] != 0xff);
    bytes[prefix.len - 1]++;
    return slice_make(bytes, prefix.len);
}

/* Pass over all names that begin so. */
static enum err skip_common(struct listing *listing, struct slice common)
{
    struct arena *arena = &listing->row_arena;
    enum err err = OK;
    if (listing->blobs.has_row && slice_starts_with(listing->blobs.name, common)) {
        cursor_seek(listing->blobs.cursor, key_after(arena, blob_key_prefix(arena, common)));
        err = step_blobs(&listing->blobs);
    }
    if (err == OK && listing->history.has_row && slice_starts_with(listing->history.name, common)) {
        cursor_seek(listing->history.cursor, key_after(arena, history_key_prefix(arena, common)));
        err = step_history(listing);
    }
    if (err == OK && listing->uncommitted.has_row &&
        slice_starts_with(listing->uncommitted.name, common)) {
        cursor_seek(listing->uncommitted.cursor, key_after(arena, uncommitted_key(arena, common)));
        err = step_uncommitted(&listing->uncommitted, listing->now);
    }
    return err;
}

/* Whether the record of history comes before the blob or snapshot: by name, then in the order of
   ticks; a snapshot comes before a version of its tick, and a base blob after all others. */
static bool is_earlier(const struct scan *history, const struct scan *blobs)
{
    const int order = slice_compare(history->name, blobs->name);
    if (order != 0)
        return order < 0;
    return history->tick != blobs->tick ? history->tick < blobs->tick : is_base(blobs);
}

/* The scan with the next entry, or NULL at the end. */
static struct scan *first_scan(struct listing *listing)
{
    struct scan *blobs = &listing->blobs;
    struct scan *history = &listing->history;
    struct scan *uncommitted = &listing->uncommitted;
    struct scan *first = blobs->has_row ? blobs : NULL;
    if (history->has_row && (first == NULL || is_earlier(history, blobs)))
        first = history;
    if (uncommitted->has_row &&
        (first == NULL || slice_compare(uncommitted->name, first->name) < 0))
        first = uncommitted;
    return first;
}

/* Whether a committed blob that has uncommitted blocks besides is about to be listed; it is listed
   once.  What was deleted is no blob any more. */
static bool is_committed(const struct listing *listing)
{
    return listing->blobs.has_row && listing->uncommitted.has_row &&
           slice_equal(listing->blobs.name, listing->uncommitted.name);
}

/* Pass over snapshots that are not asked for, or are gone. */
static enum err skip_snapshots(struct listing *listing)
{
    struct scan *blobs = &listing->blobs;
    struct arena *arena = &listing->row_arena;
    enum err err = OK;
    while (err == OK && blobs->has_row && !is_base(blobs)) {
        int64_t floor = INT64_MAX;
        if (listing->request->with_snapshots)
            floor = 0;
        if (listing->request->with_snapshots && listing->has_outdated)
            err = snapshots_view_floor(listing->view, arena, blobs->name, &floor);
        if (err != OK || blobs->tick >= (uint64_t)floor)
            break;
        cursor_seek(blobs->cursor, floor == INT64_MAX ? blob_key(arena, blobs->name)
                                                      : snapshot_key(arena, blobs->name, floor));
        err = step_blobs(blobs);
    }
    return err;
}

static enum err find_outdated(struct listing *listing)
{
    struct slice key;
    struct slice row;
    struct cursor *cursor =
        partition_view_scan(listing->view, outdated_prefix(), (struct slice){ 0 });
    const enum err err = cursor_next(cursor, &key, &row);
    cursor_free(cursor);
    listing->has_outdated = err == OK;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Stand at the next entry, which is `*at`'s.  ERR_NOT_FOUND: the end. */
static enum err find_entry(struct listing *listing, struct scan **at)
{
    enum err err = skip_snapshots(listing);
    if (err == OK && is_committed(listing))
        err = step_uncommitted(&listing->uncommitted, listing->now);
    if (err != OK)
        return err;
    *at = first_scan(listing);
    return *at != NULL ? OK : ERR_NOT_FOUND;
}

static bool has_history(const struct blob_list_request *request)
{
    return request->with_versions || request->with_deleted;
}

static struct blob_position position_of(struct listing *listing, struct arena *arena,
                                        const struct scan *at)
{
    const struct blob_list_request *request = listing->request;
    int64_t snapshot = (int64_t)at->tick;
    /* A name alone is a place if there is one entry for it. */
    if (!request->with_snapshots && !has_history(request))
        snapshot = 0;
    else if (at == &listing->uncommitted)
        snapshot = BLOB_POSITION_BASE;
    return (struct blob_position){
        .name = arena_copy(arena, at->name),
        .snapshot = snapshot,
        .kind = at == &listing->history ? at->kind : '\0',
    };
}

static enum err emit_blob(struct listing *listing, struct scan *scan, bool *more)
{
    const struct blob_list_request *request = listing->request;
    const bool is_history = scan == &listing->history;
    struct blob blob;
    const enum err err = blob_decode(&listing->row_arena, scan->row, &blob);
    if (err != OK)
        return err;
    lease_settle(&blob.lease, listing->now / CLOCK_TICKS_PER_MS);
    tier_settle(&blob, listing->now);
    struct blob_list_entry entry = { .name = scan->name, .blob = &blob };
    entry.is_previous = is_history && scan->kind == HISTORY_VERSION;
    if (scan->tick != UINT64_MAX && !entry.is_previous)
        entry.snapshot = (int64_t)scan->tick;
    /* The name of a deleted blob was used again: it is a snapshot now. */
    if (scan->tick == HISTORY_BASE && is_history && listing->blobs.has_row &&
        slice_equal(scan->name, listing->blobs.name))
        entry.snapshot = blob.deleted_at;
    *more = request->emit(request->arg, &entry);
    return is_history ? step_history(listing) : step_blobs(scan);
}

/* Emit the entry the listing stands at and go on. */
static enum err emit_entry(struct listing *listing, struct scan *scan, bool *more)
{
    const struct blob_list_request *request = listing->request;
    const size_t common = common_len(scan->name, request->prefix, request->delimiter);
    if (common > 0) {
        const struct slice beginning =
            arena_copy(&listing->row_arena, slice_head(scan->name, common));
        const struct blob_list_entry entry = { .name = beginning };
        *more = request->emit(request->arg, &entry);
        return skip_common(listing, beginning);
    }
    if (scan != &listing->uncommitted)
        return emit_blob(listing, scan, more);
    const struct blob_list_entry entry = { .name = scan->name, .is_uncommitted = true };
    *more = request->emit(request->arg, &entry);
    return step_uncommitted(scan, listing->now);
}

/* Where the scan of blobs begins: a version comes after a snapshot of the same tick. */
static struct slice blobs_start(struct arena *arena, const struct blob_position *from)
{
    if (from->snapshot == 0)
        return from->name.len > 0 ? blob_key_prefix(arena, from->name) : (struct slice){ 0 };
    /* A place comes from a client and can be any number. */
    uint64_t tick = (uint64_t)from->snapshot;
    if (from->kind == HISTORY_VERSION && tick != UINT64_MAX)
        tick++;
    return snapshot_key(arena, from->name, (int64_t)tick);
}

/* The same for the scan of history, which is before the base blob. */
static struct slice history_start(struct arena *arena, const struct blob_position *from)
{
    if (from->snapshot == 0)
        return from->name.len > 0 ? history_key_prefix(arena, from->name) : (struct slice){ 0 };
    if (from->snapshot == BLOB_POSITION_BASE && from->kind == '\0')
        return history_key(arena, from->name, HISTORY_BASE, HISTORY_VERSION + 1);
    return history_key(arena, from->name, (uint64_t)from->snapshot, from->kind);
}

static enum err open_scans(struct listing *listing, struct partition_view *view,
                           struct arena *arena)
{
    const struct blob_list_request *request = listing->request;
    const struct blob_position *from = &request->from;
    const struct slice none = { 0 };
    listing->blobs.cursor = partition_view_scan(view, blob_key_prefix(arena, request->prefix),
                                                blobs_start(arena, from));
    if (has_history(request))
        listing->history.cursor = partition_view_scan(
            view, history_key_prefix(arena, request->prefix), history_start(arena, from));
    if (request->with_uncommitted)
        listing->uncommitted.cursor =
            partition_view_scan(view, uncommitted_key(arena, request->prefix),
                                from->name.len > 0 ? uncommitted_key(arena, from->name) : none);
    enum err err = step_blobs(&listing->blobs);
    if (err == OK)
        err = step_history(listing);
    return err == OK ? step_uncommitted(&listing->uncommitted, listing->now) : err;
}

static enum err list_in_view(struct service *service, struct partition_view *view,
                             struct arena *arena, const struct blob_list_request *request,
                             struct blob_position *next)
{
    struct listing listing = {
        .request = request,
        .now = clock_now(service->clock),
        .view = view,
    };
    bool more = request->results_max > 0;
    enum err err = open_scans(&listing, view, arena);
    if (err == OK && request->with_snapshots)
        err = find_outdated(&listing);
    for (size_t count = 0; err == OK; count++) {
        struct scan *at;
        arena_clear(&listing.row_arena);
        err = find_entry(&listing, &at);
        if (err != OK)
            break;
        if (!more || count == request->results_max) {
            *next = position_of(&listing, arena, at);
            break;
        }
        err = emit_entry(&listing, at, &more);
    }
    arena_release(&listing.row_arena);
    cursor_free(listing.blobs.cursor);
    if (listing.history.cursor != NULL)
        cursor_free(listing.history.cursor);
    if (listing.uncommitted.cursor != NULL)
        cursor_free(listing.uncommitted.cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* No name has a NUL, which ends the name in a key: nothing begins with such a prefix. */
static bool can_begin_names(struct slice prefix)
{
    return slice_find_byte(prefix, '\0') == prefix.len;
}

enum err blob_list(struct service *service, struct arena *arena,
                   const struct blob_list_request *request, struct blob_position *next)
{
    *next = (struct blob_position){ 0 };
    struct slice partition;
    enum err err = container_find_blobs(service, arena, &request->container, &partition);
    if (err != OK || !can_begin_names(request->prefix))
        return err;
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    err = list_in_view(service, &view, arena, request, next);
    partition_view_close(&view);
    return err;
}
