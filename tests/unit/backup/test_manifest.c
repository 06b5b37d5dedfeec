/*
 * test_manifest.c - the file BACKUP: what is written is read again, any change of it is noticed,
 * and names in it stay in their directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backup/manifest.h"
#include "base/digest.h"

static const struct manifest_file FILES[] = {
    { MANIFEST_META, "000007.sst", 12345, 0xDEADBEEF },
    { MANIFEST_META, "CURRENT", 16, 0 },
    { MANIFEST_EXTENT, "08de23aa00000001.ext", UINT64_MAX, UINT32_MAX },
    { MANIFEST_EXTENT, "08de23aa00000002.ext", 0, 1 },
};

enum {
    FILE_COUNT = sizeof(FILES) / sizeof(FILES[0]),
};

/* The files above, added backwards. */
static struct manifest filled(struct arena *arena)
{
    struct manifest manifest = {
        .arena = arena,
        .version = "0.1.0",
        .made = "2026-11-15T03:24:00.1234567Z",
        .finding_count = 3,
    };
    for (size_t i = FILE_COUNT; i > 0; i--)
        manifest_add(&manifest, &FILES[i - 1]);
    manifest_sort(&manifest);
    return manifest;
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct manifest manifest = filled(&arena);
    struct manifest read;
    assert_int_equal(manifest_decode(&arena, manifest_encode(&manifest), &read), OK);
    assert_string_equal(read.version, manifest.version);
    assert_string_equal(read.made, manifest.made);
    assert_int_equal(read.finding_count, 3);
    assert_int_equal(read.file_count, FILE_COUNT);
    for (size_t i = 0; i < FILE_COUNT; i++) {
        assert_int_equal(read.files[i].kind, FILES[i].kind);
        assert_string_equal(read.files[i].name, FILES[i].name);
        assert_int_equal(read.files[i].size_bytes, FILES[i].size_bytes);
        assert_int_equal(read.files[i].crc, FILES[i].crc);
    }
    assert_null(manifest_difference(&manifest, &read, MANIFEST_META));
    assert_null(manifest_difference(&manifest, &read, MANIFEST_EXTENT));
    arena_release(&arena);
}

static void what_was_not_checked_says_so(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct manifest manifest = filled(&arena);
    manifest.finding_count = MANIFEST_UNCHECKED;
    struct manifest read;
    assert_int_equal(manifest_decode(&arena, manifest_encode(&manifest), &read), OK);
    assert_true(read.finding_count == MANIFEST_UNCHECKED);
    arena_release(&arena);
}

static void a_file_is_found_by_kind_and_name(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct manifest manifest = filled(&arena);
    for (size_t i = 0; i < FILE_COUNT; i++)
        assert_int_equal(manifest_find(&manifest, FILES[i].kind, FILES[i].name)->crc, FILES[i].crc);
    assert_null(manifest_find(&manifest, MANIFEST_EXTENT, "CURRENT"));
    assert_null(manifest_find(&manifest, MANIFEST_META, "000008.sst"));
    const struct manifest empty = { .arena = &arena };
    assert_null(manifest_find(&empty, MANIFEST_META, "CURRENT"));
    arena_release(&arena);
}

static void a_difference_is_found_whichever_lacks_the_file(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct manifest manifest = filled(&arena);
    for (size_t i = 0; i < FILE_COUNT; i++) {
        struct manifest other = { .arena = &arena };
        for (size_t j = 0; j < FILE_COUNT; j++) {
            if (j != i)
                manifest_add(&other, &FILES[j]);
        }
        manifest_sort(&other);
        assert_string_equal(manifest_difference(&manifest, &other, FILES[i].kind), FILES[i].name);
        assert_string_equal(manifest_difference(&other, &manifest, FILES[i].kind), FILES[i].name);

        struct manifest_file changed = FILES[i];
        changed.crc ^= 1;
        manifest_add(&other, &changed);
        manifest_sort(&other);
        assert_string_equal(manifest_difference(&manifest, &other, FILES[i].kind), FILES[i].name);
    }
    arena_release(&arena);
}

static void every_changed_byte_and_every_end_is_noticed(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    const struct manifest manifest = filled(&arena);
    const struct slice text = manifest_encode(&manifest);
    for (size_t i = 0; i < text.len; i++) {
        struct arena scratch = { 0 };
        struct manifest read;
        assert_int_not_equal(manifest_decode(&scratch, slice_head(text, i), &read), OK);
        for (int bit = 0; bit < 8; bit++) {
            char *copy = arena_bytes(&scratch, text.len);
            memcpy(copy, text.data, text.len);
            copy[i] = (char)(copy[i] ^ (1 << bit));
            const enum err err = manifest_decode(&scratch, slice_make(copy, text.len), &read);
            /* Digits of a checksum have two cases. */
            const bool other_case = bit == 5 && ((text.data[i] >= 'a' && text.data[i] <= 'f'));
            assert_true(err != OK || (other_case && i + 10 > text.len));
        }
        arena_release(&scratch);
    }
    char longer[4096];
    const int len = snprintf(longer, sizeof(longer), "%.*s\n", (int)text.len, text.data);
    struct manifest read;
    assert_int_equal(manifest_decode(&arena, slice_make(longer, (size_t)len), &read),
                     ERR_MALFORMED);
    arena_release(&arena);
}

/* A text whose last line is right. */
static struct slice sealed(struct arena *arena, const char *lines)
{
    return arena_printf(arena, "%send %08" PRIx32 "\n", lines, digest_crc32c(0, slice_of(lines)));
}

static void names_stay_in_their_directory_and_lines_in_their_order(void **state)
{
    (void)state;
    struct arena arena = { 0 };
#define HEAD "zaffre-backup 1\nversion 1\nmade x\nfindings 0\n"
    static const char *const wrong[] = {
        HEAD "meta ../x 1 00000000\n",
        HEAD "meta a/b 1 00000000\n",
        HEAD "meta .. 1 00000000\n",
        HEAD "meta  1 00000000\n",
        HEAD "meta a -1 00000000\n",
        HEAD "meta a 1 0000000\n",
        HEAD "meta a 1\n",
        HEAD "what a 1 00000000\n",
        HEAD "meta b 1 00000000\nmeta a 1 00000000\n",
        HEAD "meta a 1 00000000\nmeta a 1 00000000\n",
        HEAD "extent a 1 00000000\nmeta a 1 00000000\n",
        "zaffre-backup 1\nversion 1\nfindings 0\n",
        "zaffre-backup 1\nversion 1\nmade x\nfindings many\n",
    };
    struct manifest read;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(manifest_decode(&arena, sealed(&arena, wrong[i]), &read), ERR_MALFORMED);
    const struct slice right = sealed(&arena, HEAD "meta a 1 00000000\nextent a 1 00000000\n");
    assert_int_equal(manifest_decode(&arena, right, &read), OK);
    const struct slice newer = sealed(&arena, "zaffre-backup 2\nwhat is this\n");
    assert_int_equal(manifest_decode(&arena, newer, &read), ERR_FORMAT_UNKNOWN);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_was_not_checked_says_so),
        cmocka_unit_test(a_file_is_found_by_kind_and_name),
        cmocka_unit_test(a_difference_is_found_whichever_lacks_the_file),
        cmocka_unit_test(every_changed_byte_and_every_end_is_noticed),
        cmocka_unit_test(names_stay_in_their_directory_and_lines_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
