/*
 * permission.h - file permissions: security descriptors that a share keeps, and their keys.
 *
 * A permission is a security descriptor (sddl.h) with an owner, a group and a DACL.  A share keeps
 * each once, under a key that is made from its bytes, so whoever stores the same again gets the
 * same key; directories and files name their permission by its key (node.h).  Permissions are kept
 * as long as the share: snapshots use them too, and clients remember keys.
 *
 *   'p' key  ->  ROW_PERMISSION: the descriptor        key: two numbers of 64 bits, "n*n"
 *
 * A descriptor without a SACL is kept with one that is null ("S:NO_ACCESS_CONTROL"), as the service
 * does it.
 *
 * Whatever is made without a permission, or with `inherit`, inherits that of its directory
 * (security_inherit.h).  The default permissions need no row, and nodes that have them no key: that
 * of the root directory of a new share, and what directories and files inherit from it, which is
 * also what those below them inherit.  So where nobody sets permissions nothing is computed.
 *
 * Nothing here decides about access.
 */
#ifndef SERVICE_FILE_PERMISSION_H
#define SERVICE_FILE_PERMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/file/share.h"
#include "service/service.h"

enum {
    PERMISSION_KEY_LEN_MAX = 41, /* characters */
};

/*
 * What a client sent, as SDDL or as a self-relative security descriptor, in the form that is kept;
 * in the arena.  ERR_FILE_PERMISSION_INVALID.
 */
MUST_CHECK enum err permission_from_text(struct arena *arena, struct slice text,
                                         struct slice *permission);
MUST_CHECK enum err permission_from_bytes(struct arena *arena, struct slice bytes,
                                          struct slice *permission);

/* The text of a permission that is kept, in the arena.  ERR_CORRUPT. */
MUST_CHECK enum err permission_to_text(struct arena *arena, struct slice permission,
                                       struct slice *text);

/* The key of a permission, in the arena. */
struct slice permission_key(struct arena *arena, struct slice permission);

enum permission_of {
    PERMISSION_OF_ROOT,
    PERMISSION_OF_DIRECTORY,
    PERMISSION_OF_FILE,
    PERMISSION_OF_COUNT,
};

/* The default permissions and their keys; kept as long as the process. */
struct slice permission_default(enum permission_of of);
struct slice permission_default_key(enum permission_of of);

/* Whether a key is one of theirs. */
bool permission_key_is_default(struct slice key);

/* The stored form of a 'p' row.  ERR_CORRUPT; also when it is not what the key was made from. */
struct slice permission_encode(struct arena *arena, struct slice permission);
MUST_CHECK enum err permission_decode(struct slice key, struct slice row, struct slice *permission);

/* In a decision about a share's partition: keep the permission, which is in the form that is kept;
   its key. */
MUST_CHECK enum err permission_put(struct change *change, struct slice permission,
                                   struct slice *key);

/*
 * In such a decision: the permission of what is made in a directory that has this key, or none.
 * `*key` is empty if it is the default.  ERR_FILE_PERMISSION_INVALID if it would be too long.
 */
MUST_CHECK enum err permission_inherit(struct change *change, struct slice directory_key,
                                       enum permission_of of, struct slice *key);

/* In such a decision: whether the share has it.  ERR_FILE_PERMISSION_INVALID. */
MUST_CHECK enum err permission_check_key(struct change *change, struct slice key);

/* The permission of a key, in the arena.  ERR_SHARE_NOT_FOUND, ERR_RESOURCE_NOT_FOUND. */
MUST_CHECK enum err permission_get(struct service *service, struct arena *arena,
                                   const struct share_name *name, struct slice key,
                                   struct slice *permission);

struct permission_change {
    struct service_change base;
    struct share_name name;
    struct slice permission; /* in the form that is kept */
    struct slice key;        /* result, in the arena */
};

/* ERR_SHARE_NOT_FOUND */
void permission_create(struct service *service, struct permission_change *change);

#endif
