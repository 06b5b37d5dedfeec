#include "service/blob/page.h"

#include <assert.h>

#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/history.h"

/* --- changes --- */

static enum err create_decide(struct change *change, void *arg)
{
    struct page_change *request = arg;
    struct blob old;
    bool exists;
    const enum err err = blob_decide_for_replace(change, &request->blob, &old, &exists);
    if (err != OK)
        return err;
    struct blob blob = {
        .type = BLOB_PAGE,
        .content = page_map_new(change, request->size_bytes),
        .properties = request->blob.properties,
        .metadata = request->blob.metadata,
        .tags = request->blob.tags,
        .tier = request->blob.tier,
        .sequence_number = request->sequence_number,
    };
    return blob_decide_replace(change, &request->blob, &old, exists, &blob);
}

void page_create(struct service *service, struct page_change *change)
{
    assert(change->size_bytes % PAGE_BYTES == 0 && change->size_bytes <= PAGE_BLOB_BYTES_MAX);
    assert(change->sequence_number <= PAGE_SEQUENCE_NUMBER_MAX);
    if (blob_find_protection(service, &change->blob))
        blob_start(service, &change->blob.base, &change->blob.name.container, create_decide);
}

static bool condition_holds(const struct page_condition *condition, uint64_t number)
{
    return (!condition->has_at_most || number <= condition->at_most) &&
           (!condition->has_below || number < condition->below) &&
           (!condition->has_equal || number == condition->equal);
}

/* Read the blob for a change of its pages, with all checks made. */
static enum err get_for_pages(struct change *change, const struct page_change *request,
                              struct blob *blob)
{
    const enum err err = blob_decide_for_write(change, &request->blob, blob);
    if (err != OK)
        return err;
    if (blob->type != BLOB_PAGE)
        return ERR_INVALID_BLOB_TYPE;
    if (request->end > blob->content.length_bytes)
        return ERR_INVALID_PAGE_RANGE;
    if (!condition_holds(&request->condition, blob->sequence_number))
        return ERR_SEQUENCE_CONDITION_NOT_MET;
    if (blob->content.place != CONTENT_SEGMENTS)
        return CORRUPT("the content of a page blob is in place %d", (int)blob->content.place);
    return OK;
}

static enum err write_decide(struct change *change, void *arg)
{
    struct page_change *request = arg;
    struct blob blob;
    enum err err = get_for_pages(change, request, &blob);
    if (err != OK)
        return err;
    const struct segment segment =
        segment_store(change, request->blob.payload, (uint64_t)change_now(change));
    err = page_map_write(change, &blob.content, request->start, &segment, NULL);
    if (err != OK)
        return err;
    blob_decide_put_changed(change, &request->blob, &blob);
    request->sequence_number = blob.sequence_number;
    return OK;
}

static void assert_range(const struct page_change *change)
{
    assert(change->start < change->end);
    assert(change->start % PAGE_BYTES == 0 && change->end % PAGE_BYTES == 0);
}

void page_write(struct service *service, struct page_change *change)
{
    assert_range(change);
    change->blob.keeps_copy = true;
    assert(payload_writer_length(change->blob.payload) == change->end - change->start);
    blob_start_payload(service, &change->blob, write_decide);
}

static enum err clear_decide(struct change *change, void *arg)
{
    struct page_change *request = arg;
    struct blob blob;
    enum err err = get_for_pages(change, request, &blob);
    if (err == OK)
        err = page_map_clear(change, &blob.content, request->start, request->end, NULL);
    if (err != OK)
        return err;
    blob_decide_put_changed(change, &request->blob, &blob);
    request->sequence_number = blob.sequence_number;
    return OK;
}

void page_clear(struct service *service, struct page_change *change)
{
    assert_range(change);
    change->blob.keeps_copy = true;
    blob_start(service, &change->blob.base, &change->blob.name.container, clear_decide);
}

enum err page_properties_apply(struct change *change, const struct page_properties *properties,
                               struct blob *blob)
{
    if (blob->type != BLOB_PAGE)
        return ERR_INVALID_BLOB_TYPE;
    switch (properties->action) {
    case PAGE_SEQUENCE_KEEP:
        break;
    case PAGE_SEQUENCE_MAX:
        if (properties->sequence_number > blob->sequence_number)
            blob->sequence_number = properties->sequence_number;
        break;
    case PAGE_SEQUENCE_UPDATE:
        blob->sequence_number = properties->sequence_number;
        break;
    case PAGE_SEQUENCE_INCREMENT:
        if (blob->sequence_number >= PAGE_SEQUENCE_NUMBER_MAX)
            return ERR_SEQUENCE_INCREMENT_TOO_LARGE;
        blob->sequence_number++;
        break;
    }
    if (!properties->has_size)
        return OK;
    assert(properties->size_bytes % PAGE_BYTES == 0);
    return page_map_resize(change, &blob->content, properties->size_bytes, NULL);
}

/* --- reads --- */

/* The record of the snapshot to compare with. */
static enum err get_previous(struct partition_view *view, struct arena *arena,
                             const struct page_ranges_request *request, const struct blob *blob,
                             struct blob *previous)
{
    const struct blob_name *name = &request->get.name;
    if (name->snapshot != 0 && request->previous > name->snapshot)
        return ERR_PREVIOUS_SNAPSHOT_NEWER;
    struct blob_name previous_name = { .blob = name->blob, .snapshot = request->previous };
    const enum err err = history_view_find(view, arena, &previous_name, previous);
    if (err == ERR_BLOB_NOT_FOUND)
        return ERR_PREVIOUS_SNAPSHOT_NOT_FOUND;
    if (err == OK && previous->made_at != blob->made_at)
        return ERR_BLOB_OVERWRITTEN;
    return err;
}

static enum err ranges_in_view(struct service *service, struct partition_view *view,
                               struct arena *arena, const struct page_ranges_request *request,
                               struct blob *blob, uint64_t *next)
{
    struct blob previous;
    enum err err = blob_get_in_view(service, view, arena, &request->get, blob);
    if (err == OK && blob->type != BLOB_PAGE)
        err = ERR_INVALID_BLOB_TYPE;
    if (err == OK && request->get.name.snapshot == 0)
        err = blob_check_usable(blob);
    if (err == OK && request->has_previous)
        err = get_previous(view, arena, request, blob, &previous);
    if (err != OK)
        return err;

    const uint64_t size = blob->content.length_bytes;
    if (request->start > 0 && request->start >= size)
        return ERR_INVALID_PAGE_RANGE;
    const struct page_map_walk walk = {
        .content = &blob->content,
        .previous = request->has_previous ? &previous.content : NULL,
        .start = request->start,
        .end = request->end < size ? request->end : size,
        .results_max = request->results_max,
        .emit = request->emit,
        .arg = request->arg,
    };
    err = page_map_each(view, &walk, next);
    if (*next == walk.end)
        *next = 0;
    return err;
}

enum err page_ranges(struct service *service, struct arena *arena,
                     const struct page_ranges_request *request, struct blob *blob, uint64_t *next)
{
    struct slice partition;
    enum err err = container_find_blobs(service, arena, &request->get.name.container, &partition);
    if (err != OK)
        return err;
    /* A long view: there can be very many rows, and nobody is to wait for them. */
    struct partition_view view;
    partition_view_open_long(service->store, partition, &view);
    err = ranges_in_view(service, &view, arena, request, blob, next);
    partition_view_close(&view);
    return err;
}
