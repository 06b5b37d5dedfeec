/*
 * guard.c - knowing that every reader that might have seen old metadata is through.
 *
 * Readers count themselves into one of two buckets, the one the epoch points at.  A barrier
 * flips the epoch, so that newcomers go to the other bucket, and waits until the bucket it turned
 * away from is empty; since nobody new goes there, that comes soon.
 *
 * The trap: a reader loads the epoch (bucket 0), is delayed, a barrier flips to bucket 1, finds
 * bucket 0 empty and returns, and only then does the reader count itself into bucket 0.  That
 * barrier has lost nothing, because the reader reads metadata only after it has counted itself,
 * and sees what the barrier's caller made durable before.  But the next barrier flips back and
 * waits for bucket 1 alone: it would miss the reader, which stands in bucket 0 and may now hold
 * metadata that is being reclaimed.  So a reader looks at the epoch again after counting itself,
 * and if it has moved takes itself out and starts over.  When the second look finds it unmoved,
 * the count came before any flip away from that bucket, and the barrier that makes the flip sees
 * it.
 *
 * That argument puts a reader's "count, then look" against a barrier's "flip, then look at the
 * count", and the same shape returns between leaving ("uncount, then look at `waiting`") and
 * waiting ("set `waiting`, then look at the count").  Each needs all threads to agree on one
 * order of these operations, so all of them are sequentially consistent.
 */
#include <assert.h>

#include "stream/stream_internal.h"

void guard__init(struct guard *guard)
{
    atomic_init(&guard->epoch, 0);
    atomic_init(&guard->reader_count[0], 0);
    atomic_init(&guard->reader_count[1], 0);
    atomic_init(&guard->waiting, false);
    mutex_init(&guard->barrier, LOCK_STREAM_BARRIER);
    mutex_init(&guard->lock, LOCK_STREAM_GUARD);
    condvar_init(&guard->emptied);
}

void guard__release(struct guard *guard)
{
    assert(atomic_load(&guard->reader_count[0]) == 0);
    assert(atomic_load(&guard->reader_count[1]) == 0);
    condvar_release(&guard->emptied);
    mutex_release(&guard->lock);
    mutex_release(&guard->barrier);
}

void guard__leave(struct guard *guard, unsigned bucket)
{
    const uint64_t before = atomic_fetch_sub(&guard->reader_count[bucket], 1);
    assert(before > 0);
    if (before > 1 || !atomic_load(&guard->waiting))
        return;
    mutex_lock(&guard->lock);
    condvar_broadcast(&guard->emptied);
    mutex_unlock(&guard->lock);
}

bool guard__try_enter(struct guard *guard, unsigned epoch)
{
    const unsigned bucket = epoch & 1;
    atomic_fetch_add(&guard->reader_count[bucket], 1);
    if (atomic_load(&guard->epoch) == epoch)
        return true;
    guard__leave(guard, bucket);
    return false;
}

void guard__barrier(struct guard *guard)
{
    mutex_lock(&guard->barrier);
    const unsigned bucket = atomic_fetch_add(&guard->epoch, 1) & 1;

    mutex_lock(&guard->lock);
    atomic_store(&guard->waiting, true);
    while (atomic_load(&guard->reader_count[bucket]) > 0)
        condvar_wait(&guard->emptied, &guard->lock);
    atomic_store(&guard->waiting, false);
    mutex_unlock(&guard->lock);
    mutex_unlock(&guard->barrier);
}

unsigned stream_guard_enter(struct stream *stream)
{
    struct guard *guard = &stream->guard;
    unsigned epoch;
    /* Starts over only when a barrier came in between, and those are rare. */
    do
        epoch = atomic_load(&guard->epoch);
    while (!guard__try_enter(guard, epoch));
    return epoch & 1;
}

void stream_guard_leave(struct stream *stream, unsigned ticket)
{
    assert(ticket <= 1);
    guard__leave(&stream->guard, ticket);
}

void stream_barrier(struct stream *stream)
{
    guard__barrier(&stream->guard);
}
