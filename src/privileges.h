/*
 * privileges.h - what the process may do once it has opened what it was started for.
 *
 * Started as root, the server needs root for two things: ports below 1024, and certificate and key
 * files that nobody else may read.  With --user it takes those, then becomes that user for good,
 * before it looks at the data and before the first byte of a client.  The order in main.c:
 *
 *   privileges_find             the user exists, and we can become it
 *   bind, read the key          as root
 *   privileges_give_directory   a data directory that is not there yet is made and given away
 *   privileges_drop             verified: there is no way back
 *   open the data, serve        as the user
 *
 * Root without --user stays root, with a warning: containers in which there is nobody else are run
 * so.
 *
 * All are called from main before threads start.
 */
#ifndef PRIVILEGES_H
#define PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

/* A value; `user` is in the arena given to privileges_find. */
struct privileges {
    const char *user; /* NULL: everything stays as it is */
    uid_t uid;
    gid_t gid;
};

/*
 * `user` is the setting, or NULL.  On ERR_INVALID_INPUT the log says why: there is no such user, or
 * only root could become it.
 */
MUST_CHECK enum err privileges_find(struct arena *arena, const char *user,
                                    struct privileges *privileges);

/*
 * Make the directory if it is not there and give it to the user.  One that is there is left as it
 * is: it could be anybody's.  ERR_IO (logged).
 */
MUST_CHECK enum err privileges_give_directory(const struct privileges *privileges,
                                              const char *path);

/*
 * Become the user, and rule out that anything this process does brings privileges back.  On ERR_IO
 * (logged) the process must end: it may have lost some privileges and not others.
 */
MUST_CHECK enum err privileges_drop(const struct privileges *privileges);

#endif
