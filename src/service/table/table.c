/*
 * table.c - see table.h.  Each change is a decision function (`..._decide`) inside one update of
 * the account's partition.
 */
#include "service/table/table.h"

#include "base/log.h"
#include "service/limits.h"
#include "service/row.h"
#include "service/sweeper.h"
#include "service/table/table_name.h"

/* Tags of a table's row; never reused for anything else. */
enum table_tag {
    TAG_INCARNATION = 1,
    TAG_NAME = 2,
    TAG_POLICY = 3,
};

struct slice table_encode(struct arena *arena, const struct table *table)
{
    struct strbuf row;
    strbuf_init(&row, arena);
    row_begin(&row, ROW_TABLE);
    row_add_number(&row, TAG_INCARNATION, table->incarnation);
    row_add_bytes(&row, TAG_NAME, table->name);
    access_policies_encode(&table->policies, &row, TAG_POLICY);
    return strbuf_slice(&row);
}

static enum err decode_field(struct table *table, uint64_t tag, struct slice value)
{
    switch (tag) {
    case TAG_INCARNATION:
        return row_number(value, &table->incarnation);
    case TAG_NAME:
        table->name = value;
        return OK;
    case TAG_POLICY:
        return access_policies_decode(&table->policies, value);
    default:
        return OK;
    }
}

enum err table_decode(struct slice row, struct table *table)
{
    *table = (struct table){ 0 };
    struct row_reader reader;
    enum err err = row_reader_init(&reader, row, ROW_TABLE);
    while (err == OK) {
        uint64_t tag;
        struct slice value;
        err = row_next(&reader, &tag, &value);
        if (err == OK)
            err = decode_field(table, tag, value);
    }
    if (err != ERR_NOT_FOUND)
        return err;
    if (table->incarnation == 0 || table_name_check(table->name) != OK)
        return CORRUPT("a table's row does not hold together");
    return OK;
}

/* --- reads --- */

enum err table_get(struct service *service, struct arena *arena, const struct table_name *name,
                   struct table *table)
{
    struct slice row;
    const enum err err =
        partition_get_often(service->store, arena, account_partition(arena, name->account),
                            table_key(arena, name->table), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_TABLE_NOT_FOUND;
    return err == OK ? table_decode(row, table) : err;
}

enum err table_find_entities(struct service *service, struct arena *arena,
                             const struct table_name *name, struct slice *partition)
{
    struct table table;
    const enum err err = table_get(service, arena, name, &table);
    if (err == OK)
        *partition = table_partition(arena, table.incarnation);
    return err;
}

struct table_listing {
    const struct table_list_request *request;
    size_t looked_count;
    size_t count; /* of those emitted */
};

static bool look_up_name(void *arg, struct slice name, struct edm_value *value)
{
    const struct table *table = arg;
    *value = edm_string(table->name);
    return slice_is(name, "TableName");
}

static enum err list_table(void *arg, struct arena *arena, struct slice name, struct slice row,
                           bool *more)
{
    struct table_listing *listing = arg;
    const struct table_list_request *request = listing->request;
    struct table table;
    (void)arena;
    (void)name;
    const enum err err = table_decode(row, &table);
    if (err != OK)
        return err;
    if (request->filter == NULL || filter_matches(request->filter, look_up_name, &table)) {
        *more = request->emit(request->arg, &table);
        listing->count++;
    }
    listing->looked_count++;
    *more = *more && listing->count < request->results_max &&
            listing->looked_count < LIMIT_QUERY_LOOKED_MAX;
    return OK;
}

enum err table_list(struct service *service, struct arena *arena,
                    const struct table_list_request *request, struct slice *next)
{
    struct table_listing listing = { .request = request };
    const struct resource_list_request resources = {
        .account = request->account,
        .kind = RESOURCE_TABLE,
        .from = slice_from(table_key(arena, request->from), 1),
        .results_max = SIZE_MAX, /* list_table counts those the filter lets through */
        .emit = list_table,
        .arg = &listing,
    };
    return resource_list(service, arena, &resources, next);
}

/* --- changes --- */

static enum err change_get_table(struct change *change, const struct table_name *name,
                                 struct table *table)
{
    struct slice row;
    const enum err err = change_get(change, table_key(change_arena(change), name->table), &row);
    if (err == ERR_NOT_FOUND)
        return ERR_TABLE_NOT_FOUND;
    return err == OK ? table_decode(row, table) : err;
}

static void change_put_table(struct change *change, const struct table_name *name,
                             const struct table *table)
{
    struct arena *arena = change_arena(change);
    change_put(change, table_key(arena, name->table), table_encode(arena, table));
}

static enum err create_decide(struct change *change, void *arg)
{
    const struct table_change *request = arg;
    struct table table;
    const enum err err = change_get_table(change, &request->name, &table);
    if (err == OK)
        return ERR_TABLE_EXISTS;
    if (err != ERR_TABLE_NOT_FOUND)
        return err;
    table = (struct table){
        .incarnation = (uint64_t)change_now(change),
        .name = request->name.table,
    };
    change_put_table(change, &request->name, &table);
    return OK;
}

static enum err set_acl_decide(struct change *change, void *arg)
{
    const struct table_change *request = arg;
    struct table table;
    const enum err err = change_get_table(change, &request->name, &table);
    if (err != OK)
        return err;
    table.policies = request->policies;
    change_put_table(change, &request->name, &table);
    return OK;
}

static enum err delete_decide(struct change *change, void *arg)
{
    const struct table_change *request = arg;
    struct table table;
    const enum err err = change_get_table(change, &request->name, &table);
    if (err != OK)
        return err;
    change_delete(change, table_key(change_arena(change), request->name.table));
    garbage_put(change, RESOURCE_TABLE, table.incarnation);
    return OK;
}

static void start(struct service *service, struct table_change *change, change_fn *decide)
{
    const struct slice partition = account_partition(change->base.arena, change->name.account);
    service_update(service, &change->base, partition, decide);
}

void table_create(struct service *service, struct table_change *change)
{
    start(service, change, create_decide);
}

void table_set_acl(struct service *service, struct table_change *change)
{
    start(service, change, set_acl_decide);
}

static void delete_settle(struct service_change *base, enum err err)
{
    if (err == OK)
        sweeper_wake(base->service->sweeper);
}

void table_delete(struct service *service, struct table_change *change)
{
    change->base.settle = delete_settle;
    start(service, change, delete_decide);
}
