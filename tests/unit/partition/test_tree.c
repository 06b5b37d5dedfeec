/*
 * test_tree.c - the persistent tree: old trees stay, order holds, nothing leaks (under ASan).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "partition/memory/tree.h"

enum {
    COUNT = 1000,
};

static struct tree_entry *entry_of(unsigned number, const char *value)
{
    char key[16];
    const int len = snprintf(key, sizeof(key), "%u", number);
    return tree_entry_new(slice_make(key, (size_t)len), slice_of(value));
}

/* Applies an entry and drops the old tree. */
static struct tree *apply(struct tree *tree, unsigned number, const char *value)
{
    struct tree_entry *entry = entry_of(number, value);
    struct tree *changed = tree_apply(tree, entry);
    tree_entry_unref(entry);
    tree_unref(tree);
    return changed;
}

static unsigned count_keys(const struct tree *tree)
{
    unsigned count = 0;
    char after[32] = "";
    struct slice from = { 0 };
    const struct tree_entry *entry;
    while ((entry = tree_find_from(tree, from)) != NULL) {
        const struct slice key = tree_entry_key(entry);
        assert_true(slice_compare(key, from) >= 0);
        memcpy(after, key.data, key.len);
        after[key.len] = '\0';
        from = slice_make(after, key.len + 1);
        count++;
    }
    return count;
}

static void keys_come_back_in_order_whatever_order_they_came_in(void **state)
{
    (void)state;
    struct tree *tree = NULL;
    for (unsigned i = 0; i < COUNT; i++)
        tree = apply(tree, i * 7919 % COUNT, "x");
    tree_assert(tree);
    assert_int_equal(count_keys(tree), COUNT);
    for (unsigned i = 0; i < COUNT; i += 2)
        tree = apply(tree, i, "");
    tree_assert(tree);
    assert_int_equal(count_keys(tree), COUNT / 2);
    assert_null(tree_find(tree, slice_of("100")));
    assert_non_null(tree_find(tree, slice_of("101")));
    tree_unref(tree);
}

static void a_held_tree_stays_as_it_was(void **state)
{
    (void)state;
    struct tree *tree = NULL;
    for (unsigned i = 0; i < COUNT; i++)
        tree = apply(tree, i, "old");
    struct tree *held = tree_ref(tree);
    for (unsigned i = 0; i < COUNT; i++)
        tree = apply(tree, i, i % 2 == 0 ? "new" : "");
    tree_assert(held);
    assert_int_equal(count_keys(held), COUNT);
    assert_int_equal(count_keys(tree), COUNT / 2);
    assert_true(slice_is(tree_entry_value(tree_find(held, slice_of("500"))), "old"));
    assert_true(slice_is(tree_entry_value(tree_find(tree, slice_of("500"))), "new"));
    tree_unref(tree);
    assert_int_equal(count_keys(held), COUNT);
    tree_unref(held);
}

static void removing_what_is_not_there_changes_nothing(void **state)
{
    (void)state;
    struct tree *tree = apply(NULL, 1, "");
    assert_null(tree);
    tree = apply(tree, 1, "x");
    struct tree *before = tree;
    tree = apply(tree, 2, "");
    assert_ptr_equal(tree, before);
    tree_unref(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_back_in_order_whatever_order_they_came_in),
        cmocka_unit_test(a_held_tree_stays_as_it_was),
        cmocka_unit_test(removing_what_is_not_there_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
