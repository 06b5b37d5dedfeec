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
#include "service/blob/container.h"
#include "service/lease.h"

struct container_name api_container_name(const struct http_request *request);

/* --- arguments --- */

/* A lease id, proposed or active, from the header; ERR_MISSING_HEADER, ERR_INVALID_HEADER. */
MUST_CHECK enum err api_uuid(struct http_request *request, const char *header, struct uuid *id);

/* The arguments of a lease action, by the row the request was routed to. */
MUST_CHECK enum err api_lease_request(struct http_request *request, struct lease_request *lease);

/* maxresults of a listing. */
MUST_CHECK enum err api_results_max(struct http_request *request, size_t *results_max);

/*
 * The `include` parameter of a listing, which may be repeated and has words separated by commas.
 * `words` are those the operation knows, ended by NULL; bit i of `*included` says that words[i] was
 * given.
 */
MUST_CHECK enum err api_include(struct http_request *request, const char *const words[],
                                unsigned *included);

/* --- responses --- */

void api_add_metadata(struct http_response *response, const struct metadata *metadata);
void api_add_lease(struct http_response *response, const struct lease *lease);

/* The words of x-ms-lease-status, x-ms-lease-state and x-ms-lease-duration; the last may be
   NULL. */
const char *api_lease_status(const struct lease *lease);
const char *api_lease_state(const struct lease *lease);
const char *api_lease_duration(const struct lease *lease);

/* The answer to a lease action that succeeded. */
void api_respond_lease(struct http_request *request, const struct lease_request *lease,
                       int64_t etag);

/* The opening of a listing, up to the element that holds the entries. */
void api_begin_listing(struct http_request *request, struct strbuf *body);

/* <Metadata> of an entry. */
void api_list_metadata(struct strbuf *body, const struct metadata *metadata);

#endif
