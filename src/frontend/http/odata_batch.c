#include "frontend/http/odata_batch.h"

#include "service/limits.h"

/* --- reading --- */

static enum err read_changeset(struct arena *arena, const struct multipart_piece *piece,
                               struct odata_batch *batch)
{
    struct slice boundary;
    if (multipart_boundary(multipart_header(piece, "Content-Type"), &boundary) != OK)
        return ERR_INVALID_INPUT;
    const enum err err =
        multipart_read(arena, piece->content, boundary, &batch->parts, &batch->part_count);
    if (err == ERR_OUT_OF_RANGE || (err == OK && batch->part_count > LIMIT_GROUP_OPERATIONS))
        return ERR_GROUP_TOO_LONG;
    return err == OK ? OK : ERR_INVALID_INPUT;
}

static enum err read_query(struct arena *arena, const struct multipart_piece *piece,
                           struct odata_batch *batch)
{
    struct multipart_part *part = arena_alloc(arena, sizeof(*part));
    batch->parts = part;
    batch->part_count = 1;
    if (multipart_read_request(arena, piece, part) != OK || !slice_is(part->method, "GET"))
        return ERR_INVALID_INPUT;
    return OK;
}

enum err odata_batch_read(struct arena *arena, struct slice content_type, struct slice body,
                          struct odata_batch *batch)
{
    const struct multipart_piece *piece;
    struct slice boundary;
    size_t count;
    *batch = (struct odata_batch){ 0 };
    if (multipart_boundary(content_type, &boundary) != OK ||
        multipart_split(arena, body, boundary, 1, &piece, &count) != OK)
        return ERR_INVALID_INPUT;
    batch->is_changeset =
        !slice_equal_nocase(multipart_header(piece, "Content-Type"), slice_of("application/http"));
    return batch->is_changeset ? read_changeset(arena, piece, batch)
                               : read_query(arena, piece, batch);
}

/* --- writing --- */

static const char *phrase_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *phrase;
    } phrases[] = {
        { 200, "OK" },
        { 201, "Created" },
        { 202, "Accepted" },
        { 204, "No Content" },
        { 400, "Bad Request" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 409, "Conflict" },
        { 411, "Length Required" },
        { 412, "Precondition Failed" },
        { 413, "Request Entity Too Large" },
        { 415, "Unsupported Media Type" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
    };
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return status < 400 ? "OK" : "Error";
}

void odata_batch_begin(struct odata_batch_answer *answer, struct strbuf *out, const char *id,
                       bool is_changeset)
{
    *answer = (struct odata_batch_answer){ .out = out, .id = id, .is_changeset = is_changeset };
    strbuf_printf(out, "--batchresponse_%s\r\n", id);
    if (is_changeset)
        strbuf_printf(out, "Content-Type: multipart/mixed; boundary=changesetresponse_%s\r\n\r\n",
                      id);
}

void odata_batch_add(struct odata_batch_answer *answer, const struct http_response *response)
{
    struct strbuf *out = answer->out;
    if (answer->is_changeset)
        strbuf_printf(out, "--changesetresponse_%s\r\n", answer->id);
    strbuf_printf(out,
                  "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
                  "HTTP/1.1 %u %s\r\n",
                  response->status, phrase_of(response->status));
    for (size_t i = 0; i < response->header_count; i++) {
        strbuf_add(out, response->headers[i].name);
        strbuf_add_text(out, ": ");
        strbuf_add(out, response->headers[i].value);
        strbuf_add_text(out, "\r\n");
    }
    strbuf_add_text(out, "\r\n");
    strbuf_add(out, response->body);
    strbuf_add_text(out, "\r\n");
}

void odata_batch_end(struct odata_batch_answer *answer)
{
    if (answer->is_changeset)
        strbuf_printf(answer->out, "--changesetresponse_%s--\r\n", answer->id);
    strbuf_printf(answer->out, "--batchresponse_%s--\r\n", answer->id);
}

struct slice odata_batch_content_type(struct arena *arena, const char *id)
{
    return arena_printf(arena, "multipart/mixed; boundary=batchresponse_%s", id);
}
