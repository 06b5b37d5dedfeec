/*
 * copy_source.h - what x-ms-copy-source and the headers about it say, and whether the caller may
 * read what they name.
 *
 * A URL is of this server if it has the port and the host the request itself was sent to, or an
 * account of this server in front of the same domain (host style); localhost and 127.0.0.1 are the
 * same host.  Such a source is read from the store.  Everything else is fetched by HTTP.
 *
 * A copy must not read what its caller may not.  For a source of this server:
 *   - the account's key covers every source in that account;
 *   - any other caller (by SAS, or a source in another account) needs a URL that can be read by
 *     itself: with a SAS that allows reading, or in a public container.  The URL goes through the
 *     same functions as the GET that it stands for.
 * For a source elsewhere the other server decides.
 */
#ifndef FRONTEND_HTTP_COPY_SOURCE_H
#define FRONTEND_HTTP_COPY_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_range.h"
#include "frontend/http/http_request.h"
#include "service/account.h"
#include "service/blob/blob.h"
#include "service/condition.h"
#include "service/file/node.h"
#include "service/payload.h"

/* --- URLs --- */

/* A value over the text. */
struct copy_url {
    bool is_https;
    struct slice authority; /* host and port as written */
    struct slice host;
    unsigned port;       /* the scheme's if none is written */
    struct slice target; /* path and query */
};

/* An absolute http or https URL, percent-encoded, without user and fragment.  ERR_MALFORMED. */
MUST_CHECK enum err copy_url_parse(struct slice text, struct copy_url *url);

/*
 * The text, in the arena, without the parameter `sig`. A SAS by which a source is read was given to
 * whoever makes the copy, not to everybody who may read that and is shown where it is from.
 */
struct slice copy_url_without_signature(struct arena *arena, struct slice text);

/* Whether it addresses the server that a request with this Host header has reached. */
bool copy_url_is_here(const struct copy_url *url, struct slice own_host, bool own_https,
                      const struct account_list *accounts);

/*
 * The request that a URL of this server stands for, as if this request's client had sent it with
 * that method and no header.  Its target is still to be parsed.
 */
struct http_request *copy_url_request(struct http_request *request, const struct copy_url *url,
                                      const char *method);

/* --- sources --- */

struct copy_source {
    struct slice text;  /* the header */
    struct slice shown; /* the same without its signature, for whoever may read the copy */
    bool is_here;
    struct blob_name name; /* of a source here, in the blob service */
    struct node_name file; /* the same in the file service */
    bool may_read_tags;    /* the same */
    struct condition condition;
    bool has_range;
    struct http_range range;
};

/*
 * Read x-ms-copy-source, the x-ms-source-if-* conditions and x-ms-source-range; check that the
 * caller may read a source here.
 *   ERR_MISSING_HEADER, ERR_INVALID_HEADER
 *   ERR_COPY_SOURCE_UNAUTHORIZED, ERR_COPY_SOURCE_FORBIDDEN, ERR_COPY_SOURCE_NOT_FOUND
 */
MUST_CHECK enum err copy_source_read(struct http_request *request, struct copy_source *source);

/*
 * Open a source here: its record and its bytes, in the request's arena.  The condition is checked
 * as for a read.
 *   ERR_COPY_SOURCE_NOT_FOUND, ERR_COPY_SOURCE_CONDITION, ERR_COPY_SOURCE_NOT_MODIFIED
 *   ERR_BLOB_ARCHIVED, ERR_BLOB_REHYDRATING
 */
MUST_CHECK enum err copy_source_open(struct http_request *request, const struct copy_source *source,
                                     struct blob *blob, struct payload_reader *payload);

/*
 * The headers of a GET of a source elsewhere, in the arena: conditions, range, version, and the
 * credential the client has passed for it.
 */
void copy_source_headers(const struct http_request *request, struct arena *arena,
                         const char ***headers, size_t *count);

#endif
