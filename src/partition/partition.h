/*
 * partition.h - ordered keys, snapshot reads, and one way to change anything.
 *
 *   read:    a view of one partition is a consistent state of it; it never blocks a change
 *            and no change blocks it
 *   update:  a decision function reads and writes through a `struct change`, then says commit
 *            (OK) or abort (any error); the caller is told when the change is durable
 *
 * A partition is the unit of atomicity: all that one update reads and writes lies in it.  It is
 * named by a short byte string; the service layer decides what partitions there are.  Keys are
 * ordered by their bytes.  Names of partitions, and values, are never empty.
 *
 * Rules for a decision function (the contrary mode of the memory engine tests them):
 *   1. It decides from `change` and its argument alone: no other partition, no clock, no lock,
 *      no I/O.  The time is change_now().
 *   2. It may run several times before one run's outcome counts; it sets its results afresh
 *      each time and has no other effect.
 *   3. What it gets from the change (values, memory of change_arena) ends with the function;
 *      results are copied into the arena of whoever asked.
 *
 * Order: updates of one partition take effect one after the other; each sees all that were
 * committed before it.  A reader that starts after an update's `done` sees that update.
 *
 * Engines: partition/rocksdb (embedded, durable) and partition/memory (tests, in-memory runs).
 * Both sit behind partition/engine.h; committing in groups, time stamps and payload ownership
 * are the same code for all of them.
 */
#ifndef PARTITION_PARTITION_H
#define PARTITION_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/slice.h"
#include "stream/stream.h"

struct partition_store;
struct partition_lock;
struct long_view;
struct change;
struct cursor;

enum {
    PARTITION_ID_BYTES_MAX = 200,
    PARTITION_KEY_BYTES_MAX = 8192,
};

struct partition_options {
    struct clock *clock;   /* kept; raised to the store's latest tick at open */
    struct stream *stream; /* kept; may be NULL when no payload is ever owned */
    unsigned committers;   /* threads; 0 runs updates in the caller's thread (tests, simulation) */
    bool by_step;          /* with `committers` 0: updates wait for partition_step (simulation) */
    void (*yield)(void *arg); /* by step: see partition_yield; NULL: the oldest update is run */
    void *yield_arg;
    uint64_t contrary_seed; /* memory engine: not 0 re-runs decisions at random */
    uint64_t cache_bytes;   /* rocksdb engine: block cache; 0 for the default */
    bool read_only;         /* rocksdb engine: the store is there and stays as it is; there are no
                               updates, and nothing is settled or reclaimed */
};

/*
 * Take the data directory `path` for this process, before anything in it is opened.  It is made
 * if it is missing; a new one is marked as a data directory of this format.
 *   ERR_LOCKED           another process has it
 *   ERR_FORMAT_UNKNOWN   it was written in a format this program does not know, or holds files
 *                        that are no data directory; it has not been touched
 *   ERR_IO, ERR_NO_SPACE
 */
MUST_CHECK enum err partition_prepare_directory(const char *path, struct partition_lock **lock);

/*
 * The same for a data directory that is to be looked at: nothing is made.
 *   ERR_NOT_FOUND   there is none at `path`
 */
MUST_CHECK enum err partition_lock_directory(const char *path, struct partition_lock **lock);

/* What a directory with the files of a store is. */
enum partition_directory {
    PARTITION_DIRECTORY_STORE,
    PARTITION_DIRECTORY_BACKUP, /* the files of a store that nobody serves (backup/) */
};

/*
 * Mark a directory as one of this format, durably: whatever is in it before is a store, or a
 * backup, from then on.  partition_prepare_directory refuses a backup (ERR_FORMAT_UNKNOWN) and
 * partition_lock_directory takes both.  ERR_IO, ERR_NO_SPACE.
 */
MUST_CHECK enum err partition_mark_directory(const char *path, enum partition_directory kind);

/* What the directory is marked as; nothing is made or locked.
   ERR_NOT_FOUND, ERR_FORMAT_UNKNOWN, ERR_IO. */
MUST_CHECK enum err partition_directory_kind(const char *path, enum partition_directory *kind);

/* Let go of the directory, after everything in it was closed.  NULL is fine. */
void partition_lock_free(struct partition_lock *lock);

/*
 * Open or create a store in the data directory `path`, which this process has taken with
 * partition_prepare_directory.
 *   ERR_LOCKED           it is open already
 *   ERR_CORRUPT, ERR_IO, ERR_NO_SPACE
 */
MUST_CHECK enum err partition_open_rocksdb(const char *path,
                                           const struct partition_options *options,
                                           struct partition_store **store);

/* An empty store in memory, gone at close. */
struct partition_store *partition_open_memory(const struct partition_options *options);

/* Finishes updates under way; their `done` submits no more.  No view is open. */
void partition_close(struct partition_store *store);

/* --- update --- */

typedef enum err change_fn(struct change *change, void *arg);

/*
 * One update.  The caller owns the struct and keeps it, and the bytes of `partition`, until
 * `done` is called.
 */
struct partition_update {
    struct slice partition;
    change_fn *decide;
    void *arg; /* for both functions */
    /* Called once, on a committer's thread, with what `decide` said; OK means durable.
       ERR_NO_SPACE when it could not be written; nothing has changed then. */
    void (*done)(void *arg, enum err err);

    /* result: the instant of the run that counts, also when it was refused */
    int64_t tick;

    /* for the partition layer */
    struct partition_update *next;
    enum err err;
};

/* Queue the update and return; `done` may be called before this returns. */
void partition_update(struct partition_store *store, struct partition_update *update);

/* In a store by step: run up to `updates_max` of the updates that wait, oldest first, as one group,
   and call their `done`.  Returns how many it ran. */
size_t partition_step(struct partition_store *store, size_t updates_max);

/* Whoever waits for an update calls this until the update is done: in a store by step it lets the
   others go on, which call partition_step sooner or later.  False: the store works by itself. */
bool partition_yield(struct partition_store *store);

/* The instant of this change, in ticks: later than that of every earlier change. */
int64_t change_now(const struct change *change);

/* Memory that ends with the decision function. */
struct arena *change_arena(struct change *change);

/* The value of a key.  ERR_NOT_FOUND; ERR_CORRUPT or ERR_IO from the engine. */
MUST_CHECK enum err change_get(struct change *change, struct slice key, struct slice *value);

/* Set or remove a key.  Both copy what they are given. */
void change_put(struct change *change, struct slice key, struct slice value);
void change_delete(struct change *change, struct slice key);

/*
 * The keys with `prefix`, from `from` on (empty: from the first), as the change sees them, its
 * own writes included.  Keys may be written while the cursor is open; those that lie ahead of it
 * are seen.
 */
struct cursor *change_scan(struct change *change, struct slice prefix, struct slice from);

/* The same, before `until`: an engine may keep removed keys for a while and pass by them, and this
   one does not pass by those behind the bound. */
struct cursor *change_scan_until(struct change *change, struct slice prefix, struct slice from,
                                 struct slice until);

/*
 * Payload ownership, atomic with the change.  A range is live while it has an owner; owners
 * are told apart by a number the caller chooses.  When the last owner lets go and the change is
 * durable, the range is reclaimed in the background once no reader needs it.
 *
 * To own a range that has an owner already (a copy), pin it first, under a view that shows it
 * live, and keep it pinned until `done`: otherwise it may be reclaimed in between.
 *
 * A partition disowns what it has owned itself: long views rely on it.
 */
void change_own(struct change *change, const struct stream_range *range, uint64_t owner);
void change_disown(struct change *change, const struct stream_range *range, uint64_t owner);

/*
 * Mark the partition, or remove its mark, atomically with the change: a marked partition has work
 * to do in the background, and partition_each_marked finds it after a restart.  It does not matter
 * whether it was marked before.  Each call writes a row, so a caller who knows leaves it out.
 */
void change_mark(struct change *change);
void change_unmark(struct change *change);

/* --- read --- */

/*
 * A consistent state of a partition.  The caller owns the struct.  Payload ranges found through
 * a view can be pinned until it is closed.  There are two kinds:
 *
 *   short   to look something up.  Reclaiming, in the whole store, waits for it.
 *   long    to read for as long as a client takes.  While it is open no range it names is
 *           reclaimed: stream_pin succeeds for it at any time.  Only the reclaiming of what its
 *           own partition has let go of since is put off; everything else goes on.
 *
 * A view may be used and closed by another thread than opened it, by one at a time.
 */
struct partition_view {
    struct partition_store *store;
    struct slice partition; /* the caller keeps the bytes */
    void *snapshot;
    unsigned guard;              /* of the stream, while a short view is open */
    struct long_view *long_view; /* at the reclaimer, while a long view is open; or NULL */
};

void partition_view_open(struct partition_store *store, struct slice partition,
                         struct partition_view *view);
void partition_view_open_long(struct partition_store *store, struct slice partition,
                              struct partition_view *view);

/* Closes a view of either kind. */
void partition_view_close(struct partition_view *view);

/* The value of a key, copied into the arena.  ERR_NOT_FOUND; ERR_CORRUPT or ERR_IO. */
MUST_CHECK enum err partition_view_get(struct partition_view *view, struct arena *arena,
                                       struct slice key, struct slice *value);

/* The keys that begin with `prefix`, from `from` on (empty: from the first), in order. */
struct cursor *partition_view_scan(struct partition_view *view, struct slice prefix,
                                   struct slice from);

/* The same, before `until`; see change_scan_until. */
struct cursor *partition_view_scan_until(struct partition_view *view, struct slice prefix,
                                         struct slice from, struct slice until);

/* The latest committed value of one key: a view of a single read, without its cost.  Payload
   ranges in the value may be gone by the time they are pinned. */
MUST_CHECK enum err partition_get(struct partition_store *store, struct arena *arena,
                                  struct slice partition, struct slice key, struct slice *value);

/* The same, for a key that nearly every request reads and few change, in a partition that is seldom
   changed: the answer is kept for as long as it is the latest (row_cache.h). */
MUST_CHECK enum err partition_get_often(struct partition_store *store, struct arena *arena,
                                        struct slice partition, struct slice key,
                                        struct slice *value);

/*
 * A look: what was read of a partition, without a view, between partition_look and the last time
 * that partition_look_is_latest says so, is of one state, and that is the latest at that time.  A
 * partition that is being changed has no such looks.
 */
uint64_t partition_look(struct partition_store *store, struct slice partition);
bool partition_look_is_latest(struct partition_store *store, struct slice partition, uint64_t look);

/*
 * Call `fn` for every partition that is marked at this moment, in no order that matters, until it
 * returns false.  `partition` is valid during the call.  `fn` may open views and submit updates;
 * what they mark or unmark changes nothing about which partitions it is called for.
 *   ERR_CORRUPT or ERR_IO, before the first call of `fn`
 */
MUST_CHECK enum err partition_each_marked(struct partition_store *store,
                                          bool (*fn)(void *arg, struct slice partition), void *arg);

/* --- cursors --- */

/*
 * Step to the next key.  ERR_NOT_FOUND past the last.  `key` (the whole key, prefix included) and
 * `value` are valid until the next call on the cursor.
 */
MUST_CHECK enum err cursor_next(struct cursor *cursor, struct slice *key, struct slice *value);

/* Go on at the first key not before `key`, which lies after the present one. */
void cursor_seek(struct cursor *cursor, struct slice key);

/* Cursors of a view are freed before it is closed, those of a change before `decide` returns. */
void cursor_free(struct cursor *cursor);

/* --- reclaiming --- */

/*
 * Make one pass of the reclaimer now: for tests and shutdown.  In the ordinary run a background
 * thread makes passes by itself; a store without committers has no such thread.  Returns how many
 * ranges were given back.
 */
uint64_t partition_reclaim(struct partition_store *store);

/* --- backing up --- */

/*
 * From the return of partition_hold_space until partition_free_space nothing that any state of the
 * store in between names is given back: its extents can be copied behind its back, those it writes
 * to included.  What is let go of meanwhile is reclaimed afterwards.  Holds are counted.  A store
 * that is only read holds anyway.
 */
void partition_hold_space(struct partition_store *store);
void partition_free_space(struct partition_store *store);

/*
 * The rows of one moment, as a store of its own in directory `path`/meta: every update whose `done`
 * was called before is in it, and of two updates of which one was done before the other was asked
 * for, whatever their partitions, never only the later.  `path` is there, `path`/meta is not.
 *   ERR_NOT_IMPLEMENTED   the store is in memory; ERR_IO, ERR_NO_SPACE
 */
MUST_CHECK enum err partition_checkpoint(struct partition_store *store, const char *path);

/* An extent, as the rows have it.  A value; `ranges` is valid during the call. */
struct partition_extent {
    uint64_t id;
    uint64_t length; /* of the file, when it is settled; 0 otherwise */
    const struct stream_range
        *ranges; /* that are owned or not yet reclaimed, in order, each once */
    size_t range_count;
};

/*
 * Call `fn` for each extent that rows are about, by its id, until it says other than OK, which is
 * returned.  There are no updates meanwhile.  ERR_CORRUPT or ERR_IO.
 */
MUST_CHECK enum err
partition_each_extent(struct partition_store *store,
                      enum err (*fn)(void *arg, const struct partition_extent *extent), void *arg);

/* --- reading all, while the store is used --- */

/* The first and the last payload that has an owner now.  ERR_NOT_FOUND, ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err partition_first_payload(struct partition_store *store,
                                            struct stream_range *range);
MUST_CHECK enum err partition_last_payload(struct partition_store *store,
                                           struct stream_range *range);

/*
 * Pin the first payload that has an owner now and is not before `from`, of which extent and offset
 * count.
 *   ERR_NOT_FOUND          there is none
 *   ERR_CORRUPT, ERR_IO    it cannot be pinned; `*range` says which, and there is no pin
 */
MUST_CHECK enum err partition_pin_next(struct partition_store *store,
                                       const struct stream_range *from, struct stream_range *range,
                                       struct stream_pin **pin);

/*
 * Read about `bytes_max` of rows for their checksums, from the place `from` on (empty: the first).
 * `*next` is the place to go on at, in the arena, or empty at the end.  ERR_CORRUPT, ERR_IO.
 */
MUST_CHECK enum err partition_verify_rows(struct partition_store *store, struct arena *arena,
                                          struct slice from, uint64_t bytes_max, struct slice *next,
                                          uint64_t *bytes);

/* --- checking: while there are no updates --- */

/*
 * Call `fn` for every partition that has a key, until it returns false.  `partition` is valid
 * during the call.  ERR_CORRUPT or ERR_IO.
 */
MUST_CHECK enum err partition_each(struct partition_store *store,
                                   bool (*fn)(void *arg, struct slice partition), void *arg);

/* Whether the partition is marked.  ERR_CORRUPT or ERR_IO. */
MUST_CHECK enum err partition_is_marked(struct partition_store *store, struct slice partition,
                                        bool *marked);

/* Call `fn` for every owner of every range, by extent, offset and owner.  Rows that cannot be read
   are left out: partition_check reports them.  ERR_CORRUPT or ERR_IO. */
MUST_CHECK enum err partition_each_owner(struct partition_store *store,
                                         void (*fn)(void *arg, const struct stream_range *range,
                                                    uint64_t owner),
                                         void *arg);

/* What partition_check has seen. */
struct partition_census {
    uint64_t extent_count;
    uint64_t live_bytes;        /* of payloads that have an owner */
    uint64_t reclaimable_bytes; /* of the files: let go of, or never finished */
};

/*
 * Compare the rows about ownership with each other and with the extents, and read every payload
 * that has an owner.  `report` is called for each fault, with the range it is about, or NULL.  What
 * the reclaimer will give back by itself is no fault, but counted.  Needs a stream.
 *   ERR_CORRUPT or ERR_IO   the rows cannot be read to their end; that was reported too
 */
struct partition_check {
    void (*report)(void *arg, const struct stream_range *range, const char *words);
    /* Called after `report` when the fault is in what is known of a settled extent; or NULL. */
    void (*unsettle)(void *arg, uint64_t extent_id);
    void *arg;
    struct partition_census census; /* result */
};

MUST_CHECK enum err partition_check(struct partition_store *store, struct partition_check *check);

/* Read all of a payload and compare it with its checksums; needs a stream.  ERR_CORRUPT, ERR_IO. */
MUST_CHECK enum err partition_check_payload(struct partition_store *store,
                                            const struct stream_range *range);

/* --- repairing: a store that is closed again before it is used --- */

enum partition_repair_kind {
    PARTITION_REPAIR_PUT,      /* the row `key` of `partition` is to be `value` */
    PARTITION_REPAIR_DELETE,   /* is not to be there */
    PARTITION_REPAIR_MARK,     /* `partition` is marked */
    PARTITION_REPAIR_OWN,      /* `range` has `owner` */
    PARTITION_REPAIR_DISOWN,   /* has it no more, and is reclaimed if it has no other */
    PARTITION_REPAIR_UNSETTLE, /* what is known of `range.extent_id` is forgotten: the next open
                                  finds out which of its bytes are live, and frees the others */
};

/* A value; what it points to is the caller's. */
struct partition_repair {
    enum partition_repair_kind kind;
    bool needs_all; /* for whoever decides which are made: right only if all could be read */
    struct slice partition;
    struct slice key;
    struct slice value;
    struct stream_range range;
    uint64_t owner;
};

/* Make all of them at once, durably.  ERR_NO_SPACE: nothing has changed. */
MUST_CHECK enum err partition_repair(struct partition_store *store,
                                     const struct partition_repair *repairs, size_t count);

#endif
