/*
 * syncer.c - the threads that make finished ranges durable.
 *
 * A syncer takes all writers that wait and serves them extent by extent: one sync, then the
 * callbacks of every writer in that extent, in the order they came.  Writers that come meanwhile
 * wait for the next round, so the busier the disk, the more payloads share a sync.
 *
 * A new extent's name is made durable before the first callback of a range in it, because bytes
 * without a name are lost too.
 */
#include <assert.h>

#include "base/log.h"
#include "stream/stream_internal.h"

static void syncer_complete(struct stream_writer *writer)
{
    assert(writer->state == WRITER_SYNCING);
    writer->state = WRITER_SYNCED;
    writer->next = NULL;
    /* The callback may commit or abort, which frees the writer. */
    writer->done(writer->arg);
}

/* Sync the extent of the first writer in `batch`, call all of that extent, return the others. */
static struct stream_writer *syncer_serve(struct syncer *syncer, struct stream_writer *batch)
{
    struct extent *extent = batch->extent;
    if (!extent->name_durable) {
        extent__sync_names(syncer->stream);
        extent->name_durable = true;
    }
    extent__sync(extent);

    struct stream_writer *others = NULL;
    struct stream_writer **others_end = &others;
    while (batch != NULL) {
        struct stream_writer *writer = batch;
        batch = writer->next;
        if (writer->extent == extent) {
            /* The last callback may let the extent go; nothing here touches it afterwards
               but the comparison of its address. */
            syncer_complete(writer);
        } else {
            *others_end = writer;
            others_end = &writer->next;
            writer->next = NULL;
        }
    }
    return others;
}

/* Under lock, which is let go of meanwhile: serve all that wait at this moment. */
static void serve_waiting(struct syncer *syncer)
{
    struct stream_writer *batch = syncer->first;
    syncer->first = NULL;
    syncer->last = NULL;
    mutex_unlock(&syncer->lock);
    while (batch != NULL)
        batch = syncer_serve(syncer, batch);
    mutex_lock(&syncer->lock);
}

static void *syncer_run(void *arg)
{
    struct syncer *syncer = arg;
    mutex_lock(&syncer->lock);
    for (;;) {
        while (syncer->first == NULL && !syncer->stopping)
            condvar_wait(&syncer->wake, &syncer->lock);
        if (syncer->first == NULL)
            break;
        serve_waiting(syncer);
    }
    mutex_unlock(&syncer->lock);
    return NULL;
}

void syncer__step(struct syncer *syncer)
{
    mutex_lock(&syncer->lock);
    serve_waiting(syncer);
    mutex_unlock(&syncer->lock);
}

void syncer__start(struct syncer *syncer, struct stream *stream)
{
    *syncer = (struct syncer){ .stream = stream };
    mutex_init(&syncer->lock, LOCK_STREAM_SYNCER);
    condvar_init(&syncer->wake);
    if (!stream->options.by_step && pthread_create(&syncer->thread, NULL, syncer_run, syncer) != 0)
        panic("no thread for the syncer");
}

void syncer__stop(struct syncer *syncer)
{
    mutex_lock(&syncer->lock);
    assert(syncer->first == NULL);
    syncer->stopping = true;
    condvar_signal(&syncer->wake);
    mutex_unlock(&syncer->lock);
    if (!syncer->stream->options.by_step)
        pthread_join(syncer->thread, NULL);
    condvar_release(&syncer->wake);
    mutex_release(&syncer->lock);
}

void syncer__add(struct syncer *syncer, struct stream_writer *writer)
{
    assert(writer->state == WRITER_SYNCING);
    assert(writer->next == NULL);
    mutex_lock(&syncer->lock);
    assert(!syncer->stopping);
    if (syncer->last == NULL)
        syncer->first = writer;
    else
        syncer->last->next = writer;
    syncer->last = writer;
    condvar_signal(&syncer->wake);
    mutex_unlock(&syncer->lock);
}
