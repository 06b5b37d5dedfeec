/*
 * test_container.c - containers: the operations, their conditions and leases ("Create Container",
 * "Lease Container" and their neighbours), listing in pages, and the stored form.
 */
#include "base/date.h"
#include "base/log.h"
#include "service/etag.h"
#include "service/row.h"
#include "service_fixture.h"
#include "test_random.h"

static const struct uuid A = { .bytes = { 0xA } };
static const struct uuid B = { .bytes = { 0xB } };

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static enum err get(struct service_fixture *fixture, const char *name, struct container *container)
{
    const struct container_name full = container_named(name);
    return container_get(&fixture->service, &fixture->arena, &full, NULL, container);
}

static enum err get_with_lease(struct service_fixture *fixture, const char *name,
                               const struct uuid *lease_id)
{
    struct container container;
    const struct container_name full = container_named(name);
    return container_get(&fixture->service, &fixture->arena, &full, lease_id, &container);
}

static struct metadata one_pair(struct service_fixture *fixture, const char *name,
                                const char *value)
{
    struct metadata metadata = { 0 };
    metadata_append(&metadata, &fixture->arena,
                    (struct metadata_pair){ slice_of(name), slice_of(value) });
    return metadata;
}

/* --- life --- */

static void a_created_container_is_found_with_its_metadata(void **state)
{
    struct service_fixture *fixture = *state;
    struct container_change change = { .metadata = one_pair(fixture, "Colour", "blue") };
    assert_int_equal(container_await(fixture, "box", container_create, &change), OK);
    assert_true(change.container.etag >= FIXTURE_T0);
    assert_int_equal(change.container.incarnation, change.container.etag);

    struct container container;
    assert_int_equal(get(fixture, "box", &container), OK);
    assert_int_equal(container.etag, change.container.etag);
    assert_int_equal(container.lease.state, LEASE_AVAILABLE);
    assert_int_equal(container.metadata.count, 1);
    assert_true(slice_is(container.metadata.pairs[0].name, "Colour"));
    assert_true(slice_is(container.metadata.pairs[0].value, "blue"));
}

static void a_container_is_created_once(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const struct slice before = fixture_dump(fixture);
    struct container_change change = { .metadata = one_pair(fixture, "a", "b") };
    assert_int_equal(container_await(fixture, "box", container_create, &change),
                     ERR_CONTAINER_EXISTS);
    fixture_assert_unchanged(fixture, before);
}

static void of_many_who_create_one_container_one_succeeds(void **state)
{
    struct service_fixture *fixture = *state;
    enum {
        CREATORS = 16,
    };
    struct container_change changes[CREATORS] = { 0 };
    struct waiter waiters[CREATORS];
    struct arena arenas[CREATORS] = { 0 };
    for (size_t i = 0; i < CREATORS; i++) {
        waiter_bind(&waiters[i], &changes[i].base, &arenas[i]);
        changes[i].name = container_named("box");
        container_create(&fixture->service, &changes[i]);
    }
    size_t created = 0;
    for (size_t i = 0; i < CREATORS; i++) {
        const enum err err = waiter_wait(&waiters[i]);
        assert_true(err == OK || err == ERR_CONTAINER_EXISTS);
        created += err == OK;
        arena_release(&arenas[i]);
    }
    assert_int_equal(created, 1);
}

static void what_is_not_there_is_not_found(void **state)
{
    struct service_fixture *fixture = *state;
    struct container container;
    struct slice partition;
    struct container_change change = { 0 };
    struct container_lease lease = {
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = 15 }
    };
    const struct container_name name = container_named("box");
    assert_int_equal(get(fixture, "box", &container), ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(container_find_blobs(&fixture->service, &fixture->arena, &name, &partition),
                     ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(container_await(fixture, "box", container_set_metadata, &change),
                     ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(container_await(fixture, "box", container_delete, &change),
                     ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(container_lease_await(fixture, "box", &lease), ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(fixture_dump(fixture).len, 0);
}

static void metadata_is_replaced_as_a_whole(void **state)
{
    struct service_fixture *fixture = *state;
    struct container container;
    struct container_change change = { .metadata = one_pair(fixture, "first", "1") };
    assert_int_equal(container_await(fixture, "box", container_create, &change), OK);
    const int64_t created = change.container.etag;

    change = (struct container_change){ .metadata = one_pair(fixture, "second", "2") };
    assert_int_equal(container_await(fixture, "box", container_set_metadata, &change), OK);
    assert_true(change.container.etag > created);
    assert_int_equal(get(fixture, "box", &container), OK);
    assert_int_equal(container.etag, change.container.etag);
    assert_int_equal(container.incarnation, created);
    assert_int_equal(container.metadata.count, 1);
    assert_true(slice_is(container.metadata.pairs[0].name, "second"));

    change = (struct container_change){ 0 };
    assert_int_equal(container_await(fixture, "box", container_set_metadata, &change), OK);
    assert_int_equal(get(fixture, "box", &container), OK);
    assert_int_equal(container.metadata.count, 0);
}

static void a_container_made_again_is_another_one(void **state)
{
    struct service_fixture *fixture = *state;
    struct container first;
    struct container second;
    struct blob blob;
    container_make(fixture, "box");
    assert_int_equal(get(fixture, "box", &first), OK);
    blob_put_text(fixture, "old", "bytes");
    assert_int_equal(container_remove(fixture, "box"), OK);
    assert_int_equal(get(fixture, "box", &second), ERR_CONTAINER_NOT_FOUND);
    assert_int_equal(blob_read_record(fixture, "old", &blob), ERR_CONTAINER_NOT_FOUND);

    container_make(fixture, "box");
    assert_int_equal(get(fixture, "box", &second), OK);
    assert_true(second.incarnation > first.incarnation);
    assert_int_equal(blob_read_record(fixture, "old", &blob), ERR_BLOB_NOT_FOUND);
}

static void accounts_do_not_see_each_other(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    const struct container_name other = { slice_of("other"), slice_of("box") };
    struct container container;
    assert_int_equal(container_get(&fixture->service, &fixture->arena, &other, NULL, &container),
                     ERR_CONTAINER_NOT_FOUND);
}

/* --- conditions --- */

static void conditions_are_checked_where_the_change_is_made(void **state)
{
    struct service_fixture *fixture = *state;
    container_make(fixture, "box");
    fixture_advance_ms(fixture, 10000);
    const int64_t later = date_cut_to_second(FIXTURE_T0) + 5 * CLOCK_TICKS_PER_SEC;
    const struct slice before = fixture_dump(fixture);

    struct container_change change = { .condition = { .has_modified_since = true,
                                                      .modified_since = later } };
    assert_int_equal(container_await(fixture, "box", container_set_metadata, &change),
                     ERR_CONDITION_NOT_MET);
    assert_int_equal(container_await(fixture, "box", container_delete, &change),
                     ERR_CONDITION_NOT_MET);
    struct container_lease lease = {
        .condition = change.condition,
        .lease = { .action = LEASE_ACTION_ACQUIRE, .proposed_id = A, .duration_sec = 15 },
    };
    assert_int_equal(container_lease_await(fixture, "box", &lease), ERR_CONDITION_NOT_MET);
    fixture_assert_unchanged(fixture, before);

    change = (struct container_change){ .condition = { .has_unmodified_since = true,
                                                       .unmodified_since = later } };
    assert_int_equal(container_await(fixture, "box", container_delete, &change), OK);
}

/* --- leases --- */

static enum err lease_action(struct service_fixture *fixture, struct lease_request request,
                             struct container_lease *result)
{
    *result = (struct container_lease){ .lease = request };
    return container_lease_await(fixture, "box", result);
}

static void a_leased_container_is_deleted_with_its_id_alone(void **state)
{
    struct service_fixture *fixture = *state;
    struct container_lease lease;
    container_make(fixture, "box");
    assert_int_equal(lease_action(fixture,
                                  (struct lease_request){ .action = LEASE_ACTION_ACQUIRE,
                                                          .proposed_id = A,
                                                          .duration_sec = 15 },
                                  &lease),
                     OK);
    assert_int_equal(lease.container.lease.state, LEASE_LEASED);
    const struct slice before = fixture_dump(fixture);

    struct container_change change = { 0 };
    assert_int_equal(container_await(fixture, "box", container_delete, &change),
                     ERR_LEASE_ID_MISSING);
    change = (struct container_change){ .has_lease_id = true, .lease_id = B };
    assert_int_equal(container_await(fixture, "box", container_delete, &change),
                     ERR_LEASE_ID_MISMATCH_CONTAINER);
    fixture_assert_unchanged(fixture, before);
    change = (struct container_change){ .has_lease_id = true, .lease_id = A };
    assert_int_equal(container_await(fixture, "box", container_delete, &change), OK);
}

static void other_operations_need_no_lease_but_check_one_they_are_given(void **state)
{
    struct service_fixture *fixture = *state;
    struct container_lease lease;
    struct container_change change = { 0 };
    container_make(fixture, "box");
    assert_int_equal(get_with_lease(fixture, "box", &A), ERR_LEASE_NOT_PRESENT_CONTAINER);
    change = (struct container_change){ .has_lease_id = true, .lease_id = A };
    assert_int_equal(container_await(fixture, "box", container_set_metadata, &change),
                     ERR_LEASE_NOT_PRESENT_CONTAINER);

    assert_int_equal(lease_action(fixture,
                                  (struct lease_request){ .action = LEASE_ACTION_ACQUIRE,
                                                          .proposed_id = A,
                                                          .duration_sec = 15 },
                                  &lease),
                     OK);
    assert_int_equal(get_with_lease(fixture, "box", NULL), OK);
    assert_int_equal(get_with_lease(fixture, "box", &A), OK);
    assert_int_equal(get_with_lease(fixture, "box", &B), ERR_LEASE_ID_MISMATCH_CONTAINER);
    change = (struct container_change){ 0 };
    assert_int_equal(container_await(fixture, "box", container_set_metadata, &change), OK);

    fixture_advance_ms(fixture, 15000);
    assert_int_equal(get_with_lease(fixture, "box", &A), ERR_LEASE_LOST);
    assert_int_equal(get_with_lease(fixture, "box", NULL), OK);
}

static void a_lease_goes_through_its_life(void **state)
{
    struct service_fixture *fixture = *state;
    struct container_lease lease;
    struct container made;
    struct container container;
    container_make(fixture, "box");
    assert_int_equal(get(fixture, "box", &made), OK);
    const struct lease_request acquire = { .action = LEASE_ACTION_ACQUIRE,
                                           .proposed_id = A,
                                           .duration_sec = 30 };
    const struct lease_request acquire_b = { .action = LEASE_ACTION_ACQUIRE,
                                             .proposed_id = B,
                                             .duration_sec = 15 };
    assert_int_equal(lease_action(fixture, acquire, &lease), OK);
    assert_int_equal(lease_action(fixture, acquire_b, &lease), ERR_LEASE_ALREADY_PRESENT);

    fixture_advance_ms(fixture, 20000);
    const struct lease_request renew = { .action = LEASE_ACTION_RENEW, .id = A };
    assert_int_equal(lease_action(fixture, renew, &lease), OK);
    fixture_advance_ms(fixture, 29000);
    assert_int_equal(get(fixture, "box", &container), OK);
    assert_int_equal(container.lease.state, LEASE_LEASED);

    const struct lease_request change = { .action = LEASE_ACTION_CHANGE,
                                          .id = A,
                                          .proposed_id = B };
    assert_int_equal(lease_action(fixture, change, &lease), OK);
    assert_true(uuid_equal(&lease.container.lease.id, &B));
    const struct lease_request end = { .action = LEASE_ACTION_BREAK, .break_sec = 60 };
    assert_int_equal(lease_action(fixture, end, &lease), OK);
    assert_int_equal(lease.lease.remaining_sec, 1);
    fixture_advance_ms(fixture, 1000);
    assert_int_equal(get(fixture, "box", &container), OK);
    assert_int_equal(container.lease.state, LEASE_BROKEN);

    const struct lease_request release = { .action = LEASE_ACTION_RELEASE, .id = B };
    assert_int_equal(lease_action(fixture, release, &lease), OK);
    assert_int_equal(get(fixture, "box", &container), OK);
    assert_int_equal(container.lease.state, LEASE_AVAILABLE);
    /* No action changes the container's state. */
    assert_int_equal(container.etag, made.etag);
    assert_int_equal(lease.container.etag, made.etag);
}

static void an_expired_container_lease_can_be_renewed_after_a_write(void **state)
{
    struct service_fixture *fixture = *state;
    struct container_lease lease;
    struct container_change change = { 0 };
    container_make(fixture, "box");
    assert_int_equal(lease_action(fixture,
                                  (struct lease_request){ .action = LEASE_ACTION_ACQUIRE,
                                                          .proposed_id = A,
                                                          .duration_sec = 15 },
                                  &lease),
                     OK);
    fixture_advance_ms(fixture, 20000);
    assert_int_equal(container_await(fixture, "box", container_set_metadata, &change), OK);
    const struct lease_request renew = { .action = LEASE_ACTION_RENEW, .id = A };
    assert_int_equal(lease_action(fixture, renew, &lease), OK);
}

/* --- listing --- */

struct listing {
    struct strbuf names; /* each followed by a space */
    size_t count;
    size_t stop_after;
};

static bool gather(void *arg, struct slice name, const struct container *container)
{
    struct listing *listing = arg;
    assert_true(container->incarnation > 0);
    strbuf_add(&listing->names, name);
    strbuf_add_byte(&listing->names, ' ');
    return ++listing->count != listing->stop_after;
}

struct page {
    const char *prefix;
    const char *from;
    size_t results_max;
    size_t stop_after; /* 0: never */
};

/* The names of a page, then ">" and where the next begins. */
static const char *list(struct service_fixture *fixture, struct page page)
{
    struct listing listing = { .stop_after = page.stop_after };
    strbuf_init(&listing.names, &fixture->arena);
    const struct container_list_request request = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .prefix = slice_of(page.prefix),
        .from = slice_of(page.from),
        .results_max = page.results_max == 0 ? 5000 : page.results_max,
        .emit = gather,
        .arg = &listing,
    };
    struct slice next;
    assert_int_equal(container_list(&fixture->service, &fixture->arena, &request, &next), OK);
    strbuf_add_byte(&listing.names, '>');
    strbuf_add(&listing.names, next);
    return arena_copy(&fixture->arena, strbuf_slice(&listing.names)).data;
}

static void listing_gives_pages_in_order(void **state)
{
    struct service_fixture *fixture = *state;
    const char *const names[] = { "bbb", "aaa", "aab", "$root", "abc", "zzz", "deleted" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        container_make(fixture, names[i]);
    assert_int_equal(container_remove(fixture, "deleted"), OK);

    assert_string_equal(list(fixture, (struct page){ 0 }), "$root aaa aab abc bbb zzz >");
    assert_string_equal(list(fixture, (struct page){ .prefix = "a" }), "aaa aab abc >");
    assert_string_equal(list(fixture, (struct page){ .prefix = "aaa" }), "aaa >");
    assert_string_equal(list(fixture, (struct page){ .prefix = "c" }), ">");
    assert_string_equal(list(fixture, (struct page){ .from = "aab" }), "aab abc bbb zzz >");
    assert_string_equal(list(fixture, (struct page){ .from = "aabc" }), "abc bbb zzz >");
    assert_string_equal(list(fixture, (struct page){ .prefix = "a", .from = "$" }),
                        "aaa aab abc >");
    assert_string_equal(list(fixture, (struct page){ .prefix = "a", .from = "b" }), ">");
    assert_string_equal(list(fixture, (struct page){ .results_max = 2 }), "$root aaa >aab");
    assert_string_equal(list(fixture, (struct page){ .results_max = 2, .from = "aab" }),
                        "aab abc >bbb");
    assert_string_equal(list(fixture, (struct page){ .results_max = 2, .from = "bbb" }),
                        "bbb zzz >");
    assert_string_equal(list(fixture, (struct page){ .prefix = "a", .results_max = 2 }),
                        "aaa aab >abc");
    /* A page that its reader ends early goes on where it ended. */
    assert_string_equal(list(fixture, (struct page){ .stop_after = 1 }), "$root >aaa");
    assert_string_equal(list(fixture, (struct page){ .from = "zzz", .stop_after = 1 }), "zzz >");
}

static bool note_state(void *arg, struct slice name, const struct container *container)
{
    (void)name;
    *(enum lease_state *)arg = container->lease.state;
    return true;
}

static void listing_shows_leases_as_they_are_now(void **state)
{
    struct service_fixture *fixture = *state;
    struct container_lease lease;
    enum lease_state seen = LEASE_AVAILABLE;
    struct slice next;
    container_make(fixture, "box");
    assert_int_equal(lease_action(fixture,
                                  (struct lease_request){ .action = LEASE_ACTION_ACQUIRE,
                                                          .proposed_id = A,
                                                          .duration_sec = 15 },
                                  &lease),
                     OK);
    const struct container_list_request request = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .results_max = 10,
        .emit = note_state,
        .arg = &seen,
    };
    assert_int_equal(container_list(&fixture->service, &fixture->arena, &request, &next), OK);
    assert_int_equal(seen, LEASE_LEASED);
    fixture_advance_ms(fixture, 15000);
    assert_int_equal(container_list(&fixture->service, &fixture->arena, &request, &next), OK);
    assert_int_equal(seen, LEASE_EXPIRED);
}

/* --- the stored form --- */

static void records_come_back(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    for (int i = 0; i < 1000; i++) {
        struct container container = {
            .incarnation = 1 + random_number(&random) / 2,
            .etag = 1 + (int64_t)(random_number(&random) % (uint64_t)CLOCK_TICKS_MAX),
        };
        for (size_t left = random_below(&random, 5); left > 0; left--)
            metadata_append(&container.metadata, &fixture->arena,
                            (struct metadata_pair){ arena_printf(&fixture->arena, "n%zu", left),
                                                    random_bytes(&random, &fixture->arena, 200) });
        if (random_below(&random, 2) == 0)
            assert_int_equal(lease_acquire(&container.lease, &A, 60, 1000), OK);
        struct container back;
        assert_int_equal(
            container_decode(&fixture->arena, container_encode(&fixture->arena, &container), &back),
            OK);
        assert_true(back.incarnation == container.incarnation);
        assert_true(back.etag == container.etag);
        assert_int_equal(back.lease.state, container.lease.state);
        assert_int_equal(back.lease.ends_at_ms, container.lease.ends_at_ms);
        assert_int_equal(back.metadata.count, container.metadata.count);
        for (size_t j = 0; j < back.metadata.count; j++)
            assert_true(
                slice_equal(back.metadata.pairs[j].value, container.metadata.pairs[j].value));
        arena_clear(&fixture->arena);
    }
}

static void a_record_without_incarnation_or_a_real_instant_is_corrupt(void **state)
{
    struct service_fixture *fixture = *state;
    const struct container wrong[] = {
        { .incarnation = 0, .etag = FIXTURE_T0 },
        { .incarnation = 1, .etag = 0 },
        { .incarnation = 1, .etag = -1 },
        { .incarnation = 1, .etag = CLOCK_TICKS_MAX + 1 },
    };
    struct container back;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(
            container_decode(&fixture->arena, container_encode(&fixture->arena, &wrong[i]), &back),
            ERR_CORRUPT);
}

static void damaged_records_are_usable_or_corrupt(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    struct container container = { .incarnation = 300, .etag = FIXTURE_T0 };
    container.metadata = one_pair(fixture, "Colour", "blue");
    assert_int_equal(lease_acquire(&container.lease, &A, 60, 1000), OK);
    struct arena arena = { 0 };
    const struct slice row = container_encode(&fixture->arena, &container);
    size_t survived = 0;
    for (int i = 0; i < 100000; i++) {
        size_t len;
        char *damaged = random_damage(&random, row, &len);
        struct container back;
        const enum err err = container_decode(&arena, slice_make(damaged, len), &back);
        assert_true(err == OK || err == ERR_CORRUPT);
        if (err == OK) {
            char date[DATE_RFC1123_LEN + 1];
            char etag[ETAG_TEXT_LEN_MAX + 1];
            date_format_rfc1123(back.etag, date);
            etag_format(back.etag, etag);
            lease_settle(&back.lease, 2000);
            (void)container_encode(&arena, &back);
            survived++;
        }
        free(damaged);
        arena_clear(&arena);
    }
    arena_release(&arena);
    assert_in_range(survived, 1, 99999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_created_container_is_found_with_its_metadata),
        ON_ALL_ENGINES(a_container_is_created_once),
        ON_ALL_ENGINES(of_many_who_create_one_container_one_succeeds),
        ON_ALL_ENGINES(what_is_not_there_is_not_found),
        ON_ALL_ENGINES(metadata_is_replaced_as_a_whole),
        ON_ALL_ENGINES(a_container_made_again_is_another_one),
        ON_MEMORY(accounts_do_not_see_each_other),
        ON_ALL_ENGINES(conditions_are_checked_where_the_change_is_made),
        ON_ALL_ENGINES(a_leased_container_is_deleted_with_its_id_alone),
        ON_MEMORY(other_operations_need_no_lease_but_check_one_they_are_given),
        ON_ALL_ENGINES(a_lease_goes_through_its_life),
        ON_MEMORY(an_expired_container_lease_can_be_renewed_after_a_write),
        ON_ALL_ENGINES(listing_gives_pages_in_order),
        ON_MEMORY(listing_shows_leases_as_they_are_now),
        ON_MEMORY(records_come_back),
        ON_MEMORY(a_record_without_incarnation_or_a_real_instant_is_corrupt),
        ON_MEMORY(damaged_records_are_usable_or_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
