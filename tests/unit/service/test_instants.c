/*
 * test_instants.c - which instants need what was so from one tick until another.
 */
#include "service/file/instants.h"

#include "base/log.h"
#include "service/file/file_name.h"
#include "service/file/share.h"
#include "share_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static void a_state_is_needed_by_the_instants_within_its_time(void **state)
{
    (void)state;
    int64_t items[] = { 10, 20, 30 };
    const struct instants instants = { .items = items, .count = 3 };
    static const struct {
        int64_t since;
        int64_t until;
        bool is_needed;
    } rows[] = {
        { 1, 5, false },   { 1, 10, false },  { 1, 11, true },   { 9, 11, true },
        { 10, 20, false }, { 10, 21, true },  { 19, 21, true },  { 20, 30, false },
        { 29, 31, true },  { 30, 40, false }, { 31, 99, false }, { 1, 99, true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(instants_need(&instants, rows[i].since, rows[i].until), rows[i].is_needed);
    const struct instants none = { 0 };
    assert_false(instants_need(&none, 1, 99));
}

static void all_are_read_in_order_with_those_not_confirmed_counted(void **state)
{
    struct service_fixture *fixture = *state;
    const uint64_t incarnation = share_new(fixture, "one");
    int64_t taken[40];
    for (size_t i = 0; i < 40; i++)
        taken[i] = share_freeze(fixture, "one");
    struct partition_view view;
    struct instants instants;
    partition_view_open(fixture->service.store, file_partition(&fixture->arena, incarnation),
                        &view);
    assert_int_equal(instants_read_view(&view, &fixture->arena, &instants), OK);
    partition_view_close(&view);
    assert_int_equal(instants.count, 40);
    assert_int_equal(instants.unconfirmed_count, 40);
    assert_memory_equal(instants.items, taken, sizeof(taken));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_needed_by_the_instants_within_its_time),
        ON_MEMORY(all_are_read_in_order_with_those_not_confirmed_counted),
    };
    return cmocka_run_group_tests_name("instants", tests, quiet, NULL);
}
