/*
 * test_history_play.c - soft delete and versions in a random play against a model of both.
 */
#include "history_fixture.h"
#include "test_random.h"

enum {
    PLAY_NAMES = 3,
    PLAY_ITEMS_MAX = 300,
    PLAY_STEPS = 500,
};

static const char *const play_names[PLAY_NAMES] = { "a", "ab", "b" };

enum item_kind {
    ITEM_SNAPSHOT,
    ITEM_VERSION,
    ITEM_DELETED_BASE,
    ITEM_BASE,
};

/* What there is of a name; kept in the order in which listings show it. */
struct item {
    size_t name;
    enum item_kind kind;
    int64_t tick; /* of a snapshot or previous version; a base blob's is INT64_MAX */
    int64_t version_id;
    int64_t etag;
    int64_t deleted_at;
    int64_t expires_at;
    uint64_t content;
};

struct play {
    struct service_fixture *fixture;
    struct test_random random;
    uint64_t days;
    bool versions;
    uint64_t next_content;
    size_t count;
    struct item items[PLAY_ITEMS_MAX];
};

static int compare_items(const void *a, const void *b)
{
    const struct item *left = a;
    const struct item *right = b;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    if (left->tick != right->tick)
        return left->tick < right->tick ? -1 : 1;
    return (left->kind > right->kind) - (left->kind < right->kind);
}

static void play_add(struct play *play, struct item item)
{
    assert_true(play->count < PLAY_ITEMS_MAX);
    play->items[play->count++] = item;
    qsort(play->items, play->count, sizeof(item), compare_items);
}

static void play_remove(struct play *play, struct item *item)
{
    *item = play->items[--play->count];
    qsort(play->items, play->count, sizeof(*item), compare_items);
}

static struct item *play_find(struct play *play, size_t name, enum item_kind kind)
{
    for (size_t i = 0; i < play->count; i++)
        if (play->items[i].name == name && play->items[i].kind == kind)
            return &play->items[i];
    return NULL;
}

/* What has expired is not there. */
static void play_expire(struct play *play)
{
    const int64_t now = clock_now(&play->fixture->clock);
    for (size_t i = play->count; i-- > 0;)
        if (play->items[i].deleted_at != 0 && play->items[i].expires_at <= now)
            play_remove(play, &play->items[i]);
}

static void play_mark_deleted(struct play *play, struct item *item, int64_t now)
{
    item->deleted_at = now;
    item->expires_at = now + (int64_t)play->days * DAY_MS * CLOCK_TICKS_PER_MS;
}

/* The deleted base blob of the name is one of its snapshots from now on. */
static void play_move_deleted_base(struct play *play, size_t name)
{
    struct item *deleted = play_find(play, name, ITEM_DELETED_BASE);
    if (deleted == NULL)
        return;
    struct item moved = *deleted;
    moved.kind = ITEM_SNAPSHOT;
    moved.tick = moved.deleted_at;
    play_remove(play, deleted);
    play_add(play, moved);
}

/* The base blob goes its way; `now` is the tick of the change. */
static void play_retire(struct play *play, struct item *base, int64_t now, bool replaced)
{
    struct item kept = *base;
    play_remove(play, base);
    if (play->versions || kept.version_id != 0) {
        kept.kind = ITEM_VERSION;
        kept.version_id = kept.version_id != 0 ? kept.version_id : kept.etag;
        kept.tick = kept.version_id;
        play_add(play, kept);
    } else if (play->days > 0) {
        play_mark_deleted(play, &kept, now);
        kept.kind = replaced ? ITEM_SNAPSHOT : ITEM_DELETED_BASE;
        if (replaced)
            kept.tick = now;
        else
            play_move_deleted_base(play, kept.name);
        play_add(play, kept);
    }
}

/* There is a new base blob with this content. */
static void play_put(struct play *play, size_t name, uint64_t content, int64_t now)
{
    struct item *base = play_find(play, name, ITEM_BASE);
    if (base != NULL)
        play_retire(play, base, now, true);
    else if (play->versions || play->days > 0)
        play_move_deleted_base(play, name);
    play_add(play, (struct item){ .name = name,
                                  .kind = ITEM_BASE,
                                  .tick = INT64_MAX,
                                  .version_id = play->versions ? now : 0,
                                  .etag = now,
                                  .content = content });
}

/* Contents are told apart by their text, which is inline or not. */
static const char *play_text(struct play *play, uint64_t content)
{
    return arena_printf(&play->fixture->arena, "%s %llu", content % 2 == 0 ? LONG_TEXT : "",
                        (unsigned long long)content)
        .data;
}

static struct blob_name play_name(const struct item *item)
{
    struct blob_name name = blob_named("box", play_names[item->name]);
    if (item->kind == ITEM_SNAPSHOT)
        name.snapshot = item->tick;
    else if (item->kind == ITEM_VERSION)
        name.version = item->tick;
    return name;
}

static struct item *play_any(struct play *play)
{
    return play->count > 0 ? &play->items[random_below(&play->random, play->count)] : NULL;
}

static void step_put(struct play *play, size_t name)
{
    const uint64_t content = play->next_content++;
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(play->fixture, "box", play_names[name],
                                   slice_of(play_text(play, content)), &change),
                     OK);
    assert_int_equal(change.version_id, play->versions ? change.etag : 0);
    play_put(play, name, content, change.etag);
}

static void step_copy(struct play *play, size_t name)
{
    const struct item *item = play_any(play);
    if (item == NULL || item->kind == ITEM_DELETED_BASE)
        return;
    const uint64_t content = item->content;
    const enum err expected = item->deleted_at != 0 ? ERR_COPY_SOURCE_NOT_FOUND : OK;
    struct copy_change change = { 0 };
    assert_int_equal(copy_over(play->fixture, play_name(item), play_names[name], &change),
                     expected);
    if (expected == OK)
        play_put(play, name, content, change.blob.etag);
}

static void step_snapshot(struct play *play, size_t name)
{
    struct item *base = play_find(play, name, ITEM_BASE);
    if (base == NULL)
        return;
    const struct blob_snapshot taken = snapshot_of(play->fixture, play_names[name]);
    struct item snapshot = *base;
    snapshot.kind = ITEM_SNAPSHOT;
    snapshot.tick = taken.snapshot;
    if (play->versions) {
        struct item now = *base;
        now.version_id = taken.version_id;
        assert_int_equal(taken.version_id, taken.snapshot);
        play_retire(play, base, taken.snapshot, true);
        play_add(play, now);
    }
    play_add(play, snapshot);
}

static void step_metadata(struct play *play, size_t name)
{
    struct item *base = play_find(play, name, ITEM_BASE);
    struct blob_change change = { 0 };
    assert_int_equal(blob_await(play->fixture, play_names[name], blob_set_metadata, &change),
                     base != NULL ? OK : ERR_BLOB_NOT_FOUND);
    if (base == NULL)
        return;
    if (play->versions || base->version_id != 0) {
        const uint64_t content = base->content;
        play_retire(play, base, change.etag, true);
        play_add(play, (struct item){ .name = name,
                                      .kind = ITEM_BASE,
                                      .tick = INT64_MAX,
                                      .version_id = change.version_id,
                                      .etag = change.etag,
                                      .content = content });
    } else {
        base->etag = change.etag;
    }
}

static void play_delete_snapshots(struct play *play, size_t name, int64_t now)
{
    for (size_t i = play->count; i-- > 0;) {
        struct item *item = &play->items[i];
        if (item->name != name || item->kind != ITEM_SNAPSHOT || item->deleted_at != 0)
            continue;
        if (play->days > 0)
            play_mark_deleted(play, item, now);
        else
            play_remove(play, item);
    }
}

/* The tick of a deletion just made, which listings show if it was a soft one. */
static int64_t last_tick(struct play *play)
{
    const struct shown *shown = list_history(play->fixture, SHOWN_ALL, 100);
    int64_t last = 0;
    for (size_t i = 0; i < shown->count; i++)
        if (shown->entries[i].blob.deleted_at > last)
            last = shown->entries[i].blob.deleted_at;
    return last;
}

static void step_delete(struct play *play, size_t name)
{
    struct item *base = play_find(play, name, ITEM_BASE);
    assert_int_equal(delete_blob(play->fixture, play_names[name]),
                     base != NULL ? OK : ERR_BLOB_NOT_FOUND);
    if (base == NULL)
        return;
    const int64_t now = last_tick(play);
    play_delete_snapshots(play, name, now);
    play_retire(play, play_find(play, name, ITEM_BASE), now, false);
}

static void step_delete_one(struct play *play)
{
    struct item *item = play_any(play);
    if (item == NULL || (item->kind != ITEM_SNAPSHOT && item->kind != ITEM_VERSION))
        return;
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(play->fixture, play_name(item), &change),
                     item->deleted_at != 0 ? ERR_BLOB_NOT_FOUND : OK);
    if (item->deleted_at != 0)
        return;
    const int64_t now = last_tick(play);
    if (play->days > 0)
        play_mark_deleted(play, item, now);
    else
        play_remove(play, item);
}

static void step_permanent(struct play *play)
{
    struct item *item = play_any(play);
    if (item == NULL || (item->kind != ITEM_SNAPSHOT && item->kind != ITEM_VERSION))
        return;
    const bool allowed = play->days > 0; /* the play allows it with the policy */
    assert_int_equal(delete_for_good(play->fixture, play_name(item)),
                     !allowed                ? ERR_PERMANENT_DELETE_REFUSED
                     : item->deleted_at == 0 ? ERR_NOT_SOFT_DELETED
                                             : OK);
    if (allowed && item->deleted_at != 0)
        play_remove(play, item);
}

static void step_undelete(struct play *play, size_t name)
{
    const bool has_base = play_find(play, name, ITEM_BASE) != NULL;
    struct item *deleted = play_find(play, name, ITEM_DELETED_BASE);
    const bool exists = has_base || deleted != NULL || play_find(play, name, ITEM_VERSION) != NULL;
    assert_int_equal(undelete(play->fixture, play_names[name]), exists ? OK : ERR_BLOB_NOT_FOUND);
    if (!exists)
        return;
    if (has_base)
        play_move_deleted_base(play, name);
    else if (deleted != NULL)
        deleted->kind = ITEM_BASE;
    for (size_t i = 0; i < play->count; i++)
        if (play->items[i].name == name)
            play->items[i].deleted_at = play->items[i].expires_at = 0;
}

static void play_step(struct play *play)
{
    const size_t name = random_below(&play->random, PLAY_NAMES);
    switch (random_below(&play->random, 14)) {
    case 0:
    case 1:
    case 2:
        step_put(play, name);
        break;
    case 3:
    case 4:
        step_copy(play, name);
        break;
    case 5:
        step_snapshot(play, name);
        break;
    case 6:
        step_metadata(play, name);
        break;
    case 7:
    case 8:
        step_delete(play, name);
        break;
    case 9:
        step_delete_one(play);
        break;
    case 10:
        step_permanent(play);
        break;
    case 11:
        step_undelete(play, name);
        break;
    case 12:
        /* Never to the very tick at which something expires. */
        fixture_advance_ms(play->fixture, (int64_t)random_below(&play->random, 3) * DAY_MS + 1000);
        play_expire(play);
        break;
    default:
        if (random_below(&play->random, 3) > 0)
            break;
        play->versions = random_below(&play->random, 2) == 0;
        play->fixture->service.blob_versioning = play->versions;
        play->days = random_below(&play->random, 4);
        set_policy(play->fixture, play->days, play->days > 0);
        break;
    }
}

static void check_item(struct play *play, const struct item *item, const struct shown_entry *entry)
{
    assert_string_equal(entry->name, play_names[item->name]);
    assert_int_equal(entry->blob.deleted_at, item->deleted_at);
    assert_int_equal(entry->blob.expires_at, item->expires_at);
    assert_int_equal(entry->is_previous, item->kind == ITEM_VERSION);
    if (item->kind == ITEM_BASE || item->kind == ITEM_VERSION)
        assert_int_equal(entry->blob.version_id, item->version_id);
    if (item->kind == ITEM_SNAPSHOT)
        assert_int_equal(entry->snapshot, item->tick);
    if (item->kind == ITEM_DELETED_BASE)
        assert_int_equal(entry->snapshot,
                         play_find(play, item->name, ITEM_BASE) != NULL ? item->deleted_at : 0);
    struct blob blob;
    struct slice bytes;
    if (item->kind != ITEM_DELETED_BASE && item->deleted_at != 0)
        assert_int_equal(read_named(play->fixture, play_name(item), &blob, &bytes),
                         ERR_BLOB_NOT_FOUND);
    if (item->deleted_at == 0)
        assert_bytes(play->fixture, play_name(item), play_text(play, item->content));
}

static void play_check(struct play *play)
{
    const struct shown *shown =
        list_history(play->fixture, SHOWN_ALL, 1 + random_below(&play->random, 7));
    assert_int_equal(shown->count, play->count);
    for (size_t i = 0; i < play->count; i++)
        check_item(play, &play->items[i], &shown->entries[i]);
}

static void histories_are_as_the_model_says(void **state)
{
    struct play *play = calloc(1, sizeof(*play));
    assert_non_null(play);
    play->fixture = *state;
    play->random = test_seed();
    container_make(play->fixture, "box");
    for (int i = 0; i < PLAY_STEPS && play->count < PLAY_ITEMS_MAX - 10; i++) {
        play_step(play);
        if (i % 5 == 0)
            play_check(play);
        if (i % 50 == 0) {
            assert_store_is_sound(play->fixture);
            assert_int_equal(sweeper_pass_marked(&play->fixture->service), OK);
            play_check(play);
        }
        arena_clear(&play->fixture->arena);
    }
    play_check(play);
    assert_store_is_sound(play->fixture);
    free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(histories_are_as_the_model_says),
    };
    return cmocka_run_group_tests(tests, fixture_quiet, NULL);
}
