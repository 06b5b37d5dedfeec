/*
 * fsck_inline.c - inline bytes ('d' rows) and their owners ('v' rows), against what names them.
 */
#include <inttypes.h>

#include "base/encoding.h"
#include "service/blob/blob_name.h"
#include "service/blob/fsck_internal.h"

/* One side of a comparison: the claims, in order. */
struct inline_walk {
    struct fsck_blobs *blobs;
    const struct fsck_inline *items;
    size_t count;
    size_t next;       /* the first that was not compared */
    uint64_t owned_id; /* the payload of the last row of an owner */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_inlines(const void *a, const void *b)
{
    const struct fsck_inline *left = a;
    const struct fsck_inline *right = b;
    int order = compare_numbers(left->payload_id, right->payload_id);
    if (order == 0)
        order = compare_numbers(left->owner, right->owner);
    return order != 0 ? order : compare_numbers(left->length_bytes, right->length_bytes);
}

/* Sort, and keep one of equal claims. */
static void compact(struct fsck_list *inlines)
{
    fsck__list_sort(inlines, sizeof(struct fsck_inline), compare_inlines);
    struct fsck_inline *items = inlines->items;
    size_t kept = 0;
    for (size_t i = 0; i < inlines->count; i++)
        if (i == 0 || compare_inlines(&items[kept - 1], &items[i]) != 0)
            items[kept++] = items[i];
    inlines->count = kept;
}

static void report(struct inline_walk *walk, uint64_t payload_id, const char *words)
{
    fsck__report(walk->blobs->fsck, "%s: the inline bytes of payload %" PRIu64 " %s",
                 walk->blobs->label.data, payload_id, words);
}

/* --- bytes --- */

/* The claims on payloads before `payload_id` have no row: one finding for each payload. */
static void report_missing(struct inline_walk *walk, uint64_t payload_id)
{
    while (walk->next < walk->count && walk->items[walk->next].payload_id < payload_id) {
        const uint64_t missing = walk->items[walk->next].payload_id;
        report(walk, missing, "are missing");
        while (walk->next < walk->count && walk->items[walk->next].payload_id == missing)
            walk->next++;
    }
}

/* All claims on a payload that is there. */
static void check_claims(struct inline_walk *walk, uint64_t payload_id, uint64_t length_bytes)
{
    const size_t first = walk->next;
    bool is_whole = false;
    bool is_piece = false;
    bool is_damaged = false;
    for (; walk->next < walk->count && walk->items[walk->next].payload_id == payload_id;
         walk->next++) {
        const struct fsck_inline *claim = &walk->items[walk->next];
        is_whole |= claim->owner == 0;
        is_piece |= claim->owner != 0;
        is_damaged |= claim->length_bytes != length_bytes;
    }
    if (walk->next == first) {
        report(walk, payload_id, "are there, and nothing names them");
        fsck__repair_delete(walk->blobs, content_key(&walk->blobs->arena, payload_id));
    }
    if (is_damaged)
        report(walk, payload_id, "are not as many as its blob says");
    if (is_whole && is_piece)
        report(walk, payload_id, "are a blob's own and a piece of another");
}

static void check_bytes(struct inline_walk *walk)
{
    struct cursor *cursor =
        partition_view_scan(&walk->blobs->view, slice_of("d"), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        const uint64_t id = key.len == 9 ? get_be64((const uint8_t *)key.data + 1) : 0;
        report_missing(walk, id);
        check_claims(walk, id, row.len);
    }
    report_missing(walk, UINT64_MAX);
    fsck__check_end(walk->blobs, 'd', err);
    cursor_free(cursor);
}

/* --- owners --- */

static bool claims_payload(const struct inline_walk *walk, size_t index, uint64_t payload_id)
{
    return index < walk->count && walk->items[index].payload_id == payload_id;
}

/* Whether a claim needs no row: nobody but the payload's first owner has it (segments.h). */
static bool is_alone(const struct inline_walk *walk, size_t index, const struct fsck_inline *owner)
{
    const uint64_t id = walk->items[index].payload_id;
    const bool has_rows = id == walk->owned_id || (owner != NULL && id == owner->payload_id);
    return !has_rows && walk->items[index].owner == id && !claims_payload(walk, index + 1, id) &&
           (index == 0 || !claims_payload(walk, index - 1, id));
}

/* The claims before this owner have no row. */
static void report_unowned(struct inline_walk *walk, const struct fsck_inline *owner)
{
    for (; walk->next < walk->count; walk->next++) {
        const struct fsck_inline *claim = &walk->items[walk->next];
        const bool is_before =
            owner == NULL || claim->payload_id < owner->payload_id ||
            (claim->payload_id == owner->payload_id && claim->owner < owner->owner);
        if (!is_before)
            return;
        if (claim->owner != 0 && !is_alone(walk, walk->next, owner)) {
            report(walk, claim->payload_id, "are not owned by a blob that has them");
            struct arena *arena = &walk->blobs->arena;
            fsck__repair_put(walk->blobs, owner_key(arena, claim->payload_id, claim->owner),
                             repair_number_row(arena, 1));
        }
    }
}

static void check_owner(struct inline_walk *walk, const struct fsck_inline *owner)
{
    report_unowned(walk, owner);
    walk->owned_id = owner->payload_id;
    const size_t first = walk->next;
    while (walk->next < walk->count && walk->items[walk->next].payload_id == owner->payload_id &&
           walk->items[walk->next].owner == owner->owner)
        walk->next++;
    if (walk->next == first) {
        report(walk, owner->payload_id, "have an owner whom nothing names");
        fsck__repair_delete(walk->blobs,
                            owner_key(&walk->blobs->arena, owner->payload_id, owner->owner));
    }
}

static void check_owners(struct inline_walk *walk)
{
    struct cursor *cursor =
        partition_view_scan(&walk->blobs->view, slice_of("v"), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        struct fsck_inline owner = { 0 };
        if (key.len == 17) {
            owner.payload_id = get_be64((const uint8_t *)key.data + 1);
            owner.owner = get_be64((const uint8_t *)key.data + 9);
        }
        check_owner(walk, &owner);
    }
    report_unowned(walk, NULL);
    fsck__check_end(walk->blobs, 'v', err);
    cursor_free(cursor);
}

void fsck__check_inlines(struct fsck_blobs *blobs)
{
    compact(&blobs->inlines);
    struct inline_walk walk = { .blobs = blobs,
                                .items = blobs->inlines.items,
                                .count = blobs->inlines.count };
    check_bytes(&walk);
    walk.next = 0;
    check_owners(&walk);
}
