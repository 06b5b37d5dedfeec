/*
 * test_tag.c - tags and predicates on them: the rules for names and values, the header, and both
 * grammars against a list of what they say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "service/blob/tag.h"
#include "test_random.h"

static struct arena arena;

static int clear_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static enum err parse(const char *text, struct metadata *tags)
{
    return tags_parse(&arena, slice_of(text), tags);
}

static void the_header_is_decoded_and_put_in_order(void **state)
{
    (void)state;
    struct metadata tags;
    assert_int_equal(parse("b=2&a%20a=1%2B1&c+c=x=y&empty=", &tags), OK);
    assert_int_equal(tags.count, 4);
    static const char *const wanted[][2] = {
        { "a a", "1+1" }, { "b", "2" }, { "c c", "x=y" }, { "empty", "" }
    };
    for (size_t i = 0; i < tags.count; i++) {
        assert_true(slice_is(tags.pairs[i].name, wanted[i][0]));
        assert_true(slice_is(tags.pairs[i].value, wanted[i][1]));
    }
    assert_int_equal(parse("", &tags), OK);
    assert_int_equal(tags.count, 0);
}

static void names_and_values_have_the_documented_characters(void **state)
{
    (void)state;
    struct metadata tags;
    for (int byte = 0; byte < 256; byte++) {
        const bool allowed = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                             (byte >= '0' && byte <= '9') ||
                             (byte != 0 && strchr(" +-./:=_", byte) != NULL);
        char text[16];
        snprintf(text, sizeof(text), "n%%%02x=v", byte);
        assert_int_equal(parse(text, &tags), allowed ? OK : ERR_INVALID_TAG);
        snprintf(text, sizeof(text), "n=v%%%02X", byte);
        assert_int_equal(parse(text, &tags), allowed ? OK : ERR_INVALID_TAG);
    }
}

static struct slice pair_text(size_t name_len, size_t value_len)
{
    struct strbuf text;
    strbuf_init(&text, &arena);
    while (name_len-- > 0)
        strbuf_add_byte(&text, 'n');
    strbuf_add_byte(&text, '=');
    while (value_len-- > 0)
        strbuf_add_byte(&text, 'v');
    return strbuf_slice(&text);
}

static void sets_that_break_a_rule_are_refused(void **state)
{
    (void)state;
    struct metadata tags;
    assert_int_equal(parse("=v", &tags), ERR_EMPTY_TAG_NAME);
    assert_int_equal(parse("a=1&b=2&a=3", &tags), ERR_DUPLICATE_TAG_NAMES);
    assert_int_equal(parse("a=1&A=2", &tags), OK);
    assert_int_equal(parse("a", &tags), ERR_INVALID_TAG);
    assert_int_equal(parse("a=1&&b=2", &tags), ERR_INVALID_TAG);
    assert_int_equal(parse("a=%4", &tags), ERR_INVALID_TAG);
    assert_int_equal(parse("a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10", &tags), OK);
    assert_int_equal(parse("a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10&k=11", &tags),
                     ERR_TAGS_TOO_LARGE);
    assert_int_equal(tags_parse(&arena, pair_text(128, 256), &tags), OK);
    assert_int_equal(tags_parse(&arena, pair_text(129, 0), &tags), ERR_TAGS_TOO_LARGE);
    assert_int_equal(tags_parse(&arena, pair_text(1, 257), &tags), ERR_TAGS_TOO_LARGE);
}

static bool holds(const char *text, enum tag_grammar grammar)
{
    struct metadata tags;
    assert_int_equal(parse("color=blue&size=10&x-y=z", &tags), OK);
    const struct tag_predicate *predicate;
    if (tag_predicate_parse(&arena, slice_of(text), grammar, &predicate) != OK)
        fail_msg("does not parse: %s", text);
    return tag_predicate_holds(predicate, slice_of("box"), &tags);
}

static void predicates_mean_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool holds;
    } rows[] = {
        { "color = 'blue'", true },
        { "color='red'", false },
        { "\"color\"='blue'", true },
        { "\"x-y\" = 'z'", true },
        { "color <> 'red'", true },
        { "color <> 'blue'", false },
        { "color > 'blu'", true },
        { "color > 'blue'", false },
        { "color >= 'blue'", true },
        { "color < 'blue'", false },
        { "color <= 'blue'", true },
        { "size < '9'", true }, /* as text */
        { "Color = 'blue'", false },
        { "none = 'x'", false },
        { "none < 'x'", false },
        { "none > ''", false },
        { "none <> 'x'", true },
        { "color='blue' AND size='10'", true },
        { "color='blue' and size='11'", false },
        { "color='red' OR size='10'", true },
        { "color='red' or size='11'", false },
        /* AND binds more tightly than OR */
        { "color='blue' OR color='red' AND size='11'", true },
        { "(color='blue' OR color='red') AND size='11'", false },
        { "size='11' AND color='red' OR color='blue'", true },
        { "((((color='blue'))))", true },
        { "  color  =  'blue'  ", true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (holds(rows[i].text, TAG_CONDITION) != rows[i].holds)
            fail_msg("%s is %s", rows[i].text, rows[i].holds ? "false" : "true");
}

static void a_search_knows_containers_and_joins_by_and_alone(void **state)
{
    (void)state;
    assert_true(holds("@container='box' AND color='blue'", TAG_SEARCH));
    assert_false(holds("@container='other' AND color='blue'", TAG_SEARCH));
    assert_true(holds("@container>='a' AND \"x-y\"='z' AND size>'0'", TAG_SEARCH));
    static const char *const refused[] = {
        "color='blue' OR size='10'", "(color='blue')", "color<>'red'", "@box='1'", "@container",
    };
    const struct tag_predicate *predicate;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_int_equal(tag_predicate_parse(&arena, slice_of(refused[i]), TAG_SEARCH, &predicate),
                         ERR_MALFORMED);
}

static void what_is_no_predicate_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "",
        "color",
        "color =",
        "color = blue",
        "color == 'blue'",
        "color = 'blue",
        "color = \"blue\"",
        "'color' = 'blue'",
        "1color = 'blue'",
        "= 'blue'",
        "color = 'blue' AND",
        "color = 'blue' size = '10'",
        "color = 'blue' XOR size = '10'",
        "AND color = 'blue'",
        "(color = 'blue'",
        "color = 'blue')",
        "()",
        "\"\" = 'x'",
        "\"a%b\" = 'x'",
        "color = 'bl%ue'",
        "@container = 'box'",
        "NOT color = 'blue'",
        /* eleven comparisons; eleven parentheses */
        ("a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' OR a='1' "
         "OR a='1'"),
        "(((((((((((a='1')))))))))))",
    };
    const struct tag_predicate *predicate;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (tag_predicate_parse(&arena, slice_of(refused[i]), TAG_CONDITION, &predicate) !=
            ERR_MALFORMED)
            fail_msg("parses: %s", refused[i]);
}

/* Parsing is total: bytes at random give a predicate or an error, never a fault. */
static void random_text_is_parsed_or_refused(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    static const char *const parts[] = { "a",   "\"b c\"", "'v'",        "'", "\"", "=",
                                         "<",   ">",       "<>",         "(", ")",  " ",
                                         "AND", "or",      "@container", "1", "%" };
    const struct metadata none = { 0 };
    size_t parsed = 0;
    for (int i = 0; i < 200000; i++) {
        struct strbuf text;
        strbuf_init(&text, &arena);
        const bool likely = random_below(&random, 2) == 0;
        for (uint64_t left = random_below(&random, 12); left > 0; left--)
            strbuf_add_text(&text, likely ? "a='v'" : parts[random_below(&random, 17)]);
        const enum tag_grammar grammar = random_below(&random, 2) == 0 ? TAG_CONDITION : TAG_SEARCH;
        const struct tag_predicate *predicate;
        const enum err err = tag_predicate_parse(&arena, strbuf_slice(&text), grammar, &predicate);
        if (err == OK) {
            (void)tag_predicate_holds(predicate, (struct slice){ 0 }, &none);
            parsed++;
        } else {
            assert_int_equal(err, ERR_MALFORMED);
        }
        arena_clear(&arena);
    }
    assert_true(parsed > 0);
}

static void no_condition_is_met_always(void **state)
{
    (void)state;
    const struct metadata none = { 0 };
    const struct tag_predicate *predicate;
    assert_int_equal(tag_check(NULL, &none), OK);
    assert_int_equal(tag_predicate_parse(&arena, slice_of("a='1'"), TAG_CONDITION, &predicate), OK);
    assert_int_equal(tag_check(predicate, &none), ERR_CONDITION_NOT_MET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_header_is_decoded_and_put_in_order, clear_arena),
        cmocka_unit_test_teardown(names_and_values_have_the_documented_characters, clear_arena),
        cmocka_unit_test_teardown(sets_that_break_a_rule_are_refused, clear_arena),
        cmocka_unit_test_teardown(predicates_mean_what_they_say, clear_arena),
        cmocka_unit_test_teardown(a_search_knows_containers_and_joins_by_and_alone, clear_arena),
        cmocka_unit_test_teardown(what_is_no_predicate_is_refused, clear_arena),
        cmocka_unit_test_teardown(random_text_is_parsed_or_refused, clear_arena),
        cmocka_unit_test_teardown(no_condition_is_met_always, clear_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
