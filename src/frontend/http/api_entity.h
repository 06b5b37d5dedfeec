/*
 * api_entity.h - one operation on an entity, asked for alone (api_entity.c) or as a part of an
 * entity group transaction (api_group.c).
 */
#ifndef FRONTEND_HTTP_API_ENTITY_H
#define FRONTEND_HTTP_API_ENTITY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/slice.h"
#include "frontend/http/api_odata.h"
#include "service/table/entity.h"

/* What was asked for, and how its answer is to be written. */
struct entity_ask {
    struct entity_operation operation;
    struct odata_format format;
    enum api_preference preference;
    bool in_group;
};

/*
 * Read all but the body: `message` and `address` are the request's or the part's.
 *   ERR_UNSUPPORTED_VERB            no such operation on such a resource
 *   ERR_ATOM, ERR_MEDIA_TYPE        the form of the body or of the answer
 *   ERR_INVALID_INPUT, ERR_INVALID_ETAG, ERR_MISSING_HEADER   the conditions
 *   ERR_AUTHORIZATION_PERMISSION, ERR_AUTHORIZATION_FAILED    what a SAS does not allow
 */
MUST_CHECK enum err entity_ask_begin(struct http_request *request,
                                     const struct http_message *message, enum http_method method,
                                     const struct http_address *address, struct entity_ask *ask);

/*
 * Read the body of an operation that has one.
 *   the errors of odata_read_entity
 *   ERR_PROPERTIES_NEED_VALUE   a key is missing from an insert
 *   ERR_ENTITY_MALFORMED        a key is not the one in the path
 *   ERR_AUTHORIZATION_FAILED    a SAS does not allow the key
 */
MUST_CHECK enum err entity_ask_read(struct http_request *request, struct slice body,
                                    struct entity_ask *ask);

/* The answer to an operation that was performed. */
void entity_ask_answer(const struct entity_ask *ask, int64_t etag, struct arena *arena,
                       struct http_response *response);

#endif
