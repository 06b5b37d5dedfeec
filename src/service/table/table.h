/*
 * table.h - tables: what the operations on them mean.
 *
 * A table's record is a row of its account's partition; its entities are in a partition of their
 * own (table_name.h).  Deleting a table removes the row and leaves a note for the sweeper, so it
 * takes the same time whatever the table holds, and the name is free at once.
 *
 * Tables have no ETag: the last writer of an access policy wins.
 */
#ifndef SERVICE_TABLE_TABLE_H
#define SERVICE_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/access_policy.h"
#include "service/service.h"
#include "service/table/filter.h"

/* A table's record. */
struct table {
    uint64_t incarnation; /* the tick it was made at; names its partition */
    struct slice name;    /* as it was given then */
    struct access_policies policies;
};

/* The record's stored form.  Decoded slices point into the row.  ERR_CORRUPT. */
struct slice table_encode(struct arena *arena, const struct table *table);
MUST_CHECK enum err table_decode(struct slice row, struct table *table);

/* Which table, under which name, in any case; it has passed table_name_check. */
struct table_name {
    struct slice account;
    struct slice table;
};

/* --- reads --- */

/* The record, in the arena.  ERR_TABLE_NOT_FOUND. */
MUST_CHECK enum err table_get(struct service *service, struct arena *arena,
                              const struct table_name *name, struct table *table);

/* The partition of a table's entities.  ERR_TABLE_NOT_FOUND. */
MUST_CHECK enum err table_find_entities(struct service *service, struct arena *arena,
                                        const struct table_name *name, struct slice *partition);

struct table_list_request {
    struct slice account;
    const struct filter *filter; /* on TableName; NULL: all */
    struct slice from;           /* the name the page begins with, in any case, or empty */
    size_t results_max;
    /* Called for each table, in the order of names in lower case; false ends the page after it.
       The record is valid during the call. */
    bool (*emit)(void *arg, const struct table *table);
    void *arg;
};

/* `*next` is the name the next page begins with, in the arena; empty when there is none. */
MUST_CHECK enum err table_list(struct service *service, struct arena *arena,
                               const struct table_list_request *request, struct slice *next);

/* --- changes; see service/service.h for their life --- */

struct table_change {
    struct service_change base;
    struct table_name name;
    struct access_policies policies; /* table_set_acl */
};

/* ERR_TABLE_EXISTS */
void table_create(struct service *service, struct table_change *change);

/* Replace all policies.  ERR_TABLE_NOT_FOUND */
void table_set_acl(struct service *service, struct table_change *change);

/* ERR_TABLE_NOT_FOUND */
void table_delete(struct service *service, struct table_change *change);

#endif
