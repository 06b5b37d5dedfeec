/*
 * repair.h - what a check of a store (blob/fsck.h) would write to set right what it found.
 *
 * Facts are stored once, and what is derived from them beside them: indexes, counts, owners, marks.
 * A finding is repaired by deriving again.  The facts themselves, records and payloads, are never
 * changed, invented or removed: what is wrong with them is for people to decide.
 *
 * Each repair is of one finding.  Some take away what nothing names, or count what is there.  That
 * is only right if all that names anything, or counts, can be read: when a single finding of a
 * store has no repair, what is missing there may be what they overlook, and they are not made
 * (repair_list_settle).
 */
#ifndef SERVICE_REPAIR_H
#define SERVICE_REPAIR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "partition/partition.h"

/* All zero bytes plus an arena is a valid empty list. */
struct repair_list {
    struct arena *arena; /* of all that is in it */
    struct partition_repair *items;
    size_t count;
    size_t capacity;
};

/* Copies what it is given.  A NULL list takes nothing: somebody only looks. */
void repair_add(struct repair_list *list, const struct partition_repair *repair);

/* A row of a single number, as many derived rows are.  In the arena. */
struct slice repair_number_row(struct arena *arena, uint64_t number);

/* All is there, and it was found in `finding_count` findings: leave out what must not be done.
   Returns how many are left out. */
size_t repair_list_settle(struct repair_list *list, uint64_t finding_count);

#endif
