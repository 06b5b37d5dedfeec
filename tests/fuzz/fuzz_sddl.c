/*
 * fuzz_sddl.c - security descriptors, as text and as bytes.
 *
 * Both are total, and every descriptor has one text and one form in bytes, from which the same
 * descriptor is made again.
 */
#include "fuzz.h"
#include "service/file/permission.h"
#include "service/file/sddl.h"
#include "service/limits.h"

/* Both forms of a descriptor give the same one. */
static void check_forms(struct arena *arena, const struct security_descriptor *descriptor)
{
    struct security_descriptor from_text = { 0 };
    struct security_descriptor from_bytes = { 0 };
    const struct slice text = sddl_format(arena, descriptor);
    const struct slice bytes = security_descriptor_encode(arena, descriptor);
    assert(security_descriptor_decode(bytes, &from_bytes) == OK);
    fuzz_assert_equal(security_descriptor_encode(arena, &from_bytes), bytes);
    fuzz_assert_equal(sddl_format(arena, &from_bytes), text);
    /* Bytes that say nothing are a descriptor, but no text is none. */
    if (text.len == 0)
        return;
    assert(sddl_parse(arena, text, &from_text) == OK);
    fuzz_assert_equal(sddl_format(arena, &from_text), text);
    fuzz_assert_equal(security_descriptor_encode(arena, &from_text), bytes);
}

/* What a share keeps of it is its own text's, and has the same key. */
static void check_permission(struct arena *arena, struct slice permission)
{
    struct slice text = { 0 };
    struct slice again = { 0 };
    struct slice decoded = { 0 };
    assert(permission.len <= LIMIT_PERMISSION_BYTES);
    assert(permission_to_text(arena, permission, &text) == OK);
    assert(permission_from_text(arena, text, &again) == OK);
    fuzz_assert_equal(again, permission);
    assert(permission_from_bytes(arena, permission, &again) == OK);
    fuzz_assert_equal(again, permission);
    const struct slice key = permission_key(arena, permission);
    assert(key.len <= PERMISSION_KEY_LEN_MAX);
    const struct slice row = permission_encode(arena, permission);
    assert(permission_decode(key, row, &decoded) == OK);
    fuzz_assert_equal(decoded, permission);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = fuzz_begin(data, size);
    const struct slice bytes = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    struct security_descriptor descriptor = { 0 };
    struct slice permission = { 0 };
    if (sddl_parse(&arena, bytes, &descriptor) == OK)
        check_forms(&arena, &descriptor);
    descriptor = (struct security_descriptor){ 0 };
    if (security_descriptor_decode(bytes, &descriptor) == OK)
        check_forms(&arena, &descriptor);
    if (permission_from_text(&arena, bytes, &permission) == OK)
        check_permission(&arena, permission);
    if (permission_from_bytes(&arena, bytes, &permission) == OK)
        check_permission(&arena, permission);
    (void)!permission_to_text(&arena, bytes, &permission);
    arena_release(&arena);
    fuzz_copy_free(bytes);
    return 0;
}
