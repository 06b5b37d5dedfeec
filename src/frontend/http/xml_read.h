/*
 * xml_read.h - XML documents that clients send: block lists, access policies, properties, tags.
 *
 * libxml2 does the parsing, with entity expansion, external entities and network access off; what
 * comes out is a small tree in the request's arena.  Attributes, comments and namespaces are
 * dropped: the services use none.  Documents have been bounded in size before; depth and number of
 * elements are bounded here, since an element of four characters costs a hundred bytes of memory.
 */
#ifndef FRONTEND_HTTP_XML_READ_H
#define FRONTEND_HTTP_XML_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

enum {
    XML_DEPTH_MAX = 16,
    XML_ELEMENTS_MAX = 60000, /* the longest document is a block list of 50,000 */
};

/* An element. */
struct xml_node {
    struct slice name; /* without a namespace prefix */
    struct slice text; /* all character data directly inside it */
    struct xml_node *first_child;
    struct xml_node *next;       /* the next child of the same parent */
    struct xml_node *last_child; /* while reading */
    uint32_t child_count;
    int line; /* where its text begins; both from 1 on */
    int column;
};

/* Where reading failed, for the error's body. */
struct xml_fault {
    int line;
    int column;
    const char *reason; /* a static sentence */
    bool is_too_long;   /* it is, or might be, well-formed, but has too many elements */
};

/* Parse a document; `*root` is its outermost element.  ERR_INVALID_XML, and `fault` says where. */
MUST_CHECK enum err xml_parse(struct arena *arena, struct slice document, struct xml_node **root,
                              struct xml_fault *fault);

/*
 * The same for a long document, of which only one child of the outermost element is kept at a time:
 * `fn` is called with each when it has been read, and the node is valid during the call.  What it
 * was called with counts only if all of the document is good.  `*root` has no children, but their
 * number.
 */
typedef void xml_child_fn(void *arg, const struct xml_node *child);

MUST_CHECK enum err xml_each_child(struct arena *arena, struct slice document, xml_child_fn *fn,
                                   void *arg, struct xml_node **root, struct xml_fault *fault);

/* The first child of that name, or NULL. */
struct xml_node *xml_find(const struct xml_node *node, const char *name);

/* The element's text without surrounding white space. */
struct slice xml_text(const struct xml_node *node);

/* The text of that child without surrounding white space; empty when there is none. */
struct slice xml_child_text(const struct xml_node *node, const char *name);

#endif
