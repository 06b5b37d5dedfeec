#include "base/space.h"

#include <assert.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    /* Even a fast disk takes few bytes, beside the reserve, in so short a time. */
    LOOK_AGAIN_US = 10 * 1000,
    MIB = 1024 * 1024,
};

void space_init(struct space *space, struct io *io, uint64_t reserve_bytes)
{
    *space = (struct space){ .io = io, .reserve_bytes = reserve_bytes };
    uint64_t free_bytes;
    uint64_t total_bytes;
    if (io_space(io, &free_bytes, &total_bytes) == OK &&
        reserve_bytes > total_bytes / SPACE_RESERVE_SHARE)
        space->reserve_bytes = total_bytes / SPACE_RESERVE_SHARE;
    /* The first question looks. */
    atomic_init(&space->looked_at_us, INT64_MIN / 2);
}

/* What is free.  A disk that does not say is asked no further: it refuses by itself. */
static uint64_t free_space(struct space *space)
{
    uint64_t free_bytes;
    uint64_t total_bytes;
    return io_space(space->io, &free_bytes, &total_bytes) == OK ? free_bytes : UINT64_MAX;
}

bool space_promise(struct space *space, uint64_t bytes)
{
    if (space == NULL)
        return true;
    const uint64_t promised = atomic_fetch_add(&space->promised_bytes, bytes) + bytes;
    const uint64_t free_bytes = free_space(space);
    const bool fits =
        free_bytes >= space->reserve_bytes && free_bytes - space->reserve_bytes >= promised;
    if (!fits)
        atomic_fetch_sub(&space->promised_bytes, bytes);
    return fits;
}

void space_fulfil(struct space *space, uint64_t bytes)
{
    if (space == NULL)
        return;
    const uint64_t promised = atomic_fetch_sub(&space->promised_bytes, bytes);
    assert(promised >= bytes);
}

static void note(struct space *space, bool low, uint64_t free_bytes)
{
    /* Of several threads that see the change one tells. */
    if (atomic_exchange(&space->low, low) == low)
        return;
    if (low)
        log_error("space",
                  "the disk is nearly full, %" PRIu64 " MiB are left: what stores more is refused "
                  "until more than %" PRIu64 " MiB are free",
                  free_bytes / MIB, space->reserve_bytes / MIB);
    else
        log_info("space", "there is space again");
}

bool space_is_low(struct space *space)
{
    if (space == NULL || space->reserve_bytes == 0)
        return false;
    const int64_t now = clock_monotonic_us();
    int64_t looked_at = atomic_load_explicit(&space->looked_at_us, memory_order_relaxed);
    /* One thread looks; the others go by what was found before. */
    if (now - looked_at >= LOOK_AGAIN_US &&
        atomic_compare_exchange_strong(&space->looked_at_us, &looked_at, now)) {
        const uint64_t free_bytes = free_space(space);
        note(space, free_bytes <= space->reserve_bytes, free_bytes);
    }
    return atomic_load(&space->low);
}
