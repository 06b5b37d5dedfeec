/*
 * node_past.c - how entries were (file_name.h).
 *
 * A record is so from its `since` until its `until`, or until now.  Of each name the times of its
 * records do not overlap, so at an instant there is one or none.
 */
#include "service/blob/segments.h"
#include "service/file/node_internal.h"

bool node_was_so_at(const struct node_brief *brief, int64_t instant)
{
    return brief->since < instant && (brief->until == 0 || instant < brief->until);
}

/* Look among the earlier states; there are as many as snapshots at most. */
static enum err find_past(const struct node_source *source, const struct node_place *place,
                          struct slice *row)
{
    const struct slice prefix = node_past_name_prefix(source->arena, place->parent, place->upper);
    struct cursor *cursor = partition_view_scan(source->view, prefix, (struct slice){ 0 });
    enum err err;
    for (;;) {
        struct slice key;
        struct node_brief brief;
        err = cursor_next(cursor, &key, row);
        if (err == OK)
            err = node_brief_decode(*row, &brief);
        if (err != OK || node_was_so_at(&brief, source->instant))
            break;
    }
    if (err == OK)
        *row = arena_copy(source->arena, *row);
    cursor_free(cursor);
    return err;
}

enum err node_past_get(const struct node_source *source, const struct node_place *place,
                       struct slice *row)
{
    struct node_brief brief;
    enum err err =
        node_source_get(source, node_key(source->arena, place->parent, place->upper), row);
    if (err == OK)
        err = node_brief_decode(*row, &brief);
    if (err == ERR_NOT_FOUND || (err == OK && !node_was_so_at(&brief, source->instant)))
        return find_past(source, place, row);
    return err;
}

enum err node_preserve(struct change *change, const struct share_state *state,
                       const struct node_place *place, struct node *old, enum node_content_use use)
{
    if (old->since > state->last_instant)
        return use == NODE_CONTENT_LEFT ? content_drop(change, &old->content) : OK;
    if (use == NODE_CONTENT_SHARED) {
        const enum err err = content_share(change, &old->content);
        if (err != OK)
            return err;
    }
    struct arena *arena = change_arena(change);
    struct node past = *old;
    past.until = change_now(change);
    past.lease = (struct lease){ 0 };
    change_put(change, node_past_key(arena, place->parent, place->upper, past.since),
               node_encode(arena, &past));
    return OK;
}
