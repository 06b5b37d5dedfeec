/*
 * account_partition.h - the rows of an account's partition: what the account has, by name.
 *
 *   'A' account
 *       'c' container name      container record
 *       'q' queue name          queue record
 *       't' table name          table record; the name in lower case
 *       's', 'd', 'S'           shares, deleted ones and snapshots: see file/file_name.h
 *       'g' incarnation (8)     a deleted container, queue, table or share that is to be reclaimed
 *       'g' taken (8)           the same of a snapshot of a share
 *       'p' service             properties of a service: 'b', 'q', 't' or 'f'
 *
 * A named resource is kept in two places: its record here, and all it holds in a partition that is
 * named by the record's incarnation, the tick at which the resource was made.  Deleting it removes
 * the record and leaves a 'g' row, in one change: it takes the same time whatever the resource
 * holds, the name is free at once, and a new resource of that name is another incarnation, so the
 * two never share a row.  The sweeper (sweeper.h) closes the partition and empties it.
 */
#ifndef SERVICE_ACCOUNT_PARTITION_H
#define SERVICE_ACCOUNT_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/service.h"

/* The number is stored in 'g' rows. */
enum resource_kind {
    RESOURCE_CONTAINER = 0,
    RESOURCE_QUEUE = 1,
    RESOURCE_TABLE = 2,
    RESOURCE_SHARE = 3,
    RESOURCE_SHARE_SNAPSHOT = 4, /* only in 'g' rows */
};

/*
 * The naming rules that containers, queues and shares have in common: lower-case letters, digits,
 * and single dashes between them.
 *   ERR_RESOURCE_NAME_LENGTH    too short or too long
 *   ERR_INVALID_RESOURCE_NAME   a character or a dash where it may not be
 */
MUST_CHECK enum err resource_name_check(struct slice name);

/* Partition ids and keys, made in the arena. */
struct slice account_partition(struct arena *arena, struct slice account);
struct slice resource_key(struct arena *arena, enum resource_kind kind, struct slice name);
struct slice service_properties_key(struct arena *arena, char letter);

/*
 * The partition of what a resource holds: `letter` ('B', 'Q', 'T', 'F'), incarnation, shard (2).
 * Every resource has one shard, 0; the number is there so that resources can be split without a
 * new layout.
 */
struct slice resource_partition(struct arena *arena, char letter, uint64_t incarnation);

bool is_account_partition(struct slice partition);

/* --- deleted resources --- */

/* Within a change of the account's partition: note that the incarnation is to be reclaimed. */
void garbage_put(struct change *change, enum resource_kind kind, uint64_t incarnation);

/* The same for the snapshot of a share that was taken at that instant. */
void garbage_put_snapshot(struct change *change, uint64_t incarnation, int64_t taken);

struct garbage {
    enum resource_kind kind;
    uint64_t incarnation;
    int64_t taken; /* of a snapshot; else 0 */
};

/* What a 'g' row says.  ERR_CORRUPT. */
MUST_CHECK enum err garbage_decode(struct slice key, struct slice row, struct garbage *garbage);

/* The prefix of all their keys. */
struct slice garbage_prefix(void);

/*
 * A partition whose resource is deleted is closed by a row of its own, so that a change that looked
 * the resource up just before finds it gone.  Every partition of a resource has this key.
 */
struct slice closed_key(void);
void partition_set_closed(struct change *change);

/* --- listing --- */

struct resource_list_request {
    struct slice account;
    enum resource_kind kind;
    struct slice prefix;
    struct slice from; /* the first name to list, or empty */
    size_t results_max;
    /*
     * Called for each record in the order of names; both slices are valid during the call, `arena`
     * is emptied after it.  `*more` is true; false ends the page after this one.  An error ends the
     * listing.
     */
    enum err (*emit)(void *arg, struct arena *arena, struct slice name, struct slice row,
                     bool *more);
    void *arg;
};

/* `*next` is the name the next page begins with, in the arena; empty when there is none. */
MUST_CHECK enum err resource_list(struct service *service, struct arena *arena,
                                  const struct resource_list_request *request, struct slice *next);

#endif
