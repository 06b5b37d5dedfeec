#include "service/queue/queue_name.h"

#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/log.h"

enum {
    PREFIX_BYTES = 1 + 8,
    FROM_BYTES = PREFIX_BYTES + 8,
    MESSAGE_KEY_BYTES = FROM_BYTES + sizeof(struct uuid),
    TEXT_KEY_BYTES = PREFIX_BYTES + sizeof(struct uuid),
};

/* A letter and the generation, with room for `len` bytes in all. */
static char *begin_key(struct arena *arena, char letter, uint64_t generation, size_t len)
{
    char *bytes = arena_bytes(arena, len);
    bytes[0] = letter;
    put_be64((uint8_t *)bytes + 1, generation);
    return bytes;
}

struct slice queue_head_key(void)
{
    return slice_of("h");
}

struct slice message_prefix(struct arena *arena, uint64_t generation)
{
    return slice_make(begin_key(arena, 'v', generation, PREFIX_BYTES), PREFIX_BYTES);
}

struct slice message_key_from(struct arena *arena, uint64_t generation, int64_t visible_at)
{
    char *bytes = begin_key(arena, 'v', generation, FROM_BYTES);
    put_be64((uint8_t *)bytes + PREFIX_BYTES, (uint64_t)visible_at);
    return slice_make(bytes, FROM_BYTES);
}

struct slice message_key(struct arena *arena, uint64_t generation, int64_t visible_at,
                         const struct uuid *id)
{
    char *bytes = begin_key(arena, 'v', generation, MESSAGE_KEY_BYTES);
    put_be64((uint8_t *)bytes + PREFIX_BYTES, (uint64_t)visible_at);
    memcpy(bytes + FROM_BYTES, id->bytes, sizeof(id->bytes));
    return slice_make(bytes, MESSAGE_KEY_BYTES);
}

struct slice message_text_prefix(struct arena *arena, uint64_t generation)
{
    return slice_make(begin_key(arena, 't', generation, PREFIX_BYTES), PREFIX_BYTES);
}

struct slice message_text_key(struct arena *arena, uint64_t generation, const struct uuid *id)
{
    char *bytes = begin_key(arena, 't', generation, TEXT_KEY_BYTES);
    memcpy(bytes + PREFIX_BYTES, id->bytes, sizeof(id->bytes));
    return slice_make(bytes, TEXT_KEY_BYTES);
}

/* An id has the tick of its put in it, which is shown as a date. */
static bool id_is_valid(const struct uuid *id)
{
    const uint64_t tick = get_be64(id->bytes);
    return tick > 0 && tick <= (uint64_t)CLOCK_TICKS_MAX;
}

enum err message_key_decode(struct slice key, uint64_t *generation, int64_t *visible_at,
                            struct uuid *id)
{
    if (key.len != MESSAGE_KEY_BYTES || key.data[0] != 'v')
        return CORRUPT("a key of %zu bytes is not a message's", key.len);
    const uint8_t *bytes = (const uint8_t *)key.data;
    const uint64_t tick = get_be64(bytes + PREFIX_BYTES);
    memcpy(id->bytes, bytes + FROM_BYTES, sizeof(id->bytes));
    if (tick == 0 || tick > (uint64_t)CLOCK_TICKS_MAX || !id_is_valid(id))
        return CORRUPT("a message's key has an instant that no date shows");
    *generation = get_be64(bytes + 1);
    *visible_at = (int64_t)tick;
    return OK;
}

enum err message_text_key_decode(struct slice key, uint64_t *generation, struct uuid *id)
{
    if (key.len != TEXT_KEY_BYTES || key.data[0] != 't')
        return CORRUPT("a key of %zu bytes is not of a message's text", key.len);
    const uint8_t *bytes = (const uint8_t *)key.data;
    *generation = get_be64(bytes + 1);
    memcpy(id->bytes, bytes + PREFIX_BYTES, sizeof(id->bytes));
    return OK;
}

bool is_message_partition(struct slice partition)
{
    return partition.len > 0 && partition.data[0] == 'Q';
}

struct uuid message_id_make(int64_t tick, const struct uuid *random)
{
    struct uuid id = *random;
    put_be64(id.bytes, (uint64_t)tick);
    return id;
}

int64_t message_id_tick(const struct uuid *id)
{
    return (int64_t)get_be64(id->bytes);
}
