/*
 * test_stream_threads.c - the stream layer under many threads: concurrent writers, readers that
 * race with reclaiming, and what a barrier waits for.  Run it under ThreadSanitizer too.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "stream/stream.h"
#include "stream_fixture.h"

struct fixture {
    struct io *io;
    struct clock clock;
    struct stream *stream;
    _Atomic unsigned fault_count; /* cmocka's assertions are for the main thread alone */
};

static int open_memory(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->io = io_memory_new();
    clock_init_manual(&fixture->clock, 1000);
    *state = fixture;
    return (int)stream_open_with(fixture->io, &fixture->clock, &fixture_options, &fixture->stream);
}

static int close_all(void **state)
{
    struct fixture *fixture = *state;
    stream_close(fixture->stream);
    io_free(fixture->io);
    free(fixture);
    return 0;
}

static void expect(struct fixture *fixture, bool fact)
{
    if (!fact)
        atomic_fetch_add(&fixture->fault_count, 1);
}

/* --- writers --- */

enum {
    WRITER_THREADS = 8,
    PAYLOADS_EACH = 25,
};

struct writer_thread {
    struct fixture *fixture;
    pthread_t thread;
    uint64_t seed;
    struct stream_range ranges[PAYLOADS_EACH];
};

static uint64_t payload_length(uint64_t seed)
{
    static const uint64_t lengths[] = { 1, 4076, 20000, 65536, 100000, FIXTURE_DEDICATED_BYTES };
    return lengths[seed % 6];
}

static void *write_payloads(void *arg)
{
    struct writer_thread *self = arg;
    struct stream *stream = self->fixture->stream;
    for (uint64_t i = 0; i < PAYLOADS_EACH; i++) {
        const uint64_t seed = self->seed + i;
        struct stream_writer *abandoned;
        if (i % 5 == 0 && fixture_write(stream, seed, 30000, 7000, &abandoned) == OK)
            stream_writer_abort(abandoned);
        const enum err err = fixture_store(stream, seed, payload_length(seed), &self->ranges[i]);
        expect(self->fixture, err == OK);
        expect(self->fixture, fixture_check(stream, &self->ranges[i], seed) == OK);
    }
    return NULL;
}

static void payloads_written_at_once_do_not_disturb_each_other(void **state)
{
    struct fixture *fixture = *state;
    static struct writer_thread threads[WRITER_THREADS];
    for (size_t i = 0; i < WRITER_THREADS; i++) {
        threads[i].fixture = fixture;
        threads[i].seed = i * 1000;
        assert_int_equal(pthread_create(&threads[i].thread, NULL, write_payloads, &threads[i]), 0);
    }
    for (size_t i = 0; i < WRITER_THREADS; i++)
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
    assert_int_equal(atomic_load(&fixture->fault_count), 0);
    for (size_t i = 0; i < WRITER_THREADS; i++) {
        for (uint64_t j = 0; j < PAYLOADS_EACH; j++)
            assert_int_equal(
                fixture_check(fixture->stream, &threads[i].ranges[j], threads[i].seed + j), OK);
    }
}

/* --- syncing in groups --- */

struct group {
    sem_t entered;
    sem_t resume;
    sem_t done;
    _Atomic unsigned done_count;
};

static void hold_syncer(void *arg)
{
    struct group *group = arg;
    sem_post(&group->entered);
    while (sem_wait(&group->resume) != 0)
        ;
}

static void count_done(void *arg)
{
    struct group *group = arg;
    atomic_fetch_add(&group->done_count, 1);
    sem_post(&group->done);
}

static void payloads_that_wait_together_share_one_sync(void **state)
{
    struct fixture *fixture = *state;
    enum { COUNT = 10 };
    struct group group = { 0 };
    sem_init(&group.entered, 0, 0);
    sem_init(&group.resume, 0, 0);
    sem_init(&group.done, 0, 0);
    struct stream_writer *first;
    struct stream_writer *writers[COUNT];
    assert_int_equal(fixture_write(fixture->stream, 0, 100, 100, &first), OK);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(fixture_write(fixture->stream, i, 5000, 5000, &writers[i]), OK);

    /* While the first callback holds the syncer, the others gather. */
    stream_writer_sync(first, hold_syncer, &group);
    while (sem_wait(&group.entered) != 0)
        ;
    const uint64_t calls = io_memory_calls(fixture->io);
    for (size_t i = 0; i < COUNT; i++)
        stream_writer_sync(writers[i], count_done, &group);
    assert_int_equal(atomic_load(&group.done_count), 0);
    sem_post(&group.resume);
    for (size_t i = 0; i < COUNT; i++) {
        while (sem_wait(&group.done) != 0)
            ;
    }
    assert_int_equal(io_memory_calls(fixture->io), calls + 1);
    stream_writer_commit(first);
    for (size_t i = 0; i < COUNT; i++)
        stream_writer_commit(writers[i]);
    sem_destroy(&group.entered);
    sem_destroy(&group.resume);
    sem_destroy(&group.done);
}

static void hold_syncer_then_count(void *arg)
{
    hold_syncer(arg);
    count_done(arg);
}

static void a_small_payload_does_not_wait_for_the_syncer_of_large_ones(void **state)
{
    struct fixture *fixture = *state;
    struct group group = { 0 };
    sem_init(&group.entered, 0, 0);
    sem_init(&group.resume, 0, 0);
    sem_init(&group.done, 0, 0);
    struct stream_writer *large;
    assert_int_equal(fixture_write(fixture->stream, 0, FIXTURE_DEDICATED_BYTES, 100000, &large),
                     OK);
    stream_writer_sync(large, hold_syncer_then_count, &group);
    while (sem_wait(&group.entered) != 0)
        ;
    struct stream_range small;
    assert_int_equal(fixture_store(fixture->stream, 1, 100, &small), OK);
    assert_int_equal(atomic_load(&group.done_count), 0);
    sem_post(&group.resume);
    while (sem_wait(&group.done) != 0)
        ;
    stream_writer_commit(large);
    sem_destroy(&group.entered);
    sem_destroy(&group.resume);
    sem_destroy(&group.done);
}

/* --- guards --- */

struct barrier_thread {
    struct stream *stream;
    pthread_t thread;
    _Atomic bool returned;
};

static void *pass_barrier(void *arg)
{
    struct barrier_thread *self = arg;
    stream_barrier(self->stream);
    atomic_store(&self->returned, true);
    return NULL;
}

/* Enter guards until one gets another ticket than `ticket`: a barrier has begun. */
static unsigned enter_after_flip(struct stream *stream, unsigned ticket)
{
    for (;;) {
        const unsigned other = stream_guard_enter(stream);
        if (other != ticket)
            return other;
        stream_guard_leave(stream, other);
        sched_yield();
    }
}

static void a_barrier_waits_for_guards_entered_before_it_and_for_no_others(void **state)
{
    struct fixture *fixture = *state;
    for (int round = 0; round < 200; round++) {
        struct barrier_thread barrier = { .stream = fixture->stream };
        const unsigned before = stream_guard_enter(fixture->stream);
        assert_int_equal(pthread_create(&barrier.thread, NULL, pass_barrier, &barrier), 0);
        const unsigned after = enter_after_flip(fixture->stream, before);
        for (int i = 0; i < 10; i++)
            sched_yield();
        assert_false(atomic_load(&barrier.returned));
        stream_guard_leave(fixture->stream, before);
        assert_int_equal(pthread_join(barrier.thread, NULL), 0);
        assert_true(atomic_load(&barrier.returned));
        stream_guard_leave(fixture->stream, after);
    }
}

static void a_barrier_with_nobody_inside_returns_at_once(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 5; i++)
        stream_barrier(fixture->stream);
    const unsigned ticket = stream_guard_enter(fixture->stream);
    stream_guard_leave(fixture->stream, ticket);
    stream_barrier(fixture->stream);
}

/*
 * A word stands for the metadata: which of two slots is published.  A slot that is no longer
 * published is marked dead once a barrier has passed; no reader may meet a dead one.
 */
struct published {
    struct fixture *fixture;
    _Atomic unsigned current;
    _Atomic bool dead[2];
    _Atomic bool stop;
};

static void *read_published(void *arg)
{
    struct published *published = arg;
    struct stream *stream = published->fixture->stream;
    while (!atomic_load(&published->stop)) {
        const unsigned ticket = stream_guard_enter(stream);
        const unsigned slot = atomic_load(&published->current);
        for (int i = 0; i < 20; i++)
            expect(published->fixture, !atomic_load(&published->dead[slot]));
        stream_guard_leave(stream, ticket);
    }
    return NULL;
}

static void no_reader_meets_what_a_barrier_let_go(void **state)
{
    struct fixture *fixture = *state;
    struct published published = { .fixture = fixture };
    atomic_store(&published.dead[1], true);
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_published, &published), 0);
    for (int round = 0; round < 1000; round++) {
        const unsigned old = atomic_load(&published.current);
        const unsigned next = 1 - old;
        atomic_store(&published.dead[next], false);
        atomic_store(&published.current, next);
        stream_barrier(fixture->stream);
        atomic_store(&published.dead[old], true);
    }
    atomic_store(&published.stop, true);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&fixture->fault_count), 0);
}

/* --- readers against reclaiming --- */

/* The whole protocol: one named range, replaced, disowned and reclaimed while it is read. */
struct object {
    struct fixture *fixture;
    pthread_mutex_t lock; /* stands for the metadata store */
    struct stream_range range;
    uint64_t seed;
    _Atomic bool stop;
    _Atomic unsigned read_count;
};

static void *read_object(void *arg)
{
    struct object *object = arg;
    struct stream *stream = object->fixture->stream;
    while (!atomic_load(&object->stop)) {
        const unsigned ticket = stream_guard_enter(stream);
        pthread_mutex_lock(&object->lock);
        const struct stream_range range = object->range;
        const uint64_t seed = object->seed;
        pthread_mutex_unlock(&object->lock);
        struct stream_pin *pin = NULL;
        expect(object->fixture, stream_pin(stream, &range, &pin) == OK);
        stream_guard_leave(stream, ticket);
        if (pin == NULL)
            break;
        expect(object->fixture, fixture_check(stream, &range, seed) == OK);
        atomic_fetch_add(&object->read_count, 1);
        stream_unpin(pin);
    }
    return NULL;
}

static void a_reader_always_finds_the_bytes_it_pinned(void **state)
{
    struct fixture *fixture = *state;
    struct object object = { .fixture = fixture, .seed = 0 };
    pthread_mutex_init(&object.lock, NULL);
    assert_int_equal(fixture_store(fixture->stream, 0, 20000, &object.range), OK);
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_object, &object), 0);
    for (uint64_t seed = 1; seed <= 120; seed++) {
        const uint64_t length = seed % 10 == 0 ? FIXTURE_DEDICATED_BYTES : 20000 + seed * 100;
        struct stream_range next;
        assert_int_equal(fixture_store(fixture->stream, seed, length, &next), OK);
        pthread_mutex_lock(&object.lock);
        const struct stream_range old = object.range;
        object.range = next;
        object.seed = seed;
        pthread_mutex_unlock(&object.lock);
        stream_barrier(fixture->stream);
        while (!stream_reclaim(fixture->stream, &old))
            sched_yield();
    }
    /* Replacing can be over before a reader had its turn. */
    while (atomic_load(&object.read_count) < 3 && atomic_load(&fixture->fault_count) == 0)
        sched_yield();
    atomic_store(&object.stop, true);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&fixture->fault_count), 0);
    pthread_mutex_destroy(&object.lock);
}

#define ON_MEMORY(test) cmocka_unit_test_setup_teardown(test, open_memory, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MEMORY(payloads_written_at_once_do_not_disturb_each_other),
        ON_MEMORY(payloads_that_wait_together_share_one_sync),
        ON_MEMORY(a_small_payload_does_not_wait_for_the_syncer_of_large_ones),
        ON_MEMORY(a_barrier_waits_for_guards_entered_before_it_and_for_no_others),
        ON_MEMORY(a_barrier_with_nobody_inside_returns_at_once),
        ON_MEMORY(no_reader_meets_what_a_barrier_let_go),
        ON_MEMORY(a_reader_always_finds_the_bytes_it_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
