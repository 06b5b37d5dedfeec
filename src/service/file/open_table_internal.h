/*
 * open_table_internal.h - the insides of the table of opens, for its files only.
 *
 *     open_table.c    stripes, files, handles; what clients and REST call
 *     open_admit.c    may a request go on: the decisions, on a file that is locked
 *     open_wait.c     requests that wait, and when they are looked at again
 *     open_client.c   clients: their events, oplocks and handles
 *     open_list.c     List Handles
 *
 * Locks, in the order they are taken:  a stripe's  ->  a client's.  One of each at a time.
 *
 * A call locks the stripe of its file, changes it, has all waiting requests of that file looked at
 * again (open_work__review), unlocks, and calls `done` of those that are decided
 * (open_work__finish).
 */
#ifndef SERVICE_FILE_OPEN_TABLE_INTERNAL_H
#define SERVICE_FILE_OPEN_TABLE_INTERNAL_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/mutex.h"
#include "service/file/open_table.h"
#include "service/limits.h"

enum {
    OPEN_STRIPE_BITS = 6,
    OPEN_STRIPE_COUNT = 1 << OPEN_STRIPE_BITS, /* the low bits of a handle id say which */
    OPEN_BUCKET_COUNT = 256, /* of a stripe: LIMIT_HANDLES_MAX makes chains of twelve */
    OPEN_CLIENT_BUCKET_COUNT = 64,
};

/* An oplock, with one handle (legacy) or as many as were opened with its key. */
struct open_oplock {
    /* set when made */
    struct open_file *file;
    struct file_key file_key;
    struct open_client *client;
    struct uuid lease_key; /* nil if legacy */
    uint64_t handle_id;    /* 0 if a lease */

    /* under the stripe's lock */
    struct oplock state;
    size_t handle_count;
    struct list_link in_file;

    /* under the client's lock */
    struct list_link in_client; /* leases only */
    struct list_link in_inbox;  /* while `notice` is to be fetched */
    struct oplock_notice notice;
};

struct open_handle {
    /* set when made */
    uint64_t id;
    struct open_file *file;
    struct open_client *client;
    uint64_t parent_id;
    uint64_t session_id;
    int64_t opened_at;
    struct share_mode mode;
    bool delete_on_close;
    struct open_oplock *oplock; /* NULL if no caching was wanted */

    /* under the stripe's lock */
    struct list_link in_file;
    struct list_link in_stripe;

    /* under the client's lock */
    struct list_link in_client;
    struct list_link in_inbox; /* closed by force, and that is to be fetched */
};

/* A file that somebody has open, operates on or waits for.  All under the stripe's lock. */
struct open_file {
    struct file_key key;
    struct list_link in_stripe;
    struct list_link in_busy; /* the files that time matters to */
    struct list handles;      /* open_handle */
    size_t handle_count;
    struct list oplocks;    /* open_oplock */
    struct list operations; /* open_wait of open_operation: those under way */
    struct list waits;      /* open_wait, first come first */
    size_t wait_count;
    struct byte_lock_list locks;
    bool delete_pending;
    bool deleting; /* by whoever closed the last handle; delete_pending too */
};

struct open_stripe {
    struct mutex lock;
    struct list files[OPEN_BUCKET_COUNT];
    struct list handles[OPEN_BUCKET_COUNT];
    struct list busy; /* open_file */
};

struct open_table {
    /* set when made */
    struct clock *clock;
    uint64_t first_handle_id;

    _Atomic uint64_t handles_opened;
    _Atomic size_t handle_count;
    _Atomic size_t delete_pending_count; /* files */
    _Atomic size_t busy_count;           /* files */
    struct open_stripe stripes[OPEN_STRIPE_COUNT];
};

struct open_client {
    /* set when made */
    char address[LIMIT_SMB_CLIENT_TEXT_MAX];
    char name[LIMIT_SMB_CLIENT_TEXT_MAX];
    size_t address_len;
    size_t name_len;
    void (*wake)(void *arg);
    void *arg;

    struct mutex lock;
    struct list handles; /* open_handle */
    struct list leases[OPEN_CLIENT_BUCKET_COUNT];
    struct list closed; /* open_handle: owned by the list */
    struct list broken; /* open_oplock */
};

/* One call's work on a stripe. */
struct open_work {
    struct open_table *table;
    struct open_stripe *stripe; /* locked */
    int64_t now;
    struct list decided; /* open_wait: their `done` is called when the stripe is unlocked */
};

/* --- open_table.c --- */

size_t open_table__stripe_of(struct file_key key);

void open_work__begin(struct open_work *work, struct open_table *table, size_t stripe);

/* The file, or NULL. */
struct open_file *open_work__find_file(struct open_work *work, struct file_key key);

/* The file, made if it is not there. */
struct open_file *open_work__file(struct open_work *work, struct file_key key);

struct open_handle *open_work__find_handle(struct open_work *work, uint64_t handle_id);

/* The client's lease on the file under `key`, or NULL. */
struct open_oplock *open_file__find_lease(const struct open_file *file,
                                          const struct open_client *client, const struct uuid *key);

void open_work__set_delete_pending(struct open_work *work, struct open_file *file, bool pending);

/*
 * Make the handle of an admitted open, and what caching it gets.  ERR_OPLOCK_KEY_IN_USE or
 * ERR_OPEN_TABLE_FULL; then nothing is made.
 */
MUST_CHECK enum err open_work__add_handle(struct open_work *work, struct open_file *file,
                                          struct open_request *request);

/* --- open_admit.c --- */

/* What there is around an oplock that `own`, or if that is NULL a new one, is to become. */
struct oplock_surroundings open_work__surroundings(struct open_work *work,
                                                   const struct open_file *file,
                                                   const struct open_oplock *own,
                                                   const struct open_request *request);

enum open_verdict_kind {
    OPEN_ADMITTED,
    OPEN_REFUSED,
    OPEN_MUST_WAIT,
};

struct open_verdict {
    enum open_verdict_kind kind;
    enum err err;                 /* REFUSED */
    enum open_wait_reason reason; /* MUST_WAIT */
};

/*
 * Look at a request, and break what is in its way.  If it is admitted its consequences are made:
 * the handle, the locks, the operation under way.
 */
struct open_verdict open_work__admit(struct open_work *work, struct open_file *file,
                                     struct open_wait *wait);

/* --- open_wait.c --- */

/* Look at a new request of the file: it is decided, or waits. */
void open_work__start(struct open_work *work, struct open_file *file, struct open_wait *wait);

/*
 * Something about the file has changed, or time has passed: settle its oplocks, look at its waiting
 * requests again, and forget the file if nothing is left of it: false then.
 */
bool open_work__review(struct open_work *work, struct open_file *file);

/* Unlock the stripe and call `done` of what is decided. */
void open_work__finish(struct open_work *work);

/* --- open_client.c: the caller has the lock of the stripe, and not the client's --- */

/* Make the client fetch `notice`; it replaces one that is not fetched yet. */
void open_client__tell(struct open_oplock *oplock, const struct oplock_notice *notice);

/* Which file the client holds the lease `key` for; false if none.  No lock is needed here. */
bool open_client__find_lease(struct open_client *client, const struct uuid *key,
                             struct file_key *file_key);

/* False if the key has come to be another file's. */
bool open_client__add_lease(struct open_client *client, struct open_oplock *lease);

/* The oplock is going to be freed. */
void open_client__forget_oplock(struct open_oplock *oplock);

void open_client__add_handle(struct open_handle *handle);

/* The handle is out of the table.  FORCED hands it to the client's events; else it can be freed. */
enum open_closing {
    OPEN_CLOSED_BY_OWNER,
    OPEN_CLOSED_BY_FORCE,
};
void open_client__remove_handle(struct open_handle *handle, enum open_closing closing);

/* The id of some handle of the client, or 0. */
uint64_t open_client__any_handle(struct open_client *client);

#endif
