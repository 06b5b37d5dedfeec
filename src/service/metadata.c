#include "service/metadata.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/log.h"
#include "service/limits.h"
#include "service/row.h"

/* A C# identifier in ASCII: HTTP header names cannot carry the rest of Unicode. */
static bool is_identifier(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        const unsigned char byte = (unsigned char)name.data[i];
        const bool letter = isalpha(byte) || byte == '_';
        if (!letter && (i == 0 || !isdigit(byte)))
            return false;
    }
    return name.len > 0;
}

static bool is_repeated(const struct metadata *metadata, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (slice_equal_nocase(metadata->pairs[i].name, metadata->pairs[index].name))
            return true;
    return false;
}

enum err metadata_check(const struct metadata *metadata)
{
    size_t size_bytes = 0;
    for (size_t i = 0; i < metadata->count; i++)
        size_bytes += metadata->pairs[i].name.len + metadata->pairs[i].value.len;
    if (size_bytes > LIMIT_METADATA_BYTES_MAX)
        return ERR_METADATA_TOO_LARGE;

    for (size_t i = 0; i < metadata->count; i++) {
        if (metadata->pairs[i].name.len == 0)
            return ERR_EMPTY_METADATA_KEY;
        if (!is_identifier(metadata->pairs[i].name) || is_repeated(metadata, i))
            return ERR_INVALID_METADATA;
    }
    return OK;
}

void metadata_encode(const struct metadata *metadata, struct strbuf *row, unsigned tag)
{
    for (size_t i = 0; i < metadata->count; i++) {
        const struct metadata_pair *pair = &metadata->pairs[i];
        assert(pair->name.len > 0);
        assert(memchr(pair->name.data, '\0', pair->name.len) == NULL);
        char *bytes = arena_bytes(row->arena, pair->name.len + 1 + pair->value.len);
        memcpy(bytes, pair->name.data, pair->name.len);
        bytes[pair->name.len] = '\0';
        if (pair->value.len > 0)
            memcpy(bytes + pair->name.len + 1, pair->value.data, pair->value.len);
        row_add_bytes(row, tag, slice_make(bytes, pair->name.len + 1 + pair->value.len));
    }
}

enum err metadata_decode_pair(struct slice value, struct metadata_pair *pair)
{
    const size_t name_len = slice_find_byte(value, '\0');
    if (name_len == 0 || name_len == value.len)
        return CORRUPT("a metadata field of %zu bytes has no name", value.len);
    pair->name = slice_head(value, name_len);
    pair->value = slice_from(value, name_len + 1);
    return OK;
}

void metadata_append(struct metadata *metadata, struct arena *arena, struct metadata_pair pair)
{
    /* Lists are short; room is made in powers of two so that a long one costs no more. */
    const size_t count = metadata->count;
    if ((count & (count - 1)) == 0) {
        const size_t room = count == 0 ? 1 : 2 * count;
        struct metadata_pair *pairs = arena_alloc(arena, room * sizeof(*pairs));
        if (count > 0)
            memcpy(pairs, metadata->pairs, count * sizeof(*pairs));
        metadata->pairs = pairs;
    }
    metadata->pairs[count] = pair;
    metadata->count = count + 1;
}

struct metadata metadata_copy(struct arena *arena, const struct metadata *metadata)
{
    struct metadata copy = { 0 };
    for (size_t i = 0; i < metadata->count; i++)
        metadata_append(&copy, arena,
                        (struct metadata_pair){
                            .name = arena_copy(arena, metadata->pairs[i].name),
                            .value = arena_copy(arena, metadata->pairs[i].value),
                        });
    return copy;
}

static const struct metadata_pair *find_pair(const struct metadata *metadata, struct slice name)
{
    for (size_t i = 0; i < metadata->count; i++)
        if (slice_equal_nocase(metadata->pairs[i].name, name))
            return &metadata->pairs[i];
    return NULL;
}

bool metadata_equal(const struct metadata *a, const struct metadata *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct metadata_pair *other = find_pair(b, a->pairs[i].name);
        if (other == NULL || !slice_equal(other->value, a->pairs[i].value))
            return false;
    }
    return true;
}
