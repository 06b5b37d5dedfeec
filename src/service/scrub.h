/*
 * scrub.h - reads, slowly and again and again, all that is stored, and compares it with its
 * checksums: so that a disk that forgets is noticed while there is a backup, and not by whoever
 * needs the bytes a year later.
 *
 * A pass reads every payload in extents that has an owner, and then the blocks of the metadata.  It
 * begins at an extent chosen at random and goes round: where it is, is not remembered, and a server
 * that is often restarted favours no part.  A pass begins a day after the one before began, or when
 * that has ended.
 *
 * Whatever is found is logged as an error with the words of fsck (blob/fsck.h), the name of the
 * object included, and counted; it is repaired by nobody.  Readers of the object are answered as
 * before: those that read through memory get an error.
 *
 * Nobody waits for it.  A payload is pinned while a piece of it is read, as for any reader, and the
 * rate is bounded.  What the system has in its cache is compared as it is in memory: that is
 * what clients read often, and the disk's own copy is seen when the cache has dropped it.
 *
 *   zaffre_scrub_bytes_total     payload bytes compared
 *   zaffre_scrub_passes_total    passes that ended
 *   zaffre_scrub_damaged_total   payloads, and places in the metadata, that were not as written
 *
 * One thread, which is a thin loop around scrub_step; tests call that.
 */
#ifndef SERVICE_SCRUB_H
#define SERVICE_SCRUB_H

#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"
#include "partition/partition.h"

struct scrub;

enum scrub_state {
    SCRUB_UNDER_WAY,
    SCRUB_PASS_ENDED, /* the next step begins another pass */
};

struct scrub_options {
    struct partition_store *store; /* kept */
    uint64_t seed;                 /* where passes begin; 0: at the first extent */
    /* Called for each finding, in words for people; NULL: it is logged alone. */
    void (*finding)(void *arg, const char *words);
    void *arg;
};

/* Metrics are registered, so this is called before other threads are started. */
struct scrub *scrub_new(const struct scrub_options *options);

/* Compare about `bytes` of what comes next; a payload that is shorter counts as a block. */
enum scrub_state scrub_step(struct scrub *scrub, uint64_t bytes);

/* How much was compared and found in all; for tests. */
uint64_t scrub_bytes(const struct scrub *scrub);
uint64_t scrub_damaged(const struct scrub *scrub);

/* Start the thread: `rate_bytes` of payload a second. */
MUST_CHECK enum err scrub_start(struct scrub *scrub, uint64_t rate_bytes);

/* Stops the thread, if it was started.  NULL is fine. */
void scrub_free(struct scrub *scrub);

#endif
