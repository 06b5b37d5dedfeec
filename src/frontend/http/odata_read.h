/*
 * odata_read.h - bodies of the table service, from JSON to typed values.
 *
 * An entity is an object of properties.  A property's type is that of its JSON value, unless a
 * member named `<property>@odata.type`, before it or behind, says otherwise:
 *
 *   JSON            without annotation                         with
 *   "text"          Edm.String                                 read as the type's text
 *   true, false     Edm.Boolean                                Edm.Boolean
 *   12              Edm.Int32, or Edm.Double if it is too      Edm.Int32, Edm.Int64, Edm.Double
 *                   large for one
 *   1.5, 1e5        Edm.Double                                 Edm.Double
 *   null            the property is absent                     the same
 *
 * Texts of numbers and booleans are those .NET reads: "12", "-0.5", "NaN", "Infinity", "-Infinity",
 * "true", "False".  An instant, a guid and bytes are texts in the forms of service/table/edm.h.
 *
 * PartitionKey and RowKey are text and stand apart from the properties.  Timestamp and members
 * whose names begin with `odata.` or have an '@' are the service's business and are passed over.
 */
#ifndef FRONTEND_HTTP_ODATA_READ_H
#define FRONTEND_HTTP_ODATA_READ_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/table/edm.h"

struct odata_entity {
    bool has_partition_key;
    bool has_row_key;
    struct slice partition_key;
    struct slice row_key;
    struct edm_properties properties; /* in the order of the body; each name once */
};

/*
 * Read the body of an insert, update or merge.  What is read is in the arena or the body.
 *   ERR_ENTITY_MALFORMED       it is no JSON object, a value is nested, or does not fit its type
 *   ERR_DUPLICATE_PROPERTIES   a name is there twice
 *   ERR_TOO_MANY_PROPERTIES    there are more than LIMIT_ENTITY_PROPERTIES_MAX, not counting those
 *                              that are null
 */
MUST_CHECK enum err odata_read_entity(struct arena *arena, struct slice body,
                                      struct odata_entity *entity);

/*
 * Read the body of Create Table.
 *   ERR_ENTITY_MALFORMED        it is no JSON object, or the name is no text
 *   ERR_DUPLICATE_PROPERTIES    the name is there twice
 *   ERR_PROPERTIES_NEED_VALUE   there is no name
 */
MUST_CHECK enum err odata_read_table(struct arena *arena, struct slice body,
                                     struct slice *table_name);

#endif
