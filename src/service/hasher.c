#include "service/hasher.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mutex.h"

enum {
    BUFFER_BYTES = 256 * 1024,
    BUFFER_COUNT = 4,
};

struct buffer {
    size_t len;
    char bytes[BUFFER_BYTES];
};

struct hasher {
    struct md5_ctx md5;  /* the thread's while a buffer is full, else the caller's */
    struct hasher *next; /* of those nobody uses */

    /* the caller's */
    size_t filling; /* which buffer is being filled */

    /* under lock */
    struct mutex lock;
    struct condvar changed;
    size_t full_count; /* buffers handed over and not hashed yet */
    size_t hashing;    /* which buffer is hashed next */

    struct buffer buffers[BUFFER_COUNT]; /* a full one is the thread's, the others the caller's */
};

/* All there are, for as long as the process lives. */
static struct {
    struct mutex lock;
    struct hasher *idle; /* under lock */
    long count;          /* under lock; in use or not */
} hashers = { .lock = MUTEX_INITIALIZER(LOCK_SERVICE_HASHER_POOL) };

static void *run(void *arg)
{
    struct hasher *hasher = arg;
    mutex_lock(&hasher->lock);
    for (;;) {
        while (hasher->full_count == 0)
            condvar_wait(&hasher->changed, &hasher->lock);
        const struct buffer *buffer = &hasher->buffers[hasher->hashing];
        mutex_unlock(&hasher->lock);
        md5_update(&hasher->md5, buffer->len, (const uint8_t *)buffer->bytes);
        mutex_lock(&hasher->lock);
        hasher->hashing = (hasher->hashing + 1) % BUFFER_COUNT;
        hasher->full_count--;
        condvar_signal(&hasher->changed);
    }
    return NULL;
}

static struct hasher *hasher_new(void)
{
    struct hasher *hasher = calloc(1, sizeof(*hasher));
    if (hasher == NULL)
        panic("no memory for a hasher");
    mutex_init(&hasher->lock, LOCK_SERVICE_HASHER);
    condvar_init(&hasher->changed);
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, hasher) != 0)
        panic("cannot start a hasher's thread");
    pthread_setname_np(thread, "hash");
    pthread_detach(thread);
    return hasher;
}

struct hasher *hasher_take(void)
{
    const long count_max = sysconf(_SC_NPROCESSORS_ONLN);
    mutex_lock(&hashers.lock);
    struct hasher *hasher = hashers.idle;
    const bool make = hasher == NULL && hashers.count < count_max;
    if (hasher != NULL)
        hashers.idle = hasher->next;
    if (make)
        hashers.count++;
    mutex_unlock(&hashers.lock);
    if (make)
        hasher = hasher_new();
    if (hasher != NULL)
        md5_init(&hasher->md5);
    return hasher;
}

/* The buffer being filled is the thread's now; another is waited for. */
static void hand_over(struct hasher *hasher)
{
    mutex_lock(&hasher->lock);
    hasher->full_count++;
    condvar_signal(&hasher->changed);
    while (hasher->full_count == BUFFER_COUNT)
        condvar_wait(&hasher->changed, &hasher->lock);
    mutex_unlock(&hasher->lock);
    hasher->filling = (hasher->filling + 1) % BUFFER_COUNT;
    hasher->buffers[hasher->filling].len = 0;
}

void hasher_update(struct hasher *hasher, struct slice bytes)
{
    while (bytes.len > 0) {
        struct buffer *buffer = &hasher->buffers[hasher->filling];
        const struct slice part = slice_head(bytes, BUFFER_BYTES - buffer->len);
        memcpy(buffer->bytes + buffer->len, part.data, part.len);
        buffer->len += part.len;
        bytes = slice_from(bytes, part.len);
        if (buffer->len == BUFFER_BYTES)
            hand_over(hasher);
    }
}

/* Wait until the thread has nothing left to do. */
static void settle(struct hasher *hasher)
{
    mutex_lock(&hasher->lock);
    while (hasher->full_count > 0)
        condvar_wait(&hasher->changed, &hasher->lock);
    mutex_unlock(&hasher->lock);
}

void hasher_finish(struct hasher *hasher, uint8_t md5[DIGEST_MD5_BYTES])
{
    if (hasher->buffers[hasher->filling].len > 0)
        hand_over(hasher);
    settle(hasher);
    md5_digest(&hasher->md5, DIGEST_MD5_BYTES, md5);
}

void hasher_give_back(struct hasher *hasher)
{
    if (hasher == NULL)
        return;
    settle(hasher);
    hasher->buffers[hasher->filling].len = 0;
    mutex_lock(&hashers.lock);
    hasher->next = hashers.idle;
    hashers.idle = hasher;
    mutex_unlock(&hashers.lock);
}
