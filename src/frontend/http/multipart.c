#include "frontend/http/multipart.h"

#include <stdbool.h>

enum err multipart_boundary(struct slice content_type, struct slice *boundary)
{
    const struct slice type = slice_of("multipart/mixed");
    const struct slice name = slice_of("boundary=");
    const size_t type_len = slice_find_byte(content_type, ';');
    if (!slice_equal_nocase(slice_trim(slice_head(content_type, type_len)), type))
        return ERR_MALFORMED;
    struct slice rest = slice_from(content_type, type_len + 1);
    while (rest.len > 0) {
        const size_t semicolon = slice_find_byte(rest, ';');
        struct slice parameter = slice_trim(slice_head(rest, semicolon));
        rest = slice_from(rest, semicolon + 1);
        if (!slice_equal_nocase(slice_head(parameter, name.len), name))
            continue;
        parameter = slice_from(parameter, name.len);
        if (parameter.len >= 2 && parameter.data[0] == '"' &&
            parameter.data[parameter.len - 1] == '"')
            parameter = slice_make(parameter.data + 1, parameter.len - 2);
        if (parameter.len == 0 || parameter.len > 70) /* RFC 2046 */
            return ERR_MALFORMED;
        *boundary = parameter;
        return OK;
    }
    return ERR_MALFORMED;
}

/* Take a line off the text, without its end; false when nothing is left. */
static bool take_line(struct slice *text, struct slice *line)
{
    if (text->len == 0)
        return false;
    const size_t end = slice_find_byte(*text, '\n');
    *line = slice_head(*text, end);
    *text = slice_from(*text, end + 1);
    if (line->len > 0 && line->data[line->len - 1] == '\r')
        line->len--;
    return true;
}

enum delimiter {
    NO_DELIMITER,
    PART_DELIMITER,
    LAST_DELIMITER,
};

static enum delimiter delimiter_of(struct slice line, struct slice boundary)
{
    if (!slice_starts_with(line, slice_of("--")) ||
        !slice_starts_with(slice_from(line, 2), boundary))
        return NO_DELIMITER;
    const struct slice rest = slice_trim(slice_from(line, 2 + boundary.len));
    if (rest.len == 0)
        return PART_DELIMITER;
    return slice_is(rest, "--") ? LAST_DELIMITER : NO_DELIMITER;
}

/* Headers up to the empty line.  `headers` has room for MULTIPART_HEADERS_MAX. */
static enum err take_headers(struct slice *text, struct http_field *headers, size_t *count)
{
    struct slice line;
    *count = 0;
    while (take_line(text, &line) && line.len > 0) {
        const size_t colon = slice_find_byte(line, ':');
        const struct slice name = slice_trim(slice_head(line, colon));
        if (name.len == 0 || colon == line.len || *count == MULTIPART_HEADERS_MAX)
            return ERR_MALFORMED;
        headers[(*count)++] = (struct http_field){
            .name = name,
            .value = slice_trim(slice_from(line, colon + 1)),
        };
    }
    return OK;
}

static enum err read_request_line(struct slice line, struct multipart_part *part)
{
    const size_t first = slice_find_byte(line, ' ');
    const struct slice rest = slice_from(line, first + 1);
    const size_t second = slice_find_byte(rest, ' ');
    part->method = slice_head(line, first);
    part->target = slice_head(rest, second);
    if (part->method.len == 0 || part->target.len == 0 ||
        !slice_starts_with(slice_from(rest, second + 1), slice_of("HTTP/1.")))
        return ERR_MALFORMED;
    return OK;
}

/* `text` is what lies between two delimiters. */
static enum err read_part(struct arena *arena, struct slice text, struct multipart_part *part)
{
    struct http_field *headers =
        arena_alloc(arena, MULTIPART_HEADERS_MAX * sizeof(struct http_field));
    size_t count;
    enum err err = take_headers(&text, headers, &count);
    if (err != OK)
        return err;
    *part = (struct multipart_part){ 0 };
    bool is_request = false;
    for (size_t i = 0; i < count; i++) {
        if (slice_equal_nocase(headers[i].name, slice_of("content-id")))
            part->content_id = headers[i].value;
        if (slice_equal_nocase(headers[i].name, slice_of("content-type")))
            is_request = slice_equal_nocase(headers[i].value, slice_of("application/http"));
    }
    struct slice line;
    if (!is_request || !take_line(&text, &line))
        return ERR_MALFORMED;
    err = read_request_line(line, part);
    /* The part's own headers are not needed any more. */
    if (err == OK)
        err = take_headers(&text, headers, &part->header_count);
    part->headers = headers;
    part->body = text;
    return err;
}

enum err multipart_read(struct arena *arena, struct slice body, struct slice boundary,
                        const struct multipart_part **parts, size_t *part_count)
{
    struct multipart_part *found = arena_alloc(arena, MULTIPART_PARTS_MAX * sizeof(*found));
    const char *part_start = NULL;
    bool ended = false;
    struct slice rest = body;
    struct slice line;
    size_t count = 0;
    while (!ended && take_line(&rest, &line)) {
        const enum delimiter delimiter = delimiter_of(line, boundary);
        if (delimiter == NO_DELIMITER)
            continue;
        if (part_start != NULL) {
            if (count == MULTIPART_PARTS_MAX)
                return ERR_OUT_OF_RANGE;
            const struct slice text = slice_make(part_start, (size_t)(line.data - part_start));
            const enum err err = read_part(arena, text, &found[count++]);
            if (err != OK)
                return err;
        }
        part_start = rest.data;
        ended = delimiter == LAST_DELIMITER;
    }
    *parts = found;
    *part_count = count;
    /* A body that was cut off must not pass for one with fewer parts. */
    return count == 0 || !ended ? ERR_MALFORMED : OK;
}
