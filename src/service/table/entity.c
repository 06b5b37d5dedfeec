/*
 * entity.c - the changes of entity.h, and reading one entity.
 *
 * The lookup of the table is outside the update, in another partition: a write that overtakes the
 * deletion of the table counts as the earlier of the two.  Once the sweeper has closed the
 * partition such a write is refused.
 */
#include "service/table/entity.h"

#include <assert.h>
#include <string.h>

#include "service/limits.h"
#include "service/table/table_name.h"

enum err entity_get(struct service *service, struct arena *arena, const struct table_name *table,
                    struct slice partition_key, struct slice row_key, struct entity *entity)
{
    struct slice partition;
    enum err err = table_find_entities(service, arena, table, &partition);
    if (err != OK)
        return err;
    if (entity_key_check(partition_key) != OK || entity_key_check(row_key) != OK)
        return ERR_RESOURCE_NOT_FOUND;
    struct slice row;
    err = partition_get(service->store, arena, partition, entity_key(arena, partition_key, row_key),
                        &row);
    if (err == ERR_NOT_FOUND)
        return ERR_RESOURCE_NOT_FOUND;
    entity->partition_key = partition_key;
    entity->row_key = row_key;
    return err == OK ? entity_decode(arena, row, entity) : err;
}

/* --- what needs no store --- */

static enum err check_operation(const struct entity_operation *operation)
{
    if (operation->action == ENTITY_DELETE) {
        assert(operation->condition != ENTITY_IF_ANY);
        const enum err err = entity_key_check(operation->partition_key);
        return err == OK ? entity_key_check(operation->row_key) : err;
    }
    const struct entity entity = {
        .partition_key = operation->partition_key,
        .row_key = operation->row_key,
        .properties = operation->properties,
    };
    return entity_check(&entity);
}

/* Whether the operation fits those before it. */
static enum err check_member(const struct entity_change *change, size_t index)
{
    const struct entity_operation *operation = &change->operations[index];
    for (size_t i = 0; i < index; i++) {
        const struct entity_operation *other = &change->operations[i];
        if (!slice_equal(operation->partition_key, other->partition_key))
            return ERR_GROUP_PARTITIONS;
        if (slice_equal(operation->row_key, other->row_key))
            return ERR_GROUP_DUPLICATE;
    }
    return OK;
}

static enum err check_group(struct entity_change *change)
{
    assert(change->operation_count > 0);
    if (change->operation_count > LIMIT_GROUP_OPERATIONS) {
        change->failed_index = LIMIT_GROUP_OPERATIONS - 1;
        return ERR_GROUP_TOO_LONG;
    }
    enum err err = OK;
    for (size_t i = 0; err == OK && i < change->operation_count; i++) {
        change->failed_index = i;
        err = check_operation(&change->operations[i]);
        if (err == OK)
            err = check_member(change, i);
    }
    return err;
}

/* --- decisions --- */

/* The entity an operation is about; ERR_RESOURCE_NOT_FOUND.  Slices live as long as the change. */
static enum err find_entity(struct change *change, struct slice key, struct entity *entity)
{
    struct slice row;
    const enum err err = change_get(change, key, &row);
    if (err == ERR_NOT_FOUND)
        return ERR_RESOURCE_NOT_FOUND;
    return err == OK ? entity_decode(change_arena(change), row, entity) : err;
}

/* Whether the operation may go on, given what `find_entity` said. */
static enum err check_condition(const struct entity_operation *operation, enum err found,
                                const struct entity *entity)
{
    if (operation->action == ENTITY_INSERT)
        return found == OK ? ERR_ENTITY_EXISTS : found == ERR_RESOURCE_NOT_FOUND ? OK : found;
    if (found == ERR_RESOURCE_NOT_FOUND && operation->condition == ENTITY_IF_ANY)
        return OK;
    if (found == OK && operation->condition == ENTITY_IF_ETAG &&
        operation->if_etag != entity->timestamp)
        return ERR_UPDATE_CONDITION_NOT_MET;
    return found;
}

/* The properties after a merge: old ones replaced where they stand, new ones behind. */
static struct edm_properties merge(struct arena *arena, const struct edm_properties *old,
                                   const struct edm_properties *new)
{
    struct edm_properties merged = { .count = old->count };
    merged.items = arena_alloc(arena, (old->count + new->count) * sizeof(*merged.items));
    if (old->count > 0)
        memcpy(merged.items, old->items, old->count * sizeof(*merged.items));
    for (size_t i = 0; i < new->count; i++) {
        size_t at = 0; /* no name is twice among the new ones, so only the old ones are searched */
        while (at < old->count && !slice_equal(old->items[at].name, new->items[i].name))
            at++;
        merged.items[at < old->count ? at : merged.count++] = new->items[i];
    }
    return merged;
}

/* A merge can make an entity that is too large of two that are not. */
static enum err check_merged(const struct entity *entity)
{
    if (entity->properties.count > LIMIT_ENTITY_PROPERTIES_MAX)
        return ERR_TOO_MANY_PROPERTIES;
    return entity_size_bytes(entity) > LIMIT_ENTITY_BYTES_MAX ? ERR_ENTITY_TOO_LARGE : OK;
}

static enum err operation_decide(struct change *change, const struct entity_operation *operation)
{
    struct arena *arena = change_arena(change);
    const struct slice key = entity_key(arena, operation->partition_key, operation->row_key);
    struct entity entity = { 0 };
    const enum err found = find_entity(change, key, &entity);
    enum err err = check_condition(operation, found, &entity);
    if (err != OK)
        return err;
    if (operation->action == ENTITY_DELETE) {
        change_delete(change, key);
        return OK;
    }
    entity.partition_key = operation->partition_key;
    entity.row_key = operation->row_key;
    entity.timestamp = change_now(change);
    if (operation->action == ENTITY_MERGE && found == OK) {
        entity.properties = merge(arena, &entity.properties, &operation->properties);
        err = check_merged(&entity);
    } else {
        entity.properties = operation->properties;
    }
    if (err == OK)
        change_put(change, key, entity_encode(arena, &entity));
    return err;
}

static enum err apply_decide(struct change *change, void *arg)
{
    struct entity_change *request = arg;
    struct slice row;
    enum err err = change_get(change, closed_key(), &row);
    request->failed_index = 0;
    if (err != ERR_NOT_FOUND)
        return err == OK ? ERR_TABLE_NOT_FOUND : err;
    err = OK;
    for (size_t i = 0; err == OK && i < request->operation_count; i++) {
        request->failed_index = i;
        err = operation_decide(change, &request->operations[i]);
    }
    request->etag = change_now(change);
    return err;
}

void entity_apply(struct service *service, struct entity_change *change)
{
    struct slice partition;
    enum err err = check_group(change);
    if (err == OK) {
        change->failed_index = 0;
        err = table_find_entities(service, change->base.arena, &change->table, &partition);
    }
    if (err != OK)
        service_refuse(&change->base, err);
    else
        service_update(service, &change->base, partition, apply_decide);
}
