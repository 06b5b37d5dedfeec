/*
 * fuzz_request.c - whole requests of all services, from the target to the answer, without sockets.
 *
 * Input: which service (a letter: b, q, t or f), and requests (fuzz_message.h).  They meet a store
 * with a few things in it.  In a target, '~' at the beginning is the account.  A request that
 * carries no credential of its own is signed; one that says nothing about its length is given it.
 *
 *   - Every request is answered, and the answer is well-formed: headers, XML, JSON, multipart.
 *   - A request that is refused, or whose client goes away in its midst, changes nothing.
 *   - A request takes memory in proportion to what was sent.
 *   - When all is over, a check of the store (fsck) finds nothing.
 */
#include "../unit/frontend/file_request_fixture.h"
#include "fuzz_answer.h"
#include "fuzz_message.h"
#include "service/blob/fsck.h"
#include "service/limits.h"

enum {
    REQUESTS_MAX = 12,
    /* What a request takes at most besides a multiple of what was sent: answers of the few things
       that are there, and the parts of a batch, which are requests of their own. */
    MEMORY_BASE_BYTES = 6 * 1024 * 1024,
};

/* The store that the requests meet. */
static const char blob_store[] =
    "PUT ~/box?restype=container\n\n\n%%\n"
    "PUT ~/box/blob\nx-ms-blob-type: BlockBlob\nx-ms-tags: color=blue\n\nhello\n%%\n"
    "PUT ~/box/pages\nx-ms-blob-type: PageBlob\nx-ms-blob-content-length: 1024\n\n\n%%\n"
    "PUT ~/box/log\nx-ms-blob-type: AppendBlob\n\n\n%%\n"
    "PUT ~/box/leased\nx-ms-blob-type: BlockBlob\n\nmine\n%%\n"
    "PUT ~/box/leased?comp=lease\nx-ms-lease-action: acquire\nx-ms-lease-duration: 15\n"
    "x-ms-proposed-lease-id: " LEASE_A "\n\n\n%%\n"
    "PUT ~/box/blob?comp=block&blockid=AAAA\n\nblock";
static const char queue_store[] =
    "PUT ~/box\n\n\n%%\n"
    "POST ~/box/messages\n\n<QueueMessage><MessageText>hello</MessageText></QueueMessage>";
static const char table_store[] =
    "POST ~/Tables\nContent-Type: application/json\n\n{\"TableName\":\"Box\"}\n%%\n"
    "POST ~/Box\nContent-Type: application/json\n\n"
    "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"A\":1,\"B\":\"b\"}";
static const char file_store[] =
    "PUT ~/box?restype=share\n\n\n%%\n"
    "PUT ~/box/dir?restype=directory\n\n\n%%\n"
    "PUT ~/box/dir/file\nx-ms-type: file\nx-ms-content-length: 1024\n\n\n%%\n"
    "PUT ~/box/dir/file?comp=range\nx-ms-write: update\nx-ms-range: bytes=0-4\n\nhello";

static const struct {
    char letter;
    const struct http_service *kind;
    const char *store;
} services[] = {
    { 'b', &http_blob_service, blob_store },
    { 'q', &http_queue_service, queue_store },
    { 't', &http_table_service, table_store },
    { 'f', &http_file_service, file_store },
};

/* --- the store, byte for byte --- */

struct dump {
    struct service_fixture *fixture;
    struct strbuf out;
};

static bool dump_partition(void *arg, struct slice partition)
{
    struct dump *dump = arg;
    strbuf_add(&dump->out, partition);
    fixture_dump_partition(dump->fixture, partition, &dump->out);
    return true;
}

/* Every row there is. */
static struct slice dump_store(struct service_fixture *fixture, struct arena *arena)
{
    struct dump dump = { .fixture = fixture };
    strbuf_init(&dump.out, arena);
    assert(partition_each(fixture->service.store, dump_partition, &dump) == OK);
    return strbuf_slice(&dump.out);
}

/* --- sending --- */

static bool has_header(const struct fuzz_message *message, const char *name)
{
    for (size_t i = 0; i < message->header_count; i++)
        if (slice_equal_nocase(message->headers[i].name, slice_of(name)))
            return true;
    return false;
}

static void add_headers(struct fuzz_message *message)
{
    char date[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(request.received_at, date);
    if (!has_header(message, "Host"))
        fuzz_message_add(message, slice_of("Host"), slice_of("127.0.0.1:10000"));
    if (!has_header(message, "x-ms-date"))
        fuzz_message_add(message, slice_of("x-ms-date"),
                         arena_copy(&request.arena, slice_of(date)));
    if (!has_header(message, "x-ms-version"))
        fuzz_message_add(message, slice_of("x-ms-version"), slice_of("2021-12-02"));
    if (!has_header(message, "Content-Length") && !has_header(message, "Transfer-Encoding"))
        fuzz_message_add(message, slice_of("Content-Length"),
                         arena_printf(&request.arena, "%zu", message->body.len));
}

static void add_signature(struct fuzz_message *message)
{
    struct http_message plain = { .method = message->method,
                                  .headers = message->headers,
                                  .header_count = message->header_count };
    if (http_message_parse_target(&request.arena, request.target, &plain) != OK)
        return;
    const struct auth_sharedkey_request signed_request = {
        .message = &plain,
        .account = account_list_get(accounts, 0),
        .addressing = AUTH_PATH_STYLE,
        .dialect = context.kind->dialect,
        .now = request.received_at,
    };
    struct slice text = { 0 };
    if (auth_sharedkey_text(&request.arena, &signed_request, slice_of(FIXTURE_ACCOUNT_NAME),
                            AUTH_SHAREDKEY, AUTH_ORDER_BYTES, &text) != OK)
        return;
    const struct slice signature = hmac_base64(text);
    fuzz_message_add(message, slice_of("Authorization"),
                     arena_printf(&request.arena, "SharedKey %s:%.*s", FIXTURE_ACCOUNT_NAME,
                                  (int)signature.len, signature.data));
}

static void begin(struct service_fixture *fixture, struct slice text, struct fuzz_message *message)
{
    forget_request();
    fuzz_message_read(&request.arena, text, message);
    waiter_init(&request_waiter);
    request.context = &context;
    request.client_address = (const struct sockaddr *)&client;
    request.id = uuid_quick();
    uuid_format(&request.id, request.id_text);
    request.received_at = clock_now(&fixture->clock);
    request.wake = woken;
    request.wake_arg = &request_waiter;
    request.target = message->target;
    if (message->target.len > 0 && message->target.data[0] == '~')
        request.target = arena_printf(&request.arena, ACCOUNT "%s", message->target.data + 1);
    request.message.method = message->method;
    add_headers(message);
    if (!has_header(message, "Authorization") && strstr(request.target.data, "sig=") == NULL)
        add_signature(message);
    request.message.headers = message->headers;
    request.message.header_count = message->header_count;
    request_begin(&request);
}

/* As the library does it: exactly as many bytes as were announced, or the client is gone. */
static bool receive(struct slice body)
{
    if (request.has_content_length && request.content_length > body.len)
        return false;
    if (request.has_content_length)
        body = slice_head(body, (size_t)request.content_length);
    const struct slice copy = fuzz_copy(body);
    receive_body(copy);
    fuzz_copy_free(copy);
    return true;
}

/* Send a request; false: its client went away before it was all there. */
static bool send_text(struct service_fixture *fixture, struct slice text)
{
    struct fuzz_message message;
    begin(fixture, text, &message);
    if (!(request.phase == PHASE_REFUSED && request.must_close) && !receive(message.body))
        return false;
    request_waiting = request.phase == PHASE_RECEIVING && request_waits(&request);
    if (request.phase == PHASE_RECEIVING)
        request_run(&request);
    finish_request();
    request_complete_answer(&request);
    return true;
}

/* --- checking --- */

static bool may_have_changed(void)
{
    return request.phase == PHASE_ANSWERED && request.response.status < 300;
}

static void check_request(struct service_fixture *fixture, struct slice text)
{
    struct arena arena = { 0 };
    const struct slice before = dump_store(fixture, &arena);
    const bool is_answered = send_text(fixture, text);
    assert(arena_size_bytes(&request.arena) < MEMORY_BASE_BYTES + 256 * text.len);
    if (is_answered) {
        answer_check(&arena, &request.response);
        (void)answer_body();
    }
    if (!is_answered || !may_have_changed())
        fuzz_assert_equal(dump_store(fixture, &arena), before);
    arena_release(&arena);
}

static void say_finding(void *arg, const char *words)
{
    (void)arg;
    fprintf(stderr, "%s\n", words);
}

static void check_store(struct service_fixture *fixture)
{
    const struct fsck_request check = { .store = fixture->service.store, .finding = say_finding };
    struct fsck_summary summary;
    fsck_run(&check, &summary);
    assert(summary.finding_count == 0);
}

static void make_everything(struct service_fixture *fixture, const char *store)
{
    struct slice rest = slice_of(store);
    while (rest.len > 0) {
        assert(send_text(fixture, fuzz_message_cut(&rest)));
        assert(request.response.status < 300);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = fuzz_begin(data, size);
    void *state = &fixture_on_memory;
    if (accounts == NULL)
        requests_setup(NULL);
    const char letter = (char)fuzz_byte(&input);
    size_t service = 0;
    while (service < 3 && services[service].letter != letter)
        service++;
    files_setup(&state);
    struct service_fixture *fixture = state;
    context.kind = services[service].kind;
    make_everything(fixture, services[service].store);
    struct slice rest = slice_from(input.rest, 1);
    for (size_t i = 0; i < REQUESTS_MAX && rest.len > 0; i++)
        check_request(fixture, fuzz_message_cut(&rest));
    forget_request();
    check_store(fixture);
    files_teardown(&state);
    return 0;
}
