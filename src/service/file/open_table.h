/*
 * open_table.h - who has which file open, over both protocols.
 *
 * One table for the server.  It holds, for each file that is in use, the handles of SMB clients
 * with their access, share mode, byte-range locks and oplocks, whether the file is delete-pending,
 * and the operations that are under way.  Everything that touches a file asks it first; that is
 * what makes a REST write meet an SMB lock, and an SMB open a REST delete, always and not by luck.
 *
 *   REST   open_table_begin(operation)  -> admitted: commit or read -> open_table_end
 *   SMB    open_table_open(request)     -> a handle id; with it
 *          open_table_begin / _end      each read, write, rename
 *          open_table_lock / _unlock, open_table_acknowledge_*, open_table_close
 *
 * It is memory only.  Handles do not survive a restart of the server: SMB clients open their files
 * again.  Durable and persistent handles, by which a client could take a handle up again after its
 * connection or the server was lost, are not kept here: whoever loses a client closes its handles.
 * A file is known by the incarnation of its share and its id, never by its name: renaming changes
 * nothing here.
 *
 * WAITING.  Three requests may have to wait: an open, an operation and a lock.  Each embeds a
 * `struct open_wait` and is the caller's memory.  `done` is called exactly once, with no lock held,
 * on the thread that made it possible or before the function returns; until then the request
 * belongs to the table.  What is waited for:
 *
 *   an acknowledgement  of a client that may have cached data or put off closing.  It has
 *                       LIMIT_OPLOCK_ACK_SEC, then its cache counts as lost.  REST gives up before,
 *                       after its timeout or LIMIT_CACHE_FLUSH_WAIT_SEC: ERR_CACHE_FLUSH_DELAY.
 *   operations          under way that the request would have conflicted with.  They end by
 *                       themselves, when their commit is through; an SMB client does not get a
 *                       sharing violation because REST happens to be writing just now.  Operations
 *                       that come later queue up behind the request, so it has its turn; after
 *                       LIMIT_OPERATION_WAIT_SEC it is refused.
 *   another lock        for as long as it takes, if the client wants that.
 *
 * Nobody sleeps here.  Time passes when open_table_expire is called; a server does that a few times
 * a second, and a test when it has moved the clock.
 *
 * OPENING A FILE FOR AN SMB CLIENT takes two looks at it.  The name is looked up, the id is opened
 * here, and then, in a view taken after `done`, the file's record is read again: it may be gone
 * (the open waited for a REST delete), or leased over REST, in which case SHARE_MODE_OF_LEASE is
 * asked too.  If so the handle is closed again.  The order makes it exact: a REST operation that
 * was admitted before is in that view, and one that comes later meets the handle.
 *
 * A REST REQUEST knows a name.  It looks the id up, is admitted with that, and its update or its
 * view looks the name up once more: if another file has come to be under it, the operation is ended
 * and begun anew with that one.  A file that is not there yet has nobody to ask.
 *
 * SEVERAL FILES (rename, copy) are begun one after the other in the order of file_key_compare, so
 * that two such operations cannot each hold what the other waits for.
 *
 * READS end as soon as they have their view of the store: what they send afterwards is the state of
 * that instant.
 *
 * Threads: any thread may call anything.  Files are spread over stripes with a lock each; the locks
 * are never held while calling `done`.
 */
#ifndef SERVICE_FILE_OPEN_TABLE_H
#define SERVICE_FILE_OPEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/uuid.h"
#include "service/file/byte_lock.h"
#include "service/file/file_operation.h"
#include "service/file/open_client.h"
#include "service/file/oplock.h"
#include "service/file/share_mode.h"

struct open_table;
struct open_file;

/* A file or directory.  A value. */
struct file_key {
    uint64_t share;   /* the incarnation of its share */
    uint64_t file_id; /* unique in it */
    int64_t snapshot; /* the instant of a share snapshot, which is read only; 0: the share itself */
};

/* Negative, zero or positive. */
int file_key_compare(const struct file_key *a, const struct file_key *b);

/* `clock` is kept; it is read for deadlines and for the time handles are opened at. */
struct open_table *open_table_new(struct clock *clock);

/* Nothing is open, under way or waiting.  NULL is fine. */
void open_table_free(struct open_table *table);

/* --- requests that may wait --- */

enum open_wait_kind {
    OPEN_WAIT_OPEN,
    OPEN_WAIT_OPERATION,
    OPEN_WAIT_LOCK,
};

/* What a waiting request waits for. */
enum open_wait_reason {
    OPEN_WAIT_FOR_NOTHING,
    OPEN_WAIT_FOR_BREAK,
    OPEN_WAIT_FOR_OPERATIONS,
    OPEN_WAIT_FOR_LOCK,
};

/* Embedded first in every request.  All zero bytes but for what the caller fills. */
struct open_wait {
    /* filled by the caller */
    void (*done)(void *arg, enum err err);
    void *arg;

    /* for the table, under the lock of the stripe */
    enum open_wait_kind kind;
    enum open_wait_reason reason;
    bool waiting;
    size_t stripe;
    struct open_file *file;
    struct list_link link;    /* among the file's waiters, or its operations */
    struct list_link decided; /* while `done` is to be called */
    int64_t gives_up_at;      /* the tick from which the request as a whole waits no longer */
    int64_t deadline;         /* the same for its present reason; not after gives_up_at */
    enum err err;
};

/* How a client wants to cache. */
enum open_caching {
    OPEN_CACHING_NONE,
    OPEN_CACHING_LEGACY,
    OPEN_CACHING_LEASE,
};

/* An SMB client opens a file or directory that exists. */
struct open_request {
    struct open_wait wait;

    /* filled by the caller */
    struct open_client *client;
    struct file_key key;
    uint64_t parent_id; /* of the directory it is in; 0 for the root of the share */
    uint64_t session_id;
    struct share_mode mode;
    bool directory;
    bool overwrite;       /* the open empties the file */
    bool delete_on_close; /* closing the handle makes the file delete-pending */
    enum open_caching caching;
    unsigned wanted;       /* of enum caching, unless OPEN_CACHING_NONE */
    struct uuid lease_key; /* OPEN_CACHING_LEASE: not nil */

    /* results */
    uint64_t handle_id;
    unsigned granted; /* of enum caching */
    uint16_t epoch;
    bool breaking; /* the lease is being broken: the break says to what */
};

/*
 * Open.  Handle ids are unique for as long as the clock goes forward, across restarts too.
 *
 *   ERR_DELETE_PENDING      the file is marked for deletion
 *   ERR_SHARING_VIOLATION   a handle, or for too long an operation, is in the way
 *   ERR_OPLOCK_KEY_IN_USE   the client holds the lease key for another file
 *   ERR_OPEN_TABLE_FULL     a limit
 *   ERR_CANCELLED           open_table_cancel
 */
void open_table_open(struct open_table *table, struct open_request *request);

/* A REST operation, or one with a handle.  To be kept until open_table_end, if it is admitted. */
struct open_operation {
    struct open_wait wait;

    /* filled by the caller */
    enum file_operation operation;
    struct file_key key;     /* REST */
    uint64_t handle_id;      /* by handle */
    struct byte_range range; /* if the operation uses one; it is a valid one */
    int32_t timeout_sec;     /* REST: the request's own; 0 if it names none */
};

/*
 * Admit an operation.
 *
 *   ERR_DELETE_PENDING      REST: the file is marked for deletion
 *   ERR_SHARING_VIOLATION   REST: a handle does not share what it needs, or is open at all
 *   ERR_CACHE_FLUSH_DELAY   REST: a client did not acknowledge in time
 *   ERR_FILE_LOCK_CONFLICT  the range is locked
 *   ERR_HANDLE_CLOSED       by handle: it is not open
 *   ERR_OPEN_TABLE_FULL     a limit
 *   ERR_CANCELLED           open_table_cancel
 *
 * Whether the handle's access is enough is for the front end to say, which has its access mask.
 */
void open_table_begin(struct open_table *table, struct open_operation *operation);

/* An admitted operation is through, or has failed. */
void open_table_end(struct open_table *table, struct open_operation *operation);

/* A value. */
struct lock_element {
    struct byte_range range;
    bool exclusive;
};

struct lock_request {
    struct open_wait wait;

    /* filled by the caller */
    uint64_t handle_id;
    const struct lock_element *elements; /* kept until done */
    size_t count;                        /* at least one */
    bool wait_for_locks; /* else a lock in the way is ERR_LOCK_NOT_GRANTED at once */
};

/*
 * Lock all the ranges, or none.
 *
 *   ERR_INVALID_LOCK_RANGE  a range is not a valid one
 *   ERR_LOCK_NOT_GRANTED    a lock, or for too long an operation, is in the way
 *   ERR_HANDLE_CLOSED       the handle is not open, or was closed while the request waited
 *   ERR_OPEN_TABLE_FULL     a limit
 *   ERR_CANCELLED           open_table_cancel
 */
void open_table_lock(struct open_table *table, struct lock_request *request);

/*
 * Give a waiting request up: its `done` is called with ERR_CANCELLED, before this returns.  False
 * if it does not wait any more; `done` has been called or is about to be.  The request must be
 * alive, so this is for callers that know that their `done` has not freed it.
 */
bool open_table_cancel(struct open_table *table, struct open_wait *wait);

/*
 * Let time pass: unacknowledged breaks and impatient requests.  Returns the tick at which it has
 * to be called again, as things are now; INT64_MAX if nothing waits.
 */
int64_t open_table_expire(struct open_table *table);

/* --- what an SMB client does with a handle --- */

/*
 * Remove locks, one range after the other.  ERR_RANGE_NOT_LOCKED at the first range that is not
 * locked: those before it are unlocked then, as SMB has it.  ERR_HANDLE_CLOSED.
 */
MUST_CHECK enum err open_table_unlock(struct open_table *table, uint64_t handle_id,
                                      const struct byte_range *ranges, size_t count);

/*
 * Acknowledge a break: of the lease `key` of this client, or with a legacy oplock of the handle.
 *
 *   ERR_OPLOCK_NOT_BREAKING  there is no such lease, or it is not being broken
 *   ERR_OPLOCK_ACK_REFUSED   `kept` is more than was asked for; the break goes on
 *   ERR_HANDLE_CLOSED        there is no such handle of this client
 */
MUST_CHECK enum err open_table_acknowledge_lease(struct open_table *table,
                                                 struct open_client *client, const struct uuid *key,
                                                 unsigned kept);
MUST_CHECK enum err open_table_acknowledge_legacy(struct open_table *table,
                                                  struct open_client *client, uint64_t handle_id,
                                                  unsigned kept);

/* Take back FILE_OPERATION_SMB_SET_DELETE: the file is not delete-pending.  ERR_HANDLE_CLOSED. */
MUST_CHECK enum err open_table_clear_delete(struct open_table *table, uint64_t handle_id);

/* What closing a handle leaves to be done. */
struct open_closed {
    /*
     * It was the last handle of a file that is delete-pending.  The caller deletes the file from
     * the store now and then calls open_table_deleted.  Until then the file counts as
     * delete-pending, so nobody sees it between being unlocked and being gone.
     */
    bool delete_file;
    struct file_key key;
};

/* Close: the locks go, and the oplock with its last handle.  ERR_HANDLE_CLOSED. */
MUST_CHECK enum err open_table_close(struct open_table *table, uint64_t handle_id,
                                     struct open_closed *closed);

/* Close some handle of the client; false when it has none.  For a client that is lost. */
bool open_client_close_next(struct open_table *table, struct open_client *client,
                            struct open_closed *closed);

/*
 * A file that was to be deleted is gone from the store, or could not be deleted after all: in
 * either case it is not delete-pending any more.
 */
void open_table_deleted(struct open_table *table, struct file_key key);

/* --- what REST asks about handles --- */

/* Is the file marked for deletion?  Listings leave it out.  Costs next to nothing if no file is. */
bool open_table_is_delete_pending(struct open_table *table, struct file_key key);

/* A handle, for List Handles.  Its path is for the caller to find, by the ids.  A value. */
struct handle_info {
    uint64_t handle_id;
    struct file_key key;
    uint64_t parent_id;
    uint64_t session_id;
    int64_t opened_at; /* ticks */
    struct share_mode mode;
    unsigned caching;     /* of enum caching: what its oplock allows, for the lab */
    struct slice address; /* of the client */
    struct slice name;    /* of the client */
};

struct handle_query {
    uint64_t share;
    int64_t snapshot;        /* 0: the share itself */
    const uint64_t *file_id; /* NULL: every file */
    uint64_t after;          /* handles with larger ids only; 0 to begin with */
    size_t results_max;      /* at least one */
};

/*
 * Handles in the order of their ids, up to `results_max`, allocated in `arena`.  `*next` is what
 * `after` of the next page is, or 0 if this was the last.  Each handle is reported as it was at
 * some instant of the call; opening and closing goes on meanwhile.
 */
size_t open_table_list(struct open_table *table, const struct handle_query *query,
                       struct arena *arena, struct handle_info **handles, uint64_t *next);

/*
 * Force Close Handles: as open_table_close, and the client finds OPEN_EVENT_CLOSED.  A handle that
 * was to delete the file when closed does not; a file that is delete-pending already is deleted
 * with its last handle.  ERR_HANDLE_CLOSED if the share has no such handle; whether it is one of
 * the file that the request names is for the caller to see, by open_table_list.
 */
MUST_CHECK enum err open_table_force_close(struct open_table *table, uint64_t share,
                                           uint64_t handle_id, struct open_closed *closed);

/* How many handles are open, for metrics and tests. */
size_t open_table_handle_count(struct open_table *table);

#endif
