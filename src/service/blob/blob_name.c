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

struct slice service_properties_key(struct arena *arena, char letter)
{
    return slice_make(letter_and(arena, 'p', slice_make(&letter, 1), 0), 2);
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

struct slice block_prefix(struct arena *arena, struct slice blob)
{
    char *bytes = letter_and(arena, 'u', blob, 1);
    bytes[1 + blob.len] = '\0';
    return slice_make(bytes, 1 + blob.len + 1);
}

struct slice block_key(struct arena *arena, struct slice blob, struct slice block_id)
{
    char *bytes = letter_and(arena, 'u', blob, 1 + block_id.len);
    bytes[1 + blob.len] = '\0';
    memcpy(bytes + 1 + blob.len + 1, block_id.data, block_id.len);
    return slice_make(bytes, 1 + blob.len + 1 + block_id.len);
}

struct slice uncommitted_key(struct arena *arena, struct slice blob)
{
    return slice_make(letter_and(arena, 'w', blob, 0), 1 + blob.len);
}

struct slice content_key(struct arena *arena, uint64_t content_id)
{
    return letter_and_number(arena, 'd', content_id);
}

struct slice closed_key(void)
{
    return slice_of("x");
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

bool dropped_key_content(struct slice key, uint64_t *content_id)
{
    if (key.len != 9 || key.data[0] != 'z')
        return false;
    *content_id = get_be64((const uint8_t *)key.data + 1);
    return true;
}

struct slice unfinished_prefix(void)
{
    return slice_of("y");
}

bool unfinished_key_content(struct slice key, uint64_t *content_id)
{
    if (key.len != 9 || key.data[0] != 'y')
        return false;
    *content_id = get_be64((const uint8_t *)key.data + 1);
    return true;
}

struct slice pending_copy_prefix(void)
{
    return slice_of("q");
}

bool pending_copy_key_name(struct slice key, struct slice *blob)
{
    if (key.len < 2 || key.data[0] != 'q')
        return false;
    *blob = slice_from(key, 1);
    return true;
}

bool garbage_key_incarnation(struct slice key, uint64_t *incarnation)
{
    if (key.len != 9 || key.data[0] != 'g')
        return false;
    *incarnation = get_be64((const uint8_t *)key.data + 1);
    return true;
}

enum err blob_key_name(struct slice key, struct slice *name, int64_t *snapshot)
{
    if (key.len <= 1 + BLOB_KEY_SUFFIX_BYTES || key.data[0] != 'b' ||
        key.data[key.len - BLOB_KEY_SUFFIX_BYTES] != '\0')
        return CORRUPT("a key of %zu bytes is not a blob's", key.len);
    *name = slice_make(key.data + 1, key.len - 1 - BLOB_KEY_SUFFIX_BYTES);
    const uint64_t version = get_be64((const uint8_t *)key.data + key.len - 8);
    *snapshot = version == UINT64_MAX ? 0 : (int64_t)version;
    return OK;
}
