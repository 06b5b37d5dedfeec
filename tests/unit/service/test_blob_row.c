/*
 * test_blob_row.c - the stored form of a blob's record: records come back, damaged bytes are a
 * record that can be used or ERR_CORRUPT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/date.h"
#include "base/log.h"
#include "service/blob/blob.h"
#include "service/etag.h"
#include "service/row.h"
#include "test_random.h"

#define T0 INT64_C(639302976000000000)

static struct arena arena;

static int quiet(void **state)
{
    (void)state;
    return log_open("/dev/null") == OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* --- random records --- */

static struct content random_content(struct test_random *random)
{
    struct content content = { .place = (enum content_place)random_below(random, 4),
                               .id = random_number(random) };
    if (content.place != CONTENT_EMPTY)
        content.length_bytes = random_number(random) + 1;
    if (content.length_bytes == 0)
        content.length_bytes = content.place != CONTENT_EMPTY;
    if (content.place == CONTENT_EXTENT)
        content.range = (struct stream_range){
            .extent_id = random_number(random) | 1,
            .offset = random_number(random),
            .length = content.length_bytes,
        };
    return content;
}

static struct lease random_lease(struct test_random *random)
{
    struct lease lease = { 0 };
    const struct uuid id = { .bytes = { 1, (uint8_t)random_next(random) } };
    const int64_t now_ms = T0 / CLOCK_TICKS_PER_MS;
    int32_t remaining_sec;
    if (random_below(random, 2) == 0)
        return lease;
    const int32_t duration_sec = random_below(random, 3) == 0
                                     ? LEASE_DURATION_SEC_INFINITE
                                     : 15 + (int32_t)random_below(random, 46);
    assert_int_equal(lease_acquire(&lease, &id, duration_sec, now_ms), OK);
    if (random_below(random, 2) == 0)
        assert_int_equal(
            lease_break(&lease, (int32_t)random_below(random, 61), now_ms, &remaining_sec), OK);
    lease_settle(&lease, now_ms + (int64_t)random_below(random, 70000));
    return lease;
}

static struct blob random_blob(struct test_random *random)
{
    struct blob blob = {
        .etag = 1 + (int64_t)(random_number(random) % (uint64_t)CLOCK_TICKS_MAX),
        .created_at = 1 + (int64_t)(random_number(random) % (uint64_t)CLOCK_TICKS_MAX),
        .made_at = 1 + (int64_t)(random_number(random) % (uint64_t)CLOCK_TICKS_MAX),
        .type = (enum blob_type)random_below(random, 3),
        .block_count = random_number(random),
        .sealed = random_below(random, 2) == 0,
        .sequence_number = random_number(random),
        .content = random_content(random),
        .properties = {
            .content_type = random_bytes(random, &arena, 20),
            .content_encoding = random_bytes(random, &arena, 20),
            .content_language = random_bytes(random, &arena, 20),
            .cache_control = random_bytes(random, &arena, 20),
            .content_disposition = random_bytes(random, &arena, 300),
        },
        .lease = random_lease(random),
    };
    if (random_below(random, 2) == 0)
        blob.version_id = 1 + (int64_t)(random_number(random) % (uint64_t)CLOCK_TICKS_MAX);
    if (random_below(random, 2) == 0) {
        blob.deleted_at = 1 + (int64_t)random_below(random, UINT32_MAX);
        blob.expires_at = blob.deleted_at + (int64_t)random_below(random, UINT32_MAX);
    }
    if (random_below(random, 2) == 0)
        blob.properties.content_md5 = arena_copy(&arena, slice_of("sixteen bytes..."));
    for (size_t left = random_below(random, 6); left > 0; left--)
        metadata_append(&blob.metadata, &arena,
                        (struct metadata_pair){ arena_printf(&arena, "name%zu", left),
                                                random_bytes(random, &arena, 30) });
    return blob;
}

static void assert_content_equal(const struct content *a, const struct content *b)
{
    assert_int_equal(a->place, b->place);
    assert_true(a->id == b->id);
    assert_true(a->length_bytes == b->length_bytes);
    assert_true(a->range.extent_id == b->range.extent_id);
    assert_true(a->range.offset == b->range.offset);
    assert_true(a->range.length == b->range.length);
}

static void assert_blob_equal(const struct blob *a, const struct blob *b)
{
    assert_true(a->etag == b->etag);
    assert_true(a->created_at == b->created_at);
    assert_true(a->made_at == b->made_at);
    assert_int_equal(a->type, b->type);
    assert_true(a->block_count == b->block_count);
    assert_true(a->sealed == b->sealed);
    assert_true(a->sequence_number == b->sequence_number);
    assert_true(a->version_id == b->version_id);
    assert_true(a->deleted_at == b->deleted_at);
    assert_true(a->expires_at == b->expires_at);
    assert_content_equal(&a->content, &b->content);
    assert_true(slice_equal(a->properties.content_type, b->properties.content_type));
    assert_true(slice_equal(a->properties.content_encoding, b->properties.content_encoding));
    assert_true(slice_equal(a->properties.content_language, b->properties.content_language));
    assert_true(slice_equal(a->properties.cache_control, b->properties.cache_control));
    assert_true(slice_equal(a->properties.content_disposition, b->properties.content_disposition));
    assert_true(slice_equal(a->properties.content_md5, b->properties.content_md5));
    assert_int_equal(a->metadata.count, b->metadata.count);
    for (size_t i = 0; i < a->metadata.count; i++) {
        assert_true(slice_equal(a->metadata.pairs[i].name, b->metadata.pairs[i].name));
        assert_true(slice_equal(a->metadata.pairs[i].value, b->metadata.pairs[i].value));
    }
    assert_int_equal(a->lease.state, b->lease.state);
    assert_true(uuid_equal(&a->lease.id, &b->lease.id));
    assert_int_equal(a->lease.duration_sec, b->lease.duration_sec);
    assert_true(a->lease.ends_at_ms == b->lease.ends_at_ms);
}

static void records_come_back(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int i = 0; i < 10000; i++) {
        const struct blob blob = random_blob(&random);
        struct blob back;
        assert_int_equal(blob_decode(&arena, blob_encode(&arena, &blob), &back), OK);
        assert_blob_equal(&back, &blob);
        arena_clear(&arena);
    }
}

/* --- rows that are wrong --- */

/* A record that all is well with, to be made wrong in one place. */
static struct blob small_blob(void)
{
    return (struct blob){
        .etag = T0,
        .created_at = T0,
        .content = { .place = CONTENT_INLINE, .id = 7, .length_bytes = 3 },
    };
}

static enum err decode_again(const struct blob *blob)
{
    struct blob back;
    return blob_decode(&arena, blob_encode(&arena, blob), &back);
}

static void instants_outside_the_calendar_are_corrupt(void **state)
{
    (void)state;
    const int64_t wrong[] = { 0, -1, INT64_MIN, CLOCK_TICKS_MAX + 1, INT64_MAX };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct blob blob = small_blob();
        assert_int_equal(decode_again(&blob), OK);
        blob.etag = wrong[i];
        assert_int_equal(decode_again(&blob), ERR_CORRUPT);
        blob = small_blob();
        blob.created_at = wrong[i];
        assert_int_equal(decode_again(&blob), ERR_CORRUPT);
    }
    struct blob blob = small_blob();
    blob.etag = CLOCK_TICKS_MAX;
    blob.created_at = 1;
    assert_int_equal(decode_again(&blob), OK);
    char date[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(blob.etag, date);
    assert_string_equal(date, "Fri, 31 Dec 9999 23:59:59 GMT");
}

static void content_that_does_not_hold_together_is_corrupt(void **state)
{
    (void)state;
    const struct content wrong[] = {
        { .place = CONTENT_EMPTY, .length_bytes = 1 },
        { .place = CONTENT_INLINE, .length_bytes = 0 },
        { .place = CONTENT_EXTENT, .length_bytes = 1, .range = { .extent_id = 0 } },
        { .place = CONTENT_EXTENT, .length_bytes = 0, .range = { .extent_id = 1 } },
        { .place = (enum content_place)(CONTENT_SEGMENTS + 1), .length_bytes = 1 },
        { .place = CONTENT_SEGMENTS, .length_bytes = 0 },
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct blob blob = small_blob();
        blob.content = wrong[i];
        assert_int_equal(decode_again(&blob), ERR_CORRUPT);
    }
}

static void content_outside_extents_has_no_place_in_one(void **state)
{
    (void)state;
    const struct blob blob = small_blob();
    const uint64_t tags[] = { 6, 7 }; /* extent, offset */
    for (size_t i = 0; i < 2; i++) {
        struct strbuf row;
        strbuf_init(&row, &arena);
        strbuf_add(&row, blob_encode(&arena, &blob));
        row_add_number(&row, tags[i], 4096);
        struct blob back;
        assert_int_equal(blob_decode(&arena, strbuf_slice(&row), &back), ERR_CORRUPT);
    }
}

static void an_md5_has_sixteen_bytes(void **state)
{
    (void)state;
    struct blob blob = small_blob();
    blob.properties.content_md5 = slice_of("fifteen bytes..");
    assert_int_equal(decode_again(&blob), ERR_CORRUPT);
    blob.properties.content_md5 = slice_of("sixteen bytes...");
    assert_int_equal(decode_again(&blob), OK);
}

static void fields_of_a_later_version_are_skipped(void **state)
{
    (void)state;
    const struct blob blob = small_blob();
    struct strbuf row;
    strbuf_init(&row, &arena);
    strbuf_add(&row, blob_encode(&arena, &blob));
    row_add_bytes(&row, 1000, slice_of("\x80"));
    row_add_bytes(&row, UINT64_MAX, slice_of("later"));
    struct blob back;
    assert_int_equal(blob_decode(&arena, strbuf_slice(&row), &back), OK);
    assert_blob_equal(&back, &blob);
}

static void a_container_is_not_a_blob(void **state)
{
    (void)state;
    const struct container container = { .incarnation = 1, .etag = T0 };
    struct blob blob;
    assert_int_equal(blob_decode(&arena, container_encode(&arena, &container), &blob), ERR_CORRUPT);
}

/* What readers do with a record; all of it asserts what it is given. */
static void use(struct blob *blob)
{
    char date[DATE_RFC1123_LEN + 1];
    char etag[ETAG_TEXT_LEN_MAX + 1];
    date_format_rfc1123(blob->etag, date);
    date_format_rfc1123(blob->created_at, date);
    etag_format(blob->etag, etag);
    lease_settle(&blob->lease, T0 / CLOCK_TICKS_PER_MS);
    const struct slice again = blob_encode(&arena, blob);
    struct blob back;
    assert_int_equal(blob_decode(&arena, again, &back), OK);
    assert_blob_equal(&back, blob);
}

static void damaged_rows_are_usable_or_corrupt(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    size_t survived = 0;
    for (int i = 0; i < 100000; i++) {
        const struct blob blob = random_blob(&random);
        size_t len;
        char *damaged = random_damage(&random, blob_encode(&arena, &blob), &len);
        struct blob back;
        const enum err err = blob_decode(&arena, slice_make(damaged, len), &back);
        assert_true(err == OK || err == ERR_CORRUPT);
        if (err == OK) {
            use(&back);
            survived++;
        }
        free(damaged);
        arena_clear(&arena);
    }
    assert_in_range(survived, 1, 99999);
}

static void random_bytes_are_usable_or_corrupt(void **state)
{
    (void)state;
    struct test_random random = test_seed();
    for (int i = 0; i < 100000; i++) {
        struct strbuf row;
        strbuf_init(&row, &arena);
        row_begin(&row, ROW_BLOB);
        /* Small bytes make fields more often. */
        for (size_t left = random_below(&random, 30); left > 0; left--)
            strbuf_add_byte(&row, (char)(random_next(&random) % 24));
        struct blob blob;
        const enum err err = blob_decode(&arena, strbuf_slice(&row), &blob);
        assert_true(err == OK || err == ERR_CORRUPT);
        if (err == OK)
            use(&blob);
        arena_clear(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(instants_outside_the_calendar_are_corrupt),
        cmocka_unit_test(content_that_does_not_hold_together_is_corrupt),
        cmocka_unit_test(content_outside_extents_has_no_place_in_one),
        cmocka_unit_test(an_md5_has_sixteen_bytes),
        cmocka_unit_test(fields_of_a_later_version_are_skipped),
        cmocka_unit_test(a_container_is_not_a_blob),
        cmocka_unit_test(damaged_rows_are_usable_or_corrupt),
        cmocka_unit_test(random_bytes_are_usable_or_corrupt),
    };
    return cmocka_run_group_tests(tests, quiet, clear);
}
