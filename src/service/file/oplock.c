#include "service/file/oplock.h"

#include <assert.h>
#include <stddef.h>

#include "base/clock.h"
#include "service/limits.h"

/* What each cause takes away, and what it has to wait for if it is held. */
struct rule {
    unsigned clears;        /* the oplock is broken if it has one of these, and loses them all */
    unsigned legacy_clears; /* what a legacy oplock loses then */
    unsigned waits_for;
    bool also_own_level_ii;
};

static const struct rule RULES[] = {
    [OPLOCK_BY_NOTHING] = { 0, 0, 0, false },
    [OPLOCK_BY_READ] = { CACHING_W, CACHING_W | CACHING_H, CACHING_W, false },
    [OPLOCK_BY_WRITE] = { CACHING_RWH, CACHING_RWH, CACHING_W, true },
    [OPLOCK_BY_OPEN] = { CACHING_W, CACHING_W | CACHING_H, CACHING_W, false },
    [OPLOCK_BY_OVERWRITE] = { CACHING_RWH, CACHING_RWH, CACHING_W, false },
    [OPLOCK_BY_CONFLICT] = { CACHING_H, CACHING_W | CACHING_H, CACHING_H, false },
    [OPLOCK_BY_DELETE] = { CACHING_H, CACHING_W | CACHING_H, CACHING_H, false },
    [OPLOCK_BY_RENAME] = { CACHING_H, CACHING_RWH, CACHING_H, false },
    [OPLOCK_BY_REPLACE] = { CACHING_RWH, CACHING_RWH, CACHING_W | CACHING_H, false },
};

static const struct rule *rule_of(enum oplock_cause cause)
{
    assert((size_t)cause < sizeof(RULES) / sizeof(RULES[0]));
    return &RULES[cause];
}

static bool is_state(unsigned caching)
{
    return caching == CACHING_NONE || ((caching & CACHING_R) != 0 && caching <= CACHING_RWH);
}

static bool is_legacy_state(unsigned caching)
{
    return is_state(caching) && caching != CACHING_RH;
}

/* The facts that hold between calls. */
static void oplock_assert(const struct oplock *oplock)
{
    assert(is_state(oplock->held));
    assert(is_state(oplock->told));
    assert(is_state(oplock->goal));
    assert(oplock->kind == OPLOCK_LEASE || is_legacy_state(oplock->held));
    assert((oplock->told & ~oplock->held) == 0);
    assert((oplock->goal & ~oplock->told) == 0);
    assert((oplock->ack_by != 0) == oplock_is_breaking(oplock));
    assert(oplock_is_breaking(oplock) || oplock->goal == oplock->held);
    /* R alone is given up without an acknowledgement. */
    assert(!oplock_is_breaking(oplock) || (oplock->held & (CACHING_W | CACHING_H)) != 0);
}

bool oplock_is_breaking(const struct oplock *oplock)
{
    return oplock->told != oplock->held;
}

unsigned oplock_break_target(enum oplock_kind kind, unsigned held, enum oplock_cause cause,
                             enum oplock_side side)
{
    const struct rule *rule = rule_of(cause);
    const bool own_level_ii = kind == OPLOCK_LEGACY && held == CACHING_R && rule->also_own_level_ii;
    if (side == OPLOCK_OWN && !own_level_ii)
        return held;
    if ((held & rule->clears) == 0)
        return held;
    return held & ~(kind == OPLOCK_LEASE ? rule->clears : rule->legacy_clears);
}

bool oplock_blocks(const struct oplock *oplock, enum oplock_cause cause, enum oplock_side side)
{
    return side == OPLOCK_FOREIGN && (oplock->held & rule_of(cause)->waits_for) != 0;
}

/* The client is told to come down from what it holds to `goal`. */
static void tell(struct oplock *oplock, int64_t now, struct oplock_notice *notice)
{
    assert(oplock->goal != oplock->held);
    oplock->epoch++;
    *notice = (struct oplock_notice){
        .from = oplock->held,
        .to = oplock->goal,
        .must_acknowledge = (oplock->held & (CACHING_W | CACHING_H)) != 0,
        .epoch = oplock->epoch,
    };
    oplock->told = oplock->goal;
    if (notice->must_acknowledge)
        oplock->ack_by = now + LIMIT_OPLOCK_ACK_SEC * CLOCK_TICKS_PER_SEC;
    else
        oplock->held = oplock->goal;
}

bool oplock_break(struct oplock *oplock, enum oplock_cause cause, enum oplock_side side,
                  int64_t now, struct oplock_notice *notice)
{
    oplock_assert(oplock);
    const bool breaking = oplock_is_breaking(oplock);
    const unsigned target = oplock_break_target(oplock->kind, oplock->goal, cause, side);
    if (target == oplock->goal)
        return false;
    oplock->goal = target;
    if (!breaking)
        tell(oplock, now, notice);
    oplock_assert(oplock);
    return !breaking;
}

static void come_down(struct oplock *oplock, unsigned kept)
{
    oplock->held = kept;
    oplock->told = kept;
    oplock->goal &= kept;
    oplock->ack_by = 0;
}

enum err oplock_acknowledge(struct oplock *oplock, unsigned kept, int64_t now, bool *again,
                            struct oplock_notice *notice)
{
    oplock_assert(oplock);
    *again = false;
    if (!oplock_is_breaking(oplock))
        return ERR_OPLOCK_NOT_BREAKING;
    if (!is_state(kept) || (kept & ~oplock->told) != 0)
        return ERR_OPLOCK_ACK_REFUSED;
    come_down(oplock, kept);
    if (oplock->goal != kept) {
        tell(oplock, now, notice);
        *again = true;
    }
    oplock_assert(oplock);
    return OK;
}

void oplock_settle(struct oplock *oplock, int64_t now)
{
    oplock_assert(oplock);
    if (!oplock_is_breaking(oplock) || now < oplock->ack_by)
        return;
    /* [MS-SMB2] 3.3.6.1, 3.3.6.5: a client that does not answer has nothing left, whatever it was
       told. */
    come_down(oplock, CACHING_NONE);
    oplock->epoch++;
    oplock_assert(oplock);
}

static bool is_grantable(const struct oplock *oplock, unsigned caching,
                         const struct oplock_surroundings *around)
{
    if (caching == CACHING_NONE)
        return true;
    /* Whatever is cached would be stale when the write is through. */
    if (around->directory || around->write_under_way)
        return false;
    if ((caching & CACHING_W) != 0)
        return !around->other_handles && !around->read_under_way;
    if (around->byte_locks)
        return false;
    /* Level II and RH do not go together. */
    if (oplock->kind == OPLOCK_LEGACY)
        return !around->other_handle_lease;
    return caching == CACHING_R || !around->other_level_ii;
}

bool oplock_grant(struct oplock *oplock, unsigned wanted, const struct oplock_surroundings *around)
{
    /* From the most that one could get to the least. */
    static const unsigned LEASES[] = { CACHING_RWH, CACHING_RH, CACHING_RW, CACHING_R };
    static const unsigned LEGACY[] = { CACHING_RWH, CACHING_RW, CACHING_R };

    oplock_assert(oplock);
    const bool lease = oplock->kind == OPLOCK_LEASE;
    const unsigned *ladder = lease ? LEASES : LEGACY;
    const size_t steps =
        lease ? sizeof(LEASES) / sizeof(LEASES[0]) : sizeof(LEGACY) / sizeof(LEGACY[0]);
    if (oplock_is_breaking(oplock))
        return false;
    for (size_t i = 0; i < steps; i++) {
        const unsigned step = ladder[i];
        if ((step & ~wanted) != 0 || (oplock->held & ~step) != 0 || step == oplock->held)
            continue;
        if (!is_grantable(oplock, step, around))
            continue;
        oplock->held = step;
        oplock->told = step;
        oplock->goal = step;
        oplock->epoch++;
        oplock_assert(oplock);
        return true;
    }
    return false;
}
