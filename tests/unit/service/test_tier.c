/*
 * test_tier.c - access tiers: words, moves between them, and the way out of the archive.
 */
#include "service/blob/tier.h"
#include "service_fixture.h"

static enum err set_tier(struct service_fixture *fixture, const char *name, int64_t snapshot,
                         const char *tier, bool *is_pending)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct blob_set_tier change = { .tier = tier_word(slice_of(tier)) };
    waiter_bind(&waiter, &change.base, &arena);
    change.name = blob_named("box", name);
    change.name.snapshot = snapshot;
    blob_set_tier(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    *is_pending = change.is_pending;
    arena_release(&arena);
    return err;
}

static enum err read_bytes(struct service_fixture *fixture, const char *name)
{
    const struct blob_get_request get = { .name = blob_named("box", name), .want_payload = true };
    struct blob blob;
    struct payload_reader payload;
    return blob_get(&fixture->service, &fixture->arena, &get, &blob, &payload);
}

static void words_are_the_services_in_any_case(void **state)
{
    (void)state;
    assert_true(slice_is(tier_word(slice_of("hot")), "Hot"));
    assert_true(slice_is(tier_word(slice_of("COOL")), "Cool"));
    assert_true(slice_is(tier_word(slice_of("Cold")), "Cold"));
    assert_true(slice_is(tier_word(slice_of("archive")), "Archive"));
    assert_int_equal(tier_word(slice_of("P10")).len, 0);
    assert_int_equal(tier_word(slice_of("")).len, 0);
    assert_true(slice_is(tier_priority_word(slice_of("high")), "High"));
    assert_int_equal(tier_priority_word(slice_of("soon")).len, 0);
}

static void a_tier_is_set_without_a_new_etag(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const int64_t etag = blob_put_text(fixture, "blob", "bytes");
    bool is_pending;
    struct blob blob;
    assert_int_equal(set_tier(fixture, "blob", 0, "Cool", &is_pending), OK);
    assert_false(is_pending);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_true(slice_is(blob.tier, "Cool"));
    assert_int_equal(blob.etag, etag);
    assert_true(blob.tier_changed_at > etag);
    assert_int_equal(set_tier(fixture, "none", 0, "Cool", &is_pending), ERR_BLOB_NOT_FOUND);
    assert_int_equal(set_tier(fixture, "blob", 1, "Cool", &is_pending), ERR_BLOB_NOT_FOUND);
}

static void an_archived_blob_has_a_record_and_no_bytes(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    blob_put_text(fixture, "blob", "bytes");
    bool is_pending;
    struct blob blob;
    assert_int_equal(set_tier(fixture, "blob", 0, "Archive", &is_pending), OK);
    assert_false(is_pending);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_int_equal(read_bytes(fixture, "blob"), ERR_BLOB_ARCHIVED);
    struct blob_change change = { 0 };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &change),
                     ERR_BLOB_ARCHIVED);
    struct blob_change other = { 0 };
    assert_int_equal(blob_await(fixture, "blob", blob_set_metadata, &other), ERR_BLOB_ARCHIVED);
    assert_int_equal(set_tier(fixture, "blob", 0, "Archive", &is_pending), OK);
    assert_int_equal(blob_await(fixture, "blob", blob_delete, &other), OK);
}

static void a_blob_leaves_the_archive_after_its_time(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    blob_put_text(fixture, "blob", "bytes");
    bool is_pending;
    struct blob blob;
    assert_int_equal(set_tier(fixture, "blob", 0, "Archive", &is_pending), OK);
    assert_int_equal(set_tier(fixture, "blob", 0, "Cool", &is_pending), OK);
    assert_true(is_pending);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_true(slice_is(blob.tier, "Archive"));
    assert_true(slice_is(blob.archive_status, "rehydrate-pending-to-cool"));
    assert_true(slice_is(blob.rehydrate_priority, "Standard"));
    assert_int_equal(read_bytes(fixture, "blob"), ERR_BLOB_REHYDRATING);
    assert_int_equal(set_tier(fixture, "blob", 0, "Hot", &is_pending), ERR_BLOB_REHYDRATING);
    assert_int_equal(set_tier(fixture, "blob", 0, "Cool", &is_pending), OK);
    assert_true(is_pending);

    /* A record that is not touched changes with time alone. */
    fixture_advance_ms(fixture, TIER_REHYDRATE_MS / 2);
    assert_int_equal(read_bytes(fixture, "blob"), ERR_BLOB_REHYDRATING);
    fixture_advance_ms(fixture, TIER_REHYDRATE_MS / 2 + 1);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_true(slice_is(blob.tier, "Cool"));
    assert_int_equal(blob.archive_status.len, 0);
    assert_int_equal(blob.rehydrate_priority.len, 0);
    assert_true(slice_is(blob_read_bytes(fixture, "blob"), "bytes"));
    blob_put_text(fixture, "blob", "new");
}

static void a_blob_written_anew_stays_in_its_tier(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    struct blob blob;
    struct blob_change change = { .tier = slice_of("Cool") };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("x"), &change), OK);
    blob_put_text(fixture, "blob", "y");
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_true(slice_is(blob.tier, "Cool"));
    struct blob_change hot = { .tier = slice_of("Hot") };
    assert_int_equal(blob_put_into(fixture, "box", "blob", slice_of("z"), &hot), OK);
    assert_int_equal(blob_read_record(fixture, "blob", &blob), OK);
    assert_true(slice_is(blob.tier, "Hot"));
}

static void only_block_blobs_have_tiers(void **state)
{
    (void)state;
    bool is_pending;
    struct blob blob = { .type = BLOB_PAGE };
    assert_int_equal(tier_set(&blob, slice_of("Cool"), (struct slice){ 0 }, 1, &is_pending),
                     ERR_TIER_NOT_FOR_TYPE);
    blob.type = BLOB_APPEND;
    assert_int_equal(tier_set(&blob, slice_of("Cool"), (struct slice){ 0 }, 1, &is_pending),
                     ERR_TIER_NOT_FOR_TYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_the_services_in_any_case),
        ON_ALL_ENGINES(a_tier_is_set_without_a_new_etag),
        ON_ALL_ENGINES(an_archived_blob_has_a_record_and_no_bytes),
        ON_ALL_ENGINES(a_blob_leaves_the_archive_after_its_time),
        ON_ALL_ENGINES(a_blob_written_anew_stays_in_its_tier),
        cmocka_unit_test(only_block_blobs_have_tiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
