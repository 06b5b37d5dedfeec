/*
 * hasher.h - MD5 of a long payload on a thread of its own.
 *
 * MD5 is serial and as slow as all the rest of receiving and storing a byte; hashed beside it, a
 * long upload runs at the speed of the slower of the two instead of their sum.  Bytes are copied
 * into a few buffers, so the caller waits only when the hashing is behind.  There are at most as
 * many hashers as processors, and they are used again; whoever gets none hashes by itself.
 */
#ifndef SERVICE_HASHER_H
#define SERVICE_HASHER_H

#include <stdint.h>

#include "base/digest.h"
#include "base/slice.h"

struct hasher;

/* One that nobody uses, or a new one.  NULL when all there may be are in use. */
struct hasher *hasher_take(void);

void hasher_update(struct hasher *hasher, struct slice bytes);

/* Waits for the last byte; once.  hasher_give_back follows. */
void hasher_finish(struct hasher *hasher, uint8_t md5[DIGEST_MD5_BYTES]);

/* Also before it is finished.  NULL is fine. */
void hasher_give_back(struct hasher *hasher);

#endif
