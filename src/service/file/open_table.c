/*
 * open_table.c - the table itself: stripes, files and handles, and what is called from outside.
 *
 * A file is in the table while it has a handle, an operation, a waiting request or a deletion to be
 * finished; open_work__review forgets it when the last of these is gone.  So a REST operation on a
 * file that no SMB client uses adds an entry and takes it away again, which is what lets an SMB
 * open that comes meanwhile see it.
 */
#include "service/file/open_table.h"

#include <assert.h>
#include <stdlib.h>

#include "partition/heap.h"
#include "service/file/open_table_internal.h"

/* --- life --- */

/*
 * Handle ids go up from an instant, so that an id of an earlier run of the server names nothing
 * now: 2^15 of them for each millisecond, which fits 63 bits until the year 2109.  The low bits are
 * the stripe, which is how a handle is found.
 */
static uint64_t first_handle_id(struct clock *clock)
{
    const int64_t since_1970_ms = (clock_now(clock) - CLOCK_UNIX_EPOCH_TICKS) / CLOCK_TICKS_PER_MS;
    return (since_1970_ms > 0 ? (uint64_t)since_1970_ms : 0) << (15 + OPEN_STRIPE_BITS);
}

static void stripe_init(struct open_stripe *stripe)
{
    mutex_init(&stripe->lock, LOCK_SERVICE_OPEN_STRIPE);
    for (size_t i = 0; i < OPEN_BUCKET_COUNT; i++) {
        list_init(&stripe->files[i]);
        list_init(&stripe->handles[i]);
    }
    list_init(&stripe->busy);
}

static void stripe_release(struct open_stripe *stripe)
{
    assert(list_is_empty(&stripe->busy));
    for (size_t i = 0; i < OPEN_BUCKET_COUNT; i++) {
        assert(list_is_empty(&stripe->files[i]));
        assert(list_is_empty(&stripe->handles[i]));
    }
    mutex_release(&stripe->lock);
}

struct open_table *open_table_new(struct clock *clock)
{
    struct open_table *table = heap_new(sizeof(*table));
    table->clock = clock;
    table->first_handle_id = first_handle_id(clock);
    for (size_t i = 0; i < OPEN_STRIPE_COUNT; i++)
        stripe_init(&table->stripes[i]);
    return table;
}

void open_table_free(struct open_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < OPEN_STRIPE_COUNT; i++)
        stripe_release(&table->stripes[i]);
    assert(atomic_load(&table->handle_count) == 0);
    free(table);
}

/* --- files --- */

int file_key_compare(const struct file_key *a, const struct file_key *b)
{
    if (a->share != b->share)
        return a->share < b->share ? -1 : 1;
    if (a->snapshot != b->snapshot)
        return a->snapshot < b->snapshot ? -1 : 1;
    return (a->file_id > b->file_id) - (a->file_id < b->file_id);
}

/* Every bit of the key has a say in every bit of the result. */
static uint64_t key_hash(struct file_key key)
{
    uint64_t z = key.share + (uint64_t)key.snapshot * UINT64_C(0x9e3779b97f4a7c15);
    z = key.file_id + z * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t open_table__stripe_of(struct file_key key)
{
    return key_hash(key) % OPEN_STRIPE_COUNT;
}

static size_t stripe_of_handle(uint64_t handle_id)
{
    return handle_id % OPEN_STRIPE_COUNT;
}

void open_work__begin(struct open_work *work, struct open_table *table, size_t stripe)
{
    *work = (struct open_work){ .table = table, .stripe = &table->stripes[stripe] };
    list_init(&work->decided);
    mutex_lock(&work->stripe->lock);
    work->now = clock_now(table->clock);
}

static struct list *file_bucket(struct open_work *work, struct file_key key)
{
    return &work->stripe->files[(key_hash(key) >> OPEN_STRIPE_BITS) % OPEN_BUCKET_COUNT];
}

struct open_file *open_work__find_file(struct open_work *work, struct file_key key)
{
    list_for_each (link, file_bucket(work, key)) {
        struct open_file *file = LIST_ITEM(link, struct open_file, in_stripe);
        if (file_key_compare(&file->key, &key) == 0)
            return file;
    }
    return NULL;
}

struct open_file *open_work__file(struct open_work *work, struct file_key key)
{
    struct open_file *file = open_work__find_file(work, key);
    if (file != NULL)
        return file;
    file = heap_new(sizeof(*file));
    file->key = key;
    list_init(&file->handles);
    list_init(&file->oplocks);
    list_init(&file->operations);
    list_init(&file->waits);
    list_add_last(file_bucket(work, key), &file->in_stripe);
    return file;
}

void open_work__set_delete_pending(struct open_work *work, struct open_file *file, bool pending)
{
    if (file->delete_pending == pending)
        return;
    file->delete_pending = pending;
    if (pending)
        atomic_fetch_add(&work->table->delete_pending_count, 1);
    else
        atomic_fetch_sub(&work->table->delete_pending_count, 1);
}

/* --- handles --- */

static struct list *handle_bucket(struct open_work *work, uint64_t handle_id)
{
    return &work->stripe->handles[(handle_id >> OPEN_STRIPE_BITS) % OPEN_BUCKET_COUNT];
}

struct open_handle *open_work__find_handle(struct open_work *work, uint64_t handle_id)
{
    list_for_each (link, handle_bucket(work, handle_id)) {
        struct open_handle *handle = LIST_ITEM(link, struct open_handle, in_stripe);
        if (handle->id == handle_id)
            return handle;
    }
    return NULL;
}

struct open_oplock *open_file__find_lease(const struct open_file *file,
                                          const struct open_client *client, const struct uuid *key)
{
    list_for_each (link, &file->oplocks) {
        struct open_oplock *oplock = LIST_ITEM(link, struct open_oplock, in_file);
        if (oplock->client == client && oplock->state.kind == OPLOCK_LEASE &&
            uuid_equal(&oplock->lease_key, key))
            return oplock;
    }
    return NULL;
}

static uint64_t new_handle_id(struct open_table *table, struct file_key key)
{
    const uint64_t number = atomic_fetch_add(&table->handles_opened, 1) + 1;
    return table->first_handle_id + (number << OPEN_STRIPE_BITS) + open_table__stripe_of(key);
}

/* A new oplock under which nothing is cached yet; NULL if its key is another file's. */
static struct open_oplock *add_oplock(struct open_file *file, const struct open_request *request,
                                      uint64_t handle_id)
{
    struct open_oplock *oplock = heap_new(sizeof(*oplock));
    oplock->file = file;
    oplock->file_key = file->key;
    oplock->client = request->client;
    if (request->caching == OPEN_CACHING_LEASE) {
        oplock->state.kind = OPLOCK_LEASE;
        oplock->lease_key = request->lease_key;
        if (!open_client__add_lease(request->client, oplock)) {
            free(oplock);
            return NULL;
        }
    } else {
        oplock->state.kind = OPLOCK_LEGACY;
        oplock->handle_id = handle_id;
    }
    list_add_last(&file->oplocks, &oplock->in_file);
    return oplock;
}

/* Give the handle its caching: the lease its key has, or an oplock of its own. */
static enum err grant(struct open_work *work, struct open_file *file, struct open_handle *handle,
                      struct open_request *request)
{
    request->granted = CACHING_NONE;
    request->epoch = 0;
    request->breaking = false;
    if (request->caching == OPEN_CACHING_NONE)
        return OK;

    struct open_oplock *oplock = NULL;
    if (request->caching == OPEN_CACHING_LEASE)
        oplock = open_file__find_lease(file, request->client, &request->lease_key);
    if (oplock == NULL)
        oplock = add_oplock(file, request, handle->id);
    if (oplock == NULL)
        return ERR_OPLOCK_KEY_IN_USE;

    const struct oplock_surroundings around = open_work__surroundings(work, file, oplock, request);
    oplock_grant(&oplock->state, request->wanted, &around);
    oplock->handle_count++;
    handle->oplock = oplock;
    request->granted = oplock->state.held;
    request->epoch = oplock->state.epoch;
    request->breaking = oplock_is_breaking(&oplock->state);
    return OK;
}

enum err open_work__add_handle(struct open_work *work, struct open_file *file,
                               struct open_request *request)
{
    if (atomic_fetch_add(&work->table->handle_count, 1) >= LIMIT_HANDLES_MAX) {
        atomic_fetch_sub(&work->table->handle_count, 1);
        return ERR_OPEN_TABLE_FULL;
    }
    struct open_handle *handle = heap_new(sizeof(*handle));
    handle->id = new_handle_id(work->table, file->key);
    handle->file = file;
    handle->client = request->client;
    handle->parent_id = request->parent_id;
    handle->session_id = request->session_id;
    handle->opened_at = work->now;
    handle->mode = request->mode;
    handle->delete_on_close = request->delete_on_close;
    const enum err err = grant(work, file, handle, request);
    if (err != OK) {
        atomic_fetch_sub(&work->table->handle_count, 1);
        free(handle);
        return err;
    }
    list_add_last(&file->handles, &handle->in_file);
    list_add_last(handle_bucket(work, handle->id), &handle->in_stripe);
    open_client__add_handle(handle);
    file->handle_count++;
    request->handle_id = handle->id;
    return OK;
}

static void drop_oplock(struct open_oplock *oplock)
{
    assert(oplock->handle_count > 0);
    if (--oplock->handle_count > 0)
        return;
    open_client__forget_oplock(oplock);
    list_remove(&oplock->in_file);
    free(oplock);
}

/* Close the handle; its file is reviewed, and may be forgotten. */
static void close_handle(struct open_work *work, struct open_handle *handle,
                         enum open_closing closing, struct open_closed *closed)
{
    struct open_file *file = handle->file;

    if (handle->delete_on_close && closing == OPEN_CLOSED_BY_OWNER)
        open_work__set_delete_pending(work, file, true);
    byte_lock_list_remove_owner(&file->locks, handle->id);
    if (handle->oplock != NULL)
        drop_oplock(handle->oplock);
    list_remove(&handle->in_file);
    list_remove(&handle->in_stripe);
    open_client__remove_handle(handle, closing);
    assert(file->handle_count > 0);
    file->handle_count--;
    atomic_fetch_sub(&work->table->handle_count, 1);
    file->deleting = file->delete_pending && file->handle_count == 0;
    *closed = (struct open_closed){ .delete_file = file->deleting, .key = file->key };
    (void)open_work__review(work, file);
}

/* --- from outside: requests that may wait --- */

static int64_t later(int64_t now, int64_t span_sec)
{
    return now + span_sec * CLOCK_TICKS_PER_SEC;
}

static void refuse(struct open_wait *wait, enum err err)
{
    wait->done(wait->arg, err);
}

/* A request is new: forget what an earlier use of its memory has left. */
static void wait_init(struct open_wait *wait, enum open_wait_kind kind, size_t stripe)
{
    assert(wait->done != NULL);
    assert(!wait->waiting);
    wait->kind = kind;
    wait->reason = OPEN_WAIT_FOR_NOTHING;
    wait->stripe = stripe;
    wait->file = NULL;
    wait->link = (struct list_link){ 0 };
    wait->decided = (struct list_link){ 0 };
    wait->gives_up_at = INT64_MAX;
    wait->deadline = INT64_MAX;
    wait->err = OK;
}

void open_table_open(struct open_table *table, struct open_request *request)
{
    struct open_work work;

    assert(request->client != NULL);
    assert(request->caching != OPEN_CACHING_LEASE || !uuid_is_nil(&request->lease_key));
    wait_init(&request->wait, OPEN_WAIT_OPEN, open_table__stripe_of(request->key));
    open_work__begin(&work, table, request->wait.stripe);
    open_work__start(&work, open_work__file(&work, request->key), &request->wait);
    open_work__finish(&work);
}

static int64_t patience_sec(const struct open_operation *operation)
{
    const int32_t timeout_sec = operation->timeout_sec;
    return timeout_sec > 0 && timeout_sec < LIMIT_CACHE_FLUSH_WAIT_SEC ? timeout_sec
                                                                       : LIMIT_CACHE_FLUSH_WAIT_SEC;
}

/* With a handle: the file is the handle's. */
static void begin_by_handle(struct open_work *work, struct open_wait *wait, uint64_t handle_id)
{
    struct open_handle *handle = open_work__find_handle(work, handle_id);
    if (handle != NULL) {
        open_work__start(work, handle->file, wait);
    } else {
        wait->err = ERR_HANDLE_CLOSED;
        list_add_last(&work->decided, &wait->decided);
    }
}

void open_table_begin(struct open_table *table, struct open_operation *operation)
{
    const struct file_operation_rule *rule = file_operation_rule(operation->operation);
    const bool by_rest = rule->by == FILE_OPERATION_BY_REST;
    struct open_wait *wait = &operation->wait;
    struct open_work work;

    assert(rule->use == BYTE_USE_NONE || byte_range_is_valid(operation->range));
    wait_init(wait, OPEN_WAIT_OPERATION,
              by_rest ? open_table__stripe_of(operation->key)
                      : stripe_of_handle(operation->handle_id));
    open_work__begin(&work, table, wait->stripe);
    if (by_rest) {
        wait->gives_up_at = later(work.now, patience_sec(operation));
        open_work__start(&work, open_work__file(&work, operation->key), wait);
    } else {
        begin_by_handle(&work, wait, operation->handle_id);
    }
    open_work__finish(&work);
}

void open_table_end(struct open_table *table, struct open_operation *operation)
{
    struct open_work work;

    assert(!operation->wait.waiting);
    assert(operation->wait.file != NULL);
    open_work__begin(&work, table, operation->wait.stripe);
    struct open_file *file = operation->wait.file;
    list_remove(&operation->wait.link);
    operation->wait.file = NULL;
    (void)open_work__review(&work, file);
    open_work__finish(&work);
}

void open_table_lock(struct open_table *table, struct lock_request *request)
{
    struct open_work work;

    assert(request->count > 0);
    for (size_t i = 0; i < request->count; i++) {
        if (!byte_range_is_valid(request->elements[i].range)) {
            refuse(&request->wait, ERR_INVALID_LOCK_RANGE);
            return;
        }
    }
    wait_init(&request->wait, OPEN_WAIT_LOCK, stripe_of_handle(request->handle_id));
    open_work__begin(&work, table, request->wait.stripe);
    begin_by_handle(&work, &request->wait, request->handle_id);
    open_work__finish(&work);
}

/* --- from outside: with a handle --- */

enum err open_table_unlock(struct open_table *table, uint64_t handle_id,
                           const struct byte_range *ranges, size_t count)
{
    struct open_work work;
    enum err err = OK;

    open_work__begin(&work, table, stripe_of_handle(handle_id));
    struct open_handle *handle = open_work__find_handle(&work, handle_id);
    if (handle == NULL) {
        err = ERR_HANDLE_CLOSED;
    } else {
        for (size_t i = 0; i < count && err == OK; i++)
            err = byte_lock_list_remove(&handle->file->locks, handle_id, ranges[i]);
        (void)open_work__review(&work, handle->file);
    }
    open_work__finish(&work);
    return err;
}

static enum err acknowledge(struct open_work *work, struct open_oplock *oplock, unsigned kept)
{
    struct oplock_notice notice;
    bool again = false;

    /* Too late is as good as never. */
    oplock_settle(&oplock->state, work->now);
    const enum err err = oplock_acknowledge(&oplock->state, kept, work->now, &again, &notice);
    if (again)
        open_client__tell(oplock, &notice);
    (void)open_work__review(work, oplock->file);
    return err;
}

enum err open_table_acknowledge_lease(struct open_table *table, struct open_client *client,
                                      const struct uuid *key, unsigned kept)
{
    struct open_work work;
    struct file_key file_key;
    enum err err = ERR_OPLOCK_NOT_BREAKING;

    if (!open_client__find_lease(client, key, &file_key))
        return err;
    open_work__begin(&work, table, open_table__stripe_of(file_key));
    /* It may have gone since. */
    struct open_file *file = open_work__find_file(&work, file_key);
    struct open_oplock *lease = file != NULL ? open_file__find_lease(file, client, key) : NULL;
    if (lease != NULL)
        err = acknowledge(&work, lease, kept);
    open_work__finish(&work);
    return err;
}

enum err open_table_acknowledge_legacy(struct open_table *table, struct open_client *client,
                                       uint64_t handle_id, unsigned kept)
{
    struct open_work work;
    enum err err = ERR_HANDLE_CLOSED;

    open_work__begin(&work, table, stripe_of_handle(handle_id));
    const struct open_handle *handle = open_work__find_handle(&work, handle_id);
    if (handle != NULL && handle->client == client) {
        struct open_oplock *oplock = handle->oplock;
        err = ERR_OPLOCK_NOT_BREAKING;
        if (oplock != NULL && oplock->state.kind == OPLOCK_LEGACY)
            err = acknowledge(&work, oplock, kept);
    }
    open_work__finish(&work);
    return err;
}

enum err open_table_clear_delete(struct open_table *table, uint64_t handle_id)
{
    struct open_work work;

    open_work__begin(&work, table, stripe_of_handle(handle_id));
    const struct open_handle *handle = open_work__find_handle(&work, handle_id);
    if (handle != NULL)
        open_work__set_delete_pending(&work, handle->file, false);
    open_work__finish(&work);
    return handle != NULL ? OK : ERR_HANDLE_CLOSED;
}

enum err open_table_close(struct open_table *table, uint64_t handle_id, struct open_closed *closed)
{
    struct open_work work;
    enum err err = ERR_HANDLE_CLOSED;

    *closed = (struct open_closed){ 0 };
    open_work__begin(&work, table, stripe_of_handle(handle_id));
    struct open_handle *handle = open_work__find_handle(&work, handle_id);
    if (handle != NULL) {
        close_handle(&work, handle, OPEN_CLOSED_BY_OWNER, closed);
        err = OK;
    }
    open_work__finish(&work);
    return err;
}

bool open_client_close_next(struct open_table *table, struct open_client *client,
                            struct open_closed *closed)
{
    for (uint64_t id; (id = open_client__any_handle(client)) != 0;) {
        /* Else it was closed by force meanwhile. */
        if (open_table_close(table, id, closed) == OK)
            return true;
    }
    return false;
}

void open_table_deleted(struct open_table *table, struct file_key key)
{
    struct open_work work;

    open_work__begin(&work, table, open_table__stripe_of(key));
    struct open_file *file = open_work__find_file(&work, key);
    assert(file != NULL);
    assert(file->deleting);
    file->deleting = false;
    open_work__set_delete_pending(&work, file, false);
    (void)open_work__review(&work, file);
    open_work__finish(&work);
}

/* --- from outside: REST about handles --- */

bool open_table_is_delete_pending(struct open_table *table, struct file_key key)
{
    struct open_work work;

    /* Relaxed is enough: whoever was told that the file is delete-pending, and then lists, has seen
       an unlock of the stripe after the count was raised. */
    if (atomic_load_explicit(&table->delete_pending_count, memory_order_relaxed) == 0)
        return false;
    open_work__begin(&work, table, open_table__stripe_of(key));
    const struct open_file *file = open_work__find_file(&work, key);
    const bool pending = file != NULL && file->delete_pending;
    open_work__finish(&work);
    return pending;
}

enum err open_table_force_close(struct open_table *table, uint64_t share, uint64_t handle_id,
                                struct open_closed *closed)
{
    struct open_work work;
    enum err err = ERR_HANDLE_CLOSED;

    *closed = (struct open_closed){ 0 };
    open_work__begin(&work, table, stripe_of_handle(handle_id));
    struct open_handle *handle = open_work__find_handle(&work, handle_id);
    if (handle != NULL && handle->file->key.share == share) {
        close_handle(&work, handle, OPEN_CLOSED_BY_FORCE, closed);
        err = OK;
    }
    open_work__finish(&work);
    return err;
}

size_t open_table_handle_count(struct open_table *table)
{
    return atomic_load(&table->handle_count);
}
