/*
 * share_fixture.h - operations on shares by name, in one line each.
 */
#ifndef TESTS_UNIT_SERVICE_SHARE_FIXTURE_H
#define TESTS_UNIT_SERVICE_SHARE_FIXTURE_H

#include "service/file/file_name.h"
#include "service/file/share.h"
#include "service/service_properties.h"
#include "service_fixture.h"

static inline struct share_name share_named(const char *name, int64_t snapshot)
{
    return (struct share_name){
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .share = slice_of(name),
        .snapshot = snapshot,
    };
}

/* Start a change of a share, or of the snapshot the change names, and wait for it. */
static inline enum err share_do(struct service_fixture *fixture, const char *name,
                                void (*start)(struct service *service, struct share_change *change),
                                struct share_change *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = share_named(name, change->name.snapshot);
    start(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

static inline uint64_t share_new(struct service_fixture *fixture, const char *name)
{
    struct share_change change = { 0 };
    assert_int_equal(share_do(fixture, name, share_create, &change), OK);
    return change.share.incarnation;
}

/* Take a snapshot; its name. */
static inline int64_t share_freeze(struct service_fixture *fixture, const char *name)
{
    struct share_change change = { 0 };
    assert_int_equal(share_do(fixture, name, share_snapshot, &change), OK);
    return change.share.snapshot;
}

static inline enum err share_remove(struct service_fixture *fixture, const char *name,
                                    int64_t snapshot, enum share_snapshots snapshots)
{
    struct share_change change = { .name.snapshot = snapshot, .snapshots = snapshots };
    return share_do(fixture, name, share_delete, &change);
}

static inline enum err share_bring_back(struct service_fixture *fixture, const char *deleted,
                                        uint64_t incarnation, const char *name)
{
    struct share_change change = { .deleted_name = slice_of(deleted),
                                   .deleted_version = incarnation };
    return share_do(fixture, name, share_restore, &change);
}

/* The record, in the fixture's arena. */
static inline enum err share_record(struct service_fixture *fixture, const char *name,
                                    int64_t snapshot, struct share *share)
{
    const struct share_name full = share_named(name, snapshot);
    return share_get(&fixture->service, &fixture->arena, &full, NULL, share);
}

static inline enum err share_lease_await(struct service_fixture *fixture, const char *name,
                                         struct share_lease *change)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    waiter_bind(&waiter, &change->base, &arena);
    change->name = share_named(name, change->name.snapshot);
    share_lease(&fixture->service, change);
    const enum err err = waiter_wait(&waiter);
    arena_release(&arena);
    return err;
}

/* Retain deleted shares for so many days; 0: not at all. */
static inline void share_retain(struct service_fixture *fixture, uint64_t days)
{
    struct arena arena = { 0 };
    struct waiter waiter;
    struct service_properties_change change = {
        .account = slice_of(FIXTURE_ACCOUNT_NAME),
        .letter = 'f',
        .parts = PROPERTIES_DELETE_RETENTION,
        .properties.delete_retention = { .enabled = days > 0, .days = days },
    };
    waiter_bind(&waiter, &change.base, &arena);
    service_properties_set(&fixture->service, &change);
    assert_int_equal(waiter_wait(&waiter), OK);
    arena_release(&arena);
}

/* --- listing --- */

struct share_listing {
    struct strbuf out;
    size_t count;
    size_t count_max; /* the page ends after so many; 0: never */
};

static inline bool share_listing_add(void *arg, struct slice name, const struct share *share)
{
    struct share_listing *listing = arg;
    strbuf_add(&listing->out, name);
    if (share->snapshot != 0)
        strbuf_printf(&listing->out, "@%lld", (long long)(share->snapshot - FIXTURE_T0));
    if (share->deleted_at != 0)
        strbuf_add_text(&listing->out, "!");
    strbuf_add_text(&listing->out, " ");
    return ++listing->count != listing->count_max;
}

#endif
