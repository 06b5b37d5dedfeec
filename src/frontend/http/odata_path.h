/*
 * odata_path.h - the resource paths of the table service, both ways.
 *
 *   (nothing)                              the service
 *   Tables  Tables()                       the list of tables
 *   Tables('T')  Tables(TableName='T')     one table of it
 *   T  T()                                 the entities of a table
 *   T(PartitionKey='a',RowKey='b')         one entity; the keys in either order
 *   $batch                                 a batch of changes
 *
 * A path is percent-decoded first and then taken apart, so that quotes and commas may be written
 * either way.  A quote in a key is doubled.  Spaces around names, keys and signs are passed over.
 */
#ifndef FRONTEND_HTTP_ODATA_PATH_H
#define FRONTEND_HTTP_ODATA_PATH_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum odata_resource {
    ODATA_SERVICE,
    ODATA_TABLES,
    ODATA_TABLE,
    ODATA_ENTITIES,
    ODATA_ENTITY,
    ODATA_BATCH,
};

struct odata_path {
    enum odata_resource resource;
    struct slice table;         /* ODATA_TABLE, ODATA_ENTITIES, ODATA_ENTITY; not yet checked */
    struct slice partition_key; /* ODATA_ENTITY; may be empty */
    struct slice row_key;
};

/*
 * Take a path apart that is still percent-encoded and has no leading slash.
 *   ERR_INVALID_URI   an escape is malformed, what it decodes to is no UTF-8, or the path is none
 *                     of the above
 */
MUST_CHECK enum err odata_path_parse(struct arena *arena, struct slice text,
                                     struct odata_path *path);

/* T(PartitionKey='a',RowKey='b'), percent-encoded but for its signs. */
void odata_path_add_entity(struct strbuf *out, struct slice table, struct slice partition_key,
                           struct slice row_key);

/* Tables('T') */
void odata_path_add_table(struct strbuf *out, struct slice table);

#endif
