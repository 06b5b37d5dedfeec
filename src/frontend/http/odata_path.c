#include "frontend/http/odata_path.h"

#include <stdbool.h>

#include "base/encoding.h"

/* --- reading --- */

/* What is left to read. */
struct scanner {
    struct arena *arena;
    struct slice rest;
};

static void skip_spaces(struct scanner *scanner)
{
    while (scanner->rest.len > 0 && scanner->rest.data[0] == ' ')
        scanner->rest = slice_from(scanner->rest, 1);
}

/* Step over `sign` and the spaces around it. */
static bool take_sign(struct scanner *scanner, char sign)
{
    skip_spaces(scanner);
    if (scanner->rest.len == 0 || scanner->rest.data[0] != sign)
        return false;
    scanner->rest = slice_from(scanner->rest, 1);
    skip_spaces(scanner);
    return true;
}

/* Everything up to a sign; what it may consist of is for others to say. */
static struct slice take_name(struct scanner *scanner)
{
    size_t len = 0;
    while (len < scanner->rest.len && strchr("(),=' ", scanner->rest.data[len]) == NULL)
        len++;
    const struct slice name = slice_head(scanner->rest, len);
    scanner->rest = slice_from(scanner->rest, len);
    return name;
}

/* The length of a quoted text up to the quote that ends it, or all of `text` if none does. */
static size_t quoted_len(struct slice text, size_t *doubled)
{
    size_t len = 0;
    *doubled = 0;
    while (len < text.len) {
        len += slice_find_byte(slice_from(text, len), '\'');
        if (len + 1 >= text.len || text.data[len + 1] != '\'')
            return len;
        len += 2;
        (*doubled)++;
    }
    return text.len;
}

/* 'text', in which a quote is doubled. */
static bool take_quoted(struct scanner *scanner, struct slice *text)
{
    if (scanner->rest.len == 0 || scanner->rest.data[0] != '\'')
        return false;
    const struct slice rest = slice_from(scanner->rest, 1);
    size_t doubled;
    const size_t len = quoted_len(rest, &doubled);
    if (len >= rest.len)
        return false;
    scanner->rest = slice_from(rest, len + 1);
    *text = slice_make(rest.data, len);
    if (doubled == 0)
        return true;
    char *bytes = arena_bytes(scanner->arena, len - doubled);
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        bytes[at++] = rest.data[i];
        if (rest.data[i] == '\'')
            i++;
    }
    *text = slice_make(bytes, at);
    return true;
}

/* What stands in parentheses: nothing, one text, or texts with names. */
enum {
    KEYS_MAX = 2,
};

struct keys {
    size_t count;
    struct slice names[KEYS_MAX]; /* empty: a text without a name */
    struct slice texts[KEYS_MAX];
};

static bool take_key(struct scanner *scanner, struct keys *keys)
{
    if (keys->count == KEYS_MAX)
        return false;
    const struct slice name = take_name(scanner);
    if (name.len > 0 && !take_sign(scanner, '='))
        return false;
    keys->names[keys->count] = name;
    return take_quoted(scanner, &keys->texts[keys->count++]);
}

/* (...) up to the end of the path. */
static bool take_keys(struct scanner *scanner, struct keys *keys)
{
    *keys = (struct keys){ 0 };
    if (!take_sign(scanner, '('))
        return false;
    if (!take_sign(scanner, ')')) {
        do {
            if (!take_key(scanner, keys))
                return false;
        } while (take_sign(scanner, ','));
        if (!take_sign(scanner, ')'))
            return false;
    }
    return scanner->rest.len == 0;
}

static enum err read_table(const struct keys *keys, struct odata_path *path)
{
    path->resource = keys->count == 0 ? ODATA_TABLES : ODATA_TABLE;
    path->table = keys->texts[0];
    if (keys->count > 1 ||
        (keys->count == 1 && keys->names[0].len > 0 && !slice_is(keys->names[0], "TableName")))
        return ERR_INVALID_URI;
    return OK;
}

static enum err read_entity(const struct keys *keys, struct odata_path *path)
{
    path->resource = keys->count == 0 ? ODATA_ENTITIES : ODATA_ENTITY;
    if (keys->count == 0)
        return OK;
    const size_t first = slice_is(keys->names[0], "PartitionKey") ? 0 : 1;
    path->partition_key = keys->texts[first];
    path->row_key = keys->texts[1 - first];
    if (keys->count != 2 || !slice_is(keys->names[first], "PartitionKey") ||
        !slice_is(keys->names[1 - first], "RowKey"))
        return ERR_INVALID_URI;
    return OK;
}

enum err odata_path_parse(struct arena *arena, struct slice text, struct odata_path *path)
{
    struct scanner scanner = { .arena = arena };
    *path = (struct odata_path){ .resource = ODATA_SERVICE };
    if (percent_decode(arena, text, &scanner.rest) != OK || !utf8_is_valid(scanner.rest))
        return ERR_INVALID_URI;
    if (scanner.rest.len == 0)
        return OK;
    path->resource = ODATA_BATCH;
    if (slice_is(scanner.rest, "$batch"))
        return OK;
    struct keys keys = { 0 };
    path->table = take_name(&scanner);
    if (path->table.len == 0 || (scanner.rest.len > 0 && !take_keys(&scanner, &keys)))
        return ERR_INVALID_URI;
    /* No table may be called so, in any case. */
    if (slice_equal_nocase(path->table, slice_of("Tables")))
        return read_table(&keys, path);
    return read_entity(&keys, path);
}

/* --- writing --- */

static bool is_unreserved(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

static void add_quoted(struct strbuf *out, struct slice text)
{
    static const char digits[] = "0123456789ABCDEF";
    strbuf_add_byte(out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        const char byte = text.data[i];
        if (is_unreserved(byte)) {
            strbuf_add_byte(out, byte);
        } else if (byte == '\'') {
            strbuf_add_text(out, "''");
        } else {
            const unsigned value = (unsigned char)byte;
            const char escape[3] = { '%', digits[value >> 4], digits[value & 15] };
            strbuf_add(out, slice_make(escape, sizeof(escape)));
        }
    }
    strbuf_add_byte(out, '\'');
}

void odata_path_add_entity(struct strbuf *out, struct slice table, struct slice partition_key,
                           struct slice row_key)
{
    strbuf_add(out, table);
    strbuf_add_text(out, "(PartitionKey=");
    add_quoted(out, partition_key);
    strbuf_add_text(out, ",RowKey=");
    add_quoted(out, row_key);
    strbuf_add_byte(out, ')');
}

void odata_path_add_table(struct strbuf *out, struct slice table)
{
    strbuf_add_text(out, "Tables(");
    add_quoted(out, table);
    strbuf_add_byte(out, ')');
}
