/*
 * mend.h - rows of a store that is not in use, set right (partition.h, "repairing").
 */
#ifndef PARTITION_MEND_H
#define PARTITION_MEND_H

#include <stddef.h>

#include "base/error.h"
#include "partition/engine.h"
#include "partition/partition.h"

MUST_CHECK enum err mend_apply(struct engine *engine, const struct partition_repair *repairs,
                               size_t count);

#endif
