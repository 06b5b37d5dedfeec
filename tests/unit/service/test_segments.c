/*
 * test_segments.c - content in pieces: building, walking, reading, sharing and dropping lists.
 */
#include "base/log.h"
#include "service/blob/segments.h"
#include "service/row.h"
#include "service_fixture.h"
#include "test_random.h"

enum {
    CONTENT = 1000000, /* an id; those of payloads count up from it */
};

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- running decisions --- */

struct step {
    struct waiter waiter; /* first: the argument of both functions */
    struct service_fixture *fixture;
    struct arena arena; /* of the payloads */
    struct content content;
    struct strbuf wanted; /* the bytes of the content */
    size_t count;
    struct payload_writer **payloads;
    bool done;
    enum err err;
};

static struct slice partition_of_blobs(struct service_fixture *fixture)
{
    return blob_partition(&fixture->arena, 7);
}

static enum err run(struct step *step, change_fn *decide)
{
    waiter_init(&step->waiter);
    struct partition_update update = {
        .partition = partition_of_blobs(step->fixture),
        .decide = decide,
        .arg = step,
        .done = waiter_done,
    };
    partition_update(step->fixture->service.store, &update);
    return waiter_wait(&step->waiter);
}

static void note_synced(void *arg)
{
    waiter_done(arg, OK);
}

static struct payload_writer *payload_of(struct step *step, struct slice bytes)
{
    struct payload_writer *payload;
    assert_int_equal(payload_writer_new(&step->fixture->service, &step->arena, bytes.len, &payload),
                     OK);
    assert_int_equal(payload_writer_append(payload, bytes), OK);
    assert_int_equal(payload_writer_finish(payload), OK);
    struct waiter synced;
    waiter_init(&synced);
    payload_writer_sync(payload, note_synced, &synced);
    assert_int_equal(waiter_wait(&synced), OK);
    return payload;
}

/* Payloads of `count` pieces, of sizes at both sides of the limit of inline ones. */
static void make_payloads(struct step *step, size_t count)
{
    step->count = count;
    step->payloads = arena_alloc(&step->fixture->arena, count * sizeof(*step->payloads));
    strbuf_init(&step->wanted, &step->fixture->arena);
    for (size_t i = 0; i < count; i++) {
        char bytes[2 * FIXTURE_INLINE_BYTES];
        const size_t len = 1 + i * 37 % (sizeof(bytes) - 1);
        for (size_t at = 0; at < len; at++)
            bytes[at] = (char)(i * 31 + at);
        strbuf_add(&step->wanted, slice_make(bytes, len));
        step->payloads[i] = payload_of(step, slice_make(bytes, len));
    }
}

static void commit_payloads(struct step *step)
{
    for (size_t i = 0; i < step->count; i++)
        payload_writer_commit(step->payloads[i]);
    arena_release(&step->arena);
}

static enum err build_decide(struct change *change, void *arg)
{
    struct step *step = arg;
    struct segments_builder builder;
    segments_builder_init(&builder, change, CONTENT);
    for (size_t i = 0; i < step->count; i++) {
        const struct segment segment = segment_store(change, step->payloads[i], CONTENT + 1 + i);
        segments_builder_add(&builder, &segment, slice_of("id"));
    }
    segments_builder_finish(&builder, &step->content);
    return OK;
}

static struct step build(struct service_fixture *fixture, size_t count)
{
    struct step step = { .fixture = fixture };
    make_payloads(&step, count);
    assert_int_equal(run(&step, build_decide), OK);
    commit_payloads(&step);
    assert_int_equal(step.content.length_bytes, step.wanted.len);
    return step;
}

static enum err drop_decide(struct change *change, void *arg)
{
    const struct step *step = arg;
    return content_drop(change, &step->content);
}

static enum err share_decide(struct change *change, void *arg)
{
    struct step *step = arg;
    return content_share(change, &step->content);
}

static enum err sweep_decide(struct change *change, void *arg)
{
    struct step *step = arg;
    return content_sweep(change, step->content.id, &step->done);
}

static size_t row_count(struct service_fixture *fixture)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, partition_of_blobs(fixture), &out);
}

static size_t sweep_until_done(struct step *step)
{
    size_t count = 0;
    for (step->done = false; !step->done; count++)
        assert_int_equal(run(step, sweep_decide), OK);
    return count;
}

/* --- reading --- */

struct open_content {
    struct arena arena;
    struct partition_view view;
    struct payload_reader reader;
};

static void open_content(struct step *step, struct open_content *open)
{
    *open = (struct open_content){ 0 };
    partition_view_open_long(step->fixture->service.store, partition_of_blobs(step->fixture),
                             &open->view);
    assert_int_equal(content_open(&step->fixture->service, &open->view, &open->arena,
                                  &step->content, &open->reader),
                     OK);
    assert_int_equal(open->reader.length_bytes, step->content.length_bytes);
}

static void close_content(struct open_content *open)
{
    arena_release(&open->arena);
    partition_view_close(&open->view);
}

static void assert_part(struct step *step, struct open_content *open, size_t from, size_t len)
{
    char *bytes = arena_bytes(&step->fixture->arena, len);
    assert_int_equal(payload_read(&open->reader, from, bytes, len), OK);
    assert_memory_equal(bytes, step->wanted.data + from, len);
}

static void assert_reads(struct step *step)
{
    struct open_content open;
    open_content(step, &open);
    if (step->wanted.len > 0)
        assert_part(step, &open, 0, step->wanted.len);
    close_content(&open);
}

static void a_list_reads_as_its_pieces_one_after_the_other(void **state)
{
    struct service_fixture *fixture = *state;
    static const size_t counts[] = { 0, 1, 2, SEGMENTS_PER_ROW, SEGMENTS_PER_ROW + 1, 1300 };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct step step = build(fixture, counts[i]);
        assert_int_equal(step.content.place, counts[i] == 0 ? CONTENT_EMPTY : CONTENT_SEGMENTS);
        assert_reads(&step);
        assert_int_equal(run(&step, drop_decide), OK);
        sweep_until_done(&step);
        assert_int_equal(row_count(fixture), 0);
    }
}

static void any_part_can_be_read_in_any_order(void **state)
{
    struct service_fixture *fixture = *state;
    struct step step = build(fixture, 1300);
    struct test_random random = test_seed();
    struct open_content open;
    open_content(&step, &open);
    size_t next = 0;
    for (size_t i = 0; i < 1000; i++) {
        /* On from the last part, or anywhere. */
        const size_t from =
            random_below(&random, 2) == 0 ? next : random_below(&random, step.wanted.len);
        const size_t left = step.wanted.len - from;
        const size_t len = left < 2 ? left : 1 + random_below(&random, left < 3000 ? left : 3000);
        if (len > 0)
            assert_part(&step, &open, from, len);
        next = from + len == step.wanted.len ? 0 : from + len;
    }
    close_content(&open);
}

static void a_list_of_one_whole_payload_is_read_like_a_payload(void **state)
{
    struct service_fixture *fixture = *state;
    struct step step = { .fixture = fixture };
    step.count = 1;
    step.payloads = arena_alloc(&fixture->arena, sizeof(*step.payloads));
    for (size_t len = FIXTURE_INLINE_BYTES; len <= FIXTURE_INLINE_BYTES + 1; len++) {
        char bytes[FIXTURE_INLINE_BYTES + 1] = "content";
        strbuf_init(&step.wanted, &fixture->arena);
        strbuf_add(&step.wanted, slice_make(bytes, len));
        step.payloads[0] = payload_of(&step, slice_make(bytes, len));
        assert_int_equal(run(&step, build_decide), OK);
        commit_payloads(&step);
        struct open_content open;
        open_content(&step, &open);
        /* In memory, or in an extent so that sendfile is possible. */
        assert_int_equal(open.reader.bytes.len > 0, len == FIXTURE_INLINE_BYTES);
        assert_int_equal(open.reader.pin != NULL, len > FIXTURE_INLINE_BYTES);
        assert_part(&step, &open, 3, len - 3);
        close_content(&open);
        assert_int_equal(run(&step, drop_decide), OK);
    }
    assert_int_equal(row_count(fixture), 0);
}

static enum err gap_decide(struct change *change, void *arg)
{
    struct step *step = arg;
    for (size_t i = 0; i < step->count; i++) {
        struct segment_entry entry = {
            .segment = segment_store(change, step->payloads[i], CONTENT + 1 + i),
            .start = 1000 + 2000 * i,
        };
        segments_put_entry(change, CONTENT, &entry);
    }
    step->content = (struct content){ .place = CONTENT_SEGMENTS,
                                      .id = CONTENT,
                                      .length_bytes = 1000 + 2000 * step->count };
    return OK;
}

static void gaps_read_as_zeroes(void **state)
{
    struct service_fixture *fixture = *state;
    struct step step = { .fixture = fixture };
    make_payloads(&step, 5);
    const struct slice pieces = strbuf_slice(&step.wanted);
    assert_int_equal(run(&step, gap_decide), OK);
    commit_payloads(&step);
    char *wanted = arena_alloc(&fixture->arena, (size_t)step.content.length_bytes);
    for (size_t i = 0, at = 0; i < 5; i++) {
        const size_t len = 1 + i * 37;
        memcpy(wanted + 1000 + 2000 * i, pieces.data + at, len);
        at += len;
    }
    step.wanted = (struct strbuf){ .data = wanted, .len = (size_t)step.content.length_bytes };
    assert_reads(&step);
    struct test_random random = test_seed();
    struct open_content open;
    open_content(&step, &open);
    for (size_t i = 0; i < 300; i++) {
        const size_t from = random_below(&random, step.wanted.len);
        assert_part(&step, &open, from, 1 + random_below(&random, step.wanted.len - from));
    }
    close_content(&open);
}

/* --- walking --- */

static void a_cursor_begins_at_the_entry_that_has_the_offset(void **state)
{
    struct service_fixture *fixture = *state;
    struct step step = build(fixture, 1300);
    struct partition_view view;
    partition_view_open(fixture->service.store, partition_of_blobs(fixture), &view);
    struct test_random random = test_seed();
    for (size_t i = 0; i < 100; i++) {
        const uint64_t offset = i == 0 ? 0 : random_below(&random, step.wanted.len);
        struct arena arena = { 0 };
        struct segments_cursor cursor;
        segments_cursor_open_view(&cursor, &arena, &view, CONTENT, offset);
        struct segment_entry entry;
        assert_int_equal(segments_cursor_next(&cursor, &entry), OK);
        assert_true(entry.start <= offset);
        assert_true(offset < entry.start + entry.segment.length_bytes);
        assert_true(slice_is(entry.block_id, "id"));
        const uint64_t end = entry.start + entry.segment.length_bytes;
        const enum err err = segments_cursor_next(&cursor, &entry);
        if (end == step.wanted.len)
            assert_int_equal(err, ERR_NOT_FOUND);
        else
            assert_int_equal(entry.start, end);
        segments_cursor_close(&cursor);
        arena_release(&arena);
    }
    partition_view_close(&view);
}

/* --- appending --- */

static enum err append_decide(struct change *change, void *arg)
{
    struct step *step = arg;
    step->content = (struct content){ .id = CONTENT };
    for (size_t i = 0; i < step->count; i++) {
        const struct segment segment = segment_store(change, step->payloads[i], CONTENT + 1 + i);
        const enum err err = segments_append(change, &step->content, &segment);
        if (err != OK)
            return err;
    }
    return OK;
}

static void what_is_appended_is_read_in_its_order(void **state)
{
    struct service_fixture *fixture = *state;
    struct step step = { .fixture = fixture };
    make_payloads(&step, 3 * SEGMENTS_PER_ROW_APPENDED + 5);
    assert_int_equal(run(&step, append_decide), OK);
    commit_payloads(&step);
    assert_reads(&step);
    assert_int_equal(run(&step, drop_decide), OK);
    sweep_until_done(&step);
    assert_int_equal(row_count(fixture), 0);
}

/* --- dropping --- */

static bool count_marked(void *arg, struct slice partition)
{
    (void)partition;
    ++*(size_t *)arg;
    return true;
}

static size_t marked_count(struct service_fixture *fixture)
{
    size_t count = 0;
    assert_int_equal(partition_each_marked(fixture->service.store, count_marked, &count), OK);
    return count;
}

static void a_short_list_is_dropped_at_once(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t before = io_memory_bytes(fixture->io);
    struct step step = build(fixture, 20);
    assert_int_equal(run(&step, drop_decide), OK);
    assert_int_equal(row_count(fixture), 0);
    assert_int_equal(marked_count(fixture), 0);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

static void a_long_list_is_dropped_piece_by_piece(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t before = io_memory_bytes(fixture->io);
    struct step step = build(fixture, 5 * SEGMENTS_PER_ROW);
    assert_int_equal(run(&step, drop_decide), OK);
    assert_int_equal(marked_count(fixture), 1);
    assert_true(sweep_until_done(&step) >= 4);
    assert_int_equal(row_count(fixture), 0);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

static void shared_content_goes_with_the_last_record(void **state)
{
    struct service_fixture *fixture = *state;
    struct step step = build(fixture, 20);
    assert_int_equal(run(&step, share_decide), OK);
    assert_true(step.content.shared);
    assert_int_equal(run(&step, share_decide), OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(&step, drop_decide), OK);
        partition_reclaim(fixture->service.store);
        assert_reads(&step);
    }
    assert_int_equal(run(&step, drop_decide), OK);
    assert_int_equal(row_count(fixture), 0);
}

static void a_reader_keeps_what_is_dropped_behind_it(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t before = io_memory_bytes(fixture->io);
    struct step step = build(fixture, 1300);
    struct open_content open;
    open_content(&step, &open);
    assert_part(&step, &open, 0, 10);
    assert_int_equal(run(&step, drop_decide), OK);
    sweep_until_done(&step);
    partition_reclaim(fixture->service.store);
    assert_part(&step, &open, 10, step.wanted.len - 10);
    assert_part(&step, &open, 0, step.wanted.len);
    close_content(&open);
    partition_reclaim(fixture->service.store);
    assert_int_equal(io_memory_bytes(fixture->io), before);
}

enum {
    REPEATS = 3 * SEGMENTS_PER_ROW,
};

static enum err repeat_decide(struct change *change, void *arg)
{
    struct step *step = arg;
    struct segments_builder builder;
    segments_builder_init(&builder, change, CONTENT);
    struct segment segment = segment_store(change, step->payloads[0], CONTENT + 1);
    for (size_t i = 0; i < REPEATS; i++) {
        segments_builder_add(&builder, &segment, slice_of("id"));
        segment.repeated = true;
    }
    segments_builder_finish(&builder, &step->content);
    return OK;
}

static void a_payload_that_is_repeated_is_let_go_of_once(void **state)
{
    struct service_fixture *fixture = *state;
    struct step step = { .fixture = fixture, .count = 1 };
    step.payloads = arena_alloc(&fixture->arena, sizeof(*step.payloads));
    char bytes[1000] = "content";
    step.payloads[0] = payload_of(&step, slice_make(bytes, sizeof(bytes)));
    assert_int_equal(run(&step, repeat_decide), OK);
    commit_payloads(&step);
    assert_int_equal(step.content.length_bytes, REPEATS * sizeof(bytes));
    assert_int_equal(run(&step, drop_decide), OK);
    uint64_t given_back = partition_reclaim(fixture->service.store);
    for (step.done = false; !step.done;) {
        assert_int_equal(run(&step, sweep_decide), OK);
        given_back += partition_reclaim(fixture->service.store);
    }
    assert_int_equal(given_back, 1);
    assert_int_equal(row_count(fixture), 0);
}

/* --- owners --- */

static enum err own_decide(struct change *change, void *arg)
{
    struct step *step = arg;
    struct segment segment = segment_store(change, step->payloads[0], CONTENT + 1);
    segment_own(change, &segment, CONTENT + 2);
    segment_own(change, &segment, CONTENT + 2);
    enum err err = segment_disown(change, &segment);
    segment.owner = CONTENT + 2;
    if (err == OK && step->done)
        err = segment_disown(change, &segment);
    return err;
}

static void a_payload_lives_as_long_as_it_has_an_owner(void **state)
{
    struct service_fixture *fixture = *state;
    for (int all = 0; all < 2; all++) {
        for (size_t len = 50; len <= 500; len += 450) {
            const size_t rows_before = row_count(fixture);
            struct step step = { .fixture = fixture, .count = 1, .done = all };
            step.payloads = arena_alloc(&fixture->arena, sizeof(*step.payloads));
            char bytes[500] = "content";
            step.payloads[0] = payload_of(&step, slice_make(bytes, len));
            assert_int_equal(run(&step, own_decide), OK);
            commit_payloads(&step);
            const bool is_inline = len <= FIXTURE_INLINE_BYTES;
            assert_int_equal(partition_reclaim(fixture->service.store), all && !is_inline);
            /* inline bytes and the row of their owner */
            if (!all)
                assert_int_equal(row_count(fixture), rows_before + (is_inline ? 2 : 0));
        }
    }
}

/*
 * Steps with one inline payload, and the rows that are there afterwards: its bytes, its owners.
 *
 *   s        it is stored: owner 1, whose number is the payload's
 *   e        the row of owner 1, as earlier versions have written it with every payload
 *   o        owner 2 has it too
 *   c        owner 3 has it too, who has seen it some time ago, or elsewhere
 *   1, 2, 3  an owner lets go of it
 */
static const struct {
    const char *steps;
    size_t rows;
} OWNING[] = {
    { "s", 1 },      { "s1", 0 },   { "se", 2 },    { "se1", 0 }, { "so", 3 },   { "so1", 2 },
    { "so12", 0 },   { "so2", 2 },  { "so21", 0 },  { "seo", 3 }, { "seo1", 2 }, { "seo21", 0 },
    { "c", 2 },      { "c3", 0 },   { "cc", 2 },    { "cc3", 0 }, { "sc", 3 },   { "sc1", 2 },
    { "sc13", 0 },   { "sc3", 2 },  { "sc31", 0 },  { "soc", 4 }, { "soc1", 3 }, { "soc123", 0 },
    { "soc321", 0 }, { "so1c", 3 }, { "so1c2", 2 }, { "s1c", 2 }, { "s1c3", 0 }, { "so12c3", 0 },
};

static enum err owning_decide(struct change *change, void *arg)
{
    const struct step *step = arg;
    const struct slice bytes = slice_of("content");
    struct segment segment = { .payload_id = CONTENT + 1,
                               .owner = CONTENT + 1,
                               .range = { .length = bytes.len },
                               .length_bytes = bytes.len };
    enum err err = OK;
    for (const char *at = OWNING[step->count].steps; *at != '\0' && err == OK; at++) {
        struct segment other = segment;
        switch (*at) {
        case 's':
            segment = segment_store(change, step->payloads[0], CONTENT + 1);
            break;
        case 'e':
            change_put(change, owner_key(change_arena(change), CONTENT + 1, CONTENT + 1),
                       slice_of("row"));
            break;
        case 'o':
            segment_own(change, &segment, CONTENT + 2);
            break;
        case 'c':
            err = segment_own_copy(change, &segment, CONTENT + 3, bytes);
            break;
        default:
            other.owner = CONTENT + (uint64_t)(*at - '0');
            err = segment_disown(change, &other);
        }
    }
    return err;
}

/* All rows of the payload, for the next. */
static enum err forget_decide(struct change *change, void *arg)
{
    (void)arg;
    struct arena *arena = change_arena(change);
    change_delete(change, content_key(arena, CONTENT + 1));
    for (uint64_t owner = 1; owner <= 3; owner++)
        change_delete(change, owner_key(arena, CONTENT + 1, CONTENT + owner));
    return OK;
}

static void a_payload_goes_with_the_last_of_its_owners_in_any_order(void **state)
{
    struct service_fixture *fixture = *state;
    const size_t rows_before = row_count(fixture);
    for (size_t i = 0; i < sizeof(OWNING) / sizeof(OWNING[0]); i++) {
        struct step step = { .fixture = fixture };
        step.payloads = arena_alloc(&fixture->arena, sizeof(*step.payloads));
        step.payloads[0] = payload_of(&step, slice_of("content"));
        step.count = i;
        assert_int_equal(run(&step, owning_decide), OK);
        if (row_count(fixture) - rows_before != OWNING[i].rows)
            fail_msg("after %s there are %zu rows", OWNING[i].steps,
                     row_count(fixture) - rows_before);
        arena_release(&step.arena);
        assert_int_equal(run(&step, forget_decide), OK);
    }
}

/* --- the stored form --- */

static void a_segment_is_decoded_as_it_was_encoded(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct test_random random = test_seed();
    for (size_t i = 0; i < 2000; i++) {
        struct segment segment = {
            .payload_id = 1 + random_number(&random) / 2,
            .range = { .extent_id = random_below(&random, 2) * (1 + random_number(&random) / 2) },
            .skip_bytes = random_number(&random) / 4,
            .length_bytes = 1 + random_number(&random) / 4,
            .split = random_below(&random, 2),
            .repeated = random_below(&random, 2),
        };
        segment.owner =
            random_below(&random, 2) ? segment.payload_id : 1 + random_number(&random) / 2;
        segment.range.length =
            segment.skip_bytes + segment.length_bytes + random_below(&random, 2) * 100;
        if (segment.range.extent_id != 0)
            segment.range.offset = random_number(&random);
        const struct slice block_id = random_bytes(&random, &arena, 64);
        struct strbuf row;
        strbuf_init(&row, &arena);
        segment_encode(&segment, block_id, &row, 1);
        struct row_reader reader = { .rest = strbuf_slice(&row) };
        uint64_t tag;
        struct slice value;
        assert_int_equal(row_next(&reader, &tag, &value), OK);
        struct segment decoded;
        struct slice decoded_id;
        assert_int_equal(segment_decode(value, &decoded, &decoded_id), OK);
        assert_true(slice_equal(decoded_id, block_id));
        assert_int_equal(decoded.payload_id, segment.payload_id);
        assert_int_equal(decoded.owner, segment.owner);
        assert_int_equal(decoded.range.extent_id, segment.range.extent_id);
        assert_int_equal(decoded.range.offset, segment.range.offset);
        assert_int_equal(decoded.range.length, segment.range.length);
        assert_int_equal(decoded.skip_bytes, segment.skip_bytes);
        assert_int_equal(decoded.length_bytes, segment.length_bytes);
        assert_int_equal(decoded.split, segment.split);
        assert_int_equal(decoded.repeated, segment.repeated);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

static void any_bytes_are_a_segment_or_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct test_random random = test_seed();
    for (size_t i = 0; i < 20000; i++) {
        struct segment segment;
        struct slice block_id;
        const enum err err = segment_decode(random_bytes(&random, &arena, 40), &segment, &block_id);
        assert_true(err == OK || err == ERR_CORRUPT);
        if (err == OK)
            assert_true(segment.length_bytes <= segment.range.length);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(a_list_reads_as_its_pieces_one_after_the_other),
        ON_ROCKSDB(a_list_reads_as_its_pieces_one_after_the_other),
        ON_MEMORY(any_part_can_be_read_in_any_order),
        ON_ROCKSDB(any_part_can_be_read_in_any_order),
        ON_ALL_ENGINES(a_list_of_one_whole_payload_is_read_like_a_payload),
        ON_ALL_ENGINES(gaps_read_as_zeroes),
        ON_MEMORY(a_cursor_begins_at_the_entry_that_has_the_offset),
        ON_ROCKSDB(a_cursor_begins_at_the_entry_that_has_the_offset),
        ON_ALL_ENGINES(what_is_appended_is_read_in_its_order),
        ON_MEMORY(a_short_list_is_dropped_at_once),
        ON_MEMORY(a_long_list_is_dropped_piece_by_piece),
        ON_ALL_ENGINES(shared_content_goes_with_the_last_record),
        ON_MEMORY(a_reader_keeps_what_is_dropped_behind_it),
        ON_MEMORY(a_payload_that_is_repeated_is_let_go_of_once),
        ON_MEMORY(a_payload_lives_as_long_as_it_has_an_owner),
        ON_MEMORY(a_payload_goes_with_the_last_of_its_owners_in_any_order),
        cmocka_unit_test(a_segment_is_decoded_as_it_was_encoded),
        cmocka_unit_test(any_bytes_are_a_segment_or_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
