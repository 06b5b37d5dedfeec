/*
 * test_overlay.c - page blobs with long lists: what a snapshot costs the next write, lists that lie
 * over each other against a simple model, and what the sweeper makes of them.
 *
 * The model is an array: for each page, the number of the write it comes from.  Pages are written
 * one at a time, so that lists are long and are laid over each other often.
 */
#include "service/blob/overlay.h"

#include "base/log.h"
#include "service/blob/copy.h"
#include "service/blob/fsck.h"
#include "service/blob/page.h"
#include "service/blob/segments.h"
#include "service/blob/snapshot.h"
#include "service/limits.h"
#include "service/sweeper.h"
#include "service_fixture.h"
#include "test_random.h"

enum {
    PAGES = 400,
    SNAPSHOTS_MAX = 6,
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- operations --- */

static void create(struct service_fixture *fixture, uint64_t pages)
{
    struct page_change change = { .size_bytes = pages * PAGE_BYTES };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named("box", "pages");
    page_create(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void fill_page(char *page, uint32_t stamp, uint64_t number)
{
    for (size_t i = 0; i < PAGE_BYTES; i++)
        page[i] = stamp == 0 ? 0 : (char)(stamp * 31 + number * 7 + i * (stamp | 1));
}

static enum err try_write(struct service_fixture *fixture, uint64_t first, uint64_t count,
                          uint32_t stamp)
{
    struct page_change change = { .start = first * PAGE_BYTES,
                                  .end = (first + count) * PAGE_BYTES };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named("box", "pages");
    if (stamp != 0) {
        assert_int_equal(
            payload_writer_new(&fixture->service, &arena, count * PAGE_BYTES, &change.blob.payload),
            OK);
        for (uint64_t i = 0; i < count; i++) {
            char page[PAGE_BYTES];
            fill_page(page, stamp, first + i);
            assert_int_equal(
                payload_writer_append(change.blob.payload, slice_make(page, sizeof(page))), OK);
        }
        assert_int_equal(payload_writer_finish(change.blob.payload), OK);
        page_write(&fixture->service, &change);
    } else {
        page_clear(&fixture->service, &change);
    }
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* Stamp 0 clears. */
static void write_pages(struct service_fixture *fixture, uint64_t first, uint64_t count,
                        uint32_t stamp)
{
    assert_int_equal(try_write(fixture, first, count, stamp), OK);
}

/* Every second page: as many entries as pages. */
static void write_scattered(struct service_fixture *fixture, uint64_t count, uint32_t stamp)
{
    for (uint64_t i = 0; i < count; i++)
        write_pages(fixture, 2 * i, 1, stamp);
}

static int64_t take_snapshot(struct service_fixture *fixture)
{
    struct blob_snapshot change = { .name = blob_named("box", "pages") };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.base, &arena);
    blob_snapshot(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    return change.snapshot;
}

static void delete_blob(struct service_fixture *fixture, int64_t snapshot)
{
    struct blob_change change = { .snapshots = BLOB_SNAPSHOTS_INCLUDE };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.base, &arena);
    change.name = blob_named("box", "pages");
    change.name.snapshot = snapshot;
    blob_delete(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void sweep(struct service_fixture *fixture)
{
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    partition_reclaim(fixture->service.store);
}

static void fail_finding(void *arg, const char *words)
{
    (void)arg;
    fail_msg("%s", words);
}

static void assert_holds_together(struct service_fixture *fixture)
{
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = fail_finding };
    struct fsck_summary summary;
    fsck_run(&request, &summary);
    assert_int_equal(summary.finding_count, 0);
}

static size_t count_rows(struct service_fixture *fixture, const char *prefix)
{
    struct arena arena = { 0 };
    struct slice partition;
    const struct container_name name = container_named("box");
    assert_int_equal(container_find_blobs(&fixture->service, &arena, &name, &partition), OK);
    struct partition_view view;
    partition_view_open(fixture->service.store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of(prefix), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    size_t count = 0;
    while (cursor_next(cursor, &key, &row) == OK)
        count++;
    cursor_free(cursor);
    partition_view_close(&view);
    arena_release(&arena);
    return count;
}

/* --- the model --- */

struct model {
    size_t pages;
    uint32_t stamps[PAGES];
};

struct model_snapshot {
    int64_t tick;
    struct model model;
};

struct play {
    struct service_fixture *fixture;
    struct test_random random;
    struct model now;
    uint32_t stamp;
    struct model_snapshot snapshots[SNAPSHOTS_MAX];
    size_t snapshot_count;
};

static void check_bytes(struct play *play, int64_t snapshot, const struct model *model)
{
    struct arena arena = { 0 };
    struct blob_get_request get = { .name = blob_named("box", "pages"), .want_payload = true };
    get.name.snapshot = snapshot;
    struct blob blob;
    struct payload_reader reader;
    assert_int_equal(blob_get(&play->fixture->service, &arena, &get, &blob, &reader), OK);
    assert_int_equal(reader.length_bytes, model->pages * PAGE_BYTES);
    /* From anywhere on, so that lists are entered in their middle. */
    const size_t first = random_below(&play->random, model->pages);
    for (size_t page = first; page < model->pages; page++) {
        char expected[PAGE_BYTES];
        char found[PAGE_BYTES];
        fill_page(expected, model->stamps[page], page);
        assert_int_equal(payload_read(&reader, page * PAGE_BYTES, found, PAGE_BYTES), OK);
        assert_memory_equal(found, expected, PAGE_BYTES);
    }
    arena_release(&arena);
}

struct differences {
    char pages[PAGES]; /* 'w', 'c' or 0 */
};

static void note_range(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end)
{
    struct differences *differences = arg;
    for (uint64_t page = start / PAGE_BYTES; page < end / PAGE_BYTES; page++)
        differences->pages[page] = kind == PAGE_RANGE_WRITTEN ? 'w' : 'c';
}

static char expected_difference(const struct model *now, const struct model *before, size_t page)
{
    const uint32_t old = before != NULL && page < before->pages ? before->stamps[page] : 0;
    if (now->stamps[page] == old)
        return 0;
    return now->stamps[page] == 0 ? 'c' : 'w';
}

static void check_ranges(struct play *play, int64_t snapshot, const struct model *model,
                         const struct model_snapshot *previous)
{
    struct arena arena = { 0 };
    struct differences differences = { 0 };
    struct page_ranges_request request = {
        .get = { .name = blob_named("box", "pages") },
        .end = UINT64_MAX,
        .has_previous = previous != NULL,
        .previous = previous != NULL ? previous->tick : 0,
        .results_max = 1 + random_below(&play->random, 100),
        .emit = note_range,
        .arg = &differences,
    };
    request.get.name.snapshot = snapshot;
    do {
        struct blob blob;
        assert_int_equal(
            page_ranges(&play->fixture->service, &arena, &request, &blob, &request.start), OK);
    } while (request.start != 0);
    for (size_t page = 0; page < model->pages; page++)
        assert_int_equal(
            differences.pages[page],
            expected_difference(model, previous != NULL ? &previous->model : NULL, page));
    arena_release(&arena);
}

static void check(struct play *play)
{
    check_bytes(play, 0, &play->now);
    check_ranges(play, 0, &play->now, NULL);
    for (size_t i = 0; i < play->snapshot_count; i++) {
        const struct model_snapshot *snapshot = &play->snapshots[i];
        check_bytes(play, snapshot->tick, &snapshot->model);
        check_ranges(play, 0, &play->now, snapshot);
        if (i > 0)
            check_ranges(play, snapshot->tick, &snapshot->model, &play->snapshots[i - 1]);
    }
}

static void step_write(struct play *play)
{
    const size_t choice = random_below(&play->random, 40);
    const size_t first = random_below(&play->random, play->now.pages);
    const size_t room = play->now.pages - first;
    size_t count = 1;
    if (choice < 2)
        count = 1 + random_below(&play->random, room);
    else if (choice < 8)
        count = 1 + random_below(&play->random, room < 8 ? room : 8);
    const uint32_t stamp = random_below(&play->random, 6) == 0 ? 0 : ++play->stamp;
    write_pages(play->fixture, first, count, stamp);
    for (size_t page = first; page < first + count; page++)
        play->now.stamps[page] = stamp;
}

static void drop_snapshot(struct play *play)
{
    const size_t index = random_below(&play->random, play->snapshot_count);
    delete_blob(play->fixture, play->snapshots[index].tick);
    memmove(&play->snapshots[index], &play->snapshots[index + 1],
            (play->snapshot_count - index - 1) * sizeof(play->snapshots[0]));
    play->snapshot_count--;
}

static void step_resize(struct play *play)
{
    const size_t pages = PAGES / 2 + random_below(&play->random, PAGES / 2 + 1);
    const struct page_properties page = { .has_size = true, .size_bytes = pages * PAGE_BYTES };
    struct blob_change change = { .page = &page, .keep_properties = true };
    assert_int_equal(blob_await(play->fixture, "pages", blob_set_properties, &change), OK);
    for (size_t i = pages; i < PAGES; i++)
        play->now.stamps[i] = 0;
    play->now.pages = pages;
}

/* Part of what the sweeper does, so that the next step finds a list that is made flat half-way. */
struct half_sweep {
    struct partition_update update;
    struct waiter waiter;
};

static void half_done(void *arg, enum err err)
{
    struct half_sweep *half = arg;
    waiter_done(&half->waiter, err);
}

static enum err half_decide(struct change *change, void *arg)
{
    (void)arg;
    struct cursor *cursor = change_scan(change, overlay_prefix(), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    uint64_t content_id = 0;
    bool done = true;
    enum err err;
    while ((err = cursor_next(cursor, &key, &row)) == OK && done) {
        assert_true(overlay_key_content(key, &content_id));
        err = overlay_flatten(change, content_id, &done);
        if (err != OK)
            break;
    }
    cursor_free(cursor);
    return err == ERR_NOT_FOUND ? OK : err;
}

static void sweep_half(struct service_fixture *fixture)
{
    struct arena arena = { 0 };
    const struct container_name name = container_named("box");
    struct half_sweep half = { .update = { .decide = half_decide, .done = half_done } };
    half.update.arg = &half;
    waiter_init(&half.waiter);
    assert_int_equal(container_find_blobs(&fixture->service, &arena, &name, &half.update.partition),
                     OK);
    partition_update(fixture->service.store, &half.update);
    assert_int_equal(waiter_wait(&half.waiter), OK);
    arena_release(&arena);
}

static void step(struct play *play)
{
    const size_t choice = random_below(&play->random, 12);
    if (choice == 0) {
        sweep(play->fixture);
    } else if (choice <= 3) {
        sweep_half(play->fixture);
    } else if (choice == 4) {
        step_resize(play);
    } else if (choice <= 7 && play->snapshot_count > 0) {
        drop_snapshot(play);
    } else if (play->snapshot_count < SNAPSHOTS_MAX) {
        play->snapshots[play->snapshot_count++] =
            (struct model_snapshot){ .tick = take_snapshot(play->fixture), .model = play->now };
    }
    for (size_t writes = random_below(&play->random, 60); writes > 0; writes--)
        step_write(play);
}

static void long_lists_say_what_the_model_says_however_they_lie_over_each_other(void **state)
{
    struct service_fixture *fixture = *state;
    struct play play = { .fixture = fixture, .random = test_seed(), .now = { .pages = PAGES } };
    /* Single pages in rows, several in extents. */
    fixture->service.inline_payload_bytes = PAGE_BYTES;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    create(fixture, PAGES);
    for (int i = 0; i < 60; i++) {
        step(&play);
        check(&play);
        assert_holds_together(fixture);
    }
    while (play.snapshot_count > 0) {
        drop_snapshot(&play);
        sweep_half(fixture);
        check(&play);
    }
    delete_blob(fixture, 0);
    sweep(fixture);
    assert_holds_together(fixture);
    assert_int_equal(count_rows(fixture, ""), 0);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

/* --- what it costs --- */

static void the_first_write_after_a_snapshot_of_a_long_list_writes_a_few_rows(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    create(fixture, 1000);
    write_scattered(fixture, 500, 1);
    take_snapshot(fixture);
    const size_t before = count_rows(fixture, "");
    write_pages(fixture, 500, 1, 2);
    /* A link before the page and one behind it, the page, its owner and bytes, the overlay. */
    assert_in_range(count_rows(fixture, "") - before, 3, 6);
    assert_int_equal(count_rows(fixture, "l"), 1);
    assert_holds_together(fixture);
}

static void the_list_of_a_short_blob_is_copied(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    create(fixture, 1000);
    write_scattered(fixture, OVERLAY_ROWS_COPIED, 1);
    for (uint32_t i = 0; i < 5; i++) {
        take_snapshot(fixture);
        write_pages(fixture, 0, 1, 2 + i);
    }
    assert_int_equal(count_rows(fixture, "l"), 0);
    assert_holds_together(fixture);
}

static void clearing_very_many_runs_writes_a_few_rows(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    create(fixture, 2000);
    write_scattered(fixture, 1000, 1);
    write_pages(fixture, 1, 1, 2);
    const size_t before = count_rows(fixture, "");
    write_pages(fixture, 2, 1998, 0);
    assert_in_range(count_rows(fixture, "") - before, 0, 3);
    assert_int_equal(count_rows(fixture, "z"), 0);
    assert_holds_together(fixture);
    /* The two pages that are left are all that is left. */
    sweep(fixture);
    assert_int_equal(count_rows(fixture, "k"), 2);
    assert_int_equal(count_rows(fixture, "l"), 0);
    assert_holds_together(fixture);
    delete_blob(fixture, 0);
    sweep(fixture);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

/* --- what fsck finds --- */

struct tampering {
    struct partition_update update;
    struct waiter waiter;
    char letter; /* of the first row of this kind, which is removed */
};

static void tampering_done(void *arg, enum err err)
{
    struct tampering *tampering = arg;
    waiter_done(&tampering->waiter, err);
}

static enum err tamper_decide(struct change *change, void *arg)
{
    const struct tampering *tampering = arg;
    struct cursor *cursor =
        change_scan(change, slice_make(&tampering->letter, 1), (struct slice){ 0 });
    struct slice key;
    struct slice row;
    const enum err err = cursor_next(cursor, &key, &row);
    if (err == OK)
        change_delete(change, arena_copy(change_arena(change), key));
    cursor_free(cursor);
    return err;
}

static void remove_first(struct service_fixture *fixture, char letter)
{
    struct arena arena = { 0 };
    const struct container_name name = container_named("box");
    struct tampering tampering = { .update = { .decide = tamper_decide, .done = tampering_done },
                                   .letter = letter };
    tampering.update.arg = &tampering;
    waiter_init(&tampering.waiter);
    assert_int_equal(
        container_find_blobs(&fixture->service, &arena, &name, &tampering.update.partition), OK);
    partition_update(fixture->service.store, &tampering.update);
    assert_int_equal(waiter_wait(&tampering.waiter), OK);
    arena_release(&arena);
}

static void note_finding(void *arg, const char *words)
{
    strbuf_add_text(arg, words);
}

static void assert_found(struct service_fixture *fixture, const char *words)
{
    struct strbuf text;
    strbuf_init(&text, &fixture->arena);
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = note_finding,
                                          .arg = &text };
    struct fsck_summary summary;
    fsck_run(&request, &summary);
    strbuf_add_byte(&text, '\0');
    assert_non_null(strstr(text.data, words));
}

static void a_list_that_lies_over_another_without_saying_so_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    create(fixture, 1000);
    write_scattered(fixture, 100, 1);
    take_snapshot(fixture);
    write_pages(fixture, 500, 1, 2);
    assert_holds_together(fixture);
    remove_first(fixture, 'l');
    assert_found(fixture, "has a link to a list it is not laid over");
    assert_found(fixture, "is named by 1 records, and its count says 2");
}

/* --- the sweeper --- */

static void a_list_nobody_else_needs_is_taken_over_and_what_it_kept_comes_back(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    create(fixture, 200);
    write_scattered(fixture, 100, 1);
    const int64_t snapshot = take_snapshot(fixture);
    for (uint64_t i = 0; i < 100; i += 2)
        write_pages(fixture, 2 * i, 1, 2);
    sweep(fixture);
    assert_int_equal(count_rows(fixture, "l"), 1); /* the snapshot has the list below */
    const uint64_t with_both = io_memory_bytes(fixture->io);
    delete_blob(fixture, snapshot);
    sweep(fixture);
    assert_int_equal(count_rows(fixture, "l"), 0);
    assert_int_equal(count_rows(fixture, "k"), 100);
    assert_true(io_memory_bytes(fixture->io) < with_both);
    assert_holds_together(fixture);
    delete_blob(fixture, 0);
    sweep(fixture);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
}

static void lists_do_not_come_to_lie_ever_deeper(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    create(fixture, 4000);
    write_scattered(fixture, 100, 1);
    enum err err = OK;
    /* Without a sweeper there is an end to it. */
    unsigned depth = 0;
    while (err == OK && depth < 2 * LIMIT_OVERLAY_DEPTH) {
        take_snapshot(fixture);
        for (uint64_t i = 0; err == OK && i <= OVERLAY_ROWS_COPIED / 2; i++)
            err = try_write(fixture, 2 * i, 1, 2 + depth);
        depth++;
    }
    assert_int_equal(err, ERR_BUSY);
    assert_int_equal(depth, LIMIT_OVERLAY_DEPTH);
    assert_holds_together(fixture);
    sweep(fixture);
    assert_int_equal(try_write(fixture, 0, 1, 1000), OK);
    assert_holds_together(fixture);
}

static void deleting_the_container_takes_all_lists_with_it(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const uint64_t disk_bytes = io_memory_bytes(fixture->io);
    create(fixture, 1000);
    write_scattered(fixture, 200, 1);
    for (uint32_t i = 0; i < 12; i++) {
        take_snapshot(fixture);
        for (uint64_t page = 0; page < 40; page++)
            write_pages(fixture, 5 * page + i, 1, 2 + i);
    }
    assert_true(count_rows(fixture, "l") > 5);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), disk_bytes);
    assert_holds_together(fixture);
}

/* --- rows --- */

static void any_bytes_are_an_overlay_or_corrupt(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int i = 0; i < 20000; i++) {
        char bytes[40];
        const size_t len = random_below(&random, sizeof(bytes));
        for (size_t at = 0; at < len; at++)
            bytes[at] = (char)random_below(&random, 256);
        if (len > 11) {
            bytes[9] = 1;
            bytes[10] = 11; /* the format and ROW_OVERLAY */
        }
        if (len > 0 && random_below(&random, 8) > 0)
            bytes[0] = 'l';
        const size_t key_len = len < 9 ? len : 9;
        uint64_t content_id;
        struct overlay overlay;
        const enum err err =
            overlay_decode(slice_make(bytes, key_len), slice_make(bytes + key_len, len - key_len),
                           &content_id, &overlay);
        if (err == OK)
            assert_true(overlay.base != 0 && overlay.base < content_id);
        else
            assert_int_equal(err, ERR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(the_first_write_after_a_snapshot_of_a_long_list_writes_a_few_rows),
        ON_ALL_ENGINES(the_list_of_a_short_blob_is_copied),
        ON_ALL_ENGINES(clearing_very_many_runs_writes_a_few_rows),
        ON_ALL_ENGINES(a_list_nobody_else_needs_is_taken_over_and_what_it_kept_comes_back),
        ON_MEMORY(lists_do_not_come_to_lie_ever_deeper),
        ON_MEMORY(a_list_that_lies_over_another_without_saying_so_is_found),
        ON_ALL_ENGINES(deleting_the_container_takes_all_lists_with_it),
        ON_ALL_ENGINES(long_lists_say_what_the_model_says_however_they_lie_over_each_other),
        cmocka_unit_test(any_bytes_are_an_overlay_or_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
