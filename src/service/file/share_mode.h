/*
 * share_mode.h - what an open does with a file, and what it lets others do meanwhile.
 *
 * Every open of a file states the access it wants and the access it shares.  Two opens are
 * compatible if each shares what the other does:
 *
 *     A conflicts with B   unless   A.access is within B.share  and  B.access within A.share
 *
 * An open that only looks at attributes has no access in this sense and takes no part: it neither
 * meets a conflict nor causes one, whatever it shares.
 *
 * REST operations take part as opens that last as long as the operation (file_operation.h); an
 * active REST lease is one that stays (SHARE_MODE_OF_LEASE).
 *
 * Values and pure functions; no state.
 */
#ifndef SERVICE_FILE_SHARE_MODE_H
#define SERVICE_FILE_SHARE_MODE_H

#include <stdbool.h>

/*
 * The rights that take part in sharing.  Executing counts as reading, appending as writing; all
 * other rights of an SMB access mask are attribute access and are left out here.
 */
enum file_access {
    FILE_ACCESS_NONE = 0,
    FILE_ACCESS_READ = 1 << 0,
    FILE_ACCESS_WRITE = 1 << 1,
    FILE_ACCESS_DELETE = 1 << 2,
    FILE_ACCESS_ALL = FILE_ACCESS_READ | FILE_ACCESS_WRITE | FILE_ACCESS_DELETE,
};

/* A value.  All zero bytes: attribute access that shares nothing, which conflicts with nothing. */
struct share_mode {
    unsigned access; /* of enum file_access */
    unsigned share;  /* of enum file_access */
};

/*
 * A file with an active REST lease is as good as open for writing and deleting by somebody who lets
 * others read.  The lease is in the file's record and not in the table of opens, so whoever opens
 * the file for an SMB client asks share_modes_conflict about it too (open_table.h says when).
 */
#define SHARE_MODE_OF_LEASE                                                                        \
    ((struct share_mode){ .access = FILE_ACCESS_WRITE | FILE_ACCESS_DELETE,                        \
                          .share = FILE_ACCESS_READ })

bool share_modes_conflict(struct share_mode a, struct share_mode b);

#endif
