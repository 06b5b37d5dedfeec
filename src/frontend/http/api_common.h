/*
 * api_common.h - what several operations read from requests or write to responses.
 */
#ifndef FRONTEND_HTTP_API_COMMON_H
#define FRONTEND_HTTP_API_COMMON_H

#include <stddef.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "frontend/http/http_request.h"
#include "frontend/http/xml_read.h"
#include "service/blob/blob.h"
#include "service/blob/container.h"
#include "service/lease.h"

struct container_name api_container_name(const struct http_request *request);
struct blob_name api_blob_name(const struct http_request *request);

/* --- arguments --- */

/* A lease id, proposed or active, from the header; ERR_MISSING_HEADER, ERR_INVALID_HEADER. */
MUST_CHECK enum err api_uuid(struct http_request *request, const char *header, struct uuid *id);

/* The arguments of a lease action, by the row the request was routed to. */
MUST_CHECK enum err api_lease_request(struct http_request *request, struct lease_request *lease);

/* maxresults of a listing. */
MUST_CHECK enum err api_results_max(struct http_request *request, size_t *results_max);

/*
 * The `marker` of a listing or search, decoded.  A marker is opaque to clients: "2!", the length of
 * the base64 that follows, "!", and the base64 of the place.  Any other text is taken for the place
 * itself.  ERR_INVALID_QUERY_PARAMETER.
 */
MUST_CHECK enum err api_read_marker(struct http_request *request, struct slice *place);

/*
 * The `include` parameter of a listing, which may be repeated and has words separated by commas.
 * `words` are those the operation knows, ended by NULL; bit i of `*included` says that words[i] was
 * given.
 */
MUST_CHECK enum err api_include(struct http_request *request, const char *const words[],
                                unsigned *included);

/* The common part of a change to a blob: all that does not depend on the operation. */
void api_fill_blob_change(struct http_request *request, struct blob_change *change);

/*
 * The stored properties of a blob but its MD5, from the x-ms-blob-* headers; where they are absent,
 * Put Blob takes the plain ones.  ERR_INVALID_HEADER.
 */
MUST_CHECK enum err api_read_properties(struct http_request *request, bool plain_too,
                                        struct blob_properties *properties);

/*
 * Put Blob without a body: the change with its properties.  Content-Type has its default.
 *   ERR_INVALID_HEADER, ERR_INVALID_MD5
 */
MUST_CHECK enum err api_create_blob(struct http_request *request, struct blob_change *change);

/* A header that is a number up to `number_max`; ERR_INVALID_HEADER. */
MUST_CHECK enum err api_number_header(struct http_request *request, const char *header,
                                      uint64_t number_max, bool *present, uint64_t *number);

/* ERR_BODY_TOO_LARGE when the body is longer than that. */
MUST_CHECK enum err api_check_body_length(struct http_request *request, uint64_t bytes_max);

/* ERR_NOT_IMPLEMENTED when the bytes are to be taken from a URL instead of the body. */
MUST_CHECK enum err api_refuse_copy_source(struct http_request *request);

/* What Set Blob Properties changes of page blobs alone (api_page.c); `*page` is NULL for nothing.
   ERR_INVALID_HEADER, ERR_MISSING_HEADER */
MUST_CHECK enum err api_page_properties(struct http_request *request,
                                        const struct page_properties **page);

/* x-ms-blob-public-access; ERR_INVALID_HEADER. */
MUST_CHECK enum err api_read_public_access(struct http_request *request,
                                           enum public_access *access);

/* Note where a document is at fault; passes ERR_INVALID_XML on. */
enum err api_fault_xml(struct http_request *request, const struct xml_fault *fault);

/* --- responses --- */

/* The CORS headers of an answer, when the request says which origin it comes from. */
MUST_CHECK enum err api_add_cors(struct http_request *request);

/* The word of x-ms-blob-public-access, or NULL when there is none. */
const char *api_public_access(enum public_access access);

void api_add_metadata(struct http_response *response, const struct metadata *metadata);
void api_add_lease(struct http_response *response, const struct lease *lease);

/* x-ms-version-id of the version that a change made; 0: it made none. */
void api_add_version(struct http_request *request, int64_t version_id);

/* The x-ms-copy-* headers of a blob that was made by a copy. */
void api_add_copy(struct http_response *response, const struct blob_copy *copy);

/* The words of x-ms-lease-status, x-ms-lease-state and x-ms-lease-duration; the last may be
   NULL. */
const char *api_lease_status(const struct lease *lease);
const char *api_lease_state(const struct lease *lease);
const char *api_lease_duration(const struct lease *lease);

/* The answer to a lease action that succeeded. */
void api_respond_lease(struct http_request *request, const struct lease_request *lease,
                       int64_t etag);

/* The opening of a listing, up to the element that holds the entries; and that of a search. */
void api_begin_listing(struct http_request *request, struct strbuf *body);
void api_begin_search(struct http_request *request, struct strbuf *body);

/* The end of a listing of the account's containers or queues, behind its entries; the marker is
   the name the next page begins with, or empty. */
void api_end_account_listing(struct http_request *request, struct strbuf *body, struct slice next);

/* The marker of bytes that say where the next page begins; empty for none. */
struct slice api_make_marker(struct arena *arena, struct slice place);

/* <Tags> of an entry, and the body of Get Blob Tags. */
void api_list_tags(struct strbuf *body, const struct metadata *tags);

/* The word of x-ms-blob-type. */
const char *api_blob_type(enum blob_type type);

/* The access tier, and how far a blob is on its way out of the archive: block blobs alone. */
void api_add_tier(struct http_response *response, const struct blob *blob);

/* <Metadata> of an entry. */
void api_list_metadata(struct strbuf *body, const struct metadata *metadata);

#endif
