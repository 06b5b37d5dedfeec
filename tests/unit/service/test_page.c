/*
 * test_page.c - page blobs: writing, clearing and resizing against a simple model, snapshots that
 * keep what they saw, and comparisons ("Put Page", "Get Page Ranges").
 *
 * The model is an array: for each page, the number of the write it comes from.
 */
#include "service/blob/page.h"

#include "base/log.h"
#include "service/blob/segments.h"
#include "service_fixture.h"
#include "test_random.h"

static const struct uuid A = { .bytes = { 0xA } };

enum {
    KIB = 1024,
    MODEL_PAGES_MAX = 96,
    SNAPSHOTS_MAX = 5,
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- operations --- */

static enum err create(struct service_fixture *fixture, const char *name, uint64_t size_bytes)
{
    struct page_change change = { .size_bytes = size_bytes };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named("box", name);
    page_create(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* The bytes of page `number` by that write; 0 is none. */
static void fill_page(char *page, uint32_t stamp, uint64_t number)
{
    for (size_t i = 0; i < PAGE_BYTES; i++)
        page[i] = stamp == 0 ? 0 : (char)(stamp * 31 + number * 7 + i * (stamp | 1));
}

/* What else `change` says holds too. */
static enum err write_with(struct service_fixture *fixture, const char *name, uint64_t first,
                           size_t count, uint32_t stamp, struct page_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->blob.base, &arena);
    change->blob.name = blob_named("box", name);
    change->start = first * PAGE_BYTES;
    change->end = change->start + count * PAGE_BYTES;
    assert_int_equal(
        payload_writer_new(&fixture->service, &arena, count * PAGE_BYTES, &change->blob.payload),
        OK);
    for (size_t i = 0; i < count; i++) {
        char page[PAGE_BYTES];
        fill_page(page, stamp, first + i);
        assert_int_equal(
            payload_writer_append(change->blob.payload, slice_make(page, sizeof(page))), OK);
    }
    assert_int_equal(payload_writer_finish(change->blob.payload), OK);
    page_write(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err write_pages(struct service_fixture *fixture, const char *name, uint64_t first,
                            size_t count, uint32_t stamp)
{
    struct page_change change = { 0 };
    return write_with(fixture, name, first, count, stamp, &change);
}

static enum err clear_pages(struct service_fixture *fixture, const char *name, uint64_t first,
                            uint64_t count)
{
    struct page_change change = { .start = first * PAGE_BYTES,
                                  .end = (first + count) * PAGE_BYTES };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named("box", name);
    page_clear(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err set_properties(struct service_fixture *fixture, const char *name,
                               const struct page_properties *page, uint64_t *sequence_number)
{
    struct blob_change change = { .page = page, .keep_properties = true };
    const enum err err = blob_await(fixture, name, blob_set_properties, &change);
    if (sequence_number != NULL)
        *sequence_number = change.sequence_number;
    return err;
}

static enum err resize(struct service_fixture *fixture, const char *name, uint64_t size_bytes)
{
    const struct page_properties page = { .has_size = true, .size_bytes = size_bytes };
    return set_properties(fixture, name, &page, NULL);
}

/* --- decisions of the test's own --- */

struct own_update {
    struct partition_update update;
    struct waiter waiter;
    struct slice name;
    int64_t snapshot; /* to drop, or result */
    bool more;        /* result: there was something to sweep */
};

static void own_done(void *arg, enum err err)
{
    struct own_update *own = arg;
    waiter_done(&own->waiter, err);
}

static struct slice box_partition(struct service_fixture *fixture, struct arena *arena)
{
    struct slice partition;
    const struct container_name name = container_named("box");
    assert_int_equal(container_find_blobs(&fixture->service, arena, &name, &partition), OK);
    return partition;
}

static void own_await(struct service_fixture *fixture, struct own_update *own, change_fn *decide)
{
    struct arena arena = { 0 };
    waiter_init(&own->waiter);
    own->update = (struct partition_update){
        .partition = box_partition(fixture, &arena),
        .decide = decide,
        .arg = own,
        .done = own_done,
    };
    partition_update(fixture->service.store, &own->update);
    assert_int_equal(waiter_wait(&own->waiter), OK);
    arena_release(&arena);
}

static enum err snapshot_decide(struct change *change, void *arg)
{
    struct own_update *own = arg;
    struct arena *arena = change_arena(change);
    struct slice row;
    struct blob blob;
    enum err err = change_get(change, blob_key(arena, own->name), &row);
    if (err == OK)
        err = blob_decode(arena, row, &blob);
    if (err == OK)
        err = content_share(change, &blob.content);
    if (err != OK)
        return err;
    own->snapshot = change_now(change);
    change_put(change, blob_key(arena, own->name), blob_encode(arena, &blob));
    change_put(change, snapshot_key(arena, own->name, own->snapshot), blob_encode(arena, &blob));
    return OK;
}

static int64_t take_snapshot(struct service_fixture *fixture, const char *name)
{
    struct own_update own = { .name = slice_of(name) };
    own_await(fixture, &own, snapshot_decide);
    return own.snapshot;
}

/* Remove the snapshot, or the blob if there is none. */
static enum err drop_decide(struct change *change, void *arg)
{
    const struct own_update *own = arg;
    struct arena *arena = change_arena(change);
    const struct slice key = own->snapshot != 0 ? snapshot_key(arena, own->name, own->snapshot)
                                                : blob_key(arena, own->name);
    struct slice row;
    struct blob blob;
    enum err err = change_get(change, key, &row);
    if (err == OK)
        err = blob_decode(arena, row, &blob);
    if (err == OK)
        err = content_drop(change, &blob.content);
    change_delete(change, key);
    return err;
}

static void drop_record(struct service_fixture *fixture, const char *name, int64_t snapshot)
{
    struct own_update own = { .name = slice_of(name), .snapshot = snapshot };
    own_await(fixture, &own, drop_decide);
}

/* One step of what the sweeper does with dropped lists. */
static enum err sweep_decide(struct change *change, void *arg)
{
    struct own_update *own = arg;
    struct arena *arena = change_arena(change);
    own->more = false;
    struct cursor *cursor = change_scan(change, slice_of("z"), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    enum err err = cursor_next(cursor, &key, &row);
    const struct slice found = err == OK ? arena_copy(arena, key) : (struct slice){ 0 };
    cursor_free(cursor);
    if (err == ERR_NOT_FOUND)
        return OK;
    uint64_t content_id = 0;
    for (size_t i = 1; i < found.len; i++)
        content_id = content_id << 8 | (unsigned char)found.data[i];
    bool done;
    own->more = true;
    return content_sweep(change, content_id, &done);
}

static void sweep(struct service_fixture *fixture)
{
    struct own_update own = { .more = true };
    while (own.more)
        own_await(fixture, &own, sweep_decide);
}

static size_t row_count(struct service_fixture *fixture)
{
    struct strbuf out;
    struct arena arena = { 0 };
    strbuf_init(&out, &arena);
    const size_t count = fixture_dump_partition(fixture, box_partition(fixture, &arena), &out);
    arena_release(&arena);
    return count;
}

/* --- ranges as text: "w0-3 c4-8" in pages, ends exclusive --- */

static void emit_text(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end)
{
    assert_int_equal(start % PAGE_BYTES, 0);
    assert_int_equal(end % PAGE_BYTES, 0);
    strbuf_printf(arg, "%s%c%llu-%llu", ((struct strbuf *)arg)->len > 0 ? " " : "",
                  kind == PAGE_RANGE_WRITTEN ? 'w' : 'c', (unsigned long long)start / PAGE_BYTES,
                  (unsigned long long)end / PAGE_BYTES);
}

static enum err get_ranges(struct service_fixture *fixture, const char *name,
                           struct page_ranges_request *request, struct strbuf *text)
{
    struct blob blob;
    uint64_t next;
    request->get.name.container = container_named("box");
    request->get.name.blob = slice_of(name);
    request->emit = emit_text;
    request->arg = text;
    if (request->end == 0)
        request->end = UINT64_MAX;
    if (request->results_max == 0)
        request->results_max = SIZE_MAX;
    enum err err = OK;
    do {
        struct arena arena = { 0 };
        err = page_ranges(&fixture->service, &arena, request, &blob, &next);
        arena_release(&arena);
        request->start = next;
    } while (err == OK && next != 0);
    return err;
}

static const char *ranges_text(struct service_fixture *fixture, const char *name, int64_t previous)
{
    struct strbuf text;
    strbuf_init(&text, &fixture->arena);
    struct page_ranges_request request = { .has_previous = previous != 0, .previous = previous };
    assert_int_equal(get_ranges(fixture, name, &request, &text), OK);
    return arena_printf(&fixture->arena, "%.*s", (int)text.len, text.data).data;
}

/* --- the model --- */

struct model {
    size_t pages;
    uint32_t stamps[MODEL_PAGES_MAX];
};

struct model_snapshot {
    int64_t tick;
    struct model model;
};

struct play {
    struct service_fixture *fixture;
    struct test_random random;
    struct model now;
    uint32_t stamp; /* of the last write */
    struct model_snapshot snapshots[SNAPSHOTS_MAX];
    size_t snapshot_count;
};

/* Does the page differ, and how? */
static char model_differs(const struct model *now, const struct model *previous, size_t page)
{
    const uint32_t before = previous != NULL && page < previous->pages ? previous->stamps[page] : 0;
    if (now->stamps[page] == before)
        return 0;
    return now->stamps[page] == 0 ? 'c' : 'w';
}

static struct slice model_ranges(struct arena *arena, const struct model *now,
                                 const struct model *previous, size_t from, size_t to)
{
    struct strbuf text;
    strbuf_init(&text, arena);
    for (size_t page = from; page < to;) {
        const char kind = model_differs(now, previous, page);
        size_t end = page + 1;
        while (end < to && model_differs(now, previous, end) == kind)
            end++;
        if (kind != 0)
            strbuf_printf(&text, "%s%c%zu-%zu", text.len > 0 ? " " : "", kind, page, end);
        page = end;
    }
    return strbuf_slice(&text);
}

static void assert_bytes(struct play *play, const struct model *model,
                         struct payload_reader *reader)
{
    assert_int_equal(reader->length_bytes, model->pages * PAGE_BYTES);
    char expected[PAGE_BYTES];
    char found[PAGE_BYTES];
    for (size_t page = 0; page < model->pages; page++) {
        fill_page(expected, model->stamps[page], page);
        assert_int_equal(payload_read(reader, page * PAGE_BYTES, found, PAGE_BYTES), OK);
        assert_memory_equal(found, expected, PAGE_BYTES);
    }
    /* Out of order, and across pages. */
    if (model->pages > 1) {
        const size_t at = random_below(&play->random, (model->pages - 1) * PAGE_BYTES);
        char part[PAGE_BYTES];
        assert_int_equal(payload_read(reader, at, part, sizeof(part)), OK);
        for (size_t i = 0; i < sizeof(part); i++) {
            const size_t number = (at + i) / PAGE_BYTES;
            fill_page(expected, model->stamps[number], number);
            assert_int_equal(part[i], expected[(at + i) % PAGE_BYTES]);
        }
    }
}

static void open_blob(struct play *play, struct arena *arena, int64_t snapshot,
                      struct payload_reader *reader)
{
    struct blob_get_request get = { .name = blob_named("box", "pages"), .want_payload = true };
    get.name.snapshot = snapshot;
    struct blob blob;
    assert_int_equal(blob_get(&play->fixture->service, arena, &get, &blob, reader), OK);
}

/* All there is to read agrees with the model. */
static void check_ranges(struct play *play, int64_t snapshot, const struct model *model,
                         const struct model_snapshot *previous)
{
    struct arena arena = { 0 };
    struct strbuf text;
    strbuf_init(&text, &arena);
    const size_t from = model->pages == 0 ? 0 : random_below(&play->random, model->pages);
    const size_t to = from + random_below(&play->random, model->pages - from + 1);
    const bool all = random_below(&play->random, 2) == 0;
    struct page_ranges_request request = {
        .get = { .name = { .snapshot = snapshot } },
        .start = all ? 0 : from * PAGE_BYTES,
        .end = all || to == 0 ? UINT64_MAX : to * PAGE_BYTES,
        .has_previous = previous != NULL,
        .previous = previous != NULL ? previous->tick : 0,
        .results_max = 1 + random_below(&play->random, 6),
    };
    assert_int_equal(get_ranges(play->fixture, "pages", &request, &text), OK);
    const struct slice expected =
        model_ranges(&arena, model, previous != NULL ? &previous->model : NULL, all ? 0 : from,
                     all || to == 0 ? model->pages : to);
    if (!slice_equal(strbuf_slice(&text), expected))
        fail_msg("ranges are \"%.*s\" and not \"%.*s\"", (int)text.len, text.data,
                 (int)expected.len, expected.data);
    arena_release(&arena);
}

static void check(struct play *play)
{
    struct arena arena = { 0 };
    struct payload_reader reader;
    open_blob(play, &arena, 0, &reader);
    assert_bytes(play, &play->now, &reader);
    check_ranges(play, 0, &play->now, NULL);
    for (size_t i = 0; i < play->snapshot_count; i++) {
        const struct model_snapshot *snapshot = &play->snapshots[i];
        open_blob(play, &arena, snapshot->tick, &reader);
        assert_bytes(play, &snapshot->model, &reader);
        check_ranges(play, snapshot->tick, &snapshot->model, NULL);
        check_ranges(play, 0, &play->now, snapshot);
        for (size_t j = 0; j <= i; j++)
            check_ranges(play, snapshot->tick, &snapshot->model, &play->snapshots[j]);
    }
    arena_release(&arena);
}

static void step_write(struct play *play, size_t first, size_t count)
{
    const bool clear = random_below(&play->random, 4) == 0;
    const uint32_t stamp = clear ? 0 : ++play->stamp;
    assert_int_equal(clear ? clear_pages(play->fixture, "pages", first, count)
                           : write_pages(play->fixture, "pages", first, count, stamp),
                     OK);
    for (size_t page = first; page < first + count; page++)
        play->now.stamps[page] = stamp;
}

static void step_resize(struct play *play)
{
    const size_t pages =
        random_below(&play->random, 8) == 0 ? 0 : random_below(&play->random, MODEL_PAGES_MAX + 1);
    assert_int_equal(resize(play->fixture, "pages", pages * PAGE_BYTES), OK);
    for (size_t page = pages; page < MODEL_PAGES_MAX; page++)
        play->now.stamps[page] = 0;
    play->now.pages = pages;
}

static void drop_snapshot(struct play *play, size_t index)
{
    drop_record(play->fixture, "pages", play->snapshots[index].tick);
    memmove(&play->snapshots[index], &play->snapshots[index + 1],
            (play->snapshot_count - index - 1) * sizeof(play->snapshots[0]));
    play->snapshot_count--;
}

static void step_snapshot(struct play *play)
{
    if (play->snapshot_count == SNAPSHOTS_MAX || random_below(&play->random, 3) == 0) {
        if (play->snapshot_count > 0)
            drop_snapshot(play, random_below(&play->random, play->snapshot_count));
        return;
    }
    play->snapshots[play->snapshot_count++] = (struct model_snapshot){
        .tick = take_snapshot(play->fixture, "pages"),
        .model = play->now,
    };
}

static void step(struct play *play)
{
    const size_t choice = random_below(&play->random, 20);
    if (choice == 0) {
        step_resize(play);
    } else if (choice <= 3) {
        step_snapshot(play);
    } else if (choice == 4) {
        sweep(play->fixture);
        partition_reclaim(play->fixture->service.store);
    } else if (play->now.pages > 0) {
        const size_t first = random_below(&play->random, play->now.pages);
        const size_t room = play->now.pages - first;
        const size_t most = random_below(&play->random, 3) == 0 ? room : room < 6 ? room : 6;
        step_write(play, first, 1 + random_below(&play->random, most));
    }
}

static void pages_are_what_was_written_last_and_snapshots_what_was_there(void **state)
{
    struct service_fixture *fixture = *state;
    struct play play = { .fixture = fixture, .random = test_seed(), .now = { .pages = 64 } };
    /* Some payloads in rows and some in extents. */
    fixture->service.inline_payload_bytes = 4 * PAGE_BYTES;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    assert_int_equal(create(fixture, "pages", play.now.pages * PAGE_BYTES), OK);
    for (int i = 0; i < 250; i++) {
        /* A reader that began before sees what was there then, whatever comes. */
        struct arena arena = { 0 };
        struct payload_reader reader;
        const struct model before = play.now;
        open_blob(&play, &arena, 0, &reader);
        for (size_t steps = 1 + random_below(&play.random, 4); steps > 0; steps--)
            step(&play);
        partition_reclaim(fixture->service.store);
        check(&play);
        assert_bytes(&play, &before, &reader);
        arena_release(&arena);
    }

    /* Nothing is left when all is deleted, in any order. */
    bool has_base = true;
    while (has_base || play.snapshot_count > 0) {
        const size_t index = random_below(&play.random, play.snapshot_count + has_base);
        if (index < play.snapshot_count) {
            drop_snapshot(&play, index);
        } else {
            drop_record(fixture, "pages", 0);
            has_base = false;
        }
        sweep(fixture);
    }
    assert_int_equal(row_count(fixture), 0);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

/* --- ranges and comparisons --- */

static void a_new_blob_is_zeroes_and_has_no_ranges(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", 4 * KIB), OK);
    assert_string_equal(ranges_text(fixture, "pages", 0), "");
    const struct slice bytes = blob_read_bytes(fixture, "pages");
    assert_int_equal(bytes.len, 4 * KIB);
    for (size_t i = 0; i < bytes.len; i++)
        assert_int_equal(bytes.data[i], 0);
    assert_int_equal(row_count(fixture), 1);
    assert_int_equal(create(fixture, "none", 0), OK);
    assert_string_equal(ranges_text(fixture, "none", 0), "");
}

static void neighbours_are_one_range(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", 16 * PAGE_BYTES), OK);
    assert_int_equal(write_pages(fixture, "pages", 2, 1, 1), OK);
    assert_int_equal(write_pages(fixture, "pages", 4, 2, 2), OK);
    assert_int_equal(write_pages(fixture, "pages", 3, 1, 3), OK);
    assert_int_equal(write_pages(fixture, "pages", 15, 1, 4), OK);
    assert_string_equal(ranges_text(fixture, "pages", 0), "w2-6 w15-16");
    assert_int_equal(clear_pages(fixture, "pages", 3, 2), OK);
    assert_string_equal(ranges_text(fixture, "pages", 0), "w2-3 w5-6 w15-16");
}

static void a_comparison_tells_written_from_cleared(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", 16 * PAGE_BYTES), OK);
    assert_int_equal(write_pages(fixture, "pages", 0, 8, 1), OK);
    const int64_t first = take_snapshot(fixture, "pages");
    assert_string_equal(ranges_text(fixture, "pages", first), "");
    assert_int_equal(write_pages(fixture, "pages", 1, 1, 2), OK);
    assert_int_equal(clear_pages(fixture, "pages", 2, 2), OK);
    assert_int_equal(write_pages(fixture, "pages", 10, 1, 3), OK);
    assert_int_equal(clear_pages(fixture, "pages", 12, 2), OK);
    assert_string_equal(ranges_text(fixture, "pages", first), "w1-2 c2-4 w10-11");
    const int64_t second = take_snapshot(fixture, "pages");
    assert_int_equal(clear_pages(fixture, "pages", 10, 1), OK);
    assert_string_equal(ranges_text(fixture, "pages", first), "w1-2 c2-4");
    assert_string_equal(ranges_text(fixture, "pages", second), "c10-11");
}

static enum err compare(struct service_fixture *fixture, int64_t snapshot, int64_t previous)
{
    struct strbuf text;
    strbuf_init(&text, &fixture->arena);
    struct page_ranges_request request = {
        .get = { .name = { .snapshot = snapshot } },
        .has_previous = true,
        .previous = previous,
    };
    return get_ranges(fixture, "pages", &request, &text);
}

static void a_comparison_needs_an_earlier_snapshot_of_the_same_blob(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", 16 * PAGE_BYTES), OK);
    const int64_t first = take_snapshot(fixture, "pages");
    const int64_t second = take_snapshot(fixture, "pages");
    assert_int_equal(compare(fixture, second, first), OK);
    assert_int_equal(compare(fixture, first, first), OK);
    assert_int_equal(compare(fixture, first, second), ERR_PREVIOUS_SNAPSHOT_NEWER);
    assert_int_equal(compare(fixture, 0, second + 1000), ERR_PREVIOUS_SNAPSHOT_NOT_FOUND);
    assert_int_equal(create(fixture, "pages", 16 * PAGE_BYTES), OK);
    assert_int_equal(compare(fixture, 0, first), ERR_BLOB_OVERWRITTEN);
    assert_int_equal(compare(fixture, second, first), OK);
}

static void an_8_tib_blob_costs_what_is_written(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", PAGE_BLOB_BYTES_MAX), OK);
    const uint64_t pages = PAGE_BLOB_BYTES_MAX / PAGE_BYTES;
    assert_int_equal(write_pages(fixture, "pages", pages - 1, 1, 1), OK);
    assert_int_equal(write_pages(fixture, "pages", pages / 2, 1, 2), OK);
    assert_true(row_count(fixture) <= 7);
    assert_string_equal(ranges_text(fixture, "pages", 0),
                        "w8589934592-8589934593 w17179869183-17179869184");
    struct play play = { .fixture = fixture };
    struct arena arena = { 0 };
    struct payload_reader reader;
    open_blob(&play, &arena, 0, &reader);
    char found[PAGE_BYTES];
    char expected[PAGE_BYTES];
    fill_page(expected, 1, pages - 1);
    assert_int_equal(payload_read(&reader, PAGE_BLOB_BYTES_MAX - PAGE_BYTES, found, PAGE_BYTES),
                     OK);
    assert_memory_equal(found, expected, PAGE_BYTES);
    fill_page(expected, 0, 0);
    assert_int_equal(payload_read(&reader, PAGE_BLOB_BYTES_MAX / 4, found, PAGE_BYTES), OK);
    assert_memory_equal(found, expected, PAGE_BYTES);
    arena_release(&arena);
    assert_int_equal(clear_pages(fixture, "pages", 0, pages), OK);
    assert_string_equal(ranges_text(fixture, "pages", 0), "");
}

/* --- refusals, sizes, numbers --- */

static void pages_lie_within_a_page_blob(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(write_pages(fixture, "pages", 0, 1, 1), ERR_BLOB_NOT_FOUND);
    assert_int_equal(clear_pages(fixture, "pages", 0, 1), ERR_BLOB_NOT_FOUND);
    blob_put_text(fixture, "text", "no pages");
    assert_int_equal(write_pages(fixture, "text", 0, 1, 1), ERR_INVALID_BLOB_TYPE);
    assert_int_equal(clear_pages(fixture, "text", 0, 1), ERR_INVALID_BLOB_TYPE);
    assert_int_equal(resize(fixture, "text", 0), ERR_INVALID_BLOB_TYPE);
    assert_int_equal(create(fixture, "pages", 2 * PAGE_BYTES), OK);
    const struct slice before = fixture_dump(fixture);
    assert_int_equal(write_pages(fixture, "pages", 1, 2, 1), ERR_INVALID_PAGE_RANGE);
    assert_int_equal(clear_pages(fixture, "pages", 2, 1), ERR_INVALID_PAGE_RANGE);
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(write_pages(fixture, "pages", 1, 1, 1), OK);
}

static void a_leased_blob_is_written_with_its_lease(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", PAGE_BYTES), OK);
    struct blob_lease lease = { .lease = { .action = LEASE_ACTION_ACQUIRE,
                                           .proposed_id = A,
                                           .duration_sec = LEASE_DURATION_SEC_INFINITE } };
    assert_int_equal(blob_lease_await(fixture, "pages", &lease), OK);
    assert_int_equal(write_pages(fixture, "pages", 0, 1, 1), ERR_LEASE_ID_MISSING);
    struct page_change change = { .blob = { .has_lease_id = true, .lease_id = A } };
    assert_int_equal(write_with(fixture, "pages", 0, 1, 1, &change), OK);
    assert_int_equal(create(fixture, "pages", PAGE_BYTES), ERR_LEASE_ID_MISSING);
}

static void what_a_shrunken_blob_lost_is_zeroes_when_it_grows(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", 8 * PAGE_BYTES), OK);
    assert_int_equal(write_pages(fixture, "pages", 0, 8, 1), OK);
    assert_int_equal(resize(fixture, "pages", 3 * PAGE_BYTES), OK);
    assert_int_equal(blob_read_bytes(fixture, "pages").len, 3 * PAGE_BYTES);
    assert_int_equal(resize(fixture, "pages", 8 * PAGE_BYTES), OK);
    assert_string_equal(ranges_text(fixture, "pages", 0), "w0-3");
    assert_int_equal(resize(fixture, "pages", 0), OK);
    assert_int_equal(resize(fixture, "pages", 8 * PAGE_BYTES), OK);
    assert_string_equal(ranges_text(fixture, "pages", 0), "");
}

static uint64_t act(struct service_fixture *fixture, enum page_sequence_action action,
                    uint64_t number)
{
    const struct page_properties page = { .action = action, .sequence_number = number };
    uint64_t result = 0;
    assert_int_equal(set_properties(fixture, "pages", &page, &result), OK);
    return result;
}

static void sequence_numbers_are_raised_set_and_incremented(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", PAGE_BYTES), OK);
    assert_int_equal(act(fixture, PAGE_SEQUENCE_INCREMENT, 0), 1);
    assert_int_equal(act(fixture, PAGE_SEQUENCE_UPDATE, 10), 10);
    assert_int_equal(act(fixture, PAGE_SEQUENCE_MAX, 7), 10);
    assert_int_equal(act(fixture, PAGE_SEQUENCE_MAX, 12), 12);
    assert_int_equal(act(fixture, PAGE_SEQUENCE_UPDATE, 3), 3);
    assert_int_equal(act(fixture, PAGE_SEQUENCE_UPDATE, PAGE_SEQUENCE_NUMBER_MAX),
                     PAGE_SEQUENCE_NUMBER_MAX);
    const struct page_properties increment = { .action = PAGE_SEQUENCE_INCREMENT };
    assert_int_equal(set_properties(fixture, "pages", &increment, NULL),
                     ERR_SEQUENCE_INCREMENT_TOO_LARGE);
}

static void conditions_compare_the_blobs_number_with_the_one_given(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    assert_int_equal(create(fixture, "pages", PAGE_BYTES), OK);
    assert_int_equal(act(fixture, PAGE_SEQUENCE_UPDATE, 5), 5);
    for (uint64_t given = 4; given <= 6; given++) {
        const bool holds[] = { 5 <= given, 5 < given, 5 == given };
        for (size_t i = 0; i < 3; i++) {
            struct page_change change = { 0 };
            change.condition.has_at_most = i == 0;
            change.condition.has_below = i == 1;
            change.condition.has_equal = i == 2;
            change.condition.at_most = change.condition.below = change.condition.equal = given;
            assert_int_equal(write_with(fixture, "pages", 0, 1, 1, &change),
                             holds[i] ? OK : ERR_SEQUENCE_CONDITION_NOT_MET);
            if (holds[i])
                assert_int_equal(change.sequence_number, 5);
        }
    }
}

/* --- space --- */

static void a_payload_goes_with_the_last_of_its_parts(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    assert_int_equal(create(fixture, "pages", 64 * PAGE_BYTES), OK);
    assert_int_equal(write_pages(fixture, "pages", 8, 33, 1), OK);
    /* Every second page of it is overwritten by pages in rows, which take no disk here. */
    fixture->service.inline_payload_bytes = PAGE_BYTES;
    for (uint64_t page = 9; page < 41; page += 2)
        assert_int_equal(write_pages(fixture, "pages", page, 1, 2), OK);
    partition_reclaim(fixture->service.store);
    for (uint64_t page = 8; page < 41; page += 2) {
        assert_true(io_memory_bytes(fixture->io) > disk_bytes);
        assert_int_equal(clear_pages(fixture, "pages", page, 1), OK);
        partition_reclaim(fixture->service.store);
    }
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

/* More parts than one step of the sweeper removes: the payload is let go of once, not in each. */
static void a_long_list_is_dropped_in_steps_that_let_go_of_each_payload_once(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    assert_int_equal(create(fixture, "pages", 4096 * PAGE_BYTES), OK);
    assert_int_equal(write_pages(fixture, "pages", 0, 2001, 1), OK);
    fixture->service.inline_payload_bytes = PAGE_BYTES;
    for (uint64_t page = 1; page < 2000; page += 2)
        assert_int_equal(clear_pages(fixture, "pages", page, 1), OK);
    drop_record(fixture, "pages", 0);
    struct own_update own = { .more = true };
    uint64_t reclaimed = partition_reclaim(fixture->service.store);
    while (own.more) {
        own_await(fixture, &own, sweep_decide);
        reclaimed += partition_reclaim(fixture->service.store);
    }
    if (fixture->kind == SERVICE_ON_MEMORY)
        assert_int_equal(reclaimed, 1);
    assert_int_equal(row_count(fixture), 0);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_new_blob_is_zeroes_and_has_no_ranges),
        ON_ALL_ENGINES(neighbours_are_one_range),
        ON_ALL_ENGINES(a_comparison_tells_written_from_cleared),
        ON_ALL_ENGINES(a_comparison_needs_an_earlier_snapshot_of_the_same_blob),
        ON_ALL_ENGINES(an_8_tib_blob_costs_what_is_written),
        ON_ALL_ENGINES(pages_lie_within_a_page_blob),
        ON_ALL_ENGINES(a_leased_blob_is_written_with_its_lease),
        ON_ALL_ENGINES(what_a_shrunken_blob_lost_is_zeroes_when_it_grows),
        ON_ALL_ENGINES(sequence_numbers_are_raised_set_and_incremented),
        ON_ALL_ENGINES(conditions_compare_the_blobs_number_with_the_one_given),
        ON_ALL_ENGINES(a_payload_goes_with_the_last_of_its_parts),
        ON_ALL_ENGINES(a_long_list_is_dropped_in_steps_that_let_go_of_each_payload_once),
        ON_ALL_ENGINES(pages_are_what_was_written_last_and_snapshots_what_was_there),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
