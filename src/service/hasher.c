/*
 * hasher.c - see hasher.h.
 *
 * A hasher with pieces is in one of two places: in the queue of those that wait for a thread, or in
 * the hands of one thread, which hashes its oldest piece and puts it back at the end of the queue
 * if there are more.  So the pieces of one payload are hashed in their order, and payloads take
 * turns.
 */
#include "service/hasher.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mutex.h"

enum {
    PIECE_BYTES = 64 * 1024, /* more than arrives at a time */
    CRUMB_BYTES = 4 * 1024,  /* below it, handing over takes longer than hashing */
    PIECES_MAX = 16,         /* of one hasher */
    PIECES_RESUME = 12,      /* whoever had to wait goes on at so many: not a wake-up for each */
};

struct hasher_piece {
    size_t len;
    struct hasher_piece *next; /* of the hasher's, or of those nobody uses */
    char bytes[PIECE_BYTES];
};

/* What all hashers share, for as long as the process lives. */
static struct {
    struct mutex lock;
    pthread_once_t once;

    /* under lock */
    struct condvar work;     /* a hasher waits for a thread */
    struct condvar progress; /* a hasher has PIECES_RESUME pieces left, or none */
    struct hasher *first;    /* with pieces, waiting for a thread, oldest first */
    struct hasher *last;
    long waiting_count;        /* hashers that wait for a thread */
    long idle_count;           /* threads that wait for a hasher */
    long unmade_threads;       /* threads there may still be */
    struct hasher_piece *free; /* pieces nobody uses */
    size_t unmade_pieces;      /* pieces there may still be */
} hashers = { .lock = MUTEX_INITIALIZER(LOCK_SERVICE_HASHERS), .once = PTHREAD_ONCE_INIT };

static void prepare(void)
{
    condvar_init(&hashers.work);
    condvar_init(&hashers.progress);
    hashers.unmade_threads = sysconf(_SC_NPROCESSORS_ONLN);
    hashers.unmade_pieces = (size_t)hashers.unmade_threads * PIECES_MAX;
}

/* --- the threads --- */

/* Under the lock. */
static void queue(struct hasher *hasher)
{
    hasher->next = NULL;
    if (hashers.first == NULL)
        hashers.first = hasher;
    else
        hashers.last->next = hasher;
    hashers.last = hasher;
    hashers.waiting_count++;
}

/* The oldest piece of a hasher.  Under the lock, which is let go meanwhile. */
static void hash_piece(struct hasher *hasher)
{
    struct hasher_piece *piece = hasher->first;
    hasher->first = piece->next;
    mutex_unlock(&hashers.lock);
    md5_update(&hasher->md5, piece->len, (const uint8_t *)piece->bytes);
    mutex_lock(&hashers.lock);
    piece->next = hashers.free;
    hashers.free = piece;
    hasher->piece_count--;
    if (hasher->first != NULL)
        queue(hasher);
    if (hasher->piece_count == PIECES_RESUME || hasher->piece_count == 0)
        condvar_broadcast(&hashers.progress);
    /* With no piece left the hasher is its caller's, and may be gone. */
}

static void *run(void *arg)
{
    (void)arg;
    mutex_lock(&hashers.lock);
    for (;;) {
        while (hashers.first == NULL) {
            hashers.idle_count++;
            condvar_wait(&hashers.work, &hashers.lock);
            hashers.idle_count--;
        }
        struct hasher *hasher = hashers.first;
        hashers.first = hasher->next;
        hashers.waiting_count--;
        hash_piece(hasher);
    }
    return NULL;
}

static void start_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        panic("cannot start a hasher's thread");
    pthread_setname_np(thread, "hash");
    pthread_detach(thread);
}

/* --- the callers --- */

void hasher_init(struct hasher *hasher)
{
    pthread_once(&hashers.once, prepare);
    *hasher = (struct hasher){ 0 };
    md5_init(&hasher->md5);
}

/* A piece nobody uses, or NULL.  Under the lock, which is let go to make one. */
static struct hasher_piece *piece_take(void)
{
    struct hasher_piece *piece = hashers.free;
    if (piece != NULL) {
        hashers.free = piece->next;
    } else if (hashers.unmade_pieces > 0) {
        hashers.unmade_pieces--;
        mutex_unlock(&hashers.lock);
        piece = malloc(sizeof(*piece));
        if (piece == NULL)
            panic("no memory for a hasher");
        mutex_lock(&hashers.lock);
    }
    return piece;
}

/* Room for `len` more bytes of this payload, or NULL when the caller has to hash them. */
static struct hasher_piece *room_for(struct hasher *hasher, size_t len)
{
    struct hasher_piece *piece = NULL;
    mutex_lock(&hashers.lock);
    if (hasher->piece_count == PIECES_MAX)
        while (hasher->piece_count > PIECES_RESUME)
            condvar_wait(&hashers.progress, &hashers.lock);
    if (hasher->piece_count > 0 || len >= CRUMB_BYTES)
        piece = piece_take();
    /* Bytes are hashed in their order. */
    while (piece == NULL && hasher->piece_count > 0)
        condvar_wait(&hashers.progress, &hashers.lock);
    mutex_unlock(&hashers.lock);
    return piece;
}

static void hand_over(struct hasher *hasher, struct hasher_piece *piece)
{
    bool start = false;
    piece->next = NULL;
    mutex_lock(&hashers.lock);
    if (hasher->first == NULL)
        hasher->first = piece;
    else
        hasher->last->next = piece;
    hasher->last = piece;
    if (hasher->piece_count++ == 0) {
        queue(hasher);
        start = hashers.waiting_count > hashers.idle_count && hashers.unmade_threads > 0;
        hashers.unmade_threads -= start ? 1 : 0;
        condvar_signal(&hashers.work);
    }
    mutex_unlock(&hashers.lock);
    if (start)
        start_thread();
}

void hasher_update(struct hasher *hasher, struct slice bytes)
{
    while (bytes.len > 0) {
        const struct slice part = slice_head(bytes, PIECE_BYTES);
        struct hasher_piece *piece = room_for(hasher, part.len);
        if (piece == NULL) {
            md5_update(&hasher->md5, part.len, (const uint8_t *)part.data);
        } else {
            memcpy(piece->bytes, part.data, part.len);
            piece->len = part.len;
            hand_over(hasher, piece);
        }
        bytes = slice_from(bytes, part.len);
    }
}

void hasher_abort(struct hasher *hasher)
{
    mutex_lock(&hashers.lock);
    while (hasher->piece_count > 0)
        condvar_wait(&hashers.progress, &hashers.lock);
    mutex_unlock(&hashers.lock);
}

void hasher_finish(struct hasher *hasher, uint8_t md5[DIGEST_MD5_BYTES])
{
    hasher_abort(hasher);
    md5_digest(&hasher->md5, DIGEST_MD5_BYTES, md5); /* which begins anew */
}
