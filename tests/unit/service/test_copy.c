/*
 * test_copy.c - copies: within a container, between containers, from elsewhere ("Copy Blob", "Abort
 * Copy Blob", "Incremental Copy Blob").
 */
#include "service/blob/copy.h"

#include "base/log.h"
#include "service/blob/append.h"
#include "service/blob/block.h"
#include "service/blob/clone.h"
#include "service/blob/page.h"
#include "service/blob/segments.h"
#include "service/blob/snapshot.h"
#include "service/sweeper.h"
#include "service_fixture.h"

static const struct uuid A = { .bytes = { 0xA } };
static const struct uuid B = { .bytes = { 0xB } };

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- operations --- */

static struct slice bytes_of_len(struct service_fixture *fixture, size_t len, char first)
{
    char *bytes = arena_bytes(&fixture->arena, len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(first + (char)(i % 89));
    return slice_make(bytes, len);
}

static void put(struct service_fixture *fixture, const char *container, const char *name,
                struct slice bytes)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, container, name, bytes, &change), OK);
}

static enum err copy_with(struct service_fixture *fixture, struct blob_name from,
                          struct blob_name to, struct copy_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->blob.base, &arena);
    change->blob.name = to;
    change->source = from;
    change->id = A;
    if (change->url.len == 0)
        change->url = slice_of("http://here/source");
    copy_blob(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err copy(struct service_fixture *fixture, const char *from_container, const char *from,
                     const char *to_container, const char *to)
{
    struct copy_change change = { 0 };
    return copy_with(fixture, blob_named(from_container, from), blob_named(to_container, to),
                     &change);
}

static enum err remove_blob(struct service_fixture *fixture, const char *container,
                            const char *name)
{
    struct blob_change change = { .snapshots = BLOB_SNAPSHOTS_INCLUDE };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.base, &arena);
    change.name = blob_named(container, name);
    blob_delete(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err read_blob(struct service_fixture *fixture, struct blob_name name, struct blob *blob,
                          struct slice *bytes)
{
    const struct blob_get_request get = { .name = name, .want_payload = true };
    struct payload_reader payload;
    struct arena arena = { 0 };
    const enum err err = blob_get(&fixture->service, &arena, &get, blob, &payload);
    if (err == OK)
        *bytes = fixture_payload_bytes(fixture, &payload);
    arena_release(&arena);
    return err;
}

static void assert_has(struct service_fixture *fixture, const char *container, const char *name,
                       struct slice expected)
{
    struct blob blob;
    struct slice bytes;
    assert_int_equal(read_blob(fixture, blob_named(container, name), &blob, &bytes), OK);
    assert_int_equal(bytes.len, expected.len);
    assert_memory_equal(bytes.data, expected.data, expected.len);
}

static struct blob record_of(struct service_fixture *fixture, const char *container,
                             const char *name)
{
    const struct blob_get_request get = { .name = blob_named(container, name) };
    struct blob blob;
    assert_int_equal(blob_get(&fixture->service, &fixture->arena, &get, &blob, NULL), OK);
    return blob;
}

static void put_block(struct service_fixture *fixture, const char *name, const char *block_id,
                      struct slice bytes)
{
    struct block_put put_change = { .block_id = slice_of(block_id) };
    struct blob_change *change = &put_change.change;
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = blob_named("box", name);
    assert_int_equal(payload_writer_new(&fixture->service, &arena, bytes.len, &change->payload),
                     OK);
    assert_int_equal(payload_writer_append(change->payload, bytes), OK);
    assert_int_equal(payload_writer_finish(change->payload), OK);
    block_put(&fixture->service, &put_change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

/* A blob of "box" of the blocks "a" and "b", one inline and one not, `repeat` times. */
static struct slice put_blocks(struct service_fixture *fixture, const char *name, size_t repeat)
{
    const struct slice small = slice_of("a small block|");
    const struct slice large = bytes_of_len(fixture, 300, 'b');
    put_block(fixture, name, "a", small);
    put_block(fixture, name, "b", large);
    struct block_ref *blocks = arena_alloc(&fixture->arena, 2 * repeat * sizeof(*blocks));
    struct strbuf all;
    strbuf_init(&all, &fixture->arena);
    for (size_t i = 0; i < repeat; i++) {
        blocks[2 * i] = (struct block_ref){ .block_id = slice_of("a") };
        blocks[2 * i + 1] = (struct block_ref){ .block_id = slice_of("b") };
        strbuf_add(&all, small);
        strbuf_add(&all, large);
    }
    struct block_list_put list = { .blocks = blocks, .block_count = 2 * repeat };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &list.change.base, &arena);
    list.change.name = blob_named("box", name);
    block_list_put(&fixture->service, &list);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    return strbuf_slice(&all);
}

static void append(struct service_fixture *fixture, const char *container, const char *name,
                   struct slice bytes)
{
    struct append_change change = { 0 };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named(container, name);
    assert_int_equal(payload_writer_new(&fixture->service, &arena, bytes.len, &change.blob.payload),
                     OK);
    assert_int_equal(payload_writer_append(change.blob.payload, bytes), OK);
    assert_int_equal(payload_writer_finish(change.blob.payload), OK);
    append_block(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void create_append(struct service_fixture *fixture, const char *name)
{
    struct blob_change change = { 0 };
    assert_int_equal(blob_await(fixture, name, append_create, &change), OK);
}

static void create_pages(struct service_fixture *fixture, const char *name, uint64_t size_bytes)
{
    struct page_change change = { .size_bytes = size_bytes };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named("box", name);
    page_create(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static void write_pages(struct service_fixture *fixture, const char *container, const char *name,
                        uint64_t first, size_t count, char fill)
{
    struct page_change change = { .start = first * PAGE_BYTES,
                                  .end = (first + count) * PAGE_BYTES };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named(container, name);
    const struct slice bytes = bytes_of_len(fixture, count * PAGE_BYTES, fill);
    assert_int_equal(payload_writer_new(&fixture->service, &arena, bytes.len, &change.blob.payload),
                     OK);
    assert_int_equal(payload_writer_append(change.blob.payload, bytes), OK);
    assert_int_equal(payload_writer_finish(change.blob.payload), OK);
    page_write(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

static int64_t take_snapshot(struct service_fixture *fixture, const char *name)
{
    struct blob_snapshot change = { 0 };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.base, &arena);
    change.name = blob_named("box", name);
    blob_snapshot(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    return change.snapshot;
}

static struct slice bytes_now(struct service_fixture *fixture, const char *container,
                              const char *name)
{
    struct blob blob;
    struct slice bytes;
    assert_int_equal(read_blob(fixture, blob_named(container, name), &blob, &bytes), OK);
    return bytes;
}

static size_t rows_of(struct service_fixture *fixture, const char *container)
{
    struct slice partition;
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    const struct container_name name = container_named(container);
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    return fixture_dump_partition(fixture, partition, &out);
}

/* Nothing is left of blobs that were deleted, in both containers. */
static void assert_all_gone(struct service_fixture *fixture)
{
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(rows_of(fixture, "box"), 0);
    assert_int_equal(rows_of(fixture, "crate"), 0);
}

static struct service_fixture *with_containers(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    container_make(fixture, "crate");
    return fixture;
}

/* --- what is copied --- */

static void a_copy_has_the_sources_bytes_properties_and_metadata(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    struct metadata_pair pair = { slice_of("colour"), slice_of("blue") };
    struct blob_change change = {
        .properties = { .content_type = slice_of("text/plain"),
                        .cache_control = slice_of("no-store") },
        .metadata = { .pairs = &pair, .count = 1 },
        .tags = { .pairs = &pair, .count = 1 },
    };
    assert_int_equal(blob_put_into(fixture, "box", "source", slice_of("words"), &change), OK);
    const char *const containers[] = { "box", "crate" };
    for (size_t i = 0; i < 2; i++) {
        struct copy_change request = { 0 };
        assert_int_equal(copy_with(fixture, blob_named("box", "source"),
                                   blob_named(containers[i], "copy"), &request),
                         OK);
        const struct blob blob = record_of(fixture, containers[i], "copy");
        assert_true(slice_is(blob.properties.content_type, "text/plain"));
        assert_true(slice_is(blob.properties.cache_control, "no-store"));
        assert_int_equal(blob.metadata.count, 1);
        assert_true(slice_is(blob.metadata.pairs[0].value, "blue"));
        assert_int_equal(blob.tags.count, 0);
        assert_int_equal(blob.etag, request.blob.etag);
        assert_int_equal(blob.copy.status, BLOB_COPY_SUCCESS);
        assert_int_equal(blob.copy.copied_bytes, 5);
        assert_int_equal(blob.copy.total_bytes, 5);
        assert_int_equal(blob.copy.completed_at, blob.etag);
        assert_true(uuid_equal(&blob.copy.id, &A));
        assert_true(slice_is(blob.copy.source, "http://here/source"));
        assert_has(fixture, containers[i], "copy", slice_of("words"));
    }
    assert_int_equal(record_of(fixture, "box", "source").etag, change.etag);
}

static void metadata_of_the_request_replaces_the_sources(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    struct metadata_pair old = { slice_of("colour"), slice_of("blue") };
    struct metadata_pair new = { slice_of("size"), slice_of("12") };
    struct blob_change change = { .metadata = { .pairs = &old, .count = 1 },
                                  .tags = { .pairs = &old, .count = 1 } };
    assert_int_equal(blob_put_into(fixture, "box", "source", slice_of("x"), &change), OK);
    struct copy_change request = { .blob.metadata = { .pairs = &new, .count = 1 },
                                   .copies_tags = true };
    assert_int_equal(
        copy_with(fixture, blob_named("box", "source"), blob_named("crate", "copy"), &request), OK);
    const struct blob blob = record_of(fixture, "crate", "copy");
    assert_int_equal(blob.metadata.count, 1);
    assert_true(slice_is(blob.metadata.pairs[0].name, "size"));
    assert_int_equal(blob.tags.count, 1);
    assert_true(slice_is(blob.tags.pairs[0].value, "blue"));
}

/* Copies of all kinds of content to the same and another container, then everything is deleted in
   an order that makes the copies outlive their sources. */
static void copies_outlive_their_sources_and_leave_nothing_behind(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    static const char *const names[] = { "empty", "inline", "extent", "blocks", "append", "page" };
    enum { COUNT = sizeof(names) / sizeof(names[0]) };
    put(fixture, "box", "empty", slice_of(""));
    put(fixture, "box", "inline", slice_of("a few bytes"));
    put(fixture, "box", "extent", bytes_of_len(fixture, 5000, 'e'));
    put_blocks(fixture, "blocks", 3);
    create_append(fixture, "append");
    append(fixture, "box", "append", slice_of("one"));
    append(fixture, "box", "append", bytes_of_len(fixture, 777, 'a'));
    create_pages(fixture, "page", 16 * PAGE_BYTES);
    write_pages(fixture, "box", "page", 2, 6, 'p');
    write_pages(fixture, "box", "page", 4, 1, 'q');

    struct slice bytes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        char second[32];
        snprintf(second, sizeof(second), "%s2", names[i]);
        bytes[i] = bytes_now(fixture, "box", names[i]);
        assert_int_equal(copy(fixture, "box", names[i], "box", second), OK);
        assert_int_equal(copy(fixture, "box", names[i], "crate", names[i]), OK);
        assert_int_equal(record_of(fixture, "crate", names[i]).block_count,
                         record_of(fixture, "box", names[i]).block_count);
    }
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(remove_blob(fixture, "box", names[i]), OK);
    partition_reclaim(fixture->service.store);
    for (size_t i = 0; i < COUNT; i++) {
        char second[32];
        snprintf(second, sizeof(second), "%s2", names[i]);
        assert_has(fixture, "box", second, bytes[i]);
        assert_has(fixture, "crate", names[i], bytes[i]);
        assert_int_equal(remove_blob(fixture, "box", second), OK);
        partition_reclaim(fixture->service.store);
        assert_has(fixture, "crate", names[i], bytes[i]);
        assert_int_equal(remove_blob(fixture, "crate", names[i]), OK);
    }
    assert_all_gone(fixture);
}

static void appending_to_a_copy_or_its_source_does_not_change_the_other(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    create_append(fixture, "source");
    append(fixture, "box", "source", slice_of("one"));
    const int64_t snapshot = take_snapshot(fixture, "source");
    append(fixture, "box", "source", slice_of("two"));
    assert_int_equal(copy(fixture, "box", "source", "box", "copy"), OK);
    struct blob_name old = blob_named("box", "source");
    old.snapshot = snapshot;
    struct copy_change request = { 0 };
    assert_int_equal(copy_with(fixture, old, blob_named("crate", "old"), &request), OK);
    append(fixture, "box", "source", slice_of("three"));
    append(fixture, "box", "copy", slice_of("drei"));
    append(fixture, "crate", "old", slice_of("zwei"));
    assert_has(fixture, "box", "source", slice_of("onetwothree"));
    assert_has(fixture, "box", "copy", slice_of("onetwodrei"));
    assert_has(fixture, "crate", "old", slice_of("onezwei"));
    assert_int_equal(record_of(fixture, "box", "copy").block_count, 3);
    assert_int_equal(record_of(fixture, "crate", "old").block_count, 2);
}

static void writing_pages_of_a_copy_or_its_source_does_not_change_the_other(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    create_pages(fixture, "source", 8 * PAGE_BYTES);
    write_pages(fixture, "box", "source", 0, 4, 'a');
    const struct slice before = bytes_now(fixture, "box", "source");
    assert_int_equal(copy(fixture, "box", "source", "box", "copy"), OK);
    assert_int_equal(copy(fixture, "box", "source", "crate", "copy"), OK);
    write_pages(fixture, "box", "source", 1, 2, 'b');
    assert_has(fixture, "box", "copy", before);
    assert_has(fixture, "crate", "copy", before);
    const struct slice source = bytes_now(fixture, "box", "source");
    write_pages(fixture, "box", "copy", 3, 3, 'c');
    write_pages(fixture, "crate", "copy", 3, 3, 'c');
    assert_has(fixture, "box", "source", source);
    const struct slice copied = bytes_now(fixture, "box", "copy");
    assert_has(fixture, "crate", "copy", copied);
    assert_int_equal(record_of(fixture, "box", "copy").copy.status, BLOB_COPY_SUCCESS);
}

static void a_blob_can_be_copied_onto_itself_and_from_its_snapshot(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    const struct slice first = bytes_of_len(fixture, 500, 'f');
    const struct slice second = bytes_of_len(fixture, 600, 's');
    put(fixture, "box", "blob", first);
    assert_int_equal(copy(fixture, "box", "blob", "box", "blob"), OK);
    partition_reclaim(fixture->service.store);
    assert_has(fixture, "box", "blob", first);
    struct blob_name snapshot = blob_named("box", "blob");
    snapshot.snapshot = take_snapshot(fixture, "blob");
    put(fixture, "box", "blob", second);
    struct copy_change request = { 0 };
    assert_int_equal(copy_with(fixture, snapshot, blob_named("box", "blob"), &request), OK);
    partition_reclaim(fixture->service.store);
    assert_has(fixture, "box", "blob", first);
    assert_int_equal(remove_blob(fixture, "box", "blob"), OK);
    assert_all_gone(fixture);
}

/* More entries than one step takes. */
static void a_long_list_is_copied_in_steps(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    const struct slice bytes = put_blocks(fixture, "source", CLONE_STEP_ENTRIES);
    assert_int_equal(copy(fixture, "box", "source", "crate", "copy"), OK);
    assert_int_equal(remove_blob(fixture, "box", "source"), OK);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    partition_reclaim(fixture->service.store);
    assert_has(fixture, "crate", "copy", bytes);
    assert_int_equal(record_of(fixture, "crate", "copy").block_count, 2 * CLONE_STEP_ENTRIES);
    assert_int_equal(remove_blob(fixture, "crate", "copy"), OK);
    assert_all_gone(fixture);
}

/* Two append blobs cannot share a list, so it is copied in steps within a container, too. */
static void a_long_append_blob_is_copied_in_steps(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    const size_t count = CLONE_STEP_ENTRIES + 10;
    create_append(fixture, "source");
    for (size_t i = 0; i < count; i++)
        append(fixture, "box", "source", slice_of(i % 2 == 0 ? "even" : "odd"));
    const struct slice bytes = bytes_now(fixture, "box", "source");
    assert_int_equal(copy(fixture, "box", "source", "box", "copy"), OK);
    append(fixture, "box", "source", slice_of("more"));
    append(fixture, "box", "copy", slice_of("else"));
    assert_int_equal(record_of(fixture, "box", "copy").block_count, count + 1);
    assert_int_equal(remove_blob(fixture, "box", "source"), OK);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    partition_reclaim(fixture->service.store);
    struct strbuf expected;
    strbuf_init(&expected, &fixture->arena);
    strbuf_add(&expected, bytes);
    strbuf_add_text(&expected, "else");
    assert_has(fixture, "box", "copy", strbuf_slice(&expected));
    assert_int_equal(remove_blob(fixture, "box", "copy"), OK);
    assert_all_gone(fixture);
}

struct step_update {
    struct partition_update update;
    struct clone clone;
    struct waiter waiter;
};

static enum err step_decide(struct change *change, void *arg)
{
    struct step_update *step = arg;
    return clone_store_step(&step->clone, change);
}

static void step_done(void *arg, enum err err)
{
    struct step_update *step = arg;
    waiter_done(&step->waiter, err);
}

/* The process ends after a step: nobody will ever name what it has written. */
static void what_an_interrupted_copy_has_written_is_given_back_after_a_restart(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    put_blocks(fixture, "source", 5);
    struct slice from;
    struct slice to;
    const struct blob_name source = blob_named("box", "source");
    const struct blob_name target = blob_named("crate", "copy");
    assert_int_equal(copy_partition(&fixture->service, &fixture->arena, &source, &from), OK);
    assert_int_equal(copy_partition(&fixture->service, &fixture->arena, &target, &to), OK);
    const struct blob blob = record_of(fixture, "box", "source");
    struct step_update step = { 0 };
    clone_open(&step.clone, &fixture->service, from);
    step.clone.step_entries = 4;
    assert_int_equal(clone_begin(&step.clone, &blob), OK);
    assert_false(step.clone.is_complete);
    waiter_init(&step.waiter);
    step.update = (struct partition_update){
        .partition = to, .decide = step_decide, .arg = &step, .done = step_done
    };
    partition_update(fixture->service.store, &step.update);
    assert_int_equal(waiter_wait(&step.waiter), OK);
    clone_close(&step.clone);

    assert_true(rows_of(fixture, "crate") > 0);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_true(rows_of(fixture, "crate") > 0);
    assert_int_equal(copy_recover(&fixture->service), OK);
    assert_int_equal(remove_blob(fixture, "box", "source"), OK);
    assert_all_gone(fixture);
    assert_true(partition_reclaim(fixture->service.store) > 0);
}

/* --- what stands in the way --- */

static struct condition if_match(int64_t etag)
{
    return (struct condition){
        .if_match = { .present = true, .listed_count = 1, .count = 1, .etags = { etag } },
    };
}

static void conditions_on_source_and_destination_are_told_apart(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    const int64_t source = blob_put_text(fixture, "source", "new");
    const char *const containers[] = { "box", "crate" };
    for (size_t i = 0; i < 2; i++) {
        put(fixture, containers[i], "target", slice_of("old"));
        const struct slice before = fixture_dump(fixture);
        struct copy_change wrong_target = { .blob.condition = if_match(source) };
        assert_int_equal(copy_with(fixture, blob_named("box", "source"),
                                   blob_named(containers[i], "target"), &wrong_target),
                         ERR_TARGET_CONDITION_NOT_MET);
        struct copy_change wrong_source = { .source_condition = if_match(1) };
        assert_int_equal(copy_with(fixture, blob_named("box", "source"),
                                   blob_named(containers[i], "target"), &wrong_source),
                         ERR_SOURCE_CONDITION_NOT_MET);
        struct copy_change changed = { .has_source_etag = true, .source_etag = 1 };
        assert_int_equal(copy_with(fixture, blob_named("box", "source"),
                                   blob_named(containers[i], "target"), &changed),
                         ERR_COPY_SOURCE_CONDITION);
        struct copy_change absent = { .blob.condition.if_none_match = { .present = true,
                                                                        .any = true } };
        assert_int_equal(copy_with(fixture, blob_named("box", "source"),
                                   blob_named(containers[i], "target"), &absent),
                         ERR_BLOB_EXISTS);
        fixture_assert_unchanged(fixture, before);
        const int64_t target = record_of(fixture, containers[i], "target").etag;
        struct copy_change right = { .blob.condition = if_match(target),
                                     .source_condition = if_match(source) };
        assert_int_equal(copy_with(fixture, blob_named("box", "source"),
                                   blob_named(containers[i], "target"), &right),
                         OK);
    }
}

static void a_source_that_is_not_there_is_the_sources_fault(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    put(fixture, "box", "source", slice_of("x"));
    assert_int_equal(copy(fixture, "box", "none", "box", "copy"), ERR_COPY_SOURCE_NOT_FOUND);
    assert_int_equal(copy(fixture, "box", "none", "crate", "copy"), ERR_COPY_SOURCE_NOT_FOUND);
    assert_int_equal(copy(fixture, "none", "x", "crate", "copy"), ERR_COPY_SOURCE_NOT_FOUND);
    assert_int_equal(copy(fixture, "box", "source", "none", "copy"), ERR_CONTAINER_NOT_FOUND);
}

static void a_copy_does_not_change_the_type_of_a_blob(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    put(fixture, "box", "block", slice_of("x"));
    put(fixture, "crate", "block", slice_of("x"));
    create_append(fixture, "append");
    assert_int_equal(copy(fixture, "box", "append", "box", "block"), ERR_CANNOT_OVERWRITE_TYPE);
    assert_int_equal(copy(fixture, "box", "append", "crate", "block"), ERR_CANNOT_OVERWRITE_TYPE);
    struct copy_change request = { .is_block_only = true };
    assert_int_equal(
        copy_with(fixture, blob_named("box", "append"), blob_named("crate", "new"), &request),
        ERR_INVALID_SOURCE_TYPE);
}

static void the_lease_of_a_destination_must_be_named_and_infinite(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    put(fixture, "box", "source", slice_of("x"));
    put(fixture, "box", "target", slice_of("y"));
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = B, .duration_sec = 15 },
    };
    assert_int_equal(blob_lease_await(fixture, "target", &lease), OK);
    struct copy_change none = { .needs_infinite_lease = true };
    assert_int_equal(
        copy_with(fixture, blob_named("box", "source"), blob_named("box", "target"), &none),
        ERR_LEASE_ID_MISSING);
    struct copy_change finite = { .needs_infinite_lease = true,
                                  .blob = { .has_lease_id = true, .lease_id = B } };
    assert_int_equal(
        copy_with(fixture, blob_named("box", "source"), blob_named("box", "target"), &finite),
        ERR_INFINITE_LEASE_REQUIRED);
    struct blob_lease longer = {
        .lease = { .action = LEASE_ACTION_ACQUIRE,
                   .proposed_id = B,
                   .duration_sec = LEASE_DURATION_SEC_INFINITE },
    };
    assert_int_equal(blob_lease_await(fixture, "target", &longer), OK);
    assert_int_equal(
        copy_with(fixture, blob_named("box", "source"), blob_named("box", "target"), &finite), OK);
    assert_int_equal(record_of(fixture, "box", "target").lease.state, LEASE_LEASED);
}

static void what_was_copied_is_told_until_the_blob_is_written(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    put(fixture, "box", "source", slice_of("x"));
    assert_int_equal(copy(fixture, "box", "source", "box", "copy"), OK);
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = B, .duration_sec = 15 },
    };
    assert_int_equal(blob_lease_await(fixture, "copy", &lease), OK);
    put_block(fixture, "other", "a", slice_of("block"));
    assert_int_equal(record_of(fixture, "box", "copy").copy.status, BLOB_COPY_SUCCESS);
    struct blob_change metadata = { .has_lease_id = true, .lease_id = B };
    assert_int_equal(blob_await(fixture, "copy", blob_set_metadata, &metadata), OK);
    assert_int_equal(record_of(fixture, "box", "copy").copy.status, BLOB_COPY_NONE);
}

/* --- copies from elsewhere --- */

static enum err begin(struct service_fixture *fixture, const char *name, uint64_t total_bytes,
                      enum blob_type type)
{
    struct copy_change change = { .type = type, .total_bytes = total_bytes, .id = A };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.blob.base, &arena);
    change.blob.name = blob_named("box", name);
    change.url = slice_of("http://elsewhere/source");
    copy_begin(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err step(struct service_fixture *fixture, const char *name, struct copy_step *step)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &step->base, &arena);
    const struct blob_name blob = blob_named("box", name);
    assert_int_equal(copy_partition(&fixture->service, &arena, &blob, &step->partition), OK);
    step->blob = slice_of(name);
    copy_step(&fixture->service, step);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static enum err arrive(struct service_fixture *fixture, const char *name, struct slice bytes)
{
    struct arena arena = { 0 };
    struct copy_step last = { .id = A, .copied_bytes = bytes.len };
    assert_int_equal(payload_writer_new(&fixture->service, &arena, bytes.len, &last.payload), OK);
    assert_int_equal(payload_writer_append(last.payload, bytes), OK);
    assert_int_equal(payload_writer_finish(last.payload), OK);
    const enum err err = step(fixture, name, &last);
    arena_release(&arena);
    return err;
}

static enum err abort_copy(struct service_fixture *fixture, const char *name, struct uuid id)
{
    struct copy_abort change = { .id = id };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change.base, &arena);
    change.name = blob_named("box", name);
    copy_abort(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static void nobody_changes_the_destination_of_a_pending_copy(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    put(fixture, "box", "target", slice_of("old"));
    put(fixture, "box", "source", slice_of("other"));
    assert_int_equal(begin(fixture, "target", 10, BLOB_BLOCK), OK);
    const struct slice before = fixture_dump(fixture);
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", "target", slice_of("x"), &change),
                     ERR_PENDING_COPY);
    assert_int_equal(blob_await(fixture, "target", blob_set_metadata, &change), ERR_PENDING_COPY);
    assert_int_equal(blob_await(fixture, "target", blob_set_properties, &change), ERR_PENDING_COPY);
    assert_int_equal(blob_await(fixture, "target", blob_delete, &change), ERR_PENDING_COPY);
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = B, .duration_sec = 15 },
    };
    assert_int_equal(blob_lease_await(fixture, "target", &lease), ERR_PENDING_COPY);
    assert_int_equal(copy(fixture, "box", "source", "box", "target"), ERR_PENDING_COPY);
    assert_int_equal(copy(fixture, "box", "target", "box", "third"), ERR_PENDING_COPY);
    assert_int_equal(begin(fixture, "target", 10, BLOB_BLOCK), ERR_PENDING_COPY);
    fixture_assert_unchanged(fixture, before);
    assert_has(fixture, "box", "target", slice_of(""));
}

static void a_pending_copy_goes_forward_and_succeeds(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    static const enum blob_type types[] = { BLOB_BLOCK, BLOB_APPEND, BLOB_PAGE };
    static const char *const names[] = { "block", "append", "page" };
    for (size_t i = 0; i < 3; i++) {
        const struct slice bytes = bytes_of_len(fixture, 4 * PAGE_BYTES, 'x');
        assert_int_equal(begin(fixture, names[i], bytes.len, types[i]), OK);
        const int64_t begun = record_of(fixture, "box", names[i]).etag;
        struct copy_step half = { .id = A, .copied_bytes = 100 };
        assert_int_equal(step(fixture, names[i], &half), OK);
        struct blob blob = record_of(fixture, "box", names[i]);
        assert_int_equal(blob.etag, begun);
        assert_int_equal(blob.copy.status, BLOB_COPY_PENDING);
        assert_int_equal(blob.copy.copied_bytes, 100);
        assert_int_equal(blob.copy.total_bytes, bytes.len);
        assert_int_equal(arrive(fixture, names[i], bytes), OK);
        blob = record_of(fixture, "box", names[i]);
        assert_true(blob.etag > begun);
        assert_int_equal(blob.type, types[i]);
        assert_int_equal(blob.copy.status, BLOB_COPY_SUCCESS);
        assert_int_equal(blob.copy.copied_bytes, bytes.len);
        assert_has(fixture, "box", names[i], bytes);
        assert_int_equal(arrive(fixture, names[i], bytes), ERR_NO_PENDING_COPY);
        assert_int_equal(remove_blob(fixture, "box", names[i]), OK);
    }
    assert_all_gone(fixture);
}

static void an_aborted_copy_leaves_an_empty_blob(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    put(fixture, "box", "target", slice_of("old"));
    assert_int_equal(abort_copy(fixture, "target", A), ERR_NO_PENDING_COPY);
    assert_int_equal(begin(fixture, "target", 10, BLOB_BLOCK), OK);
    assert_int_equal(abort_copy(fixture, "target", B), ERR_COPY_ID_MISMATCH);
    assert_int_equal(abort_copy(fixture, "none", A), ERR_BLOB_NOT_FOUND);
    assert_int_equal(abort_copy(fixture, "target", A), OK);
    assert_int_equal(record_of(fixture, "box", "target").copy.status, BLOB_COPY_ABORTED);
    assert_has(fixture, "box", "target", slice_of(""));
    assert_int_equal(arrive(fixture, "target", slice_of("0123456789")), ERR_NO_PENDING_COPY);
    assert_has(fixture, "box", "target", slice_of(""));
    put(fixture, "box", "target", slice_of("new"));
    assert_int_equal(remove_blob(fixture, "box", "target"), OK);
    assert_all_gone(fixture);
}

static void a_copy_that_was_pending_has_failed_after_a_restart(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    assert_int_equal(begin(fixture, "target", 10, BLOB_BLOCK), OK);
    assert_int_equal(begin(fixture, "other", 10, BLOB_BLOCK), OK);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(copy_recover(&fixture->service), OK);
    const struct blob blob = record_of(fixture, "box", "target");
    assert_int_equal(blob.copy.status, BLOB_COPY_FAILED);
    assert_true(blob.copy.description.len > 0);
    assert_int_equal(record_of(fixture, "box", "other").copy.status, BLOB_COPY_FAILED);
    assert_int_equal(remove_blob(fixture, "box", "target"), OK);
    assert_int_equal(remove_blob(fixture, "box", "other"), OK);
    assert_all_gone(fixture);
}

static void a_copy_into_a_container_that_is_deleted_leaves_nothing(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    struct slice partition;
    const struct blob_name target = blob_named("box", "target");
    assert_int_equal(copy_partition(&fixture->service, &fixture->arena, &target, &partition), OK);
    assert_int_equal(begin(fixture, "target", 10, BLOB_BLOCK), OK);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);

    struct arena arena = { 0 };
    struct waiter waiter;
    struct copy_step last = { .partition = partition, .blob = slice_of("target"), .id = A };
    const struct slice bytes = bytes_of_len(fixture, 500, 'x');
    waiter_bind(&waiter, &last.base, &arena);
    assert_int_equal(payload_writer_new(&fixture->service, &arena, bytes.len, &last.payload), OK);
    assert_int_equal(payload_writer_append(last.payload, bytes), OK);
    assert_int_equal(payload_writer_finish(last.payload), OK);
    copy_step(&fixture->service, &last);
    assert_int_equal(waiter_wait(&waiter), OK);
    assert_true(last.is_gone);
    arena_release(&arena);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    /* The row that says that the partition is closed. */
    assert_int_equal(fixture_dump_partition(fixture, partition, &out), 1);
}

/* --- incremental copies --- */

struct listed {
    char text[200];
    size_t len;
};

static void list_range(void *arg, enum page_range_kind kind, uint64_t start, uint64_t end)
{
    struct listed *listed = arg;
    listed->len += (size_t)snprintf(listed->text + listed->len, sizeof(listed->text) - listed->len,
                                    "%c%d-%d ", kind == PAGE_RANGE_WRITTEN ? 'w' : 'c',
                                    (int)(start / PAGE_BYTES), (int)(end / PAGE_BYTES));
}

static void assert_differences(struct service_fixture *fixture, const char *container,
                               const char *name, int64_t snapshot, int64_t previous,
                               const char *expected)
{
    struct listed listed = { 0 };
    struct page_ranges_request request = {
        .get.name = blob_named(container, name),
        .end = UINT64_MAX,
        .has_previous = true,
        .previous = previous,
        .results_max = 100,
        .emit = list_range,
        .arg = &listed,
    };
    request.get.name.snapshot = snapshot;
    struct blob blob;
    uint64_t next;
    assert_int_equal(page_ranges(&fixture->service, &fixture->arena, &request, &blob, &next), OK);
    assert_string_equal(listed.text, expected);
}

static enum err copy_incrementally(struct service_fixture *fixture, int64_t snapshot,
                                   const char *container, const char *url, int64_t *made)
{
    struct blob_name from = blob_named("box", "disk");
    from.snapshot = snapshot;
    struct copy_change change = { .is_incremental = true, .url = slice_of(url) };
    const enum err err = copy_with(fixture, from, blob_named(container, "backup"), &change);
    *made = change.blob.etag;
    return err;
}

static void snapshots_of_incremental_copies_differ_as_those_of_the_source(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    create_pages(fixture, "disk", 16 * PAGE_BYTES);
    write_pages(fixture, "box", "disk", 0, 8, 'a');
    const int64_t first = take_snapshot(fixture, "disk");
    write_pages(fixture, "box", "disk", 3, 2, 'b');
    const int64_t second = take_snapshot(fixture, "disk");
    assert_differences(fixture, "box", "disk", second, first, "w3-5 ");
    const char *const containers[] = { "box", "crate" };
    for (size_t i = 0; i < 2; i++) {
        int64_t made[2];
        int64_t none;
        assert_int_equal(copy_incrementally(fixture, 0, containers[i], "u?s", &none),
                         ERR_INCREMENTAL_NEEDS_SNAPSHOT);
        assert_int_equal(copy_incrementally(fixture, first, containers[i], "u?s=1", &made[0]), OK);
        assert_int_equal(copy_incrementally(fixture, first, containers[i], "u?s=1", &none),
                         ERR_INCREMENTAL_EARLIER_SNAPSHOT);
        assert_int_equal(copy_incrementally(fixture, second, containers[i], "v?s=2", &none),
                         ERR_INCREMENTAL_OTHER_BLOB);
        assert_int_equal(copy_incrementally(fixture, second, containers[i], "u?s=2", &made[1]), OK);
        assert_differences(fixture, containers[i], "backup", made[1], made[0], "w3-5 ");
        assert_true(record_of(fixture, containers[i], "backup").copy.incremental);
    }
    assert_int_equal(remove_blob(fixture, "box", "disk"), OK);
    assert_int_equal(remove_blob(fixture, "box", "backup"), OK);
    assert_int_equal(remove_blob(fixture, "crate", "backup"), OK);
    assert_all_gone(fixture);
}

static void the_destination_of_incremental_copies_is_for_them_alone(void **state)
{
    struct service_fixture *fixture = with_containers(state);
    int64_t made;
    create_pages(fixture, "disk", 16 * PAGE_BYTES);
    write_pages(fixture, "box", "disk", 0, 8, 'a');
    const int64_t first = take_snapshot(fixture, "disk");
    assert_int_equal(copy_incrementally(fixture, first, "box", "u", &made), OK);
    const struct slice before = fixture_dump(fixture);

    struct blob blob;
    struct slice bytes;
    struct blob_name name = blob_named("box", "backup");
    assert_int_equal(read_blob(fixture, name, &blob, &bytes), ERR_INCREMENTAL_BLOB);
    struct blob_change change = { 0 };
    assert_int_equal(blob_await(fixture, "backup", blob_set_metadata, &change),
                     ERR_INCREMENTAL_BLOB);
    change = (struct blob_change){ 0 };
    assert_int_equal(blob_await(fixture, "backup", blob_set_properties, &change),
                     ERR_INCREMENTAL_BLOB);
    change = (struct blob_change){ 0 };
    assert_int_equal(blob_put_into(fixture, "box", "backup", slice_of("x"), &change),
                     ERR_INCREMENTAL_BLOB);
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = 15 }
    };
    assert_int_equal(blob_lease_await(fixture, "backup", &lease), ERR_INCREMENTAL_BLOB);
    assert_int_equal(copy(fixture, "box", "backup", "box", "other"), ERR_INCREMENTAL_BLOB);
    assert_int_equal(copy(fixture, "box", "disk", "box", "backup"), ERR_INCREMENTAL_BLOB);
    fixture_assert_unchanged(fixture, before);

    /* Its snapshots are as others are. */
    name.snapshot = made;
    assert_int_equal(read_blob(fixture, name, &blob, &bytes), OK);
    struct copy_change request = { 0 };
    assert_int_equal(copy_with(fixture, name, blob_named("crate", "restored"), &request), OK);
    assert_has(fixture, "crate", "restored", bytes);
    assert_int_equal(remove_blob(fixture, "box", "backup"), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_copy_has_the_sources_bytes_properties_and_metadata),
        ON_ALL_ENGINES(metadata_of_the_request_replaces_the_sources),
        ON_ALL_ENGINES(copies_outlive_their_sources_and_leave_nothing_behind),
        ON_ALL_ENGINES(appending_to_a_copy_or_its_source_does_not_change_the_other),
        ON_ALL_ENGINES(writing_pages_of_a_copy_or_its_source_does_not_change_the_other),
        ON_ALL_ENGINES(a_blob_can_be_copied_onto_itself_and_from_its_snapshot),
        ON_ALL_ENGINES(a_long_list_is_copied_in_steps),
        ON_ALL_ENGINES(what_an_interrupted_copy_has_written_is_given_back_after_a_restart),
        ON_ALL_ENGINES(conditions_on_source_and_destination_are_told_apart),
        ON_ALL_ENGINES(a_source_that_is_not_there_is_the_sources_fault),
        ON_ALL_ENGINES(a_copy_does_not_change_the_type_of_a_blob),
        ON_ALL_ENGINES(the_lease_of_a_destination_must_be_named_and_infinite),
        ON_ALL_ENGINES(what_was_copied_is_told_until_the_blob_is_written),
        ON_ALL_ENGINES(nobody_changes_the_destination_of_a_pending_copy),
        ON_ALL_ENGINES(a_pending_copy_goes_forward_and_succeeds),
        ON_ALL_ENGINES(an_aborted_copy_leaves_an_empty_blob),
        ON_ALL_ENGINES(a_copy_that_was_pending_has_failed_after_a_restart),
        ON_ALL_ENGINES(a_copy_into_a_container_that_is_deleted_leaves_nothing),
        ON_ALL_ENGINES(snapshots_of_incremental_copies_differ_as_those_of_the_source),
        ON_ALL_ENGINES(the_destination_of_incremental_copies_is_for_them_alone),
        ON_ALL_ENGINES(a_long_append_blob_is_copied_in_steps),
    };
    return cmocka_run_group_tests_name("copy", tests, quiet, NULL);
}
