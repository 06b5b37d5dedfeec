/*
 * Each test makes the files of /proc and /sys that it needs in a directory of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "memory.h"

static const uint64_t MIB = UINT64_C(1024) * 1024;

enum {
    MACHINE_MIB = 24 * 1024,
};

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/zaffre-memory-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

/* A file below the root, with the directories it needs. */
static void file(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof(name), "%s%s", root, path);
    for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static void expect_mib(uint64_t mib)
{
    assert_int_equal(memory_limit_bytes(root, MACHINE_MIB * MIB), mib * MIB);
}

static void without_groups_it_is_the_memory_of_the_machine(void **state)
{
    (void)state;
    expect_mib(MACHINE_MIB);
}

static void lines_that_say_nothing_are_passed_over(void **state)
{
    (void)state;
    file("/proc/self/cgroup", "no colon\n0:\n\n0::/absent\n0::/max\n0::/words\n");
    file("/sys/fs/cgroup/max/memory.max", "max\n");
    file("/sys/fs/cgroup/words/memory.max", "-1\n");
    expect_mib(MACHINE_MIB);
}

static void the_limit_of_a_group_counts(void **state)
{
    (void)state;
    file("/proc/self/cgroup", "0::/system.slice/zaffre.service\n");
    file("/sys/fs/cgroup/system.slice/zaffre.service/memory.max", "536870912\n");
    expect_mib(512);
}

static void the_least_limit_of_the_groups_around_counts(void **state)
{
    (void)state;
    file("/proc/self/cgroup", "0::/a/b/c\n");
    file("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
    file("/sys/fs/cgroup/a/b/memory.max", "1073741824\n");
    file("/sys/fs/cgroup/a/memory.max", "2147483648\n");
    expect_mib(1024);
}

static void a_container_that_sees_only_its_own_group_finds_it_at_the_root(void **state)
{
    (void)state;
    file("/proc/self/cgroup", "0::/docker/0123abcd\n");
    file("/sys/fs/cgroup/memory.max", "268435456\n");
    expect_mib(256);
}

static void the_limit_of_version_1_counts(void **state)
{
    (void)state;
    file("/proc/self/cgroup", "8:cpu,cpuacct:/x\n7:memory:/docker/0123abcd\n");
    file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
    file("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1\n");
    expect_mib(128);
}

static void a_limit_above_the_machine_is_none(void **state)
{
    (void)state;
    file("/proc/self/cgroup", "7:memory:/\n");
    file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    expect_mib(MACHINE_MIB);
}

static void the_cache_is_an_eighth_and_at_least_64_mib(void **state)
{
    (void)state;
    assert_int_equal(memory_cache_bytes(24 * 1024 * MIB), 3 * 1024 * MIB);
    assert_int_equal(memory_cache_bytes(256 * MIB), 64 * MIB);
    assert_int_equal(memory_cache_bytes(0), 64 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_groups_it_is_the_memory_of_the_machine, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(lines_that_say_nothing_are_passed_over, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(the_limit_of_a_group_counts, make_root, remove_root),
        cmocka_unit_test_setup_teardown(the_least_limit_of_the_groups_around_counts, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(
            a_container_that_sees_only_its_own_group_finds_it_at_the_root, make_root, remove_root),
        cmocka_unit_test_setup_teardown(the_limit_of_version_1_counts, make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_limit_above_the_machine_is_none, make_root, remove_root),
        cmocka_unit_test(the_cache_is_an_eighth_and_at_least_64_mib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
