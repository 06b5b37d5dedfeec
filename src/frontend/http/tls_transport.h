/*
 * tls_transport.h - how the bytes of a TLS connection come from its socket and go to it.
 *
 * GnuTLS alone asks the kernel for the five bytes of a record's header and then for its rest, and
 * libmicrohttpd has the head of an answer and its body sent each for itself, which are two packets,
 * and two wake-ups of the client.  Here what has arrived is read ahead, and the record with the
 * head waits for the first one of the body.
 *
 * Reading ahead is safe with the library's edge-triggered epoll because it reads a TLS connection
 * until GnuTLS has no more to give, and GnuTLS asks here until it is told EAGAIN, which is said
 * only when nothing that was read ahead is left.
 *
 * A transport belongs to the worker of its connection.
 */
#ifndef FRONTEND_HTTP_TLS_TRANSPORT_H
#define FRONTEND_HTTP_TLS_TRANSPORT_H

#include <gnutls/gnutls.h>

struct tls_transport;

/* Give a session, before its handshake, a transport over this socket, which does not block.  The
   descriptor stays the caller's. */
struct tls_transport *tls_transport_new(gnutls_session_t session, int descriptor);

/* The session sends and receives no more.  NULL is fine. */
void tls_transport_free(struct tls_transport *transport);

/* The record sent next may wait for the one after it.  There must be one: nothing else sends it. */
void tls_transport_hold(struct tls_transport *transport);

#endif
