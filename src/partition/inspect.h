/*
 * inspect.h - a store as a whole, for whoever checks it: all partitions, all owners, and the
 * layer's own rows compared with each other and with the extents.
 *
 * Nothing is changed.  The functions are those of partition.h ("checking"), on an engine.  Rows:
 * partition/system_row.h.  What holds when a store is not damaged, whatever crash came before:
 *
 *   - Ranges that have O or F rows do not overlap, and all rows of a range agree on its length.
 *   - A range with an O row lies within its extent and its bytes match their checksums.
 *   - Of an extent with an E row, its length is the file's, its live bytes are those of the ranges
 *     above, and everything else in it reads as zeroes.  The file may be gone when there are no
 *     O rows: the commit that forgets it was lazy.
 *   - An extent without E row is settled at the next start; until then it may hold anything
 *     besides.
 */
#ifndef PARTITION_INSPECT_H
#define PARTITION_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "partition/engine.h"
#include "partition/partition.h"
#include "stream/stream.h"

MUST_CHECK enum err inspect_each(struct engine *engine,
                                 bool (*fn)(void *arg, struct slice partition), void *arg);

MUST_CHECK enum err inspect_is_marked(struct engine *engine, struct slice partition, bool *marked);

MUST_CHECK enum err inspect_each_owner(struct engine *engine,
                                       void (*fn)(void *arg, const struct stream_range *range,
                                                  uint64_t owner),
                                       void *arg);

/* The first range with an owner from `from` on, by extent and offset, as of now.  ERR_NOT_FOUND. */
MUST_CHECK enum err inspect_next_range(struct engine *engine, const struct stream_range *from,
                                       struct stream_range *range);

/* The last one.  ERR_NOT_FOUND. */
MUST_CHECK enum err inspect_last_range(struct engine *engine, struct stream_range *range);

MUST_CHECK enum err
inspect_each_extent(struct engine *engine,
                    enum err (*fn)(void *arg, const struct partition_extent *extent), void *arg);

MUST_CHECK enum err inspect_check(struct engine *engine, struct stream *stream,
                                  struct partition_check *check);

#endif
