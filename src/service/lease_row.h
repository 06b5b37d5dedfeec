/*
 * lease_row.h - a lease as fields of the row that embeds it.
 *
 * A lease takes LEASE_ROW_TAGS consecutive tags of its row, from `tag` on: state, id, duration and
 * end.  An available lease takes no space.
 */
#ifndef SERVICE_LEASE_ROW_H
#define SERVICE_LEASE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "service/lease.h"

enum {
    LEASE_ROW_TAGS = 4,
};

void lease_row_encode(const struct lease *lease, struct strbuf *row, uint64_t tag);

/* Take field `index` (0 to LEASE_ROW_TAGS - 1) of a lease.  ERR_CORRUPT. */
MUST_CHECK enum err lease_row_decode(struct lease *lease, uint64_t index, struct slice value);

#endif
