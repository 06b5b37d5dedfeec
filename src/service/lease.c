/*
 * lease.c - transitions of a lease.
 *
 * lease_is_valid states the facts that hold between calls.  The row codec answers ERR_CORRUPT for
 * stored bytes that break them, so lease_assert, on both sides of every transition, only ever
 * fails for a bug in this program.
 */
#include "service/lease.h"

#include <assert.h>
#include <stddef.h>

#define LEASE_MS_PER_SEC INT64_C(1000)

static bool lease_duration_is_valid(int32_t duration_sec)
{
    return duration_sec == LEASE_DURATION_SEC_INFINITE ||
           (duration_sec >= LEASE_DURATION_SEC_MIN && duration_sec <= LEASE_DURATION_SEC_MAX);
}

bool lease_is_valid(const struct lease *lease)
{
    if (uuid_is_nil(&lease->id) != (lease->state == LEASE_AVAILABLE))
        return false;
    const bool infinite = lease->duration_sec == LEASE_DURATION_SEC_INFINITE;
    switch (lease->state) {
    case LEASE_AVAILABLE:
    case LEASE_BROKEN:
        return lease->duration_sec == 0 && lease->ends_at_ms == 0;
    case LEASE_LEASED:
        return lease_duration_is_valid(lease->duration_sec) && lease->ends_at_ms > 0 &&
               infinite == (lease->ends_at_ms == INT64_MAX);
    case LEASE_EXPIRED:
        return lease_duration_is_valid(lease->duration_sec) && !infinite && lease->ends_at_ms == 0;
    case LEASE_BREAKING:
        return lease->duration_sec == 0 && lease->ends_at_ms > 0 && lease->ends_at_ms != INT64_MAX;
    }
    return false;
}

static void lease_assert(const struct lease *lease)
{
    assert(lease_is_valid(lease));
}

void lease_settle(struct lease *lease, int64_t now_ms)
{
    lease_assert(lease);
    assert(now_ms >= 0);
    if (!lease_is_locked(lease) || now_ms < lease->ends_at_ms)
        return;
    lease->state = lease->state == LEASE_LEASED ? LEASE_EXPIRED : LEASE_BROKEN;
    lease->ends_at_ms = 0;
    lease_assert(lease);
}

bool lease_is_locked(const struct lease *lease)
{
    return lease->state == LEASE_LEASED || lease->state == LEASE_BREAKING;
}

/* Start the clock: the only way into LEASED. */
static void lease_start(struct lease *lease, struct uuid id, int32_t duration_sec, int64_t now_ms)
{
    const bool infinite = duration_sec == LEASE_DURATION_SEC_INFINITE;
    *lease = (struct lease){
        .state = LEASE_LEASED,
        .id = id,
        .duration_sec = duration_sec,
        .ends_at_ms = infinite ? INT64_MAX : now_ms + duration_sec * LEASE_MS_PER_SEC,
    };
    lease_assert(lease);
}

/* Whether there is a lease and `id` is its id. */
static bool lease_has_id(const struct lease *lease, const struct uuid *id)
{
    return lease->state != LEASE_AVAILABLE && uuid_equal(&lease->id, id);
}

enum err lease_acquire(struct lease *lease, const struct uuid *id, int32_t duration_sec,
                       int64_t now_ms)
{
    assert(!uuid_is_nil(id));
    lease_settle(lease, now_ms);
    if (!lease_duration_is_valid(duration_sec))
        return ERR_OUT_OF_RANGE;

    switch (lease->state) {
    case LEASE_BREAKING:
        return lease_has_id(lease, id) ? ERR_LEASE_BREAKING_NO_ACQUIRE : ERR_LEASE_ALREADY_PRESENT;
    case LEASE_LEASED:
        if (!lease_has_id(lease, id))
            return ERR_LEASE_ALREADY_PRESENT;
        break;
    case LEASE_AVAILABLE:
    case LEASE_EXPIRED:
    case LEASE_BROKEN:
        break;
    }
    lease_start(lease, *id, duration_sec, now_ms);
    return OK;
}

enum err lease_renew(struct lease *lease, const struct uuid *id, int64_t now_ms)
{
    lease_settle(lease, now_ms);
    if (!lease_has_id(lease, id))
        return ERR_LEASE_ACTION_ID_MISMATCH;
    if (lease->state == LEASE_BREAKING || lease->state == LEASE_BROKEN)
        return ERR_LEASE_BROKEN_NO_RENEW;
    lease_start(lease, lease->id, lease->duration_sec, now_ms);
    return OK;
}

enum err lease_change(struct lease *lease, const struct uuid *id, const struct uuid *proposed,
                      int64_t now_ms)
{
    assert(!uuid_is_nil(proposed));
    lease_settle(lease, now_ms);
    if (!lease_is_locked(lease))
        return ERR_LEASE_ACTION_NOT_PRESENT;
    const bool same_id = lease_has_id(lease, id);
    if (lease->state == LEASE_BREAKING)
        return same_id ? ERR_LEASE_BREAKING_NO_CHANGE : ERR_LEASE_ACTION_ID_MISMATCH;
    if (!same_id && !lease_has_id(lease, proposed))
        return ERR_LEASE_ACTION_ID_MISMATCH;
    lease->id = *proposed;
    lease_assert(lease);
    return OK;
}

enum err lease_release(struct lease *lease, const struct uuid *id, int64_t now_ms)
{
    lease_settle(lease, now_ms);
    if (!lease_has_id(lease, id))
        return ERR_LEASE_ACTION_ID_MISMATCH;
    *lease = (struct lease){ 0 };
    return OK;
}

/*
 * When a locked lease that is broken now ends.  A break never outlives the lease, nor an earlier
 * break: both are what `ends_at_ms` holds.
 */
static int64_t lease_break_ends_at(const struct lease *lease, int32_t period_sec, int64_t now_ms)
{
    if (period_sec == LEASE_BREAK_SEC_DEFAULT)
        return lease->ends_at_ms == INT64_MAX ? now_ms : lease->ends_at_ms;
    const int64_t asked_ms = now_ms + period_sec * LEASE_MS_PER_SEC;
    return asked_ms < lease->ends_at_ms ? asked_ms : lease->ends_at_ms;
}

enum err lease_break(struct lease *lease, int32_t period_sec, int64_t now_ms,
                     int32_t *remaining_sec)
{
    lease_settle(lease, now_ms);
    if (period_sec != LEASE_BREAK_SEC_DEFAULT &&
        (period_sec < 0 || period_sec > LEASE_BREAK_SEC_MAX))
        return ERR_OUT_OF_RANGE;
    if (lease->state == LEASE_AVAILABLE)
        return ERR_LEASE_ACTION_NOT_PRESENT;

    int64_t left_ms = 0;
    if (lease_is_locked(lease))
        left_ms = lease_break_ends_at(lease, period_sec, now_ms) - now_ms;
    assert(left_ms >= 0);
    *lease = (struct lease){
        .state = left_ms > 0 ? LEASE_BREAKING : LEASE_BROKEN,
        .id = lease->id,
        .ends_at_ms = left_ms > 0 ? now_ms + left_ms : 0,
    };
    lease_assert(lease);
    *remaining_sec = (int32_t)((left_ms + LEASE_MS_PER_SEC - 1) / LEASE_MS_PER_SEC);
    return OK;
}

/* A request names lease `id`: what is wrong with that, if anything. */
static enum err lease_check_named(const struct lease *lease, enum lease_resource resource,
                                  const struct uuid *id)
{
    const bool of_blob = resource == LEASE_OF_BLOB;
    const bool same_id = lease_has_id(lease, id);
    if (lease_is_locked(lease)) {
        if (same_id)
            return OK;
        return of_blob ? ERR_LEASE_ID_MISMATCH_BLOB : ERR_LEASE_ID_MISMATCH_CONTAINER;
    }
    if (same_id)
        return ERR_LEASE_LOST;
    return of_blob ? ERR_LEASE_NOT_PRESENT_BLOB : ERR_LEASE_NOT_PRESENT_CONTAINER;
}

enum err lease_check_write(struct lease *lease, enum lease_resource resource, const struct uuid *id,
                           int64_t now_ms)
{
    lease_settle(lease, now_ms);
    if (id != NULL)
        return lease_check_named(lease, resource, id);
    return lease_is_locked(lease) ? ERR_LEASE_ID_MISSING : OK;
}

enum err lease_check_read(struct lease *lease, enum lease_resource resource, const struct uuid *id,
                          int64_t now_ms)
{
    lease_settle(lease, now_ms);
    return id != NULL ? lease_check_named(lease, resource, id) : OK;
}

void lease_forget(struct lease *lease, int64_t now_ms)
{
    lease_settle(lease, now_ms);
    if (lease->state == LEASE_EXPIRED || lease->state == LEASE_BROKEN)
        *lease = (struct lease){ 0 };
}
