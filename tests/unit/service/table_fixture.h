/*
 * table_fixture.h - what tests of the table service share: making tables, changing and reading
 * entities of table "things".
 */
#ifndef TESTS_UNIT_SERVICE_TABLE_FIXTURE_H
#define TESTS_UNIT_SERVICE_TABLE_FIXTURE_H

#include "service/table/entity.h"
#include "service/table/table.h"
#include "service/table/table_name.h"
#include "service_fixture.h"

static inline struct table_name table_named(const char *name)
{
    return (struct table_name){ slice_of(FIXTURE_ACCOUNT_NAME), slice_of(name) };
}

typedef void table_change_fn(struct service *service, struct table_change *change);

/* Start a change of a table and wait for it; its name is filled in. */
static inline enum err table_await(struct service_fixture *fixture, const char *name,
                                   table_change_fn *start, struct table_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = table_named(name);
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline void table_make(struct service_fixture *fixture, const char *name)
{
    struct table_change change = { 0 };
    assert_int_equal(table_await(fixture, name, table_create, &change), OK);
}

static inline enum err table_remove(struct service_fixture *fixture, const char *name)
{
    struct table_change change = { 0 };
    return table_await(fixture, name, table_delete, &change);
}

/* Apply the operations of `change` and wait; its table is "things" unless it has one. */
static inline enum err entity_await(struct service_fixture *fixture, struct entity_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    if (change->table.table.len == 0)
        change->table = table_named("things");
    entity_apply(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* One operation, alone; its ETag in `*etag` unless that is NULL. */
static inline enum err entity_await_one(struct service_fixture *fixture,
                                        const struct entity_operation *operation, int64_t *etag)
{
    struct entity_change change = { .operations = operation, .operation_count = 1 };
    const enum err err = entity_await(fixture, &change);
    if (etag != NULL)
        *etag = change.etag;
    return err;
}

/* One property in the fixture's arena. */
static inline struct edm_properties one_property(struct service_fixture *fixture, const char *name,
                                                 struct edm_value value)
{
    struct edm_properties properties = { .count = 1 };
    properties.items = arena_alloc(&fixture->arena, sizeof(*properties.items));
    properties.items[0] = (struct edm_property){ .name = slice_of(name), .value = value };
    return properties;
}

/* An upsert of an entity with one number, which replaces; its ETag. */
static inline int64_t entity_put(struct service_fixture *fixture, const char *partition_key,
                                 const char *row_key, int32_t number)
{
    const struct entity_operation operation = {
        .action = ENTITY_REPLACE,
        .partition_key = slice_of(partition_key),
        .row_key = slice_of(row_key),
        .properties = one_property(fixture, "Number", edm_int32(number)),
    };
    int64_t etag;
    assert_int_equal(entity_await_one(fixture, &operation, &etag), OK);
    return etag;
}

/* In the fixture's arena. */
static inline enum err entity_read(struct service_fixture *fixture, const char *partition_key,
                                   const char *row_key, struct entity *entity)
{
    const struct table_name table = table_named("things");
    return entity_get(&fixture->service, &fixture->arena, &table, slice_of(partition_key),
                      slice_of(row_key), entity);
}

/* The Number of an entity that is there. */
static inline int32_t entity_number(struct service_fixture *fixture, const char *partition_key,
                                    const char *row_key)
{
    struct entity entity;
    assert_int_equal(entity_read(fixture, partition_key, row_key, &entity), OK);
    const struct edm_value *value = edm_properties_find(&entity.properties, slice_of("Number"));
    assert_non_null(value);
    assert_int_equal(value->type, EDM_INT32);
    return value->int32;
}

/* Every row of the account and of the tables in it, in the fixture's arena. */
static inline bool fixture_dump_table(void *arg, const struct table *table)
{
    void *const *both = arg;
    struct service_fixture *fixture = both[0];
    fixture_dump_partition(fixture, table_partition(&fixture->arena, table->incarnation), both[1]);
    return true;
}

static inline struct slice fixture_dump_tables(struct service_fixture *fixture)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    const struct slice account = slice_of(FIXTURE_ACCOUNT_NAME);
    fixture_dump_partition(fixture, account_partition(&fixture->arena, account), &out);
    void *both[] = { fixture, &out };
    const struct table_list_request list = {
        .account = account, .results_max = SIZE_MAX, .emit = fixture_dump_table, .arg = both
    };
    struct slice next;
    assert_int_equal(table_list(&fixture->service, &fixture->arena, &list, &next), OK);
    return strbuf_slice(&out);
}

static inline void fixture_assert_tables_unchanged(struct service_fixture *fixture,
                                                   struct slice before)
{
    const struct slice after = fixture_dump_tables(fixture);
    assert_int_equal(after.len, before.len);
    assert_memory_equal(after.data, before.data, before.len);
}

#endif
