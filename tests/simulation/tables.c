/*
 * tables.c - the world of the table service: entities, their ETags, groups and queries.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "service/limits.h"
#include "service/table/entity.h"
#include "service/table/table.h"

enum {
    TABLE_NAMES = 2,
    TABLES_MAX = 64,
    PARTITION_KEYS = 2,
    ROW_KEYS = 6,
    PROPERTIES = 3,
    GROUP_MAX = 4,
};

static const char *const TABLE_TEXTS[TABLE_NAMES] = { "TableA", "TableB" };
static const char *const PARTITION_TEXTS[PARTITION_KEYS] = { "p", "q" };
static const char *const ROW_TEXTS[ROW_KEYS] = { "", "r1", "r2", "r3", "r4", "r5" };
static const char *const PROPERTY_TEXTS[PROPERTIES] = { "X", "Y", "Z" };

enum kind {
    TABLE_CREATE,
    TABLE_DELETE,
    ENTITY_APPLY,
};

struct model_entity {
    int64_t etag;               /* 0: it is not there */
    int32_t values[PROPERTIES]; /* 0: it has no such property */
};

struct model_table {
    bool in_use;
    unsigned name;
    bool is_deleted;
    bool is_closed;
    unsigned use_count;
    struct model_entity entities[PARTITION_KEYS][ROW_KEYS];
};

struct model_tables {
    struct model_table tables[TABLES_MAX];
};

/* One operation of a group. */
struct asked_part {
    unsigned partition;
    unsigned row;
    enum entity_action action;
    enum entity_condition condition;
    int64_t etag;
    int32_t values[PROPERTIES];
};

struct asked {
    enum kind kind;
    unsigned table;
    size_t count;
    struct asked_part parts[GROUP_MAX];
    union {
        struct table_change table_change;
        struct entity_change entity_change;
    } request;
};

static struct model_tables *model_of(struct sim *sim)
{
    return sim->state;
}

static struct model_table *find_table(struct model_tables *model, unsigned name)
{
    for (size_t i = 0; i < TABLES_MAX; i++) {
        struct model_table *table = &model->tables[i];
        if (table->in_use && !table->is_deleted && table->name == name)
            return table;
    }
    return NULL;
}

static struct table_name table_called(unsigned name)
{
    return (struct table_name){ slice_of(SIM_ACCOUNT), slice_of(TABLE_TEXTS[name]) };
}

static void let_go(struct model_table *table)
{
    table->use_count--;
    if (table->is_deleted && table->use_count == 0)
        memset(table, 0, sizeof(*table));
}

/* --- starting --- */

static void start_table(struct sim *sim, struct operation *operation, struct asked *asked)
{
    struct table_change *request = &asked->request.table_change;
    sim_describe(operation, "%s: %s", TABLE_TEXTS[asked->table],
                 asked->kind == TABLE_CREATE ? "create" : "delete");
    sim_bind(operation, &request->base);
    request->name = table_called(asked->table);
    if (asked->kind == TABLE_CREATE)
        table_create(&sim->service, request);
    else
        table_delete(&sim->service, request);
}

static void choose_part(struct sim *sim, struct asked *asked, const struct model_table *table,
                        size_t index)
{
    struct asked_part *part = &asked->parts[index];
    const unsigned first = asked->parts[0].row;
    part->partition = index > 0 && sim_chance(sim, 98) ? asked->parts[0].partition
                                                       : sim_below(sim, PARTITION_KEYS);
    part->row = index > 0 && sim_chance(sim, 97) ? (unsigned)((first + index) % ROW_KEYS)
                                                 : sim_below(sim, ROW_KEYS);
    const struct model_entity *entity =
        table == NULL ? NULL : &table->entities[part->partition][part->row];
    const bool exists = entity != NULL && entity->etag != 0;
    const uint32_t choice = sim_below(sim, 10);
    part->action = !exists && choice < 5 ? ENTITY_INSERT
                   : choice < 1          ? ENTITY_INSERT
                   : choice < 4          ? ENTITY_REPLACE
                   : choice < 7          ? ENTITY_MERGE
                                         : ENTITY_DELETE;
    part->condition = (enum entity_condition)sim_below(sim, 3);
    if (part->action == ENTITY_DELETE && part->condition == ENTITY_IF_ANY)
        part->condition = ENTITY_IF_EXISTS;
    part->etag = exists && sim_chance(sim, 90) ? entity->etag : sim_now(sim) - sim_below(sim, 50);
    for (size_t i = 0; i < PROPERTIES; i++)
        part->values[i] = sim_chance(sim, 50) ? 1 + (int32_t)sim_below(sim, 9) : 0;
}

static struct entity_operation make_operation(struct arena *arena, const struct asked_part *part)
{
    struct entity_operation operation = { .action = part->action,
                                          .condition = part->condition,
                                          .if_etag = part->etag,
                                          .partition_key =
                                              slice_of(PARTITION_TEXTS[part->partition]),
                                          .row_key = slice_of(ROW_TEXTS[part->row]) };
    struct edm_properties *properties = &operation.properties;
    properties->items = arena_alloc(arena, PROPERTIES * sizeof(*properties->items));
    for (size_t i = 0; i < PROPERTIES; i++)
        if (part->values[i] != 0)
            properties->items[properties->count++] =
                (struct edm_property){ .name = slice_of(PROPERTY_TEXTS[i]),
                                       .value = edm_int32(part->values[i]) };
    return operation;
}

static void start_group(struct sim *sim, struct operation *operation, struct asked *asked,
                        const struct model_table *table)
{
    static const char *const words[] = { "insert", "replace", "merge", "delete" };
    struct entity_change *request = &asked->request.entity_change;
    asked->count = sim_chance(sim, 60) ? 1 : 1 + sim_below(sim, GROUP_MAX);
    struct entity_operation *operations =
        arena_alloc(&operation->arena, asked->count * sizeof(*operations));
    char text[SIM_WORDS_BYTES] = "";
    for (size_t i = 0; i < asked->count; i++) {
        choose_part(sim, asked, table, i);
        const struct asked_part *part = &asked->parts[i];
        operations[i] = make_operation(&operation->arena, part);
        const size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, " %s %s/%s if %d;", words[part->action],
                 PARTITION_TEXTS[part->partition], ROW_TEXTS[part->row], (int)part->condition);
    }
    sim_describe(operation, "%s:%.*s", TABLE_TEXTS[asked->table], SIM_WORDS_BYTES - 20, text);
    sim_bind(operation, &request->base);
    request->table = table_called(asked->table);
    request->operations = operations;
    request->operation_count = asked->count;
    entity_apply(&sim->service, request);
}

static void tables_start(struct sim *sim, struct operation *operation)
{
    struct asked *asked = arena_alloc(&operation->arena, sizeof(*asked));
    asked->table = sim_below(sim, TABLE_NAMES);
    struct model_table *table = find_table(model_of(sim), asked->table);
    const uint32_t choice = sim_below(sim, 200);
    operation->request = asked;
    if ((table == NULL && choice < 100) || choice < 2 || choice == 199) {
        asked->kind = choice == 199 ? TABLE_DELETE : TABLE_CREATE;
        start_table(sim, operation, asked);
        return;
    }
    asked->kind = ENTITY_APPLY;
    operation->target = table;
    if (table != NULL)
        table->use_count++;
    start_group(sim, operation, asked, table);
}

/* --- what happens --- */

static void finish_table(struct sim *sim, struct operation *operation, const struct asked *asked)
{
    struct model_tables *model = model_of(sim);
    const char *object = TABLE_TEXTS[asked->table];
    struct model_table *table = find_table(model, asked->table);
    if (asked->kind == TABLE_CREATE) {
        sim_expect(operation, object, table != NULL ? ERR_TABLE_EXISTS : OK);
        if (table != NULL)
            return;
        table = model->tables;
        while (table->in_use)
            table++;
        assert(table < model->tables + TABLES_MAX);
        table->in_use = true;
        table->name = asked->table;
        return;
    }
    sim_expect(operation, object, table == NULL ? ERR_TABLE_NOT_FOUND : OK);
    if (table == NULL)
        return;
    table->is_deleted = true;
    table->use_count++;
    let_go(table);
}

/* What needs no table: the group as such. */
static enum err check_group(const struct asked *asked, size_t *failed)
{
    for (size_t i = 0; i < asked->count; i++) {
        for (size_t j = 0; j < i; j++) {
            *failed = i;
            if (asked->parts[i].partition != asked->parts[j].partition)
                return ERR_GROUP_PARTITIONS;
            if (asked->parts[i].row == asked->parts[j].row)
                return ERR_GROUP_DUPLICATE;
        }
    }
    *failed = 0;
    return OK;
}

static enum err apply_part(struct model_entity *entity, const struct asked_part *part, int64_t tick)
{
    const bool exists = entity->etag != 0;
    if (part->action == ENTITY_INSERT && exists)
        return ERR_ENTITY_EXISTS;
    if (part->action != ENTITY_INSERT && !exists && part->condition != ENTITY_IF_ANY)
        return ERR_RESOURCE_NOT_FOUND;
    if (part->action != ENTITY_INSERT && exists && part->condition == ENTITY_IF_ETAG &&
        part->etag != entity->etag)
        return ERR_UPDATE_CONDITION_NOT_MET;
    const struct model_entity before = *entity;
    *entity = (struct model_entity){ 0 };
    if (part->action == ENTITY_DELETE)
        return OK;
    entity->etag = tick;
    for (size_t i = 0; i < PROPERTIES; i++) {
        const bool keeps = part->action == ENTITY_MERGE && part->values[i] == 0;
        entity->values[i] = keeps ? before.values[i] : part->values[i];
    }
    return OK;
}

static void finish_group(struct sim *sim, struct operation *operation, struct asked *asked,
                         struct model_table *table)
{
    const struct entity_change *request = &asked->request.entity_change;
    const char *object = TABLE_TEXTS[asked->table];
    struct model_table after = *table;
    enum err err = OK;
    size_t failed = 0;
    for (size_t i = 0; err == OK && i < asked->count; i++) {
        const struct asked_part *part = &asked->parts[i];
        failed = i;
        err = apply_part(&after.entities[part->partition][part->row], part, operation->tick);
    }
    sim_expect(operation, object, err);
    if (err == OK)
        SIM_CHECK(sim, object, request->etag == operation->tick);
    else
        SIM_CHECK(sim, object, request->failed_index == failed);
    if (err == OK)
        memcpy(table->entities, after.entities, sizeof(after.entities));
}

static void tables_finish(struct sim *sim, struct operation *operation)
{
    struct asked *asked = operation->request;
    struct model_table *table = operation->target;
    const char *object = TABLE_TEXTS[asked->table];
    size_t failed = 0;
    if (asked->kind != ENTITY_APPLY) {
        finish_table(sim, operation, asked);
        return;
    }
    const enum err shape = check_group(asked, &failed);
    if (shape != OK) {
        sim_expect(operation, object, shape);
        SIM_CHECK(sim, object, asked->request.entity_change.failed_index == failed);
    } else if (table == NULL) {
        sim_expect(operation, object, ERR_TABLE_NOT_FOUND);
    } else if (table->is_closed || (table->is_deleted && operation->err == ERR_TABLE_NOT_FOUND)) {
        sim_expect(operation, object, ERR_TABLE_NOT_FOUND);
        table->is_closed = true;
    } else {
        finish_group(sim, operation, asked, table);
    }
    if (table != NULL)
        let_go(table);
}

/* --- reading --- */

static void check_entity(struct sim *sim, const char *object, const struct entity *got,
                         const struct model_entity *entity)
{
    size_t count = 0;
    SIM_CHECK(sim, object, got->timestamp == entity->etag);
    for (size_t i = 0; i < PROPERTIES; i++) {
        const struct edm_value *value =
            edm_properties_find(&got->properties, slice_of(PROPERTY_TEXTS[i]));
        SIM_CHECK(sim, object, (value != NULL) == (entity->values[i] != 0));
        SIM_CHECK(sim, object, value == NULL || value->int32 == entity->values[i]);
        count += value != NULL;
    }
    SIM_CHECK(sim, object, got->properties.count == count);
    sim_digest(sim, (uint64_t)got->timestamp);
}

static void read_entity(struct sim *sim, struct arena *arena, unsigned name)
{
    const struct model_table *table = find_table(model_of(sim), name);
    const unsigned partition = sim_below(sim, PARTITION_KEYS);
    const unsigned row = sim_below(sim, ROW_KEYS);
    const struct model_entity *entity = table == NULL ? NULL : &table->entities[partition][row];
    const struct table_name called = table_called(name);
    struct entity got;
    const enum err expected = table == NULL       ? ERR_TABLE_NOT_FOUND
                              : entity->etag == 0 ? ERR_RESOURCE_NOT_FOUND
                                                  : OK;
    sim_expect_read(sim, TABLE_TEXTS[name], "get entity",
                    entity_get(&sim->service, arena, &called, slice_of(PARTITION_TEXTS[partition]),
                               slice_of(ROW_TEXTS[row]), &got),
                    expected);
    if (expected == OK)
        check_entity(sim, TABLE_TEXTS[name], &got, entity);
}

struct query_walk {
    struct sim *sim;
    const struct model_table *table;
    int32_t least; /* of X; 0: all */
    size_t next;   /* the place in the model, by keys */
};

static bool matches(const struct query_walk *walk, const struct model_entity *entity)
{
    return entity->etag != 0 && (walk->least == 0 || entity->values[0] >= walk->least);
}

/* Go to the next entity of the model that the query is to find. */
static const struct model_entity *next_match(struct query_walk *walk)
{
    while (walk->next < PARTITION_KEYS * ROW_KEYS) {
        const size_t place = walk->next++;
        const struct model_entity *entity =
            &walk->table->entities[place / ROW_KEYS][place % ROW_KEYS];
        if (matches(walk, entity))
            return entity;
    }
    return NULL;
}

static bool check_found(void *arg, const struct entity *got)
{
    struct query_walk *walk = arg;
    const char *object = TABLE_TEXTS[walk->table->name];
    const struct model_entity *expected = next_match(walk);
    SIM_CHECK(walk->sim, object, expected != NULL);
    const size_t place = walk->next - 1;
    SIM_CHECK(walk->sim, object, slice_is(got->partition_key, PARTITION_TEXTS[place / ROW_KEYS]));
    SIM_CHECK(walk->sim, object, slice_is(got->row_key, ROW_TEXTS[place % ROW_KEYS]));
    check_entity(walk->sim, object, got, expected);
    return true;
}

static void read_query(struct sim *sim, struct arena *arena, unsigned name)
{
    const char *object = TABLE_TEXTS[name];
    struct query_walk walk = { .sim = sim, .table = find_table(model_of(sim), name) };
    struct entity_query_request request = { .table = table_called(name),
                                            .results_max = 1 + sim_below(sim, 8),
                                            .looked_max = 1 + sim_below(sim, 20),
                                            .emit = check_found,
                                            .arg = &walk };
    struct slice message;
    if (sim_chance(sim, 50)) {
        walk.least = 1 + (int32_t)sim_below(sim, 9);
        const struct slice text = arena_printf(arena, "X ge %d", (int)walk.least);
        SIM_CHECK(sim, object, filter_parse(arena, text, &request.filter, &message) == OK);
    }
    struct entity_position next;
    do {
        const enum err err = entity_query(&sim->service, arena, &request, &next);
        sim_expect_read(sim, object, "query", err, walk.table == NULL ? ERR_TABLE_NOT_FOUND : OK);
        if (err != OK)
            return;
        request.from = next;
    } while (next.present);
    SIM_CHECK(sim, object, next_match(&walk) == NULL);
}

static void tables_read(struct sim *sim)
{
    struct arena arena = { 0 };
    const unsigned name = sim_below(sim, TABLE_NAMES);
    if (sim_chance(sim, 60))
        read_entity(sim, &arena, name);
    else
        read_query(sim, &arena, name);
    arena_release(&arena);
}

static void tables_audit(struct sim *sim)
{
    struct arena arena = { 0 };
    for (unsigned name = 0; name < TABLE_NAMES; name++) {
        read_query(sim, &arena, name);
        read_query(sim, &arena, name);
    }
    arena_release(&arena);
}

static void tables_settled(struct sim *sim, const struct fsck_summary *summary)
{
    uint64_t table_count = 0;
    uint64_t entity_count = 0;
    for (unsigned name = 0; name < TABLE_NAMES; name++) {
        struct query_walk walk = { .sim = sim, .table = find_table(model_of(sim), name) };
        table_count += walk.table != NULL;
        while (walk.table != NULL && next_match(&walk) != NULL)
            entity_count++;
    }
    SIM_CHECK(sim, "", summary->table_count == table_count);
    SIM_CHECK(sim, "", summary->entity_count == entity_count);
}

/* --- the world --- */

static void tables_open(struct sim *sim)
{
    sim->state = calloc(1, sizeof(struct model_tables));
    assert(sim->state != NULL);
}

static void tables_close(struct sim *sim)
{
    free(sim->state);
}

const struct world WORLD_TABLES = {
    .name = "tables",
    .open = tables_open,
    .close = tables_close,
    .start = tables_start,
    .finish = tables_finish,
    .read = tables_read,
    .audit = tables_audit,
    .settled = tables_settled,
};
