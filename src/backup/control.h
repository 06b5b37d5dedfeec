/*
 * control.h - a running server lends its data to a backup: the socket CONTROL in its data
 * directory.
 *
 * The server has the data directory for itself, and only it can say what belongs together at one
 * moment.  It does no more than that: it holds its space back, makes a checkpoint of its metadata
 * in the directory "checkpoint" beside it, and says so.  Copying is the other program's, which
 * reads the files itself, writes wherever its user may, and can be killed.  While the connection is
 * open the hold lasts; when it ends, for whatever reason, the checkpoint is removed and the space
 * given back.
 *
 *   backup                           server
 *   connects, sends "backup\n"  -->  holds its space, makes the checkpoint
 *                               <--  "ready\n", or "busy\n" (another one), or "failed\n"
 *   copies
 *   sends "done\n"              -->  the hold has lasted until now
 *                               <--  "done\n"
 *
 * A copy counts only if the last line came.
 *
 * Who may: the socket's mode is 0600, and a peer of another user than the server's or root is
 * turned away.  It gives nothing that this user could not read anyway.  That is why it is a file
 * and not a path of the admin endpoint, which every local program, and a page in a browser, can
 * reach.
 *
 * One thread.  Rejected: the server writes the backup.  It would have to be allowed to write
 * elsewhere, which a sandboxed service is not; a full disk there would be its trouble; and who
 * asks would write with the server's rights.
 */
#ifndef BACKUP_CONTROL_H
#define BACKUP_CONTROL_H

#include "base/error.h"
#include "partition/partition.h"

#define CONTROL_SOCKET     "CONTROL"
#define CONTROL_CHECKPOINT "checkpoint"

#define CONTROL_WORD_BACKUP "backup\n"
#define CONTROL_WORD_READY  "ready\n"
#define CONTROL_WORD_BUSY   "busy\n"
#define CONTROL_WORD_FAILED "failed\n"
#define CONTROL_WORD_DONE   "done\n"

struct control;

/*
 * Begin to listen in data directory `path`, which this process has.  `path` is copied, `store` is
 * kept.  What a server that ended in the middle of a backup left is removed.
 *   ERR_IO   there can be no socket here; backups need the server to be stopped
 */
MUST_CHECK enum err control_new(const char *path, struct partition_store *store,
                                struct control **control);

/* A backup under way is broken off: it will know.  NULL is fine. */
void control_free(struct control *control);

#endif
