/*
 * file_copy_fixture.h - copies from elsewhere to files of a test's share, in one line each: the
 * part of the front end is played by the test.
 */
#ifndef TESTS_UNIT_SERVICE_FILE_COPY_FIXTURE_H
#define TESTS_UNIT_SERVICE_FILE_COPY_FIXTURE_H

#include "node_fixture.h"
#include "service/file/file_copy.h"

/* A copy that is under way. */
struct pending {
    struct service_fixture *fixture;
    struct arena arena; /* of the payload */
    struct file_copy_step step;
};

static inline enum err pending_begin_with(struct service_fixture *fixture, const char *to,
                                          uint64_t total_bytes, struct file_copy *copy,
                                          struct pending *pending)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &copy->base, &arena);
    copy->change.name = node_named(&arena, to, 0);
    copy->id = uuid_random();
    copy->url = slice_of("http://elsewhere");
    copy->total_bytes = total_bytes;
    *pending = (struct pending){ .fixture = fixture };
    file_copy_begin(&fixture->service, copy);
    const enum err err = waiter_wait(&waiter);
    if (err == OK)
        file_copy_step_init(&pending->step, copy);
    arena_release(&arena);
    return err;
}

static inline enum err pending_begin(struct service_fixture *fixture, const char *to,
                                     uint64_t total_bytes, struct pending *pending)
{
    struct file_copy copy = { 0 };
    return pending_begin_with(fixture, to, total_bytes, &copy, pending);
}

static inline enum err pending_step(struct pending *pending)
{
    struct waiter waiter;
    waiter_bind(&waiter, &pending->step.step.base, &pending->arena);
    file_copy_step(&pending->fixture->service, &pending->step.step);
    return waiter_wait(&waiter);
}

static inline enum err pending_report(struct pending *pending, uint64_t copied_bytes)
{
    pending->step.step.copied_bytes = copied_bytes;
    return pending_step(pending);
}

/* All bytes have arrived. */
static inline enum err pending_arrive(struct pending *pending, struct slice bytes)
{
    struct copy_step *base = &pending->step.step;
    assert_int_equal(
        payload_writer_new(&pending->fixture->service, &pending->arena, bytes.len, &base->payload),
        OK);
    assert_int_equal(payload_writer_append(base->payload, bytes), OK);
    assert_int_equal(payload_writer_finish(base->payload), OK);
    base->copied_bytes = bytes.len;
    const enum err err = pending_step(pending);
    arena_release(&pending->arena);
    base->payload = NULL;
    return err;
}

static inline enum err pending_fail(struct pending *pending, const char *description)
{
    pending->step.step.description = slice_of(description);
    return pending_step(pending);
}

static inline enum err pending_abort_by(struct service_fixture *fixture, const char *path,
                                        struct uuid id, struct node_change *change)
{
    struct file_copy_abort request = { .change = *change, .id = id };
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &request.change.base, &arena);
    request.change.name = node_named(&arena, path, 0);
    file_copy_abort(&fixture->service, &request);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline enum err pending_abort(struct pending *pending, const char *path)
{
    return pending_abort_by(pending->fixture, path, pending->step.step.id,
                            &(struct node_change){ 0 });
}

#endif
