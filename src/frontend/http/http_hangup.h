/*
 * http_hangup.h - notices clients that hang up.
 *
 * libmicrohttpd reads sockets with edge-triggered epoll and waits for the next edge after a read
 * that did not fill its buffer.  When a client's last bytes and its FIN arrive together there is
 * only one edge, and the library never learns that the client is gone: an upload that was cut off
 * would be kept until the idle time-out.  So each connection is watched here too, for the FIN
 * alone, and the library is made to look again: shutdown() of the reading side, which has ended
 * anyway, is a new edge.  Bytes that have arrived stay readable.
 *
 * One thread.  http_hangup_forget is called before a descriptor is closed, so that a number that
 * was given to another connection is never touched.
 */
#ifndef FRONTEND_HTTP_HTTP_HANGUP_H
#define FRONTEND_HTTP_HTTP_HANGUP_H

#include "base/error.h"

struct http_hangup;

MUST_CHECK enum err http_hangup_new(struct http_hangup **hangup);

/* Nothing is watched any more.  NULL is fine. */
void http_hangup_free(struct http_hangup *hangup);

void http_hangup_watch(struct http_hangup *hangup, int descriptor);
void http_hangup_forget(struct http_hangup *hangup, int descriptor);

#endif
