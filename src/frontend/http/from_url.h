/*
 * from_url.h - operations whose body comes from a URL: Put Blob From URL, Put Block From URL and
 * their kin.
 *
 * They are the operations of the same name with a body, but for where the body comes from: the
 * row's `prepare` reads the arguments and calls from_url_prepare, its `run` is from_url_run, which
 * fetches the source into request->body while the connection is suspended, and then performs the
 * operation by the function it was given.
 *
 * Threads: while the source is fetched the request belongs to the fetcher's thread.
 */
#ifndef FRONTEND_HTTP_FROM_URL_H
#define FRONTEND_HTTP_FROM_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "frontend/http/api_hash.h"
#include "frontend/http/copy_source.h"
#include "frontend/http/http_fetch.h"
#include "frontend/http/http_request.h"
#include "service/blob/blob.h"
#include "service/file/node.h"
#include "service/payload.h"

struct from_url {
    struct copy_source source;
    struct api_hashes *hashes; /* of what is fetched, as the client says */
    enum err (*run)(struct http_request *request);
    uint64_t bytes_max;
    bool may_be_empty;
    bool has_length; /* the source must have exactly `length_bytes` */
    uint64_t length_bytes;
    bool is_block_only;  /* a blob of another type is no source */
    bool is_hashed_only; /* of a source here: it is read for `md5` and `crc64` alone */

    /* known when `run` is called */
    struct blob_properties properties; /* of the source */
    struct metadata metadata;
    struct metadata tags; /* of a source here whose tags may be read */
    enum blob_type type;
    int64_t etag;                  /* of a source here */
    uint8_t md5[DIGEST_MD5_BYTES]; /* if it is only hashed */
    uint64_t crc64;

    /* for from_url.c */
    struct md5_ctx md5_ctx;
    struct http_fetch fetch;
    struct payload_reader reader;
    struct node_get file; /* a source here that is a file */
};

/*
 * Read what the request says about its source, and the hashes of it; `run` performs the operation.
 * The result is request->from_url; the caller may change what is above its "known" part.
 *   the errors of copy_source_read; ERR_INVALID_MD5, ERR_BOTH_MD5_AND_CRC64, ERR_INVALID_HEADER
 */
MUST_CHECK enum err from_url_prepare(struct http_request *request, uint64_t bytes_max,
                                     struct api_hashes *hashes,
                                     enum err (*run)(struct http_request *request));

/* The `run` of the rows. */
enum err from_url_run(struct http_request *request);

#endif
