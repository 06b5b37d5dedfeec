/*
 * open_wait.c - requests that wait.
 *
 * A file's waiting requests are looked at in the order they came, whenever anything about the file
 * changes and whenever time passes.  One round is enough: deciding a request can only help those
 * behind it (a refused one does not queue any more; an admitted one is in the way).
 */
#include <assert.h>
#include <stdlib.h>

#include "service/file/open_table_internal.h"

static int64_t earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The request waits for another reason than before: how long, and what it says in the end. */
static void set_reason(struct open_work *work, struct open_wait *wait, enum open_wait_reason reason)
{
    if (wait->reason == reason)
        return;
    wait->reason = reason;
    wait->deadline = wait->gives_up_at;
    if (reason == OPEN_WAIT_FOR_OPERATIONS)
        wait->deadline = earlier_of(wait->gives_up_at,
                                    work->now + LIMIT_OPERATION_WAIT_SEC * CLOCK_TICKS_PER_SEC);
}

/* What the request is answered when it has waited too long. */
static enum err too_late(const struct open_wait *wait)
{
    if (wait->reason == OPEN_WAIT_FOR_BREAK)
        return ERR_CACHE_FLUSH_DELAY;
    return wait->kind == OPEN_WAIT_LOCK ? ERR_LOCK_NOT_GRANTED : ERR_SHARING_VIOLATION;
}

/* The request is in no list.  An admitted operation stays with its file until it ends. */
static void decide(struct open_work *work, struct open_file *file, struct open_wait *wait,
                   enum err err)
{
    wait->err = err;
    wait->waiting = false;
    wait->file = NULL;
    if (err == OK && wait->kind == OPEN_WAIT_OPERATION) {
        wait->file = file;
        list_add_last(&file->operations, &wait->link);
    }
    list_add_last(&work->decided, &wait->decided);
}

static void stop_waiting(struct open_file *file, struct open_wait *wait)
{
    list_remove(&wait->link);
    assert(file->wait_count > 0);
    file->wait_count--;
}

static void look_again(struct open_work *work, struct open_file *file, struct open_wait *wait)
{
    const struct open_verdict verdict = open_work__admit(work, file, wait);
    enum err err = verdict.err;
    if (verdict.kind == OPEN_MUST_WAIT) {
        set_reason(work, wait, verdict.reason);
        if (work->now < wait->deadline)
            return;
        err = too_late(wait);
    }
    stop_waiting(file, wait);
    decide(work, file, wait, err);
}

/* --- what becomes of the file --- */

static bool matters_to_time(const struct open_file *file)
{
    if (!list_is_empty(&file->waits))
        return true;
    list_for_each (link, &file->oplocks)
        if (oplock_is_breaking(&LIST_ITEM(link, struct open_oplock, in_file)->state))
            return true;
    return false;
}

/* False if the file is forgotten. */
static bool keep_or_forget(struct open_work *work, struct open_file *file)
{
    const bool busy = list_link_is_used(&file->in_busy);
    const bool to_be_busy = matters_to_time(file);
    if (to_be_busy && !busy) {
        list_add_last(&work->stripe->busy, &file->in_busy);
        atomic_fetch_add(&work->table->busy_count, 1);
    } else if (!to_be_busy && busy) {
        list_remove(&file->in_busy);
        atomic_fetch_sub(&work->table->busy_count, 1);
    }
    if (!list_is_empty(&file->handles) || !list_is_empty(&file->operations) || to_be_busy ||
        file->deleting)
        return true;
    assert(list_is_empty(&file->oplocks));
    assert(file->locks.count == 0);
    assert(!file->delete_pending);
    byte_lock_list_release(&file->locks);
    list_remove(&file->in_stripe);
    free(file);
    return false;
}

static void settle_oplocks(struct open_work *work, struct open_file *file)
{
    list_for_each (link, &file->oplocks)
        oplock_settle(&LIST_ITEM(link, struct open_oplock, in_file)->state, work->now);
}

bool open_work__review(struct open_work *work, struct open_file *file)
{
    settle_oplocks(work, file);
    list_for_each_safe (link, after, &file->waits)
        look_again(work, file, LIST_ITEM(link, struct open_wait, link));
    return keep_or_forget(work, file);
}

void open_work__start(struct open_work *work, struct open_file *file, struct open_wait *wait)
{
    settle_oplocks(work, file);
    const struct open_verdict verdict = open_work__admit(work, file, wait);
    if (verdict.kind != OPEN_MUST_WAIT) {
        decide(work, file, wait, verdict.err);
    } else if (file->wait_count >= LIMIT_FILE_WAITERS_MAX) {
        decide(work, file, wait, ERR_OPEN_TABLE_FULL);
    } else {
        set_reason(work, wait, verdict.reason);
        wait->waiting = true;
        wait->file = file;
        list_add_last(&file->waits, &wait->link);
        file->wait_count++;
    }
    (void)keep_or_forget(work, file);
}

void open_work__finish(struct open_work *work)
{
    mutex_unlock(&work->stripe->lock);
    for (struct list_link *link; (link = list_take_first(&work->decided)) != NULL;) {
        struct open_wait *wait = LIST_ITEM(link, struct open_wait, decided);
        wait->done(wait->arg, wait->err);
    }
}

/* --- from outside --- */

bool open_table_cancel(struct open_table *table, struct open_wait *wait)
{
    struct open_work work;

    open_work__begin(&work, table, wait->stripe);
    const bool waiting = wait->waiting;
    if (waiting) {
        struct open_file *file = wait->file;
        stop_waiting(file, wait);
        decide(&work, file, wait, ERR_CANCELLED);
        /* Others may have queued up behind it. */
        (void)open_work__review(&work, file);
    }
    open_work__finish(&work);
    return waiting;
}

/* When the file is to be looked at next because of time. */
static int64_t next_change_at(const struct open_file *file)
{
    int64_t next = INT64_MAX;
    list_for_each (link, &file->waits)
        next = earlier_of(next, LIST_ITEM(link, struct open_wait, link)->deadline);
    list_for_each (link, &file->oplocks) {
        const struct oplock *oplock = &LIST_ITEM(link, struct open_oplock, in_file)->state;
        if (oplock_is_breaking(oplock))
            next = earlier_of(next, oplock->ack_by);
    }
    return next;
}

static int64_t expire_stripe(struct open_table *table, size_t stripe)
{
    struct open_work work;
    int64_t next = INT64_MAX;

    open_work__begin(&work, table, stripe);
    list_for_each_safe (link, after, &work.stripe->busy) {
        struct open_file *file = LIST_ITEM(link, struct open_file, in_busy);
        if (next_change_at(file) <= work.now && !open_work__review(&work, file))
            continue;
        next = earlier_of(next, next_change_at(file));
    }
    open_work__finish(&work);
    return next;
}

int64_t open_table_expire(struct open_table *table)
{
    int64_t next = INT64_MAX;
    /* A wait that begins at this very moment has its whole time before it. */
    if (atomic_load(&table->busy_count) == 0)
        return next;
    for (size_t i = 0; i < OPEN_STRIPE_COUNT; i++)
        next = earlier_of(next, expire_stripe(table, i));
    return next;
}
