/*
 * file_name.h - names of shares, directories and files, and where their records are kept.
 *
 *   'A' account                       the account (account_partition.h)
 *       's' share name                share record (share.h)
 *       'd' share name 00 incarnation (8)  one that is soft-deleted
 *       'S' incarnation (8) taken (8) a snapshot of the share of that incarnation
 *   'F' incarnation (8) shard (2)     what one share holds
 *       'e' parent (8) name           a directory or file: an entry of its directory (node.h)
 *       'E' parent (8) name 00 from (8)  how an entry was, for snapshots: see below
 *       'h'                           the share's state: last instant, bytes used (share_state.h)
 *       'i' taken (8)                 an instant that is kept: a snapshot, or one being made
 *       'o' id (8)                    where the directory or file of that id is: its entry's key
 *       'p' permission key            a file permission (permission.h)
 *       'q' id (8)                    a copy to the file of that id is under way (file_copy.h)
 *       'x'                           closed: the share is deleted
 *       and the rows of contents      'd', 'k', 'l', 'n', 'v', 'y', 'z' as blob/blob_name.h has
 *                                     them; the partition is marked for 'l', 'q', 'y' and 'z'
 *                                     rows, and while its instants are to be looked at
 *                                     (file_sweep.h)
 *
 * Numbers are big-endian.  Directories and files have ids that are never used twice, the ticks of
 * the changes that made them, and keep them when they are renamed; an entry's key begins with its
 * directory's id, so renaming a directory is moving one entry, whatever it holds.  Names in keys
 * are in upper case, since names are compared without regard to case; the record has the name as it
 * was given.  The root directory has the id 0 and is the entry of parent 0 with an empty name; it
 * need not be there, and is then as it was when the share was made.  It has no 'o' row.
 *
 * Upper case is that of NTFS: one character of the basic plane for another, and back, so that no
 * name changes its length in UTF-16; what lies beyond the basic plane stays as it is, and so does
 * what has no way back (dotless i, long s, the micro sign), but for the final sigma.  The table is
 * our own and fixed: a name is stored under what it says.
 *
 * Snapshots.  An instant is kept by its row 'i', and 'h' has the last.  A change that replaces or
 * removes an entry that was so at the last kept instant first leaves it under 'E', with the tick it
 * was so from in the key and the tick it was so until in the record; a snapshot sees, of each name,
 * the entry that was so at its instant.  Taking a snapshot thus writes two rows, whatever the share
 * holds.  The listing of a directory as it is now never meets 'E' rows.
 */
#ifndef SERVICE_FILE_FILE_NAME_H
#define SERVICE_FILE_FILE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* The naming rules of shares; ERR_RESOURCE_NAME_LENGTH, ERR_INVALID_RESOURCE_NAME. */
MUST_CHECK enum err share_name_check(struct slice name);

/*
 * The naming rules of one component of a path: 1 to LIMIT_FILE_NAME_UNITS_MAX characters of UTF-8,
 * counted in UTF-16, none of them a control character or " \ / : | < > * ? or one that Unicode has
 * set aside, and not one of the names of DOS devices, "." or "..".
 * ERR_FILE_NAME_INVALID, ERR_RESOURCE_NAME_LENGTH.
 */
MUST_CHECK enum err file_name_check(struct slice name);

/* A path's components, at most LIMIT_FILE_PATH_DEPTH, of LIMIT_FILE_PATH_UNITS_MAX in all. */
struct file_path {
    size_t depth;              /* 0: the root directory */
    const struct slice *names; /* as given */
    const struct slice *upper; /* in upper case, for keys and comparisons */
};

/* What is done about dots at the end of a name: x-ms-allow-trailing-dot. */
enum file_trailing_dots {
    FILE_DOTS_REMOVED,
    FILE_DOTS_KEPT,
};

/*
 * Split a decoded path at slashes (and backslashes) and check it; in the arena.  Slashes at its end
 * do not count.  The errors of file_name_check, ERR_FILE_PATH_TOO_LONG, ERR_FILE_PATH_TOO_DEEP.
 */
MUST_CHECK enum err file_path_parse(struct arena *arena, struct slice path,
                                    enum file_trailing_dots dots, struct file_path *parsed);

/* The upper case of well-formed UTF-8, as said above; in the arena. */
struct slice file_name_upper(struct arena *arena, struct slice name);

/* Partition ids and keys, made in the arena. */
struct slice file_partition(struct arena *arena, uint64_t incarnation);
struct slice share_key(struct arena *arena, struct slice share);
struct slice share_deleted_key(struct arena *arena, struct slice share, uint64_t incarnation);
/* Of all keys of deleted shares whose names begin so. */
struct slice share_deleted_prefix(struct arena *arena, struct slice name_prefix);
struct slice share_snapshot_key(struct arena *arena, uint64_t incarnation, int64_t taken);
struct slice share_snapshot_prefix(struct arena *arena, uint64_t incarnation);
struct slice node_key(struct arena *arena, uint64_t parent, struct slice upper);
struct slice node_prefix(struct arena *arena, uint64_t parent);
struct slice node_past_key(struct arena *arena, uint64_t parent, struct slice upper, int64_t from);
struct slice node_past_prefix(struct arena *arena, uint64_t parent);
struct slice node_past_name_prefix(struct arena *arena, uint64_t parent, struct slice upper);
struct slice node_place_key(struct arena *arena, uint64_t id);
struct slice share_state_key(void);
struct slice instant_key(struct arena *arena, int64_t taken);
struct slice instant_prefix(void);
struct slice permission_row_key(struct arena *arena, struct slice permission_key);
struct slice pending_file_key(struct arena *arena, uint64_t id);

bool is_file_partition(struct slice partition);

/* Name and incarnation in the key of a deleted share; incarnation and instant in that of a
   snapshot; the instant in a key 'i'.  ERR_CORRUPT. */
MUST_CHECK enum err share_deleted_key_parse(struct slice key, struct slice *share,
                                            uint64_t *incarnation);
MUST_CHECK enum err share_snapshot_key_parse(struct slice key, uint64_t *incarnation,
                                             int64_t *taken);
MUST_CHECK enum err instant_key_parse(struct slice key, int64_t *taken);

/* The id in a key 'q'; false if it is none. */
bool pending_file_key_id(struct slice key, uint64_t *id);

/* Parent and name in upper case in the key of an entry.  ERR_CORRUPT. */
MUST_CHECK enum err node_key_parse(struct slice key, uint64_t *parent, struct slice *upper);

/* The same for an earlier state. */
MUST_CHECK enum err node_past_key_parse(struct slice key, uint64_t *parent, struct slice *upper,
                                        int64_t *from);

#endif
