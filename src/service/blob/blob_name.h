/*
 * blob_name.h - names of containers and blobs, and where their records are kept.
 *
 * Partitions of the blob service:
 *
 *   'A' account                               the account: see account_partition.h
 *       'c' container name                    container record
 *   'B' incarnation (8) shard (2)             blobs of one container
 *       'b' blob name 00 version (8)          blob record; the base blob's version is all ones,
 *                                             so that what precedes it in time sorts before it
 *       'd' content id (8)                    bytes of inline content
 *       'e' expiry (8) blob name 00 tick (8) kind (1)
 *                                             when the 'h' row of that name, tick and kind goes
 *       'f' blob name 00 generation (8)       its uncommitted blocks are forgotten; the sweeper
 *                                             removes them
 *       'h' blob name 00 tick (8) kind (1)    record of what the blob was (history.h): a previous
 *                                             version, or something soft-deleted
 *       'k' content id (8) end (8)            pieces of content up to that offset (segments.h)
 *       'l' content id (8)                    the list of pages it is laid over (overlay.h)
 *       'n' content id (8)                    how many further records name shared content
 *       'o' blob name                         snapshots of it that are gone; the sweeper removes
 *                                             them (snapshot.h)
 *       'q' blob name                         a copy into the blob is under way (copy.h)
 *       't' tag name 00 value 00 blob name    the blob has that tag (tag_index.h)
 *       'u' blob name 00 generation (8) block id
 *                                             an uncommitted block (block.h)
 *       'v' payload id (8) owner (8)          an owner of inline bytes that are a piece of content,
 *                                             once there was more than one (segments.h)
 *       'w' blob name                         the blob has uncommitted blocks
 *       'x'                                   closed: the container is deleted
 *       'y' content id (8)                    content that is being made in steps (clone.h)
 *       'z' content id (8)                    content no record names; the sweeper removes it
 *
 * A partition of blobs is marked while it has 'e', 'f', 'l', 'o', 'q', 'w', 'y' or 'z' rows.
 *
 * Blocks and owners are removed by the ten thousand, and looking for a further owner of a payload
 * must not pass by all that the same commit has removed: so owners come after blocks.
 *
 * Numbers are big-endian.
 */
#ifndef SERVICE_BLOB_BLOB_NAME_H
#define SERVICE_BLOB_BLOB_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "service/account_partition.h"

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
static inline struct slice container_key(struct arena *arena, struct slice container)
{
    return resource_key(arena, RESOURCE_CONTAINER, container);
}
static inline struct slice blob_partition(struct arena *arena, uint64_t incarnation)
{
    return resource_partition(arena, 'B', incarnation);
}
struct slice blob_key(struct arena *arena, struct slice blob);
struct slice snapshot_key(struct arena *arena, struct slice blob, int64_t snapshot);
struct slice block_key(struct arena *arena, struct slice blob, int64_t generation,
                       struct slice block_id);
/* Of the keys of all blocks of a generation. */
struct slice block_prefix(struct arena *arena, struct slice blob, int64_t generation);
struct slice uncommitted_key(struct arena *arena, struct slice blob);
struct slice forgotten_key(struct arena *arena, struct slice blob, int64_t generation);
struct slice content_key(struct arena *arena, uint64_t content_id);
struct slice segments_key(struct arena *arena, uint64_t content_id, uint64_t end);
struct slice segments_prefix(struct arena *arena, uint64_t content_id);
struct slice share_count_key(struct arena *arena, uint64_t content_id);
struct slice overlay_key(struct arena *arena, uint64_t content_id);
struct slice owner_key(struct arena *arena, uint64_t payload_id, uint64_t owner);
struct slice owner_prefix(struct arena *arena, uint64_t payload_id);
struct slice dropped_key(struct arena *arena, uint64_t content_id);

struct slice outdated_key(struct arena *arena, struct slice blob);
struct slice pending_copy_key(struct arena *arena, struct slice blob);
struct slice unfinished_key(struct arena *arena, uint64_t content_id);

/* A record of history: the kind is a letter of enum history_kind (history.h).  The prefix is of
   all records of one name, or of all names that begin so. */
struct slice history_key(struct arena *arena, struct slice blob, uint64_t tick, char kind);
struct slice history_prefix(struct arena *arena, struct slice blob);
struct slice history_key_prefix(struct arena *arena, struct slice name_prefix);
MUST_CHECK enum err history_key_parse(struct slice key, struct slice *blob, uint64_t *tick,
                                      char *kind);

/* The row that says when the record under a history key goes. */
struct slice expiry_key(struct arena *arena, int64_t expires_at, struct slice history_key);
struct slice expiry_prefix(void);
/* The history key is made in the arena.  ERR_CORRUPT. */
MUST_CHECK enum err expiry_key_parse(struct arena *arena, struct slice key, int64_t *expires_at,
                                     struct slice *history_key);

/* The beginning of the keys of all blobs whose names begin so. */
struct slice blob_key_prefix(struct arena *arena, struct slice name_prefix);

/* Whether a partition is one of blobs. */
bool is_blob_partition(struct slice partition);

/* The prefix of all keys of dropped content, and the content's id in one; false if it is none. */
struct slice dropped_prefix(void);
bool dropped_key_content(struct slice key, uint64_t *content_id);

/* The same for forgotten blocks: the blob's name and the generation. */
struct slice forgotten_prefix(void);
bool forgotten_key_parse(struct slice key, struct slice *blob, int64_t *generation);

/* The name, generation and id in the key of an uncommitted block; false if it is none. */
bool block_key_parse(struct slice key, struct slice *blob, int64_t *generation,
                     struct slice *block_id);

/* The same for snapshots that are gone: the blob's name. */
struct slice outdated_prefix(void);
bool outdated_key_name(struct slice key, struct slice *blob);

/* The same for lists that are laid over others. */
struct slice overlay_prefix(void);
bool overlay_key_content(struct slice key, uint64_t *content_id);

/* The same for content that is being made, and for copies under way: the blob's name. */
struct slice unfinished_prefix(void);
bool unfinished_key_content(struct slice key, uint64_t *content_id);
struct slice pending_copy_prefix(void);
bool pending_copy_key_name(struct slice key, struct slice *blob);

/* The name in a blob's key, and its snapshot (0: the base blob); ERR_CORRUPT if it is none. */
MUST_CHECK enum err blob_key_name(struct slice key, struct slice *name, int64_t *snapshot);

#endif
