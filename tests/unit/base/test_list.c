/*
 * test_list.c - links through items: order, removal from anywhere, and walks that remove.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
    int number;
    struct list_link link; /* not the first field, so that LIST_ITEM has something to do */
};

/* The numbers in the list are first, first + 1, ... */
static void assert_numbers(struct list *list, int first, int count)
{
    int expected = first;
    list_for_each (link, list)
        assert_int_equal(LIST_ITEM(link, struct item, link)->number, expected++);
    assert_int_equal(expected, first + count);
    assert_int_equal(list_is_empty(list), count == 0);
}

static void items_come_in_the_order_they_were_added(void **state)
{
    (void)state;
    struct item items[3] = { { .number = 0 }, { .number = 1 }, { .number = 2 } };
    struct list list;
    list_init(&list);
    assert_numbers(&list, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_false(list_link_is_used(&items[i].link));
        list_add_last(&list, &items[i].link);
        assert_true(list_link_is_used(&items[i].link));
        assert_numbers(&list, 0, i + 1);
    }
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(list_take_first(&list), &items[i].link);
    assert_null(list_take_first(&list));
}

static void an_item_is_removed_from_anywhere(void **state)
{
    (void)state;
    for (int gone = 0; gone < 3; gone++) {
        struct item items[3] = { 0 };
        struct list list;
        int number = 0;
        list_init(&list);
        for (int i = 0; i < 3; i++) {
            items[i].number = i == gone ? -1 : number++;
            list_add_last(&list, &items[i].link);
        }
        list_remove(&items[gone].link);
        assert_false(list_link_is_used(&items[gone].link));
        assert_numbers(&list, 0, 2);
    }
}

static void a_safe_walk_may_remove_what_it_stands_on(void **state)
{
    (void)state;
    struct item items[5] = { 0 };
    struct list list;
    list_init(&list);
    for (int i = 0; i < 5; i++) {
        items[i].number = i;
        list_add_last(&list, &items[i].link);
    }
    int seen = 0;
    list_for_each_safe (link, after, &list) {
        seen++;
        if (LIST_ITEM(link, struct item, link)->number < 3)
            list_remove(link);
    }
    assert_int_equal(seen, 5);
    assert_numbers(&list, 3, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_in_the_order_they_were_added),
        cmocka_unit_test(an_item_is_removed_from_anywhere),
        cmocka_unit_test(a_safe_walk_may_remove_what_it_stands_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
