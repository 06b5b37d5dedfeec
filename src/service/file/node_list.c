/*
 * node_list.c - the entries of a directory, in the order of their names in upper case.
 *
 * Now they are the 'e' rows.  At a snapshot they are those of the 'e' rows that were so already,
 * and those of the 'E' rows that still were; of each name one at most, so the two are merged by
 * name.
 */
#include "service/file/node_internal.h"

/* One of the two kinds of rows. */
struct side {
    struct cursor *rows; /* NULL: none are looked at */
    bool is_past;
    bool has_row;
    struct slice upper; /* of the row; both are the cursor's */
    struct slice row;
};

struct listing {
    const struct node_list_request *request;
    struct service *service;
    uint64_t share;
    int64_t instant; /* 0: now */
    uint64_t directory;
    struct side sides[2];
};

/* --- rows --- */

static enum err parse_key(const struct side *side, struct slice key, struct slice *upper)
{
    uint64_t parent;
    int64_t from;
    return side->is_past ? node_past_key_parse(key, &parent, upper, &from)
                         : node_key_parse(key, &parent, upper);
}

/* Whether the row is one of the listing: the root is no entry of itself. */
static enum err check_row(const struct listing *listing, const struct side *side, bool *is_listed)
{
    struct node_brief brief;
    *is_listed = side->upper.len > 0;
    if (!*is_listed || listing->instant == 0)
        return OK;
    const enum err err = node_brief_decode(side->row, &brief);
    *is_listed = err == OK && node_was_so_at(&brief, listing->instant);
    return err;
}

/* Step to the next row that is listed. */
static enum err side_move(const struct listing *listing, struct side *side)
{
    side->has_row = false;
    while (side->rows != NULL && !side->has_row) {
        struct slice key;
        enum err err = cursor_next(side->rows, &key, &side->row);
        if (err == ERR_NOT_FOUND)
            return OK;
        if (err == OK)
            err = parse_key(side, key, &side->upper);
        if (err == OK)
            err = check_row(listing, side, &side->has_row);
        if (err != OK)
            return err;
    }
    return OK;
}

/* The side with the first name, or NULL at the end. */
static struct side *first_side(struct listing *listing)
{
    struct side *now = &listing->sides[0];
    struct side *past = &listing->sides[1];
    if (!now->has_row)
        return past->has_row ? past : NULL;
    return past->has_row && slice_compare(past->upper, now->upper) < 0 ? past : now;
}

static enum err open_sides(struct listing *listing, struct arena *arena,
                           struct partition_view *view)
{
    const struct slice prefix = file_name_upper(arena, listing->request->prefix);
    const struct slice from = slice_compare(listing->request->from, prefix) > 0
                                  ? listing->request->from
                                  : (struct slice){ 0 };
    listing->sides[0].rows = partition_view_scan(
        view, node_key(arena, listing->directory, prefix),
        from.len == 0 ? (struct slice){ 0 } : node_key(arena, listing->directory, from));
    if (listing->instant != 0) {
        /* Earlier states of a name come after the bare name, which is where to begin. */
        const struct slice past = node_past_name_prefix(arena, listing->directory, prefix);
        listing->sides[1].is_past = true;
        listing->sides[1].rows = partition_view_scan(
            view, slice_head(past, past.len - 1),
            from.len == 0 ? (struct slice){ 0 }
                          : node_past_name_prefix(arena, listing->directory, from));
    }
    const enum err err = side_move(listing, &listing->sides[0]);
    return err == OK ? side_move(listing, &listing->sides[1]) : err;
}

static void close_sides(struct listing *listing)
{
    for (size_t i = 0; i < 2; i++) {
        if (listing->sides[i].rows != NULL)
            cursor_free(listing->sides[i].rows);
    }
}

/* --- listing --- */

static bool is_delete_pending(const struct listing *listing, uint64_t id)
{
    const struct file_key key = { .share = listing->share, .file_id = id };
    return listing->service->opens != NULL && listing->instant == 0 &&
           open_table_is_delete_pending(listing->service->opens, key);
}

static enum err emit(const struct listing *listing, struct arena *arena, const struct side *side,
                     size_t *count, bool *more)
{
    struct node node;
    const enum err err = node_decode(arena, side->row, &node);
    if (err != OK || is_delete_pending(listing, node.id))
        return err;
    if (listing->instant != 0)
        node.lease = (struct lease){ 0 };
    *more = listing->request->emit(listing->request->arg, &node);
    ++*count;
    return OK;
}

static enum err list_entries(struct listing *listing, struct arena *arena, struct slice *next)
{
    struct arena row_arena = { 0 };
    size_t count = 0;
    bool more = listing->request->results_max > 0;
    enum err err = OK;
    while (err == OK) {
        struct side *side = first_side(listing);
        if (side == NULL)
            break;
        if (!more || count == listing->request->results_max) {
            *next = arena_copy(arena, side->upper);
            break;
        }
        arena_clear(&row_arena);
        err = emit(listing, &row_arena, side, &count, &more);
        if (err == OK)
            err = side_move(listing, side);
    }
    arena_release(&row_arena);
    return err;
}

static enum err list_in_view(struct listing *listing, struct arena *arena,
                             struct partition_view *view, struct node *directory,
                             struct slice *next)
{
    const struct node_source source = {
        .view = view,
        .arena = arena,
        .instant = listing->instant,
        .share = listing->share,
    };
    struct node_place place;
    enum err err =
        node_find(&source, &listing->request->directory, NODE_DIRECTORY, &place, directory);
    if (err == OK && is_delete_pending(listing, directory->id))
        err = ERR_DELETE_PENDING;
    if (err != OK)
        return err;
    listing->directory = directory->id;
    err = open_sides(listing, arena, view);
    if (err == OK)
        err = list_entries(listing, arena, next);
    close_sides(listing);
    return err;
}

enum err node_list(struct service *service, struct arena *arena,
                   const struct node_list_request *request, struct node *directory,
                   struct slice *next)
{
    struct node_access access = { 0 };
    enum err err = node_access_find_share(service, arena, &request->directory.share, &access, NULL);
    if (err != OK)
        return err;
    struct listing listing = {
        .request = request,
        .service = service,
        .share = access.share,
        .instant = request->directory.share.snapshot,
    };
    *next = (struct slice){ 0 };
    /* A long view: a page can take a while, and nobody is to wait for it. */
    struct partition_view view;
    partition_view_open_long(service->store, access.partition, &view);
    err = list_in_view(&listing, arena, &view, directory, next);
    partition_view_close(&view);
    return err;
}
