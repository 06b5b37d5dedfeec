#include "service/blob/copy.h"

#include <assert.h>

#include "base/log.h"
#include "service/background.h"
#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/history.h"
#include "service/blob/page_map.h"
#include "service/blob/segments.h"
#include "service/blob/tag.h"
#include "service/blob/tier.h"
#include "service/file/file_copy.h"
#include "service/file/file_name.h"
#include "service/row.h"

/* --- the destination --- */

/* What a copy may replace. */
static enum err check_target(struct change *change, const struct copy_change *request,
                             struct blob *old, bool *exists)
{
    enum err err = blob_decide_for_replace(change, &request->blob, old, exists);
    if (err == ERR_CONDITION_NOT_MET)
        return ERR_TARGET_CONDITION_NOT_MET;
    if (err != OK || !*exists)
        return err;
    if (request->needs_infinite_lease && lease_is_locked(&old->lease) &&
        old->lease.duration_sec != LEASE_DURATION_SEC_INFINITE)
        return ERR_INFINITE_LEASE_REQUIRED;
    return OK;
}

static enum err check_type(const struct blob *old, bool exists, enum blob_type type)
{
    return exists && old->type != type ? ERR_CANNOT_OVERWRITE_TYPE : OK;
}

/* The copy's own properties of a destination whose bytes are all there. */
static struct blob_copy finished_copy(const struct copy_change *request, uint64_t length_bytes,
                                      int64_t now)
{
    return (struct blob_copy){
        .status = BLOB_COPY_SUCCESS,
        .id = request->id,
        .source = request->url,
        .copied_bytes = length_bytes,
        .total_bytes = length_bytes,
        .completed_at = now,
    };
}

/* --- a source in this server --- */

static struct condition_state state_of(const struct blob *blob)
{
    return (struct condition_state){
        .exists = true,
        .etag = blob->etag,
        .last_modified = blob->etag,
    };
}

static enum err check_source(const struct copy_change *request, const struct blob *source)
{
    const struct condition_state state = state_of(source);
    enum err err = condition_check_write(&request->source_condition, &state);
    if (err == OK)
        err = tag_check(request->source_condition.if_tags, &source->tags);
    if (err == ERR_CONDITION_NOT_MET)
        return ERR_SOURCE_CONDITION_NOT_MET;
    if (err != OK)
        return err;
    if (request->has_source_etag && request->source_etag != source->etag)
        return ERR_COPY_SOURCE_CONDITION;
    if (source->copy.status == BLOB_COPY_PENDING)
        return ERR_PENDING_COPY;
    if (request->source.snapshot == 0 && source->copy.incremental)
        return ERR_INCREMENTAL_BLOB;
    if (request->is_block_only && source->type != BLOB_BLOCK)
        return ERR_INVALID_SOURCE_TYPE;
    /* A copy in another tier is how an archived blob is read without moving it. */
    return request->blob.tier.len > 0 ? OK : tier_check_online(source);
}

/* The URL of a blob without its parameters: a snapshot, a SAS. */
static struct slice bare_url(struct slice url)
{
    return slice_head(url, slice_find_byte(url, '?'));
}

/* What an incremental copy needs besides. */
static enum err check_incremental(const struct copy_change *request, const struct blob *source,
                                  const struct blob *old, bool exists)
{
    if (!request->is_incremental)
        return OK;
    if (request->source.snapshot == 0)
        return ERR_INCREMENTAL_NEEDS_SNAPSHOT;
    if (source->type != BLOB_PAGE)
        return ERR_INVALID_SOURCE_TYPE;
    if (!exists)
        return OK;
    if (!old->copy.incremental || !slice_equal(bare_url(old->copy.source), bare_url(request->url)))
        return ERR_INCREMENTAL_OTHER_BLOB;
    return request->source.snapshot > old->copy.source_snapshot ? OK
                                                                : ERR_INCREMENTAL_EARLIER_SNAPSHOT;
}

/* A snapshot of the copy.  Its pages count as written when those of the first copy were, so that
   the snapshots can be compared. */
static enum err add_snapshot(struct change *change, const struct copy_change *request,
                             const struct blob *old, bool exists, struct blob *blob)
{
    const enum err err = content_share(change, &blob->content);
    if (err != OK)
        return err;
    if (exists)
        blob->made_at = old->made_at;
    const struct blob_name name = { .blob = request->blob.name.blob,
                                    .snapshot = change_now(change) };
    blob_decide_put(change, request->blob.name.blob, blob);
    blob->lease = (struct lease){ 0 };
    blob_decide_put_record(change, &name, blob);
    return OK;
}

/* The record of the copy, but for its content. */
static struct blob copy_record(const struct copy_change *request, const struct blob *source,
                               int64_t now)
{
    struct blob blob = {
        .type = source->type,
        .properties = source->properties,
        .metadata = request->blob.metadata.count > 0 ? request->blob.metadata : source->metadata,
        .block_count = source->block_count,
        .sealed = source->sealed || (source->type == BLOB_APPEND && request->seals),
        .sequence_number = source->sequence_number,
        .copy = finished_copy(request, source->content.length_bytes, now),
    };
    blob.copy.incremental = request->is_incremental;
    blob.copy.source_snapshot = request->is_incremental ? request->source.snapshot : 0;
    return blob;
}

/* blob_decide_replace takes the tags from the request; they are its own again afterwards. */
static enum err replace(struct change *change, struct copy_change *request, const struct blob *old,
                        bool exists, const struct blob *source, struct blob *blob)
{
    const struct metadata own_tags = request->blob.tags;
    if (request->copies_tags)
        request->blob.tags = source->tags;
    enum err err = blob_decide_replace(change, &request->blob, old, exists, blob);
    request->blob.tags = own_tags;
    if (err == OK && request->is_incremental)
        err = add_snapshot(change, request, old, exists, blob);
    return err;
}

/* Whether the source, where it was found, is what the copy replaces. */
static bool is_same_blob(const struct copy_change *request, const struct blob_name *where)
{
    return where->snapshot == 0 && where->version == 0 &&
           slice_equal(where->blob, request->blob.name.blob);
}

/* Whether a copy in the source's own partition takes so many rows that it is made in steps, as if
   the source were in another one. */
static bool is_made_in_steps(const struct blob *source)
{
    return source->type == BLOB_APPEND && source->content.place == CONTENT_SEGMENTS &&
           source->block_count > CLONE_STEP_ENTRIES;
}

/* The content of a copy in the source's own partition. */
static enum err share_content(struct change *change, const struct blob_name *where,
                              struct blob *source, struct content *content)
{
    /* Two append blobs cannot go on with one list. */
    if (source->type == BLOB_APPEND && source->content.place == CONTENT_SEGMENTS)
        return clone_within(change, &source->content, content);
    const bool was_shared = source->content.shared;
    const enum err err = content_share(change, &source->content);
    if (err != OK)
        return err;
    /* The source's record says from now on that its content may be another's too. */
    if (source->content.shared != was_shared)
        blob_decide_put_record(change, where, source);
    *content = source->content;
    return OK;
}

static enum err get_source(struct change *change, struct blob_name *where, struct blob *source)
{
    const enum err err = history_find(change, where, source);
    return err == ERR_BLOB_NOT_FOUND ? ERR_COPY_SOURCE_NOT_FOUND : err;
}

static enum err within_decide(struct change *change, void *arg)
{
    struct copy_change *request = arg;
    struct blob_name where = request->source;
    struct blob old;
    struct blob source;
    bool exists;
    request->is_long = false;
    enum err err = check_target(change, request, &old, &exists);
    if (err == OK)
        err = get_source(change, &where, &source);
    if (err == OK)
        err = check_source(request, &source);
    if (err == OK)
        err = check_type(&old, exists, source.type);
    if (err == OK)
        err = check_incremental(request, &source, &old, exists);
    if (err != OK)
        return err;
    const bool is_same = is_same_blob(request, &where);
    request->is_long = !is_same && is_made_in_steps(&source);
    if (request->is_long)
        return ERR_BUSY;
    struct blob blob = copy_record(request, &source, change_now(change));
    if (is_same && !history_keeps(&request->blob.protection, &old)) {
        /* The content stays where it is. */
        blob.content = source.content;
        old.content = (struct content){ 0 };
    } else {
        err = share_content(change, &where, &source, &blob.content);
        if (is_same)
            old.content = source.content;
    }
    return err == OK ? replace(change, request, &old, exists, &source, &blob) : err;
}

/* --- from another partition --- */

static void across_next(struct copy_change *request);

static void across_end(struct copy_change *request, enum err err)
{
    clone_close(&request->clone);
    request->blob.base.done(request->blob.base.arg, err);
}

static void abandon_done(void *arg, enum err err)
{
    struct copy_change *request = arg;
    if (err != OK)
        log_error("copy", "content stays until the next start: %s", error_text(err));
    across_end(request, request->outcome);
}

static enum err abandon_decide(struct change *change, void *arg)
{
    const struct copy_change *request = arg;
    clone_abandon(&request->clone, change);
    return OK;
}

/* An update of the destination's partition that is not the end of the change. */
static void across_update(struct copy_change *request, change_fn *decide,
                          void (*done)(void *arg, enum err err))
{
    struct service_change *base = &request->blob.base;
    base->update = (struct partition_update){
        .partition = request->blob.partition,
        .decide = decide,
        .arg = request,
        .done = done,
    };
    partition_update(base->service->store, &base->update);
}

static void across_fail(struct copy_change *request, enum err err)
{
    assert(err != OK);
    request->outcome = err;
    if (request->clone.has_steps)
        across_update(request, abandon_decide, abandon_done);
    else
        across_end(request, err);
}

/* The checks on the destination that need no content: made with each step, to stop early. */
static enum err check_across(struct change *change, const struct copy_change *request,
                             struct blob *old, bool *exists)
{
    const struct blob *source = &request->source_record;
    enum err err = check_target(change, request, old, exists);
    if (err == OK)
        err = check_type(old, *exists, source->type);
    return err == OK ? check_incremental(request, source, old, *exists) : err;
}

static enum err step_decide(struct change *change, void *arg)
{
    struct copy_change *request = arg;
    struct blob old;
    bool exists;
    const enum err err = check_across(change, request, &old, &exists);
    return err == OK ? clone_store_step(&request->clone, change) : err;
}

static void step_done(void *arg, enum err err)
{
    struct copy_change *request = arg;
    if (err == OK) {
        request->clone.has_steps = true;
        err = clone_gather(&request->clone);
    }
    if (err == OK)
        across_next(request);
    else
        across_fail(request, err);
}

static enum err last_decide(struct change *change, void *arg)
{
    struct copy_change *request = arg;
    struct blob old;
    bool exists;
    enum err err = check_across(change, request, &old, &exists);
    if (err != OK)
        return err;
    const struct blob *source = &request->source_record;
    struct blob blob = copy_record(request, source, change_now(change));
    err = clone_store(&request->clone, change, &blob.content);
    if (err != OK)
        return err;
    return replace(change, request, &old, exists, source, &blob);
}

static void last_done(void *arg, enum err err)
{
    struct copy_change *request = arg;
    if (err == OK)
        across_end(request, OK);
    else
        across_fail(request, err);
}

static void across_next(struct copy_change *request)
{
    if (request->clone.is_complete)
        across_update(request, last_decide, last_done);
    else
        across_update(request, step_decide, step_done);
}

/* Look the source up and gather what its copy takes. */
static enum err across_open(struct service *service, struct copy_change *request)
{
    struct arena *arena = request->blob.base.arena;
    struct blob_name where = request->source;
    struct blob *source = &request->source_record;
    clone_open(&request->clone, service, request->source_partition);
    enum err err = history_view_find(&request->clone.view, arena, &where, source);
    if (err == ERR_BLOB_NOT_FOUND)
        return ERR_COPY_SOURCE_NOT_FOUND;
    if (err == OK) {
        tier_settle(source, clock_now(service->clock));
        err = check_source(request, source);
    }
    return err == OK ? clone_begin(&request->clone, source) : err;
}

static void across_start(struct copy_change *request)
{
    const enum err err = across_open(request->blob.base.service, request);
    if (err == OK)
        across_next(request);
    else
        across_end(request, err);
}

/* A copy within a partition is made, or is to be made in steps. */
static void within_done(void *arg, enum err err)
{
    struct copy_change *request = arg;
    if (request->is_long)
        across_start(request);
    else
        request->blob.base.done(request->blob.base.arg, err);
}

enum err copy_partition(struct service *service, struct arena *arena, const struct blob_name *name,
                        struct slice *partition)
{
    return container_find_blobs(service, arena, &name->container, partition);
}

void copy_blob(struct service *service, struct copy_change *change)
{
    struct service_change *base = &change->blob.base;
    if (!blob_find_protection(service, &change->blob))
        return;
    /* What an incremental copy replaces is one of its snapshots. */
    change->blob.is_incremental_copy = change->is_incremental;
    if (change->is_incremental)
        change->blob.protection.retention_ticks = 0;
    enum err err =
        copy_partition(service, base->arena, &change->blob.name, &change->blob.partition);
    if (err == OK) {
        err = copy_partition(service, base->arena, &change->source, &change->source_partition);
        if (err == ERR_CONTAINER_NOT_FOUND)
            err = ERR_COPY_SOURCE_NOT_FOUND;
    }
    if (err != OK) {
        service_refuse(base, err);
        return;
    }
    base->service = service;
    if (slice_equal(change->blob.partition, change->source_partition))
        across_update(change, within_decide, within_done);
    else
        across_start(change);
}

/* --- a source elsewhere --- */

static enum err put_decide(struct change *change, void *arg)
{
    struct copy_change *request = arg;
    struct blob old;
    bool exists;
    enum err err = check_target(change, request, &old, &exists);
    if (err == OK)
        err = check_type(&old, exists, BLOB_BLOCK);
    if (err != OK)
        return err;
    const uint64_t length_bytes = payload_writer_length(request->blob.payload);
    const uint64_t content_id = (uint64_t)change_now(change);
    struct blob blob = {
        .type = BLOB_BLOCK,
        .properties = request->blob.properties,
        .metadata = request->blob.metadata,
        .copy = finished_copy(request, length_bytes, change_now(change)),
    };
    blob.content = payload_writer_store(request->blob.payload, change, content_id,
                                        content_key(change_arena(change), content_id));
    return blob_decide_replace(change, &request->blob, &old, exists, &blob);
}

void copy_put(struct service *service, struct copy_change *change)
{
    if (blob_find_protection(service, &change->blob))
        blob_start_payload(service, &change->blob, put_decide);
}

struct slice copy_pending_row(struct arena *arena)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, 1);
    return strbuf_slice(&row);
}

static enum err begin_decide(struct change *change, void *arg)
{
    struct copy_change *request = arg;
    struct arena *arena = change_arena(change);
    struct blob old;
    bool exists;
    enum err err = check_target(change, request, &old, &exists);
    if (err == OK)
        err = check_type(&old, exists, request->type);
    if (err != OK)
        return err;
    struct blob blob = {
        .type = request->type,
        .properties = request->blob.properties,
        .metadata = request->blob.metadata,
        .sequence_number = request->sequence_number,
        .sealed = request->type == BLOB_APPEND && request->seals,
        .copy = {
            .status = BLOB_COPY_PENDING,
            .id = request->id,
            .source = request->url,
            .total_bytes = request->total_bytes,
        },
    };
    change_put(change, pending_copy_key(arena, request->blob.name.blob), copy_pending_row(arena));
    change_mark(change);
    return blob_decide_replace(change, &request->blob, &old, exists, &blob);
}

void copy_begin(struct service *service, struct copy_change *change)
{
    if (blob_find_protection(service, &change->blob))
        blob_start(service, &change->blob.base, &change->blob.name.container, begin_decide);
}

/* --- a pending copy --- */

enum err copy_check_pending(const struct blob_copy *copy, const struct uuid *id)
{
    if (copy->status != BLOB_COPY_PENDING)
        return ERR_NO_PENDING_COPY;
    return uuid_equal(&copy->id, id) ? OK : ERR_COPY_ID_MISMATCH;
}

/* The copy is over: the record under a new ETag, and no row that says that it is pending. */
static void put_ended(struct change *change, struct slice name, enum blob_copy_status status,
                      struct blob *blob)
{
    blob->copy.status = status;
    blob->copy.completed_at = change_now(change);
    blob->etag = change_now(change);
    change_delete(change, pending_copy_key(change_arena(change), name));
    blob_decide_put(change, name, blob);
}

/* The bytes that arrived as the content of a blob of its type. */
static enum err store_arrived(struct change *change, struct payload_writer *payload,
                              struct blob *blob)
{
    const uint64_t id = (uint64_t)change_now(change);
    const uint64_t length_bytes = payload_writer_length(payload);
    blob->content = (struct content){ .id = id };
    if (length_bytes == 0)
        return OK;
    if (blob->type == BLOB_BLOCK) {
        blob->content =
            payload_writer_store(payload, change, id, content_key(change_arena(change), id));
        return OK;
    }
    const struct segment segment = segment_store(change, payload, id);
    if (blob->type == BLOB_PAGE) {
        blob->content = page_map_new(change, length_bytes);
        return page_map_write(change, &blob->content, 0, &segment, NULL);
    }
    blob->block_count = 1;
    return segments_append(change, &blob->content, &segment);
}

static enum err copy_step_decide(struct change *change, void *arg)
{
    struct copy_step *request = arg;
    struct blob blob;
    enum err err = blob_decide_get(change, request->blob, &blob);
    request->is_gone = err == ERR_CONTAINER_NOT_FOUND || err == ERR_BLOB_NOT_FOUND;
    if (request->is_gone) {
        change_delete(change, pending_copy_key(change_arena(change), request->blob));
        return OK;
    }
    if (err == OK)
        err = copy_check_pending(&blob.copy, &request->id);
    if (err != OK)
        return err;
    blob.copy.copied_bytes = request->copied_bytes;
    if (request->description.len > 0) {
        blob.copy.description = request->description;
        put_ended(change, request->blob, BLOB_COPY_FAILED, &blob);
    } else if (request->payload != NULL) {
        err = store_arrived(change, request->payload, &blob);
        if (err == OK)
            put_ended(change, request->blob, BLOB_COPY_SUCCESS, &blob);
    } else {
        blob_decide_put(change, request->blob, &blob);
    }
    return err;
}

static void copy_step_settle(struct service_change *base, enum err err)
{
    struct copy_step *request = (struct copy_step *)base;
    if (err == OK && request->payload != NULL && !request->is_gone)
        payload_writer_commit(request->payload);
}

static void copy_step_synced(void *arg)
{
    struct copy_step *step = arg;
    service_update(step->base.service, &step->base, step->partition, copy_step_decide);
}

void copy_step(struct service *service, struct copy_step *step)
{
    assert(step->payload == NULL || step->description.len == 0);
    step->base.service = service;
    step->base.settle = copy_step_settle;
    if (step->payload != NULL)
        payload_writer_sync(step->payload, copy_step_synced, step);
    else
        copy_step_synced(step);
}

static enum err abort_decide(struct change *change, void *arg)
{
    const struct copy_abort *request = arg;
    struct blob blob;
    enum err err = blob_decide_get(change, request->name.blob, &blob);
    if (err == OK)
        err = lease_check_write(&blob.lease, LEASE_OF_BLOB,
                                request->has_lease_id ? &request->lease_id : NULL,
                                change_now_ms(change));
    if (err == OK)
        err = copy_check_pending(&blob.copy, &request->id);
    if (err == OK)
        put_ended(change, request->name.blob, BLOB_COPY_ABORTED, &blob);
    return err;
}

void copy_abort(struct service *service, struct copy_abort *change)
{
    blob_start(service, &change->base, &change->name.container, abort_decide);
}

/* --- after a restart --- */

struct recovery {
    struct waited_update waited;
    struct service *service;
    bool is_of_files;    /* the partition */
    struct slice name;   /* of a blob with a pending copy, or empty */
    uint64_t file_id;    /* of a file with one, or 0 */
    uint64_t content_id; /* of content that was being made */
    enum err err;        /* of the passage */
};

struct slice copy_restart_description(void)
{
    return slice_of("500 InternalError \"The server was restarted.\"");
}

static enum err recover_copy(struct change *change, struct slice name)
{
    struct arena *arena = change_arena(change);
    struct blob blob;
    const enum err err = blob_decide_get(change, name, &blob);
    if (err == OK && blob.copy.status == BLOB_COPY_PENDING) {
        blob.copy.description = copy_restart_description();
        put_ended(change, name, BLOB_COPY_FAILED, &blob);
        return OK;
    }
    change_delete(change, pending_copy_key(arena, name));
    return err == ERR_BLOB_NOT_FOUND || err == ERR_CONTAINER_NOT_FOUND ? OK : err;
}

static enum err recover_decide(struct change *change, void *arg)
{
    const struct recovery *recovery = arg;
    if (recovery->name.len > 0)
        return recover_copy(change, recovery->name);
    if (recovery->file_id != 0)
        return file_copy_recover(change, recovery->file_id);
    const struct clone clone = { .has_steps = true, .content_id = recovery->content_id };
    clone_abandon(&clone, change);
    return OK;
}

/* What a key with one of the two prefixes is about. */
static enum err understand_key(struct recovery *recovery, struct slice key)
{
    recovery->name = (struct slice){ 0 };
    recovery->file_id = 0;
    if ((recovery->is_of_files ? pending_file_key_id(key, &recovery->file_id)
                               : pending_copy_key_name(key, &recovery->name)) ||
        unfinished_key_content(key, &recovery->content_id))
        return OK;
    return CORRUPT("a key of %zu bytes is not of a copy", key.len);
}

static enum err recover_prefix(struct recovery *recovery, struct slice partition,
                               struct slice prefix)
{
    struct arena arena = { 0 };
    enum err err = OK;
    while (err == OK) {
        struct slice key;
        arena_clear(&arena);
        err = background_find_first(recovery->service, &arena, partition, prefix, &key);
        if (err == OK)
            err = understand_key(recovery, key);
        if (err == OK)
            err =
                background_update(recovery->service, &recovery->waited, partition, recover_decide);
    }
    arena_release(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

static bool recover_partition(void *arg, struct slice partition)
{
    struct recovery *recovery = arg;
    recovery->is_of_files = is_file_partition(partition);
    if (!is_blob_partition(partition) && !recovery->is_of_files)
        return true;
    enum err err = recover_prefix(recovery, partition, pending_copy_prefix());
    if (err == OK)
        err = recover_prefix(recovery, partition, unfinished_prefix());
    recovery->err = err;
    return err == OK;
}

enum err copy_recover(struct service *service)
{
    struct recovery recovery = { .service = service };
    const enum err err = partition_each_marked(service->store, recover_partition, &recovery);
    return err == OK ? recovery.err : err;
}
