#include "frontend/http/odata_write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "frontend/http/odata_path.h"
#include "frontend/http/odata_token.h"
#include "frontend/http/xml_write.h"
#include "service/limits.h"

enum {
    SELECTED_MAX = LIMIT_ENTITY_PROPERTIES_MAX + 3,
};

enum err odata_select_parse(struct arena *arena, struct slice text, struct odata_format *format)
{
    struct slice *names = arena_alloc(arena, SELECTED_MAX * sizeof(*names));
    struct slice rest = text;
    size_t count = 0;
    bool is_everything = false;
    format->select_text = (struct slice){ 0 };
    format->selected_count = 0;
    if (!utf8_is_valid(text))
        return ERR_INVALID_QUERY_PARAMETER;
    while (rest.len > 0) {
        const size_t comma = slice_find_byte(rest, ',');
        const struct slice name = slice_trim(slice_head(rest, comma));
        if (name.len == 0 || comma + 1 == rest.len || count == SELECTED_MAX)
            return ERR_INVALID_QUERY_PARAMETER;
        is_everything = is_everything || slice_is(name, "*");
        names[count++] = name;
        rest = slice_from(rest, comma + 1);
    }
    if (is_everything)
        return OK;
    format->select_text = text;
    format->selected = names;
    format->selected_count = count;
    return OK;
}

const char *odata_content_type(enum odata_metadata metadata)
{
    switch (metadata) {
    case ODATA_NONE:
        return "application/json;odata=nometadata;streaming=true;charset=utf-8";
    case ODATA_MINIMAL:
        return "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";
    case ODATA_FULL:
        break;
    }
    return "application/json;odata=fullmetadata;streaming=true;charset=utf-8";
}

/* --- strings --- */

/* The letter behind the backslash for the characters that have one, or 0. */
static char short_escape(char byte)
{
    switch (byte) {
    case '"':
    case '\\':
        return byte;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

/* How many bytes from `at` on need no escape, eight at a time; fewer than eight are left to be
   looked at one by one. */
static size_t skip_plain(struct slice text, size_t at)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t highs = ones << 7;
    for (; at + 8 <= text.len; at += 8) {
        uint64_t word;
        memcpy(&word, text.data + at, sizeof(word));
        /* Taking so much away from a byte sets its high bit where the byte is what is looked for.
           It may borrow from the byte above, which is then looked at for nothing. */
        const uint64_t quote = word ^ ones * '"';
        const uint64_t backslash = word ^ ones * '\\';
        const uint64_t control = word - ones * 0x20;
        if (((control | (quote - ones) | (backslash - ones)) & ~word & highs) != 0)
            break;
    }
    return at;
}

static void add_escaped(struct strbuf *out, struct slice text)
{
    size_t begin = 0;
    for (size_t i = skip_plain(text, 0); i < text.len; i++) {
        const char byte = text.data[i];
        if ((unsigned char)byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        strbuf_add(out, slice_make(text.data + begin, i - begin));
        begin = i + 1;
        const char letter = short_escape(byte);
        if (letter != 0) {
            strbuf_add_byte(out, '\\');
            strbuf_add_byte(out, letter);
        } else {
            strbuf_printf(out, "\\u%04x", (unsigned)byte);
        }
    }
    strbuf_add(out, slice_from(text, begin));
}

void odata_add_string(struct strbuf *out, struct slice text)
{
    strbuf_add_byte(out, '"');
    add_escaped(out, text);
    strbuf_add_byte(out, '"');
}

/* --- numbers --- */

/* The digits that count, without zeros at their end, and the power of ten of the first. */
struct decimal {
    char digits[18];
    size_t count;
    int exponent;
};

/* The fewest digits that read back as the number; `number` is finite and not negative. */
static struct decimal shortest_decimal(double number)
{
    struct decimal decimal = { 0 };
    char text[32];
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, sizeof(text), "%.*e", precision - 1, number);
        if (strtod(text, NULL) == number)
            break;
    }
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at != '.')
            decimal.digits[decimal.count++] = *at;
    while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0')
        decimal.count--;
    decimal.exponent = (int)strtol(at + 1, NULL, 10);
    return decimal;
}

/* d.dddE+XX */
static size_t put_scientific(const struct decimal *decimal, char *text)
{
    size_t len = 0;
    text[len++] = decimal->digits[0];
    if (decimal->count > 1) {
        text[len++] = '.';
        memcpy(&text[len], &decimal->digits[1], decimal->count - 1);
        len += decimal->count - 1;
    }
    return len + (size_t)snprintf(&text[len], 8, "E%+03d", decimal->exponent);
}

/* 123.45, 0.0012, 500.0 */
static size_t put_positional(const struct decimal *decimal, char *text)
{
    size_t len = 0;
    int power = decimal->exponent;
    if (power < 0) {
        memcpy(text, "0.", 2);
        len = 2;
        for (int zero = -1; zero > power; zero--)
            text[len++] = '0';
    }
    for (size_t i = 0; i < decimal->count || power >= -1; i++, power--) {
        if (power == -1 && decimal->exponent >= 0)
            text[len++] = '.';
        text[len++] = i < decimal->count ? decimal->digits[i] : '0';
    }
    return len;
}

size_t odata_format_double(double number, char text[ODATA_DOUBLE_LEN_MAX + 1])
{
    if (isnan(number) || isinf(number)) {
        const char *const word = isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
        memcpy(text, word, strlen(word) + 1);
        return strlen(word);
    }
    size_t len = 0;
    if (signbit(number))
        text[len++] = '-';
    const struct decimal decimal = shortest_decimal(fabs(number));
    if (decimal.exponent >= 15 || decimal.exponent < -4)
        len += put_scientific(&decimal, &text[len]);
    else
        len += put_positional(&decimal, &text[len]);
    assert(len <= ODATA_DOUBLE_LEN_MAX);
    text[len] = '\0';
    return len;
}

static void add_integer(struct strbuf *out, int64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        digits[--at] = '-';
    strbuf_add(out, slice_make(&digits[at], sizeof(digits) - at));
}

/* --- values --- */

/* Whether the JSON value does not tell the type. */
static bool needs_type(const struct edm_value *value)
{
    switch (value->type) {
    case EDM_STRING:
    case EDM_INT32:
    case EDM_BOOLEAN:
        return false;
    case EDM_DOUBLE:
        return !isfinite(value->real);
    case EDM_INT64:
    case EDM_DATETIME:
    case EDM_GUID:
    case EDM_BINARY:
        break;
    }
    return true;
}

static void add_quoted(struct strbuf *out, const char *plain_text, size_t len)
{
    strbuf_add_byte(out, '"');
    strbuf_add(out, slice_make(plain_text, len));
    strbuf_add_byte(out, '"');
}

static void add_double(struct strbuf *out, double number)
{
    char text[ODATA_DOUBLE_LEN_MAX + 1];
    const size_t len = odata_format_double(number, text);
    if (isfinite(number))
        strbuf_add(out, slice_make(text, len));
    else
        add_quoted(out, text, len);
}

static void add_datetime(struct strbuf *out, int64_t ticks)
{
    char text[EDM_DATETIME_LEN + 1];
    add_quoted(out, text, edm_datetime_format(ticks, text));
}

static void add_guid(struct strbuf *out, const struct uuid *guid)
{
    char text[UUID_TEXT_LEN + 1];
    edm_guid_format(guid, text);
    add_quoted(out, text, UUID_TEXT_LEN);
}

static void add_binary(struct strbuf *out, struct slice bytes)
{
    const size_t len = BASE64_LEN(bytes.len);
    strbuf_add_byte(out, '"');
    strbuf_reserve(out, len + 1);
    base64_encode(bytes, out->data + out->len);
    out->len += len;
    strbuf_add_byte(out, '"');
}

static void add_value(struct strbuf *out, const struct edm_value *value)
{
    switch (value->type) {
    case EDM_STRING:
        odata_add_string(out, value->string);
        return;
    case EDM_INT32:
        add_integer(out, value->int32);
        return;
    case EDM_INT64:
        strbuf_add_byte(out, '"');
        add_integer(out, value->int64);
        strbuf_add_byte(out, '"');
        return;
    case EDM_DOUBLE:
        add_double(out, value->real);
        return;
    case EDM_BOOLEAN:
        strbuf_add_text(out, value->boolean ? "true" : "false");
        return;
    case EDM_DATETIME:
        add_datetime(out, value->datetime_ticks);
        return;
    case EDM_GUID:
        add_guid(out, &value->guid);
        return;
    case EDM_BINARY:
        add_binary(out, value->binary);
        return;
    }
}

/* --- objects --- */

/* An object being written; `is_empty` until it has a member. */
struct object {
    struct strbuf *out;
    bool is_empty;
};

static struct object begin_object(struct strbuf *out)
{
    strbuf_add_byte(out, '{');
    return (struct object){ .out = out, .is_empty = true };
}

static void begin_member(struct object *object, struct slice name, const char *suffix)
{
    strbuf_add_text(object->out, object->is_empty ? "\"" : ",\"");
    object->is_empty = false;
    add_escaped(object->out, name);
    strbuf_add_text(object->out, suffix);
    strbuf_add_text(object->out, "\":");
}

static void add_property(struct object *object, const struct odata_format *format,
                         struct slice name, const struct edm_value *value)
{
    if (format->metadata != ODATA_NONE && needs_type(value)) {
        begin_member(object, name, "@odata.type");
        odata_add_string(object->out, slice_of(edm_type_name(value->type)));
    }
    begin_member(object, name, "");
    add_value(object->out, value);
}

static bool is_selected(const struct odata_format *format, struct slice name)
{
    if (format->selected_count == 0)
        return true;
    for (size_t i = 0; i < format->selected_count; i++)
        if (slice_equal(format->selected[i], name))
            return true;
    return false;
}

/* {endpoint}/$metadata#T/@Element&$select=a,b */
static void add_context(struct object *object, const struct odata_format *format, struct slice set,
                        const char *suffix)
{
    if (format->metadata == ODATA_NONE)
        return;
    struct strbuf *out = object->out;
    begin_member(object, slice_of("odata.metadata"), "");
    strbuf_add_byte(out, '"');
    add_escaped(out, format->endpoint);
    strbuf_add_text(out, "/$metadata#");
    add_escaped(out, set);
    strbuf_add_text(out, suffix);
    if (format->select_text.len > 0) {
        strbuf_add_text(out, "&$select=");
        add_escaped(out, format->select_text);
    }
    strbuf_add_byte(out, '"');
}

/* "{account}.{set}" */
static void add_type(struct object *object, const struct odata_format *format, struct slice set)
{
    begin_member(object, slice_of("odata.type"), "");
    strbuf_add_byte(object->out, '"');
    add_escaped(object->out, format->account);
    strbuf_add_byte(object->out, '.');
    add_escaped(object->out, set);
    strbuf_add_byte(object->out, '"');
}

static void add_etag(struct object *object, int64_t timestamp)
{
    char etag[ODATA_ETAG_LEN_MAX + 1];
    const size_t len = odata_etag_format(timestamp, etag);
    begin_member(object, slice_of("odata.etag"), "");
    odata_add_string(object->out, slice_make(etag, len));
}

/* odata.id with the endpoint before the path, or odata.editLink without.  Paths are
   percent-encoded, so there is nothing in them for JSON to escape. */
static void add_link(struct object *object, const struct odata_format *format,
                     const struct entity *entity, bool is_id)
{
    begin_member(object, slice_of(is_id ? "odata.id" : "odata.editLink"), "");
    strbuf_add_byte(object->out, '"');
    if (is_id) {
        add_escaped(object->out, format->endpoint);
        strbuf_add_byte(object->out, '/');
    }
    odata_path_add_entity(object->out, format->table, entity->partition_key, entity->row_key);
    strbuf_add_byte(object->out, '"');
}

/* The members of an entity behind what the answer itself has. */
static void add_entity_members(struct object *object, const struct odata_format *format,
                               const struct entity *entity)
{
    static const struct slice partition_key = SLICE_LITERAL("PartitionKey");
    static const struct slice row_key = SLICE_LITERAL("RowKey");
    static const struct slice timestamp = SLICE_LITERAL("Timestamp");
    const bool full = format->metadata == ODATA_FULL;
    if (full) {
        add_type(object, format, format->table);
        add_link(object, format, entity, true);
    }
    if (format->metadata != ODATA_NONE)
        add_etag(object, entity->timestamp);
    if (full)
        add_link(object, format, entity, false);

    if (is_selected(format, partition_key)) {
        begin_member(object, partition_key, "");
        odata_add_string(object->out, entity->partition_key);
    }
    if (is_selected(format, row_key)) {
        begin_member(object, row_key, "");
        odata_add_string(object->out, entity->row_key);
    }
    if (is_selected(format, timestamp)) {
        if (full) {
            begin_member(object, timestamp, "@odata.type");
            strbuf_add_text(object->out, "\"Edm.DateTime\"");
        }
        begin_member(object, timestamp, "");
        add_datetime(object->out, edm_datetime_of_clock(entity->timestamp));
    }
    for (size_t i = 0; i < entity->properties.count; i++) {
        const struct edm_property *property = &entity->properties.items[i];
        if (is_selected(format, property->name))
            add_property(object, format, property->name, &property->value);
    }
}

static void add_table_members(struct object *object, const struct odata_format *format,
                              struct slice table)
{
    if (format->metadata == ODATA_FULL) {
        add_type(object, format, slice_of("Tables"));
        begin_member(object, slice_of("odata.id"), "");
        strbuf_add_byte(object->out, '"');
        add_escaped(object->out, format->endpoint);
        strbuf_add_byte(object->out, '/');
        odata_path_add_table(object->out, table);
        strbuf_add_byte(object->out, '"');
        begin_member(object, slice_of("odata.editLink"), "");
        strbuf_add_byte(object->out, '"');
        odata_path_add_table(object->out, table);
        strbuf_add_byte(object->out, '"');
    }
    begin_member(object, slice_of("TableName"), "");
    odata_add_string(object->out, table);
}

/* --- answers --- */

void odata_write_entity(struct strbuf *out, const struct odata_format *format,
                        const struct entity *entity)
{
    struct object object = begin_object(out);
    add_context(&object, format, format->table, "/@Element");
    add_entity_members(&object, format, entity);
    strbuf_add_byte(out, '}');
}

void odata_write_table(struct strbuf *out, const struct odata_format *format, struct slice table)
{
    struct object object = begin_object(out);
    add_context(&object, format, slice_of("Tables"), "/@Element");
    add_table_members(&object, format, table);
    strbuf_add_byte(out, '}');
}

static void begin_page(struct strbuf *out, const struct odata_format *format, struct slice set)
{
    struct object object = begin_object(out);
    add_context(&object, format, set, "");
    begin_member(&object, slice_of("value"), "");
    strbuf_add_byte(out, '[');
}

void odata_begin_entities(struct strbuf *out, const struct odata_format *format)
{
    begin_page(out, format, format->table);
}

void odata_begin_tables(struct strbuf *out, const struct odata_format *format)
{
    begin_page(out, format, slice_of("Tables"));
}

void odata_add_entity(struct strbuf *out, const struct odata_format *format, bool is_first,
                      const struct entity *entity)
{
    if (!is_first)
        strbuf_add_byte(out, ',');
    struct object object = begin_object(out);
    add_entity_members(&object, format, entity);
    strbuf_add_byte(out, '}');
}

void odata_add_table(struct strbuf *out, const struct odata_format *format, bool is_first,
                     struct slice table)
{
    if (!is_first)
        strbuf_add_byte(out, ',');
    struct object object = begin_object(out);
    add_table_members(&object, format, table);
    strbuf_add_byte(out, '}');
}

void odata_end_page(struct strbuf *out)
{
    strbuf_add_text(out, "]}");
}

/* --- errors --- */

void odata_write_error(struct strbuf *out, const char *code, struct slice message,
                       const char *request_id, const char *time)
{
    strbuf_add_text(out, "{\"odata.error\":{\"code\":\"");
    strbuf_add_text(out, code);
    strbuf_add_text(out, "\",\"message\":{\"lang\":\"en-US\",\"value\":\"");
    add_escaped(out, message);
    strbuf_printf(out, "\\nRequestId:%s\\nTime:%s\"}}}", request_id, time);
}

void odata_write_xml_error(struct strbuf *out, const char *code, struct slice message,
                           const char *request_id, const char *time)
{
    strbuf_add_text(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error "
                         "xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/"
                         "metadata\"><m:code>");
    strbuf_add_text(out, code);
    strbuf_add_text(out, "</m:code><m:message xml:lang=\"en-US\">");
    xml_add_escaped(out, message);
    strbuf_printf(out, "\nRequestId:%s\nTime:%s</m:message></m:error>", request_id, time);
}
