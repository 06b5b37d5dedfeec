/*
 * open_admit.c - may a request go on?
 *
 * The decisions of one file, made of the pure ones: share_mode, file_operation, byte_lock, oplock.
 * The stripe is locked.  A request is looked at from the beginning each time, so what has changed
 * while it waited needs no special care; and looking again does nothing twice, since a break that
 * is under way is not begun again.
 *
 * The order of the checks is the same for all:
 *
 *   1. is the file delete-pending, is the handle open
 *   2. handles that do not share: final, unless every one of them may be one that its client only
 *      puts off closing.  Then those are broken first, and nothing else
 *   3. operations under way that do not share: wait for them
 *   4. requests that came before and wait for operations: queue up behind them
 *   5. oplocks of others: broken as the request demands, and waited for if it must
 *   6. byte-range locks.  After 5, since a client that caches writes keeps its locks to itself
 *      until it is told to stop
 */
#include <assert.h>

#include "base/log.h"
#include "service/file/open_table_internal.h"

static struct open_verdict admitted(void)
{
    return (struct open_verdict){ .kind = OPEN_ADMITTED };
}

static struct open_verdict refused(enum err err)
{
    return (struct open_verdict){ .kind = OPEN_REFUSED, .err = err };
}

static struct open_verdict must_wait(enum open_wait_reason reason)
{
    return (struct open_verdict){ .kind = OPEN_MUST_WAIT, .reason = reason };
}

static struct open_request *request_of(struct open_wait *wait)
{
    assert(wait->kind == OPEN_WAIT_OPEN);
    return (struct open_request *)(void *)wait;
}

static struct open_operation *operation_of(struct open_wait *wait)
{
    assert(wait->kind == OPEN_WAIT_OPERATION);
    return (struct open_operation *)(void *)wait;
}

static struct lock_request *lock_of(struct open_wait *wait)
{
    assert(wait->kind == OPEN_WAIT_LOCK);
    return (struct lock_request *)(void *)wait;
}

/* --- oplocks --- */

static enum oplock_side side_of(const struct open_oplock *oplock, const struct open_oplock *own)
{
    return oplock == own ? OPLOCK_OWN : OPLOCK_FOREIGN;
}

static void break_oplock(struct open_work *work, struct open_oplock *oplock,
                         enum oplock_cause cause, enum oplock_side side)
{
    struct oplock_notice notice;
    if (oplock_break(&oplock->state, cause, side, work->now, &notice))
        open_client__tell(oplock, &notice);
}

/* Break what `cause` breaks; true if it need not, or no longer, be waited for. */
static bool break_oplocks(struct open_work *work, struct open_file *file, enum oplock_cause cause,
                          const struct open_oplock *own)
{
    bool blocked = false;
    list_for_each (link, &file->oplocks) {
        struct open_oplock *oplock = LIST_ITEM(link, struct open_oplock, in_file);
        const enum oplock_side side = side_of(oplock, own);
        break_oplock(work, oplock, cause, side);
        blocked = blocked || oplock_blocks(&oplock->state, cause, side);
    }
    return !blocked;
}

/* --- sharing with handles --- */

struct wish {
    struct share_mode mode;
    enum file_operation_handles handles;
    const struct open_oplock *own; /* NULL if it has none */
};

static enum sharing sharing_with(const struct open_handle *handle, const struct wish *wish)
{
    const bool foreign = handle->oplock != NULL && handle->oplock != wish->own;
    return sharing_with_handle(handle->mode, foreign ? handle->oplock->state.held : CACHING_NONE,
                               wish->mode, wish->handles);
}

/* COMPATIBLE; or VIOLATION; or MAY_CLOSE, and the clients have been asked to close. */
static enum sharing check_handles(struct open_work *work, struct open_file *file,
                                  const struct wish *wish)
{
    enum sharing worst = SHARING_COMPATIBLE;
    list_for_each (link, &file->handles) {
        const struct open_handle *handle = LIST_ITEM(link, struct open_handle, in_file);
        const enum sharing sharing = sharing_with(handle, wish);
        if (sharing == SHARING_VIOLATION)
            return SHARING_VIOLATION;
        if (sharing == SHARING_MAY_CLOSE)
            worst = SHARING_MAY_CLOSE;
    }
    if (worst == SHARING_COMPATIBLE)
        return worst;
    list_for_each (link, &file->handles) {
        const struct open_handle *handle = LIST_ITEM(link, struct open_handle, in_file);
        if (sharing_with(handle, wish) == SHARING_MAY_CLOSE)
            break_oplock(work, handle->oplock, OPLOCK_BY_CONFLICT, OPLOCK_FOREIGN);
    }
    return worst;
}

/* --- operations and opens: REST has no handle, and so no place in the file's handles --- */

static bool operation_excludes_open(const struct file_operation_rule *rule, struct share_mode mode)
{
    if (rule->by != FILE_OPERATION_BY_REST)
        return false;
    return rule->handles == FILE_OPERATION_NO_HANDLES || share_modes_conflict(rule->mode, mode);
}

static bool excluded_by_operations(const struct open_file *file, struct share_mode mode)
{
    list_for_each (link, &file->operations) {
        struct open_wait *wait = LIST_ITEM(link, struct open_wait, link);
        if (operation_excludes_open(file_operation_rule(operation_of(wait)->operation), mode))
            return true;
    }
    return false;
}

/* The owner of what an operation does with bytes: its handle, or nobody. */
static uint64_t user_of(const struct open_operation *operation)
{
    const bool by_rest = file_operation_rule(operation->operation)->by == FILE_OPERATION_BY_REST;
    return by_rest ? BYTE_LOCK_OWNER_NONE : operation->handle_id;
}

/* Would one of the locks, granted now, be broken by the operation? */
static bool lock_awaits_operation(const struct lock_request *lock,
                                  const struct open_operation *operation)
{
    const enum byte_use use = file_operation_rule(operation->operation)->use;
    for (size_t i = 0; i < lock->count; i++) {
        const struct lock_element *element = &lock->elements[i];
        const enum byte_use lock_use =
            element->exclusive ? BYTE_USE_LOCK_EXCLUSIVE : BYTE_USE_LOCK_SHARED;
        if (byte_lock_awaits(lock->handle_id, element->range, lock_use, user_of(operation),
                             operation->range, use))
            return true;
    }
    return false;
}

/* Did an open or a lock come before this operation, and is it waiting for its like to end? */
static bool must_queue(const struct open_file *file, struct open_operation *operation)
{
    const struct file_operation_rule *rule = file_operation_rule(operation->operation);
    list_for_each (link, &file->waits) {
        struct open_wait *other = LIST_ITEM(link, struct open_wait, link);
        if (other == &operation->wait)
            return false;
        if (other->reason != OPEN_WAIT_FOR_OPERATIONS)
            continue;
        if (other->kind == OPEN_WAIT_OPEN && operation_excludes_open(rule, request_of(other)->mode))
            return true;
        if (other->kind == OPEN_WAIT_LOCK && lock_awaits_operation(lock_of(other), operation))
            return true;
    }
    return false;
}

/* --- opens --- */

struct oplock_surroundings open_work__surroundings(struct open_work *work,
                                                   const struct open_file *file,
                                                   const struct open_oplock *own,
                                                   const struct open_request *request)
{
    struct oplock_surroundings around = {
        .directory = request->directory,
        .byte_locks = file->locks.count > 0,
    };
    list_for_each (link, &file->handles)
        if (LIST_ITEM(link, struct open_handle, in_file)->oplock != own)
            around.other_handles = true;
    list_for_each (link, &file->oplocks) {
        const struct open_oplock *oplock = LIST_ITEM(link, struct open_oplock, in_file);
        if (oplock == own)
            continue;
        if (oplock->state.kind == OPLOCK_LEGACY && oplock->state.held != CACHING_NONE)
            around.other_level_ii = true;
        if ((oplock->state.held & CACHING_H) != 0)
            around.other_handle_lease = true;
    }
    list_for_each (link, &file->operations) {
        const struct open_operation *operation =
            operation_of(LIST_ITEM(link, struct open_wait, link));
        const struct file_operation_rule *rule = file_operation_rule(operation->operation);
        const struct open_handle *handle = open_work__find_handle(work, user_of(operation));
        if (handle != NULL && handle->oplock == own)
            continue;
        if (oplock_break_target(OPLOCK_LEASE, CACHING_R, rule->breaks, OPLOCK_FOREIGN) != CACHING_R)
            around.write_under_way = true;
        else if (rule->breaks != OPLOCK_BY_NOTHING)
            around.read_under_way = true;
    }
    return around;
}

static enum oplock_cause cause_of_open(const struct open_request *request)
{
    if (request->overwrite)
        return OPLOCK_BY_OVERWRITE;
    return request->mode.access != FILE_ACCESS_NONE ? OPLOCK_BY_OPEN : OPLOCK_BY_NOTHING;
}

static size_t handles_max(const struct open_request *request)
{
    const bool root = request->directory && request->parent_id == 0;
    return root ? LIMIT_SHARE_ROOT_HANDLES_MAX : LIMIT_FILE_HANDLES_MAX;
}

static struct open_verdict admit_open(struct open_work *work, struct open_file *file,
                                      struct open_request *request)
{
    struct wish wish = { .mode = request->mode, .handles = FILE_OPERATION_ANY_HANDLES };
    struct file_key holder;

    if (request->caching == OPEN_CACHING_LEASE) {
        if (open_client__find_lease(request->client, &request->lease_key, &holder) &&
            file_key_compare(&holder, &file->key) != 0)
            return refused(ERR_OPLOCK_KEY_IN_USE);
        wish.own = open_file__find_lease(file, request->client, &request->lease_key);
    }
    if (file->delete_pending)
        return refused(ERR_DELETE_PENDING);
    if (file->handle_count >= handles_max(request))
        return refused(ERR_OPEN_TABLE_FULL);

    const enum sharing sharing = check_handles(work, file, &wish);
    if (sharing == SHARING_VIOLATION)
        return refused(ERR_SHARING_VIOLATION);
    if (sharing == SHARING_MAY_CLOSE)
        return must_wait(OPEN_WAIT_FOR_BREAK);
    if (excluded_by_operations(file, request->mode))
        return must_wait(OPEN_WAIT_FOR_OPERATIONS);
    if (!break_oplocks(work, file, cause_of_open(request), wish.own))
        return must_wait(OPEN_WAIT_FOR_BREAK);

    const enum err err = open_work__add_handle(work, file, request);
    return err == OK ? admitted() : refused(err);
}

/* --- operations --- */

static struct open_verdict admit_operation(struct open_work *work, struct open_file *file,
                                           struct open_operation *operation)
{
    const struct file_operation_rule *rule = file_operation_rule(operation->operation);
    struct wish wish = { .mode = rule->mode, .handles = rule->handles };

    if (rule->by == FILE_OPERATION_BY_HANDLE) {
        const struct open_handle *handle = open_work__find_handle(work, operation->handle_id);
        if (handle == NULL)
            return refused(ERR_HANDLE_CLOSED);
        wish.own = handle->oplock;
    } else {
        if (file->delete_pending)
            return refused(ERR_DELETE_PENDING);
        const enum sharing sharing = check_handles(work, file, &wish);
        if (sharing == SHARING_VIOLATION)
            return refused(ERR_SHARING_VIOLATION);
        if (sharing == SHARING_MAY_CLOSE)
            return must_wait(OPEN_WAIT_FOR_BREAK);
    }
    if (must_queue(file, operation))
        return must_wait(OPEN_WAIT_FOR_OPERATIONS);
    if (!break_oplocks(work, file, rule->breaks, wish.own))
        return must_wait(OPEN_WAIT_FOR_BREAK);
    if (byte_lock_list_blocks(&file->locks, user_of(operation), operation->range, rule->use))
        return refused(ERR_FILE_LOCK_CONFLICT);

    if (operation->operation == FILE_OPERATION_SMB_SET_DELETE)
        open_work__set_delete_pending(work, file, true);
    return admitted();
}

/* --- locks --- */

/* All of them, or none and false. */
static bool add_locks(struct open_file *file, const struct lock_request *request)
{
    const size_t before = file->locks.count;
    for (size_t i = 0; i < request->count; i++) {
        const struct lock_element *element = &request->elements[i];
        const struct byte_lock lock = {
            .range = element->range,
            .owner = request->handle_id,
            .exclusive = element->exclusive,
        };
        /* Also those just added: two exclusive locks of one request may be in each other's way. */
        if (byte_lock_list_blocks(&file->locks, request->handle_id, element->range,
                                  element->exclusive ? BYTE_USE_LOCK_EXCLUSIVE
                                                     : BYTE_USE_LOCK_SHARED)) {
            file->locks.count = before;
            return false;
        }
        byte_lock_list_add(&file->locks, &lock);
    }
    return true;
}

static bool awaits_operations(const struct open_file *file, const struct lock_request *request)
{
    list_for_each (link, &file->operations) {
        struct open_wait *wait = LIST_ITEM(link, struct open_wait, link);
        if (lock_awaits_operation(request, operation_of(wait)))
            return true;
    }
    return false;
}

static struct open_verdict admit_lock(struct open_work *work, struct open_file *file,
                                      struct lock_request *request)
{
    const struct open_handle *handle = open_work__find_handle(work, request->handle_id);
    if (handle == NULL)
        return refused(ERR_HANDLE_CLOSED);
    if (request->count > LIMIT_FILE_BYTE_LOCKS_MAX - file->locks.count)
        return refused(ERR_OPEN_TABLE_FULL);
    if (awaits_operations(file, request))
        return must_wait(OPEN_WAIT_FOR_OPERATIONS);
    if (!break_oplocks(work, file, OPLOCK_BY_WRITE, handle->oplock))
        return must_wait(OPEN_WAIT_FOR_BREAK);
    if (add_locks(file, request))
        return admitted();
    return request->wait_for_locks ? must_wait(OPEN_WAIT_FOR_LOCK) : refused(ERR_LOCK_NOT_GRANTED);
}

struct open_verdict open_work__admit(struct open_work *work, struct open_file *file,
                                     struct open_wait *wait)
{
    switch (wait->kind) {
    case OPEN_WAIT_OPEN:
        return admit_open(work, file, request_of(wait));
    case OPEN_WAIT_OPERATION:
        return admit_operation(work, file, operation_of(wait));
    case OPEN_WAIT_LOCK:
        return admit_lock(work, file, lock_of(wait));
    }
    panic("a request of kind %d", (int)wait->kind);
}
