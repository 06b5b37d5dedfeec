#include "frontend/http/xml_write.h"

#include <string.h>

#include "base/encoding.h"

void xml_begin_document(struct strbuf *out)
{
    strbuf_add_text(out, "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>");
}

/* How many bytes at `at` form a character XML 1.0 cannot carry; 0 when it can carry it.  The text
   is UTF-8 (names are checked to be; property values that are not are caught here). */
static size_t forbidden_len(struct slice text, size_t at)
{
    const unsigned char byte = (unsigned char)text.data[at];
    if (byte < 0x20)
        return byte == '\t' || byte == '\n' || byte == '\r' ? 0 : 1;
    /* U+FFFE and U+FFFF */
    if (byte == 0xef && at + 2 < text.len && (unsigned char)text.data[at + 1] == 0xbf &&
        (unsigned char)text.data[at + 2] >= 0xbe)
        return 3;
    return 0;
}

static const char *entity_of(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '\r':
        return "&#xD;"; /* a parser would turn a bare one into a line feed */
    default:
        return NULL;
    }
}

static void add_escaped_utf8(struct strbuf *out, struct slice text)
{
    size_t plain_from = 0;
    for (size_t i = 0; i < text.len;) {
        const char *entity = entity_of(text.data[i]);
        const size_t forbidden = forbidden_len(text, i);
        if (entity == NULL && forbidden == 0) {
            i++;
            continue;
        }
        strbuf_add(out, slice_make(text.data + plain_from, i - plain_from));
        strbuf_add_text(out, entity != NULL ? entity : "\xef\xbf\xbd");
        i += entity != NULL ? 1 : forbidden;
        plain_from = i;
    }
    strbuf_add(out, slice_from(text, plain_from));
}

void xml_add_escaped(struct strbuf *out, struct slice text)
{
    if (utf8_is_valid(text)) {
        add_escaped_utf8(out, text);
        return;
    }
    /* Header values may be any bytes; each is taken as the Latin-1 character it stands for. */
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        const char two[2] = { (char)(0xc0 | byte >> 6), (char)(0x80 | (byte & 0x3f)) };
        if (byte < 0x80)
            add_escaped_utf8(out, slice_make(&text.data[i], 1));
        else
            strbuf_add(out, slice_make(two, 2));
    }
}

void xml_add_attribute(struct strbuf *out, const char *name, struct slice value)
{
    strbuf_add_byte(out, ' ');
    strbuf_add_text(out, name);
    strbuf_add_text(out, "=\"");
    while (value.len > 0) {
        const size_t quote = slice_find_byte(value, '"');
        xml_add_escaped(out, slice_head(value, quote));
        if (quote < value.len)
            strbuf_add_text(out, "&quot;");
        value = slice_from(value, quote + 1);
    }
    strbuf_add_byte(out, '"');
}

void xml_add_element(struct strbuf *out, const char *name, struct slice text)
{
    strbuf_add_byte(out, '<');
    strbuf_add_text(out, name);
    if (text.len == 0) {
        strbuf_add_text(out, " />");
        return;
    }
    strbuf_add_byte(out, '>');
    xml_add_escaped(out, text);
    strbuf_add_text(out, "</");
    strbuf_add_text(out, name);
    strbuf_add_byte(out, '>');
}

void xml_add_name(struct strbuf *out, const char *element, struct slice name)
{
    bool carried = true;
    for (size_t i = 0; i < name.len && carried; i++)
        carried = forbidden_len(name, i) == 0;
    if (carried) {
        xml_add_element(out, element, name);
        return;
    }
    strbuf_add_byte(out, '<');
    strbuf_add_text(out, element);
    strbuf_add_text(out, " Encoded=\"true\">");
    strbuf_add(out, percent_encode_path(out->arena, name));
    strbuf_add_text(out, "</");
    strbuf_add_text(out, element);
    strbuf_add_byte(out, '>');
}
