#include "service/lease_row.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "service/row.h"

enum lease_field {
    FIELD_STATE,
    FIELD_ID,
    FIELD_DURATION_SEC, /* plus two, so that infinite (-1) is not zero */
    FIELD_ENDS_AT_MS,
};

enum {
    DURATION_BIAS = 2,
};

void lease_row_encode(const struct lease *lease, struct strbuf *row, uint64_t tag)
{
    assert(lease_is_valid(lease));
    if (lease->state == LEASE_AVAILABLE)
        return;
    row_add_number(row, tag + FIELD_STATE, (uint64_t)lease->state);
    row_add_bytes(row, tag + FIELD_ID, slice_make(lease->id.bytes, sizeof(lease->id.bytes)));
    if (lease->duration_sec != 0)
        row_add_number(row, tag + FIELD_DURATION_SEC,
                       (uint64_t)lease->duration_sec + DURATION_BIAS);
    row_add_number(row, tag + FIELD_ENDS_AT_MS, (uint64_t)lease->ends_at_ms);
}

static enum err decode_id(struct lease *lease, struct slice value)
{
    if (value.len != sizeof(lease->id.bytes))
        return CORRUPT("a lease id has %zu bytes", value.len);
    memcpy(lease->id.bytes, value.data, value.len);
    return OK;
}

enum err lease_row_decode(struct lease *lease, uint64_t index, struct slice value)
{
    assert(index < LEASE_ROW_TAGS);
    if (index == FIELD_ID)
        return decode_id(lease, value);

    uint64_t number;
    const enum err err = row_number(value, &number);
    if (err != OK)
        return err;
    switch ((enum lease_field)index) {
    case FIELD_STATE:
        if (number > LEASE_BROKEN)
            return CORRUPT("a lease is in state %llu", (unsigned long long)number);
        lease->state = (enum lease_state)number;
        return OK;
    case FIELD_DURATION_SEC:
        if (number > LEASE_DURATION_SEC_MAX + DURATION_BIAS)
            return CORRUPT("a lease lasts %llu seconds", (unsigned long long)number);
        lease->duration_sec = (int32_t)number - DURATION_BIAS;
        return OK;
    case FIELD_ENDS_AT_MS:
        if (number > INT64_MAX)
            return CORRUPT("a lease ends at %llu", (unsigned long long)number);
        lease->ends_at_ms = (int64_t)number;
        return OK;
    case FIELD_ID:
        break;
    }
    return OK;
}
