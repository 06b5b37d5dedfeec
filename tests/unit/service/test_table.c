/*
 * test_table.c - tables: the operations ("Create Table", "Delete Table", "Query Tables", "Set Table
 * ACL"), listing in pages, reclaiming deleted ones, and the stored form.
 */
#include "base/log.h"
#include "service/background.h"
#include "service/row.h"
#include "service/sweeper.h"
#include "table_fixture.h"
#include "test_random.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static enum err get(struct service_fixture *fixture, const char *name, struct table *table)
{
    const struct table_name full = table_named(name);
    return table_get(&fixture->service, &fixture->arena, &full, table);
}

static struct access_policies one_policy(const char *id)
{
    return (struct access_policies){
        .count = 1,
        .policies = { { .id = slice_of(id), .permission = slice_of("raud") } },
    };
}

/* --- life --- */

static void a_table_is_found_in_any_case_and_keeps_the_name_it_was_given(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "MyTable");
    static const char *const names[] = { "MyTable", "mytable", "MYTABLE" };
    for (size_t i = 0; i < 3; i++) {
        struct table table;
        assert_int_equal(get(fixture, names[i], &table), OK);
        assert_true(slice_is(table.name, "MyTable"));
        assert_true(table.incarnation >= (uint64_t)FIXTURE_T0);
        assert_int_equal(table.policies.count, 0);
    }
}

static void a_table_is_created_once_in_any_case(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "MyTable");
    const struct slice before = fixture_dump_tables(fixture);
    struct table_change change = { 0 };
    assert_int_equal(table_await(fixture, "MyTable", table_create, &change), ERR_TABLE_EXISTS);
    assert_int_equal(table_await(fixture, "mytable", table_create, &change), ERR_TABLE_EXISTS);
    fixture_assert_tables_unchanged(fixture, before);
}

static void of_many_who_create_one_table_one_succeeds(void **state)
{
    struct service_fixture *fixture = *state;
    enum {
        CREATORS = 16,
    };
    struct table_change changes[CREATORS] = { 0 };
    struct waiter waiters[CREATORS];
    struct arena arenas[CREATORS] = { 0 };
    for (size_t i = 0; i < CREATORS; i++) {
        waiter_bind(&waiters[i], &changes[i].base, &arenas[i]);
        changes[i].name = table_named(i % 2 == 0 ? "things" : "THINGS");
        table_create(&fixture->service, &changes[i]);
    }
    size_t created = 0;
    for (size_t i = 0; i < CREATORS; i++) {
        const enum err err = waiter_wait(&waiters[i]);
        assert_true(err == OK || err == ERR_TABLE_EXISTS);
        created += err == OK;
        arena_release(&arenas[i]);
    }
    assert_int_equal(created, 1);
}

static void what_is_not_there_is_not_found(void **state)
{
    struct service_fixture *fixture = *state;
    struct table table;
    struct slice partition;
    const struct table_name name = table_named("things");
    struct table_change change = { 0 };
    assert_int_equal(get(fixture, "things", &table), ERR_TABLE_NOT_FOUND);
    assert_int_equal(table_find_entities(&fixture->service, &fixture->arena, &name, &partition),
                     ERR_TABLE_NOT_FOUND);
    assert_int_equal(table_await(fixture, "things", table_set_acl, &change), ERR_TABLE_NOT_FOUND);
    assert_int_equal(table_await(fixture, "things", table_delete, &change), ERR_TABLE_NOT_FOUND);
    assert_int_equal(fixture_dump_tables(fixture).len, 0);
}

static void policies_are_replaced_as_a_whole(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "Things");
    struct table table;
    struct table_change change = { .policies = one_policy("first") };
    assert_int_equal(table_await(fixture, "things", table_set_acl, &change), OK);
    assert_int_equal(get(fixture, "things", &table), OK);
    assert_non_null(access_policies_find(&table.policies, slice_of("first")));
    assert_true(slice_is(table.name, "Things"));

    change = (struct table_change){ .policies = one_policy("second") };
    assert_int_equal(table_await(fixture, "things", table_set_acl, &change), OK);
    assert_int_equal(get(fixture, "things", &table), OK);
    assert_int_equal(table.policies.count, 1);
    assert_non_null(access_policies_find(&table.policies, slice_of("second")));

    change = (struct table_change){ 0 };
    assert_int_equal(table_await(fixture, "things", table_set_acl, &change), OK);
    assert_int_equal(get(fixture, "things", &table), OK);
    assert_int_equal(table.policies.count, 0);
}

static void a_table_made_again_is_empty_and_without_policies(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    entity_put(fixture, "a", "b", 1);
    struct table_change change = { .policies = one_policy("first") };
    assert_int_equal(table_await(fixture, "things", table_set_acl, &change), OK);
    assert_int_equal(table_remove(fixture, "THINGS"), OK);
    struct entity entity;
    assert_int_equal(entity_read(fixture, "a", "b", &entity), ERR_TABLE_NOT_FOUND);

    table_make(fixture, "things");
    assert_int_equal(entity_read(fixture, "a", "b", &entity), ERR_RESOURCE_NOT_FOUND);
    struct table table;
    assert_int_equal(get(fixture, "things", &table), OK);
    assert_int_equal(table.policies.count, 0);
}

static void accounts_do_not_see_each_other(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    const struct table_name other = { slice_of("other"), slice_of("things") };
    struct table table;
    assert_int_equal(table_get(&fixture->service, &fixture->arena, &other, &table),
                     ERR_TABLE_NOT_FOUND);
}

/* --- reclaiming --- */

static size_t count_rows(struct service_fixture *fixture, struct slice partition)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, partition, &out);
}

static void the_sweeper_removes_what_a_deleted_table_held(void **state)
{
    struct service_fixture *fixture = *state;
    const struct slice account = slice_of(FIXTURE_ACCOUNT_NAME);
    const struct table_name name = table_named("things");
    struct slice partition;
    table_make(fixture, "things");
    assert_int_equal(table_find_entities(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    enum {
        ENTITIES = 2 * SWEEP_BATCH_ROWS + 7,
    };
    for (int32_t i = 0; i < ENTITIES; i++)
        entity_put(fixture, i % 2 == 0 ? "even" : "odd",
                   arena_printf(&fixture->arena, "%04d", i).data, i);
    assert_int_equal(count_rows(fixture, partition), ENTITIES);
    assert_int_equal(table_remove(fixture, "things"), OK);
    assert_int_equal(count_rows(fixture, partition), ENTITIES);
    table_make(fixture, "things");
    entity_put(fixture, "a", "b", 1);

    assert_int_equal(sweeper_pass(&fixture->service, account), OK);
    assert_int_equal(count_rows(fixture, partition), 1); /* closed */
    assert_int_equal(entity_number(fixture, "a", "b"), 1);
    assert_int_equal(count_rows(fixture, account_partition(&fixture->arena, account)), 1);
}

static enum err close_decide(struct change *change, void *arg)
{
    (void)arg;
    partition_set_closed(change);
    return OK;
}

/* The record is still there, as it was for a write that has looked it up before the deletion. */
static void a_write_into_a_closed_table_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    const struct table_name name = table_named("things");
    struct slice partition;
    table_make(fixture, "things");
    entity_put(fixture, "a", "b", 1);
    assert_int_equal(table_find_entities(&fixture->service, &fixture->arena, &name, &partition),
                     OK);
    struct waited_update waited;
    assert_int_equal(background_update(&fixture->service, &waited, partition, close_decide), OK);
    const struct slice before = fixture_dump_tables(fixture);
    for (enum entity_action action = ENTITY_INSERT; action <= ENTITY_DELETE; action++) {
        for (size_t existing = 0; existing < 2; existing++) {
            const struct entity_operation operation = {
                .action = action,
                .condition = ENTITY_IF_EXISTS,
                .partition_key = slice_of("a"),
                .row_key = slice_of(existing ? "b" : "c"),
            };
            assert_int_equal(entity_await_one(fixture, &operation, NULL), ERR_TABLE_NOT_FOUND);
        }
    }
    fixture_assert_tables_unchanged(fixture, before);
}

/* --- listing --- */

struct names {
    struct arena *arena;
    size_t count;
    struct slice names[64];
    size_t stop_after; /* 0: never */
};

static bool note(void *arg, const struct table *table)
{
    struct names *names = arg;
    assert_true(names->count < 64);
    names->names[names->count++] = arena_copy(names->arena, table->name);
    return names->count != names->stop_after;
}

static void listing_gives_pages_in_the_order_of_lower_case(void **state)
{
    struct service_fixture *fixture = *state;
    static const char *const made[] = { "Delta", "alpha", "CHARLIE", "bravo", "echo1", "Echo" };
    static const char *const ordered[] = { "alpha", "bravo", "CHARLIE", "Delta", "Echo", "echo1" };
    for (size_t i = 0; i < 6; i++)
        table_make(fixture, made[i]);
    container_make(fixture, "zebra");
    for (size_t page = 1; page <= 7; page++) {
        struct names names = { .arena = &fixture->arena };
        struct table_list_request list = { .account = slice_of(FIXTURE_ACCOUNT_NAME),
                                           .results_max = page,
                                           .emit = note,
                                           .arg = &names };
        do {
            const size_t before = names.count;
            assert_int_equal(table_list(&fixture->service, &fixture->arena, &list, &list.from), OK);
            assert_int_equal(names.count - before, page < 6 - before ? page : 6 - before);
        } while (list.from.len > 0);
        assert_int_equal(names.count, 6);
        for (size_t i = 0; i < 6; i++)
            assert_true(slice_is(names.names[i], ordered[i]));
    }
}

static void a_page_ends_where_the_caller_says(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "aaa");
    table_make(fixture, "bbb");
    table_make(fixture, "ccc");
    struct names names = { .arena = &fixture->arena, .stop_after = 2 };
    const struct table_list_request list = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME), .results_max = 100, .emit = note, .arg = &names
    };
    struct slice next;
    assert_int_equal(table_list(&fixture->service, &fixture->arena, &list, &next), OK);
    assert_int_equal(names.count, 2);
    assert_true(slice_is(next, "ccc"));
}

static void a_filter_chooses_tables_by_name(void **state)
{
    struct service_fixture *fixture = *state;
    static const char *const made[] = { "aaa", "Abb", "bbb", "bcc", "ccc" };
    for (size_t i = 0; i < 5; i++)
        table_make(fixture, made[i]);
    static const struct {
        const char *filter;
        const char *names;
    } cases[] = {
        { "TableName eq 'bbb'", "bbb " },
        { "TableName eq 'BBB'", "" },
        { "TableName ge 'bbb' and TableName lt 'bc'", "bbb " },
        { "TableName ge 'b' and TableName lt 'c'", "bbb bcc " },
        { "TableName ne 'aaa'", "Abb bbb bcc ccc " },
        { "Other eq 'aaa'", "" },
        { "not (Other eq 'aaa')", "aaa Abb bbb bcc ccc " },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct filter *filter;
        struct slice message;
        assert_int_equal(
            filter_parse(&fixture->arena, slice_of(cases[i].filter), &filter, &message), OK);
        for (size_t page = 1; page < 6; page++) {
            struct names names = { .arena = &fixture->arena };
            struct table_list_request list = { .account = slice_of(FIXTURE_ACCOUNT_NAME),
                                               .filter = filter,
                                               .results_max = page,
                                               .emit = note,
                                               .arg = &names };
            do {
                assert_int_equal(table_list(&fixture->service, &fixture->arena, &list, &list.from),
                                 OK);
            } while (list.from.len > 0);
            struct strbuf all;
            strbuf_init(&all, &fixture->arena);
            for (size_t k = 0; k < names.count; k++) {
                strbuf_add(&all, names.names[k]);
                strbuf_add_byte(&all, ' ');
            }
            assert_true(slice_is(strbuf_slice(&all), cases[i].names));
        }
    }
}

/* --- the stored form --- */

static void records_come_back(void **state)
{
    struct service_fixture *fixture = *state;
    const struct table table = {
        .incarnation = 300,
        .name = slice_of("MyTable"),
        .policies = one_policy("p"),
    };
    struct table back;
    assert_int_equal(table_decode(table_encode(&fixture->arena, &table), &back), OK);
    assert_int_equal(back.incarnation, 300);
    assert_true(slice_is(back.name, "MyTable"));
    assert_non_null(access_policies_find(&back.policies, slice_of("p")));
}

static void a_record_without_incarnation_or_name_is_corrupt(void **state)
{
    struct service_fixture *fixture = *state;
    const struct table wrong[] = {
        { .name = slice_of("MyTable") },
        { .incarnation = 300 },
        { .incarnation = 300, .name = slice_of("a-b-c") },
    };
    struct table back;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(table_decode(table_encode(&fixture->arena, &wrong[i]), &back),
                         ERR_CORRUPT);
}

static void damaged_records_are_usable_or_corrupt(void **state)
{
    struct service_fixture *fixture = *state;
    struct test_random random = test_seed();
    const struct table table = {
        .incarnation = 300,
        .name = slice_of("MyTable"),
        .policies = one_policy("p"),
    };
    const struct slice row = table_encode(&fixture->arena, &table);
    struct arena arena = { 0 };
    size_t survived = 0;
    for (int i = 0; i < 100000; i++) {
        size_t len;
        char *damaged = random_damage(&random, row, &len);
        struct table back;
        const enum err err = table_decode(slice_make(damaged, len), &back);
        assert_true(err == OK || err == ERR_CORRUPT);
        if (err == OK) {
            assert_int_equal(table_name_check(back.name), OK);
            (void)table_encode(&arena, &back);
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
        ON_ALL_ENGINES(a_table_is_found_in_any_case_and_keeps_the_name_it_was_given),
        ON_ALL_ENGINES(a_table_is_created_once_in_any_case),
        ON_ALL_ENGINES(of_many_who_create_one_table_one_succeeds),
        ON_ALL_ENGINES(what_is_not_there_is_not_found),
        ON_ALL_ENGINES(policies_are_replaced_as_a_whole),
        ON_ALL_ENGINES(a_table_made_again_is_empty_and_without_policies),
        ON_MEMORY(accounts_do_not_see_each_other),
        ON_ALL_ENGINES(the_sweeper_removes_what_a_deleted_table_held),
        ON_ALL_ENGINES(a_write_into_a_closed_table_is_refused),
        ON_ALL_ENGINES(listing_gives_pages_in_the_order_of_lower_case),
        ON_MEMORY(a_page_ends_where_the_caller_says),
        ON_ALL_ENGINES(a_filter_chooses_tables_by_name),
        ON_MEMORY(records_come_back),
        ON_MEMORY(a_record_without_incarnation_or_name_is_corrupt),
        ON_MEMORY(damaged_records_are_usable_or_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
