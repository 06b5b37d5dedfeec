/*
 * test_table_model.c - a table against a simple model of one, an array: random operations alone and
 * in groups, with right and wrong conditions, and random queries in pages of random length.  After
 * each step both say the same.  ZAFFRE_TEST_SEED repeats a run.
 */
#include "base/log.h"
#include "service/limits.h"
#include "service/sweeper.h"
#include "table_fixture.h"
#include "test_random.h"

enum {
    PARTITION_KEYS = 4,
    ROW_KEYS = 8,
    ENTITIES = PARTITION_KEYS * ROW_KEYS,
    NAMES = 6,
    GROUP_MAX = 7,
};

/* In their order. */
static const char *const PARTITION_KEY[PARTITION_KEYS] = { "", "a", "ab", "b" };
static const char *const ROW_KEY[ROW_KEYS] = { "", "0", "1", "10", "2", "x%y", "x'y", "\xC3\xA9" };
static const char *const NAME[NAMES] = { "A", "B", "C", "D", "E", "F" };

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

/* --- the model --- */

struct model_property {
    int name;
    int32_t number;
};

struct model_entity {
    bool present;
    int64_t etag;
    size_t count;
    struct model_property properties[NAMES];
};

/* By PartitionKey, then RowKey. */
struct model {
    struct model_entity entities[ENTITIES];
};

/* An operation in the model's terms. */
struct model_operation {
    enum entity_action action;
    enum entity_condition condition;
    int64_t if_etag;
    size_t entity; /* index */
    size_t count;
    struct model_property properties[NAMES];
};

static void model_set(struct model_entity *entity, struct model_property property)
{
    for (size_t i = 0; i < entity->count; i++) {
        if (entity->properties[i].name == property.name) {
            entity->properties[i].number = property.number;
            return;
        }
    }
    entity->properties[entity->count++] = property;
}

static enum err model_apply_one(struct model *model, const struct model_operation *operation)
{
    struct model_entity *entity = &model->entities[operation->entity];
    if (operation->action == ENTITY_INSERT) {
        if (entity->present)
            return ERR_ENTITY_EXISTS;
    } else if (!entity->present) {
        if (operation->condition != ENTITY_IF_ANY)
            return ERR_RESOURCE_NOT_FOUND;
    } else if (operation->condition == ENTITY_IF_ETAG && operation->if_etag != entity->etag) {
        return ERR_UPDATE_CONDITION_NOT_MET;
    }
    if (operation->action != ENTITY_MERGE || !entity->present)
        entity->count = 0;
    entity->present = operation->action != ENTITY_DELETE;
    for (size_t i = 0; i < operation->count && entity->present; i++)
        model_set(entity, operation->properties[i]);
    return OK;
}

/* All or nothing.  The ETags are set by the caller, who alone knows them. */
static enum err model_apply(struct model *model, const struct model_operation *operations,
                            size_t count, size_t *failed)
{
    const struct model before = *model;
    enum err err = OK;
    for (*failed = 0; *failed < count; ++*failed) {
        for (size_t i = 0; i < *failed && err == OK; i++) {
            if (operations[i].entity / ROW_KEYS != operations[*failed].entity / ROW_KEYS)
                err = ERR_GROUP_PARTITIONS;
            else if (operations[i].entity == operations[*failed].entity)
                err = ERR_GROUP_DUPLICATE;
        }
        if (err != OK)
            return err;
    }
    for (*failed = 0; *failed < count; ++*failed) {
        err = model_apply_one(model, &operations[*failed]);
        if (err != OK) {
            *model = before;
            return err;
        }
    }
    return OK;
}

/* --- random operations --- */

static struct model_operation random_operation(struct test_random *random,
                                               const struct model *model, size_t entity)
{
    struct model_operation operation = {
        .action = (enum entity_action)random_below(random, 4),
        .condition = (enum entity_condition)random_below(random, 3),
        .if_etag = model->entities[entity].etag - (random_below(random, 4) == 0),
        .entity = entity,
    };
    if (operation.action == ENTITY_DELETE && operation.condition == ENTITY_IF_ANY)
        operation.condition = ENTITY_IF_EXISTS;
    const int first = (int)random_below(random, NAMES);
    if (operation.action != ENTITY_DELETE)
        operation.count = random_below(random, NAMES);
    for (size_t i = 0; i < operation.count; i++)
        operation.properties[i] = (struct model_property){
            (first + (int)i) % NAMES,
            (int32_t)random_below(random, 10),
        };
    return operation;
}

static struct entity_operation real_operation(struct arena *arena,
                                              const struct model_operation *operation)
{
    struct entity_operation real = {
        .action = operation->action,
        .condition = operation->condition,
        .if_etag = operation->if_etag,
        .partition_key = slice_of(PARTITION_KEY[operation->entity / ROW_KEYS]),
        .row_key = slice_of(ROW_KEY[operation->entity % ROW_KEYS]),
        .properties = { .count = operation->count },
    };
    real.properties.items = arena_alloc(arena, operation->count * sizeof(struct edm_property));
    for (size_t i = 0; i < operation->count; i++)
        real.properties.items[i] = (struct edm_property){
            slice_of(NAME[operation->properties[i].name]),
            edm_int32(operation->properties[i].number),
        };
    return real;
}

/* Mostly a right group; sometimes over several partitions, or with an entity twice. */
static size_t random_group(struct test_random *random, const struct model *model,
                           struct model_operation operations[GROUP_MAX])
{
    const size_t count = random_below(random, 3) == 0 ? random_below(random, GROUP_MAX) + 1 : 1;
    const size_t partition = random_below(random, PARTITION_KEYS) * ROW_KEYS;
    const bool wrong_partition = random_below(random, 20) == 0;
    const size_t first = random_below(random, ROW_KEYS);
    for (size_t i = 0; i < count; i++) {
        size_t entity = partition + (first + i) % ROW_KEYS;
        if (wrong_partition)
            entity = random_below(random, ENTITIES);
        else if (random_below(random, 40) == 0)
            entity = partition + random_below(random, ROW_KEYS);
        operations[i] = random_operation(random, model, entity);
    }
    return count;
}

static void step(struct service_fixture *fixture, struct test_random *random, struct model *model)
{
    struct model_operation operations[GROUP_MAX];
    struct entity_operation real[GROUP_MAX];
    struct arena arena = { 0 };
    const size_t count = random_group(random, model, operations);
    for (size_t i = 0; i < count; i++)
        real[i] = real_operation(&arena, &operations[i]);
    struct entity_change change = { .operations = real, .operation_count = count };
    size_t failed;
    const enum err expected = model_apply(model, operations, count, &failed);
    assert_int_equal(entity_await(fixture, &change), expected);
    if (expected != OK)
        assert_int_equal(change.failed_index, failed);
    for (size_t i = 0; expected == OK && i < count; i++) {
        assert_true(change.etag > model->entities[operations[i].entity].etag);
        model->entities[operations[i].entity].etag = change.etag;
    }
    arena_release(&arena);
}

/* --- comparing --- */

static bool is_same(const struct model_entity *expected, const struct entity *entity)
{
    bool same = expected->present && entity->timestamp == expected->etag &&
                entity->properties.count == expected->count;
    for (size_t i = 0; same && i < expected->count; i++) {
        const struct edm_property *property = &entity->properties.items[i];
        same = slice_is(property->name, NAME[expected->properties[i].name]) &&
               property->value.type == EDM_INT32 &&
               property->value.int32 == expected->properties[i].number;
    }
    return same;
}

static void compare_one(struct service_fixture *fixture, const struct model *model, size_t index)
{
    struct arena arena = { 0 };
    struct entity entity;
    const struct table_name table = table_named("things");
    const enum err err =
        entity_get(&fixture->service, &arena, &table, slice_of(PARTITION_KEY[index / ROW_KEYS]),
                   slice_of(ROW_KEY[index % ROW_KEYS]), &entity);
    assert_int_equal(err, model->entities[index].present ? OK : ERR_RESOURCE_NOT_FOUND);
    if (err == OK)
        assert_true(is_same(&model->entities[index], &entity));
    arena_release(&arena);
}

/* --- queries --- */

/* Everything that holds of: keys in a range, and a property beyond a number. */
struct model_query {
    size_t first; /* index of the first entity */
    size_t count;
    bool within_partition; /* of `first` */
    int name;              /* -1: any */
    int32_t least;
};

static bool model_matches(const struct model *model, const struct model_query *query, size_t index)
{
    const struct model_entity *entity = &model->entities[index];
    if (!entity->present || index < query->first || index >= query->first + query->count)
        return false;
    if (query->within_partition && index / ROW_KEYS != query->first / ROW_KEYS)
        return false;
    for (size_t i = 0; i < entity->count && query->name >= 0; i++)
        if (entity->properties[i].name == query->name)
            return entity->properties[i].number >= query->least;
    return query->name < 0;
}

/* Quotes doubled. */
static struct slice quoted(struct arena *arena, const char *text)
{
    struct strbuf out;
    strbuf_init(&out, arena);
    strbuf_add_byte(&out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            strbuf_add_byte(&out, '\'');
        strbuf_add_byte(&out, *text);
    }
    strbuf_add_byte(&out, '\'');
    return strbuf_slice(&out);
}

/* A random query, and the same as a filter. */
static struct model_query random_query(struct test_random *random, struct arena *arena,
                                       struct strbuf *filter)
{
    struct model_query query = { .name = (int)random_below(random, NAMES + 2) - 2 };
    query.first = random_below(random, ENTITIES);
    query.count = random_below(random, 2) == 0 ? 1 : ENTITIES;
    query.within_partition = query.count > 1 && random_below(random, 2) == 0;
    query.least = (int32_t)random_below(random, 10);
    const struct slice pk = quoted(arena, PARTITION_KEY[query.first / ROW_KEYS]);
    const struct slice rk = quoted(arena, ROW_KEY[query.first % ROW_KEYS]);
    const int pk_len = (int)pk.len;
    const int rk_len = (int)rk.len;
    if (query.count == 1)
        strbuf_printf(filter, "PartitionKey eq %.*s and RowKey eq %.*s", pk_len, pk.data, rk_len,
                      rk.data);
    else if (query.within_partition)
        strbuf_printf(filter, "PartitionKey eq %.*s and RowKey ge %.*s", pk_len, pk.data, rk_len,
                      rk.data);
    else
        strbuf_printf(filter, "(PartitionKey gt %.*s or (PartitionKey eq %.*s and RowKey ge %.*s))",
                      pk_len, pk.data, pk_len, pk.data, rk_len, rk.data);
    if (query.name < 0)
        query.name = -1;
    else
        strbuf_printf(filter, " and %s ge %d", NAME[query.name], query.least);
    return query;
}

struct comparison {
    const struct model *model;
    const struct model_query *query;
    size_t index; /* where the answer has come to */
    bool differs; /* not an assertion in the callback, which would leave the view open */
    struct test_random *random;
};

static bool compare(void *arg, const struct entity *entity)
{
    struct comparison *comparison = arg;
    while (comparison->index < ENTITIES &&
           !model_matches(comparison->model, comparison->query, comparison->index))
        comparison->index++;
    if (comparison->index == ENTITIES) {
        comparison->differs = true;
        return false;
    }
    const size_t index = comparison->index++;
    if (!slice_is(entity->partition_key, PARTITION_KEY[index / ROW_KEYS]) ||
        !slice_is(entity->row_key, ROW_KEY[index % ROW_KEYS]) ||
        !is_same(&comparison->model->entities[index], entity))
        comparison->differs = true;
    return random_below(comparison->random, 8) != 0;
}

static void query(struct service_fixture *fixture, struct test_random *random,
                  const struct model *model)
{
    struct arena arena = { 0 };
    struct strbuf text;
    struct slice message;
    strbuf_init(&text, &arena);
    const struct model_query wanted = random_query(random, &arena, &text);
    struct comparison comparison = { .model = model, .query = &wanted, .random = random };
    struct entity_query_request request = {
        .table = table_named("things"),
        .results_max = random_below(random, 10) + 1,
        .looked_max = random_below(random, 20) + 1,
        .emit = compare,
        .arg = &comparison,
    };
    assert_int_equal(filter_parse(&arena, strbuf_slice(&text), &request.filter, &message), OK);
    do {
        assert_int_equal(entity_query(&fixture->service, &arena, &request, &request.from), OK);
        if (comparison.differs)
            fail_msg("%.*s differs at %zu", (int)text.len, text.data, comparison.index);
    } while (request.from.present);
    for (; comparison.index < ENTITIES; comparison.index++)
        assert_false(model_matches(model, &wanted, comparison.index));
    arena_release(&arena);
}

static void make_anew(struct service_fixture *fixture, struct test_random *random,
                      struct model *model)
{
    assert_int_equal(table_remove(fixture, "things"), OK);
    if (random_below(random, 2) == 0)
        assert_int_equal(sweeper_pass(&fixture->service, slice_of(FIXTURE_ACCOUNT_NAME)), OK);
    table_make(fixture, "things");
    *model = (struct model){ 0 };
}

static void a_table_is_as_its_model_says(void **state)
{
    struct service_fixture *fixture = *state;
    const int steps = fixture->kind == SERVICE_ON_MEMORY ? 20000 : 4000;
    struct test_random random = test_seed();
    struct model model = { 0 };
    table_make(fixture, "things");
    for (int i = 0; i < steps; i++) {
        step(fixture, &random, &model);
        compare_one(fixture, &model, random_below(&random, ENTITIES));
        if (random_below(&random, 4) == 0)
            query(fixture, &random, &model);
        if (random_below(&random, 1000) == 0)
            make_anew(fixture, &random, &model);
    }
    for (size_t i = 0; i < ENTITIES; i++)
        compare_one(fixture, &model, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_table_is_as_its_model_says),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
