/*
 * fuzz_name.c - names of everything, and the keys that are made of them.
 *
 *   - A name that is accepted follows the rules, which are written down here a second time.
 *   - A key says the name it was made of, and nothing that is no key does.
 *   - No name contains what separates the parts of a key.
 *   - Upper case is the same when it is taken twice, and has as many units of UTF-16.
 */
#include "base/encoding.h"
#include "fuzz.h"
#include "service/account_partition.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/tag_index.h"
#include "service/file/file_name.h"
#include "service/limits.h"
#include "service/metadata.h"
#include "service/queue/message_row.h"
#include "service/queue/queue_name.h"
#include "service/table/table_name.h"

static bool is_resource_name(struct slice name)
{
    if (name.len < LIMIT_CONTAINER_NAME_MIN || name.len > LIMIT_CONTAINER_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.data[i];
        const bool is_dash = c == '-';
        if (!is_dash && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
            return false;
        if (is_dash && (i == 0 || i == name.len - 1 || name.data[i - 1] == '-'))
            return false;
    }
    return true;
}

static void check_resource(struct slice name)
{
    assert((resource_name_check(name) == OK) == is_resource_name(name));
    assert((share_name_check(name) == OK) == is_resource_name(name));
    const bool is_container = container_name_check(name) == OK;
    assert(is_container == (is_resource_name(name) || slice_is(name, "$root") ||
                            slice_is(name, "$web") || slice_is(name, "$logs") ||
                            slice_is(name, "$blobchangefeed")));
}

static void check_blob(struct arena *arena, struct slice name)
{
    struct slice found = { 0 };
    int64_t snapshot = -1;
    if (blob_name_check(name) != OK)
        return;
    assert(utf8_is_valid(name) && slice_find_byte(name, '\0') == name.len);
    assert(name.len > 0 && name.len <= LIMIT_BLOB_NAME_BYTES_MAX);
    assert(blob_key_name(blob_key(arena, name), &found, &snapshot) == OK);
    assert(slice_equal(found, name) && snapshot == 0);
    assert(blob_key_name(snapshot_key(arena, name, 12345), &found, &snapshot) == OK);
    assert(slice_equal(found, name) && snapshot == 12345);
}

static void check_path(struct arena *arena, struct slice text, enum file_trailing_dots dots)
{
    struct file_path path = { 0 };
    if (file_path_parse(arena, text, dots, &path) != OK)
        return;
    assert(path.depth <= LIMIT_FILE_PATH_DEPTH);
    size_t units = 0;
    for (size_t i = 0; i < path.depth; i++) {
        const struct slice name = path.names[i];
        const struct slice upper = path.upper[i];
        struct slice found = { 0 };
        uint64_t parent = 0;
        assert(file_name_check(name) == OK);
        assert(slice_find_byte(name, '/') == name.len && slice_find_byte(name, '\\') == name.len);
        assert(!slice_is(name, ".") && !slice_is(name, ".."));
        fuzz_assert_equal(file_name_upper(arena, name), upper);
        fuzz_assert_equal(file_name_upper(arena, upper), upper);
        assert(utf8_is_valid(upper) && utf16_units(upper) == utf16_units(name));
        assert(node_key_parse(node_key(arena, i, upper), &parent, &found) == OK);
        assert(parent == i && slice_equal(found, upper));
        units += utf16_units(name) + 1;
    }
    assert(units <= LIMIT_FILE_PATH_UNITS_MAX + 1);
}

static void check_table(struct arena *arena, struct slice name)
{
    struct slice pk = { 0 };
    struct slice rk = { 0 };
    if (table_name_check(name) == OK)
        assert(name.len >= LIMIT_TABLE_NAME_MIN && name.len <= LIMIT_TABLE_NAME_MAX);
    if (entity_key_check(name) != OK)
        return;
    assert(utf8_is_valid(name) && utf16_units(name) <= LIMIT_ENTITY_KEY_UNITS_MAX);
    assert(entity_key_split(entity_key(arena, name, name), &pk, &rk) == OK);
    assert(slice_equal(pk, name) && slice_equal(rk, name));
}

/* The input as a key of each kind: what it says makes the same key. */
static void check_blob_keys(struct arena *arena, struct slice key)
{
    struct slice name = { 0 };
    struct slice other = { 0 };
    struct metadata_pair tag = { 0 };
    uint64_t number = 0;
    int64_t tick = 0;
    char kind = 0;
    if (blob_key_name(key, &name, &tick) == OK)
        fuzz_assert_equal(tick == 0 ? blob_key(arena, name) : snapshot_key(arena, name, tick), key);
    if (history_key_parse(key, &name, &number, &kind) == OK)
        fuzz_assert_equal(history_key(arena, name, number, kind), key);
    if (expiry_key_parse(arena, key, &tick, &other) == OK)
        fuzz_assert_equal(expiry_key(arena, tick, other), key);
    if (tag_index_key_parse(key, &tag, &name) == OK)
        fuzz_assert_equal(tag_index_key(arena, &tag, name), key);
    if (block_key_parse(key, &name, &tick, &other))
        fuzz_assert_equal(block_key(arena, name, tick, other), key);
    if (forgotten_key_parse(key, &name, &tick))
        fuzz_assert_equal(forgotten_key(arena, name, tick), key);
    if (uncommitted_key_name(key, &name) == OK)
        fuzz_assert_equal(uncommitted_key(arena, name), key);
    if (outdated_key_name(key, &name))
        fuzz_assert_equal(outdated_key(arena, name), key);
    if (pending_copy_key_name(key, &name))
        fuzz_assert_equal(pending_copy_key(arena, name), key);
    if (dropped_key_content(key, &number))
        fuzz_assert_equal(dropped_key(arena, number), key);
    if (unfinished_key_content(key, &number))
        fuzz_assert_equal(unfinished_key(arena, number), key);
    if (overlay_key_content(key, &number))
        fuzz_assert_equal(overlay_key(arena, number), key);
}

static void check_other_keys(struct arena *arena, struct slice key)
{
    struct slice name = { 0 };
    struct slice other = { 0 };
    struct uuid id = { { 0 } };
    uint64_t number = 0;
    int64_t tick = 0;
    if (share_deleted_key_parse(key, &name, &number) == OK)
        fuzz_assert_equal(share_deleted_key(arena, name, number), key);
    if (share_snapshot_key_parse(key, &number, &tick) == OK)
        fuzz_assert_equal(share_snapshot_key(arena, number, tick), key);
    if (instant_key_parse(key, &tick) == OK)
        fuzz_assert_equal(instant_key(arena, tick), key);
    if (node_key_parse(key, &number, &name) == OK)
        fuzz_assert_equal(node_key(arena, number, name), key);
    if (node_past_key_parse(key, &number, &name, &tick) == OK)
        fuzz_assert_equal(node_past_key(arena, number, name, tick), key);
    if (message_key_decode(key, &number, &tick, &id) == OK)
        fuzz_assert_equal(message_key(arena, number, tick, &id), key);
    if (message_text_key_decode(key, &number, &id) == OK)
        fuzz_assert_equal(message_text_key(arena, number, &id), key);
    if (entity_key_split(key, &name, &other) == OK)
        fuzz_assert_equal(entity_key(arena, name, other), key);
}

static void check_receipt(struct slice text)
{
    struct receipt receipt;
    char formatted[RECEIPT_TEXT_LEN + 1];
    if (receipt_parse(text, &receipt) != OK)
        return;
    const struct message message = { .visible_at = receipt.visible_at, .nonce = receipt.nonce };
    assert(receipt_matches(&receipt, &message));
    receipt_format(&message, formatted);
    for (size_t i = 0; i < text.len; i++)
        assert(formatted[i] == (text.data[i] == ' ' ? '+' : text.data[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = fuzz_begin(data, size);
    const struct slice name = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    const struct metadata_pair pair = { .name = name, .value = name };
    const struct metadata metadata = { .pairs = (struct metadata_pair *)(uintptr_t)&pair,
                                       .count = 1 };
    check_resource(name);
    check_blob(&arena, name);
    check_path(&arena, name, FILE_DOTS_REMOVED);
    check_path(&arena, name, FILE_DOTS_KEPT);
    check_table(&arena, name);
    check_blob_keys(&arena, name);
    check_other_keys(&arena, name);
    check_receipt(name);
    if (metadata_check(&metadata) == OK)
        assert(name.len > 0 && 2 * name.len <= LIMIT_METADATA_BYTES_MAX);
    arena_release(&arena);
    fuzz_copy_free(name);
    return 0;
}
