/*
 * open_client.h - an SMB client, as the table of opens knows it.
 *
 * Handles and oplocks belong to a client: what SMB calls a client by its ClientGuid, with one or
 * more sessions and connections.  Lease keys are unique within one.  This is how the SMB front end
 * appears to the table, and how a test or the lab plays an SMB client:
 *
 *     client = open_client_new(&settings);
 *     open_table_open(table, &request);            -> done, with a handle id
 *     ... `wake` is called ...
 *     while (open_client_next(client, &event))     -> break this, that handle is closed
 *         ...
 *     open_table_acknowledge_lease(table, client, ...);
 *     while (open_client_close_next(table, client, &closed)) ...
 *     open_client_free(client);
 *
 * Events wait in the client until they are fetched, so none is lost.  Breaks are fetched before
 * closings, for others wait for them; of a kind the oldest comes first.  There is at most one for
 * each oplock (of breaks that nobody has fetched the last one counts) and one for each handle, so a
 * client that does not fetch them costs no more than its handles.  A break of an oplock whose last
 * handle is closed is forgotten.
 *
 * Threads: any thread may call anything.  `wake` is called with locks of the table held: it may
 * signal (an eventfd, a condition variable) and must not call the table, wait or do more.
 */
#ifndef SERVICE_FILE_OPEN_CLIENT_H
#define SERVICE_FILE_OPEN_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/uuid.h"
#include "service/file/oplock.h"

struct open_client;

struct open_client_settings {
    struct slice
        address;       /* "ip:port", for List Handles; copied, cut at LIMIT_SMB_CLIENT_TEXT_MAX */
    struct slice name; /* of the machine; may be empty; copied likewise */
    void (*wake)(void *arg); /* there is an event; may be NULL */
    void *arg;
};

enum open_event_kind {
    OPEN_EVENT_BREAK,  /* come down from notice.from to notice.to */
    OPEN_EVENT_CLOSED, /* the handle was closed by force; using it is ERR_HANDLE_CLOSED */
};

/* A value. */
struct open_event {
    enum open_event_kind kind;
    uint64_t handle_id;          /* CLOSED; BREAK of a legacy oplock, else 0 */
    struct uuid lease_key;       /* BREAK of a lease, else nil */
    struct oplock_notice notice; /* BREAK */
};

struct open_client *open_client_new(const struct open_client_settings *settings);

/* The next event; false when there is none. */
bool open_client_next(struct open_client *client, struct open_event *event);

/* The client has no handle left and no open that waits.  NULL is fine. */
void open_client_free(struct open_client *client);

#endif
