/*
 * test_arena.c - memory by lifetime: contents, alignment, reuse and clean-ups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdalign.h>
#include <string.h>

#include "base/arena.h"

static void an_empty_arena_holds_nothing(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    assert_int_equal(arena_size_bytes(&arena), 0);
    arena_clear(&arena);
    assert_int_equal(arena_size_bytes(&arena), 0);
    arena_release(&arena);
    assert_int_equal(arena_size_bytes(&arena), 0);
}

static void memory_is_zeroed_and_aligned_after_any_odd_allocation(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    for (int round = 0; round < 3; round++) {
        for (size_t len = 0; len <= 300; len++) {
            memset(arena_bytes(&arena, len), 0xff, len);
            const char *const memory = arena_alloc(&arena, len);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
            for (size_t i = 0; i < len; i++)
                assert_int_equal(memory[i], 0);
        }
        arena_clear(&arena);
    }
    arena_release(&arena);
}

static void allocations_do_not_overlap(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    struct arena arena = { 0 };
    static unsigned char *pieces[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        const size_t len = i * 7919 % 3001;
        pieces[i] = i % 2 == 0 ? arena_alloc(&arena, len) : (void *)arena_bytes(&arena, len);
        memset(pieces[i], (int)(i & 255), len);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t at = 0; at < i * 7919 % 3001; at++)
            assert_int_equal(pieces[i][at], i & 255);
    }
    arena_release(&arena);
}

static void a_small_request_costs_one_page(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    arena_bytes(&arena, 1);
    assert_int_equal(arena_size_bytes(&arena), 4096);
    arena_bytes(&arena, 4000);
    assert_int_equal(arena_size_bytes(&arena), 4096);
    arena_release(&arena);
}

static void a_big_allocation_leaves_the_current_block_in_use(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const char *const before = arena_bytes(&arena, 10);
    char *const big = arena_bytes(&arena, 1 << 20);
    const char *const after = arena_bytes(&arena, 10);
    assert_ptr_equal(after, before + 10);
    big[(1 << 20) - 1] = 'x';
    assert_in_range(arena_size_bytes(&arena), 4096 + (1 << 20), 4096 + (1 << 20) + 64);
    arena_release(&arena);
}

static void clear_keeps_one_ordinary_block_and_reuses_it(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    for (int round = 0; round < 50; round++) {
        arena_bytes(&arena, 1 << 20);
        for (int i = 0; i < 1000; i++)
            arena_alloc(&arena, 100);
        arena_clear(&arena);
        assert_in_range(arena_size_bytes(&arena), 4096, 32768);
    }
    const size_t kept = arena_size_bytes(&arena);
    arena_bytes(&arena, kept / 2);
    assert_int_equal(arena_size_bytes(&arena), kept);
    arena_release(&arena);
    assert_int_equal(arena_size_bytes(&arena), 0);
}

static void clear_keeps_nothing_when_all_there_is_is_big(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    arena_bytes(&arena, 1 << 20);
    arena_bytes(&arena, 1 << 20);
    arena_clear(&arena);
    assert_int_equal(arena_size_bytes(&arena), 0);
    arena_bytes(&arena, 1);
    assert_int_equal(arena_size_bytes(&arena), 4096);
    arena_release(&arena);
}

static void a_copy_is_equal_separate_and_terminated(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    char text[301];
    for (size_t len = 0; len <= 300; len++) {
        memset(text, 'a' + (int)(len % 26), len);
        const struct slice copy = arena_copy(&arena, slice_make(text, len));
        memset(text, '!', len);
        assert_int_equal(copy.len, len);
        assert_int_equal(copy.data[len], '\0');
        for (size_t i = 0; i < len; i++)
            assert_int_equal(copy.data[i], 'a' + (int)(len % 26));
    }
    const struct slice empty = arena_copy(&arena, (struct slice){ 0 });
    assert_int_equal(empty.len, 0);
    assert_string_equal(empty.data, "");
    arena_release(&arena);
}

static void printf_gives_the_whole_text_at_any_place_in_a_block(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    for (int len = 0; len <= 5000; len += 13) {
        const struct slice text = arena_printf(&arena, "%0*d|%s", len, 7, "end");
        const size_t expected = (size_t)(len < 1 ? 1 : len) + 4;
        assert_int_equal(text.len, expected);
        assert_int_equal(strlen(text.data), expected);
        assert_string_equal(text.data + expected - 5, "7|end");
    }
    arena_release(&arena);
}

static void printf_that_just_fits_and_just_does_not_is_complete(void **state)
{
    (void)state;
    for (int spare = 0; spare <= 12; spare++) {
        struct arena arena = { 0 };
        arena_bytes(&arena, 1);
        arena_bytes(&arena, (size_t)(arena.end - arena.free) - (size_t)spare);
        const struct slice text = arena_printf(&arena, "%s", "0123456789");
        assert_string_equal(text.data, "0123456789");
        assert_int_equal(text.len, 10);
        arena_release(&arena);
    }
}

struct record {
    char text[8];
    size_t len;
};

struct note {
    struct record *record;
    char letter;
};

static void record_letter(void *arg)
{
    const struct note *const note = arg;
    note->record->text[note->record->len++] = note->letter;
}

static void register_letter(struct arena *arena, struct record *record, char letter)
{
    /* In the arena on purpose: a clean-up may use what the arena still holds. */
    struct note *const note = arena_alloc(arena, sizeof(*note));
    *note = (struct note){ .record = record, .letter = letter };
    arena_on_clear(arena, record_letter, note);
}

static void cleanups_run_once_last_one_first(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct record record = { 0 };
    register_letter(&arena, &record, 'a');
    register_letter(&arena, &record, 'b');
    register_letter(&arena, &record, 'c');
    assert_int_equal(record.len, 0);
    arena_clear(&arena);
    assert_memory_equal(record.text, "cba", 3);
    arena_clear(&arena);
    assert_int_equal(record.len, 3);

    register_letter(&arena, &record, 'd');
    arena_release(&arena);
    assert_memory_equal(record.text, "cbad", 4);
    arena_release(&arena);
    assert_int_equal(record.len, 4);
}

struct chain {
    struct arena *arena;
    struct record *record;
};

static void register_another(void *arg)
{
    const struct chain *const chain = arg;
    register_letter(chain->arena, chain->record, 'z');
}

static void a_cleanup_registered_by_a_cleanup_runs_too(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct record record = { 0 };
    struct chain chain = { .arena = &arena, .record = &record };
    arena_on_clear(&arena, register_another, &chain);
    arena_clear(&arena);
    assert_int_equal(record.len, 1);
    assert_int_equal(record.text[0], 'z');
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_arena_holds_nothing),
        cmocka_unit_test(memory_is_zeroed_and_aligned_after_any_odd_allocation),
        cmocka_unit_test(allocations_do_not_overlap),
        cmocka_unit_test(a_small_request_costs_one_page),
        cmocka_unit_test(a_big_allocation_leaves_the_current_block_in_use),
        cmocka_unit_test(clear_keeps_one_ordinary_block_and_reuses_it),
        cmocka_unit_test(clear_keeps_nothing_when_all_there_is_is_big),
        cmocka_unit_test(a_copy_is_equal_separate_and_terminated),
        cmocka_unit_test(printf_gives_the_whole_text_at_any_place_in_a_block),
        cmocka_unit_test(printf_that_just_fits_and_just_does_not_is_complete),
        cmocka_unit_test(cleanups_run_once_last_one_first),
        cmocka_unit_test(a_cleanup_registered_by_a_cleanup_runs_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
