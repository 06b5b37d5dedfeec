/*
 * control_client.h - the other end of control.h: ask the server of a data directory to hold still.
 *
 * Blocking; one thread.
 */
#ifndef BACKUP_CONTROL_CLIENT_H
#define BACKUP_CONTROL_CLIENT_H

#include "base/error.h"

/*
 * Ask the server that uses data directory `path` to hold its space and to make a checkpoint.  The
 * hold lasts until the connection is closed.
 *   ERR_NOT_FOUND       there is no such socket, or nobody listens
 *   ERR_BUSY            another backup is under way
 *   ERR_IO              the server could not, or it has gone; it has logged why
 */
MUST_CHECK enum err control_client_begin(const char *path, int *connection);

/* End the hold and the connection.  ERR_IO if it had ended before. */
MUST_CHECK enum err control_client_end(int connection);

#endif
