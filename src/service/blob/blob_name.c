#include "service/blob/blob_name.h"

#include <string.h>

#include "base/encoding.h"
#include "base/log.h"
#include "service/limits.h"

enum {
    BLOB_KEY_SUFFIX_BYTES = 1 + 8,        /* NUL and the version */
    HISTORY_KEY_SUFFIX_BYTES = 1 + 8 + 1, /* NUL, tick and kind */
};

static bool is_special_container(struct slice name)
{
    return slice_is(name, "$root") || slice_is(name, "$web") || slice_is(name, "$logs") ||
           slice_is(name, "$blobchangefeed");
}

enum err container_name_check(struct slice name)
{
    return is_special_container(name) ? OK : resource_name_check(name);
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

static struct slice version_key(struct arena *arena, struct slice blob, uint64_t version)
{
    char *bytes = letter_and(arena, 'b', blob, BLOB_KEY_SUFFIX_BYTES);
    bytes[1 + blob.len] = '\0';
    put_be64((uint8_t *)bytes + 1 + blob.len + 1, version);
    return slice_make(bytes, 1 + blob.len + BLOB_KEY_SUFFIX_BYTES);
}

struct slice blob_key(struct arena *arena, struct slice blob)
{
    return version_key(arena, blob, UINT64_MAX);
}

struct slice snapshot_key(struct arena *arena, struct slice blob, int64_t snapshot)
{
    return version_key(arena, blob, (uint64_t)snapshot);
}

struct slice history_key(struct arena *arena, struct slice blob, uint64_t tick, char kind)
{
    const size_t len = 1 + blob.len + HISTORY_KEY_SUFFIX_BYTES;
    char *bytes = letter_and(arena, 'h', blob, HISTORY_KEY_SUFFIX_BYTES);
    bytes[1 + blob.len] = '\0';
    put_be64((uint8_t *)bytes + 1 + blob.len + 1, tick);
    bytes[len - 1] = kind;
    return slice_make(bytes, len);
}

struct slice history_prefix(struct arena *arena, struct slice blob)
{
    char *bytes = letter_and(arena, 'h', blob, 1);
    bytes[1 + blob.len] = '\0';
    return slice_make(bytes, 1 + blob.len + 1);
}

struct slice history_key_prefix(struct arena *arena, struct slice name_prefix)
{
    return slice_make(letter_and(arena, 'h', name_prefix, 0), 1 + name_prefix.len);
}

enum err history_key_parse(struct slice key, struct slice *blob, uint64_t *tick, char *kind)
{
    if (key.len <= 1 + HISTORY_KEY_SUFFIX_BYTES || key.data[0] != 'h' ||
        key.data[key.len - HISTORY_KEY_SUFFIX_BYTES] != '\0')
        return CORRUPT("a key of %zu bytes is not of a blob's history", key.len);
    *blob = slice_make(key.data + 1, key.len - 1 - HISTORY_KEY_SUFFIX_BYTES);
    *tick = get_be64((const uint8_t *)key.data + key.len - 1 - 8);
    *kind = key.data[key.len - 1];
    return OK;
}

struct slice expiry_key(struct arena *arena, int64_t expires_at, struct slice history_key)
{
    char *bytes = arena_bytes(arena, 8 + history_key.len);
    bytes[0] = 'e';
    put_be64((uint8_t *)bytes + 1, (uint64_t)expires_at);
    memcpy(bytes + 9, history_key.data + 1, history_key.len - 1);
    return slice_make(bytes, 8 + history_key.len);
}

struct slice expiry_prefix(void)
{
    return slice_of("e");
}

enum err expiry_key_parse(struct arena *arena, struct slice key, int64_t *expires_at,
                          struct slice *history_key)
{
    struct slice name;
    uint64_t tick;
    char kind;
    if (key.len <= 9 || key.data[0] != 'e')
        return CORRUPT("a key of %zu bytes is not of an expiry", key.len);
    *expires_at = (int64_t)get_be64((const uint8_t *)key.data + 1);
    char *bytes = letter_and(arena, 'h', slice_from(key, 9), 0);
    *history_key = slice_make(bytes, key.len - 8);
    return history_key_parse(*history_key, &name, &tick, &kind);
}

/* A letter, a name and a generation, with `extra` bytes of room behind them. */
static char *letter_and_generation(struct arena *arena, char letter, struct slice blob,
                                   int64_t generation, size_t extra)
{
    char *bytes = letter_and(arena, letter, blob, 1 + 8 + extra);
    bytes[1 + blob.len] = '\0';
    put_be64((uint8_t *)bytes + 1 + blob.len + 1, (uint64_t)generation);
    return bytes;
}

struct slice block_prefix(struct arena *arena, struct slice blob, int64_t generation)
{
    return slice_make(letter_and_generation(arena, 'u', blob, generation, 0), 1 + blob.len + 1 + 8);
}

struct slice block_key(struct arena *arena, struct slice blob, int64_t generation,
                       struct slice block_id)
{
    char *bytes = letter_and_generation(arena, 'u', blob, generation, block_id.len);
    memcpy(bytes + 1 + blob.len + 1 + 8, block_id.data, block_id.len);
    return slice_make(bytes, 1 + blob.len + 1 + 8 + block_id.len);
}

struct slice forgotten_key(struct arena *arena, struct slice blob, int64_t generation)
{
    return slice_make(letter_and_generation(arena, 'f', blob, generation, 0), 1 + blob.len + 1 + 8);
}

struct slice uncommitted_key(struct arena *arena, struct slice blob)
{
    return slice_make(letter_and(arena, 'w', blob, 0), 1 + blob.len);
}

struct slice content_key(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'd', content_id);
}

static struct slice letter_and_two(struct arena *arena, char letter, uint64_t first,
                                   uint64_t second)
{
    char *bytes = arena_bytes(arena, 17);
    bytes[0] = letter;
    put_be64((uint8_t *)bytes + 1, first);
    put_be64((uint8_t *)bytes + 9, second);
    return slice_make(bytes, 17);
}

struct slice segments_key(struct arena *arena, uint64_t content_id, uint64_t end)
{
    return letter_and_two(arena, 'k', content_id, end);
}

struct slice segments_prefix(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'k', content_id);
}

struct slice share_count_key(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'n', content_id);
}

struct slice overlay_key(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'l', content_id);
}

struct slice owner_key(struct arena *arena, uint64_t payload_id, uint64_t owner)
{
    return letter_and_two(arena, 'v', payload_id, owner);
}

struct slice owner_prefix(struct arena *arena, uint64_t payload_id)
{
    return letter_and_number(arena, 'v', payload_id);
}

struct slice dropped_key(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'z', content_id);
}

struct slice unfinished_key(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'y', content_id);
}

struct slice outdated_key(struct arena *arena, struct slice blob)
{
    return slice_make(letter_and(arena, 'o', blob, 0), 1 + blob.len);
}

struct slice pending_copy_key(struct arena *arena, struct slice blob)
{
    return slice_make(letter_and(arena, 'q', blob, 0), 1 + blob.len);
}

struct slice blob_key_prefix(struct arena *arena, struct slice name_prefix)
{
    return slice_make(letter_and(arena, 'b', name_prefix, 0), 1 + name_prefix.len);
}

bool is_blob_partition(struct slice partition)
{
    return partition.len > 0 && partition.data[0] == 'B';
}

struct slice dropped_prefix(void)
{
    return slice_of("z");
}

/* The number in a key of a letter and a number. */
static bool key_number(struct slice key, char letter, uint64_t *number)
{
    if (key.len != 9 || key.data[0] != letter)
        return false;
    *number = get_be64((const uint8_t *)key.data + 1);
    return true;
}

bool dropped_key_content(struct slice key, uint64_t *content_id)
{
    return key_number(key, 'z', content_id);
}

/* Take a key apart that begins with a letter, a name and a generation. */
static bool split_generation(struct slice key, char letter, struct slice *blob, int64_t *generation,
                             struct slice *rest)
{
    if (key.len < 1 || key.data[0] != letter)
        return false;
    *blob = slice_from(key, 1);
    *blob = slice_head(*blob, slice_find_byte(*blob, '\0'));
    const size_t end = 1 + blob->len + 1 + 8;
    if (blob->len == 0 || key.len < end)
        return false;
    *generation = (int64_t)get_be64((const uint8_t *)key.data + end - 8);
    *rest = slice_from(key, end);
    return true;
}

bool block_key_parse(struct slice key, struct slice *blob, int64_t *generation,
                     struct slice *block_id)
{
    return split_generation(key, 'u', blob, generation, block_id) && block_id->len > 0;
}

struct slice forgotten_prefix(void)
{
    return slice_of("f");
}

bool forgotten_key_parse(struct slice key, struct slice *blob, int64_t *generation)
{
    struct slice rest;
    return split_generation(key, 'f', blob, generation, &rest) && rest.len == 0;
}

struct slice overlay_prefix(void)
{
    return slice_of("l");
}

bool overlay_key_content(struct slice key, uint64_t *content_id)
{
    return key_number(key, 'l', content_id);
}

struct slice unfinished_prefix(void)
{
    return slice_of("y");
}

bool unfinished_key_content(struct slice key, uint64_t *content_id)
{
    return key_number(key, 'y', content_id);
}

struct slice pending_copy_prefix(void)
{
    return slice_of("q");
}

/* The name in a key of a letter and a name. */
static bool key_name(struct slice key, char letter, struct slice *blob)
{
    if (key.len < 2 || key.data[0] != letter)
        return false;
    *blob = slice_from(key, 1);
    return true;
}

bool pending_copy_key_name(struct slice key, struct slice *blob)
{
    return key_name(key, 'q', blob);
}

struct slice outdated_prefix(void)
{
    return slice_of("o");
}

bool outdated_key_name(struct slice key, struct slice *blob)
{
    return key_name(key, 'o', blob);
}

enum err blob_key_name(struct slice key, struct slice *name, int64_t *snapshot)
{
    if (key.len <= 1 + BLOB_KEY_SUFFIX_BYTES || key.data[0] != 'b' ||
        key.data[key.len - BLOB_KEY_SUFFIX_BYTES] != '\0')
        return CORRUPT("a key of %zu bytes is not a blob's", key.len);
    const uint64_t version = get_be64((const uint8_t *)key.data + key.len - 8);
    /* Nothing was taken at the beginning of time, which is how a base blob is told here. */
    if (version != UINT64_MAX && (version == 0 || version > INT64_MAX))
        return CORRUPT("the key of a snapshot names no instant");
    *name = slice_make(key.data + 1, key.len - 1 - BLOB_KEY_SUFFIX_BYTES);
    *snapshot = version == UINT64_MAX ? 0 : (int64_t)version;
    return OK;
}
