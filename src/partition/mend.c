#include "partition/mend.h"

#include "partition/system_row.h"

enum {
    /* Of what nothing names: no view and no committer is older. */
    FREED_LONG_AGO_TICK = 1,
};

static void disown(struct engine_group *group, const struct partition_repair *repair)
{
    const struct system_key key = system_key_owner(&repair->range, repair->owner);
    system_delete(group, &key);
    const struct system_freed freed = { .range = repair->range, .tick = FREED_LONG_AGO_TICK };
    system_put_freed(group, &freed);
}

static void apply(struct engine_group *group, const struct partition_repair *repair)
{
    const struct engine_key row = { .partition = repair->partition, .key = repair->key };
    struct system_key key;
    switch (repair->kind) {
    case PARTITION_REPAIR_PUT:
        engine_group_put(group, &row, repair->value);
        break;
    case PARTITION_REPAIR_DELETE:
        engine_group_delete(group, &row);
        break;
    case PARTITION_REPAIR_MARK:
        system_put_mark(group, repair->partition);
        break;
    case PARTITION_REPAIR_OWN:
        key = system_key_owner(&repair->range, repair->owner);
        system_put_number(group, &key, repair->range.length);
        break;
    case PARTITION_REPAIR_DISOWN:
        disown(group, repair);
        break;
    case PARTITION_REPAIR_UNSETTLE:
        key = system_key_extent(repair->range.extent_id);
        system_delete(group, &key);
        break;
    }
}

enum err mend_apply(struct engine *engine, const struct partition_repair *repairs, size_t count)
{
    struct engine_group *group = engine_group_new(engine);
    for (size_t i = 0; i < count; i++)
        apply(group, &repairs[i]);
    const enum err err = count == 0 ? OK : engine_group_commit(group, ENGINE_DURABLE);
    engine_group_free(group);
    return err;
}
