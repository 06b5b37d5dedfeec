/*
 * Directories and files against a model: random operations, and after each the same answer; now and
 * then everything is compared, as it is and as it was at each snapshot.
 */
#include "base/encoding.h"
#include "node_fixture.h"
#include "service/sweeper.h"
#include "test_random.h"

enum {
    MODEL_NODES_MAX = 64,
    MODEL_FILE_BYTES = 3000,
    MODEL_SNAPSHOTS_MAX = 12,
    MODEL_PATH_MAX = 64,
};

struct model_node {
    bool is_there;
    enum node_kind kind;
    char path[MODEL_PATH_MAX];  /* as given */
    char upper[MODEL_PATH_MAX]; /* how it is compared */
    uint64_t id;
    unsigned mark; /* value of the metadata */
    size_t size;
    char bytes[MODEL_FILE_BYTES];
    bool written[MODEL_FILE_BYTES];
};

struct model_state {
    struct model_node nodes[MODEL_NODES_MAX];
};

struct model {
    struct model_state now;
    struct model_state snapshots[MODEL_SNAPSHOTS_MAX];
    int64_t instants[MODEL_SNAPSHOTS_MAX];
    size_t snapshot_count;
    struct test_random random;
    struct service_fixture *fixture;
    bool is_narrow; /* few files, which come to have long lists */
};

/* --- the model --- */

static void upper_path(const char *path, char *upper)
{
    struct arena arena = { 0 };
    const struct slice text = file_name_upper(&arena, slice_of(path));
    assert_true(text.len < MODEL_PATH_MAX);
    memcpy(upper, text.data, text.len);
    upper[text.len] = '\0';
    arena_release(&arena);
}

static struct model_node *model_find(struct model_state *state, const char *path)
{
    char upper[MODEL_PATH_MAX];
    upper_path(path, upper);
    for (size_t i = 0; i < MODEL_NODES_MAX; i++) {
        if (state->nodes[i].is_there && strcmp(state->nodes[i].upper, upper) == 0)
            return &state->nodes[i];
    }
    return NULL;
}

/* The error of a path whose directory is not there, or OK. */
static enum err model_check_parent(struct model_state *state, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return OK;
    char parent[MODEL_PATH_MAX];
    snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    const struct model_node *node = model_find(state, parent);
    return node != NULL && node->kind == NODE_DIRECTORY ? OK : ERR_PARENT_NOT_FOUND;
}

static enum err model_get(struct model_state *state, const char *path, enum node_kind kind,
                          struct model_node **node)
{
    const enum err err = model_check_parent(state, path);
    if (err != OK)
        return err;
    *node = model_find(state, path);
    if (*node == NULL)
        return ERR_RESOURCE_NOT_FOUND;
    return (*node)->kind == kind ? OK : ERR_RESOURCE_TYPE_MISMATCH;
}

static bool is_inside(const char *upper, const char *directory)
{
    const size_t len = strlen(directory);
    return strncmp(upper, directory, len) == 0 && upper[len] == '/';
}

static struct model_node *model_free_node(struct model_state *state)
{
    for (size_t i = 0; i < MODEL_NODES_MAX; i++) {
        if (!state->nodes[i].is_there)
            return &state->nodes[i];
    }
    return NULL;
}

/* --- operations --- */

static const char *const NAMES[] = {
    "a", "A", "b", "B", "dir", "DIR", "\xc3\xa4", "\xc3\x84", "x y"
};

static void random_path(struct model *model, char *path)
{
    const size_t depth = model->is_narrow ? 1 : random_below(&model->random, 3) + 1;
    const size_t name_count = model->is_narrow ? 3 : sizeof(NAMES) / sizeof(NAMES[0]);
    path[0] = '\0';
    for (size_t i = 0; i < depth; i++) {
        const char *name = NAMES[random_below(&model->random, name_count)];
        const size_t len = strlen(path);
        snprintf(path + len, MODEL_PATH_MAX - len, "%s%s", i > 0 ? "/" : "", name);
    }
}

/* A path of something there, mostly. */
static void likely_path(struct model *model, char *path)
{
    const struct model_node *node =
        &model->now.nodes[random_below(&model->random, MODEL_NODES_MAX)];
    if (node->is_there && random_below(&model->random, 8) != 0)
        snprintf(path, MODEL_PATH_MAX, "%s", node->path);
    else
        random_path(model, path);
}

static enum node_kind random_kind(struct model *model)
{
    return random_below(&model->random, 3) == 0 ? NODE_DIRECTORY : NODE_FILE;
}

static enum node_kind likely_kind(struct model *model, const char *path)
{
    const struct model_node *node = model_find(&model->now, path);
    return node != NULL && random_below(&model->random, 8) != 0 ? node->kind : random_kind(model);
}

static void do_create(struct model *model)
{
    char path[MODEL_PATH_MAX];
    random_path(model, path);
    if (model->is_narrow && random_below(&model->random, 20) != 0)
        return;
    struct node_change change = { .kind = random_kind(model) };
    if (change.kind == NODE_FILE)
        change.size_bytes = random_below(&model->random, MODEL_FILE_BYTES + 1);
    struct model_node *node = model_find(&model->now, path);
    if (node == NULL && model_free_node(&model->now) == NULL)
        return;
    enum err expected = model_check_parent(&model->now, path);
    if (expected == OK && node != NULL && node->kind != change.kind)
        expected = ERR_RESOURCE_TYPE_MISMATCH;
    else if (expected == OK && node != NULL && node->kind == NODE_DIRECTORY)
        expected = ERR_RESOURCE_EXISTS;
    assert_int_equal(node_await(model->fixture, path, node_create, &change), expected);
    if (expected != OK)
        return;
    if (node == NULL) {
        node = model_free_node(&model->now);
        *node = (struct model_node){ .is_there = true, .kind = change.kind, .id = change.node.id };
        snprintf(node->path, sizeof(node->path), "%s", path);
        upper_path(path, node->upper);
    }
    assert_true(node->id == change.node.id);
    node->mark = 0;
    node->size = (size_t)change.size_bytes;
    memset(node->bytes, 0, sizeof(node->bytes));
    memset(node->written, 0, sizeof(node->written));
}

static void do_delete(struct model *model)
{
    char path[MODEL_PATH_MAX];
    likely_path(model, path);
    if (model->is_narrow && random_below(&model->random, 20) != 0)
        return;
    struct node_change change = { .kind = likely_kind(model, path) };
    struct model_node *node = NULL;
    enum err expected = model_get(&model->now, path, change.kind, &node);
    for (size_t i = 0; expected == OK && i < MODEL_NODES_MAX; i++) {
        if (model->now.nodes[i].is_there && is_inside(model->now.nodes[i].upper, node->upper))
            expected = ERR_DIRECTORY_NOT_EMPTY;
    }
    assert_int_equal(node_await(model->fixture, path, node_delete, &change), expected);
    if (expected == OK)
        node->is_there = false;
}

/* Give what is at or in `from` the path it has at `to`. */
static void model_move(struct model_state *state, const struct model_node *node, const char *to)
{
    char from_upper[MODEL_PATH_MAX];
    snprintf(from_upper, sizeof(from_upper), "%s", node->upper);
    const size_t from_len = strlen(node->path);
    for (size_t i = 0; i < MODEL_NODES_MAX; i++) {
        struct model_node *other = &state->nodes[i];
        if (!other->is_there ||
            (strcmp(other->upper, from_upper) != 0 && !is_inside(other->upper, from_upper)))
            continue;
        char path[2 * MODEL_PATH_MAX];
        snprintf(path, sizeof(path), "%s%s", to, other->path + from_len);
        assert_true(strlen(path) < MODEL_PATH_MAX);
        snprintf(other->path, sizeof(other->path), "%.*s", MODEL_PATH_MAX - 1, path);
        upper_path(other->path, other->upper);
    }
}

static enum err model_check_move(struct model *model, struct model_node *node, const char *to,
                                 bool replaces, struct model_node **target)
{
    char upper[MODEL_PATH_MAX];
    upper_path(to, upper);
    *target = NULL;
    /* The first fault of the path counts, and the directory itself is met before what it lacks. */
    if (node->kind == NODE_DIRECTORY && is_inside(upper, node->upper))
        return ERR_RENAME_INTO_ITSELF;
    const enum err err = model_check_parent(&model->now, to);
    if (err != OK)
        return err;
    *target = model_find(&model->now, to);
    if (*target == node)
        *target = NULL;
    if (*target != NULL && (!replaces || (*target)->kind == NODE_DIRECTORY))
        return ERR_RESOURCE_EXISTS;
    return OK;
}

static void do_rename(struct model *model)
{
    char from[MODEL_PATH_MAX];
    char to[MODEL_PATH_MAX];
    likely_path(model, from);
    if (random_below(&model->random, 2) == 0)
        likely_path(model, to);
    else
        random_path(model, to);
    struct node_change change = { .kind = likely_kind(model, from),
                                  .replaces = random_below(&model->random, 2) == 0 };
    struct model_node *node = NULL;
    struct model_node *target = NULL;
    enum err expected = model_get(&model->now, from, change.kind, &node);
    if (expected == OK)
        expected = model_check_move(model, node, to, change.replaces, &target);
    /* Deep trees grow beyond what the model has room for. */
    if (expected == OK && node->kind == NODE_DIRECTORY && strchr(to, '/') != NULL)
        return;
    assert_int_equal(node_move(model->fixture, from, to, &change), expected);
    if (expected != OK)
        return;
    assert_true(change.node.id == node->id);
    if (target != NULL)
        target->is_there = false;
    model_move(&model->now, node, to);
}

/* Some fit inside the commit, some do not.  Of a few files the ranges are short, and often begin or
   end where others do. */
static void random_range(struct model *model, size_t *start, size_t *len)
{
    if (model->is_narrow && random_below(&model->random, 100) != 0) {
        *start = random_below(&model->random, MODEL_FILE_BYTES / 6) * 6;
        *len = 2 * (random_below(&model->random, 6) + 1);
        return;
    }
    static const size_t rooms[] = { 8, 90, 800, 1500 };
    *start = random_below(&model->random, MODEL_FILE_BYTES);
    *len = random_below(&model->random, rooms[random_below(&model->random, 4)]) + 1;
}

static void do_write(struct model *model)
{
    char path[MODEL_PATH_MAX];
    char bytes[MODEL_FILE_BYTES];
    likely_path(model, path);
    struct model_node *node = NULL;
    enum err expected = model_get(&model->now, path, NODE_FILE, &node);
    size_t start;
    size_t len;
    random_range(model, &start, &len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)random_next(&model->random);
    if (expected == OK && start + len > node->size)
        expected = ERR_INVALID_RANGE;
    assert_int_equal(file_write(model->fixture, path, start, slice_make(bytes, len)), expected);
    if (expected != OK)
        return;
    memcpy(node->bytes + start, bytes, len);
    memset(node->written + start, true, len);
}

static void model_erase(struct model_node *node, size_t start, size_t end)
{
    memset(node->bytes + start, 0, end - start);
    memset(node->written + start, false, end - start);
}

static void do_clear(struct model *model)
{
    char path[MODEL_PATH_MAX];
    likely_path(model, path);
    struct model_node *node = NULL;
    enum err expected = model_get(&model->now, path, NODE_FILE, &node);
    size_t start;
    size_t len;
    random_range(model, &start, &len);
    const size_t end = start + len;
    if (expected == OK && end > node->size)
        expected = ERR_INVALID_RANGE;
    assert_int_equal(file_clear(model->fixture, path, start, end), expected);
    if (expected == OK)
        model_erase(node, start, end);
}

static void do_resize(struct model *model)
{
    char path[MODEL_PATH_MAX];
    likely_path(model, path);
    if (model->is_narrow && random_below(&model->random, 20) != 0)
        return;
    struct model_node *node = NULL;
    const enum err expected = model_get(&model->now, path, NODE_FILE, &node);
    const size_t size = random_below(&model->random, MODEL_FILE_BYTES + 1);
    assert_int_equal(file_resize(model->fixture, path, size), expected);
    if (expected != OK)
        return;
    model_erase(node, size, MODEL_FILE_BYTES);
    node->size = size;
}

static void do_mark(struct model *model)
{
    char path[MODEL_PATH_MAX];
    char text[16];
    likely_path(model, path);
    const unsigned mark = (unsigned)random_below(&model->random, 1000) + 1;
    snprintf(text, sizeof(text), "%u", mark);
    struct metadata_pair pair = { slice_of("mark"), slice_of(text) };
    struct node_change change = { .kind = likely_kind(model, path),
                                  .metadata = { .pairs = &pair, .count = 1 } };
    struct model_node *node = NULL;
    const enum err expected = model_get(&model->now, path, change.kind, &node);
    assert_int_equal(node_await(model->fixture, path, node_set_metadata, &change), expected);
    if (expected == OK)
        node->mark = mark;
}

static void do_lease(struct model *model)
{
    char path[MODEL_PATH_MAX];
    likely_path(model, path);
    const struct uuid id = { .bytes = { 1 } };
    struct model_node *node = NULL;
    const enum err expected = model_get(&model->now, path, NODE_FILE, &node);
    /* Acquired and released: the record was written in its place, twice. */
    for (int action = 0; action < 2; action++) {
        struct arena arena = { 0 };
        struct waiter waiter;
        struct node_lease lease = {
            .lease = { .action = action == 0 ? LEASE_ACTION_ACQUIRE : LEASE_ACTION_RELEASE,
                       .id = id,
                       .proposed_id = id,
                       .duration_sec = LEASE_DURATION_SEC_INFINITE },
        };
        waiter_bind(&waiter, &lease.base, &arena);
        lease.name = node_named(&arena, path, 0);
        node_lease(&model->fixture->service, &lease);
        assert_int_equal(waiter_wait(&waiter), expected);
        arena_release(&arena);
    }
}

static void do_snapshot(struct model *model)
{
    if (model->snapshot_count == MODEL_SNAPSHOTS_MAX || random_below(&model->random, 4) != 0)
        return;
    model->snapshots[model->snapshot_count] = model->now;
    model->instants[model->snapshot_count++] = share_take(model->fixture);
}

static void do_forget_snapshot(struct model *model)
{
    if (model->snapshot_count == 0 || random_below(&model->random, 8) != 0)
        return;
    const size_t which = random_below(&model->random, model->snapshot_count);
    struct share_change change = { .name = { .snapshot = model->instants[which] } };
    assert_int_equal(share_await(model->fixture, share_delete, &change), OK);
    model->snapshot_count--;
    model->snapshots[which] = model->snapshots[model->snapshot_count];
    model->instants[which] = model->instants[model->snapshot_count];
}

static void do_sweep(struct model *model)
{
    if (random_below(&model->random, 4) != 0)
        return;
    const struct slice account = slice_of(FIXTURE_ACCOUNT_NAME);
    assert_int_equal(sweeper_pass(&model->fixture->service, account), OK);
    assert_int_equal(sweeper_pass_marked(&model->fixture->service), OK);
}

/* --- comparing --- */

struct comparison {
    struct model *model;
    struct model_state *state;
    int64_t instant;
    const char *directory; /* the path that is listed */
    char last[MODEL_PATH_MAX];
    char subdirectories[MODEL_NODES_MAX][MODEL_PATH_MAX];
    size_t subdirectory_count;
    size_t seen;
};

static void compare_ranges(struct comparison *comparison, const struct model_node *node)
{
    struct strbuf expected;
    strbuf_init(&expected, &comparison->model->fixture->arena);
    for (size_t start = 0; start < node->size;) {
        size_t end = start;
        bool is_written = true;
        while (is_written && end < node->size) {
            is_written = false;
            const size_t block_end = end + 512 < node->size ? end + 512 : node->size;
            for (size_t i = end; i < block_end; i++)
                is_written = is_written || node->written[i];
            if (is_written)
                end = block_end;
        }
        if (end > start)
            ranges_add(&expected, false, start, end);
        start = (end > start ? end : start) + 512;
        start = start / 512 * 512;
    }
    struct slice text;
    assert_int_equal(
        file_ranges(comparison->model->fixture, node->path, comparison->instant, 0, &text), OK);
    if (!slice_equal(text, strbuf_slice(&expected)))
        fail_msg("%s: %.*s instead of %.*s", node->path, (int)text.len, text.data,
                 (int)expected.len, expected.data);
}

static void compare_file(struct comparison *comparison, const struct model_node *node)
{
    struct arena arena = { 0 };
    struct slice bytes;
    assert_int_equal(
        file_bytes(comparison->model->fixture, &arena, node->path, comparison->instant, &bytes),
        OK);
    assert_int_equal(bytes.len, node->size);
    assert_memory_equal(bytes.data, node->bytes, node->size);
    arena_release(&arena);
    compare_ranges(comparison, node);
}

static bool compare_entry(void *arg, const struct node *node)
{
    struct comparison *comparison = arg;
    char path[MODEL_PATH_MAX];
    snprintf(path, sizeof(path), "%s%s%.*s", comparison->directory,
             comparison->directory[0] != '\0' ? "/" : "", (int)node->name.len, node->name.data);
    const struct model_node *expected = model_find(comparison->state, path);
    if (expected == NULL)
        fail_msg("%s should not be there", path);
    assert_string_equal(strrchr(expected->path, '/') != NULL ? strrchr(expected->path, '/') + 1
                                                             : expected->path,
                        strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path);
    assert_int_equal(node->kind, expected->kind);
    assert_true(node->id == expected->id);
    assert_int_equal(node->content.length_bytes, expected->size);
    assert_int_equal(node->metadata.count, expected->mark != 0);
    if (expected->mark != 0) {
        uint64_t mark;
        assert_int_equal(decimal_parse_u64(node->metadata.pairs[0].value, &mark), OK);
        assert_int_equal(mark, expected->mark);
    }
    size_t written = 0;
    for (size_t i = 0; i < expected->size; i++)
        written += expected->written[i];
    assert_int_equal(node->used_bytes, written);
    assert_true(strcmp(expected->upper, comparison->last) > 0);
    snprintf(comparison->last, sizeof(comparison->last), "%s", expected->upper);
    if (node->kind == NODE_DIRECTORY)
        snprintf(comparison->subdirectories[comparison->subdirectory_count++], MODEL_PATH_MAX, "%s",
                 path);
    comparison->seen++;
    return true;
}

/* List a directory in pages, and then what is in it. */
static void compare_directory(struct comparison *comparison, const char *directory)
{
    struct arena arena = { 0 };
    struct slice from = { 0 };
    struct node listed;
    const size_t first = comparison->subdirectory_count;
    comparison->directory = directory;
    comparison->last[0] = '\0';
    do {
        const struct node_list_request request = {
            .directory = node_named(&arena, directory, comparison->instant),
            .from = from,
            .results_max = 1 + random_below(&comparison->model->random, 3),
            .emit = compare_entry,
            .arg = comparison,
        };
        assert_int_equal(
            node_list(&comparison->model->fixture->service, &arena, &request, &listed, &from), OK);
    } while (from.len > 0);
    arena_release(&arena);
    const size_t end = comparison->subdirectory_count;
    for (size_t i = first; i < end; i++)
        compare_directory(comparison, comparison->subdirectories[i]);
}

static void compare(struct model *model, struct model_state *state, int64_t instant)
{
    struct comparison comparison = { .model = model, .state = state, .instant = instant };
    compare_directory(&comparison, "");
    size_t expected = 0;
    for (size_t i = 0; i < MODEL_NODES_MAX; i++) {
        const struct model_node *node = &state->nodes[i];
        expected += node->is_there;
        if (node->is_there && node->kind == NODE_FILE)
            compare_file(&comparison, node);
    }
    assert_int_equal(comparison.seen, expected);
    arena_clear(&model->fixture->arena);
}

static void compare_usage(struct model *model)
{
    uint64_t used = 0;
    for (size_t i = 0; i < MODEL_NODES_MAX; i++) {
        const struct model_node *node = &model->now.nodes[i];
        for (size_t j = 0; node->is_there && j < node->size; j++)
            used += node->written[j];
    }
    assert_int_equal(share_used_bytes(model->fixture), used);
}

/* --- the difference from a snapshot --- */

static void compare_difference(struct model *model)
{
    if (model->snapshot_count == 0)
        return;
    const size_t which = random_below(&model->random, model->snapshot_count);
    for (size_t n = 0; n < MODEL_NODES_MAX; n++) {
        const struct model_node *node = &model->now.nodes[n];
        struct slice text;
        if (!node->is_there || node->kind != NODE_FILE)
            continue;
        const struct model_node *before = model_find(&model->snapshots[which], node->path);
        const enum err err =
            file_ranges(model->fixture, node->path, 0, model->instants[which], &text);
        if (before == NULL || before->kind != NODE_FILE || before->id != node->id) {
            assert_true(err == ERR_PREVIOUS_SNAPSHOT_NOT_FOUND ||
                        err == ERR_RESOURCE_TYPE_MISMATCH);
            continue;
        }
        assert_int_equal(err, OK);
        /* Every byte that differs is in a range, and what is cleared reads as zeroes. */
        bool told[MODEL_FILE_BYTES] = { 0 };
        char *at = strndup(text.data != NULL ? text.data : "", text.len);
        for (char *word = at; *word != '\0';) {
            const bool cleared = *word == 'c';
            char *end;
            const unsigned long from = strtoul(word + cleared, &end, 10);
            const unsigned long to = strtoul(end + 1, &end, 10);
            for (unsigned long i = from; i < to; i++) {
                assert_false(told[i]);
                told[i] = true;
                assert_true(!cleared || !node->written[i]);
            }
            word = end + 1;
        }
        free(at);
        for (size_t i = 0; i < node->size; i++) {
            const char was = i < before->size ? before->bytes[i] : 0;
            assert_true(told[i] || was == node->bytes[i]);
        }
    }
    arena_clear(&model->fixture->arena);
}

/* --- leaving nothing behind --- */

static void count_owner(void *arg, const struct stream_range *range, uint64_t owner)
{
    (void)range;
    (void)owner;
    ++*(size_t *)arg;
}

/* Delete all there is, the deepest first, and all snapshots; what is left is the share's state. */
static void remove_everything(struct model *model)
{
    struct service_fixture *fixture = model->fixture;
    for (size_t slashes = 3; slashes-- > 0;) {
        for (size_t i = 0; i < MODEL_NODES_MAX; i++) {
            const struct model_node *node = &model->now.nodes[i];
            size_t depth = 0;
            for (const char *at = node->path; *at != '\0'; at++)
                depth += *at == '/';
            if (node->is_there && depth == slashes)
                assert_int_equal(node_remove(fixture, node->path, node->kind), OK);
        }
    }
    for (size_t i = 0; i < model->snapshot_count; i++) {
        struct share_change change = { .name = { .snapshot = model->instants[i] } };
        assert_int_equal(share_await(fixture, share_delete, &change), OK);
    }
    for (int pass = 0; pass < 8; pass++) {
        assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
        assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    }
    struct strbuf rows;
    strbuf_init(&rows, &fixture->arena);
    if (fixture_dump_partition(fixture, share_partition(fixture), &rows) != 1)
        fail_msg("left behind: %.*s", (int)rows.len, rows.data);
    size_t owner_count = 0;
    assert_int_equal(partition_each_owner(fixture->service.store, count_owner, &owner_count), OK);
    assert_int_equal(owner_count, 0);
}

/* --- the test --- */

static void run_model(struct service_fixture *fixture, uint64_t seed, size_t steps, bool is_narrow)
{
    static void (*const operations[])(struct model *) = {
        do_create, do_create,   do_delete,          do_rename, do_write,  do_write,
        do_write,  do_write,    do_clear,           do_clear,  do_resize, do_mark,
        do_lease,  do_snapshot, do_forget_snapshot, do_sweep
    };
    struct model *model = calloc(1, sizeof(*model));
    assert_non_null(model);
    model->random.state = seed;
    model->fixture = fixture;
    model->is_narrow = is_narrow;
    share_make(fixture, 1);
    for (size_t step = 0; step < steps; step++) {
        operations[random_below(&model->random, sizeof(operations) / sizeof(operations[0]))](model);
        arena_clear(&fixture->arena);
        if (random_below(&model->random, 40) == 0) {
            compare(model, &model->now, 0);
            compare_usage(model);
            compare_difference(model);
        }
        if (model->snapshot_count > 0 && random_below(&model->random, 60) == 0) {
            const size_t which = random_below(&model->random, model->snapshot_count);
            compare(model, &model->snapshots[which], model->instants[which]);
        }
    }
    compare(model, &model->now, 0);
    for (size_t i = 0; i < model->snapshot_count; i++)
        compare(model, &model->snapshots[i], model->instants[i]);
    remove_everything(model);
    free(model);
}

static void the_tree_is_what_the_model_says_now_and_at_every_snapshot(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    for (int i = 0; i < 4; i++)
        run_model(fixture, random_next(&random), fixture->kind == SERVICE_ON_MEMORY ? 1500 : 400,
                  i % 2 == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(the_tree_is_what_the_model_says_now_and_at_every_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
