/*
 * http_message.c - taking a request target apart, and looking things up in a request.
 *
 * A request has a dozen or two headers and parameters; looking through them in order is faster
 * than building an index.
 */
#include "frontend/http/http_message.h"

#include <assert.h>

#include "base/encoding.h"
#include "service/limits.h"

static bool http_is_hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Whether two hexadecimal digits stand behind every percent sign. */
static bool http_escapes_are_valid(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '%')
            continue;
        if (text.len - i < 3)
            return false;
        if (!http_is_hex_digit(text.data[i + 1]) || !http_is_hex_digit(text.data[i + 2]))
            return false;
    }
    return true;
}

/* `text` itself if it has no upper-case letter, else a copy without. */
static struct slice http_lower(struct arena *arena, struct slice text)
{
    size_t first = 0;
    while (first < text.len && (text.data[first] < 'A' || text.data[first] > 'Z'))
        first++;
    if (first == text.len)
        return text;
    char *copy = arena_bytes(arena, text.len);
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.data[i];
        copy[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return slice_make(copy, text.len);
}

/* As forms are encoded, which the service's clients in Go do: a plus sign is a space, which must be
   settled before escapes bring in plus signs of their own. */
static enum err http_decode_parameter(struct arena *arena, struct slice text, struct slice *decoded)
{
    if (slice_find_byte(text, '+') < text.len) {
        char *copy = arena_bytes(arena, text.len);
        for (size_t i = 0; i < text.len; i++)
            copy[i] = text.data[i] == '+' ? ' ' : text.data[i];
        text = slice_make(copy, text.len);
    }
    return percent_decode(arena, text, decoded) == OK ? OK : ERR_INVALID_URI;
}

/* One `name=value` or `name`. */
static enum err http_parse_parameter(struct arena *arena, struct slice text,
                                     struct http_field *parameter)
{
    const size_t name_len = slice_find_byte(text, '=');
    struct slice name = { 0 };
    const enum err err = http_decode_parameter(arena, slice_head(text, name_len), &name);
    if (err != OK)
        return err;
    parameter->name = http_lower(arena, name);
    return http_decode_parameter(arena, slice_from(text, name_len + 1), &parameter->value);
}

/* How many parts between ampersands are not empty. */
static size_t http_count_parameters(struct slice query)
{
    size_t count = 0;
    for (size_t i = 0; i < query.len; i++)
        count += query.data[i] != '&' && (i == 0 || query.data[i - 1] == '&');
    return count;
}

static enum err http_parse_query(struct arena *arena, struct slice query,
                                 struct http_message *message)
{
    const size_t count = http_count_parameters(query);
    if (count > LIMIT_QUERY_PARAMETERS_MAX)
        return ERR_INVALID_QUERY_PARAMETER;
    struct http_field *parameters = arena_alloc(arena, count * sizeof(parameters[0]));
    size_t filled = 0;
    while (query.len > 0) {
        const size_t len = slice_find_byte(query, '&');
        const struct slice text = slice_head(query, len);
        query = slice_from(query, len + 1);
        if (text.len == 0)
            continue;
        assert(filled < count);
        const enum err err = http_parse_parameter(arena, text, &parameters[filled++]);
        if (err != OK)
            return err;
    }
    assert(filled == count);
    message->parameters = parameters;
    message->parameter_count = count;
    return OK;
}

/* A server takes the absolute form a client of a proxy sends, http://host/path, as well. */
static struct slice http_origin_form(struct arena *arena, struct slice target)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const struct slice scheme = slice_of(schemes[i]);
        if (!slice_equal_nocase(slice_head(target, scheme.len), scheme))
            continue;
        const struct slice rest = slice_from(target, scheme.len);
        const size_t slash = slice_find_byte(rest, '/');
        const size_t question = slice_find_byte(rest, '?');
        if (slash < question)
            return slice_from(rest, slash);
        /* The path is left out when it is empty. */
        const struct slice query = slice_from(rest, question);
        return arena_printf(arena, "/%.*s", (int)query.len, query.data);
    }
    return target;
}

enum err http_message_parse_target(struct arena *arena, struct slice target,
                                   struct http_message *message)
{
    target = http_origin_form(arena, target);
    const size_t path_len = slice_find_byte(target, '?');
    const struct slice path = slice_head(target, path_len);
    if (path.len == 0 || path.data[0] != '/' || !http_escapes_are_valid(path))
        return ERR_INVALID_URI;
    message->path = path;
    message->query = slice_from(target, path_len + 1);
    return http_parse_query(arena, message->query, message);
}

static const struct http_field *http_find(const struct http_field *fields, size_t count,
                                          const char *name)
{
    const struct slice wanted = slice_of(name);
    for (size_t i = 0; i < count; i++) {
        if (slice_equal_nocase(fields[i].name, wanted))
            return &fields[i];
    }
    return NULL;
}

const struct http_field *http_message_find_header(const struct http_message *message,
                                                  const char *name)
{
    return http_find(message->headers, message->header_count, name);
}

const struct http_field *http_message_find_parameter(const struct http_message *message,
                                                     const char *name)
{
    return http_find(message->parameters, message->parameter_count, name);
}

struct slice http_message_header(const struct http_message *message, const char *name)
{
    const struct http_field *header = http_message_find_header(message, name);
    return header != NULL ? slice_trim(header->value) : (struct slice){ 0 };
}

struct slice http_message_parameter(const struct http_message *message, const char *name)
{
    const struct http_field *parameter = http_message_find_parameter(message, name);
    return parameter != NULL ? parameter->value : (struct slice){ 0 };
}
