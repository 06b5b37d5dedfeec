/*
 * test_entity_row.c - the stored form of entities, and what an entity may be ("Understanding the
 * Table Service Data Model").
 */
#include <math.h>

#include "base/log.h"
#include "service/limits.h"
#include "service/row.h"
#include "table_fixture.h"
#include "test_random.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static struct slice repeated(struct arena *arena, const char *text, size_t count)
{
    const size_t len = strlen(text);
    char *bytes = arena_bytes(arena, len * count);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * len, text, len);
    return slice_make(bytes, len * count);
}

/* An entity with a property of every type, and odd values of each. */
static struct entity full_entity(struct arena *arena)
{
    const struct edm_property all[] = {
        { slice_of("String"), edm_string(slice_of("h\xC3\xA9llo")) },
        { slice_of("Empty"), edm_string((struct slice){ 0 }) },
        { slice_of("Least"), edm_int32(INT32_MIN) },
        { slice_of("Most"), edm_int64(INT64_MAX) },
        { slice_of("Negative"), edm_int64(-1) },
        { slice_of("Double"), edm_double(-0.0) },
        { slice_of("Infinite"), edm_double((double)INFINITY) },
        { slice_of("True"), edm_boolean(true) },
        { slice_of("False"), edm_boolean(false) },
        { slice_of("First"), edm_datetime(0) },
        { slice_of("Last"), edm_datetime(EDM_DATETIME_TICKS_MAX) },
        { slice_of("Guid"), edm_guid((struct uuid){ .bytes = { 1, 2, 3, [15] = 0xff } }) },
        { slice_of("Binary"), edm_binary(slice_make("\0\xff\0", 3)) },
        { slice_of("NoBytes"), edm_binary((struct slice){ 0 }) },
        { repeated(arena, "n", 254), edm_int32(1) },
        { repeated(arena, "n", 255), edm_int32(2) },
        { repeated(arena, "\xE2\x82\xAC", 255), edm_int32(3) },
    };
    struct entity entity = { .timestamp = FIXTURE_T0 + 7 };
    entity.properties.count = sizeof(all) / sizeof(all[0]);
    entity.properties.items = arena_alloc(arena, sizeof(all));
    memcpy(entity.properties.items, all, sizeof(all));
    return entity;
}

/* Type and bits are the same: NaN equals itself here. */
static bool same_value(const struct edm_value *a, const struct edm_value *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == EDM_DOUBLE)
        return memcmp(&a->real, &b->real, sizeof(a->real)) == 0;
    return edm_compare(a, b) == EDM_EQUAL;
}

static void assert_same(const struct entity *a, const struct entity *b)
{
    assert_int_equal(a->timestamp, b->timestamp);
    assert_int_equal(a->properties.count, b->properties.count);
    for (size_t i = 0; i < a->properties.count; i++) {
        assert_true(slice_equal(a->properties.items[i].name, b->properties.items[i].name));
        assert_true(same_value(&a->properties.items[i].value, &b->properties.items[i].value));
    }
}

static void entities_come_back_with_types_and_order(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct entity entity = full_entity(&arena);
    struct entity back;
    assert_int_equal(entity_decode(&arena, entity_encode(&arena, &entity), &back), OK);
    assert_same(&entity, &back);

    const struct entity none = { .timestamp = FIXTURE_T0 };
    assert_int_equal(entity_decode(&arena, entity_encode(&arena, &none), &back), OK);
    assert_same(&none, &back);
    arena_release(&arena);
}

static void every_bit_of_a_number_comes_back(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct test_random random = test_seed();
    for (int i = 0; i < 10000; i++) {
        double real;
        const uint64_t bits = random_next(&random);
        memcpy(&real, &bits, sizeof(real));
        struct edm_property properties[] = {
            { slice_of("A"), edm_double(real) },
            { slice_of("B"), edm_int64((int64_t)random_number(&random)) },
            { slice_of("C"), edm_int32((int32_t)(uint32_t)random_number(&random)) },
        };
        const struct entity entity = {
            .timestamp = FIXTURE_T0 + (int64_t)random_below(&random, 1000000000),
            .properties = { .count = 3, .items = properties },
        };
        struct entity back;
        assert_int_equal(entity_decode(&arena, entity_encode(&arena, &entity), &back), OK);
        assert_same(&entity, &back);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

/* A row with one property field of these bytes. */
static enum err decode_property_bytes(struct arena *arena, const char *bytes, size_t len)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_ENTITY);
    row_add_number(&row, 1, (uint64_t)FIXTURE_T0);
    row_add_bytes(&row, 2, slice_make(bytes, len));
    struct entity entity;
    return entity_decode(arena, strbuf_slice(&row), &entity);
}

static void rows_that_are_no_entity_are_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    assert_int_equal(decode_property_bytes(&arena, "\1\1AB", 4), OK);
    static const struct {
        const char *bytes;
        size_t len;
    } wrong[] = {
        { "\1", 1 },                       /* no name */
        { "\1\0A", 3 },                    /* an empty one */
        { "\0\1A", 3 },                    /* no such type */
        { "\x09\1A", 3 },                  /* nor this */
        { "\1\2A", 3 },                    /* the name ends behind the field */
        { "\1\xff", 2 },                   /* the length of the name is missing */
        { "\1\xff\5\0A", 5 },              /* a long one ends behind the field */
        { "\2\1A\0\0\0", 6 },              /* three bytes are no Int32 */
        { "\2\1A\0\0\0\0\0", 8 },          /* five neither */
        { "\3\1A\0", 4 },                  /* nor one an Int64 */
        { "\5\1A\2", 4 },                  /* two is no Boolean */
        { "\5\1A", 3 },                    /* nothing neither */
        { "\6\1A\0\0\0\0\0\0\0\x7f", 11 }, /* later than the year 9999 */
        { "\6\1A\0\0\0\0\0\0\0\xff", 11 }, /* earlier than 1601 */
        { "\7\1A\0\0\0\0\0\0\0\xff", 11 }, /* eight bytes are no Guid */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(decode_property_bytes(&arena, wrong[i].bytes, wrong[i].len), ERR_CORRUPT);

    struct entity entity = { 0 };
    assert_int_equal(entity_decode(&arena, entity_encode(&arena, &entity), &entity), ERR_CORRUPT);
    entity.timestamp = 1; /* before 1601: it has no text */
    assert_int_equal(entity_decode(&arena, entity_encode(&arena, &entity), &entity), ERR_CORRUPT);
    arena_release(&arena);
}

static void a_row_with_too_many_properties_is_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct strbuf row;
    strbuf_init(&row, &arena);
    row_begin(&row, ROW_ENTITY);
    row_add_number(&row, 1, (uint64_t)FIXTURE_T0);
    struct entity entity;
    for (int i = 0; i < LIMIT_ENTITY_PROPERTIES_MAX; i++)
        row_add_bytes(&row, 2, slice_of("\1\1A"));
    assert_int_equal(entity_decode(&arena, strbuf_slice(&row), &entity), OK);
    row_add_bytes(&row, 2, slice_of("\1\1A"));
    assert_int_equal(entity_decode(&arena, strbuf_slice(&row), &entity), ERR_CORRUPT);
    arena_release(&arena);
}

static void damaged_rows_are_usable_or_corrupt(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct arena row_arena = { 0 };
    struct test_random random = test_seed();
    const struct entity entity = full_entity(&row_arena);
    const struct slice row = entity_encode(&row_arena, &entity);
    size_t survived = 0;
    for (int i = 0; i < 100000; i++) {
        size_t len;
        char *damaged = random_damage(&random, row, &len);
        struct entity back;
        const enum err err = entity_decode(&arena, slice_make(damaged, len), &back);
        assert_true(err == OK || err == ERR_CORRUPT);
        if (err == OK) {
            char text[EDM_DATETIME_LEN + 1];
            edm_datetime_format(edm_datetime_of_clock(back.timestamp), text);
            (void)entity_encode(&arena, &back);
            survived++;
        }
        free(damaged);
        arena_clear(&arena);
    }
    arena_release(&arena);
    arena_release(&row_arena);
    assert_in_range(survived, 1, 99999);
}

/* --- what an entity may be --- */

static enum err check_property(const char *name, struct edm_value value)
{
    struct edm_property property = { slice_of(name), value };
    const struct entity entity = { .properties = { .count = 1, .items = &property } };
    return entity_check(&entity);
}

static void names_of_properties_are_identifiers(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct edm_value value = edm_int32(1);
    static const char *const good[] = { "A", "_a", "a1", "\xC3\xA9t\xC3\xA9", "partitionkey" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(check_property(good[i], value), OK);
    static const char *const bad[] = { "", "1a", "a-b", "a b", "a.b", "a:b", "\xFF" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(check_property(bad[i], value), ERR_PROPERTY_NAME_INVALID);
    static const char *const taken[] = { "PartitionKey", "RowKey", "Timestamp" };
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        assert_int_equal(check_property(taken[i], value), ERR_DUPLICATE_PROPERTIES);
    const char *longest = arena_copy(&arena, repeated(&arena, "\xE2\x82\xAC", 255)).data;
    assert_int_equal(check_property(longest, value), OK);
    const char *longer = arena_copy(&arena, repeated(&arena, "a", 256)).data;
    assert_int_equal(check_property(longer, value), ERR_PROPERTY_NAME_TOO_LONG);
    arena_release(&arena);
}

static void a_value_has_at_most_64_kib_in_utf16(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const size_t most = LIMIT_PROPERTY_VALUE_BYTES_MAX;
    assert_int_equal(check_property("A", edm_string(repeated(&arena, "a", most / 2))), OK);
    assert_int_equal(check_property("A", edm_string(repeated(&arena, "a", most / 2 + 1))),
                     ERR_PROPERTY_VALUE_TOO_LARGE);
    assert_int_equal(check_property("A", edm_string(repeated(&arena, "\xE2\x82\xAC", most / 2))),
                     OK);
    assert_int_equal(
        check_property("A", edm_string(repeated(&arena, "\xF0\x9F\x98\x80", most / 4))), OK);
    assert_int_equal(
        check_property("A", edm_string(repeated(&arena, "\xF0\x9F\x98\x80", most / 4 + 1))),
        ERR_PROPERTY_VALUE_TOO_LARGE);
    assert_int_equal(check_property("A", edm_binary(repeated(&arena, "a", most))), OK);
    assert_int_equal(check_property("A", edm_binary(repeated(&arena, "a", most + 1))),
                     ERR_PROPERTY_VALUE_TOO_LARGE);
    assert_int_equal(check_property("A", edm_string(slice_of("\xFF"))), ERR_INVALID_INPUT);
    arena_release(&arena);
}

/* `count` properties of these many bytes each. */
static struct entity entity_of(struct arena *arena, size_t count, size_t value_bytes)
{
    struct entity entity = { .properties.count = count };
    entity.properties.items = arena_alloc(arena, count * sizeof(*entity.properties.items));
    const struct slice value = repeated(arena, "a", value_bytes);
    for (size_t i = 0; i < count; i++)
        entity.properties.items[i] = (struct edm_property){
            arena_printf(arena, "P%03zu", i),
            edm_binary(value),
        };
    return entity;
}

static void an_entity_has_at_most_252_properties_each_once(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct entity entity = entity_of(&arena, LIMIT_ENTITY_PROPERTIES_MAX, 1);
    assert_int_equal(entity_check(&entity), OK);
    entity.properties.items[251].name = entity.properties.items[0].name;
    assert_int_equal(entity_check(&entity), ERR_DUPLICATE_PROPERTIES);
    entity = entity_of(&arena, LIMIT_ENTITY_PROPERTIES_MAX + 1, 1);
    assert_int_equal(entity_check(&entity), ERR_TOO_MANY_PROPERTIES);
    arena_release(&arena);
}

static void an_entity_has_at_most_a_mebibyte(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    /* 4 bytes, 2 for each unit of a key, and for each property 8, 2 for each unit of its name, and
       its value, with 4 for a length. */
    struct entity entity = entity_of(&arena, 17, 61500);
    entity.partition_key = slice_of("ab");
    entity.row_key = slice_of("c");
    assert_int_equal(entity_size_bytes(&entity), 4 + 6 + 17 * (8 + 8 + 4 + 61500));
    assert_int_equal(entity_check(&entity), OK);
    const size_t missing = LIMIT_ENTITY_BYTES_MAX - entity_size_bytes(&entity);
    struct edm_value *last = &entity.properties.items[16].value;
    *last = edm_binary(repeated(&arena, "a", 61500 + missing));
    assert_int_equal(entity_check(&entity), OK);
    *last = edm_binary(repeated(&arena, "a", 61500 + missing + 1));
    assert_int_equal(entity_check(&entity), ERR_ENTITY_TOO_LARGE);
    arena_release(&arena);
}

static void both_keys_are_checked(void **state)
{
    (void)state;
    struct entity entity = { .partition_key = slice_of("a/b") };
    assert_int_equal(entity_check(&entity), ERR_OUT_OF_RANGE_INPUT);
    entity = (struct entity){ .row_key = slice_of("a#b") };
    assert_int_equal(entity_check(&entity), ERR_OUT_OF_RANGE_INPUT);
    entity = (struct entity){ 0 };
    assert_int_equal(entity_check(&entity), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_come_back_with_types_and_order),
        cmocka_unit_test(every_bit_of_a_number_comes_back),
        cmocka_unit_test(rows_that_are_no_entity_are_corrupt),
        cmocka_unit_test(a_row_with_too_many_properties_is_corrupt),
        cmocka_unit_test(damaged_rows_are_usable_or_corrupt),
        cmocka_unit_test(names_of_properties_are_identifiers),
        cmocka_unit_test(a_value_has_at_most_64_kib_in_utf16),
        cmocka_unit_test(an_entity_has_at_most_252_properties_each_once),
        cmocka_unit_test(an_entity_has_at_most_a_mebibyte),
        cmocka_unit_test(both_keys_are_checked),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
