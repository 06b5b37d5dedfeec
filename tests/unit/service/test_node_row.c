#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "service/file/node.h"
#include "service/file/node_internal.h"
#include "test_random.h"

static struct metadata_pair PAIRS[] = { { SLICE_LITERAL("one"), SLICE_LITERAL("1") },
                                        { SLICE_LITERAL("two"), SLICE_LITERAL("") } };

/* A record in which every field says something else. */
static struct node full_file(void)
{
    return (struct node){
        .kind = NODE_FILE,
        .id = 1001,
        .parent_id = 1002,
        .name = slice_of("File.txt"),
        .etag = 1003,
        .since = 1004,
        .until = 1005,
        .attributes = NODE_ARCHIVE | NODE_NO_SCRUB,
        .created_at = 1006,
        .written_at = 1007,
        .changed_at = 1008,
        .accessed_at = 1009,
        .permission_key = slice_of("key*1"),
        .metadata = { .pairs = PAIRS, .count = 2 },
        .content = { .place = CONTENT_SEGMENTS, .id = 1010, .length_bytes = 1011, .shared = true },
        .used_bytes = 1000,
        .properties = { slice_of("type"), slice_of("encoding"), slice_of("language"),
                        slice_of("cache"), slice_of("disposition"), slice_of("0123456789abcdef") },
        .lease = { .state = LEASE_LEASED,
                   .id = { .bytes = { 7 } },
                   .duration_sec = LEASE_DURATION_SEC_INFINITE,
                   .ends_at_ms = INT64_MAX },
        .copy = { .status = BLOB_COPY_SUCCESS,
                  .id = { .bytes = { 8 } },
                  .source = slice_of("http://x"),
                  .description = slice_of("why"),
                  .copied_bytes = 12,
                  .total_bytes = 13,
                  .completed_at = 14 },
    };
}

static struct node plain_directory(void)
{
    return (struct node){
        .kind = NODE_DIRECTORY,
        .id = 5,
        .name = slice_of("d"),
        .etag = 1,
        .since = 1,
        .attributes = NODE_IS_DIRECTORY,
        .created_at = 1,
        .written_at = 1,
        .changed_at = 1,
        .accessed_at = 1,
    };
}

static void assert_nodes_equal(const struct node *a, const struct node *b)
{
    struct arena arena = { 0 };
    const struct slice row = node_encode(&arena, a);
    const struct slice again = node_encode(&arena, b);
    assert_int_equal(row.len, again.len);
    assert_memory_equal(row.data, again.data, row.len);
    arena_release(&arena);
}

static void a_record_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct node file = full_file();
    struct node node;
    assert_int_equal(node_decode(&arena, node_encode(&arena, &file), &node), OK);
    assert_int_equal(node.kind, NODE_FILE);
    assert_int_equal(node.id, 1001);
    assert_int_equal(node.parent_id, 1002);
    assert_true(slice_is(node.name, "File.txt"));
    assert_int_equal(node.etag, 1003);
    assert_int_equal(node.since, 1004);
    assert_int_equal(node.until, 1005);
    assert_int_equal(node.attributes, NODE_ARCHIVE | NODE_NO_SCRUB);
    assert_int_equal(node.created_at, 1006);
    assert_int_equal(node.written_at, 1007);
    assert_int_equal(node.changed_at, 1008);
    assert_int_equal(node.accessed_at, 1009);
    assert_true(slice_is(node.permission_key, "key*1"));
    assert_true(metadata_equal(&node.metadata, &file.metadata));
    assert_int_equal(node.content.place, CONTENT_SEGMENTS);
    assert_int_equal(node.content.id, 1010);
    assert_int_equal(node.content.length_bytes, 1011);
    assert_true(node.content.shared);
    assert_int_equal(node.used_bytes, 1000);
    assert_true(slice_is(node.properties.content_disposition, "disposition"));
    assert_int_equal(node.lease.state, LEASE_LEASED);
    assert_int_equal(node.copy.status, BLOB_COPY_SUCCESS);
    assert_int_equal(node.copy.completed_at, 14);
    assert_nodes_equal(&node, &file);
    arena_release(&arena);
}

static void the_beginning_of_a_record_is_enough_for_a_walk(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct node file = full_file();
    struct node_brief brief;
    assert_int_equal(node_brief_decode(node_encode(&arena, &file), &brief), OK);
    assert_int_equal(brief.kind, NODE_FILE);
    assert_int_equal(brief.id, 1001);
    assert_int_equal(brief.since, 1004);
    assert_int_equal(brief.until, 1005);
    arena_release(&arena);
}

static void assert_corrupt(const struct node *node)
{
    struct arena arena = { 0 };
    struct node decoded;
    assert_int_equal(node_decode(&arena, node_encode(&arena, node), &decoded), ERR_CORRUPT);
    arena_release(&arena);
}

static void records_that_do_not_hold_together_are_corrupt(void **state)
{
    (void)state;
    struct node node = plain_directory();
    node.id = 0;
    assert_corrupt(&node);
    node = plain_directory();
    node.name = (struct slice){ 0 };
    assert_corrupt(&node);
    node = plain_directory();
    node.since = 0;
    assert_corrupt(&node);
    node = plain_directory();
    node.until = 1;
    assert_corrupt(&node);
    node = plain_directory();
    node.content = (struct content){ .place = CONTENT_SEGMENTS, .id = 9, .length_bytes = 9 };
    assert_corrupt(&node);
    node = full_file();
    node.used_bytes = 1012;
    assert_corrupt(&node);
    node = full_file();
    node.content.id = 0;
    assert_corrupt(&node);
    node = full_file();
    node.lease.duration_sec = 15;
    node.lease.ends_at_ms = 1;
    assert_corrupt(&node);
    node = full_file();
    node.properties.content_md5 = slice_of("short");
    assert_corrupt(&node);
    node = plain_directory();
    node.changed_at = 0;
    assert_corrupt(&node);
}

static void any_bytes_are_a_record_or_corrupt(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    struct arena arena = { 0 };
    for (int i = 0; i < 20000; i++) {
        const struct node node = i % 2 == 0 ? full_file() : plain_directory();
        size_t len;
        char *damaged = random_damage(&random, node_encode(&arena, &node), &len);
        const struct slice row = slice_make(damaged, len);
        struct node decoded;
        struct node_brief brief;
        uint64_t parent;
        struct slice upper;
        if (node_decode(&arena, row, &decoded) == OK)
            node_encode(&arena, &decoded);
        (void)!node_brief_decode(row, &brief);
        (void)!node_place_decode(row, &parent, &upper);
        free(damaged);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

static void a_place_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    uint64_t parent;
    struct slice upper;
    assert_int_equal(
        node_place_decode(node_place_encode(&arena, 42, slice_of("NAME")), &parent, &upper), OK);
    assert_int_equal(parent, 42);
    assert_true(slice_is(upper, "NAME"));
    assert_int_equal(
        node_place_decode(node_place_encode(&arena, 42, (struct slice){ 0 }), &parent, &upper),
        ERR_CORRUPT);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(the_beginning_of_a_record_is_enough_for_a_walk),
        cmocka_unit_test(records_that_do_not_hold_together_are_corrupt),
        cmocka_unit_test(any_bytes_are_a_record_or_corrupt),
        cmocka_unit_test(a_place_is_read_as_it_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
