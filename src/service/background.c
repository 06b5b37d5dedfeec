#include "service/background.h"

static void waited_done(void *arg, enum err err)
{
    struct waited_update *waited = arg;
    mutex_lock(&waited->lock);
    waited->err = err;
    waited->finished = true;
    condvar_signal(&waited->changed);
    mutex_unlock(&waited->lock);
}

enum err background_update(struct service *service, struct waited_update *waited,
                           struct slice partition, change_fn *decide)
{
    mutex_init(&waited->lock, LOCK_SERVICE_WAITED);
    condvar_init(&waited->changed);
    waited->finished = false;
    waited->update = (struct partition_update){
        .partition = partition,
        .decide = decide,
        .arg = waited,
        .done = waited_done,
    };
    partition_update(service->store, &waited->update);
    while (partition_yield(service->store) && !waited->finished) {
        /* Whoever steps the store is at work, in this thread. */
    }
    mutex_lock(&waited->lock);
    while (!waited->finished)
        condvar_wait(&waited->changed, &waited->lock);
    mutex_unlock(&waited->lock);
    condvar_release(&waited->changed);
    mutex_release(&waited->lock);
    return waited->err;
}

enum err background_find_first(struct service *service, struct arena *arena, struct slice partition,
                               struct slice prefix, struct slice *key)
{
    return background_find_from(service, arena, partition, prefix, (struct slice){ 0 }, key);
}

enum err background_find_from(struct service *service, struct arena *arena, struct slice partition,
                              struct slice prefix, struct slice from, struct slice *key)
{
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, prefix, from);
    struct slice found;
    struct slice row;
    const enum err err = cursor_next(cursor, &found, &row);
    if (err == OK)
        *key = arena_copy(arena, found);
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
}
