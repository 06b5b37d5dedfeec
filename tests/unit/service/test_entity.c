/*
 * test_entity.c - entities: every operation under every condition on what is there and what is not
 * ("Insert Entity", "Update Entity", "Merge Entity", "Delete Entity", "Insert Or Replace Entity",
 * "Insert Or Merge Entity"), and groups of them ("Performing Entity Group Transactions").
 */
#include "base/log.h"
#include "service/limits.h"
#include "table_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static struct slice repeated(struct arena *arena, char c, size_t count)
{
    char *bytes = arena_bytes(arena, count);
    memset(bytes, c, count);
    return slice_make(bytes, count);
}

/* --- reading --- */

static void an_inserted_entity_is_read_back(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    struct edm_property properties[] = {
        { slice_of("Name"), edm_string(slice_of("bolt")) },
        { slice_of("Count"), edm_int64(INT64_C(5000000000)) },
        { slice_of("Alive"), edm_boolean(true) },
    };
    const struct entity_operation insert = {
        .action = ENTITY_INSERT,
        .partition_key = slice_of("p"),
        .row_key = slice_of("r"),
        .properties = { .count = 3, .items = properties },
    };
    int64_t etag;
    assert_int_equal(entity_await_one(fixture, &insert, &etag), OK);
    struct entity entity;
    assert_int_equal(entity_read(fixture, "p", "r", &entity), OK);
    assert_true(slice_is(entity.partition_key, "p"));
    assert_true(slice_is(entity.row_key, "r"));
    assert_int_equal(entity.timestamp, etag);
    assert_true(etag >= FIXTURE_T0);
    assert_int_equal(entity.properties.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(slice_equal(entity.properties.items[i].name, properties[i].name));
        assert_int_equal(edm_compare(&entity.properties.items[i].value, &properties[i].value),
                         EDM_EQUAL);
    }
}

static void empty_keys_are_keys(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    entity_put(fixture, "", "", 1);
    entity_put(fixture, "", "r", 2);
    entity_put(fixture, "p", "", 3);
    assert_int_equal(entity_number(fixture, "", ""), 1);
    assert_int_equal(entity_number(fixture, "", "r"), 2);
    assert_int_equal(entity_number(fixture, "p", ""), 3);
}

static void keys_are_told_apart_by_case_and_by_where_they_end(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    entity_put(fixture, "ab", "c", 1);
    entity_put(fixture, "a", "bc", 2);
    entity_put(fixture, "AB", "c", 3);
    assert_int_equal(entity_number(fixture, "ab", "c"), 1);
    assert_int_equal(entity_number(fixture, "a", "bc"), 2);
    assert_int_equal(entity_number(fixture, "AB", "c"), 3);
}

static void an_entity_that_is_not_there_is_not_found(void **state)
{
    struct service_fixture *fixture = *state;
    struct entity entity;
    assert_int_equal(entity_read(fixture, "p", "r", &entity), ERR_TABLE_NOT_FOUND);
    table_make(fixture, "things");
    assert_int_equal(entity_read(fixture, "p", "r", &entity), ERR_RESOURCE_NOT_FOUND);
    entity_put(fixture, "p", "r", 1);
    assert_int_equal(entity_read(fixture, "p", "", &entity), ERR_RESOURCE_NOT_FOUND);
    const struct table_name table = table_named("things");
    assert_int_equal(entity_get(&fixture->service, &fixture->arena, &table, slice_make("p\0r", 3),
                                slice_of(""), &entity),
                     ERR_RESOURCE_NOT_FOUND);
}

/* --- conditions --- */

enum existing {
    MISSING,
    PRESENT,
};

struct condition_case {
    enum entity_action action;
    enum entity_condition condition;
    bool current; /* ENTITY_IF_ETAG: the ETag is the present one */
    enum err missing;
    enum err present;
};

static const struct condition_case CASES[] = {
    { ENTITY_INSERT, ENTITY_IF_ANY, false, OK, ERR_ENTITY_EXISTS },
    { ENTITY_INSERT, ENTITY_IF_EXISTS, false, OK, ERR_ENTITY_EXISTS },
    { ENTITY_INSERT, ENTITY_IF_ETAG, true, OK, ERR_ENTITY_EXISTS },
    { ENTITY_REPLACE, ENTITY_IF_ANY, false, OK, OK },
    { ENTITY_REPLACE, ENTITY_IF_EXISTS, false, ERR_RESOURCE_NOT_FOUND, OK },
    { ENTITY_REPLACE, ENTITY_IF_ETAG, true, ERR_RESOURCE_NOT_FOUND, OK },
    { ENTITY_REPLACE, ENTITY_IF_ETAG, false, ERR_RESOURCE_NOT_FOUND, ERR_UPDATE_CONDITION_NOT_MET },
    { ENTITY_MERGE, ENTITY_IF_ANY, false, OK, OK },
    { ENTITY_MERGE, ENTITY_IF_EXISTS, false, ERR_RESOURCE_NOT_FOUND, OK },
    { ENTITY_MERGE, ENTITY_IF_ETAG, true, ERR_RESOURCE_NOT_FOUND, OK },
    { ENTITY_MERGE, ENTITY_IF_ETAG, false, ERR_RESOURCE_NOT_FOUND, ERR_UPDATE_CONDITION_NOT_MET },
    { ENTITY_DELETE, ENTITY_IF_EXISTS, false, ERR_RESOURCE_NOT_FOUND, OK },
    { ENTITY_DELETE, ENTITY_IF_ETAG, true, ERR_RESOURCE_NOT_FOUND, OK },
    { ENTITY_DELETE, ENTITY_IF_ETAG, false, ERR_RESOURCE_NOT_FOUND, ERR_UPDATE_CONDITION_NOT_MET },
};

/* What is there after a case that succeeded: an entity "Number" 1 was there if it was present. */
static void assert_applied(struct service_fixture *fixture, const char *row_key,
                           const struct condition_case *of, enum existing existing, int64_t etag)
{
    struct entity entity;
    const enum err err = entity_read(fixture, "p", row_key, &entity);
    if (of->action == ENTITY_DELETE) {
        assert_int_equal(err, ERR_RESOURCE_NOT_FOUND);
        return;
    }
    assert_int_equal(err, OK);
    assert_int_equal(entity.timestamp, etag);
    const bool merged = of->action == ENTITY_MERGE && existing == PRESENT;
    assert_int_equal(entity.properties.count, merged ? 2 : 1);
    assert_non_null(edm_properties_find(&entity.properties, slice_of("New")));
}

static void run_case(struct service_fixture *fixture, size_t index, enum existing existing)
{
    const struct condition_case *of = &CASES[index];
    const char *row_key = arena_printf(&fixture->arena, "%zu-%d", index, (int)existing).data;
    const int64_t old = existing == PRESENT ? entity_put(fixture, "p", row_key, 1) : FIXTURE_T0;
    const struct slice before = fixture_dump_tables(fixture);
    const struct entity_operation operation = {
        .action = of->action,
        .condition = of->condition,
        .if_etag = of->current ? old : old - 1,
        .partition_key = slice_of("p"),
        .row_key = slice_of(row_key),
        .properties = one_property(fixture, "New", edm_int32(2)),
    };
    int64_t etag;
    const enum err expected = existing == PRESENT ? of->present : of->missing;
    assert_int_equal(entity_await_one(fixture, &operation, &etag), expected);
    if (expected != OK) {
        fixture_assert_tables_unchanged(fixture, before);
        return;
    }
    assert_true(etag > old);
    assert_applied(fixture, row_key, of, existing, etag);
}

static void every_operation_under_every_condition_on_every_state(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        run_case(fixture, i, MISSING);
        run_case(fixture, i, PRESENT);
    }
}

static void an_etag_holds_for_one_change(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    const int64_t etag = entity_put(fixture, "p", "r", 1);
    const struct entity_operation update = {
        .action = ENTITY_REPLACE,
        .condition = ENTITY_IF_ETAG,
        .if_etag = etag,
        .partition_key = slice_of("p"),
        .row_key = slice_of("r"),
        .properties = one_property(fixture, "Number", edm_int32(2)),
    };
    assert_int_equal(entity_await_one(fixture, &update, NULL), OK);
    assert_int_equal(entity_await_one(fixture, &update, NULL), ERR_UPDATE_CONDITION_NOT_MET);
}

static void an_entity_made_again_has_another_etag(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    const int64_t first = entity_put(fixture, "p", "r", 1);
    const struct entity_operation delete = {
        .action = ENTITY_DELETE,
        .condition = ENTITY_IF_ETAG,
        .if_etag = first,
        .partition_key = slice_of("p"),
        .row_key = slice_of("r"),
    };
    assert_int_equal(entity_await_one(fixture, &delete, NULL), OK);
    entity_put(fixture, "p", "r", 1);
    assert_int_equal(entity_await_one(fixture, &delete, NULL), ERR_UPDATE_CONDITION_NOT_MET);
}

/* The clock stands still. */
static void of_many_writes_within_one_tick_each_has_an_etag_of_its_own(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    int64_t last = 0;
    for (int32_t i = 0; i < 200; i++) {
        const int64_t etag = entity_put(fixture, "p", "r", i);
        assert_true(etag > last);
        last = etag;
    }
}

static void of_many_who_update_with_one_etag_one_succeeds(void **state)
{
    struct service_fixture *fixture = *state;
    enum {
        WRITERS = 32,
    };
    table_make(fixture, "things");
    const int64_t etag = entity_put(fixture, "p", "r", 0);
    struct entity_operation operations[WRITERS];
    struct entity_change changes[WRITERS] = { 0 };
    struct waiter waiters[WRITERS];
    struct arena arenas[WRITERS] = { 0 };
    for (int32_t i = 0; i < WRITERS; i++) {
        operations[i] = (struct entity_operation){
            .action = i % 2 == 0 ? ENTITY_REPLACE : ENTITY_MERGE,
            .condition = ENTITY_IF_ETAG,
            .if_etag = etag,
            .partition_key = slice_of("p"),
            .row_key = slice_of("r"),
            .properties = one_property(fixture, "Number", edm_int32(i + 1)),
        };
        changes[i].table = table_named("things");
        changes[i].operations = &operations[i];
        changes[i].operation_count = 1;
        waiter_bind(&waiters[i], &changes[i].base, &arenas[i]);
    }
    for (size_t i = 0; i < WRITERS; i++)
        entity_apply(&fixture->service, &changes[i]);
    int32_t winner = 0;
    for (int32_t i = 0; i < WRITERS; i++) {
        const enum err err = waiter_wait(&waiters[i]);
        assert_true(err == OK || err == ERR_UPDATE_CONDITION_NOT_MET);
        assert_true(err != OK || winner == 0);
        if (err == OK)
            winner = i + 1;
        arena_release(&arenas[i]);
    }
    assert_int_not_equal(winner, 0);
    assert_int_equal(entity_number(fixture, "p", "r"), winner);
}

/* --- merge --- */

static void a_merge_replaces_where_it_stands_and_adds_behind(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    struct edm_property first[] = {
        { slice_of("A"), edm_int32(1) },
        { slice_of("B"), edm_int32(2) },
        { slice_of("C"), edm_int32(3) },
    };
    struct edm_property second[] = {
        { slice_of("D"), edm_int32(4) },
        { slice_of("B"), edm_string(slice_of("two")) },
        { slice_of("b"), edm_int32(5) },
    };
    struct entity_operation operation = {
        .action = ENTITY_INSERT,
        .partition_key = slice_of("p"),
        .row_key = slice_of("r"),
        .properties = { .count = 3, .items = first },
    };
    assert_int_equal(entity_await_one(fixture, &operation, NULL), OK);
    operation.action = ENTITY_MERGE;
    operation.properties.items = second;
    assert_int_equal(entity_await_one(fixture, &operation, NULL), OK);
    struct entity entity;
    assert_int_equal(entity_read(fixture, "p", "r", &entity), OK);
    static const char *const names[] = { "A", "B", "C", "D", "b" };
    assert_int_equal(entity.properties.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(slice_is(entity.properties.items[i].name, names[i]));
    assert_int_equal(entity.properties.items[1].value.type, EDM_STRING);
    assert_int_equal(entity.properties.items[3].value.int32, 4);

    /* A merge of nothing is still a change. */
    operation.properties.count = 0;
    int64_t etag;
    assert_int_equal(entity_await_one(fixture, &operation, &etag), OK);
    assert_true(etag > entity.timestamp);
    assert_int_equal(entity_read(fixture, "p", "r", &entity), OK);
    assert_int_equal(entity.properties.count, 5);
}

/* `count` properties whose names begin so, of these many bytes each. */
static struct edm_properties many(struct service_fixture *fixture, const char *prefix, size_t count,
                                  size_t value_bytes)
{
    struct edm_properties properties = { .count = count };
    properties.items = arena_alloc(&fixture->arena, count * sizeof(*properties.items));
    const struct slice value = repeated(&fixture->arena, 'x', value_bytes);
    for (size_t i = 0; i < count; i++)
        properties.items[i] = (struct edm_property){
            arena_printf(&fixture->arena, "%s%zu", prefix, i),
            edm_binary(value),
        };
    return properties;
}

static void a_merge_does_not_give_an_entity_more_properties_than_it_may_have(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    struct entity_operation operation = {
        .action = ENTITY_MERGE,
        .partition_key = slice_of("p"),
        .row_key = slice_of("r"),
        .properties = many(fixture, "A", 200, 1),
    };
    assert_int_equal(entity_await_one(fixture, &operation, NULL), OK);
    const struct slice before = fixture_dump_tables(fixture);
    operation.properties = many(fixture, "B", 53, 1);
    assert_int_equal(entity_await_one(fixture, &operation, NULL), ERR_TOO_MANY_PROPERTIES);
    fixture_assert_tables_unchanged(fixture, before);
    operation.properties = many(fixture, "B", 52, 1);
    assert_int_equal(entity_await_one(fixture, &operation, NULL), OK);
}

static void a_merge_does_not_make_an_entity_larger_than_a_mebibyte(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    struct entity_operation operation = {
        .action = ENTITY_MERGE,
        .partition_key = slice_of("p"),
        .row_key = slice_of("r"),
        .properties = many(fixture, "A", 10, LIMIT_PROPERTY_VALUE_BYTES_MAX),
    };
    assert_int_equal(entity_await_one(fixture, &operation, NULL), OK);
    const struct slice before = fixture_dump_tables(fixture);
    operation.properties = many(fixture, "B", 6, LIMIT_PROPERTY_VALUE_BYTES_MAX);
    assert_int_equal(entity_await_one(fixture, &operation, NULL), ERR_ENTITY_TOO_LARGE);
    fixture_assert_tables_unchanged(fixture, before);
    operation.properties = many(fixture, "A", 10, LIMIT_PROPERTY_VALUE_BYTES_MAX);
    assert_int_equal(entity_await_one(fixture, &operation, NULL), OK);
}

static void what_may_not_be_stored_is_refused(void **state)
{
    struct service_fixture *fixture = *state;
    const struct {
        struct edm_properties properties;
        enum err err;
    } cases[] = {
        { many(fixture, "A", 253, 1), ERR_TOO_MANY_PROPERTIES },
        { many(fixture, "A", 1, 64 * 1024 + 1), ERR_PROPERTY_VALUE_TOO_LARGE },
        { many(fixture, "A", 17, 64 * 1024), ERR_ENTITY_TOO_LARGE },
        { many(fixture, "-", 1, 1), ERR_PROPERTY_NAME_INVALID },
        { one_property(fixture, "Timestamp", edm_int32(1)), ERR_DUPLICATE_PROPERTIES },
    };
    /* Also when there is no table. */
    for (int round = 0; round < 2; round++) {
        const struct slice before = fixture_dump_tables(fixture);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            for (enum entity_action action = ENTITY_INSERT; action <= ENTITY_MERGE; action++) {
                const struct entity_operation operation = {
                    .action = action,
                    .partition_key = slice_of("p"),
                    .row_key = slice_of("r"),
                    .properties = cases[i].properties,
                };
                assert_int_equal(entity_await_one(fixture, &operation, NULL), cases[i].err);
            }
        }
        const struct entity_operation delete = {
            .action = ENTITY_DELETE,
            .condition = ENTITY_IF_EXISTS,
            .partition_key = slice_of("a/b"),
        };
        assert_int_equal(entity_await_one(fixture, &delete, NULL), ERR_OUT_OF_RANGE_INPUT);
        fixture_assert_tables_unchanged(fixture, before);
        if (round == 0)
            table_make(fixture, "things");
    }
}

static void without_a_table_no_entity_is_changed(void **state)
{
    struct service_fixture *fixture = *state;
    for (enum entity_action action = ENTITY_INSERT; action <= ENTITY_DELETE; action++) {
        const struct entity_operation operation = {
            .action = action,
            .condition = action == ENTITY_DELETE ? ENTITY_IF_EXISTS : ENTITY_IF_ANY,
        };
        struct entity_change change = { .operations = &operation, .operation_count = 1 };
        assert_int_equal(entity_await(fixture, &change), ERR_TABLE_NOT_FOUND);
        assert_int_equal(change.failed_index, 0);
    }
}

/* --- groups --- */

static struct entity_operation operation_on(struct service_fixture *fixture,
                                            enum entity_action action, size_t row)
{
    return (struct entity_operation){
        .action = action,
        .condition = action == ENTITY_DELETE ? ENTITY_IF_EXISTS : ENTITY_IF_ANY,
        .partition_key = slice_of("p"),
        .row_key = arena_printf(&fixture->arena, "%03zu", row),
        .properties = one_property(fixture, "Number", edm_int32((int32_t)row)),
    };
}

static void a_group_of_a_hundred_is_applied_as_one(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    struct entity_operation operations[LIMIT_GROUP_OPERATIONS];
    for (size_t i = 0; i < LIMIT_GROUP_OPERATIONS; i++)
        operations[i] = operation_on(fixture, ENTITY_INSERT, i);
    struct entity_change change = { .operations = operations,
                                    .operation_count = LIMIT_GROUP_OPERATIONS };
    assert_int_equal(entity_await(fixture, &change), OK);
    for (size_t i = 0; i < LIMIT_GROUP_OPERATIONS; i++) {
        struct entity entity;
        assert_int_equal(entity_read(fixture, "p", operations[i].row_key.data, &entity), OK);
        assert_int_equal(entity.timestamp, change.etag);
    }
}

static void a_group_may_mix_all_operations(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    for (size_t i = 1; i < 4; i++)
        entity_put(fixture, "p", operation_on(fixture, ENTITY_INSERT, i).row_key.data, -1);
    const struct entity_operation operations[] = {
        operation_on(fixture, ENTITY_INSERT, 0),  operation_on(fixture, ENTITY_REPLACE, 1),
        operation_on(fixture, ENTITY_MERGE, 2),   operation_on(fixture, ENTITY_DELETE, 3),
        operation_on(fixture, ENTITY_REPLACE, 4), operation_on(fixture, ENTITY_MERGE, 5),
    };
    struct entity_change change = { .operations = operations, .operation_count = 6 };
    assert_int_equal(entity_await(fixture, &change), OK);
    struct entity entity;
    for (size_t i = 0; i < 6; i++) {
        if (i == 3)
            assert_int_equal(entity_read(fixture, "p", "003", &entity), ERR_RESOURCE_NOT_FOUND);
        else
            assert_int_equal(entity_number(fixture, "p", operations[i].row_key.data), i);
    }
}

/* Whatever fails, wherever it stands. */
static void a_group_with_one_failure_changes_nothing_and_says_which_it_was(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    const int64_t etag = entity_put(fixture, "p", "000", -1);
    entity_put(fixture, "p", "001", -1);
    struct entity_operation failing[] = {
        operation_on(fixture, ENTITY_INSERT, 0),  operation_on(fixture, ENTITY_DELETE, 9),
        operation_on(fixture, ENTITY_REPLACE, 9), operation_on(fixture, ENTITY_MERGE, 0),
        operation_on(fixture, ENTITY_DELETE, 0),  operation_on(fixture, ENTITY_MERGE, 0),
    };
    failing[2].condition = ENTITY_IF_EXISTS;
    failing[3].condition = failing[4].condition = ENTITY_IF_ETAG;
    failing[3].if_etag = failing[4].if_etag = etag - 1;
    failing[5].properties = many(fixture, "A", 252, 1);
    static const enum err errs[] = {
        ERR_ENTITY_EXISTS,
        ERR_RESOURCE_NOT_FOUND,
        ERR_RESOURCE_NOT_FOUND,
        ERR_UPDATE_CONDITION_NOT_MET,
        ERR_UPDATE_CONDITION_NOT_MET,
        ERR_TOO_MANY_PROPERTIES,
    };
    const struct slice before = fixture_dump_tables(fixture);
    for (size_t which = 0; which < 6; which++) {
        for (size_t at = 0; at < 4; at++) {
            struct entity_operation operations[4] = {
                operation_on(fixture, ENTITY_INSERT, 4),
                operation_on(fixture, ENTITY_REPLACE, 1),
                operation_on(fixture, ENTITY_MERGE, 6),
                operation_on(fixture, ENTITY_REPLACE, 7),
            };
            operations[at] = failing[which];
            struct entity_change change = { .operations = operations, .operation_count = 4 };
            assert_int_equal(entity_await(fixture, &change), errs[which]);
            assert_int_equal(change.failed_index, at);
            fixture_assert_tables_unchanged(fixture, before);
        }
    }
}

static void an_entity_is_once_in_a_group(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    const struct entity_operation operations[] = {
        operation_on(fixture, ENTITY_INSERT, 0),
        operation_on(fixture, ENTITY_INSERT, 1),
        operation_on(fixture, ENTITY_DELETE, 0),
    };
    struct entity_change change = { .operations = operations, .operation_count = 3 };
    const struct slice before = fixture_dump_tables(fixture);
    assert_int_equal(entity_await(fixture, &change), ERR_GROUP_DUPLICATE);
    assert_int_equal(change.failed_index, 2);
    fixture_assert_tables_unchanged(fixture, before);
}

static void a_group_is_about_one_partition_key(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    struct entity_operation operations[] = {
        operation_on(fixture, ENTITY_INSERT, 0),
        operation_on(fixture, ENTITY_INSERT, 1),
    };
    operations[1].partition_key = slice_of("P");
    struct entity_change change = { .operations = operations, .operation_count = 2 };
    const struct slice before = fixture_dump_tables(fixture);
    assert_int_equal(entity_await(fixture, &change), ERR_GROUP_PARTITIONS);
    assert_int_equal(change.failed_index, 1);
    fixture_assert_tables_unchanged(fixture, before);
}

static void a_group_has_at_most_a_hundred_operations(void **state)
{
    struct service_fixture *fixture = *state;
    table_make(fixture, "things");
    struct entity_operation operations[LIMIT_GROUP_OPERATIONS + 1];
    for (size_t i = 0; i <= LIMIT_GROUP_OPERATIONS; i++)
        operations[i] = operation_on(fixture, ENTITY_INSERT, i);
    struct entity_change change = { .operations = operations,
                                    .operation_count = LIMIT_GROUP_OPERATIONS + 1 };
    const struct slice before = fixture_dump_tables(fixture);
    assert_int_equal(entity_await(fixture, &change), ERR_GROUP_TOO_LONG);
    assert_int_equal(change.failed_index, LIMIT_GROUP_OPERATIONS - 1);
    fixture_assert_tables_unchanged(fixture, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(an_inserted_entity_is_read_back),
        ON_ALL_ENGINES(empty_keys_are_keys),
        ON_ALL_ENGINES(keys_are_told_apart_by_case_and_by_where_they_end),
        ON_ALL_ENGINES(an_entity_that_is_not_there_is_not_found),
        ON_ALL_ENGINES(every_operation_under_every_condition_on_every_state),
        ON_ALL_ENGINES(an_etag_holds_for_one_change),
        ON_ALL_ENGINES(an_entity_made_again_has_another_etag),
        ON_ALL_ENGINES(of_many_writes_within_one_tick_each_has_an_etag_of_its_own),
        ON_ALL_ENGINES(of_many_who_update_with_one_etag_one_succeeds),
        ON_ALL_ENGINES(a_merge_replaces_where_it_stands_and_adds_behind),
        ON_ALL_ENGINES(a_merge_does_not_give_an_entity_more_properties_than_it_may_have),
        ON_ALL_ENGINES(a_merge_does_not_make_an_entity_larger_than_a_mebibyte),
        ON_MEMORY(what_may_not_be_stored_is_refused),
        ON_MEMORY(without_a_table_no_entity_is_changed),
        ON_ALL_ENGINES(a_group_of_a_hundred_is_applied_as_one),
        ON_ALL_ENGINES(a_group_may_mix_all_operations),
        ON_ALL_ENGINES(a_group_with_one_failure_changes_nothing_and_says_which_it_was),
        ON_ALL_ENGINES(an_entity_is_once_in_a_group),
        ON_ALL_ENGINES(a_group_is_about_one_partition_key),
        ON_ALL_ENGINES(a_group_has_at_most_a_hundred_operations),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
