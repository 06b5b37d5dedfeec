/*
 * fsck_node.c - the partition of a share: entries and their places, earlier states, instants, the
 * share's state, permissions.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "service/file/file_name.h"
#include "service/file/fsck_file_internal.h"
#include "service/file/instants.h"
#include "service/file/node_internal.h"
#include "service/file/permission.h"
#include "service/file/share.h"
#include "service/file/share_state.h"

/* The kinds of rows a share's partition has (file_name.h). */
static const char KNOWN_LETTERS[] = "eEhiopqxdklnvyz";

enum {
    WORDS_BYTES_MAX = 256, /* of a finding, without the name of the share */
};

/* Whether the way from a directory to the root was looked at. */
enum way {
    WAY_UNKNOWN,
    WAY_WALKED, /* just now */
    WAY_GOOD,
    WAY_BAD,
};

/* A directory or file, as it is now. */
struct fsck_node {
    uint64_t id;
    uint64_t parent;
    bool is_directory;
    uint8_t way; /* of enum way */
};

struct walk {
    struct fsck_files *files;
    struct fsck_file_walk *request;
    struct share_state state;
    struct instants kept;
    bool is_closed;
    bool state_is_damaged;
    uint64_t row_count; /* but for the closing one */
    uint64_t used_bytes;
    size_t count;
    size_t capacity;
    struct fsck_node *nodes; /* by id once all are there */

    /* of the last earlier state */
    struct slice past_name; /* the key without the tick */
    int64_t past_until;
    struct arena past_arena;

    struct arena arena;     /* of the present row */
    struct arena own_arena; /* of what lasts */
};

static void report(struct walk *walk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void report(struct walk *walk, const char *format, ...)
{
    char words[WORDS_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    fsck_file__report(walk->files, "%s: %s", walk->request->label.data, words);
}

typedef void row_fn(struct walk *walk, struct slice key, struct slice row);

static void each_row(struct walk *walk, char letter, row_fn *fn)
{
    struct cursor *cursor =
        partition_view_scan(walk->request->view, slice_make(&letter, 1), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK) {
        arena_clear(&walk->arena);
        walk->row_count++;
        fn(walk, arena_copy(&walk->arena, key), arena_copy(&walk->arena, row));
    }
    if (err != ERR_NOT_FOUND)
        report(walk, "the rows '%c' cannot be read to their end: %s", letter, error_text(err));
    cursor_free(cursor);
}

static enum err get_row(struct walk *walk, struct slice key, struct slice *row)
{
    return partition_view_get(walk->request->view, &walk->arena, key, row);
}

static void check_letters(struct walk *walk)
{
    struct cursor *cursor =
        partition_view_scan(walk->request->view, (struct slice){ 0 }, (struct slice){ 0 });
    struct slice key;
    struct slice row;
    while (cursor_next(cursor, &key, &row) == OK) {
        const char letter = key.len == 0 ? '\0' : key.data[0];
        if (letter == '\0' || strchr(KNOWN_LETTERS, letter) == NULL)
            report(walk, "there is a row of unknown kind 0x%02x", (unsigned)(unsigned char)letter);
        if ((unsigned char)letter == 0xff)
            break;
        const char next_letter = (char)(letter + 1);
        cursor_seek(cursor, slice_make(&next_letter, 1));
    }
    cursor_free(cursor);
}

/* --- entries --- */

/* What an entry has in any state: its name in the key, a permission that is there, a content. */
static void check_node(struct walk *walk, const struct node *node, uint64_t parent,
                       struct slice upper)
{
    struct arena *arena = &walk->arena;
    struct slice row;
    const bool is_root = parent == NODE_ROOT_ID && upper.len == 0;
    if (node->parent_id != parent || (node->id == NODE_ROOT_ID) != is_root)
        report(walk, "node %" PRIu64 " is in another directory than it says", node->id);
    if (!is_root && (file_name_check(node->name) != OK ||
                     !slice_equal(file_name_upper(arena, node->name), upper)))
        report(walk, "node %" PRIu64 " is kept under another name than its own", node->id);
    if (node->permission_key.len > PERMISSION_KEY_LEN_MAX ||
        (node->permission_key.len > 0 && !walk->is_closed &&
         get_row(walk, permission_row_key(arena, node->permission_key), &row) != OK &&
         !permission_key_is_default(node->permission_key)))
        report(walk, "node %" PRIu64 " has a permission that is not there", node->id);
    if (node->content.place != CONTENT_EMPTY)
        walk->request->content(walk->request->arg, &node->content);
}

static void check_entry(struct walk *walk, struct slice key, struct slice row)
{
    uint64_t parent;
    struct slice upper;
    struct node node;
    if (node_key_parse(key, &parent, &upper) != OK || node_decode(&walk->arena, row, &node) != OK ||
        node.until != 0) {
        report(walk, "the record of a directory or file in directory %" PRIu64 " is damaged",
               key.len < 9 ? 0 : get_be64((const uint8_t *)key.data + 1));
        return;
    }
    check_node(walk, &node, parent, upper);
    if (node.copy.status == BLOB_COPY_PENDING && !walk->is_closed &&
        get_row(walk, pending_file_key(&walk->arena, node.id), &row) != OK)
        report(walk, "the copy to node %" PRIu64 " is pending, and nothing will end it", node.id);
    walk->used_bytes += node.used_bytes;
    if (node.id == NODE_ROOT_ID)
        return;
    walk->nodes = fsck_file__grow(walk->nodes, walk->count, &walk->capacity, sizeof(*walk->nodes));
    walk->nodes[walk->count++] = (struct fsck_node){
        .id = node.id,
        .parent = parent,
        .is_directory = node.kind == NODE_DIRECTORY,
    };
}

/* The times of one name's states do not overlap. */
static void check_past_order(struct walk *walk, struct slice key, const struct node *node)
{
    const struct slice name = slice_head(key, key.len - 8);
    if (slice_equal(name, walk->past_name) && node->since < walk->past_until)
        report(walk, "two earlier states of node %" PRIu64 " overlap", node->id);
    arena_clear(&walk->past_arena);
    walk->past_name = arena_copy(&walk->past_arena, name);
    walk->past_until = node->until;
}

static void check_past(struct walk *walk, struct slice key, struct slice row)
{
    uint64_t parent;
    struct slice upper;
    int64_t from;
    struct node node;
    if (node_past_key_parse(key, &parent, &upper, &from) != OK ||
        node_decode(&walk->arena, row, &node) != OK || node.until == 0 || node.since != from) {
        report(walk, "the record of an earlier state, with a key of %zu bytes, is damaged",
               key.len);
        return;
    }
    check_node(walk, &node, parent, upper);
    check_past_order(walk, key, &node);
    if (!walk->is_closed && walk->state.past_due == 0 &&
        !instants_need(&walk->kept, node.since, node.until))
        report(walk, "an earlier state of node %" PRIu64 " is there, and no snapshot needs it",
               node.id);
}

/* --- places --- */

static int compare_nodes(const void *a, const void *b)
{
    const struct fsck_node *left = a;
    const struct fsck_node *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

static struct fsck_node *find_node(const struct walk *walk, uint64_t id)
{
    const struct fsck_node key = { .id = id };
    return walk->count == 0 ? NULL
                            : bsearch(&key, walk->nodes, walk->count, sizeof(key), compare_nodes);
}

static void check_place(struct walk *walk, struct slice key, struct slice row)
{
    uint64_t parent;
    struct slice upper;
    struct slice entry;
    struct node_brief brief;
    const uint64_t id = key.len == 9 ? get_be64((const uint8_t *)key.data + 1) : 0;
    if (id == 0 || node_place_decode(row, &parent, &upper) != OK) {
        report(walk, "the place of node %" PRIu64 " is damaged", id);
        return;
    }
    if (walk->is_closed)
        return;
    if (get_row(walk, node_key(&walk->arena, parent, upper), &entry) != OK ||
        node_brief_decode(entry, &brief) != OK || brief.id != id)
        report(walk, "node %" PRIu64 " is not where its place says", id);
}

/* Whether a directory is below the root. */
static bool is_connected(const struct walk *walk, uint64_t id)
{
    enum way end = WAY_BAD;
    uint64_t at = id;
    while (end == WAY_BAD) {
        struct fsck_node *node = find_node(walk, at);
        if (at == NODE_ROOT_ID || (node != NULL && node->way == WAY_GOOD))
            end = WAY_GOOD;
        else if (node == NULL || !node->is_directory || node->way != WAY_UNKNOWN)
            break; /* nothing, a file, or round in a circle */
        else
            node->way = WAY_WALKED;
        if (end == WAY_BAD)
            at = node->parent;
    }
    for (at = id; at != NODE_ROOT_ID;) {
        struct fsck_node *node = find_node(walk, at);
        if (node == NULL || node->way != WAY_WALKED)
            break;
        node->way = (uint8_t)end;
        at = node->parent;
    }
    return end == WAY_GOOD;
}

static void check_nodes(struct walk *walk)
{
    if (walk->count > 1)
        qsort(walk->nodes, walk->count, sizeof(*walk->nodes), compare_nodes);
    for (size_t i = 0; i < walk->count && !walk->is_closed; i++) {
        const struct fsck_node *node = &walk->nodes[i];
        struct slice row;
        arena_clear(&walk->arena);
        if (i > 0 && node->id == walk->nodes[i - 1].id)
            report(walk, "node %" PRIu64 " is there twice", node->id);
        if (!is_connected(walk, node->parent))
            report(walk, "node %" PRIu64 " is in a directory that nobody can come to", node->id);
        if (get_row(walk, node_place_key(&walk->arena, node->id), &row) != OK)
            report(walk, "node %" PRIu64 " cannot be found by its id", node->id);
    }
}

/* --- instants and the state --- */

/* Each instant has a snapshot, or the sweeper looks after it; each snapshot has an instant. */
static void check_instants(struct walk *walk)
{
    const struct fsck_files *files = walk->files;
    const struct instants *kept = &walk->kept;
    size_t at = fsck_file__find_snapshots(files, walk->request->incarnation);
    size_t i = 0;
    for (; at < files->snapshots_count &&
           files->snapshots[at].incarnation == walk->request->incarnation;
         at++) {
        const struct fsck_snapshot *snapshot = &files->snapshots[at];
        for (; i < kept->count && kept->items[i] < snapshot->taken; i++)
            walk->request->needs_mark = true;
        const bool has_instant = i < kept->count && kept->items[i] == snapshot->taken;
        i += has_instant;
        if (!has_instant && !snapshot->is_deleted)
            report(walk, "the snapshot %" PRId64 " is not kept", snapshot->taken);
    }
}

static void check_instant(struct walk *walk, struct slice key, struct slice row)
{
    const struct fsck_files *files = walk->files;
    struct instant instant;
    int64_t taken;
    if (instant_key_parse(key, &taken) != OK || instant_decode(row, &instant) != OK) {
        report(walk, "the row of an instant, with a key of %zu bytes, is damaged", key.len);
        return;
    }
    if (!instant.is_confirmed) {
        walk->request->needs_mark = true;
        return;
    }
    /* The snapshots of a share that is deleted have gone with it, at once. */
    const struct fsck_share *share = fsck_file__find_share(files, walk->request->incarnation);
    if (share != NULL && share->state == FSCK_SHARE_DELETED)
        return;
    size_t at = fsck_file__find_snapshots(files, walk->request->incarnation);
    while (at < files->snapshots_count &&
           files->snapshots[at].incarnation == walk->request->incarnation &&
           files->snapshots[at].taken < taken)
        at++;
    if (!walk->is_closed && (at == files->snapshots_count || files->snapshots[at].taken != taken))
        report(walk, "the instant %" PRId64 " is kept for no snapshot", taken);
}

static void read_state(struct walk *walk)
{
    struct slice row;
    walk->is_closed = get_row(walk, closed_key(), &row) == OK;
    const enum err err = get_row(walk, share_state_key(), &row);
    walk->state_is_damaged =
        err != ERR_NOT_FOUND && (err != OK || share_state_decode(row, &walk->state) != OK);
    if (walk->state_is_damaged)
        report(walk, "the share's state is damaged");
    walk->row_count += err != ERR_NOT_FOUND;
    walk->request->needs_mark = walk->state.past_due != 0;
    /* Rows that are damaged are reported one by one. */
    (void)!instants_read_view(walk->request->view, &walk->own_arena, &walk->kept);
}

/* The state says what the rows say. */
static void repair_state(struct walk *walk, int64_t last_instant)
{
    if (walk->state_is_damaged)
        return; /* what else it said is not known */
    struct share_state state = walk->state;
    state.last_instant = last_instant;
    state.used_bytes = walk->used_bytes;
    repair_add(walk->files->repairs, &(struct partition_repair){
                                         .kind = PARTITION_REPAIR_PUT,
                                         .needs_all = true,
                                         .partition = walk->request->view->partition,
                                         .key = share_state_key(),
                                         .value = share_state_encode(&walk->own_arena, &state),
                                     });
}

static void check_state(struct walk *walk)
{
    const struct instants *kept = &walk->kept;
    const int64_t last = kept->count == 0 ? 0 : kept->items[kept->count - 1];
    if (walk->state.last_instant != last) {
        report(walk, "the last instant that is kept is not the one its state says");
        repair_state(walk, last);
    }
    if (walk->state.used_bytes != walk->used_bytes) {
        report(walk, "its files take %" PRIu64 " bytes, and its state says %" PRIu64,
               walk->used_bytes, walk->state.used_bytes);
        repair_state(walk, last);
    }
}

static void check_permission(struct walk *walk, struct slice key, struct slice row)
{
    struct slice permission;
    if (permission_decode(slice_from(key, 1), row, &permission) != OK)
        report(walk, "a permission, with a key of %zu bytes, is damaged", key.len);
}

/* A row without a pending copy is removed at the next start, as is one with. */
static void check_pending_copy(struct walk *walk, struct slice key, struct slice row)
{
    (void)row;
    uint64_t id;
    walk->request->needs_mark = true;
    walk->request->unfinished_count++;
    if (!pending_file_key_id(key, &id))
        report(walk, "the row of a pending copy, with a key of %zu bytes, is damaged", key.len);
}

/* --- the partition --- */

static void check_reachable(struct walk *walk)
{
    const struct fsck_share *share = fsck_file__find_share(walk->files, walk->request->incarnation);
    if (share == NULL) {
        if (!walk->is_closed || walk->row_count > 0)
            report(walk, "its files are there, and nothing will remove them");
        return;
    }
    if (share->state == FSCK_SHARE_DELETED)
        return;
    if (walk->is_closed)
        report(walk, "it is closed, as if it were deleted");
    check_instants(walk);
    check_state(walk);
    walk->files->node_count += walk->count;
}

void fsck_file_partition(struct fsck_files *files, struct fsck_file_walk *request)
{
    struct walk walk = { .files = files, .request = request };
    read_state(&walk);
    check_letters(&walk);
    each_row(&walk, 'e', check_entry);
    each_row(&walk, 'E', check_past);
    check_nodes(&walk);
    each_row(&walk, 'o', check_place);
    each_row(&walk, 'i', check_instant);
    each_row(&walk, 'p', check_permission);
    each_row(&walk, 'q', check_pending_copy);
    check_reachable(&walk);
    free(walk.nodes);
    arena_release(&walk.arena);
    arena_release(&walk.own_arena);
    arena_release(&walk.past_arena);
}
