/*
 * settle.h - telling the stream which ranges of an extent are live, once it takes no more.
 *
 * Part of the reclaimer (partition/reclaim.h), which calls these functions from one thread at a
 * time.  An extent with an E row has been settled; settling writes the row.
 */
#ifndef PARTITION_SETTLE_H
#define PARTITION_SETTLE_H

#include "base/error.h"
#include "partition/engine.h"
#include "partition/range_list.h"
#include "stream/stream.h"

/*
 * At open: tell the stream which extents are settled.  Those in which nothing is live any more,
 * but which a crash kept from being removed, are added to `empty` (their id; the rest is 0).
 */
MUST_CHECK enum err settle_mark_known(struct engine *engine, struct stream *stream,
                                      struct range_list *empty);

/*
 * Settle every extent that takes no more payloads and is not settled.  `group` is empty before
 * and after.  An extent whose rows cannot be true is logged and left as it is.
 *   ERR_CORRUPT or ERR_IO while reading rows; ERR_NO_SPACE
 */
MUST_CHECK enum err settle_extents(struct engine *engine, struct stream *stream,
                                   struct engine_group *group);

/* The ranges of an extent that have an owner or wait to be reclaimed, in order, each once. */
MUST_CHECK enum err settle_list_live(struct engine *engine, uint64_t extent_id,
                                     struct range_list *live);

#endif
