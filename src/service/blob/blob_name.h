/*
 * blob_name.h - names of containers and blobs, and where their records are kept.
 *
 * Partitions of the blob service:
 *
 *   'A' account                               the account: its containers
 *       'c' container name                    container record
 *       'g' incarnation (8)                   a deleted container that is to be reclaimed
 *   'B' incarnation (8) shard (2)             blobs of one container
 *       'b' blob name 00 version (8)          blob record; the base blob's version is all ones,
 *                                             so that what precedes it in time sorts before it
 *       'd' content id (8)                    bytes of inline content
 *       'x'                                   closed: the container is deleted
 *
 * Numbers are big-endian.  An incarnation is the tick at which a container was made: deleting a
 * container forgets its name at once, and a new container of that name is another incarnation, so
 * the two never share a record.  Every container has one shard, 0; the number is in the key so
 * that containers can be split without a new layout.
 */
#ifndef SERVICE_BLOB_BLOB_NAME_H
#define SERVICE_BLOB_BLOB_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/*
 * The naming rules of containers; $root, $web, $logs and $blobchangefeed are names too.
 *   ERR_RESOURCE_NAME_LENGTH    too short or too long
 *   ERR_INVALID_RESOURCE_NAME   a character or a dash where it may not be
 */
MUST_CHECK enum err container_name_check(struct slice name);

/*
 * The naming rules of blobs: 1 to 1,024 characters of UTF-8 without NUL, in at most 254 segments.
 * Same errors.
 */
MUST_CHECK enum err blob_name_check(struct slice name);

/* Partition ids and keys, made in the arena. */
struct slice account_partition(struct arena *arena, struct slice account);
struct slice container_key(struct arena *arena, struct slice container);
struct slice garbage_key(struct arena *arena, uint64_t incarnation);
struct slice blob_partition(struct arena *arena, uint64_t incarnation);
struct slice blob_key(struct arena *arena, struct slice blob);
struct slice content_key(struct arena *arena, uint64_t content_id);
struct slice closed_key(void);

/* The beginning of the keys of all blobs whose names begin so. */
struct slice blob_key_prefix(struct arena *arena, struct slice name_prefix);

/* The incarnation in a garbage key; false if it is none. */
bool garbage_key_incarnation(struct slice key, uint64_t *incarnation);

/* The name in a blob's key; ERR_CORRUPT if it is none. */
MUST_CHECK enum err blob_key_name(struct slice key, struct slice *name);

#endif
