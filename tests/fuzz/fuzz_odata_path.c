/*
 * fuzz_odata_path.c - paths, ETags and continuation tokens of the table service.
 *
 *   - The keys in a path are written as a path that is read as the same keys.
 *   - An ETag is one that this server could have given, or matches nothing.
 *   - The token of a place gives the place, and what is read from a token is a place.
 *   - Texts of instants and guids are read, written and read as the same.
 */
#include "base/encoding.h"
#include "frontend/http/odata_path.h"
#include "frontend/http/odata_token.h"
#include "fuzz.h"
#include "service/table/edm.h"

static void check_path(struct arena *arena, struct slice text)
{
    struct odata_path path = { 0 };
    if (odata_path_parse(arena, text, &path) != OK)
        return;
    assert(utf8_is_valid(path.table));
    assert(utf8_is_valid(path.partition_key));
    assert(utf8_is_valid(path.row_key));
    /* Only names that are none could need an escape. */
    if (path.resource != ODATA_ENTITY || slice_find_byte(path.table, '(') < path.table.len)
        return;
    struct strbuf out;
    struct odata_path again = { 0 };
    strbuf_init(&out, arena);
    odata_path_add_entity(&out, percent_encode_path(arena, path.table), path.partition_key,
                          path.row_key);
    assert(odata_path_parse(arena, strbuf_slice(&out), &again) == OK);
    assert(again.resource == ODATA_ENTITY);
    fuzz_assert_equal(again.partition_key, path.partition_key);
    fuzz_assert_equal(again.row_key, path.row_key);
}

static void check_etag(struct slice text)
{
    int64_t timestamp = 0;
    int64_t again = 0;
    char formatted[ODATA_ETAG_LEN_MAX + 1];
    if (odata_etag_parse(text, &timestamp) != OK || timestamp == 0)
        return;
    const size_t len = odata_etag_format(timestamp, formatted);
    assert(len <= ODATA_ETAG_LEN_MAX);
    assert(odata_etag_parse(slice_make(formatted, len), &again) == OK);
    assert(again == timestamp);
}

static void check_token(struct arena *arena, struct slice text)
{
    struct slice place = { 0 };
    struct slice same = { 0 };
    if (odata_token_read(arena, text, &place) == OK) {
        assert(odata_token_read(arena, odata_token_make(arena, place), &same) == OK);
        fuzz_assert_equal(same, place);
    }
    assert(odata_token_read(arena, odata_token_make(arena, text), &same) == OK);
    fuzz_assert_equal(same, text);
}

static void check_values(struct slice text)
{
    char formatted[EDM_DATETIME_LEN + 1];
    char guid_text[UUID_TEXT_LEN + 1];
    int64_t ticks = 0;
    int64_t again = 0;
    struct uuid guid = { { 0 } };
    struct uuid same = { { 0 } };
    if (edm_datetime_parse(text, &ticks) == OK) {
        assert(ticks >= 0 && ticks <= EDM_DATETIME_TICKS_MAX);
        const size_t len = edm_datetime_format(ticks, formatted);
        assert(edm_datetime_parse(slice_make(formatted, len), &again) == OK && again == ticks);
    }
    if (edm_guid_parse(text, &guid) == OK) {
        edm_guid_format(&guid, guid_text);
        assert(edm_guid_parse(slice_of(guid_text), &same) == OK && uuid_equal(&guid, &same));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = fuzz_begin(data, size);
    const struct slice text = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    check_path(&arena, text);
    check_etag(text);
    check_token(&arena, text);
    check_values(text);
    arena_release(&arena);
    fuzz_copy_free(text);
    return 0;
}
