#include "service/blob/tag_index.h"

#include <string.h>

#include "base/log.h"
#include "service/blob/blob_decide.h"
#include "service/blob/blob_name.h"
#include "service/blob/history.h"
#include "service/row.h"

/* --- rows --- */

/* 't' name 00, and if `value` is not NULL value 00. */
static struct slice index_prefix(struct arena *arena, struct slice name, const struct slice *value)
{
    struct strbuf key;
    strbuf_init(&key, arena);
    strbuf_add_byte(&key, 't');
    strbuf_add(&key, name);
    strbuf_add_byte(&key, '\0');
    if (value != NULL) {
        strbuf_add(&key, *value);
        strbuf_add_byte(&key, '\0');
    }
    return strbuf_slice(&key);
}

static struct slice index_key(struct arena *arena, const struct metadata_pair *tag,
                              struct slice blob)
{
    const struct slice prefix = index_prefix(arena, tag->name, &tag->value);
    char *bytes = arena_bytes(arena, prefix.len + blob.len);
    memcpy(bytes, prefix.data, prefix.len);
    memcpy(bytes + prefix.len, blob.data, blob.len);
    return slice_make(bytes, prefix.len + blob.len);
}

/* The blob's name and the tag's value in a key of the index. */
static enum err parse_key(struct slice key, struct slice *value, struct slice *blob)
{
    const size_t name_end = slice_find_byte(key, '\0');
    const struct slice rest = slice_from(key, name_end < key.len ? name_end + 1 : key.len);
    const size_t value_end = slice_find_byte(rest, '\0');
    *value = slice_head(rest, value_end);
    *blob = slice_from(rest, value_end + 1);
    if (blob->len == 0 || key.data[0] != 't')
        return CORRUPT("a key of %zu bytes is not of the tag index", key.len);
    return OK;
}

struct slice tag_index_key(struct arena *arena, const struct metadata_pair *tag, struct slice blob)
{
    return index_key(arena, tag, blob);
}

enum err tag_index_key_parse(struct slice key, struct metadata_pair *tag, struct slice *blob)
{
    const size_t name_end = slice_find_byte(key, '\0');
    tag->name = slice_from(slice_head(key, name_end), 1);
    return parse_key(key, &tag->value, blob);
}

static bool has_tag(const struct metadata *tags, const struct metadata_pair *tag)
{
    const struct slice *value = tags_find(tags, tag->name);
    return value != NULL && slice_equal(*value, tag->value);
}

struct slice tag_index_row(struct arena *arena)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_TAG);
    return strbuf_slice(&row);
}

void tag_index_update(struct change *change, struct slice blob, const struct metadata *old,
                      const struct metadata *tags)
{
    struct arena *arena = change_arena(change);
    for (size_t i = 0; i < old->count; i++)
        if (!has_tag(tags, &old->pairs[i]))
            change_delete(change, index_key(arena, &old->pairs[i], blob));
    const struct slice row = tag_index_row(arena);
    for (size_t i = 0; i < tags->count; i++)
        if (!has_tag(old, &tags->pairs[i]))
            change_put(change, index_key(arena, &tags->pairs[i], blob), row);
}

/* --- Set Blob Tags --- */

static enum err set_tags_decide(struct change *change, void *arg)
{
    struct blob_change *request = arg;
    struct blob_name where = request->name;
    struct blob blob;
    enum err err = history_find(change, &where, &blob);
    if (err == OK)
        err = blob_decide_check(change, request, &blob);
    if (err == OK && where.snapshot == 0)
        err = blob_check_usable(&blob);
    if (err != OK)
        return err;
    if (where.version == 0)
        tag_index_update(change, where.blob, &blob.tags, &request->tags);
    blob.tags = request->tags;
    blob_decide_put_record(change, &where, &blob);
    request->etag = blob.etag;
    return OK;
}

void blob_set_tags(struct service *service, struct blob_change *change)
{
    blob_start(service, &change->base, &change->name.container, set_tags_decide);
}

/* --- searching --- */

struct search_state {
    struct service *service;
    struct arena *arena; /* of the result */
    const struct tag_search *search;
    const struct tag_comparison *leading; /* whose rows are scanned */
    struct arena row_arena;
    struct slice container;
    size_t rows;
    size_t containers;
    size_t found;
    bool is_full;
    struct tag_position *next;
};

/* The comparison with the fewest rows, as far as can be said: equality before the others. */
static const struct tag_comparison *find_leading(const struct tag_predicate *predicate)
{
    const struct tag_comparison *leading = NULL;
    for (size_t i = 0; i < tag_predicate_count(predicate); i++) {
        const struct tag_comparison *comparison = tag_predicate_get(predicate, i);
        if (slice_is(comparison->name, "@container"))
            continue;
        if (leading == NULL ||
            (leading->relation != TAG_EQUAL && comparison->relation == TAG_EQUAL))
            leading = comparison;
    }
    return leading;
}

/* Whether the rows that follow one with this value can still match. */
static bool is_past(const struct tag_comparison *leading, struct slice value)
{
    const int order = slice_compare(value, leading->value);
    if (leading->relation == TAG_LESS)
        return order >= 0;
    return leading->relation == TAG_LESS_OR_EQUAL && order > 0;
}

static struct cursor *open_rows(struct search_state *state, struct partition_view *view,
                                struct slice from)
{
    const struct tag_comparison *leading = state->leading;
    const bool equal = leading->relation == TAG_EQUAL;
    const struct slice prefix =
        index_prefix(state->arena, leading->name, equal ? &leading->value : NULL);
    const bool greater =
        leading->relation == TAG_GREATER || leading->relation == TAG_GREATER_OR_EQUAL;
    /* Only a place among these rows is a place to begin at. */
    if (from.len > 0 && slice_starts_with(from, prefix))
        return partition_view_scan(view, prefix, from);
    return partition_view_scan(view, prefix,
                               greater ? index_prefix(state->arena, leading->name, &leading->value)
                                       : (struct slice){ 0 });
}

static enum err try_blob(struct search_state *state, struct partition_view *view, struct slice name)
{
    const struct tag_search *search = state->search;
    struct arena *arena = &state->row_arena;
    struct slice row;
    struct blob blob;
    enum err err = partition_view_get(view, arena, blob_key(arena, name), &row);
    if (err == OK)
        err = blob_decode(arena, row, &blob);
    if (err == ERR_NOT_FOUND)
        return CORRUPT("the tag index names a blob that is not there");
    if (err != OK || !tag_predicate_holds(search->predicate, state->container, &blob.tags))
        return err;
    state->found++;
    if (!search->emit(search->arg, state->container, name, &blob) ||
        state->found == search->results_max)
        state->is_full = true;
    return OK;
}

static enum err search_rows(struct search_state *state, struct partition_view *view,
                            struct cursor *cursor)
{
    for (;;) {
        struct slice key;
        struct slice row;
        struct slice value;
        struct slice name;
        arena_clear(&state->row_arena);
        enum err err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = parse_key(key, &value, &name);
        if (err != OK)
            return err == ERR_NOT_FOUND ? OK : err;
        if (is_past(state->leading, value))
            return OK;
        if (state->is_full || state->rows == TAG_SEARCH_ROWS_MAX) {
            state->is_full = true;
            *state->next = (struct tag_position){
                .container = arena_copy(state->arena, state->container),
                .key = arena_copy(state->arena, key),
            };
            return OK;
        }
        state->rows++;
        err = try_blob(state, view, name);
        if (err != OK)
            return err;
    }
}

/* Whether a container's name is one the predicate can hold for. */
static bool container_matches(const struct tag_predicate *predicate, struct slice container)
{
    for (size_t i = 0; i < tag_predicate_count(predicate); i++) {
        const struct tag_comparison *comparison = tag_predicate_get(predicate, i);
        if (slice_is(comparison->name, "@container") && comparison->relation == TAG_EQUAL &&
            !slice_equal(comparison->value, container))
            return false;
    }
    return true;
}

static enum err search_container(struct search_state *state, struct slice container,
                                 struct slice from)
{
    state->containers++;
    if (!container_matches(state->search->predicate, container))
        return OK;
    const struct container_name name = { state->search->account, container };
    struct slice partition;
    enum err err = container_find_blobs(state->service, state->arena, &name, &partition);
    if (err != OK)
        return err;
    struct partition_view view;
    partition_view_open(state->service->store, partition, &view);
    struct cursor *cursor = open_rows(state, &view, from);
    state->container = container;
    err = search_rows(state, &view, cursor);
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
}

struct container_step {
    struct arena *arena;
    struct slice name;
};

static bool note_container(void *arg, struct slice name, const struct container *container)
{
    struct container_step *step = arg;
    (void)container;
    step->name = arena_copy(step->arena, name);
    return false;
}

/* The name of the only container that can match, or empty. */
static struct slice only_container(const struct tag_predicate *predicate)
{
    for (size_t i = 0; i < tag_predicate_count(predicate); i++) {
        const struct tag_comparison *comparison = tag_predicate_get(predicate, i);
        if (slice_is(comparison->name, "@container") && comparison->relation == TAG_EQUAL)
            return comparison->value;
    }
    return (struct slice){ 0 };
}

static enum err search_account(struct search_state *state)
{
    const struct tag_search *search = state->search;
    const struct slice only = only_container(search->predicate);
    if (only.len > 0) {
        const enum err err = search_container(state, only, search->from.key);
        return err == ERR_CONTAINER_NOT_FOUND ? OK : err;
    }
    struct slice at = search->from.container;
    const struct slice none = { 0 };
    do {
        struct container_step step = { .arena = state->arena };
        struct slice following;
        const struct container_list_request list = { .account = search->account,
                                                     .from = at,
                                                     .results_max = 1,
                                                     .emit = note_container,
                                                     .arg = &step };
        enum err err = container_list(state->service, state->arena, &list, &following);
        if (err != OK || step.name.len == 0)
            return err;
        if (state->is_full || state->containers == TAG_SEARCH_CONTAINERS_MAX) {
            if (state->next->container.len == 0)
                *state->next = (struct tag_position){ .container = step.name };
            return OK;
        }
        const bool resumed = slice_equal(step.name, search->from.container);
        err = search_container(state, step.name, resumed ? search->from.key : none);
        /* It may have been deleted since. */
        if (err != OK && err != ERR_CONTAINER_NOT_FOUND)
            return err;
        at = following;
    } while (at.len > 0 && state->next->container.len == 0);
    return OK;
}

enum err tag_search_run(struct service *service, struct arena *arena,
                        const struct tag_search *search, struct tag_position *next)
{
    *next = (struct tag_position){ 0 };
    struct search_state state = {
        .service = service,
        .arena = arena,
        .search = search,
        .leading = find_leading(search->predicate),
        .next = next,
    };
    if (state.leading == NULL)
        return ERR_MALFORMED;
    const enum err err = search->container.len > 0
                             ? search_container(&state, search->container, search->from.key)
                             : search_account(&state);
    arena_release(&state.row_arena);
    return err;
}
