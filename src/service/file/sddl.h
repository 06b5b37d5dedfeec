/*
 * sddl.h - security descriptors of directories and files: their text and their bytes.
 *
 * The text is the Security Descriptor Definition Language ([MS-DTYP] 2.5.1):
 *
 *   O:owner G:group D:flags(ace)(ace)... S:flags(ace)...      (without the spaces)
 *   ace: type;flags;rights;object;inherited object;account
 *
 * The bytes are a self-relative SECURITY_DESCRIPTOR ([MS-DTYP] 2.4.6), little-endian:
 *
 *   offset  bytes  what
 *   0       1      revision, 1
 *   1       1      0
 *   2       2      control flags
 *   4       4      offset of the owner, 0: none
 *   8       4      of the group
 *   12      4      of the SACL
 *   16      4      of the DACL
 *   20             SACL, DACL, owner and group, those that are there
 *
 * Both are total: any bytes and any text give a descriptor or ERR_FILE_PERMISSION_INVALID, and
 * every descriptor has one text and one form in bytes, from which the same descriptor is made
 * again.
 *
 * Left out, and refused, are entries with conditions and resource attributes (XA, XD, XU, ZA, RA),
 * and accounts that mean something only in a domain (DA, DU, LA, ...): the reference asks for the
 * SIDs themselves, so that a permission means the same everywhere.
 *
 * Values that own nothing.
 */
#ifndef SERVICE_FILE_SDDL_H
#define SERVICE_FILE_SDDL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* A list of who may do what (DACL), or of what is recorded (SACL). */
struct security_acl {
    bool is_present;
    bool is_null;           /* present, and no list: nothing is refused */
    bool is_protected;      /* P: nothing is inherited */
    bool inherits_required; /* AR */
    bool is_inherited;      /* AI */
    size_t count;
    struct slice entries; /* one after the other, in bytes, each valid */
};

struct security_descriptor {
    struct slice owner; /* a SID in bytes; empty: none */
    struct slice group;
    struct security_acl dacl;
    struct security_acl sacl;
};

/* Text to descriptor; in the arena. */
MUST_CHECK enum err sddl_parse(struct arena *arena, struct slice text,
                               struct security_descriptor *descriptor);

/* Descriptor to text, in the arena; lists and accounts are written as Windows writes them. */
struct slice sddl_format(struct arena *arena, const struct security_descriptor *descriptor);

/* Bytes to descriptor, which points into them; and back, in the arena. */
MUST_CHECK enum err security_descriptor_decode(struct slice bytes,
                                               struct security_descriptor *descriptor);
struct slice security_descriptor_encode(struct arena *arena,
                                        const struct security_descriptor *descriptor);

#endif
