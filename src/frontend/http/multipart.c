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

/* Headers up to the empty line, in the arena. */
static enum err take_headers(struct arena *arena, struct slice *text,
                             const struct http_field **headers, size_t *count)
{
    struct http_field *found = arena_alloc(arena, MULTIPART_HEADERS_MAX * sizeof(*found));
    struct slice line;
    *headers = found;
    *count = 0;
    while (take_line(text, &line) && line.len > 0) {
        const size_t colon = slice_find_byte(line, ':');
        const struct slice name = slice_trim(slice_head(line, colon));
        if (name.len == 0 || colon == line.len || *count == MULTIPART_HEADERS_MAX)
            return ERR_MALFORMED;
        found[(*count)++] = (struct http_field){
            .name = name,
            .value = slice_trim(slice_from(line, colon + 1)),
        };
    }
    return OK;
}

struct slice multipart_header(const struct multipart_piece *piece, const char *name)
{
    for (size_t i = 0; i < piece->header_count; i++)
        if (slice_equal_nocase(piece->headers[i].name, slice_of(name)))
            return piece->headers[i].value;
    return (struct slice){ 0 };
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

enum err multipart_read_request(struct arena *arena, const struct multipart_piece *piece,
                                struct multipart_part *part)
{
    struct slice text = piece->content;
    struct slice line;
    *part = (struct multipart_part){ .content_id = multipart_header(piece, "Content-ID") };
    if (!slice_equal_nocase(multipart_header(piece, "Content-Type"),
                            slice_of("application/http")) ||
        !take_line(&text, &line))
        return ERR_MALFORMED;
    enum err err = read_request_line(line, part);
    if (err == OK)
        err = take_headers(arena, &text, &part->headers, &part->header_count);
    part->body = text;
    return err;
}

enum err multipart_split(struct arena *arena, struct slice body, struct slice boundary,
                         size_t pieces_max, const struct multipart_piece **pieces,
                         size_t *piece_count)
{
    struct multipart_piece *found = arena_alloc(arena, pieces_max * sizeof(*found));
    const char *piece_start = NULL;
    bool ended = false;
    struct slice rest = body;
    struct slice line;
    size_t count = 0;
    while (!ended && take_line(&rest, &line)) {
        const enum delimiter delimiter = delimiter_of(line, boundary);
        if (delimiter == NO_DELIMITER)
            continue;
        if (piece_start != NULL) {
            if (count == pieces_max)
                return ERR_OUT_OF_RANGE;
            struct multipart_piece *piece = &found[count++];
            piece->content = slice_make(piece_start, (size_t)(line.data - piece_start));
            const enum err err =
                take_headers(arena, &piece->content, &piece->headers, &piece->header_count);
            if (err != OK)
                return err;
        }
        piece_start = rest.data;
        ended = delimiter == LAST_DELIMITER;
    }
    *pieces = found;
    *piece_count = count;
    /* A body that was cut off must not pass for one with fewer parts. */
    return count == 0 || !ended ? ERR_MALFORMED : OK;
}

enum err multipart_read(struct arena *arena, struct slice body, struct slice boundary,
                        const struct multipart_part **parts, size_t *part_count)
{
    const struct multipart_piece *pieces;
    enum err err = multipart_split(arena, body, boundary, MULTIPART_PARTS_MAX, &pieces, part_count);
    if (err != OK)
        return err;
    struct multipart_part *found = arena_alloc(arena, *part_count * sizeof(*found));
    for (size_t i = 0; i < *part_count && err == OK; i++)
        err = multipart_read_request(arena, &pieces[i], &found[i]);
    *parts = found;
    return err;
}
