#include "partition/read_memo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "partition/hash.h"
#include "partition/heap.h"

struct slot {
    uint64_t written_in; /* the group that last wrote a key of this slot */
    bool used;
    uint16_t partition_len;
    uint16_t key_len;
    uint16_t value_len; /* 0: there is no such row */
    uint16_t capacity;
    char *bytes; /* partition, key, value */
};

struct read_memo {
    uint64_t group;
    struct slot slots[READ_MEMO_SLOTS];
};

struct read_memo *read_memo_new(void)
{
    struct read_memo *memo = heap_new(sizeof(*memo));
    memo->group = 1; /* no slot was written in it */
    return memo;
}

void read_memo_free(struct read_memo *memo)
{
    for (size_t i = 0; i < READ_MEMO_SLOTS; i++)
        free(memo->slots[i].bytes);
    free(memo);
}

static size_t slot_of(const struct engine_key *key)
{
    return hash_slot(hash_add(hash_add(HASH_OF_NOTHING, key->partition), key->key),
                     READ_MEMO_SLOTS);
}

static bool holds(const struct slot *slot, const struct engine_key *key)
{
    return slot->used && slot->partition_len == key->partition.len &&
           slot->key_len == key->key.len &&
           memcmp(slot->bytes, key->partition.data, key->partition.len) == 0 &&
           memcmp(slot->bytes + slot->partition_len, key->key.data, key->key.len) == 0;
}

bool read_memo_find(const struct read_memo *memo, struct arena *arena, const struct engine_key *key,
                    struct slice *value, enum err *err)
{
    const struct slot *slot = &memo->slots[slot_of(key)];
    if (!holds(slot, key))
        return false;
    *err = slot->value_len == 0 ? ERR_NOT_FOUND : OK;
    if (*err == OK)
        *value = arena_copy(
            arena, slice_make(slot->bytes + slot->partition_len + slot->key_len, slot->value_len));
    return true;
}

void read_memo_keep(struct read_memo *memo, const struct engine_key *key, enum err err,
                    struct slice value)
{
    const size_t value_len = err == OK ? value.len : 0;
    const size_t needed = key->partition.len + key->key.len + value_len;
    struct slot *slot = &memo->slots[slot_of(key)];
    if ((err != OK && err != ERR_NOT_FOUND) || needed > READ_MEMO_ROW_BYTES_MAX ||
        key->key.len == 0 || slot->written_in == memo->group)
        return;
    if (needed > slot->capacity) {
        slot->bytes = heap_resize(slot->bytes, needed, 1);
        slot->capacity = (uint16_t)needed;
    }
    memcpy(slot->bytes, key->partition.data, key->partition.len);
    memcpy(slot->bytes + key->partition.len, key->key.data, key->key.len);
    if (value_len > 0)
        memcpy(slot->bytes + key->partition.len + key->key.len, value.data, value_len);
    slot->partition_len = (uint16_t)key->partition.len;
    slot->key_len = (uint16_t)key->key.len;
    slot->value_len = (uint16_t)value_len;
    slot->used = true;
}

void read_memo_forget(struct read_memo *memo, const struct engine_key *key)
{
    struct slot *slot = &memo->slots[slot_of(key)];
    slot->used = false;
    slot->written_in = memo->group;
}

void read_memo_next_group(struct read_memo *memo)
{
    memo->group++;
}
