/*
 * test_xml_write.c - text of any bytes becomes well-formed XML 1.0 that says the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../service/test_random.h"
#include "base/encoding.h"
#include "frontend/http/xml_write.h"

static struct arena arena;

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct slice escaped(struct slice text)
{
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_add_escaped(&out, text);
    return strbuf_slice(&out);
}

static void assert_escaped(const char *text, const char *wanted)
{
    assert_true(slice_is(escaped(slice_of(text)), wanted));
}

static void a_document_begins_with_mark_and_declaration(void **state)
{
    (void)state;
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_begin_document(&out);
    assert_true(
        slice_is(strbuf_slice(&out), "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"));
}

static void markup_is_escaped(void **state)
{
    (void)state;
    assert_escaped("", "");
    assert_escaped("plain text, 'quoted'", "plain text, 'quoted'");
    assert_escaped("<a b=\"c\">&amp;</a>", "&lt;a b=\"c\"&gt;&amp;amp;&lt;/a&gt;");
    assert_escaped("&", "&amp;");
    assert_escaped("]]>", "]]&gt;");
    assert_escaped("h\xc3\xa9llo \xf0\x9f\x98\x80", "h\xc3\xa9llo \xf0\x9f\x98\x80");
}

static void a_carriage_return_survives_a_parser(void **state)
{
    (void)state;
    assert_escaped("a\r\nb\tc", "a&#xD;\nb\tc");
}

static void characters_xml_cannot_carry_are_replaced(void **state)
{
    (void)state;
    const char *const replaced = "\xef\xbf\xbd";
    for (char byte = 1; byte < ' '; byte++) {
        const char text[] = { byte, '\0' };
        if (byte != '\t' && byte != '\n' && byte != '\r')
            assert_escaped(text, replaced);
    }
    assert_true(slice_is(escaped(slice_make("a\0b", 3)), "a\xef\xbf\xbd"
                                                         "b"));
    assert_escaped("\xef\xbf\xbe", replaced); /* U+FFFE */
    assert_escaped("a\xef\xbf\xbfz", "a\xef\xbf\xbdz");
    /* Their neighbours are characters. */
    assert_escaped("\xef\xbf\xbc\xef\xbf\xbd\xee\xbf\xbe", "\xef\xbf\xbc\xef\xbf\xbd\xee\xbf\xbe");
    assert_escaped("\x7f", "\x7f");
}

static void bytes_that_are_not_utf8_are_taken_for_latin_1(void **state)
{
    (void)state;
    assert_escaped("\xe9t\xe9 <\x01>", "\xc3\xa9t\xc3\xa9 &lt;\xef\xbf\xbd&gt;");
    assert_escaped("\x80\xff", "\xc2\x80\xc3\xbf");
    /* Half of a character at the end. */
    assert_escaped("a\xc3", "a\xc3\x83");
}

/* Whether the text could stand between two tags. */
static bool is_character_data(struct slice text)
{
    if (!utf8_is_valid(text))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (byte == '<' || byte == '>')
            return false;
        if (byte < ' ' && byte != '\t' && byte != '\n')
            return false;
        if (byte == 0xef && slice_starts_with(slice_from(text, i), slice_of("\xef\xbf\xbe")))
            return false;
    }
    return true;
}

static void any_bytes_become_character_data(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int i = 0; i < 100000; i++) {
        const struct slice text = random_bytes(&random, &arena, 12);
        char *exact = malloc(text.len + 1);
        assert_non_null(exact);
        if (text.len > 0)
            memcpy(exact, text.data, text.len);
        assert_true(is_character_data(escaped(slice_make(exact, text.len))));
        free(exact);
        arena_clear(&arena);
    }
}

static void an_attribute_has_its_quotes_escaped(void **state)
{
    (void)state;
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_add_attribute(&out, "A", slice_of("\"say \"\"<this>"));
    xml_add_attribute(&out, "B", (struct slice){ 0 });
    xml_add_attribute(&out, "C", slice_of("plain"));
    assert_true(slice_is(strbuf_slice(&out),
                         " A=\"&quot;say &quot;&quot;&lt;this&gt;\" B=\"\" C=\"plain\""));
}

static void an_element_without_text_is_closed_at_once(void **state)
{
    (void)state;
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_add_element(&out, "Name", slice_of("a<b"));
    xml_add_element(&out, "Marker", (struct slice){ 0 });
    assert_true(slice_is(strbuf_slice(&out), "<Name>a&lt;b</Name><Marker />"));
}

static struct slice named(struct slice name)
{
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_add_name(&out, "Name", name);
    return strbuf_slice(&out);
}

static void a_name_xml_cannot_carry_is_percent_encoded(void **state)
{
    (void)state;
    assert_true(slice_is(named(slice_of("dir/a b&c")), "<Name>dir/a b&amp;c</Name>"));
    assert_true(slice_is(named(slice_of("dir/a\x01"
                                        "b c")),
                         "<Name Encoded=\"true\">dir/a%01b%20c</Name>"));
    assert_true(
        slice_is(named(slice_of("\xef\xbf\xbe")), "<Name Encoded=\"true\">%EF%BF%BE</Name>"));
    assert_true(slice_is(named((struct slice){ 0 }), "<Name />"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_begins_with_mark_and_declaration),
        cmocka_unit_test(markup_is_escaped),
        cmocka_unit_test(a_carriage_return_survives_a_parser),
        cmocka_unit_test(characters_xml_cannot_carry_are_replaced),
        cmocka_unit_test(bytes_that_are_not_utf8_are_taken_for_latin_1),
        cmocka_unit_test(any_bytes_become_character_data),
        cmocka_unit_test(an_attribute_has_its_quotes_escaped),
        cmocka_unit_test(an_element_without_text_is_closed_at_once),
        cmocka_unit_test(a_name_xml_cannot_carry_is_percent_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, clear);
}
