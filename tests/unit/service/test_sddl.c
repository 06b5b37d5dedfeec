/*
 * test_sddl.c - security descriptors: text to bytes and back, real ones and damaged ones.
 */
#include "service/file/sddl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/encoding.h"
#include "base/strbuf.h"
#include "service/limits.h"
#include "test_random.h"

/* --- text --- */

/* Each is as Windows writes it. */
static const char *const REAL[] = {
    /* recorded from the service */
    "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012920-"
    "1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-"
    "188441444-3053964)S:NO_ACCESS_CONTROL",
    /* the root of a system drive */
    "O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464G:S-1-5-80-956008885-"
    "3418522649-1831038044-1853292631-2271478464D:PAI(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)"
    "(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)S:AI(ML;OINPIO;NW;;;HI)",
    /* C:\Windows */
    "O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464G:SYD:PAI(A;OICIIO;GA;;;CO)"
    "(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;BA)(A;;0x1301bf;;;BA)"
    "(A;OICIIO;GXGR;;;BU)(A;;0x1200a9;;;BU)(A;CIIO;GA;;;S-1-5-80-956008885-3418522649-1831038044-"
    "1853292631-2271478464)(A;;FA;;;S-1-5-80-956008885-3418522649-1831038044-1853292631-"
    "2271478464)(A;;0x1200a9;;;AC)(A;OICIIO;GXGR;;;AC)(A;;0x1200a9;;;S-1-15-2-2)",
    /* a home directory */
    "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;S-1-5-21-1004336348-1177238915-"
    "682003330-512)",
    "O:BAG:BAD:(D;OICI;DCLCRPCRSDRC;;;BG)(A;OICIID;FA;;;WD)",
    "O:SYG:SYD:NO_ACCESS_CONTROL",
    "O:SYG:SYD:",
    "D:P",
    "O:AN",
    "G:S-1-5-21-1-2-3-4",
    /* of a service */
    "D:(A;;CCLCSWRPWPDTLOCRRC;;;SY)(A;;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;BA)(A;;CCLCSWLOCRRC;;;IU)"
    "(A;;CCLCSWLOCRRC;;;SU)S:(AU;FA;CCDCLCSWRPWPDTLOCRSDRCWDWO;;;WD)",
    /* of a directory service */
    "O:S-1-5-21-1-2-3-512G:S-1-5-21-1-2-3-512D:ARAI(OA;;RPWP;bf967a7f-0de6-11d0-a285-00aa003049e2;;"
    "PS)(OA;CIIOID;RP;4c164200-20c0-11d0-a768-00aa006e0529;4828cc14-1437-45bc-9b07-ad6f015e5f28;RU)"
    "(OA;CIID;LCRPRC;;bf967a9c-0de6-11d0-a285-00aa003049e2;RU)(OD;;CR;ab721a53-1e2f-11d0-9819-"
    "00aa0040529b;;WD)(OA;;CC;;;AO)S:(OU;CISA;WP;f30e3bbe-9ff0-11d1-b603-0000f80367c1;bf967aa5-"
    "0de6-11d0-a285-00aa003049e2;WD)",
    "S:(SP;;;;;S-1-17-1)(ML;;NWNRNX;;;LW)(TL;;;;;S-1-19-512-4096)",
    "O:S-1-0x123456789abc-1G:S-1-4294967295-4294967295-0",
    "D:(A;OICINPIOIDCRSAFA;CCDCLCSWRPWPDTLOCRSDRCWDWOGAGXGWGR;;;UD)",
    "O:BAG:SYD:PARAI(A;;0x1;;;S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15)",
};

static struct security_descriptor parse(struct arena *arena, const char *text)
{
    struct security_descriptor descriptor;
    if (sddl_parse(arena, slice_of(text), &descriptor) != OK)
        fail_msg("%s", text);
    return descriptor;
}

/* Through bytes, as it is stored. */
static struct slice through(struct arena *arena, const char *text)
{
    const struct security_descriptor given = parse(arena, text);
    const struct slice bytes = security_descriptor_encode(arena, &given);
    struct security_descriptor stored;
    assert_int_equal(security_descriptor_decode(bytes, &stored), OK);
    const struct slice again = security_descriptor_encode(arena, &stored);
    assert_true(slice_equal(again, bytes));
    return sddl_format(arena, &stored);
}

static void assert_becomes(const char *text, const char *expected)
{
    struct arena arena = { 0 };
    assert_string_equal(arena_copy(&arena, through(&arena, text)).data, expected);
    arena_release(&arena);
}

static void descriptors_of_the_real_world_come_back_as_they_were(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(REAL) / sizeof(REAL[0]) - 1; i++)
        assert_becomes(REAL[i], REAL[i]);
    /* Of one bit that has a name, that is written. */
    assert_becomes(REAL[sizeof(REAL) / sizeof(REAL[0]) - 1],
                   "O:BAG:SYD:PARAI(A;;CC;;;S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15)");
}

static void what_can_be_said_in_several_ways_is_written_in_one(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *written;
    } rows[] = {
        { "o:syg:bad:(a;oici;fa;;;wd)", "O:SYG:BAD:(A;OICI;FA;;;WD)" },
        { "S:(AU;SA;FA;;;WD)D:(A;;FA;;;SY)G:SYO:BA", "O:BAG:SYD:(A;;FA;;;SY)S:(AU;SA;FA;;;WD)" },
        { "O:S-1-5-18", "O:SY" },
        { "O:s-1-5-32-544", "O:BA" },
        { "O:S-1-0x5-18", "O:SY" },
        { "D:(A;;0x1F01FF;;;SY)", "D:(A;;FA;;;SY)" },
        { "D:(A;;2032127;;;SY)", "D:(A;;FA;;;SY)" },
        { "D:(A;;0;;;SY)", "D:(A;;;;;SY)" },
        { "D:(A;;FRFW;;;SY)", "D:(A;;0x12019f;;;SY)" },
        { "D:(A;;RCSDWDWOCCCC;;;SY)", "D:(A;;CCSDRCWDWO;;;SY)" },
        { "D:(A;;KR;;;SY)", "D:(A;;CCSWRPRC;;;SY)" },
        { "D:(A;CIOICI;GA;;;SY)", "D:(A;OICI;GA;;;SY)" },
        { "D:AIPAR(A;;GA;;;SY)", "D:PARAI(A;;GA;;;SY)" },
        { "S:(ML;;0x1;;;ME)", "S:(ML;;NW;;;ME)" },
        { "S:(ML;;0x9;;;ME)", "S:(ML;;0x9;;;ME)" },
        { "D:(OA;;RP;BF967A7F-0DE6-11D0-A285-00AA003049E2;;PS)",
          "D:(OA;;RP;bf967a7f-0de6-11d0-a285-00aa003049e2;;PS)" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_becomes(rows[i].text, rows[i].written);
}

static void text_that_is_no_descriptor_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "abcde",
        "inherit",
        "O:",
        "O",
        "O:XX",
        "O:S",
        "O:S-",
        "O:S-1",
        "O:S-1-5",
        "O:S-1-5-",
        "O:S-2-5-18",
        "O:S-1-5-4294967296",
        "O:S-1-0x1000000000000-1",
        "O:S-1-281474976710656-1",
        "O:S-1-99999999999999999999-1",
        "O:S-1-0x-1",
        "O:S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16",
        "O:SYO:SY",
        "G:SYG:SY",
        "D:D:",
        "S:S:",
        "O: SY",
        "D:(A;;FA;;;SY",
        "D:A;;FA;;;SY)",
        "D:()",
        "D:(A;;FA;;SY)",
        "D:(A;;FA;;;SY;x)",
        "D:(A;;FA;;;SY)x",
        "D:(A;;FA;;;SYx)",
        "D:(A;;FA;;;)",
        "D:(Q;;FA;;;SY)",
        "D:(AA;;FA;;;SY)",
        "D:(;;FA;;;SY)",
        "D:(A;XX;FA;;;SY)",
        "D:(A;O;FA;;;SY)",
        "D:(A;;XX;;;SY)",
        "D:(A;;F;;;SY)",
        "D:(A;;0x;;;SY)",
        "D:(A;;0x100000000;;;SY)",
        "D:(A;;4294967296;;;SY)",
        "D:(A;;0x1g;;;SY)",
        "D:(A;;1 ;;;SY)",
        "D:(A;;FA;bf967a7f-0de6-11d0-a285-00aa003049e2;;SY)",
        "D:(A;;FA;;bf967a7f-0de6-11d0-a285-00aa003049e2;SY)",
        "D:(OA;;FA;bf967a7f;;SY)",
        "D:(OA;;FA;bf967a7f-0de6-11d0-a285-00aa003049e;;SY)",
        "D:(OA;;FA;bf967a7f-0de6-11d0-a285-00aa003049e2f;;SY)",
        "D:(OA;;FA;bf967a7f00de6011d00a285000aa003049e20;;SY)",
        "D:NO_ACCESS_CONTROL(A;;FA;;;SY)",
        "D:NO_ACCESS",
        "D:X",
        /* of a domain, of which nobody here knows */
        "O:DA",
        "D:(A;;FA;;;DU)",
        "O:LA",
        /* conditions and attributes */
        "D:(XA;;FX;;;WD;(@User.Title==\"VP\"))",
        "D:(XA;;FX;;;WD)",
        "S:(RA;;;;;WD;(\"Secrecy\",TU,0,3))",
    };
    struct arena arena = { 0 };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct security_descriptor descriptor;
        if (sddl_parse(&arena, slice_of(bad[i]), &descriptor) != ERR_FILE_PERMISSION_INVALID)
            fail_msg("%s", bad[i]);
    }
    arena_release(&arena);
}

/* "O:S-1-5-0...018" of that length. */
static enum err parse_owner_of_length(size_t len)
{
    struct arena arena = { 0 };
    struct security_descriptor descriptor;
    char *text = arena_bytes(&arena, len);
    memset(text, '0', len);
    memcpy(text, "O:S-1-5-", 8);
    memcpy(text + len - 2, "18", 2);
    const enum err err = sddl_parse(&arena, slice_make(text, len), &descriptor);
    arena_release(&arena);
    return err;
}

static void a_text_is_as_long_as_it_may_be(void **state)
{
    (void)state;
    assert_int_equal(parse_owner_of_length(LIMIT_PERMISSION_TEXT_BYTES - 1), OK);
    assert_int_equal(parse_owner_of_length(LIMIT_PERMISSION_TEXT_BYTES), OK);
    assert_int_equal(parse_owner_of_length(LIMIT_PERMISSION_TEXT_BYTES + 1),
                     ERR_FILE_PERMISSION_INVALID);
}

static void a_list_that_is_too_long_is_refused_and_the_longest_is_not(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct security_descriptor descriptor;
    struct strbuf text;
    strbuf_init(&text, &arena);
    strbuf_add_text(&text, "D:");
    /* 20 bytes each, behind headers of 28 */
    const size_t fit = (LIMIT_PERMISSION_BYTES - 28 - 4) / 20;
    for (size_t i = 0; i < fit; i++)
        strbuf_add_text(&text, "(A;;FA;;;SY)");
    assert_int_equal(sddl_parse(&arena, strbuf_slice(&text), &descriptor), OK);
    assert_int_equal(descriptor.dacl.count, fit);
    const struct slice bytes = security_descriptor_encode(&arena, &descriptor);
    assert_true(bytes.len <= LIMIT_PERMISSION_BYTES);
    assert_int_equal(security_descriptor_decode(bytes, &descriptor), OK);
    assert_true(slice_equal(sddl_format(&arena, &descriptor), strbuf_slice(&text)));
    strbuf_add_text(&text, "(A;;FA;;;SY)");
    assert_int_equal(sddl_parse(&arena, strbuf_slice(&text), &descriptor),
                     ERR_FILE_PERMISSION_INVALID);
    arena_release(&arena);
}

static void two_lists_have_to_fit_together(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct security_descriptor descriptor;
    struct strbuf text;
    strbuf_init(&text, &arena);
    for (size_t list = 0; list < 2; list++) {
        strbuf_add_text(&text, list == 0 ? "D:" : "S:");
        for (size_t i = 0; i < 2000; i++)
            strbuf_add_text(&text, "(A;;FA;;;SY)");
    }
    assert_int_equal(sddl_parse(&arena, strbuf_slice(&text), &descriptor),
                     ERR_FILE_PERMISSION_INVALID);
    arena_release(&arena);
}

/* --- bytes --- */

static void the_bytes_are_those_of_the_specification(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct security_descriptor descriptor =
        parse(&arena, "O:BAG:SYD:PAI(A;OICI;FA;;;SY)S:NO_ACCESS_CONTROL");
    const struct slice bytes = security_descriptor_encode(&arena, &descriptor);
    char text[200];
    assert_int_equal(bytes.len, 20 + 28 + 16 + 12);
    hex_encode(bytes, text);
    assert_string_equal(text, "01001494" /* control */
                              "30000000"
                              "40000000" /* owner, group */
                              "00000000"
                              "14000000"         /* SACL, DACL */
                              "02001c0001000000" /* DACL */
                              "00031400ff011f00"
                              "010100000000000512000000"
                              "01020000000000052000000020020000" /* owner */
                              "010100000000000512000000");       /* group */
    arena_release(&arena);
}

static void a_guid_is_stored_with_its_numbers_turned_round(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct security_descriptor descriptor =
        parse(&arena, "D:(OA;;RP;00112233-4455-6677-8899-aabbccddeeff;;PS)");
    char text[200];
    hex_encode(descriptor.dacl.entries, text);
    assert_string_equal(text, "0500"
                              "2800"
                              "10000000"
                              "01000000"
                              "33221100554477668899aabbccddeeff"
                              "01010000000000050a000000");
    const struct slice bytes = security_descriptor_encode(&arena, &descriptor);
    assert_int_equal(bytes.data[20], 4); /* the revision of lists that have objects */
    arena_release(&arena);
}

static void bytes_of_others_are_put_in_order(void **state)
{
    (void)state;
    /* Owner and group before the list, gaps, free space in the list, flags that have no text. */
    static const uint8_t given[] = {
        1,    0,    0x0f, 0x84, 20, 0, 0, 0, 36, 0, 0,  0,  0,    0,    0,    0,    52,
        0,    0,    0,    1,    1,  0, 0, 0, 0,  0, 5,  18, 0,    0,    0,    0xee, 0xee,
        0xee, 0xee, 1,    1,    0,  0, 0, 0, 0,  5, 19, 0,  0,    0,    0xee, 0xee, 0xee,
        0xee, 2,    0,    32,   0,  1, 0, 0, 0,  0, 0,  20, 0,    0xff, 1,    0x1f, 0,
        1,    1,    0,    0,    0,  0, 0, 1, 0,  0, 0,  0,  0xee, 0xee, 0xee, 0xee,
    };
    struct arena arena = { 0 };
    struct security_descriptor descriptor;
    assert_int_equal(security_descriptor_decode(slice_make(given, sizeof(given)), &descriptor), OK);
    const struct slice text = sddl_format(&arena, &descriptor);
    assert_true(slice_is(text, "O:SYG:LSD:AI(A;;FA;;;WD)"));
    const struct security_descriptor same = parse(&arena, "O:SYG:LSD:AI(A;;FA;;;WD)");
    assert_true(slice_equal(security_descriptor_encode(&arena, &descriptor),
                            security_descriptor_encode(&arena, &same)));
    arena_release(&arena);
}

static void a_shorter_run_of_bytes_is_never_read_past_its_end(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    for (size_t i = 0; i < sizeof(REAL) / sizeof(REAL[0]); i++) {
        const struct security_descriptor descriptor = parse(&arena, REAL[i]);
        const struct slice bytes = security_descriptor_encode(&arena, &descriptor);
        for (size_t len = 0; len < bytes.len; len++) {
            struct security_descriptor part;
            char *copy = malloc(len + 1); /* of its own, so that reading past its end is seen */
            memcpy(copy, bytes.data, len);
            assert_int_equal(security_descriptor_decode(slice_make(copy, len), &part),
                             ERR_FILE_PERMISSION_INVALID);
            free(copy);
        }
    }
    arena_release(&arena);
}

/* What is accepted can be written, and means the same when it is read again. */
static void check_decoded(struct arena *arena, struct slice bytes)
{
    struct security_descriptor descriptor;
    const enum err err = security_descriptor_decode(bytes, &descriptor);
    if (err != OK) {
        assert_int_equal(err, ERR_FILE_PERMISSION_INVALID);
        return;
    }
    const struct slice stored = security_descriptor_encode(arena, &descriptor);
    const struct slice text = sddl_format(arena, &descriptor);
    struct security_descriptor again;
    if (text.len == 0)
        return; /* nothing is said, which has no text */
    assert_int_equal(sddl_parse(arena, text, &again), OK);
    assert_true(slice_equal(security_descriptor_encode(arena, &again), stored));
}

static void damaged_bytes_give_a_descriptor_or_an_error(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    struct arena arena = { 0 };
    for (size_t round = 0; round < 30000; round++) {
        arena_clear(&arena);
        const char *text = REAL[random_next(&random) % (sizeof(REAL) / sizeof(REAL[0]))];
        const struct security_descriptor descriptor = parse(&arena, text);
        const struct slice bytes = security_descriptor_encode(&arena, &descriptor);
        size_t len = bytes.len;
        char *copy = malloc(len);
        memcpy(copy, bytes.data, len);
        for (uint64_t flips = random_next(&random) % 4 + 1; flips > 0; flips--)
            copy[random_next(&random) % len] = (char)random_next(&random);
        if (random_next(&random) % 4 == 0)
            len = random_next(&random) % len;
        check_decoded(&arena, slice_make(copy, len));
        free(copy);
    }
    arena_release(&arena);
}

static void damaged_text_gives_a_descriptor_or_an_error(void **state)
{
    (void)state;
    static const char letters[] = "ADOGSPIR:;()-0x19fFAWYBUN_ \xff";
    struct test_random random = test_seed();
    struct arena arena = { 0 };
    for (size_t round = 0; round < 30000; round++) {
        arena_clear(&arena);
        const char *text = REAL[random_next(&random) % (sizeof(REAL) / sizeof(REAL[0]))];
        size_t len = strlen(text);
        char *copy = malloc(len);
        memcpy(copy, text, len);
        for (uint64_t flips = random_next(&random) % 4 + 1; flips > 0; flips--)
            copy[random_next(&random) % len] =
                letters[random_next(&random) % (sizeof(letters) - 1)];
        if (random_next(&random) % 4 == 0)
            len = random_next(&random) % len;
        struct security_descriptor descriptor;
        const enum err err = sddl_parse(&arena, slice_make(copy, len), &descriptor);
        if (err == OK)
            check_decoded(&arena, security_descriptor_encode(&arena, &descriptor));
        else
            assert_int_equal(err, ERR_FILE_PERMISSION_INVALID);
        free(copy);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_of_the_real_world_come_back_as_they_were),
        cmocka_unit_test(what_can_be_said_in_several_ways_is_written_in_one),
        cmocka_unit_test(text_that_is_no_descriptor_is_refused),
        cmocka_unit_test(a_text_is_as_long_as_it_may_be),
        cmocka_unit_test(a_list_that_is_too_long_is_refused_and_the_longest_is_not),
        cmocka_unit_test(two_lists_have_to_fit_together),
        cmocka_unit_test(the_bytes_are_those_of_the_specification),
        cmocka_unit_test(a_guid_is_stored_with_its_numbers_turned_round),
        cmocka_unit_test(bytes_of_others_are_put_in_order),
        cmocka_unit_test(a_shorter_run_of_bytes_is_never_read_past_its_end),
        cmocka_unit_test(damaged_bytes_give_a_descriptor_or_an_error),
        cmocka_unit_test(damaged_text_gives_a_descriptor_or_an_error),
    };
    return cmocka_run_group_tests_name("sddl", tests, NULL, NULL);
}
