/*
 * test_limits.c - limits of service/limits.h that a request meets, at their edges: what is as long
 * as it may be is taken, and one more is refused with the documented answer.
 *
 * tools/check_limits.py asks that every limit is named by a test, and prints which test that is.
 */
#include <inttypes.h>

#include "base/strbuf.h"
#include "file_request_fixture.h"
#include "frontend/http/http_fetch.h"
#include "service/blob/block.h"
#include "service/blob/page.h"
#include "service/limits.h"

#ifdef __SANITIZE_ADDRESS__
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

/* --- lengths of bodies, by their announcement alone --- */

struct body_row {
    const struct http_service *kind;
    uint64_t limit;
    const char *line;
    const char *headers[HEADERS_MAX];
    bool has_range; /* x-ms-range is as long as the body */
};

#define V_2015 "x-ms-version: 2015-12-11"
#define V_2016 "x-ms-version: 2019-07-07"
#define V_2019 "x-ms-version: 2019-12-12"
#define V_2022 "x-ms-version: 2022-11-02"
#define BLOCK  "PUT /box/blob?comp=block&blockid=AAAA"
#define APPEND "PUT /box/log?comp=appendblock"

static const struct body_row body_rows[] = {
    { &http_blob_service, LIMIT_PUT_BLOB_BYTES_EARLIER, "PUT /box/new", { PUT_BLOB, V_2015 }, 0 },
    { &http_blob_service, LIMIT_PUT_BLOB_BYTES_2016, "PUT /box/new", { PUT_BLOB, V_2016 }, 0 },
    { &http_blob_service, LIMIT_PUT_BLOB_BYTES, "PUT /box/new", { PUT_BLOB, V_2019 }, 0 },
    { &http_blob_service, LIMIT_PUT_BLOCK_BYTES_EARLIER, BLOCK, { V_2015 }, 0 },
    { &http_blob_service, LIMIT_PUT_BLOCK_BYTES_2016, BLOCK, { V_2016 }, 0 },
    { &http_blob_service, LIMIT_PUT_BLOCK_BYTES, BLOCK, { V_2019 }, 0 },
    { &http_blob_service, LIMIT_APPEND_BLOCK_BYTES_EARLIER, APPEND, { V_2019 }, 0 },
    { &http_blob_service, LIMIT_APPEND_BLOCK_BYTES, APPEND, { V_2022 }, 0 },
    { &http_blob_service, LIMIT_DOCUMENT_BYTES, "PUT /box/blob?comp=blocklist", { NULL }, 0 },
    { &http_blob_service,
      LIMIT_BATCH_BYTES,
      "POST /?comp=batch",
      { "Content-Type: multipart/mixed; boundary=b" },
      0 },
    { &http_queue_service, LIMIT_MESSAGE_DOCUMENT_BYTES, "POST /box/messages", { NULL }, 0 },
    { &http_table_service,
      LIMIT_GROUP_BYTES,
      "POST /$batch",
      { "Content-Type: multipart/mixed; boundary=b" },
      0 },
    { &http_blob_service,
      LIMIT_PUT_PAGE_BYTES,
      "PUT /box/pages?comp=page",
      { "x-ms-page-write: update" },
      true },
    { &http_file_service,
      LIMIT_PUT_RANGE_BYTES,
      "PUT /box/file?comp=range",
      { "x-ms-write: update" },
      true },
};

/* The row with a body of that length announced. */
static void announce(struct service_fixture *fixture, const struct body_row *row, uint64_t bytes)
{
    char length[32];
    char range[64];
    snprintf(length, sizeof(length), "%" PRIu64, bytes);
    snprintf(range, sizeof(range), "x-ms-range: bytes=0-%" PRIu64, bytes - 1);
    struct sent sent = { .line = row->line, .length = length };
    memcpy(sent.headers, row->headers, sizeof(sent.headers));
    size_t count = 0;
    while (sent.headers[count] != NULL)
        count++;
    if (row->has_range)
        sent.headers[count] = range;
    context.kind = row->kind;
    begin_request(fixture, &sent);
}

static void a_body_is_as_long_as_it_may_be_and_not_longer(void **state)
{
    for (size_t i = 0; i < sizeof(body_rows) / sizeof(body_rows[0]); i++) {
        const struct body_row *row = &body_rows[i];
        announce(*state, row, row->limit);
        if (request.phase != PHASE_RECEIVING)
            print_message("%s: %s\n", row->line, error_name(request.err));
        assert_int_equal(request.phase, PHASE_RECEIVING);
        announce(*state, row,
                 row->limit + (row->kind == &http_blob_service && row->has_range ? PAGE_BYTES : 1));
        if (request.err != ERR_BODY_TOO_LARGE)
            print_message("%s: %s\n", row->line, error_name(request.err));
        assert_int_equal(request.phase, PHASE_REFUSED);
        assert_int_equal(request.err, ERR_BODY_TOO_LARGE);
    }
}

/* --- texts in requests --- */

static char *text_of(struct service_fixture *fixture, size_t len, char byte)
{
    char *text = arena_bytes(&fixture->arena, len + 1);
    memset(text, byte, len);
    text[len] = '\0';
    return text;
}

/* A request whose line or header ends in a text of that length; its status. */
static unsigned status_of_line(struct service_fixture *fixture, const char *format,
                               const char *text)
{
    const struct slice line = slice_of(format);
    const size_t at = slice_find_byte(line, '@');
    struct sent sent = { .headers = { PUT_BLOB } };
    sent.line =
        arena_printf(&fixture->arena, "%.*s%s%s", (int)at, line.data, text,
                     slice_from(line, at + 1).data == NULL ? "" : slice_from(line, at + 1).data)
            .data;
    send_request(fixture, &sent);
    return request.response.status;
}

static unsigned status_of_header(struct service_fixture *fixture, const char *line,
                                 const char *more, const char *name, const char *text)
{
    const struct sent sent = {
        .line = line,
        .headers = { arena_printf(&fixture->arena, "%s: %s", name, text).data, more },
    };
    send_request(fixture, &sent);
    return request.response.status;
}

static void names_are_as_long_as_they_may_be_and_not_longer(void **state)
{
    static const struct {
        const struct http_service *kind;
        size_t least;
        size_t most;
        const char *line; /* the name in place of @ */
        unsigned taken;
    } rows[] = {
        { &http_blob_service, LIMIT_CONTAINER_NAME_MIN, LIMIT_CONTAINER_NAME_MAX,
          "PUT /@?restype=container", 201 },
        { &http_queue_service, LIMIT_CONTAINER_NAME_MIN, LIMIT_CONTAINER_NAME_MAX, "PUT /@", 201 },
        { &http_file_service, LIMIT_CONTAINER_NAME_MIN, LIMIT_CONTAINER_NAME_MAX,
          "PUT /@?restype=share", 201 },
        { &http_blob_service, 1, LIMIT_BLOB_NAME_CHARS_MAX, "PUT /box/@", 201 },
        { &http_file_service, 1, LIMIT_FILE_NAME_UNITS_MAX, "PUT /box/@?restype=directory", 201 },
        { &http_table_service, LIMIT_TABLE_NAME_MIN, LIMIT_TABLE_NAME_MAX, "GET /@()", 404 },
    };
    struct service_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t lengths[] = { rows[i].least, rows[i].most, rows[i].least - 1,
                                   rows[i].most + 1 };
        context.kind = rows[i].kind;
        for (size_t j = 0; j < 4; j++) {
            /* What is shorter than one is another path. */
            if (lengths[j] == 0)
                continue;
            const unsigned status =
                status_of_line(fixture, rows[i].line, text_of(fixture, lengths[j], 'a'));
            const unsigned wanted = j < 2 ? rows[i].taken : 400;
            if (status != wanted)
                print_message("%s: %zu: %u\n", rows[i].line, lengths[j], status);
            assert_int_equal(status, wanted);
        }
    }
}

/* LIMIT_BLOB_NAME_SEGMENTS_MAX segments, and one more; LIMIT_BLOB_NAME_BYTES_MAX is 1,024
   characters of four bytes. */
static void a_blob_has_as_many_segments_and_bytes_as_it_may_have(void **state)
{
    struct service_fixture *fixture = *state;
    struct strbuf name;
    strbuf_init(&name, &fixture->arena);
    for (size_t i = 1; i < LIMIT_BLOB_NAME_SEGMENTS_MAX; i++)
        strbuf_add_text(&name, "a/");
    strbuf_add(&name, slice_make("a", 2)); /* with its NUL */
    assert_int_equal(status_of_line(fixture, "PUT /box/@", name.data), 201);
    assert_int_equal(status_of_line(fixture, "PUT /box/@/a", name.data), 400);

    struct strbuf wide;
    strbuf_init(&wide, &fixture->arena);
    for (size_t i = 0; i < LIMIT_BLOB_NAME_BYTES_MAX / 4; i++)
        strbuf_add_text(&wide, "%F0%9F%98%80");
    strbuf_add_byte(&wide, '\0');
    assert_int_equal(status_of_line(fixture, "PUT /box/@", wide.data), 201);
    assert_int_equal(status_of_line(fixture, "PUT /box/@a", wide.data), 400);
}

/* An upsert of an entity whose PartitionKey is `unit` so many times; its status. */
static unsigned status_of_key(struct service_fixture *fixture, const char *unit, size_t count)
{
    struct strbuf line;
    strbuf_init(&line, &fixture->arena);
    strbuf_add_text(&line, "PUT /Box(PartitionKey='");
    for (size_t i = 0; i < count; i++)
        strbuf_add_text(&line, unit);
    strbuf_add(&line, slice_make("',RowKey='')", sizeof("',RowKey='')"))); /* and a NUL */
    const struct sent sent = { .line = line.data,
                               .headers = { "Content-Type: application/json" },
                               .body = "{}" };
    send_request(fixture, &sent);
    return request.response.status;
}

/* Counted in UTF-16: of three bytes of UTF-8 each, they are LIMIT_ENTITY_KEY_BYTES_MAX. */
static void a_key_of_an_entity_is_as_long_as_it_may_be(void **state)
{
    static const char *const units[] = { "a", "%E2%82%AC" };
    context.kind = &http_table_service;
    assert_int_equal(LIMIT_ENTITY_KEY_BYTES_MAX, 3 * LIMIT_ENTITY_KEY_UNITS_MAX);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(status_of_key(*state, units[i], LIMIT_ENTITY_KEY_UNITS_MAX - 1), 204);
        assert_int_equal(status_of_key(*state, units[i], LIMIT_ENTITY_KEY_UNITS_MAX), 204);
        assert_int_equal(status_of_key(*state, units[i], LIMIT_ENTITY_KEY_UNITS_MAX + 1), 400);
    }
}

/* A body with a property whose name has so many characters; the answer's status. */
static unsigned status_of_property(struct service_fixture *fixture, size_t len)
{
    const struct sent sent = {
        .line = "PUT /Box(PartitionKey='p',RowKey='r')",
        .headers = { "Content-Type: application/json" },
        .body = arena_printf(&fixture->arena, "{\"%s\":1}", text_of(fixture, len, 'n')).data,
    };
    send_request(fixture, &sent);
    return request.response.status;
}

static void the_name_of_a_property_is_as_long_as_it_may_be(void **state)
{
    context.kind = &http_table_service;
    assert_int_equal(status_of_property(*state, LIMIT_PROPERTY_NAME_UNITS_MAX - 1), 204);
    assert_int_equal(status_of_property(*state, LIMIT_PROPERTY_NAME_UNITS_MAX), 204);
    assert_int_equal(status_of_property(*state, LIMIT_PROPERTY_NAME_UNITS_MAX + 1), 400);
}

static void a_prefix_and_a_marker_are_as_long_as_names(void **state)
{
    static const struct {
        const struct http_service *kind;
        size_t most;
        const char *line;
    } rows[] = {
        { &http_blob_service, LIMIT_BLOB_NAME_BYTES_MAX,
          "GET /box?restype=container&comp=list&prefix=@" },
        { &http_blob_service, LIMIT_BLOB_NAME_BYTES_MAX,
          "GET /box?restype=container&comp=list&delimiter=@" },
        { &http_file_service, LIMIT_FILE_NAME_BYTES_MAX,
          "GET /box?restype=directory&comp=list&prefix=@" },
        { &http_file_service, LIMIT_FILE_NAME_BYTES_MAX,
          "GET /box?restype=directory&comp=list&marker=@" },
    };
    struct service_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        context.kind = rows[i].kind;
        const size_t most = rows[i].most;
        assert_int_equal(status_of_line(fixture, rows[i].line, text_of(fixture, most, 'a')), 200);
        assert_int_equal(status_of_line(fixture, rows[i].line, text_of(fixture, most + 1, 'a')),
                         400);
        /* Much longer than any key of the store can be. */
        assert_int_equal(status_of_line(fixture, rows[i].line, text_of(fixture, 20000, 'a')), 400);
    }
}

static void a_stored_property_is_as_long_as_it_may_be(void **state)
{
    struct service_fixture *fixture = *state;
    const char *longest = text_of(fixture, LIMIT_PROPERTY_BYTES_MAX, 'a');
    const char *longer = text_of(fixture, LIMIT_PROPERTY_BYTES_MAX + 1, 'a');
    static const char *const headers[] = { "x-ms-blob-content-type", "x-ms-blob-cache-control",
                                           "x-ms-blob-content-disposition",
                                           "x-ms-blob-content-language",
                                           "x-ms-blob-content-encoding" };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        const char *const line = "PUT /box/blob?comp=properties";
        assert_int_equal(status_of_header(fixture, line, NULL, headers[i], longest), 200);
        assert_int_equal(status_of_header(fixture, line, NULL, headers[i], longer), 400);
    }
    context.kind = &http_file_service;
    const char *const line = "PUT /box/file?comp=properties";
    assert_int_equal(status_of_header(fixture, line, NULL, "x-ms-content-type", longest), 200);
    assert_int_equal(status_of_header(fixture, line, NULL, "x-ms-content-type", longer), 400);
}

/* An SDDL text with one entry more than is needed to be that long, cut with spaces nobody minds. */
static char *sddl_of(struct service_fixture *fixture, size_t len)
{
    static const char head[] = "O:SYG:SYD:";
    static const char entry[] = "(A;;FA;;;SY)";
    char *text = text_of(fixture, len, ' ');
    memcpy(text, head, sizeof(head) - 1);
    size_t at = sizeof(head) - 1;
    for (; at + sizeof(entry) - 1 <= len; at += sizeof(entry) - 1)
        memcpy(text + at, entry, sizeof(entry) - 1);
    return text;
}

static void a_permission_in_a_header_is_as_long_as_it_may_be(void **state)
{
    struct service_fixture *fixture = *state;
    context.kind = &http_file_service;
    const size_t entry = strlen("(A;;FA;;;SY)");
    const size_t whole = LIMIT_PERMISSION_HEADER_BYTES -
                         (LIMIT_PERMISSION_HEADER_BYTES - strlen("O:SYG:SYD:")) % entry;
    const char *const line = "PUT /box/file?comp=properties";
    assert_int_equal(
        status_of_header(fixture, line, NULL, "x-ms-file-permission", sddl_of(fixture, whole)),
        200);
    assert_int_equal(status_of_header(fixture, line, NULL, "x-ms-file-permission",
                                      sddl_of(fixture, whole + entry)),
                     400);
}

static void a_block_id_is_as_long_as_it_may_be(void **state)
{
    struct service_fixture *fixture = *state;
    for (size_t len = LIMIT_BLOCK_ID_BYTES_MAX - 1; len <= LIMIT_BLOCK_ID_BYTES_MAX + 1; len++) {
        char encoded[BASE64_LEN(LIMIT_BLOCK_ID_BYTES_MAX + 1) + 1];
        base64_encode(slice_make(text_of(fixture, len, 'i'), len), encoded);
        const struct sent sent = {
            /* Ids of one blob are of one length. */
            .line =
                arena_printf(&fixture->arena, "PUT /box/new%zu?comp=block&blockid=%s", len, encoded)
                    .data,
            .body = "x",
        };
        send_request(fixture, &sent);
        assert_status(&sent, len <= LIMIT_BLOCK_ID_BYTES_MAX ? 201 : 400);
    }
}

/* A rule of CORS whose lists have so many bytes together; the answer's status. */
static unsigned status_of_cors(struct service_fixture *fixture, size_t len)
{
    const struct sent sent = {
        .line = "PUT /?restype=service&comp=properties",
        .body = arena_printf(&fixture->arena,
                             "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>%s"
                             "</AllowedOrigins><AllowedMethods>GET</AllowedMethods>"
                             "<AllowedHeaders /><ExposedHeaders /><MaxAgeInSeconds>1"
                             "</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>",
                             text_of(fixture, len - strlen("GET"), 'o'))
                    .data,
    };
    send_request(fixture, &sent);
    return request.response.status;
}

static void rules_of_cors_are_as_long_as_they_may_be(void **state)
{
    assert_int_equal(status_of_cors(*state, LIMIT_CORS_BYTES_MAX - 1), 202);
    assert_int_equal(status_of_cors(*state, LIMIT_CORS_BYTES_MAX), 202);
    assert_int_equal(status_of_cors(*state, LIMIT_CORS_BYTES_MAX + 1), 400);
}

/* --- lists --- */

static size_t count_in_body(const char *text)
{
    size_t count = 0;
    struct slice rest = answer_body();
    const char *found;
    while (rest.len > 0 && (found = memmem(rest.data, rest.len, text, strlen(text))) != NULL) {
        rest = slice_from(rest, (size_t)(found - rest.data) + 1);
        count++;
    }
    return count;
}

static void get(struct service_fixture *fixture, const char *line)
{
    const struct sent sent = { .line = line };
    send_request(fixture, &sent);
    assert_status(&sent, 200);
}

/* Blobs without content, named by numbers. */
static void make_blobs(struct service_fixture *fixture, size_t count, const char *metadata)
{
    for (size_t i = 0; i < count; i++) {
        const struct sent sent = {
            .line = arena_printf(&fixture->arena, "PUT /many/%06zu", i).data,
            .headers = { PUT_BLOB, metadata },
        };
        send_request(fixture, &sent);
        assert_status(&sent, 201);
    }
}

static void make_many(struct service_fixture *fixture)
{
    const struct sent sent = { .line = "PUT /many?restype=container" };
    send_request(fixture, &sent);
    assert_status(&sent, 201);
}

static void a_page_of_a_list_has_as_many_results_as_it_may_have(void **state)
{
    struct service_fixture *fixture = *state;
    make_many(fixture);
    make_blobs(fixture, LIMIT_LIST_RESULTS_MAX + 1, NULL);
    get(fixture, "GET /many?restype=container&comp=list&maxresults=5000");
    assert_int_equal(count_in_body("<Blob>"), LIMIT_LIST_RESULTS_MAX);
    get(fixture, "GET /many?restype=container&comp=list&maxresults=5001");
    assert_int_equal(count_in_body("<Blob>"), LIMIT_LIST_RESULTS_MAX);
    assert_body_has("<NextMarker>2!");
    get(fixture, "GET /many?restype=container&comp=list");
    assert_int_equal(count_in_body("<Blob>"), LIMIT_LIST_RESULTS_DEFAULT);
    get(fixture, "GET /many?restype=container&comp=list&maxresults=4999");
    assert_int_equal(count_in_body("<Blob>"), LIMIT_LIST_RESULTS_MAX - 1);
}

static void a_page_of_a_list_ends_when_its_text_is_long(void **state)
{
    struct service_fixture *fixture = *state;
    /* Each blob takes about 8 KiB of the text. */
    const size_t blob_bytes = LIMIT_METADATA_BYTES_MAX - 1;
    const size_t count = LIMIT_LIST_BODY_BYTES / blob_bytes + 100;
    make_many(fixture);
    make_blobs(
        fixture, count,
        arena_printf(&fixture->arena, "x-ms-meta-a: %s", text_of(fixture, blob_bytes, 'x')).data);
    get(fixture, "GET /many?restype=container&comp=list&include=metadata");
    assert_true(answer_body().len >= LIMIT_LIST_BODY_BYTES);
    assert_true(answer_body().len < LIMIT_LIST_BODY_BYTES + 2 * LIMIT_METADATA_BYTES_MAX);
    assert_true(count_in_body("<Blob>") < count);
    assert_body_has("<NextMarker>2!");
}

static void a_page_of_page_ranges_has_as_many_as_it_may_have(void **state)
{
    struct service_fixture *fixture = *state;
    char *page = text_of(fixture, PAGE_BYTES, 'p');
    const size_t count = LIMIT_PAGE_RANGES_MAX + 1;
    const struct sent make = {
        .line = "PUT /box/sparse",
        .headers = { "x-ms-blob-type: PageBlob",
                     arena_printf(&fixture->arena, "x-ms-blob-content-length: %zu",
                                  2 * count * PAGE_BYTES)
                         .data },
    };
    send_request(fixture, &make);
    assert_status(&make, 201);
    for (size_t i = 0; i < count; i++) {
        const struct sent sent = {
            .line = "PUT /box/sparse?comp=page",
            .headers = { "x-ms-page-write: update",
                         arena_printf(&fixture->arena, "x-ms-range: bytes=%zu-%zu",
                                      2 * i * PAGE_BYTES, (2 * i + 1) * PAGE_BYTES - 1)
                             .data },
            .body = page,
        };
        send_request(fixture, &sent);
        assert_status(&sent, 201);
    }
    get(fixture, "GET /box/sparse?comp=pagelist");
    assert_int_equal(count_in_body("<PageRange>"), LIMIT_PAGE_RANGES_MAX);
    get(fixture, "GET /box/sparse?comp=pagelist&maxresults=9999");
    assert_int_equal(count_in_body("<PageRange>"), LIMIT_PAGE_RANGES_MAX - 1);
    get(fixture, "GET /box/sparse?comp=pagelist&maxresults=10001");
    assert_int_equal(count_in_body("<PageRange>"), LIMIT_PAGE_RANGES_MAX);
}

/* Write a range of `bytes` at each second place, so that no two of them are neighbours. */
static void write_ranges(struct service_fixture *fixture, const char *line, const char *how,
                         size_t from, size_t to, size_t bytes)
{
    char *body = text_of(fixture, bytes, 'r');
    for (size_t i = from; i < to; i++) {
        char range[64];
        snprintf(range, sizeof(range), "x-ms-range: bytes=%zu-%zu", 2 * i * bytes,
                 (2 * i + 1) * bytes - 1);
        const struct sent sent = { .line = line, .headers = { how, range }, .body = body };
        send_request(fixture, &sent);
        assert_status(&sent, 201);
    }
}

static unsigned status_of_list(struct service_fixture *fixture, const char *line)
{
    const struct sent sent = { .line = line, .headers = { V_2019 } };
    send_request(fixture, &sent);
    return request.response.status;
}

/* It takes hundreds of thousands of writes to get there, which a sanitizer makes very slow. */
static void a_list_without_pages_is_as_long_as_it_may_be(void **state)
{
    struct service_fixture *fixture = *state;
    if (IS_SANITIZED)
        skip();
    const size_t page_ranges = LIMIT_RANGES_BODY_BYTES / 64;
    const struct sent make = {
        .line = "PUT /box/sparse",
        .headers = { "x-ms-blob-type: PageBlob", "x-ms-blob-content-length: 1073741824" },
    };
    fixture->service.inline_payload_bytes = LIMIT_INLINE_PAYLOAD_BYTES;
    send_request(fixture, &make);
    assert_status(&make, 201);
    const char *const put = "PUT /box/sparse?comp=page";
    const char *const list = "GET /box/sparse?comp=pagelist";
    write_ranges(fixture, put, "x-ms-page-write: update", 0, page_ranges, PAGE_BYTES);
    assert_int_equal(status_of_list(fixture, list), 200);
    assert_true(answer_body().len < 2 * LIMIT_RANGES_BODY_BYTES);
    write_ranges(fixture, put, "x-ms-page-write: update", page_ranges, page_ranges + 1, PAGE_BYTES);
    assert_int_equal(status_of_list(fixture, list), 400);
}

/* --- the rest --- */

static void a_range_of_which_a_hash_is_wanted_is_as_long_as_it_may_be(void **state)
{
    struct service_fixture *fixture = *state;
    char *body = text_of(fixture, LIMIT_RANGE_HASH_BYTES_MAX + 1, 'h');
    const struct sent put = { .line = "PUT /box/hashed", .headers = { PUT_BLOB }, .body = body };
    send_request(fixture, &put);
    assert_status(&put, 201);
    for (int more = -1; more <= 1; more++) {
        const struct sent sent = {
            .line = "GET /box/hashed",
            .headers = { "x-ms-range-get-content-md5: true",
                         arena_printf(&fixture->arena, "x-ms-range: bytes=0-%d",
                                      LIMIT_RANGE_HASH_BYTES_MAX + more - 1)
                             .data },
        };
        send_request(fixture, &sent);
        assert_status(&sent, more <= 0 ? 206 : 400);
    }
}

static void put_block(struct service_fixture *fixture, const char *line, const char *body)
{
    const struct sent sent = { .line = line, .body = body };
    send_request(fixture, &sent);
    assert_status(&sent, 201);
}

/* Content of 256 times a block of a MiB, and `last` once. */
static void commit_source(struct service_fixture *fixture, const char *last)
{
    struct strbuf list;
    strbuf_init(&list, &fixture->arena);
    strbuf_add_text(&list, "<BlockList>");
    for (size_t i = 0; i < 256; i++)
        strbuf_add_text(&list, "<Latest>AAAA</Latest>");
    strbuf_add_text(&list, last);
    strbuf_add(&list, slice_make("</BlockList>", sizeof("</BlockList>"))); /* and a NUL */
    put_block(fixture, "PUT /box/source?comp=blocklist", list.data);
}

static void a_source_that_is_copied_at_once_is_as_long_as_it_may_be(void **state)
{
    struct service_fixture *fixture = *state;
    struct http_fetcher *fetcher = NULL;
    const struct sent copy = {
        .line = "PUT /box/target",
        .headers = { "x-ms-requires-sync: true",
                     "x-ms-copy-source: http://127.0.0.1:10000" ACCOUNT "/box/source" },
    };
    assert_int_equal(LIMIT_COPY_FROM_URL_BYTES, 256 * 1024 * 1024);
    assert_int_equal(http_fetcher_new(&fetcher), OK);
    context.fetcher = fetcher;
    put_block(fixture, "PUT /box/source?comp=block&blockid=AAAA", text_of(fixture, 1 << 20, 'c'));
    put_block(fixture, "PUT /box/source?comp=block&blockid=AAAB", "c");
    commit_source(fixture, "");
    send_request(fixture, &copy);
    assert_status(&copy, 202);
    put_block(fixture, "PUT /box/source?comp=block&blockid=AAAB", "c");
    commit_source(fixture, "<Latest>AAAB</Latest>");
    send_request(fixture, &copy);
    assert_status(&copy, 413);
    forget_request();
    http_fetcher_free(fetcher);
    context.fetcher = NULL;
}

static void blocks_that_nobody_commits_are_kept_for_as_long_as_they_may_be(void **state)
{
    (void)state;
    const struct uncommitted uncommitted = { .put_at = FIXTURE_T0 };
    const int64_t life = LIMIT_UNCOMMITTED_LIFE_SEC * CLOCK_TICKS_PER_SEC;
    assert_false(uncommitted_is_expired(&uncommitted, FIXTURE_T0 + life - 1));
    assert_true(uncommitted_is_expired(&uncommitted, FIXTURE_T0 + life));
}

/* A container, blobs of each kind; a queue; a table; a share with a file. */
static int limits_setup(void **state)
{
    const int result = files_setup(state);
    static const struct {
        const struct http_service *kind;
        struct sent sent;
    } rows[] = {
        { &http_queue_service, { .line = "PUT /box" } },
        { &http_table_service,
          { .line = "POST /Tables",
            .headers = { "Content-Type: application/json" },
            .body = "{\"TableName\":\"Box\"}" } },
        { &http_file_service, { .line = "PUT /box?restype=share" } },
        { &http_file_service,
          { .line = "PUT /box/file",
            .headers = { "x-ms-type: file", "x-ms-content-length: 16777216" } } },
        { &http_blob_service, { .line = "PUT /box?restype=container" } },
        { &http_blob_service, { .line = "PUT /box/blob", .headers = { PUT_BLOB } } },
        { &http_blob_service,
          { .line = "PUT /box/log", .headers = { "x-ms-blob-type: AppendBlob" } } },
        { &http_blob_service,
          { .line = "PUT /box/pages",
            .headers = { "x-ms-blob-type: PageBlob", "x-ms-blob-content-length: 16777216" } } },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        context.kind = rows[i].kind;
        send_request(*state, &rows[i].sent);
        assert_status(&rows[i].sent, 201);
    }
    return result;
}

#define AT_LIMIT(test)                                                                             \
    {                                                                                              \
#test, test, limits_setup, files_teardown, &fixture_on_memory                              \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT_LIMIT(a_body_is_as_long_as_it_may_be_and_not_longer),
        AT_LIMIT(names_are_as_long_as_they_may_be_and_not_longer),
        AT_LIMIT(a_blob_has_as_many_segments_and_bytes_as_it_may_have),
        AT_LIMIT(a_key_of_an_entity_is_as_long_as_it_may_be),
        AT_LIMIT(the_name_of_a_property_is_as_long_as_it_may_be),
        AT_LIMIT(a_prefix_and_a_marker_are_as_long_as_names),
        AT_LIMIT(a_stored_property_is_as_long_as_it_may_be),
        AT_LIMIT(a_permission_in_a_header_is_as_long_as_it_may_be),
        AT_LIMIT(a_block_id_is_as_long_as_it_may_be),
        AT_LIMIT(rules_of_cors_are_as_long_as_they_may_be),
        AT_LIMIT(a_page_of_a_list_has_as_many_results_as_it_may_have),
        AT_LIMIT(a_page_of_a_list_ends_when_its_text_is_long),
        AT_LIMIT(a_page_of_page_ranges_has_as_many_as_it_may_have),
        AT_LIMIT(a_list_without_pages_is_as_long_as_it_may_be),
        AT_LIMIT(a_range_of_which_a_hash_is_wanted_is_as_long_as_it_may_be),
        AT_LIMIT(a_source_that_is_copied_at_once_is_as_long_as_it_may_be),
        cmocka_unit_test(blocks_that_nobody_commits_are_kept_for_as_long_as_they_may_be),
    };
    return cmocka_run_group_tests(tests, requests_setup, requests_teardown);
}
