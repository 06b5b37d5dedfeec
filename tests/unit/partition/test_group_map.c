/*
 * test_group_map.c - the map of a group's changes, alone and against a simple model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "partition/group_map.h"

enum {
    KEYS = 200,
    STEPS = 100000,
    MANY = 100000,
};

static void set(struct group_map *map, const char *key, const char *value)
{
    group_map_set(map, slice_of(key), slice_of(value));
}

/* NULL: the key is not in the map. */
static void expect(const struct group_map *map, const char *key, const char *value)
{
    const struct group_entry *entry = group_map_find(map, slice_of(key));
    assert_int_equal(entry == NULL, value == NULL);
    if (entry == NULL)
        return;
    assert_true(slice_is(group_entry_key(entry), key));
    assert_true(slice_is(group_entry_value(entry), value));
}

static void a_key_has_its_latest_value(void **state)
{
    (void)state;
    struct group_map *map = group_map_new();
    expect(map, "b", NULL);
    set(map, "b", "1");
    set(map, "a", "2");
    set(map, "b", "3");
    expect(map, "a", "2");
    expect(map, "b", "3");
    expect(map, "c", NULL);
    set(map, "b", "");
    expect(map, "b", "");
    group_map_free(map);
}

static void entries_are_in_the_order_of_their_keys(void **state)
{
    (void)state;
    struct group_map *map = group_map_new();
    assert_null(group_map_first(map));
    set(map, "b", "1");
    set(map, "ba", "2");
    set(map, "a", "3");
    const struct group_entry *entry = group_map_first(map);
    assert_true(slice_is(group_entry_key(entry), "a"));
    assert_ptr_equal(group_entry_next(entry), group_map_find(map, slice_of("b")));
    assert_ptr_equal(group_map_from(map, slice_of("b")), group_map_find(map, slice_of("b")));
    assert_ptr_equal(group_map_from(map, slice_of("b0")), group_map_find(map, slice_of("ba")));
    assert_null(group_map_from(map, slice_of("bb")));
    group_map_free(map);
}

static void undoing_leaves_what_was_there_before_the_save_point(void **state)
{
    (void)state;
    struct group_map *map = group_map_new();
    set(map, "a", "1");
    set(map, "b", "2");
    group_map_save(map);
    const size_t size_bytes = group_map_size_bytes(map);
    for (unsigned i = 0; i < 2; i++) {
        set(map, "a", "3");
        set(map, "a", "");
        set(map, "c", "4");
        group_map_undo(map);
        expect(map, "a", "1");
        expect(map, "b", "2");
        expect(map, "c", NULL);
        assert_int_equal(group_map_size_bytes(map), size_bytes);
    }
    group_map_free(map);
}

static void a_value_stays_where_it_is_when_its_key_is_set_again(void **state)
{
    (void)state;
    struct group_map *map = group_map_new();
    set(map, "a", "first");
    const struct slice value = group_entry_value(group_map_find(map, slice_of("a")));
    for (unsigned i = 0; i < 1000; i++)
        set(map, "a", "later");
    assert_true(slice_is(value, "first"));
    group_map_free(map);
}

static void the_size_counts_every_change_that_was_not_undone(void **state)
{
    (void)state;
    struct group_map *map = group_map_new();
    assert_int_equal(group_map_size_bytes(map), 0);
    set(map, "ab", "345");
    assert_int_equal(group_map_size_bytes(map), 5);
    set(map, "ab", "3");
    assert_int_equal(group_map_size_bytes(map), 8);
    set(map, "ab", "");
    assert_int_equal(group_map_size_bytes(map), 10);
    group_map_clear(map);
    assert_int_equal(group_map_size_bytes(map), 0);
    expect(map, "ab", NULL);
    group_map_free(map);
}

static struct slice number_key(char *buffer, size_t size_bytes, uint32_t number)
{
    return slice_make(buffer, (size_t)snprintf(buffer, size_bytes, "key-%u", number));
}

static void the_memory_of_a_large_group_is_given_back(void **state)
{
    (void)state;
    struct group_map *map = group_map_new();
    const size_t empty_bytes = group_map_memory_bytes(map);
    static char large[300 * 1024];
    set(map, "a", "1");
    group_map_save(map);

    /* To undo is enough ... */
    char buffer[32];
    for (uint32_t i = 0; i < MANY; i++)
        group_map_set(map, number_key(buffer, sizeof(buffer), i * 7919), slice_of("value"));
    group_map_set(map, slice_of("large"), slice_make(large, sizeof(large)));
    assert_true(group_map_memory_bytes(map) > empty_bytes + MANY * strlen("value"));
    group_map_undo(map);
    assert_int_equal(group_map_memory_bytes(map), empty_bytes);
    assert_null(group_entry_next(group_map_first(map)));

    /* ... and to clear. */
    for (uint32_t i = 0; i < MANY; i++)
        group_map_set(map, number_key(buffer, sizeof(buffer), i), slice_of("value"));
    group_map_save(map);
    group_map_clear(map);
    assert_int_equal(group_map_memory_bytes(map), empty_bytes);
    assert_null(group_map_first(map));
    group_map_free(map);
}

/* --- against a model --- */

struct model {
    int values[KEYS]; /* -1: not in the map; 0: removed */
};

static uint32_t next_random(uint64_t *random, uint32_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33) % below;
}

/* In order of their index; many begin with another. */
static struct slice model_key(char buffer[8], unsigned index)
{
    memset(buffer, 'z', 8);
    buffer[0] = (char)('a' + index / 8);
    return slice_make(buffer, 1 + index % 8);
}

static void expect_entry(const struct group_entry *entry, const struct model *model, unsigned index)
{
    char buffer[8];
    char text[16];
    assert_int_equal(entry == NULL, index == KEYS);
    if (entry == NULL)
        return;
    assert_true(slice_equal(group_entry_key(entry), model_key(buffer, index)));
    snprintf(text, sizeof(text), "%d", model->values[index]);
    assert_true(slice_is(group_entry_value(entry), model->values[index] == 0 ? "" : text));
}

static unsigned first_from(const struct model *model, unsigned index)
{
    while (index < KEYS && model->values[index] < 0)
        index++;
    return index;
}

static void expect_model(const struct group_map *map, const struct model *model, unsigned from)
{
    char buffer[8];
    const struct group_entry *entry = group_map_from(map, model_key(buffer, from));
    for (unsigned index = first_from(model, from);; index = first_from(model, index + 1)) {
        expect_entry(entry, model, index);
        if (entry == NULL)
            return;
        entry = group_entry_next(entry);
    }
}

static void model_set(struct group_map *map, struct model *model, unsigned index, int value)
{
    char buffer[8];
    char text[16];
    const int len = snprintf(text, sizeof(text), "%d", value);
    group_map_set(map, model_key(buffer, index), slice_make(text, value == 0 ? 0 : (size_t)len));
    model->values[index] = value;
}

static void it_agrees_with_a_model(void **state)
{
    (void)state;
    struct group_map *map = group_map_new();
    struct model empty;
    memset(&empty, 0xFF, sizeof(empty));
    struct model model = empty;
    struct model saved = empty;
    uint64_t random = 1;
    for (unsigned i = 0; i < STEPS; i++) {
        const unsigned index = next_random(&random, KEYS);
        char buffer[8];
        switch (next_random(&random, 32)) {
        case 0:
            group_map_save(map);
            saved = model;
            break;
        case 1:
            group_map_undo(map);
            model = saved;
            break;
        case 2:
            if (next_random(&random, 8) == 0) {
                group_map_clear(map);
                model = empty;
                saved = empty;
            }
            break;
        case 3:
            expect_model(map, &model, index);
            break;
        case 4:
        case 5:
        case 6:
            expect_entry(group_map_find(map, model_key(buffer, index)), &model,
                         model.values[index] < 0 ? KEYS : index);
            break;
        default:
            model_set(map, &model, index, (int)next_random(&random, 4) * (int)i);
            break;
        }
    }
    expect_model(map, &model, 0);
    group_map_free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_has_its_latest_value),
        cmocka_unit_test(entries_are_in_the_order_of_their_keys),
        cmocka_unit_test(undoing_leaves_what_was_there_before_the_save_point),
        cmocka_unit_test(a_value_stays_where_it_is_when_its_key_is_set_again),
        cmocka_unit_test(the_size_counts_every_change_that_was_not_undone),
        cmocka_unit_test(the_memory_of_a_large_group_is_given_back),
        cmocka_unit_test(it_agrees_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
