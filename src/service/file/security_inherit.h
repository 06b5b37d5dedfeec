/*
 * security_inherit.h - what the security descriptor of a directory makes that of a new entry.
 *
 * The rules are those of Windows ([MS-DTYP] 2.5.3.4, "ACE Inheritance Rules").  By the flags of an
 * entry of the directory's list, what is made gets
 *
 *   flags      a file                 a directory
 *   OI         an effective entry     one that is inherit-only; none with NP
 *   CI         nothing                an effective entry that is inheritable, unless NP
 *   OI CI      an effective entry     an effective entry that is inheritable, unless NP
 *   none       nothing                nothing
 *
 * and each is marked ID.  IO says only that the entry means nothing to the directory itself.  In an
 * entry that is effective, generic rights become those of files, and CREATOR OWNER and CREATOR
 * GROUP become the owner and the group of what is made; one that is inherit-only keeps them, for
 * those that come after. An entry that is to be both is therefore two if it has any of these.
 * Entries for a kind of object are never effective, since files and directories have none.
 *
 * That the directory's own list is protected (P) does not matter: it is about what that inherits.
 * When nothing is inherited, the list is the creator's.
 *
 * A pure function of values.
 */
#ifndef SERVICE_FILE_SECURITY_INHERIT_H
#define SERVICE_FILE_SECURITY_INHERIT_H

#include "base/arena.h"
#include "base/error.h"
#include "service/file/sddl.h"

enum security_child {
    SECURITY_CHILD_FILE,
    SECURITY_CHILD_DIRECTORY,
};

/*
 * The descriptor of a child, in the arena. `creator` has the owner, the group, and the list that it
 * has when none is inherited; the child points into it. ERR_FILE_PERMISSION_INVALID if it would be
 * longer than a descriptor can be.
 */
MUST_CHECK enum err security_inherit(struct arena *arena, const struct security_descriptor *parent,
                                     const struct security_descriptor *creator,
                                     enum security_child kind, struct security_descriptor *child);

#endif
