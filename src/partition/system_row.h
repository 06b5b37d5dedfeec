/*
 * system_row.h - the layer's own rows, kept in the partition whose name is empty.
 *
 *   key                                           value           written by
 *   'T' committer (4)                             tick (8)        that committer, in every group
 *   'O' extent (8) offset (8) owner (8)           length (8)      change_own, change_disown
 *   'F' extent (8) offset (8) tick (8)            length (8)      change_disown; reclaimer removes
 *                                                 partition (8)
 *   'E' extent (8)                                length (8)      reclaimer
 *                                                 live bytes (8)
 *   'M' partition's name (1 to 200)               1 (1)           change_mark, change_unmark
 *
 * Sizes in bytes are in brackets; integers are big-endian, so rows of an extent lie together, in
 * the order of its ranges.
 *
 *   O  the range has this owner
 *   F  an owner let go at this tick: see whether the range can be reclaimed.  The tick makes each
 *      row a new one, so that removing a row that was looked at never removes a later one.  The
 *      hash of the partition that let go tells which long views may still name the range.
 *   E  the extent is settled (stream.h); so many of its bytes belong to ranges not yet reclaimed
 *   M  the partition is marked
 *
 * Decisions write these rows but never read them: different committers write rows of one extent.
 */
#ifndef PARTITION_SYSTEM_ROW_H
#define PARTITION_SYSTEM_ROW_H

#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "partition/engine.h"
#include "stream/stream.h"

enum system_kind {
    SYSTEM_TICK = 'T',
    SYSTEM_OWNER = 'O',
    SYSTEM_FREED = 'F',
    SYSTEM_EXTENT = 'E',
    SYSTEM_MARK = 'M',
};

/* A key, of any row but a mark, or a prefix of keys.  A value. */
struct system_key {
    size_t len;
    uint8_t bytes[1 + 3 * 8];
};

/* The value of an E row.  A value. */
struct system_extent {
    uint64_t length;
    uint64_t live_bytes;
};

/* An F row.  A value. */
struct system_freed {
    struct stream_range range;
    int64_t tick;
    uint64_t partition_hash;
};

/* What F rows and long views know a partition by, and what chooses its committer.  It may differ
   between versions: no long view can name what an earlier run let go. */
uint64_t system_partition_hash(struct slice partition);

/* Prefixes: all rows of a kind, those of an extent, those of a range. */
struct system_key system_prefix(enum system_kind kind);
struct system_key system_prefix_extent(enum system_kind kind, uint64_t extent_id);
struct system_key system_prefix_range(enum system_kind kind, const struct stream_range *range);

/* Whole keys. */
struct system_key system_key_tick(uint32_t committer);
struct system_key system_key_owner(const struct stream_range *range, uint64_t owner);
struct system_key system_key_freed(const struct stream_range *range, int64_t tick);
struct system_key system_key_extent(uint64_t extent_id);

/* The row's place for the engine; `key` is kept alive by the caller. */
struct engine_key system_row(const struct system_key *key);

/* The rows with a prefix, for the engine. */
struct engine_scan system_scan(const struct system_key *prefix);

/* The decoders answer ERR_CORRUPT for what is not in the format above. */
MUST_CHECK enum err system_decode_tick(struct slice value, int64_t *tick);
MUST_CHECK enum err system_decode_extent_key(struct slice key, uint64_t *extent_id);
MUST_CHECK enum err system_decode_extent(struct slice value, struct system_extent *extent);
/* An O or F row; `last` is its owner or tick. */
MUST_CHECK enum err system_decode_range(struct slice key, struct slice value,
                                        struct stream_range *range, uint64_t *last);
MUST_CHECK enum err system_decode_freed(struct slice key, struct slice value,
                                        struct system_freed *freed);
/* `partition` is a part of `key`. */
MUST_CHECK enum err system_decode_mark_key(struct slice key, struct slice *partition);

/* Write rows. */
void system_put_number(struct engine_group *group, const struct system_key *key, uint64_t number);
void system_put_freed(struct engine_group *group, const struct system_freed *freed);
void system_put_extent(struct engine_group *group, uint64_t extent_id,
                       const struct system_extent *extent);
void system_delete(struct engine_group *group, const struct system_key *key);
void system_put_mark(struct engine_group *group, struct slice partition);
void system_delete_mark(struct engine_group *group, struct slice partition);

#endif
