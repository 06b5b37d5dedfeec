/*
 * instants.h - the instants of a share that are kept: its 'i' rows (file_name.h), in order.
 *
 * There are as many as the share has snapshots, and for a while one for each that was deleted or
 * did not come to be.
 */
#ifndef SERVICE_FILE_INSTANTS_H
#define SERVICE_FILE_INSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "partition/partition.h"

/* All zero bytes is "none". */
struct instants {
    int64_t *items; /* in the arena */
    size_t count;
    size_t capacity;
    size_t unconfirmed_count; /* those that may have no snapshot (share.h) */
};

/* ERR_CORRUPT, ERR_IO */
MUST_CHECK enum err instants_read_change(struct change *change, struct instants *instants);
MUST_CHECK enum err instants_read_view(struct partition_view *view, struct arena *arena,
                                       struct instants *instants);

/* Whether one of them needs what was so from one tick until another. */
bool instants_need(const struct instants *instants, int64_t since, int64_t until);

#endif
