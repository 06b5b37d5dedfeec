#include "frontend/http/xml_read.h"

#include <assert.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <limits.h>
#include <string.h>

#include "base/log.h"

enum {
    /* The parser copies what it is given, and gets it in pieces of this size. */
    PIECE_BYTES = 16 * 1024,
};

/* The tree while it is being read. */
struct reading {
    struct arena *arena;
    xml_child_fn *fn; /* for each child of the root, which is not kept then; or NULL */
    void *arg;
    struct arena child_arena;             /* of that child */
    struct xml_node *open[XML_DEPTH_MAX]; /* from the root to the element being read */
    size_t text_room[XML_DEPTH_MAX];      /* for their texts */
    size_t depth;
    size_t element_count;
    struct xml_node *root;
    xmlParserCtxtPtr parser;
    const char *reason; /* set when we, not libxml2, refuse the document */
};

static void refuse(struct reading *reading, const char *reason)
{
    reading->reason = reason;
    xmlStopParser(reading->parser);
}

/* Where what is inside the element being read goes. */
static struct arena *arena_of(struct reading *reading)
{
    return reading->fn != NULL && reading->depth > 0 ? &reading->child_arena : reading->arena;
}

/* Most elements of a long document have the name of the one before. */
static struct slice copy_name(struct reading *reading, const struct xml_node *parent,
                              struct slice name)
{
    const struct xml_node *before = parent == NULL ? NULL : parent->last_child;
    return before != NULL && slice_equal(before->name, name) ? before->name
                                                             : arena_copy(arena_of(reading), name);
}

static void add_child(struct xml_node *parent, struct xml_node *node)
{
    if (parent->last_child == NULL)
        parent->first_child = node;
    else
        parent->last_child->next = node;
    parent->last_child = node;
    parent->child_count++;
}

static void start_element(void *ctx, const xmlChar *localname, const xmlChar *prefix,
                          const xmlChar *uri, int namespace_count, const xmlChar **namespaces,
                          int attribute_count, int defaulted_count, const xmlChar **attributes)
{
    struct reading *reading = ctx;
    (void)prefix;
    (void)uri;
    (void)namespace_count;
    (void)namespaces;
    (void)attribute_count;
    (void)defaulted_count;
    (void)attributes;
    if (reading->reason != NULL)
        return;
    if (reading->depth == XML_DEPTH_MAX) {
        refuse(reading, "The document is nested too deeply.");
        return;
    }
    if (reading->element_count++ == XML_ELEMENTS_MAX) {
        refuse(reading, "The document has too many elements.");
        return;
    }
    struct xml_node *node = arena_alloc(arena_of(reading), sizeof(*node));
    node->line = reading->parser->input->line;
    node->column = reading->parser->input->col;
    struct xml_node *parent = reading->depth == 0 ? NULL : reading->open[reading->depth - 1];
    node->name = copy_name(reading, parent, slice_of((const char *)localname));
    if (parent == NULL)
        reading->root = node;
    else
        add_child(parent, node);
    reading->text_room[reading->depth] = 0;
    reading->open[reading->depth++] = node;
}

static void end_element(void *ctx, const xmlChar *localname, const xmlChar *prefix,
                        const xmlChar *uri)
{
    struct reading *reading = ctx;
    (void)localname;
    (void)prefix;
    (void)uri;
    if (reading->reason != NULL || reading->depth == 0)
        return;
    reading->depth--;
    if (reading->fn == NULL || reading->depth != 1)
        return;
    reading->fn(reading->arg, reading->open[1]);
    reading->root->first_child = reading->root->last_child = NULL;
    arena_clear(&reading->child_arena);
}

static void characters(void *ctx, const xmlChar *text, int len)
{
    struct reading *reading = ctx;
    if (reading->reason != NULL || reading->depth == 0 || len <= 0)
        return;
    struct xml_node *node = reading->open[reading->depth - 1];
    size_t *room = &reading->text_room[reading->depth - 1];
    struct arena *arena =
        reading->fn != NULL && reading->depth > 1 ? &reading->child_arena : reading->arena;
    const size_t joined_len = node->text.len + (size_t)len;
    /* Mostly one piece; pieces around entities and children are joined, in room that doubles. */
    if (joined_len > *room) {
        const size_t doubled = 2 * *room;
        *room = joined_len > doubled ? joined_len : doubled;
        char *joined = arena_bytes(arena, *room);
        if (node->text.len > 0)
            memcpy(joined, node->text.data, node->text.len);
        node->text.data = joined;
    }
    memcpy((char *)(uintptr_t)node->text.data + node->text.len, text, (size_t)len);
    node->text.len = joined_len;
}

static void declaration(void *ctx, const xmlChar *name, const xmlChar *external_id,
                        const xmlChar *system_id)
{
    struct reading *reading = ctx;
    (void)name;
    (void)external_id;
    (void)system_id;
    refuse(reading, "A document type declaration is not allowed.");
}

/* libxml2 would print its complaints; the client gets them instead. */
static void silence(void *ctx, xmlErrorPtr error)
{
    (void)ctx;
    (void)error;
}

static void note_fault(const struct reading *reading, struct xml_fault *fault)
{
    const xmlError *error = xmlCtxtGetLastError(reading->parser);
    fault->line = error == NULL ? 0 : error->line;
    fault->column = error == NULL ? 0 : error->int2;
    fault->reason =
        reading->reason != NULL ? reading->reason : "The document is not well-formed XML.";
    fault->is_too_long = reading->element_count > XML_ELEMENTS_MAX;
}

/* Give the parser all of the document.  True if it has no complaint. */
static bool feed(struct reading *reading, struct slice document)
{
    int failed = 0;
    do {
        const struct slice piece = slice_head(document, PIECE_BYTES);
        document = slice_from(document, piece.len);
        failed = xmlParseChunk(reading->parser, piece.data, (int)piece.len, document.len == 0);
    } while (failed == 0 && reading->reason == NULL && document.len > 0);
    return failed == 0 && reading->reason == NULL && reading->root != NULL &&
           reading->parser->wellFormed;
}

static enum err parse(struct reading *reading, struct slice document, struct xml_node **root,
                      struct xml_fault *fault)
{
    if (document.len > INT_MAX) {
        *fault = (struct xml_fault){ .reason = "The document is too long." };
        return ERR_INVALID_XML;
    }
    xmlSAXHandler handler = {
        .initialized = XML_SAX2_MAGIC,
        .startElementNs = start_element,
        .endElementNs = end_element,
        .characters = characters,
        .cdataBlock = characters,
        .internalSubset = declaration,
        .serror = silence,
    };
    reading->parser = xmlCreatePushParserCtxt(&handler, reading, NULL, 0, NULL);
    if (reading->parser == NULL)
        panic("no memory for an XML parser");
    xmlCtxtUseOptions(reading->parser, XML_PARSE_NONET);
    const bool good = feed(reading, document);
    if (!good)
        note_fault(reading, fault);
    xmlFreeParserCtxt(reading->parser);
    arena_release(&reading->child_arena);
    *root = reading->root;
    return good ? OK : ERR_INVALID_XML;
}

enum err xml_parse(struct arena *arena, struct slice document, struct xml_node **root,
                   struct xml_fault *fault)
{
    struct reading reading = { .arena = arena };
    return parse(&reading, document, root, fault);
}

enum err xml_each_child(struct arena *arena, struct slice document, xml_child_fn *fn, void *arg,
                        struct xml_node **root, struct xml_fault *fault)
{
    struct reading reading = { .arena = arena, .fn = fn, .arg = arg };
    return parse(&reading, document, root, fault);
}

struct xml_node *xml_find(const struct xml_node *node, const char *name)
{
    for (struct xml_node *child = node->first_child; child != NULL; child = child->next)
        if (slice_is(child->name, name))
            return child;
    return NULL;
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

struct slice xml_text(const struct xml_node *node)
{
    struct slice text = node->text;
    while (text.len > 0 && is_space(text.data[0]))
        text = slice_make(text.data + 1, text.len - 1);
    while (text.len > 0 && is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

struct slice xml_child_text(const struct xml_node *node, const char *name)
{
    const struct xml_node *child = xml_find(node, name);
    return child == NULL ? (struct slice){ 0 } : xml_text(child);
}
