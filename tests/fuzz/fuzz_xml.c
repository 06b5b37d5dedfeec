/*
 * fuzz_xml.c - documents that clients send: every reader of XML.
 *
 *   - Both ways of reading see the same document: as a tree, and one child at a time.
 *   - A tree is as deep and as large as it may be, not more.
 *   - Access policies and properties that were read are written and read again as the same.
 *   - Whatever text an element has, our own writer can say it so that it is read as the same.
 */
#include "base/encoding.h"
#include "frontend/http/api_queue.h"
#include "frontend/http/http_request.h"
#include "frontend/http/xml_policy.h"
#include "frontend/http/xml_read.h"
#include "frontend/http/xml_service.h"
#include "frontend/http/xml_write.h"
#include "fuzz.h"

/* Assert the bounds of a tree; the number of its elements. */
static size_t check_tree(const struct xml_node *node, size_t depth)
{
    assert(depth <= XML_DEPTH_MAX);
    assert(utf8_is_valid(node->name));
    assert(utf8_is_valid(node->text));
    assert(node->line > 0 && node->column > 0);
    size_t count = 1;
    uint32_t children = 0;
    for (const struct xml_node *child = node->first_child; child != NULL; child = child->next) {
        count += check_tree(child, depth + 1);
        children++;
    }
    assert(children == node->child_count);
    return count;
}

/* A text that was read is written and read again. */
static void check_text(struct arena *arena, struct slice text)
{
    struct strbuf out;
    strbuf_init(&out, arena);
    xml_begin_document(&out);
    xml_add_element(&out, "Text", text);
    struct xml_node *root;
    struct xml_fault fault;
    assert(xml_parse(arena, strbuf_slice(&out), &root, &fault) == OK);
    fuzz_assert_equal(root->text, text);
}

static void check_tree_texts(struct arena *arena, const struct xml_node *node)
{
    check_text(arena, node->text);
    for (const struct xml_node *child = node->first_child; child != NULL; child = child->next)
        check_tree_texts(arena, child);
}

struct children {
    const struct xml_node *next;
    size_t count;
};

static void compare_child(void *arg, const struct xml_node *child)
{
    struct children *children = arg;
    children->count++;
    if (children->next == NULL)
        return;
    fuzz_assert_equal(child->name, children->next->name);
    fuzz_assert_equal(child->text, children->next->text);
    assert(child->child_count == children->next->child_count);
    assert(child->line == children->next->line && child->column == children->next->column);
    children->next = children->next->next;
}

static void read_tree(struct arena *arena, struct slice document)
{
    struct xml_node *root = NULL;
    struct xml_node *bare = NULL;
    struct xml_fault fault = { 0 };
    struct xml_fault same_fault = { 0 };
    const enum err err = xml_parse(arena, document, &root, &fault);
    struct children children = { .next = err == OK ? root->first_child : NULL };
    const enum err same =
        xml_each_child(arena, document, compare_child, &children, &bare, &same_fault);
    assert(err == same);
    if (err != OK) {
        assert(err == ERR_INVALID_XML);
        assert(fault.reason != NULL);
        return;
    }
    assert(check_tree(root, 1) <= XML_ELEMENTS_MAX);
    assert(children.next == NULL && children.count == root->child_count);
    assert(bare->child_count == root->child_count);
    fuzz_assert_equal(bare->name, root->name);
    check_tree_texts(arena, root);
}

static void read_policies(struct arena *arena, struct slice document)
{
    struct access_policies policies = { 0 };
    struct access_policies again = { 0 };
    struct xml_fault fault = { 0 };
    if (xml_policy_read(arena, document, &policies, &fault) != OK)
        return;
    struct strbuf out;
    strbuf_init(&out, arena);
    xml_policy_write(&out, &policies);
    assert(xml_policy_read(arena, strbuf_slice(&out), &again, &fault) == OK);
    assert(policies.count == again.count);
    for (size_t i = 0; i < policies.count; i++) {
        fuzz_assert_equal(policies.policies[i].id, again.policies[i].id);
        fuzz_assert_equal(policies.policies[i].permission, again.policies[i].permission);
        assert(policies.policies[i].start == again.policies[i].start);
        assert(policies.policies[i].expiry == again.policies[i].expiry);
    }
}

static void read_properties(struct arena *arena, struct slice document, unsigned allowed)
{
    struct service_properties properties = { 0 };
    struct service_properties again = { 0 };
    struct xml_fault fault = { 0 };
    unsigned parts = 0;
    unsigned again_parts = 0;
    if (xml_service_read(arena, document, allowed, &properties, &parts, &fault) != OK)
        return;
    assert((parts & ~allowed) == 0);
    struct strbuf out;
    strbuf_init(&out, arena);
    xml_service_write(&out, &properties, parts);
    const struct slice text = strbuf_slice(&out);
    assert(xml_service_read(arena, text, allowed, &again, &again_parts, &fault) == OK);
    fuzz_assert_equal(service_properties_encode(arena, &properties),
                      service_properties_encode(arena, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct http_service *const services[] = { &http_blob_service, &http_queue_service,
                                                           &http_table_service,
                                                           &http_file_service };
    const struct fuzz_input input = fuzz_begin(data, size);
    const struct slice document = fuzz_copy(input.rest);
    struct http_request request = { 0 };
    struct arena *arena = &request.arena;
    read_tree(arena, document);
    read_policies(arena, document);
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        read_properties(arena, document, services[i]->properties_parts);
    struct slice text = { 0 };
    if (xml_message_read(&request, document, &text) == OK)
        assert(utf8_is_valid(text));
    arena_release(arena);
    fuzz_copy_free(document);
    return 0;
}
