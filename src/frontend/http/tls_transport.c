#include "frontend/http/tls_transport.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/log.h"

enum {
    /* A request without a body fits. */
    AHEAD_BYTES = 4096,
    /* The head of an answer fits. */
    HELD_BYTES = 2048,
    /* Of what is to be sent at a time; GnuTLS comes again with the rest. */
    PIECES_MAX = 32,
};

/* Bytes from `begin` to `end` of a buffer; none when they are equal. */
struct span {
    size_t begin;
    size_t end;
};

struct tls_transport {
    int descriptor;
    bool hold_next;
    struct span ahead; /* read from the socket, not asked for yet */
    struct span held;  /* taken to be sent, and sent before the next record */
    unsigned char ahead_bytes[AHEAD_BYTES];
    unsigned char held_bytes[HELD_BYTES];
};

static size_t span_size(struct span span)
{
    return span.end - span.begin;
}

/* --- receiving --- */

static ssize_t take_ahead(struct tls_transport *transport, void *data, size_t len)
{
    const size_t ready = span_size(transport->ahead);
    const size_t taken = len < ready ? len : ready;
    memcpy(data, transport->ahead_bytes + transport->ahead.begin, taken);
    transport->ahead.begin += taken;
    return (ssize_t)taken;
}

/* gnutls_pull_func: like recv(). */
static ssize_t pull(gnutls_transport_ptr_t arg, void *data, size_t len)
{
    struct tls_transport *transport = arg;
    if (span_size(transport->ahead) > 0)
        return take_ahead(transport, data, len);
    struct iovec pieces[] = { { data, len }, { transport->ahead_bytes, AHEAD_BYTES } };
    const ssize_t got = readv(transport->descriptor, pieces, 2);
    if (got <= (ssize_t)len)
        return got;
    transport->ahead = (struct span){ .end = (size_t)got - len };
    return (ssize_t)len;
}

/* --- sending --- */

static ssize_t send_pieces(const struct tls_transport *transport, const struct iovec *pieces,
                           size_t count)
{
    const struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)pieces,
                                    .msg_iovlen = count };
    return sendmsg(transport->descriptor, &message, MSG_NOSIGNAL);
}

/* The bytes of a record that is kept instead of sent; 0 if there is no room for it. */
static size_t hold(struct tls_transport *transport, const struct iovec *pieces, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += pieces[i].iov_len;
    if (span_size(transport->held) > 0 || len > HELD_BYTES)
        return 0;
    transport->held = (struct span){ 0 };
    for (size_t i = 0; i < count; i++) {
        memcpy(transport->held_bytes + transport->held.end, pieces[i].iov_base, pieces[i].iov_len);
        transport->held.end += pieces[i].iov_len;
    }
    return len;
}

/* Send what is held, which counts as sent already, and then this. */
static ssize_t send_after_held(struct tls_transport *transport, const struct iovec *pieces,
                               size_t count)
{
    const size_t held = span_size(transport->held);
    const size_t some = count < PIECES_MAX ? count : PIECES_MAX;
    struct iovec all[1 + PIECES_MAX];
    all[0] = (struct iovec){ transport->held_bytes + transport->held.begin, held };
    memcpy(all + 1, pieces, some * sizeof(*pieces));
    const ssize_t sent = send_pieces(transport, all, 1 + some);
    if (sent < 0)
        return sent;
    if ((size_t)sent > held) {
        transport->held = (struct span){ 0 };
        return sent - (ssize_t)held;
    }
    transport->held.begin += (size_t)sent;
    errno = EAGAIN; /* nothing of the pieces fits into the socket */
    return -1;
}

/* gnutls_vec_push_func: like writev(). */
static ssize_t push(gnutls_transport_ptr_t arg, const giovec_t *pieces, int count)
{
    struct tls_transport *transport = arg;
    if (transport->hold_next) {
        transport->hold_next = false;
        const size_t held = hold(transport, pieces, (size_t)count);
        if (held > 0)
            return (ssize_t)held;
    }
    return span_size(transport->held) > 0 ? send_after_held(transport, pieces, (size_t)count)
                                          : send_pieces(transport, pieces, (size_t)count);
}

/* --- what others call --- */

struct tls_transport *tls_transport_new(gnutls_session_t session, int descriptor)
{
    assert(descriptor >= 0);
    struct tls_transport *transport = malloc(sizeof(*transport));
    if (transport == NULL)
        panic("no memory for a connection");
    transport->descriptor = descriptor;
    transport->hold_next = false;
    transport->ahead = transport->held = (struct span){ 0 };
    gnutls_transport_set_ptr(session, transport);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_vec_push_function(session, push);
    return transport;
}

void tls_transport_free(struct tls_transport *transport)
{
    free(transport);
}

void tls_transport_hold(struct tls_transport *transport)
{
    transport->hold_next = true;
}
