/*
 * test_security_inherit.c - what directories and files inherit: every combination of the flags
 * against the table of the reference ("ACE Inheritance Rules"), descriptors of the real world, and
 * random ones.
 */
#include "service/file/security_inherit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "service/limits.h"
#include "test_random.h"

static const char CREATOR[] = "O:BAG:SYD:(A;;FA;;;SY)";

static struct security_descriptor parse(struct arena *arena, struct slice text)
{
    struct security_descriptor descriptor;
    if (sddl_parse(arena, text, &descriptor) != OK)
        fail_msg("%.*s", (int)text.len, text.data);
    return descriptor;
}

static struct slice child_of(struct arena *arena, struct slice parent, enum security_child kind)
{
    const struct security_descriptor directory = parse(arena, parent);
    const struct security_descriptor creator = parse(arena, slice_of(CREATOR));
    struct security_descriptor child;
    assert_int_equal(security_inherit(arena, &directory, &creator, kind, &child), OK);
    return sddl_format(arena, &child);
}

static void assert_inherits(const char *parent, const char *directory, const char *file)
{
    struct arena arena = { 0 };
    const struct slice made[] = {
        child_of(&arena, slice_of(parent), SECURITY_CHILD_DIRECTORY),
        child_of(&arena, slice_of(parent), SECURITY_CHILD_FILE),
    };
    const char *const expected[] = { directory, file };
    for (size_t i = 0; i < 2; i++) {
        if (!slice_equal(made[i], slice_of(expected[i])))
            fail_msg("%s gives %.*s", parent, (int)made[i].len, made[i].data);
    }
    arena_release(&arena);
}

/* --- the table --- */

/* What an entry becomes: an effective one, one that is inherit-only, one that is both or a pair. */
enum outcome {
    NOTHING,
    EFFECTIVE,
    INHERIT_ONLY,
    BOTH,
};

static const struct {
    const char *flags;
    enum outcome file;
    enum outcome directory;
} TABLE[] = {
    { "", NOTHING, NOTHING },       { "OI", EFFECTIVE, INHERIT_ONLY },
    { "CI", NOTHING, BOTH },        { "OICI", EFFECTIVE, BOTH },
    { "NP", NOTHING, NOTHING },     { "OINP", EFFECTIVE, NOTHING },
    { "CINP", NOTHING, EFFECTIVE }, { "OICINP", EFFECTIVE, EFFECTIVE },
};

/* Flags that change nothing of it: whether the entry means something to the directory, and whether
   it was inherited itself. */
static const char *const OTHER_FLAGS[] = { "", "IO", "ID", "IOID" };

/* Accounts and rights, as they are and as they are for the child. */
static const struct {
    const char *rights;
    const char *account;
    const char *own_rights;
    const char *own_account;
} SAYS[] = {
    { "FA", "WD", "FA", "WD" },
    { "GA", "WD", "FA", "WD" },
    { "GR", "WD", "FR", "WD" },
    { "GW", "WD", "FW", "WD" },
    { "GX", "WD", "FX", "WD" },
    { "GXGR", "WD", "0x1200a9", "WD" },
    { "SDGXGWGR", "AU", "0x1301bf", "AU" },
    { "FR", "CO", "FR", "BA" },
    { "FR", "CG", "FR", "SY" },
    { "GA", "CO", "FA", "BA" },
    { "GR", "CG", "FR", "SY" },
    /* These are not creators: whoever owns the file, and those of a server's client. */
    { "FR", "OW", "FR", "OW" },
    { "FR", "S-1-3-2", "FR", "S-1-3-2" },
    { "FR", "S-1-3-0-1", "FR", "S-1-3-0-1" },
    { "FR", "S-1-4-0", "FR", "S-1-4-0" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_entry(struct strbuf *out, const char *type, const char *flags, const char *rights,
                      const char *account)
{
    strbuf_printf(out, "(%s;%s;%s;;;%s)", type, flags, rights, account);
}

/* The entries of a child, by the words of the reference. */
static void expect(struct strbuf *out, enum outcome outcome, const char *inheritable, size_t says,
                   const char *audit)
{
    const bool is_general = strcmp(SAYS[says].rights, SAYS[says].own_rights) != 0 ||
                            strcmp(SAYS[says].account, SAYS[says].own_account) != 0;
    const char *const type = audit[0] == '\0' ? "A" : "AU";
    char flags[32];
    if (outcome == EFFECTIVE || (outcome == BOTH && is_general)) {
        snprintf(flags, sizeof(flags), "ID%s", audit);
        add_entry(out, type, flags, SAYS[says].own_rights, SAYS[says].own_account);
    }
    if (outcome == INHERIT_ONLY || (outcome == BOTH && is_general)) {
        snprintf(flags, sizeof(flags), "%sIOID%s", inheritable, audit);
        add_entry(out, type, flags, SAYS[says].rights, SAYS[says].account);
    }
    if (outcome == BOTH && !is_general) {
        snprintf(flags, sizeof(flags), "%sID%s", inheritable, audit);
        add_entry(out, type, flags, SAYS[says].rights, SAYS[says].account);
    }
}

/* One entry, in the DACL or the SACL, between two that stay out of it. */
static void check_entry(const char *flags, const char *other, enum outcome outcome,
                        enum security_child kind, size_t says, const char *audit)
{
    struct arena arena = { 0 };
    struct strbuf parent;
    struct strbuf expected;
    char inheritable[8] = "";
    char all[32];
    const bool is_audit = audit[0] != '\0';
    snprintf(all, sizeof(all), "%s%s%s", flags, other, audit);
    snprintf(inheritable, sizeof(inheritable), "%.*s", (int)strcspn(flags, "N"),
             flags); /* without NP */
    strbuf_init(&parent, &arena);
    strbuf_add_text(&parent, is_audit ? "O:SYG:SYD:P(A;;FA;;;WD)S:P" : "O:SYG:SYD:P(A;;FA;;;WD)");
    add_entry(&parent, is_audit ? "AU" : "A", all, SAYS[says].rights, SAYS[says].account);
    strbuf_init(&expected, &arena);
    strbuf_add_text(&expected, "O:BAG:SYD:");
    if (outcome == NOTHING || is_audit)
        strbuf_add_text(&expected, "(A;;FA;;;SY)"); /* the creator's */
    if (outcome != NOTHING) {
        strbuf_add_text(&expected, is_audit ? "S:AI" : "AI");
        expect(&expected, outcome, inheritable, says, audit);
    }
    const struct slice made = child_of(&arena, strbuf_slice(&parent), kind);
    if (!slice_equal(made, strbuf_slice(&expected)))
        fail_msg("%.*s gives a %s %.*s, and not %.*s", (int)parent.len, parent.data,
                 kind == SECURITY_CHILD_FILE ? "file" : "directory", (int)made.len, made.data,
                 (int)expected.len, expected.data);
    arena_release(&arena);
}

static void every_combination_of_flags_gives_what_the_table_says(void **state)
{
    static const char *const AUDITS[] = { "", "SA", "FA", "SAFA" };
    size_t count = 0;
    (void)state;
    for (size_t row = 0; row < COUNT(TABLE); row++) {
        for (size_t other = 0; other < COUNT(OTHER_FLAGS); other++) {
            for (size_t says = 0; says < COUNT(SAYS); says++) {
                for (size_t audit = 0; audit < COUNT(AUDITS); audit++) {
                    check_entry(TABLE[row].flags, OTHER_FLAGS[other], TABLE[row].file,
                                SECURITY_CHILD_FILE, says, AUDITS[audit]);
                    check_entry(TABLE[row].flags, OTHER_FLAGS[other], TABLE[row].directory,
                                SECURITY_CHILD_DIRECTORY, says, AUDITS[audit]);
                    count += 2;
                }
            }
        }
    }
    assert_int_equal(count, 2 * 8 * 4 * COUNT(SAYS) * 4);
}

/* --- lists --- */

static void entries_keep_their_order_and_their_types(void **state)
{
    (void)state;
    assert_inherits("O:SYG:SYD:(D;OI;FA;;;BG)(A;CI;FR;;;BU)(A;OICI;FW;;;AU)(D;CI;FA;;;AN)",
                    "O:BAG:SYD:AI(D;OIIOID;FA;;;BG)(A;CIID;FR;;;BU)(A;OICIID;FW;;;AU)"
                    "(D;CIID;FA;;;AN)",
                    "O:BAG:SYD:AI(D;ID;FA;;;BG)(A;ID;FW;;;AU)");
}

static void a_label_and_an_audit_are_inherited_with_the_other_list(void **state)
{
    (void)state;
    assert_inherits("O:SYG:SYD:(A;OICI;FA;;;BA)S:(ML;OINPIO;NW;;;HI)(AU;OICISAFA;FA;;;WD)",
                    "O:BAG:SYD:AI(A;OICIID;FA;;;BA)S:AI(AU;OICIIDSAFA;FA;;;WD)",
                    "O:BAG:SYD:AI(A;ID;FA;;;BA)S:AI(ML;ID;NW;;;HI)(AU;IDSAFA;FA;;;WD)");
}

static void an_entry_for_a_kind_of_object_is_only_passed_on(void **state)
{
    (void)state;
    assert_inherits("O:SYG:SYD:(OA;OICI;FA;;bf967aa5-0de6-11d0-a285-00aa003049e2;CO)"
                    "(OA;OICI;FA;bf967aa5-0de6-11d0-a285-00aa003049e2;;WD)"
                    "(OA;CINP;FA;;bf967aa5-0de6-11d0-a285-00aa003049e2;WD)",
                    "O:BAG:SYD:AI(OA;OICIIOID;FA;;bf967aa5-0de6-11d0-a285-00aa003049e2;CO)"
                    "(OA;OICIID;FA;bf967aa5-0de6-11d0-a285-00aa003049e2;;WD)",
                    "O:BAG:SYD:AI(OA;ID;FA;bf967aa5-0de6-11d0-a285-00aa003049e2;;WD)");
}

static void where_nothing_is_inherited_the_list_is_the_creators(void **state)
{
    static const char *const parents[] = {
        "O:SYG:SYD:",
        "O:SYG:SYD:P",
        "O:SYG:SYD:NO_ACCESS_CONTROL",
        "O:SYG:SYD:PAI(A;;FA;;;WD)(A;NPIO;FA;;;WD)",
        "O:SYG:SYD:(A;;FA;;;WD)S:NO_ACCESS_CONTROL",
        "O:SYG:SYD:(A;;FA;;;WD)S:(AU;SA;FA;;;WD)",
        "O:SYG:SY",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(parents); i++)
        assert_inherits(parents[i], "O:BAG:SYD:(A;;FA;;;SY)", "O:BAG:SYD:(A;;FA;;;SY)");
}

static void a_protected_list_passes_on_what_it_has(void **state)
{
    (void)state;
    assert_inherits("O:SYG:SYD:PARAI(A;OICI;FA;;;WD)S:PARAI(AU;OICISA;FA;;;WD)",
                    "O:BAG:SYD:AI(A;OICIID;FA;;;WD)S:AI(AU;OICIIDSA;FA;;;WD)",
                    "O:BAG:SYD:AI(A;ID;FA;;;WD)S:AI(AU;IDSA;FA;;;WD)");
}

/* C:\Windows, whose children are what Windows shows of them. */
static void a_directory_of_the_real_world(void **state)
{
    (void)state;
    assert_inherits(
        "O:SYG:SYD:PAI(A;OICIIO;GA;;;CO)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;BA)"
        "(A;;0x1301bf;;;BA)(A;OICIIO;GXGR;;;BU)(A;;0x1200a9;;;BU)(A;CIIO;GA;;;S-1-5-80-1)",
        "O:BAG:SYD:AI(A;ID;FA;;;BA)(A;OICIIOID;GA;;;CO)(A;ID;FA;;;SY)(A;OICIIOID;GA;;;SY)"
        "(A;ID;FA;;;BA)(A;OICIIOID;GA;;;BA)(A;ID;0x1200a9;;;BU)(A;OICIIOID;GXGR;;;BU)"
        "(A;ID;FA;;;S-1-5-80-1)(A;CIIOID;GA;;;S-1-5-80-1)",
        "O:BAG:SYD:AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1200a9;;;BU)");
}

/* --- limits --- */

static void what_would_be_too_long_is_refused(void **state)
{
    struct arena arena = { 0 };
    struct strbuf text;
    (void)state;
    strbuf_init(&text, &arena);
    strbuf_add_text(&text, "O:SYG:SYD:");
    /* Each entry takes 20 bytes, and a directory gets two of each: 2,000 fit, and 4,000 do not. */
    for (size_t i = 0; i < 2000; i++)
        strbuf_add_text(&text, "(A;OICI;GA;;;WD)");
    const struct security_descriptor creator = parse(&arena, slice_of(CREATOR));
    const struct security_descriptor parent = parse(&arena, strbuf_slice(&text));
    struct security_descriptor child;
    assert_int_equal(security_inherit(&arena, &parent, &creator, SECURITY_CHILD_FILE, &child), OK);
    assert_int_equal(child.dacl.count, 2000);
    assert_int_equal(security_inherit(&arena, &parent, &creator, SECURITY_CHILD_DIRECTORY, &child),
                     ERR_FILE_PERMISSION_INVALID);
    arena_release(&arena);
}

/* --- random lists --- */

static void add_random_list(struct test_random *random, struct strbuf *out, const char *tag,
                            const char *const *types, size_t types_count, bool propagates)
{
    static const char *const flags[] = { "OI", "CI", "IO", "ID", "NP" };
    strbuf_add_text(out, tag);
    for (uint64_t i = random_below(random, 12); i > 0; i--) {
        const size_t says = (size_t)random_below(random, COUNT(SAYS));
        strbuf_printf(out, "(%s;", types[random_below(random, types_count)]);
        for (size_t flag = 0; flag < COUNT(flags) - (propagates ? 1 : 0); flag++)
            strbuf_add_text(out, random_below(random, 2) == 0 ? flags[flag] : "");
        strbuf_printf(out, ";%s;;;%s)", SAYS[says].rights, SAYS[says].account);
    }
}

static struct security_descriptor random_parent(struct test_random *random, struct arena *arena,
                                                bool propagates)
{
    static const char *const dacl[] = { "A", "D", "OA" };
    static const char *const sacl[] = { "AU", "OU", "AL" };
    struct strbuf text;
    strbuf_init(&text, arena);
    strbuf_add_text(&text, "O:SYG:SY");
    add_random_list(random, &text, "D:", dacl, COUNT(dacl), propagates);
    add_random_list(random, &text, "S:", sacl, COUNT(sacl), propagates);
    return parse(arena, strbuf_slice(&text));
}

/* What is made can be stored, and, unless an entry is for one generation only, is what all below it
   inherit. */
static void what_is_inherited_can_be_stored_and_is_inherited_again(void **state)
{
    struct test_random random = test_seed();
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct arena arena = { 0 };
        const bool propagates = i % 2 == 0;
        const struct security_descriptor parent = random_parent(&random, &arena, propagates);
        const struct security_descriptor creator = parse(&arena, slice_of(CREATOR));
        for (int kind = SECURITY_CHILD_FILE; kind <= SECURITY_CHILD_DIRECTORY; kind++) {
            struct security_descriptor child;
            struct security_descriptor stored;
            struct security_descriptor again;
            assert_int_equal(
                security_inherit(&arena, &parent, &creator, (enum security_child)kind, &child), OK);
            const struct slice bytes = security_descriptor_encode(&arena, &child);
            const struct slice text = sddl_format(&arena, &child);
            assert_int_equal(security_descriptor_decode(bytes, &stored), OK);
            assert_true(slice_equal(sddl_format(&arena, &stored), text));
            if (kind == SECURITY_CHILD_FILE || !propagates || !child.dacl.is_inherited)
                continue;
            assert_int_equal(
                security_inherit(&arena, &child, &creator, SECURITY_CHILD_DIRECTORY, &again), OK);
            assert_true(slice_equal(sddl_format(&arena, &again), text));
        }
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_of_flags_gives_what_the_table_says),
        cmocka_unit_test(entries_keep_their_order_and_their_types),
        cmocka_unit_test(a_label_and_an_audit_are_inherited_with_the_other_list),
        cmocka_unit_test(an_entry_for_a_kind_of_object_is_only_passed_on),
        cmocka_unit_test(where_nothing_is_inherited_the_list_is_the_creators),
        cmocka_unit_test(a_protected_list_passes_on_what_it_has),
        cmocka_unit_test(a_directory_of_the_real_world),
        cmocka_unit_test(what_would_be_too_long_is_refused),
        cmocka_unit_test(what_is_inherited_can_be_stored_and_is_inherited_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
