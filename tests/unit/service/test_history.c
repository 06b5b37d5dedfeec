/*
 * test_history.c - soft delete, Undelete Blob, and versions.
 */
#include "history_fixture.h"

#include "service/background.h"
#include "service/blob/block.h"

static const struct uuid A = { .bytes = { 0xA } };

static struct service_fixture *with_policy(void **state, uint64_t days)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    set_policy(fixture, days, false);
    return fixture;
}

static struct service_fixture *with_versions(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    fixture->service.blob_versioning = true;
    return fixture;
}

/* --- soft delete --- */

static void a_deleted_blob_comes_back_as_it_was(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    const char *const texts[] = { "", "short", LONG_TEXT };
    const char *const names[] = { "a", "b", "c" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct blob before;
        struct blob after;
        blob_put_text(fixture, names[i], texts[i]);
        assert_int_equal(blob_read_record(fixture, names[i], &before), OK);
        fixture_advance_ms(fixture, 1000);
        struct blob_change change = { 0 };
        assert_int_equal(delete_named(fixture, blob_named("box", names[i]), &change), OK);
        assert_true(change.was_kept);
        assert_int_equal(blob_read_record(fixture, names[i], &after), ERR_BLOB_NOT_FOUND);
        assert_int_equal(delete_blob(fixture, names[i]), ERR_BLOB_NOT_FOUND);
        struct blob_change metadata = { 0 };
        assert_int_equal(blob_await(fixture, names[i], blob_set_metadata, &metadata),
                         ERR_BLOB_NOT_FOUND);

        assert_int_equal(undelete(fixture, names[i]), OK);
        assert_int_equal(blob_read_record(fixture, names[i], &after), OK);
        assert_int_equal(after.etag, before.etag);
        assert_int_equal(after.created_at, before.created_at);
        assert_int_equal(after.deleted_at, 0);
        assert_bytes(fixture, blob_named("box", names[i]), texts[i]);
        assert_int_equal(undelete(fixture, names[i]), OK);
        assert_store_is_sound(fixture);
    }
}

static void there_is_nothing_to_undelete_of_what_never_was(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    assert_int_equal(undelete(fixture, "a"), ERR_BLOB_NOT_FOUND);
}

static void a_listing_shows_deleted_blobs_if_asked(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", "1");
    blob_put_text(fixture, "b", "1");
    blob_put_text(fixture, "c", "1");
    snapshot_of(fixture, "b");
    assert_int_equal(delete_blob(fixture, "b"), OK);
    assert_listing(fixture, 0, "a c");
    assert_listing(fixture, SHOWN_SNAPSHOTS, "a c");
    assert_listing(fixture, SHOWN_DELETED, "a b- c");
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a b@1- b- c");
    const struct shown *shown = list_history(fixture, SHOWN_DELETED, 100);
    const struct blob *deleted = &shown->entries[1].blob;
    assert_int_equal(deleted->expires_at - deleted->deleted_at, 7 * DAY_MS * CLOCK_TICKS_PER_MS);
}

static void what_is_overwritten_is_kept_as_a_deleted_snapshot(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", LONG_TEXT);
    blob_put_text(fixture, "a", "new");
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a@1- a");
    assert_listing(fixture, SHOWN_DELETED, "a");
    struct copy_change same = { 0 };
    assert_int_equal(copy_over(fixture, blob_named("box", "a"), "a", &same), OK);
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a@1- a@2- a");
    struct blob_change metadata = { 0 };
    assert_int_equal(blob_await(fixture, "a", blob_set_metadata, &metadata), OK);
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a@1- a@2- a");

    /* They do not keep the blob from being deleted. */
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, blob_named("box", "a"), &change), OK);
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a@1- a@2- a-");
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_SNAPSHOTS, "a@1 a@2 a");
    const struct shown *shown = list_history(fixture, SHOWN_SNAPSHOTS, 100);
    assert_bytes(fixture, snapshot_named("a", shown->entries[0].snapshot), LONG_TEXT);
    assert_bytes(fixture, snapshot_named("a", shown->entries[1].snapshot), "new");
    assert_bytes(fixture, blob_named("box", "a"), "new");
    assert_int_equal(delete_named(fixture, blob_named("box", "a"), &change), ERR_SNAPSHOTS_PRESENT);
    assert_store_is_sound(fixture);
}

static void a_deleted_snapshot_comes_back_with_its_blob_or_without(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", "1");
    const int64_t snapshot = snapshot_of(fixture, "a").snapshot;
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, snapshot_named("a", snapshot), &change), OK);
    assert_true(change.was_kept);
    struct blob blob;
    struct slice bytes;
    assert_int_equal(read_named(fixture, snapshot_named("a", snapshot), &blob, &bytes),
                     ERR_BLOB_NOT_FOUND);
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a@1- a");
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a@1 a");
    assert_int_equal(delete_blob(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_DELETED | SHOWN_SNAPSHOTS, "a@1- a-");
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_bytes(fixture, snapshot_named("a", snapshot), "1");
    assert_store_is_sound(fixture);
}

static void a_name_that_is_used_again_makes_the_deleted_blob_a_snapshot(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    for (int round = 0; round < 3; round++) {
        blob_put_text(fixture, "a", "old");
        assert_int_equal(delete_blob(fixture, "a"), OK);
    }
    assert_listing(fixture, SHOWN_ALL, "a@1- a@2- a-");
    blob_put_text(fixture, "a", "new");
    assert_listing(fixture, SHOWN_ALL, "a@1- a@2- a@3- a");
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_ALL, "a@1 a@2 a@3 a");
    assert_bytes(fixture, blob_named("box", "a"), "new");
    assert_store_is_sound(fixture);
}

static void the_same_holds_when_the_policy_was_off_meanwhile(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", "old");
    assert_int_equal(delete_blob(fixture, "a"), OK);
    set_policy(fixture, 0, false);
    blob_put_text(fixture, "a", "new");
    assert_listing(fixture, SHOWN_ALL, "a@1- a");
    set_policy(fixture, 7, false);
    assert_int_equal(delete_blob(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_ALL, "a@1- a-");
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_bytes(fixture, blob_named("box", "a"), "new");
    assert_store_is_sound(fixture);
}

static void a_blob_of_another_type_ends_what_was_soft_deleted(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", LONG_TEXT);
    blob_put_text(fixture, "a", "2");
    assert_int_equal(delete_blob(fixture, "a"), OK);
    struct blob_change append = { 0 };
    assert_int_equal(blob_await(fixture, "a", append_create, &append), OK);
    assert_listing(fixture, SHOWN_ALL, "a");
    assert_store_is_sound(fixture);
}

static void deleted_blobs_are_not_found_by_their_tags(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    struct metadata_pair pair = { slice_of("colour"), slice_of("red") };
    struct blob_change put = { .tags = { &pair, 1 } };
    assert_int_equal(blob_put_into(fixture, "box", "a", slice_of("1"), &put), OK);
    const size_t rows = rows_in_box(fixture);
    assert_int_equal(delete_blob(fixture, "a"), OK);
    /* The record moved, an expiry came, and the row of the index went; fsck compares the index. */
    assert_int_equal(rows_in_box(fixture), rows);
    assert_store_is_sound(fixture);
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_int_equal(rows_in_box(fixture), rows);
    assert_store_is_sound(fixture);
}

static void deleting_needs_the_lease_and_ends_it(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", "1");
    struct blob_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = -1 },
    };
    assert_int_equal(blob_lease_await(fixture, "a", &lease), OK);
    assert_int_equal(delete_blob(fixture, "a"), ERR_LEASE_ID_MISSING);
    struct blob_change change = { .has_lease_id = true, .lease_id = A };
    assert_int_equal(delete_named(fixture, blob_named("box", "a"), &change), OK);
    assert_int_equal(undelete(fixture, "a"), OK);
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "a", &blob), OK);
    assert_int_equal(blob.lease.state, LEASE_AVAILABLE);
}

static void at_its_time_it_is_gone_and_then_swept(void **state)
{
    struct service_fixture *fixture = with_policy(state, 2);
    const size_t empty = rows_in_box(fixture);
    blob_put_text(fixture, "a", LONG_TEXT);
    blob_put_text(fixture, "a", "2");
    snapshot_of(fixture, "a");
    assert_int_equal(delete_blob(fixture, "a"), OK);
    assert_true(box_is_marked(fixture));
    fixture_advance_ms(fixture, 2 * DAY_MS - 1);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_listing(fixture, SHOWN_ALL, "a@1- a@2- a-");
    fixture_advance_ms(fixture, 2);
    assert_listing(fixture, SHOWN_ALL, "");
    assert_int_equal(undelete(fixture, "a"), ERR_BLOB_NOT_FOUND);
    assert_store_is_sound(fixture);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(rows_in_box(fixture), empty);
    assert_false(box_is_marked(fixture));
    assert_int_equal(assert_store_is_sound(fixture).live_bytes, 0);
}

static void the_days_are_those_of_the_policy_at_the_time_of_the_deletion(void **state)
{
    struct service_fixture *fixture = with_policy(state, 1);
    blob_put_text(fixture, "a", "1");
    blob_put_text(fixture, "b", "1");
    assert_int_equal(delete_blob(fixture, "a"), OK);
    set_policy(fixture, 3, false);
    assert_int_equal(delete_blob(fixture, "b"), OK);
    set_policy(fixture, 0, false);
    fixture_advance_ms(fixture, 2 * DAY_MS);
    assert_listing(fixture, SHOWN_ALL, "b-");
    assert_int_equal(undelete(fixture, "b"), OK);
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, blob_named("box", "b"), &change), OK);
    assert_false(change.was_kept);
    assert_listing(fixture, SHOWN_ALL, "");
}

static void snapshots_that_outlive_their_blob_do_not_come_back(void **state)
{
    struct service_fixture *fixture = with_policy(state, 9);
    blob_put_text(fixture, "a", "1");
    blob_put_text(fixture, "a", "2");
    set_policy(fixture, 1, false);
    assert_int_equal(delete_blob(fixture, "a"), OK);
    fixture_advance_ms(fixture, 2 * DAY_MS);
    assert_listing(fixture, SHOWN_ALL, "a@1-");
    assert_int_equal(undelete(fixture, "a"), ERR_BLOB_NOT_FOUND);
    assert_listing(fixture, SHOWN_ALL, "a@1-");
    blob_put_text(fixture, "a", "3");
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_ALL, "a@1 a");
    assert_store_is_sound(fixture);
}

static void only_what_is_soft_deleted_is_deleted_for_good_and_only_if_allowed(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", LONG_TEXT);
    const struct blob_name snapshot = snapshot_named("a", snapshot_of(fixture, "a").snapshot);
    assert_int_equal(delete_for_good(fixture, snapshot), ERR_PERMANENT_DELETE_REFUSED);
    set_policy(fixture, 7, true);
    assert_int_equal(delete_for_good(fixture, blob_named("box", "a")),
                     ERR_PERMANENT_DELETE_REFUSED);
    assert_int_equal(delete_for_good(fixture, snapshot), ERR_NOT_SOFT_DELETED);
    assert_int_equal(delete_for_good(fixture, snapshot_named("a", 1)), ERR_BLOB_NOT_FOUND);
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, snapshot, &change), OK);
    assert_int_equal(delete_for_good(fixture, snapshot), OK);
    assert_listing(fixture, SHOWN_ALL, "a");
    assert_int_equal(delete_for_good(fixture, snapshot), ERR_BLOB_NOT_FOUND);
    assert_store_is_sound(fixture);
}

static void nothing_is_kept_without_a_policy(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const size_t empty = rows_in_box(fixture);
    blob_put_text(fixture, "a", LONG_TEXT);
    blob_put_text(fixture, "a", "2");
    snapshot_of(fixture, "a");
    struct blob_change change = { .snapshots = BLOB_SNAPSHOTS_INCLUDE };
    assert_int_equal(delete_named(fixture, blob_named("box", "a"), &change), OK);
    assert_false(change.was_kept);
    assert_int_equal(rows_in_box(fixture), empty);
    assert_false(box_is_marked(fixture));
}

static void everything_goes_with_the_container(void **state)
{
    struct service_fixture *fixture = with_policy(state, 365);
    blob_put_text(fixture, "a", LONG_TEXT);
    assert_int_equal(delete_blob(fixture, "a"), OK);
    fixture->service.blob_versioning = true;
    blob_put_text(fixture, "b", LONG_TEXT);
    blob_put_text(fixture, "b", LONG_TEXT);
    const struct container_name name = container_named("box");
    struct slice partition;
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    assert_int_equal(fixture_dump_partition(fixture, partition, &out), 1); /* that it is closed */
    bool marked;
    assert_int_equal(partition_is_marked(fixture->service.store, partition, &marked), OK);
    assert_false(marked);
    assert_int_equal(assert_store_is_sound(fixture).live_bytes, 0);
}

static void append_blobs_and_page_blobs_come_back_too(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    struct page_change page = { .blob = { .name = blob_named("box", "p") }, .size_bytes = 1024 };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &page.blob.base, &arena);
    page_create(&fixture->service, &page);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    struct blob_change append = { 0 };
    assert_int_equal(blob_await(fixture, "l", append_create, &append), OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(delete_blob(fixture, "p"), OK);
        assert_int_equal(delete_blob(fixture, "l"), OK);
        assert_listing(fixture, SHOWN_DELETED, "l- p-");
        assert_int_equal(undelete(fixture, "p"), OK);
        assert_int_equal(undelete(fixture, "l"), OK);
        assert_listing(fixture, SHOWN_ALL, "l p");
    }
    assert_store_is_sound(fixture);
}

struct folders {
    size_t folders;
    size_t blobs;
};

static bool count_folders(void *arg, const struct blob_list_entry *entry)
{
    struct folders *folders = arg;
    folders->folders += entry->blob == NULL;
    folders->blobs += entry->blob != NULL;
    return true;
}

static void folders_of_deleted_blobs_are_listed_if_asked(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "d/a", "1");
    blob_put_text(fixture, "d/b", "1");
    blob_put_text(fixture, "e", "1");
    assert_int_equal(delete_blob(fixture, "d/a"), OK);
    assert_int_equal(delete_blob(fixture, "d/b"), OK);
    for (size_t with = 0; with < 2; with++) {
        struct folders folders = { 0 };
        struct blob_position next;
        const struct blob_list_request request = {
            .container = container_named("box"),
            .delimiter = slice_of("/"),
            .with_deleted = with == 1,
            .results_max = 100,
            .emit = count_folders,
            .arg = &folders,
        };
        assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
        assert_int_equal(folders.folders, with);
        assert_int_equal(folders.blobs, 1);
    }
}

static bool count_uncommitted(void *arg, const struct blob_list_entry *entry)
{
    struct folders *counts = arg;
    counts->folders += entry->is_uncommitted;
    counts->blobs += !entry->is_uncommitted;
    return true;
}

static void a_deleted_blob_and_new_blocks_of_its_name_are_listed_once_each(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    blob_put_text(fixture, "a", "1");
    blob_put_text(fixture, "a", "2");
    assert_int_equal(delete_blob(fixture, "a"), OK);
    struct arena arena = { 0 };
    struct waiter waiter;
    struct block_put put = { .block_id = slice_of("1") };
    waiter_bind(&waiter, &put.change.base, &arena);
    put.change.name = blob_named("box", "a");
    assert_int_equal(payload_writer_new(&fixture->service, &arena, 1, &put.change.payload), OK);
    assert_int_equal(payload_writer_append(put.change.payload, slice_of("x")), OK);
    assert_int_equal(payload_writer_finish(put.change.payload), OK);
    block_put(&fixture->service, &put);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    for (size_t page_len = 1; page_len < 5; page_len++) {
        struct folders counts = { 0 };
        struct blob_list_request request = {
            .container = container_named("box"),
            .with_snapshots = true,
            .with_deleted = true,
            .with_uncommitted = true,
            .results_max = page_len,
            .emit = count_uncommitted,
            .arg = &counts,
        };
        do {
            struct blob_position next;
            assert_int_equal(blob_list(&fixture->service, &fixture->arena, &request, &next), OK);
            request.from = next;
        } while (request.from.name.len > 0);
        assert_int_equal(counts.folders, 1);
        assert_int_equal(counts.blobs, 2);
    }
}

/* --- what fsck says --- */

struct tampering {
    struct waited_update waited;
    struct slice key;
    struct slice row; /* empty: there is none any more */
};

static enum err tamper_decide(struct change *change, void *arg)
{
    const struct tampering *tampering = arg;
    if (tampering->row.len > 0)
        change_put(change, tampering->key, tampering->row);
    else
        change_delete(change, tampering->key);
    return OK;
}

static void tamper(struct service_fixture *fixture, struct slice key, struct slice row)
{
    const struct container_name name = container_named("box");
    struct slice partition;
    struct tampering tampering = { .key = key, .row = row };
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    assert_int_equal(
        background_update(&fixture->service, &tampering.waited, partition, tamper_decide), OK);
}

static void note_finding(void *arg, const char *words)
{
    struct strbuf *findings = arg;
    strbuf_add_text(findings, words);
    strbuf_add_byte(findings, '\n');
}

static void assert_finding(struct service_fixture *fixture, const char *words)
{
    struct strbuf findings;
    struct fsck_summary summary;
    strbuf_init(&findings, &fixture->arena);
    const struct fsck_request request = { .store = fixture->service.store,
                                          .finding = note_finding,
                                          .arg = &findings };
    fsck_run(&request, &summary);
    const struct slice text = arena_copy(&fixture->arena, strbuf_slice(&findings));
    if (summary.finding_count != 1 || strstr(text.data, words) == NULL)
        fail_msg("%s", text.data);
}

static void fsck_finds_what_is_wrong_with_histories(void **state)
{
    struct service_fixture *fixture = with_policy(state, 7);
    struct arena *arena = &fixture->arena;
    blob_put_text(fixture, "a", "1");
    assert_int_equal(delete_blob(fixture, "a"), OK);
    const struct shown *shown = list_history(fixture, SHOWN_ALL, 10);
    const struct blob *deleted = &shown->entries[0].blob;
    const struct slice key = history_key(arena, slice_of("a"), HISTORY_BASE, HISTORY_DELETED);
    const struct slice expiry = expiry_key(arena, deleted->expires_at, key);
    const struct slice row = blob_encode(arena, deleted);
    struct blob other = *deleted;
    assert_store_is_sound(fixture);

    tamper(fixture, expiry, (struct slice){ 0 });
    assert_finding(fixture, "nothing will remove it");
    tamper(fixture, expiry, slice_of("x"));
    assert_store_is_sound(fixture);
    const struct slice wrong = expiry_key(arena, deleted->expires_at + 1, key);
    tamper(fixture, wrong, slice_of("x"));
    assert_finding(fixture, "an expiry of something that is not soft-deleted");
    tamper(fixture, wrong, (struct slice){ 0 });
    tamper(fixture, slice_of("e1"), slice_of("x"));
    assert_finding(fixture, "the row of an expiry is damaged");
    tamper(fixture, slice_of("e1"), (struct slice){ 0 });

    other.deleted_at = other.expires_at = 0;
    tamper(fixture, expiry, (struct slice){ 0 });
    tamper(fixture, key, blob_encode(arena, &other));
    assert_finding(fixture, "it is kept as deleted, and is not");
    tamper(fixture, key, (struct slice){ 0 });
    other.version_id = 7;
    const struct slice version = history_key(arena, slice_of("a"), 8, HISTORY_VERSION);
    tamper(fixture, version, blob_encode(arena, &other));
    assert_finding(fixture, "under another id than its own");
    tamper(fixture, version, (struct slice){ 0 });
    tamper(fixture, key, row);
    tamper(fixture, expiry, slice_of("x"));
    assert_store_is_sound(fixture);
    tamper(fixture, history_key(arena, slice_of("a"), 8, 'q'), row);
    assert_finding(fixture, "the key of a record of history");
}

/* --- versions --- */

static void every_write_makes_a_version_and_keeps_the_last(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    const int64_t first = put_version(fixture, "a", LONG_TEXT);
    const int64_t second = put_version(fixture, "a", "2");
    assert_true(first != 0 && second > first);
    struct blob_change metadata = { 0 };
    assert_int_equal(blob_await(fixture, "a", blob_set_metadata, &metadata), OK);
    assert_true(metadata.version_id > second);
    assert_listing(fixture, SHOWN_ALL, "a#1 a#2 a*");
    assert_listing(fixture, 0, "a*");
    assert_bytes(fixture, version_named("a", first), LONG_TEXT);
    assert_bytes(fixture, version_named("a", second), "2");
    assert_bytes(fixture, version_named("a", metadata.version_id), "2");
    struct blob blob;
    struct slice bytes;
    assert_int_equal(read_named(fixture, version_named("a", second), &blob, &bytes), OK);
    assert_false(blob.is_current);
    assert_int_equal(read_named(fixture, version_named("a", metadata.version_id), &blob, &bytes),
                     OK);
    assert_true(blob.is_current);
    assert_int_equal(read_named(fixture, version_named("a", 1), &blob, &bytes), ERR_BLOB_NOT_FOUND);
    assert_store_is_sound(fixture);
}

static void properties_tags_and_tier_make_no_version(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    const int64_t only = put_version(fixture, "a", "1");
    struct blob_change change = { 0 };
    assert_int_equal(blob_await(fixture, "a", blob_set_properties, &change), OK);
    assert_int_equal(blob_await(fixture, "a", blob_set_tags, &change), OK);
    assert_listing(fixture, SHOWN_ALL, "a*");
    assert_bytes(fixture, version_named("a", only), "1");
}

static void deleting_leaves_versions_and_no_current_one(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    const int64_t first = put_version(fixture, "a", "1");
    const int64_t second = put_version(fixture, "a", "2");
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, blob_named("box", "a"), &change), OK);
    assert_true(change.was_kept);
    struct blob blob;
    assert_int_equal(blob_read_record(fixture, "a", &blob), ERR_BLOB_NOT_FOUND);
    assert_listing(fixture, 0, "");
    assert_listing(fixture, SHOWN_VERSIONS, "a#1 a#2");
    assert_bytes(fixture, version_named("a", first), "1");
    assert_bytes(fixture, version_named("a", second), "2");
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_ALL, "a#1 a#2");
    put_version(fixture, "a", "3");
    assert_listing(fixture, SHOWN_ALL, "a#1 a#2 a*");
    assert_store_is_sound(fixture);
}

static void a_previous_version_can_be_deleted_and_the_current_one_not(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    const int64_t first = put_version(fixture, "a", LONG_TEXT);
    const int64_t second = put_version(fixture, "a", "2");
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, version_named("a", second), &change),
                     ERR_CURRENT_VERSION);
    assert_int_equal(delete_named(fixture, version_named("a", first), &change), OK);
    assert_false(change.was_kept);
    assert_listing(fixture, SHOWN_ALL, "a*");
    assert_int_equal(delete_named(fixture, version_named("a", first), &change), ERR_BLOB_NOT_FOUND);
    assert_int_equal(assert_store_is_sound(fixture).live_bytes, 0);
}

static void with_soft_delete_a_deleted_version_comes_back(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    set_policy(fixture, 7, true);
    const int64_t first = put_version(fixture, "a", "1");
    const int64_t second = put_version(fixture, "a", "2");
    assert_listing(fixture, SHOWN_ALL, "a#1 a*");
    assert_int_equal(delete_for_good(fixture, version_named("a", first)), ERR_NOT_SOFT_DELETED);
    assert_int_equal(delete_for_good(fixture, version_named("a", second)), ERR_CURRENT_VERSION);
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, version_named("a", first), &change), OK);
    assert_true(change.was_kept);
    assert_listing(fixture, SHOWN_VERSIONS, "a*");
    assert_listing(fixture, SHOWN_ALL, "a#1- a*");
    struct blob blob;
    struct slice bytes;
    assert_int_equal(read_named(fixture, version_named("a", first), &blob, &bytes),
                     ERR_BLOB_NOT_FOUND);
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_bytes(fixture, version_named("a", first), "1");
    assert_int_equal(delete_named(fixture, version_named("a", first), &change), OK);
    assert_int_equal(delete_for_good(fixture, version_named("a", first)), OK);
    assert_listing(fixture, SHOWN_ALL, "a*");
    assert_store_is_sound(fixture);
}

static void a_copy_of_a_version_promotes_it(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    const char *const texts[] = { "1", LONG_TEXT };
    for (size_t i = 0; i < 2; i++) {
        const int64_t first = put_version(fixture, "a", texts[i]);
        const int64_t second = put_version(fixture, "a", "2");
        struct copy_change copy = { 0 };
        assert_int_equal(copy_over(fixture, version_named("a", first), "a", &copy), OK);
        assert_true(copy.blob.version_id > second);
        assert_bytes(fixture, blob_named("box", "a"), texts[i]);
        assert_bytes(fixture, version_named("a", first), texts[i]);
        assert_bytes(fixture, version_named("a", second), "2");
        assert_int_equal(delete_blob(fixture, "a"), OK);
        struct copy_change again = { 0 };
        assert_int_equal(copy_over(fixture, version_named("a", second), "a", &again), OK);
        assert_bytes(fixture, blob_named("box", "a"), "2");
        /* The current version by its id is the blob itself. */
        struct copy_change same = { 0 };
        assert_int_equal(copy_over(fixture, version_named("a", again.blob.version_id), "a", &same),
                         OK);
        assert_bytes(fixture, blob_named("box", "a"), "2");
        assert_bytes(fixture, version_named("a", again.blob.version_id), "2");
        assert_store_is_sound(fixture);
    }
    container_make(fixture, "other");
}

static void a_snapshot_makes_a_version_too(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    set_policy(fixture, 7, false);
    put_version(fixture, "a", LONG_TEXT);
    const struct blob_snapshot taken = snapshot_of(fixture, "a");
    assert_true(taken.version_id != 0);
    assert_listing(fixture, SHOWN_ALL, "a#1 a@1 a*");
    assert_listing(fixture, SHOWN_SNAPSHOTS, "a@1 a*");
    struct blob_change change = { 0 };
    assert_int_equal(delete_named(fixture, blob_named("box", "a"), &change), ERR_SNAPSHOTS_PRESENT);
    assert_int_equal(delete_blob(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_ALL, "a#1 a@1- a#2");
    assert_bytes(fixture, version_named("a", taken.version_id), LONG_TEXT);
    assert_int_equal(undelete(fixture, "a"), OK);
    assert_listing(fixture, SHOWN_ALL, "a#1 a@1 a#2");
    assert_bytes(fixture, snapshot_named("a", taken.snapshot), LONG_TEXT);
    assert_store_is_sound(fixture);
}

static void versions_are_of_one_type(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    put_version(fixture, "a", "1");
    struct blob_change append = { 0 };
    assert_int_equal(blob_await(fixture, "a", append_create, &append), ERR_INVALID_BLOB_TYPE);
    assert_int_equal(delete_blob(fixture, "a"), OK);
    assert_int_equal(blob_await(fixture, "a", append_create, &append), ERR_INVALID_BLOB_TYPE);
    const struct shown *shown = list_history(fixture, SHOWN_ALL, 10);
    struct blob_change change = { 0 };
    assert_int_equal(
        delete_named(fixture, version_named("a", shown->entries[0].blob.version_id), &change), OK);
    assert_int_equal(blob_await(fixture, "a", append_create, &append), OK);
}

static enum err set_tags(struct service_fixture *fixture, struct blob_name name,
                         struct metadata_pair *pair)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct blob_change change = { .name = name, .tags = { pair, 1 } };
    waiter_bind(&waiter, &change.base, &arena);
    blob_set_tags(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static void a_version_has_tags_and_a_tier_of_its_own(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    const int64_t first = put_version(fixture, "a", "1");
    const int64_t second = put_version(fixture, "a", "2");
    struct metadata_pair old_tag = { slice_of("age"), slice_of("old") };
    struct metadata_pair new_tag = { slice_of("age"), slice_of("new") };
    assert_int_equal(set_tags(fixture, version_named("a", first), &old_tag), OK);
    assert_int_equal(set_tags(fixture, version_named("a", second), &new_tag), OK);
    struct arena arena = { 0 };
    struct waiter waiter;
    struct blob_set_tier tier = { .name = version_named("a", first), .tier = slice_of("Cool") };
    waiter_bind(&waiter, &tier.base, &arena);
    blob_set_tier(&fixture->service, &tier);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
    struct blob blob;
    struct slice bytes;
    assert_int_equal(read_named(fixture, version_named("a", first), &blob, &bytes), OK);
    assert_true(slice_is(blob.tier, "Cool"));
    assert_true(slice_is(blob.tags.pairs[0].value, "old"));
    assert_int_equal(blob_read_record(fixture, "a", &blob), OK);
    assert_int_equal(blob.tier.len, 0);
    assert_true(slice_is(blob.tags.pairs[0].value, "new"));
    /* The index has the current version and no other: fsck would say. */
    assert_store_is_sound(fixture);
}

static void a_blob_from_before_versions_becomes_one(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const int64_t etag = blob_put_text(fixture, "a", "old");
    fixture->service.blob_versioning = true;
    put_version(fixture, "a", "new");
    assert_listing(fixture, SHOWN_ALL, "a#1 a*");
    assert_bytes(fixture, version_named("a", etag), "old");
}

static void versions_stay_when_no_more_are_made(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    const int64_t first = put_version(fixture, "a", "1");
    fixture->service.blob_versioning = false;
    assert_int_equal(put_version(fixture, "a", "2"), 0);
    assert_listing(fixture, SHOWN_ALL, "a#1 a");
    assert_int_equal(put_version(fixture, "a", "3"), 0);
    assert_listing(fixture, SHOWN_ALL, "a#1 a");
    assert_bytes(fixture, version_named("a", first), "1");
    assert_store_is_sound(fixture);
}

static void appending_to_a_blob_does_not_change_its_versions(void **state)
{
    struct service_fixture *fixture = with_versions(state);
    struct blob_change append = { 0 };
    assert_int_equal(blob_await(fixture, "l", append_create, &append), OK);
    int64_t versions[4];
    for (int i = 0; i < 4; i++) {
        struct arena arena = { 0 };
        struct waiter waiter;
        struct append_change block = { .blob = { .name = blob_named("box", "l") } };
        waiter_bind(&waiter, &block.blob.base, &arena);
        assert_int_equal(payload_writer_new(&fixture->service, &arena, 2, &block.blob.payload), OK);
        assert_int_equal(payload_writer_append(block.blob.payload, slice_of("ab")), OK);
        assert_int_equal(payload_writer_finish(block.blob.payload), OK);
        append_block(&fixture->service, &block);
        assert_int_equal(waiter_wait(&waiter), OK);
        arena_release(&arena);
        struct blob blob;
        assert_int_equal(blob_read_record(fixture, "l", &blob), OK);
        versions[i] = blob.version_id;
        struct blob_change metadata = { 0 };
        assert_int_equal(blob_await(fixture, "l", blob_set_metadata, &metadata), OK);
    }
    assert_bytes(fixture, version_named("l", versions[0]), "ab");
    assert_bytes(fixture, version_named("l", versions[2]), "ababab");
    assert_bytes(fixture, blob_named("box", "l"), "abababab");
    assert_int_equal(delete_blob(fixture, "l"), OK);
    assert_bytes(fixture, version_named("l", versions[1]), "abab");
    assert_store_is_sound(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_deleted_blob_comes_back_as_it_was),
        ON_MEMORY(there_is_nothing_to_undelete_of_what_never_was),
        ON_ALL_ENGINES(a_listing_shows_deleted_blobs_if_asked),
        ON_ALL_ENGINES(what_is_overwritten_is_kept_as_a_deleted_snapshot),
        ON_MEMORY(a_deleted_snapshot_comes_back_with_its_blob_or_without),
        ON_MEMORY(a_name_that_is_used_again_makes_the_deleted_blob_a_snapshot),
        ON_MEMORY(the_same_holds_when_the_policy_was_off_meanwhile),
        ON_MEMORY(a_blob_of_another_type_ends_what_was_soft_deleted),
        ON_MEMORY(deleted_blobs_are_not_found_by_their_tags),
        ON_MEMORY(deleting_needs_the_lease_and_ends_it),
        ON_ALL_ENGINES(at_its_time_it_is_gone_and_then_swept),
        ON_MEMORY(the_days_are_those_of_the_policy_at_the_time_of_the_deletion),
        ON_MEMORY(snapshots_that_outlive_their_blob_do_not_come_back),
        ON_MEMORY(only_what_is_soft_deleted_is_deleted_for_good_and_only_if_allowed),
        ON_MEMORY(nothing_is_kept_without_a_policy),
        ON_ALL_ENGINES(everything_goes_with_the_container),
        ON_MEMORY(append_blobs_and_page_blobs_come_back_too),
        ON_MEMORY(folders_of_deleted_blobs_are_listed_if_asked),
        ON_MEMORY(a_deleted_blob_and_new_blocks_of_its_name_are_listed_once_each),
        ON_MEMORY(fsck_finds_what_is_wrong_with_histories),
        ON_ALL_ENGINES(every_write_makes_a_version_and_keeps_the_last),
        ON_MEMORY(properties_tags_and_tier_make_no_version),
        ON_ALL_ENGINES(deleting_leaves_versions_and_no_current_one),
        ON_MEMORY(a_previous_version_can_be_deleted_and_the_current_one_not),
        ON_MEMORY(with_soft_delete_a_deleted_version_comes_back),
        ON_ALL_ENGINES(a_copy_of_a_version_promotes_it),
        ON_ALL_ENGINES(a_snapshot_makes_a_version_too),
        ON_MEMORY(versions_are_of_one_type),
        ON_MEMORY(a_version_has_tags_and_a_tier_of_its_own),
        ON_MEMORY(a_blob_from_before_versions_becomes_one),
        ON_MEMORY(versions_stay_when_no_more_are_made),
        ON_MEMORY(appending_to_a_blob_does_not_change_its_versions),
    };
    return cmocka_run_group_tests(tests, fixture_quiet, NULL);
}
