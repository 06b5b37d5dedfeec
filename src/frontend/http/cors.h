/*
 * cors.h - Cross-Origin Resource Sharing: which pages of other origins may use the service.
 *
 * Rules are looked at in order; the first whose origins and methods fit decides.  A preflight
 * (OPTIONS) fails unless that rule also allows every header the page wants to send.  An actual
 * request is performed whatever the rules say; without a rule its answer just carries no
 * permission, and the browser withholds it from the page.
 *
 * Pure functions over the rules.
 */
#ifndef FRONTEND_HTTP_CORS_H
#define FRONTEND_HTTP_CORS_H

#include <stdbool.h>

#include "base/slice.h"
#include "frontend/http/http_response.h"
#include "service/service_properties.h"

/* The first rule for this origin and method, or NULL. */
const struct cors_rule *cors_find(const struct cors_rules *rules, struct slice origin,
                                  struct slice method);

/* Whether the rule allows every one of the headers, which are separated by commas. */
bool cors_allows_headers(const struct cors_rule *rule, struct slice headers);

/* Whether the rule's origins are "*". */
bool cors_allows_every_origin(const struct cors_rule *rule);

/* The headers of an actual request's answer.  `rule` is NULL when none fits; `is_read` for GET and
   HEAD. */
void cors_add_headers(struct http_response *response, const struct cors_rules *rules,
                      const struct cors_rule *rule, struct slice origin, bool is_read);

#endif
