/*
 * fsck_claim.c - payloads in extents: what content names, against the owners that the partition
 * layer has.
 */
#include <inttypes.h>

#include "service/blob/blob_name.h"
#include "service/blob/fsck_internal.h"

enum {
    /* Each looks at all blobs of a container; after so many, messages give the id alone. */
    LOOKUPS_MAX = 100,
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By range and owner. */
static int compare_owned(const struct fsck_claim *a, const struct fsck_claim *b)
{
    int order = compare_numbers(a->range.extent_id, b->range.extent_id);
    if (order == 0)
        order = compare_numbers(a->range.offset, b->range.offset);
    return order != 0 ? order : compare_numbers(a->owner, b->owner);
}

static int compare_claims(const void *a, const void *b)
{
    const struct fsck_claim *left = a;
    const struct fsck_claim *right = b;
    int order = compare_owned(left, right);
    if (order == 0)
        order = compare_numbers(left->incarnation, right->incarnation);
    if (order == 0)
        order = compare_numbers(left->content_id, right->content_id);
    return order != 0 ? order : compare_numbers(left->range.length, right->range.length);
}

static bool is_same_user(const struct fsck_claim *a, const struct fsck_claim *b)
{
    return a->incarnation == b->incarnation && a->content_id == b->content_id;
}

/* Sort, and keep one of equal claims. */
static void compact(struct fsck_list *claims)
{
    fsck__list_sort(claims, sizeof(struct fsck_claim), compare_claims);
    struct fsck_claim *items = claims->items;
    size_t kept = 0;
    for (size_t i = 0; i < claims->count; i++)
        if (i == 0 || compare_claims(&items[kept - 1], &items[i]) != 0)
            items[kept++] = items[i];
    claims->count = kept;
}

void fsck__claim(struct fsck *fsck, const struct fsck_claim *claim)
{
    struct fsck_list *claims = &fsck->claims;
    if (claims->count == claims->capacity) {
        /* Snapshots claim what their blob does; memory grows only with what is different. */
        compact(claims);
        if (claims->count >= claims->capacity / 2)
            fsck__list_grow(claims, sizeof(*claim));
    }
    *(struct fsck_claim *)fsck__list_add(claims, sizeof(*claim)) = *claim;
}

/* --- names --- */

/* The name in the key of a record, of a blob or of its history. */
static enum err name_in_key(struct slice key, struct slice *name)
{
    int64_t snapshot;
    uint64_t tick;
    char kind;
    return slice_starts_with(key, slice_of("h")) ? history_key_parse(key, name, &tick, &kind)
                                                 : blob_key_name(key, name, &snapshot);
}

/* The name of a record in the partition that has this content, or empty. */
static struct slice find_record(struct fsck *fsck, struct arena *arena,
                                const struct fsck_claim *claim, const char *letter)
{
    struct partition_view view;
    struct slice name = { 0 };
    const struct slice partition = blob_partition(arena, claim->incarnation);
    partition_view_open(fsck->request->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of(letter), (struct slice){ 0 });
    struct arena row_arena = { 0 };
    struct slice key;
    struct slice row;
    while (name.len == 0 && cursor_next(cursor, &key, &row) == OK) {
        struct blob blob;
        struct slice found;
        arena_clear(&row_arena);
        if (name_in_key(key, &found) == OK && blob_decode(&row_arena, row, &blob) == OK &&
            blob.content.id == claim->content_id)
            name = fsck__printable(arena, found);
    }
    arena_release(&row_arena);
    cursor_free(cursor);
    partition_view_close(&view);
    return name;
}

/* Who makes a claim, in words. */
static struct slice user_of(struct fsck *fsck, struct arena *arena, const struct fsck_claim *claim)
{
    const struct slice label = fsck__container_label(fsck, arena, claim->incarnation);
    if (claim->content_id == 0)
        return arena_printf(arena, "%s, an uncommitted block", label.data);
    struct slice name = { 0 };
    if (fsck->lookup_count < LOOKUPS_MAX) {
        fsck->lookup_count++;
        name = find_record(fsck, arena, claim, "b");
        if (name.len == 0)
            name = find_record(fsck, arena, claim, "h");
        if (name.len == 0)
            name = fsck_file_find(&fsck->files, arena, claim->incarnation, claim->content_id);
    }
    if (name.len > 0)
        return arena_printf(arena, "%s/%.*s", label.data, (int)name.len, name.data);
    return arena_printf(arena, "%s, content %" PRIu64, label.data, claim->content_id);
}

/* The first claim on the range, or on what follows it. */
static size_t find_first(const struct fsck *fsck, const struct stream_range *range)
{
    const struct fsck_claim key = { .range = *range };
    const struct fsck_claim *claims = fsck->claims.items;
    size_t low = 0;
    size_t high = fsck->claims.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_owned(&claims[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct slice fsck__users(struct fsck *fsck, struct arena *arena, const struct stream_range *range)
{
    const struct fsck_claim *claims = fsck->claims.items;
    const size_t first = find_first(fsck, range);
    size_t end = first;
    while (end < fsck->claims.count && claims[end].range.extent_id == range->extent_id &&
           claims[end].range.offset == range->offset)
        end++;
    if (end == first)
        return (struct slice){ 0 };
    const struct slice user = user_of(fsck, arena, &claims[first]);
    if (end == first + 1)
        return user;
    return arena_printf(arena, "%s and %zu more", user.data, end - first - 1);
}

/* --- comparing --- */

struct comparison {
    struct fsck *fsck;
    size_t next; /* the first claim that was not compared */
};

static void report_unowned(struct fsck *fsck, const struct fsck_claim *claim)
{
    struct arena arena = { 0 };
    const struct slice user = user_of(fsck, &arena, claim);
    fsck__report(fsck,
                 "%s: its %" PRIu64 " bytes in extent %016" PRIx64 " at %" PRIu64
                 " are not owned by it",
                 user.data, claim->range.length, claim->range.extent_id, claim->range.offset);
    arena_release(&arena);
    /* The trailer behind a payload says how long it is: whole bytes are those that are meant. */
    if (fsck->request->repairs != NULL &&
        partition_check_payload(fsck->request->store, &claim->range) == OK)
        fsck__repair(fsck, &(struct partition_repair){ .kind = PARTITION_REPAIR_OWN,
                                                       .range = claim->range,
                                                       .owner = claim->owner });
}

static void report_double(struct fsck *fsck, const struct fsck_claim *a, const struct fsck_claim *b)
{
    struct arena arena = { 0 };
    const struct slice one = user_of(fsck, &arena, a);
    const struct slice other = user_of(fsck, &arena, b);
    fsck__report(fsck,
                 "%s and %s have the same owner of %" PRIu64 " bytes in extent %016" PRIx64
                 " at %" PRIu64,
                 one.data, other.data, b->range.length, b->range.extent_id, b->range.offset);
    arena_release(&arena);
}

static void report_length(struct fsck *fsck, const struct fsck_claim *claim, uint64_t length)
{
    struct arena arena = { 0 };
    const struct slice user = user_of(fsck, &arena, claim);
    fsck__report(
        fsck,
        "%s: it names %" PRIu64 " bytes in extent %016" PRIx64 " at %" PRIu64 " and owns %" PRIu64,
        user.data, claim->range.length, claim->range.extent_id, claim->range.offset, length);
    arena_release(&arena);
}

static void compare_owner(void *arg, const struct stream_range *range, uint64_t owner)
{
    struct comparison *comparison = arg;
    struct fsck *fsck = comparison->fsck;
    const struct fsck_claim *claims = fsck->claims.items;
    const struct fsck_claim row = { .range = *range, .owner = owner };
    size_t at = comparison->next;
    while (at < fsck->claims.count && compare_owned(&claims[at], &row) < 0)
        report_unowned(fsck, &claims[at++]);
    const size_t first = at;
    for (; at < fsck->claims.count && compare_owned(&claims[at], &row) == 0; at++) {
        if (claims[at].range.length != range->length)
            report_length(fsck, &claims[at], range->length);
        if (at > first && !is_same_user(&claims[at - 1], &claims[at]))
            report_double(fsck, &claims[at - 1], &claims[at]);
    }
    if (at == first) {
        fsck__report(fsck,
                     "extent %016" PRIx64 ": the range of %" PRIu64 " bytes at %" PRIu64
                     " has owner %" PRIu64 ", whom nothing names",
                     range->extent_id, range->length, range->offset, owner);
        fsck__repair(fsck, &(struct partition_repair){ .kind = PARTITION_REPAIR_DISOWN,
                                                       .needs_all = true,
                                                       .range = *range,
                                                       .owner = owner });
    }
    comparison->next = at;
}

void fsck__sort_claims(struct fsck *fsck)
{
    compact(&fsck->claims);
}

void fsck__compare_owners(struct fsck *fsck)
{
    struct comparison comparison = { .fsck = fsck };
    compact(&fsck->claims);
    const enum err err = partition_each_owner(fsck->request->store, compare_owner, &comparison);
    if (err != OK) {
        fsck__report(fsck, "the owners of payloads cannot be read: %s", error_text(err));
        return;
    }
    const struct fsck_claim *claims = fsck->claims.items;
    while (comparison.next < fsck->claims.count)
        report_unowned(fsck, &claims[comparison.next++]);
}
