/*
 * plan.c - from the tree of a filter to ranges of keys.
 *
 * On the way up the tree, a node's cover is a set of boxes: an interval of partition keys times an
 * interval of row keys.  It holds at least the keys of every entity for which the node can be true,
 * or false if an odd number of `not`s stand above it.  Boxes rather than ranges, because a row key
 * alone says nothing of where a key lies, until an `and` adds the partition.
 *
 *   leaf of a key      one box, two for `ne`; exact
 *   other leaf         everything
 *   or                 the boxes of both sides
 *   and                what each box of one side has in common with each of the other
 *
 * Where an `and` would become too much, the cover of one of its sides is one of the whole.  At the
 * root each box becomes the smallest range around it.
 *
 * Sets are lists, and each is used once: by the node above.  So an `or` costs nothing, and boxes
 * that an `and` has used up serve again.
 */
#include "service/table/plan.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "service/limits.h"
#include "service/table/filter_internal.h"

enum {
    /* Pairs of boxes that all `and`s of a filter may look at: some milliseconds. */
    PAIRS_MAX = 32 * 1024,
};

/* --- one dimension --- */

enum cut_side {
    CUT_BEFORE,
    CUT_AFTER,
    CUT_END, /* behind every key; `key` is empty */
};

/* A place between strings. */
struct cut {
    enum cut_side side;
    struct slice key;
};

/* The strings between two cuts. */
struct interval {
    struct cut from;
    struct cut to;
};

static int cut_compare(const struct cut *a, const struct cut *b)
{
    if (a->side == CUT_END || b->side == CUT_END)
        return (a->side == CUT_END) - (b->side == CUT_END);
    const int order = slice_compare(a->key, b->key);
    return order != 0 ? order : (int)a->side - (int)b->side;
}

static struct cut cut_earlier(struct cut a, struct cut b)
{
    return cut_compare(&a, &b) <= 0 ? a : b;
}

static struct cut cut_later(struct cut a, struct cut b)
{
    return cut_compare(&a, &b) >= 0 ? a : b;
}

static const struct cut cut_start = { .side = CUT_BEFORE };
static const struct cut cut_end = { .side = CUT_END };

static bool interval_is_empty(const struct interval *interval)
{
    return cut_compare(&interval->from, &interval->to) >= 0;
}

static struct interval interval_common(const struct interval *a, const struct interval *b)
{
    return (struct interval){ cut_later(a->from, b->from), cut_earlier(a->to, b->to) };
}

static struct interval interval_around(const struct interval *a, const struct interval *b)
{
    return (struct interval){ cut_earlier(a->from, b->from), cut_later(a->to, b->to) };
}

/*
 * A cut at a partition key.  No partition has a key with a 00, so such a literal lies between two
 * possible keys: behind the one it begins with.  To say so keeps the order of pairs that of stored
 * keys, where a 00 ends the partition key.
 */
static struct cut cut_at_partition(struct slice pk, enum cut_side side)
{
    const size_t len = slice_find_byte(pk, '\0');
    return (struct cut){ .side = len < pk.len ? CUT_AFTER : side, .key = slice_head(pk, len) };
}

/* --- two dimensions --- */

struct box {
    struct interval pk;
    struct interval rk;
    struct box *next;
};

/* All zero is the empty set. */
struct box_set {
    struct box *first;
    struct box *last;
    size_t count;
};

struct planner {
    struct arena *arena;
    struct box *spare;
    size_t pair_count;
};

static const struct interval everything = { { .side = CUT_BEFORE }, { .side = CUT_END } };

static void set_add(struct planner *planner, struct box_set *set, struct interval pk,
                    struct interval rk)
{
    if (interval_is_empty(&pk) || interval_is_empty(&rk))
        return;
    struct box *box = planner->spare;
    if (box != NULL)
        planner->spare = box->next;
    else
        box = arena_alloc(planner->arena, sizeof(*box));
    *box = (struct box){ .pk = pk, .rk = rk };
    if (set->last == NULL)
        set->first = box;
    else
        set->last->next = box;
    set->last = box;
    set->count++;
}

static void set_discard(struct planner *planner, struct box_set *set)
{
    if (set->last != NULL) {
        set->last->next = planner->spare;
        planner->spare = set->first;
    }
    *set = (struct box_set){ 0 };
}

static struct box_set set_everything(struct planner *planner)
{
    struct box_set set = { 0 };
    set_add(planner, &set, everything, everything);
    return set;
}

static int compare_boxes(const void *a, const void *b)
{
    const struct box *left = *(struct box *const *)a;
    const struct box *right = *(struct box *const *)b;
    const int order = cut_compare(&left->pk.from, &right->pk.from);
    return order != 0 ? order : cut_compare(&left->rk.from, &right->rk.from);
}

/* Half as many boxes, each around two that are neighbours in the order of keys. */
static void set_coarsen(struct planner *planner, struct box_set *set)
{
    const size_t count = set->count;
    struct box **boxes = arena_alloc(planner->arena, count * sizeof(boxes[0]));
    size_t at = 0;
    for (struct box *box = set->first; box != NULL; box = box->next)
        boxes[at++] = box;
    assert(at == count);
    qsort(boxes, count, sizeof(boxes[0]), compare_boxes);

    struct box_set coarse = { 0 };
    for (size_t i = 0; i < count; i += 2) {
        const struct box *box = boxes[i];
        const struct box *neighbour = boxes[i + 1 < count ? i + 1 : i];
        set_add(planner, &coarse, interval_around(&box->pk, &neighbour->pk),
                interval_around(&box->rk, &neighbour->rk));
    }
    set_discard(planner, set);
    *set = coarse;
}

/* Whether an interval leaves nothing out. */
static bool interval_is_open(const struct interval *interval)
{
    return interval->to.side == CUT_END && cut_compare(&interval->from, &cut_start) == 0;
}

/* Whether it is the set that most leaves have. */
static bool set_is_everything(const struct box_set *set)
{
    return set->count == 1 && interval_is_open(&set->first->pk) &&
           interval_is_open(&set->first->rk);
}

static struct box_set set_either(struct planner *planner, struct box_set a, struct box_set b)
{
    if (a.count == 0 || set_is_everything(&b)) {
        set_discard(planner, &a);
        return b;
    }
    if (b.count == 0 || set_is_everything(&a)) {
        set_discard(planner, &b);
        return a;
    }
    a.last->next = b.first;
    struct box_set set = { .first = a.first, .last = b.last, .count = a.count + b.count };
    if (set.count > LIMIT_PLAN_RANGES)
        set_coarsen(planner, &set);
    return set;
}

/* Whether some box spans all partitions, so that the set is no help in finding them. */
static bool set_is_open(const struct box_set *set)
{
    for (const struct box *box = set->first; box != NULL; box = box->next) {
        if (interval_is_open(&box->pk))
            return true;
    }
    return false;
}

/* False if it is too much; then `common` is to be discarded. */
static bool set_intersect(struct planner *planner, const struct box_set *a, const struct box_set *b,
                          struct box_set *common)
{
    if (a->count * b->count > PAIRS_MAX - planner->pair_count)
        return false;
    planner->pair_count += a->count * b->count;
    for (const struct box *left = a->first; left != NULL; left = left->next) {
        for (const struct box *right = b->first; right != NULL; right = right->next) {
            set_add(planner, common, interval_common(&left->pk, &right->pk),
                    interval_common(&left->rk, &right->rk));
            if (common->count > LIMIT_PLAN_RANGES)
                return false;
        }
    }
    return true;
}

static struct box_set set_both(struct planner *planner, struct box_set a, struct box_set b)
{
    if (set_is_everything(&a)) {
        set_discard(planner, &a);
        return b;
    }
    if (set_is_everything(&b)) {
        set_discard(planner, &b);
        return a;
    }
    struct box_set common = { 0 };
    if (set_intersect(planner, &a, &b, &common)) {
        set_discard(planner, &a);
        set_discard(planner, &b);
        return common;
    }
    set_discard(planner, &common);
    const bool a_is_open = set_is_open(&a);
    const bool a_is_better = a_is_open == set_is_open(&b) ? a.count <= b.count : !a_is_open;
    set_discard(planner, a_is_better ? &b : &a);
    return a_is_better ? a : b;
}

/* --- the tree --- */

/* The relation that holds between strings exactly when the other does not. */
static enum filter_relation opposite(enum filter_relation relation)
{
    switch (relation) {
    case FILTER_EQ:
        return FILTER_NE;
    case FILTER_NE:
        return FILTER_EQ;
    case FILTER_GT:
        return FILTER_LE;
    case FILTER_GE:
        return FILTER_LT;
    case FILTER_LT:
        return FILTER_GE;
    case FILTER_LE:
        return FILTER_GT;
    }
    assert(false);
    return relation;
}

/* The strings in a relation to the one between `before` and `after`; gives how many intervals. */
static size_t intervals_of(enum filter_relation relation, struct cut before, struct cut after,
                           struct interval intervals[2])
{
    const struct interval less = { cut_start, before };
    const struct interval greater = { after, cut_end };
    switch (relation) {
    case FILTER_EQ:
        intervals[0] = (struct interval){ before, after };
        return 1;
    case FILTER_NE:
        intervals[0] = less;
        intervals[1] = greater;
        return 2;
    case FILTER_GT:
        intervals[0] = greater;
        return 1;
    case FILTER_GE:
        intervals[0] = (struct interval){ before, cut_end };
        return 1;
    case FILTER_LT:
        intervals[0] = less;
        return 1;
    case FILTER_LE:
        intervals[0] = (struct interval){ cut_start, after };
        return 1;
    }
    assert(false);
    return 0;
}

static struct box_set cover_key(struct planner *planner, const struct filter_node *leaf,
                                bool negated)
{
    const enum filter_relation relation = negated ? opposite(leaf->relation) : leaf->relation;
    const struct slice key = leaf->value.string;
    const bool is_partition = slice_is(leaf->property, "PartitionKey");
    struct cut before = { .side = CUT_BEFORE, .key = key };
    struct cut after = { .side = CUT_AFTER, .key = key };
    if (is_partition) {
        before = cut_at_partition(key, CUT_BEFORE);
        after = cut_at_partition(key, CUT_AFTER);
    }

    struct interval intervals[2];
    const size_t count = intervals_of(relation, before, after, intervals);
    struct box_set set = { 0 };
    for (size_t i = 0; i < count; i++) {
        set_add(planner, &set, is_partition ? intervals[i] : everything,
                is_partition ? everything : intervals[i]);
    }
    return set;
}

static bool is_key(struct slice property)
{
    return slice_is(property, "PartitionKey") || slice_is(property, "RowKey");
}

static struct box_set cover_leaf(struct planner *planner, const struct filter_node *leaf,
                                 bool negated)
{
    if (leaf->type == FILTER_CONSTANT)
        return leaf->value.boolean != negated ? set_everything(planner) : (struct box_set){ 0 };
    if (!is_key(leaf->property))
        return set_everything(planner);
    /* Keys are strings and always there: compared with another type, or taken for a Boolean, they
       never hold. */
    if (leaf->type == FILTER_TRUTH || leaf->value.type != EDM_STRING)
        return negated ? set_everything(planner) : (struct box_set){ 0 };
    return cover_key(planner, leaf, negated);
}

/* Whether an odd number of `not`s stand above each node. */
static bool *find_negated(struct arena *arena, const struct filter *filter)
{
    bool *negated = arena_alloc(arena, (size_t)filter->count * sizeof(negated[0]));
    for (int32_t i = filter->count - 1; i >= 0; i--) {
        const struct filter_node *node = &filter->nodes[i];
        switch (node->type) {
        case FILTER_NOT:
            negated[node->left] = !negated[i];
            break;
        case FILTER_AND:
        case FILTER_OR:
            negated[node->left] = negated[i];
            negated[node->right] = negated[i];
            break;
        case FILTER_COMPARISON:
        case FILTER_TRUTH:
        case FILTER_CONSTANT:
            break;
        }
    }
    return negated;
}

static struct box_set cover_filter(struct planner *planner, const struct filter *filter)
{
    if (filter == NULL || filter->count == 0)
        return set_everything(planner);
    const bool *negated = find_negated(planner->arena, filter);
    struct box_set *covers = arena_alloc(planner->arena, (size_t)filter->count * sizeof(covers[0]));
    for (int32_t i = 0; i < filter->count; i++) {
        const struct filter_node *node = &filter->nodes[i];
        switch (node->type) {
        case FILTER_COMPARISON:
        case FILTER_TRUTH:
        case FILTER_CONSTANT:
            covers[i] = cover_leaf(planner, node, negated[i]);
            break;
        case FILTER_NOT:
            covers[i] = covers[node->left];
            break;
        case FILTER_AND:
        case FILTER_OR:
            /* Under a `not`, each is the other. */
            covers[i] = (node->type == FILTER_AND) != negated[i]
                            ? set_both(planner, covers[node->left], covers[node->right])
                            : set_either(planner, covers[node->left], covers[node->right]);
            break;
        }
    }
    return covers[filter->count - 1];
}

/* --- ranges --- */

int plan_bound_compare(const struct plan_bound *a, const struct plan_bound *b)
{
    if (a->edge == PLAN_TABLE_END || b->edge == PLAN_TABLE_END)
        return (a->edge == PLAN_TABLE_END) - (b->edge == PLAN_TABLE_END);
    const int partition_order = slice_compare(a->pk, b->pk);
    if (partition_order != 0)
        return partition_order;
    if (a->edge == PLAN_PARTITION_END || b->edge == PLAN_PARTITION_END)
        return (a->edge == PLAN_PARTITION_END) - (b->edge == PLAN_PARTITION_END);
    const int row_order = slice_compare(a->rk, b->rk);
    return row_order != 0 ? row_order : (int)a->edge - (int)b->edge;
}

/* A cut of the row keys of a partition. */
static struct plan_bound bound_in_partition(struct slice pk, const struct cut *rk)
{
    switch (rk->side) {
    case CUT_BEFORE:
        return (struct plan_bound){ .edge = PLAN_BEFORE, .pk = pk, .rk = rk->key };
    case CUT_AFTER:
        return (struct plan_bound){ .edge = PLAN_AFTER, .pk = pk, .rk = rk->key };
    case CUT_END:
        break;
    }
    return (struct plan_bound){ .edge = PLAN_PARTITION_END, .pk = pk };
}

static struct plan_bound box_from(const struct box *box)
{
    assert(box->pk.from.side != CUT_END);
    /* The partition of the cut is in the box: its first rows may not be. */
    if (box->pk.from.side == CUT_BEFORE)
        return bound_in_partition(box->pk.from.key, &box->rk.from);
    return (struct plan_bound){ .edge = PLAN_PARTITION_END, .pk = box->pk.from.key };
}

static struct plan_bound box_to(const struct box *box)
{
    switch (box->pk.to.side) {
    case CUT_AFTER:
        return bound_in_partition(box->pk.to.key, &box->rk.to);
    case CUT_BEFORE:
        return (struct plan_bound){ .edge = PLAN_BEFORE, .pk = box->pk.to.key };
    case CUT_END:
        break;
    }
    return (struct plan_bound){ .edge = PLAN_TABLE_END };
}

static int compare_ranges(const void *a, const void *b)
{
    const struct plan_range *left = a;
    const struct plan_range *right = b;
    return plan_bound_compare(&left->from, &right->from);
}

/* Join ranges, which are in the order of their beginnings, where they meet or overlap. */
static void plan_join(struct plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_range *range = &plan->ranges[i];
        struct plan_range *last = count > 0 ? &plan->ranges[count - 1] : NULL;
        if (last == NULL || plan_bound_compare(&range->from, &last->to) > 0)
            plan->ranges[count++] = *range;
        else if (plan_bound_compare(&range->to, &last->to) > 0)
            last->to = range->to;
    }
    plan->count = count;
}

static void plan_assert(const struct plan *plan)
{
    assert(plan->count <= LIMIT_PLAN_RANGES);
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_range *range = &plan->ranges[i];
        assert(plan_bound_compare(&range->from, &range->to) < 0);
        assert(i == 0 || plan_bound_compare(&plan->ranges[i - 1].to, &range->from) < 0);
    }
}

void plan_build(struct arena *arena, const struct filter *filter, struct plan *plan)
{
    struct planner planner = { .arena = arena };
    const struct box_set cover = cover_filter(&planner, filter);
    assert(cover.count <= LIMIT_PLAN_RANGES);
    *plan = (struct plan){
        .ranges = arena_alloc(arena, cover.count * sizeof(plan->ranges[0])),
    };
    for (const struct box *box = cover.first; box != NULL; box = box->next) {
        const struct plan_range range = { box_from(box), box_to(box) };
        /* A box without one key in it, such as what lies behind 'a' and before 'a', can end before
           it begins. */
        if (plan_bound_compare(&range.from, &range.to) < 0)
            plan->ranges[plan->count++] = range;
    }
    qsort(plan->ranges, plan->count, sizeof(plan->ranges[0]), compare_ranges);
    plan_join(plan);
    plan_assert(plan);
}

/* --- windows --- */

static struct plan_bound window_from(const struct plan_window *window)
{
    if (window->first_pk == NULL)
        return (struct plan_bound){ .edge = PLAN_BEFORE };
    const struct cut pk = cut_at_partition(*window->first_pk, CUT_BEFORE);
    if (pk.side == CUT_AFTER)
        return (struct plan_bound){ .edge = PLAN_PARTITION_END, .pk = pk.key };
    const struct slice rk = window->first_rk != NULL ? *window->first_rk : (struct slice){ 0 };
    return (struct plan_bound){ .edge = PLAN_BEFORE, .pk = pk.key, .rk = rk };
}

static struct plan_bound window_to(const struct plan_window *window)
{
    if (window->last_pk == NULL)
        return (struct plan_bound){ .edge = PLAN_TABLE_END };
    const struct cut pk = cut_at_partition(*window->last_pk, CUT_AFTER);
    if (window->last_rk == NULL || pk.key.len < window->last_pk->len)
        return (struct plan_bound){ .edge = PLAN_PARTITION_END, .pk = pk.key };
    return (struct plan_bound){ .edge = PLAN_AFTER, .pk = pk.key, .rk = *window->last_rk };
}

void plan_restrict(struct plan *plan, const struct plan_window *window)
{
    const struct plan_bound from = window_from(window);
    const struct plan_bound to = window_to(window);
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_range range = plan->ranges[i];
        if (plan_bound_compare(&range.from, &from) < 0)
            range.from = from;
        if (plan_bound_compare(&range.to, &to) > 0)
            range.to = to;
        if (plan_bound_compare(&range.from, &range.to) < 0)
            plan->ranges[count++] = range;
    }
    plan->count = count;
    plan_assert(plan);
}

/* Whether a key lies between two bounds. */
static bool holds_key(const struct plan_bound *from, const struct plan_bound *to, struct slice pk,
                      struct slice rk)
{
    const struct plan_bound key = { .edge = PLAN_BEFORE, .pk = pk, .rk = rk };
    return plan_bound_compare(from, &key) <= 0 && plan_bound_compare(&key, to) < 0;
}

bool plan_contains(const struct plan *plan, struct slice pk, struct slice rk)
{
    /* The first range that ends behind the key. */
    const struct plan_bound key = { .edge = PLAN_BEFORE, .pk = pk, .rk = rk };
    size_t low = 0;
    size_t high = plan->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (plan_bound_compare(&plan->ranges[middle].to, &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->count && holds_key(&plan->ranges[low].from, &plan->ranges[low].to, pk, rk);
}

bool plan_window_contains(const struct plan_window *window, struct slice pk, struct slice rk)
{
    const struct plan_bound from = window_from(window);
    const struct plan_bound to = window_to(window);
    return holds_key(&from, &to, pk, rk);
}

bool plan_range_is_point(const struct plan_range *range)
{
    return range->from.edge == PLAN_BEFORE && range->to.edge == PLAN_AFTER &&
           slice_equal(range->from.pk, range->to.pk) && slice_equal(range->from.rk, range->to.rk);
}

bool plan_range_is_within_partition(const struct plan_range *range)
{
    if (range->from.edge == PLAN_PARTITION_END || range->to.edge == PLAN_TABLE_END)
        return false;
    return slice_equal(range->from.pk, range->to.pk);
}
