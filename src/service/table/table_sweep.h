/*
 * table_sweep.h - what the sweeper does for tables: the entities of deleted ones are removed, a
 * batch at a time.  In a table that is there nothing is left behind, so its partition is never
 * marked.
 */
#ifndef SERVICE_TABLE_TABLE_SWEEP_H
#define SERVICE_TABLE_TABLE_SWEEP_H

#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "service/sweeper.h"

/* Empty the partition of a deleted table.  ERR_SHUTTING_DOWN when there is no time to finish. */
MUST_CHECK enum err table_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation);

/* Does nothing. */
MUST_CHECK enum err table_sweep_marked(const struct sweep *sweep, struct slice partition);

#endif
