/*
 * test_share.c - shares: records, properties, leases, listing, snapshots, deleting, restoring.
 */
#include "base/log.h"
#include "service/account_partition.h"
#include "service/file/share_state.h"
#include "service/limits.h"
#include "service/sweeper.h"
#include "share_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static const struct uuid ID_A = { .bytes = { 0xa } };
static const struct uuid ID_B = { .bytes = { 0xb } };

/* --- create, get --- */

static void a_new_share_has_the_defaults(void **state)
{
    struct service_fixture *fixture = *state;
    struct share_change change = { 0 };
    struct share share;
    assert_int_equal(share_do(fixture, "one", share_create, &change), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.incarnation, change.share.incarnation);
    assert_int_equal(share.etag, change.share.etag);
    assert_int_equal(share.created_at, share.etag);
    assert_int_equal(share.quota_gib, LIMIT_SHARE_QUOTA_GIB_DEFAULT);
    assert_true(slice_is(share.access_tier, "TransactionOptimized"));
    assert_int_equal(share.tier_changed_at, share.etag);
    assert_int_equal(share.lease.state, LEASE_AVAILABLE);
    assert_int_equal(share.metadata.count + share.policies.count + share.root_squash.len, 0);
}

static void a_share_is_made_with_what_the_request_says(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pair = { SLICE_LITERAL("color"), SLICE_LITERAL("blue") };
    struct share_change change = {
        .metadata = { &pair, 1 },
        .quota_gib = 7,
        .access_tier = SLICE_LITERAL("Hot"),
        .root_squash = SLICE_LITERAL("RootSquash"),
    };
    struct share share;
    assert_int_equal(share_do(fixture, "one", share_create, &change), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.quota_gib, 7);
    assert_true(slice_is(share.access_tier, "Hot"));
    assert_true(slice_is(share.root_squash, "RootSquash"));
    assert_true(slice_is(share.metadata.pairs[0].value, "blue"));
    /* The result has nothing that ends with the change. */
    assert_null(change.share.metadata.pairs);
    assert_null(change.share.access_tier.data);
}

static void a_name_is_taken_once(void **state)
{
    struct service_fixture *fixture = *state;
    struct share_change change = { 0 };
    share_new(fixture, "one");
    assert_int_equal(share_do(fixture, "one", share_create, &change), ERR_SHARE_EXISTS);
}

static void what_is_not_there_is_not_found(void **state)
{
    struct service_fixture *fixture = *state;
    struct share share;
    struct share_change change = { 0 };
    struct share_lease lease = { .lease.action = LEASE_ACTION_BREAK };
    uint64_t bytes;
    const struct share_name name = share_named("one", 0);
    assert_int_equal(share_record(fixture, "one", 0, &share), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_record(fixture, "one", 5, &share), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_get_usage(&fixture->service, &fixture->arena, &name, NULL, &bytes),
                     ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_do(fixture, "one", share_set_metadata, &change), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_do(fixture, "one", share_set_properties, &change), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_do(fixture, "one", share_set_acl, &change), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_do(fixture, "one", share_snapshot, &change), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_do(fixture, "one", share_delete, &change), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_do(fixture, "one", share_restore, &change), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_lease_await(fixture, "one", &lease), ERR_SHARE_NOT_FOUND);
    share_new(fixture, "one");
    assert_int_equal(share_record(fixture, "one", 5, &share), ERR_SHARE_SNAPSHOT_NOT_FOUND);
    assert_int_equal(share_remove(fixture, "one", 5, SHARE_SNAPSHOTS_NONE),
                     ERR_SHARE_SNAPSHOT_NOT_FOUND);
    lease.name.snapshot = 5;
    assert_int_equal(share_lease_await(fixture, "one", &lease), ERR_SHARE_SNAPSHOT_NOT_FOUND);
}

static void the_usage_of_a_share_is_what_its_state_says(void **state)
{
    struct service_fixture *fixture = *state;
    const struct share_name name = share_named("one", 0);
    uint64_t bytes = 1;
    share_new(fixture, "one");
    assert_int_equal(share_get_usage(&fixture->service, &fixture->arena, &name, NULL, &bytes), OK);
    assert_int_equal(bytes, 0);
}

/* --- properties, metadata, policies --- */

static void properties_that_are_not_named_stay(void **state)
{
    struct service_fixture *fixture = *state;
    struct share before;
    struct share after;
    share_new(fixture, "one");
    assert_int_equal(share_record(fixture, "one", 0, &before), OK);
    struct share_change quota = { .quota_gib = 100 };
    assert_int_equal(share_do(fixture, "one", share_set_properties, &quota), OK);
    assert_int_equal(share_record(fixture, "one", 0, &after), OK);
    assert_int_equal(after.quota_gib, 100);
    assert_true(slice_equal(after.access_tier, before.access_tier));
    assert_int_equal(after.tier_changed_at, before.tier_changed_at);
    assert_true(after.etag > before.etag);
    assert_int_equal(after.etag, quota.share.etag);
    assert_int_equal(after.created_at, before.created_at);
    struct share_change tier = { .access_tier = SLICE_LITERAL("Cool") };
    assert_int_equal(share_do(fixture, "one", share_set_properties, &tier), OK);
    assert_int_equal(share_record(fixture, "one", 0, &after), OK);
    assert_int_equal(after.quota_gib, 100);
    assert_true(slice_is(after.access_tier, "Cool"));
    assert_int_equal(after.tier_changed_at, after.etag);
}

static void metadata_and_policies_are_replaced_as_a_whole(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pair = { SLICE_LITERAL("a"), SLICE_LITERAL("1") };
    struct share_change metadata = { .metadata = { &pair, 1 } };
    struct share_change policies = {
        .policies = { .count = 1, .policies = { { .id = SLICE_LITERAL("p") } } },
    };
    struct share_change nothing = { 0 };
    struct share share;
    share_new(fixture, "one");
    assert_int_equal(share_do(fixture, "one", share_set_metadata, &metadata), OK);
    assert_int_equal(share_do(fixture, "one", share_set_acl, &policies), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.metadata.count, 1);
    assert_int_equal(share.policies.count, 1);
    assert_int_equal(share.etag, policies.share.etag);
    assert_true(policies.share.etag > metadata.share.etag);
    assert_int_equal(share_do(fixture, "one", share_set_metadata, &nothing), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.metadata.count, 0);
    assert_int_equal(share.policies.count, 1);
}

static void a_snapshot_cannot_be_changed(void **state)
{
    struct service_fixture *fixture = *state;
    share_new(fixture, "one");
    const int64_t taken = share_freeze(fixture, "one");
    void (*const changes[])(struct service *, struct share_change *) = {
        share_set_properties, share_set_metadata, share_set_acl, share_snapshot, share_create,
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct share_change change = { .name.snapshot = taken };
        assert_int_equal(share_do(fixture, "one", changes[i], &change), ERR_OPERATION_ON_SNAPSHOT);
    }
}

/* --- leases --- */

static enum err act(struct service_fixture *fixture, int64_t snapshot, enum lease_action action,
                    const struct uuid *id, int32_t seconds, int32_t *remaining)
{
    struct share_lease change = {
        .name.snapshot = snapshot,
        .lease = { .action = action, .duration_sec = seconds, .break_sec = seconds },
    };
    if (id != NULL)
        change.lease.id = change.lease.proposed_id = *id;
    if (action == LEASE_ACTION_CHANGE)
        change.lease.proposed_id = ID_B;
    const enum err err = share_lease_await(fixture, "one", &change);
    if (remaining != NULL)
        *remaining = change.lease.remaining_sec;
    return err;
}

/* Bring the lease of "one" into a state, under id A. */
static void lease_become(struct service_fixture *fixture, enum lease_state wanted)
{
    if (wanted == LEASE_AVAILABLE)
        return;
    assert_int_equal(act(fixture, 0, LEASE_ACTION_ACQUIRE, &ID_A, 15, NULL), OK);
    if (wanted == LEASE_EXPIRED)
        fixture_advance_ms(fixture, 16000);
    if (wanted == LEASE_BREAKING || wanted == LEASE_BROKEN)
        assert_int_equal(act(fixture, 0, LEASE_ACTION_BREAK, NULL, 10, NULL), OK);
    if (wanted == LEASE_BROKEN)
        fixture_advance_ms(fixture, 11000);
}

struct lease_row {
    enum lease_action action;
    const struct uuid *id;
    int32_t seconds;
    enum err outcomes[5]; /* available, leased, expired, breaking, broken */
};

static const enum lease_state LEASE_STATES[] = {
    LEASE_AVAILABLE, LEASE_LEASED, LEASE_EXPIRED, LEASE_BREAKING, LEASE_BROKEN,
};

static const struct lease_row LEASE_ROWS[] = {
    { LEASE_ACTION_ACQUIRE, &ID_A, 15, { OK, OK, OK, ERR_LEASE_BREAKING_NO_ACQUIRE, OK } },
    { LEASE_ACTION_ACQUIRE,
      &ID_B,
      -1,
      { OK, ERR_LEASE_ALREADY_PRESENT, OK, ERR_LEASE_ALREADY_PRESENT, OK } },
    { LEASE_ACTION_ACQUIRE,
      &ID_A,
      61,
      { ERR_OUT_OF_RANGE, ERR_OUT_OF_RANGE, ERR_OUT_OF_RANGE, ERR_OUT_OF_RANGE,
        ERR_OUT_OF_RANGE } },
    { LEASE_ACTION_RENEW,
      &ID_A,
      0,
      { ERR_LEASE_ACTION_ID_MISMATCH, OK, OK, ERR_LEASE_BROKEN_NO_RENEW,
        ERR_LEASE_BROKEN_NO_RENEW } },
    { LEASE_ACTION_RENEW,
      &ID_B,
      0,
      { ERR_LEASE_ACTION_ID_MISMATCH, ERR_LEASE_ACTION_ID_MISMATCH, ERR_LEASE_ACTION_ID_MISMATCH,
        ERR_LEASE_ACTION_ID_MISMATCH, ERR_LEASE_ACTION_ID_MISMATCH } },
    { LEASE_ACTION_CHANGE,
      &ID_A,
      0,
      { ERR_LEASE_ACTION_NOT_PRESENT, OK, ERR_LEASE_ACTION_NOT_PRESENT,
        ERR_LEASE_BREAKING_NO_CHANGE, ERR_LEASE_ACTION_NOT_PRESENT } },
    { LEASE_ACTION_RELEASE, &ID_A, 0, { ERR_LEASE_ACTION_ID_MISMATCH, OK, OK, OK, OK } },
    { LEASE_ACTION_RELEASE,
      &ID_B,
      0,
      { ERR_LEASE_ACTION_ID_MISMATCH, ERR_LEASE_ACTION_ID_MISMATCH, ERR_LEASE_ACTION_ID_MISMATCH,
        ERR_LEASE_ACTION_ID_MISMATCH, ERR_LEASE_ACTION_ID_MISMATCH } },
    { LEASE_ACTION_BREAK, NULL, 0, { ERR_LEASE_ACTION_NOT_PRESENT, OK, OK, OK, OK } },
};

static void each_lease_action_does_in_each_state_what_the_table_says(void **state)
{
    struct service_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(LEASE_ROWS) / sizeof(LEASE_ROWS[0]); i++) {
        const struct lease_row *row = &LEASE_ROWS[i];
        for (size_t j = 0; j < 5; j++) {
            struct share before;
            struct share after;
            share_new(fixture, "one");
            lease_become(fixture, LEASE_STATES[j]);
            assert_int_equal(share_record(fixture, "one", 0, &before), OK);
            assert_int_equal(before.lease.state, LEASE_STATES[j]);
            assert_int_equal(act(fixture, 0, row->action, row->id, row->seconds, NULL),
                             row->outcomes[j]);
            assert_int_equal(share_record(fixture, "one", 0, &after), OK);
            assert_int_equal(after.etag, before.etag);
            /* However it stands now, it can be broken and deleted. */
            act(fixture, 0, LEASE_ACTION_BREAK, NULL, 0, NULL);
            assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
        }
    }
}

struct use_row {
    const struct uuid *id;
    enum err outcomes[5];
};

/* Of what changes a share; reading differs in the first row. */
static const struct use_row USE_ROWS[] = {
    { NULL, { OK, ERR_LEASE_ID_MISSING, OK, ERR_LEASE_ID_MISSING, OK } },
    { &ID_A, { ERR_LEASE_NOT_PRESENT_CONTAINER, OK, ERR_LEASE_LOST, OK, ERR_LEASE_LOST } },
    { &ID_B,
      { ERR_LEASE_NOT_PRESENT_CONTAINER, ERR_LEASE_ID_MISMATCH_CONTAINER,
        ERR_LEASE_NOT_PRESENT_CONTAINER, ERR_LEASE_ID_MISMATCH_CONTAINER,
        ERR_LEASE_NOT_PRESENT_CONTAINER } },
};

static void every_change_of_a_leased_share_needs_the_lease(void **state)
{
    struct service_fixture *fixture = *state;
    void (*const changes[])(struct service *, struct share_change *) = {
        share_set_properties,
        share_set_metadata,
        share_set_acl,
        share_delete,
    };
    for (size_t row = 0; row < 3; row++) {
        for (size_t j = 0; j < 5; j++) {
            const struct uuid *id = USE_ROWS[row].id;
            share_new(fixture, "one");
            lease_become(fixture, LEASE_STATES[j]);
            for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
                struct share_change change = { .has_lease_id = id != NULL };
                if (id != NULL)
                    change.lease_id = *id;
                assert_int_equal(share_do(fixture, "one", changes[i], &change),
                                 USE_ROWS[row].outcomes[j]);
            }
            if (USE_ROWS[row].outcomes[j] != OK) {
                act(fixture, 0, LEASE_ACTION_BREAK, NULL, 0, NULL);
                assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
            }
        }
    }
}

static void reading_needs_no_lease_but_minds_the_one_that_is_named(void **state)
{
    struct service_fixture *fixture = *state;
    const struct share_name name = share_named("one", 0);
    struct share share;
    uint64_t bytes;
    for (size_t row = 0; row < 3; row++) {
        for (size_t j = 0; j < 5; j++) {
            const enum err expected = row == 0 ? OK : USE_ROWS[row].outcomes[j];
            share_new(fixture, "one");
            lease_become(fixture, LEASE_STATES[j]);
            assert_int_equal(
                share_get(&fixture->service, &fixture->arena, &name, USE_ROWS[row].id, &share),
                expected);
            assert_int_equal(share_get_usage(&fixture->service, &fixture->arena, &name,
                                             USE_ROWS[row].id, &bytes),
                             expected);
            act(fixture, 0, LEASE_ACTION_BREAK, NULL, 0, NULL);
            assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
        }
    }
}

static void breaking_says_how_long_it_takes(void **state)
{
    struct service_fixture *fixture = *state;
    int32_t remaining;
    share_new(fixture, "one");
    assert_int_equal(act(fixture, 0, LEASE_ACTION_ACQUIRE, &ID_A, -1, NULL), OK);
    assert_int_equal(act(fixture, 0, LEASE_ACTION_BREAK, NULL, 5, &remaining), OK);
    assert_int_equal(remaining, 5);
    fixture_advance_ms(fixture, 3000);
    assert_int_equal(act(fixture, 0, LEASE_ACTION_BREAK, NULL, 60, &remaining), OK);
    assert_int_equal(remaining, 2);
}

static void a_snapshot_has_a_lease_of_its_own(void **state)
{
    struct service_fixture *fixture = *state;
    struct share share;
    share_new(fixture, "one");
    assert_int_equal(act(fixture, 0, LEASE_ACTION_ACQUIRE, &ID_A, -1, NULL), OK);
    /* A lease does not keep from taking a snapshot, and the snapshot has none. */
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(share_record(fixture, "one", taken, &share), OK);
    assert_int_equal(share.lease.state, LEASE_AVAILABLE);
    assert_int_equal(act(fixture, taken, LEASE_ACTION_ACQUIRE, &ID_B, -1, NULL), OK);
    assert_int_equal(share_remove(fixture, "one", taken, SHARE_SNAPSHOTS_NONE),
                     ERR_LEASE_ID_MISSING);
    assert_int_equal(act(fixture, 0, LEASE_ACTION_RELEASE, &ID_A, 0, NULL), OK);
    assert_int_equal(share_record(fixture, "one", taken, &share), OK);
    assert_int_equal(share.lease.state, LEASE_LEASED);
    struct share_change delete = { .name.snapshot = taken, .has_lease_id = true, .lease_id = ID_B };
    assert_int_equal(share_do(fixture, "one", share_delete, &delete), OK);
}

/* --- snapshots --- */

static void a_snapshot_has_what_the_share_had(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pair = { SLICE_LITERAL("a"), SLICE_LITERAL("1") };
    struct share_change create = { .metadata = { &pair, 1 }, .quota_gib = 9 };
    struct share_change policies = {
        .policies = { .count = 1, .policies = { { .id = SLICE_LITERAL("p") } } },
    };
    struct share_change change = { .quota_gib = 10 };
    struct share share;
    assert_int_equal(share_do(fixture, "one", share_create, &create), OK);
    assert_int_equal(share_do(fixture, "one", share_set_acl, &policies), OK);
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(share_do(fixture, "one", share_set_properties, &change), OK);
    assert_int_equal(share_do(fixture, "one", share_set_metadata, &change), OK);
    assert_int_equal(share_record(fixture, "one", taken, &share), OK);
    assert_int_equal(share.snapshot, taken);
    assert_int_equal(share.quota_gib, 9);
    assert_int_equal(share.metadata.count, 1);
    assert_int_equal(share.policies.count, 0);
    assert_int_equal(share.etag, policies.share.etag);
    assert_int_equal(share.incarnation, create.share.incarnation);
    /* The share itself does not change by it. */
    struct share_change again = { 0 };
    assert_int_equal(share_do(fixture, "one", share_snapshot, &again), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.etag, again.share.etag);
    assert_true(again.share.snapshot > taken);
}

static void a_snapshot_with_metadata_has_it_instead(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pair = { SLICE_LITERAL("a"), SLICE_LITERAL("1") };
    struct share_change change = { .metadata = { &pair, 1 }, .has_metadata = true };
    struct share share;
    share_new(fixture, "one");
    assert_int_equal(share_do(fixture, "one", share_snapshot, &change), OK);
    assert_int_equal(share_record(fixture, "one", change.share.snapshot, &share), OK);
    assert_int_equal(share.metadata.count, 1);
    assert_int_equal(share.etag, change.share.etag);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.metadata.count, 0);
    assert_true(share.etag < change.share.etag);
}

static void there_are_two_hundred_snapshots_and_no_more(void **state)
{
    struct service_fixture *fixture = *state;
    struct share_change change = { 0 };
    int64_t first = 0;
    share_new(fixture, "one");
    share_new(fixture, "two");
    for (size_t i = 0; i < LIMIT_SHARE_SNAPSHOTS_MAX; i++) {
        const int64_t taken = share_freeze(fixture, "one");
        first = first == 0 ? taken : first;
    }
    assert_int_equal(share_do(fixture, "one", share_snapshot, &change), ERR_SHARE_SNAPSHOT_COUNT);
    share_freeze(fixture, "two");
    assert_int_equal(share_remove(fixture, "one", first, SHARE_SNAPSHOTS_NONE), OK);
    share_freeze(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE), OK);
}

/* The rows of a share's partition that begin so. */
static size_t count_rows(struct service_fixture *fixture, uint64_t incarnation, const char *letter)
{
    struct partition_view view;
    size_t count = 0;
    struct slice key;
    struct slice row;
    partition_view_open(fixture->service.store, file_partition(&fixture->arena, incarnation),
                        &view);
    struct cursor *cursor = partition_view_scan(&view, slice_of(letter), (struct slice){ 0 });
    while (cursor_next(cursor, &key, &row) == OK)
        count++;
    cursor_free(cursor);
    partition_view_close(&view);
    return count;
}

static void a_snapshot_that_is_refused_keeps_no_instant(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    for (size_t i = 0; i < LIMIT_SHARE_SNAPSHOTS_MAX; i++)
        share_freeze(fixture, "one");
    struct share_change change = { 0 };
    assert_int_equal(share_do(fixture, "one", share_snapshot, &change), ERR_SHARE_SNAPSHOT_COUNT);
    assert_int_equal(count_rows(fixture, incarnation, "i"), LIMIT_SHARE_SNAPSHOTS_MAX);
}

/* --- what happens between the two halves of a snapshot --- */

/* A store whose updates all wait for one another. */
static int one_committer_setup(void **state)
{
    service_fixture_setup(state);
    struct service_fixture *fixture = *state;
    const struct partition_options options = {
        .clock = &fixture->clock,
        .stream = fixture->stream,
        .committers = 1,
        .contrary_seed = 42,
    };
    partition_close(fixture->service.store);
    fixture->service.store = partition_open_memory(&options);
    return 0;
}

/* Started on the committer's own thread: each waits until the one before it, and all that it had
   to wait for before, has been decided. */
struct between {
    struct service_fixture *fixture;
    struct waiter started;
    struct partition_update update;
    size_t snapshot_count;
    struct share_change snapshots[2];
    struct waiter snapshot_waiters[2];
    size_t change_count; /* of those that come in between */
    void (*starts[2])(struct service *service, struct share_change *change);
    struct share_change changes[2];
    struct waiter change_waiters[2];
    int64_t shift_ms; /* the clock is moved in between */
    struct waiter shift_waiter;
    struct partition_update shift;
    struct arena arena;
};

static enum err shift_decide(struct change *change, void *arg)
{
    struct between *between = arg;
    (void)change;
    fixture_advance_ms(between->fixture, between->shift_ms);
    return OK;
}

static void shift_done(void *arg, enum err err)
{
    waiter_done(&((struct between *)arg)->shift_waiter, err);
}

static enum err nothing_decide(struct change *change, void *arg)
{
    (void)change;
    (void)arg;
    return OK;
}

static void begin(struct between *between, struct share_change *change, struct waiter *waiter,
                  void (*start)(struct service *service, struct share_change *change))
{
    waiter_bind(waiter, &change->base, &between->arena);
    change->name = share_named("one", 0);
    start(&between->fixture->service, change);
}

static void begin_all(void *arg, enum err err)
{
    struct between *between = arg;
    for (size_t i = 0; i < between->snapshot_count; i++)
        begin(between, &between->snapshots[i], &between->snapshot_waiters[i], share_snapshot);
    for (size_t i = 0; i < between->change_count; i++)
        begin(between, &between->changes[i], &between->change_waiters[i], between->starts[i]);
    if (between->shift_ms != 0) {
        waiter_init(&between->shift_waiter);
        between->shift = (struct partition_update){
            .partition = slice_of("elsewhere"),
            .decide = shift_decide,
            .arg = between,
            .done = shift_done,
        };
        partition_update(between->fixture->service.store, &between->shift);
    }
    waiter_done(&between->started, err);
}

/* Start all, and wait for what comes in between. */
static void run_between(struct service_fixture *fixture, struct between *between)
{
    between->fixture = fixture;
    waiter_init(&between->started);
    between->update = (struct partition_update){
        .partition = slice_of("elsewhere"),
        .decide = nothing_decide,
        .arg = between,
        .done = begin_all,
    };
    partition_update(fixture->service.store, &between->update);
    assert_int_equal(waiter_wait(&between->started), OK);
    for (size_t i = 0; i < between->change_count; i++)
        assert_int_equal(waiter_wait(&between->change_waiters[i]), OK);
    if (between->shift_ms != 0)
        assert_int_equal(waiter_wait(&between->shift_waiter), OK);
}

static void a_snapshot_that_takes_too_long_does_not_come_to_be(void **state)
{
    struct service_fixture *fixture = *state;
    struct between between = { .snapshot_count = 1,
                               .shift_ms = (SHARE_SNAPSHOT_SEC + 1) * INT64_C(1000) };
    const uint64_t incarnation = share_new(fixture, "one");
    run_between(fixture, &between);
    assert_int_equal(waiter_wait(&between.snapshot_waiters[0]), ERR_BUSY);
    struct share share;
    assert_int_equal(share_record(fixture, "one", between.snapshots[0].taken, &share),
                     ERR_SHARE_SNAPSHOT_NOT_FOUND);
    assert_int_equal(count_rows(fixture, incarnation, "i"), 1);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(count_rows(fixture, incarnation, "i"), 0);
    arena_release(&between.arena);
}

static void a_snapshot_is_not_given_to_another_share_of_the_name(void **state)
{
    struct service_fixture *fixture = *state;
    struct between between = { .snapshot_count = 1,
                               .change_count = 2,
                               .starts = { share_delete, share_create } };
    share_new(fixture, "one");
    run_between(fixture, &between);
    assert_int_equal(waiter_wait(&between.snapshot_waiters[0]), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    arena_release(&between.arena);
}

static void the_last_snapshot_is_taken_by_one_of_two(void **state)
{
    struct service_fixture *fixture = *state;
    struct between between = { .snapshot_count = 2 };
    share_new(fixture, "one");
    for (size_t i = 0; i < LIMIT_SHARE_SNAPSHOTS_MAX - 1; i++)
        share_freeze(fixture, "one");
    run_between(fixture, &between);
    assert_int_equal(waiter_wait(&between.snapshot_waiters[0]), OK);
    assert_int_equal(waiter_wait(&between.snapshot_waiters[1]), ERR_SHARE_SNAPSHOT_COUNT);
    arena_release(&between.arena);
}

/* --- delete --- */

static void a_deleted_share_leaves_its_name_free_at_once(void **state)
{
    struct service_fixture *fixture = *state;
    struct share share;
    const uint64_t old = share_new(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), ERR_SHARE_NOT_FOUND);
    assert_true(share_new(fixture, "one") > old);
}

static void a_share_with_snapshots_is_deleted_only_with_them(void **state)
{
    struct service_fixture *fixture = *state;
    struct share share;
    share_new(fixture, "one");
    const int64_t taken = share_freeze(fixture, "one");
    share_freeze(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE),
                     ERR_SHARE_HAS_SNAPSHOTS);
    assert_int_equal(act(fixture, taken, LEASE_ACTION_ACQUIRE, &ID_A, 15, NULL), OK);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE),
                     ERR_SHARE_HAS_SNAPSHOTS);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE),
                     ERR_SHARE_SNAPSHOT_LEASED);
    assert_int_equal(share_record(fixture, "one", taken, &share), OK);
    fixture_advance_ms(fixture, 16000);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE), OK);
    share_new(fixture, "one");
    assert_int_equal(share_record(fixture, "one", taken, &share), ERR_SHARE_SNAPSHOT_NOT_FOUND);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
}

static void leased_snapshots_go_if_it_is_said_so(void **state)
{
    struct service_fixture *fixture = *state;
    share_new(fixture, "one");
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(act(fixture, taken, LEASE_ACTION_ACQUIRE, &ID_A, -1, NULL), OK);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE),
                     ERR_SHARE_SNAPSHOT_LEASED);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE_LEASED), OK);
}

static void a_snapshot_is_deleted_by_itself(void **state)
{
    struct service_fixture *fixture = *state;
    struct share share;
    share_new(fixture, "one");
    const int64_t first = share_freeze(fixture, "one");
    const int64_t second = share_freeze(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", first, SHARE_SNAPSHOTS_NONE), OK);
    assert_int_equal(share_record(fixture, "one", first, &share), ERR_SHARE_SNAPSHOT_NOT_FOUND);
    assert_int_equal(share_record(fixture, "one", second, &share), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
}

/* --- soft delete --- */

static const int64_t DAY_MS = INT64_C(24) * 60 * 60 * 1000;

static void a_deleted_share_is_retained_and_comes_back_with_its_snapshots(void **state)
{
    struct service_fixture *fixture = *state;
    struct metadata_pair pair = { SLICE_LITERAL("a"), SLICE_LITERAL("1") };
    struct share_change create = { .metadata = { &pair, 1 }, .quota_gib = 9 };
    struct share share;
    share_retain(fixture, 7);
    assert_int_equal(share_do(fixture, "one", share_create, &create), OK);
    const uint64_t incarnation = create.share.incarnation;
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(act(fixture, taken, LEASE_ACTION_ACQUIRE, &ID_A, -1, NULL), OK);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE),
                     ERR_SHARE_HAS_SNAPSHOTS);
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE_LEASED), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_record(fixture, "one", taken, &share), ERR_SHARE_NOT_FOUND);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);

    fixture_advance_ms(fixture, 6 * DAY_MS);
    assert_int_equal(share_bring_back(fixture, "one", incarnation, "one"), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.incarnation, incarnation);
    assert_int_equal(share.quota_gib, 9);
    assert_int_equal(share.metadata.count, 1);
    assert_int_equal(share.deleted_at, 0);
    assert_int_equal(share.expires_at, 0);
    assert_true(share.etag > create.share.etag);
    assert_int_equal(share_record(fixture, "one", taken, &share), OK);
    assert_int_equal(share.lease.state, LEASE_AVAILABLE);
    assert_int_equal(share_bring_back(fixture, "one", incarnation, "two"), ERR_SHARE_NOT_FOUND);
}

static void a_share_can_come_back_under_another_name(void **state)
{
    struct service_fixture *fixture = *state;
    struct share share;
    share_retain(fixture, 1);
    const uint64_t first = share_new(fixture, "one");
    const int64_t taken = share_freeze(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_INCLUDE), OK);
    const uint64_t second = share_new(fixture, "one");
    assert_int_equal(share_record(fixture, "one", taken, &share), ERR_SHARE_SNAPSHOT_NOT_FOUND);
    assert_int_equal(share_bring_back(fixture, "one", first, "one"), ERR_SHARE_EXISTS);
    assert_int_equal(share_bring_back(fixture, "one", second, "two"), ERR_SHARE_NOT_FOUND);
    assert_int_equal(share_bring_back(fixture, "one", first, "two"), OK);
    assert_int_equal(share_record(fixture, "two", taken, &share), OK);
    assert_int_equal(share.incarnation, first);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.incarnation, second);
    /* The instant is looked after under the name the share had: it is still kept. */
    fixture_advance_ms(fixture, 2 * SHARE_SNAPSHOT_SEC * 1000);
    assert_int_equal(sweeper_pass_marked(&fixture->service), OK);
    assert_int_equal(count_rows(fixture, first, "i"), 1);
}

static void a_lease_does_not_come_back_with_a_share(void **state)
{
    struct service_fixture *fixture = *state;
    struct share share;
    share_retain(fixture, 1);
    const uint64_t incarnation = share_new(fixture, "one");
    assert_int_equal(act(fixture, 0, LEASE_ACTION_ACQUIRE, &ID_A, -1, NULL), OK);
    struct share_change delete = { .has_lease_id = true, .lease_id = ID_A };
    assert_int_equal(share_do(fixture, "one", share_delete, &delete), OK);
    assert_int_equal(share_bring_back(fixture, "one", incarnation, "one"), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.lease.state, LEASE_AVAILABLE);
}

static void several_deleted_shares_of_one_name_are_told_apart(void **state)
{
    struct service_fixture *fixture = *state;
    uint64_t incarnations[3];
    share_retain(fixture, 1);
    for (size_t i = 0; i < 3; i++) {
        incarnations[i] = share_new(fixture, "one");
        assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    }
    struct share share;
    assert_int_equal(share_bring_back(fixture, "one", incarnations[1], "one"), OK);
    assert_int_equal(share_record(fixture, "one", 0, &share), OK);
    assert_int_equal(share.incarnation, incarnations[1]);
}

static void a_retained_share_is_gone_at_its_time(void **state)
{
    struct service_fixture *fixture = *state;
    share_retain(fixture, 2);
    const uint64_t incarnation = share_new(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    fixture_advance_ms(fixture, 2 * DAY_MS + 1000);
    assert_int_equal(share_bring_back(fixture, "one", incarnation, "one"), ERR_SHARE_NOT_FOUND);
}

static void without_retention_nothing_comes_back(void **state)
{
    struct service_fixture *fixture = *state;
    share_retain(fixture, 2);
    share_retain(fixture, 0);
    const uint64_t incarnation = share_new(fixture, "one");
    assert_int_equal(share_remove(fixture, "one", 0, SHARE_SNAPSHOTS_NONE), OK);
    assert_int_equal(share_bring_back(fixture, "one", incarnation, "one"), ERR_SHARE_NOT_FOUND);
}

/* --- listing --- */

/* All pages of so many, as text; "|" between pages. */
static const char *list(struct service_fixture *fixture, struct share_list_request request,
                        size_t page, bool by_emit)
{
    struct share_listing listing = { 0 };
    strbuf_init(&listing.out, &fixture->arena);
    request.account = slice_of(FIXTURE_ACCOUNT_NAME);
    request.results_max = by_emit || page == 0 ? SIZE_MAX : page;
    request.emit = share_listing_add;
    request.arg = &listing;
    for (;;) {
        struct slice next;
        int64_t place;
        listing.count = 0;
        listing.count_max = by_emit ? page : 0;
        assert_int_equal(share_list(&fixture->service, &fixture->arena, &request, &next, &place),
                         OK);
        if (next.len == 0)
            break;
        strbuf_add_text(&listing.out, "|");
        request.from = next;
        request.from_place = place;
    }
    return arena_copy(&fixture->arena, strbuf_slice(&listing.out)).data;
}

/* The text without the marks between pages. */
static const char *without_marks(struct service_fixture *fixture, const char *text)
{
    char *result = arena_bytes(&fixture->arena, strlen(text) + 1);
    size_t len = 0;
    for (; *text != '\0'; text++) {
        if (*text != '|')
            result[len++] = *text;
    }
    result[len] = '\0';
    return result;
}

static void shares_are_listed_by_name_with_what_is_asked_for(void **state)
{
    struct service_fixture *fixture = *state;
    share_retain(fixture, 7);
    share_new(fixture, "b-a");
    share_new(fixture, "bb");
    share_new(fixture, "a");
    for (size_t i = 0; i < 2; i++) {
        share_new(fixture, "b");
        assert_int_equal(share_remove(fixture, "b", 0, SHARE_SNAPSHOTS_NONE), OK);
    }
    share_new(fixture, "b");
    share_new(fixture, "gone");
    assert_int_equal(share_remove(fixture, "gone", 0, SHARE_SNAPSHOTS_NONE), OK);
    const long long first = (long long)(share_freeze(fixture, "b") - FIXTURE_T0);
    const long long second = (long long)(share_freeze(fixture, "b") - FIXTURE_T0);
    const char *all =
        arena_printf(&fixture->arena, "a b@%lld b@%lld b b! b! b-a bb gone! ", first, second).data;
    const char *snapshots =
        arena_printf(&fixture->arena, "a b@%lld b@%lld b b-a bb ", first, second).data;
    const struct share_list_request plain = { 0 };
    assert_string_equal(list(fixture, plain, 0, false), "a b b-a bb ");
    const struct share_list_request with_snapshots = { .with_snapshots = true };
    assert_string_equal(list(fixture, with_snapshots, 0, false), snapshots);
    const struct share_list_request with_deleted = { .with_deleted = true };
    assert_string_equal(list(fixture, with_deleted, 0, false), "a b b! b! b-a bb gone! ");
    const struct share_list_request with_all = { .with_snapshots = true, .with_deleted = true };
    assert_string_equal(list(fixture, with_all, 0, false), all);
    const struct share_list_request prefix = { .prefix = SLICE_LITERAL("b"), .with_deleted = true };
    assert_string_equal(list(fixture, prefix, 0, false), "b b! b! b-a bb ");
    /* Pages of any size are the same list. */
    for (size_t page = 1; page < 10; page++) {
        assert_string_equal(without_marks(fixture, list(fixture, with_all, page, false)), all);
        assert_string_equal(without_marks(fixture, list(fixture, with_all, page, true)), all);
    }
    assert_string_equal(list(fixture, plain, 2, false), "a b |b-a bb ");
    /* What has expired is not listed, whether it was swept or not. */
    fixture_advance_ms(fixture, 8 * DAY_MS);
    assert_string_equal(list(fixture, with_all, 0, false), snapshots);
}

static bool note_lease(void *arg, struct slice name, const struct share *share)
{
    (void)name;
    *(enum lease_state *)arg = share->lease.state;
    return true;
}

static void a_list_shows_leases_as_they_are(void **state)
{
    struct service_fixture *fixture = *state;
    share_new(fixture, "one");
    lease_become(fixture, LEASE_EXPIRED);
    enum lease_state seen = LEASE_AVAILABLE;
    const struct share_list_request request = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .results_max = 10,
        .emit = note_lease,
        .arg = &seen,
    };
    struct slice next;
    int64_t place;
    assert_int_equal(share_list(&fixture->service, &fixture->arena, &request, &next, &place), OK);
    assert_int_equal(seen, LEASE_EXPIRED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_new_share_has_the_defaults),
        ON_MEMORY(a_share_is_made_with_what_the_request_says),
        ON_MEMORY(a_name_is_taken_once),
        ON_MEMORY(what_is_not_there_is_not_found),
        ON_MEMORY(the_usage_of_a_share_is_what_its_state_says),
        ON_ALL_ENGINES(properties_that_are_not_named_stay),
        ON_MEMORY(metadata_and_policies_are_replaced_as_a_whole),
        ON_MEMORY(a_snapshot_cannot_be_changed),
        ON_ALL_ENGINES(each_lease_action_does_in_each_state_what_the_table_says),
        ON_MEMORY(every_change_of_a_leased_share_needs_the_lease),
        ON_MEMORY(reading_needs_no_lease_but_minds_the_one_that_is_named),
        ON_MEMORY(breaking_says_how_long_it_takes),
        ON_MEMORY(a_snapshot_has_a_lease_of_its_own),
        ON_ALL_ENGINES(a_snapshot_has_what_the_share_had),
        ON_MEMORY(a_snapshot_with_metadata_has_it_instead),
        ON_MEMORY(there_are_two_hundred_snapshots_and_no_more),
        ON_MEMORY(a_snapshot_that_is_refused_keeps_no_instant),
        { "a_snapshot_that_takes_too_long_does_not_come_to_be",
          a_snapshot_that_takes_too_long_does_not_come_to_be, one_committer_setup,
          service_fixture_teardown, &fixture_on_memory_threads },
        { "a_snapshot_is_not_given_to_another_share_of_the_name",
          a_snapshot_is_not_given_to_another_share_of_the_name, one_committer_setup,
          service_fixture_teardown, &fixture_on_memory_threads },
        { "the_last_snapshot_is_taken_by_one_of_two", the_last_snapshot_is_taken_by_one_of_two,
          one_committer_setup, service_fixture_teardown, &fixture_on_memory_threads },
        ON_MEMORY(a_deleted_share_leaves_its_name_free_at_once),
        ON_MEMORY(a_share_with_snapshots_is_deleted_only_with_them),
        ON_MEMORY(leased_snapshots_go_if_it_is_said_so),
        ON_MEMORY(a_snapshot_is_deleted_by_itself),
        ON_ALL_ENGINES(a_deleted_share_is_retained_and_comes_back_with_its_snapshots),
        ON_ALL_ENGINES(a_share_can_come_back_under_another_name),
        ON_MEMORY(a_lease_does_not_come_back_with_a_share),
        ON_MEMORY(several_deleted_shares_of_one_name_are_told_apart),
        ON_MEMORY(a_retained_share_is_gone_at_its_time),
        ON_MEMORY(without_retention_nothing_comes_back),
        ON_ALL_ENGINES(shares_are_listed_by_name_with_what_is_asked_for),
        ON_MEMORY(a_list_shows_leases_as_they_are),
    };
    return cmocka_run_group_tests_name("share", tests, quiet, NULL);
}
