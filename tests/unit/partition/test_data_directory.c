/*
 * test_data_directory.c - taking a data directory: new, ours, in use, somebody else's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "partition/partition.h"

struct fixture {
    char path[64];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/zaffre-directory-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    *state = fixture;
    return 0;
}

static int remove_file(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    nftw(fixture->path, remove_file, 16, FTW_DEPTH | FTW_PHYS);
    free(fixture);
    return 0;
}

static const char *path_in(const struct fixture *fixture, const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", fixture->path, name);
    return path;
}

static void write_file(const char *path, const char *contents)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(contents, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool file_is(const char *path, const char *contents)
{
    char got[256] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    const size_t len = fread(got, 1, sizeof(got) - 1, file);
    fclose(file);
    return len == strlen(contents) && memcmp(got, contents, len) == 0;
}

static void a_new_directory_is_made_and_marked(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    snprintf(path, sizeof(path), "%s/deep/er", fixture->path);
    struct partition_lock *lock;
    assert_int_equal(partition_prepare_directory(path, &lock), OK);
    assert_true(file_is(path_in(fixture, "deep/er/FORMAT"), "zaffre-store 2\n"));
    assert_int_not_equal(access(path_in(fixture, "deep/er/FORMAT.new"), F_OK), 0);
    partition_lock_free(lock);
}

static void a_directory_of_ours_is_taken_again(void **state)
{
    struct fixture *fixture = *state;
    struct partition_lock *lock;
    assert_int_equal(partition_prepare_directory(fixture->path, &lock), OK);
    partition_lock_free(lock);
    write_file(path_in(fixture, "anything"), "x");
    assert_int_equal(partition_prepare_directory(fixture->path, &lock), OK);
    partition_lock_free(lock);
}

static void a_directory_in_use_is_locked_until_it_is_let_go(void **state)
{
    struct fixture *fixture = *state;
    struct partition_lock *lock;
    struct partition_lock *second;
    assert_int_equal(partition_prepare_directory(fixture->path, &lock), OK);
    assert_int_equal(partition_prepare_directory(fixture->path, &second), ERR_LOCKED);
    partition_lock_free(lock);
    assert_int_equal(partition_prepare_directory(fixture->path, &second), OK);
    partition_lock_free(second);
}

static void a_format_that_is_not_known_is_refused_and_kept(void **state)
{
    struct fixture *fixture = *state;
    static const char *const formats[] = {
        "zaffre-store 3\n", "zaffre-store 2", "",   "x\n", "zaffre-store 2\nmore",
        "zaffre-store 0\n", "zaffre-store\n", "\n", "2\n", "zaffre-store 2 \n",
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        write_file(path_in(fixture, "FORMAT"), formats[i]);
        struct partition_lock *lock;
        assert_int_equal(partition_prepare_directory(fixture->path, &lock), ERR_FORMAT_UNKNOWN);
        assert_true(file_is(path_in(fixture, "FORMAT"), formats[i]));
    }
    assert_int_not_equal(access(path_in(fixture, "LOCK"), F_OK), 0);
}

static void a_store_of_the_first_format_is_taken_and_marked_as_ours(void **state)
{
    struct fixture *fixture = *state;
    write_file(path_in(fixture, "FORMAT"), "zaffre-store 1\n");
    assert_int_equal(mkdir(path_in(fixture, "meta"), 0700), 0);
    struct partition_lock *lock;
    assert_int_equal(partition_lock_directory(fixture->path, &lock), OK);
    assert_true(file_is(path_in(fixture, "FORMAT"), "zaffre-store 1\n"));
    partition_lock_free(lock);

    assert_int_equal(partition_prepare_directory(fixture->path, &lock), OK);
    assert_true(file_is(path_in(fixture, "FORMAT"), "zaffre-store 2\n"));
    partition_lock_free(lock);
}

static void a_directory_with_something_in_our_place_is_refused_and_not_touched(void **state)
{
    struct fixture *fixture = *state;
    static const char *const names[] = { "meta", "extents" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        write_file(path_in(fixture, names[i]), "x");
        struct partition_lock *lock;
        assert_int_equal(partition_prepare_directory(fixture->path, &lock), ERR_FORMAT_UNKNOWN);
        assert_int_not_equal(access(path_in(fixture, "FORMAT"), F_OK), 0);
        assert_int_not_equal(access(path_in(fixture, "LOCK"), F_OK), 0);
        assert_true(file_is(path_in(fixture, names[i]), "x"));
        assert_int_equal(unlink(path_in(fixture, names[i])), 0);
    }
}

static void a_directory_with_other_files_is_used_and_they_are_left_alone(void **state)
{
    struct fixture *fixture = *state;
    write_file(path_in(fixture, "package.json"), "x");
    struct partition_lock *lock;
    assert_int_equal(partition_prepare_directory(fixture->path, &lock), OK);
    partition_lock_free(lock);
    assert_true(file_is(path_in(fixture, "package.json"), "x"));
}

static void an_interrupted_first_start_is_no_obstacle(void **state)
{
    struct fixture *fixture = *state;
    write_file(path_in(fixture, "LOCK"), "");
    write_file(path_in(fixture, "FORMAT.new"), "zaff");
    assert_int_equal(mkdir(path_in(fixture, "lost+found"), 0700), 0);
    struct partition_lock *lock;
    assert_int_equal(partition_prepare_directory(fixture->path, &lock), OK);
    assert_true(file_is(path_in(fixture, "FORMAT"), "zaffre-store 2\n"));
    partition_lock_free(lock);
}

static void a_backup_is_looked_at_and_not_served(void **state)
{
    struct fixture *fixture = *state;
    struct partition_lock *lock;
    enum partition_directory kind;
    assert_int_equal(partition_directory_kind(fixture->path, &kind), ERR_NOT_FOUND);
    assert_int_equal(partition_mark_directory(fixture->path, PARTITION_DIRECTORY_BACKUP), OK);
    assert_true(file_is(path_in(fixture, "FORMAT"), "zaffre-backup 2\n"));
    assert_int_equal(partition_directory_kind(fixture->path, &kind), OK);
    assert_int_equal(kind, PARTITION_DIRECTORY_BACKUP);
    assert_int_equal(partition_prepare_directory(fixture->path, &lock), ERR_FORMAT_UNKNOWN);
    assert_int_equal(partition_lock_directory(fixture->path, &lock), OK);
    partition_lock_free(lock);

    assert_int_equal(partition_mark_directory(fixture->path, PARTITION_DIRECTORY_STORE), OK);
    assert_int_equal(partition_directory_kind(fixture->path, &kind), OK);
    assert_int_equal(kind, PARTITION_DIRECTORY_STORE);
    assert_int_equal(partition_prepare_directory(fixture->path, &lock), OK);
    partition_lock_free(lock);
}

static void what_is_no_directory_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    write_file(path_in(fixture, "file"), "x");
    struct partition_lock *lock;
    assert_int_equal(partition_prepare_directory(path_in(fixture, "file"), &lock), ERR_IO);
    assert_int_equal(partition_prepare_directory("", &lock), ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_directory_is_made_and_marked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_of_ours_is_taken_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_in_use_is_locked_until_it_is_let_go, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_format_that_is_not_known_is_refused_and_kept, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_store_of_the_first_format_is_taken_and_marked_as_ours,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_directory_with_something_in_our_place_is_refused_and_not_touched, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_directory_with_other_files_is_used_and_they_are_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(an_interrupted_first_start_is_no_obstacle, setup, teardown),
        cmocka_unit_test_setup_teardown(a_backup_is_looked_at_and_not_served, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_directory_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
