/*
 * plan.h - which keys a query has to look at.
 *
 * A plan is a list of key ranges, ordered and disjoint, that hold every entity the filter can
 * match; the scan evaluates the filter on what it finds in them, so the plan is only about cost.
 * It is exact for what the keys can tell of the usual queries: a point, a partition, a range or a
 * prefix of row keys within a partition, a range of partitions, and any `or` of these.  Beyond
 * LIMIT_PLAN_RANGES neighbours are merged.
 *
 * Keys are pairs (PartitionKey, RowKey) in the byte order of  PK 00 RK , in which entities are
 * stored; no PartitionKey contains a 00.  A bound is a place between keys:
 *
 *   edge                 it is right                          in stored keys
 *   PLAN_BEFORE          before the key (pk, rk)              PK 00 RK
 *   PLAN_AFTER           behind the key (pk, rk)              PK 00 RK 00
 *   PLAN_PARTITION_END   behind all keys of the partition pk  PK 01
 *   PLAN_TABLE_END       behind all keys of the table
 *
 * A range is what lies between two bounds.  The table begins with the bound before ("", "").
 *
 * Restricting a plan serves the key range of a SAS and a continuation token alike: a query that
 * resumes at a key is one whose window begins there.
 *
 * Pure: no I/O, no clock.
 */
#ifndef SERVICE_TABLE_PLAN_H
#define SERVICE_TABLE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/slice.h"
#include "service/table/filter.h"

enum plan_edge {
    PLAN_BEFORE,
    PLAN_AFTER,
    PLAN_PARTITION_END,
    PLAN_TABLE_END,
};

/* A value; the bytes are the filter's or the window's. */
struct plan_bound {
    enum plan_edge edge;
    struct slice pk; /* all but PLAN_TABLE_END */
    struct slice rk; /* PLAN_BEFORE and PLAN_AFTER */
};

struct plan_range {
    struct plan_bound from;
    struct plan_bound to; /* behind `from` */
};

struct plan {
    size_t count; /* 0: nothing can match */
    struct plan_range *ranges;
};

/*
 * The first and the last key that may be seen, NULL where it is open: spk, srk, epk and erk of a
 * SAS.  A row key without its partition key means nothing and is ignored.  A partition key without
 * a row key has the whole partition inside.
 */
struct plan_window {
    const struct slice *first_pk;
    const struct slice *first_rk;
    const struct slice *last_pk;
    const struct slice *last_rk;
};

/* The plan of a filter, NULL for none; in the arena, and the filter is kept. */
void plan_build(struct arena *arena, const struct filter *filter, struct plan *plan);

/* Leave out what is not in the window; its bytes are kept. */
void plan_restrict(struct plan *plan, const struct plan_window *window);

/* Whether a key is in one of the ranges. */
bool plan_contains(const struct plan *plan, struct slice pk, struct slice rk);

/* Whether a key is in the window, which is what a write with such a SAS is asked. */
bool plan_window_contains(const struct plan_window *window, struct slice pk, struct slice rk);

/* Negative, zero or positive as `a` lies before, at or behind `b`. */
int plan_bound_compare(const struct plan_bound *a, const struct plan_bound *b);

/* Whether the range is of one key, (from.pk, from.rk), which can be got instead of scanned for. */
bool plan_range_is_point(const struct plan_range *range);

/* Whether the range is of keys of one partition, from.pk. */
bool plan_range_is_within_partition(const struct plan_range *range);

#endif
