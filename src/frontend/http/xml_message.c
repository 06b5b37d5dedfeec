#include "base/date.h"
#include "frontend/http/api_common.h"
#include "frontend/http/api_queue.h"
#include "frontend/http/xml_read.h"
#include "frontend/http/xml_write.h"
#include "service/limits.h"

static enum err refuse_shape(struct http_request *request, const struct xml_node *node,
                             const char *reason)
{
    const struct xml_fault fault = { .line = node->line, .column = node->column, .reason = reason };
    return api_fault_xml(request, &fault);
}

enum err xml_message_read(struct http_request *request, struct slice document, struct slice *text)
{
    struct xml_node *root;
    struct xml_fault fault;
    if (xml_parse(&request->arena, document, &root, &fault) != OK)
        return api_fault_xml(request, &fault);
    if (!slice_is(root->name, "QueueMessage"))
        return refuse_shape(request, root, "The document is no QueueMessage.");
    const struct xml_node *node = xml_find(root, "MessageText");
    if (node == NULL)
        return refuse_shape(request, root, "The document has no MessageText.");
    if (node->child_count > 0)
        return refuse_shape(request, node, "MessageText is text.");
    *text = node->text;
    if (text->len <= LIMIT_MESSAGE_BYTES)
        return OK;
    request_add_detail(request, "MaxLimit",
                       arena_printf(&request->arena, "%d", LIMIT_MESSAGE_BYTES));
    return ERR_BODY_TOO_LARGE;
}

static void add_date(struct strbuf *out, const char *name, int64_t ticks)
{
    char text[DATE_RFC1123_LEN + 1];
    date_format_rfc1123(ticks, text);
    xml_add_element(out, name, slice_of(text));
}

static void write_one(struct strbuf *out, const struct message *message, enum xml_message_form form)
{
    char id[UUID_TEXT_LEN + 1];
    char receipt[RECEIPT_TEXT_LEN + 1];
    uuid_format(&message->id, id);
    receipt_format(message, receipt);
    strbuf_add_text(out, "<QueueMessage>");
    xml_add_element(out, "MessageId", slice_of(id));
    add_date(out, "InsertionTime", message_inserted(message));
    /* What never expires does so on the last day there is. */
    add_date(out, "ExpirationTime", message->expires != 0 ? message->expires : CLOCK_TICKS_MAX);
    if (form != XML_MESSAGE_PEEKED) {
        xml_add_element(out, "PopReceipt", slice_of(receipt));
        add_date(out, "TimeNextVisible", message->visible_at);
    }
    if (form != XML_MESSAGE_PUT) {
        strbuf_printf(out, "<DequeueCount>%llu</DequeueCount>",
                      (unsigned long long)message->dequeue_count);
        xml_add_element(out, "MessageText", message->text);
    }
    strbuf_add_text(out, "</QueueMessage>");
}

void xml_message_write(struct strbuf *out, const struct message *messages, size_t count,
                       enum xml_message_form form)
{
    xml_begin_document(out);
    if (count == 0) {
        strbuf_add_text(out, "<QueueMessagesList />");
        return;
    }
    strbuf_add_text(out, "<QueueMessagesList>");
    for (size_t i = 0; i < count; i++)
        write_one(out, &messages[i], form);
    strbuf_add_text(out, "</QueueMessagesList>");
}
