/*
 * xml_policy.h - stored access policies on the wire: <SignedIdentifiers>.
 *
 * The same for containers, queues, tables and shares.
 */
#ifndef FRONTEND_HTTP_XML_POLICY_H
#define FRONTEND_HTTP_XML_POLICY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "frontend/http/xml_read.h"
#include "service/access_policy.h"

/*
 * Read a document; an empty one gives no policies.  Slices live in the arena.
 *   ERR_INVALID_XML         not well-formed, not of this shape, or more than ACCESS_POLICIES_MAX
 *   ERR_INVALID_XML_VALUE   a date, a permission or an id that is none, or an id given twice
 */
MUST_CHECK enum err xml_policy_read(struct arena *arena, struct slice document,
                                    struct access_policies *policies, struct xml_fault *fault);

/* The whole document, byte order mark included. */
void xml_policy_write(struct strbuf *out, const struct access_policies *policies);

#endif
