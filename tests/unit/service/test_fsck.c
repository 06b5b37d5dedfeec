/*
 * test_fsck.c - checking a store with every kind of content: it holds together, also when there is
 * something to reclaim; and each thing that is broken on purpose is found, and nothing else.
 */
#include <inttypes.h>

#include "base/encoding.h"
#include "fsck_fixture.h"
#include "service/blob/append.h"
#include "service/blob/block.h"
#include "service/blob/copy.h"
#include "service/blob/page.h"
#include "service/blob/segments.h"
#include "service/blob/snapshot.h"
#include "service/blob/tag_index.h"
#include "service/row.h"
#include "service/sweeper.h"

enum {
    SMALL = 50,   /* inline */
    LARGE = 5000, /* in an extent */
    LONG_LIST = SEGMENTS_DROPPED_AT_ONCE + 10,
};

/* --- the check --- */

/* Two findings of one cause, in this order. */
static void assert_findings(struct service_fixture *fixture, const char *first, const char *second)
{
    const struct findings findings = check(fixture);
    assert_int_equal(findings.count, 2);
    if (strstr(findings.words[0], first) == NULL || strstr(findings.words[1], second) == NULL)
        fail_msg("%s\n%s", findings.words[0], findings.words[1]);
}

/* --- content --- */

static struct slice bytes_of_len(struct service_fixture *fixture, size_t len)
{
    char *bytes = arena_bytes(&fixture->arena, len);
    memset(bytes, 'x', len);
    return slice_make(bytes, len);
}

/* Start a change that embeds a blob_change with a payload, and wait for it. */
static void await_payload(struct service_fixture *fixture, struct blob_change *change,
                          const char *name, size_t len, void (*start)(struct service *, void *))
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = blob_named("box", name);
    assert_int_equal(payload_writer_new(&fixture->service, &arena, len, &change->payload), OK);
    assert_int_equal(payload_writer_append(change->payload, bytes_of_len(fixture, len)), OK);
    assert_int_equal(payload_writer_finish(change->payload), OK);
    start(&fixture->service, change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void start_append(struct service *service, void *change)
{
    append_block(service, change);
}

static void start_block(struct service *service, void *change)
{
    block_put(service, change);
}

static void start_pages(struct service *service, void *change)
{
    page_write(service, change);
}

static void put(struct service_fixture *fixture, const char *container, const char *name,
                size_t len)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, container, name, bytes_of_len(fixture, len), &change),
                     OK);
}

static void append(struct service_fixture *fixture, const char *name, size_t len)
{
    struct append_change change = { 0 };
    await_payload(fixture, &change.blob, name, len, start_append);
}

static void put_block(struct service_fixture *fixture, const char *name, const char *id, size_t len)
{
    struct block_put change = { .block_id = slice_of(id) };
    await_payload(fixture, &change.change, name, len, start_block);
}

static void write_pages(struct service_fixture *fixture, const char *name, uint64_t first,
                        uint64_t count)
{
    struct page_change change = { .start = first * PAGE_BYTES,
                                  .end = (first + count) * PAGE_BYTES };
    await_payload(fixture, &change.blob, name, (size_t)(count * PAGE_BYTES), start_pages);
}

/* Commit the blocks whose ids are the letters. */
static void commit(struct service_fixture *fixture, const char *name, const char *letters)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct block_list_put put_list = { .block_count = strlen(letters) };
    struct block_ref *refs = arena_alloc(&arena, put_list.block_count * sizeof(*refs));
    for (size_t i = 0; i < put_list.block_count; i++)
        refs[i].block_id = slice_make(&letters[i], 1);
    put_list.blocks = refs;
    waiter_bind(&waiter, &put_list.change.base, &arena);
    put_list.change.name = blob_named("box", name);
    block_list_put(&fixture->service, &put_list);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static int64_t take_snapshot(struct service_fixture *fixture, const char *name)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct blob_snapshot change = { .name = blob_named("box", name) };
    waiter_bind(&waiter, &change.base, &arena);
    blob_snapshot(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    return change.snapshot;
}

static void copy(struct service_fixture *fixture, const char *from, const char *container,
                 const char *to)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct copy_change change = {
        .blob.name = blob_named(container, to),
        .source = blob_named("box", from),
        .url = slice_of("http://source"),
    };
    waiter_bind(&waiter, &change.blob.base, &arena);
    copy_blob(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void make_append(struct service_fixture *fixture, const char *name)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_await(fixture, name, append_create, &change), OK);
}

static void make_pages(struct service_fixture *fixture, const char *name, uint64_t count)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct page_change change = { .size_bytes = count * PAGE_BYTES };
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named("box", name);
    page_create(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void remove_blob(struct service_fixture *fixture, const char *name,
                        enum blob_snapshots snapshots)
{
    struct blob_change change = { .snapshots = snapshots };
    assert_int_equal(blob_await(fixture, name, blob_delete, &change), OK);
}

static void tag(struct service_fixture *fixture, const char *name)
{
    static struct metadata_pair pairs[] = { { SLICE_LITERAL("color"), SLICE_LITERAL("blue") } };
    struct blob_change change = { .tags = { .pairs = pairs, .count = 1 } };
    assert_int_equal(blob_await(fixture, name, blob_set_tags, &change), OK);
}

/* A container with every kind of content, of both places. */
static void fill(struct service_fixture *fixture)
{
    container_make(fixture, "box");
    container_make(fixture, "other");
    put(fixture, "box", "empty", 0);
    put(fixture, "box", "small", SMALL);
    put(fixture, "box", "large", LARGE);
    tag(fixture, "large");

    put_block(fixture, "blocks", "a", SMALL);
    put_block(fixture, "blocks", "b", LARGE);
    put_block(fixture, "blocks", "c", LARGE);
    put_block(fixture, "blocks", "d", SMALL);
    commit(fixture, "blocks", "abba");
    put_block(fixture, "blocks", "e", SMALL);
    put_block(fixture, "blocks", "f", LARGE);
    take_snapshot(fixture, "blocks");

    make_append(fixture, "log");
    append(fixture, "log", SMALL);
    append(fixture, "log", LARGE);
    take_snapshot(fixture, "log");
    append(fixture, "log", SMALL);

    make_pages(fixture, "pages", 64);
    write_pages(fixture, "pages", 0, 16);
    write_pages(fixture, "pages", 4, 2); /* what was there is split */
    take_snapshot(fixture, "pages");
    write_pages(fixture, "pages", 5, 20);
    make_pages(fixture, "no pages", 8);

    static const char *const names[] = { "small", "large", "blocks", "log", "pages" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        copy(fixture, names[i], "box", arena_printf(&fixture->arena, "copy of %s", names[i]).data);
        copy(fixture, names[i], "other", names[i]);
    }
}

/* --- breaking things: decisions of the test's own --- */

struct tampering {
    struct partition_update update;
    struct waiter waiter;
    struct slice key;
    struct slice value; /* empty: the row is deleted */
    struct stream_range own;
    struct stream_range disown;
    uint64_t owner;
    bool unmarks;
};

static enum err tamper_decide(struct change *change, void *arg)
{
    const struct tampering *tampering = arg;
    if (tampering->key.len > 0 && tampering->value.len > 0)
        change_put(change, tampering->key, tampering->value);
    else if (tampering->key.len > 0)
        change_delete(change, tampering->key);
    if (tampering->own.length > 0)
        change_own(change, &tampering->own, tampering->owner);
    if (tampering->disown.length > 0)
        change_disown(change, &tampering->disown, tampering->owner);
    if (tampering->unmarks)
        change_unmark(change);
    return OK;
}

static void tamper_done(void *arg, enum err err)
{
    struct tampering *tampering = arg;
    waiter_done(&tampering->waiter, err);
}

static struct slice partition_of(struct service_fixture *fixture, const char *container)
{
    struct slice partition;
    const struct container_name name = container_named(container);
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    return partition;
}

static void tamper_in(struct service_fixture *fixture, struct slice partition,
                      struct tampering *tampering)
{
    waiter_init(&tampering->waiter);
    tampering->update = (struct partition_update){
        .partition = partition, .decide = tamper_decide, .arg = tampering, .done = tamper_done
    };
    partition_update(fixture->service.store, &tampering->update);
    assert_int_equal(waiter_wait(&tampering->waiter), OK);
}

static void tamper(struct service_fixture *fixture, struct tampering *tampering)
{
    tamper_in(fixture, partition_of(fixture, "box"), tampering);
}

static void put_row(struct service_fixture *fixture, struct slice key, struct slice value)
{
    struct tampering tampering = { .key = key, .value = value };
    tamper(fixture, &tampering);
}

static void delete_row(struct service_fixture *fixture, struct slice key)
{
    put_row(fixture, key, (struct slice){ 0 });
}

static struct slice get_row(struct service_fixture *fixture, struct slice key)
{
    struct slice value;
    assert_int_equal(partition_get(fixture->service.store, &fixture->arena,
                                   partition_of(fixture, "box"), key, &value),
                     OK);
    return value;
}

/* The first key of a kind, or the first after `after`. */
static struct slice find_key_or_none(struct service_fixture *fixture, const char *prefix)
{
    struct partition_view view;
    partition_view_open(fixture->service.store, partition_of(fixture, "box"), &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of(prefix), (struct slice){ 0 });
    struct slice key = { 0 };
    struct slice value;
    if (cursor_next(cursor, &key, &value) == OK)
        key = arena_copy(&fixture->arena, key);
    else
        key = (struct slice){ 0 };
    cursor_free(cursor);
    partition_view_close(&view);
    return key;
}

static struct slice find_key(struct service_fixture *fixture, const char *prefix)
{
    const struct slice key = find_key_or_none(fixture, prefix);
    assert_true(key.len > 0);
    return key;
}

static struct slice number_row(struct service_fixture *fixture, uint64_t number)
{
    struct strbuf row;
    strbuf_init(&row, &fixture->arena);
    row_begin(&row, ROW_NUMBER);
    row_add_number(&row, 1, number);
    return strbuf_slice(&row);
}

static struct blob record_of(struct service_fixture *fixture, const char *name)
{
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, name, &blob), OK);
    return blob;
}

static void put_record(struct service_fixture *fixture, const char *name, const struct blob *blob)
{
    put_row(fixture, blob_key(&fixture->arena, slice_of(name)), blob_encode(&fixture->arena, blob));
}

static uint64_t content_of(struct service_fixture *fixture, const char *name)
{
    return record_of(fixture, name).content.id;
}

/* The first entry of a list. */
static struct segment first_segment(struct service_fixture *fixture, uint64_t content_id,
                                    bool is_inline)
{
    struct partition_view view;
    struct arena arena = { 0 };
    struct segments_cursor cursor;
    struct segment_entry entry;
    partition_view_open(fixture->service.store, partition_of(fixture, "box"), &view);
    segments_cursor_open_view(&cursor, &arena, &view, content_id, 0);
    do
        assert_int_equal(segments_cursor_next(&cursor, &entry), OK);
    while ((entry.segment.range.extent_id == 0) != is_inline);
    segments_cursor_close(&cursor);
    partition_view_close(&view);
    arena_release(&arena);
    return entry.segment;
}

static void flip_byte(struct service_fixture *fixture, const struct stream_range *range)
{
    char path[64];
    struct io_file *file;
    snprintf(path, sizeof(path), "extents/%016" PRIx64 ".ext", range->extent_id);
    assert_int_equal(io_file_open(fixture->io, path, IO_OPEN_EXISTING, &file), OK);
    assert_int_equal(io_file_write(file, range->offset + 7, slice_of("!")), OK);
    io_file_close(file);
}

/* --- it holds together --- */

static void a_store_with_every_kind_of_content_holds_together(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct fsck_summary summary = assert_clean(fixture);
    assert_int_equal(summary.container_count, 2);
    assert_int_equal(summary.blob_count, 7 + 2 * 5);
    assert_int_equal(summary.snapshot_count, 3);
    assert_int_equal(summary.extent_count, 1);
    assert_true(summary.live_bytes > 5 * LARGE);
    assert_int_equal(summary.deleted_container_count, 0);
    assert_int_equal(summary.dropped_count, 0);
}

static void an_empty_store_holds_together(void **state)
{
    struct service_fixture *fixture = *state;
    const struct fsck_summary summary = assert_clean(fixture);
    assert_int_equal(summary.container_count, 0);
    assert_int_equal(summary.extent_count, 0);
}

static void it_holds_together_while_all_is_removed_again(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    static const char *const names[] = {
        "log", "blocks", "pages", "large", "small", "copy of blocks", "copy of log", "copy of pages"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        remove_blob(fixture, names[i], BLOB_SNAPSHOTS_INCLUDE);
        assert_clean(fixture);
        partition_reclaim(fixture->service.store);
        assert_clean(fixture);
    }
}

static void a_snapshot_of_an_append_blob_may_be_shorter_than_the_list(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    make_append(fixture, "log");
    append(fixture, "log", SMALL);
    take_snapshot(fixture, "log");
    append(fixture, "log", LARGE);
    put(fixture, "box", "log", SMALL); /* the snapshot stays */
    assert_clean(fixture);
}

static void a_deleted_container_is_to_be_reclaimed(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    assert_int_equal(container_remove(fixture, "box"), OK);
    const struct fsck_summary before = assert_clean(fixture);
    assert_int_equal(before.container_count, 1);
    assert_int_equal(before.blob_count, 5);
    assert_int_equal(before.deleted_container_count, 1);

    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    const struct fsck_summary after = assert_clean(fixture);
    assert_int_equal(after.deleted_container_count, 0);
}

static void make_long_list(struct service_fixture *fixture, const char *name)
{
    make_append(fixture, name);
    for (unsigned i = 0; i < LONG_LIST; i++)
        append(fixture, name, i % 8 == 0 ? LARGE : SMALL);
}

static void a_long_list_that_was_dropped_is_to_be_reclaimed(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    make_long_list(fixture, "log");
    remove_blob(fixture, "log", BLOB_SNAPSHOTS_NONE);
    assert_int_equal(assert_clean(fixture).dropped_count, 1);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(assert_clean(fixture).dropped_count, 0);
}

static void repeated_blocks_of_a_list_half_dropped_are_no_fault(void **state)
{
    struct service_fixture *fixture = *state;
    char letters[2 * SEGMENTS_PER_ROW + 1];
    memset(letters, 'a', sizeof(letters) - 1);
    letters[sizeof(letters) - 1] = '\0';
    container_make(fixture, "box");
    put_block(fixture, "blocks", "a", LARGE);
    commit(fixture, "blocks", letters);
    assert_clean(fixture);
    remove_blob(fixture, "blocks", BLOB_SNAPSHOTS_NONE);
    assert_int_equal(assert_clean(fixture).dropped_count, 1);
}

static void content_that_was_being_made_is_to_be_reclaimed(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    /* The list of a copy that did not end: the record is gone, a row 'y' is there. */
    const struct blob blob = record_of(fixture, "copy of log");
    struct tampering tampering = {
        .key = unfinished_key(&fixture->arena, blob.content.id),
        .value = number_row(fixture, 1),
    };
    tamper(fixture, &tampering);
    delete_row(fixture, blob_key(&fixture->arena, slice_of("copy of log")));
    assert_int_equal(assert_clean(fixture).unfinished_count, 1);
}

/* --- records and containers --- */

static void a_damaged_record_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, blob_key(&fixture->arena, slice_of("empty")), slice_of("nonsense"));
    assert_finding(fixture, "devstoreaccount1/box/empty: the record is damaged");
    assert_left_alone(fixture);
}

static void a_damaged_key_of_a_record_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, slice_of("bshort"),
            get_row(fixture, blob_key(&fixture->arena, slice_of("empty"))));
    assert_finding(fixture, "the key of a record, 6 bytes, is damaged");
    assert_left_alone(fixture);
}

static void names_are_printed_on_one_line(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put(fixture, "box", "two\nlines 100%", 0);
    put_row(fixture, blob_key(&fixture->arena, slice_of("two\nlines 100%")), slice_of("nonsense"));
    assert_finding(fixture, "box/two%0Alines 100%25: the record is damaged");
}

static void rows_of_unknown_kind_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, slice_of("?"), slice_of("x"));
    assert_finding(fixture, "devstoreaccount1/box: there is a row of unknown kind 0x3f");
    assert_left_alone(fixture);
}

static void partitions_of_unknown_kind_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct tampering tampering = { .key = slice_of("k"), .value = slice_of("v") };
    tamper_in(fixture, slice_of("?what"), &tampering);
    assert_finding(fixture, "partition of unknown kind: \"?what\"");
    assert_left_alone(fixture);
}

static void faults_of_an_account_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct slice account = account_partition(&fixture->arena, slice_of(FIXTURE_ACCOUNT_NAME));
    static const char *const rows[][2] = {
        { "cfoo", "devstoreaccount1/foo: the container's record is damaged" },
        { "g", "devstoreaccount1: the row of a deleted container is damaged" },
        { "pb", "devstoreaccount1: the service properties are damaged" },
        { "?", "devstoreaccount1: there is a row of unknown kind" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tampering broken = { .key = slice_of(rows[i][0]), .value = slice_of("x") };
        tamper_in(fixture, account, &broken);
        assert_finding(fixture, rows[i][1]);
        broken.value = (struct slice){ 0 };
        tamper_in(fixture, account, &broken);
    }
    assert_clean(fixture);
}

static void two_containers_with_the_same_blobs_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct slice account = account_partition(&fixture->arena, slice_of(FIXTURE_ACCOUNT_NAME));
    struct slice row;
    assert_int_equal(partition_get(fixture->service.store, &fixture->arena, account,
                                   container_key(&fixture->arena, slice_of("box")), &row),
                     OK);
    struct tampering twin = { .key = slice_of("ctwin"), .value = row };
    tamper_in(fixture, account, &twin);
    assert_finding(fixture, "have the same blobs");
    assert_left_alone(fixture);
}

static void blobs_of_a_container_that_is_gone_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put(fixture, "box", "small", SMALL);
    const struct slice account = account_partition(&fixture->arena, slice_of(FIXTURE_ACCOUNT_NAME));
    struct tampering lost = { .key = container_key(&fixture->arena, slice_of("box")) };
    tamper_in(fixture, account, &lost);
    assert_finding(fixture, "its 1 blobs are still there, and nobody will reclaim them");
    assert_left_alone(fixture);
}

static void a_container_that_is_closed_but_not_deleted_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, closed_key(), slice_of("x"));
    assert_finding(fixture, "devstoreaccount1/box: it is closed");
    assert_left_alone(fixture);
}

static void a_snapshot_without_blob_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put(fixture, "box", "empty", 0);
    take_snapshot(fixture, "empty");
    delete_row(fixture, blob_key(&fixture->arena, slice_of("empty")));
    assert_finding(fixture, "box/empty: there is a snapshot of it, but no blob");
    assert_left_alone(fixture);
}

static void tags_and_their_index_that_differ_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct slice key = find_key(fixture, "t");
    const struct slice row = get_row(fixture, key);
    delete_row(fixture, key);
    assert_finding(fixture, "box/large: its tag \"color\" is not in the index");
    put_row(fixture, key, row);
    assert_clean(fixture);

    const struct metadata_pair red = { slice_of("color"), slice_of("red") };
    put_row(fixture, tag_index_key(&fixture->arena, &red, slice_of("large")), row);
    assert_finding(fixture, "box/large: the index has its tag \"color\", which it has not");
    assert_repaired(fixture);
}

static void a_pending_copy_that_nothing_ends_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put(fixture, "box", "empty", 0);
    struct blob blob = record_of(fixture, "empty");
    blob.copy = (struct blob_copy){ .status = BLOB_COPY_PENDING, .source = slice_of("http://x") };
    put_record(fixture, "empty", &blob);
    assert_finding(fixture, "box/empty: its copy is pending, and nothing will end it");
    assert_repaired(fixture);
}

/* --- inline bytes --- */

static void missing_inline_bytes_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    delete_row(fixture, content_key(&fixture->arena, content_of(fixture, "small")));
    assert_finding(fixture, "are missing");
    assert_left_alone(fixture);
}

static void missing_inline_bytes_of_a_block_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct segment segment = first_segment(fixture, content_of(fixture, "blocks"), true);
    delete_row(fixture, content_key(&fixture->arena, segment.payload_id));
    assert_finding(fixture, "are missing");
    assert_left_alone(fixture);
}

static void inline_bytes_of_another_length_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, content_key(&fixture->arena, content_of(fixture, "small")), slice_of("few"));
    assert_finding(fixture, "are not as many as its blob says");
    assert_left_alone(fixture);
}

static void inline_bytes_that_nothing_names_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, content_key(&fixture->arena, 4711), slice_of("lost"));
    assert_finding(fixture, "payload 4711 are there, and nothing names them");
    assert_repaired(fixture);
}

static void a_missing_owner_of_inline_bytes_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    /* The snapshot has the block, too. */
    const struct segment segment = first_segment(fixture, content_of(fixture, "blocks"), true);
    commit(fixture, "blocks", "ab");
    delete_row(fixture, owner_key(&fixture->arena, segment.payload_id, segment.payload_id));
    assert_finding(fixture, "are not owned by a blob that has them");
    assert_repaired(fixture);
}

static void of_two_owners_of_inline_bytes_none_goes_without_saying(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct segment segment = first_segment(fixture, content_of(fixture, "blocks"), true);
    commit(fixture, "blocks", "ab");
    const uint64_t other = content_of(fixture, "blocks");
    delete_row(fixture, owner_key(&fixture->arena, segment.payload_id, segment.payload_id));
    delete_row(fixture, owner_key(&fixture->arena, segment.payload_id, other));
    const struct findings findings = check(fixture);
    assert_int_equal(findings.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_non_null(strstr(findings.words[i], "are not owned by a blob that has them"));
    assert_repaired(fixture);
}

/* Versions that are older have written it for each. */
static void the_only_owner_of_inline_bytes_may_have_a_row(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct segment segment = first_segment(fixture, content_of(fixture, "blocks"), true);
    assert_int_equal(segment.owner, segment.payload_id);
    put_row(fixture, owner_key(&fixture->arena, segment.payload_id, segment.owner),
            number_row(fixture, 1));
    assert_int_equal(check(fixture).count, 0);
}

static void an_owner_of_inline_bytes_whom_nothing_names_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct segment segment = first_segment(fixture, content_of(fixture, "blocks"), true);
    put_row(fixture, owner_key(&fixture->arena, segment.payload_id, 4711), number_row(fixture, 1));
    /* It is not alone then, so it does not go without saying who else has them. */
    assert_findings(fixture, "have an owner whom nothing names",
                    "are not owned by a blob that has them");
    assert_repaired(fixture);
}

/* --- payloads in extents --- */

static void a_flipped_bit_is_found_with_the_name_of_the_blob(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put(fixture, "box", "large", LARGE);
    const struct blob blob = record_of(fixture, "large");
    flip_byte(fixture, &blob.content.range);
    assert_finding(fixture, "is damaged: stored bytes fail their checksum or their format; "
                            "it belongs to devstoreaccount1/box/large");
    assert_left_alone(fixture);
}

static void a_flipped_bit_in_shared_bytes_is_found_once(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct segment segment = first_segment(fixture, content_of(fixture, "blocks"), false);
    flip_byte(fixture, &segment.range);
    assert_finding(fixture, "it belongs to devstoreaccount1/box/blocks and 1 more");
    assert_left_alone(fixture);
}

static void a_missing_owner_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct blob blob = record_of(fixture, "large");
    struct tampering tampering = { .disown = blob.content.range, .owner = blob.content.id };
    tamper(fixture, &tampering);
    assert_finding(fixture, "are not owned by it");
    assert_repaired(fixture);
}

static void an_owner_whom_nothing_names_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct blob blob = record_of(fixture, "large");
    struct tampering tampering = { .own = blob.content.range, .owner = 4711 };
    tamper(fixture, &tampering);
    assert_finding(fixture, "has owner 4711, whom nothing names");
    assert_repaired(fixture);
}

static void a_record_that_names_an_extent_that_is_not_there_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put(fixture, "box", "empty", 0);
    struct blob blob = record_of(fixture, "empty");
    blob.content = (struct content){
        .place = CONTENT_EXTENT, .id = 4711, .length_bytes = 10, .range = { 12345, 0, 10 }
    };
    put_record(fixture, "empty", &blob);
    assert_finding(fixture,
                   "box/empty: its 10 bytes in extent 0000000000003039 at 0 are not owned");
    struct tampering tampering = { .own = blob.content.range, .owner = 4711 };
    tamper(fixture, &tampering);
    assert_finding(fixture, "extent 0000000000003039 is missing, with the range of 10 bytes at 0; "
                            "it belongs to devstoreaccount1/box/empty");
    assert_left_alone(fixture);
}

static void two_contents_with_one_owner_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    container_make(fixture, "other");
    put(fixture, "box", "large", LARGE);
    struct tampering twin = {
        .key = blob_key(&fixture->arena, slice_of("twin")),
        .value = get_row(fixture, blob_key(&fixture->arena, slice_of("large"))),
    };
    tamper_in(fixture, partition_of(fixture, "other"), &twin);
    assert_finding(fixture, "box/large and devstoreaccount1/other/twin have the same owner");
    assert_left_alone(fixture);
}

/* --- shared content --- */

static void a_wrong_count_of_records_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const uint64_t id = content_of(fixture, "blocks");
    put_row(fixture, share_count_key(&fixture->arena, id), number_row(fixture, 5));
    assert_finding(fixture, "is named by 3 records, and its count says 6");
    delete_row(fixture, share_count_key(&fixture->arena, id));
    assert_finding(fixture, "is named by 3 records, and its count says 1");
    assert_repaired(fixture);
}

static void a_count_of_content_that_nothing_names_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, share_count_key(&fixture->arena, 4711), number_row(fixture, 1));
    assert_finding(fixture, "there is a count of content 4711, which nothing names");
    assert_repaired(fixture);
}

static void a_record_that_does_not_know_that_it_shares_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct blob blob = record_of(fixture, "small");
    blob.content.shared = false;
    put_record(fixture, "small", &blob);
    assert_finding(fixture, "is named by several records, and one of them does not know it");
    assert_left_alone(fixture);
}

/* --- lists --- */

static void a_missing_list_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    make_append(fixture, "log");
    append(fixture, "log", SMALL);
    const struct blob blob = record_of(fixture, "log");
    delete_row(fixture, segments_key(&fixture->arena, blob.content.id, SMALL));
    /* What the list had is not named any more. */
    const struct findings findings = check(fixture);
    assert_int_equal(findings.count, 2);
    assert_non_null(strstr(findings.words[0], "is a list that is not there"));
    assert_non_null(strstr(findings.words[1], "are there, and nothing names them"));
    assert_left_alone(fixture);
}

static void a_list_that_nothing_names_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    make_append(fixture, "log");
    append(fixture, "log", LARGE);
    delete_row(fixture, blob_key(&fixture->arena, slice_of("log")));
    assert_finding(fixture, "is a list that nothing names");
    assert_repaired(fixture);
}

static void a_list_that_is_to_be_removed_but_has_a_blob_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, dropped_key(&fixture->arena, content_of(fixture, "log")),
            number_row(fixture, 1));
    assert_finding(fixture, "is to be removed, but a blob has it");
    assert_left_alone(fixture);
}

static void a_record_that_is_not_as_long_as_its_list_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct blob blob = record_of(fixture, "copy of log");
    blob.content.length_bytes++;
    put_record(fixture, "copy of log", &blob);
    assert_finding(fixture, "is shorter than its blob");
    blob.content.length_bytes -= 2;
    put_record(fixture, "copy of log", &blob);
    assert_finding(fixture, "has a blob that ends within one of its blocks");
    blob.content.length_bytes++;
    blob.block_count++;
    put_record(fixture, "copy of log", &blob);
    assert_finding(fixture, "has another number of blocks than its blob");
    assert_left_alone(fixture);
}

static void a_page_blob_that_ends_before_its_pages_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct blob blob = record_of(fixture, "pages");
    blob.content.length_bytes = 8 * PAGE_BYTES;
    put_record(fixture, "pages", &blob);
    assert_finding(fixture, "is longer than its blob");
    assert_left_alone(fixture);
}

static void a_row_under_the_wrong_key_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    make_append(fixture, "log");
    append(fixture, "log", SMALL);
    const uint64_t id = content_of(fixture, "log");
    const struct slice key = segments_key(&fixture->arena, id, SMALL);
    put_row(fixture, segments_key(&fixture->arena, id, SMALL + 1), get_row(fixture, key));
    delete_row(fixture, key);
    assert_finding(fixture, "has a row that does not end where its key says");
}

static void a_damaged_row_of_a_list_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, segments_key(&fixture->arena, content_of(fixture, "no pages"), 512),
            slice_of("nonsense"));
    assert_finding(fixture, "a row of a list of content is damaged");
    assert_left_alone(fixture);
}

/* --- uncommitted blocks and marks --- */

static void blocks_without_a_row_about_them_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_block(fixture, "blocks", "a", SMALL);
    put_block(fixture, "blocks", "b", LARGE);
    assert_clean(fixture);
    delete_row(fixture, uncommitted_key(&fixture->arena, slice_of("blocks")));
    assert_finding(fixture, "box/blocks: it has 2 uncommitted blocks without a row 'w'");
    assert_left_alone(fixture);
}

static void a_row_about_blocks_that_are_not_there_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_block(fixture, "blocks", "a", SMALL);
    put_row(fixture, uncommitted_key(&fixture->arena, slice_of("bl")),
            get_row(fixture, uncommitted_key(&fixture->arena, slice_of("blocks"))));
    assert_finding(fixture, "box/bl: its row says that there are uncommitted blocks");
    assert_repaired(fixture);
}

static void a_wrong_number_of_blocks_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_block(fixture, "more", "a", SMALL);
    const struct slice key = uncommitted_key(&fixture->arena, slice_of("more"));
    const struct slice before = get_row(fixture, key);
    put_block(fixture, "more", "b", LARGE);
    put_row(fixture, key, before);
    assert_finding(fixture,
                   "its uncommitted blocks are 2 of 5050 bytes, and their row says 1 of 50");
    assert_repaired(fixture);
}

static void a_damaged_block_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    put_block(fixture, "blocks", "a", LARGE);
    struct uncommitted uncommitted;
    const struct slice name = slice_of("blocks");
    const struct slice row = get_row(fixture, uncommitted_key(&fixture->arena, name));
    assert_int_equal(uncommitted_decode(row, &uncommitted), OK);
    put_row(fixture, block_key(&fixture->arena, name, uncommitted.created_at, slice_of("a")),
            slice_of("nonsense"));
    assert_findings(fixture, "box/blocks: an uncommitted block is damaged", "whom nothing names");
    assert_left_alone(fixture);
}

static void a_partition_with_work_but_no_mark_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct tampering tampering = { .unmarks = true };
    tamper(fixture, &tampering);
    assert_finding(fixture, "devstoreaccount1/box: the sweeper has work here, but no mark");
    assert_repaired(fixture);
}

/* --- repairing --- */

static void repairs_make_again_what_was_there_and_change_nothing_else(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct slice before = fixture_dump(fixture);
    static const char *const derived[] = { "t", "v", "n" };
    for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++) {
        unsigned count = 0;
        for (struct slice key; (key = find_key_or_none(fixture, derived[i])).len > 0; count++)
            delete_row(fixture, key);
        assert_true(count > 0);
        assert_int_equal(check(fixture).count > 0, true);
        assert_repaired(fixture);
        fixture_assert_unchanged(fixture, before);
    }
}

/* What nothing names may be named by what cannot be read. */
static void nothing_is_taken_away_while_a_record_cannot_be_read(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, content_key(&fixture->arena, 4711), slice_of("lost"));
    const struct slice key = blob_key(&fixture->arena, slice_of("small"));
    const struct slice record = get_row(fixture, key);
    put_row(fixture, key, slice_of("nonsense"));
    const struct slice before = fixture_dump(fixture);
    assert_left_alone(fixture);
    fixture_assert_unchanged(fixture, before);
    put_row(fixture, key, record);
    assert_repaired(fixture);
}

static void what_can_be_entered_again_is_while_a_record_cannot_be_read(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    put_row(fixture, blob_key(&fixture->arena, slice_of("empty")), slice_of("nonsense"));
    delete_row(fixture, find_key(fixture, "t"));
    assert_int_equal(check(fixture).count, 2);
    assert_int_equal(repair_once(fixture), 1);
    assert_finding(fixture, "box/empty: the record is damaged");
}

/* --- a store on disk, looked at only --- */

static void reopen(struct service_fixture *fixture, bool read_only)
{
    const struct stream_options stream_options = {
        .extent_bytes = STREAM_EXTENT_BYTES,
        .dedicated_bytes = STREAM_DEDICATED_BYTES,
        .read_only = read_only,
    };
    partition_close(fixture->service.store);
    stream_close(fixture->stream);
    assert_int_equal(
        stream_open_with(fixture->io, &fixture->clock, &stream_options, &fixture->stream), OK);
    fixture->service.stream = fixture->stream;
    const struct partition_options options = {
        .clock = &fixture->clock, .stream = fixture->stream, .committers = 2, .read_only = read_only
    };
    assert_int_equal(partition_open_rocksdb(fixture->path, &options, &fixture->service.store), OK);
}

static void a_store_opened_to_be_looked_at_is_checked_and_stays_as_it_is(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    make_long_list(fixture, "long");
    remove_blob(fixture, "long", BLOB_SNAPSHOTS_NONE);
    const struct slice before = fixture_dump(fixture);
    for (unsigned i = 0; i < 2; i++) {
        reopen(fixture, true);
        const struct fsck_summary summary = assert_clean(fixture);
        assert_int_equal(summary.dropped_count, 1);
        assert_true(summary.reclaimable_bytes > 0);
        fixture_assert_unchanged(fixture, before);
    }
    reopen(fixture, false);
    fixture_assert_unchanged(fixture, before);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    reopen(fixture, true);
    assert_int_equal(assert_clean(fixture).dropped_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(a_store_with_every_kind_of_content_holds_together),
        ON_ROCKSDB(a_store_with_every_kind_of_content_holds_together),
        ON_MEMORY(an_empty_store_holds_together),
        ON_ROCKSDB(an_empty_store_holds_together),
        ON_MEMORY(it_holds_together_while_all_is_removed_again),
        ON_MEMORY(a_snapshot_of_an_append_blob_may_be_shorter_than_the_list),
        ON_MEMORY(a_deleted_container_is_to_be_reclaimed),
        ON_MEMORY(a_long_list_that_was_dropped_is_to_be_reclaimed),
        ON_MEMORY(repeated_blocks_of_a_list_half_dropped_are_no_fault),
        ON_MEMORY(content_that_was_being_made_is_to_be_reclaimed),
        ON_MEMORY(a_damaged_record_is_found),
        ON_MEMORY(a_damaged_key_of_a_record_is_found),
        ON_MEMORY(names_are_printed_on_one_line),
        ON_MEMORY(rows_of_unknown_kind_are_found),
        ON_MEMORY(partitions_of_unknown_kind_are_found),
        ON_MEMORY(faults_of_an_account_are_found),
        ON_MEMORY(two_containers_with_the_same_blobs_are_found),
        ON_MEMORY(blobs_of_a_container_that_is_gone_are_found),
        ON_MEMORY(a_container_that_is_closed_but_not_deleted_is_found),
        ON_MEMORY(a_snapshot_without_blob_is_found),
        ON_MEMORY(tags_and_their_index_that_differ_are_found),
        ON_MEMORY(a_pending_copy_that_nothing_ends_is_found),
        ON_MEMORY(missing_inline_bytes_are_found),
        ON_MEMORY(missing_inline_bytes_of_a_block_are_found),
        ON_MEMORY(inline_bytes_of_another_length_are_found),
        ON_MEMORY(inline_bytes_that_nothing_names_are_found),
        ON_MEMORY(a_missing_owner_of_inline_bytes_is_found),
        ON_MEMORY(of_two_owners_of_inline_bytes_none_goes_without_saying),
        ON_MEMORY(the_only_owner_of_inline_bytes_may_have_a_row),
        ON_MEMORY(an_owner_of_inline_bytes_whom_nothing_names_is_found),
        ON_MEMORY(a_flipped_bit_is_found_with_the_name_of_the_blob),
        ON_MEMORY(a_flipped_bit_in_shared_bytes_is_found_once),
        ON_MEMORY(a_missing_owner_is_found),
        ON_MEMORY(an_owner_whom_nothing_names_is_found),
        ON_MEMORY(a_record_that_names_an_extent_that_is_not_there_is_found),
        ON_MEMORY(two_contents_with_one_owner_are_found),
        ON_MEMORY(a_wrong_count_of_records_is_found),
        ON_MEMORY(a_count_of_content_that_nothing_names_is_found),
        ON_MEMORY(a_record_that_does_not_know_that_it_shares_is_found),
        ON_MEMORY(a_missing_list_is_found),
        ON_MEMORY(a_list_that_nothing_names_is_found),
        ON_MEMORY(a_list_that_is_to_be_removed_but_has_a_blob_is_found),
        ON_MEMORY(a_record_that_is_not_as_long_as_its_list_is_found),
        ON_MEMORY(a_page_blob_that_ends_before_its_pages_is_found),
        ON_MEMORY(a_row_under_the_wrong_key_is_found),
        ON_MEMORY(a_damaged_row_of_a_list_is_found),
        ON_MEMORY(blocks_without_a_row_about_them_are_found),
        ON_MEMORY(a_row_about_blocks_that_are_not_there_is_found),
        ON_MEMORY(a_wrong_number_of_blocks_is_found),
        ON_MEMORY(a_damaged_block_is_found),
        ON_MEMORY(a_partition_with_work_but_no_mark_is_found),
        ON_MEMORY(repairs_make_again_what_was_there_and_change_nothing_else),
        ON_MEMORY(nothing_is_taken_away_while_a_record_cannot_be_read),
        ON_MEMORY(what_can_be_entered_again_is_while_a_record_cannot_be_read),
        ON_ROCKSDB(a_store_opened_to_be_looked_at_is_checked_and_stays_as_it_is),
    };
    return cmocka_run_group_tests_name("fsck", tests, quiet, NULL);
}
