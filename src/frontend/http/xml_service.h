/*
 * xml_service.h - <StorageServiceProperties> on the wire.
 */
#ifndef FRONTEND_HTTP_XML_SERVICE_H
#define FRONTEND_HTTP_XML_SERVICE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "frontend/http/xml_read.h"
#include "service/service_properties.h"

/*
 * Read a document of a service that has the parts in `allowed`.  `*parts` says which it has; a part
 * that is there is whole.  Slices live in the arena.  ERR_INVALID_XML, and `fault` says why.
 */
MUST_CHECK enum err xml_service_read(struct arena *arena, struct slice document, unsigned allowed,
                                     struct service_properties *properties, unsigned *parts,
                                     struct xml_fault *fault);

/* The whole document of a service that has these parts, byte order mark included. */
void xml_service_write(struct strbuf *out, const struct service_properties *properties,
                       unsigned parts);

#endif
