/*
 * xml_write.h - XML as the services write it: a byte order mark, the declaration, elements
 * without white space between them.
 */
#ifndef FRONTEND_HTTP_XML_WRITE_H
#define FRONTEND_HTTP_XML_WRITE_H

#include "base/slice.h"
#include "base/strbuf.h"

/* The mark and the declaration. */
void xml_begin_document(struct strbuf *out);

/* Text with & < > escaped.  Characters XML 1.0 cannot carry become U+FFFD. */
void xml_add_escaped(struct strbuf *out, struct slice text);

/* A space and name="value". */
void xml_add_attribute(struct strbuf *out, const char *name, struct slice value);

/* <name>text</name>, or <name /> when the text is empty. */
void xml_add_element(struct strbuf *out, const char *name, struct slice text);

/*
 * An element whose text is a resource's name.  A name with characters XML cannot carry is
 * percent-encoded and marked Encoded="true", as the service does it.
 */
void xml_add_name(struct strbuf *out, const char *element, struct slice name);

#endif
