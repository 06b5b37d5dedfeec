#include "service/background.h"

static void waited_done(void *arg, enum err err)
{
    struct waited_update *waited = arg;
    pthread_mutex_lock(&waited->lock);
    waited->err = err;
    waited->finished = true;
    pthread_cond_signal(&waited->changed);
    pthread_mutex_unlock(&waited->lock);
}

enum err background_update(struct service *service, struct waited_update *waited,
                           struct slice partition, change_fn *decide)
{
    pthread_mutex_init(&waited->lock, NULL);
    pthread_cond_init(&waited->changed, NULL);
    waited->finished = false;
    waited->update = (struct partition_update){
        .partition = partition,
        .decide = decide,
        .arg = waited,
        .done = waited_done,
    };
    partition_update(service->store, &waited->update);
    pthread_mutex_lock(&waited->lock);
    while (!waited->finished)
        pthread_cond_wait(&waited->changed, &waited->lock);
    pthread_mutex_unlock(&waited->lock);
    pthread_cond_destroy(&waited->changed);
    pthread_mutex_destroy(&waited->lock);
    return waited->err;
}

enum err background_find_first(struct service *service, struct arena *arena, struct slice partition,
                               struct slice prefix, struct slice *key)
{
    struct partition_view view;
    partition_view_open(service->store, partition, &view);
    struct cursor *cursor = partition_view_scan(&view, prefix, (struct slice){ 0 });
    struct slice found;
    struct slice row;
    const enum err err = cursor_next(cursor, &found, &row);
    if (err == OK)
        *key = arena_copy(arena, found);
    cursor_free(cursor);
    partition_view_close(&view);
    return err;
}
