/*
 * test_odata_path.c - resource paths of the table service.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../service/test_random.h"
#include "frontend/http/odata_path.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct odata_path path_of(const char *text, enum odata_resource wanted)
{
    struct odata_path path;
    assert_int_equal(odata_path_parse(&arena, slice_of(text), &path), OK);
    assert_int_equal(path.resource, wanted);
    return path;
}

static void assert_entity(const char *text, const char *partition_key, const char *row_key)
{
    const struct odata_path path = path_of(text, ODATA_ENTITY);
    assert_true(slice_is(path.table, "T"));
    assert_true(slice_is(path.partition_key, partition_key));
    assert_true(slice_is(path.row_key, row_key));
}

static void paths_name_resources(void **state)
{
    (void)state;
    path_of("", ODATA_SERVICE);
    path_of("$batch", ODATA_BATCH);
    path_of("%24batch", ODATA_BATCH);
    path_of("Tables", ODATA_TABLES);
    path_of("Tables()", ODATA_TABLES);
    path_of("tables", ODATA_TABLES);
    assert_true(slice_is(path_of("Tables('T1')", ODATA_TABLE).table, "T1"));
    assert_true(slice_is(path_of("Tables(%27T1%27)", ODATA_TABLE).table, "T1"));
    assert_true(slice_is(path_of("Tables(TableName='T1')", ODATA_TABLE).table, "T1"));
    assert_true(slice_is(path_of("T1", ODATA_ENTITIES).table, "T1"));
    assert_true(slice_is(path_of("T1()", ODATA_ENTITIES).table, "T1"));
    assert_true(slice_is(path_of("T1( )", ODATA_ENTITIES).table, "T1"));
}

static void keys_may_be_in_either_order_and_encoded(void **state)
{
    (void)state;
    assert_entity("T(PartitionKey='a',RowKey='b')", "a", "b");
    assert_entity("T(RowKey='b',PartitionKey='a')", "a", "b");
    assert_entity("T(PartitionKey=%27a%27,RowKey=%27b%27)", "a", "b");
    assert_entity("T%28PartitionKey%3D'a'%2CRowKey%3D'b'%29", "a", "b");
    assert_entity("T( PartitionKey = 'a' ,%20RowKey='b' ) ", "a", "b");
    assert_entity("T(PartitionKey='',RowKey='')", "", "");
    assert_entity("T(PartitionKey='a''b',RowKey='''')", "a'b", "'");
    assert_entity("T(PartitionKey='a%27%27b',RowKey='%27%27%27%27')", "a'b", "''");
    assert_entity("T(PartitionKey='a,RowKey=b)',RowKey='(%2F%25+')", "a,RowKey=b)", "(/%+");
    assert_entity("T(PartitionKey='%C3%A9%20x',RowKey='b')", "\xc3\xa9 x", "b");
}

static void what_is_no_path_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "T(",
        "T)",
        "T()x",
        "T()()",
        "T('a')",
        "T('a','b')",
        "T(PartitionKey='a')",
        "T(RowKey='a')",
        "T(PartitionKey='a',PartitionKey='b')",
        "T(RowKey='a',RowKey='b')",
        "T(PartitionKey='a',RowKey='b',RowKey='c')",
        "T(PartitionKey='a',Row='b')",
        "T(partitionkey='a',rowkey='b')",
        "T(PartitionKey=a,RowKey=b)",
        "T(PartitionKey='a',RowKey='b'",
        "T(PartitionKey='a',RowKey='b)",
        "T(PartitionKey='a',RowKey='b''",
        "T(PartitionKey='a' RowKey='b')",
        "T(PartitionKey='a',)",
        "T(PartitionKey='a''',RowKey=')",
        "T(,)",
        "T(=)",
        "Tables('a','b')",
        "Tables(Name='a')",
        "Tables(a)",
        "('a')",
        "'T'",
        "%zz",
        "T%",
        "T%ff",
        "T(PartitionKey='%ed%a0%80',RowKey='b')",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct odata_path path;
        assert_int_equal(odata_path_parse(&arena, slice_of(texts[i]), &path), ERR_INVALID_URI);
    }
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int round = 0; round < 2000; round++) {
        char key[2][8];
        size_t len[2];
        for (int i = 0; i < 2; i++) {
            len[i] = random_next(&random) % sizeof(key[i]);
            for (size_t at = 0; at < len[i]; at++)
                key[i][at] = "'%(),= +ab/\x01"[random_next(&random) % 12];
        }
        struct strbuf out;
        strbuf_init(&out, &arena);
        odata_path_add_entity(&out, slice_of("T"), slice_make(key[0], len[0]),
                              slice_make(key[1], len[1]));
        struct odata_path path;
        assert_int_equal(odata_path_parse(&arena, strbuf_slice(&out), &path), OK);
        assert_int_equal(path.resource, ODATA_ENTITY);
        assert_true(slice_equal(path.partition_key, slice_make(key[0], len[0])));
        assert_true(slice_equal(path.row_key, slice_make(key[1], len[1])));
        arena_clear(&arena);
    }
}

static void written_paths_are_as_recorded(void **state)
{
    (void)state;
    struct strbuf out;
    strbuf_init(&out, &arena);
    odata_path_add_entity(&out, slice_of("foo"), slice_of("pk"), slice_of("it's \xc3\xa9"));
    assert_true(slice_is(strbuf_slice(&out), "foo(PartitionKey='pk',RowKey='it''s%20%C3%A9')"));
    strbuf_init(&out, &arena);
    odata_path_add_table(&out, slice_of("foo"));
    assert_true(slice_is(strbuf_slice(&out), "Tables('foo')"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(paths_name_resources, clear),
        cmocka_unit_test_teardown(keys_may_be_in_either_order_and_encoded, clear),
        cmocka_unit_test_teardown(what_is_no_path_is_refused, clear),
        cmocka_unit_test_teardown(what_is_written_reads_back, clear),
        cmocka_unit_test_teardown(written_paths_are_as_recorded, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
