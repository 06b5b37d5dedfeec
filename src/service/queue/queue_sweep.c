#include "service/queue/queue_sweep.h"

#include "service/background.h"
#include "service/queue/message.h"
#include "service/queue/queue_name.h"

enum {
    /* How many messages are looked at between two looks at whether to stop. */
    LOOK_ROWS = 4096,
};

/* --- generations that were cleared --- */

struct swept_request {
    struct waited_update waited;
    uint64_t generation;
};

static enum err swept_decide(struct change *change, void *arg)
{
    const struct swept_request *request = arg;
    struct queue_head head;
    const enum err err = queue_head_get(change, &head);
    if (err != OK)
        return err;
    head.swept = request->generation;
    queue_head_put(change, &head);
    return OK;
}

static enum err sweep_cleared(const struct sweep *sweep, struct arena *arena,
                              struct slice partition, const struct queue_head *head)
{
    if (head->swept == head->generation)
        return OK;
    enum err err =
        sweep_range(sweep, partition, slice_of("v"), message_prefix(arena, head->generation));
    if (err == OK)
        err = sweep_range(sweep, partition, slice_of("t"),
                          message_text_prefix(arena, head->generation));
    struct swept_request request = { .generation = head->generation };
    if (err == OK)
        err = background_update(sweep->service, &request.waited, partition, swept_decide);
    return err;
}

/* --- messages that have expired --- */

struct first_request {
    struct waited_update waited;
    bool done; /* result */
};

static enum err first_decide(struct change *change, void *arg)
{
    struct first_request *request = arg;
    return message_expire_first(change, &request->done);
}

static enum err expire_first(const struct sweep *sweep, struct slice partition)
{
    struct first_request request = { .done = false };
    enum err err = OK;
    while (err == OK && !request.done)
        err = sweep_is_stopping(sweep)
                  ? ERR_SHUTTING_DOWN
                  : background_update(sweep->service, &request.waited, partition, first_decide);
    return err;
}

/* A look at all messages: it begins and ends with a decision about the floors. */
struct look_request {
    struct waited_update waited;
    uint64_t generation;
    int64_t floor; /* of what the look has seen; 0: nothing expires */
};

/* From here on messages that are put lower the recent floor, whatever the look sees. */
static enum err look_begin_decide(struct change *change, void *arg)
{
    struct look_request *request = arg;
    struct queue_head head;
    const enum err err = queue_head_get(change, &head);
    if (err != OK)
        return err;
    request->generation = head.generation;
    head.recent_floor = 0;
    queue_head_put(change, &head);
    return OK;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static enum err look_end_decide(struct change *change, void *arg)
{
    const struct look_request *request = arg;
    struct queue_head head;
    const enum err err = queue_head_get(change, &head);
    if (err != OK || head.generation != request->generation)
        return err;
    head.expiry_floor = earlier(request->floor, head.recent_floor);
    queue_head_put(change, &head);
    return OK;
}

/* Messages that have expired and are to be removed.  They may have moved or gone since; and a clock
   that was set back meanwhile makes some that have not expired, by the time that counts. */
struct expired_request {
    struct waited_update waited;
    uint64_t generation;
    size_t count;
    struct message messages[SWEEP_BATCH_ROWS];
    int64_t floor; /* result: when the first of those expires that have not; 0: there is none */
};

static enum err expired_decide(struct change *change, void *arg)
{
    struct expired_request *request = arg;
    struct arena *arena = change_arena(change);
    struct queue_head head;
    request->floor = 0;
    enum err err = queue_head_get(change, &head);
    if (err != OK || head.generation != request->generation)
        return err;
    for (size_t i = 0; i < request->count; i++) {
        const struct message *message = &request->messages[i];
        struct slice row;
        if (!message_is_expired(message, change_now(change))) {
            request->floor = earlier(request->floor, message->expires);
            continue;
        }
        err = change_get(
            change, message_key(arena, head.generation, message->visible_at, &message->id), &row);
        if (err == OK)
            message_remove(change, &head, message);
        else if (err != ERR_NOT_FOUND)
            return err;
    }
    queue_head_put(change, &head);
    return OK;
}

static enum err remove_expired(const struct sweep *sweep, struct slice partition,
                               struct expired_request *expired, struct look_request *look)
{
    if (expired->count == 0)
        return OK;
    const enum err err =
        background_update(sweep->service, &expired->waited, partition, expired_decide);
    expired->count = 0;
    look->floor = earlier(look->floor, expired->floor);
    return err;
}

static enum err look_at_all(const struct sweep *sweep, struct slice partition,
                            struct cursor *cursor, struct look_request *look)
{
    const int64_t now = clock_now(sweep->service->clock);
    struct expired_request expired = { .generation = look->generation };
    enum err err = OK;
    for (size_t count = 0; err == OK; count++) {
        struct slice key;
        struct slice row;
        struct message message;
        if (count % LOOK_ROWS == 0 && sweep_is_stopping(sweep))
            return ERR_SHUTTING_DOWN;
        err = cursor_next(cursor, &key, &row);
        if (err == OK)
            err = message_decode(key, row, NULL, &message);
        if (err != OK)
            break;
        if (!message_is_expired(&message, now))
            look->floor = earlier(look->floor, message.expires);
        else
            expired.messages[expired.count++] = message;
        if (expired.count == SWEEP_BATCH_ROWS)
            err = remove_expired(sweep, partition, &expired, look);
    }
    return err == ERR_NOT_FOUND ? remove_expired(sweep, partition, &expired, look) : err;
}

/* One state of the queue is looked at, in a long view: messages move meanwhile. */
static enum err expire_all(const struct sweep *sweep, struct arena *arena, struct slice partition)
{
    struct look_request look = { 0 };
    enum err err = background_update(sweep->service, &look.waited, partition, look_begin_decide);
    if (err != OK)
        return err;
    struct partition_view view;
    partition_view_open_long(sweep->service->store, partition, &view);
    struct cursor *cursor =
        partition_view_scan(&view, message_prefix(arena, look.generation), (struct slice){ 0 });
    err = look_at_all(sweep, partition, cursor, &look);
    cursor_free(cursor);
    partition_view_close(&view);
    if (err == OK)
        err = background_update(sweep->service, &look.waited, partition, look_end_decide);
    return err;
}

static enum err sweep_expired(const struct sweep *sweep, struct arena *arena,
                              struct slice partition, const struct queue_head *head)
{
    if (head->expiry_floor == 0 || head->expiry_floor > clock_now(sweep->service->clock))
        return OK;
    enum err err = expire_first(sweep, partition);
    if (err == OK && sweep->extent == SWEEP_THOROUGHLY)
        err = expire_all(sweep, arena, partition);
    return err;
}

/* --- one partition --- */

/* Whether there is nothing that the sweeper will have to look for. */
static bool is_settled(const struct queue_head *head)
{
    return head->swept == head->generation && (head->count == 0 || head->expiry_floor == 0);
}

static enum err unmark_decide(struct change *change, void *arg)
{
    (void)arg;
    struct queue_head head;
    const enum err err = queue_head_get(change, &head);
    if (err != OK || !is_settled(&head))
        return err;
    head.expiry_floor = 0;
    head.recent_floor = 0;
    head.is_marked = false;
    queue_head_put(change, &head);
    change_unmark(change);
    return OK;
}

enum err queue_sweep_marked(const struct sweep *sweep, struct slice partition)
{
    struct arena arena = { 0 };
    struct queue_head head;
    struct waited_update waited;
    enum err err = queue_head_read(sweep->service, &arena, partition, &head);
    if (err == OK)
        err = sweep_cleared(sweep, &arena, partition, &head);
    if (err == OK)
        err = sweep_expired(sweep, &arena, partition, &head);
    if (err == OK)
        err = queue_head_read(sweep->service, &arena, partition, &head);
    if (err == OK && is_settled(&head))
        err = background_update(sweep->service, &waited, partition, unmark_decide);
    arena_release(&arena);
    /* The partition of a deleted queue is emptied by the row that says so. */
    return err == ERR_QUEUE_NOT_FOUND ? OK : err;
}

/* --- one incarnation --- */

static enum err forget_mark_decide(struct change *change, void *arg)
{
    (void)arg;
    change_unmark(change);
    return OK;
}

enum err queue_sweep_incarnation(const struct sweep *sweep, uint64_t incarnation)
{
    struct arena arena = { 0 };
    struct waited_update waited;
    const struct slice partition = message_partition(&arena, incarnation);
    enum err err = sweep_close(sweep, partition);
    if (err == OK)
        err = sweep_rows(sweep, partition, "htv");
    if (err == OK)
        err = background_update(sweep->service, &waited, partition, forget_mark_decide);
    arena_release(&arena);
    return err;
}
