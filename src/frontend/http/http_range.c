#include "frontend/http/http_range.h"

#include <assert.h>

#include "base/encoding.h"

struct http_range http_range_parse(struct slice header)
{
    const struct slice unit = slice_of("bytes=");
    struct http_range range = { .last = UINT64_MAX };
    if (!slice_equal_nocase(slice_head(header, unit.len), unit))
        return (struct http_range){ 0 };
    const struct slice text = slice_trim(slice_from(header, unit.len));
    const size_t dash = slice_find_byte(text, '-');
    if (dash == text.len || decimal_parse_u64(slice_head(text, dash), &range.first) != OK)
        return (struct http_range){ 0 };
    const struct slice last = slice_from(text, dash + 1);
    if (last.len > 0 && (decimal_parse_u64(last, &range.last) != OK || range.last < range.first))
        return (struct http_range){ 0 };
    range.present = true;
    return range;
}

bool http_range_resolve(const struct http_range *range, uint64_t size_bytes, uint64_t *offset,
                        uint64_t *length)
{
    assert(range->present);
    if (range->first >= size_bytes)
        return false;
    const uint64_t last = range->last < size_bytes - 1 ? range->last : size_bytes - 1;
    *offset = range->first;
    *length = last - range->first + 1;
    return true;
}
