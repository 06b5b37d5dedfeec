/*
 * test_reclaim.c - payload ownership: who keeps a range alive, when its space comes back, what a
 * restart finds.  The stream is real, over the simulated disk.
 */
#include "reclaim_fixture.h"

/* --- owners --- */

static void a_range_lives_while_it_has_an_owner(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = payload(mine, 'a', 1);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    own(mine, &range, 2);
    disown(mine, &range, 1);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(first_byte(mine, &range), 'a');
    disown(mine, &range, 2);
    assert_int_equal(first_byte(mine, &range), 'a');
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    assert_int_equal(first_byte(mine, &range), 0);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
}

static void owners_that_let_go_together_give_the_range_back_once(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = payload(mine, 'a', 1);
    const struct stream_range other = payload(mine, 'b', 1);
    own(mine, &range, 2);
    disown(mine, &range, 1);
    disown(mine, &range, 2);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    assert_int_equal(first_byte(mine, &range), 0);
    assert_int_equal(first_byte(mine, &other), 'b');
}

static void an_aborted_change_changes_no_owner(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = payload(mine, 'a', 1);
    struct ownership ownership = { .disown = &range,
                                   .old_owner = 1,
                                   .says = ERR_CONDITION_NOT_MET };
    assert_int_equal(store_update(mine->fixture->store, "p", change_ownership, &ownership),
                     ERR_CONDITION_NOT_MET);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(first_byte(mine, &range), 'a');
}

static void a_pinned_range_waits(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = payload(mine, 'a', 1);
    struct partition_view view;
    struct stream_pin *pin;
    partition_view_open(mine->fixture->store, text("p"), &view);
    assert_int_equal(stream_pin(mine->stream, &range, &pin), OK);
    partition_view_close(&view);
    disown(mine, &range, 1);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    char byte;
    assert_int_equal(stream_read(pin, 0, &byte, 1), OK);
    assert_int_equal(byte, 'a');
    stream_unpin(pin);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
}

static void a_pinned_range_can_be_owned_again(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range range = payload(mine, 'a', 1);
    struct stream_pin *pin;
    assert_int_equal(stream_pin(mine->stream, &range, &pin), OK);
    disown(mine, &range, 1);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    own(mine, &range, 2);
    stream_unpin(pin);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(first_byte(mine, &range), 'a');
    disown(mine, &range, 2);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
}

/* --- extents --- */

static void a_full_extent_with_nothing_live_is_removed(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct stream_range ranges[6];
    for (unsigned i = 0; i < 6; i++)
        ranges[i] = payload(mine, 'a', i);
    assert_int_equal(extent_count(mine), 2);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    for (unsigned i = 0; i < 3; i++)
        disown(mine, &ranges[i], i);
    assert_int_equal(partition_reclaim(mine->fixture->store), 3);
    assert_int_equal(extent_count(mine), 2);
    assert_int_equal(first_byte(mine, &ranges[3]), 'a');
    disown(mine, &ranges[3], 3);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    assert_int_equal(extent_count(mine), 1);
    assert_int_equal(first_byte(mine, &ranges[4]), 'a');
}

static void ranges_freed_before_their_extent_is_full_are_not_counted_live(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range first = payload(mine, 'a', 1);
    disown(mine, &first, 1);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    struct stream_range ranges[3];
    for (unsigned i = 0; i < 3; i++)
        ranges[i] = payload(mine, 'b', i);
    assert_int_equal(ranges[2].extent_id, first.extent_id);
    /* One is let go before the extent is settled, the others after. */
    disown(mine, &ranges[0], 0);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    disown(mine, &ranges[1], 1);
    disown(mine, &ranges[2], 2);
    assert_int_equal(partition_reclaim(mine->fixture->store), 2);
    assert_int_equal(extent_count(mine), 0);
}

/* --- restarts (only what is on disk comes back) --- */

static void a_restart_drops_what_no_change_ever_owned(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range kept = payload(mine, 'a', 1);
    struct stream_writer *writer = payload_write(mine, 'b');
    const struct stream_range lost = stream_writer_range(writer);
    assert_int_equal(first_byte(mine, &lost), 'b');
    /* As a crash would: the payload is on disk and nobody says that it is not wanted. */
    stream_writer_commit(writer);
    restart(mine, 0);
    assert_int_equal(first_byte(mine, &kept), 'a');
    assert_int_equal(first_byte(mine, &lost), 0);
    disown(mine, &kept, 1);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    assert_int_equal(extent_count(mine), 0);
}

static void a_restart_goes_on_with_what_was_not_reclaimed_yet(void **state)
{
    struct reclaim_fixture *mine = *state;
    const struct stream_range kept = payload(mine, 'a', 1);
    const struct stream_range freed = payload(mine, 'b', 1);
    disown(mine, &freed, 1);
    restart(mine, 0);
    assert_int_equal(first_byte(mine, &freed), 'b');
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    assert_int_equal(first_byte(mine, &freed), 0);
    assert_int_equal(first_byte(mine, &kept), 'a');
    restart(mine, 0);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    disown(mine, &kept, 1);
    assert_int_equal(partition_reclaim(mine->fixture->store), 1);
    assert_int_equal(extent_count(mine), 0);
}

static void a_settled_extent_is_not_settled_again(void **state)
{
    struct reclaim_fixture *mine = *state;
    struct stream_range ranges[4];
    for (unsigned i = 0; i < 4; i++)
        ranges[i] = payload(mine, 'a', i);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    restart(mine, 0);
    /* What was punched or truncated by settling again would be a call that can fail. */
    const uint64_t calls = io_memory_calls(mine->io);
    assert_int_equal(partition_reclaim(mine->fixture->store), 0);
    assert_int_equal(io_memory_calls(mine->io), calls);
    for (unsigned i = 0; i < 4; i++)
        disown(mine, &ranges[i], i);
    assert_int_equal(partition_reclaim(mine->fixture->store), 4);
    assert_int_equal(extent_count(mine), 0);
}

/* --- threads --- */

/*
 * One range at a time is named by the row "r".  It passes from owner to owner, sometimes without
 * any for a moment while it is pinned, and is now and then given up for a new one; readers follow
 * the row and must always find the bytes.
 */
struct race {
    struct reclaim_fixture *mine;
    atomic_bool stop;
    atomic_uint read_count;
};

static void *reclaim_all_the_time(void *arg)
{
    struct race *race = arg;
    while (!atomic_load(&race->stop))
        partition_reclaim(race->mine->fixture->store);
    return NULL;
}

static void *read_all_the_time(void *arg)
{
    struct race *race = arg;
    struct arena arena = { 0 };
    while (!atomic_load(&race->stop)) {
        struct partition_view view;
        struct slice value;
        struct stream_pin *pin = NULL;
        partition_view_open(race->mine->fixture->store, text("p"), &view);
        if (partition_view_get(&view, &arena, text("r"), &value) == OK) {
            struct stream_range range;
            memcpy(&range, value.data, sizeof(range));
            if (stream_pin(race->mine->stream, &range, &pin) != OK)
                abort();
        }
        partition_view_close(&view);
        if (pin != NULL) {
            char byte;
            if (stream_read(pin, 0, &byte, 1) != OK || byte != 'a')
                abort();
            stream_unpin(pin);
            atomic_fetch_add(&race->read_count, 1);
        }
        arena_clear(&arena);
    }
    arena_release(&arena);
    return NULL;
}

struct move {
    const struct stream_range *own; /* and name by the row; NULL removes the row */
    uint64_t owner;
    const struct stream_range *disown;
    uint64_t old_owner;
};

static enum err decide_move(struct change *change, void *arg)
{
    const struct move *move = arg;
    if (move->disown != NULL)
        change_disown(change, move->disown, move->old_owner);
    if (move->own != NULL) {
        change_own(change, move->own, move->owner);
        change_put(change, text("r"), slice_make(move->own, sizeof(*move->own)));
    } else {
        change_delete(change, text("r"));
    }
    return OK;
}

static void apply_move(struct reclaim_fixture *mine, struct move move)
{
    assert_int_equal(store_update(mine->fixture->store, "p", decide_move, &move), OK);
}

/* The range gets a new owner after the old one has let go, which a pin allows. */
static void pass_on(struct reclaim_fixture *mine, const struct stream_range *range, uint64_t owner)
{
    struct partition_view view;
    struct stream_pin *pin;
    partition_view_open(mine->fixture->store, text("p"), &view);
    assert_int_equal(stream_pin(mine->stream, range, &pin), OK);
    partition_view_close(&view);
    if (owner % 2 == 0) {
        apply_move(mine, (struct move){ .disown = range, .old_owner = owner });
        apply_move(mine, (struct move){ .own = range, .owner = owner + 1 });
    } else {
        apply_move(
            mine,
            (struct move){ .own = range, .owner = owner + 1, .disown = range, .old_owner = owner });
    }
    stream_unpin(pin);
}

static struct stream_range replace(struct reclaim_fixture *mine, const struct stream_range *old,
                                   uint64_t owner)
{
    struct stream_writer *writer = payload_write(mine, 'a');
    const struct stream_range range = stream_writer_range(writer);
    apply_move(mine,
               (struct move){ .own = &range, .owner = owner, .disown = old, .old_owner = owner });
    stream_writer_commit(writer);
    return range;
}

static void readers_and_copiers_never_lose_a_range_to_the_reclaimer(void **state)
{
    struct reclaim_fixture *mine = *state;
    restart(mine, 2);
    struct race race = { .mine = mine };
    struct stream_range range = replace(mine, NULL, 0);
    pthread_t reclaimer;
    pthread_t readers[2];
    assert_int_equal(pthread_create(&reclaimer, NULL, reclaim_all_the_time, &race), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, &race), 0);

    uint64_t owner = 0;
    for (int i = 0; i < 300; i++) {
        if (i % 10 == 9)
            range = replace(mine, &range, owner);
        else
            pass_on(mine, &range, owner++);
    }
    while (atomic_load(&race.read_count) == 0)
        sched_yield();
    atomic_store(&race.stop, true);
    pthread_join(reclaimer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);

    assert_int_equal(first_byte(mine, &range), 'a');
    apply_move(mine, (struct move){ .disown = &range, .old_owner = owner });
    partition_reclaim(mine->fixture->store);
    partition_reclaim(mine->fixture->store);
    /* At most the extent that is being filled is left. */
    assert_true(extent_count(mine) <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECLAIM_ON_BOTH(a_range_lives_while_it_has_an_owner),
        RECLAIM_ON_BOTH(owners_that_let_go_together_give_the_range_back_once),
        RECLAIM_ON_BOTH(an_aborted_change_changes_no_owner),
        RECLAIM_ON_BOTH(a_pinned_range_waits),
        RECLAIM_ON_BOTH(a_pinned_range_can_be_owned_again),
        RECLAIM_ON_BOTH(a_full_extent_with_nothing_live_is_removed),
        RECLAIM_ON_BOTH(ranges_freed_before_their_extent_is_full_are_not_counted_live),
        RECLAIM_ON_ROCKSDB(a_restart_drops_what_no_change_ever_owned),
        RECLAIM_ON_ROCKSDB(a_restart_goes_on_with_what_was_not_reclaimed_yet),
        RECLAIM_ON_ROCKSDB(a_settled_extent_is_not_settled_again),
        RECLAIM_ON_BOTH(readers_and_copiers_never_lose_a_range_to_the_reclaimer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
