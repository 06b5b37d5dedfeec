/*
 * entity.h - entities: what the operations on them mean.
 *
 * There is one way to change entities: a group of operations on entities of one PartitionKey, each
 * entity once, that is applied whole or not at all.  An operation that comes alone is a group of
 * one.  Conditions are checked inside the update, so of two writers who hold the same ETag one
 * succeeds.
 *
 *                   the entity is there            it is not
 *   ENTITY_INSERT   ERR_ENTITY_EXISTS              made
 *   ENTITY_REPLACE  replaced                       if any: made; else ERR_RESOURCE_NOT_FOUND
 *   ENTITY_MERGE    properties added or replaced   the same
 *   ENTITY_DELETE   gone                           ERR_RESOURCE_NOT_FOUND
 *
 * "If any" is ENTITY_IF_ANY, the upserts.  ENTITY_IF_EXISTS asks only that the entity is there
 * (If-Match: *), ENTITY_IF_ETAG that it is the one the client has: ERR_UPDATE_CONDITION_NOT_MET.
 *
 * An entity's ETag is its Timestamp: the tick of the change that made it what it is.  Ticks are
 * unique, so an entity never has an ETag twice; all entities of one group have the same.
 *
 * Reading: entity_get, and entity_query, whose page is one consistent state of the whole table.
 */
#ifndef SERVICE_TABLE_ENTITY_H
#define SERVICE_TABLE_ENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/service.h"
#include "service/table/edm.h"
#include "service/table/filter.h"
#include "service/table/plan.h"
#include "service/table/table.h"

/* An entity.  The slices belong to whoever made it. */
struct entity {
    struct slice partition_key;
    struct slice row_key;
    int64_t timestamp;                /* ticks of base/clock.h; also the ETag */
    struct edm_properties properties; /* without PartitionKey, RowKey and Timestamp */
};

/* --- the stored form: entity_row.c --- */

/* Of timestamp and properties; the keys are the row's key. */
struct slice entity_encode(struct arena *arena, const struct entity *entity);

/* Fills timestamp and properties, whose slices point into the row.  ERR_CORRUPT. */
MUST_CHECK enum err entity_decode(struct arena *arena, struct slice row, struct entity *entity);

/* --- limits: entity_check.c --- */

/* The size as the service counts it (strings in UTF-16), against LIMIT_ENTITY_BYTES_MAX. */
size_t entity_size_bytes(const struct entity *entity);

/*
 * Whether an entity may be stored:
 *   ERR_KEY_TOO_LARGE, ERR_OUT_OF_RANGE_INPUT            a key; see entity_key_check
 *   ERR_TOO_MANY_PROPERTIES, ERR_DUPLICATE_PROPERTIES
 *   ERR_PROPERTY_NAME_INVALID, ERR_PROPERTY_NAME_TOO_LONG, ERR_PROPERTY_VALUE_TOO_LARGE
 *   ERR_ENTITY_TOO_LARGE
 */
MUST_CHECK enum err entity_check(const struct entity *entity);

/* --- reads --- */

/* One entity, in the arena.  ERR_TABLE_NOT_FOUND, ERR_RESOURCE_NOT_FOUND. */
MUST_CHECK enum err entity_get(struct service *service, struct arena *arena,
                               const struct table_name *table, struct slice partition_key,
                               struct slice row_key, struct entity *entity);

/* Where a page of a query begins: the first entity with these keys or after them. */
struct entity_position {
    bool present;
    struct slice partition_key;
    struct slice row_key;
};

struct entity_query_request {
    struct table_name table;
    const struct filter *filter; /* NULL: every entity */
    struct plan_window window;   /* what a SAS lets be seen; all NULL: everything */
    struct entity_position from; /* not present: from the first */
    size_t results_max;          /* at least 1 */
    size_t looked_max;           /* entities to look at, at least 1 */
    int64_t time_us;             /* how long to look for; 0: as long as it takes */
    /* Called for each entity, by PartitionKey and RowKey; false ends the page after it.  The
       entity is valid during the call. */
    bool (*emit)(void *arg, const struct entity *entity);
    void *arg;
};

/*
 * A page of the entities that the filter lets through.  `*next` says where the next page begins, in
 * the arena, if there may be one: a page may be empty and yet not the last.  At least one entity is
 * looked at, so every page makes progress.
 *   ERR_TABLE_NOT_FOUND
 */
MUST_CHECK enum err entity_query(struct service *service, struct arena *arena,
                                 const struct entity_query_request *request,
                                 struct entity_position *next);

/* --- changes; see service/service.h for their life --- */

enum entity_action {
    ENTITY_INSERT,
    ENTITY_REPLACE,
    ENTITY_MERGE,
    ENTITY_DELETE,
};

enum entity_condition {
    ENTITY_IF_ANY,    /* not for ENTITY_DELETE */
    ENTITY_IF_EXISTS, /* If-Match: * */
    ENTITY_IF_ETAG,
};

struct entity_operation {
    enum entity_action action;
    enum entity_condition condition; /* of no meaning for ENTITY_INSERT */
    int64_t if_etag;                 /* ENTITY_IF_ETAG */
    struct slice partition_key;
    struct slice row_key;
    struct edm_properties properties; /* not for ENTITY_DELETE */
};

struct entity_change {
    struct service_change base;
    struct table_name table;
    const struct entity_operation *operations; /* kept until done */
    size_t operation_count;                    /* at least 1 */

    /* results */
    int64_t etag;        /* of every entity that was written */
    size_t failed_index; /* on failure: the operation that was refused */
};

/*
 * Apply the operations, all or none.  Of each in its turn, before anything is looked up:
 *   the errors of entity_check; for ENTITY_DELETE those about keys
 *   ERR_GROUP_TOO_LONG, ERR_GROUP_PARTITIONS, ERR_GROUP_DUPLICATE
 * then ERR_TABLE_NOT_FOUND, and of each in its turn the errors of the table above, and for
 * ENTITY_MERGE those of entity_check about the entity it makes.
 */
void entity_apply(struct service *service, struct entity_change *change);

#endif
