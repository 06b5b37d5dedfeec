#include "service/file/open_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "partition/heap.h"
#include "service/file/open_table_internal.h"

static size_t copy_text(char *to, struct slice text)
{
    const struct slice cut = slice_head(text, LIMIT_SMB_CLIENT_TEXT_MAX);
    if (cut.len > 0)
        memcpy(to, cut.data, cut.len);
    return cut.len;
}

struct open_client *open_client_new(const struct open_client_settings *settings)
{
    struct open_client *client = heap_new(sizeof(*client));
    client->address_len = copy_text(client->address, settings->address);
    client->name_len = copy_text(client->name, settings->name);
    client->wake = settings->wake;
    client->arg = settings->arg;
    mutex_init(&client->lock, LOCK_SERVICE_OPEN_CLIENT);
    list_init(&client->handles);
    for (size_t i = 0; i < OPEN_CLIENT_BUCKET_COUNT; i++)
        list_init(&client->leases[i]);
    list_init(&client->closed);
    list_init(&client->broken);
    return client;
}

void open_client_free(struct open_client *client)
{
    if (client == NULL)
        return;
    /* Whoever has just told the client something has left its lock by now. */
    mutex_lock(&client->lock);
    assert(list_is_empty(&client->handles));
    assert(list_is_empty(&client->broken));
    for (size_t i = 0; i < OPEN_CLIENT_BUCKET_COUNT; i++)
        assert(list_is_empty(&client->leases[i]));
    for (struct list_link *link; (link = list_take_first(&client->closed)) != NULL;)
        free(LIST_ITEM(link, struct open_handle, in_inbox));
    mutex_unlock(&client->lock);
    mutex_release(&client->lock);
    free(client);
}

static void wake(struct open_client *client)
{
    if (client->wake != NULL)
        client->wake(client->arg);
}

/* Breaks come before closings: they are what others wait for. */
bool open_client_next(struct open_client *client, struct open_event *event)
{
    struct open_handle *closed = NULL;
    bool found = true;

    mutex_lock(&client->lock);
    struct list_link *link = list_take_first(&client->broken);
    if (link != NULL) {
        const struct open_oplock *oplock = LIST_ITEM(link, struct open_oplock, in_inbox);
        *event = (struct open_event){
            .kind = OPEN_EVENT_BREAK,
            .handle_id = oplock->handle_id,
            .lease_key = oplock->lease_key,
            .notice = oplock->notice,
        };
    } else if ((link = list_take_first(&client->closed)) != NULL) {
        closed = LIST_ITEM(link, struct open_handle, in_inbox);
        *event = (struct open_event){ .kind = OPEN_EVENT_CLOSED, .handle_id = closed->id };
    } else {
        found = false;
    }
    mutex_unlock(&client->lock);
    free(closed);
    return found;
}

void open_client__tell(struct open_oplock *oplock, const struct oplock_notice *notice)
{
    struct open_client *client = oplock->client;

    mutex_lock(&client->lock);
    oplock->notice = *notice;
    if (!list_link_is_used(&oplock->in_inbox))
        list_add_last(&client->broken, &oplock->in_inbox);
    wake(client);
    mutex_unlock(&client->lock);
}

static struct list *lease_bucket(struct open_client *client, const struct uuid *key)
{
    size_t hash = 0;
    for (size_t i = 0; i < sizeof(key->bytes); i++)
        hash = hash * 31 + key->bytes[i];
    return &client->leases[hash % OPEN_CLIENT_BUCKET_COUNT];
}

static struct open_oplock *find_lease(struct open_client *client, const struct uuid *key)
{
    list_for_each (link, lease_bucket(client, key)) {
        struct open_oplock *lease = LIST_ITEM(link, struct open_oplock, in_client);
        if (uuid_equal(&lease->lease_key, key))
            return lease;
    }
    return NULL;
}

bool open_client__find_lease(struct open_client *client, const struct uuid *key,
                             struct file_key *file_key)
{
    mutex_lock(&client->lock);
    const struct open_oplock *lease = find_lease(client, key);
    if (lease != NULL)
        *file_key = lease->file_key;
    mutex_unlock(&client->lock);
    return lease != NULL;
}

bool open_client__add_lease(struct open_client *client, struct open_oplock *lease)
{
    mutex_lock(&client->lock);
    const bool free_key = find_lease(client, &lease->lease_key) == NULL;
    if (free_key)
        list_add_last(lease_bucket(client, &lease->lease_key), &lease->in_client);
    mutex_unlock(&client->lock);
    return free_key;
}

void open_client__forget_oplock(struct open_oplock *oplock)
{
    struct open_client *client = oplock->client;

    mutex_lock(&client->lock);
    if (list_link_is_used(&oplock->in_client))
        list_remove(&oplock->in_client);
    if (list_link_is_used(&oplock->in_inbox))
        list_remove(&oplock->in_inbox);
    mutex_unlock(&client->lock);
}

void open_client__add_handle(struct open_handle *handle)
{
    struct open_client *client = handle->client;

    mutex_lock(&client->lock);
    list_add_last(&client->handles, &handle->in_client);
    mutex_unlock(&client->lock);
}

void open_client__remove_handle(struct open_handle *handle, enum open_closing closing)
{
    struct open_client *client = handle->client;

    mutex_lock(&client->lock);
    list_remove(&handle->in_client);
    if (closing == OPEN_CLOSED_BY_FORCE) {
        list_add_last(&client->closed, &handle->in_inbox);
        wake(client);
    }
    mutex_unlock(&client->lock);
    if (closing == OPEN_CLOSED_BY_OWNER)
        free(handle);
}

uint64_t open_client__any_handle(struct open_client *client)
{
    mutex_lock(&client->lock);
    uint64_t id = 0;
    if (!list_is_empty(&client->handles))
        id = LIST_ITEM(client->handles.ends.next, struct open_handle, in_client)->id;
    mutex_unlock(&client->lock);
    return id;
}
