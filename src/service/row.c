#include "service/row.h"

#include <assert.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    VARINT_BYTES_MAX = 10,
};

static size_t varint_encode(uint64_t value, char bytes[VARINT_BYTES_MAX])
{
    size_t len = 0;
    while (value >= 0x80) {
        bytes[len++] = (char)(unsigned char)(value | 0x80);
        value >>= 7;
    }
    bytes[len++] = (char)(unsigned char)value;
    return len;
}

/* Take a varint off the front of `rest`; false when there is none. */
static bool varint_take(struct slice *rest, uint64_t *value)
{
    uint64_t result = 0;
    for (size_t i = 0; i < rest->len && i < VARINT_BYTES_MAX; i++) {
        const uint64_t bits = (unsigned char)rest->data[i] & 0x7f;
        if (i == VARINT_BYTES_MAX - 1 && bits > 1)
            return false; /* more than 64 bits */
        result |= bits << (7 * i);
        if (((unsigned char)rest->data[i] & 0x80) == 0) {
            *rest = slice_from(*rest, i + 1);
            *value = result;
            return true;
        }
    }
    return false;
}

static void add_varint(struct strbuf *row, uint64_t value)
{
    char bytes[VARINT_BYTES_MAX];
    strbuf_add(row, slice_make(bytes, varint_encode(value, bytes)));
}

void row_begin(struct strbuf *row, enum row_kind kind)
{
    assert(row->len == 0);
    strbuf_reserve(row, 512);
    strbuf_add_byte(row, ROW_FORMAT);
    strbuf_add_byte(row, (char)kind);
}

void row_add_number(struct strbuf *row, uint64_t tag, uint64_t value)
{
    if (value == 0)
        return;
    char bytes[VARINT_BYTES_MAX];
    row_add_bytes(row, tag, slice_make(bytes, varint_encode(value, bytes)));
}

void row_add_bytes(struct strbuf *row, uint64_t tag, struct slice value)
{
    assert(tag != 0);
    if (value.len == 0)
        return;
    add_varint(row, tag);
    add_varint(row, value.len);
    strbuf_add(row, value);
}

enum err row_reader_init(struct row_reader *reader, struct slice row, enum row_kind kind)
{
    if (row.len < 2 || row.data[0] != ROW_FORMAT || row.data[1] != (char)kind)
        return CORRUPT("a row of %zu bytes is not of kind %d in format %d", row.len, (int)kind,
                       ROW_FORMAT);
    reader->rest = slice_from(row, 2);
    return OK;
}

enum err row_next(struct row_reader *reader, uint64_t *tag, struct slice *value)
{
    if (reader->rest.len == 0)
        return ERR_NOT_FOUND;
    uint64_t len;
    if (!varint_take(&reader->rest, tag) || !varint_take(&reader->rest, &len) ||
        len > reader->rest.len)
        return CORRUPT("a row ends in the middle of a field");
    *value = slice_head(reader->rest, (size_t)len);
    reader->rest = slice_from(reader->rest, (size_t)len);
    return OK;
}

enum err row_number(struct slice value, uint64_t *number)
{
    struct slice rest = value;
    if (!varint_take(&rest, number) || rest.len != 0)
        return CORRUPT("a field of %zu bytes is not a number", value.len);
    return OK;
}

enum err row_instant(struct slice value, int64_t *ticks)
{
    uint64_t number;
    const enum err err = row_number(value, &number);
    if (err != OK)
        return err;
    if (number == 0 || number > (uint64_t)CLOCK_TICKS_MAX)
        return CORRUPT("an instant is %llu ticks", (unsigned long long)number);
    *ticks = (int64_t)number;
    return OK;
}
