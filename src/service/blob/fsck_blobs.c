/*
 * fsck_blobs.c - a partition of blobs: its records, uncommitted blocks, tags and pending copies.
 * What records and blocks name is gathered here; fsck_content.c and fsck_inline.c look at the rest.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/fsck_internal.h"
#include "service/blob/history.h"
#include "service/blob/overlay.h"
#include "service/blob/snapshot.h"
#include "service/blob/tag.h"
#include "service/blob/tag_index.h"

/* The kinds of rows a partition of blobs has (blob_name.h). */
static const char KNOWN_LETTERS[] = "bdefhklnoqtuvwxyz";

/* --- helpers --- */

void fsck__check_end(struct fsck_blobs *blobs, char letter, enum err err)
{
    if (err != ERR_NOT_FOUND)
        fsck__report(blobs->fsck, "%s: the rows '%c' cannot be read to their end: %s",
                     blobs->label.data, letter, error_text(err));
}

void fsck__repair_put(struct fsck_blobs *blobs, struct slice key, struct slice value)
{
    fsck__repair(blobs->fsck, &(struct partition_repair){
                                  .kind = PARTITION_REPAIR_PUT,
                                  .partition = blobs->view.partition,
                                  .key = key,
                                  .value = value,
                              });
}

void fsck__repair_delete(struct fsck_blobs *blobs, struct slice key)
{
    fsck__repair(blobs->fsck, &(struct partition_repair){
                                  .kind = PARTITION_REPAIR_DELETE,
                                  .needs_all = true,
                                  .partition = blobs->view.partition,
                                  .key = key,
                              });
}

/* The row that says yes: of an index that has nothing else to say. */
static struct slice yes_row(struct fsck_blobs *blobs)
{
    return repair_number_row(&blobs->arena, 1);
}

typedef void row_fn(struct fsck_blobs *blobs, struct slice key, struct slice row);

/* Call `fn` for each row of a kind; the key is in the arena. */
static void each_row(struct fsck_blobs *blobs, char letter, row_fn *fn)
{
    struct cursor *cursor =
        partition_view_scan(&blobs->view, slice_make(&letter, 1), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        arena_clear(&blobs->arena);
        fn(blobs, arena_copy(&blobs->arena, key), arena_copy(&blobs->arena, row));
    }
    fsck__check_end(blobs, letter, err);
    cursor_free(cursor);
}

/* Whether there is a row; what cannot be read is reported as if there were none. */
static bool has_row(struct fsck_blobs *blobs, struct slice key)
{
    struct slice row;
    return partition_view_get(&blobs->view, &blobs->arena, key, &row) == OK;
}

void fsck__claim_segment(struct fsck_blobs *blobs, const struct segment *segment,
                         uint64_t content_id)
{
    if (segment->range.extent_id != 0) {
        const struct fsck_claim claim = {
            .range = segment->range,
            .owner = segment->owner,
            .incarnation = blobs->incarnation,
            .content_id = content_id,
        };
        fsck__claim(blobs->fsck, &claim);
        return;
    }
    struct fsck_inline *added = fsck__list_add(&blobs->inlines, sizeof(*added));
    added->payload_id = segment->payload_id;
    added->owner = segment->owner;
    added->length_bytes = segment->range.length;
}

/* Keys of kinds that are not known. */
static void check_letters(struct fsck_blobs *blobs)
{
    struct cursor *cursor =
        partition_view_scan(&blobs->view, (struct slice){ 0 }, (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        const char letter = key.len == 0 ? '\0' : key.data[0];
        if (letter == '\0' || strchr(KNOWN_LETTERS, letter) == NULL)
            fsck__report(blobs->fsck, "%s: there is a row of unknown kind 0x%02x",
                         blobs->label.data, (unsigned)(unsigned char)letter);
        if ((unsigned char)letter == 0xff)
            break;
        const char next_letter = (char)(letter + 1);
        cursor_seek(cursor, slice_make(&next_letter, 1));
    }
    if (err != OK)
        fsck__check_end(blobs, '*', err);
    cursor_free(cursor);
}

/* --- content that no record names: 'z', 'y' --- */

static void add_dropped(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    (void)row;
    uint64_t content_id;
    blobs->needs_mark = true;
    if (!dropped_key_content(key, &content_id)) {
        fsck__report(blobs->fsck, "%s: the row of dropped content is damaged", blobs->label.data);
        return;
    }
    *(uint64_t *)fsck__list_add(&blobs->dropped, sizeof(content_id)) = content_id;
    blobs->fsck->summary->dropped_count++;
}

static void add_unfinished(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    (void)row;
    uint64_t content_id;
    blobs->needs_mark = true;
    if (!unfinished_key_content(key, &content_id)) {
        fsck__report(blobs->fsck, "%s: the row of unfinished content is damaged",
                     blobs->label.data);
        return;
    }
    *(uint64_t *)fsck__list_add(&blobs->unfinished, sizeof(content_id)) = content_id;
    blobs->fsck->summary->unfinished_count++;
}

/* A list that is laid over another names it, as a record would.  Lists of pages end anywhere. */
static void add_overlay(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    uint64_t content_id;
    struct overlay overlay;
    blobs->needs_mark = true;
    if (overlay_decode(key, row, &content_id, &overlay) != OK) {
        fsck__report(blobs->fsck, "%s: the row of an overlay is damaged", blobs->label.data);
        return;
    }
    struct fsck_overlay *added = fsck__list_add(&blobs->overlays, sizeof(*added));
    *added = (struct fsck_overlay){ .content_id = content_id, .base = overlay.base };
    struct fsck_named *named = fsck__list_add(&blobs->named, sizeof(*named));
    *named = (struct fsck_named){
        .content_id = overlay.base,
        .length_bytes = UINT64_MAX,
        .place = CONTENT_SEGMENTS,
        .type = BLOB_PAGE,
        .shared = true,
    };
}

/* --- records: 'b' --- */

/* What a message calls the blob; ends with a NUL. */
static struct slice name_of(struct fsck_blobs *blobs, struct slice name)
{
    const struct slice printable = fsck__printable(&blobs->arena, name);
    return arena_printf(&blobs->arena, "%s/%.*s", blobs->label.data, (int)printable.len,
                        printable.data);
}

static bool is_place_possible(const struct blob *blob)
{
    const enum content_place place = blob->content.place;
    return blob->type == BLOB_BLOCK || place == CONTENT_EMPTY || place == CONTENT_SEGMENTS;
}

static void note_content(struct fsck_blobs *blobs, struct slice name, const struct blob *blob)
{
    const struct content *content = &blob->content;
    if (content->place == CONTENT_EMPTY)
        return;
    if (!is_place_possible(blob) || content->id == 0)
        fsck__report(blobs->fsck, "%s: a blob of its type cannot have its content",
                     name_of(blobs, name).data);
    struct fsck_named *named = fsck__list_add(&blobs->named, sizeof(*named));
    *named = (struct fsck_named){
        .content_id = content->id,
        .length_bytes = content->length_bytes,
        .block_count = blob->block_count,
        .place = content->place,
        .type = blob->type,
        .shared = content->shared,
    };
    struct segment whole = { .payload_id = content->id,
                             .range = content->range,
                             .owner = content->id };
    if (content->place == CONTENT_EXTENT) {
        fsck__claim_segment(blobs, &whole, content->id);
    } else if (content->place == CONTENT_INLINE) {
        whole.owner = 0;
        whole.range.length = content->length_bytes;
        fsck__claim_segment(blobs, &whole, content->id);
    }
}

/* What only a base blob has: tags with rows of the index, a copy that may be pending. */
static void check_base(struct fsck_blobs *blobs, struct slice name, const struct blob *blob)
{
    for (size_t i = 0; i < blob->tags.count; i++) {
        const struct metadata_pair *tag = &blob->tags.pairs[i];
        const struct slice printable = fsck__printable(&blobs->arena, tag->name);
        const struct slice key = tag_index_key(&blobs->arena, tag, name);
        if (!has_row(blobs, key)) {
            fsck__report(blobs->fsck, "%s: its tag \"%.*s\" is not in the index",
                         name_of(blobs, name).data, (int)printable.len, printable.data);
            fsck__repair_put(blobs, key, tag_index_row(&blobs->arena));
        }
    }
    const struct slice copy_key = pending_copy_key(&blobs->arena, name);
    if (blob->copy.status == BLOB_COPY_PENDING && !has_row(blobs, copy_key)) {
        fsck__report(blobs->fsck, "%s: its copy is pending, and nothing will end it",
                     name_of(blobs, name).data);
        fsck__repair_put(blobs, copy_key, yes_row(blobs));
    }
}

/* Snapshots come before their blob.  Of one that was a version, the blob can be deleted and they be
   brought back without it. */
static void check_has_base(struct fsck_blobs *blobs, struct slice name, int64_t snapshot,
                           const struct blob *blob)
{
    int64_t floor;
    if (snapshots_view_floor(&blobs->view, &blobs->arena, name, &floor) == OK && snapshot < floor)
        return; /* it is gone, and to be removed */
    if (blob->version_id == 0 && !has_row(blobs, blob_key(&blobs->arena, name)))
        fsck__report(blobs->fsck, "%s: there is a snapshot of it, but no blob",
                     name_of(blobs, name).data);
}

static void check_record(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    struct slice name;
    int64_t snapshot;
    struct blob blob;
    if (blob_key_name(key, &name, &snapshot) != OK || blob_name_check(name) != OK) {
        fsck__report(blobs->fsck, "%s: the key of a record, %zu bytes, is damaged",
                     blobs->label.data, key.len);
        return;
    }
    if (snapshot == 0)
        blobs->blob_count++;
    else
        blobs->fsck->summary->snapshot_count++;
    if (blob_decode(&blobs->arena, row, &blob) != OK) {
        fsck__report(blobs->fsck, "%s: the record is damaged", name_of(blobs, name).data);
        return;
    }
    note_content(blobs, name, &blob);
    if (snapshot == 0)
        check_base(blobs, name, &blob);
    else
        check_has_base(blobs, name, snapshot, &blob);
}

/* --- history: 'h', 'e' --- */

static void check_history(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    struct slice name;
    uint64_t tick;
    char kind;
    struct blob blob;
    if (history_key_parse(key, &name, &tick, &kind) != OK || blob_name_check(name) != OK ||
        (kind != HISTORY_DELETED && kind != HISTORY_VERSION)) {
        fsck__report(blobs->fsck, "%s: the key of a record of history, %zu bytes, is damaged",
                     blobs->label.data, key.len);
        return;
    }
    blobs->kept_count++;
    if (blob_decode(&blobs->arena, row, &blob) != OK) {
        fsck__report(blobs->fsck, "%s: a record of its history is damaged",
                     name_of(blobs, name).data);
        return;
    }
    note_content(blobs, name, &blob);
    if (kind == HISTORY_VERSION && (uint64_t)blob.version_id != tick)
        fsck__report(blobs->fsck, "%s: a version is kept under another id than its own",
                     name_of(blobs, name).data);
    if (kind == HISTORY_DELETED && blob.deleted_at == 0)
        fsck__report(blobs->fsck, "%s: it is kept as deleted, and is not",
                     name_of(blobs, name).data);
    const struct slice expiry = expiry_key(&blobs->arena, blob.expires_at, key);
    if (blob.deleted_at != 0 && !has_row(blobs, expiry)) {
        fsck__report(blobs->fsck, "%s: it is soft-deleted, and nothing will remove it",
                     name_of(blobs, name).data);
        fsck__repair_put(blobs, expiry, yes_row(blobs));
    }
}

static void check_expiry(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    (void)row;
    int64_t expires_at;
    struct slice history;
    struct slice kept;
    struct blob blob;
    blobs->needs_mark = true;
    if (expiry_key_parse(&blobs->arena, key, &expires_at, &history) != OK) {
        fsck__report(blobs->fsck, "%s: the row of an expiry is damaged", blobs->label.data);
        return;
    }
    /* A closed partition is being emptied, records first. */
    const enum err err = partition_view_get(&blobs->view, &blobs->arena, history, &kept);
    if (blobs->is_closed && err == ERR_NOT_FOUND)
        return;
    if (err != OK ||
        (blob_decode(&blobs->arena, kept, &blob) == OK && blob.expires_at != expires_at)) {
        fsck__report(blobs->fsck, "%s: there is an expiry of something that is not soft-deleted",
                     blobs->label.data);
        fsck__repair_delete(blobs, key);
    }
}

static int compare_named(const void *a, const void *b)
{
    const struct fsck_named *left = a;
    const struct fsck_named *right = b;
    if (left->content_id != right->content_id)
        return left->content_id < right->content_id ? -1 : 1;
    return (left->length_bytes > right->length_bytes) - (left->length_bytes < right->length_bytes);
}

size_t fsck__find_named(const struct fsck_blobs *blobs, uint64_t content_id,
                        const struct fsck_named **first)
{
    const struct fsck_named *items = blobs->named.items;
    size_t low = 0;
    size_t high = blobs->named.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].content_id < content_id)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < blobs->named.count && items[end].content_id == content_id)
        end++;
    *first = end > low ? &items[low] : NULL;
    return end - low;
}

/* --- uncommitted blocks: 'u', 'w' --- */

/* The blocks of a name and generation, as their rows have it. */
struct block_group {
    struct slice name; /* in the name arena */
    int64_t generation;
    uint64_t count;
    uint64_t length_bytes;
    uint64_t id_chars; /* of the first */
    bool is_uneven;    /* ids are of different length */
};

/* The row about blocks says what their rows say. */
static void repair_group(struct fsck_blobs *blobs, const struct block_group *group,
                         const struct uncommitted *found)
{
    struct uncommitted right = *found;
    right.id_chars = group->id_chars;
    right.block_count = group->count;
    right.length_bytes = group->length_bytes;
    fsck__repair(blobs->fsck, &(struct partition_repair){
                                  .kind = PARTITION_REPAIR_PUT,
                                  .needs_all = true,
                                  .partition = blobs->view.partition,
                                  .key = uncommitted_key(&blobs->arena, group->name),
                                  .value = uncommitted_encode(&blobs->arena, &right),
                              });
}

static void check_group(struct fsck_blobs *blobs, const struct block_group *group)
{
    if (group->count == 0)
        return;
    if (has_row(blobs, forgotten_key(&blobs->arena, group->name, group->generation)))
        return; /* as many as the sweeper has left */
    struct slice row;
    struct uncommitted uncommitted;
    const struct slice key = uncommitted_key(&blobs->arena, group->name);
    const enum err err = partition_view_get(&blobs->view, &blobs->arena, key, &row);
    /* A row that cannot be decoded is reported with the rows of its kind. */
    if (err == OK && uncommitted_decode(row, &uncommitted) != OK)
        return;
    if (err != OK || uncommitted.created_at != group->generation) {
        fsck__report(blobs->fsck, "%s: it has %" PRIu64 " uncommitted blocks without a row '%c'",
                     name_of(blobs, group->name).data, group->count, 'w');
        return;
    }
    if (uncommitted.block_count != group->count ||
        uncommitted.length_bytes != group->length_bytes || group->is_uneven ||
        uncommitted.id_chars != group->id_chars)
        fsck__report(blobs->fsck,
                     "%s: its uncommitted blocks are %" PRIu64 " of %" PRIu64
                     " bytes, and their row says %" PRIu64 " of %" PRIu64 " bytes",
                     name_of(blobs, group->name).data, group->count, group->length_bytes,
                     uncommitted.block_count, uncommitted.length_bytes);
    else
        return;
    if (!group->is_uneven)
        repair_group(blobs, group, &uncommitted);
}

static void check_block(struct fsck_blobs *blobs, struct slice key, struct slice row,
                        struct block_group *group)
{
    struct slice name;
    int64_t generation;
    struct slice block_id;
    struct segment segment;
    if (!block_key_parse(key, &name, &generation, &block_id) ||
        uncommitted_block_decode(row, &segment) != OK) {
        fsck__report(blobs->fsck, "%s: an uncommitted block is damaged",
                     name_of(blobs, slice_head(slice_from(key, 1),
                                               slice_find_byte(slice_from(key, 1), '\0')))
                         .data);
        return;
    }
    if (group->count == 0 || group->generation != generation || !slice_equal(group->name, name)) {
        check_group(blobs, group);
        arena_clear(&blobs->name_arena);
        *group = (struct block_group){ .name = arena_copy(&blobs->name_arena, name),
                                       .generation = generation,
                                       .id_chars = BASE64_LEN(block_id.len) };
    }
    group->count++;
    group->length_bytes += segment.length_bytes;
    group->is_uneven |= BASE64_LEN(block_id.len) != group->id_chars;
    fsck__claim_segment(blobs, &segment, 0);
}

static void check_blocks(struct fsck_blobs *blobs)
{
    struct cursor *cursor = partition_view_scan(&blobs->view, slice_of("u"), (struct slice){ 0 });
    struct block_group group = { 0 };
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        arena_clear(&blobs->arena);
        check_block(blobs, key, row, &group);
    }
    check_group(blobs, &group);
    fsck__check_end(blobs, 'u', err);
    cursor_free(cursor);
}

static void check_uncommitted(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    struct uncommitted uncommitted;
    struct slice name;
    blobs->needs_mark = true;
    if (uncommitted_key_name(key, &name) != OK || uncommitted_decode(row, &uncommitted) != OK) {
        fsck__report(blobs->fsck, "%s: the row about uncommitted blocks is damaged",
                     name_of(blobs, slice_from(key, 1)).data);
        return;
    }
    struct cursor *cursor =
        partition_view_scan(&blobs->view, block_prefix(&blobs->arena, name, uncommitted.created_at),
                            (struct slice){ 0 });
    struct slice block_key;
    struct slice block_row;
    if (cursor_next(cursor, &block_key, &block_row) != OK) {
        fsck__report(blobs->fsck,
                     "%s: its row says that there are uncommitted blocks; there are none",
                     name_of(blobs, name).data);
        fsck__repair_delete(blobs, key);
    }
    cursor_free(cursor);
}

/* A row without blocks is removed by the sweeper, as is one with. */
static void check_forgotten(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    (void)row;
    struct slice name;
    int64_t generation;
    blobs->needs_mark = true;
    if (!forgotten_key_parse(key, &name, &generation))
        fsck__report(blobs->fsck, "%s: the row of forgotten blocks is damaged", blobs->label.data);
}

static void check_outdated(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    struct slice name;
    int64_t floor;
    blobs->needs_mark = true;
    if (!outdated_key_name(key, &name) || outdated_decode(row, &floor) != OK)
        fsck__report(blobs->fsck, "%s: the row of snapshots that are gone is damaged",
                     blobs->label.data);
}

/* --- tags and pending copies: 't', 'q' --- */

static bool get_base(struct fsck_blobs *blobs, struct slice name, struct blob *blob)
{
    struct slice row;
    return partition_view_get(&blobs->view, &blobs->arena, blob_key(&blobs->arena, name), &row) ==
               OK &&
           blob_decode(&blobs->arena, row, blob) == OK;
}

static void check_tag(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    (void)row;
    struct metadata_pair tag;
    struct slice name;
    struct blob blob;
    if (tag_index_key_parse(key, &tag, &name) != OK) {
        fsck__report(blobs->fsck, "%s: a row of the tag index is damaged", blobs->label.data);
        return;
    }
    const struct slice *value =
        get_base(blobs, name, &blob) ? tags_find(&blob.tags, tag.name) : NULL;
    const struct slice printable = fsck__printable(&blobs->arena, tag.name);
    if (value == NULL || !slice_equal(*value, tag.value)) {
        fsck__report(blobs->fsck, "%s: the index has its tag \"%.*s\", which it has not",
                     name_of(blobs, name).data, (int)printable.len, printable.data);
        fsck__repair_delete(blobs, key);
    }
}

/* A row without a pending copy is removed at the next start, as is one with. */
static void check_pending_copy(struct fsck_blobs *blobs, struct slice key, struct slice row)
{
    (void)row;
    struct slice name;
    blobs->needs_mark = true;
    blobs->fsck->summary->unfinished_count++;
    if (!pending_copy_key_name(key, &name))
        fsck__report(blobs->fsck, "%s: the row of a pending copy is damaged", blobs->label.data);
}

/* --- the partition --- */

static void check_mark(struct fsck_blobs *blobs)
{
    bool marked = false;
    const enum err err =
        partition_is_marked(blobs->fsck->request->store, blobs->view.partition, &marked);
    if (err == OK && (!blobs->needs_mark || marked))
        return;
    fsck__report(blobs->fsck, "%s: the sweeper has work here, but no mark to find it by",
                 blobs->label.data);
    fsck__repair(blobs->fsck, &(struct partition_repair){ .kind = PARTITION_REPAIR_MARK,
                                                          .partition = blobs->view.partition });
}

/* Whether anybody can come to what is in the partition: a reader, or the sweeper. */
static void check_reachable(struct fsck_blobs *blobs)
{
    const struct fsck_container *container = fsck__find_container(blobs->fsck, blobs->incarnation);
    if (container != NULL && !container->is_deleted) {
        blobs->fsck->summary->blob_count += blobs->blob_count;
        blobs->fsck->summary->kept_count += blobs->kept_count;
        if (blobs->is_closed)
            fsck__report(blobs->fsck, "%s: it is closed, as if it were deleted", blobs->label.data);
    } else if (container == NULL && (!blobs->is_closed || blobs->blob_count > 0)) {
        fsck__report(blobs->fsck,
                     "%s: its %" PRIu64 " blobs are still there, and nobody will "
                     "reclaim them",
                     blobs->label.data, blobs->blob_count);
    }
    check_mark(blobs);
}

/* Rows about contents that no record names, or that lie over others. */
static void gather_contents(struct fsck_blobs *blobs)
{
    each_row(blobs, 'z', add_dropped);
    each_row(blobs, 'y', add_unfinished);
    each_row(blobs, 'l', add_overlay);
}

static void check_rows(struct fsck_blobs *blobs)
{
    blobs->is_closed = has_row(blobs, closed_key());
    check_letters(blobs);
    gather_contents(blobs);
    each_row(blobs, 'b', check_record);
    each_row(blobs, 'h', check_history);
    each_row(blobs, 'e', check_expiry);
    fsck__list_sort(&blobs->named, sizeof(struct fsck_named), compare_named);
    check_blocks(blobs);
    each_row(blobs, 'w', check_uncommitted);
    each_row(blobs, 'f', check_forgotten);
    each_row(blobs, 'o', check_outdated);
    each_row(blobs, 't', check_tag);
    each_row(blobs, 'q', check_pending_copy);
    fsck__check_contents(blobs);
    fsck__check_inlines(blobs);
    check_reachable(blobs);
}

/* --- the partition of a share: fsck_file.h looks at the records --- */

/* Files have lists with gaps, as page blobs have. */
static void note_file_content(void *arg, const struct content *content)
{
    struct fsck_blobs *blobs = arg;
    struct fsck_named *named = fsck__list_add(&blobs->named, sizeof(*named));
    *named = (struct fsck_named){
        .content_id = content->id,
        .length_bytes = content->length_bytes,
        .place = content->place,
        .type = BLOB_PAGE,
        .shared = content->shared,
    };
}

static void check_file_rows(struct fsck_blobs *blobs)
{
    struct fsck_file_walk walk = {
        .view = &blobs->view,
        .incarnation = blobs->incarnation,
        .label = blobs->label,
        .content = note_file_content,
        .arg = blobs,
    };
    gather_contents(blobs);
    fsck_file_partition(&blobs->fsck->files, &walk);
    blobs->needs_mark |= walk.needs_mark;
    blobs->fsck->summary->unfinished_count += walk.unfinished_count;
    fsck__list_sort(&blobs->named, sizeof(struct fsck_named), compare_named);
    fsck__check_contents(blobs);
    fsck__check_inlines(blobs);
    check_mark(blobs);
}

static void check_partition(struct fsck *fsck, struct slice partition,
                            void (*check)(struct fsck_blobs *blobs))
{
    if (partition.len != 1 + 8 + 2) {
        fsck__report(fsck, "the name of a partition '%c' has %zu bytes", partition.data[0],
                     partition.len);
        return;
    }
    struct fsck_blobs blobs = {
        .fsck = fsck,
        .incarnation = get_be64((const uint8_t *)partition.data + 1),
    };
    struct arena label_arena = { 0 };
    blobs.label = fsck__container_label(fsck, &label_arena, blobs.incarnation);
    partition_view_open(fsck->request->store, partition, &blobs.view);
    check(&blobs);
    partition_view_close(&blobs.view);
    fsck__list_release(&blobs.named);
    fsck__list_release(&blobs.inlines);
    fsck__list_release(&blobs.dropped);
    fsck__list_release(&blobs.unfinished);
    fsck__list_release(&blobs.overlays);
    arena_release(&blobs.arena);
    arena_release(&blobs.name_arena);
    arena_release(&label_arena);
}

void fsck__check_blobs(struct fsck *fsck, struct slice partition)
{
    check_partition(fsck, partition, check_rows);
}

void fsck__check_files(struct fsck *fsck, struct slice partition)
{
    check_partition(fsck, partition, check_file_rows);
}
