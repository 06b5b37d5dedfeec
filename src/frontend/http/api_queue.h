/*
 * api_queue.h - what the operations on queues and on their messages have in common.
 */
#ifndef FRONTEND_HTTP_API_QUEUE_H
#define FRONTEND_HTTP_API_QUEUE_H

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "frontend/http/http_request.h"
#include "service/queue/message.h"
#include "service/queue/queue.h"

struct queue_name api_queue_name(const struct http_request *request);

/* An answer with a body of XML. */
void api_respond_queue_xml(struct http_request *request, unsigned status,
                           const struct strbuf *body);

/*
 * xml_message.c: what messages look like on the wire.
 */

/*
 * The text in a document <QueueMessage><MessageText>...; it lives in the arena or the document.
 *   ERR_INVALID_XML   not well-formed, or not of this shape; the request says where
 *   ERR_BODY_TOO_LARGE   longer than LIMIT_MESSAGE_BYTES
 */
MUST_CHECK enum err xml_message_read(struct http_request *request, struct slice document,
                                     struct slice *text);

/* Which elements a message has depends on what was done to it. */
enum xml_message_form {
    XML_MESSAGE_PUT,
    XML_MESSAGE_GOT,
    XML_MESSAGE_PEEKED,
};

/* The whole document, byte order mark included. */
void xml_message_write(struct strbuf *out, const struct message *messages, size_t count,
                       enum xml_message_form form);

#endif
