/*
 * api_odata.h - what the operations of the table service read from requests and write to answers.
 *
 * Functions that look at headers take the message apart from the request: in a batch it is that of
 * one part.
 */
#ifndef FRONTEND_HTTP_API_ODATA_H
#define FRONTEND_HTTP_API_ODATA_H

#include <stdbool.h>

#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/http_request.h"
#include "frontend/http/odata_write.h"
#include "service/table/plan.h"
#include "service/table/table.h"

/* The table that the request's path names. */
struct table_name api_table_name(const struct http_request *request);

/* Note what to tell the client in place of the error's usual message, and pass the error on. */
enum err api_odata_fault(struct http_request *request, enum err err, struct slice message);

/* --- arguments --- */

/*
 * How the client wants its answer: $format, else Accept, else minimal metadata.  `format` is filled
 * but for the table and the selection.
 *   ERR_ATOM, ERR_MEDIA_TYPE
 */
MUST_CHECK enum err api_odata_format(struct http_request *request,
                                     const struct http_message *message,
                                     struct odata_format *format);

/* Whether the body is said to be JSON, or not said to be anything.  ERR_ATOM, ERR_MEDIA_TYPE */
MUST_CHECK enum err api_check_json(const struct http_message *message);

/* Whether who makes an entity or a table wants to have it back. */
enum api_preference {
    PREFER_NOTHING, /* that is, yes */
    PREFER_CONTENT,
    PREFER_NO_CONTENT,
};

enum api_preference api_preference(const struct http_message *message);

/* $top; LIMIT_QUERY_RESULTS_MAX when there is none.  ERR_OUT_OF_RANGE_INPUT, ERR_INVALID_INPUT */
MUST_CHECK enum err api_top(struct http_request *request, size_t *results_max);

/* $filter; `*filter` is NULL when there is none.  The errors of filter_parse, and
   ERR_INVALID_INPUT for what is no UTF-8. */
MUST_CHECK enum err api_filter(struct http_request *request, const struct filter **filter);

/* The place a continuation token in that parameter stands for.  ERR_INVALID_INPUT */
MUST_CHECK enum err api_continuation(struct http_request *request, const char *parameter,
                                     bool *present, struct slice *place);

/* The keys that a SAS lets the caller see and change. */
struct plan_window api_key_window(const struct http_request *request);

/* Whether the SAS of a table, if the request has one, is for this table: a batch names it late. */
bool api_may_use_table(const struct http_request *request, struct slice table);

/* --- answers --- */

/* What every answer of the service about tables and entities has. */
void api_begin_odata(struct http_response *response, struct arena *arena, unsigned status);

void api_add_preference(struct http_response *response, enum api_preference preference);

/* The JSON that was written. */
void api_add_json(struct http_response *response, const struct odata_format *format,
                  const struct strbuf *body);

/* Location, and with `no_content` DataServiceId, of what was made: endpoint and path. */
void api_add_location(struct http_response *response, const struct odata_format *format,
                      const struct strbuf *path, bool no_content);

/* ETag of an entity. */
void api_add_entity_etag(struct http_response *response, int64_t timestamp);

#endif
