#include "load_reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load_fail.h"

void reply_begin(struct reply *reply, bool has_no_body)
{
    reply->bytes.len = 0;
    reply->head_len = 0;
    reply->has_no_body = has_no_body;
}

/* The value of a line of the head, or NULL. */
static const char *header_find(const struct reply *reply, const char *name)
{
    const size_t name_len = strlen(name);
    const char *end = reply->bytes.data + reply->head_len;
    const char *line = reply->bytes.data;
    while ((line = memchr(line, '\n', (size_t)(end - line))) != NULL) {
        line++;
        if ((size_t)(end - line) > name_len && strncasecmp(line, name, name_len) == 0 &&
            line[name_len] == ':')
            return line + name_len + 1 + strspn(line + name_len + 1, " ");
    }
    return NULL;
}

unsigned reply_status(const struct reply *reply)
{
    return (unsigned)strtoul(reply->bytes.data + strlen("HTTP/1.1 "), NULL, 10);
}

/* Look for the end of the head, and how long the body is. */
static bool head_read(struct reply *reply)
{
    const char *data = reply->bytes.data;
    const char *end = memmem(data, reply->bytes.len, "\r\n\r\n", 4);
    if (end == NULL)
        return false;
    if (strncmp(data, "HTTP/1.1 ", 9) != 0)
        load_fail("not an answer: %.40s", data);
    reply->head_len = (size_t)(end + 4 - data);
    reply->body_len = 0;
    reply->chunk_at = reply->head_len;

    const char *length = header_find(reply, "Content-Length");
    const char *encoding = header_find(reply, "Transfer-Encoding");
    reply->chunked = encoding != NULL && strncasecmp(encoding, "chunked", 7) == 0;
    if (reply->has_no_body)
        return true;
    if (length != NULL)
        reply->body_len = strtoul(length, NULL, 10);
    else if (!reply->chunked && reply_status(reply) != 204)
        load_fail("an answer without a length:\n%.*s", (int)reply->head_len, data);
    return true;
}

/* Take the frames out of a chunked body, so far as it is there; whether it is whole. */
static bool chunks_read(struct reply *reply)
{
    struct text *bytes = &reply->bytes;
    for (;;) {
        char *size = bytes->data + reply->chunk_at;
        const char *line_end = memmem(size, bytes->len - reply->chunk_at, "\r\n", 2);
        if (line_end == NULL)
            return false;
        const size_t frame_len = (size_t)(line_end + 2 - size);
        const size_t chunk_len = strtoul(size, NULL, 16);
        if (bytes->len - reply->chunk_at < frame_len + chunk_len + 2)
            return false;
        if (chunk_len == 0) {
            reply->body_len = reply->chunk_at - reply->head_len;
            return true;
        }
        /* Over the frame go the chunk and all that follows, without the chunk's line end. */
        const size_t rest = reply->chunk_at + frame_len + chunk_len + 2;
        memmove(size, size + frame_len, chunk_len);
        memmove(size + chunk_len, bytes->data + rest, bytes->len - rest);
        bytes->len -= frame_len + 2;
        bytes->data[bytes->len] = '\0';
        reply->chunk_at += chunk_len;
    }
}

bool reply_is_whole(struct reply *reply)
{
    if (reply->head_len == 0 && !head_read(reply))
        return false;
    if (reply->chunked)
        return chunks_read(reply);
    return reply->bytes.len >= reply->head_len + reply->body_len;
}
