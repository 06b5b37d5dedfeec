/*
 * fuzz_page_map.c - page blobs against an array.
 *
 * Input: a program.  Each step is an operation (one byte), where it begins and how far it goes (one
 * byte each), in pages: write, clear, resize, snapshot, read back, list the ranges.
 *
 *   - Every page has the bytes of the write that was last, or zeroes, in the blob and in each
 *     snapshot of it.
 *   - The ranges are those of the pages that were written and not cleared; the difference to a
 *     snapshot is what was written or cleared since.
 */
#include "../unit/service/service_fixture.h"
#include "fuzz.h"
#include "service/blob/page.h"
#include "service/blob/snapshot.h"

enum {
    PAGES_MAX = 48,
    SNAPSHOTS_MAX = 4,
    STEPS_MAX = 200,
};

/* For each page the number of the write it comes from; 0: none. */
struct model {
    size_t count;
    uint32_t stamps[PAGES_MAX];
};

struct play {
    struct service_fixture *fixture;
    uint32_t writes;
    struct model now;
    struct model snapshots[SNAPSHOTS_MAX];
    int64_t taken[SNAPSHOTS_MAX];
    size_t snapshot_count;
};

static void bind_change(struct page_change *change, struct waiter *waiter, struct arena *arena)
{
    waiter_bind(waiter, &change->blob.base, arena);
    change->blob.name = blob_named("box", "pages");
}

static void create(struct play *play, size_t pages)
{
    struct page_change change = { .size_bytes = pages * PAGE_BYTES };
    struct arena arena = { 0 };
    struct waiter waiter;
    bind_change(&change, &waiter, &arena);
    page_create(&play->fixture->service, &change);
    assert(waiter_wait(&waiter) == OK);
    arena_release(&arena);
    play->now.count = pages;
}

static void write_pages(struct play *play, size_t first, size_t count)
{
    struct page_change change = { .start = first * PAGE_BYTES,
                                  .end = (first + count) * PAGE_BYTES };
    struct arena arena = { 0 };
    struct waiter waiter;
    char page[PAGE_BYTES];
    bind_change(&change, &waiter, &arena);
    play->writes++;
    memset(page, (int)(play->writes % 255 + 1), sizeof(page));
    assert(payload_writer_new(&play->fixture->service, &arena, count * PAGE_BYTES,
                              &change.blob.payload) == OK);
    for (size_t i = 0; i < count; i++)
        assert(payload_writer_append(change.blob.payload, slice_make(page, sizeof(page))) == OK);
    assert(payload_writer_finish(change.blob.payload) == OK);
    page_write(&play->fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    if (first + count > play->now.count) {
        assert(err == ERR_INVALID_PAGE_RANGE);
        return;
    }
    assert(err == OK);
    for (size_t i = first; i < first + count; i++)
        play->now.stamps[i] = play->writes;
}

static void clear_pages(struct play *play, size_t first, size_t count)
{
    struct page_change change = { .start = first * PAGE_BYTES,
                                  .end = (first + count) * PAGE_BYTES };
    struct arena arena = { 0 };
    struct waiter waiter;
    bind_change(&change, &waiter, &arena);
    page_clear(&play->fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    if (first + count > play->now.count) {
        assert(err == ERR_INVALID_PAGE_RANGE);
        return;
    }
    assert(err == OK);
    for (size_t i = first; i < first + count; i++)
        play->now.stamps[i] = 0;
}

static void resize(struct play *play, size_t pages)
{
    const struct page_properties page = { .has_size = true, .size_bytes = pages * PAGE_BYTES };
    struct blob_change change = { .page = &page, .keep_properties = true };
    assert(blob_await(play->fixture, "pages", blob_set_properties, &change) == OK);
    for (size_t i = pages; i < PAGES_MAX; i++)
        play->now.stamps[i] = 0;
    play->now.count = pages;
}

static void take_snapshot(struct play *play)
{
    struct blob_snapshot change = { .name = blob_named("box", "pages") };
    struct arena arena = { 0 };
    struct waiter waiter;
    if (play->snapshot_count == SNAPSHOTS_MAX)
        return;
    waiter_bind(&waiter, &change.base, &arena);
    blob_snapshot(&play->fixture->service, &change);
    assert(waiter_wait(&waiter) == OK);
    arena_release(&arena);
    play->taken[play->snapshot_count] = change.snapshot;
    play->snapshots[play->snapshot_count++] = play->now;
}

static void check_bytes(struct play *play, const struct model *model, int64_t snapshot)
{
    struct arena arena = { 0 };
    struct blob blob;
    struct payload_reader payload;
    struct blob_get_request get = { .name = blob_named("box", "pages"), .want_payload = true };
    get.name.snapshot = snapshot;
    assert(blob_get(&play->fixture->service, &arena, &get, &blob, &payload) == OK);
    assert(payload.length_bytes == model->count * PAGE_BYTES);
    for (size_t i = 0; i < model->count; i++) {
        char page[PAGE_BYTES];
        const uint32_t stamp = model->stamps[i];
        const char wanted = (char)(stamp == 0 ? 0 : stamp % 255 + 1);
        assert(payload_read(&payload, i * PAGE_BYTES, page, sizeof(page)) == OK);
        assert(page[0] == wanted && memcmp(page, page + 1, sizeof(page) - 1) == 0);
    }
    arena_release(&arena);
}

struct found {
    uint8_t kinds[PAGES_MAX]; /* 0: in no range; else the kind and one */
    uint64_t end;
};

static void note_range(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end)
{
    struct found *found = arg;
    assert(start >= found->end && start < end && end <= PAGES_MAX * PAGE_BYTES);
    assert(start % PAGE_BYTES == 0 && end % PAGE_BYTES == 0);
    for (uint64_t i = start / PAGE_BYTES; i < end / PAGE_BYTES; i++)
        found->kinds[i] = (uint8_t)(kind + 1);
    found->end = end;
}

/* Of the blob, against a snapshot or against nothing. */
static void check_ranges(struct play *play, const struct model *before, int64_t snapshot)
{
    static const struct model nothing;
    struct arena arena = { 0 };
    struct found found = { .end = 0 };
    struct blob blob;
    uint64_t next = 0;
    const struct page_ranges_request request = {
        .get = { .name = blob_named("box", "pages") },
        .end = UINT64_MAX,
        .has_previous = before != NULL,
        .previous = snapshot,
        .results_max = SIZE_MAX,
        .emit = note_range,
        .arg = &found,
    };
    if (play->now.count == 0)
        return;
    assert(page_ranges(&play->fixture->service, &arena, &request, &blob, &next) == OK);
    assert(next == 0);
    if (before == NULL)
        before = &nothing;
    for (size_t i = 0; i < play->now.count; i++) {
        const uint32_t stamp = play->now.stamps[i];
        if (stamp == before->stamps[i])
            assert(found.kinds[i] == 0);
        else
            assert(found.kinds[i] == (stamp != 0 ? PAGE_RANGE_WRITTEN : PAGE_RANGE_CLEARED) + 1);
    }
    arena_release(&arena);
}

static void check_all(struct play *play)
{
    check_bytes(play, &play->now, 0);
    check_ranges(play, NULL, 0);
    for (size_t i = 0; i < play->snapshot_count; i++) {
        check_bytes(play, &play->snapshots[i], play->taken[i]);
        check_ranges(play, &play->snapshots[i], play->taken[i]);
    }
}

static void step(struct play *play, struct fuzz_input *input)
{
    const size_t operation = fuzz_below(input, 16);
    const size_t first = fuzz_below(input, PAGES_MAX);
    const size_t count = 1 + fuzz_below(input, PAGES_MAX - first);
    if (operation < 8)
        write_pages(play, first, count);
    else if (operation < 12)
        clear_pages(play, first, count);
    else if (operation == 12)
        resize(play, first);
    else if (operation == 13)
        take_snapshot(play);
    else
        check_all(play);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    void *state = &fixture_on_memory;
    service_fixture_setup(&state);
    struct play play = { .fixture = state };
    container_make(play.fixture, "box");
    create(&play, fuzz_below(&input, PAGES_MAX + 1));
    for (size_t i = 0; i < STEPS_MAX && input.rest.len > 0; i++)
        step(&play, &input);
    check_all(&play);
    service_fixture_teardown(&state);
    return 0;
}
