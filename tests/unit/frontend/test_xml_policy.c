/*
 * test_xml_policy.c - <SignedIdentifiers>: what is read, what is refused, what is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../service/test_random.h"
#include "base/date.h"
#include "base/log.h"
#include "frontend/http/xml_policy.h"

#define XML "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"

static struct arena arena;
static struct access_policies policies;
static struct xml_fault fault;

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static enum err read_text(const char *text)
{
    return xml_policy_read(&arena, slice_of(text), &policies, &fault);
}

static struct slice written(void)
{
    struct strbuf out;
    strbuf_init(&out, &arena);
    xml_policy_write(&out, &policies);
    return strbuf_slice(&out);
}

/* A document of policies that have these ids, which end in NULL. */
static enum err read_ids(const char *const ids[])
{
    struct strbuf out;
    strbuf_init(&out, &arena);
    strbuf_add_text(&out, "<SignedIdentifiers>");
    for (size_t i = 0; ids[i] != NULL; i++)
        strbuf_printf(&out, "<SignedIdentifier><Id>%s</Id><AccessPolicy /></SignedIdentifier>",
                      ids[i]);
    strbuf_add_text(&out, "</SignedIdentifiers>");
    return xml_policy_read(&arena, strbuf_slice(&out), &policies, &fault);
}

static void no_document_and_an_empty_one_are_no_policies(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "<SignedIdentifiers/>",
        XML "<SignedIdentifiers> \n </SignedIdentifiers>",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        policies.count = 3;
        assert_int_equal(read_text(texts[i]), OK);
        assert_int_equal(policies.count, 0);
        assert_true(slice_is(written(), XML "<SignedIdentifiers />"));
    }
}

static void policies_are_written_with_seven_digits_in_their_times(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("<?xml version=\"1.0\"?>\n<SignedIdentifiers>\n"
                  " <SignedIdentifier>\n  <Id>a&amp;b</Id>\n  <AccessPolicy>\n"
                  "   <Start>2026-01-02</Start>\n   <Expiry>2026-02-26T23:55:28Z</Expiry>\n"
                  "   <Permission>rl</Permission>\n  </AccessPolicy>\n </SignedIdentifier>\n"
                  " <SignedIdentifier><Id>second</Id></SignedIdentifier>\n"
                  " <SignedIdentifier><Id>third</Id><AccessPolicy><Start /><Expiry></Expiry>"
                  "<Permission /></AccessPolicy></SignedIdentifier>\n</SignedIdentifiers>"),
        OK);
    assert_int_equal(policies.count, 3);
    assert_true(slice_is(policies.policies[0].id, "a&b"));
    assert_true(policies.policies[1].start == 0 && policies.policies[1].expiry == 0);
    assert_int_equal(policies.policies[2].permission.len, 0);
    assert_true(
        slice_is(written(), XML
                 "<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy>"
                 "<Start>2026-01-02T00:00:00.0000000Z</Start>"
                 "<Expiry>2026-02-26T23:55:28.0000000Z</Expiry>"
                 "<Permission>rl</Permission></AccessPolicy></SignedIdentifier>"
                 "<SignedIdentifier><Id>second</Id><AccessPolicy></AccessPolicy></SignedIdentifier>"
                 "<SignedIdentifier><Id>third</Id><AccessPolicy></AccessPolicy></SignedIdentifier>"
                 "</SignedIdentifiers>"));
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    const char *const ids[] = { "&lt;one&gt;", "two words", "\xc3\xa4", NULL };
    assert_int_equal(read_ids(ids), OK);
    const struct access_policies before = policies;
    assert_int_equal(xml_policy_read(&arena, written(), &policies, &fault), OK);
    assert_int_equal(policies.count, before.count);
    for (size_t i = 0; i < before.count; i++)
        assert_true(slice_equal(policies.policies[i].id, before.policies[i].id));
}

static void an_id_has_at_most_64_characters_of_any_length_in_bytes(void **state)
{
    (void)state;
    struct strbuf id;
    strbuf_init(&id, &arena);
    for (int i = 0; i < 64; i++)
        strbuf_add_text(&id, i % 2 == 0 ? "\xf0\x9f\x98\x80" : "\xc3\xa4");
    strbuf_add_byte(&id, '\0');
    const char *const longest[] = { id.data, NULL };
    assert_int_equal(read_ids(longest), OK);
    assert_int_equal(policies.policies[0].id.len, 64 / 2 * (4 + 2));
    id.len--;
    strbuf_add_text(&id, "x");
    strbuf_add_byte(&id, '\0');
    const char *const too_long[] = { id.data, NULL };
    assert_int_equal(read_ids(too_long), ERR_INVALID_XML_VALUE);
}

static void an_id_is_given_and_given_once(void **state)
{
    (void)state;
    const char *const empty[] = { "", NULL };
    const char *const blank[] = { "  ", NULL };
    const char *const twice[] = { "a", "b", "a", NULL };
    const char *const cases[] = { "a", "A", NULL };
    assert_int_equal(read_ids(empty), ERR_INVALID_XML_VALUE);
    assert_int_equal(read_ids(blank), ERR_INVALID_XML_VALUE);
    assert_int_equal(read_ids(twice), ERR_INVALID_XML_VALUE);
    assert_int_equal(read_ids(cases), OK);
    assert_int_equal(read_text("<SignedIdentifiers><SignedIdentifier><AccessPolicy />"
                               "</SignedIdentifier></SignedIdentifiers>"),
                     ERR_INVALID_XML_VALUE);
}

static void there_are_at_most_five(void **state)
{
    (void)state;
    const char *const five[] = { "1", "2", "3", "4", "5", NULL };
    const char *const six[] = { "1", "2", "3", "4", "5", "6", NULL };
    assert_int_equal(read_ids(five), OK);
    assert_int_equal(policies.count, 5);
    assert_int_equal(read_ids(six), ERR_INVALID_XML);
    assert_non_null(fault.reason);
}

static void values_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "<Start>yesterday</Start>",
        "<Start>2026-13-01</Start>",
        "<Expiry>2026-02-30T00:00:00Z</Expiry>",
        "<Expiry>0001-01-01T00:00:00+01:00</Expiry>",
        "<Expiry>9999-12-31T23:59:59-01:00</Expiry>",
        "<Permission>R</Permission>",
        "<Permission>r w</Permission>",
        "<Permission>r1</Permission>",
    };
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        const struct slice text = arena_printf(
            &arena,
            "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy>%s</AccessPolicy>"
            "</SignedIdentifier></SignedIdentifiers>",
            contents[i]);
        assert_int_equal(xml_policy_read(&arena, text, &policies, &fault), ERR_INVALID_XML_VALUE);
    }
}

static void documents_of_another_shape_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        " ",
        "no xml",
        "<SignedIdentifiers>",
        "<signedidentifiers/>",
        "<Other/>",
        "<SignedIdentifiers><Other/></SignedIdentifiers>",
        "<SignedIdentifiers/><SignedIdentifiers/>",
        "<!DOCTYPE a [<!ENTITY b \"c\">]><SignedIdentifiers/>",
        "<SignedIdentifiers><SignedIdentifier><Id>&b;</Id></SignedIdentifier></SignedIdentifiers>",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fault = (struct xml_fault){ 0 };
        const enum err err = read_text(texts[i]);
        if (err != ERR_INVALID_XML)
            print_message("%s\n", texts[i]);
        assert_int_equal(err, ERR_INVALID_XML);
        assert_non_null(fault.reason);
    }
}

static void damaged_documents_are_read_or_refused(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    const struct slice whole = slice_of(
        "<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy>"
        "<Start>2026-01-02T03:04:05.1234567Z</Start><Expiry>2027-01-02</Expiry>"
        "<Permission>racwdl</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>");
    for (int round = 0; round < 5000; round++) {
        size_t len;
        char *bytes = random_damage(&random, whole, &len);
        const enum err err = xml_policy_read(&arena, slice_make(bytes, len), &policies, &fault);
        free(bytes);
        assert_true(err == OK || err == ERR_INVALID_XML || err == ERR_INVALID_XML_VALUE);
        if (err == OK)
            (void)written();
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(no_document_and_an_empty_one_are_no_policies, clear),
        cmocka_unit_test_teardown(policies_are_written_with_seven_digits_in_their_times, clear),
        cmocka_unit_test_teardown(what_is_written_is_read_again, clear),
        cmocka_unit_test_teardown(an_id_has_at_most_64_characters_of_any_length_in_bytes, clear),
        cmocka_unit_test_teardown(an_id_is_given_and_given_once, clear),
        cmocka_unit_test_teardown(there_are_at_most_five, clear),
        cmocka_unit_test_teardown(values_that_are_none_are_refused, clear),
        cmocka_unit_test_teardown(documents_of_another_shape_are_refused, clear),
        cmocka_unit_test_teardown(damaged_documents_are_read_or_refused, clear),
    };
    return cmocka_run_group_tests(tests, quiet, NULL);
}
