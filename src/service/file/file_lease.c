#include "service/file/file_lease.h"

#include <assert.h>
#include <stddef.h>

/* Any instant: an infinite lease and a broken one look the same at all of them. */
#define ANY_MS 0

bool file_lease_is_valid(const struct lease *lease)
{
    if (!lease_is_valid(lease) || lease->state == LEASE_EXPIRED || lease->state == LEASE_BREAKING)
        return false;
    return lease->state != LEASE_LEASED || lease->duration_sec == LEASE_DURATION_SEC_INFINITE;
}

enum err file_lease_acquire(struct lease *lease, const struct uuid *id)
{
    assert(file_lease_is_valid(lease));
    return lease_acquire(lease, id, LEASE_DURATION_SEC_INFINITE, ANY_MS);
}

enum err file_lease_change(struct lease *lease, const struct uuid *id, const struct uuid *proposed)
{
    assert(file_lease_is_valid(lease));
    return lease_change(lease, id, proposed, ANY_MS);
}

enum err file_lease_release(struct lease *lease, const struct uuid *id)
{
    assert(file_lease_is_valid(lease));
    return lease_release(lease, id, ANY_MS);
}

enum err file_lease_break(struct lease *lease)
{
    int32_t remaining_sec = 0;

    assert(file_lease_is_valid(lease));
    return lease_break(lease, 0, ANY_MS, &remaining_sec);
}

enum err file_lease_check_read(const struct lease *lease, const struct uuid *id)
{
    assert(file_lease_is_valid(lease));
    if (id == NULL)
        return OK;
    if (lease->state != LEASE_LEASED)
        return ERR_LEASE_NOT_PRESENT_FILE;
    return uuid_equal(&lease->id, id) ? OK : ERR_LEASE_ID_MISMATCH_FILE;
}

enum err file_lease_write(struct lease *lease, const struct uuid *id)
{
    const enum err err = file_lease_check_read(lease, id);
    if (err != OK)
        return err;
    if (id == NULL && lease->state == LEASE_LEASED)
        return ERR_LEASE_ID_MISSING;
    lease_forget(lease, ANY_MS);
    return OK;
}
