#include "service/table/table_name.h"

#include <assert.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/limits.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum err table_name_check(struct slice name)
{
    if (name.len < LIMIT_TABLE_NAME_MIN || name.len > LIMIT_TABLE_NAME_MAX)
        return ERR_RESOURCE_NAME_LENGTH;
    for (size_t i = 0; i < name.len; i++)
        if (!is_letter(name.data[i]) && (i == 0 || !is_digit(name.data[i])))
            return ERR_INVALID_RESOURCE_NAME;
    return slice_equal_nocase(name, slice_of("tables")) ? ERR_INVALID_RESOURCE_NAME : OK;
}

size_t utf16_units(struct slice utf8)
{
    size_t units = 0;
    for (size_t i = 0; i < utf8.len; i++) {
        const unsigned char byte = (unsigned char)utf8.data[i];
        /* A character begins with a byte that is no continuation; four bytes are a pair. */
        units += (size_t)((byte & 0xC0) != 0x80) + (size_t)(byte >= 0xF0);
    }
    return units;
}

/* U+0000 to U+001F and U+007F to U+009F; the latter but the first are C2 80 to C2 9F. */
static bool has_control(struct slice key)
{
    for (size_t i = 0; i < key.len; i++) {
        const unsigned char byte = (unsigned char)key.data[i];
        if (byte < 0x20 || byte == 0x7F)
            return true;
        if (byte == 0xC2 && i + 1 < key.len && (unsigned char)key.data[i + 1] < 0xA0)
            return true;
    }
    return false;
}

enum err entity_key_check(struct slice key)
{
    if (key.len > LIMIT_ENTITY_KEY_BYTES_MAX || utf16_units(key) > LIMIT_ENTITY_KEY_UNITS_MAX)
        return ERR_KEY_TOO_LARGE;
    for (size_t i = 0; i < key.len; i++)
        if (strchr("/\\#?", key.data[i]) != NULL)
            return ERR_OUT_OF_RANGE_INPUT;
    return has_control(key) || !utf8_is_valid(key) ? ERR_OUT_OF_RANGE_INPUT : OK;
}

struct slice table_key(struct arena *arena, struct slice table)
{
    char *lower = arena_bytes(arena, table.len);
    for (size_t i = 0; i < table.len; i++) {
        const char c = table.data[i];
        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return resource_key(arena, RESOURCE_TABLE, slice_make(lower, table.len));
}

struct slice entity_prefix(void)
{
    return slice_of("e");
}

struct slice entity_key(struct arena *arena, struct slice partition_key, struct slice row_key)
{
    assert(slice_find_byte(partition_key, '\0') == partition_key.len);
    const size_t len = 1 + partition_key.len + 1 + row_key.len;
    char *key = arena_bytes(arena, len);
    char *at = key;
    *at++ = 'e';
    if (partition_key.len > 0)
        memcpy(at, partition_key.data, partition_key.len);
    at += partition_key.len;
    *at++ = '\0';
    if (row_key.len > 0)
        memcpy(at, row_key.data, row_key.len);
    return slice_make(key, len);
}

enum err entity_key_split(struct slice key, struct slice *partition_key, struct slice *row_key)
{
    const struct slice keys = slice_from(key, 1);
    const size_t end = slice_find_byte(keys, '\0');
    if (key.len == 0 || key.data[0] != 'e' || end == keys.len)
        return CORRUPT("a key of %zu bytes is not of an entity", key.len);
    *partition_key = slice_head(keys, end);
    *row_key = slice_from(keys, end + 1);
    return OK;
}

bool is_table_partition(struct slice partition)
{
    return partition.len == 11 && partition.data[0] == 'T';
}
