/*
 * odata_write.h - answers of the table service, from typed values to JSON.
 *
 * How much is said beside the data is up to the client (Accept, $format):
 *
 *   ODATA_NONE      the properties alone
 *   ODATA_MINIMAL   odata.metadata of the answer, odata.etag of each entity, and
 *                   `<property>@odata.type` where the JSON value does not tell the type
 *   ODATA_FULL      also odata.type, odata.id and odata.editLink of each entity or table, and the
 *                   type of Timestamp
 *
 * An entity is its PartitionKey, RowKey and Timestamp, and then its properties in their order.
 * Doubles are written as .NET writes them, with the fewest digits that give the same number, and
 * always so that they are no integers: 5.0, 3.1, 1E+300.  NaN and infinities are texts, and then
 * have their type beside them.
 */
#ifndef FRONTEND_HTTP_ODATA_WRITE_H
#define FRONTEND_HTTP_ODATA_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "service/table/edm.h"
#include "service/table/entity.h"

enum odata_metadata {
    ODATA_NONE,
    ODATA_MINIMAL,
    ODATA_FULL,
};

/* What an answer is about, and how it is to be written. */
struct odata_format {
    enum odata_metadata metadata;
    struct slice endpoint; /* http://host:port/account, without a slash at its end */
    struct slice account;
    struct slice table;           /* as the request names it; of entities alone */
    struct slice select_text;     /* $select as it was given; empty: everything */
    const struct slice *selected; /* the names in it */
    size_t selected_count;        /* 0: everything */
};

/*
 * Read $select: names with commas between; one of them may be '*', for everything.
 *   ERR_INVALID_QUERY_PARAMETER   it is no UTF-8, a name is empty, or there are more names than an
 *                                 entity may have
 */
MUST_CHECK enum err odata_select_parse(struct arena *arena, struct slice text,
                                       struct odata_format *format);

/* The Content-Type of JSON at this level. */
const char *odata_content_type(enum odata_metadata metadata);

/* --- whole answers --- */

void odata_write_entity(struct strbuf *out, const struct odata_format *format,
                        const struct entity *entity);
void odata_write_table(struct strbuf *out, const struct odata_format *format, struct slice table);

/* --- pages: begin, each entity or table, end --- */

void odata_begin_entities(struct strbuf *out, const struct odata_format *format);
void odata_begin_tables(struct strbuf *out, const struct odata_format *format);
void odata_add_entity(struct strbuf *out, const struct odata_format *format, bool is_first,
                      const struct entity *entity);
void odata_add_table(struct strbuf *out, const struct odata_format *format, bool is_first,
                     struct slice table);
void odata_end_page(struct strbuf *out);

/* --- pieces --- */

/* "text" with what JSON wants escaped; `text` is UTF-8. */
void odata_add_string(struct strbuf *out, struct slice text);

enum {
    ODATA_DOUBLE_LEN_MAX = 32, /* without the NUL */
};

/* A double as above, without quotes.  Gives the length; a NUL follows. */
size_t odata_format_double(double number, char text[ODATA_DOUBLE_LEN_MAX + 1]);

/*
 * The body of an error:  {"odata.error":{"code":...,"message":{"lang":"en-US","value":...}}}
 * `time` is ISO 8601 with seven digits.
 */
void odata_write_error(struct strbuf *out, const char *code, struct slice message,
                       const char *request_id, const char *time);

/* The same in XML, for what is not about tables and entities: properties and access policies. */
void odata_write_xml_error(struct strbuf *out, const char *code, struct slice message,
                           const char *request_id, const char *time);

#endif
