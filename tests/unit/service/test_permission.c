/*
 * test_permission.c - file permissions: what is taken, keys, storing each once.
 */
#include "service/file/permission.h"

#include <ctype.h>

#include "base/log.h"
#include "service/limits.h"
#include "service/row.h"
#include "share_fixture.h"

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static const char GIVEN[] = "O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-"
                            "2127521184-1604012920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)"
                            "(A;;0x1200a9;;;S-1-5-21-397955417-626881126-188441444-3053964)";

static struct slice made(struct service_fixture *fixture, const char *text)
{
    struct slice permission;
    if (permission_from_text(&fixture->arena, slice_of(text), &permission) != OK)
        fail_msg("%s", text);
    return permission;
}

/* Keep it in a share; the key, in the fixture's arena. */
static enum err keep(struct service_fixture *fixture, const char *share, struct slice permission,
                     struct slice *key)
{
    struct waiter waiter;
    struct permission_change change = { .name = share_named(share, 0), .permission = permission };
    waiter_bind(&waiter, &change.base, &fixture->arena);
    permission_create(&fixture->service, &change);
    const enum err err = waiter_wait(&waiter);
    *key = change.key;
    return err;
}

static enum err get(struct service_fixture *fixture, const char *share, struct slice key,
                    struct slice *permission)
{
    const struct share_name name = share_named(share, 0);
    return permission_get(&fixture->service, &fixture->arena, &name, key, permission);
}

static void a_permission_without_sacl_comes_back_with_one_that_is_null(void **state)
{
    struct service_fixture *fixture = *state;
    struct slice key;
    struct slice permission;
    struct slice text;
    share_new(fixture, "one");
    assert_int_equal(keep(fixture, "one", made(fixture, GIVEN), &key), OK);
    assert_int_equal(get(fixture, "one", key, &permission), OK);
    assert_int_equal(permission_to_text(&fixture->arena, permission, &text), OK);
    const struct slice expected = arena_printf(&fixture->arena, "%sS:NO_ACCESS_CONTROL", GIVEN);
    assert_true(slice_equal(text, expected));
    /* What came back is the same permission. */
    struct slice again;
    assert_int_equal(keep(fixture, "one", made(fixture, expected.data), &again), OK);
    assert_true(slice_equal(again, key));
}

static void a_key_is_two_numbers_with_a_star_between_them(void **state)
{
    struct service_fixture *fixture = *state;
    const struct slice key = permission_key(&fixture->arena, made(fixture, GIVEN));
    const size_t star = slice_find_byte(key, '*');
    assert_true(key.len <= PERMISSION_KEY_LEN_MAX);
    assert_true(star > 0 && star + 1 < key.len);
    for (size_t i = 0; i < key.len; i++)
        assert_true(i == star || isdigit((unsigned char)key.data[i]));
}

static size_t rows_of(struct service_fixture *fixture, uint64_t incarnation)
{
    struct strbuf out;
    strbuf_init(&out, &fixture->arena);
    return fixture_dump_partition(fixture, file_partition(&fixture->arena, incarnation), &out);
}

static void the_same_permission_is_kept_once(void **state)
{
    struct service_fixture *fixture = *state;
    struct slice keys[3];
    const uint64_t incarnation = share_new(fixture, "one");
    share_new(fixture, "two");
    assert_int_equal(keep(fixture, "one", made(fixture, "O:SYG:SYD:(A;;FA;;;SY)"), &keys[0]), OK);
    assert_int_equal(
        keep(fixture, "one", made(fixture, "d:(A;;0x1f01ff;;;S-1-5-18)g:syo:sy"), &keys[1]), OK);
    assert_true(slice_equal(keys[0], keys[1]));
    assert_int_equal(rows_of(fixture, incarnation), 1);
    assert_int_equal(keep(fixture, "one", made(fixture, "O:SYG:SYD:(A;;FA;;;BA)"), &keys[2]), OK);
    assert_false(slice_equal(keys[0], keys[2]));
    assert_int_equal(rows_of(fixture, incarnation), 2);
    /* Of the same share: another has its own. */
    struct slice permission;
    assert_int_equal(get(fixture, "two", keys[0], &permission), ERR_RESOURCE_NOT_FOUND);
    struct slice bytes;
    assert_int_equal(get(fixture, "one", keys[0], &permission), OK);
    assert_int_equal(permission_from_bytes(&fixture->arena, permission, &bytes), OK);
    assert_true(slice_equal(permission, bytes));
}

static void owner_group_and_dacl_are_demanded(void **state)
{
    struct service_fixture *fixture = *state;
    static const char *const bad[] = {
        "O:SYG:SY", "O:SYD:(A;;FA;;;SY)", "G:SYD:(A;;FA;;;SY)", "S:(AU;SA;FA;;;WD)", "", "abcde",
    };
    struct slice permission;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(permission_from_text(&fixture->arena, slice_of(bad[i]), &permission),
                         ERR_FILE_PERMISSION_INVALID);
    assert_int_equal(permission_from_bytes(&fixture->arena, slice_of("abcde"), &permission),
                     ERR_FILE_PERMISSION_INVALID);
    assert_int_equal(
        permission_from_text(&fixture->arena, slice_of("O:SYG:SYD:NO_ACCESS_CONTROL"), &permission),
        OK);
}

static void the_default_permissions_need_no_row(void **state)
{
    struct service_fixture *fixture = *state;
    struct slice permission;
    const uint64_t incarnation = share_new(fixture, "one");
    for (int of = 0; of < PERMISSION_OF_COUNT; of++) {
        const struct slice expected = permission_default((enum permission_of)of);
        const struct slice key = permission_key(&fixture->arena, expected);
        assert_true(slice_equal(key, permission_default_key((enum permission_of)of)));
        assert_true(permission_key_is_default(key));
        assert_int_equal(rows_of(fixture, incarnation), 0);
        assert_int_equal(get(fixture, "one", key, &permission), OK);
        assert_true(slice_equal(permission, expected));
    }
    assert_false(permission_key_is_default(slice_of("1*2")));
}

static void a_key_that_is_not_there_is_not_found(void **state)
{
    struct service_fixture *fixture = *state;
    struct slice permission;
    char *long_key = arena_bytes(&fixture->arena, 20000);
    memset(long_key, '1', 20000);
    share_new(fixture, "one");
    assert_int_equal(get(fixture, "one", slice_of("1*2"), &permission), ERR_RESOURCE_NOT_FOUND);
    assert_int_equal(get(fixture, "one", slice_of(""), &permission), ERR_RESOURCE_NOT_FOUND);
    assert_int_equal(get(fixture, "one", slice_make(long_key, 20000), &permission),
                     ERR_RESOURCE_NOT_FOUND);
    assert_int_equal(get(fixture, "two", slice_of("1*2"), &permission), ERR_SHARE_NOT_FOUND);
    struct slice key;
    assert_int_equal(keep(fixture, "two", made(fixture, GIVEN), &key), ERR_SHARE_NOT_FOUND);
}

static void a_row_that_is_not_what_its_key_says_is_corrupt(void **state)
{
    struct service_fixture *fixture = *state;
    const struct slice permission = made(fixture, GIVEN);
    const struct slice key = permission_key(&fixture->arena, permission);
    const struct slice row = permission_encode(&fixture->arena, permission);
    struct slice decoded;
    assert_int_equal(permission_decode(key, row, &decoded), OK);
    assert_int_equal(permission_decode(slice_of("1*2"), row, &decoded), ERR_CORRUPT);
    for (size_t i = 0; i < row.len; i++) {
        char *copy = arena_bytes(&fixture->arena, row.len);
        memcpy(copy, row.data, row.len);
        copy[i] ^= 1;
        assert_int_equal(permission_decode(key, slice_make(copy, row.len), &decoded), ERR_CORRUPT);
        assert_int_equal(permission_decode(key, slice_head(row, i), &decoded), ERR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL_ENGINES(a_permission_without_sacl_comes_back_with_one_that_is_null),
        ON_MEMORY(a_key_is_two_numbers_with_a_star_between_them),
        ON_ALL_ENGINES(the_same_permission_is_kept_once),
        ON_MEMORY(owner_group_and_dacl_are_demanded),
        ON_MEMORY(the_default_permissions_need_no_row),
        ON_MEMORY(a_key_that_is_not_there_is_not_found),
        ON_MEMORY(a_row_that_is_not_what_its_key_says_is_corrupt),
    };
    return cmocka_run_group_tests_name("permission", tests, quiet, NULL);
}
