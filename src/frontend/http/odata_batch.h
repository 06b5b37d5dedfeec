/*
 * odata_batch.h - entity group transactions: the body of a request to $batch and of its answer.
 *
 *   --batch CRLF                                         --batchresponse_<id> CRLF
 *   Content-Type: multipart/mixed; boundary=changeset    Content-Type: multipart/mixed; ...
 *   CRLF CRLF                                            CRLF CRLF
 *   --changeset CRLF                                     --changesetresponse_<id> CRLF
 *   Content-Type: application/http CRLF ...              Content-Type: application/http CRLF ...
 *   POST http://host/T HTTP/1.1 CRLF                     HTTP/1.1 204 No Content CRLF
 *   Content-Type: application/json CRLF ... CRLF         ETag: ... CRLF ... CRLF
 *   {"PartitionKey":...} CRLF                            CRLF
 *   --changeset-- CRLF                                   --changesetresponse_<id>-- CRLF
 *   --batch-- CRLF                                       --batchresponse_<id>-- CRLF
 *
 * There is one change set, or in its place one GET, whose part and whose answer stand in the batch
 * itself.  Multipart is read as multipart.h says.
 */
#ifndef FRONTEND_HTTP_ODATA_BATCH_H
#define FRONTEND_HTTP_ODATA_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "frontend/http/http_response.h"
#include "frontend/http/multipart.h"

struct odata_batch {
    bool is_changeset; /* else a request that is no change, and the only one */
    const struct multipart_part *parts;
    size_t part_count; /* at least 1 */
};

/*
 * Take a body apart, whose Content-Type header is given.  Everything points into the body or is in
 * the arena.
 *   ERR_INVALID_INPUT    it is not in the form above
 *   ERR_GROUP_TOO_LONG   there are more than LIMIT_GROUP_OPERATIONS changes
 */
MUST_CHECK enum err odata_batch_read(struct arena *arena, struct slice content_type,
                                     struct slice body, struct odata_batch *batch);

/* An answer being written.  The fields are for odata_batch.c. */
struct odata_batch_answer {
    struct strbuf *out;
    const char *id; /* names the boundaries; kept */
    bool is_changeset;
};

void odata_batch_begin(struct odata_batch_answer *answer, struct strbuf *out, const char *id,
                       bool is_changeset);
void odata_batch_add(struct odata_batch_answer *answer, const struct http_response *response);
void odata_batch_end(struct odata_batch_answer *answer);

/* The Content-Type of the answer, in the arena. */
struct slice odata_batch_content_type(struct arena *arena, const char *id);

#endif
