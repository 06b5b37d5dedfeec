/*
 * fuzz_http.c - bytes on a connection, through the HTTP library and the server to the answer.
 *
 * Input: what a client sends, in pieces that end where a byte of 0xff stands.  Behind it comes a
 * request that closes the connection.  Nothing here carries a valid credential, so the store stays
 * as it is.
 *
 *   - What comes back is empty or begins with an answer, and none of the answers is a 500.
 *   - The connection is closed in the end, and the server takes the next one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/frontend/http_request_fixture.h"
#include "frontend/http/http_listener.h"
#include "frontend/http/http_metrics.h"
#include "frontend/http/http_server.h"
#include "fuzz.h"

enum {
    QUIET_MS = 30,   /* a server that says nothing for so long waits for more */
    HANG_MS = 10000, /* one that does not close for so long hangs */
    ANSWER_MAX = 1 << 20,
};

static const char last_request[] =
    "\r\n\r\nGET /devstoreaccount1/none/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

static struct http_server *server;

static void start_server(void)
{
    static void *state = &fixture_on_memory;
    struct http_server_options options = { .workers = 1, .idle_sec = 5 };
    http_metrics_init();
    if (requests_setup(NULL) != 0 || request_setup(&state) != 0 ||
        http_listener_open("127.0.0.1", 0, &options.listener) != OK ||
        http_server_new(&context, &options, &server) != OK)
        abort();
}

/* -1 if this address of ours has no port left: connections that are over keep theirs a while. */
static int try_connect(uint32_t own_address)
{
    const int one = 1;
    const struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(own_address) };
    const struct sockaddr_in other = { .sin_family = AF_INET,
                                       .sin_port = htons(http_server_port(server)),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int client_socket = socket(AF_INET, SOCK_STREAM, 0);
    assert(client_socket >= 0);
    /* The port is chosen for the pair of addresses. */
    (void)setsockopt(client_socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
    if (bind(client_socket, (const struct sockaddr *)&own, sizeof(own)) == 0 &&
        connect(client_socket, (const struct sockaddr *)&other, sizeof(other)) == 0)
        return client_socket;
    close(client_socket);
    return -1;
}

static int connect_client(void)
{
    static uint32_t count;
    for (int tries = 0; tries < 1000; tries++) {
        const int client_socket = try_connect(INADDR_LOOPBACK + ++count % 60000);
        if (client_socket >= 0)
            return client_socket;
    }
    abort();
}

/* Send; a server that has closed, or does not take more, is none of our business here. */
static void send_bytes(int client_socket, struct slice bytes)
{
    while (bytes.len > 0) {
        const ssize_t sent =
            send(client_socket, bytes.data, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0)
            return;
        bytes = slice_from(bytes, (size_t)sent);
    }
}

static void send_pieces(int client_socket, struct slice bytes)
{
    while (bytes.len > 0) {
        const size_t len = slice_find_byte(bytes, (char)0xff);
        send_bytes(client_socket, slice_head(bytes, len));
        bytes = slice_from(bytes, len + 1);
    }
}

/* All that the server says until it closes. */
static size_t receive_all(int client_socket, char *answer)
{
    size_t len = 0;
    bool is_told = false;
    for (;;) {
        struct pollfd wanted = { .fd = client_socket, .events = POLLIN };
        const int ready = poll(&wanted, 1, is_told ? HANG_MS : QUIET_MS);
        if (ready == 0) {
            assert(!is_told); /* it hangs */
            is_told = true;
            (void)shutdown(client_socket, SHUT_WR);
            continue;
        }
        const ssize_t got = recv(client_socket, answer + len, ANSWER_MAX - len, 0);
        if (got <= 0)
            return len;
        len += (size_t)got;
        assert(len < ANSWER_MAX);
    }
}

/* The length of the body that a head announces. */
static size_t body_length(struct slice head)
{
    const struct slice name = slice_of("\r\nContent-Length: ");
    const char *found = memmem(head.data, head.len, name.data, name.len);
    return found == NULL ? 0 : strtoul(found + name.len, NULL, 10);
}

/* One answer after the other, for as long as they can be told apart: those to HEAD have no body,
   whatever they announce. */
static void check_answers(struct slice answer)
{
    const struct slice begin = slice_of("HTTP/1.");
    assert(answer.len == 0 || slice_starts_with(answer, begin));
    while (slice_starts_with(answer, begin)) {
        assert(answer.len > 12 && answer.data[9] >= '1' && answer.data[9] <= '5');
        assert(memcmp(answer.data + 9, "500", 3) != 0);
        const char *end = memmem(answer.data, answer.len, "\r\n\r\n", 4);
        assert(end != NULL);
        const struct slice head = slice_head(answer, (size_t)(end - answer.data));
        answer = slice_from(answer, head.len + 4);
        if (!slice_starts_with(answer, begin))
            answer = slice_from(answer, body_length(head));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char answer[ANSWER_MAX];
    fuzz_silence();
    if (server == NULL)
        start_server();
    const int client_socket = connect_client();
    send_pieces(client_socket, slice_make(data, size));
    send_bytes(client_socket, slice_of(last_request));
    check_answers(slice_make(answer, receive_all(client_socket, answer)));
    close(client_socket);
    return 0;
}
