/*
 * blob_list.c - blob_list of blob.h: a page of a container's blobs.
 *
 * Records of blobs and snapshots, and the names of blobs that are not committed yet, are two
 * ordered scans of one view; the page is their merge.  What is not asked for is passed over by
 * seeking, so the cost of a page is that of what it lists.
 */
#include <assert.h>
#include <string.h>

#include "service/blob/blob.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/tier.h"

/* A scan and the row it stands at. */
struct scan {
    struct cursor *cursor; /* NULL: nothing to scan */
    bool has_row;
    struct slice row;
    struct slice name;
    int64_t snapshot;
};

struct listing {
    const struct blob_list_request *request;
    struct arena row_arena; /* cleared for each entry */
    struct scan blobs;
    struct scan uncommitted;
    int64_t now;
};

static enum err step_blobs(struct scan *scan)
{
    struct slice key;
    enum err err = cursor_next(scan->cursor, &key, &scan->row);
    if (err == OK)
        err = blob_key_name(key, &scan->name, &scan->snapshot);
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
    if (err == OK && listing->uncommitted.has_row &&
        slice_starts_with(listing->uncommitted.name, common)) {
        cursor_seek(listing->uncommitted.cursor, key_after(arena, uncommitted_key(arena, common)));
        err = step_uncommitted(&listing->uncommitted, listing->now);
    }
    return err;
}

/* Stand at the next entry: at blobs if `*at_blob`, else at uncommitted.  ERR_NOT_FOUND: the end. */
static enum err find_entry(struct listing *listing, bool *at_blob)
{
    struct scan *blobs = &listing->blobs;
    struct scan *uncommitted = &listing->uncommitted;
    enum err err = OK;
    while (err == OK && blobs->has_row && blobs->snapshot != 0 &&
           !listing->request->with_snapshots) {
        cursor_seek(blobs->cursor, blob_key(&listing->row_arena, blobs->name));
        err = step_blobs(blobs);
    }
    if (err != OK)
        return err;
    if (!blobs->has_row && !uncommitted->has_row)
        return ERR_NOT_FOUND;
    if (blobs->has_row && uncommitted->has_row) {
        const int order = slice_compare(blobs->name, uncommitted->name);
        *at_blob = order <= 0;
        /* A committed blob that has uncommitted blocks besides is listed once. */
        return order == 0 ? step_uncommitted(uncommitted, listing->now) : OK;
    }
    *at_blob = blobs->has_row;
    return OK;
}

static struct blob_position position_of(struct listing *listing, struct arena *arena, bool at_blob)
{
    if (!at_blob)
        return (struct blob_position){ .name = arena_copy(arena, listing->uncommitted.name) };
    const int64_t snapshot =
        listing->blobs.snapshot != 0 ? listing->blobs.snapshot : BLOB_POSITION_BASE;
    return (struct blob_position){
        .name = arena_copy(arena, listing->blobs.name),
        .snapshot = listing->request->with_snapshots ? snapshot : 0,
    };
}

static enum err emit_blob(struct listing *listing, bool *more)
{
    const struct blob_list_request *request = listing->request;
    struct scan *scan = &listing->blobs;
    struct blob blob;
    const enum err err = blob_decode(&listing->row_arena, scan->row, &blob);
    if (err != OK)
        return err;
    lease_settle(&blob.lease, listing->now / CLOCK_TICKS_PER_MS);
    tier_settle(&blob, listing->now);
    const struct blob_list_entry entry = { .name = scan->name,
                                           .snapshot = scan->snapshot,
                                           .blob = &blob };
    *more = request->emit(request->arg, &entry);
    return step_blobs(scan);
}

/* Emit the entry the listing stands at and go on. */
static enum err emit_entry(struct listing *listing, bool at_blob, bool *more)
{
    const struct blob_list_request *request = listing->request;
    struct scan *scan = at_blob ? &listing->blobs : &listing->uncommitted;
    const size_t common = common_len(scan->name, request->prefix, request->delimiter);
    if (common > 0) {
        const struct slice beginning =
            arena_copy(&listing->row_arena, slice_head(scan->name, common));
        const struct blob_list_entry entry = { .name = beginning };
        *more = request->emit(request->arg, &entry);
        return skip_common(listing, beginning);
    }
    if (at_blob)
        return emit_blob(listing, more);
    const struct blob_list_entry entry = { .name = scan->name, .is_uncommitted = true };
    *more = request->emit(request->arg, &entry);
    return step_uncommitted(scan, listing->now);
}

static enum err open_scans(struct listing *listing, struct partition_view *view,
                           struct arena *arena)
{
    const struct blob_list_request *request = listing->request;
    const struct blob_position *from = &request->from;
    const struct slice none = { 0 };
    struct slice start = none;
    if (from->snapshot != 0)
        start = snapshot_key(arena, from->name, from->snapshot);
    else if (from->name.len > 0)
        start = blob_key_prefix(arena, from->name);
    listing->blobs.cursor =
        partition_view_scan(view, blob_key_prefix(arena, request->prefix), start);
    if (request->with_uncommitted)
        listing->uncommitted.cursor =
            partition_view_scan(view, uncommitted_key(arena, request->prefix),
                                from->name.len > 0 ? uncommitted_key(arena, from->name) : none);
    const enum err err = step_blobs(&listing->blobs);
    return err == OK ? step_uncommitted(&listing->uncommitted, listing->now) : err;
}

static enum err list_in_view(struct service *service, struct partition_view *view,
                             struct arena *arena, const struct blob_list_request *request,
                             struct blob_position *next)
{
    struct listing listing = { .request = request, .now = clock_now(service->clock) };
    bool more = request->results_max > 0;
    enum err err = open_scans(&listing, view, arena);
    for (size_t count = 0; err == OK; count++) {
        bool at_blob;
        arena_clear(&listing.row_arena);
        err = find_entry(&listing, &at_blob);
        if (err != OK)
            break;
        if (!more || count == request->results_max) {
            *next = position_of(&listing, arena, at_blob);
            break;
        }
        err = emit_entry(&listing, at_blob, &more);
    }
    arena_release(&listing.row_arena);
    cursor_free(listing.blobs.cursor);
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
