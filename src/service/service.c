#include "service/service.h"

#include <assert.h>

static void update_done(void *arg, enum err err)
{
    struct service_change *change = arg;
    if (change->settle != NULL)
        change->settle(change, err);
    change->done(change->arg, err);
}

void service_update(struct service *service, struct service_change *change, struct slice partition,
                    change_fn *decide)
{
    assert(change->done != NULL);
    change->service = service;
    change->update = (struct partition_update){
        .partition = partition,
        .decide = decide,
        .arg = change,
        .done = update_done,
    };
    partition_update(service->store, &change->update);
}

void service_refuse(struct service_change *change, enum err err)
{
    assert(err != OK);
    change->done(change->arg, err);
}
