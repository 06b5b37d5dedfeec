/*
 * test_account.c - the list of accounts: its text form, its faults, and finding an account.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "service/account.h"

static struct account_list *read_list(const char *spec)
{
    struct account_list *list = NULL;
    const char *fault = NULL;
    if (account_list_new(spec, &list, &fault) != OK)
        fail_msg("%s", fault);
    return list;
}

static void assert_refused(const char *spec, const char *word)
{
    struct account_list *list = NULL;
    const char *fault = NULL;
    assert_int_equal(account_list_new(spec, &list, &fault), ERR_MALFORMED);
    assert_null(list);
    assert_non_null(fault);
    if (strstr(fault, word) == NULL)
        fail_msg("\"%s\" does not speak of \"%s\"", fault, word);
}

/* Whether key `index` is the one whose bytes are `secret`. */
static void assert_key(const struct account *account, size_t index, const char *secret)
{
    struct digest_hmac_key expected;
    digest_hmac_key_init(&expected, slice_of(secret));
    uint8_t expected_mac[DIGEST_SHA256_BYTES];
    uint8_t mac[DIGEST_SHA256_BYTES];
    digest_hmac(&expected, slice_of("text"), expected_mac);
    digest_hmac(&account->keys[index], slice_of("text"), mac);
    assert_memory_equal(mac, expected_mac, sizeof(mac));
}

static void no_list_gives_the_well_known_account(void **state)
{
    (void)state;
    static const char *const specs[] = { NULL, "", "  " };
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct account_list *list = read_list(specs[i]);
        assert_int_equal(account_list_count(list), 1);
        const struct account *account = account_list_get(list, 0);
        assert_string_equal(account->name, "devstoreaccount1");
        assert_int_equal(account->key_count, 1);
        assert_true(account->has_well_known_key);
        assert_true(account_list_has_well_known_key(list));
        account_list_free(list);
    }
}

static void an_account_has_one_or_two_keys(void **state)
{
    (void)state;
    /* "a2V5MQ==" is "key1" and so on. */
    struct account_list *list = read_list("one:a2V5MQ==; two : a2V5Mg== : a2V5Mw== ;");
    assert_int_equal(account_list_count(list), 2);
    const struct account *one = account_list_get(list, 0);
    assert_string_equal(one->name, "one");
    assert_int_equal(one->key_count, 1);
    assert_key(one, 0, "key1");
    const struct account *two = account_list_get(list, 1);
    assert_string_equal(two->name, "two");
    assert_int_equal(two->key_count, 2);
    assert_key(two, 0, "key2");
    assert_key(two, 1, "key3");
    assert_false(account_list_has_well_known_key(list));
    account_list_free(list);
}

static void the_well_known_key_is_noticed_wherever_it_is(void **state)
{
    (void)state;
    struct account_list *list = read_list("one:a2V5MQ==;two:a2V5Mg==:" ACCOUNT_WELL_KNOWN_KEY);
    assert_false(account_list_get(list, 0)->has_well_known_key);
    assert_true(account_list_get(list, 1)->has_well_known_key);
    assert_true(account_list_has_well_known_key(list));
    account_list_free(list);
}

static void accounts_are_found_in_any_case(void **state)
{
    (void)state;
    struct account_list *list = read_list("beta:a2V5MQ==;Alpha:a2V5MQ==;gamma:a2V5MQ==");
    assert_ptr_equal(account_find(list, slice_of("beta")), account_list_get(list, 0));
    assert_ptr_equal(account_find(list, slice_of("ALPHA")), account_list_get(list, 1));
    assert_ptr_equal(account_find(list, slice_of("Gamma")), account_list_get(list, 2));
    assert_null(account_find(list, slice_of("alph")));
    assert_null(account_find(list, slice_of("alphaa")));
    assert_null(account_find(list, slice_of("zeta")));
    assert_null(account_find(list, slice_of("")));
    assert_null(account_find(list, slice_make("alpha\0", 6)));
    assert_null(account_find(list, slice_make("\0", 1)));
    account_list_free(list);
}

static struct slice list_of(struct arena *arena, int count)
{
    struct strbuf buf;
    strbuf_init(&buf, arena);
    for (int i = 0; i < count; i++)
        strbuf_printf(&buf, "account%d:a2V5MQ==;", i * 7 % count);
    strbuf_add_byte(&buf, '\0');
    return strbuf_slice(&buf);
}

static void a_thousand_accounts_are_served_and_no_more(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct account_list *list = read_list(list_of(&arena, LIMIT_ACCOUNTS_MAX).data);
    assert_int_equal(account_list_count(list), LIMIT_ACCOUNTS_MAX);
    for (int i = 0; i < LIMIT_ACCOUNTS_MAX; i++) {
        const struct slice name = arena_printf(&arena, "ACCOUNT%d", i);
        const struct account *account = account_find(list, name);
        assert_non_null(account);
        assert_true(slice_equal_nocase(slice_of(account->name), name));
    }
    account_list_free(list);
    assert_refused(list_of(&arena, LIMIT_ACCOUNTS_MAX + 1).data, "more accounts");
    arena_release(&arena);
}

static void faults_are_told_without_the_key(void **state)
{
    (void)state;
    assert_refused(";", "no account");
    assert_refused("one", "no key");
    assert_refused("one:", "no key");
    assert_refused("one: ", "no key");
    assert_refused(":a2V5MQ==", "name");
    assert_refused("a/b:a2V5MQ==", "name");
    assert_refused("a b:a2V5MQ==", "name");
    assert_refused("one-secondary:a2V5MQ==", "-secondary");
    assert_refused("one:not base64!", "base64");
    assert_refused("one::a2V5MQ==", "base64");
    assert_refused("one:a2V5MQ==:a2V5MQ==:a2V5MQ==", "two keys");
    assert_refused("one:a2V5MQ==;two:a2V5MQ==;ONE:a2V5MQ==", "same name");
    assert_refused("a23456789012345678901234567890123456789012345678901234567890"
                   "1234:a2V5MQ==",
                   "too long");
}

static void the_longest_name_fits(void **state)
{
    (void)state;
    struct account_list *list =
        read_list("a23456789012345678901234567890123456789012345678901234567890123:a2V5MQ==");
    assert_int_equal(strlen(account_list_get(list, 0)->name), LIMIT_ACCOUNT_NAME_MAX);
    account_list_free(list);
}

static void freeing_nothing_is_fine(void **state)
{
    (void)state;
    account_list_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_list_gives_the_well_known_account),
        cmocka_unit_test(an_account_has_one_or_two_keys),
        cmocka_unit_test(the_well_known_key_is_noticed_wherever_it_is),
        cmocka_unit_test(accounts_are_found_in_any_case),
        cmocka_unit_test(a_thousand_accounts_are_served_and_no_more),
        cmocka_unit_test(faults_are_told_without_the_key),
        cmocka_unit_test(the_longest_name_fits),
        cmocka_unit_test(freeing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
