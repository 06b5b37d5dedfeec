/*
 * test_fsck_table.c - checking a store with tables: it holds together, also with deleted ones; and
 * each thing that is broken on purpose is found, and nothing else.
 */
#include "fsck_fixture.h"
#include "service/background.h"
#include "service/sweeper.h"
#include "table_fixture.h"

/* --- breaking --- */

struct tampering {
    struct waited_update waited;
    struct slice key;
    struct slice row; /* empty: removed */
};

static enum err tamper_decide(struct change *change, void *arg)
{
    const struct tampering *tampering = arg;
    if (tampering->row.len == 0)
        change_delete(change, tampering->key);
    else
        change_put(change, tampering->key, tampering->row);
    return OK;
}

static void tamper(struct service_fixture *fixture, struct slice partition, struct slice key,
                   struct slice row)
{
    struct tampering tampering = { .key = key, .row = row };
    assert_int_equal(
        background_update(&fixture->service, &tampering.waited, partition, tamper_decide), OK);
}

static struct slice entities_of(struct service_fixture *fixture, const char *name)
{
    const struct table_name table = table_named(name);
    struct slice partition;
    assert_int_equal(table_find_entities(&fixture->service, &fixture->arena, &table, &partition),
                     OK);
    return partition;
}

static struct slice account(struct service_fixture *fixture)
{
    return account_partition(&fixture->arena, slice_of(FIXTURE_ACCOUNT_NAME));
}

static void fill(struct service_fixture *fixture)
{
    table_make(fixture, "Things");
    table_make(fixture, "empty");
    entity_put(fixture, "", "", 1);
    entity_put(fixture, "a", "1", 1);
    entity_put(fixture, "a", "2", 2);
}

static struct slice key_of(struct service_fixture *fixture, const char *pk, const char *rk)
{
    return entity_key(&fixture->arena, slice_of(pk), slice_of(rk));
}

/* --- tests --- */

static void tables_hold_together(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct fsck_summary summary = assert_clean(fixture);
    assert_int_equal(summary.table_count, 2);
    assert_int_equal(summary.entity_count, 3);
    assert_int_equal(summary.deleted_table_count, 0);
}

static void a_deleted_table_is_no_fault_before_and_after_it_is_swept(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    assert_int_equal(table_remove(fixture, "things"), OK);
    struct fsck_summary summary = assert_clean(fixture);
    assert_int_equal(summary.table_count, 1);
    assert_int_equal(summary.entity_count, 0);
    assert_int_equal(summary.deleted_table_count, 1);
    assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    summary = assert_clean(fixture);
    assert_int_equal(summary.deleted_table_count, 0);
}

static void a_damaged_entity_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    tamper(fixture, entities_of(fixture, "things"), key_of(fixture, "a", "1"), slice_of("junk"));
    assert_finding(fixture,
                   "devstoreaccount1/things: entity PartitionKey='a', RowKey='1' is damaged");
}

/* It can be decoded, but no client could have made it. */
static void an_entity_beyond_the_rules_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct entity entity = {
        .timestamp = FIXTURE_T0,
        .properties = one_property(fixture, "A", edm_string(slice_of("\xFF"))),
    };
    tamper(fixture, entities_of(fixture, "things"), key_of(fixture, "a", "1"),
           entity_encode(&fixture->arena, &entity));
    assert_finding(fixture, "entity PartitionKey='a', RowKey='1' is damaged");
}

static void a_damaged_key_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    tamper(fixture, entities_of(fixture, "things"), slice_of("eab"), slice_of("x"));
    assert_finding(fixture, "the key of an entity is damaged: eab");
}

static void a_key_that_no_client_may_use_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    tamper(fixture, entities_of(fixture, "things"), key_of(fixture, "a", "b/c"), slice_of("x"));
    assert_finding(fixture, "the key of an entity is damaged: ea%00b/c");
}

static void a_row_of_unknown_kind_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    tamper(fixture, entities_of(fixture, "things"), slice_of("zoo"), slice_of("x"));
    assert_finding(fixture, "there is a row of unknown kind, with a key of 3 bytes");
}

static void a_table_that_is_closed_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    tamper(fixture, entities_of(fixture, "things"), closed_key(), slice_of("x"));
    assert_finding(fixture, "devstoreaccount1/things: it is closed, as if it were deleted");
}

static void a_damaged_record_of_a_table_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    tamper(fixture, account(fixture), slice_of("tempty"), slice_of("junk"));
    assert_finding(fixture, "devstoreaccount1/empty: the table's record is damaged");
}

static void a_record_of_another_name_is_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    const struct table table = { .incarnation = 5, .name = slice_of("other") };
    tamper(fixture, account(fixture), slice_of("tempty"), table_encode(&fixture->arena, &table));
    assert_finding(fixture, "devstoreaccount1/empty: the table's record is of another name");
}

static void entities_that_no_table_has_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    tamper(fixture, account(fixture), slice_of("tthings"), (struct slice){ 0 });
    assert_finding(fixture, "its entities are there, and nothing will remove them");
}

static void two_tables_with_the_same_entities_are_found(void **state)
{
    struct service_fixture *fixture = *state;
    fill(fixture);
    struct table table;
    const struct table_name name = table_named("things");
    assert_int_equal(table_get(&fixture->service, &fixture->arena, &name, &table), OK);
    table.name = slice_of("empty");
    tamper(fixture, account(fixture), slice_of("tempty"), table_encode(&fixture->arena, &table));
    const struct findings findings = check(fixture);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.words[0], "have the same entities"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(tables_hold_together),
        ON_ALL_ENGINES(a_deleted_table_is_no_fault_before_and_after_it_is_swept),
        ON_MEMORY(a_damaged_entity_is_found),
        ON_MEMORY(an_entity_beyond_the_rules_is_found),
        ON_MEMORY(a_damaged_key_is_found),
        ON_MEMORY(a_key_that_no_client_may_use_is_found),
        ON_MEMORY(a_row_of_unknown_kind_is_found),
        ON_MEMORY(a_table_that_is_closed_is_found),
        ON_MEMORY(a_damaged_record_of_a_table_is_found),
        ON_MEMORY(a_record_of_another_name_is_found),
        ON_MEMORY(entities_that_no_table_has_are_found),
        ON_MEMORY(two_tables_with_the_same_entities_are_found),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
