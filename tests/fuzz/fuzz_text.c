/*
 * fuzz_text.c - the small texts in headers and parameters: dates, numbers, ids, ETags, ranges,
 * versions, base64, percent-encoding, URLs of copy sources.
 *
 * What is read is written and read again as the same; where there is one text for each value, it is
 * the text that was read.
 */
#include "base/clock.h"
#include "base/date.h"
#include "base/encoding.h"
#include "base/uuid.h"
#include "frontend/http/copy_source.h"
#include "frontend/http/http_message.h"
#include "frontend/http/http_range.h"
#include "frontend/http/http_version.h"
#include "fuzz.h"
#include "service/account.h"
#include "service/condition.h"
#include "service/etag.h"
#include "service/limits.h"

static struct account_list *accounts;

static void check_dates(struct slice text)
{
    char formatted[DATE_ISO_LEN + 1];
    char http[DATE_RFC1123_LEN + 1];
    int64_t ticks = 0;
    int64_t again = 0;
    if (date_parse_iso(text, &ticks) == OK) {
        assert(ticks >= 0 && ticks <= CLOCK_TICKS_MAX);
        date_format_iso(ticks, formatted);
        assert(date_parse_iso(slice_of(formatted), &again) == OK && again == ticks);
    }
    if (date_parse_rfc1123(text, &ticks) == OK) {
        date_format_rfc1123(ticks, http);
        fuzz_assert_equal(slice_of(http), text);
    }
    if (date_parse_http(text, &ticks) == OK) {
        assert(date_cut_to_second(ticks) == ticks);
        date_format_rfc1123(ticks, http);
        assert(date_parse_http(slice_of(http), &again) == OK && again == ticks);
    }
}

static void check_numbers(struct arena *arena, struct slice text)
{
    uint64_t number = 0;
    int64_t signed_number = 0;
    uint64_t again = 0;
    int64_t signed_again = 0;
    if (decimal_parse_u64(text, &number) == OK) {
        const struct slice same = arena_printf(arena, "%llu", (unsigned long long)number);
        assert(decimal_parse_u64(same, &again) == OK && again == number);
    }
    if (decimal_parse_i64(text, &signed_number) == OK) {
        const struct slice same = arena_printf(arena, "%lld", (long long)signed_number);
        assert(decimal_parse_i64(same, &signed_again) == OK && signed_again == signed_number);
    }
}

static void check_bytes(struct arena *arena, struct slice text)
{
    struct slice bytes = { 0 };
    if (base64_decode(arena, text, &bytes) == OK) {
        char *encoded = arena_bytes(arena, BASE64_LEN(bytes.len) + 1);
        base64_encode(bytes, encoded);
        fuzz_assert_equal(slice_of(encoded), text);
    }
    if (percent_decode(arena, text, &bytes) == OK) {
        struct slice again = { 0 };
        assert(bytes.len <= text.len);
        assert(percent_decode(arena, percent_encode_path(arena, bytes), &again) == OK);
        fuzz_assert_equal(again, bytes);
    }
}

static void check_ids(struct slice text)
{
    struct uuid id = { { 0 } };
    struct uuid again = { { 0 } };
    char formatted[UUID_TEXT_LEN + 1];
    char etag_text[ETAG_TEXT_LEN_MAX + 1];
    int64_t etag = 0;
    int64_t etag_again = 0;
    int version = 0;
    if (uuid_parse(text, &id) == OK) {
        uuid_format(&id, formatted);
        assert(uuid_parse(slice_of(formatted), &again) == OK && uuid_equal(&id, &again));
    }
    if (etag_parse(text, &etag) == OK) {
        etag_format(etag, etag_text);
        assert(etag_parse(slice_of(etag_text), &etag_again) == OK && etag == etag_again);
    }
    if (http_version_parse(text, &version) == OK)
        assert(version >= HTTP_VERSION_EARLIEST && version <= HTTP_VERSION_NEWEST);
    struct condition_etags etags = { 0 };
    if (condition_add_etags(&etags, text) == OK)
        assert(etags.count <= etags.listed_count && etags.listed_count <= CONDITION_ETAGS_MAX);
}

static void check_range(struct slice text)
{
    static const uint64_t sizes[] = { 0, 1, 512, 5000, UINT64_MAX };
    const struct http_range range = http_range_parse(text);
    if (!range.present)
        return;
    assert(range.first <= range.last);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint64_t offset = 0;
        uint64_t length = 0;
        if (!http_range_resolve(&range, sizes[i], &offset, &length))
            continue;
        assert(length > 0 && offset < sizes[i] && length <= sizes[i] - offset);
    }
}

static void check_url(struct arena *arena, struct slice text)
{
    struct copy_url url;
    struct http_message message = { 0 };
    if (copy_url_parse(text, &url) == OK) {
        assert(fuzz_is_within(url.authority, text) && fuzz_is_within(url.target, text));
        assert(fuzz_is_within(url.host, url.authority) && url.host.len > 0);
        assert(url.port > 0 && url.port <= UINT16_MAX);
        assert(url.target.len > 0 && url.target.data[0] == '/');
        (void)copy_url_is_here(&url, slice_of("127.0.0.1:10000"), false, accounts);
        (void)copy_url_is_here(&url, slice_of("devstoreaccount1.blob.localhost"), true, accounts);
        /* A server that is asked at its own address is asked. */
        if (url.authority.len < 100)
            assert(copy_url_is_here(&url, url.authority, url.is_https, accounts));
        (void)copy_url_is_here(&url, text, true, accounts);
    }
    if (http_message_parse_target(arena, text, &message) == OK) {
        assert(message.path.len > 0 && message.path.data[0] == '/');
        assert(message.parameter_count <= LIMIT_QUERY_PARAMETERS_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = fuzz_begin(data, size);
    const char *fault = NULL;
    if (accounts == NULL && account_list_new(NULL, &accounts, &fault) != OK)
        abort();
    const struct slice text = fuzz_copy(input.rest);
    struct arena arena = { 0 };
    check_dates(text);
    check_numbers(&arena, text);
    check_bytes(&arena, text);
    check_ids(text);
    check_range(text);
    check_url(&arena, text);
    arena_release(&arena);
    fuzz_copy_free(text);
    return 0;
}
