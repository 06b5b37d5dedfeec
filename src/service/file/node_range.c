/*
 * node_range.c - writing and clearing ranges of a file, and listing them.
 *
 * The map of a file is exact to the byte (blob/page_map.h).  Outside, ranges are in blocks of 512
 * bytes: one of which a part is written counts as written, so clearing a part of it makes zeroes
 * there and frees nothing that anybody could see.
 */
#include <assert.h>

#include "service/blob/page_map.h"
#include "service/file/file_lease.h"
#include "service/file/node_internal.h"

enum {
    BLOCK_BYTES = 512,
};

/* --- changes --- */

/* The file a range is of; it is in it. */
static enum err get_for_range(struct node_decision *decision, const struct node_change *request,
                              struct node_place *place, struct node *node)
{
    const enum err err = node_decision_get(decision, request, place, node);
    return err == OK && request->end > node->content.length_bytes ? ERR_INVALID_RANGE : err;
}

static void put_written(struct node_decision *decision, struct node_change *request,
                        const struct node_place *place, struct node *node)
{
    const int64_t now = change_now(decision->change);
    node->etag = node->changed_at = now;
    if (!request->keeps_written_at)
        node->written_at = now;
    node_decision_put(decision, request, place, node);
}

static enum err write_decide(struct change *change, void *arg)
{
    struct node_change *request = arg;
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &request->access);
    if (err == OK)
        err = get_for_range(&decision, request, &place, &node);
    if (err == OK)
        err = node_preserve(change, &decision.state, &place, &node, NODE_CONTENT_SHARED);
    if (err != OK)
        return err;
    const uint64_t before = node.used_bytes;
    const struct segment segment =
        segment_store(change, request->payload, (uint64_t)change_now(change));
    err = page_map_write(change, &node.content, request->start, &segment, &node.used_bytes);
    if (err == OK)
        err = node_decision_use(&decision, request, before, node.used_bytes);
    if (err == OK)
        put_written(&decision, request, &place, &node);
    return err;
}

void node_write(struct service *service, struct node_change *change)
{
    assert(change->start < change->end && change->kind == NODE_FILE);
    assert(payload_writer_length(change->payload) == change->end - change->start);
    node_change_start(service, change, FILE_OPERATION_PUT_RANGE, write_decide);
}

static enum err clear_decide(struct change *change, void *arg)
{
    struct node_change *request = arg;
    struct node_decision decision;
    struct node_place place;
    struct node node;
    enum err err = node_decision_begin(&decision, change, &request->access);
    if (err == OK)
        err = get_for_range(&decision, request, &place, &node);
    if (err == OK)
        err = node_preserve(change, &decision.state, &place, &node, NODE_CONTENT_SHARED);
    if (err != OK)
        return err;
    const uint64_t before = node.used_bytes;
    err = page_map_clear(change, &node.content, request->start, request->end, &node.used_bytes);
    if (err == OK)
        err = node_decision_use(&decision, request, before, node.used_bytes);
    if (err == OK)
        put_written(&decision, request, &place, &node);
    return err;
}

void node_clear(struct service *service, struct node_change *change)
{
    assert(change->start < change->end && change->kind == NODE_FILE && change->payload == NULL);
    node_change_start(service, change, FILE_OPERATION_PUT_RANGE, clear_decide);
}

/* --- listing --- */

/* Makes ranges of blocks of the ranges of bytes that the map tells. */
struct block_walk {
    const struct node_ranges *request;
    struct partition_view *view;
    const struct content *content;
    uint64_t start; /* what was asked for */
    uint64_t end;
    enum err err;

    /* the range that is being made */
    bool has_range;
    bool is_cleared;
    uint64_t range_start;
    uint64_t range_end;
};

static void flush(struct block_walk *walk)
{
    if (!walk->has_range)
        return;
    const uint64_t start = walk->range_start > walk->start ? walk->range_start : walk->start;
    const uint64_t end = walk->range_end < walk->end ? walk->range_end : walk->end;
    walk->has_range = false;
    if (start < end)
        walk->request->emit(walk->request->arg, walk->is_cleared, start, end);
}

/* The next blocks.  The first may be the last of the range before, which is of the same kind: both
   know whether anything of it is written. */
static void add_blocks(struct block_walk *walk, bool is_cleared, uint64_t start, uint64_t end)
{
    if (walk->has_range && start < walk->range_end)
        start = walk->range_end;
    if (start >= end)
        return;
    if (walk->has_range && walk->is_cleared == is_cleared && walk->range_end == start) {
        walk->range_end = end;
        return;
    }
    flush(walk);
    walk->has_range = true;
    walk->is_cleared = is_cleared;
    walk->range_start = start;
    walk->range_end = end;
}

static void note_range(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end)
{
    bool *found = arg;
    (void)kind;
    (void)start;
    (void)end;
    *found = true;
}

/* Whether anything of a block is written. */
static bool is_block_written(struct block_walk *walk, uint64_t start)
{
    bool found = false;
    uint64_t next;
    const uint64_t size = walk->content->length_bytes;
    const struct page_map_walk block = {
        .content = walk->content,
        .start = start,
        .end = start + BLOCK_BYTES < size ? start + BLOCK_BYTES : size,
        .results_max = 1,
        .emit = note_range,
        .arg = &found,
    };
    if (block.start < block.end && walk->err == OK)
        walk->err = page_map_each(walk->view, &block, &next);
    return found;
}

/* A part of a block was cleared: the block is cleared if nothing of it is left. */
static void add_partly_cleared(struct block_walk *walk, uint64_t block)
{
    add_blocks(walk, !is_block_written(walk, block), block, block + BLOCK_BYTES);
}

static void add_bytes(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end)
{
    struct block_walk *walk = arg;
    const uint64_t first = start / BLOCK_BYTES * BLOCK_BYTES;
    const uint64_t last = (end + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    if (kind == PAGE_RANGE_WRITTEN) {
        add_blocks(walk, false, first, last);
        return;
    }
    uint64_t inner_start = first;
    uint64_t inner_end = last;
    if (start != first || (last - first == BLOCK_BYTES && end != last)) {
        add_partly_cleared(walk, first);
        inner_start = first + BLOCK_BYTES;
    }
    if (end != last && last > inner_start)
        inner_end = last - BLOCK_BYTES;
    if (inner_start < inner_end)
        add_blocks(walk, true, inner_start, inner_end);
    if (inner_end != last && inner_end >= inner_start)
        add_partly_cleared(walk, inner_end);
}

/* The record to compare with.  Content that is not of the same file all differs. */
static enum err get_previous(const struct node_ranges *request, const struct node_source *now,
                             const struct node *node, struct node *previous)
{
    struct node_source before = *now;
    struct node_place place;
    before.instant = request->previous;
    const enum err err = node_find(&before, &request->name, NODE_FILE, &place, previous);
    if (err == ERR_PARENT_NOT_FOUND || err == ERR_RESOURCE_NOT_FOUND ||
        (err == OK && previous->id != node->id))
        return ERR_PREVIOUS_SNAPSHOT_NOT_FOUND;
    return err;
}

/* Beyond the end of a file that has become shorter nothing is said of what was there. */
static enum err walk_ranges(const struct node_ranges *request, struct partition_view *view,
                            const struct node *node, const struct node *previous)
{
    const uint64_t size = node->content.length_bytes;
    if (request->start > 0 && request->start >= size)
        return ERR_INVALID_RANGE;
    struct block_walk blocks = {
        .request = request,
        .view = view,
        .content = &node->content,
        .start = request->start,
        .end = request->end < size ? request->end : size,
    };
    const uint64_t last = (blocks.end + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    const struct page_map_walk walk = {
        .content = &node->content,
        .previous = previous != NULL ? &previous->content : NULL,
        .start = request->start / BLOCK_BYTES * BLOCK_BYTES,
        .end = last < size ? last : size,
        .results_max = SIZE_MAX,
        .emit = add_bytes,
        .arg = &blocks,
    };
    uint64_t next;
    const enum err err = page_map_each(view, &walk, &next);
    flush(&blocks);
    return err == OK ? blocks.err : err;
}

enum err node_ranges_in_view(const struct node_ranges *request, const struct node_source *source,
                             const struct node *node)
{
    struct node previous;
    if (request->previous == 0)
        return walk_ranges(request, source->view, node, NULL);
    const enum err err = get_previous(request, source, node, &previous);
    return err == OK ? walk_ranges(request, source->view, node, &previous) : err;
}
