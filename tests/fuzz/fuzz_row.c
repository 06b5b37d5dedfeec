/*
 * fuzz_row.c - stored rows of all services: whatever is on the disk, a decoder gives a record or
 * ERR_CORRUPT, and a record is encoded to a row that is decoded to the same record.
 *
 * Input: which codec (one byte), length of the key (one byte), key, row.
 */
#include "fuzz.h"
#include "partition/system_row.h"
#include "service/account_partition.h"
#include "service/blob/blob.h"
#include "service/blob/blob_name.h"
#include "service/blob/block.h"
#include "service/blob/container.h"
#include "service/blob/overlay.h"
#include "service/blob/segments.h"
#include "service/blob/snapshot.h"
#include "service/file/node.h"
#include "service/file/node_internal.h"
#include "service/file/permission.h"
#include "service/file/share.h"
#include "service/file/share_state.h"
#include "service/queue/message_row.h"
#include "service/queue/queue.h"
#include "service/service_properties.h"
#include "service/table/entity.h"
#include "service/table/table.h"

/* Decode a row and encode the record; false: the row is corrupt. */
typedef bool codec_fn(struct arena *arena, struct slice key, struct slice row, struct slice *again);

/* A codec of rows that say everything themselves. */
#define CODEC(name, type, decode, encode)                                                          \
    static bool name(struct arena *arena, struct slice key, struct slice row, struct slice *again) \
    {                                                                                              \
        struct type record = { 0 };                                                                \
        (void)key;                                                                                 \
        if (decode != OK)                                                                          \
            return false;                                                                          \
        *again = encode;                                                                           \
        return true;                                                                               \
    }

CODEC(code_blob, blob, blob_decode(arena, row, &record), blob_encode(arena, &record))
CODEC(code_container, container, container_decode(arena, row, &record),
      container_encode(arena, &record))
CODEC(code_queue, queue, queue_decode(arena, row, &record), queue_encode(arena, &record))
CODEC(code_table, table, table_decode(row, &record), table_encode(arena, &record))
CODEC(code_share, share, share_decode(arena, row, &record), share_encode(arena, &record))
CODEC(code_instant, instant, instant_decode(row, &record), instant_encode(arena, &record))
CODEC(code_share_state, share_state, share_state_decode(row, &record),
      share_state_encode(arena, &record))
CODEC(code_queue_head, queue_head, queue_head_decode(row, &record),
      queue_head_encode(arena, &record))
CODEC(code_entity, entity, entity_decode(arena, row, &record), entity_encode(arena, &record))
CODEC(code_properties, service_properties, service_properties_decode(row, &record),
      service_properties_encode(arena, &record))
CODEC(code_message, message, message_decode(key, row, NULL, &record),
      message_encode(arena, &record))
CODEC(code_message_text, slice, message_text_decode(row, &record),
      message_text_encode(arena, record))
CODEC(code_permission, slice, permission_decode(key, row, &record),
      permission_encode(arena, record))

/* The beginning of a node's record is what the whole says. */
static bool code_node(struct arena *arena, struct slice key, struct slice row, struct slice *again)
{
    struct node node = { 0 };
    struct node_brief brief = { 0 };
    (void)key;
    const enum err brief_err = node_brief_decode(row, &brief);
    if (node_decode(arena, row, &node) != OK)
        return false;
    assert(brief_err == OK);
    assert(brief.kind == node.kind && brief.id == node.id);
    assert(brief.since == node.since && brief.until == node.until);
    *again = node_encode(arena, &node);
    return true;
}

static bool code_place(struct arena *arena, struct slice key, struct slice row, struct slice *again)
{
    uint64_t parent = 0;
    struct slice upper = { 0 };
    (void)key;
    if (node_place_decode(row, &parent, &upper) != OK)
        return false;
    *again = node_place_encode(arena, parent, upper);
    return true;
}

/* --- rows that are read alone, and their keys --- */

static bool read_segments(struct arena *arena, struct slice key, struct slice row,
                          struct slice *again)
{
    struct segments_row decoded = { 0 };
    (void)again;
    if (segments_row_decode(arena, key, row, &decoded) != OK)
        return false;
    uint64_t end = 0;
    for (size_t i = 0; i < decoded.count; i++) {
        const struct segment_entry *entry = &decoded.entries[i];
        assert(entry->segment.length_bytes > 0);
        assert(i == 0 || entry->start == end);
        end = entry->start + entry->segment.length_bytes;
        assert(end > entry->start);
    }
    assert(decoded.count > 0);
    fuzz_assert_equal(segments_key(arena, decoded.content_id, decoded.end), key);
    return false;
}

static bool read_others(struct arena *arena, struct slice key, struct slice row,
                        struct slice *again)
{
    struct overlay overlay = { 0 };
    struct uncommitted uncommitted = { 0 };
    struct segment segment = { 0 };
    struct garbage garbage = { 0 };
    uint64_t content_id = 0;
    int64_t floor = 0;
    (void)again;
    if (overlay_decode(key, row, &content_id, &overlay) == OK)
        fuzz_assert_equal(overlay_key(arena, content_id), key);
    if (uncommitted_decode(row, &uncommitted) == OK)
        (void)uncommitted_is_expired(&uncommitted, INT64_C(639302976000000000));
    if (uncommitted_block_decode(row, &segment) == OK)
        assert(segment.skip_bytes <= UINT64_MAX - segment.length_bytes);
    (void)!outdated_decode(row, &floor);
    (void)!garbage_decode(key, row, &garbage);
    return false;
}

static bool read_system(struct arena *arena, struct slice key, struct slice row,
                        struct slice *again)
{
    int64_t tick = 0;
    uint64_t number = 0;
    struct system_extent extent = { 0 };
    struct stream_range range = { 0 };
    struct system_freed freed = { 0 };
    struct slice partition = { 0 };
    (void)arena;
    (void)again;
    (void)!system_decode_tick(row, &tick);
    (void)!system_decode_extent(row, &extent);
    /* Whoever decodes keys has looked for those of a kind. */
    const char kind = key.len == 0 ? '\0' : key.data[0];
    if (kind == SYSTEM_EXTENT && system_decode_extent_key(key, &number) == OK) {
        const struct system_key same = system_key_extent(number);
        fuzz_assert_equal(slice_make(same.bytes, same.len), key);
    }
    if (kind == SYSTEM_FREED && system_decode_freed(key, row, &freed) == OK) {
        const struct system_key same = system_key_freed(&freed.range, freed.tick);
        fuzz_assert_equal(slice_make(same.bytes, same.len), key);
    }
    (void)!system_decode_range(key, row, &range, &number);
    if (system_decode_mark_key(key, &partition) == OK)
        assert(fuzz_is_within(partition, key));
    return false;
}

static codec_fn *const codecs[] = {
    code_blob,       code_container,  code_queue,   code_table,        code_share,
    code_node,       code_place,      code_entity,  code_instant,      code_share_state,
    code_queue_head, code_properties, code_message, code_message_text, code_permission,
    read_segments,   read_others,     read_system,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    codec_fn *code = codecs[fuzz_below(&input, sizeof(codecs) / sizeof(codecs[0]))];
    const struct slice key = fuzz_take(&input, fuzz_byte(&input));
    const struct slice row = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    struct slice first = { 0 };
    struct slice second = { 0 };
    if (code(&arena, key, row, &first)) {
        assert(code(&arena, key, first, &second));
        fuzz_assert_equal(second, first);
    }
    /* A decoder gives no more memory than the row is worth. */
    assert(arena_size_bytes(&arena) < 64 * 1024 + 256 * size);
    arena_release(&arena);
    fuzz_copy_free(key);
    fuzz_copy_free(row);
    return 0;
}
