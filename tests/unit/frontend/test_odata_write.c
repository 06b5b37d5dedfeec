/*
 * test_odata_write.c - answers of the table service against those the real service gave, and that
 * what is written reads back as what it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "../service/test_random.h"
#include "base/date.h"
#include "frontend/http/odata_read.h"
#include "frontend/http/odata_write.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct odata_format format_of(enum odata_metadata metadata)
{
    return (struct odata_format){
        .metadata = metadata,
        .endpoint = slice_of("https://myaccount.table.core.windows.net"),
        .account = slice_of("myaccount"),
        .table = slice_of("Customers"),
    };
}

static void assert_text(const struct strbuf *out, const char *wanted)
{
    assert_string_equal(arena_copy(&arena, strbuf_slice(out)).data, wanted);
}

static int64_t instant(const char *text)
{
    int64_t ticks;
    assert_int_equal(date_parse_iso(slice_of(text), &ticks), OK);
    return ticks;
}

/* An entity with a property of each type. */
static struct entity customer(void)
{
    struct edm_property *items = arena_alloc(&arena, 9 * sizeof(*items));
    struct uuid guid;
    int64_t ticks;
    assert_int_equal(edm_guid_parse(slice_of("c9da6455-213d-42c9-9a79-3e9149a57833"), &guid), OK);
    assert_int_equal(edm_datetime_parse(slice_of("1973-10-04T00:00:00Z"), &ticks), OK);
    const struct edm_property all[] = {
        { slice_of("age"), edm_int32(39) },
        { slice_of("married"), edm_boolean(true) },
        { slice_of("ratio"), edm_double(3.1) },
        { slice_of("evenratio"), edm_double(3) },
        { slice_of("large"), edm_int64(INT64_MIN) },
        { slice_of("Birthday"), edm_datetime(ticks) },
        { slice_of("binary"), edm_binary(slice_of("binary")) },
        { slice_of("clsid"), edm_guid(guid) },
        { slice_of("odd"), edm_double((double)NAN) },
    };
    memcpy(items, all, sizeof(all));
    return (struct entity){
        .partition_key = slice_of("p'k"),
        .row_key = slice_of("r/k"),
        .timestamp = instant("2021-05-26T15:48:20.3604170Z"),
        .properties = { .count = 9, .items = items },
    };
}

static void minimal_metadata_is_as_recorded(void **state)
{
    (void)state;
    const struct odata_format format = format_of(ODATA_MINIMAL);
    const struct entity entity = customer();
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_write_entity(&out, &format, &entity);
    assert_text(
        &out,
        "{\"odata.metadata\":\"https://myaccount.table.core.windows.net/$metadata#Customers/"
        "@Element\",\"odata.etag\":\"W/\\\"datetime'2021-05-26T15%3A48%3A20.360417Z'\\\"\","
        "\"PartitionKey\":\"p'k\",\"RowKey\":\"r/k\",\"Timestamp\":\"2021-05-26T15:48:20.360417Z\","
        "\"age\":39,\"married\":true,\"ratio\":3.1,\"evenratio\":3.0,\"large@odata.type\":"
        "\"Edm.Int64\",\"large\":\"-9223372036854775808\",\"Birthday@odata.type\":\"Edm.DateTime\","
        "\"Birthday\":\"1973-10-04T00:00:00Z\",\"binary@odata.type\":\"Edm.Binary\",\"binary\":"
        "\"YmluYXJ5\",\"clsid@odata.type\":\"Edm.Guid\",\"clsid\":"
        "\"c9da6455-213d-42c9-9a79-3e9149a57833\",\"odd@odata.type\":\"Edm.Double\",\"odd\":"
        "\"NaN\"}");
}

static void no_metadata_is_the_properties_alone(void **state)
{
    (void)state;
    const struct odata_format format = format_of(ODATA_NONE);
    struct entity entity = customer();
    entity.properties.count = 5;
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_write_entity(&out, &format, &entity);
    assert_text(&out, "{\"PartitionKey\":\"p'k\",\"RowKey\":\"r/k\",\"Timestamp\":"
                      "\"2021-05-26T15:48:20.360417Z\",\"age\":39,\"married\":true,\"ratio\":3.1,"
                      "\"evenratio\":3.0,\"large\":\"-9223372036854775808\"}");
}

static void full_metadata_names_types_and_links(void **state)
{
    (void)state;
    const struct odata_format format = format_of(ODATA_FULL);
    struct entity entity = customer();
    entity.properties.count = 1;
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_write_entity(&out, &format, &entity);
    assert_text(
        &out,
        "{\"odata.metadata\":\"https://myaccount.table.core.windows.net/$metadata#Customers/"
        "@Element\",\"odata.type\":\"myaccount.Customers\",\"odata.id\":"
        "\"https://myaccount.table.core.windows.net/"
        "Customers(PartitionKey='p''k',RowKey='r%2Fk')\",\"odata.etag\":"
        "\"W/\\\"datetime'2021-05-26T15%3A48%3A20.360417Z'\\\"\",\"odata.editLink\":"
        "\"Customers(PartitionKey='p''k',RowKey='r%2Fk')\",\"PartitionKey\":\"p'k\",\"RowKey\":"
        "\"r/k\",\"Timestamp@odata.type\":\"Edm.DateTime\",\"Timestamp\":"
        "\"2021-05-26T15:48:20.360417Z\",\"age\":39}");
}

static void a_selection_leaves_the_rest_out(void **state)
{
    (void)state;
    struct odata_format format = format_of(ODATA_MINIMAL);
    assert_int_equal(odata_select_parse(&arena, slice_of("RowKey, ratio,absent"), &format), OK);
    const struct entity entity = customer();
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_begin_entities(&out, &format);
    odata_add_entity(&out, &format, true, &entity);
    odata_end_page(&out);
    assert_text(
        &out,
        "{\"odata.metadata\":\"https://myaccount.table.core.windows.net/$metadata#Customers"
        "&$select=RowKey, ratio,absent\",\"value\":[{\"odata.etag\":"
        "\"W/\\\"datetime'2021-05-26T15%3A48%3A20.360417Z'\\\"\",\"RowKey\":\"r/k\",\"ratio\":3.1}"
        "]}");
}

static void a_selection_is_a_list_of_names(void **state)
{
    (void)state;
    struct odata_format format = format_of(ODATA_NONE);
    assert_int_equal(odata_select_parse(&arena, slice_of(""), &format), OK);
    assert_int_equal(format.selected_count, 0);
    assert_int_equal(odata_select_parse(&arena, slice_of("a,*"), &format), OK);
    assert_int_equal(format.selected_count, 0);
    assert_int_equal(format.select_text.len, 0);
    assert_int_equal(odata_select_parse(&arena, slice_of("a"), &format), OK);
    assert_int_equal(format.selected_count, 1);
    static const char *const bad[] = { ",", "a,", ",a", "a,,b", " ", "\xff" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(odata_select_parse(&arena, slice_of(bad[i]), &format),
                         ERR_INVALID_QUERY_PARAMETER);
    struct strbuf many;
    strbuf_init(&many, &arena);
    for (int i = 0; i < 255; i++)
        strbuf_printf(&many, "%sp%d", i == 0 ? "" : ",", i);
    assert_int_equal(odata_select_parse(&arena, strbuf_slice(&many), &format), OK);
    strbuf_add_text(&many, ",one");
    assert_int_equal(odata_select_parse(&arena, strbuf_slice(&many), &format),
                     ERR_INVALID_QUERY_PARAMETER);
}

static void pages_are_lists(void **state)
{
    (void)state;
    const struct odata_format format = format_of(ODATA_NONE);
    const struct entity entity = { .timestamp = instant("2021-05-26T15:48:20Z") };
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_begin_entities(&out, &format);
    odata_end_page(&out);
    assert_text(&out, "{\"value\":[]}");
    strbuf_init(&out, &arena);
    odata_begin_entities(&out, &format);
    odata_add_entity(&out, &format, true, &entity);
    odata_add_entity(&out, &format, false, &entity);
    odata_end_page(&out);
    assert_text(&out, "{\"value\":[{\"PartitionKey\":\"\",\"RowKey\":\"\",\"Timestamp\":"
                      "\"2021-05-26T15:48:20Z\"},{\"PartitionKey\":\"\",\"RowKey\":\"\","
                      "\"Timestamp\":\"2021-05-26T15:48:20Z\"}]}");
}

static void tables_are_as_recorded(void **state)
{
    (void)state;
    const struct odata_format minimal = format_of(ODATA_MINIMAL);
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_write_table(&out, &minimal, slice_of("foo"));
    assert_text(&out, "{\"odata.metadata\":\"https://myaccount.table.core.windows.net/"
                      "$metadata#Tables/@Element\",\"TableName\":\"foo\"}");
    strbuf_init(&out, &arena);
    odata_begin_tables(&out, &minimal);
    odata_add_table(&out, &minimal, true, slice_of("a"));
    odata_add_table(&out, &minimal, false, slice_of("b"));
    odata_end_page(&out);
    assert_text(&out, "{\"odata.metadata\":\"https://myaccount.table.core.windows.net/"
                      "$metadata#Tables\",\"value\":[{\"TableName\":\"a\"},{\"TableName\":\"b\"}]"
                      "}");
    const struct odata_format full = format_of(ODATA_FULL);
    strbuf_init(&out, &arena);
    odata_begin_tables(&out, &full);
    odata_add_table(&out, &full, true, slice_of("a"));
    odata_end_page(&out);
    assert_text(&out, "{\"odata.metadata\":\"https://myaccount.table.core.windows.net/"
                      "$metadata#Tables\",\"value\":[{\"odata.type\":\"myaccount.Tables\","
                      "\"odata.id\":\"https://myaccount.table.core.windows.net/Tables('a')\","
                      "\"odata.editLink\":\"Tables('a')\",\"TableName\":\"a\"}]}");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_add_string(&out, slice_make("a\"\\/\b\f\n\r\t\x01\x1f\x7f\0\xc3\xa9", 15));
    assert_text(&out, "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000\xc3\xa9\"");
}

/* Whole words are skipped at a time; no byte hides in one, wherever it is. */
static void every_byte_is_found_in_every_place(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t place = 0; place < 20; place++) {
            char text[20];
            memset(text, (int)(byte * 7 % 2 == 0 ? 'a' : 0xff), sizeof(text));
            text[place] = (char)byte;
            struct strbuf out;
            strbuf_init(&out, &arena);
            odata_add_string(&out, slice_make(text, sizeof(text)));
            const bool is_escaped = byte < 0x20 || byte == '"' || byte == '\\';
            assert_int_equal(out.len > sizeof(text) + 2, is_escaped);
            assert_int_equal(out.data[1 + place], is_escaped ? '\\' : (char)byte);
        }
    }
}

static void assert_double(double number, const char *wanted)
{
    char text[ODATA_DOUBLE_LEN_MAX + 1];
    assert_int_equal(odata_format_double(number, text), strlen(wanted));
    assert_string_equal(text, wanted);
}

static void doubles_are_written_as_dotnet_writes_them(void **state)
{
    (void)state;
    assert_double(0, "0.0");
    assert_double(-0.0, "-0.0");
    assert_double(5, "5.0");
    assert_double(-1.5, "-1.5");
    assert_double(500, "500.0");
    assert_double(0.1, "0.1");
    assert_double(0.1 + 0.2, "0.30000000000000004");
    assert_double(123456.789, "123456.789");
    assert_double(0.0001, "0.0001");
    assert_double(0.00012, "0.00012");
    assert_double(0.00001, "1E-05");
    assert_double(123456789012345, "123456789012345.0");
    assert_double(1e14, "100000000000000.0");
    assert_double(1e15, "1E+15");
    assert_double(-1.25e300, "-1.25E+300");
    assert_double(1.7976931348623157e308, "1.7976931348623157E+308");
    assert_double(5e-324, "4.94065645841247E-324");
    assert_double((double)NAN, "NaN");
    assert_double((double)INFINITY, "Infinity");
    assert_double(-(double)INFINITY, "-Infinity");
}

static void any_double_reads_back_as_itself(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int round = 0; round < 20000; round++) {
        const uint64_t bits = random_next(&random);
        double number;
        memcpy(&number, &bits, sizeof(number));
        if (round % 2 == 0)
            number = (double)(int64_t)bits / (double)(1 + random_next(&random) % 1000);
        if (isnan(number))
            continue;
        struct edm_property property = { slice_of("d"), edm_double(number) };
        const struct odata_format format = format_of(ODATA_MINIMAL);
        const struct entity entity = { .timestamp = instant("2021-05-26T15:48:20Z"),
                                       .properties = { .count = 1, .items = &property } };
        struct strbuf out;
        strbuf_init(&out, &arena);
        odata_write_entity(&out, &format, &entity);
        struct odata_entity read;
        assert_int_equal(odata_read_entity(&arena, strbuf_slice(&out), &read), OK);
        assert_int_equal(read.properties.items[0].value.type, EDM_DOUBLE);
        assert_memory_equal(&read.properties.items[0].value.real, &number, sizeof(number));
        arena_clear(&arena);
    }
}

static void an_entity_reads_back_as_itself(void **state)
{
    (void)state;
    const struct odata_format format = format_of(ODATA_FULL);
    const struct entity entity = customer();
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_write_entity(&out, &format, &entity);
    struct odata_entity read;
    assert_int_equal(odata_read_entity(&arena, strbuf_slice(&out), &read), OK);
    assert_true(slice_equal(read.partition_key, entity.partition_key));
    assert_true(slice_equal(read.row_key, entity.row_key));
    assert_int_equal(read.properties.count, entity.properties.count);
    for (size_t i = 0; i < read.properties.count; i++) {
        const struct edm_property *a = &read.properties.items[i];
        const struct edm_property *b = &entity.properties.items[i];
        assert_true(slice_equal(a->name, b->name));
        assert_int_equal(a->value.type, b->value.type);
        if (!slice_is(a->name, "odd"))
            assert_int_equal(edm_compare(&a->value, &b->value), EDM_EQUAL);
    }
}

static void errors_are_as_recorded(void **state)
{
    (void)state;
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_write_error(&out, "InvalidInput", slice_of("Syntax error at position 7 in 'a \"b'."),
                      "e7dd38a6-a002-0005-7346-5208ff000000", "2021-05-26T15:48:27.7033000Z");
    assert_text(&out, "{\"odata.error\":{\"code\":\"InvalidInput\",\"message\":{\"lang\":\"en-US\","
                      "\"value\":\"Syntax error at position 7 in 'a \\\"b'."
                      "\\nRequestId:e7dd38a6-a002-0005-7346-5208ff000000"
                      "\\nTime:2021-05-26T15:48:27.7033000Z\"}}}");
    strbuf_init(&out, &arena);
    odata_write_xml_error(&out, "ResourceNotFound", slice_of("The specified resource <x>."),
                          "7c3b01c2-0002-006a-1999-63305d000000", "2021-06-17T16:53:05.6341722Z");
    assert_text(&out, "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"http://schemas."
                      "microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>ResourceNotFound"
                      "</m:code><m:message xml:lang=\"en-US\">The specified resource &lt;x&gt;."
                      "\nRequestId:7c3b01c2-0002-006a-1999-63305d000000"
                      "\nTime:2021-06-17T16:53:05.6341722Z</m:message></m:error>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(minimal_metadata_is_as_recorded, clear),
        cmocka_unit_test_teardown(no_metadata_is_the_properties_alone, clear),
        cmocka_unit_test_teardown(full_metadata_names_types_and_links, clear),
        cmocka_unit_test_teardown(a_selection_leaves_the_rest_out, clear),
        cmocka_unit_test_teardown(a_selection_is_a_list_of_names, clear),
        cmocka_unit_test_teardown(pages_are_lists, clear),
        cmocka_unit_test_teardown(tables_are_as_recorded, clear),
        cmocka_unit_test_teardown(strings_are_escaped, clear),
        cmocka_unit_test_teardown(every_byte_is_found_in_every_place, clear),
        cmocka_unit_test_teardown(doubles_are_written_as_dotnet_writes_them, clear),
        cmocka_unit_test_teardown(any_double_reads_back_as_itself, clear),
        cmocka_unit_test_teardown(an_entity_reads_back_as_itself, clear),
        cmocka_unit_test_teardown(errors_are_as_recorded, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
