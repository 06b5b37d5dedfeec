/*
 * api_hash.h - the hashes that clients send with bodies and get back: Content-MD5 and
 * x-ms-content-crc64.
 */
#ifndef FRONTEND_HTTP_API_HASH_H
#define FRONTEND_HTTP_API_HASH_H

#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_request.h"

/* What the client says about a body; each is empty if it says nothing. */
struct api_hashes {
    struct slice md5;
    struct slice crc64;
};

/* An MD5 in base64; empty when the header is absent.  ERR_INVALID_MD5. */
MUST_CHECK enum err api_read_md5(struct http_request *request, const char *header,
                                 struct slice *md5);

/* Content-MD5 and x-ms-content-crc64.  ERR_INVALID_MD5, ERR_BOTH_MD5_AND_CRC64,
   ERR_INVALID_HEADER */
MUST_CHECK enum err api_read_hashes(struct http_request *request, struct api_hashes *hashes);

/* Compare with what the body has; `md5` may be NULL when none was given to compare with.
   ERR_MD5_MISMATCH, ERR_CRC64_MISMATCH. */
MUST_CHECK enum err api_check_hashes(struct http_request *request, const struct api_hashes *hashes,
                                     const uint8_t md5[DIGEST_MD5_BYTES], uint64_t crc64);

/* The same for the body that was kept. */
MUST_CHECK enum err api_check_body(struct http_request *request, const struct api_hashes *hashes);

/* Begin to receive a body that becomes a part of a blob: its MD5 is neither stored nor answered
   unless the client has sent one.  ERR_NO_SPACE, ERR_IO. */
MUST_CHECK enum err api_begin_part(struct http_request *request, const struct api_hashes *hashes);

/*
 * The hash that is answered when a body's hash is not stored: the MD5 if the client sent one, else
 * the CRC64, since 2019-02-02.
 */
void api_add_hashes(struct http_request *request, const struct api_hashes *hashes, uint64_t crc64);

#endif
