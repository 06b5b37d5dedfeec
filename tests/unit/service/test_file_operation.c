/*
 * test_file_operation.c - the tables of "Manage file locks" that say which REST operation needs
 * which access, which fails against which open handle, and the read-only attribute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "file_rights.h"
#include "service/file/file_operation.h"

static const char *const EVERY_SHARE[] = { "", "R", "W", "D", "RW", "RD", "WD", "RWD" };

static const struct share_mode_row {
    enum file_operation operation;
    const char *access;
    bool no_handles;
} ACCESS[] = {
    /* as documented */
    { FILE_OPERATION_LIST, "", false },
    { FILE_OPERATION_CREATE, "WD", false },
    { FILE_OPERATION_GET, "R", false },
    { FILE_OPERATION_LIST_RANGES, "R", false },
    { FILE_OPERATION_GET_PROPERTIES, "", false },
    { FILE_OPERATION_SET_PROPERTIES, "W", false },
    { FILE_OPERATION_SET_METADATA, "W", false },
    { FILE_OPERATION_PUT_RANGE, "W", false },
    { FILE_OPERATION_DELETE, "D", true },
    { FILE_OPERATION_ACQUIRE_LEASE, "RWD", false },
    /* by analogy */
    { FILE_OPERATION_COPY_FROM, "R", false },
    { FILE_OPERATION_COPY_TO, "WD", false },
    { FILE_OPERATION_ABORT_COPY, "W", false },
    { FILE_OPERATION_RENAME, "D", false },
    { FILE_OPERATION_REPLACE, "D", true },
    { FILE_OPERATION_OTHER_LEASE_ACTION, "", false },
    /* with a handle, which was let in before */
    { FILE_OPERATION_SMB_READ, "", false },
    { FILE_OPERATION_SMB_WRITE, "", false },
    { FILE_OPERATION_SMB_SET_SIZE, "", false },
    { FILE_OPERATION_SMB_RENAME, "", false },
    { FILE_OPERATION_SMB_SET_DELETE, "", false },
};

static void every_operation_needs_the_access_it_is_documented_with(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (size_t i = 0; i < sizeof(ACCESS) / sizeof(ACCESS[0]); i++) {
        const struct file_operation_rule *rule = file_operation_rule(ACCESS[i].operation);
        assert_int_equal(rule->mode.access, rights(ACCESS[i].access));
        assert_int_equal(rule->handles == FILE_OPERATION_NO_HANDLES, ACCESS[i].no_handles);
        seen |= 1u << ACCESS[i].operation;
    }
    assert_int_equal(seen, (1u << FILE_OPERATION_COUNT) - 1);
}

static void only_acquiring_a_lease_keeps_others_from_anything(void **state)
{
    (void)state;
    for (enum file_operation i = 0; i < FILE_OPERATION_COUNT; i++) {
        const struct file_operation_rule *rule = file_operation_rule(i);
        if (rule->by != FILE_OPERATION_BY_REST)
            continue;
        assert_int_equal(rule->mode.share,
                         i == FILE_OPERATION_ACQUIRE_LEASE ? rights("R") : rights("RWD"));
    }
}

/* The operations of the table, in its words. */
static const struct {
    const char *word;
    enum file_operation operation;
} WORDS[] = {
    { "List", FILE_OPERATION_LIST },
    { "Create", FILE_OPERATION_CREATE },
    { "Get", FILE_OPERATION_GET },
    { "GetProps", FILE_OPERATION_GET_PROPERTIES },
    { "SetProps", FILE_OPERATION_SET_PROPERTIES },
    { "SetMeta", FILE_OPERATION_SET_METADATA },
    { "Delete", FILE_OPERATION_DELETE },
    { "PutRange", FILE_OPERATION_PUT_RANGE },
    { "ListRanges", FILE_OPERATION_LIST_RANGES },
    { "Lease", FILE_OPERATION_ACQUIRE_LEASE },
};

/* Which operations fail while an SMB handle with this share mode is open. */
static const struct {
    const char *share;
    const char *failing;
} SHARING[] = {
    { "", " Create Get SetProps SetMeta Delete PutRange ListRanges Lease " },
    { "R", " Create SetProps SetMeta Delete PutRange Lease " },
    { "W", " Create Get Delete ListRanges Lease " },
    { "D", " Create Get SetProps SetMeta PutRange ListRanges Delete Lease " },
    { "RW", " Create Delete Lease " },
    { "RD", " Create SetProps SetMeta PutRange Delete Lease " },
    { "WD", " Get ListRanges Delete Lease " },
    { "RWD", " Delete " },
};

static bool names(const char *list, const char *word)
{
    const char *at = strstr(list, word);
    const size_t len = strlen(word);
    while (at != NULL && (at[-1] != ' ' || at[len] != ' '))
        at = strstr(at + 1, word);
    return at != NULL;
}

static void share_modes_of_handles_fail_the_documented_operations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(SHARING) / sizeof(SHARING[0]); i++) {
        for (size_t j = 0; j < sizeof(WORDS) / sizeof(WORDS[0]); j++) {
            const struct file_operation_rule *rule = file_operation_rule(WORDS[j].operation);
            const bool fails = names(SHARING[i].failing, WORDS[j].word);
            assert_int_equal(sharing_with_handle(mode("R", SHARING[i].share), CACHING_NONE,
                                                 rule->mode, rule->handles),
                             fails ? SHARING_VIOLATION : SHARING_COMPATIBLE);
            /* If the client may only be putting off closing, it is asked first. */
            assert_int_equal(sharing_with_handle(mode("R", SHARING[i].share), CACHING_RH,
                                                 rule->mode, rule->handles),
                             fails ? SHARING_MAY_CLOSE : SHARING_COMPATIBLE);
        }
    }
}

/* Acquiring a lease, by the access of handles that share everything. */
static const struct {
    const char *access;
    bool fails;
} ACQUIRING[] = {
    { "", false },  { "R", false }, { "W", true },  { "D", true },
    { "RW", true }, { "RD", true }, { "WD", true }, { "RWD", true },
};

static void a_lease_is_acquired_beside_readers_only(void **state)
{
    (void)state;
    const struct file_operation_rule *rule = file_operation_rule(FILE_OPERATION_ACQUIRE_LEASE);
    for (size_t i = 0; i < sizeof(ACQUIRING) / sizeof(ACQUIRING[0]); i++)
        assert_int_equal(sharing_with_handle(mode(ACQUIRING[i].access, "RWD"), CACHING_NONE,
                                             rule->mode, rule->handles),
                         ACQUIRING[i].fails ? SHARING_VIOLATION : SHARING_COMPATIBLE);
}

static void attribute_access_stops_deletion_and_nothing_else(void **state)
{
    (void)state;
    for (enum file_operation i = 0; i < FILE_OPERATION_COUNT; i++) {
        const struct file_operation_rule *rule = file_operation_rule(i);
        const bool deletes = i == FILE_OPERATION_DELETE || i == FILE_OPERATION_REPLACE;
        for (size_t j = 0; j < sizeof(EVERY_SHARE) / sizeof(EVERY_SHARE[0]); j++)
            assert_int_equal(sharing_with_handle(mode("", EVERY_SHARE[j]), CACHING_NONE, rule->mode,
                                                 rule->handles),
                             deletes ? SHARING_VIOLATION : SHARING_COMPATIBLE);
    }
}

/* Of the REST operations, those a read-only file refuses. */
static const enum file_operation REFUSED_READ_ONLY[] = {
    FILE_OPERATION_CREATE,    FILE_OPERATION_SET_PROPERTIES, FILE_OPERATION_SET_METADATA,
    FILE_OPERATION_PUT_RANGE, FILE_OPERATION_COPY_TO,        FILE_OPERATION_RENAME,
    FILE_OPERATION_REPLACE,   FILE_OPERATION_DELETE,
};

static void the_read_only_attribute_forbids_what_changes_the_file(void **state)
{
    (void)state;
    unsigned expected = 0;
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(REFUSED_READ_ONLY) / sizeof(REFUSED_READ_ONLY[0]); i++)
        expected |= 1u << REFUSED_READ_ONLY[i];
    for (enum file_operation i = 0; i < FILE_OPERATION_COUNT; i++)
        if (file_operation_rule(i)->by == FILE_OPERATION_BY_REST && file_operation_rule(i)->changes)
            found |= 1u << i;
    assert_int_equal(found, expected);
}

/* Which operations look at byte-range locks. */
static void only_reads_and_writes_of_bytes_meet_locks(void **state)
{
    (void)state;
    for (enum file_operation i = 0; i < FILE_OPERATION_COUNT; i++) {
        enum byte_use use = BYTE_USE_NONE;
        if (i == FILE_OPERATION_GET || i == FILE_OPERATION_COPY_FROM ||
            i == FILE_OPERATION_SMB_READ)
            use = BYTE_USE_READ;
        if (i == FILE_OPERATION_PUT_RANGE || i == FILE_OPERATION_SMB_WRITE)
            use = BYTE_USE_WRITE;
        assert_int_equal(file_operation_rule(i)->use, use);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_needs_the_access_it_is_documented_with),
        cmocka_unit_test(only_acquiring_a_lease_keeps_others_from_anything),
        cmocka_unit_test(share_modes_of_handles_fail_the_documented_operations),
        cmocka_unit_test(a_lease_is_acquired_beside_readers_only),
        cmocka_unit_test(attribute_access_stops_deletion_and_nothing_else),
        cmocka_unit_test(the_read_only_attribute_forbids_what_changes_the_file),
        cmocka_unit_test(only_reads_and_writes_of_bytes_meet_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
