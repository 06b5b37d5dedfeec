/*
 * blob_name.h - names of containers and blobs, and where their records are kept.
 *
 * Partitions of the blob service:
 *
 *   'A' account                               the account: its containers
 *       'c' container name                    container record
 *       'g' incarnation (8)                   a deleted container that is to be reclaimed
 *       'p' service                           properties of a service: 'b' for blobs
 *   'B' incarnation (8) shard (2)             blobs of one container
 *       'b' blob name 00 version (8)          blob record; the base blob's version is all ones,
 *                                             so that what precedes it in time sorts before it
 *       'd' content id (8)                    bytes of inline content
 *       'k' content id (8) end (8)            pieces of content up to that offset (segments.h)
 *       'n' content id (8)                    how many further records name shared content
 *       'q' blob name                         a copy into the blob is under way (copy.h)
 *       't' tag name 00 value 00 blob name    the blob has that tag (tag_index.h)
 *       'u' blob name 00 block id             an uncommitted block
 *       'v' payload id (8) owner (8)          an owner of inline bytes that are a piece of content
 *       'w' blob name                         the blob has uncommitted blocks
 *       'x'                                   closed: the container is deleted
 *       'y' content id (8)                    content that is being made in steps (clone.h)
 *       'z' content id (8)                    content no record names; the sweeper removes it
 *
 * A partition of blobs is marked while it has 'q', 'w', 'y' or 'z' rows.
 *
 * Blocks and owners are removed by the ten thousand, and looking for a further owner of a payload
 * must not pass by all that the same commit has removed: so owners come after blocks.
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
struct slice service_properties_key(struct arena *arena, char letter);
struct slice garbage_key(struct arena *arena, uint64_t incarnation);
struct slice blob_partition(struct arena *arena, uint64_t incarnation);
struct slice blob_key(struct arena *arena, struct slice blob);
struct slice snapshot_key(struct arena *arena, struct slice blob, int64_t snapshot);
struct slice block_key(struct arena *arena, struct slice blob, struct slice block_id);
struct slice block_prefix(struct arena *arena, struct slice blob); /* of all its block keys */
struct slice uncommitted_key(struct arena *arena, struct slice blob);
struct slice content_key(struct arena *arena, uint64_t content_id);
struct slice closed_key(void);
struct slice segments_key(struct arena *arena, uint64_t content_id, uint64_t end);
struct slice segments_prefix(struct arena *arena, uint64_t content_id);
struct slice share_count_key(struct arena *arena, uint64_t content_id);
struct slice owner_key(struct arena *arena, uint64_t payload_id, uint64_t owner);
struct slice owner_prefix(struct arena *arena, uint64_t payload_id);
struct slice dropped_key(struct arena *arena, uint64_t content_id);

struct slice pending_copy_key(struct arena *arena, struct slice blob);
struct slice unfinished_key(struct arena *arena, uint64_t content_id);

/* The beginning of the keys of all blobs whose names begin so. */
struct slice blob_key_prefix(struct arena *arena, struct slice name_prefix);

/* Whether a partition is one of blobs. */
bool is_blob_partition(struct slice partition);

/* The prefix of all keys of dropped content, and the content's id in one; false if it is none. */
struct slice dropped_prefix(void);
bool dropped_key_content(struct slice key, uint64_t *content_id);

/* The same for content that is being made, and for copies under way: the blob's name. */
struct slice unfinished_prefix(void);
bool unfinished_key_content(struct slice key, uint64_t *content_id);
struct slice pending_copy_prefix(void);
bool pending_copy_key_name(struct slice key, struct slice *blob);

/* The incarnation in a garbage key; false if it is none. */
bool garbage_key_incarnation(struct slice key, uint64_t *incarnation);

/* The name in a blob's key, and its snapshot (0: the base blob); ERR_CORRUPT if it is none. */
MUST_CHECK enum err blob_key_name(struct slice key, struct slice *name, int64_t *snapshot);

#endif
