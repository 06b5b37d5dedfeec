#include "privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum {
    PASSWD_BYTES_MAX = 16 * 1024,
};

/* Logs and gives ERR_IO for the system call that just failed. */
static enum err system_error(const char *what, const char *name)
{
    char text[128];
    log_error("main", "%s %s: %s", what, name, strerror_r(errno, text, sizeof(text)));
    return ERR_IO;
}

enum err privileges_find(struct arena *arena, const char *user, struct privileges *privileges)
{
    *privileges = (struct privileges){ 0 };
    if (user == NULL) {
        if (geteuid() == 0)
            log_warn("main", "running as root; --user NAME gives that up once the ports are open");
        return OK;
    }
    struct passwd entry;
    struct passwd *found = NULL;
    char *room = arena_bytes(arena, PASSWD_BYTES_MAX);
    if (getpwnam_r(user, &entry, room, PASSWD_BYTES_MAX, &found) != 0 || found == NULL) {
        log_error("main", "--user %s: there is no such user", user);
        return ERR_INVALID_INPUT;
    }
    if (geteuid() != 0 && (geteuid() != found->pw_uid || getuid() != found->pw_uid)) {
        log_error("main", "--user %s: only root can become another user", user);
        return ERR_INVALID_INPUT;
    }
    *privileges = (struct privileges){ found->pw_name, found->pw_uid, found->pw_gid };
    return OK;
}

enum err privileges_give_directory(const struct privileges *privileges, const char *path)
{
    if (privileges->user == NULL || geteuid() != 0)
        return OK;
    if (mkdir(path, 0700) != 0)
        return errno == EEXIST ? OK : system_error("cannot make", path);
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return system_error("cannot open", path);
    enum err err = OK;
    if (fchown(directory, privileges->uid, privileges->gid) != 0)
        err = system_error("cannot give away", path);
    close(directory);
    return err;
}

/* Real, effective and saved ids are the user's, and none of root's can be had. */
static bool is_dropped(const struct privileges *privileges)
{
    uid_t uids[3];
    gid_t gids[3];
    if (getresuid(&uids[0], &uids[1], &uids[2]) != 0 ||
        getresgid(&gids[0], &gids[1], &gids[2]) != 0)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (uids[i] != privileges->uid || gids[i] != privileges->gid)
            return false;
    /* Whoever asked to be root is. */
    return privileges->uid == 0 || (setuid(0) != 0 && seteuid(0) != 0);
}

static enum err become_user(const struct privileges *privileges)
{
    const char *user = privileges->user;
    if (geteuid() != 0)
        return OK; /* privileges_find has seen that it is the user already */
    /* Groups first: afterwards there is no right to change them. */
    if (initgroups(user, privileges->gid) != 0)
        return system_error("cannot take the groups of", user);
    if (setresgid(privileges->gid, privileges->gid, privileges->gid) != 0 ||
        setresuid(privileges->uid, privileges->uid, privileges->uid) != 0)
        return system_error("cannot become", user);
    if (is_dropped(privileges))
        return OK;
    log_error("main", "root's rights remain after becoming %s", user);
    return ERR_IO;
}

enum err privileges_drop(const struct privileges *privileges)
{
    /* Nothing is executed here, so nothing is lost: no program that an intruder might start can
       gain what its file's set-user-id bit or capabilities would give. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return system_error("cannot refuse", "new privileges");
    if (privileges->user == NULL)
        return OK;
    const enum err err = become_user(privileges);
    if (err != OK)
        return err;
    /* A core file would have the accounts' keys, and a debugger of the same user would see them. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return system_error("cannot refuse", "core dumps");
    return OK;
}
