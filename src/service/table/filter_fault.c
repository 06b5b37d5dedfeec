/*
 * filter_fault.c - what to tell the client of a filter that cannot be taken.
 *
 * The sentences follow those of the OData library the service is built with.  Two were seen of the
 * service itself: "Syntax error at position 7 in 'aaa bbb ccc'.", where the position is the end of
 * the token that has no place, and "One of the request inputs is not valid." for a comparison with
 * null.
 */
#include <assert.h>

#include "service/limits.h"
#include "service/table/filter_internal.h"

/* Bytes that begin a character count one, and two if it needs a surrogate pair. */
static size_t utf16_len(struct slice text)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if ((byte & 0xc0) != 0x80)
            len += byte >= 0xf0 ? 2 : 1;
    }
    return len;
}

static struct slice say_position(struct arena *arena, const char *what, struct slice text,
                                 size_t at)
{
    return arena_printf(arena, "%s at position %zu in '%.*s'.", what,
                        utf16_len(slice_head(text, at)), (int)text.len, text.data);
}

static struct slice say_literal(struct arena *arena, struct slice text,
                                const struct filter_fault *fault)
{
    return arena_printf(arena, "Unrecognized '%s' literal '%.*s' at '%zu' in '%.*s'.",
                        edm_type_name(fault->literal_type), (int)(fault->literal_end - fault->at),
                        text.data + fault->at, utf16_len(slice_head(text, fault->at)),
                        (int)text.len, text.data);
}

struct slice filter__say_fault(struct arena *arena, struct slice text,
                               const struct filter_fault *fault)
{
    switch (fault->type) {
    case FILTER_FAULT_SYNTAX:
        return say_position(arena, "Syntax error", text, fault->at);
    case FILTER_FAULT_EXPRESSION_EXPECTED:
        return say_position(arena, "Expression expected", text, fault->at);
    case FILTER_FAULT_CLOSE_EXPECTED:
        return say_position(arena, "')' or operator expected", text, fault->at);
    case FILTER_FAULT_CHARACTER:
        return say_position(
            arena,
            arena_printf(arena, "Syntax error: character '%c' is not valid", text.data[fault->at])
                .data,
            text, fault->at);
    case FILTER_FAULT_DIGIT_EXPECTED:
        return say_position(arena, "A digit was expected", text, fault->at);
    case FILTER_FAULT_UNTERMINATED_STRING:
        return say_position(arena, "There is an unterminated string literal", text, fault->at);
    case FILTER_FAULT_UNTERMINATED_LITERAL:
        return say_position(arena, "There is an unterminated literal", text, fault->at);
    case FILTER_FAULT_LITERAL:
        return say_literal(arena, text, fault);
    case FILTER_FAULT_TOO_DEEP:
        return slice_of("Recursion depth exceeded allowed limit.");
    case FILTER_FAULT_TOO_MANY:
        return arena_printf(arena, "The filter has more than %d comparisons.",
                            LIMIT_FILTER_COMPARISONS);
    case FILTER_FAULT_NOT_BOOLEAN:
        return slice_of("The $filter expression must evaluate to a single boolean value.");
    case FILTER_FAULT_OPERANDS:
        return slice_of("One of the request inputs is not valid.");
    case FILTER_FAULT_FUNCTION:
        return slice_of("The requested operation is not implemented on the specified resource.");
    }
    assert(false);
    return (struct slice){ 0 };
}
