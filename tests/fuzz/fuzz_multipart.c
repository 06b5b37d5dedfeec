/*
 * fuzz_multipart.c - bodies of batches, of blobs and of tables.
 *
 * Input: a line with the Content-Type, and the body.
 *
 *   - All that is found lies in the body, and in the order of the body.
 *   - A batch has as many parts as it may have, not more.
 *   - Parts that are written out again with another boundary are the same parts.
 */
#include "frontend/http/multipart.h"
#include "frontend/http/odata_batch.h"
#include "fuzz.h"
#include "service/limits.h"

static void check_part(const struct multipart_part *part, struct slice body)
{
    assert(fuzz_is_within(part->content_id, body));
    assert(part->method.len > 0 && fuzz_is_within(part->method, body));
    assert(part->target.len > 0 && fuzz_is_within(part->target, body));
    assert(slice_find_byte(part->method, '\n') == part->method.len);
    assert(slice_find_byte(part->target, '\n') == part->target.len);
    assert(part->header_count <= MULTIPART_HEADERS_MAX);
    for (size_t i = 0; i < part->header_count; i++) {
        assert(part->headers[i].name.len > 0);
        assert(fuzz_is_within(part->headers[i].name, body));
        assert(fuzz_is_within(part->headers[i].value, body));
        assert(slice_find_byte(part->headers[i].value, '\n') == part->headers[i].value.len);
    }
    assert(fuzz_is_within(part->body, body));
}

static void write_part(struct strbuf *out, const struct multipart_part *part)
{
    strbuf_add_text(out, "--another\r\nContent-Type: application/http\r\nContent-ID: ");
    strbuf_add(out, part->content_id);
    strbuf_add_text(out, "\r\n\r\n");
    strbuf_add(out, part->method);
    strbuf_add_byte(out, ' ');
    strbuf_add(out, part->target);
    strbuf_add_text(out, " HTTP/1.1\r\n");
    for (size_t i = 0; i < part->header_count; i++) {
        strbuf_add(out, part->headers[i].name);
        strbuf_add_text(out, ": ");
        strbuf_add(out, part->headers[i].value);
        strbuf_add_text(out, "\r\n");
    }
    strbuf_add_text(out, "\r\n");
    strbuf_add(out, part->body);
}

/* Whether the part keeps its form when its lines end as they should: no stray carriage return, no
   delimiter of its own. */
static bool is_plain(const struct multipart_part *part)
{
    bool plain =
        slice_find_byte(part->content_id, '\r') == part->content_id.len &&
        slice_find_byte(part->target, '\r') == part->target.len &&
        slice_find_byte(part->method, '\r') == part->method.len &&
        (part->body.len == 0 || memmem(part->body.data, part->body.len, "--another", 9) == NULL);
    for (size_t i = 0; i < part->header_count; i++) {
        const struct http_field *header = &part->headers[i];
        plain = plain && slice_find_byte(header->value, '\r') == header->value.len &&
                slice_find_byte(header->name, '\r') == header->name.len &&
                !slice_starts_with(header->name, slice_of("--another"));
    }
    return plain && !slice_starts_with(part->method, slice_of("--another"));
}

static void check_again(struct arena *arena, const struct multipart_part *parts, size_t count)
{
    struct strbuf out;
    strbuf_init(&out, arena);
    for (size_t i = 0; i < count; i++) {
        /* A part that has the new boundary in it, or a line that ends in two ways, is another. */
        if (!is_plain(&parts[i]))
            return;
        write_part(&out, &parts[i]);
        strbuf_add_text(&out, "\r\n");
    }
    strbuf_add_text(&out, "--another--\r\n");
    const struct multipart_part *again = NULL;
    size_t again_count = 0;
    assert(multipart_read(arena, strbuf_slice(&out), slice_of("another"), &again, &again_count) ==
           OK);
    assert(again_count == count);
    for (size_t i = 0; i < count; i++) {
        fuzz_assert_equal(again[i].method, parts[i].method);
        fuzz_assert_equal(again[i].target, parts[i].target);
        fuzz_assert_equal(again[i].content_id, parts[i].content_id);
        assert(again[i].header_count == parts[i].header_count);
        assert(slice_starts_with(again[i].body, parts[i].body));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    const struct slice type = fuzz_take_line(&input);
    const struct slice body = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    struct slice boundary = { 0 };
    const struct multipart_part *parts = NULL;
    size_t count = 0;
    struct odata_batch batch = { 0 };
    if (multipart_boundary(type, &boundary) == OK) {
        assert(boundary.len > 0 && boundary.len <= 70 && fuzz_is_within(boundary, type));
        if (multipart_read(&arena, body, boundary, &parts, &count) == OK) {
            assert(count > 0 && count <= MULTIPART_PARTS_MAX);
            for (size_t i = 0; i < count; i++)
                check_part(&parts[i], body);
            check_again(&arena, parts, count);
        }
    }
    if (odata_batch_read(&arena, type, body, &batch) == OK) {
        assert(batch.part_count > 0 && batch.part_count <= LIMIT_GROUP_OPERATIONS);
        assert(batch.is_changeset || batch.part_count == 1);
        for (size_t i = 0; i < batch.part_count; i++)
            check_part(&batch.parts[i], body);
    }
    assert(arena_size_bytes(&arena) < 4 * 1024 * 1024 + 64 * size);
    arena_release(&arena);
    fuzz_copy_free(type);
    fuzz_copy_free(body);
    return 0;
}
