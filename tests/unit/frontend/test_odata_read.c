/*
 * test_odata_read.c - bodies of the table service: which JSON is which typed value, and what is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "frontend/http/odata_read.h"
#include "service/limits.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct odata_entity entity;

static enum err read_text(const char *text)
{
    return odata_read_entity(&arena, slice_of(text), &entity);
}

/* The one property of {"a":literal} under the annotation `type`, which may be NULL. */
static enum err read_value(const char *literal, const char *type, struct edm_value *value)
{
    const struct slice body =
        type == NULL ? arena_printf(&arena, "{\"a\":%s}", literal)
                     : arena_printf(&arena, "{\"a@odata.type\":\"%s\",\"a\":%s}", type, literal);
    const enum err err = odata_read_entity(&arena, body, &entity);
    if (err != OK)
        return err;
    assert_int_equal(entity.properties.count, 1);
    assert_true(slice_is(entity.properties.items[0].name, "a"));
    *value = entity.properties.items[0].value;
    return OK;
}

static struct edm_value value_of(const char *literal, const char *type, enum edm_type wanted)
{
    struct edm_value value;
    assert_int_equal(read_value(literal, type, &value), OK);
    assert_int_equal(value.type, wanted);
    return value;
}

static void assert_refused(const char *literal, const char *type)
{
    struct edm_value value;
    assert_int_equal(read_value(literal, type, &value), ERR_ENTITY_MALFORMED);
}

static void types_are_told_from_values(void **state)
{
    (void)state;
    assert_true(slice_is(value_of("\"x\"", NULL, EDM_STRING).string, "x"));
    assert_true(value_of("true", NULL, EDM_BOOLEAN).boolean);
    assert_false(value_of("false", NULL, EDM_BOOLEAN).boolean);
    assert_int_equal(value_of("12", NULL, EDM_INT32).int32, 12);
    assert_int_equal(value_of("-2147483648", NULL, EDM_INT32).int32, INT32_MIN);
    assert_int_equal(value_of("2147483647", NULL, EDM_INT32).int32, INT32_MAX);
    assert_true(value_of("1.5", NULL, EDM_DOUBLE).real == 1.5);
    assert_true(value_of("5.0", NULL, EDM_DOUBLE).real == 5);
    assert_true(value_of("1e5", NULL, EDM_DOUBLE).real == 1e5);
}

static void an_integer_too_large_for_int32_is_a_double(void **state)
{
    (void)state;
    assert_true(value_of("2147483648", NULL, EDM_DOUBLE).real == 2147483648.0);
    assert_true(value_of("-2147483649", NULL, EDM_DOUBLE).real == -2147483649.0);
    assert_true(value_of("123456789012345678901234567890", NULL, EDM_DOUBLE).real ==
                123456789012345678901234567890.0);
}

static void annotations_say_how_texts_are_read(void **state)
{
    (void)state;
    assert_true(slice_is(value_of("\"5\"", "Edm.String", EDM_STRING).string, "5"));
    assert_int_equal(value_of("\"23\"", "Edm.Int32", EDM_INT32).int32, 23);
    assert_true(value_of("\"9223372036854775807\"", "Edm.Int64", EDM_INT64).int64 == INT64_MAX);
    assert_true(value_of("\"-9223372036854775808\"", "Edm.Int64", EDM_INT64).int64 == INT64_MIN);
    assert_true(value_of("\"0.5\"", "Edm.Double", EDM_DOUBLE).real == 0.5);
    assert_true(isnan(value_of("\"NaN\"", "Edm.Double", EDM_DOUBLE).real));
    assert_true(value_of("\"Infinity\"", "Edm.Double", EDM_DOUBLE).real == (double)INFINITY);
    assert_true(value_of("\"-Infinity\"", "Edm.Double", EDM_DOUBLE).real == -(double)INFINITY);
    assert_true(value_of("\"True\"", "Edm.Boolean", EDM_BOOLEAN).boolean);
    assert_int_equal(
        value_of("\"1601-01-01T00:00:00.0000001Z\"", "Edm.DateTime", EDM_DATETIME).datetime_ticks,
        1);
    assert_int_equal(
        value_of("\"c9da6455-213d-42c9-9a79-3e9149a57833\"", "Edm.Guid", EDM_GUID).guid.bytes[0],
        0xc9);
    assert_true(slice_is(value_of("\"YmluYXJ5\"", "Edm.Binary", EDM_BINARY).binary, "binary"));
    assert_int_equal(value_of("\"\"", "Edm.Binary", EDM_BINARY).binary.len, 0);
}

static void annotations_say_how_numbers_are_read(void **state)
{
    (void)state;
    assert_true(value_of("5", "Edm.Double", EDM_DOUBLE).real == 5);
    assert_int_equal(value_of("5", "Edm.Int64", EDM_INT64).int64, 5);
    assert_int_equal(value_of("5", "Edm.Int32", EDM_INT32).int32, 5);
    assert_true(value_of("true", "Edm.Boolean", EDM_BOOLEAN).boolean);
}

static void values_that_do_not_fit_their_annotation_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *literal;
        const char *type;
    } rows[] = {
        { "5", "Edm.String" },
        { "5", "Edm.Boolean" },
        { "5", "Edm.DateTime" },
        { "5", "Edm.Guid" },
        { "5", "Edm.Binary" },
        { "1.5", "Edm.Int32" },
        { "1.5", "Edm.Int64" },
        { "1e2", "Edm.Int64" },
        { "2147483648", "Edm.Int32" },
        { "9223372036854775808", "Edm.Int64" },
        { "true", "Edm.String" },
        { "true", "Edm.Int32" },
        { "\"x\"", "Edm.Int32" },
        { "\"\"", "Edm.Int32" },
        { "\"1.5\"", "Edm.Int64" },
        { "\" 1\"", "Edm.Int64" },
        { "\"\"", "Edm.Double" },
        { "\"0x10\"", "Edm.Double" },
        { "\"inf\"", "Edm.Double" },
        { "\"1.5x\"", "Edm.Double" },
        { "\"1e999\"", "Edm.Double" },
        { "\"\"", "Edm.Boolean" },
        { "\"yes\"", "Edm.Boolean" },
        { "\"\"", "Edm.DateTime" },
        { "\"1600-12-31\"", "Edm.DateTime" },
        { "\"2021-02-30T00:00:00Z\"", "Edm.DateTime" },
        { "\"c9da6455\"", "Edm.Guid" },
        { "\"a\"", "Edm.Binary" },
        { "\"a===\"", "Edm.Binary" },
        { "\"x\"", "Edm.Single" },
        { "\"x\"", "edm.string" },
        { "\"x\"", "" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_refused(rows[i].literal, rows[i].type);
    assert_refused("1e999", NULL);
    assert_refused("{}", NULL);
    assert_refused("[1]", NULL);
    assert_int_equal(read_text("{\"a@odata.type\":5,\"a\":\"5\"}"), ERR_ENTITY_MALFORMED);
}

static void an_annotation_may_stand_behind_its_property(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"a\":\"7\",\"a@odata.type\":\"Edm.Int64\"}"), OK);
    assert_int_equal(entity.properties.count, 1);
    assert_int_equal(entity.properties.items[0].value.type, EDM_INT64);
}

static void an_annotation_is_of_one_property_alone(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"a@odata.type\":\"Edm.Int64\",\"aa\":\"7\",\"A\":\"8\"}"), OK);
    assert_int_equal(entity.properties.count, 2);
    assert_int_equal(entity.properties.items[0].value.type, EDM_STRING);
    assert_int_equal(entity.properties.items[1].value.type, EDM_STRING);
}

static void keys_stand_apart(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"x\":1,\"RowKey\":\"\",\"PartitionKey\":\"p\",\"y\":2}"), OK);
    assert_true(entity.has_partition_key);
    assert_true(entity.has_row_key);
    assert_true(slice_is(entity.partition_key, "p"));
    assert_int_equal(entity.row_key.len, 0);
    assert_int_equal(entity.properties.count, 2);
    assert_true(slice_is(entity.properties.items[0].name, "x"));
    assert_true(slice_is(entity.properties.items[1].name, "y"));

    assert_int_equal(read_text("{\"PartitionKey\":null,\"partitionKey\":\"p\"}"), OK);
    assert_false(entity.has_partition_key);
    assert_false(entity.has_row_key);
    assert_int_equal(entity.properties.count, 1);
    assert_int_equal(
        read_text("{\"PartitionKey@odata.type\":\"Edm.String\",\"PartitionKey\":\"p\"}"), OK);
    assert_true(entity.has_partition_key);
}

static void keys_are_text(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"PartitionKey\":1}"), ERR_ENTITY_MALFORMED);
    assert_int_equal(read_text("{\"RowKey\":true}"), ERR_ENTITY_MALFORMED);
    assert_int_equal(read_text("{\"RowKey@odata.type\":\"Edm.Int64\",\"RowKey\":\"1\"}"),
                     ERR_ENTITY_MALFORMED);
}

static void nulls_timestamp_and_odata_members_are_passed_over(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("{\"odata.metadata\":\"m\",\"odata.etag\":\"e\",\"odata.type\":\"t\","
                  "\"Timestamp@odata.type\":\"Edm.DateTime\",\"Timestamp\":\"not a time\","
                  "\"a\":null,\"b@odata.type\":\"Edm.Int64\",\"b\":null,\"c@other\":1,\"d\":4}"),
        OK);
    assert_int_equal(entity.properties.count, 1);
    assert_true(slice_is(entity.properties.items[0].name, "d"));
}

static void a_name_given_twice_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"a\":1,\"a\":1}"), ERR_DUPLICATE_PROPERTIES);
    assert_int_equal(read_text("{\"a\":1,\"\\u0061\":1}"), ERR_DUPLICATE_PROPERTIES);
    assert_int_equal(read_text("{\"PartitionKey\":\"a\",\"PartitionKey\":\"b\"}"),
                     ERR_DUPLICATE_PROPERTIES);
    assert_int_equal(read_text("{\"a\":1,\"A\":1}"), OK);
}

static struct slice body_with(size_t property_count, const char *value)
{
    struct strbuf body;
    strbuf_init(&body, &arena);
    strbuf_add_text(&body, "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"t\"");
    for (size_t i = 0; i < property_count; i++)
        strbuf_printf(&body, ",\"p%zu@odata.type\":\"Edm.Int64\",\"p%zu\":%s", i, i, value);
    strbuf_add_byte(&body, '}');
    return strbuf_slice(&body);
}

static void an_entity_has_up_to_252_properties(void **state)
{
    (void)state;
    const size_t most = LIMIT_ENTITY_PROPERTIES_MAX;
    assert_int_equal(odata_read_entity(&arena, body_with(most, "\"1\""), &entity), OK);
    assert_int_equal(entity.properties.count, most);
    assert_int_equal(odata_read_entity(&arena, body_with(most + 1, "\"1\""), &entity),
                     ERR_TOO_MANY_PROPERTIES);
    /* Without end, whatever the members are. */
    assert_int_equal(odata_read_entity(&arena, body_with(100000, "null"), &entity),
                     ERR_TOO_MANY_PROPERTIES);
}

static void what_is_no_json_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_text(""), ERR_ENTITY_MALFORMED);
    assert_int_equal(read_text("[]"), ERR_ENTITY_MALFORMED);
    assert_int_equal(read_text("{\"a\":1"), ERR_ENTITY_MALFORMED);
    assert_int_equal(read_text("<entry/>"), ERR_ENTITY_MALFORMED);
}

static void a_table_is_its_name(void **state)
{
    (void)state;
    struct slice name;
    assert_int_equal(odata_read_table(&arena, slice_of("{\"TableName\":\"T1\"}"), &name), OK);
    assert_true(slice_is(name, "T1"));
    assert_int_equal(odata_read_table(&arena, slice_of("{}"), &name), ERR_PROPERTIES_NEED_VALUE);
    assert_int_equal(odata_read_table(&arena, slice_of("{\"TableName\":null}"), &name),
                     ERR_PROPERTIES_NEED_VALUE);
    assert_int_equal(odata_read_table(&arena, slice_of("{\"TableName\":1}"), &name),
                     ERR_ENTITY_MALFORMED);
    assert_int_equal(odata_read_table(&arena, slice_of("T1"), &name), ERR_ENTITY_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(types_are_told_from_values, clear),
        cmocka_unit_test_teardown(an_integer_too_large_for_int32_is_a_double, clear),
        cmocka_unit_test_teardown(annotations_say_how_texts_are_read, clear),
        cmocka_unit_test_teardown(annotations_say_how_numbers_are_read, clear),
        cmocka_unit_test_teardown(values_that_do_not_fit_their_annotation_are_refused, clear),
        cmocka_unit_test_teardown(an_annotation_may_stand_behind_its_property, clear),
        cmocka_unit_test_teardown(an_annotation_is_of_one_property_alone, clear),
        cmocka_unit_test_teardown(keys_stand_apart, clear),
        cmocka_unit_test_teardown(keys_are_text, clear),
        cmocka_unit_test_teardown(nulls_timestamp_and_odata_members_are_passed_over, clear),
        cmocka_unit_test_teardown(a_name_given_twice_is_refused, clear),
        cmocka_unit_test_teardown(an_entity_has_up_to_252_properties, clear),
        cmocka_unit_test_teardown(what_is_no_json_is_refused, clear),
        cmocka_unit_test_teardown(a_table_is_its_name, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
