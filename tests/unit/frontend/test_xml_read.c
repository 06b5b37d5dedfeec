/*
 * test_xml_read.c - documents of clients as trees, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "frontend/http/xml_read.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct xml_node *parsed(struct slice document)
{
    struct xml_node *root = NULL;
    struct xml_fault fault = { 0 };
    assert_int_equal(xml_parse(&arena, document, &root, &fault), OK);
    assert_non_null(root);
    return root;
}

static struct xml_fault refused(struct slice document)
{
    struct xml_node *root = NULL;
    struct xml_fault fault = { 0 };
    assert_int_equal(xml_parse(&arena, document, &root, &fault), ERR_INVALID_XML);
    assert_non_null(fault.reason);
    return fault;
}

/* --- what is read --- */

static void elements_keep_their_order_names_and_text(void **state)
{
    (void)state;
    const struct xml_node *root = parsed(
        slice_of("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<List>\n  <A>one</A>\n  <B>two</B>\n"
                 "  <A>three</A>\n</List>\n"));
    assert_true(slice_is(root->name, "List"));
    assert_int_equal(root->child_count, 3);
    static const char *const names[] = { "A", "B", "A" };
    static const char *const texts[] = { "one", "two", "three" };
    const struct xml_node *node = root->first_child;
    for (size_t i = 0; i < 3; i++, node = node->next) {
        assert_true(slice_is(node->name, names[i]));
        assert_true(slice_is(node->text, texts[i]));
        assert_null(node->first_child);
        assert_int_equal(node->line, 3 + (int)i);
        assert_true(node->column > 1);
    }
    assert_null(node);
}

static void text_is_joined_around_entities_children_and_comments(void **state)
{
    (void)state;
    const struct xml_node *root = parsed(slice_of(
        "<a>one&amp;two<b>inner</b>&lt;three<!-- not this --><![CDATA[<four>]]>&#x35;</a>"));
    assert_true(slice_is(root->text, "one&two<three<four>5"));
    assert_true(slice_is(xml_child_text(root, "b"), "inner"));
}

static void white_space_around_text_can_be_left_out(void **state)
{
    (void)state;
    const struct xml_node *root = parsed(slice_of("<a> \r\n\t<b>\n x y \t</b><c>  </c></a>"));
    assert_true(slice_is(xml_child_text(root, "b"), "x y"));
    assert_int_equal(xml_child_text(root, "c").len, 0);
    assert_int_equal(xml_child_text(root, "none").len, 0);
    assert_int_equal(xml_text(root).len, 0);
}

static void a_child_is_found_by_its_name(void **state)
{
    (void)state;
    const struct xml_node *root = parsed(slice_of("<a><b>1</b><c>2</c><b>3</b></a>"));
    assert_true(slice_is(xml_find(root, "b")->text, "1"));
    assert_true(slice_is(xml_find(root, "c")->text, "2"));
    assert_null(xml_find(root, "B"));
    assert_null(xml_find(root, "a"));
}

static void attributes_and_namespaces_are_dropped(void **state)
{
    (void)state;
    const struct xml_node *root = parsed(slice_of(
        "<x:a xmlns:x=\"urn:x\" k=\"v\"><x:b x:i=\"1\">text</x:b><c xmlns=\"urn:y\"/></x:a>"));
    assert_true(slice_is(root->name, "a"));
    assert_true(slice_is(xml_child_text(root, "b"), "text"));
    assert_non_null(xml_find(root, "c"));
}

static void a_byte_order_mark_is_fine(void **state)
{
    (void)state;
    const struct xml_node *root =
        parsed(slice_of("\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><a>\xc3\xa9</a>"));
    assert_true(slice_is(root->text, "\xc3\xa9"));
}

static void other_encodings_are_read_as_utf8(void **state)
{
    (void)state;
    static const char utf16[] = "\xff\xfe<\0a\0>\0\xe9\0<\0/\0a\0>\0";
    assert_true(slice_is(parsed(slice_make(utf16, sizeof(utf16) - 1))->text, "\xc3\xa9"));
    const struct xml_node *root =
        parsed(slice_of("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>\xe9</a>"));
    assert_true(slice_is(root->text, "\xc3\xa9"));
}

static void a_long_document_is_read_whole(void **state)
{
    (void)state;
    struct strbuf document;
    strbuf_init(&document, &arena);
    strbuf_add_text(&document, "<BlockList>\n");
    for (unsigned i = 0; i < 50000; i++)
        strbuf_printf(&document, "  <Latest>%08u</Latest>\n", i);
    strbuf_add_text(&document, "</BlockList>");
    const struct xml_node *root = parsed(strbuf_slice(&document));
    assert_int_equal(root->child_count, 50000);
    unsigned count = 0;
    for (const struct xml_node *node = root->first_child; node != NULL; node = node->next) {
        char text[16];
        snprintf(text, sizeof(text), "%08u", count++);
        assert_true(slice_is(node->text, text));
    }
    /* The space between the elements is text too; it must not be copied over and over. */
    assert_true(arena_size_bytes(&arena) < 32 * document.len);
}

/* --- what is refused --- */

static void what_is_not_well_formed_is_refused(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "",
        " ",
        "text",
        "<a>",
        "<a></b>",
        "<a><b></a></b>",
        "<a/><b/>",
        "<a>&nothing;</a>",
        "<a>&#0;</a>",
        "<a>\x01</a>",
        "<a k=v/>",
        "<a>\xff\xfe</a>",
        "<a/>text",
        "<?xml version=\"1.0\" encoding=\"none-such\"?><a/>",
        "<x:a/>text",
        "{\"a\": 1}",
    };
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
        const struct xml_fault fault = refused(slice_of(documents[i]));
        assert_false(fault.is_too_long);
    }
    static const char nul[] = "<a>\0</a>";
    refused(slice_make(nul, sizeof(nul) - 1));
}

static void the_fault_says_where_it_is(void **state)
{
    (void)state;
    const struct xml_fault fault = refused(slice_of("<a>\n<b>\n</c></a>"));
    assert_int_equal(fault.line, 3);
    assert_true(fault.column > 0);
}

static void declarations_of_types_and_entities_are_refused(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><a>&e;</a>",
        "<!DOCTYPE a [<!ENTITY e \"eeee\"><!ENTITY f \"&e;&e;&e;\">]><a>&f;&f;</a>",
    };
    for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
        refused(slice_of(documents[i]));
}

static struct slice nested(size_t depth)
{
    struct strbuf document;
    strbuf_init(&document, &arena);
    for (size_t i = 0; i < depth; i++)
        strbuf_add_text(&document, "<a>");
    for (size_t i = 0; i < depth; i++)
        strbuf_add_text(&document, "</a>");
    return strbuf_slice(&document);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    parsed(nested(XML_DEPTH_MAX));
    refused(nested(XML_DEPTH_MAX + 1));
    refused(nested(100000));
}

static struct slice with_elements(size_t count)
{
    struct strbuf document;
    strbuf_init(&document, &arena);
    strbuf_add_text(&document, "<a>");
    for (size_t i = 1; i < count; i++)
        strbuf_add_text(&document, "<b/>");
    strbuf_add_text(&document, "</a>");
    return strbuf_slice(&document);
}

static void the_number_of_elements_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(parsed(with_elements(XML_ELEMENTS_MAX))->child_count, XML_ELEMENTS_MAX - 1);
    assert_true(refused(with_elements(XML_ELEMENTS_MAX + 1)).is_too_long);
    const struct slice huge = with_elements(2 * 1000 * 1000);
    const size_t before = arena_size_bytes(&arena);
    assert_true(refused(huge).is_too_long);
    assert_true(arena_size_bytes(&arena) - before < 200 * XML_ELEMENTS_MAX);
}

/* --- one child at a time --- */

struct seen {
    size_t count;
    size_t wrong;
};

static void see(void *arg, const struct xml_node *child)
{
    struct seen *seen = arg;
    char text[16];
    snprintf(text, sizeof(text), "%06zu", seen->count++);
    seen->wrong += !slice_is(child->name, "Latest") || !slice_is(xml_text(child), text);
    seen->wrong += child->line != (int)seen->count + 1;
}

static void children_of_a_long_document_are_not_kept(void **state)
{
    (void)state;
    struct strbuf document;
    struct arena text = { 0 };
    strbuf_init(&document, &text);
    strbuf_add_text(&document, "<BlockList>");
    for (size_t i = 0; i < 50000; i++)
        strbuf_printf(&document, "\n<Latest>%06zu</Latest>", i);
    strbuf_add_text(&document, "</BlockList>");
    struct seen seen = { 0 };
    struct xml_node *root;
    struct xml_fault fault;
    assert_int_equal(xml_each_child(&arena, strbuf_slice(&document), see, &seen, &root, &fault),
                     OK);
    assert_int_equal(seen.count, 50000);
    assert_int_equal(seen.wrong, 0);
    assert_true(slice_is(root->name, "BlockList"));
    assert_int_equal(root->child_count, 50000);
    assert_null(root->first_child);
    /* The white space between them is the root's text. */
    assert_true(arena_size_bytes(&arena) < 4 * 50000);
    arena_release(&text);
}

static void keep_shape(void *arg, const struct xml_node *child)
{
    struct strbuf *shape = arg;
    strbuf_printf(shape, "%.*s", (int)child->name.len, child->name.data);
    for (const struct xml_node *node = child->first_child; node != NULL; node = node->next)
        strbuf_printf(shape, "(%.*s:%.*s)", (int)node->name.len, node->name.data,
                      (int)node->text.len, node->text.data);
}

static void each_child_comes_with_all_that_is_in_it(void **state)
{
    (void)state;
    struct strbuf shape;
    strbuf_init(&shape, &arena);
    struct xml_node *root;
    struct xml_fault fault;
    const struct slice document = slice_of("<a><b><c>1</c><d>2</d></b><b/><e>x<c>3</c></e></a>");
    assert_int_equal(xml_each_child(&arena, document, keep_shape, &shape, &root, &fault), OK);
    assert_true(slice_is(strbuf_slice(&shape), "b(c:1)(d:2)be(c:3)"));
    const struct slice broken = slice_of("<a><b/><b></a>");
    assert_int_equal(xml_each_child(&arena, broken, keep_shape, &shape, &root, &fault),
                     ERR_INVALID_XML);
    assert_int_equal(fault.line, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(elements_keep_their_order_names_and_text, clear),
        cmocka_unit_test_teardown(text_is_joined_around_entities_children_and_comments, clear),
        cmocka_unit_test_teardown(white_space_around_text_can_be_left_out, clear),
        cmocka_unit_test_teardown(a_child_is_found_by_its_name, clear),
        cmocka_unit_test_teardown(attributes_and_namespaces_are_dropped, clear),
        cmocka_unit_test_teardown(a_byte_order_mark_is_fine, clear),
        cmocka_unit_test_teardown(other_encodings_are_read_as_utf8, clear),
        cmocka_unit_test_teardown(a_long_document_is_read_whole, clear),
        cmocka_unit_test_teardown(what_is_not_well_formed_is_refused, clear),
        cmocka_unit_test_teardown(the_fault_says_where_it_is, clear),
        cmocka_unit_test_teardown(declarations_of_types_and_entities_are_refused, clear),
        cmocka_unit_test_teardown(depth_is_bounded, clear),
        cmocka_unit_test_teardown(the_number_of_elements_is_bounded, clear),
        cmocka_unit_test_teardown(children_of_a_long_document_are_not_kept, clear),
        cmocka_unit_test_teardown(each_child_comes_with_all_that_is_in_it, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
