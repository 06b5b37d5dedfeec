/*
 * service.h - what every service operation works with.
 *
 * A `struct service` is set up once by main and is constant afterwards; any thread may use it.
 *
 * Operations come in two shapes.  A read is a function that answers at once.  A change is a
 * struct the caller fills and keeps (blob_put, container_create, ...) and a function that starts
 * it; when the change is durable, or refused, `done` is called once, on another thread or before
 * the function returns.  The struct then holds the results, allocated in the arena the caller
 * named.  Every check that decides about a change runs inside partition_update.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "partition/partition.h"
#include "stream/stream.h"

struct open_table;
struct space;
struct sweeper;

struct service {
    struct partition_store *store;
    struct stream *stream;
    struct clock *clock;
    struct sweeper *sweeper;       /* reclaims deleted containers; NULL in unit tests */
    struct open_table *opens;      /* files that SMB clients have open; NULL: they have none */
    struct space *space;           /* what is left of the disk; NULL: there is no end to it */
    uint64_t inline_payload_bytes; /* payloads up to this size travel inside the commit */
    bool blob_versioning;          /* every write of a blob keeps the version it replaces */
};

/*
 * The common part of a change: who is told, and where results go.  Embedded first in the struct
 * of every change.  All zero bytes but for the fields the caller fills.
 */
struct service_change {
    /* filled by the caller */
    struct arena *arena; /* for results; kept until done */
    void (*done)(void *arg, enum err err);
    void *arg;

    /* for the service */
    struct service *service;
    void (*settle)(struct service_change *change, enum err err); /* before done; may be NULL */
    struct partition_update update;
};

/*
 * Run `decide` as an update of `partition` (kept until done) and then tell the caller.  Its
 * argument is `change`, which is the beginning of the struct that embeds it.
 */
void service_update(struct service *service, struct service_change *change, struct slice partition,
                    change_fn *decide);

/* Tell the caller of a change that never became an update. */
void service_refuse(struct service_change *change, enum err err);

#endif
