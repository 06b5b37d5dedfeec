/*
 * share_list.c - listing shares (share.h): those that are there and those that are deleted come
 * from two cursors, in the order of names; the snapshots of a share from a third before it.
 *
 * A place among what has one name is a number: that of a snapshot is its instant, that of the share
 * is PLACE_SHARE, and that of a deleted one is its incarnation with a minus sign.
 */
#include "service/account_partition.h"
#include "service/file/file_name.h"
#include "service/file/share.h"

#define PLACE_SHARE INT64_MAX

/* One of the two cursors, and what it has come to. */
struct source {
    struct cursor *cursor; /* NULL: there is nothing to list */
    bool is_there;
    struct slice name;
    uint64_t incarnation; /* in the key of a deleted share */
    struct slice row;
};

struct listing {
    const struct share_list_request *request;
    struct arena *arena; /* of the next page's beginning, and of keys */
    struct partition_view view;
    struct source shares;
    struct source deleted;
    int64_t now;
    size_t count;
    bool is_full;
    struct slice *next;
    int64_t *next_place;
    struct arena row_arena;
};

static enum err step(struct source *source, bool is_deleted)
{
    struct slice key;
    source->is_there = false;
    if (source->cursor == NULL)
        return OK;
    enum err err = cursor_next(source->cursor, &key, &source->row);
    if (err == OK && is_deleted)
        err = share_deleted_key_parse(key, &source->name, &source->incarnation);
    else
        source->name = slice_from(key, err == OK ? 1 : key.len);
    source->is_there = err == OK;
    return err == ERR_NOT_FOUND ? OK : err;
}

/* Emit one, or note that the next page begins with it. */
static void emit(struct listing *listing, struct slice name, int64_t place, struct share *share)
{
    const struct share_list_request *request = listing->request;
    if (listing->is_full || listing->count == request->results_max) {
        *listing->next = arena_copy(listing->arena, name);
        *listing->next_place = place;
        return;
    }
    lease_settle(&share->lease, listing->now / CLOCK_TICKS_PER_MS);
    listing->count++;
    listing->is_full = !request->emit(request->arg, name, share);
}

static bool is_ended(const struct listing *listing)
{
    return listing->next->len > 0;
}

/* The first place among what has the name that is to be listed. */
static int64_t first_place(const struct listing *listing, struct slice name)
{
    return slice_equal(name, listing->request->from) ? listing->request->from_place : 0;
}

static enum err list_snapshots(struct listing *listing, struct slice name, uint64_t incarnation)
{
    const int64_t from = first_place(listing, name);
    if (!listing->request->with_snapshots || from == PLACE_SHARE)
        return OK;
    struct arena arena = { 0 };
    struct cursor *cursor = partition_view_scan(
        &listing->view, share_snapshot_prefix(listing->arena, incarnation),
        from == 0 ? (struct slice){ 0 } : share_snapshot_key(listing->arena, incarnation, from));
    enum err err = OK;
    while (err == OK && !is_ended(listing)) {
        struct slice key;
        struct slice row;
        struct share share;
        arena_clear(&arena);
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = share_decode(&arena, row, &share);
        if (err == OK)
            emit(listing, name, share.snapshot, &share);
    }
    cursor_free(cursor);
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err list_share(struct listing *listing)
{
    struct share share;
    enum err err = share_decode(&listing->row_arena, listing->shares.row, &share);
    if (err == OK)
        err = list_snapshots(listing, listing->shares.name, share.incarnation);
    if (err == OK && !is_ended(listing))
        emit(listing, listing->shares.name, PLACE_SHARE, &share);
    return err == OK ? step(&listing->shares, false) : err;
}

static enum err list_deleted(struct listing *listing)
{
    struct share share;
    const enum err err = share_decode(&listing->row_arena, listing->deleted.row, &share);
    if (err == OK && share.expires_at > listing->now)
        emit(listing, listing->deleted.name, -(int64_t)share.incarnation, &share);
    return err == OK ? step(&listing->deleted, true) : err;
}

/* The shares come before the deleted ones of their name. */
static enum err list_one(struct listing *listing)
{
    arena_clear(&listing->row_arena);
    const struct source *shares = &listing->shares;
    const struct source *deleted = &listing->deleted;
    if (shares->is_there && (!deleted->is_there || slice_compare(shares->name, deleted->name) <= 0))
        return list_share(listing);
    return list_deleted(listing);
}

/* The key the cursor of shares begins with. */
static struct slice first_share_key(struct arena *arena, const struct share_list_request *request)
{
    if (request->from.len == 0)
        return (struct slice){ 0 };
    if (request->from_place >= 0)
        return share_key(arena, request->from);
    char *after = arena_bytes(arena, request->from.len + 1); /* behind it, and before all others */
    memcpy(after, request->from.data, request->from.len);
    after[request->from.len] = '\0';
    return share_key(arena, slice_make(after, request->from.len + 1));
}

static struct slice first_deleted_key(struct arena *arena, const struct share_list_request *request)
{
    if (request->from.len == 0)
        return (struct slice){ 0 };
    return share_deleted_key(arena, request->from,
                             request->from_place < 0 ? (uint64_t)-request->from_place : 0);
}

static enum err open_cursors(struct listing *listing)
{
    const struct share_list_request *request = listing->request;
    struct arena *arena = listing->arena;
    listing->shares.cursor = partition_view_scan(&listing->view, share_key(arena, request->prefix),
                                                 first_share_key(arena, request));
    if (request->with_deleted)
        listing->deleted.cursor =
            partition_view_scan(&listing->view, share_deleted_prefix(arena, request->prefix),
                                first_deleted_key(arena, request));
    const enum err err = step(&listing->shares, false);
    return err == OK ? step(&listing->deleted, true) : err;
}

enum err share_list(struct service *service, struct arena *arena,
                    const struct share_list_request *request, struct slice *next,
                    int64_t *next_place)
{
    struct listing listing = {
        .request = request,
        .arena = arena,
        .now = clock_now(service->clock),
        .next = next,
        .next_place = next_place,
    };
    *next = (struct slice){ 0 };
    *next_place = 0;
    partition_view_open(service->store, account_partition(arena, request->account), &listing.view);
    enum err err = open_cursors(&listing);
    while (err == OK && !is_ended(&listing) &&
           (listing.shares.is_there || listing.deleted.is_there))
        err = list_one(&listing);
    cursor_free(listing.shares.cursor);
    if (listing.deleted.cursor != NULL)
        cursor_free(listing.deleted.cursor);
    partition_view_close(&listing.view);
    arena_release(&listing.row_arena);
    return err;
}
