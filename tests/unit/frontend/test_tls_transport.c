/*
 * test_tls_transport.c - two ends of a TLS connection in one thread.  The client's records are put
 * into the socket in the pieces a test wants; what the server sends can be given room for a few
 * bytes at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frontend/http/tls_transport.h"

#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+ANON-ECDH"

enum { RECORD_BYTES = 16 * 1024 };

/* The client's records, until the test puts them into the socket. */
struct outbox {
    char bytes[256 * 1024];
    size_t len;
};

static struct {
    gnutls_anon_server_credentials_t server_credentials;
    gnutls_anon_client_credentials_t client_credentials;
    gnutls_session_t server;
    gnutls_session_t client;
    struct tls_transport *transport;
    struct outbox outbox;
    int server_end;
    int client_end;
    size_t room; /* of the server's socket, for one sendmsg(), which leaves none */
    bool sends_at_will;
    int sends; /* calls of sendmsg() that sent something */
} tls;

/* In the place of the system's: takes no more bytes than there is room for. */
ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
    char bytes[2 * RECORD_BYTES];
    size_t len = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        const struct iovec *piece = &message->msg_iov[i];
        assert_true(piece->iov_len <= sizeof(bytes) - len);
        memcpy(bytes + len, piece->iov_base, piece->iov_len);
        len += piece->iov_len;
    }
    if (!tls.sends_at_will && len > tls.room)
        len = tls.room;
    tls.room = 0;
    if (len == 0) {
        errno = EAGAIN;
        return -1;
    }
    tls.sends++;
    return send(descriptor, bytes, len, flags);
}

static ssize_t client_push(gnutls_transport_ptr_t arg, const void *data, size_t len)
{
    struct outbox *outbox = arg;
    assert_true(len <= sizeof(outbox->bytes) - outbox->len);
    memcpy(outbox->bytes + outbox->len, data, len);
    outbox->len += len;
    return (ssize_t)len;
}

static ssize_t client_pull(gnutls_transport_ptr_t arg, void *data, size_t len)
{
    (void)arg;
    return recv(tls.client_end, data, len, 0);
}

/* Put `len` bytes of the client's into the socket; they are one segment. */
static void deliver(size_t len)
{
    assert_true(len <= tls.outbox.len);
    assert_int_equal(send(tls.client_end, tls.outbox.bytes, len, 0), (ssize_t)len);
    memmove(tls.outbox.bytes, tls.outbox.bytes + len, tls.outbox.len - len);
    tls.outbox.len -= len;
}

static void deliver_all(void)
{
    deliver(tls.outbox.len);
}

static void shake_hands(void)
{
    int client = GNUTLS_E_AGAIN;
    int server = GNUTLS_E_AGAIN;
    while (client != GNUTLS_E_SUCCESS || server != GNUTLS_E_SUCCESS) {
        if (client != GNUTLS_E_SUCCESS)
            client = gnutls_handshake(tls.client);
        deliver_all();
        if (server != GNUTLS_E_SUCCESS)
            server = gnutls_handshake(tls.server);
        assert_true(client == GNUTLS_E_SUCCESS || client == GNUTLS_E_AGAIN);
        assert_true(server == GNUTLS_E_SUCCESS || server == GNUTLS_E_AGAIN);
    }
}

static int connect_both(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    memset(&tls, 0, sizeof(tls));
    tls.server_end = ends[0];
    tls.client_end = ends[1];
    tls.sends_at_will = true;
    gnutls_anon_allocate_server_credentials(&tls.server_credentials);
    gnutls_anon_allocate_client_credentials(&tls.client_credentials);
    gnutls_init(&tls.server, GNUTLS_SERVER | GNUTLS_NONBLOCK);
    gnutls_init(&tls.client, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
    gnutls_credentials_set(tls.server, GNUTLS_CRD_ANON, tls.server_credentials);
    gnutls_credentials_set(tls.client, GNUTLS_CRD_ANON, tls.client_credentials);
    assert_int_equal(gnutls_priority_set_direct(tls.server, PRIORITIES, NULL), 0);
    assert_int_equal(gnutls_priority_set_direct(tls.client, PRIORITIES, NULL), 0);
    gnutls_transport_set_ptr2(tls.client, NULL, &tls.outbox);
    gnutls_transport_set_push_function(tls.client, client_push);
    gnutls_transport_set_pull_function(tls.client, client_pull);
    tls.transport = tls_transport_new(tls.server, tls.server_end);
    shake_hands();
    tls.sends = 0;
    return 0;
}

static int disconnect(void **state)
{
    (void)state;
    gnutls_deinit(tls.server);
    gnutls_deinit(tls.client);
    tls_transport_free(tls.transport);
    gnutls_anon_free_server_credentials(tls.server_credentials);
    gnutls_anon_free_client_credentials(tls.client_credentials);
    close(tls.server_end);
    close(tls.client_end);
    return 0;
}

static void client_writes(const char *text)
{
    assert_int_equal(gnutls_record_send(tls.client, text, strlen(text)), (ssize_t)strlen(text));
}

static void reads(gnutls_session_t session, const char *text)
{
    char got[256];
    assert_int_equal(gnutls_record_recv(session, got, sizeof(got)), (ssize_t)strlen(text));
    assert_memory_equal(got, text, strlen(text));
}

static void reads_nothing(gnutls_session_t session)
{
    char got[256];
    assert_int_equal(gnutls_record_recv(session, got, sizeof(got)), GNUTLS_E_AGAIN);
}

static void fill(char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 31 + i / 251);
}

/* --- receiving --- */

static void records_that_arrive_together_are_read_one_after_the_other(void **state)
{
    (void)state;
    client_writes("one");
    client_writes("two");
    client_writes("three");
    deliver_all();
    reads(tls.server, "one");
    reads(tls.server, "two");
    reads(tls.server, "three");
    reads_nothing(tls.server);
}

static void what_has_arrived_is_taken_from_the_socket_at_once(void **state)
{
    (void)state;
    client_writes("one");
    client_writes("two");
    deliver_all();
    reads(tls.server, "one");
    int left;
    assert_int_equal(ioctl(tls.server_end, FIONREAD, &left), 0);
    assert_int_equal(left, 0);
}

static void a_record_that_arrives_byte_by_byte_is_read_when_it_is_complete(void **state)
{
    (void)state;
    client_writes("slow");
    while (tls.outbox.len > 1) {
        deliver(1);
        reads_nothing(tls.server);
    }
    deliver(1);
    reads(tls.server, "slow");
}

static void a_record_and_the_beginning_of_the_next_may_arrive_together(void **state)
{
    (void)state;
    client_writes("whole");
    const size_t whole = tls.outbox.len;
    client_writes("in part");
    deliver(whole + 3);
    reads(tls.server, "whole");
    reads_nothing(tls.server);
    deliver_all();
    reads(tls.server, "in part");
}

static void many_full_records_arrive_unchanged(void **state)
{
    (void)state;
    static char sent[10 * RECORD_BYTES];
    static char got[sizeof(sent)];
    fill(sent, sizeof(sent));
    for (size_t at = 0; at < sizeof(sent); at += RECORD_BYTES)
        assert_int_equal(gnutls_record_send(tls.client, sent + at, RECORD_BYTES), RECORD_BYTES);
    size_t len = 0;
    while (tls.outbox.len > 0) {
        deliver(tls.outbox.len < 9999 ? tls.outbox.len : 9999);
        ssize_t more;
        while ((more = gnutls_record_recv(tls.server, got + len, sizeof(got) - len)) > 0)
            len += (size_t)more;
        assert_true(more == GNUTLS_E_AGAIN || len == sizeof(got));
    }
    assert_int_equal(len, sizeof(got));
    assert_memory_equal(got, sent, sizeof(got));
}

static void the_end_comes_after_what_was_sent_before_it(void **state)
{
    (void)state;
    client_writes("last words");
    gnutls_bye(tls.client, GNUTLS_SHUT_WR);
    deliver_all();
    shutdown(tls.client_end, SHUT_WR);
    reads(tls.server, "last words");
    char got[8];
    assert_int_equal(gnutls_record_recv(tls.server, got, sizeof(got)), 0);
}

/* --- sending --- */

static void server_writes(const char *text)
{
    assert_int_equal(gnutls_record_send(tls.server, text, strlen(text)), (ssize_t)strlen(text));
}

static void a_held_record_leaves_with_the_next_one(void **state)
{
    (void)state;
    tls_transport_hold(tls.transport);
    server_writes("head");
    assert_int_equal(tls.sends, 0);
    server_writes("body");
    assert_int_equal(tls.sends, 1);
    reads(tls.client, "head");
    reads(tls.client, "body");
}

static void only_the_next_record_is_held(void **state)
{
    (void)state;
    server_writes("at once");
    reads(tls.client, "at once");
    tls_transport_hold(tls.transport);
    server_writes("head");
    server_writes("body");
    server_writes("more of it");
    assert_int_equal(tls.sends, 3);
    reads(tls.client, "head");
    reads(tls.client, "body");
    reads(tls.client, "more of it");
}

static void a_long_record_is_not_held(void **state)
{
    (void)state;
    static char sent[RECORD_BYTES];
    static char got[RECORD_BYTES];
    fill(sent, sizeof(sent));
    tls_transport_hold(tls.transport);
    assert_int_equal(gnutls_record_send(tls.server, sent, sizeof(sent)), sizeof(sent));
    assert_int_equal(tls.sends, 1);
    assert_int_equal(gnutls_record_recv(tls.client, got, sizeof(got)), sizeof(got));
    assert_memory_equal(got, sent, sizeof(got));
}

static void a_held_record_loses_nothing_in_a_socket_with_little_room(void **state)
{
    (void)state;
    tls.sends_at_will = false;
    for (size_t room = 1; room < 100; room++) {
        tls_transport_hold(tls.transport);
        server_writes("head");
        ssize_t sent = gnutls_record_send(tls.server, "body", 4);
        assert_int_equal(sent, GNUTLS_E_AGAIN);
        while (sent == GNUTLS_E_AGAIN) {
            tls.room = room;
            sent = gnutls_record_send(tls.server, "body", 4);
        }
        assert_int_equal(sent, 4);
        reads(tls.client, "head");
        reads(tls.client, "body");
    }
}

static void a_socket_that_is_gone_is_reported(void **state)
{
    (void)state;
    shutdown(tls.server_end, SHUT_WR);
    tls_transport_hold(tls.transport);
    server_writes("head");
    assert_int_equal(gnutls_record_send(tls.server, "body", 4), GNUTLS_E_PUSH_ERROR);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, connect_both, disconnect)
    const struct CMUnitTest tests[] = {
        CASE(records_that_arrive_together_are_read_one_after_the_other),
        CASE(what_has_arrived_is_taken_from_the_socket_at_once),
        CASE(a_record_that_arrives_byte_by_byte_is_read_when_it_is_complete),
        CASE(a_record_and_the_beginning_of_the_next_may_arrive_together),
        CASE(many_full_records_arrive_unchanged),
        CASE(the_end_comes_after_what_was_sent_before_it),
        CASE(a_held_record_leaves_with_the_next_one),
        CASE(only_the_next_record_is_held),
        CASE(a_long_record_is_not_held),
        CASE(a_held_record_loses_nothing_in_a_socket_with_little_room),
        CASE(a_socket_that_is_gone_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
