/*
 * stream_internal.h - what the files of the stream layer share.
 *
 * Reading order: the layout of a range (layout.c), extents and their table (extent.c), guards
 * (guard.c), writers (stream_writer.c), syncers (syncer.c), pins (stream_pin.c), blocks that are
 * known to be good (verified.c), reclaiming (stream_reclaim.c), opening and closing (stream.c).
 *
 * Locks, outermost first (the list of all is base/lock_order.def):
 *   stream->growing   held while a shared extent is made, disk calls included; writers alone
 *   stream->lock      the table of extents, their counts, pins and open files; never held
 *                     during a disk call, so whoever only reads waits for no disk
 * The locks of a syncer and of the guards are taken with no other lock held, and nothing else is
 * taken under them.
 */
#ifndef STREAM_STREAM_INTERNAL_H
#define STREAM_STREAM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/mutex.h"
#include "base/slice.h"
#include "stream/stream.h"

/* --- layout.c: where things are in a range; the table is drawn in stream.h --- */

enum {
    LAYOUT_CRC_BYTES = 4,
    LAYOUT_TRAILER_BYTES = 16,
};

/* Number of STREAM_BLOCK_BYTES blocks in a payload, the last one possibly shorter. */
uint64_t layout__block_count(uint64_t length);

/* Bytes of the checksum table and the trailer behind it. */
size_t layout__table_bytes(uint64_t length);

/* Whether a range, as metadata names it, can be one: aligned, not empty, within 63 bits. */
bool layout__range_is_valid(const struct stream_range *range);

/* The first byte behind a range, alignment included. */
uint64_t layout__range_end(const struct stream_range *range);

/* Fill in the trailer behind a complete table. */
void layout__seal_table(uint8_t *table, uint64_t length);

/* Whether a table and its trailer, as read from disk, are whole and for `length` bytes. */
bool layout__table_is_valid(const uint8_t *table, uint64_t length);

/* Zeroed memory, or a panic. */
void *stream__alloc(size_t size_bytes);

/* --- extent.c --- */

enum {
    EXTENT_PATH_BYTES = STREAM_PATH_BYTES,
    EXTENT_IDLE_MAX = 128, /* files kept open that nobody uses */
};

#define EXTENT_DIRECTORY    "extents"
#define EXTENT_SIZE_UNKNOWN UINT64_MAX

/*
 * An append-only file.
 *
 *   FILLING   takes reservations: only stream->filling, and a dedicated extent while it is made
 *   FULL      takes no more; unsettled until stream_settle
 *   SETTLED   its gaps have been given back; ranges are only reclaimed from now on
 *   GONE      unlinked and out of the table; freed when its last user lets go
 */
enum extent_state {
    EXTENT_FILLING,
    EXTENT_FULL,
    EXTENT_SETTLED,
    EXTENT_GONE,
};

/* Blocks of an extent that were compared with their checksums; see verified.c. */
struct verified {
    uint64_t *words; /* a bit for each page that such a block begins at; NULL: none */
    size_t word_count;
    uint64_t stamp; /* of the file, before the first of them was read */
    int64_t since;  /* when that was, in ticks */
};

struct extent {
    /* set at creation, then constant */
    uint64_t id;
    bool dedicated; /* made for one payload; meaningless for an extent found at open */

    /* under stream->lock */
    enum extent_state state;
    struct extent *next;  /* in its bucket of the table */
    uint64_t size_bytes;  /* where the next range begins; of an extent found at open, the file's
                            size, or EXTENT_SIZE_UNKNOWN until it has been opened */
    struct io_file *file; /* NULL: not open; does not change while there are users */
    unsigned user_count;  /* who may use `file`: writers, pins, reclaiming */
    unsigned writer_count;
    struct stream_pin *pins;
    struct extent *idle_newer; /* links of the idle list, while there is no user */
    struct extent *idle_older;
    bool punched;             /* holes were made since the latest sync for them */
    struct verified verified; /* empty while the file is not open */

    /* the thread of its syncer only */
    bool name_durable;
};

/* The path of an extent's file. */
void extent__path(uint64_t id, char path[EXTENT_PATH_BYTES]);

/* Add an extent that was found on disk. */
void extent__add_found(struct stream *stream, uint64_t id);

/* Make a new one: FILLING, with one user, in the table.  ERR_NO_SPACE, ERR_IO. */
MUST_CHECK enum err extent__create(struct stream *stream, bool dedicated, struct extent **extent);

/* Become a user of an extent; NULL if there is none of that id.  Its file may not be open. */
struct extent *extent__use(struct stream *stream, uint64_t id);
struct extent *extent__use_locked(struct stream *stream, uint64_t id);

/* Open a used extent's file, if it is not.  ERR_CORRUPT if it is missing, ERR_IO. */
MUST_CHECK enum err extent__open(struct stream *stream, struct extent *extent);

/* Stop being a user. */
void extent__release(struct stream *stream, struct extent *extent);

/* Take a used extent out of the table and unlink its file.  On error it is FULL again. */
MUST_CHECK enum err extent__unlink(struct stream *stream, struct extent *extent);

/* Make everything in a used, open extent durable, or panic. */
void extent__sync(struct extent *extent);

/* The same for the names of extents. */
void extent__sync_names(struct stream *stream);

/* Close every file and free every extent.  None has users. */
void extent__free_all(struct stream *stream);

/* --- guard.c --- */

/* See stream_guard_enter.  The memory orders are explained in guard.c. */
struct guard {
    _Atomic unsigned epoch;           /* number of flips; its lowest bit is the bucket in use */
    _Atomic uint64_t reader_count[2]; /* per bucket */
    _Atomic bool waiting;             /* a barrier wants to hear of an empty bucket */

    struct mutex barrier; /* one barrier at a time */
    struct mutex lock;    /* for `emptied` */
    struct condvar emptied;
};

void guard__init(struct guard *guard);
void guard__release(struct guard *guard);

/*
 * Count a reader into the bucket of `epoch`, which it loaded before.  False, and it is not
 * counted, if the epoch has moved since: it loads it again then.
 */
bool guard__try_enter(struct guard *guard, unsigned epoch);
void guard__leave(struct guard *guard, unsigned bucket);

/* See stream_barrier. */
void guard__barrier(struct guard *guard);

/* --- syncer.c --- */

/* A thread that makes finished ranges durable. */
struct syncer {
    struct stream *stream; /* set at start */
    pthread_t thread;

    /* under lock */
    struct mutex lock;
    struct condvar wake;
    struct stream_writer *first; /* waiting, oldest first */
    struct stream_writer *last;
    bool stopping;
};

void syncer__start(struct syncer *syncer, struct stream *stream);

/* Serve all that wait, in the calling thread: of a syncer that has no thread. */
void syncer__step(struct syncer *syncer);

/* Nothing waits.  Returns when the thread has ended. */
void syncer__stop(struct syncer *syncer);

/* Queue a writer in state SYNCING; its `done` is called when its range is durable. */
void syncer__add(struct syncer *syncer, struct stream_writer *writer);

/* --- stream_writer.c --- */

/* The states of stream.h, and those in which only stream_writer_abort, or nothing, is legal. */
enum writer_state {
    WRITER_RESERVED,
    WRITER_WRITTEN,
    WRITER_SYNCING, /* the syncer has it */
    WRITER_SYNCED,
    WRITER_FAILED, /* can only be aborted */
};

struct stream_writer {
    struct stream *stream;
    struct extent *extent; /* used */
    struct stream_range range;
    enum writer_state state;

    uint64_t accepted_bytes; /* of the payload, by append */
    uint64_t written_bytes;  /* of the payload, to the file; the rest is in `buffer` */
    uint64_t promised_bytes; /* of the range, that are not written yet; see base/space.h */
    uint64_t behind_bytes;   /* of the payload, whose writing out has been started */
    char *buffer;            /* collects small appends; NULL until one comes */
    size_t buffered_bytes;   /* less than STREAM_BLOCK_BYTES */
    uint8_t *table;          /* checksums so far; see layout__table_bytes */
    uint32_t block_crc;      /* of the block that is not complete yet */

    /* for the syncer */
    struct stream_writer *next;
    void (*done)(void *arg);
    void *arg;
};

/* --- verified.c: all but the last take stream->lock --- */

/* Some blocks of a range, at least one.  A value. */
struct block_span {
    uint64_t first;
    uint64_t count;
};

/* These blocks were read and are good; `stamp` is the file's from before that. */
void verified__add(struct stream *stream, struct extent *extent, const struct stream_range *range,
                   const struct block_span *span, uint64_t stamp);

/* Whether all of them were found good lately, in a file with this stamp. */
bool verified__has(struct stream *stream, struct extent *extent, const struct stream_range *range,
                   const struct block_span *span, uint64_t stamp);

/* Under stream->lock, or when nobody else can see it. */
void verified__forget(struct verified *verified);

/* --- stream_pin.c --- */

struct stream_pin {
    struct stream *stream;
    struct extent *extent; /* used */
    struct stream_range range;

    /* links of the extent's pins, under stream->lock */
    struct stream_pin *next;
    struct stream_pin **link;

    /* the pin's thread only */
    uint8_t *table;         /* checksums, verified; NULL until the first read */
    char *scratch;          /* one verified block, for reads of less; NULL until needed */
    uint64_t scratch_block; /* which */
};

/* Whether any pin of the extent overlaps the bytes from `begin` up to `end`.  Under lock. */
bool stream__is_pinned(const struct extent *extent, uint64_t begin, uint64_t end);

/* --- stream.c --- */

struct stream {
    /* set at open, then constant */
    struct io *io;
    struct clock *clock;
    struct stream_options options;

    struct mutex growing;

    /* under lock */
    struct mutex lock;
    struct extent **buckets; /* a power of two of them */
    size_t bucket_count;
    size_t extent_count;
    struct extent *filling;     /* the shared extent that takes reservations, or NULL */
    struct extent *idle_newest; /* extents whose file is open and unused */
    struct extent *idle_oldest;
    size_t idle_count;
    bool unlinked; /* names were removed since the latest sync for them */

    struct guard guard;
    /* Two, so that a small payload never waits for the sync of a huge one. */
    struct syncer shared_syncer;
    struct syncer dedicated_syncer;
};

#endif
