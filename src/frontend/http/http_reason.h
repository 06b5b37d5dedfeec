/*
 * http_reason.h - the reason phrase of a status line.
 *
 * The storage services say what went wrong in the reason phrase ("404 The specified blob does not
 * exist."), and some clients show it.  libmicrohttpd has no parameter for it: it asks its own
 * public function MHD_get_reason_phrase_for while it writes the status line, on the thread that
 * queued the response and before it handles any other connection.  http_reason.c provides that
 * function in the library's place; it answers with the phrase set here, once, and otherwise with
 * the library's own.
 */
#ifndef FRONTEND_HTTP_HTTP_REASON_H
#define FRONTEND_HTTP_HTTP_REASON_H

/* The phrase of the response this thread queues next; NULL for the standard one.  Kept. */
void http_reason_set(const char *phrase);

#endif
