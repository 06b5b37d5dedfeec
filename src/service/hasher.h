/*
 * hasher.h - MD5 of a long payload beside those who receive it.
 *
 * MD5 is serial and as slow as all the rest of receiving and storing a byte; hashed beside it, a
 * long upload runs at the speed of the slower of the two instead of their sum.  What arrives in
 * larger pieces is copied and handed to a thread, of which there are at most as many as processors;
 * who is too far ahead of them waits.  Crumbs, and what finds no room for a copy, the caller hashes
 * by itself.
 *
 * Threads and room are taken piece by piece and for no longer than it takes to hash them: a
 * client that sends slowly, or stops in the middle, keeps nothing from the others.
 *
 * A hasher is used by one thread at a time.
 */
#ifndef SERVICE_HASHER_H
#define SERVICE_HASHER_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/slice.h"

struct hasher_piece;

struct hasher {
    struct md5_ctx md5; /* a thread's while there are pieces, else the caller's */

    /* under the lock of all hashers */
    struct hasher_piece *first; /* waiting, oldest first */
    struct hasher_piece *last;
    size_t piece_count;  /* waiting or being hashed */
    struct hasher *next; /* of those with pieces waiting */
};

void hasher_init(struct hasher *hasher);

void hasher_update(struct hasher *hasher, struct slice bytes);

/* Waits for the last byte.  The hasher is as after hasher_init. */
void hasher_finish(struct hasher *hasher, uint8_t md5[DIGEST_MD5_BYTES]);

/* Nobody wants to know any more.  Waits for whoever still hashes; may be repeated. */
void hasher_abort(struct hasher *hasher);

#endif
