#include "service/blob/blob_name.h"

#include <ctype.h>
#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/limits.h"

enum {
    BLOB_KEY_SUFFIX_BYTES = 1 + 8, /* NUL and the version */
};

static bool is_special_container(struct slice name)
{
    return slice_is(name, "$root") || slice_is(name, "$web") || slice_is(name, "$logs") ||
           slice_is(name, "$blobchangefeed");
}

enum err container_name_check(struct slice name)
{
    if (is_special_container(name))
        return OK;
    if (name.len < LIMIT_CONTAINER_NAME_MIN || name.len > LIMIT_CONTAINER_NAME_MAX)
        return ERR_RESOURCE_NAME_LENGTH;
    for (size_t i = 0; i < name.len; i++) {
        const unsigned char byte = (unsigned char)name.data[i];
        if (islower(byte) || isdigit(byte))
            continue;
        const bool inside = i > 0 && i + 1 < name.len;
        if (byte != '-' || !inside || name.data[i - 1] == '-')
            return ERR_INVALID_RESOURCE_NAME;
    }
    return OK;
}

/* Characters of valid UTF-8: every byte that does not continue another. */
static size_t count_chars(struct slice text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return count;
}

static size_t count_segments(struct slice text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '/';
    return count;
}

enum err blob_name_check(struct slice name)
{
    if (name.len == 0 || name.len > LIMIT_BLOB_NAME_BYTES_MAX)
        return ERR_RESOURCE_NAME_LENGTH;
    if (memchr(name.data, '\0', name.len) != NULL || !utf8_is_valid(name))
        return ERR_INVALID_RESOURCE_NAME;
    if (count_chars(name) > LIMIT_BLOB_NAME_CHARS_MAX)
        return ERR_RESOURCE_NAME_LENGTH;
    if (count_segments(name) > LIMIT_BLOB_NAME_SEGMENTS_MAX)
        return ERR_INVALID_RESOURCE_NAME;
    return OK;
}

/* A letter followed by bytes, with `extra` bytes of room behind them. */
static char *letter_and(struct arena *arena, char letter, struct slice bytes, size_t extra)
{
    char *result = arena_bytes(arena, 1 + bytes.len + extra);
    result[0] = letter;
    if (bytes.len > 0)
        memcpy(result + 1, bytes.data, bytes.len);
    return result;
}

static struct slice letter_and_number(struct arena *arena, char letter, uint64_t number)
{
    char *bytes = arena_bytes(arena, 9);
    bytes[0] = letter;
    put_be64((uint8_t *)bytes + 1, number);
    return slice_make(bytes, 9);
}

struct slice account_partition(struct arena *arena, struct slice account)
{
    return slice_make(letter_and(arena, 'A', account, 0), 1 + account.len);
}

struct slice container_key(struct arena *arena, struct slice container)
{
    return slice_make(letter_and(arena, 'c', container, 0), 1 + container.len);
}

struct slice garbage_key(struct arena *arena, uint64_t incarnation)
{
    return letter_and_number(arena, 'g', incarnation);
}

struct slice blob_partition(struct arena *arena, uint64_t incarnation)
{
    char *bytes = arena_bytes(arena, 11);
    bytes[0] = 'B';
    put_be64((uint8_t *)bytes + 1, incarnation);
    put_be16((uint8_t *)bytes + 9, 0);
    return slice_make(bytes, 11);
}

struct slice blob_key(struct arena *arena, struct slice blob)
{
    char *bytes = letter_and(arena, 'b', blob, BLOB_KEY_SUFFIX_BYTES);
    bytes[1 + blob.len] = '\0';
    memset(bytes + 1 + blob.len + 1, 0xff, 8);
    return slice_make(bytes, 1 + blob.len + BLOB_KEY_SUFFIX_BYTES);
}

struct slice content_key(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'd', content_id);
}

struct slice closed_key(void)
{
    return slice_of("x");
}

struct slice blob_key_prefix(struct arena *arena, struct slice name_prefix)
{
    return slice_make(letter_and(arena, 'b', name_prefix, 0), 1 + name_prefix.len);
}

bool garbage_key_incarnation(struct slice key, uint64_t *incarnation)
{
    if (key.len != 9 || key.data[0] != 'g')
        return false;
    *incarnation = get_be64((const uint8_t *)key.data + 1);
    return true;
}

enum err blob_key_name(struct slice key, struct slice *name)
{
    if (key.len <= 1 + BLOB_KEY_SUFFIX_BYTES || key.data[0] != 'b' ||
        key.data[key.len - BLOB_KEY_SUFFIX_BYTES] != '\0')
        return CORRUPT("a key of %zu bytes is not a blob's", key.len);
    *name = slice_make(key.data + 1, key.len - 1 - BLOB_KEY_SUFFIX_BYTES);
    return OK;
}
