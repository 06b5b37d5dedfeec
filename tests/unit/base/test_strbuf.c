/*
 * test_strbuf.c - the growing byte buffer at every size around its growth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/strbuf.h"

static struct arena arena;

static int clear_arena(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static void a_new_buffer_is_empty(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    assert_int_equal(strbuf_slice(&buf).len, 0);
    strbuf_add(&buf, (struct slice){ 0 });
    strbuf_add_text(&buf, "");
    strbuf_add_text(&buf, NULL);
    assert_int_equal(strbuf_slice(&buf).len, 0);
    assert_int_equal(arena_size_bytes(&arena), 0);
}

static void bytes_added_singly_keep_their_order(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    for (size_t i = 0; i < 100000; i++) {
        strbuf_add_byte(&buf, (char)(i * 31));
        assert_int_equal(buf.len, i + 1);
    }
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(buf.data[i], (char)(i * 31));
}

static void growing_by_bytes_takes_memory_in_proportion(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    for (size_t i = 0; i < 1 << 20; i++)
        strbuf_add_byte(&buf, 'x');
    assert_true(arena_size_bytes(&arena) < (size_t)3 << 20);
}

static void pieces_of_every_length_join_without_gaps(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    char piece[300];
    size_t total = 0;
    for (size_t len = 0; len <= 300; len++) {
        memset(piece, (int)(len & 127), len);
        strbuf_add(&buf, slice_make(piece, len));
        total += len;
        assert_int_equal(buf.len, total);
    }
    size_t at = 0;
    for (size_t len = 0; len <= 300; len++) {
        for (size_t i = 0; i < len; i++)
            assert_int_equal(buf.data[at++], (char)(len & 127));
    }
}

static void a_buffer_can_be_added_to_itself(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    strbuf_add_text(&buf, "ab");
    for (int i = 0; i < 12; i++)
        strbuf_add(&buf, strbuf_slice(&buf));
    assert_int_equal(buf.len, 2 << 12);
    for (size_t i = 0; i < buf.len; i++)
        assert_int_equal(buf.data[i], "ab"[i % 2]);
}

static void reserved_room_is_used_without_moving(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    strbuf_add_text(&buf, "begin");
    strbuf_reserve(&buf, 1000);
    const char *const data = buf.data;
    for (int i = 0; i < 1000; i++)
        strbuf_add_byte(&buf, 'x');
    assert_ptr_equal(buf.data, data);
    assert_memory_equal(buf.data, "beginx", 6);
}

static void printf_appends_text_of_any_length(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    size_t total = 0;
    for (int len = 1; len <= 600; len++) {
        strbuf_printf(&buf, "%0*d", len, len % 10);
        total += (size_t)len;
        assert_int_equal(buf.len, total);
        assert_int_equal(buf.data[total - 1], '0' + len % 10);
        assert_int_equal(buf.data[total - (size_t)len], len == 1 ? '1' : '0');
    }
}

static void printf_that_just_fits_and_just_does_not_is_complete(void **state)
{
    (void)state;
    for (size_t spare = 0; spare <= 12; spare++) {
        struct strbuf buf;
        strbuf_init(&buf, &arena);
        strbuf_reserve(&buf, 1);
        while (buf.capacity - buf.len > spare)
            strbuf_add_byte(&buf, '.');
        const size_t before = buf.len;
        strbuf_printf(&buf, "%s", "0123456789");
        assert_int_equal(buf.len, before + 10);
        assert_memory_equal(buf.data + before, "0123456789", 10);
    }
}

static void printf_of_nothing_adds_nothing(void **state)
{
    (void)state;
    struct strbuf buf;
    strbuf_init(&buf, &arena);
    strbuf_printf(&buf, "%s", "");
    assert_int_equal(buf.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_new_buffer_is_empty, clear_arena),
        cmocka_unit_test_teardown(bytes_added_singly_keep_their_order, clear_arena),
        cmocka_unit_test_teardown(growing_by_bytes_takes_memory_in_proportion, clear_arena),
        cmocka_unit_test_teardown(pieces_of_every_length_join_without_gaps, clear_arena),
        cmocka_unit_test_teardown(a_buffer_can_be_added_to_itself, clear_arena),
        cmocka_unit_test_teardown(reserved_room_is_used_without_moving, clear_arena),
        cmocka_unit_test_teardown(printf_appends_text_of_any_length, clear_arena),
        cmocka_unit_test_teardown(printf_that_just_fits_and_just_does_not_is_complete, clear_arena),
        cmocka_unit_test_teardown(printf_of_nothing_adds_nothing, clear_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
