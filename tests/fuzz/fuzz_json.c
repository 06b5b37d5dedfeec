/*
 * fuzz_json.c - bodies of the table service.
 *
 *   - An entity that was read can be written at every level of metadata, and what is written with
 *     types beside it is read again as the same entity.
 *   - So it is with its stored form.
 */
#include "base/encoding.h"
#include "frontend/http/json_read.h"
#include "frontend/http/odata_read.h"
#include "frontend/http/odata_write.h"
#include "fuzz.h"
#include "service/limits.h"

static void check_members(struct arena *arena, struct slice body)
{
    struct json_reader reader;
    if (json_begin(&reader, arena, body) != OK)
        return;
    bool more = true;
    size_t count = 0;
    while (more) {
        struct slice name;
        struct json_value value;
        if (json_next(&reader, &more, &name, &value) != OK)
            return;
        if (!more)
            break;
        assert(utf8_is_valid(name));
        assert(value.kind != JSON_STRING || utf8_is_valid(value.text));
        assert(++count <= body.len);
    }
}

static struct slice write_entity(struct arena *arena, const struct entity *entity,
                                 enum odata_metadata metadata)
{
    const struct odata_format format = {
        .metadata = metadata,
        .endpoint = slice_of("http://127.0.0.1:10002/devstoreaccount1"),
        .account = slice_of("devstoreaccount1"),
        .table = slice_of("Table"),
    };
    struct strbuf out;
    strbuf_init(&out, arena);
    odata_write_entity(&out, &format, entity);
    return strbuf_slice(&out);
}

static struct entity entity_of(const struct odata_entity *read)
{
    return (struct entity){ .partition_key = read->partition_key,
                            .row_key = read->row_key,
                            .timestamp = INT64_C(639302976000000000),
                            .properties = read->properties };
}

static void check_written(struct arena *arena, const struct entity *entity,
                          enum odata_metadata metadata)
{
    struct odata_entity again = { 0 };
    assert(odata_read_entity(arena, write_entity(arena, entity, metadata), &again) == OK);
    assert(again.has_partition_key && again.has_row_key);
    fuzz_assert_equal(again.partition_key, entity->partition_key);
    fuzz_assert_equal(again.row_key, entity->row_key);
    if (metadata == ODATA_NONE)
        return;
    const struct entity same = entity_of(&again);
    fuzz_assert_equal(entity_encode(arena, &same), entity_encode(arena, entity));
}

static void check_entity(struct arena *arena, struct slice body)
{
    struct odata_entity read = { 0 };
    if (odata_read_entity(arena, body, &read) != OK)
        return;
    assert(read.properties.count <= LIMIT_ENTITY_PROPERTIES_MAX);
    const struct entity entity = entity_of(&read);
    /* A name that no entity may have could look like an annotation when it is written. */
    if (entity_check(&entity) != OK)
        return;
    check_written(arena, &entity, ODATA_NONE);
    check_written(arena, &entity, ODATA_MINIMAL);
    check_written(arena, &entity, ODATA_FULL);
    struct entity decoded = { 0 };
    const struct slice row = entity_encode(arena, &entity);
    assert(entity_decode(arena, row, &decoded) == OK);
    fuzz_assert_equal(entity_encode(arena, &decoded), row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = fuzz_begin(data, size);
    const struct slice body = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    struct slice table = { 0 };
    check_members(&arena, body);
    check_entity(&arena, body);
    if (odata_read_table(&arena, body, &table) == OK)
        assert(utf8_is_valid(table));
    struct odata_format format = { 0 };
    if (odata_select_parse(&arena, body, &format) == OK)
        assert(format.selected_count <= body.len + 1);
    arena_release(&arena);
    fuzz_copy_free(body);
    return 0;
}
