/*
 * overlay.h - a list of pages that is laid over another.
 *
 * A list that several records name is not changed (page_map.h).  Whoever is to change it gets a
 * list of its own, and so that this takes the same time whatever the list holds, a long one is not
 * copied: the new list begins as one link to all of the old one.  Writing cuts into the link as it
 * cuts into any entry, so what was written lies over what is seen through the links that are left.
 *
 *   'l' content id  ->  ROW_OVERLAY: the list below; how far this one was made flat
 *
 * The row stands for one name of the list below, which is counted with the records that name it
 * (segments.h) and given up with the row: when the list is removed, or has no links any more.  All
 * links of a list lead to the same one below.
 *
 * Lists can lie over each other several deep, and a list that only links name keeps payloads which
 * nobody can see.  Both ends when the sweeper makes a list flat: it replaces links by what they
 * lead to, a few entries at a time.  That does not change what the list says, so it may be shared,
 * written and lain over meanwhile.  A list is made flat if it lies deep, or if it is the last that
 * has a use for the one below.  A partition of blobs is marked for as long as it has 'l' rows.
 *
 * Functions that take a `struct change` are for decisions.
 */
#ifndef SERVICE_BLOB_OVERLAY_H
#define SERVICE_BLOB_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/payload.h"

enum {
    /* Lists of up to so many rows are copied, which costs less than a further level. */
    OVERLAY_ROWS_COPIED = 32,
    /* A list that would have so many below it, none of which is being made flat, is made so. */
    OVERLAY_DEPTH_FLATTENED = 8,
    /* Entries looked at in one step of making a list flat. */
    OVERLAY_STEP_ENTRIES = 128,
};

/* What an 'l' row says. */
struct overlay {
    uint64_t base;     /* the content below */
    bool is_deep;      /* it is made flat in any case */
    uint64_t flat_end; /* there are no links before this offset */
};

/* ERR_CORRUPT; the key's form, too. */
MUST_CHECK enum err overlay_decode(struct slice key, struct slice row, uint64_t *content_id,
                                   struct overlay *overlay);

/*
 * Give a record's content a list of its own, with the same entries.
 *   ERR_BUSY   LIMIT_OVERLAY_DEPTH lists would lie over each other: the sweeper has to come first
 */
MUST_CHECK enum err overlay_unshare(struct change *change, struct content *content);

/* The same without ever copying an entry: for a list of which much is to be cut away. */
MUST_CHECK enum err overlay_cover(struct change *change, struct content *content);

/* The list was removed, or has no links any more: give up the name of what was below it. */
MUST_CHECK enum err overlay_end(struct change *change, uint64_t content_id);

/* Whether the list of an 'l' row is to be made flat, as a view has it.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err overlay_is_due(struct partition_view *view, struct arena *arena,
                                   struct slice key, struct slice row, bool *is_due);

/* Make a list flat, if it is to be, a few entries further.  `*done` says that there is nothing to
   do any more. */
MUST_CHECK enum err overlay_flatten(struct change *change, uint64_t content_id, bool *done);

#endif
