/*
 * background.h - what threads that work behind the clients' backs have in common: the sweeper, and
 * the recovery of copies.
 *
 * The calling thread waits, so these are never called by a worker or a committer.
 */
#ifndef SERVICE_BACKGROUND_H
#define SERVICE_BACKGROUND_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/slice.h"
#include "partition/partition.h"
#include "service/service.h"

/* An update that is waited for.  The beginning of the struct that `decide` gets as argument. */
struct waited_update {
    struct partition_update update;
    struct mutex lock;
    struct condvar changed;
    bool finished;
    enum err err;
};

/* Run `decide(change, waited)` as an update of `partition` and wait; what partition_update says. */
MUST_CHECK enum err background_update(struct service *service, struct waited_update *waited,
                                      struct slice partition, change_fn *decide);

/* The first key with the prefix, copied into the arena; ERR_NOT_FOUND. */
MUST_CHECK enum err background_find_first(struct service *service, struct arena *arena,
                                          struct slice partition, struct slice prefix,
                                          struct slice *key);

/* The same, of those from `from` on, which may be a key that is gone.  Who removes one after the
   other looks on from the last: an engine may keep removed keys for a while and pass by them. */
MUST_CHECK enum err background_find_from(struct service *service, struct arena *arena,
                                         struct slice partition, struct slice prefix,
                                         struct slice from, struct slice *key);

#endif
