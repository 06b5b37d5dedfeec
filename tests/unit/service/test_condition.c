/*
 * test_condition.c - the conditional headers, against the rules of "Specifying conditional headers
 * for Blob service operations" and the recorded answers for If-None-Match: *.
 *
 * The large test runs every combination of headers, states and kinds of operation and compares
 * with an oracle below, written as a table look-up over one letter per header so that it shares
 * no code and no shape with the module.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "service/condition.h"
#include "service/etag.h"

#define ETAG  INT64_C(637076209298256032)
#define OTHER INT64_C(637076209298256033)

/* The state's Last-Modified, half a second into second SECOND. */
#define SECOND   (INT64_C(63707620929) * CLOCK_TICKS_PER_SEC)
#define MODIFIED (SECOND + CLOCK_TICKS_PER_SEC / 2)

static const struct condition_state EXISTING = { .exists = true,
                                                 .etag = ETAG,
                                                 .last_modified = MODIFIED };
static const struct condition_state MISSING = { .exists = false };

static struct condition_etags etags_of(const char *value)
{
    struct condition_etags etags = { 0 };
    assert_int_equal(condition_add_etags(&etags, slice_of(value)), OK);
    return etags;
}

static struct condition_etags one_etag(int64_t etag)
{
    char text[ETAG_TEXT_LEN_MAX + 1];
    etag_format(etag, text);
    return etags_of(text);
}

/* --- reading the headers --- */

static void a_star_is_any_etag(void **state)
{
    (void)state;
    const struct condition_etags etags = etags_of(" * ");
    assert_true(etags.present);
    assert_true(etags.any);
    assert_int_equal(etags.count, 0);
    assert_int_equal(etags.listed_count, 0);
}

static void etags_are_separated_by_commas_with_or_without_quotes(void **state)
{
    (void)state;
    const struct condition_etags etags = etags_of("\"0x1\",0x2 , \"0x3\"");
    assert_true(etags.present);
    assert_false(etags.any);
    assert_int_equal(etags.listed_count, 3);
    assert_int_equal(etags.count, 3);
    assert_int_equal(etags.etags[0], 1);
    assert_int_equal(etags.etags[1], 2);
    assert_int_equal(etags.etags[2], 3);
}

static void etags_of_another_form_are_counted_and_match_nothing(void **state)
{
    (void)state;
    const struct condition_etags etags = etags_of("\"a,b\", W/\"0x1\", \"*\", 0x2");
    assert_int_equal(etags.listed_count, 4);
    assert_int_equal(etags.count, 1);
    assert_int_equal(etags.etags[0], 2);
}

static void sixteen_etags_are_kept_and_more_are_refused(void **state)
{
    (void)state;
    char value[CONDITION_ETAGS_MAX * 4 + 4];
    for (size_t i = 0; i <= CONDITION_ETAGS_MAX; i++)
        memcpy(value + i * 4, "0x1,", 4);
    struct condition_etags etags = { 0 };
    const size_t sixteen = CONDITION_ETAGS_MAX * 4;
    assert_int_equal(condition_add_etags(&etags, slice_make(value, sixteen)), OK);
    assert_int_equal(etags.count, CONDITION_ETAGS_MAX);

    struct condition_etags refused = { 0 };
    assert_int_equal(condition_add_etags(&refused, slice_make(value, sixteen + 4)),
                     ERR_OUT_OF_RANGE);
    assert_false(refused.present);
    assert_int_equal(refused.count, 0);
}

static void a_header_given_twice_adds_to_the_list(void **state)
{
    (void)state;
    struct condition_etags etags = etags_of("0x1");
    assert_int_equal(condition_add_etags(&etags, slice_of("0x2")), OK);
    assert_int_equal(etags.listed_count, 2);
    assert_int_equal(condition_add_etags(&etags, slice_of("*")), ERR_MALFORMED);
    assert_int_equal(etags.listed_count, 2);
    assert_false(etags.any);
}

static void a_star_among_others_and_an_empty_value_are_malformed(void **state)
{
    (void)state;
    static const char *const malformed[] = { "", " ", ",", " , ", "*,0x1", "0x1,*", "*,*" };
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        struct condition_etags etags = { 0 };
        assert_int_equal(condition_add_etags(&etags, slice_of(malformed[i])), ERR_MALFORMED);
        assert_false(etags.present);
    }
}

/* --- every combination --- */

/*
 * One letter per header: '-' absent, '*' any, 'y' the state's own (for a date: a date for which
 * the header holds), 'n' another (does not hold).
 */
struct letters {
    char match;
    char none_match;
    char modified;
    char unmodified;
};

enum kind {
    KIND_READ,
    KIND_WRITE,
    KIND_REPLACE,
    KIND_REPLACE_WITH_LEASE,
    KIND_COUNT,
};

static struct condition_etags etags_of_letter(char letter)
{
    switch (letter) {
    case '*':
        return etags_of("*");
    case 'y':
        return one_etag(ETAG);
    case 'n':
        return one_etag(OTHER);
    default:
        return (struct condition_etags){ 0 };
    }
}

static struct condition condition_of(struct letters letters)
{
    struct condition condition = {
        .if_match = etags_of_letter(letters.match),
        .if_none_match = etags_of_letter(letters.none_match),
    };
    if (letters.modified != '-') {
        condition.has_modified_since = true;
        condition.modified_since = letters.modified == 'y' ? SECOND - CLOCK_TICKS_PER_SEC : SECOND;
    }
    if (letters.unmodified != '-') {
        condition.has_unmodified_since = true;
        condition.unmodified_since =
            letters.unmodified == 'y' ? SECOND : SECOND - CLOCK_TICKS_PER_SEC;
    }
    return condition;
}

/* Whether the headers, written one letter each, are a pattern in which 'x' is any present one. */
static bool looks_like(struct letters letters, const char *pattern)
{
    const char text[4] = { letters.match, letters.none_match, letters.modified,
                           letters.unmodified };
    for (size_t i = 0; i < sizeof(text); i++) {
        if (pattern[i] == 'x' ? text[i] == '-' : pattern[i] != text[i])
            return false;
    }
    return true;
}

static bool oracle_shape_is_allowed(struct letters letters)
{
    static const char *const allowed[] = { "----", "x---", "-x--", "--x-", "---x", "-xx-", "x--x" };
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        if (looks_like(letters, allowed[i]))
            return true;
    }
    return false;
}

static enum err oracle_read(struct letters letters)
{
    if (letters.none_match == '*')
        return ERR_UNSATISFIABLE_CONDITION;
    if (letters.match == 'n' || letters.unmodified == 'n')
        return ERR_CONDITION_NOT_MET;
    /* If-None-Match fails when its ETag is the state's. */
    const char pair[3] = { letters.none_match, letters.modified, '\0' };
    static const char *const not_modified[] = { "y-", "-n", "yn" };
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(pair, not_modified[i]) == 0)
            return ERR_NOT_MODIFIED;
    }
    return OK;
}

static enum err oracle_write(struct letters letters, bool exists)
{
    /* The first present one of this order is the one that counts. */
    char which = letters.unmodified != '-' ? 'u' : '-';
    which = letters.modified != '-' ? 'm' : which;
    which = letters.none_match != '-' ? 'o' : which;
    which = letters.match != '-' ? 'i' : which;
    bool fails = false;
    if (which == 'i')
        fails = !exists || letters.match == 'n';
    if (which == 'o')
        fails = exists && letters.none_match != 'n';
    if (which == 'm')
        fails = exists && letters.modified == 'n';
    if (which == 'u')
        fails = !exists || letters.unmodified == 'n';
    return fails ? ERR_CONDITION_NOT_MET : OK;
}

static enum err oracle(enum kind kind, struct letters letters, bool exists)
{
    if (kind == KIND_READ)
        return oracle_read(letters);
    if (kind != KIND_WRITE && letters.none_match == '*' && exists)
        return kind == KIND_REPLACE ? ERR_BLOB_EXISTS : OK;
    return oracle_write(letters, exists);
}

static enum err check(enum kind kind, const struct condition *condition,
                      const struct condition_state *state)
{
    switch (kind) {
    case KIND_READ:
        return condition_check_read(condition, state);
    case KIND_WRITE:
        return condition_check_write(condition, state);
    case KIND_REPLACE:
        return condition_check_replace(condition, state, false);
    case KIND_REPLACE_WITH_LEASE:
        return condition_check_replace(condition, state, true);
    case KIND_COUNT:
        break;
    }
    return ERR_MALFORMED;
}

/* How many combinations were compared. */
static int compare_with_oracle(struct letters letters)
{
    const struct condition condition = condition_of(letters);
    const bool allowed = oracle_shape_is_allowed(letters);
    assert_int_equal(condition_check_write_shape(&condition),
                     allowed ? OK : ERR_MULTIPLE_CONDITIONS);
    assert_int_equal(condition_is_empty(&condition), looks_like(letters, "----"));
    int compared = 0;
    for (enum kind kind = KIND_READ; kind < KIND_COUNT; kind++) {
        for (int exists = 0; exists < 2; exists++) {
            /* A read of nothing never comes here, nor a write of a refused shape. */
            if (kind == KIND_READ ? !exists : !allowed)
                continue;
            const enum err expected = oracle(kind, letters, exists);
            const enum err got = check(kind, &condition, exists ? &EXISTING : &MISSING);
            if (got != expected)
                fail_msg("kind %d exists %d headers %c%c%c%c: %s instead of %s", (int)kind, exists,
                         letters.match, letters.none_match, letters.modified, letters.unmodified,
                         error_name(got), error_name(expected));
            compared++;
        }
    }
    return compared;
}

static void every_combination_is_decided_as_the_oracle_decides(void **state)
{
    (void)state;
    static const char etag_letters[] = "-*yn";
    static const char date_letters[] = "-yn";
    int compared = 0;
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            for (size_t k = 0; k < 3; k++) {
                for (size_t l = 0; l < 3; l++)
                    compared += compare_with_oracle((struct letters){
                        .match = etag_letters[i],
                        .none_match = etag_letters[j],
                        .modified = date_letters[k],
                        .unmodified = date_letters[l],
                    });
            }
        }
    }
    /* 144 reads, and the 23 allowed shapes in 6 ways. */
    assert_int_equal(compared, 144 + 23 * 6);
}

/* --- points the combinations do not reach --- */

static void dates_are_compared_in_whole_seconds(void **state)
{
    (void)state;
    const struct condition modified = { .has_modified_since = true, .modified_since = SECOND };
    const struct condition unmodified = { .has_unmodified_since = true,
                                          .unmodified_since = SECOND };
    const struct {
        int64_t last_modified;
        bool later;
    } cases[] = {
        { SECOND - 1, false },
        { SECOND, false },
        { SECOND + 1, false },
        { SECOND + CLOCK_TICKS_PER_SEC - 1, false },
        { SECOND + CLOCK_TICKS_PER_SEC, true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct condition_state at = { .exists = true,
                                            .etag = ETAG,
                                            .last_modified = cases[i].last_modified };
        const bool later = cases[i].later;
        assert_int_equal(condition_check_read(&modified, &at), later ? OK : ERR_NOT_MODIFIED);
        assert_int_equal(condition_check_read(&unmodified, &at),
                         later ? ERR_CONDITION_NOT_MET : OK);
        assert_int_equal(condition_check_write(&modified, &at), later ? OK : ERR_CONDITION_NOT_MET);
        assert_int_equal(condition_check_write(&unmodified, &at),
                         later ? ERR_CONDITION_NOT_MET : OK);
    }
}

static void a_read_may_list_etags_and_a_write_may_not(void **state)
{
    (void)state;
    struct condition condition = { 0 };
    condition.if_match = one_etag(OTHER);
    char text[ETAG_TEXT_LEN_MAX + 1];
    etag_format(ETAG, text);
    assert_int_equal(condition_add_etags(&condition.if_match, slice_of(text)), OK);
    assert_int_equal(condition_check_read(&condition, &EXISTING), OK);
    assert_int_equal(condition_check_write_shape(&condition), ERR_MULTIPLE_CONDITIONS);

    const struct condition none = { .if_none_match = condition.if_match };
    assert_int_equal(condition_check_read(&none, &EXISTING), ERR_NOT_MODIFIED);
    assert_int_equal(condition_check_write_shape(&none), ERR_MULTIPLE_CONDITIONS);
}

static void an_etag_of_another_form_fails_if_match_and_passes_if_none_match(void **state)
{
    (void)state;
    const struct condition match = { .if_match = etags_of("\"foreign\"") };
    const struct condition none = { .if_none_match = etags_of("\"foreign\"") };
    assert_int_equal(condition_check_read(&match, &EXISTING), ERR_CONDITION_NOT_MET);
    assert_int_equal(condition_check_write(&match, &EXISTING), ERR_CONDITION_NOT_MET);
    assert_int_equal(condition_check_read(&none, &EXISTING), OK);
    assert_int_equal(condition_check_write(&none, &EXISTING), OK);
    /* They count as ETags: two of them are too many for a write. */
    const struct condition two = { .if_match = etags_of("\"foreign\", \"strange\"") };
    assert_int_equal(condition_check_write_shape(&two), ERR_MULTIPLE_CONDITIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_is_any_etag),
        cmocka_unit_test(etags_are_separated_by_commas_with_or_without_quotes),
        cmocka_unit_test(etags_of_another_form_are_counted_and_match_nothing),
        cmocka_unit_test(sixteen_etags_are_kept_and_more_are_refused),
        cmocka_unit_test(a_header_given_twice_adds_to_the_list),
        cmocka_unit_test(a_star_among_others_and_an_empty_value_are_malformed),
        cmocka_unit_test(every_combination_is_decided_as_the_oracle_decides),
        cmocka_unit_test(dates_are_compared_in_whole_seconds),
        cmocka_unit_test(a_read_may_list_etags_and_a_write_may_not),
        cmocka_unit_test(an_etag_of_another_form_fails_if_match_and_passes_if_none_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
