#include "service/hasher.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum {
    BUFFER_BYTES = 256 * 1024,
    BUFFER_COUNT = 4,
};

struct buffer {
    size_t len;
    char bytes[BUFFER_BYTES];
};

struct hasher {
    pthread_t thread;
    struct md5_ctx md5; /* the thread's */

    /* the caller's */
    size_t filling; /* which buffer is being filled */

    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t full_count; /* buffers handed over and not hashed yet */
    size_t hashing;    /* which buffer is hashed next */
    bool ended;        /* no more are to come */

    struct buffer buffers[BUFFER_COUNT]; /* a full one is the thread's, the others the caller's */
};

static atomic_long hasher_count;

static void *run(void *arg)
{
    struct hasher *hasher = arg;
    pthread_mutex_lock(&hasher->lock);
    for (;;) {
        while (hasher->full_count == 0 && !hasher->ended)
            pthread_cond_wait(&hasher->changed, &hasher->lock);
        if (hasher->full_count == 0)
            break;
        const struct buffer *buffer = &hasher->buffers[hasher->hashing];
        pthread_mutex_unlock(&hasher->lock);
        md5_update(&hasher->md5, buffer->len, (const uint8_t *)buffer->bytes);
        pthread_mutex_lock(&hasher->lock);
        hasher->hashing = (hasher->hashing + 1) % BUFFER_COUNT;
        hasher->full_count--;
        pthread_cond_signal(&hasher->changed);
    }
    pthread_mutex_unlock(&hasher->lock);
    return NULL;
}

struct hasher *hasher_new(void)
{
    if (atomic_fetch_add(&hasher_count, 1) >= sysconf(_SC_NPROCESSORS_ONLN)) {
        atomic_fetch_sub(&hasher_count, 1);
        return NULL;
    }
    struct hasher *hasher = calloc(1, sizeof(*hasher));
    if (hasher == NULL)
        panic("no memory for a hasher");
    md5_init(&hasher->md5);
    pthread_mutex_init(&hasher->lock, NULL);
    pthread_cond_init(&hasher->changed, NULL);
    if (pthread_create(&hasher->thread, NULL, run, hasher) != 0)
        panic("cannot start a hasher's thread");
    pthread_setname_np(hasher->thread, "hash");
    return hasher;
}

/* The buffer being filled is the thread's now; another is waited for. */
static void hand_over(struct hasher *hasher)
{
    pthread_mutex_lock(&hasher->lock);
    hasher->full_count++;
    pthread_cond_signal(&hasher->changed);
    while (hasher->full_count == BUFFER_COUNT)
        pthread_cond_wait(&hasher->changed, &hasher->lock);
    pthread_mutex_unlock(&hasher->lock);
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

static void end(struct hasher *hasher)
{
    pthread_mutex_lock(&hasher->lock);
    const bool ended = hasher->ended;
    hasher->ended = true;
    pthread_cond_signal(&hasher->changed);
    pthread_mutex_unlock(&hasher->lock);
    if (!ended)
        pthread_join(hasher->thread, NULL);
}

void hasher_finish(struct hasher *hasher, uint8_t md5[DIGEST_MD5_BYTES])
{
    assert(!hasher->ended);
    if (hasher->buffers[hasher->filling].len > 0)
        hand_over(hasher);
    end(hasher);
    md5_digest(&hasher->md5, DIGEST_MD5_BYTES, md5);
}

void hasher_free(struct hasher *hasher)
{
    if (hasher == NULL)
        return;
    end(hasher);
    pthread_cond_destroy(&hasher->changed);
    pthread_mutex_destroy(&hasher->lock);
    free(hasher);
    atomic_fetch_sub(&hasher_count, 1);
}
